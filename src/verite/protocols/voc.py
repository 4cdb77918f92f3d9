"""Pascal VOC: average precision per class and its mean, as VOCevaldet.m and VOCap.m compute them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, DataError, check_choices
from verite.evaluation.curves import Curve, Interpolation
from verite.evaluation.matching import IGNORED, TRUE, Matches, box_candidates, match_best
from verite.evaluation.prepare import Checks, prepare
from verite.model.annotations import Annotations
from verite.model.results import Finds, choose_threshold
from verite.protocols.curve_results import CurveResults
from verite.signature import Signature

Pixel = Literal["plus1", "continuous"]
Difficult = Literal["skip", "count"]
Variant = Literal["devkit", "py-faster-rcnn"]
CHOICES = {
    "interpolation": ("all", "11"),
    "pixel": ("plus1", "continuous"),
    "difficult": ("skip", "count"),
    "variant": ("devkit", "py-faster-rcnn"),
}


@dataclass(frozen=True)
class Settings:
    """Everything that can change the number."""

    iou: tuple[float, ...]
    interpolation: Interpolation
    pixel: Pixel
    difficult: Difficult
    variant: Variant
    labels: tuple[str, ...] | None

    def __post_init__(self) -> None:
        check_choices(self, CHOICES)
        if not self.iou:
            raise BadParameter("iou: expected at least one threshold, found none")
        for threshold in self.iou:
            if not 0 < threshold <= 1:
                raise BadParameter(f"iou: expected a threshold above 0 and up to 1, found {threshold}")

    def signature(self, iou: float | tuple[float, ...]) -> Signature:
        extra: dict[str, object] = {}
        if self.variant != "devkit":
            extra["variant"] = self.variant
        if self.labels is not None:
            extra["labels"] = self.labels
        return Signature.of(
            "voc_ap",
            on="box",
            iou=iou,
            recall=self.interpolation,
            pixel=self.pixel,
            ties="stable" if self.variant == "devkit" else "unstable",
            difficult=self.difficult,
            **extra,
            rev=1,
        )


class VocResults(CurveResults):
    """Average precision per class at each threshold, with the curves it comes from.

    `curves[t]` maps class names to curves at the t-th threshold; without an index the first threshold is meant.
    """

    settings: Settings

    def __init__(self, settings: Settings, truth: Annotations, pred: Annotations, **about: Any) -> None:
        self.matches, curves = evaluate(settings, truth, pred)
        super().__init__("voc", settings, curves, truth, pred, **about)

    def finds(self, iou: float | None = None) -> Finds:
        """Object by object what was found; those that are set aside were not asked for."""
        threshold = choose_threshold(self.settings.iou, iou)
        truth = self.matches.truth[threshold]
        rows = np.flatnonzero((self.matches.outcome[threshold] == TRUE) & (truth >= 0))
        taken = np.full(len(self.truth), -1, dtype=np.int64)
        taken[truth[rows]] = rows
        return Finds(self.settings.iou[threshold], ~ignored_truths(self.settings, self.truth), taken)

    def area_below(self, curve: Curve) -> float:
        levels = np.arange(0.0, 1.1, 0.1) if self.settings.variant == "py-faster-rcnn" else None
        return curve.average_precision(self.settings.interpolation, levels=levels)


def voc(
    truth: Annotations,
    pred: Annotations,
    *,
    iou: float | Sequence[float] = 0.5,
    interpolation: Interpolation = "all",
    pixel: Pixel = "plus1",
    difficult: Difficult = "skip",
    variant: Variant = "devkit",
    labels: Iterable[str] | None = None,
    name: str | None = None,
    checks: Checks = "stop",
) -> VocResults:
    """Average precision as Pascal VOC computes it.

    Predictions of a class are taken by falling confidence (equal ones in their order in the file). Each asks for the
    truth of its class and image that it overlaps most; it is true if the overlap reaches `iou` and the truth is
    still free, false otherwise. A difficult truth neither rewards nor punishes, and no more does what other formats
    set aside (crowds, groups, `ignore`), unless `difficult="count"`. Coordinates are pixel indices
    (`pixel="plus1"`: width is x2 − x1 + 1) or points (`"continuous"`). `variant="py-faster-rcnn"` reproduces that
    code: the overlap must exceed the threshold, equal confidences come in numpy's default order.

    Everingham et al., The Pascal Visual Object Classes Challenge: A Retrospective, IJCV 2015.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    >>> pred = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [50, 50, 59, 59]], confidence=[0.9, 0.8])
    >>> voc(truth, pred).scores["mAP"].value
    0.5
    """
    thresholds = tuple(float(t) for t in ([iou] if isinstance(iou, (int, float)) else iou))
    chosen = tuple(labels) if labels is not None else None
    settings = Settings(thresholds, interpolation, pixel, difficult, variant, chosen)
    pred, findings = prepare(truth, pred, checks)
    if truth.unit == "rel" and pixel == "plus1":
        raise DataError(
            f"{truth.source.path or 'truth'}: expected boxes in pixels for the +1 rule, found fractions of the image; "
            "give --image-size WIDTH,HEIGHT or --images FOLDER, or count with --pixel continuous"
        )
    if chosen is not None:
        truth = truth.only(chosen)
        pred = pred.only([name for name in pred.labels.all_names if name in set(chosen)])
    return VocResults(settings, truth, pred, name=name, findings=findings)


def evaluate(settings: Settings, truth: Annotations, pred: Annotations) -> tuple[Matches, list[dict[str, Curve]]]:
    """Matches at every threshold and the curve of every class at each."""
    confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
    order = by_label_and_confidence(pred.label, confidence, is_stable=settings.variant == "devkit")
    ignored = ignored_truths(settings, truth)
    candidates = box_candidates(truth, pred, pixel=1.0 if settings.pixel == "plus1" else 0.0, floor=min(settings.iou))
    matches = match_best(candidates, order, ignored, settings.iou, is_strict=settings.variant == "py-faster-rcnn")
    count = max(len(truth.labels), len(pred.labels))
    positives = np.bincount(truth.label[~ignored], minlength=count)
    bounds = np.searchsorted(pred.label[order], np.arange(count + 1))
    names = pred.labels.all_names if len(pred.labels) >= len(truth.labels) else truth.labels.all_names
    curves = []
    for outcome in matches.outcome:
        found = {}
        for label, name in enumerate(names):
            rows = order[bounds[label] : bounds[label + 1]]
            rows = rows[outcome[rows] != IGNORED]
            found[name] = Curve(name, int(positives[label]), confidence[rows], outcome[rows] > 0, rows)
        curves.append(found)
    return matches, curves


def ignored_truths(settings: Settings, truth: Annotations) -> NDArray[np.bool_]:
    """The objects that neither reward nor punish."""
    return truth.ignored if settings.difficult == "skip" else np.zeros(len(truth), dtype=np.bool_)


def by_label_and_confidence(
    label: NDArray[np.int32], confidence: NDArray[np.float64], *, is_stable: bool
) -> NDArray[np.int64]:
    """Rows by label, then by falling confidence; equal ones in their order, or in numpy's default order."""
    if is_stable:
        falling = np.argsort(-confidence, kind="stable")
        # Labels are few: 16-bit keys make numpy's stable sort a radix sort.
        keys = label.astype(np.uint16) if label.max(initial=0) < 2**16 else label
        return falling[np.argsort(keys[falling], kind="stable")]
    grouped = np.argsort(label, kind="stable")
    bounds = np.flatnonzero(np.diff(label[grouped])) + 1
    parts = [part[np.argsort(-confidence[part])] for part in np.split(grouped, bounds)]
    return np.concatenate(parts) if len(label) else grouped
