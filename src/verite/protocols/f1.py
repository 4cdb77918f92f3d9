"""Precision, recall and F1 without confidences: for vision-language models, annotators and final decisions.

Average precision ranks predictions by confidence. Models that write boxes and class names alone (Qwen-VL, Gemini,
Florence-2, SAM 3) have no ranking, and a score of 1 for every box makes their AP depend on the order of the file. This
protocol matches predictions and ground truth one to one, whatever their order, and counts true positives, false
positives and false negatives, at IoU thresholds and as means over them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan, sqrt
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.checks import stop_on_errors
from verite.errors import IS_COMMAND_LINE, BadParameter, DataError, spell_option
from verite.evaluation.ap_bounds import Bounds, ClassOrders, needed_per_recall, orders_of, reached_by_orders
from verite.evaluation.evaluation import Evaluation, Rules, int64s
from verite.evaluation.points import (
    DIAGONAL,
    DistanceErrors,
    PointSettings,
    check_distance,
    distance_sentence,
    mean_column,
    reach_of,
    summarise_distances,
)
from verite.evaluation.prepare import explain_low_score, need_pixels, prepare
from verite.evaluation.results import MeanResults
from verite.evaluation.settings import BELOW, IGNORE_REGIONS, THREADS, RankedSettings, ThresholdSetting
from verite.evaluation.state import EvaluationState, PartialMetadata, class_id, tell_as
from verite.formats.class_map import list_counts
from verite.model.classes import Labels
from verite.model.images import known_images
from verite.model.tables import Legend, Part, Table
from verite.protocols.asked import AskedClasses, AskedSetting
from verite.protocols.coco import CocoThresholds, flag_class
from verite.protocols.protocol import protocol
from verite.settings import Choice, FileOrContent, Flag, Option, Overlaps, Setting
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.checks import Finding
    from verite.evaluation.partial import MergedNumbers
    from verite.files import JsonObject
    from verite.model.annotations import Annotations
    from verite.protocols.cgf1 import ConceptGated

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


On = Literal["box", "mask", "rotated", "point"]

MatchBy = Literal["optimal", "greedy"]

Average = Literal["micro", "macro"]

Ignored = Literal["skip", "count"]

Metric = Literal["f1", "cgf1"]

Per = Literal["class", "image"]

FLAGS = ("ignore", "crowd", "difficult", "group_of", "ignore_region")  # of ground truth that is ignored

MATCHES = {"optimal": "optimal", "greedy": "falling_iou"}

SHOWN = (0.5, 0.75)  # thresholds at which F1 is a score of its own

UNIT = 2.0**-40  # of the sums of IoUs: exact in any order

LEGEND = Legend(
    "micro: objects of all classes together; macro: mean over the classes with ground truth, where the precision of a "
    "class without predictions is 0. count MAE, RMSE and bias: number of predictions minus number of objects per image."
)


class F1Settings(RankedSettings, PointSettings):
    """Settings of the F1 protocol."""

    on: Option[On] = Choice("box", "Compare boxes, masks, rotated boxes, or points by their distance.", On)
    iou: Overlaps = CocoThresholds()
    match: Option[MatchBy] = Choice(
        "optimal",
        "Optimal assignment (most matches, then the largest sum of IoU), or greedy by falling IoU.",
        MatchBy,
    )
    average: Option[Average] = Choice(
        "micro", "Score that comes first: micro (all objects together) or macro (mean over classes).", Average
    )
    ignored: Option[Ignored] = Choice(
        "skip", "Crowds, groups and difficult objects: skip (ignore them and what matches them) or count.", Ignored
    )
    class_agnostic: Option[bool] = Flag(False, "Ignore classes when matching.", omit_default=True)
    asked: AskedSetting = AskedSetting(
        None,
        "Evaluate only the classes that were asked for in each image: a table image,class, or a column of the images.",
        metavar="FILE|COLUMN",
        default_text="all classes",
        omit_default=True,
    )
    confidence: ThresholdSetting = ThresholdSetting(None, BELOW, metavar="C|FILE", default_text="none", is_common=True)
    metric: Option[Metric] = Choice(
        "f1", "Also concept-gated F1 of SA-Co (SAM 3): positive micro F1 times the MCC of presence.", Metric,
        omit_default=True,
    )  # fmt: skip
    other_truths: Setting[Any, Any] = FileOrContent(
        None,
        "Ground truth of other annotators for cgF1, the best one per item: files, separated by commas.",
        metavar="FILE,...",
        default_text="none",
        omit_default=True,
    )
    per: Option[Per] = Choice("class", "Rows of the table: class or image.", Per, is_signed=False)
    ignore_regions: Option[float] = IGNORE_REGIONS
    threads: Option[int | None] = THREADS

    def defaults(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"iou": (0.5,), "max_distance": DIAGONAL} if given.get("on") == "point" else {}

    def check(self) -> None:
        check_distance(self)
        if self.metric == "cgf1" and self.on == "point":
            raise type(self).on.refuse("box, mask or rotated with metric cgf1", self.on)
        if self.other_truths is not None and self.metric != "cgf1":
            raise type(self).other_truths.refuse("nothing but with metric cgf1", self.other_truths)


def rules_of(settings: F1Settings) -> Rules:
    """Return the matching rules; ignored ground truth is matched last, by any number of predictions."""
    return Rules(
        thresholds=settings.iou,
        similarity=settings.on,
        wants=MATCHES[settings.match],  # type: ignore[arg-type]
        class_agnostic=settings.class_agnostic,
        orders_by_class=False,
        ignored=FLAGS if settings.ignored == "skip" else (),
        shared=("crowd",) if settings.ignored == "skip" else (),
        allow_unknown_classes=True,
        region_share=settings.ignore_regions if settings.ignored == "skip" else 0.0,
        reach=reach_of(settings),
    )


@dataclass(frozen=True, eq=False)
class OutcomeCounts:
    """True positives and everything they are compared with, by class and by image; a list per threshold inside.

    `error`, `absolute_error` and `squared_error` are sums over the images of the number of predictions minus the number
    of objects of a class. `iou` are sums of the IoUs of true positives, in units of 2⁻⁴⁰.
    """

    truths: Sequence[int]
    preds: Sequence[int]
    tp: Sequence[Sequence[int]]
    ignored: Sequence[Sequence[int]]
    iou: Sequence[Sequence[int]]
    error: Sequence[int]
    absolute_error: Sequence[int]
    squared_error: Sequence[int]
    image_truths: Sequence[int]
    image_preds: Sequence[int]
    image_tp: Sequence[Sequence[int]]
    image_ignored: Sequence[Sequence[int]]


@dataclass(frozen=True)
class Tally:
    """True positives, false positives and false negatives at one IoU threshold, and the sum of the matched IoUs."""

    tp: int
    fp: int
    fn: int
    iou: float = 0.0

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.iou + other.iou)

    @property
    def precision(self) -> float:
        """Share of the predictions that are true positives; without predictions 0 if there are objects, else nan."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else 0.0 if self.fn else nan

    @property
    def recall(self) -> float:
        """Share of the objects that are matched; nan without objects."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else nan

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; nan without predictions and objects."""
        total = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / total if total else nan

    @property
    def accuracy(self) -> float:
        """TP / (TP + FP + FN), the "AP" of microscopy at one threshold; nan without predictions and objects."""
        total = self.tp + self.fp + self.fn
        return self.tp / total if total else nan

    @property
    def mean_iou(self) -> float:
        """Mean IoU of the matches; nan without any."""
        return self.iou / self.tp if self.tp else nan


