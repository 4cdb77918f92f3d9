"""How many of some records are wrong? Laws on 0 … n as logarithms, averages over an uncertain rate, draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
NEGLIGIBLE = 50.0  # exp(-50) = 2e-22: below the rounding of anything it is added to
BUCKETS = 16_384


def log_law(log_ratios: Array) -> Array:
    """The logarithms of a law on 0 … n from those of its neighbours' ratios p(k + 1) / p(k).

    Summed outwards from the likeliest value, so that what is likely has all its digits.

    >>> np.exp(log_law(np.log([2.0, 0.5]))).round(3).tolist()
    [0.25, 0.5, 0.25]
    """
    mode = int(np.argmax(log_ratios < 0)) if (log_ratios < 0).any() else len(log_ratios)
    left = -np.cumsum(log_ratios[:mode][::-1])[::-1]
    logs = np.concatenate([left, [0.0], np.cumsum(log_ratios[mode:])])
    return logs - log(float(np.exp(logs).sum()))


def binomial(size: int, rate: float) -> Array:
    """log P(f wrong among `size`), each wrong with this rate, strictly between 0 and 1."""
    f = np.arange(size, dtype=np.float64)
    return log_law(np.log((size - f) / (f + 1)) + (log(rate) - log1p(-rate)))


def hypergeometric(items: int, size: int, errors: int) -> Array:
    """log P(f of `size` marked items are among the `errors` drawn out of `items`)."""
    low, high = max(0, errors - (items - size)), min(size, errors)
    f = np.arange(low, high, dtype=np.float64)
    law = log_law(np.log((size - f) / (f + 1)) + np.log((errors - f) / (items - size - errors + f + 1)))
    return np.concatenate([np.full(low, -inf), law, np.full(size - high, -inf)])


def beta_binomial(size: int, alpha: float, beta: float) -> Array:
    """log P(f wrong among `size`) at a common rate drawn from a Beta law."""
    f = np.arange(size, dtype=np.float64)
    return log_law(np.log((size - f) / (f + 1)) + np.log((f + alpha) / (size - f - 1 + beta)))


def certain(size: int, value: int) -> Array:
    """The log law that puts everything on one value."""
    law = np.full(size + 1, -np.inf)
    law[value] = 0.0
    return law


def average_logs(logs_at: Callable[[float], Array], errors: int, checked: int, degree: int) -> Array:
    """The logarithm of the average of exp(logs_at(epsilon)) over Beta(errors + 1/2, checked - errors + 1/2).

    With epsilon = sin^2(phi), Jeffreys' half powers cancel and the average becomes that of a trigonometric polynomial
    in 2 phi of degree checked + degree, `degree` being that of the probabilities in epsilon. The trapezoid rule
    averages it without error from that many points on, and long before that to the last digit; so the points are
    doubled until nothing changes.
    """
    # So many points resolve the posterior itself, of standard deviation 1 / sqrt(4 checked) in phi, to the last digit.
    enough = max(16, 5 * sqrt(checked))
    # What can happen at all: the rest stays impossible at every rate.
    possible = np.isfinite(logs_at((errors + 0.5) / (checked + 1)))
    total: Array | None = None
    norm = -inf
    points = 8
    previous: Array | None = None
    while True:
        # New points lie between the old ones; over a half period both ends count half.
        places = np.arange(points + 1) if previous is None else np.arange(1, points, 2)
        rates = np.sin(np.pi / 2 * places / points) ** 2
        rates[places == points] = 1.0
        weights = log_power(rates, errors) + log_power(1 - rates, checked - errors)
        weights[(places == 0) | (places == points)] -= log(2)
        norm = float(np.logaddexp.reduce([norm, *weights]))
        # The heaviest first: what weighs too little to change any of the sums is not asked for.
        for place in np.argsort(-weights):
            if weights[place] == -inf or (total is not None and weights[place] < total[possible].min() - NEGLIGIBLE):
                break
            term = weights[place] + logs_at(float(rates[place]))
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


def log_power(base: Array, exponent: int) -> Array:
    """exponent log(base), nothing to the power of nothing being one."""
    with np.errstate(divide="ignore"):
        logs: Array = exponent * np.log(base) if exponent else np.zeros_like(base)
    return logs


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draws whole numbers from a law: by table where a bucket of the unit interval holds one value, else by search."""

    low: int
    cumulative: Array
    table: NDArray[np.int16]  # for each bucket the value's distance from the lowest; -1 where a bucket holds several

    @classmethod
    def of(cls, values: Array, probabilities: Array) -> Sampler:
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
    def of_law(cls, law: Array) -> Sampler:
        """From the probabilities of 0 … n, of which those from the first to the last that has a chance are kept."""
        used = np.flatnonzero(law > 0)
        return cls.of(np.arange(used[0], used[-1] + 1, dtype=np.float64), law[used[0] : used[-1] + 1])

    def draw(self, size: int, rng: np.random.Generator) -> NDArray[np.int32]:
        # Two bytes a draw, cut out of the generator's raw output: several times faster than asking for small numbers.
        bucket = rng.bit_generator.random_raw(-(-size // 4)).view(np.uint16)[:size] % np.uint16(BUCKETS)
        result = self.table.take(bucket).astype(np.int32)
        several = np.flatnonzero(result < 0)
        if len(several):
            place = (bucket[several] + rng.random(len(several))) / BUCKETS
            result[several] = np.searchsorted(self.cumulative, place, side="right")
        result += self.low
        return result
