"""Every object of the report as compressed columns, which its script unpacks to list and draw them.

Columns of one kind lie side by side, since alike numbers compress better, and are deflated and base64-encoded. Names of
columns are part of the report's data format.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.reporting.draw import thin
from verite.reporting.report.confidence_counts import StepCounts, confusion_by_threshold, confusion_candidates
from verite.reporting.report.document import StoredObjects, StoredPredictions
from verite.reporting.report.layout import LEVEL, embed_bytes

if TYPE_CHECKING:
    from verite.model.annotations import Annotations
    from verite.model.styles import Markup
    from verite.reporting.draw import Overlay, Ring
    from verite.reporting.report.confidence_counts import ConfidenceCounts
    from verite.reporting.report.document import Json

RESERVED = 130_000  # bytes for script, style, header and the layout of the objects

MOST_OUTLINED = 2000  # objects that are traced beside those of the images shown in the report: about a second

MOST_IMAGES = 20_000  # beyond, only the images shown in the report can be opened

BYTES_EACH = 13.0  # of a prediction with quarters of pixels, compressed and encoded; a first guess

BYTES_LEAST = 9.0  # of a prediction with whole pixels; a first guess, too

SHOWN_FIRST = 2  # detectors of the pair that is shown at first

FINE = 100  # levels of confidence between two thresholds

CHOICE = 4  # the first bit of the byte of a type that says which choices keep a prediction

Columns = dict[str, NDArray[Any]]


def pack_objects(
    counts: Sequence[ConfidenceCounts], shown: Sequence[int], listed: Sequence[Sequence[int]], budget: int
) -> tuple[list[Markup], StoredObjects]:
    """Pack the objects of all detectors within a budget of bytes.

    Parameters
    ----------
    counts
        Counts of each detector, the first one's ground truth is stored.
    shown
        Images shown in the report, which can always be opened.
    listed
        For each detector the images of its table, whose counts follow the slider.
    budget
        Bytes left for packed objects: first for the pair that is shown first, then shared by the other detectors.

    Returns
    -------
    tuple
        Script elements with the columns, and which objects are stored.
    """
    packer = Packer(counts, shown, budget - RESERVED)
    data, layout = packer.pack_truth(counts[0])
    blobs = [embed_bytes("objects", data)]
    fixed = [
        packer.fixed_columns(one, np.asarray(rows, dtype=np.int64)) for one, rows in zip(counts, listed, strict=True)
    ]
    sizes = [encoded_size(pack(columns)[0]) for columns in fixed]
    left, stored = budget - RESERVED - len(blobs[0]) - sum(sizes), []
    for i, one in enumerate(counts):
        # The pair shown at first is stored whole; the others share what is left, and pass on what they do not need.
        share = left if i < SHOWN_FIRST else left // (len(counts) - i)
        data, about = packer.pack_predictions(one, fixed[i], sizes[i], max(0, share))
        left -= encoded_size(data) - sizes[i]
        stored.append(about)
        blobs.append(embed_bytes(f"objects-{i}", data))
    opened, outlined = int(packer.can_be_opened.sum()), len(packer.outlined)
    return blobs, StoredObjects(
        scale=packer.scale,
        layout=layout,
        opened=None if packer.can_be_opened.all() else opened,
        outlined=outlined if 0 < outlined < opened else None,
        predictions=tuple(stored),
    )


def pack(columns: Columns) -> tuple[bytes, list[list[Json]]]:
    """Return the compressed columns and their layout: name, JavaScript array type, bytes.

    Of each column all lowest bytes come first, then all second ones: apart from each other they take a tenth less.
    """
    layout = [[name, f"{values.dtype.name.capitalize()}Array", int(values.nbytes)] for name, values in columns.items()]
    raw = b""
    for values in columns.values():
        plain = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).reshape(-1)
        raw += plain.view(np.uint8).reshape(plain.size, plain.itemsize).T.tobytes()
    return zlib.compress(raw, LEVEL), layout


def encoded_size(data: bytes) -> int:
    """Return the bytes that data take in base64."""
    return 4 * -(-len(data) // 3)


def smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Return counts in the smallest unsigned type that holds them."""
    top = int(values.max(initial=0))
    return values.astype(np.uint8 if top < 2**8 else np.uint16 if top < 2**16 else np.uint32)


def count_columns(name: str, counts: StepCounts) -> Columns:
    """Return counts by threshold, and by choice under the name with a plus."""
    return {name: smallest(counts.steps), f"{name}+": smallest(counts.chosen)}


def finite_boxes(side: Annotations) -> NDArray[np.float64]:
    """Return left, top, width and height, with 0 for values that are not finite."""
    boxes = side.regions.sizes
    return boxes if np.isfinite(boxes).all() else np.where(np.isfinite(boxes), boxes, 0.0)


def box_columns(side: Annotations, rows: NDArray[Any], scale: float) -> Columns:
    """Return left, top, width and height of boxes in units of `scale` pixels."""
    cells = np.clip(np.rint(finite_boxes(side)[rows] / scale), 0, 65535).astype(np.uint16)
    return {name: cells[:, k] for k, name in enumerate("xywh")}


