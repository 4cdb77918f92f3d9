"""How do two partitions of an image overlap? Tables of shared pixels, of one object and its background or of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import DataError
from verite.model.shapes import is_binary

Floats = NDArray[np.float64]


def is_label_image(thing: Any) -> bool:
    """An image of whole numbers with more than one object in it."""
    return isinstance(thing, np.ndarray) and thing.ndim == 2 and thing.dtype.kind in "iu" and not is_binary(thing)


def has_label_images(things: Any) -> bool:
    """Does a list or an array [n, row, column] hold a label image?"""
    if isinstance(things, np.ndarray):
        return things.ndim == 3 and things.dtype.kind in "iu" and not is_binary(things)
    return isinstance(things, Sequence) and any(is_label_image(thing) for thing in things)


def numbered(image: Any, what: str) -> tuple[NDArray[np.int64], int]:
    """The image with its objects counted from 0 and the background last, and how many objects there are."""
    values = np.asarray(image)
    if values.ndim != 2 or values.dtype.kind not in "biu":
        raise DataError(
            f"{what}: expected a label image like the other side (whole numbers in rows and columns, 0 is background), "
            f"found {type(image).__name__} of shape {values.shape}"
        )
    found, where = np.unique(values, return_inverse=True)
    is_object = found != 0
    objects = int(is_object.sum())
    number = np.where(is_object, np.cumsum(is_object) - 1, objects)
    return number[where.reshape(values.shape)], objects


def overlap_table(truth: Any, pred: Any, what: str = "pair") -> Floats:
    """Pixels shared by region i of the truth and region j of the pred; the background is the last of each.

    >>> overlap_table(np.array([[1, 1, 0]]), np.array([[2, 0, 0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    mine, rows = numbered(truth, f"{what}, truth")
    theirs, columns = numbered(pred, f"{what}, pred")
    if mine.shape != theirs.shape:
        raise DataError(
            f"{what}: expected regions of one image, found {mine.shape[1]} × {mine.shape[0]} and "
            f"{theirs.shape[1]} × {theirs.shape[0]} pixels"
        )
    flat = np.bincount((mine * (columns + 1) + theirs).ravel(), minlength=(rows + 1) * (columns + 1))
    return flat.reshape(rows + 1, columns + 1).astype(np.float64)


def stacked(tables: Sequence[Floats]) -> Floats:
    """Tables of different sizes in one array: regions that do not exist have no pixels."""
    rows = max((table.shape[0] for table in tables), default=2)
    columns = max((table.shape[1] for table in tables), default=2)
    out = np.zeros((len(tables), rows, columns))
    for i, table in enumerate(tables):
        out[i, : table.shape[0] - 1, : table.shape[1] - 1] = table[:-1, :-1]
        out[i, -1, : table.shape[1] - 1] = table[-1, :-1]
        out[i, : table.shape[0] - 1, -1] = table[:-1, -1]
        out[i, -1, -1] = table[-1, -1]
    return out


def table_of_one(areas: Floats, pixels: Floats) -> Floats:
    """The tables of pairs of one object each, from the areas of truth, pred and both and the pixels of the image."""
    truth, pred, shared = areas.T
    out = np.empty((len(pixels), 2, 2))
    out[:, 0, 0] = shared
    out[:, 0, 1] = truth - shared
    out[:, 1, 0] = pred - shared
    out[:, 1, 1] = pixels - truth - pred + shared
    return out
