"""Confidence intervals: Wilson's for a proportion, the percentile bootstrap's for a difference.

E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 1927.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Resamples that an interval needs: beyond the outermost of n lies 1 / (n + 1), which is 2.5 % on either side.
MIN_RESAMPLES = 39


def wilson(share: float, count: int, deviations: float = 1.959963984540054) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion.

    Parameters
    ----------
    share
        The observed proportion, from 0 to 1.
    count
        The number of trials (objects, simulations) that it was observed in.
    deviations
        The standard normal quantile: 1.96 for a 95 % confidence interval.

    Examples
    --------
    >>> [round(v, 6) for v in wilson(0.0, 100_000)]
    [0.0, 3.8e-05]
    """
    square = deviations**2
    middle = (share + square / (2 * count)) / (1 + square / count)
    half = deviations / (1 + square / count) * sqrt(share * (1 - share) / count + square / (4 * count**2))
    return (0.0 if share == 0 else max(0.0, middle - half)), (1.0 if share == 1 else min(1.0, middle + half))


def percentile_interval(samples: NDArray[Any], level: float) -> tuple[float, float]:
    """Return the percentile bootstrap interval of resampled values; nan where there are fewer than `MIN_RESAMPLES`.

    For the difference of two detectors on the same resamples. Do not use it around average precision itself: AP of a
    sample is biased upwards against that of the population, and resampling the sample adds the same bias once more.

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


def check_level(level: float, name: str = "level") -> None:
    """Refuse a confidence level that is not between 0 and 1; `name` is the argument that messages name."""
    if not 0 < level < 1:
        raise BadParameter(f"{name}: expected a probability between 0 and 1, such as 0.95, found {level:g}")
