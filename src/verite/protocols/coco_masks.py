"""What do objects look like by COCO's rules? Masks as given, polygons drawn, boxes as rectangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.matching import Candidates
from verite.model.regions import BOX, Runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.evaluation.matching import Cells
    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]

# Cheng et al., Boundary IoU, CVPR 2021: the rim is this part of the image's diagonal wide.
RIM = 0.02


def outlines_of(side: Annotations) -> _core.OutlineArrays:
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
        return Runs(*_core.draw_masks(*outlines_of(side), threads))
    except ValueError as error:
        raise DataError(f"{side.source.path or 'annotations'}: {error}") from None


def check_has_masks(truth: Annotations) -> None:
    """Truths without a mask cannot be compared by masks."""
    without = np.flatnonzero(truth.regions.kinds == BOX)
    if len(without):
        image = truth.images.name(int(truth.image[without[0]]))
        raise DataError(
            f"{truth.source.path or 'truth'}: expected a polygon or mask for every object, found {len(without)} of "
            f"{len(truth)} without, the first in image {image!r}; evaluate boxes with --on box"
        )


def pred_areas(pred: Annotations, masks: Callable[[], Runs], *, by_first: bool) -> Floats:
    """Of the box where the file gives one, else of the mask. `by_first`: as the first record has it."""
    boxed = pred.regions.boxed
    if boxed is None or (by_first and boxed[0]):
        return _core.box_areas(pred.regions.sizes)
    areas = _core.mask_areas(masks().arrays)
    return areas if by_first else np.where(boxed, _core.box_areas(pred.regions.sizes), areas)


def with_rims(
    candidates: Candidates,
    truth: Cells,
    pred: Cells,
    truths: Runs,
    preds: Runs,
    crowd: NDArray[np.bool_],
    floor: float,
    threads: int,
) -> Candidates:
    """Pairs by boundary IoU: how much masks overlap, or their rims if that is less."""
    slots = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
    truth_rows = truth.rows[candidates.truth].astype(np.int64)
    pred_rows = pred.rows[slots].astype(np.int64)
    widths = rim_widths(truths.sizes[truth_rows])
    rims = _core.rim_ratios(truths.arrays, preds.arrays, truth_rows, pred_rows, crowd[truth_rows], widths, threads)
    overlap = np.minimum(candidates.overlap, rims)
    kept = overlap >= floor
    counts = np.bincount(slots[kept], minlength=len(candidates))
    offsets = np.zeros(len(candidates) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return Candidates(offsets, candidates.truth[kept], overlap[kept])


def rim_widths(sizes: NDArray[np.int32]) -> NDArray[np.int64]:
    """How wide rims are in images of these heights and widths, in pixels; at least one.

    >>> rim_widths(np.array([[480, 640], [10, 10]]))
    array([16,  1])
    """
    diagonals = np.sqrt((sizes.astype(np.float64) ** 2).sum(axis=1))
    widths: NDArray[np.int64] = np.maximum(np.round(RIM * diagonals), 1).astype(np.int64)
    return widths
