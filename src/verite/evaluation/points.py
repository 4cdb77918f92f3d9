"""Points matched by their distance: the maximum distance of a match, and localization errors in pixels or units.

Cells, heads in a crowd, trees, keypoint-like detections: an object is one point. With ``on="point"`` the similarity of
two points is 1 − d / 2D, where d is their distance and D the maximum distance of the ground-truth point: a threshold of
0.5 is d ≤ D, one of 0.75 is d ≤ D / 2. The point of an object is the mean of its labelled keypoints if it has any, else
the centre of its box.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite, nan
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import excerpt
from verite.settings import Number, Option, Setting, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from verite.evaluation.evaluation import Outcomes
    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]

DIAGONAL = "10%"  # the default: a tenth of the image's diagonal
NUMBER = re.compile(r"\s*([0-9.eE+-]+)\s*(%|px|size|)\s*")
# Most predictions of an image and class that count: COCO's 100 would cut crowds, the largest have some 13,000 heads.
MOST = 100_000
EXPECTED = "a distance such as 20 (pixels), 10% (of the image's diagonal) or 0.5size (of the object's size)"


@dataclass(frozen=True)
class MaxDistance:
    """The maximum distance of a match: in pixels (or units), as a share of the image's diagonal or the object's size.

    >>> MaxDistance.parse("10%"), str(MaxDistance.parse(12.5)), str(MaxDistance.parse("0.5size"))
    (MaxDistance(amount=0.1, of='diagonal'), '12.5', '0.5size')
    """

    amount: float
    of: str = "pixels"

    @classmethod
    def parse(cls, value: object) -> MaxDistance | None:
        """Return the distance from a number or a text; None if it is neither, or not positive."""
        if isinstance(value, MaxDistance):
            return value
        if isinstance(value, Mapping) and set(value) == {"amount", "of"}:  # as partial results write it
            amount, of = value["amount"], value["of"]
            is_valid = isinstance(amount, float) and 0 < amount < inf and of in ("pixels", "diagonal", "size")
            return cls(amount, of) if is_valid else None
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            return None
        found = NUMBER.fullmatch(str(value))
        try:
            amount = float(found.group(1)) if found else nan
        except ValueError:
            return None
        if found is None or not 0 < amount < inf:
            return None
        of = {"%": "diagonal", "size": "size"}.get(found.group(2), "pixels")
        return cls(amount / 100 if of == "diagonal" else amount, of)

    def __str__(self) -> str:
        amount = f"{self.amount * 100 if self.of == 'diagonal' else self.amount:.12g}"
        return amount + {"pixels": "", "diagonal": "%", "size": "size"}[self.of]

    def words(self, pixel_size: float | None) -> str:
        """Return the distance as a sentence says it."""
        if self.of == "diagonal":
            return f"{100 * self.amount:g} % of the image's diagonal"
        if self.of == "size":
            return f"{self.amount:g} times the size of the object"
        return f"{self.amount:g} {unit_of(pixel_size)}"


class MaxDistanceSetting(Setting[Any, Any]):
    """The maximum distance of a match of points."""

    kind = "text"
    takes = "float | str"

    def __init__(self) -> None:
        super().__init__(
            None,
            "Maximum distance of points: 12 (pixels), 10% (diagonal) or 0.5size (box).",
            metavar="D",
            default_text="10%",
            omit_default=True,
        )

    def validate(self, value: Any) -> MaxDistance:
        found = MaxDistance.parse(value)
        if found is None:
            raise self.refuse(EXPECTED, excerpt(value))
        return found

    def format(self, value: MaxDistance) -> object:
        return str(value)


class PixelSize(Number[Any, Any]):
    """The size of a pixel in the unit of distances."""

    def __init__(self) -> None:
        super().__init__(
            None, "Size of a pixel, such as 0.25 (µm): distances of points are in this unit then.", metavar="SIZE",
            default_text="1", omit_default=True, is_rare=True,
        )  # fmt: skip

    def validate(self, value: Any) -> float:
        return self.validate_number(value, lambda v: v > 0 and isfinite(v), "a number above 0")


class PointSettings(Settings):
    """Settings of evaluations that can compare points."""

    max_distance: Setting[Any, Any] = MaxDistanceSetting()
    pixel_size: Option[float | None] = PixelSize()


def check_distance(settings: Any) -> None:
    """Raise `BadParameter` if a distance of points is given, and points are not compared."""
    for name in PointSettings.declared:
        if settings.on != "point" and getattr(settings, name) is not None:
            raise type(settings).declared[name].refuse("nothing but with on=point", getattr(settings, name))


def reach_of(settings: Any) -> tuple[float, float, float]:
    """Return the maximum distance as the core takes it: pixels, share of the diagonal, share of the object's size."""
    distance = settings.max_distance if settings.on == "point" else None
    if distance is None:
        return (0.0, 0.0, 0.0)
    pixels = distance.amount / (settings.pixel_size or 1.0)
    return (
        pixels if distance.of == "pixels" else 0.0,
        distance.amount if distance.of == "diagonal" else 0.0,
        distance.amount if distance.of == "size" else 0.0,
    )


