"""Tables as Parquet: a row per object, columns as in tables.py. Needs pyarrow, the extra `parquet`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verite.errors import ReadError, VeriteError, excerpt
from verite.files import read_bytes, write_atomically
from verite.formats.arrow_stream import read_stream
from verite.formats.format import Format, Look, Options
from verite.formats.table import HOLDS
from verite.formats.tables import HONOURS, read_columns
from verite.model.annotations import Annotations
from verite.model.frames import import_pyarrow, to_arrow

MAGIC = "PAR1"


def recognise(look: Look) -> str | None:
    return "a file that begins with PAR1" if not look.is_folder and look.head.startswith(MAGIC) else None


def read(path: Path, options: Options) -> Annotations:
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


def write(annotations: Annotations, path: Path) -> None:
    arrow = import_pyarrow()
    import pyarrow.parquet

    content = arrow.BufferOutputStream()
    pyarrow.parquet.write_table(to_arrow(annotations, images=True), content)
    write_atomically(path, content.getvalue().to_pybytes())


FORMAT = Format(
    name="parquet",
    title="table as Parquet",
    about="a row per object as in `table`, outlines and a list column `bbox` as well; needs the extra `[parquet]`",
    recognise=recognise,
    read=read,
    write=write,
    holds=HOLDS | {"keypoints", "mask", "polygon", "polygon beside a mask", "polygon of several rings"},
    honours=HONOURS,
    suffixes=(".parquet",),
)
