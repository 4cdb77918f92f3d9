"""How does the chance to keep an order fall with the rate of errors, and up to which rate is it large enough?

Exactly where pairs can be compared exactly; else at a few rates by drawn truths, the same number of draws at each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from math import exp, isnan, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.ranking.contest import RankingProblem
from verite.ranking.exact import largest_epsilon
from verite.ranking.sums import LossTieWin
from verite.statistics.rankings import RankProbabilities, rank_probabilities

Array = NDArray[np.float64]
RATES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
WRONG_RECORDS = 30_000_000  # drawn in all at most
FEWEST = 2_000  # draws at a rate that are worth it


@dataclass(frozen=True, eq=False)
class OrderCurves:
    """The chance to keep each order of a contest, as a function of the rate."""

    contest: RankingProblem
    draws: int
    seed: int

    def __getstate__(self) -> dict[str, Any]:
        """Without what was worked out: it is made of functions, which do not pickle."""
        return {"contest": self.contest, "draws": self.draws, "seed": self.seed}

    def kept_of(self, one: str, two: str) -> Callable[[float], float] | None:
        """`kept_curve` by names."""
        names = self.contest.names
        return self.kept_curve(names.index(one), names.index(two))

    @cached_property
    def many(self) -> int:
        """Draws at each rate: as many as asked for, or fewer where that would take long; 0 if too few are left."""
        affordable = int(WRONG_RECORDS / (sum(RATES) * self.contest.items))
        return min(self.draws, affordable) if affordable >= FEWEST else 0

    @cached_property
    def drawn(self) -> list[RankProbabilities]:
        """Rank probabilities at each of `RATES`."""
        found = []
        for rate in RATES:
            scores = self.contest.under(self.contest.model.with_rate(rate)).draw(
                self.many, np.random.default_rng(self.seed)
            )
            found.append(rank_probabilities(scores, self.contest.scores, self.contest.tolerance))
        return found

    @cached_property
    def exact(self) -> Callable[[int, int], Callable[[float], LossTieWin] | None]:
        """How first ends relative to second at a rate, exactly; None if no way is known that ends in time."""

        def ask(first: int, second: int) -> Callable[[float], LossTieWin] | None:
            at = cache(self.contest.pair_at(first, second))
            if at(0.5) is None:
                return None

            def sides(epsilon: float) -> LossTieWin:
                found = at(epsilon)
                assert found is not None
                return found

            return sides

        return cache(ask)

    def kept_curve(self, first: int, second: int) -> Callable[[float], float] | None:
        """The probability that first stays ahead of second at a rate; None if it is not known."""
        at = self.exact(first, second)
        if at is not None:
            return lambda epsilon: exp(at(epsilon).above)
        if not self.many:
            return None
        shares = [standings.wins[first, second] for standings in self.drawn]
        return lambda epsilon: float(np.interp(epsilon, RATES, shares))

    @cached_property
    def largest(self) -> Callable[[int, int, float], float | None]:
        """The largest rate at which first stays ahead with this probability; None if it is not known."""

        def ask(first: int, second: int, level: float) -> float | None:
            at = self.exact(first, second)
            if at is not None:
                return largest_epsilon(lambda epsilon: log_lost([at(epsilon)]), level)
            return find_crossing([s.wins[first, second] for s in self.drawn], level) if self.many else None

        return cache(ask)

    def largest_whole(self, steps: list[tuple[int, int]], level: float) -> tuple[float, float] | None:
        """Two rates between which the largest one lies at which the order made up of these steps holds."""
        if not steps:
            return None
        if len(steps) == 1:
            found = self.largest(*steps[0], level)
            return None if found is None else (found, found)
        at = [self.exact(*step) for step in steps]
        known = [sides for sides in at if sides is not None]
        if len(known) < len(at):
            found = find_crossing([standings.whole for standings in self.drawn], level) if self.many else None
            return None if found is None else (found, found)
        whole_at = self.contest.whole_at()
        if whole_at is not None:
            found = largest_epsilon(lambda epsilon: log(max(1 - whole_at(epsilon), 1e-300)), level)
            return found, found
        # The order is lost at most as often as all its steps together, and at least as often as any of them.
        low = largest_epsilon(lambda epsilon: log_lost([sides(epsilon) for sides in known]), level)
        return low, min(found for step in steps if (found := self.largest(*step, level)) is not None)

    @property
    def method(self) -> str:
        """How rates are found where there is no exact way."""
        if not self.many:
            return "not known: too many records to draw"
        return f"Monte-Carlo, {self.many:,} draws at each of {len(RATES)} rates, seed {self.seed}"


def log_lost(found: list[LossTieWin]) -> float:
    """log of the sum of the probabilities that first is not ahead any more, at most that of certainty."""
    return min(float(np.logaddexp.reduce([v for sides in found for v in (sides.below, sides.level)])), 0.0)


def find_crossing(shares: list[float], level: float) -> float | None:
    """Where a falling curve through these shares at `RATES` comes down to a level."""
    if any(isnan(share) for share in shares):
        return None
    below = [i for i, share in enumerate(shares) if share < level]
    if not below:
        return RATES[-1]
    i = below[0]
    if i == 0:
        return 0.0
    part = (shares[i - 1] - level) / (shares[i - 1] - shares[i])
    return float(RATES[i - 1] + part * (RATES[i] - RATES[i - 1]))
