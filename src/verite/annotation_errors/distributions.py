"""Distributions of the number of wrong annotations, as log probability mass functions on 0 … n; sampling from them.

Binomial, hypergeometric and beta-binomial in the log domain, with all digits also far out in the tails; averages over
the Beta posterior of an uncertain error rate; and a sampler by table lookup (a guide table).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
NEGLIGIBLE = 50.0  # exp(-50) = 2e-22: below the rounding of anything it is added to
BUCKETS = 16_384


def log_pmf_from_ratios(log_ratios: Array) -> Array:
    """Return the log pmf on 0 … n with these log ratios p(k + 1) / p(k).

    Summed outwards from the mode, so that likely values have all their digits.

    >>> np.exp(log_pmf_from_ratios(np.log([2.0, 0.5]))).round(3).tolist()
    [0.25, 0.5, 0.25]
    """
    mode = int(np.argmax(log_ratios < 0)) if (log_ratios < 0).any() else len(log_ratios)
    left = -np.cumsum(log_ratios[:mode][::-1])[::-1]
    logs = np.concatenate([left, [0.0], np.cumsum(log_ratios[mode:])])
    return logs - log(float(np.exp(logs).sum()))


def binomial_log_pmf(size: int, rate: float) -> Array:
    """Return log P(k of `size` are wrong), each independently at this rate, strictly between 0 and 1."""
    k = np.arange(size, dtype=np.float64)
    return log_pmf_from_ratios(np.log((size - k) / (k + 1)) + (log(rate) - log1p(-rate)))


def hypergeometric_log_pmf(items: int, size: int, errors: int) -> Array:
    """Return log P(k of `size` items are wrong) where `errors` out of all `items` are, every choice equally likely.

    Parameters
    ----------
    items
        Number of all annotations.
    size
        Number of annotations in the group looked at, drawn without replacement.
    errors
        Exact number of wrong annotations among all.

    Returns
    -------
    Array
        Log probabilities for k = 0 … size, -inf for counts that are impossible.
    """
    low, high = max(0, errors - (items - size)), min(size, errors)
    k = np.arange(low, high, dtype=np.float64)
    logs = log_pmf_from_ratios(np.log((size - k) / (k + 1)) + np.log((errors - k) / (items - size - errors + k + 1)))
    return np.concatenate([np.full(low, -inf), logs, np.full(size - high, -inf)])


def beta_binomial_log_pmf(size: int, alpha: float, beta: float) -> Array:
    """Return log P(k of `size` are wrong) at a common rate from a Beta(alpha, beta) distribution."""
    k = np.arange(size, dtype=np.float64)
    return log_pmf_from_ratios(np.log((size - k) / (k + 1)) + np.log((k + alpha) / (size - k - 1 + beta)))


def point_mass_log_pmf(size: int, value: int) -> Array:
    """Return the log pmf on 0 … size that puts all mass on one value.

    Parameters
    ----------
    size
        The largest count.
    value
        The count that is certain.

    Returns
    -------
    Array
        0 at `value`, -inf elsewhere.
    """
    logs = np.full(size + 1, -np.inf)
    logs[value] = 0.0
    return logs


def log_mean_over_posterior(log_at: Callable[[float], Array], errors: int, checked: int, degree: int) -> Array:
    """Return log E exp(log_at(epsilon)), epsilon from Jeffreys' posterior Beta(errors + 1/2, checked - errors + 1/2).

    With epsilon = sin²(phi), the half powers of Jeffreys' prior cancel, and the mean becomes that of a trigonometric
    polynomial in 2 phi of degree checked + degree, `degree` being that of the probabilities in epsilon. The trapezoidal
    rule integrates it without error from that many points on, and long before that to the last digit. So the number of
    points is doubled until nothing changes.
    """

    def log_power(base: Array, exponent: int) -> Array:
        """exponent × log(base), with 0⁰ = 1."""
        with np.errstate(divide="ignore"):
            logs: Array = exponent * np.log(base) if exponent else np.zeros_like(base)
        return logs

    # So many points resolve the posterior itself, of standard deviation 1 / sqrt(4 checked) in phi, to the last digit.
    enough = max(16, 5 * sqrt(checked))
    # Events that are possible at all; the others stay impossible at every rate.
    possible = np.isfinite(log_at((errors + 0.5) / (checked + 1)))
    total: Array | None = None
    norm = -inf
    points = 8
    previous: Array | None = None
    while True:
        # New points lie between the old ones; over a half period both ends count half.
        nodes = np.arange(points + 1) if previous is None else np.arange(1, points, 2)
        rates = np.sin(np.pi / 2 * nodes / points) ** 2
        rates[nodes == points] = 1.0
        weights = log_power(rates, errors) + log_power(1 - rates, checked - errors)
        weights[(nodes == 0) | (nodes == points)] -= log(2)
        norm = float(np.logaddexp.reduce([norm, *weights]))
        # The heaviest nodes first; those too light to change any of the sums are not evaluated.
        for node in np.argsort(-weights):
            if weights[node] == -inf or (total is not None and weights[node] < total[possible].min() - NEGLIGIBLE):
                break
            term = weights[node] + log_at(float(rates[node]))
            total = term if total is None else np.logaddexp(total, term)
        assert total is not None
        result: Array = np.minimum(total - norm, 0.0)
        if 2 * points > checked + degree:
            return result
        if previous is not None and points >= 2 * enough:
            with np.errstate(invalid="ignore"):
                change = np.nan_to_num(np.where(result == previous, 0.0, np.abs(result - previous)))
            if change.max() < 1e-14 * max(1.0, float(np.abs(result[np.isfinite(result)]).max(initial=1.0))):
                return result
        previous = result
        points *= 2


@dataclass(frozen=True, eq=False)
class Sampler:
    """Samples whole numbers by inversion with a guide table of equal buckets of the unit interval.

    A bucket that lies within one step of the distribution function gives its value at once; only in the others is the
    value searched for.
    """

    low: int
    cumulative: Array
    table: NDArray[np.int16]  # per bucket its value minus `low`; -1 where a bucket holds several values

    @classmethod
    def of(cls, values: Array, probabilities: Array) -> Sampler:
        """Make a sampler of consecutive values with these probabilities."""
        cumulative = np.cumsum(probabilities)
        cumulative /= cumulative[-1]
        ends = cumulative * BUCKETS
        ends[-1] = BUCKETS
        first = np.ceil(np.concatenate([[0.0], ends[:-1]])).astype(np.int64)
        last = np.floor(ends).astype(np.int64)
        table = np.full(BUCKETS, -1, dtype=np.int16)
        for distance in np.flatnonzero((last > first) & (np.arange(len(values)) < 2**15)):
            table[first[distance] : last[distance]] = distance
        return cls(int(values[0]), cumulative, table)

    @classmethod
    def of_pmf(cls, pmf: Array) -> Sampler:
        """Make a sampler from the probabilities of 0 … n, restricted to their support."""
        used = np.flatnonzero(pmf > 0)
        return cls.of(np.arange(used[0], used[-1] + 1, dtype=np.float64), pmf[used[0] : used[-1] + 1])

    def sample(self, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """Return `size` independent samples."""
        # Two bytes per sample of the generator's raw output: several times faster than asking for small numbers.
        bucket = rng.bit_generator.random_raw(-(-size // 4)).view(np.uint16)[:size] % np.uint16(BUCKETS)
        result = self.table.take(bucket).astype(np.int32)
        several = np.flatnonzero(result < 0)
        if len(several):
            position = (bucket[several] + rng.random(len(several))) / BUCKETS
            result[several] = np.searchsorted(self.cumulative, position, side="right")
        result += self.low
        return result
