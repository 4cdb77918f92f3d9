"""Where could objects be that nobody recorded? Boxes that no truth explains, pooled over all detectors.

Such a pool favours the detectors in the table, as pooling favours the systems of an information retrieval contest: what
none of them found is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from verite import _core
from verite.model.verdicts import ABSENT, is_in
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int32]
LEAST_CONFIDENCE = 0.05
LEAST_OVERLAP = 0.5


@record(eq=False)
class Pool:
    """Candidates for missing objects, in an order that does not depend on that of files or detectors."""

    image: Ints
    label: Ints
    boxes: Floats  # left, top, width, height
    weight: Floats  # how likely each is an object, up to a factor
    found: NDArray[np.bool_]  # [candidate, detector]: who has a box there
    best: tuple[Ints, Ints]  # detector and row of the surest box of each, whose mask it has

    def __len__(self) -> int:
        return len(self.image)

    def take(self, kept: NDArray[Any]) -> Pool:
        """These candidates, by flags or by positions."""
        detector, row = self.best
        return Pool(
            self.image[kept],
            self.label[kept],
            self.boxes[kept],
            self.weight[kept],
            self.found[kept],
            (detector[kept], row[kept]),
        )


@record(eq=False)
class Unexplained:
    """Boxes that no truth explains, by image and class, the surest first, whatever the order of files."""

    key: NDArray[np.int64]  # image × labels + label
    sure: Floats
    boxes: Floats
    detector: Ints
    row: Ints
    labels: int

    def take(self, kept: NDArray[Any]) -> Unexplained:
        boxes = np.ascontiguousarray(self.boxes[kept])
        return Unexplained(self.key[kept], self.sure[kept], boxes, self.detector[kept], self.row[kept], self.labels)

    def pool(self, members: Sequence[int]) -> Pool:
        """Candidates out of the boxes of these detectors, clustered per image and class.

        The surest box begins a cluster and takes all that overlap it by .5. A candidate lies where the members are in
        the mean, weighted by confidence, and weighs the mean over detectors of their best confidence in the cluster.
        """
        number = np.full(max(*members, int(self.detector.max(initial=0))) + 1, -1, np.int32)  # its place among them
        number[list(members)] = np.arange(len(members))
        own = self.take(number[self.detector] >= 0)
        nothing = np.zeros(0, np.int64), np.zeros((0, 4)), np.zeros(0, np.bool_)
        cluster = _core.cluster_boxes(own.key, own.boxes, *nothing, LEAST_OVERLAP)
        return gather(cluster, own, number[own.detector], len(members))


def find_unexplained(truth: Annotations, preds: Sequence[Annotations]) -> Unexplained:
    """Boxes from a confidence of .05 on that overlap no truth of their class by .5."""
    labels = len(truth.labels)
    columns: list[list[NDArray[Any]]] = []
    for number, pred in enumerate(preds):
        sure = np.ones(len(pred)) if pred.confidence is None else pred.confidence
        rows = np.flatnonzero((sure >= LEAST_CONFIDENCE) & (pred.label < labels) & (pred.image < len(truth.images)))
        key = pred.image[rows].astype(np.int64) * labels + pred.label[rows]
        columns.append([key, sure[rows], pred.regions.sizes[rows], np.full(len(rows), number, np.int32), rows])
    key, sure, boxes, detector, row = (np.concatenate(column) for column in zip(*columns, strict=True))
    found = Unexplained(key, sure, boxes, detector, row.astype(np.int32), labels)
    found = found.take(order_boxes(key, sure, boxes))
    truth_key = truth.image.astype(np.int64) * labels + truth.label
    by_key = np.argsort(truth_key, kind="stable")
    cluster = _core.cluster_boxes(
        found.key,
        found.boxes,
        truth_key[by_key],
        np.ascontiguousarray(truth.regions.sizes[by_key]),
        truth.crowd[by_key] | truth.group_of[by_key],
        LEAST_OVERLAP,
    )
    return found.take(cluster >= 0)


def order_boxes(key: NDArray[np.int64], sure: Floats, boxes: Floats) -> NDArray[np.int64]:
    """By image and class, the surest first; only where confidences are equal are boxes looked at."""
    order = np.lexsort((-sure, key))
    is_equal = (np.diff(key[order]) == 0) & (np.diff(sure[order]) == 0)
    tied = np.flatnonzero(np.append(is_equal, False) | np.insert(is_equal, 0, False))
    rows = order[tied]
    order[tied] = rows[np.lexsort((*boxes[rows].T[::-1], -sure[rows], key[rows]))]
    return order


def gather(cluster: Any, boxes: Unexplained, detector: Ints, detectors: int) -> Pool:
    """Candidates out of the members of clusters, which come by falling confidence."""
    count = int(cluster.max(initial=-1)) + 1
    total = np.bincount(cluster, boxes.sure, count)
    mean = (
        np.stack([np.bincount(cluster, boxes.sure * side, count) for side in boxes.boxes.T], axis=1)
        / np.maximum(total, 1e-300)[:, None]
    )
    best = np.zeros((count, detectors))
    np.maximum.at(best, (cluster, detector), boxes.sure)
    first = np.full(count, len(cluster), dtype=np.int64)
    np.minimum.at(first, cluster, np.arange(len(cluster)))
    # Three and more are sorted before they are added, so that the order of detectors changes no bit.
    found = best > 0
    several = np.flatnonzero(np.count_nonzero(found, axis=1) > 2)
    weight = best.sum(axis=1)
    weight[several] = np.sort(best[several], axis=1).sum(axis=1)
    image, label = np.divmod(boxes.key[first], boxes.labels)
    members = detector[first], boxes.row[first]
    return Pool(image.astype(np.int32), label.astype(np.int32), mean, weight / max(detectors, 1), found, members)


def pool_file(truth: Annotations, objects: Annotations, preds: Sequence[Annotations]) -> Pool:
    """Candidates out of a file; they weigh what their confidence says, or all the same."""
    known = np.flatnonzero((objects.label < len(truth.labels)) & (objects.image < len(truth.images)))
    objects = objects.take(known)
    names = np.array([truth.images.name(i) for i in range(len(truth.images))])
    boxes = objects.regions.sizes
    order = np.lexsort((*boxes.T[::-1], objects.label, names[objects.image]))
    objects, boxes = objects.take(order), boxes[order]
    weight = np.ones(len(objects)) if objects.confidence is None else objects.confidence
    found = np.stack([is_met(objects, pred) for pred in preds], axis=1)
    nobody = np.full(len(objects), -1, np.int32)
    return Pool(objects.image, objects.label, boxes, weight, found, (nobody, known[order].astype(np.int32)))


def is_met(objects: Annotations, pred: Annotations) -> NDArray[np.bool_]:
    """Which objects a detector has a box on."""
    from verite.evaluation.evaluation import Evaluation, Rules

    if not len(objects):
        return np.zeros(0, dtype=np.bool_)
    found = Evaluation(objects.changed(verdicts=None), pred, Rules((LEAST_OVERLAP,))).outcomes()
    return np.asarray(found.pred >= 0)


def keep_verified(pool: Pool, truth: Annotations) -> Pool:
    """In a federated truth, candidates of classes that somebody looked for in their image."""
    return (
        pool
        if truth.verdicts is None
        else pool.take(is_in(find_verified(truth), pool.image, pool.label, len(truth.labels)))
    )


def find_verified(truth: Annotations) -> NDArray[np.int64]:
    """image × labels + label of the classes that somebody looked for in an image, and found or not."""
    assert truth.verdicts is not None
    own = truth.image.astype(np.int64) * len(truth.labels) + truth.label
    return np.union1d(own, truth.verdicts.cells(len(truth.labels), ABSENT))
