"""What is kept at each confidence? Right and wrong predictions so far, and what follows from them."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.matches import ends_of_runs
from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.analysis.matches import Floats, Ints, Matches


@record(eq=False)
class ConfidenceSweep:
    """What is kept at each distinct confidence, from the highest one down."""

    confidence: Floats
    right: Ints
    wrong: Ints
    truths: int
    images: int

    @property
    def precision(self) -> Floats:
        return np.asarray(self.right / (self.right + self.wrong))

    @property
    def recall(self) -> Floats:
        return self.right / self.truths if self.truths else np.full(len(self.right), np.nan)

    @property
    def per_image(self) -> Floats:
        """Wrong predictions per image."""
        return self.wrong / max(self.images, 1)

    def f(self, beta: float = 1.0) -> Floats:
        """Fβ = (1 + β²) P R / (β² P + R), from the counts; not a number where there is nothing to be found."""
        if not self.truths:
            return np.full(len(self.right), np.nan)
        square = beta**2
        return (1 + square) * self.right / (square * self.truths + self.right + self.wrong)

    def best(self, values: Floats, allowed: NDArray[np.bool_] | None = None) -> int | None:
        """Where the values are largest, of equal ones at the highest confidence; None where none is allowed."""
        chosen = np.where(np.isnan(values) | (False if allowed is None else ~allowed), -1.0, values)
        return int(np.argmax(chosen)) if len(chosen) and chosen.max() >= 0 else None

    def at(self, confidence: float) -> int | None:
        """Which threshold keeps the predictions from this confidence on; None where it keeps none."""
        kept = int(np.searchsorted(-self.confidence, -confidence, side="right"))
        return kept - 1 if kept else None

    def tell(self, at: int | None, beta: float = 1.0) -> dict[str, Any]:
        """Everything at one threshold."""
        if at is None:
            none = 0.0 if self.truths else nan
            return {"confidence": nan, "precision": nan, "recall": none, "f": none, "fp_per_image": 0.0,
                    "tp": 0, "fp": 0, "fn": self.truths}  # fmt: skip
        right, wrong = int(self.right[at]), int(self.wrong[at])
        return {
            "confidence": float(self.confidence[at]),
            "precision": right / (right + wrong),
            "recall": float(self.recall[at]),
            "f": float(self.f(beta)[at]),
            "fp_per_image": float(self.per_image[at]),
            "tp": right,
            "fp": wrong,
            "fn": self.truths - right,
        }


def sweep(confidence: Floats, is_right: NDArray[np.bool_], truths: int, images: int) -> ConfidenceSweep:
    """Of predictions by falling confidence."""
    ends = ends_of_runs(confidence)
    right = np.cumsum(is_right, dtype=np.int64)[ends]
    return ConfidenceSweep(confidence[ends], right, ends + 1 - right, truths, images)


def draw_sweep(matches: Matches, rows: Ints, weight: Floats) -> tuple[Floats, Floats]:
    """Right and wrong ones so far at each distinct confidence, images counting as often as they were drawn."""
    ends = ends_of_runs(matches.confidence[rows])
    counted, right = weight[matches.pred.image[rows]], matches.is_right[rows]
    found = np.cumsum(np.where(right, counted, 0.0))[ends]
    return found, np.cumsum(counted)[ends] - found
