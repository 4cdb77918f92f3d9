"""Pictures of masks, written: a label image for each image, with as few bits as its values need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verite.errors import ReadError
from verite.files import folder_atomically
from verite.formats.format import file_stems
from verite.formats.segments import paint, rows_by_image
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
