"""Metrics over the matched objects of two data sets."""

from __future__ import annotations

import inspect
import json
import math
from importlib.resources import files

import numpy as np
import pytest

import verite as vt
from verite.errors import BadParameter, DataError, NotComparable
from verite.metrics.catalogue import every_metric
from verite.metrics.localize import LocalizeSettings, localize
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.polygons import Polygons
from verite.model.rasters import runs_of
from verite.model.regions import Regions

SIZES = {"a": (40, 30), "b": (40, 30)}


def annotations(image, label, boxes, **more):
    more.setdefault("sizes", SIZES)
    return vt.Annotations.of(image, label, boxes, **more)


TRUTH = annotations(["a", "a", "a", "b"], ["cat", "cat", "dog", "cat"],
                    [[0, 0, 10, 10], [20, 10, 30, 20], [0, 15, 10, 25], [5, 5, 15, 15]])  # fmt: skip
PRED = annotations(
    ["a", "a", "a", "b", "b"],
    ["cat", "cat", "dog", "cat", "dog"],
    [[0, 0, 10, 8], [1, 0, 11, 10], [0, 15, 10, 20], [5, 5, 15, 15], [5, 5, 15, 15]],
    confidence=[0.9, 0.8, 0.7, 0.6, 0.5],
)


def test_matched_missed_and_spurious_objects_by_hand():
    found = localize(TRUTH, PRED, "iou", "centre_distance", checks="off")
    # a: the first cat takes the first truth (80 / 100); the second overlaps it, too, but comes too late. The dog has
    # 50 / 100. b: the cat is exact, the dog has no truth.
    assert found.matched.truth.tolist() == [0, 2, 3]
    assert found.matched.pred.tolist() == [0, 2, 3]
    assert found.matched.overlap.tolist() == [0.8, 0.5, 1.0]
    assert found.matched.missed.tolist() == [1]
    assert found.matched.spurious.tolist() == [1, 4]
    assert found.values["iou"].tolist() == [0.8, 0.5, 1.0]
    assert found.values["centre_distance"].tolist() == [1, 2.5, 0]
    assert found.scores["iou"].value == pytest.approx(2.3 / 3)
    assert found.class_names == ["cat", "dog"]
    assert found.class_scores()["iou"] == [pytest.approx(0.9), 0.5]
    assert {state: counts.tolist() for state, counts in found.counts().items()} == {
        "matched": [2, 1], "missed": [1, 0], "spurious": [1, 1],
    }  # fmt: skip
    assert "3 matched, 1 missed, 2 spurious; the missed and spurious are counted, not in the means" in str(found)


def test_a_function_of_two_masks_is_measured_like_any_metric():
    def differing(truth, pred):
        return (truth != pred).sum()

    found = localize(TRUTH, PRED, "iou", differing, checks="off")
    assert found.values["differing"].tolist() == [20, 50, 0]


def test_missed_and_spurious_objects_scored_as_empty_regions():
    found = localize(TRUTH, PRED, "iou", "hausdorff", "pixel_recall", unmatched="score", checks="off")
    assert found.values["iou"].tolist() == [0.8, 0.5, 1.0, 0, 0, 0]
    assert found.values["hausdorff"].tolist() == [2, 5, 0, 50, 50, 50]  # the diagonal of 40 × 30
    assert found.values["pixel_recall"].tolist() == [pytest.approx(0.2), 0.5, 0, 1, 0, 0]  # missed 1, spurious 0
    assert found.scores["iou"].value == pytest.approx(2.3 / 6)
    assert found.class_scores()["iou"] == [pytest.approx(1.8 / 4), pytest.approx(0.5 / 2)]
    assert "scored as empty regions" in str(found)


