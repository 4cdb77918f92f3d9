"""Do predictions overlap the truth better under another reading, and by more than chance would have it?

Each truth of the sample has a best overlap with the predictions of its image. Another reading must win far more truths
than it loses, and find more of them than a bad detector would by chance. What chance does is measured in two ways:
with the predictions of other images in place of an image's own, and, since images may look alike, with random boxes.
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

FOUND = 0.5  # overlap from which a truth counts as found

PRECISE = 0.75  # overlap that does not come about by size and place alone

BETTER = 0.1  # a truth is won when its overlap grows by this

FEWEST = 6  # truths an explanation must win

ODDS = 3  # truths won for each one lost

MORE = 0.35  # truths won, net, for each one found before

SEEN = 0.3  # overlap below which it is as good as none

EXPECTED = 0.25  # truths that chance finds, at least

SIGMAS = 4  # errors of a median, within which it may be anything

PARTS = 5  # of an image, across and down

FAIR = 0.03  # share of the boxes that makes a part of the image one of their places

TURNS = 4

RANDOM_BOXES = 500

NORMAL = 1.4826 * 1.2533  # a normal deviation by its median one, times the error of a median by that of a mean


def best_overlaps(truth: Floats, truth_image: Ints, pred: Floats, pred_image: Ints) -> Floats:
    """For each truth its largest overlap with a prediction of the same image; 0 where it is less than SEEN."""
    _, which, overlap = _core.box_candidates(truth, truth_image, pred, pred_image, 0.0, SEEN)
    best = np.zeros(len(truth))
    np.maximum.at(best, which, overlap)
    return best


def best_pairs(which: Ints, by: Ints, overlap: Floats) -> tuple[Ints, Ints]:
    """Each truth with the prediction that overlaps it most; of equal ones with the most confident."""
    order = np.lexsort((by, -overlap, which))
    first = order[np.diff(which[order], prepend=-1) > 0]
    return which[first], by[first]


def most_possible(truth: SampledObjects, pred: SampledObjects) -> int:
    """How many truths could be found at all, given how many predictions each image has."""
    return int(np.minimum(truth.counts, pred.counts).sum())


def wins(new: Floats, old: Floats) -> tuple[int, int]:
    """How many truths the new reading finds and the old one does not, and the other way round."""
    gain = new - old
    won = (new >= FOUND) & (old < FOUND) & (gain >= BETTER)
    lost = (old >= FOUND) & (new < FOUND) & (gain <= -BETTER)
    return int(won.sum()), int(lost.sum())


def is_dominant(new: Floats, old: Floats, more: float, fewest: int) -> bool:
    """Does the new reading win enough truths, far more than it loses, and many compared to those found before?"""
    won, lost = wins(new, old)
    before = int((old >= FOUND).sum())
    return won >= fewest + ODDS * lost and won - lost >= more * before


def median_and_error(values: Floats) -> tuple[Floats, Floats]:
    """The median of each column, and how far it may be off: by the median deviation, as of normal errors."""
    middle = np.median(values, axis=0)
    deviation = np.median(np.abs(values - middle), axis=0)
    return middle, SIGMAS * deviation * NORMAL / np.sqrt(len(values))


def turns(images: int) -> list[int]:
    """By how many images to turn the sample so that predictions meet other images' truths."""
    return sorted({images // 2, images // 3, 2 * images // 3, images // 5, 4 * images // 5} - {0})[:TURNS]


def exceeds_other_images(own: Floats, chance: list[Floats]) -> bool:
    """Are truths found in their own images far more often, or far better, than in other images?"""
    if not chance:
        return False
    for overlap in (FOUND, PRECISE):
        hits = sum(int((other >= overlap).sum()) for other in chance)
        if surprise(int((own >= overlap).sum()), (hits + 1) / len(chance)) >= NATS:
            return True
    other = chance[0]
    either = (own >= FOUND) | (other >= FOUND)
    return imbalance(int((own > other)[either].sum()), int((own < other)[either].sum())) >= NATS


def exceeds_random_boxes(hits: int, expected: float, at_least: float) -> bool:
    """Are so many truths found (or predictions right) that random boxes would not do it?"""
    expected = max(expected, EXPECTED)
    return hits >= max(at_least, ODDS * expected) and surprise(hits, expected) >= NATS


def places(boxes: Floats) -> int:
    """In how many parts of the image are a fair share of boxes centred? It ends where the last box does."""
    if not len(boxes):
        return 0
    centres = (boxes[:, :2] + boxes[:, 2:]) / boxes[:, 2:].max(axis=0) * PARTS / 2
    cells = np.clip(centres, 0, PARTS - 1).astype(np.int64)
    return int((np.bincount(cells[:, 0] * PARTS + cells[:, 1]) >= max(1, FAIR * len(boxes))).sum())


def relative_to_images(boxes: Floats, sizes: Floats) -> Floats:
    """Boxes in fractions of their image; where no size is known, of an image that ends where the last box does."""
    frame = sizes if np.all(sizes > 0) else boxes[:, 2:].max(axis=0, initial=1)
    return np.asarray(boxes / np.tile(np.broadcast_to(frame, sizes.shape), 2))


def chance_of_random(relative: Floats) -> Floats:
    """How likely a random box overlaps each truth by half."""
    return np.asarray((_core.box_iou(relative, random_boxes()) >= FOUND).mean(axis=1))


@cache
def random_boxes() -> Floats:
    """Boxes between two random points of the unit square, always the same."""
    points = np.random.default_rng(0).random((RANDOM_BOXES, 2, 2))
    return np.concatenate([points.min(axis=1), points.max(axis=1)], axis=1)


COST = 0.2  # of a score, for boxes that all leave their images

SOUND = 0.5  # share of truths overlapped precisely from which nothing else is tried


@dataclass(frozen=True, eq=False)
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
