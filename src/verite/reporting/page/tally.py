"""How many predictions are right and wrong from a confidence on? Counts at 101 steps, exact, for the page's slider.

A matching that goes by falling confidence is, restricted to the surer predictions, the same matching: what is right
stays right whatever is left out below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from verite.reporting.overlays import Overlay

STEPS = 101
RIGHT = "right"


class ConfidenceTally:
    """Histograms over confidence steps: of each label and type, and of each image."""

    def __init__(
        self,
        overlay: Overlay,
        kinds: NDArray[Any] | None = None,
        types: Sequence[str] = ("wrong",),
        other: NDArray[Any] | None = None,
    ) -> None:
        """`kinds`: of each prediction its place in `types`, where somebody knows more than that it is wrong.

        `other`: the label of the truth that it should have had, -1 for none.
        """
        self.overlay, self.types, self.other = overlay, (RIGHT, *types), other
        self.truth, self.pred = overlay.truth, overlay.pred
        ours, theirs = self.truth.labels.all_names, self.pred.labels.all_names
        self.names = tuple(theirs if len(theirs) > len(ours) else ours)
        counted = overlay.counts & (self.pred.image < len(self.truth.images))
        of = np.zeros(len(self.pred), dtype=np.int64) if kinds is None else np.maximum(kinds, 0)
        self.kind = np.where(counted, np.where(overlay.is_right, 0, of + 1), -1)  # -1: counts for nothing

    @cached_property
    def steps(self) -> NDArray[np.float64]:
        """Rising confidences: hundredths, or where confidences are no shares, equal steps between the extremes."""
        sure = self.overlay.sureness[np.isfinite(self.overlay.sureness)]
        if not len(sure) or (sure.min() >= 0 and sure.max() <= 1):
            return np.arange(STEPS) / (STEPS - 1)
        return np.linspace(sure.min(), sure.max(), STEPS)

    @cached_property
    def step(self) -> NDArray[np.int64]:
        """The last step at which each prediction still counts; -1 for none."""
        return np.searchsorted(self.steps, self.overlay.sureness, side="right") - 1

    @cached_property
    def by_label(self) -> NDArray[np.int64]:
        """[label, type, step]: predictions whose last step it is."""
        rows = np.flatnonzero((self.kind >= 0) & (self.step >= 0))
        shape = (len(self.names), len(self.types), STEPS)
        at = np.ravel_multi_index((self.pred.label[rows], self.kind[rows], self.step[rows]), shape)
        return np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)

    def by_image(self, is_right: bool) -> NDArray[np.int64]:
        """[image, step]: right or wrong predictions whose last step it is."""
        rows = np.flatnonzero(((self.kind == 0) if is_right else (self.kind > 0)) & (self.step >= 0))
        shape = (len(self.truth.images), STEPS)
        at = np.ravel_multi_index((self.pred.image[rows], self.step[rows]), shape)
        return np.bincount(at, minlength=int(np.prod(shape))).reshape(shape)

    @cached_property
    def truths(self) -> NDArray[np.int64]:
        """Objects to be found of each label."""
        return np.bincount(self.truth.label[self.overlay.finds.asked], minlength=len(self.names))

    def curve(self) -> dict[str, Any]:
        """Right and wrong predictions of all labels at each step."""
        falling = self.by_label.sum(axis=0)[:, ::-1].cumsum(axis=1)[:, ::-1]
        return {
            "steps": self.steps.tolist(),
            "right": falling[0].tolist(),
            "wrong": falling[1:].sum(axis=0).tolist(),
            "truths": int(self.truths.sum()),
            "images": len(self.truth.images),
        }

    def at(self, confidence: float) -> dict[str, Any]:
        """Everything at one confidence, which need not be a step."""
        is_kept = (self.kind >= 0) & (self.overlay.sureness >= confidence)
        right = int((is_kept & (self.kind == 0)).sum())
        wrong, truths = int(is_kept.sum()) - right, int(self.truths.sum())
        return {
            "confidence": confidence,
            "right": right,
            "wrong": wrong,
            "missed": truths - right,
            "precision": right / (right + wrong) if right + wrong else None,
            "recall": right / truths if truths else None,
            "f1": 2 * right / (right + wrong + truths) if truths else None,
        }

    def best_of_labels(self) -> list[tuple[float | None, float | None]]:
        """For each label the confidence with the largest F1, the highest of equals, and that F1."""
        order = np.lexsort((-self.overlay.sureness, self.pred.label))
        order = order[self.kind[order] >= 0]
        starts = np.searchsorted(self.pred.label[order], np.arange(len(self.names) + 1))
        found: list[tuple[float | None, float | None]] = []
        for k, truths in enumerate(self.truths.tolist()):
            rows = order[starts[k] : starts[k + 1]]
            right = np.cumsum(self.kind[rows] == 0)
            if not truths or not len(rows) or not right[-1]:
                found.append((None, 0.0 if truths else None))
                continue
            sure = self.overlay.sureness[rows]
            f1 = np.where(np.append(np.diff(sure) != 0, True), 2 * right / (np.arange(1, len(rows) + 1) + truths), -1)
            best = int(np.argmax(f1))
            found.append((float(sure[best]), float(f1[best])))
        return found
