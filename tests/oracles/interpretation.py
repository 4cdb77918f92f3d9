"""The interpretation score of one image of boxes, slowly and as the paper tells it; assignments by trying all."""

from __future__ import annotations

from itertools import permutations

import numpy as np


def areas(u, v):
    """Area of either box and of what they share."""
    shared = max(0, min(u[2], v[2]) - max(u[0], v[0])) * max(0, min(u[3], v[3]) - max(u[1], v[1]))
    return (u[2] - u[0]) * (u[3] - u[1]), (v[2] - v[0]) * (v[3] - v[1]), shared


def score_of(truths, truth_labels, preds, pred_labels, confidences, distances, matching, threshold, alpha=0.8):
    rows, columns = len(truths), len(preds)
    if not rows and not columns:
        return 0.0
    overlap, local = np.zeros((rows, columns)), np.zeros((rows, columns))
    for u in range(rows):
        for v in range(columns):
            a, b, shared = areas(truths[u], preds[v])
            overlap[u, v] = shared / (a + b - shared)
            localization = min((a - shared) / a, (b - shared) / b)
            same = truth_labels[u] == pred_labels[v]
            weight = (1 - confidences[v]) / 2 if same else (1 + confidences[v]) / 2
            recognition = distances[truth_labels[u], pred_labels[v]] * weight
            local[u, v] = alpha * localization + (1 - alpha) * recognition
    least = threshold if threshold is not None else (0.2 if matching == "multiple" else 0.0)
    allowed = (overlap >= least) & (overlap > 0)
    if matching == "multiple":
        return mean_of([(u, v) for u in range(rows) for v in range(columns) if allowed[u, v]], local)
    return min(
        (-round(sum(overlap[u, v] for u, v in pairs), 9), mean_of(pairs, local)) for pairs in assignments(allowed)
    )[1]


def assignments(allowed):
    """Every way to pair rows and columns one to one."""
    rows, columns = allowed.shape
    slots = [*range(columns), *[None] * rows]
    for chosen in set(permutations(slots, rows)):
        pairs = [(u, v) for u, v in enumerate(chosen) if v is not None and allowed[u, v]]
        yield pairs


def mean_of(pairs, local):
    rows, columns = local.shape
    scores = [local[u, v] for u, v in pairs]
    missed = rows - len({u for u, _ in pairs})
    spurious = columns - len({v for _, v in pairs})
    scores += [1.0] * max(missed, spurious)
    return float(np.mean(scores)) if scores else 0.0
