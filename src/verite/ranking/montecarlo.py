"""Monte Carlo simulation of scores under annotation errors, for many algorithms and items.

One ground truth is simulated for all algorithms at a time. Simulations come in blocks that are counted and dropped, so
any number of them fits into memory and an interrupt is answered between two blocks. Items of the same type are not
simulated one by one: their sum has a known (Poisson-binomial) distribution, from which one number is sampled. Where
items can be wrong in several ways, or errors are correlated, the wrong annotations themselves are sampled.
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
from verite.ranking.poisson_binomial import Steps, poisson_binomial_pmf
from verite.threads import thread_count

Array = NDArray[np.float64]
BLOCK = 16_384  # simulations at a time: what fits into a processor's cache
ANNOTATIONS = 2_000_000  # sampled at a time by annotation: an interrupt is answered between two parts


@dataclass(frozen=True, eq=False)
class ErrorEffects:
    """What wrong annotations of each type of item add to the scores, whole points or losses alike."""

    counts: NDArray[np.int64]
    rates: Array
    ways: Array  # kinds × ways: probability of each way, given that the record is wrong
    change: NDArray[Any]  # kinds × ways × algorithms: what it adds to the scores
    groups: NDArray[np.int64]
    items: int

    @classmethod
    def of(cls, outcomes: ItemOutcomes) -> ErrorEffects:
        """Make the effects of items with right and wrong answers."""
        change = outcomes.gains.astype(np.int32) - outcomes.right[:, None, :]
        return cls(outcomes.counts, outcomes.rates, outcomes.moves, change, outcomes.groups, outcomes.items)


def sample_score_changes(
    moves: ErrorEffects, model: ErrorModel, draws: int, rng: np.random.Generator
) -> Iterator[NDArray[Any]]:
    """Simulate what wrong annotations add to each score: blocks of simulations × algorithms.

    Sampled by type of item where errors are independent and have one effect, else by annotation.
    """
    with begin("drawing", draws, "truths") as advance:
        one_way = moves.ways.shape[1] == 1 and moves.change.dtype.kind == "i"
        blocks: Iterator[NDArray[Any]]
        if not len(moves.counts):
            sizes = (min(BLOCK, draws - first) for first in range(0, draws, BLOCK))
            blocks = (np.zeros((size, moves.change.shape[2]), dtype=moves.change.dtype) for size in sizes)
        elif one_way and model.is_independent:
            blocks = sample_by_type(moves, draws, rng)
        else:
            blocks = sample_by_annotation(moves, model, draws, rng)
        for changes in blocks:
            yield changes
            advance(len(changes))


def sample_by_type(moves: ErrorEffects, draws: int, rng: np.random.Generator) -> Iterator[NDArray[np.int32]]:
    """Sample one number per group of items that add the same or the opposite (independent, one effect)."""
    change: NDArray[np.int32] = moves.change[:, 0].astype(np.int32)
    # A change and its opposite partly cancel: only the net number is sampled.
    leading = change[np.arange(len(change)), np.argmax(change != 0, axis=1)]
    vectors, which = np.unique(change * leading[:, None], axis=0, return_inverse=True)
    which = which.ravel()
    samplers = []
    for v in range(len(vectors)):
        mine = which == v
        rates, signs, counts = moves.rates[mine], leading[mine], moves.counts[mine]
        # As steps of ±1: a wrong annotation (sign +) is +1, a right one -1; for sign - the reverse.
        up = np.where(signs > 0, rates, 1 - rates)
        steps = Steps(np.column_stack([1 - up, np.zeros(len(up)), up]), counts)
        values, probabilities = poisson_binomial_pmf(steps, steps.bounds())
        net = (values + counts @ signs) / 2
        samplers.append(Sampler.of(net, probabilities))
    for first in range(0, draws, BLOCK):
        many = min(BLOCK, draws - first)
        block = np.zeros((change.shape[1], many), dtype=np.int32)
        for vector, sampler in zip(vectors, samplers, strict=True):
            net_count = sampler.sample(many, rng)
            for j in np.flatnonzero(vector):
                if vector[j] > 0:
                    block[j] += net_count
                else:
                    block[j] -= net_count
        yield block.T


def sample_by_annotation(
    moves: ErrorEffects, model: ErrorModel, draws: int, rng: np.random.Generator
) -> Iterator[Array]:
    """Sample the wrong annotations themselves, each with its effect."""
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
        # A simulation depends on its number only, so that threads may share them.
        parts = max(thread_count(), int(draws * len(kind) * top / ANNOTATIONS) + 1)
        bounds = np.linspace(0, draws, min(parts, draws) + 1).astype(np.int64).tolist()

        def draw_part(part: tuple[int, int]) -> Array:
            first, last = part
            return independent_changes(kind, ways, change, top, share, last - first, seed, first)

        with ThreadPoolExecutor(thread_count()) as pool:
            try:
                yield from pool.map(draw_part, pairwise(bounds))
            except BaseException:
                pool.shutdown(
                    wait=False, cancel_futures=True
                )  # on an interrupt, parts that have not begun are cancelled
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
