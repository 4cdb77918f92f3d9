"""Are predictions where the objects are, and of their classes? What the quick fit has seen, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from verite.checks.check import EXAMPLES, Finding
from verite.checks.sample import Pair, Side
from verite.checks.values import confidence_examples
from verite.errors import excerpt
from verite.model.annotations import Annotations
from verite.model.outcomes import RIGHT


def find_exchanged_sides(pair: Pair) -> Iterator[Finding]:
    truth, pred = (excerpt(side.source.path) if side.source.path else "it" for side in (pair.truth, pair.pred))
    yield Finding(
        "V221",
        "error",
        f"truth and predictions look exchanged: what was given as truth ({truth}) has confidences, what was given as "
        f"predictions ({pred}) has none",
        len(pair.pred),
        (),
        "give the truth first",
    )


def find_confident_truth(pair: Pair) -> Iterator[Finding]:
    path = pair.truth.source.path
    yield Finding(
        "V222",
        "warning",
        f"what was given as truth{f' ({excerpt(path)})' if path else ''} has confidences, as predictions do",
        len(pair.truth),
        (),
        "give the truth first; or are these labels that a detector made?",
        "truth",
    )


def find_missing_nms(pair: Pair) -> Iterator[Finding]:
    """Boxes upon boxes of one class: what detectors find before they suppress all but the surest."""
    fit = pair.fit
    yield Finding(
        "V311",
        "warning",
        f"{fit['clones']:,} of {fit['looked_at']:,} predictions looked at lie on a surer one of the same class "
        "(IoU of 0.85 or more), and count as false alarms",
        fit["clones"],
        (),
        "was non-maximum suppression left out, or were several runs put together?",
    )


def find_reversed_confidences(pair: Pair) -> Iterator[Finding]:
    """Confidences that fall where they should rise."""
    fit = pair.fit
    share = fit["surer"] / (fit["right"] * fit["wrong"])
    yield Finding(
        "V312",
        "warning",
        f"wrong predictions are surer than right ones: of pairs of both, the right one is surer in {share:.0%} "
        f"({fit['right']:,} and {fit['wrong']:,} looked at)",
        fit["right"] + fit["wrong"],
        (),
        "are these distances, or 1 - confidence? the surest must have the largest number",
    )


def find_exchanged_classes(pair: Pair) -> Iterator[Finding]:
    """Classes that are found as each other: no detector errs that way, a list of names in the wrong order does."""
    exchanges = pair.fit["exchanges"]
    names = pair.truth.labels.all_names
    count = sum(count for _, _, count, _ in exchanges)
    lines = [
        f"{count} of {found} objects of {excerpt(names[label])} are found as {excerpt(pair.pred.labels.name(other))}"
        for label, other, count, found in exchanges
    ]
    yield Finding(
        "V205",
        "warning",
        f"{len(exchanges):,} classes look exchanged: {lines[0]}, and so on in a circle",
        count,
        tuple(lines[:EXAMPLES]),
        "are the names of the detector's classes in the right order?",
    )


def find_no_predictions(pair: Pair) -> Iterator[Finding]:
    yield no_predictions(len(pair.truth))


def no_predictions(objects: int) -> Finding:
    many = f"{objects:,} object{'s' if objects > 1 else ''}"
    return Finding("V310", "warning", f"no predictions for {many}", 0, (), "is this the right file?")


def find_many_unpredicted(pair: Pair) -> Iterator[Finding]:
    count, images = pair.fit["unpredicted"]
    yield Finding(
        "V214",
        "warning",
        f"{count:,} of {pair.fit['asked']:,} images with objects have no prediction; by the number of "
        f"predictions {pair.fit['expected']:.0f} would be expected",
        count,
        tuple(pair.truth.images.name(i) for i in images),
        "was the detector run on all images, or on another part of the data set?",
    )


def find_unpredicted(pair: Pair) -> Iterator[Finding]:
    count, images = pair.fit["unpredicted"]
    if not pair.count("many_unpredicted") and not pair.count("empty"):
        yield Finding(
            "V219",
            "note",
            f"{count:,} of {pair.fit['asked']:,} images with objects have no prediction",
            count,
            tuple(pair.truth.images.name(i) for i in images),
            "nothing, if the detector found nothing in them",
        )


MOST = 100  # predictions of a class in an image that COCO counts

LOWEST = 0.055  # complete files end just above 0.05, the default threshold of Detectron2, MMDetection and torchvision

FEWEST_PREDICTIONS = 20  # predictions from which the lowest of them says something


def find_too_many(side: Side) -> Iterator[Finding]:
    annotations = side.annotations
    cells = annotations.image.astype(np.int64) * max(len(annotations.labels), 1) + annotations.label
    found, counts = np.unique(cells, return_counts=True)
    full = counts > MOST
    if not full.any():
        return
    left_out = int((counts[full] - MOST).sum())
    labels = len(annotations.labels)
    places = sorted(zip(counts[full].tolist(), found[full].tolist(), strict=True), reverse=True)[:EXAMPLES]
    yield Finding(
        "V307",
        "note",
        f"{left_out:,} of {len(side):,} predictions are beyond the {MOST} most confident of their class and image, "
        "after which COCO stops counting",
        left_out,
        tuple(
            f"{annotations.images.name(cell // labels)}: {count:,} of {annotations.labels.name(cell % labels)}"
            for count, cell in places
        ),
        "nothing, or --max-dets for more",
    )


def find_threshold(side: Side) -> Iterator[Finding]:
    """Predictions cut at a confidence threshold: a warning where confidences end in an edge, else a note."""
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
        f"no prediction has a confidence below {low:.4g}, as if a threshold had removed the others: AP is too low",
        len(side),
        tuple(confidence_examples(side, tally.rows)),
        "export predictions with a threshold of 0.001 to 0.05",
    )


TIED = 0.1  # share of predictions that share their class and confidence with others, from which the order is tried

APART = 0.005  # what the order must change


def find_ties(pair: Pair) -> Iterator[Finding]:
    """Many equal confidences: what AP50 would be with the right ones first, and with the wrong ones."""
    truth, pred = pair.truth, pair.pred.where(pair.pred.image < len(pair.truth.images))
    if pred.confidence is None or not len(truth) or not np.isfinite(pred.confidence).all():
        return
    count, most = count_ties(pred)
    if count <= TIED * len(pred) or count == 0:
        return
    low, high = interval(truth, pred)
    if high - low < APART:
        return
    yield Finding(
        "V305",
        "warning",
        f"{count:,} of {len(pred):,} predictions share their confidence with others of their class: by their order "
        f"alone AP50 lies between {low:.4f} and {high:.4f}",
        count,
        tuple(f"{many:,} of {pred.labels.name(label)} have {value:g}" for many, label, value in most),
        "write confidences with all their digits",
    )


def count_ties(pred: Annotations) -> tuple[int, list[tuple[int, int, float]]]:
    """How many predictions are tied, and the largest ties: how many, of which class, with which confidence."""
    assert pred.confidence is not None
    keys = np.stack([pred.label.astype(np.float64), pred.confidence], axis=1)
    found, counts = np.unique(keys, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:EXAMPLES]
    most = [(int(counts[i]), int(found[i, 0]), float(found[i, 1])) for i in order if counts[i] > 1]
    return int(counts[counts > 1].sum()), most


def interval(truth: Annotations, pred: Annotations) -> tuple[float, float]:
    """AP50 with wrong predictions before right ones of the same confidence, and the other way round."""
    import verite

    if truth.unit == "rel":  # IoU is the same in fractions of the image, and AP50 depends on nothing else
        truth, pred = replace(truth, unit="px"), replace(pred, unit="px")
    fates = verite.coco(truth, pred, checks="off").objects(0.5).columns
    is_pred = fates["side"].values == 1
    is_right = np.zeros(len(pred), dtype=np.bool_)
    is_right[fates["row"].values[is_pred]] = fates["fate"].values[is_pred] == RIGHT

    def ap(is_first: NDArray[np.bool_]) -> float:
        assert pred.confidence is not None
        rank = np.empty(len(pred))
        rank[np.lexsort((is_first, pred.confidence))] = np.arange(len(pred))
        return float(verite.coco(truth, replace(pred, confidence=rank), checks="off")["AP50"].value)

    return ap(~is_right), ap(is_right)
