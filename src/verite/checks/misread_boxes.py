"""Every other way to read the boxes that is worth a try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from verite.checks.check import SideName
from verite.checks.evidence import (
    FEWEST,
    FOUND,
    MORE,
    PRECISE,
    Hypothesis,
    best_overlaps,
    best_pairs,
    boxes_under,
    chance_of_random,
    exceeds_other_images,
    exceeds_random_boxes,
    find_overlapping,
    is_dominant,
    median_and_error,
    most_possible,
    overlaps_under,
    places,
    relative_to_images,
    share_outside,
    turns,
    wins,
)
from verite.checks.readings import NAMES, READINGS, SCALED, Measure, Reading
from verite.checks.sample import Sample, SampledObjects
from verite.checks.scaling import USUAL, estimate, round_off
from verite.model.layouts import Floats

FEWEST_MEASURED = 5  # boxes that say in what they are measured

SMALL, LARGE = 2, 0.05  # fractions are small numbers, but for this share of them

PIXELS = 3  # a median side of more is no fraction

SAME_SIZE = 0.05  # a scale that is nearer to 1 is none, if the layout is another one

THOUSAND = (1000.0, 1000.0)  # the frame of models that speak of places in words, y before x

USUALLY = 0.02  # how near to a usual length a resized side is

# What readings weigh less that are less likely beforehand: each further change, the truth's side, y before x, ...
CHANGED, TRUTHS, SWAPPED = 0.1, 0.005, 0.015

# ... a scale, each less usual measure, another layout besides, the truth's scale.
ESTIMATED, UNUSUAL, RELAID, TRUTHS_SCALE = 0.03, 0.02, 0.03, 0.06

Tried = tuple[SideName, Reading, int, float]  # the side to read anew, how, the shift of image ids, the weight


def plain_readings(sample: Sample) -> Iterator[Tried]:
    """Every reading without an estimate. Fractions are tried only for numbers that look like fractions."""
    sides: list[tuple[SideName, int]] = [*(("pred", shift) for shift in sample.shifts), ("truth", 0)]
    for side, shift in sides:
        group = sample.preds[shift] if side == "pred" else sample.truth
        own = group.reading
        measure = likely_measure(group)
        if measure != own.measure and not group.is_sized:
            continue
        for reading in READINGS:
            changes = (reading != own) + (shift != 0)
            if changes and reading.measure == measure:
                penalty = (
                    CHANGED * (changes - 1)
                    + TRUTHS * (side == "truth")
                    + SWAPPED * (reading.layout in ("yxhw", "yxyx"))
                )
                yield side, reading, shift, 1 - penalty


def likely_measure(group: SampledObjects) -> Measure:
    """Pixels or fractions, by the size of the numbers."""
    if group.reading.measure == "rel" and not looks_like_pixels(group.numbers):
        return "rel"
    return "rel" if looks_like_fractions(group.numbers) else "abs"


def looks_like_fractions(numbers: Floats) -> bool:
    """Are these too small to be pixels? Healthy boxes do not all lie in an image's first pixel."""
    return len(numbers) >= FEWEST_MEASURED and float((np.abs(numbers) > SMALL).mean()) <= LARGE


def looks_like_pixels(numbers: Floats) -> bool:
    """Are these too large to be fractions?"""
    return len(numbers) >= FEWEST_MEASURED and float(np.median(np.abs(numbers[:, 2:]).max(axis=1))) > PIXELS


def scaled_readings(sample: Sample) -> Iterator[Tried]:
    """Readings of predictions from resized images, each with the scale that fits best."""
    own = sample.pred.reading
    if own.measure != "abs" or looks_like_fractions(sample.truth.numbers):
        return
    is_fraction = looks_like_fractions(sample.pred.numbers)
    if is_fraction and sample.truth.is_sized:
        return
    measures: tuple[Measure, ...] = ("rel",) if is_fraction else SCALED
    layouts = [own.layout, *(["xywh", "xyxy", "cxcywh"] if sample.truth.is_sized else [])]
    layouts = list(NAMES) if is_fraction else list(dict.fromkeys(layouts))
    for layout in layouts:
        for rank, measure in enumerate(measures):
            reading = estimate(sample.pred, sample.truth, layout, measure)
            if reading is not None and is_worth_it(reading, own):
                yield "pred", reading, 0, 1 - ESTIMATED - UNUSUAL * rank - RELAID * (layout != own.layout)
    if sample.truth.is_sized and float((sample.pred.numbers > THOUSAND[0]).mean()) <= LARGE:
        yield "pred", Reading("yxyx", "frame", THOUSAND), 0, 1 - ESTIMATED - RELAID - SWAPPED
    if sample.truth.is_sized and np.ptp(sample.truth.sizes, axis=0).any() and sample.truth.reading.measure == "abs":
        reading = estimate(sample.truth, sample.pred, sample.truth.reading.layout, "frame")
        if reading is not None:
            yield "truth", reading, 0, 1 - TRUTHS_SCALE


