"""Files in, files out: look at a path, pick its format, and say why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from verite.errors import BadParameter, ReadError, did_you_mean
from verite.files import find_path, reason
from verite.loading import importing

if TYPE_CHECKING:
    from verite.formats.format import Format, Look, Options
    from verite.model.annotations import Annotations

# In the order in which they are asked: the most particular first.
MODULES = (
    "panoptic",
    "lvis",
    "coco",
    "coco_results",
    "labelme",
    "cvat",
    "voc",
    "imagenet_loc",
    "openimages_predictions",
    "openimages_labels",
    "openimages",
    "yolo",
    "text",
)


def format_named(name: str) -> Format:
    """The format of this name.

    >>> format_named("voc").title
    'Pascal VOC XML'
    """
    module = name.replace("-", "_")
    if module not in MODULES:
        known = [m.replace("_", "-") for m in MODULES]
        raise BadParameter(f"format: expected one of {', '.join(known)}, found {name!r}{did_you_mean(name, known)}")
    found: Format = import_module(f"verite.formats.{module}").FORMAT
    return found


def recognise(path: Path) -> tuple[Format, str]:
    """The format of a path, and why it is thought to be that."""
    from verite.formats.format import Look

    look = Look(path)
    if look.is_folder and not look.files:
        raise ReadError(path, expected="annotation files", found="an empty folder")
    if not look.is_folder and path.stat().st_size == 0:
        raise ReadError(path, expected="annotations", found="an empty file")
    for module in MODULES:
        format = format_named(module)
        why = format.recognise(look)
        if why:
            return format, why
    remedy = "name it with --format: " + ", ".join(m.replace("_", "-") for m in MODULES)
    if look.is_folder and len(look.files) == 1:
        remedy = f"name the file itself: {look.files[0]}"
    raise ReadError(path, expected="annotations in a format known to verite", found=kind_of(look), remedy=remedy)


def kind_of(look: Look) -> str:
    """What a path that nobody recognises looks like."""
    if look.is_folder:
        kinds = sorted({p.suffix or p.name for p in look.files[:1000]})
        return f"files ending in {', '.join(kinds[:5])}"
    start = look.head[:30]
    return "bytes that are no UTF-8 text" if "\ufffd" in start else f"text that begins with {start!r}"


def read(
    path: str | PathLike[str],
    like: Annotations | None = None,
    format: str | None = None,
    *,
    boxes: str | None = None,
    coords: str | None = None,
    image_size: tuple[int, int] | None = None,
    images: str | PathLike[str] | None = None,
    names: str | PathLike[str] | Sequence[str] | None = None,
    label_offset: int = 0,
    image_offset: int = 0,
) -> Annotations:
    """Read annotations of any known format.

    Predictions are read with ``like=truth``: they take over the truth's images and labels, found by name or id.
    What the file was taken for, and why, is in ``.source``. Whatever a file does not say, or says wrongly, can be
    said here: what the four numbers of a box are (``boxes="xyxy"``), in what they are measured (``coords="rel"``),
    the size of the images or the folder they are in, the names of the classes, numbers to add to ids.

    >>> truth = read("truth.json")                                   # doctest: +SKIP
    >>> pred = read("detections.json", like=truth, boxes="xyxy")     # doctest: +SKIP
    """
    place = find_path(path)
    with importing():
        from verite.formats.format import Options

    options = Options(
        boxes=boxes,
        coords=coords,
        image_size=image_size,
        images=find_path(images) if images is not None else None,
        names=find_path(names) if isinstance(names, (str, PathLike)) else names,
        label_offset=label_offset,
        image_offset=image_offset,
        like=like,
    )
    annotations = read_as(place, format, options)
    return annotations if like is None else annotations.like(like)


def read_as(path: Path, format: str | None, options: Options) -> Annotations:
    """A path in this format, or in the one it looks like."""
    if not path.is_dir() and not path.is_file():
        raise ReadError(path, expected="a file or folder", found="a device or pipe", remedy="save it to a file first")
    try:
        chosen, why = (format_named(format), "named by the user") if format is not None else recognise(path)
        annotations = chosen.read(path, options)
    except OSError as error:
        raise ReadError(error.filename or path, expected="something readable", found=reason(error)) from None
    if options.label_offset:
        check_offset("label offset", options.label_offset, annotations.labels.ids is not None, chosen)
    if options.image_offset:
        check_offset("image offset", options.image_offset, annotations.images.ids is not None, chosen)
    why = "; ".join(w for w in (why, annotations.source.why) if w)
    return annotations.said_to_be(replace(annotations.source, why=why))


def check_offset(what: str, offset: int, has_ids: bool, format: Format) -> None:
    """A number to add needs something to be added to."""
    if not has_ids:
        raise BadParameter(f"{what}: expected ids to add {offset} to, found only names, as {format.title} has no ids")


def write(annotations: Annotations, path: str | PathLike[str], format: str) -> tuple[str, ...]:
    """Write annotations whole or not at all; returns the facts that the format cannot hold, in words.

    >>> write(truth, "truth-voc", "voc")    # doctest: +SKIP
    ()
    """
    from verite.formats.facts import facts_of

    chosen = format_named(format)
    if chosen.write is None:
        raise BadParameter(f"format: {chosen.title} can be read, not written")
    try:
        chosen.write(annotations, Path(path))
    except OSError as error:
        raise ReadError(path, expected="a place to write", found=reason(error)) from None
    return tuple(sorted(facts_of(annotations) - chosen.holds))
