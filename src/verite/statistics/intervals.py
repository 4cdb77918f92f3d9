"""Between which numbers does it lie? Of a share that was counted, of a difference that was drawn."""

from __future__ import annotations

from math import exp, lgamma, log, sqrt
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.errors import BadParameter

if TYPE_CHECKING:
    from numpy.typing import NDArray


def sign_test(one: int, two: int) -> float:
    """The probability that a fair coin thrown as often falls at least as unevenly; two-sided. McNemar's exact test.

    >>> round(sign_test(10, 4), 6), sign_test(0, 0)
    (0.179565, 1.0)
    """
    total, fewer = one + two, min(one, two)
    if total == 0 or one == two:
        return 1.0
    # Terms fall fast from the largest one, which is the last.
    last = lgamma(total + 1) - lgamma(fewer + 1) - lgamma(total - fewer + 1) - total * log(2)
    term, tail = 1.0, 0.0
    for k in range(fewer, -1, -1):
        tail += term
        term *= k / (total - k + 1)
        if term < 1e-18 * tail:
            break
    return min(1.0, 2 * exp(last) * tail)


FEWEST = 39  # draws of an interval: beyond the outermost of n lies 1 / (n + 1), which is 2.5 % on either side


def wilson(share: float, draws: int, deviations: float = 1.959963984540054) -> tuple[float, float]:
    """Wilson's interval for a share observed in so many draws (95 % unless told otherwise).

    >>> [round(v, 6) for v in wilson(0.0, 100_000)]
    [0.0, 3.8e-05]
    """
    square = deviations**2
    middle = (share + square / (2 * draws)) / (1 + square / draws)
    half = deviations / (1 + square / draws) * sqrt(share * (1 - share) / draws + square / (4 * draws**2))
    return (0.0 if share == 0 else max(0.0, middle - half)), (1.0 if share == 1 else min(1.0, middle + half))


def percentile_interval(draws: NDArray[Any], level: float) -> tuple[float, float]:
    """Between which two of the drawn numbers this share of them lies, evenly on both sides; nan where they are too few.

    For a difference of two systems on the same draws. Never around average precision itself: a sample's lies above the
    population's, and drawing from the sample adds that once more.

    >>> percentile_interval(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    check_level(level)
    present = draws[~np.isnan(draws)]
    if len(present) < FEWEST:
        return float("nan"), float("nan")
    low, high = np.quantile(present, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def check_level(level: float, name: str = "level") -> None:
    if not 0 < level < 1:
        raise BadParameter(f"{name}: expected a probability between 0 and 1, such as 0.95, found {level:g}")