def test_documented_keys_of_the_json_document():
    found = localize(TRUTH, PRED, "iou", "fom", checks="off")
    document = json.loads(found.to_json())
    assert document["metrics"]["iou"] == {
        "mean": pytest.approx(2.3 / 3), "sd": pytest.approx((0.19 / 3) ** 0.5), "median": 0.8,
        "q1": pytest.approx(0.65), "q3": pytest.approx(0.9), "count": 3, "better": "higher", "best": 1, "unit": "",
    }  # fmt: skip
    assert set(document["signatures"]) == {"iou", "figure_of_merit"}
    assert document["signatures"]["iou"] == (
        "iou|on:region|empty:truth=0,pred=0,both=1|match:greedy|iou:0.50|unmatched:leave|regions:common|"
        "pixel:continuous|polygons:coco|confidence:all|ignored:skip|rev:1"
    )
    assert (document["matched"], document["missed"], document["spurious"], document["unmatched"]) == (3, 1, 2, "leave")
    assert document["classes"]["dog"]["metrics"]["iou"] == {
        "mean": 0.5, "sd": None, "median": 0.5, "q1": 0.5, "q3": 0.5, "count": 1,
    }  # fmt: skip
    assert document["objects"][0] == {
        "image": "a", "class": "cat", "state": "matched", "truth": 0, "pred": 0, "confidence": 0.9, "overlap": 0.8,
        "values": {"iou": 0.8, "figure_of_merit": document["objects"][0]["values"]["figure_of_merit"]},
    }  # fmt: skip
    assert [row["state"] for row in document["objects"]] == ["matched"] * 3 + ["missed"] + ["spurious"] * 2
    assert document["objects"][3]["values"] == {"iou": None, "figure_of_merit": None}
    assert document["objects"][5] == {
        "image": "b", "class": "dog", "state": "spurious", "truth": None, "pred": 4, "confidence": 0.5, "overlap": None,
        "values": {"iou": None, "figure_of_merit": None},
    }  # fmt: skip


def test_the_table_of_objects_as_csv():
    lines = localize(TRUTH, PRED, "iou", checks="off").object_table().to_csv().splitlines()
    assert lines[0] == "image,class,state,truth,pred,confidence,overlap,iou"
    assert lines[1] == "a,cat,matched,0,0,0.9,0.8,0.8"
    assert lines[4] == "a,cat,missed,1,,,,"


def test_the_threshold_decides_what_is_one_object():
    assert len(localize(TRUTH, PRED, "iou", iou=0.9, checks="off").matched.truth) == 1
    assert len(localize(TRUTH, PRED, "iou", iou=0.5, checks="off").matched.truth) == 3
    anything = localize(TRUTH, PRED, "iou", iou=0, checks="off")
    assert len(anything.matched.truth) == 3  # without any overlap nothing is matched


def test_a_confidence_leaves_predictions_out():
    found = localize(TRUTH, PRED, "iou", confidence=0.65, checks="off")
    assert found.matched.pred.tolist() == [0, 2]
    assert found.matched.spurious.tolist() == [1]
    assert found.matched.missed.tolist() == [1, 3]


def test_the_first_in_confidence_takes_its_best_truth_and_the_next_what_is_left():
    truth = annotations(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [2, 0, 12, 10]])
    pred = annotations(["a", "a"], ["cat", "cat"], [[2, 0, 12, 10], [2, 0, 12, 10]], confidence=[0.5, 0.9])
    found = localize(truth, pred, "iou", checks="off")
    assert dict(zip(found.matched.pred.tolist(), found.matched.truth.tolist(), strict=True)) == {1: 1, 0: 0}


def test_ignored_truths_neither_match_nor_miss_and_excuse_what_hits_them():
    truth = annotations(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 10, 30, 20]], crowd=[False, True])
    pred = annotations(["a", "a"], ["cat", "cat"], [[20, 10, 30, 20], [20, 10, 30, 19]], confidence=[0.9, 0.8])
    found = localize(truth, pred, "iou", checks="off")
    assert (len(found.matched.truth), found.matched.missed.tolist(), found.matched.spurious.tolist()) == (0, [0], [])
    counted = localize(truth, pred, "iou", ignored="count", checks="off")
    assert (counted.matched.pred.tolist(), counted.matched.spurious.tolist()) == ([0], [1])


def test_order_of_objects_in_the_files_does_not_matter():
    rng = np.random.default_rng(1)
    truth, pred = demo()
    names = ["iou", "hausdorff", "gce", "figure_of_merit"]
    whole = localize(truth, pred, *names)
    shuffled = localize(truth.take(rng.permutation(len(truth))), pred.take(rng.permutation(len(pred))), *names)
    for name in names:
        assert shuffled.scores[name].value == pytest.approx(whole.scores[name].value, rel=1e-12)
        np.testing.assert_allclose(np.sort(shuffled.values[name]), np.sort(whole.values[name]), rtol=1e-12)


def demo():
    home = files("verite") / "data" / "demo"
    truth = vt.read(str(home / "truth.json"))
    return truth, vt.read(str(home / "hawk.json"), like=truth)


def test_all_gives_every_metric_where_the_images_have_sizes():
    truth, pred = demo()
    found = localize(truth, pred, all=True)
    assert [m.name for m in found.metrics] == [m.name for m in every_metric()]
    assert all(np.isfinite(values).all() for values in found.values.values())


