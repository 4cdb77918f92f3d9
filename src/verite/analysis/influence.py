"""Which records decide between two detectors? How far each one, if it is wrong, moves the lead of one over the other.

A record that is wrong is no such object, as in `vt.rank`: the score is that of the truth without it, exactly. Objects
that one of the two finds and the other does not swing the number of objects found by two, all others by none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.suspicious import CHECKED, Suspicion
from verite.evaluation.evaluation import Changes
from verite.leaderboards.influence import min_flip_size, removal_influence
from verite.statistics.multiple_comparisons import TIE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verite.analysis.analyse import Analysis
    from verite.analysis.comparison import SystemPair
    from verite.analysis.matches import AnalysisMatches, Floats
    from verite.leaderboards.audit import AuditRow
    from verite.model.annotations import Annotations


SAME_PLACE = 0.5  # IoU of two predictions that see the same missing object

LOOKED_AT = 1000  # suspicions whose swing is asked for


def find_influence(matches: AnalysisMatches) -> Floats:
    """Of each record of the truth: by how much the first score changes without it; 0 for those nobody is asked for, NaN
    where the evaluation cannot be changed (Open Images).
    """
    results: Any = matches.results
    found = np.zeros(len(matches.truth))
    if not hasattr(results, "mean_query"):
        return np.full(len(matches.truth), np.nan)
    rows = np.flatnonzero(matches.is_asked)
    if len(rows):
        found[rows] = np.nan_to_num(removal_influence(results, next(iter(results.scores)), rows))
    return found


def find_influence_of_adding(matches: AnalysisMatches, objects: Annotations) -> Floats:
    """By how much the first score changes if the truth has one of these objects more."""
    results: Any = matches.results
    if not hasattr(results, "mean_query"):
        return np.full(len(objects), np.nan)
    if not len(objects):
        return np.zeros(0)
    changes = Changes.of(objects.like(matches.truth), added=[[i] for i in range(len(objects))])
    score = next(iter(results.scores))
    drawn = results.evaluation.bootstrap_means([results.mean_query(score)], None, changes)[:, 0]
    return np.asarray(np.nan_to_num(drawn - results.scores[score].value))


def count_to_turn(pair: Sequence[AnalysisMatches], influences: Sequence[Floats]) -> int | None:
    """How many records, the most decisive first, turn the order by the first score if they are wrong: an upper bound,
    evaluated exactly. None: there is no order, none is enough, or the evaluation cannot be changed.
    """
    score = next(iter(pair[0].results.scores))
    gap = pair[0].results.scores[score].value - pair[1].results.scores[score].value
    if not abs(gap) > TIE or np.isnan(influences).any():
        return None
    rows = np.flatnonzero(pair[0].is_asked)
    change = (influences[0] - influences[1])[rows]
    results = [one.results for one in pair]
    if gap < 0:
        results, change = results[::-1], -change
    return min_flip_size(results, score, rows, change, abs(gap))


def merge_suspicions(systems: Sequence[Analysis]) -> list[tuple[Analysis, Suspicion]]:
    """What looks wrong to any of them, the likeliest first: of one record or place the largest probability, as similar
    detectors that agree are not evidence twice.
    """
    listed = [(system, one) for system in systems for one in system.suspicious.listed]
    listed.sort(key=lambda pair: -pair[1].probability)
    seen: set[int] = set()
    places: dict[tuple[int, int], list[Any]] = {}
    found = []
    for system, one in listed:
        if one.truth is not None:
            if one.truth in seen:
                continue
            seen.add(one.truth)
        else:
            matches, row = system.matches, one.pred
            box = matches.pred.regions.boxes[row]
            others = places.setdefault((int(matches.pred.image[row]), int(matches.pred_label[row])), [])
            if any(overlap(box, other) >= SAME_PLACE for other in others):
                continue
            others.append(box)
        found.append((system, one))
    return found


def overlap(one: Any, other: Any) -> float:
    """IoU of two boxes."""
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    both = float(np.prod(np.maximum(sides, 0)))
    return both / max(float(np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2])) - both, 1e-300)


def list_audit(systems: Sequence[Analysis], pairs: Sequence[SystemPair], most: int) -> list[AuditRow]:
    """Records to be checked where several systems are compared: by the probability that a record is wrong times the
    largest change of a lead, in points of AP, if it is; by probability alone where that cannot be known.
    """
    listed = [(system, one) for system, one in merge_suspicions(systems)[:LOOKED_AT] if one.kind in CHECKED]
    of_missing = find_swings_of_adding(systems, pairs, listed)
    found = []
    for i, (system, one) in enumerate(listed):
        swing = of_missing[i] if one.truth is None else max(abs(float(pair.swing[one.truth])) for pair in pairs)
        row = replace(system.suspicious.audit_row(one), influence=swing)
        found.append((-one.probability * (1.0 if np.isnan(swing) else swing), -one.probability, row))
    found.sort(key=lambda entry: entry[:2])
    return [row for *_, row in found[:most]]


def find_swings_of_adding(
    systems: Sequence[Analysis], pairs: Sequence[SystemPair], listed: Sequence[tuple[Analysis, Suspicion]]
) -> dict[int, float]:
    """Of the places in a list that may miss an object: the largest change of a lead if the truth had it."""
    found: dict[int, float] = {}
    for seeing in systems:
        at = [i for i, (system, one) in enumerate(listed) if system is seeing and one.truth is None]
        objects = seeing.matches.pred.take(np.array([listed[i][1].pred for i in at], dtype=np.int64))
        gains = {id(judged): find_influence_of_adding(judged.matches, objects) for judged in systems}
        changes = [np.abs(gains[id(pair.two)] - gains[id(pair.one)]) for pair in pairs]
        found |= dict(zip(at, np.max(changes, axis=0).tolist(), strict=True))
    return found
