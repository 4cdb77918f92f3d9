"""What results tell: images, classes, one image step by step, draws; a scene of three images worked by hand.

Image a: the cat is found, the dog missed, the second cat ignored with a pred on it, a car is spurious: (0 + 1) / 2.
Image b: the dog is called cat with confidence 0.5 and shares half: 0.8 · 1/2 + 0.2 · (1 + 0.5) / 2 = 0.55.
Image c: nothing there and nothing found: 0.
"""

from __future__ import annotations

import json
from dataclasses import replace
from math import nan

import numpy as np
import pytest

import verite as vt
from tests.scene.scenes import refused
from verite.errors import BadParameter, DataError, UnknownMetric
from verite.model.images import Images
from verite.model.tables import Table

A, B, C, D = (0, 0, 10, 10), (20, 0, 30, 10), (40, 0, 50, 10), (60, 0, 70, 10)
MOVED = (5, 0, 15, 10)  # shares half of A: overlap 50 / 150 = 1/3, localization 1/2
SIZES = dict.fromkeys("abc", (100, 100))
LABELS = ("cat", "dog", "car", "bird")
COUNTS = ("truths", "preds", "matched", "missed", "spurious")


def sides():
    truth = vt.Annotations.of(
        ["a", "a", "a", "b"], ["cat", "cat", "dog", "dog"], [A, B, C, A], difficult=[False, True, False, False],
        sizes=SIZES, labels=LABELS,
    )  # fmt: skip
    pred = vt.Annotations.of(
        ["a", "a", "a", "b"], ["cat", "cat", "car", "cat"], [A, B, D, MOVED], confidence=[0.9, 0.8, 0.5, 0.5],
        sizes=SIZES, labels=LABELS,
    )  # fmt: skip
    return truth, pred


def results(**how):
    return vt.scene_score(*sides(), checks="off", name="mine", **how)


def one_image(truths, preds, **about):
    """Cats in an image."""
    truth = vt.Annotations.of(["a"] * len(truths), ["cat"] * len(truths), truths, sizes={"a": (100, 100)}, **about)
    return truth, vt.Annotations.of(["a"] * len(preds), ["cat"] * len(preds), preds, sizes={"a": (100, 100)})


def test_every_image_has_its_score_and_its_counts():
    found = results()
    assert found.image_scores.tolist() == pytest.approx([0.5, 0.55, 0])
    counts = {key: values.tolist() for key, values in found.image_counts().items()}
    assert counts == dict(zip(COUNTS, ([2, 1, 0], [2, 1, 0], [1, 1, 0], [1, 0, 0], [1, 0, 0]), strict=True))


def test_the_first_lines_tell_the_mean_and_the_quantiles():
    first, second = results().contents()[:2]
    assert first == "mine   score 0.3500 over 3 images (0 is perfect, 1 is worst)"
    # Of 0, 0.5 and 0.55: halfway between the first two, and between the last two.
    assert second == "best 0.0000   lower quarter 0.2500   median 0.5000   upper quarter 0.5250   worst 0.5500"


def test_one_image_is_told_as_one():
    assert "over 1 image (0" in vt.scene_score(*one_image([A], [A]), checks="off").contents()[0]


def test_no_image_has_no_quantiles():
    none = vt.Annotations.of([], [], np.empty((0, 4)))
    found = vt.scene_score(none, none, checks="off")
    assert np.isnan(list(found.quantiles().values())).all()
    assert found.contents()[1] == ""


def test_the_table_of_images_begins_with_the_worst():
    table = results().image_table()
    assert table.head == ("image", "score", "truths", "preds", "matches", "missed", "spurious")
    assert [row[0] for row in table.rows] == ["b", "a", "c"]
    assert table.rows[1][1:] == (0.5, 2, 2, 1, 1, 1)
    assert table.title == ""


def test_a_part_of_the_images_says_which_part():
    table = results().image_table(2)
    assert [row[0] for row in table.rows] == ["b", "a"]
    assert table.title == "worst images"


def test_of_many_images_the_ten_worst_are_printed():
    names = [f"i{k:02d}" for k in range(11)]
    truth = vt.Annotations.of(names, ["cat"] * 11, [A] * 11)
    found = vt.scene_score(truth, truth.take(np.arange(10)), checks="off")  # the last image has nothing found
    printed = next(part for part in found.contents() if isinstance(part, Table))
    assert [row[0] for row in printed.rows] == ["i10", *names[:9]]
    assert found.details()["worst"] == ["i10", *names[:9]]


def test_the_table_of_classes_counts_what_became_of_each():
    table = results().class_table()
    assert table.head == (
        "class", "score", "truths", "matches", "missed", "spurious", "confused", "localization", "recognition"
    )  # fmt: skip
    cat, dog, car = table.rows  # no bird anywhere
    assert cat == ("cat", 0, 1, 1, 0, 0, 0, 0, 0)
    assert dog == ("dog", pytest.approx((0.55 + 1) / 2), 2, 1, 1, 0, 1, 0.5, 0.75)
    assert car == ("car", pytest.approx(nan, nan_ok=True), 0, 0, 0, 1, 0, *[pytest.approx(nan, nan_ok=True)] * 2)
    assert table.mean == ("all", "", 3, 2, 1, 1, 1, 0.25, 0.375)


