"""Statistics of a batch of region pairs: areas, intersections, contour lengths, and directed contour distances.

The core computes each group of statistics for all pairs at once, the first time one of them is read. There is one store
for regions in images (boxes, polygons, masks), one for label images, and one for volumes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError, give_sizes
from verite.model.ragged import offsets_of
from verite.model.rasters import PolygonRule, Sizes, array_of, rasterise, spell_size
from verite.model.regions import BOX, MASK
from verite.model.shapes import (
    NO_BOX,
    Shapes,
    Spacing,
    Volume,
    checked_size,
    is_image,
    one,
    overlap_table,
    stack,
    table_of_one,
)
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = "NDArray[np.float64]"
Flags: TypeAlias = "NDArray[np.bool_]"
Rows: TypeAlias = "NDArray[np.int64]"
Runs: TypeAlias = "NDArray[np.uint32]"
# Squared distances of all pairs, one after the other, and the offset at which those of each pair begin.
DistanceLists: TypeAlias = "tuple[NDArray[Any], Rows]"
# One side of all pairs as the core expects it: runs, offsets and sizes (height, width) of the masks, the mask of each
# pair, and runs and offsets of contours that were given (an object without one has no runs) or None.
Side: TypeAlias = _core.MaskSide
T = TypeVar("T")

MERIT_ALPHA = 1 / 9  # the core sums 1 / (1 + d² / 9), as in Pratt's figure of merit
POWERS = (1.0, 2.0, 3.0)  # of distance differences, which the core sums in one pass over the image
# Columns of the core's statistics (see cpp/pairs/pairs.hpp); the first three are areas in pixels.
CONTOURS, TO_TRUTH, TO_PRED = slice(3, 6), slice(6, 11), slice(11, 16)


class DirectedDistances:
    """Distances from the contour pixels of one region to the contour of the other, for every pair.

    Common sums come from the core; the distances themselves are listed only when something else is asked for.

    Parameters
    ----------
    sums : array [n, 5]
        Sums of the first three powers of the distances, Pratt's sum, and the largest squared distance.
    list_distances : callable
        Returns the squared distances of all pairs, and the offsets at which those of each pair begin.
    """

    def __init__(self, sums: Array, list_distances: Callable[[], DistanceLists]) -> None:
        self.sums, self.list_distances = sums, list_distances

    @property
    def largest(self) -> Array:
        """Largest distance of each pair."""
        return np.sqrt(self.sums[:, 4])

    def total(self, power: float = 1) -> Array:
        """Sum of the distances of each pair, raised to a power."""
        if power in (1, 2, 3):
            column: Array = self.sums[:, int(power) - 1]
            return column
        return self.sum_rows(self.distances**power)

    def merit(self, alpha: float) -> Array:
        """Sum of 1 / (1 + alpha d²) over the distances d of each pair, as in Pratt's figure of merit."""
        if alpha == MERIT_ALPHA:
            column: Array = self.sums[:, 3]
            return column
        return self.sum_rows(1 / (1 + alpha * self.lists[0].astype(np.float64)))

    @cached_property
    def lists(self) -> DistanceLists:
        """Squared distances of all pairs, and the offsets at which those of each pair begin."""
        return self.list_distances()

    @property
    def distances(self) -> Array:
        """Distances of all pairs, one after the other; pair i has offsets[i] to offsets[i + 1]."""
        return np.sqrt(self.lists[0].astype(np.float64))

    @property
    def offsets(self) -> Rows:
        """Offset at which the distances of each pair begin, [n + 1]."""
        return self.lists[1]

    def sum_rows(self, values: Array) -> Array:
        """Sum one value per distance over each pair."""
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        sums: Array = np.bincount(owner, weights=values, minlength=len(self.offsets) - 1).astype(np.float64)
        return sums

    def within(self, tolerance: float) -> Array:
        """Number of distances of each pair that do not exceed the tolerance."""
        return self.sum_rows((self.distances <= tolerance).astype(np.float64))

    def quantile(self, share: float) -> Array:
        """Quantile of the distances of each pair, from 0 to 1, interpolated linearly."""
        return quantiles(*self.lists, share)


