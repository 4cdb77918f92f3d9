"""Pascal VOC protocol: average precision per class and its mean, as VOCevaldet.m and VOCap.m compute them.

The conventions of other tools (Detectron2, py-faster-rcnn, Ultralytics) are settings of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.errors import IS_COMMAND_LINE, BadParameter
from verite.evaluation.bootstrap import widen
from verite.evaluation.curves import Curve, Interpolation
from verite.evaluation.evaluation import RECALLS, Evaluation, Rules
from verite.evaluation.prepare import need_pixels, prepare
from verite.evaluation.results import WeighableResults
from verite.evaluation.settings import IGNORE_REGIONS, IMPORTANCE, MAX_IMAGE_DETS, THREADS
from verite.evaluation.state import EvaluationState
from verite.model.annotations import Annotations
from verite.model.classes import Labels
from verite.model.images import known_images
from verite.protocols.coco import THRESHOLDS, flag_class
from verite.protocols.curves import (
    IOU,
    CurveResults,
    CurveSettings,
    Point,
    choose_point,
    curves_of,
    mean_of_present,
    merged_curves,
)
from verite.protocols.protocol import protocol
from verite.settings import Choice, Count, Flag, Option, Overlaps, Thresholds
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.checks import Finding
    from verite.evaluation.partial import MergedNumbers
    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]


On = Literal["box", "rotated"]

Pixel = Literal["plus1", "continuous"]

Matching = Literal["best", "free"]

Ties = Literal["stable", "image", "unstable"]

Ignored = Literal["skip", "count", "drop", "crowd"]

Quirks = Literal["none", "py-faster-rcnn", "detectron2", "ultralytics", "ultralytics-8.3"]

Judged = Literal["either", "truth", "objects"]

MeanOver = Literal["truth", "either", "both"]

PointChoice = Literal["none", "best", "class", "smooth", "last"]

FLAGS = (
    "ignore",
    "crowd",
    "difficult",
    "group_of",
    "ignore_region",
)  # objects that are ignored or matched by rules of their own

# What Ultralytics does otherwise than Pascal VOC, as its documentation says and its numbers show.
ULTRALYTICS: dict[str, object] = {
    "iou": THRESHOLDS,
    "interpolation": "trapezoid",
    "pixel": "continuous",
    "matching": "free",
    "ties": "image",
    "ignored": "drop",
    "judged": "truth",
    "max_image_dets": 300,
    "point": "smooth",
    "confidence": 0.001,
}

# What follows from whose ways are repeated, where nothing else is said.
WAYS: dict[str, Mapping[str, Any]] = {
    "py-faster-rcnn": {"ties": "unstable"},
    "detectron2": {"ties": "unstable", "iou": tuple(percent / 100 for percent in range(50, 100, 5))},
    "ultralytics": ULTRALYTICS,
    "ultralytics-8.3": ULTRALYTICS | {"interpolation": "sloped", "matching": "best"},
}


class GridThresholds(Thresholds[Any, Any]):
    """IoU thresholds; signatures show COCO's ten in short form."""

    def format(self, value: Any) -> object:
        return "0.50:0.05:0.95" if value == THRESHOLDS else value


