"""What is known of a batch of pairs: the core is asked once for each kind of number, when somebody wants it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError, give_sizes
from verite.model.ragged import Ints
from verite.model.rasters import PolygonRule, Sizes, array_of, rasterise, spell_size
from verite.model.regions import BOX, MASK
from verite.model.shapes import NO_BOX, Shapes, Spacing, checked_size, is_image, one, overlap_table, stack, table_of_one

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = "NDArray[np.float64]"

MERIT_ALPHA = 1 / 9  # the core sums 1 / (1 + d² / 9)


class Directed:
    """One list of distances a pair, of which the usual sums are known and the list itself only when needed."""

    def __init__(self, count: Array, sums: Array, list_distances: Callable[[], tuple[NDArray[Any], Ints]]) -> None:
        self.count = count  # how many pixels ask
        self.sums, self.list_distances = sums, list_distances

    @property
    def largest(self) -> Array:
        """The largest distance."""
        return np.sqrt(self.sums[:, 4])

    def total(self, power: float = 1) -> Array:
        """The distances raised to a power, summed."""
        if power in (1, 2, 3):
            column: Array = self.sums[:, int(power) - 1]
            return column
        return self.sum_rows(self.distances**power)

    def merit(self, alpha: float) -> Array:
        """Pratt's sum of 1 / (1 + alpha d²)."""
        if alpha == MERIT_ALPHA:
            column: Array = self.sums[:, 3]
            return column
        return self.sum_rows(1 / (1 + alpha * self.squared))

    @cached_property
    def lists(self) -> tuple[NDArray[Any], Ints]:
        return self.list_distances()

    @property
    def squared(self) -> Array:
        """Squared distances of all pairs, one after the other."""
        return self.lists[0].astype(np.float64)

    @property
    def distances(self) -> Array:
        return np.sqrt(self.squared)

    @property
    def offsets(self) -> Ints:
        """Pair i has the distances offsets[i] .. offsets[i + 1]."""
        return self.lists[1]

    def sum_rows(self, values: Array) -> Array:
        """A value for each distance, summed pair by pair."""
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        sums: Array = np.bincount(owner, weights=values, minlength=len(self.offsets) - 1).astype(np.float64)
        return sums

    def within(self, tolerance: float) -> Array:
        """How many distances do not exceed the tolerance."""
        return self.sum_rows((self.distances <= tolerance).astype(np.float64))

    def quantile(self, share: float) -> Array:
        """The distance that this share of the pixels does not exceed, between two of them in proportion."""
        return quantiles(*self.lists, share)


def sum_squared(squared: Array, offsets: Ints) -> Array:
    """What the core sums of distances in pixels: the first three powers, merit, and the largest square."""
    pairs = len(offsets) - 1
    owner = np.repeat(np.arange(pairs), np.diff(offsets))
    distances = np.sqrt(squared)
    columns = (distances, squared, squared * distances, 1 / (1 + MERIT_ALPHA * squared))
    sums = [np.bincount(owner, weights=values, minlength=pairs) for values in columns]
    largest = np.zeros(pairs)
    np.maximum.at(largest, owner, squared)
    return np.stack([*sums, largest], axis=1)


def quantiles(squared: NDArray[Any], offsets: Ints, share: float) -> Array:
    """A quantile of each pair's distances, interpolated as numpy does by default; 0 for a pair without any.

    >>> quantiles(np.array([9, 1, 4, 49]), np.array([0, 3, 3, 4]), 0.25)
    array([1.5, 0. , 7. ])
    """
    lengths = np.diff(offsets)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    if squared.dtype.kind == "f":
        ordered = np.sqrt(squared[np.lexsort((squared, owner))])
    else:  # One sort for all pairs: squared distances in an image of at most 65,535 a side need 34 bits.
        ordered = np.sqrt(np.sort(owner << 34 | squared) & (2**34 - 1))
    out = np.zeros(len(lengths))
    rows = np.flatnonzero(lengths)
    place = share * (lengths[rows] - 1)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, lengths[rows] - 1)
    low, high = ordered[offsets[rows] + below], ordered[offsets[rows] + above]
    out[rows] = low + (high - low) * (place - below)
    return out


def merge(first: Directed, second: Directed) -> tuple[NDArray[Any], Ints]:
    """Both lists of each pair as one."""
    lengths = np.diff(first.offsets), np.diff(second.offsets)
    owner = np.concatenate([np.repeat(np.arange(len(length)), length) for length in lengths])
    order = np.argsort(owner, kind="stable")
    return np.concatenate([first.lists[0], second.lists[0]])[order], first.offsets + second.offsets


