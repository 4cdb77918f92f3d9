"""Metrics of the distances between two contours: Hausdorff, average surface distance, surface Dice, Boundary IoU, …"""

from __future__ import annotations

from math import inf

import numpy as np

from verite.metrics.catalogue import localization
from verite.metrics.contour import extra_pixels, missing_pixels
from verite.metrics.metric import Empty, Variant
from verite.metrics.region import DISTANCE, as_variant, ratio
from verite.pairs import Array, Pairs
from verite.pairs.store import MERIT_ALPHA, merge, quantiles

PELI = "Peli, Malah, A study of edge detection algorithms, Computer Graphics and Image Processing 1982"

ODET = "Odet, Belaroussi, Benoit-Cattin, Scalable discrepancy measures for segmentation evaluation, ICIP 2002"

FAR = Empty(truth="diagonal", pred="diagonal", both=0)


@localization(
    on="contour", bounds=(0, inf), best=0, unit="px", volumes=True, empty=FAR, aliases=["DMoy", "asd"], cite=PELI
)
def mean_distance(p: Pairs) -> Array:
    """Mean distance from the prediction's contour pixels to the ground truth's contour.

    1/|C_pred| · Σ d(k, C_truth) over the pixels k of C_pred

    >>> import verite as vt
    >>> vt.metric("mean_distance")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))    # 4 × 0, 2 × 1, 4 × 2, 2 × 1 over 12
    1.0
    """
    return p.to_truth.total(1) / p.pred_contour


@localization(
    on="contour", bounds=(0, inf), best=0, unit="px²", volumes=True, aliases=["DMoC"], cite=PELI,
    empty=Empty(truth="diagonal²", pred="diagonal²", both=0),
)  # fmt: skip
def mean_squared_distance(p: Pairs) -> Array:
    """Mean squared distance from the prediction's contour pixels to the ground truth's contour.

    1/|C_pred| · Σ d(k, C_truth)² over the pixels k of C_pred

    >>> import verite as vt
    >>> vt.metric("mean_squared_distance")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))    # (4 · 1 + 4 · 4) / 12
    1.666666...
    """
    return p.to_truth.total(2) / p.pred_contour


@localization(
    on="contour", bounds=(0, 1), best=0, distance=True, aliases=["FOM", "Pratt"], ranges={"alpha": "(0, inf)"},
    cite="Pratt, Faugeras, Gagalowicz, Visual discrimination of stochastic texture fields, IEEE SMC 1978",
    variants={"distance": DISTANCE, "similarity": Variant("Pratt's own: 1 is perfect", is_complement=True)},
)  # fmt: skip
def figure_of_merit(p: Pairs, *, alpha: float = MERIT_ALPHA, variant: str = "distance") -> Array:
    """Pratt's figure of merit as a distance: 1 - merit.

    1 - 1/max(|C_truth|, |C_pred|) · Σ 1 / (1 + α d(k, C_truth)²) over the pixels k of C_pred, α = 1/9

    >>> import verite as vt
    >>> vt.metric("figure_of_merit")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))   # 1 - (4 + 4 · 9/10 + 4 · 9/13) / 12
    0.135897...
    """
    merit = p.to_truth.merit(alpha) / np.maximum(p.truth_contour, p.pred_contour)
    return as_variant(1 - merit, variant)


@localization(
    on="contour", bounds=(0, inf), best=0, symmetric=True, unit="px", volumes=True, empty=FAR,
    ranges={"quantile": "(0, 1]"},
    aliases={"HAU": {}, "hd": {}, "hd95": {"quantile": 0.95}, "hausdorff95": {"quantile": 0.95}},
    cite="Huttenlocher, Klanderman, Rucklidge, Comparing images using the Hausdorff distance, PAMI 1993",
    variants={
        "max": "the larger of the two directed quantiles",
        "pooled": "the quantile of both lists together, as MedPy computes hd95",
    },
)  # fmt: skip
def hausdorff(p: Pairs, *, quantile: float = 1.0, variant: str = "max") -> Array:
    """Hausdorff distance: the largest distance from either contour to the other.

    max(h(truth, pred), h(pred, truth)), h(A, B) the given quantile of the distances d(k, C_B) over the pixels k of C_A

    `quantile=0.95` (HD95) excludes the farthest 5 % of the pixels. Quantiles are interpolated linearly.

    >>> import verite as vt
    >>> vt.metric("hausdorff")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))
    2.0
    """
    if quantile == 1:
        return np.maximum(p.to_truth.largest, p.to_pred.largest)
    if variant == "pooled":
        return quantiles(*merge(p.to_truth, p.to_pred), quantile)
    return np.maximum(p.to_truth.quantile(quantile), p.to_pred.quantile(quantile))