def test_classes_that_only_the_predictions_know_have_a_row():
    truth = vt.Annotations.of(["a"], ["cat"], [A])
    pred = vt.Annotations.of(["a", "a"], ["cat", "owl"], [A, B])
    found = vt.scene_score(truth, pred, checks="off")
    assert [row[0] for row in found.class_table().rows] == ["cat", "owl"]
    assert vt.scene_score(pred, truth, checks="off").class_names == ["cat", "owl"]


def test_the_document_tells_images_and_classes_by_name():
    told = json.loads(results().to_json())
    assert told["score"] == pytest.approx(0.35)
    assert told["images"]["a"] == {"score": 0.5, "truths": 2, "preds": 2, "matched": 1, "missed": 1, "spurious": 1}
    assert told["worst"] == ["b", "a", "c"]
    assert told["classes"]["dog"]["confused"] == 1
    assert told["classes"]["bird"]["score"] is None


def test_finds_tell_who_took_which_object():
    found = results().matches()
    assert found.iou == 0.2
    assert found.counted_truth.tolist() == [True, False, True, True]
    assert found.matched_pred.tolist() == [0, -1, -1, 3]
    assert found.counted_pred.tolist() == [True, False, True, True]


def test_of_several_matches_the_best_overlap_took_the_object():
    # Overlaps 1/2 and 7/10, whichever comes first.
    for preds, best in (([(0, 0, 10, 5), (0, 0, 10, 7)], 1), ([(0, 0, 10, 7), (0, 0, 10, 5)], 0)):
        assert vt.scene_score(*one_image([A], preds), checks="off").matches().matched_pred.tolist() == [best]


def test_a_pred_on_an_ignored_truth_counts_where_it_found_another():
    truth, pred = one_image([A, (0, 0, 10, 12)], [A], difficult=[False, True])
    found = vt.scene_score(truth, pred, checks="off")
    assert found.image_counts()["preds"].tolist() == [1]
    assert found.matches().counted_pred.tolist() == [True]
    trace = found.trace(0)
    assert (trace.ignored, trace.excused, len(trace.preds)) == (1, 0, 1)


def test_preds_that_found_nothing_are_counted():
    assert vt.scene_score(*one_image([A], [A, C]), checks="off").image_counts()["preds"].tolist() == [2]


def test_draws_weigh_images():
    drawn = results().draw_scores(["score"], np.array([[1.0, 1, 1], [2, 0, 0], [0, 1, 1]]))
    assert drawn[:, 0] == pytest.approx([0.35, 0.5, 0.275])


def test_draws_of_a_class_weigh_its_objects():
    # The dog of b has 0.55, that of a was missed and has 1.
    weights = np.array([[1.0, 1, 1], [2, 0, 0], [0, 1, 1]])
    drawn = results().draw_scores(["score", "localization", "recognition"], weights, "dog")
    assert drawn[:, 0] == pytest.approx([0.775, 1, 0.55])
    assert drawn[:, 1] == pytest.approx([0.5, nan, 0.5], nan_ok=True)
    assert drawn[:, 2] == pytest.approx([0.75, nan, 0.75], nan_ok=True)


def test_an_unknown_score_of_a_class_is_named():
    with pytest.raises(UnknownMetric, match="found 'AP'"):
        results().draw_scores(["AP"], np.ones((1, 3)), "dog")


def test_predictions_without_a_confidence_have_confidence_1_and_nobody_complains():
    truth, _ = sides()
    sure = vt.Annotations.of(["b"], ["cat"], [MOVED], sizes=SIZES, labels=LABELS)
    found = vt.scene_score(truth.where(truth.image == 1), sure)
    assert found.image_scores[1] == pytest.approx(0.8 * 0.5 + 0.2)
    assert not {"V301", "V304"} & {finding.code for finding in found.findings}  # about predictions without a rank


def test_confidences_beyond_1_are_named_with_their_image():
    truth, _ = sides()
    percent = vt.Annotations.of(["a", "b", "b"], ["cat"] * 3, [A, A, B], confidence=[1.0, 90, 55], sizes=SIZES)
    with pytest.raises(DataError, match="expected confidences from 0 to 1, found 90 in image 'b', one of 2; divide"):
        vt.scene_score(truth, percent, checks="off")
    assert vt.scene_score(truth, percent, checks="off", certain=True).image_scores[1] > 0
    above = vt.Annotations.of(["a"], ["cat"], [A], confidence=[1.5], sizes=SIZES)
    with pytest.raises(DataError, match=r"found 1\.5 in image 'a'"):
        vt.scene_score(truth, above, checks="off")
    negative = vt.Annotations.of(["a"], ["cat"], [A], confidence=[-0.5], sizes=SIZES)
    with pytest.raises(DataError, match=r"found -0\.5 in image 'a'"):
        vt.scene_score(truth, negative, checks="off")


def test_every_error_counts_against():
    assert results().is_error("score")


# One image.


