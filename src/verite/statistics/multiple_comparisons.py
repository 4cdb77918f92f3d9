"""Multiple comparisons of detectors: stepdown tests of all pairs, simultaneous confidence sets for ranks, tied groups.

All pairs are tested at once by the stepdown procedure of Romano and Wolf (Econometrica 2005) on studentised bootstrap
differences; the ranks that no rejected hypothesis excludes are the simultaneous confidence sets of Mogstad, Romano,
Shaikh and Wilhelm, Inference for Ranks with Applications to Mobility across Neighbourhoods and Academic Achievement
across Countries, Review of Economic Studies 2024. With few resampled units (ten sites, twenty patients) the bootstrap
alone declares differences far too often, 25 % instead of 5 % with ten; Student's t corrects for that
(`benchmarks/statistics.py --only S5`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import TYPE_CHECKING, Any

from verite.arrays import np
from verite.statistics.intervals import check_level, student_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

TIE = 1e-12  # scores that differ by no more are tied
MAX_NAMED = 6  # detectors of a tied group that are listed by name


@dataclass(frozen=True, eq=False)
class PairwiseSignificance:
    """Which detectors are significantly ahead of which: `ahead[j, k]` for j ahead of k, all statements at once."""

    ahead: NDArray[np.bool_]

    @property
    def rank_sets(self) -> NDArray[np.int64]:
        """Simultaneous confidence sets for ranks, [detector, (best rank, worst rank)], counted from 1."""
        size = len(self.ahead)
        return np.stack([1 + self.ahead.sum(axis=0), size - self.ahead.sum(axis=1)], axis=1).astype(np.int64)

    def tied_groups(self, order: list[int]) -> list[list[int]]:
        """Return the maximal runs of neighbours in `order` of which no two differ significantly.

        >>> ahead = np.array([[False, False, True], [False, False, False], [False, False, False]])
        >>> PairwiseSignificance(ahead).tied_groups([0, 1, 2])
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


def compare_all_pairs(scores: Any, samples: Any, level: float = 0.95, units: int | None = None) -> PairwiseSignificance:
    """Test all pairs of detectors at once by Romano and Wolf's stepdown procedure.

    Parameters
    ----------
    scores
        The score of each detector; with simulated annotation errors the mean over the simulations, in which a
        systematic shift of a difference shows.
    samples
        Bootstrapped or simulated scores, [sample, detector]. A sample in which some detector has no score is left out.
    level
        The probability with which all statements hold together (one minus the familywise error rate).
    units
        The number of images or groups that were resampled; None where nothing was. The standard deviation of a
        difference is then that of `units` − 1 degrees of freedom, and so are critical values; of three
        detectors or more it is one fewer, for the correlations of differences, which the bootstrap takes as known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = compare_all_pairs([0.9, 0.5, 0.49], [0.9, 0.5, 0.49] + rng.normal(0, 0.02, (500, 3)))
    >>> found.rank_sets.tolist()
    [[1, 1], [2, 3], [2, 3]]
    """
    check_level(level)
    observed, sampled = np.asarray(scores, dtype=np.float64), np.asarray(samples, dtype=np.float64)
    sampled = sampled[~np.isnan(sampled).any(axis=1)]
    size = len(observed)
    ahead = np.zeros((size, size), dtype=np.bool_)
    if len(sampled) < 2:
        return PairwiseSignificance(ahead)
    first, second = np.nonzero(~np.eye(size, dtype=np.bool_))
    differences = sampled[:, first] - sampled[:, second]
    deviations = differences.std(axis=0)
    # Two copies of one detector never differ, so that neither is tested.
    is_undecided = deviations > TIE
    scale = np.where(is_undecided, deviations, 1.0)
    studentised = (differences - differences.mean(axis=0)) / scale
    statistic = (observed[first] - observed[second]) / scale
    if units is not None:
        if units < 2:
            return PairwiseSignificance(ahead)
        statistic *= sqrt((units - 1) / units)
    while is_undecided.any():
        critical = float(np.quantile(studentised[:, is_undecided].max(axis=1), level))
        if units is not None:
            critical = student_quantile(critical, max(units - (1 if size == 2 else 2), 1))
        rejected = is_undecided & (statistic > critical)
        if not rejected.any():
            break
        ahead[first[rejected], second[rejected]] = True
        is_undecided &= ~rejected
    return PairwiseSignificance(ahead)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values with Holm's correction for the number of tests; NaN where there was no test.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected, largest = [nan] * len(p_values), 0.0
    tested = sorted((i for i, p in enumerate(p_values) if not isnan(p)), key=lambda i: p_values[i])
    for position, i in enumerate(tested):
        largest = max(largest, min(1.0, p_values[i] * (len(tested) - position)))
        corrected[i] = largest
    return corrected


def format_group(group: Sequence[str], names: Sequence[str]) -> str:
    """Format a group of tied detectors: their names or, where they are many, their ranks in `names`.

    >>> format_group("bc", "abcdefgh"), format_group("bcdefgh", "abcdefgh")
    ('b, c', 'ranks 2–8')
    """
    if len(group) <= MAX_NAMED:
        return ", ".join(group)
    first = names.index(group[0]) + 1
    return f"ranks {first}–{first + len(group) - 1}"
