"""Ranking stability by error rate: the probability that an order is kept, and the largest rate at which it is.

Exact where pairs can be compared exactly; otherwise simulated at a few rates, with the same number of simulations each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from math import exp, isnan, log

import numpy as np
from numpy.typing import NDArray

from verite.ranking.exact import largest_epsilon
from verite.ranking.poisson_binomial import LossTieWin
from verite.ranking.problem import RankingProblem
from verite.statistics.rankings import RankProbabilities, rank_probabilities

Array = NDArray[np.float64]
RATES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
WRONG_RECORDS = 30_000_000  # drawn in all at most
FEWEST = 2_000  # draws at a rate that are worth it


@dataclass(frozen=True, eq=False)
class OrderCurves:
    """The probability that each pair keeps its order as a function of the error rate."""

    problem: RankingProblem
    draws: int
    seed: int

    def __getstate__(self) -> dict[str, object]:
        """Pickle without cached values, which are functions."""
        return {"problem": self.problem, "draws": self.draws, "seed": self.seed}

    def kept_of(self, one: str, two: str) -> Callable[[float], float] | None:
        """Return `kept_curve` of two algorithms by name."""
        names = self.problem.names
        return self.kept_curve(names.index(one), names.index(two))

    @cached_property
    def many(self) -> int:
        """Simulations per rate: as many as asked for, or fewer where that would take long; 0 if too few are left."""
        affordable = int(WRONG_RECORDS / (sum(RATES) * self.problem.items))
        return min(self.draws, affordable) if affordable >= FEWEST else 0

    @cached_property
    def drawn(self) -> list[RankProbabilities]:
        """Rank probabilities at each of `RATES`."""
        found = []
        for rate in RATES:
            scores = self.problem.under(self.problem.model.with_rate(rate)).draw(
                self.many, np.random.default_rng(self.seed)
            )
            found.append(rank_probabilities(scores, self.problem.scores, self.problem.tolerance))
        return found

    @cached_property
    def exact(self) -> Callable[[int, int], Callable[[float], LossTieWin] | None]:
        """Exact pairwise probabilities as a function of the rate; None if no exact method ends in time."""

        def ask(first: int, second: int) -> Callable[[float], LossTieWin] | None:
            at = cache(self.problem.pair_at(first, second))
            if at(0.5) is None:
                return None

            def found_at(epsilon: float) -> LossTieWin:
                found = at(epsilon)
                assert found is not None
                return found

            return found_at

        return cache(ask)

    def kept_curve(self, first: int, second: int) -> Callable[[float], float] | None:
        """Return the probability that the first stays ahead as a function of the rate; None if not known."""
        at = self.exact(first, second)
        if at is not None:
            return lambda epsilon: exp(at(epsilon).win)
        if not self.many:
            return None
        shares = [standings.wins[first, second] for standings in self.drawn]
        return lambda epsilon: float(np.interp(epsilon, RATES, shares))

    @cached_property
    def largest(self) -> Callable[[int, int, float], float | None]:
        """The largest rate at which the first stays ahead with this probability; None if it is not known."""

        def ask(first: int, second: int, level: float) -> float | None:
            at = self.exact(first, second)
            if at is not None:
                return largest_epsilon(lambda epsilon: log_lost([at(epsilon)]), level)
            return find_crossing([s.wins[first, second] for s in self.drawn], level) if self.many else None

        return cache(ask)

    def largest_whole(self, steps: list[tuple[int, int]], level: float) -> tuple[float, float] | None:
        """Return two rates between which the largest one lies at which the order of these pairs holds."""
        if not steps:
            return None
        if len(steps) == 1:
            found = self.largest(*steps[0], level)
            return None if found is None else (found, found)
        at = [self.exact(*step) for step in steps]
        known = [found_at for found_at in at if found_at is not None]
        if len(known) < len(at):
            found = find_crossing([standings.whole for standings in self.drawn], level) if self.many else None
            return None if found is None else (found, found)
        whole_order_at = self.problem.whole_order_at()
        if whole_order_at is not None:
            found = largest_epsilon(lambda epsilon: log(max(1 - whole_order_at(epsilon), 1e-300)), level)
            return found, found
        # The order is lost at most as often as all its steps together, and at least as often as any of them.
        low = largest_epsilon(lambda epsilon: log_lost([found_at(epsilon) for found_at in known]), level)
        return low, min(found for step in steps if (found := self.largest(*step, level)) is not None)

    @property
    def method(self) -> str:
        """How rates are found where there is no exact method."""
        if not self.many:
            return "not known: too many records to draw"
        return f"Monte-Carlo, {self.many:,} draws at each of {len(RATES)} rates, seed {self.seed}"


def log_lost(found: list[LossTieWin]) -> float:
    """Return the log of the summed probabilities that the first is not ahead any more, at most 0 (union bound)."""
    return min(float(np.logaddexp.reduce([v for one in found for v in (one.loss, one.tie)])), 0.0)


def find_crossing(shares: list[float], level: float) -> float | None:
    """Return where a falling curve through these shares at `RATES` crosses a level, interpolated linearly."""
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
