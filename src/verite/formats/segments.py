"""How does a picture of numbers become masks? Each number's pixels as runs, and masks painted as numbers again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from verite.errors import ReadError
from verite.model.annotations import Annotations
from verite.model.outlines import Runs
from verite.model.ragged import gather, offsets_of
from verite.records import record

Ints = NDArray[np.int64]


@record(eq=False)
class Segments:
    """The masks of one picture, one for each of its values."""

    values: Ints
    counts: NDArray[np.uint32]  # runs of all masks, column by column, the first of each outside it
    lengths: Ints  # how many runs each mask has
    size: tuple[int, int]  # height and width

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Segments:
        """Some of the masks, in this order."""
        chosen = np.arange(len(self.values))[rows]
        at, _ = gather(offsets_of(self.lengths), chosen)
        return Segments(self.values[chosen], self.counts[at], self.lengths[chosen], self.size)

    @property
    def runs(self) -> Runs:
        return join([self])


def split(pixels: NDArray[np.integer]) -> Segments:
    """A mask for every value that occurs, by rising value.

    >>> found = split(np.array([[5, 0], [5, 7]]))
    >>> found.values, found.counts, found.lengths
    (array([0, 5, 7]), array([2, 1, 1, 0, 2, 2, 3, 1], dtype=uint32), array([3, 3, 2]))
    """
    flat = pixels.T.ravel()
    starts = np.flatnonzero(np.concatenate([np.ones(min(1, len(flat)), np.bool_), flat[1:] != flat[:-1]]))
    ends = np.append(starts[1:], len(flat)) if len(starts) else starts
    values, owner = np.unique(flat[starts].astype(np.int64), return_inverse=True)
    by_owner = np.argsort(owner, kind="stable")
    starts, ends, owner = starts[by_owner], ends[by_owner], owner[by_owner]
    numbers = np.bincount(owner, minlength=len(values))
    is_first = np.diff(owner, prepend=-1) > 0
    gaps = starts - np.where(is_first, 0, np.concatenate([[0], ends[:-1]])[: len(ends)])
    tails = len(flat) - ends[np.cumsum(numbers) - 1]
    lengths = 2 * numbers + (tails > 0)
    offsets = offsets_of(lengths)
    counts = np.empty(int(offsets[-1]), dtype=np.uint32)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    places = offsets[owner] + 2 * within
    counts[places], counts[places + 1] = gaps, ends - starts
    counts[offsets[1:][tails > 0] - 1] = tails[tails > 0]
    return Segments(values, counts, lengths, (pixels.shape[0], pixels.shape[1]))


def join(parts: Sequence[Segments]) -> Runs:
    """The masks of all pictures, one after the other."""
    counts = [part.counts for part in parts] or [np.empty(0, np.uint32)]
    lengths = [part.lengths for part in parts] or [np.empty(0, np.int64)]
    sizes = [np.tile(np.array(part.size, np.int32), (len(part.lengths), 1)) for part in parts]
    return Runs(
        np.concatenate(counts),
        offsets_of(np.concatenate(lengths)),
        np.concatenate(sizes) if sizes else np.empty((0, 2), np.int32),
    )


def paint(
    annotations: Annotations, at: int, rows: NDArray[np.integer], numbers: Sequence[int], path: object
) -> NDArray[np.uint32]:
    """The number of the mask that each pixel of an image belongs to; 0 where there is none."""
    images, runs = annotations.images, annotations.regions.runs
    height, width = int(images.heights[at]), int(images.widths[at])
    if runs is not None and len(rows):
        height, width = (int(side) for side in runs.sizes[rows[0]])
    if not height or not width:
        raise ReadError(path, expected="the size of every image", found=f"none for {images.name(at)!r}")
    flat = np.zeros(height * width, dtype=np.uint32)
    for number, row in zip(numbers, rows.tolist(), strict=True):
        assert runs is not None
        inside = pixels_of(runs, row)
        if len(inside) != len(flat):
            raise ReadError(path, expected="masks of one size an image", found=f"two in {images.name(at)!r}")
        if flat[inside].any():
            found = f"pixels of two in {images.name(at)!r}"
            raise ReadError(path, expected="segments that share no pixel", found=found)
        flat[inside] = number
    return flat.reshape(width, height).T


def pixels_of(runs: Runs, row: int) -> NDArray[np.bool_]:
    """Which pixels, column by column, belong to a mask."""
    return np.repeat(np.arange(len(runs[row])) % 2 == 1, runs[row])


def rows_by_image(annotations: Annotations) -> list[NDArray[np.int64]]:
    """The objects of each image."""
    order = np.argsort(annotations.image, kind="stable")
    bounds = np.searchsorted(annotations.image[order], np.arange(len(annotations.images) + 1))
    return [order[bounds[i] : bounds[i + 1]] for i in range(len(annotations.images))]
