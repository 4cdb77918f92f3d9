"""Agreement of annotators: Krippendorff's alpha, Cohen's kappa, mean IoU, and F1 and AP of one against another.

F1 and AP of annotators against annotators are a ceiling for detectors: a score above them no longer tells a detector
from a person.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from verite.annotation_errors.object_matching import MatchedObjects
from verite.protocols.f1 import f1

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

MOST_COMPARED = 30  # annotators of which all pairs are evaluated


@dataclass(frozen=True)
class AnnotatorPair:
    """Two annotators on the images that both annotated.

    `AP` is the mean of both directions, each with one of the two as ground truth. Annotators give no confidences: with
    the same confidence for all boxes it is `AP`, with the best possible order `AP_high`.
    """

    first: str
    second: str
    images: int
    matched: int
    mean_iou: float
    kappa: float
    F1: float
    AP: float
    AP_high: float


def krippendorff_alpha(votes: Ints, image: Ints, weights: Floats) -> Floats:
    """Return Krippendorff's alpha of nominal data for each row of weights of the images.

    Parameters
    ----------
    votes : array of int64, shape (units, annotators)
        The class that each annotator gives, -1 for none.
    image : array of int64, shape (units,)
        The image of each unit.
    weights : array of float64, shape (draws, images)
        How much each image counts.

    Examples
    --------
    Two of three units agree; Krippendorff's coincidences are 2 + 2 on the diagonal and 1 + 1 beside it.

    >>> votes = np.array([[0, 0], [1, 1], [0, 1]])
    >>> krippendorff_alpha(votes, np.zeros(3, int), np.ones((1, 1))).round(4).tolist()
    [0.4444]
    """
    size = int(votes.max(initial=-1)) + 1
    counts = np.stack([(votes == k).sum(axis=1) for k in range(size)], axis=1) if size else np.zeros((len(votes), 0))
    said = counts.sum(axis=1)
    counts, image, said = counts[said >= 2], image[said >= 2], said[said >= 2]
    same = (counts * (counts - 1)).sum(axis=1) / np.maximum(said - 1, 1)
    table = np.zeros((weights.shape[1], size + 1))
    np.add.at(table, image, np.column_stack([counts, same]))
    drawn = weights @ table
    by_class, same = drawn[:, :-1], drawn[:, -1]
    total = by_class.sum(axis=1)
    expected = (total**2 - (by_class**2).sum(axis=1)) / np.maximum(total - 1, 1e-12)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected > 0, 1 - (total - same) / expected, nan))


def cohen_kappa(first: Ints, second: Ints) -> float:
    """Return Cohen's kappa of two lists of classes; nan where chance alone would agree always.

    >>> round(cohen_kappa(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])), 4)
    0.5
    """
    if not len(first):
        return nan
    size = int(max(first.max(), second.max())) + 1
    chance = float(np.bincount(first, minlength=size) @ np.bincount(second, minlength=size)) / len(first) ** 2
    return (float((first == second).mean()) - chance) / (1 - chance) if chance < 1 else nan


def compare_pairs(objects: MatchedObjects) -> list[AnnotatorPair]:
    """Compare every two annotators that have images in common; of very many, those with the most images."""
    annotators, labels = objects.annotators, objects.label
    chosen = list(range(len(annotators.names)))
    if len(chosen) > MOST_COMPARED:
        most = np.argsort(-annotators.annotated[:, annotators.shared].sum(axis=1), kind="stable")
        chosen = sorted(most[:MOST_COMPARED].tolist())
    found = []
    for r, s in combinations(chosen, 2):
        common = annotators.annotated[r] & annotators.annotated[s]
        if not common.any():
            continue
        rows, ious = objects.pair_ious(r, s)
        mean_iou = float(ious.mean()) if len(ious) else nan
        names = annotators.names[r], annotators.names[s]
        if annotators.objects is not None:
            found.append(AnnotatorPair(*names, int(common.sum()), len(rows), mean_iou, nan, nan, nan, nan))
            continue
        one, two = (
            side.changed(columns=side.where(common[side.image] & ~side.ignored).columns)
            for side in (annotators.sides[r], annotators.sides[s])
        )
        scores = [nan] * 3
        if len(one) and len(two):
            results = [f1(*sides, on=objects.on, checks="off") for sides in ((one, two), (two, one))]
            bounds = [result.ap_bounds or (nan, nan) for result in results]
            at = f1(one, two, on=objects.on, iou=objects.iou, checks="off")
            scores = [at.tallies[0].f1, *(float(np.mean(side)) for side in zip(*bounds, strict=True))]
        kappa = cohen_kappa(labels[rows, r], labels[rows, s])
        found.append(AnnotatorPair(*names, int(common.sum()), len(rows), mean_iou, kappa, *scores))
    return found
