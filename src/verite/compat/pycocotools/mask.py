"""Masks as run-length dictionaries, one or a list of them: the functions of pycocotools.mask."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.compat.pycocotools import _mask
from verite.errors import BadParameter

iou = _mask.iou
merge = _mask.merge
frPyObjects = _mask.frPyObjects  # noqa: N816 - the name is pycocotools'


def encode(bimask: NDArray[np.uint8]) -> Any:
    """Pixels [row, column] to a mask, or [row, column, mask] to a list of them."""
    pixels = np.asarray(bimask)
    if pixels.ndim not in (2, 3):
        raise BadParameter(f"encode: expected an array of 2 or 3 dimensions, found {pixels.ndim}")
    return _mask.encode(pixels) if pixels.ndim == 3 else _mask.encode(pixels[:, :, None])[0]


def decode(rleObjs: Any) -> NDArray[np.uint8]:  # noqa: N803
    """A mask to pixels [row, column], or a list of them to [row, column, mask]."""
    return _mask.decode(rleObjs) if isinstance(rleObjs, list) else _mask.decode([rleObjs])[:, :, 0]


def area(rleObjs: Any) -> Any:  # noqa: N803
    """How many pixels a mask has, or each of a list."""
    return _mask.area(rleObjs) if isinstance(rleObjs, list) else _mask.area([rleObjs])[0]


def toBbox(rleObjs: Any) -> NDArray[np.float64]:  # noqa: N802, N803
    """Left, top, width and height of a mask, or of each of a list."""
    boxes = _mask.toBbox(rleObjs if isinstance(rleObjs, list) else [rleObjs])
    return boxes if isinstance(rleObjs, list) else boxes[0]
