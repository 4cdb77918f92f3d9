"""What findings say: the sentence, how many, which for example, and what to do, each on the smallest case."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from math import log
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from verite.checks import Finding, chance, classes, evidence, examine, images, poses, rotated, scaling, ties
from verite.checks.boxes import fractions, percent
from verite.checks.coverage import find_exchanged_classes, no_predictions
from verite.checks.findings import Fix, near_word, stop_on_errors, warn_of
from verite.checks.names import fold
from verite.checks.readings import Reading, are_like_corners
from verite.model.annotations import Source
from verite.model.images import Images
from verite.model.labels import Labels

BOX = [10.0, 20, 40, 60]


def side(names, labels=None, boxes=None, **more):
    labels = labels or ["cat"] * len(names)
    boxes = boxes if boxes is not None else [[10.0 + 3 * i, 20, 40 + 3 * i, 60] for i in range(len(names))]
    return vt.Annotations.of(names, labels, boxes, **more)


def told(annotations, *, is_truth):
    return {f.code: f for f in examine(annotations, is_truth=is_truth, notes=True)}


def told_of(truth, pred):
    return {f.code: f for f in vt.inspect(truth, pred).findings}


def coco(tmp_path, *objects, name="truth.json", **more):
    """A truth of two images of 100 x 50."""
    pictures = [{"id": i, "width": 100, "height": 50, "file_name": f"{'ab'[i - 1]}.jpg"} for i in (1, 2)]
    records = [
        {"id": 1 + i, "image_id": 1, "category_id": 1, "area": 20, "bbox": [1 + i, 2, 3, 4]} | one
        for i, one in enumerate(objects)
    ]
    document = {"images": pictures, "categories": [{"id": 1, "name": "cat"}], "annotations": records} | more
    (tmp_path / name).write_text(json.dumps(document))
    return {f.code: f for f in vt.inspect(tmp_path / name).findings}


# Chance.


def test_uneven_coins_are_counted_in_nats():
    # Three of four heads: 3 ln(6/4) + ln(2/4)
    assert chance.imbalance(3, 1) == pytest.approx(3 * log(1.5) - log(2))
    assert chance.imbalance(2, 2) == chance.imbalance(1, 3) == 0


def test_nothing_is_surprising_that_is_expected():
    assert chance.surprise(2, 1) == pytest.approx(2 * log(2) - 1)
    assert chance.surprise(1, 1) == chance.surprise(1, 2) == chance.surprise(2, 0) == 0


def test_a_truth_is_paired_with_the_best_overlap_then_with_the_most_confident():
    which, by, overlap = np.array([1, 0, 0, 0]), np.array([2, 5, 3, 1]), np.array([0.9, 0.6, 0.6, 0.5])
    one, other = evidence.best_pairs(which, by, overlap)
    assert (one.tolist(), other.tolist()) == ([0, 1], [3, 2])


@pytest.mark.parametrize(("many", "turned"), [(1, []), (2, [1]), (5, [1, 2, 3, 4]), (10, [2, 3, 5, 6])])
def test_samples_are_turned_by_parts_and_never_onto_themselves(many, turned):
    # A half, a third, two thirds, a fifth and four fifths of so many images, the first four of them.
    assert evidence.turns(many) == turned


def test_a_median_may_be_off_by_four_errors():
    middle, error = evidence.median_and_error(np.array([[0.0], [1], [2], [3], [4]]))
    assert middle.tolist() == [2]
    # The median deviation is 1; 1.4826 makes it a normal one, 1.2533 / √5 the error of a median of five.
    assert error == pytest.approx(4 * 1.4826 * 1.2533 / np.sqrt(5))


def test_where_no_size_is_known_images_end_with_the_last_box():
    boxes = np.array([[0.0, 0, 50, 20], [10, 10, 100, 40]])
    unknown = evidence.relative_to_images(boxes, np.zeros((2, 2)))
    assert unknown.tolist() == [[0, 0, 0.5, 0.5], [0.1, 0.25, 1, 1]]
    known = evidence.relative_to_images(boxes, np.array([[200.0, 80], [200, 80]]))
    assert known[1].tolist() == [0.05, 0.125, 0.5, 0.5]


def test_truths_found_in_their_own_images_alone_are_no_chance():
    # 18 of 18 fair coins are 12.5 nats, 17 are 11.8; and with 16 looks elsewhere few hits are expected.
    own, other = np.full(18, 0.6), np.zeros(18)
    assert evidence.exceeds_other_images(own, [other])
    assert not evidence.exceeds_other_images(np.full(17, 0.6), [np.full(17, 0.55)])
    assert not evidence.exceeds_other_images(own, [own])
    assert not evidence.exceeds_other_images(own, [])


# Classes.

THEIRS = np.array([1, 2, 3])


def explained(hits, before, used, mapped):
    return classes.is_explained(np.array(hits), before, np.array(used), np.array(mapped), THEIRS)


def test_a_mapping_that_alone_knows_every_class_needs_half_the_odds():
    # Six, and of two pairs that agree before one and a half each.
    assert explained([0] * 9, 2, [0, 1, 2], [1, 2, 3])
    assert not explained([0] * 8, 2, [0, 1, 2], [1, 2, 3])


def test_any_other_mapping_needs_three_pairs_for_each_that_agreed():
    assert explained([1] * 6 + [2] * 6, 2, [1, 2], [2, 3])
    assert not explained([1] * 6 + [2] * 5, 2, [1, 2], [2, 3])


def test_one_class_taken_for_another_is_no_shift():
    assert not explained([1] * 20, 0, [1, 2], [2, 3])
    assert not explained([1] * 20 + [2], 0, [1, 2], [2, 3])
    assert explained([1] * 20 + [2] * 2, 0, [1, 2], [2, 3])


def test_a_mapping_that_loses_a_class_explains_nothing():
    assert not explained([1] * 20 + [2] * 20, 0, [2, 3], [3, 4])


def test_ids_with_gaps_may_have_been_counted_from_0_or_1():
    found = dict(classes.mappings(np.array([4, 1, 2])))
    assert list(found) == ["+1", "-1", "index from 0", "index from 1"]
    ids = np.array([0, 1, 2, 3])
    assert found["+1"](ids).tolist() == [1, 2, 3, 4]
    assert found["-1"](ids).tolist() == [-1, 0, 1, 2]
    assert found["index from 0"](ids).tolist() == [1, 2, 4, -1]
    assert found["index from 1"](ids).tolist() == [-1, 1, 2, 4]
    assert list(dict(classes.mappings(THEIRS))) == ["+1", "-1"]


def test_names_that_are_numbers_of_nine_digits_are_ids():
    def numbers(last):
        labels = Labels(["1", last])
        both = SimpleNamespace(labels=labels, source=Source())
        return classes.class_numbers(both, both)

    assert [ids.tolist() for ids in numbers("999999999")] == [[1, 999999999]] * 2
    assert numbers("1000000000") is None
    assert numbers("cat") is None


def test_of_more_than_six_classes_the_rest_is_counted():
    assert classes.list_names(list("abcdef")) == "'a', 'b', 'c', 'd', 'e', 'f'"
    assert classes.list_names(list("abcdefg")) == "'a', 'b', 'c', 'd', 'e', 'f' and 1 more"


def test_numbers_for_names_want_a_list_of_names():
    named, numbered = (SimpleNamespace(labels=Labels(names)) for names in (["cat", "7"], ["6", "7"]))
    assert "--names" in classes.advice_on_classes(["1", "2"], named)
    assert classes.advice_on_classes(["1", "2"], numbered) == "the truth has '6', '7'"
    assert classes.advice_on_classes(["1", "dog"], named) == "the truth has 'cat', '7'"


def test_shifted_class_ids_are_told_with_the_evidence():
    plain = side(["a"], confidence=[0.5])
    found = classes.mapping_finding(plain, classes.Mapping("+1", 20, 3, 25, ("an example",)))
    assert (found.code, found.severity, found.count, found.examples) == ("V201", "error", 1, ("an example",))
    assert found.message == (
        "class ids look shifted by -1: 3 of 25 overlapping pairs agree in class as read, 20 with +1"
    )
    assert found.fix == "add +1 to the class numbers"
    yolo = plain.said_to_be(Source("x", "yolo"))
    assert classes.mapping_finding(yolo, classes.Mapping("-1", 2, 1, 3, ())).fix == Fix("pred", (("label_offset", -1),))


def test_class_ids_counted_without_gaps_are_told_so():
    found = classes.mapping_finding(side(["a"], confidence=[0.5]), classes.Mapping("index from 0", 20, 3, 25, ()))
    assert found.code == "V202"
    assert found.message.startswith("class ids look counted from 0 without the gaps of the truth's ids: 3 of 25")


def test_classes_that_the_truth_does_not_have_are_told_with_the_nearest():
    truth = side(["a", "b", "c"], ["cat", "dog", "car"])
    pred = side(["a", "b", "c"], ["cat", "zebra", "zebra"], confidence=[0.9, 0.8, 0.7])
    found = told_of(truth, pred)["V203"]
    assert (found.severity, found.count) == ("warning", 2)
    assert found.message == ("2 of 3 predictions have one of 1 classes that the truth does not have, e.g. 'zebra'")
    near = told_of(truth, side(["a"], ["cet"], confidence=[0.9]))["V203"]
    assert near.severity == "error"
    assert near.message.endswith("e.g. 'cet'; did you mean 'cat'?")
    assert near.examples == ("'cet', nearest 'cat'",)


def test_names_are_folded_by_case_and_blanks():
    assert fold("  Traffic   Light ") == fold("traffic light")


def test_classes_that_differ_by_case_alone_are_told():
    truth = side(["a", "b", "c"], ["cat", "Cat", "dog"])
    found = told(truth, is_truth=True)["V204"]
    assert found.message == "classes whose names differ by case or blanks alone: 'cat' and 'Cat'"
    assert found.count == 1
    assert "V204" not in told(side(["a", "b"], ["cat", "dog"]), is_truth=True)


def test_predictions_of_a_class_spelt_otherwise_are_told():
    truth = side(["a", "b"], ["cat", "dog"])
    found = told_of(truth, side(["a", "b"], ["Cat", "dog"], confidence=[0.9, 0.8]))["V204"]
    assert (found.severity, found.count, found.examples) == ("warning", 1, ("'Cat' for 'cat'",))
    assert found.message.startswith("1 of 2 predictions have classes that differ from the truth's by case or blanks")
    assert told_of(truth, side(["a"], ["Cat"], confidence=[0.9]))["V204"].severity == "error"


def test_classes_without_predictions_and_without_objects_are_noted():
    truth = vt.Annotations.of(["a", "b"], ["cat", "dog"], [BOX, BOX], labels=["cat", "dog", "car"])
    found = told_of(truth, vt.Annotations.of(["a"], ["cat"], [BOX], confidence=[0.5]))
    assert (found["V309"].message, found["V309"].count) == (
        "1 of 3 classes have objects and no prediction, e.g. 'dog'", 1
    )  # fmt: skip
    assert found["V220"].message == "1 of 3 classes have no object, e.g. 'car'"


def test_exchanged_classes_are_told_with_their_counts():
    truth, pred = side(["a", "b"], ["cat", "dog"]), side(["a", "b"], ["cat", "dog"], confidence=[0.5, 0.6])
    pair = SimpleNamespace(truth=truth, pred=pred, fit={"exchanges": [(0, 1, 7, 9), (1, 0, 5, 6)]})
    (found,) = find_exchanged_classes(pair)
    assert (found.severity, found.count) == ("warning", 12)
    assert found.message == (
        "2 classes look exchanged: 7 of 9 objects of 'cat' are found as 'dog', and so on in a circle"
    )
    assert found.examples[1] == "5 of 6 objects of 'dog' are found as 'cat'"


def test_no_predictions_count_the_objects():
    assert no_predictions(1).message == "no predictions for 1 object"
    assert no_predictions(2000).message == "no predictions for 2,000 objects"


# Images.


def test_texts_of_eighteen_digits_may_be_ids():
    ids = np.array([7, 10**17])
    assert images.are_ids_as_texts(["7", "1" + "0" * 17], ids)
    assert not images.are_ids_as_texts(["7", "8"], ids)
    assert not images.are_ids_as_texts(["7", "x"], ids)
    assert not images.are_ids_as_texts(["1" + "0" * 18], np.array([7]))


def test_the_nearest_image_is_by_number_or_by_name():
    truth = SimpleNamespace(images=Images(["x/0001.jpg", "other.jpg"], [10, 20]))
    assert images.nearest_image(truth, "14", is_number=True) == "10"
    assert images.nearest_image(truth, "-3", is_number=True) == "10"
    assert images.nearest_image(truth, "0001.png", is_number=False) == "x/0001.jpg"
    assert images.nearest_image(truth, "othar.jpg", is_number=False) == "other.jpg"
    assert images.nearest_image(SimpleNamespace(images=Images([])), "a", is_number=False) is None


def test_a_shift_that_makes_every_image_known_must_be_no_chance():
    # Half of the numbers are ids: each unknown one is ln 2 nats, and 12 nats want 18 of them.
    even = np.arange(0, 80, 2)
    assert images.shift_that_makes_known(even, even[:18] + 1, None, None) == 1
    assert images.shift_that_makes_known(even, even[1:19] - 1, None, None) == 1
    assert images.shift_that_makes_known(even, even[:17] + 1, None, None) == 0
    assert images.shift_that_makes_known(even + 1, np.append(even[1:19], 80), None, None) == -1
    assert images.shift_that_makes_known(even, np.append(even[:18] + 1, 2001), None, None) == 0


@pytest.mark.parametrize(("found", "before", "shift"), [(6, 6, 1), (5, 5, 0), (6, 7, 0), (9, 9, 1)])
def test_a_shift_is_believed_where_six_objects_are_found_no_worse(monkeypatch, found, before, shift):
    monkeypatch.setattr(images, "overlaps_under", lambda *_: np.array([0.99] * found + [0.0] * 5))
    plain = SimpleNamespace(side="pred", reading=None, overlaps=np.ones(before))
    known, used = np.arange(10), np.arange(9)
    assert images.shift_that_makes_known(known, used, SimpleNamespace(shifts=(1, -1)), plain) == shift


def test_images_that_the_truth_does_not_have_are_told():
    truth = side(["a.jpg", "b.jpg"])
    pred = side(["a.jpg", "c.jpg", "c.jpg"], confidence=[0.9, 0.8, 0.7])
    found = told_of(truth, pred)["V213"]
    assert (found.count, found.examples) == (2, ("'c.jpg'",))
    assert found.message.startswith(
        "2 of 3 predictions are on 1 images that the truth does not have, e.g. 'c.jpg', nearest"
    )


def test_shares_of_found_objects_are_percent():
    half = SimpleNamespace(found=1, possible=2)
    assert images.share(half) == "50 % of 2 sampled objects are found"
    assert percent(half) == "50 %"
    assert percent(SimpleNamespace(found=3, possible=2)) == "100 %"
    assert percent(SimpleNamespace(found=0, possible=0)) == "0 %"


# Values.


def test_one_box_has_and_two_boxes_have():
    boxes = np.array([BOX, BOX, BOX])
    for many, verb in ((1, "1 of 3 boxes has"), (2, "2 of 3 boxes have")):
        odd = boxes.copy()
        odd[:many, 2] = 10
        found = told(side(["a", "b", "c"], boxes=odd), is_truth=True)["V110"]
        assert found.message.startswith(f"{verb} no width or no height")
        assert found.examples[0] == "a: x1 y1 x2 y2 = 10 20 10 60"


def test_numbers_are_shown_as_the_file_has_them():
    found = told(side(["a", "b"], boxes=[[10, 20, 0, 40], [1, 2, 3, 4]], layout="xywh"), is_truth=True)["V110"]
    assert found.examples == ("a: x y w h = 10 20 0 40",)


def test_corners_the_wrong_way_round_may_be_widths():
    corners = told(side(["a", "b"], boxes=[[50, 20, 10, 60], BOX]), is_truth=True)["V106"]
    assert corners.remedy.endswith("then leave out boxes=xyxy")
    sizes = told(side(["a", "b"], boxes=[[50, 20, -10, 60], BOX], layout="xywh"), is_truth=True)["V106"]
    assert sizes.remedy == "write the smaller corner first: x1 <= x2, y1 <= y2"


def test_ids_that_occur_twice_are_told_with_their_images(tmp_path):
    found = coco(tmp_path, {"id": 7}, {"id": 7, "image_id": 2})["V216"]
    assert found.message == "1 of 2 objects have an id that an earlier one has, too"
    assert found.examples == ("id 7 again in b.jpg",)


def test_areas_of_nothing_are_told(tmp_path):
    found = coco(tmp_path, {"area": 0}, {})["V113"]
    assert found.message.startswith("1 of 2 objects have a stated area of 0 or below, which decides")
    assert found.examples == ("a.jpg, id 1: area 0",)


def test_an_id_of_zero_is_told_with_its_image(tmp_path):
    found = coco(tmp_path, {"id": 0}, {"id": 5})["V217"]
    assert (found.count, found.examples) == (1, ("a.jpg, id 0",))


def test_predictions_without_confidence_may_be_truths():
    found = told(side(["a", "b"]), is_truth=False)["V301"]
    assert found.message == "2 of 2 predictions have no confidence"
    assert found.remedy.endswith("(is this a file of truths?)")
    some = [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": s} for s in (0.5, None)]
    del some[1]["score"]
    mixed = told(vt.read(some), is_truth=False)["V301"]
    assert (mixed.message, mixed.remedy) == (
        "1 of 2 predictions have no confidence", "write the detector's confidence with every box"
    )  # fmt: skip


def test_formats_without_confidences_are_not_asked_for_them():
    panoptic = side(["a", "b"]).said_to_be(Source("x", "panoptic"))
    assert "V301" not in told(panoptic, is_truth=False)


def test_strange_confidences_are_shown():
    def found(*confidence):
        return told(side(["a", "b", "c"], confidence=list(confidence)), is_truth=False)

    assert found(0.5, np.nan, 0.7)["V302"].message == "1 of 3 confidences are NaN or infinite"
    assert found(0.5, np.nan, 0.7)["V302"].examples == ("b: nan",)
    assert found(50, 0.5, 70)["V303"].message == "2 of 3 confidences are above 1"
    assert found(50, 0.5, 70)["V303"].examples == ("a: 50", "c: 70")


def test_file_names_that_occur_twice_are_told(tmp_path):
    two = [{"id": i, "width": 100, "height": 50, "file_name": "a.jpg"} for i in (1, 2)]
    found = coco(tmp_path, {}, images=two)["V215"]
    assert found.message == "1 of 2 images have a file name that an earlier one has, too, e.g. 'a.jpg'"


# Fractions.


def group(numbers, measure="abs", is_sized=True):
    return SimpleNamespace(numbers=np.array(numbers), reading=Reading("xywh", measure), is_sized=is_sized)


SMALL, LARGE = [[0.1, 0.2, 0.3, 0.4]] * 5, [[10.0, 20, 30, 40]] * 5


def fractions_of(truth, pred, unit="px", is_sized=True):
    sample = SimpleNamespace(truth=group(truth, is_sized=is_sized), pred=group(pred))
    mine = side([str(i) for i in range(4)])
    theirs = side([str(i) for i in range(7)], confidence=np.linspace(0.1, 0.9, 7))
    return list(fractions(replace(mine, unit=unit), theirs, sample))


def test_fractions_of_one_side_are_an_error():
    (found,) = fractions_of(LARGE, SMALL)
    assert (found.code, found.severity, found.count) == ("V103", "error", 7)
    assert found.message == "the predictions' boxes look like fractions of the image read as pixels"
    assert found.examples == ("0.1 0.2 0.3 0.4",) * 5
    assert found.remedy.startswith("add --pred-coords rel, and say what the numbers are with --pred-boxes: xywh")


def test_fractions_of_both_sides_are_a_warning():
    (found,) = fractions_of(SMALL, SMALL, is_sized=False)
    assert (found.severity, found.count) == ("warning", 11)
    assert found.message.endswith("read as pixels: pixel rules and size classes are meaningless for them")
    assert found.remedy.startswith("add --pred-coords rel --truth-coords rel and --image-size WIDTH,HEIGHT, and say")


def test_fractions_that_are_meant_so_and_small_pixels_are_left_in_peace():
    assert fractions_of(LARGE, LARGE) == []
    assert fractions_of(SMALL, SMALL, unit="rel") == []
    assert fractions_of([[1.0, 1, 3, 3]] * 5, SMALL) == []  # the other side may be as small


def sized(*sizes):
    return SimpleNamespace(sizes=np.array(sizes, dtype=float), is_sized=True)


def test_a_scale_is_a_factor_or_a_frame_where_all_images_have_one_size():
    def ways(measure, unit, truth):
        return [(way.measure, *way.unit) for way in scaling.ways_to_put(Reading("xywh", measure, unit), truth)]

    one, several = sized((200, 100), (200, 100)), sized((200, 100), (200, 50))
    assert ways("factor", (0.5, 0.5), one) == [("factor", 0.5, 0.5), ("frame", 100, 50)]
    assert ways("frame", (100.0, 50.0), one) == [("frame", 100, 50), ("factor", 0.5, 0.5)]
    assert ways("factor", (0.5, 0.5), several) == [("factor", 0.5, 0.5)]
    assert ways("longest", (640.0, 640.0), one) == [("longest", 640, 640)]


@pytest.mark.parametrize(
    ("value", "step", "found"), [(2.3, 0.5, 2.5), (0.4, 0.5, 0.4), (0.3, 1, 1 / 3), (0.98, 0.5, 1), (33, 32, 32)]
)
def test_numbers_below_one_are_reciprocals_of_multiples(value, step, found):
    assert scaling.multiple(value, step) == pytest.approx(found)


def test_logarithms_are_of_centre_size_and_distance():
    found = scaling.logarithms(np.array([[3.0, 5, 4, 12]]))
    assert np.exp(found[0]) == pytest.approx([7, 17, 1, 7, 5, 13])


def test_truths_meet_the_most_confident_predictions_of_their_image():
    # One truth and seven predictions in the first image: twice as many as truths, but five at least; one in the second.
    class Truth(SimpleNamespace):
        def __len__(self):
            return 2

    pred = SimpleNamespace(counts=np.array([7, 1]), cells=np.array([0, 7, 8]))
    one, other = scaling.pairs_within(Truth(counts=np.array([1, 1]), image=np.array([0, 1])), pred)
    assert (one.tolist(), other.tolist()) == ([0] * 5 + [1], [0, 1, 2, 3, 4, 7])


def test_boxes_that_all_begin_or_end_at_one_place_are_not_taken_for_corners():
    moving = np.array([[5.0, 1, 10, 4], [6, 2, 11, 5], [7, 3, 12, 6]])
    assert are_like_corners(moving, 0.5)
    for column in range(4):
        still = moving.copy()
        still[:, column] = moving[0, column] if column < 2 else 20
        assert not are_like_corners(still, 0.5)


# Poses and rotated boxes.


@pytest.mark.parametrize(("compared", "better", "is_told"), [(9, 6, False), (8, 6, True), (5, 5, True), (4, 4, False)])
def test_more_than_two_thirds_of_the_poses_must_be_mirrored(compared, better, is_told):
    found = list(poses.find_mirrored(SimpleNamespace(mirrored=(compared, better))))
    assert [f.message for f in found] == [
        f"keypoints are mirrored: in {better} of {compared} poses that tell, left and right fit when they change places"
    ] * is_told


def test_truths_are_paired_with_predictions_that_overlap_by_half():
    truth = side(["a", "b", "c"], boxes=[[0, 0, 10, 10]] * 3)
    boxes = [[0, 0, 10, 4], [0, 0, 10, 5], [0, 0, 10, 4.9]]
    pred = side(["a", "a", "b"], boxes=boxes, confidence=[0.9, 0.8, 0.7]).like(truth)
    assert list(poses.nearest(SimpleNamespace(truth=truth, pred=pred))) == [(0, 1)]


def test_another_number_of_keypoints_is_told(tmp_path):
    three, two = {"keypoints": [5, 5, 2] * 3, "num_keypoints": 3}, {"keypoints": [5, 5, 2] * 2, "num_keypoints": 2}
    found = coco(tmp_path, three, three, two, {}, {}, {}, {})["V420"]  # who has none may have none
    assert found.message == "1 of 7 truths have another number of keypoints than 3"
    assert found.examples == ("a.jpg, id 3",)


def test_keypoints_leave_the_image_by_a_tenth_of_its_side(tmp_path):
    # Images of 100 x 50.
    for point, is_told in (((110, 10), False), ((110.1, 10), True), ((-10, 10), False), ((10, -5.1), True)):
        found = coco(tmp_path, {"keypoints": [*point, 2, 5, 5, 2], "num_keypoints": 2}, {"keypoints": [5, 5, 2] * 2})
        assert ("V421" in found) == is_told
    unlabelled = coco(tmp_path, {"keypoints": [900, 10, 0, 5, 5, 2], "num_keypoints": 1})
    assert "V421" not in unlabelled


def test_truths_without_a_labelled_keypoint_are_counted(tmp_path):
    found = coco(tmp_path, {"keypoints": [5, 5, 0]}, {"keypoints": [6, 5, 0]}, {})["V422"]
    assert found.message == "none of 2 truths has a labelled keypoint, so that nothing is asked for"


@pytest.mark.parametrize(
    ("note", "option"),
    [
        ("degrees, clockwise", "degrees-ccw"),
        ("degrees, counterclockwise", "degrees"),
        ("radians, clockwise", "radians-ccw"),
        ("radians, counterclockwise", "radians"),
    ],
)
def test_angles_are_to_be_read_the_other_way(note, option):
    noted = SimpleNamespace(source=SimpleNamespace(notes=("something", f"{rotated.FIVE_NUMBERS} {note}")))
    silent = SimpleNamespace(source=SimpleNamespace(notes=()))
    assert rotated.spell_other_way(SimpleNamespace(pred=noted, truth=silent)) == f"--pred-angle {option}"
    assert rotated.spell_other_way(SimpleNamespace(pred=silent, truth=noted)) == f"--truth-angle {option}"


def test_equal_confidences_are_counted_by_class():
    pred = side(list("abcdef"), ["cat"] * 4 + ["dog"] * 2, confidence=[0.5, 0.5, 0.5, 0.6, 0.5, 0.5])
    assert ties.count_ties(pred) == (5, [(3, 0, 0.5), (2, 1, 0.5)])


# Masks.


def test_masks_on_their_side_are_told_with_both_sizes(tmp_path):
    found = coco(tmp_path, {"segmentation": {"size": [100, 50], "counts": [0, 5000]}}, {})["V406"]
    assert found.message.startswith("1 of 2 masks are as high as their image is wide")
    assert found.examples == ("a.jpg, id 1: 100 x 50, its image 50 x 100 (height x width)",)


def test_crowds_of_polygons_are_counted_among_crowds(tmp_path):
    ring = {"segmentation": [[0, 0, 3, 0, 3, 3]], "iscrowd": 1}
    mask = {"segmentation": {"size": [50, 100], "counts": [0, 5000]}, "iscrowd": 1}
    found = coco(tmp_path, ring, mask, {})["V418"]
    assert found.message.startswith("1 of 2 crowds are polygons")
    assert found.examples == ("a.jpg, id 1",)


# What is made of findings.


def finding(code="V111", severity="error", side="pred", **more):
    return Finding(code, severity, more.pop("message", "something"), 1, more.pop("examples", ()), "mend it", side)


def stopped(*findings, **paths):
    with pytest.raises(vt.DataError) as error:
        stop_on_errors(findings, paths)
    return str(error.value)


def test_an_evaluation_stops_at_the_first_error_and_counts_the_others():
    way = "verite inspect shows everything, --checks warn goes on regardless)"
    assert stopped(finding()) == f"V111 something; mend it ({way}"
    assert stopped(finding(), finding("V112")) == f"V111 something; mend it (one more error; {way}"
    assert stopped(finding(), finding(), finding()) == f"V111 something; mend it (2 more errors; {way}"
    assert stopped(finding("V110", "warning"), finding()) == f"V111 something; mend it ({way}"
    stop_on_errors([finding(severity="warning")], {})


def test_the_file_at_fault_is_named():
    assert stopped(finding(), pred="p.json", truth="t.json").startswith("p.json: V111")
    assert stopped(finding(side="truth"), pred="p.json", truth="t.json").startswith("t.json: V111")
    assert stopped(finding(side="truth"), truth="").startswith("truth: V111")


def test_one_warning_tells_how_many_more_there_are():
    def warned(*findings):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warn_of(findings, "coco")
        return [str(one.message) for one in caught]

    assert warned() == []
    assert warned(finding()) == ["coco: V111 something; mend it"]
    assert warned(finding(), finding("V112")) == ["coco: V111 something; mend it (1 more)"]


def test_five_examples_are_enough():
    assert finding(examples=tuple("abcdefg")).examples == tuple("abcde")


def test_a_finding_as_plain_values_has_its_options():
    fixed = Finding("V101", "error", "m", 3, ("e",), Fix("pred", (("boxes", "xyxy"), ("coords", "*0.5"))))
    assert fixed.to_dict() | {"message": ""} == {
        "code": "V101", "severity": "error", "side": "pred", "message": "", "count": 3, "examples": ["e"],
        "fix": 'add --pred-boxes xyxy --pred-coords "*0.5"', "options": '--pred-boxes xyxy --pred-coords "*0.5"',
        "python": 'boxes="xyxy", coords="*0.5"',
    }  # fmt: skip
    assert finding().to_dict()["options"] is None


def test_among_very_many_names_only_those_that_begin_or_end_alike_are_compared():
    many = [f"n{i:06d}" for i in range(2001)]
    assert near_word("cat", [*many, "cet"]) != "cet"
    assert near_word("catalogue", [*many, "catalogua"]) == "catalogua"
    assert near_word("xatalogue", [*many, "catalogue"]) == "catalogue"
    assert near_word("cat", [*many[:1000], "cet"]) == "cet"


# A file in numbers.


def test_a_file_is_told_in_numbers():
    # Sides of boxes: square roots of 100, 400 and 900.
    annotations = vt.Annotations.of(
        ["a", "a", "b"], ["dog", "cat", "cat"], [[0, 0, 10, 10], [0, 0, 20, 20], [0, 0, 30, 30]],
        confidence=[0.25, 0.5, 0.75], sizes={"a": (100, 50), "b": (200, 80), "c": (20, 10)},
    )  # fmt: skip
    lines = str(vt.inspect(annotations)).splitlines()
    assert "  images       3, 2 with predictions, 20 x 10 to 200 x 80" in lines
    assert "  labels       2: cat 2, dog 1" in lines
    assert "  read as      given in Python" in lines
    assert "  box sides    10 to 30 px, median 20 (square root of the area)" in lines
    assert "  confidences  0.25 to 0.75" in lines


def test_ten_labels_are_shown_and_the_rest_is_counted():
    for many, more in ((10, ""), (11, " and 1 more")):
        names = [f"c{i:02d}" for i in range(many)]
        text = str(vt.inspect(side([str(i) for i in range(many)], names)))
        shown = ", ".join(f"{name} 1" for name in names[:10])
        assert f"  labels       {many}: {shown}{more}\n" in text


def test_images_of_one_size_are_told_once_and_unknown_sizes_as_such():
    assert "with objects, 9 x 8\n" in str(vt.inspect(side(["a", "b"], sizes={"a": (9, 8), "b": (9, 8)})))
    assert "with objects, sizes unknown\n" in str(vt.inspect(side(["a"])))


def test_poses_are_counted(tmp_path):
    coco(tmp_path, {"keypoints": [5, 5, 2, 6, 6, 0]}, {"keypoints": [6, 5, 0, 7, 7, 0]}, {})
    text = str(vt.inspect(tmp_path / "truth.json"))
    assert "  keypoints    2, of 2 objects, 1 with a labelled one" in text
    assert "  read as      coco: a JSON object" in text


def test_an_inspection_as_a_document_is_one_line_unless_told():
    found = vt.inspect(side(["a"]))
    assert "\n" not in found.to_json().strip()
    assert "\n " in found.to_json(indent=1)
