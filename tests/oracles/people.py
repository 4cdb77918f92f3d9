"""People as they stand in photos, and what a detector says of them: poses that nobody should complain about.

A body seen from the front, the back or the side, leaning, partly hidden or cut off by the edge of its photo. The
detector finds most of them, some of them badly, a few with left and right exchanged, and sees some that are not there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

NAMES = ["nose", *(f"{side}_{part}" for part in ("eye", "ear", "shoulder", "elbow", "wrist", "hip", "knee", "ankle")
                   for side in ("left", "right"))]  # fmt: skip
SIDES = np.array([0.05, 0.1, 0.2, 0.3, 0.33, 0.12, 0.13, 0.13])  # of each pair, how far from the middle
HEIGHTS = np.array([-0.95, -0.9, -0.7, -0.45, -0.2, -0.1, 0.4, 0.9])
BODY = np.vstack([[[0, -0.9]], np.stack([np.outer(SIDES, [1, -1]), np.outer(HEIGHTS, [1, 1])], 2).reshape(-1, 2)])
MIRRORED = [0, *(k + (1 if k % 2 else -1) for k in range(1, 17))]
SIZE = np.array([640.0, 480.0])


def people(seed: int, images: int = 6) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A truth and results in COCO's form."""
    rng = np.random.default_rng([seed, 22])
    records: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for image in range(1, images + 1):
        for _ in range(rng.integers(1, 5)):
            body, height = stand(rng)
            facts = {"image_id": image, "category_id": 1}
            records.append({"id": len(records) + 1, **facts, **label(rng, body)})
            if rng.random() < 0.85:
                guess = body + rng.normal(0, rng.choice([0.01, 0.03, 0.08]) * height, body.shape)
                results.append({**facts, **claim(rng, guess[MIRRORED] if rng.random() < 0.05 else guess, 4, 2)})
            if rng.random() < 0.3:
                results.append({**facts, **claim(rng, body + rng.normal(0, 0.3 * height, 2), 1, 4)})
    photos = [{"id": i, "file_name": f"{i}.jpg", "width": 640, "height": 480} for i in range(1, images + 1)]
    category = {"id": 1, "name": "person", "keypoints": NAMES}
    return {"images": photos, "annotations": records, "categories": [category]}, results


def stand(rng: np.random.Generator) -> tuple[Any, float]:
    """Points of one body, and how tall it is."""
    height = rng.uniform(40, 400)
    turn = rng.choice([-1, 1]) * rng.uniform(0.05, 1)  # seen from behind, from the side, from the front
    lean = rng.normal(0, 0.3)
    body = BODY * [turn, 1] * height / 2 + rng.normal(0, 0.03 * height, BODY.shape)
    around = np.array([[np.cos(lean), np.sin(lean)], [-np.sin(lean), np.cos(lean)]])
    return body @ around + rng.uniform(0.1, 0.9, 2) * SIZE, height


def label(rng: np.random.Generator, body: Any) -> dict[str, Any]:
    """As somebody would write it down: whole pixels, nothing outside of the photo, some points not to be seen."""
    inside = ((body >= 0) & (body < SIZE)).all(axis=1)
    seen = rng.choice(3, len(body), p=(0.25, 0.15, 0.6)) * inside
    points = np.column_stack([np.round(body), seen]) * (seen > 0)[:, None]
    low, high = np.clip(body.min(axis=0), 0, SIZE - 2), np.clip(body.max(axis=0), 1, SIZE)
    size = np.maximum(high - low, 1)
    return {"bbox": [*low.tolist(), *size.tolist()], "area": float(0.6 * size.prod()), "iscrowd": 0,
            "keypoints": points.ravel().tolist(), "num_keypoints": int((seen > 0).sum())}  # fmt: skip


def claim(rng: np.random.Generator, guess: Any, a: float, b: float) -> dict[str, Any]:
    """As a detector writes it."""
    near = np.clip(guess, -0.03 * SIZE, 1.03 * SIZE)  # it looks at no more than the photo
    points = np.round(np.column_stack([near, rng.random(len(guess))]), 2)
    return {"keypoints": points.ravel().tolist(), "score": float(rng.beta(a, b))}
