"""Matching of predictions with ground truth, and accumulation of precision and recall, for every protocol.

The C++ core computes the IoU of all pairs, matches them at all IoU thresholds and area ranges, and accumulates. The
matches are kept, so that an evaluation also gives outcomes per object, per image, and on bootstrap samples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError, VeriteError, spell_options
from verite.evaluation.settings import highest_threshold
from verite.evaluation.state import EvaluationState, PartialMetadata, class_id, tell_as
from verite.files import translate_core_errors
from verite.limits import limit, remedy
from verite.model.ragged import offsets_of
from verite.model.results import Matches, choose_threshold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from verite.evaluation.settings import ClassThresholds
    from verite.model.annotations import Annotations

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Rows = NDArray[np.int32]
    Offsets = NDArray[np.int64]


RESULTS = ("coco-results", "json-lines", "results-object")  # get new ids and areas when pycocotools loads them

EVERY_AREA = (float("-inf"), float("inf"))

RECALLS = (*(i * 0.01 for i in range(100)), 1.0)  # recall levels of COCO's AP

USUAL_PAIRS = 16  # overlapping objects per prediction that are allowed in any case
# Points of precision-recall curves, 8 bytes each. An object is in two area ranges at most, all and one of a size.
POINTS_PER_OBJECT = 1010

MATCHES = {
    "free": _core.Match.greedy,
    "best": _core.Match.argmax,
    "nearest": _core.Match.nearest,
    "optimal": _core.Match.optimal,
    "falling_iou": _core.Match.falling_iou,
}

BESIDE = 0.25  # bins are numbered 0, 1, 2 …; the area range k ± BESIDE stands for bin k


@dataclass(frozen=True)
class Rules:
    """Rules of a protocol: how objects are compared, matched and counted.

    COCO, Pascal VOC, LVIS, Open Images, ImageNet and F1 are values of this record; there is one matching and one
    accumulation for all of them, in the core. Every field has the default of a plain evaluation of boxes without area
    ranges, limits and ignored objects.
    """

    thresholds: tuple[float, ...]  # IoU thresholds
    similarity: str = "box"
    pixel: float = 0.0  # added to widths and heights: 1 if corners are pixel indices
    ranges: tuple[tuple[float, float], ...] = (EVERY_AREA,)  # area ranges, limits included
    limits: tuple[int, ...] = (2**31 - 1,)  # numbers of predictions per image and class that count (max_dets), rising
    recalls: tuple[float, ...] = ()  # at which precision is interpolated
    # Which ground-truth object a prediction asks for. free: the unmatched one of highest IoU, ignored ones last (COCO).
    # best: the one of highest IoU, matched already or not (VOC). nearest: as free, but ignored ones are never used up
    # and compete by IoU. Without confidences, one to one: optimal (most matches, then the largest sum of IoU), or
    # falling_iou (pairs by falling IoU).
    wants: Literal["free", "best", "nearest", "optimal", "falling_iou"] = "free"
    equal: Literal["later", "first"] = "later"  # which of several objects with equal IoU is matched
    ties: Literal["image", "row"] = "image"  # order of equal confidences of a class
    is_strict: bool = False  # the IoU must exceed the threshold, not only reach it
    class_agnostic: bool = False  # classes are ignored in matching
    # If classes are ignored: equal confidences of an image are ordered by class, as in pycocotools, else by row.
    orders_by_class: bool = True
    ignored: tuple[str, ...] = ()  # flags of ground truth that is ignored
    shared: tuple[str, ...] = ()  # flags of ground truth that any number of predictions may match: crowds
    repeats_quirks: bool = False  # those of pycocotools
    image_limit: int = 0  # predictions per image that count, over all classes; 0: all
    drops_flat: bool = False  # objects without area are dropped
    sigmas: tuple[tuple[float, ...], ...] = ()  # OKS sigmas of the keypoints of each class, in the order of the classes
    allow_unknown_classes: bool = False  # images and classes that the ground truth does not have count, too
    # Share of a prediction's area in an ignore region from which it is ignored unless matched; 0: regions are not used.
    region_share: float = 0.0
    # Of points: maximum distance in pixels, as a share of the image's diagonal, and of the object's size; they add up.
    reach: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Arrays:
    """Precision and recall in the shapes of pycocotools; absent values are `nan`.

    T are IoU thresholds, R recalls, K classes, A area ranges, M limits of predictions.
    """

    precision: Floats  # [T, R, K, A, M]
    recall: Floats  # [T, K, A, M]
    scores: Floats  # [T, R, K, A, M]: the confidence at which each recall is reached

    def with_absent(self, value: float) -> Arrays:
        """Return a copy with another value for absent ones: -1 gives pycocotools' arrays, bit for bit."""
        absent = np.isnan(self.precision)  # a confidence may be no number without being absent
        recall = np.where(np.isnan(self.recall), value, self.recall)
        return Arrays(np.where(absent, value, self.precision), recall, np.where(absent, value, self.scores))


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcome of every object at one IoU threshold and in one area range: TP, FP, FN or ignored."""

    state: NDArray[np.int8]  # per prediction: TRUE_POSITIVE, FALSE_POSITIVE, IGNORED, or UNSEEN if it does not count
    truth: NDArray[np.int32]  # per prediction: the matched ground-truth object, -1 for none
    overlap: Floats  # per prediction: IoU with that object; nan for none
    pred: NDArray[np.int32]  # per ground-truth object: the first matched prediction, -1 for none
    is_asked: NDArray[np.bool_]  # per ground-truth object: whether it counts, or is ignored


TRUE_POSITIVE, FALSE_POSITIVE, IGNORED, UNSEEN = 1, 0, -1, -2


@dataclass(frozen=True, eq=False)
class MatchLayout:
    """Objects ordered by image, then class, as the core matches them, and the pairs that overlap.

    A side is (the object at each index, its class, offsets of images). Predictions of an image and class are ordered by
    falling confidence.
    """

    truths: tuple[NDArray[np.int32], NDArray[np.int32], Ints]
    preds: tuple[NDArray[np.int32], NDArray[np.int32], Ints]
    ranks: NDArray[np.int32]  # rank of each prediction within its image and class
    by_label: NDArray[np.int32]  # indices of predictions by class, then falling confidence
    label_offsets: Ints
    candidates: tuple[Ints, NDArray[np.int32], Floats]  # offsets of predictions, ground truth and IoU of each pair
    ignored: NDArray[np.uint32]  # area ranges in which a ground-truth object is ignored, one bit each
    outside: NDArray[np.uint32]  # area ranges in which a prediction is ignored if unmatched, one bit each
    matched: list[NDArray[np.uint16]]  # [pair, area range]: IoU thresholds of a match, one bit each, 16 per array

    def is_matched(self, threshold: int, area: int = 0) -> NDArray[np.bool_]:
        """Return for each pair whether the prediction is matched with the ground-truth object."""
        bits = self.matched[threshold // 16][:, area] >> np.uint16(threshold % 16)
        return (bits & np.uint16(1)) > 0


class PrecisionRecall:
    """Accumulated precision and recall, and means of them over classes with objects.

    Thresholds, area ranges and limits are given as positions in the rules of the evaluation.
    """

    def __init__(self, native: _core.PrecisionRecall) -> None:
        self.native = native

    def mean(
        self, kind: str, threshold: int | None, area: int, limit: int, classes: Sequence[bool] | None = None
    ) -> float:
        """Return a mean over classes: AP, AR, or another statistic of the core.

        Parameters
        ----------
        kind : str
            ``precision`` (mean over classes and recall levels, as AP is), ``recall`` (as AR is), or the name of a
            ``_core.Statistic``.
        threshold : int or None
            Position of the IoU threshold; None for the mean over all of them.
        area, limit : int
            Positions of the area range and of the limit of predictions per image (max_dets).
        classes : sequence of bool, optional
            A flag per class; all by default.

        Returns
        -------
        float
            The mean; nan if no class has ground truth.
        """
        return self.native.mean(mean_query(kind, threshold, area, limit, classes))

    def class_means(self, kind: str, threshold: int | None, area: int, limit: int) -> list[float]:
        """Return the mean of precision or recall for each class, with the parameters of :meth:`mean`."""
        return self.native.class_means(mean_query(kind, threshold, area, limit))


AVERAGED = {"precision": "average_precision", "recall": "average_recall"}  # over classes and recalls, as AP is


def mean_query(
    kind: str, threshold: int | None, area: int, limit: int, classes: Sequence[bool] | None = None
) -> _core.MeanQuery:
    """Return what :meth:`PrecisionRecall.mean` asks for as the core's record.

    Parameters
    ----------
    kind
        The averaged quantity: `precision` (AP) or `recall` (AR), among others.
    threshold
        Position of the IoU threshold, None for the mean over all of them.
    area
        Position of the area range.
    limit
        Position of the limit on predictions per image and class (`max_dets`).
    classes
        A flag per class that enters the mean; None for all.

    Returns
    -------
    _core.MeanQuery
        The query that the core answers, for one sample or for many bootstrap samples at once.
    """
    flags = None if classes is None else bytes(classes)
    statistic = _core.Statistic[AVERAGED.get(kind, kind)]
    return _core.MeanQuery(statistic=statistic, threshold=threshold, range=area, limit=limit, classes=flags)


GONE = "boxes and masks are not there any more, only the outcomes of matching"


class MatchedEvaluation:
    """What an evaluation of matched objects offers: both sides, the rules, and the outcome of every object.

    The evaluations of COCO, Pascal VOC, LVIS and Open Images derive from it, and so do merged partial results. Those
    have no objects any more (`has_objects`): each method here that needs them raises `DataError` with the `remedy`.
    """

    has_objects = True
    has_one_order = True  # predictions have the same order at all IoU thresholds
    remedy = "evaluate in one piece"
    truth: Annotations
    pred: Annotations
    rules: Rules
    threads: int

    def without_objects(self, name: str) -> DataError:
        """Return the error of a method that needs objects which are not there."""
        return DataError(f"{name}: {GONE}; {self.remedy}")

    def outcomes(self, threshold: int = 0) -> Outcomes:
        """Return the outcome of every object at one IoU threshold, given as its position."""
        raise self.without_objects("outcomes")

    def outcomes_at(self, threshold: float) -> Outcomes:
        """Return the outcomes at an IoU threshold that need not be one of the rules'."""
        raise self.without_objects("outcomes_at")

    def matches(
        self, thresholds: Sequence[float], iou: float | None, confidence: float | ClassThresholds | None = None
    ) -> Matches:
        """Which prediction is matched to which ground truth at one of the `thresholds` of the protocol's settings.

        `iou` chooses it, None the only one; `confidence` is the confidence threshold of the settings, if any.
        """
        raise self.without_objects("matches")

    def list_falling(self, threshold: int = 0) -> Ints:
        """Return the rows of all predictions by falling confidence, ties in the order in which they are matched."""
        raise self.without_objects("list_falling")

    def by_image(self) -> dict[str, list[Any]]:
        """Return the evaluation of each image alone, as columns."""
        raise self.without_objects("by_image")

    def bin_means(
        self, part: tuple[Any, ...], of_truths: Ints, of_preds: Ints, bins: int, areas: Any = ()
    ) -> list[float]:
        """Return a mean for the objects of each bin."""
        raise self.without_objects("bin_means")

    def bootstrap_means(
        self,
        parts: Sequence[tuple[Any, ...]],
        weights: Any = None,
        changes: Changes | None = None,
        threads: int | None = None,
    ) -> Floats:
        """Return means on bootstrap samples of the images and simulations of the ground truth, [sample, part]."""
        raise self.without_objects("bootstrap_means")

    def simulate_means(
        self,
        parts: Sequence[tuple[Any, ...]],
        simulations: Simulations,
        sources: Sequence[tuple[bool, bool]],
        threads: int | None = None,
    ) -> Floats:
        """Return the same for several sources of uncertainty, [sample, source, part]."""
        raise self.without_objects("simulate_means")

    def part(self, about: str = "") -> EvaluationState:
        """Return the partial result of these images; merged ones must have the same `about`."""
        raise self.without_objects("part")


