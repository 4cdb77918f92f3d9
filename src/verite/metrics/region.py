"""Metrics of two regions by their areas: IoU (Jaccard), Dice, pixel precision and recall, missed and added area."""

from __future__ import annotations

from math import inf

import numpy as np

from verite.metrics.catalogue import localization
from verite.metrics.metric import Empty, Variant
from verite.pairs import Array, Pairs

# The main variant of a metric that is published as a similarity.
DISTANCE = "0 is perfect"


def ratio(part: Array, whole: Array, otherwise: float = 0.0) -> Array:
    """Return part / whole, and `otherwise` where whole is 0.

    Parameters
    ----------
    part
        Numerators, such as areas of intersections.
    whole
        Denominators, such as areas of unions.
    otherwise
        The value where the denominator is 0: two empty regions, for instance.

    Returns
    -------
    Array
        The quotients, without a warning about divisions by zero.

    Examples
    --------
    >>> ratio(np.array([1.0, 2.0]), np.array([2.0, 0.0]))
    array([0.5, 0. ])
    """
    shape = np.broadcast_shapes(np.shape(part), np.shape(whole))
    return np.divide(part, whole, out=np.full(shape, otherwise), where=np.asarray(whole) != 0)


def as_variant(distance: Array, variant: str) -> Array:
    """Return the distance, or 1 - distance for the variant "similarity"."""
    return 1 - distance if variant == "similarity" else distance


PASCAL = "Everingham et al., The Pascal Visual Object Classes Challenge, IJCV 2010"

HENRICSSON = "Henricsson, Baltsavias, 3-D building reconstruction with ARUBA, 1997"

YASNOFF = "Yasnoff, Mui, Bacus, Error measures for scene segmentation, Pattern Recognition 1977"

WOLF = "Wolf, Jolion, Object count/area graphs, IJDAR 2006"

EXCHANGED = "truth and pred exchanged, as the comparative study of 2010 prints and ran it"


def region_iou(p: Pairs) -> Array:
    """Intersection over union of the regions."""
    return p.shared_area / (p.truth_area + p.pred_area - p.shared_area)


@localization(bounds=(0, 1), best=1, symmetric=True, volumes=True, aliases=["jaccard"], cite=PASCAL)
def iou(p: Pairs) -> Array:
    """Intersection over union of the regions.

    |T ∩ P| / |T ∪ P|

    Exact for two boxes, counted in pixels for other regions.

    >>> import verite as vt
    >>> vt.metric("iou")([0, 0, 4, 4], [2, 0, 6, 4])
    0.333333...
    """
    return region_iou(p)


@localization(bounds=(0, 1), best=0, symmetric=True, aliases=["PAS", "jaccard_distance"], cite=PASCAL)
def pascal(p: Pairs) -> Array:
    """Jaccard distance: the share of the union outside the intersection.

    1 - |T ∩ P| / |T ∪ P|

    >>> import verite as vt
    >>> vt.metric("pascal")([0, 0, 4, 4], [2, 0, 6, 4])
    0.666666...
    """
    return 1 - region_iou(p)


@localization(
    bounds=(0, 1), best=1, symmetric=True, volumes=True, aliases=["f1"], cite="Dice, Ecology 1945; Sørensen 1948"
)
def dice(p: Pairs) -> Array:
    """Dice coefficient: twice the intersection over the sum of the areas.

    2 |T ∩ P| / (|T| + |P|)

    >>> import verite as vt
    >>> vt.metric("dice")([0, 0, 4, 4], [2, 0, 6, 4])
    0.5
    """
    return 2 * p.shared_area / (p.truth_area + p.pred_area)


@localization(bounds=(0, inf), best=0, empty=Empty(truth="pixels", both=0), cite=HENRICSSON)
def hen1(p: Pairs) -> Array:
    """Difference of the areas, relative to the area of the ground truth.

    ||P| - |T|| / |T|, and the pixels of the image where the truth is empty

    >>> import verite as vt
    >>> vt.metric("hen1")([0, 0, 4, 4], [0, 0, 4, 5])
    0.25
    """
    return np.abs(p.pred_area - p.truth_area) / p.truth_area


