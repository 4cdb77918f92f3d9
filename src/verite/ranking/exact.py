"""Two algorithms, one of them ahead: how likely is it still ahead if the record is wrong here and there? Exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, floor, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from verite.ranking.exchangeable import group_sides, split_groups
from verite.ranking.outcomes import Duel
from verite.ranking.sums import SideChances, three_sides
from verite.truth_errors.model import ErrorModel

Array = NDArray[np.float64]


def sides(duel: Duel, model: ErrorModel) -> SideChances | None:
    """The logarithms of the probabilities that first ends below, level with or above second.

    None where no exact way is known that would end in time.
    """
    if model.is_worst_case:
        return None
    if model.is_independent:
        return three_sides(duel.steps())

    def at(epsilon: float) -> Array:
        found = three_sides(duel.steps(epsilon))
        return np.array([found.below, found.level, found.above])

    averaged = model.average(at, duel.size)
    return group_sides(duel, split_groups(duel), model) if averaged is None else SideChances(*averaged.tolist())


@dataclass(frozen=True, eq=False)
class Drops:
    """How far one wrong record can lower first's lead: sizes, the largest first, and how many records have each."""

    sizes: Array
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, sizes: Array, counts: NDArray[np.int64]) -> Drops:
        order = np.argsort(-sizes, kind="stable")
        order = order[sizes[order] > 0]
        return cls(sizes[order].astype(np.float64), counts[order])

    def errors_to_lose(self, gap: float, tolerance: float = 0.0) -> tuple[int | None, int | None]:
        """The fewest wrong records after which a lead is gone, and after which it is turned round.

        A lead within the tolerance is none: a real-valued gap is lost a little earlier.
        """
        tied = abs(gap) <= tolerance
        to_tie = self.errors_to_lower(0.0 if tied else gap - tolerance, past=False)
        return to_tie, self.errors_to_lower((0.0 if tied else gap) + tolerance, past=True)

    def errors_to_lower(self, lead: float, *, past: bool) -> int | None:
        """The fewest wrong records that bring a lead down to zero, or past it; None if none can.

        >>> drops = Drops(np.array([2.0, 1.0]), np.array([3, 5]))
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


def worst_drops(duel: Duel, zero_is_right: bool) -> Drops:
    """The drops of the items that can tell two algorithms apart.

    `zero_is_right`: a record of rate 0 is known to be right and lowers nothing.
    """
    worst = np.where(duel.wrong[:, 0] > 0, -1, np.where(duel.wrong[:, 1] > 0, 0, 1))
    free = (duel.rates > 0) | (not zero_is_right)
    return Drops.of(np.where(free, duel.stay - worst, 0).astype(np.float64), duel.counts)


def largest_epsilon(log_lost_at: Callable[[float], float], level: float) -> float:
    """The largest rate up to one half at which an order still holds with probability `level`.

    `log_lost_at` is the logarithm of the probability that it does not hold; it rises with the rate (checked, not
    proved). For many items the normal quantile of that probability is a straight line in (1 - 2 epsilon) /
    sqrt(epsilon (1 - epsilon)), so in these two coordinates the secant rule needs a handful of steps; bisection steps
    in where it would leave the bracket.
    """
    quantile = NormalDist().inv_cdf
    target = -quantile(1 - level)

    def height(x: float) -> float:
        lost = exp(max(log_lost_at(rate_at(x)), -690.0))
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
            return rate_at(middle)
    return rate_at(high)


def rate_at(x: float) -> float:
    """The rate whose (1 - 2 epsilon) / sqrt(4 epsilon (1 - epsilon)) is x."""
    return 0.5 / (1 + x * x + x * sqrt(1 + x * x))
