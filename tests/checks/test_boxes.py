"""Boxes outside their images, rotated images (V108, V109, V114), and angles of rotated boxes (V430, V431)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.checks.small import told
from verite.checks import boxes as rotated
from verite.checks import examine, without_consequences
from verite.errors import ReadError


def findings(boxes, *, is_truth=False, sizes=(1000, 800), image=None):
    names = image or [f"{i}.jpg" for i in range(len(boxes))]
    confidence = None if is_truth else np.linspace(0.1, 0.9, len(boxes))
    side = vt.Annotations.of(
        names, ["cat"] * len(boxes), boxes, confidence=confidence, sizes=dict.fromkeys(names, sizes)
    )
    return {f.code: f for f in without_consequences(examine(side, is_truth=is_truth, notes=True))}


def inside(count):
    return np.array([[10 + 5 * i, 20, 60 + 5 * i, 90] for i in range(count)], dtype=np.float64)


def test_one_box_of_a_ground_truth_outside_is_a_warning():
    boxes = inside(50)
    boxes[7] = [900, 100, 1101, 200]
    assert findings(boxes, is_truth=True)["V109"].severity == "warning"


@pytest.mark.parametrize(
    "box", [[1000, 10, 1200, 90], [10, 800, 90, 1500], [-300, 10, 0, 90], [10, -300, 90, 0]], ids=lambda b: str(b)
)
def test_more_than_a_tenth_of_predictions_entirely_outside_are_a_warning(box):
    boxes = inside(20)
    boxes[:2] = box
    assert findings(boxes)["V109"].severity == "note"
    boxes[:3] = box
    found = findings(boxes)["V109"]
    assert (found.severity, found.count) == ("warning", 3)
    assert "3 of 20 boxes leave the image by more than 10 % of its side, 3 of them entirely" in found.message


def test_a_tenth_of_predictions_may_be_entirely_outside():
    boxes = inside(100)
    boxes[:10] = [1000, 10, 1200, 90]
    assert findings(boxes)["V109"].severity == "note"
    boxes[:11] = [1000, 10, 1200, 90]
    assert findings(boxes)["V109"].severity == "warning"


def test_two_predictions_entirely_outside_are_a_note_however_few_there_are():
    boxes = inside(4)
    boxes[:2] = [1000, 10, 1200, 90]
    assert findings(boxes)["V109"].severity == "note"
    boxes[2] = [1000, 10, 1200, 90]
    assert findings(boxes)["V109"].severity == "warning"


def test_corners_read_as_sizes_are_not_to_be_clipped():
    # Corners up to 900 and 700 of images of 1000 x 800, read as left, top, width and height; one image is too small
    # for its box in either reading, so that nothing is proven (V114).
    first = np.array([[40 * i + 10, 30 * i + 10] for i in range(20)], dtype=np.float64)
    corners = np.concatenate([first, first + 100], axis=1)
    corners[0] = [900, 10, 1300, 700]
    names = [f"{i}.jpg" for i in range(20)]

    def found(values):
        side = vt.Annotations(
            vt.Images(names, widths=[1000] * 20, heights=[800] * 20), vt.Labels(["cat"]), np.arange(20, dtype=np.int32),
            np.zeros(20, np.int32), vt.Regions(values, "xywh"),
        )  # fmt: skip
        return {f.code: f for f in without_consequences(examine(side, is_truth=True))}

    misread = found(corners)
    assert "V114" not in misread
    assert 'boxes="xyxy"' in misread["V109"].remedy
    assert "clip" not in misread["V109"].remedy
    # One box whose width is below its left edge cannot be corners: these are sizes, and boxes too large.
    corners[5, 2] = 100
    assert "clip" in found(corners)["V109"].remedy


def test_predictions_that_nobody_clipped_have_a_part_in_their_image():
    boxes = inside(20)
    boxes[:] = [999, 10, 1500, 90]
    assert findings(boxes)["V109"].severity == "note"


def test_large_predictions_that_leave_in_part_are_not_lost():
    # 4 of 20 lie entirely outside, more than a tenth; with six more that leave in part it is unclipped boxes that do.
    boxes = inside(20)
    boxes[:4] = [1000, 10, 1900, 700]
    assert findings(boxes)["V109"].severity == "warning"
    boxes[4:10] = [600, 10, 1500, 700]
    assert findings(boxes)["V109"].severity == "note"


def lying(count):
    """A box in each of these images, which are 400 high if one asks the boxes and 300 if one asks the file."""
    return np.array([[50, 200, 150, 390 - i] for i in range(count)], dtype=np.float64)


def test_three_images_rotated_are_named():
    found = findings(lying(3), is_truth=True, sizes=(400, 300))
    assert found["V108"].count == 3
    assert found["V108"].examples[0] == "0.jpg: 400 x 300, box to 150, 390"
    assert "V109" not in found  # it follows
    assert "V108" not in findings(lying(2), is_truth=True, sizes=(400, 300))


def test_predictions_of_one_place_in_many_frames_are_no_rotated_images():
    assert "V108" not in findings(lying(3), sizes=(400, 300))
    places = np.array([[50, 200, 150, 390], [160, 340, 290, 395], [10, 330, 40, 390]], dtype=np.float64)
    assert findings(places, sizes=(400, 300))["V108"].count == 3


def test_images_with_a_box_that_fits_neither_way_are_not_turned():
    boxes = lying(4)
    boxes[3] = [350, 200, 399, 390]  # too far right for an image of 300
    assert "V108" not in findings(boxes, is_truth=True, sizes=(400, 300))


def test_images_whose_other_boxes_fit_only_as_they_are_are_not_turned():
    boxes = np.concatenate([lying(3), [[350, 10, 399, 50]] * 3])
    assert "V108" not in findings(boxes, is_truth=True, sizes=(400, 300), image=["a", "b", "c"] * 2)


KINDS = ((90, 18, "ship"), (22, 10, "vehicle"), (40, 40, "tank"), (60, 25, "container"))  # length, width


def harbour(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A truth and results in degrees: things stand in rows, tanks are as long as wide, and the same box is written with
    its sides exchanged or half a turn on, as detectors do.
    """
    rng = np.random.default_rng([seed, 430])
    records, results = [], []
    for image in range(1, 5):
        for _ in range(rng.integers(1, 4)):
            kind = int(rng.integers(len(KINDS)))
            row, at, step = rng.uniform(-90, 90), rng.uniform(200, 800, 2), 1.3 * KINDS[kind][1]
            for k in range(rng.integers(2, 9)):
                along = np.radians(row + 90)
                centre = at + k * step * np.array([np.cos(along), np.sin(along)])
                size = np.array(KINDS[kind][:2]) * rng.uniform(0.8, 1.2, 2)
                angle = row + rng.normal(0, 2)
                facts = {"image_id": image, "category_id": kind + 1}
                records.append({"id": len(records) + 1, **facts, "bbox": [*centre.tolist(), *size.tolist(), angle]})
                if rng.random() < 0.15:
                    continue
                found, turned = size * rng.normal(1, 0.08, 2), angle + rng.normal(0, 4) + rng.choice([0, 180, -180])
                if rng.random() < 0.4:
                    found, turned = found[::-1], turned + 90
                place = centre + rng.normal(0, 0.05, 2) * size
                box = [*place.tolist(), *found.tolist(), turned]
                results.append({**facts, "bbox": box, "score": float(rng.beta(4, 2))})
    images = [{"id": i, "file_name": f"{i}.png", "width": 1024, "height": 1024} for i in range(1, 5)]
    categories = [{"id": i + 1, "name": kind[2]} for i, kind in enumerate(KINDS)]
    return {"images": images, "categories": categories, "annotations": records}, results


