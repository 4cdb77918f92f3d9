"""Kili: raw exports, with the latest label of each image; boxes and polygons in fractions of the image.

Read by the platform's documentation; no file written by the platform was at hand.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from verite.formats.exports import Point, file_name, files_of, has_keys, records_in, ring_of
from verite.formats.format import FRAMES, Format, Options, PathProbe
from verite.formats.polygons import bounds_of_rings
from verite.formats.rows import Rows
from verite.model.annotations import Annotations


class NormalizedPolygon(msgspec.Struct, rename={"vertices": "normalizedVertices"}):
    """Corners in fractions of the image."""

    vertices: list[Point] = []


class Category(msgspec.Struct):
    """The class of an object."""

    name: str


class KiliObject(msgspec.Struct, rename={"outlines": "boundingPoly"}):
    """One object; the first outline is its border, others are holes."""

    categories: list[Category] = []
    outlines: list[NormalizedPolygon] = []
    type: str = ""


class Job(msgspec.Struct):
    """The objects of one job of the project."""

    annotations: list[KiliObject] = []


class KiliLabel(msgspec.Struct, rename={"jobs": "jsonResponse", "kind": "labelType"}):
    """The annotations of one annotator."""

    jobs: dict[str, Job] = {}
    kind: str = "DEFAULT"


class Resolution(msgspec.Struct):
    """Size of the image in pixels."""

    width: int
    height: int


class KiliAsset(msgspec.Struct, rename={"name": "externalId", "latest": "latestLabel"}):
    """An image and its labels."""

    name: str
    latest: KiliLabel | None = None
    labels: list[KiliLabel] = []
    resolution: Resolution | None = None


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is of Kili: assets with `externalId` and `jsonResponse`."""
    is_one = any(has_keys(head, "externalId", "jsonResponse") for head in probe.documents.values())
    return "JSON with externalId and jsonResponse, as Kili exports it" if is_one else None


def read(path: Path, options: Options) -> Annotations:
    """Read the latest label of every image: that of a review before that of an annotator."""
    files, why = files_of(path, options)
    rows = Rows(path, options)
    for file in files:
        for where, asset in records_in(file, KiliAsset):
            with rows.errors:
                size = asset.resolution or Resolution(0, 0)
                name = file_name(asset.name)
                rows.add_image(where, name, size.width, size.height)
                drawn = [label for label in asset.labels if label.kind in ("DEFAULT", "REVIEW")]
                reviewed = [label for label in drawn if label.kind == "REVIEW"]
                label = asset.latest or next(iter([*reviewed[-1:], *drawn[-1:]]), KiliLabel())
                rows.remark("further labels of an image left out", where, max(0, len(drawn) - 1))
                for job, found in label.jobs.items():
                    for i, one in enumerate(found.annotations):
                        add_object(rows, f"{where}.{job}.annotations[{i}]", name, one)
    return rows.annotations("kili", layout="xyxy", coords="rel", why=why)


def add_object(rows: Rows, where: str, image: str, one: KiliObject) -> None:
    """Add a rectangle or polygon; other types have no area and are counted.

    Parameters
    ----------
    rows
        Collects images and objects.
    where
        The record, for messages.
    image
        Name of the image.
    one
        The annotation, with its outlines in fractions of the image.
    """
    if one.type not in ("rectangle", "polygon", "semantic") or not one.outlines or not one.categories:
        rows.remark(f"objects of type {one.type or 'unknown'} left out", where)
        return
    rings = [ring_of(where, outline.vertices) for outline in one.outlines]
    polygon = None if one.type == "rectangle" else rings
    rows.add(where, image, one.categories[0].name, bounds_of_rings(rings[:1]), polygon=polygon)


FORMAT = Format(
    name="kili",
    title="Kili JSON",
    about="raw exports: boxes and polygons in fractions (by its documentation)",
    recognise=recognise,
    read=read,
    options=FRAMES | {"split"},
    suffixes=(".json",),
    sides=("truth",),
)
