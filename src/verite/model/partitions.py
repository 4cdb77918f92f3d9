"""How do two partitions of an image overlap? Tables of shared pixels, of one object and its background or of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.model.shapes import is_binary, is_point_list

Floats = NDArray[np.float64]


def is_image(thing: Any) -> bool:
    """Pixels in rows and columns, numbered or not."""
    return isinstance(thing, np.ndarray) and thing.ndim == 2 and thing.dtype.kind in "biu" and not is_point_list(thing)


def is_label_image(thing: Any) -> bool:
    """An image of whole numbers with more than one object in it."""
    return is_image(thing) and not is_binary(thing)


def has_label_images(things: Any) -> bool:
    """Does a list or an array [n, row, column] hold a label image?"""
    is_list = isinstance(things, Sequence) or (isinstance(things, np.ndarray) and things.ndim == 3)
    return is_list and any(is_label_image(thing) for thing in things)


def number(values: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """The image with its objects counted from 0 and the background last, and how many objects there are.

    Objects count in the order in which a reader meets them, whatever their numbers: where two couples of objects share
    as many pixels, a metric that has to choose must not look at the numbers.
    """
    low, high = int(values.min()), int(values.max())
    if high - low <= 2**16 + values.size and high < 2**62:
        where = values.astype(np.intp) - low
        met = np.full(high - low + 1, -1, dtype=np.intp)
        met[where.ravel()[::-1]] = np.arange(values.size)[::-1]  # of several pixels the last that is told stays
        found = np.flatnonzero(met >= 0)
        first, is_object = met[found], found + low != 0
    else:
        labels, first, where = np.unique(values, return_index=True, return_inverse=True)
        found, is_object = np.arange(len(labels)), labels != 0
    objects = int(is_object.sum())
    number = np.full(int(found[-1]) + 1, objects, dtype=np.int64)
    number[found[is_object][np.argsort(first[is_object])]] = np.arange(objects)
    return number[where.reshape(values.shape)], objects


def crop(*images: NDArray[Any]) -> list[NDArray[Any]]:
    """The part of the images in which any of them has an object, at least one pixel."""
    is_used = np.logical_or.reduce([image != 0 for image in images])
    rows, columns = (np.flatnonzero(is_used.any(axis=axis)) for axis in (1, 0))
    if not len(rows):
        return [image[:1, :1] for image in images]
    return [image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] for image in images]


def overlap_table(truth: NDArray[Any], pred: NDArray[Any]) -> Floats:
    """Pixels shared by region i of the truth and region j of the pred; the background is the last of each.

    >>> overlap_table(np.array([[1, 1, 0]]), np.array([[2, 0, 0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    (mine, rows), (theirs, columns) = (number(image) for image in crop(truth, pred))
    flat = np.bincount((mine * (columns + 1) + theirs).ravel(), minlength=(rows + 1) * (columns + 1))
    flat[-1] += truth.size - mine.size
    return flat.reshape(rows + 1, columns + 1).astype(np.float64)


def stack(tables: Sequence[Floats]) -> Floats:
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
