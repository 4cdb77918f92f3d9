"""Corners read as width and height: one side or both, with and without image sizes (V101, V114)."""

from __future__ import annotations

import json

import numpy as np
import pytest

import verite as vt
from tests.checks.test_evidence import like_corners
from verite.checks import boxes, examine
from verite.checks.boxes import fit_both_readings
from verite.cli import run
from verite.model.annotations import Source


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


def test_twelve_detections_of_corners_do_not_pass_beside_a_ground_truth_that_knows_its_images(tmp_path):
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


def test_text_folders_of_corners_are_stopped(tmp_path, capsys):
    boxes = corners(25).astype(int).tolist()
    for side, confidence in (("truth", ""), ("pred", "0.5 ")):
        (tmp_path / side).mkdir()
        lines = [f"cat {confidence}{' '.join(map(str, box))}" for box in boxes]
        (tmp_path / side / "a.txt").write_text("\n".join(lines))
    truth = vt.read(tmp_path / "truth")
    with pytest.raises(vt.DataError, match=r"V101 the boxes of both sides look like corners.*boxes=.xyxy"):
        vt.voc(truth, vt.read(tmp_path / "pred", like=truth))
    assert run(["voc", str(tmp_path / "truth"), str(tmp_path / "pred")]) == 1
    assert "--truth-boxes xyxy --pred-boxes xyxy" in capsys.readouterr().err
    said = vt.read(tmp_path / "truth", boxes="xywh")
    assert vt.voc(said, vt.read(tmp_path / "pred", like=said, boxes="xywh")).scores["mAP"].value > 0


THREE = ((10, 20, 60, 70), (50, 10, 90, 80), (5, 60, 30, 95))  # corners within 100 x 100; as sizes they reach to 155


def text_sides(tmp_path, boxes):
    for side, confidence in (("truth", ""), ("pred", "0.5 ")):
        (tmp_path / side).mkdir(parents=True)
        lines = [f"cat {confidence}{' '.join(map(str, box))}" for box in boxes]
        (tmp_path / side / "a.txt").write_text("\n".join(lines))
    return tmp_path / "truth", tmp_path / "pred"


@pytest.mark.parametrize("command", ["coco", "voc", "inspect"])
def test_a_few_boxes_that_may_be_corners_are_named_by_every_command(tmp_path, capsys, command):
    assert run([command, *map(str, text_sides(tmp_path, THREE))]) == 0
    out, err = capsys.readouterr()
    said = next(line for line in (out + err).splitlines() if "V101" in line)
    assert "in all 6 lines" in said
    assert "--truth-boxes xyxy --pred-boxes xyxy, or --truth-boxes xywh --pred-boxes xywh" in said


@pytest.mark.parametrize("evaluate", [vt.coco, vt.voc, vt.inspect])
def test_a_few_boxes_that_may_be_corners_are_named_in_python(tmp_path, evaluate):
    found = [finding for finding in evaluate(*text_sides(tmp_path, THREE)).findings if finding.code == "V101"]
    assert [finding.severity for finding in found] == ["warning"]
    assert 'boxes="xyxy" for both sides, or boxes="xywh" for both sides' in found[0].remedy


def test_boxes_of_one_reading_are_not_named(tmp_path):
    def codes(name, numbers, **options):
        truth, pred = text_sides(tmp_path / name, numbers)
        known = vt.read(truth, **options)
        return {finding.code for finding in vt.inspect(known, vt.read(pred, known, **options)).findings}

    assert "V101" in codes("corners", THREE)
    assert "V101" not in codes("said", THREE, boxes="xywh")
    assert "V101" not in codes("sized", THREE, image_size=(160, 160))  # they stay in their image
    assert "V101" not in codes("one is wide", (*THREE[:2], (50, 60, 40, 95)))
    assert "V101" not in codes("large objects", ((10, 10, 70, 70), (15, 5, 75, 80), (12, 8, 80, 70)))  # to 92 of 80


def test_three_objects_may_fit_two_readings(tmp_path):
    for count, is_told in ((2, False), (3, True)):
        truth = vt.read(text_sides(tmp_path / str(count), THREE[:count])[0])
        assert fit_both_readings(truth, truth) == is_told


def test_boxes_that_reach_a_quarter_farther_leave_a_plausible_image(tmp_path):
    for left, is_told in ((25, False), (26, True)):  # 125 and 126 for 100
        boxes = ((0, 0, 100, 100), (0, 0, 90, 90), (left, 0, 100, 100))
        truth = vt.read(text_sides(tmp_path / str(left), boxes)[0])
        assert fit_both_readings(truth, truth) == is_told


