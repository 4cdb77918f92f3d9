"""Pascal VOC: average precision per class and its mean, as VOCevaldet.m and VOCap.m compute them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.curves import Curve, Interpolation
from verite.evaluation.evaluation import WRONG, Evaluation, Rules
from verite.evaluation.floors import highest_floor
from verite.evaluation.part import Part
from verite.evaluation.prepare import prepare
from verite.evaluation.redrawing import widen
from verite.evaluation.settings import THREADS
from verite.model.annotations import Annotations
from verite.model.images import known_images
from verite.model.labels import Labels
from verite.model.results import Taken, choose_threshold
from verite.protocols.coco import flag_class
from verite.protocols.curve_parts import merged_curves
from verite.protocols.curve_results import IOU, TIES, CurveResults, CurveSettings, Ties, curves_of
from verite.protocols.protocol import protocol
from verite.settings import Choice, Option, Overlaps
from verite.threads import thread_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.evaluation.parts import MergedNumbers

    Floats = NDArray[np.float64]

On = Literal["box", "rotated"]
Pixel = Literal["plus1", "continuous"]
Ignored = Literal["skip", "count"]
Quirks = Literal["none", "py-faster-rcnn"]


class VocSettings(CurveSettings):
    """Everything that can change the number."""

    SCORE = "voc_ap"
    on: Option[On] = Choice("box", "Compare boxes or rotated boxes.", On)
    iou: Overlaps = IOU
    interpolation: Option[Interpolation] = Choice(
        "all", "Area below all points (since 2010) or mean at 11 recalls (2007).", Interpolation
    )
    pixel: Option[Pixel] = Choice("plus1", "Width is x2 - x1 + 1 (pixel indices) or x2 - x1.", Pixel)
    ties: Option[Ties] = TIES
    ignored: Option[Ignored] = Choice(
        "skip", "Difficult objects and crowds neither reward nor punish, or count like others.", Ignored
    )
    quirks: Option[Quirks] = Choice("none", "Whose odd ways to repeat, too.", Quirks)
    threads: Option[int | None] = THREADS

    @property
    def facts(self) -> dict[str, object]:
        """Corners of rotated boxes are points, never pixel indices; numpy's default order is nobody's choice."""
        more: dict[str, object] = {"pixel": None} if self.on == "rotated" else {}
        return super().facts | more | ({} if self.quirks == "none" else {"ties": "unstable"})


class VocResults(CurveResults):
    """Average precision per class at each threshold, with the curves it comes from.

    `curves[t]` maps class names to curves at the t-th threshold; without an index the first threshold is meant.
    """

    settings: VocSettings

    def __init__(
        self, settings: VocSettings, evaluation: Evaluation | MergedNumbers, findings: Sequence[Any] = ()
    ) -> None:
        self.evaluation: Any = evaluation
        if isinstance(evaluation, Evaluation):
            curves = [curves_of(evaluation, t) for t in range(len(settings.iou))]
        else:
            curves = merged_curves(evaluation, len(settings.iou))
        super().__init__("voc", settings, curves, evaluation.truth, evaluation.pred, findings)

    def part(self, about: Callable[[Labels], str]) -> Part:
        part: Part = self.evaluation.part(about(Labels(self.truth.labels.all_names)))
        return part

    @classmethod
    def of_parts(cls, numbers: MergedNumbers, settings: Any) -> VocResults:
        """Of what became of all images."""
        return cls(settings, numbers)

    def finds(self, iou: float | None = None) -> Taken:
        """Object by object what was found; those that are set aside were not asked for."""
        threshold = choose_threshold(self.settings.iou, iou)
        found = self.evaluation.outcomes(threshold)
        taken = np.where(found.is_asked, found.pred, -1).astype(np.int64)
        least = highest_floor(self.settings.confidence)
        return Taken(self.settings.iou[threshold], found.is_asked, taken, least, found.state >= WRONG)

    def part_of(self, score: str, label: str | None = None) -> tuple[Any, ...]:
        """What a score, of all classes or of one, is made of: what draws of the evaluation are asked for."""
        part = ("precision", self.threshold_of(score, label), 0, 0)
        return part if label is None else (*part, flag_class(self.class_names, label))

    def draw_scores(self, scores: Sequence[str], weights: Floats, label: str | None = None) -> Floats:
        asked = [self.part_of(score, label) for score in scores]
        drawn: Floats = self.evaluation.draw_means(asked, widen(weights, len(known_images(self.truth, self.pred))))
        return drawn

    def needed_hits(self, truths: int) -> NDArray[np.int64]:
        if self.settings.interpolation == "all":
            return np.arange(1, truths + 1)
        if self.settings.quirks == "py-faster-rcnn":
            return np.searchsorted(np.arange(1, truths + 1) / truths, np.arange(0.0, 1.1, 0.1)) + 1
        return np.maximum((np.arange(11) * truths + 9) // 10, 1)

    def area_below(self, curve: Curve) -> float:
        levels = np.arange(0.0, 1.1, 0.1) if self.settings.quirks == "py-faster-rcnn" else None
        return curve.average_precision(self.settings.interpolation, levels=levels)


@protocol(
    VocSettings,
    examples="""
