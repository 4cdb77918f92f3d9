"""KITTI's 2-D benchmark, slowly, by the rules of its development kit; and random sets to compare with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import verite as vt

LIMITS = {"easy": (40, 0, 0.15), "moderate": (25, 1, 0.30), "hard": (25, 2, 0.50)}
CLASSES = ("Car", "Van", "Pedestrian", "Person_sitting", "Cyclist", "Truck", "DontCare")
RATES = (0.4, 0.1, 0.2, 0.05, 0.1, 0.05, 0.1)
SHARES = (0.6, 0.1, 0.1, 0.1, 0.05, 0.05)  # of truncations
LEVELS = (0.6, 0.2, 0.1, 0.1)  # of occlusion


@dataclass
class Scene:
    """Objects of some images: image, class, box, truncation, occlusion; predictions: image, class, box, confidence."""

    truth: list[tuple[int, str, list[float], float, int]]
    pred: list[tuple[int, str, list[float], float]]
    images: int

    def sides(self) -> tuple[vt.Annotations, vt.Annotations]:
        names = [f"{i:06d}" for i in range(self.images)]
        is_region = [name == "DontCare" for _, name, *_ in self.truth]
        truth = vt.Annotations.of(
            [names[i] for i, *_ in self.truth], [row[1] for row in self.truth], [row[2] for row in self.truth],
            images=names, ignore=is_region, ignore_region=is_region, labels=CLASSES,
        )  # fmt: skip
        pred = vt.Annotations.of(
            [names[i] for i, *_ in self.pred], [row[1] for row in self.pred], [row[2] for row in self.pred],
            confidence=[confidence for *_, confidence in self.pred], images=names, labels=CLASSES,
        )  # fmt: skip
        return truth, pred

    def columns(self) -> dict[str, list[float]]:
        return {"truncation": [row[3] for row in self.truth], "occlusion": [float(row[4]) for row in self.truth]}


def random_scene(seed: int, images: int = 30) -> Scene:
    """Objects and predictions near them, some twice, some of another class, some small, some in DontCare regions."""
    rng = np.random.default_rng(seed)
    truth, pred = [], []
    for image in range(images):
        for _ in range(int(rng.integers(1, 8))):
            name = str(rng.choice(CLASSES, p=RATES))
            left, top = rng.integers(0, 900), rng.integers(0, 200)
            width, height = rng.integers(15, 160), rng.integers(15, 120)
            box = [float(left), float(top), float(left + width), float(top + height)]
            truth.append((image, name, box, float(rng.choice((0.0, 0.15, 0.2, 0.3, 0.5, 0.6), p=SHARES)),
                          int(rng.choice(4, p=LEVELS))))  # fmt: skip
            for _ in range(int(rng.integers(0, 3))):
                moved = [float(v) for v in np.round(np.array(box) + rng.normal(0, 3, 4), 1)]
                other = str(rng.choice(CLASSES[:6])) if rng.random() < 0.15 or name == "DontCare" else name
                pred.append((image, other, moved, float(np.round(rng.random(), 3))))
        for _ in range(int(rng.integers(0, 2))):
            left, top = float(rng.integers(0, 900)), float(rng.integers(0, 200))
            pred.append((image, str(rng.choice(CLASSES[:6])), [left, top, left + 60, top + 50], float(rng.random())))
    return Scene(truth, pred, images)


def crowded_scene(seed: int, images: int = 8) -> Scene:
    """Objects beside objects, so that they share predictions, and predictions of few different confidences."""
    rng = np.random.default_rng(seed)
    truth: list[tuple[int, str, list[float], float, int]] = []
    for image, name, box, truncation, occlusion in random_scene(seed, images).truth:
        near = [float(v) for v in np.array(box) + rng.integers(-4, 5, 4)]
        truth += [(image, name, box, truncation, occlusion), (image, name, near, 0.0, int(rng.integers(0, 3)))]
    pred = []
    for image, name, box, *_ in truth:
        for _ in range(int(rng.integers(1, 4))):
            moved = [float(v) for v in np.array(box) + rng.integers(-5, 6, 4)]
            other = str(rng.choice(("Car", "Van", "Cyclist"))) if rng.random() < 0.2 else name
            pred.append((image, other, moved, float(rng.integers(1, 8)) / 8))
    return Scene(truth, pred, images)


def overlap(one: list[float], other: list[float], *, by_first: bool = False) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    shared = width * height
    return shared / (areas[0] if by_first else sum(areas) - shared)


def average_precision(scene: Scene, name: str, difficulty: str, points: int = 40) -> float:
    """AP of a class at one difficulty."""
    least = 0.7 if name == "Car" else 0.5
    beside = {"Car": "Van", "Pedestrian": "Person_sitting"}.get(name)
    height, occlusion, truncation = LIMITS[difficulty]
    objects: list[list[tuple[list[float], bool]]] = [[] for _ in range(scene.images)]
    regions: list[list[list[float]]] = [[] for _ in range(scene.images)]
    for image, label, box, truncated, occluded in scene.truth:
        is_hard = occluded > occlusion or truncated > truncation or box[3] - box[1] <= height
        if label == "DontCare":
            regions[image].append(box)
        elif label in (name, beside):
            objects[image].append((box, label == beside or is_hard))
    found: list[list[tuple[list[float], float, bool]]] = [[] for _ in range(scene.images)]
    for image, label, box, confidence in scene.pred:
        is_small = box[3] - box[1] < height
        if label == name or is_small:
            found[image].append((box, confidence, is_small))
    total = sum(not is_ignored for own in objects for _, is_ignored in own)
    if not total:
        return float("nan")

    def match(threshold: float | None) -> tuple[list[float], int]:
        hits, wrong = [], 0
        for own, preds, ignored in zip(objects, found, regions, strict=True):
            taken: set[int] = set()
            for box, is_ignored in own:
                there = [
                    (j, overlap(p, box), c, is_small)
                    for j, (p, c, is_small) in enumerate(preds)
                    if j not in taken and (threshold is None or c >= threshold) and overlap(p, box) > least
                ]
                if not there:
                    continue
                if threshold is None:
                    chosen = max(there, key=lambda pair: (pair[2], -pair[0]))
                else:
                    large = [pair for pair in there if not pair[3]]
                    chosen = max(large, key=lambda pair: (pair[1], -pair[0])) if large else there[0]
                taken.add(chosen[0])
                if not is_ignored and not chosen[3]:
                    hits.append(chosen[2])
            for j, (box, confidence, is_small) in enumerate(preds):
                if j in taken or is_small or (threshold is not None and confidence < threshold):
                    continue
                wrong += not any(overlap(box, region, by_first=True) > least for region in ignored)
        return hits, wrong

    falling = sorted(match(None)[0], reverse=True)
    thresholds, recall = [], 0.0
    for i, score in enumerate(falling):
        right = (i + 2) / total if i < len(falling) - 1 else (i + 1) / total
        if right - recall < recall - (i + 1) / total and i < len(falling) - 1:
            continue
        thresholds.append(score)
        recall += 1 / 40
    precision = [0.0] * 41
    for i, threshold in enumerate(thresholds):
        hits, wrong = match(threshold)
        precision[i] = len(hits) / (len(hits) + wrong)
    envelope = [max(precision[i:]) for i in range(41)]
    return float(np.mean(envelope[1:] if points == 40 else envelope[::4]))


def as_reference(scene: Scene) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The same in the shape of kitti-object-eval-python, with which the figures of the tests were made."""
    truths, preds = [], []
    for image in range(scene.images):
        own = [row for row in scene.truth if row[0] == image]
        truths.append({
            "name": np.array([row[1] for row in own]), "bbox": np.array([row[2] for row in own]).reshape(-1, 4),
            "truncated": np.array([row[3] for row in own]), "occluded": np.array([row[4] for row in own]),
            "alpha": np.zeros(len(own)),
        })  # fmt: skip
        mine = [row for row in scene.pred if row[0] == image]
        preds.append({
            "name": np.array([row[1] for row in mine]), "bbox": np.array([row[2] for row in mine]).reshape(-1, 4),
            "alpha": np.zeros(len(mine)), "score": np.array([row[3] for row in mine]),
        })  # fmt: skip
    return truths, preds
