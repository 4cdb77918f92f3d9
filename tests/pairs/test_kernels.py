"""The core's pixels and distances against pycocotools, scipy and a few loops."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest
from pycocotools import mask as coco
from scipy import ndimage

import verite as vt
from tests.random_masks import random_mask, random_pairs
from verite import _core
from verite.model.polygons import Polygons, RLEMasks
from verite.model.rasters import array_of, fill, frames_of, outlines_of, rasterise, runs_of
from verite.model.regions import Regions


def random_ring(rng, kind):
    corners = int(rng.integers(3, 14))
    if kind == 0:  # whole pixels, corners on each other's columns
        return rng.integers(-6, 60, size=(corners, 2)).astype(float)
    if kind == 1:  # fifths, where the fine grid's rounding happens
        return np.round(rng.uniform(-4, 50, size=(corners, 2)) * 10) / 10
    if kind == 2:  # far outside the image
        return rng.normal(20, 300, size=(corners, 2))
    if kind == 3:  # tiny
        return rng.uniform(0, 40) + rng.normal(0, 0.7, size=(corners, 2))
    return rng.uniform(0, 48, size=(corners, 2))


@pytest.mark.parametrize("seed", range(5))
def test_polygons_are_drawn_bit_for_bit_as_pycocotools_draws_them(seed):
    rng = np.random.default_rng(seed)
    for i in range(4_400):
        height, width = (int(v) for v in rng.integers(1, 60, size=2))
        ring = random_ring(rng, i % 5)
        expected = coco.frPyObjects([ring.ravel().tolist()], height, width)[0]["counts"]
        size = np.array([[height, width]], dtype=np.int32)
        counts, offsets = _core.polygon_runs(ring, np.array([0, len(ring)]), np.array([0, 1]), size)
        assert offsets.tolist() == [0, len(counts)]
        assert _core.encode_runs(counts) == expected, ring.tolist()


def test_polygons_of_several_rings_are_united_as_pycocotools_merges_them():
    rng = np.random.default_rng(9)
    for i in range(600):
        height, width = (int(v) for v in rng.integers(1, 60, size=2))
        rings = [random_ring(rng, (i + k) % 5) for k in range(rng.integers(1, 5))]
        merged = coco.merge(coco.frPyObjects([r.ravel().tolist() for r in rings], height, width))
        regions = Regions([[0, 0, 1, 1]], polygons=Polygons.of([rings]))
        runs = rasterise(regions, np.array([[height, width]], dtype=np.int32))
        assert _core.encode_runs(runs.counts) == merged["counts"]


def test_polygon_points_that_cannot_be_drawn_are_refused():
    size = np.array([[5, 5]], dtype=np.int32)
    for bad in (np.nan, np.inf, 1e12):
        ring = np.array([[0, 0], [4, 0], [bad, 4]])
        for is_coco in (True, False):
            if bad == 1e12 and not is_coco:
                continue
            with pytest.raises(ValueError, match="a polygon point: expected"):
                _core.polygon_runs(ring, np.array([0, 3]), np.array([0, 1]), size, is_coco)


def test_a_polygon_by_the_centre_rule_has_the_pixels_whose_middle_it_holds():
    rng = np.random.default_rng(10)
    for _ in range(200):
        ring = rng.uniform(-5, 25, size=(int(rng.integers(3, 8)), 2))
        size = np.array([[20, 23]], dtype=np.int32)
        drawn = RLEMasks(*_core.polygon_runs(ring, np.array([0, len(ring)]), np.array([0, 1]), size, False), size)
        y, x = np.mgrid[:20, :23]
        # Even-odd by crossings of a ray to the right, edge by edge.
        inside = np.zeros((20, 23), dtype=bool)
        for a, b in zip(ring, np.roll(ring, -1, axis=0), strict=True):
            crosses = (a[1] > y + 0.5) != (b[1] > y + 0.5)
            with np.errstate(divide="ignore", invalid="ignore"):
                at = a[0] + (y + 0.5 - a[1]) / (b[1] - a[1]) * (b[0] - a[0])
            inside ^= crosses & (x + 0.5 < at)
        np.testing.assert_array_equal(array_of(drawn, 0), inside)


@pytest.mark.parametrize(
    ("box", "columns", "rows"),
    [
        ([1, 2, 4, 5], range(1, 4), range(2, 5)),  # whole numbers are edges between pixels
        ([0.5, 0.5, 1.5, 2.5], [0], [0, 1]),  # the left and upper edge count, the right and lower do not
        ([0.6, 0.4, 1.4, 0.6], [], []),  # no middle inside
        ([-3, -3, 50, 2.2], range(9), range(2)),  # cut at the border
        ([3, 3, 2, 9], [], []),  # turned around
    ],
)
def test_a_box_has_the_pixels_whose_middle_it_holds(box, columns, rows):
    runs = rasterise(Regions([box]), np.array([[7, 9]], dtype=np.int32))
    expected = np.zeros((7, 9), dtype=bool)
    expected[np.ix_(list(rows), list(columns))] = True
    np.testing.assert_array_equal(array_of(runs, 0), expected)


def test_boxes_on_whole_pixels_are_what_coco_makes_of_them():
    rng = np.random.default_rng(11)
    for _ in range(300):
        x, y, w, h = (float(v) for v in rng.integers(0, 12, size=4))
        runs = rasterise(Regions([[x, y, w, h]], "xywh"), np.array([[20, 21]], dtype=np.int32))
        expected = coco.frPyObjects(np.array([[x, y, w, h]]), 20, 21)[0]["counts"]
        assert _core.encode_runs(runs.counts) == expected


def test_masks_of_any_width_become_cocos_runs_and_come_back():
    rng = np.random.default_rng(12)
    for height, width in ((1, 1), (1, 200), (200, 1), (63, 64), (64, 65), (65, 129), (130, 191), (37, 500)):
        for _ in range(6):
            mask = random_mask(rng, height, width)
            runs = runs_of(mask[None])
            expected = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
            assert _core.encode_runs(runs.counts) == expected["counts"]
            np.testing.assert_array_equal(array_of(runs, 0), mask)
            x, y, w, h = coco.toBbox(expected)
            assert frames_of(runs).tolist() == [[x, y, x + w, y + h]]


def test_any_byte_but_zero_is_object():
    image = np.array([[[0, 255, 7], [128, 0, 1]]], dtype=np.uint8)
    np.testing.assert_array_equal(array_of(runs_of(image), 0), image[0] > 0)


def test_contours_are_masks_less_their_erosion():
    for truth, _ in random_pairs(seed=13, count=150, most=90):
        found = array_of(outlines_of(runs_of(truth[None])), 0)
        np.testing.assert_array_equal(found, truth & ~ndimage.binary_erosion(truth))


def test_closed_curves_are_filled_as_scipy_fills_holes():
    for truth, _ in random_pairs(seed=14, count=200, most=70):
        curve = truth & ~ndimage.binary_erosion(truth)
        found = array_of(fill(runs_of(curve[None])), 0)
        np.testing.assert_array_equal(found, ndimage.binary_fill_holes(curve))


def far_apart(height, width, rng):
    """Two blobs near opposite ends of a long or large image."""
    truth, pred = np.zeros((height, width), dtype=bool), np.zeros((height, width), dtype=bool)
    truth[:9, :12] = random_mask(rng, min(9, height), min(12, width))
    pred[-9:, -12:] = random_mask(rng, min(9, height), min(12, width))
    return truth, pred


@pytest.mark.parametrize("shape", [(150, 170), (300, 40), (9, 20_000), (9_000, 12), (1_500, 1_400)])
def test_distances_are_exact_however_large_they_are(shape):
    """Bytes, short and long numbers hold them, whichever suffices."""
    rng = np.random.default_rng(15)
    for _ in range(3):
        truth, pred = far_apart(*shape, rng)
        pairs = vt.Pairs.of([truth], [pred])
        for directed, of, to in ((pairs.to_truth, pred, truth), (pairs.to_pred, truth, pred)):
            a, b = (np.argwhere(m & ~ndimage.binary_erosion(m)) for m in (of, to))
            expected = ((a[:, None] - b[None]) ** 2).sum(axis=2).min(axis=1)
            assert np.sort(directed.lists[0]).tolist() == np.sort(expected).tolist()
        extra = np.argwhere(pred & ~truth)
        expected = ((extra[:, None] - np.argwhere(truth)[None]) ** 2).sum(axis=2).min(axis=1).sum()
        assert pairs.outside_truth.tolist() == [expected]


def placed(mask, size):
    """The mask's pixels somewhere in a large square image, as runs."""
    y, x = np.argwhere(mask).T
    place = np.sort((x + 3_000) * size + (y + 2_000))
    first = np.flatnonzero(np.diff(place, prepend=-2) > 1)
    last = np.append(first[1:] - 1, len(place) - 1)
    walls = np.stack([place[first], place[last] + 1], axis=1).ravel()
    counts = np.diff(np.concatenate([[0], walls, [size * size]])).astype(np.uint32)
    return Regions([[0, 0, 1, 1]], runs=RLEMasks.of([(counts, (size, size))]))


