"""Metrics of the study of 2010 summed literally over an image of doubles, column by column: equal but for rounding.

Sums of whole numbers are exact in any order. Sums of fractions are not: an image rotated by 90° is summed in another
order and differs in the last bit, which explains some published cells. Divergences (Kullback, Jensen, Bhattacharyya),
contour distances (Baddeley, Odet, Pratt's figure of merit) and consistency errors (Martin) are such sums. `SUMS` has
them by the name of the metric in the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from verite.model.polygons import RLEMasks
from verite.model.rasters import array_of, outlines_of, runs_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
OFF, ON = 1.0, 2.0  # gray levels


def add_up(image: Floats) -> float:
    """Sum every column from top to bottom, then the columns from left to right, one number after the other.

    >>> add_up(np.array([[1.0, 2.0], [3.0, 4.0]]))
    10.0
    """
    columns = image.sum(axis=0)  # row by row: numpy adds in pairs along the last axis alone
    return float(np.add.accumulate(columns)[-1])


def contour_of(mask: Mask) -> Mask:
    """Return the contour pixels of a mask."""
    return array_of(outlines_of(runs_of(mask[None])), 0)


def distances_to(pixels: Mask, others: Mask) -> Floats:
    """Return the Euclidean distance of each pixel to the nearest of the others, as an image; 0 elsewhere.

    >>> distances_to(np.array([[True, False, False]]), np.array([[False, False, True]]))
    array([[2., 0., 0.]])
    """
    found = np.zeros(pixels.shape)
    apart = np.argwhere(pixels)[:, None] - np.argwhere(others)[None]
    found[pixels] = np.sqrt((apart**2).sum(axis=2).min(axis=1))
    return found


class MaskPair:
    """Two masks with contours, gray levels and contour distances, as the formulas need them.

    Parameters
    ----------
    truth, pred : array of bool
        Masks of the ground truth and of the result, in one image.

    Attributes
    ----------
    contours : pair of array of bool
        Contour pixels of both masks.
    levels : pair of array of float
        Both contours as images of gray levels, 2 on the contour and 1 off it.
    to_truth, to_pred : array of float
        Distance of each contour pixel of one mask to the contour of the other.
    """

    def __init__(self, truth: Mask, pred: Mask) -> None:
        self.truth, self.pred, self.pixels = truth, pred, truth.size
        self.contours = contour_of(truth), contour_of(pred)
        self.levels = tuple(np.where(contour, ON, OFF) for contour in self.contours)
        mine, theirs = self.contours
        self.to_truth, self.to_pred = distances_to(theirs, mine), distances_to(mine, theirs)

    @staticmethod
    def refinement(first: Mask, second: Mask) -> Floats:
        """Return the refinement error of each pixel, by the regions of both sides."""
        errors = np.zeros(first.shape)
        for one in (first, ~first):
            for other in (second, ~second):
                errors[one & other] = (one & ~other).sum() / max(1, one.sum())
        return errors

    @staticmethod
    def lost(first: Mask, second: Mask) -> Floats:
        """Return the refinement error of each pixel, object against object and background against background."""
        inside, outside = (first & ~second).sum() / max(1, first.sum()), (second & ~first).sum() / (~first).sum()
        found: Floats = np.where(first, inside, outside)
        return found


Errors = Callable[[Mask, Mask], Floats]
Sum = TypeVar("Sum", bound=Callable[..., float])
SUMS: dict[str, Callable[[MaskPair], float]] = {}  # by the name of the metric


def sums(name: str, **parameters: float | Errors) -> Callable[[Sum], Sum]:
    """Register a function of a :class:`MaskPair`, with its parameters, as the sum of the metric of this name."""

    def register(function: Sum) -> Sum:
        SUMS[name] = partial(function, **parameters)
        return function

    return register


def entropy(levels: Floats) -> float:
    """Rényi entropy of order 3."""
    return float(np.log2(add_up(levels**3)) / (1 - 3))


@sums("jensen")
def jensen(p: MaskPair) -> float:
    """Jensen's divergence."""
    mine, theirs = p.levels
    mean = (mine + theirs) / 2
    return entropy(np.sqrt(mean * mine)) - (entropy(mean) + entropy(mine)) / 2


@sums("kullback")
def kullback(p: MaskPair) -> float:
    """Kullback's divergence, both directions."""
    mine, theirs = p.levels
    return add_up((theirs - mine) * np.log(theirs / mine)) / p.pixels