MEASURES: dict[str, Callable[[Tally], float]] = {
    "F1": lambda tally: tally.f1,
    "precision": lambda tally: tally.precision,
    "recall": lambda tally: tally.recall,
}


def mean_of_known(values: Sequence[float]) -> float:
    """Return the mean of the values that are numbers; nan if there is none."""
    known = [value for value in values if value == value]
    return _core.mean(known) if known else nan


def mean_of_all(values: Sequence[float]) -> float:
    """Return the mean, where values that are not defined count as 0; nan of nothing."""
    return _core.mean([value if value == value else 0.0 for value in values]) if values else nan


class F1Results(MeanResults):
    """Results of the F1 protocol: precision, recall and F1, micro and macro, per class and image, and count errors.

    ``results["F1"]`` is the micro mean over the IoU thresholds, ``results["F1@0.50"]`` that at one of them,
    ``results["macro_F1"]`` the mean over classes. ``tallies[t]`` has TP, FP and FN at the t-th threshold.

    Parameters
    ----------
    settings : F1Settings
        The settings of the protocol.
    evaluation : Evaluation or MergedNumbers
        The matching, or the numbers of merged parts.
    findings : sequence of Finding
        What the checks found.
    counts : OutcomeCounts, optional
        True positives, false positives and missed objects, if they are known already.
    asked : AskedClasses, optional
        The classes that were asked for in each image.
    gated : ConceptGated, optional
        cgF1, where it was asked for.

    Examples
    --------
    One of two cats is found, and nothing else:

    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 10, 10], [5, 5, 20, 20]])
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]])
    >>> results = vt.f1(truth, pred)
    >>> isinstance(results, vt.F1Results), round(results["F1"], 4)
    (True, 0.6667)
    """

    def __init__(
        self,
        settings: F1Settings,
        evaluation: Evaluation | MergedNumbers,
        findings: Sequence[Finding] = (),
        *,
        counts: OutcomeCounts | None = None,
        asked: AskedClasses | None = None,
        gated: ConceptGated | None = None,
    ) -> None:
        """`counts` are those of the evaluation, if they are known already; `gated` is cgF1, where it was asked for."""
        self.settings, self.kept, self.asked_classes, self.gated = settings, evaluation, asked, gated
        if counts is None:
            assert isinstance(evaluation, Evaluation)
            counts = OutcomeCounts(**evaluation.kept.counts())
        self.counts = counts
        signatures = {
            name: settings.signature("f1", **({"iou": threshold} if threshold else {}), average=average)
            for name, (average, _, threshold) in self.queries(settings).items()
        }
        scores = {name: (self.value(name), signature) for name, signature in signatures.items()}
        if gated is not None:
            own = {name: (value, settings.signature(name.lower())) for name, value in gated.scores.items()}
            scores = own | scores
        super().__init__(
            protocol="f1",
            signature=settings.signature("f1"),
            scores=scores,
            truth=evaluation.truth,
            pred=evaluation.pred,
            name=settings.name,
            findings=findings,
        )

    @property
    def evaluation(self) -> Evaluation | MergedNumbers:
        """The matching; merged partial results have no objects any more."""
        return self.kept

    @staticmethod
    def queries(settings: F1Settings) -> dict[str, tuple[str, str, float | None]]:
        """Return for each score how it is averaged, which of precision, recall and F1 it is, and its threshold."""
        at = [t for t in settings.iou if any(abs(t - shown) < 1e-9 for shown in SHOWN)] if settings.iou[1:] else []
        micro: dict[str, tuple[str, str, float | None]] = {name: ("micro", name, None) for name in MEASURES}
        micro |= {f"{name}@{t:.2f}": ("micro", name, t) for t in at for name in MEASURES}
        macro: dict[str, tuple[str, str, float | None]] = {f"macro_{name}": ("macro", name, None) for name in MEASURES}
        return micro | macro if settings.average == "micro" else macro | micro

    def value(self, score: str) -> float:
        """Return a score: a mean over IoU thresholds, or its value at one of them."""
        average, measure, threshold = self.queries(self.settings)[score]
        chosen = [i for i, t in enumerate(self.settings.iou) if threshold is None or t == threshold]
        of = MEASURES[measure]
        if average == "micro":
            return mean_of_known([of(self.tallies[t]) for t in chosen])
        present = [own for own, truths in zip(self.class_tallies, self.counts.truths, strict=True) if truths]
        return mean_of_known([mean_of_all([of(own[t]) for own in present]) for t in chosen])

    @cached_property
    def class_tallies(self) -> list[list[Tally]]:
        """TP, FP and FN of each class at each IoU threshold."""
        c = self.counts
        return [
            [Tally(tp, preds - tp - ignored, truths - tp, iou * UNIT) for tp, ignored, iou in zip(*own, strict=True)]
            for truths, preds, *own in zip(c.truths, c.preds, c.tp, c.ignored, c.iou, strict=True)
        ]

    @cached_property
    def tallies(self) -> list[Tally]:
        """TP, FP and FN of all classes together at each IoU threshold."""
        c, thresholds = self.counts, range(len(self.settings.iou))
        return [
            Tally(
                sum(own[t] for own in c.tp),
                sum(c.preds) - sum(own[t] + ignored[t] for own, ignored in zip(c.tp, c.ignored, strict=True)),
                sum(c.truths) - sum(own[t] for own in c.tp),
                sum(own[t] for own in c.iou) * UNIT,
            )
            for t in thresholds
        ]

    @cached_property
    def image_tallies(self) -> list[list[Tally]]:
        """TP, FP and FN of each image at each IoU threshold."""
        c = self.counts
        return [
            [Tally(tp, preds - tp - ignored, truths - tp) for tp, ignored in zip(*own, strict=True)]
            for truths, preds, *own in zip(c.image_truths, c.image_preds, c.image_tp, c.image_ignored, strict=True)
        ]

    @property
    def has_confidences(self) -> bool:
        """Whether the predictions have confidences."""
        if isinstance(self.evaluation, Evaluation):
            return self.pred.confidence is not None
        return self.evaluation.notes.has_confidences

    @cached_property
    def orders(self) -> list[ClassOrders] | None:
        """What COCO's matching can find over all orders, by class; None if predictions have confidences.

        Merged partial results have the sums of theirs, and None where an image was in two of them.
        """
        if self.has_confidences:
            return None
        if isinstance(self.evaluation, Evaluation):
            return orders_of(self.evaluation)
        known, merger = dict(self.evaluation.notes.orders), self.evaluation.merger
        if not known or merger.image_count < sum(map(len, self.evaluation.parts)):
            return None
        nothing = ClassOrders.nothing(len(self.settings.iou))
        return [known.get(label, nothing) for label in merger.labels]

    @cached_property
    def class_bounds(self) -> list[tuple[ClassOrders, list[Bounds]]]:
        """Bounds of AP at each IoU threshold, for every class with ground truth; empty with confidences."""
        found = []
        for orders, truths in zip(self.orders or (), self.counts.truths, strict=self.orders is not None):
            if truths:
                needed = needed_per_recall(truths)
                found.append((orders, [counts.bounds(needed) for counts in orders.counts]))
        return found

    @cached_property
    def threshold_bounds(self) -> list[Bounds] | None:
        """Lowest and highest AP over all orders of the predictions at each IoU threshold; None with confidences."""
        if self.orders is None:
            return None
        return [Bounds.mean([own[t] for _, own in self.class_bounds]) for t in range(len(self.settings.iou))]

    @cached_property
    def mean_bounds(self) -> Bounds | None:
        """Bounds of the mean of AP over the IoU thresholds, and whether some order reaches them."""
        if self.orders is None:
            return None
        bounds = Bounds.mean([orders.mean(own) for orders, own in self.class_bounds])
        if self.reached is None or (bounds.is_low_exact and bounds.is_high_exact):
            return bounds
        low, high = self.reached
        return bounds._replace(
            is_low_exact=bounds.is_low_exact or low - bounds.low < 1e-12,
            is_high_exact=bounds.is_high_exact or bounds.high - high < 1e-12,
        )

    @cached_property
    def reached(self) -> tuple[float, float] | None:
        """AP of two orders of predictions without confidences, by rising and by falling IoU; None if not computed."""
        is_whole = isinstance(self.evaluation, Evaluation) and not self.has_confidences
        return reached_by_orders(self.evaluation) if is_whole else None  # type: ignore[arg-type]

    @property
    def ap_bounds(self) -> tuple[float, float] | None:
        """Lowest and highest AP that :func:`verite.coco` gives over all orders; None if predictions have confidences.

        At one IoU threshold both are reached by some order, but for rare groups of overlapping objects. With several
        thresholds one order has to serve all of them, and where an object has several predictions the bounds may lie
        outside what any order reaches; ``mean_bounds`` tells which of them are exact.
        """
        return None if self.mean_bounds is None else (self.mean_bounds.low, self.mean_bounds.high)

    @cached_property
    def distances(self) -> tuple[DistanceErrors, list[DistanceErrors]] | None:
        """Localization errors of points at the first threshold, of all classes and of each; None for other regions."""
        if self.settings.on != "point" or not isinstance(self.evaluation, Evaluation):
            return None
        outcomes = self.evaluation.outcomes(0)
        every, each = summarise_distances(
            self.truth, self.pred, outcomes, len(self.pred.labels), self.settings.pixel_size
        )
        return every, [every] if self.settings.class_agnostic else each

    # -- tables and documents

    @property
    def class_names(self) -> list[str]:
        if self.settings.class_agnostic:
            return ["all classes"]
        return list(self.pred.labels.all_names)

    @property
    def rows(self) -> list[int]:
        """Positions of the classes that are shown: with objects or predictions, or all if none has any."""
        c = self.counts
        return [k for k in range(len(c.truths)) if c.truths[k] or c.preds[k]] or list(range(len(c.truths)))

    def class_scores(self) -> dict[str, list[float]]:
        found = {}
        for name, (average, measure, threshold) in self.queries(self.settings).items():
            chosen = [i for i, t in enumerate(self.settings.iou) if threshold is None or t == threshold]
            of = MEASURES[measure]
            found[name] = [mean_of_known([of(own[t]) for t in chosen]) for own in self.class_tallies]
            if average == "macro":  # of the classes with ground truth
                found[name] = [v if n else nan for v, n in zip(found[name], self.counts.truths, strict=True)]
        return {name: found.get(name, [nan] * len(self.class_names)) for name in self.scores}

    def count_errors(self, k: int | None = None) -> dict[str, float]:
        """Return MAE, RMSE and bias of the number of predictions per image, of one class or of all together."""
        c = self.counts
        if k is not None:
            images = len(c.image_truths) if self.asked_classes is None else self.asked_classes.images_of(k)
            error, absolute, squared = c.error[k], c.absolute_error[k], c.squared_error[k]
        else:
            each = [
                preds - ignored[0] - truths
                for truths, preds, ignored in zip(c.image_truths, c.image_preds, c.image_ignored, strict=True)
            ]
            images = len(each) if self.asked_classes is None else self.asked_classes.images_of(None)
            error, absolute, squared = sum(each), sum(map(abs, each)), sum(one * one for one in each)
        if not images:
            return {"mae": nan, "rmse": nan, "bias": nan}
        return {"mae": absolute / images, "rmse": sqrt(squared / images), "bias": error / images}

    def class_table(self) -> Table:
        """Return one row per class: F1, precision, recall, numbers of objects and predictions, mean IoU, count errors.

        The last row has the micro averages.
        """
        names, scores = self.class_names, self.class_scores()
        rows = self.rows
        columns: dict[str, list[Any]] = {name: [scores[name][k] for k in rows] for name in MEASURES}
        first = f"F1@{self.settings.iou[0]:.2f}"
        if self.settings.iou[1:]:
            columns[first] = [self.class_tallies[k][0].f1 for k in rows]
        columns["truths"] = [self.counts.truths[k] for k in rows]
        columns["preds"] = [self.class_tallies[k][0].tp + self.class_tallies[k][0].fp for k in rows]
        columns["mean IoU"] = [self.class_tallies[k][0].mean_iou for k in rows]
        if self.settings.on == "point":
            del columns["mean IoU"]
            if self.distances is not None:
                means = mean_column(self.distances[1])
                columns["distance"] = [means[k] for k in rows]
        errors = [self.count_errors(k) for k in rows]
        columns |= {f"count {head}": [one[key] for one in errors] for key, head in COUNT_HEADS.items()}
        every, tally = self.count_errors(), self.tallies[0]
        mean = {name: self.value(name) for name in MEASURES}
        mean |= {first: tally.f1, "truths": sum(self.counts.truths), "preds": tally.tp + tally.fp}
        mean |= {"distance": self.distances[0].mean} if self.distances is not None else {}
        mean |= {"mean IoU": tally.mean_iou} | {f"count {head}": every[key] for key, head in COUNT_HEADS.items()}
        return Table.of(
            "class", [names[k] for k in rows], columns, mean={k: v for k, v in mean.items() if k in columns}
        )

    def average_table(self) -> Table:
        """Return precision, recall and F1 as means and at 0.5 and 0.75, micro and macro side by side."""
        marks = [t for t in self.settings.iou if any(abs(t - shown) < 1e-9 for shown in SHOWN)]
        several = len(self.settings.iou) > 1
        names = [*(["mean"] if several else []), *(f"{t:.2f}" for t in (marks if several else self.settings.iou))]
        chosen = [*([None] if several else []), *(marks if several else self.settings.iou)]
        present = [own for own, truths in zip(self.class_tallies, self.counts.truths, strict=True) if truths]
        columns: dict[str, list[float]] = {}
        for average in ("micro", "macro"):
            for measure in ("precision", "recall", "F1"):
                of = MEASURES[measure]
                at = [
                    of(self.tallies[t]) if average == "micro" else mean_of_all([of(own[t]) for own in present])
                    for t in range(len(self.settings.iou))
                ]
                columns[measure if average == "micro" else f"macro {measure}"] = [
                    mean_of_known(at) if threshold is None else at[self.settings.iou.index(threshold)]
                    for threshold in chosen
                ]
        return Table.of(self.words.overlap, names, columns)

    def threshold_table(self) -> Table:
        """Return TP, FP, FN, precision, recall, F1, TP / (TP + FP + FN) and mean IoU at every IoU threshold."""
        columns: dict[str, list[Any]] = {
            "TP": [one.tp for one in self.tallies],
            "FP": [one.fp for one in self.tallies],
            "FN": [one.fn for one in self.tallies],
            "precision": [one.precision for one in self.tallies],
            "recall": [one.recall for one in self.tallies],
            "F1": [one.f1 for one in self.tallies],
            "TP/(TP+FP+FN)": [one.accuracy for one in self.tallies],
            f"mean {self.words.overlap}": [one.mean_iou for one in self.tallies],
        }
        return Table.of(self.words.overlap, [f"{t:.2f}" for t in self.settings.iou], columns)

    def image_rows(self) -> dict[str, dict[str, float]]:
        """Return for each image its F1 (mean over thresholds, 1 where there is nothing), and counts at the first."""
        images = known_images(self.truth, self.pred)
        found = {}
        for i, own in enumerate(self.image_tallies):
            mean = mean_of_known([tally.f1 for tally in own])
            counts = {"tp": own[0].tp, "fp": own[0].fp, "fn": own[0].fn}
            found[images.name(i)] = {"F1": 1.0 if mean != mean else mean, **counts}
        return found

    def image_table(self) -> Table:
        """Return one row per image, the lowest F1 first."""
        rows = sorted(self.image_rows().items(), key=lambda item: item[1]["F1"])
        heads = {"F1": "F1", "tp": "TP", "fp": "FP", "fn": "FN"}
        columns = {head: [row[key] for _, row in rows] for key, head in heads.items()}
        return Table.of("image", [name for name, _ in rows], columns)

    def worst_images(self) -> list[int]:
        """Return the images with errors, the lowest F1 first."""
        errors = [one[0].fp + one[0].fn for one in self.image_tallies]
        means = [mean_of_known([tally.f1 for tally in own]) for own in self.image_tallies]
        return sorted((i for i, count in enumerate(errors) if count), key=lambda i: (means[i], -errors[i]))

    def main_table(self) -> Table:
        return self.image_table() if self.settings.per == "image" else self.class_table()

    def tables(self) -> dict[str, Table]:
        return {"classes": self.class_table(), "thresholds": self.threshold_table(), "images": self.image_table()}

    def sentences(self) -> list[str]:
        """Return what is printed below the averages: mean IoU, count errors, and the bounds of AP."""
        counts, first = self.count_errors(), self.tallies[0]
        found = [
            f"at {self.words.at(self.settings.iou[0])}: {first.tp:,} TP, {first.fp:,} FP, {first.fn:,} FN, "
            f"mean {self.words.overlap} of matches {show(first.mean_iou)}; predictions per image minus objects: MAE "
            f"{show(counts['mae'])}, RMSE {show(counts['rmse'])}, bias {show(counts['bias'], '+')}"
        ]
        if self.distances is not None:
            found.append(distance_sentence(self.distances[0], self.settings.max_distance, self.settings.pixel_size))
        bounds = self.mean_bounds
        if bounds is not None and bounds.low == bounds.low:
            said = (
                f"no confidences: AP lies between {bounds.low:.4f} and {bounds.high:.4f} depending on the order of the "
                "predictions"
            )
            if not (bounds.is_low_exact and bounds.is_high_exact):
                said += " (outer bounds"
                said += "" if self.reached is None else "; orders with {:.4f} and {:.4f} exist".format(*self.reached)
                said += ")"
            found.append(said)
        if self.has_confidences and self.settings.confidence is None and any(self.counts.preds):
            option = "--confidence C" if IS_COMMAND_LINE.get() else "confidence=C"
            found.append(
                f"all {sum(self.counts.preds):,} predictions count at any confidence; {option} keeps those of at least "
                "C"
            )
        return found

    @property
    def notes(self) -> list[str]:
        found = [*explain_low_score(self), *super().notes]
        return [*found, *([self.asked_classes.sentence] if self.asked_classes is not None else [])]

    def contents(self) -> list[Part]:
        names = [*(self.gated.scores if self.gated else ()), *(next(iter(self.queries(self.settings))),), *MEASURES]
        headline = "   ".join(f"{name} {show(self.scores[name].value)}" for name in dict.fromkeys(names))
        return [
            f"{self.name}   {headline}",
            *([self.gated.table()] if self.gated else []),
            self.average_table(),
            self.main_table(),
            *self.sentences(),
            LEGEND,
            self.signature,
            *self.notes,
        ]

    def details(self) -> JsonObject:
        """Return the documented keys: micro means, every threshold, macro means, classes, count errors, AP bounds."""
        scores, names = self.class_scores(), self.class_names
        classes = {
            names[k]: {
                **{name: values[k] for name, values in scores.items()},
                "mean_iou": self.class_tallies[k][0].mean_iou,
                "truths": self.counts.truths[k],
                "preds": self.class_tallies[k][0].tp + self.class_tallies[k][0].fp,
                "counts": self.count_errors(k),
            }
            for k in range(len(names))
        }
        if self.distances is not None:
            for name, one in zip(names, self.distances[1], strict=True):
                classes[name]["distance"] = one.mean
        thresholds = [
            {
                "iou": t,
                **{name: of(tally) for name, of in MEASURES.items()},
                "tp": tally.tp,
                "fp": tally.fp,
                "fn": tally.fn,
                "accuracy": tally.accuracy,
                "mean_iou": tally.mean_iou,
                "ap_bounds": None if self.threshold_bounds is None else list(self.threshold_bounds[i][:2]),
                "ap_bounds_exact": None if self.threshold_bounds is None else list(self.threshold_bounds[i][2:]),
            }
            for i, (t, tally) in enumerate(zip(self.settings.iou, self.tallies, strict=True))
        ]
        return {
            **(self.gated.to_dict() if self.gated else {}),
            **{name: self.value(name) for name in ("precision", "recall", "F1")},
            **{name: score.value for name, score in self.scores.items()},
            "mean_iou": self.tallies[0].mean_iou,
            "thresholds": thresholds,
            "macro": {name: self.value(f"macro_{name}") for name in ("precision", "recall", "F1")},
            "classes": classes,
            "counts": self.count_errors(),
            "ap_bounds": None if self.mean_bounds is None else list(self.mean_bounds[:2]),
            "ap_bounds_exact": None if self.mean_bounds is None else list(self.mean_bounds[2:]),
            "ap_reached": None if self.mean_bounds is None or self.reached is None else list(self.reached),
            **({} if self.distances is None else {"distance": self.distances[0].to_dict()}),
            **({"images": self.image_rows()} if self.settings.per == "image" else {}),
        }

    # -- what other commands ask

    def mean_query(self, score: str, label: str | None = None) -> tuple[Any, ...]:
        """Return the mean behind a score, of all classes or one, as bootstrap and simulation take it."""
        known = self.queries(self.settings)
        if self[score].name not in known:
            raise BadParameter(f"score: expected one of {', '.join(known)} for resampling, found {score}")
        average, measure, threshold = known[score]
        place = None if threshold is None else self.settings.iou.index(threshold)
        query = (f"{average}_{measure.lower()}", place, 0, 0)
        return query if label is None else (*query, flag_class(self.class_names, label))

    def bootstrap_means(self, queries: Sequence[tuple[Any, ...]], weights: Floats) -> Floats:
        """Return means on bootstrap samples of the images, [sample, query].

        Parameters
        ----------
        queries
            Which mean of which class at which IoU threshold.
        weights
            How often each image occurs in each sample, [sample, image].

        Returns
        -------
        Floats
            Means computed from the same matches as the score itself; nothing is matched again.
        """
        from verite.evaluation.bootstrap import widen

        weights = widen(weights, len(known_images(self.truth, self.pred)))
        if not isinstance(self.evaluation, Evaluation):
            # Means of merged partial results on bootstrap samples, [sample, query]: those of one evaluation.
            numbers = self.evaluation
            thresholds = len(self.settings.iou)
            classes = len(numbers.merger.labels)
            tp, fp = np.zeros((2, classes, thresholds, len(weights)))
            truths = np.zeros((classes, len(weights)))
            for k in range(classes):
                rows = numbers.gather(k)
                truths[k] = weights[:, rows.cell_image] @ rows.counts[:, 0].astype(np.float64)
                for t in range(thresholds):
                    hit = rows.is_hit(t)
                    tp[k, t] = weights[:, rows.image[hit]].sum(axis=1)
                    fp[k, t] = weights[:, rows.image[~hit & ~rows.is_spared(t)]].sum(axis=1)
            found = [mean_of_counts(query, tp, fp, truths) for query in queries]
            return np.stack(found, axis=1)
        return self.evaluation.bootstrap_means(queries, weights)

    def part(self, about: Callable[[Labels], str]) -> EvaluationState:
        assert isinstance(self.evaluation, Evaluation)
        return partial_state(self.evaluation, about(Labels(self.truth.labels.all_names)))

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: F1Settings) -> F1Results:
        """Return the results of merged partial results."""
        own = numbers.merger.rules
        if len(own.thresholds) != len(settings.iou):
            raise DataError("part: expected the rules of its settings, found others; make it again")
        # The counts of merged partial results: those of one evaluation of all images.
        thresholds = len(settings.iou)
        images, classes = len(numbers.images), len(numbers.merger.labels)
        tp, ignored_preds, iou = (np.zeros((classes, thresholds), np.int64) for _ in range(3))
        image_tp, image_spared = (np.zeros((images, thresholds), np.int64) for _ in range(2))
        image_truths, image_preds = (np.zeros(images, np.int64) for _ in range(2))
        sums: dict[str, list[int]] = {
            key: [] for key in ("truths", "preds", "error", "absolute_error", "squared_error")
        }
        for k in range(classes):
            rows = numbers.gather(k)
            if not ((rows.confidence >= 0) & (rows.confidence <= 1)).all():
                raise DataError("part: expected IoUs from 0 to 1, found others; make it again")
            error = np.zeros(images, np.int64)
            truths = rows.counts[:, 0].astype(np.int64)
            np.add.at(image_truths, rows.cell_image, truths)
            np.subtract.at(error, rows.cell_image, truths)
            np.add.at(image_preds, rows.image, 1)
            for t in range(thresholds):
                hit, ignored = rows.is_hit(t), rows.is_spared(t)
                tp[k, t], ignored_preds[k, t] = hit.sum(), ignored.sum()
                iou[k, t] = int(np.round(rows.confidence[hit] / UNIT).astype(np.int64).sum())
                np.add.at(image_tp[:, t], rows.image[hit], 1)
                np.add.at(image_spared[:, t], rows.image[ignored], 1)
                if t == 0:
                    np.add.at(error, rows.image[~ignored], 1)
            values = (truths.sum(), len(rows.image), error.sum(), np.abs(error).sum(), (error**2).sum())
            for key, value in zip(sums, values, strict=True):
                sums[key].append(int(value))
        return cls(
            settings,
            numbers,
            counts=OutcomeCounts(
                **sums,
                tp=tp.tolist(),
                ignored=ignored_preds.tolist(),
                iou=iou.tolist(),
                image_truths=image_truths.tolist(),
                image_preds=image_preds.tolist(),
                image_tp=image_tp.tolist(),
                image_ignored=image_spared.tolist(),
            ),
        )


