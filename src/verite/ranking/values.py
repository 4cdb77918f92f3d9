"""Rank algorithms whose answers are numbers, ordered grades or places, under errors of the annotations.

The score of an algorithm is its mean error: |answer - truth| for numbers and places, the number of grades between both
for grades. Annotations are simulated with an error model for each kind: numbers get normal noise, a grade moves one
step up or down with probability epsilon, two neighbours of an order of places are exchanged with probability epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from os import PathLike
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from verite.csv_files import lines_of
from verite.errors import BadParameter, ReadError, excerpt
from verite.files import find_path
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table
from verite.ranking.result import MAX_TESTS
from verite.statistics.intervals import student_tails
from verite.statistics.mcnemar import sign_flip_exact

Floats = NDArray[np.float64]
ValueKind = Literal["numbers", "grades", "places"]
KINDS = get_args(ValueKind)


@dataclass(frozen=True, eq=False)
class ValueTable:
    """Annotations and answers as numbers.

    Parameters
    ----------
    kind : {"numbers", "grades", "places"}
        What the values are; grades are positions in their order, places are 1 for the first.
    names : tuple of str
        The algorithms.
    truth : array [item]
        Annotations.
    answers : array [algorithm, item]
        Answers.
    grades : tuple of str
        The grades from lowest to highest, for grades.
    """

    kind: ValueKind
    names: tuple[str, ...]
    truth: Floats
    answers: Floats
    grades: tuple[str, ...] = ()


def read_values(path: str | PathLike[str], kind: ValueKind, grades: Sequence[str] = ()) -> ValueTable:
    """Read a table with the columns item, truth and one per algorithm.

    Parameters
    ----------
    path : path
        A CSV file.
    kind : {"numbers", "grades", "places"}
        What the cells are.
    grades : sequence of str
        The grades from lowest to highest. Needed for grades.

    Returns
    -------
    ValueTable

    Raises
    ------
    ReadError
        If the header is another, a cell is no number or no grade, or places are not 1 to n.
    """
    file = find_path(path)
    rows = [(number, row) for number, row in lines_of(file) if any(row)]
    head = [cell.strip() for cell in rows[0][1]] if rows else []
    if head[:2] != ["item", "truth"] or len(head) < 4:
        raise ReadError(file, expected="the columns item,truth,NAME,NAME...", found=excerpt(",".join(head)))
    if kind == "grades" and len(grades) < 2:
        raise BadParameter("grades: expected the grades from lowest to highest, such as low,middle,high, found none")
    values = []
    for number, row in rows[1:]:
        if len(row) != len(head):
            raise ReadError(f"{file}:{number}", expected=f"{len(head)} cells", found=str(len(row)))
        cells = []
        for cell in (word.strip() for word in row[1:]):
            if kind == "grades":
                if cell not in grades:
                    raise ReadError(f"{file}:{number}", expected=f"one of {', '.join(grades)}", found=excerpt(cell))
                cells.append(float(list(grades).index(cell)))
            else:
                try:
                    cells.append(float(cell))
                except ValueError:
                    raise ReadError(f"{file}:{number}", expected="a number", found=excerpt(cell)) from None
        if not np.isfinite(cells).all():
            raise ReadError(f"{file}:{number}", expected="finite numbers", found=excerpt(row))
        values.append(cells)
    if not values:
        raise ReadError(file, expected="a row per item", found="none")
    table = np.array(values).T
    if kind == "places":
        for name, column in zip(head[1:], table, strict=True):
            if sorted(column.tolist()) != list(range(1, len(column) + 1)):
                raise ReadError(file, expected=f"the places 1 to {len(column)} in column {name}", found="others")
    return ValueTable(kind, tuple(head[2:]), table[0], table[1:], tuple(grades))


def mean_errors(answers: Floats, truth: Floats) -> Floats:
    """Return the mean of |answer - truth| of each algorithm, [algorithm]."""
    found: Floats = np.abs(answers - truth).mean(axis=-1)
    return found


def sample_truth(table: ValueTable, size: float, rng: np.random.Generator) -> Floats:
    """Sample annotations with errors: `size` is the standard deviation of numbers, else a probability."""
    if table.kind == "numbers":
        return table.truth + rng.normal(0.0, size, len(table.truth))
    if table.kind == "grades":
        moved = (rng.random(len(table.truth)) < size) * rng.choice([-1, 1], len(table.truth))
        graded: Floats = np.clip(table.truth + moved, 0, len(table.grades) - 1)
        return graded
    truth = table.truth.copy()
    order = np.argsort(truth)
    for i in range(len(order) - 1):
        if rng.random() < size:
            order[i], order[i + 1] = order[i + 1], order[i]
    truth[order] = np.arange(1, len(order) + 1)
    return truth


def paired_p(table: ValueTable, one: int, two: int) -> float | None:
    """Return the p-value that two algorithms have the same mean error on further items.

    A paired t test for numbers, the exact sign-flip test for grades. None for places, which are one order and not
    independent items, and for fewer than two items.

    Examples
    --------
    Errors in grades of 2, 2 and 1 against 0: two of the eight sign patterns are as extreme.

    >>> answers = np.array([[0.0, 0, 0], [2, 2, 1]])
    >>> paired_p(ValueTable("grades", ("A", "B"), np.zeros(3), answers, ("low", "middle", "high")), 0, 1)
    0.25
    """
    differences = np.abs(table.answers[one] - table.truth) - np.abs(table.answers[two] - table.truth)
    count = len(differences)
    if table.kind == "places" or count < 2:
        return None
    if table.kind == "grades":
        return sign_flip_exact(differences.round())
    spread = float(differences.std(ddof=1)) / sqrt(count)
    return student_tails(abs(float(differences.mean())) / spread, count - 1) if spread else None


@dataclass(frozen=True, repr=False)
class ValueRanking(Display):
    """The ranking by mean error, and how often it holds under errors of the annotations.

    Parameters
    ----------
    kind : str
        numbers, grades or places.
    order : list of str
        The algorithms, the lowest mean error first.
    errors : dict
        Mean error by algorithm.
    kept : float
        Share of simulations with the same order.
    first : dict
        Share of simulations in which each algorithm is first.
    ahead : list of tuple
        Neighbours in the order, and the share of simulations in which the first stays ahead.
    tests : list of float or None
        For each of these neighbours the p-value of the paired test over items; None where there is none.
    model : str
        The error model.
    draws : int
        Simulations.
    """

    kind: str
    order: list[str]
    errors: dict[str, float]
    kept: float
    first: dict[str, float]
    ahead: list[tuple[str, str, float]]
    tests: list[float | None]
    model: str
    draws: int

    def main_table(self) -> Table:
        """Return the algorithms."""
        columns = {"mean error": [self.errors[n] for n in self.order], "P(first)": [self.first[n] for n in self.order]}
        return Table.of("algorithm", self.order, columns)

    def contents(self) -> list[Part]:
        pairs = Table(("first", "second", "P(stays ahead)"), tuple(self.ahead))
        return [
            self.main_table(),
            pairs,
            f"P(ranking kept) {self.kept:.4f} in {self.draws:,} simulations; {self.kind}, annotations: {self.model}",
            self.sampling_line(),
        ]

    def sampling_line(self) -> str:
        """What is not covered: the choice of items, with the paired test of neighbours over them."""
        tests = [
            f"{first} and {second} p = {p:.2g}"
            for (first, second, _), p in zip(self.ahead, self.tests, strict=True)
            if p is not None
        ]
        shown = ", ".join(tests[:MAX_TESTS]) + (" …" if len(tests) > MAX_TESTS else "")
        return "Not covered: the choice of items." + (f" Paired test over items: {shown}." if tests else "")

    def to_json(self, *, indent: int = 0) -> str:
        ahead = [
            {"first": a, "second": b, "probability": p, "p_items": test}
            for (a, b, p), test in zip(self.ahead, self.tests, strict=True)
        ]
        found = {"kind": self.kind, "order": self.order, "errors": self.errors, "kept": self.kept, "first": self.first}
        return to_json(found | {"ahead": ahead, "model": self.model, "draws": self.draws}, indent=indent)


def rank_values(table: ValueTable, size: float, *, draws: int = 10_000, seed: int = 0) -> ValueRanking:
    """Rank algorithms by their mean error, with simulated errors of the annotations.

    Parameters
    ----------
    table : ValueTable
        Annotations and answers.
    size : float
        Standard deviation of annotated numbers; for grades and places the probability of an error.
    draws : int, default 10000
        Simulations.
    seed : int, default 0
        Seed of the simulations.

    Returns
    -------
    ValueRanking

    Raises
    ------
    BadParameter
        If the size is negative, or a probability above 1.
    """
    if not 0 <= size < float("inf") or (table.kind != "numbers" and size > 1):
        raise BadParameter(
            f"error: expected {'0 or more' if table.kind == 'numbers' else 'a share from 0 to 1'}, found {size}"
        )
    base = mean_errors(table.answers, table.truth)
    order = np.argsort(base, kind="stable")
    rng = np.random.default_rng(seed)
    kept, first, ahead = 0, np.zeros(len(base)), np.zeros(max(1, len(base) - 1))
    for _ in range(draws):
        errors = mean_errors(table.answers, sample_truth(table, size, rng))
        steps = np.diff(errors[order]) > 1e-12
        kept += bool(steps.all())
        ahead[: len(steps)] += steps
        best = np.flatnonzero(errors <= errors.min() + 1e-12)
        first[best] += 1 / len(best)
    names = [table.names[i] for i in order]
    models = {
        "numbers": f"normal errors of standard deviation {size:g}",
        "grades": f"one grade up or down with probability {size:g}",
        "places": f"neighbours exchanged with probability {size:g}",
    }
    pairs = [(names[i], names[i + 1], float(ahead[i] / draws)) for i in range(len(names) - 1)]
    tests = [paired_p(table, int(order[i]), int(order[i + 1])) for i in range(len(names) - 1)]
    return ValueRanking(
        table.kind, names, {table.names[i]: float(base[i]) for i in order}, kept / draws,
        {table.names[i]: float(first[i] / draws) for i in order}, pairs, tests, models[table.kind], draws,
    )  # fmt: skip
