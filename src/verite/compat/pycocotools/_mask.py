"""Masks as run-length dictionaries ``{"size": [height, width], "counts": bytes}``: lists in, lists out.

The functions of pycocotools' compiled module. Every bound is checked: what makes the original crash, hang or
read beyond its memory is a ValueError here, or has the one answer that makes sense.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import BadParameter, excerpt
from verite.model.polygons import RLEMasks

Rle = dict[str, Any]
Counts = NDArray[np.uint32]


def runs_of(masks: Sequence[Rle]) -> RLEMasks:
    """Run-length dictionaries, compressed or not, as columns; where runs end early, background follows."""
    return RLEMasks.of([(complete_runs(counts_of(mask), size_of(mask)), size_of(mask)) for mask in masks])


def size_of(mask: Rle) -> tuple[int, int]:
    try:
        height, width = (int(side) for side in mask["size"])
    except (TypeError, KeyError, IndexError, ValueError, OverflowError):
        raise BadParameter(f"mask: expected a size and counts, found {excerpt(str(mask))}") from None
    if min(height, width) < 0 or max(height, width) >= 2**31 or height * width >= 2**32:
        raise BadParameter(
            f"mask: expected sides from 0 up, below 2**31, and fewer than 2**32 pixels, found {height} x {width}"
        )
    return height, width


def counts_of(mask: Rle) -> Counts:
    """Runs as they are given: they may end before the last pixel, not after it."""
    height, width = size_of(mask)
    counts = mask.get("counts")
    try:
        if isinstance(counts, (str, bytes)):
            text = counts.encode() if isinstance(counts, str) else counts
            return _core.decode_runs(text, height, width, may_end_early=True)
        given = np.asarray(counts, dtype=np.int64).reshape(-1)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadParameter(f"mask: expected runs of {height} x {width} pixels, found {error}") from None
    # Each alone first: the sum of a few large ones wraps around.
    if ((given < 0) | (given > height * width)).any() or sum(given.tolist()) > height * width:
        raise BadParameter(f"mask: expected runs of {height} x {width} pixels, found {excerpt(str(counts))}")
    return given.astype(np.uint32)


def complete_runs(counts: Counts, size: tuple[int, int]) -> Counts:
    """Background behind runs that end early."""
    rest = size[0] * size[1] - int(counts.sum(dtype=np.uint64))
    if rest == 0 and len(counts):
        return counts
    whole = np.append(counts, np.uint32(0)) if len(counts) % 2 == 0 else counts.copy()
    whole[-1] += np.uint32(rest)
    return whole


def rle_of(counts: NDArray[np.uint32], size: Sequence[int]) -> Rle:
    return {"size": [int(side) for side in size], "counts": _core.encode_runs(np.ascontiguousarray(counts))}


def rles_of(runs: RLEMasks) -> list[Rle]:
    return [rle_of(runs[i], runs.sizes[i].tolist()) for i in range(len(runs))]


@dataclass(frozen=True)
class RLEs:
    """Runs of several masks, as `_frString` hands them to `_toString`."""

    masks: tuple[tuple[Counts, tuple[int, int]], ...] = ()


def _frString(rleObjs: Sequence[Rle]) -> RLEs:  # noqa: N802, N803 - the names are pycocotools'
    return RLEs(tuple((counts_of(mask), size_of(mask)) for mask in rleObjs))


def _toString(Rs: RLEs) -> list[Rle]:  # noqa: N802, N803
    return [rle_of(counts, size) for counts, size in Rs.masks]


def encode(mask: NDArray[np.uint8]) -> list[Rle]:
    """Pixels [row, column, mask] to masks."""
    pixels = np.asarray(mask)
    if pixels.ndim != 3:
        raise BadParameter(f"encode: expected an array of 3 dimensions, found {pixels.ndim}")
    if pixels.dtype in (np.bool_, np.int8):
        pixels = pixels.view(np.uint8)
    if pixels.dtype != np.uint8:
        raise BadParameter(f"encode: expected uint8, found {pixels.dtype}")
    counts, offsets = _core.encode_masks(np.asfortranarray(pixels))
    sizes = np.tile(np.array(pixels.shape[:2], dtype=np.int32), (pixels.shape[2], 1))
    return rles_of(RLEMasks(counts, offsets, sizes))


def decode(rleObjs: Sequence[Rle]) -> NDArray[np.uint8]:  # noqa: N803
    """Masks to pixels [row, column, mask]."""
    try:
        pixels = _core.decode_masks(runs_of(rleObjs).arrays)
    except ValueError as error:
        raise BadParameter(f"decode: {error}") from None
    return pixels.transpose(2, 1, 0)


def area(rleObjs: Sequence[Rle]) -> NDArray[np.uint32]:  # noqa: N803
    """How many pixels each mask has."""
    return _core.mask_areas(runs_of(rleObjs).arrays).astype(np.uint32)


def toBbox(rleObjs: Sequence[Rle]) -> NDArray[np.float64]:  # noqa: N802, N803
    """Left, top, width and height of each mask."""
    return _core.mask_bounds(runs_of(rleObjs).arrays)


def merge(rleObjs: Sequence[Rle], intersect: int = 0) -> Rle:  # noqa: N803
    """The union of masks, or their intersection. Masks of different sizes give an empty one, as in pycocotools."""
    sizes = [size_of(mask) for mask in rleObjs]
    if len(set(sizes)) != 1:
        return {"size": [0, 0], "counts": b""}
    counts = [counts_of(mask) for mask in rleObjs]
    if len({int(runs.sum(dtype=np.uint64)) for runs in counts}) > 1:
        counts = [complete_runs(runs, sizes[0]) for runs in counts]
    if len(counts) == 1 or not all(map(len, counts)):
        return rle_of(counts[0], sizes[0])
    runs = RLEMasks.of(list(zip(counts, sizes, strict=True)))
    return rle_of(_core.merge_masks(runs.arrays, bool(intersect)), sizes[0])


def iou(dt: Any, gt: Any, pyiscrowd: Sequence[Any]) -> Any:
    """Overlaps of every detection (rows) with every truth (columns), boxes or masks; of crowds over `dt` alone."""
    mine, others = read_operands(dt), read_operands(gt)
    crowd = np.array(pyiscrowd, dtype=np.bool_).reshape(-1)
    if len(crowd) != len(others):
        raise BadParameter(f"iou: expected {len(others)} crowd flags, one per ground-truth object, found {len(crowd)}")
    if not len(mine) or not len(others):
        return []
    if isinstance(mine, RLEMasks) and isinstance(others, RLEMasks):
        return np.asfortranarray(_core.mask_iou(mine.arrays, others.arrays, crowd))
    if isinstance(mine, RLEMasks) or isinstance(others, RLEMasks):
        raise BadParameter("iou: expected boxes on both sides or masks on both sides")
    return np.asfortranarray(_core.coco_box_iou(mine, others, crowd))


def read_operands(objects: Any) -> NDArray[np.float64] | RLEMasks:
    """Boxes as [n, 4], masks as runs."""
    if isinstance(objects, np.ndarray):
        boxes = floats_of(objects)
        if boxes.ndim == 2 and boxes.shape[1] == 4:
            return boxes
        raise BadParameter(f"iou: expected boxes of shape (n, 4), found {boxes.shape}")
    if isinstance(objects, (list, tuple)):
        if all(isinstance(thing, dict) for thing in objects):
            return runs_of(objects)
        if all(isinstance(thing, (list, tuple, np.ndarray)) and len(thing) == 4 for thing in objects):
            return floats_of(objects).reshape(-1, 4)
    raise BadParameter("iou: expected a list of boxes or of masks, or an array of boxes")


def has_plain_runs(outline: Any) -> bool:
    """Whether the runs of a mask are a list of numbers, as annotators write crowds."""
    if not isinstance(outline, dict) or "counts" not in outline:
        raise BadParameter(f"segmentation: expected polygons, or a mask of size and counts, found {excerpt(outline)}")
    return isinstance(outline["counts"], list)


def floats_of(values: Any) -> NDArray[np.float64]:
    """Coordinates, which an array of floating-point numbers must hold."""
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except OverflowError:
        raise BadParameter(f"mask: expected coordinates below 1e308, found {excerpt(values)}") from None


def frPyObjects(pyobj: Any, h: int, w: int) -> Any:  # noqa: N802
    """Masks of boxes (an array), polygons (lists of numbers) or uncompressed runs, of one or of a list of them."""
    if isinstance(pyobj, np.ndarray):
        return frBbox(pyobj, h, w)
    if isinstance(pyobj, dict):
        return frUncompressedRLE([pyobj], h, w)[0]
    if isinstance(pyobj, list) and pyobj:
        first = pyobj[0]
        if isinstance(first, dict):
            return frUncompressedRLE(pyobj, h, w)
        if isinstance(first, (list, tuple, np.ndarray)):
            return frBbox(np.array(pyobj), h, w) if len(first) == 4 else frPoly(pyobj, h, w)
        return frBbox(np.array([pyobj]), h, w)[0] if len(pyobj) == 4 else frPoly([pyobj], h, w)[0]
    raise BadParameter(f"frPyObjects: expected boxes, polygons or runs, found {excerpt(str(pyobj))}")


def frUncompressedRLE(ucRles: Sequence[Rle], h: int = 0, w: int = 0) -> list[Rle]:  # noqa: N802, N803
    """The same runs, compressed. Sizes are those of the masks."""
    return _toString(_frString(ucRles))


NO_RUNS = (np.empty(0, np.uint32), np.zeros(1, np.int64), np.empty((0, 2), np.int32))


def frBbox(bb: Any, h: int, w: int) -> list[Rle]:  # noqa: N802
    """Masks of boxes: left, top, width, height."""
    values = floats_of(bb).reshape(-1, 4)
    sizes = np.tile(np.array(size_of({"size": [h, w]}), dtype=np.int32), (len(values), 1))
    nothing = np.empty((0, 2)), np.zeros(1, np.int64), np.empty(0, np.int64)
    return rles_of(RLEMasks(*_core.draw_masks(NO_RUNS, *nothing, values, sizes)))


def frPoly(poly: Sequence[Any], h: int, w: int) -> list[Rle]:  # noqa: N802
    """Masks of rings: x, y, x, y, …"""
    # An odd number of coordinates loses its last one, as in pycocotools.
    rings = [floats_of(ring).reshape(-1) for ring in poly]
    points = np.concatenate([ring[: len(ring) // 2 * 2] for ring in rings]).reshape(-1, 2)
    offsets = np.cumsum([0, *(len(ring) // 2 for ring in rings)], dtype=np.int64)
    sizes = np.tile(np.array(size_of({"size": [h, w]}), dtype=np.int32), (len(rings), 1))
    objects = np.arange(len(rings) + 1, dtype=np.int64)
    return rles_of(RLEMasks(*_core.draw_masks(NO_RUNS, points, offsets, objects, np.zeros((len(rings), 4)), sizes)))