def turn(records: list[dict[str, Any]], factor: float) -> list[dict[str, Any]]:
    return [{**one, "bbox": [*one["bbox"][:4], one["bbox"][4] * factor]} for one in records]


def codes(truth: Any, results: Any, **how: Any) -> set[str]:
    found = vt.read(truth, **how)
    return {finding.code for finding in vt.inspect(found, vt.read(results, like=found, **how)).findings}


@pytest.mark.parametrize("unit", ["degrees", "radians", "degrees-ccw"])
def test_healthy_harbours_are_left_in_peace(unit: str) -> None:
    factor = {"degrees": 1.0, "radians": np.pi / 180, "degrees-ccw": -1.0}[unit]
    told = []
    for seed in range(70):
        truth, results = harbour(seed)
        truth["annotations"] = turn(truth["annotations"], factor)
        told += [(seed, code) for code in codes(truth, turn(results, factor), angle=unit) if code.startswith("V43")]
    assert not told


@pytest.mark.slow
def test_a_thousand_healthy_harbours_are_left_in_peace() -> None:
    told = [(seed, code) for seed in range(1000) for code in codes(*harbour(seed)) if code.startswith("V43")]
    assert not told


@pytest.mark.thorough
def test_harbours_whose_predictions_turn_the_other_way_are_found() -> None:
    missed = [seed for seed in range(100) if "V431" not in codes(*mirrored(seed))]
    assert len(missed) <= 10, missed  # rows along the edges of the image, and tanks, look the same in the mirror


def mirrored(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    truth, results = harbour(seed)
    return truth, turn(results, -1.0)


def test_harbours_in_radians_are_not_confused_with_degrees() -> None:
    for seed in range(30):
        truth, _ = harbour(seed)
        truth["annotations"] = turn(truth["annotations"], np.pi / 180)
        if len(truth["annotations"]) >= 8:
            with pytest.raises(ReadError, match="V430"):
                vt.read(truth)


def test_images_without_a_size_are_not_turned():
    boxes = np.concatenate([lying(3), [[0, 0, 900, 900]]])
    names = ["a", "b", "c", "d"]
    given = vt.Annotations.of(names, ["cat"] * 4, boxes, sizes=dict.fromkeys("abc", (400, 300)))
    assert told(given, is_truth=True)["V108"].count == 3
    assert findings(lying(3), is_truth=True, sizes=(400, 300))["V108"].severity == "warning"


def test_angles_need_rotated_boxes_on_both_sides():
    for quads in ((None, np.zeros((1, 4, 2))), (np.zeros((1, 4, 2)), None), (None, None)):
        answers = iter(quads)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rotated, "quads_of", lambda regions, answers=answers: next(answers))
            patch.setattr(rotated, "nearest", lambda pair: [])
            one = SimpleNamespace(regions=None, source=SimpleNamespace(notes=()))
            assert list(rotated.find_mirrored_angles(SimpleNamespace(truth=one, pred=one))) == []
