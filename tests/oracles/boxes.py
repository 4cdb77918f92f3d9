"""NumPy twins of the box kernels."""

from __future__ import annotations

import numpy as np


def box_iou(truth, pred, pixel=0.0):
    """Intersection over union of every pair, by broadcasting."""
    sides = (
        np.minimum(truth[:, None, 2:], pred[None, :, 2:]) - np.maximum(truth[:, None, :2], pred[None, :, :2]) + pixel
    )
    shared = np.where((sides > 0).all(axis=2), sides[..., 0] * sides[..., 1], 0.0)
    areas = [np.prod(boxes[:, 2:] - boxes[:, :2] + pixel, axis=1) for boxes in (truth, pred)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(shared > 0, shared / (areas[0][:, None] + areas[1][None, :] - shared), 0.0)


def box_candidates(truth, truth_cells, pred, pred_cells, pixel=0.0, floor=0.0):
    """Overlapping pairs of the same cell, prediction by prediction."""
    overlap = box_iou(truth, pred, pixel)
    pairs = (overlap > 0) & (overlap >= floor) & (truth_cells[:, None] == pred_cells[None, :])
    found = [np.flatnonzero(pairs[:, p]) for p in range(len(pred))]
    offsets = np.cumsum([0, *(len(f) for f in found)])
    truths = np.concatenate([*found, np.empty(0, dtype=np.int64)]).astype(np.int32)
    owners = np.repeat(np.arange(len(pred)), np.diff(offsets))
    return offsets, truths, overlap[truths, owners]


def all_pairs(truth, pred, floor, *, pixel, is_corner):
    """(prediction, truth, overlap) of every pair that overlaps by at least `floor`, one after the other."""
    found = []
    for p, (left, top, right, bottom) in enumerate(pred.tolist()):
        for t, (x1, y1, x2, y2) in enumerate(truth.tolist()):
            if is_corner:
                width = min(right, x2) - max(left, x1) + pixel
                height = min(bottom, y2) - max(top, y1) + pixel
                areas = [(right - left + pixel) * (bottom - top + pixel), (x2 - x1 + pixel) * (y2 - y1 + pixel)]
            else:  # left, top, width and height, as COCO's files have them
                w, h, tw, th = right - left, bottom - top, x2 - x1, y2 - y1
                width, height = min(w + left, tw + x1) - max(left, x1), min(h + top, th + y1) - max(top, y1)
                areas = [w * h, tw * th]
            if not (width > 0 and height > 0):
                continue
            shared = width * height
            overlap = shared / (areas[1] + areas[0] - shared) if is_corner else shared / (areas[0] + areas[1] - shared)
            if overlap > 0 and overlap >= floor:
                found.append((p, t, overlap))
    return found
