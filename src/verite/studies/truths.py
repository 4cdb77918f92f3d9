"""Ground truths of a study: eight boxes and eight silhouettes in images of 256 × 256 pixels, or masks of your own.

Silhouettes are composed of discs, strokes and polygons; boxes have the sizes of `BOXES`. :func:`truths_of` accepts
names of these, sets of them, arrays and files of mask images.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from verite.errors import BadParameter, DataError, did_you_mean
from verite.formats import read
from verite.model.rasters import array_of, rasterise
from verite.studies.alterations import Mask, Outline

SIDE = 256
Kind = Literal["box", "silhouette", "own"]


@dataclass(frozen=True, eq=False)
class Truth:
    """A ground-truth region that is altered, with its name in tables.

    Parameters
    ----------
    name : str
        The name.
    mask : array of bool
        The region, in an image of any size.
    kind : {"box", "silhouette", "own"}
        Which set it belongs to.
    """

    name: str
    mask: Mask
    kind: Kind = "own"

    @cached_property
    def outline(self) -> Outline:
        """The edges of the region."""
        return Outline.of(self.mask)

    def __repr__(self) -> str:
        left, top, right, bottom = self.outline.box
        return f"<truth {self.name}: {self.kind}, {right - left} × {bottom - top} pixels>"


# Left, top, width, height. The first two are squares of different size, the fourth is the fifth turned by 90°, the
# sixth is near the border; every side is longer than 48 pixels, so that scaling by -24 leaves pixels, and no margin
# is below 24, so that nothing is clipped. The paper prints no sizes: these are chosen, see the documentation.
BOXES = {
    "small square": (96, 96, 64, 64),
    "large square": (76, 76, 104, 104),
    "square": (84, 84, 88, 88),
    "wide": (80, 96, 96, 64),
    "tall": (96, 80, 64, 96),
    "near the border": (26, 92, 72, 72),
    "flat": (83, 98, 90, 60),
    "upright": (92, 80, 72, 96),
}
# The boxes compared for scale dependency (the smaller first), and for shape dependency.
SCALE_PAIR = ("small square", "large square")
SHAPE_PAIR = ("wide", "tall")


def box(left: int, top: int, width: int, height: int) -> Mask:
    """Return a bounding box as a mask.

    >>> int(box(10, 20, 30, 40).sum())
    1200
    """
    mask = np.zeros((SIDE, SIDE), dtype=np.bool_)
    mask[top : top + height, left : left + width] = True
    return mask


# The centres of all pixels.
Y, X = np.mgrid[0:SIDE, 0:SIDE] + 0.5


def disc(x: float, y: float, radius: float, height: float | None = None) -> Mask:
    """Return a disc, or an ellipse with another half height.

    Parameters
    ----------
    x
        Column of the centre.
    y
        Row of the centre.
    radius
        Half width in pixels.
    height
        Half height in pixels; None for a circle.

    Examples
    --------
    >>> int(disc(128, 128, 10).sum())      # π · 10² = 314.2
    316
    """
    found: Mask = ((X - x) / radius) ** 2 + ((Y - y) / (height or radius)) ** 2 <= 1
    return found


def stroke(width: float, *points: tuple[float, float]) -> Mask:
    """Return a line through the points with round ends."""
    found = np.zeros((SIDE, SIDE), dtype=np.bool_)
    for (x1, y1), (x2, y2) in pairwise(points):
        along = ((X - x1) * (x2 - x1) + (Y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2)
        at = along.clip(0, 1)
        found |= (X - x1 - at * (x2 - x1)) ** 2 + (Y - y1 - at * (y2 - y1)) ** 2 <= (width / 2) ** 2
    return found


def area(*points: tuple[float, float]) -> Mask:
    """Return a polygon."""
    inside = np.zeros((SIDE, SIDE), dtype=np.bool_)
    for (x1, y1), (x2, y2) in zip(points, (*points[1:], points[0]), strict=True):
        if y1 != y2:
            inside ^= ((y1 <= Y) != (y2 <= Y)) & (x1 + (Y - y1) / (y2 - y1) * (x2 - x1) > X)
    return inside


DRAWINGS: dict[str, Callable[[], Mask]] = {}  # silhouettes by name


def silhouette(drawing: Callable[[], Mask]) -> Callable[[], Mask]:
    """Register a function that returns a silhouette, under its own name."""
    DRAWINGS[drawing.__name__] = drawing
    return drawing


@silhouette
def bike() -> Mask:
    """Return the silhouette of a bicycle."""
    wheels = [disc(x, 150, 30) & ~disc(x, 150, 22) for x in (85, 171)]
    frame = stroke(6, (85, 150), (113, 108), (158, 108), (171, 150)) | stroke(6, (113, 108), (126, 150), (85, 150))
    details = stroke(6, (126, 150), (158, 108), (154, 92), (168, 90)) | stroke(7, (102, 98), (122, 98))
    return wheels[0] | wheels[1] | frame | details | stroke(6, (113, 108), (111, 98)) | disc(126, 150, 8)


@silhouette
def man() -> Mask:
    """Return the silhouette of a person."""
    body = disc(128, 69, 15, 17) | area((106, 90), (150, 90), (146, 146), (110, 146)) | stroke(12, (128, 80), (128, 96))
    arms = stroke(13, (108, 96), (94, 122), (102, 146)) | stroke(13, (148, 96), (164, 118), (158, 142))
    legs = stroke(18, (118, 146), (112, 176), (108, 204)) | stroke(18, (138, 146), (146, 176), (150, 204))
    return body | arms | legs


@silhouette
def car() -> Mask:
    """Return the silhouette of a car."""
    body = area((60, 132), (70, 118), (92, 114), (112, 92), (160, 92), (180, 114), (198, 120), (200, 150), (60, 150))
    return body | disc(92, 150, 15) | disc(170, 150, 15)


@silhouette
def plane() -> Mask:
    """Return the silhouette of an aeroplane."""
    body = disc(128, 128, 66, 11)
    wings = area((138, 128), (110, 74), (96, 74), (108, 128), (96, 182), (110, 182))
    tail = area((78, 128), (64, 102), (54, 102), (60, 128), (54, 154), (64, 154))
    return body | wings | tail


@silhouette
def boat() -> Mask:
    """Return the silhouette of a sailing boat."""
    hull = area((64, 152), (194, 152), (172, 184), (84, 184))
    sails = area((124, 142), (124, 72), (76, 142)) | area((134, 142), (134, 84), (180, 142))
    return hull | sails | stroke(6, (129, 70), (129, 156))


@silhouette
def dog() -> Mask:
    """Return the silhouette of a dog."""
    body = disc(124, 132, 46, 21) | disc(174, 104, 19, 15) | stroke(20, (156, 124), (170, 108))
    head = area((184, 100), (206, 108), (204, 118), (180, 118)) | area((160, 96), (156, 80), (172, 92))
    legs = [stroke(11, (x, 140), (x + lean, 182)) for x, lean in ((90, -4), (104, 4), (146, -4), (160, 3))]
    return body | head | legs[0] | legs[1] | legs[2] | legs[3] | stroke(8, (82, 124), (64, 104), (58, 84))


@silhouette
def bottle() -> Mask:
    """Return the silhouette of a bottle."""
    body = area((100, 112), (156, 112), (156, 200), (100, 200)) | disc(128, 112, 28, 20)
    return body | area((117, 60), (139, 60), (139, 100), (117, 100)) | disc(128, 198, 28, 8)


@silhouette
def bird() -> Mask:
    """Return the silhouette of a bird."""
    body = disc(126, 136, 40, 19) | disc(166, 118, 16) | area((178, 112), (200, 120), (178, 124))
    wing = area((112, 136), (150, 130), (112, 72), (86, 66), (92, 100))
    return body | wing | area((94, 132), (58, 146), (54, 162), (98, 148)) | stroke(5, (130, 150), (134, 178))


@cache
def boxes() -> tuple[Truth, ...]:
    """Return the eight boxes."""
    return tuple(Truth(name, box(*sides), "box") for name, sides in BOXES.items())


@cache
def silhouettes() -> tuple[Truth, ...]:
    """Return the eight silhouettes."""
    return tuple(Truth(name, drawing(), "silhouette") for name, drawing in DRAWINGS.items())


def all_truths() -> tuple[Truth, ...]:
    """Return the eight boxes and the eight silhouettes."""
    return boxes() + silhouettes()


SETS: dict[str, Callable[[], tuple[Truth, ...]]] = {"all": all_truths, "boxes": boxes, "silhouettes": silhouettes}


def truths_of(given: Any = "all", mask_threshold: float | None = None) -> tuple[Truth, ...]:
    """Return ground truths by name, from image files, or from masks.

    Parameters
    ----------
    given : str, path, Truth, array, or an iterable or mapping of these, default "all"
        A set ("all", "boxes", "silhouettes"), a name, a file of masks, or masks of your own; a mapping names them.
    mask_threshold : float, optional
        Grey level, from 0 to 1, at which a pixel of a soft mask belongs to the object.

    Returns
    -------
    tuple of Truth

    Raises
    ------
    BadParameter
        If a name is unknown, or two ground truths share one.
    DataError
        If a mask is empty.

    Examples
    --------
    >>> truths_of("car"), len(truths_of("all"))
    ((<truth car: silhouette, 140 × 73 pixels>,), 16)
    """
    if isinstance(given, (str, Path)):
        name, known = str(given), {truth.name: truth for truth in all_truths()}
        if name in SETS:
            return SETS[name]()
        if name in known:
            return (known[name],)
        if Path(name).suffix or Path(name).exists():
            return read_truths(name, mask_threshold)
        raise BadParameter(
            f"truths: expected {', '.join(SETS)}, one of {', '.join(known)}, or an image file, "
            f"found {name!r}{did_you_mean(name, [*SETS, *known])}"
        )
    if isinstance(given, Truth):
        return (given,)
    if isinstance(given, Mapping):
        return distinct_truths([Truth(str(name), Outline.of(mask).mask) for name, mask in given.items()])
    if isinstance(given, np.ndarray) and given.ndim == 2:
        return (Truth("mask 1", Outline.of(given).mask),)
    if not isinstance(given, Iterable):
        raise BadParameter(f"truths: expected a name, a mask or several, found {type(given).__name__}")
    found: list[Truth] = []
    for thing in given:
        is_bare = not isinstance(thing, (str, Path, Truth))
        found += (
            [Truth(f"mask {len(found) + 1}", Outline.of(thing).mask)] if is_bare else truths_of(thing, mask_threshold)
        )
    if not found:
        raise BadParameter("truths: expected at least one, found none")
    return distinct_truths(found)


def distinct_truths(truths: list[Truth]) -> tuple[Truth, ...]:
    """Remove repeated ground truths; BadParameter if two different ones share a name."""
    found: dict[str, Truth] = {}
    for truth in truths:
        if truth.name in found and found[truth.name] is not truth:
            raise BadParameter(f"truths: expected different names, found {truth.name!r} twice")
        found[truth.name] = truth
    return tuple(found.values())


def read_truths(path: str, mask_threshold: float | None = None) -> tuple[Truth, ...]:
    """Read every object of a mask image, or of annotations with masks or polygons in images of known size.

    Raises
    ------
    DataError
        If a mask is empty or covers its image, or the size of an image is unknown.
    """
    annotations = read(path, mask_threshold=mask_threshold)
    images = annotations.images
    if not len(annotations):
        raise DataError(f"{path}: expected a mask with object and background, found only background")
    sizes = np.stack([images.heights, images.widths], axis=1)[annotations.image]
    if not (sizes > 0).all():
        raise DataError(f"{path}: expected images of known size, found one without; mask images have one")
    runs = rasterise(annotations.regions, sizes)
    found = []
    for row in range(len(annotations)):
        mask = array_of(runs, row)
        if mask.all() or not mask.any():
            found_only = "object" if mask.all() else "background"
            raise DataError(f"{path}: expected a mask with object and background, found only {found_only}")
        name = images.name(int(annotations.image[row]))
        found.append(Truth(name if len(annotations) == len(images) else f"{name} {row + 1}", mask))
    return tuple(found)
