"""Scores weighted by the importance of objects and pixels, against values by hand and against the official scores."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import verite as vt
from verite.errors import BadParameter, DataError, ReadError
from verite.model.keypoints import Keypoints
from verite.model.regions import Regions

HARBOUR = Path(vt.__file__).parent / "data" / "demo"


def two_objects(**more):
    """An object of class cat in each corner of an image; the second is the important one."""
    return vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 20, 30, 30]], **more)


def found_late():
    """The first object, a false positive, then the second object."""
    return vt.Annotations.of(
        ["a"] * 3, ["cat"] * 3, [[0, 0, 10, 10], [50, 50, 60, 60], [20, 20, 30, 30]], confidence=[0.9, 0.8, 0.7]
    )


def test_average_precision_weighs_recall_and_not_precision():
    # Recall 1/4 at precision 1, then recall 1 at precision 2/3: 1/4 · 1 + 3/4 · 2/3.
    found = vt.voc(two_objects(), found_late(), importance=[1, 3], checks="off")
    assert found.importance.scores == {"mAP": pytest.approx(0.75), "recall": 1.0}
    assert found["mAP"] == pytest.approx(1 / 2 + 1 / 2 * 2 / 3)  # the official one stays


def test_coco_interpolates_weighted_recall_at_101_points():
    # Recalls 0 to 0.25 (26 of 101) at precision 1, the other 75 at 2/3.
    found = vt.coco(two_objects(), found_late(), importance=[1, 3], checks="off")
    assert found.importance.scores["AP50"] == pytest.approx((26 + 75 * 2 / 3) / 101)
    missed = vt.coco(two_objects(), found_late().where(np.array([True, True, False])), importance=[1, 3], checks="off")
    assert missed.importance.scores["AR"] == pytest.approx(0.25)


@pytest.mark.parametrize("settings", [{}, {"class_agnostic": True}, {"iou": [0.5, 0.6]}])
def test_equal_weights_give_the_official_scores(settings):
    truth = vt.read(HARBOUR / "truth.json")
    pred = vt.read(HARBOUR / "hawk.json", like=truth)
    found = vt.coco(truth, pred, importance=np.full(len(truth), 2.5), **settings)
    for name, value in found.importance.scores.items():
        official = "AR100" if name == "AR" else name
        assert value == pytest.approx(float(found[official]), abs=1e-12)
    by_class = found.class_scores()["AP"]
    assert found.importance.classes["AP"] == pytest.approx(by_class, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("interpolation", ["all", "11", "101"])
def test_equal_weights_give_the_official_scores_of_pascal_voc(interpolation):
    truth = vt.read(HARBOUR / "truth.json")
    pred = vt.read(HARBOUR / "hawk.json", like=truth)
    found = vt.voc(truth, pred, importance=np.ones(len(truth)), interpolation=interpolation, iou=[0.5, 0.75])
    for name in ("mAP@0.50", "mAP@0.75"):
        assert found.importance.scores[name] == pytest.approx(float(found[name]), abs=1e-12)


def test_a_class_without_weight_leaves_the_mean(tmp_path):
    truth = vt.Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 10, 10], [20, 20, 30, 30]])
    pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    table = tmp_path / "weights.csv"
    table.write_text("class,weight\ndog,0\n")
    found = vt.coco(truth, pred, importance=table, checks="off")
    assert found.importance.scores["AP"] == pytest.approx(1.0, abs=1e-12)
    assert np.isnan(found.importance.classes["AP"][1])
    assert found["AP"] == pytest.approx(0.5, abs=1e-12)


def test_signatures_tell_weights_apart():
    one, other = (
        vt.coco(two_objects(), found_late(), importance=weights, checks="off") for weights in ([1, 3], [3, 1])
    )
    assert one.importance.signature != other.importance.signature
    assert one.signature == other.signature
    document = json.loads(one.to_json())
    assert document["importance"]["AP50"] == pytest.approx(one.importance.scores["AP50"])
    by_object = [
        vt.localize(two_objects(), found_late(), "iou", importance=weights, checks="off").signature
        for weights in ([1, 3], [3, 1])
    ]
    assert by_object[0] != by_object[1]


@pytest.mark.parametrize(
    ("weights", "what"),
    [
        ([1], "expected 2 weights"),
        ([1, -1], "from 0 up"),
        ("nowhere.csv", "nowhere.csv"),
        (3, "a file"),
        (["a", 1], "weight"),
    ],
)
def test_wrong_weights_are_named(weights, what):
    with pytest.raises((BadParameter, ReadError, FileNotFoundError), match=what):
        vt.coco(two_objects(), found_late(), importance=weights, checks="off").importance  # noqa: B018


def test_means_of_localization_metrics_weigh_objects():
    truth = two_objects()
    pred = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 8], [20, 20, 30, 30]], confidence=[0.9, 0.8])
    found = vt.localize(truth, pred, "iou", importance=[3, 1], checks="off")
    assert found["iou"] == pytest.approx((3 * 0.8 + 1) / 4)
    assert found.class_scores()["iou"] == [pytest.approx(0.85)]
    unmatched = vt.localize(
        truth, pred.where(np.array([True, False])), "iou", importance=[3, 1], unmatched="score", checks="off"
    )
    assert unmatched["iou"] == pytest.approx(3 * 0.8 / 4)


def person(points):
    """A person of 10 × 20 pixels with these keypoints."""
    upright = vt.Annotations.of(["a"], ["person"], [[0, 0, 10, 20]], sizes={"a": (40, 40)})
    return replace(upright, regions=Regions(upright.regions.boxes, keypoints=Keypoints.of([points])))


def grey_maps(folder, values):
    folder.mkdir()
    Image.fromarray(np.asarray(values, dtype=np.uint8)).save(folder / "a.png")
    return folder


def test_pixels_weigh_what_a_grey_image_says(tmp_path):
    # The left half of the object is white (1), the right half grey (51 / 255 = 0.2); the prediction lacks the left.
    values = np.full((40, 40), 51)
    values[:, :5] = 255
    maps = grey_maps(tmp_path / "maps", values)
    truth = vt.Annotations.of(["a.jpg"], ["cat"], [[0, 0, 10, 10]], sizes={"a.jpg": (40, 40)})
    pred = vt.Annotations.of(["a.jpg"], ["cat"], [[4, 0, 10, 10]], confidence=[0.9], sizes={"a.jpg": (40, 40)})
    found = vt.localize(truth, pred, "iou", "pixel_recall", importance=maps, checks="off")
    truth_weight, shared = 50 * 1 + 50 * 0.2, 10 * 1 + 50 * 0.2
    assert found["iou"] == pytest.approx(shared / truth_weight)
    assert found["pixel_recall"] == pytest.approx(1 - shared / truth_weight)
    assert vt.localize(truth, pred, "iou", checks="off")["iou"] == pytest.approx(0.6)


def test_a_pixel_has_the_weight_of_the_nearest_keypoint(tmp_path):
    # A head at y = 2 and hands at y = 18: rows 0 to 9 are nearer to the head.
    table = tmp_path / "parts.csv"
    table.write_text("keypoint,weight\n1,3\n2,1\n")
    truth = person([[5, 2, 2], [5, 18, 2]])
    no_head = vt.Annotations.of(["a"], ["person"], [[0, 5, 10, 20]], confidence=[0.9], sizes={"a": (40, 40)})
    no_hands = vt.Annotations.of(["a"], ["person"], [[0, 0, 10, 15]], confidence=[0.9], sizes={"a": (40, 40)})
    found = [
        float(vt.localize(truth, pred, "iou", importance=table, checks="off")["iou"]) for pred in (no_head, no_hands)
    ]
    total = 100 * 3 + 100  # half of 200 pixels weigh 3
    assert found == [pytest.approx((total - 50 * 3) / total), pytest.approx((total - 50) / total)]


def test_only_metrics_of_areas_take_weights_of_pixels(tmp_path):
    maps = grey_maps(tmp_path / "maps", np.full((40, 40), 255))
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], sizes={"a": (40, 40)})
    with pytest.raises(BadParameter, match="hausdorff"):
        vt.localize(truth, truth, "iou", "hausdorff", importance=maps, checks="off")
    found = vt.localize(truth, truth, all=True, importance=maps, checks="off")
    assert {m.name for m in found.metrics} >= {"iou", "dice", "pixel_recall"}
    assert "hausdorff" not in {m.name for m in found.metrics}


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ("keypoint,weight\nknee,1\n", "knee"),
        ("keypoint,weight\n1,heavy\n", "heavy"),
        ("keypoint,weight\n1\n", "2 cells"),
        ("keypoint,mass\n1,2\n", "keypoint and weight"),
    ],
)
def test_a_wrong_table_of_keypoints_is_named_with_its_line(tmp_path, content, what):
    table = tmp_path / "parts.csv"
    table.write_text(content)
    truth = person([[5, 2, 2]])
    with pytest.raises(ReadError, match=what):
        vt.localize(truth, truth, "iou", importance=table, checks="off")


def test_images_without_weights_are_named(tmp_path):
    (tmp_path / "maps").mkdir()
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], sizes={"a": (40, 40)})
    with pytest.raises(ReadError, match="named a"):
        vt.localize(truth, truth, "iou", importance=tmp_path / "maps", checks="off")
    small = grey_maps(tmp_path / "small", np.full((5, 5), 255))
    with pytest.raises(ReadError, match="5 × 5"):
        vt.localize(truth, truth, "iou", importance=small, checks="off")
    table = tmp_path / "parts.csv"
    table.write_text("keypoint,weight\n1,3\n")
    with pytest.raises(DataError, match="keypoints"):
        vt.localize(truth, truth, "iou", importance=table, checks="off")


@pytest.mark.parametrize(("name", "ratio"), [("iou", 3.0), ("dice", (72 / 504) / (24 / 552)), ("hausdorff", None)])
def test_a_study_says_whether_errors_in_important_parts_cost_more(name, ratio):
    # A strip of 24 of 144 pixels is missed: 72 or 24 of a weight of 288; Dice is 1 − 72 / 504 and 1 − 24 / 552.
    found = vt.study([vt.metric(name)], truths=["small square"], quick=True).verdict(0)
    assert found.importance == (None if ratio is None else pytest.approx(ratio))
    assert ("Importance" in str(found)) == (ratio is not None)


def test_partial_results_take_no_importance():
    with pytest.raises(BadParameter, match="importance"):
        vt.partial(two_objects(), found_late(), importance=[1, 3], checks="off")


def test_results_of_rasterised_regions_can_be_pickled(tmp_path):
    maps = grey_maps(tmp_path / "maps", np.full((40, 40), 51))
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], sizes={"a": (40, 40)})
    pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 9]], confidence=[0.9], sizes={"a": (40, 40)})
    for found in (
        vt.localize(truth, pred, "iou", importance=maps, checks="off"),
        vt.localize(truth, pred, "iou", "hausdorff", checks="off"),
    ):
        again = pickle.loads(pickle.dumps(found))
        assert {name: score.value for name, score in again.scores.items()} == {
            name: score.value for name, score in found.scores.items()
        }
        assert again.pairs.shared_area == pytest.approx(found.pairs.shared_area)
        if "hausdorff" in found.values:
            assert again.pairs.to_truth.largest == pytest.approx(found.pairs.to_truth.largest)
            assert again.pairs.truth_contour == pytest.approx(found.pairs.truth_contour)