def choose_outlined(shown: Sequence[int], objects: NDArray[Any]) -> list[int]:
    """Return the images whose objects get outlines: those shown in the report, then as many others as are soon traced.

    >>> choose_outlined([2], np.array([900, 1000, 5000, 101, 100]))
    [0, 1, 2, 4]
    """
    others = np.setdiff1d(np.arange(len(objects)), shown)
    found, spent = list(shown), 0
    for image, many in zip(others.tolist(), objects[others].tolist(), strict=True):
        if spent + many <= MOST_OUTLINED:
            spent += many
            found.append(image)
    return sorted(found)


def trace_outlines(overlay: Overlay, side: str, rows: NDArray[Any], images: Sequence[int]) -> dict[int, list[Ring]]:
    """Return the outlines of those of the rows that are in these images, by row."""
    annotations = overlay.truth if side == "truth" else overlay.pred
    chosen = rows[np.isin(annotations.image[rows], images)] if len(images) else rows[:0]
    known = chosen[np.isfinite(annotations.regions.boxes[chosen]).all(axis=1)]
    return {row: [thin(line) for line in overlay.mark(side, row).lines] for row in known.tolist()}


def outline_columns(lines: dict[int, list[Ring]], rows: NDArray[Any], scale: float) -> Columns:
    """Return the number of lines of each row, of points of each line, and the steps from point to point."""
    if not lines:
        return {}
    mine = [lines.get(row, []) for row in rows.tolist()]
    every = [np.rint(np.asarray(line) / scale) for one in mine for line in one]
    ways = np.concatenate([np.zeros((0, 2)), *(np.diff(line, axis=0, prepend=np.zeros((1, 2))) for line in every)])
    wide = np.int16 if np.abs(ways).max(initial=0) < 2**15 else np.int32
    return {
        "lines": np.array([len(one) for one in mine], dtype=np.uint16),
        "points": np.array([len(line) for line in every], dtype=np.uint16),
        "across": ways[:, 0].astype(wide),
        "down": ways[:, 1].astype(wide),
    }