def test_the_trace_of_an_image_tells_its_objects_and_who_is_left():
    told = results().trace("a").to_dict()
    assert told["image"] == "a"
    assert told["name"] == "mine"
    assert told["truths"] == [
        {"class": "cat", "confidence": None, "row": 0},
        {"class": "dog", "confidence": None, "row": 2},
    ]
    assert told["preds"] == [
        {"class": "cat", "confidence": 0.9, "row": 0},
        {"class": "car", "confidence": 0.5, "row": 2},
    ]
    assert told["overlap"] == [[1, 0], [0, 0]]
    assert told["correspondence"] == [[1, 0], [0, 0]]
    assert told["compensation"] == [[1, 0], [0, 1]]
    assert (told["missed"], told["spurious"], told["ignored"]) == ([1], [1], 1)


def test_the_trace_of_an_image_tells_how_well_each_match_agrees():
    trace = results().trace("b")
    assert trace.overlap == pytest.approx(np.array([[1 / 3]]))
    assert trace.localization.tolist() == [[0.5]]
    assert trace.recognition.tolist() == [[0.75]]
    assert trace.local == pytest.approx(np.array([[0.55]]))
    assert trace.compensated == pytest.approx(np.array([[0.55]]))
    assert trace.ignored == trace.excused == 0


def test_a_trace_as_a_document_is_one_line_unless_told():
    assert "\n" not in results().trace("a").to_json().strip()
    assert "\n " in results().trace("a").to_json(indent=1)


def test_a_trace_counts_objects_matches_and_ignored():
    first, *_, last = results().trace("a").contents()
    assert first == "a   score 0.5000   2 ground-truth objects, 2 predictions: 1 matches, 1 missed, 1 spurious"
    assert last == "1 ground-truth objects ignored, 1 predictions on them do not count"
    assert not str(results().trace("b").contents()[-1]).endswith("do not count")


def test_tables_of_a_trace_leave_cells_without_a_match_empty():
    tables = results().trace("a").tables()
    assert tables["overlap"].head == ("truth \\ pred", "1 cat 0.90", "2 car 0.50")
    assert tables["overlap"].rows == (("1 cat", "1.000", "0.000"), ("2 dog", "0.000", "0.000"))
    assert tables["correspondence"].rows == (("1 cat", 1, ""), ("2 dog", "", ""))
    assert tables["local"].rows == (("1 cat", "0.000", ""), ("2 dog", "", ""))
    assert tables["compensation"].rows == (("1 cat", 1, ""), ("2 dog", "", 1))
    assert tables["compensated"].rows == (("1 cat", "0.000", ""), ("2 dog", "", "1.000"))


def test_rows_and_columns_of_compensation_are_called_added():
    missed = vt.Trace.of([[0.6], [0.0]], np.zeros((2, 1)), np.zeros((2, 1)), truths=["cat", "dog"], preds=["cat"])
    assert missed.tables()["compensation"].head == ("truth \\ pred", "1 cat", "added")
    spurious = vt.Trace.of([[0.6, 0.0]], np.zeros((1, 2)), np.zeros((1, 2)), truths=["cat"], preds=["cat", "dog"])
    assert spurious.tables()["compensated"].rows == (("1 cat", "0.000", ""), ("added", "", "1.000"))


def test_titles_of_a_trace_name_matching_and_weights():
    several, single = results().trace("a").tables(), results(matching="one-to-one", alpha=0.75).trace("a").tables()
    assert several["correspondence"].title == "Correspondence (multiple, IoU ≥ 0.2)"
    assert single["correspondence"].title == "Correspondence (one-to-one)"
    assert several["local"].title == "Local scores: 0.8 × localization + 0.2 × recognition"
    assert single["local"].title == "Local scores: 0.75 × localization + 0.25 × recognition"


def test_a_trace_needs_matrices_and_a_name_for_each_object():
    with pytest.raises(BadParameter, match=r"overlap: expected a matrix, found an array of shape \(1,\)"):
        vt.Trace.of([0.5], [[0.0]], [[0.0]])
    with pytest.raises(BadParameter, match="names: expected 1, one per object, found 2"):
        vt.Trace.of([[0.5]], [[0.0]], [[0.0]], truths=["cat", "dog"])


def test_images_are_found_by_name_and_by_position():
    found = results()
    assert [found.trace(i).image for i in (0, 2)] == ["a", "c"]
    for wrong in (3, -1):
        with pytest.raises(BadParameter, match=f"a position from 0 to 2, found {wrong}"):
            found.trace(wrong)
    with pytest.raises(BadParameter, match="image: expected one of 3 images, found 'zebra'"):
        found.trace("zebra")


def test_images_are_found_by_name_or_by_number():
    images = Images(["7", "x"], [10, 11])
    boxes = [[0, 0, 9, 9], [0, 0, 9, 9]]
    plain = vt.Annotations.of(["7", "x"], ["cat"] * 2, boxes)
    found = vt.scene_score(replace(plain, images=images), replace(plain, images=images), checks="off")
    assert [found.position(word) for word in ("7", "x", "10", "11")] == [0, 1, 0, 1]  # a name goes before a number
    assert "image: expected one of 2 images, found '12'" in refused(found.position, "12")