def test_all_gives_what_needs_no_pixels_where_sizes_are_unknown():
    truth, pred = (vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=c) for c in (None, [0.9]))
    found = localize(truth, pred, all=True, checks="off")
    names = {m.name for m in found.metrics}
    assert {"iou", "giou", "robin_loc", "dice", "centre_distance"} <= names
    assert not {"gce", "hausdorff", "yasnoff2"} & names
    with pytest.raises(DataError, match="hausdorff: expected the size of the image"):
        localize(truth, pred, "hausdorff", checks="off")


def with_masks(mask, box, *, polygon=None):
    image = Images(["a"], widths=[12], heights=[12])
    polygons = Polygons.of([[polygon]]) if polygon is not None else None
    runs = runs_of(mask[None]) if mask is not None else None
    regions = Regions([box], polygons=polygons, runs=runs)
    return vt.Annotations(image, Labels(["cat"]), np.zeros(1, np.int32), np.zeros(1, np.int32), regions)


def test_masks_are_compared_with_masks_and_with_boxes_where_one_side_has_no_more():
    half = np.zeros((12, 12), dtype=bool)
    half[0:10, 0:5] = True
    whole = np.zeros((12, 12), dtype=bool)
    whole[0:10, 0:10] = True
    truth, pred = with_masks(half, [0, 0, 10, 10]), with_masks(whole, [0, 0, 10, 10])
    boxes = with_masks(None, [0, 0, 10, 10])
    for a, b, regions, expected in (
        (truth, pred, "common", 0.5),
        (truth, pred, "box", 1.0),
        (truth, boxes, "common", 1.0),
        (truth, boxes, "given", 0.5),
        (with_masks(None, [0, 0, 10, 10], polygon=[0, 0, 5, 0, 5, 10, 0, 10]), pred, "common", 0.5),
    ):
        found = localize(a, b, "iou", "gce", regions=regions, checks="off")
        assert found.values["iou"].tolist() == [expected]
        assert found.matched.overlap.tolist() == [expected]


def test_a_mask_of_another_size_than_its_image_is_named():
    wrong = np.zeros((12, 13), dtype=bool)
    wrong[0:10, 0:10] = True
    truth, pred = with_masks(wrong, [0, 0, 10, 10]), with_masks(wrong[:, :12], [0, 0, 10, 10])
    with pytest.raises(DataError, match="image 'a': expected a mask of 12 × 12 pixels as the image, found 13 × 12"):
        localize(truth, pred, "iou", checks="off")


def test_unmatched_masks_keep_their_pixels_when_scored():
    mask = np.zeros((12, 12), dtype=bool)
    mask[0:3, 0:3] = True
    truth, nothing = with_masks(mask, [0, 0, 10, 10]), with_masks(mask, [0, 0, 10, 10]).take(np.array([], dtype=int))
    found = localize(truth, nothing, "vinet", unmatched="score", checks="off")
    assert found.values["vinet"].tolist() == [9]
    as_box = localize(truth, nothing, "vinet", unmatched="score", regions="box", checks="off")
    assert as_box.values["vinet"].tolist() == [44]  # 10 × 10 and its background coupled crosswise leave 44 of 144


def test_corners_as_pixel_indices():
    truth = annotations(["a"], ["cat"], [[0, 0, 9, 9]])
    pred = annotations(["a"], ["cat"], [[0, 0, 9, 4]], confidence=[1])
    assert localize(truth, pred, "iou", pixel="plus1", checks="off").values["iou"].tolist() == [0.5]
    assert localize(truth, pred, "iou", iou=0.4, checks="off").values["iou"].tolist() == [pytest.approx(4 / 9)]


def test_fractions_of_images_know_areas_and_nothing_else():
    truth, pred = (
        vt.Annotations(
            Images(["a"]), Labels(["cat"]), np.zeros(1, np.int32), np.zeros(1, np.int32), Regions([[0.1, 0.1, 0.5, h]]),
            unit="rel",
        )
        for h in (0.5, 0.4)
    )  # fmt: skip
    found = localize(truth, pred, all=True, checks="off")
    assert found.values["iou"].tolist() == [pytest.approx(0.75)]
    assert "robin_cor" not in found.values
    with pytest.raises(DataError, match="diou: expected boxes in pixels, found fractions"):
        localize(truth, pred, "diou", checks="off")


