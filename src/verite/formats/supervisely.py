"""Supervisely: one JSON file per image below `ann/`, with rectangles, polygons and bitmaps (PNG, zlib, base64).

Read by the platform's documentation; no file written by the platform was at hand.
"""

from __future__ import annotations

import base64
import binascii
import io
import zlib
from pathlib import Path

import msgspec

from verite.arrays import np
from verite.errors import ReadError, excerpt
from verite.formats.exports import files_of, has_keys, note_if_unscored
from verite.formats.format import FRAMES, Format, Options, PathProbe
from verite.formats.json_documents import decode
from verite.formats.label_images import split
from verite.formats.polygons import bounds_of_rings, bounds_of_runs, check_mask_size, check_ring
from verite.formats.rows import Rows
from verite.limits import limit
from verite.model.annotations import Annotations

CONFIDENCES = ("confidence", "score", "conf")


class Outline(msgspec.Struct):
    """Rings of a figure; those of `interior` are holes."""

    exterior: list[tuple[float, float]] = []
    interior: list[list[tuple[float, float]]] = []


class Bitmap(msgspec.Struct):
    """A mask as PNG, compressed by zlib and written in base64, and its top left corner in the image."""

    data: str
    origin: tuple[int, int]


class Tag(msgspec.Struct):
    """A tag of a figure; a model's confidence is one."""

    name: str = ""
    value: object = None


class LabelledFigure(msgspec.Struct, rename={"label": "classTitle", "type": "geometryType"}):
    """One object."""

    label: str
    type: str = ""
    points: Outline | None = None
    bitmap: Bitmap | None = None
    tags: list[Tag] = []

    @property
    def score(self) -> float | None:
        """The value of a tag named confidence."""
        said = (tag.value for tag in self.tags if tag.name.casefold() in CONFIDENCES)
        return next((float(value) for value in said if isinstance(value, (int, float))), None)


class FigureImageSize(msgspec.Struct):
    """Size of the image in pixels."""

    height: int
    width: int


class SuperviselyDocument(msgspec.Struct):
    """One file: the size of an image and its figures."""

    objects: list[LabelledFigure]
    size: FigureImageSize


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is Supervisely JSON: objects with `classTitle` and a size."""
    is_one = any(has_keys(head, "objects", "size", "classTitle") for head in probe.documents.values())
    return "JSON with size and objects of a classTitle, as Supervisely writes it" if is_one else None


def read(path: Path, options: Options) -> Annotations:
    """Read one file per image; `meta.json` is passed over. `a.jpg.json` belongs to the image `a.jpg`."""
    files, why = files_of(path, options)
    rows = Rows(path, options)
    found = []
    for file in files:
        if file.name == "meta.json" and file != path:
            continue
        document = decode(file, SuperviselyDocument)
        rows.add_image(file, file.stem, document.size.width, document.size.height)
        found += [(f"{file}: objects[{i}]", file.stem, one, document.size) for i, one in enumerate(document.objects)]
    is_pred = note_if_unscored(rows, [one.score for _, _, one, _ in found])
    for where, image, one, size in found:
        with rows.errors:
            confidence = one.score if is_pred else None
            if one.type == "bitmap" and one.bitmap is not None:
                runs = runs_of_bitmap(where, one.bitmap, size.height, size.width)
                left, top, across, down = bounds_of_runs(runs, size.height)
                box = (left, top, left + across, top + down)
                rows.add(where, image, one.label, box, confidence, runs=(runs, (size.height, size.width)))
            elif one.type == "rectangle" and one.points is not None and len(one.points.exterior) == 2:
                (x1, y1), (x2, y2) = one.points.exterior
                rows.add(where, image, one.label, (min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)), confidence)
            elif one.type == "polygon" and one.points is not None:
                rings = [one.points.exterior, *one.points.interior]
                flat = [list(check_ring(where, [v for point in ring for v in point])) for ring in rings]
                rows.add(where, image, one.label, bounds_of_rings(flat[:1]), confidence, polygon=flat)
            else:  # points, lines and skeletons have no area
                rows.remark(f"figures of type {excerpt(one.type or 'unknown')} left out", where)
    return rows.annotations("supervisely", layout="xyxy", why=why)


def runs_of_bitmap(where: str, bitmap: Bitmap, height: int, width: int) -> np.ndarray:
    """Return the run lengths, column by column, of a bitmap in an image of this size."""
    from PIL import Image, UnidentifiedImageError

    check_mask_size(where, height, width)
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(bitmap.data, validate=True), limit("image_pixels"))
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            check_mask_size(where, image.height, image.width)
            is_opaque = image.mode in ("RGBA", "P")  # the mask is where the image is not transparent
            small = np.asarray(image.convert("RGBA"))[..., 3] if is_opaque else np.asarray(image.convert("L"))
    except (binascii.Error, zlib.error, ValueError, OSError, UnidentifiedImageError) as error:
        raise ReadError(where, expected="a PNG in zlib and base64", found=excerpt(str(error))) from None
    left, top = bitmap.origin
    if left < 0 or top < 0 or left + small.shape[1] > width or top + small.shape[0] > height:
        found = f"{small.shape[1]} x {small.shape[0]} pixels at {left}, {top}"
        raise ReadError(where, expected=f"a bitmap inside {width} x {height} pixels", found=found)
    pixels = np.zeros((height, width), dtype=np.uint8)
    pixels[top : top + small.shape[0], left : left + small.shape[1]] = small > 0
    segments = split(pixels)
    if 1 not in segments.values:
        raise ReadError(where, expected="a bitmap with pixels", found="an empty one")
    return segments.take(segments.values == 1).counts


FORMAT = Format(
    name="supervisely",
    title="Supervisely JSON",
    about="one JSON file per image: rectangles, polygons, bitmaps (by its documentation)",
    recognise=recognise,
    read=read,
    options=FRAMES | {"split"},
    suffixes=(".json",),
)
