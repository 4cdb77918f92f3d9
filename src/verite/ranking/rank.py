"""`vt.rank`: the exact probability that a ranking of algorithms holds if the ground truth has errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from math import exp, inf, isnan, log, nan
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.model import ErrorModel
from verite.errors import BadParameter
from verite.model.results import Results
from verite.progress import begin
from verite.ranking.answers import AnswerTable
from verite.ranking.confidence import ScoreTable
from verite.ranking.curves import OrderCurves
from verite.ranking.detectors import DetectionTable
from verite.ranking.poisson_binomial import LossTieWin
from verite.ranking.problem import RankingProblem, ranking_problem
from verite.ranking.result import AlgorithmPair, Certain, Ranking
from verite.ranking.tables import read_table
from verite.settings import Choice, Count, Number, Option, P, Setting, Settings, SettingsFunction, Whole
from verite.signature import Signature
from verite.statistics.intervals import wilson
from verite.statistics.rankings import OrderShares, RankProbabilities, has_differences, rank_probabilities

Array = NDArray[np.float64]

Method = Literal["auto", "exact", "montecarlo"]


class KeptProbability(Number[float, float]):
    """The probability with which an order must be kept: above one half and below 1."""

    def validate(self, value: Any) -> float:
        return self.validate_number(value, lambda p: 0.5 < p < 1, "a probability above 0.5 and below 1")


class RankSettings(Settings):
    """How the probabilities of a ranking are computed."""

    method: Setting[Method, Method] = Choice(
        "auto", "Exact where possible and else simulated, or one of the two.", Method, section="Statistics"
    )
    draws: Option[int] = Count(100_000, "Simulations where no exact method is known.")
    seed: Option[int] = Whole(0, "Seed of the simulations.")
    level: Option[float] = KeptProbability(0.95, "Probability with which an order must be kept to be significant.")


@dataclass(frozen=True, eq=False)
class Assessment:
    """All probabilities about one ranking problem. Algorithms are numbered as in the table."""

    problem: RankingProblem
    settings: RankSettings

    @property
    def method(self) -> Method:
        """Exact where possible and else simulated, or one of the two."""
        return self.settings.method

    @property
    def draws(self) -> int:
        """The number of simulations."""
        return self.settings.draws

    @property
    def level(self) -> float:
        """The probability with which an order must be kept to be significant."""
        return self.settings.level

    @cached_property
    def curves(self) -> OrderCurves:
        """The probabilities as functions of the error rate."""
        return OrderCurves(self.problem, self.draws, self.settings.seed)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The algorithms, the best first; tied ones in the order of the table."""
        scores = self.problem.scores
        order = list(range(len(scores)))
        # Scores that differ by no more than the tolerance are equal, so a plain sort would order rounding errors.
        return np.array(
            sorted(order, key=lambda j: (-merge_within_tolerance(scores, self.problem.tolerance)[j], j)), dtype=np.int64
        )

    @property
    def is_worst_case(self) -> bool:
        """Whether the model has no probabilities."""
        return self.problem.model.is_worst_case

    def is_tied(self, first: int, second: int) -> bool:
        """Return whether two algorithms have equal recorded scores, within the tolerance."""
        scores = self.problem.scores
        return bool(abs(scores[first] - scores[second]) <= self.problem.tolerance)

    @cached_property
    def drawn(self) -> RankProbabilities:
        """Rank probabilities over simulated ground truths."""
        rng = np.random.default_rng(self.settings.seed)
        return rank_probabilities(self.problem.draw(self.draws, rng), self.problem.scores, self.problem.tolerance)

    @cached_property
    def standings(self) -> tuple[RankProbabilities | None, bool]:
        """Rank probabilities and whether they are exact; None in the worst case."""
        if self.is_worst_case:
            return None, True
        if self.method != "montecarlo":
            if len(self.problem.names) == 2:
                found = self.loss_tie_win(0, 1)
                if found[1]:
                    return rank_two(found[0], self.problem.scores, self.problem.tolerance), True
            else:
                exact = self.problem.standings()
                if exact is not None:
                    return exact, True
            if self.method == "exact":
                raise self.no_exact_method(f"rank {len(self.problem.names)} algorithms on {self.problem.items:,} items")
        return self.drawn, False

    def loss_tie_win(self, first: int, second: int) -> tuple[LossTieWin, bool]:
        """Return the pairwise probabilities of the first algorithm, and whether they are exact."""
        if self.method != "montecarlo":
            found = self.problem.pair(first, second)
            if found is not None:
                return found, True
            if self.method == "exact":
                raise self.no_exact_method(f"compare {self.problem.names[first]} and {self.problem.names[second]}")
        drawn = self.drawn
        shares = (drawn.wins[second, first], drawn.ties[first, second], drawn.wins[first, second])
        return LossTieWin(*(log(p) if p > 0 else -inf for p in shares)), False

    def no_exact_method(self, to: str) -> BadParameter:
        """Return the error that no exact method is known."""
        return BadParameter(
            f"method: no exact method is known to {to} under {self.problem.model} that would end in time; "
            "use auto or montecarlo"
        )

    @cached_property
    def bound(self) -> int:
        """The number of wrong annotations of the worst case that corresponds to the model."""
        return self.problem.expected_errors

    @cached_property
    def pairs(self) -> tuple[AlgorithmPair, ...]:
        """Every pair, in the recorded order."""
        found, couples = [], list(combinations(self.order, 2))
        with begin("comparing", len(couples), "pairs") as advance:
            for i, j in couples:
                found.append(self.pair(int(i), int(j)))
                advance(1)
        return tuple(found)

    def pair(self, first: int, second: int) -> AlgorithmPair:
        """Return everything about one pair, the higher recorded score first."""
        problem = self.problem
        tied = self.is_tied(first, second)
        to_tie, to_reverse = problem.errors_to(first, second)
        logs = intervals = None
        if not self.is_worst_case:
            logs, is_exact = self.loss_tie_win(first, second)
            if not is_exact:
                intervals = OrderShares(exp(logs.win), exp(logs.tie), exp(logs.loss)).intervals(self.draws)
        return AlgorithmPair(
            first=problem.names[first],
            second=problem.names[second],
            tied=tied,
            logs=logs,
            certain=certainty(to_tie, to_reverse, self.bound),
            bound=self.bound,
            errors_to_tie=to_tie,
            errors_to_reverse=to_reverse,
            largest_epsilon=None if tied else self.curves.largest(first, second, self.level),
            counts=problem.counts(first, second),
            intervals=intervals,
        )

    @cached_property
    def steps(self) -> list[tuple[int, int]]:
        """The pairs that make up the whole order: every algorithm with each of the next lower score."""
        order = [int(j) for j in self.order]
        tiers: list[list[int]] = []
        for j in order:
            if tiers and self.is_tied(tiers[-1][0], j):
                tiers[-1].append(j)
            else:
                tiers.append([j])
        return [(i, j) for upper, lower in pairwise(tiers) for i in upper for j in lower]

    @cached_property
    def step_pairs(self) -> list[AlgorithmPair]:
        """The results of these pairs."""
        names = self.problem.names
        by_names = {(p.first, p.second): p for p in self.pairs}
        return [by_names[names[i], names[j]] for i, j in self.steps]

    @property
    def whole_bounds(self) -> tuple[float, float]:
        """Bounds of the probability of the whole order from the pairs alone (Fréchet inequalities)."""
        if not self.steps or self.is_worst_case:
            certain = self.whole_certain
            return (1.0, 1.0) if certain else (nan, nan)
        lost = [1 - p.kept if p.logs is None else exp(np.logaddexp(p.logs.loss, p.logs.tie)) for p in self.step_pairs]
        return max(0.0, 1 - sum(lost)), min(p.kept for p in self.step_pairs)

    @property
    def whole_certain(self) -> bool:
        """Whether no errors within the bound change the whole order."""
        return bool(self.steps) and all(p.certain == "kept" for p in self.step_pairs)

    @property
    def errors_to_break(self) -> int | None:
        """The fewest wrong annotations that can break the whole order."""
        counts = [p.errors_to_tie for p in self.step_pairs if p.errors_to_tie is not None]
        return min(counts) if counts else None

    @cached_property
    def whole_epsilon(self) -> tuple[float, float] | None:
        """Two rates between which the largest one lies at which the whole order holds with the level."""
        return self.curves.largest_whole(self.steps, self.level)

    @cached_property
    def places(self) -> Array:
        """Rank probabilities, algorithms in the recorded order; in the worst case 1 or 0 where certain, else nan."""
        found, _ = self.standings
        if found is not None:
            return found.ranks[self.order]
        size = len(self.order)
        above = np.zeros(size, dtype=np.int64)
        below = np.zeros(size, dtype=np.int64)
        place = {self.problem.names[int(j)]: k for k, j in enumerate(self.order)}
        for pair in self.pairs:
            if pair.certain == "kept":
                below[place[pair.first]] += 1
                above[place[pair.second]] += 1
        result = np.zeros((size, size))
        for k in range(size):
            best, worst = int(above[k]), size - 1 - int(below[k])
            result[k, best : worst + 1] = 1.0 if best == worst else nan
        return result

    @property
    def expected_rank(self) -> dict[str, float]:
        """One plus the expected number of algorithms ahead, ties counted half; as exact as the pairs are."""
        names = self.problem.names
        expected = {names[int(j)]: 1.0 for j in self.order}
        for pair in self.pairs:
            half = 0.5 * pair.tie
            expected[pair.first] += pair.second_ahead + half
            expected[pair.second] += pair.first_ahead + half
        return expected

    @property
    def methods(self) -> dict[str, str]:
        """How each probability was computed."""
        rates = "exact"
        if any(self.curves.exact(i, j) is None for i, j in self.steps):
            rates = self.curves.method
        elif self.whole_epsilon is not None and self.whole_epsilon[0] < self.whole_epsilon[1]:
            rates = "exact for pairs, bounds for the whole order"
        if self.is_worst_case:
            worst = "worst case"
            return {"pairs": worst, "ranks": f"{worst}, pair by pair", "whole_order": worst, "largest_epsilon": rates}
        drawn = f"Monte-Carlo, {self.draws:,} draws, seed {self.settings.seed}"
        exact, every = sum(p.intervals is None for p in self.pairs), len(self.pairs)
        pairs = "exact" if exact == every else f"exact for {exact} of {every} pairs, else {drawn}" if exact else drawn
        joint = "exact" if self.standings[1] else drawn
        return {
            "pairs": pairs,
            "expected_rank": pairs,
            "ranks": joint,
            "whole_order": joint,
            "largest_epsilon": rates,
        }