def sum_distances(squared: Array, offsets: Rows) -> Array:
    """Sum squared distances as the core does for pixels: three powers, Pratt's sum, and the largest square, [n, 5]."""
    pairs = len(offsets) - 1
    owner = np.repeat(np.arange(pairs), np.diff(offsets))
    distances = np.sqrt(squared)
    columns = (distances, squared, squared * distances, 1 / (1 + MERIT_ALPHA * squared))
    sums = [np.bincount(owner, weights=values, minlength=pairs) for values in columns]
    largest = np.zeros(pairs)
    np.maximum.at(largest, owner, squared)
    return np.stack([*sums, largest], axis=1)


def quantiles(squared: NDArray[Any], offsets: Rows, share: float) -> Array:
    """Return a quantile of each pair's distances, interpolated as numpy does by default; 0 for a pair without any.

    >>> quantiles(np.array([9, 1, 4, 49]), np.array([0, 3, 3, 4]), 0.25)
    array([1.5, 0. , 7. ])
    """
    lengths = np.diff(offsets)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    if squared.dtype.kind == "f":
        ordered = np.sqrt(squared[np.lexsort((squared, owner))])
    else:  # One sort for all pairs: squared distances in an image of at most 65,535 pixels a side need 34 bits.
        ordered = np.sqrt(np.sort(owner << 34 | squared) & (2**34 - 1))
    out = np.zeros(len(lengths))
    rows = np.flatnonzero(lengths)
    position = share * (lengths[rows] - 1)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, lengths[rows] - 1)
    low, high = ordered[offsets[rows] + below], ordered[offsets[rows] + above]
    out[rows] = low + (high - low) * (position - below)
    return out


def merge(first: DirectedDistances, second: DirectedDistances) -> DistanceLists:
    """Concatenate the squared distances of both directions, pair by pair.

    Parameters
    ----------
    first
        Squared distances from each contour to the other, as values and offsets per pair.
    second
        The distances in the other direction.

    Returns
    -------
    DistanceLists
        Values of pair i from both directions next to each other, as symmetric metrics pool them.
    """
    lengths = np.diff(first.offsets), np.diff(second.offsets)
    owner = np.concatenate([np.repeat(np.arange(len(length)), length) for length in lengths])
    order = np.argsort(owner, kind="stable")
    return np.concatenate([first.lists[0], second.lists[0]])[order], first.offsets + second.offsets


