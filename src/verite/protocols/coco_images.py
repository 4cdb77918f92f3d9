"""How good is each image by itself?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verite import _core
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.protocols.coco_stages import Evaluation

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

# Cells that are accumulated at once: enough to be quick, few enough to stay small in memory.
BLOCK = 1024


@record(eq=False)
class ImageScores:
    """One value for each image, in the order of image ids. Counts are of the first area range and threshold."""

    images: Ints  # position in the table of images
    ap: Floats  # over all thresholds and the classes that have truths in the image; nan where none has
    truths: Ints
    found: Ints
    missed: Ints
    false: Ints


def evaluate_images(evaluation: Evaluation) -> ImageScores:
    """Every image evaluated as if there were no other."""
    truth, pred = evaluation.truth_cells, evaluation.ordered.cells
    count = len(truth.images) - 1
    order = evaluation.image_order
    truth_image = np.repeat(np.arange(count), np.diff(truth.images))
    pred_image = np.repeat(np.arange(count), np.diff(pred.images))
    counted = (evaluation.ignored & 1) == 0
    truths = np.bincount(truth_image[counted], minlength=count)
    hits, spared = outcomes(evaluation)
    found = np.bincount(pred_image[hits], minlength=count)
    false = np.bincount(pred_image[~hits & ~spared], minlength=count)
    return ImageScores(
        images=np.arange(count) if order is None else order.astype(np.int64),
        ap=average_precisions(evaluation, truth_image[counted], pred_image),
        truths=truths,
        found=found,
        missed=truths - found,
        false=false,
    )


def outcomes(evaluation: Evaluation) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """For each prediction, whether it found a truth, and whether it counts for nothing; first range and threshold."""
    candidates = evaluation.candidates
    matched = (evaluation.matches.bits[:, 0] & np.uint64(1)) > 0
    slot = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))[matched]
    is_ignored = (evaluation.ignored[candidates.truth[matched]] & 1) > 0
    hits = np.zeros(len(candidates), dtype=np.bool_)
    hits[slot[~is_ignored]] = True
    spared = (evaluation.outside & 1) > 0
    spared[slot[is_ignored]] = True
    return hits, spared & ~hits


def average_precisions(evaluation: Evaluation, truth_image: Ints, pred_image: Ints) -> Floats:
    """The mean over the classes of each image of their average precision in it.

    A cell is evaluated like a class of its own: within a cell, predictions already come by falling confidence.
    """
    truth, ordered = evaluation.truth_cells, evaluation.ordered
    counted = (evaluation.ignored & 1) == 0
    truth_key = truth_image * evaluation.classes + truth.labels[counted]
    pred_key = pred_image * evaluation.classes + ordered.cells.labels
    cells, positives = np.unique(truth_key, return_counts=True)
    ap = np.full(len(cells), np.nan)
    for first in range(0, len(cells), BLOCK):
        block = cells[first : first + BLOCK]
        starts, ends = np.searchsorted(pred_key, block), np.searchsorted(pred_key, block, side="right")
        offsets = np.concatenate([[0], np.cumsum(ends - starts)])
        slots = np.repeat(starts - offsets[:-1], ends - starts) + np.arange(offsets[-1])
        precision, _, _ = _core.accumulate(
            slots.astype(np.int32),
            offsets.astype(np.int64),
            ordered.ranks,
            evaluation.outside & np.uint32(1),
            (evaluation.candidates.offsets, evaluation.candidates.truth, evaluation.candidates.overlap),
            np.ascontiguousarray(evaluation.matches.bits[:, :1]),
            evaluation.ignored & np.uint32(1),
            evaluation.is_void,
            positives[first : first + BLOCK].reshape(-1, 1).astype(np.int64),
            len(evaluation.thresholds),
            evaluation.settings.recalls,
            max(evaluation.settings.max_dets),
            np.empty(0, dtype=np.int64),
            np.empty(0),
            evaluation.threads,
        )
        ap[first : first + BLOCK] = precision[0].reshape(-1, len(block)).mean(axis=0)
    image = cells // evaluation.classes
    sums = np.bincount(image, weights=ap, minlength=len(truth.images) - 1)
    counts = np.bincount(image, minlength=len(truth.images) - 1)
    with np.errstate(invalid="ignore"):
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