class VocSettings(CurveSettings):
    """Settings of the Pascal VOC protocol."""

    SCORE = "voc_ap"
    READINGS = ("interpolation", "mean_over", "point")  # how curves are read; the others say who takes whom
    on: Option[On] = Choice("box", "Compare boxes or rotated boxes.", On)
    iou: Overlaps = GridThresholds(IOU.default, IOU.help, short=IOU.short)
    interpolation: Option[Interpolation] = Choice(
        "all",
        "Area below all points (since 2010), mean at 11 recalls (2007) or at 101 (COCO), without an envelope, or below "
        "lines between 101 recalls (Ultralytics).",
        Interpolation,
    )
    pixel: Option[Pixel] = Choice("plus1", "Width is x2 - x1 + 1 (pixel indices) or x2 - x1.", Pixel)
    matching: Option[Matching] = Choice(
        "best",
        "Match a prediction with the object of highest IoU (best), or of those not matched yet (free).",
        Matching,
        long="match",
        omit_default=True,
    )
    ties: Option[Ties] = Choice(
        "stable", "Equal confidences in the order of the file, image by image, or as numpy sorts by default.", Ties
    )
    ignored: Option[Ignored] = Choice(
        "skip",
        "Difficult objects and crowds: skip (ignore both), count (like others), drop (remove them), crowd (ignore "
        "crowds only, as COCO does).",
        Ignored,
    )
    class_agnostic: Option[bool] = Flag(False, "Ignore classes when matching.", omit_default=True)
    judged: Option[Judged] = Choice(
        "either",
        "Images whose predictions count: of either side, of the ground truth, or those with objects.",
        Judged,
        omit_default=True,
    )
    mean_over: Option[MeanOver] = Choice(
        "truth",
        "Classes in the mean: those with objects, with objects or predictions, with both.",
        MeanOver,
        omit_default=True,
    )
    max_dets: Option[int | None] = Count(
        None, "Predictions per class and image that count.", short="-n", default_text="all", omit_default=True
    )
    max_image_dets: Option[int | None] = MAX_IMAGE_DETS
    point: Option[PointChoice] = Choice(
        "none",
        "Also precision, recall and F1 where their mean over classes is best, where each class is best, where the "
        "smoothed mean is best (Ultralytics), or after the last prediction.",
        PointChoice,
        omit_default=True,
    )
    quirks: Option[Quirks] = Choice("none", "Emulate the quirks of another tool.", Quirks)
    ignore_regions: Option[float] = IGNORE_REGIONS
    importance: Option[Any] = IMPORTANCE
    threads: Option[int | None] = THREADS

    @property
    def is_strict(self) -> bool:
        """Whether the IoU must exceed the threshold, and recalls are compared as floating-point numbers."""
        return self.quirks in ("py-faster-rcnn", "detectron2")

    def defaults(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        return WAYS.get(str(given.get("quirks")), {})

    @property
    def signed_values(self) -> dict[str, object]:
        """Keys and values of the signature; rotated boxes have no `pixel`: their corners are points."""
        return super().signed_values | ({"pixel": None} if self.on == "rotated" else {})

    def choose(self, truth: Annotations, pred: Annotations) -> tuple[Annotations, Annotations]:
        """Return both sides with the chosen classes, confidences, images and objects alone."""
        truth, pred = super().choose(truth, pred)
        if self.ignored == "drop":
            truth = truth.where(~truth.ignored)
        if self.judged != "either":
            is_judged = np.zeros(max(len(pred.images), len(truth.images)), dtype=np.bool_)
            is_judged[slice(len(truth.images)) if self.judged == "truth" else truth.image] = True
            pred = pred.where(is_judged[pred.image])
        if self.quirks == "detectron2":  # which writes confidences with three decimals, corners with one
            regions = pred.regions.with_boxes(pred.regions.boxes.round(1), "xyxy")
            pred = replace(
                pred, regions=regions, confidence=None if pred.confidence is None else pred.confidence.round(3)
            )
        return truth, pred


class VocResults(CurveResults, WeighableResults):
    """Results of the Pascal VOC protocol: average precision per class at each IoU threshold, with the curves.

    `curves[t]` maps class names to curves at the t-th threshold; without an index the first threshold is meant.
    """

    settings: VocSettings
    evaluation: Evaluation | MergedNumbers

    def __init__(
        self,
        settings: VocSettings,
        evaluation: Evaluation | MergedNumbers,
        findings: Sequence[Any] = (),
        curves: Sequence[dict[str, Curve]] | None = None,
    ) -> None:
        """`curves` are those of the evaluation, if they are known already."""
        self.evaluation = evaluation
        if curves is None:
            if isinstance(evaluation, Evaluation):
                curves = [curves_of(evaluation, t) for t in range(len(settings.iou))]
            else:
                curves = merged_curves(evaluation, len(settings.iou))
        super().__init__("voc", settings, curves, evaluation.truth, evaluation.pred, findings)

    def read_by(self, settings: VocSettings) -> VocResults:
        """Return results of the same matching with another interpolation or operating point."""
        return VocResults(settings, self.evaluation, self.findings, self.curves)

    @property
    def over_thresholds(self) -> str:
        """Name of the mean over all IoU thresholds; "" if there is only one."""
        thresholds = self.settings.iou
        return f"mAP@{thresholds[0]:.2f}:{thresholds[-1]:.2f}" if len(thresholds) > 1 else ""

    @cached_property
    def point(self) -> Point | None:
        """Precision, recall and F1 of each class at the operating point, at the first IoU threshold."""
        if self.settings.point == "none":
            return None
        counted = [name for name, ap in zip(self.class_names, self.ap_values(0), strict=True) if not np.isnan(ap)]
        return choose_point({name: self.curves[0][name] for name in counted}, self.settings.point)

    def more_scores(self) -> dict[str, float]:
        found = {}
        if self.over_thresholds:
            found[self.over_thresholds] = mean_of_present(self.mean_values())
        return found | ({} if self.point is None else self.point.means())

    def mean_values(self) -> list[float]:
        """AP of each class averaged over all IoU thresholds."""
        every = [self.ap_values(t) for t in range(len(self.settings.iou))]
        return [_core.mean(list(values)) for values in zip(*every, strict=True)]

    def more_class_scores(self) -> dict[str, list[float]]:
        found = {self.over_thresholds: self.mean_values()} if self.over_thresholds else {}
        return found | ({} if self.point is None else self.point.columns(self.class_names))

    @property
    def notes(self) -> list[str]:
        weighted = [] if self.settings.importance is None else [str(self.importance)]
        return [*weighted, *super().notes]

    def part(self, about: Callable[[Labels], str]) -> EvaluationState:
        return self.evaluation.part(about(Labels(self.truth.labels.all_names)))

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: Any) -> VocResults:
        """Return the results of merged partial results."""
        numbers.expect_rules(rules_of(settings))
        return cls(settings, numbers)

    def importance_query(self) -> tuple[dict[str, tuple[str, Sequence[int]]], Sequence[float] | None]:
        self.ask_for_recalls()
        names = list(self.scores)[: len(self.settings.iou)]
        asked: dict[str, tuple[str, Sequence[int]]] = {name: ("precision", [t]) for t, name in enumerate(names)}
        return asked | {"recall": ("recall", [0])}, recalls_of(self.settings) or None

    def mean_query(self, score: str, label: str | None = None) -> tuple[Any, ...]:
        """Return the mean behind a score, of all classes or one, as the bootstrap takes it."""
        name = score if score == "AP" and label is not None else self[score].name
        self.ask_for_recalls()
        if self.point is not None and name in self.point.means():
            raise BadParameter(f"score: expected an average precision, found {name}")
        threshold = None if name == self.over_thresholds else self.threshold_of(score, label)
        part = ("precision", threshold, 0, 0)
        return part if label is None else (*part, flag_class(self.class_names, label))

    def ask_for_recalls(self) -> None:
        """Raise `BadParameter` for interpolations that the bootstrap and the analysis cannot compute."""
        interpolation, mean_over = self.settings.interpolation, self.settings.mean_over
        if interpolation in ("raw", "trapezoid", "sloped"):
            raise BadParameter(f"interpolation: expected all, 11 or 101 for draws and costs, found {interpolation}")
        if mean_over != "truth":
            raise BadParameter(f"mean_over: expected truth for draws and costs, found {mean_over}")

    def bootstrap_means(self, parts: Sequence[tuple[Any, ...]], weights: Floats) -> Floats:
        """Return means on bootstrap samples; images that only predictions have are in none of them."""
        return super().bootstrap_means(parts, widen(weights, len(known_images(self.truth, self.pred))))

    def tp_needed_per_recall(self, truths: int) -> NDArray[np.int64]:
        self.ask_for_recalls()
        if self.settings.interpolation == "all":
            return np.arange(1, truths + 1)
        if self.settings.interpolation == "101":
            return np.searchsorted(np.arange(1, truths + 1) / truths, RECALLS) + 1
        if self.settings.is_strict:
            return np.searchsorted(np.arange(1, truths + 1) / truths, np.arange(0.0, 1.1, 0.1)) + 1
        return np.maximum((np.arange(11) * truths + 9) // 10, 1)

    def area_below(self, curve: Curve) -> float:
        if self.settings.mean_over == "either" and not curve.truths and curve.tp + curve.fp:
            return 0.0
        if self.settings.mean_over == "both" and not curve.tp + curve.fp:
            return np.nan
        levels = np.arange(0.0, 1.1, 0.1) if self.settings.is_strict else None
        return curve.average_precision(self.settings.interpolation, levels=levels)


@protocol(
    VocSettings,
    examples="""
verite voc groundtruths/ detections/ -t 0.3
verite voc Annotations/ detections.json --interpolation 11
verite voc truth.json a.json b.json c.json -t 0.5 -t 0.75
verite voc truth/ pred/ --truth-boxes xyxy --pred-coords rel --image-size 600,400
verite voc truth.json pred.json -o results/ --plot-format svg
verite voc labelTxt/ Task1/ --on rotated --interpolation 11
verite voc truth.json pred.json --json | jq .mAP""",
)
def voc(truth: Annotations, pred: Annotations, settings: VocSettings) -> VocResults:
    """Average precision as Pascal VOC computes it.

    Predictions of a class are matched in order of falling confidence; equal confidences keep the order of the file, or
    with ``ties="image"`` that of the images. Each prediction is compared with the ground-truth object of its class and
    image that has the highest IoU with it. It is a true positive if the IoU reaches `iou` and the object is unmatched,
    a false positive otherwise. Difficult objects are ignored, and so are crowds, groups and objects flagged `ignore`,
    unless ``ignored="count"``. Coordinates are pixel indices (``pixel="plus1"``: the width is x2 − x1 + 1) or points
    (``"continuous"``). ``on="rotated"`` compares rotated boxes and quadrilaterals, as DOTA does.

    The conventions of other tools are settings, too: the `interpolation` of the curve, the `matching`, the `ties`, how
    many predictions count, on which images (`judged`), and which classes enter the mean. ``quirks="py-faster-rcnn"``
    repeats that code: the IoU must exceed the threshold, and equal confidences come in numpy's default order.
    ``"detectron2"`` repeats its evaluator of Pascal VOC at ten thresholds with rounded predictions. ``"ultralytics"``
    repeats ``yolo val`` since 8.4.176, with precision and recall at its `point`; ``"ultralytics-8.3"`` repeats versions
    up to 8.4.36. A setting that is given takes precedence over the quirk's.

    References
    ----------
    Everingham et al., The Pascal Visual Object Classes Challenge: A Retrospective, IJCV 2015.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    >>> pred = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [50, 50, 59, 59]], confidence=[0.9, 0.8])
    >>> vt.voc(truth, pred)["mAP"].value
    0.5
    """
    return VocResults(settings, *evaluate(truth, pred, settings))


def evaluate(truth: Annotations, pred: Annotations, settings: VocSettings) -> tuple[Evaluation, list[Finding]]:
    """Match ground truth and predictions; return the evaluation and the findings of the checks."""
    truth, pred, findings = prepare(truth, pred, settings.checks, measures="boxes")
    if settings.on == "box" and settings.pixel == "plus1":
        need_pixels(truth, "the +1 rule", f"count with {'--pixel ' if IS_COMMAND_LINE.get() else 'pixel='}continuous")
    truth, pred = settings.choose(truth, pred)
    if settings.ties == "unstable":
        # Rows by class and falling confidence, equal ones in the order of numpy's default sort.
        confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
        label = np.zeros_like(pred.label) if settings.class_agnostic else pred.label
        grouped = np.argsort(label, kind="stable")
        bounds = np.flatnonzero(np.diff(label[grouped])) + 1
        parts = [part[np.argsort(-confidence[part])] for part in np.split(grouped, bounds)]
        rows = (np.concatenate(parts) if len(pred) else grouped).astype(np.int32)
    else:
        rows = None
    return Evaluation(truth, pred, rules_of(settings), thread_count(settings.threads), pred_rows=rows), findings


def rules_of(settings: VocSettings) -> Rules:
    """Return the matching rules. Pascal VOC matches only the object of highest IoU, even if it is matched already."""
    set_aside: dict[str, tuple[str, ...]] = {"skip": FLAGS, "crowd": ("crowd",)}
    # Boxes are compared by their corners, or as COCO compares them if only crowds are ignored.
    is_as_coco = settings.ignored == "crowd" and settings.pixel == "continuous"
    similarity = "corner_box" if settings.on == "box" and not is_as_coco else settings.on
    return Rules(
        thresholds=settings.iou,
        similarity=similarity,
        pixel=1.0 if settings.pixel == "plus1" else 0.0,
        limits=(settings.max_dets or 2**31 - 1,),
        wants="nearest" if settings.matching == "free" and settings.ignored == "skip" else settings.matching,
        equal="first" if settings.matching == "best" else "later",
        ties="image" if settings.ties == "image" else "row",
        recalls=recalls_of(settings),
        is_strict=settings.is_strict,
        class_agnostic=settings.class_agnostic,
        orders_by_class=False,
        ignored=set_aside.get(settings.ignored, ()),
        shared=("crowd",) if settings.ignored == "crowd" else (),
        image_limit=settings.max_image_dets or 0,
        allow_unknown_classes=True,
        region_share=settings.ignore_regions if settings.ignored != "count" and settings.quirks == "none" else 0.0,
    )


def recalls_of(settings: VocSettings) -> tuple[float, ...]:
    """Return the recalls at which precision is interpolated; none if it is summed at every change of recall."""
    if settings.interpolation == "101":
        return RECALLS
    if settings.interpolation != "11":
        return ()
    return tuple(i * 0.1 if settings.is_strict else i / 10 for i in range(11))
