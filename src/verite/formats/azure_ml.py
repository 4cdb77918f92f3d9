"""Azure Machine Learning: JSON lines with `image_url`, and boxes or polygons in fractions of the image.

Read by the documentation of its AutoML for images; no file written by the platform was at hand.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from verite.errors import ReadError
from verite.formats.exports import file_name, records_in
from verite.formats.format import Format, Options, PathProbe
from verite.formats.polygons import bounds_of_rings, check_ring
from verite.formats.rows import Rows
from verite.model.annotations import Annotations


class AzureObject(msgspec.Struct):
    """One object; coordinates are fractions. `isCrowd` may be a number or a text."""

    label: str
    topX: float | None = None  # noqa: N815 - the file's names
    topY: float | None = None  # noqa: N815
    bottomX: float | None = None  # noqa: N815
    bottomY: float | None = None  # noqa: N815
    polygon: list[list[float]] | None = None
    isCrowd: int | bool | str = 0  # noqa: N815


class Details(msgspec.Struct, frozen=True):
    """Size of the image; texts such as "640px" occur."""

    width: int | str | None = None
    height: int | str | None = None


class AzureImage(msgspec.Struct):
    """One line: an image and its objects. A label that is a text is one of the whole image."""

    image_url: str
    label: list[AzureObject] | AzureObject | str = msgspec.field(default_factory=list)
    image_details: Details = Details()


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is of Azure ML: JSON lines with `image_url` and `label`."""
    if probe.is_folder:
        return None
    head = probe.head.lstrip()
    first = head.partition("\n")[0]
    return "JSON lines with image_url and label" if '"image_url"' in first and '"label"' in first else None


def read(path: Path, options: Options) -> Annotations:
    """Read the objects of all images."""
    rows = Rows(path, options)
    for where, image in records_in(path, AzureImage):
        with rows.errors:
            if isinstance(image.label, str):
                raise ReadError(where, expected="a list of objects", found="the class of a whole image",
                                remedy="export an object detection project")  # fmt: skip
            name = file_name(image.image_url)
            width, height = (pixels_of(where, side) for side in (image.image_details.width, image.image_details.height))
            rows.add_image(where, name, width, height)
            objects = image.label if isinstance(image.label, list) else [image.label]
            for i, one in enumerate(objects):
                add_object(rows, f"{where}.label[{i}]", name, one)
    return rows.annotations("azure-ml", layout="xyxy", coords="rel")


def pixels_of(where: str, side: int | str | None) -> int:
    """Return a side in pixels, 0 where it is not stated.

    Parameters
    ----------
    where
        The record, for messages.
    side
        A number, or text such as `640px`.
    """
    text = str(side or 0).removesuffix("px").strip()
    if not text.isdecimal():
        raise ReadError(f"{where}.image_details", expected="a side in pixels", found=repr(side))
    return int(text)


def add_object(rows: Rows, where: str, image: str, one: AzureObject) -> None:
    """Add a polygon, or a box of four fractions."""
    flags = ["crowd"] if str(one.isCrowd).casefold() in ("1", "true") else []
    corners = [side for side in (one.topX, one.topY, one.bottomX, one.bottomY) if side is not None]
    if one.polygon:
        rings = [list(check_ring(where, ring)) for ring in one.polygon]
        box = corners if len(corners) == 4 else bounds_of_rings(rings)
        rows.add(where, image, one.label, box, polygon=rings, flags=flags)
    elif len(corners) == 4:
        rows.add(where, image, one.label, corners, flags=flags)
    else:
        raise ReadError(where, expected="topX, topY, bottomX and bottomY, or a polygon", found="none")


FORMAT = Format(
    name="azure-ml",
    title="Azure ML JSON lines",
    about="JSON lines with `image_url`, boxes and polygons in fractions (by its documentation)",
    recognise=recognise,
    read=read,
    suffixes=(".jsonl",),
    sides=("truth",),
)
