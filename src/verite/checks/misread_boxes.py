"""Find the box format under which predictions match the ground truth, if it is not the one that was used.

Candidates are the layouts of `readings.READINGS` in pixels and fractions, shifts of image ids by one, and coordinates
of resized images (`scaling`). `weigh_readings` picks the best candidate that gains far more objects than it loses
(`dominates`) and is plausible: boxes lie inside their images, errors have no direction, and matches exceed chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from verite.checks.check import SideName
from verite.checks.evidence import (
    FEWEST,
    MATCHED_IOU,
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
    frames_of,
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
from verite.checks.readings import FLIPS, NAMES, READINGS, SCALED, Measure, Reading
from verite.checks.sample import Sample, SampledObjects
from verite.checks.scaling import USUAL, estimate, round_off
from verite.model.layouts import Floats

FEWEST_MEASURED = 5  # boxes before pixels and fractions are distinguished

LARGEST_FRACTION, LARGE_SHARE = 2, 0.05  # fractions are at most 2, except for 5 % of the numbers

LARGEST_SIDE = 3  # a median side above is no fraction

SCALE_OF_ONE = 0.05  # a scale nearer to 1 is none, if the layout differs too

FRAME_OF_1000 = (1000.0, 1000.0)  # the frame of vision-language models, y before x

COMMON_SIZE_TOLERANCE = 0.02  # relative distance of a resized side to a common one

# Prior penalties: each further change, a change of the ground truth, y before x, ...
CHANGE_PENALTY, TRUTH_PENALTY, Y_FIRST_PENALTY = 0.1, 0.005, 0.015

FLIP_PENALTY = 0.02  # a flipped axis, or exchanged sides

# ... a scale, each less common measure, another layout as well, a scale of the ground truth.
SCALE_PENALTY, RARE_SCALE_PENALTY, LAYOUT_PENALTY, TRUTH_SCALE_PENALTY = 0.03, 0.02, 0.03, 0.06

Candidate = tuple[SideName, Reading, int, float]  # side, box format, shift of image ids, prior weight


def plain_readings(sample: Sample) -> Iterator[Candidate]:
    """Yield box formats that need no estimate; fractions only for numbers that look like fractions."""
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
                    CHANGE_PENALTY * (changes - 1)
                    + TRUTH_PENALTY * (side == "truth")
                    + Y_FIRST_PENALTY * (reading.layout in ("yxhw", "yxyx"))
                )
                yield side, reading, shift, 1 - penalty
    own = sample.pred.reading
    if own.measure == "abs" and likely_measure(sample.pred) == "abs" and sample.truth.is_sized:
        for measure in FLIPS:
            if measure != "exchanged" or own.layout in ("xywh", "cxcywh"):
                yield "pred", Reading(own.layout, measure), 0, 1 - FLIP_PENALTY


def likely_measure(group: SampledObjects) -> Measure:
    """Return whether numbers look like pixels or fractions, by their size."""
    if group.reading.measure == "rel" and not looks_like_pixels(group.numbers):
        return "rel"
    return "rel" if looks_like_fractions(group.numbers) else "abs"


def looks_like_fractions(numbers: Floats) -> bool:
    """Whether numbers are too small to be pixels."""
    return len(numbers) >= FEWEST_MEASURED and float((np.abs(numbers) > LARGEST_FRACTION).mean()) <= LARGE_SHARE


def looks_like_pixels(numbers: Floats) -> bool:
    """Whether numbers are too large to be fractions."""
    return len(numbers) >= FEWEST_MEASURED and float(np.median(np.abs(numbers[:, 2:]).max(axis=1))) > LARGEST_SIDE


def scaled_readings(sample: Sample) -> Iterator[Candidate]:
    """Yield box formats in coordinates of resized images, each with the scale that fits best."""
    if not len(sample.pred):  # images are shared under another offset of their ids only
        return
    own = sample.pred.reading
    is_truth_misread = sample.truth.reading.measure == "abs" and looks_like_fractions(sample.truth.numbers)
    if own.measure != "abs" or is_truth_misread:
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
                weight = 1 - SCALE_PENALTY - RARE_SCALE_PENALTY * rank - LAYOUT_PENALTY * (layout != own.layout)
                yield "pred", reading, 0, weight
    if sample.truth.is_sized and float((sample.pred.numbers > FRAME_OF_1000[0]).mean()) <= LARGE_SHARE:
        yield "pred", Reading("yxyx", "frame", FRAME_OF_1000), 0, 1 - SCALE_PENALTY - LAYOUT_PENALTY - Y_FIRST_PENALTY
    if sample.truth.is_sized and np.ptp(sample.truth.sizes, axis=0).any() and sample.truth.reading.measure == "abs":
        reading = estimate(sample.truth, sample.pred, sample.truth.reading.layout, "frame")
        if reading is not None:
            yield "truth", reading, 0, 1 - TRUTH_SCALE_PENALTY


def is_worth_it(reading: Reading, own: Reading) -> bool:
    """Whether a scale is worth a try: not close to 1 with another layout, and for letterboxes a common size.

    Parameters
    ----------
    reading
        Another layout, unit or scale of the boxes.
    own
        How they are read now.
    """
    if reading.measure in ("longest", "padded"):
        return any(abs(reading.unit[0] / usual - 1) < COMMON_SIZE_TOLERANCE for usual in USUAL)
    return reading.measure != "factor" or reading.layout == own.layout or abs(reading.unit[0] - 1) >= SCALE_OF_ONE


OUTSIDE = 0.3  # share of boxes that leave their images only as read, which chance does not explain

LARGEST_BIAS = 0.1  # of a box side: largest median error of the edges of a detector

MORE_RECURRENCE = 0.5  # share of predictions that recur in the next image, beyond that of ground-truth objects

CROWDED = 1.2  # matched objects per possible match, from which several share one prediction

# Quantile of box edges; the ground truth reaches at most this many times as far as the predictions.
EDGE_QUANTILE, LARGEST_EXTENT_RATIO = 0.9, 1.3

PRECISE_SHARE = 0.35  # share of objects that the highest-confidence predictions match precisely

SCALED_DOWN, FULL_EXTENT, BEYOND = 0.7, 0.75, 1.1  # extent of boxes relative to the image: scaled down, full, beyond

EXTENT_QUANTILE = 0.98  # quantile of box edges that is their extent

MATCHED_SHARE, TP_SHARE = 0.5, 0.3  # share of objects matched, or of predictions that are TP, to exceed chance

FEWEST_PLACES = 4  # occupied grid cells from which a scale cannot fit by chance


def is_plausible(sample: Sample, plain: Hypothesis, found: Hypothesis) -> bool:
    """Whether boxes lie inside their images, errors are unbiased, and matches exceed chance."""
    if is_about_fractions(sample, found):
        return True
    if not lies_in_images(sample, plain, found) or is_biased(sample, found):
        return False
    if found.shift == 0 and (plain.outside - found.outside >= OUTSIDE or fills_the_images(sample, found)):
        return True
    if ignores_the_image(sample, found):
        return False
    is_image_specific = exceeds_other_images(found.overlaps, chance_of(sample, found))
    if found.shift:
        return is_image_specific
    if found.reading.measure in FLIPS:  # objects in rows and columns meet a grid that is flipped, but not precisely
        return is_image_specific or (is_precise(sample, found) and beats_random_boxes(sample, found))
    if found.reading.measure not in SCALED:
        return is_image_specific or beats_random_boxes(sample, found)
    # A scale is estimated to fit: with objects in few places it must fit each image by itself, or very well.
    truth_boxes, _ = boxes_under(sample, found.side, found.reading, found.shift)
    where = places(relative_to_images(truth_boxes, sample.truth.sizes)[found.overlaps >= MATCHED_IOU])
    if where >= FEWEST_PLACES:
        return is_image_specific or beats_random_boxes(sample, found)
    if found.side == "pred" and found.reading.layout != sample.pred.reading.layout:
        return False
    return is_image_specific or (where > 1 and is_precise(sample, found) and beats_random_boxes(sample, found))


def lies_in_images(sample: Sample, plain: Hypothesis, found: Hypothesis) -> bool:
    """Whether boxes stay in their images; without sizes, whether both sides have about the same extent."""
    if found.found > CROWDED * found.possible:  # several objects on one prediction
        return False
    if sample.truth.is_sized:
        return found.outside <= max(OUTSIDE, plain.outside)
    truth, pred = boxes_under(sample, found.side, found.reading, found.shift)
    truth_extent, pred_extent = (np.quantile(boxes[:, 2:], EDGE_QUANTILE, axis=0) for boxes in (truth, pred))
    is_farther = truth_extent > LARGEST_EXTENT_RATIO * pred_extent
    return found.side == "pred" or not np.any(is_farther)


def ignores_the_image(sample: Sample, found: Hypothesis) -> bool:
    """Whether predictions recur in every image and objects do not; then a fit is no evidence of a box format."""
    return recurrence(sample.preds[found.shift]) > recurrence(sample.truth) + MORE_RECURRENCE


def recurrence(group: SampledObjects) -> float:
    """Return the share of boxes that recur in the next sampled image at the same relative place."""
    if group.images < 2:
        return 0.0
    own, other = (relative_to_images(g.corners(), g.sizes) for g in (group, group.turn(1)))
    found = best_overlaps(own, group.image, other, group.turn(1).image)
    return float((found >= PRECISE).sum()) / max(len(group), 1)


def is_precise(sample: Sample, found: Hypothesis) -> bool:
    """Whether the highest-confidence predictions, as many as objects, match a good part of them precisely.

    Parameters
    ----------
    sample
        Images with objects on both sides.
    found
        The explanation to confirm: chance brings loose matches, rarely precise ones of confident predictions.
    """
    truth, confident = sample.truth, sample.preds[found.shift].first(sample.truth.counts)
    few = overlaps_under(Sample(truth, {found.shift: confident}), found.side, found.reading, found.shift)
    return int((few >= PRECISE).sum()) >= PRECISE_SHARE * most_possible(truth, confident)


def is_biased(sample: Sample, found: Hypothesis) -> bool:
    """Whether box edges are off in one direction; a detector errs to all sides, a wrong format does not.

    Parameters
    ----------
    sample
        Images with objects on both sides.
    found
        The reading whose matches are measured.
    """
    one, other = best_pairs(*find_overlapping(sample, found))
    truth_boxes, pred_boxes = boxes_under(sample, found.side, found.reading, found.shift)
    truth, pred = truth_boxes[one], pred_boxes[other]
    errors = (truth - pred) / np.tile(truth[:, 2:] - truth[:, :2], 2)
    middle, noise = median_and_error(errors)
    return bool(np.any(np.abs(middle) > np.maximum(LARGEST_BIAS, noise)))


def is_about_fractions(sample: Sample, found: Hypothesis) -> bool:
    """Whether the format changes between fractions and pixels, which is always a mistake."""
    own = sample.truth.reading if found.side == "truth" else sample.pred.reading
    return found.reading.measure != own.measure and found.reading.measure in ("abs", "rel")


def fills_the_images(sample: Sample, found: Hypothesis) -> bool:
    """Whether predictions fill only a part of the images as read, and all of it once scaled.

    Parameters
    ----------
    sample
        Images with objects on both sides.
    found
        A scale of the predictions, such as that of a resized image.
    """
    pred = sample.pred
    if found.reading.measure not in SCALED or not pred.is_sized or 2 * found.found < found.possible:
        return False
    before, after = reach(pred, pred.corners()), reach(pred, pred.corners(found.reading))
    return bool(before.max() <= SCALED_DOWN and after.min() >= FULL_EXTENT and after.max() <= BEYOND)


def reach(group: SampledObjects, boxes: Floats) -> Floats:
    """Return the extent of boxes in x and y, relative to the image."""
    return np.asarray(np.quantile(boxes[:, 2:] / group.sizes, EXTENT_QUANTILE, axis=0))


def beats_random_boxes(sample: Sample, found: Hypothesis) -> bool:
    """Whether most objects match, or many predictions are true positives, where random boxes are not."""
    truth, pred = sample.truth, sample.preds[found.shift]
    confident = pred.first(truth.counts)
    truth_boxes, _ = boxes_under(sample, found.side, found.reading, found.shift)
    relative = relative_to_images(truth_boxes, truth.sizes)
    chance = chance_of_random(relative)
    tries = pred.counts[truth.image]
    if exceeds_random_boxes(found.found, float((1 - (1 - chance) ** tries).sum()), MATCHED_SHARE * found.possible):
        return True
    per_image = np.minimum(1, np.bincount(truth.image, chance, minlength=truth.images))
    for group in (pred, confident):
        boxes = group.corners(found.reading if found.side == "pred" else None)
        right = int((best_overlaps(boxes, group.image, truth_boxes, truth.image) >= MATCHED_IOU).sum())
        if exceeds_random_boxes(right, float(per_image[group.image].sum()), TP_SHARE * len(group)):
            return True
    return False


def chance_of(sample: Sample, found: Hypothesis) -> list[Floats]:
    """Return the IoU with predictions of other images, stretched to each image; scales are estimated there again."""
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


LEAST_MATCHED, LEAST_MATCHED_CHANGED = 0.35, 0.4  # share of objects that must match; if scaled, or with two changes

PRED_BEYOND, TRUTH_BEYOND = 1.1, 1.15  # extent that predictions, and the ground truth, may have

TRUTH_SCALED_DOWN, PRED_FULL = 0.7, 0.93  # extent at which the ground truth, and predictions, fill their images

AS_GOOD = 0.95  # share of the summed IoU that must remain if the other side is scaled

MORE_OF_TWO_CHANGES = 2.0  # objects gained for each one matched before, with two changes


def weigh_readings(sample: Sample) -> tuple[Hypothesis, Hypothesis | None]:
    """Return the hypothesis as read, and one under which far more objects match, if there is one."""
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
            best = with_round_numbers(sample, choose_resized_side(sample, scaled))
    return plain, best


def best_of(sample: Sample, plain: Hypothesis, candidates: Iterator[Candidate]) -> Hypothesis | None:
    """Return the best hypothesis that dominates the plain one and is plausible."""
    own = {"pred": sample.pred.reading, "truth": sample.truth.reading}
    found = []
    for side, reading, shift, weight in candidates:
        overlaps = overlaps_under(sample, side, reading, shift)
        possible = most_possible(sample.truth, sample.preds[shift])
        one = Hypothesis(side, reading, shift, overlaps, possible, weight=weight)
        changes = max(1, (reading.layout != own[side].layout) + (reading.measure in SCALED) + (shift != 0))
        is_dominating = dominates(one, plain, changes)
        if is_dominating or plain.outside >= OUTSIDE:
            one = replace(one, outside=share_outside(sample, side, reading, shift))
            if is_dominating or stays_inside(one, plain):
                found.append(one)
    ranked = sorted(found, key=lambda one: -one.score)
    best = next((one for one in ranked[:3] if is_plausible(sample, plain, one)), None)
    if best is None or best.reading.measure not in SCALED:
        return best
    return next(one for one in ranked if one.side == best.side)  # if scaled, the best fit shows how


def dominates(one: Hypothesis, plain: Hypothesis, changes: int) -> bool:
    """Whether far more objects match; estimated scales and double changes must gain more.

    Parameters
    ----------
    one
        The explanation: another way to read the boxes.
    plain
        The boxes as they are read.
    changes
        How many things the explanation changes: the more it changes, the more it must gain.
    """
    is_scaled = one.reading.measure in SCALED
    if one.found < (LEAST_MATCHED_CHANGED if is_scaled or changes > 1 else LEAST_MATCHED) * one.possible:
        return False
    more = MORE_OF_TWO_CHANGES if changes > 1 else MORE
    return is_dominant(one.overlaps, plain.overlaps, more, FEWEST * (1 + is_scaled) * changes)


def stays_inside(one: Hypothesis, plain: Hypothesis) -> bool:
    """Whether boxes outside their images as read now stay inside and match more; a smaller gain is enough then."""
    won, lost = wins(one.overlaps, plain.overlaps)
    return one.reading.measure not in SCALED and plain.outside - one.outside >= OUTSIDE and won >= FEWEST + lost


def choose_resized_side(sample: Sample, found: Hypothesis) -> Hypothesis:
    """Decide which side was resized: IoU does not show it, the image sizes may."""
    if found.side == "truth" or found.reading.measure not in SCALED or not sample.truth.is_sized:
        return found
    truth, pred = (reach(group, group.corners()) for group in (sample.truth, sample.pred))
    if pred.max() > PRED_BEYOND or (
        truth.max() <= TRUTH_BEYOND and (truth.min() > TRUTH_SCALED_DOWN or pred.min() < PRED_FULL)
    ):
        return found
    if truth.max() <= TRUTH_BEYOND and places(sample.truth.corners()) < 2 * FEWEST_PLACES:
        return found
    reading = estimate(sample.truth, sample.pred, sample.truth.reading.layout, found.reading.measure)
    if reading is None:
        return found
    overlaps = overlaps_under(sample, "truth", reading, 0)
    is_as_good = overlaps.sum() >= AS_GOOD * found.overlaps.sum()
    return replace(found, side="truth", reading=reading, overlaps=overlaps) if is_as_good else found


def with_round_numbers(sample: Sample, found: Hypothesis) -> Hypothesis:
    """Round the estimated scale to the likeliest numbers nearby.

    Parameters
    ----------
    sample
        Images with objects on both sides.
    found
        The explanation with a scale estimated from matches, such as 639.7.

    Returns
    -------
    Hypothesis
        The explanation with the number that a person would have used, such as 640.
    """
    wrong, right = (sample.pred, sample.truth) if found.side == "pred" else (sample.truth, sample.pred)
    reading = round_off(wrong, right, found.reading)
    return replace(found, reading=reading, overlaps=overlaps_under(sample, found.side, reading, 0))
