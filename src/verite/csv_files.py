"""CSV files: the one reader of comma-, semicolon- and tab-separated values behind every format and auxiliary table.

Python's `csv` module bounds the length of a cell by a limit of the whole process (`csv.field_size_limit`), which
another thread may change while a file is read. Here the bound belongs to the call. Lines end at LF, CR or CRLF and
nowhere else: a form feed or U+2028 is part of its cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from os import PathLike
from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import find_path, read_text

SHORT = 131_072  # characters of a cell, unless a format has longer ones (run-length masks)
SEPARATORS = ",;\t"
Line = tuple[int, list[str]]  # the number of its last line in the file, and its cells
# The first line of a file that Excel is told the separator by.
SEPARATOR_LINE = re.compile(r"sep=(.)(?:\r\n|\r|\n)", re.IGNORECASE)
QUOTED = re.compile('"[^"]*"?')


@dataclass(frozen=True)
class CsvFile:
    """A header and the rows below it, every row as long as the header."""

    path: Path
    head: list[str]
    rows: list[Line]

    def where(self, number: int) -> str:
        """How messages call a line."""
        return f"{self.path}:{number}"

    def records(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Place and cells by column name of every row."""
        for number, cells in self.rows:
            yield self.where(number), dict(zip(self.head, cells, strict=True))


def read_csv(
    path: str | PathLike[str], header: str = "a header and rows", needed: Sequence[str] = (), *, exact: bool = False
) -> CsvFile:
    """Read a table with a header, such as `--confusion` or `audit.csv`.

    Parameters
    ----------
    path
        The file. The separator (comma, semicolon or tab) is the most frequent one of its header.
    header
        What messages say was expected where the header is another one.
    needed
        Columns that the header must have.
    exact
        Whether it must have these columns alone, in this order.

    Returns
    -------
    CsvFile
        The header without blanks around its names, and the rows; empty lines are left out.

    Raises
    ------
    ReadError
        The file is no CSV, a column is missing, there twice, or a row is not as long as the header.
    """
    place = find_path(path)
    lines = lines_of(place)
    number, names = next(lines, (1, []))
    head = [name.strip() for name in names]
    where = f"{place}:{number}"
    if (head != list(needed)) if exact else not head or not set(needed) <= set(head):
        raise ReadError(where, expected=header, found=excerpt(",".join(head)) if head else "an empty file")
    twice = next((name for name in head if name and head.count(name) > 1), None)
    if twice is not None:
        raise ReadError(where, expected="each column once", found=f"{excerpt(twice)} twice")
    rows = []
    for number, cells in lines:
        check_width(f"{place}:{number}", cells, len(head))
        rows.append((number, cells))
    return CsvFile(place, head, rows)


def check_width(where: str, line: Sequence[str], width: int) -> None:
    """Refuse a line that has not as many cells as the header."""
    if len(line) != width:
        raise ReadError(where, expected=f"{width} cells as in the header", found=str(len(line)))


def lines_of(file: Path, longest: int = SHORT, *, skip_blanks: bool = False) -> Iterator[Line]:
    """Yield the lines of a CSV file with their numbers, without empty ones.

    `longest` is the number of characters that a cell may have. With `skip_blanks`, blanks before a quote are ignored,
    as in `a, "b, c"`.
    """
    text = read_text(file)
    lines = parse_csv(text, separator_of(header_of(text)), str(file), longest, skip_blanks=skip_blanks)
    if SEPARATOR_LINE.match(text):
        next(lines, None)
    return lines


def header_of(text: str) -> str:
    """The line that names the columns, below that of Excel's separator."""
    said = SEPARATOR_LINE.match(text)
    return StringIO(text[said.end() if said else 0 :], newline="").readline().rstrip("\r\n")


def separator_of(header: str) -> str:
    """The most frequent separator of a header outside of quotes; a comma where there is none."""
    bare = QUOTED.sub("", header)
    return max(SEPARATORS, key=bare.count)


def parse_csv(
    text: str, separator: str = ",", where: str = "", longest: int = SHORT, *, skip_blanks: bool = False
) -> Iterator[Line]:
    """The lines of CSV text with their numbers, as RFC 4180 and Python's `csv` have them; empty ones are left out.

    >>> list(parse_csv('a,b' + chr(10) + '"1,5",2'))
    [(1, ['a', 'b']), (2, ['1,5', '2'])]
    """
    lines = enumerate(StringIO(text, newline=""), 1)
    blank = f" \r\n{separator}"
    for number, line in lines:
        if not line.strip(blank):  # also of separators alone, as spreadsheets write an empty row
            continue
        if '"' in line:
            number, cells = parse_quoted(number, line, lines, separator, where, skip_blanks=skip_blanks)
        else:
            cells = line.rstrip("\r\n").split(separator)
        if len(line) > longest or '"' in line:
            longer = max(map(len, cells))
            if longer > longest:
                raise ReadError(
                    f"{where}:{number}", expected=f"cells of at most {longest:,} characters", found=f"{longer:,}"
                )
        yield number, cells


def parse_quoted(
    number: int, line: str, lines: Iterator[tuple[int, str]], separator: str, where: str, *, skip_blanks: bool = False
) -> Line:
    """A line with quotes in it, and those that follow where a quoted cell goes on there."""
    cells: list[str] = []
    start, at = number, 0
    while True:
        if skip_blanks:
            at += len(line[at:]) - len(line[at:].lstrip(" "))
        if not line.startswith('"', at):  # a quote inside a bare cell is a character like others
            end = line.find(separator, at)
            if end < 0:
                return number, [*cells, line[at:].rstrip("\r\n")]
            cells.append(line[at:end])
            at = end + 1
            continue
        pieces: list[str] = []
        at += 1
        while True:
            end = line.find('"', at)
            if end < 0:
                pieces.append(line[at:])
                number, line = next(lines, (start, ""))
                at = 0
                if not line:
                    raise ReadError(f"{where}:{start}", expected="CSV", found="unexpected end of data")
                continue
            pieces.append(line[at:end])
            if not line.startswith('"', end + 1):
                break
            pieces.append('"')
            at = end + 2
        cells.append("".join(pieces))
        at = end + 1
        if line.startswith(separator, at):
            at += 1
        elif not line[at:].strip("\r\n"):
            return number, cells
        else:
            found = f"{excerpt(line[at : at + 20])} after a closing quote"
            raise ReadError(f"{where}:{number}", expected=f"CSV, {separator!r} between cells", found=found)
