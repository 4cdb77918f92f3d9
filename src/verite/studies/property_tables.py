"""The tables of a study: for a terminal, CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verite.model.tables import Table
from verite.studies.judging import Cell, points

TICK = "✓"
LATEX = {"✓": r"$\checkmark$", "✓+": r"$\checkmark^{+}$", "✓-": r"$\checkmark^{-}$", "✓+/-": r"$\checkmark^{+/-}$"}
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
class PropertyTable:
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

    def spell_rows(self) -> list[list[str]]:
        rows = zip(self.labels, self.kinds, self.cells, self.scores, strict=True)
        return [[label, kind, *(mark(row[c]) for c in self.columns), str(score)] for label, kind, row, score in rows]

    def __str__(self) -> str:
        return f"{self.title}\n\n{Table(self.head, tuple(tuple(row) for row in self.spell_rows()))}"

    def to_csv(self) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.head)
        for label, kind, row, score in zip(self.labels, self.kinds, self.cells, self.scores, strict=True):
            writer.writerow([label, kind, *(code(row[c]) for c in self.columns), score])
        return out.getvalue()

    def to_markdown(self) -> str:
        lines = [f"### {self.title}", "", markdown_row(self.head), markdown_row(["---"] * len(self.head))]
        return "\n".join([*lines, *(markdown_row(row) for row in self.spell_rows())]) + "\n"

    def to_latex(self) -> str:
        r"""A tabular, to be put into a table; \checkmark needs amssymb."""
        rows = [[escape_latex(row[0]), row[1], *(LATEX.get(c, c) for c in row[2:])] for row in self.spell_rows()]
        body = [" & ".join(cells) + r" \\" for cells in rows]
        head = " & ".join(escape_latex(word) for word in self.head) + r" \\"
        columns = "ll" + "c" * len(self.columns) + "r"
        return "\n".join(
            [f"% {self.title}", rf"\begin{{tabular}}{{{columns}}}", r"\hline", head, r"\hline", *body, r"\hline",
             r"\end{tabular}", ""]
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {
            label: {**row, self.score: score}
            for label, row, score in zip(self.labels, self.cells, self.scores, strict=True)
        }


def markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it is.

    >>> escape_latex("yasnoff1 100 %, a_b")
    'yasnoff1 100 \\\\%, a\\\\_b'
    """
    return "".join("\\" + c if c in "&%$#_{}" else c for c in text)
