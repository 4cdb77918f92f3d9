"""Comparison of several detectors on the same ground truth with the same settings: scores side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING, Any

from verite.errors import BadParameter, NotComparable
from verite.hooks import hook
from verite.model.results import Results, describe_cuts, digest_for, to_json
from verite.model.tables import ABSENT, Best, Change, Display, Part, Rise, Table
from verite.signature import Signature
from verite.statistics.resampling import warn_of_few

if TYPE_CHECKING:
    from verite.files import JsonObject

DIFFERENCE = (("difference", "value"), ("low (95 %)", "low"), ("high (95 %)", "high"))
MANY_SCORES = 6  # from more on, a comparison begins with all of them at a glance
MOST_BESIDE = 5  # systems that are columns; more are rows
MOST_CLASSES = 8  # that are columns beside systems in rows


@dataclass(frozen=True)
class Difference:
    """Difference of a score between two detectors, with its 95 % confidence interval."""

    first: str
    second: str
    score: str
    value: float  # second minus first
    low: float
    high: float

    def to_dict(self) -> JsonObject:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class Comparison(Display):
    """Several detectors on the same ground truth with the same settings: columns of a table, or rows if many."""

    def __init__(
        self, results: Sequence[Results], differences: Sequence[Difference] = (), groups: int | None = None
    ) -> None:
        """`differences` are those whose confidence intervals are known, from this number of groups of images."""
        if not results:
            raise BadParameter("compare: expected at least one result, found none")
        for one in results:
            if not isinstance(one, Results):
                raise BadParameter(
                    f"compare: expected results of an evaluation such as verite.coco(truth, pred), found "
                    f"{type(one).__name__}"
                )
        first = results[0]
        for other in results[1:]:
            check_comparable(first, other)
        self.results, self.differences, self.groups = tuple(results), tuple(differences), groups
        self.names = distinct_names([r.name for r in results])

    @property
    def headline(self) -> str:
        """The score by which detectors are ranked."""
        return next(iter(self.results[0].scores))

    def table(self, score: str | None = None) -> Table:
        """Return a score with a row per class and a column per detector; with two detectors also their difference."""
        chosen = self.results[0][score or self.headline].name
        is_error = self.results[0].is_error(chosen)
        classes = list(dict.fromkeys(name for r in self.results for name in r.class_names))
        columns: dict[str, list[float]] = {}
        mean: dict[str, float] = {}
        for name, result in zip(self.names, self.results, strict=True):
            values = dict(zip(result.class_names, result.class_scores()[chosen], strict=True))
            columns[name] = [values.get(label, nan) for label in classes]
            mean[name] = result.scores[chosen].value
        if len(self.results) == 2:
            one, two = self.names
            kind = Rise if is_error else Change
            columns["difference"] = [kind(b - a) for a, b in zip(columns[one], columns[two], strict=True)]
            mean["difference"] = kind(mean[two] - mean[one])
        best = mark_best([mean[name] for name in self.names], is_error=is_error)
        mean |= dict(zip(self.names, best, strict=True))
        rows = [mark_best(list(row), is_error=is_error) for row in zip(*(columns[n] for n in self.names), strict=True)]
        for k, name in enumerate(self.names):
            columns[name] = [row[k] for row in rows]
        return Table.of("class", classes, columns, mean=mean)

    def main_table(self) -> Table:
        return self.table()

    def summary(self) -> Table:
        """Return a row per score and a column per detector; with two detectors also their difference."""
        keys = list(self.results[0].scores)
        errors = [self.results[0].is_error(key) for key in keys]
        rows = [
            mark_best([result.scores[key].value for result in self.results], is_error=is_error)
            for key, is_error in zip(keys, errors, strict=True)
        ]
        columns = {name: [row[k] for row in rows] for k, name in enumerate(self.names)}
        if len(self.results) == 2:
            columns["difference"] = [
                (Rise if is_error else Change)(b - a) for (a, b), is_error in zip(rows, errors, strict=True)
            ]
        return Table.of("score", keys, columns)

    def standing_table(self) -> Table:
        """Return a row per detector, the best first, with its rank; tied detectors share one."""
        order, places = self.order()
        columns: dict[str, list[Any]] = {"place": places}
        for key in self.results[0].scores:
            values = [self.results[i].scores[key].value for i in order]
            columns[key] = mark_best(values, is_error=self.results[0].is_error(key))
        return Table.of("system", [self.names[i] for i in order], columns)

    def order(self) -> tuple[list[int], list[str]]:
        """Return the order of the detectors by the first score, and the rank of each as text."""
        first, values = self.results[0], [result.scores[self.headline].value for result in self.results]
        penalties = [value if first.is_error(self.headline) else -value for value in values]
        order = sorted(range(len(values)), key=lambda i: (isnan(penalties[i]), penalties[i]))
        places = []
        for i in order:
            ahead = sum(other < penalties[i] for other in penalties)
            level = penalties.count(penalties[i]) > 1
            places.append(ABSENT if isnan(penalties[i]) else f"{ahead + 1}{'=' if level else ''}")
        return order, places

    def turned_table(self) -> Table:
        """Return the first score with a row per detector, the best first, and a column per class."""
        table, (order, _) = self.table(), self.order()
        names = [self.names[i] for i in order]
        at = {name: table.head.index(name) for name in names}
        columns = {str(row[0]): [row[at[name]] for name in names] for row in table.rows}
        return Table.of("system", names, columns, title=f"{self.headline} of each class")

    def difference_table(self) -> Table:
        """Return a row per difference, with its confidence interval from the bootstrap of images."""
        several = len(self.results) > 2
        names = [f"{d.second} - {d.first}: {d.score}" if several else d.score for d in self.differences]
        columns = {key: [getattr(d, at) for d in self.differences] for key, at in DIFFERENCE}
        title = "differences (bootstrap)" if several else f"{self.names[1]} - {self.names[0]} (bootstrap)"
        return Table.of("score", names, columns, title=title)

    def contents(self) -> list[Part]:
        *parts, signature = self.list_tables()
        cuts = describe_cuts({name: result.findings for name, result in zip(self.names, self.results, strict=True)})
        intervals = [
            f"{name}: {one}"
            for name, result in zip(self.names, self.results, strict=True)
            for one in result.intervals.values()
        ]
        remarks: dict[str, list[str]] = {}
        for name, result in zip(self.names, self.results, strict=True):
            for line in result.remarks():
                remarks.setdefault(line, []).append(name)
        lines = [  # what holds for all detectors is about the ground truth
            line if len(names) == len(self.results) else f"{', '.join(names)}: {line}"
            for line, names in remarks.items()
        ]
        differences: list[Part] = [self.difference_table(), *warn_of_few(self.groups)] if self.differences else []
        return [*parts, *differences, *intervals, signature, *cuts, *lines]

    def list_tables(self) -> list[Part]:
        first = self.results[0]
        if len(self.results) > MOST_BESIDE:
            few = len(self.table().rows) <= MOST_CLASSES
            classes = (
                self.turned_table() if few else f"{self.headline} of each class: comparison.csv of -o, or --style csv"
            )
            return [self.standing_table(), classes, first.signature]
        if len(first.scores) > MANY_SCORES:  # all of them at a glance, and the first one class by class
            return [self.summary(), self.titled_table(self.headline), first.signature]
        several = len(first.scores) > 1
        return [*(self.titled_table(key) if several else self.table(key) for key in first.scores), first.signature]

    def titled_table(self, score: str) -> Table:
        table = self.table(score)
        return Table(table.head, table.rows, table.mean, title=score)

    def plot(self, kind: str | None = None, ax: Any = None) -> Any:
        """Plot the first score per class and detector on matplotlib's axes, and return them."""
        return hook("plot")(self, kind, ax)

    def to_dict(self) -> JsonObject:
        first = self.results[0]
        systems = {name: result.to_dict() for name, result in zip(self.names, self.results, strict=True)}
        document: JsonObject = {"protocol": first.protocol, "signature": str(first.signature), "systems": systems}
        if self.differences:
            document["differences"] = [difference.to_dict() for difference in self.differences]
        return document

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)


