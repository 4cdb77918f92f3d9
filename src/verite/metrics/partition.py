"""Metrics of two partitions of an image: GCE, LCE, Hamming, Hafiane, Vinet, for one object or for label images.

They are computed from the contingency table of pixels: rows are regions of the ground truth, columns regions of the
prediction, and the last of each is the background.
"""

from __future__ import annotations

import numpy as np

from verite.metrics.catalogue import localization
from verite.metrics.metric import Empty, Variant
from verite.metrics.region import DISTANCE, as_variant, ratio
from verite.pairs import Array, Pairs

MARTIN = "Martin, Fowlkes, Tal, Malik, A database of human segmented natural images, ICCV 2001"
HAFIANE = "Hafiane, Chabrier, Rosenberger, Laurent, A new supervised evaluation criterion, ACIVS 2007"
FORMULA = Empty()
BOTH_WAYS: dict[str, str | Variant] = {
    "distance": DISTANCE,
    "similarity": Variant("as printed: 1 is perfect", is_complement=True),
}
MARTIN_VARIANTS = {
    "primary": "the smaller error",
    "per-object": "the smaller error, object compared with object and background with background rather than the two "
    "regions of each pixel (equation 6 of the interpretation score)",
    "as-run": "the larger error, which agrees with more published cells",
}


def refinement_errors(table: Array, variant: str) -> tuple[Array, Array]:
    """Per cell of the table, the share of its row's region outside its column's region, and the other way round."""
    rows, columns = table.sum(axis=2, keepdims=True), table.sum(axis=1, keepdims=True)
    if variant == "per-object":
        kept = counterparts(table), counterparts(table.transpose(0, 2, 1)).transpose(0, 2, 1)
    else:
        kept = table, table
    errors = ratio(rows - kept[0], rows), ratio(columns - kept[1], columns)
    return np.broadcast_to(errors[0], table.shape), np.broadcast_to(errors[1], table.shape)


def counterparts(table: Array) -> Array:
    """Pixels that each row shares with its counterpart.

    The counterpart of an object is the object it shares most pixels with, that of the background is the background.
    """
    shared = table[:, :, -1:].copy()
    shared[:, :-1] = table[:, :-1, :-1].max(axis=2, keepdims=True, initial=0.0)
    return shared


@localization(
    bounds=(0, 1), best=0, symmetric=True, empty=FORMULA, image=True, labels=True, aliases=["MARgce", "Martin1"],
    cite=MARTIN, variants=MARTIN_VARIANTS,
)  # fmt: skip
def gce(p: Pairs, *, variant: str = "primary") -> Array:
    """Global consistency error: the error of one partition as a refinement of the other.

    1/N · min(Σ E(T, P, k), Σ E(P, T, k)), E(A, B, k) = |A(k) \\ B(k)| / |A(k)|, A(k) being the region of pixel k

    >>> import verite as vt
    >>> vt.metric("gce")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))      # 2 · 8 · 8/16 + 2 · 8 · 40/48 over 64
    0.333333...
    """
    table = p.table
    sums = [(table * error).sum(axis=(1, 2)) for error in refinement_errors(table, variant)]
    chosen = np.maximum(*sums) if variant == "as-run" else np.minimum(*sums)
    return chosen / table.sum(axis=(1, 2))


@localization(
    bounds=(0, 1), best=0, symmetric=True, empty=FORMULA, image=True, labels=True, aliases=["MARlce", "Martin2"],
    cite=MARTIN, variants=MARTIN_VARIANTS,
)  # fmt: skip
def lce(p: Pairs, *, variant: str = "primary") -> Array:
    """Local consistency error: like gce, but the direction of refinement may change from pixel to pixel.

    1/N · Σ min(E(T, P, k), E(P, T, k)), E as for gce

    >>> import verite as vt
    >>> vt.metric("lce")([0, 0, 4, 4], [0, 0, 8, 4], size=(8, 8))      # 16 pixels of the pred alone, half each
    0.125
    """
    table = p.table
    errors = refinement_errors(table, variant)
    chosen = np.maximum(*errors) if variant == "as-run" else np.minimum(*errors)
    return (table * chosen).sum(axis=(1, 2)) / table.sum(axis=(1, 2))


@localization(
    bounds=(0, 1), best=0, symmetric=True, empty=FORMULA, image=True, labels=True, aliases=["HAM"], variants=BOTH_WAYS,
    cite="Huang, Dom, Quantitative methods of evaluating image segmentation, ICIP 1995",
)  # fmt: skip
def hamming(p: Pairs, *, variant: str = "distance") -> Array:
    """Normalised Hamming distance: the share of pixels outside the best-matching region, in both directions.

    (D(T ⇒ P) + D(P ⇒ T)) / (2 N), D(A ⇒ B) = Σ over the regions r of B of |r| - max over the regions q of A of |q ∩ r|

    >>> import verite as vt
    >>> vt.metric("hamming")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))  # 16 pixels either way
    0.25
    """
    table = p.table
    total = table.sum(axis=(1, 2))
    lost = 2 * total - table.max(axis=1).sum(axis=1) - table.max(axis=2).sum(axis=1)
    return as_variant(lost / (2 * total), variant)


