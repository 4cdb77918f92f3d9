"""What stands in a table of text, read from CSV or Parquet, and how is a row of it called?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.csv_files import check_width, lines_of
from verite.errors import DataError, ReadError, excerpt
from verite.files import find_path

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


def read_sheet(path: Path) -> Sheet:
    if not path.is_file():
        raise ReadError(path, expected="a table in a file", found="a folder")
    if path.stat().st_size == 0:
        raise ReadError(path, expected=HEADER, found="an empty file")
    # By its name, too: a broken Parquet file is no CSV.
    return read_parquet(path) if is_parquet(path) or path.suffix.lower() == ".parquet" else read_csv(path)


def read_csv(path: Path) -> Sheet:
    """A CSV file's columns, without the blanks in front of cells."""
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


def resolve_confusion(confusion: Any, labels: Sequence[str]) -> NDArray[np.float64] | None:
    """A confusion matrix, mapping of mappings or file in the order of the labels."""
    if confusion is None:
        return None
    if isinstance(confusion, (str, PathLike)):
        return read_confusion(Path(confusion), labels)
    if isinstance(confusion, Mapping):
        confusion = [[confusion.get(i, {}).get(j, 0.0) for j in labels] for i in labels]
    return check_confusion(confusion, labels)


def read_confusion(path: str | Path, labels: Sequence[str]) -> NDArray[np.float64]:
    """A confusion matrix: header `recorded,LABEL…`, a row for each recorded label; see `check_confusion`."""
    sheet = read_sheet(find_path(path))
    if sheet.head[:1] != ("recorded",):
        raise ReadError(f"{sheet.path}:1", expected="a header recorded,LABEL…", found=excerpt(",".join(sheet.head)))
    rows = {str(name): row for row, name in enumerate(sheet.columns[0])}
    for name in labels:
        if name not in rows or name not in sheet.head[1:]:
            raise ReadError(sheet.path, expected=f"a row and a column for label {name!r}", found="none")
    matrix = np.stack([read_numbers(sheet, name) for name in labels], axis=1)
    return check_confusion(matrix[[rows[name] for name in labels]], labels)


def check_confusion(matrix: Any, labels: Sequence[str]) -> NDArray[np.float64]:
    """P(true label | recorded label, and the record is wrong): zero on the diagonal, rows that add up to one."""
    values = np.asarray(matrix, dtype=np.float64)
    if values.shape != (len(labels), len(labels)):
        raise DataError(f"confusion: expected {len(labels)} rows and columns, one a label, found {values.shape}")
    for i, name in enumerate(labels):
        if not np.all(values[i] >= 0) or values[i, i] != 0:
            raise DataError(f"confusion: expected shares from 0 on, and 0 for {name!r} itself, in the row of {name!r}")
        if abs(values[i].sum() - 1) > 1e-6:
            raise DataError(f"confusion: expected the row of {name!r} to add up to 1, found {values[i].sum():g}")
    scaled: NDArray[np.float64] = values / values.sum(axis=1, keepdims=True)
    return scaled
