"""Boxes, outlines and images that contradict each other are named by inspect."""

from __future__ import annotations

import json

import pytest

import verite as vt
from tests.checks.boundary import boundary


def codes(tmp_path, *boxes, size=(100, 50)):
    """What is found in one image of this width and height."""
    images = [{"id": 1, "width": size[0], "height": size[1], "file_name": "a.jpg"}]
    objects = [{"id": 1 + i, "image_id": 1, "category_id": 1, "area": 20} | box for i, box in enumerate(boxes)]
    document = {"images": images, "categories": [{"id": 1, "name": "cat"}], "annotations": objects}
    (tmp_path / "truth.json").write_text(json.dumps(document))
    return {f.code: f for f in vt.inspect(tmp_path / "truth.json").findings}


def ring(right, bottom):
    return [[0, 0, right, 0, right, bottom, 0, bottom]]


@boundary("outlines.ALIKE")
def test_a_box_agrees_with_its_polygon_from_three_quarters_on(tmp_path):
    box = {"bbox": [0, 0, 40, 40]}
    assert "V112" not in codes(tmp_path, box | {"segmentation": ring(30, 40)})
    found = codes(tmp_path, box | {"segmentation": ring(29.9, 40)})["V112"]
    assert (found.severity, found.count) == ("warning", 1)
    assert found.examples == ("a.jpg, id 1: box 0 0 40 40, bounding box 0 0 29.9 40",)


@boundary("outlines.SLACK")
def test_edges_of_small_objects_may_be_off_by_two_pixels(tmp_path):
    box = {"bbox": [0, 0, 4, 4]}
    assert "V112" not in codes(tmp_path, box | {"segmentation": ring(2, 4)})
    assert "V112" in codes(tmp_path, box | {"segmentation": ring(1.9, 4)})


def test_a_box_is_compared_with_its_mask(tmp_path):
    # Three columns of 50 pixels from the eleventh on.
    mask = {"size": [50, 100], "counts": [500, 150, 4350]}
    assert "V112" not in codes(tmp_path, {"bbox": [10, 0, 3, 50], "segmentation": mask})
    assert "V112" in codes(tmp_path, {"bbox": [10, 0, 9, 50], "segmentation": mask})


def test_a_mask_that_lies_on_its_side_is_named(tmp_path):
    box = {"bbox": [0, 0, 50, 40]}
    assert "V406" not in codes(tmp_path, box | {"segmentation": {"size": [50, 100], "counts": [0, 5000]}})
    assert "V406" in codes(tmp_path, box | {"segmentation": {"size": [100, 50], "counts": [0, 5000]}})
    square = {"size": [50, 50], "counts": [0, 2500]}
    assert "V406" not in codes(tmp_path, box | {"segmentation": square}, size=(50, 50))


def test_a_crowd_of_polygons_an_id_of_zero_and_missing_areas_are_noted(tmp_path):
    crowd = {"bbox": [0, 0, 30, 40], "segmentation": ring(30, 40), "iscrowd": 1}
    assert codes(tmp_path, crowd)["V418"].severity == "note"
    assert "V418" not in codes(tmp_path, crowd | {"iscrowd": 0})
    assert codes(tmp_path, crowd | {"id": 0})["V217"].severity == "note"
    assert "V217" not in codes(tmp_path, crowd)
    document = json.loads((tmp_path / "truth.json").read_text())
    assert "V417" not in [f.code for f in vt.inspect(tmp_path / "truth.json").findings]
    del document["annotations"][0]["area"]
    (tmp_path / "truth.json").write_text(json.dumps(document))
    assert "V417" in [f.code for f in vt.inspect(tmp_path / "truth.json").findings]


def test_evaluations_do_not_read_outlines_to_look_at_them(tmp_path):
    codes(tmp_path, {"bbox": [0, 0, 40, 40], "segmentation": ring(10, 40)})
    truth = vt.read(tmp_path / "truth.json")
    pred = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 40, 40], "score": 0.5}]
    assert vt.coco(truth, pred).findings == ()
    assert vt.coco(truth, pred)["AP"].value == pytest.approx(1)
