"""What stands in a table of text, read from CSV or Parquet, and how is a row of it called?"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import ReadError, excerpt
from verite.files import read_text

HEADER = "a header item[,interpretation],truth,NAME… or item,label,truth,NAME…"


@dataclass(frozen=True)
class Lines:
    """How rows of a text file are called."""

    path: Path
    lines: tuple[int, ...]

    def __call__(self, row: int) -> str:
        return f"{self.path}:{self.lines[row]}"


@dataclass(frozen=True)
class RowNames:
    """How rows of a file without lines are called."""

    path: Path

    def __call__(self, row: int) -> str:
        return f"{self.path}: row {row + 1}"


@dataclass(frozen=True, eq=False)
class Sheet:
    """A file's columns of text, and how to call a row of it."""

    path: Path
    head: tuple[str, ...]
    columns: tuple[NDArray[np.str_], ...]
    where: Callable[[int], str]

    def column(self, name: str) -> NDArray[np.str_]:
        return self.columns[self.head.index(name)]

    def __len__(self) -> int:
        return len(self.columns[0])


def is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def delimiter_of(line: str) -> str:
    """What separates the columns: a comma, unless the header has none but semicolons or tabs."""
    return "," if "," in line else ";" if ";" in line else "\t" if "\t" in line else ","


def read_sheet(path: Path) -> Sheet:
    if not path.is_file():
        raise ReadError(path, expected="a table in a file", found="a folder")
    if path.stat().st_size == 0:
        raise ReadError(path, expected=HEADER, found="an empty file")
    # By its name, too: a broken Parquet file is no CSV.
    return read_parquet(path) if is_parquet(path) or path.suffix.lower() == ".parquet" else read_csv(path)


def read_csv(path: Path) -> Sheet:
    text = read_text(path)
    delimiter = delimiter_of(text.partition("\n")[0])
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        head = tuple(name.strip() for name in next(reader, []))
        for row in reader:
            if len(row) != len(head):
                if not row:
                    continue
                raise ReadError(
                    f"{path}:{reader.line_num}", expected=f"{len(head)} columns as in the header", found=str(len(row))
                )
            rows.append(row)
            lines.append(reader.line_num)
    except csv.Error as error:
        raise ReadError(f"{path}:{reader.line_num}", expected="comma-separated values", found=str(error)) from None
    columns = [np.array(column) for column in zip(*rows, strict=True)] or [np.zeros(0, dtype=np.str_) for _ in head]
    return Sheet(path, head, tuple(columns), Lines(path, tuple(lines)))


def read_parquet(path: Path) -> Sheet:
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
        table = pyarrow.parquet.read_table(path)
    except (pyarrow.ArrowException, OSError) as error:
        raise ReadError(path, expected="a Parquet file", found=excerpt(str(error))) from None
    columns = [write_texts(column.to_pylist()) for column in table.columns]
    return Sheet(path, tuple(table.column_names), tuple(columns), RowNames(path))


def write_texts(values: Sequence[Any]) -> NDArray[np.str_]:
    """Values as a CSV file would hold them; absent ones are empty."""
    plain = [
        "" if v is None else str(int(v)) if isinstance(v, bool) or (isinstance(v, float) and v.is_integer()) else str(v)
        for v in values
    ]
    return np.array(plain, dtype=np.str_) if plain else np.zeros(0, dtype=np.str_)


def read_numbers(sheet: Sheet, name: str) -> NDArray[np.float64]:
    """A column as numbers."""
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
