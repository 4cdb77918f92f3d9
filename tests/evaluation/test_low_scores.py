"""Under a number that is next to nothing, one line says why."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt

BOXES = np.array([[40 * i, 10, 40 * i + 20, 30] for i in range(10)], dtype=float)
DOWN = np.array([0, 300, 0, 300])
IMAGES = [f"{i % 2}.jpg" for i in range(10)]


def side(boxes, labels, confidence=None):
    return vt.Annotations.of(IMAGES, labels, boxes, confidence=confidence)


TRUTH = side(BOXES, ["cat", "dog"] * 5)
FALLING = np.linspace(0.9, 0.1, 10)


@pytest.mark.parametrize("protocol", [vt.coco, vt.voc], ids=["coco", "voc"])
def test_wrong_classes_are_named(protocol):
    results = protocol(TRUTH, side(BOXES, ["dog", "cat"] * 5, FALLING), checks="off")
    line = "is below 0.05: boxes match, classes do not: 100 % of the objects are detected, 0 % with their class"
    assert [line in note for note in results.notes] == [True]
    assert line in str(results)


@pytest.mark.parametrize("protocol", [vt.coco, vt.voc], ids=["coco", "voc"])
def test_boxes_elsewhere_are_named(protocol):
    moved = BOXES + DOWN
    results = protocol(TRUTH, side(moved, ["cat", "dog"] * 5, FALLING), checks="off")
    assert "boxes do not match: no prediction reaches IoU 0.5 with 100 % of the objects" in results.notes[0]
    assert "verite inspect" in results.notes[0]


def test_predictions_of_other_images_are_named():
    """Forty images with a box each; every image has the prediction of another one, or all but eight lie elsewhere."""
    names, places = [f"{i}.jpg" for i in range(40)], np.arange(40)
    boxes = np.stack([37 * places % 400, 53 * places % 300, 37 * places % 400 + 60, 53 * places % 300 + 50], axis=1)
    truth = vt.Annotations.of(names, ["cat"] * 40, boxes)
    mixed = vt.Annotations.of(names, ["cat"] * 40, np.roll(boxes, 1, axis=0), confidence=FALLING.repeat(4))
    line = "as with the predictions of other images (are image ids or names mixed up?)"
    assert line in vt.coco(truth, mixed, checks="off").notes[0]
    elsewhere = np.where(places[:, None] < 32, boxes + 1000, boxes)
    own = vt.Annotations.of(names, ["cat"] * 40, elsewhere, confidence=FALLING.repeat(4))
    note = vt.coco(truth, own, checks="off").notes[0]
    assert "boxes do not match" in note
    assert line not in note


def test_wrong_classes_are_named_even_where_most_objects_are_not_found():
    # Ids of another list of classes on a ground truth with many more objects: one of ten is found, none with its class.
    boxes = [[50 * i, 0, 50 * i + 20, 20] for i in range(20)]
    truth = vt.Annotations.of(["a"] * 20, ["cat"] * 10 + ["dog"] * 10, boxes)
    pred = vt.Annotations.of(["a"] * 2, ["dog"] * 2, boxes[:2], confidence=[0.9, 0.8])
    note = vt.coco(truth, pred, checks="off").notes[0]
    assert "classes differ" in note
    assert "10 % of the objects" in note
    assert "ground truth has 2 classes, predictions have 1" in note


def test_confidences_that_tell_nothing_are_named():
    """Every object is found, after sixty times as many boxes that find nothing and are surer."""
    count = 600
    images, labels = [*(IMAGES * 60), *IMAGES], ["cat", "dog"] * 305
    boxes = np.vstack([np.tile(BOXES + DOWN, (60, 1)), BOXES])
    confidence = np.r_[np.full(count, 0.9), np.full(10, 0.1)]
    pred = vt.Annotations.of(images, labels, boxes, confidence=confidence)
    results = vt.voc(TRUTH, pred, checks="off")
    assert results.scores["mAP"].value < 0.05
    assert "100 % of the objects are detected, but by 61.0 predictions per object" in results.notes[0]


def test_poses_elsewhere_are_named_by_their_own_words() -> None:
    """Boxes are right, every point is a quarter of its box off: nobody who looks at boxes alone would know."""
    images = [{"id": i, "file_name": f"{i}.jpg", "width": 400, "height": 400} for i in range(6)]
    points = np.array([[50 + 10 * k, 60 + 9 * k, 2] for k in range(17)])
    person = {"category_id": 1, "bbox": [0, 0, 300, 300], "area": 40_000.0, "iscrowd": 0}
    truths = [{"id": i, "image_id": i, "keypoints": points.ravel().tolist(), **person} for i in range(6)]
    truth = vt.read({"images": images, "annotations": truths, "categories": [{"id": 1, "name": "person"}]})
    moved = (points + np.array([75, 0, 0])).ravel().tolist()
    found = [{**person, "image_id": i, "keypoints": moved, "score": 0.9} for i in range(6)]
    results = vt.coco(truth, vt.read(found, like=truth), on="keypoints", checks="off")
    assert "poses do not match: no prediction reaches OKS 0.5 with 100 % of the objects" in results.notes[0]


def test_a_good_number_needs_no_word():
    assert vt.voc(TRUTH, side(BOXES, ["cat", "dog"] * 5, FALLING), checks="off").notes == []


@pytest.mark.parametrize("protocol", [vt.coco, vt.voc], ids=["coco", "voc"])
def test_without_predictions_there_is_nothing_to_explain(protocol):
    nothing = vt.Annotations.of([], [], np.empty((0, 4)), images=IMAGES, labels=["cat", "dog"], confidence=[])
    assert protocol(TRUTH, nothing, checks="off").notes == []


@pytest.mark.parametrize("protocol", [vt.coco, vt.voc], ids=["coco", "voc"])
def test_a_dash_has_its_reason(protocol):
    """A truth without objects, and one of crowds alone."""
    document = {"images": [{"id": 1, "width": 50, "height": 50}], "categories": [{"id": 1, "name": "cat"}]}
    crowd = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "area": 81, "iscrowd": 1}
    found = [{"image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "score": 0.5}]
    for objects, reason in (
        ([], "the ground truth has no objects"),
        ([crowd], "all 1 objects of the ground truth are crowds"),
    ):
        results = protocol({**document, "annotations": objects}, found)
        assert reason in results.notes[0]
        assert reason in str(results)
