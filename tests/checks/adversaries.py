"""Healthy sets made to look like mistakes: odd data and bad detectors, each a function of a random generator."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.checks.sets import DataSet, Objects, draw_labels, draw_pred, draw_set, draw_truth, jittered

ADVERSARIES = {}


def adversary(function):
    ADVERSARIES[function.__name__] = function
    return function


def built(rng, truth, pred, sizes, labels=1, *, is_sized=None, name="adversary"):
    """A data set from objects."""
    return DataSet(
        kind=name,
        image_ids=np.arange(len(sizes)) + int(rng.integers(0, 2)),
        label_ids=np.arange(labels) + 1,
        sizes=sizes,
        is_sized=bool(rng.random() < 0.7) if is_sized is None else is_sized,
        truth=truth,
        pred=pred,
    )


def scene(rng, kind=None, images=None):
    """Truths of an ordinary set, and the sizes of its images."""
    data = draw_set(rng, kind or str(rng.choice(["ordinary", "perspective", "mixed", "centred", "huge"])))
    return data.truth, data.sizes, len(data.label_ids)


def objects(rng, image, boxes, label=None):
    label = np.zeros(len(image), dtype=int) if label is None else label
    return Objects(image, label, boxes, np.round(rng.random(len(image)), 4))


def scaled_about_centre(boxes, factor):
    centre, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2 * factor
    return np.concatenate([centre - half, centre + half], 1)


@adversary
def always_the_whole_image(rng):
    truth, sizes, labels = scene(rng)
    boxes = np.concatenate([np.zeros_like(sizes), sizes], 1)
    return built(rng, truth, objects(rng, np.arange(len(sizes)), boxes), sizes, labels)


@adversary
def always_the_same_box(rng):
    truth, sizes, labels = scene(rng)
    points = rng.random((2, 2))
    box = np.concatenate([points.min(0), points.max(0)])
    boxes = box * np.tile(sizes, 2)
    return built(rng, truth, objects(rng, np.arange(len(sizes)), boxes), sizes, labels)


@adversary
def always_the_same_few_boxes(rng):
    truth, sizes, labels = scene(rng)
    points = rng.random((int(rng.integers(2, 20)), 2, 2))
    box = np.concatenate([points.min(1), points.max(1)], 1)
    image = np.repeat(np.arange(len(sizes)), len(box))
    boxes = np.tile(box, (len(sizes), 1)) * np.tile(sizes[image], 2)
    return built(rng, truth, objects(rng, image, boxes), sizes, labels)


@adversary
def boxes_too_small(rng):
    truth, sizes, labels = scene(rng)
    boxes = scaled_about_centre(jittered(rng, truth.boxes, 0.03), rng.uniform(0.4, 0.85))
    return built(rng, truth, objects(rng, truth.image, boxes, truth.label), sizes, labels)


@adversary
def boxes_too_large(rng):
    truth, sizes, labels = scene(rng)
    boxes = scaled_about_centre(jittered(rng, truth.boxes, 0.03), rng.uniform(1.15, 2.2))
    return built(rng, truth, objects(rng, truth.image, boxes, truth.label), sizes, labels)


@adversary
def only_a_part_of_each_object(rng):
    """Heads of persons, wheels of cars: always the same part."""
    truth, sizes, labels = scene(rng)
    points = np.sort(rng.random((2, 2)), 0)
    wh = truth.boxes[:, 2:] - truth.boxes[:, :2]
    boxes = np.concatenate([truth.boxes[:, :2] + points[0] * wh, truth.boxes[:, :2] + points[1] * wh + 0.5], 1)
    return built(rng, truth, objects(rng, truth.image, jittered(rng, boxes, 0.03), truth.label), sizes, labels)


@adversary
def shifted_by_a_few_pixels(rng):
    truth, sizes, labels = scene(rng)
    shift = rng.uniform(-40, 40, 2)
    boxes = jittered(rng, truth.boxes, 0.03) + np.tile(shift, 2)
    return built(rng, truth, objects(rng, truth.image, boxes, truth.label), sizes, labels)


@adversary
def one_frame_late(rng):
    """A tracker that answers a frame later, in a slow scene: ids look shifted, but are not."""
    data = draw_set(rng, "still", recall=rng.uniform(0.3, 1))
    speed = rng.uniform(0, 0.05) * np.median(data.truth.boxes[:, 2:] - data.truth.boxes[:, :2])
    way = np.concatenate([[0], np.cumsum(rng.normal(0, speed, len(data.sizes) - 1))])
    truth = replace(data.truth, boxes=data.truth.boxes + way[data.truth.image, None])
    pred = replace(data.pred, boxes=data.pred.boxes + np.roll(way, 1)[data.pred.image, None])
    return replace(data, truth=truth, pred=pred)


@adversary
def blind_in_a_still_scene(rng):
    """Every object is missed; the same things are mistaken for objects in every frame."""
    data = draw_set(rng, "still", recall=0.0)
    count = len(data.sizes)
    points = rng.random((int(rng.integers(1, 8)), 2, 2))
    box = np.concatenate([points.min(1), points.max(1)], 1) * np.tile(data.sizes[0], 2)
    image = np.repeat(np.arange(count), len(box))
    boxes = jittered(rng, np.tile(box, (count, 1)), 0.03)
    return replace(data, pred=objects(rng, image, boxes))


@adversary
def two_classes_swapped(rng):
    data = draw_set(rng, recall=rng.uniform(0.5, 1))
    data.truth.label = data.truth.label % 2
    label = 1 - data.pred.label % 2
    return replace(data, label_ids=np.array([1, 2]), pred=replace(data.pred, label=label))


@adversary
def one_class_for_everything(rng):
    data = draw_set(rng, recall=rng.uniform(0.3, 1))
    return replace(data, pred=replace(data.pred, label=np.full(len(data.pred.label), data.pred.label[0])))


@adversary
def random_classes(rng):
    data = draw_set(rng, recall=rng.uniform(0.3, 1))
    return replace(data, pred=replace(data.pred, label=rng.integers(0, len(data.label_ids), len(data.pred.label))))


@adversary
def untrained_anchors(rng):
    """A fixed grid of boxes on every image, with random confidences."""
    truth, sizes, labels = scene(rng)
    steps = int(rng.integers(3, 11))
    grid = (np.stack(np.meshgrid(np.arange(steps), np.arange(steps)), -1).reshape(-1, 2) + 0.5) / steps
    wh = rng.uniform(0.05, 0.6, 2)
    box = np.concatenate([grid - wh / 2, grid + wh / 2], 1)
    image = np.repeat(np.arange(len(sizes)), len(box))[:20_000]
    boxes = np.tile(box, (len(sizes), 1))[:20_000] * np.tile(sizes[image], 2)
    return built(rng, truth, objects(rng, image, boxes), sizes, labels)


@adversary
def objects_on_the_diagonal(rng):
    """Square images, square boxes at x = y: swapping x and y changes nothing."""
    count = int(rng.integers(20, 200))
    sizes = np.full((count, 2), 600.0)
    at, side = rng.uniform(0, 400, count), rng.uniform(20, 200, count)
    boxes = np.stack([at, at, at + side, at + side], 1)
    truth = Objects(np.arange(count), np.zeros(count, dtype=int), boxes)
    pred = draw_pred(rng, truth, sizes, 1, "", np.exp(rng.uniform(np.log(0.02), 0)))
    return built(rng, truth, pred, sizes)


@adversary
def objects_at_the_origin(rng):
    """Boxes that begin at 0, 0: width and height are the second corner."""
    count = int(rng.integers(20, 200))
    sizes = np.full((count, 2), 600.0)
    boxes = np.concatenate([np.zeros((count, 2)), rng.uniform(30, 500, (count, 2))], 1)
    truth = Objects(np.arange(count), np.zeros(count, dtype=int), boxes)
    pred = draw_pred(rng, truth, sizes, 1, "", np.exp(rng.uniform(np.log(0.02), 0)))
    return built(rng, truth, pred, sizes)


@adversary
def points_as_boxes(rng):
    truth, sizes, labels = scene(rng, "tiny")
    centre = (truth.boxes[:, :2] + truth.boxes[:, 2:]) / 2
    truth.boxes = np.concatenate([centre - 0.5, centre + 0.5], 1)
    at = centre + rng.normal(0, rng.uniform(0.1, 3), centre.shape)
    boxes = np.concatenate([at - 0.5, at + 0.5], 1)
    return built(rng, truth, objects(rng, truth.image, boxes, truth.label), sizes, labels)


@adversary
def one_image_with_hundreds_of_objects(rng):
    sizes = np.array([[20_000.0, 15_000.0]])
    n = int(rng.integers(50, 500))
    at = rng.random((n, 2)) * sizes[0] * 0.98
    boxes = np.concatenate([at, at + rng.uniform(20, 200, (n, 2))], 1)
    truth = Objects(np.zeros(n, dtype=int), np.zeros(n, dtype=int), boxes)
    pred = draw_pred(rng, truth, sizes, 1, "", rng.uniform(0.02, 1), junk=float(rng.choice([0, 50, 500])))
    return built(rng, truth, pred, sizes)


@adversary
def predictions_for_few_images(rng):
    data = draw_set(rng, "ordinary")
    kept = rng.choice(len(data.sizes), max(1, len(data.sizes) // 20), replace=False)
    rows = np.isin(data.pred.image, kept)
    return replace(data, pred=data.pred.take(rows)) if rows.any() else data


@adversary
def one_cell_off_on_a_shelf(rng):
    """A regular grid of objects, and a detector that is off by one cell in every image."""
    data = draw_set(rng, "shelf", recall=rng.uniform(0.5, 1))
    wh = np.median(data.truth.boxes[:, 2:] - data.truth.boxes[:, :2], 0)
    shift = wh * rng.choice([[1, 0], [0, 1], [-1, 0], [0, -1], [1, 1]]) * rng.uniform(1, 1.6)
    return replace(data, pred=replace(data.pred, boxes=data.pred.boxes + np.tile(shift, 2)))


@adversary
def words_on_a_page(rng):
    """Wide and low boxes in lines, poorly detected."""
    count = int(rng.integers(5, 60))
    sizes = np.full((count, 2), [1240.0, 1754.0])
    per = int(rng.integers(5, 30))
    image = np.repeat(np.arange(count), per)
    n = len(image)
    at = np.stack([rng.uniform(80, 900, n), 60 + 40 * rng.integers(0, 40, n)], 1)
    boxes = np.concatenate([at, at + np.stack([rng.uniform(40, 260, n), np.full(n, 22.0)], 1)], 1)
    truth = Objects(image, np.zeros(n, dtype=int), boxes)
    pred = draw_pred(rng, truth, sizes, 1, "", np.exp(rng.uniform(np.log(0.02), 0)))
    return built(rng, truth, pred, sizes)


@adversary
def a_detector_of_something_else(rng):
    """Predictions with nothing to do with the truth, from another set of the same images."""
    truth, sizes, labels = scene(rng)
    other = draw_truth(rng, str(rng.choice(["ordinary", "huge", "centred", "origin", "perspective"])), sizes)
    label = draw_labels(rng, len(other.image), labels)
    return built(rng, truth, objects(rng, other.image, other.boxes, label), sizes, labels)


@adversary
def all_confidences_equal(rng):
    data = draw_set(rng)
    return replace(data, pred=replace(data.pred, confidence=np.ones(len(data.pred.image))))


@adversary
def nested_objects_outer_missed(rng):
    truth, sizes, labels = scene(rng, "ordinary")
    outer = scaled_about_centre(truth.boxes, 2.0)
    both = Objects(
        np.repeat(truth.image, 2), np.repeat(truth.label, 2), np.stack([truth.boxes, outer], 1).reshape(-1, 4)
    )
    boxes = jittered(rng, truth.boxes, 0.05)
    return built(rng, both, objects(rng, truth.image, boxes, truth.label), sizes, labels)


@adversary
def very_few_objects(rng):
    data = draw_set(rng)
    rows = np.arange(min(len(data.truth.image), int(rng.integers(1, 12))))
    truth = data.truth.take(rows)
    pred = data.pred.take(np.isin(data.pred.image, truth.image))
    return replace(data, truth=truth, pred=pred) if len(pred.image) else data
