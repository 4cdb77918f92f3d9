"""Many algorithms, many items: the scores under drawn truths.

One truth is drawn for all algorithms at a time, never one for each. Draws come in blocks that are counted and
forgotten: any number of them fits into memory, and somebody may interrupt between two. Items of the same kind are not
drawn one by one: what they add up to has a known law, and one number is drawn from it. Where items have several ways
of being wrong or errors come in groups, the wrong records themselves are drawn, and only those.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.distributions import Sampler
from verite.annotation_errors.model import ErrorModel
from verite.progress import begin
from verite.ranking.outcomes import ItemOutcomes
from verite.ranking.sums import Steps, poisson_binomial_pmf
from verite.threads import thread_count

Array = NDArray[np.float64]
DRAWS = 16_384  # drawn at a time: what fits into a processor's cache
RECORDS = 2_000_000  # drawn at a time where they are drawn one by one: between two parts somebody may interrupt


@dataclass(frozen=True, eq=False)
class ScoreMoves:
    """What the kinds of items do to the scores if their records are wrong, whole points or losses alike."""

    counts: NDArray[np.int64]
    rates: Array
    ways: Array  # kinds × ways: probability of each way, given that the record is wrong
    change: NDArray[Any]  # kinds × ways × algorithms: what it adds to the scores
    groups: NDArray[np.int64]
    items: int

    @classmethod
    def of(cls, outcomes: ItemOutcomes) -> ScoreMoves:
        change = outcomes.gains.astype(np.int32) - outcomes.right[:, None, :]
        return cls(outcomes.counts, outcomes.rates, outcomes.moves, change, outcomes.groups, outcomes.items)


def draw_changes(moves: ScoreMoves, model: ErrorModel, draws: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
    """What the wrong records of each drawn truth add to each score: blocks of draws × algorithms."""
    with begin("drawing", draws, "truths") as advance:
        for changes in draw_blocks(moves, model, draws, rng):
            yield changes
            advance(len(changes))


def draw_blocks(moves: ScoreMoves, model: ErrorModel, draws: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
    if not len(moves.counts):
        for first in range(0, draws, DRAWS):
            yield np.zeros((min(DRAWS, draws - first), moves.change.shape[2]), dtype=moves.change.dtype)
        return
    one_way = moves.ways.shape[1] == 1 and moves.change.dtype.kind == "i"
    if one_way and model.is_independent:
        yield from by_kind(moves, draws, rng)
    else:
        yield from by_record(moves, model, draws, rng)


def by_kind(moves: ScoreMoves, draws: int, rng: np.random.Generator) -> Iterator[NDArray[np.int32]]:
    """Independent errors with one way of being wrong: one number for all items that add the same or the opposite."""
    change: NDArray[np.int32] = moves.change[:, 0].astype(np.int32)
    # A change and its opposite partly undo each other: only what is left over is drawn.
    leading = change[np.arange(len(change)), np.argmax(change != 0, axis=1)]
    vectors, which = np.unique(change * leading[:, None], axis=0, return_inverse=True)
    which = which.ravel()
    samplers = []
    for v in range(len(vectors)):
        mine = which == v
        rates, signs, counts = moves.rates[mine], leading[mine], moves.counts[mine]
        # As steps of +-1: a wrong record (sign +) is +1, a right one -1; for sign - the reverse.
        up = np.where(signs > 0, rates, 1 - rates)
        steps = Steps(np.column_stack([1 - up, np.zeros(len(up)), up]), counts)
        values, probabilities = poisson_binomial_pmf(steps, steps.bounds())
        net = (values + counts @ signs) / 2
        samplers.append(Sampler.of(net, probabilities))
    for first in range(0, draws, DRAWS):
        many = min(DRAWS, draws - first)
        block = np.zeros((change.shape[1], many), dtype=np.int32)
        for vector, sampler in zip(vectors, samplers, strict=True):
            net_count = sampler.sample(many, rng)
            for j in np.flatnonzero(vector):
                if vector[j] > 0:
                    block[j] += net_count
                else:
                    block[j] -= net_count
        yield block.T


def by_record(moves: ScoreMoves, model: ErrorModel, draws: int, rng: np.random.Generator) -> Iterator[Array]:
    """Wrong records drawn one by one, each with its way of being wrong."""
    from verite._core import chosen_changes, independent_changes

    seed = int(rng.integers(2**63))
    kind = np.repeat(np.arange(len(moves.counts), dtype=np.int32), moves.counts)
    ways = np.cumsum(moves.ways, axis=1)
    ways /= ways[:, -1:]
    change = np.ascontiguousarray(moves.change, dtype=np.float64)
    if model.is_independent:
        rates = np.repeat(moves.rates, moves.counts)
        top = float(rates.max())
        share = rates / top if top > 0 and float(rates.min()) < top else np.zeros(0)
        # A draw depends on its number alone, so threads may share them out.
        parts = max(thread_count(), int(draws * len(kind) * top / RECORDS) + 1)
        bounds = np.linspace(0, draws, min(parts, draws) + 1).astype(np.int64).tolist()

        def draw_part(part: tuple[int, int]) -> Array:
            first, last = part
            return independent_changes(kind, ways, change, top, share, last - first, seed, first)

        with ThreadPoolExecutor(thread_count()) as pool:
            try:
                yield from pool.map(draw_part, pairwise(bounds))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)  # an interrupt ends what has not begun
                raise
        return
    group = np.repeat(moves.groups, moves.counts)
    order = np.argsort(group, kind="stable")
    sizes = np.unique(group, return_counts=True)[1]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    first = 0
    for wrong in model.sample(sizes, moves.items, draws, rng):
        yield chosen_changes(kind[order], ways, change, offsets, wrong, seed, first)
        first += len(wrong)
