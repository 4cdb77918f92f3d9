"""Lowest and highest average precision (AP) over all orders of predictions that have no confidences.

AP ranks predictions; without confidences every order is as good as any other, and AP is a range. COCO's matching takes
predictions in their order, each the free object of highest IoU ≥ threshold. AP at a threshold depends on the number of
false positives before the first, second, … true positive alone, and falls as any of these numbers grows:

- Highest AP: a largest matching can be found by some order that puts all its true positives first (the matchings that
  orders find are the Pareto-optimal ones; Abdulkadiroğlu and Sönmez, Econometrica 1998).
- Lowest AP: false positives that overlap no object come first. A duplicate is a false positive only behind the true
  positive that took its object, so that objects with most duplicates come first.

At one threshold both are exact but for rare groups of overlapping objects, which are searched exhaustively up to 16
predictions. In general the fewest matches that an order can find are NP-hard to compute (Abraham,
Cechlárová, Manlove and Mehlhorn, ISAAC 2004), and beyond that a bound is used. With several thresholds one order serves
all of them, and the mean of the lowest APs may be reached by none: it is then an outer bound, and is called so.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from math import ceil, nan
from typing import TYPE_CHECKING, Any, NamedTuple

from verite import _core
from verite.arrays import np
from verite.evaluation.evaluation import RECALLS, Evaluation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class Bounds(NamedTuple):
    """Lowest and highest AP, and whether some order has exactly these."""

    low: float
    high: float
    is_low_exact: bool
    is_high_exact: bool

    @staticmethod
    def mean(bounds: Sequence[Bounds]) -> Bounds:
        """Return the bounds of the mean of quantities that do not depend on each other; nan of none."""
        if not bounds:
            return Bounds(nan, nan, True, True)
        low, high = (_core.mean([one[side] for one in bounds]) for side in (0, 1))
        return Bounds(low, high, all(one.is_low_exact for one in bounds), all(one.is_high_exact for one in bounds))


@dataclass(frozen=True)
class OrderCounts:
    """True and false positives of one class at one IoU threshold over all orders; a sum over images.

    `background` are false positives in every order, `most` and `least` the true positives of the best and the worst
    order. `released` are pairs (count of false positives, number of true positives that make so many possible). `late`
    are groups of overlapping objects whose false positives may come behind later true positives only: true positives
    and false positives of their worst order, and number of such groups.
    """

    background: int
    most: int
    least: int
    released: tuple[tuple[int, int], ...]
    late: tuple[tuple[int, int, int], ...]
    is_exact: bool

    def __add__(self, other: OrderCounts) -> OrderCounts:
        released: Counter[int] = Counter()
        late: Counter[tuple[int, int]] = Counter()
        for one in (self, other):
            released.update(dict(one.released))
            late.update({(tp, fp): count for tp, fp, count in one.late})
        return OrderCounts(
            self.background + other.background,
            self.most + other.most,
            self.least + other.least,
            tuple(sorted(released.items())),
            tuple((*key, count) for key, count in sorted(late.items())),
            self.is_exact and other.is_exact,
        )

    def bounds(self, needed: Sequence[int]) -> Bounds:
        """Return the bounds of AP at this threshold; `needed` are the true positives that each recall level needs.

        The lower bound has the false positives of late groups behind their first true positive. Where an order that
        puts these groups first has the same AP, it is exact.
        """
        high = bisect_right(needed, self.most) / len(needed)
        steps = Counter(dict(self.released))
        for _, fp, count in self.late:
            steps[fp] += count
        low = self.ap_of(sorted(steps.items(), reverse=True), needed)
        is_exact = self.is_exact
        if self.late and is_exact:
            groups = [step for tp, fp, count in self.late for _ in range(count) for step in ((0, tp - 1), (fp, 1))]
            is_exact = self.ap_of([*groups, *reversed(self.released)], needed) - low < 1e-12
        return Bounds(low, high, is_exact, True)

    def ap_of(self, steps: Iterable[tuple[int, int]], needed: Sequence[int]) -> float:
        """Return AP of an order: `steps` are pairs (false positives behind each of some true positives, how many).

        Precision rises or falls throughout the true positives of a step, so that its maximum from one of them on is at
        that one, at the last of its step or in a later step.
        """
        stretches, first, wrong = [], 1, self.background
        for step, count in (*steps, (0, self.least)):
            last = min(first + count - 1, self.least)
            if first <= last:
                stretches.append((first, last, wrong, step))
            first, wrong = first + count, wrong + step * count
        best = total = 0.0
        end = bisect_right(needed, self.least)
        for first, last, wrong, step in reversed(stretches):
            best = max(best, last / (last + wrong + step * (last - first)))
            start = bisect_left(needed, first, 0, end)
            if step:
                total += sum(max(best, j / (j + wrong + step * (j - first))) for j in needed[start:end])
            else:
                total += best * (end - start)
            best, end = max(best, first / (first + wrong)), start
        return total / len(needed)


def needed_per_recall(truths: int) -> list[int]:
    """Return for each recall level of COCO's AP the number of true positives of a class that reach it."""
    found = []
    for recall in RECALLS:
        needed = max(ceil(recall * truths) - 1, 1)
        while needed / truths < recall:
            needed += 1
        found.append(needed)
    return found


