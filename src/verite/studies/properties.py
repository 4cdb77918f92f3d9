"""Properties of a metric: symmetry, separation, triangle inequality, monotony, continuity, scale and shape dependency.

Each is a function of penalties: 0 for identical regions, larger is worse. A curve holds the penalties of one ground
truth under one alteration, [x, y], or [angle] for a rotation, with the unaltered ground truth in the middle. A local
change has a growth curve, [place, size], whose first size is the unaltered ground truth. Every tolerance is a named
parameter; `PROPERTIES` tells which field of the study's tolerances sets it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite._core import Stop
from verite.studies.alterations import rasterise_warps, translation
from verite.studies.measuring import (
    can_be_imported,
    pairs_of,
    run_all,
    run_in_processes,
    values_of,
)
from verite.studies.rows import PenaltyRule, Row
from verite.studies.truths import Truth, boxes

Floats = NDArray[np.float64]

ON = ("small square", "large square", "wide")

TRIED = 5  # translations per axis on which a metric is tested for dependence on the position


def triangle_shares(
    rows: Sequence[Row],
    rules: Sequence[PenaltyRule],
    *,
    reach: int = 24,
    slack: float = 1e-9,
    jobs: int = 1,
    processes: bool = False,
) -> Floats:
    """Return for each row the share of pairs of translations that violate the triangle inequality.

    Parameters
    ----------
    rows, rules : Sequence
        The metrics, and the conversion of their values to penalties.
    reach : int, default 24
        Largest translation along either axis, in pixels.
    slack : float, default 1e-9
        Relative violation that still counts as none.
    jobs : int, default 1
        Number of threads.
    processes : bool, default False
        Run users' functions in new processes.

    Returns
    -------
    array of float
        The mean share over three boxes, one per row.
    """
    chosen = [truth for truth in boxes() if truth.name in ON]
    away = [i for i, row in enumerate(rows) if processes and jobs > 1 and can_be_imported(row)]
    here = [i for i in range(len(rows)) if i not in away]
    found, stop = np.empty((len(chosen), len(rows))), Stop()
    if here:
        mine, how = [rows[i] for i in here], [rules[i] for i in here]
        work = [partial(shares_on, mine, how, truth, reach, slack, stop) for truth in chosen]
        for k, shares in run_all(work, jobs, stop):
            found[k, here] = shares
    if away:
        mine, how = [rows[i] for i in away], [rules[i] for i in away]
        for k, shares in run_in_processes(shares_on, mine, [(how, truth, reach, slack) for truth in chosen], jobs):
            found[k, away] = shares
    mean: Floats = found.mean(axis=0)
    return mean


def shares_on(
    rows: Sequence[Row], rules: Sequence[PenaltyRule], truth: Truth, reach: int, slack: float, stop: Stop
) -> Floats:
    """Return the share of violations of each row for one ground truth.

    M(1, 2) of two translations is that of the ground truth and their difference, if the metric does not depend on the
    position; the ground truth must lie at least 2 · reach from the border. Otherwise it is measured directly.
    """
    outline = truth.outline
    marks = np.arange(-2 * reach, 2 * reach + 1).astype(np.float64)
    x, y = (grid.ravel() for grid in np.meshgrid(marks, marks, indexing="ij"))
    forward = values_of(
        rows, truth.mask[None], rasterise_warps(outline, translation(outline, x, y)), stop, both_ways=False
    )[0]
    steps = np.linspace(-reach, reach, TRIED).round()
    a, b = (grid.ravel() for grid in np.meshgrid(steps, steps, indexing="ij"))
    one, two = (grid.ravel() for grid in np.meshgrid(np.arange(len(a)), np.arange(len(a)), indexing="ij"))
    shifted = rasterise_warps(outline, translation(outline, a, b))
    pairs = pairs_of(shifted.take(one), shifted.take(two))
    size = len(marks)
    shares = np.empty(len(rows))
    for i, row in enumerate(rows):
        penalties = rules[i](forward[i]).reshape(size, size)
        direct = rules[i](row.values(pairs))
        at = [(2 * reach + c[two] - c[one]).astype(np.int64) for c in (a, b)]
        depends_on_position = not np.allclose(direct, penalties[at[0], at[1]], rtol=1e-9, atol=1e-12)
        if depends_on_position:
            alone = penalties[(2 * reach + a).astype(np.int64), (2 * reach + b).astype(np.int64)]
            shares[i] = triangle_violations(alone, direct.reshape(len(a), len(a)), slack=slack)
        else:
            couples = (2 * reach + 1) ** 4
            shares[i] = _core.triangle_failures(np.ascontiguousarray(penalties), reach, slack) / couples
    return shares


Sign = Literal["", "+", "-", "+/-"]
Check = TypeVar("Check", bound=Callable[..., bool])


@dataclass(frozen=True)
class CurveProperty:
    """A property decided on each curve: the function, and the tolerance that sets each of its parameters."""

    holds: Callable[..., bool]
    tolerances: Mapping[str, str]  # field of the study's tolerances, by parameter


PROPERTIES: dict[tuple[str, bool], CurveProperty] = {}  # by name, and whether it is of a growth curve


def curve_property(name: str, *, of_growth: bool = False, **tolerances: str) -> Callable[[Check], Check]:
    """Register a function of a curve as a property of this name; keywords tell the tolerance of each parameter.

    Parameters
    ----------
    name
        Name of the property in tables and settings.
    of_growth
        It looks at the differences of the curve instead of the curve.
    tolerances
        Name of the tolerance in the settings for each parameter of the function.
    """

    def register(function: Check) -> Check:
        PROPERTIES[name, of_growth] = CurveProperty(function, tolerances)
        return function

    return register


def amplitude(curve: Floats) -> float:
    """Return the range of the values."""
    return float(curve.max() - curve.min())


def is_symmetric(forward: Floats, backward: Floats, *, tolerance: float = 1e-9) -> bool:
    """Whether exchanging ground truth and prediction changes nothing, relative to the larger of both values.

    Parameters
    ----------
    forward
        Values of the metric for (ground truth, prediction).
    backward
        Values for (prediction, ground truth).
    tolerance
        Relative difference that is rounding.

    Examples
    --------
    >>> is_symmetric(np.array([1.0, 2.0]), np.array([1.0, 2.0])), is_symmetric(np.array([1.0]), np.array([1.1]))
    (True, False)
    """
    largest = np.maximum(np.abs(forward), np.abs(backward))
    return bool((np.abs(forward - backward) <= tolerance * largest).all())


def separates(itself: float, values: Floats, is_same: NDArray[np.bool_], *, zero: float = 1e-12) -> bool:
    """Whether the value is 0 for identical regions only; `is_same` flags results equal to the ground truth.

    Parameters
    ----------
    itself
        Value of the ground truth compared with itself.
    values
        Values of the altered regions.
    is_same
        Which altered regions equal the ground truth after rasterisation.
    zero
        Largest value that counts as 0.

    Examples
    --------
    >>> separates(0.0, np.array([0.0, 0.5]), np.array([True, False])), separates(0.0, np.zeros(1), np.array([False]))
    (True, False)
    """
    return bool(abs(itself) <= zero and (values[~is_same] > zero).all() and (np.abs(values[is_same]) <= zero).all())


def triangle_violations(alone: Floats, between: Floats, *, slack: float = 1e-9) -> float:
    """Return the share of pairs (1, 2) of altered regions with M(truth, 2) > M(truth, 1) + M(1, 2).

    `alone[i]` is M(truth, i), `between[i, j]` is M(i, j); the slack is relative to the left side.

    >>> triangle_violations(np.array([1.0, 3.0]), np.array([[0.0, 1.0], [1.0, 0.0]]))    # 3 > 1 + 1, one of four
    0.25
    """
    return float((alone[None, :] > (alone[:, None] + between) * (1 + slack)).mean())


def is_indifferent(amplitudes: Floats, largest: float, *, share: float = 0.05) -> bool:
    """Whether a metric ignores an alteration: on every ground truth its amplitude is below a share of the largest.

    Parameters
    ----------
    amplitudes
        Range of the metric over the alteration, by ground truth.
    largest
        Largest amplitude over all alterations.
    share
        Share of it below which the metric does not respond.

    Examples
    --------
    >>> is_indifferent(np.array([0.01, 0.0]), 1.0), is_indifferent(np.array([0.01, 0.05]), 1.0)
    (True, False)
    """
    return bool((amplitudes < share * largest).all()) or largest <= 0


@curve_property("axial", tolerance="axial")
def is_axially_symmetric(curve: Floats, *, tolerance: float = 0.01) -> bool:
    """Whether an alteration and its opposite get the same penalty, relative to the curve's amplitude.

    >>> is_axially_symmetric(np.array([2.0, 1.0, 0.0, 1.0, 2.0])), is_axially_symmetric(np.array([2.0, 0.0, 1.0]))
    (True, False)
    """
    return float(np.abs(curve - np.flip(curve)).max()) <= tolerance * amplitude(curve)


def outward(curve: Floats) -> Iterator[Floats]:
    """Yield the two parts of a curve from the origin outwards: both parameters rising, and both falling.

    >>> [part.tolist() for part in outward(np.array([2.0, 1.0, 0.0, 3.0, 4.0]))]
    [[0.0, 3.0, 4.0], [0.0, 1.0, 2.0]]
    """
    middle = tuple(slice(n // 2, None) for n in curve.shape)
    yield curve[middle]
    yield np.flip(curve)[middle]


def monotony_failures(curve: Floats, *, until: int | None = None) -> float:
    """Return the share of steps away from the origin whose penalty does not rise.

    From a point one of its two neighbours, and the next point on the diagonal, must have larger values; on a curve of
    one parameter, the next point. `until` is the number of steps that count.

    >>> monotony_failures(np.array([2.0, 1.0, 0.0, 1.0, 1.0]))      # one of four steps does not rise
    0.25
    """
    failed, steps = 0, 0
    for part in outward(curve):
        if part.ndim == 1:
            reached = part[: None if until is None else until + 1]
            rises = reached[1:] > reached[:-1]
        else:
            reached = part[tuple(slice(None if until is None else until + 1) for _ in part.shape)]
            here = reached[:-1, :-1]
            rises = ((reached[1:, :-1] > here) | (reached[:-1, 1:] > here)) & (reached[1:, 1:] > here)
        failed, steps = failed + int((~rises).sum()), steps + rises.size
    return failed / steps if steps else 0.0


@curve_property("monotony", allowed="monotony", allowed_turning="turning", until="until")
def is_strictly_monotonous(
    curve: Floats, *, allowed: float = 0.0, allowed_turning: float = 0.2, until: int | None = 45
) -> bool:
    """Whether more alteration always gets a higher penalty.

    `allowed` is the share of steps of a curve of two parameters that may fail to rise. Rotated pixels are noisy, so a
    curve of one parameter may have `allowed_turning` of them, over its first `until` steps.

    >>> bowl = np.add.outer(np.abs(np.arange(-3.0, 4)), np.abs(np.arange(-3.0, 4)))
    >>> is_strictly_monotonous(bowl), is_strictly_monotonous(np.minimum(bowl, 4))
    (True, False)
    """
    if curve.ndim == 1:
        return monotony_failures(curve, until=until) <= allowed_turning
    return monotony_failures(curve) <= allowed


def gaps(curve: Floats, *, amplitude_share: float = 1 / 8, factor: float = 4.0) -> int:
    """Return the number of jumps among the steps away from the origin, along either axis.

    A step is a jump if it exceeds the share of the curve's amplitude, and `factor` times the steps before and after it,
    where there are such.

    >>> gaps(np.array([2.0, 1.0, 0.0, 1.0, 2.0])), gaps(np.array([0.0, 0, 0, 0, 0, 0, 5.0, 5, 5]))
    (0, 1)
    """
    threshold = amplitude_share * amplitude(curve)
    parts = (np.moveaxis(part, axis, -1) for part in outward(curve) for axis in range(part.ndim))
    return sum(int(jumps(part, threshold, factor).sum()) for part in parts)


def jumps(values: Floats, threshold: float, factor: float) -> NDArray[np.bool_]:
    """Flag the steps along the last axis that are jumps: above a threshold and `factor` times both neighbours.

    >>> jumps(np.array([0.0, 1, 2, 3, 20, 21, 22]), threshold=2, factor=4).nonzero()[0]
    array([3])
    """
    steps = np.abs(np.diff(values, axis=-1))
    is_gap: NDArray[np.bool_] = steps > threshold
    is_gap[..., 1:] &= steps[..., 1:] > factor * steps[..., :-1]
    is_gap[..., :-1] &= steps[..., :-1] > factor * steps[..., 1:]
    return is_gap


@curve_property("continuity", amplitude_share="gap", factor="factor")
def is_uniformly_continuous(curve: Floats, *, amplitude_share: float = 1 / 8, factor: float = 4.0) -> bool:
    """Whether close results get close values, without jumps; see :func:`gaps`.

    >>> is_uniformly_continuous(np.array([2.0, 1.0, 0.0, 1.0, 2.0]))
    True
    """
    return gaps(curve, amplitude_share=amplitude_share, factor=factor) == 0


@curve_property("continuity", of_growth=True, amplitude_share="gap", factor="factor")
def grows_continuously(growth: Floats, *, amplitude_share: float = 1 / 8, factor: float = 4.0) -> bool:
    """Whether the penalty grows without jumps along the sizes; see :func:`gaps`.

    >>> grows_continuously(np.array([[0.0, 1, 2, 3]])), grows_continuously(np.array([[0.0, 1, 2, 12, 13, 14]]))
    (True, False)
    """
    return not jumps(growth, amplitude_share * amplitude(growth), factor).any()


def scale_dependency(small: Floats, large: Floats, *, tie: float = 1e-5) -> Sign:
    """Return the scale dependency: "+" if the smaller object is penalised more, "-" if less, "+/-" if both occur.

    Differences up to `tie` times the larger amplitude do not count.

    >>> one, two = np.array([1.0, 0.0, 1.0]), np.array([2.0, 0.0, 2.0])
    >>> scale_dependency(two, one), scale_dependency(one, two), scale_dependency(one, one)
    ('+', '-', '')
    """
    limit = tie * max(amplitude(small), amplitude(large))
    more, less = bool((small - large > limit).any()), bool((large - small > limit).any())
    if more and less:
        return "+/-"
    return "+" if more else "-" if less else ""


@curve_property("noticed", of_growth=True, zero="zero")
def is_noticed(growth: Floats, *, zero: float = 1e-12) -> bool:
    """Whether every change is penalised, of any size and at any place.

    >>> is_noticed(np.array([[0.0, 1.0, 2.0]])), is_noticed(np.array([[0.0, 0.0, 2.0]]))
    (True, False)
    """
    return bool((growth[:, 1:] > zero).all())


@curve_property("monotony", of_growth=True, allowed="turning")
def grows(growth: Floats, *, allowed: float = 0.2) -> bool:
    """Whether a larger change is penalised more, but for a share of the steps: few pixels are noisy.

    >>> grows(np.array([[0.0, 1.0, 2.0]])), grows(np.array([[0.0, 1.0, 1.0]]))
    (True, False)
    """
    return float((np.diff(growth, axis=1) <= 0).mean()) <= allowed


@curve_property("evenness", of_growth=True, tolerance="evenness")
def is_even(growth: Floats, *, tolerance: float = 0.1) -> bool:
    """Whether the same change gets the same penalty at every place, relative to the mean over all places.

    >>> is_even(np.array([[0.0, 1.0], [0.0, 1.05]])), is_even(np.array([[0.0, 1.0], [0.0, 2.0]]))
    (True, False)
    """
    sized = growth[:, 1:]
    return bool((sized.max(axis=0) - sized.min(axis=0) <= tolerance * np.abs(sized.mean(axis=0))).all())
