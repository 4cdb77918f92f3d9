"""Exchangeable annotation errors: only the number of wrong annotations matters, not which they are.

Given how many of the discordant items are wrong, every choice of them is equally likely. So the joint distribution of
lead and number of errors under independent errors, reweighted by that number, gives every such model: exactly m errors
among all annotations, or a group whose common rate is itself random (beta-binomial).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, log

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.distributions import NEGLIGIBLE, binomial_log_pmf
from verite.annotation_errors.model import ErrorModel
from verite.ranking.outcomes import Pairwise
from verite.ranking.poisson_binomial import LossTieWin, Steps, WideSteps, loss_tie_win, poisson_binomial_pmf

Array = NDArray[np.float64]

OUTER = 4_000_000  # pairs of numbers that are summed all at once
KEPT = 50_000  # of them that are kept for another rate
SMALL = 200  # items whose three outcomes are followed one by one


def joint_pmf(pairwise: Pairwise, rate: float) -> tuple[Array, NDArray[np.int64], Array] | None:
    """Return all combinations of lead and number of errors, and their log probability at a common error rate.

    None where there are too many combinations.
    """
    if pairwise.is_reversal:
        ahead, behind = pairwise.only(1), pairwise.only(-1)
        if (ahead + 1) * (behind + 1) > OUTER:
            return None
        x, y = np.meshgrid(np.arange(ahead + 1), np.arange(behind + 1), indexing="ij")
        logs = binomial_log_pmf(ahead, rate)[:, None] + binomial_log_pmf(behind, rate)
        lead = (pairwise.gap - 2 * (x - y)).ravel()
        return lead.astype(np.float64), (x + y).ravel().astype(np.int64), logs.ravel()
    size = pairwise.size
    if size > SMALL:
        return None
    table = np.zeros((2 * size + 1, size + 1))
    table[size, 0] = 1.0
    for stay, wrong in zip(
        np.repeat(pairwise.stay, pairwise.counts), np.repeat(pairwise.wrong, pairwise.counts, axis=0), strict=True
    ):
        moved = sum(wrong[v + 1] * np.roll(table, v, axis=0) for v in (-1, 0, 1))
        table = (1 - rate) * np.roll(table, int(stay), axis=0)
        table[:, 1:] += rate * moved[:, :-1]
    place, wrong_records = np.nonzero(table)
    return (place - size).astype(np.float64), wrong_records.astype(np.int64), np.log(table[place, wrong_records])


@dataclass(frozen=True, eq=False)
class SharedGroup:
    """The discordant items of a group of correlated errors; `times` groups have the same composition."""

    pairwise: Pairwise
    times: int

    @cached_property
    def joint(self) -> tuple[Array, NDArray[np.int64], Array] | None:
        """Lead, number of errors and log probability of every combination, all sets of errors equally likely."""
        return joint_pmf(self.pairwise, 0.5)

    @cached_property
    def wrong(self) -> Array:
        """The pmf of the lead, on -size … size, if every annotation is wrong."""
        steps, size = self.pairwise.steps(1.0), self.pairwise.size
        values, probabilities = poisson_binomial_pmf(steps, steps.bounds())
        return np.bincount((values + size).astype(np.int64), probabilities, 2 * size + 1).astype(np.float64)

    def pmf(self, model: ErrorModel) -> Array | None:
        """Return the pmf of the first algorithm's lead on -size … size; None where it takes too long."""
        size = self.pairwise.size
        errors = model.log_pmf(size, self.pairwise.items)
        if errors is None:
            return None
        if is_as_a_whole(errors):
            pmf = np.exp(errors[-1]) * self.wrong
            pmf[self.pairwise.gap + size] += np.exp(errors[0])
            return np.asarray(pmf, dtype=np.float64)
        # What takes much room is not kept for the next rate.
        is_small = (self.pairwise.only(1) + 1) * (self.pairwise.only(-1) + 1) <= KEPT
        joint = self.joint if is_small else joint_pmf(self.pairwise, 0.5)
        if joint is None:
            return None
        lead, wrong, logs = joint
        weight = errors - binomial_log_pmf(size, 0.5)
        places = (lead + size).astype(np.int64)
        return np.bincount(places, np.exp(logs + weight[wrong]), 2 * size + 1).astype(np.float64)


def is_as_a_whole(errors: Array) -> bool:
    """Return whether a log pmf of the number of errors allows all or none only."""
    return not np.isfinite(errors[1:-1]).any()


def mean_rate(errors: Array) -> float:
    """Return the expected share of errors under a log pmf of their number, kept away from 0 and 1."""
    size = len(errors) - 1
    return float(np.clip(np.exp(errors) @ np.arange(size + 1) / size, 1e-12, 1 - 1e-12))


def split_groups(pairwise: Pairwise) -> list[SharedGroup]:
    """Return the groups of correlated errors, those of the same composition counted together."""
    kinds, kind = np.unique(np.column_stack([pairwise.stay, pairwise.wrong]), axis=0, return_inverse=True)
    groups, group = np.unique(pairwise.groups, return_inverse=True)
    made_up = np.zeros((len(groups), len(kinds)), dtype=np.int64)
    np.add.at(made_up, (group.ravel(), kind.ravel()), pairwise.counts)
    alike = zip(*np.unique(made_up, axis=0, return_counts=True), strict=True)
    stay, wrong = kinds[:, 0].astype(np.int64), kinds[:, 1:]
    return [SharedGroup(Pairwise.of(pairwise.items, counts, stay, wrong), int(times)) for counts, times in alike]


