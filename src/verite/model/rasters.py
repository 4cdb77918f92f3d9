"""Which pixels is a region? Boxes and polygons become run-length masks here, and masks become arrays.

A pixel belongs to a box where its middle does, the left and upper edge included: column j of a box where
x1 <= j + 1/2 < x2. Polygons follow COCO's own rule, corners rounded to fifths of a pixel, bit for bit; the rule
"centre" treats them like boxes instead. Everything is cut at the border of the image.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import BadParameter, DataError, did_you_mean
from verite.limits import limit, remedy
from verite.model.outlines import Runs
from verite.model.ragged import offsets_of
from verite.model.regions import BOX, MASK, POLYGON, Regions

PolygonRule = Literal["coco", "centre"]
RULES = ("coco", "centre")
Sizes = NDArray[np.int32]  # [n, 2] height and width


def rasterise(regions: Regions, sizes: Sizes, rule: PolygonRule = "coco") -> Runs:
    """Every region as the pixels it covers in an image of its size.

    >>> from verite.model.regions import Regions
    >>> rasterise(Regions([[1, 0, 3, 2]]), np.array([[2, 4]], np.int32)).counts   # columns 1 and 2 of 2 rows
    array([2, 4, 2], dtype=uint32)
    """
    if rule not in RULES:
        raise BadParameter(f"polygons: expected {' or '.join(RULES)}, found {rule!r}{did_you_mean(rule, RULES)}")
    check_sizes(sizes)
    kinds = regions.kinds
    if len(kinds) and (kinds == kinds[0]).all():
        return part_runs(regions, int(kinds[0]), sizes, rule)
    parts, order = [], []
    for kind in (BOX, POLYGON, MASK):
        rows = np.flatnonzero(kinds == kind)
        if len(rows):
            order.append(rows)
            parts.append(part_runs(regions.take(rows), kind, sizes[rows], rule))
    back = np.empty(len(regions), dtype=np.int64)
    back[np.concatenate(order) if order else np.empty(0, np.int64)] = np.arange(len(regions))
    return join_runs(parts).take(back)


def part_runs(regions: Regions, kind: int, sizes: Sizes, rule: PolygonRule) -> Runs:
    """Regions of one kind as runs."""
    sizes = np.ascontiguousarray(sizes, dtype=np.int32)
    if kind == MASK:
        assert regions.runs is not None
        differs = np.flatnonzero((regions.runs.sizes != sizes).any(axis=1))
        if len(differs):
            first = differs[0]
            found, wanted = spell_size(regions.runs.sizes[first]), spell_size(sizes[first])
            raise DataError(f"a mask: expected the size of its image, {wanted}, found {found} pixels")
        return regions.runs
    if kind == POLYGON:
        assert regions.polygons is not None
        polygons = regions.polygons
        points = np.ascontiguousarray(polygons.points, dtype=np.float64)
        drawn = _core.polygon_runs(points, polygons.rings, polygons.objects, sizes, rule == "coco")
    else:
        drawn = _core.box_runs(regions.boxes, sizes)
    return Runs(*drawn, sizes)


def join_runs(parts: list[Runs]) -> Runs:
    """One column of masks after the other."""
    counts = [part.counts for part in parts] or [np.empty(0, np.uint32)]
    lengths = [np.diff(part.objects) for part in parts] or [np.empty(0, np.int64)]
    sizes = [part.sizes for part in parts] or [np.empty((0, 2), np.int32)]
    return Runs(np.concatenate(counts), offsets_of(np.concatenate(lengths)), np.concatenate(sizes))


def check_sizes(sizes: Sizes) -> None:
    """Is every image small enough to draw on?"""
    side, pixels = limit("image_side"), limit("image_pixels")
    too_large = (sizes > side).any(axis=1) | (sizes.astype(np.int64).prod(axis=1) > pixels)
    if too_large.any():
        found = spell_size(sizes[np.argmax(too_large)])
        most = f"at most {side} a side and {pixels:,} pixels"
        raise DataError(f"an image: expected {most}, found {found}; {remedy('image_side')}")


def runs_of(masks: NDArray[np.bool_] | NDArray[np.uint8]) -> Runs:
    """Masks given as an array [object, row, column]; anything but 0 is object.

    >>> runs_of(np.array([[[0, 1], [0, 1]]], dtype=bool)).counts
    array([2, 2], dtype=uint32)
    """
    size = np.array(masks.shape[1:], dtype=np.int64)
    sizes = np.tile(size.clip(max=2**31 - 1).astype(np.int32), (len(masks), 1))
    check_sizes(sizes)
    data = np.ascontiguousarray(masks).view(np.uint8)
    return Runs(*_core.mask_runs(data), sizes)


def array_of(runs: Runs, i: int) -> NDArray[np.bool_]:
    """Mask i as an array [row, column]."""
    return _core.mask_pixels(runs.arrays, i).view(np.bool_)


def outlines_of(runs: Runs) -> Runs:
    """The contour of each mask: its pixels with a 4-neighbour outside it, the border of the image being outside."""
    return Runs(*_core.outline_runs(runs.counts, runs.objects, runs.sizes), runs.sizes)


def fill(outlines: Runs) -> Runs:
    """Curves of pixels together with what they enclose."""
    return Runs(*_core.filled_runs(outlines.counts, outlines.objects, outlines.sizes), outlines.sizes)


def frames_of(runs: Runs) -> NDArray[np.float64]:
    """Corners of the smallest box around each mask, all 0 where it is empty."""
    return _core.run_frames(runs.counts, runs.objects, runs.sizes)


def spell_size(size: NDArray[np.int32]) -> str:
    """Height and width as people say them.

    >>> spell_size(np.array([480, 640], np.int32))
    '640 × 480'
    """
    return f"{size[1]} × {size[0]}"
