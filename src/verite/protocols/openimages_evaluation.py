"""What can be asked of an evaluation of Open Images? The same as of others: who took whom, and in which order."""

from __future__ import annotations

from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter
from verite.evaluation.evaluation import IGNORED, RIGHT, UNSEEN, WRONG, Outcomes, Rules
from verite.protocols.openimages_matching import (
    Decided,
    Sides,
    curves_of,
    decide,
    is_set_aside,
    list_falling,
    pair_sides,
)
from verite.records import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from verite.evaluation.curves import Curve
    from verite.model.annotations import Annotations
    from verite.protocols.openimages import OpenImagesSettings

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]


class OpenImagesEvaluation:
    """Truth and predictions by the rules of Open Images, matched when somebody asks."""

    has_objects = True
    has_one_order = False  # groups come behind objects of equal confidence, and what hits one depends on the threshold

    def __init__(self, settings: OpenImagesSettings, truth: Annotations, pred: Annotations, threads: int) -> None:
        self.settings, self.truth, self.pred, self.threads = settings, truth, pred, threads
        self.weight = settings.group_of_weight or 0.0

    def __reduce__(self) -> tuple[Any, ...]:
        return OpenImagesEvaluation, (self.settings, self.truth, self.pred, self.threads)

    @cached_property
    def sides(self) -> Sides:
        return pair_sides(self.settings, self.truth, self.pred, self.threads)

    @cached_property
    def decide(self) -> Callable[[float], Decided]:
        """What is decided at a threshold, once."""
        return cache(lambda threshold: decide(self.sides, threshold))

    def curves(self, threshold: float) -> dict[str, Curve]:
        return curves_of(self.settings, self.sides, self.decide(threshold))

    @property
    def rules(self) -> Rules:
        """How objects are compared; groups and verified classes are beyond it."""
        spared = ("difficult",) if self.weight > 0 else ("difficult", "group_of")
        return Rules(
            self.settings.iou, self.settings.on, wants="best", equal="first", ties="row", is_open=True, ignored=spared
        )

    @property
    def is_asked(self) -> Bools:
        """Truths that are to be found."""
        truth = self.truth
        return np.asarray(~is_set_aside(truth, self.settings.on) & (~truth.group_of | (self.weight > 0)))

    def outcomes(self, threshold: int = 0) -> Outcomes:
        return self.outcomes_at(self.settings.iou[threshold])

    def outcomes_at(self, threshold: float) -> Outcomes:
        """Whom every prediction took, and who found every truth; a group is found by its best prediction."""
        if self.weight not in (0.0, 1.0):
            raise BadParameter(
                f"group_of_weight: expected 0 or 1, so that a group is an object or none, found {self.weight:g}"
            )
        found, origin, asked = self.decide(threshold), self.sides.origin, self.is_asked
        taken = np.where(asked & (found.taken >= 0), np.append(origin, -1)[found.taken], -1)
        state = np.full(len(self.pred), UNSEEN, dtype=np.int8)
        met, overlap = np.full(len(self.pred), -1, dtype=np.int32), np.full(len(self.pred), np.nan)
        state[origin], met[origin], overlap[origin] = found.outcome, found.met, found.overlap
        state[taken[taken >= 0]] = RIGHT
        return Outcomes(state, met, overlap, taken.astype(np.int32), asked)

    def list_falling(self, threshold: int = 0) -> Ints:
        """Every prediction by falling confidence, equal ones as they count at this threshold; last what is left out."""
        sides = self.sides
        counted, _ = list_falling(sides, self.decide(self.settings.iou[threshold]), self.weight)
        rows = sides.origin[counted]
        return np.concatenate([rows, np.setdiff1d(np.arange(len(self.pred)), rows)])

    def bin_means(self, of_truths: Ints, of_preds: Ints, bins: int) -> list[float]:
        """Mean AP at the first threshold of each bin: truths outside it are difficult, and predictions outside it that
        find nothing are left out.
        """
        found = []
        for code in range(bins):
            flags = {**self.truth.flags, "difficult": self.truth.difficult | (of_truths != code)}
            truth = replace(self.truth, flags=flags)
            sides = pair_sides(self.settings, truth, self.pred, self.threads)
            decided = decide(sides, self.settings.iou[0])
            is_outside = (decided.outcome == WRONG) & (of_preds[sides.origin] != code)
            decided = replace(decided, outcome=np.where(is_outside, IGNORED, decided.outcome).astype(np.int8))
            values = [curve.average_precision("all") for curve in curves_of(self.settings, sides, decided).values()]
            found.append(_core.mean([value for value in values if value == value]))
        return found
