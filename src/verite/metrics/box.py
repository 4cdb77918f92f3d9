"""Metrics of two bounding boxes: GIoU, DIoU, CIoU, distance of the centres, and the measures of the ROBIN challenge."""

from __future__ import annotations

from math import inf, pi

import numpy as np

from verite.metrics.catalogue import localization
from verite.metrics.metric import Empty, Variant
from verite.metrics.region import ratio
from verite.pairs import Array, Pairs

ROBIN = "D'Angelo, Herbin, Ratiéville, Robin challenge evaluation principles and metrics, 2006"
WORST = Empty(truth=1, pred=1, both=0)


def centre(box: Array) -> Array:
    """Centres x, y of boxes [n, 4]."""
    return (box[:, :2] + box[:, 2:]) / 2


def sides(box: Array) -> Array:
    """Width and height of boxes [n, 4]."""
    return box[:, 2:] - box[:, :2]


def iou_of_boxes(p: Pairs) -> tuple[Array, Array]:
    """IoU of the bounding boxes, and the area of their union."""
    shared = (
        np.minimum(p.truth_box[:, 2:], p.pred_box[:, 2:]) - np.maximum(p.truth_box[:, :2], p.pred_box[:, :2])
    ).clip(min=0.0)
    both = shared.prod(axis=1)
    union = sides(p.truth_box).prod(axis=1) + sides(p.pred_box).prod(axis=1) - both
    return both / union, union


def hull(p: Pairs) -> Array:
    """Width and height of the smallest box around both boxes."""
    return np.maximum(p.truth_box[:, 2:], p.pred_box[:, 2:]) - np.minimum(p.truth_box[:, :2], p.pred_box[:, :2])


@localization(on="box", bounds=(0, 1), best=0, empty=WORST, aliases=["ROBloc"], cite=ROBIN)
def robin_loc(p: Pairs) -> Array:
    """Offset of the centre in widths and heights of the ground truth, mapped to 0 to 1.

    2/π · atan(max(|x_pred - x_truth| / w_truth, |y_pred - y_truth| / h_truth)), x and y being the centres

    Divided by the sides of the ground truth, so exchanging truth and pred changes the value.

    >>> import verite as vt
    >>> vt.metric("robin_loc")([0, 0, 4, 4], [4, 0, 8, 4])     # one width away: 2/π · atan(1)
    0.5
    """
    away = np.abs(centre(p.pred_box) - centre(p.truth_box)) / sides(p.truth_box)
    return 2 / pi * np.arctan(away.max(axis=1))


@localization(
    on="box", bounds=(0, 1), best=0, symmetric=True, empty=WORST, aliases=["ROBcom"], cite=ROBIN,
    variants={
        "primary": "areas of the boxes",
        "as-run": Variant(
            "contour lengths in place of areas, which is what the published rows of the comparative study show",
            facts={"image": True},
        ),
    },
)  # fmt: skip
def robin_com(p: Pairs, *, variant: str = "primary") -> Array:
    """Relative difference of the areas of the boxes.

    |A_pred - A_truth| / max(A_pred, A_truth), A being width · height

    >>> import verite as vt
    >>> vt.metric("robin_com")([0, 0, 4, 4], [0, 0, 4, 2])
    0.5
    """
    truth, pred = sides(p.truth_box).prod(axis=1), sides(p.pred_box).prod(axis=1)
    if variant == "as-run":
        truth, pred = p.truth_contour, p.pred_contour
    return ratio(np.abs(pred - truth), np.maximum(pred, truth))


@localization(on="box", bounds=(0, 1), best=0, symmetric=True, empty=WORST, aliases=["ROBcor"], cite=ROBIN)
def robin_cor(p: Pairs) -> Array:
    """Difference of the aspect ratios of the boxes, mapped to 0 to 1.

    2/π · atan(|h_pred / w_pred - h_truth / w_truth|)

    >>> import verite as vt
    >>> vt.metric("robin_cor")([0, 0, 4, 4], [0, 0, 2, 4])     # ratios 1 and 2: 2/π · atan(1)
    0.5
    """
    truth, pred = (s[:, 1] / s[:, 0] for s in (sides(p.truth_box), sides(p.pred_box)))
    return 2 / pi * np.arctan(np.abs(pred - truth))


