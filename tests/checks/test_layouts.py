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


def test_it_takes_five_boxes_a_tenth_outside_and_all_inside_otherwise():
    boxes = corners(20)
    assert "V114" in codes(boxes)
    assert "V114" in codes(boxes[:5])
    assert "V114" not in codes(boxes[:4])
    one_small = boxes.copy()
    one_small[3] = [200, 100, 50, 40]  # no corners
    assert "V114" not in codes(one_small)
    small = np.tile([[10.0, 10, 30, 30]], (18, 1)) + np.arange(18)[:, None]
    assert "V114" in codes(np.concatenate([small, boxes[:2]]))  # two of twenty are a tenth
    assert "V114" not in codes(np.concatenate([small, small + 20, boxes[:2]]))


def test_corners_fit_an_image_that_they_leave_by_a_tenth():
    boxes = corners(20)
    boxes[0, 2], boxes[1, 3], boxes[2] = 704, 528, [-64, -48, 600, 400]
    assert "V114" in codes(boxes)
    for row, column, value in ((0, 2, 704.1), (1, 3, 528.1), (2, 0, -64.1), (2, 1, -48.1)):
        changed = boxes.copy()
        changed[row, column] = value
        assert "V114" not in codes(changed)


def test_twelve_detections_of_corners_do_not_pass_beside_a_truth_that_knows_its_images(tmp_path):
    """The layout of a known toy example: class names, confidences, absolute corners; VOC files as the truth."""
    rng = np.random.default_rng(3)
    for i in range(12):
        x, y = rng.integers(20, 200, 2)
        w, h = rng.integers(220, 280, 2)
        box = "".join(
            f"<{k}>{v}</{k}>" for k, v in zip(("xmin", "ymin", "xmax", "ymax"), (x, y, x + w, y + h), strict=True)
        )
        size = "<size><width>500</width><height>500</height><depth>3</depth></size>"
        text = f"<annotation>{size}<object><name>cat</name><bndbox>{box}</bndbox></object></annotation>"
        (tmp_path / "truth").mkdir(exist_ok=True)
        (tmp_path / "truth" / f"{i}.xml").write_text(text)
        (tmp_path / "pred").mkdir(exist_ok=True)
        (tmp_path / "pred" / f"{i}.txt").write_text(f"cat 0.{90 - i} {x + 3} {y - 2} {x + w - 4} {y + h + 3}\n")
    truth = vt.read(tmp_path / "truth")
    with pytest.raises(vt.DataError, match=r"(V101|V114) the predictions' boxes .*read it with boxes=.xyxy"):
        vt.voc(truth, vt.read(tmp_path / "pred", like=truth))
    assert vt.voc(truth, vt.read(tmp_path / "pred", like=truth, boxes="xyxy")).scores["mAP"].value == 1


def test_confidence_at_the_end_of_the_line_is_taken_from_there_and_said(tmp_path):
    def read(*lines):
        (tmp_path / "a.txt").write_text("\n".join(lines))
        return vt.read(tmp_path)

    behind = read("cat 12 44 344 481 0.94", "dog 0 20 40 43 1.0", "cat 7 9 20 30 0")
    assert behind.confidence.tolist() == [0.94, 1.0, 0.0]
    assert behind.regions.values.tolist() == [[12, 44, 344, 481], [0, 20, 40, 43], [7, 9, 20, 30]]
    assert "confidence taken from the end of the line" in behind.source.why
    before = read("cat 2.0 12 44 344 481", "dog 2.0 1 20 40 43")  # nothing else could be one
    assert before.confidence.tolist() == [2.0, 2.0]
    half = read("cat 12 44 344 481 0.94", "cat 0.5 44 344 481 0.94")
    assert half.confidence.tolist() == [12, 0.5]


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
