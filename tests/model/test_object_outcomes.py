"""The outcome of every ground-truth object and prediction, for pandas, polars and Arrow; flat names of scores."""

from __future__ import annotations

import math
import re

import pytest

import verite as vt
from tests.panoptic_files import write_side

pytest.importorskip("pandas", reason="needs pandas")


@pytest.fixture
def results():
    # Three cats, one of them difficult; one is found, one prediction lies beside, one is weak.
    truth = vt.Annotations.of(
        ["a", "a", "b"], ["cat"] * 3, [[0, 0, 9, 9], [20, 20, 29, 29], [0, 0, 9, 9]],
        difficult=[False, True, False],
    )  # fmt: skip
    pred = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [50, 0, 59, 9]], confidence=[0.9, 0.8])
    return vt.voc(truth, pred)


def test_every_object_has_one_fate(results):
    frame = results.objects().to_pandas()
    assert frame["side"].tolist() == ["truth"] * 3 + ["pred"] * 2
    assert frame["fate"].tolist() == ["found", "not asked for", "missed", "right", "wrong"]
    assert frame["image"].tolist() == ["a", "a", "b", "a", "b"]
    assert frame["row"].tolist() == [0, 1, 2, 0, 1]
    assert frame["partner"].isna().tolist() == [False, True, True, False, True]
    assert frame["partner"].dropna().tolist() == [0, 0]
    assert frame["confidence"].dropna().tolist() == [0.9, 0.8]


def test_predictions_on_ignored_truths_are_left_out():
    truth = vt.Annotations.of(["a", "a"], ["cat"] * 2, [[0, 0, 9, 9], [20, 20, 29, 29]], crowd=[False, True])
    boxes = [[20, 20, 29, 29], [50, 50, 59, 59]]
    pred = vt.Annotations.of(["a"] * 2, ["cat"] * 2, boxes, confidence=[0.9, 0.8])
    for results in (vt.voc(truth, pred), vt.coco(truth, pred), vt.localize(truth, pred, "iou")):
        fates = results.objects(0.5).to_pandas()["fate"].tolist()
        assert fates == ["missed", "not asked for", "left out", "wrong"]


def test_weak_predictions_that_were_not_looked_at_are_left_out(results):
    found = vt.localize(results.truth, results.pred, "iou", confidence=0.85).objects().to_pandas()
    assert found["fate"].tolist()[3:] == ["right", "left out"]


def test_arrow_and_polars_have_the_same_rows(results):
    polars = pytest.importorskip("polars", reason="needs polars")
    objects = results.objects()
    assert objects.to_arrow().to_pylist()[2]["fate"] == "missed"
    assert objects.to_polars()["fate"].to_list() == objects.to_pandas()["fate"].tolist()
    assert polars.DataFrame(objects).height == 5  # by the Arrow stream, without being asked how


def test_predictions_of_unknown_classes_keep_their_names():
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]])
    pred = vt.Annotations.of(["a", "a"], ["dog", "cat"], [[0, 0, 9, 9]] * 2, confidence=[0.9, 0.8])
    frame = vt.voc(truth, pred, checks="off").objects().to_pandas()
    assert frame["label"].tolist()[0] == "cat"
    assert frame["fate"].tolist()[0] == "found"


def test_images_and_classes_of_the_same_name_are_no_error():
    names = vt.Annotations.of(["a", "a"], ["x", "x"], [[0, 0, 9, 9], [20, 0, 29, 9]])
    assert len(vt.voc(names, names.take([0]), checks="off").objects().to_pandas()) == 3


def test_protocols_that_match_no_objects_say_so(results):
    with pytest.raises(vt.BadParameter, match="expected evaluations that match objects"):
        vt.imagenet_loc(results.truth, results.pred, checks="off").objects()


def test_flat_names_are_those_that_trackers_take():
    names = ["a/b", "a b", "..", "猫", "x:y", "-", "ä@1"]
    truth = vt.Annotations.of(["i"] * 7, names, [[0, 0, 9, 9]] * 7)
    pred = vt.Annotations.of(["i"], ["a b"], [[0, 0, 9, 9]], confidence=[0.5], labels=names)
    flat = vt.voc(truth, pred, iou=[0.5, 0.75], checks="off").flat("val/")
    assert len(flat) == 3 + 7  # two thresholds, their mean, and seven classes
    assert all(isinstance(value, float) for value in flat.values())
    assert flat["val/mAP_0.50"] == pytest.approx(1 / 7)
    assert flat["val/mAP_0.50/a_b_2"] == 1.0
    # What MLflow allows: letters, digits, _ - . and slashes, and a path that is written the shortest way.
    assert all(re.fullmatch(r"[/\w.-]+", key) and "//" not in key and "/../" not in f"{key}/" for key in flat)


