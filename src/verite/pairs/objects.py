"""Objects of two datasets as pairs of regions: which ground truth is ignored, and boxes or pixels to compare."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verite.arrays import np
from verite.evaluation.evaluation import Rules, in_ignore_regions
from verite.evaluation.prepare import check_mask_sizes
from verite.evaluation.settings import IGNORE_REGIONS, ComparisonSettings
from verite.model.annotations import Annotations
from verite.model.images import known_images
from verite.model.polygons import RLEMasks
from verite.model.ragged import offsets_of
from verite.model.regions import BOX, Regions
from verite.model.shapes import NO_BOX, Shapes, Spacing
from verite.pairs import Array, Pairs
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_OBJECT = 255


def ignored_truth(truth: Annotations, settings: ComparisonSettings) -> NDArray[np.bool_]:
    """Flag the ground truth to ignore: crowd, difficult, group-of and `ignore`; none with ``ignored="count"``.

    Parameters
    ----------
    truth
        Ground truth with its flags.
    settings
        What is compared, and which flags are ignored.

    Returns
    -------
    NDArray[np.bool_]
        A flag per object; pairs with ignored objects enter no mean.
    """
    if settings.ignored == "count":
        return np.zeros(len(truth), dtype=np.bool_)
    return truth.ignore | truth.crowd | truth.difficult | truth.group_of


def lie_in_ignore_regions(truth: Annotations, pred: Annotations, settings: ComparisonSettings) -> NDArray[np.bool_]:
    """Flag the predictions of any class that have half of their area in an ignore region: they are not spurious.

    Parameters
    ----------
    truth
        Ground truth with its flags.
    pred
        Predictions.
    settings
        What is compared; with ``ignored="count"`` nothing is flagged.

    Returns
    -------
    NDArray[np.bool_]
        A flag per prediction.
    """
    if settings.ignored == "count" or "ignore_region" not in truth.flags:
        return np.zeros(len(pred), dtype=np.bool_)
    rules = Rules((0.5,), ignored=("ignore_region",), region_share=IGNORE_REGIONS.default)
    return in_ignore_regions(truth, pred, rules, thread_count()) > 0


def region_kinds(side: Annotations, rows: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return the most detailed region (box, polygon or mask) that each object has; row -1 is `NO_OBJECT`."""
    found: NDArray[np.uint8] = np.append(side.regions.kinds, np.uint8(NO_OBJECT))[rows]
    return found


def compares_boxes(
    truth: Annotations, pred: Annotations, truths: NDArray[np.integer], preds: NDArray[np.integer], regions: str
) -> NDArray[np.bool_]:
    """Flag the pairs of rows that are compared by their bounding boxes even if one side has a mask or polygon.

    `regions` is the setting of that name: "common" compares boxes where either side has only a box.
    """
    if regions != "common":
        return np.full(len(truths), regions == "box")
    found: NDArray[np.bool_] = (region_kinds(truth, truths) == BOX) | (region_kinds(pred, preds) == BOX)
    return found


def pairs_of(
    truth: Annotations,
    pred: Annotations,
    truths: NDArray[np.integer],
    preds: NDArray[np.integer],
    settings: ComparisonSettings,
    spacing: Spacing | None = None,
) -> Pairs:
    """Pair the objects truths[i] and preds[i], given as rows of either side; row -1 is no object."""
    images = np.append(truth.image, 0)[truths]
    images = np.where(truths >= 0, images, np.append(pred.image, 0)[preds])
    known = known_images(truth, pred)
    sizes = np.stack([known.widths, known.heights], axis=1)
    as_boxes = compares_boxes(truth, pred, truths, preds, settings.regions)
    every = np.arange(len(truths))
    return Pairs.from_shapes(
        region_shapes(truth, truths, as_boxes, settings),
        region_shapes(pred, preds, as_boxes, settings),
        every,
        every,
        size=sizes[images].reshape(-1, 2),
        polygons=settings.polygons,
        spacing=spacing,
    )


def region_shapes(
    side: Annotations, rows: NDArray[np.integer], as_boxes: NDArray[np.bool_], settings: ComparisonSettings
) -> Shapes:
    """Return the regions of these rows, those flagged in `as_boxes` as boxes; row -1 is no object."""
    exists = rows >= 0
    boxes = np.concatenate([side.regions.boxes, [NO_BOX]])[rows]
    keep = np.flatnonzero(exists & ~as_boxes)
    if settings.pixel == "plus1":
        boxes[exists & (as_boxes | (region_kinds(side, rows) == BOX)), 2:] += 1.0
    sizes = np.zeros((len(rows), 2), dtype=np.int32)
    if not len(keep):  # polygons and masks of a file need not even be read
        return Shapes(Regions(boxes), sizes)

    def offsets(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        every_length = np.zeros(len(rows), dtype=np.int64)
        every_length[keep] = lengths
        return offsets_of(every_length)

    polygons, runs = side.regions.polygons, side.regions.runs
    if polygons is not None:
        kept = polygons.take(rows[keep])
        polygons = replace(kept, objects=offsets(np.diff(kept.objects)))
    if runs is not None:
        masks = runs.take(rows[keep])
        check_mask_sizes(side, rows[keep], masks)
        sizes[keep] = masks.sizes
        runs = RLEMasks(masks.counts, offsets(np.diff(masks.objects)), sizes)
    return Shapes(Regions(boxes, polygons=polygons, runs=runs), sizes)


def iou_of(pairs: Pairs) -> Array:
    """Return the intersection over union of each pair, 0 where both regions are empty."""
    shared = pairs.shared_area
    union = pairs.truth_area + pairs.pred_area - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def mean_of(values: Array, weights: Array | None = None) -> float:
    """Return the mean, weighted if there are weights that differ from 1; NaN if there is nothing to average."""
    if weights is not None and (weights != 1).any():
        return float(np.sum(values * weights) / weights.sum()) if weights.any() else np.nan
    return float(values.mean()) if len(values) else np.nan
