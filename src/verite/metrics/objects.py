"""Which object of the predictions is which object of the truth? Matched by overlap, as pairs ready to be measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, check_choices
from verite.evaluation.matching import Candidates, box_candidates, match_free
from verite.evaluation.prepare import check_mask_sizes
from verite.model.annotations import Annotations
from verite.model.ragged import offsets_of
from verite.model.rasters import PolygonRule
from verite.model.regions import BOX, Regions, Runs
from verite.model.shapes import NO_BOX, Shapes
from verite.pairs import Pairs

Use = Literal["common", "box", "given"]
CHOICES = {
    "unmatched": ("leave", "score"),
    "regions": ("common", "box", "given"),
    "pixel": ("continuous", "plus1"),
    "ignored": ("skip", "count"),
    "polygons": ("coco", "centre"),
}


@dataclass(frozen=True)
class Settings:
    """Everything about matching and regions that can change a number."""

    iou: float
    confidence: float | None
    unmatched: Literal["leave", "score"]
    regions: Use
    pixel: Literal["continuous", "plus1"]
    ignored: Literal["skip", "count"]
    polygons: PolygonRule

    def __post_init__(self) -> None:
        check_choices(self, CHOICES)
        if not 0 <= self.iou <= 1:
            raise BadParameter(f"iou: expected a threshold from 0 to 1, found {self.iou}")
        if self.confidence is not None and not np.isfinite(self.confidence):
            raise BadParameter(f"confidence: expected a number, found {self.confidence}")

    @property
    def facts(self) -> dict[str, object]:
        return {
            "regions": self.regions,
            "pixel": self.pixel,
            "polygons": self.polygons,
            "match": "greedy",
            "iou": self.iou,
            "confidence": "all" if self.confidence is None else self.confidence,
            "ignored": self.ignored,
            "unmatched": self.unmatched,
        }


@dataclass(frozen=True, eq=False)
class Matched:
    """Objects of both sides, by their rows: truth[i] with pred[i], and those that stayed alone."""

    truth: NDArray[np.int64]
    pred: NDArray[np.int64]
    overlap: NDArray[np.float64]
    missed: NDArray[np.int64]  # truths without a prediction
    spurious: NDArray[np.int64]  # predictions without a truth


def match(truth: Annotations, pred: Annotations, settings: Settings) -> Matched:
    """In the order of falling confidence each prediction takes the free truth of its image and label it overlaps most.

    A prediction that finds none but reaches the threshold with an ignored truth is neither matched nor spurious.
    """
    confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
    alive = np.ones(len(pred), dtype=np.bool_) if settings.confidence is None else confidence >= settings.confidence
    candidates = with_region_overlaps(truth, pred, settings)
    ignored = ignored_truths(truth, settings)
    order = np.argsort(-np.nan_to_num(confidence, nan=-np.inf), kind="stable")
    taken = match_free(select(candidates, ~ignored, alive), order, len(truth), settings.iou)
    found = np.flatnonzero(taken >= 0)
    excused = match_any(select(candidates, ignored, alive), settings.iou)
    missed = ~ignored
    missed[taken[found]] = False
    alone = alive & (taken < 0) & ~excused
    return Matched(
        truth=taken[found].astype(np.int64),
        pred=found,
        overlap=overlaps(candidates, found, taken[found], len(truth)),
        missed=np.flatnonzero(missed),
        spurious=np.flatnonzero(alone),
    )


def ignored_truths(truth: Annotations, settings: Settings) -> NDArray[np.bool_]:
    if settings.ignored == "count":
        return np.zeros(len(truth), dtype=np.bool_)
    return truth.ignore | truth.crowd | truth.difficult | truth.group_of


def select(candidates: Candidates, truths: NDArray[np.bool_], preds: NDArray[np.bool_]) -> Candidates:
    """The candidates among some of the truths and predictions; the others keep an empty list."""
    owner = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
    keep = truths[candidates.truth] & preds[owner]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner[keep], minlength=len(candidates)))]).astype(np.int64)
    return Candidates(offsets, candidates.truth[keep], candidates.overlap[keep])


def match_any(candidates: Candidates, threshold: float) -> NDArray[np.bool_]:
    """Which predictions reach the threshold with anything."""
    owner = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
    reached = (candidates.overlap >= threshold) & (candidates.overlap > 0)
    return np.bincount(owner[reached], minlength=len(candidates)).astype(np.bool_)


def overlaps(
    candidates: Candidates, preds: NDArray[np.integer], truths: NDArray[np.integer], count: int
) -> NDArray[np.float64]:
    """The overlap of pairs that are among the candidates; `count` is how many truths there are."""
    owner = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
    keys = owner * count + candidates.truth
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys, preds.astype(np.int64) * count + truths, sorter=order)
    found: NDArray[np.float64] = candidates.overlap[order[at]]
    return found


def with_region_overlaps(truth: Annotations, pred: Annotations, settings: Settings) -> Candidates:
    """Pairs of one image and label whose boxes overlap, by the overlap of what is compared: boxes or pixels."""
    candidates = box_candidates(truth, pred, pixel=1.0 if settings.pixel == "plus1" else 0.0)
    owner = np.repeat(np.arange(len(candidates)), np.diff(candidates.offsets))
    rows = candidates.truth.astype(np.int64)
    are_boxes = (kinds(truth, rows) == BOX) & (kinds(pred, owner) == BOX)
    needs = np.flatnonzero(~are_boxes & ~uses_boxes(truth, pred, rows, owner, settings.regions))
    if not len(needs):
        return candidates
    p = pairs_of(truth, pred, rows[needs], owner[needs], settings)
    shared = p.shared_area
    union = p.truth_area + p.pred_area - shared
    overlap = candidates.overlap.copy()
    overlap[needs] = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    return replace(candidates, overlap=overlap)


ABSENT = 255


def kinds(side: Annotations, rows: NDArray[np.integer]) -> NDArray[np.uint8]:
    """What each object has best; -1 is no object."""
    return np.append(side.regions.kinds, np.uint8(ABSENT))[rows]


def uses_boxes(
    truth: Annotations, pred: Annotations, truths: NDArray[np.integer], preds: NDArray[np.integer], use: Use
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
    settings: Settings,
) -> Pairs:
    """Objects as pairs of regions; -1 on either side is no object."""
    images = np.append(truth.image, 0)[truths]
    images = np.where(truths >= 0, images, np.append(pred.image, 0)[preds])
    known = pred.images if len(pred.images) > len(truth.images) else truth.images
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
    )


def shapes_of_side(
    side: Annotations, rows: NDArray[np.integer], as_boxes: NDArray[np.bool_], settings: Settings
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
        runs = Runs(masks.counts, place(np.diff(masks.objects)), sizes)
    return Shapes(Regions(boxes, polygons=polygons, runs=runs), sizes)
