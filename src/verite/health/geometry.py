"""Under which reading of the boxes, and which shift of image ids, do predictions overlap the truth?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from verite.health.evidence import (
    FOUND,
    PRECISE,
    best_overlaps,
    chance_of_random,
    exceeds_other_images,
    exceeds_random_boxes,
    is_dominant,
    most_possible,
    places,
    relative_to_images,
    turns,
)
from verite.health.findings import Side
from verite.health.readings import NAMES, READINGS, SCALED, Measure, Reading
from verite.health.sample import Group, Sample
from verite.health.scaling import estimated, rounded
from verite.model.layouts import Floats

SOUND = 0.5  # share of truths overlapped precisely from which nothing else is tried
OUTSIDE = 0.3  # share of boxes that leave their images only as read, from which chance is no question


@dataclass(frozen=True, eq=False)
class Explanation:
    """A way to read one side, and a shift of the predictions' image ids, with the overlaps that follow."""

    side: Side
    reading: Reading
    shift: int
    overlaps: Floats
    possible: int
    outside: float = 0.0  # share of boxes that leave their image
    weight: float = 1.0  # below 1 for what is less plausible beforehand

    @property
    def score(self) -> float:
        return float(self.overlaps.sum()) * self.weight * (1 - 0.2 * self.outside)

    @property
    def found(self) -> int:
        return int((self.overlaps >= FOUND).sum())

    @property
    def is_sound(self) -> bool:
        """Do the predictions fit so well that no other reading need be tried?"""
        return self.possible > 0 and int((self.overlaps >= PRECISE).sum()) >= SOUND * self.possible


Tried = tuple[Side, Reading, int, float]  # the side to read anew, how, the shift of image ids, the weight


def boxes_under(sample: Sample, side: Side, reading: Reading, shift: int) -> tuple[Floats, Floats]:
    """Truths and predictions, one of them read anew."""
    truth, pred = sample.truth, sample.preds[shift]
    return truth.corners(reading if side == "truth" else None), pred.corners(reading if side == "pred" else None)


def overlaps_under(sample: Sample, side: Side, reading: Reading, shift: int) -> Floats:
    truth, pred = boxes_under(sample, side, reading, shift)
    return best_overlaps(truth, sample.truth.image, pred, sample.preds[shift].image)


def share_outside(sample: Sample, side: Side, reading: Reading, shift: int) -> float:
    """Share of boxes that leave their image by more than a tenth of it."""
    pred = sample.preds[shift]
    if not sample.truth.is_sized or not pred.is_sized:
        return 0.0
    boxes = np.concatenate(boxes_under(sample, side, reading, shift))
    sizes = np.concatenate([sample.truth.sizes, pred.sizes])
    leaves = np.concatenate([boxes[:, :2] < -0.1 * sizes, boxes[:, 2:] > 1.1 * sizes], axis=1)
    return float(leaves.any(axis=1).mean())


