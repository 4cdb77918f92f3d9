"""Precision and recall of merged partial results: bit for bit those of one evaluation of all images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import DataError
from verite.evaluation.bootstrap import Points, mean_over_classes
from verite.evaluation.evaluation import Arrays, MatchedEvaluation, PrecisionRecall, Rules
from verite.evaluation.state import PartialMetadata, tell_as
from verite.model.annotations import Annotations, Source
from verite.model.classes import Labels
from verite.model.images import Images

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.evaluation.evaluation import Changes, Floats
    from verite.evaluation.state import EvaluationState


RANGE_BITS = 24  # of the first word of an outcome; above them is the lowest limit that a prediction is within


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Predictions of one class by falling confidence, and its ground truth per image.

    The outcome of a prediction is a row of words of 32 bits. The first has a bit per area range in which the prediction
    is ignored unless it matches, and above them the position of the lowest limit (max_dets) that it is within. Then
    comes one word per block of sixteen IoU thresholds and area range: the lower half says at which thresholds it is a
    true positive, the upper half at which it is ignored.
    """

    image: NDArray[np.uint32]  # position of the image of each prediction
    confidence: NDArray[np.float64]
    words: NDArray[np.uint32]  # [prediction, 1 + block × range]
    cell_image: NDArray[np.uint32]  # images that have ground truth of the class
    counts: NDArray[np.uint32]  # [such image, range]: objects that are not ignored

    def is_hit(self, threshold: int, area: int = 0) -> NDArray[np.bool_]:
        """Return which predictions are true positives at an IoU threshold and in an area range (positions)."""
        return (self.outcome(threshold, area) >> threshold % 16 & 1).astype(bool)

    def is_spared(self, threshold: int, area: int = 0) -> NDArray[np.bool_]:
        """Return which predictions are ignored: matched with an ignored object, or unmatched and outside the range."""
        is_ignored = (self.outcome(threshold, area) >> (threshold % 16 + 16) | self.words[:, 0] >> area) & 1
        return is_ignored.astype(bool) & ~self.is_hit(threshold, area)

    def outcome(self, threshold: int, area: int) -> NDArray[np.uint32]:
        """Return the words with the outcomes at an IoU threshold and in an area range."""
        return self.words[:, 1 + threshold // 16 * int(self.counts.shape[1]) + area]

    def is_within(self, limit: int) -> NDArray[np.bool_]:
        """Return which predictions are within a limit of predictions per image."""
        return (self.words[:, 0] >> RANGE_BITS) <= limit

    def points(self, threshold: int, area: int, limit: int) -> Points:
        """Return the points of the precision-recall curve.

        Parameters
        ----------
        threshold
            Position of the IoU threshold.
        area
            Position of the area range.
        limit
            Position of the limit on predictions per image.

        Returns
        -------
        Points
            True and false positives by falling confidence, with their images, from which AP is computed for any
            weights.
        """
        kept = self.is_within(limit) & ~self.is_spared(threshold, area)
        truths = self.counts[:, area].astype(float)
        return Points(self.image[kept], self.is_hit(threshold, area)[kept], self.cell_image, truths)


class MergedNumbers(MatchedEvaluation, PrecisionRecall):
    """Partial results evaluated as one: bit for bit the numbers of one evaluation of all images.

    `labels` are the classes; by default those of the partial results, by their ids. `class_agnostic`: they were
    ignored.
    """

    has_objects = False

    def __init__(
        self,
        parts: Sequence[EvaluationState],
        labels: Labels | None = None,
        *,
        class_agnostic: bool = False,
        takes_first: bool = False,
        threads: int = 1,
        source: Source | None = None,
        remedy: str = "evaluate in one piece",
    ) -> None:
        self.given = {
            "class_agnostic": class_agnostic,
            "takes_first": takes_first,
            "threads": threads,
            "remedy": remedy,
        }
        self.parts, self.labels, self.threads, self.remedy = tuple(parts), labels, threads, remedy
        self.source = source or Source()
        self.notes = PartialMetadata.join(part.notes for part in parts)
        ids = (
            () if labels is None or class_agnostic else range(len(labels)) if labels.numbers is None else labels.numbers
        )
        with tell_as(DataError):
            self.merger = _core.Merger([part.kept for part in parts], ids, takes_first)
        if ids and (unknown := set(self.merger.labels) - set(ids) - set(self.notes.class_ids)):
            raise DataError(f"parts: expected classes that have a name, found {min(unknown)}")

    def expect_rules(self, rules: Rules) -> None:
        """Raise `DataError` if the rules of the partial results are not those of their settings."""
        own = self.merger.rules
        if (
            tuple(own.thresholds) != rules.thresholds
            or tuple(own.area_ranges) != rules.ranges
            or tuple(own.max_dets) != rules.limits
            or tuple(own.recalls) != rules.recalls
        ):
            raise DataError("part: expected the rules of its settings, found others; make it again")

    def __reduce__(self) -> tuple[Any, ...]:
        return _merge_again, (self.parts, self.labels, {**self.given, "source": self.source})

    @cached_property
    def native(self) -> _core.PrecisionRecall:  # type: ignore[override]
        with tell_as(DataError):
            return self.merger.numbers(self.threads)

    @cached_property
    def counts(self) -> tuple[list[int], list[int]]:
        """For each class, the numbers of ground-truth objects and of predictions that count."""
        with tell_as(DataError):
            found = self.merger.counts(self.threads)
        return [truths for truths, _ in found], [preds for _, preds in found]

    @cached_property
    def arrays(self) -> Arrays:
        """Precision, recall and scores for every limit, in the shapes of pycocotools."""
        from math import nan

        with tell_as(DataError):
            return Arrays(*self.merger.arrays(nan, self.threads))

    def curve_summaries(self, threshold: int) -> list[_core.CurveSummary]:
        """Average precision and best F1 of the curve of every class."""
        with tell_as(DataError):
            return self.merger.curve_summaries(threshold, self.threads)

    def gather(self, label: int) -> ClassRows:
        """Return the predictions and ground-truth counts of one class."""
        with tell_as(DataError):
            return ClassRows(**self.merger.gather(label))

    def bootstrap_means(
        self,
        parts: Sequence[tuple[Any, ...]],
        weights: Any = None,
        changes: Changes | None = None,
        threads: int | None = None,
    ) -> Floats:
        """Return means on bootstrap samples, [sample, part], from weights [sample, image].

        As :meth:`Evaluation.bootstrap_means`, except that equal confidences of one image are ordered one by one and not
        copy by copy.
        """
        if changes is not None or weights is None:
            raise self.without_objects("bootstrap_means")
        values: list[list[Floats]] = [[] for _ in parts]
        for label in range(len(self.merger.labels)):
            asked = [part for part in parts if len(part) < 5 or part[4] is None or part[4][label]]
            rows = self.gather(label) if asked else None
            for part, own in zip(parts, values, strict=True):
                if rows is not None and part in asked:
                    own += self.draw_class(rows, part, weights)
        return np.stack([mean_over_classes(own, len(weights)) for own in values], axis=1)

    def draw_class(self, rows: ClassRows, part: tuple[Any, ...], weights: Floats) -> list[Floats]:
        """Return the mean of one class in every sample, at each IoU threshold."""
        kind, threshold, area, limit = part[:4]
        thresholds = (
            range(len(self.merger.rules.thresholds)) if threshold is None else [threshold] if threshold >= 0 else []
        )
        found = [rows.points(t, area, limit) for t in thresholds]
        if kind == "recall":
            return [points.draw_recall(weights) for points in found]
        return [points.draw_precision(weights, self.merger.rules.recalls) for points in found]

    @cached_property
    def images(self) -> Images:
        """The images of all partial results, by their names or else by their ids."""
        try:
            return Images(self.merger.names) if self.merger.names else Images(None, self.merger.ids)
        except UnicodeDecodeError:
            raise DataError("part: expected names of images in UTF-8, found other bytes; make it again") from None

    @cached_property
    def find_digests(self) -> Callable[[], tuple[str, str]]:
        """Function that returns digests of ground truth and predictions, the same for any shards.

        It holds no reference to this object, so that native memory is freed at once.
        """
        merger, threads = self.merger, self.threads

        @cache
        def find() -> tuple[str, str]:
            with tell_as(DataError):
                truth, pred = merger.digests(threads)
            return f"{truth:016x}", f"{pred:016x}"

        return find

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """Rules are kept only as far as numbers depend on them: `merger.rules`."""
        raise self.without_objects("rules")

    @property
    def digests(self) -> tuple[str, str]:
        """Digests of ground truth and predictions, the same however the images were divided."""
        return self.find_digests()

    @cached_property
    def truth(self) -> Annotations:  # type: ignore[override]
        """Ground truth without objects: its images, classes and digest."""
        return stand_in(self, 0, Labels(None, self.merger.labels) if self.labels is None else self.labels)

    @cached_property
    def pred(self) -> Annotations:  # type: ignore[override]
        """Predictions without objects; classes are those of the ground truth, then those only predictions have."""
        more = [name for _, name in sorted(self.notes.class_ids.items())]
        labels = self.truth.labels
        return stand_in(self, 1, Labels([*labels.all_names, *more]) if more else labels)


def _merge_again(parts: Any, labels: Any, given: Any) -> MergedNumbers:
    return MergedNumbers(parts, labels, **given)


class StandIn(Annotations):
    """Annotations without objects: images, classes and the digest of objects that were not kept.

    Merged results have the two sides of every result, so that names, tables and comparisons by digest work; whatever
    needs boxes or masks is refused by :class:`MatchedEvaluation`.
    """

    if TYPE_CHECKING:
        said: Callable[[], str]

    def __reduce__(self) -> tuple[Any, ...]:
        return _stand_again, (self.columns, self.images, self.labels, self.source, self.digest)

    @property
    def digest(self) -> str:
        """Digest of the objects that were evaluated."""
        return self.said()

    @property
    def box_digest(self) -> str:
        """The same: which boxes there were is known by this digest alone."""
        return self.said()


def stand_in(numbers: MergedNumbers, side: int, labels: Labels) -> StandIn:
    """Return annotations without objects for one side: 0 the ground truth, 1 the predictions."""
    from verite.model.regions import Regions

    find = numbers.find_digests
    none: NDArray[np.int32] = np.empty(0, dtype=np.int32)
    empty = Annotations(
        Images([]), Labels([]), none, none, Regions(np.empty((0, 4)), "xyxy"), np.empty(0) if side == 1 else None
    )
    return make_stand_in(empty.columns, numbers.images, labels, numbers.source, lambda: find()[side])


def make_stand_in(
    columns: _core.Columns, images: Images, labels: Labels, source: Source, said: Callable[[], str]
) -> StandIn:
    """Return annotations over empty columns whose digest is what `said` returns.

    Parameters
    ----------
    columns
        Columns of the core without any row.
    images
        Images of the merged partial results.
    labels
        Classes of the merged partial results.
    source
        What messages and documents call this side.
    said
        Called when the digest is needed.

    Returns
    -------
    StandIn
        Annotations that carry names and digest of the data, but no objects: partial results do not keep them.
    """
    made = StandIn.over(columns, images, labels, source=source)
    assert isinstance(made, StandIn)
    vars(made)["said"] = said
    return made


def _stand_again(columns: Any, images: Any, labels: Any, source: Any, digest: str) -> StandIn:
    return make_stand_in(columns, images, labels, source, lambda: digest)
