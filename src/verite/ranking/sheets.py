"""Tables of text read from CSV or Parquet, with the place of every row for messages; confusion matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.confusion import check_confusion, parse_confusion
from verite.csv_files import check_width, lines_of
from verite.errors import ReadError, excerpt
from verite.files import find_path, read_bytes
from verite.formats.format import head_of

HEADER = "a header item[,interpretation],truth,NAME… or item,label,truth,NAME…"


@dataclass(frozen=True)
class Lines:
    """Names the rows of a text file by their lines."""

    path: Path
    lines: tuple[int, ...]

    def __call__(self, row: int) -> str:
        return f"{self.path}:{self.lines[row]}"


@dataclass(frozen=True)
class RowNames:
    """Names the rows of a file without lines by their numbers."""

    path: Path

    def __call__(self, row: int) -> str:
        return f"{self.path}: row {row + 1}"


@dataclass(frozen=True, eq=False)
class Sheet:
    """A file's columns of text, and a function that names a row in messages."""

    path: Path
    head: tuple[str, ...]
    columns: tuple[NDArray[np.str_], ...]
    where: Callable[[int], str]

    def column(self, name: str) -> NDArray[np.str_]:
        """Return a column by name."""
        return self.columns[self.head.index(name)]

    def __len__(self) -> int:
        return len(self.columns[0])


def is_parquet(path: Path) -> bool:
    """Return whether a file begins like a Parquet file."""
    return head_of(path).startswith("PAR1")


def read_sheet(path: Path) -> Sheet:
    """Read a table from CSV or Parquet."""
    if not path.is_file():
        raise ReadError(path, expected="a table in a file", found="a folder")
    if path.stat().st_size == 0:
        raise ReadError(path, expected=HEADER, found="an empty file")
    # By its name, too: a broken Parquet file is no CSV.
    return read_parquet(path) if is_parquet(path) or path.suffix.lower() == ".parquet" else read_csv(path)


def read_csv(path: Path) -> Sheet:
    """Read a CSV file; blanks before cells are dropped."""
    rows = lines_of(path, skip_blanks=True)
    _, names = next(rows, (1, []))
    head = tuple(name.strip() for name in names)
    cells: list[list[str]] = []
    lines: list[int] = []
    for number, row in rows:
        check_width(f"{path}:{number}", row, len(head))
        cells.append([cell.lstrip(" ") for cell in row])
        lines.append(number)
    columns = [np.array(column) for column in zip(*cells, strict=True)] or [np.zeros(0, dtype=np.str_) for _ in head]
    return Sheet(path, head, tuple(columns), Lines(path, tuple(lines)))


def read_parquet(path: Path) -> Sheet:
    """Read a Parquet file as text; pyarrow must be installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ReadError(
            path,
            expected="pyarrow to read Parquet",
            found="none",
            remedy="pip install 'verite[parquet]', or save it as CSV",
        ) from None
    try:
        table = pyarrow.parquet.read_table(pyarrow.BufferReader(read_bytes(path)))
    except (pyarrow.ArrowException, OSError) as error:
        raise ReadError(path, expected="a Parquet file", found=excerpt(str(error))) from None
    columns = [write_texts(column.to_pylist()) for column in table.columns]
    return Sheet(path, tuple(table.column_names), tuple(columns), RowNames(path))


def write_texts(values: Sequence[Any]) -> NDArray[np.str_]:
    """Convert values to text as a CSV file would hold them; absent ones are empty."""
    plain = [
        "" if v is None else str(int(v)) if isinstance(v, bool) or (isinstance(v, float) and v.is_integer()) else str(v)
        for v in values
    ]
    return np.array(plain, dtype=np.str_) if plain else np.zeros(0, dtype=np.str_)


def read_numbers(sheet: Sheet, name: str) -> NDArray[np.float64]:
    """Return a column as numbers; refuse the first cell that is none, with its place."""
    column = sheet.column(name)
    try:
        return column.astype(np.float64)
    except ValueError:
        for row, text in enumerate(column):
            try:
                float(text)
            except ValueError:
                raise ReadError(sheet.where(row), expected=f"a number in {name!r}", found=excerpt(str(text))) from None
        raise


def resolve_confusion(confusion: Any, labels: Sequence[str]) -> NDArray[np.float64] | None:
    """Return a confusion matrix in the order of the labels, from a matrix, a mapping of mappings or a file."""
    if confusion is None:
        return None
    if isinstance(confusion, (str, PathLike)):
        sheet = read_sheet(find_path(confusion))
        rows = ((sheet.where(i), [str(cell) for cell in row]) for i, row in enumerate(zip(*sheet.columns, strict=True)))
        confusion = parse_confusion(sheet.path, sheet.head, rows, labels, is_complete=True)
    elif isinstance(confusion, Mapping):
        confusion = [[confusion.get(i, {}).get(j, 0.0) for j in labels] for i in labels]
    return check_confusion(confusion, labels)