def test_a_small_object_in_16_megapixels_costs_no_16_megapixels():
    """Cropping changes no number, and the image is not looked at."""
    rng = np.random.default_rng(16)
    truth, pred = random_mask(rng, 40, 50), random_mask(rng, 40, 50)
    chosen = [vt.metric(name) for name in ("hausdorff", "mean_distance", "yasnoff3", "iou", "odet_nd", "fom")]
    regions = placed(truth, 4_096), placed(pred, 4_096)
    best = np.inf
    for _ in range(5):
        start = perf_counter()
        found = vt.measure(vt.Pairs.of(*regions), chosen)
        best = min(best, perf_counter() - start)
    assert best < 0.02  # one pass over 16 million pixels would take longer
    near = vt.measure(vt.Pairs.of([np.pad(truth, 4)], [np.pad(pred, 4)]), chosen)
    for metric in chosen:
        scale = 4_096**2 / (48 * 58) if metric.name == "yasnoff3" else 1  # divided by the pixels of the image
        assert found[metric.name] * scale == pytest.approx(near[metric.name])


def test_regions_of_different_images_are_refused_by_the_core():
    a, b = (runs_of(np.ones((1, *shape), dtype=bool)) for shape in ((3, 4), (4, 3)))
    sides = [
        _core.MaskSide(counts=r.counts, objects=r.objects, sizes=r.sizes, rows=np.zeros(1, np.int64)) for r in (a, b)
    ]
    for measure in (_core.pair_statistics, _core.pair_areas, _core.pair_outside, _core.pair_distances):
        with pytest.raises(ValueError, match="pair 0: expected regions of one image, found 4 × 3 and 3 × 4 pixels"):
            measure(*sides)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": np.array([5, 5], np.uint32), "objects": np.array([0, 2])}, "runs do not add up"),
        ({"objects": np.array([0, 1])}, "expected rising offsets"),
        ({"sizes": np.zeros((2, 2), np.int32)}, "sizes: expected 1 rows.* found 2"),
        ({"rows": np.array([1])}, "rows: expected positions from 0 to 0"),
        ({"rows": np.array([-1])}, "rows: expected positions from 0 to 0"),
        ({"rows": np.array([0, 0])}, "rows: expected as many .* found 2 and 1"),
        (
            {"outline_counts": np.array([7], np.uint32), "outline_objects": np.array([0, 1])},
            "outline 0: runs do not add",
        ),
        ({"outline_counts": np.array([7], np.uint32), "outline_objects": np.array([0, 0, 1])}, "outlines: expected as"),
    ],
)
def test_the_core_trusts_no_array(change, message):
    runs = runs_of(np.eye(4, dtype=bool)[None])
    good = {"counts": runs.counts, "objects": runs.objects, "sizes": runs.sizes, "rows": np.zeros(1, np.int64)}
    with pytest.raises(ValueError, match=message):
        _core.pair_statistics(_core.MaskSide(**good | change), _core.MaskSide(**good))


