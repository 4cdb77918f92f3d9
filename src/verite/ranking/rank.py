"""How sure is a ranking when the truth has errors?"""

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

from verite.annotation_errors.model import ErrorModel, check_count
from verite.errors import BadParameter
from verite.model.results import Results
from verite.progress import begin
from verite.ranking.answers import AnswerTable
from verite.ranking.confidence import ScoreTable
from verite.ranking.contest import RankingProblem, contest_of
from verite.ranking.curves import OrderCurves
from verite.ranking.detectors import DetectionTable
from verite.ranking.result import AlgorithmPair, Certain, Ranking
from verite.ranking.sums import LossTieWin
from verite.ranking.tables import read_table
from verite.signature import Signature
from verite.statistics.intervals import wilson
from verite.statistics.standings import Standings, differs, stand_over

Array = NDArray[np.float64]

Method = Literal["auto", "exact", "montecarlo"]

METHODS = ("auto", "exact", "montecarlo")


@dataclass(frozen=True, eq=False)
class Assessment:
    """The answers about one contest. Algorithms are numbered by their place in the recorded order."""

    contest: RankingProblem
    method: Method
    draws: int
    seed: int
    level: float

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise BadParameter(f"method: expected {', '.join(METHODS)}, found {self.method!r}")
        object.__setattr__(self, "draws", check_count("draws", self.draws, 1))
        object.__setattr__(self, "seed", check_count("seed", self.seed))
        if not 0.5 < self.level < 1:
            raise BadParameter(f"level: expected a probability above 0.5 and below 1, found {self.level:g}")

    @cached_property
    def curves(self) -> OrderCurves:
        return OrderCurves(self.contest, self.draws, self.seed)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The algorithms, the best first; equal ones as they were given."""
        scores = self.contest.scores
        order = list(range(len(scores)))
        # Scores that differ by no more than the tolerance are equal, so a plain sort would order rounding errors.
        return np.array(
            sorted(order, key=lambda j: (-level_scores(scores, self.contest.tolerance)[j], j)), dtype=np.int64
        )

    @property
    def is_worst_case(self) -> bool:
        return self.contest.model.is_worst_case

    def is_tied(self, first: int, second: int) -> bool:
        scores = self.contest.scores
        return bool(abs(scores[first] - scores[second]) <= self.contest.tolerance)

    @cached_property
    def drawn(self) -> Standings:
        """Standings over drawn truths."""
        rng = np.random.default_rng(self.seed)
        return stand_over(self.contest.draw(self.draws, rng), self.contest.scores, self.contest.tolerance)

    @cached_property
    def standings(self) -> tuple[Standings | None, bool]:
        """All places and the whole order, and whether they are exact."""
        if self.is_worst_case:
            return None, True
        if self.method != "montecarlo":
            if len(self.contest.names) == 2:
                found = self.sides(0, 1)
                if found[1]:
                    return standings_of_two(found[0], self.contest.scores, self.contest.tolerance), True
            else:
                exact = self.contest.standings()
                if exact is not None:
                    return exact, True
            if self.method == "exact":
                raise self.no_exact_way(f"rank {len(self.contest.names)} algorithms on {self.contest.items:,} items")
        return self.drawn, False

    def sides(self, first: int, second: int) -> tuple[LossTieWin, bool]:
        """How first ends relative to second, and whether that is exact."""
        if self.method != "montecarlo":
            found = self.contest.pair(first, second)
            if found is not None:
                return found, True
            if self.method == "exact":
                raise self.no_exact_way(f"compare {self.contest.names[first]} and {self.contest.names[second]}")
        drawn = self.drawn
        shares = (drawn.ahead[second, first], drawn.level[first, second], drawn.ahead[first, second])
        return LossTieWin(*(log(p) if p > 0 else -inf for p in shares)), False

    def no_exact_way(self, to: str) -> BadParameter:
        return BadParameter(
            f"method: no exact way is known to {to} under {self.contest.model} that would end in time; "
            "use auto or montecarlo"
        )

    @cached_property
    def bound(self) -> int:
        """The number of wrong records in the worst case that goes with the model."""
        return self.contest.expected_errors

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
        contest = self.contest
        tied = self.is_tied(first, second)
        to_tie, to_reverse = contest.errors_to(first, second)
        logs = intervals = None
        if not self.is_worst_case:
            logs, is_exact = self.sides(first, second)
            if not is_exact:
                found = {"kept": logs.above, "tie": logs.level, "reversed": logs.below}
                intervals = {key: wilson(exp(value), self.draws) for key, value in found.items()}
        return AlgorithmPair(
            first=contest.names[first],
            second=contest.names[second],
            tied=tied,
            logs=logs,
            certain=certainty(to_tie, to_reverse, self.bound),
            bound=self.bound,
            errors_to_tie=to_tie,
            errors_to_reverse=to_reverse,
            largest_epsilon=None if tied else self.curves.largest(first, second, self.level),
            counts=contest.counts(first, second),
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
        names = self.contest.names
        by_names = {(p.first, p.second): p for p in self.pairs}
        return [by_names[names[i], names[j]] for i, j in self.steps]

    @property
    def whole_bounds(self) -> tuple[float, float]:
        """What the pairs alone say about the whole order (Fréchet's bounds)."""
        if not self.steps or self.is_worst_case:
            certain = self.whole_certain
            return (1.0, 1.0) if certain else (nan, nan)
        lost = [
            1 - p.kept if p.logs is None else exp(np.logaddexp(p.logs.below, p.logs.level)) for p in self.step_pairs
        ]
        return max(0.0, 1 - sum(lost)), min(p.kept for p in self.step_pairs)

    @property
    def whole_certain(self) -> bool:
        """Whether no way of being wrong within the bound changes anything."""
        return bool(self.steps) and all(p.certain == "kept" for p in self.step_pairs)

    @property
    def errors_to_break(self) -> int | None:
        """The fewest wrong records that can break the whole order."""
        counts = [p.errors_to_tie for p in self.step_pairs if p.errors_to_tie is not None]
        return min(counts) if counts else None

    @cached_property
    def whole_epsilon(self) -> tuple[float, float] | None:
        """Two rates between which the largest one lies at which the whole order holds with the level asked for."""
        return self.curves.largest_whole(self.steps, self.level)

    @cached_property
    def places(self) -> Array:
        """The probability of every place, algorithms in the recorded order. In the worst case: 1 or 0 where certain."""
        found, _ = self.standings
        if found is not None:
            return found.places[self.order]
        size = len(self.order)
        above = np.zeros(size, dtype=np.int64)
        below = np.zeros(size, dtype=np.int64)
        place = {self.contest.names[int(j)]: k for k, j in enumerate(self.order)}
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
        """One plus the expected number of algorithms ahead, ties counted half: known as well as the pairs are."""
        names = self.contest.names
        expected = {names[int(j)]: 1.0 for j in self.order}
        for pair in self.pairs:
            half = 0.5 * pair.tie
            expected[pair.first] += pair.second_ahead + half
            expected[pair.second] += pair.first_ahead + half
        return expected

    @property
    def methods(self) -> dict[str, str]:
        """How each answer was found."""
        rates = "exact"
        if any(self.curves.exact(i, j) is None for i, j in self.steps):
            rates = self.curves.method
        elif self.whole_epsilon is not None and self.whole_epsilon[0] < self.whole_epsilon[1]:
            rates = "exact for pairs, bounds for the whole order"
        if self.is_worst_case:
            worst = "worst case"
            return {"pairs": worst, "ranks": f"{worst}, pair by pair", "whole_order": worst, "largest_epsilon": rates}
        drawn = f"Monte-Carlo, {self.draws:,} draws, seed {self.seed}"
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


def level_scores(scores: NDArray[Any], tolerance: float) -> Array:
    """Scores with those that differ by no more than the tolerance made equal to the highest of them."""
    result = np.asarray(scores, dtype=np.float64).copy()
    if tolerance:
        for j in np.argsort(-result, kind="stable"):
            near = (result <= result[j]) & (result >= result[j] - tolerance)
            result[near] = result[j]
    return result


def standings_of_two(found: LossTieWin, recorded: NDArray[Any], tolerance: float) -> Standings:
    """Two algorithms: everything follows from how the first ends relative to the second."""
    above, level, below = exp(found.above), exp(found.level), exp(found.below)
    ahead = np.array([[0.0, above], [below, 0.0]])
    places = np.array([[above + level / 2, below + level / 2], [below + level / 2, above + level / 2]])
    whole = nan
    if differs(recorded, tolerance):
        whole = above if recorded[0] > recorded[1] else below
    return Standings(ahead, np.array([[1.0, level], [level, 1.0]]), places, whole)


def certainty(to_tie: int | None, to_reverse: int | None, bound: int) -> Certain:
    """What at most `bound` wrong records leave of an order."""
    if to_tie is None or to_tie > bound:
        return "kept"
    return "not overtaken" if to_reverse is None or to_reverse > bound else "open"


def whole_interval(assessment: Assessment) -> tuple[float, float] | None:
    """Wilson's interval of a drawn whole order."""
    found, is_exact = assessment.standings
    if found is None or is_exact or isnan(found.whole):
        return None
    return wilson(found.whole, assessment.draws)


def rank_intervals(assessment: Assessment) -> Array | None:
    """Wilson's intervals of drawn places."""
    if assessment.standings[1]:
        return None
    places = assessment.places
    return np.array([[wilson(float(p), assessment.draws) for p in row] for row in places])


WHAT = (
    "what: expected a table (a file, vt.AnswerTable, vt.ScoreTable), vt.DetectionTable or results on one ground truth, "
    "found {}; make one of answers with vt.AnswerTable.of(truth, answers), of detectors with "
    "vt.DetectionTable.of(truth, predictions)"
)

HOW = (
    "errors: expected an error model such as vt.annotation_errors.Bernoulli(0.05), found {!r}; if no rate is known, "
    "check some records on which the algorithms disagree and give vt.annotation_errors.Audit(errors, checked)"
)

ORDERS_ONLY = "these are statements about orders; scores under an assumed error rate are no estimates of true scores"

SCATTERED = (
    "errors are taken as scattered at random, which overstates stability where they come in groups (a class, a source)"
)


def rank(
    what: Any,
    errors: ErrorModel | None = None,
    *,
    method: Method = "auto",
    draws: int = 100_000,
    seed: int = 0,
    level: float = 0.95,
) -> Ranking:
    """How likely an order of algorithms stays as it is if the truth it rests on is partly wrong.

    `what` holds every algorithm's answers beside the recorded ones: a table (a file, `vt.AnswerTable`,
    `vt.ScoreTable`), or the objects of a detection truth, found or not (`vt.DetectionTable`, or several results on
    one truth such as `vt.voc`'s). What there is to say about the answers is said there.

    `errors` says in what way the truth may be wrong: one of `vt.annotation_errors`, or one of your own. Every
    probability is exact where that is possible (`methods` of the result says which are); the others come from so many
    `draws` with a `seed` and carry Wilson intervals. `level` is the probability asked of an order that is to hold.

    Lamiroy and Pierrot, Statistical Performance Metrics for Use with Imprecise Ground-Truth, GREC 2015.

    >>> import verite as vt
    >>> table = vt.AnswerTable.of([0, 1, 1, 0, 0, 1, 0, 1, 1, 0], {"A1": [0, 1, 1, 1, 1, 0, 0, 0, 0, 1],
    ...                                                            "A2": [0, 1, 1, 0, 0, 1, 1, 0, 0, 1]})
    >>> found = vt.rank(table, vt.annotation_errors.Bernoulli(0.2))
    >>> found.order, round(found.pairs[0].kept, 4), round(found.pairs[0].tie, 4), round(found.pairs[0].reversed, 4)
    (('A2', 'A1'), 0.5888, 0.3264, 0.0848)
    """
    if not isinstance(errors, ErrorModel):
        raise BadParameter(HOW.format(errors))
    table = table_of(what, errors)
    contest = contest_of(table, errors)
    return ranking(contest, table, Assessment(contest, method, draws, seed, level))


def table_of(what: Any, errors: ErrorModel) -> AnswerTable | ScoreTable:
    """The answers in whichever form they were given."""
    if isinstance(what, (AnswerTable, ScoreTable)):
        return what
    if isinstance(what, (str, PathLike)):
        return read_table(str(what), errors.columns)
    if is_evaluated(what):
        return DetectionTable.of(what)
    raise BadParameter(WHAT.format(type(what).__name__))


def is_evaluated(given: Any) -> bool:
    """Whether these are results of evaluations."""
    values = list(given.values()) if isinstance(given, Mapping) else given
    return isinstance(values, (list, tuple)) and bool(values) and all(isinstance(v, Results) for v in values)


def ranking(contest: RankingProblem, table: AnswerTable | ScoreTable, found: Assessment) -> Ranking:
    """Everything an assessment says, under its signature and with its assumption in words."""
    order = tuple(contest.names[int(j)] for j in found.order)
    recorded = {name: contest.show(contest.names.index(name)) for name in order}
    methods = found.methods
    is_drawn = any("Monte-Carlo" in how for how in methods.values())
    signature = Signature.of(
        "rank",
        on=table.kind,
        model=str(contest.model),
        order="strict",
        places="ties-shared",
        level=found.level,
        **table.about,
        method=found.method,
        **({"draws": found.draws, "seed": found.seed} if is_drawn else {}),
        rev=1,
    )
    whole = (
        found.standings[0].whole if found.standings[0] is not None else (1.0 if found.whole_certain else float("nan"))
    )
    return Ranking(
        signature=signature,
        model=str(contest.model),
        assumption=table.assume(contest.model),
        caveat=ORDERS_ONLY if not contest.model.is_scattered else f"{SCATTERED}; {ORDERS_ONLY}",
        kind=table.kind,
        items=contest.items,
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
        curve_of=found.curves.kept_of,
    )
