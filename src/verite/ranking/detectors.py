"""Detectors on one truth: which of its objects did each of them find?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from verite.annotation_errors.model import ErrorModel
from verite.errors import BadParameter, DataError
from verite.evaluation.settings import ClassThresholds, above_threshold, count_left, hold_floor
from verite.model.annotations import Annotations
from verite.model.comparison import check_comparable, distinct_names
from verite.model.results import Matches, Results, system_name
from verite.ranking.answers import AnswerTable, Wrong

if TYPE_CHECKING:
    from verite.evaluation.prepare import Checks

By = Literal["recall", "precision", "f1", "accuracy"]
CAPTIONS = {
    "recall": "tau: share of objects found (recall), more is better",
    "precision": "precision: share of claims that are right, more is better",
    "f1": "F1: 2 found / (claimed + to be found), more is better",
    "accuracy": "accuracy: found / (claimed or to be found), more is better",
}
WRONG = {
    "reverses": "a wrong record is no such object, so that finding it was wrong and not finding it right",
    "vanishes": "a wrong record is no object at all, and finding it counts neither for nor against",
}
ALARMS = "a wrong record is no object, so that finding it was a false alarm and not finding it no miss"


@dataclass(frozen=True, eq=False)
class DetectionTable(AnswerTable):
    """The objects of a detection truth as items, which each detector finds (1) or not (0).

    An object is found if a prediction of its class takes it that has at least this `confidence` and `iou`. Objects
    that nobody is asked to find (difficult, crowds, groups) are left out. A `wrong` record of the truth `reverses`
    what finding it was worth, or `vanishes`. Detectors are ordered by recall, or `by` precision, F1 or accuracy, to
    which a prediction that found a wrong record is a false alarm.
    """

    confidence: float | ClassThresholds = 0.5
    iou: float = 0.5
    wrong: Wrong = "reverses"  # type: ignore[misc]
    matched: str = ""  # the signature of the evaluation that said what was found, unless it is Pascal VOC's
    by: By = "recall"
    claims: tuple[int, ...] | None = None  # predictions of each detector that count, found or not

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.by not in CAPTIONS:
            raise BadParameter(f"by: expected {', '.join(CAPTIONS)}, found {self.by!r}")
        if self.wrong not in WRONG:
            raise BadParameter(f"wrong: expected {' or '.join(WRONG)}, found {self.wrong!r}")
        if self.by != "recall" and self.wrong != "reverses":
            raise BadParameter(f"wrong: expected none beside {self.by}, to which a wrong object found is a false alarm")
        if self.by != "recall" and self.claims is None:
            raise BadParameter(f"by: expected results that say which predictions count for {self.by}, such as vt.voc's")

    @property
    def score(self) -> str:  # type: ignore[override]
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
        """From a truth and each detector's predictions, matched by Pascal VOC's rule (`iou` is 0.5 unless told).

        Or from results on one truth alone, such as `vt.voc`'s, at one of the thresholds they were made at. `confidence`
        is a number, one for each label, or the `thresholds.json` of an analysis.
        """
        if predictions is None:
            return find_in(truth, confidence=confidence, iou=iou, wrong=wrong, by=by)
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
        return find_in(results, confidence=confidence, iou=least, wrong=wrong, by=by, is_default=True)

    @property
    def about(self) -> dict[str, object]:
        matched = {"matched": f"({self.matched})"} if self.matched else {}
        how = {"wrong": self.wrong} if self.by == "recall" else {"by": self.by}
        return {"confidence": self.confidence, "iou": self.iou, **matched, **how}

    def assume(self, model: ErrorModel) -> str:
        how = WRONG[self.wrong] if self.by == "recall" else ALARMS
        return model.words if model.is_worst_case else f"{model.words}; {how}"


@dataclass(frozen=True, eq=False)
class ObjectNames:
    """How objects of a truth are called."""

    rows: NDArray[np.int64]
    labels: NDArray[np.str_]
    images: tuple[str, ...]

    def __call__(self, item: int) -> str:
        return f"object {self.rows[item] + 1} ({str(self.labels[item])!r} in {self.images[item]!r})"


def find_in(
    results: Mapping[str, Any] | Iterable[Any],
    *,
    confidence: Any,
    iou: float | None,
    wrong: Wrong,
    by: By,
    is_default: bool = False,
) -> DetectionTable:
    """What was found in results evaluated on the same truth by the same rules, at one of their thresholds."""
    evaluated: list[Results] = values_of(results)
    if not evaluated:
        raise DataError("algorithms: expected at least two to compare, found 0")
    floor = hold_floor(confidence)
    if not isinstance(floor, ClassThresholds) and not 0 <= floor <= 1:
        raise BadParameter(f"confidence: expected a number from 0 to 1, found {floor:g}")
    first = evaluated[0]
    for other in evaluated[1:]:
        check_comparable(first, other)
    for result in evaluated:
        count_left(result.pred, floor)  # a threshold that no prediction reaches is refused
    truth = first.truth
    taken = [result.matches(iou) for result in evaluated]
    asked = np.flatnonzero(taken[0].counted_truth)
    if not len(asked):
        raise DataError(
            f"{truth.source.path or 'truth'}: expected objects that detectors are asked to find, found none"
        )

    labels = np.array(truth.labels.all_names)[truth.label[asked]]
    images = tuple(truth.images.name(i) for i in truth.image[asked].tolist())
    return DetectionTable(
        names=tuple(names_of(results, [result.name for result in evaluated])),
        truth=np.ones(len(asked), dtype=np.uint8),
        answers=tuple(found_by(result, one, floor)[asked] for result, one in zip(evaluated, taken, strict=True)),
        labels=("missed", "found"),
        kind="found",
        columns={
            "label": labels,
            "image": truth.image[asked],
        },
        where=ObjectNames(asked, labels, images),
        source=truth.source.path,
        confidence=floor,
        iou=taken[0].iou,
        wrong=wrong,
        matched="" if is_default else str(first.signature),
        by=by,
        claims=claimed_by(evaluated, taken, floor),
    )


def claimed_by(
    evaluated: list[Results], taken: list[Matches], floor: float | ClassThresholds
) -> tuple[int, ...] | None:
    """How many predictions of at least this confidence count, for each detector; None where that is not known."""
    numbers = []
    for result, one in zip(evaluated, taken, strict=True):
        if one.counted_pred is None:
            return None
        numbers.append(int(np.count_nonzero(one.counted_pred & above_threshold(result.pred, floor))))
    return tuple(numbers)


def found_by(result: Results, finds: Matches, floor: float | ClassThresholds) -> NDArray[np.uint8]:
    """For every object of the truth whether a prediction of at least this confidence took it.

    Predictions ask in the order of their confidence, so leaving out low ones changes nothing for the others.
    """
    names = result.pred.labels.all_names
    lowest = float(floor.of_labels(names).min(initial=np.inf)) if isinstance(floor, ClassThresholds) else floor
    if finds.confidence_threshold is not None and lowest < finds.confidence_threshold:
        raise BadParameter(
            f"confidence: expected at least {finds.confidence_threshold:g}, below which no prediction was looked at, "
            f"found {lowest:g}"
        )
    # An object that nobody took asks for row -1, which counts for nothing.
    found = (finds.matched_pred >= 0) & np.append(above_threshold(result.pred, floor), False)[finds.matched_pred]
    return np.asarray(found, dtype=np.uint8)


def values_of(given: Any) -> list[Any]:
    """Predictions or results out of a mapping, a sequence, or a single one."""
    if isinstance(given, Mapping):
        return list(given.values())
    return [given] if isinstance(given, (str, PathLike, Annotations, Results)) else list(given)


def names_of(given: Any, otherwise: list[str]) -> list[str]:
    """The names a mapping gives; without one, those the files or results have, told apart by numbers."""
    return [str(name) for name in given] if isinstance(given, Mapping) else distinct_names(otherwise)
