"""Open Images segmentation: a CSV with a line per object that names a PNG, `MaskPath,ImageID,LabelName,BoxXMin,…`.

What is not black in a PNG is the object. The PNGs are beside the CSV or in the folder that the user names; their size
is that of the image. Boxes are fractions of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from verite.errors import ReadError, excerpt
from verite.formats.csv_lines import header_columns, read_csv_table, the_file
from verite.formats.format import Format, Look, Options
from verite.formats.openimages import decimal
from verite.formats.rows import Rows
from verite.formats.sizes import picture
from verite.model.annotations import Annotations
from verite.model.rasters import runs_of

CORNERS = ("BoxXMin", "BoxYMin", "BoxXMax", "BoxYMax")
REQUIRED = ("MaskPath", "ImageID", "LabelName", *CORNERS)


def recognise(look: Look) -> str | None:
    if len(header_columns(look, REQUIRED)) == len(REQUIRED):
        return f"a CSV file with the columns {', '.join(REQUIRED)}"
    return None


def read(path: Path, options: Options) -> Annotations:
    folder = options.images if options.images is not None else the_file(path).parent
    places = {file.name: file for file in sorted(folder.rglob("*.png"), reverse=True)}
    rows = Rows(path, options)
    for where, line in read_csv_table(path, REQUIRED, REQUIRED).records(rows.tolerance):
        with rows.tolerance:
            name = line["MaskPath"].strip()
            if name not in places:
                remedy = f"name the folder of the PNGs with {options.spell('images', 'FOLDER')}"
                raise ReadError(where, expected=f"a PNG {excerpt(name)} below {folder}", found="none", remedy=remedy)
            add_line(rows, where, line, places[name])
    return rows.annotations("openimages-masks", layout="xyxy")


def add_line(rows: Rows, where: str, line: Mapping[str, str], file: Path) -> None:
    """An object, its mask in a file."""
    with picture(file, ["PNG"]) as image:
        size = image.size
        pixels = np.asarray(image.convert("L")) > 0
    name = line["ImageID"].strip()
    known = rows.images.get(name, size)
    if known != size:
        found = f"{size[0]} x {size[1]} in {file}"
        raise ReadError(where, expected=f"masks of {known[0]} x {known[1]} in {name}", found=found)
    rows.remember_image(where, name, size)
    box = [decimal(line[key], where, key) * size[i % 2] for i, key in enumerate(CORNERS)]
    rows.add(where, name, line["LabelName"].strip(), box, runs=(runs_of(pixels[None])[0], (size[1], size[0])))


FORMAT = Format(
    name="openimages-masks",
    title="Open Images segmentation CSV",
    about="a CSV line per object that names a PNG; the PNGs are beside it or below `images`",
    recognise=recognise,
    read=read,
    honours=frozenset({"boxes", "images"}),
    suffixes=(".csv",),
    sides=("truth",),
)