def test_images_without_a_pixel_have_no_regions():
    runs = runs_of(np.zeros((1, 0, 5), dtype=bool))
    assert frames_of(runs).tolist() == [[0, 0, 0, 0]]
    assert outlines_of(runs).counts.tolist() == fill(runs).counts.tolist() == [0]


# Distances with a spacing, and those of volumes: exact, against all pairs of pixels.


def core_side(masks):
    runs = runs_of(np.asarray(masks, dtype=np.uint8))
    rows = np.arange(len(masks), dtype=np.int64)
    return _core.MaskSide(counts=runs.counts, objects=runs.objects, sizes=np.ascontiguousarray(runs.sizes), rows=rows)


def surface(mask):
    """Places of the pixels with a neighbour along an axis outside; the border is outside. Column by column in 2-D."""
    padded = np.pad(mask, 1)
    inner = np.ones_like(mask)
    for axis in range(mask.ndim):
        for step in (-1, 1):
            inner &= np.roll(padded, step, axis)[(slice(1, -1),) * mask.ndim]
    return np.argwhere(mask & ~inner)


def squared(from_places, to_places, spacing):
    """The square of the smallest distance of each place, from all pairs."""
    away = (from_places[:, None] - to_places[None]) * np.asarray(spacing)
    return (away**2).sum(axis=-1).min(axis=1)


