"""Confidence intervals: Wilson's for a proportion, of independent or clustered trials; percentile bootstrap intervals.

Objects of one image are not independent: a detector finds most of them or few. Wilson's interval for independent trials
then covers the true recall in 71 to 81 % of samples instead of 95 %. The clustered interval replaces the number of
trials by the effective one, n divided by the design effect (Kish, Survey Sampling, 1965), and the normal quantile by
Student's t. The variance is the jackknife's over images, and the degrees of freedom are the effective number of images,
less one: a few crowded images decide a share, and a linearised variance is too small then (Cameron and Miller, A
Practitioner's Guide to Cluster-Robust Inference, Journal of Human Resources 2015).

E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 1927.
"""

from __future__ import annotations

from functools import lru_cache
from math import copysign, erfc, exp, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter
from verite.statistics.resampling import effective_number

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Resamples that an interval needs: beyond the outermost of n lies 1 / (n + 1), which is 2.5 % on either side.
MIN_RESAMPLES = 39
NORMAL_95 = 1.959963984540054  # standard deviations on either side that hold 95 % of a normal distribution
MANY = 10**6  # degrees of freedom at which Student's t is a normal distribution


def wilson(share: float, count: float, deviations: float = NORMAL_95) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion.

    Parameters
    ----------
    share
        The observed proportion, from 0 to 1.
    count
        The number of independent trials (simulations) that it was observed in; of clustered ones the effective number.
    deviations
        The quantile of the standard normal distribution, or of Student's t: 1.96 for a 95 % confidence interval.

    Examples
    --------
    >>> [round(v, 6) for v in wilson(0.0, 100_000)]
    [0.0, 3.8e-05]
    """
    square = deviations**2
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = deviations / (1 + square / count) * sqrt(share * (1 - share) / count + square / (4 * count**2))
    return (0.0 if share == 0 else max(0.0, middle - half)), (1.0 if share == 1 else min(1.0, middle + half))


def design_effect(hits: NDArray[Any], trials: NDArray[Any]) -> float:
    """Return by what factor clustering multiplies the variance of a proportion, at least 1.

    The variance is that of the jackknife: the proportion is computed without each cluster.

    Parameters
    ----------
    hits, trials
        The number of hits and of trials in each cluster, such as detected objects and objects of each image.

    Examples
    --------
    Two images, one with all of its four objects detected, one with none: eight trials tell as much as one.

    >>> design_effect(np.array([4, 0]), np.array([4, 4]))
    8.0
    """
    total = float(trials.sum())
    clusters = int(np.count_nonzero(trials))
    share = float(hits.sum()) / total if total else 0.0
    if clusters < 2 or not 0 < share < 1:
        return 1.0
    moves = (share * trials - hits) / (total - trials)  # of the proportion, without each cluster
    variance = float((moves**2).sum()) * (clusters - 1) / clusters
    return max(1.0, variance * total / (share * (1 - share)))


def clustered_wilson(
    hits: NDArray[Any], trials: NDArray[Any], deviations: float = NORMAL_95, *, default_effect: float = 1.0
) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion whose trials come in clusters, such as the objects of images.

    Parameters
    ----------
    hits, trials
        The number of hits and of trials in each cluster. Clusters without trials are left out.
    deviations
        The quantile of the standard normal distribution; Student's t with the same tails takes its place, with one
        degree of freedom less than the effective number of clusters.
    default_effect
        The design effect where all trials are hits, or none: the variance between clusters says nothing then. That of
        a larger set of trials, see :func:`design_effect`.

    Returns
    -------
    tuple of float
        nan without trials; 0 and 1 for a single cluster, from which nothing follows about others.

    Examples
    --------
    Half of 200 objects are detected, in 100 images of two objects each. If both objects of an image are detected
    together, the interval is that of 100 independent objects.

    >>> both = np.repeat([2, 0], 50)
    >>> [round(end, 3) for end in clustered_wilson(both, np.full(100, 2))]
    [0.402, 0.598]
    >>> [round(end, 3) for end in wilson(0.5, 200)], [round(end, 3) for end in wilson(0.5, 100)]
    ([0.431, 0.569], [0.404, 0.596])
    """
    total = float(trials.sum())
    if not total:
        return float("nan"), float("nan")
    clusters = int(np.count_nonzero(trials))
    share = float(hits.sum()) / total
    if clusters < 2:
        return 0.0, 1.0
    effect = design_effect(hits, trials) if 0 < share < 1 else max(1.0, default_effect)
    return wilson(share, total / effect, student_quantile(deviations, effective_number(trials) - 1))