def test_absent_scores_are_not_a_number_in_the_flat_dictionary():
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], labels=["cat", "dog"])
    pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.5], labels=["cat", "dog"])
    assert math.isnan(vt.coco(truth, pred).flat()["AP/dog"])


def test_annotations_show_what_is_in_them():
    many = vt.Annotations.of([f"image {i}" for i in range(30)], ["<b>"] * 30, [[0, 0, 9, 9]] * 30)
    shown = many._repr_html_()
    assert "30 objects of 1 class in 30 images" in shown
    assert "first 20 of 30 objects" in shown
    assert "image 19" in shown
    assert "image 20" not in shown
    assert "<b>" not in shown


def test_annotations_without_objects_are_shown():
    assert "0 objects" in vt.Annotations.of([], [], [], labels=["cat"])._repr_html_()


def pair_of_cats():
    """Two cats, one found; a prediction beside, and a dog on a cat."""
    truth = vt.Annotations.of(["a", "a"], ["cat"] * 2, [[0, 0, 9, 9], [20, 20, 29, 29]], labels=["cat", "dog"])
    boxes = [[50, 50, 59, 59], [0, 0, 9, 9], [20, 20, 29, 29]]
    pred = vt.Annotations.of(["a"] * 3, ["cat", "cat", "dog"], boxes, confidence=[0.9, 0.8, 0.7], labels=["cat", "dog"])
    return truth, pred


@pytest.mark.parametrize("protocol", ["openimages", "imagenet_det"])
def test_protocols_of_boxes_tell_the_same_fates(protocol):
    more = {"unverified": "count"} if protocol == "openimages" else {}  # nobody said that there is no dog
    frame = getattr(vt, protocol)(*pair_of_cats(), checks="off", **more).objects().to_pandas()
    assert frame["fate"].tolist() == ["found", "missed", "wrong", "right", "wrong"]
    assert frame["partner"].dropna().tolist() == [1, 0]


def test_a_group_is_found_by_its_best_prediction_and_the_others_are_left_out():
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 8, 8]], group_of=[True])
    pred = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 2, 2], [4, 4, 6, 6]], confidence=[0.8, 0.9])
    frame = vt.openimages(truth, pred).objects().to_pandas()
    assert frame["fate"].tolist() == ["found", "left out", "right"]
    nothing = vt.openimages(truth, pred, metric="v2").objects().to_pandas()  # groups weigh nothing there
    assert nothing["fate"].tolist() == ["not asked for", "left out", "left out"]


@pytest.mark.parametrize("protocol", ["coco", "voc", "openimages", "imagenet_det"])
def test_merged_parts_hold_no_objects_and_say_so(protocol):
    part = vt.partial(*pair_of_cats(), protocol=protocol.replace("_", "-"), checks="off")
    with pytest.raises(vt.BadParameter, match="merged parts"):
        part.compute().objects()


def test_objects_of_scenes_are_found_whatever_their_class():
    fates = vt.scene_score(*pair_of_cats(), checks="off").objects().to_pandas()["fate"].tolist()
    assert fates == ["found", "found", "wrong", "right", "right"]  # a dog in the place of a cat is a match there


def test_segments_have_fates(tmp_path):
    # A cat of four pixels found by three of them; sky above that is a crowd, half of which is called road.
    truth = write_side(tmp_path, "truth", {1: ([[7, 7, 7, 7], [8, 8, 8, 8]], {7: (1, True), 8: (2, False)})})
    segments = {n: (label, False) for n, label in SEGMENTS}
    pred = write_side(tmp_path, "pred", {1: ([[5, 5, 6, 6], [9, 9, 9, 4]], segments)}, is_truth=False)
    read = vt.read(truth)
    frame = vt.panoptic(read, vt.read(pred, like=read), checks="off").objects().to_pandas()
    told = dict(zip(zip(frame["side"], frame["label"], strict=True), frame["fate"], strict=True))
    assert told == {
        ("truth", "sky"): "not asked for", ("truth", "cat"): "found", ("pred", "sky"): "left out",
        ("pred", "road"): "wrong", ("pred", "cat"): "right", ("pred", "dog"): "wrong",
    }  # fmt: skip


SEGMENTS = ((5, 1), (6, 5), (9, 2), (4, 9))
