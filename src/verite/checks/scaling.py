"""Estimate the scale of boxes in resized images, robust to false positives and false negatives (V105), and V107.

If a prediction and a ground-truth box show the same object, the ratio of their centres (from the origin) equals the
ratio of their sizes, and all such pairs share one ratio. Other pairs rarely agree in both. The mode of a histogram of
log ratios is a first estimate; it is refined over the pairs that then match, and rounded to likely numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from verite import _core
from verite.checks.check import Finding
from verite.checks.evidence import (
    FEWEST,
    MATCHED_IOU,
    PRECISE,
    SIGMAS,
    best_overlaps,
    best_pairs,
    boxes_under,
    find_overlapping,
    median_and_error,
)
from verite.checks.readings import Measure, Reading, scale_and_pad
from verite.checks.sample import IMAGES, Pair, SampledObjects, sample_images
from verite.model.layouts import Floats
from verite.model.ragged import Ints, offsets_of

PAIRS = 10_000

AGREE = 0.4  # log: difference of the ratios of centres and sizes of a pair, and of a common scale in x and y

BIASED = 0.1  # log: the same in the median over all pairs; boxes too large or too small are not scaled

BIN = 0.08  # log: bin width of the histogram of ratios

CELLS = 1_000_000  # bins of the histogram, at most

SHIFTED = 0.9  # error after a shift relative to a scale, below which boxes are shifted

WIDEST = 2.5  # largest aspect ratio of an image

NETWORK = 640.0  # assumed input size, where only the quotient of two sizes is known


def pairs_within(truth: SampledObjects, pred: SampledObjects) -> tuple[Ints, Ints]:
    """Return pairs of objects and the highest-confidence predictions of their image, about PAIRS in total.

    Parameters
    ----------
    truth
        Sampled ground truth.
    pred
        Sampled predictions, by falling confidence within an image.

    Returns
    -------
    tuple[Ints, Ints]
        Positions of objects and predictions. Their ratios of size cluster at the factor between both scales.
    """
    tops = np.minimum(pred.counts, np.maximum(2 * truth.counts, 5))[truth.image]  # predictions for each truth
    chosen = np.arange(0, len(truth), 1 + int(tops.sum()) // PAIRS)
    counts = tops[chosen]
    within = np.arange(counts.sum()) - np.repeat(offsets_of(counts)[:-1], counts)
    return np.repeat(chosen, counts), np.repeat(pred.cells[truth.image[chosen]], counts) + within


def logarithms(boxes: Floats) -> Floats:
    """Return logarithms of centre, size and distance from the origin, each in x and y, [box, 6].

    The distance is the norm of both edges: far from the origin the centre determines a scale better than the size.
    """
    first, second = boxes[:, :2], boxes[:, 2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(np.concatenate([first + second, second - first, np.hypot(first, second)], axis=1)))


def common_ratio(differences: Floats, *, is_one_number: bool) -> Floats | None:
    """Return the ratio in x and y that most pairs share: the mode of the differences of logarithms."""
    centres, sizes, ratios = differences[:, :2], differences[:, 2:4], differences[:, 4:]
    agrees = (np.abs(centres - sizes) < AGREE).all(axis=1)  # false for infinite and NaN
    if is_one_number:
        agrees &= np.abs(ratios[:, 0] - ratios[:, 1]) < AGREE
    ratios = ratios[agrees]
    if len(ratios) < FEWEST:
        return None
    if is_one_number:
        ratios = np.repeat(ratios.mean(axis=1, keepdims=True), 2, axis=1)
    bins = ((ratios - ratios.min(axis=0)) / BIN).astype(np.int64)
    shape = bins.max(axis=0) + 1
    if shape.prod() > CELLS:
        return None
    heights = np.bincount(bins[:, 0] * shape[1] + bins[:, 1], minlength=int(shape.prod())).reshape(shape)
    padded = np.pad(heights, 1)
    around = sum(padded[i : i + shape[0], j : j + shape[1]] for i in range(3) for j in range(3))
    peak = np.array(np.unravel_index(int(np.argmax(around)), shape))
    near = ratios[(np.abs(bins - peak) <= 1).all(axis=1)]
    for radius in (BIN, BIN / 2, BIN / 4, BIN / 8):
        closer = near[(np.abs(near - np.median(near, axis=0)) <= radius).all(axis=1)]
        near = closer if len(closer) >= FEWEST else near
    return np.asarray(np.exp(np.median(near, axis=0)))


def refine_ratio(
    truth: Floats, pred: Floats, image: Ints, pred_image: Ints, ratio: Floats, *, is_one_number: bool
) -> tuple[Floats, Ints, Ints] | None:
    """Refine the ratio over the pairs that match under a first estimate; return it with the pairs, None if too few.

    A ratio of sums is used, since least squares is biased towards zero by errors of the predictions.
    """
    for _ in range(2):
        offsets, which, overlap = _core.box_candidates(
            truth, image, pred * np.tile(ratio, 2), pred_image, 0.0, MATCHED_IOU
        )
        other = np.repeat(np.arange(len(pred)), np.diff(offsets))
        one, other = best_pairs(which.astype(np.int64), other, overlap)
        if len(one) < FEWEST:
            return None
        sums, pred_sums = truth[one].sum(axis=0).reshape(2, 2), pred[other].sum(axis=0).reshape(2, 2)
        ratio = np.full(2, sums.sum() / pred_sums.sum()) if is_one_number else sums.sum(axis=0) / pred_sums.sum(axis=0)
    return ratio, one, other


def estimate(pred: SampledObjects, truth: SampledObjects, layout: str, measure: Measure) -> Reading | None:
    """Estimate the scale for a layout and measure under which most predictions match; None if too few agree."""
    is_unsized = not truth.is_sized and measure in ("rel", "frame")
    if not truth.is_sized and measure not in ("factor", "rel", "frame"):
        return None
    numbers = Reading(layout).corners(pred.numbers, pred.sizes)
    scale, pad = scale_and_pad("factor" if is_unsized else measure, truth.sizes)
    boxes = (truth.corners() + np.tile(pad, 2)) / np.tile(scale, 2)
    one, other = pairs_within(truth, pred)
    is_one_number = measure not in ("rel", "frame")
    with np.errstate(invalid="ignore"):  # infinite for boxes of zero size or at the origin
        differences = logarithms(boxes)[one] - logarithms(numbers)[other]
        ratio = common_ratio(differences, is_one_number=is_one_number)
    if ratio is None:
        return None
    fitted = refine_ratio(boxes, numbers, truth.image, pred.image, ratio, is_one_number=is_one_number)
    if fitted is None:
        return None
    ratio, one, other = fitted
    if is_unsized:  # only the quotient of frame and image size is known
        side = 1.0 if measure == "rel" else NETWORK
        size = (float(ratio[0] * side), float(ratio[1] * side))
        reading = Reading(layout, measure, (side, side), size)
    else:
        size = (float(1 / ratio[0]), float(1 / ratio[1]))
        reading = Reading(layout, measure, size)
    if not has_usual_shape(measure, size):
        return None
    return reading if is_scale(truth.corners()[one], pred.corners()[other], pred.corners(reading)[other]) else None


def is_scale(truth: Floats, as_read: Floats, scaled: Floats) -> bool:
    """Whether scaled boxes fit in place and size; boxes that are only larger, smaller or shifted are not scaled."""
    sizes, scaled_sizes = truth[:, 2:] - truth[:, :2], scaled[:, 2:] - scaled[:, :2]
    centres, scaled_centres = (truth[:, 2:] + truth[:, :2]) / 2, (scaled[:, 2:] + scaled[:, :2]) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.log(sizes / scaled_sizes) - np.log(centres / scaled_centres)
    growth = growth[np.isfinite(growth).all(axis=1)]
    if len(growth) < FEWEST:
        return False
    noise = SIGMAS * growth.std(axis=0) / np.sqrt(len(growth))
    if np.any(np.abs(np.median(growth, axis=0)) > np.maximum(BIASED, noise)):
        return False
    moves = centres - (as_read[:, 2:] + as_read[:, :2]) / 2
    as_shift = np.abs(moves - np.median(moves, axis=0)).mean(axis=0)
    as_scale = np.abs(centres - scaled_centres).mean(axis=0)
    return not np.any(as_shift < SHIFTED * as_scale)


def has_usual_shape(measure: Measure, size: tuple[float, float]) -> bool:
    """Whether an estimated size has an aspect ratio that images have; other measures estimate no size."""
    return measure not in ("rel", "frame") or 1 / WIDEST <= size[0] / size[1] <= WIDEST


def round_off(pred: SampledObjects, truth: SampledObjects, reading: Reading) -> Reading:
    """Round the estimate to the likeliest numbers nearby that fit about as well."""

    def fit(candidate: Reading) -> float:
        return float(best_overlaps(truth.corners(), truth.image, pred.corners(candidate), pred.image).sum())

    goal = fit(reading)
    for grid, loss in GRIDS:
        near = [on_grid for way in ways_to_put(reading, truth) if (on_grid := snap(way, grid)) is not None]
        fits = [fit(candidate) for candidate in near]
        if fits and max(fits) >= (1 - loss) * goal:
            return near[fits.index(max(fits))]
    return reading


def ways_to_put(reading: Reading, truth: SampledObjects) -> Iterator[Reading]:
    """Yield the scale as a factor and as a frame, which are equivalent if all images have one size."""
    yield reading
    if reading.measure not in ("factor", "frame") or not truth.is_sized or np.ptp(truth.sizes, axis=0).any():
        return
    size = truth.sizes[0]
    if reading.measure == "frame":
        factor = float(np.mean(reading.unit / size))
        yield replace(reading, measure="factor", unit=(factor, factor))
    else:
        yield replace(reading, measure="frame", unit=(reading.unit[0] * size[0], reading.unit[1] * size[1]))


def snap(reading: Reading, grid: str) -> Reading | None:
    """Round the numbers of a box format to a grid; None if that is too far from the estimate."""
    exact = reading.image_size or reading.unit
    if reading.measure == "factor":
        near = [multiple(value, FACTORS[grid]) for value in exact]
    elif grid == "likely":
        length = min(USUAL, key=lambda usual: abs(usual - sum(exact) / 2))
        near = [length, length]
    else:
        near = [multiple(value, LENGTHS[grid]) for value in exact]
    if any(abs(a / b - 1) > NEAR for a, b in zip(near, exact, strict=True)):
        return None
    pair = (float(near[0]), float(near[1]))
    return replace(reading, image_size=pair) if reading.image_size else replace(reading, unit=pair)


def multiple(value: float, step: float) -> float:
    """Return the nearest multiple of a step; below one the nearest reciprocal of a multiple."""
    return 1 / multiple(1 / value, step) if value < 1 else round(value / step) * step or step


NEAR = 0.12  # largest relative distance of a round number from the estimate

# Steps of factors and of lengths.
FACTORS = {"likely": 0.5, "coarse": 0.1, "fine": 0.01, "finest": 0.001}

LENGTHS = {"coarse": 32, "fine": 10, "finest": 1}

# From the likeliest numbers to any, with the share of the summed IoU that they may cost.
GRIDS = (("likely", 0.02), ("coarse", 0.005), ("fine", 0.005), ("finest", 0.005))

# Common sizes to which networks and programs resize images.
USUAL = (
    *(224, 256, 300, 320, 384, 416, 448, 480, 512, 600, 608),
    *(640, 768, 800, 896, 960, 1000, 1024, 1280, 1536, 1920, 2048),
)

MOST_IMAGES = 10_000  # in which offsets of one pixel are measured

FEWEST_PRECISE = 30  # precise matches before an offset of one pixel is measured

SHARP = 0.25  # pixels: largest distance of the medians from whole numbers, and largest error of the medians


def find_off_by_one(pair: Pair) -> Iterator[Finding]:
    """Find left and top edges that are off by one pixel in the median, with or without the other two (V107)."""
    plain, sample = pair.explanations[0], pair.sample
    if plain is None or sample is None or plain.reading.measure != "abs" or sample.truth.reading.measure != "abs":
        return
    if sample.truth.images == IMAGES:  # there may be more; the medians of a few hundred boxes err by a pixel
        sample = sample_images(pair.truth, pair.pred, MOST_IMAGES) or sample
    which, by, overlap = find_overlapping(sample, plain)
    is_precise = overlap >= PRECISE
    one, other = best_pairs(which[is_precise], by[is_precise], overlap[is_precise])
    if len(one) < FEWEST_PRECISE:
        return
    truth, pred = boxes_under(sample, plain.side, plain.reading, plain.shift)
    errors = pred[other] - truth[one]
    middle, noise = median_and_error(errors)
    shift = np.round(middle)
    is_sharp = np.all(np.abs(middle - shift) <= SHARP) and np.all(noise <= SHARP)
    if not is_sharp or abs(shift[0]) != 1 or shift[1] != shift[0] or not set(shift[2:]) <= {0.0, shift[0]}:
        return
    edges = ", ".join(
        f"{name} {value:+g}" for name, value in zip(("left", "top", "right", "bottom"), shift, strict=True)
    )
    yield Finding(
        "V107",
        "note",
        f"the predictions' boxes are off by one pixel in the median of {len(one):,} objects: {edges}",
        len(one),
        (),
        "does one side start pixel coordinates at 1, as Pascal VOC does? subtract 1 where it was added",
    )