COUNT_HEADS = {"mae": "MAE", "rmse": "RMSE", "bias": "bias"}


def show(value: float, sign: str = "") -> str:
    """Return a number with four digits; a dash if there is none."""
    return f"{value:{sign}.4f}" if value == value else "–"


@protocol(
    F1Settings,
    examples="""
verite f1 truth.json pred.json
verite f1 truth.json pred.json --confidence 0.5 -t 0.5
verite f1 truth.json a.json b.json --average macro
verite f1 truth.json pred.json --per image --match greedy
verite f1 truth.json pred.json --metric cgf1
verite f1 truth.json pred.json --json | jq .F1""",
)
def f1(truth: Annotations, pred: Annotations, settings: F1Settings) -> F1Results:
    """Precision, recall and F1 of predictions without confidences.

    Predictions and ground truth of an image and class are matched one to one. ``match="optimal"`` takes the assignment
    with most pairs of IoU ≥ threshold, and of those the one with the largest sum of IoU; ``"greedy"`` takes pairs by
    falling IoU. Neither depends on the order of the files. Matched predictions are true positives, the others false
    positives; objects without a match are false negatives. A prediction that matches no object and reaches the
    threshold with ignored ground truth (crowd, difficult, group) is ignored.

    Precision, recall and F1 are means over the IoU thresholds; micro counts the objects of all classes together, macro
    is the mean over the classes with ground truth. If predictions have confidences, those at or above `confidence`
    count. AP needs confidences; the bounds between which it lies for any order are given instead.

    References
    ----------
    Kuhn, The Hungarian Method for the Assignment Problem, Naval Research Logistics Quarterly 1955.
    Carion et al., SAM 3: Segment Anything with Concepts, 2025 (cgF1).

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 20, 30, 30]])
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]])
    >>> results = vt.f1(truth, pred)
    >>> results["precision"].value, results["recall"].value, round(results["F1"], 4)
    (1.0, 0.5, 0.6667)
    """
    evaluation, findings, asked = evaluate_counts(truth, pred, settings)
    gated = None
    if settings.metric == "cgf1":
        from verite.protocols.cgf1 import concept_gated_f1

        gated = concept_gated_f1(truth, pred, settings, asked)
    return F1Results(settings, evaluation, findings, asked=asked, gated=gated)


