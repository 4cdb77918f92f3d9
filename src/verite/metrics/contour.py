"""Metrics of two contours by counting pixels: contour errors, and gray-level distances of the two contour images."""

from __future__ import annotations

from math import log

import numpy as np

from verite.errors import BadParameter
from verite.metrics.catalogue import localization
from verite.metrics.metric import Bounds, Empty, Variant
from verite.metrics.region import ratio
from verite.pairs import Array, Pairs

CHABRIER = "Chabrier, Contribution à l'évaluation de performances en segmentation d'images, thesis, Orléans 2005"
COQUIN = "Coquin, Bolon, Chehadeh, Evaluation quantitative d'images filtrées, GRETSI 1997"
BASSEVILLE = "Basseville, Distance measures for signal processing and pattern recognition, Signal Processing 1989"
FORMULA = Empty()  # the formulas below are defined for empty contours
LEVELS = {"background": "(0, inf)", "contour": "(0, inf)"}


def extra_pixels(p: Pairs) -> Array:
    """Number of pixels on the prediction's contour only."""
    return p.pred_contour - p.shared_contour


def missing_pixels(p: Pairs) -> Array:
    """Number of pixels on the ground truth's contour only."""
    return p.truth_contour - p.shared_contour


def differing_share(p: Pairs) -> Array:
    """Share of the image's pixels that lie on one contour only."""
    return (extra_pixels(p) + missing_pixels(p)) / p.pixels


@localization(on="contour", bounds=(0, 1), best=0, symmetric=True, empty=FORMULA, aliases=["ErrLoc"], cite=CHABRIER)
def err_loc(p: Pairs) -> Array:
    """Share of the image's pixels that lie on one contour and not on the other.

    |C_truth △ C_pred| / N, N being the pixels of the image

    >>> import verite as vt
    >>> vt.metric("err_loc")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))      # 8 + 8 of 64 pixels
    0.25
    """
    return differing_share(p)


@localization(on="contour", bounds=(0, 1), best=0, empty=FORMULA, aliases=["ErrSous"], cite=CHABRIER)
def err_under(p: Pairs) -> Array:
    """Share of the ground truth's contour that the prediction misses.

    |C_truth \\ C_pred| / |C_truth|, and 0 where the truth has no contour

    >>> import verite as vt
    >>> vt.metric("err_under")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))    # 8 of 12 pixels
    0.666666...
    """
    return ratio(missing_pixels(p), p.truth_contour)


@localization(on="contour", bounds=(0, 1), best=0, empty=FORMULA, aliases=["ErrSur"], cite=CHABRIER)
def err_over(p: Pairs) -> Array:
    """Share of the pixels off the ground truth's contour that are on the prediction's.

    |C_pred \\ C_truth| / (N - |C_truth|)

    >>> import verite as vt
    >>> vt.metric("err_over")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))     # 8 of 64 - 12 pixels
    0.153846...
    """
    return ratio(extra_pixels(p), p.pixels - p.truth_contour)


@localization(
    on="contour", bounds=(0, 1), best=1, empty=FORMULA, ranges=LEVELS, cite=COQUIN,
    variants={
        "score": "1 / (1 + raw): identical contours give 1, every error lowers it",
        "raw": Variant("the root itself, 0 for identical contours", facts={"bounds": (0, float("inf")), "best": 0}),
    },
)  # fmt: skip
def snr(p: Pairs, *, background: float = 1.0, contour: float = 2.0, variant: str = "score") -> Array:
    """Signal-to-noise ratio of the prediction's contour image over the pixels that differ.

    1 / (1 + raw), raw = sqrt(1/N · Σ g_pred² / (g_truth - g_pred)²) over the pixels whose gray levels g differ

    The gray levels are 1 off and 2 on the contour. Identical contours get 1, not 0: this is why the metric fails
    separation in the comparative studies.

    >>> import verite as vt
    >>> vt.metric("snr")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))          # raw = sqrt((8 · 4 + 8 · 1) / 64)
    0.558481...
    """
    if background == contour:
        raise BadParameter(f"snr: expected background and contour to differ, found {contour:g} for both")
    noise = extra_pixels(p) * contour**2 + missing_pixels(p) * background**2
    raw = np.sqrt(noise / ((contour - background) ** 2 * p.pixels))
    return raw if variant == "raw" else 1 / (1 + raw)


@localization(on="contour", bounds=(0, 1), best=0, symmetric=True, empty=FORMULA, cite=COQUIN)
def rms(p: Pairs) -> Array:
    """Root mean square difference of the contour images.

    sqrt(|C_truth △ C_pred| / N)

    >>> import verite as vt
    >>> vt.metric("rms")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))          # sqrt(16 / 64)
    0.5
    """
    return np.sqrt(differing_share(p))


