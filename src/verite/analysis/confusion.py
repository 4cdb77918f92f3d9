"""Which labels are taken for which? A table whose diagonal is the protocol's own true positives.

Of the predictions from a confidence on, first those count that are right by the protocol; what is left, by falling
confidence, takes the left truth of another label that it overlaps most, if by at least the protocol's threshold. So no
right prediction is called confused because it also overlaps something else.
"""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.parts import AnalysisPart, sign, tell_set_aside
from verite.errors import DataError
from verite.evaluation.settings import ClassThresholds
from verite.limits import limit, remedy
from verite.model.tables import Table
from verite.statistics.intervals import wilson
from verite.statistics.mcnemar import mcnemar_exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.analysis.matches import AnalysisMatches, Bools, Ints
    from verite.model.tables import Part
    from verite.signature import Signature

MISSED, NOTHING = "missed", "nothing there"
SHOWN = 10


class Confusion(AnalysisPart):
    """Truths by row, predictions by column; the last column is what is missed, the last row what is not there."""

    name = "confusion"

    def __init__(
        self, matches: AnalysisMatches, confidence: float | ClassThresholds, matching: str = "same-first"
    ) -> None:
        self.matches, self.confidence, self.matching = matches, confidence, matching
        least: Any = confidence
        if isinstance(confidence, ClassThresholds):
            least = matches.of_preds(confidence.of_labels(matches.names), -np.inf)
        self.is_kept: Bools = matches.is_counted & np.asarray(matches.confidence >= least)
        partner = match_same_first(self) if matching == "same-first" else match_any(self)
        self.partner = partner  # of predictions: the truth each is paired with, -1 for none

    @property
    def signature(self) -> Signature:
        return sign("confusion", self.matches, at=self.confidence, matching=self.matching)

    @cached_property
    def counts(self) -> Ints:
        """[truth, pred] of all labels."""
        return self.count_among(np.arange(len(self.matches.names)))

    @cached_property
    def chosen(self) -> Ints:
        """Labels that have truths or predictions here."""
        matches = self.matches
        return np.flatnonzero(matches.truths + matches.count(matches.pred_label[self.is_kept]))

    @property
    def labels(self) -> list[str]:
        return [self.matches.names[k] for k in self.chosen]

    @cached_property
    def matrix(self) -> Ints:
        """Of the labels that are there, and of what is missed and not there."""
        return self.count_among(self.chosen)

    def count_among(self, labels: Ints) -> Ints:
        """[truth, pred] of these labels with one row and one column more, for what is not there and what is missed."""
        matches, count = self.matches, len(labels)
        if count**2 > limit("confusion_cells"):
            raise DataError(
                f"confusion: expected at most {limit('confusion_cells'):,} pairs of classes in a table, found "
                f"{count**2:,} of {count:,} classes; {remedy('confusion_cells')}"
            )
        place = np.full(len(matches.names), -1)
        place[labels] = np.arange(count)
        rows = np.flatnonzero(self.is_kept)
        of = self.partner[rows]
        seen = np.append(place[matches.truth_label], count)[of]  # the last one where there is no partner: nothing
        counts = np.zeros((count + 1, count + 1), dtype=np.int64)
        np.add.at(counts, (seen, place[matches.pred_label[rows]]), 1)
        is_left = matches.is_asked.copy()
        is_left[of[of >= 0]] = False
        counts[:-1, count] = matches.count(matches.truth_label[is_left])[labels]
        return counts

    def by_truth(self) -> NDArray[np.float64]:
        """Shares of each row: how truths of a label are seen (the diagonal is recall)."""
        return divide(self.matrix, self.matrix.sum(axis=1, keepdims=True))

    def by_pred(self) -> NDArray[np.float64]:
        """Shares of each column: what predictions of a label are (the diagonal is precision)."""
        return divide(self.matrix, self.matrix.sum(axis=0, keepdims=True))

    def table(self) -> Table:
        columns = {name: self.matrix[:, i].tolist() for i, name in enumerate([*self.labels, MISSED])}
        return Table.of("truth \\ pred", [*self.labels, NOTHING], columns)

    def pairs(self, most: int | None = None) -> list[dict[str, Any]]:
        """Labels that are taken for others, the most frequent first: how many of the truths, and whether one way is
        more frequent than the other beyond chance (exact binomial).
        """
        inner = self.matrix[:-1, :-1]
        rows, columns = np.nonzero(inner * (1 - np.eye(len(inner), dtype=np.int64)))
        order = np.argsort(-inner[rows, columns], kind="stable")[:most]
        totals = self.matrix.sum(axis=1)
        found = []
        for i, j in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
            count, back = int(inner[i, j]), int(inner[j, i])
            low, high = wilson(count / int(totals[i]), int(totals[i]))
            p_value = mcnemar_exact(count, back)
            found.append(
                {"truth": self.labels[i], "pred": self.labels[j], "count": count, "truths": int(totals[i]),
                 "share": count / int(totals[i]), "low": low, "high": high, "back": back, "p": p_value}
            )  # fmt: skip
        return found

    def sentences(self, most: int = SHOWN) -> list[str]:
        return [
            f"{one['truth']} taken for {one['pred']}: {one['count']:,} of {one['truths']:,}, {one['share']:.3f} "
            f"[{one['low']:.3f}, {one['high']:.3f}]; the other way {one['back']:,} (p {one['p']:.2g})"
            for one in self.pairs(most)
        ]

    def tell_floor(self) -> str:
        """From which confidence on predictions are there."""
        if isinstance(self.confidence, ClassThresholds):
            return "from their class's confidence on"
        return "of any confidence" if self.confidence == -inf else f"from confidence {self.confidence:.4g} on"

    def contents(self) -> list[Part]:
        head = f"predictions {self.tell_floor()}, at {self.matches.words.at(self.matches.iou)}"
        return [head, self.table(), *self.sentences(), tell_set_aside(self.matches), self.signature]

    def to_dict(self) -> dict[str, Any]:
        return {
            "signature": str(self.signature),
            "labels": self.labels,
            "matrix": self.matrix.tolist(),
            "confidence": self.confidence.to_dict()
            if isinstance(self.confidence, ClassThresholds)
            else self.confidence,
            "iou": self.matches.iou,
            "matching": self.matching,
            "pairs": self.pairs(100),
        }