@dataclass(frozen=True)
class ClassOrders:
    """The counts of a class at every IoU threshold, and whether one order is worst, or best, at all of them."""

    counts: tuple[OrderCounts, ...]
    has_worst: bool
    has_best: bool

    def __add__(self, other: ClassOrders) -> ClassOrders:
        return ClassOrders(
            tuple(one + two for one, two in zip(self.counts, other.counts, strict=True)),
            self.has_worst and other.has_worst,
            self.has_best and other.has_best,
        )

    def mean(self, bounds: Sequence[Bounds]) -> Bounds:
        """Return the bounds of the mean of AP over the thresholds, which one order has to serve."""
        low, high, is_low_exact, _ = Bounds.mean(bounds)
        is_one = len(self.counts) == 1
        return Bounds(low, high, is_low_exact and (is_one or self.has_worst), is_one or self.has_best)

    @classmethod
    def nothing(cls, thresholds: int) -> ClassOrders:
        """Return the counts of a class without predictions."""
        return cls((OrderCounts(0, 0, 0, (), (), True),) * thresholds, True, True)

    def to_list(self) -> list[Any]:
        """Return the counts as JSON can hold them."""
        return [[[*vars(one).values()] for one in self.counts], self.has_worst, self.has_best]

    @classmethod
    def of_list(cls, said: Sequence[Any]) -> ClassOrders:
        """Return the counts of :meth:`to_list`; raise `TypeError` or `ValueError` for any other."""
        counts, has_worst, has_best = said
        found = []
        for background, most, least, released, late, is_exact in counts:
            pairs = tuple((step, count) for step, count in released)
            groups = tuple((tp, fp, count) for tp, fp, count in late)
            numbers = (background, most, least, *(number for row in (*pairs, *groups) for number in row))
            if any(type(number) is not int or number < 0 for number in numbers) or least > most:
                raise ValueError
            found.append(OrderCounts(background, most, least, pairs, groups, bool(is_exact)))
        return cls(tuple(found), bool(has_worst), bool(has_best))


def orders_of(evaluation: Evaluation) -> list[ClassOrders]:
    """Return for each class what COCO's matching can find over all orders of the predictions of an evaluation."""
    if evaluation.rules.wants != "optimal":
        rules = replace(evaluation.rules, wants="optimal")
        evaluation = Evaluation(evaluation.truth, evaluation.pred, rules, evaluation.threads)
    found = evaluation.kept.order_range()
    return [
        ClassOrders(tuple(OrderCounts(*one) for one in counts), has_worst, has_best)
        for counts, has_worst, has_best in zip(found["classes"], found["has_worst"], found["has_best"], strict=True)
    ]


MOST_ORDERED = 50_000  # predictions that are evaluated in two orders, to see whether these reach the bounds


def reached_by_orders(evaluation: Evaluation) -> tuple[float, float] | None:
    """Return AP by COCO's matching of the predictions ordered by rising and by falling IoU; None if it takes too long.

    These orders are the worst and the best one at every threshold if objects have one prediction each, and near to them
    otherwise. None also where objects other than crowds are ignored, which COCO matches once only.
    """
    pred, layout = evaluation.pred, evaluation.layout
    if len(pred) > MOST_ORDERED or not {"crowd"}.issuperset(evaluation.truth.flags):
        return None
    rows, (offsets, _, iou) = layout.preds[0], layout.candidates
    owner = rows[np.repeat(np.arange(len(rows)), np.diff(offsets))]
    highest, matched = np.zeros((2, len(pred)))
    np.maximum.at(highest, owner, np.nan_to_num(iou))
    is_matched = layout.is_matched(int(np.argmin(evaluation.rules.thresholds)))
    matched[owner[is_matched]] = iou[is_matched]
    rules = replace(evaluation.rules, wants="free", recalls=RECALLS)
    low, high = (
        Evaluation(evaluation.truth, replace(pred, confidence=confidence), rules, evaluation.threads)
        for confidence in (-highest, matched)
    )
    return low.mean("precision", None, 0, 0), high.mean("precision", None, 0, 0)


def join_orders(parts: Iterable[Mapping[int, ClassOrders]]) -> dict[int, ClassOrders]:
    """Return the counts of several sets of images together, by the id of the class."""
    found: dict[int, ClassOrders] = {}
    for own in parts:
        for label, orders in own.items():
            found[label] = found[label] + orders if label in found else orders
    return dict(sorted(found.items()))
