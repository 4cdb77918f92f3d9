"""Models in which only the number of wrong records matters, not which they are.

Given how many of the items that tell two algorithms apart are wrong, every choice of them is as likely as any other.
So the law of independent errors, reweighted by that number, gives every such model: exactly m errors among all
records, or a group of records whose common rate is itself drawn.
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
from verite.ranking.sums import LossTieWin, Pieces, Steps, loss_tie_win, poisson_binomial_pmf

Array = NDArray[np.float64]

OUTER = 4_000_000  # pairs of numbers that are summed all at once
KEPT = 50_000  # of them that are kept for another rate
SMALL = 200  # items whose three outcomes are followed one by one


def joint_law(duel: Pairwise, rate: float) -> tuple[Array, NDArray[np.int64], Array] | None:
    """All combinations of first's lead and the number of wrong records, and their log probability at a common rate.

    None where there are too many.
    """
    if duel.is_reversal:
        ahead, behind = duel.only(1), duel.only(-1)
        if (ahead + 1) * (behind + 1) > OUTER:
            return None
        x, y = np.meshgrid(np.arange(ahead + 1), np.arange(behind + 1), indexing="ij")
        logs = binomial_log_pmf(ahead, rate)[:, None] + binomial_log_pmf(behind, rate)
        lead = (duel.gap - 2 * (x - y)).ravel()
        return lead.astype(np.float64), (x + y).ravel().astype(np.int64), logs.ravel()
    size = duel.size
    if size > SMALL:
        return None
    table = np.zeros((2 * size + 1, size + 1))
    table[size, 0] = 1.0
    for stay, wrong in zip(np.repeat(duel.stay, duel.counts), np.repeat(duel.wrong, duel.counts, axis=0), strict=True):
        moved = sum(wrong[v + 1] * np.roll(table, v, axis=0) for v in (-1, 0, 1))
        table = (1 - rate) * np.roll(table, int(stay), axis=0)
        table[:, 1:] += rate * moved[:, :-1]
    place, wrong_records = np.nonzero(table)
    return (place - size).astype(np.float64), wrong_records.astype(np.int64), np.log(table[place, wrong_records])


def reweight(duel: Pairwise, rate: float, law: Array) -> tuple[Array, Array] | None:
    """First's lead and log probability when the number of wrong records follows `law`, a log law on 0 … duel.size."""
    joint = joint_law(duel, rate)
    if joint is None:
        return None
    lead, wrong_records, logs = joint
    return lead, logs + (law - binomial_log_pmf(duel.size, rate))[wrong_records]


@dataclass(frozen=True, eq=False)
class SharedGroup:
    """The items of a group of shared errors that tell two algorithms apart; `times` groups are made up like it."""

    duel: Pairwise
    times: int

    @cached_property
    def joint(self) -> tuple[Array, NDArray[np.int64], Array] | None:
        """Lead, number of wrong records and log probability of every combination, all sets of errors alike."""
        return joint_law(self.duel, 0.5)

    @cached_property
    def wrong(self) -> Array:
        """The law of the lead if every record is wrong: probabilities of -size … size."""
        steps, size = self.duel.steps(1.0), self.duel.size
        values, probabilities = poisson_binomial_pmf(steps, steps.bounds())
        return np.bincount((values + size).astype(np.int64), probabilities, 2 * size + 1).astype(np.float64)

    def law(self, model: ErrorModel) -> Array | None:
        """The law of the lead of first over second: probabilities of -size … size. None where it takes too long."""
        size = self.duel.size
        errors = model.log_pmf(size, self.duel.items)
        if errors is None:
            return None
        if is_as_a_whole(errors):
            law = np.exp(errors[-1]) * self.wrong
            law[self.duel.gap + size] += np.exp(errors[0])
            return np.asarray(law, dtype=np.float64)
        # What takes much room is not kept for the next rate.
        is_small = (self.duel.only(1) + 1) * (self.duel.only(-1) + 1) <= KEPT
        joint = self.joint if is_small else joint_law(self.duel, 0.5)
        if joint is None:
            return None
        lead, wrong, logs = joint
        weight = errors - binomial_log_pmf(size, 0.5)
        places = (lead + size).astype(np.int64)
        return np.bincount(places, np.exp(logs + weight[wrong]), 2 * size + 1).astype(np.float64)