def is_worth_it(reading: Reading, own: Reading) -> bool:
    """Not if it is but another layout, scaled by next to nothing, or a length to which nobody resizes images."""
    if reading.measure in ("longest", "padded"):
        return any(abs(reading.unit[0] / usual - 1) < USUALLY for usual in USUAL)
    return reading.measure != "factor" or reading.layout == own.layout or abs(reading.unit[0] - 1) >= SAME_SIZE


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


LEAST, LEAST_CHANGED = 0.35, 0.4  # share of the truths that must be found; where scaled, or two things are changed

READING_PAST, TRUTH_PAST = 1.1, 1.15  # parts of an image to which predictions, and truths, may reach

READING_SHORT, READING_FULL = (
    0.7,
    0.93,
)  # truths that reach so far fill their images; so do predictions that reach so far

AS_GOOD = 0.95  # part of the overlaps that remains when the other side is scaled

TWOFOLD = 2.0  # truths won for each one found before, where two things are changed


def weigh_readings(sample: Sample) -> tuple[Hypothesis, Hypothesis | None]:
    """The files as read, and what explains far more than that, if anything does."""
    reading = sample.pred.reading
    plain = Hypothesis(
        "pred",
        reading,
        0,
        overlaps_under(sample, "pred", reading, 0),
        most_possible(sample.truth, sample.pred),
    )
    if plain.is_sound:
        return plain, None
    plain = replace(plain, outside=share_outside(sample, "pred", reading, 0))
    best = best_of(sample, plain, plain_readings(sample))
    if best is None or not best.is_sound:
        scaled = best_of(sample, plain, scaled_readings(sample))
        if scaled is not None and (best is None or scaled.score > best.score):
            best = with_round_numbers(sample, on_the_right_side(sample, scaled))
    return plain, best


def best_of(sample: Sample, plain: Hypothesis, tried: Iterator[Tried]) -> Hypothesis | None:
    """The best explanation that dominates the plain one and is plausible."""
    own = {"pred": sample.pred.reading, "truth": sample.truth.reading}
    found = []
    for side, reading, shift, weight in tried:
        overlaps = overlaps_under(sample, side, reading, shift)
        e = Hypothesis(side, reading, shift, overlaps, most_possible(sample.truth, sample.preds[shift]), weight=weight)
        changes = max(1, (reading.layout != own[side].layout) + (reading.measure in SCALED) + (shift != 0))
        is_dominating = dominates(e, plain, changes)
        if is_dominating or plain.outside >= OUTSIDE:
            e = replace(e, outside=share_outside(sample, side, reading, shift))
            if is_dominating or stays_inside(e, plain):
                found.append(e)
    ranked = sorted(found, key=lambda e: -e.score)
    best = next((e for e in ranked[:3] if is_plausible(sample, plain, e)), None)
    if best is None or best.reading.measure not in SCALED:
        return best
    return next(e for e in ranked if e.side == best.side)  # something is scaled: how, the best fit says


def dominates(e: Hypothesis, plain: Hypothesis, changes: int) -> bool:
    """Does it find far more? What was estimated, or changes two things, must explain more than what was not."""
    is_scaled = e.reading.measure in SCALED
    if e.found < (LEAST_CHANGED if is_scaled or changes > 1 else LEAST) * e.possible:
        return False
    more = TWOFOLD if changes > 1 else MORE
    return is_dominant(e.overlaps, plain.overlaps, more, FEWEST * (1 + is_scaled) * changes)


def stays_inside(e: Hypothesis, plain: Hypothesis) -> bool:
    """Do boxes that leave their images as read stay inside, and find more? Then less of a difference is enough."""
    won, lost = wins(e.overlaps, plain.overlaps)
    return e.reading.measure not in SCALED and plain.outside - e.outside >= OUTSIDE and won >= FEWEST + lost


def on_the_right_side(sample: Sample, found: Hypothesis) -> Hypothesis:
    """Overlaps do not say which side was resized; the images' own size may."""
    if found.side == "truth" or found.reading.measure not in SCALED or not sample.truth.is_sized:
        return found
    truth, pred = (reach(group, group.corners()) for group in (sample.truth, sample.pred))
    if pred.max() > READING_PAST or (
        truth.max() <= TRUTH_PAST and (truth.min() > READING_SHORT or pred.min() < READING_FULL)
    ):
        return found
    if truth.max() <= TRUTH_PAST and places(sample.truth.corners()) < 2 * PLACES:
        return found
    reading = estimate(sample.truth, sample.pred, sample.truth.reading.layout, found.reading.measure)
    if reading is None:
        return found
    overlaps = overlaps_under(sample, "truth", reading, 0)
    is_as_good = overlaps.sum() >= AS_GOOD * found.overlaps.sum()
    return replace(found, side="truth", reading=reading, overlaps=overlaps) if is_as_good else found


def with_round_numbers(sample: Sample, found: Hypothesis) -> Hypothesis:
    wrong, right = (sample.pred, sample.truth) if found.side == "pred" else (sample.truth, sample.pred)
    reading = round_off(wrong, right, found.reading)
    return replace(found, reading=reading, overlaps=overlaps_under(sample, found.side, reading, 0))
