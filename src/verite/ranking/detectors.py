"""Tables of detected objects: which ground-truth objects each detector detects (`vt.DetectionTable`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.model import ErrorModel
from verite.errors import BadParameter, DataError
from verite.evaluation.settings import ClassThresholds, above_threshold, count_left, validate_threshold
from verite.model.annotations import Annotations
from verite.model.comparison import check_comparable, distinct_names
from verite.model.results import Matches, Results, system_name
from verite.ranking.answers import AnswerTable, Wrong
from verite.statistics.intervals import student_tails
from verite.statistics.mcnemar import sign_flip_exact

if TYPE_CHECKING:
    from verite.evaluation.prepare import Checks

By = Literal["recall", "precision", "f1", "accuracy"]
CAPTIONS = {
    "recall": "tau: share of objects detected (recall), more is better",
    "precision": "precision: share of predictions that are true positives, more is better",
    "f1": "F1: 2 detected / (predictions + objects), more is better",
    "accuracy": "accuracy: detected / (predictions or objects), more is better",
}
WRONG = {
    "reverses": "a wrong annotation is no such object: detecting it was wrong and missing it right",
    "vanishes": "a wrong annotation is no object at all, and detecting it does not count",
}
FALSE_POSITIVES = "a wrong annotation is no object: detecting it was a false positive and missing it no false negative"


@dataclass(frozen=True, eq=False)
class DetectionTable(AnswerTable):
    """Ground-truth objects as items, which each detector detects (1) or misses (0).

    An object is detected if a prediction of its class matches it with at least this `confidence` and `iou`. Ignored
    objects (difficult, crowds, groups) are left out. Make one with :meth:`of`; the fields besides those of
    :class:`verite.AnswerTable`:

    Parameters
    ----------
    confidence : float or thresholds by class, default 0.5
        The confidence threshold.
    iou : float, default 0.5
        The IoU threshold.
    wrong : {"reverses", "vanishes"}, default "reverses"
        A spurious annotation makes a detection wrong and a miss right, or does not count.
    matched : str
        The signature of the evaluation, unless it is Pascal VOC's.
    by : {"recall", "precision", "f1", "accuracy"}, default "recall"
        The score. For all but recall, a prediction that matched a spurious annotation is a false positive.
    claims : tuple of int, optional
        The number of predictions of each detector that count.
    image_claims : tuple of arrays, optional
        The same for each image, for a test over images.

    Examples
    --------
    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "b"], ["cat"] * 2, [[0, 0, 9, 9]] * 2)
    >>> both = Annotations.of(["a", "b"], ["cat"] * 2, [[0, 0, 9, 9]] * 2, confidence=[0.9, 0.8])
    >>> DetectionTable.of(truth, {"both": both, "one": both.take([0])}).tau
    {'both': 1.0, 'one': 0.5}
    """

    confidence: float | ClassThresholds = 0.5
    iou: float = 0.5
    wrong: Wrong = "reverses"  # type: ignore[misc]
    matched: str = ""  # the signature of the evaluation that said what was found, unless it is Pascal VOC's
    by: By = "recall"
    claims: tuple[int, ...] | None = None  # predictions of each detector that count, found or not
    image_claims: tuple[NDArray[np.int64], ...] | None = None  # the same for each image

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.by not in CAPTIONS:
            raise BadParameter(f"by: expected {', '.join(CAPTIONS)}, found {self.by!r}")
        if self.wrong not in WRONG:
            raise BadParameter(f"wrong: expected {' or '.join(WRONG)}, found {self.wrong!r}")
        if self.by != "recall" and self.wrong != "reverses":
            raise BadParameter(
                f"wrong: expected none beside {self.by}, for which a detected wrong object is a false positive"
            )
        if self.by != "recall" and self.claims is None:
            raise BadParameter(f"by: expected results that say which predictions count for {self.by}, such as vt.voc's")

    @property
    def score(self) -> str:  # type: ignore[override]
        """What the printed scores are."""
        return CAPTIONS[self.by]

    @classmethod
    def of(  # type: ignore[override]
        cls,
        truth: Any,
        predictions: Any = None,
        *,
        confidence: Any = 0.5,
        iou: float | None = None,
        wrong: Wrong = "reverses",
        by: By = "recall",
        checks: Checks = "stop",
    ) -> DetectionTable:
        """Match predictions to the ground truth by Pascal VOC's rule, or take the matches of results.

        Parameters
        ----------
        truth : path, Annotations, or results
            The ground truth. Or, without predictions, results on one ground truth such as those of :func:`verite.voc`.
        predictions : mapping, sequence or path, optional
            The predictions of each detector.
        confidence : float, mapping or path, default 0.5
            The confidence threshold: a number, one per class, or the `thresholds.json` of an analysis.
        iou : float, optional
            The IoU threshold, 0.5 by default; with results one of theirs.
        wrong : {"reverses", "vanishes"}, default "reverses"
            A spurious annotation makes a detection wrong and a miss right, or does not count.
        by : {"recall", "precision", "f1", "accuracy"}, default "recall"
            The score.
        checks : {"stop", "warn", "off"}, default "stop"
            What happens where the inputs look wrong.
        """
        if predictions is None:
            return detections_of_results(truth, confidence=confidence, iou=iou, wrong=wrong, by=by)
        from verite.formats import read
        from verite.protocols.voc import voc

        least = 0.5 if iou is None else iou
        recorded = truth if isinstance(truth, Annotations) else read(truth)
        given = [p if isinstance(p, Annotations) else read(p, recorded) for p in values_of(predictions)]
        names = names_of(predictions, [system_name(p) for p in given])
        results = {
            name: voc(recorded, pred, iou=least, name=name, checks=checks)
            for pred, name in zip(given, names, strict=True)
        }
        return detections_of_results(results, confidence=confidence, iou=least, wrong=wrong, by=by, is_default=True)

    @property
    def units(self) -> str:
        """What a paired test of two detectors takes as independent."""
        return "images"

    def paired_p(self, one: int, two: int) -> float | None:
        """Return the p-value that two detectors are equally good on further images.

        For recall the exact sign-flip test of the differences of detected objects per image. Precision, F1 and accuracy
        are ratios: to first order, each is a sum over images of their residuals from the common ratio (t test).
        """
        images = self.columns["image"]
        size = int(images.max()) + 1
        if self.by == "recall":
            difference = self.answers[one].astype(np.int64) - self.answers[two]
            return sign_flip_exact(np.bincount(images, difference, size).round().astype(np.int64))
        if self.image_claims is None:
            return None
        size = max(size, len(self.image_claims[0]))
        objects = np.bincount(images, minlength=size)
        residuals = np.zeros(size)
        for sign, i in ((1, one), (-1, two)):
            found, counted = np.bincount(images, self.answers[i], size), np.zeros(size)
            counted[: len(self.image_claims[i])] = self.image_claims[i]
            part, whole = {
                "precision": (found, counted),
                "f1": (2 * found, counted + objects),
                "accuracy": (found, counted + objects - found),
            }[self.by]
            if not whole.sum():
                return None
            ratio = part.sum() / whole.sum()
            residuals += sign * ((part - ratio * whole) / whole.sum() + ratio / size)
        spread = float(np.sqrt(((residuals - residuals.mean()) ** 2).sum() * size / (size - 1))) if size > 1 else 0.0
        return student_tails(abs(float(residuals.sum())) / spread, size - 1) if spread else 1.0

    @property
    def about(self) -> dict[str, object]:
        """The settings for a signature."""
        matched = {"matched": f"({self.matched})"} if self.matched else {}
        how = {"wrong": self.wrong} if self.by == "recall" else {"by": self.by}
        return {"confidence": self.confidence, "iou": self.iou, **matched, **how}

    def assume(self, model: ErrorModel) -> str:
        """Return the assumption in words."""
        how = WRONG[self.wrong] if self.by == "recall" else FALSE_POSITIVES
        return model.assumption if model.is_worst_case else f"{model.assumption}; {how}"


@dataclass(frozen=True, eq=False)
class ObjectNames:
    """Names ground-truth objects in messages."""

    rows: NDArray[np.int64]
    labels: NDArray[np.str_]
    images: tuple[str, ...]

    def __call__(self, item: int) -> str:
        return f"object {self.rows[item] + 1} ({str(self.labels[item])!r} in {self.images[item]!r})"


def detections_of_results(
    results: Mapping[str, Any] | Iterable[Any],
    *,
    confidence: Any,
    iou: float | None,
    wrong: Wrong,
    by: By,
    is_default: bool = False,
) -> DetectionTable:
    """Return the detected objects of results on the same ground truth by the same rules, at one IoU threshold."""
    evaluated: list[Results] = values_of(results)
    if not evaluated:
        raise DataError("algorithms: expected at least two to compare, found 0")
    floor = validate_threshold(confidence)
    if not isinstance(floor, ClassThresholds) and not 0 <= floor <= 1:
        raise BadParameter(f"confidence: expected a number from 0 to 1, found {floor:g}")
    first = evaluated[0]
    for other in evaluated[1:]:
        check_comparable(first, other)
    for result in evaluated:
        count_left(result.pred, floor)  # a threshold that no prediction reaches is refused
    truth = first.truth
    matches = [result.matches(iou) for result in evaluated]
    counted = np.flatnonzero(matches[0].counted_truth)
    if not len(counted):
        raise DataError(f"{truth.source.path or 'truth'}: expected objects that count, found none")

    counted_preds = count_counted_preds(evaluated, matches, floor)
    labels = np.array(truth.labels.all_names)[truth.label[counted]]
    images = tuple(truth.images.name(i) for i in truth.image[counted].tolist())
    return DetectionTable(
        names=tuple(names_of(results, [result.name for result in evaluated])),
        truth=np.ones(len(counted), dtype=np.uint8),
        answers=tuple(
            detected_objects(result, one, floor)[counted] for result, one in zip(evaluated, matches, strict=True)
        ),
        labels=("missed", "found"),
        kind="found",
        columns={
            "label": labels,
            "image": truth.image[counted],
        },
        where=ObjectNames(counted, labels, images),
        source=truth.source.path,
        confidence=floor,
        iou=matches[0].iou,
        wrong=wrong,
        matched="" if is_default else str(first.signature),
        by=by,
        claims=None if counted_preds is None else tuple(int(one.sum()) for one in counted_preds),
        image_claims=counted_preds,
    )


def count_counted_preds(
    evaluated: list[Results], matches: list[Matches], floor: float | ClassThresholds
) -> tuple[NDArray[np.int64], ...] | None:
    """Return how many predictions of each image count above the threshold, by detector; None where it is not known."""
    numbers = []
    for result, one in zip(evaluated, matches, strict=True):
        if one.counted_pred is None:
            return None
        images = result.pred.image[one.counted_pred & above_threshold(result.pred, floor)]
        numbers.append(np.bincount(images, minlength=len(result.truth.images)))
    return tuple(numbers)


def detected_objects(result: Results, matches: Matches, floor: float | ClassThresholds) -> NDArray[np.uint8]:
    """Return for every ground-truth object whether a prediction above the confidence threshold matched it.

    Predictions are matched by falling confidence, so leaving out low ones changes nothing for the others.
    """
    names = result.pred.labels.all_names
    lowest = float(floor.of_labels(names).min(initial=np.inf)) if isinstance(floor, ClassThresholds) else floor
    if matches.confidence_threshold is not None and lowest < matches.confidence_threshold:
        raise BadParameter(
            f"confidence: expected at least {matches.confidence_threshold:g}, below which no prediction was matched, "
            f"found {lowest:g}"
        )
    # An object without a match has row -1, which counts for nothing.
    found = (matches.matched_pred >= 0) & np.append(above_threshold(result.pred, floor), False)[matches.matched_pred]
    return np.asarray(found, dtype=np.uint8)


def values_of(given: Any) -> list[Any]:
    """Return predictions or results out of a mapping, a sequence, or a single one."""
    if isinstance(given, Mapping):
        return list(given.values())
    return [given] if isinstance(given, (str, PathLike, Annotations, Results)) else list(given)


def names_of(given: Any, otherwise: list[str]) -> list[str]:
    """Return the names of a mapping; without one, those of the files or results, made distinct by numbers."""
    return [str(name) for name in given] if isinstance(given, Mapping) else distinct_names(otherwise)