Rows: TypeAlias = "NDArray[np.int64]"

Lists: TypeAlias = "tuple[NDArray[Any], Rows]"  # squared distances, and offsets of each pair's

# As the core takes one side: runs, offsets and sizes (height, width) of masks, the object of each pair, and runs and
# offsets of outlines that were given (an object without one has no runs) or None.
RLEMasks: TypeAlias = "NDArray[np.uint32]"

Side: TypeAlias = "tuple[RLEMasks, Rows, NDArray[np.int32], Rows, RLEMasks | None, Rows | None]"

T = TypeVar("T")

# Columns of the core's statistics (see cpp/pairs/pairs.hpp); the first three are areas, which are known without them.
USUAL_POWERS = (1.0, 2.0, 3.0)

CONTOURS, TO_TRUTH, TO_PRED = slice(3, 6), slice(6, 11), slice(11, 16)


class Store:
    """What is known of the pairs of one batch, in the direction they were given."""

    def __init__(
        self,
        truth: Shapes,
        pred: Shapes,
        truth_rows: Rows,
        pred_rows: Rows,
        given: Sizes,
        polygons: PolygonRule,
        spacing: Spacing | None = None,
    ) -> None:
        self.spacing = spacing  # None: distances are in pixels
        self.shapes, self.object_rows, self.polygons = (truth, pred), (truth_rows, pred_rows), polygons
        self.sizes = agreed_sizes(truth.sizes[truth_rows], pred.sizes[pred_rows], given)
        self.is_sized = bool((self.sizes > 0).all())
        self.known: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.sizes)

    def part(self, rows: Rows) -> Store:
        mine, theirs = (objects[rows] for objects in self.object_rows)
        return Store(*self.shapes, mine, theirs, self.sizes[rows], self.polygons, self.spacing)

    @property
    def diagonals(self) -> Array:
        """How long the diagonal of each image is."""
        down, across = (1.0, 1.0) if self.spacing is None else self.spacing.plane
        sizes = self.known_sizes.astype(np.float64)
        return np.hypot(down * sizes[:, 0], across * sizes[:, 1])

    def once(self, key: object, compute: Callable[[], T]) -> T:
        if key not in self.known:
            self.known[key] = compute()
        found: T = self.known[key]
        return found

    @property
    def known_sizes(self) -> Sizes:
        """The sizes; an error where one is missing."""
        if self.is_sized:
            return self.sizes
        unknown = np.flatnonzero((self.sizes <= 0).any(axis=1))
        if len(unknown):
            raise DataError(
                f"pair {unknown[0]}: expected the size of the image, found none; boxes and polygons become pixels only "
                f"with it: {give_sizes('size=(WIDTH, HEIGHT)')}"
            )
        return self.sizes

    @property
    def boxes(self) -> tuple[Array, Array]:
        def look_up() -> tuple[Array, Array]:
            given, absent = self.given_boxes, self.absent
            mine, theirs = (
                np.where(none[:, None], 0.0, boxes) if none.any() else boxes
                for boxes, none in zip(given, absent, strict=True)
            )
            return mine, theirs

        return self.once("boxes", look_up)

    @property
    def given_boxes(self) -> tuple[Array, Array]:
        """The boxes as they came, with a box of their own for no object."""
        mine, theirs = self.shapes
        return mine.regions.boxes[self.object_rows[0]], theirs.regions.boxes[self.object_rows[1]]

    @property
    def absent(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Where a side has no object."""
        mine, theirs = ((boxes == NO_BOX).all(axis=1) for boxes in self.given_boxes)
        return mine, theirs

    @property
    def is_plain(self) -> NDArray[np.bool_]:
        """Pairs of two boxes, whose areas need no pixels."""
        (mine, theirs), (mine_rows, their_rows) = self.shapes, self.object_rows
        found: NDArray[np.bool_] = (mine.regions.kinds[mine_rows] == BOX) & (theirs.regions.kinds[their_rows] == BOX)
        return found

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both sides as pixels."""

        def draw() -> tuple[Side, Side]:
            sizes = self.known_sizes
            mine, theirs = (
                side_of(shapes, rows, sizes, self.polygons)
                for shapes, rows in zip(self.shapes, self.object_rows, strict=True)
            )
            return mine, theirs

        return self.once("sides", draw)

    @property
    def statistics(self) -> Array:
        return self.once("statistics", lambda: _core.pair_statistics(*self.sides))

    @property
    def contours(self) -> Array:
        return self.statistics[:, CONTOURS]

    def directed_sums(self, forward: bool) -> Array:
        if self.spacing is None:
            return self.statistics[:, TO_TRUTH if forward else TO_PRED]
        return self.once(("sums", forward), lambda: sum_squared(*self.lists[0 if forward else 1]))

    @property
    def lists(self) -> tuple[Lists, Lists]:
        if self.spacing is None:
            return self.once("lists", lambda: _core.pair_distances(*self.sides))
        steps = self.spacing.plane
        return self.once("lists", lambda: _core.spaced_distances(*self.sides, steps))

    def outside(self, forward: bool) -> Array:
        mine, theirs = self.sides if forward else reversed(self.sides)
        if self.spacing is None:
            return self.once(("outside", forward), lambda: _core.pair_outside(mine, theirs))
        steps = self.spacing.plane
        return self.once(("outside", forward), lambda: _core.spaced_outside(mine, theirs, steps))

    def distance_differences(self, power: float, cutoff: float) -> Array:
        """One pass over the image answers for all the usual powers."""
        powers = USUAL_POWERS if power in USUAL_POWERS else (power,)
        steps = (1.0, 1.0) if self.spacing is None else self.spacing.plane
        sums = self.once(
            ("differences", powers, cutoff),
            lambda: _core.distance_differences(*self.sides, np.array(powers), cutoff, steps),
        )
        column: Array = sums[:, powers.index(power)]
        return column

    @property
    def drawn_areas(self) -> Array:
        """How many pixels truth, pred and both have."""
        return self.once("drawn areas", lambda: _core.pair_overlaps(*self.sides))

    @property
    def areas(self) -> Array:
        """Areas of truth, pred and both: of two boxes as they are, else in pixels."""

        def count() -> Array:
            plain = self.is_plain
            if not plain.any():
                return self.drawn_areas
            out = np.empty((len(self), 3))
            out[plain] = box_areas(self.boxes[0][plain], self.boxes[1][plain])
            if not plain.all():
                out[~plain] = self.part(np.flatnonzero(~plain)).areas
            return out

        return self.once("areas", count)

    @property
    def table(self) -> Array:
        """Object and background of both sides; boxes are cut at the border of the image."""

        def count() -> Array:
            sizes = self.known_sizes.astype(np.float64)
            areas, plain = self.areas, self.is_plain
            if plain.any():
                limits = np.tile(sizes[plain][:, ::-1], 2)
                cut = [np.clip(boxes[plain], 0.0, limits) for boxes in self.boxes]
                areas = areas.copy()
                areas[plain] = box_areas(*cut)
            return table_of_one(areas, sizes.prod(axis=1))

        return self.once("table", count)

    def empty(self, on: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
        """Where either side is empty; None where no region is."""

        def look() -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
            if on == "box":
                truth, pred = (flat(boxes) for boxes in self.boxes)
            else:
                sizes = self.contours if on == "contour" else self.areas
                truth, pred = sizes[:, 0] <= 0, sizes[:, 1] <= 0
            return (truth, pred) if truth.any() or pred.any() else None

        return self.once(("empty", on), look)

    @property
    def placed(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Where each side is a box or a polygon, which has a place even without an area; no object and no mask has."""

        def look() -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
            truth, pred = (
                (shapes.regions.kinds[rows] != MASK) & ~none
                for shapes, rows, none in zip(self.shapes, self.object_rows, self.absent, strict=True)
            )
            return truth, pred

        return self.once("placed", look)


class LabelStore(Store):
    """Pairs of label images: all that is known of them is how their regions overlap."""

    spacing = None

    def __init__(
        self, truth: Sequence[Any], pred: Sequence[Any], size: ArrayLike | None, layout: str, polygons: PolygonRule
    ) -> None:
        sides = [
            [thing if is_image(thing) else one(thing, f"{what} {i}", layout) for i, thing in enumerate(things)]
            for what, things in (("truth", truth), ("pred", pred))
        ]
        claims = [[side.sizes[0] if isinstance(side, Shapes) else side.shape for side in column] for column in sides]
        self.sizes = agreed_sizes(*(np.array(claim, dtype=np.int32) for claim in claims), sizes_of(size, len(truth)))
        self.is_sized = bool((self.sizes > 0).all())
        couples = zip(*sides, self.known_sizes[:, None], strict=True)
        self.tables = stack([overlap_table(pixels(a, s, polygons), pixels(b, s, polygons)) for a, b, s in couples])

    @property
    def table(self) -> Array:
        return self.tables

    def empty(self, on: str) -> None:
        """Partitions have no empty regions: their formulas know what to say of an image without an object."""

    def part(self, rows: Rows) -> Store:
        new = object.__new__(LabelStore)
        new.tables, new.sizes, new.is_sized = self.tables[rows], self.sizes[rows], True
        return new

    def __getattr__(self, name: str) -> Any:
        raise DataError("label images: expected one object on either side for this, found several")


def pixels(side: Shapes | NDArray[Any], size: Sizes, polygons: PolygonRule) -> NDArray[Any]:
    """An image as it is, any other region drawn."""
    return array_of(rasterise(side.regions, size, polygons), 0) if isinstance(side, Shapes) else side


def aligned_images(truth: Any, pred: Any) -> tuple[list[Any], list[Any]]:
    """Label images of both sides, a single one repeated."""
    mine, theirs = list(truth), list(pred)
    count = max(len(mine), len(theirs)) if mine and theirs else 0
    for what, side in (("truth", mine), ("pred", theirs)):
        if len(side) not in (1, count):
            raise BadParameter(f"{what}: expected {count} label images, one a pair, found {len(side)}")
    return mine * (count if len(mine) == 1 else 1), theirs * (count if len(theirs) == 1 else 1)


def rows_of(shapes: Shapes, count: int) -> Rows:
    """Every object once, or a single one for all."""
    return np.arange(count, dtype=np.int64) if len(shapes) == count else np.zeros(count, dtype=np.int64)


def sizes_of(size: ArrayLike | None, count: int) -> Sizes:
    """Heights and widths from (width, height), once or for each pair; 0 where not given."""
    if size is None:
        return np.zeros((count, 2), dtype=np.int32)
    values = np.asarray(size)
    if values.ndim == 2 and values.shape == (count, 2):
        return np.ascontiguousarray(values[:, ::-1], dtype=np.int32)
    width, height = checked_size(size)
    return np.tile(np.array([height, width], dtype=np.int32), (count, 1))


def agreed_sizes(*claims: Sizes) -> Sizes:
    """The size of each pair's image by whoever knows it; all who know it must agree."""
    sizes = claims[0].copy()
    for claim in claims[1:]:
        known, new = (sizes > 0).all(axis=1), (claim > 0).all(axis=1)
        differs = np.flatnonzero(known & new & (sizes != claim).any(axis=1))
        if len(differs):
            i = differs[0]
            found = f"{spell_size(sizes[i])} and {spell_size(claim[i])}"
            raise DataError(f"pair {i}: expected regions of one image, found {found} pixels")
        sizes[~known] = claim[~known]
    return sizes


def side_of(shapes: Shapes, rows: Rows, sizes: Sizes, polygons: PolygonRule) -> Side:
    """One side as the core takes it: every object that a pair asks for, drawn once."""
    regions, outlines = shapes.regions, shapes.outlines
    object_sizes = np.zeros((len(regions), 2), dtype=np.int32)
    object_sizes[rows] = sizes
    is_everyone = len(rows) == len(regions) and (rows == np.arange(len(rows))).all()
    if not is_everyone and ((object_sizes[rows] != sizes).any() or len(np.unique(rows)) < len(regions)):
        # An object in images of different sizes, or objects that nobody asks for: one copy a pair.
        regions = regions.take(rows)
        outlines = outlines.take(rows) if outlines is not None else None
        object_sizes, rows = sizes, np.arange(len(rows), dtype=np.int64)
    runs = rasterise(regions, object_sizes, polygons)
    given: tuple[Any, Any] = (None, None) if outlines is None else (outlines.counts, outlines.objects)
    rows = np.ascontiguousarray(rows, dtype=np.int64)
    return (runs.counts, runs.objects, np.ascontiguousarray(runs.sizes), rows, *given)


def box_areas(truth: Array, pred: Array) -> Array:
    """Areas of two boxes and of what they share, [n, 3]."""
    sides = [(box[:, 2:] - box[:, :2]).clip(min=0.0) for box in (truth, pred)]
    shared = (np.minimum(truth[:, 2:], pred[:, 2:]) - np.maximum(truth[:, :2], pred[:, :2])).clip(min=0.0)
    return np.stack([side.prod(axis=1) for side in (*sides, shared)], axis=1)


def flat(boxes: Array) -> NDArray[np.bool_]:
    """Boxes without an inside."""
    return (boxes[:, 2] <= boxes[:, 0]) | (boxes[:, 3] <= boxes[:, 1])
