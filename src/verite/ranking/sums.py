"""How likely is a sum of small independent steps to end below, at or above zero?

Every item moves the difference of two scores by -1, 0 or +1. The three answers are wanted with all their digits even
where they are 1e-1000, so each is found under an exponentially tilted law, whose mean sits where the event begins:
``P(S = s) = exp(K(t) - t s) P_t(S = s)``, K the cumulant function. Under the tilted law nothing is small any more.
Few items are convolved one by one, positive numbers only; many go through their characteristic function, of which
only a few dozen frequencies differ from zero.
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
    """Natural logarithms of the probabilities of ending below, at and above zero."""

    below: float
    level: float
    above: float

    def mirror(self) -> LossTieWin:
        return LossTieWin(self.above, self.level, self.below)


@dataclass(frozen=True, eq=False)
class Pieces:
    """Larger steps, one after the other: the values that can occur, by rising value, and their probabilities."""

    values: Array
    laws: Array
    starts: NDArray[np.int64]  # where each step begins
    counts: NDArray[np.int64]  # how often each occurs

    @classmethod
    def of(cls, laws: Sequence[Array], counts: Sequence[int]) -> Pieces:
        """From odd numbers of probabilities, each centred on zero."""
        used = [np.flatnonzero(law) for law in laws]
        values = [places - len(law) // 2 for places, law in zip(used, laws, strict=True)]
        starts = np.cumsum([0, *(len(places) for places in used)])[:-1]
        return cls(
            np.concatenate([*values, np.zeros(0)]).astype(np.float64),
            np.concatenate([*(law[places] for law, places in zip(laws, used, strict=True)), np.zeros(0)]),
            starts.astype(np.int64),
            np.asarray(counts, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def sizes(self) -> NDArray[np.int64]:
        sizes: NDArray[np.int64] = np.diff(np.append(self.starts, len(self.values)))
        return sizes

    @property
    def lowest(self) -> NDArray[np.int64]:
        values: NDArray[np.int64] = self.values[self.starts].astype(np.int64)
        return values

    @property
    def highest(self) -> NDArray[np.int64]:
        values: NDArray[np.int64] = self.values[self.starts + self.sizes - 1].astype(np.int64)
        return values

    @property
    def each(self) -> Iterator[tuple[Array, Array, int]]:
        """Values, probabilities and number of every step."""
        ends = self.starts + self.sizes
        for start, end, count in zip(self.starts.tolist(), ends.tolist(), self.counts.tolist(), strict=True):
            yield self.values[start:end], self.laws[start:end], count

    def add_up(self, terms: Array) -> Array:
        """The sum of the terms of each step."""
        sums: Array = np.add.reduceat(terms, self.starts) if len(self) else np.zeros(0)
        return sums

    def moments(self) -> tuple[float, float]:
        """Mean and variance of the sum of all."""
        means = self.add_up(self.laws * self.values)
        spread = self.add_up(self.laws * (self.values - np.repeat(means, self.sizes)) ** 2)
        return float(self.counts @ means), float(self.counts @ spread)

    def tilt(self, tilt: float) -> tuple[Pieces, float]:
        """The steps weighted with exp(tilt value) and scaled to one again, and the logarithm of all the scales."""
        if not len(self):
            return self, 0.0
        with np.errstate(divide="ignore"):
            exponents = np.log(self.laws) + tilt * self.values
        top = np.maximum.reduceat(exponents, self.starts)
        weights = np.exp(exponents - np.repeat(top, self.sizes))
        total = self.add_up(weights)
        scales = top + np.log(total)
        if abs(tilt) < 1:
            # All digits where a step hardly ever happens.
            change = self.add_up(self.laws * np.expm1(np.clip(tilt * self.values, -700, 700)))
            scales = np.where(np.abs(change) < 0.5, np.log1p(np.maximum(change, -0.5)), scales)
        laws = weights / np.repeat(total, self.sizes)
        return replace(self, laws=laws), fsum(self.counts * scales)

    def mirror(self) -> Pieces:
        flipped = [(-values[::-1], law[::-1]) for values, law, _ in self.each]
        return replace(
            self,
            values=np.concatenate([*(values for values, _ in flipped), np.zeros(0)]),
            laws=np.concatenate([*(law for _, law in flipped), np.zeros(0)]),
        )


NONE = Pieces.of([], [])


@dataclass(frozen=True)
class Steps:
    """Independent steps: rows of P(-1), P(0), P(+1), how often each occurs, and larger steps."""

    laws: Array
    counts: NDArray[np.int64]
    pieces: Pieces = NONE

    def tilt(self, tilt: float) -> Steps:
        return Steps(tilt_laws(self.laws, VALUES, tilt)[0], self.counts, self.pieces.tilt(tilt)[0])

    def mirror(self) -> Steps:
        return Steps(self.laws[:, ::-1], self.counts, self.pieces.mirror())

    def cumulant(self, tilt: float) -> float:
        """log E exp(tilt S)."""
        rows = self.counts * tilt_laws(self.laws, VALUES, tilt)[1]
        return fsum(rows) + self.pieces.tilt(tilt)[1]

    def moments(self) -> tuple[float, float]:
        """Mean and variance of the sum."""
        means = self.laws[:, 2] - self.laws[:, 0]
        # Written as pairs of different values: no cancellation when one of the three is nearly certain.
        down, none, up = self.laws.T
        spread = none * (down + up) + 4 * down * up
        mean, variance = self.pieces.moments()
        return mean + float(self.counts @ means), variance + float(self.counts @ spread)

    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest sum that can occur."""
        down, none, up = self.laws.T > 0
        low = int(self.counts @ np.where(down, -1, np.where(none, 0, 1)))
        high = int(self.counts @ np.where(up, 1, np.where(none, 0, -1)))
        pieces = self.pieces
        return low + int(pieces.counts @ pieces.lowest), high + int(pieces.counts @ pieces.highest)

    def stride(self) -> int:
        """2 where every sum that can occur has the same parity, else 1."""
        if np.any(self.laws[:, 1] > 0):
            return 1
        distance = self.pieces.values - np.repeat(self.pieces.lowest, self.pieces.sizes)
        return 1 if np.any(distance % 2) else 2


