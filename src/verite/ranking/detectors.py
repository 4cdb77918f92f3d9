"""Detectors on one truth: which of its objects did each of them find?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, DataError
from verite.model.annotations import Annotations
from verite.model.results import Results, check_comparable, distinct_names, system_name
from verite.ranking.answers import Answers

if TYPE_CHECKING:
    from verite.protocols.preparation import Checks
    from verite.protocols.voc import VocResults


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
    return found_in(dict(zip(names, results, strict=True)), confidence=confidence)


def found_in(results: Mapping[str, Any] | Iterable[Any], *, confidence: float) -> Answers:
    """The same from results evaluated on the same truth by the same rules."""
    evaluated = [with_matches(result) for result in values_of(results)]
    if not evaluated:
        raise DataError("algorithms: expected at least two to compare, found 0")
    if not 0 <= confidence <= 1:
        raise BadParameter(f"confidence: expected a number from 0 to 1, found {confidence:g}")
    first = evaluated[0]
    for other in evaluated[1:]:
        check_comparable(first, other)
    if len(first.settings.iou) > 1:
        raise BadParameter(f"iou: expected results at one threshold, found {len(first.settings.iou)}")
    truth = first.truth
    is_skipped = truth.ignored if first.settings.difficult == "skip" else np.zeros(len(truth), dtype=np.bool_)
    asked = np.flatnonzero(~is_skipped)
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
        answers=tuple(found_by(result, confidence)[asked] for result in evaluated),
        labels=("missed", "found"),
        kind="found",
        columns={
            "label": np.array(truth.labels.all_names)[truth.label[asked]],
            "image": truth.image[asked],
        },
        where=where,
        source=truth.source.path,
    )


def found_by(result: VocResults, confidence: float) -> NDArray[np.uint8]:
    """For every object of the truth whether a prediction of at least this confidence took it.

    Predictions ask in the order of their confidence, so leaving out low ones changes nothing for the others.
    """
    taken = result.matches.truth[0]
    sure = (
        np.ones(len(taken), dtype=np.bool_) if result.pred.confidence is None else result.pred.confidence >= confidence
    )
    found = np.zeros(len(result.truth), dtype=np.uint8)
    found[taken[sure & (taken >= 0)]] = 1
    return found


def with_matches(result: Any) -> VocResults:
    """A result that knows which prediction took which object."""
    if not isinstance(result, Results) or not hasattr(result, "matches"):
        raise BadParameter(
            f"results: expected evaluations that match objects, such as vt.voc's, found {type(result).__name__}"
        )
    return result  # type: ignore[return-value]


def values_of(given: Any) -> list[Any]:
    """Predictions or results out of a mapping, a sequence, or a single one."""
    if isinstance(given, Mapping):
        return list(given.values())
    return [given] if isinstance(given, (str, PathLike, Annotations, Results)) else list(given)


def names_of(given: Any, otherwise: list[str]) -> list[str]:
    """The names a mapping gives; without one, those the files or results have, told apart by numbers."""
    return [str(name) for name in given] if isinstance(given, Mapping) else distinct_names(otherwise)
