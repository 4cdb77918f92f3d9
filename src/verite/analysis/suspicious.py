"""Annotation errors: ground truths that look wrong or missing, ranked by suspicion, a number from 0 to 1.

Where a prediction and an annotation disagree, one of them is wrong. Let q be the probability that a prediction of this
confidence is correct, and ε the prior share of annotations that are wrong in one way (class, box, presence):

    suspicion = q ε / (q ε + (1 − q) (1 − ε)).

q is an isotonic fit of correctness on confidence, from the other four fifths of the images, divided by 1 − 3ε because
the ground truth it is fitted on has these errors, too. A ground truth without any prediction nearby is missed by a
detector of recall r with probability 1 − r if it exists, and with certainty if it does not.

Suspicion is an order in which to look, not a probability: annotators and detectors err on the same objects, so that of
annotations with a suspicion of 0.98 between 14 and 65 % were wrong where the truth was known. Probabilities need
verdicts: with at least 50 of them (`verdicts`), isotonic regression of the verdicts on suspicion gives one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any, ClassVar, NotRequired, TypedDict

import numpy as np

from verite.analysis.calibration import IsotonicFit, fit_isotonic
from verite.analysis.errors import BACKGROUND, CLASS, LOCALIZATION, ErrorTypes
from verite.analysis.part import AnalysisPart, PartRecord, describe_ignored, part_signature
from verite.leaderboards.audit import AuditRow, audit_table, read_rows
from verite.model.tables import Table
from verite.plotting import COLOURS, label_rows
from verite.settings import FileOrContent, Number, Option, Setting, Settings, Whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from verite.analysis.matches import AnalysisMatches, Floats, Ints
    from verite.analysis.worst import Worst
    from verite.model.tables import Part
    from verite.signature import Signature

PRIOR = 0.05
AUDITED = 50


class SuspiciousSettings(Settings):
    """Settings of the search for annotation errors."""

    TITLE: ClassVar[str] = "Analysis"
    prior: Option[float] = Number(PRIOR, "Prior share of wrong annotations per error kind.", least=1e-6, most=0.3)
    audit: Option[int] = Whole(AUDITED, "Number of annotations to check in audit.csv of -o.", long="audit-size")
    verdicts: Setting[Any, Any] = FileOrContent(
        None, "An audit.csv with its verdicts filled in: 50 of them turn suspicions into probabilities.",
        metavar="FILE.csv",
    )  # fmt: skip


FOLDS = 5
ENOUGH_VERDICTS = 50  # that probabilities are fitted to
ENOUGH = 200  # predictions of a class that has its own isotonic fit
FARTHEST = 1e-3  # no probability is nearer to 0 or 1
DUPLICATE_IOU = 0.9  # of two ground truths that may be one object
SHOWN, MOST_IN_JSON, MOST_LISTED = 5, 1000, 10_000
# The kinds of suspicions, and what an audit (`verite leaderboard --audit`) calls those it can take.
WRONG_CLASS, MISSING, WRONG_BOX, SPURIOUS, DUPLICATE = "label?", "missing?", "box?", "is it there?", "twice?"
KIND_NAMES = {  # {one}: box, mask, pose
    WRONG_CLASS: "wrong class?",
    MISSING: "missing annotation?",
    WRONG_BOX: "inaccurate {one}?",
    SPURIOUS: "spurious annotation?",
    DUPLICATE: "duplicate annotation?",
}
CHECKED = {WRONG_CLASS: "label", MISSING: "missing", SPURIOUS: "spurious", DUPLICATE: "spurious"}
KINDS = {CLASS: WRONG_CLASS, BACKGROUND: MISSING, LOCALIZATION: WRONG_BOX}


@dataclass(frozen=True)
class Suspicion:
    """An annotation that may be wrong, or an object that may be missing from the ground truth."""

    kind: str  # label?, missing?, box?, is it there?, twice?
    truth: int | None  # row of the annotation; None where an object may be missing
    pred: int | None  # row of the prediction that disagrees
    other: int | None  # row of the other one of two duplicates
    suspicion: float  # that the annotation is wrong, from 0 to 1: an order, not a probability
    confidence: float  # of the prediction; NaN for none
    iou: float
    cost: float  # in AP
    by: str  # name of the detector


class SuspicionRow(TypedDict):
    """A suspicion as plain values, with its reason in words; the keys are those of the JSON document."""

    kind: str
    truth: int | None
    pred: int | None
    other: int | None
    image: str
    label: str
    says: str | None  # the predicted class
    box: list[float]
    suspicion: float
    probability: float  # deprecated: the suspicion, under the name it had
    confidence: float
    iou: float
    cost: float
    by: str
    reason: str
    probability_wrong: NotRequired[float]


class Suspicious(AnalysisPart):
    """Annotations by the suspicion that they are wrong; of equal ones the highest confidence first.

    Parameters
    ----------
    matches, types, worst
        Matches, error types and single costs of the detector.
    prior
        Prior share of wrong annotations per error kind (ε).
    audit_size
        How many annotations `audit.csv` lists.
    verdicts
        Rows of an audit.csv with verdicts.
    """

    name = "suspicious"

    def __init__(
        self,
        matches: AnalysisMatches,
        types: ErrorTypes,
        worst: Worst,
        prior: float = PRIOR,
        audit_size: int = AUDITED,
        verdicts: Sequence[AuditRow] = (),
    ) -> None:
        self.matches, self.types, self.worst = matches, types, worst
        self.prior, self.audit_size, self.verdicts = prior, audit_size, tuple(verdicts)

    @property
    def signature(self) -> Signature:
        """Every setting that can change suspicions and probabilities."""
        background = self.matches.background
        more: dict[str, Any] = {"verdicts": len(self.decided[0])} if self.verdicts else {}
        return part_signature("suspicious", self.matches, background=background, prior=self.prior, folds=FOLDS, **more)

    @cached_property
    def probability_right(self) -> Floats:
        """The probability that each counted prediction is correct, from images that it was not fitted on."""
        matches = self.matches
        found = np.zeros(len(matches.pred))
        every = matches.counted_rows
        fold = matches.pred.image % FOLDS

        def fit_without(k: int, rows: Ints) -> IsotonicFit:
            outside = rows[fold[rows] != k]
            return fit_isotonic(matches.confidence[outside], matches.is_tp[outside])

        of_all: dict[int, IsotonicFit] = {}  # by fold, for classes with few predictions
        for part in matches.class_slices:
            rows = every[part]
            for k in range(FOLDS):
                inside = rows[fold[rows] == k]
                if not len(inside):
                    continue
                if len(rows) < ENOUGH and k not in of_all:
                    of_all[k] = fit_without(k, every)
                fit = of_all[k] if len(rows) < ENOUGH else fit_without(k, rows)
                if len(fit.at):
                    found[inside] = fit(matches.confidence[inside])
        farthest = max(FARTHEST, 1 / (len(every) + 2))  # few predictions make nothing certain
        return np.clip(found / (1 - 3 * self.prior), farthest, 1 - farthest)

    def posterior(self, correct: Floats) -> Floats:
        """The suspicion of an annotation that a prediction contradicts which is correct with probability q."""
        return correct * self.prior / (correct * self.prior + (1 - correct) * (1 - self.prior))

    @cached_property
    def listed(self) -> tuple[Suspicion, ...]:
        """The suspicious annotations, the highest suspicion first."""
        found = [*self.from_predictions(), *self.from_missed(), *self.from_duplicates()]
        found.sort(key=lambda one: (-one.suspicion, 0 if isnan(one.confidence) else -one.confidence))
        return tuple(found[:MOST_LISTED])

    @cached_property
    def decided(self) -> tuple[Ints, NDArray[np.bool_]]:
        """Positions in `listed` of annotations that have a verdict, and whether it is wrong."""
        known = {
            row.location[:-1]: row.verdict == "wrong" for row in self.verdicts if row.verdict in ("right", "wrong")
        }
        found = [
            (i, known[place])
            for i, one in enumerate(self.listed if known else ())
            if one.kind in CHECKED and (place := self.audit_row(one).location[:-1]) in known
        ]
        return np.array([i for i, _ in found], np.int64), np.array([is_wrong for _, is_wrong in found], np.bool_)

    @cached_property
    def probabilities(self) -> Floats:
        """The probability that each of `listed` is wrong, out of verdicts; NaN with fewer than 50 verdicts.

        Isotonic regression of the verdicts on suspicion; annotations with a verdict are not in the fit that gives
        their own probability (five folds).
        """
        suspicion = np.array([one.suspicion for one in self.listed])
        at, is_wrong = self.decided
        if len(at) < ENOUGH_VERDICTS:
            return np.full(len(suspicion), np.nan)
        found = fit_isotonic(suspicion[at], is_wrong)(suspicion)
        fold = np.arange(len(at)) % FOLDS
        for k in range(FOLDS):
            fit = fit_isotonic(suspicion[at[fold != k]], is_wrong[fold != k])
            found[at[fold == k]] = fit(suspicion[at[fold == k]])
        return found

    @cached_property
    def contradictions(self) -> tuple[Ints, Floats]:
        """Predictions that disagree with an annotation, and its suspicion, the highest first.

        Of several predictions with the same target only the one of highest suspicion.
        """
        matches, types = self.matches, self.types
        rows = np.flatnonzero(np.isin(types.kind, list(KINDS)))
        rows = rows[~np.append(types.is_matched, False)[types.target[rows]]]
        suspicion = self.posterior(self.probability_right[rows])
        near = np.maximum(matches.nearest_same.overlap, matches.nearest_other.overlap)[rows]
        suspicion = np.where(types.kind[rows] == BACKGROUND, suspicion * (1 - near), suspicion)
        order = np.lexsort((matches.rank[rows], -suspicion))
        rows, suspicion = rows[order], suspicion[order]
        target = types.target[rows]
        _, first = np.unique(np.where(target >= 0, target, len(matches.truth) + rows), return_index=True)
        chosen = np.sort(first)
        return rows[chosen], suspicion[chosen]

    def from_predictions(self) -> Iterable[Suspicion]:
        """Yield the annotations that predictions contradict: wrong class, wrong box, missing object."""
        matches, types = self.matches, self.types
        rows, suspicions = (values[:MOST_LISTED] for values in self.contradictions)
        kind, truth = types.kind[rows], types.target[rows]
        same, other = matches.nearest_same.overlap[rows], matches.nearest_other.overlap[rows]
        near = np.where(kind == CLASS, other, np.where(kind == LOCALIZATION, same, np.maximum(same, other)))
        columns = (kind, truth, rows, suspicions, matches.confidence[rows], near, self.worst.of_preds[rows])
        for k, target, row, suspicion, *numbers in zip(*(values.tolist() for values in columns), strict=True):
            found = target if target >= 0 else None
            confidence, iou, cost = numbers
            yield Suspicion(KINDS[k], found, row, None, suspicion, confidence, iou, cost, matches.results.name)

    @cached_property
    def missed(self) -> tuple[Ints, Floats]:
        """Ground truths that no prediction of any class and confidence is near, and their suspicion."""
        matches = self.matches
        is_near = np.zeros(len(matches.truth), dtype=np.bool_)
        is_near[matches.pairs.truth] = True
        rows = np.flatnonzero(self.types.is_missed & ~is_near)
        found = matches.count_classes(matches.truth_label[self.types.is_matched])
        miss_rate = (1 - found / np.maximum(matches.truth_counts, 1))[matches.truth_label[rows]]
        rows, miss_rate = rows[miss_rate < 1], miss_rate[miss_rate < 1]  # a class never found is no evidence
        return rows, self.prior / (self.prior + (1 - self.prior) * miss_rate)

    def from_missed(self) -> Iterable[Suspicion]:
        """Yield the ground truths that no prediction of any class and confidence is near."""
        rows, suspicions = self.missed
        name = self.matches.results.name
        columns = (rows, suspicions, self.worst.of_truths[rows])
        for row, suspicion, cost in zip(*(values.tolist() for values in columns), strict=True):
            yield Suspicion(SPURIOUS, row, None, None, suspicion, np.nan, 0.0, cost, name)

    def from_duplicates(self) -> Iterable[Suspicion]:
        """Yield pairs of ground truths in one place: one is too many or, with two classes, one class is wrong."""
        pairs = self.matches.truth_pairs
        for i in np.flatnonzero(pairs.overlap >= DUPLICATE_IOU).tolist():
            overlap = float(pairs.overlap[i])
            suspicion = overlap if pairs.same_class[i] else overlap / 2
            one, other = int(pairs.pred[i]), int(pairs.truth[i])
            cost = float(self.worst.of_truths[one])
            yield Suspicion(DUPLICATE, one, None, other, suspicion, np.nan, overlap, cost, self.matches.results.name)

    def suspicion_of_truths(self) -> Floats:
        """For each ground truth its suspicion; the prior where there is no evidence."""
        return self.truth_suspicion.copy()

    @cached_property
    def truth_suspicion(self) -> Floats:
        """`suspicion_of_truths`, computed once for all comparisons with other detectors."""
        found = np.full(len(self.matches.truth), self.prior)
        rows, suspicion = self.contradictions
        target = self.types.target[rows]
        np.maximum.at(found, target[target >= 0], suspicion[target >= 0])
        np.maximum.at(found, *self.missed)
        for one in self.from_duplicates():
            assert one.truth is not None
            found[one.truth] = max(found[one.truth], one.suspicion)
        return found

    def audit(self, most: int | None = None) -> list[AuditRow]:
        """Return annotations to check, as `verite leaderboard --audit` takes them back with their verdicts."""
        return [self.audit_row(one) for one in self.listed if one.kind in CHECKED][:most]

    def audit_row(self, one: Suspicion) -> AuditRow:
        """Return one suspicion as a row of an audit."""
        facts = self.suspicion_dict(one)
        side, row = (self.matches.pred, one.pred) if one.truth is None else (self.matches.truth, one.truth)
        kind, reason = CHECKED[one.kind], f"{facts['reason']}; suspicion {one.suspicion:.2f}"
        return AuditRow.of(facts["image"], facts["label"], side.regions.sizes[row], kind, one.cost, reason)

    def suspicion_dict(self, one: Suspicion) -> SuspicionRow:
        """Return one suspicion as plain values, with its reason in words."""
        matches = self.matches
        side, row = (matches.pred, one.pred) if one.truth is None else (matches.truth, one.truth)
        assert row is not None
        label = matches.names[(matches.pred_label if one.truth is None else matches.truth_label)[row]]
        predicted = None if one.pred is None else matches.names[matches.pred_label[one.pred]]
        iou, seen = f"{matches.words.overlap} {one.iou:.2f}", ""
        if one.pred is not None:
            seen = f"{one.by} predicts {predicted!r} with confidence {one.confidence:.2f}"
        if one.kind == WRONG_CLASS:
            reason = f"{seen} where the ground truth has {label!r} ({iou})"
        elif one.kind == MISSING:
            reason = f"{seen} where the ground truth has nothing (highest {iou})"
        elif one.kind == WRONG_BOX:
            reason = f"{seen}, whose {iou} with the {matches.words.one} of the ground truth is low"
        elif one.kind == DUPLICATE:
            other = matches.names[matches.truth_label[one.other]]
            reason = f"the ground truth has {other!r} and {label!r} in one place ({iou})"
        else:
            reason = f"{one.by} predicts nothing near this {label!r} at any confidence"
        return {
            "kind": one.kind,
            "truth": one.truth,
            "pred": one.pred,
            "other": one.other,
            "image": matches.image_name(int(side.image[row])),
            "label": label,
            "says": predicted,
            "box": side.regions.boxes[row].tolist(),
            "suspicion": one.suspicion,
            "probability": one.suspicion,  # deprecated: it is none
            "confidence": one.confidence,
            "iou": one.iou,
            "cost": one.cost,
            "by": one.by,
            "reason": reason,
        }

    def table(self, most: int | None = None) -> Table:
        """Return one row per suspicion."""
        facts: list[Mapping[str, Any]] = [*self.to_dict(most)]
        keys = ["kind", "label", "suspicion", "cost", "truth", "pred", "reason"]
        if len(self.decided[0]) >= ENOUGH_VERDICTS:
            keys.insert(3, "probability_wrong")
        return Table.of("image", [one["image"] for one in facts], {key: [one[key] for one in facts] for key in keys})

    def tables(self) -> dict[str, Table]:
        """Return the suspicions, and the annotations to check as an audit."""
        return {"suspicious": self.table(), "audit": audit_table(self.audit(self.audit_size))}

    def sentences(self, most: int = SHOWN) -> list[str]:
        """Return the first suspicions in words."""
        facts, what = [self.suspicion_dict(one) for one in self.listed[:most]], self.matches.words.one
        return [
            f"{KIND_NAMES[one['kind']].format(one=what)} {one['image']}: {one['reason']}; "
            f"suspicion {one['suspicion']:.2f}"
            for one in facts
        ]

    def summary(self) -> list[Part]:
        """Return the first suspicions."""
        return [*self.sentences()]

    def contents(self) -> list[Part]:
        """Return the first rows of the table, its legend and the signature."""
        about = (
            f"Suspicion (0 to 1, with a prior of {self.prior:g} per error kind) is an order in which to check "
            "annotations by eye, not a probability. Costs are in AP, gained if the prediction were a true positive"
        )
        count = len(self.decided[0])
        if count >= ENOUGH_VERDICTS:
            about += f". Probabilities that an annotation is wrong are from {count:,} verdicts"
        elif self.verdicts:
            about += f". Probabilities need {ENOUGH_VERDICTS} verdicts on listed annotations, found {count}"
        return [self.table(SHOWN * 4), about, describe_ignored(self.matches), self.signature]

    def draw(self, axes: Axes) -> None:
        """Draw two bars per kind: how many annotations are listed, and how many have a suspicion of at least 0.5."""
        kinds = [*KINDS.values(), SPURIOUS, DUPLICATE]
        listed = [[one.suspicion for one in self.listed if one.kind == kind] for kind in kinds]
        high = [sum(value >= 0.5 for value in values) for values in listed]
        at = np.arange(len(kinds))
        axes.barh(at - 0.2, [len(values) for values in listed], 0.38, color=COLOURS[4], label="listed")
        axes.barh(at + 0.2, high, 0.38, color=COLOURS[0], label="suspicion ≥ 0.5")
        for i, count in enumerate(high):
            axes.text(count, i + 0.2, f" {count:,}", va="center", fontsize=8)
        label_rows(axes, [KIND_NAMES[kind].format(one=self.matches.words.one) for kind in kinds])
        axes.set(xlabel="annotations")
        self.set_title(axes, "suspicious annotations")
        axes.legend(frameon=False, fontsize=8, loc="best")

    def to_dict(self, most: int | None = MOST_IN_JSON) -> list[SuspicionRow]:
        """Return the first suspicious annotations, a thousand by default."""
        listed = zip(self.listed[:most], self.probabilities[:most].tolist(), strict=True)
        return [{**self.suspicion_dict(one), "probability_wrong": probability} for one, probability in listed]


PART = PartRecord(
    name="suspicious",
    about="Annotations that look wrong, by suspicion, to check by eye.",
    build=lambda analysis: Suspicious(
        analysis.matches,
        analysis.errors.types,
        analysis.worst,
        analysis.settings.prior,
        analysis.settings.audit,
        () if analysis.settings.verdicts is None else read_rows(analysis.settings.verdicts, "verdicts"),
    ),
    plot=Suspicious.draw,
    settings=SuspiciousSettings,
    json="""\
"suspicious": [{"kind": "label?" | "missing?" | "box?" | "is it there?" | "twice?", "truth", "pred", "other", "image",
                "label", "says", "box", "suspicion", "probability_wrong", "confidence", "iou", "cost", "by",
                "reason"}, …]
`truth`, `pred` and `other` are rows of the files; `truth` is `null` where an object may be missing. `says` is the
predicted class, `by` the detector. `suspicion` (0 to 1) is an order; `probability_wrong` is `null` unless `--verdicts`
has at least 50 of them. `"probability"` is deprecated: the suspicion, under the name it had.""",
)