def loss_tie_win(steps: Steps) -> LossTieWin:
    """The logarithms of P(S < 0), P(S = 0) and P(S > 0)."""
    steps = merge_steps(steps)
    if steps.moments()[0] < 0:
        return three_sides_from_above(steps.mirror()).mirror()
    return three_sides_from_above(steps)


def three_sides_from_above(steps: Steps) -> LossTieWin:
    """`three_sides` of a sum whose mean is not below zero."""
    bounds = low, high = steps.bounds()
    stride = steps.stride()
    start = -1 if stride == 1 else -2 + low % 2
    if low < start <= high:
        below, level = below_and_level(steps, start, bounds)
    else:
        below, level = log_tail(steps, start, -1, bounds), log_level(steps, bounds)
    rest = exp(below) + exp(level)
    above = log1p(-rest) if rest <= 0.5 else log_tail(steps, -start, 1, bounds)
    return LossTieWin(below, level, above)


def below_and_level(steps: Steps, start: int, bounds: tuple[int, int]) -> tuple[float, float]:
    """log P(S <= start) and log P(S = 0), `start` being the first value below zero: one law serves both."""
    tilt = solve_tilt(steps, start)
    values, probabilities = poisson_binomial_pmf(steps.tilt(tilt), bounds)
    scale = steps.cumulant(tilt)
    beyond = values <= start
    mass = float(probabilities[beyond] @ np.exp(-tilt * values[beyond]))
    level = float(probabilities[values == 0].sum())
    return log_of(mass, scale), log_of(level, scale)


def log_of(mass: float, scale: float) -> float:
    """The logarithm of a probability: its mass under the tilted law, times exp(scale)."""
    return min(scale + log(mass), 0.0) if mass > 0 else -inf


def merge_steps(steps: Steps) -> Steps:
    """The same steps with equal rows counted together and absent ones left out."""
    used = steps.counts > 0
    laws, counts = merge_rows(steps.laws[used], steps.counts[used])
    return Steps(laws, counts, steps.pieces)


