"""Average precision per class with the curves behind it: what Pascal VOC, ImageNet and Open Images have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from math import isnan
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, did_you_mean
from verite.evaluation.curves import Curve, Interpolation
from verite.evaluation.evaluation import IGNORED, RIGHT, Evaluation
from verite.evaluation.low_scores import explain_low_score
from verite.evaluation.settings import RankedSettings
from verite.model.annotations import Annotations
from verite.model.results import Results
from verite.model.tables import Table
from verite.settings import Choice, Flag, Option, Overlaps, Thresholds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


IOU: Overlaps = Thresholds(0.5, "IoU from which a prediction is right; may be repeated.", short="-t")


Ties = Literal["stable", "image"]
TIES: Option[Ties] = Choice("stable", "Order of equal confidences: that of the file, or of images by id or name.", Ties)


class CurveSettings(RankedSettings):
    """What every protocol of this kind can be asked."""

    SCORE: ClassVar[str]  # what signatures call the number
    iou: Overlaps = IOU
    curves: Option[bool] = Flag(
        False,
        "Precision and recall in the JSON, at the points where the envelope changes.",
        is_signed=False,
        is_common=True,
    )


class CurveResults(Results):
    """Average precision per class at each threshold, with the curves it comes from.

    `curves[t]` maps class names to curves at the t-th threshold; without an index the first threshold is meant.
    """

    settings: Any

    def __init__(
        self,
        protocol: str,
        settings: CurveSettings,
        curves: Sequence[dict[str, Curve]],
        truth: Annotations,
        pred: Annotations,
        findings: Sequence[Any] = (),
    ) -> None:
        self.settings, self.curves = settings, list(curves)
        means = [mean_of_present(self.ap_values(t)) for t in range(len(settings.iou))]
        names = ["mAP"] if len(settings.iou) == 1 else [f"mAP@{t:.2f}" for t in settings.iou]
        signature = settings.signature(settings.SCORE)
        signatures = [settings.signature(settings.SCORE, iou=t) for t in settings.iou]
        more = {name: (value, signature) for name, value in self.more_scores().items()}
        super().__init__(
            protocol=protocol,
            signature=signature,
            scores=dict(zip(names, zip(means, signatures, strict=True), strict=True)) | more,
            truth=truth,
            pred=pred,
            name=settings.name,
            findings=findings,
        )

    @property
    def notes(self) -> list[str]:
        return [*explain_low_score(self), *super().notes]

    def ap(self, label: str, threshold: int = 0) -> float:
        """The average precision of a class at the t-th threshold."""
        curves = self.curves[threshold]
        if label not in curves:
            raise BadParameter(f"class: expected one of {len(curves)}, found {label!r}{did_you_mean(label, curves)}")
        return self.area_below(curves[label])

    def area_below(self, curve: Curve) -> float:
        """The average precision of a curve."""
        return curve.average_precision("all")

    def threshold_of(self, score: str, label: str | None = None) -> int:
        """Which threshold a score is of; the AP of a class is of the first."""
        return 0 if score == "AP" and label is not None else list(self.scores).index(self[score].name)

    def ap_values(self, threshold: int) -> list[float]:
        return [self.ap(label, threshold) for label in self.curves[threshold]]

    @property
    def class_names(self) -> list[str]:
        return list(self.curves[0])

    def more_scores(self) -> dict[str, float]:
        """What there is besides the mean at each threshold."""
        return {}

    def more_class_scores(self) -> dict[str, list[float]]:
        """The same for every class."""
        return {}

    def class_scores(self) -> dict[str, list[float]]:
        """A column for each score, a value for each class."""
        names = list(self.scores)[: len(self.settings.iou)]
        return {name: self.ap_values(t) for t, name in enumerate(names)} | self.more_class_scores()

    def class_table(self) -> Table:
        """AP of each class, and at a single threshold the counts behind it."""
        if len(self.settings.iou) > 1:
            columns = {f"AP@{t:.2f}": self.ap_values(i) for i, t in enumerate(self.settings.iou)}
            truths = [curve.truths for curve in self.curves[0].values()]
            columns |= {head_of(name): values for name, values in self.more_class_scores().items()}
            return Table.of("class", self.class_names, {"truths": truths, **columns}, mean=self.mean_row())
        rows = [(self.ap(name), c.truths, c.tp, c.fp, *c.best_f1) for name, c in self.curves[0].items()]
        heads = ("AP", "truths", "TP", "FP", "best F1", "at confidence")
        columns = {head: [row[i] for row in rows] for i, head in enumerate(heads)} | self.more_class_scores()
        return Table.of("class", self.class_names, columns, mean=self.mean_row())

    def mean_row(self) -> dict[str, Any]:
        curves, means = self.curves[0].values(), {head_of(name): score.value for name, score in self.scores.items()}
        counts = {"truths": sum(c.truths for c in curves)}
        if len(self.settings.iou) > 1:
            return counts | means
        return counts | means | {"TP": sum(c.tp for c in curves), "FP": sum(c.fp for c in curves)}

    def accumulate(self, label: str, threshold: int = 0) -> Table:
        """The predictions of a class by falling confidence with the counts so far, precision and recall."""
        self.ap(label, threshold)  # an unknown class is named there
        curve = self.curves[threshold][label]
        assert curve.rows is not None
        names = [self.pred.images.name(int(i)) for i in self.pred.image[curve.rows]]
        is_true = curve.is_true.astype(int)
        columns = {
            "confidence": curve.confidence.tolist(),
            "TP": is_true.tolist(),
            "FP": (1 - is_true).tolist(),
            "acc TP": curve.true_positives.tolist(),
            "acc FP": np.cumsum(1 - is_true).tolist(),
            "precision": curve.precision.tolist(),
            "recall": curve.recall.tolist(),
        }
        return Table.of("image", names, columns)

    def details(self) -> dict[str, Any]:
        """The documented keys: mAP and classes of the first threshold; every threshold where there are several."""
        first, more = self.at(0), self.more_class_scores()
        for place, facts in enumerate(first["classes"].values()):
            facts.update({name: values[place] for name, values in more.items()})
        first |= {name: self.scores[name].value for name in more}
        if len(self.settings.iou) == 1:
            return first
        return {**first, "thresholds": [{"iou": t, **self.at(i)} for i, t in enumerate(self.settings.iou)]}

    def at(self, threshold: int) -> dict[str, Any]:
        score = list(self.scores.values())[threshold]
        classes = {}
        for name, curve in self.curves[threshold].items():
            best, confidence = curve.best_f1
            classes[name] = {
                "AP": self.ap(name, threshold),
                "truths": curve.truths,
                "tp": curve.tp,
                "fp": curve.fp,
                "f1": best,
                "f1_confidence": confidence,
            }
            if self.settings.curves:
                points = {"precision": curve.precision, "recall": curve.recall, "confidence": curve.confidence}
                classes[name] |= {key: values[curve.steps].tolist() for key, values in points.items()}
        return {"mAP": score.value, "classes": classes}


def head_of(score: str) -> str:
    """What a score is called of one class: of that there is no mean."""
    return score.removeprefix("m")


def mean_of_present(values: Sequence[float]) -> float:
    """The mean over classes that have truths; NaN where none has."""
    return _core.mean([value for value in values if not isnan(value)])


class KeptCurve(Curve):
    """The curve of a class of an evaluation. What is read off it is known; its points are listed when asked for."""

    def __init__(
        self,
        label: str,
        evaluation: Evaluation,
        place: int,
        state: Callable[[], NDArray[np.int8]],
        reading: Sequence[Any],
    ) -> None:
        """`place` of the class in the evaluation, and the `state` of its predictions."""
        areas, truths, right, wrong, f1, confidence = reading
        vars(self).update(
            label=label,
            truths=truths,
            weight=None,
            evaluation=evaluation,
            place=place,
            state=state,
            areas=areas,
            counts=(right, wrong),
            best=(f1, confidence),
        )

    evaluation: Evaluation
    place: int
    state: Callable[[], NDArray[np.int8]]
    areas: dict[str, float]
    counts: tuple[int, int]
    best: tuple[float, float]

    def __reduce__(self) -> tuple[Any, ...]:
        return Curve, (self.label, self.truths, self.confidence, self.is_true, self.rows, self.weight)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        rows = self.evaluation.by_class[self.place]
        return np.asarray(rows[self.state()[rows] != IGNORED], dtype=np.int64)

    @cached_property
    def confidence(self) -> Floats:
        given = self.evaluation.pred.confidence
        return np.ones(len(self.rows)) if given is None else given[self.rows]

    @cached_property
    def is_true(self) -> NDArray[np.bool_]:
        return np.asarray(self.state()[self.rows] == RIGHT)

    @property
    def tp(self) -> int:
        return self.counts[0]

    @property
    def fp(self) -> int:
        return self.counts[1]

    @property
    def best_f1(self) -> tuple[float, float]:
        return self.best

    def average_precision(self, interpolation: Interpolation = "all", *, levels: Floats | None = None) -> float:
        if levels is None and interpolation in self.areas:
            return self.areas[interpolation]
        return super().average_precision(interpolation, levels=levels)


def curves_of(evaluation: Evaluation, threshold: int = 0) -> dict[str, Curve]:
    """The curve of every class at the t-th threshold; what is ignored is in none."""
    truth, pred = evaluation.truth, evaluation.pred
    names = pred.labels.all_names if len(pred.labels) >= len(truth.labels) else truth.labels.all_names
    if evaluation.rules.is_together:
        names = ("all classes",)
    readings = evaluation.kept.readings(threshold, evaluation.threads)
    state = cache(lambda: evaluation.outcomes(threshold).state)
    return {
        name: KeptCurve(name, evaluation, place, state, reading)
        for place, (name, reading) in enumerate(zip(names, readings, strict=True))
    }