@localization(
    on="box", bounds=(0, 1), best=0, empty=WORST, cite=f"{ROBIN}; used jointly: Hemery et al., 2009 and 2010",
    variants={"mean": "mean of the three", "max": "largest of the three"},
)  # fmt: skip
def robin(p: Pairs, *, variant: str = "mean") -> Array:
    """The three Robin metrics of position, size and shape jointly.

    (robin_loc + robin_com + robin_cor) / 3

    Alone each ignores an alteration: robin_loc scale, the others translation. Their mean ignores none.

    >>> import verite as vt
    >>> vt.metric("robin")([0, 0, 4, 4], [4, 0, 8, 4]), vt.metric("robin(variant='max')")([0, 0, 4, 4], [4, 0, 8, 4])
    (0.16666666666666666, 0.5)
    """
    parts = np.stack([robin_loc(p), robin_com(p), robin_cor(p)])
    joint: Array = parts.max(axis=0) if variant == "max" else parts.mean(axis=0)
    return joint


@localization(
    on="box", bounds=(0, inf), best=0, symmetric=True, unit="px", aliases=["center_distance"], points=True,
    empty=Empty(truth="diagonal", pred="diagonal", both=0),
    cite="Hemery et al., GRETSI 2009: the measure left where a result is only a point",
)  # fmt: skip
def centre_distance(p: Pairs) -> Array:
    """Distance between the centres of the boxes.

    sqrt((x_pred - x_truth)² + (y_pred - y_truth)²)

    A box without an area is a point: only its position counts.

    >>> import verite as vt
    >>> vt.metric("centre_distance")([0, 0, 4, 4], [3, 4, 7, 8])
    5.0
    >>> vt.metric("centre_distance")([0, 0, 0, 0], [3, 4, 3, 4])
    5.0
    """
    return np.hypot(*(centre(p.pred_box) - centre(p.truth_box)).T)


@localization(
    on="box", bounds=(-1, 1), best=1, symmetric=True, empty=Empty(truth=-1, pred=-1, both=1),
    cite="Rezatofighi et al., Generalized Intersection over Union, CVPR 2019",
)  # fmt: skip
def giou(p: Pairs) -> Array:
    """Generalized IoU: IoU of the boxes, less the share of their enclosing box that neither covers.

    IoU - (C - U) / C, with U the area of the union and C that of the smallest box around both

    >>> import verite as vt
    >>> vt.metric("giou")([0, 0, 2, 2], [4, 0, 6, 2])          # no overlap, a third of the enclosing box empty
    -0.333333...
    """
    iou, union = iou_of_boxes(p)
    enclosing = hull(p).prod(axis=1)
    return iou - (enclosing - union) / enclosing


@localization(
    on="box", bounds=(-1, 1), best=1, symmetric=True, empty=Empty(truth=-1, pred=-1, both=1),
    cite="Zheng et al., Distance-IoU Loss, AAAI 2020",
)  # fmt: skip
def diou(p: Pairs) -> Array:
    """Distance IoU: IoU of the boxes, less the squared distance of their centres relative to their enclosing box.

    IoU - ρ² / c², with ρ the distance of the centres and c the diagonal of the smallest box around both

    >>> import verite as vt
    >>> vt.metric("diou")([0, 0, 4, 4], [4, 0, 8, 4])          # 0 - 16 / 80
    -0.2
    """
    iou, _ = iou_of_boxes(p)
    return iou - distance_term(p)


def distance_term(p: Pairs) -> Array:
    """Squared distance of the centres over the squared diagonal of the smallest box around both."""
    away = ((centre(p.pred_box) - centre(p.truth_box)) ** 2).sum(axis=1)
    return away / (hull(p) ** 2).sum(axis=1)


@localization(
    on="box", bounds=(-1.5, 1), best=1, symmetric=True, empty=Empty(truth=-1.5, pred=-1.5, both=1),
    cite="Zheng et al., Distance-IoU Loss, AAAI 2020",
)  # fmt: skip
def ciou(p: Pairs) -> Array:
    """Complete IoU: IoU of the boxes, less terms for the distance of their centres and for their aspect ratios.

    IoU - ρ² / c² - α v, with v = (2/π · (atan(w_truth / h_truth) - atan(w_pred / h_pred)))², α = v / (1 - IoU + v)

    >>> import verite as vt
    >>> vt.metric("ciou")([0, 0, 4, 4], [4, 0, 8, 4])          # equal aspect ratios: the same as diou
    -0.2
    """
    iou, _ = iou_of_boxes(p)
    angle = [np.arctan2(s[:, 0], s[:, 1]) for s in (sides(p.truth_box), sides(p.pred_box))]
    shape = (2 / pi * (angle[0] - angle[1])) ** 2
    weight = np.divide(shape, 1 - iou + shape, out=np.zeros_like(shape), where=shape > 0)
    return iou - distance_term(p) - weight * shape
