"""Comparison of a reproduction with published tables: agreement, differing cells, and conventions that explain them.

A :class:`TableComparison` sets one reproduced table beside the published one, a :class:`Reproduction` all tables of a
paper. Every cell that differs is a :class:`Mismatch`, with the convention that would give the published cell.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from verite import __version__
from verite.model.results import to_json
from verite.model.tables import Display, Part, Table
from verite.reproductions.conventions import UNEXPLAINED, Flip, Place
from verite.reproductions.statements import (
    LIMITS,
    SCALES,
    Limits,
    Statement,
    changed_verdicts,
    count_verdicts,
    statement_table,
)
from verite.studies.judging import TICK, PropertyTable, code

if TYPE_CHECKING:
    from verite.files import JsonObject

# Tables of Hemery, Laurent, Emile, Rosenberger, Comparative study of localization metrics for the evaluation of image
# interpretation systems, Journal of Electronic Imaging 19(2), 2010, by the table of a study they answer to.
JEI_TABLES = {"T3": "distance", "T4": "translation", "T5": "scale", "T6": "rotation", "T7": "perspective"}

# Hemery, Laurent, Rosenberger, Étude comparative de métriques d'évaluation d'algorithmes de localisation, GRETSI 2009.
GRETSI_TABLES = {"T2": "stars"}


@cache
def read_table(name: str) -> dict[str, dict[str, str]]:
    """Read a transcribed table of a paper.

    Parameters
    ----------
    name : str
        Name of the file below `data/studies`, without .csv.

    Returns
    -------
    dict
        Cells (1, 0, +, - and +/-; in 2009 numbers of stars) by metric and property.
    """
    text = (files("verite") / "data" / "studies" / f"{name}.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return {row.pop("metric"): {k: v for k, v in row.items() if k != "representation"} for row in rows}


def jei_table(table: str) -> dict[str, dict[str, str]]:
    """Return a published table of 2010 by its number, e.g. "T3"."""
    return read_table(f"jei-table{table[1:]}")


def jei_scores() -> dict[str, int]:
    """Return the published final scores of table 8."""
    return {name: int(row["final"]) for name, row in read_table("jei-table8").items()}


Counts = dict[str, list[int]]  # agreeing cells and all cells of a table
WIDTH = 110


@dataclass(frozen=True)
class Mismatch:
    """A cell that differs from the published one.

    >>> print(Mismatch("T3", "KUL", "symmetry", "0", "1"))
    T3 KUL, symmetry: blank here, ✓ published
    """

    table: str
    metric: str
    column: str
    ours: str
    published: str
    flip: Flip | None = None  # the convention that gives the published cell at the lowest cost

    @property
    def place(self) -> Place:
        """Table, metric and property."""
        return self.table, self.metric, self.column

    @property
    def is_explained(self) -> bool:
        """Whether a convention explains the difference."""
        return self.flip is not None and self.flip.explains

    @property
    def reason(self) -> str:
        """Why the cell differs, in words.

        >>> flip = Flip("pixels were counted twice", (("T3", "KUL", "symmetry"),), ())
        >>> Mismatch("T3", "KUL", "symmetry", "0", "1", flip).reason
        'follows if pixels were counted twice (gives 1, costs 0)'
        >>> Mismatch("T3", "KUL", "symmetry", "0", "1").reason
        'not explained'
        """
        if self.flip is None:
            return UNEXPLAINED
        if self.flip.explains:
            return f"follows if {self.flip.convention} ({self.flip.cost})"
        return f"{UNEXPLAINED}; it would follow if {self.flip.convention}, but that {self.flip.cost}"

    def to_dict(self) -> JsonObject:
        found = {name: getattr(self, name) for name in ("table", "metric", "column", "ours", "published", "reason")}
        return found | {"explained": self.is_explained, "flip": self.flip.to_dict() if self.flip else None}

    def __str__(self) -> str:
        ours, theirs = (format_cell(cell, self.table).replace("·", "blank") for cell in (self.ours, self.published))
        return f"{self.table} {self.metric}, {self.column}: {ours} here, {theirs} published"


def format_cell(cell: str, table: str) -> str:
    """Format a cell of a file; the table of 2009 has stars.

    >>> format_cell("1", "T4"), format_cell("0", "T4"), format_cell("+", "T4"), format_cell("2", "T2")
    ('✓', '·', '✓+', '★★')
    """
    if table in GRETSI_TABLES:
        return "★" * int(cell)
    return {"1": TICK, "0": "·"}.get(cell, TICK + cell)


@dataclass(frozen=True)
class TableComparison:
    """A reproduced table beside the published one.

    Parameters
    ----------
    table : str
        The paper's number of the table, such as "T3".
    ours : PropertyTable
        The reproduced table.
    published : Mapping
        The published cells, by metric and property.
    """

    table: str
    ours: PropertyTable
    published: Mapping[str, Mapping[str, str]]

    @cached_property
    def differences(self) -> list[Mismatch]:
        """The cells that differ."""
        found = []
        for label, row in zip(self.ours.labels, self.ours.cells, strict=True):
            for column in self.ours.columns:
                ours, theirs = code(row[column]), self.published[label][column]
                if ours != theirs:
                    found.append(Mismatch(self.table, label, column, ours, theirs))
        return found

    @property
    def agreement(self) -> list[int]:
        """Number of agreeing cells, and of all cells."""
        cells = len(self.ours.labels) * len(self.ours.columns)
        return [cells - len(self.differences), cells]

    def beside(self) -> Table:
        """Return both tables side by side; ≠ marks the cells that differ."""
        columns = self.ours.columns
        differing = {(d.metric, d.column) for d in self.differences}
        rows = []
        for label, row in zip(self.ours.labels, self.ours.cells, strict=True):
            mine = [format_cell(code(row[c]), self.table) + ("≠" if (label, c) in differing else "") for c in columns]
            rows.append((label, *mine, "│", *(format_cell(self.published[label][c], self.table) for c in columns)))
        return Table(("metric", *columns, "│", *columns), tuple(rows), title=self.title)

    @property
    def title(self) -> str:
        """The title with the agreement."""
        agreed, cells = self.agreement
        return f"{self.table}: {self.ours.title} here (left) and as published (right), {agreed} of {cells} cells agree"

    def __str__(self) -> str:
        return f"{self.title}\n\n{replace(self.beside(), title='')}"


class Reproduction(Display):
    """The tables of a paper, reproduced.

    Parameters
    ----------
    paper : str
        "jei" (2010) or "gretsi" (2009).
    comparisons : Sequence of TableComparison
        One per table of the paper.
    outcome : Study or Stars
        The study whose tables are compared.
    flips : Sequence of Flip
        The conventions that were flipped one by one.
    """

    def __init__(self, paper: str, comparisons: Sequence[TableComparison], outcome: Any, flips: Sequence[Flip]) -> None:
        self.paper, self.comparisons, self.outcome, self.flips = paper, comparisons, outcome, flips

    @property
    def agreement(self) -> Counts:
        """Agreeing cells and all cells, by table and in total."""
        return count_agreement(self.comparisons)

    @cached_property
    def differences(self) -> list[Mismatch]:
        """Every cell that differs, with the convention of the largest gain that gives the published one, if any."""
        found = []
        for difference in (difference for one in self.comparisons for difference in one.differences):
            giving = [flip for flip in self.flips if difference.place in flip.gives]
            found.append(replace(difference, flip=max(giving, key=lambda flip: flip.gain, default=None)))
        return found

    @property
    def headline(self) -> str:
        """The agreement in one sentence."""
        counts = self.agreement
        tables = ", ".join(f"{name} {a}/{n}" for name, (a, n) in counts.items() if name != "all")
        a, n = counts["all"]
        return f"{a} of {n} published cells come out ({100 * a / n:.1f} %): {tables}."

    def find_statements(self, limits: Limits) -> list[Statement]:
        """Return the statements of the paper's text, with verdicts under these limits."""
        return []

    @cached_property
    def statements(self) -> list[Statement]:
        """The statements of the paper's text, with verdicts."""
        return self.find_statements(LIMITS)

    @cached_property
    def changed_verdicts(self) -> dict[float, list[Statement]]:
        """The statements whose verdict is another one with half and with twice the limits, by that factor."""
        return changed_verdicts(self.statements, {by: self.find_statements(LIMITS.scaled(by)) for by in SCALES})

    def remarks(self) -> list[str]:
        """Return remarks on the reproduction."""
        return []

    def __str__(self) -> str:
        parts = [str(one) for one in self.comparisons]
        parts += [
            self.explain(),
            self.headline + "\n" + "\n".join(line for remark in self.remarks() for line in wrap(remark, WIDTH)),
        ]
        if self.statements:
            limits = "\n".join(wrap(str(LIMITS), WIDTH))
            parts += [f"{count_verdicts(self.statements)}\n{limits}\n\n{self.list_statements()}"]
            parts += [self.list_changed_verdicts()]
        return "\n\n".join([*parts, str(self.outcome.signature)])

    def list_statements(self) -> str:
        """List the statements by verdict, contradicted ones first."""
        lines: list[str] = []
        for verdict in ("contradicted", "not testable", "holds"):
            chosen = [s for s in self.statements if s.verdict == verdict]
            lines += [f"{verdict[0].upper()}{verdict[1:]}:"] if chosen else []
            for one in chosen:
                lines += wrap(
                    f"{one.where}: {one.text} ({one.value})", WIDTH, initial_indent="  ", subsequent_indent="    "
                )
        return "\n".join(lines)

    def list_changed_verdicts(self) -> str:
        """List the verdicts that depend on the limits of words."""
        lines = []
        for by, changed in self.changed_verdicts.items():
            words = f"With limits {'half' if by < 1 else 'twice'} as wide"
            if not changed:
                lines += [f"{words} no verdict changes."]
                continue
            lines += [f"{words} {len(changed)} verdict{' changes' if len(changed) == 1 else 's change'}:"]
            for one in changed:
                text = f"{one.where}: {one.text}: {one.verdict} ({one.value})"
                lines += wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")
        return "\n".join(lines)

    def explain(self) -> str:
        """List every differing cell by its reason, explained ones first."""
        by_reason: dict[str, list[Mismatch]] = {}
        for difference in sorted(self.differences, key=lambda one: not one.is_explained):
            by_reason.setdefault(difference.reason, []).append(difference)
        found = sum(difference.is_explained for difference in self.differences)
        lines = wrap(
            f"Cells that differ, {len(self.differences)}: {found} follow if one convention is flipped, "
            f"{len(self.differences) - found} are not explained. Of {len(self.flips)} conventions tried one by one "
            "those count that give more cells than they cost.", WIDTH,
        )  # fmt: skip
        for why, cells in by_reason.items():
            lines += ["", *wrap(f"{why}:", WIDTH), *(f"  {cell}" for cell in cells)]
        return "\n".join(lines)

    def to_dict(self) -> JsonObject:
        """Return the JSON document."""
        return {
            "reproduces": self.paper,
            "signature": str(self.outcome.signature),
            "agreement": self.agreement,
            "differences": [difference.to_dict() for difference in self.differences],
            "flips": [flip.to_dict() for flip in self.flips],
            "statements": [asdict(statement) for statement in self.statements],
            "changed_verdicts": [
                {**asdict(one), "limits": by} for by, changed in self.changed_verdicts.items() for one in changed
            ],
            "version": __version__,
        }

    def to_json(self, *, indent: int = 0) -> str:
        return to_json(self.to_dict(), indent=indent)

    def main_table(self) -> Table:
        """Return the cells that differ."""
        head = ("table", "metric", "property", "ours", "published", "reason")
        rows = [(d.table, d.metric, d.column, d.ours, d.published, d.reason) for d in self.differences]
        return Table(head, tuple(rows))

    def contents(self) -> list[Part]:
        tables = [one.beside() for one in self.comparisons]
        return [*tables, self.headline, *self.remarks(), self.main_table(),
                statement_table(self.statements), self.outcome.signature]  # fmt: skip


def count_agreement(comparisons: Sequence[TableComparison]) -> Counts:
    """Return agreeing cells and all cells, by table, and their sum under "all"."""
    counts = {one.table: one.agreement for one in comparisons}
    return {**counts, "all": [sum(column) for column in zip(*counts.values(), strict=True)]}
