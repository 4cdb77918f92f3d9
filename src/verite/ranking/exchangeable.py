"""Models in which only the number of wrong records matters, not which they are.

Given how many of the items that tell two algorithms apart are wrong, every choice of them is as likely as any other.
So the law of independent errors, reweighted by that number, gives every such model: exactly m errors among all
records, or a group of records whose common rate is itself drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, log, log1p

import numpy as np
from numpy.typing import NDArray

from verite.ranking.outcomes import Duel
from verite.ranking.sums import NEGLIGIBLE, Sides, law_of_sum
from verite.truth_errors.models import Audit, Exactly, Shared

Array = NDArray[np.float64]

OUTER = 4_000_000  # pairs of numbers that are summed all at once
KEPT = 50_000  # of them that are kept for another rate
SMALL = 200  # items whose three outcomes are followed one by one


def log_law(log_ratios: Array) -> Array:
    """The logarithms of a law on 0 … n from those of its neighbours' ratios p(k + 1) / p(k).

    Summed outwards from the likeliest value, so that what is likely has all its digits.

    >>> np.exp(log_law(np.log([2.0, 0.5]))).round(3).tolist()
    [0.25, 0.5, 0.25]
    """
    mode = int(np.argmax(log_ratios < 0)) if (log_ratios < 0).any() else len(log_ratios)
    left = -np.cumsum(log_ratios[:mode][::-1])[::-1]
    logs = np.concatenate([left, [0.0], np.cumsum(log_ratios[mode:])])
    return logs - log(float(np.exp(logs).sum()))


def binomial(size: int, rate: float) -> Array:
    """log P(f wrong among `size`), each wrong with this rate, strictly between 0 and 1."""
    f = np.arange(size, dtype=np.float64)
    return log_law(np.log((size - f) / (f + 1)) + (log(rate) - log1p(-rate)))


def hypergeometric(items: int, size: int, errors: int) -> Array:
    """log P(f of `size` marked items are among the `errors` drawn out of `items`)."""
    low, high = max(0, errors - (items - size)), min(size, errors)
    f = np.arange(low, high, dtype=np.float64)
    law = log_law(np.log((size - f) / (f + 1)) + np.log((errors - f) / (items - size - errors + f + 1)))
    return np.concatenate([np.full(low, -inf), law, np.full(size - high, -inf)])


def beta_binomial(size: int, alpha: float, beta: float) -> Array:
    """log P(f wrong among `size`) at a common rate drawn from a Beta law."""
    f = np.arange(size, dtype=np.float64)
    return log_law(np.log((size - f) / (f + 1)) + np.log((f + alpha) / (size - f - 1 + beta)))


def errors_law(items: int, many: int, model: Audit | Exactly | Shared) -> Array:
    """The log law of the number of wrong records among `many` whose errors depend on each other."""
    if isinstance(model, Exactly):
        return hypergeometric(items, many, model.errors) if model.errors else certain(many, 0)
    if isinstance(model, Audit):
        return beta_binomial(many, model.errors + 0.5, model.checked - model.errors + 0.5)
    if model.correlation < 1:
        return beta_binomial(many, *model.beta)
    right, wrong = certain(many, 0) + log(1 - model.epsilon), certain(many, many) + log(model.epsilon)
    return np.asarray(np.logaddexp(right, wrong), dtype=np.float64)


def certain(size: int, value: int) -> Array:
    """The log law that puts everything on one value."""
    law = np.full(size + 1, -np.inf)
    law[value] = 0.0
    return law


def joint_law(duel: Duel, rate: float) -> tuple[Array, NDArray[np.int64], Array] | None:
    """All combinations of first's lead and the number of wrong records, and their log probability at a common rate.

    None where there are too many.
    """
    if duel.is_reversal:
        ahead, behind = duel.only(1), duel.only(-1)
        if (ahead + 1) * (behind + 1) > OUTER:
            return None
        x, y = np.meshgrid(np.arange(ahead + 1), np.arange(behind + 1), indexing="ij")
        logs = binomial(ahead, rate)[:, None] + binomial(behind, rate)
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


def reweight(duel: Duel, rate: float, law: Array) -> tuple[Array, Array] | None:
    """First's lead and log probability when the number of wrong records follows `law`, a log law on 0 … duel.size."""
    joint = joint_law(duel, rate)
    if joint is None:
        return None
    lead, wrong_records, logs = joint
    return lead, logs + (law - binomial(duel.size, rate))[wrong_records]