@localization(
    on="contour", bounds=(0, inf), best=0, symmetric=True, unit="px", empty=FAR,
    ranges={"p": "[1, inf)", "cutoff": "(0, inf]"},
    aliases={"BAD": {}, "BAD1": {"p": 1}, "BAD2": {"p": 2}, "BAD3": {"p": 3}},
    cite="Baddeley, An error metric for binary images, Robust Computer Vision 1992",
    variants={
        "primary": "mean over the whole image, inside the root",
        "union": "mean over the pixels of both contours, inside the root",
        "printed": "sum over the pixels of both contours divided by the pixels of the image, inside the root",
        "as-run": "root of the sum over both contours, divided by their pixels: what the comparative study ran",
    },
)  # fmt: skip
def baddeley(pairs: Pairs, *, p: float = 2.0, cutoff: float = inf, variant: str = "primary") -> Array:
    """Baddeley's Δ: difference of the distance maps of the two contours over the whole image.

    (1/N · Σ |w(d(k, C_truth)) - w(d(k, C_pred))|^p)^(1/p) over all pixels k, w(d) = min(d, cutoff)

    It needs the distance of every pixel of the image and is slow for large images; the other variants use contour
    pixels only.

    >>> import verite as vt
    >>> vt.metric("baddeley(p=1, variant=as-run)")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))   # (12 + 12) / 20
    1.2
    """
    if variant == "primary":
        return (pairs.distance_differences(p, cutoff) / pairs.pixels) ** (1 / p)
    both = pairs.truth_contour + pairs.pred_contour - pairs.shared_contour
    if cutoff == inf:
        total = pairs.to_truth.total(p) + pairs.to_pred.total(p)
    else:
        cut = [d.sum_rows(np.minimum(d.distances, cutoff) ** p) for d in (pairs.to_truth, pairs.to_pred)]
        total = cut[0] + cut[1]
    if variant == "as-run":
        return total ** (1 / p) / both
    return (total / (both if variant == "union" else pairs.pixels)) ** (1 / p)


def diagonal_in_thresholds(p: Pairs, *, n: float = 1.0, threshold: float) -> Array:
    """Value of Odet's measures if every pixel were a diagonal of the image away."""
    return (p.diagonal / threshold) ** n


FARTHEST = ("(diagonal / threshold)^n", diagonal_in_thresholds)
FARTHEST_1 = ("diagonal / threshold", diagonal_in_thresholds)

SCALES = {"n": "(0, inf)", "threshold": "(0, inf)"}


@localization(
    on="contour", bounds=(0, inf), best=0, distance=True, ranges=SCALES,
    aliases={"ODI": {}, "ODI1": {"n": 1}, "ODI2": {"n": 2}},
    empty=Empty(truth=FARTHEST, pred=0, both=0), cite=ODET,
)  # fmt: skip
def odet_over(p: Pairs, *, n: float = 1.0, threshold: float = 5.0) -> Array:
    """Mean distance of the over-detected contour pixels from the ground truth's contour, in thresholds.

    1/|O| · Σ (d(k, C_truth) / threshold)^n over the pixels k of O = C_pred \\ C_truth, and 0 where O is empty

    >>> import verite as vt
    >>> vt.metric("odet_over")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))    # 8 pixels, 12 px in all, threshold 5 px
    0.3
    """
    return ratio(p.to_truth.total(n), extra_pixels(p)) / threshold**n


@localization(
    on="contour", bounds=(0, inf), best=0, distance=True, ranges=SCALES,
    aliases={"UDI": {}, "UDI1": {"n": 1}, "UDI2": {"n": 2}},
    empty=Empty(truth=0, pred=FARTHEST, both=0), cite=ODET,
)  # fmt: skip
def odet_under(p: Pairs, *, n: float = 1.0, threshold: float = 5.0) -> Array:
    """Mean distance of the missed contour pixels from the prediction's contour, in thresholds.

    1/|U| · Σ (d(k, C_pred) / threshold)^n over the pixels k of U = C_truth \\ C_pred, and 0 where U is empty

    >>> import verite as vt
    >>> vt.metric("odet_under(n=2)")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))    # 20 / 8 / 25
    0.1
    """
    return ratio(p.to_pred.total(n), missing_pixels(p)) / threshold**n


