"""Columns in the core: what is shared and what is copied, who keeps what alive, what a pickle holds."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
from array import array

import numpy as np
import pytest

from verite import _core


def frozen(values, dtype):
    found = np.array(values, dtype=dtype)
    found.flags.writeable = False
    return found


def made() -> _core.Columns:
    """Three objects: a box, a triangle, a mask of 2 x 3."""
    polygons = np.array([[0, 0], [4, 0], [0, 4]], dtype=np.float64), np.array([0, 3]), np.array([0, 0, 1, 1])
    runs = np.array([1, 5], dtype=np.uint32), np.array([0, 0, 0, 2]), np.array([[0, 0], [0, 0], [2, 3]], dtype=np.int32)
    regions = _core.Regions(np.arange(12.0).reshape(3, 4), "xywh", polygons, runs, np.array([True, False, True]))
    return _core.Columns(
        regions,
        np.array([0, 1, 1], dtype=np.int32),
        np.array([2, 0, 1], dtype=np.int32),
        confidence=np.array([0.5, 0.25, 1.0]),
        ids=np.array([7, 8, 9]),
        flags={"crowd": np.array([False, True, False]), "ignore": np.zeros(3, dtype=np.bool_)},
    )


def test_an_array_that_can_be_written_to_is_copied_and_another_is_shared():
    mine, theirs = np.zeros((2, 4)), frozen(np.zeros((2, 4)), np.float64)
    copied, shared = _core.Regions(mine, "xyxy"), _core.Regions(theirs, "xyxy")
    mine[0, 0] = 5
    assert copied.boxes[0, 0] == 0
    assert np.shares_memory(shared.boxes, theirs)


def test_arrays_look_at_the_same_memory_cannot_be_written_to_and_outlive_the_columns():
    columns = made()
    first, second = columns.confidence, columns.confidence
    assert np.shares_memory(first, second)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    del columns, second
    gc.collect()
    assert first.tolist() == [0.5, 0.25, 1.0]


def test_a_flag_that_nobody_carries_is_absent():
    assert made().flag_names == ["crowd"]
    assert made().take(np.array([0, 2])).flag_names == []


def test_taking_objects_takes_their_shapes_along():
    taken = made().take(np.array([2, 1]))
    polygons, runs = taken.regions.shapes()
    assert [part.tolist() for part in polygons] == [[[0, 0], [4, 0], [0, 4]], [0, 3], [0, 0, 1]]
    assert [part.tolist() for part in runs] == [[1, 5], [0, 2, 2], [[2, 3], [0, 0]]]
    assert taken.regions.boxes.tolist() == [[8, 9, 10, 11], [4, 5, 6, 7]]
    assert taken.regions.kinds.tolist() == [2, 1]
    assert taken.regions.boxed.tolist() == [True, False]
    assert (taken.image.tolist(), taken.label.tolist(), taken.ids.tolist()) == ([1, 1], [1, 0], [9, 8])


def test_scaling_stretches_boxes_and_polygons_but_not_masks():
    scaled = made().regions.scale(np.array([[1.0, 1.0], [2.0, 10.0], [3.0, 3.0]]))
    polygons, runs = scaled.shapes()
    assert scaled.boxes[1].tolist() == [8, 50, 12, 70]
    assert polygons[0].tolist() == [[0, 0], [8, 0], [0, 40]]
    assert runs[0].tolist() == [1, 5]


def test_positions_can_be_replaced_by_others():
    moved = made().move(np.array([5, 3], dtype=np.int32), np.array([0, 1, 4], dtype=np.int32))
    assert (moved.image.tolist(), moved.label.tolist()) == ([5, 3, 3], [4, 0, 1])
    with pytest.raises(IndexError, match="position 1"):
        made().move(np.array([0], dtype=np.int32))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_holds_everything(protocol):
    columns = made()
    again = pickle.loads(pickle.dumps(columns, protocol))
    for name in ("image", "label", "confidence", "ids"):
        assert getattr(again, name).tolist() == getattr(columns, name).tolist()
    assert again.area is None
    assert again.flags["crowd"].tolist() == [False, True, False]
    assert again.regions.layout == "xywh"
    assert again.regions.boxes.tolist() == columns.regions.boxes.tolist()
    for one, two in zip(again.regions.shapes(), columns.regions.shapes(), strict=True):
        assert [part.tolist() for part in one] == [part.tolist() for part in two]


def test_a_pickle_of_images_holds_names_of_any_letters():
    images = _core.Images(["héron.jpg", "\udcff"], frozen([4, 2], np.int64), frozen([9, 0], np.int32), None)
    again = pickle.loads(pickle.dumps(images))
    assert again.names() == images.names() == ["héron.jpg", "\udcff"]
    assert (again.ids.tolist(), again.widths.tolist(), again.heights.tolist()) == ([4, 2], [9, 0], [0, 0])


def test_a_copy_of_what_cannot_change_is_the_same():
    columns = made()
    assert copy.copy(columns) is columns
    assert copy.deepcopy([columns, columns.regions])[0] is columns


def test_columns_are_made_pickled_and_taken_from_without_numpy():
    script = """
import pickle, sys
from array import array
from verite import _core
regions = _core.Regions(array("d", range(8)), "xyxy")
columns = _core.Columns(regions, array("i", [0, 1]), array("i", [0, 0]), array("d", [0.5, 1]))
again = pickle.loads(pickle.dumps(columns)).take(array("q", [1]))
print(len(again), "numpy" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"image": array("i", [0])}, "image: expected 2 values, one a region, found 1"),
        ({"image": array("q", [0, 0])}, "image: expected an array of another type"),
        ({"flags": {"odd": array("b", [0, 1])}}, "flags of known names"),
        ({"flags": {"crowd": array("b", [0])}}, "crowd: expected 2 values"),
    ],
)
def test_columns_that_do_not_fit_are_refused(change, complaint):
    given = {"image": array("i", [0, 0]), "label": array("i", [0, 0])} | change
    with pytest.raises((ValueError, TypeError), match=complaint):
        _core.Columns(_core.Regions(array("d", range(8)), "xyxy"), **given)


@pytest.mark.parametrize(
    ("polygons", "runs"),
    [
        (([0.0, 0.0], [0, 1], [0, 1]), None),
        (([0.0, 0.0], [0, 2], [0, 1, 1]), None),
        (([0.0, 0.0], [0, 1], [0, 1, 0]), None),
        (None, ([1, 2], [0, 1, 3], [[1, 1], [1, 2]])),
        (None, ([1, 2], [0, 1, 2], [[1, 1]])),
    ],
)
def test_shapes_whose_offsets_do_not_fit_are_refused(polygons, runs):
    if polygons is not None:
        polygons = tuple(np.array(part, dtype) for part, dtype in zip(polygons, ("f8", "i8", "i8"), strict=True))
    if runs is not None:
        runs = tuple(np.array(part, dtype) for part, dtype in zip(runs, ("u4", "i8", "i4"), strict=True))
    with pytest.raises(ValueError, match="expected"):
        _core.Regions(np.zeros((2, 4)), "xyxy", polygons, runs)
