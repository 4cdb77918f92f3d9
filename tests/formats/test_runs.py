"""COCO's compressed run-length text, against pycocotools."""

from __future__ import annotations

import numpy as np
import pytest
from pycocotools import mask as oracle

import verite as vt
from verite import _core
from verite.errors import DataError
from verite.formats.polygons import bounds_of_runs
from verite.model.polygons import RLEMasks
from verite.model.rasters import array_of, fill, frames_of, outlines_of


def runs_of(pixels):
    """COCO's runs of a mask: column by column, the first of them background."""
    flat = pixels.T.ravel()
    edges = np.flatnonzero(np.diff(flat, prepend=0)).tolist()
    return np.diff([0, *edges, flat.size]).astype(np.uint32)


def random_mask(random, largest=60):
    height, width = random.integers(1, largest, 2)
    density = random.choice([0, 0.01, 0.5, 0.99, 1])
    return np.asfortranarray(random.random((height, width)) < density, dtype=np.uint8)


@pytest.mark.parametrize("seed", range(50))
def test_random_masks_equal_pycocotools_both_ways(seed):
    random = np.random.default_rng(seed)
    for _ in range(10):
        mask = random_mask(random)
        height, width = mask.shape
        theirs = oracle.encode(mask)["counts"]
        runs = runs_of(mask)
        assert _core.encode_runs(runs) == theirs
        assert _core.decode_runs(theirs, height, width).tolist() == runs.tolist()


def test_long_runs_equal_pycocotools():
    mask = np.zeros((3000, 3000), dtype=np.uint8, order="F")
    mask[:, 1500:2900] = 1
    mask[7, 2999] = 1
    text = oracle.encode(mask)["counts"]
    assert _core.encode_runs(runs_of(mask)) == text
    assert _core.decode_runs(text, 3000, 3000).tolist() == runs_of(mask).tolist()


def decoded(text, height, width):
    """The runs, or None where they are refused; anything else fails the test."""
    try:
        runs = _core.decode_runs(text, height, width)
    except ValueError:
        return None
    assert int(runs.sum(dtype=np.uint64)) == height * width
    return runs


def test_random_bytes_are_runs_of_the_right_sum_or_refused(many):
    random = np.random.default_rng(1)
    for _ in range(many(5000)):
        text = random.integers(0, 256, random.integers(0, 40), dtype=np.uint8).tobytes()
        decoded(text, *map(int, random.integers(0, 1000, 2)))


def test_random_characters_of_the_code_are_runs_of_the_right_sum_or_refused(many):
    random = np.random.default_rng(2)
    accepted = 0
    for _ in range(many(20_000)):
        text = random.integers(48, 112, random.integers(1, 8), dtype=np.uint8).tobytes()
        accepted += decoded(text, *map(int, random.integers(0, 6, 2))) is not None
    assert accepted  # the test sees both sides


def test_flipped_bits_are_runs_of_the_right_sum_or_refused(many):
    random = np.random.default_rng(3)
    for _ in range(many(300)):
        mask = random_mask(random, 30)
        text = bytearray(oracle.encode(mask)["counts"])
        for _ in range(10):
            changed = text.copy()
            changed[random.integers(len(text))] ^= 1 << random.integers(8)
            decoded(bytes(changed), *mask.shape)
            decoded(bytes(changed[: random.integers(len(text) + 1)]), *mask.shape)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "less than 12 pixels"),
        (b"P", "the text ends inside a run"),
        (b"o" * 12, "the text ends inside a run"),
        (b"o" * 13, "too many characters"),
        (b"O", "a negative run"),
        (b"\xff", "a character outside"),
        (b"<=", "more than 12 pixels"),
    ],
)
def test_what_is_wrong_is_said(text, message):
    with pytest.raises(ValueError, match=message):
        _core.decode_runs(text, 3, 4)


@pytest.mark.parametrize("seed", range(20))
def test_bounds_of_runs_equal_pycocotools(seed):
    random = np.random.default_rng(seed)
    for _ in range(10):
        mask = random_mask(random, 9)
        if mask.any():  # pycocotools gives an empty mask a width
            expected = oracle.toBbox(oracle.encode(mask)).tolist()
            assert bounds_of_runs(runs_of(mask), mask.shape[0]) == expected


def test_empty_mask_has_an_empty_box():
    assert bounds_of_runs(np.array([12], dtype=np.uint32), 3) == [0, 0, 0, 0]


@pytest.mark.parametrize("draw", [outlines_of, fill, frames_of, lambda runs: array_of(runs, 0)])
def test_runs_that_do_not_add_up_are_refused_in_our_words(draw):
    runs = RLEMasks(np.array([3], np.uint32), np.array([0, 1]), np.array([[5, 5]], np.int32))
    with pytest.raises(DataError, match="add up to"):
        draw(runs)


def test_a_polygon_of_too_many_crossings_is_refused_in_our_words():
    ring = [value for i in range(6000) for value in (0, i, 60_000, i + 0.5)]
    image = {"id": 1, "file_name": "a.jpg", "width": 60_000, "height": 8000}
    record = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "segmentation": [ring]}
    truth = {"images": [image], "categories": [{"id": 1, "name": "cat"}], "annotations": [record | {"id": 1}]}
    with pytest.raises(DataError, match="crossings of pixel columns"):
        vt.localize(truth, [record | {"score": 1.0}], "iou", checks="off")
