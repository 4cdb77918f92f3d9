"""Tables as CSV and Parquet: one row per object, columns by the names in `tables.py`.

The CSV parsing serves other formats as well: commas, semicolons or tabs, columns in any order, names in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.csv_files import SHORT, Line, check_width, header_of, lines_of, parse_csv, separator_of
from verite.errors import BadParameter, ErrorCollector, ReadError, did_you_mean, excerpt
from verite.files import read_bytes, write_atomically
from verite.formats.annotators import COLUMN
from verite.formats.format import Format, Options, PathProbe, check_ends
from verite.formats.tables import (
    BOX,
    BOX_SIDES,
    IMAGE,
    KNOWN,
    LABEL,
    OTHER_NAMES,
    TABLE_OPTIONS,
    UNREADABLE,
    Columns,
    box_columns,
    read_columns,
)
from verite.formats.text_lines import is_number
from verite.model.annotations import FLAGS, Annotations
from verite.model.frames import import_pyarrow, object_columns, to_arrow
from verite.model.styles import csv_text


@dataclass(frozen=True)
class CsvTable:
    """The known columns of a CSV file by name, and its lines below the header."""

    file: Path
    width: int
    columns: dict[str, int]
    lines: list[Line]

    def records(self, errors: ErrorCollector) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield place and known cells of every line; lines of wrong length are collected as errors."""
        for number, line in self.lines:
            where = f"{self.file}:{number}"
            with errors:
                check_width(where, line, self.width)
                yield where, {name: line[i] for name, i in self.columns.items()}


def header_columns(probe: PathProbe, known: Sequence[str]) -> dict[str, int]:
    """Return the known columns of a CSV file, or of the only one in a folder; empty where it is something else.

    Parameters
    ----------
    probe
        The file or folder.
    known
        Names of columns that a format reads.

    Returns
    -------
    dict[str, int]
        Index of each known column.
    """
    files = [probe.path] if not probe.is_folder else probe.with_suffix(".csv")
    if len(files) != 1:
        return {}
    header = header_of(PathProbe(files[0]).head)
    return find_columns(cells(header, separator_of(header)), known)


def find_columns(header: Sequence[str], known: Sequence[str]) -> dict[str, int]:
    """Return the indices of the known columns, whatever the case of their names.

    Parameters
    ----------
    header
        Cells of the first line.
    known
        Names of columns that a format reads.

    Returns
    -------
    dict[str, int]
        Index by name in the format's spelling; of equal names the first.
    """
    names = {name.casefold(): name for name in known}
    found: dict[str, int] = {}
    for i, cell in enumerate(header):
        if (key := cell.strip().casefold()) in names:
            found.setdefault(names[key], i)
    return found


def read_csv_table(path: Path, required: Sequence[str], known: Sequence[str], *, longest: int = SHORT) -> CsvTable:
    """Read a CSV file whose required columns must exist, and no known one twice.

    `longest` is the number of characters that a cell may have.
    """
    file = single_csv_file(path)
    lines = lines_of(file, longest)
    number, header = next(lines, (1, []))
    columns = find_columns(header, known)
    for name in required:
        if name not in columns:
            found = excerpt(",".join(header)) if header else "an empty file"
            others = (cell.strip() for i, cell in enumerate(header) if i not in columns.values())
            remedy = f"{did_you_mean(name, others).removeprefix('; ') or 'its header must name it'} (V415)"
            raise ReadError(f"{file}:{number}", expected=f"a column {name}", found=found, remedy=remedy)
    again = next((c for i, c in enumerate(header) if i not in columns.values() and find_columns([c], known)), None)
    if again is not None:
        raise ReadError(f"{file}:{number}", expected="each column once", found=f"a second {excerpt(again)}")
    return CsvTable(file, len(header), columns, list(lines))


def cells(line: str, separator: str) -> list[str]:
    """Return the cells of a header line; empty where it is no CSV.

    Parameters
    ----------
    line
        The first line of a file that may be anything.
    separator
        Comma, semicolon or tab.
    """
    try:
        return next(parse_csv(line, separator), (1, []))[1]
    except ReadError:
        return []


def single_csv_file(path: Path) -> Path:
    """Return the CSV file itself, or the only one in a folder."""
    files = PathProbe(path).with_suffix(".csv") if path.is_dir() else [path]
    if len(files) != 1:
        raise ReadError(path, expected="one CSV file", found=str(len(files)), remedy="name the file")
    return files[0]


