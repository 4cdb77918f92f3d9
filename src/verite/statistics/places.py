"""Which places cannot be excluded? All of them at once, from draws of everybody's scores.

Mogstad, Romano, Shaikh, Wilhelm, Inference for Ranks with Applications to Mobility across Neighbourhoods and Academic
Achievement across Countries, Review of Economic Studies 2024. Every pair is tested both ways; the critical value is
that of the largest studentised difference of all pairs not yet decided (Romano and Wolf's steps), so that with the
asked probability no decision is wrong, however many systems there are. Percentiles of drawn places promise nothing of
the kind where systems are close.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.records import record
from verite.statistics.intervals import check_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
MOST_NAMED = 6  # members of a group
TIE = 1e-12  # differences of scores up to here are none


@record(eq=False)
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
    is_open = deviations > TIE
    scale = np.where(is_open, deviations, 1.0)
    spread = (differences - differences.mean(axis=0)) / scale
    observed = (recorded[first] - recorded[second]) / scale
    while is_open.any():
        decided = is_open & (observed > np.quantile(spread[:, is_open].max(axis=1), level))
        if not decided.any():
            break
        ahead[first[decided], second[decided]] = True
        is_open &= ~decided
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
