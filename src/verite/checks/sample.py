"""A few images with their truths and predictions: enough to judge by, few enough to be quick."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.checks.readings import Reading, as_read
from verite.model.annotations import Annotations
from verite.model.ids import positions_in
from verite.model.layouts import Floats, to_corners
from verite.model.ragged import Ints, offsets_of
from verite.records import record

IMAGES = 128
PER_IMAGE = 100


@record(eq=False)
class SampledObjects:
    """Objects of the sampled images, image by image, the most confident first."""

    rows: Ints  # which objects of the annotations
    cells: Ints  # image i has the objects cells[i] .. cells[i + 1]
    sizes: Floats  # width and height of each object's image; ones where coordinates are relative, zeros if unknown
    numbers: Floats  # the four numbers as the file has them
    reading: Reading  # as which they were read

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def counts(self) -> Ints:
        return np.diff(self.cells)

    @cached_property
    def image(self) -> Ints:
        """Which image of the sample each object is in."""
        return np.repeat(np.arange(self.images), self.counts)

    @property
    def images(self) -> int:
        return len(self.cells) - 1

    @property
    def image_sizes(self) -> Floats:
        """Of each image; it must have an object."""
        return self.sizes[self.cells[:-1]]

    @property
    def is_sized(self) -> bool:
        return bool(np.all(self.sizes > 0))

    def corners(self, reading: Reading | None = None) -> Floats:
        """The boxes under a reading, as read if none is given."""
        return (reading or self.reading).corners(self.numbers, self.sizes)

    def first(self, counts: Ints) -> SampledObjects:
        """At most so many objects of each image, the most confident."""
        rank = np.arange(len(self)) - np.repeat(self.cells[:-1], self.counts)
        kept = np.flatnonzero(rank < counts[self.image])
        cells = offsets_of(np.minimum(self.counts, counts))
        return SampledObjects(self.rows[kept], cells, self.sizes[kept], self.numbers[kept], self.reading)

    def turn(self, turn: int) -> SampledObjects:
        """The same objects, those of image i + turn in place of those of image i."""
        rows = np.roll(np.arange(len(self)), -self.cells[turn])
        cells = offsets_of(np.roll(self.counts, -turn))
        return SampledObjects(self.rows[rows], cells, self.sizes[rows], self.numbers[rows], self.reading)


class ByShift(dict[int, SampledObjects]):
    """Predictions by the number added to their image ids, grouped when they are first asked for."""

    def __init__(self, group: Callable[[int], SampledObjects]) -> None:
        self.group = group

    def __missing__(self, shift: int) -> SampledObjects:
        self[shift] = self.group(shift)
        return self[shift]


@record(eq=False)
class Sample:
    """Images in which both sides have objects, under one of these shifts of the predictions' image ids at least."""

    truth: SampledObjects
    preds: dict[int, SampledObjects]
    shifts: tuple[int, ...] = (0,)

    @property
    def pred(self) -> SampledObjects:
        return self.preds[0]


def speaks_by_id(pred: Annotations, what: str) -> bool:
    """Do the predictions name `images` or `labels` by number? (Whole documents and folders name them by name.)"""
    return what in pred.source.by_number or not pred.source.format


def draw(truth: Annotations, pred: Annotations) -> Sample | None:
    """Evenly spaced images; None if there is no image with objects of both sides under any shift."""
    usable, usable_preds = usable_rows(truth), usable_rows(pred)
    has_truth, has_pred = mark_images(truth, usable), mark_images(pred, usable_preds)
    partner = {shift: partners(truth, pred, shift) for shift in (0, -1, 1)}
    has_both = {s: has_truth & (positions >= 0) & has_pred[positions] for s, positions in partner.items()}
    candidates = np.flatnonzero(np.any(list(has_both.values()), axis=0))
    if not len(candidates):
        return None
    spaced = np.linspace(0, len(candidates) - 1, min(IMAGES, len(candidates))).astype(np.int64)
    chosen = candidates[spaced[np.append(True, spaced[1:] > spaced[:-1])]]
    group = group_objects(truth, chosen, usable)
    preds = ByShift(lambda shift: group_objects(pred, partner[shift][chosen], usable_preds, group.image_sizes))
    return Sample(group, preds, tuple(shift for shift in partner if shift == 0 or has_both[shift].any()))


def usable_rows(side: Annotations) -> NDArray[np.bool_] | None:
    """Objects that say something: no crowds, and finite boxes. None: all of them."""
    is_usable = np.isfinite(side.regions.values).all(axis=1) & ~side.crowd
    return None if is_usable.all() else np.asarray(is_usable)


def mark_images(side: Annotations, usable: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Which images have such an object."""
    return _core.mark_used(side.image if usable is None else side.image[usable], len(side.images))


def partners(truth: Annotations, pred: Annotations, shift: int) -> NDArray[np.int64]:
    """For each image of the truth the predictions' image that it is when `shift` is added to their ids, or -1."""
    ids, known = pred.images.ids, len(truth.images)
    if shift == 0:
        return np.arange(known)
    if ids is None or not speaks_by_id(pred, "images"):
        return np.full(known, -1)
    return positions_in(ids, ids[:known] - shift).astype(np.int64)


def group_objects(
    side: Annotations, images: NDArray[np.int64], usable: NDArray[np.bool_] | None, sizes: Floats | None = None
) -> SampledObjects:
    """The objects of these images (-1: none), at most PER_IMAGE of each."""
    cell_of = np.full(len(side.images), -1, dtype=np.int32)
    cell_of[images[images >= 0]] = np.flatnonzero(images >= 0)
    rows = _core.rows_at(side.image, cell_of >= 0)
    if usable is not None:
        rows = rows[usable[rows]]
    cell = cell_of[side.image[rows]]
    keys = (cell,) if side.confidence is None else (-side.confidence[rows], cell)
    order = np.lexsort(keys)
    rows, cell = rows[order], cell[order]
    counts = np.bincount(cell, minlength=len(images))
    rank = np.arange(len(rows)) - np.repeat(offsets_of(counts)[:-1], counts)
    kept = rank < PER_IMAGE
    rows, cell = rows[kept], cell[kept]
    if sizes is None:
        tables = side.images.widths[images], side.images.heights[images]
        sizes = np.ones((len(images), 2)) if side.unit == "rel" else np.stack(tables, axis=1).astype(np.float64)
    reading = as_read(side)
    boxes = to_corners(side.regions.values[rows], side.regions.kept)
    if reading.measure == "rel" and not np.all(sizes > 0):
        reading = Reading(reading.layout)
    numbers = reading.numbers(boxes, sizes[cell])
    return SampledObjects(rows, offsets_of(np.minimum(counts, PER_IMAGE)), sizes[cell], numbers, reading)