@localization(
    on="contour", bounds=(0, inf), best=0, symmetric=True, distance=True, ranges={"threshold": "(0, inf)"},
    aliases=["ND"],
    empty=Empty(truth=FARTHEST_1, pred=FARTHEST_1, both=0), cite=ODET,
)  # fmt: skip
def odet_nd(p: Pairs, *, threshold: float = 5.0) -> Array:
    """Mean distance of the pixels on one contour only from the other contour, in thresholds.

    (Σ d(k, C_truth) + Σ d(k, C_pred)) / (|C_truth △ C_pred| · threshold), and 0 where the contours agree

    The comparative study gives no formula; this measure of Odet's family grows linearly with a shift, as the study
    reports.

    >>> import verite as vt
    >>> vt.metric("odet_nd")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))      # (12 + 12) / (16 · 5)
    0.3
    """
    return ratio(p.to_truth.total(1) + p.to_pred.total(1), extra_pixels(p) + missing_pixels(p)) / threshold


@localization(
    on="contour", bounds=(0, inf), best=0, symmetric=True, unit="px", volumes=True, aliases=["assd"],
    empty=Empty(truth="diagonal", pred="diagonal", both=0),
    cite="Heimann et al., Comparison and evaluation of methods for liver segmentation, IEEE TMI 2009",
    variants={
        "pooled": "the mean over the pixels of both contours, as MONAI and MedPy compute it",
        "mean": "the mean of the two directed means, as MedPy computed it before 0.5",
    },
)  # fmt: skip
def average_surface_distance(p: Pairs, *, variant: str = "pooled") -> Array:
    """Average symmetric surface distance: the mean distance from either contour to the other.

    (Σ d(k, C_truth) over C_pred + Σ d(k, C_pred) over C_truth) / (|C_truth| + |C_pred|)

    >>> import verite as vt
    >>> vt.metric("average_surface_distance")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))
    1.0
    """
    if variant == "mean":
        return (p.to_truth.total(1) / p.pred_contour + p.to_pred.total(1) / p.truth_contour) / 2
    return (p.to_truth.total(1) + p.to_pred.total(1)) / (p.pred_contour + p.truth_contour)


@localization(
    on="contour", bounds=(0, 1), best=1, symmetric=True, distance=True, volumes=True, ranges={"tolerance": "[0, inf)"},
    aliases=["nsd", "normalized_surface_dice", "surface_dice"],
    cite="Nikolov et al., Clinically applicable segmentation of head and neck anatomy, JMIR 2021",
)  # fmt: skip
def normalised_surface_dice(p: Pairs, *, tolerance: float = 1.0) -> Array:
    """Normalised surface Dice: the share of both contours within a tolerance of the other.

    (|{k ∈ C_pred: d(k, C_truth) ≤ τ}| + |{k ∈ C_truth: d(k, C_pred) ≤ τ}|) / (|C_truth| + |C_pred|)

    >>> import verite as vt
    >>> vt.metric("normalised_surface_dice")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))      # 8 + 8 of 24
    0.666666...
    """
    near = p.to_truth.within(tolerance) + p.to_pred.within(tolerance)
    return near / (p.truth_contour + p.pred_contour)


@localization(
    bounds=(0, 1), best=1, symmetric=True, image=True, ranges={"rim": "(0, 1]"}, aliases=["biou"],
    cite="Cheng et al., Boundary IoU: Improving Object-Centric Image Segmentation Evaluation, CVPR 2021",
)  # fmt: skip
def boundary_iou(p: Pairs, *, rim: float = 0.02) -> Array:
    """Boundary IoU: intersection over union of the inner boundary regions.

    |T_d ∩ P_d| / |T_d ∪ P_d|, R_d being the pixels of R within d of its boundary, d = rim · diagonal of the image

    d is rounded to whole pixels, at least 1, and counted over eight neighbours, as in the authors' code.

    >>> import verite as vt
    >>> vt.metric("boundary_iou")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))     # boundary regions of 12 pixels share 4
    0.2
    """
    widths = np.maximum(np.rint(rim * np.hypot(p.heights, p.widths)), 1).astype(np.int64)
    truth, pred, both = p.rim_areas(widths).T
    return ratio(both, truth + pred - both, otherwise=1.0)  # two boxes without a pixel
