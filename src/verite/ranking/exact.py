"""Exact rank probabilities of binary scores: pairwise, of three algorithms, and of any number by a walk on a lattice.

Each item adds a step to the vector of score differences, so the joint pmf of all differences is a convolution on an
integer lattice. Two algorithms need one dimension (the Poisson-binomial distribution); the scores of three algorithms
with binary answers are independent on the items where one differs from the others, which takes linear time. The module
also finds the worst case (the fewest errors that change a lead) and the largest error rate at which an order holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, floor, nan, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.distributions import binomial_log_pmf, point_mass_log_pmf
from verite.annotation_errors.model import ErrorModel
from verite.ranking.exchangeable import grouped_loss_tie_win, is_as_a_whole, mean_rate, split_groups
from verite.ranking.outcomes import ItemOutcomes, Pairwise
from verite.ranking.poisson_binomial import LossTieWin, Steps, loss_tie_win, merge_steps, poisson_binomial_pmf
from verite.statistics.rankings import RankProbabilities, has_differences, keeps_order, rank_probabilities

Array = NDArray[np.float64]


def rank_three_independent(pmfs: list[tuple[Array, Array]], recorded: NDArray[Any]) -> RankProbabilities:
    """Return the rank probabilities of three independent scores (values, probabilities), in linear time."""
    low = min(int(values[0]) for values, _ in pmfs)
    high = max(int(values[-1]) for values, _ in pmfs)
    at = np.zeros((3, high - low + 1))
    for j, (values, probabilities) in enumerate(pmfs):
        at[j, (values - low).astype(np.int64)] = probabilities
    # Each tail is summed from its own thin end: no cancellation.
    under = np.concatenate([np.zeros((3, 1)), np.cumsum(at, axis=1)[:, :-1]], axis=1)
    over = np.concatenate([np.cumsum(at[:, ::-1], axis=1)[:, ::-1][:, 1:], np.zeros((3, 1))], axis=1)
    ahead, level, places = np.zeros((3, 3)), np.eye(3), np.zeros((3, 3))
    for i in range(3):
        j, k = (other for other in range(3) if other != i)
        for other in (j, k):
            ahead[i, other] = at[i] @ under[other]
            level[i, other] = at[i] @ at[other]
        for first, of_j in enumerate((under[j], at[j], over[j])):
            for second, of_k in enumerate((under[k], at[k], over[k])):
                better = (first == 2) + (second == 2)
                many = 1 + (first == 1) + (second == 1)
                places[i, better : better + many] += float(at[i] @ (of_j * of_k)) / many
    return RankProbabilities(ahead, level, places, whole_of_three(at, under, over, recorded))


def whole_of_three(at: Array, under: Array, over: Array, recorded: NDArray[Any]) -> float:
    """Return P(every pair with different recorded scores keeps its order)."""
    order = np.argsort(-recorded, kind="stable")
    first, second, third = (int(j) for j in order)
    if recorded[first] == recorded[third]:
        return nan
    if recorded[first] == recorded[second]:
        return float(at[third] @ (over[first] * over[second]))
    if recorded[second] == recorded[third]:
        return float(at[first] @ (under[second] * under[third]))
    return float(at[second] @ (over[first] * under[third]))


WORK = 300_000_000  # additions a random_walk_pmf may take

GROUPS = 200  # groups of shared errors that are walked through

FEW = 6  # different rates whose convolve_binomials are convolved one by one

TINY = -700.0  # logarithm of the smallest probability that is followed


@dataclass(frozen=True, eq=False)
class LatticeStep:
    """A step of the walk: the vectors it may take and their probabilities. It is taken `times` times."""

    vectors: NDArray[np.int64]
    probabilities: Array
    times: int = 1


def exact_rank_probabilities(outcomes: ItemOutcomes, model: ErrorModel) -> RankProbabilities | None:
    """Return the rank probabilities of any number of algorithms; None where that would take too long."""
    if model.is_worst_case:
        return None
    if len(outcomes.names) == 3 and outcomes.is_reversal:
        found = rank_three_independent(net_score_pmfs(outcomes), outcomes.scores) if model.is_independent else None
        found = rank_three_over_posterior(outcomes, model) if found is None else found
        if found is not None:
            return found
    reached = score_difference_pmf(outcomes, model)
    if reached is None:
        return None
    differences, weights = reached
    # Scores relative to the last algorithm's, which is 0.
    scores = np.concatenate([differences, np.zeros((len(differences), 1), dtype=np.int64)], axis=1)
    return rank_probabilities([scores], outcomes.scores, weights=weights)


def rank_three_over_posterior(outcomes: ItemOutcomes, model: ErrorModel) -> RankProbabilities | None:
    """Return the rank probabilities of three algorithms over an uncertain rate; None if there is none."""

    def at(epsilon: float) -> Array:
        found = rank_three_independent(net_score_pmfs(outcomes.at(epsilon)), outcomes.scores)
        with np.errstate(divide="ignore"):
            # Where all are level on the record there is no whole order, and nothing to average.
            logs: Array = np.log(np.nan_to_num(found.packed))
        return logs

    logs = model.log_mean(at, int(outcomes.counts.sum()))
    if logs is None:
        return None
    found = RankProbabilities.unpack(np.exp(logs), 3)
    return found if has_differences(outcomes.scores) else replace(found, whole=nan)


def net_score_pmfs(outcomes: ItemOutcomes) -> list[tuple[Array, Array]]:
    """Return for each of three algorithms the pmf of its net score on the items where it differs from the two others.

    On an item two of three binary answers agree, so only the third one's score changes relative to them, and the three
    net scores are independent.
    """
    pmfs: list[tuple[Array, Array]] = []
    for j in range(3):
        alone = outcomes.right[:, j] != outcomes.right[:, (j + 1) % 3]
        alone &= outcomes.right[:, (j + 1) % 3] == outcomes.right[:, (j + 2) % 3]
        rates = outcomes.rates[alone]
        gain = np.where(outcomes.right[alone, j] == 1, 1 - rates, rates)
        steps = merge_steps(Steps(np.column_stack([1 - gain, np.zeros(len(gain)), gain]), outcomes.counts[alone]))
        pmfs.append(convolve_binomials(steps) or poisson_binomial_pmf(steps, steps.bounds()))
    return pmfs


def convolve_binomials(steps: Steps) -> tuple[Array, Array] | None:
    """Return the pmf of steps of ±1 with few different rates, by convolving binomials: all digits also in the tails.

    None where there are too many different rates.
    """
    low, pmf = 0, np.ones(1)
    for (_, _, up), count in zip(steps.pmfs, steps.counts.tolist(), strict=True):
        logs = binomial_log_pmf(count, float(up)) if 0 < up < 1 else point_mass_log_pmf(count, count if up == 1 else 0)
        used = np.flatnonzero(logs > TINY)
        if len(pmf) * len(used) > WORK or len(steps.counts) > FEW:
            return None
        pmf = np.convolve(pmf, np.exp(logs[used[0] : used[-1] + 1]))
        low += 2 * int(used[0]) - count
    return low + 2 * np.arange(len(pmf), dtype=np.float64), pmf


def score_difference_pmf(outcomes: ItemOutcomes, model: ErrorModel) -> tuple[NDArray[np.int64], Array] | None:
    """Return all differences of scores to the last algorithm's, and their probabilities.

    Parameters
    ----------
    outcomes
        Types of items: who is right, how often, and what a wrong annotation would change.
    model
        Errors of the annotations.

    Returns
    -------
    tuple[NDArray[np.int64], Array] | None
        Differences [value, algorithm] in items and their probabilities, over all wrong annotations; None if that
        takes long.
    """
    base = outcomes.counts @ (outcomes.right[:, :-1] - outcomes.right[:, -1:])
    if not len(outcomes.counts):
        return base[None, :], np.ones(1)
    found = random_walk_pmf(lattice_steps(outcomes)) if model.is_independent else grouped_walk_pmf(outcomes, model)
    return None if found is None else (base + found[0], found[1])


def order_kept_given_errors(outcomes: ItemOutcomes) -> Array | None:
    """Return P(the whole order holds | k of the relevant annotations are wrong) for all k; None if it takes too long.

    One walk serves every rate that is common to all annotations.
    """
    if not len(outcomes.counts):
        return np.ones(1)
    found = random_walk_pmf(lattice_steps(outcomes.at(0.5), counting=True))
    if found is None:
        return None
    vectors, weights = found
    base = outcomes.counts @ (outcomes.right[:, :-1] - outcomes.right[:, -1:])
    scores = np.concatenate([base + vectors[:, :-1], np.zeros((len(vectors), 1), dtype=np.int64)], axis=1)
    preserves = keeps_order(scores, outcomes.scores)
    size = int(outcomes.counts.sum())
    shares = np.bincount(vectors[preserves, -1], weights[preserves], size + 1)
    return np.asarray(shares / np.exp(binomial_log_pmf(size, 0.5)), dtype=np.float64)


def grouped_walk_pmf(outcomes: ItemOutcomes, model: ErrorModel) -> tuple[NDArray[np.int64], Array] | None:
    """Return the pmf of the walk that takes the items of a group in one step."""
    steps: list[LatticeStep] = []
    for group in np.unique(outcomes.groups):
        step = group_step(outcomes, model, int(group)) if len(steps) < GROUPS else None
        if step is None:
            return None
        steps.append(step)
    return random_walk_pmf(steps)


def lattice_steps(outcomes: ItemOutcomes, counting: bool = False) -> list[LatticeStep]:
    """Return each type of item as a step; with `counting`, a last coordinate counts errors."""
    stay = (outcomes.right[:, :-1] - outcomes.right[:, -1:]).astype(np.int64)
    moved = (outcomes.gains[:, :, :-1] - outcomes.gains[:, :, -1:]).astype(np.int64) - stay[:, None, :]
    steps: list[LatticeStep] = []
    for kind, times in enumerate(outcomes.counts):
        vectors = np.concatenate([np.zeros((1, stay.shape[1]), dtype=np.int64), moved[kind]])
        rate = outcomes.rates[kind]
        probabilities = np.concatenate([[1 - rate], rate * outcomes.moves[kind]])
        if counting:
            vectors = np.concatenate([vectors, (np.arange(len(vectors)) > 0)[:, None].astype(np.int64)], axis=1)
        used = probabilities > 0
        steps.append(LatticeStep(vectors[used], probabilities[used], int(times)))
    return steps


def group_step(outcomes: ItemOutcomes, model: ErrorModel, group: int) -> LatticeStep | None:
    """Return the items of one group of correlated errors as a single step."""
    part = outcomes.where(outcomes.groups == group)
    size = int(part.counts.sum())
    errors = model.log_pmf(size, part.items)
    if errors is None:
        return None
    if is_as_a_whole(errors):
        found = random_walk_pmf(lattice_steps(part.at(1.0)))
        if found is None:
            return None
        still = np.zeros((1, found[0].shape[1]), dtype=np.int64)
        none, every = np.exp(errors[0]), np.exp(errors[-1])
        return LatticeStep(np.concatenate([still, found[0]]), np.concatenate([[none], every * found[1]]))
    rate = mean_rate(errors)
    found = random_walk_pmf(lattice_steps(part.at(rate), counting=True))
    if found is None:
        return None
    weight = np.exp(errors - binomial_log_pmf(size, rate))
    vectors, inverse = np.unique(found[0][:, :-1], axis=0, return_inverse=True)
    weights = np.bincount(inverse.ravel(), found[1] * weight[found[0][:, -1]]).astype(np.float64)
    return LatticeStep(vectors, weights)


def random_walk_pmf(steps: Sequence[LatticeStep]) -> tuple[NDArray[np.int64], Array] | None:
    """Return every point that the walk can reach, and its probability; None if there are too many."""
    every = np.concatenate([step.vectors for step in steps])
    stride = np.maximum(np.gcd.reduce(np.abs(every), axis=0), 1)
    low = sum(step.times * np.minimum(step.vectors.min(axis=0), 0) for step in steps) // stride
    high = sum(step.times * np.maximum(step.vectors.max(axis=0), 0) for step in steps) // stride
    shape = high - low + 1
    work = float(np.prod(shape.astype(np.float64))) * sum(step.times * len(step.vectors) for step in steps)
    if work > WORK:
        return None
    pmf = np.zeros(shape)
    pmf[tuple(-low)] = 1.0
    for step in steps:
        shifts = [tuple(int(s) for s in vector // stride) for vector in step.vectors]
        for _ in range(step.times):
            after = np.zeros_like(pmf)
            for shift, probability in zip(shifts, step.probabilities, strict=True):
                to = tuple(slice(max(s, 0), n + min(s, 0)) for s, n in zip(shift, pmf.shape, strict=True))
                of = tuple(slice(max(-s, 0), n + min(-s, 0)) for s, n in zip(shift, pmf.shape, strict=True))
                after[to] += probability * pmf[of]
            pmf = after
    reached = np.nonzero(pmf)
    return (np.stack(reached, axis=1) + low) * stride, pmf[reached]


def pairwise_loss_tie_win(pairwise: Pairwise, model: ErrorModel) -> LossTieWin | None:
    """Return the log probabilities that the first algorithm ends below, tied with or above the second.

    None where no exact method ends in time.
    """
    if model.is_worst_case:
        return None
    if model.is_independent:
        return loss_tie_win(pairwise.steps())

    def at(epsilon: float) -> Array:
        found = loss_tie_win(pairwise.steps(epsilon))
        return np.array([found.loss, found.tie, found.win])

    averaged = model.log_mean(at, pairwise.size)
    return (
        grouped_loss_tie_win(pairwise, split_groups(pairwise), model)
        if averaged is None
        else LossTieWin(*averaged.tolist())
    )


@dataclass(frozen=True, eq=False)
class LeadDrops:
    """How far one wrong annotation can lower a lead: drops, the largest first, and how many items have each."""

    sizes: Array
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: Array, counts: NDArray[np.int64]) -> LeadDrops:
        """Make drops from one value per type of item; values that lower nothing are left out."""
        order = np.argsort(-sizes, kind="stable")
        order = order[sizes[order] > 0]
        return cls(sizes[order].astype(np.float64), counts[order])

    def errors_to_lose(self, gap: float, tolerance: float = 0.0) -> tuple[int | None, int | None]:
        """Return the fewest errors after which a lead is gone, and after which it is reversed.

        A lead within the tolerance is none: a real-valued gap is lost a little earlier.

        Parameters
        ----------
        gap
            The lead, as a difference of scores in items.
        tolerance
            Scores this close are tied.

        Returns
        -------
        tuple[int | None, int | None]
            Two counts; None where no number of errors suffices.
        """
        tied = abs(gap) <= tolerance
        to_tie = self.errors_to_lower(0.0 if tied else gap - tolerance, past=False)
        return to_tie, self.errors_to_lower((0.0 if tied else gap) + tolerance, past=True)

    def errors_to_lower(self, lead: float, *, past: bool) -> int | None:
        """The fewest wrong records that bring a lead down to zero, or past it; None if none can.

        >>> drops = LeadDrops(np.array([2.0, 1.0]), np.array([3, 5]))
        >>> drops.errors_to_lower(4, past=False), drops.errors_to_lower(4, past=True)
        (2, 3)
        >>> drops.errors_to_lower(12, past=False) is None
        True
        """
        if lead <= 0 and not past:
            return 0
        fallen = np.cumsum(self.sizes * self.counts)
        enough = np.flatnonzero(fallen > lead if past else fallen >= lead)
        if not len(enough):
            return None
        kind = int(enough[0])
        size, rest = float(self.sizes[kind]), lead - (float(fallen[kind - 1]) if kind else 0.0)
        more = floor(rest / size) + 1 if past else ceil(rest / size)
        return int(self.counts[:kind].sum()) + min(max(more, 1), int(self.counts[kind]))


def worst_case_drops(pairwise: Pairwise, zero_is_right: bool) -> LeadDrops:
    """Return the drops of the items that distinguish two algorithms.

    `zero_is_right`: an annotation of rate 0 is verified and lowers nothing.

    Parameters
    ----------
    pairwise
        Items by who of two algorithms is right now, and after an error.
    zero_is_right
        An annotation of rate 0 is verified and lowers nothing.

    Returns
    -------
    LeadDrops
        How much of the lead each item can cost, and how many items cost as much.
    """
    worst = np.where(pairwise.wrong[:, 0] > 0, -1, np.where(pairwise.wrong[:, 1] > 0, 0, 1))
    free = (pairwise.rates > 0) | (not zero_is_right)
    return LeadDrops.of(np.where(free, pairwise.stay - worst, 0).astype(np.float64), pairwise.counts)


def largest_epsilon(log_lost_at: Callable[[float], float], level: float) -> float:
    """Return the largest error rate up to one half at which an order holds with probability `level`.

    `log_lost_at` is the log probability that it does not hold; it rises with the rate (checked, not proved). For many
    items the normal quantile of that probability is linear in (1 - 2 epsilon) / sqrt(epsilon (1 - epsilon)), so in
    these two coordinates the secant method needs a handful of steps; bisection replaces a step that would leave the
    bracket.
    """
    quantile = NormalDist().inv_cdf
    target = -quantile(1 - level)

    def height(x: float) -> float:
        lost = exp(max(log_lost_at(rate_from_margin(x)), -690.0))
        return (-quantile(lost) if lost < 1 else -40.0) - target

    low, low_height = 0.0, height(0.0)  # x = 0 is a rate of one half
    if low_height >= 0:
        return 0.5
    high, high_height = 1.0, height(1.0)
    while high_height < 0 and high < 1e8:
        low, low_height, high = high, high_height, 2 * high
        high_height = height(high)
    stuck = 0
    while high - low > 1e-13 * high:
        secant = low - low_height * (high - low) / (high_height - low_height)
        middle = secant if low < secant < high and stuck < 2 else (low + high) / 2
        value = height(middle)
        if value >= 0:
            stuck = stuck + 1 if middle == secant and high - middle < 0.1 * (high - low) else 0
            high, high_height = middle, value
        else:
            stuck = stuck + 1 if middle == secant and middle - low < 0.1 * (high - low) else 0
            low, low_height = middle, value
        if abs(value) < 1e-13:
            return rate_from_margin(middle)
    return rate_from_margin(high)


def rate_from_margin(x: float) -> float:
    """Return the rate whose (1 - 2 epsilon) / sqrt(4 epsilon (1 - epsilon)) is x."""
    return 0.5 / (1 + x * x + x * sqrt(1 + x * x))
