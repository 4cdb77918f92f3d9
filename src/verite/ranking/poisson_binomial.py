"""Poisson-binomial distribution by exponential tilting: P(S < 0), P(S = 0) and P(S > 0) of a sum of independent steps.

Every item moves the difference of two scores by -1, 0 or +1. The three probabilities are wanted with all their digits
even where they are 1e-1000, so each is computed under an exponentially tilted distribution (Esscher transform) whose
mean is where the event begins: ``P(S = s) = exp(K(t) - t s) P_t(S = s)``, K the cumulant generating function. Under the
tilted distribution nothing is small any more. Few items are convolved one by one, a sum of positive terms only; many go
through the discrete Fourier transform of their characteristic function, of which only a few dozen frequencies differ
from zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, fsum, inf, log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.distributions import NEGLIGIBLE

Array = NDArray[np.float64]
VALUES = np.array([-1.0, 0.0, 1.0])
DIRECT = 300  # steps up to here are convolved one by one
MERGED = 20_000  # rows up to here are searched for equal ones
BLOCK = 2**15  # numbers in one temporary array: what a processor's cache holds


@dataclass(frozen=True)
class LossTieWin:
    """Natural logarithms of P(S < 0), P(S = 0) and P(S > 0): that the first algorithm loses, ties and wins."""

    loss: float
    tie: float
    win: float

    def negated(self) -> LossTieWin:
        """Return the probabilities of -S."""
        return LossTieWin(self.win, self.tie, self.loss)


@dataclass(frozen=True, eq=False)
class WideSteps:
    """Independent steps of more than one unit, such as groups of correlated errors.

    A ragged table: for each step the values that can occur, rising, and their probabilities.
    """

    values: Array
    pmfs: Array
    starts: NDArray[np.int64]  # where each step begins
    counts: NDArray[np.int64]  # how often each occurs

    @classmethod
    def of(cls, pmfs: Sequence[Array], counts: Sequence[int]) -> WideSteps:
        """Make steps from probability vectors of odd length, each centred on zero, and how often each occurs."""
        used = [np.flatnonzero(pmf) for pmf in pmfs]
        values = [places - len(pmf) // 2 for places, pmf in zip(used, pmfs, strict=True)]
        starts = np.cumsum([0, *(len(places) for places in used)])[:-1]
        return cls(
            np.concatenate([*values, np.zeros(0)]).astype(np.float64),
            np.concatenate([*(pmf[places] for pmf, places in zip(pmfs, used, strict=True)), np.zeros(0)]),
            starts.astype(np.int64),
            np.asarray(counts, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of values of each step."""
        sizes: NDArray[np.int64] = np.diff(np.append(self.starts, len(self.values)))
        return sizes

    @property
    def lowest(self) -> NDArray[np.int64]:
        """The smallest value of each step."""
        values: NDArray[np.int64] = self.values[self.starts].astype(np.int64)
        return values

    @property
    def highest(self) -> NDArray[np.int64]:
        """The largest value of each step."""
        values: NDArray[np.int64] = self.values[self.starts + self.sizes - 1].astype(np.int64)
        return values

    @property
    def each(self) -> Iterator[tuple[Array, Array, int]]:
        """Yield values, probabilities and count of every step."""
        ends = self.starts + self.sizes
        for start, end, count in zip(self.starts.tolist(), ends.tolist(), self.counts.tolist(), strict=True):
            yield self.values[start:end], self.pmfs[start:end], count

    def add_up(self, terms: Array) -> Array:
        """Return the sum of the terms of each step."""
        sums: Array = np.add.reduceat(terms, self.starts) if len(self) else np.zeros(0)
        return sums

    def moments(self) -> tuple[float, float]:
        """Return mean and variance of the sum of all steps."""
        means = self.add_up(self.pmfs * self.values)
        spread = self.add_up(self.pmfs * (self.values - np.repeat(means, self.sizes)) ** 2)
        return float(self.counts @ means), float(self.counts @ spread)

    def tilt(self, tilt: float) -> tuple[WideSteps, float]:
        """Return the steps tilted by exp(tilt × value) and normalised, and the log of all normalising constants."""
        if not len(self):
            return self, 0.0
        with np.errstate(divide="ignore"):
            exponents = np.log(self.pmfs) + tilt * self.values
        top = np.maximum.reduceat(exponents, self.starts)
        weights = np.exp(exponents - np.repeat(top, self.sizes))
        total = self.add_up(weights)
        scales = top + np.log(total)
        if abs(tilt) < 1:
            # All digits where a step hardly ever happens.
            change = self.add_up(self.pmfs * np.expm1(np.clip(tilt * self.values, -700, 700)))
            scales = np.where(np.abs(change) < 0.5, np.log1p(np.maximum(change, -0.5)), scales)
        pmfs = weights / np.repeat(total, self.sizes)
        return replace(self, pmfs=pmfs), fsum(self.counts * scales)

    def negated(self) -> WideSteps:
        """Return the steps with the opposite sign."""
        flipped = [(-values[::-1], pmf[::-1]) for values, pmf, _ in self.each]
        return replace(
            self,
            values=np.concatenate([*(values for values, _ in flipped), np.zeros(0)]),
            pmfs=np.concatenate([*(pmf for _, pmf in flipped), np.zeros(0)]),
        )


