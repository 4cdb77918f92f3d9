"""Two boxes in one of two images, as a COCO dictionary, a list of results and the columns of a table."""

from __future__ import annotations

import pytest

import verite as vt

TRUTH = {
    "images": [{"id": 7, "file_name": "pier.jpg", "width": 100, "height": 50}, {"id": 9, "file_name": "fog.jpg"}],
    "categories": [{"id": 3, "name": "boat"}, {"id": 5, "name": "gull"}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 20], "area": 400, "iscrowd": 0},
        {"id": 2, "image_id": 7, "category_id": 5, "bbox": [50, 5, 10, 10], "area": 100, "iscrowd": 0},
    ],
}
RESULTS = [
    {"image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 20], "score": 0.9},
    {"image_id": 7, "category_id": 5, "bbox": [50, 5, 10, 10], "score": 0.5},
]
COLUMNS = {
    "image_id": [7, 7],
    "category_id": [3, 5],
    "x": [10.0, 50.0],
    "y": [10.0, 5.0],
    "width": [20.0, 10.0],
    "height": [20.0, 10.0],
    "score": [0.9, 0.5],
}


def same(read, truth):
    """Two boxes, worked by hand, on the truth's own image and classes."""
    assert read.regions.boxes.tolist() == [[10, 10, 30, 30], [50, 5, 60, 15]]
    assert read.image.tolist() == [0, 0]
    assert read.label.tolist() == [0, 1]
    assert read.labels.names == truth.labels.names
    assert read.confidence.tolist() == [0.9, 0.5]
    assert vt.coco(truth, read).scores["AP"].value == pytest.approx(1)