class Store:
    """Statistics of pairs of regions in images, with ground truth and prediction in the order they were given."""

    def __init__(
        self,
        truth: Shapes,
        pred: Shapes,
        truth_rows: Rows,
        pred_rows: Rows,
        sizes: Sizes,
        polygons: PolygonRule,
        spacing: Spacing | None = None,
    ) -> None:
        """Pair object truth_rows[i] with object pred_rows[i]; `sizes` are (height, width), 0 where unknown."""
        self.spacing = spacing  # None: distances are in pixels
        self.shapes, self.object_rows, self.polygons = (truth, pred), (truth_rows, pred_rows), polygons
        self.sizes = agreed_sizes(truth.sizes[truth_rows], pred.sizes[pred_rows], sizes)
        self.is_sized = bool((self.sizes > 0).all())
        self.cache: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.sizes)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a pickle: the core's sides as their arrays."""
        state = self.__dict__.copy()
        if "sides" in state:
            names = ("counts", "objects", "sizes", "rows", "outline_counts", "outline_objects")
            state["sides"] = [{name: getattr(side, name) for name in names} for side in state["sides"]]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "sides" in state:
            state["sides"] = tuple(_core.MaskSide(**side) for side in state["sides"])
        self.__dict__.update(state)

    def subset(self, rows: Rows) -> Store:
        """Return the store of some pairs, with nothing computed yet."""
        mine, theirs = (objects[rows] for objects in self.object_rows)
        return Store(*self.shapes, mine, theirs, self.sizes[rows], self.polygons, self.spacing)

    def cached(self, key: object, compute: Callable[[], T]) -> T:
        """Compute a statistic with parameters once per key.

        Parameters
        ----------
        key
            Name of the statistic with its parameters.
        compute
            Computes it when it is asked for the first time.

        Returns
        -------
        T
            The statistic, shared by all metrics of one call.
        """
        if key not in self.cache:
            self.cache[key] = compute()
        found: T = self.cache[key]
        return found

    @property
    def diagonals(self) -> Array:
        """Length of each image's diagonal."""
        down, across = (1.0, 1.0) if self.spacing is None else self.spacing.plane
        sizes = self.known_sizes.astype(np.float64)
        return np.hypot(down * sizes[:, 0], across * sizes[:, 1])

    @property
    def known_sizes(self) -> Sizes:
        """Height and width of each image; DataError where one is unknown."""
        unknown = np.flatnonzero((self.sizes <= 0).any(axis=1))
        if not self.is_sized and len(unknown):
            raise DataError(
                f"pair {unknown[0]}: expected the size of the image to rasterise boxes and polygons, found none; "
                f"{give_sizes('size=(WIDTH, HEIGHT)')}"
            )
        return self.sizes

    @cached_property
    def boxes(self) -> tuple[Array, Array]:
        """Bounding boxes [n, 4] of both sides, all 0 where there is no object."""
        mine, theirs = (
            np.where(none[:, None], 0.0, boxes) if none.any() else boxes
            for boxes, none in zip(self.given_boxes, self.absent, strict=True)
        )
        return mine, theirs

    @property
    def given_boxes(self) -> tuple[Array, Array]:
        """Bounding boxes of both sides as they were given, with `NO_BOX` where there is no object."""
        mine, theirs = self.shapes
        return mine.regions.boxes[self.object_rows[0]], theirs.regions.boxes[self.object_rows[1]]

    @property
    def absent(self) -> tuple[Flags, Flags]:
        """Pairs in which a side has no object."""
        mine, theirs = ((boxes == NO_BOX).all(axis=1) for boxes in self.given_boxes)
        return mine, theirs

    @property
    def are_boxes(self) -> Flags:
        """Pairs of two boxes, whose areas are computed without rasterisation."""
        (mine, theirs), (mine_rows, their_rows) = self.shapes, self.object_rows
        found: Flags = (mine.regions.kinds[mine_rows] == BOX) & (theirs.regions.kinds[their_rows] == BOX)
        return found

    @cached_property
    def sides(self) -> tuple[Side, Side]:
        """Both sides rasterised."""
        sizes = self.known_sizes
        mine, theirs = (
            rasterise_side(shapes, rows, sizes, self.polygons)
            for shapes, rows in zip(self.shapes, self.object_rows, strict=True)
        )
        return mine, theirs

    @cached_property
    def with_corner_contours(self) -> Store:
        """The same pairs with contours of 8-neighbours: also pixels that touch the outside by a corner only."""
        found = self.subset(np.arange(len(self), dtype=np.int64))
        sides = []
        for side in self.sides:
            counts, objects = _core.outline_runs(side.counts, side.objects, side.sizes, True)
            sides.append(
                _core.MaskSide(
                    counts=side.counts,
                    objects=side.objects,
                    sizes=side.sizes,
                    rows=side.rows,
                    outline_counts=counts,
                    outline_objects=objects,
                )
            )
        found.sides = (sides[0], sides[1])  # in place of those with contours of 4-neighbours
        return found

    @cached_property
    def statistics(self) -> Array:
        """Areas, contour lengths and sums of contour distances, as the core computes them in one pass, [n, 16]."""
        return _core.pair_statistics(*self.sides)

    @property
    def contours(self) -> Array:
        """Contour pixels of ground truth, prediction and both, [n, 3]."""
        return self.statistics[:, CONTOURS]

    def directed_sums(self, forward: bool) -> Array:
        """Sums of contour distances, [n, 5] as in `DirectedDistances`; `forward` is from prediction to ground truth."""
        if self.spacing is None:
            return self.statistics[:, TO_TRUTH if forward else TO_PRED]
        return self.cached(("sums", forward), lambda: sum_distances(*self.squared_distances[0 if forward else 1]))

    @cached_property
    def squared_distances(self) -> tuple[DistanceLists, DistanceLists]:
        """Squared contour distances from prediction to ground truth, and from ground truth to prediction."""
        if self.spacing is None:
            return _core.pair_distances(*self.sides)
        return _core.spaced_distances(*self.sides, self.spacing.plane)

    def outside(self, forward: bool) -> Array:
        """Squared distances of one side's pixels outside the other to it, summed; `forward` is of the predictions."""

        def compute() -> Array:
            mine, theirs = self.sides if forward else reversed(self.sides)
            if self.spacing is None:
                return _core.pair_outside(mine, theirs)
            return _core.spaced_outside(mine, theirs, self.spacing.plane)

        return self.cached(("outside", forward), compute)

    def distance_differences(self, power: float, cutoff: float) -> Array:
        """Sum over each image of |distance to the truth - distance to the pred| ** power, cut off (Baddeley's Δ)."""
        powers = POWERS if power in POWERS else (power,)
        steps = (1.0, 1.0) if self.spacing is None else self.spacing.plane
        sums = self.cached(
            ("differences", powers, cutoff),
            lambda: _core.distance_differences(*self.sides, np.array(powers), cutoff, steps),
        )
        column: Array = sums[:, powers.index(power)]
        return column

    @cached_property
    def pixel_areas(self) -> Array:
        """Pixels of ground truth, prediction and intersection after rasterisation, [n, 3]."""
        return _core.pair_areas(*self.sides)

    @cached_property
    def areas(self) -> Array:
        """Areas of ground truth, prediction and intersection, [n, 3]: exact for two boxes, else in pixels."""
        are_boxes = self.are_boxes
        if not are_boxes.any():
            return self.pixel_areas
        out = np.empty((len(self), 3))
        out[are_boxes] = box_areas(self.boxes[0][are_boxes], self.boxes[1][are_boxes])
        if not are_boxes.all():
            out[~are_boxes] = self.subset(np.flatnonzero(~are_boxes)).areas
        return out

    @cached_property
    def table(self) -> Array:
        """Contingency table of object and background of both sides, [n, 2, 2]; boxes are clipped to the image."""
        sizes = self.known_sizes.astype(np.float64)
        areas, are_boxes = self.areas, self.are_boxes
        if are_boxes.any():
            limits = np.tile(sizes[are_boxes][:, ::-1], 2)
            clipped = [np.clip(boxes[are_boxes], 0.0, limits) for boxes in self.boxes]
            areas = areas.copy()
            areas[are_boxes] = box_areas(*clipped)
        return table_of_one(areas, sizes.prod(axis=1))

    def empty(self, on: str) -> tuple[Flags, Flags] | None:
        """Pairs whose ground truth and whose prediction is empty as a box, contour or region; None if none is."""

        def find_empty() -> tuple[Flags, Flags] | None:
            if on == "box":
                truth, pred = (is_flat(boxes) for boxes in self.boxes)
            else:
                sizes = self.contours if on == "contour" else self.areas
                truth, pred = sizes[:, 0] <= 0, sizes[:, 1] <= 0
            return (truth, pred) if truth.any() or pred.any() else None

        return self.cached(("empty", on), find_empty)

    @cached_property
    def has_position(self) -> tuple[Flags, Flags]:
        """Pairs in which a side is a box or a polygon, which has a position even without an area."""
        truth, pred = (
            (shapes.regions.kinds[rows] != MASK) & ~none
            for shapes, rows, none in zip(self.shapes, self.object_rows, self.absent, strict=True)
        )
        return truth, pred


