"""Counts of true positives, error types and confusions at every confidence threshold.

The slider of the report moves through 101 thresholds; after them come per-class thresholds ("choices"): the default
one, the best F1 of each class, and the optimal LRP of each class. All counts are exact: matching is greedy by falling
confidence, so predictions below a threshold never change the matches of those above it. Confusions do change, where a
true positive that enters takes its object back; they are stored as changes from threshold to threshold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.analysis.confusion import BEST_F1, MATCHING
from verite.evaluation.settings import ClassThresholds
from verite.reporting.report.document import OperatingPoint, ThresholdCounts

if TYPE_CHECKING:
    from verite.analysis.analyse import Analysis
    from verite.reporting.draw import Overlay

STEPS = 101

TRUE_POSITIVE = "right"  # name of the type, as the JSON document has it

DEFAULT, BEST, LRP = "", "best F1", "LRP"  # names of the choices


@dataclass(frozen=True, eq=False)
class StepCounts:
    """Counts: `steps[..., k]` of those kept up to threshold k, `chosen[..., c]` of those that choice c keeps."""

    steps: NDArray[np.int64]
    chosen: NDArray[np.int64]

    @property
    def falling(self) -> NDArray[np.int64]:
        """[..., step]: how many are kept at each threshold."""
        return np.asarray(self.steps[..., ::-1].cumsum(axis=-1)[..., ::-1])


class ConfidenceCounts:
    """Counts of one detector by confidence threshold, per class and type and per image.

    Attributes
    ----------
    names
        Names of all classes of either side.
    types
        Types of predictions: "right" (true positive), then the error types; without an analysis "wrong".
    type
        [prediction]: position in `types`; -1 if it is ignored.
    target
        [prediction]: the ground-truth object that an error is attributed to, -1 for none.
    step
        [prediction]: the last threshold at which it is kept.
    is_kept
        [choice, prediction]: whether it reaches the threshold of its class.
    """

    def __init__(self, overlay: Overlay, analysis: Analysis | None = None) -> None:
        self.overlay, self.analysis = overlay, analysis
        self.truth, self.pred = overlay.truth, overlay.pred
        ours, theirs = self.truth.labels.all_names, self.pred.labels.all_names
        self.names = tuple(theirs if len(theirs) > len(ours) else ours)
        is_counted = overlay.is_counted & (self.pred.image < len(self.truth.images))
        error = np.zeros(len(self.pred), dtype=np.int64)
        self.types: tuple[str, ...] = (TRUE_POSITIVE, "wrong")
        self.target = np.full(len(self.pred), -1, dtype=np.int64)
        if analysis is not None:
            errors = analysis.errors
            error, self.types = np.maximum(errors.types.kind, 0), (TRUE_POSITIVE, *tuple(errors.cost)[:-1])
            self.target = errors.types.target.astype(np.int64)
        self.type = np.where(is_counted, np.where(overlay.is_true_positive, 0, error + 1), -1)

    @cached_property
    def best_thresholds(self) -> list[float | None]:
        """For each class the confidence with the best F1, the highest of equals; None without a true positive."""
        order = np.lexsort((-self.overlay.confidences, self.pred.label))
        order = order[self.type[order] >= 0]
        starts = np.searchsorted(self.pred.label[order], np.arange(len(self.names) + 1))
        found: list[float | None] = []
        for k, objects in enumerate(self.objects.tolist()):
            rows = order[starts[k] : starts[k + 1]]
            right = np.cumsum(self.type[rows] == 0)
            if not objects or not len(rows) or not right[-1]:
                found.append(None)
                continue
            confidence = self.overlay.confidences[rows]
            is_last = np.append(np.diff(confidence) != 0, True)  # of equal confidences
            f1 = np.where(is_last, 2 * right / (np.arange(1, len(rows) + 1) + objects), -1)
            found.append(float(confidence[int(np.argmax(f1))]))
        return found

    @cached_property
    def choices(self) -> dict[str, NDArray[np.float64]]:
        """Per-class thresholds by name; a class without one keeps all its predictions."""
        at = self.confidence
        default = at.of_labels(self.names) if isinstance(at, ClassThresholds) else np.full(len(self.names), at)
        found = {DEFAULT: default, BEST: np.array([-np.inf if x is None else x for x in self.best_thresholds])}
        if self.analysis is not None and self.analysis.results.protocol != "f1":
            found[LRP] = ClassThresholds.of(self.analysis.lrp.thresholds).of_labels(self.names)
        return found

    @cached_property
    def confidence(self) -> float | ClassThresholds:
        """The default threshold: that of the analysis if one was given, else the confidence of the best F1."""
        if self.analysis is None or self.analysis.settings.confidence == BEST_F1:
            return self.overlay.best_confidence
        return self.analysis.confidence

    @cached_property
    def is_kept(self) -> NDArray[np.bool_]:
        """[choice, prediction]: whether it reaches the threshold of its class."""
        thresholds = np.stack(list(self.choices.values()))
        return np.asarray(self.overlay.confidences >= thresholds[:, self.pred.label])

    @cached_property
    def steps(self) -> NDArray[np.float64]:
        """Rising thresholds: hundredths, or equal steps between the extremes where confidences are not in [0, 1]."""
        confidence = self.overlay.confidences[np.isfinite(self.overlay.confidences)]
        if not len(confidence) or (confidence.min() >= 0 and confidence.max() <= 1):
            return np.arange(STEPS) / (STEPS - 1)
        return np.linspace(confidence.min(), confidence.max(), STEPS)

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """The last threshold at which each prediction is kept; -1 for none."""
        return np.searchsorted(self.steps, self.overlay.confidences, side="right") - 1

    def count(self, rows: NDArray[Any], places: tuple[NDArray[Any], ...], shape: tuple[int, ...]) -> StepCounts:
        """Count predictions in the cells of an array of this shape; `places` are their coordinates."""
        many = int(np.prod(shape))
        at = np.ravel_multi_index(places, shape)
        step = self.step[rows]
        known = step >= 0
        steps = np.bincount(at[known] * STEPS + step[known], minlength=many * STEPS)
        chosen = [np.bincount(at[kept], minlength=many) for kept in self.is_kept[:, rows]]
        return StepCounts(steps.reshape(*shape, STEPS), np.stack(chosen, axis=-1).reshape(*shape, len(chosen)))

    @cached_property
    def by_class(self) -> StepCounts:
        """Predictions by [class, type]."""
        rows = np.flatnonzero(self.type >= 0)
        return self.count(rows, (self.pred.label[rows], self.type[rows]), (len(self.names), len(self.types)))

    def by_image(self, images: NDArray[Any], is_true_positive: bool) -> StepCounts:
        """True or false positives of each of these images."""
        place = np.full(len(self.truth.images) + 1, -1)
        place[images] = np.arange(len(images))
        rows = np.flatnonzero((self.type == 0) if is_true_positive else (self.type > 0))
        rows = rows[place[self.pred.image[rows]] >= 0]
        return self.count(rows, (place[self.pred.image[rows]],), (len(images),))

    @cached_property
    def attributed(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """When a ground-truth object is matched or the target of an error: TIDE counts it as missed otherwise.

        The last threshold at which that is so for each object, -1 for none; and [choice, object] whether it is.
        """
        is_counted, matched = self.overlay.matches.counted_truth, self.overlay.matches.matched_pred
        rows, pairs = np.flatnonzero((self.type > 0) & (self.target >= 0)), np.flatnonzero(matched >= 0)
        truth, pred = np.append(self.target[rows], pairs), np.append(rows, matched[pairs])
        truth, pred = truth[is_counted[truth]], pred[is_counted[truth]]
        last = np.full(len(is_counted), -1)
        np.maximum.at(last, truth, self.step[pred])
        chosen = np.zeros((len(self.choices), len(is_counted)), dtype=np.bool_)
        for is_attributed, kept in zip(chosen, self.is_kept, strict=True):
            is_attributed[truth[kept[pred]]] = True
        return last, chosen

    @cached_property
    def attributed_by_class(self) -> StepCounts:
        """Ground-truth objects by [class] that are matched or the target of an error."""
        last, chosen = self.attributed
        known, shape = last >= 0, (len(self.names), STEPS)
        places = np.ravel_multi_index((self.truth.label[known], last[known]), shape)
        steps = np.bincount(places, minlength=int(np.prod(shape))).reshape(shape)
        counts = [np.bincount(self.truth.label[one], minlength=len(self.names)) for one in chosen]
        return StepCounts(steps, np.stack(counts, axis=-1))

    @cached_property
    def objects(self) -> NDArray[np.int64]:
        """Counted ground-truth objects of each class."""
        return np.bincount(self.truth.label[self.overlay.matches.counted_truth], minlength=len(self.names))

    def curve(self) -> ThresholdCounts:
        """Return true and false positives of all classes at each threshold."""
        falling = self.by_class.falling.sum(axis=0)
        return ThresholdCounts(
            confidences=tuple(self.steps.tolist()),
            true_positives=tuple(falling[0].tolist()),
            false_positives=tuple(falling[1:].sum(axis=0).tolist()),
            objects=int(self.objects.sum()),
            images=len(self.truth.images),
        )

    def at(self, confidence: float) -> OperatingPoint:
        """Return counts and rates at any confidence threshold."""
        is_kept = (self.type >= 0) & (self.overlay.confidences >= confidence)
        right = int((is_kept & (self.type == 0)).sum())
        wrong, objects = int(is_kept.sum()) - right, int(self.objects.sum())
        return OperatingPoint(
            confidence=confidence,
            true_positives=right,
            false_positives=wrong,
            missed=objects - right,
            precision=right / (right + wrong) if right + wrong else None,
            recall=right / objects if objects else None,
            f1=2 * right / (right + wrong + objects) if objects else None,
        )

    @property
    def has_confusion(self) -> bool:
        """Whether the analysis has a confusion matrix."""
        analysis = self.analysis
        if analysis is None or analysis.matches.rules.class_agnostic:
            return False
        return "confusion" in analysis.settings.only


# Confusion matrix by threshold

Change = tuple[int, int, int, int]  # threshold or choice, class of the object, class of the prediction, difference

Pair = tuple[int, int, int, int]  # prediction, object, class of the object, class of the prediction


def confusion_by_threshold(counts: ConfidenceCounts) -> dict[str, NDArray[Any]]:
    """Return the confusion matrix at every threshold as sorted columns of changes.

    Summing the changes from a threshold up gives the matrix of `vt.analyse(…, confidence=threshold).confusion`. Choices
    follow the thresholds and have whole counts. Empty without a confusion matrix.
    """
    if not counts.has_confusion:
        return {}
    found: Counter[tuple[int, int, int]] = Counter()
    for step, ours, theirs, more in (*diagonal_changes(counts), *confusion_changes(counts)):
        found[ours, theirs, step] += more
    listed = np.array([(*key, many) for key, many in sorted(found.items()) if many], dtype=np.int64).reshape(-1, 4)
    truth, pred, at, change = listed.T
    wide = np.uint8 if len(counts.names) < 2**8 else np.uint16
    return {
        "m_at": at.astype(np.uint8),
        "m_truth": truth.astype(wide),
        "m_pred": pred.astype(wide),
        "m_many": change.astype(np.int32 if np.abs(change).max(initial=0) >= 2**15 else np.int16),
    }


def confusion_candidates(counts: ConfidenceCounts) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return predictions and objects whose overlap suffices for a confusion, in the order in which they are matched:
    image by image, predictions by falling confidence, and for each the largest overlap first.
    """
    assert counts.analysis is not None
    matches, pairs = counts.analysis.matches, counts.analysis.matches.pairs
    is_first = counts.analysis.settings.matching == MATCHING[0]
    is_unmatched = matches.counted_pred & ~matches.is_tp if is_first else matches.counted_pred
    chosen = (
        (pairs.overlap >= matches.thresholds[matches.main_threshold])
        & is_unmatched[pairs.pred]
        & matches.counted_truth[pairs.truth]
    )
    rows = np.flatnonzero(chosen & ~pairs.same_class if is_first else chosen)
    pred, truth = pairs.pred[rows], pairs.truth[rows].astype(np.int64)
    later = truth if is_first else -truth
    order = np.lexsort((later, -pairs.overlap[rows], matches.rank[pred], matches.pred.image[pred]))
    return pred[order], truth[order]


