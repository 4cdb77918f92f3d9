"""Were boxes measured in resized images, and how large were these? An estimate that stands missed and false objects.

If a prediction and a truth are the same object, the ratio of their centres (seen from the origin) is the ratio of
their sizes, and all such pairs share one ratio. Other pairs rarely agree in both, and never share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from verite import _core
from verite.health.evidence import FEWEST, FOUND, best_overlaps
from verite.health.readings import Measure, Reading, scale_and_pad
from verite.health.sample import Group
from verite.model.layouts import Floats
from verite.model.ragged import Ints, offsets_of

PAIRS = 10_000
AGREE = 0.4  # logarithms: ratios of centres and of sizes in one pair, and ratios in x and in y of a common scale
BIASED = 0.1  # the same over all pairs: boxes that are too large or too small are not scaled ones
BIN = 0.08
NETWORK = 640.0  # a usual input size, where only the quotient of two sizes is known


def pairs_within(truth: Group, pred: Group) -> tuple[Ints, Ints]:
    """Truths with the most confident predictions of their image, up to a bound."""
    tops = np.minimum(pred.counts, np.maximum(2 * truth.counts, 5))[truth.image]  # predictions for each truth
    chosen = np.arange(0, len(truth), 1 + int(tops.sum()) // PAIRS)
    counts = tops[chosen]
    within = np.arange(counts.sum()) - np.repeat(offsets_of(counts)[:-1], counts)
    return np.repeat(chosen, counts), np.repeat(pred.cells[truth.image[chosen]], counts) + within


def logarithms(boxes: Floats) -> Floats:
    """Of centre, size and distance from the origin, each in x and y.

    The distance is the norm of both ends: far from the origin the centre says more about a scale than the size does.
    """
    first, second = boxes[:, :2], boxes[:, 2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(np.concatenate([first + second, second - first, np.hypot(first, second)], axis=1)))


def common_ratio(differences: Floats, *, is_one_number: bool) -> Floats | None:
    """The ratio in x and y that most pairs share, from differences of their logarithms: the mode."""
    centres, sizes, ratios = differences[:, :2], differences[:, 2:4], differences[:, 4:]
    agrees = (np.abs(centres - sizes) < AGREE).all(axis=1)  # what is infinite or no number does not
    if is_one_number:
        agrees &= np.abs(ratios[:, 0] - ratios[:, 1]) < AGREE
    ratios = ratios[agrees]
    if len(ratios) < FEWEST:
        return None
    if is_one_number:
        ratios = np.repeat(ratios.mean(axis=1, keepdims=True), 2, axis=1)
    bins = ((ratios - ratios.min(axis=0)) / BIN).astype(np.int64)
    shape = bins.max(axis=0) + 1
    if shape.prod() > 1_000_000:
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


def fitted_ratio(
    truth: Floats, pred: Floats, image: Ints, pred_image: Ints, ratio: Floats, *, is_one_number: bool
) -> Floats | None:
    """The ratio again, by least squares over the pairs that overlap under a first estimate; None if it is biased."""
    for _ in range(2):
        offsets, which, overlap = _core.box_candidates(truth, image, pred * np.tile(ratio, 2), pred_image, 0.0, FOUND)
        other = np.repeat(np.arange(len(pred)), np.diff(offsets))
        if len(which) < FEWEST:
            return None
        t, p = truth[which], pred[other]
        products, squares = t * p * overlap[:, None], p * p * overlap[:, None]
        ratio = (products[:, :2] + products[:, 2:]).sum(axis=0) / (squares[:, :2] + squares[:, 2:]).sum(axis=0)
        if is_one_number:
            ratio = np.full(2, products.sum() / squares.sum())
    sizes = np.log((t[:, 2:] - t[:, :2]) / (p[:, 2:] - p[:, :2]) / ratio)
    centres = np.log((t[:, 2:] + t[:, :2]) / (p[:, 2:] + p[:, :2]) / ratio)
    bias = np.abs(np.median(sizes - centres, axis=0))
    noise = 3 * (sizes - centres).std(axis=0) / np.sqrt(len(t))
    return None if np.any(bias > np.maximum(BIASED, noise)) else ratio


def estimated(pred: Group, truth: Group, layout: str, measure: Measure) -> Reading | None:
    """The reading with this layout and measure under which most predictions fit; None if too few agree."""
    is_unsized = not truth.is_sized and measure in ("rel", "frame")
    if not truth.is_sized and measure not in ("factor", "rel", "frame"):
        return None
    numbers = Reading(layout).corners(pred.numbers, pred.sizes)
    scale, pad = scale_and_pad("factor" if is_unsized else measure, truth.sizes)
    boxes = (truth.corners() + np.tile(pad, 2)) / np.tile(scale, 2)
    one, other = pairs_within(truth, pred)
    is_one_number = measure not in ("rel", "frame")
    differences = logarithms(boxes)[one] - logarithms(numbers)[other]
    ratio = common_ratio(differences, is_one_number=is_one_number)
    if ratio is not None:
        ratio = fitted_ratio(boxes, numbers, truth.image, pred.image, ratio, is_one_number=is_one_number)
    if ratio is None:
        return None
    if not is_unsized:
        return Reading(layout, measure, (float(1 / ratio[0]), float(1 / ratio[1])))
    # Of a frame and the images' common size only the quotient shows.
    unit = 1.0 if measure == "rel" else NETWORK
    return Reading(layout, measure, (unit, unit), (float(ratio[0] * unit), float(ratio[1] * unit)))


def rounded(pred: Group, truth: Group, reading: Reading) -> Reading:
    """The likeliest numbers near the estimate that fit about as well."""

    def fit(candidate: Reading) -> float:
        return float(best_overlaps(truth.corners(), truth.image, pred.corners(candidate), pred.image).sum())

    is_size = reading.image_size is not None
    exact = reading.image_size or reading.unit
    goal = fit(reading)
    for loss, grid in FACTORS if reading.measure == "factor" else LENGTHS:
        near = grid(exact[0]), grid(exact[1])
        if all(abs(a / b - 1) < 0.12 for a, b in zip(near, exact, strict=True)):
            candidate = replace(reading, image_size=near) if is_size else replace(reading, unit=near)
            if fit(candidate) >= (1 - loss) * goal:
                return candidate
    return reading


def multiple_of(step: float) -> Callable[[float], float]:
    """To the nearest multiple of a step; numbers below one to the nearest reciprocal of one."""

    def nearest(value: float) -> float:
        return 1 / nearest(1 / value) if value < 1 else round(value / step) * step or step

    return nearest


def usual_length(value: float) -> float:
    """The nearest length to which networks and programs resize images."""
    return min(USUAL, key=lambda usual: abs(usual - value))


USUAL = (224, 256, 300, 320, 384, 416, 448, 480, 512, 600, 608, 640, 768, 800, 896, 960, 1024, 1280, 1536, 1920, 2048)
# From the likeliest numbers to any: how much of the overlap they may cost, and the way to the nearest of them.
FACTORS = [
    (0.02, multiple_of(1)),
    (0.01, multiple_of(0.5)),
    *((0.005, multiple_of(s)) for s in (0.25, 0.1, 0.01, 0.001)),
]
LENGTHS = [(0.02, usual_length), (0.005, multiple_of(32)), *((0.005, multiple_of(s)) for s in (10, 2, 1))]
