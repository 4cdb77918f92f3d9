"""Labelme JSON (one file per image, with polygons, rectangles and circles) and the XML of the older LabelMe.

Shapes of the same label and group_id are the parts of one object. A circle becomes a polygon of 64 corners. Points,
lines and masks are skipped and counted in the notes. The embedded image is not decoded. X-AnyLabeling, which writes
Labelme files, adds `difficult`, and a `score` to shapes that a model proposed and a person checked: the file is still
ground truth.

LabelMe of 2005 (MIT) wrote XML, which CVAT still exports as "LabelMe 3.0": one file per image, polygons. Deleted
objects are skipped. An object of type `bounding_box` is a box; masks (`segm`) are PNGs elsewhere and counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from verite.errors import ReadError, excerpt
from verite.files import JsonObject, folder_atomically
from verite.formats.exports import files_of
from verite.formats.format import FRAMES, Format, Options, PathProbe, file_stems, flags_by_row
from verite.formats.json_documents import check_finite, decode
from verite.formats.polygons import bounds_of_rings, check_ring
from verite.formats.rows import Rows
from verite.formats.shards import files_of_split
from verite.formats.sizes import check_order, need_pixels
from verite.formats.xml import Element, parse
from verite.model.annotations import FLAGS, Annotations
from verite.model.regions import POLYGON
from verite.progress import count_files

CIRCLE_CORNERS = 64


class Shape(msgspec.Struct):
    label: str
    points: list[tuple[float, float]]
    shape_type: str | None = "polygon"
    group_id: int | str | None = None
    flags: dict[str, Any] | None = None
    difficult: bool | None = None
    score: float | None = None


class LabelmeDocument(msgspec.Struct, rename="camel"):
    shapes: list[Shape]
    image_path: str | None = None
    image_width: int | None = None
    image_height: int | None = None


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is Labelme JSON."""
    files = probe.with_suffix(".json")
    if not files:
        return None
    start = PathProbe(files[0]).head.lstrip()
    # The embedded image may come before everything else and fill the whole beginning.
    keys = [key for key in ("shapes", "imagePath", "imageData") if f'"{key}"' in start]
    if not start.startswith("{") or not keys or '"tracks"' in start:  # CVAT's own documents have both
        return None
    return f"{'JSON files' if probe.is_folder else 'a JSON file'} with {' and '.join(keys)}"


def read(path: Path, options: Options) -> Annotations:
    """Read one JSON file per image."""
    files, why = files_of_split(path, PathProbe(path).with_suffix(".json") if path.is_dir() else [path], options)
    if not files:
        raise ReadError(path, expected="files ending in .json", found="none")
    rows = Rows(path, options)
    for file in count_files("reading", files):
        with rows.errors:
            add_file(rows, file)
    return rows.annotations("labelme", layout="xyxy", why=why)


def add_file(rows: Rows, file: Path) -> None:
    """The objects of one image."""
    document = decode(file, LabelmeDocument)
    name = document.image_path or file.stem
    rows.add_image(file, name, document.image_width or 0, document.image_height or 0)
    groups: dict[Any, Group] = {}  # the shapes by object
    for i, shape in enumerate(document.shapes):
        kind = shape.shape_type or "polygon"
        rows.remark("scores dropped, as this is ground truth", count=int(shape.score is not None))
        if kind in READERS:
            key = (shape.label, shape.group_id) if shape.group_id is not None else i
            groups.setdefault(key, []).append((i, shape))
        else:
            rows.remark(f"shapes of type {excerpt(kind)} left out")
    for group in groups.values():
        rows.remark("shapes joined to others by their group_id", count=len(group) - 1)
    for group in groups.values():
        with rows.errors:
            add_object(rows, file, name, group)


Group = list[tuple[int, Shape]]  # the shapes of an object, with their numbers in the file


def add_object(rows: Rows, file: Path, image: str, group: Group) -> None:
    rings = [READERS[shape.shape_type or "polygon"](shape.points, f"{file}: shapes[{i}]") for i, shape in group]
    i, first = group[0]
    is_box = len(group) == 1 and first.shape_type == "rectangle"
    where = f"{file}: shapes[{i}]"
    bounds = bounds_of_rings(rings)
    given = {**(first.flags or {}), **({"difficult": True} if first.difficult else {})}
    for name in FLAGS:
        if not isinstance(given.get(name, False), bool):
            raise ReadError(f"{where}.flags.{name}", expected="true or false", found=excerpt(given[name]))
    flags = [name for name in FLAGS if given.get(name)]
    rows.add(where, image, first.label, bounds, polygon=None if is_box else rings, flags=flags)


Points = list[tuple[float, float]]


def polygon_ring(points: Points, where: str) -> Sequence[float]:
    return check_ring(f"{where}.points", [v for point in points for v in point])


def rectangle_ring(points: Points, where: str) -> Sequence[float]:
    """From two opposite corners in any order; some tools write all four.

    Parameters
    ----------
    points
        Two opposite corners, or all four.
    where
        The shape, for messages.

    Returns
    -------
    Sequence[float]
        Four corners as x1, y1, … from the upper left one on.
    """
    if len(points) not in (2, 4):
        raise ReadError(f"{where}.points", expected="2 or 4 corners of a rectangle", found=str(len(points)))
    (left, top), (right, bottom) = map(min, zip(*points, strict=True)), map(max, zip(*points, strict=True))
    return check_ring(f"{where}.points", [left, top, right, top, right, bottom, left, bottom])


