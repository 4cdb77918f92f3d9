"""Random COCO data sets full of the cases in which evaluators differ."""

from __future__ import annotations

from typing import Any

import numpy as np

Record = dict[str, Any]
# Areas on and beside COCO's limits, which belong to both ranges they separate.
SIDES = (2.0, 8.0, 16.0, 31.0, 32.0, 32.5, 40.0, 64.0, 95.0, 96.0, 97.0, 150.0)


def boxes_like(box: list[float], rng: np.random.Generator) -> list[float]:
    """A box near another: the same, moved by whole pixels, jittered, or turned inside out."""
    kind = rng.random()
    x, y, w, h = box
    if kind < 0.25:
        return [x, y, w, h]
    if kind < 0.5:
        dx, dy = rng.integers(-3, 4, 2).tolist()
        return [x + dx, y + dy, w, h]
    if kind < 0.97:
        j = rng.normal(0, 0.1, 4)
        return [x + j[0] * w, y + j[1] * h, w * float(np.exp(j[2])), h * float(np.exp(j[3]))]
    return [x + w, y + h, -w, h] if kind < 0.985 else [x, y, 0.0, h]


def random_box(rng: np.random.Generator, size: int) -> list[float]:
    w, h = rng.choice(SIDES, 2).tolist() if rng.random() < 0.7 else (rng.random(2) * 150 + 1).tolist()
    x, y = (rng.random(2) * size * 0.6).tolist()
    if rng.random() < 0.5:
        x, y = float(int(x)), float(int(y))
    return [x, y, w, h]


def random_set(seed: int) -> tuple[Record, list[Record]]:
    """A truth and results on it: ties, crowds, empty images, classes without truth, full cells, degenerate boxes."""
    rng = np.random.default_rng(seed)
    size = 300
    n_images, n_classes = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    image_ids = rng.choice(1000, n_images, replace=False).tolist()
    class_ids = rng.choice(90, n_classes, replace=False).tolist()
    with_truth = class_ids[: max(1, n_classes - int(rng.integers(0, 2)))]
    crowded = rng.random() < 0.12
    scores = rng.choice([0.0, 0.1, 0.25, 0.5, 0.5, 0.9, 1.0], 6) if rng.random() < 0.6 else None
    annotations, results = [], []
    for image in image_ids:
        if rng.random() < 0.15:
            continue
        for _ in range(int(rng.integers(0, 9))):
            box = random_box(rng, size)
            is_crowd = int(rng.random() < 0.12)
            area = box[2] * box[3] if rng.random() < 0.8 else float(rng.choice([0.0, 1023.0, 1024.0, 1025.0, 9216.0, 1e10, 2e10]))
            annotations.append(
                {"image_id": image, "category_id": int(rng.choice(with_truth)), "bbox": box, "area": area,
                 "iscrowd": is_crowd, **({"ignore": int(rng.random() < 0.5)} if rng.random() < 0.2 else {})}
            )  # fmt: skip
        mine = [a for a in annotations if a["image_id"] == image]
        many = 130 if crowded and rng.random() < 0.6 else int(rng.integers(0, 16))
        for _ in range(many):
            near = mine[int(rng.integers(len(mine)))] if mine and rng.random() < 0.75 else None
            results.append(
                {"image_id": image,
                 "category_id": near["category_id"] if near and rng.random() < 0.85 else int(rng.choice(class_ids)),
                 "bbox": boxes_like(near["bbox"], rng) if near else random_box(rng, size),
                 "score": float(rng.choice(scores)) if scores is not None else float(rng.random())}
            )  # fmt: skip
    order = rng.permutation(len(annotations))
    annotations = [annotations[i] for i in order]
    for i, record in enumerate(annotations):
        record["id"] = i + 1
    results = [results[i] for i in rng.permutation(len(results))]
    truth = {
        "images": [{"id": i, "file_name": f"{i}.jpg", "width": size, "height": size} for i in image_ids],
        "annotations": annotations,
        "categories": [{"id": c, "name": f"class {c}"} for c in class_ids],
    }
    return truth, results
