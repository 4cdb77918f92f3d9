"""Detectors on one truth: which of its objects did each of them find?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, DataError
from verite.model.annotations import Annotations
from verite.model.results import Finds, Results, check_comparable, distinct_names, system_name
from verite.ranking.answers import Answers

if TYPE_CHECKING:
    from verite.evaluation.prepare import Checks


def found_objects(truth: Any, predictions: Any, *, confidence: float, iou: float, checks: Checks = "stop") -> Answers:
    """The objects of a detection truth as items, found by each detector or not.

    An object is found if Pascal VOC's rule matches it with a prediction of its class that has at least this
    confidence and overlap. Objects that nobody is asked to find (difficult, crowds, groups) are left out.
    """
    from verite.formats import read
    from verite.protocols.voc import voc

    recorded = truth if isinstance(truth, Annotations) else read(truth)
    given = [p if isinstance(p, Annotations) else read(p, recorded) for p in values_of(predictions)]
    names = names_of(predictions, [system_name(p) for p in given])
    results = [voc(recorded, pred, iou=iou, name=name, checks=checks) for pred, name in zip(given, names, strict=True)]
    return found_in(dict(zip(names, results, strict=True)), confidence=confidence, iou=iou)


def found_in(results: Mapping[str, Any] | Iterable[Any], *, confidence: float, iou: float | None = None) -> Answers:
    """The same from results evaluated on the same truth by the same rules, at one of their thresholds."""
    evaluated: list[Results] = values_of(results)
    if not evaluated:
        raise DataError("algorithms: expected at least two to compare, found 0")
    if not 0 <= confidence <= 1:
        raise BadParameter(f"confidence: expected a number from 0 to 1, found {confidence:g}")
    first = evaluated[0]
    for other in evaluated[1:]:
        check_comparable(first, other)
    truth = first.truth
    finds = [result.finds(iou) for result in evaluated]
    asked = np.flatnonzero(finds[0].asked)
    if not len(asked):
        raise DataError(
            f"{truth.source.path or 'truth'}: expected objects that detectors are asked to find, found none"
        )

    def where(item: int) -> str:
        row = int(asked[item])
        label, image = truth.labels.name(int(truth.label[row])), truth.images.name(int(truth.image[row]))
        return f"object {row + 1} ({label!r} in {image!r})"

    return Answers(
        names=tuple(names_of(results, [result.name for result in evaluated])),
        truth=np.ones(len(asked), dtype=np.uint8),
        answers=tuple(found_by(result, one, confidence)[asked] for result, one in zip(evaluated, finds, strict=True)),
        labels=("missed", "found"),
        kind="found",
        columns={
            "label": np.array(truth.labels.all_names)[truth.label[asked]],
            "image": truth.image[asked],
        },
        where=where,
        source=truth.source.path,
    )


def found_by(result: Results, finds: Finds, confidence: float) -> NDArray[np.uint8]:
    """For every object of the truth whether a prediction of at least this confidence took it.

    Predictions ask in the order of their confidence, so leaving out low ones changes nothing for the others.
    """
    if finds.least is not None and confidence < finds.least:
        raise BadParameter(
            f"confidence: expected at least {finds.least:g}, below which no prediction was looked at, "
            f"found {confidence:g}"
        )
    found = finds.taken >= 0
    if result.pred.confidence is not None:
        # An object that nobody took asks for row -1, which counts for nothing.
        found &= np.append(result.pred.confidence, 0.0)[finds.taken] >= confidence
    return found.astype(np.uint8)


def values_of(given: Any) -> list[Any]:
    """Predictions or results out of a mapping, a sequence, or a single one."""
    if isinstance(given, Mapping):
        return list(given.values())
    return [given] if isinstance(given, (str, PathLike, Annotations, Results)) else list(given)


def names_of(given: Any, otherwise: list[str]) -> list[str]:
    """The names a mapping gives; without one, those the files or results have, told apart by numbers."""
    return [str(name) for name in given] if isinstance(given, Mapping) else distinct_names(otherwise)
