"""Regions of objects: a bounding box each, and for some a polygon, a run-length mask or keypoints.

A rotated box is a polygon of four corners; files state it as centre, width, height and angle.
"""

from __future__ import annotations

from functools import cached_property
from math import pi
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter
from verite.files import translate_core_errors
from verite.model.layouts import Floats, Kept, keep_layout, layout_name

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from verite.model.keypoints import Keypoints
    from verite.model.polygons import Polygons, RLEMasks

BOX, POLYGON, MASK = 0, 1, 2

# How an angle is written: in which unit, and whether it turns clockwise as seen on the screen, where y points down.
ANGLES = {
    "degrees": (pi / 180, 1.0),
    "radians": (1.0, 1.0),
    "degrees-ccw": (pi / 180, -1.0),
    "radians-ccw": (1.0, -1.0),
}


class Regions:
    """Bounding boxes of objects, and the polygons, masks and keypoints of those that have them.

    Boxes are continuous coordinates; whether a width is x2 − x1 or x2 − x1 + 1 is a setting of the protocols.

    Parameters
    ----------
    boxes : array-like, shape (n, 4)
        Bounding box of each object.
    layout : str, default 'xyxy'
        Layout of the boxes: ``xyxy`` (corners), ``xywh`` (left, top, width, height) or ``cxcywh`` (centre).
    polygons : Polygons, optional
        Polygons of n objects.
    runs : RLEMasks, optional
        Masks of n objects.
    boxed : array of bool, shape (n,), optional
        Which objects came with a box; the boxes of the others were computed from their shapes. All by default.
    keypoints : Keypoints, optional
        Keypoints of n objects.

    Raises
    ------
    BadParameter
        If the boxes have another shape, the layout is unknown, or the lengths differ.

    Examples
    --------
    >>> r = Regions([[10, 20, 30, 40]], "xywh")
    >>> r.boxes
    array([[10., 20., 40., 60.]])
    """

    def __init__(
        self,
        boxes: ArrayLike,
        layout: str = "xyxy",
        *,
        polygons: Polygons | None = None,
        runs: RLEMasks | None = None,
        boxed: NDArray[np.bool_] | None = None,
        keypoints: Keypoints | None = None,
    ) -> None:
        from verite.model.ragged import freeze

        values, kept = lay_out(boxes, layout)
        try:
            self.native = _core.Regions(
                values,
                kept,
                None if polygons is None else (polygons.points, polygons.rings, polygons.objects),
                None if runs is None else runs.arrays,
                None if boxed is None else freeze(boxed, np.bool_),
                None if keypoints is None else keypoints.arrays,
            )
        except ValueError as error:
            raise BadParameter(str(error)) from None

    @classmethod
    def over(cls, native: _core.Regions) -> Regions:
        """Return regions over columns that are in the core already."""
        made = object.__new__(cls)
        made.native = native
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Regions.over, (self.native,)

    def __copy__(self) -> Regions:
        return self

    def __deepcopy__(self, memo: object) -> Regions:
        return self

    def __len__(self) -> int:
        return len(self.native)

    @property
    def kept(self) -> Kept:
        """The layout in which the boxes are stored."""
        return self.native.layout  # type: ignore[return-value]

    @cached_property
    def values(self) -> Floats:
        """The four numbers of each box as they are stored, in the layout `kept`."""
        return self.native.boxes

    @cached_property
    def boxes(self) -> Floats:
        """Corners x1, y1, x2, y2 of each box, shape (n, 4)."""
        return self.native.boxes_as("xyxy")

    @cached_property
    def sizes(self) -> Floats:
        """Left, top, width and height of each box, shape (n, 4): exactly the file's numbers if it has them."""
        return self.native.boxes_as("xywh")

    @cached_property
    def outlines(self) -> tuple[Polygons | None, RLEMasks | None]:
        """Polygons and run-length masks of the objects that have them."""
        from verite.model.polygons import Polygons, RLEMasks

        with translate_core_errors():
            polygons, runs = self.native.shapes()
        return Polygons(*polygons) if polygons else None, RLEMasks(*runs) if runs else None

    @property
    def polygons(self) -> Polygons | None:
        """Polygons; None if no object has one."""
        return self.outlines[0]

    @property
    def runs(self) -> RLEMasks | None:
        """Run-length masks; None if no object has one."""
        return self.outlines[1]

    @property
    def has_only_boxes(self) -> bool:
        """Whether no object has a polygon or a mask; known without decoding them."""
        return self.native.has_only_boxes

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """Most detailed shape of each object: BOX, POLYGON or MASK; known without decoding them."""
        return self.native.kinds

    @cached_property
    def boxed(self) -> NDArray[np.bool_] | None:
        """Which objects came with a box; None if all did."""
        return self.native.boxed

    @property
    def has_keypoints(self) -> bool:
        """Whether any object has keypoints."""
        return self.native.has_keypoints

    @cached_property
    def keypoints(self) -> Keypoints | None:
        """x, y and visibility of the keypoints; None if no object has any."""
        from verite.model.keypoints import Keypoints

        found = self.native.keypoints
        return Keypoints(found[0], found[1] // 3) if found is not None else None

    def take(self, rows: ArrayLike) -> Regions:
        """Return the regions of some objects, in the given order."""
        from verite.model.ragged import freeze

        return Regions.over(self.native.take(freeze(rows, "int64")))

    def scale(self, factors: ArrayLike) -> Regions:
        """Return regions with boxes, polygons and keypoints of object i scaled by ``factors[i]`` = (x, y).

        Masks consist of pixels and stay as they are.
        """
        from verite.model.ragged import freeze

        return Regions.over(self.native.scale(freeze(factors, "float64")))

    def with_boxes(self, boxes: ArrayLike, layout: str) -> Regions:
        """Return the same polygons, masks and keypoints with other boxes."""
        return Regions.over(self.native.with_boxes(*lay_out(boxes, layout)))


def lay_out(boxes: ArrayLike, layout: str) -> tuple[Floats, Kept]:
    """Return boxes of any layout in one that is stored, and the name of that layout."""
    from verite.model.ragged import freeze

    values = np.asarray(boxes, dtype=np.float64)
    if values.size == 0:
        values = values.reshape(0, 4)
    if values.ndim != 2 or values.shape[1] != 4:
        raise BadParameter(f"boxes: expected shape (n, 4), found {values.shape}")
    kept, name = keep_layout(values, layout_name(layout))
    return freeze(kept, np.float64), name


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