def grouped_loss_tie_win(pairwise: Pairwise, groups: list[SharedGroup], model: ErrorModel) -> LossTieWin | None:
    """Return the pairwise probabilities where each group of errors moves the lead as one wide step.

    None where that takes too long.
    """
    if len(groups) == 1 and groups[0].times == 1:
        errors = model.log_pmf(pairwise.size, pairwise.items)
        found = None if errors is None else one_group_loss_tie_win(pairwise, errors)
        if found is not None:
            return found
    pmfs: list[Array] = []
    for group in groups:
        pmf = group.pmf(model)
        if pmf is None:
            return None
        pmfs.append(pmf)
    wide = WideSteps.of(pmfs, [group.times for group in groups])
    return loss_tie_win(Steps(np.zeros((0, 3)), np.zeros(0, dtype=np.int64), wide))


def one_group_loss_tie_win(pairwise: Pairwise, errors: Array) -> LossTieWin | None:
    """Return the pairwise probabilities for one group with this log pmf of errors; None if it takes long."""
    if errors[0] == 0:
        gap = pairwise.gap
        return LossTieWin(*(0.0 if side else -inf for side in (gap < 0, gap == 0, gap > 0)))
    rate = mean_rate(errors)
    joint = joint_pmf(pairwise, rate)
    if joint is not None:
        # Correlated errors differ from independent ones of this rate in the distribution of their number alone.
        lead, wrong_records, logs = joint
        logs = logs + (errors - binomial_log_pmf(pairwise.size, rate))[wrong_records]
        return LossTieWin(*(min(log_sum(logs[side]), 0.0) for side in (lead < 0, lead == 0, lead > 0)))
    if not pairwise.is_reversal or not is_narrow(errors, rate):
        return None
    if pairwise.gap < 0:
        return large_reversal(pairwise.only(-1), pairwise.only(1), rate, errors).negated()
    return large_reversal(pairwise.only(1), pairwise.only(-1), rate, errors)


def is_narrow(errors: Array, rate: float) -> bool:
    """Return whether the number of errors varies no more than for independent errors.

    Parameters
    ----------
    errors
        Log pmf of the number of errors.
    rate
        Expected share of errors.

    Returns
    -------
    bool
        Whether the variance is at most that of a binomial, up to rounding.
    """
    size = len(errors) - 1
    spread = float(np.exp(errors) @ (np.arange(size + 1) - size * rate) ** 2)
    return spread <= size * rate * (1 - rate) * (1 + 1e-9)


def large_reversal(ahead: int, behind: int, rate: float, pmf: Array) -> LossTieWin:
    """Return the pairwise probabilities of one group for many items, by summing along diagonals.

    x of the leader's and y of the other's points change hands, and x + y has the log pmf `pmf`. The leader is overtaken
    where x - y > gap / 2. The likeliest of these cases are next to the border, so the diagonals x - y = constant are
    summed from there on, each around its mode, until nothing is added any more.
    """
    leader, trailer = binomial_log_pmf(ahead, rate), binomial_log_pmf(behind, rate)
    weight = pmf - binomial_log_pmf(ahead + behind, rate)
    gap = ahead - behind
    width = int(6 * (min(ahead, behind) + 100) ** 0.5) + 100  # 12 standard deviations of the widest case

    fewest, most = (int(v) for v in np.flatnonzero(pmf > -inf)[[0, -1]])

    def diagonal(shift: int, around: int | None) -> tuple[float, int | None]:
        """Return log P(x = y + shift) and the mode of y, over possible sums x + y = 2 y + shift."""
        low, high = max(0, -shift, -((shift - fewest) // 2)), min(behind, ahead - shift, (most - shift) // 2)
        if around is not None:
            low, high = max(low, around - width), min(high, around + width)
        if low > high:
            return -inf, around
        y = np.arange(low, high + 1)
        logs = leader[y + shift] + trailer[y] + weight[2 * y + shift]
        return log_sum(logs), low + int(np.argmax(logs))

    level = diagonal(gap // 2, None)[0] if gap % 2 == 0 else -inf
    sums: list[float] = []
    place = None
    for shift in range(gap // 2 + 1, min(ahead, most) + 1):
        total, place = diagonal(shift, place)
        sums.append(total)
        # A number of errors of the other parity leaves out every second diagonal.
        if -inf < total < max(sums) - NEGLIGIBLE:
            break
    below = log_sum(np.array(sums))
    return LossTieWin(below, level, float(np.log1p(-(np.exp(below) + np.exp(level)))))


def log_sum(logs: Array) -> float:
    """Return the log of a sum of exponentials (log-sum-exp)."""
    top = float(logs.max(initial=-inf))
    return top + log(float(np.exp(logs - top).sum())) if top > -inf else -inf