class LabelStore(Store):
    """Statistics of pairs of label images: only the contingency table of their regions is defined."""

    spacing = None

    def __init__(
        self, truth: Sequence[Any], pred: Sequence[Any], size: ArrayLike | None, layout: str, polygons: PolygonRule
    ) -> None:
        """Pair as many label images, or regions beside them, on both sides."""

        def pixels(side: Shapes | NDArray[Any], size: Sizes) -> NDArray[Any]:
            return array_of(rasterise(side.regions, size, polygons), 0) if isinstance(side, Shapes) else side

        sides = [
            [thing if is_image(thing) else one(thing, f"{name} {i}", layout) for i, thing in enumerate(things)]
            for name, things in (("truth", truth), ("pred", pred))
        ]
        known = [[side.sizes[0] if isinstance(side, Shapes) else side.shape for side in column] for column in sides]
        self.sizes = agreed_sizes(*(np.array(sizes, dtype=np.int32) for sizes in known), sizes_of(size, len(truth)))
        self.is_sized = bool((self.sizes > 0).all())
        couples = zip(*sides, self.known_sizes[:, None], strict=True)
        self.tables = stack([overlap_table(pixels(a, s), pixels(b, s)) for a, b, s in couples])

    @cached_property
    def table(self) -> Array:
        """Contingency table of all regions of both sides, the backgrounds last."""
        return self.tables

    def empty(self, on: str) -> None:
        """Return None: the formulas of partition metrics are defined for images without objects."""

    def subset(self, rows: Rows) -> Store:
        new = object.__new__(LabelStore)
        new.tables, new.sizes, new.is_sized = self.tables[rows], self.sizes[rows], True
        return new

    def __getattr__(self, name: str) -> Any:
        raise DataError("label images: expected one object on either side for this metric, found several")


