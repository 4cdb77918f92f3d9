"""Every other way to read the boxes that is worth a try."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verite.checks.findings import SideName
from verite.checks.readings import NAMES, READINGS, SCALED, Measure, Reading
from verite.checks.sample import Sample, SampledObjects
from verite.checks.scaling import USUAL, estimate
from verite.model.layouts import Floats

FEWEST = 5  # boxes that say in what they are measured
SMALL, LARGE = 2, 0.05  # fractions are small numbers, but for this share of them
PIXELS = 3  # a median side of more is no fraction
SAME = 0.05  # a scale that is nearer to 1 is none, if the layout is another one
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
    return len(numbers) >= FEWEST and float((np.abs(numbers) > SMALL).mean()) <= LARGE


def looks_like_pixels(numbers: Floats) -> bool:
    """Are these too large to be fractions?"""
    return len(numbers) >= FEWEST and float(np.median(np.abs(numbers[:, 2:]).max(axis=1))) > PIXELS


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
    return reading.measure != "factor" or reading.layout == own.layout or abs(reading.unit[0] - 1) >= SAME