@lru_cache(maxsize=1000)
def student_quantile(deviations: float, freedom: int) -> float:
    """Return the quantile of Student's t that has the same tails as this many standard normal deviations.

    Parameters
    ----------
    deviations
        A quantile of the standard normal distribution, such as 1.96.
    freedom
        The degrees of freedom, from 1 up.

    Examples
    --------
    >>> [round(student_quantile(1.959963984540054, freedom), 3) for freedom in (1, 4, 29, 10**7)]
    [12.706, 2.776, 2.045, 1.96]
    """
    if freedom >= MANY or deviations == 0:
        return deviations
    tails = erfc(abs(deviations) / sqrt(2))
    low, high = abs(deviations), 2 * abs(deviations)
    while student_tails(high, freedom) > tails:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if student_tails(middle, freedom) > tails else (low, middle)
    return copysign(high, deviations)


def student_tails(value: float, freedom: int) -> float:
    """Return P(|T| > value) of Student's t, by the continued fraction of the regularised incomplete beta function.

    >>> round(student_tails(12.706204736, 1), 9), round(student_tails(0.0, 5), 9)
    (0.05, 1.0)
    """
    if value == 0:
        return 1.0
    a, b, x = freedom / 2, 0.5, freedom / (freedom + value**2)
    is_mirrored = x > (a + 1) / (a + b + 2)  # where the fraction converges quickly
    if is_mirrored:
        a, b, x = b, a, value**2 / (freedom + value**2)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    # Lentz's algorithm (Numerical Recipes, 6.4).
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, 10_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            found *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    share = front * found
    return 1 - share if is_mirrored else share


def percentile_interval(samples: NDArray[Any], level: float) -> tuple[float, float]:
    """Return the percentile bootstrap interval of resampled values; nan where there are fewer than `MIN_RESAMPLES`.

    For the difference of two detectors on the same resamples. Around average precision itself use
    :mod:`verite.statistics.half_samples`: AP of few images lies above AP of many, and resampling adds to it.

    Parameters
    ----------
    samples
        One value per resample; nan (a score that does not exist in a resample) is left out.
    level
        The confidence level, such as 0.95.

    Examples
    --------
    >>> percentile_interval(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    check_level(level)
    present = samples[~np.isnan(samples)]
    if len(present) < MIN_RESAMPLES:
        return float("nan"), float("nan")
    low, high = np.quantile(present, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def difference_interval(
    value: float, samples: NDArray[Any], level: float, groups: int | None = None
) -> tuple[float, float]:
    """Return the bootstrap confidence interval of a difference of two detectors on the same images.

    Percentiles of the resamples or, where groups of images are resampled, which are few, value ± t · standard deviation
    with one degree of freedom less than there are groups: percentiles of ten groups cover far less than they promise.

    Parameters
    ----------
    value
        The difference on all images.
    samples
        The difference on each bootstrap resample; nan is left out.
    level
        The confidence level.
    groups
        The number of groups; None where single images were resampled.

    Returns
    -------
    tuple of float
        nan where there are fewer than `MIN_RESAMPLES`.

    Examples
    --------
    >>> [round(end, 3) for end in difference_interval(0.1, np.linspace(-1, 1, 101), 0.95, groups=10)]
    [-1.297, 1.497]
    """
    if groups is None:
        return percentile_interval(samples, level)
    check_level(level)
    present = samples[~np.isnan(samples)]
    if len(present) < MIN_RESAMPLES or groups < 2:
        return float("nan"), float("nan")
    deviations = student_quantile(NormalDist().inv_cdf((1 + level) / 2), groups - 1)
    reach = deviations * float(np.std(present, ddof=1)) * sqrt(groups / (groups - 1))
    return value - reach, value + reach


def check_level(level: float, name: str = "level") -> None:
    """Refuse a confidence level that is not between 0 and 1; `name` is the argument that messages name."""
    if not 0 < level < 1:
        raise BadParameter(f"{name}: expected a probability between 0 and 1, such as 0.95, found {level:g}")
