"""Tables of results, and the base class of everything that prints; `styles` renders text, Markdown, LaTeX and HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any, TypeAlias

from verite.errors import IS_COMMAND_LINE, BadParameter, did_you_mean, one_line

if TYPE_CHECKING:
    from verite.signature import Signature


STYLES = ("text", "markdown", "latex", "csv", "html")


class Verbatim(str):
    """Preformatted text, with spaces and line breaks as they are."""

    __slots__ = ()


class Legend(str):
    """A sentence that explains columns or terms. Text shows it on request (`--legend`), other styles always."""

    __slots__ = ()


class Aside(str):
    """A sentence of secondary interest, dim in a terminal."""

    __slots__ = ()


Part: TypeAlias = "str | Signature | Table"


class Display:
    """Base class of results: prints as text, Markdown, LaTeX, CSV and HTML, and shows in notebooks."""

    def contents(self) -> Iterable[Part]:
        """Return sentences, tables and signatures in reading order."""
        raise NotImplementedError

    def main_table(self) -> Table:
        """Return the table for styles that have only one, such as CSV."""
        return next((part for part in self.contents() if isinstance(part, Table)), Table((), ()))

    def to_text(self, width: int | None = None, *, legend: bool = False) -> str:
        """Return all of it as plain text.

        Parameters
        ----------
        width
            Columns of the terminal: wider lines are wrapped, wider tables printed in groups of columns.
        legend
            Whether to explain columns and terms and to show tables of details, too; else one line says how to get that.
        """
        if type(self).__str__ is not Display.__str__:  # a layout of its own, such as a metric card
            return str(self)
        from verite.model.styles import render, text_style

        parts = list(self.contents())
        is_detail = [isinstance(part, Legend) or (isinstance(part, Table) and part.is_detail) for part in parts]
        if not legend and any(is_detail):
            hint = "--legend" if IS_COMMAND_LINE.get() else "to_text(legend=True)"
            what = (
                "columns, terms and details"
                if any(isinstance(part, Table) and part.is_detail for part in parts)
                else "columns and terms"
            )
            last = max(at for at, hidden in enumerate(is_detail) if hidden)
            parts[last], is_detail[last] = Aside(f"{what}: {hint}"), False
            parts = [part for part, hidden in zip(parts, is_detail, strict=True) if not hidden]
        return render(parts, text_style(width))

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return str(self)

    def to_csv(self, *, safe: bool = False) -> str:
        """Return the main table as CSV with full precision; `safe` escapes cells that spreadsheets would compute."""
        return self.main_table().to_csv(safe=safe)

    def to_markdown(self) -> str:
        """Return everything as Markdown, with names escaped so that they cannot link or load anything."""
        from verite.model.styles import render

        return render(self.contents(), "markdown") + "\n"

    def to_latex(self) -> str:
        """Return all tables as LaTeX tabulars, everything else as comments."""
        from verite.model.styles import render

        return render(self.contents(), "latex") + "\n"

    def to_html(self) -> str:
        """Return everything as one HTML element without scripts or external resources."""
        from verite.model.styles import render

        return render(self.contents(), "html") + "\n"

    def _repr_html_(self) -> str:
        from verite.model.styles import render_notebook

        return render_notebook(self.contents())

    def in_style(self, style: str) -> str:
        """Return everything in a style: text, markdown, latex, csv or html."""
        if style not in STYLES:
            raise BadParameter(
                f"style: expected one of {', '.join(STYLES)}, found {style!r}{did_you_mean(style, STYLES)}"
            )
        return str(self) if style == "text" else str(getattr(self, f"to_{style}")())


# Whether text is coloured, as the command line does for a terminal.
IS_COLOURED: ContextVar[bool] = ContextVar("is_coloured", default=False)

BOLD, DIM, PLAIN = "\033[1m", "\033[2m", "\033[0m"
RED, GREEN, YELLOW = "\033[31m", "\033[32m", "\033[33m"


def coloured(text: str, colour: str) -> str:
    """Return text in a colour (an SGR sequence) if text is coloured now, else as it is.

    Parameters
    ----------
    text
        What to print; blank text stays blank.
    colour
        The start of an SGR sequence, empty for none.

    Examples
    --------
    >>> coloured("0.55", BOLD)
    '0.55'
    """
    return f"{colour}{text}{PLAIN}" if IS_COLOURED.get() and colour and text.strip() else text


class Best(float):
    """The best of several values, bold in a terminal; otherwise a number like any other."""

    __slots__ = ()


class Change(float):
    """A difference in favour of the second detector if positive: green in a terminal, red if negative."""

    __slots__ = ()


class Rise(float):
    """A difference of errors, of which fewer are better: red in a terminal if positive, green if negative."""

    __slots__ = ()


def colour_of(value: Any) -> str:
    """Return the colour of a cell; differences that are shown as 0.0000 have none."""
    if isinstance(value, Best):
        return BOLD
    if isinstance(value, (Change, Rise)) and abs(value) >= SMALLEST:
        return GREEN if (value > 0) == isinstance(value, Change) else RED
    return ""


SMALLEST = 0.00005  # number that is not shown as 0.0000

ABSENT = "–"

BLOCKS = " ▏▎▍▌▋▊▉█"

MOST_BLOCKS = 24  # of the longest bar


class Bar(float):
    """A share from 0 to 1, shown as a bar: of blocks in text, as an SVG in HTML, as a rule in LaTeX; NaN is none.

    >>> str(Bar(0.5)), Bar(0.5) + 0.25
    ('████████████            ', 0.75)
    """

    __slots__ = ()

    @property
    def share(self) -> float:
        """The share, clipped to 0 to 1; 0 for NaN."""
        return max(0.0, min(float(self), 1.0)) if self == self else 0.0

    def __str__(self) -> str:
        whole, eighths = divmod(round(self.share * MOST_BLOCKS * 8), 8)
        return (BLOCKS[8] * whole + BLOCKS[eighths] * (eighths > 0)).ljust(MOST_BLOCKS)


@dataclass(frozen=True, repr=False)
class Table(Display):
    """A header and rows; the first column is text, the others numbers. A `mean` row comes last, below a rule.

    Text shows a table with `is_detail` on request only (`--legend`), other styles always.

    >>> Table.of("class", ["cat", "dog"], {"AP": [0.5, float("nan")], "truths": [3, 0]})
    class      AP  truths
    ─────  ──────  ──────
    cat    0.5000       3
    dog         –       0
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    mean: tuple[Any, ...] | None = None
    title: str = ""
    is_detail: bool = False

    @classmethod
    def of(
        cls,
        key: str,
        names: Sequence[str],
        columns: Mapping[str, Sequence[Any]],
        mean: Mapping[str, Any] | None = None,
        title: str = "",
    ) -> Table:
        """Return a table from columns; `mean` may leave columns out."""
        rows = tuple(zip(names, *columns.values(), strict=True))
        last = ("all", *(mean.get(name, "") for name in columns)) if mean is not None else None
        return cls((key, *columns), rows, last, title)

    @property
    def all_rows(self) -> tuple[tuple[Any, ...], ...]:
        """The rows, and the mean row after them."""
        return (*self.rows, self.mean) if self.mean else self.rows

    @property
    def is_left(self) -> list[bool]:
        """Which columns are aligned left: the first, and those of bars."""
        drawn = {i for row in self.rows for i, value in enumerate(row) if isinstance(value, Bar)}
        return [i == 0 or i in drawn for i in range(len(self.head))]

    def __repr__(self) -> str:
        return self.to_text()

    def contents(self) -> list[Part]:
        return [self]

    def to_text(self, width: int | None = None, *, legend: bool = False) -> str:
        """Return the table as aligned text.

        Parameters
        ----------
        width
            Columns of the terminal. A table that is wider is printed in groups of columns, each with the first column.
        legend
            A table has none; for the same call on everything that is printed.

        Examples
        --------
        >>> table = Table.of("class", ["cat"], {"AP": [0.5], "AP50": [0.75], "AP75": [0.25]})
        >>> print(table.to_text(width=22))
        class      AP    AP50
        ─────  ──────  ──────
        cat    0.5000  0.7500
        <BLANKLINE>
        class    AP75
        ─────  ──────
        cat    0.2500
        """
        rows = (*self.rows, self.mean) if self.mean else self.rows
        texts = [[show_cell(value) for value in row] for row in (self.head, *rows)]
        head, *body = [[text if text.isprintable() else one_line(text) for text in row] for row in texts]
        widths = [max(map(count_columns, column)) for column in zip(head, *body, strict=True)]
        colours = [[colour_of(value) for value in row] for row in rows] if IS_COLOURED.get() else []
        blocks = []
        for group in column_groups(widths, width):
            shown = [widths[i] for i in group]
            rule = "  ".join("─" * length for length in shown)
            lines = []
            for at, row in enumerate((head, *body), -1):  # text is aligned left, numbers are aligned right
                gaps = [" " * (length - count_columns(row[i])) for i, length in zip(group, shown, strict=True)]
                cells = [gap + row[i] if i else row[i] + gap for i, gap in zip(group, gaps, strict=True)]
                if colours and row is not head:
                    cells = [coloured(cell, colours[at][i]) for i, cell in zip(group, cells, strict=True)]
                lines.append("  ".join(cells).rstrip())
            lines.insert(1, coloured(rule, DIM))
            if self.mean:
                lines.insert(-1, coloured(rule, DIM))
            blocks.append("\n".join(lines))
        return "\n".join([*([one_line(self.title)] if self.title else []), "\n\n".join(blocks)])

    def to_csv(self, *, safe: bool = False) -> str:
        """Return CSV with full precision, absent values empty; `safe` escapes cells that spreadsheets would compute."""
        from verite.model.styles import csv_table

        return csv_table(self, safe=safe)

    def to_latex(self, *, booktabs: bool = False) -> str:
        """Return a LaTeX tabular; with `booktabs`, the rules of that package."""
        from verite.model.styles import latex_table

        return latex_table(self, booktabs=booktabs) + "\n"

    def to_frame(self) -> Any:
        """Return the table as a pandas DataFrame (pandas must be installed)."""
        try:
            import pandas
        except ImportError:
            raise BadParameter("to_frame: expected pandas, found none; install it, or use to_csv()") from None
        return pandas.DataFrame(list(self.rows), columns=list(self.head))


