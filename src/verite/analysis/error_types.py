"""What is wrong with each wrong prediction, and which truths did nobody come near?

Bolya et al., TIDE: A General Toolbox for Identifying Object Detection Errors, ECCV 2020.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verite.evaluation.evaluation import RIGHT, WRONG
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.analysis.matches import Bools, Matches, Rows

TYPES = ("class", "localization", "both", "duplicate", "background", "missed")
CLASS, LOCALIZATION, BOTH, DUPLICATE, BACKGROUND, MISSED = range(6)
NONE = -1  # a prediction without an error: right, or set aside


@record(eq=False)
class ErrorTypes:
    """At one threshold: the error of every prediction, the truth it was after, and the truths that are missed."""

    iou: float
    is_right: Bools  # predictions
    kind: NDArray[np.int8]  # of predictions: the position of their error in TYPES, or NONE
    target: Rows  # of class and localization errors: the truth they would be right on; -1 for others
    is_mended: Bools  # predictions that become right if their error is fixed: the best of each target that is free
    is_taken: Bools  # truths
    is_missed: Bools  # truths that nobody took, and nobody is after

    def counts(self) -> dict[str, int]:
        found = np.bincount(self.kind[self.kind >= 0], minlength=len(TYPES))
        found[MISSED] = self.is_missed.sum()
        return dict(zip(TYPES, found.tolist(), strict=True))


def find_types(matches: Matches, threshold: int) -> ErrorTypes:
    """The first type that holds, in this order.

    No truth overlapped by more than the background's threshold: background. Otherwise, in the order of the paper's
    code: the largest overlap with a truth of the own label lies between the two thresholds, both included:
    localization; a truth of another label is overlapped enough: class; a taken one of the own label is: duplicate; no
    overlap exceeds the background's threshold: background; else both.
    """
    found = matches.outcomes if threshold == matches.single else matches.evaluation.outcomes(threshold)
    iou, background = matches.thresholds[threshold], matches.background
    same, other, pairs = matches.nearest_same, matches.nearest_other, matches.overlaps
    is_right, is_open = found.state == RIGHT, found.state == WRONG
    is_taken = found.is_asked & (found.pred >= 0)
    repeats = np.zeros(len(is_open), dtype=np.bool_)
    repeats[pairs.pred[pairs.is_same & (pairs.overlap >= iou) & is_taken[pairs.truth]]] = True
    kind = np.full(len(is_open), NONE, dtype=np.int8)
    rules = (
        (LOCALIZATION, (same.overlap >= background) & (same.overlap <= iou)),
        (CLASS, other.overlap >= iou),
        (DUPLICATE, repeats),
        (BACKGROUND, np.maximum(same.overlap, other.overlap) <= background),
        (BOTH, np.ones_like(is_open)),
    )
    for one, holds in rules:
        kind[is_open & holds] = one
        is_open = is_open & ~holds
    target = np.where(kind == LOCALIZATION, same.truth, np.where(kind == CLASS, other.truth, -1)).astype(np.int32)
    after = np.flatnonzero(target >= 0)
    is_missed = found.is_asked & ~is_taken
    is_missed[target[after]] = False
    is_mended = np.zeros(len(kind), dtype=np.bool_)
    is_mended[choose_best(matches, after[~is_taken[target[after]]], target)] = True
    return ErrorTypes(iou, is_right, kind, target, is_mended, is_taken, is_missed)


def choose_best(matches: Matches, rows: NDArray[np.intp], target: Rows) -> Rows:
    """Of these predictions the most confident one of each target."""
    best = np.full(len(matches.truth), -1, dtype=np.int32)
    falling = rows[np.argsort(-matches.place[rows])]  # the least confident first: the last one written stays
    best[target[falling]] = falling
    return best[best >= 0]
