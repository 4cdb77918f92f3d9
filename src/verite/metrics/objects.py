"""Which object of the predictions is which object of the truth? Matched by overlap, as pairs ready to be measured."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.evaluation.candidates import Candidates, box_candidates
from verite.evaluation.floors import sure_enough
from verite.metrics.settings import LocalizeSettings
from verite.model.annotations import Annotations
from verite.model.regions import BOX
from verite.pairs.objects import ignored_truths, kinds, overlap_of, pairs_of, uses_boxes
from verite.threads import thread_count

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
