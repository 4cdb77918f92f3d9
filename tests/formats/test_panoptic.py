"""COCO panoptic files: written, read, and their image sizes."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
from PIL import Image

import verite as vt
from tests.formats.samples import refused
from tests.panoptic_files import write_side
from verite.formats.format import Options
from verite.formats.panoptic import size_in_truth

PIXELS = [[7, 7, 300], [7, 0, 300]]


def test_panoptic_files_are_written_with_their_segments(tmp_path):
    segments = {7: (1, False), 300: (2, True)}
    side = vt.read(write_side(tmp_path, "truth", {4: (PIXELS, segments)}))
    vt.write(side, tmp_path / "again.json", "panoptic")
    document = json.loads((tmp_path / "again.json").read_text())
    assert document["images"] == [{"id": 4, "file_name": "4.jpg", "width": 3, "height": 2}]
    (record,) = document["annotations"]
    assert (record["image_id"], record["file_name"]) == (4, "4.png")
    assert record["segments_info"] == [
        {"id": 1, "category_id": 1, "area": 3, "bbox": [0, 0, 2, 2], "iscrowd": 0},
        {"id": 2, "category_id": 2, "area": 2, "bbox": [2, 0, 1, 2], "iscrowd": 1},
    ]
    assert [(c["id"], c["name"], c["isthing"]) for c in document["categories"]][:2] == [(1, "sky", 0), (2, "cat", 1)]
    with Image.open(tmp_path / "again" / "4.png") as image:
        assert np.asarray(image)[..., 0].tolist() == [[1, 1, 2], [1, 0, 2]]


def test_only_masks_are_written_as_segments(tmp_path):
    assert "expected a mask for every object, found boxes or polygons" in refused(
        vt.write, vt.Annotations.of(["a"], ["x"], [[0, 0, 1, 1]]), tmp_path / "a.json", "panoptic"
    )


def test_every_image_of_a_panoptic_truth_needs_a_prediction(tmp_path):
    both = {4: (PIXELS, {7: (1, False), 300: (2, False)}), 5: (PIXELS, {7: (1, False), 300: (2, False)})}
    side = vt.read(write_side(tmp_path, "truth", both))
    pred = write_side(tmp_path, "pred", {4: (PIXELS, {7: (1, False), 300: (2, False)})}, is_truth=False)
    assert (
        "expected an annotation for every image of the ground truth, found none for 1 of 2, the first is image 5"
        in refused(vt.read, pred, like=side)
    )
    whole = vt.read(write_side(tmp_path, "whole", both, is_truth=False), like=side)
    assert (len(whole), whole.images.widths.tolist()) == (4, [3, 3])


def test_sizes_of_panoptic_images_are_the_truths():
    images = vt.Annotations.of(["a", "b"], ["cat"] * 2, [[0, 0, 1, 1]] * 2, sizes={"a": (4, 3), "b": (6, 5)}).images
    truth = SimpleNamespace(images=images)
    assert size_in_truth(images, 1, Options()) == (0, 0)
    assert size_in_truth(images, 1, Options(like=truth)) == (6, 5)
