"""Which objects overlap: found by boxes, measured on what they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import verite as vt
from tests.scene.scenes import SIDE, boxes_in_images, refused, scored
from verite.errors import DataError
from verite.evaluation.settings import ComparisonSettings
from verite.model.annotations import Source
from verite.model.rasters import rasterise
from verite.pairs.objects import iou_of, pairs_of
from verite.scene.score import enclosing_boxes, overlapping_pairs


def mixed(side, kinds):
    """The same boxes, some of them written as polygons (1) or masks (2)."""
    boxes = side.regions.boxes
    kinds = np.resize(kinds, len(side))
    rings = [
        [[x1, y1, x2, y1, x2, y2, x1, y2]] if k == 1 else [] for k, (x1, y1, x2, y2) in zip(kinds, boxes, strict=True)
    ]
    size = np.tile(np.array([[SIDE, SIDE]], np.int32), (len(side), 1))
    runs = rasterise(side.regions, size)
    masks = [(runs[i], (SIDE, SIDE)) if k == 2 else None for i, k in enumerate(kinds)]
    polygons = vt.Polygons.of(rings) if (kinds == 1).any() else None
    regions = vt.Regions(boxes, polygons=polygons, runs=vt.RLEMasks.of(masks) if (kinds == 2).any() else None)
    return replace(side, regions=regions)


KINDS = st.lists(st.integers(0, 2), min_size=1, max_size=4)


@pytest.mark.thorough
@settings(deadline=None)
@given(boxes_in_images(), boxes_in_images(), KINDS, KINDS, st.sampled_from(["common", "box", "given"]))
def test_every_overlap_is_found_whatever_regions_are_written_as(truth, pred, mine, theirs, regions):
    truth, pred = mixed(truth, mine), mixed(pred, theirs)
    how = ComparisonSettings(regions=regions, polygons="centre")
    rows, columns, pairs = overlapping_pairs(truth, pred, how)
    found = {(int(t), int(p)): v for t, p, v in zip(rows, columns, iou_of(pairs), strict=True) if v > 0}
    every = [(t, p) for t in range(len(truth)) for p in range(len(pred)) if truth.image[t] == pred.image[p]]
    if every:
        t, p = np.array(every).T
        told = iou_of(pairs_of(truth, pred, t, p, how))
        assert found == pytest.approx({pair: v for pair, v in zip(every, told, strict=True) if v > 0})
    else:
        assert not found


def test_a_mask_outside_its_box_is_found():
    # Files disagree with themselves: the box says left, the mask says right.
    mask = np.zeros((1, SIDE, SIDE), dtype=bool)
    mask[0, 2:6, 6:10] = True
    runs = vt.RLEMasks.of(
        [(rasterise(vt.Regions([[6, 2, 10, 6]]), np.array([[SIDE, SIDE]], np.int32))[0], (SIDE, SIDE))]
    )
    one = vt.Annotations.of(["a"], ["cat"], [[0, 0, 2, 2]], sizes={"a": (SIDE, SIDE)})
    wrong = replace(one, regions=vt.Regions([[0, 0, 2, 2]], runs=runs))
    right = replace(one, regions=vt.Regions([[6, 2, 10, 6]], runs=runs))
    assert scored(wrong, right).score == 0


def test_polygons_need_the_size_of_their_image():
    ring = vt.Polygons.of([[[0, 0, 4, 0, 4, 4]]])
    one = vt.Annotations.of(["a"], ["cat"], [[0, 0, 4, 4]])
    one = replace(one, regions=vt.Regions([[0, 0, 4, 4]], polygons=ring))
    with pytest.raises(DataError, match=r"expected the size of every image to compare polygons, found none for 'a'"):
        scored(one, one)
    assert scored(one, one, regions="box").score == 0
    box = vt.Annotations.of(["a"], ["cat"], [[0, 0, 4, 4]])
    for sides in ((one, box), (box, one)):
        with pytest.raises(DataError, match=r"expected the size of every image to compare polygons"):
            scored(*sides, regions="given")


def test_an_image_of_one_column_has_a_size():
    ring = vt.Polygons.of([[[0, 0, 1, 0, 1, 4, 0, 4]]])
    one = vt.Annotations.of(["a"], ["cat"], [[0, 0, 1, 4]], sizes={"a": (1, 9)})
    assert scored(*[replace(one, regions=vt.Regions([[0, 0, 1, 4]], polygons=ring))] * 2).score == 0


def test_fractions_of_an_image_have_overlaps_but_no_distances():
    one = replace(vt.Annotations.of(["a"], ["cat"], [[0, 0, 0.5, 0.5]]), unit="rel")
    assert scored(one, one).score == 0
    with pytest.raises(DataError, match="expected boxes in pixels"):
        scored(one, one, localization="robin_loc")


@pytest.mark.parametrize(
    "ask",
    [lambda *sides: vt.scene_score(*sides, checks="off"), lambda *sides: vt.localize(*sides, "iou", checks="off")],
)
def test_more_pairs_than_fit_into_memory_are_refused(monkeypatch, ask):
    """Eleven on the same eleven are 121 pairs that overlap; apart from each other they are 11."""
    monkeypatch.setenv("VERITE_LIMIT_OVERLAPS", "120")
    for step, is_refused in ((0.0, True), (20.0, False)):
        left = step * np.arange(11.0)
        boxes = np.stack([left, np.zeros(11), left + 10, np.full(11, 10.0)], axis=1)
        truth = vt.Annotations.of(["a"] * 11, ["cat"] * 11, boxes, sizes={"a": (300, 20)})
        pred = vt.Annotations.of(["a"] * 11, ["cat"] * 11, boxes, confidence=np.linspace(0.1, 1, 11))
        if is_refused:
            with pytest.raises(vt.DataError, match="expected at most 120 pairs of objects that overlap, found more; "):
                ask(truth, pred)
        else:
            assert ask(truth, pred)


def masked(box, ring):
    """An object whose polygon goes beyond its box."""
    given = vt.Annotations.of(["a"], ["cat"], [box], sizes={"a": (100, 100)})
    return replace(given, regions=vt.Regions([box], "xyxy", polygons=vt.Polygons.of([[ring]])))


def test_enclosing_boxes_contain_box_polygon_and_mask():
    inner, outer = [40, 40, 50, 50], [10, 20, 80, 20, 80, 90, 10, 90]
    # The polygon's own corners, and a pixel more on each side.
    assert enclosing_boxes(masked(inner, outer)).regions.boxes.tolist() == [[9, 19, 81, 91]]
    assert enclosing_boxes(masked([0, 0, 100, 100], outer)).regions.boxes.tolist() == [[0, 0, 100, 100]]
    assert enclosing_boxes(masked([40, 0, 50, 100], outer)).regions.boxes.tolist() == [[9, 0, 81, 100]]
    runs = vt.RLEMasks.of([([2 * 100 + 30, 10, 60, 4000, 5700], (100, 100))])
    given = vt.Annotations.of(["a"], ["cat"], [inner], sizes={"a": (100, 100)})
    framed = replace(given, regions=vt.Regions([inner], "xyxy", runs=runs))
    assert enclosing_boxes(framed).regions.boxes.tolist() == [[2, 0, 50, 100]]  # columns 2 to 42 and all rows


def test_polygons_without_a_size_are_named_by_their_file():
    ring = [10, 20, 80, 20, 80, 90]
    unsized = replace(masked([10, 20, 80, 90], ring), images=vt.Annotations.of(["a"], ["cat"], [[0, 0, 1, 1]]).images)
    pred = replace(unsized, confidence=np.array([0.5]))
    said = refused(vt.scene_score, unsized, pred, checks="off")
    assert said.startswith("truth: expected the size of every image to compare polygons, found none for 'a'")
    named = unsized.with_source(Source("gt.json", "coco", ""))
    assert refused(vt.scene_score, named, pred, checks="off").startswith("gt.json: expected the size of every image")