class VolumeStore(Store):
    """Statistics of pairs of volumes, in which every voxel but 0 belongs to the object."""

    spacing = None
    is_sized = True

    def __init__(self, truth: Sequence[Volume], pred: Sequence[Volume]) -> None:
        """Pair volumes of one shape and spacing."""
        if len(truth) != len(pred):
            raise BadParameter(f"volumes: expected as many for truth as for pred, found {len(truth)} and {len(pred)}")
        for i, (mine, theirs) in enumerate(zip(truth, pred, strict=True)):
            if mine.values.shape != theirs.values.shape:
                raise DataError(
                    f"pair {i}: expected volumes of one shape, found {mine.values.shape} and {theirs.values.shape}"
                )
            if not np.allclose(mine.steps, theirs.steps, rtol=1e-4):
                raise DataError(f"pair {i}: expected volumes of one spacing, found {mine.steps} and {theirs.steps}")
        self.truth, self.pred, self.cache = list(truth), list(pred), {}
        self.sizes = np.array([v.values.shape[1:] for v in truth], dtype=np.int32).reshape(-1, 2)

    def subset(self, rows: Rows) -> Store:
        return VolumeStore([self.truth[i] for i in rows], [self.pred[i] for i in rows])

    @cached_property
    def surfaces(self) -> list[Any]:
        """Of each pair: voxels [3], surface voxels [3], and squared surface distances in both directions."""

        def as_bytes(volume: Volume) -> NDArray[np.uint8]:
            values = volume.values if volume.values.dtype == np.bool_ else volume.values != 0
            return np.ascontiguousarray(values).view(np.uint8)

        return [
            _core.volume_surfaces(as_bytes(mine), as_bytes(theirs), mine.steps, thread_count())
            for mine, theirs in zip(self.truth, self.pred, strict=True)
        ]

    @cached_property
    def has_position(self) -> tuple[Flags, Flags]:
        """No pair: a volume without voxels has no position."""
        none = np.zeros(len(self), dtype=np.bool_)
        return none, none

    @cached_property
    def boxes(self) -> tuple[Array, Array]:
        """All 0: volumes are measured whole, so extents do not split them."""
        none = np.zeros((len(self), 4))
        return none, none

    @property
    def diagonals(self) -> Array:
        """Length of each volume's space diagonal, in the unit of its spacing."""
        return np.array([np.linalg.norm(np.multiply(v.values.shape, v.steps)) for v in self.truth])

    @cached_property
    def areas(self) -> Array:
        """Voxels of ground truth, prediction and intersection, [n, 3]."""
        return np.array([found[0] for found in self.surfaces], dtype=np.float64).reshape(-1, 3)

    @property
    def contours(self) -> Array:
        """Surface voxels of ground truth, prediction and both, [n, 3]."""
        return np.array([found[1] for found in self.surfaces], dtype=np.float64).reshape(-1, 3)

    @cached_property
    def squared_distances(self) -> tuple[DistanceLists, DistanceLists]:
        """Squared surface distances from prediction to ground truth, and from ground truth to prediction."""
        there, back = (
            (
                np.concatenate([np.empty(0), *(found[side] for found in self.surfaces)]),
                offsets_of(np.array([len(found[side]) for found in self.surfaces], dtype=np.int64)),
            )
            for side in (2, 3)
        )
        return there, back

    def directed_sums(self, forward: bool) -> Array:
        return self.cached(("sums", forward), lambda: sum_distances(*self.squared_distances[0 if forward else 1]))


