"""The four steps of the interpretation score, for many scenes at once: match, judge each match, compensate, average.

Everything is a column over the pairs of objects that overlap; nothing here knows of pixels or files.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.errors import BadParameter, did_you_mean
from verite.interpretation.settings import ALPHA, Matching

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MATCHINGS = ("multiple", "one-to-one")
THRESHOLD = 0.2
WHOLE = 2**40  # overlaps and preferences as whole numbers, so that their sums are exact


@dataclass(frozen=True)
class ScoreRules:
    """How scenes are judged; what is not said is as the paper has it."""

    matching: Matching = "multiple"
    threshold: float | None = None  # None: 0.2 for multiple matching, any overlap for one to one
    alpha: float = ALPHA

    def __post_init__(self) -> None:
        if self.matching not in MATCHINGS:
            near = did_you_mean(str(self.matching), MATCHINGS)
            raise BadParameter(f"matching: expected {' or '.join(MATCHINGS)}, found {self.matching!r}{near}")
        for name, value in (("iou", self.least), ("alpha", self.alpha)):
            if not 0 <= value <= 1:
                raise BadParameter(f"{name}: expected a number from 0 to 1, found {value}")

    @property
    def least(self) -> float:
        """The overlap from which two objects may be a match."""
        if self.threshold is not None:
            return float(self.threshold)
        return THRESHOLD if self.matching == "multiple" else 0.0

    def may_match(self, overlap: Floats) -> Bools:
        """Which overlaps are enough. Objects that share nothing never match, whatever the threshold."""
        return (overlap >= self.least) & (overlap > 0)


@dataclass(frozen=True, eq=False)
class Objects:
    """How many scenes there are, and in which of them each object is."""

    scenes: int
    truth: Ints
    pred: Ints


@dataclass(frozen=True, eq=False)
class Possible:
    """Objects that may be a match: truth[i] with pred[i], and how well they agree, 0 being perfect."""

    truth: Ints
    pred: Ints
    overlap: Floats
    localization: Floats
    recognition: Floats

    def take(self, rows: Bools | Ints) -> Possible:
        return Possible(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Ruling:
    """What became of every scene and object."""

    matches: Possible
    local: Floats  # of each match
    missed: Ints  # truths without a match
    spurious: Ints  # preds without a match
    matched: Ints  # matches of each scene
    compensated: Ints  # scores of 1 added in each scene
    score: Floats  # of each scene


def recognition_score(distance: Floats, is_right: Bools, confidence: Floats | float = 1.0) -> Floats:
    """How badly the class was recognised: the distance of the classes, weighed by how sure the pred was.

    distance · (1 - confidence) / 2 for a right class, distance · (1 + confidence) / 2 for a wrong one

    >>> recognition_score(np.array([1.0, 1.0, 0.4]), np.array([False, False, False]), np.array([1.0, 0.0, 0.5]))
    array([1. , 0.5, 0.3])
    """
    return distance * indicator(is_right, confidence)


def indicator(is_right: Bools, confidence: Floats | float) -> Floats:
    """How much a class distance counts: less the surer a right class was, more the surer a wrong one was."""
    weight: Floats = np.where(is_right, 1 - np.asarray(confidence), 1 + np.asarray(confidence)) / 2
    return weight


def local_score(localization: Floats, recognition: Floats, alpha: float) -> Floats:
    """The score of a match: alpha of its localization, the rest of its recognition."""
    return alpha * localization + (1 - alpha) * recognition


def judge(objects: Objects, pairs: Possible, rules: ScoreRules, excused: Bools | None = None) -> Ruling:
    """The score of every scene. Preds that are `excused` count only if they have a match.

    >>> one = np.zeros(1, np.int64)
    >>> pairs = Possible(one, one, np.array([0.5]), np.array([0.25]), np.array([1.0]))
    >>> judge(Objects(1, np.zeros(2, np.int64), one), pairs, ScoreRules()).score    # (0.8 · 0.25 + 0.2 · 1 + 1) / 2
    array([0.7])
    """
    pairs = pairs.take(rules.may_match(pairs.overlap))
    local = local_score(pairs.localization, pairs.recognition, rules.alpha)
    if rules.matching == "one-to-one":
        # Every pair of an assignment takes the place of a compensation, so the score falls by 1 - local with each.
        chosen = match_one_to_one(
            pairs.truth, pairs.pred, pairs.overlap, 1 - local, len(objects.truth), len(objects.pred)
        )
        pairs, local = pairs.take(chosen), local[chosen]
    missed = alone(len(objects.truth), pairs.truth)
    spurious = alone(len(objects.pred), pairs.pred)
    if excused is not None:
        spurious = spurious[~excused[spurious]]
    scene = objects.truth[pairs.truth]
    matched = np.bincount(scene, minlength=objects.scenes)
    compensated = np.maximum(
        np.bincount(objects.truth[missed], minlength=objects.scenes),
        np.bincount(objects.pred[spurious], minlength=objects.scenes),
    )
    total = np.bincount(scene, weights=local, minlength=objects.scenes) + compensated
    count = matched + compensated
    score = np.divide(total, count, out=np.zeros(objects.scenes), where=count > 0)
    return Ruling(pairs, local, missed, spurious, matched, compensated, np.minimum(score, 1.0))


def match_one_to_one(
    truth: Ints, pred: Ints, overlap: NDArray[np.float64], preference: NDArray[np.float64], truths: int, preds: int
) -> NDArray[np.bool_]:
    """Which of the pairs truth[i], pred[i] are in the assignment with the largest sum of overlaps (Hungarian method).

    Of assignments with the same sum the one with the largest sum of preferences is taken, so that the outcome does not
    depend on the order of the objects. Both are numbers from 0 to 1.

    >>> match_one_to_one(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0.6, 0.5, 0.5]), np.zeros(3), 2, 2)
    array([False,  True,  True])
    """
    gains = (np.rint(values * WHOLE).astype(np.int64) for values in (overlap, preference))
    first, second = gains
    rows, columns = (np.ascontiguousarray(side, dtype=np.int64) for side in (truth, pred))
    return _core.assign(rows, columns, np.maximum(first, 1), np.maximum(second, 0), truths, preds)


def alone(count: int, matched: Ints) -> Ints:
    """Of so many objects those without a match."""
    is_alone = np.ones(count, dtype=np.bool_)
    is_alone[matched] = False
    return np.flatnonzero(is_alone)
