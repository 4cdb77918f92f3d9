"""Masks as run-length dictionaries ``{"size": [height, width], "counts": bytes}``: the functions of pycocotools.mask.

Every bound is checked: what makes the original crash or hang is a ValueError here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import BadParameter, excerpt
from verite.model.outlines import Runs

Rle = dict[str, Any]


def runs_of(masks: Sequence[Rle]) -> Runs:
    """Run-length dictionaries, compressed or not, as columns."""
    return Runs.of([(counts_of(mask), size_of(mask)) for mask in masks])


def size_of(mask: Rle) -> tuple[int, int]:
    try:
        height, width = (int(side) for side in mask["size"])
    except (TypeError, KeyError, ValueError, OverflowError):
        raise BadParameter(f"mask: expected a size and counts, found {excerpt(str(mask))}") from None
    if min(height, width) < 0 or max(height, width) >= 2**31 or height * width >= 2**32:
        raise BadParameter(
            f"mask: expected sides from 0 up, below 2**31, and fewer than 2**32 pixels, found {height} x {width}"
        )
    return height, width


def counts_of(mask: Rle) -> NDArray[np.uint32]:
    height, width = size_of(mask)
    counts = mask.get("counts")
    try:
        if isinstance(counts, (str, bytes)):
            return _core.decode_runs(counts.encode() if isinstance(counts, str) else counts, height, width)
        given = np.asarray(counts, dtype=np.int64).reshape(-1)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadParameter(f"mask: expected runs of {height} x {width} pixels, found {error}") from None
    # Each alone first: the sum of a few large ones wraps around.
    if ((given < 0) | (given > height * width)).any() or sum(given.tolist()) != height * width:
        raise BadParameter(f"mask: expected runs of {height} x {width} pixels, found {excerpt(str(counts))}")
    return given.astype(np.uint32)


def rle_of(counts: NDArray[np.uint32], size: Sequence[int]) -> Rle:
    return {"size": [int(side) for side in size], "counts": _core.encode_runs(np.ascontiguousarray(counts))}


def rles_of(runs: Runs) -> list[Rle]:
    return [rle_of(runs[i], runs.sizes[i].tolist()) for i in range(len(runs))]


def encode(bimask: NDArray[np.uint8]) -> Any:
    """Pixels [row, column] to a mask, or [row, column, mask] to a list of them."""
    pixels = np.asarray(bimask)
    if pixels.ndim not in (2, 3):
        raise BadParameter(f"encode: expected an array of 2 or 3 dimensions, found {pixels.ndim}")
    if pixels.dtype == np.bool_:
        pixels = pixels.view(np.uint8)
    if pixels.dtype != np.uint8:
        raise BadParameter(f"encode: expected uint8, found {pixels.dtype}")
    stack = np.asfortranarray(pixels if pixels.ndim == 3 else pixels[:, :, None])
    counts, offsets = _core.encode_masks(stack)
    sizes = np.tile(np.array(stack.shape[:2], dtype=np.int32), (stack.shape[2], 1))
    found = rles_of(Runs(counts, offsets, sizes))
    return found if pixels.ndim == 3 else found[0]


def decode(rleObjs: Any) -> NDArray[np.uint8]:  # noqa: N803 - the name is pycocotools'
    """A mask to pixels [row, column], or a list of them to [row, column, mask]."""
    is_list = isinstance(rleObjs, list)
    try:
        pixels = _core.decode_masks(runs_of(rleObjs if is_list else [rleObjs]).arrays)
    except ValueError as error:
        raise BadParameter(f"decode: {error}") from None
    stack = pixels.transpose(2, 1, 0)
    return stack if is_list else stack[:, :, 0]


def area(rleObjs: Any) -> Any:  # noqa: N803
    """How many pixels a mask has, or each of a list."""
    if not isinstance(rleObjs, list):
        return area([rleObjs])[0]
    return _core.mask_areas(runs_of(rleObjs).arrays).astype(np.uint32)


def toBbox(rleObjs: Any) -> NDArray[np.float64]:  # noqa: N802, N803
    """Left, top, width and height of a mask, or of each of a list."""
    if not isinstance(rleObjs, list):
        first: NDArray[np.float64] = toBbox([rleObjs])[0]
        return first
    return _core.mask_bounds(runs_of(rleObjs).arrays)


def merge(rleObjs: list[Rle], intersect: int = 0) -> Rle:  # noqa: N803
    """The union of masks, or their intersection. Masks of different sizes give an empty one, as in pycocotools."""
    runs = runs_of(rleObjs)
    if not len(runs):
        return {"size": [0, 0], "counts": b""}
    if (runs.sizes != runs.sizes[0]).any():
        return {"size": [0, 0], "counts": b""}
    return rle_of(_core.merge_masks(runs.arrays, bool(intersect)), runs.sizes[0].tolist())


def iou(dt: Any, gt: Any, pyiscrowd: Sequence[Any]) -> Any:
    """Overlaps of every detection (rows) with every truth (columns), boxes or masks; of crowds over `dt` alone."""
    mine, others = prepare(dt), prepare(gt)
    crowd = np.array(pyiscrowd, dtype=np.bool_).reshape(-1)
    if len(crowd) != len(others):
        raise BadParameter(f"iou: expected {len(others)} crowd flags, one a truth, found {len(crowd)}")
    if not len(mine) or not len(others):
        return []
    if isinstance(mine, Runs) and isinstance(others, Runs):
        return np.asfortranarray(_core.mask_overlaps(mine.arrays, others.arrays, crowd))
    if isinstance(mine, Runs) or isinstance(others, Runs):
        raise BadParameter("iou: expected boxes on both sides or masks on both sides")
    return np.asfortranarray(_core.coco_box_overlaps(mine, others, crowd))


def prepare(objects: Any) -> NDArray[np.float64] | Runs:
    """Boxes as [n, 4], masks as runs."""
    if isinstance(objects, np.ndarray):
        boxes = np.ascontiguousarray(objects, dtype=np.float64)
        if boxes.ndim == 2 and boxes.shape[1] == 4:
            return boxes
        raise BadParameter(f"iou: expected boxes of shape (n, 4), found {boxes.shape}")
    if isinstance(objects, (list, tuple)):
        if all(isinstance(thing, dict) for thing in objects):
            return runs_of(objects)
        if all(isinstance(thing, (list, tuple, np.ndarray)) and len(thing) == 4 for thing in objects):
            return np.array(objects, dtype=np.float64).reshape(-1, 4)
    raise BadParameter("iou: expected a list of boxes or of masks, or an array of boxes")


def frPyObjects(pyobj: Any, h: int, w: int) -> Any:  # noqa: N802
    """Masks of boxes (an array), polygons (lists of numbers) or uncompressed runs, of one or of a list of them."""
    if isinstance(pyobj, np.ndarray):
        return draw_boxes(pyobj, h, w)
    if isinstance(pyobj, dict):
        return rle_of(counts_of(pyobj), size_of(pyobj))
    if isinstance(pyobj, list) and pyobj:
        first = pyobj[0]
        if isinstance(first, dict):
            return [rle_of(counts_of(mask), size_of(mask)) for mask in pyobj]
        if isinstance(first, (list, tuple, np.ndarray)):
            return draw_boxes(np.array(pyobj), h, w) if len(first) == 4 else draw_polygons(pyobj, h, w)
        return draw_boxes(np.array([pyobj]), h, w)[0] if len(pyobj) == 4 else draw_polygons([pyobj], h, w)[0]
    raise BadParameter(f"frPyObjects: expected boxes, polygons or runs, found {excerpt(str(pyobj))}")


NO_RUNS = (np.empty(0, np.uint32), np.zeros(1, np.int64), np.empty((0, 2), np.int32))


def draw_boxes(boxes: NDArray[Any], h: int, w: int) -> list[Rle]:
    values = np.ascontiguousarray(boxes, dtype=np.float64).reshape(-1, 4)
    sizes = np.tile(np.array(size_of({"size": [h, w]}), dtype=np.int32), (len(values), 1))
    nothing = np.empty((0, 2)), np.zeros(1, np.int64), np.empty(0, np.int64)
    return rles_of(Runs(*_core.draw_masks(NO_RUNS, *nothing, values, sizes)))


def draw_polygons(polygons: list[Any], h: int, w: int) -> list[Rle]:
    # An odd number of coordinates loses its last one, as in pycocotools.
    rings = [np.asarray(ring, dtype=np.float64).reshape(-1) for ring in polygons]
    points = np.concatenate([ring[: len(ring) // 2 * 2] for ring in rings]).reshape(-1, 2)
    offsets = np.cumsum([0, *(len(ring) // 2 for ring in rings)], dtype=np.int64)
    sizes = np.tile(np.array(size_of({"size": [h, w]}), dtype=np.int32), (len(rings), 1))
    objects = np.arange(len(rings) + 1, dtype=np.int64)
    return rles_of(Runs(*_core.draw_masks(NO_RUNS, points, offsets, objects, np.zeros((len(rings), 4)), sizes)))