class Evaluation(MatchedEvaluation, PrecisionRecall):
    """Predictions matched with ground truth by some rules. A pickle holds both sides; matching is then repeated.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 20, 30, 30]])
    >>> pred = Annotations.of(["a"], ["cat"], [[0, 0, 10, 10]], confidence=[0.9])
    >>> kept = Evaluation(truth, pred, Rules((0.5,), recalls=(0.0, 0.5, 1.0)))
    >>> round(kept.mean("precision", 0, 0, 0), 4), kept.mean("recall", 0, 0, 0)
    (0.6667, 0.5)
    >>> kept.outcomes().truth
    array([0], dtype=int32)
    """

    def __init__(
        self, truth: Annotations, pred: Annotations, rules: Rules, threads: int = 1, **cells: NDArray[Any] | int | None
    ) -> None:
        """Match predictions with the ground truth.

        Parameters
        ----------
        truth, pred
            Both sides; predictions are aligned with the ground truth.
        rules
            How objects are compared, matched and counted.
        threads
            Number of threads.
        **cells
            `verified` and `ignore_if_unmatched`: image × labels + label of the cells, ascending, in which predictions
            count besides those with ground truth, and in which unmatched predictions are ignored. `min_iou`: the IoU
            that each ground-truth object requires besides the threshold. `pred_rows`: which predictions there are, in
            the order of equal confidences. `most_pairs`: the number of overlapping pairs above which they are refused.

        Raises
        ------
        DataError
            If an object cannot be compared, or too many of them overlap; the message names the file.
        """
        self.truth, self.pred, self.rules, self.threads, self.cells = truth, pred, rules, threads, cells
        order = None if rules.allow_unknown_classes else truth.labels.by_id
        widest = pred if rules.allow_unknown_classes and len(pred.images) > len(truth.images) else truth
        given: dict[str, Any] = {"most_pairs": limit("overlaps") + USUAL_PAIRS * len(pred)} | cells
        if rules.region_share and "ignore_region" in truth.flags:
            given["in_ignore_region"] = in_ignore_regions(truth, pred, rules, threads)
        try:
            if with_outlines := _core.wants_outlines(rules.similarity):
                load_outlines(truth)
            if with_outlines or not pred.columns.regions.has_all_boxes:
                load_outlines(pred)
            if pred.columns.outside(len(widest.images), 2**31 - 1):
                raise unknown_image(truth, pred)
            self.kept = _core.Evaluation(
                truth.columns,
                pred.columns,
                widest.images.table,
                max(len(truth.labels), len(pred.labels)) if rules.allow_unknown_classes else len(truth.labels),
                None if order is None else int32s(invert(order)),
                rules=_core.Rules(
                    thresholds=rules.thresholds,
                    area_ranges=rules.ranges,
                    max_dets=rules.limits,
                    recalls=rules.recalls,
                    match=MATCHES[rules.wants],
                    equal=_core.EqualIoU[rules.equal],
                    ties=_core.TieOrder[rules.ties],
                    is_strict=rules.is_strict,
                    class_agnostic=rules.class_agnostic,
                    orders_by_class=rules.orders_by_class,
                ),
                objects=_core.ObjectRules(
                    ignored=[_core.Flag[name] for name in rules.ignored],
                    multi_match=[_core.Flag[name] for name in rules.shared],
                    repeats_quirks=rules.repeats_quirks,
                    truth_is_results=truth.source.format in RESULTS,
                    pred_is_results=pred.source.format in RESULTS,
                    pixel=rules.pixel,
                    image_limit=rules.image_limit,
                    drops_flat=rules.drops_flat,
                    sigmas=rules.sigmas,
                    reach=rules.reach,
                    **given,
                ),
                similarity=rules.similarity,
                threads=threads,
            )
        except VeriteError:
            raise
        except ValueError as error:
            side, _, rest = str(error).partition(": ")
            path = {"truth": truth, "predictions": pred}.get(side, truth).source.path
            raise DataError(spell_options(f"{path}: {rest or side}" if path else str(error))) from None

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (self.truth, self.pred, self.rules, self.threads, self.cells)

    @cached_property
    def native(self) -> _core.PrecisionRecall:  # type: ignore[override]
        if self.kept.curve_points > limit("curve_points"):
            self.check_curves(self.kept.curve_points)
        return self.kept.numbers()

    def check_curves(self, points: int) -> None:
        """Raise `DataError` if curves of so many points would take memory out of proportion to the objects."""
        if points > self.most_points:
            raise DataError(
                f"classes: expected at most {self.most_points:,} points of precision-recall curves for "
                f"{sum(map(sum, self.counts)):,} objects, found {points:,} of {len(self.counts[0]):,} classes; "
                f"{remedy('curve_points')}"
            )

    @property
    def most_points(self) -> int:
        """Largest number of points of all precision-recall curves; it rises with the objects that count."""
        objects = sum(self.kept.truth_counts) + sum(self.kept.pred_counts)
        return limit("curve_points") + POINTS_PER_OBJECT * objects

    @property
    def counts(self) -> tuple[list[int], list[int]]:
        """For each class, the numbers of ground-truth objects and of predictions that count."""
        return self.kept.truth_counts, self.kept.pred_counts

    @cached_property
    def arrays(self) -> Arrays:
        """Precision, recall and scores for every limit, in the shapes of pycocotools."""
        from math import nan

        # pycocotools' shapes have room for classes without objects, too.
        cells = len(self.counts[0]) * max(1, len(self.rules.ranges))
        self.check_curves(cells * len(self.rules.thresholds) * len(self.rules.recalls))
        return Arrays(*self.kept.arrays(nan))

    @cached_property
    def layout(self) -> MatchLayout:
        """Objects in the order in which they are matched, and the pairs that overlap."""
        return MatchLayout(**self.kept.match_layout())

    @cached_property
    def by_class(self) -> list[NDArray[np.int32]]:
        """Rows of the predictions of each class that count, by falling confidence."""
        rows, offsets = self.kept.by_class()
        return [rows[first:last] for first, last in pairwise(offsets.tolist())]

    def part(self, about: str = "") -> EvaluationState:
        """Return the partial result of these images; merged ones must have the same `about`.

        Classes are identified by their ids, or else by their positions; classes that the ground truth does not have by
        their names, if they count. Images are identified by their ids, or else by their names.
        """
        labels = self.truth.labels
        notes = PartialMetadata(
            self.pred.labels.all_names[len(labels) :] if self.rules.allow_unknown_classes else (),
            tuple((name, own) for name, own in zip(labels.all_names, self.rules.sigmas, strict=False) if own),
        )
        if self.rules.class_agnostic:
            ids: Iterable[int] = [0]
        elif labels.numbers is None or self.rules.allow_unknown_classes:
            ids = [*range(len(labels)), *map(class_id, notes.classes)]
        else:
            ids = sorted(labels.numbers)
        with tell_as(DataError):
            about = about or repr((replace(self.rules, sigmas=()), sorted(labels.all_names)))
            return EvaluationState(self.kept.state(int64s(ids), about), PartialMetadata.join([notes]))

    def outcomes(self, threshold: int = 0, area: int = 0) -> Outcomes:
        """Return the outcome of every object at one IoU threshold and in one area range, both given as positions.

        Parameters
        ----------
        threshold
            Position of the IoU threshold in the rules.
        area
            Position of the area range in the rules.

        Returns
        -------
        Outcomes
            For every ground-truth object whether it is found, missed or ignored, and for every prediction whether
            it is a true positive, a false positive or ignored, with partner and IoU.
        """
        with tell_as(BadParameter):
            found = self.kept.outcomes(threshold, area)
        return Outcomes(found.state, found.truth, found.iou, found.pred, found.counted_truth)

    def matches(
        self, thresholds: Sequence[float], iou: float | None, confidence: float | ClassThresholds | None = None
    ) -> Matches:
        """Which prediction is matched to which ground truth at one of the `thresholds` of the protocol's settings.

        `iou` chooses it, None the only one; `confidence` is the confidence threshold of the settings, if any.
        """
        threshold = choose_threshold(thresholds, iou)
        found = self.outcomes(threshold)
        matched_pred = np.where(found.is_asked, found.pred, -1).astype(np.int64)
        return Matches(
            thresholds[threshold],
            found.is_asked,
            matched_pred,
            highest_threshold(confidence),
            found.state >= FALSE_POSITIVE,
        )

    def outcomes_at(self, threshold: float) -> Outcomes:
        """Return the outcomes at an IoU threshold that these rules do not have."""
        rules = replace(self.rules, thresholds=(threshold,))
        return Evaluation(self.truth, self.pred, rules, self.threads, **self.cells).outcomes()

    def list_falling(self, threshold: int = 0) -> Ints:
        """Return the rows of all predictions by falling confidence, ties in the order in which they are matched."""
        listed: Any = self.cells.get("pred_rows")
        if listed is None:
            listed = self.layout.preds[0] if self.rules.ties == "image" else np.arange(len(self.pred))
        given = self.pred.confidence
        return np.asarray(listed if given is None else listed[np.argsort(-given[listed], kind="stable")])

    def bin_means(
        self, part: tuple[Any, ...], of_truths: Ints, of_preds: Ints, bins: int, areas: Any = ()
    ) -> list[float]:
        """Return a mean for the objects of each bin, evaluated as COCO evaluates area ranges.

        Ground truth outside the bin is ignored, and so are unmatched predictions outside.

        Parameters
        ----------
        part
            The mean, as :meth:`mean` takes it.
        of_truths, of_preds
            Bin of each ground-truth object and each prediction.
        bins
            Number of bins.
        areas
            Area ranges that are the bins, in place of `of_truths` and `of_preds`.
        """
        from verite.model.annotations import Source

        truth, pred, rules = self.truth, self.pred, replace(self.rules, ranges=tuple(areas))
        if not areas:
            # The number of the bin takes the place of the area; only with quirks are areas of predictions used.
            ranges = tuple((code - BESIDE, code + BESIDE) for code in range(bins))
            rules = replace(rules, ranges=ranges, repeats_quirks=True, drops_flat=False)
            truth, pred = (
                replace(side, area=codes.astype(np.float64), ids=None, source=Source())
                for side, codes in ((truth, of_truths), (pred, of_preds))
            )
        # As many bins together as there is memory for curves.
        curves = sum(map(bool, self.counts[0])) * len(rules.thresholds) * len(rules.recalls)
        recalls = (
            len(self.counts[0]) * len(rules.thresholds) * (len(rules.limits) + 1)
        )  # of classes without objects, too
        together = max(1, self.most_points // max(1, curves + recalls))
        found: list[float] = []
        for first in range(0, bins, together):
            some = rules.ranges[first : first + together]
            kept = Evaluation(truth, pred, replace(rules, ranges=some), self.threads, **self.cells)
            kind, threshold, _, limit = part
            parts = [(kind, threshold, place, limit) for place in range(len(some))]
            if rules.recalls:
                found += [kept.mean(*one) for one in parts]
            else:
                found += kept.bootstrap_means(parts, np.ones((1, len(truth.images))))[0].tolist()
        return found

    def by_image(self) -> dict[str, list[Any]]:
        """Return the evaluation of each image alone, in the order of image ids, as columns.

        `image` is its position; `precision` is averaged over all thresholds, recalls and classes of the image, nan if
        it has none. `truths`, `found` (TP) and `wrong` (FP) are counts at the first IoU threshold.
        """
        return self.kept.by_image()

    def weighted(self, weights: Any) -> PrecisionRecall:
        """Return precision and recall with each image repeated `weights` times; weights are numbers from 0 up."""
        with tell_as(BadParameter):
            return PrecisionRecall(self.kept.weighted(np.asarray(weights, dtype=np.float64), self.threads))

    def changed(self, removed: Any = (), added: Annotations | None = None, weights: Any = None) -> PrecisionRecall:
        """Return precision and recall with some ground-truth objects removed and others added.

        Added objects come after all others of their image and class. An object with another class or position is one
        removed and one added. Only images and classes with changes are matched again.
        """
        rows, objects = np.asarray(removed, dtype=np.int32), self.lay_beside(added)
        by_image = None if weights is None else np.asarray(weights, dtype=np.float64)
        with tell_as(BadParameter):
            return PrecisionRecall(self.kept.changed(rows, objects, by_image, self.threads))

    def lay_beside(self, added: Annotations | None) -> _core.Columns | None:
        """Return the columns of objects to add, with the images and classes of the ground truth."""
        if added is None:
            return None
        added = added.like(self.truth)
        if _core.wants_outlines(self.rules.similarity):
            load_outlines(added)
        return added.columns

    def bootstrap_means(
        self,
        parts: Sequence[tuple[Any, ...]],
        weights: Any = None,
        changes: Changes | None = None,
        threads: int | None = None,
    ) -> Floats:
        """Return means on bootstrap samples of the images and simulations of the ground truth, [sample, part].

        A part is what :meth:`mean` takes; weights are [sample, image], and `changes` give the ground truth of each
        sample. Much faster than :meth:`weighted` and :meth:`changed` sample by sample, and equal to them except for the
        last bits; the same bytes for any number of threads. If the rules have no recalls, precision is summed at every
        change of recall.
        """
        return self.simulate_means(parts, Simulations(weights, changes), ((True, True),), threads)[:, 0]

    def simulate_means(
        self,
        parts: Sequence[tuple[Any, ...]],
        simulations: Simulations,
        sources: Sequence[tuple[bool, bool]],
        threads: int | None = None,
    ) -> Floats:
        """Return the same for several sources of uncertainty, [sample, source, part].

        Each source says whether weights (images) and whether changes (annotations) apply.
        """
        if not parts:
            raise BadParameter("parts: expected what to average, found nothing")
        with tell_as(BadParameter):
            means = self.kept.bootstrap_means(
                [mean_query(*part) for part in parts],
                simulations.prepare(self, threads or self.threads),
                sources=[_core.UncertaintySource(has_weights=drawn, has_changes=new) for drawn, new in sources],
                threads=threads or self.threads,
            )
        return np.array(means).reshape(-1, len(sources), len(parts))


def _remake(truth: Any, pred: Any, rules: Any, threads: Any, cells: Any) -> Evaluation:
    return Evaluation(truth, pred, rules, threads, **cells)


def unknown_image(truth: Annotations, pred: Annotations) -> DataError:
    """Return the error about the first prediction on an image that the ground truth does not have.

    Parameters
    ----------
    truth
        Ground truth; its table of images says which exist.
    pred
        Predictions, aligned with it: images that it does not have come after its own.

    Returns
    -------
    DataError
        The error, with the name of the first unknown image and the number of predictions concerned.
    """
    rows = [row for row, image in enumerate(pred.image.tolist()) if image >= len(truth.images)]
    name = pred.images.name(int(pred.image[rows[0]]))
    return DataError(
        f"{pred.source.path or 'predictions'}: expected images of the ground truth, found {name!r} and others in "
        f"{len(rows)} predictions; is this the right ground truth?"
    )


def invert(order: Sequence[int]) -> list[int]:
    """Return the inverse of a permutation."""
    places = [0] * len(order)
    for place, position in enumerate(order):
        places[position] = place
    return places


def int32s(values: Sequence[int]) -> Any:
    """Return whole numbers as a buffer of 32 bits each, which the core reads without numpy."""
    from array import array

    return array("i", values)


def int64s(values: Iterable[int]) -> Any:
    """Return whole numbers as a buffer of 64 bits each, which the core reads without numpy."""
    from array import array

    return array("q", values)


def load_outlines(side: Annotations) -> None:
    """Read polygons and masks, which files are read without; errors in them are raised here."""
    with translate_core_errors():
        side.columns.regions.load()


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs that overlap: prediction i and truth[j] with IoU overlap[j], j from offsets[i] to offsets[i + 1]."""

    offsets: Ints
    truth: NDArray[np.int32]
    overlap: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def pred(self) -> Ints:
        """The prediction of each pair."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def arrays(self) -> tuple[Ints, NDArray[np.int32], NDArray[np.float64]]:
        """`offsets`, `truth` and `overlap`, as the core takes them."""
        return self.offsets, self.truth, self.overlap


def box_candidates(
    truth: Annotations,
    pred: Annotations,
    *,
    pixel: float = 0.0,
    min_iou: float = 0.0,
    class_agnostic: bool = False,
    similarity: str = "corner_box",
    threads: int = 1,
) -> Candidates:
    """Return the pairs of the same image and class with an IoU of at least `min_iou`; raise if they are too many.

    `pixel` is added to every width and height: 1 if coordinates are pixel indices. With `class_agnostic`, pairs of
    different classes count, too. The similarity "mask" takes the IoU of masks.
    """
    rules = Rules((min_iou,), similarity, pixel=pixel, allow_unknown_classes=True, class_agnostic=class_agnostic)
    layout = Evaluation(truth, pred, rules, threads, most_pairs=limit("overlaps")).layout
    offsets, truth_index, overlap = layout.candidates
    lengths = np.zeros(len(pred), dtype=np.int64)
    lengths[layout.preds[0]] = np.diff(offsets)
    rows = layout.truths[0][truth_index]
    by_pred = np.lexsort((rows, np.repeat(layout.preds[0], np.diff(offsets))))
    return Candidates(offsets_of(lengths), rows[by_pred], overlap[by_pred])


def in_ignore_regions(truth: Annotations, pred: Annotations, rules: Rules, threads: int) -> NDArray[np.uint8]:
    """Return for each prediction whether an ignore region of its image covers enough of its area, whatever its class.

    A region absorbs predictions as a crowd does: by the intersection over the prediction's own area. Regions that the
    rules do not ignore are objects like others.
    """
    is_ignored = np.zeros(len(truth), dtype=np.bool_)
    for name in rules.ignored:
        is_ignored |= truth.flag(name)
    regions = truth.where(truth.flag("ignore_region") & is_ignored)
    regions = replace(regions, flags={"crowd": np.ones(len(regions), dtype=np.bool_)}, verdicts=None)
    own = Rules(
        (rules.region_share,),
        "box" if rules.similarity in ("corner_box", "keypoints") else rules.similarity,
        class_agnostic=True,
        orders_by_class=False,
        ignored=("crowd",),
        shared=("crowd",),
        allow_unknown_classes=True,
    )
    found = Evaluation(regions, pred, own, threads).outcomes()
    return np.asarray(found.truth >= 0).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Changes:
    """Changes of the ground truth in each simulation of annotation errors.

    Rows in `removed` are dropped. Of the `objects` that may be added, those in `added` are, with the classes `labels`,
    after all others of their image and class. Rows in `again` have a duplicate that no prediction can match. The i-th
    simulation has ``removed[removed_offsets[i]:removed_offsets[i + 1]]``, and so on.
    """

    objects: Annotations | None  # with the images and classes of the ground truth
    removed: Rows
    removed_offsets: Offsets
    added: Rows
    labels: Rows
    added_offsets: Offsets
    again: Rows
    again_offsets: Offsets

    @classmethod
    def of(
        cls,
        objects: Annotations | None = None,
        removed: Sequence[Any] = (),
        added: Sequence[Any] = (),
        labels: Sequence[Any] | None = None,
        again: Sequence[Any] = (),
    ) -> Changes:
        """Return changes from the rows of each simulation; by default no rows, and the objects' own classes."""
        count = max(len(removed), len(added), len(again))
        lists = [one or [()] * count for one in (list(removed), list(added), list(again))]
        flat = [join_lists(rows) for rows in lists]
        if labels is not None:
            names = join_lists(list(labels))[0]
        else:
            names = np.zeros(0, np.int32) if objects is None else objects.label[flat[1][0]]
        return cls(objects, *flat[0], flat[1][0], names, flat[1][1], *flat[2])

    def __len__(self) -> int:
        """Return the number of simulations."""
        return len(self.removed_offsets) - 1

    def draw(self, i: int) -> tuple[Rows, Rows, Rows, Rows]:
        """Return the i-th simulation: rows removed, objects added, their classes, rows with a duplicate."""
        gone = slice(*self.removed_offsets[i : i + 2])
        new = slice(*self.added_offsets[i : i + 2])
        return self.removed[gone], self.added[new], self.labels[new], self.again[slice(*self.again_offsets[i : i + 2])]

    @property
    def native(self) -> _core.SimulatedChanges:
        """The same as the core's record, without the objects."""
        return _core.SimulatedChanges(
            removed=self.removed,
            removed_offsets=self.removed_offsets,
            added=self.added,
            labels=self.labels,
            added_offsets=self.added_offsets,
            duplicated=self.again,
            duplicated_offsets=self.again_offsets,
        )


@dataclass(eq=False)
class Simulations:
    """Bootstrap weights and simulated ground truths, prepared once for all detectors on the same ground truth.

    Parameters
    ----------
    weights
        How often each image is drawn, [sample, image]; None: each once.
    changes
        The ground truth of each sample; None: as annotated.
    is_shared
        Whether several detectors are evaluated on them: then changes are applied to the ground truth only once.
    """

    weights: Any = None
    changes: Changes | None = None
    is_shared: bool = False
    owner: Evaluation | None = field(default=None, init=False, repr=False)
    native: _core.PreparedSimulations | None = field(default=None, init=False, repr=False)

    def prepare(self, evaluation: Evaluation, threads: int) -> _core.PreparedSimulations:
        """Return the core's record for an evaluation: the one before, if the ground truth is the same."""
        if self.owner is None or self.native is None or not evaluation.kept.shares_truth(self.owner.kept):
            self.owner = evaluation
            self.native = evaluation.kept.prepare_simulations(
                None if self.weights is None else np.ascontiguousarray(self.weights, dtype=np.float64),
                None if self.changes is None else self.changes.native,
                None if self.changes is None else evaluation.lay_beside(self.changes.objects),
                applies=self.is_shared,
                threads=threads,
            )
        return self.native


def join_lists(rows: Sequence[Any]) -> tuple[Rows, Offsets]:
    """Return lists concatenated, and their offsets."""
    parts = [np.asarray(one, dtype=np.int32) for one in rows]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return np.concatenate([np.zeros(0, np.int32), *parts]), offsets