def explain(sample: Sample) -> tuple[Explanation, Explanation | None]:
    """The files as read, and what explains far more than that, if anything does."""
    reading = sample.pred.reading
    plain = Explanation(
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


def best_of(sample: Sample, plain: Explanation, tried: Iterator[Tried]) -> Explanation | None:
    """The best explanation that dominates the plain one and holds against chance."""
    found = []
    for side, reading, shift, weight in tried:
        overlaps = overlaps_under(sample, side, reading, shift)
        possible = most_possible(sample.truth, sample.preds[shift])
        if is_dominant(overlaps, plain.overlaps, possible):
            outside = share_outside(sample, side, reading, shift)
            found.append(Explanation(side, reading, shift, overlaps, possible, outside, weight))
    ranked = sorted(found, key=lambda e: -e.score)[:3]
    return next((e for e in ranked if holds_against_chance(sample, plain, e)), None)


def plain_readings(sample: Sample) -> Iterator[Tried]:
    """Every reading without an estimate. Fractions are tried only for numbers that look like fractions."""
    sides: list[tuple[Side, int]] = [*(("pred", shift) for shift in sample.shifts), ("truth", 0)]
    for side, shift in sides:
        group = sample.preds[shift] if side == "pred" else sample.truth
        own = group.reading
        measure = likely_measure(group)
        if measure != own.measure and not group.is_sized:
            continue
        for reading in READINGS:
            changes = (reading != own) + (shift != 0)
            if changes and reading.measure == measure:
                penalty = 0.1 * (changes - 1) + 0.005 * (side == "truth") + 0.015 * (reading.layout in ("yxhw", "yxyx"))
                yield side, reading, shift, 1 - penalty


def likely_measure(group: Group) -> Measure:
    """Pixels or fractions, by the size of the numbers."""
    if group.reading.measure == "rel" and not looks_like_pixels(group.numbers):
        return "rel"
    return "rel" if looks_like_fractions(group.numbers) else "abs"


def looks_like_fractions(numbers: Floats) -> bool:
    """Are these too small to be pixels? Healthy boxes do not all lie in an image's first pixel."""
    return len(numbers) >= 5 and float((np.abs(numbers) > 2).mean()) <= 0.02


def looks_like_pixels(numbers: Floats) -> bool:
    """Are these too large to be fractions?"""
    return len(numbers) >= 5 and float(np.median(np.abs(numbers[:, 2:]).max(axis=1))) > 3


def scaled_readings(sample: Sample) -> Iterator[Tried]:
    """Readings of predictions from resized images, each with the scale that fits best."""
    own = sample.pred.reading
    if own.measure != "abs" or looks_like_fractions(sample.truth.numbers):
        return
    is_fraction = looks_like_fractions(sample.pred.numbers)
    if is_fraction and sample.truth.is_sized:
        return
    measures: tuple[Measure, ...] = ("rel",) if is_fraction else SCALED
    layouts = tuple(NAMES) if is_fraction else dict.fromkeys((own.layout, "xywh", "xyxy", "cxcywh"))
    for layout in layouts:
        for rank, measure in enumerate(measures):
            reading = estimated(sample.pred, sample.truth, layout, measure)
            if reading is not None and not is_plain(reading, own):
                yield "pred", reading, 0, 0.97 - 0.02 * rank - 0.03 * (layout != own.layout)


def is_plain(reading: Reading, own: Reading) -> bool:
    """Is it but another layout, scaled by next to nothing? That was tried before."""
    return reading.measure == "factor" and reading.layout != own.layout and abs(reading.unit[0] - 1) < 0.05


def on_the_right_side(sample: Sample, found: Explanation) -> Explanation:
    """Overlaps do not say which side was resized; the images' own size may."""
    if found.reading.measure not in SCALED or not sample.truth.is_sized:
        return found
    truth, pred = (reach(group, group.corners()) for group in (sample.truth, sample.pred))
    leaves = truth.max() > 1.15 and pred.max() <= 1.1
    stays_away = truth.max() <= 0.65 and pred.min() >= 0.9 and pred.max() <= 1.1
    if not (leaves or stays_away):
        return found
    reading = estimated(sample.truth, sample.pred, sample.truth.reading.layout, found.reading.measure)
    if reading is None:
        return found
    overlaps = overlaps_under(sample, "truth", reading, 0)
    is_as_good = overlaps.sum() >= 0.95 * found.overlaps.sum()
    return replace(found, side="truth", reading=reading, overlaps=overlaps) if is_as_good else found


def reach(group: Group, boxes: Floats) -> Floats:
    """How far to the right and down boxes reach, in parts of the image."""
    return np.asarray(np.quantile(boxes[:, 2:] / group.sizes, 0.98, axis=0))


def with_round_numbers(sample: Sample, found: Explanation) -> Explanation:
    wrong, right = (sample.pred, sample.truth) if found.side == "pred" else (sample.truth, sample.pred)
    reading = rounded(wrong, right, found.reading)
    return replace(found, reading=reading, overlaps=overlaps_under(sample, found.side, reading, 0))


def holds_against_chance(sample: Sample, plain: Explanation, found: Explanation) -> bool:
    """Is it more than what a bad detector would show under some reading?"""
    if is_about_fractions(sample, found) or plain.outside - found.outside >= OUTSIDE or fills_the_images(sample, found):
        return True
    return beats_random_boxes(sample, found) or exceeds_other_images(found.overlaps, chance_of(sample, found))


def is_about_fractions(sample: Sample, found: Explanation) -> bool:
    """Is one side in fractions and the other in pixels? Then something is wrong for certain."""
    own = sample.truth.reading if found.side == "truth" else sample.pred.reading
    return found.reading.measure != own.measure and found.reading.measure in ("abs", "rel")


def fills_the_images(sample: Sample, found: Explanation) -> bool:
    """Do predictions stay in the images' first part as read, and reach to their ends once scaled?"""
    pred = sample.pred
    if found.reading.measure not in SCALED or not pred.is_sized or found.found < SOUND * found.possible:
        return False
    before, after = reach(pred, pred.corners()), reach(pred, pred.corners(found.reading))
    return bool(before.max() <= 0.7 and after.min() >= 0.75 and after.max() <= 1.1)


def beats_random_boxes(sample: Sample, found: Explanation) -> bool:
    """Are most truths found, or many predictions right, all of them or the most confident, where random ones are not?

    A scale is estimated so as to fit: then the truths must lie in many places, or be found precisely.
    """
    truth, pred = sample.truth, sample.preds[found.shift]
    confident = pred.first(truth.counts)
    truth_boxes, _ = boxes_under(sample, found.side, found.reading, found.shift)
    relative = relative_to_images(truth_boxes, truth.sizes)
    if found.reading.measure in SCALED:
        few = overlaps_under(Sample(truth, {found.shift: confident}), found.side, found.reading, found.shift)
        is_precise = int((few >= PRECISE).sum()) >= 0.35 * most_possible(truth, confident)
        if not is_precise and places(relative[found.overlaps >= FOUND]) < 5:
            return False
    chance = chance_of_random(relative)
    tries = pred.counts[truth.image]
    if exceeds_random_boxes(found.found, float((1 - (1 - chance) ** tries).sum()), 0.5 * found.possible):
        return True
    per_image = np.minimum(1, np.bincount(truth.image, chance, minlength=truth.images))
    for group in (pred, confident):
        boxes = group.corners(found.reading if found.side == "pred" else None)
        right = int((best_overlaps(boxes, group.image, truth_boxes, truth.image) >= FOUND).sum())
        if exceeds_random_boxes(right, float(per_image[group.image].sum()), 0.3 * len(group)):
            return True
    return False


def chance_of(sample: Sample, found: Explanation) -> list[Floats]:
    """The overlaps with predictions of other images, stretched to it. What was estimated is estimated there as well."""
    truth, pred = sample.truth, sample.preds[found.shift]
    frames = frames_of(truth, pred)
    out = []
    for turn in turns(truth.images):
        turned = pred.turned(turn)
        stretch = np.tile((frames / np.roll(frames, -turn, axis=0))[turned.image], 2)
        again = None
        if found.reading.measure in SCALED:
            numbers = turned.numbers * stretch if found.reading.measure == "factor" else turned.numbers
            here = replace(turned, numbers=numbers, sizes=truth.image_sizes[turned.image])
            again = estimated(here, truth, found.reading.layout, found.reading.measure)
        if again:
            boxes, moved = boxes_under(Sample(truth, {0: here}), found.side, again, 0)
        else:
            boxes, moved = boxes_under(Sample(truth, {0: turned}), found.side, found.reading, 0)
            moved = moved * stretch
        out.append(best_overlaps(boxes, truth.image, moved, turned.image))
    return out


def frames_of(truth: Group, pred: Group) -> Floats:
    """Width and height of each image; where they are not known, as far as its boxes reach."""
    if truth.is_sized:
        return truth.image_sizes
    frames = np.ones((truth.images, 2))
    for group in (truth, pred):
        np.maximum.at(frames, group.image, group.corners()[:, 2:])
    return frames
