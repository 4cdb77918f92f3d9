"""Where the objects are: a box each, and for some a polygon or a run-length mask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter
from verite.model.layouts import Floats, Kept, keep, layout_name, to_corners, to_sizes
from verite.model.ragged import Ints, gather, is_every, offsets_of
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

BOX, POLYGON, MASK = 0, 1, 2


def frozen(values: ArrayLike, dtype: Any) -> NDArray[Any]:
    """A contiguous array of that type that nobody can write to."""
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


@record(eq=False)
class Polygons:
    """Outlines: `points` in rings, rings in objects. An object without an outline has no ring."""

    points: Floats  # [p, 2]
    rings: Ints  # ring r has the points rings[r] .. rings[r + 1]
    objects: Ints  # object i has the rings objects[i] .. objects[i + 1]

    def __post_init__(self) -> None:
        for name, dtype in (("points", np.float64), ("rings", np.int64), ("objects", np.int64)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    def __len__(self) -> int:
        return len(self.objects) - 1

    def __getitem__(self, i: int) -> list[Floats]:
        """The rings of object i."""
        first, last = self.objects[i], self.objects[i + 1]
        return [self.points[self.rings[r] : self.rings[r + 1]] for r in range(first, last)]

    def take(self, rows: NDArray[np.integer]) -> Polygons:
        """The outlines of these objects."""
        if is_every(rows, len(self)):
            return self
        chosen, objects = gather(self.objects, rows)
        points, rings = gather(self.rings, chosen)
        return Polygons(self.points[points], rings, objects)

    def moved(self, change: Callable[[Floats, Ints], Floats]) -> Polygons:
        """The outlines with `change(points, object of each point)` for their points."""
        owner = np.repeat(np.repeat(np.arange(len(self)), np.diff(self.objects)), np.diff(self.rings))
        return Polygons(change(self.points, owner), self.rings, self.objects)

    @staticmethod
    def of(objects: list[list[Any]]) -> Polygons:
        """From nested lists: objects, their rings, each a flat or an [n, 2] list of numbers."""
        rings = [np.asarray(ring, dtype=np.float64).reshape(-1, 2) for rings in objects for ring in rings]
        points = np.concatenate(rings) if rings else np.empty((0, 2))
        lengths = np.array([len(r) for r in rings], dtype=np.int64)
        counts = np.array([len(r) for r in objects], dtype=np.int64)
        return Polygons(points, offsets_of(lengths), offsets_of(counts))


@record(eq=False)
class Runs:
    """Run-length masks as COCO writes them: column by column, the first run counts background.

    An object without a mask has no run and the size 0 × 0.
    """

    counts: NDArray[np.uint32]
    objects: Ints  # object i has the runs objects[i] .. objects[i + 1]
    sizes: NDArray[np.int32]  # [n, 2] height and width of the image each mask covers

    def __post_init__(self) -> None:
        for name, dtype in (("counts", np.uint32), ("objects", np.int64), ("sizes", np.int32)):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))

    def __len__(self) -> int:
        return len(self.objects) - 1

    @property
    def arrays(self) -> tuple[NDArray[np.uint32], Ints, NDArray[np.int32]]:
        return self.counts, self.objects, self.sizes

    def __getitem__(self, i: int) -> NDArray[np.uint32]:
        return self.counts[self.objects[i] : self.objects[i + 1]]

    def take(self, rows: NDArray[np.integer]) -> Runs:
        """The masks of these objects."""
        if is_every(rows, len(self)):
            return self
        counts, objects = gather(self.objects, rows)
        return Runs(self.counts[counts], objects, self.sizes[rows])

    @staticmethod
    def of(objects: Sequence[tuple[list[int] | NDArray[np.uint32], tuple[int, int]] | None]) -> Runs:
        """From (counts, (height, width)) per object, None where an object has no mask."""
        counts = [np.asarray(o[0] if o else [], dtype=np.uint32) for o in objects]
        sizes = np.array([o[1] if o else (0, 0) for o in objects], dtype=np.int32).reshape(-1, 2)
        lengths = np.array([len(c) for c in counts], dtype=np.int64)
        return Runs(np.concatenate(counts) if counts else np.empty(0, np.uint32), offsets_of(lengths), sizes)


Outlines = Callable[[], tuple[Polygons | None, Runs | None]]


class Regions:
    """One region per object. Boxes are continuous coordinates; pixel rules belong to the protocols.

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
        runs: Runs | None = None,
        outlines: Outlines | None = None,
        kinds: NDArray[np.uint8] | None = None,
        boxed: NDArray[np.bool_] | None = None,
    ) -> None:
        """`outlines` gives polygons and runs when they are first asked for; `kinds` says beforehand what.

        `boxed` says which objects came with a box; those of the others were put around their polygon or mask.
        """
        values = np.asarray(boxes, dtype=np.float64)
        if values.size == 0:
            values = values.reshape(0, 4)
        if values.ndim != 2 or values.shape[1] != 4:
            raise BadParameter(f"boxes: expected shape (n, 4), found {values.shape}")
        kept, self.kept = keep(values, layout_name(layout))
        self.values: Floats = frozen(kept, np.float64)
        self.boxed = frozen(boxed, np.bool_) if boxed is not None and not np.all(boxed) else None  # None: all
        self._outlines = outlines
        if kinds is not None:
            self.__dict__["kinds"] = frozen(kinds, np.uint8)
        if outlines is None:
            self.__dict__["outlines"] = self.checked(polygons, runs)

    kept: Kept

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def boxes(self) -> Floats:
        """Corners x1, y1, x2, y2."""
        return frozen(to_corners(self.values, self.kept), np.float64)

    @cached_property
    def sizes(self) -> Floats:
        """Left, top, width, height; exactly the file's numbers where the file has them."""
        return frozen(to_sizes(self.values, self.kept), np.float64)

    @cached_property
    def outlines(self) -> tuple[Polygons | None, Runs | None]:
        """Polygons and run-length masks, of those objects that have them."""
        assert self._outlines is not None
        return self.checked(*self._outlines())

    def checked(self, polygons: Polygons | None, runs: Runs | None) -> tuple[Polygons | None, Runs | None]:
        for name, part in (("polygons", polygons), ("runs", runs)):
            if part is not None and len(part) != len(self):
                raise BadParameter(f"{name}: expected {len(self)} objects as in boxes, found {len(part)}")
        return (
            polygons if polygons is not None and len(polygons.rings) > 1 else None,
            runs if runs is not None and len(runs.counts) else None,
        )

    @property
    def polygons(self) -> Polygons | None:
        return self.outlines[0]

    @property
    def runs(self) -> Runs | None:
        return self.outlines[1]

    @property
    def has_only_boxes(self) -> bool:
        """Is there no polygon and no mask at all? Known without reading them."""
        return not self.kinds.any()

    @cached_property
    def kinds(self) -> NDArray[np.uint8]:
        """What each object has best: BOX, POLYGON or MASK."""
        kinds = np.full(len(self), BOX, dtype=np.uint8)
        if self.polygons is not None:
            kinds[np.diff(self.polygons.objects) > 0] = POLYGON
        if self.runs is not None:
            kinds[np.diff(self.runs.objects) > 0] = MASK
        return kinds

    def take(self, rows: NDArray[np.integer]) -> Regions:
        """The regions of these objects."""

        def taken() -> tuple[Polygons | None, Runs | None]:
            polygons, runs = self.outlines
            return polygons.take(rows) if polygons else None, runs.take(rows) if runs else None

        boxed = self.boxed[rows] if self.boxed is not None else None
        return Regions(self.values[rows], self.kept, outlines=taken, kinds=self.kinds[rows], boxed=boxed)

    def scaled(self, factors: Floats) -> Regions:
        """Boxes and polygons of object i stretched by factors[i] = (x, y). Masks are made of pixels and stay."""

        def stretched() -> tuple[Polygons | None, Runs | None]:
            polygons, runs = self.outlines
            return polygons.moved(lambda points, owner: points * factors[owner]) if polygons else None, runs

        values = self.values * np.tile(factors, 2)
        return Regions(values, self.kept, outlines=stretched, kinds=self.kinds, boxed=self.boxed)
