"""The kernels of the study, word for word in NumPy: moved outlines pixel by pixel, couples one by one."""

from __future__ import annotations

import numpy as np


def warped(edges, warp, height, width):
    """A pixel is inside where a ray upwards from its middle crosses an odd number of moved edges."""

    def moved(points):
        u, v = points.T
        return np.stack([c[0] + (c[1] * u + c[2] * v + c[3] * (u * v)) for c in warp], axis=1)

    starts, ends = moved(edges[:, :2]), moved(edges[:, 2:])
    inside = np.zeros((height, width), dtype=bool)
    for x in range(width):
        middle = x + 0.5
        above = []
        for (x1, y1), (x2, y2) in zip(starts, ends, strict=True):
            if x2 < x1:
                x1, y1, x2, y2 = x2, y2, x1, y1
            if x1 <= middle < x2:
                above.append(y1 + (middle - x1) / (x2 - x1) * (y2 - y1))
        for y in range(height):
            inside[y, x] = sum(edge <= y + 0.5 for edge in above) % 2 == 1
    return inside


def triangle_failures(values, reach, slack):
    """Every couple of two shifts."""
    shifts = [(y, x) for y in range(-reach, reach + 1) for x in range(-reach, reach + 1)]

    def value(y, x):
        return values[y + 2 * reach, x + 2 * reach]

    return sum(
        value(*two) > (value(*one) + value(two[0] - one[0], two[1] - one[1])) * (1 + slack)
        for one in shifts
        for two in shifts
    )
