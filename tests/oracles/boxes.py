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
