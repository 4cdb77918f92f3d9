"""Alterations of a region: translation, scale, rotation and perspective, as warps of its pixel edges.

x acts vertically and y horizontally, in pixels, as in the comparative study. An alteration moves the corners of the
edges between pixels; a pixel is in the altered region if its centre lies inside the moved edges (left and upper
included).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verite import _core
from verite.errors import BadParameter, DataError, did_you_mean
from verite.model.polygons import RLEMasks
from verite.model.shapes import binary

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
# [n, 2, 4]: a point goes to (c0 + c1 u + c2 v + c3 u v, …), u and v being measured from the middle of the region's box.
Warps = Floats


@dataclass(frozen=True, eq=False)
class Outline:
    """The edges between a region's pixels and the background, and its bounding box.

    >>> mask = np.zeros((4, 6), bool); mask[1:3, 2:5] = True
    >>> outline = Outline.of(mask)
    >>> outline.centre, outline.half
    ((3.5, 2.0), (1.5, 1.0))
    """

    mask: Mask

    @classmethod
    def of(cls, mask: ArrayLike) -> Outline:
        """Make the outline of a mask; DataError if it is empty."""
        found = binary(np.asarray(mask), "mask")
        if not found.any():
            raise DataError("mask: expected a region with at least one pixel, found an empty mask")
        return cls(found)

    @cached_property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom of the bounding box."""
        rows, columns = np.flatnonzero(self.mask.any(axis=1)), np.flatnonzero(self.mask.any(axis=0))
        return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1

    @property
    def centre(self) -> tuple[float, float]:
        """Centre of the bounding box, x and y."""
        left, top, right, bottom = self.box
        return (left + right) / 2, (top + bottom) / 2

    @property
    def half(self) -> tuple[float, float]:
        """Half the width and half the height of the bounding box."""
        left, top, right, bottom = self.box
        return (right - left) / 2, (bottom - top) / 2

    @cached_property
    def edges(self) -> Floats:
        """End points u1, v1, u2, v2 of every straight edge, relative to the centre."""
        left, top, right, bottom = self.box
        inner = self.mask[top:bottom, left:right]  # there are no edges elsewhere
        across = straight_edges(inner)
        down = straight_edges(inner.T)[:, [1, 0, 3, 2]]
        corner = np.array([left, top]) - self.centre
        return np.ascontiguousarray(np.concatenate([across, down]) + np.tile(corner, 2))


def straight_edges(mask: Mask) -> Floats:
    """Return the horizontal edges x1, y, x2, y between region and background, collinear ones joined.

    >>> straight_edges(np.array([[0, 1, 1]], bool))
    array([[1., 0., 3., 0.],
           [1., 1., 3., 1.]])
    """
    padded = np.pad(mask, ((1, 1), (1, 1)))
    is_edge = padded[1:] != padded[:-1]  # between row y - 1 and row y, one column of padding on either side
    y, starts = np.nonzero(is_edge[:, 1:] & ~is_edge[:, :-1])
    _, ends = np.nonzero(is_edge[:, :-1] & ~is_edge[:, 1:])
    return np.stack([starts, y, ends, y], axis=1).astype(np.float64)


def warps_of(outline: Outline, x: ArrayLike, y: ArrayLike = 0.0) -> tuple[Warps, Floats, Floats]:
    """Return one identity warp per parameter, and the parameters as arrays.

    Parameters
    ----------
    outline
        The region that is altered; warps turn about its centre.
    x
        First parameter of an alteration.
    y
        Second parameter, broadcast against the first.

    Returns
    -------
    tuple[Warps, Floats, Floats]
        Warps [n, (x, y), (place of the centre, linear part, perspective)] that change nothing, and both parameters.
    """
    down, right = (np.atleast_1d(a) for a in np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float)))
    warps = np.zeros((len(down), 2, 4))
    warps[:, :, 0] = outline.centre
    warps[:, 0, 1] = warps[:, 1, 2] = 1.0
    return warps, down, right


def translation(outline: Outline, x: ArrayLike, y: ArrayLike = 0.0) -> Warps:
    """Translate by x pixels down and y pixels to the right.

    Parameters
    ----------
    outline
        The region to move.
    x
        Pixels down, as image rows count.
    y
        Pixels to the right.

    Returns
    -------
    Warps
        One warp per parameter.
    """
    warps, down, right = warps_of(outline, x, y)
    warps[:, 0, 0] += right
    warps[:, 1, 0] += down
    return warps


def scale(outline: Outline, x: ArrayLike, y: ArrayLike = 0.0) -> Warps:
    """Move every side outwards: x pixels above and below, y pixels left and right, about the centre.

    A height h becomes h + 2x; a side that would become negative becomes 0.
    """
    warps, down, right = warps_of(outline, x, y)
    half_width, half_height = outline.half
    warps[:, 0, 1] = np.maximum(half_width + right, 0) / half_width
    warps[:, 1, 2] = np.maximum(half_height + down, 0) / half_height
    return warps