def merge_rows(rows: Array, counts: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """Equal rows counted together. Where there are very many they are hardly ever equal, and stay as they are."""
    if not 1 < len(rows) <= MERGED:
        return rows, counts
    # Rows are compared as bytes, which is several times faster than column by column; + 0.0 turns -0.0 into 0.0.
    keys = np.ascontiguousarray(rows + 0.0).view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) == len(rows):
        return rows, counts
    return rows[first], np.bincount(inverse.ravel(), counts).astype(np.int64)


def log_tail(steps: Steps, start: int, side: int, bounds: tuple[int, int]) -> float:
    """log P(S at `start` or beyond it), beyond being above for side 1 and below for side -1."""
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
    return log_of(mass, scale)


def log_level(steps: Steps, bounds: tuple[int, int]) -> float:
    """log P(S = 0)."""
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
    return log_of(mass, steps.cumulant(tilt))


def log_extreme(steps: Steps, side: int) -> float:
    """log P(S is the largest that can be), or the smallest for side -1."""
    ordered = steps.laws[:, ::-side]
    extreme = ordered[np.arange(len(ordered)), np.argmax(ordered > 0, axis=1)]
    # From the rest of the row where it is nearly certain: log(1 - x) of a small x.
    rest = steps.laws.sum(axis=1) - extreme
    logs = np.where(extreme > 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(extreme))
    last = [count * log(law[-1 if side > 0 else 0]) for _, law, count in steps.pieces.each]
    return min(fsum(steps.counts * logs) + fsum(last), 0.0)


def solve_tilt(steps: Steps, target: float) -> float:
    """The tilt under which the mean is near `target`, which lies inside the sums that can occur."""
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


def tilt_laws(laws: Array, values: Array, tilt: float) -> tuple[Array, Array]:
    """Rows weighted with exp(tilt value) and scaled to one again, and the logarithm of the scale."""
    with np.errstate(divide="ignore"):
        exponents = np.log(laws) + tilt * values
    top = exponents.max(axis=-1, keepdims=True)
    weights = np.exp(exponents - top)
    total = weights.sum(axis=-1, keepdims=True)
    scale = (top + np.log(total))[..., 0]
    if abs(tilt) < 1:
        change = laws @ np.expm1(tilt * values)
        scale = np.where(np.abs(change) < 0.5, np.log1p(np.maximum(change, -0.5)), scale)
    return weights / total, scale


def poisson_binomial_pmf(steps: Steps, bounds: tuple[int, int]) -> tuple[Array, Array]:
    """Values and probabilities of the sum, without values that together weigh less than 1e-20."""
    wide = steps.pieces.counts * (steps.pieces.highest - steps.pieces.lowest + 1)
    few = int(steps.counts.sum()) <= DIRECT and int(wide.sum()) <= 10 * DIRECT
    return convolve_steps(steps) if few else transform_steps(steps, bounds)


