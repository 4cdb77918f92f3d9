"""Cityscapes' polygons (`*_gtFine_polygons.json`): one JSON file per image, objects drawn one over the other.

A label that ends in `group` is a crowd of that class.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from verite.formats.cityscapes import NAMES, VOID
from verite.formats.exports import files_of, has_keys
from verite.formats.format import FRAMES, Format, Options, PathProbe
from verite.formats.json_documents import decode
from verite.formats.polygons import bounds_of_rings, check_ring
from verite.formats.rows import Rows
from verite.model.annotations import Annotations

LEFT_OUT = {name for id, name in enumerate(NAMES) if id in VOID}
ENDING = "_polygons"


class CityObject(msgspec.Struct):
    """A class and its outline."""

    label: str
    polygon: list[tuple[float, float]]
    deleted: int | bool = False


class CityImage(msgspec.Struct, rename={"width": "imgWidth", "height": "imgHeight"}):
    """An image and its objects."""

    width: int
    height: int
    objects: list[CityObject]


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is Cityscapes' polygons."""
    is_one = any(has_keys(head, "imgHeight", "imgWidth", "objects") for head in probe.documents.values())
    return "JSON with imgHeight, imgWidth and polygons" if is_one else None


def read(path: Path, options: Options) -> Annotations:
    """Read one file per image; what the benchmark leaves out (sky is not, ego vehicle is) is counted."""
    files, why = files_of(path, options)
    rows = Rows(path, options)
    for file in files:
        with rows.errors:
            document = decode(file, CityImage)
            name = file.stem.removesuffix(ENDING).removesuffix("_gtFine").removesuffix("_gtCoarse")
            rows.add_image(file, name, document.width, document.height)
            for i, one in enumerate(document.objects):
                where = f"{file}: objects[{i}]"
                if one.deleted or one.label in LEFT_OUT:
                    rows.remark("objects of classes that the benchmark leaves out", where)
                    continue
                with rows.errors:
                    ring = list(check_ring(where, [value for point in one.polygon for value in point]))
                    is_crowd = one.label.endswith("group") and one.label.removesuffix("group") in NAMES
                    label = one.label.removesuffix("group") if is_crowd else one.label
                    flags = ["crowd"] if is_crowd else []
                    rows.add(where, name, label, bounds_of_rings([ring]), polygon=[ring], flags=flags)
    return rows.annotations("cityscapes-polygons", layout="xyxy", why=why)


FORMAT = Format(
    name="cityscapes-polygons",
    title="Cityscapes polygons",
    about="one JSON file per image with imgHeight, imgWidth and polygons",
    recognise=recognise,
    read=read,
    options=FRAMES | {"split"},
    suffixes=(".json",),
    sides=("truth",),
)
