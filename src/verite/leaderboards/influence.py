"""Influential annotations: how much each changes the gap of two detectors, and how few decide their ranking.

For each detector and the next one: the smallest set of annotations found whose removal swaps them, the bias Γ that
annotation errors would need (a sensitivity analysis in the sense of Rosenbaum), and the annotations to check first:
those that add most to the variance of the gap, e (1 − e) c², e the probability of an error and c the change of the gap,
of either sign. A list of annotations that harm the leader alone would make every leader more certain, true or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.evaluation.evaluation import Changes
from verite.leaderboards.audit import RANDOM_SHARE, AuditRow, observed_odds, sample_with_weights
from verite.leaderboards.candidates import sort_annotations
from verite.leaderboards.simulation import scale_probabilities
from verite.statistics.multiple_comparisons import TIE
from verite.statistics.resampling import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.annotation_errors.detection import Detection
    from verite.leaderboards.audit import AuditVerdicts, CheckedOdds
    from verite.leaderboards.result import Board
    from verite.leaderboards.simulation import AnnotationErrorSimulation
    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]

MAX_CANDIDATES = 2000  # for missing objects, the likeliest of which are evaluated one by one
SIZES_AT_A_TIME = 9  # numbers of removed annotations that are evaluated at a time
MAX_GAMMA = 1e6
AUDIT_STREAM = 11  # of random numbers
BLOCK = 4000  # annotations that are evaluated at a time


@dataclass(frozen=True, eq=False)
class RankingInfluence:
    """For each detector of a leaderboard and the next one, how few annotations decide their ranking."""

    flip: list[int | None]  # annotations whose removal swaps them, an upper bound; None: none found, or they are tied
    gamma: list[float | None]  # bias odds that tie them; None: no odds do, or no spurious annotations were assumed
    rows: list[AuditRow]  # annotations to check, the most decisive first
    odds: list[CheckedOdds | None]  # by which checked annotations err rather where the first finds them alone


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
    verdicts: AuditVerdicts,
    seed: int,
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
    verdicts
        Those of an audit.
    seed
        The seed of the rows that are drawn at random.
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
    odds: list[CheckedOdds | None] = []
    rates = np.full(len(rows), errors.mean("spurious")) if simulation is None else simulation.mean_spurious_rates()
    likely, probabilities = np.zeros(0, np.int64), np.zeros(0)
    if simulation is not None and simulation.pool is not None and len(simulation.pool):
        probabilities = simulation.candidate_probabilities()
        likely = np.argsort(-probabilities, kind="stable")[:MAX_CANDIDATES]
        single = np.hstack([single, addition_influence(ranked, board.metric, simulation, likely)])
        probabilities = probabilities[likely]
    detected = [one.evaluation.outcomes().pred >= 0 for one in ranked]  # at the first IoU threshold
    checked = [(at, row.verdict == "wrong") for row, at in verdicts.decided("spurious")]
    at = np.array([position for position, _ in checked], np.int64)
    wrong = np.array([is_wrong for _, is_wrong in checked], np.bool_)
    # The variance that each annotation adds to the gap of a pair, relative to the gap and all variance of the pair.
    chance = np.concatenate([rates, probabilities])
    variance = chance * (1 - chance) if rates.any() else np.concatenate([np.ones(len(rows)), probabilities])
    priority, change, pair = np.zeros(len(chance)), np.zeros(len(chance)), np.zeros(len(chance), np.int64)
    for i in range(len(ranked) - 1):
        gap = float(board.scores[i] - board.scores[i + 1])
        of_pair = single[i] - single[i + 1]
        removal = of_pair[: len(rows)]
        flip.append(min_flip_size(ranked[i : i + 2], board.metric, rows, removal, gap))
        gamma.append(sensitivity_gamma(gap, removal, rates))
        odds.append(observed_odds(detected[i][at], detected[i + 1][at], wrong))
        own = variance * of_pair**2
        own /= max(gap**2 + float(own.sum()), TIE**2)
        better = own > priority
        priority[better], change[better], pair[better] = own[better], of_pair[better], i
    order, weights = choose_rows(priority, len(rows), audit_size, seed)
    listed = []
    for k in order:
        leader, other = board.names[pair[k] : pair[k] + 2]
        favoured = leader if change[k] < 0 else other
        moved = f"the gap between {leader} and {other} changes by {abs(change[k]):.2g} {board.metric}"
        if k < len(rows):
            row, kind, reason = int(rows[k]), "spurious", f"is it an object? without it {moved}"
            image, label, box = truth.image[row], truth.label[row], truth.regions.sizes[row]
        else:
            assert simulation is not None
            assert simulation.pool is not None
            row, kind, reason = int(likely[k - len(rows)]), "missing", f"is an object missing? with it {moved}"
            pool = simulation.pool
            image, label, box = pool.image[row], pool.label[row], pool.boxes[row]
        names = truth.images.name(int(image)), truth.labels.name(int(label))
        weight, gains = weights.get(k), favoured if change[k] else "neither"
        listed.append(AuditRow.of(*names, box, kind, float(change[k]), reason, weight=weight, favours=gains))
    return RankingInfluence([*flip, None], [*gamma, None], listed, [*odds, None])


def choose_rows(priority: Floats, annotations: int, size: int, seed: int) -> tuple[list[int], dict[int, float]]:
    """Choose what to check: the largest priorities, and a tenth at random out of all annotations.

    Half of the random part's inclusion probability is proportional to the priority, half of it is the same for all, so
    that every annotation may be drawn.

    Parameters
    ----------
    priority
        That of each annotation, then of each candidate for a missing object.
    annotations
        The number of annotations.
    size
        The number of rows to choose.
    seed
        The seed of the random part.

    Returns
    -------
    tuple
        Positions, the largest priority first, and the sampling weights of those that were drawn at random.
    """
    own = priority[:annotations]
    mixed = np.full(annotations, 1 / max(annotations, 1)) + own / max(float(own.sum()), 1e-300)
    count = min(max(size // RANDOM_SHARE, 1), annotations)
    sampled, weights = sample_with_weights(scale_probabilities(mixed, count), generator(seed, 0, AUDIT_STREAM))
    drawn = dict(zip(sampled.tolist(), weights.tolist(), strict=True))
    ranked = [int(at) for at in np.argsort(-priority, kind="stable") if priority[at] > 0 and int(at) not in drawn]
    chosen = [*ranked[: max(size - len(drawn), 0)], *drawn]
    return sorted(chosen, key=lambda at: (-priority[at], at)), drawn


def addition_influence(
    ranked: Sequence[Any], metric: str, simulation: AnnotationErrorSimulation, candidates: NDArray[np.int64]
) -> Floats:
    """Return how much each detector's score changes with each candidate as an object, [detector, candidate]."""
    changes = Changes.of(simulation.object_table, added=[[len(simulation.truth) + int(i)] for i in candidates])
    found = []
    for one in ranked:
        added = one.evaluation.bootstrap_means([one.mean_query(metric)], None, changes)[:, 0]
        found.append(np.nan_to_num(added - one.scores[metric].value))
    return np.stack(found)


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
