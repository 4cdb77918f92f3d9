"""Checks of predictions against the ground truth: swapped sides, missing NMS, reversed or tied confidences, coverage.

The counts come from `Pair.fit`, a quick matching on a sample of images; here they become findings (V205, V214, V219,
V221, V222, V305, V307, V308, V310, V311, V312).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.checks.check import EXAMPLES, Finding
from verite.checks.evidence import Hypothesis, find_overlapping, frames_of, relative_to_images
from verite.checks.sample import Pair, Side, is_reversed
from verite.checks.values import confidence_examples
from verite.errors import excerpt, spell_option
from verite.hooks import hook
from verite.model.annotations import Annotations
from verite.model.layouts import Floats
from verite.model.outcomes import TRUE_POSITIVE


def find_exchanged_sides(pair: Pair) -> Iterator[Finding]:
    """Find ground truth given as predictions, and the reverse: only the ground truth has confidences (V221)."""
    truth, pred = (f" ({excerpt(side.source.path)})" if side.source.path else "" for side in (pair.truth, pair.pred))
    yield Finding(
        "V221",
        "error",
        f"ground truth and predictions look swapped: the ground truth{truth} has confidences, the predictions{pred} "
        "have none",
        len(pair.pred),
        (),
        "give the ground truth first",
    )


def find_confident_truth(pair: Pair) -> Iterator[Finding]:
    """Find a ground truth with confidences, next to predictions that have them too (V222)."""
    path = pair.truth.source.path
    yield Finding(
        "V222",
        "warning",
        f"the ground truth{f' ({excerpt(path)})' if path else ''} has confidences, as predictions do",
        len(pair.truth),
        (),
        "give the ground truth first; or are these pseudo-labels of a detector?",
        "truth",
    )


def find_missing_nms(pair: Pair) -> Iterator[Finding]:
    """Find duplicate predictions, as a detector without non-maximum suppression writes them (V311)."""
    fit = pair.fit
    doubled, matched = doubled_objects(pair)
    if doubled < DOUBLED * matched or recur_elsewhere(pair):
        return  # large boxes that overlap by chance
    yield Finding(
        "V311",
        "warning",
        f"{fit.unsuppressed:,} of {fit.looked_at:,} sampled predictions duplicate a higher-confidence one of the same "
        f"class (IoU ≥ 0.85) and count as false positives: {doubled:,} of {matched:,} matched objects have several",
        fit.unsuppressed,
        (),
        "was NMS skipped, between tiles or at all, or were the files of several runs concatenated?",
    )


DOUBLED = 0.1  # share of the matched objects that several predictions match, for V311

AS_SURE = 0.9  # part of the confidence that the second of them has: both are views of one object

FILLED = 0.5  # share of the extent of an image's boxes that a box fills, to be as large as the image

CLONE, SAME = 0.85, 0.999  # IoUs between which two predictions are one before non-maximum suppression


def recur_elsewhere(pair: Pair) -> bool:
    """Whether predictions coincide with those of other images half as often as with others of their own image.

    Boxes that fill the image do, and those of still scenes: then duplicates are no evidence of missing suppression.
    Images of unknown sizes are as large as the extent of all boxes or, for boxes that fill most of it, of their own.
    """
    sample = pair.sample
    if sample is None or sample.pred.images < 2:
        return False
    own, other = sample.pred, sample.pred.turn(1)
    recurs = coincide(
        pair, relative_to_images(own.corners(), own.sizes), relative_to_images(other.corners(), other.sizes)
    )
    if not own.is_sized:
        frames = frames_of(sample.truth, own)
        boxes = own.corners() / np.tile(frames, 2)[own.image]
        moved = other.corners() / np.tile(np.roll(frames, -1, axis=0), 2)[other.image]
        recurs |= ((boxes[:, 2:] - boxes[:, :2]).prod(axis=1) >= FILLED) & coincide(pair, boxes, moved)
    return bool(2 * recurs.sum() * pair.fit.looked_at >= pair.fit.unsuppressed * len(own))


def coincide(pair: Pair, boxes: Floats, moved: Floats) -> NDArray[np.bool_]:
    """Return for each sampled prediction whether one of the next image, moved here, has its class and place."""
    assert pair.sample is not None
    own, labels = pair.sample.pred, pair.pred.label
    other = own.turn(1)
    offsets, which, overlap = _core.box_candidates(boxes, own.image, moved, other.image, 0.0, CLONE)
    by = np.repeat(np.arange(len(moved)), np.diff(offsets))
    same = (labels[own.rows[which]] == labels[other.rows[by]]) & (overlap >= CLONE)
    out = np.zeros(len(own), dtype=np.bool_)
    out[which[same]] = True
    return out


def doubled_objects(pair: Pair) -> tuple[int, int]:
    """Count sampled objects that two predictions match which are nearly the same, and all that are matched."""
    sample = pair.sample
    if sample is None or pair.pred.confidence is None:
        return 0, 0
    boxes, confidence = sample.pred.corners(), np.asarray(pair.pred.confidence)[sample.pred.rows]
    which, by, _ = find_overlapping(sample, Hypothesis("pred", sample.pred.reading, 0, np.zeros(0), 0))
    same = pair.truth.label[sample.truth.rows[which]] == pair.pred.label[sample.pred.rows[by]]
    which, by = which[same], by[same]
    # Two predictions may be of two objects that nearly coincide: those on one object only are evidence.
    alone = np.bincount(by, minlength=len(boxes))[by] == 1
    which, by = which[alone], by[alone]
    doubled, matched = 0, np.unique(which)
    for t in matched.tolist():
        mine, sure = boxes[by[which == t]], confidence[by[which == t]]
        if len(mine) > 1:
            overlaps = np.triu(_core.box_iou(mine, mine), 1)
            is_as_sure = np.minimum.outer(sure, sure) >= AS_SURE * np.maximum.outer(sure, sure)
            doubled += bool(np.any((overlaps >= CLONE) & (overlaps < SAME) & is_as_sure))
    return doubled, len(matched)


def find_reversed_confidences(pair: Pair) -> Iterator[Finding]:
    """Find confidences that are lower for true positives than for false positives (V312), by the AUC on a sample.

    Predictions that lie mostly inside a crowd or an ignored region are no false positives: they are left out.
    """
    fit = pair.fit
    if pair.truth.ignored.any():
        fit = Pair(pair.truth, pair.pred.where(~lie_in_ignored(pair.truth, pair.pred))).fit
        if not is_reversed(fit.true_positives, fit.false_positives, fit.u_statistic):
            return
    share = fit.u_statistic / (fit.true_positives * fit.false_positives)
    yield Finding(
        "V312",
        "warning",
        f"false positives have higher confidences than true positives: AUC {share:.2f} "
        f"({fit.true_positives:,} true and {fit.false_positives:,} false positives sampled)",
        fit.true_positives + fit.false_positives,
        (),
        "are these distances, or 1 - confidence? write larger numbers for higher confidence",
    )


INSIDE = 0.5  # share of a prediction's area within an ignored object


def lie_in_ignored(truth: Annotations, pred: Annotations) -> NDArray[np.bool_]:
    """Mark predictions of which at least half lies inside one ignored object of their image."""
    boxes, found = np.asarray(truth.regions.boxes), np.asarray(pred.regions.boxes)
    area = np.maximum((found[:, 2:] - found[:, :2]).prod(axis=1), 0)
    inside = np.zeros(len(pred), dtype=np.bool_)
    order = np.argsort(pred.image, kind="stable")
    images = pred.image[order]
    for row in np.flatnonzero(truth.ignored).tolist():
        first, last = np.searchsorted(images, [truth.image[row], truth.image[row] + 1])
        mine = order[first:last]
        low, high = np.maximum(found[mine, :2], boxes[row, :2]), np.minimum(found[mine, 2:], boxes[row, 2:])
        inside[mine] |= np.maximum(high - low, 0).prod(axis=1) >= INSIDE * area[mine]
    return inside


def find_exchanged_classes(pair: Pair) -> Iterator[Finding]:
    """Find classes that are predicted as each other in a cycle, as with class names in the wrong order (V205)."""
    exchanges = pair.fit.exchanges
    names = pair.truth.labels.all_names
    count = sum(count for _, _, count, _ in exchanges)
    lines = [
        f"{count} of {found} objects of class {excerpt(names[label])} are predicted as "
        f"{excerpt(pair.pred.labels.name(other))}"
        for label, other, count, found in exchanges
    ]
    yield Finding(
        "V205",
        "warning",
        f"{len(exchanges):,} classes look swapped: {lines[0]}, and so on in a cycle",
        count,
        tuple(lines[:EXAMPLES]),
        "check the order of the detector's class names",
    )


def find_no_predictions(pair: Pair) -> Iterator[Finding]:
    """Report that there are no predictions at all (V310)."""
    yield no_predictions(len(pair.truth))


def no_predictions(objects: int) -> Finding:
    """Make the finding that no object has a prediction."""
    many = f"{objects:,} object{'s' if objects > 1 else ''}"
    return Finding("V310", "warning", f"no predictions for {many}", 0, (), "check that this is the right file")


def find_many_unpredicted(pair: Pair) -> Iterator[Finding]:
    """Find far more images without predictions than their number explains (V214)."""
    count, images = pair.fit.unpredicted
    yield Finding(
        "V214",
        "warning",
        f"{count:,} of {pair.fit.images_with_objects:,} images with objects have no prediction; "
        f"{pair.expected_unpredicted:.0f} would be expected from the number of predictions",
        count,
        tuple(pair.truth.images.name(i) for i in images),
        "was the detector run on all images of this split?",
    )


def find_unpredicted(pair: Pair) -> Iterator[Finding]:
    """Note images with objects but without predictions (V219)."""
    count, images = pair.fit.unpredicted
    if not pair.count("many_unpredicted") and not pair.count("empty"):
        yield Finding(
            "V219",
            "note",
            f"{count:,} of {pair.fit.images_with_objects:,} images with objects have no prediction",
            count,
            tuple(pair.truth.images.name(i) for i in images),
            "no action needed if the detector found nothing in them",
        )


MAX_DETS = 100  # predictions per class and image that COCO evaluates

LOWEST = 0.055  # just above 0.05, the default threshold of Detectron2, MMDetection and torchvision

FEWEST_PREDICTIONS = 20  # before the lowest confidence is evidence of a threshold


def find_too_many(side: Side) -> Iterator[Finding]:
    """Note predictions beyond the 100 per class and image that COCO evaluates (V307)."""
    annotations = side.annotations
    cells = annotations.image.astype(np.int64) * max(len(annotations.labels), 1) + annotations.label
    found, counts = np.unique(cells, return_counts=True)
    full = counts > MAX_DETS
    if not full.any():
        return
    left_out = int((counts[full] - MAX_DETS).sum())
    labels = len(annotations.labels)
    places = sorted(zip(counts[full].tolist(), found[full].tolist(), strict=True), reverse=True)[:EXAMPLES]
    yield Finding(
        "V307",
        "note",
        f"{left_out:,} of {len(side):,} predictions are beyond the {MAX_DETS} highest-confidence ones of their class "
        "and image, which COCO does not evaluate",
        left_out,
        tuple(
            f"{annotations.images.name(cell // labels)}: {count:,} of {annotations.labels.name(cell % labels)}"
            for count, cell in places
        ),
        f"no action needed, or raise {spell_option('max_dets', 'N')}",
    )


def find_threshold(side: Side) -> Iterator[Finding]:
    """Find predictions cut at a confidence threshold (V308): a warning for a sharp lower edge, else a note."""
    confidence = side.annotations.confidence
    if confidence is None or len(side) < FEWEST_PREDICTIONS:
        return
    finite = confidence[np.isfinite(confidence)]
    low = float(finite.min()) if len(finite) else 0.0
    if not LOWEST < low <= 1 or finite.max() > 1 or low == finite.max():
        return
    tally = side.tally("cut")
    yield Finding(
        "V308",
        "warning" if tally.count else "note",
        f"no prediction has a confidence below {low:.4g}, as after a confidence threshold, which lowers AP",
        len(side),
        tuple(confidence_examples(side, tally.rows)),
        "export predictions with a threshold of 0.001 to 0.05",
    )


TIED = 0.1  # share of predictions with ties in class and confidence from which both orders are evaluated

APART = 0.005  # smallest change of AP50 by the order that is reported


def find_ties(pair: Pair) -> Iterator[Finding]:
    """Find tied confidences, and evaluate AP50 with true positives first and with false positives first (V305)."""
    truth, pred = pair.truth, pair.pred.where(pair.pred.image < len(pair.truth.images))
    if pred.confidence is None or not len(truth) or not np.isfinite(pred.confidence).all():
        return
    count, most = count_ties(pred)
    if count <= TIED * len(pred) or count == 0:
        return
    low, high, is_whole_range = tie_range(truth, pred)
    if high - low < APART:
        return
    if is_whole_range:
        said = f"depending on the order of ties, AP50 lies between {low:.4f} and {high:.4f}"
    else:
        said = f"AP50 is {low:.4f} with false positives first among ties and {high:.4f} with true positives first"
    yield Finding(
        "V305",
        "warning",
        f"{count:,} of {len(pred):,} predictions have the same confidence as another one of their class: {said}",
        count,
        tuple(f"{many:,} of class {pred.labels.name(label)} have {value:g}" for many, label, value in most),
        "write confidences with all their digits; if there are none, evaluate with verite f1 (vt.f1)",
    )


def count_ties(pred: Annotations) -> tuple[int, list[tuple[int, int, float]]]:
    """Return the number of tied predictions, and the largest ties as (count, class, confidence)."""
    assert pred.confidence is not None
    keys = np.stack([pred.label.astype(np.float64), pred.confidence], axis=1)
    found, counts = np.unique(keys, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:EXAMPLES]
    most = [(int(counts[i]), int(found[i, 0]), float(found[i, 1])) for i in order if counts[i] > 1]
    return int(counts[counts > 1].sum()), most


def tie_range(truth: Annotations, pred: Annotations) -> tuple[float, float, bool]:
    """Return AP50 with false positives first among ties and with true positives first, and whether it is all there is.

    If all confidences of a class are equal, every order is possible, and the bounds are those of :func:`verite.f1`,
    over all of them. Else the outcomes of the given order decide which predictions come first; the true positives of
    another order may be others.
    """
    if truth.unit == "rel":  # IoU is the same in fractions of the image
        truth, pred = replace(truth, unit="px"), replace(pred, unit="px")
    assert pred.confidence is not None
    cells = pred.image.astype(np.int64) * max(len(pred.labels), 1) + pred.label
    lowest, highest = np.full((2, max(len(pred.labels), 1)), np.nan)
    np.fmin.at(lowest, pred.label, pred.confidence)
    np.fmax.at(highest, pred.label, pred.confidence)
    is_tied = bool((lowest == highest)[pred.label].all())
    if is_tied and set(truth.flags) <= {"crowd"} and np.unique(cells, return_counts=True)[1].max() <= MAX_DETS:
        low, high, *is_exact = hook("f1")(truth, replace(pred, confidence=None), iou=0.5, checks="off").mean_bounds
        if all(is_exact):
            return low, high, True
    coco = hook("coco")
    fates = coco(truth, pred, checks="off").objects(0.5).columns
    is_pred = fates["side"].values == 1
    is_right = np.zeros(len(pred), dtype=np.bool_)
    is_right[fates["row"].values[is_pred]] = fates["fate"].values[is_pred] == TRUE_POSITIVE

    def ap(is_first: NDArray[np.bool_]) -> float:
        assert pred.confidence is not None
        rank = np.empty(len(pred))
        rank[np.lexsort((is_first, pred.confidence))] = np.arange(len(pred))
        return float(coco(truth, replace(pred, confidence=rank), checks="off")["AP50"].value)

    return ap(~is_right), ap(is_right), False