class Packer:
    """What the packed objects of all detectors share.

    Attributes
    ----------
    scale
        Pixels of one unit of a coordinate: a quarter, or one where there are very many predictions.
    can_be_opened
        [image]: all images, or of very many those shown in the report.
    outlined
        Images whose objects have outlines beyond their boxes, where masks or poses are compared.
    order
        Rows of the ground truth sorted by image.
    """

    def __init__(self, counts: Sequence[ConfidenceCounts], shown: Sequence[int], budget: int) -> None:
        first, many = counts[0], sum(len(one.pred) for one in counts)
        self.truth, self.is_counted = first.truth, first.overlay.matches.counted_truth
        largest = [
            float(np.abs(finite_boxes(side)).max(initial=0.0)) for one in counts for side in (one.truth, one.pred)
        ]
        # A quarter of a pixel; whole pixels where predictions are too many for the budget, and more in huge images.
        self.scale = max(0.25 if many * BYTES_EACH < budget else 1.0, max(largest) / 65000)
        self.can_be_opened = np.zeros(len(self.truth.images), dtype=np.bool_)
        self.can_be_opened[shown if len(self.truth.images) > MOST_IMAGES else slice(None)] = True
        self.outlined: list[int] = []
        if first.overlay.on != "box":
            sides = [first.truth, *(one.pred for one in counts)]
            objects = sum(np.bincount(side.image, minlength=len(self.truth.images)) for side in sides)
            self.outlined = [k for k in choose_outlined(shown, np.asarray(objects)) if self.can_be_opened[k]]
        order = np.argsort(self.truth.image, kind="stable")
        self.order = order[self.can_be_opened[self.truth.image[order]]]

    def starts(self, image: NDArray[Any]) -> NDArray[Any]:
        """Return where each image begins in rows sorted by image."""
        return np.searchsorted(image, np.arange(len(self.truth.images) + 1)).astype(np.uint32)

    def pack_truth(self, counts: ConfidenceCounts) -> tuple[bytes, list[list[Json]]]:
        """Pack the ground truth, image by image, with the bin of each object in every slice."""
        truth, order = self.truth, self.order
        columns = {"start": self.starts(truth.image[order]), "label": smallest(truth.label[order])}
        columns |= {"asked": self.is_counted[order].astype(np.uint8)} | box_columns(truth, order, self.scale)
        if counts.analysis is not None and "slices" in counts.analysis.settings.only:
            for k, one in enumerate(counts.analysis.slices.properties):
                columns[f"s{k}"] = smallest(one.of_truths[order] + 1)
        lines = trace_outlines(counts.overlay, "truth", order, self.outlined)
        return pack(columns | outline_columns(lines, order, self.scale))

    def pack_predictions(
        self, counts: ConfidenceCounts, fixed: Columns, fixed_size: int, budget: int
    ) -> tuple[bytes, StoredPredictions]:
        """Pack the fixed columns, `fixed_size` bytes, and as many predictions as fit a budget of further bytes.

        True positives come first, then candidates of the confusion matrix (without them too many objects would be
        listed as missed), then the others by falling confidence.
        """
        wanted = np.flatnonzero(counts.type >= 0)
        wanted = wanted[self.can_be_opened[counts.pred.image[wanted]]]
        confidence = counts.overlay.confidences
        rank = np.full(len(counts.pred), 2)
        if counts.has_confusion:
            rank[confusion_candidates(counts)[0]] = 1
        rank[counts.type == 0] = 0
        wanted = wanted[np.lexsort((-confidence[wanted], rank[wanted]))]
        lines = trace_outlines(counts.overlay, "pred", wanted, self.outlined)
        room = min(len(wanted), int(budget / BYTES_LEAST))
        while True:
            data, layout = pack(fixed | self.prediction_columns(counts, wanted[:room], lines))
            size = encoded_size(data) - fixed_size
            if size <= budget or not room:
                break
            room = int(room * min(0.97, 0.98 * budget / max(1, size)))
        left = wanted[room:]
        return data, StoredPredictions(layout, room, len(left), float(confidence[left].max()) if len(left) else None)

    def fixed_columns(self, counts: ConfidenceCounts, images: NDArray[Any]) -> Columns:
        """Return counts by class and image, the confusion matrix, and outcomes of the ground truth."""
        columns = count_columns("labels", counts.by_class) | count_columns("reached", counts.attributed_by_class)
        for name, is_true_positive in (("right", True), ("wrong", False)):
            columns |= count_columns(name, counts.by_image(images, is_true_positive))
        columns |= confusion_by_threshold(counts)
        matched = counts.overlay.matches.matched_pred[self.order]
        # The last threshold at which the object is matched, from 1; 0 for none. As an object that is matched or the
        # target of an error is mostly matched, only differences to this are stored of the second pair of columns.
        found = (np.append(counts.step, -1)[matched] + 1).astype(np.uint8)
        chosen_found = np.append(choice_bits(counts), 0)[matched].astype(np.uint8)
        last, chosen = counts.attributed
        near = (last[self.order] + 1).astype(np.uint8)
        chosen_near = ((1 << np.arange(len(chosen))) @ chosen)[self.order].astype(np.uint8)
        columns |= {"found": found, "found+": chosen_found, "near": near ^ found, "near+": chosen_near ^ chosen_found}
        return columns

    def prediction_columns(self, counts: ConfidenceCounts, rows: NDArray[Any], lines: dict[int, list[Ring]]) -> Columns:
        """Return predictions image by image, by falling confidence."""
        pred, confidence = counts.pred, counts.overlay.confidences
        place = -confidence if counts.analysis is None else counts.analysis.matches.rank
        rows = rows[np.lexsort((place[rows], pred.image[rows]))]
        low, high = float(counts.steps[0]), float(counts.steps[-1])
        step = counts.step[rows] * FINE
        share = (confidence[rows] - low) / (high - low) if high > low else np.zeros(len(rows))
        level = np.floor(np.clip(share, 0, 1) * (len(counts.steps) - 1) * FINE)
        columns = {
            "start": self.starts(pred.image[rows]),
            "label": smallest(pred.label[rows]),
            "type": (counts.type[rows] | choice_bits(counts)[rows] << CHOICE).astype(np.uint8),
            "sure": np.clip(level, step, step + FINE - 1).astype(np.uint16),
        }
        if counts.analysis is not None:
            # The overlap with the matched object, or with the nearest one.
            matches = counts.analysis.matches
            near = np.maximum(matches.nearest_same.overlap, matches.nearest_other.overlap)
            overlap = np.where(matches.is_tp, matches.outcomes.overlap, near)
            columns["iou"] = np.rint(np.clip(np.nan_to_num(overlap), 0, 1)[rows] * 255).astype(np.uint8)
        columns |= self.candidate_columns(counts, rows) if counts.has_confusion else {}
        return columns | box_columns(pred, rows, self.scale) | outline_columns(lines, rows, self.scale)

    def candidate_columns(self, counts: ConfidenceCounts, rows: NDArray[Any]) -> Columns:
        """Return the number of candidates of the confusion matrix of each prediction, and their places in its image."""
        pred, truth = confusion_candidates(counts)
        place, at = np.full(len(counts.pred), -1), np.zeros(len(self.truth), dtype=np.int64)
        place[rows], at[self.order] = np.arange(len(rows)), np.arange(len(self.order))
        is_kept = place[pred] >= 0
        pred, truth = pred[is_kept], truth[is_kept]
        first = self.starts(self.truth.image[self.order])[self.truth.image[truth]]
        counted = np.bincount(place[pred], minlength=len(rows))
        return {"claims": smallest(counted), "to": smallest(at[truth] - first)}


def choice_bits(counts: ConfidenceCounts) -> NDArray[np.int64]:
    """Return for each prediction which choices keep it, one bit each."""
    return np.asarray((1 << np.arange(len(counts.choices))) @ counts.is_kept)
