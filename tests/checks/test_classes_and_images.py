"""Class and image ids and names: shifts, gaps, unknown and nearly equal names."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.checks.small import BOX, side, told, told_of
from verite.checks import boxes, classes, images
from verite.checks.boxes import percent
from verite.checks.check import Fix
from verite.checks.predictions import find_exchanged_classes, no_predictions
from verite.checks.sample import fold
from verite.model.annotations import Source
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.regions import Regions

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


def test_one_class_confused_with_another_is_no_shift():
    assert not explained([1] * 20, 0, [1, 2], [2, 3])
    assert not explained([1] * 20 + [2], 0, [1, 2], [2, 3])
    assert explained([1] * 20 + [2] * 2, 0, [1, 2], [2, 3])


def test_a_mapping_that_loses_a_class_explains_nothing():
    assert not explained([1] * 20 + [2] * 20, 0, [2, 3], [3, 4])


def test_ids_with_gaps_may_have_been_counted_from_0_or_1():
    found = dict(classes.mappings(np.array([4, 1, 2])))
    assert list(found) == ["+1", "-1", "index from 0", "index from 1"]
    coco = dict(classes.mappings(np.array([1, 13])))["index from 0 of COCO"]
    assert coco(np.array([0, 10, 11, 79, 80])).tolist() == [1, 11, 13, 90, -1]
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


def coco_of(classes_of, ids):
    """A truth with COCO's 80 ids and results whose class ids are `ids(position)`, two objects of each given class."""
    kept = [i for i in range(1, 91) if i not in (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)]
    positions = np.repeat(classes_of, 2)
    boxes = np.array([[20.0 * i, 30, 20 * i + 15, 60] for i in range(len(positions))])
    images, labels = Images(["a.jpg"], [1], widths=[4000], heights=[100]), Labels([f"class {i}" for i in kept], kept)
    regions, image = Regions(boxes, "xyxy"), np.zeros(len(positions), dtype=int)
    truth = vt.Annotations(images=images, labels=labels, image=image, label=positions, regions=regions)
    results = [
        {"image_id": 1, "category_id": ids(p), "bbox": [x, 30, 15, 30], "score": 0.9 - i / 1000}
        for i, (p, x) in enumerate(zip(positions.tolist(), boxes[:, 0], strict=True))
    ]
    return truth, vt.read(results, like=truth)


def test_positions_from_one_are_ids_up_to_the_first_gap_only():
    """Of COCO's classes, the first eleven have the same number in both; most objects are of these."""
    truth, pred = coco_of([0] * 30 + [11, 12, 15, 20, 30, 40, 50, 60, 70, 79], lambda position: position + 1)
    found = told_of(truth, pred)["V202"]
    assert "COCO's 80 positions from 1 instead" in found.message
    assert "60 of 80 overlapping pairs agree in class as read, 80 if read so" in found.message
    kept = truth.labels.ids.tolist()
    assert "V202" not in told_of(truth, coco_of([0] * 30 + [11, 12, 15, 20], lambda position: kept[position])[1])


def test_classes_in_another_order_are_named_though_no_shift_explains_them():
    """Ten classes of six objects, each predicted as one that has no object, so that no cycle closes."""
    kept = [i for i in range(1, 91) if i not in (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)]
    truth, pred = coco_of(
        list(range(10)) * 3, lambda position: kept[[17, 12, 21, 10, 25, 11, 30, 13, 40, 15][position]]
    )
    found = told_of(truth, pred)["V205"]
    assert found.message.startswith("10 of 10 classes are predicted as another one, each as a different one: 6 of 6")
    assert found.severity == "warning"
    assert "V205" not in told_of(truth, coco_of(list(range(10)) * 3, lambda position: kept[position])[1])
    # A detector that takes every class for one of two.
    assert "V205" not in told_of(truth, coco_of(list(range(10)) * 3, lambda position: kept[20 + position % 2])[1])


def test_unknown_class_ids_are_to_be_those_of_the_ground_truth():
    truth, pred = coco_of([0, 1, 2, 3], lambda position: 26 if position == 3 else position + 1)
    assert told_of(truth, pred)["V203"].remedy == "write class ids of the ground truth, which has 80 between 1 and 90"


def test_numbers_for_names_want_a_list_of_names():
    named, numbered = (SimpleNamespace(labels=Labels(names)) for names in (["cat", "7"], ["6", "7"]))
    assert "names=FILE" in classes.advice_on_classes(["1", "2"], named, is_all=True)
    assert classes.advice_on_classes(["1", "2"], numbered, is_all=True) == "the ground truth has '6', '7'"
    assert classes.advice_on_classes(["1", "dog"], named, is_all=False) == "the ground truth has 'cat', '7'"


