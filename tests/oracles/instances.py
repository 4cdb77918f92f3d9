"""Scores of instance segmentation on label images, one image at a time with scipy: nothing of verite."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment


def random_labels(seed: int, images: int = 6, side: int = 48):
    """Label images of round cells; predictions are shifted, split, merged, missing or made up."""
    rng = np.random.default_rng([2017, seed])
    found = []
    for _ in range(images):
        y, x = np.mgrid[:side, :side]
        truth, pred = np.zeros((2, side, side), dtype=int)
        number = 0
        for _ in range(int(rng.integers(4, 14))):
            cy, cx, radius = rng.uniform([0, 0, 3], [side, side, 9])
            number += 1
            truth[(y - cy) ** 2 + (x - cx) ** 2 < radius**2] = number
            dy, dx, zoom = rng.normal([0, 0, 1], [1, 1, 0.1])
            cell = (y - cy - dy) ** 2 + (x - cx - dx) ** 2 < (radius * zoom) ** 2
            kind = rng.random()
            if kind < 0.1:  # missing
                continue
            pred[cell] = 100 + number
            if kind < 0.25:  # split in two
                pred[cell & (x > cx + dx)] = 200 + number
            elif kind < 0.35:  # merged with the one before
                pred[cell] = 99 + number
        cy, cx = rng.uniform(0, side, 2)
        pred[(y - cy) ** 2 + (x - cx) ** 2 < 9] = 300
        found.append((truth, pred))
    return found


def overlaps(truth, pred):
    """Areas of objects and predictions, and their intersections [object, prediction]."""
    masks = [[image == value for value in np.unique(image) if value] for image in (truth, pred)]
    inside = np.array([[int((a & b).sum()) for b in masks[1]] for a in masks[0]])
    areas = [np.array([int(mask.sum()) for mask in own]) for own in masks]
    return areas[0], areas[1], inside.reshape(len(masks[0]), len(masks[1]))


def iou_matrix(truth, pred):
    one, two, inside = overlaps(truth, pred)
    return inside / (one[:, None] + two[None] - inside)


def true_positives(truth, pred, threshold):
    """As many pairs as possible that reach the threshold, one to one."""
    iou = iou_matrix(truth, pred)
    rows, columns = linear_sum_assignment(-(iou >= threshold).astype(float) - iou / (2 * max(iou.shape)))
    return int((iou[rows, columns] >= threshold).sum())


def average_precision(truth, pred, threshold):
    tp, (one, two, _) = true_positives(truth, pred, threshold), overlaps(truth, pred)
    return tp / (len(one) + len(two) - tp)


def aji(truth, pred, is_one_to_one=False):
    """Intersection and union in pixels of AJI, or of AJI+."""
    one, two, inside = overlaps(truth, pred)
    iou = iou_matrix(truth, pred)
    if is_one_to_one:
        pairs = [(t, p) for t, p in zip(*linear_sum_assignment(-iou), strict=True) if inside[t, p]]
    else:
        pairs = [(t, int(iou[t].argmax())) for t in range(len(one)) if inside[t].any()]
    shared = sum(inside[t, p] for t, p in pairs)
    union = sum(one[t] + two[p] - inside[t, p] for t, p in pairs)
    union += sum(one[t] for t in range(len(one)) if t not in {t for t, _ in pairs})
    union += sum(two[p] for p in range(len(two)) if p not in {p for _, p in pairs})
    return int(shared), int(union)


def matched_ious(truth, pred):
    iou = iou_matrix(truth, pred)
    return sorted(iou[t, p] for t, p in zip(*linear_sum_assignment(-iou), strict=True) if iou[t, p] > 0)


def sorted_ap(ious, truths, preds):
    """Area below AP against the threshold: points at each match's IoU, and (1, 0)."""
    ious = sorted(ious)
    matched = len(ious)
    heights = [(matched - k) / (truths + preds - matched + k) for k in range(matched)]
    points = [(0.0, heights[0]), *zip(ious, heights, strict=True), (1.0, 0.0)]
    return sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points))