NONE = WideSteps.of([], [])


@dataclass(frozen=True)
class Steps:
    """Independent steps of -1, 0 or +1: rows of P(-1), P(0), P(+1), how often each occurs, and wide steps."""

    pmfs: Array
    counts: NDArray[np.int64]
    wide: WideSteps = NONE

    def tilt(self, tilt: float) -> Steps:
        """Return the exponentially tilted steps."""
        return Steps(tilt_pmfs(self.pmfs, VALUES, tilt)[0], self.counts, self.wide.tilt(tilt)[0])

    def negated(self) -> Steps:
        """Return the steps of -S."""
        return Steps(self.pmfs[:, ::-1], self.counts, self.wide.negated())

    def cumulant(self, tilt: float) -> float:
        """Return the cumulant generating function log E exp(tilt × S)."""
        rows = self.counts * tilt_pmfs(self.pmfs, VALUES, tilt)[1]
        return fsum(rows) + self.wide.tilt(tilt)[1]

    def moments(self) -> tuple[float, float]:
        """Return mean and variance of the sum."""
        means = self.pmfs[:, 2] - self.pmfs[:, 0]
        # Written as pairs of different values: no cancellation when one of the three is nearly certain.
        down, none, up = self.pmfs.T
        spread = none * (down + up) + 4 * down * up
        mean, variance = self.wide.moments()
        return mean + float(self.counts @ means), variance + float(self.counts @ spread)

    def bounds(self) -> tuple[int, int]:
        """Return the smallest and the largest possible sum."""
        down, none, up = self.pmfs.T > 0
        low = int(self.counts @ np.where(down, -1, np.where(none, 0, 1)))
        high = int(self.counts @ np.where(up, 1, np.where(none, 0, -1)))
        wide = self.wide
        return low + int(wide.counts @ wide.lowest), high + int(wide.counts @ wide.highest)

    def stride(self) -> int:
        """Return 2 where all possible sums have the same parity, else 1."""
        if np.any(self.pmfs[:, 1] > 0):
            return 1
        distance = self.wide.values - np.repeat(self.wide.lowest, self.wide.sizes)
        return 1 if np.any(distance % 2) else 2


def loss_tie_win(steps: Steps) -> LossTieWin:
    """Return log P(S < 0), log P(S = 0) and log P(S > 0)."""
    steps = merge_steps(steps)
    if steps.moments()[0] < 0:
        return loss_tie_win_of_nonnegative_mean(steps.negated()).negated()
    return loss_tie_win_of_nonnegative_mean(steps)


