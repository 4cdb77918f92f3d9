"""Random regions for tests: blobs, boxes, dust, shapes at the border; never twice the same kind of easy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def random_mask(rng: np.random.Generator, height: int, width: int) -> Mask:
    """A mask with at least one pixel: a box, a disc, several discs, dust, a frame with a hole, or nearly everything."""
    y, x = np.mgrid[:height, :width]
    kind = rng.integers(7)
    mask = np.zeros((height, width), dtype=bool)
    if kind == 0:
        x1, y1 = rng.integers(width), rng.integers(height)
        mask[y1 : y1 + rng.integers(1, height + 1), x1 : x1 + rng.integers(1, width + 1)] = True
    elif kind in (1, 2):
        for _ in range(1 if kind == 1 else rng.integers(2, 5)):
            cy, cx, r = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(0.5, min(height, width) / 2)
            mask |= (y - cy) ** 2 + (x - cx) ** 2 <= r * r
    elif kind == 3:
        mask = rng.random((height, width)) < rng.uniform(0.02, 0.6)
    elif kind == 4:
        mask[:] = True
        mask[height // 3 : height // 2, width // 4 : width // 2] = False
    elif kind == 5:
        mask = rng.random((height, width)) < 0.97
    else:
        a, b = rng.normal(size=2)
        mask = a * (y - height / 2) + b * (x - width / 2) > rng.normal()
    if not mask.any():
        mask[rng.integers(height), rng.integers(width)] = True
    return mask


def random_pairs(seed: int, count: int, most: int = 24) -> list[tuple[Mask, Mask]]:
    """Pairs in images of random sizes; one in four is a mask and itself moved by a pixel or two."""
    rng = np.random.default_rng(seed)
    pairs = []
    for i in range(count):
        height, width = (int(v) for v in rng.integers(1, most + 1, size=2))
        truth = random_mask(rng, height, width)
        pred = (
            np.roll(truth, rng.integers(-2, 3, size=2), axis=(0, 1)) if i % 4 == 0 else random_mask(rng, height, width)
        )
        pairs.append((truth, pred))
    return pairs