def merge_within_tolerance(scores: NDArray[Any], tolerance: float) -> Array:
    """Return scores with those that differ by no more than the tolerance set to the highest of them.

    Parameters
    ----------
    scores
        Score of each algorithm.
    tolerance
        Largest difference that counts as a tie.

    Returns
    -------
    Array
        Scores to sort by; ties are formed from the highest score downwards, since closeness is not transitive.
    """
    result = np.asarray(scores, dtype=np.float64).copy()
    if tolerance:
        for j in np.argsort(-result, kind="stable"):
            near = (result <= result[j]) & (result >= result[j] - tolerance)
            result[near] = result[j]
    return result


def rank_two(found: LossTieWin, recorded: NDArray[Any], tolerance: float) -> RankProbabilities:
    """Return the rank probabilities of two algorithms, which follow from their pairwise probabilities."""
    above, level, below = exp(found.win), exp(found.tie), exp(found.loss)
    ahead = np.array([[0.0, above], [below, 0.0]])
    places = np.array([[above + level / 2, below + level / 2], [below + level / 2, above + level / 2]])
    whole = nan
    if has_differences(recorded, tolerance):
        whole = above if recorded[0] > recorded[1] else below
    return RankProbabilities(ahead, np.array([[1.0, level], [level, 1.0]]), places, whole)


