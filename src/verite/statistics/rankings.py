"""Rank probabilities: how often each algorithm beats another and takes each rank, over simulated or weighted scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import nan
from typing import Any, NamedTuple

from numpy.typing import NDArray

from verite.arrays import np
from verite.statistics.intervals import wilson

Array = NDArray[np.float64]


class OrderShares(NamedTuple):
    """Shares of simulations in which a pair of algorithms keeps its recorded order, is tied, and is reversed."""

    kept: float
    tie: float
    reversed: float

    def intervals(self, samples: int) -> dict[str, tuple[float, float]]:
        """Wilson's 95 % confidence interval of each share, for this number of simulations."""
        return {name: wilson(share, samples) for name, share in zip(self._fields, self, strict=True)}


@dataclass(frozen=True, eq=False)
class RankProbabilities:
    """Probabilities of every pairwise comparison, of every rank, and of the whole order.

    Tied algorithms share their ranks evenly, so that the rank probabilities of an algorithm add up to one, and so do
    those of a rank over all algorithms.
    """

    wins: Array  # algorithms × algorithms: P(score of the row > score of the column)
    ties: Array  # algorithms × algorithms: P(both scores are equal)
    ranks: Array  # algorithms × ranks
    whole: float  # P(every pair with different recorded scores keeps its order); nan if no two scores differ

    @classmethod
    def unpack(cls, numbers: Array, size: int) -> RankProbabilities:
        """Restore the probabilities of `size` algorithms from `packed`."""
        wins, ties, ranks = numbers[:-1].reshape(3, size, size)
        return cls(wins, ties, ranks, float(numbers[-1]))

    @property
    def packed(self) -> Array:
        """All probabilities as one vector, so that they can be averaged over an uncertain error rate."""
        return np.concatenate([self.wins.ravel(), self.ties.ravel(), self.ranks.ravel(), [self.whole]])


class RankCounter:
    """Counts of wins, ties and ranks over rows of scores that arrive block by block.

    Parameters
    ----------
    recorded
        The scores on the recorded ground truth: which pairs have an order to keep.
    tolerance
        Scores that differ by no more are tied.
    """

    def __init__(self, recorded: NDArray[Any], tolerance: float = 0.0) -> None:
        self.recorded, self.tolerance, self.size = recorded, tolerance, len(recorded)
        self.total, self.kept = 0.0, 0.0
        self.wins, self.ties = np.zeros((self.size, self.size)), np.zeros((self.size, self.size))
        # [algorithm, better × (size + 1) + tied]: how many are better than it, and how many are tied with it.
        self.positions = np.zeros((self.size, self.size * (self.size + 1) + 1))

    def add(self, scores: NDArray[Any], weights: Array | None = None) -> None:
        """Count rows of scores, [row, algorithm]; `weights` are the rows' probabilities, without them all are equal."""

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
                self.wins[i, j] += weigh(above)
                self.wins[j, i] += weigh(below)
                self.ties[i, j] += weigh(equal)
        for j in range(size):
            codes = better[:, j].astype(np.int64) * (size + 1) + tied[:, j]  # numpy 1 would stay in int8
            self.positions[j] += np.bincount(codes, weights, self.positions.shape[1])
        self.kept += weigh(keeps_order(scores, self.recorded, tolerance))
        self.total = 1.0 if weights is not None else self.total + len(scores)  # weights are probabilities

    @property
    def probabilities(self) -> RankProbabilities:
        """The counts as shares of all rows."""
        ranks = np.zeros((self.size, self.size))
        for j, code in np.argwhere(self.positions):
            first, many = divmod(int(code), self.size + 1)
            ranks[j, first : first + many] += self.positions[j, code] / many
        ties = (self.ties + self.ties.T) / self.total + np.eye(self.size)
        whole = self.kept / self.total if has_differences(self.recorded, self.tolerance) else nan
        return RankProbabilities(self.wins / self.total, ties, ranks / self.total, whole)


def rank_probabilities(
    blocks: Iterable[NDArray[Any]], recorded: NDArray[Any], tolerance: float = 0.0, weights: Array | None = None
) -> RankProbabilities:
    """Return the rank probabilities over blocks of scores, each [row, algorithm].

    `weights` are probabilities of the rows of a single block; without them all rows are equally likely.
    """
    counter = RankCounter(recorded, tolerance)
    for scores in blocks:
        counter.add(scores, weights)
    return counter.probabilities


def keeps_order(scores: NDArray[Any], recorded: NDArray[Any], tolerance: float = 0.0) -> NDArray[np.bool_]:
    """Return the rows of scores in which every two algorithms with different recorded scores keep their order."""
    above = np.subtract.outer(recorded, recorded) > tolerance
    # Where a third algorithm ranks between two others, the comparisons with it decide theirs.
    between = above.astype(np.int64) @ above.astype(np.int64) > 0
    preserves = np.ones(len(scores), dtype=np.bool_)
    for i, j in np.argwhere(above & ~between):
        preserves &= scores[:, i] - scores[:, j] > tolerance
    return preserves


def has_differences(recorded: NDArray[Any], tolerance: float = 0.0) -> bool:
    """Return whether any two scores differ by more than the tolerance."""
    return bool(recorded.max() - recorded.min() > tolerance)