def diagonal_changes(counts: ConfidenceCounts) -> Iterator[Change]:
    """Yield the diagonal where true positives keep their objects (matching "same-first")."""
    assert counts.analysis is not None
    if counts.analysis.settings.matching != MATCHING[0]:
        return
    for part, first in ((counts.by_class.steps, 0), (counts.by_class.chosen, STEPS)):
        right = part[:, 0]
        for label, at in np.argwhere(right).tolist():
            yield first + at, label, label, int(right[label, at])


def confusion_changes(counts: ConfidenceCounts) -> Iterator[Change]:
    """Yield what matching the remaining predictions and objects of each image changes at each threshold and choice."""
    assert counts.analysis is not None
    matches, step = counts.analysis.matches, counts.step.tolist()
    matched = counts.overlay.matches.matched_pred
    is_first = counts.analysis.settings.matching == MATCHING[0]
    pred, truth = confusion_candidates(counts)
    columns = (pred, truth, matches.truth_label[truth], matches.pred_label[pred])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    listed = zip(matches.pred.image[pred].tolist(), rows, strict=True)
    for _, group in groupby(listed, key=lambda one: one[0]):
        mine: list[Pair] = [pair for _, pair in group]
        # The true positive of each object: where it is kept, the object is not confused.
        owner = {one[1]: int(matched[one[1]]) for one in mine} if is_first else {}
        enters = {step[one[0]] for one in mine} | {step[by] for by in owner.values() if by >= 0}
        before: Counter[tuple[int, int]] = Counter()
        for at in sorted(enters - {-1}, reverse=True):
            gone = {one for one, by in owner.items() if by >= 0 and step[by] >= at}
            now = match_greedily((one for one in mine if step[one[0]] >= at), gone)
            for labels in now.keys() | before.keys():
                if now[labels] != before[labels]:
                    yield at, *labels, now[labels] - before[labels]
            before = now
        for k, is_kept in enumerate(counts.is_kept):
            gone = {one for one, by in owner.items() if by >= 0 and is_kept[by]}
            for labels, many in match_greedily((one for one in mine if is_kept[one[0]]), gone).items():
                yield STEPS + k, *labels, many


def match_greedily(pairs: Iterable[Pair], gone: set[int]) -> Counter[tuple[int, int]]:
    """Match pairs in their order, each prediction and object once; return how often which classes meet.

    Objects in `gone` are matched already; the set grows.
    """
    found: Counter[tuple[int, int]] = Counter()
    done: set[int] = set()
    for pred, truth, ours, theirs in pairs:
        if pred not in done and truth not in gone:
            done.add(pred)
            gone.add(truth)
            found[ours, theirs] += 1
    return found
