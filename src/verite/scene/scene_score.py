"""How well was each image understood? The interpretation score of two data sets, image by image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, DataError, did_you_mean
from verite.evaluation.bootstrap import draw_ratio
from verite.evaluation.prepare import prepare
from verite.evaluation.settings import above_threshold
from verite.metrics.localize import refuse_fractions
from verite.metrics.metric import Metric
from verite.model.annotations import Annotations
from verite.model.images import known_images
from verite.model.results import Matches, Results, choose_threshold
from verite.model.tables import Part, Table, show_cell
from verite.pairs.objects import ignored_truths, mean_of, overlap_of
from verite.protocols.protocol import protocol
from verite.scene.class_distances import ClassDistances, class_distances
from verite.scene.score import (
    InterpretSettings,
    Objects,
    Possible,
    Ruling,
    ScoreRules,
    find_overlaps,
    judge,
    localization_metric,
    localization_score,
    recognition_score,
)
from verite.scene.trace import Thing, Trace
from verite.signature import Signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
QUANTILES = {"best": 0.0, "lower quarter": 0.25, "median": 0.5, "upper quarter": 0.75, "worst": 1.0}
MOST_IMAGES = 10  # listed in the terminal, the worst first
HEADS = {"matched": "matches"}  # counted by couple: an object may have several


@protocol(InterpretSettings, examples="", best=0.0)
def scene_score(truth: Annotations, pred: Annotations, settings: InterpretSettings) -> InterpretationResults:
    """One score for each image, 0 perfect and 1 worst: localization, recognition and detection of its objects together.

    Objects that overlap by `iou` (0.2) are matched, any number with any other; `matching="one-to-one"` takes the
    assignment with the largest sum of overlaps instead, without a threshold unless one is given. A match scores
    alpha · localization + (1 - alpha) · recognition. Recognition is the `distance` of the two classes (1 if they
    differ; or `ClassDistances`, a CSV file, a taxonomy, "voc"), times (1 + confidence) / 2 where they differ. Objects
    without a match are paired with each other at a score of 1, and alone where one side has more of them. The score of
    the image is the mean.

    `localization` is the paper's measure ("martin", 0 where one region contains the other), or any metric of the
    catalogue from 0 to 1. `confidence` leaves weaker objects out; `certain=True` takes each as certain, as
    are those without one. `regions`, `pixel`, `ignored` and `polygons` are as for `localize`. Either side may be the
    result of an algorithm: the score is then how far two results lie apart.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 4, 4], [10, 10, 14, 14]])
    >>> pred = Annotations.of(["a"], ["dog"], [[1, 0, 5, 4]])
    >>> scene_score(truth, pred, checks="off").score      # (0.8 · 1/4 + 0.2 · 1 + 1) / 2
    0.7
    """
    how = How.of(settings)
    # Who gives no confidence is certain.
    truth, pred, findings = prepare(truth, pred, settings.checks, is_ranked=False)
    if settings.labels is not None:
        truth, pred = settings.choose(truth, pred)
        pred = pred.like(truth)
    refuse_fractions(truth, [how.localization])
    return InterpretationResults(how, truth, pred, findings)


@dataclass(frozen=True)
class How:
    """The settings, and what they name."""

    settings: InterpretSettings
    rules: ScoreRules
    localization: Metric
    distances: ClassDistances

    @classmethod
    def of(cls, settings: InterpretSettings) -> How:
        rules = ScoreRules(settings.matching, settings.iou, settings.alpha)
        localization = localization_metric(settings.localization)
        return cls(settings, rules, localization, class_distances(settings.distance))

    @property
    def signature(self) -> Signature:
        return self.settings.signature(
            "interpret", iou=self.rules.least, localization=self.localization.name, distance=self.distances.spelled
        )


class InterpretationResults(Results):
    """The score of every image, their mean and quantiles, what became of each class, and the trace of any image."""

    def __init__(self, how: How, truth: Annotations, pred: Annotations, findings: Sequence[Any] = ()) -> None:
        self.how = how
        self.known = known_images(truth, pred)
        # Rows of the truths and preds that count, in the order of the files.
        is_ignored = ignored_truths(truth, how.settings)
        self.truth_rows = np.flatnonzero(~is_ignored & is_sure(truth, how.settings))
        self.pred_rows = np.flatnonzero(is_sure(pred, how.settings))
        self.certainty = np.ones(len(self.pred_rows)) if how.settings.certain else certainties(pred, self.pred_rows)
        preds = pred.take(self.pred_rows)
        self.excused = np.zeros(len(preds), dtype=np.bool_)
        if is_ignored.any():
            _, reached, pairs = find_overlaps(truth.where(is_ignored), preds, how.settings)
            self.excused[reached[how.rules.may_match(overlap_of(pairs))]] = True
        truths = truth.take(self.truth_rows)
        for side in (truths, preds):
            how.distances.check_covers(side.labels, side.label)
        self.members = Objects(len(self.known), truths.image.astype(np.int64), preds.image.astype(np.int64))
        self.overlap, self.possible = self.compare(truths, preds)
        self.judged: Ruling = judge(self.members, self.possible, how.rules, self.excused)
        signature = how.signature
        super().__init__(
            protocol="interpret",
            signature=signature,
            scores={"score": (mean_of(self.judged.score), signature)},
            truth=truth,
            pred=pred,
            name=how.settings.name,
            findings=findings,
        )

    def compare(self, truths: Annotations, preds: Annotations) -> tuple[tuple[Ints, Ints, Floats], Possible]:
        """Every overlap above 0, and how well those objects agree that may be a match."""
        rows, columns, pairs = find_overlaps(truths, preds, self.how.settings)
        overlap = overlap_of(pairs)
        enough = np.flatnonzero(self.how.rules.may_match(overlap))
        at = rows[enough], columns[enough]
        mine, theirs = truths.label[at[0]], preds.label[at[1]]
        distance = self.how.distances.between(mine, theirs, truths.labels, preds.labels)
        recognition = recognition_score(distance, mine == theirs, self.certainty[at[1]])
        localization = localization_score(self.how.localization, pairs.take(enough))
        shared = np.flatnonzero(overlap > 0)
        every = rows[shared], columns[shared], overlap[shared]
        return every, Possible(*at, overlap[enough], localization, recognition)

    @property
    def score(self) -> float:
        """The mean over the images."""
        return self.scores["score"].value

    @property
    def image_scores(self) -> Floats:
        """One for each image."""
        return self.judged.score

    @property
    def image_names(self) -> list[str]:
        return [self.known.name(i) for i in range(len(self.known))]

    def quantiles(self) -> dict[str, float]:
        scores = self.judged.score
        return {key: float(np.quantile(scores, q)) if len(scores) else nan for key, q in QUANTILES.items()}

    @property
    def worst_first(self) -> Ints:
        """Images by falling score; equal ones in the order of the files."""
        return np.argsort(-self.judged.score, kind="stable")

    def image_counts(self) -> dict[str, Ints]:
        """For each image its truths, preds, matches, missed truths and spurious preds."""
        judged, objects, count = self.judged, self.members, len(self.known)
        return {
            "truths": np.bincount(objects.truth, minlength=count),
            "preds": np.bincount(objects.pred[~self.excused | self.is_matched], minlength=count),
            "matched": judged.matched,
            "missed": np.bincount(objects.truth[judged.missed], minlength=count),
            "spurious": np.bincount(objects.pred[judged.spurious], minlength=count),
        }

    @property
    def is_matched(self) -> NDArray[np.bool_]:
        """Which preds have a match."""
        found = np.zeros(len(self.pred_rows), dtype=np.bool_)
        found[self.judged.matches.pred] = True
        return found

    def matches(self, iou: float | None = None) -> Matches:
        """Which prediction is matched to which ground truth; of several, the one of highest IoU."""
        threshold = self.how.rules.least
        choose_threshold((threshold,), iou)
        found, sizes = self.judged.matches, (len(self.truth), len(self.pred))
        rising = np.argsort(found.overlap, kind="stable")
        pairs = self.truth_rows[found.truth[rising]], self.pred_rows[found.pred[rising]]
        false_positives = self.pred_rows[~self.excused | self.is_matched]
        return Matches.of_pairs(threshold, sizes, pairs, self.truth_rows, false_positives)

    def is_error(self, score: str) -> bool:
        return True

    def image_table(self, most: int | None = None) -> Table:
        """The images, the worst first."""
        order = self.worst_first[:most]
        columns: dict[str, Sequence[Any]] = {"score": self.judged.score[order].tolist()}
        columns |= {HEADS.get(key, key): values[order].tolist() for key, values in self.image_counts().items()}
        title = "worst images" if len(order) < len(self.known) else ""
        return Table.of("image", [self.known.name(int(i)) for i in order], columns, title=title)

    def tables(self) -> dict[str, Table]:
        return {"images": self.image_table(), "classes": self.class_table()}

    # Classes.

    @property
    def class_names(self) -> list[str]:
        known = self.pred.labels if len(self.pred.labels) >= len(self.truth.labels) else self.truth.labels
        return list(known.all_names)

    def class_columns(self) -> dict[str, list[Any]]:
        """What became of the objects of each class.

        The score is the mean of the local scores of its truths, a missed one counting 1; localization and recognition
        are means over its matches, `confused` counts matches with another class; spurious preds go by their own class.
        """
        judged, matches, count = self.judged, self.judged.matches, len(self.class_names)
        truth, pred = self.truth.label[self.truth_rows], self.pred.label[self.pred_rows]
        of_match = truth[matches.truth]
        missed, spurious = (
            np.bincount(side, minlength=count) for side in (truth[judged.missed], pred[judged.spurious])
        )
        found = np.bincount(of_match, minlength=count)
        total = np.bincount(of_match, weights=judged.local, minlength=count) + missed
        means = {
            name: divide(np.bincount(of_match, weights=values, minlength=count), found)
            for name, values in (("localization", matches.localization), ("recognition", matches.recognition))
        }
        is_other = (of_match != pred[matches.pred]).astype(np.float64)
        return {
            "score": divide(total, found + missed).tolist(),
            "truths": np.bincount(truth, minlength=count).tolist(),
            "matched": found.tolist(),
            "missed": missed.tolist(),
            "spurious": spurious.tolist(),
            "confused": np.bincount(of_match, weights=is_other, minlength=count).astype(np.int64).tolist(),
            **{name: values.tolist() for name, values in means.items()},
        }

    def class_scores(self) -> dict[str, list[float]]:
        return {"score": self.class_columns()["score"]}

    def draw_scores(self, scores: Sequence[str], weights: Floats, label: str | None = None) -> Floats:
        if label is None:
            every = np.arange(len(self.known))
            parts = [(every, self.judged.score) for score in scores if self[score]]
        else:
            parts = [self.rows_of(score, self.class_names.index(label)) for score in scores]
        return np.stack([draw_ratio(weights, image, own, np.ones(len(own))) for image, own in parts], axis=1)

    def rows_of(self, score: str, label: int) -> tuple[Ints, Floats]:
        """What a score of a class is the mean of, and the image of each."""
        judged, matches = self.judged, self.judged.matches
        labels = self.truth.label[self.truth_rows]
        values = {"score": judged.local, "localization": matches.localization, "recognition": matches.recognition}
        if score not in values:
            self[score]  # an unknown one is named there
        found = np.flatnonzero(labels[matches.truth] == label)
        image, own = self.members.truth[matches.truth[found]], values[score][found]
        if score != "score":
            return image, own
        missed = judged.missed[labels[judged.missed] == label]
        return np.append(image, self.members.truth[missed]), np.append(own, np.ones(len(missed)))

    def class_table(self) -> Table:
        """A row for each class that occurs, and all of them together; the score of all is that of the images."""
        columns = self.class_columns()
        counts = ("truths", "matched", "missed", "spurious", "confused")
        totals: dict[str, Any] = {key: sum(columns[key]) for key in counts}
        totals |= {
            "localization": mean_of(self.judged.matches.localization),
            "recognition": mean_of(self.judged.matches.recognition),
        }
        shown = [i for i in range(len(self.class_names)) if columns["truths"][i] or columns["spurious"][i]]
        return Table.of(
            "class",
            [self.class_names[i] for i in shown],
            {HEADS.get(key, key): [values[i] for i in shown] for key, values in columns.items()},
            mean={HEADS.get(key, key): value for key, value in totals.items()},
        )

    # One image.

    def position(self, image: str) -> int:
        """Where the image of this name or id is."""
        found = self.known.find(image) if self.known.names is not None else None
        if found is None and image.isdecimal() and len(image) < 19:
            found = self.known.index_of_id.get(int(image))
        if found is None:
            raise BadParameter(
                f"image: expected one of {len(self.known):,} images, found {image!r}"
                f"{did_you_mean(image, self.image_names)}"
            )
        return found

    def trace(self, image: str | int) -> Trace:
        """Every matrix on the way to the score of one image, by its name or its position."""
        i = self.position(image) if isinstance(image, str) else int(image)
        if not 0 <= i < len(self.known):
            raise BadParameter(f"image: expected a position from 0 to {len(self.known) - 1}, found {i}")
        truths = np.flatnonzero(self.members.truth == i)
        preds = np.flatnonzero((self.members.pred == i) & (~self.excused | self.is_matched))
        shape = (len(truths), len(preds))
        matrices = [np.zeros(shape) for _ in range(3)]
        possible = self.possible
        for out, (rows, columns, values) in zip(
            matrices,
            (
                self.overlap,
                (possible.truth, possible.pred, possible.localization),
                (possible.truth, possible.pred, possible.recognition),
            ),
            strict=True,
        ):
            here = np.flatnonzero((self.members.truth[rows] == i) & np.isin(columns, preds))
            out[np.searchsorted(truths, rows[here]), np.searchsorted(preds, columns[here])] = values[here]
        rules, excused = self.how.rules, self.excused & (self.members.pred == i) & ~self.is_matched
        return Trace.of(
            *matrices,
            matching=rules.matching,
            iou=rules.threshold,
            alpha=rules.alpha,
            truths=[self.thing(self.truth, int(self.truth_rows[t])) for t in truths],
            preds=[self.thing(self.pred, int(self.pred_rows[p])) for p in preds],
            image=self.known.name(i),
            ignored=int((self.truth.image == i).sum()) - len(truths),
            excused=int(excused.sum()),
            scene=(self.truth.take(self.truth_rows[truths]), self.pred.take(self.pred_rows[preds])),
            about={"protocol": self.protocol, "signature": str(self.signature), "name": self.name},
        )

    def thing(self, side: Annotations, row: int) -> Thing:
        confidence = None if side is self.truth or side.confidence is None else float(side.confidence[row])
        return Thing(side.labels.name(int(side.label[row])), confidence, row)

    # What a person sees, and what a program reads.

    def contents(self) -> list[Part]:
        quantiles = "   ".join(f"{key} {value:.4f}" for key, value in self.quantiles().items() if not isnan(value))
        word = "image" if len(self.known) == 1 else "images"
        return [
            f"{self.name}   score {show_cell(self.score)} over {len(self.known):,} {word} (0 is perfect, 1 is worst)",
            quantiles,
            self.image_table(MOST_IMAGES),
            self.class_table(),
            *self.about_matches(),
            self.signature,
            *self.notes,
        ]

    def about_matches(self) -> list[str]:
        """Why there are more matches than truths, if there are."""
        matches, truths = int(self.judged.matched.sum()), len(self.members.truth)
        if matches <= truths:
            return []
        found = f"{matches:,} matches of {truths:,} truth" + "s" * (truths != 1)
        return [f"{found}: with multiple matching an object may have several; one-to-one gives each at most one"]

    def details(self) -> dict[str, Any]:
        counts = {key: values.tolist() for key, values in self.image_counts().items()}
        scores, columns = self.judged.score.tolist(), self.class_columns()
        return {
            "score": self.score,
            "quantiles": self.quantiles(),
            "images": {
                name: {"score": scores[i], **{key: values[i] for key, values in counts.items()}}
                for i, name in enumerate(self.image_names)
            },
            "worst": [self.known.name(int(i)) for i in self.worst_first[:MOST_IMAGES]],
            "classes": {
                name: {key: values[i] for key, values in columns.items()} for i, name in enumerate(self.class_names)
            },
        }


def divide(total: NDArray[Any], count: NDArray[Any]) -> Floats:
    """Means of classes, NaN where a class has nothing."""
    out = np.full(len(total), nan)
    np.divide(total, count, out=out, where=count > 0)
    return out


def is_sure(side: Annotations, settings: InterpretSettings) -> NDArray[np.bool_]:
    """Which objects are left when weak ones are cut; those that do not say how sure they are stay."""
    if settings.confidence is None or side.confidence is None:
        return np.ones(len(side), dtype=np.bool_)
    found: NDArray[np.bool_] = above_threshold(side, settings.confidence) | side.flag("unscored")
    return found


def certainties(pred: Annotations, rows: Ints) -> Floats:
    """How sure each pred is, from 0 to 1; one that does not say is certain."""
    if pred.confidence is None:
        return np.ones(len(rows))
    values = np.where(pred.flag("unscored"), 1.0, pred.confidence)[rows]
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(wrong):
        where = pred.images.name(int(pred.image[rows[wrong[0]]]))
        raise DataError(
            f"{pred.source.path or 'predictions'}: expected confidences from 0 to 1, found {values[wrong[0]]:g} in "
            f"image {where!r}, one of {len(wrong):,}; divide them, or give --certain"
        )
    return values
