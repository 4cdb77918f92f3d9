"""How many predictions are right and wrong from a confidence on? StepCounts at 101 steps, exact, for the page's slider.

A matching that goes by falling confidence is, restricted to the surer predictions, the same matching: what is right
stays right whatever is left out below it. Beside the steps there are choices that give each label a floor of its own.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.analysis.settings import BEST_F1
from verite.evaluation.floors import LabelFloors
from verite.records import record

if TYPE_CHECKING:
    from verite.reporting.overlays import Overlay

STEPS = 101
RIGHT = "right"
FIRST, BEST, LRP = "", "best F1", "LRP"  # where the page begins, and of each label


@record(eq=False)
class StepCounts:
    """How many there are: [..., step] whose last step it is, and [..., choice] that a choice keeps."""

    steps: NDArray[np.int64]
    chosen: NDArray[np.int64]

    @property
    def falling(self) -> NDArray[np.int64]:
        """From each step on."""
        return np.asarray(self.steps[..., ::-1].cumsum(axis=-1)[..., ::-1])


class ConfidenceTally:
    """Histograms over confidence steps: of each label and type, and of each image; and the same at each choice."""

    def __init__(self, overlay: Overlay, analysis: Any = None) -> None:
        self.overlay, self.analysis = overlay, analysis
        self.truth, self.pred = overlay.truth, overlay.pred
        ours, theirs = self.truth.labels.all_names, self.pred.labels.all_names
        self.names = tuple(theirs if len(theirs) > len(ours) else ours)
        counted = overlay.counts & (self.pred.image < len(self.truth.images))
        of = np.zeros(len(self.pred), dtype=np.int64)
        self.types: tuple[str, ...] = (RIGHT, "wrong")
        self.target = np.full(len(self.pred), -1, dtype=np.int64)  # the truth that an error is after
        if analysis is not None:
            errors = analysis.errors
            of, self.types = np.maximum(errors.types.kind, 0), (RIGHT, *tuple(errors.cost)[:-1])
            self.target = errors.types.target.astype(np.int64)
        self.kind = np.where(counted, np.where(overlay.is_right, 0, of + 1), -1)  # -1: counts for nothing

    @cached_property
    def best_of_labels(self) -> list[float | None]:
        """For each label the confidence with the largest F1, the highest of equals; none where nothing is right."""
        order = np.lexsort((-self.overlay.sureness, self.pred.label))
        order = order[self.kind[order] >= 0]
        starts = np.searchsorted(self.pred.label[order], np.arange(len(self.names) + 1))
        found: list[float | None] = []
        for k, truths in enumerate(self.truths.tolist()):
            rows = order[starts[k] : starts[k + 1]]
            right = np.cumsum(self.kind[rows] == 0)
            if not truths or not len(rows) or not right[-1]:
                found.append(None)
                continue
            sure = self.overlay.sureness[rows]
            f1 = np.where(np.append(np.diff(sure) != 0, True), 2 * right / (np.arange(1, len(rows) + 1) + truths), -1)
            found.append(float(sure[int(np.argmax(f1))]))
        return found

    @cached_property
    def choices(self) -> dict[str, NDArray[np.float64]]:
        """Floors that differ from label to label, by what they are called; a label without one keeps everything."""
        found = {FIRST: self.first_floors, BEST: np.array([-np.inf if x is None else x for x in self.best_of_labels])}
        if self.analysis is not None:
            found[LRP] = LabelFloors.of(self.analysis.lrp.thresholds).of_labels(self.names)
        return found

    @cached_property
    def confidence(self) -> float | LabelFloors:
        """Where the page begins: what the analysis was asked for, else the confidence of the best F1."""
        if self.analysis is None or self.analysis.settings.confidence == BEST_F1:
            return self.overlay.best_confidence
        return self.analysis.confidence  # type: ignore[no-any-return]

    @property
    def first_floors(self) -> NDArray[np.float64]:
        at = self.confidence
        return at.of_labels(self.names) if isinstance(at, LabelFloors) else np.full(len(self.names), at)

    @cached_property
    def is_chosen(self) -> NDArray[np.bool_]:
        """[choice, prediction]: who reaches the floor of its label."""
        floors = np.stack(list(self.choices.values()))
        return np.asarray(self.overlay.sureness >= floors[:, self.pred.label])

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

    def count(self, rows: NDArray[Any], places: tuple[NDArray[Any], ...], shape: tuple[int, ...]) -> StepCounts:
        """How many predictions there are in every place: at each step those whose last one it is, at each choice all
        that are kept.
        """
        many = int(np.prod(shape))
        at = np.ravel_multi_index(places, shape)
        step = self.step[rows]
        known = step >= 0
        steps = np.bincount(at[known] * STEPS + step[known], minlength=many * STEPS)
        chosen = [np.bincount(at[kept], minlength=many) for kept in self.is_chosen[:, rows]]
        return StepCounts(steps.reshape(*shape, STEPS), np.stack(chosen, axis=-1).reshape(*shape, len(chosen)))

    @cached_property
    def by_label(self) -> StepCounts:
        """Of [label, type]."""
        rows = np.flatnonzero(self.kind >= 0)
        return self.count(rows, (self.pred.label[rows], self.kind[rows]), (len(self.names), len(self.types)))

    def by_image(self, images: NDArray[Any], is_right: bool) -> StepCounts:
        """Right or wrong ones of these images."""
        place = np.full(len(self.truth.images) + 1, -1)
        place[images] = np.arange(len(images))
        rows = np.flatnonzero((self.kind == 0) if is_right else (self.kind > 0))
        rows = rows[place[self.pred.image[rows]] >= 0]
        return self.count(rows, (place[self.pred.image[rows]],), (len(images),))

    @cached_property
    def near(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Of each truth the last step at which it is taken or an error is after it, -1 for none; and [choice, truth]
        whether it is so there. A truth to which nobody comes near is missed.
        """
        asked, taken = self.overlay.finds.asked, self.overlay.finds.taken
        rows, pairs = np.flatnonzero((self.kind > 0) & (self.target >= 0)), np.flatnonzero(taken >= 0)
        truth, pred = np.append(self.target[rows], pairs), np.append(rows, taken[pairs])
        truth, pred = truth[asked[truth]], pred[asked[truth]]
        last = np.full(len(asked), -1)
        np.maximum.at(last, truth, self.step[pred])
        chosen = np.zeros((len(self.choices), len(asked)), dtype=np.bool_)
        for is_near, kept in zip(chosen, self.is_chosen, strict=True):
            is_near[truth[kept[pred]]] = True
        return last, chosen

    @cached_property
    def reached(self) -> StepCounts:
        """Of [label] the truths to which somebody comes near."""
        last, chosen = self.near
        known, shape = last >= 0, (len(self.names), STEPS)
        places = np.ravel_multi_index((self.truth.label[known], last[known]), shape)
        steps = np.bincount(places, minlength=int(np.prod(shape))).reshape(shape)
        counts = [np.bincount(self.truth.label[is_near], minlength=len(self.names)) for is_near in chosen]
        return StepCounts(steps, np.stack(counts, axis=-1))

    @cached_property
    def truths(self) -> NDArray[np.int64]:
        """Objects to be found of each label."""
        return np.bincount(self.truth.label[self.overlay.finds.asked], minlength=len(self.names))

    def curve(self) -> dict[str, Any]:
        """Right and wrong predictions of all labels at each step."""
        falling = self.by_label.falling.sum(axis=0)
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