def certainty(to_tie: int | None, to_reverse: int | None, bound: int) -> Certain:
    """Return what at most `bound` wrong annotations leave of an order.

    Parameters
    ----------
    to_tie
        Fewest errors after which both are tied; None if none suffice.
    to_reverse
        Fewest errors after which the order is reversed.
    bound
        Number of wrong annotations that is assumed at most.

    Returns
    -------
    Certain
        `kept` whatever the errors are, `not overtaken` if a tie is the worst, else `open`.
    """
    if to_tie is None or to_tie > bound:
        return "kept"
    return "not overtaken" if to_reverse is None or to_reverse > bound else "open"


def whole_interval(assessment: Assessment) -> tuple[float, float] | None:
    """Return Wilson's confidence interval of a simulated probability of the whole order."""
    found, is_exact = assessment.standings
    if found is None or is_exact or isnan(found.whole):
        return None
    return wilson(found.whole, assessment.draws)


def rank_intervals(assessment: Assessment) -> Array | None:
    """Return Wilson's confidence intervals of simulated rank probabilities, [algorithm, rank, 2]."""
    if assessment.standings[1]:
        return None
    places = assessment.places
    return np.array([[wilson(float(p), assessment.draws) for p in row] for row in places])


WHAT = (
    "what: expected a table (a file, vt.AnswerTable, vt.ScoreTable), vt.DetectionTable or results on one ground truth, "
    "found {}; use vt.AnswerTable.of(truth, answers), or for detectors vt.DetectionTable.of(truth, predictions)"
)

