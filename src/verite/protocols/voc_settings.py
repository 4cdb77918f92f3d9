"""Everything that can change an average precision over curves, and whose ways are which of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from verite.arrays import np
from verite.evaluation.curves import Interpolation
from verite.evaluation.settings import MAX_IMAGE_DETS, THREADS
from verite.protocols.coco_settings import THRESHOLDS
from verite.protocols.curve_results import IOU, CurveSettings
from verite.records import replace
from verite.settings import Choice, Count, Flag, Option, Overlaps, Thresholds

if TYPE_CHECKING:
    from verite.model.annotations import Annotations

On = Literal["box", "rotated"]
Pixel = Literal["plus1", "continuous"]
Matching = Literal["best", "free"]
Ties = Literal["stable", "image", "unstable"]
Ignored = Literal["skip", "count", "drop", "crowd"]
Quirks = Literal["none", "py-faster-rcnn", "detectron2", "ultralytics", "ultralytics-8.3"]
Judged = Literal["either", "truth", "objects"]
MeanOver = Literal["truth", "either", "both"]
Point = Literal["none", "best", "class", "smooth", "last"]
FLAGS = ("ignore", "crowd", "difficult", "group_of")  # what formats set aside

# What Ultralytics does otherwise than Pascal VOC, as its documentation says and its numbers show.
ULTRALYTICS: dict[str, Any] = {
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
    """Thresholds of which signatures say COCO's ten in short."""

    def spell(self, value: Any) -> object:
        return "0.50:0.05:0.95" if value == THRESHOLDS else value


class VocSettings(CurveSettings):
    """Everything that can change the number."""

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
        "A prediction asks for the truth it overlaps most of all, or of those still free.",
        Matching,
        is_quiet=True,
    )
    ties: Option[Ties] = Choice(
        "stable", "Equal confidences in the order of the file, image by image, or as numpy sorts by default.", Ties
    )
    ignored: Option[Ignored] = Choice(
        "skip",
        "Difficult objects and crowds neither reward nor punish, count like others, are not there, or crowds alone are "
        "set aside, as in COCO.",
        Ignored,
    )
    class_agnostic: Option[bool] = Flag(False, "Ask where objects are, not what they are.", is_quiet=True)
    judged: Option[Judged] = Choice(
        "either",
        "Predictions are judged on images of either side, of the truth, or that have objects.",
        Judged,
        is_quiet=True,
    )
    mean_over: Option[MeanOver] = Choice(
        "truth",
        "Classes in the mean: those with objects, with objects or predictions, with both.",
        MeanOver,
        is_quiet=True,
    )
    max_dets: Option[int | None] = Count(
        None, "Predictions per class and image that count.", short="-n", default_text="all", is_quiet=True
    )
    max_image_dets: Option[int | None] = MAX_IMAGE_DETS
    point: Option[Point] = Choice(
        "none",
        "Also precision, recall and F1 where their mean over classes is best, where each class is best, where the "
        "smoothed mean is best (Ultralytics), or after the last prediction.",
        Point,
        is_quiet=True,
    )
    quirks: Option[Quirks] = Choice("none", "Whose odd ways to repeat, too.", Quirks)
    threads: Option[int | None] = THREADS

    @property
    def is_strict(self) -> bool:
        """Must overlaps exceed their threshold, and are recalls compared as floating-point numbers?"""
        return self.quirks in ("py-faster-rcnn", "detectron2")

    def usual(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        return WAYS.get(str(given.get("quirks")), {})

    @property
    def facts(self) -> dict[str, object]:
        """Corners of rotated boxes are points, never pixel indices."""
        return super().facts | ({"pixel": None} if self.on == "rotated" else {})

    def choose(self, truth: Annotations, pred: Annotations) -> tuple[Annotations, Annotations]:
        """Both sides with what is asked for alone: classes, confidences, images, objects."""
        truth, pred = super().choose(truth, pred)
        if self.ignored == "drop":
            truth = truth.where(~truth.ignored)
        if self.judged != "either":
            is_judged = np.zeros(max(len(pred.images), len(truth.images)), dtype=np.bool_)
            is_judged[slice(len(truth.images)) if self.judged == "truth" else truth.image] = True
            pred = pred.where(is_judged[pred.image])
        return truth, as_written(pred) if self.quirks == "detectron2" else pred


def as_written(pred: Annotations) -> Annotations:
    """Predictions as Detectron2 writes them before it evaluates: confidences to three decimals, corners to one."""
    confidence = None if pred.confidence is None else pred.confidence.round(3)
    return replace(pred, regions=pred.regions.with_boxes(pred.regions.boxes.round(1), "xyxy"), confidence=confidence)
