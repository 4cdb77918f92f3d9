"""Anomalies of one side are counted: sizes, areas, ids, duplicates, confidences."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import verite as vt
from verite.checks.sample import Side

SIZES = {f"{i}.jpg": (1000, 800) for i in range(40)}


def side(boxes, *, is_truth=True, image=None, label=None, confidence=None, **columns):
    images = image or [f"{i % 40}.jpg" for i in range(len(boxes))]
    annotations = vt.Annotations.of(
        images, label or ["cat"] * len(boxes), boxes, confidence=confidence, sizes=SIZES, labels=["cat", "dog", "owl"]
    )
    return Side(replace(annotations, **columns) if columns else annotations, is_truth=is_truth)


def spread(count):
    """Boxes of which no two coincide."""
    return np.array([[10 + 5 * i, 20, 60 + 5 * i, 90] for i in range(count)], dtype=np.float64)


def count(fault, boxes, **more):
    return side(boxes, **more).count(fault)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", range(4))
def test_every_coordinate_that_is_not_finite_is_counted(place, value):
    boxes = spread(9)
    boxes[7, place] = value
    assert side(boxes).tally("not_finite").rows == (7,)


def test_large_boxes_are_finite_until_their_areas_overflow():
    """Two areas above half of the largest double, 1.8e308, have no sum; what is small the other way has an area."""
    assert count("not_finite", [[0, 0, 9.9e149, 1e150], [0, 0, 1e300, 1]]) == 0
    for box in ([0, 0, 1.1e150, 1e150], [0, 0, 1.2e154, 1.2e154], [0, 0, 1.7e308, 1.7e308]):
        assert count("not_finite", [box]) == 1, box


def test_a_width_of_zero_is_no_negative_one():
    boxes = spread(3)
    boxes[0, 2], boxes[1, 2], boxes[2, 2] = boxes[0, 0], boxes[1, 0] - 1e-7, boxes[2, 0] - 1e-5
    assert side(boxes).tally("zero_size").rows == (0, 1)
    assert side(boxes).tally("negative").rows == (2,)


@pytest.mark.parametrize(
    ("edge", "inside", "outside"), [(0, -100, -100.1), (1, -80, -80.1), (2, 1100, 1100.1), (3, 880, 880.1)]
)
def test_a_box_is_outside_from_a_tenth_of_the_side_on(edge, inside, outside):
    boxes = np.array([[1.0, 1, 999, 799]])
    boxes[0, edge] = inside
    assert count("outside", boxes) == 0
    boxes[0, edge] = outside
    assert count("outside", boxes) == 1


def test_images_of_unknown_size_have_no_outside():
    alone = vt.Annotations.of(["a"], ["cat"], [[-900, 0, 9, 9]])
    assert Side(alone, is_truth=True).count("outside") == 0


def test_stated_areas_are_compared_with_their_boxes():
    boxes = np.array(
        [[0, 0, 20, 20], [30, 0, 50, 20], [60, 0, 80, 20], [90, 0, 110, 20], [120, 0, 125, 5]], dtype=float
    )
    areas = np.array([4.0, 3.9, 0.0, -1.0, 0.01])  # the last box is too small to say
    found = side(boxes, area=areas)
    assert (found.tally("small_area").rows, found.tally("no_area").rows) == ((1,), (2, 3))
    assert side(boxes, area=areas, is_truth=False, confidence=np.ones(5)).count("no_area") == 0


def test_a_stated_area_is_not_larger_than_its_box():
    # A box of 20 x 20 may be one of 21 x 21 pixels: 441, and a hundredth for rounding is 445.41.
    boxes = np.array([[0, 0, 20, 20], [30, 0, 50, 20], [60, 0, 80, 20]], dtype=float)
    assert side(boxes, area=np.array([400, 445.4, 445.5])).tally("large_area").rows == (2,)
    assert side([[0, 0, 10, 10]], area=np.array([0.9])).count("small_area") == 1  # a hundred pixels say enough
    assert side([[0, 0, 10, 9.9]], area=np.array([0.9])).count("small_area") == 0


def test_objects_of_one_class_coincide_from_an_overlap_of_98_percent_on():
    near, far = [[0, 0, 100, 100], [0, 0, 100, 98]], [[0, 0, 100, 100], [0, 0, 100, 97.9]]
    image = ["0.jpg"] * 2
    assert side(near, image=image).tally("twins").rows == (1,)
    assert count("twins", far, image=image) == 0
    assert count("twins", near, image=["0.jpg", "1.jpg"]) == 0
    assert count("twins", near, image=image, label=["cat", "dog"]) == 0
    assert count("twins", near, image=image, flags={"crowd": np.array([True, False])}) == 0


def test_coincident_objects_are_found_in_images_of_few_and_of_many():
    rng = np.random.default_rng(11)
    for number in (2, 12, 23, 24, 25, 26, 60):
        corner = rng.integers(0, 4, (number, 2)) * 100.0
        boxes = np.hstack([corner, corner + 100 + rng.integers(0, 5, (number, 2))])
        label = [("cat", "dog")[i] for i in rng.integers(0, 2, number)]
        later = set()
        for j in range(number):
            for i in range(j):
                low, high = np.maximum(boxes[i, :2], boxes[j, :2]), np.minimum(boxes[i, 2:], boxes[j, 2:])
                common = np.prod(np.clip(high - low, 0, None))
                areas = [np.prod(box[2:] - box[:2]) for box in boxes[[i, j]]]
                if label[i] == label[j] and common / (sum(areas) - common) >= 0.98:
                    later.add(j)
        found = side(boxes, image=["0.jpg"] * number, label=label).tally("twins")
        assert found.count == len(later), number
        assert set(found.rows) <= later


def test_many_coincident_objects_are_found_at_once():
    assert count("twins", [[0, 0, 9, 9]] * 20_000, image=["0.jpg"] * 20_000) == 19_999


def test_repeated_ids_are_found_in_any_order():
    boxes = spread(5)
    assert side(boxes, ids=np.array([4, 1, 4, 2, 1])).tally("repeated_ids").rows == (2, 4)
    assert count("repeated_ids", boxes, ids=np.array([-3, 0, 2**40, 7, 1])) == 0


def test_ids_chosen_to_collide_cost_no_more():
    inverse = pow(0x9E3779B97F4A7C15, -1, 2**64)
    ids = np.array([(i * inverse) % 2**64 for i in range(3000)], dtype=np.uint64).view(np.int64)[::-1].copy()
    assert count("repeated_ids", spread(3000), ids=ids) == 0
    ids[2999] = ids[0]
    assert side(spread(3000), ids=ids).tally("repeated_ids").rows == (2999,)


def test_confidences():
    def preds(values):
        return side(spread(len(values)), is_truth=False, confidence=np.array(values, dtype=float))

    assert preds([0.5, np.nan, np.inf]).tally("confidence_not_finite").rows == (1, 2)
    assert preds([1.0, 1.01, 0.2]).tally("above_one").rows == (1,)
    assert preds([0.5] * 20).count("constant") == 20
    assert preds([0.5] * 19).count("constant") == 0
    assert preds([0.5] * 19 + [0.6]).count("constant") == 0
    assert side(spread(3), is_truth=False).count("unscored") == 3


def test_repeated_predictions_agree_in_everything():
    def preds(confidence, label=None):
        boxes = [[0, 0, 9, 9]] * 2
        return side(boxes, is_truth=False, image=["3.jpg"] * 2, confidence=np.array(confidence), label=label)

    assert preds([0.5, 0.5]).tally("repeated").rows == (1,)
    assert preds([0.5, 0.6]).count("repeated") == 0
    assert preds([0.5, 0.5], ["cat", "dog"]).count("repeated") == 0


@pytest.mark.parametrize("threads", ["1", "2", "3", "7"])
def test_threads_change_nothing(monkeypatch, threads):
    rng = np.random.default_rng(3)
    boxes = np.sort(rng.random((5000, 4)) * 900, axis=1)[:, [0, 1, 2, 3]]
    boxes[rng.integers(0, 5000, 60), rng.integers(0, 4, 60)] = np.nan
    one = side(boxes).anomalies
    monkeypatch.setenv("VERITE_THREADS", threads)
    assert side(boxes).anomalies == one


def test_files_are_counted_as_plain_loops_count_them(tmp_path):
    rng = np.random.default_rng(5)
    images = [{"id": i, "file_name": f"{i % 9}.jpg", "width": 100, "height": 80} for i in range(1, 12)]
    classes = [{"id": 3, "name": "cat"}, {"id": 9, "name": "dog"}]

    def records(n, **more):
        boxes = np.round(rng.random((n, 4)) * 90 - 5, 1).tolist()
        boxes[0], boxes[1] = [-50.0, 0.0, 300.0, 0.0], boxes[2]
        return [
            {"image_id": 1 + i % 11, "category_id": 3 + 6 * (i % 2), "bbox": box} | {k: v(i) for k, v in more.items()}
            for i, box in enumerate(boxes)
        ]

    truth = {"images": images, "categories": classes}
    truth["annotations"] = records(40, id=lambda i: i % 38 + 1, area=lambda i: i - 1.0, iscrowd=lambda i: i % 7 == 0)
    truth["annotations"] = [a | {"iscrowd": int(a["iscrowd"])} for a in truth["annotations"]]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    preds = records(30, score=lambda i: i / 20)
    (tmp_path / "pred.json").write_text(json.dumps(preds))

    found = vt.read(tmp_path / "truth.json")
    sides = {
        True: (Side(found, is_truth=True), truth["annotations"]),
        False: (Side(vt.read(tmp_path / "pred.json", like=found), is_truth=False), preds),
    }
    for is_truth, (native, objects) in sides.items():
        boxes = [a["bbox"] for a in objects]
        leaves = [x < -10 or y < -8 or x + w > 110 or y + h > 88 for x, y, w, h in boxes]
        flat = [min(w, h) <= 1e-6 and min(w, h) >= -1e-6 for _, _, w, h in boxes]
        below = [min(w, h) < -1e-6 for _, _, w, h in boxes]
        for fault, wrong in (("outside", leaves), ("zero_size", flat), ("negative", below)):
            rows = [row for row, is_wrong in enumerate(wrong) if is_wrong]
            assert (native.count(fault), native.tally(fault).rows) == (len(rows), tuple(rows[:5])), (fault, is_truth)
            assert rows, f"{fault} does not occur"
    truths = sides[True][0]
    assert truths.tally("no_area").rows == (0, 1)  # areas are -1, 0, 1, …
    assert truths.count("repeated_ids") == 2  # 40 objects, 38 ids
    assert truths.count("repeated_names") == 2  # 11 images, 9 names
