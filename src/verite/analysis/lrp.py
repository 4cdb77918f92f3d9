"""How far from perfect is a detector at its best threshold? Localization, recall and precision in one error.

    LRP(s) = (Σ over right predictions of (1 − IoU) / (1 − τ) + FP + FN) / (TP + FP + FN)

of the predictions with a confidence from s on; optimal LRP is its smallest value over s.

Oksuz, Cam, Akbas, Kalkan, Localization Recall Precision, ECCV 2018; One Metric to Measure Them All, PAMI 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.matches import ends_of_runs
from verite.analysis.parts import AnalysisPart, sign
from verite.model.tables import Table, show_cell

if TYPE_CHECKING:
    from verite.analysis.matches import AnalysisMatches, Floats
    from verite.model.tables import Part
    from verite.signature import Signature


@dataclass(frozen=True)
class Optimum:
    """The smallest LRP of a label, what it is made of, and the confidence from which it is reached."""

    olrp: float
    loc: float  # mean of 1 − IoU of right predictions; not divided by 1 − τ
    fp: float  # share of wrong ones among predictions
    fn: float  # share of truths that are not found
    confidence: float


class LRP(AnalysisPart):
    """Optimal LRP of every label and its mean, with the threshold of each label."""

    name = "lrp"

    def __init__(self, matches: AnalysisMatches) -> None:
        self.matches = matches
        self.optima = {int(k): find_optimum(matches, int(k)) for k in matches.present}

    @property
    def signature(self) -> Signature:
        return sign("lrp", self.matches, tau=self.matches.iou, thresholds="every confidence")

    @cached_property
    def mean(self) -> Optimum:
        """Over labels with truths; what is absent of a label is left out of its mean."""
        found = np.array([(o.olrp, o.loc, o.fp, o.fn) for o in self.optima.values()]).reshape(-1, 4)
        olrp, loc, fp, fn = (mean_of_present(column) for column in found.T)
        return Optimum(olrp, loc, fp, fn, nan)

    @property
    def thresholds(self) -> dict[str, float]:
        """For each label the confidence of its smallest error; labels that nobody finds are not there."""
        return {self.matches.names[k]: o.confidence for k, o in self.optima.items() if not isnan(o.confidence)}

    def table(self) -> Table:
        order = sorted(self.optima, key=lambda k: -self.optima[k].olrp)
        columns = {head: [getattr(self.optima[k], key) for k in order] for head, key in HEADS.items()}
        mean = {head: getattr(self.mean, key) for head, key in HEADS.items() if key != "confidence"}
        return Table.of("class", [self.matches.names[k] for k in order], columns, mean=mean)

    def sentence(self) -> str:
        """The mean in words."""
        mean, words = self.mean, self.matches.words
        return (
            f"optimal LRP error {show_cell(mean.olrp)}, each class at its own threshold: right {words.many} are off by "
            f"{show_cell(mean.loc)} (1 − {words.overlap}), {show_cell(mean.fp)} of predictions are wrong, "
            f"{show_cell(mean.fn)} of truths are not found"
        )

    def contents(self) -> list[Part]:
        return [self.sentence(), *super().contents()]

    def to_dict(self) -> dict[str, Any]:
        return {
            "signature": str(self.signature),
            **{key: value for key, value in tell(self.mean).items() if key != "confidence"},
            "classes": {self.matches.names[k]: tell(optimum) for k, optimum in self.optima.items()},
        }


HEADS = {"oLRP": "olrp", "loc": "loc", "FP share": "fp", "FN share": "fn", "at confidence": "confidence"}


def tell(optimum: Optimum) -> dict[str, float]:
    return {"oLRP": optimum.olrp, "loc": optimum.loc, "fp": optimum.fp, "fn": optimum.fn,
            "confidence": optimum.confidence}  # fmt: skip


def mean_of_present(values: Floats) -> float:
    present = values[~np.isnan(values)]
    return float(present.mean()) if len(present) else nan


def find_optimum(matches: AnalysisMatches, label: int) -> Optimum:
    """At every distinct confidence, exactly; of equal errors the one of the highest threshold."""
    rows = matches.counted[matches.slices[label]]
    truths = int(matches.truths[label])
    right = matches.is_right[rows]
    if not right.any():
        return Optimum(1.0, nan, nan, 1.0, nan)
    confidence = matches.confidence[rows]
    ends = ends_of_runs(confidence)
    found = np.cumsum(right)[ends]
    wrong = ends + 1 - found
    away = np.cumsum(np.where(right, 1 - matches.outcomes.overlap[rows], 0.0))[ends]
    tau = matches.thresholds[matches.single]
    scaled = away / (1 - tau) if tau < 1 else np.zeros_like(away)
    error = (scaled + wrong + truths - found) / (wrong + truths)
    best = int(np.argmin(error))
    if not found[best]:  # nothing kept is as good as the best: nothing right is left
        return Optimum(1.0, nan, nan, 1.0, nan)
    return Optimum(
        float(error[best]),
        float(away[best] / found[best]),
        float(wrong[best] / (wrong[best] + found[best])),
        float(1 - found[best] / truths),
        float(confidence[ends[best]]),
    )
