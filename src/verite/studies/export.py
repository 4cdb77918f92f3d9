"""Export a study as one table: every altered region with its parameters and mask, and every value of every metric."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import BadParameter
from verite.files import fill_folder, make_folder, write_atomically
from verite.model.rasters import array_of
from verite.model.styles import csv_text
from verite.studies.measuring import tasks_of
from verite.studies.study import Study
from verite.studies.sweeps import Grid

ExportFormat = Literal["parquet", "csv"]
Columns = dict[str, list[str] | list[int] | NDArray[np.float64]]


def export(
    study: Study,
    folder: str | Path,
    *,
    format: ExportFormat = "parquet",
    pictures: bool = False,
    overwrite: bool = False,
) -> Path:
    """Write every altered region, with its parameters and all values, to one table.

    There is a row per altered region, the unaltered one included: ground truth, alteration, its parameters (x and y, or
    place and size of a local change), height, width and COCO run-length encoding of the mask, and for each metric
    M(truth, result) and M(result, truth).

    Parameters
    ----------
    study : Study
        The study.
    folder : str or Path
        Folder to write, new or empty.
    format : {"parquet", "csv"}
        Format of the table.
    pictures : bool, default False
        Also save every mask as a black and white PNG, named by its parameters.
    overwrite : bool, default False
        Replace files of a folder that has some.

    Returns
    -------
    Path
        Path of the table, results.parquet or results.csv.
    """
    if format not in ("parquet", "csv"):
        raise BadParameter(f"format: expected parquet or csv, found {format!r}")
    name = f"results.{format}"
    with fill_folder(folder, overwrite=overwrite) as home:
        parts = parts_of(study, home / "masks" if pictures else None)
        write_atomically(home / name, to_parquet(parts) if format == "parquet" else to_csv(parts))
    return Path(folder) / name


def parts_of(study: Study, pictures: Path | None) -> Iterator[Columns]:
    """Yield the columns of each ground truth under each alteration, and save the masks if a folder is given."""
    for truth, sweep in tasks_of(study.truths, study.sweeps):
        results, values = sweep.rasterise(truth), study.evidence.measured[truth.name, sweep.name]
        if isinstance(sweep, Grid):
            first, second = sweep.parameters
        else:
            places, sizes = sweep.shape(truth)
            first, second = np.repeat(np.arange(float(places)), sizes), np.tile(np.arange(float(sizes)), places)
        height, width = truth.mask.shape
        columns: Columns = {
            "truth": [truth.name] * len(results),
            "alteration": [sweep.name] * len(results),
            "x": first,
            "y": second,
            "height": [height] * len(results),
            "width": [width] * len(results),
            "runs": [_core.encode_runs(np.ascontiguousarray(results[i])).decode() for i in range(len(results))],
        }
        for i, row in enumerate(study.rows):
            columns[row.label] = values.forward[i].ravel()
            columns[f"{row.label}, exchanged"] = values.backward[i].ravel()
        if pictures is not None:
            from PIL import Image

            folder = make_folder(pictures / file_name(truth.name) / file_name(sweep.name))
            for i, (x, y) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
                out = io.BytesIO()
                Image.fromarray(array_of(results, i)).save(out, format="PNG")
                write_atomically(folder / f"{x:+g}_{y:+g}.png", out.getvalue())
        yield columns


def to_csv(parts: Iterator[Columns]) -> str:
    """Write the columns as CSV."""
    texts = []
    for k, columns in enumerate(parts):
        lists = [c if isinstance(c, list) else [repr(v) for v in c.tolist()] for c in columns.values()]
        texts.append(csv_text([*([columns] if k == 0 else []), *zip(*lists, strict=True)]))
    return "".join(texts)


def to_parquet(parts: Iterator[Columns]) -> bytes:
    """Write the columns as Parquet; BadParameter without pyarrow."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise BadParameter(
            "export: expected pyarrow to write Parquet, found none; pip install 'verite[parquet]', or choose csv"
        ) from None
    out, writer = io.BytesIO(), None
    for columns in parts:
        table = pa.table(columns)
        writer = writer or parquet.ParquetWriter(out, table.schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return out.getvalue()


def file_name(name: str) -> str:
    """Return a name as a portable file name.

    >>> file_name("translation(reach=12)"), file_name("small square")
    ('translation-reach-12', 'small-square')
    """
    return "".join(c if c.isalnum() or c in "+._" else "-" for c in name).strip("-")
