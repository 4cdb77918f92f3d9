"""COCO's evaluation stage by stage: cells, overlaps, matches, curves. Each product is kept and can be asked for."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from verite import _core
from verite.errors import DataError
from verite.evaluation.matching import (
    Candidates,
    Cells,
    GreedyMatches,
    Ordered,
    group_truths,
    match_greedily,
    no_flags,
    order_predictions,
)
from verite.protocols.coco_masks import check_has_masks, masks_of, outlines_of, pred_areas, with_rims
from verite.protocols.coco_reference import as_indexed, counts_as_unmatched, leaves_free, states_areas
from verite.protocols.coco_settings import HIGHEST
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations
    from verite.model.images import Images
    from verite.model.regions import Runs
    from verite.protocols.coco_settings import CocoSettings

    Floats = NDArray[np.float64]
    Int32s = NDArray[np.int32]


@record(eq=False)
class Arrays:
    """Precision and recall of everything at once, in the reference's shapes; what is absent is `nan`.

    T thresholds, R recalls, K classes, A area ranges, M limits of predictions.
    """

    precision: Floats  # [T, R, K, A, M]
    recall: Floats  # [T, K, A, M]
    scores: Floats  # [T, R, K, A, M]: the confidence at which each recall is reached

    def with_absent(self, value: float) -> Arrays:
        """The same with another value for what is absent: -1 makes them the reference's, bit for bit."""
        absent = np.isnan(self.precision)  # a confidence may be no number without being absent
        recall = np.where(np.isnan(self.recall), value, self.recall)
        return Arrays(np.where(absent, value, self.precision), recall, np.where(absent, value, self.scores))


