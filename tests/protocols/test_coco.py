"""COCO's numbers worked out by hand, and everything a user may ask for beside the standard."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.coco_sets import random_mask_set, random_set
from verite import BadParameter, DataError
from verite.protocols.coco import RECALLS, THRESHOLDS

# A perfect match divides 1 by 1 + 2^-52.
ALMOST_ONE = 1 / (1 + 2**-52)


def sides(truths: list[tuple[Any, ...]], preds: list[tuple[Any, ...]]) -> tuple[vt.Annotations, vt.Annotations]:
    """(image, label, box) and (image, label, box, confidence)."""
    truth = vt.Annotations.of(*([t[i] for t in truths] for i in range(3)))
    columns = [[p[i] for p in preds] for i in range(4)]
    pred = vt.Annotations.of(*columns[:3], confidence=columns[3])
    return truth, pred


def documents(folder: Path, seed: int, on: str = "box") -> tuple[vt.Annotations, vt.Annotations]:
    truth, results = random_set(seed) if on == "box" else random_mask_set(seed)
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "pred.json").write_text(json.dumps(results))
    found = vt.read(folder / "truth.json")
    return found, vt.read(folder / "pred.json", like=found)


BOX, HALF = [0, 0, 10, 10], [0, 0, 10, 5]  # an overlap of 1/2


def test_thresholds_and_recalls_are_the_references_to_the_last_bit() -> None:
    """pycocotools says `np.linspace(.5, 0.95, 10)` and `np.linspace(.0, 1.00, 101)`."""
    assert np.array(THRESHOLDS).tobytes() == np.linspace(0.5, 0.95, 10).tobytes()
    assert np.array(RECALLS).tobytes() == np.linspace(0.0, 1.0, 101).tobytes()
    assert THRESHOLDS[8] == 0.8999999999999999


def test_a_half_overlap_counts_at_the_lowest_threshold_alone() -> None:
    results = vt.coco(*sides([("a", "cat", BOX)], [("a", "cat", HALF, 0.9)]))
    assert results.scores["AP50"].value == pytest.approx(ALMOST_ONE, rel=1e-15)
    assert results.scores["AP75"].value == 0
    assert results.scores["AP"].value == pytest.approx(0.1, rel=1e-14)
    assert results.scores["AR100"].value == pytest.approx(0.1, rel=1e-14)


def test_a_truth_out_of_two_is_found_up_to_half_the_recalls() -> None:
    """51 of the 101 recalls are at most one half."""
    results = vt.coco(*sides([("a", "cat", BOX), ("a", "cat", [50, 50, 60, 60])], [("a", "cat", BOX, 0.9)]))
    assert results.scores["AP"].value == pytest.approx(51 / 101, rel=1e-14)
    assert results.scores["AR100"].value == 0.5


def test_areas_without_truth_are_absent_and_not_minus_one() -> None:
    results = vt.coco(*sides([("a", "cat", BOX)], [("a", "cat", BOX, 0.9)]))
    assert np.isnan(results.scores["APl"].value)
    document = json.loads(results.to_json())
    assert document["APl"] is None
    assert document["APs"] == pytest.approx(1)


def test_an_area_on_a_limit_belongs_to_both_ranges() -> None:
    square = [0, 0, 32, 32]
    results = vt.coco(*sides([("a", "cat", square)], [("a", "cat", square, 0.9)]))
    assert results.scores["APs"].value == results.scores["APm"].value == pytest.approx(1)


def test_ap_follows_the_largest_number_of_predictions_that_was_asked_for() -> None:
    truths = [("a", "cat", [20 * i, 0, 20 * i + 10, 10]) for i in range(3)]
    preds = [(*truth, 0.9 - 0.1 * i) for i, truth in enumerate(truths)]
    results = vt.coco(*sides(truths, preds), max_dets=[1, 2])
    # Two of three are found: 67 of the 101 recalls are at most 2/3.
    assert results.scores["AP"].value == pytest.approx(67 / 101, rel=1e-14)
    assert results.scores["AR1"].value == pytest.approx(1 / 3)
    assert results.scores["AR2"].value == pytest.approx(2 / 3)
    assert "AR100" not in results.scores


def test_own_thresholds_and_areas_name_their_scores() -> None:
    areas = {"all": (0, 1e10), "tiny": (0, 64)}
    results = vt.coco(*sides([("a", "cat", BOX)], [("a", "cat", HALF, 0.9)]), iou=[0.3, 0.6], areas=areas)
    assert list(results.scores) == ["AP", "AP50", "AP75", "APtiny", "AR1", "AR10", "AR100", "ARtiny"]
    assert results.scores["AP"].value == pytest.approx(0.5)
    assert np.isnan(results.scores["AP50"].value)
    assert "tiny=0..64" in str(results.signature)
    assert [row[1] for row in results.threshold_table().rows] == [pytest.approx(1), 0]


def test_an_explicit_ignore_counts_when_asked_for() -> None:
    truth, pred = sides([("a", "cat", BOX), ("a", "cat", [50, 50, 60, 60])], [("a", "cat", BOX, 0.9)])
    flagged = vt.Annotations(
        images=truth.images, labels=truth.labels, image=truth.image, label=truth.label, regions=truth.regions,
        flags={"ignore": np.array([False, True])},
    )  # fmt: skip
    assert vt.coco(flagged, pred).scores["AR100"].value == 0.5
    assert vt.coco(flagged, pred, ignored="explicit").scores["AR100"].value == 1


def test_a_crowd_neither_rewards_nor_punishes() -> None:
    truth, pred = sides(
        [("a", "cat", BOX), ("a", "cat", [50, 50, 90, 90])],
        [("a", "cat", [50, 50, 60, 60], 0.9), ("a", "cat", [60, 60, 70, 70], 0.8), ("a", "cat", BOX, 0.7)],
    )
    crowd = vt.Annotations(
        images=truth.images, labels=truth.labels, image=truth.image, label=truth.label, regions=truth.regions,
        flags={"crowd": np.array([False, True])},
    )  # fmt: skip
    assert vt.coco(crowd, pred).scores["AP"].value == pytest.approx(ALMOST_ONE, rel=1e-15)
    assert vt.coco(truth, pred).scores["AP"].value < 0.5


def test_class_agnostic_asks_only_where_objects_are() -> None:
    truth, pred = sides([("a", "cat", BOX), ("a", "dog", [50, 50, 60, 60])], [("a", "dog", BOX, 0.9)])
    assert vt.coco(truth, pred).scores["AP"].value == 0
    together = vt.coco(truth, pred, class_agnostic=True)
    assert together.scores["AP"].value == pytest.approx(51 / 101, rel=1e-14)
    assert together.class_names == ["all classes"]


def test_some_classes_alone() -> None:
    truth, pred = sides(
        [("a", "cat", BOX), ("a", "dog", [50, 50, 60, 60])], [("a", "cat", BOX, 0.9), ("a", "dog", BOX, 0.9)]
    )
    assert vt.coco(truth, pred, labels=["cat"]).scores["AP"].value == pytest.approx(1)


def test_each_image_is_evaluated_as_if_alone() -> None:
    truth, pred = sides(
        [("a", "cat", BOX), ("b", "cat", BOX), ("b", "cat", [50, 50, 60, 60])],
        [("a", "cat", BOX, 0.9), ("b", "cat", BOX, 0.8), ("b", "cat", [80, 80, 90, 90], 0.7)],
    )
    rows = {row[0]: row[1:] for row in vt.coco(truth, pred, per="image").image_table().rows}
    assert rows["a"] == (pytest.approx(1), 1, 1, 0, 0)
    assert rows["b"] == (pytest.approx(51 / 101, rel=1e-14), 2, 1, 1, 1)


def test_image_scores_are_those_of_the_image_evaluated_by_itself(tmp_path: Path) -> None:
    truth, pred = documents(tmp_path, 8)
    rows = {row[0]: row[1] for row in vt.coco(truth, pred, per="image", checks="off").image_table().rows}
    for i in range(len(truth.images)):
        alone = truth.take(np.flatnonzero(truth.image == i)), pred.take(np.flatnonzero(pred.image == i))
        expected = vt.coco(*alone, checks="off").scores["AP"].value
        assert rows[truth.images.name(i)] == pytest.approx(expected, nan_ok=True, rel=1e-12)


def test_the_document_has_the_keys_others_rely_on(tmp_path: Path) -> None:
    document = json.loads(vt.coco(*documents(tmp_path, 3), checks="off").to_json())
    twelve = ["AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"]
    assert {"protocol", "signature", "classes", *twelve} <= set(document)
    assert all({"AP", "AP50"} <= set(values) for values in document["classes"].values())


@pytest.mark.parametrize("on", ["box", "mask", "boundary"])
def test_results_are_the_same_bytes_for_any_number_of_threads(tmp_path: Path, on: Any) -> None:
    truth, pred = documents(tmp_path, 12, on)
    answers = set()
    for threads in (1, 2, 3, 7):
        results = vt.coco(truth, pred, on=on, checks="off", threads=threads, per="image")
        arrays = results.arrays
        answers.add((results.to_json(), arrays.precision.tobytes(), arrays.recall.tobytes(), arrays.scores.tobytes()))
    assert len(answers) == 1


def test_no_predictions_at_all_is_a_result(tmp_path: Path) -> None:
    truth, _ = documents(tmp_path, 3)
    (tmp_path / "none.json").write_text("[]")
    results = vt.coco(truth, vt.read(tmp_path / "none.json", like=truth), checks="off")
    assert results.scores["AP"].value == results.scores["AR100"].value == 0
    assert results.arrays.precision.shape == (10, 101, len(truth.labels), 4, 3)


def test_no_truth_at_all_is_absent(tmp_path: Path) -> None:
    truth, pred = sides([("a", "cat", BOX)], [("a", "cat", BOX, 0.9)])
    empty = truth.take(np.empty(0, dtype=np.int64))
    assert all(np.isnan(score.value) for score in vt.coco(empty, pred, checks="off").scores.values())


def test_a_prediction_on_an_unknown_image_is_an_error() -> None:
    truth, pred = sides([("a", "cat", BOX)], [("b", "cat", BOX, 0.9)])
    with pytest.raises(DataError, match="expected images of the ground truth, found 'b'"):
        vt.coco(truth, pred, checks="off")


def test_masks_are_asked_of_truths_that_have_them() -> None:
    truth, pred = sides([("a", "cat", BOX)], [("a", "cat", BOX, 0.9)])
    with pytest.raises(DataError, match="expected a polygon or mask for every object, found 1 of 1 without"):
        vt.coco(truth, pred, on="mask")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"on": "bboxes"},
            "on: expected box, mask, boundary, keypoints, rotated or point, found 'bboxes'; did you mean 'box'",
        ),
        ({"iou": [0.5, 1.5]}, "iou: expected a threshold above 0 and up to 1, found 1.5"),
        ({"iou": []}, "iou: expected 1 to 64 thresholds, found none"),
        ({"areas": {"all": (5, 1)}}, "areas: expected 'all' to rise, found 5 to 1"),
        ({"max_dets": [0]}, "max_dets: expected a whole number from 1 up, found 0"),
        ({"per": "picture"}, "per: expected class, threshold, image or sequence, found 'picture'"),
        ({"threads": 0}, "threads: expected a whole number from 1 up, found 0"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadParameter, match=message.replace("(", r"\(")):
        vt.coco(*sides([("a", "cat", BOX)], [("a", "cat", BOX, 0.9)]), **settings)


# A square of 10 by 10 in an image of 20 by 20 and one of 10 by 8: the rim is one pixel wide (0.02 of the diagonal).
def test_boundaries_are_compared_where_masks_are() -> None:
    def mask(right: int) -> vt.Annotations:
        pixels = np.zeros((20, 20), dtype=np.uint8)
        pixels[5:15, 5:right] = 1
        runs = np.diff(np.flatnonzero(np.diff(pixels.ravel(order="F"), prepend=0, append=0)), prepend=0)
        counts = [*runs.tolist(), 400 - int(runs.sum())]
        masks = vt.RLEMasks.of([(counts, (20, 20))])
        return vt.Annotations(
            images=vt.Images(["a"], widths=[20], heights=[20]), labels=vt.Labels(["cat"]), image=np.zeros(1, np.int32),
            label=np.zeros(1, np.int32), regions=vt.Regions([[5, 5, right, 15]], runs=masks),
            confidence=np.ones(1),
        )  # fmt: skip

    truth, pred = mask(15), mask(13)
    # Masks share 80 of 100 pixels. Rims have 36 and 32 pixels and share the left side and the ends of two others:
    # 10 + 7 + 7 = 24, so 24 / (36 + 32 - 24) = 0.545.
    overlap = vt.coco(truth, pred, on="mask", iou=[0.75, 0.85], checks="off").threshold_table().rows
    assert [row[1] for row in overlap] == [pytest.approx(1), 0]
    rims = vt.coco(truth, pred, on="boundary", iou=[0.54, 0.55], checks="off").threshold_table().rows
    assert [row[1] for row in rims] == [pytest.approx(1), 0]


def test_in_a_crowd_boundaries_do_not_count() -> None:
    # A crowd of 20 by 20 and a prediction of 10 by 10 in its middle, which shares no boundary with it, beside an object
    # that is found at a lower confidence: the prediction inside the crowd is ignored, so AP is 1.
    def square(left: int, top: int, side: int) -> dict[str, Any]:
        right, bottom = left + side, top + side
        ring = [left, top, right, top, right, bottom, left, bottom]
        return {"image_id": 1, "category_id": 1, "bbox": [left, top, side, side], "segmentation": [ring]}

    crowd = {"size": [50, 50], "counts": [0, *[20, 30] * 20, 30 * 50]}  # columns 0 to 19, rows 0 to 19
    truth = vt.read({
        "images": [{"id": 1, "width": 50, "height": 50}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [
            {**square(0, 0, 20), "id": 1, "iscrowd": 1, "area": 400, "segmentation": crowd},
            {**square(35, 35, 10), "id": 2, "iscrowd": 0, "area": 100},
        ],
    })  # fmt: skip
    results = [{**square(5, 5, 10), "score": 0.9}, {**square(35, 35, 10), "score": 0.5}]
    scores = vt.coco(truth, vt.read(results, like=truth), on="boundary", checks="off").scores
    assert scores["AP"].value == pytest.approx(1)


def test_the_boundary_ap_of_the_bundled_demo_is_that_of_faster_coco_eval() -> None:
    folder = files("verite") / "data" / "demo"
    truth = vt.read(str(folder / "truth.json"))
    pred = vt.read(str(folder / "magpie.json"), like=truth)
    # faster-coco-eval 1.8.0, COCOeval_faster(…, "boundary").stats[0]
    assert vt.coco(truth, pred, on="boundary").scores["AP"].value == pytest.approx(0.1252524869463635, abs=1e-12)