def loss_tie_win_of_nonnegative_mean(steps: Steps) -> LossTieWin:
    """Return `loss_tie_win` of a sum whose mean is not negative, so that P(S > 0) is the complement."""
    bounds = low, high = steps.bounds()
    stride = steps.stride()
    start = -1 if stride == 1 else -2 + low % 2
    if low < start <= high:
        # Log P(S <= start) and log P(S = 0) from one tilted pmf, `start` the first value below zero.
        tilt = solve_tilt(steps, start)
        values, probabilities = poisson_binomial_pmf(steps.tilt(tilt), bounds)
        scale = steps.cumulant(tilt)
        beyond = values <= start
        mass = float(probabilities[beyond] @ np.exp(-tilt * values[beyond]))
        tied = float(probabilities[values == 0].sum())
        below, level = log_probability(mass, scale), log_probability(tied, scale)
    else:
        below, level = log_tail(steps, start, -1, bounds), log_tie(steps, bounds)
    rest = exp(below) + exp(level)
    above = log1p(-rest) if rest <= 0.5 else log_tail(steps, -start, 1, bounds)
    return LossTieWin(below, level, above)


def log_probability(mass: float, scale: float) -> float:
    """Return the log of a probability: its mass under the tilted pmf times exp(scale)."""
    return min(scale + log(mass), 0.0) if mass > 0 else -inf


def merge_steps(steps: Steps) -> Steps:
    """Return the same steps with equal rows counted together and absent ones removed."""
    used = steps.counts > 0
    pmfs, counts = merge_rows(steps.pmfs[used], steps.counts[used])
    return Steps(pmfs, counts, steps.wide)


