"""Sides of a few objects, and what is found in them."""

from __future__ import annotations

import json

import verite as vt
from verite.checks import examine

BOX = [10.0, 20, 40, 60]


def side(names, labels=None, boxes=None, **more):
    labels = labels or ["cat"] * len(names)
    boxes = boxes if boxes is not None else [[10.0 + 3 * i, 20, 40 + 3 * i, 60] for i in range(len(names))]
    return vt.Annotations.of(names, labels, boxes, **more)


def told(annotations, *, is_truth):
    return {f.code: f for f in examine(annotations, is_truth=is_truth, notes=True)}


def told_of(truth, pred):
    return {f.code: f for f in vt.inspect(truth, pred).findings}


def coco(tmp_path, *objects, name="truth.json", **more):
    """A truth of two images of 100 x 50."""
    pictures = [{"id": i, "width": 100, "height": 50, "file_name": f"{'ab'[i - 1]}.jpg"} for i in (1, 2)]
    records = [
        {"id": 1 + i, "image_id": 1, "category_id": 1, "area": 20, "bbox": [1 + i, 2, 3, 4]} | one
        for i, one in enumerate(objects)
    ]
    document = {"images": pictures, "categories": [{"id": 1, "name": "cat"}], "annotations": records} | more
    (tmp_path / name).write_text(json.dumps(document))
    return {f.code: f for f in vt.inspect(tmp_path / name).findings}
