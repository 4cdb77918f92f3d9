"""Which pixels is a region? Boxes and polygons become run-length masks here, and masks become arrays.

A pixel belongs to a box where its middle does, the left and upper edge included: column j of a box where
x1 <= j + 1/2 < x2. Polygons follow COCO's own rule, corners rounded to fifths of a pixel, bit for bit; the rule
"centre" treats them like boxes instead. Everything is cut at the border of the image.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError, VeriteError, did_you_mean
from verite.limits import limit, remedy
from verite.model.keypoints import Keypoints
from verite.model.polygons import Polygons, RLEMasks
from verite.model.ragged import offsets_of
from verite.model.regions import BOX, MASK, POLYGON, Regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

PolygonRule = Literal["coco", "centre"]

RULES = ("coco", "centre")

Sizes: TypeAlias = "NDArray[np.int32]"  # [n, 2] height and width


def rasterise(regions: Regions, sizes: Sizes, rule: PolygonRule = "coco") -> RLEMasks:
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


@contextmanager
def refuse_odd_outlines() -> Iterator[None]:
    """What the core refuses to draw, as a polygon of too many crossings or runs that do not add up, as a DataError."""
    try:
        yield
    except VeriteError:
        raise
    except ValueError as error:
        raise DataError(str(error)) from None


@refuse_odd_outlines()
def part_runs(regions: Regions, kind: int, sizes: Sizes, rule: PolygonRule) -> RLEMasks:
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
    return RLEMasks(*drawn, sizes)


def join_runs(parts: list[RLEMasks]) -> RLEMasks:
    """One column of masks after the other."""
    counts = [part.counts for part in parts] or [np.empty(0, np.uint32)]
    lengths = [np.diff(part.objects) for part in parts] or [np.empty(0, np.int64)]
    sizes = [part.sizes for part in parts] or [np.empty((0, 2), np.int32)]
    return RLEMasks(np.concatenate(counts), offsets_of(np.concatenate(lengths)), np.concatenate(sizes))


def check_sizes(sizes: Sizes) -> None:
    """Is every image small enough to draw on?"""
    side, pixels = limit("image_side"), limit("image_pixels")
    too_large = (sizes > side).any(axis=1) | (sizes.astype(np.int64).prod(axis=1) > pixels)
    if too_large.any():
        found = spell_size(sizes[np.argmax(too_large)])
        most = f"at most {side} a side and {pixels:,} pixels"
        raise DataError(f"an image: expected {most}, found {found}; {remedy('image_side')}")


@refuse_odd_outlines()
def runs_of(masks: NDArray[np.bool_] | NDArray[np.uint8]) -> RLEMasks:
    """Masks given as an array [object, row, column]; anything but 0 is object.

    >>> runs_of(np.array([[[0, 1], [0, 1]]], dtype=bool)).counts
    array([2, 2], dtype=uint32)
    """
    size = np.array(masks.shape[1:], dtype=np.int64)
    sizes = np.tile(size.clip(max=2**31 - 1).astype(np.int32), (len(masks), 1))
    check_sizes(sizes)
    data = np.ascontiguousarray(masks).view(np.uint8)
    return RLEMasks(*_core.mask_runs(data), sizes)


@refuse_odd_outlines()
def array_of(runs: RLEMasks, i: int) -> NDArray[np.bool_]:
    """Mask i as an array [row, column]."""
    return _core.mask_pixels(runs.arrays, i).view(np.bool_)


@refuse_odd_outlines()
def outlines_of(runs: RLEMasks, *, with_corners: bool = False) -> RLEMasks:
    """The contour of each mask: its pixels with a 4-neighbour outside it, the border of the image being outside.

    `with_corners` also includes pixels that touch the outside by a corner only (8-neighbours).
    """
    return RLEMasks(*_core.outline_runs(runs.counts, runs.objects, runs.sizes, with_corners), runs.sizes)


@refuse_odd_outlines()
def fill(outlines: RLEMasks) -> RLEMasks:
    """Curves of pixels together with what they enclose."""
    return RLEMasks(*_core.filled_runs(outlines.counts, outlines.objects, outlines.sizes), outlines.sizes)


@refuse_odd_outlines()
def frames_of(runs: RLEMasks) -> NDArray[np.float64]:
    """Corners of the smallest box around each mask, all 0 where it is empty."""
    return _core.run_frames(runs.counts, runs.objects, runs.sizes)


def spell_size(size: NDArray[np.int32]) -> str:
    """Height and width as people say them.

    >>> spell_size(np.array([480, 640], np.int32))
    '640 × 480'
    """
    return f"{size[1]} × {size[0]}"


def join_regions(parts: Sequence[Regions]) -> Regions:
    """One region after the other, each with the polygon, mask and pose it has.

    >>> len(join_regions([Regions([[0, 0, 1, 1]]), Regions([[2, 2, 3, 3], [4, 4, 5, 5]])]))
    3
    """
    boxes = np.concatenate([part.sizes for part in parts])
    polygons = runs = None
    if any(part.polygons is not None for part in parts):
        found = [part.polygons or no_polygons(len(part)) for part in parts]
        rings = offsets_of(np.concatenate([np.diff(one.rings) for one in found]))
        objects = offsets_of(np.concatenate([np.diff(one.objects) for one in found]))
        polygons = Polygons(np.concatenate([one.points for one in found]), rings, objects)
    if any(part.runs is not None for part in parts):
        masks = [part.runs or no_runs(len(part)) for part in parts]
        objects = offsets_of(np.concatenate([np.diff(one.objects) for one in masks]))
        sizes = np.concatenate([one.sizes for one in masks])
        runs = RLEMasks(np.concatenate([one.counts for one in masks]), objects, sizes)
    keypoints = None
    if any(part.keypoints is not None for part in parts):
        poses = [part.keypoints or Keypoints.of([None] * len(part)) for part in parts]
        points = np.concatenate([one.points for one in poses])
        keypoints = Keypoints(points, offsets_of(np.concatenate([one.counts for one in poses])))
    boxed = [np.ones(len(part), dtype=np.bool_) if part.boxed is None else part.boxed for part in parts]
    return Regions(boxes, "xywh", polygons=polygons, runs=runs, boxed=np.concatenate(boxed), keypoints=keypoints)


def no_polygons(count: int) -> Polygons:
    return Polygons(np.zeros((0, 2)), np.zeros(1, np.int64), np.zeros(count + 1, np.int64))


def no_runs(count: int) -> RLEMasks:
    return RLEMasks(np.zeros(0, np.uint32), np.zeros(count + 1, np.int64), np.zeros((count, 2), np.int32))
