"""Points matched by distance, slowly: AP by falling confidence, and F1 by the best assignment."""

from __future__ import annotations

from itertools import permutations
from math import hypot

import numpy as np

Point = tuple[float, float]


def average_precision(truth: list[list[Point]], pred: list[list[tuple[Point, float]]], distance: float) -> float:
    """AP at 101 recalls of one class: each prediction takes the nearest free point within the distance."""
    rows = sorted(
        ((confidence, image, point) for image, own in enumerate(pred) for point, confidence in own),
        key=lambda row: -row[0],
    )
    free = [set(range(len(own))) for own in truth]
    total, hits = sum(map(len, truth)), []
    for _, image, (x, y) in rows:
        near = [(hypot(x - truth[image][t][0], y - truth[image][t][1]), t) for t in free[image]]
        best = min(near, default=(float("inf"), -1))
        hits.append(best[0] <= distance)
        if hits[-1]:
            free[image].discard(best[1])
    tp = np.cumsum(hits)
    precision = tp / np.arange(1, len(hits) + 1)
    recall = tp / total
    return float(np.mean([max(precision[recall >= r], default=0.0) for r in np.linspace(0, 1, 101)]))


def most_matches(truth: list[Point], pred: list[Point], distance: float) -> tuple[int, float]:
    """The largest number of pairs within a distance, and the smallest sum of distances among those; few points only."""
    short, long = sorted((truth, pred), key=len)
    best = (0, 0.0)
    for chosen in permutations(range(len(long)), len(short)):
        lengths = [hypot(short[i][0] - long[j][0], short[i][1] - long[j][1]) for i, j in enumerate(chosen)]
        near = [length for length in lengths if length <= distance]
        if (len(near), -sum(near)) > (best[0], -best[1]):
            best = (len(near), sum(near))
    return best
