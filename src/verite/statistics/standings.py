"""Who comes in which place? Counting orders over weighted possible scores, or over draws of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from verite.arrays import np
from verite.statistics.intervals import check_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


MOST_NAMED = 6  # members of a group

TIE = 1e-12  # differences of scores up to here are none


@dataclass(frozen=True, eq=False)
class Separations:
    """Who is surely ahead of whom: `ahead[j, k]` says that j is ahead of k, all such statements holding at once."""

    ahead: NDArray[np.bool_]

    @property
    def places(self) -> NDArray[np.int64]:
        """[system, lowest and highest place]: behind all that are ahead, before all that are behind."""
        size = len(self.ahead)
        return np.stack([1 + self.ahead.sum(axis=0), size - self.ahead.sum(axis=1)], axis=1).astype(np.int64)

    def groups(self, order: list[int]) -> list[list[int]]:
        """Longest runs of neighbours in an order none of whom is surely ahead of another of them; a run of one is none.

        >>> ahead = np.array([[False, False, True], [False, False, False], [False, False, False]])
        >>> Separations(ahead).groups([0, 1, 2])
        [[0, 1], [1, 2]]
        """
        either = self.ahead | self.ahead.T
        runs: list[list[int]] = []
        end = 0
        for begin in range(len(order)):
            last = max(begin + 1, end)
            while last < len(order) and not either[order[last], order[begin:last]].any():
                last += 1
            if last - begin > 1 and last > end:
                runs.append(order[begin:last])
            end = max(end, last)
        return runs


def separate(scores: Any, draws: Any, level: float = 0.95) -> Separations:
    """Scores of systems, and draws [draw, system] of the same; draws without a number for everybody are left out.

    >>> rng = np.random.default_rng(0)
    >>> separate([0.9, 0.5, 0.49], [0.9, 0.5, 0.49] + rng.normal(0, 0.02, (500, 3))).places.tolist()
    [[1, 1], [2, 3], [2, 3]]
    """
    check_level(level)
    recorded, drawn = np.asarray(scores, dtype=np.float64), np.asarray(draws, dtype=np.float64)
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    size = len(recorded)
    ahead = np.zeros((size, size), dtype=np.bool_)
    if len(drawn) < 2:
        return Separations(ahead)
    first, second = np.nonzero(~np.eye(size, dtype=np.bool_))
    differences = drawn[:, first] - drawn[:, second]
    deviations = differences.std(axis=0)
    # Two copies of one system never differ: nobody is ahead.
    is_undecided = deviations > TIE
    scale = np.where(is_undecided, deviations, 1.0)
    spread = (differences - differences.mean(axis=0)) / scale
    observed = (recorded[first] - recorded[second]) / scale
    while is_undecided.any():
        decided = is_undecided & (observed > np.quantile(spread[:, is_undecided].max(axis=1), level))
        if not decided.any():
            break
        ahead[first[decided], second[decided]] = True
        is_undecided &= ~decided
    return Separations(ahead)


def say_group(group: Sequence[str], names: Sequence[str]) -> str:
    """Those who cannot be told apart, by their names or, where there are many, by their places.

    >>> say_group("bc", "abcdefgh"), say_group("bcdefgh", "abcdefgh")
    ('b, c', 'places 2–8')
    """
    if len(group) <= MOST_NAMED:
        return ", ".join(group)
    first = names.index(group[0]) + 1
    return f"places {first}–{first + len(group) - 1}"


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
    preserves = np.ones(len(scores), dtype=np.bool_)
    for i, j in np.argwhere(above & ~between):
        preserves &= scores[:, i] - scores[:, j] > tolerance
    return preserves


def differs(recorded: NDArray[Any], tolerance: float = 0.0) -> bool:
    """Whether any two scores differ."""
    return bool(recorded.max() - recorded.min() > tolerance)
