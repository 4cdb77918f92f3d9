"""Keypoints, object by object, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter
from verite.model.freeze import freeze
from verite.model.layouts import Floats
from verite.model.ragged import Ints, offsets_of
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

VISIBLE = 2.0  # COCO's word for a point that is seen; 1: labelled but hidden, 0: not labelled


@record(eq=False)
class Keypoints:
    """Points x, y and visibility (0: not labelled), in objects. An object without a pose has no point."""

    points: Floats  # [p, 3]
    objects: Ints  # object i has the points objects[i] .. objects[i + 1]

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", freeze(np.asarray(self.points, dtype=np.float64).reshape(-1, 3), np.float64))
        object.__setattr__(self, "objects", freeze(self.objects, np.int64))

    def __len__(self) -> int:
        return len(self.objects) - 1

    def __getitem__(self, i: int) -> Floats:
        """The points of object i, [n, 3]."""
        return self.points[self.objects[i] : self.objects[i + 1]]

    @property
    def counts(self) -> Ints:
        """How many points each object has."""
        return np.diff(self.objects)

    @property
    def owners(self) -> Ints:
        """The object of each point."""
        return np.repeat(np.arange(len(self)), self.counts)

    @property
    def labelled(self) -> NDArray[np.int64]:
        """How many points of each object are labelled."""
        return np.bincount(self.owners, weights=self.points[:, 2] > 0, minlength=len(self)).astype(np.int64)

    @property
    def arrays(self) -> tuple[Floats, Ints]:
        """Numbers one after the other, and where those of each object start."""
        return freeze(self.points.ravel(), np.float64), freeze(3 * self.objects, np.int64)

    @staticmethod
    def of(objects: Sequence[Any]) -> Keypoints:
        """From [n, 3] or [n, 2] or flat lists of threes per object, None where an object has no pose.

        Points without a visibility are visible.
        """
        found = [points_of(points) for points in objects]
        lengths = np.array([len(points) for points in found], dtype=np.int64)
        return Keypoints(np.concatenate(found) if found else np.empty((0, 3)), offsets_of(lengths))


def points_of(given: Any) -> Floats:
    """One object's points as x, y and visibility."""
    points = np.asarray([] if given is None else given, dtype=np.float64)
    if points.size == 0:
        return np.empty((0, 3))
    if points.ndim == 2 and points.shape[1] == 2:
        return np.concatenate([points, np.full((len(points), 1), VISIBLE)], axis=1)
    if points.ndim > 2 or points.size % 3 or (points.ndim == 2 and points.shape[1] != 3):
        raise BadParameter(f"keypoints: expected x, y and visibility of each point, found shape {points.shape}")
    return points.reshape(-1, 3)
