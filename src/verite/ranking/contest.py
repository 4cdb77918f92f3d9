"""Algorithms on the same items: all that can be asked about their order, whatever kind of answers they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf, log
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter
from verite.ranking.answers import Answers
from verite.ranking.confidence import Confidences, Loss, by_errors, enumerate_errors, losses, moves_of
from verite.ranking.exact import Drops, shared_sides, sides, worst_drops
from verite.ranking.exchangeable import binomial, groups_of
from verite.ranking.lattice import exact_standings, odd_ones_out, whole_by_errors
from verite.ranking.montecarlo import Moves, draw_changes
from verite.ranking.outcomes import Duel, Outcomes, Wrong, group_numbers, outcomes_of, rate_classes
from verite.ranking.places import Standings, stand, three_independent
from verite.ranking.sums import Sides, three_sides
from verite.truth_errors.models import (
    WHY_HALF,
    Asymmetric,
    AtMost,
    Audit,
    Bernoulli,
    ErrorModel,
    Exactly,
    PerItem,
    Shared,
    is_shared,
)

Array = NDArray[np.float64]


class Contest(Protocol):
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

    def under(self, model: ErrorModel) -> Contest:
        """The same answers under another error model."""
        ...

    def pair(self, first: int, second: int) -> Sides | None:
        """How first ends relative to second, exactly; None if no way is known that ends in time."""
        ...

    def counts(self, first: int, second: int) -> tuple[int, int, int] | None:
        """Items that first alone, second alone and neither gets right, among those that can tell them apart."""
        ...

    def drops(self, first: int, second: int) -> Drops:
        """How far wrong records can lower first's lead."""
        ...

    def pair_at(self, first: int, second: int) -> Callable[[float], Sides | None]:
        """`pair` as a function of the rate of errors; they are independent, or shared as in the model."""
        ...

    def standings(self) -> Standings | None:
        """Everything at once, exactly; None if no way is known that ends in time."""
        ...

    def whole_at(self) -> Callable[[float], float] | None:
        """The probability of the whole order as a function of the rate, where that is quick."""
        ...

    def draw(self, draws: int, rng: np.random.Generator) -> NDArray[Any]:
        """Scores under drawn truths: draws × algorithms."""
        ...


@dataclass(frozen=True, eq=False)
class AnswerContest:
    """Answers that are right or wrong."""

    table: Answers
    model: ErrorModel
    confusion: Array | None = None
    wrong: Wrong = "reverses"
    tolerance: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.names

    @property
    def items(self) -> int:
        return len(self.table)

    @cached_property
    def outcomes(self) -> Outcomes:
        check_errors(self.model, len(self.table))
        return outcomes_of(self.table, self.model, confusion=self.confusion, wrong=self.wrong)

    @property
    def scores(self) -> NDArray[Any]:
        return self.outcomes.scores

    @property
    def expected_errors(self) -> int:
        return errors_of(self.table, self.model)

    def under(self, model: ErrorModel) -> AnswerContest:
        return replace(self, model=model)

    def duel(self, first: int, second: int) -> Duel:
        return self.outcomes.between(first, second)

    def pair(self, first: int, second: int) -> Sides | None:
        return sides(self.duel(first, second), self.model)

    @cached_property
    def at_rates(self) -> AnswerContest:
        """The same items under a model whose rate can be varied."""
        is_varied = isinstance(self.model, (Bernoulli, Shared))
        return self if is_varied else self.under(Bernoulli(0.5))

    def pair_at(self, first: int, second: int) -> Callable[[float], Sides | None]:
        duel, model = self.at_rates.duel(first, second), self.at_rates.model
        if isinstance(model, Shared):
            groups = groups_of(duel)
            return lambda epsilon: shared_sides(duel, groups, replace(model, epsilon=epsilon))
        return lambda epsilon: three_sides(duel.steps(epsilon))

    def whole_at(self) -> Callable[[float], float] | None:
        outcomes = self.at_rates.outcomes
        if is_shared(self.model):
            return None
        if len(self.names) == 3 and outcomes.is_reversal:
            return lambda epsilon: three_independent(odd_ones_out(outcomes.at(epsilon)), outcomes.scores).whole
        given = whole_by_errors(outcomes)
        return None if given is None else lambda epsilon: float(given @ errors_at(len(given) - 1, epsilon))

    def counts(self, first: int, second: int) -> tuple[int, int, int] | None:
        duel = self.duel(first, second)
        return duel.only(1), duel.only(-1), duel.only(0)

    def drops(self, first: int, second: int) -> Drops:
        return worst_drops(self.duel(first, second), says_which(self.model))

    def standings(self) -> Standings | None:
        return exact_standings(self.outcomes, self.model)

    def draw(self, draws: int, rng: np.random.Generator) -> NDArray[Any]:
        scores: NDArray[Any] = draw_changes(Moves.of(self.outcomes), self.model, draws, rng) + self.scores
        return scores


