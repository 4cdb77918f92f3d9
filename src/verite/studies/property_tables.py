"""The tables of a study: for a terminal, CSV, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verite.model.tables import Display, Part, Table
from verite.studies.judging import Cell, points

TICK = "✓"
COUNTED = ("synthesis", "stars")  # tables of numbers rather than of properties
TITLES = {"distance": "Distance properties", "synthesis": "Synthesis", "stars": "Stars"}


def mark(cell: Cell | int) -> str:
    """A cell as it is printed.

    >>> [mark(cell) for cell in (True, False, "+", "+/-", "", 3)]
    ['✓', '', '✓+', '✓+/-', '', '3']
    """
    if isinstance(cell, bool):
        return TICK if cell else ""
    if isinstance(cell, int):
        return str(cell)
    return TICK + cell if cell else ""


def code(cell: Cell | int) -> str:
    """A cell as files have it: 1 and 0, or the sign.

    >>> [code(cell) for cell in (True, False, "+", "", 3)]
    ['1', '0', '+', '0', '3']
    """
    return str(int(cell)) if isinstance(cell, (bool, int)) else cell or "0"


@dataclass(frozen=True)
class PropertyTable(Display):
    """One table: a row of cells for each metric, and its score."""

    name: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    kinds: tuple[str, ...]  # what each metric looks at: box, contour, mask
    cells: tuple[Mapping[str, Cell | int], ...]
    score: str = "score"

    @classmethod
    def of(
        cls, name: str, labels: Sequence[str], kinds: Sequence[str], cells: Sequence[Mapping[str, Cell]]
    ) -> PropertyTable:
        columns = tuple(cells[0]) if cells else ()
        return cls(name, columns, tuple(labels), tuple(kinds), tuple(cells))

    @property
    def title(self) -> str:
        return TITLES.get(self.name, f"Results for {self.name}")

    @property
    def scores(self) -> list[int]:
        if self.name in COUNTED:
            return [sum(int(cell) for cell in row.values()) for row in self.cells]
        return [points(dict(row)) for row in self.cells]  # type: ignore[arg-type]

    @property
    def head(self) -> tuple[str, ...]:
        return ("metric", "on", *self.columns, self.score)

    def table(self) -> Table:
        """As a person reads it."""
        rows = zip(self.labels, self.kinds, self.cells, self.scores, strict=True)
        marked = [(label, kind, *(mark(row[c]) for c in self.columns), score) for label, kind, row, score in rows]
        return Table(self.head, tuple(marked), title=self.title)

    def main_table(self) -> Table:
        """As programs read it: 1 and 0, or the sign."""
        rows = zip(self.labels, self.kinds, self.cells, self.scores, strict=True)
        coded = [(label, kind, *(code(row[c]) for c in self.columns), score) for label, kind, row, score in rows]
        return Table(self.head, tuple(coded), title=self.title)

    def contents(self) -> list[Part]:
        return [self.table()]

    def __str__(self) -> str:
        return f"{self.title}\n\n{replace(self.table(), title='')}"

    def to_dict(self) -> dict[str, Any]:
        return {
            label: {**row, self.score: score}
            for label, row, score in zip(self.labels, self.cells, self.scores, strict=True)
        }
