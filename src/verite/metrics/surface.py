"""What people report of masks today: mean distances both ways, contours within a tolerance, overlaps of the rims."""

from __future__ import annotations

from math import inf

import numpy as np

from verite.metrics.catalogue import localization
from verite.metrics.ratios import ratio
from verite.metrics.record import Empty
from verite.pairs import Array, Pairs


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
    """Mean distance from either contour to the other.

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
    """Share of both contours that lies within a tolerance of the other.

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
    """Intersection over union of the regions' rims.

    |T_d ∩ P_d| / |T_d ∪ P_d|, R_d being the pixels of R within d steps of its outside, d = rim · diagonal of the image

    d is rounded to whole pixels, at least 1; steps go to all eight neighbours, as in the authors' code.

    >>> import verite as vt
    >>> vt.metric("boundary_iou")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))     # rims of 12 pixels share 4
    0.2
    """
    widths = np.maximum(np.rint(rim * np.hypot(p.heights, p.widths)), 1).astype(np.int64)
    truth, pred, both = p.rims(widths).T
    return ratio(both, truth + pred - both, otherwise=1.0)  # two boxes without a pixel