def rotation(outline: Outline, x: ArrayLike, y: ArrayLike = 0.0) -> Warps:
    """Rotate clockwise by x degrees about the centre of the bounding box; y is not used.

    Parameters
    ----------
    outline
        The region to turn.
    x
        Degrees, clockwise as seen on the screen.
    y
        Not used; every alteration takes two parameters.

    Returns
    -------
    Warps
        One warp per angle.
    """
    warps, angle, _ = warps_of(outline, x, y)
    turn = np.deg2rad(angle)
    warps[:, 0, 1] = warps[:, 1, 2] = np.cos(turn)
    warps[:, 0, 2], warps[:, 1, 1] = -np.sin(turn), np.sin(turn)
    return warps


def perspective(outline: Outline, x: ArrayLike, y: ArrayLike = 0.0) -> Warps:
    """Make the upper side 2x pixels longer and the lower shorter, the left side 2y pixels longer and the right shorter.

    Corners of the box move by (x, y): outwards above, inwards below. The area does not change. Where the moved sides
    cross, the enclosed area is filled.
    """
    warps, down, right = warps_of(outline, x, y)
    half_width, half_height = outline.half
    warps[:, 0, 3] = -down / (half_width * half_height)
    warps[:, 1, 3] = -right / (half_width * half_height)
    return warps


# Combined alterations are applied in this order, in which their product is a warp again.
ORDER = ("scale", "perspective", "rotation", "translation")


def compose(outline: Outline, parameters: Mapping[str, ArrayLike]) -> Warps:
    """Combine several alterations, each with one parameter along both axes (a rotation with its angle)."""
    result = None
    for name in sorted(parameters, key=ORDER.index):
        x = parameters[name]
        warps = ALTERATIONS[name](outline, x, 0.0 if name == "rotation" else x)
        result = warps if result is None else chain(outline, warps, result)
    assert result is not None
    return result


def chain(outline: Outline, second: Warps, first: Warps) -> Warps:
    """Compose two warps; the first must keep the axes parallel unless the second is linear."""
    moved = first.copy()
    moved[:, :, 0] -= outline.centre  # the second is also relative to the centre
    shift, linear, product = second[:, :, 0], second[:, :, 1:3], second[:, :, 3]
    result: Warps = np.matmul(linear, moved)
    result[:, :, 0] += shift
    # (c1 u)(c6 v) of a first warp that scales; the other terms of the product are 0 then.
    result[:, :, 3] += product * (moved[:, 0, 1] * moved[:, 1, 2])[:, None]
    return result


Alter = Callable[[Outline, ArrayLike, ArrayLike], Warps]
ALTERATIONS: dict[str, Alter] = {
    "translation": translation,
    "scale": scale,
    "rotation": rotation,
    "perspective": perspective,
}


def alteration(name: str) -> Alter:
    """Return the alteration of this name."""
    if name not in ALTERATIONS:
        known = ", ".join(ALTERATIONS)
        raise BadParameter(f"alteration: expected one of {known}, found {name!r}{did_you_mean(name, ALTERATIONS)}")
    return ALTERATIONS[name]


def rasterise_warps(outline: Outline, warps: Warps) -> RLEMasks:
    """Return the region moved by each warp, clipped to the image.

    Parameters
    ----------
    outline
        The region as a polygon along its pixel edges.
    warps
        Projective maps of the region, as the alterations return them.

    Returns
    -------
    RLEMasks
        One mask per warp, of the size of the image.
    """
    height, width = outline.mask.shape
    counts, objects = _core.warp_runs(outline.edges, np.ascontiguousarray(warps), height, width)
    sizes = np.tile(np.array([height, width], dtype=np.int32), (len(warps), 1))
    return RLEMasks(counts, objects, sizes)


def alter(mask: ArrayLike, name: str, x: float = 0.0, y: float = 0.0) -> Mask:
    """Return a mask after an alteration: "translation", "scale", "rotation" (x in degrees) or "perspective".

    >>> mask = np.zeros((4, 5), bool); mask[1:3, 1:3] = True
    >>> alter(mask, "translation", 1, 2).astype(int)
    array([[0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0],
           [0, 0, 0, 1, 1],
           [0, 0, 0, 1, 1]])
    >>> int(alter(mask, "scale", 1, 0).sum())      # two rows become four
    8
    """
    from verite.model.rasters import array_of

    outline = Outline.of(mask)
    return array_of(rasterise_warps(outline, alteration(name)(outline, x, y)), 0)
