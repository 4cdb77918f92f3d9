"""VGG Image Annotator (VIA 2): a JSON project or export, or its CSV; one file for all images.

Rectangles, polygons, circles and ellipses are read, the round ones as polygons of 64 corners; points and lines are
skipped and counted. VIA has no field for the class: it is the region attribute that all regions have, or the first of
the usual names (`label`, `class`, `name`, `type`, `category`). Without any attribute all regions are of one class.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from verite.errors import UNLABELLED, ReadError, excerpt
from verite.files import JsonObject
from verite.formats.format import FRAMES, Format, Options, PathProbe, check_ends
from verite.formats.json_documents import ANYWHERE, check_finite, decode, decode_bytes, write_json
from verite.formats.polygons import bounds_of_rings, check_ring
from verite.formats.rows import Rows
from verite.formats.sizes import check_order, need_pixels
from verite.formats.table_files import header_columns, read_csv_table
from verite.formats.tables import ONE_CLASS
from verite.formats.text_lines import is_plain_number
from verite.model.annotations import Annotations
from verite.model.regions import POLYGON

CORNERS = 64
USUAL = ("label", "class", "name", "type", "category")
COLUMNS = ("filename", "file_size", "region_id", "region_shape_attributes", "region_attributes")
ATTRIBUTE = "label"  # what we call the class when we write


class Region(msgspec.Struct):
    shape_attributes: dict[str, Any]
    region_attributes: dict[str, Any] = {}


class ViaImage(msgspec.Struct):
    filename: str
    regions: list[Region] | dict[str, Region] = []


class Project(msgspec.Struct):
    pictures: dict[str, ViaImage] = msgspec.field(name="_via_img_metadata")


Placed = tuple[str, str, Region]  # where it stands, its image, and the region


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is a VIA project, export or CSV."""
    if len(header_columns(probe, COLUMNS)) == len(COLUMNS):
        return f"a CSV file with {COLUMNS[3]}"
    start = "" if probe.is_folder else probe.head.lstrip()
    if start.startswith("{") and '"_via_img_metadata"' in start:
        return "a JSON object with _via_img_metadata"
    if start.startswith("{") and '"filename"' in start and '"regions"' in start:
        return "a JSON object of images with filename and regions"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Read the regions of all images."""
    rows = Rows(path, options)
    is_table = not path.is_dir() and not PathProbe(path).head.lstrip().startswith("{")
    regions = list(table_regions(path, rows) if is_table or path.is_dir() else document_regions(path, rows))
    shapes = [region for _, _, region in regions if kind_of(region) in READERS]
    has_classes = any(region.region_attributes for region in shapes)
    attribute = class_attribute(path, shapes) if has_classes else ""
    only = options.class_name or ONE_CLASS
    if shapes and not has_classes:
        rows.notes.append(
            f"no attributes: all regions are {excerpt(only)}; {options.spell('class_name', 'NAME')} renames"
        )
    for where, image, region in regions:
        kind = kind_of(region)
        if kind not in READERS:
            rows.remark(f"shapes of type {excerpt(kind)} left out")
            continue
        label, value = only, region.region_attributes.get(attribute, "")
        if has_classes and isinstance(value, dict):  # checkboxes: those that are ticked
            label = " ".join(key for key, is_ticked in value.items() if is_ticked is True)
        elif has_classes:
            label = value.strip() if isinstance(value, str) else str(value)
        if not label:
            rows.errors.add(UNLABELLED, f"no {attribute} to say their class", where, "")
            continue
        with rows.errors:
            ring = READERS[kind](region.shape_attributes, where)
            rows.add(where, image, label, bounds_of_rings([ring]), polygon=None if kind == "rect" else [ring])
    return rows.annotations("via", layout="xyxy", why=f"class from the attribute {attribute!r}" if attribute else "")


def document_regions(path: Path, rows: Rows) -> Iterable[Placed]:
    """Return the regions of a project, or of an export, which is the project's table of images."""
    is_project = '"_via_img_metadata"' in PathProbe(path).head
    pictures = decode(path, Project).pictures if is_project else decode(path, dict[str, ViaImage])
    for key, picture in pictures.items():
        rows.add_image(f"{path}: {key}", picture.filename)
        regions = picture.regions.values() if isinstance(picture.regions, dict) else picture.regions
        for i, region in enumerate(regions):
            yield f"{path}: {key}.regions[{i}]", picture.filename, region


def table_regions(path: Path, rows: Rows) -> Iterable[Placed]:
    for where, line in read_csv_table(path, COLUMNS, COLUMNS).records(rows.errors):
        with rows.errors:
            rows.remember_image(where, line["filename"])
            cells: list[JsonObject] = []
            for name in COLUMNS[3:]:
                try:
                    text = line[name]
                    cell = decode_bytes(Path(where), (text or "{}").encode("utf-8", "replace"), nan_in=ANYWHERE)
                except ReadError:
                    cell = None
                if not isinstance(cell, dict):
                    raise ReadError(where, expected=f"a JSON object in {name}", found=excerpt(text))
                cells.append(cell)
            shape, attributes = cells
            if shape:
                yield where, line["filename"], Region(shape, attributes)


def kind_of(region: Region) -> str:
    return str(region.shape_attributes.get("name", ""))


def class_attribute(path: Path, regions: list[Region]) -> str:
    """The region attribute that is the class."""
    counts = Counter(key for region in regions for key in region.region_attributes)
    if not regions:
        return ""
    everywhere = [key for key, count in counts.items() if count == len(regions)]
    usual = [key for name in USUAL for key in counts if key.casefold() == name]
    chosen = everywhere if len(everywhere) == 1 else usual[:1]
    if not chosen:
        found = ", ".join(sorted(counts)) or "none"
        expected = f"one region attribute that all shapes have, or {', '.join(USUAL[:-1])} or {USUAL[-1]}"
        raise ReadError(path, expected=expected, found=excerpt(found))
    return chosen[0]


