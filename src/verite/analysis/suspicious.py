"""Which records of the truth look wrong? A list to be looked at, the most suspicious first, each with its reason.

A prediction and a record disagree, so one of them is wrong. Let q be the probability that a prediction of this
confidence is right, and ε the share of records that are wrong in one way (label, box, presence) before anybody looked:

    P(record wrong) = q ε / (q ε + (1 − q) (1 − ε)).

q is a rising map of confidences to what happened, fitted on the other four fifths of the images, divided by 1 − 3ε
because the truth it is fitted on has these errors, too. A truth that nothing comes near is missed by a detector of
recall r with probability 1 − r if it is there, and surely if it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.calibration import fit_rising
from verite.analysis.errors import BACKGROUND, CLASS, LOCALIZATION, ErrorTypes
from verite.analysis.parts import AnalysisPart, sign, tell_set_aside
from verite.leaderboards.audit import AuditRow
from verite.model.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verite.analysis.matches import AnalysisMatches, Floats, Ints
    from verite.analysis.worst import Worst
    from verite.model.tables import Part
    from verite.signature import Signature

PRIOR = 0.05
FOLDS = 5
ENOUGH = 200  # predictions of a label that has a map of its own
SURE = 1e-3  # no probability is nearer to 0 or 1
TWICE = 0.9  # IoU of two truths that may be one
SHOWN, MOST, LISTED = 5, 1000, 10_000
CHECKED = {"label?": "label", "missing?": "missing", "is it there?": "spurious", "twice?": "spurious"}  # as audits ask
KINDS = {CLASS: "label?", BACKGROUND: "missing?", LOCALIZATION: "box?"}


@dataclass(frozen=True)
class Suspicion:
    """A record of the truth, or an object that may be missing, why it is suspicious, and how much."""

    kind: str  # label?, missing?, box?, is it there?, twice?
    truth: int | None  # the record's row; None where an object may be missing
    pred: int | None  # the row of the prediction that says so
    other: int | None  # the row of the other of two truths
    probability: float
    confidence: float  # of the prediction, NaN for none
    iou: float
    cost: float
    by: str  # whose prediction it is


class Suspicious(AnalysisPart):
    """Records by the probability that they are wrong; of equal ones the most confident prediction comes first."""

    name = "suspicious"

    def __init__(self, matches: AnalysisMatches, types: ErrorTypes, worst: Worst, prior: float = PRIOR) -> None:
        self.matches, self.types, self.worst, self.prior = matches, types, worst, prior

    @property
    def signature(self) -> Signature:
        return sign("suspicious", self.matches, background=self.matches.background, prior=self.prior, folds=FOLDS)

    @cached_property
    def probability_right(self) -> Floats:
        """Of each prediction that counts, from images that did not fit it."""
        matches = self.matches
        found = np.zeros(len(matches.pred))
        every = matches.counted
        fold = matches.pred.image % FOLDS
        for part in matches.slices:
            rows = every[part]
            fitted = rows if len(rows) >= ENOUGH else every
            for k in range(FOLDS):
                asked, known = rows[fold[rows] == k], fitted[fold[fitted] != k]
                if len(asked) and len(known):
                    rising = fit_rising(matches.confidence[known], matches.is_right[known])
                    found[asked] = rising(matches.confidence[asked])
        sure = max(SURE, 1 / (len(every) + 2))  # few predictions make nothing sure
        return np.clip(found / (1 - 3 * self.prior), sure, 1 - sure)

    def weigh(self, right: Floats) -> Floats:
        """How likely the record is wrong if a prediction that is right so often disagrees with it."""
        return right * self.prior / (right * self.prior + (1 - right) * (1 - self.prior))

    @cached_property
    def listed(self) -> tuple[Suspicion, ...]:
        """The first ones: nobody looks at more."""
        found = [*self.from_predictions(), *self.from_silence(), *self.from_twins()]
        found.sort(key=lambda one: (-one.probability, 0 if isnan(one.confidence) else -one.confidence))
        return tuple(found[:LISTED])

    @cached_property
    def disputes(self) -> tuple[Ints, Floats]:
        """Predictions that disagree with a record, the most suspicious first, and how likely the record is wrong; of
        several that are after one truth, the one that says most.
        """
        matches, types = self.matches, self.types
        rows = np.flatnonzero(np.isin(types.kind, list(KINDS)))
        target = types.target[rows]
        rows = rows[~np.append(types.is_taken, False)[target]]
        probability = self.weigh(self.probability_right[rows])
        near = np.maximum(matches.nearest_same.overlap, matches.nearest_other.overlap)[rows]
        probability = np.where(types.kind[rows] == BACKGROUND, probability * (1 - near), probability)
        order = np.lexsort((matches.place[rows], -probability))
        rows, probability = rows[order], probability[order]
        target = types.target[rows]
        _, first = np.unique(np.where(target >= 0, target, len(matches.truth) + rows), return_index=True)
        chosen = np.sort(first)
        return rows[chosen], probability[chosen]

    def from_predictions(self) -> Iterable[Suspicion]:
        matches, types = self.matches, self.types
        rows, probabilities = (values[:LISTED] for values in self.disputes)
        kind, truth = types.kind[rows], types.target[rows]
        same, other = matches.nearest_same.overlap[rows], matches.nearest_other.overlap[rows]
        near = np.where(kind == CLASS, other, np.where(kind == LOCALIZATION, same, np.maximum(same, other)))
        columns = (kind, truth, rows, probabilities, matches.confidence[rows], near, self.worst.of_preds[rows])
        for k, target, row, probability, *numbers in zip(*(values.tolist() for values in columns), strict=True):
            found = target if target >= 0 else None
            confidence, iou, cost = numbers
            yield Suspicion(KINDS[k], found, row, None, probability, confidence, iou, cost, matches.results.name)

    def from_silence(self) -> Iterable[Suspicion]:
        """Truths that no prediction of any label and confidence comes near."""
        matches = self.matches
        is_near = np.zeros(len(matches.truth), dtype=np.bool_)
        is_near[matches.overlaps.truth] = True
        rows = np.flatnonzero(self.types.is_missed & ~is_near)
        found = matches.count(matches.truth_label[self.types.is_taken])
        missed = 1 - found / np.maximum(matches.truths, 1)
        for row in rows.tolist():
            chance = float(missed[matches.truth_label[row]])
            if chance >= 1:
                continue  # who finds none of a label says nothing about it
            probability = self.prior / (self.prior + (1 - self.prior) * chance)
            cost = float(self.worst.of_truths[row])
            yield Suspicion("is it there?", row, None, None, probability, np.nan, 0.0, cost, matches.results.name)

    def from_twins(self) -> Iterable[Suspicion]:
        """Two truths in one place: one of them is too much, or, of two labels, one is wrong."""
        pairs = self.matches.truth_pairs
        chosen = np.flatnonzero(pairs.overlap >= TWICE)
        for i in chosen.tolist():
            overlap = float(pairs.overlap[i])
            probability = overlap if pairs.is_same[i] else overlap / 2
            one, other = int(pairs.pred[i]), int(pairs.truth[i])
            cost = float(self.worst.of_truths[one])
            yield Suspicion("twice?", one, None, other, probability, np.nan, overlap, cost, self.matches.results.name)

    def suspicion_of_truths(self) -> Floats:
        """For each record of the truth the probability that it is wrong; the prior where nobody says anything."""
        found = np.full(len(self.matches.truth), self.prior)
        rows, probability = self.disputes
        target = self.types.target[rows]
        np.maximum.at(found, target[target >= 0], probability[target >= 0])
        for one in (*self.from_silence(), *self.from_twins()):
            assert one.truth is not None
            found[one.truth] = max(found[one.truth], one.probability)
        return found

    def audit(self, most: int | None = None) -> list[AuditRow]:
        """Records to be checked, as `verite leaderboard --audit` takes them back with their verdicts."""
        return [self.audit_row(one) for one in self.listed if one.kind in CHECKED][:most]

    def audit_row(self, one: Suspicion) -> AuditRow:
        told = self.tell(one)
        side, row = (self.matches.pred, one.pred) if one.truth is None else (self.matches.truth, one.truth)
        kind, reason = CHECKED[one.kind], f"{told['reason']}; wrong with probability {one.probability:.2f}"
        return AuditRow.of(told["image"], told["label"], side.regions.sizes[row], kind, one.cost, reason)

    def tell(self, one: Suspicion) -> dict[str, Any]:
        matches = self.matches
        side, row = (matches.pred, one.pred) if one.truth is None else (matches.truth, one.truth)
        assert row is not None
        labels = matches.pred_label if one.truth is None else matches.truth_label
        says = None if one.pred is None else matches.names[matches.pred_label[one.pred]]
        return {
            "kind": one.kind,
            "truth": one.truth,
            "pred": one.pred,
            "other": one.other,
            "image": matches.image_name(int(side.image[row])),
            "label": matches.names[labels[row]],
            "says": says,
            "box": side.regions.boxes[row].tolist(),
            "probability": one.probability,
            "confidence": one.confidence,
            "iou": one.iou,
            "cost": one.cost,
            "by": one.by,
            "reason": self.explain(one, says),
        }

    def explain(self, one: Suspicion, says: str | None) -> str:
        matches = self.matches
        sure = "" if one.pred is None else f"{one.by} sees {says!r} with confidence {one.confidence:.2f}"
        if one.kind == "label?":
            label = matches.names[matches.truth_label[one.truth]]
            return f"{sure} where the truth has {label!r} ({matches.words.overlap} {one.iou:.2f})"
        if one.kind == "missing?":
            return f"{sure} where the truth has nothing (largest {matches.words.overlap} {one.iou:.2f})"
        if one.kind == "box?":
            return f"{sure} and overlaps the truth's {matches.words.one} by {one.iou:.2f} only"
        if one.kind == "twice?":
            names = [matches.names[matches.truth_label[row]] for row in (one.other, one.truth)]
            return f"the truth has {names[0]!r} and {names[1]!r} in one place ({matches.words.overlap} {one.iou:.2f})"
        return f"{one.by} sees nothing near this {matches.names[matches.truth_label[one.truth]]!r} at any confidence"

    def table(self, most: int | None = None) -> Table:
        told = [self.tell(one) for one in self.listed[:most]]
        keys = ("kind", "label", "probability", "cost", "truth", "pred", "reason")
        return Table.of("image", [one["image"] for one in told], {key: [one[key] for one in told] for key in keys})

    def sentences(self, most: int = SHOWN) -> list[str]:
        """The first ones in words."""
        told = [self.tell(one) for one in self.listed[:most]]
        what = self.matches.words.one
        return [
            f"{one['kind'].replace('box', what)} {one['probability']:.2f} {one['image']}: {one['reason']}"
            for one in told
        ]

    def contents(self) -> list[Part]:
        about = (
            f"probabilities that a record is wrong, if {self.prior:g} of all are in each way; a person decides. Costs "
            "are in AP, gained if the prediction were right"
        )
        return [self.table(SHOWN * 4), about, tell_set_aside(self.matches), self.signature]

    def to_dict(self) -> list[dict[str, Any]]:  # type: ignore[override]
        return [self.tell(one) for one in self.listed[:MOST]]
