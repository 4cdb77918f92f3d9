"""Distances from every pixel of one contour to the other contour: what can be asked of such a list."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.model.ragged import Ints

Array = NDArray[np.float64]
MERIT_ALPHA = 1 / 9  # the core sums 1 / (1 + d² / 9)


class Directed:
    """One list of distances a pair, of which the usual sums are known and the list itself only when needed."""

    def __init__(self, count: Array, sums: Array, list_distances: Callable[[], tuple[NDArray[Any], Ints]]) -> None:
        self.count = count  # how many pixels ask
        self.sums, self.list_distances = sums, list_distances

    @property
    def largest(self) -> Array:
        """The largest distance."""
        return np.sqrt(self.sums[:, 4])

    def total(self, power: float = 1) -> Array:
        """The distances raised to a power, summed."""
        if power in (1, 2, 3):
            column: Array = self.sums[:, int(power) - 1]
            return column
        return self.sum_rows(self.distances**power)

    def merit(self, alpha: float) -> Array:
        """Pratt's sum of 1 / (1 + alpha d²)."""
        if alpha == MERIT_ALPHA:
            column: Array = self.sums[:, 3]
            return column
        return self.sum_rows(1 / (1 + alpha * self.squared))

    @cached_property
    def lists(self) -> tuple[NDArray[Any], Ints]:
        return self.list_distances()

    @property
    def squared(self) -> Array:
        """Squared distances of all pairs, one after the other."""
        return self.lists[0].astype(np.float64)

    @property
    def distances(self) -> Array:
        return np.sqrt(self.squared)

    @property
    def offsets(self) -> Ints:
        """Pair i has the distances offsets[i] .. offsets[i + 1]."""
        return self.lists[1]

    def sum_rows(self, values: Array) -> Array:
        """A value for each distance, summed pair by pair."""
        owner = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        sums: Array = np.bincount(owner, weights=values, minlength=len(self.offsets) - 1).astype(np.float64)
        return sums

    def within(self, tolerance: float) -> Array:
        """How many distances do not exceed the tolerance."""
        return self.sum_rows((self.distances <= tolerance).astype(np.float64))

    def quantile(self, share: float) -> Array:
        """The distance that this share of the pixels does not exceed, between two of them in proportion."""
        return quantiles(*self.lists, share)


def sum_squared(squared: Array, offsets: Ints) -> Array:
    """What the core sums of distances in pixels: the first three powers, merit, and the largest square."""
    pairs = len(offsets) - 1
    owner = np.repeat(np.arange(pairs), np.diff(offsets))
    distances = np.sqrt(squared)
    columns = (distances, squared, squared * distances, 1 / (1 + MERIT_ALPHA * squared))
    sums = [np.bincount(owner, weights=values, minlength=pairs) for values in columns]
    largest = np.zeros(pairs)
    np.maximum.at(largest, owner, squared)
    return np.stack([*sums, largest], axis=1)


def quantiles(squared: NDArray[Any], offsets: Ints, share: float) -> Array:
    """A quantile of each pair's distances, interpolated as numpy does by default; 0 for a pair without any.

    >>> quantiles(np.array([9, 1, 4, 49]), np.array([0, 3, 3, 4]), 0.25)
    array([1.5, 0. , 7. ])
    """
    lengths = np.diff(offsets)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    if squared.dtype.kind == "f":
        ordered = np.sqrt(squared[np.lexsort((squared, owner))])
    else:  # One sort for all pairs: squared distances in an image of at most 65,535 a side need 34 bits.
        ordered = np.sqrt(np.sort(owner << 34 | squared) & (2**34 - 1))
    out = np.zeros(len(lengths))
    rows = np.flatnonzero(lengths)
    place = share * (lengths[rows] - 1)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, lengths[rows] - 1)
    low, high = ordered[offsets[rows] + below], ordered[offsets[rows] + above]
    out[rows] = low + (high - low) * (place - below)
    return out


def merge(first: Directed, second: Directed) -> tuple[NDArray[Any], Ints]:
    """Both lists of each pair as one."""
    lengths = np.diff(first.offsets), np.diff(second.offsets)
    owner = np.concatenate([np.repeat(np.arange(len(length)), length) for length in lengths])
    order = np.argsort(owner, kind="stable")
    return np.concatenate([first.lists[0], second.lists[0]])[order], first.offsets + second.offsets
