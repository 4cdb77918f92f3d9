"""Candidates for missing objects: detections that match no annotation, clustered over detectors; or a file of objects.

A simulation of missing annotations adds objects where detectors have boxes that no annotation of their class explains.
Each candidate weighs the mean confidence of the detectors there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from verite import _core
from verite.model.classes import ABSENT, is_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int32]

MIN_CONFIDENCE = 0.05  # of detections that count
MIN_IOU = 0.5  # of a match, and of boxes in one cluster


@dataclass(frozen=True, eq=False)
class CandidatePool:
    """Candidates for missing objects, in an order that does not depend on that of files or detectors."""

    image: Ints
    label: Ints
    boxes: Floats  # left, top, width, height
    weight: Floats  # how likely each is an object, up to a factor
    found: NDArray[np.bool_]  # [candidate, detector]: whether the detector has a box there
    best: tuple[Ints, Ints]  # detector (-1: the file) and row of the highest-confidence box, whose mask is taken

    def __len__(self) -> int:
        return len(self.image)

    def take(self, kept: NDArray[Any]) -> CandidatePool:
        """Return the candidates given by flags or positions."""
        detector, row = self.best
        columns = {name: getattr(self, name)[kept] for name in ("image", "label", "boxes", "weight", "found")}
        return replace(self, **columns, best=(detector[kept], row[kept]))

    def only_verified(self, truth: Annotations) -> CandidatePool:
        """Return the candidates of verified classes: those that annotators looked for in the image.

        In exhaustively annotated ground truth these are all candidates, in federated ground truth (LVIS, Open Images)
        those of the image's positive and negative classes.
        """
        if truth.verdicts is None:
            return self
        return self.take(is_in(verified_classes(truth), self.image, self.label, len(truth.labels)))

    def sorted(self, truth: Annotations) -> CandidatePool:
        """Return the candidates by the names of image and class; within these they keep their order."""
        (images, _), (labels, _) = image_and_class_names(truth)
        keys = rank_names(labels)[self.label], rank_names(images)[self.image]
        return self.take(np.lexsort((np.arange(len(self)), *keys)))

    @classmethod
    def from_file(cls, truth: Annotations, objects: Annotations, preds: Sequence[Annotations]) -> CandidatePool:
        """Make candidates out of objects of a file; they weigh their confidence, or 1 without one."""
        from verite.evaluation.evaluation import Evaluation, Rules

        known = np.flatnonzero((objects.label < len(truth.labels)) & (objects.image < len(truth.images)))
        objects = objects.take(known)
        names = np.array([truth.images.name(i) for i in range(len(truth.images))])
        boxes = objects.regions.sizes
        order = np.lexsort((*boxes.T[::-1], objects.label, names[objects.image]))
        objects, boxes = objects.take(order), boxes[order]
        weight = np.ones(len(objects)) if objects.confidence is None else objects.confidence
        found = np.zeros((len(objects), len(preds)), dtype=np.bool_)
        for i, pred in enumerate(preds if len(objects) else ()):
            matched = Evaluation(objects.changed(verdicts=None), pred, Rules((MIN_IOU,))).outcomes()
            found[:, i] = matched.pred >= 0
        no_detector = np.full(len(objects), -1, np.int32)
        return cls(objects.image, objects.label, boxes, weight, found, (no_detector, known[order].astype(np.int32)))


@dataclass(frozen=True, eq=False)
class UnmatchedDetections:
    """Detections that match no annotation, by image and class and falling confidence, whatever the order of files."""

    key: NDArray[np.int64]  # image × labels + label
    confidence: Floats
    boxes: Floats
    detector: Ints
    row: Ints
    labels: int

    def take(self, kept: NDArray[Any]) -> UnmatchedDetections:
        """Return the detections given by flags or positions."""
        boxes = np.ascontiguousarray(self.boxes[kept])
        return UnmatchedDetections(
            self.key[kept], self.confidence[kept], boxes, self.detector[kept], self.row[kept], self.labels
        )

    def pool(self, members: Sequence[int]) -> CandidatePool:
        """Cluster the boxes of these detectors per image and class; each cluster is a candidate.

        The highest-confidence box opens a cluster and takes all boxes with an IoU of at least 0.5. A candidate's box
        is the confidence-weighted mean of its members, its weight the mean over detectors of their best confidence.
        """
        number = np.full(max(*members, int(self.detector.max(initial=0))) + 1, -1, np.int32)  # index in `members`
        number[list(members)] = np.arange(len(members))
        own = self.take(number[self.detector] >= 0)
        nothing = np.zeros(0, np.int64), np.zeros((0, 4)), np.zeros(0, np.bool_)
        cluster = _core.cluster_boxes(own.key, own.boxes, *nothing, MIN_IOU)
        detector = number[own.detector]
        count = int(cluster.max(initial=-1)) + 1
        total = np.bincount(cluster, own.confidence, count)
        mean = (
            np.stack([np.bincount(cluster, own.confidence * side, count) for side in own.boxes.T], axis=1)
            / np.maximum(total, 1e-300)[:, None]
        )
        best = np.zeros((count, len(members)))
        np.maximum.at(best, (cluster, detector), own.confidence)
        first = np.full(count, len(cluster), dtype=np.int64)
        np.minimum.at(first, cluster, np.arange(len(cluster)))
        # Three and more are sorted before they are added, so that the order of detectors changes no bit.
        found = best > 0
        several = np.flatnonzero(np.count_nonzero(found, axis=1) > 2)
        weight = best.sum(axis=1)
        weight[several] = np.sort(best[several], axis=1).sum(axis=1)
        image, label = np.divmod(own.key[first], own.labels)
        source = detector[first], own.row[first]
        return CandidatePool(
            image.astype(np.int32), label.astype(np.int32), mean, weight / max(len(members), 1), found, source
        )


def find_unmatched(truth: Annotations, preds: Sequence[Annotations]) -> UnmatchedDetections:
    """Return the detections of confidence ≥ 0.05 that have an IoU of 0.5 with no annotation of their class."""
    labels = len(truth.labels)
    columns: list[list[NDArray[Any]]] = []
    for number, pred in enumerate(preds):
        given = np.ones(len(pred)) if pred.confidence is None else pred.confidence
        rows = np.flatnonzero((given >= MIN_CONFIDENCE) & (pred.label < labels) & (pred.image < len(truth.images)))
        key = pred.image[rows].astype(np.int64) * labels + pred.label[rows]
        columns.append([key, given[rows], pred.regions.sizes[rows], np.full(len(rows), number, np.int32), rows])
    key, confidence, boxes, detector, row = (np.concatenate(column) for column in zip(*columns, strict=True))
    found = UnmatchedDetections(key, confidence, boxes, detector, row.astype(np.int32), labels)
    found = found.take(order_boxes(key, confidence, boxes))
    truth_key = truth.image.astype(np.int64) * labels + truth.label
    by_key = np.argsort(truth_key, kind="stable")
    cluster = _core.cluster_boxes(
        found.key,
        found.boxes,
        truth_key[by_key],
        np.ascontiguousarray(truth.regions.sizes[by_key]),
        truth.crowd[by_key] | truth.group_of[by_key],
        MIN_IOU,
    )
    return found.take(cluster >= 0)


def order_boxes(key: NDArray[np.int64], confidence: Floats, boxes: Floats) -> NDArray[np.int64]:
    """Return the order by image and class, then by falling confidence, then by box.

    Boxes are compared only where confidences are equal, which is much faster than sorting by six columns.
    """
    order = np.lexsort((-confidence, key))
    is_equal = (np.diff(key[order]) == 0) & (np.diff(confidence[order]) == 0)
    tied = np.flatnonzero(np.append(is_equal, False) | np.insert(is_equal, 0, False))
    rows = order[tied]
    order[tied] = rows[np.lexsort((*boxes[rows].T[::-1], -confidence[rows], key[rows]))]
    return order


def verified_classes(truth: Annotations) -> NDArray[np.int64]:
    """Return image × labels + label of the classes that were annotated or verified absent in an image, sorted."""
    assert truth.verdicts is not None
    own = truth.image.astype(np.int64) * len(truth.labels) + truth.label
    return np.union1d(own, truth.verdicts.cells(len(truth.labels), ABSENT))


def sort_annotations(truth: Annotations, rows: NDArray[Any]) -> NDArray[Any]:
    """Return rows of the ground truth by the names of image and class, then by box, whatever the file's order."""
    keys = [rank_names(names)[positions[rows]] for names, positions in image_and_class_names(truth)]
    return rows[np.lexsort((*truth.regions.sizes[rows].T[::-1], *keys[::-1]))]


def image_and_class_names(truth: Annotations) -> Sequence[tuple[list[str], Ints]]:
    """Return the names of all images and all classes, each with the position that every annotation has among them."""
    images = [truth.images.name(i) for i in range(len(truth.images))]
    return (images, truth.image), (list(truth.labels.all_names), truth.label)


def rank_names(names: Sequence[str]) -> NDArray[np.int64]:
    """Return the alphabetical rank of each name."""
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    return ranks