LONGEST = 131_072

SUFFIXES = (".csv", ".tsv")

TEXTS = ("file_name", "label")  # never parsed as numbers


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is a table: all required columns, or some of them in a file with the suffix of a table.

    With some of them the reader can say which one is missing.
    """
    found = header_columns(probe, [*KNOWN, *OTHER_NAMES])
    found |= {OTHER_NAMES[name]: i for name, i in found.items() if name in OTHER_NAMES}
    needed = (any(name in found for name in IMAGE), any(name in found for name in LABEL))
    if all(needed) and (box_columns(found) or BOX in found):
        return f"a CSV file with the columns {', '.join(name for name in found if name not in OTHER_NAMES)}"
    some = sum(needed) + any(name in found for name in (*BOX_SIDES, BOX))
    if probe.path.suffix.lower() not in SUFFIXES or probe.is_folder or some < 2:
        return None
    found = {name: i for name, i in found.items() if name not in OTHER_NAMES}
    return f"a CSV file with some of the columns of a table: {', '.join(found)}"


def read(path: Path, options: Options) -> Annotations:
    """Read a CSV table. With another separator than the comma, numbers may have decimal commas."""
    file = single_csv_file(path)
    lines = lines_of(file, LONGEST)
    errors = ErrorCollector()
    _, header = next(lines, (1, []))
    wanted = {theirs: ours for ours, theirs in (options.columns or {}).items()}
    who = [name.strip() for name in header if COLUMN.fullmatch(name.strip())]
    who += [options.annotator.partition("=")[0]] if options.annotator is not None else []
    at = find_columns(header, [*KNOWN, *OTHER_NAMES, *wanted, *who, "name"])
    cells: dict[str, list[str]] = {name: [] for name in at}
    numbers = []
    for number, line in lines:
        with errors:
            check_width(f"{file}:{number}", line, len(header))
            numbers.append(number)
            for name, i in at.items():
                cells[name].append(line[i].strip())
    known = set(at.values())
    blanks = ["" for _ in next(iter(cells.values()), [])]
    others = {name.strip(): blanks for i, name in enumerate(header) if i not in known}
    # Between whole numbers and fractions, as spreadsheets of half of Europe.
    has_commas = separator_of(header_of(PathProbe(file).head)) != ","
    columns = {
        name: [value or None for value in values]
        if wanted.get(name, name) in TEXTS
        else parse_cells(values, has_commas)
        for name, values in cells.items()
        if name not in UNREADABLE
    }
    return read_columns(str(path), {**others, **columns}, options, "table", rows=numbers, errors=errors)


def parse_cells(values: Sequence[str], has_commas: bool = False) -> Any:
    """Convert a column to integers or floats if every cell is a number or empty; else keep the texts."""
    if has_commas and any("," in value for value in values):
        plain = [value.replace(",", ".") for value in values]
        values = plain if all(not value or is_number(value) for value in plain) else values
    if all(value.removeprefix("-").isdecimal() and len(value) < 19 for value in values):
        return np.array([int(value) for value in values], dtype=np.int64)
    if all(not value or is_number(value) for value in values) and any(values):
        return np.array([float(value) if value else np.nan for value in values])
    return [value or None for value in values]


def write(annotations: Annotations, path: Path) -> None:
    """Write one row per object, and one per image without objects."""
    check_ends(path, annotations.images.names or (), "image names")
    check_ends(path, annotations.labels.all_names, "class names")
    columns = object_columns(annotations, images=True)
    rows: list[Sequence[object]] = [list(columns)]
    cells = ([None if cell != cell else cell for cell in values.tolist()] for values in columns.values())
    rows += zip(*cells, strict=True)
    write_atomically(path, csv_text(rows))


PRESERVES = frozenset(
    {
        "area",
        "box apart from its mask",
        "box apart from its polygon",
        "class id",
        "class id without a name",
        "class name",
        "class order",
        "confidence",
        "empty image",
        "image folder or suffix",
        "image id",
        "image name",
        "image size",
        "object id",
        "track id",
        *FLAGS,
    }
)

FORMAT = Format(
    name="table",
    title="table as CSV",
    about="one row per object: image, class, box and score by the usual column names; `columns` names others; a row "
    "without class and box is an image without objects",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    options=TABLE_OPTIONS,
    suffixes=SUFFIXES,
)

MAGIC = "PAR1"


def recognise_parquet(probe: PathProbe) -> str | None:
    """Return why a path is Parquet: its magic bytes."""
    return "a file that begins with PAR1" if not probe.is_folder and probe.head.startswith(MAGIC) else None


def columns_of_arrow(given: Any) -> Columns:
    """Return the columns of a table by name, converted by pyarrow.

    Parameters
    ----------
    given : object
        Has `__arrow_c_stream__`, the Arrow stream interface: tables of polars, pyarrow, DuckDB and pandas 3.

    Returns
    -------
    dict
        Numbers as arrays, NaN where a value is missing (integers of more than 53 bits stay whole, as a list with None);
        texts, lists and structures as lists. Columns of other types (dates, bytes …), which no annotation needs, are
        left out.
    """
    arrow = import_pyarrow()
    try:
        table = given if isinstance(given, arrow.Table) else arrow.table(given)
        found = {name: column_of_arrow(arrow, table.column(i)) for i, name in enumerate(table.column_names)}
    except (arrow.ArrowException, TypeError, UnicodeDecodeError) as error:
        raise BadParameter(f"table: expected columns with names, found {excerpt(str(error), 120)}") from None
    return {name: values for name, values in found.items() if values is not None}


def column_of_arrow(arrow: Any, column: Any) -> NDArray[Any] | list[Any] | None:
    """Return one column (`pyarrow.ChunkedArray`) as `columns_of_arrow` says; None for types that are of no use here."""
    kind, types = column.type, arrow.types
    if types.is_decimal(kind):
        column, kind = column.cast(arrow.float64()), arrow.float64()
    if types.is_boolean(kind) and column.null_count:
        column, kind = column.cast(arrow.int8()), arrow.int8()
    if types.is_integer(kind) and column.null_count:
        known = column.drop_null().to_numpy()
        if len(known) and max(abs(int(known.min())), int(known.max())) > 2**53:
            return list(column.to_pylist())
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        values: NDArray[Any] = column.to_numpy()
        return values.astype(np.float64) if column.null_count else values
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if is_list and not column.null_count and not types.is_nested(kind.value_type):
        # Boxes, rings and runs: slices of one array instead of an object per number.
        parts = [(chunk.flatten(), chunk.value_lengths().to_numpy()) for chunk in column.chunks]
        if all(types.is_primitive(flat.type) and not flat.null_count for flat, _ in parts):
            return [
                piece
                for flat, sizes in parts
                for piece in np.split(flat.to_numpy(), np.cumsum(sizes)[:-1])
                if len(sizes)
            ]
    texts = (types.is_string, types.is_large_string, types.is_dictionary, types.is_struct, types.is_null)
    is_view = str(kind) == "string_view"
    return list(column.to_pylist()) if is_list or is_view or any(fits(kind) for fits in texts) else None


def read_parquet(path: Path, options: Options) -> Annotations:
    """Read a Parquet table with pyarrow."""
    arrow = import_pyarrow()
    import pyarrow.parquet

    try:
        table: Any = pyarrow.parquet.read_table(arrow.BufferReader(read_bytes(path)))
        columns = columns_of_arrow(table)
    except BadParameter as error:
        raise ReadError(path, expected="a table of annotations", found=excerpt(str(error), 120)) from None
    except (arrow.ArrowException, OSError, ValueError) as error:
        found = excerpt(str(error).rpartition(">': ")[2], 120)  # behind the name of the buffer
        raise ReadError(path, expected="a whole Parquet file", found=found, remedy="was it cut off? (V403)") from None
    return read_columns(str(path), columns, options, "parquet")


def write_parquet(annotations: Annotations, path: Path) -> None:
    """Write a Parquet table with pyarrow."""
    arrow = import_pyarrow()
    import pyarrow.parquet

    content = arrow.BufferOutputStream()
    pyarrow.parquet.write_table(to_arrow(annotations, images=True), content)
    write_atomically(path, content.getvalue().to_pybytes())


PARQUET = Format(
    name="parquet",
    title="table as Parquet",
    about="a row per object as in `table`, outlines and a list column `bbox` as well; needs the extra `[parquet]`",
    recognise=recognise_parquet,
    read=read_parquet,
    write=write_parquet,
    preserves=PRESERVES | {"keypoints", "mask", "polygon", "polygon beside a mask", "polygon of several rings"},
    options=TABLE_OPTIONS,
    suffixes=(".parquet",),
)
