"""COCO files through the native reader: columns straight from the file, and what is wrong with it in our words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from verite import _core
from verite.errors import ReadError, excerpt
from verite.files import check_file
from verite.formats.sizes import check_size
from verite.limits import limit
from verite.model.complaints import in_our_words
from verite.threads import thread_count

Fault = tuple[str, str, int, str, int]  # code, section, record, field, another record
TABLES = {"image_id": "images", "category_id": "categories"}


def open_coco(path: Path) -> _core.CocoFile:
    """The file as columns; every way of not being a COCO file in a line with its place."""
    check_file(path)
    with in_our_words(path):
        return _core.read_coco(path, thread_count(), limit("json_depth"))


def refuse_faults(path: Path, file: _core.CocoFile, faults: Sequence[Fault]) -> None:
    """The first thing that cannot be, as a line with its place."""
    if faults:
        raise explain_fault(path, file, faults[0])


def explain_fault(
    path: Path, file: _core.CocoFile, fault: Fault, number: Callable[[str, int], int] = lambda section, record: record
) -> ReadError:
    """What cannot be, with its place; `number` says which record of the file one is."""
    code, section, record, field, other = fault
    place = f"{path}: {section}[{number(section, record)}]"
    match code:
        case "repeated_id":
            places = " and ".join(f"{section}[{number(section, i)}]" for i in (other, record))
            twice = f"{file.id_of(section, field, record)!r} in {places}"
            return ReadError(
                path, expected=f"each id once in {section}", found=twice, remedy="give each its own (V218)"
            )
        case "size":
            try:
                check_size(place, *file.image_size(record))
            except ReadError as error:
                return error
        case "no_region":
            return ReadError(place, expected="a bbox or a segmentation", found="neither")
        case "mixed_ids":
            mine, theirs = file.id_of(section, field, record), file.id_of("images", "id", 0)
            hint = f"ids are text in one place and numbers in the other (V212), images[0] has {theirs!r}"
            return ReadError(f"{place}.{field}", expected="an id out of images", found=excerpt(mine), remedy=hint)
    found = excerpt(file.id_of(section, field, record))
    return ReadError(f"{place}.{field}", expected=f"an id out of {TABLES[field]}", found=found)


def region_limits() -> tuple[int, int, int, int]:
    """The largest side, number of pixels, number of points and coordinate."""
    names = ("image_side", "image_pixels", "polygon_points", "coordinate")
    side, pixels, points, coordinate = (min(limit(name), 2**53) for name in names)
    return side, pixels, points, coordinate
