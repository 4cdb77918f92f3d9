"""What should a metric do? Eight properties, each a small function of the values a metric gave.

Values are penalties: 0 for identical regions, larger is worse. A curve holds the penalties of one truth under one
alteration, its parameters running from one side of the origin to the other: [x, y], or [angle] for a rotation. The
middle of the array is the unaltered truth. Every tolerance is a named parameter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite._core import Stop
from verite.studies.alterations import draw, translation
from verite.studies.measuring import (
    Named,
    can_move,
    find_rows,
    name_rows,
    pairs_of,
    run_all,
    run_in_processes,
    values_of,
)
from verite.studies.rows import Row, Turn
from verite.studies.truths import Truth, boxes

Floats = NDArray[np.float64]

ON = ("small square", "large square", "wide")

TRIED = 5  # translations a side on which a metric is tried, and asked directly where it cares for places


def triangle_shares(
    rows: Sequence[Row],
    turns: Sequence[Turn],
    *,
    reach: int = 24,
    slack: float = 1e-9,
    jobs: int = 1,
    processes: bool = False,
) -> Floats:
    """For each row the share of couples that violate the inequality."""
    chosen = [truth for truth in boxes() if truth.name in ON]
    away = [i for i, row in enumerate(rows) if processes and jobs > 1 and can_move(row)]
    here = [i for i in range(len(rows)) if i not in away]
    found, stop = np.empty((len(chosen), len(rows))), Stop()
    if here:
        mine, how = [rows[i] for i in here], [turns[i] for i in here]
        work = [partial(shares_on, mine, how, truth, reach, slack, stop) for truth in chosen]
        for k, shares in run_all(work, jobs, stop):
            found[k, here] = shares
    if away:
        named, how = name_rows([rows[i] for i in away]), [turns[i] for i in away]
        for k, shares in run_in_processes(shares_named, [(named, how, truth, reach, slack) for truth in chosen], jobs):
            found[k, away] = shares
    mean: Floats = found.mean(axis=0)
    return mean


def shares_named(named: Named, turns: Sequence[Turn], truth: Truth, reach: int, slack: float) -> Floats:
    """One truth, in a process that finds the functions itself."""
    return shares_on(find_rows(named), turns, truth, reach, slack, Stop())


def shares_on(rows: Sequence[Row], turns: Sequence[Turn], truth: Truth, reach: int, slack: float, stop: Stop) -> Floats:
    """One truth. It must lie at least 2 · reach from the border for shifts to stand for couples."""
    outline = truth.outline
    marks = np.arange(-2 * reach, 2 * reach + 1).astype(np.float64)
    x, y = (grid.ravel() for grid in np.meshgrid(marks, marks, indexing="ij"))
    forward = values_of(rows, truth.mask[None], draw(outline, translation(outline, x, y)), stop, both_ways=False)[0]
    steps = np.linspace(-reach, reach, TRIED).round()
    a, b = (grid.ravel() for grid in np.meshgrid(steps, steps, indexing="ij"))
    one, two = (grid.ravel() for grid in np.meshgrid(np.arange(len(a)), np.arange(len(a)), indexing="ij"))
    shifted = draw(outline, translation(outline, a, b))
    pairs = pairs_of(shifted.take(one), shifted.take(two))
    size = len(marks)
    shares = np.empty(len(rows))
    for i, row in enumerate(rows):
        penalties = turns[i](forward[i]).reshape(size, size)
        # M(1, 2) itself, and what stands for it.
        direct = turns[i](row.values(pairs))
        at = [(2 * reach + c[two] - c[one]).astype(np.int64) for c in (a, b)]
        cares = not np.allclose(direct, penalties[at[0], at[1]], rtol=1e-9, atol=1e-12)
        if cares:
            alone = penalties[(2 * reach + a).astype(np.int64), (2 * reach + b).astype(np.int64)]
            shares[i] = triangle_violations(alone, direct.reshape(len(a), len(a)), slack=slack)
        else:
            couples = (2 * reach + 1) ** 4
            shares[i] = _core.triangle_failures(np.ascontiguousarray(penalties), reach, slack) / couples
    return shares


Sign = Literal["", "+", "-", "+/-"]


def amplitude(curve: Floats) -> float:
    """The span of the values."""
    return float(curve.max() - curve.min())


def is_symmetric(forward: Floats, backward: Floats, *, tolerance: float = 1e-9) -> bool:
    """Does exchanging truth and pred change nothing? The tolerance is relative to the larger of both values.

    >>> is_symmetric(np.array([1.0, 2.0]), np.array([1.0, 2.0])), is_symmetric(np.array([1.0]), np.array([1.1]))
    (True, False)
    """
    largest = np.maximum(np.abs(forward), np.abs(backward))
    return bool((np.abs(forward - backward) <= tolerance * largest).all())


def separates(itself: float, values: Floats, is_same: NDArray[np.bool_], *, zero: float = 1e-12) -> bool:
    """Is the value 0 for identical regions, and for them alone? `is_same` says where the altered region is the truth.

    >>> separates(0.0, np.array([0.0, 0.5]), np.array([True, False])), separates(0.0, np.zeros(1), np.array([False]))
    (True, False)
    """
    return bool(abs(itself) <= zero and (values[~is_same] > zero).all() and (np.abs(values[is_same]) <= zero).all())


def triangle_violations(alone: Floats, between: Floats, *, slack: float = 1e-9) -> float:
    """The share of couples (1, 2) of altered regions with M(truth, 2) > M(truth, 1) + M(1, 2).

    `alone[i]` is M(truth, i), `between[i, j]` is M(i, j); the slack is relative to the left side.

    >>> triangle_violations(np.array([1.0, 3.0]), np.array([[0.0, 1.0], [1.0, 0.0]]))    # 3 > 1 + 1, one of four
    0.25
    """
    return float((alone[None, :] > (alone[:, None] + between) * (1 + slack)).mean())


def obeys_triangle(violations: float, separated: bool, *, share: float = 0.025, separate: bool = True) -> bool:
    """Do few enough couples violate the triangle inequality? Credited only to a metric that separates.

    >>> obeys_triangle(0.02, True), obeys_triangle(0.03, True), obeys_triangle(0.0, False)
    (True, False, False)
    """
    return violations <= share and (separated or not separate)


def is_indifferent(amplitudes: Floats, largest: float, *, share: float = 0.05) -> bool:
    """Does an alteration leave the metric cold? On every truth it moves less than this share of its largest span.

    >>> is_indifferent(np.array([0.01, 0.0]), 1.0), is_indifferent(np.array([0.01, 0.05]), 1.0)
    (True, False)
    """
    return bool((amplitudes < share * largest).all()) or largest <= 0


def is_axially_symmetric(curve: Floats, *, tolerance: float = 0.01) -> bool:
    """Are an alteration and its opposite penalised alike? The tolerance is relative to the curve's amplitude.

    >>> is_axially_symmetric(np.array([2.0, 1.0, 0.0, 1.0, 2.0])), is_axially_symmetric(np.array([2.0, 0.0, 1.0]))
    (True, False)
    """
    return float(np.abs(curve - np.flip(curve)).max()) <= tolerance * amplitude(curve)


def outward(curve: Floats) -> Iterator[Floats]:
    """The two parts from the origin outwards: both parameters rising, and both falling."""
    middle = tuple(slice(n // 2, None) for n in curve.shape)
    yield curve[middle]
    yield np.flip(curve)[middle]


def monotony_failures(curve: Floats, *, until: int | None = None) -> float:
    """The share of steps away from the origin that are not penalised more.

    From a point one of its two neighbours, and the next point on the diagonal, must have larger values; on a curve of
    one parameter, the next point. `until` is the number of steps looked at.

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