def show_cell(value: Any) -> str:
    """Return a cell as text: four decimals, thousands separators, a dash for absent values.

    >>> [show_cell(value) for value in (0.25, float("nan"), None, 1200, "cat")]
    ['0.2500', '–', '–', '1,200', 'cat']
    """
    if value is None:
        return ABSENT
    if isinstance(value, float) and not isinstance(value, Bar):
        return ABSENT if isnan(value) else f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def count_columns(text: str) -> int:
    """How wide a text is in a terminal: some characters take two columns, some none.

    >>> count_columns("cat"), count_columns("猫"), count_columns("e" + chr(0x301))
    (3, 2, 1)
    """
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def column_groups(widths: Sequence[int], width: int | None) -> list[list[int]]:
    """Split the columns of a table into groups that fit a terminal; each group begins with the first column.

    >>> column_groups([5, 6, 6, 6], 22)
    [[0, 1, 2], [0, 3]]
    """
    if width is None or sum(widths) + 2 * (len(widths) - 1) <= width or len(widths) < 3:
        return [list(range(len(widths)))]

    def split(limit: int) -> list[list[int]]:
        groups: list[list[int]] = []
        used = 0
        for i in range(1, len(widths)):
            if not groups or used + 2 + widths[i] > limit:
                groups.append([0])
                used = widths[0]
            groups[-1].append(i)
            used += 2 + widths[i]
        return groups

    fewest = len(split(width))
    return next(groups for limit in range(1, width + 1) if len(groups := split(limit)) == fewest)