def mark_best(values: Sequence[float], *, is_error: bool = False) -> list[float]:
    """Return the values, the best of them (of errors the lowest) marked; none where all known ones are equal.

    >>> [type(value).__name__ for value in mark_best([0.5, 0.7, nan])]
    ['float', 'Best', 'float']
    """
    known = [value for value in values if not isnan(value)]
    if len(set(known)) < 2:
        return list(values)
    best = min(known) if is_error else max(known)
    return [Best(value) if value == best else value for value in values]


def compare(*results: Results) -> Comparison:
    """Compare the results of several detectors on the same ground truth.

    Parameters
    ----------
    *results : Results
        Results of one protocol with the same settings.

    Returns
    -------
    Comparison
        Tables with a column per detector; with two detectors also their difference.

    Raises
    ------
    BadParameter
        If there are no results.
    NotComparable
        If settings or ground truth differ; the message names what differs.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    >>> one = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    >>> two = vt.Annotations.of(["a"] * 2, ["cat"] * 2, [[0, 0, 9, 9], [20, 20, 29, 29]], confidence=[0.9, 0.8])
    >>> comparison = vt.compare(vt.voc(truth, one, name="one"), vt.voc(truth, two, name="two"))
    >>> comparison.summary().rows
    (('mAP', 0.5, 1.0, 0.5),)
    """
    return Comparison(results)


def check_comparable(first: Results, other: Results) -> None:
    """Raise `NotComparable` unless two results have the same settings and ground truth."""
    digests = [digest_for(first.signature, result.truth) for result in (first, other) if first.truth is not other.truth]
    check_alike((first.name, other.name), (first.signature, other.signature), digests)


def check_alike(names: Sequence[str], signatures: tuple[Signature, Signature], digests: Sequence[str]) -> None:
    """Raise `NotComparable` if two signatures or the digests of two ground truths differ."""
    differences = signatures[0].differences(signatures[1])
    if differences:
        listed = ", ".join(f"{key} ({a} / {b})" for key, (a, b) in differences.items())
        raise NotComparable(f"{' and '.join(names)}: expected the same signature, found different {listed}")
    if len(set(digests)) > 1:
        raise NotComparable(
            f"{' and '.join(names)}: expected the same truth, found different ones ({' and '.join(digests)})"
        )


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return names that can head columns: repeated ones get a number.

    >>> distinct_names(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out