def is_strictly_monotonous(
    curve: Floats, *, allowed: float = 0.0, allowed_turning: float = 0.2, until: int | None = 45
) -> bool:
    """Is more alteration always penalised more?

    A curve of two parameters may have this share of steps that do not rise: none. Turned pixels are noisy, so a curve
    of one parameter may have `allowed_turning` of them, over its first `until` steps.

    >>> bowl = np.add.outer(np.abs(np.arange(-3.0, 4)), np.abs(np.arange(-3.0, 4)))
    >>> is_strictly_monotonous(bowl), is_strictly_monotonous(np.minimum(bowl, 4))
    (True, False)
    """
    if curve.ndim == 1:
        return monotony_failures(curve, until=until) <= allowed_turning
    return monotony_failures(curve) <= allowed


def gaps(curve: Floats, *, amplitude_share: float = 1 / 8, factor: float = 4.0) -> int:
    """How many steps away from the origin, along one axis, are jumps?

    A step is one if it exceeds the share of the curve's amplitude, and `factor` times the step before it and the step
    after it; where there is none, the first and the last step, nothing is asked of it.

    >>> gaps(np.array([2.0, 1.0, 0.0, 1.0, 2.0])), gaps(np.array([0.0, 0, 0, 0, 0, 0, 5.0, 5, 5]))
    (0, 1)
    """
    threshold = amplitude_share * amplitude(curve)
    parts = (np.moveaxis(part, axis, -1) for part in outward(curve) for axis in range(part.ndim))
    return sum(int(jumps(part, threshold, factor).sum()) for part in parts)


