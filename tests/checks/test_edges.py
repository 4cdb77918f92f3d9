"""Where equal is enough, which of two numbers counts, who is left out: small points of many checks."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.checks.small import side, told
from tests.checks.test_boundaries import explanation, like_corners
from tests.checks.test_outside import findings, lying
from tests.checks.test_reading_boundaries import group, mistaken_mapping, side_of
from tests.checks.test_scaling import refine, spread
from tests.checks.test_weighing import scaled
from verite.checks import Finding, boxes, classes, evidence, images, scaling
from verite.checks import boxes as rotated
from verite.checks import misread_boxes as hypotheses
from verite.checks import misread_boxes as plausibility
from verite.checks import predictions as cuts
from verite.checks.check import near_word, warn_of
from verite.checks.readings import Reading
from verite.checks.sample import Sample, Side, is_reversed
from verite.model.annotations import Source
from verite.model.images import Images


def text_folder(values, confidence=None):
    names = [f"{i}" for i in range(len(values))]
    source = Source("x", "text", "numbers taken as left, top, width and height, the default")
    made = vt.Annotations.of(names, ["cat"] * len(values), values, "xywh", confidence=confidence)
    return made.with_source(source)


def test_corners_on_one_side_alone_are_not_told_of_both():
    corners, widths = like_corners(20, 10), np.tile([50.0, 60, 20, 30], (20, 1))
    sure = np.linspace(0, 1, 20)
    assert list(boxes.corners_on_both_sides(text_folder(corners), text_folder(corners, sure)))
    assert not list(boxes.corners_on_both_sides(text_folder(widths), text_folder(corners, sure)))
    assert not list(boxes.corners_on_both_sides(text_folder(corners), text_folder(widths, sure)))
    (found,) = boxes.corners_on_both_sides(text_folder(corners), text_folder(corners, sure))
    assert (found.code, found.count, len(found.examples)) == ("V101", 40, 5)
    assert "all 40 lines" in found.message


def test_a_detector_without_classes_is_advised_where_there_are_classes():
    one, two = side(["a"], ["cat"]), side(["a", "b"], ["cat", "dog"])
    assert "class_agnostic=True" in classes.advice_on_classes(["thing"], two, is_all=True)
    assert classes.advice_on_classes(["thing"], one, is_all=True) == "the ground truth has 'cat'"
    assert classes.advice_on_classes(["thing"], two, is_all=False) == "the ground truth has 'cat', 'dog'"
    assert classes.advice_on_classes(["thing", "other"], two, is_all=True) == "the ground truth has 'cat', 'dog'"


def test_the_mapping_under_which_most_agree_is_told():
    # Ids 1 to 40; 60 of 100 pairs agree one up, 40 one down.
    label = np.arange(100) % 10 + 10
    told = mistaken_mapping(label, np.where(np.arange(100) < 60, label - 1, label + 1), 1)
    assert (told.name, told.agree, told.before, told.pairs) == ("+1", 60, 0, 100)


def test_a_threshold_shows_where_confidences_are_probabilities():
    def is_told(low, high, count=20):
        confidence = np.linspace(low, high, count)
        given = side([str(i) for i in range(count)], confidence=confidence)
        return bool(list(cuts.find_threshold(Side(given, is_truth=False))))

    assert is_told(0.3, 1.0)
    assert not is_told(0.3, 1.5)
    assert not is_told(1.2, 1.5)
    assert not is_told(0.5, 0.5)
    assert not is_told(0.3, 1.0, count=19)
    assert not is_told(0.05, 1.0)


def test_a_warning_points_at_who_asked():
    finding = Finding("V101", "error", "something", 1, (), "nothing")

    def evaluate():
        warn_of([finding], "coco")

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluate()
    here = test_a_warning_points_at_who_asked.__code__.co_firstlineno
    assert caught[0].lineno == here + 8  # the line that called `evaluate`


def test_the_first_of_two_units_is_that_of_the_width():
    own = Reading("xywh")
    assert hypotheses.is_worth_it(Reading("xywh", "longest", (640.0, 700.0)), own)
    assert not hypotheses.is_worth_it(Reading("xywh", "longest", (700.0, 640.0)), own)
    assert hypotheses.is_worth_it(Reading("xyxy", "factor", (1.5, 1.0)), own)
    assert not hypotheses.is_worth_it(Reading("xyxy", "factor", (1.0, 1.5)), own)
    assert Reading("xywh", "factor", (0.5, 0.25)).words.endswith("0.5 times as large as the image's")
    assert Reading("xywh", "longest", (640.0, 1.0)).words.endswith("whose longer side is 640")
    assert Reading("xywh", "factor", (0.5, 0.25)).coords == "*2"


def test_images_that_are_all_as_wide_as_each_other_do_not_differ():
    wide = group([[0, 0, 20, 20]] * 5, size=(200.0, 100.0), layout="xywh")
    assert {one[0] for one in scaled(wide, wide)} == {"pred"}


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


def test_images_without_a_size_are_not_turned():
    boxes = np.concatenate([lying(3), [[0, 0, 900, 900]]])
    names = ["a", "b", "c", "d"]
    given = vt.Annotations.of(names, ["cat"] * 4, boxes, sizes=dict.fromkeys("abc", (400, 300)))
    assert told(given, is_truth=True)["V108"].count == 3
    assert findings(lying(3), is_truth=True, sizes=(400, 300))["V108"].severity == "warning"


def test_a_bias_is_measured_by_the_sides_of_boxes_wherever_they_lie():
    def is_biased(by):
        boxes = [[1000.0, 1000, 1100, 1100]] * 3
        sample = Sample(group(*([box] for box in boxes)), {0: group(*([np.add(box, by)] for box in boxes))})
        return plausibility.is_biased(sample, explanation([0.9] * 3, 3, Reading("xyxy")))

    for edge in range(4):
        off = np.zeros(4)
        for by, is_so in ((9.9, False), (10.1, True), (-9.9, False), (-10.1, True)):
            off[edge] = by
            assert is_biased(off) == is_so


def test_angles_need_rotated_boxes_on_both_sides():
    for quads in ((None, np.zeros((1, 4, 2))), (np.zeros((1, 4, 2)), None), (None, None)):
        answers = iter(quads)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rotated, "quads_of", lambda regions, answers=answers: next(answers))
            patch.setattr(rotated, "nearest", lambda pair: [])
            one = SimpleNamespace(regions=None, source=SimpleNamespace(notes=()))
            assert list(rotated.find_mirrored_angles(SimpleNamespace(truth=one, pred=one))) == []


class Truths(SimpleNamespace):
    def __len__(self):
        return len(self.image)


def pairs(truths, preds):
    truth = Truths(counts=np.array([truths]), image=np.zeros(truths, np.int64))
    return scaling.pairs_within(truth, SimpleNamespace(counts=np.array([preds]), cells=np.array([0, preds])))


def test_truths_meet_twice_as_many_predictions_as_there_are_truths():
    assert len(pairs(3, 9)[0]) == 18
    assert len(pairs(2, 9)[0]) == 10  # five at least
    assert len(pairs(3, 4)[0]) == 12


def test_ten_thousand_pairs_are_too_many():
    assert len(pairs(2499, 4)[0]) == 9996
    assert len(pairs(2500, 4)[0]) == 5000


def test_small_boxes_a_pixel_apart_do_not_overlap_by_half():
    tiny = np.concatenate([spread(6)[:, :2], spread(6)[:, :2] + 2], axis=1)
    assert refine(tiny, np.add(tiny, [1, 0, 1, 0]), [1.0, 1.0]) is None  # a third; with edges in it would be half
    image = np.zeros(6, np.int64)
    assert evidence.best_overlaps(tiny, image, np.add(tiny, [1, 0, 1, 0]), image) == pytest.approx([1 / 3] * 6)


def test_shapes_and_shares_at_the_point_itself():
    assert scaling.has_usual_shape("frame", (40.0, 100.0))
    assert scaling.has_usual_shape("frame", (250.0, 100.0))
    assert not is_reversed(1000, 1000, 400_000)
    assert is_reversed(1000, 1000, 399_999)
    assert near_word("cat", ["dog"]) is None


def test_a_frame_is_a_factor_by_the_size_of_any_image():
    truth = SimpleNamespace(sizes=np.array([[200.0, 100.0]]), is_sized=True)
    ways = list(scaling.ways_to_put(Reading("xywh", "frame", (100.0, 50.0)), truth))
    assert [(way.measure, way.unit) for way in ways] == [("frame", (100, 50)), ("factor", (0.5, 0.5))]


def test_predictions_are_counted_by_class_and_image():
    names, labels = ["a"] * 60 + ["b"] * 60, ["dog"] * 60 + ["cat"] * 60
    given = side(names, labels, np.tile([0.0, 0, 9, 9], (120, 1)), confidence=np.linspace(0, 1, 120))
    assert list(cuts.find_too_many(Side(given, is_truth=False))) == []
    more = side(names * 2, labels * 2, np.tile([0.0, 0, 9, 9], (240, 1)), confidence=np.linspace(0, 1, 240))
    (found,) = cuts.find_too_many(Side(more, is_truth=False))
    assert (found.count, found.examples) == (40, ("b: 120 of cat", "a: 120 of dog"))


def test_a_point_at_the_end_of_the_image_is_in_its_last_part():
    assert evidence.places(np.array([[80.0, 80, 100, 100], [100, 100, 100, 100]])) == 1


def test_truths_that_reach_just_as_far_lie_in_enough_places():
    assert side_of((1.15, 0.6), (1, 1), places=7) == "pred"
    assert side_of((1.15, 0.6), (1, 1), places=8) == "truth"


def test_the_nearest_number_is_nearest_wherever_ids_begin():
    truth = SimpleNamespace(images=Images(["x", "y"], [10, 20]))
    assert images.nearest_image(truth, "19", is_number=True) == "20"
    known = np.arange(1001, 1200, 2)
    for many, shift in ((18, 1), (17, 0)):  # half of the numbers from the first to the last, as above
        assert images.shift_that_makes_known(known, known[:many] - 1, None, None) == shift


def test_a_file_is_named_by_its_path():
    given = side(["a"])
    assert str(vt.inspect(given)).startswith("truth: (not from a file)\n")
    assert str(vt.inspect(given.with_source(Source("gt.json", "coco", "")))).startswith("truth: gt.json\n")
    assert Reading("xyxy", "padded", (640.0, 480.0)).words.endswith("padded to 640 x 480")


def test_truths_reach_farther_in_either_direction():
    near, plain = group([[0, 0, 10, 10]] * 3, size=(0.0, 0.0)), explanation([0.0] * 3, 3)
    found = replace(explanation([0.9] * 3, 3, Reading("xyxy")), side="truth")
    for box in ([0, 0, 90, 10], [0, 0, 10, 90]):
        far = group([box] * 3, size=(0.0, 0.0))
        assert not plausibility.lies_in_images(Sample(far, {0: near}), plain, found)


def test_two_classes_are_several():
    """Of predictions of two classes a seventh may show a shift, as of more; of one class half of them."""
    given = np.repeat([9, 10], 50).astype(np.int32)
    for used, is_told in (([9, 10], True), ([9, 9], False)):
        pred = np.where(given == 9, *used).astype(np.int32)
        label = np.where(np.arange(100) % 50 < 15, pred + 1, pred + 5).astype(np.int32)  # 30 of 100 are one up
        rows = SimpleNamespace(rows=np.arange(100))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(classes, "class_numbers", lambda truth, pred: (np.arange(1, 41), np.arange(1, 41)))
            patch.setattr(classes, "pairings", lambda *given: [(np.arange(100), np.arange(100))])
            patch.setattr(classes, "pair_examples", lambda *given: ())
            patch.setattr(classes, "is_explained", lambda *given: True)
            sides = [SimpleNamespace(label=own, labels=range(40)) for own in (label, pred)]
            told = classes.mistaken_mapping(*sides, SimpleNamespace(truth=rows, preds={0: rows}), explanation([], 1))
        assert (told is not None) == is_told


def test_ratios_that_are_just_as_far_apart_do_not_agree():
    apart = np.tile([0.4, 0.0], (6, 3))
    assert scaling.common_ratio(apart, is_one_number=True) is None
    assert scaling.common_ratio(apart, is_one_number=False) is not None
    sizes = np.tile([0.5, 0.5, 0.1, 0.1, 0.5, 0.5], (6, 1))  # 0.4 from the centres
    assert scaling.common_ratio(sizes, is_one_number=False) is None


def test_an_image_of_one_pixel_has_a_size():
    assert group([[0, 0, 1, 1]], size=(1.0, 1.0)).is_sized
    assert not group([[0, 0, 1, 1]], size=(1.0, 0.0)).is_sized