HOW = (
    "errors: expected an error model such as vt.annotation_errors.Bernoulli(0.05), found {!r}; if no rate is known, "
    "check some annotations on which the algorithms disagree and give vt.annotation_errors.Audit(errors, checked)"
)

ORDERS_ONLY = "these are probabilities of orders; scores under an assumed error rate do not estimate true scores"

FALSE_POSITIVES_KEPT = (
    "false positives that are objects missing from the ground truth are not in the model, only spurious annotations are"
)

SCATTERED = (
    "errors are assumed to be scattered at random, which overstates stability where they come in groups (a class, a "
    "source)"
)


class RankFunction(SettingsFunction[P, RankSettings]):
    """`vt.rank`, called like a function; its keyword arguments are `RankSettings`."""

    def __call__(self, what: Any, errors: ErrorModel | None = None, *args: P.args, **given: P.kwargs) -> Ranking:
        """Return the probability that a ranking of algorithms holds if the ground truth has errors.

        Every probability is exact where that is possible; the others are simulated and have Wilson confidence intervals
        (`methods` of the result). For rankings of detectors by AP, see :func:`verite.leaderboard`.

        Parameters
        ----------
        what : path, AnswerTable, ScoreTable, DetectionTable, or results
            Every algorithm's answers and the annotations: a table (a file, :class:`verite.AnswerTable`,
            :class:`verite.ScoreTable`), or objects that detectors detect or miss (:class:`verite.DetectionTable`, or
            several results on one ground truth, such as those of :func:`verite.voc`).
        errors : ErrorModel
            How the annotations may be wrong: one of `vt.annotation_errors`, or one of your own.
        method : {"auto", "exact", "montecarlo"}, default "auto"
            Exact where possible and else simulated, or one of the two.
        draws : int, default 100000
            Number of simulations where no exact method is known.
        seed : int, default 0
            Seed of the simulations.
        level : float, default 0.95
            Probability with which an order must be kept to count as significant, above 0.5 and below 1.

        Returns
        -------
        Ranking
            The ranking, its probabilities, and how each was computed.

        Raises
        ------
        BadParameter
            There is no error model, a parameter is out of range, or `method="exact"` is not possible.
        DataError, ReadError
            The table is wrong.

        References
        ----------
        Lamiroy and Pierrot, Statistical Performance Metrics for Use with Imprecise Ground-Truth, GREC 2015.

        Examples
        --------
        >>> import verite as vt
        >>> table = vt.AnswerTable.of([0, 1, 1, 0, 0, 1, 0, 1, 1, 0], {"A1": [0, 1, 1, 1, 1, 0, 0, 0, 0, 1],
        ...                                                            "A2": [0, 1, 1, 0, 0, 1, 1, 0, 0, 1]})
        >>> found = vt.rank(table, vt.annotation_errors.Bernoulli(0.2))
        >>> found.order, round(found.pairs[0].kept, 4), round(found.pairs[0].tie, 4), round(found.pairs[0].reversed, 4)
        (('A2', 'A1'), 0.5888, 0.3264, 0.0848)
        """
        if not isinstance(errors, ErrorModel):
            raise BadParameter(HOW.format(errors))
        settings = self.settings_of(*args, **given)
        table = table_of(what, errors)
        problem = ranking_problem(table, errors)
        return ranking(problem, table, Assessment(problem, settings))


