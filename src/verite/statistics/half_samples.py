"""Confidence interval around average precision by half-samples: expected on test sets of this size, or on N images.

AP of few images lies above AP of many, because interpolated precision is a maximum: with 80 classes by about 0.8 / √n,
which is one to two standard deviations at every n. So there are two questions, and two intervals. Let s be the standard
deviation of the score over random halves of the images, and b its mean over the halves less the score itself.

- The mean over test sets of this size: score ± z s. A half, drawn without replacement, varies about as much as the
  whole does. The scores of two test sets of this size differ with a standard deviation of √2 s.
- N images, these n among them, or infinitely many: centre score − f b with f = (1 − √(n / N)) / (√2 − 1), since from
  n/2 to n images the bias falls by b if it is proportional to n^(-1/2), hence by f b from n to N. Standard deviation:
  √(s² (1 − n / N) + (0.4 f b)²), with the finite population correction of survey sampling (Cochran, Sampling Techniques
  1977) and what is not known of f b: as an estimate it varies, which adds a variance of about (0.36 f b)², and the bias
  is not quite proportional to n^(-1/2), which adds about (0.2 f b)². On real detectors it falls faster, on generated
  ones slower.

Percentile bootstrap intervals cover neither: resampling adds to the bias (`benchmarks/statistics.py --only S3`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from numbers import Integral
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter, DataError, excerpt, spell_option
from verite.statistics.intervals import check_level, student_quantile
from verite.statistics.resampling import warn_of_few

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject

HALVES = 200  # random halves of the images
ALL = "all"  # as a number of images: infinitely many
BIAS_DOUBT = 0.4  # standard deviation of an extrapolated bias, as a share of it
MIN_IMAGES = 100
FEW_IMAGES = 8  # a class in fewer images is rare; half of them may be in no half-sample


@dataclass(frozen=True)
class ScoreInterval:
    """A confidence interval around a score.

    Attributes
    ----------
    score : str
        The name of the score.
    value : float
        The centre: the score itself, or what it is expected to be on `images` images.
    low, high : float
        The ends of the interval.
    level : float
        The confidence level.
    images : int or "all"
        The number of images that the interval is for: that of the test set for the mean over test sets of this size,
        another one for that many images with these among them; "all" stands for infinitely many.
    measured : float
        The score.
    measured_on : int
        The number of images that it was measured on.
    deviation : float
        Its standard deviation over test sets of this size.
    excess : float
        By how much the score on these images lies above that on infinitely many: b / (√2 − 1).
    groups : int, optional
        The effective number of groups of images, where these were halved instead of single images.
    """

    score: str
    value: float
    low: float
    high: float
    level: float
    images: int | str
    measured: float
    measured_on: int
    deviation: float
    excess: float
    groups: int | None = None

    def __str__(self) -> str:
        few = "".join(f"; {line}" for line in warn_of_few(self.groups))
        ends = f"[{self.low:.4f}, {self.high:.4f}], {100 * self.level:g} % confidence interval"
        if self.images == self.measured_on:
            found = f"{self.score} {self.value:.4f} {ends} of the mean over test sets of {self.measured_on:,} images"
            more = f"; on more images {self.score} is lower, by up to about {self.excess:.4f}"
            return found + (more if self.excess > 0 else "") + few
        many = "infinitely many images" if self.images == ALL else f"{self.images:,} images"
        return (
            f"{self.score} on {many} {self.value:.4f} {ends}, from {self.measured:.4f} on {self.measured_on:,} images"
            f"{few}"
        )

    def to_dict(self) -> JsonObject:
        """The documented keys of the JSON document."""
        return {"value": self.value, "low": self.low, "high": self.high, "level": self.level, "for": self.images,
                "sd": self.deviation, "excess": self.excess}  # fmt: skip


def half_sample_interval(
    score: str,
    value: float,
    halves: NDArray[Any],
    measured_on: int,
    *,
    units: int | None = None,
    images: int | str | None = None,
    level: float = 0.95,
) -> ScoreInterval:
    """Return the confidence interval of a score from its values on random halves of the images.

    Parameters
    ----------
    score, value
        The name of the score, and its value on all images.
    halves
        Its value on each half; nan where it does not exist is left out.
    measured_on
        The number of images.
    units
        The effective number of units that were halved, where these are groups of images.
    images
        The number of images that the interval is for, those of the test set among them, or "all"; by default, and for
        the number of images that there is, the mean over test sets of this size.
    level
        The confidence level.

    Examples
    --------
    >>> found = half_sample_interval("AP", 0.4, np.array([0.40, 0.42, 0.44]), 500)
    >>> round(found.value, 4), round(found.high - found.low, 4), round(found.excess, 4)
    (0.4, 0.0786, 0.0483)
    >>> more = half_sample_interval("AP", 0.4, np.array([0.40, 0.42, 0.44]), 500, images="all")
    >>> round(more.value, 4), round(more.high - more.low, 4)
    (0.3517, 0.1093)
    """
    check_level(level)
    images = check_images(images)
    present = halves[~np.isnan(halves)]
    freedom = (units or measured_on) - 1
    deviation = bias = float("nan")
    if len(present) > 1 and freedom:
        deviation, bias = float(np.std(present, ddof=1)), float(present.mean()) - value
    shift, spread = 0.0, deviation
    if images is not None and images != measured_on:
        share = 0.0 if images == ALL else measured_on / float(images)
        shift = (1 - sqrt(share)) / (sqrt(2) - 1) * bias
        spread = sqrt(deviation**2 * abs(1 - share) + (BIAS_DOUBT * shift) ** 2)
    centre = value - shift
    reach = student_quantile(NormalDist().inv_cdf((1 + level) / 2), max(freedom, 1)) * spread
    return ScoreInterval(
        score, centre, centre - reach, centre + reach, level, images or measured_on, value, measured_on,
        deviation, bias / (sqrt(2) - 1), units,
    )  # fmt: skip


def check_images(images: int | str | None, argument: str = "images") -> int | str | None:
    """Return the number of images that an interval is for; refuse what is neither a number, nor "all", nor None.

    >>> check_images("5000"), check_images("all"), check_images(None)
    (5000, 'all', None)
    """
    if images is None or (isinstance(images, str) and images == ALL):
        return images
    given = int(images) if isinstance(images, str) and images.isdecimal() else images
    if not isinstance(given, Integral) or isinstance(given, bool) or given < 1:
        raise BadParameter(f"{argument}: expected a number of images or {ALL!r}, found {excerpt(images)}")
    return int(given)


def check_enough_images(images: int, images_of_classes: Sequence[int]) -> None:
    """Refuse an interval around AP where half-samples do not work: few images, or mostly rare classes.

    Parameters
    ----------
    images
        The number of images.
    images_of_classes
        For each class the number of images with objects of it.

    Raises
    ------
    DataError
        There are fewer than 100 images, or more than half of the classes occur in fewer than 8 images.
    """
    if images < MIN_IMAGES:
        raise DataError(
            f"interval: expected at least {MIN_IMAGES} images, found {images}: AP of so few varies too irregularly for "
            f"an interval; differences of detectors have one ({spell_option('resample', 'N')})"
        )
    present = [count for count in images_of_classes if count]
    rare = sum(count < FEW_IMAGES for count in present)
    if 2 * rare > len(present):
        raise DataError(
            f"interval: expected at least half of the classes in {FEW_IMAGES} images or more, found {rare} of "
            f"{len(present)} classes in fewer; choose frequent classes, or compare detectors "
            f"({spell_option('resample', 'N')})"
        )
