"""Pictures of masks, written: a label image for each image, with as few bits as its values need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verite.errors import ReadError
from verite.files import folder_atomically
from verite.formats.format import Format, Options, PathProbe, file_stems
from verite.formats.label_images import SUFFIXES, paint, rows_by_image
from verite.model.annotations import Annotations
from verite.model.regions import MASK

LARGEST = 65_535

Rows = NDArray[np.int64]


def write_objects(annotations: Annotations, path: Path) -> None:
    """A folder of pictures whose values count the objects of each image from 1."""
    stems = file_stems(annotations.images, path)
    with folder_atomically(path) as folder:
        for name, pixels in paint_each(annotations, path, lambda rows: range(1, len(rows) + 1)):
            save(pixels, folder / f"{stems[name]}.png")


def paint_each(
    annotations: Annotations, path: Path, number: Callable[[Rows], range | list[int]]
) -> list[tuple[int, NDArray[np.uint32]]]:
    """Each image painted, its objects numbered so."""
    need_masks(annotations, path)
    return [
        (at, paint(annotations, at, rows, number(rows), path)) for at, rows in enumerate(rows_by_image(annotations))
    ]


def need_masks(annotations: Annotations, path: Path) -> None:
    if not (annotations.regions.kinds == MASK).all():
        raise ReadError(path, expected="a mask for every object", found="boxes or polygons")


def save(pixels: NDArray[np.uint32], path: Path, palette: list[int] | None = None) -> None:
    from PIL import Image

    if pixels.max(initial=0) > LARGEST:
        raise ReadError(path, expected=f"values up to {LARGEST}", found=str(pixels.max()))
    depth = np.uint8 if pixels.max(initial=0) < 256 else np.uint16
    image = Image.fromarray(pixels.astype(depth))
    if palette is not None:
        image.putpalette(palette)
    image.save(path, format="PNG")


STARTS = ("\ufffdPNG", "II*\x00", "MM\x00*", "BM", "GIF8", "P1", "P2", "P4", "P5", "P6", "\ufffd\ufffd\ufffd", "RIFF")

LOOKED_AT = 20


def recognise(look: PathProbe) -> str | None:
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
        with picture(path, is_decoded=False) as image:
            return image.format not in ("JPEG", "WEBP") or image.mode in ("L", "1")
    except ReadError:
        return is_broken  # the reader tells what is wrong with it


def read(path: Path, options: Options) -> Annotations:
    from verite.formats.mask_reading import read_masks

    return read_masks(path, options)


def write(annotations: Annotations, path: Path) -> None:

    write_objects(annotations, path)


FORMAT = Format(
    name="mask-pictures",
    title="pictures of masks",
    about="PNG or TIFF: black and white, contours, an object a picture, label images; written as label images",
    recognise=recognise,
    read=read,
    write=write,
    preserves=frozenset({"empty image", "image size", "mask"}),
    requires=frozenset({"image size", "masks that do not overlap", "no confidence"}),
    options=frozenset({"mask_threshold", "masks", "names"}),
)