def best_partner(table: Array) -> Array:
    """IoU of each row with the column it shares most pixels with.

    Where several columns share as many, an object goes before the background, and then the higher IoU.
    """
    rows, columns = table.sum(axis=2, keepdims=True), table.sum(axis=1, keepdims=True)
    iou = ratio(table, rows + columns - table)
    is_most = table == table.max(axis=2, keepdims=True)
    is_most[:, :, -1] &= ~is_most[:, :, :-1].any(axis=2)
    return np.where(is_most, iou, 0.0).max(axis=2)


def object_ratio(table: Array) -> Array:
    """Factor η for the numbers of objects: 1 if they are equal, lower the more they differ.

    The printed branch for too few objects, 1 / log(N_T / N_P), is undefined where the numbers are equal; it is read as
    1 / log2(1 + N_T / N_P), which is 1 there.
    """
    truth = (table[:, :-1].sum(axis=2) > 0).sum(axis=1).astype(np.float64)
    pred = (table[:, :, :-1].sum(axis=1) > 0).sum(axis=1).astype(np.float64)
    too_few = ratio(np.ones(len(table)), np.log2(1 + ratio(truth, pred, np.inf)))
    return np.where(pred >= truth, ratio(truth, pred, 1.0), too_few)


@localization(
    bounds=(0, 1), best=0, empty=FORMULA, image=True, labels=True, aliases=["HAF1", "Hafiane"], variants=BOTH_WAYS,
    cite="Hafiane, Caractérisation de textures et segmentation pour la recherche d'images, thesis, Paris-Sud 2005",
)  # fmt: skip
def hafiane1(p: Pairs, *, variant: str = "distance") -> Array:
    """1 - the mean IoU of the ground truth's regions with the prediction's, every region with the same weight.

    1 - η / |regions of T| · Σ over the regions i of T of |i ∩ j| / |i ∪ j|, j the region of P that shares most with i

    η is N_T / N_P for N_P ≥ N_T objects, else 1 / log2(1 + N_T / N_P).

    >>> import verite as vt
    >>> vt.metric("hafiane1")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))     # 1 - (8/24 + 40/56) / 2
    0.476190...
    """
    table = p.table
    exists = table.sum(axis=2) > 0
    mean = (best_partner(table) * exists).sum(axis=1) / exists.sum(axis=1)
    return as_variant(1 - object_ratio(table) * mean, variant)


@localization(
    bounds=(0, 1), best=0, empty=FORMULA, image=True, labels=True, aliases=["HAF2"], variants=BOTH_WAYS,
    ranges={"weight": "[0, inf)"}, cite=HAFIANE,
)  # fmt: skip
def hafiane2(p: Pairs, *, weight: float = 0.2, variant: str = "distance") -> Array:
    """1 - the mean IoU of the prediction's regions with the ground truth's, every region weighted by its size.

    1 - (M + m η) / (1 + m), M = Σ over the regions j of P of |j| / N · |i ∩ j| / |i ∪ j|, i the region of T that shares
    most with j, m = weight, η as for hafiane1

    >>> import verite as vt
    >>> vt.metric("hafiane2(weight=0)")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))   # 1 - (1/4 · 8/24 + 3/4 · 40/56)
    0.380952...
    """
    table = p.table
    share = table.sum(axis=1) / table.sum(axis=(1, 2))[:, None]
    matched = (best_partner(table.transpose(0, 2, 1)) * share).sum(axis=1)
    return as_variant(1 - (matched + weight * object_ratio(table)) / (1 + weight), variant)


@localization(
    bounds=(0, float("inf")), best=0, symmetric=True, unit="px", distance=False, empty=FORMULA, image=True, labels=True,
    aliases=["VIN"],
    cite="Vinet, Segmentation et mise en correspondance de régions, thesis, Paris IX 1991",
    variants={
        "count": "pixels",
        "share": Variant("divided by the pixels of the image", facts={"bounds": (0, 1), "unit": ""}),
    },
)  # fmt: skip
def vinet(p: Pairs, *, variant: str = "count") -> Array:
    """Pixels outside all matched regions, matched greedily by their shared pixels.

    N - Σ |i ∩ j| over the matched regions i and j, the pair with most shared pixels first and each region once

    With one object per side, each at most half the image, it is |T| + |P| - 2 |T ∩ P|.

    >>> import verite as vt
    >>> vt.metric("vinet")([0, 0, 4, 4], [2, 0, 6, 4], size=(8, 8))        # 8 missed, 8 added
    16.0
    """
    table = p.table
    pairs, rows, columns = table.shape
    iou = ratio(table, table.sum(axis=2, keepdims=True) + table.sum(axis=1, keepdims=True) - table)
    left, matched, every = table.copy(), np.zeros(pairs), np.arange(pairs)
    for _ in range(min(rows, columns)):
        most = left.max(axis=(1, 2), keepdims=True)
        # Of equal pairs the one with the higher IoU, then the first: the result must not depend on the numbering.
        chosen = np.where(left == most, iou, -1.0).reshape(pairs, -1).argmax(axis=1)
        i, j = np.divmod(chosen, columns)
        matched += left[every, i, j].clip(min=0.0)
        left[every, i, :] = left[every, :, j] = -1.0
    total = table.sum(axis=(1, 2))
    return (total - matched) / total if variant == "share" else total - matched