def test_shifted_class_ids_are_reported_with_the_evidence():
    plain = side(["a"], confidence=[0.5])
    found = classes.mapping_finding(plain, classes.Mapping("+1", 20, 3, 25, ("an example",)))
    assert (found.code, found.severity, found.count, found.examples) == ("V201", "error", 1, ("an example",))
    assert all(part in found.message for part in ("shifted by -1", "3 of 25", "20 with +1"))
    assert found.fix == "add +1 to the class numbers"
    yolo = plain.with_source(Source("x", "yolo"))
    assert classes.mapping_finding(yolo, classes.Mapping("-1", 2, 1, 3, ())).fix == Fix("pred", (("label_offset", -1),))


def test_class_ids_counted_without_gaps_are_reported_so():
    found = classes.mapping_finding(side(["a"], confidence=[0.5]), classes.Mapping("index from 0", 20, 3, 25, ()))
    assert found.code == "V202"
    assert all(part in found.message for part in ("positions from 0", "gaps", "3 of 25", "20"))


def test_classes_that_the_ground_truth_does_not_have_are_reported_with_the_nearest():
    truth = side(["a", "b", "c"], ["cat", "dog", "car"])
    pred = side(["a", "b", "c"], ["cat", "zebra", "zebra"], confidence=[0.9, 0.8, 0.7])
    found = told_of(truth, pred)["V203"]
    assert (found.severity, found.count) == ("warning", 2)
    assert "2 of 3 predictions" in found.message
    assert found.message.endswith("e.g. 'zebra'")
    near = told_of(truth, side(["a"], ["cet"], confidence=[0.9]))["V203"]
    assert near.severity == "error"
    assert near.message.endswith("e.g. 'cet'; did you mean 'cat'?")
    assert near.examples == ("'cet', nearest 'cat'",)


def test_names_are_folded_by_case_and_white_space():
    assert fold("  Traffic   Light ") == fold("traffic light")


def test_classes_that_differ_by_case_alone_are_reported():
    truth = side(["a", "b", "c"], ["cat", "Cat", "dog"])
    found = told(truth, is_truth=True)["V204"]
    assert found.message.endswith("'cat' and 'Cat'")
    assert found.count == 1
    assert "V204" not in told(side(["a", "b"], ["cat", "dog"]), is_truth=True)


def test_predictions_of_a_class_spelt_otherwise_are_reported():
    truth = side(["a", "b"], ["cat", "dog"])
    found = told_of(truth, side(["a", "b"], ["Cat", "dog"], confidence=[0.9, 0.8]))["V204"]
    assert (found.severity, found.count, found.examples) == ("warning", 1, ("'Cat' for 'cat'",))
    assert found.message.startswith("1 of 2 predictions")
    assert told_of(truth, side(["a"], ["Cat"], confidence=[0.9]))["V204"].severity == "error"


def test_classes_without_predictions_and_without_objects_are_noted():
    truth = vt.Annotations.of(["a", "b"], ["cat", "dog"], [BOX, BOX], labels=["cat", "dog", "car"])
    found = told_of(truth, vt.Annotations.of(["a"], ["cat"], [BOX], confidence=[0.5]))
    assert [(found[code].count, found[code].examples) for code in ("V309", "V220")] == [
        (1, ("'dog'",)),
        (1, ("'car'",)),
    ]
    assert all(found[code].message.startswith("1 of 3 classes") for code in ("V309", "V220"))


def test_swapped_classes_are_reported_with_their_counts():
    truth, pred = side(["a", "b"], ["cat", "dog"]), side(["a", "b"], ["cat", "dog"], confidence=[0.5, 0.6])
    pair = SimpleNamespace(truth=truth, pred=pred, fit=SimpleNamespace(exchanges=[(0, 1, 7, 9), (1, 0, 5, 6)]))
    (found,) = find_exchanged_classes(pair)
    assert (found.severity, found.count) == ("warning", 12)
    assert found.message.startswith("2 classes")
    assert [line in found.message for line in found.examples] == [True, False]
    for example, parts in zip(
        found.examples, (("7 of 9", "'cat'", "'dog'"), ("5 of 6", "'dog'", "'cat'")), strict=True
    ):
        assert [example.index(part) for part in parts] == sorted(example.index(part) for part in parts)


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