def is_as_a_whole(errors: Array) -> bool:
    """Whether all of some records are wrong or none is, by the log law of their number."""
    return not np.isfinite(errors[1:-1]).any()


def mean_rate(errors: Array) -> float:
    """The share of wrong records to expect under a log law of their number, kept away from 0 and 1."""
    size = len(errors) - 1
    return float(np.clip(np.exp(errors) @ np.arange(size + 1) / size, 1e-12, 1 - 1e-12))


def split_groups(duel: Pairwise) -> list[SharedGroup]:
    """The groups of shared errors, those of the same make-up counted together."""
    kinds, kind = np.unique(np.column_stack([duel.stay, duel.wrong]), axis=0, return_inverse=True)
    groups, group = np.unique(duel.groups, return_inverse=True)
    made_up = np.zeros((len(groups), len(kinds)), dtype=np.int64)
    np.add.at(made_up, (group.ravel(), kind.ravel()), duel.counts)
    alike = zip(*np.unique(made_up, axis=0, return_counts=True), strict=True)
    stay, wrong = kinds[:, 0].astype(np.int64), kinds[:, 1:]
    return [SharedGroup(Pairwise.of(duel.items, counts, stay, wrong), int(times)) for counts, times in alike]


def group_sides(duel: Pairwise, groups: list[SharedGroup], model: ErrorModel) -> LossTieWin | None:
    """Errors in groups: each group moves the lead as one large step. None where that is too many combinations."""
    if len(groups) == 1 and groups[0].times == 1:
        errors = model.log_pmf(duel.size, duel.items)
        found = None if errors is None else one_group_sides(duel, errors)
        if found is not None:
            return found
    laws: list[Array] = []
    for group in groups:
        law = group.law(model)
        if law is None:
            return None
        laws.append(law)
    pieces = Pieces.of(laws, [group.times for group in groups])
    return loss_tie_win(Steps(np.zeros((0, 3)), np.zeros(0, dtype=np.int64), pieces))


def one_group_sides(duel: Pairwise, errors: Array) -> LossTieWin | None:
    """The three sides when the number of wrong records follows this log law; None where that takes too long."""
    if errors[0] == 0:
        gap = duel.gap
        return LossTieWin(*(0.0 if side else -inf for side in (gap < 0, gap == 0, gap > 0)))
    rate = mean_rate(errors)
    found = reweight(duel, rate, errors)
    if found is not None:
        lead, logs = found
        return LossTieWin(*(min(log_sum(logs[side]), 0.0) for side in (lead < 0, lead == 0, lead > 0)))
    if not duel.is_reversal or not is_narrow(errors, rate):
        return None
    if duel.gap < 0:
        return large_reversal(duel.only(-1), duel.only(1), rate, errors).mirror()
    return large_reversal(duel.only(1), duel.only(-1), rate, errors)


def is_narrow(errors: Array, rate: float) -> bool:
    """Whether the number of wrong records varies no more than it does for independent errors."""
    size = len(errors) - 1
    spread = float(np.exp(errors) @ (np.arange(size + 1) - size * rate) ** 2)
    return spread <= size * rate * (1 - rate) * (1 + 1e-9)


def large_reversal(ahead: int, behind: int, rate: float, law: Array) -> LossTieWin:
    """`one_group_sides` for many items: x of the leader's and y of the trailer's points change hands, x + y by `law`.

    The leader is overtaken where x - y > gap / 2. The likeliest of these cases lie next to the border, so the diagonals
    x - y = constant are summed from there on, each around its likeliest place, until nothing is added any more.
    """
    leader, trailer = binomial_log_pmf(ahead, rate), binomial_log_pmf(behind, rate)
    weight = law - binomial_log_pmf(ahead + behind, rate)
    gap = ahead - behind
    width = int(6 * (min(ahead, behind) + 100) ** 0.5) + 100  # 12 standard deviations of the widest case

    fewest, most = (int(v) for v in np.flatnonzero(law > -inf)[[0, -1]])

    def diagonal(shift: int, around: int | None) -> tuple[float, int | None]:
        """log P(x = y + shift), and the likeliest y. Only sums x + y = 2 y + shift that `law` allows are looked at."""
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
    """log of the sum of exponentials."""
    top = float(logs.max(initial=-inf))
    return top + log(float(np.exp(logs - top).sum())) if top > -inf else -inf
