"""Evidence decides layouts: where one reading fits every line and the other cannot be, nobody gets a number."""

from __future__ import annotations

import json

import numpy as np
import pytest

import verite as vt
from verite.checks import examine


def corners(count, seed=1):
    """Boxes in images of 640 x 480, as corners; the first ones beyond the middle, so that x1 + x2 leaves the image."""
    rng = np.random.default_rng(seed)
    at = rng.uniform([360, 260], [500, 380], (count, 2))
    return np.round(np.concatenate([at, at + rng.uniform(20, 90, (count, 2))], axis=1), 1)


def documents(tmp_path, boxes):
    truth = {
        "images": [{"id": 1, "width": 640, "height": 480}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {"id": i + 1, "image_id": 1, "category_id": 1, "bbox": b} for i, b in enumerate(boxes.tolist())
        ],
    }
    results = [
        {"image_id": 1, "category_id": 1, "bbox": b, "score": (i + 1) / 100} for i, b in enumerate(boxes.tolist())
    ]
    for name, document in (("truth", truth), ("pred", results)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    return tmp_path / "truth.json", tmp_path / "pred.json"


def test_corners_on_both_sides_are_stopped_by_the_size_of_the_images(tmp_path):
    truth_path, pred_path = documents(tmp_path, corners(30))
    truth = vt.read(truth_path)
    with pytest.raises(vt.DataError, match=r"V114 the predictions' boxes cannot be left, top, width, height: 30 of 30"):
        vt.coco(truth, vt.read(pred_path, like=truth))
    mended = vt.read(truth_path, boxes="xyxy")
    results = vt.coco(mended, vt.read(pred_path, like=mended, boxes="xyxy"))
    assert results.scores["AP"].value == pytest.approx(1.0)
    assert results.findings == ()


def codes(boxes):
    names = ["a"] * len(boxes)
    truth = vt.Annotations.of(names, ["cat"] * len(boxes), boxes, "xywh", sizes={"a": (640, 480)})
    return [finding.code for finding in examine(truth, is_truth=True)]


def test_it_takes_twenty_boxes_a_tenth_outside_and_all_inside_otherwise():
    boxes = corners(20)
    assert "V114" in codes(boxes)
    assert "V114" not in codes(boxes[:19])
    one_small = boxes.copy()
    one_small[3] = [200, 100, 50, 40]  # no corners
    assert "V114" not in codes(one_small)
    small = np.tile([[10.0, 10, 30, 30]], (18, 1)) + np.arange(18)[:, None]
    assert "V114" in codes(np.concatenate([small, boxes[:2]]))  # two of twenty are a tenth
    assert "V114" not in codes(np.concatenate([small, small + 20, boxes[:2]]))


def test_text_folders_of_corners_are_stopped(tmp_path):
    boxes = corners(25).astype(int).tolist()
    for side, confidence in (("truth", ""), ("pred", "0.5 ")):
        (tmp_path / side).mkdir()
        lines = [f"cat {confidence}{' '.join(map(str, box))}" for box in boxes]
        (tmp_path / side / "a.txt").write_text("\n".join(lines))
    truth = vt.read(tmp_path / "truth")
    with pytest.raises(vt.DataError, match=r"V101 the boxes of both sides look like corners.*--truth-boxes xyxy"):
        vt.voc(truth, vt.read(tmp_path / "pred", like=truth))
    said = vt.read(tmp_path / "truth", boxes="xywh")
    assert vt.voc(said, vt.read(tmp_path / "pred", like=said, boxes="xywh")).scores["mAP"].value > 0
