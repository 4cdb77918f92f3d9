"""Results of `vt.rank`: pairwise and rank probabilities, worst case, assumptions; tables, text and JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, floor, inf, isfinite, isnan, log, nan
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from verite import __version__
from verite.annotation_errors.model import check_rate
from verite.errors import BadParameter
from verite.model.results import to_json
from verite.model.tables import ABSENT, Display, Part, Table
from verite.ranking.poisson_binomial import LossTieWin
from verite.signature import Signature
from verite.statistics.multiple_comparisons import PairwiseSignificance, format_group

if TYPE_CHECKING:
    from verite.files import JsonObject

Array = NDArray[np.float64]
Certain = Literal["kept", "not overtaken", "open"]
MAX_PAIRS = 15  # shown without being asked; of more, neighbours alone
MAX_TESTS = 4  # paired tests of neighbours that are printed
MAX_RANK_COLUMNS = 10  # algorithms up to which every place has a column


class Recorded(Protocol):
    """The table of answers of a ranking."""

    @property
    def source(self) -> str: ...

    @property
    def digest(self) -> str: ...

    @property
    def units(self) -> str: ...

    @property
    def names(self) -> tuple[str, ...]: ...

    def paired_p(self, one: int, two: int) -> float | None: ...


@dataclass(frozen=True)
class AlgorithmPair:
    """Two algorithms, the one with the higher recorded score first, and the probability that they keep their order."""

    first: str
    second: str
    tied: bool  # on the record
    logs: LossTieWin | None  # log P(first ends below, level with, above second); None: no probability in this model
    certain: Certain  # under at most `bound` wrong records
    bound: int
    errors_to_tie: int | None  # the fewest wrong records that can take the lead away
    errors_to_reverse: int | None  # … and that can turn it round
    largest_epsilon: float | None  # rate up to which the order holds with the level asked for
    counts: tuple[int, int, int] | None = None  # items right for first alone, second alone, neither
    intervals: Mapping[str, tuple[float, float]] | None = None  # of drawn probabilities

    @property
    def first_ahead(self) -> float:
        """The probability that the first ends ahead."""
        return self.probability("win")

    @property
    def tie(self) -> float:
        """The probability that the two are tied."""
        return self.probability("tie")

    @property
    def second_ahead(self) -> float:
        """The probability that the second ends ahead."""
        return self.probability("loss")

    @property
    def kept(self) -> float:
        """The probability that the recorded order is kept; nan where the recorded scores are tied."""
        return nan if self.tied else self.first_ahead

    @property
    def reversed(self) -> float:
        """The probability that the recorded order is reversed; nan where the recorded scores are tied."""
        return nan if self.tied else self.second_ahead

    def probability(self, side: Literal["loss", "tie", "win"]) -> float:
        """Return a pairwise probability; in the worst case only certain events have one, else nan."""
        if self.logs is not None:
            return exp(getattr(self.logs, side))
        # In the worst-case model only what is certain has a number.
        if self.certain == "kept":
            return 1.0 if side == "win" else 0.0
        return 0.0 if self.certain == "not overtaken" and side == "loss" else nan

    def to_dict(self) -> JsonObject:
        """The documented keys of the JSON document."""
        logs = self.logs
        more: JsonObject = {}
        if logs is not None and not self.tied:
            found = {"kept": logs.win, "tie": logs.tie, "reversed": logs.loss}
            more["log10"] = {key: value / log(10) if isfinite(value) else None for key, value in found.items()}
        if self.counts is not None:
            more |= dict(zip(("only_first_right", "only_second_right", "neither_right"), self.counts, strict=True))
        if self.intervals is not None:
            more["intervals"] = {key: list(value) for key, value in self.intervals.items()}
        return {
            "first": self.first,
            "second": self.second,
            "kept": self.kept,
            "tie": self.tie,
            "reversed": self.reversed,
            "tied_on_record": self.tied,
            "first_ahead": self.first_ahead,
            "second_ahead": self.second_ahead,
            "errors_to_tie": self.errors_to_tie,
            "errors_to_reverse": self.errors_to_reverse,
            "certain": self.certain,
            "largest_epsilon": self.largest_epsilon,
            **more,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Ranking(Display):
    """A ranking of algorithms and the probability that it survives annotation errors: the result of `vt.rank`.

    Parameters
    ----------
    signature : Signature
        Everything that can change the probabilities.
    model, assumption, caveat : str
        The error model as in signatures, in words, and its limits.
    kind : str
        The kind of answers: binary, labels, confidences or found.
    items : int
        Number of items.
    score : str
        What the scores are.
    order : tuple of str
        The algorithms, the best recorded score first.
    scores : dict of str to float
        The recorded scores.
    pairs : tuple of AlgorithmPair
        Every pair, in the recorded order.
    ranks : array
        `ranks[j, k]` is the probability that the j-th of `order` has rank k + 1; tied algorithms share their ranks
        evenly.
    expected_rank : dict of str to float
        One plus the expected number of algorithms ahead.
    whole, whole_bounds, whole_certain
        Probability of the whole order, bounds from the pairs alone, and whether it is certain in the worst case.
    errors_to_break : int, optional
        The fewest wrong annotations that can break the whole order.
    level : float
        The probability asked of an order that is to hold.
    whole_epsilon : pair of float, optional
        Two rates between which the largest one lies at which the whole order holds.
    methods : dict of str to str
        How each probability was computed.

    Examples
    --------
    >>> import verite as vt
    >>> table = vt.AnswerTable.of([0, 1, 1, 0], {"a": [0, 1, 1, 0], "b": [0, 1, 0, 0]})
    >>> found = vt.rank(table, vt.annotation_errors.Bernoulli(0.1))
    >>> found.order, found.pair("a", "b").kept, found.ranks.round(6).tolist()
    (('a', 'b'), 0.9, [[0.9, 0.1], [0.1, 0.9]])
    """

    signature: Signature
    model: str
    assumption: str
    caveat: str
    kind: str
    items: int
    score: str  # what the scores are
    order: tuple[str, ...]
    scores: dict[str, float]  # as recorded; never as perturbed
    pairs: tuple[AlgorithmPair, ...]
    ranks: Array
    expected_rank: dict[str, float]
    whole: float
    whole_bounds: tuple[float, float]
    whole_certain: bool
    errors_to_break: int | None
    level: float
    whole_epsilon: tuple[float, float] | None  # between these two lies the largest rate at which the whole order holds
    methods: dict[str, str]
    whole_interval: tuple[float, float] | None = None
    rank_intervals: Array | None = None  # algorithms × places × 2
    table: Recorded | None = None
    has_largest_epsilon: bool = True  # whether an order that no rate up to 0.5 breaks is worth saying
    all_pairs: bool = False  # shown in the text even if there are many
    published: tuple[str, dict[str, float]] | None = None  # detectors by average precision, as contests publish it
    curve_of: Callable[[str, str], Callable[[float], float] | None] | None = None

    def pair(self, one: str, two: str) -> AlgorithmPair:
        """Return the comparison of two algorithms, in whichever order they are named.

        Raises
        ------
        BadParameter
            They are not two different algorithms of the ranking.
        """
        for pair in self.pairs:
            if {pair.first, pair.second} == {one, two}:
                return pair
        raise BadParameter(f"pair: expected two different ones of {', '.join(self.order)}, found {one!r} and {two!r}")

    @property
    def neighbours(self) -> tuple[AlgorithmPair, ...]:
        """Every algorithm with the next one in the ranking."""
        steps = set(pairwise(self.order))
        return tuple(pair for pair in self.pairs if (pair.first, pair.second) in steps)

    @property
    def shown_pairs(self) -> tuple[AlgorithmPair, ...]:
        """The printed pairs: all, or only neighbours where there are many."""
        return self.pairs if self.all_pairs or len(self.pairs) <= MAX_PAIRS else self.neighbours

    def likely_places(self, name: str) -> tuple[int, int]:
        """Return the best and the worst rank within the level, half of the rest on each side."""
        pmf = np.nan_to_num(self.ranks[self.order.index(name)], nan=1.0)
        most = (1 - self.level) / 2
        best = int(np.argmax(np.cumsum(pmf) > most))
        return best + 1, len(pmf) - int(np.argmax(np.cumsum(pmf[::-1]) > most))

    def kept_at(self, one: str, two: str, epsilons: Sequence[float]) -> Array:
        """Return the probability that two algorithms keep their order at several error rates.

        Parameters
        ----------
        one, two : str
            Two algorithms.
        epsilons : sequence of float
            Error rates from 0 to 0.5.

        Returns
        -------
        array
            One probability per rate; nan where it is not known, and where the recorded scores are tied.
        """
        pair = self.pair(one, two)
        rates = [check_rate("epsilon", epsilon) for epsilon in epsilons]
        at = self.curve_of(pair.first, pair.second) if self.curve_of is not None and not pair.tied else None
        return np.array([nan if at is None else at(epsilon) for epsilon in rates])

    @property
    def certainty(self) -> str:
        """The certainty with which an order must be kept to be significant."""
        return "with certainty" if all(p.logs is None for p in self.pairs) else f"with probability {self.level:g}"

    def not_told_apart(self, level: float | None = None) -> list[tuple[str, ...]]:
        """Return groups of tied algorithms: neighbours of which no two keep their order with probability `level`."""
        least = self.level if level is None else level
        position = {name: i for i, name in enumerate(self.order)}
        ahead = np.zeros((len(self.order), len(self.order)), dtype=np.bool_)
        for pair in self.pairs:
            # False for nan: recorded ties, and orders that are not certain in the worst case.
            ahead[position[pair.first], position[pair.second]] = pair.kept >= least
        runs = PairwiseSignificance(ahead).tied_groups(list(range(len(self.order))))
        return [tuple(self.order[i] for i in run) for run in runs]

    def to_dict(self) -> JsonObject:
        """Everything as plain values; the documented keys of the JSON document."""
        places = range(1, len(self.order) + 1)
        document = {
            "signature": str(self.signature),
            "model": self.model,
            "assumption": self.assumption,
            "caveat": self.caveat,
            "kind": self.kind,
            "items": self.items,
            "score": self.score,
            "order": list(self.order),
            "scores": self.scores,
            "pairs": [{**pair.to_dict(), "p_paired": self.paired_p(pair)} for pair in self.pairs],
            "units": "items" if self.table is None else self.table.units,
            "ranks": {name: {str(k): float(self.ranks[j, k - 1]) for k in places} for j, name in enumerate(self.order)},
            "expected_rank": self.expected_rank,
            "whole_order": self.whole,
            "whole_order_bounds": list(self.whole_bounds),
            "whole_order_certain": self.whole_certain,
            "errors_to_break_order": self.errors_to_break,
            "level": self.level,
            "largest_epsilon": None if self.whole_epsilon is None else list(self.whole_epsilon),
            "not_told_apart": [list(run) for run in self.not_told_apart()],
            "methods": self.methods,
            "version": __version__,
            "table": None if self.table is None else {"path": self.table.source, "digest": self.table.digest},
        }
        if self.whole_interval is not None:
            document["whole_order_interval"] = list(self.whole_interval)
        if self.published is not None:
            document["published"] = {"score": self.published[0], "scores": self.published[1]}
        if self.rank_intervals is not None:
            document["rank_intervals"] = {
                name: {str(k): self.rank_intervals[j, k - 1].tolist() for k in places}
                for j, name in enumerate(self.order)
            }
        return document

    def to_json(self, *, indent: int = 0) -> str:
        """The JSON document; absent values are null."""
        return to_json(self.to_dict(), indent=indent)

    def main_table(self) -> Table:
        """One row per pair with all its numbers."""
        sides = ("kept", "tie", "reversed", "first_ahead", "second_ahead")
        heads = (*sides, "errors_to_tie", "errors_to_reverse", "certain", "largest_epsilon")
        rows = [tuple("" if (v := getattr(p, head)) is None else v for head in heads) for p in self.pairs]
        pairs = [(p.first, p.second, *row) for p, row in zip(self.pairs, rows, strict=True)]
        return Table(("first", "second", *heads), tuple(pairs))

    def rank_table(self) -> Table:
        """One row per algorithm: score, expected rank and rank probabilities with all their digits."""
        places = [str(k + 1) for k in range(len(self.order))]
        rows = [
            (name, self.scores[name], self.expected_rank[name], *self.ranks[j].tolist())
            for j, name in enumerate(self.order)
        ]
        return Table(("algorithm", "score", "expected_rank", *places), tuple(rows))

    def standing_table(self) -> Table:
        """The printed table of algorithms: score, expected rank and rank probabilities."""
        columns: dict[str, list[Any]] = {
            self.score.partition(":")[0]: [f"{self.scores[name]:.4f}" for name in self.order],
            "expected rank": [
                f"{self.expected_rank[name]:.2f}" if isfinite(self.expected_rank[name]) else ABSENT
                for name in self.order
            ],
        }
        if self.published is not None:
            columns[self.published[0]] = [f"{self.published[1][name]:.4f}" for name in self.order]
        own = np.arange(len(self.order))
        if len(self.order) > MAX_RANK_COLUMNS:
            columns["P(1.)"] = self.show_ranks(0 * own)
            columns["P(this place)"] = self.show_ranks(own)
            spans = [self.likely_places(name) for name in self.order]
            columns[f"places ({self.level:g})"] = [f"{a}" if a == b else f"{a} … {b}" for a, b in spans]
        else:
            columns |= {f"P({k + 1}.)": self.show_ranks(0 * own + k) for k in own}
        return Table.of("algorithm", self.order, columns)

    def show_ranks(self, places: NDArray[np.int64]) -> list[str]:
        """Return for every algorithm the formatted probability of one of the ranks."""
        rows = range(len(places))
        drawn = [None if self.rank_intervals is None else self.rank_intervals[j, places[j]] for j in rows]
        return [probability(float(self.ranks[j, places[j]]), interval=drawn[j]) for j in rows]

    def pair_table(self) -> Table:
        """The printed table of pairs: probabilities, worst case, and the largest rate at which the order holds."""
        rows = []
        for pair in self.shown_pairs:
            sides = (pair.logs.win, pair.logs.tie, pair.logs.loss) if pair.logs is not None else (nan, nan, nan)
            values = {"kept": pair.kept, "tie": pair.tie, "reversed": pair.reversed}
            shown = [
                probability(value, side, (pair.intervals or {}).get(key))
                for (key, value), side in zip(values.items(), sides, strict=True)
            ]
            errors = [ABSENT if v is None else f"{v:,}" for v in (pair.errors_to_tie, pair.errors_to_reverse)]
            rows.append((*shown, *errors, pair.certain, self.show_rate(pair.largest_epsilon)))
        bound = f"certain (≤ {self.pairs[0].bound:,} errors)"
        heads = ("kept", "tie", "reversed", "errors to tie", "to reverse", bound, f"≥ {self.level:g} up to ε")
        names = [f"{p.first} {'=' if p.tied else '>'} {p.second}" for p in self.shown_pairs]
        return Table.of("order", names, {head: [row[i] for row in rows] for i, head in enumerate(heads)})

    def hidden_line(self) -> list[str]:
        """How many pairs are not printed."""
        hidden = len(self.pairs) - len(self.shown_pairs)
        return [f"Neighbours only; --all-pairs prints the other {hidden:,} pairs."] if hidden else []

    def whole_line(self) -> str:
        """The probability of the whole order in one line."""
        chain = self.spell_order()
        if all(pair.tied for pair in self.pairs):
            return f"Whole order {chain}: all recorded scores are tied, there is no order to keep."
        low, high = self.whole_bounds
        shown = probability(self.whole, interval=self.whole_interval)
        line = f"Whole order {chain}: {shown} ({self.methods['whole_order']}"
        if self.whole_interval is not None:
            line += f", 95 % interval {self.whole_interval[0]:.4f} … {self.whole_interval[1]:.4f}"
        return line + (f"; bounds {low:.4f} … {high:.4f})" if isfinite(low) and len(self.order) > 2 else ")")

    def spell_order(self) -> str:
        """All names in the ranking, or their number where there are many."""
        if len(self.order) > MAX_RANK_COLUMNS:
            return f"of all {len(self.order):,}, as in the table"
        chain = self.order[0]
        for above, name in zip(self.order, self.order[1:], strict=False):
            chain += f" {'=' if self.pair(above, name).tied else '>'} {name}"
        return chain

    def published_line(self) -> list[str]:
        """The ranking by the published score (AP), which is another question."""
        if self.published is None:
            return []
        name, scores = self.published
        order = sorted(scores, key=lambda one: (isnan(scores[one]), -scores[one]))
        other = " > ".join(order) if len(order) <= MAX_RANK_COLUMNS else f"another one, with {order[0]} first"
        said = "the same" if tuple(order) == self.order else other
        line = f"The ranking by {name} is {said}; for its uncertainty: verite leaderboard TRUTH PRED…"
        return [line]

    def contents(self) -> list[Part]:
        """Everything that is printed, from top to bottom."""
        lines: list[Part] = [
            f"{len(self.order)} algorithms on {self.items:,} items. {self.score[0].upper()}{self.score[1:]}.",
            f"Assumed: {self.assumption}.",
            f"Note: {self.caveat}.",
            self.standing_table(),
            self.pair_table(),
            *self.hidden_line(),
            self.whole_line(),
        ]
        is_shown = self.has_largest_epsilon or (self.whole_epsilon is not None and self.whole_epsilon[0] < 0.5)
        if self.whole_epsilon is not None and is_shown:
            least, most = self.whole_epsilon
            span = f"ε = {rate(least)}" if rate(least) == rate(most) else f"an ε between {rate(least)} and {rate(most)}"
            lines.append(f"It holds with probability {self.level:g} up to {span}.")
        if self.errors_to_break is not None:
            one = self.errors_to_break == 1
            many = (
                "1 wrong annotation in the worst place is"
                if one
                else f"{self.errors_to_break:,} wrong annotations in the worst places are"
            )
            lines.append(f"{many} enough to break it.")
        lines += [
            f"Statistically tied: {format_group(run, self.order)} (order not kept {self.certainty})."
            for run in self.not_told_apart()
        ]
        lines.append(self.sampling_line())
        return [*lines, *self.published_line(), f"How: {self.how()}.", self.signature]

    def show_rate(self, largest: float | None) -> str:
        """Format the largest rate of a pair; a dash where errors of the model can hardly break any order."""
        return ABSENT if largest is not None and largest >= 0.5 and not self.has_largest_epsilon else rate(largest)

    def paired_p(self, pair: AlgorithmPair) -> float | None:
        """Return the p-value that two algorithms are equally good on further items or images; None if not known."""
        if self.table is None or len(set(self.table.names)) < len(self.table.names):
            return None
        return self.table.paired_p(*(self.table.names.index(name) for name in (pair.first, pair.second)))

    def sampling_line(self) -> str:
        """What is not covered: the choice of items, with the paired test of neighbours over them."""
        units = "items" if self.table is None else self.table.units
        tests = [
            f"{pair.first} and {pair.second} p = {p:.2g}"
            for pair in self.neighbours
            if (p := self.paired_p(pair)) is not None
        ]
        shown = ", ".join(tests[:MAX_TESTS]) + (" …" if len(tests) > MAX_TESTS else "")
        return f"Not covered: the choice of {units}." + (f" Paired test over {units}: {shown}." if tests else "")

    def how(self) -> str:
        """How the probabilities were computed, grouped by method."""
        ways: dict[str, list[str]] = {}
        for what, how in self.methods.items():
            ways.setdefault(how, []).append(what.replace("_", " "))
        return "; ".join(f"{', '.join(what)} {how}" for how, what in ways.items())


def probability(value: float, logarithm: float = nan, interval: Sequence[float] | None = None) -> str:
    """Format a probability with four decimals, or as a power of ten where that would show only zeros.

    A simulated share of 0 or 1, which has an `interval`, is shown as its confidence bound: it is neither impossible nor
    certain.

    >>> probability(0.0, interval=(0.0, 3.84e-05)), probability(1.0, interval=(0.99996, 1.0))
    ('<3.8e-05', '>0.9999')
    >>> probability(0.58881), probability(3e-7), probability(0.0, -2319.0), probability(0.0), probability(0.999999)
    ('0.5888', '3.0e-07', '7.4e-1008', '0', '>0.9999')
    """
    if isnan(value):
        return ABSENT
    if interval is not None and value in (0, 1):
        return f"<{interval[1]:.1e}" if value == 0 else f">{floor(1e4 * interval[0]) / 1e4:.4f}"
    if value == 1 and not logarithm < 0:
        return "1"
    if value > 0.99995:
        return ">0.9999"
    if value >= 1e-4:
        return f"{value:.4f}"
    if value > 1e-300:
        return f"{value:.1e}"
    if isnan(logarithm) or logarithm == -inf:
        return "0" if value == 0 else f"{value:.1e}"
    whole, rest = divmod(logarithm / log(10), 1)
    return f"{10**rest:.1f}e{int(whole):+d}"


def rate(value: float | None) -> str:
    """Format an error rate."""
    if value is None:
        return ABSENT
    return "0.5 or more" if value >= 0.5 else f"{value:.4f}" if value >= 1e-3 or value == 0 else f"{value:.1e}"