def test_objects_that_fill_images_of_many_sizes_are_not_named(tmp_path):
    """Their widths correlate with their left edges, but none begins farther from the origin than it is wide."""
    boxes = [
        (side // 20 + side % 7, side // 25 + side % 5, side * 4 // 5, side * 3 // 4) for side in range(200, 2600, 80)
    ]
    truth, pred = text_sides(tmp_path / "huge", boxes)
    codes = {finding.code for finding in vt.inspect(vt.read(truth), vt.read(pred)).findings}
    assert "V101" not in codes
    # Somewhere in images of 600 to 760 pixels, three quarters as wide and as high: they end a third farther.
    far = [(60 * i % 19 * 10, 70 * i % 19 * 10, 3 * (150 + i), 3 * (150 + i)) for i in range(41)]
    truth, pred = text_sides(tmp_path / "far", far)
    codes = {finding.code for finding in vt.inspect(vt.read(truth), vt.read(pred)).findings}
    assert "V101" not in codes
    corners = [
        (left * 12, top * 12, left * 12 + width // 4, top * 12 + height // 4) for left, top, width, height in boxes
    ]
    truth, pred = text_sides(tmp_path / "corners", corners)
    assert "V101" in {finding.code for finding in vt.inspect(vt.read(truth), vt.read(pred)).findings}


def json_sides(tmp_path, boxes, **image):
    """COCO's ground truth and results with these boxes on both sides."""
    images, categories = [{"id": 1, "file_name": "a.jpg", **image}], [{"id": 1, "name": "cat"}]
    objects = [{"id": i, "image_id": 1, "category_id": 1, "bbox": box} for i, box in enumerate(boxes, start=1)]
    tmp_path.mkdir(parents=True, exist_ok=True)
    for name, document in (
        ("truth", {"images": images, "categories": categories, "annotations": objects}),
        ("pred", [{"image_id": 1, "category_id": 1, "bbox": box, "score": 0.5} for box in boxes]),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    return tmp_path / "truth.json", tmp_path / "pred.json"


def codes_read(truth, pred, **options):
    known = vt.read(truth, **options)
    return {finding.code for finding in vt.coco(known, vt.read(pred, known, **options), checks="warn").findings}


def test_json_without_sizes_that_may_be_corners_is_named_unless_the_layout_is_given(tmp_path):
    sides = json_sides(tmp_path / "json", THREE)
    assert "V101" in codes_read(*sides)
    for layout in ("xywh", "xyxy"):
        assert "V101" not in codes_read(*sides, boxes=layout)
    assert "V101" not in codes_read(*json_sides(tmp_path / "sized", THREE, width=160, height=160))
    assert "V101" not in codes_read(*json_sides(tmp_path / "wide", (*THREE[:2], (50, 60, 40, 95))))


def test_tables_without_sizes_that_may_be_corners_are_named(tmp_path):
    for name, head, tail in (("truth", "", ""), ("pred", ",score", ",0.5")):
        lines = [f"a.jpg,cat,{','.join(map(str, box))}{tail}" for box in THREE]
        (tmp_path / f"{name}.csv").write_text("\n".join([f"image,label,x,y,width,height{head}", *lines]) + "\n")
    assert "V101" in codes_read(tmp_path / "truth.csv", tmp_path / "pred.csv")


@pytest.mark.parametrize("count", [3, 30])
def test_fractions_on_both_sides_are_named_however_well_they_fit(tmp_path, count):
    values = np.random.default_rng(1).uniform(0.05, 0.4, (count, 4)).round(4).tolist()
    truth, pred = json_sides(tmp_path, values)
    found = vt.voc(truth, pred, checks="warn").findings
    assert [finding.severity for finding in found if finding.code == "V103"] == ["warning"]


def text_folder(values, confidence=None):
    names = [f"{i}" for i in range(len(values))]
    source = Source("x", "text", "numbers taken as left, top, width and height, the default")
    made = vt.Annotations.of(names, ["cat"] * len(values), values, "xywh", confidence=confidence)
    return made.with_source(source)


def test_corners_on_one_side_alone_are_not_reported_of_both():
    corners, widths = like_corners(20, 10), np.tile([50.0, 60, 20, 30], (20, 1))
    sure = np.linspace(0, 1, 20)
    assert list(boxes.corners_on_both_sides(text_folder(corners), text_folder(corners, sure)))
    assert not list(boxes.corners_on_both_sides(text_folder(widths), text_folder(corners, sure)))
    assert not list(boxes.corners_on_both_sides(text_folder(corners), text_folder(widths, sure)))
    (found,) = boxes.corners_on_both_sides(text_folder(corners), text_folder(corners, sure))
    assert (found.code, found.count, len(found.examples)) == ("V101", 40, 5)
    assert "all 40 lines" in found.message