def circle_ring(points: Points, where: str) -> Sequence[float]:
    """From the centre and a point on the circle."""
    if len(points) != 2:
        expected = "2 points, the centre of a circle and one on it"
        raise ReadError(f"{where}.points", expected=expected, found=str(len(points)))
    (x, y), edge = points
    radius = math.dist((x, y), edge)
    angles = (2 * math.pi * k / CIRCLE_CORNERS for k in range(CIRCLE_CORNERS))
    ring = [v for angle in angles for v in (x + radius * math.cos(angle), y + radius * math.sin(angle))]
    return check_ring(f"{where}.points", ring)


READERS = {"polygon": polygon_ring, "rectangle": rectangle_ring, "circle": circle_ring}


def write(annotations: Annotations, path: Path) -> None:
    """Write one JSON file per image."""
    need_pixels(annotations, path)
    check_finite(path, "boxes", annotations.regions.values)
    check_order(annotations, path)
    images = annotations.images
    shapes: list[list[JsonObject]] = [[] for _ in range(len(images))]
    flags = flags_by_row(annotations)
    for row, image in enumerate(annotations.image):
        shapes[image] += shapes_of(annotations, row, flags[row])
    stems = file_stems(images, path)
    with folder_atomically(path) as folder:
        for i, name in count_files("writing", list(enumerate(stems))):
            document: JsonObject = {
                "version": "5.0.1",
                "flags": {},
                "shapes": shapes[i],
                "imagePath": images.name(i),
                "imageData": None,
                "imageHeight": int(images.heights[i]) or None,
                "imageWidth": int(images.widths[i]) or None,
            }
            (folder / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(document)) + b"\n")


def shapes_of(annotations: Annotations, row: int, flags: list[str]) -> list[JsonObject]:
    """A rectangle, or a polygon for each ring, held together by a group_id."""
    regions = annotations.regions
    rings = regions.polygons[row] if regions.kinds[row] == POLYGON and regions.polygons is not None else []
    shape: JsonObject = {
        "label": annotations.labels.name(int(annotations.label[row])),
        "points": regions.boxes[row].reshape(2, 2).tolist(),
        "group_id": row if len(rings) > 1 else None,
        "shape_type": "polygon" if rings else "rectangle",
        "flags": dict.fromkeys(flags, True),
    }
    return [{**shape, "points": ring.tolist()} for ring in rings] or [shape]


PRESERVES = frozenset(
    {
        "box apart from its mask",
        "class name",
        "empty image",
        "image folder or suffix",
        "image name",
        "image size",
        "polygon",
        "polygon of several rings",
        *FLAGS,
    }
)
FORMAT = Format(
    name="labelme",
    title="Labelme JSON",
    about="one JSON file per image: polygons, rectangles, circles",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    requires=frozenset({"boxes from left to right"}),
    options=FRAMES | {"split"},
    sides=("truth",),
)


def recognise_xml(probe: PathProbe) -> str | None:
    """Return why a path is LabelMe XML: objects with `<polygon><pt>` or `<deleted>`."""
    files = probe.with_suffix(".xml")
    head = PathProbe(files[0]).head if files else ""
    if "<annotation" not in head or "<object>" not in head.replace("<object ", "<object>"):
        return None
    is_old = "<deleted>" in head or ("<polygon>" in head and "<pt>" in head)
    return "XML with polygons of <pt>, as the LabelMe of MIT writes it" if is_old else None


def read_xml(path: Path, options: Options) -> Annotations:
    """Read one file per image."""
    files, why = files_of(path, options, ".xml")
    rows = Rows(path, options)
    for file in files:
        with rows.errors:
            root = parse(file)
            name = root.word("filename") or file.stem
            size = root.find("imagesize")
            sides = (int(size.number("ncols")), int(size.number("nrows"))) if size is not None else (0, 0)
            rows.add_image(file, name, *sides)
            for one in root.all("object"):
                with rows.errors:
                    add_xml_object(rows, name, one)
    return rows.annotations("labelme-xml", layout="xyxy", why=why)


def add_xml_object(rows: Rows, image: str, one: Element) -> None:
    """Add one object that is not deleted."""
    if one.word("deleted") == "1":
        rows.remark("deleted objects left out", one.where)
        return
    outline = one.find("polygon")
    if outline is None:
        rows.remark("objects without a polygon left out", one.where)
        return
    if not one.word("name"):
        raise ReadError(one.where, expected="a name of the object", found="none")
    points = [(pt.number("x"), pt.number("y")) for pt in outline.all("pt")]
    flags = ["occluded"] if one.word("occluded") == "yes" else []
    if one.word("type") == "bounding_box" and len(points) in (2, 4):
        box = [*(min(side) for side in zip(*points, strict=True)), *(max(side) for side in zip(*points, strict=True))]
        rows.add(one.where, image, one.word("name"), box, flags=flags)
        return
    ring = list(check_ring(one.where, [value for point in points for value in point]))
    rows.add(one.where, image, one.word("name"), bounds_of_rings([ring]), polygon=[ring], flags=flags)


LABELME_XML = Format(
    name="labelme-xml",
    title="LabelMe XML",
    about="the XML of MIT's LabelMe, and of CVAT's export of that name: polygons and boxes",
    recognise=recognise_xml,
    read=read_xml,
    options=FRAMES | {"split"},
    sides=("truth",),
)