@dataclass(frozen=True, eq=False)
class ConfidenceContest:
    """Answers that lose more or less, depending on the true label."""

    table: Confidences
    model: ErrorModel
    confusion: Array | None = None
    loss: Loss = "logloss"
    zero: float = 1e-9
    tolerance: float = 1e-9

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.names

    @property
    def items(self) -> int:
        return len(self.table)

    @cached_property
    def lost(self) -> Array:
        return losses(self.table, self.loss, self.zero)

    @cached_property
    def scores(self) -> NDArray[Any]:
        scores: NDArray[Any] = -self.lost[:, np.arange(len(self.table)), self.table.truth].sum(axis=1)
        return scores

    @cached_property
    def moves(self) -> Moves:
        check_errors(self.model, len(self.table))
        rates, which = rate_classes(self.table, self.model)
        groups = group_numbers(self.table, self.model)
        per_item = np.full(len(self.table), rates[0]) if which is None else rates[which]
        no_groups = np.zeros(len(self.table), dtype=np.int64)
        return moves_of(self.table, self.lost, per_item, groups if groups is not None else no_groups, self.confusion)

    @property
    def expected_errors(self) -> int:
        return errors_of(self.table, self.model)

    def under(self, model: ErrorModel) -> ConfidenceContest:
        return replace(self, model=model)

    def pair(self, first: int, second: int) -> Sides | None:
        both = replace(self, table=self.table.only([first, second])).standings()
        if both is None:
            return None
        logs = [log(p) if p > 0 else -inf for p in (both.ahead[1, 0], both.level[0, 1], both.ahead[0, 1])]
        return Sides(*(min(value, 0.0) for value in logs))

    def pair_at(self, first: int, second: int) -> Callable[[float], Sides | None]:
        if isinstance(self.model, Shared):
            model = self.model
            return lambda epsilon: self.under(replace(model, epsilon=epsilon)).pair(first, second)
        both = replace(self, table=self.table.only([first, second]), model=Bernoulli(0.5))
        given = by_errors(both.moves, both.scores, self.tolerance)

        def at(epsilon: float) -> Sides | None:
            if given is None:
                return None
            found = given[:3] @ errors_at(given.shape[1] - 1, epsilon)
            return Sides(*(min(log(p), 0.0) if p > 0 else -inf for p in found))

        return at

    def whole_at(self) -> Callable[[float], float] | None:
        if is_shared(self.model):
            return None
        given = by_errors(self.under(Bernoulli(0.5)).moves, self.scores, self.tolerance)
        return None if given is None else lambda epsilon: float(given[3] @ errors_at(given.shape[1] - 1, epsilon))

    def counts(self, first: int, second: int) -> tuple[int, int, int] | None:
        return None

    def drops(self, first: int, second: int) -> Drops:
        lead = np.where(self.moves.ways > 0, self.moves.change[:, :, first] - self.moves.change[:, :, second], inf)
        fallen = -lead.min(axis=1)
        if says_which(self.model):
            fallen[self.moves.rates == 0] = 0.0
        return Drops.of(fallen, np.ones(len(fallen), dtype=np.int64))

    def standings(self) -> Standings | None:
        found = enumerate_errors(self.moves, self.model)
        return None if found is None else stand(found[0] + self.scores, found[1], self.scores, self.tolerance)

    def draw(self, draws: int, rng: np.random.Generator) -> NDArray[Any]:
        scores: NDArray[Any] = draw_changes(self.moves, self.model, draws, rng) + self.scores
        return scores


def errors_at(many: int, epsilon: float) -> Array:
    """The law of the number of wrong records among so many at a common rate below 1."""
    return np.exp(binomial(many, epsilon)) if epsilon > 0 and many else (np.arange(many + 1) == 0) * 1.0


def says_which(model: ErrorModel) -> bool:
    """Whether a rate of 0 in this model means that the record is known to be right."""
    return isinstance(model, (Asymmetric, AtMost, PerItem))


def check_errors(model: ErrorModel, items: int) -> None:
    """Refuse more errors than there are records, or than half of them where they are placed at random."""
    if isinstance(model, AtMost) and model.errors is not None and model.errors > items:
        raise BadParameter(f"errors: expected at most the {items} records there are, found {model.errors}")
    if isinstance(model, Exactly) and 2 * model.errors > items:
        raise BadParameter(f"errors: expected at most half of the {items} records, found {model.errors}; {WHY_HALF}")


def errors_of(table: Answers | Confidences, model: ErrorModel) -> int:
    """The whole number of wrong records to expect; where the model has a bound, the bound."""
    if isinstance(model, AtMost):
        return model.bound(len(table))
    if isinstance(model, Exactly):
        return model.errors
    if isinstance(model, Audit):
        return len(table) * model.errors // model.checked
    rates, which = rate_classes(table, model)
    counts = [len(table)] if which is None else np.bincount(which, minlength=len(rates)).tolist()
    # Of the decimal numbers that were written: 0.29 of 100 is 29.
    return int(sum(Fraction(repr(float(rate))) * count for rate, count in zip(rates, counts, strict=True)))
