"""Boxes that leave their images: how many make a warning, and when the images lie on their side."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.checks.boundary import boundary
from verite.checks import examine, without_consequences


def findings(boxes, *, is_truth=False, sizes=(1000, 800), image=None):
    names = image or [f"{i}.jpg" for i in range(len(boxes))]
    confidence = None if is_truth else np.linspace(0.1, 0.9, len(boxes))
    side = vt.Annotations.of(
        names, ["cat"] * len(boxes), boxes, confidence=confidence, sizes=dict.fromkeys(names, sizes)
    )
    return {f.code: f for f in without_consequences(examine(side, is_truth=is_truth, notes=True))}


def inside(count):
    return np.array([[10 + 5 * i, 20, 60 + 5 * i, 90] for i in range(count)], dtype=np.float64)


def test_one_box_of_a_truth_outside_is_a_warning():
    boxes = inside(50)
    boxes[7] = [900, 100, 1101, 200]
    assert findings(boxes, is_truth=True)["V109"].severity == "warning"


@pytest.mark.parametrize(
    "box", [[1000, 10, 1200, 90], [10, 800, 90, 1500], [-300, 10, 0, 90], [10, -300, 90, 0]], ids=lambda b: str(b)
)
def test_more_than_a_tenth_of_predictions_wholly_outside_are_a_warning(box):
    boxes = inside(20)
    boxes[:2] = box
    assert findings(boxes)["V109"].severity == "note"
    boxes[:3] = box
    found = findings(boxes)["V109"]
    assert (found.severity, found.count) == ("warning", 3)
    assert "3 of 20 boxes leave the image by more than 10 % of its side, 3 of them entirely" in found.message


@boundary("outside.LOST")
def test_a_tenth_of_predictions_may_be_wholly_outside():
    boxes = inside(100)
    boxes[:10] = [1000, 10, 1200, 90]
    assert findings(boxes)["V109"].severity == "note"
    boxes[:11] = [1000, 10, 1200, 90]
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
    assert "--truth-boxes xyxy" in misread["V109"].remedy
    assert "clip" not in misread["V109"].remedy
    # One box whose width is below its left edge cannot be corners: these are sizes, and boxes too large.
    corners[5, 2] = 100
    assert "clip" in found(corners)["V109"].remedy


def test_predictions_that_nobody_clipped_have_a_part_in_their_image():
    boxes = inside(20)
    boxes[:] = [999, 10, 1500, 90]
    assert findings(boxes)["V109"].severity == "note"


def lying(count):
    """A box in each of these images, which are 400 high if one asks the boxes and 300 if one asks the file."""
    return np.array([[50, 200, 150, 390 - i] for i in range(count)], dtype=np.float64)


@boundary("outside.TURNED")
def test_three_images_on_their_side_are_named():
    found = findings(lying(3), is_truth=True, sizes=(400, 300))
    assert found["V108"].count == 3
    assert found["V108"].examples[0] == "0.jpg: 400 x 300, box to 150, 390"
    assert "V109" not in found  # it follows
    assert "V108" not in findings(lying(2), is_truth=True, sizes=(400, 300))


def test_images_with_a_box_that_fits_neither_way_are_not_turned():
    boxes = lying(4)
    boxes[3] = [350, 200, 399, 390]  # too far right for an image of 300
    assert "V108" not in findings(boxes, is_truth=True, sizes=(400, 300))


def test_images_whose_other_boxes_fit_only_as_they_are_are_not_turned():
    boxes = np.concatenate([lying(3), [[350, 10, 399, 50]] * 3])
    assert "V108" not in findings(boxes, is_truth=True, sizes=(400, 300), image=["a", "b", "c"] * 2)
