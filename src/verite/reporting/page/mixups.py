"""What is taken for what, at every step of confidence and at every choice? Only what changes from step to step.

Which label a truth is taken for does not follow from a surer step: a right prediction that enters takes its truth back.
So every image is paired again at the steps at which something enters it, and what then differs is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.settings import MATCHING
from verite.reporting.page.tally import STEPS, ConfidenceTally

if TYPE_CHECKING:
    from numpy.typing import NDArray

Change = tuple[int, int, int, int]  # step or choice, label of the truth, label of the prediction, how many more
Pair = tuple[int, int, int, int]  # prediction, truth, and their labels


def find_mixups(tally: ConfidenceTally) -> dict[str, NDArray[Any]]:
    """Columns of changes, sorted; a choice stands behind the steps and has whole counts. None without an analysis."""
    if not has_matrix(tally):
        return {}
    found: Counter[tuple[int, int, int]] = Counter()
    for step, ours, theirs, more in (*right_ones(tally), *others(tally)):
        found[ours, theirs, step] += more
    listed = np.array([(*key, many) for key, many in sorted(found.items()) if many], dtype=np.int64).reshape(-1, 4)
    truth, pred, at, change = listed.T
    wide = np.uint8 if len(tally.names) < 2**8 else np.uint16
    return {
        "m_at": at.astype(np.uint8),
        "m_truth": truth.astype(wide),
        "m_pred": pred.astype(wide),
        "m_many": change.astype(np.int32 if np.abs(change).max(initial=0) >= 2**15 else np.int16),
    }


def has_matrix(tally: ConfidenceTally) -> bool:
    """Whether there are labels that can be taken for each other."""
    analysis = tally.analysis
    return analysis is not None and not analysis.matches.rules.is_together and "confusion" in analysis.settings.only


def find_claims(tally: ConfidenceTally) -> tuple[NDArray[Any], NDArray[Any]]:
    """Predictions and the truths that each overlaps enough to be paired with, as they are asked: image by image, the
    surest prediction first, and for it the largest overlap.
    """
    matches, pairs = tally.analysis.matches, tally.analysis.matches.overlaps
    is_first = tally.analysis.settings.matching == MATCHING[0]
    is_open = matches.is_counted & ~matches.is_right if is_first else matches.is_counted
    chosen = (pairs.overlap >= matches.thresholds[matches.single]) & is_open[pairs.pred] & matches.is_asked[pairs.truth]
    chosen = np.flatnonzero(chosen & ~pairs.is_same if is_first else chosen)
    pred, truth = pairs.pred[chosen], pairs.truth[chosen].astype(np.int64)
    later = truth if is_first else -truth
    order = np.lexsort((later, -pairs.overlap[chosen], matches.place[pred], matches.pred.image[pred]))
    return pred[order], truth[order]


def right_ones(tally: ConfidenceTally) -> Iterator[Change]:
    """The diagonal, where right predictions keep their truths."""
    if tally.analysis.settings.matching != MATCHING[0]:
        return
    counts = tally.by_label
    for part, first in ((counts.steps, 0), (counts.chosen, STEPS)):
        right = part[:, 0]
        for label, at in np.argwhere(right).tolist():
            yield first + at, label, label, int(right[label, at])


def others(tally: ConfidenceTally) -> Iterator[Change]:
    """Pairs of what is left, image by image."""
    matches, step = tally.analysis.matches, tally.step.tolist()
    taken = tally.overlay.finds.taken
    is_first = tally.analysis.settings.matching == MATCHING[0]
    pred, truth = find_claims(tally)
    columns = (pred, truth, matches.truth_label[truth], matches.pred_label[pred])
    listed = zip(
        matches.pred.image[pred].tolist(), zip(*(column.tolist() for column in columns), strict=True), strict=True
    )
    for _, group in groupby(listed, key=lambda one: one[0]):
        mine = [pair for _, pair in group]
        # Who takes a truth rightly, and is not among the pairs.
        taker = {one[1]: int(taken[one[1]]) for one in mine} if is_first else {}
        yield from pair_at_steps(mine, step, taker)
        for k, is_kept in enumerate(tally.is_chosen):
            gone = {one for one, by in taker.items() if by >= 0 and is_kept[by]}
            for labels, many in pair_up((one for one in mine if is_kept[one[0]]), gone).items():
                yield STEPS + k, *labels, many


def pair_at_steps(mine: list[Pair], step: list[int], taker: dict[int, int]) -> Iterator[Change]:
    """What changes, from the surest step down."""
    enters = {step[one[0]] for one in mine} | {step[by] for by in taker.values() if by >= 0}
    before: Counter[tuple[int, int]] = Counter()
    for at in sorted(enters - {-1}, reverse=True):
        gone = {one for one, by in taker.items() if by >= 0 and step[by] >= at}
        now = pair_up((one for one in mine if step[one[0]] >= at), gone)
        for labels in now.keys() | before.keys():
            if now[labels] != before[labels]:
                yield at, *labels, now[labels] - before[labels]
        before = now


def pair_up(mine: Iterable[Pair], gone: set[int]) -> Counter[tuple[int, int]]:
    """Predictions by falling confidence take the free truth they overlap most: how often which labels meet."""
    found: Counter[tuple[int, int]] = Counter()
    done: set[int] = set()
    for pred, truth, ours, theirs in mine:
        if pred not in done and truth not in gone:
            done.add(pred)
            gone.add(truth)
            found[ours, theirs] += 1
    return found
