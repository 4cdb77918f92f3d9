"""Limits of polygons and masks."""

from __future__ import annotations

from tests.formats.samples import refused
from verite.formats.polygons import check_mask_size, check_ring


def test_rings_have_three_points_and_no_more_than_may_be(monkeypatch):
    ring = [0.0, 0, 1, 0, 1, 1]
    assert check_ring("x", ring) == ring
    for odd in (ring[:4], ring[:5], [*ring, 1]):
        assert f"at least 6 (V408), found {len(odd)}" in refused(check_ring, "x", odd)
    monkeypatch.setattr("verite.formats.polygons.limit", {"polygon_points": 3, "coordinate": 9}.get)
    assert check_ring("x", [0.0, 0, 9, 0, -9, 1])
    assert "expected at most 3 points, found 4" in refused(check_ring, "x", [*ring, 0, 1])
    assert "expected coordinates up to 9, found 9.5" in refused(check_ring, "x", [0.0, 0, 9.5, 0, 1, 1])
    assert "found nan" in refused(check_ring, "x", [0.0, 0, float("nan"), 0, 1, 1])


def test_masks_are_as_large_as_images_may_be(monkeypatch):
    monkeypatch.setattr("verite.formats.polygons.limit", {"image_side": 10, "image_pixels": 50}.get)
    for good in ((5, 10), (10, 5), (0, 0)):
        check_mask_size("x", *good)
    for odd in ((11, 1), (1, 11), (-1, 5), (5, -1), (6, 9)):
        assert f"found {odd[0]} x {odd[1]}" in refused(check_mask_size, "x", *odd)
