"""Polygons and run-length encoded (RLE) masks of many objects, as flat arrays with offsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.model.layouts import Floats
from verite.model.ragged import Ints, freeze, gather, is_every, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Polygons:
    """Polygons of many objects. An object may have several rings, or none if it has no polygon.

    Parameters
    ----------
    points : array of float64, shape (p, 2)
        x and y of the points of all rings.
    rings : array of int64
        Offsets: ring r has the points ``rings[r]`` to ``rings[r + 1]``.
    objects : array of int64
        Offsets: object i has the rings ``objects[i]`` to ``objects[i + 1]``.

    Examples
    --------
    >>> polygons = Polygons.of([[[0, 0, 4, 0, 4, 4]], []])
    >>> len(polygons), polygons[0], polygons[1]
    (2, [array([[0., 0.],
           [4., 0.],
           [4., 4.]])], [])
    """

    points: Floats  # [p, 2]
    rings: Ints  # ring r has the points rings[r] .. rings[r + 1]
    objects: Ints  # object i has the rings objects[i] .. objects[i + 1]

    def __post_init__(self) -> None:
        for name, dtype in (("points", np.float64), ("rings", np.int64), ("objects", np.int64)):
            object.__setattr__(self, name, freeze(getattr(self, name), dtype))

    def __len__(self) -> int:
        return len(self.objects) - 1

    def __getitem__(self, i: int) -> list[Floats]:
        """Return the rings of object i, each an array of shape (points, 2)."""
        first, last = self.objects[i], self.objects[i + 1]
        return [self.points[self.rings[r] : self.rings[r + 1]] for r in range(first, last)]

    def take(self, rows: NDArray[np.integer]) -> Polygons:
        """Return the polygons of some objects, in the given order."""
        if is_every(rows, len(self)):
            return self
        chosen, objects = gather(self.objects, rows)
        points, rings = gather(self.rings, chosen)
        return Polygons(self.points[points], rings, objects)

    def move(self, change: Callable[[Floats, Ints], Floats]) -> Polygons:
        """Return polygons whose points are ``change(points, object of each point)``."""
        owner = np.repeat(np.repeat(np.arange(len(self)), np.diff(self.objects)), np.diff(self.rings))
        return Polygons(change(self.points, owner), self.rings, self.objects)

    @staticmethod
    def of(objects: list[list[Any]]) -> Polygons:
        """Return polygons from nested lists: objects, their rings, each flat (x, y, x, y, …) or of shape (n, 2)."""
        rings = [np.asarray(ring, dtype=np.float64).reshape(-1, 2) for rings in objects for ring in rings]
        points = np.concatenate(rings) if rings else np.empty((0, 2))
        lengths = np.array([len(r) for r in rings], dtype=np.int64)
        counts = np.array([len(r) for r in objects], dtype=np.int64)
        return Polygons(points, offsets_of(lengths), offsets_of(counts))


@dataclass(frozen=True, eq=False)
class RLEMasks:
    """Run-length encoded masks of many objects, as COCO has them: by columns, the first run counts background.

    An object without a mask has no runs and the size 0 × 0.

    Parameters
    ----------
    counts : array of uint32
        Lengths of the runs of all masks.
    objects : array of int64
        Offsets: object i has the runs ``objects[i]`` to ``objects[i + 1]``.
    sizes : array of int32, shape (n, 2)
        Height and width of the image of each mask.

    Examples
    --------
    >>> masks = RLEMasks.of([([0, 8, 8], (4, 4)), None])  # the left half of 4 × 4 pixels, and no mask
    >>> len(masks), masks[0], masks[1].size
    (2, array([0, 8, 8], dtype=uint32), 0)
    """

    counts: NDArray[np.uint32]
    objects: Ints  # object i has the runs objects[i] .. objects[i + 1]
    sizes: NDArray[np.int32]  # [n, 2] height and width of the image each mask covers

    def __post_init__(self) -> None:
        for name, dtype in (("counts", np.uint32), ("objects", np.int64), ("sizes", np.int32)):
            object.__setattr__(self, name, freeze(getattr(self, name), dtype))

    def __len__(self) -> int:
        return len(self.objects) - 1

    @property
    def arrays(self) -> tuple[NDArray[np.uint32], Ints, NDArray[np.int32]]:
        """`counts`, `objects` and `sizes`, as the core expects them."""
        return self.counts, self.objects, self.sizes

    def __getitem__(self, i: int) -> NDArray[np.uint32]:
        """Return the runs of object i."""
        return self.counts[self.objects[i] : self.objects[i + 1]]

    def take(self, rows: NDArray[np.integer]) -> RLEMasks:
        """Return the masks of some objects, in the given order."""
        if is_every(rows, len(self)):
            return self
        counts, objects = gather(self.objects, rows)
        return RLEMasks(self.counts[counts], objects, self.sizes[rows])

    @staticmethod
    def of(objects: Sequence[tuple[list[int] | NDArray[np.uint32], tuple[int, int]] | None]) -> RLEMasks:
        """Return masks from (counts, (height, width)) per object; None for an object without a mask."""
        counts = [np.asarray(o[0] if o else [], dtype=np.uint32) for o in objects]
        sizes = np.array([o[1] if o else (0, 0) for o in objects], dtype=np.int32).reshape(-1, 2)
        lengths = np.array([len(c) for c in counts], dtype=np.int64)
        return RLEMasks(np.concatenate(counts) if counts else np.empty(0, np.uint32), offsets_of(lengths), sizes)