def evaluate_counts(
    truth: Annotations, pred: Annotations, settings: F1Settings
) -> tuple[Evaluation, list[Finding], AskedClasses | None]:
    """Match ground truth and predictions; return the evaluation, the findings and the classes that were asked for."""
    checks = "warn" if settings.checks == "stop" else settings.checks
    truth, pred, findings = prepare(
        truth,
        pred,
        checks,
        is_ranked=False,
        is_point=settings.on == "point",
        measures="masks" if settings.on == "mask" else "boxes",
    )
    if settings.on == "point":
        need_pixels(truth, "distances of points")
    findings = [allow_unknown_classes(finding, truth, pred) for finding in findings]
    if settings.checks == "stop":
        stop_on_errors(findings, {"truth": truth.source.path, "pred": pred.source.path})
    if not truth.counts[0] and not pred.counts[0] and settings.checks == "stop":
        raise DataError(
            f"{truth.source.path or 'truth'}: expected objects in the ground truth or the predictions, found none in "
            "either; are these the right files?"
        )
    settings.check_labels(pred.labels.all_names)
    truth, pred = settings.choose(truth, pred)
    asked = None
    if settings.asked is not None:
        asked = AskedClasses.read(settings.asked, truth, pred)
        truth, pred = (side.where(asked.is_asked(side)) for side in (truth, pred))
    evaluation = Evaluation(truth, pred, rules_of(settings), thread_count(settings.threads))
    # Refuse predictions of which no box touches its image: the coordinates are in another unit.
    if settings.checks == "stop" and len(pred) and not any(own[0] for own in evaluation.kept.counts()["tp"]):
        sizes = np.stack([pred.images.widths, pred.images.heights], axis=1)[pred.image]
        if pred.unit == "rel":
            sizes = np.where(sizes > 0, 1, 1)
        boxes = pred.regions.boxes
        is_outside = ((boxes[:, :2] >= sizes) | (boxes[:, 2:] <= 0)).any(axis=1) & (sizes > 0).all(axis=1)
        if is_outside.all():
            raise DataError(
                f"{pred.source.path or 'predictions'}: expected boxes inside the images, found all "
                f"{len(pred):,} outside; are they in pixels of these images? see verite inspect TRUTH PRED"
            )
    return evaluation, findings, asked


