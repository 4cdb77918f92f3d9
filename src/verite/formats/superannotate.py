"""SuperAnnotate: vector projects, one JSON file per image, with boxes, rotated boxes, polygons and ellipses.

The masks of pixel projects are in PNGs beside the JSON, which the SDK exports as COCO.
"""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from verite.errors import ReadError, excerpt
from verite.formats.exports import ellipse_ring, files_of, has_keys
from verite.formats.format import FRAMES, Format, Options, PathProbe
from verite.formats.json_documents import decode
from verite.formats.polygons import bounds_of_rings, check_ring
from verite.formats.rows import Rows
from verite.model.annotations import Annotations

CORNER_KEYS = ("x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4")


class Instance(msgspec.Struct, rename={"label": "className"}):
    """One object; `type` determines the meaning of its points."""

    label: str = ""
    type: str = ""
    points: dict[str, float] | list[float | dict[str, object]] | None = None
    exclude: list[list[float]] = []
    parts: list[dict[str, object]] | None = None
    cx: float | None = None
    cy: float | None = None
    rx: float | None = None
    ry: float | None = None
    angle: float = 0.0


class ImageFacts(msgspec.Struct):
    """Name and size of the image."""

    name: str = ""
    width: int | None = None
    height: int | None = None


class SuperAnnotateDocument(msgspec.Struct):
    """One file: an image and its objects."""

    metadata: ImageFacts
    instances: list[Instance] = []


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is of SuperAnnotate: `metadata` and `instances` with class names."""
    is_one = any(has_keys(head, "metadata", "instances", "className") for head in probe.documents.values())
    return "JSON with metadata and instances, as SuperAnnotate writes it" if is_one else None


def read(path: Path, options: Options) -> Annotations:
    """Read one file per image; folders of classes and hidden files are passed over."""
    files, why = files_of(path, options)
    files = [file for file in files if file == path or file.name not in ("classes.json", "config.json")]
    rows = Rows(path, options)
    for file in files:
        with rows.errors:
            document = decode(file, SuperAnnotateDocument)
            facts = document.metadata
            rows.add_image(file, facts.name or file.stem, facts.width or 0, facts.height or 0)
            for i, instance in enumerate(document.instances):
                with rows.errors:
                    add_instance(rows, f"{file}: instances[{i}]", facts.name or file.stem, instance)
    return rows.annotations("superannotate", layout="xyxy", why=why)


def add_instance(rows: Rows, where: str, image: str, one: Instance) -> None:
    """Add one object; points, lines and templates have no area and are counted."""
    if one.parts is not None and not one.type:
        raise ReadError(where, expected="an object with points", found="a mask in a PNG, as in pixel projects",
                        remedy="export the project as COCO: superannotate.export_annotation(…, 'COCO')")  # fmt: skip
    if one.type == "bbox" and isinstance(one.points, dict):
        left, top, right, bottom = corners(where, one.points, CORNER_KEYS[:4])
        box = (min(left, right), min(top, bottom), max(left, right), max(top, bottom))
        rows.add(where, image, one.label, box)
        return
    if one.type == "rbbox" and isinstance(one.points, dict):
        rings = [list(check_ring(where, corners(where, one.points, CORNER_KEYS)))]
    elif one.type == "polygon" and isinstance(one.points, list):
        numbers = [value for value in one.points if isinstance(value, (int, float))]
        rings = [list(check_ring(where, numbers)), *(list(check_ring(where, ring)) for ring in one.exclude)]
    elif one.type == "ellipse" and None not in (one.cx, one.cy, one.rx, one.ry):
        x, y, rx, ry = (float(value or 0) for value in (one.cx, one.cy, one.rx, one.ry))
        rings = [ellipse_ring(where, x, y, (rx, ry), math.radians(one.angle))]
    else:
        rows.remark(f"objects of type {excerpt(one.type or 'unknown')} left out", where)
        return
    rows.add(where, image, one.label, bounds_of_rings(rings[:1]), polygon=rings)


def corners(where: str, points: dict[str, float], keys: tuple[str, ...]) -> list[float]:
    """Return these coordinates, or raise `ReadError` for a missing one.

    Parameters
    ----------
    where
        The object, for messages.
    points
        Coordinates by key.
    keys
        The keys that the type of object has, such as x1, y1, x2, y2.
    """
    missing = next((key for key in keys if key not in points), None)
    if missing is not None:
        raise ReadError(f"{where}.points", expected=f"a number {missing!r}", found=", ".join(points) or "none")
    return [points[key] for key in keys]


FORMAT = Format(
    name="superannotate",
    title="SuperAnnotate JSON",
    about="vector projects, one JSON file per image: boxes, rotated boxes, polygons, ellipses",
    recognise=recognise,
    read=read,
    options=FRAMES | {"split"},
    suffixes=(".json",),
    sides=("truth",),
)
