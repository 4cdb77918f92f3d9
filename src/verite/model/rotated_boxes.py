"""Rotated boxes: four corners, or centre, width, height and angle."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

from verite.arrays import np
from verite.errors import BadParameter
from verite.model.layouts import Floats
from verite.model.regions import MASK, POLYGON, Regions

if TYPE_CHECKING:
    from numpy.typing import NDArray


# How an angle is written: in which unit, and whether it turns clockwise as seen on the screen, where y points down.
ANGLES = {
    "degrees": (pi / 180, 1.0),
    "radians": (1.0, 1.0),
    "degrees-ccw": (pi / 180, -1.0),
    "radians-ccw": (1.0, -1.0),
}


def angle_factor(name: str) -> float:
    """What turns an angle of this kind into radians, clockwise.

    >>> angle_factor("radians-ccw")
    -1.0
    """
    if name not in ANGLES:
        raise BadParameter(f"angle: expected {', '.join(ANGLES)}, found {name!r}")
    unit, sign = ANGLES[name]
    return unit * sign


def corners_of(boxes: Floats, angle: str) -> Floats:
    """The corners [n, 4, 2] of boxes of centre, width, height and angle [n, 5].

    >>> corners_of(np.array([[5.0, 5.0, 4.0, 2.0, 90.0]]), "degrees").round(9)[0].tolist()
    [[6.0, 3.0], [6.0, 7.0], [4.0, 7.0], [4.0, 3.0]]
    """
    centre, turn = boxes[:, None, :2], boxes[:, 4] * angle_factor(angle)
    half = boxes[:, None, 2:4] * (np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) / 2)
    cos, sin = np.cos(turn)[:, None], np.sin(turn)[:, None]
    turned = np.stack([half[..., 0] * cos - half[..., 1] * sin, half[..., 0] * sin + half[..., 1] * cos], axis=-1)
    return np.asarray(centre + turned)


def boxes_of(corners: Floats, angle: str) -> tuple[Floats, NDArray[np.bool_]]:
    """Centre, width, height and angle [n, 5] of corners [n, 4, 2], and which of them are rectangles after all."""
    centre = corners.mean(axis=1)
    across, down = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 1]
    width, height = np.hypot(*across.T), np.hypot(*down.T)
    size = np.maximum(width, height)
    turn = np.arctan2(across[:, 1], across[:, 0])
    found = np.column_stack([centre, width, height, turn / angle_factor(angle)])
    far = np.abs(corners_of(found, angle) - corners).max(axis=(1, 2)) if len(corners) else np.empty(0)
    return found, far <= 1e-6 * np.maximum(size, 1e-300) + 1e-9


def quads_of(regions: Regions) -> Floats | None:
    """The corners [n, 4, 2] of all objects, boxes by theirs; None where one has another shape."""
    left, top, right, bottom = regions.boxes.T
    quads = np.stack([left, top, right, top, right, bottom, left, bottom], axis=1).reshape(-1, 4, 2)
    if regions.has_only_boxes:
        return quads
    polygons, is_polygon = regions.polygons, regions.kinds == POLYGON
    if (regions.kinds == MASK).any() or polygons is None:
        return None
    rings = np.diff(polygons.objects)
    if (rings[is_polygon] != 1).any() or (np.diff(polygons.rings) != 4).any():
        return None
    quads[is_polygon] = polygons.points.reshape(-1, 4, 2)
    return quads