def match_same_first(confusion: Confusion) -> NDArray[np.int64]:
    """The protocol's matches, then what is left of other labels."""
    matches, is_kept = confusion.matches, confusion.is_kept
    partner = np.where(is_kept & matches.is_right, matches.outcomes.truth, -1).astype(np.int64)
    is_free = matches.is_asked.copy()
    is_free[partner[partner >= 0]] = False
    return pair_greedily(matches, partner, is_kept & ~matches.is_right, is_free, ~matches.overlaps.is_same)


def match_any(confusion: Confusion) -> NDArray[np.int64]:
    """Whatever the labels, by falling confidence; of truths that are overlapped equally the later one (hotcoco's)."""
    matches, is_kept = confusion.matches, confusion.is_kept
    partner = np.full(len(matches.pred), -1, dtype=np.int64)
    every = np.ones(len(matches.overlaps.pred), dtype=np.bool_)
    return pair_greedily(matches, partner, is_kept, matches.is_asked.copy(), every, later=True)


def pair_greedily(
    matches: AnalysisMatches,
    partner: NDArray[np.int64],
    is_unassigned: Bools,
    is_free: Bools,
    allowed: Bools,
    *,
    later: bool = False,
) -> NDArray[np.int64]:
    """Open predictions by falling confidence take the free truth they overlap most."""
    pairs, iou = matches.overlaps, matches.thresholds[matches.single]
    chosen = np.flatnonzero(allowed & (pairs.overlap >= iou) & is_unassigned[pairs.pred] & is_free[pairs.truth])
    pred, truth = pairs.pred[chosen], pairs.truth[chosen].astype(np.int64)
    order = np.lexsort((-truth if later else truth, -pairs.overlap[chosen], matches.place[pred]))
    taken: set[int] = set()
    done: set[int] = set()
    for one, other in zip(pred[order].tolist(), truth[order].tolist(), strict=True):
        if one not in done and other not in taken:
            done.add(one)
            taken.add(other)
            partner[one] = other
    return partner


def divide(counts: Ints, totals: Ints) -> NDArray[np.float64]:
    shares = np.full(counts.shape, np.nan)
    np.divide(counts, totals, out=shares, where=totals > 0)
    return shares
