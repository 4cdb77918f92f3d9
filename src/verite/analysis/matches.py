"""What do all parts of an analysis start from? The protocol's own matches, and whom else every prediction overlaps.

Nothing is matched a second time: who took whom is asked of the evaluation that gave the number. Overlaps with truths of
other labels, which no protocol needs, come from the same sides laid out as one class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import BadParameter
from verite.evaluation.evaluation import EVERY_AREA, IGNORED, RIGHT, UNSEEN, WRONG, Evaluation
from verite.evaluation.partial import GONE
from verite.model.layouts import Words, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from verite.evaluation.evaluation import Outcomes, Rules
    from verite.model.annotations import Annotations
    from verite.model.results import Results

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Rows = NDArray[np.int32]

UNLIMITED = 2**31 - 1
TOUCHING = 1e-9  # an overlap above 0
REASONS = {
    "crowd": "on crowds",
    "group_of": "in groups",
    "difficult": "on difficult truths",
    "ignore": "on truths that are marked to be ignored",
    "unasked": "on truths that are not asked for",
    "spared": "where not every object is marked, or of sizes that do not count",
    "limit": "beyond the number that counts in an image",
    "unjudged": "of a class that nobody looked for in its image",
}  # why a prediction is set aside
HALF = 0.5  # the threshold of the parts that look at one


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Pairs of a prediction and a truth to be found in the same image, whatever their labels, by prediction."""

    pred: Rows
    truth: Rows
    overlap: Floats
    is_same: Bools  # of one label


@dataclass(frozen=True, eq=False)
class Nearest:
    """For each prediction the truth it overlaps most, the first of equals; -1 and 0 where there is none."""

    truth: Rows
    overlap: Floats


