"""The matches behind an average precision: true and false positives, ranking, and IoU with objects of any class.

All parts of an analysis start from the matches of the evaluation that gave the number; no part matches the same
objects again. IoU between objects of different classes, which no protocol needs, comes from the same annotations
evaluated as one class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import BadParameter
from verite.evaluation.evaluation import (
    EVERY_AREA,
    FALSE_POSITIVE,
    IGNORED,
    TRUE_POSITIVE,
    UNSEEN,
    Evaluation,
    in_ignore_regions,
)
from verite.evaluation.results import MatchedResults
from verite.evaluation.settings import ClassThresholds
from verite.model.layouts import Words, words_of
from verite.statistics.intervals import clustered_wilson, design_effect

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from verite.evaluation.evaluation import Outcomes
    from verite.model.annotations import Annotations
    from verite.model.images import Images
    from verite.model.results import Results

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Rows = NDArray[np.int32]

UNLIMITED = 2**31 - 1
TOUCHING = 1e-9  # the smallest IoU above 0
# Why predictions are ignored, by the key of the JSON document.
IGNORE_REASONS = {
    "crowd": "on crowds",
    "group_of": "in groups",
    "difficult": "on difficult objects",
    "ignore": "on objects marked as ignored",
    "unasked": "on objects that are not evaluated",
    "ignore_region": "in ignore regions",
    "spared": "in images that are not fully annotated, or outside the area range",
    "limit": "beyond the limit of predictions per image",
    "unjudged": "of a class that was not verified in the image",
}
PREFERRED_IOU = 0.5  # the threshold of the parts that use only one


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    """Pairs of a prediction and a counted ground truth of the same image, of any class, sorted by prediction."""

    pred: Rows
    truth: Rows
    overlap: Floats  # IoU, or OKS of keypoints
    same_class: Bools


@dataclass(frozen=True, eq=False)
class Nearest:
    """For each prediction the ground truth of highest IoU, the first of equals; -1 and 0 where there is none."""

    truth: Rows
    overlap: Floats


class AnalysisMatches:
    """Matches, classes and ranking of one evaluation; every column is computed when a part first needs it.

    Arrays over predictions are in the order of the prediction file, arrays over ground truths in that of the
    ground-truth file. Unless a method takes a threshold, everything is at the main IoU threshold: 0.5, or the first
    one where 0.5 was not evaluated.

    Parameters
    ----------
    results
        Results that keep their matches.
    background
        Maximum IoU of a background error.
    groups
        One group per image, where images of a group are not independent (frames of a video, a patient's scans);
        intervals and tests then have groups as units.

    Raises
    ------
    BadParameter
        If the results keep no matches, or `background` is not below every IoU threshold.
    """

    def __init__(self, results: Results, background: float = 0.1, groups: NDArray[Any] | None = None) -> None:
        if not isinstance(results, MatchedResults) or results.protocol == "miss-rate":
            raise BadParameter(
                "analyse: expected results that keep their matches (vt.coco, vt.voc, vt.lvis, vt.openimages), "
                f"found {results.protocol}"
            )
        evaluation = results.evaluation
        if not evaluation.has_objects:
            raise BadParameter(str(evaluation.without_objects("analyse")))
        if not 0 < background < min(evaluation.rules.thresholds):
            raise BadParameter(
                f"background: expected an IoU above 0 and below {min(evaluation.rules.thresholds):g}, the lowest IoU "
                f"threshold, found {background:g}"
            )
        self.results, self.evaluation, self.background, self.groups = results, evaluation, background, groups
        self.truth, self.pred, self.rules = evaluation.truth, evaluation.pred, evaluation.rules

    @property
    def thresholds(self) -> Sequence[float]:
        """The IoU thresholds of the evaluation."""
        return self.rules.thresholds

    @cached_property
    def main_threshold(self) -> int:
        """Position of the threshold of the parts that use only one: that of IoU 0.5, else the first."""
        near = [i for i, t in enumerate(self.thresholds) if abs(t - PREFERRED_IOU) < 1e-9]
        return near[0] if near else 0

    @property
    def words(self) -> Words:
        """What is compared (boxes, masks), and whether the similarity is called IoU or OKS."""
        return words_of(self.rules.similarity)

    @property
    def iou(self) -> float:
        """The main IoU threshold as the settings have it."""
        return self.results.iou_thresholds[self.main_threshold]

    @property
    def can_change_truth(self) -> bool:
        """Whether ground truths can be removed from and added to the evaluation; not in Open Images."""
        return isinstance(self.evaluation, Evaluation)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Class names by position; one name where classes are not compared."""
        if self.rules.class_agnostic:
            return ("all classes",)
        if self.rules.allow_unknown_classes:
            return tuple(self.results.class_names)
        return tuple(self.truth.labels.all_names)

    @cached_property
    def truth_label(self) -> Rows:
        """The class of each ground truth, as a position in `names`."""
        return np.zeros_like(self.truth.label) if self.rules.class_agnostic else self.truth.label

    @cached_property
    def pred_label(self) -> Rows:
        """The class of each prediction; may be beyond `names` where the ground truth lacks it."""
        return np.zeros_like(self.pred.label) if self.rules.class_agnostic else self.pred.label

    def per_pred(self, values: NDArray[Any], otherwise: float) -> NDArray[Any]:
        """For each prediction the value of its class; `otherwise` for classes that the ground truth lacks."""
        return np.append(values, values.dtype.type(otherwise))[np.minimum(self.pred_label, len(values))]

    @cached_property
    def confidence(self) -> Floats:
        """The confidence of each prediction; 1 where the file has none, and by the protocol f1, which uses none."""
        given = None if self.results.protocol == "f1" else self.pred.confidence
        return np.ones(len(self.pred)) if given is None else given

    def above(self, threshold: float | ClassThresholds) -> Bools:
        """Which predictions have at least this confidence, or the threshold of their class."""
        least: Any = threshold
        if isinstance(threshold, ClassThresholds):
            least = self.per_pred(threshold.of_labels(self.names), -np.inf)
        return np.asarray(self.confidence >= least)

    @cached_property
    def by_confidence(self) -> Ints:
        """Predictions by decreasing confidence; equal ones in the order of the protocol."""
        return self.ranking_at(self.main_threshold)

    def ranking_at(self, threshold: int) -> Ints:
        """Predictions by decreasing confidence at a threshold: in Open Images the order of equals depends on it."""
        listed: Ints = self.evaluation.list_falling(threshold)
        if len(listed) == len(self.pred):
            return listed
        is_left = np.ones(len(self.pred), dtype=np.bool_)
        is_left[listed] = False
        return np.concatenate([listed, np.flatnonzero(is_left)])

    @cached_property
    def rank(self) -> Ints:
        """The position of each prediction in `by_confidence`."""
        return invert(self.by_confidence)

    @cached_property
    def by_class(self) -> Ints:
        """Predictions class by class, by decreasing confidence within a class."""
        return self.sort_by_class(self.by_confidence)

    def sort_by_class(self, ranking: Ints) -> Ints:
        """Sort a ranking of all predictions by class, stably."""
        labels = self.pred_label[ranking]
        is_small = labels.max(initial=0) < 2**15  # numpy sorts 16-bit integers by radix sort
        return ranking[np.argsort(labels.astype(np.int16 if is_small else np.int32), kind="stable")]

    def order_at(self, threshold: int) -> tuple[Ints, Ints]:
        """Rank of each prediction, and predictions class by class, at one threshold."""
        if threshold == self.main_threshold or self.evaluation.has_one_order:
            return self.rank, self.by_class
        ranking = self.ranking_at(threshold)
        return invert(ranking), self.sort_by_class(ranking)

    @cached_property
    def tp_needed_per_recall(self) -> Callable[[int], Ints]:
        """How many true positives each recall level needs, given the number of ground truths; cached by number."""
        return lru_cache(maxsize=4096)(self.results.tp_needed_per_recall)

    @cached_property
    def outcomes(self) -> Outcomes:
        """The matches of the evaluation at the main threshold."""
        found: Outcomes = self.evaluation.outcomes(self.main_threshold)
        return found

    @cached_property
    def is_tp(self) -> Bools:
        """Predictions that are true positives."""
        return np.asarray(self.outcomes.state == TRUE_POSITIVE)

    @cached_property
    def counted_pred(self) -> Bools:
        """Predictions that are true or false positives; the others are ignored."""
        return np.asarray(self.outcomes.state >= FALSE_POSITIVE)

    @cached_property
    def counted_rows(self) -> Ints:
        """Rows of the counted predictions class by class, by decreasing confidence within a class."""
        return self.by_class[self.counted_pred[self.by_class]]

    @cached_property
    def class_slices(self) -> list[slice]:
        """Where each class is in `counted_rows`."""
        bounds = np.searchsorted(self.pred_label[self.counted_rows], np.arange(len(self.names) + 1))
        return [slice(*pair) for pair in pairwise(bounds.tolist())]

    @cached_property
    def true_positives(self) -> tuple[Ints, Ints, list[slice]]:
        """Rows of true positives class by class by decreasing confidence, the number of false positives of the class
        ranked before each, and where each class is among them.
        """
        is_tp = self.is_tp[self.counted_rows]
        lengths = [part.stop - part.start for part in self.class_slices]
        starts = np.repeat([part.start for part in self.class_slices], lengths)
        fp_so_far = np.cumsum(~is_tp)
        before_class = np.append(fp_so_far, 0)[starts.astype(np.int64) - 1]  # -1, the appended 0, for the first class
        rows = self.counted_rows[is_tp]
        bounds = np.searchsorted(self.pred_label[rows], np.arange(len(self.names) + 1))
        return rows, (fp_so_far - before_class)[is_tp], [slice(*pair) for pair in pairwise(bounds.tolist())]

    @property
    def counted_truth(self) -> Bools:
        """Ground truths that count as positives, the same at every threshold; the others are ignored."""
        return self.outcomes.is_asked

    @cached_property
    def truth_counts(self) -> Ints:
        """How many counted ground truths each class has."""
        return self.count_classes(self.truth_label[self.counted_truth])

    @cached_property
    def present(self) -> Ints:
        """Classes with a counted ground truth: those that the protocol averages over."""
        return np.flatnonzero(self.truth_counts)

    def count_classes(self, labels: NDArray[Any]) -> Ints:
        """How often each class occurs in a list of them."""
        return np.bincount(labels, minlength=len(self.names))

    @cached_property
    def pairs(self) -> CandidatePairs:
        """All pairs whose IoU is at least the background threshold, ignored ground truths excluded."""
        truth, pred, overlap = self.find_pairs(self.pred, self.background)
        return CandidatePairs(pred, truth, overlap, self.pred_label[pred] == self.truth_label[truth])

    def find_pairs(self, side: Annotations, least: float) -> tuple[Rows, Rows, Floats]:
        """Rows of counted ground truths and of objects of another side, of any class, with IoU of at least `least`."""
        rules = replace(
            self.rules,
            thresholds=(least,),
            ranges=(EVERY_AREA,),
            limits=(UNLIMITED,),
            recalls=(),
            image_limit=0,
            class_agnostic=True,
        )
        # Open Images: ground truths without a mask do not count, and cannot be compared.
        is_partial = self.results.protocol == "openimages" and self.rules.similarity == "mask"
        rows = np.flatnonzero(self.counted_truth).astype(np.int32) if is_partial else None
        truth = self.truth if rows is None else self.truth.take(rows)
        layout = Evaluation(truth, side, rules, self.evaluation.threads).layout
        offsets, at, overlap = layout.candidates
        found = layout.truths[0][at]
        found = found if rows is None else rows[found]
        others = np.repeat(layout.preds[0], np.diff(offsets))
        kept = self.counted_truth[found] & ~np.isnan(overlap)
        return found[kept], others[kept], overlap[kept]

    @cached_property
    def same_class_pairs(self) -> tuple[Rows, Rows, Floats]:
        """Predictions, ground truths and IoUs of the pairs of one class."""
        pairs = self.pairs
        return pairs.pred[pairs.same_class], pairs.truth[pairs.same_class], pairs.overlap[pairs.same_class]

    @cached_property
    def truth_pairs(self) -> CandidatePairs:
        """Pairs of counted ground truths that overlap at all, each once; both columns are rows of the ground truth."""
        counted = np.flatnonzero(self.counted_truth).astype(np.int32)
        as_preds = replace(self.truth.take(counted), confidence=np.ones(len(counted)))
        truth, other, overlap = self.find_pairs(as_preds, TOUCHING)
        other = counted[other]
        kept = truth < other
        truth, other = truth[kept], other[kept]
        return CandidatePairs(other, truth, overlap[kept], self.truth_label[truth] == self.truth_label[other])

    @cached_property
    def nearest_same(self) -> Nearest:
        """The ground truth of the same class with the highest IoU."""
        return self.find_nearest(self.pairs.same_class)

    @cached_property
    def nearest_other(self) -> Nearest:
        """The ground truth of another class with the highest IoU."""
        return self.find_nearest(~self.pairs.same_class)

    def find_nearest(self, chosen: Bools) -> Nearest:
        """For each prediction the ground truth of highest IoU among the chosen pairs."""
        pairs, count = self.pairs, len(self.pred)
        pred, truth, overlap = pairs.pred[chosen], pairs.truth[chosen], pairs.overlap[chosen]
        best = np.zeros(count)
        if len(pred):
            starts = np.flatnonzero(np.concatenate([[True], pred[1:] != pred[:-1]]))
            best[pred[starts]] = np.maximum.reduceat(overlap, starts)
        is_best = overlap == best[pred]
        pred, truth = pred[is_best], truth[is_best]
        nearest = np.full(count, -1, dtype=np.int32)
        last_first = np.argsort(-truth.astype(np.int64), kind="stable")  # of several the one written last stays
        nearest[pred[last_first]] = truth[last_first]
        return Nearest(nearest, best)

    @cached_property
    def image_count(self) -> int:
        """How many images there are; predictions may have more of them than the ground truth."""
        return max(len(self.truth.images), len(self.pred.images))

    @cached_property
    def unit_of_image(self) -> Ints:
        """The unit of intervals and tests that each image belongs to: itself, or its group."""
        found = np.arange(self.image_count, dtype=np.int64)
        if self.groups is not None:
            groups = np.unique(self.groups.astype(np.str_), return_inverse=True)[1]
            found += int(groups.max(initial=-1)) + 1 - len(groups)  # images without ground truth come after the groups
            found[: len(groups)] = groups
        return found

    @property
    def unit(self) -> str:
        """What intervals and tests take as independent, in words."""
        return "images" if self.groups is None else "groups of images"

    def count_units(self, images: NDArray[Any]) -> Ints:
        """How many of these images, given one per object, belong to each unit."""
        return np.bincount(self.unit_of_image[images], minlength=int(self.unit_of_image.max(initial=-1)) + 1)

    def truth_share_interval(self, hits: NDArray[Any], trials: NDArray[Any]) -> tuple[float, float]:
        """95 % clustered Wilson interval of a share of ground truths, both given by rows or flags; units are images.

        Parameters
        ----------
        hits
            Ground-truth objects with the property, such as those found.
        trials
            Ground-truth objects looked at.

        Returns
        -------
        tuple[float, float]
            Lower and upper end. Objects of one image are not independent: with strong clustering the interval is
            wider.
        """
        images = self.truth.image
        counts = self.count_units(images[hits]), self.count_units(images[trials])
        return clustered_wilson(*counts, default_effect=self.design_effects[0])

    def pred_share_interval(self, hits: NDArray[Any], trials: NDArray[Any]) -> tuple[float, float]:
        """95 % clustered Wilson interval of a share of predictions, both given by rows or flags; units are images.

        Parameters
        ----------
        hits
            Predictions with the property, such as true positives.
        trials
            Predictions looked at.

        Returns
        -------
        tuple[float, float]
            Lower and upper end, with the clustering of predictions by image allowed for.
        """
        images = self.pred.image
        counts = self.count_units(images[hits]), self.count_units(images[trials])
        return clustered_wilson(*counts, default_effect=self.design_effects[1])

    @cached_property
    def design_effects(self) -> tuple[float, float]:
        """By what factor images multiply the variance of recall and of precision, of all objects."""
        truth, pred = self.truth.image, self.pred.image
        found = self.counted_truth & (self.outcomes.pred >= 0)
        recall = self.count_units(truth[found]), self.count_units(truth[self.counted_truth])
        precision = self.count_units(pred[self.is_tp]), self.count_units(pred[self.counted_pred])
        return design_effect(*recall), design_effect(*precision)

    def image_name(self, image: int) -> str:
        """The name of an image by its position."""
        return self.named_images.name(image)

    @cached_property
    def named_images(self) -> Images:
        """The images of the side that lists more of them."""
        sides = self.truth.images, self.pred.images
        return sides[1] if len(sides[1]) > len(sides[0]) else sides[0]

    @cached_property
    def ignored_counts(self) -> dict[str, int]:
        """How many predictions are ignored, by the reason: a key of IGNORE_REASONS."""
        found, ignored = self.outcomes, np.flatnonzero(~self.counted_pred)
        if not len(ignored):
            return {}
        matched, state = found.truth[ignored], found.state[ignored]
        reason = np.full(len(ignored), "unjudged", dtype=object)
        if (state == UNSEEN).any():
            reason[(state == UNSEEN) & self.exceeds_limits[ignored]] = "limit"
        reason[(state == IGNORED) & (matched < 0)] = "spared"
        if self.rules.region_share and "ignore_region" in self.truth.flags:
            inside = in_ignore_regions(self.truth, self.pred, self.rules, self.evaluation.threads)[ignored] > 0
            reason[(reason == "spared") & inside] = "ignore_region"
        reason[matched >= 0] = "unasked"
        for flag in ("ignore", "difficult", "group_of", "crowd"):
            if flag in self.truth.flags:
                reason[(matched >= 0) & self.truth.flags[flag][matched]] = flag
        return {key: int((reason == key).sum()) for key in IGNORE_REASONS if (reason == key).any()}

    @cached_property
    def exceeds_limits(self) -> Bools:
        """Predictions ranked beyond the limit of their image, or of their class in the image (`max_dets`)."""
        rules, image = self.rules, self.pred.image.astype(np.int64)
        cell = image * (int(self.pred_label.max(initial=0)) + 1) + self.pred_label
        found = np.zeros(len(self.pred), dtype=np.bool_)
        for limit, group in ((rules.image_limit, image), (rules.limits[-1], cell)):
            if 0 < limit < UNLIMITED:
                full = np.flatnonzero(np.bincount(group) > limit)
                rows = np.flatnonzero(np.isin(group, full))
                rows = rows[np.lexsort((self.rank[rows], group[rows]))]
                starts = np.searchsorted(group[rows], group[rows])
                found[rows] |= np.arange(len(rows)) - starts >= limit
        return found


def invert(order: Ints) -> Ints:
    """The position of each row in a permutation of all of them."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank


def ends_of_runs(values: Floats) -> Ints:
    """The last position of each run of equal values: where a confidence threshold can be put."""
    return np.flatnonzero(np.append(values[1:] != values[:-1], True)) if len(values) else np.empty(0, dtype=np.int64)
