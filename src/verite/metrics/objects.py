"""Which object of the predictions is which object of the truth? Matched by overlap, as pairs ready to be measured."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from verite.evaluation.floors import sure_enough
from verite.evaluation.matching import Candidates, box_candidates, match_free
from verite.metrics.settings import LocalizeSettings
from verite.model.annotations import Annotations
from verite.model.regions import BOX
from verite.pairs.objects import ignored_truths, kinds, overlap_of, pairs_of, uses_boxes


@dataclass(frozen=True, eq=False)
class Matched:
    """Objects of both sides, by their rows: truth[i] with pred[i], and those that stayed alone."""

    truth: NDArray[np.int64]
    pred: NDArray[np.int64]
    overlap: NDArray[np.float64]
    missed: NDArray[np.int64]  # truths without a prediction
    spurious: NDArray[np.int64]  # predictions without a truth


def match(truth: Annotations, pred: Annotations, settings: LocalizeSettings) -> Matched:
    """In the order of falling confidence each prediction takes the free truth of its image and label it overlaps most.

    A prediction that finds none but reaches the threshold with an ignored truth is neither matched nor spurious.
    """
    confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
    alive = (
        np.ones(len(pred), dtype=np.bool_) if settings.confidence is None else sure_enough(pred, settings.confidence)
    )
    candidates = with_region_overlaps(truth, pred, settings)
    ignored = ignored_truths(truth, settings)
    order = np.argsort(-np.nan_to_num(confidence, nan=-np.inf), kind="stable")
    taken = match_free(select(candidates, ~ignored, alive), order, len(truth), settings.iou)
    found = np.flatnonzero(taken >= 0)
    excused = match_any(select(candidates, ignored, alive), settings.iou)
    missed = ~ignored
    missed[taken[found]] = False
    alone = alive & (taken < 0) & ~excused
    return Matched(
        truth=taken[found].astype(np.int64),
        pred=found,
        overlap=overlaps(candidates, found, taken[found], len(truth)),
        missed=np.flatnonzero(missed),
        spurious=np.flatnonzero(alone),
    )


def select(candidates: Candidates, truths: NDArray[np.bool_], preds: NDArray[np.bool_]) -> Candidates:
    """The candidates among some of the truths and predictions; the others keep an empty list."""
    owner = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
    keep = truths[candidates.truth] & preds[owner]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner[keep], minlength=len(candidates)))]).astype(np.int64)
    return Candidates(offsets, candidates.truth[keep], candidates.overlap[keep])


def match_any(candidates: Candidates, threshold: float) -> NDArray[np.bool_]:
    """Which predictions reach the threshold with anything."""
    owner = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
    reached = (candidates.overlap >= threshold) & (candidates.overlap > 0)
    return np.bincount(owner[reached], minlength=len(candidates)).astype(np.bool_)


def overlaps(
    candidates: Candidates, preds: NDArray[np.integer], truths: NDArray[np.integer], count: int
) -> NDArray[np.float64]:
    """The overlap of pairs that are among the candidates; `count` is how many truths there are."""
    owner = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
    keys = owner * count + candidates.truth
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys, preds.astype(np.int64) * count + truths, sorter=order)
    found: NDArray[np.float64] = candidates.overlap[order[at]]
    return found


def with_region_overlaps(truth: Annotations, pred: Annotations, settings: LocalizeSettings) -> Candidates:
    """Pairs of one image and label whose boxes overlap, by the overlap of what is compared: boxes or pixels."""
    candidates = box_candidates(truth, pred, pixel=1.0 if settings.pixel == "plus1" else 0.0)
    owner = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
    rows = candidates.truth.astype(np.int64)
    are_boxes = (kinds(truth, rows) == BOX) & (kinds(pred, owner) == BOX)
    needs = np.flatnonzero(~are_boxes & ~uses_boxes(truth, pred, rows, owner, settings.regions))
    if not len(needs):
        return candidates
    overlap = candidates.overlap.copy()
    overlap[needs] = overlap_of(pairs_of(truth, pred, rows[needs], owner[needs], settings))
    return replace(candidates, overlap=overlap)