def convolve_steps(steps: Steps) -> tuple[Array, Array]:
    """The law of the sum by convolving one step after the other: sums of positive products only."""
    stride = steps.stride()
    rows = np.repeat(steps.laws, steps.counts, axis=0)[:, ::stride]
    law = np.ones(1)
    for row in rows:
        law = np.convolve(law, row)
    low = -len(rows)
    for values, chances, count in steps.pieces.each:
        piece = np.bincount(((values - values[0]) // stride).astype(np.int64), chances)
        for _ in range(count):
            law = np.convolve(law, piece)
        low += count * int(values[0])
    return low + stride * np.arange(len(law), dtype=np.float64), law


def transform_steps(steps: Steps, bounds: tuple[int, int]) -> tuple[Array, Array]:
    """The law of the sum within a window around its mean, from its characteristic function."""
    stride = steps.stride()
    mean, variance = steps.moments()
    # Bernstein's inequality for steps of at most 2 (a piece: its width) from their mean.
    step = int(np.max(steps.pieces.highest - steps.pieces.lowest, initial=2))
    linear = NEGLIGIBLE * step / 3
    half = linear + sqrt(linear**2 + 2 * NEGLIGIBLE * variance)
    low, high = bounds
    if 2 * half < high - low:
        low = max(low, low + stride * int((mean - half - low) // stride))
        high = min(high, ceil(mean + half))
    size = 1 << max((high - low) // stride, 1).bit_length()
    spectrum = characteristic(steps, stride, size, low, variance)
    law = np.fft.irfft(spectrum, size)
    used = (high - low) // stride + 1
    return low + stride * np.arange(used, dtype=np.float64), np.maximum(law[:used], 0.0)


def characteristic(steps: Steps, stride: int, size: int, low: int, variance: float) -> NDArray[np.complex128]:
    """E exp(-i w (S - low) / stride) at the frequencies w = 2 pi j / size, from 0 to where it stays zero."""
    used = size // 2 + 1
    if stride == 2 and not len(steps.pieces):
        # For steps of one parity |phi| <= exp(-variance w^2 / (2 pi^2)): it falls and stays down.
        used = min(used, ceil(size * sqrt(2 * NEGLIGIBLE / max(variance, 1e-300)) / 2) + 1)
    spectrum = np.ones(used, dtype=np.complex128)
    frequency = 2 * np.pi * np.arange(used) / size / stride
    for begin in range(0, len(steps.laws), block := max(1, BLOCK // used)):
        laws, counts = steps.laws[begin : begin + block], steps.counts[begin : begin + block]
        many = counts > 1
        if many.any():
            spectrum *= powers(laws[many], counts[many], frequency)
        if not many.all():
            spectrum *= product(laws[~many], frequency)
    # Each step was measured from its likeliest value, to keep the angles small; what that adds up to is put back here,
    # its many whole turns taken out in whole numbers.
    start = int(steps.counts @ likeliest(steps.laws)) - low
    for values, chances, count in steps.pieces.each:
        likely = int(values[np.argmax(chances)])
        start += count * likely
        places = ((values - likely) // stride).astype(np.int64) % size
        spectrum *= np.fft.rfft(np.bincount(places, chances, size))[:used] ** count
    turns = np.arange(used) * (start // stride) % size * (2 * np.pi / size)
    spectrum *= np.exp(-1j * turns)
    return spectrum


def likeliest(laws: Array) -> Array:
    """The likeliest value of each step."""
    values: Array = VALUES[np.argmax(laws, axis=1)]
    return values


def factors(laws: Array, frequency: Array) -> tuple[Array, Array]:
    """Cosine and sine part of E exp(i w (X - likeliest value)), steps in rows and frequencies in columns."""
    distance = VALUES - likeliest(laws)[:, None]
    real = np.ones((len(laws), len(frequency)))
    imaginary = np.zeros((len(laws), len(frequency)))
    for steps in (1, 2):
        weights = laws * (np.abs(distance) == steps)
        if weights.any():
            real -= np.outer(weights.sum(axis=1), 2 * np.sin(steps * frequency / 2) ** 2)
            imaginary += np.outer((weights * np.sign(distance)).sum(axis=1), np.sin(steps * frequency))
    return real, imaginary


def powers(laws: Array, counts: NDArray[np.int64], frequency: Array) -> NDArray[np.complex128]:
    """The product of the steps' characteristic functions, each to the power of its count."""
    down, none, up = laws.T
    # |phi|^2 = 1 - 4 sum over pairs of values of p q sin^2(w distance / 2): all digits where it is near 1.
    loss = 4 * (np.outer(none * (down + up), np.sin(frequency / 2) ** 2) + np.outer(down * up, np.sin(frequency) ** 2))
    with np.errstate(divide="ignore"):
        size = 0.5 * counts @ np.log1p(-np.minimum(loss, 1.0))
    alive = size > -NEGLIGIBLE
    real, imaginary = factors(laws, frequency[alive])
    result = np.zeros(len(frequency), dtype=np.complex128)
    result[alive] = np.exp(size[alive] - 1j * (counts @ np.arctan2(imaginary, real)))
    return result


def product(laws: Array, frequency: Array) -> NDArray[np.complex128]:
    """The product of the steps' characteristic functions, for steps that occur once each."""
    both = np.empty((len(laws), len(frequency)), dtype=np.complex128)
    both.real, both.imag = factors(laws, frequency)
    result: NDArray[np.complex128] = np.conj(np.multiply.reduce(both, axis=0))
    return result
