"""Distances where pixels do not lie one apart, and those of volumes: exact, against all pairs of pixels."""

from __future__ import annotations

import numpy as np
import pytest

from verite import _core
from verite.model.rasters import runs_of


def side(masks):
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
        (there, ends), (back, _) = _core.spaced_distances(side([truth]), side([pred]), spacing)
        mine, theirs = surface(truth), surface(pred)
        if not len(mine) or not len(theirs):
            assert not len(there)
            continue
        np.testing.assert_allclose(sorted(there), sorted(squared(theirs, mine, spacing)), rtol=1e-12)
        np.testing.assert_allclose(sorted(back), sorted(squared(mine, theirs, spacing)), rtol=1e-12)
        outside = np.argwhere(pred & ~truth)
        expected = squared(outside, mine, spacing).sum() if len(outside) else 0.0
        found = _core.spaced_outside(side([truth]), side([pred]), spacing)
        np.testing.assert_allclose(found, [expected], rtol=1e-12)
        asked += ends[-1]
    assert asked > 200


def test_spacing_of_one_gives_the_distances_of_pixels_to_the_last_bit():
    rng = np.random.default_rng(6)
    masks = rng.random((2, 20, 30, 40)) < 0.3
    sides = side(masks[0]), side(masks[1])
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
    one = side(np.ones((1, 2, 2)))
    for spacing in ((0.0, 1.0), (1.0, np.inf), (np.nan, 1.0)):
        with pytest.raises(ValueError, match="spacing: expected two numbers above 0"):
            _core.spaced_distances(one, one, spacing)
    volume = np.ones((2, 2, 2), dtype=np.uint8)
    with pytest.raises(ValueError, match="spacing: expected three numbers above 0"):
        _core.volume_surfaces(volume, volume, (1.0, -1.0, 1.0), 1)
    with pytest.raises(ValueError, match="volumes: expected one shape"):
        _core.volume_surfaces(volume, volume[:1], (1.0, 1.0, 1.0), 1)
