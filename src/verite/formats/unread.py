"""What is recognised but not read: named, with a way out, instead of called unknown."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from verite.formats.format import PathProbe

EXPORT = "export it as COCO JSON with the tool it comes from"


@dataclass(frozen=True)
class Unread:
    """A format that is known by sight only."""

    title: str
    recognise: Callable[[PathProbe], bool]
    remedy: str = EXPORT


def begins(*starts: str) -> Callable[[PathProbe], bool]:
    return lambda look: look.head.startswith(starts)


def has_keys(*keys: str) -> Callable[[PathProbe], bool]:
    """A JSON document with all of these keys near its beginning."""
    return lambda look: look.head.lstrip()[:1] in ("{", "[") and all(f'"{key}"' in look.head for key in keys)


def has_suffix(*suffixes: str) -> Callable[[PathProbe], bool]:
    return lambda look: any(
        re.search(rf"\.({'|'.join(suffixes)})(-\d+-of-\d+)?$", p.name.lower()) for p in look.files[:50]
    )


def is_utf16(look: PathProbe) -> bool:
    """Letters with an empty byte each, as some programs on Windows save texts; a mark of two bytes may go before."""
    start = look.head.lstrip("\ufffd\x00")[:40]
    return len(start) > 3 and start[1::2].count("\x00") == len(start) // 2


def is_web_page(look: PathProbe) -> bool:
    return look.head.lstrip()[:15].lower().startswith(("<!doctype html", "<html"))


VOLUMES = "verite localize compares volumes, two files or two folders of them"

# First what can be told for certain.
UNREAD = (
    Unread("UTF-16 text", is_utf16, "save it as UTF-8"),
    Unread("a web page", is_web_page, "open it: did a download end in a message?"),
    Unread("a pointer of Git LFS", begins("version https://git-lfs."), "get the file itself: git lfs pull"),
    Unread("Python's notation", begins("[{'", "{'"), "write JSON: json.dump, not str"),
    Unread("a spreadsheet", has_suffix("xlsx", "xls", "ods"), "save it as CSV"),
    Unread("a zip file of another name", begins("PK\x03\x04"), "let its name end in .zip"),
    Unread("a gzip file of another name", begins("\x1f\ufffd\x08"), "let its name end in .gz"),
    Unread("TFRecord", has_suffix("tfrecord", "tfrecords", "record"), "write the examples as COCO JSON first"),
    Unread("a NIfTI volume", has_suffix("nii", r"nii\.gz"), VOLUMES),
    Unread(
        "a NumPy array file",
        begins("\ufffdNUMPY"),
        f"{VOLUMES}; load anything else, and hand it to verite.read",
    ),
    Unread("HDF5", begins("\ufffdHDF"), "load it, and hand its columns to verite.read"),
    Unread("a MATLAB file", begins("MATLAB 5.0 MAT-file"), "load it, and hand its columns to verite.read"),
    Unread(
        "a pickle", has_suffix("pkl", "pickle", "pth", "pt"), "load it where it is trusted, and hand it to verite.read"
    ),
    Unread("VoTT JSON", has_keys("assets", "tags")),
    Unread("a VoTT asset", has_keys("asset", "regions")),
    Unread("Supervisely JSON", has_keys("objects", "classTitle")),
    Unread("Cityscapes polygons", has_keys("imgHeight", "imgWidth", "objects")),
    Unread("BDD100K JSON", has_keys("labels", "box2d")),
    Unread("CreateML JSON", has_keys("annotations", "coordinates")),
    Unread("a SageMaker manifest", has_keys("source-ref")),
    Unread("Labelbox JSON", has_keys("data_row")),
    Unread("a picture", begins("\ufffdPNG", "\ufffd\ufffd\ufffd\ufffd\x00\x10JFIF", "GIF8"), "name its annotations"),
)


def name_unread(look: PathProbe) -> Unread | None:
    """What a path is, if it is one of these."""
    return next((format for format in UNREAD if format.recognise(look)), None)