@dataclass(frozen=True, eq=False)
class Group:
    """The items of a group of shared errors that tell two algorithms apart; `times` groups are made up like it."""

    duel: Duel
    times: int

    @cached_property
    def joint(self) -> tuple[Array, NDArray[np.int64], Array] | None:
        """Lead, number of wrong records and log probability of every combination, all sets of errors alike."""
        return joint_law(self.duel, 0.5)

    @cached_property
    def wrong(self) -> Array:
        """The law of the lead if every record is wrong: probabilities of -size … size."""
        steps, size = self.duel.steps(1.0), self.duel.size
        values, probabilities = law_of_sum(steps, steps.bounds())
        return np.bincount((values + size).astype(np.int64), probabilities, 2 * size + 1).astype(np.float64)

    def law(self, model: Shared) -> Array | None:
        """The law of the lead of first over second: probabilities of -size … size. None where it takes too long."""
        size = self.duel.size
        if model.correlation == 1:
            law = model.epsilon * self.wrong
            law[self.duel.gap + size] += 1 - model.epsilon
            return law
        # What takes much room is not kept for the next rate.
        is_small = (self.duel.only(1) + 1) * (self.duel.only(-1) + 1) <= KEPT
        joint = self.joint if is_small else joint_law(self.duel, 0.5)
        if joint is None:
            return None
        lead, wrong, logs = joint
        weight = beta_binomial(size, *model.beta) - binomial(size, 0.5)
        places = (lead + size).astype(np.int64)
        return np.bincount(places, np.exp(logs + weight[wrong]), 2 * size + 1).astype(np.float64)


def groups_of(duel: Duel) -> list[Group]:
    """The groups of shared errors, those of the same make-up counted together."""
    kinds, kind = np.unique(np.column_stack([duel.stay, duel.wrong]), axis=0, return_inverse=True)
    groups, group = np.unique(duel.groups, return_inverse=True)
    made_up = np.zeros((len(groups), len(kinds)), dtype=np.int64)
    np.add.at(made_up, (group.ravel(), kind.ravel()), duel.counts)
    alike = zip(*np.unique(made_up, axis=0, return_counts=True), strict=True)
    stay, wrong = kinds[:, 0].astype(np.int64), kinds[:, 1:]
    return [Group(Duel.of(duel.items, counts, stay, wrong), int(times)) for counts, times in alike]


def exactly_sides(duel: Duel, errors: int) -> Sides | None:
    """The three sides when exactly so many of all records are wrong; None where that is too many combinations."""
    if errors == 0 or duel.size == 0:
        gap = duel.gap
        return Sides(*(0.0 if side else -inf for side in (gap < 0, gap == 0, gap > 0)))
    rate = errors / duel.items
    law = hypergeometric(duel.items, duel.size, errors)
    found = reweight(duel, rate, law)
    if found is not None:
        lead, logs = found
        return Sides(*(log_sum(logs[side]) for side in (lead < 0, lead == 0, lead > 0)))
    if not duel.is_reversal:
        return None
    if duel.gap < 0:
        return large_reversal(duel.only(-1), duel.only(1), rate, law).mirror()
    return large_reversal(duel.only(1), duel.only(-1), rate, law)


def large_reversal(ahead: int, behind: int, rate: float, law: Array) -> Sides:
    """`exactly_sides` for many items: x of the leader's and y of the trailer's points change hands, x + y by `law`.

    The leader is overtaken where x - y > gap / 2. The likeliest of these cases lie next to the border, so the diagonals
    x - y = constant are summed from there on, each around its likeliest place, until nothing is added any more.
    """
    leader, trailer = binomial(ahead, rate), binomial(behind, rate)
    weight = law - binomial(ahead + behind, rate)
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
    return Sides(below, level, float(np.log1p(-(np.exp(below) + np.exp(level)))))


def log_sum(logs: Array) -> float:
    """log of the sum of exponentials."""
    top = float(logs.max(initial=-inf))
    return top + log(float(np.exp(logs - top).sum())) if top > -inf else -inf