def test_images_that_the_ground_truth_does_not_have_are_reported():
    truth = side(["a.jpg", "b.jpg"])
    pred = side(["a.jpg", "c.jpg", "c.jpg"], confidence=[0.9, 0.8, 0.7])
    found = told_of(truth, pred)["V213"]
    assert (found.count, found.examples) == (2, ("'c.jpg'",))
    assert all(part in found.message for part in ("2 of 3 predictions", "1 images", "'c.jpg', nearest"))


def test_a_table_says_how_to_have_an_image_without_objects(tmp_path):
    head = "image,label,x,y,width,height"
    rows = [f"{i}.jpg,cat,1,2,30,40" for i in range(3)]
    (tmp_path / "truth.csv").write_text("\n".join([head, *rows]))
    (tmp_path / "pred.csv").write_text(
        "\n".join([f"{head},score", *(f"{row},0.9" for row in rows), "9.jpg,cat,1,2,3,4,0.1"])
    )
    with pytest.raises(
        vt.DataError, match="if they have no objects, add a row to the ground truth with the image alone"
    ):
        vt.coco(tmp_path / "truth.csv", tmp_path / "pred.csv")
    (tmp_path / "truth.csv").write_text("\n".join([head, *rows, "9.jpg,,,,,"]))
    assert vt.coco(tmp_path / "truth.csv", tmp_path / "pred.csv")["AP"].value == 1  # the false positive is last
    assert len(vt.read(tmp_path / "truth.csv").images) == 4


def test_shares_of_found_objects_are_percent():
    half = SimpleNamespace(found=1, possible=2)
    assert percent(half) == "50 %"
    assert percent(SimpleNamespace(found=3, possible=2)) == "100 %"
    assert percent(SimpleNamespace(found=0, possible=0)) == "0 %"


def test_a_detector_without_classes_is_advised_where_there_are_classes():
    one, two = side(["a"], ["cat"]), side(["a", "b"], ["cat", "dog"])
    assert "class_agnostic=True" in classes.advice_on_classes(["thing"], two, is_all=True)
    assert classes.advice_on_classes(["thing"], one, is_all=True) == "the ground truth has 'cat'"
    assert classes.advice_on_classes(["thing"], two, is_all=False) == "the ground truth has 'cat', 'dog'"
    assert classes.advice_on_classes(["thing", "other"], two, is_all=True) == "the ground truth has 'cat', 'dog'"


def test_overlaps_that_remain_are_enough_where_they_are_just_as_many():
    def shift(kept):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(images, "overlaps_under", lambda *given: np.repeat([1.0, 0.0], [kept, 100 - kept]))
            plain = SimpleNamespace(side="pred", reading=None, overlaps=np.ones(100))
            return images.shift_that_makes_known(np.arange(1, 101), np.arange(100), SimpleNamespace(shifts=(1,)), plain)

    assert (shift(98), shift(97)) == (1, 0)  # 0.98 of 100


def test_a_share_of_one_object_is_all_of_it():
    assert boxes.percent(SimpleNamespace(found=1, possible=1)) == "100 %"
    assert boxes.percent(SimpleNamespace(found=0, possible=0)) == "0 %"


def test_the_nearest_image_holds_the_name_or_is_held_by_it():
    def nearest(name, *names):
        return images.nearest_image(SimpleNamespace(images=Images(names)), name, is_number=False)

    assert nearest("axb", "cat", "x") == "x"
    assert nearest("in/x.png", "cat.jpg", "x.jpg") == "x.jpg"
    assert nearest("x.png", "cat.jpg", "in/x.jpg", "in/deep/x.jpg") == "in/x.jpg"
    assert nearest("plain", "cat.jpg", "explained") == "explained"


def test_the_nearest_number_is_nearest_wherever_ids_begin():
    truth = SimpleNamespace(images=Images(["x", "y"], [10, 20]))
    assert images.nearest_image(truth, "19", is_number=True) == "20"
    known = np.arange(1001, 1200, 2)
    for many, shift in ((18, 1), (17, 0)):  # half of the numbers from the first to the last, as above
        assert images.shift_that_makes_known(known, known[:many] - 1, None, None) == shift


def test_class_ids_beside_a_ground_truth_without_classes_are_advised_on_in_words(tmp_path):
    truth, pred = tmp_path / "truth.json", tmp_path / "pred.json"
    truth.write_text('{"images": [{"id": 1, "width": 9, "height": 9}], "annotations": [], "categories": []}')
    pred.write_text('[{"image_id": 1, "category_id": 7, "bbox": [0, 0, 5, 5], "score": 0.9}]')
    findings = vt.inspect(truth, pred).findings
    assert "V203" in {finding.code for finding in findings}
