"""What do objects look like by COCO's rules? Masks as given, polygons drawn, boxes as rectangles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.model.outlines import Runs

if TYPE_CHECKING:
    from verite.model.annotations import Annotations


def outline_arrays_of(side: Annotations) -> tuple[Any, Any, Any, Any, Any, Any]:
    """What is known of the shape of every object, as the core takes it: masks, polygons, boxes, sizes of images."""
    regions = side.regions
    runs, polygons = regions.runs, regions.polygons
    sizes = np.stack([side.images.heights, side.images.widths], axis=1)[side.image]
    is_drawn = np.ones(len(side), np.bool_) if runs is None else runs.objects[1:] == runs.objects[:-1]
    unsized = np.flatnonzero(is_drawn & (sizes <= 0).any(axis=1))
    if len(unsized):
        name = side.images.name(int(side.image[unsized[0]]))
        raise DataError(
            f"{side.source.path or 'annotations'}: expected the size of every image to draw masks, found none for "
            f"{name!r}; give --image-size WIDTH,HEIGHT or --images FOLDER"
        )
    no_runs = (np.empty(0, np.uint32), np.zeros(1, np.int64), np.empty((0, 2), np.int32))
    no_polygons = (np.empty((0, 2)), np.zeros(1, np.int64), np.empty(0, np.int64))
    rings = (polygons.points, polygons.rings, polygons.objects) if polygons is not None else no_polygons
    return (runs.arrays if runs is not None else no_runs, *rings, regions.sizes, sizes)


def masks_of(side: Annotations, threads: int) -> Runs:
    """The mask of every object."""
    runs = side.regions.runs
    if runs is not None and bool(np.all(runs.objects[1:] > runs.objects[:-1])):
        return runs
    try:
        return Runs(*_core.draw_masks(*outline_arrays_of(side), threads))
    except ValueError as error:
        raise DataError(f"{side.source.path or 'annotations'}: {error}") from None