@localization(bounds=(0, inf), best=0, empty=Empty(truth="pixels", both=0), cite=HENRICSSON)
def hen2(p: Pairs) -> Array:
    """Missed and added area, relative to the area of the ground truth.

    (|T \\ P| + |P \\ T|) / |T|, and the pixels of the image where the truth is empty

    >>> import verite as vt
    >>> vt.metric("hen2")([0, 0, 4, 4], [2, 0, 6, 4])
    1.0
    """
    return (p.truth_area + p.pred_area - 2 * p.shared_area) / p.truth_area


@localization(
    bounds=(0, 100), best=0, unit="%", empty=Empty(), aliases=["YAS1"], cite=YASNOFF,
    variants={"primary": "missed pixels of the ground truth", "as-run": EXCHANGED},
)  # fmt: skip
def yasnoff1(p: Pairs, *, variant: str = "primary") -> Array:
    """Percentage of the ground truth's pixels that the prediction misses.

    100 · |T \\ P| / |T|, and 0 where the truth is empty

    >>> import verite as vt
    >>> vt.metric("yasnoff1")([0, 0, 4, 4], [0, 0, 4, 3])
    25.0
    """
    area = p.pred_area if variant == "as-run" else p.truth_area
    return 100 * ratio(area - p.shared_area, area)


@localization(
    bounds=(0, 100), best=0, unit="%", empty=Empty(), image=True, aliases=["YAS2"], cite=YASNOFF,
    variants={"primary": "background predicted as object", "as-run": EXCHANGED},
)  # fmt: skip
def yasnoff2(p: Pairs, *, variant: str = "primary") -> Array:
    """Percentage of the pixels outside the ground truth that the prediction adds.

    100 · |P \\ T| / (N - |T|), and 0 where the truth is the whole image

    >>> import verite as vt
    >>> vt.metric("yasnoff2")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))     # 8 of 48
    16.666666...
    """
    background = (p.swapped if variant == "as-run" else p).table[:, -1, :]
    return 100 * ratio(background[:, 0], background.sum(axis=1))


def added_at_diagonal(p: Pairs) -> Array:
    """Value of yasnoff3 if every pixel of the prediction were a diagonal of the image away."""
    return 100 / p.pixels * np.sqrt(p.pixel_areas[:, 1]) * p.diagonal


@localization(
    bounds=(0, inf), best=0, unit="%", distance=True, image=True, aliases=["YAS3"], cite=YASNOFF,
    empty=Empty(truth=("100 · √area · diagonal / pixels", added_at_diagonal), pred=0, both=0),
)  # fmt: skip
def yasnoff3(p: Pairs) -> Array:
    """Distance of the added pixels from the ground truth, as a percentage.

    100 / N · sqrt(Σ d(k, T)²) over the pixels k of P \\ T

    >>> import verite as vt
    >>> vt.metric("yasnoff3")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))     # 4 pixels 1 away, 4 pixels 2 away
    6.987712...
    """
    has_pixels = p.pixel_areas[:, 0] > 0  # a box may have an area and no pixel in the image
    return np.where(has_pixels, 100 / p.pixels * np.sqrt(p.outside_truth), added_at_diagonal(p))


BOTH_WAYS: dict[str, str | Variant] = {
    "distance": DISTANCE,
    "similarity": Variant("the usual definition: 1 is perfect", is_complement=True),
}


@localization(
    bounds=(0, 1), best=0, empty=Empty(pred=1, both=0), aliases=["Ppx", "P_px"], cite=WOLF, variants=BOTH_WAYS,
)  # fmt: skip
def pixel_precision(p: Pairs, *, variant: str = "distance") -> Array:
    """Share of the predicted pixels that are false positives: 1 - precision.

    1 - |T ∩ P| / |P|

    >>> import verite as vt
    >>> vt.metric("pixel_precision")([0, 0, 4, 4], [0, 0, 4, 8])
    0.5
    """
    return as_variant(1 - p.shared_area / p.pred_area, variant)


@localization(
    bounds=(0, 1), best=0, empty=Empty(truth=0, both=0), aliases=["Rpx", "R_px"], cite=WOLF, variants=BOTH_WAYS,
)  # fmt: skip
def pixel_recall(p: Pairs, *, variant: str = "distance") -> Array:
    """Share of the ground truth's pixels that are missed: 1 - recall.

    1 - |T ∩ P| / |T|

    >>> import verite as vt
    >>> vt.metric("pixel_recall")([0, 0, 4, 4], [0, 0, 4, 3])
    0.25
    """
    return as_variant(1 - p.shared_area / p.truth_area, variant)