def unit_of(pixel_size: float | None) -> str:
    """Return what distances are measured in."""
    return "px" if pixel_size is None else "units"


def points_of(side: Annotations) -> Floats:
    """Return the point of every object, [object, 2]: the mean of its labelled keypoints, else its box's centre.

    >>> from verite import Annotations
    >>> points_of(Annotations.of(["a"], ["cell"], [[0, 0, 10, 4]]))
    array([[5., 2.]])
    """
    boxes = side.regions.boxes
    found = (boxes[:, :2] + boxes[:, 2:]) / 2
    keypoints = side.regions.keypoints
    if keypoints is None:
        return np.asarray(found)
    is_labelled = keypoints.points[:, 2] > 0
    owners = keypoints.owners[is_labelled]
    counts = np.bincount(owners, minlength=len(side))
    for axis in range(2):
        sums = np.bincount(owners, keypoints.points[is_labelled, axis], minlength=len(side))
        found[:, axis] = np.where(counts > 0, sums / np.maximum(counts, 1), found[:, axis])
    return np.asarray(found)


@dataclass(frozen=True)
class DistanceErrors:
    """Distances between the points of matches: mean, median and root mean square, with their number."""

    mean: float
    median: float
    rms: float
    matches: int

    @classmethod
    def of(cls, distances: Floats) -> DistanceErrors:
        """Return the summary of some distances; nan without any.

        >>> DistanceErrors.of(np.array([3.0, 4.0, 8.0])).mean
        5.0
        """
        if not len(distances):
            return cls(nan, nan, nan, 0)
        rms = float(np.sqrt(np.mean(distances**2)))
        return cls(float(np.mean(distances)), float(np.median(distances)), rms, len(distances))

    def to_dict(self) -> dict[str, float]:
        return {"mean": self.mean, "median": self.median, "rms": self.rms, "matches": self.matches}


def summarise_distances(
    truth: Annotations, pred: Annotations, outcomes: Outcomes, classes: int, pixel_size: float | None
) -> tuple[DistanceErrors, list[DistanceErrors]]:
    """Return the distances of true positives, of all classes and of each, in pixels or units.

    Parameters
    ----------
    truth, pred
        Both sides of an evaluation of points.
    outcomes
        The outcome of every object at one threshold.
    classes
        How many classes there are; predictions of another class than their object count for the object's.
    pixel_size
        Units per pixel; None: distances are in pixels.
    """
    rows = np.flatnonzero((outcomes.state == 1) & (outcomes.truth >= 0))
    matched = outcomes.truth[rows]
    moved = points_of(pred)[rows] - points_of(truth)[matched]
    distances = np.hypot(moved[:, 0], moved[:, 1]) * (pixel_size or 1.0)
    labels = truth.label[matched]
    return DistanceErrors.of(distances), [DistanceErrors.of(distances[labels == k]) for k in range(classes)]


def distance_sentence(errors: DistanceErrors, distance: MaxDistance, pixel_size: float | None) -> str:
    """Return what is printed below the scores: the maximum distance, and the localization error of the matches.

    Parameters
    ----------
    errors
        Distances between matched points, in the unit of the settings.
    distance
        The maximum distance of a match.
    pixel_size
        Size of a pixel in physical units; None for distances in pixels.

    Returns
    -------
    str
        One sentence with the number of matches and the mean, median and root mean square of their distances.
    """
    unit, values = unit_of(pixel_size), (errors.mean, errors.median, errors.rms)
    mean, median, rms = ("–" if value != value else f"{value:.2f} {unit}" for value in values)
    matches = "1 match" if errors.matches == 1 else f"{errors.matches:,} matches"
    return (
        f"points match up to {distance.words(pixel_size)}; localization error of {matches}: "
        f"mean {mean}, median {median}, RMS {rms}"
    )


def mean_column(errors: Sequence[DistanceErrors]) -> list[float]:
    """Return the mean distance of each class."""
    return [one.mean for one in errors]
