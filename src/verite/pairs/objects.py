"""Objects of two data sets as pairs of regions: which of them count, and are they compared as boxes or as pixels?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verite.arrays import np
from verite.evaluation.prepare import check_mask_sizes
from verite.evaluation.settings import ComparisonSettings
from verite.model.annotations import Annotations
from verite.model.images import known_images
from verite.model.polygons import RLEMasks
from verite.model.ragged import offsets_of
from verite.model.regions import BOX, Regions
from verite.model.shapes import NO_BOX, Shapes
from verite.pairs import Array, Pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray


def ignored_truths(truth: Annotations, settings: ComparisonSettings) -> NDArray[np.bool_]:
    """The objects that neither reward nor punish."""
    if settings.ignored == "count":
        return np.zeros(len(truth), dtype=np.bool_)
    return truth.ignore | truth.crowd | truth.difficult | truth.group_of


ABSENT = 255


def kinds(side: Annotations, rows: NDArray[np.integer]) -> NDArray[np.uint8]:
    """What each object has best; -1 is no object."""
    found: NDArray[np.uint8] = np.append(side.regions.kinds, np.uint8(ABSENT))[rows]
    return found


def uses_boxes(
    truth: Annotations, pred: Annotations, truths: NDArray[np.integer], preds: NDArray[np.integer], use: str
) -> NDArray[np.bool_]:
    """Which pairs are compared by their boxes although one side has more."""
    if use != "common":
        return np.full(len(truths), use == "box")
    found: NDArray[np.bool_] = (kinds(truth, truths) == BOX) | (kinds(pred, preds) == BOX)
    return found


def pairs_of(
    truth: Annotations,
    pred: Annotations,
    truths: NDArray[np.integer],
    preds: NDArray[np.integer],
    settings: ComparisonSettings,
) -> Pairs:
    """Objects as pairs of regions; -1 on either side is no object."""
    images = np.append(truth.image, 0)[truths]
    images = np.where(truths >= 0, images, np.append(pred.image, 0)[preds])
    known = known_images(truth, pred)
    sizes = np.stack([known.widths, known.heights], axis=1)
    as_boxes = uses_boxes(truth, pred, truths, preds, settings.regions)
    every = np.arange(len(truths))
    return Pairs.from_shapes(
        shapes_of_side(truth, truths, as_boxes, settings),
        shapes_of_side(pred, preds, as_boxes, settings),
        every,
        every,
        size=sizes[images].reshape(-1, 2),
        polygons=settings.polygons,
        spacing=getattr(settings, "spacing", None),
    )


def shapes_of_side(
    side: Annotations, rows: NDArray[np.integer], as_boxes: NDArray[np.bool_], settings: ComparisonSettings
) -> Shapes:
    """The regions of these objects, some of them as boxes; -1 is no object."""
    exists = rows >= 0
    boxes = np.concatenate([side.regions.boxes, [NO_BOX]])[rows]
    keep = np.flatnonzero(exists & ~as_boxes)
    if settings.pixel == "plus1":
        boxes[exists & (as_boxes | (kinds(side, rows) == BOX)), 2:] += 1.0
    sizes = np.zeros((len(rows), 2), dtype=np.int32)
    if not len(keep):  # polygons and masks of a file need not even be read
        return Shapes(Regions(boxes), sizes)

    def place(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        everyone = np.zeros(len(rows), dtype=np.int64)
        everyone[keep] = lengths
        return offsets_of(everyone)

    polygons, runs = side.regions.polygons, side.regions.runs
    if polygons is not None:
        part = polygons.take(rows[keep])
        polygons = replace(part, objects=place(np.diff(part.objects)))
    if runs is not None:
        masks = runs.take(rows[keep])
        check_mask_sizes(side, rows[keep], masks)
        sizes[keep] = masks.sizes
        runs = RLEMasks(masks.counts, place(np.diff(masks.objects)), sizes)
    return Shapes(Regions(boxes, polygons=polygons, runs=runs), sizes)


def overlap_of(pairs: Pairs) -> Array:
    """Intersection over union of the regions, 0 where both are empty."""
    shared = pairs.shared_area
    union = pairs.truth_area + pairs.pred_area - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def mean_of(values: Array) -> float:
    """The mean, NaN of nothing."""
    return float(values.mean()) if len(values) else np.nan
