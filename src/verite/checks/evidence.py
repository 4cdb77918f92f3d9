"""Evidence for another box format: does the IoU with the ground truth grow by more than chance explains?

Each ground-truth object of the sample has a highest IoU with the predictions of its image. Under another box format far
more objects must gain a match than lose one, and more must match than by chance. Chance is estimated in two ways: with
the predictions of other images in place of an image's own, and, since images may look alike, with random boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from verite import _core
from verite.arrays import np
from verite.checks.check import SideName
from verite.checks.readings import Reading
from verite.checks.sample import EDGE, NATS, Sample, SampledObjects, imbalance, surprise
from verite.model.layouts import Floats
from verite.model.ragged import Ints

MATCHED_IOU = 0.5  # IoU from which an object counts as matched

PRECISE = 0.75  # IoU that similar sizes and places alone do not reach

BETTER = 0.1  # growth of IoU by which an object is gained

FEWEST = 6  # objects that a hypothesis must gain

ODDS = 3  # objects gained for each one lost

MORE = 0.35  # net objects gained for each one matched as read

SEEN = 0.3  # IoU below which it counts as zero

EXPECTED = 0.25  # objects matched by chance, at least

SIGMAS = 4  # standard errors of a median that count as noise

PARTS = 5  # cells of a grid over the image, in x and in y

FAIR = 0.03  # share of boxes from which a grid cell counts as occupied

TURNS = 4

RANDOM_BOXES = 500

NORMAL = 1.4826 * 1.2533  # MAD to standard deviation, times standard error of a median to that of a mean


def best_overlaps(truth: Floats, truth_image: Ints, pred: Floats, pred_image: Ints) -> Floats:
    """Return for each object its highest IoU with a prediction of the same image; 0 below SEEN.

    Parameters
    ----------
    truth
        Boxes of the ground truth as corners.
    truth_image
        Image of each object.
    pred
        Boxes of the predictions.
    pred_image
        Image of each prediction.
    """
    _, which, overlap = _core.box_candidates(truth, truth_image, pred, pred_image, 0.0, SEEN)
    best = np.zeros(len(truth))
    np.maximum.at(best, which, overlap)
    return best


def best_pairs(which: Ints, by: Ints, overlap: Floats) -> tuple[Ints, Ints]:
    """Return each object with the prediction of highest IoU, of equal ones that of highest confidence.

    Parameters
    ----------
    which
        Object of each candidate pair.
    by
        Prediction of each candidate pair; a lower position is a higher confidence.
    overlap
        IoU of each candidate pair.

    Returns
    -------
    tuple[Ints, Ints]
        Distinct objects, and one prediction each.
    """
    order = np.lexsort((by, -overlap, which))
    first = order[np.diff(which[order], prepend=-1) > 0]
    return which[first], by[first]


def most_possible(truth: SampledObjects, pred: SampledObjects) -> int:
    """Return the largest possible number of matches, given the predictions per image."""
    return int(np.minimum(truth.counts, pred.counts).sum())


def wins(new: Floats, old: Floats) -> tuple[int, int]:
    """Count objects matched under the new box format only, and under the old one only.

    Parameters
    ----------
    new
        Highest IoU of each object under another box format.
    old
        Highest IoU of each object as the boxes are read.

    Returns
    -------
    tuple[int, int]
        Gained and lost objects. Small changes of the IoU around the threshold count for neither.
    """
    gain = new - old
    won = (new >= MATCHED_IOU) & (old < MATCHED_IOU) & (gain >= BETTER)
    lost = (old >= MATCHED_IOU) & (new < MATCHED_IOU) & (gain <= -BETTER)
    return int(won.sum()), int(lost.sum())


def is_dominant(new: Floats, old: Floats, more: float, fewest: int) -> bool:
    """Whether the new box format gains enough objects, far more than it loses, and many relative to those before.

    Parameters
    ----------
    new
        Highest IoU of each object under the new box format.
    old
        Highest IoU of each object as the boxes are read.
    more
        Net gain that is required, relative to the objects matched before.
    fewest
        Number of objects that must be gained at least.
    """
    won, lost = wins(new, old)
    before = int((old >= MATCHED_IOU).sum())
    return won >= fewest + ODDS * lost and won - lost >= more * before


def median_and_error(values: Floats) -> tuple[Floats, Floats]:
    """Return the median of each column and SIGMAS of its standard errors, from the median absolute deviation."""
    middle = np.median(values, axis=0)
    deviation = np.median(np.abs(values - middle), axis=0)
    return middle, SIGMAS * deviation * NORMAL / np.sqrt(len(values))


def turns(images: int) -> list[int]:
    """Return rotations of the sample by which predictions meet the objects of other images."""
    return sorted({images // 2, images // 3, 2 * images // 3, images // 5, 4 * images // 5} - {0})[:TURNS]


def exceeds_other_images(own: Floats, chance: list[Floats]) -> bool:
    """Whether objects match predictions of their own image far more often than those of other images."""
    if not chance:
        return False
    for overlap in (MATCHED_IOU, PRECISE):
        hits = sum(int((other >= overlap).sum()) for other in chance)
        if surprise(int((own >= overlap).sum()), (hits + 1) / len(chance)) >= NATS:
            return True
    other = chance[0]
    either = (own >= MATCHED_IOU) | (other >= MATCHED_IOU)
    return imbalance(int((own > other)[either].sum()), int((own < other)[either].sum())) >= NATS


def exceeds_random_boxes(hits: int, expected: float, at_least: float) -> bool:
    """Whether there are far more matches than random boxes would give."""
    expected = max(expected, EXPECTED)
    return hits >= max(at_least, ODDS * expected) and surprise(hits, expected) >= NATS


def places(boxes: Floats) -> int:
    """Count occupied cells of a grid over the image, by box centres; the image ends where the last box ends."""
    if not len(boxes):
        return 0
    centres = (boxes[:, :2] + boxes[:, 2:]) / boxes[:, 2:].max(axis=0) * PARTS / 2
    cells = np.clip(centres, 0, PARTS - 1).astype(np.int64)
    return int((np.bincount(cells[:, 0] * PARTS + cells[:, 1]) >= max(1, FAIR * len(boxes))).sum())


def relative_to_images(boxes: Floats, sizes: Floats) -> Floats:
    """Return boxes in fractions of their image, or of the extent of all boxes where sizes are unknown."""
    frame = sizes if np.all(sizes > 0) else boxes[:, 2:].max(axis=0, initial=1)
    return np.asarray(boxes / np.tile(np.broadcast_to(frame, sizes.shape), 2))


def frames_of(truth: SampledObjects, pred: SampledObjects) -> Floats:
    """Return width and height of each image, or the extent of its boxes where sizes are unknown."""
    if truth.is_sized:
        return truth.image_sizes
    frames = np.ones((truth.images, 2))
    for group in (truth, pred):
        np.maximum.at(frames, group.image, group.corners()[:, 2:])
    return frames


def chance_of_random(relative: Floats) -> Floats:
    """Return the probability that a random box has IoU ≥ 0.5 with each object."""
    return np.asarray((_core.box_iou(relative, random_boxes()) >= MATCHED_IOU).mean(axis=1))


@cache
def random_boxes() -> Floats:
    """Return boxes between two random points of the unit square, from a fixed seed."""
    points = np.random.default_rng(0).random((RANDOM_BOXES, 2, 2))
    return np.concatenate([points.min(axis=1), points.max(axis=1)], axis=1)


COST = 0.2  # reduction of the score if all boxes leave their images

SOUND = 0.5  # share of precise matches from which no other format is tried
# Of a detector that misses many objects: share that match, and share of these that match precisely. Under another scale
# or layout, boxes that still match do so by chance, and hardly ever precisely.
MATCHED, MOSTLY_PRECISE = 0.65, 0.6


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A box format of one side and a shift of the predictions' image ids, with the resulting IoU per object."""

    side: SideName
    reading: Reading
    shift: int
    overlaps: Floats
    possible: int
    outside: float = 0.0  # share of boxes that leave their image
    weight: float = 1.0  # prior weight, below 1 for less likely formats

    @property
    def score(self) -> float:
        """The summed IoU, weighted by prior plausibility and reduced for boxes outside their images."""
        return float(self.overlaps.sum()) * self.weight * (1 - COST * self.outside)

    @property
    def found(self) -> int:
        """The number of matched objects."""
        return int((self.overlaps >= MATCHED_IOU).sum())

    @property
    def is_sound(self) -> bool:
        """Whether so many matches are precise that no other format need be tried."""
        precise = int((self.overlaps >= PRECISE).sum())
        if self.found >= MATCHED * self.possible and precise >= MOSTLY_PRECISE * self.found:
            return self.possible > 0
        return self.possible > 0 and precise >= SOUND * self.possible