def jumps(values: Floats, threshold: float, factor: float) -> NDArray[np.bool_]:
    """Which steps along the last axis are gaps."""
    steps = np.abs(np.diff(values, axis=-1))
    is_gap: NDArray[np.bool_] = steps > threshold
    is_gap[..., 1:] &= steps[..., 1:] > factor * steps[..., :-1]
    is_gap[..., :-1] &= steps[..., :-1] > factor * steps[..., 1:]
    return is_gap


def is_uniformly_continuous(curve: Floats, *, amplitude_share: float = 1 / 8, factor: float = 4.0) -> bool:
    """Do close results get close values? See :func:`gaps`."""
    return gaps(curve, amplitude_share=amplitude_share, factor=factor) == 0


def scale_dependency(small: Floats, large: Floats, *, tie: float = 1e-5) -> Sign:
    """Does the size of the object matter? "+": the smaller one is penalised more, "-": less, "+/-": now more, now less.

    Differences up to `tie` times the larger amplitude are none.

    >>> one, two = np.array([1.0, 0.0, 1.0]), np.array([2.0, 0.0, 2.0])
    >>> scale_dependency(two, one), scale_dependency(one, two), scale_dependency(one, one)
    ('+', '-', '')
    """
    limit = tie * max(amplitude(small), amplitude(large))
    more, less = bool((small - large > limit).any()), bool((large - small > limit).any())
    if more and less:
        return "+/-"
    return "+" if more else "-" if less else ""


def depends_on_shape(first: Floats, second: Floats, *, tolerance: float = 1e-9) -> bool:
    """Does the shape matter? The tolerance is relative to the larger of both values.

    >>> depends_on_shape(np.array([1.0]), np.array([1.0])), depends_on_shape(np.array([1.0]), np.array([1.5]))
    (False, True)
    """
    return not is_symmetric(first, second, tolerance=tolerance)


# Of changes that grow from nothing, at several places: curves [place, size], the first size being the unaltered truth.


def is_noticed(growth: Floats, *, zero: float = 1e-12) -> bool:
    """Is every change penalised, however small and wherever?

    >>> is_noticed(np.array([[0.0, 1.0, 2.0]])), is_noticed(np.array([[0.0, 0.0, 2.0]]))
    (True, False)
    """
    return bool((growth[:, 1:] > zero).all())


def grows(growth: Floats, *, allowed: float = 0.2) -> bool:
    """Is a larger change penalised more? This share of the steps may not rise: small changes of pixels are noisy.

    >>> grows(np.array([[0.0, 1.0, 2.0]])), grows(np.array([[0.0, 1.0, 1.0]]))
    (True, False)
    """
    return float((np.diff(growth, axis=1) <= 0).mean()) <= allowed


def grows_continuously(growth: Floats, *, amplitude_share: float = 1 / 8, factor: float = 4.0) -> bool:
    """Does it grow without jumps? As :func:`gaps`, along the sizes."""
    return not jumps(growth, amplitude_share * amplitude(growth), factor).any()


def is_even(growth: Floats, *, tolerance: float = 0.1) -> bool:
    """Is the same change penalised alike wherever it is? The tolerance is relative to the mean over all places.

    >>> is_even(np.array([[0.0, 1.0], [0.0, 1.05]])), is_even(np.array([[0.0, 1.0], [0.0, 2.0]]))
    (True, False)
    """
    sized = growth[:, 1:]
    return bool((sized.max(axis=0) - sized.min(axis=0) <= tolerance * np.abs(sized.mean(axis=0))).all())
