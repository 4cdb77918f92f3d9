"""Exact comparison of detectors by precision, F1 or accuracy if some annotated objects are spurious.

A detector has some predictions that count and detects some of the real objects; what it detects of the others are false
positives. With t real objects detected out of r, precision is t / preds, F1 is 2 t / (preds + r), and accuracy (there
are no true negatives) t / (preds + r - t). Accuracy rises with F1, so both give the same ranking.

Two detectors split the real objects into those detected by the first only, the second only, both and neither. With
independent errors these four counts are independent, and the difference that decides is linear in the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, log, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.distributions import binomial_log_pmf, point_mass_log_pmf
from verite.annotation_errors.model import ErrorModel
from verite.ranking.detectors import DetectionTable
from verite.ranking.montecarlo import ErrorEffects, sample_score_changes
from verite.ranking.outcomes import count_rows
from verite.ranking.poisson_binomial import LossTieWin, Steps, poisson_binomial_pmf
from verite.statistics.rankings import RankProbabilities

Array = NDArray[np.float64]
WORK = 30_000_000  # combinations that are gone through for one pair
OFTEN = 500_000  # … where that is done for many rates
FEW = 6  # different rates whose convolve_binomials are convolved one by one
LEFT_OUT = 1e-20  # share of what is cut off a law's ends where all of it would be too much
LEAST = 1e-18  # no probability is known to be smaller then


@dataclass(frozen=True, eq=False)
class RatioProblem:
    """Detectors ranked by a ratio of detected, predicted and real objects."""

    table: DetectionTable
    model: ErrorModel
    tolerance: float = 0.0  # equal fractions are equal floating-point numbers: numbers are small

    @property
    def names(self) -> tuple[str, ...]:
        return self.table.names

    @property
    def items(self) -> int:
        return len(self.table)

    @property
    def expected_errors(self) -> int:
        return self.model.expected_errors(self.table)

    @cached_property
    def claims(self) -> NDArray[np.int64]:
        """The number of predictions of each detector that count."""
        assert self.table.claims is not None
        return np.array(self.table.claims, dtype=np.int64)

    @cached_property
    def moves(self) -> ErrorEffects:
        """What a spurious annotation takes from each detector's true positives, and from the number of objects."""
        self.model.check(self.items)
        rates, which = self.model.rates_of(self.table)
        groups = self.model.groups_of(self.table)
        size = len(self.names)
        keys = [np.zeros(self.items, dtype=np.int64) if key is None else key for key in (which, groups)]
        distinct, counts = count_rows([*self.table.answers, *keys])
        found = np.stack(distinct[:size], axis=1)
        change = -np.concatenate([found, np.ones((len(found), 1), dtype=np.int64)], axis=1).astype(np.int32)
        ways = np.ones((len(counts), 1))
        return ErrorEffects(counts, rates[distinct[size]], ways, change[:, None, :], distinct[-1], self.items)

    @cached_property
    def found(self) -> NDArray[np.bool_]:
        """[type of object, detector]: whether the detector detects it."""
        found: NDArray[np.bool_] = self.moves.change[:, 0, :-1] < 0
        return found

    def rate(self, found: NDArray[Any], real: NDArray[Any]) -> Array:
        """Return the ratio of every detector (last axis) in every simulation; 0 without predictions.

        Parameters
        ----------
        found
            True positives, [simulation, detector].
        real
            Real objects in each simulation, on which recall-like parts of the ratio depend.

        Returns
        -------
        Array
            Precision, F1 or accuracy, as the table asks for.
        """
        by = self.table.by
        whole = self.claims + {"precision": 0, "f1": real, "accuracy": real - found}[by]
        share: Array = (2 if by == "f1" else 1) * found / np.maximum(whole, 1)
        return share

    @cached_property
    def scores(self) -> NDArray[Any]:
        return self.rate(self.moves.counts @ self.found, np.array([self.items]))

    def show(self, algorithm: int) -> float:
        return float(self.scores[algorithm])

    def under(self, model: ErrorModel) -> RatioProblem:
        return replace(self, model=model)

    def split(self, first: int, second: int) -> list[NDArray[np.bool_]]:
        """Return the types of objects that the first only, the second only, both and neither detect."""
        one, two = self.found[:, first], self.found[:, second]
        return [one & ~two, two & ~one, one & two, ~(one | two)]

    def counts(self, first: int, second: int) -> tuple[int, int, int] | None:
        alone, other, _, neither = (int(self.moves.counts[kinds].sum()) for kinds in self.split(first, second))
        return alone, other, neither

    def pair(self, first: int, second: int) -> LossTieWin | None:
        if self.model.is_worst_case:
            return None
        if self.model.is_independent:
            return self.loss_tie_win(first, second, self.moves.rates, WORK)
        if self.loss_tie_win(first, second, np.full(len(self.moves.counts), 0.5), OFTEN) is None:
            return None

        def at(epsilon: float) -> Array:
            found = self.loss_tie_win(first, second, np.full(len(self.moves.counts), epsilon), WORK)
            assert found is not None
            return np.array([found.loss, found.tie, found.win])

        logs = self.model.log_mean(at, self.items)
        return None if logs is None else LossTieWin(*logs.tolist())

    def pair_at(self, first: int, second: int) -> Callable[[float], LossTieWin | None]:
        if not self.model.with_rate(0.5).is_independent:
            return lambda epsilon: None
        size = len(self.moves.counts)
        return lambda epsilon: self.loss_tie_win(first, second, np.full(size, epsilon), OFTEN)

    def loss_tie_win(self, first: int, second: int, rates: Array, work: int) -> LossTieWin | None:
        """Return the pairwise probabilities at these rates; None if there are too many combinations."""
        pmfs = [real_objects_pmf(self.moves.counts[kinds], rates[kinds]) for kinds in self.split(first, second)]
        compare, last = (compare_precision, 2) if self.table.by == "precision" else (compare_f1, 3)
        least = 0.0
        if prod(len(pmf) for _, pmf in pmfs[:last]) > work:
            pmfs, least = [cut(*pmf) for pmf in pmfs], LEAST
        if prod(len(pmf) for _, pmf in pmfs[:last]) > work:
            return None
        found = compare(pmfs, int(self.claims[first]), int(self.claims[second]))
        return LossTieWin(*(min(log(max(p, least)), 0.0) if max(p, least) > 0 else -inf for p in found))

    def errors_to(self, first: int, second: int) -> tuple[int | None, int | None]:
        """Return the fewest errors after which the first is not ahead any more, and after which it is behind.

        Objects that only the first detects cost it most, then those that both detect (if it has fewer predictions),
        then the others: an exchange argument shows it.
        """
        counts = np.where((self.moves.rates > 0) | (not self.model.rate_zero_is_verified), self.moves.counts, 0)
        alone, _, both, neither = (int(counts[kinds].sum()) for kinds in self.split(first, second))
        mine, theirs = int(self.claims[first]), int(self.claims[second])
        removed = [alone, *([both] if theirs > mine else []), *([] if self.table.by == "precision" else [neither])]
        many = np.arange(sum(removed) + 1)
        by_alone = np.minimum(many, alone)
        by_both = np.clip(many - alone, 0, both) if theirs > mine else np.zeros_like(many)
        t = self.moves.counts @ self.found[:, [first, second]]
        one, two = int(t[0]) - by_alone - by_both, int(t[1]) - by_both
        lead = one * max(theirs, 1) - two * max(mine, 1)
        if self.table.by != "precision":
            lead = one * theirs - two * mine + (one - two) * (self.items - many)
        return first_place(lead <= 0), first_place(lead < 0)

    def standings(self) -> RankProbabilities | None:
        return None

    def whole_order_at(self) -> Callable[[float], float] | None:
        return None

    def draw(self, draws: int, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
        all_wrong = self.moves.change[:, 0].T @ self.moves.counts
        for changes in sample_score_changes(self.moves, self.model, draws, rng):
            left = changes - all_wrong
            yield self.rate(left[:, :-1], left[:, -1:])


def first_place(preserves: NDArray[np.bool_]) -> int | None:
    """Return the first number of errors for which a condition holds; None if there is none."""
    return int(np.argmax(preserves)) if preserves.any() else None


def real_objects_pmf(counts: NDArray[np.int64], rates: Array) -> tuple[int, Array]:
    """Return how many of some objects are real: the smallest possible number, and the pmf from there on."""
    different, which = np.unique(rates, return_inverse=True)
    sizes = np.bincount(which.ravel(), counts, len(different)).astype(np.int64)
    if len(different) > FEW:
        steps = Steps(np.column_stack([np.zeros(len(different)), different, 1 - different]), sizes)
        values, pmf = poisson_binomial_pmf(steps, steps.bounds())
        return cut(int(values[0]), pmf, 0.0)
    pmf = np.ones(1)
    for rate, size in zip(different.tolist(), sizes.tolist(), strict=True):
        part = np.exp(
            binomial_log_pmf(size, 1 - rate) if 0 < rate < 1 else point_mass_log_pmf(size, 0 if rate else size)
        )
        pmf = np.convolve(pmf, part)
    return cut(0, pmf, 0.0)


def cut(low: int, pmf: Array, share: float = LEFT_OUT) -> tuple[int, Array]:
    """Return a pmf without ends of negligible weight."""
    used = np.flatnonzero(pmf > share * pmf.max())
    return low + int(used[0]), pmf[used[0] : used[-1] + 1]


Pmfs = list[tuple[int, Array]]


def compare_precision(pmfs: Pmfs, mine: int, theirs: int) -> tuple[float, float, float]:
    """Return P(the first ends below, tied with, above the second) by precision.

    Parameters
    ----------
    pmfs
        Distribution of the true positives that only the first has, that only the second has, and that both share.
    mine
        Predictions of the first detector.
    theirs
        Predictions of the second detector.

    Returns
    -------
    tuple[float, float, float]
        Three probabilities with the sum 1.
    """
    (low1, alone), (low2, other), both, _ = pmfs
    mine, theirs = max(mine, 1), max(theirs, 1)  # who claims nothing finds nothing, and has a precision of 0
    x1, x2 = np.meshgrid(low1 + np.arange(len(alone)), low2 + np.arange(len(other)), indexing="ij")
    # lead = theirs (b + x1) - mine (b + x2)
    return add_up(np.outer(alone, other), theirs * x1 - mine * x2, np.full(x1.shape, theirs - mine), both)


def compare_f1(pmfs: Pmfs, mine: int, theirs: int) -> tuple[float, float, float]:
    """Return P(the first ends below, tied with, above the second) by F1, or by accuracy."""
    (low1, alone), (low2, other), (low, both), neither = pmfs
    x1, x2 = np.meshgrid(low1 + np.arange(len(alone)), low2 + np.arange(len(other)), indexing="ij")
    weights = np.outer(alone, other)
    total = np.zeros(3)
    for b, weight in enumerate(both, low):
        # lead = (b + x1) (theirs + r) - (b + x2) (mine + r), r = b + x1 + x2 + n
        fixed = (b + x1) * theirs - (b + x2) * mine + (x1 - x2) * (b + x1 + x2)
        total += weight * np.array(add_up(weights, fixed, x1 - x2, neither))
    return float(total[0]), float(total[1]), float(total[2])


def add_up(
    weights: Array, fixed: NDArray[np.int64], slope: NDArray[np.int64], last: tuple[int, Array]
) -> tuple[float, float, float]:
    """Return P(fixed + slope × n is below, at, above 0) where n has the pmf `last`."""
    low, pmf = last
    under = np.concatenate([[0.0], np.cumsum(pmf)])  # P(n < low + place)
    over = np.concatenate([np.cumsum(pmf[::-1])[::-1], [0.0]])  # P(n >= low + place)
    steep = np.maximum(np.abs(slope), 1)
    # Where fixed + slope n changes its sign, as seen from n = low upwards.
    start = np.where(slope < 0, fixed + slope * low, -(fixed + slope * low))
    place, rest = np.divmod(start, steep)
    before = under[np.clip(place + (rest > 0), 0, len(pmf))]  # P(n is short of the place)
    after = over[np.clip(place + 1, 0, len(pmf))]  # P(n is beyond it)
    at = np.where((rest == 0) & (place >= 0) & (place < len(pmf)), pmf[np.clip(place, 0, len(pmf) - 1)], 0.0)
    rising, falling = slope > 0, slope < 0
    sign = np.sign(fixed)
    below = np.where(rising, before, np.where(falling, after, sign < 0))
    above = np.where(rising, after, np.where(falling, before, sign > 0))
    level = np.where(slope == 0, sign == 0, at)
    return tuple(float((weights * part).sum()) for part in (below, level, above))  # type: ignore[return-value]
