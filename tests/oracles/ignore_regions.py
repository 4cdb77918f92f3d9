"""Ignore regions for all classes, slowly and plainly: AP of one class as COCO interpolates it."""

from __future__ import annotations

from collections.abc import Sequence

Box = Sequence[float]


def intersection(a: Box, b: Box) -> float:
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    return wide * high if wide > 0 and high > 0 else 0.0


def area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def outcomes(truths: Sequence[Box], regions: Sequence[Box], preds: Sequence[Box], iou: float, share: float) -> str:
    """One letter per prediction, by falling confidence: T, F, or I where it is ignored."""
    free, found = set(range(len(truths))), ""
    for pred in preds:
        best, at = iou, -1
        for i in sorted(free):
            both = intersection(pred, truths[i])
            if (value := both / (area(pred) + area(truths[i]) - both)) >= best:
                best, at = value, i
        if at >= 0:
            free.remove(at)
            found += "T"
        else:
            found += "I" if any(intersection(pred, one) / area(pred) >= share for one in regions) else "F"
    return found


def average_precision(letters: str, truths: int) -> float:
    """The mean of interpolated precision at 101 recalls, of outcomes by falling confidence."""
    tp = fp = 0
    points = []
    for letter in letters:
        tp, fp = tp + (letter == "T"), fp + (letter == "F")
        if letter != "I":
            points.append((tp / truths, tp / (tp + fp)))
    return sum(max((p for r, p in points if r >= i / 100), default=0.0) for i in range(101)) / 101
