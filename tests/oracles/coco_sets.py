"""Random COCO data sets full of the cases in which evaluators differ."""

from __future__ import annotations

import warnings
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
            area = (
                box[2] * box[3]
                if rng.random() < 0.8
                else float(rng.choice([0.0, 1023.0, 1024.0, 1025.0, 9216.0, 1e10, 2e10]))
            )
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


def random_mask_set(seed: int) -> tuple[Record, list[Record]]:
    """The same with masks: polygons of one or several parts, runs, crowds; results as runs, polygons or boxes alone."""
    from pycocotools import mask as reference

    truth, results = random_set(seed)
    rng = np.random.default_rng([seed, 1])
    size = truth["images"][0]["width"] if truth["images"] else 0
    for record in truth["annotations"]:
        rings = random_rings(record["bbox"], rng)
        if record["iscrowd"] or rng.random() < 0.25:
            record["segmentation"] = uncompressed(rings, size)
        else:
            record["segmentation"] = rings
        if rng.random() < 0.7:
            record["area"] = float(reference.area(reference.merge(reference.frPyObjects(rings, size, size))))
    kind = rng.choice(["runs and box", "runs", "polygons", "box"], p=[0.4, 0.3, 0.2, 0.1])
    shapes = {tuple(r["bbox"]): r["segmentation"] for r in truth["annotations"] if isinstance(r["segmentation"], list)}
    for record in results:
        rings = shapes.get(tuple(record["bbox"])) or random_rings(record["bbox"], rng)
        if kind == "polygons":
            record["segmentation"] = rings
        elif kind != "box":
            runs = reference.merge(reference.frPyObjects(rings, size, size))
            record["segmentation"] = {"size": runs["size"], "counts": runs["counts"].decode()}
        if kind == "runs":
            del record["bbox"]
    return truth, results


def random_rings(box: list[float], rng: np.random.Generator) -> list[list[float]]:
    """One ring or two around the middle of a box, some of them leaving it or crossing themselves."""
    x, y, w, h = box
    rings = []
    for _ in range(2 if rng.random() < 0.15 else 1):
        corners = int(rng.integers(3, 14))
        angles = rng.random(corners) * 2 * np.pi
        if rng.random() < 0.8:
            angles = np.sort(angles)
        radius = 0.5 + 0.5 * rng.random(corners)
        points = np.stack([x + w / 2 + radius * np.cos(angles) * w / 2, y + h / 2 + radius * np.sin(angles) * h / 2], 1)
        rings.append(np.round(points, 2).ravel().tolist())
    return rings


def uncompressed(rings: list[list[float]], size: int) -> Record:
    from pycocotools import mask as reference

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its decode() is behind numpy's times
        pixels = reference.decode(reference.merge(reference.frPyObjects(rings, size, size))).ravel(order="F")
    changes = np.flatnonzero(np.diff(pixels)) + 1
    counts = np.diff(np.concatenate([[0], changes, [len(pixels)]])).tolist()
    return {"size": [size, size], "counts": counts if pixels[0] == 0 else [0, *counts]}


def random_pose_set(seed: int, count: int = 17) -> tuple[Record, list[Record]]:
    """The same with keypoints: some or none labelled, miscounted, copied from others; results with boxes or without."""
    truth, results = random_set(seed)
    rng = np.random.default_rng([seed, 2])
    poses: dict[tuple[float, ...], list[float]] = {}
    for record in truth["annotations"]:
        known = list(poses.values())
        points = (
            known[int(rng.integers(len(known)))] if known and rng.random() < 0.05 else random_pose(record, rng, count)
        )
        record["keypoints"] = poses[tuple(record["bbox"])] = points
        labelled = sum(v > 0 for v in points[2::3])
        record["num_keypoints"] = labelled if rng.random() < 0.95 else int(rng.integers(0, 3))
    has_boxes = rng.random() < 0.4
    for record in results:
        near = poses.get(tuple(record["bbox"])) or (
            list(poses.values())[int(rng.integers(len(poses)))] if poses and rng.random() < 0.7 else None
        )
        record["keypoints"] = pose_like(near, rng) if near else random_pose(record, rng, count)
        if not has_boxes:
            del record["bbox"]
    return truth, results


def random_pose(record: Record, rng: np.random.Generator, count: int) -> list[float]:
    """Points around a box, labelled or not; those that are not are often 0, 0."""
    x, y, w, h = record["bbox"]
    points = np.stack([x + w * rng.random(count), y + h * rng.random(count), rng.integers(0, 3, count)], axis=1)
    points = np.round(points) if rng.random() < 0.5 else points
    if rng.random() < 0.15:
        points[:, 2] = 0
    if rng.random() < 0.7:
        points[points[:, 2] == 0] = 0
    return [float(v) for v in points.ravel()]


def pose_like(pose: list[float], rng: np.random.Generator) -> list[float]:
    """The same, moved as a whole, or each point a little; visibility is anything that detectors write."""
    points = np.array(pose).reshape(-1, 3)
    kind = rng.random()
    if kind < 0.4:
        points[:, :2] += rng.integers(-6, 7, 2)
    elif kind < 0.85:
        points[:, :2] += rng.normal(0, rng.choice([0.5, 3.0, 10.0]), (len(points), 2))
    points[:, 2] = rng.choice([0.0, 1.0, 2.0, 0.7]) if rng.random() < 0.5 else rng.random(len(points))
    return [float(v) for v in points.ravel()]
