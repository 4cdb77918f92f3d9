"""Is an explanation more than what a bad but healthy detector would show under some reading?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from verite.checks.evidence import (
    FOUND,
    PRECISE,
    best_overlaps,
    best_pairs,
    chance_of_random,
    exceeds_other_images,
    exceeds_random_boxes,
    median_and_error,
    most_possible,
    places,
    relative_to_images,
    turns,
)
from verite.checks.explanations import Hypothesis, boxes_under, find_overlapping, overlaps_under
from verite.checks.readings import SCALED
from verite.checks.sample import Sample, SampledObjects
from verite.checks.scaling import estimate
from verite.model.layouts import Floats

OUTSIDE = 0.3  # share of boxes that leave their images only as read, from which chance is no question
BIAS = 0.1  # of a box's side: by how much the edges of a detector's boxes are off in the median, at most
SAME = 0.5  # share of predictions that are in the next image as well, beyond that of truths which are
CROWDED = 1.2  # truths found for each that can be: several lie on one prediction
MOST, FARTHER = 0.9, 1.3  # how far most boxes reach; truths of images without a size reach no farther than this
CONFIDENT = 0.35  # share of the truths that the most confident predictions find precisely
SHORT, FULL, PAST = 0.7, 0.75, 1.1  # parts of an image: where boxes end that were scaled down, and that were not
REACH = 0.98  # share of the boxes that end before
HALF, RIGHT = 0.5, 0.3  # share of the truths that are found, or of the predictions that are right, beyond chance
PLACES = 4  # parts of the image with objects, so that a reading cannot fit by chance


def is_plausible(sample: Sample, plain: Hypothesis, found: Hypothesis) -> bool:
    """Do boxes lie where boxes can lie, and fit better than chance would have it?"""
    if is_about_fractions(sample, found):
        return True
    if not lies_in_images(sample, plain, found) or is_biased(sample, found):
        return False
    if found.shift == 0 and (plain.outside - found.outside >= OUTSIDE or fills_the_images(sample, found)):
        return True
    if is_blind(sample, found):
        return False
    is_image_specific = exceeds_other_images(found.overlaps, chance_of(sample, found))
    if found.shift:
        return is_image_specific
    if found.reading.measure not in SCALED:
        return is_image_specific or beats_random_boxes(sample, found)
    # A scale is estimated so as to fit: if objects lie in few places, it must fit each image by itself, or very well.
    truth_boxes, _ = boxes_under(sample, found.side, found.reading, found.shift)
    where = places(relative_to_images(truth_boxes, sample.truth.sizes)[found.overlaps >= FOUND])
    if where >= PLACES:
        return is_image_specific or beats_random_boxes(sample, found)
    if found.side == "pred" and found.reading.layout != sample.pred.reading.layout:
        return False
    return is_image_specific or (where > 1 and is_precise(sample, found) and beats_random_boxes(sample, found))


def lies_in_images(sample: Sample, plain: Hypothesis, found: Hypothesis) -> bool:
    """Do boxes stay in their images? Where sizes are not known: do truths reach no farther than predictions?"""
    if found.found > CROWDED * found.possible:  # several truths on one prediction
        return False
    if sample.truth.is_sized:
        return found.outside <= max(OUTSIDE, plain.outside)
    truth, pred = boxes_under(sample, found.side, found.reading, found.shift)
    is_farther = np.quantile(truth[:, 2:], MOST, axis=0) > FARTHER * np.quantile(pred[:, 2:], MOST, axis=0)
    return found.side == "pred" or not np.any(is_farther)


def is_blind(sample: Sample, found: Hypothesis) -> bool:
    """Are predictions the same whatever the image, and objects are not? Then no fit says how they were written."""
    return recurrence(sample.preds[found.shift]) > recurrence(sample.truth) + SAME


def recurrence(group: SampledObjects) -> float:
    """Share of boxes that the next image of the sample has in the same place, as part of the image."""
    if group.images < 2:
        return 0.0
    own, other = (relative_to_images(g.corners(), g.sizes) for g in (group, group.turn(1)))
    found = best_overlaps(own, group.image, other, group.turn(1).image)
    return float((found >= PRECISE).sum()) / max(len(group), 1)


def is_precise(sample: Sample, found: Hypothesis) -> bool:
    """Do as many predictions as there are truths, the most confident ones, find a good part of these precisely?"""
    truth, confident = sample.truth, sample.preds[found.shift].first(sample.truth.counts)
    few = overlaps_under(Sample(truth, {found.shift: confident}), found.side, found.reading, found.shift)
    return int((few >= PRECISE).sum()) >= CONFIDENT * most_possible(truth, confident)


def is_biased(sample: Sample, found: Hypothesis) -> bool:
    """Are boxes off in one direction? A detector errs to all sides; a wrong reading that happens to fit does not."""
    one, other = best_pairs(*find_overlapping(sample, found))
    truth_boxes, pred_boxes = boxes_under(sample, found.side, found.reading, found.shift)
    truth, pred = truth_boxes[one], pred_boxes[other]
    errors = (truth - pred) / np.tile(truth[:, 2:] - truth[:, :2], 2)
    middle, noise = median_and_error(errors)
    return bool(np.any(np.abs(middle) > np.maximum(BIAS, noise)))


def is_about_fractions(sample: Sample, found: Hypothesis) -> bool:
    """Is one side in fractions and the other in pixels? Then something is wrong for certain."""
    own = sample.truth.reading if found.side == "truth" else sample.pred.reading
    return found.reading.measure != own.measure and found.reading.measure in ("abs", "rel")


def fills_the_images(sample: Sample, found: Hypothesis) -> bool:
    """Do predictions stay in the images' first part as read, and reach to their ends once scaled?"""
    pred = sample.pred
    if found.reading.measure not in SCALED or not pred.is_sized or 2 * found.found < found.possible:
        return False
    before, after = reach(pred, pred.corners()), reach(pred, pred.corners(found.reading))
    return bool(before.max() <= SHORT and after.min() >= FULL and after.max() <= PAST)