@pytest.mark.parametrize(("truths", "preds"), [(0, 0), (0, 2), (2, 0)])
@pytest.mark.parametrize("unmatched", ["leave", "score"])
def test_nothing_on_one_side_or_both(truths, preds, unmatched):
    truth, pred = TRUTH.take(np.arange(truths)), PRED.take(np.arange(preds))
    found = localize(truth, pred, "iou", "hausdorff", unmatched=unmatched, checks="off")
    assert (len(found.matched.missed), len(found.matched.spurious)) == (truths, preds)
    assert len(found.values["iou"]) == (truths + preds if unmatched == "score" else 0)
    assert isinstance(found.to_json(), str)
    assert isinstance(str(found), str)
    if not found.values["iou"].size:
        assert json.loads(found.to_json())["metrics"]["iou"]["mean"] is None


def test_results_compare_only_where_they_measure_the_same():
    one = localize(TRUTH, PRED, "iou", checks="off")
    assert "difference" in str(vt.compare(one, localize(TRUTH, PRED, "iou", checks="off", name="b")))
    with pytest.raises(NotComparable, match="unmatched"):
        vt.compare(one, localize(TRUTH, PRED, "iou", unmatched="score", checks="off"))
    with pytest.raises(NotComparable, match="metrics"):
        vt.compare(one, localize(TRUTH, PRED, "dice", checks="off"))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"iou": 1.5}, "iou: expected a number from 0 to 1, found 1.5"),
        ({"unmatched": "scored"}, "did you mean 'score'?"),
        ({"regions": "bix"}, "did you mean 'box'?"),
        ({"confidence": float("nan")}, "confidence: expected a number, found nan"),
        ({"checks": "maybe"}, "checks: expected stop, warn or off"),
        ({"labels": ["cart"]}, "did you mean 'cat'?"),
    ],
)
def test_settings_out_of_range_are_refused(how, words):
    with pytest.raises(BadParameter) as caught:
        localize(TRUTH, PRED, "iou", **{"checks": "off", **how})
    assert words in str(caught.value)


def test_what_other_tools_call_boxes_is_understood():
    assert localize(TRUTH, PRED, "iou", regions="boxes", checks="off").settings.regions == "box"
    assert localize(TRUTH, PRED, "iou", regions="bbox", checks="off").settings.regions == "box"


def test_at_least_one_metric_is_asked_for():
    with pytest.raises(BadParameter, match="expected at least one metric"):
        localize(TRUTH, PRED)


def test_only_some_classes():
    found = localize(TRUTH, PRED, "iou", labels=["dog"], checks="off")
    assert (found.class_names, found.values["iou"].tolist()) == (["dog"], [0.5])


def test_a_metric_asked_for_twice_is_measured_once():
    found = localize(TRUTH, PRED, "fom", "figure_of_merit", "iou", checks="off")
    assert list(found.values) == ["figure_of_merit", "iou"]


def test_the_function_takes_the_settings_that_are_declared() -> None:
    taken = [p for p in inspect.signature(localize).parameters.values() if p.kind is p.KEYWORD_ONLY and p.name != "all"]
    declared = LocalizeSettings.declared
    assert {p.name: p.default for p in taken} == {name: setting.default for name, setting in declared.items()}


def test_cases_have_a_row_each_with_the_mean_of_their_objects():
    truth = vt.Annotations.of(["a", "a", "b"], ["cat"] * 3, [[0, 0, 10, 10], [20, 20, 30, 30], [0, 0, 10, 10]])
    pred = vt.Annotations.of(["a", "a"], ["cat"] * 2, [[0, 0, 10, 8], [20, 20, 30, 26]], confidence=[0.9, 0.8])
    found = vt.localize(truth, pred, "iou", per="case", checks="off")
    table = found.case_table()
    assert table.head == ("case", "matched", "missed", "spurious", "iou")
    assert table.rows[0] == ("a", 2, 0, 0, pytest.approx(0.7))  # (0.8 + 0.6) / 2
    assert table.rows[1][:4] == ("b", 0, 1, 0)
    assert math.isnan(table.rows[1][4])
    assert "0.7000 ± 0.1414" in found.to_text()  # (0.8 - 0.6) / sqrt(2)
    assert "0.7000 [0.6500, 0.7500]" in found.to_text()
    assert json.loads(found.to_json())["cases"]["a"]["iou"] == pytest.approx(0.7)
    assert vt.metric("hausdorff95").name == "hausdorff(quantile=0.95)"
