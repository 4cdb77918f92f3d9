"""Ten detectors of close quality on the truth of coco_data.py: objects are hard for all of them alike, more or less.

d0 … d9 have 44,000 boxes each, f0 … f9 100 an image (500,000).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from coco_data import SEED, ensure, write_records

SKILLS = (0.30, 0.28, 0.26, 0.20, 0.18, 0.10, 0.05, 0.0, -0.1, -0.25)


class Objects:
    """The truth's objects as columns, and how hard each is to find."""

    def __init__(self, path: Path, seed: int) -> None:
        document = json.loads(path.read_text())
        self.ids = np.array([image["id"] for image in document["images"]])
        self.limits = np.array([[image["width"], image["height"]] for image in document["images"]], dtype=float)
        self.classes = np.array([category["id"] for category in document["categories"]])
        kept = [record for record in document["annotations"] if not record["iscrowd"]]
        image, label = ({int(v): i for i, v in enumerate(ids)} for ids in (self.ids, self.classes))
        self.image = np.array([image[record["image_id"]] for record in kept])
        self.label = np.array([label[record["category_id"]] for record in kept])
        self.boxes = np.array([record["bbox"] for record in kept], dtype=float)
        rng = np.random.default_rng([seed, 5])
        size = np.log(np.sqrt(np.prod(self.boxes[:, 2:], axis=1))) - 4.1
        self.hard = rng.normal(0, 1.2, len(kept)) + rng.normal(0, 0.6, len(self.ids))[self.image]
        self.hard += rng.normal(0, 0.5, len(self.classes))[self.label] - 0.35 * size

    def detect(self, skill: float, seed: list[int], *, total: int = 0, each: int = 0) -> tuple[Any, ...]:
        """Image, label, box and confidence: so many boxes in total, or in each image."""
        rng = np.random.default_rng(seed)
        own = rng.normal(0, 0.7, len(self.image)) + rng.normal(0, 0.25, len(self.classes))[self.label]
        ease = 1.7 + skill - self.hard + own
        found = np.flatnonzero(rng.random(len(ease)) < 1 / (1 + np.exp(-ease)))
        amount = 0.05 * (1 - 0.35 * skill)
        boxes, quality = self.move(self.boxes[found], self.image[found], rng, amount)
        sure = 1 / (1 + np.exp(-(0.4 * ease[found] - 0.5 * (quality - 1) + rng.normal(0, 0.8, len(found)))))
        label = self.label[found].copy()
        wrong = rng.random(len(found)) < 0.035
        label[wrong] = rng.integers(0, len(self.classes), wrong.sum())
        if each:
            have = np.bincount(self.image[found], minlength=len(self.ids))
            where = np.repeat(np.arange(len(self.ids)), np.maximum(each - have, 0))
        else:
            where = rng.integers(0, len(self.ids), total - len(found))
        more = self.imagine(where, rng)
        image = np.concatenate([self.image[found], where])
        columns = [np.concatenate(pair) for pair in zip((label, boxes, sure), more, strict=True)]
        order = np.lexsort((-columns[2], image))
        image, (label, boxes, sure) = image[order], (column[order] for column in columns)
        if each:
            rank = np.arange(len(image)) - np.searchsorted(image, image)
            image, label, boxes, sure = (column[rank < each] for column in (image, label, boxes, sure))
        return image, label, np.round(boxes, 2), np.round(np.clip(sure, 0.001, 0.999), 4)

    def imagine(self, where: Any, rng: np.random.Generator) -> tuple[Any, Any, Any]:
        """False boxes: half of them near an object of the image, with its class more often than not."""
        order = np.argsort(self.image, kind="stable")
        first = np.searchsorted(self.image[order], np.arange(len(self.ids)))
        count = np.bincount(self.image, minlength=len(self.ids))
        at = first[where] + np.floor(rng.random(len(where)) * np.maximum(count[where], 1)).astype(int)
        source = order[np.minimum(at, len(order) - 1)]
        near = (rng.random(len(where)) < 0.5) & (count[where] > 0)
        moved, _ = self.move(self.boxes[source], where, rng, 0.16)
        sides = np.minimum(np.exp(rng.normal(3.9, 1.0, (len(where), 2))), 0.9 * self.limits[where])
        anywhere = np.column_stack([rng.random((len(where), 2)) * (self.limits[where] - sides), sides])
        same = (rng.random(len(where)) < np.where(near, 0.85, 0.55)) & (count[where] > 0)
        label = np.where(same, self.label[source], rng.integers(0, len(self.classes), len(where)))
        sure = np.clip(rng.beta(1, 7, len(where)) * np.where(near, 1.5, 1.1), 0.001, 0.99)
        return label, np.where(near[:, None], moved, anywhere), sure

    def move(self, boxes: Any, image: Any, rng: np.random.Generator, amount: float) -> tuple[Any, Any]:
        quality = np.abs(rng.normal(1, 0.6, len(boxes)))
        centre = boxes[:, :2] + boxes[:, 2:] * (0.5 + rng.normal(0, amount, (len(boxes), 2)) * quality[:, None])
        sides = boxes[:, 2:] * np.exp(rng.normal(0, 1.6 * amount, (len(boxes), 2)) * quality[:, None])
        low = np.clip(centre - sides / 2, 0, self.limits[image] - 1)
        return np.column_stack([low, np.clip(centre + sides / 2, low + 1, self.limits[image]) - low]), quality


def write_detector(path: Path, objects: Objects, columns: tuple[Any, ...]) -> None:
    image, label, boxes, sure = columns
    rows = zip(objects.ids[image].tolist(), objects.classes[label].tolist(), boxes.tolist(), sure.tolist(), strict=True)
    write_records(path, (json.dumps({"image_id": i, "category_id": c, "bbox": b, "score": s}) for i, c, b, s in rows))


def ensure_ten(folder: Path, kind: str, seed: int = SEED) -> list[Path]:
    """The files of the ten detectors, made if they are not there; `kind` is d (44,000 boxes) or f (500,000)."""
    ensure(folder, "coco", seed)
    paths = [folder / f"{kind}{i}.json" for i in range(len(SKILLS))]
    if not all(path.exists() for path in paths):
        objects = Objects(folder / "coco_gt.json", seed)
        for i, (path, skill) in enumerate(zip(paths, SKILLS, strict=True)):
            how = {"total": 44_000} if kind == "d" else {"each": 100}
            write_detector(path, objects, objects.detect(skill, [seed, 99, 2 * i + (kind == "f")], **how))
    return paths


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("bench-data"))
    for which in "df":
        ensure_ten(parser.parse_args().folder, which)