def reach(group: SampledObjects, boxes: Floats) -> Floats:
    """How far to the right and down boxes reach, in parts of the image."""
    return np.asarray(np.quantile(boxes[:, 2:] / group.sizes, REACH, axis=0))


def beats_random_boxes(sample: Sample, found: Hypothesis) -> bool:
    """Are most truths found, or many predictions right, or many of the most confident, where random ones are not?"""
    truth, pred = sample.truth, sample.preds[found.shift]
    confident = pred.first(truth.counts)
    truth_boxes, _ = boxes_under(sample, found.side, found.reading, found.shift)
    relative = relative_to_images(truth_boxes, truth.sizes)
    chance = chance_of_random(relative)
    tries = pred.counts[truth.image]
    if exceeds_random_boxes(found.found, float((1 - (1 - chance) ** tries).sum()), HALF * found.possible):
        return True
    per_image = np.minimum(1, np.bincount(truth.image, chance, minlength=truth.images))
    for group in (pred, confident):
        boxes = group.corners(found.reading if found.side == "pred" else None)
        right = int((best_overlaps(boxes, group.image, truth_boxes, truth.image) >= FOUND).sum())
        if exceeds_random_boxes(right, float(per_image[group.image].sum()), RIGHT * len(group)):
            return True
    return False


def chance_of(sample: Sample, found: Hypothesis) -> list[Floats]:
    """The overlaps with predictions of other images, stretched to it. What was estimated is estimated there as well."""
    truth, pred = sample.truth, sample.preds[found.shift]
    frames = frames_of(truth, pred)
    out = []
    for turn in turns(truth.images):
        turned = pred.turn(turn)
        stretch = np.tile((frames / np.roll(frames, -turn, axis=0))[turned.image], 2)
        again = None
        if found.reading.measure in SCALED:
            numbers = turned.numbers * stretch if found.reading.measure == "factor" else turned.numbers
            here = replace(turned, numbers=numbers, sizes=truth.image_sizes[turned.image])
            again = estimate(here, truth, found.reading.layout, found.reading.measure)
        if again:
            boxes, moved = boxes_under(Sample(truth, {0: here}), found.side, again, 0)
        else:
            boxes, moved = boxes_under(Sample(truth, {0: turned}), found.side, found.reading, 0)
            moved = moved * stretch
        out.append(best_overlaps(boxes, truth.image, moved, turned.image))
    return out


def frames_of(truth: SampledObjects, pred: SampledObjects) -> Floats:
    """Width and height of each image; where they are not known, as far as its boxes reach."""
    if truth.is_sized:
        return truth.image_sizes
    frames = np.ones((truth.images, 2))
    for group in (truth, pred):
        np.maximum.at(frames, group.image, group.corners()[:, 2:])
    return frames
