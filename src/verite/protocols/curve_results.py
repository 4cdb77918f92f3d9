"""Average precision per class with the curves behind it: what Pascal VOC, ImageNet and Open Images have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from verite.arrays import np
from verite.errors import BadParameter, did_you_mean
from verite.evaluation.curves import Curve
from verite.evaluation.evaluation import IGNORED, RIGHT, Evaluation
from verite.evaluation.low_scores import explain_low_score
from verite.evaluation.settings import ClassSettings
from verite.model.annotations import Annotations
from verite.model.results import Results
from verite.model.tables import Table
from verite.settings import Flag, Option, Overlaps, Thresholds

if TYPE_CHECKING:
    from numpy.typing import NDArray


IOU: Overlaps = Thresholds(0.5, "IoU from which a prediction is right; may be repeated.", short="-t")


class CurveSettings(ClassSettings):
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
        signatures = [settings.signature(settings.SCORE, iou=t) for t in settings.iou]
        super().__init__(
            protocol=protocol,
            signature=settings.signature(settings.SCORE),
            scores=dict(zip(names, zip(means, signatures, strict=True), strict=True)),
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

    def ap_values(self, threshold: int) -> NDArray[np.float64]:
        return np.array([self.ap(label, threshold) for label in self.curves[threshold]])

    @property
    def class_names(self) -> list[str]:
        return list(self.curves[0])

    def class_scores(self) -> dict[str, list[float]]:
        """A column for each threshold, a value for each class."""
        return {name: self.ap_values(t).tolist() for t, name in enumerate(self.scores)}

    def class_table(self) -> Table:
        """AP of each class, and at a single threshold the counts behind it."""
        if len(self.settings.iou) > 1:
            columns = {f"AP@{t:.2f}": self.ap_values(i).tolist() for i, t in enumerate(self.settings.iou)}
            truths = [curve.truths for curve in self.curves[0].values()]
            return Table.of("class", self.class_names, {"truths": truths, **columns}, mean=self.mean_row())
        rows = [(self.ap(name), c.truths, c.tp, c.fp, *c.best_f1) for name, c in self.curves[0].items()]
        heads = ("AP", "truths", "TP", "FP", "best F1", "at confidence")
        columns = {head: [row[i] for row in rows] for i, head in enumerate(heads)}
        return Table.of("class", self.class_names, columns, mean=self.mean_row())

    def mean_row(self) -> dict[str, Any]:
        curves, means = self.curves[0].values(), [score.value for score in self.scores.values()]
        counts = {"truths": sum(c.truths for c in curves)}
        if len(self.settings.iou) > 1:
            return counts | {f"AP@{t:.2f}": mean for t, mean in zip(self.settings.iou, means, strict=True)}
        return counts | {"AP": means[0], "TP": sum(c.tp for c in curves), "FP": sum(c.fp for c in curves)}

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
        first = self.at(0)
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


def mean_of_present(values: NDArray[np.float64]) -> float:
    """The mean over classes that have truths; NaN where none has."""
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else np.nan


def curves_of(evaluation: Evaluation, threshold: int = 0) -> dict[str, Curve]:
    """The curve of every class at the t-th threshold; what is ignored is in none."""
    truth, pred = evaluation.truth, evaluation.pred
    confidence = np.ones(len(pred)) if pred.confidence is None else pred.confidence
    state = evaluation.outcomes(threshold).state
    names = pred.labels.all_names if len(pred.labels) >= len(truth.labels) else truth.labels.all_names
    curves = {}
    for name, positives, rows in zip(names, evaluation.counts[0], evaluation.by_class, strict=True):
        own = rows[state[rows] != IGNORED].astype(np.int64)
        curves[name] = Curve(name, positives, confidence[own], state[own] == RIGHT, own)
    return curves
