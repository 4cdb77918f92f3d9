"""Which records decide the order? The fewest found whose removal turns it, how biased errors would have to be, and what
to check first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.evaluation.evaluation import Changes
from verite.leaderboards.audit import AuditRow
from verite.statistics.multiple_comparisons import TIE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.annotation_errors.detection import Detection
    from verite.leaderboards.leaderboard import LeaderboardSettings
    from verite.leaderboards.result import Board
    from verite.leaderboards.simulation import TruthDraws
    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]
MOST_CANDIDATES = 2000  # for missing objects, the likeliest of which are looked at one by one
WAYS = 9  # numbers of records that are tried at a time
MOST_GAMMA = 1e6
BLOCK = 4000  # records that are weighed at a time


@dataclass(frozen=True, eq=False)
class Flips:
    """For each detector of a board and the next one."""

    flip: list[int | None]  # truths whose removal turns their order: no more are needed; None: not found, or no order
    gamma: list[float | None]  # None: no odds turn it, or no spurious records were assumed
    rows: list[AuditRow]  # what to check, the most decisive first


def influence(results: Any, metric: str, rows: NDArray[Any], threads: int | None = None) -> Floats:
    """By how much a score changes when each of these truths alone is not there. nan: the score vanishes, too."""
    offsets, none = np.arange(len(rows) + 1, dtype=np.int64), np.zeros(len(rows) + 1, np.int64)
    empty = np.zeros(0, np.int32)
    changes = Changes(None, rows.astype(np.int32), offsets, empty, empty, none, empty, none)
    drawn = results.evaluation.bootstrap_means([results.mean_query(metric)], None, changes, threads)[:, 0]
    return np.asarray(drawn - results.scores[metric].value)


def influence_of_adding(results: Any, metric: str, truths: TruthDraws, candidates: NDArray[Any]) -> Floats:
    """The same for candidates of the pool that are added."""
    assert truths.pool is not None
    added = [[len(truths.truth) + int(i)] for i in candidates]
    changes = Changes.of(truths.fixed_table, added=added)
    return np.asarray(
        results.evaluation.bootstrap_means([results.mean_query(metric)], None, changes)[:, 0]
        - results.scores[metric].value
    )


def find_flips(
    board: Board,
    results: Sequence[Any],
    truth: Annotations,
    asked: NDArray[np.bool_],
    errors: Detection,
    settings: LeaderboardSettings,
    truths: TruthDraws | None,
) -> Flips:
    """Of all neighbours of a board."""
    from verite.leaderboards.simulation import sort_records
    from verite.progress import begin

    rows = sort_records(truth, np.flatnonzero(asked))
    given = [results[i] for i in board.order]
    single = np.zeros((len(given), len(rows)))
    with begin("weighing", single.size, "records") as advance:
        for own, one in zip(single, given, strict=True):
            for first in range(0, len(rows), BLOCK):
                some = slice(first, first + BLOCK)
                own[some] = np.nan_to_num(influence(one, board.metric, rows[some]))
                advance(len(rows[some]))
    flip: list[int | None] = []
    gamma: list[float | None] = []
    decisive: dict[int, tuple[float, float, int]] = {}  # by position: priority, influence on the gap, pair
    rates = np.full(len(rows), errors.mean("spurious")) if truths is None else mean_rates(truths)
    for i in range(len(given) - 1):
        gap = float(board.scores[i] - board.scores[i + 1])
        change = single[i] - single[i + 1]
        flip.append(count_to_flip(given[i : i + 2], board.metric, rows, change, gap))
        gamma.append(find_gamma(gap, change, rates))
        for at in np.argsort(change, kind="stable")[: settings.audit_size]:
            priority = -change[at] / gap if gap > TIE and change[at] < 0 else 0.0
            if priority > decisive.get(int(at), (0.0, nan, 0))[0]:
                decisive[int(at)] = (priority, float(change[at]), i)
    found = outcomes_of(given)
    listed = [
        (priority * (rates[at] or 1.0), list_record(truth, int(rows[at]), by, board, i, found))
        for at, (priority, by, i) in decisive.items()
    ]
    if truths is not None and truths.pool is not None:
        listed += list_missing(board, given, truths)
    listed.sort(key=lambda one: (-one[0], one[1].place))
    return Flips([*flip, None], [*gamma, None], [row for _, row in listed[: settings.audit_size]])


def mean_rates(truths: TruthDraws) -> Floats:
    factor, own = truths.bases["spurious"]
    mean = np.where(np.isnan(own), truths.errors.mean("spurious"), own) * factor
    return np.asarray(np.minimum(mean, 1.0))


def outcomes_of(given: Sequence[Any]) -> list[NDArray[np.bool_]]:
    """Which truths each detector found, at the first threshold."""
    return [one.evaluation.outcomes().pred >= 0 for one in given]


def count_to_flip(pair: Sequence[Any], metric: str, rows: Any, change: Floats, gap: float) -> int | None:
    """How many truths, the most decisive first, turn the order of two when they are removed; each count that is tried
    is evaluated exactly. An upper bound: fewer others might do.
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
        for size, left in zip(sizes, gaps_without(pair, metric, rows[order], sizes), strict=True):
            if left < -TIE:
                high = size
                break
            low = size
        if high is None:
            return None
        if high - low <= 1:
            return high
        sizes = sorted({low + max(1, (high - low) * k // (WAYS + 1)) for k in range(1, WAYS + 1)} - {high})


def gaps_without(pair: Sequence[Any], metric: str, order: Any, sizes: Sequence[int]) -> Floats:
    """The gap of two detectors without the first so many truths of an order."""
    changes = Changes.of(removed=[order[:size] for size in sizes])
    one, two = (each.evaluation.bootstrap_means([each.mean_query(metric)], None, changes)[:, 0] for each in pair)
    return np.asarray(one - two)


def find_gamma(gap: float, change: Floats, rates: Floats) -> float | None:
    """By which odds records whose removal harms the leader must be spurious more often, until the expected gap is 0.

    To first order: each record's influence by itself, at the rates that are assumed.
    """
    if not gap > TIE or not rates.any():
        return None
    harms = change < 0
    odds = rates[harms] / np.maximum(1 - rates[harms], 1e-12)
    rest = gap + float((rates[~harms] * change[~harms]).sum())

    def expected(log_gamma: float) -> float:
        tilted = exp(log_gamma) * odds
        return rest + float((tilted / (1 + tilted) * change[harms]).sum())

    low, high = 0.0, float(np.log(MOST_GAMMA))
    if expected(low) <= 0:
        return 1.0
    if expected(high) > 0:
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expected(middle) > 0 else (low, middle)
    return exp(high)


def list_record(
    truth: Annotations, row: int, by: float, board: Board, i: int, found: Sequence[NDArray[np.bool_]]
) -> AuditRow:
    """A record that stands between two detectors, and why it matters."""
    first, second = board.names[i], board.names[i + 1]
    has = [bool(one[row]) for one in found[i : i + 2]]
    who = {
        (True, False): f"found by {first}, not by {second}",
        (False, True): f"found by {second}, not by {first}",
        (True, True): f"found by both, better by {first}",
        (False, False): "found by neither",
    }[has[0], has[1]]
    return AuditRow.of(
        truth.images.name(int(truth.image[row])),
        truth.labels.name(int(truth.label[row])),
        truth.regions.sizes[row],
        "spurious",
        by,
        f"is it an object? {who}; without it {second} comes nearer to {first} by {-by:.2g} {board.metric}",
    )


def list_missing(board: Board, given: Sequence[Any], truths: TruthDraws) -> list[tuple[float, AuditRow]]:
    """Candidates for missing objects that would bring two neighbours nearer, with their priorities."""
    pool, truth = truths.pool, truths.truth
    assert pool is not None
    likely = np.argsort(-pool.weight, kind="stable")[:MOST_CANDIDATES]
    single = [np.nan_to_num(influence_of_adding(one, board.metric, truths, likely)) for one in given]
    listed = []
    for i in range(len(given) - 1):
        gap = float(board.scores[i] - board.scores[i + 1])
        if not gap > TIE:
            continue
        change = single[i] - single[i + 1]
        for at in np.flatnonzero(change < 0):
            where = int(likely[at])
            by = float(change[at])
            first, second = board.names[i], board.names[i + 1]
            row = AuditRow.of(
                truth.images.name(int(pool.image[where])),
                truth.labels.name(int(pool.label[where])),
                pool.boxes[where],
                "missing",
                by,
                f"is an object missing? with it {second} comes nearer to {first} by {-by:.2g} {board.metric}",
            )
            listed.append((float(pool.weight[where]) * -by / gap * truths.errors.mean("missing"), row))
    best: dict[tuple[Any, ...], tuple[float, AuditRow]] = {}
    for priority, row in listed:
        if priority > best.get(row.place, (0.0, row))[0]:
            best[row.place] = (priority, row)
    return list(best.values())
