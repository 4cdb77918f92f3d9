"""Results of protocols that match objects: matches, outcomes, bootstrap scores and numbers per image.

COCO, Pascal VOC, LVIS and Open Images keep their evaluation, so that everything that asks for single objects (error
analysis, leaderboards, overlays, the report) is a method of :class:`MatchedResults`. Merged partial results are
results of the same classes whose evaluation has no objects any more: `has_objects` is False.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from verite.errors import BadParameter
from verite.model.results import Results, choose_threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verite.evaluation.evaluation import Floats, MatchedEvaluation, Outcomes
    from verite.evaluation.importance import ImportanceScores
    from verite.model.outcomes import ObjectOutcomes
    from verite.model.results import Matches


class MatchedResults(Results):
    """Results that keep the matching of predictions with ground truth.

    `settings` are those of the protocol, with IoU thresholds and a confidence threshold; `evaluation` is the matching.
    """

    if TYPE_CHECKING:

        @property
        def evaluation(self) -> MatchedEvaluation: ...

    @property
    def has_objects(self) -> bool:
        """Whether single objects are at hand: merged partial results have numbers alone."""
        return self.evaluation.has_objects

    @property
    def iou_thresholds(self) -> tuple[float, ...]:
        """IoU thresholds of the evaluation."""
        return tuple(self.settings.iou)

    def matches(self, iou: float | None = None) -> Matches:
        """Which prediction is matched to which ground truth, of any area, at one of the IoU thresholds."""
        return self.evaluation.matches(self.settings.iou, iou, self.settings.confidence)

    def outcomes(self, iou: float | None = None) -> Outcomes:
        """Return the outcome of every object at one of the IoU thresholds; None is the only one."""
        return self.evaluation.outcomes(choose_threshold(self.settings.iou, iou))

    def objects(self, iou: float | None = None) -> ObjectOutcomes:
        """Return a table with one row per object; see `Results.objects`. By default at the first IoU threshold."""
        return super().objects(self.iou_thresholds[0] if iou is None else iou)

    def by_image(self) -> dict[str, list[Any]]:
        """Return the evaluation of each image alone, as columns; see `Evaluation.by_image`."""
        return self.evaluation.by_image()


class MeanResults(MatchedResults):
    """Results whose scores are means that can be computed again on other images and ground truths: COCO, VOC, LVIS."""

    def mean_query(self, score: str, label: str | None = None) -> tuple[Any, ...]:
        """Return the mean behind a score, of all classes or one, as the bootstrap takes it."""
        raise NotImplementedError

    def bootstrap_means(self, parts: Sequence[tuple[Any, ...]], weights: Floats) -> Floats:
        """Return means on bootstrap samples, [sample, part], from weights [sample, image]."""
        return self.evaluation.bootstrap_means(parts, weights)

    def draw_scores(self, scores: Sequence[str], weights: Floats, label: str | None = None) -> Floats:
        """Return scores on bootstrap samples of the images; see `Results.draw_scores`."""
        return self.bootstrap_means([self.mean_query(score, label) for score in scores], weights)

    def draw_class_scores(self, score: str, weights: Floats, labels: Sequence[str]) -> Floats:
        """Return a score of some classes on bootstrap samples of the images: [sample, class]."""
        return self.bootstrap_means([self.mean_query(score, label) for label in labels], weights)

    def bin_means(self, of_truths: Any, of_preds: Any, bins: int, areas: Any = ()) -> list[float]:
        """Return the first score of the objects in each bin; see `Results.bin_means`."""
        part = self.mean_query(next(iter(self.scores)))
        return self.evaluation.bin_means(part, of_truths, of_preds, bins, areas)


class WeighableResults(MeanResults):
    """Results that also have scores weighted by the importance of ground-truth objects: COCO and VOC."""

    @cached_property
    def importance(self) -> ImportanceScores | None:
        """Average precision by weighted recall, where the setting `importance` gives weights of objects; else None.

        Raises
        ------
        BadParameter
            If the results are merged from partial ones, which have no objects.
        """
        given = self.settings.importance
        if given is None:
            return None
        if not self.has_objects:
            raise BadParameter("importance: expected an evaluation in one piece, found merged partial results")
        from verite.evaluation.importance import importance_scores, object_weights

        asked, recalls = self.importance_query()
        weights = object_weights(given, self.truth)
        return importance_scores(self.evaluation, weights, asked, recalls, self.signature, self.SLACK)  # type: ignore[arg-type]

    def importance_query(self) -> tuple[dict[str, tuple[str, Sequence[int]]], Sequence[float] | None]:
        """Return the scores that are weighted by importance, as `importance_scores` takes them, and the recalls."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, with the documented keys."""
        weighted = {} if self.importance is None else {"importance": self.importance.to_dict()}
        return super().to_dict() | weighted
