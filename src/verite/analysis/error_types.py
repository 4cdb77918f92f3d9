"""What is wrong with each wrong prediction, and which truths did nobody come near?

Bolya et al., TIDE: A General Toolbox for Identifying Object Detection Errors, ECCV 2020.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verite import _core
from verite.evaluation.evaluation import RIGHT
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.analysis.matches import Bools, Ints, Matches, Rows

TYPES = ("class", "localization", "both", "duplicate", "background", "missed")
CLASS, LOCALIZATION, BOTH, DUPLICATE, BACKGROUND, MISSED = range(6)
NONE = -1  # a prediction without an error: right, or set aside


@record(eq=False)
class ErrorTypes:
    """At one threshold: the error of every prediction, the truth it was after, and the truths that are missed."""

    iou: float
    place: Ints  # of predictions, by falling confidence
    by_label: Ints  # predictions label by label, within a label by falling confidence
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
    is_taken = found.is_asked & (found.pred >= 0)
    same, other = matches.nearest_same, matches.nearest_other
    place, by_label = matches.order_at(threshold)
    kind, target, is_mended, is_missed = _core.find_error_types(
        found.state,
        same.overlap,
        other.overlap,
        same.truth,
        other.truth,
        place,
        *matches.same_pairs,
        is_taken.view(np.uint8),
        np.ascontiguousarray(found.is_asked).view(np.uint8),
        matches.thresholds[threshold],
        matches.background,
    )
    flags = (found.state == RIGHT, is_mended.view(np.bool_), is_missed.view(np.bool_))
    return ErrorTypes(
        matches.thresholds[threshold], place, by_label, flags[0], kind, target, flags[1], is_taken, flags[2]
    )