rank = RankFunction("rank", RankSettings)


def table_of(what: Any, errors: ErrorModel) -> AnswerTable | ScoreTable:
    """Return the answers in whichever form they were given."""
    if isinstance(what, (AnswerTable, ScoreTable)):
        return what
    if isinstance(what, (str, PathLike)):
        return read_table(str(what), errors.columns)
    values = list(what.values()) if isinstance(what, Mapping) else what
    if isinstance(values, (list, tuple)) and bool(values) and all(isinstance(v, Results) for v in values):
        return DetectionTable.of(what)
    raise BadParameter(WHAT.format(type(what).__name__))


def ranking(problem: RankingProblem, table: AnswerTable | ScoreTable, found: Assessment) -> Ranking:
    """Return the result: all probabilities, the signature, and the assumption in words."""
    order = tuple(problem.names[int(j)] for j in found.order)
    recorded = {name: problem.show(problem.names.index(name)) for name in order}
    methods = found.methods
    is_drawn = any("Monte-Carlo" in how for how in methods.values())
    signature = Signature.of(
        "rank",
        on=table.kind,
        model=str(problem.model),
        order="strict",
        places="ties-shared",
        level=found.level,
        **table.about,
        method=found.method,
        **({"draws": found.draws, "seed": found.settings.seed} if is_drawn else {}),
        rev=1,
    )
    whole = (
        found.standings[0].whole if found.standings[0] is not None else (1.0 if found.whole_certain else float("nan"))
    )
    caveats = [ORDERS_ONLY] if not problem.model.is_scattered else [SCATTERED, ORDERS_ONLY]
    is_ratio = isinstance(table, DetectionTable) and table.by != "recall"
    caveats += [FALSE_POSITIVES_KEPT] if is_ratio else []
    return Ranking(
        signature=signature,
        model=str(problem.model),
        assumption=table.assume(problem.model),
        caveat="; ".join(caveats),
        kind=table.kind,
        items=problem.items,
        score=table.score,
        order=order,
        scores=recorded,
        pairs=found.pairs,
        ranks=found.places,
        expected_rank=found.expected_rank,
        whole=whole,
        whole_bounds=found.whole_bounds,
        whole_certain=found.whole_certain,
        errors_to_break=found.errors_to_break,
        level=found.level,
        whole_epsilon=found.whole_epsilon,
        methods=methods,
        whole_interval=None if isnan(whole) else whole_interval(found),
        rank_intervals=rank_intervals(found),
        table=table,
        has_largest_epsilon=not is_ratio,
        curve_of=found.curves.kept_of,
    )
