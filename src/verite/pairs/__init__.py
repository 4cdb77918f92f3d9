"""Two regions each, and everything metrics ask about them, computed once and when first asked for.

A metric is a few lines over these columns: the areas, the contours' lengths, the directed distances from one contour
to the other, the table of pixels shared by objects and backgrounds. All are arrays with one value a pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter
from verite.model.ragged import gather
from verite.model.rasters import PolygonRule
from verite.model.shapes import Shapes, Spacing, Volume, has_label_images, shapes_of
from verite.pairs.store import Array, Directed, LabelStore, Rows, Side, Store, aligned_images, rows_of, sizes_of
from verite.pairs.volumes import VolumeStore

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "Pairs"]


class Pairs:
    """Aligned regions: pair i is truth i with pred i.

    >>> p = Pairs.of([[0, 0, 4, 4]], [[2, 0, 6, 4]], size=(8, 8))
    >>> p.truth_area, p.shared_area, p.truth_contour, p.to_truth.largest
    (array([16.]), array([8.]), array([12.]), array([2.]))
    """

    def __init__(self, store: Store, rows: Rows | None = None, is_swapped: bool = False) -> None:
        self.store, self.rows, self.is_swapped = store, rows, is_swapped

    @classmethod
    def of(
        cls,
        truth: Any,
        pred: Any,
        *,
        size: ArrayLike | None = None,
        layout: str = "xyxy",
        polygons: PolygonRule = "coco",
        spacing: Any = None,
    ) -> Pairs:
        """From lists of regions, `Regions`, or arrays of boxes, masks or polygons; a single one serves every pair.

        `size` is the (width, height) of the image, or one a pair: what boxes and polygons need to become pixels.
        `spacing` says how far apart rows and columns lie, e.g. (0.7, 0.7) mm: distances are measured in that.
        """
        if has_label_images(truth) or has_label_images(pred):
            return cls(LabelStore(*aligned_images(truth, pred), size, layout, polygons))
        mine, theirs = shapes_of(truth, "truth", layout), shapes_of(pred, "pred", layout)
        count = max(len(mine), len(theirs)) if len(mine) and len(theirs) else 0
        for what, side in (("truth", mine), ("pred", theirs)):
            if len(side) not in (1, count):
                raise BadParameter(f"{what}: expected {count} regions, one a pair, found {len(side)}")
        rows = rows_of(mine, count), rows_of(theirs, count)
        return cls.from_shapes(mine, theirs, *rows, size=size, polygons=polygons, spacing=spacing)

    @classmethod
    def from_shapes(
        cls,
        truth: Shapes,
        pred: Shapes,
        truth_rows: Rows,
        pred_rows: Rows,
        *,
        size: ArrayLike | None = None,
        polygons: PolygonRule = "coco",
        spacing: Any = None,
    ) -> Pairs:
        """Pair i is object truth_rows[i] with object pred_rows[i]."""
        apart = None if spacing is None else Spacing.of(spacing)
        return cls(Store(truth, pred, truth_rows, pred_rows, sizes_of(size, len(truth_rows)), polygons, apart))

    @classmethod
    def of_volumes(cls, truth: Any, pred: Any, *, spacing: Any = None) -> Pairs:
        """Of volumes [plane, row, column], two or lists of them; `spacing` is along these axes.

        >>> truth = np.zeros((3, 4, 4), dtype=bool)
        >>> truth[1, 1:3, 1:3] = True
        >>> p = Pairs.of_volumes(truth, truth, spacing=(3, 0.7, 0.7))
        >>> p.truth_area, p.to_truth.largest
        (array([4.]), array([0.]))
        """
        sides = [side if isinstance(side, (list, tuple)) else [side] for side in (truth, pred)]
        return cls(VolumeStore(*([Volume.of(one, spacing) for one in side] for side in sides)))

    @property
    def are_volumes(self) -> bool:
        return isinstance(self.store, VolumeStore)

    def __len__(self) -> int:
        return len(self.store) if self.rows is None else len(self.rows)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Pairs:
        """Some of the pairs; what is known of them is not computed again."""
        chosen = np.arange(len(self))[rows] if self.rows is None else self.rows[rows]
        return Pairs(self.store, chosen, self.is_swapped)

    @property
    def swapped(self) -> Pairs:
        """The same pairs with truth and pred exchanged; statistics are shared."""
        return Pairs(self.store, self.rows, not self.is_swapped)

    def chunks(self, count: int, pixels: float = 2e8) -> Iterator[Pairs]:
        """At most `count` pairs and so many pixels of objects at a time, each part with a store of its own.

        Long lists stay small so, and a person who interrupts does not wait for long.
        """
        first = 0
        for end in part_ends(self.extents, count, pixels):
            rows = np.arange(first, end)
            yield Pairs(self.store.part(rows if self.rows is None else self.rows[rows]), None, self.is_swapped)
            first = end

    @property
    def extents(self) -> Array:
        """How many pixels the frame around each pair has."""
        if self.has_labels:
            return self.pixels
        a, b = (self.select(boxes) for boxes in self.store.boxes)
        sides = np.maximum(a[:, 2:], b[:, 2:]) - np.minimum(a[:, :2], b[:, :2])
        areas: Array = np.abs(sides[:, 0] * sides[:, 1])
        return areas

    def select(self, column: NDArray[Any]) -> NDArray[Any]:
        return column if self.rows is None else column[self.rows]

    # What is known of the images.

    @property
    def has_labels(self) -> bool:
        """Are these images of several objects each?"""
        return isinstance(self.store, LabelStore)

    @property
    def is_sized(self) -> bool:
        """Is every image's size known?"""
        return self.store.is_sized or bool((self.select(self.store.sizes) > 0).all())

    @property
    def heights(self) -> Array:
        return self.select(self.store.known_sizes)[:, 0].astype(np.float64)

    @property
    def widths(self) -> Array:
        return self.select(self.store.known_sizes)[:, 1].astype(np.float64)

    @property
    def pixels(self) -> Array:
        """How many pixels the image has."""
        return self.heights * self.widths

    @property
    def diagonal(self) -> Array:
        """How long the image's diagonal is: further than any two pixels lie apart."""
        return self.select(self.store.diagonals)

    def spread(self, boxes: Array) -> Array:
        """Corners where they lie: in pixels, or as far apart as the spacing says."""
        if self.store.spacing is None:
            return boxes
        down, across = self.store.spacing.plane
        return np.asarray(boxes * [across, down, across, down])

    # Boxes and regions.

    @property
    def truth_box(self) -> Array:
        """Corners x1, y1, x2, y2, one row a pair."""
        return self.spread(self.select(self.store.boxes[self.is_swapped]))

    @property
    def pred_box(self) -> Array:
        return self.spread(self.select(self.store.boxes[not self.is_swapped]))

    @property
    def truth_area(self) -> Array:
        return self.select(self.store.areas[:, int(self.is_swapped)])

    @property
    def pred_area(self) -> Array:
        return self.select(self.store.areas[:, 1 - int(self.is_swapped)])

    @property
    def shared_area(self) -> Array:
        return self.select(self.store.areas[:, 2])

    @property
    def drawn_areas(self) -> Array:
        """How many pixels truth and pred have, [n, 2]: none for a box outside the image or between pixels."""
        return self.select(self.store.drawn_areas[:, [1, 0] if self.is_swapped else [0, 1]])

    @property
    def table(self) -> Array:
        """Pixels shared by region i of the truth and region j of the pred; the background is the last of each."""
        found = self.select(self.store.table)
        return found.transpose(0, 2, 1) if self.is_swapped else found

    # Contours and distances.

    @property
    def truth_contour(self) -> Array:
        """How many pixels the contour has."""
        return self.select(self.store.contours[:, int(self.is_swapped)])

    @property
    def pred_contour(self) -> Array:
        return self.select(self.store.contours[:, 1 - int(self.is_swapped)])

    @property
    def shared_contour(self) -> Array:
        """Pixels that lie on both contours."""
        return self.select(self.store.contours[:, 2])

    @property
    def to_truth(self) -> Directed:
        """Distances of the pred's contour pixels to the truth's contour."""
        return self.measure_distances(not self.is_swapped)

    @property
    def to_pred(self) -> Directed:
        """Distances of the truth's contour pixels to the pred's contour."""
        return self.measure_distances(self.is_swapped)

    def measure_distances(self, forward: bool) -> Directed:
        count = self.store.contours[:, 1 if forward else 0]
        sums = self.store.directed_sums(forward)
        return Directed(self.select(count), self.select(sums), lambda: self.list_distances(forward))

    def list_distances(self, forward: bool) -> tuple[NDArray[Any], Rows]:
        values, offsets = self.store.lists[0 if forward else 1]
        if self.rows is None:
            return values, offsets
        at, new = gather(offsets, self.rows)
        return values[at], new

    @property
    def outside_truth(self) -> Array:
        """Squared distances of the pred's pixels outside the truth to the truth, summed."""
        return self.select(self.store.outside(not self.is_swapped))

    def rims(self, widths_px: NDArray[np.int64]) -> Array:
        """Sizes of the truth's rim, the pred's and what they share; a rim is so many pixels wide."""
        mine, theirs = self.sides()
        return _core.boundary_areas(mine, theirs, np.ascontiguousarray(widths_px, dtype=np.int64))

    def distance_differences(self, power: float, cutoff: float) -> Array:
        """Sum over the image of |distance to the truth - distance to the pred| ^ power, cut off at a distance."""
        return self.select(self.store.distance_differences(float(power), float(cutoff)))

    def sides(self) -> tuple[Side, Side]:
        """Both sides as the core takes them."""
        mine, theirs = self.store.sides
        if self.rows is not None:
            mine, theirs = (side.with_rows(side.rows[self.rows]) for side in (mine, theirs))
        return (theirs, mine) if self.is_swapped else (mine, theirs)

    def empty(self, on: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
        """Where the truth and where the pred is empty, as a box, a region or a contour; None where nobody is."""
        found = self.store.empty(on)
        if found is None:
            return None
        mine, theirs = (self.select(side) for side in found)
        return (theirs, mine) if self.is_swapped else (mine, theirs)

    @property
    def placed(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Where the truth and where the pred is a box or a polygon, which has a place even without an area."""
        mine, theirs = (self.select(side) for side in self.store.placed)
        return (theirs, mine) if self.is_swapped else (mine, theirs)


def part_ends(sizes: Array, count: int, most: float) -> list[int]:
    """Where to cut a list so that parts have at most `count` entries, and sizes that add up to `most` or little more.

    >>> part_ends(np.array([1.0, 1.0, 5.0, 1.0, 1.0]), 2, 4.0)
    [2, 3, 5]
    """
    ends, used, first = [], 0.0, 0
    for i, size in enumerate(sizes.tolist()):
        if i > first and (i - first == count or used + size > most):
            ends.append(i)
            used, first = 0.0, i
        used += size
    return [*ends, len(sizes)] if len(sizes) else []
