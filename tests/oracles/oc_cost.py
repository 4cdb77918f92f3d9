"""OC-cost of one image as a transport problem, with scipy: nothing of verite."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def random_images(seed: int, images: int = 8):
    """Objects [x1, y1, x2, y2, class] and predictions [x1, y1, x2, y2, class, confidence] of some images."""
    rng = np.random.default_rng([2022, seed])
    found = []
    for i in range(images):
        corner, size = rng.uniform(0, 80, (rng.integers(0 if i else 2, 6), 2)), rng.uniform(5, 30, 2)
        truth = [[*c, *(c + size), int(rng.integers(3))] for c in corner]
        pred = []
        for box in truth:
            if rng.random() < 0.8:
                moved = np.array(box[:4]) + rng.normal(0, 3, 4)
                kind = box[4] if rng.random() < 0.8 else int(rng.integers(3))
                pred.append([*moved[:2], *np.maximum(moved[2:], moved[:2] + 1), kind, rng.uniform(0.3, 1)])
        for _ in range(rng.integers(0, 3)):
            c = rng.uniform(0, 80, 2)
            pred.append([*c, *(c + 10), int(rng.integers(3)), rng.uniform(0.3, 1)])
        found.append((truth, pred))
    return found


def giou(a, b):
    x, y = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    inside = max(x, 0) * max(y, 0)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - inside
    hull = (max(a[2], b[2]) - min(a[0], b[0])) * (max(a[3], b[3]) - min(a[1], b[1]))
    return inside / union - (hull - union) / hull


def unit_cost(truth, pred, balance):
    place = (1 - giou(truth, pred)) / 2
    name = abs(1 - pred[5]) / 2 if truth[4] == pred[4] else (1 + pred[5]) / 2
    return balance * place + (1 - balance) * name


def image_cost(truth, pred, balance=0.5, beta=0.6):
    """Least cost of moving predictions to objects; dummies send and take what is extra or missed."""
    if not truth and not pred:
        return 0.0
    n, m = len(pred), len(truth)
    costs = np.full((n + 1, m + 1), beta)
    for i, p in enumerate(pred):
        for j, t in enumerate(truth):
            costs[i, j] = unit_cost(t, p, balance)
    rows = np.kron(np.eye(n + 1), np.ones(m + 1))
    columns = np.kron(np.ones(n + 1), np.eye(m + 1))
    supply, demand = np.append(np.ones(n), m), np.append(np.ones(m), n)
    found = linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.append(supply, demand), method="highs")
    plan = found.x.reshape(n + 1, m + 1)
    plan[-1, -1] = 0
    return float((plan * costs).sum() / plan.sum())