def allow_unknown_classes(finding: Finding, truth: Annotations, pred: Annotations) -> Finding:
    """Return a finding; that some classes are unknown to the ground truth is a warning, if others are known.

    Models that write free text name classes that the ground truth lacks: false positives, not a mistake in the files.
    """
    known = len(truth.labels)
    is_some = finding.code == "V203" and bool(((pred.label < known) & np.isin(pred.label, truth.label)).any())
    if not is_some:
        return finding
    counts = np.bincount(pred.label, minlength=known)[known:].tolist()
    unknown: dict[str | None, int] = {
        name: n for name, n in zip(pred.labels.all_names[known:], counts, strict=True) if n
    }
    names = "1 class name is" if len(unknown) == 1 else f"{len(unknown):,} class names are"
    message = f"{names} not in the ground truth, {sum(unknown.values()):,} false positives: {list_counts(unknown)}"
    return replace(
        finding, severity="warning", message=message, fix=f"{spell_option('map', 'FILE')} gives them a class"
    )


def partial_state(evaluation: Evaluation, about: str, *, by_id: bool = False) -> EvaluationState:
    """Return the partial result of these images: the outcome of every prediction, and the IoU of its match.

    The IoU at the lowest threshold takes the place of the confidence, so that the mean IoU can be merged as well.
    Classes are identified by their positions or, if `by_id`, by their ids.
    """
    truth, pred, layout = evaluation.truth, evaluation.pred, evaluation.layout
    images = known_images(truth, pred)
    rows, labels, _ = layout.preds
    offsets, pair_truth, iou = layout.candidates
    owner = np.repeat(np.arange(len(rows)), np.diff(offsets))
    is_ignored = (layout.ignored[pair_truth] & 1) > 0
    words = np.zeros((len(rows), 1 + len(layout.matched)), dtype=np.uint32)
    overlap = np.zeros(len(rows))
    for block, matched in enumerate(layout.matched):
        bits = matched[:, 0].astype(np.uint32)
        np.bitwise_or.at(words[:, 1 + block], owner, np.where(is_ignored, bits << 16, bits))
    if layout.matched:
        first = int(np.argmin(evaluation.rules.thresholds))
        is_match = layout.is_matched(first) & ~is_ignored
        overlap[owner[is_match]] = np.round(iou[is_match] / UNIT) * UNIT
    truth_rows, truth_labels, _ = layout.truths
    counted = (layout.ignored & 1) == 0
    width = max(len(images), 1)
    cells = truth_labels[counted].astype(np.int64) * width + truth.image[truth_rows[counted]]
    found, counts = np.unique(cells, return_counts=True)
    own = (by_id and truth.labels.numbers) or range(len(truth.labels))
    more = pred.labels.all_names[len(truth.labels) :]
    agnostic = evaluation.rules.class_agnostic
    ids = [0] if agnostic else [*own, *map(class_id, more)]
    orders = [] if pred.confidence is not None else sorted(zip(ids, orders_of(evaluation), strict=True))
    with tell_as(DataError):
        return EvaluationState(
            _core.EvaluationState.of(
                about=about,
                ids=images.ids,
                names=(images.names or [images.name(i) for i in range(len(images))]) if images.ids is None else None,
                labels=int64s(ids),
                thresholds=len(evaluation.rules.thresholds),
                ranges=1,
                rows=_core.PredictionRows(
                    label=labels.astype(np.int32),
                    image=pred.image[rows].astype(np.int32),
                    confidence=overlap,
                    words=words,
                ),
                cells=_core.TruthCounts(
                    label=(found // width).astype(np.int32),
                    image=(found % width).astype(np.int32),
                    counts=counts.astype(np.uint32).reshape(-1, 1),
                ),
            ),
            PartialMetadata(
                classes=() if agnostic else tuple(sorted(more)),
                has_confidences=pred.confidence is not None,
                orders=tuple(orders),
            ),
        )


def mean_of_counts(query: tuple[Any, ...], tp: Floats, fp: Floats, truths: Floats) -> Floats:
    """Return the mean of one query over its thresholds, [sample], from counts [class, threshold, sample]."""
    average, _, measure = query[0].partition("_")
    chosen = np.ones(len(truths), bool) if len(query) < 5 or query[4] is None else np.array(query[4], bool)
    at = slice(None) if query[1] is None else slice(query[1], query[1] + 1)
    hits, extra, objects = tp[chosen][:, at], fp[chosen][:, at], truths[chosen][:, None]
    if average == "micro":
        hits, extra, objects = (one.sum(axis=0, keepdims=True) for one in (hits, extra, objects))
    with np.errstate(invalid="ignore", divide="ignore"):
        if measure == "precision":
            values = np.where(hits + extra > 0, hits / (hits + extra), np.where(objects > 0, 0.0, np.nan))
        elif measure == "recall":
            values = hits / np.where(objects > 0, objects, np.nan)
        else:
            total = objects + hits + extra
            values = 2 * hits / np.where(total > 0, total, np.nan)
        if average == "macro":
            present = np.broadcast_to(objects > 0, values.shape)
            count = present.sum(axis=0, keepdims=True)
            values = np.where(present, values, 0.0).sum(axis=0, keepdims=True) / np.where(count > 0, count, np.nan)
        known = ~np.isnan(values[0])
        count = known.sum(axis=0)
        return np.asarray(np.where(known, values[0], 0.0).sum(axis=0) / np.where(count > 0, count, np.nan))
