"""Pairs of regions and the geometric statistics that localization metrics are computed from.

A localization metric is a few lines over the columns of :class:`Pairs`: areas and intersections of ground truth and
prediction, contour lengths, directed contour distances (as for the Hausdorff distance), and the contingency table of
shared pixels. Each column is computed by the core the first time it is read, and holds one value per pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError
from verite.model.ragged import gather
from verite.model.rasters import PolygonRule
from verite.model.shapes import Shapes, Spacing, Volume, has_label_images, shapes_of
from verite.pairs.store import Array, DirectedDistances, LabelStore, Rows, Side, Store, VolumeStore, sizes_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "Pairs"]


class Pairs:
    """Pairs of regions: pair i is ground truth i with prediction i.

    A metric of your own is a function of one of these that returns one value per pair. All columns are lazy: a metric
    that reads only areas never rasterises a contour.

    Parameters
    ----------
    store : Store
        The statistics of a batch of pairs, computed on first use. Use :meth:`of` to build one from regions.
    rows : array of int, optional
        The pairs of the store that this view shows, in this order. Default: all of them.
    is_swapped : bool, default False
        Whether ground truth and prediction are exchanged.

    Examples
    --------
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
        """Pair up regions.

        Parameters
        ----------
        truth, pred : Regions, array or list of regions
            Boxes [n, 4], masks [n, height, width], label images, or a list of boxes, polygons, masks, contours and COCO
            run-length encodings (None: no object). A single region is paired with every region of the other side.
        size : (width, height), optional
            Size of the image in pixels, or an array [n, 2] with one size per pair. Boxes and polygons are rasterised
            with it; masks have their own.
        layout : str, default "xyxy"
            Layout of boxes, e.g. "xywh".
        polygons : str, default "coco"
            Rule by which polygons become pixels.
        spacing : number, (rows, columns) or str, optional
            Physical distance between neighbouring pixels, e.g. ``(0.7, 0.7)`` or ``"0.7,0.7 mm"``. Distances are
            measured in its unit. Default: in pixels.

        Returns
        -------
        Pairs

        Raises
        ------
        BadParameter
            If the two sides have different numbers of regions and neither has one.
        DataError
            If two regions of a pair belong to images of different sizes.

        Examples
        --------
        >>> len(Pairs.of([[0, 0, 4, 4]], [[2, 0, 6, 4], [0, 0, 4, 4]]))
        2
        """
        has_labels = has_label_images(truth) or has_label_images(pred)
        mine, theirs = (
            list(side) if has_labels else shapes_of(side, name, layout)
            for name, side in (("truth", truth), ("pred", pred))
        )
        count = max(len(mine), len(theirs)) if len(mine) and len(theirs) else 0
        for name, side in (("truth", mine), ("pred", theirs)):
            if len(side) not in (1, count):
                regions = "label images" if has_labels else "regions"
                raise BadParameter(f"{name}: expected {count} {regions}, one per pair, found {len(side)}")
        if isinstance(mine, list) and isinstance(theirs, list):
            images = [side * count if len(side) == 1 else side for side in (mine, theirs)]
            return cls(LabelStore(images[0], images[1], size, layout, polygons))
        assert isinstance(mine, Shapes)
        assert isinstance(theirs, Shapes)
        every = np.arange(count, dtype=np.int64)
        rows = [every if len(side) == count else np.zeros_like(every) for side in (mine, theirs)]
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
        """Pair object truth_rows[i] of one side with object pred_rows[i] of the other; the rest as for :meth:`of`."""
        spacing = None if spacing is None else Spacing.of(spacing)
        return cls(Store(truth, pred, truth_rows, pred_rows, sizes_of(size, len(truth_rows)), polygons, spacing))

    @classmethod
    def of_volumes(cls, truth: Any, pred: Any, *, spacing: Any = None) -> Pairs:
        """Pair up volumes, in which every voxel but 0 belongs to the object.

        Parameters
        ----------
        truth, pred : array [plane, row, column], Volume, or a list of either
            As many on both sides, and of the same shape pair by pair.
        spacing : number, (planes, rows, columns) or str, optional
            Distance between neighbouring voxels along the three axes. Default: that of each `Volume`, else 1.

        Returns
        -------
        Pairs

        Examples
        --------
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
        """Whether these are pairs of volumes rather than of regions in images."""
        return isinstance(self.store, VolumeStore)

    def __len__(self) -> int:
        return len(self.store) if self.rows is None else len(self.rows)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Pairs:
        """Return a view of some pairs, by index or mask; statistics that are known already are not computed again."""
        chosen = np.arange(len(self))[rows] if self.rows is None else self.rows[rows]
        return Pairs(self.store, chosen, self.is_swapped)

    @property
    def swapped(self) -> Pairs:
        """The same pairs with ground truth and prediction exchanged; statistics are shared."""
        return Pairs(self.store, self.rows, not self.is_swapped)

    def chunks(self, count: int, pixels: float = 2e8) -> Iterator[Pairs]:
        """Yield the pairs in consecutive chunks with statistics of their own, to bound memory and response time.

        A chunk has at most `count` pairs. Their extents add up to at most `pixels`, unless a single pair exceeds that.

        >>> p = Pairs.of([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 5, 1], [0, 0, 1, 1]], [[0, 0, 1, 1]])
        >>> [len(chunk) for chunk in p.chunks(2, pixels=4)]
        [2, 1, 1]
        """
        ends, total, first = [], 0.0, 0
        for i, extent in enumerate(self.extents.tolist()):
            if i > first and (i - first == count or total + extent > pixels):
                ends.append(i)
                total, first = 0.0, i
            total += extent
        for start, end in zip([0, *ends], [*ends, len(self)] if len(self) else [], strict=False):
            rows = np.arange(start, end)
            yield Pairs(self.store.subset(rows if self.rows is None else self.rows[rows]), None, self.is_swapped)

    @property
    def extents(self) -> Array:
        """Number of pixels in the bounding box around both regions of each pair."""
        if self.has_labels:
            return self.pixels
        a, b = (self.select(boxes) for boxes in self.store.boxes)
        sides = np.maximum(a[:, 2:], b[:, 2:]) - np.minimum(a[:, :2], b[:, :2])
        areas: Array = np.abs(sides[:, 0] * sides[:, 1])
        return areas

    def select(self, column: NDArray[Any]) -> NDArray[Any]:
        """Pick the rows of this view from a column of the store."""
        return column if self.rows is None else column[self.rows]

    def order(self, column: tuple[NDArray[Any], NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Pick the rows of this view from two columns of the store, and return them as (truth, pred)."""
        mine, theirs = (self.select(side) for side in column)
        return (theirs, mine) if self.is_swapped else (mine, theirs)

    # Images.

    @property
    def has_labels(self) -> bool:
        """Whether these are pairs of label images, with several objects per image."""
        return isinstance(self.store, LabelStore)

    @property
    def is_sized(self) -> bool:
        """Whether the size of every image is known."""
        return self.store.is_sized or bool((self.select(self.store.sizes) > 0).all())

    @property
    def heights(self) -> Array:
        """Height of each image in pixels; DataError where it is unknown."""
        return self.select(self.store.known_sizes)[:, 0].astype(np.float64)

    @property
    def widths(self) -> Array:
        """Width of each image in pixels; DataError where it is unknown."""
        return self.select(self.store.known_sizes)[:, 1].astype(np.float64)

    @property
    def pixels(self) -> Array:
        """Number of pixels of each image."""
        return self.heights * self.widths

    @property
    def diagonal(self) -> Array:
        """Length of each image's diagonal, in pixels or the unit of the spacing: an upper bound of any distance."""
        return self.select(self.store.diagonals)

    # Boxes and regions.

    def scale_boxes(self, boxes: Array) -> Array:
        """Convert box corners from pixels to the unit of the spacing, where there is one."""
        if self.store.spacing is None:
            return boxes
        down, across = self.store.spacing.plane
        return np.asarray(boxes * [across, down, across, down])

    @property
    def truth_box(self) -> Array:
        """Bounding boxes of the ground truth, [n, 4] as x1, y1, x2, y2 in pixels or the unit of the spacing."""
        return self.scale_boxes(self.order(self.store.boxes)[0])

    @property
    def pred_box(self) -> Array:
        """Bounding boxes of the predictions, [n, 4] as x1, y1, x2, y2 in pixels or the unit of the spacing."""
        return self.scale_boxes(self.order(self.store.boxes)[1])

    @property
    def truth_area(self) -> Array:
        """Area of each ground-truth region: exact for two boxes, else in pixels (voxels)."""
        return self.select(self.store.areas[:, int(self.is_swapped)])

    @property
    def pred_area(self) -> Array:
        """Area of each predicted region: exact for two boxes, else in pixels (voxels)."""
        return self.select(self.store.areas[:, 1 - int(self.is_swapped)])

    @property
    def shared_area(self) -> Array:
        """Area of the intersection of each pair."""
        return self.select(self.store.areas[:, 2])

    @property
    def pixel_areas(self) -> Array:
        """Number of pixels of ground truth and prediction after rasterisation, [n, 2].

        It is 0 for a box outside the image or between two pixels, whose area need not be.
        """
        return self.select(self.store.pixel_areas[:, [1, 0] if self.is_swapped else [0, 1]])

    @property
    def table(self) -> Array:
        """Contingency table of pixels, [n, i, j]: shared by region i of the ground truth and j of the prediction.

        The last region of either side is the background.
        """
        found = self.select(self.store.table)
        return found.transpose(0, 2, 1) if self.is_swapped else found

    # Contours and distances.

    @property
    def with_corner_contours(self) -> Pairs:
        """The same regions with 8-neighbour contours: every pixel that touches the outside, also by a corner only.

        >>> mask = np.ones((1, 4, 4), dtype=bool)
        >>> mask[0, 0, 0] = False       # the pixel beside it on the diagonal touches the outside by a corner
        >>> p = Pairs.of(mask, mask)
        >>> p.truth_contour, p.with_corner_contours.truth_contour
        (array([11.]), array([12.]))
        """
        if not isinstance(self.store, Store):
            raise DataError("contours: expected regions in images, found volumes or label images")
        return Pairs(self.store.with_corner_contours, self.rows, self.is_swapped)

    @property
    def truth_contour(self) -> Array:
        """Number of contour pixels of each ground-truth region."""
        return self.select(self.store.contours[:, int(self.is_swapped)])

    @property
    def pred_contour(self) -> Array:
        """Number of contour pixels of each predicted region."""
        return self.select(self.store.contours[:, 1 - int(self.is_swapped)])

    @property
    def shared_contour(self) -> Array:
        """Number of pixels that lie on both contours."""
        return self.select(self.store.contours[:, 2])

    @property
    def to_truth(self) -> DirectedDistances:
        """Distances from the contour pixels of the prediction to the contour of the ground truth."""
        return self.directed_distances(not self.is_swapped)

    @property
    def to_pred(self) -> DirectedDistances:
        """Distances from the contour pixels of the ground truth to the contour of the prediction."""
        return self.directed_distances(self.is_swapped)

    def directed_distances(self, forward: bool) -> DirectedDistances:
        """Contour distances in one direction; `forward` is from the store's predictions to its ground truth."""

        def list_distances() -> tuple[NDArray[Any], Rows]:
            squared, offsets = self.store.squared_distances[0 if forward else 1]
            if self.rows is None:
                return squared, offsets
            at, new = gather(offsets, self.rows)
            return squared[at], new

        return DirectedDistances(self.select(self.store.directed_sums(forward)), list_distances)

    @property
    def outside_truth(self) -> Array:
        """Squared distances of the prediction's pixels outside the ground truth to the ground truth, summed."""
        return self.select(self.store.outside(not self.is_swapped))

    def rim_areas(self, widths_px: NDArray[np.int64]) -> Array:
        """Areas of the inner boundary regions of ground truth and prediction, and of their intersection, [n, 3].

        `widths_px` is the width of the boundary region of each pair, in pixels (Boundary IoU).
        """
        return _core.boundary_areas(*self.sides(), np.ascontiguousarray(widths_px, dtype=np.int64))

    def distance_differences(self, power: float, cutoff: float) -> Array:
        """Sum over the image of |distance to the truth - distance to the pred| ** power, distances cut at `cutoff`."""
        return self.select(self.store.distance_differences(float(power), float(cutoff)))

    def sides(self) -> tuple[Side, Side]:
        """Ground truth and predictions as run-length encoded masks, in the form the core expects."""
        mine, theirs = self.store.sides
        if self.rows is not None:
            mine, theirs = (side.with_rows(side.rows[self.rows]) for side in (mine, theirs))
        return (theirs, mine) if self.is_swapped else (mine, theirs)

    def empty(self, on: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
        """Flags of empty ground truth and empty predictions, as "box", "region" or "contour"; None if none is empty."""
        found = self.store.empty(on)
        return None if found is None else self.order(found)

    @property
    def has_position(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Flags of ground truth and predictions that are boxes or polygons, with a position even if without an area."""
        return self.order(self.store.has_position)
