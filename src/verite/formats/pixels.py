"""Which numbers are in a picture of masks? Read as they were written; what has no clear reading is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import ReadError
from verite.formats.sizes import picture
from verite.records import record

MASK_PICTURES = ("PNG", "TIFF", "BMP", "GIF", "PPM", "JPEG", "WEBP")
WHITE = {"uint8": 255, "bool": 1, "uint16": 65_535, "int32": 65_535}  # what a threshold is a share of
ORIENTATION = 0x0112  # the EXIF tag
MOST_COLOURS = 4096  # more are a photo
MOST_VALUES = 65_536


@record(eq=False)
class Pixels:
    """The numbers of a picture, and what is known of them."""

    values: NDArray[Any]  # [row, column], whole numbers, or fractions where it is soft
    is_palette: bool = False
    is_colour: bool = False  # a value is red + 256 × green + 256² × blue
    is_lossy: bool = False

    @property
    def white(self) -> float:
        return 1.0 if self.values.dtype.kind == "f" else float(WHITE[self.values.dtype.name])


def read_pixels(path: Path) -> Pixels:
    """The numbers of one picture."""
    with picture(path, MASK_PICTURES) as image:
        pages = getattr(image, "n_frames", 1)
        if pages > 1:
            remedy = "a volume is compared with another by verite localize TRUTH PRED"
            raise ReadError(path, expected="a picture of one page", found=f"{pages} pages", remedy=remedy)
        turned = image.getexif().get(ORIENTATION, 1)
        if turned not in (0, 1):
            found = f"EXIF orientation {turned}, which viewers turn and others do not"
            raise ReadError(path, expected="a mask that stands upright", found=found, remedy="save it turned, without")
        mode, is_lossy = image.mode, image.format in ("JPEG", "WEBP")
        array = np.asarray(image)
    if mode in ("RGBA", "LA", "PA", "La", "RGBa"):
        array, mode = without_alpha(path, array), {"RGBA": "RGB", "LA": "L", "PA": "P"}.get(mode, mode)
    if mode in ("1", "L", "P", "I", "F") or mode.startswith("I;16"):
        check_range(path, array)
        return Pixels(array.astype(np.uint16) if mode.startswith("I;16") else array, mode == "P", is_lossy=is_lossy)
    if mode == "RGB":
        return read_colours(path, array, is_lossy)
    raise ReadError(path, expected="a picture of black and white, grey, palette or colour", found=f"mode {mode}")


def without_alpha(path: Path, array: NDArray[Any]) -> NDArray[Any]:
    """The picture without its transparency, which must say nothing."""
    alpha = array[..., -1]
    if alpha.size and (alpha != alpha.flat[0]).any():
        found = "transparency that varies"
        raise ReadError(path, expected="a mask without an alpha channel", found=found, remedy="flatten it first")
    return array[..., 0] if array.shape[-1] == 2 else array[..., :-1]


def read_colours(path: Path, array: NDArray[Any], is_lossy: bool) -> Pixels:
    """Grey written as colour is grey; otherwise every colour is a value."""
    if (array[..., 0] == array[..., 1]).all() and (array[..., 0] == array[..., 2]).all():
        return Pixels(np.ascontiguousarray(array[..., 0]), is_lossy=is_lossy)
    parts = array.astype(np.int32)
    values = parts[..., 0] + 256 * parts[..., 1] + 65_536 * parts[..., 2]
    colours = len(np.unique(values))
    if colours > MOST_COLOURS or is_lossy:
        found = f"{colours:,} colours{' of a lossy format' * is_lossy}, as photos have them"
        raise ReadError(path, expected="a mask", found=found, remedy="name the folder of the masks")
    return Pixels(values, is_colour=True)


def check_range(path: Path, array: NDArray[Any]) -> None:
    """Numbers that are finite and not below 0."""
    if not array.size:
        raise ReadError(path, expected="pixels", found="none")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ReadError(path, expected="finite pixels", found="some that are not")
    low, high = array.min(), array.max()
    if low < 0:
        raise ReadError(path, expected="pixels from 0 up", found=f"{low}")
    if array.dtype.kind == "f" and high > 1:
        raise ReadError(path, expected="fractions from 0 to 1", found=f"{high:g}", remedy="save whole numbers as such")
    if array.dtype.kind != "f" and high >= MOST_VALUES:
        raise ReadError(path, expected=f"values below {MOST_VALUES:,}", found=f"{high}")


def is_soft(pixels: Pixels) -> bool:
    """Grey that shades off: fractions, or values that stand in shorter stretches than objects are wide."""
    values = pixels.values
    if values.dtype.kind == "f":
        return bool(((values > 0) & (values < 1)).any())
    if pixels.is_palette or pixels.is_colour or values.dtype.kind == "b":
        return False
    found, across = mean_stretches(values)
    _, down = mean_stretches(values.T)
    # Black and white are what shades lie between.
    shades = (found > 0) & (found < found.max(initial=0))
    return bool(shades.sum() >= SHADES and np.median(np.minimum(across, down)[shades]) <= SHORT)


SHADES, SHORT = 3, 2.0


def mean_stretches(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The values that occur, and how many pixels of each stand side by side on average."""
    flat = values.ravel()
    starts = np.flatnonzero(np.concatenate([[True], flat[1:] != flat[:-1]]))
    lengths = np.diff(starts, append=len(flat))
    found, owner = np.unique(flat[starts], return_inverse=True)
    return found, np.bincount(owner, weights=lengths) / np.bincount(owner)
