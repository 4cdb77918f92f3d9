"""Keypoints, object by object, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter, excerpt
from verite.model.layouts import Floats
from verite.model.ragged import Ints, freeze, offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


VISIBLE = 2.0  # COCO's word for a point that is seen; 1: labelled but hidden, 0: not labelled


@dataclass(frozen=True, eq=False)
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


# The standard deviation of where people place each point, in parts of the root of an object's area (COCO, CrowdPose).
SIGMAS = {
    "coco": tuple(
        tenths / 10.0
        for tenths in (.26, .25, .25, .35, .35, .79, .79, .72, .72, .62, .62, 1.07, 1.07, .87, .87, .89, .89)
    ),
    "crowdpose": tuple(
        tenths / 10.0 for tenths in (.79, .79, .72, .72, .62, .62, 1.07, 1.07, .87, .87, .89, .89, .79, .79)
    ),
}  # fmt: skip

# Left and right of COCO's seventeen and CrowdPose's fourteen points, for files that do not name them.
KNOWN_PAIRS = {
    17: tuple((i, i + 1) for i in range(1, 17, 2)),
    14: tuple((i, i + 1) for i in range(0, 12, 2)),
}

SIDES = (("left", "right"), ("l_", "r_"), ("_l", "_r"))


@dataclass(frozen=True)
class Skeleton:
    """The keypoints of one class: names, pairs that are joined, and sigmas; what is not known is empty."""

    names: tuple[str, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()  # positions of points, counted from 0
    sigmas: tuple[float, ...] = ()

    @property
    def mirrored(self) -> tuple[int, ...]:
        """For each point the one on the other side of the body, or itself; empty where names do not tell.

        >>> Skeleton(names=("nose", "left_eye", "right_eye")).mirrored
        (0, 2, 1)
        """
        index = {name.lower(): i for i, name in enumerate(self.names)}
        other = list(range(len(self.names)))
        for name, i in index.items():
            for left, right in SIDES:
                swapped = name.replace(left, right) if left in name else name.replace(right, left)
                if swapped != name and swapped in index:
                    other[i] = index[swapped]
                    break
        return tuple(other) if any(i != j for i, j in enumerate(other)) else ()


def check_sigmas(values: Sequence[float], what: str = "sigmas") -> tuple[float, ...]:
    """One positive number for each keypoint."""
    try:
        sigmas = tuple(float(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        raise BadParameter(f"{what}: expected a number above 0 for each keypoint, found {excerpt(values)}") from None
    odd = next((value for value in sigmas if not (value > 0 and isfinite(value))), None)
    if not sigmas or odd is not None:
        raise BadParameter(f"{what}: expected a number above 0 for each keypoint, found {odd if sigmas else 'none'}")
    return sigmas


def spell_sigmas(sigmas: Sequence[float]) -> str:
    """The name of well-known ones, others number by number.

    >>> spell_sigmas(SIGMAS["crowdpose"]), spell_sigmas([0.05, 0.1])
    ('crowdpose', '0.05,0.1')
    """
    known = next((name for name, values in SIGMAS.items() if values == tuple(sigmas)), None)
    return known or ",".join(f"{sigma:g}" for sigma in sigmas)


def mirrors_of(skeletons: Sequence[Skeleton] | None, counts: Sequence[int]) -> list[list[int]]:
    """For each class and point the one on the other side, by names or as in COCO; nothing where it is unknown.

    >>> mirrors_of([Skeleton(names=("left", "right"))], [2]), mirrors_of(None, [3])
    ([[1, 0]], [[]])
    """
    found = []
    for i, count in enumerate(counts):
        named = list(skeletons[i].mirrored) if skeletons is not None else []
        other = list(range(count)) if count in KNOWN_PAIRS else []
        for left, right in KNOWN_PAIRS.get(count, ()):
            other[left], other[right] = right, left
        found.append(named if len(named) == count else other)
    return found
