"""Datumaro JSON: known by its map of categories, where COCO has a list; who reads it is loaded when it is one."""

from __future__ import annotations

import re
from pathlib import Path

from verite.formats.format import Format, Look, Options
from verite.model.annotations import Annotations


def recognise(look: Look) -> str | None:
    start = "" if look.is_folder else look.head.lstrip()
    if '"categories"' not in start:
        return None
    is_mapped = re.search(r'"categories"\s*:\s*\{(\s*\}|\s*"(label|mask|points|hash_key)")', start)
    return "a JSON object with a map of categories" if start.startswith("{") and is_mapped else None


def read(path: Path, options: Options) -> Annotations:
    from verite.formats.datumaro_read import read

    return read(path, options)


FORMAT = Format(
    name="datumaro",
    title="Datumaro JSON",
    about="items with boxes, polygons and masks, as Datumaro and CVAT export them",
    recognise=recognise,
    read=read,
    suffixes=(".json",),
)
