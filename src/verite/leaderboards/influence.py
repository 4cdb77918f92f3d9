"""Influential annotations: how much each changes the gap of two detectors, and how few decide their ranking.

For each detector and the next one: the smallest set of annotations found whose removal swaps them, the bias Γ that
annotation errors would need (a sensitivity analysis in the sense of Rosenbaum), and the annotations to check first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.evaluation.evaluation import Changes
from verite.leaderboards.audit import AuditRow
from verite.leaderboards.candidates import sort_annotations
from verite.statistics.multiple_comparisons import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.annotation_errors.detection import Detection
    from verite.leaderboards.result import Board
    from verite.leaderboards.simulation import AnnotationErrorSimulation
    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]

MAX_CANDIDATES = 2000  # for missing objects, the likeliest of which are evaluated one by one
SIZES_AT_A_TIME = 9  # numbers of removed annotations that are evaluated at a time
MAX_GAMMA = 1e6
BLOCK = 4000  # annotations that are evaluated at a time


@dataclass(frozen=True, eq=False)
class RankingInfluence:
    """For each detector of a leaderboard and the next one, how few annotations decide their ranking."""

    flip: list[int | None]  # annotations whose removal swaps them, an upper bound; None: none found, or they are tied
    gamma: list[float | None]  # bias odds that tie them; None: no odds do, or no spurious annotations were assumed
    rows: list[AuditRow]  # annotations to check, the most decisive first


def removal_influence(results: Any, metric: str, rows: NDArray[Any], threads: int | None = None) -> Floats:
    """Return how much a score changes without each of these annotations; nan where the score does not exist then.

    `results` are those of a protocol whose score is a mean (`mean_query`): COCO's, Pascal VOC's, LVIS's.
    """
    offsets, none = np.arange(len(rows) + 1, dtype=np.int64), np.zeros(len(rows) + 1, np.int64)
    empty = np.zeros(0, np.int32)
    changes = Changes(None, rows.astype(np.int32), offsets, empty, empty, none, empty, none)
    without = results.evaluation.bootstrap_means([results.mean_query(metric)], None, changes, threads)[:, 0]
    return np.asarray(without - results.scores[metric].value)


def find_influence(
    board: Board,
    results: Sequence[Any],
    truth: Annotations,
    counted: NDArray[np.bool_],
    errors: Detection,
    audit_size: int,
    simulation: AnnotationErrorSimulation | None,
) -> RankingInfluence:
    """Find the influential annotations of all neighbours of a leaderboard.

    Parameters
    ----------
    board
        The ranking by one score.
    results
        The results of the detectors, in the order in which they were given.
    truth, counted
        The ground truth, and which of its objects count.
    errors, simulation
        The error model and its simulation; None without annotation errors.
    audit_size
        The largest number of annotations to list.
    """
    from verite.progress import begin

    rows = sort_annotations(truth, np.flatnonzero(counted))
    ranked = [results[i] for i in board.order]
    single = np.zeros((len(ranked), len(rows)))
    with begin("influence", single.size, "annotations") as advance:
        for own, one in zip(single, ranked, strict=True):
            for first in range(0, len(rows), BLOCK):
                some = slice(first, first + BLOCK)
                own[some] = np.nan_to_num(removal_influence(one, board.metric, rows[some]))
                advance(len(rows[some]))
    flip: list[int | None] = []
    gamma: list[float | None] = []
    decisive: dict[int, tuple[float, float, int]] = {}  # by position: priority, influence on the gap, pair
    rates = np.full(len(rows), errors.mean("spurious")) if simulation is None else simulation.mean_spurious_rates()
    for i in range(len(ranked) - 1):
        gap = float(board.scores[i] - board.scores[i + 1])
        change = single[i] - single[i + 1]
        flip.append(min_flip_size(ranked[i : i + 2], board.metric, rows, change, gap))
        gamma.append(sensitivity_gamma(gap, change, rates))
        for at in np.argsort(change, kind="stable")[:audit_size]:
            priority = -change[at] / gap if gap > TIE and change[at] < 0 else 0.0
            if priority > decisive.get(int(at), (0.0, nan, 0))[0]:
                decisive[int(at)] = (priority, float(change[at]), i)
    detected = [one.evaluation.outcomes().pred >= 0 for one in ranked]  # at the first IoU threshold
    listed = []
    for at, (priority, change_of_gap, i) in decisive.items():
        row = int(rows[at])
        leader, other = board.names[i : i + 2]
        by = {
            (True, False): f"detected by {leader}, not by {other}",
            (False, True): f"detected by {other}, not by {leader}",
            (True, True): f"detected by both, better by {leader}",
            (False, False): "detected by neither",
        }[bool(detected[i][row]), bool(detected[i + 1][row])]
        audit_row = AuditRow.of(
            truth.images.name(int(truth.image[row])),
            truth.labels.name(int(truth.label[row])),
            truth.regions.sizes[row],
            "spurious",
            change_of_gap,
            f"is it an object? {by}; without it the gap between {leader} and {other} shrinks by {-change_of_gap:.2g} "
            f"{board.metric}",
        )
        listed.append((priority * (rates[at] or 1.0), audit_row))
    if simulation is not None and simulation.pool is not None:
        listed += list_missing(board, ranked, simulation)
    listed.sort(key=lambda one: (-one[0], one[1].location))
    return RankingInfluence([*flip, None], [*gamma, None], [row for _, row in listed[:audit_size]])


def min_flip_size(pair: Sequence[Any], metric: str, rows: Any, change: Floats, gap: float) -> int | None:
    """Return how many annotations, the most influential first, must be removed to swap two detectors.

    An upper bound of the smallest flip set: each size that is tried is evaluated exactly, but only sets of the most
    influential annotations are. None if no such set swaps them, or if they are tied.

    Parameters
    ----------
    pair
        The results of the leader and of the other detector.
    rows, change
        Rows of the ground truth, and how much the gap changes without each of them.
    gap
        The leader's score minus the other's.
    """
    if not gap > TIE:
        return None
    order = np.argsort(change, kind="stable")
    order = order[change[order] < 0]
    if not len(order):
        return None
    reached = np.flatnonzero(np.cumsum(-change[order]) > gap)
    guess = int(reached[0]) + 1 if len(reached) else len(order)
    low = 0
    high: int | None = None
    sizes = sorted({min(max(1, guess * 2**k // 4), len(order)) for k in range(12)})
    while True:
        changes = Changes.of(removed=[rows[order][:size] for size in sizes])
        one, two = (each.evaluation.bootstrap_means([each.mean_query(metric)], None, changes)[:, 0] for each in pair)
        for size, left in zip(sizes, one - two, strict=True):
            if left < -TIE:
                high = size
                break
            low = size
        if high is None:
            return None
        if high - low <= 1:
            return high
        steps = (max(1, (high - low) * k // (SIZES_AT_A_TIME + 1)) for k in range(1, SIZES_AT_A_TIME + 1))
        sizes = sorted({low + step for step in steps} - {high})


def sensitivity_gamma(gap: float, change: Floats, rates: Floats) -> float | None:
    """Return the odds ratio Γ by which spurious annotations must favour the leader until the expected gap is 0.

    To first order: each annotation's influence by itself, at the assumed rates. None if no odds tie the two.
    """
    if not gap > TIE or not rates.any():
        return None
    harms = change < 0
    odds = rates[harms] / np.maximum(1 - rates[harms], 1e-12)
    rest = gap + float((rates[~harms] * change[~harms]).sum())

    def expected_gap(log_gamma: float) -> float:
        tilted = exp(log_gamma) * odds
        return rest + float((tilted / (1 + tilted) * change[harms]).sum())

    low, high = 0.0, float(np.log(MAX_GAMMA))
    if expected_gap(low) <= 0:
        return 1.0
    if expected_gap(high) > 0:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_gap(middle) > 0 else (low, middle)
    return exp(high)


def list_missing(
    board: Board, ranked: Sequence[Any], simulation: AnnotationErrorSimulation
) -> list[tuple[float, AuditRow]]:
    """Return candidates for missing objects that would shrink the gap of two neighbours, with their priorities."""
    pool, truth = simulation.pool, simulation.truth
    assert pool is not None
    likely = np.argsort(-pool.weight, kind="stable")[:MAX_CANDIDATES]
    changes = Changes.of(simulation.object_table, added=[[len(truth) + int(i)] for i in likely])
    single = []
    for one in ranked:
        added = one.evaluation.bootstrap_means([one.mean_query(board.metric)], None, changes)[:, 0]
        single.append(np.nan_to_num(added - one.scores[board.metric].value))
    best: dict[tuple[Any, ...], tuple[float, AuditRow]] = {}
    for i in range(len(ranked) - 1):
        gap = float(board.scores[i] - board.scores[i + 1])
        if not gap > TIE:
            continue
        first, second = board.names[i : i + 2]
        change = single[i] - single[i + 1]
        for at in np.flatnonzero(change < 0):
            candidate, by = int(likely[at]), float(change[at])
            row = AuditRow.of(
                truth.images.name(int(pool.image[candidate])),
                truth.labels.name(int(pool.label[candidate])),
                pool.boxes[candidate],
                "missing",
                by,
                f"is an object missing? with it the gap between {first} and {second} shrinks by {-by:.2g} "
                f"{board.metric}",
            )
            priority = float(pool.weight[candidate]) * -by / gap * simulation.errors.mean("missing")
            if priority > best.get(row.location, (0.0, row))[0]:
                best[row.location] = (priority, row)
    return list(best.values())