@localization(
    on="contour", bounds=(0, 1), best=0, symmetric=True, empty=FORMULA, ranges={"q": "[1, inf)"}, cite=COQUIN,
    aliases={"L1": {"q": 1}, "L3": {"q": 3}},
)  # fmt: skip
def lq(p: Pairs, *, q: float = 1.0) -> Array:
    """L_q distance of the contour images.

    (|C_truth △ C_pred| / N)^(1/q)

    On two-valued images L1 is err_loc and L2 is rms.

    >>> import verite as vt
    >>> vt.metric("lq(q=2)")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))
    0.5
    """
    return differing_share(p) ** (1 / q)


def kullback_bounds(background: float, contour: float) -> Bounds:
    """Range of `kullback`: every pixel on one contour only gives the highest value."""
    return 0.0, (contour - background) * log(contour / background)


@localization(
    on="contour", bounds=kullback_bounds, best=0, symmetric=True, empty=FORMULA, ranges=LEVELS, cite=BASSEVILLE,
    aliases=["KUL", "DKu"],
)  # fmt: skip
def kullback(p: Pairs, *, background: float = 1.0, contour: float = 2.0) -> Array:
    """Kullback-Leibler divergence between the contour images, summed over both directions.

    1/N · Σ (g_pred - g_truth) · ln(g_pred / g_truth), the gray levels g being 1 off and 2 on the contour

    >>> import verite as vt
    >>> vt.metric("kullback")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))     # 16 / 64 · ln 2
    0.173286...
    """
    return differing_share(p) * ((contour - background) * log(contour / background))


def bhattacharyya_bounds(background: float, contour: float, variant: str) -> Bounds:
    """Range of `bhattacharyya`, which depends on the gray levels and the variant.

    Parameters
    ----------
    background
        Gray level of the background, in (0, 1].
    contour
        Gray level of the contour.
    variant
        `raw` compares the images as they are, any other variant after normalisation.

    Returns
    -------
    Bounds
        The lowest and the highest value the distance can take.
    """
    if variant == "raw":
        return -log(max(background, contour)), -log(min(background, contour))
    reach = abs(log(contour / background)) / 2
    return -reach, reach


@localization(
    on="contour", bounds=bhattacharyya_bounds, best=0, empty=FORMULA, ranges=LEVELS, cite=BASSEVILLE,
    aliases=["BAH", "BHA", "DBh"],
    variants={
        "relative": "minus the raw value of the ground truth with itself, so that identical contours give 0",
        "raw": Variant("as printed: identical contours give a value that depends on them",
                       facts={"best": None, "symmetric": True}),
        "as-run": "relative, with the gray levels exchanged: 2 off and 1 on the contour (the published rows show it)",
    },
)  # fmt: skip
def bhattacharyya(p: Pairs, *, background: float = 1.0, contour: float = 2.0, variant: str = "relative") -> Array:
    """Bhattacharyya distance of the contour images.

    raw(truth, pred) - raw(truth, truth), raw = -ln(1/N · Σ √(g_truth · g_pred)), g being 1 off and 2 on the contour

    A longer contour raises the sum, so the value can fall below 0: nearer 0 is better.

    >>> import verite as vt
    >>> vt.metric("bhattacharyya")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))    # ln(76) - ln(4 · 2 + 16 · √2 + 44)
    0.018225...
    """
    if variant == "as-run":
        background, contour = contour, background
    neither = p.pixels - p.truth_contour - p.pred_contour + p.shared_contour
    mixed = (extra_pixels(p) + missing_pixels(p)) * np.sqrt(background * contour)
    mean = (p.shared_contour * contour + mixed + neither * background) / p.pixels
    if variant == "raw":
        return -np.log(mean)
    itself = (p.truth_contour * contour + (p.pixels - p.truth_contour) * background) / p.pixels
    return np.log(itself) - np.log(mean)


@localization(
    on="contour", bounds=(0, float("inf")), best=0, empty=FORMULA, ranges={"alpha": "(1, inf)", **LEVELS},
    cite=BASSEVILLE, aliases=["JEN", "DJe"],
)  # fmt: skip
def jensen(p: Pairs, *, alpha: float = 3.0, background: float = 1.0, contour: float = 2.0) -> Array:
    """Jensen divergence of the ground truth's contour image from the mean of both, with Rényi entropy.

    J(m, g_truth), m = (g_truth + g_pred) / 2, J(a, b) = H(√(a b)) - (H(a) + H(b)) / 2, H(a) = log2(Σ a^α) / (1 - α)

    >>> import verite as vt
    >>> round(vt.metric("jensen")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8)), 6)
    0.034305
    """
    counts = np.stack(
        [
            p.shared_contour,
            missing_pixels(p),
            extra_pixels(p),
            p.pixels - p.truth_contour - p.pred_contour + p.shared_contour,
        ]
    )
    truth = np.array([contour, contour, background, background])
    mean = (truth + np.array([contour, background, contour, background])) / 2

    def entropy(levels: Array) -> Array:
        return np.log2(levels**alpha @ counts) / (1 - alpha)

    divergence: Array = entropy(np.sqrt(mean * truth)) - (entropy(mean) + entropy(truth)) / 2
    # Rounding may leave a value slightly off 0 where the contours agree.
    return np.where(extra_pixels(p) + missing_pixels(p) == 0, 0.0, divergence.clip(min=0.0))
