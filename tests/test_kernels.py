"""The native core against its NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import boxes as twin
from verite import _core


def random_boxes(rng, count, *, is_whole):
    corners = rng.uniform(0, 50, (count, 2))
    boxes = np.concatenate([corners, corners + rng.uniform(-2, 30, (count, 2))], axis=1)
    return np.round(boxes) if is_whole else boxes


@pytest.mark.parametrize("pixel", [0.0, 1.0])
@pytest.mark.parametrize("is_whole", [True, False])
def test_box_iou_equals_its_twin_bit_for_bit(pixel, is_whole):
    rng = np.random.default_rng(7)
    truth, pred = random_boxes(rng, 200, is_whole=is_whole), random_boxes(rng, 300, is_whole=is_whole)
    assert np.array_equal(_core.box_iou(truth, pred, pixel), twin.box_iou(truth, pred, pixel))


def test_box_iou_of_a_hand_worked_pair():
    # 10 × 10 and 10 × 10 pixels that share 5 × 5: 25 / 175.
    truth, pred = np.array([[0.0, 0, 9, 9]]), np.array([[5.0, 5, 14, 14]])
    assert _core.box_iou(truth, pred, 1.0)[0, 0] == 25 / 175
    # As points: 9 × 9 each, 4 × 4 shared: 16 / 146.
    assert _core.box_iou(truth, pred)[0, 0] == 16 / 146


def test_boxes_that_touch_do_not_overlap():
    assert _core.box_iou(np.array([[0.0, 0, 5, 5]]), np.array([[5.0, 0, 9, 5]]))[0, 0] == 0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_boxes_that_are_not_finite_overlap_nothing(value):
    odd = np.array([[0.0, 0, value, 9], [value, value, value, value]])
    found = _core.box_candidates(odd, np.zeros(2, np.int64), np.array([[0.0, 0, 9, 9]]), np.zeros(1, np.int64))
    assert found[0].tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(20))
def test_candidates_equal_their_twin(seed):
    rng = np.random.default_rng(seed)
    truth, pred = (
        random_boxes(rng, rng.integers(0, 60), is_whole=True),
        random_boxes(rng, rng.integers(0, 90), is_whole=True),
    )
    truth_cells = np.sort(rng.integers(0, 6, len(truth)))
    pred_cells = rng.integers(0, 8, len(pred))
    for pixel, floor in ((0.0, 0.0), (1.0, 0.3)):
        found = _core.box_candidates(truth, truth_cells, pred, pred_cells, pixel, floor)
        expected = twin.box_candidates(truth, truth_cells, pred, pred_cells, pixel, floor)
        for column, wanted in zip(found, expected, strict=True):
            assert np.array_equal(column, wanted)


@pytest.mark.parametrize(
    ("truth_cells", "pred_cells", "message"),
    [
        ([1, 0], [0], "sorted by cell"),
        ([0], [0], "one cell per box, 2, found 1"),
        ([0, 0], [0, 0], "one cell per box, 1, found 2"),
    ],
)
def test_candidates_refuse_cells_that_do_not_fit(truth_cells, pred_cells, message):
    truth, pred = np.zeros((2, 4)), np.zeros((1, 4))
    with pytest.raises(ValueError, match=message):
        _core.box_candidates(truth, np.array(truth_cells), pred, np.array(pred_cells))


@pytest.mark.parametrize("wrong", [np.zeros((2, 3)), np.zeros(4)])
def test_kernels_refuse_arrays_of_another_shape(wrong):
    with pytest.raises(TypeError):
        _core.box_iou(wrong, np.zeros((1, 4)))


def test_pixels_of_a_mask_are_those_its_runs_count():
    from verite.model.rasters import array_of, runs_of

    rng = np.random.default_rng(5)
    masks = rng.random((6, 7, 5)) < 0.5
    masks[0], masks[1] = False, True
    runs = runs_of(masks)
    for i, mask in enumerate(masks):
        counts = runs[i]
        flat = np.repeat(np.arange(len(counts)) % 2 == 1, counts)  # column by column
        np.testing.assert_array_equal(array_of(runs, i), flat.reshape(5, 7).T)
        np.testing.assert_array_equal(array_of(runs, i), mask)
