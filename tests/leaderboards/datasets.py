"""Small generated datasets: ground truth of boxes or masks, and detectors of different skill."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZE = 200


def make_truth(seed: int, images: int = 20, classes: int = 3, each: int = 4, *, masks: bool = False) -> dict[str, Any]:
    """A COCO document; some objects are crowds, objects of a class may overlap."""
    rng = np.random.default_rng(seed)
    annotations = []
    for image in range(1, images + 1):
        for _ in range(int(rng.integers(0, each + 1))):
            width, height = rng.uniform(10, 90, 2).round(1)
            x, y = rng.uniform(0, SIZE - width), rng.uniform(0, SIZE - height)
            box = [round(float(v), 1) for v in (x, y, width, height)]
            found: dict[str, Any] = {"id": len(annotations) + 1, "image_id": image, "bbox": box}
            found |= {"category_id": int(rng.integers(1, classes + 1)), "iscrowd": int(rng.random() < 0.04)}
            found["area"] = round(box[2] * box[3] * 0.8, 2)
            if masks:
                found["segmentation"] = outline(box) if not found["iscrowd"] else runs(box)
            annotations.append(found)
    return {
        "images": [
            {"id": i, "width": SIZE, "height": SIZE, "file_name": f"{i}.jpg", "site": f"s{i % 5}"}
            for i in range(1, images + 1)
        ],
        "categories": [{"id": k, "name": f"class {k}"} for k in range(1, classes + 1)],
        "annotations": annotations,
    }


def make_detector(truth: dict[str, Any], seed: int, skill: float = 0.7, *, masks: bool = False) -> list[dict[str, Any]]:
    """Predictions of this share of the objects, and false positives; confidences are distinct."""
    rng = np.random.default_rng([99, seed])
    found = []
    for record in truth["annotations"]:
        if rng.random() < skill:
            box = np.array(record["bbox"]) + rng.normal(0, 2.5, 4)
            label = record["category_id"] if rng.random() < 0.9 else int(rng.integers(1, len(truth["categories"]) + 1))
            found.append((record["image_id"], label, box, rng.beta(5, 2)))
    for image in truth["images"]:
        for _ in range(int(rng.integers(0, 3))):
            box = np.append(rng.uniform(0, 140, 2), rng.uniform(15, 60, 2))
            found.append((image["id"], int(rng.integers(1, len(truth["categories"]) + 1)), box, rng.beta(2, 5)))
    listed = []
    for image, label, box, score in found:
        clean = [round(float(v), 2) for v in np.maximum(box, [0, 0, 3, 3])]
        one: dict[str, Any] = {"image_id": image, "category_id": label, "score": round(float(score), 9)}
        if masks:
            one["segmentation"] = runs(clean)
        else:
            one["bbox"] = clean
        listed.append(one)
    return listed


def outline(box: list[float]) -> list[list[float]]:
    x, y, width, height = box
    return [[x, y, x + width, y, x + width, y + height, x, y + height]]


def runs(box: list[float]) -> dict[str, Any]:
    """A rectangle of pixels as COCO's uncompressed runs, column by column."""
    x, y, width, height = (round(v) for v in box)
    mask = np.zeros((SIZE, SIZE), dtype=bool)
    mask[max(y, 0) : max(y, 0) + max(height, 1), max(x, 0) : max(x, 0) + max(width, 1)] = True
    flat = np.concatenate([[False], mask.T.ravel(), [False]])
    edges = np.flatnonzero(np.diff(flat.astype(int)))
    counts = np.diff(np.concatenate([[0], edges, [SIZE * SIZE]])).tolist()
    return {"size": [SIZE, SIZE], "counts": [int(count) for count in counts]}
