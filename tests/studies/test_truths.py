"""The sixteen truths, and one's own."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from verite.errors import BadParameter, DataError, ReadError
from verite.studies.truths import SCALE_PAIR, SHAPE_PAIR, all_truths, boxes, silhouettes, truths_of


def test_there_are_eight_boxes_and_eight_silhouettes_of_256_pixels():
    assert (len(boxes()), len(silhouettes()), len(all_truths())) == (8, 8, 16)
    assert all(truth.mask.shape == (256, 256) for truth in all_truths())
    assert {"bike", "man", "car", "plane"} <= {truth.name for truth in silhouettes()}


@pytest.mark.parametrize("truth", all_truths(), ids=lambda t: t.name)
def test_every_truth_can_be_shrunk_and_shifted_by_24(truth):
    left, top, right, bottom = truth.outline.box
    assert min(right - left, bottom - top) > 48
    assert min(left, top, 256 - right, 256 - bottom) >= 24


def test_boxes_are_boxes_and_silhouettes_are_not():
    for truth in all_truths():
        left, top, right, bottom = truth.outline.box
        is_full = truth.mask.sum() == (right - left) * (bottom - top)
        assert is_full == (truth.kind == "box")


def test_the_pairs_differ_in_size_alone_and_in_shape_alone():
    by_name = {truth.name: truth for truth in boxes()}
    small, large = (by_name[name].mask for name in SCALE_PAIR)
    assert (small.sum(), large.sum()) == (64 * 64, 104 * 104)
    wide, tall = (by_name[name].mask for name in SHAPE_PAIR)
    assert (np.rot90(wide) == tall).all()


def test_masks_names_and_files_are_truths(tmp_path):
    mask = np.zeros((20, 30), bool)
    mask[5:15, 5:15] = True
    assert truths_of(mask)[0].name == "mask 1"
    assert [truth.name for truth in truths_of({"mine": mask})] == ["mine"]
    assert [truth.name for truth in truths_of(["car", mask, "wide"])] == ["car", "mask 2", "wide"]
    Image.fromarray((mask * 255).astype(np.uint8)).save(tmp_path / "cat.png")
    found = truths_of(str(tmp_path / "cat.png"))
    assert found[0].name == "cat"
    assert (found[0].mask == mask).all()


def test_a_truth_named_twice_is_one():
    assert len(truths_of(["boxes", "wide"])) == 8


def test_what_is_no_truth_is_told(tmp_path):
    with pytest.raises(BadParameter, match="did you mean 'plane'"):
        truths_of("plan")
    with pytest.raises(BadParameter, match="at least one"):
        truths_of([])
    with pytest.raises(BadParameter, match="found int"):
        truths_of(3)
    with pytest.raises(DataError, match="empty mask"):
        truths_of(np.zeros((4, 4), bool))
    with pytest.raises(ReadError, match="found nothing"):
        truths_of(str(tmp_path / "absent.png"))
    (tmp_path / "words.png").write_text("no picture")
    with pytest.raises(ReadError, match=r"words\.png: expected an image"):
        truths_of(str(tmp_path / "words.png"))
    Image.new("L", (5, 5)).save(tmp_path / "black.png")
    with pytest.raises(DataError, match="only background"):
        truths_of(str(tmp_path / "black.png"))
    mask = np.ones((3, 3), bool)
    with pytest.raises(BadParameter, match="'car' twice"):
        truths_of(["car", truths_of({"car": mask})[0]])