def random_pair(rng, shape):
    masks = rng.random((2, *shape)) < rng.uniform(0.05, 0.9)
    if rng.random() < 0.5:
        masks[1] = np.roll(masks[0], 1, axis=0)
    return masks


@pytest.mark.parametrize("spacing", [(1.0, 1.0), (0.7, 0.7), (2.5, 0.3), (0.01, 40.0)])
def test_spaced_distances_are_the_smallest_of_all_pairs(spacing):
    rng = np.random.default_rng(5)
    asked = 0
    for _ in range(40):
        truth, pred = random_pair(rng, tuple(rng.integers(1, 12, 2)))
        (there, ends), (back, _) = _core.spaced_distances(core_side([truth]), core_side([pred]), spacing)
        mine, theirs = surface(truth), surface(pred)
        if not len(mine) or not len(theirs):
            assert not len(there)
            continue
        np.testing.assert_allclose(sorted(there), sorted(squared(theirs, mine, spacing)), rtol=1e-12)
        np.testing.assert_allclose(sorted(back), sorted(squared(mine, theirs, spacing)), rtol=1e-12)
        outside = np.argwhere(pred & ~truth)
        expected = squared(outside, mine, spacing).sum() if len(outside) else 0.0
        found = _core.spaced_outside(core_side([truth]), core_side([pred]), spacing)
        np.testing.assert_allclose(found, [expected], rtol=1e-12)
        asked += ends[-1]
    assert asked > 200


def test_spacing_of_one_gives_the_distances_of_pixels_to_the_last_bit():
    rng = np.random.default_rng(6)
    masks = rng.random((2, 20, 30, 40)) < 0.3
    sides = core_side(masks[0]), core_side(masks[1])
    for plain, spaced in zip(_core.pair_distances(*sides), _core.spaced_distances(*sides, (1.0, 1.0)), strict=True):
        assert np.array_equal(plain[0], spaced[0])
        assert np.array_equal(plain[1], spaced[1])


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (3.0, 0.7, 0.5), (0.2, 5.0, 1.0)])
def test_distances_of_volumes_are_the_smallest_of_all_pairs(spacing):
    rng = np.random.default_rng(7)
    asked = 0
    for _ in range(30):
        truth, pred = random_pair(rng, tuple(rng.integers(1, 8, 3)))
        volumes = truth.astype(np.uint8), np.ascontiguousarray(pred, dtype=np.uint8)
        found = voxels, surfaces, there, back = _core.volume_surfaces(*volumes, spacing, 1)
        for one, three in zip(found, _core.volume_surfaces(*volumes, spacing, 3), strict=True):
            assert one.tobytes() == three.tobytes()
        mine, theirs = surface(truth), surface(pred)
        assert voxels.tolist() == [truth.sum(), pred.sum(), (truth & pred).sum()]
        assert surfaces.tolist()[:2] == [len(mine), len(theirs)]
        if not len(mine) or not len(theirs):
            assert not len(there)
            continue
        assert surfaces[2] == len({*map(tuple, mine)} & {*map(tuple, theirs)})
        np.testing.assert_allclose(sorted(there), sorted(squared(theirs, mine, spacing)), rtol=1e-12)
        np.testing.assert_allclose(sorted(back), sorted(squared(mine, theirs, spacing)), rtol=1e-12)
        asked += len(there)
    assert asked > 200


def test_strange_spacing_is_refused():
    one = core_side(np.ones((1, 2, 2)))
    for spacing in ((0.0, 1.0), (1.0, np.inf), (np.nan, 1.0)):
        with pytest.raises(ValueError, match="spacing: expected two numbers above 0"):
            _core.spaced_distances(one, one, spacing)
    volume = np.ones((2, 2, 2), dtype=np.uint8)
    with pytest.raises(ValueError, match="spacing: expected three numbers above 0"):
        _core.volume_surfaces(volume, volume, (1.0, -1.0, 1.0), 1)
    with pytest.raises(ValueError, match="volumes: expected one shape"):
        _core.volume_surfaces(volume, volume[:1], (1.0, 1.0, 1.0), 1)
