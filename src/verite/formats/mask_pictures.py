"""Pictures of masks: PNG or TIFF, one or a folder of them, whose pixels say which object or class they belong to."""

from __future__ import annotations

from pathlib import Path

from verite.formats.format import Format, Look, Options
from verite.formats.picture_names import SUFFIXES
from verite.model.annotations import Annotations

STARTS = ("\ufffdPNG", "II*\x00", "MM\x00*", "BM", "GIF8", "P1", "P2", "P4", "P5", "P6", "\ufffd\ufffd\ufffd", "RIFF")
LOOKED_AT = 20


def recognise(look: Look) -> str | None:
    pictures = [p for p in look.files if p.suffix.lower() in SUFFIXES]
    if look.is_folder:
        if not pictures or len(pictures) < len(look.files):
            return None
        return "a folder of pictures alone" if any(map(is_mask, pictures[:LOOKED_AT])) else None
    if not pictures or not look.head.startswith(STARTS):
        return None
    return "a picture" if is_mask(look.path, is_broken=True) else None


def is_mask(path: Path, *, is_broken: bool = False) -> bool:
    """May a picture be one of masks? Not in colour in a format for photos; `is_broken` is said of broken ones."""
    from verite.errors import ReadError
    from verite.formats.sizes import picture

    try:
        with picture(path) as image:
            return image.format not in ("JPEG", "WEBP") or image.mode in ("L", "1")
    except ReadError:
        return is_broken  # the reader tells what is wrong with it


def read(path: Path, options: Options) -> Annotations:
    from verite.formats.mask_reading import read_masks

    return read_masks(path, options)


def write(annotations: Annotations, path: Path) -> None:
    from verite.formats.mask_writing import write_objects

    write_objects(annotations, path)


FORMAT = Format(
    name="mask-pictures",
    title="pictures of masks",
    about="PNG or TIFF: black and white, contours, an object a picture, label images; written as label images",
    recognise=recognise,
    read=read,
    write=write,
    holds=frozenset({"empty image", "image size", "mask"}),
    needs=frozenset({"image size", "masks that do not overlap", "no confidence"}),
    honours=frozenset({"mask_threshold", "masks", "names"}),
)
