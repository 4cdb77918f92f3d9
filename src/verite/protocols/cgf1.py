"""Concept-gated F1 (cgF1) of SA-Co, the benchmark of SAM 3: positive micro F1 times the MCC of presence.

An item is an image with a noun phrase: in SA-Co's files each image record is one (`text_input`), elsewhere it is an
image and a class that was asked for. Localization is scored where the phrase is present (pmF1, mean over IoU
thresholds); whether it is present at all is scored by Matthews' correlation coefficient over all items (IL_MCC). With
several annotators the one that agrees best with the predictions counts, item by item. Items that are not exhaustively
annotated (`is_instance_exhaustive`) are left out. Small constants in the denominators are those of the published
evaluator, whose numbers these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.evaluation import Evaluation, Rules
from verite.evaluation.settings import above_threshold
from verite.model.tables import Table
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.files import JsonObject
    from verite.model.annotations import Annotations
    from verite.protocols.asked import AskedClasses
    from verite.protocols.f1 import F1Settings

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

SLACK = 1e-4  # in the denominators of precision, recall and F1
MCC_SLACK = 1e-6
CONFIDENCE = 0.5  # at or above which predictions count, if nothing else is said
LEAST = 1e-9  # IoU of pairs that may be assigned: any overlap


@dataclass(frozen=True, eq=False)
class ItemCounts:
    """Matches of every item at every IoU threshold, [item, threshold], and its numbers of objects and predictions."""

    tp: Ints
    truths: Ints
    preds: Ints

    @property
    def f1(self) -> Floats:
        """F1 of each item, mean over thresholds; nan where there is nothing on either side."""
        precision = self.tp / (self.preds[:, None] + SLACK)
        recall = self.tp / (self.truths[:, None] + SLACK)
        found = (2 * precision * recall / (precision + recall + SLACK)).mean(axis=1)
        return np.where(self.truths + self.preds > 0, found, np.nan)

    def better_of(self, other: ItemCounts) -> ItemCounts:
        """Return item by item the annotator with the higher F1; agreement that there is nothing is the best."""
        mine, theirs = self.f1, other.f1
        takes_other = np.isnan(theirs) | (theirs > mine)
        return ItemCounts(
            np.where(takes_other[:, None], other.tp, self.tp),
            np.where(takes_other, other.truths, self.truths),
            np.where(takes_other, other.preds, self.preds),
        )


@dataclass(frozen=True, eq=False)
class ConceptGated:
    """cgF1 and its two factors; pmF1 at every IoU threshold."""

    thresholds: tuple[float, ...]
    positive_f1: tuple[float, ...]
    mcc: float
    items: int
    presence: tuple[int, int, int, int]  # items: true positives, false positives, true negatives, false negatives

    @property
    def scores(self) -> dict[str, float]:
        """cgF1, pmF1 and IL_MCC."""
        positive = _core.mean(list(self.positive_f1))
        return {"cgF1": _core.mean([one * self.mcc for one in self.positive_f1]), "pmF1": positive, "IL_MCC": self.mcc}

    def table(self) -> Table:
        """Return cgF1 and pmF1 as means and at every threshold."""
        names = ["mean", *(f"{t:.2f}" for t in self.thresholds)]
        positive = [self.scores["pmF1"], *self.positive_f1]
        gated = [self.scores["cgF1"], *(one * self.mcc for one in self.positive_f1)]
        title = "presence of {:,} items: {:,} TP, {:,} FP, {:,} TN, {:,} FN".format(self.items, *self.presence)
        return Table.of("IoU", names, {"cgF1": gated, "pmF1": positive}, title=title)

    def to_dict(self) -> JsonObject:
        """Return the keys of the JSON document."""
        tp, fp, tn, fn = self.presence
        return {**self.scores, "presence": {"items": self.items, "tp": tp, "fp": fp, "tn": tn, "fn": fn}}


@dataclass(frozen=True, eq=False)
class Items:
    """The items: images with one phrase each, or pairs of image and class; `number` is -1 for pairs that are none."""

    images: dict[Any, int]  # positions by id or name
    classes: dict[str, int] | None  # positions by name; None: classes do not matter
    number: Ints  # [image] or [image, class]

    @property
    def count(self) -> int:
        """How many items there are."""
        return int(self.number.max(initial=-1)) + 1

    def of(self, side: Annotations) -> Ints:
        """Return the item of every object, -1 for none."""
        image = np.array([self.images.get(key, -1) for key in image_keys(side)], dtype=np.int64)[side.image]
        if self.classes is None:
            return np.where(image >= 0, self.number[image], -1)
        known = self.classes
        label = np.array([known.get(name, -1) for name in side.labels.all_names], dtype=np.int64)[side.label]
        return np.where((image >= 0) & (label >= 0), self.number[image, label], -1)


def image_keys(side: Annotations) -> list[Any]:
    """Return what identifies the images: ids, or else names."""
    images = side.images
    return [images.name(i) for i in range(len(images))] if images.ids is None else images.ids.tolist()


def concept_gated_f1(
    truth: Annotations, pred: Annotations, settings: F1Settings, asked: AskedClasses | None
) -> ConceptGated:
    """Return cgF1 of predictions, with the best of several annotators if `settings.other_truths` are given."""
    from verite.formats import read

    given: Any = settings.other_truths
    others = [word.strip() for word in given.split(",")] if isinstance(given, str) else given
    listed = [] if others is None else list(others) if isinstance(others, (list, tuple)) else [others]
    truths = [truth, *(read(one) if isinstance(one, (str, PathLike)) else one for one in listed)]
    if pred.confidence is not None:
        pred = pred.where(above_threshold(pred, CONFIDENCE if settings.confidence is None else settings.confidence))
    items = find_items(truths, pred.like(truth), asked)
    best: ItemCounts | None = None
    for one in truths:
        found = count_items(one, pred.like(one), items, settings)
        best = found if best is None else best.better_of(found)
    assert best is not None
    # Positive micro F1 at each threshold, and the MCC of presence.
    has_truth, has_pred = best.truths > 0, best.preds > 0
    tp = best.tp.sum(axis=0)
    fp = best.preds[has_truth].sum() - best.tp[has_truth].sum(axis=0)
    precision = tp / (tp + fp + SLACK)
    recall = tp / (best.truths.sum() + SLACK)
    positive = 2 * precision * recall / (precision + recall + SLACK)
    cells = [has_truth & has_pred, ~has_truth & has_pred, ~has_truth & ~has_pred, has_truth & ~has_pred]
    right, extra, absent, missed = (int(cell.sum()) for cell in cells)
    product = float(right + extra) * float(right + missed) * float(absent + extra) * float(absent + missed)
    mcc = float(right * absent - extra * missed) / (product**0.5 + MCC_SLACK)
    return ConceptGated(settings.iou, tuple(positive.tolist()), mcc, len(has_truth), (right, extra, absent, missed))


def find_items(truths: Sequence[Annotations], pred: Annotations, asked: AskedClasses | None) -> Items:
    """Return the items of the first ground truth; those that any annotator did not annotate exhaustively are none."""
    from verite.formats.coco import read_image_records

    truth = truths[0]
    keys = image_keys(truth)
    records = [read_image_records(one.source) for one in truths]
    partial = {key for one in records for key, record in one.items() if not record.get("is_instance_exhaustive", True)}
    is_whole = np.array([key not in partial for key in keys], dtype=np.bool_)
    if any("text_input" in record for record in records[0].values()):
        number = np.where(is_whole, np.cumsum(is_whole) - 1, -1)
        items = Items({key: i for i, key in enumerate(keys)}, None, number)
    else:
        names = pred.labels.all_names if asked is not None else truth.labels.all_names
        table = np.ones((len(keys), len(names)), dtype=np.bool_) if asked is None else asked.table[: len(keys)]
        table = table & is_whole[:, None]
        number = np.where(table, np.cumsum(table.ravel()).reshape(table.shape) - 1, -1)
        items = Items(
            {key: i for i, key in enumerate(keys)}, {name: k for k, name in enumerate(names)}, number.astype(np.int64)
        )
    if not items.count:
        raise DataError(f"{truth.source.path or 'truth'}: expected items that are exhaustively annotated, found none")
    return items


def count_items(truth: Annotations, pred: Annotations, items: Items, settings: F1Settings) -> ItemCounts:
    """Assign predictions to objects with the largest sum of IoU, and count the pairs that reach each threshold."""
    crowd = truth.flags.get("crowd")
    truth = truth if crowd is None else truth.where(~crowd)
    of_truth, of_pred = items.of(truth), items.of(pred)
    truth, of_truth = truth.where(of_truth >= 0), of_truth[of_truth >= 0]
    pred, of_pred = pred.where(of_pred >= 0), of_pred[of_pred >= 0]
    rules = Rules(
        (LEAST,), settings.on, class_agnostic=items.classes is None, orders_by_class=False, allow_unknown_classes=True
    )
    layout = Evaluation(truth, pred, rules, thread_count(settings.threads)).layout
    offsets, columns, iou = layout.candidates
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    gains = np.round(np.clip(iou, 0, 1) * 2**40).astype(np.int64)
    none = np.zeros(len(gains), dtype=np.int64)
    chosen = _core.assign(rows, columns.astype(np.int64), gains, none, len(pred), len(truth))
    where, value = of_pred[layout.preds[0][rows[chosen]]], iou[chosen]
    tp = [np.bincount(where[value >= threshold], minlength=items.count) for threshold in settings.iou]
    return ItemCounts(
        np.stack(tp, axis=1),
        np.bincount(of_truth, minlength=items.count),
        np.bincount(of_pred, minlength=items.count),
    )
