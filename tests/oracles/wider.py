"""WIDER FACE's evaluation, slowly, by the rules of its MATLAB tools; and random sets to compare with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import verite as vt

Box = list[float]  # left, top, width, height


@dataclass
class Faces:
    """Per image: faces, which of them count, predictions and their confidences by falling confidence."""

    truth: list[list[Box]]
    counted: list[list[bool]]
    pred: list[list[Box]]
    confidence: list[list[float]]

    def sides(self) -> tuple[vt.Annotations, vt.Annotations]:
        names = [f"{i}" for i in range(len(self.truth))]
        found = []
        for side in (self.truth, self.pred):
            image = [names[i] for i, own in enumerate(side) for _ in own]
            boxes = np.array([box for own in side for box in own]).reshape(-1, 4)
            found.append((image, boxes))
        confidence = [c for own in self.confidence for c in own]
        truth = vt.Annotations.of(found[0][0], ["face"] * len(found[0][0]), found[0][1], "xywh", images=names)
        pred = vt.Annotations.of(
            found[1][0], ["face"] * len(found[1][0]), found[1][1], "xywh", confidence=confidence, images=names
        )
        return truth, pred

    def numbers(self) -> dict[str, list[int]]:
        """Numbers of the counted faces from 1, by image."""
        return {f"{i}": [j + 1 for j, own in enumerate(flags) if own] for i, flags in enumerate(self.counted)}


def random_faces(seed: int, images: int = 25) -> Faces:
    """Faces, some outside the subset, and predictions near them, some twice."""
    rng = np.random.default_rng(seed)
    found = Faces([], [], [], [])
    for _ in range(images):
        truth, pred = [], []
        for _ in range(int(rng.integers(1, 12))):
            box = [float(v) for v in (*rng.integers(0, 400, 2), *rng.integers(6, 60, 2))]
            truth.append(box)
            near = [np.round(np.array(box) + rng.normal(0, 3, 4), 1) for _ in range(int(rng.integers(0, 3)))]
            pred += [[float(v) for v in one] for one in near]
        pred += [[float(v) for v in (*rng.integers(0, 400, 2), *rng.integers(6, 60, 2))] for _ in range(2)]
        found.truth.append(truth)
        found.counted.append((rng.random(len(truth)) < 0.6).tolist())
        found.pred.append(pred)
        found.confidence.append(np.sort(np.round(rng.normal(1, 2, len(pred)), 2))[::-1].tolist())
    return found


def overlap(one: Box, other: Box) -> float:
    width = min(one[0] + one[2], other[0] + other[2]) - max(one[0], other[0]) + 1
    height = min(one[1] + one[3], other[1] + other[3]) - max(one[1], other[1]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] + 1) * (box[3] + 1) for box in (one, other)]
    return width * height / (sum(areas) - width * height)


def average_precision(faces: Faces) -> float:
    """AP of the faces that count."""
    every = [c for own in faces.confidence for c in own]
    low, high = min([1.0, *every]), max([0.0, *every])
    rows: list[tuple[float, str]] = []
    for truth, counted, pred, confidence in zip(faces.truth, faces.counted, faces.pred, faces.confidence, strict=True):
        taken: set[int] = set()
        for box, score in zip(pred, confidence, strict=True):
            values = [overlap(box, face) for face in truth]
            best = int(np.argmax(values)) if values else -1
            state = "false"
            if best >= 0 and values[best] >= 0.5:
                state = "ignored" if not counted[best] else "false" if best in taken else "true"
                taken.add(best)
            rows.append(((score - low) / (high - low), state))
    total = sum(map(sum, faces.counted))
    points = [(0.0, 0.0)]
    for i in range(1000):
        above = [state for score, state in rows if score >= 1 - (i + 1) / 1000]
        true, false = above.count("true"), above.count("false")
        points.append((true / total, true / (true + false) if true + false else 0.0))
    points.append((1.0, 0.0))
    area = 0.0
    for i in range(1, len(points)):
        area += (points[i][0] - points[i - 1][0]) * max(precision for _, precision in points[i:])
    return area