def numbers_of(shape: JsonObject, keys: tuple[str, ...], where: str) -> list[float]:
    for key in keys:
        if not is_plain_number(shape.get(key)):
            found = "none" if key not in shape else excerpt(str(shape[key]))
            raise ReadError(f"{where}.shape_attributes", expected=f"a number {key!r}", found=found)
    return [float(shape[key]) for key in keys]


def rect_ring(shape: JsonObject, where: str) -> list[float]:
    x, y, width, height = numbers_of(shape, ("x", "y", "width", "height"), where)
    return [x, y, x + width, y, x + width, y + height, x, y + height]


def polygon_ring(shape: JsonObject, where: str) -> list[float]:
    sides = [shape.get(f"all_points_{side}") for side in "xy"]
    if not all(isinstance(side, list) for side in sides) or len(sides[0]) != len(sides[1]):  # type: ignore[arg-type]
        expected = "lists all_points_x and all_points_y of one length"
        raise ReadError(f"{where}.shape_attributes", expected=expected, found="others")
    points = [v for point in zip(*sides, strict=True) for v in point]
    if not all(isinstance(v, (int, float)) for v in points):
        raise ReadError(
            f"{where}.shape_attributes", expected="numbers in all_points_x and all_points_y", found="others"
        )
    return list(check_ring(where, [float(v) for v in points]))


def circle_ring(shape: JsonObject, where: str) -> list[float]:
    x, y, radius = numbers_of(shape, ("cx", "cy", "r"), where)
    return round_ring(x, y, radius, radius, 0.0, where)


def ellipse_ring(shape: JsonObject, where: str) -> list[float]:
    x, y, first, second = numbers_of(shape, ("cx", "cy", "rx", "ry"), where)
    angle = numbers_of(shape, ("theta",), where)[0] if "theta" in shape else 0.0
    return round_ring(x, y, first, second, angle, where)


def round_ring(x: float, y: float, first: float, second: float, angle: float, where: str) -> list[float]:
    """An ellipse of these half axes, turned by an angle, as a polygon.

    Parameters
    ----------
    x
        Centre.
    y
        Centre.
    first
        Half axis along x before the turn.
    second
        Half axis along y before the turn.
    angle
        In radians.
    where
        The region, for messages.

    Returns
    -------
    list[float]
        Coordinates x1, y1, x2, y2, … of a polygon of `CORNERS` corners.
    """
    cos, sin = math.cos(angle), math.sin(angle)
    turns = [2 * math.pi * k / CORNERS for k in range(CORNERS)]
    around = [(first * math.cos(turn), second * math.sin(turn)) for turn in turns]
    return list(check_ring(where, [v for dx, dy in around for v in (x + dx * cos - dy * sin, y + dx * sin + dy * cos)]))


READERS = {"rect": rect_ring, "polygon": polygon_ring, "circle": circle_ring, "ellipse": ellipse_ring}


def write(annotations: Annotations, path: Path) -> None:
    """A project that VIA opens, its classes in the attribute `label`."""
    need_pixels(annotations, path)
    check_finite(path, "boxes", annotations.regions.values)
    check_order(annotations, path)
    check_ends(path, annotations.labels.all_names, "class names")
    images = annotations.images
    regions: list[list[JsonObject]] = [[] for _ in range(len(images))]
    for row, image in enumerate(annotations.image.tolist()):
        name = annotations.labels.name(int(annotations.label[row]))
        regions[image].append({"shape_attributes": shape_of(annotations, row), "region_attributes": {ATTRIBUTE: name}})
    pictures = {
        f"{images.name(i)}-1": {"filename": images.name(i), "size": -1, "regions": found, "file_attributes": {}}
        for i, found in enumerate(regions)
    }
    options = dict.fromkeys(annotations.labels.all_names, "")
    document = {
        "_via_settings": {"project": {"name": path.stem}},
        "_via_img_metadata": pictures,
        "_via_attributes": {"region": {ATTRIBUTE: {"type": "dropdown", "options": options}}, "file": {}},
        "_via_data_format_version": "2.0.10",
        "_via_image_id_list": list(pictures),
    }
    write_json(path, document)


def shape_of(annotations: Annotations, row: int) -> JsonObject:
    """A polygon of one ring, or the box.

    Parameters
    ----------
    annotations
        What is written.
    row
        The object.

    Returns
    -------
    JsonObject
        The `shape_attributes` of a region. Polygons of several rings, which VIA cannot hold, become their box.
    """
    regions = annotations.regions
    rings = regions.polygons[row] if regions.kinds[row] == POLYGON and regions.polygons is not None else []
    if len(rings) == 1:
        return {"name": "polygon", "all_points_x": rings[0][:, 0].tolist(), "all_points_y": rings[0][:, 1].tolist()}
    x, y, width, height = regions.sizes[row].tolist()
    return {"name": "rect", "x": x, "y": y, "width": width, "height": height}


PRESERVES = frozenset(
    {
        "box apart from its mask",
        "class name",
        "empty image",
        "image folder or suffix",
        "image name",
        "polygon",
    }
)
FORMAT = Format(
    name="via",
    title="VGG Image Annotator",
    about="VIA 2 projects and exports as JSON, its CSV: rectangles, polygons, circles, ellipses",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    requires=frozenset({"boxes from left to right"}),
    options=FRAMES | {"class_name"},
    suffixes=(".json", ".csv"),
    sides=("truth",),
)
