"""Panoptic JSON with PNGs: a list of segments for each image, and a picture whose colours are their ids.

A pixel belongs to the segment red + 256 × green + 256² × blue; 0 is void. The PNGs of `X.json` are in the folder `X`
beside it, in the JSON's own folder, or where the user says. Segments are kept as masks, with a box around each.
"""

from __future__ import annotations

from pathlib import Path

from verite.formats.format import Format, Look, Options, tail_of
from verite.model.annotations import Annotations

# What the groups of classes are called that have single objects, and that have none.
THING, STUFF = "thing", "stuff"


def recognise(look: Look) -> str | None:
    if look.is_folder:
        files = look.with_suffix(".json")
        look = Look(files[0]) if len(files) == 1 else look
    start = "" if look.is_folder else look.head.lstrip()
    if start.startswith("{") and ('"segments_info"' in start or '"segments_info"' in tail_of(look.path)):
        return "a JSON object with segments_info"
    return None


def read(path: Path, options: Options) -> Annotations:
    from verite.formats.panoptic_read import read_panoptic

    return read_panoptic(path, options)


def write(annotations: Annotations, path: Path) -> None:
    from verite.formats.panoptic_write import write_panoptic

    write_panoptic(annotations, path)


HOLDS = frozenset(
    {
        "area",
        "class group",
        "class id",
        "class name",
        "class order",
        "crowd",
        "empty image",
        "image folder or suffix",
        "image id",
        "image name",
        "image size",
        "mask",
        "unused class",
    }
)
FORMAT = Format(
    name="panoptic",
    title="panoptic JSON with PNGs",
    about="JSON with a folder of PNGs; segments become masks",
    recognise=recognise,
    read=read,
    write=write,
    holds=HOLDS,
    needs=frozenset({"class id", "masks that do not overlap"}),
    honours=frozenset({"image_offset", "images", "label_offset"}),
)