class AnalysisMatches:
    """Sides, labels, order and matches of one evaluation, each made when a part first asks for it."""

    def __init__(self, results: Results, background: float = 0.1) -> None:
        evaluation: Any = getattr(results, "evaluation", None)
        if evaluation is None:
            raise BadParameter(
                "analyse: expected results whose matches are kept, those of vt.coco, vt.voc, vt.lvis and "
                f"vt.openimages, found {results.protocol}"
            )
        if not evaluation.has_objects:
            raise BadParameter(f"analyse: {GONE}; {evaluation.remedy}")
        if not 0 < background < min(evaluation.rules.thresholds):
            raise BadParameter(
                f"background: expected an overlap above 0 and below {min(evaluation.rules.thresholds):g}, from which "
                f"predictions are right, found {background:g}"
            )
        self.results, self.evaluation, self.background = results, evaluation, background
        self.truth: Annotations = evaluation.truth
        self.pred: Annotations = evaluation.pred
        self.rules: Rules = evaluation.rules

    @property
    def thresholds(self) -> Sequence[float]:
        return self.rules.thresholds

    @cached_property
    def single(self) -> int:
        """Which threshold the parts take that look at one: 0.5 where it was asked for, else the first."""
        near = [i for i, t in enumerate(self.thresholds) if abs(t - HALF) < 1e-9]
        return near[0] if near else 0

    @property
    def words(self) -> Words:
        """What is compared, and what an overlap is called."""
        return words_of(self.rules.similarity)

    @property
    def iou(self) -> float:
        return float(self.results.settings.iou[self.single])  # type: ignore[attr-defined]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of labels, by their positions."""
        if self.rules.class_agnostic:
            return ("all classes",)
        if self.rules.allow_unknown_classes:
            return tuple(self.results.class_names)
        return tuple(self.truth.labels.all_names)

    @cached_property
    def truth_label(self) -> Rows:
        return np.zeros_like(self.truth.label) if self.rules.class_agnostic else self.truth.label

    @cached_property
    def pred_label(self) -> Rows:
        return np.zeros_like(self.pred.label) if self.rules.class_agnostic else self.pred.label

    def of_preds(self, values: NDArray[Any], otherwise: float) -> NDArray[Any]:
        """For each prediction the value of its class; predictions may have classes that the ground truth lacks."""
        return np.append(values, values.dtype.type(otherwise))[np.minimum(self.pred_label, len(values))]

    @cached_property
    def confidence(self) -> Floats:
        given = self.pred.confidence
        return np.ones(len(self.pred)) if given is None else given

    @cached_property
    def falling(self) -> Ints:
        """Predictions by falling confidence, equal ones as the protocol orders them."""
        return self.list_falling(self.single)

    def list_falling(self, threshold: int) -> Ints:
        """The same at another threshold: Open Images puts groups behind objects, and what hits one depends on it."""
        listed: Ints = self.evaluation.list_falling(threshold)
        if len(listed) == len(self.pred):
            return listed
        is_left = np.ones(len(self.pred), dtype=np.bool_)
        is_left[listed] = False
        return np.concatenate([listed, np.flatnonzero(is_left)])

    @cached_property
    def place(self) -> Ints:
        """Where each prediction stands among them."""
        return invert(self.falling)

    @cached_property
    def by_label(self) -> Ints:
        """Predictions label by label, within a label by falling confidence."""
        return self.sort_by_label(self.falling)

    def sort_by_label(self, falling: Ints) -> Ints:
        labels = self.pred_label[falling]
        is_small = labels.max(initial=0) < 2**15  # numpy sorts short integers by their digits
        return falling[np.argsort(labels.astype(np.int16 if is_small else np.int32), kind="stable")]

    def order_at(self, threshold: int) -> tuple[Ints, Ints]:
        """Places and predictions label by label at one threshold."""
        if threshold == self.single or self.evaluation.has_one_order:
            return self.place, self.by_label
        falling = self.list_falling(threshold)
        return invert(falling), self.sort_by_label(falling)

    @cached_property
    def tp_needed_per_recall(self) -> Callable[[int], Ints]:
        """How many right predictions each recall needs, of so many truths; labels often have as many as others."""
        return lru_cache(maxsize=4096)(self.results.tp_needed_per_recall)

    @cached_property
    def outcomes(self) -> Outcomes:
        """At the single threshold."""
        found: Outcomes = self.evaluation.outcomes(self.single)
        return found

    @cached_property
    def is_right(self) -> Bools:
        return np.asarray(self.outcomes.state == RIGHT)

    @cached_property
    def is_counted(self) -> Bools:
        """Predictions that are right or wrong; the others are set aside."""
        return np.asarray(self.outcomes.state >= WRONG)

    @cached_property
    def counted(self) -> Ints:
        """Predictions that count, label by label, within a label by falling confidence."""
        return self.by_label[self.is_counted[self.by_label]]

    @cached_property
    def slices(self) -> list[slice]:
        """Where each label is among those that count."""
        bounds = np.searchsorted(self.pred_label[self.counted], np.arange(len(self.names) + 1))
        return [slice(*pair) for pair in pairwise(bounds.tolist())]

    @cached_property
    def hits(self) -> tuple[Ints, Ints, list[slice]]:
        """Right predictions, label by label by falling confidence, how many wrong ones of their label come before
        each, and where each label is among them.
        """
        right = self.is_right[self.counted]
        starts = np.repeat([part.start for part in self.slices], [part.stop - part.start for part in self.slices])
        wrong_so_far = np.cumsum(~right)
        before = np.append(wrong_so_far, 0)[starts.astype(np.int64) - 1]  # the last one, 0, for the first label
        rows = self.counted[right]
        bounds = np.searchsorted(self.pred_label[rows], np.arange(len(self.names) + 1))
        return rows, (wrong_so_far - before)[right], [slice(*pair) for pair in pairwise(bounds.tolist())]

    @property
    def is_asked(self) -> Bools:
        """Truths that are to be found; the same at every threshold."""
        return self.outcomes.is_asked

    @cached_property
    def truths(self) -> Ints:
        """How many of each label are to be found."""
        return self.count(self.truth_label[self.is_asked])

    @cached_property
    def present(self) -> Ints:
        """Labels that have something to be found: those that the protocol's mean is over."""
        return np.flatnonzero(self.truths)

    def count(self, labels: NDArray[Any]) -> Ints:
        return np.bincount(labels, minlength=len(self.names))

    @cached_property
    def overlaps(self) -> Overlaps:
        """All pairs from the background's threshold on, truths that are ignored left out."""
        truth, pred, overlap = self.find_pairs(self.pred, self.background)
        return Overlaps(pred, truth, overlap, self.pred_label[pred] == self.truth_label[truth])

    def find_pairs(self, side: Annotations, least: float) -> tuple[Rows, Rows, Floats]:
        """Truths to be found and objects of the other side that overlap so much, whatever their labels: their rows."""
        rules = replace(
            self.rules,
            thresholds=(least,),
            ranges=(EVERY_AREA,),
            limits=(UNLIMITED,),
            recalls=(),
            image_limit=0,
            class_agnostic=True,
        )
        # Where some truths have no mask, nobody is asked for them, and they cannot be compared.
        is_partial = self.results.protocol == "openimages" and self.rules.similarity == "mask"
        rows = np.flatnonzero(self.is_asked).astype(np.int32) if is_partial else None
        truth = self.truth if rows is None else self.truth.take(rows)
        stages = Evaluation(truth, side, rules, self.evaluation.threads).stages
        offsets, at, overlap = stages.candidates
        found = stages.truths[0][at]
        found = found if rows is None else rows[found]
        others = np.repeat(stages.preds[0], np.diff(offsets))
        kept = self.is_asked[found] & ~np.isnan(overlap)
        return found[kept], others[kept], overlap[kept]

    @cached_property
    def same_pairs(self) -> tuple[Rows, Rows, Floats]:
        """The pairs of one label: predictions, truths and overlaps."""
        pairs = self.overlaps
        return pairs.pred[pairs.is_same], pairs.truth[pairs.is_same], pairs.overlap[pairs.is_same]

    @cached_property
    def truth_pairs(self) -> Overlaps:
        """Pairs of truths to be found that overlap at all, each once; both columns are rows of the truth."""
        asked = np.flatnonzero(self.is_asked).astype(np.int32)
        again = replace(self.truth.take(asked), confidence=np.ones(len(asked)))
        truth, other, overlap = self.find_pairs(again, TOUCHING)
        other = asked[other]
        kept = truth < other
        truth, other = truth[kept], other[kept]
        return Overlaps(other, truth, overlap[kept], self.truth_label[truth] == self.truth_label[other])

    @cached_property
    def nearest_same(self) -> Nearest:
        return self.find_nearest(self.overlaps.is_same)

    @cached_property
    def nearest_other(self) -> Nearest:
        return self.find_nearest(~self.overlaps.is_same)

    def find_nearest(self, chosen: Bools) -> Nearest:
        """Of some pairs."""
        pairs = self.overlaps
        pred, truth, overlap = pairs.pred[chosen], pairs.truth[chosen], pairs.overlap[chosen]
        best = np.zeros(len(self.pred))
        if len(pred):
            starts = np.flatnonzero(np.concatenate([[True], pred[1:] != pred[:-1]]))
            best[pred[starts]] = np.maximum.reduceat(overlap, starts)
        is_best = overlap == best[pred]
        return Nearest(first_of(pred[is_best], truth[is_best], len(self.pred)), best)

    @cached_property
    def image_count(self) -> int:
        return max(len(self.truth.images), len(self.pred.images))

    def image_name(self, image: int) -> str:
        sides = self.truth.images, self.pred.images
        return (sides[1] if len(sides[1]) > len(sides[0]) else sides[0]).name(image)

    @cached_property
    def set_aside(self) -> dict[str, int]:
        """Predictions that are outside every part, by why they are: a key of REASONS."""
        found, aside = self.outcomes, np.flatnonzero(~self.is_counted)
        if not len(aside):
            return {}
        met, reason = found.truth[aside], np.full(len(aside), "unjudged", dtype=object)
        if (found.state[aside] == UNSEEN).any():
            reason[(found.state[aside] == UNSEEN) & self.is_beyond_limits[aside]] = "limit"
        reason[(found.state[aside] == IGNORED) & (met < 0)] = "spared"
        reason[met >= 0] = "unasked"
        for flag in ("ignore", "difficult", "group_of", "crowd"):
            if flag in self.truth.flags:
                reason[(met >= 0) & self.truth.flags[flag][met]] = flag
        return {key: int((reason == key).sum()) for key in REASONS if (reason == key).any()}

    @cached_property
    def is_beyond_limits(self) -> Bools:
        """Predictions that come too late in their image, or among those of their label there."""
        rules, image = self.rules, self.pred.image.astype(np.int64)
        cell = image * (int(self.pred_label.max(initial=0)) + 1) + self.pred_label
        found = np.zeros(len(self.pred), dtype=np.bool_)
        for limit, group in ((rules.image_limit, image), (rules.limits[-1], cell)):
            if 0 < limit < UNLIMITED:
                full = np.flatnonzero(np.bincount(group) > limit)  # few, mostly
                rows = np.flatnonzero(np.isin(group, full))
                rows = rows[np.lexsort((self.place[rows], group[rows]))]
                starts = np.searchsorted(group[rows], group[rows])
                found[rows] |= np.arange(len(rows)) - starts >= limit
        return found


def invert(order: Ints) -> Ints:
    """The place of each position in an order of all of them."""
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place


def first_of(keys: Rows, values: Rows, count: int) -> Rows:
    """For each key from 0 on its smallest value; -1 for those that have none."""
    found = np.full(count, -1, dtype=np.int32)
    falling = np.argsort(-values.astype(np.int64), kind="stable")  # the last one written stays
    found[keys[falling]] = values[falling]
    return found


def ends_of_runs(values: Floats) -> Ints:
    """The last position of each run of equal values: those at which a threshold can be put."""
    return np.flatnonzero(np.append(values[1:] != values[:-1], True)) if len(values) else np.empty(0, dtype=np.int64)
