"""Boxes in every layout, rings and runs of different lengths, scaling."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from verite.model.layouts import ALIASES, LAYOUTS, layout_name, spell_as
from verite.model.ragged import gather, offsets_of
from verite.model.regions import BOX, MASK, POLYGON

CORNERS = [[10.0, 20.0, 40.0, 60.0]]
SPELLINGS = {
    "xyxy": [10, 20, 40, 60],
    "xywh": [10, 20, 30, 40],
    "cxcywh": [25, 40, 30, 40],
    "yxyx": [20, 10, 60, 40],
    "yxhw": [20, 10, 40, 30],
}


def test_every_layout_is_tested():
    assert set(SPELLINGS) == set(LAYOUTS)


@pytest.mark.parametrize("layout", SPELLINGS)
def test_layouts_say_the_same_box(layout):
    regions = vt.Regions([SPELLINGS[layout]], layout)
    assert regions.boxes.tolist() == CORNERS
    assert regions.sizes.tolist() == [SPELLINGS["xywh"]]
    assert spell_as(np.array(CORNERS), layout).tolist() == [SPELLINGS[layout]]


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_are_layouts(alias):
    assert layout_name(alias) in LAYOUTS


def test_unknown_layout_shows_the_nearest():
    with pytest.raises(vt.BadParameter, match=r"box layout: expected one of .*, found 'xywhh'; did you mean 'xywh'\?"):
        vt.Regions(CORNERS, "xywhh")


def test_width_and_height_stay_the_files_numbers():
    # 0.1 + 0.2 - 0.1 is not 0.2.
    assert vt.Regions([[0.1, 0.1, 0.2, 0.2]], "xywh").sizes.tolist() == [[0.1, 0.1, 0.2, 0.2]]


def test_no_boxes_have_four_columns_all_the_same():
    assert vt.Regions([]).boxes.shape == (0, 4)


@pytest.mark.parametrize("boxes", [[1, 2, 3, 4], [[1, 2, 3]], [[[1, 2, 3, 4]]]])
def test_boxes_of_another_shape_are_refused(boxes):
    with pytest.raises(vt.BadParameter, match=r"boxes: expected shape \(n, 4\), found"):
        vt.Regions(boxes)


def test_outlines_must_be_as_many_as_boxes():
    with pytest.raises(vt.BadParameter, match="polygons: expected 1 objects as in boxes, found 2"):
        vt.Regions(CORNERS, polygons=vt.Polygons.of([[], []]))
    with pytest.raises(vt.BadParameter, match="runs: expected 1 objects as in boxes, found 0"):
        vt.Regions(CORNERS, runs=vt.RLEMasks.of([]))


def test_kind_is_the_best_an_object_has():
    regions = vt.Regions(
        CORNERS * 4,
        polygons=vt.Polygons.of([[], [[0, 0, 1, 0, 1, 1]], [], [[0, 0, 1, 0, 1, 1]]]),
        runs=vt.RLEMasks.of([None, None, ([1], (1, 1)), ([0, 1], (1, 1))]),
    )
    assert regions.kinds.tolist() == [BOX, POLYGON, MASK, MASK]


def test_empty_outlines_are_none():
    regions = vt.Regions(CORNERS, polygons=vt.Polygons.of([[]]), runs=vt.RLEMasks.of([None]))
    assert regions.polygons is None
    assert regions.runs is None


def test_rows_of_different_lengths_are_gathered():
    assert offsets_of(np.array([2, 0, 3])).tolist() == [0, 2, 2, 5]
    values, offsets = gather(np.array([0, 2, 2, 5]), np.array([2, 1, 0, 2]))
    assert values.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]
    assert offsets.tolist() == [0, 3, 3, 5, 8]


def test_polygons_and_runs_are_taken_with_their_objects():
    polygons = vt.Polygons.of([[[0, 0, 1, 0, 1, 1]], [], [[2, 2, 3, 2, 3, 3], [4, 4, 5, 4, 5, 5, 4, 5]]])
    taken = polygons.take(np.array([2, 0]))
    assert [ring.tolist() for ring in taken[0]] == [[[2, 2], [3, 2], [3, 3]], [[4, 4], [5, 4], [5, 5], [4, 5]]]
    assert [ring.tolist() for ring in taken[1]] == [[[0, 0], [1, 0], [1, 1]]]
    runs = vt.RLEMasks.of([([4], (2, 2)), None, ([1, 2, 3], (2, 3))]).take(np.array([2, 1]))
    assert runs[0].tolist() == [1, 2, 3]
    assert runs[1].tolist() == []
    assert runs.sizes.tolist() == [[2, 3], [0, 0]]


def test_each_object_is_stretched_by_its_own_factors():
    regions = vt.Regions(
        [[1, 2, 3, 4], [1, 2, 3, 4]], "xywh", polygons=vt.Polygons.of([[[1, 2, 4, 2, 4, 6]], [[1, 2, 4, 2, 4, 6]]])
    ).scale(np.array([[1, 1], [10, 100]]))
    assert regions.sizes.tolist() == [[1, 2, 3, 4], [10, 200, 30, 400]]
    assert regions.polygons[0][0].tolist() == [[1, 2], [4, 2], [4, 6]]
    assert regions.polygons[1][0].tolist() == [[10, 200], [40, 200], [40, 600]]
