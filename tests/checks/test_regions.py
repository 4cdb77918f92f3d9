"""Polygons, masks and keypoints that contradict their boxes or images (V112, V406, V418, V420-V424)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.formats.samples import sample
from tests.oracles.people import MIRRORED, people
from verite.checks.regions import is_inverted
from verite.errors import DataError


def codes(tmp_path, *boxes, size=(100, 50)):
    """What is found in one image of this width and height."""
    images = [{"id": 1, "width": size[0], "height": size[1], "file_name": "a.jpg"}]
    objects = [{"id": 1 + i, "image_id": 1, "category_id": 1, "area": 20} | box for i, box in enumerate(boxes)]
    document = {"images": images, "categories": [{"id": 1, "name": "cat"}], "annotations": objects}
    (tmp_path / "truth.json").write_text(json.dumps(document))
    return {f.code: f for f in vt.inspect(tmp_path / "truth.json").findings}


def ring(right, bottom):
    return [[0, 0, right, 0, right, bottom, 0, bottom]]


def test_a_box_agrees_with_its_polygon_from_three_quarters_on(tmp_path):
    box = {"bbox": [0, 0, 40, 40]}
    assert "V112" not in codes(tmp_path, box | {"segmentation": ring(30, 40)})
    found = codes(tmp_path, box | {"segmentation": ring(29.9, 40)})["V112"]
    assert (found.severity, found.count) == ("warning", 1)
    assert found.examples == ("a.jpg, id 1: box 0 0 40 40, bounding box 0 0 29.9 40",)


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


LEFT_FIRST = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15]  # COCO's points with the sides exchanged


def poses(count: int = 8) -> tuple[Any, list[Any]]:
    """A truth of a few people, one an image, and predictions a pixel off."""
    rng = np.random.default_rng(0)
    images, records, results = [], [], []
    for i in range(1, count + 1):
        points = np.column_stack([100 + 200 * rng.random((17, 2)), np.full(17, 2.0)])
        images.append({"id": i, "file_name": f"{i}.jpg", "width": 400, "height": 400})
        facts = {"image_id": i, "category_id": 1, "bbox": [100, 100, 200, 200]}
        records.append({"id": i, **facts, "area": 40_000, "keypoints": points.ravel().tolist(), "num_keypoints": 17})
        results.append({**facts, "keypoints": (points + np.array([1, 0, 0])).ravel().tolist(), "score": 0.1 + 0.1 * i})
    return {"images": images, "annotations": records, "categories": [{"id": 1, "name": "person"}]}, results


def pose_codes(truth: Any, results: Any) -> list[str]:
    found = vt.read(truth)
    return [finding.code for finding in vt.inspect(found, vt.read(results, like=found)).findings]


def test_good_poses_are_left_in_peace() -> None:
    assert not [code for code in pose_codes(*poses()) if code.startswith("V42")]


def test_points_outside_of_their_image_are_found() -> None:
    truth, results = poses()
    truth["annotations"][2]["keypoints"][0] = 500.0
    assert "V421" in pose_codes(truth, results)


def test_a_ground_truth_without_any_labelled_point_is_an_error() -> None:
    truth, results = poses()
    for record in truth["annotations"]:
        record["keypoints"][2::3] = [0] * 17
    assert "V422" in pose_codes(truth, results)


def test_objects_with_another_number_of_points_are_found() -> None:
    truth, results = poses()
    truth["annotations"][3]["keypoints"] = truth["annotations"][3]["keypoints"][:48]
    assert "V420" in pose_codes(truth, results)


def test_a_mirrored_order_is_found_also_by_names() -> None:
    truth, results = poses()
    for record in results:
        record["keypoints"] = np.array(record["keypoints"]).reshape(17, 3)[LEFT_FIRST].ravel().tolist()
    assert "V423" in pose_codes(truth, results)
    names = ["nose", *(f"{side}_{i}" for i in range(8) for side in ("left", "right"))]
    truth["categories"][0]["keypoints"] = names
    assert "V423" in pose_codes(truth, results)


def test_points_that_are_no_numbers_stop_and_else_find_nothing() -> None:
    truth, results = poses()
    results[0]["keypoints"][0] = float("nan")
    found = vt.read(truth)
    pred = vt.read(results, like=found)
    with pytest.raises(DataError, match="V424"):
        vt.coco(found, pred, on="keypoints")
    assert vt.coco(found, pred, on="keypoints", checks="warn").scores["AR"].value == pytest.approx(7 / 8)


def test_yolo_poses_are_read_as_poses(tmp_path: Path) -> None:
    good = vt.read(sample("yolo_pose", "good"), image_size=(100, 200))
    assert good.source.format == "yolo-pose"
    assert good.confidence is None
    assert good.regions.keypoints is not None
    assert good.regions.keypoints[0].tolist() == [[45.0, 80.0, 2.0], [0.0, 0.0, 0.0]]
    (tmp_path / "a.txt").write_text("0 0.5 0.5 0.2 0.4 0.45 0.4 0.9 0.1 0.2 0.3 0.75\n")
    pred = vt.read(tmp_path, like=good)  # as many points as the truth has, then the confidence
    assert pred.confidence.tolist() == [0.75]
    assert pred.regions.keypoints[0].tolist() == [[45.0, 80.0, 0.9], [10.0, 40.0, 0.3]]
    vt.write(good, tmp_path / "out", "yolo-pose")
    assert "kpt_shape: [2, 3]" in (tmp_path / "out" / "data.yaml").read_text()
    again = vt.read(tmp_path / "out", image_size=(100, 200))
    assert np.allclose(again.regions.keypoints.points, good.regions.keypoints.points)
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "a.txt").write_text("0 0.5 0.5 0.2 0.4 0.45 0.4 2 0.1 0.2 1\n")  # nobody says how many: a 2 betrays them
    assert vt.read(bare).regions.has_keypoints


@pytest.mark.parametrize("shape", ["kpt_shape: [3, 2]", "kpt_shape:\n  - 3\n  - 2\n", "kpt_shape: (3, 2)  # x, y"])
def test_yolo_poses_of_two_numbers_a_point_go_and_come(tmp_path: Path, shape: str) -> None:
    (tmp_path / "labels").mkdir()
    (tmp_path / "data.yaml").write_text(f"{shape}\nnames: [hand]\n")
    # A coordinate below zero is Ultralytics' way to say that a point is not known.
    (tmp_path / "labels" / "a.txt").write_text("0 0.5 0.5 0.4 0.4 0.4 0.5 -1 -1 0 0\n")
    truth = vt.read(tmp_path, image_size=(100, 200))
    assert truth.regions.keypoints[0].tolist() == [[40.0, 100.0, 2.0], [-100.0, -200.0, 0.0], [0.0, 0.0, 2.0]]
    vt.write(truth, tmp_path / "again", "yolo-pose")
    again = vt.read(tmp_path / "again", image_size=(100, 200))
    assert np.array_equal(again.regions.keypoints.points, truth.regions.keypoints.points)
    vt.write(truth, tmp_path / "truth.json", "coco")
    assert np.array_equal(vt.read(tmp_path / "truth.json").regions.keypoints.points, truth.regions.keypoints.points)
    (tmp_path / "found").mkdir()
    (tmp_path / "found" / "a.txt").write_text("0 0.5 0.5 0.4 0.4 0.4 0.5 0.1 0.1 0 0 0.75\n")
    pred = vt.read(tmp_path / "found", like=truth)
    assert pred.confidence.tolist() == [0.75]
    results = vt.coco(truth, pred, on="keypoints", sigmas=[0.1, 0.1, 0.1])
    assert results["AP"].value == pytest.approx(1.0)


def test_it_takes_five_poses_to_call_their_order_mirrored() -> None:
    for count, is_told in ((5, True), (4, False)):
        truth, results = poses(count)
        for one in results:
            one["keypoints"] = np.array(one["keypoints"]).reshape(17, 3)[LEFT_FIRST].ravel().tolist()
        assert ("V423" in pose_codes(truth, results)) == is_told


@pytest.mark.slow
def test_a_thousand_healthy_sets_are_left_in_peace() -> None:
    found: dict[str, int] = {}
    for seed in range(1000):
        for code in pose_codes(*people(seed)):
            found[code] = found.get(code, 0) + 1
    assert not {code: count for code, count in found.items() if code.startswith("V42")}


@pytest.mark.thorough
def test_healthy_sets_with_left_and_right_swapped_are_found() -> None:
    missed = []
    for seed in range(100):
        truth, results = people(seed, 12)
        for record in results:
            record["keypoints"] = np.reshape(record["keypoints"], (17, 3))[MIRRORED].ravel().tolist()
        if "V423" not in pose_codes(truth, results):
            missed.append(seed)
    assert not missed


@pytest.mark.parametrize(
    ("truth", "pred", "shared", "expected"),
    [
        (40, 60, 0, True),  # the background, 40 pixels of 100, is the object: IoU 0 and 1
        (31, 40, 0, True),  # background 60, of which 31: 31 / 60 = 0.517
        (30, 40, 0, False),  # 30 / 60 = 0.5
        (55, 54, 9, True),  # foreground 9 / 100 = 0.09, background 46 / 55
        (55, 55, 10, False),  # foreground 10 / 100 = 0.1
        (0, 60, 0, False),
        (40, 0, 0, False),
    ],
)
def test_a_mask_is_inverted_where_its_background_matches(truth, pred, shared, expected):
    """IoU of the object with the foreground below 0.1, with the background above 0.5, in an image of 100 pixels."""
    assert is_inverted(truth, pred, shared, 100) is expected