@sums("kullback_one_way")
def kullback_one_way(p: MaskPair) -> float:
    """Kullback's divergence in one direction, of images divided by their sums."""
    mine, theirs = (levels / levels.sum() for levels in p.levels)
    return add_up(theirs * np.log(theirs / mine))


@sums("bhattacharyya(background=2, contour=1, variant='raw')")
def bhattacharyya(p: MaskPair) -> float:
    """Bhattacharyya's distance with gray levels 2 off and 1 on the contour."""
    mine, theirs = (OFF + ON - levels for levels in p.levels)
    return float(-np.log(add_up(np.sqrt(mine * theirs)) / p.pixels))


@sums("rms", q=2)
@sums("lq", q=1)
@sums("lq(q=3)", q=3)
def distance_power(p: MaskPair, q: float) -> float:
    """L_q distance of the contour images."""
    mine, theirs = p.levels
    return float((add_up(np.abs(theirs - mine) ** q) / p.pixels) ** (1 / q))


@sums("snr")
def noise(p: MaskPair) -> float:
    """Signal-to-noise ratio."""
    mine, theirs = p.levels
    differs = mine != theirs
    ratio = np.divide(theirs**2, (mine - theirs) ** 2, out=np.zeros_like(mine), where=differs)
    return 1 / (1 + float(np.sqrt(add_up(ratio) / p.pixels)))


@sums("mean_distance", n=1)
@sums("mean_squared_distance", n=2)
def mean_power(p: MaskPair, n: int) -> float:
    """Mean contour distance, raised to a power."""
    return add_up(p.to_truth**n) / int(p.contours[1].sum())


@sums("figure_of_merit")
def merit(p: MaskPair) -> float:
    """Pratt's figure of merit, as a distance."""
    near = np.where(p.contours[1], 1 / (1 + p.to_truth**2 / 9), 0.0)
    return 1 - add_up(near) / max(int(c.sum()) for c in p.contours)


@sums("baddeley(p=1, variant='as-run')", order=1)
@sums("baddeley(variant='as-run')", order=2)
@sums("baddeley(p=3, variant='as-run')", order=3)
def baddeley(p: MaskPair, order: int) -> float:
    """Baddeley's Δ as the study ran it."""
    either = int((p.contours[0] | p.contours[1]).sum())
    return float(add_up(np.abs(p.to_truth - p.to_pred) ** order) ** (1 / order) / either)


def odet(distances: Floats, alone: Mask, n: int) -> float:
    """Odet's measure over the pixels of one contour only."""
    return add_up(np.where(alone, (distances / 5) ** n, 0.0)) / max(1, int(alone.sum()))


@sums("odet_over", n=1)
@sums("odet_over(n=2)", n=2)
def over(p: MaskPair, n: int) -> float:
    """Over-detection of Odet."""
    return odet(p.to_truth, p.contours[1] & ~p.contours[0], n)


@sums("odet_under", n=1)
@sums("odet_under(n=2)", n=2)
def under(p: MaskPair, n: int) -> float:
    """Under-detection of Odet."""
    return odet(p.to_pred, p.contours[0] & ~p.contours[1], n)


@sums("gce", errors=MaskPair.refinement)
@sums("gce(variant='per-object')", errors=MaskPair.lost)
def martin(p: MaskPair, errors: Errors) -> float:
    """Global consistency error: the smaller sum of refinement errors of both directions, per pixel."""
    return min(add_up(errors(p.truth, p.pred)), add_up(errors(p.pred, p.truth))) / p.pixels


@sums("lce", errors=MaskPair.refinement)
@sums("lce(variant='per-object')", errors=MaskPair.lost)
def martin_local(p: MaskPair, errors: Errors) -> float:
    """Local consistency error: the smaller refinement error of both directions at each pixel, averaged."""
    return add_up(np.minimum(errors(p.truth, p.pred), errors(p.pred, p.truth))) / p.pixels


def values_by_columns(truth: Mask, results: RLEMasks) -> dict[str, Floats]:
    """Return the value of each result by every metric whose sum runs over fractions.

    Parameters
    ----------
    truth : array of bool
        Mask of the ground truth.
    results : RLEMasks
        Masks of the results, in images of the same size.

    Returns
    -------
    dict
        Values of all results by the name of the metric, the names of `SUMS`.
    """
    found = {name: np.empty(len(results)) for name in SUMS}
    for i in range(len(results)):
        pair = MaskPair(truth, array_of(results, i))
        for name, value in SUMS.items():
            found[name][i] = value(pair)
    return found
