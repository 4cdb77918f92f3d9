"""Tables of answers, read from CSV or Parquet.

::

    item[,interpretation][,MORE…],truth,NAME…     one row an item: 0 and 1, or labels; one column an algorithm
    item,label[,MORE…],truth,NAME…                one row an item and label: confidences; truth is 1 on the true label

Whatever stands between these and `truth` is about the item and must be asked for: a group of shared errors, a rate, a
mark.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, DataError, ReadError, did_you_mean, excerpt
from verite.files import find_path, read_text
from verite.ranking.answers import Answers, code_columns
from verite.ranking.confidence import Confidences, Sums

HEADER = "a header item[,interpretation],truth,NAME… or item,label,truth,NAME…"


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


def read_table(
    path: str | Path,
    *,
    kind: Literal["binary", "labels", "confidences"] | None = None,
    labels: Sequence[str] | None = None,
    sums: Sums = "check",
    asked: Collection[str] = (),
) -> Answers | Confidences:
    """Read a table of answers. `asked` names the columns before `truth` that will be used."""
    sheet = read_sheet(find_path(path))
    names, more, is_long = check_head(sheet, asked)
    if is_long != (kind == "confidences") and kind is not None:
        raise ReadError(
            f"{sheet.path}:1", expected=f"a table of kind {kind}", found=f"the header {','.join(sheet.head)}"
        )
    check_filled(sheet)
    if is_long and labels is not None:
        raise BadParameter("labels: expected none beside a table of confidences, which names its labels")
    if is_long:
        return confidences_in(sheet, names, more).with_sums(sums)
    keys = ["item", *(["interpretation"] if "interpretation" in sheet.head else [])]
    check_once(sheet, keys)
    columns = {name: sheet.column(name) for name in [*keys, *more]}
    answers = [sheet.column(name) for name in names]
    given = None if kind == "confidences" else kind
    return code_columns(names, sheet.column("truth"), answers, given, labels, columns, sheet.where, str(sheet.path))


def is_table(path: str | Path) -> bool:
    """Whether a file is a table of answers: its first column is `item` and one of the others `truth`."""
    place = find_path(path)
    if not place.is_file():
        return False
    if is_parquet(place):
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import read_schema

            return "truth" in read_schema(place).names
        except (ImportError, ArrowException, OSError):
            return True  # reading it says what is wrong
    with place.open("rb") as file:
        first = file.readline(65_536).decode("utf-8-sig", errors="replace")
    head = [name.strip() for name in next(csv.reader([first], delimiter=delimiter_of(first)), [])]
    return head[:1] == ["item"] or "truth" in head


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
    return Sheet(path, head, tuple(columns), lambda i: f"{path}:{lines[i]}")


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
    return Sheet(path, tuple(table.column_names), tuple(columns), lambda i: f"{path}: row {i + 1}")


def write_texts(values: Sequence[Any]) -> NDArray[np.str_]:
    """Values as a CSV file would hold them; absent ones are empty."""
    plain = [
        "" if v is None else str(int(v)) if isinstance(v, bool) or (isinstance(v, float) and v.is_integer()) else str(v)
        for v in values
    ]
    return np.array(plain, dtype=np.str_) if plain else np.zeros(0, dtype=np.str_)


def check_head(sheet: Sheet, asked: Collection[str]) -> tuple[tuple[str, ...], list[str], bool]:
    """The algorithms, the columns about items, and whether the table is one of confidences."""
    head, where = sheet.head, f"{sheet.path}:1"
    shown = excerpt(",".join(head))
    if head[:1] != ("item",) or "truth" not in head:
        missing = "item" if head[:1] != ("item",) else "truth"
        near = next((name for name in head if did_you_mean(name, [missing])), None)
        remedy = f"is {near!r} the column {missing!r}?" if near is not None else ""
        raise ReadError(where, expected=HEADER, found=shown, remedy=remedy)
    twice = next((name for name in head if head.count(name) > 1), None)
    if twice is not None:
        raise ReadError(where, expected="a name of its own for every column", found=f"{twice!r} twice")
    place = head.index("truth")
    names = head[place + 1 :]
    if len(names) < 2:
        raise ReadError(where, expected="at least two algorithms after truth", found=", ".join(names) or "none")
    if "" in names:
        raise ReadError(where, expected="a name for every algorithm", found="an empty one")
    is_long = "label" in head[1:place]
    known = ("label",) if is_long else ("interpretation",)
    more = [name for name in head[1:place] if name not in known]
    unasked = next((name for name in more if name not in asked), None)
    if unasked is not None:
        raise ReadError(
            where,
            expected="only columns before truth that are asked for",
            found=f"{unasked!r}",
            remedy="put algorithms after truth, or name the column as groups, rates or audited",
        )
    if not len(sheet):
        raise ReadError(sheet.path, expected="at least one item", found="a header alone")
    return names, more, is_long


def check_filled(sheet: Sheet) -> None:
    """Refuse empty cells: an algorithm that did not answer an item cannot be compared on it."""
    for name, column in zip(sheet.head, sheet.columns, strict=True):
        empty = np.flatnonzero(column == "")
        if len(empty):
            row = int(empty[0])
            remedy = "every algorithm must answer the same items" if name not in ("item", "truth") else ""
            raise ReadError(sheet.where(row), expected=f"a value for {name!r}", found="nothing", remedy=remedy)


def check_once(sheet: Sheet, keys: Sequence[str]) -> None:
    """Refuse items that occur twice."""
    columns = [sheet.column(key) for key in keys]
    order = np.lexsort([np.unique(column, return_inverse=True)[1].ravel() for column in columns])
    same = np.ones(max(len(order) - 1, 0), dtype=np.bool_)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    if same.any():
        one, two = min(
            (sorted((int(a), int(b))) for (a, b), s in zip(pairwise(order), same, strict=True) if s), key=lambda p: p[1]
        )
        name = " ".join(f"{key} {str(column[two])!r}" for key, column in zip(keys, columns, strict=True))
        raise ReadError(
            sheet.where(two),
            expected="each item once",
            found=f"{name} again",
            remedy=f"it stands at {sheet.where(one)} too",
        )


def confidences_in(sheet: Sheet, names: tuple[str, ...], more: Sequence[str]) -> Confidences:
    """A long table, one row an item and label, as confidences."""
    check_once(sheet, ["item", "label"])
    items, item = list_values(sheet.column("item"))
    labels, label = list_values(sheet.column("label"))
    place = np.full((len(items), len(labels)), -1, dtype=np.int64)
    place[item, label] = np.arange(len(sheet))
    if (place < 0).any():
        i, k = (int(v) for v in np.argwhere(place < 0)[0])
        raise ReadError(
            sheet.path,
            expected=f"a row for every label of item {str(items[i])!r}",
            found=f"none for {str(labels[k])!r}",
        )
    marks = sheet.column("truth")
    odd = np.flatnonzero(~np.isin(marks, ["0", "1"]))
    if len(odd):
        row = int(odd[0])
        raise ReadError(
            sheet.where(row),
            expected="1 on the true label and 0 on the others as truth",
            found=excerpt(str(marks[row])),
        )
    true = (marks == "1")[place]
    wrong = np.flatnonzero(true.sum(axis=1) != 1)
    if len(wrong):
        i = int(wrong[0])
        found = " and ".join(repr(str(labels[k])) for k in np.flatnonzero(true[i])) or "none"
        raise ReadError(
            sheet.where(int(place[i, 0])), expected=f"one true label of item {str(items[i])!r}", found=found
        )
    values = np.stack([read_numbers(sheet, name)[place] for name in names])
    first = place[:, 0]
    columns = {"item": items, **{name: read_constant(sheet, name, place)[first] for name in more}}
    return Confidences(
        names,
        tuple(str(v) for v in labels),
        np.argmax(true, axis=1),
        values,
        columns,
        lambda i: f"{sheet.where(int(first[i]))} (item {str(items[i])!r})",
        str(sheet.path),
    )


def list_values(column: NDArray[np.str_]) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """The different values in the order of their first occurrence, and for every row which one it is."""
    values, first, inverse = np.unique(column, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return values[order], rank[inverse.ravel()]


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


def read_constant(sheet: Sheet, name: str, place: NDArray[np.int64]) -> NDArray[np.str_]:
    """A column about items, checked to say the same in all rows of an item."""
    column = sheet.column(name)
    differs = np.argwhere(column[place] != column[place[:, :1]])
    if len(differs):
        i, k = (int(v) for v in differs[0])
        raise ReadError(
            sheet.where(int(place[i, k])),
            expected=f"one value of {name!r} for all rows of an item",
            found=excerpt(str(column[place[i, k]])),
        )
    return column


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
