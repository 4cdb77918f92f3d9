"""Keypoints that are not where or what they should be, and good ones that are left in peace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.checks.boundary import boundary
from tests.formats.samples import sample
from tests.oracles.people import MIRRORED, people
from verite.errors import DataError

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


def codes(truth: Any, results: Any) -> list[str]:
    found = vt.read(truth)
    return [finding.code for finding in vt.inspect(found, vt.read(results, like=found)).findings]


def test_good_poses_are_left_in_peace() -> None:
    assert not [code for code in codes(*poses()) if code.startswith("V42")]


def test_points_outside_of_their_image_are_found() -> None:
    truth, results = poses()
    truth["annotations"][2]["keypoints"][0] = 500.0
    assert "V421" in codes(truth, results)


def test_a_truth_without_any_labelled_point_is_an_error() -> None:
    truth, results = poses()
    for record in truth["annotations"]:
        record["keypoints"][2::3] = [0] * 17
    assert "V422" in codes(truth, results)


def test_objects_with_another_number_of_points_are_found() -> None:
    truth, results = poses()
    truth["annotations"][3]["keypoints"] = truth["annotations"][3]["keypoints"][:48]
    assert "V420" in codes(truth, results)


def test_a_mirrored_order_is_found_also_by_names() -> None:
    truth, results = poses()
    for record in results:
        record["keypoints"] = np.array(record["keypoints"]).reshape(17, 3)[LEFT_FIRST].ravel().tolist()
    assert "V423" in codes(truth, results)
    names = ["nose", *(f"{side}_{i}" for i in range(8) for side in ("left", "right"))]
    truth["categories"][0]["keypoints"] = names
    assert "V423" in codes(truth, results)


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


@boundary("poses.FEWEST")
def test_it_takes_five_poses_to_call_their_order_mirrored() -> None:
    for count, is_told in ((5, True), (4, False)):
        truth, results = poses(count)
        for one in results:
            one["keypoints"] = np.array(one["keypoints"]).reshape(17, 3)[LEFT_FIRST].ravel().tolist()
        assert ("V423" in codes(truth, results)) == is_told


@pytest.mark.slow
def test_a_thousand_healthy_sets_are_left_in_peace() -> None:
    found: dict[str, int] = {}
    for seed in range(1000):
        for code in codes(*people(seed)):
            found[code] = found.get(code, 0) + 1
    assert not {code: count for code, count in found.items() if code.startswith("V42")}


@pytest.mark.thorough
def test_healthy_sets_with_left_and_right_exchanged_are_found() -> None:
    missed = []
    for seed in range(100):
        truth, results = people(seed, 12)
        for record in results:
            record["keypoints"] = np.reshape(record["keypoints"], (17, 3))[MIRRORED].ravel().tolist()
        if "V423" not in codes(truth, results):
            missed.append(seed)
    assert not missed
