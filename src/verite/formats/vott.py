"""VoTT: an export in one JSON document, or the asset files of a project (`*-asset.json`), one per image.

Read by the tool's documentation; no file written by the tool was at hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from verite.errors import UNLABELLED, ReadError
from verite.formats.exports import Point, Sides, file_name, files_of, has_keys, ring_of
from verite.formats.format import FRAMES, Format, Options, PathProbe
from verite.formats.json_documents import decode
from verite.formats.rows import Rows
from verite.model.annotations import Annotations


class VottRegion(msgspec.Struct, rename={"box": "boundingBox"}):
    """One region; of several tags the first is its class."""

    tags: list[str]
    box: Sides
    type: str = "RECTANGLE"
    points: list[Point] = []


class AssetSize(msgspec.Struct):
    """Size of the image in pixels."""

    width: int
    height: int


class AssetFacts(msgspec.Struct):
    """Name and size of an image."""

    name: str
    size: AssetSize | None = None


class Asset(msgspec.Struct):
    """An image and its regions; a project file has the name only."""

    asset: AssetFacts | None = None
    regions: list[VottRegion] = []


class VottExport(msgspec.Struct):
    """An export: assets by their ids. In a project file (`.vott`) they are without regions."""

    assets: dict[str, Asset]


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is of VoTT: assets with regions."""
    for head in probe.documents.values():
        if has_keys(head, "asset", "regions") or has_keys(head, "assets", "tags", "visitedAssets"):
            return "JSON of assets and their regions, as VoTT writes it"
        if has_keys(head, "assets", "tags") and '"regions"' in head:
            return "a JSON export of VoTT"
    return None


def assets_in(file: Path) -> Iterator[tuple[str, Asset]]:
    """Yield place and contents of each asset of a file."""
    if not has_keys(PathProbe(file).head.lstrip(), "assets"):
        yield f"{file}: ", decode(file, Asset)
        return
    for key, asset in decode(file, VottExport).assets.items():
        if asset.asset is None:
            raise ReadError(f"{file}: assets.{key}", expected="an asset with its regions", found="its name only",
                            remedy="name VoTT's export, or the folder of its *-asset.json files")  # fmt: skip
        yield f"{file}: assets.{key}.", asset


def read(path: Path, options: Options) -> Annotations:
    """Read the regions of all assets."""
    files, why = files_of(path, options)
    rows = Rows(path, options)
    for file in files:
        for where, asset in assets_in(file):
            if asset.asset is None:
                raise ReadError(where, expected="a key 'asset'", found="none")
            size = asset.asset.size or AssetSize(0, 0)
            name = file_name(asset.asset.name)
            rows.add_image(where, name, size.width, size.height)
            for i, region in enumerate(asset.regions):
                place = f"{where}regions[{i}]"
                with rows.errors:
                    if not region.tags:
                        rows.errors.add(UNLABELLED, "no tag", place, "")
                        continue
                    rows.remark("further tags of a region left out", place, len(region.tags) - 1)
                    ring = None if region.type == "RECTANGLE" else [ring_of(place, region.points)]
                    rows.add(place, name, region.tags[0], region.box.corners, polygon=ring)
    return rows.annotations("vott", layout="xyxy", why=why)


FORMAT = Format(
    name="vott",
    title="VoTT JSON",
    about="exports and asset files: rectangles and polygons (by its documentation)",
    recognise=recognise,
    read=read,
    options=FRAMES | {"split"},
    suffixes=(".json",),
    sides=("truth",),
)