def merge_rows(rows: Array, counts: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """Count equal rows together; above `MERGED` rows, which are hardly ever equal, return them unchanged."""
    if not 1 < len(rows) <= MERGED:
        return rows, counts
    # Rows are compared as bytes, which is several times faster than column by column; + 0.0 turns -0.0 into 0.0.
    keys = np.ascontiguousarray(rows + 0.0).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(rows):
        return rows, counts
    return rows[first], np.bincount(inverse.ravel(), counts).astype(np.int64)


def log_tail(steps: Steps, start: int, side: int, bounds: tuple[int, int]) -> float:
    """Return log P(S >= start) for side 1, log P(S <= start) for side -1."""
    low, high = bounds if side > 0 else (-bounds[1], -bounds[0])
    if high < side * start:
        return -inf
    if low >= side * start:
        return 0.0
    if high == side * start:
        return log_extreme(steps, side)
    mean = steps.moments()[0]
    tilt = 0.0 if side * mean >= side * start else solve_tilt(steps, start)
    steps_at_tilt = steps.tilt(tilt) if tilt else steps
    values, probabilities = poisson_binomial_pmf(steps_at_tilt, bounds)
    beyond = side * (values - start) >= 0
    mass = float(probabilities[beyond] @ np.exp(-tilt * (values[beyond] - start)))
    scale = steps.cumulant(tilt) - tilt * start if tilt else 0.0
    return log_probability(mass, scale)


def log_tie(steps: Steps, bounds: tuple[int, int]) -> float:
    """Return log P(S = 0)."""
    low, high = bounds
    if low > 0 or high < 0:
        return -inf
    if low == high:
        return 0.0
    if low == 0 or high == 0:
        return log_extreme(steps, -1 if low == 0 else 1)
    tilt = solve_tilt(steps, 0)
    values, probabilities = poisson_binomial_pmf(steps.tilt(tilt), bounds)
    mass = float(probabilities[values == 0].sum())
    return log_probability(mass, steps.cumulant(tilt))


def log_extreme(steps: Steps, side: int) -> float:
    """Return the log probability of the largest possible sum, or of the smallest for side -1."""
    ordered = steps.pmfs[:, ::-side]
    extreme = ordered[np.arange(len(ordered)), np.argmax(ordered > 0, axis=1)]
    # From the rest of the row where it is nearly certain: log(1 - x) of a small x.
    rest = steps.pmfs.sum(axis=1) - extreme
    logs = np.where(extreme > 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(extreme))
    last = [count * log(pmf[-1 if side > 0 else 0]) for _, pmf, count in steps.wide.each]
    return min(fsum(steps.counts * logs) + fsum(last), 0.0)


def solve_tilt(steps: Steps, target: float) -> float:
    """Return a tilt under which the mean is near `target`, a possible sum, by Newton steps and bisection."""
    mean, variance = steps.moments()
    if abs(mean - target) <= 1e-3 * sqrt(variance):
        return 0.0
    up = target > mean
    inner, outer = 0.0, 1.0 if up else -1.0
    while (steps.tilt(outer).moments()[0] < target) == up:
        inner, outer = outer, 2 * outer
    tilt = min(max((target - mean) / variance, min(inner, outer)), max(inner, outer)) if variance else outer
    # Any tilt gives the right answer; a good one gives all its digits. So a rough solution is enough.
    for _ in range(200):
        mean, variance = steps.tilt(tilt).moments()
        if abs(mean - target) <= max(1e-3 * sqrt(variance), 1e-9):
            break
        if (mean < target) == up:
            inner = tilt
        else:
            outer = tilt
        newton = tilt + (target - mean) / variance if variance > 0 else inf
        tilt = newton if min(inner, outer) < newton < max(inner, outer) else (inner + outer) / 2
    return tilt


def tilt_pmfs(pmfs: Array, values: Array, tilt: float) -> tuple[Array, Array]:
    """Return rows tilted by exp(tilt × value) and normalised, and the log of each normalising constant."""
    with np.errstate(divide="ignore"):
        exponents = np.log(pmfs) + tilt * values
    top = exponents.max(axis=-1, keepdims=True)
    weights = np.exp(exponents - top)
    total = weights.sum(axis=-1, keepdims=True)
    scale = (top + np.log(total))[..., 0]
    if abs(tilt) < 1:
        change = pmfs @ np.expm1(tilt * values)
        scale = np.where(np.abs(change) < 0.5, np.log1p(np.maximum(change, -0.5)), scale)
    return weights / total, scale


def poisson_binomial_pmf(steps: Steps, bounds: tuple[int, int]) -> tuple[Array, Array]:
    """Return values and probabilities of the sum, without values that together weigh less than 1e-20.

    Parameters
    ----------
    steps
        Independent steps, such as the change of a lead by each annotation.
    bounds
        Range of sums of interest.

    Returns
    -------
    tuple[Array, Array]
        Values and probabilities: by convolution for few steps, else by the discrete Fourier transform.
    """
    wide = steps.wide.counts * (steps.wide.highest - steps.wide.lowest + 1)
    few = int(steps.counts.sum()) <= DIRECT and int(wide.sum()) <= 10 * DIRECT
    return pmf_by_convolution(steps) if few else pmf_by_fft(steps, bounds)


def pmf_by_convolution(steps: Steps) -> tuple[Array, Array]:
    """Return the pmf of the sum by convolving one step after the other: sums of positive products only."""
    stride = steps.stride()
    rows = np.repeat(steps.pmfs, steps.counts, axis=0)[:, ::stride]
    pmf = np.ones(1)
    for row in rows:
        pmf = np.convolve(pmf, row)
    low = -len(rows)
    for values, chances, count in steps.wide.each:
        wide_pmf = np.bincount(((values - values[0]) // stride).astype(np.int64), chances)
        for _ in range(count):
            pmf = np.convolve(pmf, wide_pmf)
        low += count * int(values[0])
    return low + stride * np.arange(len(pmf), dtype=np.float64), pmf


def pmf_by_fft(steps: Steps, bounds: tuple[int, int]) -> tuple[Array, Array]:
    """Return the pmf of the sum in a window around its mean by Fourier inversion of the characteristic function."""
    stride = steps.stride()
    mean, variance = steps.moments()
    # Bernstein's inequality for steps of at most 2 (a wide_pmf: its width) from their mean.
    step = int(np.max(steps.wide.highest - steps.wide.lowest, initial=2))
    linear = NEGLIGIBLE * step / 3
    half = linear + sqrt(linear**2 + 2 * NEGLIGIBLE * variance)
    low, high = bounds
    if 2 * half < high - low:
        low = max(low, low + stride * int((mean - half - low) // stride))
        high = min(high, ceil(mean + half))
    size = 1 << max((high - low) // stride, 1).bit_length()
    spectrum = characteristic_function(steps, stride, size, low, variance)
    pmf = np.fft.irfft(spectrum, size)
    used = (high - low) // stride + 1
    return low + stride * np.arange(used, dtype=np.float64), np.maximum(pmf[:used], 0.0)


def characteristic_function(steps: Steps, stride: int, size: int, low: int, variance: float) -> NDArray[np.complex128]:
    """Return E exp(-i w (S - low) / stride) at frequencies w = 2 pi j / size, up to where it stays zero."""
    used = size // 2 + 1
    if stride == 2 and not len(steps.wide):
        # For steps of one parity |phi| <= exp(-variance w^2 / (2 pi^2)): it falls and stays down.
        used = min(used, ceil(size * sqrt(2 * NEGLIGIBLE / max(variance, 1e-300)) / 2) + 1)
    spectrum = np.ones(used, dtype=np.complex128)
    frequency = 2 * np.pi * np.arange(used) / size / stride
    for begin in range(0, len(steps.pmfs), block := max(1, BLOCK // used)):
        pmfs, counts = steps.pmfs[begin : begin + block], steps.counts[begin : begin + block]
        many = counts > 1
        if many.any():
            spectrum *= characteristic_powers(pmfs[many], counts[many], frequency)
        if not many.all():
            # The product of the characteristic functions of steps that occur once each.
            single = pmfs[~many]
            both = np.empty((len(single), len(frequency)), dtype=np.complex128)
            both.real, both.imag = characteristic_factors(single, frequency)
            spectrum *= np.conj(np.multiply.reduce(both, axis=0))
    # Each step was measured from its mode_of value, to keep the angles small; what that adds up to is put back here,
    # its many whole turns taken out in whole numbers.
    start = int(steps.counts @ mode_of(steps.pmfs)) - low
    for values, chances, count in steps.wide.each:
        likely = int(values[np.argmax(chances)])
        start += count * likely
        places = ((values - likely) // stride).astype(np.int64) % size
        spectrum *= np.fft.rfft(np.bincount(places, chances, size))[:used] ** count
    turns = np.arange(used) * (start // stride) % size * (2 * np.pi / size)
    spectrum *= np.exp(-1j * turns)
    return spectrum


def mode_of(pmfs: Array) -> Array:
    """Return the most likely value of each step."""
    values: Array = VALUES[np.argmax(pmfs, axis=1)]
    return values


def characteristic_factors(pmfs: Array, frequency: Array) -> tuple[Array, Array]:
    """Return cosine and sine part of E exp(i w (X - mode)), steps in rows and frequencies in columns."""
    distance = VALUES - mode_of(pmfs)[:, None]
    real = np.ones((len(pmfs), len(frequency)))
    imaginary = np.zeros((len(pmfs), len(frequency)))
    for steps in (1, 2):
        weights = pmfs * (np.abs(distance) == steps)
        if weights.any():
            real -= np.outer(weights.sum(axis=1), 2 * np.sin(steps * frequency / 2) ** 2)
            imaginary += np.outer((weights * np.sign(distance)).sum(axis=1), np.sin(steps * frequency))
    return real, imaginary


def characteristic_powers(pmfs: Array, counts: NDArray[np.int64], frequency: Array) -> NDArray[np.complex128]:
    """Return the product of the steps' characteristic functions, each to the power of its count."""
    down, none, up = pmfs.T
    # |phi|^2 = 1 - 4 sum over pairs of values of p q sin^2(w distance / 2): all digits where it is near 1.
    loss = 4 * (np.outer(none * (down + up), np.sin(frequency / 2) ** 2) + np.outer(down * up, np.sin(frequency) ** 2))
    with np.errstate(divide="ignore"):
        size = 0.5 * counts @ np.log1p(-np.minimum(loss, 1.0))
    alive = size > -NEGLIGIBLE
    real, imaginary = characteristic_factors(pmfs, frequency[alive])
    result = np.zeros(len(frequency), dtype=np.complex128)
    result[alive] = np.exp(size[alive] - 1j * (counts @ np.arctan2(imaginary, real)))
    return result
