"""A way to read the files anew, and how much of the truth is found that way."""

from __future__ import annotations

import numpy as np

from verite import _core
from verite.checks.evidence import FOUND, PRECISE, best_overlaps
from verite.checks.findings import SideName
from verite.checks.readings import Reading
from verite.checks.sample import Sample
from verite.checks.sides import EDGE
from verite.model.layouts import Floats
from verite.model.ragged import Ints
from verite.records import record

COST = 0.2  # of a score, for boxes that all leave their images
SOUND = 0.5  # share of truths overlapped precisely from which nothing else is tried


@record(eq=False)
class Hypothesis:
    """A way to read one side, and a shift of the predictions' image ids, with the overlaps that follow."""

    side: SideName
    reading: Reading
    shift: int
    overlaps: Floats
    possible: int
    outside: float = 0.0  # share of boxes that leave their image
    weight: float = 1.0  # below 1 for what is less plausible beforehand

    @property
    def score(self) -> float:
        return float(self.overlaps.sum()) * self.weight * (1 - COST * self.outside)

    @property
    def found(self) -> int:
        return int((self.overlaps >= FOUND).sum())

    @property
    def is_sound(self) -> bool:
        """Do the predictions fit so well that no other reading need be tried?"""
        return self.possible > 0 and int((self.overlaps >= PRECISE).sum()) >= SOUND * self.possible


def boxes_under(sample: Sample, side: SideName, reading: Reading, shift: int) -> tuple[Floats, Floats]:
    """Truths and predictions, one of them read anew."""
    truth, pred = sample.truth, sample.preds[shift]
    return truth.corners(reading if side == "truth" else None), pred.corners(reading if side == "pred" else None)


def overlaps_under(sample: Sample, side: SideName, reading: Reading, shift: int) -> Floats:
    truth, pred = boxes_under(sample, side, reading, shift)
    return best_overlaps(truth, sample.truth.image, pred, sample.preds[shift].image)


def share_outside(sample: Sample, side: SideName, reading: Reading, shift: int) -> float:
    """Share of boxes that leave their image by more than a tenth of it."""
    pred = sample.preds[shift]
    if not sample.truth.is_sized or not pred.is_sized:
        return 0.0
    boxes = np.concatenate(boxes_under(sample, side, reading, shift))
    sizes = np.concatenate([sample.truth.sizes, pred.sizes])
    leaves = np.concatenate([boxes[:, :2] < -EDGE * sizes, boxes[:, 2:] > (1 + EDGE) * sizes], axis=1)
    return float(leaves.any(axis=1).mean())


def find_overlapping(sample: Sample, e: Hypothesis) -> tuple[Ints, Ints, Floats]:
    """Every pair of a truth and a prediction that overlap by half, predictions by confidence, and their overlaps."""
    truth_boxes, pred_boxes = boxes_under(sample, e.side, e.reading, e.shift)
    pred = sample.preds[e.shift]
    offsets, which, overlap = _core.box_candidates(truth_boxes, sample.truth.image, pred_boxes, pred.image, 0.0, FOUND)
    return which.astype(np.int64), np.repeat(np.arange(len(pred)), np.diff(offsets)), overlap
