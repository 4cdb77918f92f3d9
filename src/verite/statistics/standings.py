"""Who comes in which place? Counting orders over weighted possible scores, or over draws of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Standings:
    """How probable each comparison and each place is.

    A tie of several algorithms shares their places evenly, so that the places of an algorithm add up to one, and so do
    the algorithms of a place.
    """

    ahead: Array  # algorithms × algorithms: P(the row's score is above the column's)
    level: Array  # the same: P(they are equal)
    places: Array  # algorithms × places
    whole: float  # P(every pair that differs on the record keeps its order); nan if none differs

    @classmethod
    def unpack(cls, numbers: Array, size: int) -> Standings:
        """From the numbers of `packed`."""
        ahead, level, places = numbers[:-1].reshape(3, size, size)
        return cls(ahead, level, places, float(numbers[-1]))

    @property
    def packed(self) -> Array:
        """All its probabilities in a row."""
        return np.concatenate([self.ahead.ravel(), self.level.ravel(), self.places.ravel(), [self.whole]])


def stand(scores: NDArray[Any], weights: Array | None, recorded: NDArray[Any], tolerance: float = 0.0) -> Standings:
    """Standings of rows of scores, one column an algorithm, weighted or (None) all alike.

    Differences up to the tolerance are ties.
    """
    counts = OrderCounts(recorded, tolerance)
    counts.add(scores, weights)
    return counts.standings


def stand_over(blocks: Iterable[NDArray[Any]], recorded: NDArray[Any], tolerance: float = 0.0) -> Standings:
    """Standings of rows of scores that come block by block, all alike."""
    counts = OrderCounts(recorded, tolerance)
    for scores in blocks:
        counts.add(scores)
    return counts.standings


class OrderCounts:
    """What rows of scores add up to: how often one is above another, and how many tied from which place on."""

    def __init__(self, recorded: NDArray[Any], tolerance: float) -> None:
        self.recorded, self.tolerance, self.size = recorded, tolerance, len(recorded)
        self.total, self.kept = 0.0, 0.0
        self.ahead, self.level = np.zeros((self.size, self.size)), np.zeros((self.size, self.size))
        self.shared = np.zeros((self.size, self.size * (self.size + 1) + 1))

    def add(self, scores: NDArray[Any], weights: Array | None = None) -> None:
        def weigh(rows: NDArray[np.bool_]) -> float:
            return float(weights[rows].sum()) if weights is not None else float(np.count_nonzero(rows))

        size, tolerance = self.size, self.tolerance
        better = np.zeros(scores.shape, dtype=np.int8 if size < 127 else np.int16)
        tied = np.ones_like(better)
        columns = [np.ascontiguousarray(scores[:, j]) for j in range(size)]
        for i in range(size):
            for j in range(i):
                difference = columns[i] - columns[j]
                above, below = difference > tolerance, difference < -tolerance
                better[:, j] += above
                better[:, i] += below
                equal = ~(above | below)
                tied[:, i] += equal
                tied[:, j] += equal
                self.ahead[i, j] += weigh(above)
                self.ahead[j, i] += weigh(below)
                self.level[i, j] += weigh(equal)
        for j in range(size):
            codes = better[:, j].astype(np.int64) * (size + 1) + tied[:, j]  # numpy 1 would stay in int8
            self.shared[j] += np.bincount(codes, weights, self.shared.shape[1])
        self.kept += weigh(order_holds(scores, self.recorded, tolerance))
        self.total = 1.0 if weights is not None else self.total + len(scores)  # weights are probabilities

    @property
    def standings(self) -> Standings:
        places = np.zeros((self.size, self.size))
        for j, code in np.argwhere(self.shared):
            first, many = divmod(int(code), self.size + 1)
            places[j, first : first + many] += self.shared[j, code] / many
        level = (self.level + self.level.T) / self.total + np.eye(self.size)
        whole = self.kept / self.total if differs(self.recorded, self.tolerance) else nan
        return Standings(self.ahead / self.total, level, places / self.total, whole)


def order_holds(scores: NDArray[Any], recorded: NDArray[Any], tolerance: float = 0.0) -> NDArray[np.bool_]:
    """In which rows of scores every two algorithms that differ on the record stand as they do there."""
    above = np.subtract.outer(recorded, recorded) > tolerance
    # Where one stands between two others, the comparisons with it decide theirs.
    between = above.astype(np.int64) @ above.astype(np.int64) > 0
    holds = np.ones(len(scores), dtype=np.bool_)
    for i, j in np.argwhere(above & ~between):
        holds &= scores[:, i] - scores[:, j] > tolerance
    return holds


def differs(recorded: NDArray[Any], tolerance: float = 0.0) -> bool:
    """Whether any two scores differ."""
    return bool(recorded.max() - recorded.min() > tolerance)
