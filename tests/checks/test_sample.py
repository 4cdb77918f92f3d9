"""The sample of images, box formats as read, and the arguments that a remedy offers."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.checks.test_misread_boxes import group
from verite.checks import evidence as explanations
from verite.checks import readings, sample
from verite.checks.check import Fix
from verite.checks.readings import Reading, code_of, fix_of
from verite.checks.sample import Sample, SampledObjects
from verite.model.annotations import Source


def one_an_image(count, first=0, **more):
    names = [f"{i:03d}" for i in range(first, first + count)]
    boxes = np.tile([10.0, 20, 30, 60], (count, 1)) + np.arange(count)[:, None]
    return vt.Annotations.of(names, ["cat"] * count, boxes, **more)


def drawn(truth, pred):
    return sample.sample_images(truth, pred.like(truth))


def test_at_most_128_evenly_spaced_images_are_drawn():
    for count, many in ((127, 127), (128, 128), (129, 128), (300, 128)):
        truth = one_an_image(count)
        found = drawn(truth, one_an_image(count, confidence=np.linspace(0, 1, count)))
        assert (found.truth.images, len(found.truth), len(found.pred)) == (many, many, many)
        assert (found.truth.rows[0], found.truth.rows[-1]) == (0, count - 1)
    assert found.truth.rows[:4].tolist() == [0, 2, 4, 7]  # 299 / 127 = 2.354 apart, rounded down


def test_images_without_objects_of_both_sides_are_not_drawn():
    truth = one_an_image(6)
    found = drawn(truth, one_an_image(3, first=3, confidence=[0.1, 0.2, 0.3]))
    assert found.truth.rows.tolist() == [3, 4, 5]
    assert found.shifts == (0,)
    assert drawn(truth, one_an_image(3, first=90, confidence=[0.1, 0.2, 0.3])) is None


def test_crowds_and_boxes_that_are_no_numbers_are_not_drawn():
    boxes = [[0.0, 0, 9, 9], [0, 0, 8, np.nan], [0, 0, 7, 7]]
    truth = vt.Annotations.of(["a", "a", "b"], ["cat"] * 3, boxes)
    assert sample.usable_rows(truth).tolist() == [True, False, True]
    assert sample.usable_rows(truth.where(np.array([True, False, True]))) is None
    crowd = replace(truth, flags={"crowd": np.array([False, False, True])})
    assert sample.usable_rows(crowd).tolist() == [True, False, False]
    pred = vt.Annotations.of(["a", "b"], ["cat"] * 2, [[0, 0, 9, 9]] * 2, confidence=[0.5, 0.6])
    assert drawn(crowd, pred).truth.rows.tolist() == [0]


def test_the_hundred_most_confident_predictions_of_an_image_are_drawn():
    truth = vt.Annotations.of(["a", "b"], ["cat"] * 2, [[0, 0, 9, 9]] * 2)
    names, confidence = ["b", *["a"] * 101, "b"], np.concatenate([[0.3], np.linspace(0.1, 0.9, 101), [0.4]])
    found = drawn(truth, vt.Annotations.of(names, ["cat"] * 103, [[0, 0, 9, 9]] * 103, confidence=confidence)).pred
    assert found.cells.tolist() == [0, 100, 102]
    assert found.rows[:3].tolist() == [101, 100, 99]  # the surest first; the one in row 1 is left out
    assert found.rows[98:].tolist() == [3, 2, 102, 0]


def test_sizes_are_those_of_the_objects_images():
    sizes = {"a": (640, 480), "b": (320, 240)}
    truth = vt.Annotations.of(["a", "b", "b"], ["cat"] * 3, [[0, 0, 9, 9]] * 3, sizes=sizes)
    pred = vt.Annotations.of(["b", "a"], ["cat"] * 2, [[0, 0, 9, 9]] * 2, confidence=[0.5, 0.6])
    found = drawn(truth, pred)
    assert found.truth.sizes.tolist() == [[640, 480], [320, 240], [320, 240]]
    assert found.truth.image_sizes.tolist() == [[640, 480], [320, 240]]
    assert found.pred.sizes.tolist() == [[640, 480], [320, 240]]
    assert found.pred.rows.tolist() == [1, 0]
    assert found.truth.is_sized
    unsized = drawn(vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]]), pred)
    assert not unsized.truth.is_sized


def with_ids(*ids):
    records = [{"id": i, "image_id": i, "category_id": 1, "bbox": [0, 0, 9, 9]} for i in ids]
    return vt.read(
        {"images": [{"id": i} for i in ids], "annotations": records, "categories": [{"id": 1, "name": "cat"}]}
    )


def test_ids_that_are_one_off_are_tried_where_they_meet_a_ground_truth():
    truth = with_ids(5, 6, 7)

    def shifts(*ids):
        results = [{"image_id": i, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5} for i in ids]
        return sample.sample_images(truth, vt.read(results, like=truth)).shifts

    assert shifts(4, 5, 6) == (0, -1, 1)
    assert shifts(4) == (0, 1)  # 4 + 1 is an image of the truth
    assert shifts(8) == (0, -1)
    results = [{"image_id": 4, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.5}]
    pred = vt.read(results, like=truth)
    assert sample.partners(truth, pred, 1).tolist() == [3, 0, 1]  # as 4, 5 and 6 plus one
    assert sample.partners(truth, pred, -1).tolist() == [1, 2, -1]
    assert sample.partners(truth, pred, 0).tolist() == [0, 1, 2]
    found = sample.sample_images(truth, pred)
    assert (found.preds[1].rows.tolist(), found.preds[0].rows.tolist()) == ([0], [])


def test_names_of_images_are_not_shifted():
    truth = one_an_image(3)
    pred = one_an_image(3, confidence=[0.1, 0.2, 0.3]).with_source(Source("x", "text", ""))
    assert sample.partners(truth, pred.like(truth), 1).tolist() == [-1, -1, -1]
    assert not sample.speaks_by_id(pred, "images")
    assert sample.speaks_by_id(one_an_image(1), "images")  # given in Python


def objects(*counts):
    cells = np.concatenate([[0], np.cumsum(counts)])
    numbers = np.arange(4.0 * cells[-1]).reshape(-1, 4)
    return SampledObjects(np.arange(cells[-1]), cells, numbers[:, 2:], numbers, Reading("xyxy"))


def test_the_first_objects_of_each_image_are_kept():
    found = objects(3, 1, 2).first(np.array([2, 2, 1]))
    assert (found.rows.tolist(), found.cells.tolist()) == ([0, 1, 3, 4], [0, 2, 3, 4])
    assert found.numbers[:, 0].tolist() == [0, 4, 12, 16]
    assert found.sizes[:, 0].tolist() == [2, 6, 14, 18]


def test_objects_take_the_place_of_those_of_an_earlier_image():
    found = objects(3, 1, 2).turn(1)
    assert (found.rows.tolist(), found.cells.tolist()) == ([3, 4, 5, 0, 1, 2], [0, 1, 3, 6])
    assert found.image.tolist() == [0, 1, 1, 2, 2, 2]
    assert (found.numbers[0, 0], found.sizes[0, 0]) == (12, 14)
    assert objects(3, 1, 2).turn(2).rows.tolist() == [4, 5, 0, 1, 2, 3]


def test_shares_outside_are_of_both_sides():
    truth, pred = group([[0, 0, 100, 100], [-11, 0, 50, 50]]), group([[0, 0, 110, 50], [0, 0, 50, 111]])
    given = Sample(truth, {0: pred}), "pred", Reading("xyxy"), 0
    assert explanations.share_outside(*given) == 0.5
    assert explanations.share_outside(given[0], "pred", Reading("xyxy", "factor", (2.0, 2.0)), 0) == 0.25
    assert explanations.share_outside(given[0], "truth", Reading("xyxy", "factor", (2.0, 2.0)), 0) == 0.25
    unsized = group([[0, 0, 500, 500]], size=(0.0, 0.0))
    assert explanations.share_outside(Sample(unsized, {0: pred}), *given[1:]) == 0
    assert explanations.share_outside(Sample(truth, {0: unsized}), *given[1:]) == 0


# Readings.
def corners(layout, measure="abs", unit=(1.0, 1.0), image_size=None, numbers=(10.0, 20.0, 30.0, 40.0)):
    reading = Reading(layout, measure, unit, image_size)
    size = np.array([[400.0, 200.0]])
    found = reading.corners(np.array([numbers]), size)
    if image_size is None:
        assert reading.numbers(found, size)[0] == pytest.approx(numbers)  # and back
    return found[0].tolist()


def test_four_numbers_are_read_in_five_ways():
    assert corners("xyxy") == [10, 20, 30, 40]
    assert corners("xywh") == [10, 20, 40, 60]
    assert corners("cxcywh") == [-5, 0, 25, 40]
    assert corners("yxyx") == [20, 10, 40, 30]
    assert corners("yxhw") == [20, 10, 60, 40]


def test_numbers_are_measured_in_six_ways():
    assert corners("xyxy", "factor", (2.0, 2.0)) == [5, 10, 15, 20]
    assert corners("xyxy", "rel", numbers=(0.1, 0.2, 0.3, 0.4)) == pytest.approx([40, 40, 120, 80])
    assert corners("xyxy", "frame", (100.0, 50.0)) == pytest.approx([40, 80, 120, 160])
    assert corners("xyxy", "longest", (100.0, 100.0)) == pytest.approx([40, 80, 120, 160])
    # Padded by 100 rows above and below to 400 x 400, resized to 100 x 100.
    assert corners("xyxy", "padded", (100.0, 100.0)) == pytest.approx([40, -20, 120, 60])
    assert corners("xyxy", "frame", (100.0, 50.0), (200.0, 100.0)) == pytest.approx([20, 40, 60, 80])


def test_readings_have_words_and_options():
    told = {
        Reading("xywh"): ("abs", "left, top, width, height"),
        Reading("xywh", "rel"): ("rel", "left, top, width, height in fractions of the image"),
        Reading("xywh", "factor", (0.5, 0.5)): ("*2", "left, top, width, height, 0.5 times as large as the image's"),
        Reading("xyxy", "frame", (640.0, 480.0)): (
            "640x480",
            "corners (x1 y1 x2 y2) in images stretched to 640 x 480",
        ),
        Reading("xyxy", "longest", (640.0, 640.0)): (
            None,
            "corners (x1 y1 x2 y2) in images whose longer side is 640",
        ),
        Reading("xyxy", "padded", (640.0, 640.0)): (None, "corners (x1 y1 x2 y2) in images padded to 640 x 640"),
    }
    assert {reading: (reading.coords, reading.words) for reading in told} == told
    assert len(readings.READINGS) == 10


def test_a_misreading_has_the_code_of_what_differs():
    plain = Reading("xywh")
    assert code_of(plain, Reading("xyxy")) == "V101"
    assert code_of(Reading("cxcywh"), plain) == code_of(plain, Reading("cxcywh")) == "V102"
    assert code_of(plain, Reading("xywh", "rel")) == code_of(Reading("xyxy", "rel"), Reading("yxyx")) == "V103"
    assert code_of(plain, Reading("yxhw")) == code_of(Reading("yxyx"), Reading("cxcywh")) == "V104"
    assert code_of(Reading("xywh", "rel"), Reading("yxyx", "frame", (640.0, 640.0))) == "V105"


def options(format, was, found, side="pred"):
    fix = fix_of(side, format, was, found)
    return fix.options if isinstance(fix, Fix) else fix


def test_a_fix_says_what_is_not_usual():
    plain, corners, relative = Reading("xywh"), Reading("xyxy"), Reading("cxcywh", "rel")
    assert options("coco", plain, corners) == (("boxes", "xyxy"),)
    assert options("coco", corners, plain) == (("boxes", "xywh"),)
    assert options("coco", plain, Reading("xywh", "rel")) == (("coords", "rel"),)
    assert options("coco", plain, Reading("xywh", "factor", (0.5, 0.5))) == (("coords", "*2"),)
    assert options("yolo", relative, Reading("xyxy", "rel")) == (("boxes", "xyxy"),)
    assert options("yolo", relative, Reading("cxcywh")) == (("coords", "abs"),)
    assert options("text", plain, Reading("xywh", "rel")) == (("boxes", "ltwh"), ("coords", "rel"))
    assert options("text", plain, Reading("xywh", "factor", (0.5, 0.5))) == (("coords", "*2"),)
    assert options("text", plain, Reading("cxcywh", "rel")) == (("boxes", "cxcywh"), ("coords", "rel"))


def test_a_size_that_was_estimated_is_an_option_of_folders_alone():
    found = Reading("xywh", "rel", (1.0, 1.0), (640.0, 480.0))
    assert options("text", Reading("xywh"), found)[-1] == ("image_size", (640.0, 480.0))
    advice = "write the {} boxes in pixels, or the image sizes into the ground truth"
    assert options("coco", Reading("xywh"), found) == advice.format("predicted")
    assert options("coco", Reading("xywh"), found, "truth") == advice.format("ground-truth")
    padded = Reading("xywh", "padded", (640.0, 640.0))
    assert options("coco", Reading("xywh"), padded) == "scale the boxes back to the images before writing them"
    assert options("text", Reading("xywh"), padded, "truth").endswith("before writing the ground truth")


def test_files_are_read_as_their_format_is_usually_read():
    def read(format, why="", kept="xywh", unit="px"):
        source = SimpleNamespace(format=format, why=why)
        return readings.as_read(SimpleNamespace(source=source, regions=SimpleNamespace(kept=kept), unit=unit))

    assert read("coco") == Reading("xywh")
    assert read("coco", kept="xyxy") == Reading("xyxy")
    assert read("coco", unit="rel") == Reading("xywh", "rel")
    assert read("yolo") == Reading("cxcywh", "rel")
    assert read("yolo", kept="xyxy") == Reading("xyxy", "rel")
    assert read("openimages", kept="xyxy") == Reading("xyxy", "rel")
    assert read("voc", kept="xyxy") == Reading("xyxy")
    assert read("text") == Reading("xywh")
    assert read("text", "numbers taken as centre and size") == Reading("cxcywh", "rel")
    assert read("coco", "numbers taken as centre and size") == Reading("xywh")
    assert readings.usual_reading("text", "rel") == readings.usual_reading("text", "frame") == Reading("cxcywh")
    assert readings.usual_reading("text", "factor") == Reading("xywh")


def test_ranks_rise_together_whatever_odd_values_there_are():
    one = np.array([1.0, 2, 3, 4])
    assert readings.rank_correlation(one, np.array([1.0, 2, 3, 900])) == pytest.approx(1)
    # Ranks 0 1 2 3 and 1 0 3 2: sums of products of deviations 3 of 5.
    assert readings.rank_correlation(one, np.array([2.0, 1, 4, 3])) == pytest.approx(0.6)
    steady = np.array([[1.0, 1, 9, 9], [2, 2, 10, 8], [3, 3, 11, 7]])  # y goes against its first point
    assert not readings.are_like_corners(steady, 0.5)
    assert not readings.are_like_corners(steady[:, [1, 0, 3, 2]], 0.5)
    assert not readings.are_like_corners(np.array([[1.0, 1, 9, 9], [2, 2, np.inf, 10]]), 0.5)
