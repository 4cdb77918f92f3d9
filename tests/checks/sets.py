"""Random data sets with a detector's predictions, all healthy: what real sets differ in, drawn from a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from verite import _core
from verite.model.annotations import Annotations, Source
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.regions import Regions


@dataclass
class Objects:
    """Truths or predictions: position of image and label, corners in pixels, confidence."""

    image: np.ndarray
    label: np.ndarray
    boxes: np.ndarray
    confidence: np.ndarray | None = None

    def take(self, rows):
        confidence = None if self.confidence is None else self.confidence[rows]
        return Objects(self.image[rows], self.label[rows], self.boxes[rows], confidence)


@dataclass
class DataSet:
    kind: str
    image_ids: np.ndarray
    label_ids: np.ndarray
    sizes: np.ndarray  # the true ones
    is_sized: bool  # do the files know the sizes?
    truth: Objects
    pred: Objects
    by_name: bool = False

    @property
    def label_names(self):
        return [f"class{i:02d}" for i in self.label_ids]

    @property
    def recall(self):
        """Share of truths that a prediction overlaps by half, whatever its class."""
        return float((best(self.truth, self.pred) >= 0.5).mean())


def best(truth, pred):
    """For each truth its largest overlap with a prediction of its image, the slow way."""
    out = np.zeros(len(truth.image))
    for image in np.unique(truth.image):
        mine, theirs = truth.image == image, pred.image == image
        if theirs.any():
            out[mine] = _core.box_iou(truth.boxes[mine].copy(), pred.boxes[theirs].copy()).max(axis=1)
    return out


KINDS = ("ordinary", "tiny", "huge", "centred", "video", "still", "origin", "perspective", "shelf", "mixed")


def draw_set(rng, kind=None, recall=None, *, is_sized=None):
    """One random healthy set."""
    kind = kind or str(rng.choice(KINDS))
    count = int(np.exp(rng.uniform(np.log(5), np.log(400))))
    sizes = draw_sizes(rng, count, kind)
    truth = draw_truth(rng, kind, sizes)
    labels = int(np.exp(rng.uniform(0, np.log(80.99))))
    truth.label = draw_labels(rng, len(truth.image), labels)
    recall = np.exp(rng.uniform(np.log(0.02), 0)) if recall is None else recall
    pred = draw_pred(rng, truth, sizes, labels, kind, recall)
    return DataSet(
        kind=kind,
        image_ids=draw_ids(rng, count, is_video=kind in ("video", "still")),
        label_ids=np.arange(labels) + int(rng.integers(0, 2))
        if rng.random() < 0.7
        else sparse(rng, labels, 2 * labels + 3),
        sizes=sizes,
        is_sized=bool(rng.random() < 0.75) if is_sized is None else is_sized,
        truth=truth,
        pred=pred,
    )


def sparse(rng, count, below):
    return np.sort(rng.choice(below, count, replace=False))


def draw_ids(rng, count, *, is_video):
    if is_video or rng.random() < 0.5:
        return np.arange(count) + int(rng.choice([0, 1, 1000]))
    return sparse(rng, count, int(count * rng.choice([1.5, 4, 100]) + 10))


def draw_sizes(rng, count, kind):
    way = rng.integers(0, 4)
    if way == 0 or kind in ("video", "still"):
        common = [(640, 480), (1920, 1080), (500, 500), (1280, 720), (4000, 3000), (300, 400)]
        return np.tile(common[rng.integers(0, len(common))], (count, 1)).astype(float)
    if way == 1:  # as in COCO: the longer side is 640
        short = rng.integers(380, 641, count)
        land = rng.random(count) < 0.7
        return np.stack([np.where(land, 640, short), np.where(land, short, 640)], 1).astype(float)
    if way == 2:  # as in VOC
        short = rng.integers(300, 500, count)
        land = rng.random(count) < 0.7
        return np.stack([np.where(land, 500, short), np.where(land, short, 500)], 1).astype(float)
    return np.exp(rng.uniform(np.log(200), np.log(3000), (count, 2))).round()


def draw_truth(rng, kind, sizes):
    count = len(sizes)
    if kind in ("centred", "huge"):
        per = np.ones(count, dtype=int)
    else:
        mean = np.exp(rng.uniform(0, np.log(20)))
        per = np.clip(rng.poisson(mean, count), 1 if rng.random() < 0.5 else 0, 30)
    if per.sum() == 0:
        per[0] = 1
    if kind in ("video", "still"):
        per[:] = max(1, int(np.median(per)))
    image = np.repeat(np.arange(count), per)
    n, side = len(image), sizes[image]
    match kind:
        case "tiny":
            wh = np.exp(rng.normal(np.log(10), 0.4, (n, 2)))
        case "huge":
            wh = side * rng.uniform(0.75, 0.99, (n, 2))
        case "centred":
            wh = side * rng.uniform(0.3, 0.8, (n, 2))
        case "origin":
            wh = np.exp(rng.normal(np.log(60), 0.5, (n, 2)))
        case _:
            area = np.exp(rng.normal(np.log(rng.uniform(0.08, 0.3)), 0.7, n)) * np.sqrt(side.prod(1))
            aspect = np.exp(rng.normal(rng.normal(0, 0.4), 0.35, n))
            wh = np.stack([area * aspect, area / aspect], 1)
    wh = np.clip(wh, 3, side * 0.99)
    at = rng.random((n, 2)) * (side - wh)
    if kind == "centred":
        at = (side - wh) / 2 * (1 + rng.normal(0, 0.15, (n, 2)))
    elif kind == "origin":
        at = np.minimum(rng.exponential(30, (n, 2)), side - wh)
    elif kind == "perspective":
        at[:, 1] = rng.uniform(0.3, 0.9, n) * (side[:, 1] - wh[:, 1])
        wh = np.minimum(wh * (0.3 + at[:, 1:] / side[:, 1:]), side - at)  # near things are large, and in the image
    elif kind == "shelf":
        step = rng.uniform(0.08, 0.2)
        grid = np.floor(rng.random((n, 2)) / step) * step
        wh = np.broadcast_to(side * step * rng.uniform(0.6, 0.95), (n, 2)).copy()
        at = np.minimum(grid * side, side - wh)
    elif kind in ("video", "still"):
        k = per[0]
        speed = 0.0 if kind == "still" else rng.uniform(0.001, 0.03)
        at, wh = at[:k], wh[:k]
        drift = np.cumsum(rng.normal(0, speed, (count, k, 2)), 0) * sizes[0]
        wobble = rng.normal(0, 0.005, (count, k, 2)) * sizes[0]
        at = np.clip((at[None] + drift + wobble).reshape(-1, 2), 0, None)
        wh = np.tile(wh, (count, 1))
        at = np.minimum(at, sizes[0] - wh)
    at = np.clip(at, 0, None)
    boxes = np.concatenate([at, at + np.maximum(wh, 1)], 1)
    if rng.random() < 0.4:
        boxes = np.round(boxes)
        boxes[:, 2:] = np.maximum(boxes[:, 2:], boxes[:, :2] + 1)
    return without_twins(Objects(image, np.zeros(n, dtype=int), boxes))


def without_twins(objects):
    """In a healthy truth there is one thing in a place: of objects that coincide, the first."""
    kept = np.ones(len(objects.image), dtype=bool)
    for image in np.unique(objects.image):
        rows = np.flatnonzero(objects.image == image)
        overlaps = np.triu(_core.box_iou(objects.boxes[rows].copy(), objects.boxes[rows].copy()), 1)
        kept[rows] = overlaps.max(axis=0, initial=0) < 0.95
    return objects.take(kept)


def draw_labels(rng, n, labels):
    weights = 1 / np.arange(1, labels + 1) ** rng.uniform(0, 1.5)
    return rng.choice(labels, n, p=weights / weights.sum())


def jittered(rng, boxes, amount):
    wh = boxes[:, 2:] - boxes[:, :2]
    centre = (boxes[:, 2:] + boxes[:, :2]) / 2 + rng.normal(0, amount, wh.shape) * wh
    wh = wh * np.exp(rng.normal(0, amount * 1.3, wh.shape))
    return np.concatenate([centre - wh / 2, centre + wh / 2], 1)


def draw_pred(rng, truth, sizes, labels, kind, recall, junk=None, jitter=None):
    """Jittered truths, some missed, some twice, with false alarms of several kinds."""
    n = len(truth.image)
    jitter = np.exp(rng.uniform(np.log(0.01), np.log(0.25))) if jitter is None else jitter
    found = np.flatnonzero(rng.random(n) < recall)
    parts = [
        (truth.image[found], truth.label[found], jittered(rng, truth.boxes[found], jitter), rng.beta(4, 2, len(found)))
    ]
    twice = rng.choice(n, int(n * rng.choice([0, 0, 0.3, 1])))
    near = rng.uniform(0.2, 0.6)
    parts.append(
        (truth.image[twice], truth.label[twice], jittered(rng, truth.boxes[twice], near), rng.beta(2, 4, len(twice)))
    )
    mean = float(rng.choice([0, 0.3, 2, 10, 40])) if junk is None else junk
    if mean:
        image = np.repeat(np.arange(len(sizes)), rng.poisson(mean, len(sizes)))
        image = image[:20_000]
        side = sizes[image]
        if rng.random() < 0.5 and len(image):  # of the size and place of truths elsewhere
            like = rng.integers(0, n, len(image))
            boxes = truth.boxes[like] / np.tile(sizes[truth.image[like]], 2) * np.tile(side, 2)
        else:
            wh = np.clip(side * np.exp(rng.normal(np.log(0.2), 0.8, (len(image), 2))), 2, side)
            at = rng.random((len(image), 2)) * (side - wh)
            boxes = np.concatenate([at, at + wh], 1)
        parts.append((image, draw_labels(rng, len(image), labels), boxes, rng.beta(1.5, 5, len(image))))
    image, label, boxes, confidence = (np.concatenate(column) for column in zip(*parts, strict=True))
    if rng.random() < 0.2:
        confidence = rng.random(len(image))
    confused = rng.random(len(image)) < rng.choice([0, 0.05, 0.4])
    label = np.where(confused, rng.integers(0, labels, len(image)), label)
    if rng.random() < 0.6:
        side = np.tile(sizes[image], 2)
        boxes = np.clip(boxes, 0, side)
    wh = np.maximum(boxes[:, 2:] - boxes[:, :2], 0.5)
    boxes = np.concatenate([boxes[:, :2], boxes[:, :2] + wh], 1)
    order = rng.permutation(len(image)) if rng.random() < 0.3 else np.argsort(image, kind="stable")
    pred = Objects(image, label, boxes, np.round(confidence, 4)).take(order)
    if rng.random() < 0.3:
        pred.boxes = pred.boxes.round(1)
    return pred if len(image) else Objects(np.zeros(1, int), np.zeros(1, int), truth.boxes[:1] + 3.0, np.ones(1))


def truth_of(data, *, numbers=None, image_ids=None, layout="xywh"):
    """The truth as a COCO reader gives it."""
    values = to_xywh(data.truth.boxes) if numbers is None else numbers
    sizes = data.sizes if data.is_sized else np.zeros_like(data.sizes)
    ids = data.image_ids if image_ids is None else image_ids
    return Annotations(
        images=Images([f"{i:06d}.jpg" for i in ids], ids, widths=sizes[:, 0], heights=sizes[:, 1]),
        labels=Labels(data.label_names, data.label_ids),
        image=data.truth.image,
        label=data.truth.label,
        regions=Regions(values, layout),
        source=Source("truth.json", "coco"),
    )


def pred_of(data, truth, *, numbers=None, image_shift=0, label_shift=0, layout="xywh", confidence=True):
    """The predictions as a reader of COCO results gives them, aligned with the truth."""
    pred = data.pred
    values = to_xywh(pred.boxes) if numbers is None else numbers
    images, image = np.unique(data.image_ids[pred.image] + image_shift, return_inverse=True)
    labels, label = np.unique(data.label_ids[pred.label] + label_shift, return_inverse=True)
    return Annotations(
        images=Images(None, images),
        labels=Labels(None, labels),
        image=image,
        label=label,
        regions=Regions(values, layout),
        confidence=pred.confidence if confidence is True else confidence,
        source=Source("detections.json", "coco-results"),
    ).like(truth)


def to_xywh(boxes):
    return np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], 1)


def with_pred(data, **changes):
    return replace(data, pred=replace(data.pred, **changes))
