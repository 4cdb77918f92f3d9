"""Ranking problems: what `vt.rank` asks about the ranking of algorithms, whatever kind of answers they give.

`AnswerProblem` for right and wrong answers, `ScoreProblem` for confidences and their loss, `RatioProblem` for detectors
by precision, F1 or accuracy.
"""

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
from verite.ranking.confidence import ScoreTable, enumerate_errors, error_effects, losses, probabilities_given_errors
from verite.ranking.detectors import DetectionTable
from verite.ranking.exact import (
    LeadDrops,
    exact_rank_probabilities,
    net_score_pmfs,
    order_kept_given_errors,
    pairwise_loss_tie_win,
    rank_three_independent,
    worst_case_drops,
)
from verite.ranking.exchangeable import grouped_loss_tie_win, split_groups
from verite.ranking.montecarlo import ErrorEffects, sample_score_changes
from verite.ranking.outcomes import ItemOutcomes, Pairwise, outcomes_of
from verite.ranking.poisson_binomial import LossTieWin, loss_tie_win
from verite.ranking.ratios import RatioProblem
from verite.statistics.rankings import RankProbabilities, rank_probabilities

Array = NDArray[np.float64]


class RankingProblem(Protocol):
    """A table of answers under one error model."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def items(self) -> int: ...

    @property
    def model(self) -> ErrorModel: ...

    @property
    def tolerance(self) -> float:
        """Scores that differ by no more are tied."""
        ...

    @property
    def scores(self) -> NDArray[Any]:
        """The recorded scores, in the unit in which simulated scores are compared; higher is better."""
        ...

    @property
    def expected_errors(self) -> int:
        """The expected number of errors under the model: the bound of the corresponding worst case."""
        ...

    def show(self, algorithm: int) -> float:
        """Return an algorithm's score as it is printed."""
        ...

    def under(self, model: ErrorModel) -> RankingProblem:
        """Return the same answers under another error model."""
        ...

    def pair(self, first: int, second: int) -> LossTieWin | None:
        """Return the exact pairwise probabilities; None if no exact method ends in time."""
        ...

    def counts(self, first: int, second: int) -> tuple[int, int, int] | None:
        """Return the discordant items that the first only, the second only and neither gets right."""
        ...

    def errors_to(self, first: int, second: int) -> tuple[int | None, int | None]:
        """Return the fewest errors after which the first is not ahead any more, and after which it is behind."""
        ...

    def pair_at(self, first: int, second: int) -> Callable[[float], LossTieWin | None]:
        """Return `pair` as a function of the error rate, errors being independent or in the model's groups."""
        ...

    def standings(self) -> RankProbabilities | None:
        """Return the exact rank probabilities; None if no exact method ends in time."""
        ...

    def whole_order_at(self) -> Callable[[float], float] | None:
        """Return the probability of the whole order as a function of the rate, where that is quick."""
        ...

    def draw(self, draws: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
        """Simulate scores: blocks of simulations × algorithms."""
        ...


@dataclass(frozen=True, eq=False)
class AnswerProblem:
    """Answers that are right or wrong; the score is the number of right ones."""

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
        """Types of items, by what they add to the scores."""
        return outcomes_of(self.table, self.model)

    @property
    def scores(self) -> NDArray[Any]:
        return self.outcomes.scores

    @property
    def expected_errors(self) -> int:
        return self.model.expected_errors(self.table)

    def show(self, algorithm: int) -> float:
        return int(self.scores[algorithm]) / self.items

    def under(self, model: ErrorModel) -> AnswerProblem:
        return replace(self, model=model)

    def pairwise(self, first: int, second: int) -> Pairwise:
        """Return the discordant items of two algorithms."""
        return self.outcomes.between(first, second)

    def pair(self, first: int, second: int) -> LossTieWin | None:
        return pairwise_loss_tie_win(self.pairwise(first, second), self.model)

    @cached_property
    def at_rates(self) -> AnswerProblem:
        """The same items under a model whose rate can be varied."""
        return self.under(self.model.with_rate(0.5))

    def pair_at(self, first: int, second: int) -> Callable[[float], LossTieWin | None]:
        pairwise, model = self.at_rates.pairwise(first, second), self.at_rates.model
        groups = [] if model.is_independent else split_groups(pairwise)

        def at(epsilon: float) -> LossTieWin | None:
            varied = model.with_rate(epsilon)
            return (
                loss_tie_win(pairwise.steps(epsilon))
                if varied.is_independent
                else grouped_loss_tie_win(pairwise, groups, varied)
            )

        return at

    def whole_order_at(self) -> Callable[[float], float] | None:
        outcomes = self.at_rates.outcomes
        if not self.at_rates.model.is_independent:
            return None
        if len(self.names) == 3 and outcomes.is_reversal:
            return lambda epsilon: rank_three_independent(net_score_pmfs(outcomes.at(epsilon)), outcomes.scores).whole
        given = order_kept_given_errors(outcomes)
        return None if given is None else lambda epsilon: float(given @ errors_at(len(given) - 1, epsilon))

    def counts(self, first: int, second: int) -> tuple[int, int, int] | None:
        pairwise = self.pairwise(first, second)
        return pairwise.only(1), pairwise.only(-1), pairwise.only(0)

    def errors_to(self, first: int, second: int) -> tuple[int | None, int | None]:
        pairwise = self.pairwise(first, second)
        return worst_case_drops(pairwise, self.model.rate_zero_is_verified).errors_to_lose(pairwise.gap)

    def standings(self) -> RankProbabilities | None:
        return exact_rank_probabilities(self.outcomes, self.model)

    def draw(self, draws: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
        for changes in sample_score_changes(ErrorEffects.of(self.outcomes), self.model, draws, rng):
            yield changes + self.scores


@dataclass(frozen=True, eq=False)
class ScoreProblem:
    """Confidences whose loss depends on the true label; the score is minus the total loss."""

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
        """[algorithm, item, label]: the loss if the label is the true one."""
        return losses(self.table)

    @cached_property
    def scores(self) -> NDArray[Any]:
        scores: NDArray[Any] = -self.lost[:, np.arange(len(self.table)), self.table.truth].sum(axis=1)
        return scores

    @cached_property
    def moves(self) -> ErrorEffects:
        """What wrong annotations add to the scores."""
        self.model.check(len(self.table))
        rates, which = self.model.rates_of(self.table)
        groups = self.model.groups_of(self.table)
        per_item = np.full(len(self.table), rates[0]) if which is None else rates[which]
        no_groups = np.zeros(len(self.table), dtype=np.int64)
        return error_effects(self.table, self.lost, per_item, groups if groups is not None else no_groups)

    @property
    def expected_errors(self) -> int:
        return self.model.expected_errors(self.table)

    def show(self, algorithm: int) -> float:
        return float(-self.scores[algorithm] / self.items)

    def under(self, model: ErrorModel) -> ScoreProblem:
        return replace(self, model=model)

    def pair(self, first: int, second: int) -> LossTieWin | None:
        both = replace(self, table=self.table.only([first, second])).standings()
        if both is None:
            return None
        logs = [log(p) if p > 0 else -inf for p in (both.wins[1, 0], both.ties[0, 1], both.wins[0, 1])]
        return LossTieWin(*(min(value, 0.0) for value in logs))

    @cached_property
    def at_rates(self) -> ScoreProblem:
        """The same items under a model whose rate can be varied."""
        return self.under(self.model.with_rate(0.5))

    def pair_at(self, first: int, second: int) -> Callable[[float], LossTieWin | None]:
        model = self.at_rates.model
        if not model.is_independent:
            return lambda epsilon: self.under(model.with_rate(epsilon)).pair(first, second)
        both = replace(self.at_rates, table=self.table.only([first, second]))
        given = probabilities_given_errors(both.moves, both.scores, self.tolerance)

        def at(epsilon: float) -> LossTieWin | None:
            if given is None:
                return None
            found = given[:3] @ errors_at(given.shape[1] - 1, epsilon)
            return LossTieWin(*(min(log(p), 0.0) if p > 0 else -inf for p in found))

        return at

    def whole_order_at(self) -> Callable[[float], float] | None:
        if not self.at_rates.model.is_independent:
            return None
        given = probabilities_given_errors(self.at_rates.moves, self.scores, self.tolerance)
        return None if given is None else lambda epsilon: float(given[3] @ errors_at(given.shape[1] - 1, epsilon))

    def counts(self, first: int, second: int) -> tuple[int, int, int] | None:
        return None

    def errors_to(self, first: int, second: int) -> tuple[int | None, int | None]:
        lead = np.where(self.moves.ways > 0, self.moves.change[:, :, first] - self.moves.change[:, :, second], inf)
        fallen = -lead.min(axis=1)
        if self.model.rate_zero_is_verified:
            fallen[self.moves.rates == 0] = 0.0
        drops = LeadDrops.of(fallen, np.ones(len(fallen), dtype=np.int64))
        return drops.errors_to_lose(float(self.scores[first] - self.scores[second]), self.tolerance)

    def standings(self) -> RankProbabilities | None:
        found = enumerate_errors(self.moves, self.model)
        return (
            None
            if found is None
            else rank_probabilities([found[0] + self.scores], self.scores, self.tolerance, found[1])
        )

    def draw(self, draws: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
        for changes in sample_score_changes(self.moves, self.model, draws, rng):
            yield changes + self.scores


def errors_at(many: int, epsilon: float) -> Array:
    """Return the binomial pmf of the number of errors among `many` items at a common rate below 1."""
    return np.exp(binomial_log_pmf(many, epsilon)) if epsilon > 0 and many else (np.arange(many + 1) == 0) * 1.0


def ranking_problem(table: AnswerTable | ScoreTable, model: ErrorModel) -> RankingProblem:
    """Return the ranking problem of a table under an error model.

    Parameters
    ----------
    table
        Answers, scores or detections of several algorithms on the same items.
    model
        Errors of the annotations.

    Returns
    -------
    RankingProblem
        The problem of the table's kind: shares of right answers, real-valued scores, or ratios such as precision
        and F1.
    """
    if isinstance(table, ScoreTable):
        return ScoreProblem(table, model)
    if isinstance(table, DetectionTable) and table.by != "recall":
        return RatioProblem(table, model)
    return AnswerProblem(table, model)
