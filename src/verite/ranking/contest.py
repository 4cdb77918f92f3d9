"""Algorithms on the same items: all that can be asked about their order, whatever kind of answers they give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, log
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.distributions import binomial_log_pmf
from verite.annotation_errors.model import ErrorModel
from verite.ranking.answers import AnswerTable
from verite.ranking.confidence import ScoreTable, by_errors, enumerate_errors, losses, moves_of
from verite.ranking.detectors import DetectionTable
from verite.ranking.exact import (
    Drops,
    exact_standings,
    odd_ones_out,
    sides,
    three_independent,
    whole_by_errors,
    worst_drops,
)
from verite.ranking.exchangeable import group_sides, split_groups
from verite.ranking.montecarlo import ScoreMoves, draw_changes
from verite.ranking.outcomes import ItemOutcomes, Pairwise, outcomes_of
from verite.ranking.ratios import RatioContest
from verite.ranking.sums import LossTieWin, loss_tie_win
from verite.statistics.rankings import RankProbabilities, rank_probabilities

Array = NDArray[np.float64]


class RankingProblem(Protocol):
    """What a ranking asks of a table of answers under one error model."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def items(self) -> int: ...

    @property
    def model(self) -> ErrorModel: ...

    @property
    def tolerance(self) -> float:
        """Scores that differ by no more are equal."""
        ...

    @property
    def scores(self) -> NDArray[Any]:
        """The algorithms' scores as recorded, more being better; what perturbed scores are compared in."""
        ...

    @property
    def expected_errors(self) -> int:
        """How many records are wrong under the model: the bound of the worst case that goes with it."""
        ...

    def show(self, algorithm: int) -> float:
        """An algorithm's score as people read it."""
        ...

    def under(self, model: ErrorModel) -> RankingProblem:
        """The same answers under another error model."""
        ...

    def pair(self, first: int, second: int) -> LossTieWin | None:
        """How first ends relative to second, exactly; None if no way is known that ends in time."""
        ...

    def counts(self, first: int, second: int) -> tuple[int, int, int] | None:
        """Items that first alone, second alone and neither gets right, among those that can tell them apart."""
        ...

    def errors_to(self, first: int, second: int) -> tuple[int | None, int | None]:
        """The fewest wrong records after which first is not ahead any more, and after which it is behind."""
        ...

    def pair_at(self, first: int, second: int) -> Callable[[float], LossTieWin | None]:
        """`pair` as a function of the rate of errors; they are independent, or shared as in the model."""
        ...

    def standings(self) -> RankProbabilities | None:
        """Everything at once, exactly; None if no way is known that ends in time."""
        ...

    def whole_at(self) -> Callable[[float], float] | None:
        """The probability of the whole order as a function of the rate, where that is quick."""
        ...

    def draw(self, draws: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
        """Scores under drawn truths: blocks of draws × algorithms."""
        ...


@dataclass(frozen=True, eq=False)
class AnswerContest:
    """Answers that are right or wrong."""

    table: AnswerTable
    model: ErrorModel
    tolerance: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.names

    @property
    def items(self) -> int:
        return len(self.table)

    @cached_property
    def outcomes(self) -> ItemOutcomes:
        return outcomes_of(self.table, self.model)

    @property
    def scores(self) -> NDArray[Any]:
        return self.outcomes.scores

    @property
    def expected_errors(self) -> int:
        return self.model.expected_errors(self.table)

    def show(self, algorithm: int) -> float:
        return int(self.scores[algorithm]) / self.items

    def under(self, model: ErrorModel) -> AnswerContest:
        return replace(self, model=model)

    def duel(self, first: int, second: int) -> Pairwise:
        return self.outcomes.between(first, second)

    def pair(self, first: int, second: int) -> LossTieWin | None:
        return sides(self.duel(first, second), self.model)

    @cached_property
    def at_rates(self) -> AnswerContest:
        """The same items under a model whose rate can be varied."""
        return self.under(self.model.with_rate(0.5))

    def pair_at(self, first: int, second: int) -> Callable[[float], LossTieWin | None]:
        duel, model = self.at_rates.duel(first, second), self.at_rates.model
        groups = [] if model.is_independent else split_groups(duel)

        def at(epsilon: float) -> LossTieWin | None:
            varied = model.with_rate(epsilon)
            return loss_tie_win(duel.steps(epsilon)) if varied.is_independent else group_sides(duel, groups, varied)

        return at

    def whole_at(self) -> Callable[[float], float] | None:
        outcomes = self.at_rates.outcomes
        if not self.at_rates.model.is_independent:
            return None
        if len(self.names) == 3 and outcomes.is_reversal:
            return lambda epsilon: three_independent(odd_ones_out(outcomes.at(epsilon)), outcomes.scores).whole
        given = whole_by_errors(outcomes)
        return None if given is None else lambda epsilon: float(given @ errors_at(len(given) - 1, epsilon))

    def counts(self, first: int, second: int) -> tuple[int, int, int] | None:
        duel = self.duel(first, second)
        return duel.only(1), duel.only(-1), duel.only(0)

    def errors_to(self, first: int, second: int) -> tuple[int | None, int | None]:
        duel = self.duel(first, second)
        return worst_drops(duel, self.model.rate_zero_is_verified).errors_to_lose(duel.gap)

    def standings(self) -> RankProbabilities | None:
        return exact_standings(self.outcomes, self.model)

    def draw(self, draws: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
        for changes in draw_changes(ScoreMoves.of(self.outcomes), self.model, draws, rng):
            yield changes + self.scores


@dataclass(frozen=True, eq=False)
class ConfidenceContest:
    """Answers that lose more or less, depending on the true label."""

    table: ScoreTable
    model: ErrorModel

    @property
    def tolerance(self) -> float:
        return self.table.tolerance

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.names

    @property
    def items(self) -> int:
        return len(self.table)

    @cached_property
    def lost(self) -> Array:
        return losses(self.table)

    @cached_property
    def scores(self) -> NDArray[Any]:
        scores: NDArray[Any] = -self.lost[:, np.arange(len(self.table)), self.table.truth].sum(axis=1)
        return scores

    @cached_property
    def moves(self) -> ScoreMoves:
        self.model.check(len(self.table))
        rates, which = self.model.rates_of(self.table)
        groups = self.model.groups_of(self.table)
        per_item = np.full(len(self.table), rates[0]) if which is None else rates[which]
        no_groups = np.zeros(len(self.table), dtype=np.int64)
        return moves_of(self.table, self.lost, per_item, groups if groups is not None else no_groups)

    @property
    def expected_errors(self) -> int:
        return self.model.expected_errors(self.table)

    def show(self, algorithm: int) -> float:
        return float(-self.scores[algorithm] / self.items)

    def under(self, model: ErrorModel) -> ConfidenceContest:
        return replace(self, model=model)

    def pair(self, first: int, second: int) -> LossTieWin | None:
        both = replace(self, table=self.table.only([first, second])).standings()
        if both is None:
            return None
        logs = [log(p) if p > 0 else -inf for p in (both.wins[1, 0], both.ties[0, 1], both.wins[0, 1])]
        return LossTieWin(*(min(value, 0.0) for value in logs))

    @cached_property
    def at_rates(self) -> ConfidenceContest:
        """The same items under a model whose rate can be varied."""
        return self.under(self.model.with_rate(0.5))

    def pair_at(self, first: int, second: int) -> Callable[[float], LossTieWin | None]:
        model = self.at_rates.model
        if not model.is_independent:
            return lambda epsilon: self.under(model.with_rate(epsilon)).pair(first, second)
        both = replace(self.at_rates, table=self.table.only([first, second]))
        given = by_errors(both.moves, both.scores, self.tolerance)

        def at(epsilon: float) -> LossTieWin | None:
            if given is None:
                return None
            found = given[:3] @ errors_at(given.shape[1] - 1, epsilon)
            return LossTieWin(*(min(log(p), 0.0) if p > 0 else -inf for p in found))

        return at

    def whole_at(self) -> Callable[[float], float] | None:
        if not self.at_rates.model.is_independent:
            return None
        given = by_errors(self.at_rates.moves, self.scores, self.tolerance)
        return None if given is None else lambda epsilon: float(given[3] @ errors_at(given.shape[1] - 1, epsilon))

    def counts(self, first: int, second: int) -> tuple[int, int, int] | None:
        return None

    def errors_to(self, first: int, second: int) -> tuple[int | None, int | None]:
        lead = np.where(self.moves.ways > 0, self.moves.change[:, :, first] - self.moves.change[:, :, second], inf)
        fallen = -lead.min(axis=1)
        if self.model.rate_zero_is_verified:
            fallen[self.moves.rates == 0] = 0.0
        drops = Drops.of(fallen, np.ones(len(fallen), dtype=np.int64))
        return drops.errors_to_lose(float(self.scores[first] - self.scores[second]), self.tolerance)

    def standings(self) -> RankProbabilities | None:
        found = enumerate_errors(self.moves, self.model)
        return (
            None
            if found is None
            else rank_probabilities([found[0] + self.scores], self.scores, self.tolerance, found[1])
        )

    def draw(self, draws: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
        for changes in draw_changes(self.moves, self.model, draws, rng):
            yield changes + self.scores


def errors_at(many: int, epsilon: float) -> Array:
    """The law of the number of wrong records among so many at a common rate below 1."""
    return np.exp(binomial_log_pmf(many, epsilon)) if epsilon > 0 and many else (np.arange(many + 1) == 0) * 1.0


def contest_of(table: AnswerTable | ScoreTable, model: ErrorModel) -> RankingProblem:
    """What can be asked about these answers."""
    if isinstance(table, ScoreTable):
        return ConfidenceContest(table, model)
    if isinstance(table, DetectionTable) and table.by != "recall":
        return RatioContest(table, model)
    return AnswerContest(table, model)
