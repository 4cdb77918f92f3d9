"""Evaluate the scene score of two datasets: one score per image, per class, and the trace of a single image.

Each image gets a number from 0 (perfect) to 1 for localization, recognition and detection together (Hemery et al.).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.checks.check import Finding
from verite.errors import IS_COMMAND_LINE, BadParameter, did_you_mean
from verite.evaluation.bootstrap import draw_ratio
from verite.evaluation.importance import object_weights
from verite.evaluation.prepare import prepare, probabilities
from verite.evaluation.settings import above_threshold
from verite.metrics.importance import are_pixel_weights, check_weighable, pixel_weights, weigh_pixels
from verite.metrics.localize import check_units
from verite.metrics.metric import Metric
from verite.model.annotations import Annotations
from verite.model.images import known_images
from verite.model.results import Matches, Results, choose_threshold
from verite.model.tables import Part, Table, show_cell
from verite.pairs.objects import ignored_truth, iou_of, lie_in_ignore_regions, mean_of
from verite.protocols.protocol import protocol
from verite.scene.class_distances import ClassDistances, class_distances
from verite.scene.score import (
    CandidateMatches,
    SceneObjects,
    SceneScoreSettings,
    ScoredScenes,
    ScoreRules,
    localization_metric,
    localization_score,
    overlapping_pairs,
    recognition_score,
    score_scenes,
)
from verite.scene.trace import SceneObject, Trace
from verite.signature import Signature

if TYPE_CHECKING:
    from verite.files import JsonObject

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
QUANTILES = {"best": 0.0, "lower quarter": 0.25, "median": 0.5, "upper quarter": 0.75, "worst": 1.0}
MOST_IMAGES = 10  # listed in the terminal, the worst first
FORGIVEN = 0.1  # mean of 1 - IoU from which a mean localization error of less than half of it is reported
HEADS = {"matched": "matches"}  # an object may have several matches


@protocol(SceneScoreSettings, examples="", best=0.0)
def scene_score(truth: Annotations, pred: Annotations, settings: SceneScoreSettings) -> SceneScoreResults:
    """Score each image from 0 (perfect) to 1: localization, recognition and detection of its objects together.

    A match scores alpha · localization + (1 - alpha) · recognition. Recognition is the distance of the two classes,
    weighted by (1 + confidence) / 2 where they differ. Missed and spurious objects are paired with each other at a
    score of 1, and alone where one side has more of them. The score of an image is the mean. `pred` may be compared
    with the result of another algorithm as `truth`: the score then measures how far two results differ.

    Parameters
    ----------
    truth, pred : Annotations, path, or anything :func:`verite.read` takes
        Ground truth and predictions; a dict of predictions by name compares several detectors.
    matching : {"multiple", "one-to-one"}, default "multiple"
        Match an object with any number of others, or by the assignment with the largest sum of IoUs.
    iou : float, optional
        IoU threshold of a match. Default: 0.2, and any overlap for one-to-one.
    alpha : float, default 0.8
        Weight of localization; recognition has the rest.
    localization : str or Metric, default "martin"
        The paper's measure (0 where one region contains the other), or a metric of the catalogue from 0 to 1.
    distance : ClassDistances, mapping, path or "voc", optional
        Distances between classes. Default: 1 for any two that differ.
    certain : bool, default False
        Treat every prediction as having confidence 1, as are those without a confidence.
    cost : str or mapping, optional
        Weights of missed and spurious objects against a match of weight 1, e.g. ``{"missed": 3, "spurious": 1}``.
    importance : path or iterable of float, optional
        Weights of ground-truth objects (a table with the column ``weight`` and ``image``, ``class`` or ``id``, or one
        number each); or of pixels, for the localization of matches (a folder of grey images, or a table with the
        columns ``keypoint`` and ``weight``). Default: everything weighs 1.
    confidence : float, mapping or path, optional
        Drop objects below this confidence. Default: keep all.
    regions, pixel, ignored, polygons, labels, name, checks
        As for :func:`verite.localize`.

    Returns
    -------
    SceneScoreResults
        `score`, `image_scores`, tables of images and classes, and `trace(image)`.

    Raises
    ------
    BadParameter
        If a setting is out of its range.
    DataError
        If a confidence is outside 0 to 1, or a class has no distances.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 4, 4], [10, 10, 14, 14]])
    >>> pred = vt.Annotations.of(["a"], ["dog"], [[1, 0, 5, 4]])
    >>> vt.scene_score(truth, pred, checks="off").score      # (0.8 · 1/4 + 0.2 · 1 + 1) / 2
    0.7
    """
    config = SceneScoreConfig.of(settings)
    # Predictions without a confidence have confidence 1.
    truth, pred, findings = prepare(truth, pred, settings.checks, is_ranked=False)
    if settings.labels is not None:
        truth, pred = settings.choose(truth, pred)
        pred = pred.like(truth)
    check_units(truth, [config.localization])
    return SceneScoreResults(config, truth, pred, findings)


@dataclass(frozen=True)
class SceneScoreConfig:
    """The settings with the objects they name: rules, localization metric and class distances."""

    settings: SceneScoreSettings
    rules: ScoreRules
    localization: Metric
    distances: ClassDistances

    @classmethod
    def of(cls, settings: SceneScoreSettings) -> SceneScoreConfig:
        """Resolve the settings; BadParameter if one of them is wrong."""
        rules = ScoreRules(settings.matching, settings.iou, settings.alpha, settings.cost)
        localization = localization_metric(settings.localization)
        if are_pixel_weights(settings.importance):
            check_weighable([localization])
        return cls(settings, rules, localization, class_distances(settings.distance))

    @property
    def signature(self) -> Signature:
        """The signature; its name "interpret" is that of earlier versions."""
        return self.settings.signature(
            "interpret",
            iou=self.rules.iou_threshold,
            localization=self.localization.name,
            distance=self.distances.signature_value,
        )


class SceneScoreResults(Results):
    """Scene scores of all images with their mean and quantiles, counts per class, and the trace of any image."""

    def __init__(
        self, config: SceneScoreConfig, truth: Annotations, pred: Annotations, findings: Sequence[Finding] = ()
    ) -> None:
        settings = config.settings
        self.config = config
        self.known = known_images(truth, pred)
        is_ignored = ignored_truth(truth, settings)
        # Rows of the ground truth and predictions that count, in the order of the files.
        self.truth_rows = np.flatnonzero(~is_ignored & reaches_confidence(truth, settings))
        self.pred_rows = np.flatnonzero(reaches_confidence(pred, settings))
        preds = pred.take(self.pred_rows)
        is_certain = settings.certain
        remedy = "--certain" if IS_COMMAND_LINE.get() else "certain=True"
        self.confidence = np.ones(len(self.pred_rows)) if is_certain else probabilities(preds, remedy)
        # Predictions that match ignored ground truth, or lie in an ignore region, do not count as spurious.
        self.on_ignored = lie_in_ignore_regions(truth, preds, settings)
        if is_ignored.any():
            _, reached, pairs = overlapping_pairs(truth.where(is_ignored), preds, settings)
            self.on_ignored[reached[config.rules.may_match(iou_of(pairs))]] = True
        truths = truth.take(self.truth_rows)
        for side in (truths, preds):
            config.distances.check_covers(side.labels, side.label)
        self.members = SceneObjects(len(self.known), truths.image.astype(np.int64), preds.image.astype(np.int64))
        self.overlap, self.candidates = self.compare(truths, preds)
        of_objects = settings.importance is not None and not are_pixel_weights(settings.importance)
        weights = object_weights(settings.importance, truth)[self.truth_rows] if of_objects else None
        self.scored: ScoredScenes = score_scenes(self.members, self.candidates, config.rules, self.on_ignored, weights)
        signature = config.signature
        super().__init__(
            protocol="interpret",
            signature=signature,
            scores={"score": (mean_of(self.scored.score), signature)},
            truth=truth,
            pred=pred,
            name=settings.name,
            findings=findings,
        )

    def compare(self, truths: Annotations, preds: Annotations) -> tuple[tuple[Ints, Ints, Floats], CandidateMatches]:
        """Return rows, columns and values of every IoU above 0, and the candidate matches with their errors."""
        rows, columns, pairs = overlapping_pairs(truths, preds, self.config.settings)
        iou = iou_of(pairs)
        enough = np.flatnonzero(self.config.rules.may_match(iou))
        at = rows[enough], columns[enough]
        mine, theirs = truths.label[at[0]], preds.label[at[1]]
        distance = self.config.distances.between(mine, theirs, truths.labels, preds.labels)
        recognition = recognition_score(distance, mine == theirs, self.confidence[at[1]])
        near, importance = pairs.take(enough), self.config.settings.importance
        if are_pixel_weights(importance):
            near = weigh_pixels(near, pixel_weights(importance, truths, preds, *at))
        localization = localization_score(self.config.localization, near)
        shared = np.flatnonzero(iou > 0)
        every = rows[shared], columns[shared], iou[shared]
        return every, CandidateMatches(*at, iou[enough], localization, recognition)

    @property
    def score(self) -> float:
        """The mean score over the images."""
        return self.scores["score"].value

    @property
    def image_scores(self) -> Floats:
        """The score of each image."""
        return self.scored.score

    @property
    def image_names(self) -> list[str]:
        """The name of each image."""
        return [self.known.name(i) for i in range(len(self.known))]

    def quantiles(self) -> dict[str, float]:
        """Return best, quartiles and worst of the image scores."""
        scores = self.scored.score
        return {key: float(np.quantile(scores, q)) if len(scores) else nan for key, q in QUANTILES.items()}

    @property
    def worst_first(self) -> Ints:
        """Images by decreasing score; equal ones in the order of the files."""
        return np.argsort(-self.scored.score, kind="stable")

    def image_counts(self) -> dict[str, Ints]:
        """Return counts per image: ground truth, predictions, matches, missed and spurious objects."""
        scored, objects, count = self.scored, self.members, len(self.known)
        return {
            "truths": np.bincount(objects.truth, minlength=count),
            "preds": np.bincount(objects.pred[~self.on_ignored | self.is_matched], minlength=count),
            "matched": scored.matched,
            "missed": np.bincount(objects.truth[scored.missed], minlength=count),
            "spurious": np.bincount(objects.pred[scored.spurious], minlength=count),
        }

    @property
    def is_matched(self) -> NDArray[np.bool_]:
        """Flags of predictions with a match."""
        found = np.zeros(len(self.pred_rows), dtype=np.bool_)
        found[self.scored.matches.pred] = True
        return found

    def matches(self, iou: float | None = None) -> Matches:
        """Return the match of each object, that with the highest IoU where it has several."""
        threshold = self.config.rules.iou_threshold
        choose_threshold((threshold,), iou)
        found, sizes = self.scored.matches, (len(self.truth), len(self.pred))
        rising = np.argsort(found.overlap, kind="stable")
        pairs = self.truth_rows[found.truth[rising]], self.pred_rows[found.pred[rising]]
        false_positives = self.pred_rows[~self.on_ignored | self.is_matched]
        return Matches.of_pairs(threshold, sizes, pairs, self.truth_rows, false_positives)

    def is_error(self, score: str) -> bool:
        """Return True: lower scores are better."""
        return True

    def image_table(self, most: int | None = None) -> Table:
        """Return a table of images, the worst first."""
        order = self.worst_first[:most]
        columns: dict[str, Sequence[Any]] = {"score": self.scored.score[order].tolist()}
        columns |= {HEADS.get(key, key): values[order].tolist() for key, values in self.image_counts().items()}
        title = "worst images" if len(order) < len(self.known) else ""
        return Table.of("image", [self.known.name(int(i)) for i in order], columns, title=title)

    def tables(self) -> dict[str, Table]:
        return {"images": self.image_table(), "classes": self.class_table()}

    def describe_forgiven(self) -> str:
        """Return a warning if the localization metric counts matches as much better than their IoU says."""
        matches = self.scored.matches
        own, by_iou = mean_of(matches.localization), mean_of(1 - matches.overlap)
        if not len(matches.overlap) or by_iou < FORGIVEN or own > by_iou / 2:
            return ""
        free = int(((matches.localization == 0) & (matches.overlap < 1)).sum())
        return (
            f"{self.config.localization.name} forgives much: its mean error of matches is {own:.3f}, by 1 - IoU "
            f"{by_iou:.3f}; {free:,} of {len(matches.overlap):,} matches differ without any error, because one region "
            "contains the other (localization=iou penalises these)"
        )

    # Classes.

    @property
    def class_names(self) -> list[str]:
        known = self.pred.labels if len(self.pred.labels) >= len(self.truth.labels) else self.truth.labels
        return list(known.all_names)

    def class_columns(self) -> dict[str, list[Any]]:
        """Return score, counts and mean errors of each class.

        The score is the mean of the local scores of its ground truth, a missed object counting 1. Localization and
        recognition are means over its matches, `confused` counts matches with another class, and spurious predictions
        count for their own class.
        """
        scored, matches, count = self.scored, self.scored.matches, len(self.class_names)
        truth, pred = self.truth.label[self.truth_rows], self.pred.label[self.pred_rows]
        of_match = truth[matches.truth]
        missed, spurious = (
            np.bincount(side, minlength=count) for side in (truth[scored.missed], pred[scored.spurious])
        )
        found = np.bincount(of_match, minlength=count)
        total = np.bincount(of_match, weights=scored.local, minlength=count) + missed
        means = {
            name: means_of(np.bincount(of_match, weights=values, minlength=count), found)
            for name, values in (("localization", matches.localization), ("recognition", matches.recognition))
        }
        is_other = (of_match != pred[matches.pred]).astype(np.float64)
        return {
            "score": means_of(total, found + missed).tolist(),
            "truths": np.bincount(truth, minlength=count).tolist(),
            "matched": found.tolist(),
            "missed": missed.tolist(),
            "spurious": spurious.tolist(),
            "confused": np.bincount(of_match, weights=is_other, minlength=count).astype(np.int64).tolist(),
            **{name: values.tolist() for name, values in means.items()},
        }

    def class_scores(self) -> dict[str, list[float]]:
        """Return the score of each class."""
        return {"score": self.class_columns()["score"]}

    def draw_scores(self, scores: Sequence[str], weights: Floats, label: str | None = None) -> Floats:
        """Return bootstrap means of some scores, [draw, score], for weights of the images, [draw, image]."""
        if label is None:
            every = np.arange(len(self.known))
            for score in scores:
                self[score]  # raises for an unknown score
            parts = [(every, self.scored.score) for _ in scores]
        else:
            parts = [self.rows_of(score, self.class_names.index(label)) for score in scores]
        return np.stack([draw_ratio(weights, image, own, np.ones(len(own))) for image, own in parts], axis=1)

    def rows_of(self, score: str, label: int) -> tuple[Ints, Floats]:
        """Return the values that a score of a class is the mean of, after the image of each."""
        scored, matches = self.scored, self.scored.matches
        labels = self.truth.label[self.truth_rows]
        values = {"score": scored.local, "localization": matches.localization, "recognition": matches.recognition}
        if score not in values:
            self[score]  # raises for an unknown score
        found = np.flatnonzero(labels[matches.truth] == label)
        image, own = self.members.truth[matches.truth[found]], values[score][found]
        if score != "score":
            return image, own
        missed = scored.missed[labels[scored.missed] == label]
        return np.append(image, self.members.truth[missed]), np.append(own, np.ones(len(missed)))

    def class_table(self) -> Table:
        """Return a table of the classes that occur, with totals."""
        columns = self.class_columns()
        counts = ("truths", "matched", "missed", "spurious", "confused")
        totals: dict[str, float] = {key: sum(columns[key]) for key in counts}
        totals |= {
            "localization": mean_of(self.scored.matches.localization),
            "recognition": mean_of(self.scored.matches.recognition),
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
        """Return the position of the image with this name or id."""
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
        """Return every matrix of the computation for one image, given by its name or its position."""
        i = self.position(image) if isinstance(image, str) else int(image)
        if not 0 <= i < len(self.known):
            raise BadParameter(f"image: expected a position from 0 to {len(self.known) - 1}, found {i}")
        truths = np.flatnonzero(self.members.truth == i)
        preds = np.flatnonzero((self.members.pred == i) & (~self.on_ignored | self.is_matched))
        shape = (len(truths), len(preds))
        matrices = [np.zeros(shape) for _ in range(3)]
        candidates = self.candidates
        for out, (rows, columns, values) in zip(
            matrices,
            (
                self.overlap,
                (candidates.truth, candidates.pred, candidates.localization),
                (candidates.truth, candidates.pred, candidates.recognition),
            ),
            strict=True,
        ):
            here = np.flatnonzero((self.members.truth[rows] == i) & np.isin(columns, preds))
            out[np.searchsorted(truths, rows[here]), np.searchsorted(preds, columns[here])] = values[here]
        rules, unscored = self.config.rules, self.on_ignored & (self.members.pred == i) & ~self.is_matched
        return Trace.of(
            *matrices,
            matching=rules.matching,
            iou=rules.threshold,
            alpha=rules.alpha,
            truths=[self.describe(self.truth, int(self.truth_rows[t])) for t in truths],
            preds=[self.describe(self.pred, int(self.pred_rows[p])) for p in preds],
            image=self.known.name(i),
            ignored=int((self.truth.image == i).sum()) - len(truths),
            excused=int(unscored.sum()),
            scene=(self.truth.take(self.truth_rows[truths]), self.pred.take(self.pred_rows[preds])),
            about={"protocol": self.protocol, "signature": str(self.signature), "name": self.name},
        )

    def describe(self, side: Annotations, row: int) -> SceneObject:
        """Return class, confidence and row of an object for a trace."""
        confidence = None if side is self.truth or side.confidence is None else float(side.confidence[row])
        return SceneObject(side.labels.name(int(side.label[row])), confidence, row)

    # Output.

    def contents(self) -> list[Part]:
        quantiles = "   ".join(f"{key} {value:.4f}" for key, value in self.quantiles().items() if not isnan(value))
        word = "image" if len(self.known) == 1 else "images"
        matches, truths, notes = int(self.scored.matched.sum()), len(self.members.truth), []
        if matches > truths:
            found = f"{matches:,} matches of {truths:,} ground-truth object" + "s" * (truths != 1)
            notes.append(f"{found}: with multiple matching an object may have several, with one-to-one at most one")
        if forgiven := self.describe_forgiven():
            notes.append(forgiven)
        return [
            f"{self.name}   score {show_cell(self.score)} over {len(self.known):,} {word} (0 is perfect, 1 is worst)",
            quantiles,
            self.image_table(MOST_IMAGES),
            self.class_table(),
            *notes,
            self.signature,
            *self.notes,
        ]

    def details(self) -> JsonObject:
        counts = {key: values.tolist() for key, values in self.image_counts().items()}
        scores, columns = self.scored.score.tolist(), self.class_columns()
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


def means_of(total: NDArray[Any], count: NDArray[Any]) -> Floats:
    """Return total / count, NaN where the count is 0.

    Parameters
    ----------
    total
        Sums, one per class or image.
    count
        Number of terms of each sum.

    Returns
    -------
    Floats
        The means, NaN where there is nothing to average.
    """
    out = np.full(len(total), nan)
    np.divide(total, count, out=out, where=count > 0)
    return out


def reaches_confidence(side: Annotations, settings: SceneScoreSettings) -> NDArray[np.bool_]:
    """Flag the objects at or above the confidence threshold; those without a confidence are kept.

    Parameters
    ----------
    side
        Predictions.
    settings
        With the confidence threshold, None for no threshold.

    Returns
    -------
    NDArray[np.bool_]
        A flag per object.
    """
    if settings.confidence is None or side.confidence is None:
        return np.ones(len(side), dtype=np.bool_)
    found: NDArray[np.bool_] = above_threshold(side, settings.confidence) | side.flag("unscored")
    return found