verite voc groundtruths/ detections/ -t 0.3
verite voc Annotations/ detections.json --interpolation 11
verite voc truth.json a.json b.json c.json -t 0.5 -t 0.75
verite voc truth/ pred/ --truth-boxes xyrb --pred-coords rel --image-size 600,400
verite voc truth.json pred.json -o results/ --plot-format svg
verite voc labelTxt/ Task1/ --on rotated --interpolation 11
verite voc truth.json pred.json --json | jq .mAP""",
)
def voc(truth: Annotations, pred: Annotations, settings: VocSettings) -> VocResults:
    """Average precision as Pascal VOC computes it.

    Predictions of a class are taken by falling confidence (equal ones in their order in the file, or with
    ``ties="image"`` in that of the images, as in parts). Each asks for the
    truth of its class and image that it overlaps most; it is true if the overlap reaches `iou` and the truth is
    still free, false otherwise. A difficult truth neither rewards nor punishes, and no more does what other formats
    set aside (crowds, groups, `ignore`), unless `ignored="count"`. Coordinates are pixel indices
    (`pixel="plus1"`: width is x2 − x1 + 1) or points (`"continuous"`). `quirks="py-faster-rcnn"` repeats that
    code: the overlap must exceed the threshold, equal confidences come in numpy's default order. `on="rotated"`
    compares rotated boxes and quadrilaterals, as DOTA does.

    Everingham et al., The Pascal Visual Object Classes Challenge: A Retrospective, IJCV 2015.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    >>> pred = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [50, 50, 59, 59]], confidence=[0.9, 0.8])
    >>> voc(truth, pred).scores["mAP"].value
    0.5
    """
    truth, pred, findings = prepare(truth, pred, settings.checks)
    if truth.unit == "rel" and settings.on == "box" and settings.pixel == "plus1":
        raise DataError(
            f"{truth.source.path or 'truth'}: expected boxes in pixels for the +1 rule, found fractions of the image; "
            "give --image-size WIDTH,HEIGHT or --images FOLDER, or count with --pixel continuous"
        )
    truth, pred = settings.choose(truth, pred)
    rows = None if settings.quirks == "none" else order_unstably(pred)
    evaluation = Evaluation(truth, pred, rules_of(settings), thread_count(settings.threads), pred_rows=rows)
    return VocResults(settings, evaluation, findings)


def rules_of(settings: VocSettings) -> Rules:
    """What Pascal VOC says to an evaluation: only the truth that is overlapped most, taken or not."""
    return Rules(
        thresholds=settings.iou,
        similarity="corner_box" if settings.on == "box" else settings.on,
        pixel=1.0 if settings.pixel == "plus1" else 0.0,
        wants="best",
        equal="first",
        ties="image" if settings.ties == "image" and settings.quirks == "none" else "row",
        recalls=recalls_of(settings),
        is_strict=settings.quirks == "py-faster-rcnn",
        ignored=("ignore", "crowd", "difficult", "group_of") if settings.ignored == "skip" else (),
        is_open=True,
    )


def recalls_of(settings: VocSettings) -> tuple[float, ...]:
    """Where precision is read; nowhere: it is summed wherever recall changes."""
    if settings.interpolation == "all":
        return ()
    return tuple(i / 10 if settings.quirks == "none" else i * 0.1 for i in range(11))


def order_unstably(pred: Annotations) -> NDArray[np.int32]:
    """Rows class by class, by falling confidence, equal ones in numpy's default order."""
    confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
    grouped = np.argsort(pred.label, kind="stable")
    bounds = np.flatnonzero(np.diff(pred.label[grouped])) + 1
    parts = [part[np.argsort(-confidence[part])] for part in np.split(grouped, bounds)]
    return (np.concatenate(parts) if len(pred) else grouped).astype(np.int32)
