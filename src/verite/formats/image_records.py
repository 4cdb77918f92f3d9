"""What else does a COCO file say about its images? Keys of its own, such as a place or a camera, by the image's id."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from verite.files import PACKED, read_text
from verite.formats.shards import find_shards, is_many
from verite.model.annotations import Source

FORMATS = ("coco", "coco-folder", "coco-rotated", "lvis")


def read_image_records(source: Source) -> dict[Any, dict[str, Any]]:
    """The records of the images by id; nothing where annotations are from no such file."""
    if source.format not in FORMATS:
        return {}
    return {
        record["id"]: record
        for path in find_files(source.path)
        for text in texts_of(path)
        for record in json.loads(text).get("images", [])
    }


def find_files(path: str) -> list[Path]:
    """The files that were read: shards, those of a folder, or the one."""
    if is_many(path):
        return find_shards(path)
    place = Path(path)
    return sorted(p for p in place.rglob("*.json*") if p.is_file()) if place.is_dir() else [place]


def texts_of(path: Path) -> Iterator[str]:
    """The documents of a file, packed or not."""
    from verite.formats.packages import new_folder, unpack

    if not path.is_file():
        return
    if path.suffix.lower() not in PACKED:
        yield read_text(path)
        return
    with new_folder() as folder:
        for inside in find_files(str(unpack(path, folder).place)):
            yield read_text(inside)