class Evaluation:
    """Truth and predictions on their way to precision and recall."""

    def __init__(self, settings: CocoSettings, truth: Annotations, pred: Annotations, threads: int = 1) -> None:
        self.settings, self.threads = settings, threads
        if len(pred) and int(pred.image.max()) >= len(truth.images):
            raise unknown_image(truth, pred)
        if settings.is_exact:
            truth, pred = as_indexed(truth), as_indexed(pred)
        elif pred.confidence is not None and np.isnan(pred.confidence).any():
            raise no_number(pred)
        if settings.on != "box":
            check_has_masks(truth)
        self.truth, self.pred = truth, pred
        order = truth.labels.by_id  # position of the class in each place of the K axis
        self.label_order = None if order is None else np.array(order, dtype=np.int32)
        self.image_order = by_id(truth.images)
        self.classes = 1 if settings.class_agnostic else len(truth.labels)
        self.thresholds = np.minimum(np.array(settings.iou), HIGHEST)
        self.ranges = np.array([limit for _, *limits in settings.areas for limit in limits])

    @property
    def floor(self) -> float:
        """The overlap below which nothing is ever matched."""
        return float(self.thresholds.min())

    @cached_property
    def truth_cells(self) -> Cells:
        """Truths by image and class, in their order in the file."""
        image, label = self.places(self.truth)
        if not self.settings.class_agnostic:
            return group_truths(image, label, images=len(self.truth.images), labels=self.classes)
        rows, image, label = self.together(image, label)
        cells = group_truths(image, label, images=len(self.truth.images), labels=1)
        return Cells(rows[cells.rows], cells.labels, cells.images)

    @cached_property
    def ordered(self) -> Ordered:
        """Predictions by image and class, by falling confidence, as many as count."""
        image, label = self.places(self.pred)
        rows = None
        if self.settings.class_agnostic:
            rows, image, label = self.together(image, label)
        ordered = order_predictions(
            image,
            label,
            self.confidence if rows is None else self.confidence[rows],
            images=len(self.truth.images),
            labels=self.classes,
            most=max(self.settings.max_dets),
            threads=self.threads,
        )
        if rows is None:
            return ordered
        cells = Cells(rows[ordered.cells.rows], ordered.cells.labels, ordered.cells.images)
        return replace(ordered, cells=cells)

    @property
    def confidence(self) -> Floats:
        given = self.pred.confidence
        return given if given is not None else np.ones(len(self.pred))

    def places(self, side: Annotations) -> tuple[Int32s, Int32s]:
        """For each object the rank of its image by id, and of its class; -1 for classes the truth does not have."""
        image = side.image if self.image_order is None else inverse(self.image_order)[side.image]
        if self.label_order is None and len(side.labels) == len(self.truth.labels):
            return image, side.label
        known = len(self.truth.labels)
        table = np.full(len(side.labels), -1, dtype=np.int32)
        table[:known] = np.arange(known) if self.label_order is None else inverse(self.label_order)
        return image, table[side.label]

    def together(self, image: Int32s, label: Int32s) -> tuple[Int32s, Int32s, Int32s]:
        """Rows, images and labels of objects as one class, which has them in the order of their own classes."""
        rows = np.argsort(label, kind="stable").astype(np.int32)
        return rows, image[rows], np.minimum(label[rows], 0)

    @cached_property
    def truth_masks(self) -> Runs:
        return masks_of(self.truth, self.threads)

    @cached_property
    def pred_masks(self) -> Runs:
        return masks_of(self.pred, self.threads)

    @cached_property
    def candidates(self) -> Candidates:
        """Pairs that overlap by at least the lowest threshold."""
        truth, pred, crowd = self.truth_cells, self.ordered.cells, self.truth.crowd
        if self.settings.on == "box":
            boxes = self.truth.regions.sizes, self.pred.regions.sizes
            found = _core.coco_box_candidates(
                truth.arrays, boxes[0], crowd, pred.arrays, boxes[1], self.floor, self.threads
            )
            return Candidates(*found)
        outlines = outlines_of(self.truth), outlines_of(self.pred)
        try:
            found = _core.mask_candidates(
                truth.arrays, outlines[0], crowd, pred.arrays, outlines[1], self.floor, self.threads
            )
        except ValueError as error:
            raise DataError(f"{self.truth.source.path or 'masks'}: {error}") from None
        if self.settings.on == "mask":
            return Candidates(*found)
        return with_rims(
            Candidates(*found), truth, pred, self.truth_masks, self.pred_masks, crowd, self.floor, self.threads
        )

    @cached_property
    def ignored(self) -> NDArray[np.uint32]:
        """For each truth (by slot) the area ranges in which it neither rewards nor punishes, one bit each."""
        ignore = self.truth.crowd
        if self.settings.ignored == "explicit":
            ignore = ignore | self.truth.ignore
        return _core.outside_ranges(self.truth_cells.rows, self.truth_areas, ignore, self.ranges, self.threads)

    @cached_property
    def outside(self) -> NDArray[np.uint32]:
        """For each prediction (by slot) the area ranges it is not in, one bit each."""
        return _core.outside_ranges(self.ordered.cells.rows, self.pred_areas, no_flags(), self.ranges, self.threads)

    @cached_property
    def truth_areas(self) -> Floats:
        """As the file states them; of the region where it does not."""
        stated = self.truth.area
        if stated is not None and not np.isnan(stated).any():
            return stated
        if self.settings.on == "box":
            derived = _core.box_areas(self.truth.regions.sizes, self.threads)
        else:
            derived = _core.mask_areas(self.truth_masks.arrays)
        return derived if stated is None else np.where(np.isnan(stated), derived, stated)

    @cached_property
    def pred_areas(self) -> Floats:
        """Of the box, or of the mask where results have no box: they do not state areas."""
        if self.settings.is_exact and states_areas(self.pred):
            assert self.pred.area is not None
            return self.pred.area
        if self.settings.on == "box":
            return _core.box_areas(self.pred.regions.sizes, self.threads)
        return pred_areas(self.pred, lambda: self.pred_masks, by_first=self.settings.is_exact)

    @cached_property
    def matches(self) -> GreedyMatches:
        """Who took whom, at every threshold and in every area range."""
        return match_greedily(
            self.truth_cells,
            self.ordered.cells,
            self.candidates,
            self.thresholds,
            ranges=len(self.settings.areas),
            ignored=self.ignored,
            shared=self.truth.crowd[self.truth_cells.rows],
            grasping=leaves_free(self.pred)[self.ordered.cells.rows] if self.settings.is_exact else None,
            threads=self.threads,
        )

    @cached_property
    def is_void(self) -> NDArray[np.bool_]:
        """Truths (by slot) that count as no match though they are taken."""
        return counts_as_unmatched(self.truth)[self.truth_cells.rows] if self.settings.is_exact else no_flags()

    @cached_property
    def positives(self) -> NDArray[np.int64]:
        """[class, area range] truths to be found."""
        return _core.count_positives(self.truth_cells.labels, self.ignored, len(self.settings.areas), self.classes)

    def accumulate(self, most: int, limits: tuple[int, ...], *, with_confidence: bool = False) -> tuple[Floats, ...]:
        """Precision [A, T, R, K] of the first `most` predictions of a cell, where reached, recall [M, A, T, K]."""
        rows = self.ordered.cells.rows
        return _core.accumulate(
            self.ordered.by_label,
            self.ordered.label_offsets,
            self.ordered.ranks,
            self.outside,
            (self.candidates.offsets, self.candidates.truth, self.candidates.overlap),
            self.matches.bits,
            self.ignored,
            self.is_void,
            self.positives,
            len(self.thresholds),
            self.settings.recalls,
            most,
            np.array(limits, dtype=np.int64),
            self.confidence[rows] if with_confidence else np.empty(0),
            self.threads,
        )

    @cached_property
    def curves(self) -> tuple[Floats, Floats]:
        """Precision [A, T, R, K] of all predictions that count, and recall [M, A, T, K]."""
        precision, _, recall = self.accumulate(max(self.settings.max_dets), self.settings.max_dets)
        return precision, recall

    def part(self, kind: str, threshold: int | None, area: int, limit: int) -> Floats:
        """The values that a score averages, classes on the last axis: [T, R, K] or [T, K]. No threshold is -1."""
        precision, recall = self.curves
        values: Floats = precision[area] if kind == "precision" else recall[limit, area]
        if threshold is not None:
            values = values[threshold : threshold + 1] if threshold >= 0 else values[:0]
        return values

    def mean(self, kind: str, threshold: int | None, area: int, limit: int) -> float:
        """The mean over everything present, in the reference's order, because sums depend on it."""
        values = self.part(kind, threshold, area, limit)
        present = self.positives[:, area] > 0
        if not present.all():
            values = values[..., present]
        return float(values.ravel().mean()) if values.size else nan

    def class_means(self, kind: str, threshold: int | None, area: int, limit: int) -> list[float]:
        """The same for each class."""
        values = self.part(kind, threshold, area, limit)
        by_class = np.ascontiguousarray(values.reshape(-1, values.shape[-1]).T)
        if not by_class.shape[1]:
            return [nan] * len(by_class)
        means: list[float] = by_class.mean(axis=1).tolist()
        return means

    @property
    def counts(self) -> tuple[list[int], list[int]]:
        """For each class, truths to be found and predictions that count."""
        return self.positives[:, 0].tolist(), np.diff(self.ordered.label_offsets).tolist()

    @property
    def stages(self) -> Evaluation:
        """These, as those who went straight to the means are asked for them, too."""
        return self

    @cached_property
    def arrays(self) -> Arrays:
        """Precision, recall and scores for every limit, in the reference's shapes."""
        parts = [self.accumulate(most, (most,), with_confidence=True) for most in self.settings.max_dets]
        shape = (len(self.settings.recalls), self.classes, len(self.settings.areas))
        precision = np.stack([p.transpose(1, 2, 3, 0) for p, _, _ in parts], axis=-1)
        if len(self.confidence):
            scores = np.stack([s.transpose(1, 2, 3, 0) for _, s, _ in parts], axis=-1)
        else:  # nobody's confidence: zeros wherever precision is known
            scores = np.where(np.isnan(precision), np.nan, 0.0)
        assert precision.shape[1:4] == shape
        return Arrays(precision, self.curves[1].transpose(2, 3, 1, 0).copy(), scores)


def by_id(images: Images) -> Int32s | None:
    """Positions in the order of their ids, in which the reference works; None where they are in it already."""
    if images.ids is None or bool(np.all(images.ids[1:] > images.ids[:-1])):
        return None
    return np.argsort(images.ids, kind="stable").astype(np.int32)


def inverse(order: Int32s) -> Int32s:
    """The place of each position in an order."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=order.dtype)
    return place


def unknown_image(truth: Annotations, pred: Annotations) -> DataError:
    rows = np.flatnonzero(pred.image >= len(truth.images))
    name = pred.images.name(int(pred.image[rows[0]]))
    return DataError(
        f"{pred.source.path or 'predictions'}: expected images of the truth, found {name!r} and others in "
        f"{len(rows)} predictions; is this the right truth?"
    )


def no_number(pred: Annotations) -> DataError:
    assert pred.confidence is not None
    rows = np.flatnonzero(np.isnan(pred.confidence))
    image = pred.images.name(int(pred.image[rows[0]]))
    return DataError(
        f"{pred.source.path or 'predictions'}: expected a confidence for every prediction, found {len(rows)} that are "
        f"no numbers, the first in image {image!r}; remove or mend them"
    )
