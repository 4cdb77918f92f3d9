"""Which objects of two data sets overlap, and by how much? Found by boxes, measured on runs, nothing is painted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from verite.errors import DataError
from verite.evaluation.candidates import box_candidates
from verite.evaluation.settings import ComparisonSettings
from verite.model.annotations import Annotations
from verite.model.images import known_images
from verite.model.rasters import frames_of
from verite.model.regions import MASK, POLYGON, Regions
from verite.pairs import Pairs
from verite.pairs.objects import pairs_of, shapes_of_side, uses_boxes
from verite.records import replace

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def find_overlaps(truth: Annotations, pred: Annotations, settings: ComparisonSettings) -> tuple[Ints, Ints, Pairs]:
    """Truths and preds of one image that may share something, whatever their labels, and the regions in pairs."""
    pixel = 1.0 if settings.pixel == "plus1" else 0.0
    found = box_candidates(outer_boxes(truth), outer_boxes(pred), pixel=pixel, is_together=True)
    truths = found.truth.astype(np.int64)
    return truths, found.pred, shared_pairs(truth, pred, truths, found.pred, settings)


def outer_boxes(side: Annotations) -> Annotations:
    """Every object as a box around all that it may be compared by, and as sure as any other."""
    return replace(side, regions=Regions(reach(side)), confidence=None, area=None)


def reach(side: Annotations) -> Floats:
    """A box around everything that an object may be compared by: its box, its polygon, its mask."""
    regions = side.regions
    if regions.has_only_boxes:
        return regions.boxes
    boxes = np.array(regions.boxes)
    for kind, outer in ((POLYGON, around_polygons), (MASK, around_masks)):
        rows = np.flatnonzero(regions.kinds == kind)
        if len(rows):
            found = outer(side, rows)
            boxes[rows, :2] = np.minimum(boxes[rows, :2], found[:, :2])
            boxes[rows, 2:] = np.maximum(boxes[rows, 2:], found[:, 2:])
    return boxes


def around_polygons(side: Annotations, rows: Ints) -> Floats:
    """Boxes around the points, and a pixel more: the rule that draws them rounds."""
    assert side.regions.polygons is not None
    polygons = side.regions.polygons.take(rows)
    starts = polygons.rings[polygons.objects[:-1]]
    return np.hstack(
        [np.minimum.reduceat(polygons.points, starts) - 1, np.maximum.reduceat(polygons.points, starts) + 1]
    )


def around_masks(side: Annotations, rows: Ints) -> Floats:
    assert side.regions.runs is not None
    return frames_of(side.regions.runs.take(rows))


def shared_pairs(
    truth: Annotations, pred: Annotations, truths: Ints, preds: Ints, settings: ComparisonSettings
) -> Pairs:
    """The same as `pairs_of`, every object drawn once however many others it meets."""
    as_boxes = uses_boxes(truth, pred, truths, preds, settings.regions)
    check_sized(truth, pred, truths, preds, as_boxes)
    if as_boxes.any() and not as_boxes.all():
        return pairs_of(truth, pred, truths, preds, settings)
    known = known_images(truth, pred)
    sizes = np.stack([known.widths, known.heights], axis=1)
    sides = []
    for side, rows in ((truth, truths), (pred, preds)):
        asked, place = np.unique(rows, return_inverse=True)
        shapes = shapes_of_side(side, asked, np.full(len(asked), bool(as_boxes.all())), settings)
        sides.append((shapes, place.astype(np.int64)))
    (mine, mine_rows), (theirs, their_rows) = sides
    size = sizes[truth.image[truths]].reshape(-1, 2)
    return Pairs.from_shapes(mine, theirs, mine_rows, their_rows, size=size, polygons=settings.polygons)


def check_sized(truth: Annotations, pred: Annotations, truths: Ints, preds: Ints, as_boxes: NDArray[np.bool_]) -> None:
    """Polygons, and boxes beside polygons, become pixels only in an image of known size; a mask brings its own."""
    mine, theirs = truth.regions.kinds[truths], pred.regions.kinds[preds]
    drawn = ~as_boxes & ((mine == POLYGON) | (theirs == POLYGON)) & (mine != MASK) & (theirs != MASK)
    known = known_images(truth, pred)
    images = truth.image[truths]
    unsized = np.flatnonzero(drawn & ((known.widths[images] <= 0) | (known.heights[images] <= 0)))
    if len(unsized):
        name = known.name(int(images[unsized[0]]))
        raise DataError(
            f"{truth.source.path or 'truth'}: expected the size of every image to compare polygons, found none for "
            f"{name!r}; give --image-size WIDTH,HEIGHT or --images FOLDER, or compare boxes with --regions box"
        )
