"""Which object of the predictions is which object of the truth? Matched by overlap, as pairs ready to be measured."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import DataError
from verite.evaluation.candidates import Candidates, box_candidates
from verite.evaluation.floors import sure_enough
from verite.metrics.settings import LocalizeSettings
from verite.model.annotations import Annotations
from verite.model.regions import BOX
from verite.pairs.objects import ignored_truths, kinds, overlap_of, pairs_of, uses_boxes
from verite.threads import thread_count

MASK_PICTURES = "mask-pictures"
SOME = float(np.nextafter(0, 1))  # objects that share nothing never match, whatever the threshold


@dataclass(frozen=True, eq=False)
class MatchedObjects:
    """Objects of both sides, by their rows: truth[i] with pred[i], and those that stayed alone."""

    truth: NDArray[np.int64]
    pred: NDArray[np.int64]
    overlap: NDArray[np.float64]
    missed: NDArray[np.int64]  # truths without a prediction
    spurious: NDArray[np.int64]  # predictions without a truth


def match(truth: Annotations, pred: Annotations, settings: LocalizeSettings) -> MatchedObjects:
    """In the order of falling confidence each prediction takes the free truth of its image and label it overlaps most.

    A prediction that finds none but reaches the threshold with an ignored truth is neither matched nor spurious.
    """
    if settings.match == "image":
        return match_images(truth, pred, settings)
    confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
    order = np.argsort(-np.nan_to_num(confidence, nan=-np.inf), kind="stable")
    if settings.confidence is not None:
        order = order[sure_enough(pred, settings.confidence)[order]]
    candidates = with_region_overlaps(truth, pred, settings)
    ignored = ignored_truths(truth, settings)
    pair = _core.match_candidates(candidates.arrays, order, ignored, max(settings.iou, SOME))
    taken = np.append(candidates.truth, np.int32(-1))[pair].astype(np.int64)
    found = np.flatnonzero((taken >= 0) & ~np.append(ignored, False)[taken])
    missed = ~ignored
    missed[taken[found]] = False
    return MatchedObjects(
        truth=taken[found],
        pred=found,
        overlap=candidates.overlap[pair[found]],
        missed=np.flatnonzero(missed),
        spurious=np.sort(order[taken[order] < 0]),
    )


def are_single(*sides: Annotations) -> bool:
    """Are these pictures of one mask each?"""
    return all(
        side.source.format == MASK_PICTURES and len(side.labels) == 1 and len(np.unique(side.image)) == len(side)
        for side in sides
    )


def match_images(truth: Annotations, pred: Annotations, settings: LocalizeSettings) -> MatchedObjects:
    """The truth and the prediction of each image and label, whatever they share."""
    ignored = ignored_truths(truth, settings)
    labels = max(len(pred.labels), len(truth.labels))
    places = []
    for side, kept in ((truth, ~ignored), (pred, np.ones(len(pred), np.bool_))):
        rows = np.flatnonzero(kept)
        place = side.image[rows].astype(np.int64) * labels + side.label[rows]
        used, first, number = np.unique(place, return_index=True, return_counts=True)
        if len(used) < len(rows):
            odd = int(side.image[rows[first[np.argmax(number)]]])
            raise DataError(
                f"{side.source.path or 'annotations'}: expected one object of a class an image (match image), found "
                f"{number.max()} in {side.images.name(odd)!r}; match greedy takes those that overlap most"
            )
        places.append((used, rows[first]))
    (mine, truths), (theirs, preds) = places
    both, one, two = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
    truth_rows, pred_rows = truths[one], preds[two]
    overlap = overlap_of(pairs_of(truth, pred, truth_rows, pred_rows, settings)) if len(both) else np.empty(0)
    return MatchedObjects(
        truth_rows, pred_rows, overlap, np.setdiff1d(truths, truth_rows), np.setdiff1d(preds, pred_rows)
    )


def with_region_overlaps(truth: Annotations, pred: Annotations, settings: LocalizeSettings) -> Candidates:
    """Pairs of one image and label whose boxes overlap, by the overlap of what is compared: boxes or pixels."""
    pixel = 1.0 if settings.pixel == "plus1" else 0.0
    candidates = box_candidates(truth, pred, pixel=pixel, threads=thread_count())
    owner, rows = candidates.pred, candidates.truth.astype(np.int64)
    are_boxes = (kinds(truth, rows) == BOX) & (kinds(pred, owner) == BOX)
    needs = np.flatnonzero(~are_boxes & ~uses_boxes(truth, pred, rows, owner, settings.regions))
    if not len(needs):
        return candidates
    overlap = candidates.overlap.copy()
    overlap[needs] = overlap_of(pairs_of(truth, pred, rows[needs], owner[needs], settings))
    return replace(candidates, overlap=overlap)
