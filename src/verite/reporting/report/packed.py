"""Every object of the report as compressed columns, which its script unpacks to list and draw them.

Most predictions lie near a ground-truth object, the one they match or that their error is attributed to. Only the
difference to it is stored: of its class, of the four sides of its box, and of the IoU to that of the two rounded boxes.
Confidences are differences to the prediction before, since those of an image are sorted. So a prediction takes 5.4
bytes (COCO val2017, whole pixels) instead of 8.2 as plain columns, and which objects are detected follows from them.
Columns are deflated one by one and written in base 91 (`layout.encode`). Names of columns are part of the report's data
format.
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
from verite.reporting.report.layout import LEVEL, embed_bytes, encoded_size

if TYPE_CHECKING:
    from verite.model.annotations import Annotations
    from verite.model.styles import Markup
    from verite.reporting.draw import Overlay, Ring
    from verite.reporting.report.confidence_counts import ConfidenceCounts
    from verite.reporting.report.document import Json

RESERVED = 600  # bytes for each detector: the layout of its objects, their element, notes about them

MOST_OUTLINED = 2000  # objects that are traced beside those of the images shown in the report: about a second

MOST_IMAGES = 20_000  # beyond, only the images shown in the report can be opened

BYTES_EACH = 10.0  # of a prediction with quarters of pixels, compressed and encoded; a first guess

BYTES_LEAST = 5.0  # of a prediction with whole pixels; the least, to begin with

SHOWN_FIRST = 2  # detectors of the pair that is shown at first

FINE, COARSE = 100, 2  # levels of confidence between two thresholds; the second with whole pixels

CHOICE = 4  # the first bit of the byte of a type that says which choices keep a prediction

MOST_MEMORY = 9  # zlib's memLevel: longer blocks, a few bytes in a thousand less

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
    budget -= RESERVED * (len(counts) + 1)
    many = sum(len(one.pred) for one in counts)
    for is_fine in (True, False) if many * BYTES_EACH < budget else (False,):
        packer = Packer(counts, shown, is_fine)
        data, layout = packer.pack_truth(counts[0])
        blobs = [embed_bytes("objects", data)]
        fixed = [
            packer.fixed_columns(one, np.asarray(rows, np.int64)) for one, rows in zip(counts, listed, strict=True)
        ]
        sizes = [encoded_size(pack(columns)[0]) for columns in fixed]
        left = budget - len(blobs[0]) - sum(sizes)
        packed = {i: packer.pack_predictions(one, fixed[i], sizes[i]) for i, one in enumerate(counts)}
        needs = {i: encoded_size(data) - sizes[i] for i, (data, _) in packed.items()}
        if sum(needs.values()) <= left:
            break
    # The pair shown at first is stored whole; the others share what is left, those first that need least of it.
    order = sorted(needs, key=lambda i: (i >= SHOWN_FIRST, needs[i] if i >= SHOWN_FIRST else i))
    for k, i in enumerate(order):
        share = max(0, left if i < SHOWN_FIRST else left // (len(counts) - k))
        if needs[i] > share:
            packed[i] = packer.pack_predictions(counts[i], fixed[i], sizes[i], share)
        left -= encoded_size(packed[i][0]) - sizes[i]
    stored = [packed[i][1] for i in range(len(counts))]
    blobs += [embed_bytes(f"objects-{i}", packed[i][0]) for i in range(len(counts))]
    opened, outlined = int(packer.can_be_opened.sum()), len(packer.outlined)
    return blobs, StoredObjects(
        scale=packer.scale,
        fine=packer.fine,
        layout=layout,
        opened=None if packer.can_be_opened.all() else opened,
        outlined=outlined if 0 < outlined < opened else None,
        predictions=tuple(stored),
    )


def pack(columns: Columns) -> tuple[bytes, list[list[Json]]]:
    """Return the compressed columns and their layout: name, JavaScript array type, bytes, compressed bytes.

    Of each column all lowest bytes come first, then all second ones: apart from each other they take a tenth less.
    Every column is deflated by itself, and by the strategy that suits it: most are too random for repetitions.
    """
    layout, packed = [], []
    for name, values in columns.items():
        plain = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).reshape(-1)
        raw = plain.view(np.uint8).reshape(plain.size, plain.itemsize).T.tobytes()
        tried = []
        for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY):
            stream = zlib.compressobj(LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, MOST_MEMORY, strategy)
            tried.append(stream.compress(raw) + stream.flush())
        packed.append(min(tried, key=len))
        layout.append([name, f"{values.dtype.name.capitalize()}Array", len(raw), len(packed[-1])])
    return b"".join(packed), layout


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


def box_cells(side: Annotations, rows: NDArray[Any], scale: float) -> NDArray[np.int64]:
    """Return left, top, width and height of boxes in whole units of `scale` pixels, [row, side]."""
    return np.asarray(np.clip(np.rint(finite_boxes(side)[rows] / scale), 0, 65535).astype(np.int64))


def zigzag(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers of either sign as counts: 0, −1, 1, −2, 2 become 0, 1, 2, 3, 4."""
    return smallest(np.where(values < 0, -2 * values - 1, 2 * values))


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
    fine
        Levels of confidence between two thresholds.
    can_be_opened
        [image]: all images, or of very many those shown in the report.
    outlined
        Images whose objects have outlines beyond their boxes, where masks or poses are compared.
    order
        Rows of the ground truth sorted by image.
    """

    def __init__(self, counts: Sequence[ConfidenceCounts], shown: Sequence[int], is_fine: bool = True) -> None:
        first = counts[0]
        self.truth, self.is_counted = first.truth, first.overlay.matches.counted_truth
        largest = [
            float(np.abs(finite_boxes(side)).max(initial=0.0)) for one in counts for side in (one.truth, one.pred)
        ]
        # A quarter of a pixel; whole pixels where predictions are too many for the budget, and more in huge images.
        self.scale, self.fine = max(0.25 if is_fine else 1.0, max(largest) / 65000), FINE if is_fine else COARSE
        self.can_be_opened = np.zeros(len(self.truth.images), dtype=np.bool_)
        self.can_be_opened[shown if len(self.truth.images) > MOST_IMAGES else slice(None)] = True
        self.outlined: list[int] = []
        if first.overlay.on != "box":
            sides = [first.truth, *(one.pred for one in counts)]
            objects = sum(np.bincount(side.image, minlength=len(self.truth.images)) for side in sides)
            self.outlined = [k for k in choose_outlined(shown, np.asarray(objects)) if self.can_be_opened[k]]
        order = np.argsort(self.truth.image, kind="stable")
        self.order = order[self.can_be_opened[self.truth.image[order]]]

    def first_of(self, image: NDArray[Any]) -> NDArray[np.int64]:
        """Return the place of the first object of these images in the packed ground truth."""
        return np.searchsorted(self.truth.image[self.order], image)

    def pack_truth(self, counts: ConfidenceCounts) -> tuple[bytes, list[list[Json]]]:
        """Pack the ground truth, image by image, with the bin of each object in every slice."""
        truth, order = self.truth, self.order
        columns = {"many": self.count_images(truth.image[order]), "label": smallest(truth.label[order])}
        columns["asked"] = self.is_counted[order].astype(np.uint8)
        columns |= dict(zip("xywh", box_cells(truth, order, self.scale).T.astype(np.uint16), strict=True))
        if counts.analysis is not None and "slices" in counts.analysis.settings.only:
            for k, one in enumerate(counts.analysis.slices.properties):
                columns[f"s{k}"] = smallest(one.of_truths[order] + 1)
        lines = trace_outlines(counts.overlay, "truth", order, self.outlined)
        return pack(columns | outline_columns(lines, order, self.scale))

    def count_images(self, image: NDArray[Any]) -> NDArray[Any]:
        """Return how many rows each image has."""
        return smallest(np.bincount(image, minlength=len(self.truth.images)))

    def pack_predictions(
        self, counts: ConfidenceCounts, fixed: Columns, fixed_size: int, budget: int | None = None
    ) -> tuple[bytes, StoredPredictions]:
        """Pack the fixed columns, `fixed_size` bytes, and all predictions, or as many as fit a budget of further bytes.

        True positives come first, then candidates of the confusion matrix (without them too many objects would be
        listed as missed), then errors near an object, then background, each by falling confidence. Where some are
        left out, the outcomes of their objects are stored besides.
        """
        wanted = np.flatnonzero(counts.type >= 0)
        wanted = wanted[self.can_be_opened[counts.pred.image[wanted]]]
        confidence = counts.overlay.confidences
        # The object that each prediction matches, or that its error is attributed to; -1 for none.
        matched = counts.overlay.matches.matched_pred
        truths = np.flatnonzero(matched >= 0)
        found = np.full(len(counts.pred), -1, dtype=np.int64)
        found[matched[truths]] = truths
        found = np.where(counts.type == 0, found, counts.target)
        nearby = np.where(counts.type >= 0, found, -1)
        rank = np.where(nearby >= 0, 2, 3)
        if counts.has_confusion:
            rank[confusion_candidates(counts)[0]] = 1
        rank[counts.type == 0] = 0
        wanted = wanted[np.lexsort((-confidence[wanted], rank[wanted]))]
        lines = trace_outlines(counts.overlay, "pred", wanted, self.outlined)
        room = len(wanted) if budget is None else min(len(wanted), int(budget / BYTES_LEAST))
        while True:
            outcomes = self.outcome_columns(counts, nearby, wanted[:room])
            data, layout = pack(fixed | outcomes | self.prediction_columns(counts, nearby, wanted[:room], lines))
            size = encoded_size(data) - fixed_size
            if budget is None or size <= budget or not room:
                break
            room = int(room * min(0.97, 0.98 * budget / max(1, size)))
        left = wanted[room:]
        return data, StoredPredictions(layout, room, len(left), float(confidence[left].max()) if len(left) else None)

    def fixed_columns(self, counts: ConfidenceCounts, images: NDArray[Any]) -> Columns:
        """Return counts by class and image, and the confusion matrix."""
        columns = count_columns("labels", counts.by_class) | count_columns("reached", counts.attributed_by_class)
        for name, is_true_positive in (("right", True), ("wrong", False)):
            columns |= count_columns(name, counts.by_image(images, is_true_positive))
        return columns | confusion_by_threshold(counts)

    def outcome_columns(self, counts: ConfidenceCounts, nearby: NDArray[np.int64], rows: NDArray[Any]) -> Columns:
        """Return until which threshold each object is matched ("found"), or matched or the target of an error ("near").

        Thresholds count from 1, 0 for none; under the name with a plus, one bit for each choice. Only the difference
        (exclusive or) to what the script finds in the objects `nearby` these predictions is stored, if there is any.
        """
        bits, steps = choice_bits(counts), counts.step + 1
        matched = np.where(self.is_counted, counts.overlay.matches.matched_pred, -1)
        last, chosen = counts.attributed
        found = {
            "found": np.append(steps, 0)[matched],
            "found+": np.append(bits, 0)[matched],
            "near": last + 1,
            "near+": (1 << np.arange(len(chosen))) @ chosen,
        }
        again = {name: np.zeros(len(self.truth), dtype=np.int64) for name in found}
        rows = rows[nearby[rows] >= 0]
        rows = rows[self.is_counted[nearby[rows]]]
        for name, some in (("found", rows[counts.type[rows] == 0]), ("near", rows)):
            np.maximum.at(again[name], nearby[some], steps[some])
            np.bitwise_or.at(again[f"{name}+"], nearby[some], bits[some])
        changed = {name: (values ^ again[name])[self.order].astype(np.uint8) for name, values in found.items()}
        return changed if any(values.any() for values in changed.values()) else {}

    def prediction_columns(
        self, counts: ConfidenceCounts, nearby: NDArray[np.int64], rows: NDArray[Any], lines: dict[int, list[Ring]]
    ) -> Columns:
        """Return predictions image by image, by falling confidence, as differences to the objects `nearby`.

        Columns are "many" of each image, "ref" the object of the image counted from 1 (0: none), "label", "type" with
        the bits of the choices, "sure" the confidence below the one before, "iou" in hundredths, "e0" to "e3" the
        differences of left, top, right and bottom where there is an object, "x", "y", "w", "h" where there is none.
        """
        pred, confidence = counts.pred, counts.overlay.confidences
        place = -confidence if counts.analysis is None else counts.analysis.matches.rank
        rows = rows[np.lexsort((place[rows], pred.image[rows]))]
        image, ref = pred.image[rows], nearby[rows]
        has_ref, at = ref >= 0, np.zeros(len(self.truth) + 1, dtype=np.int64)
        at[self.order] = np.arange(len(self.order))
        labels = np.append(self.truth.label, 0)
        low, high = float(counts.steps[0]), float(counts.steps[-1])
        step = np.maximum(counts.step[rows], 0) * self.fine
        share = (confidence[rows] - low) / (high - low) if high > low else np.zeros(len(rows))
        level = np.floor(np.clip(share, 0, 1) * (len(counts.steps) - 1) * self.fine)
        level = np.clip(level, step, step + self.fine - 1).astype(np.int64)
        before = np.append(0, level[:-1])
        before[np.diff(image, prepend=-1) != 0] = len(counts.steps) * self.fine
        columns = {
            "many": self.count_images(image),
            "ref": smallest(np.where(has_ref, at[ref] - self.first_of(image) + 1, 0)),
            "label": smallest(np.where(has_ref, zigzag(pred.label[rows] - labels[ref]), pred.label[rows])),
            "type": (counts.type[rows] | choice_bits(counts)[rows] << CHOICE).astype(np.uint8),
            "sure": smallest((before - level) % 2**16),
        }
        boxes, theirs = box_cells(pred, rows, self.scale), box_cells(self.truth, ref[has_ref], self.scale)
        mine = boxes[has_ref]
        if counts.analysis is not None:
            # The overlap with the matched object, or with the nearest one.
            matches = counts.analysis.matches
            near = np.maximum(matches.nearest_same.overlap, matches.nearest_other.overlap)
            overlap = np.where(matches.is_tp, matches.outcomes.overlap, near)
            iou = np.rint(np.clip(np.nan_to_num(overlap), 0, 1)[rows] * 100).astype(np.int64)
            # The IoU of boxes and others, pair by pair, in hundredths rounded down, as the script computes it.
            low = np.maximum(mine[:, :2], theirs[:, :2])
            high = np.minimum(mine[:, :2] + mine[:, 2:], theirs[:, :2] + theirs[:, 2:])
            shared = np.prod(np.maximum(high - low, 0), axis=1)
            union = np.prod(mine[:, 2:], axis=1) + np.prod(theirs[:, 2:], axis=1) - shared
            hundredths = np.asarray(100 * shared // np.maximum(union, 1))
            iou[has_ref] -= hundredths
            columns["iou"] = zigzag(iou)
        sides = np.hstack([mine[:, :2] - theirs[:, :2], mine[:, :2] + mine[:, 2:] - theirs[:, :2] - theirs[:, 2:]])
        columns |= {f"e{k}": zigzag(side) for k, side in enumerate(sides.T)}
        columns |= {name: smallest(side) for name, side in zip("xywh", boxes[~has_ref].T, strict=True)}
        columns |= self.candidate_columns(counts, rows) if counts.has_confusion else {}
        return columns | outline_columns(lines, rows, self.scale)

    def candidate_columns(self, counts: ConfidenceCounts, rows: NDArray[Any]) -> Columns:
        """Return the number of candidates of the confusion matrix of each prediction, and their places in its image."""
        pred, truth = confusion_candidates(counts)
        place, at = np.full(len(counts.pred), -1), np.zeros(len(self.truth), dtype=np.int64)
        place[rows], at[self.order] = np.arange(len(rows)), np.arange(len(self.order))
        is_kept = place[pred] >= 0
        pred, truth = pred[is_kept], truth[is_kept]
        counted = np.bincount(place[pred], minlength=len(rows))
        return {"claims": smallest(counted), "to": smallest(at[truth] - self.first_of(self.truth.image[truth]))}


def choice_bits(counts: ConfidenceCounts) -> NDArray[np.int64]:
    """Return for each prediction which choices keep it, one bit each."""
    return np.asarray((1 << np.arange(len(counts.choices))) @ counts.is_kept)
