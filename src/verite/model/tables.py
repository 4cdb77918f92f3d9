"""Rows and columns for people: plain text that lines up, and CSV for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from verite.records import record

ABSENT = "–"


@record()
class Table:
    """A head and rows; the first column is text, the others numbers. A `mean` row is set apart at the end.

    >>> print(Table.of("class", ["cat", "dog"], {"AP": [0.5, float("nan")], "truths": [3, 0]}))
    class      AP  truths
    ─────  ──────  ──────
    cat    0.5000       3
    dog         –       0
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    mean: tuple[Any, ...] | None = None

    @classmethod
    def of(
        cls, key: str, names: Sequence[str], columns: Mapping[str, Sequence[Any]], mean: Mapping[str, Any] | None = None
    ) -> Table:
        """From columns; `mean` may leave columns out."""
        rows = tuple(zip(names, *columns.values(), strict=True))
        last = ("all", *(mean.get(name, "") for name in columns)) if mean is not None else None
        return cls((key, *columns), rows, last)

    def __str__(self) -> str:
        body = [[cell(value) for value in row] for row in (*self.rows, *([self.mean] if self.mean else []))]
        widths = [max(map(len, column)) for column in zip(self.head, *body, strict=True)]
        rule = "  ".join("─" * width for width in widths)
        lines = [line(self.head, widths), rule, *(line(row, widths) for row in body)]
        if self.mean:
            lines.insert(-1, rule)
        return "\n".join(lines)

    def to_csv(self) -> str:
        """Comma-separated values, full precision, absent values empty."""
        import csv
        import io

        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.head)
        writer.writerows([exact(value) for value in row] for row in (*self.rows, *([self.mean] if self.mean else [])))
        return out.getvalue()


def cell(value: Any) -> str:
    """A value as a person reads it."""
    if isinstance(value, float):
        return ABSENT if isnan(value) else f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def exact(value: Any) -> str:
    """A value as a program reads it."""
    return "" if isinstance(value, float) and isnan(value) else str(value)


def line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Text to the left, numbers to the right."""
    rest = (text.rjust(width) for text, width in zip(cells[1:], widths[1:], strict=True))
    return "  ".join([cells[0].ljust(widths[0]), *rest]).rstrip()