def sizes_of(size: ArrayLike | None, count: int) -> Sizes:
    """Convert one (width, height), or one per pair, to an array [count, 2] of heights and widths; 0 if not given."""
    if size is None:
        return np.zeros((count, 2), dtype=np.int32)
    values = np.asarray(size)
    if values.ndim == 2 and values.shape == (count, 2):
        return np.ascontiguousarray(values[:, ::-1], dtype=np.int32)
    width, height = checked_size(size)
    return np.tile(np.array([height, width], dtype=np.int32), (count, 1))


def agreed_sizes(*sources: Sizes) -> Sizes:
    """Combine image sizes from several sources, 0 where a source has none; DataError where two of them differ."""
    sizes = sources[0].copy()
    for source in sources[1:]:
        known, new = (sizes > 0).all(axis=1), (source > 0).all(axis=1)
        differs = np.flatnonzero(known & new & (sizes != source).any(axis=1))
        if len(differs):
            i = differs[0]
            found = f"{spell_size(sizes[i])} and {spell_size(source[i])}"
            raise DataError(f"pair {i}: expected regions of one image, found {found} pixels")
        sizes[~known] = source[~known]
    return sizes


def rasterise_side(shapes: Shapes, rows: Rows, sizes: Sizes, polygons: PolygonRule) -> Side:
    """Rasterise one side; an object that occurs in several pairs of one image size is rasterised once."""
    regions, outlines = shapes.regions, shapes.outlines
    object_sizes = np.zeros((len(regions), 2), dtype=np.int32)
    object_sizes[rows] = sizes
    has_every_object = len(rows) == len(regions) and (rows == np.arange(len(rows))).all()
    if not has_every_object and ((object_sizes[rows] != sizes).any() or len(np.unique(rows)) < len(regions)):
        # An object in images of different sizes, or objects in no pair: one copy per pair.
        regions = regions.take(rows)
        outlines = outlines.take(rows) if outlines is not None else None
        object_sizes, rows = sizes, np.arange(len(rows), dtype=np.int64)
    runs = rasterise(regions, object_sizes, polygons)
    return _core.MaskSide(
        counts=runs.counts,
        objects=runs.objects,
        sizes=np.ascontiguousarray(runs.sizes),
        rows=np.ascontiguousarray(rows, dtype=np.int64),
        outline_counts=None if outlines is None else outlines.counts,
        outline_objects=None if outlines is None else outlines.objects,
    )


def box_areas(truth: Array, pred: Array) -> Array:
    """Areas of ground-truth boxes, predicted boxes and their intersections, [n, 3].

    Parameters
    ----------
    truth
        Ground-truth boxes as corners, [n, 4].
    pred
        The predicted box of each pair.

    Returns
    -------
    Array
        Areas in square pixels; 0 for boxes that are empty, or do not meet.
    """
    sides = [(box[:, 2:] - box[:, :2]).clip(min=0.0) for box in (truth, pred)]
    shared = (np.minimum(truth[:, 2:], pred[:, 2:]) - np.maximum(truth[:, :2], pred[:, :2])).clip(min=0.0)
    return np.stack([side.prod(axis=1) for side in (*sides, shared)], axis=1)


def is_flat(boxes: Array) -> Flags:
    """Boxes without an area."""
    return (boxes[:, 2] <= boxes[:, 0]) | (boxes[:, 3] <= boxes[:, 1])