def boxes_under(sample: Sample, side: SideName, reading: Reading, shift: int) -> tuple[Floats, Floats]:
    """Return ground-truth and predicted boxes as corners, one side under another box format."""
    truth, pred = sample.truth, sample.preds[shift]
    return truth.corners(reading if side == "truth" else None), pred.corners(reading if side == "pred" else None)


def overlaps_under(sample: Sample, side: SideName, reading: Reading, shift: int) -> Floats:
    """Return the highest IoU of each object, one side under another box format."""
    truth, pred = boxes_under(sample, side, reading, shift)
    return best_overlaps(truth, sample.truth.image, pred, sample.preds[shift].image)


def share_outside(sample: Sample, side: SideName, reading: Reading, shift: int) -> float:
    """Return the share of boxes that leave their image by more than 10 % of a side."""
    pred = sample.preds[shift]
    if not sample.truth.is_sized or not pred.is_sized:
        return 0.0
    boxes = np.concatenate(boxes_under(sample, side, reading, shift))
    sizes = np.concatenate([sample.truth.sizes, pred.sizes])
    leaves = np.concatenate([boxes[:, :2] < -EDGE * sizes, boxes[:, 2:] > (1 + EDGE) * sizes], axis=1)
    return float(leaves.any(axis=1).mean())


def find_overlapping(sample: Sample, e: Hypothesis) -> tuple[Ints, Ints, Floats]:
    """Return all pairs of an object and a prediction with IoU ≥ 0.5, and the IoU of each.

    Parameters
    ----------
    sample
        Images with objects on both sides.
    e
        How the boxes of one side are read, and by how much image ids are shifted.

    Returns
    -------
    tuple[Ints, Ints, Floats]
        Object, prediction and IoU of every pair.
    """
    truth_boxes, pred_boxes = boxes_under(sample, e.side, e.reading, e.shift)
    pred = sample.preds[e.shift]
    offsets, which, overlap = _core.box_candidates(
        truth_boxes, sample.truth.image, pred_boxes, pred.image, 0.0, MATCHED_IOU
    )
    return which.astype(np.int64), np.repeat(np.arange(len(pred)), np.diff(offsets)), overlap
