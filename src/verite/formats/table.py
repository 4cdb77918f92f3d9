"""Tables as CSV: a row per object, columns by the names that tables in memory have, too (see tables.py)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from verite.csv_files import check_width, lines_of
from verite.errors import ErrorCollector, ReadError, VeriteError, excerpt
from verite.files import read_bytes, write_atomically
from verite.formats.annotators import COLUMN
from verite.formats.arrow_stream import read_stream
from verite.formats.csv_lines import find_columns, header_columns, separator_in, the_file
from verite.formats.format import Format, Options, PathProbe, check_ends
from verite.formats.tables import BOX, BOX_SIDES, HONOURS, IMAGE, KNOWN, LABEL, UNREADABLE, box_columns, read_columns
from verite.formats.words import is_number
from verite.model.annotations import FLAGS, Annotations
from verite.model.frames import import_pyarrow, object_columns, to_arrow
from verite.model.styles import csv_text

LONGEST = 131_072

SUFFIXES = (".csv", ".tsv")

TEXTS = ("file_name", "label")  # also where they look like numbers


def recognise(look: PathProbe) -> str | None:
    """All columns that are needed; or, of a file that can be nothing else, some: the reader says what is missing."""
    found = header_columns(look, KNOWN)
    needed = (any(name in found for name in IMAGE), any(name in found for name in LABEL))
    if all(needed) and (box_columns(found) or BOX in found):
        return f"a CSV file with the columns {', '.join(found)}"
    some = sum(needed) + any(name in found for name in (*BOX_SIDES, BOX))
    if look.path.suffix.lower() not in SUFFIXES or look.is_folder or some < 2:
        return None
    return f"a CSV file with some of the columns of a table: {', '.join(found)}"


def read(path: Path, options: Options) -> Annotations:
    file = the_file(path)
    lines = lines_of(file, LONGEST)
    tolerance = ErrorCollector()
    _, header = next(lines, (1, []))
    wanted = {theirs: ours for ours, theirs in (options.columns or {}).items()}
    who = [name.strip() for name in header if COLUMN.fullmatch(name.strip())]
    at = find_columns(header, [*KNOWN, *wanted, *who])
    cells: dict[str, list[str]] = {name: [] for name in at}
    numbers = []
    for number, line in lines:
        with tolerance:
            check_width(f"{file}:{number}", line, len(header))
            numbers.append(number)
            for name, i in at.items():
                cells[name].append(line[i].strip())
    others = {name.strip(): ["" for _ in next(iter(cells.values()), [])] for name in header if name.strip() not in at}
    has_commas = separator_in(file) != ","  # between whole numbers and fractions, as spreadsheets of half of Europe
    columns = {
        name: [value or None for value in values] if wanted.get(name, name) in TEXTS else guess(values, has_commas)
        for name, values in cells.items()
        if name not in UNREADABLE
    }
    return read_columns(str(path), {**others, **columns}, options, "table", rows=numbers, tolerance=tolerance)


def guess(values: Sequence[str], has_commas: bool = False) -> Any:
    """Numbers where every cell is one or empty, texts where one is not."""
    if has_commas and any("," in value for value in values):
        plain = [value.replace(",", ".") for value in values]
        values = plain if all(not value or is_number(value) for value in plain) else values
    if all(value.removeprefix("-").isdecimal() and len(value) < 19 for value in values):
        return np.array([int(value) for value in values], dtype=np.int64)
    if all(not value or is_number(value) for value in values) and any(values):
        return np.array([float(value) if value else np.nan for value in values])
    return [value or None for value in values]


def write(annotations: Annotations, path: Path) -> None:
    check_ends(path, annotations.images.names or (), "image names")
    check_ends(path, annotations.labels.all_names, "class names")
    columns = object_columns(annotations, images=True)
    rows: list[Sequence[object]] = [list(columns)]
    cells = ([None if cell != cell else cell for cell in values.tolist()] for values in columns.values())
    rows += zip(*cells, strict=True)
    write_atomically(path, csv_text(rows))


HOLDS = frozenset(
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
        *FLAGS,
    }
)

FORMAT = Format(
    name="table",
    title="table as CSV",
    about="a row per object: image, class, box and score by the usual column names; `columns` names others; a row "
    "without class and box is an image without objects",
    recognise=recognise,
    read=read,
    write=write,
    preserves=HOLDS,
    options=HONOURS,
    suffixes=SUFFIXES,
)

MAGIC = "PAR1"


def recognise_parquet(look: PathProbe) -> str | None:
    return "a file that begins with PAR1" if not look.is_folder and look.head.startswith(MAGIC) else None


def read_parquet(path: Path, options: Options) -> Annotations:
    arrow = import_pyarrow()
    import pyarrow.parquet

    try:
        table: Any = pyarrow.parquet.read_table(arrow.BufferReader(read_bytes(path)))
        columns = read_stream(table)
    except VeriteError:
        raise
    except (arrow.ArrowException, OSError, ValueError) as error:
        found = excerpt(str(error).rpartition(">': ")[2], 120)  # behind the name of the buffer
        raise ReadError(path, expected="a whole Parquet file", found=found, remedy="was it cut off? (V403)") from None
    return read_columns(str(path), columns, options, "parquet")


def write_parquet(annotations: Annotations, path: Path) -> None:
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
    preserves=HOLDS | {"keypoints", "mask", "polygon", "polygon beside a mask", "polygon of several rings"},
    options=HONOURS,
    suffixes=(".parquet",),
)
