"""Optimal LRP error: localization, precision and recall of a detector at its best confidence threshold, as one number.

    LRP(s) = (Σ over true positives of (1 − IoU) / (1 − τ) + FP + FN) / (TP + FP + FN)

for the predictions with confidence ≥ s; optimal LRP is the smallest value over s.

Oksuz, Cam, Akbas, Kalkan, Localization Recall Precision, ECCV 2018; One Metric to Measure Them All, PAMI 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING

import numpy as np

from verite.analysis.matches import ends_of_runs
from verite.analysis.part import AnalysisPart, PartRecord, part_signature
from verite.model.tables import Table, show_cell
from verite.plotting import COLOURS, label_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from verite.analysis.matches import AnalysisMatches
    from verite.files import JsonObject
    from verite.model.tables import Part
    from verite.signature import Signature

HEADS = {"oLRP": "olrp", "loc": "loc", "FP share": "fp", "FN share": "fn", "at confidence": "confidence"}
PLOTTED_CLASSES = 30


@dataclass(frozen=True)
class Optimum:
    """The smallest LRP of a class, its components, and the confidence threshold at which it is reached."""

    olrp: float
    loc: float  # mean 1 − IoU of true positives, not divided by 1 − τ
    fp: float  # FP / (TP + FP)
    fn: float  # FN / (TP + FN)
    confidence: float

    def to_dict(self) -> dict[str, float]:
        """Return the values by the keys of the JSON document."""
        return {"oLRP": self.olrp, "loc": self.loc, "fp": self.fp, "fn": self.fn, "confidence": self.confidence}


def find_optimum(matches: AnalysisMatches, label: int) -> Optimum:
    """Return the optimum of one class over all distinct confidences; of equal errors that of the highest threshold."""
    rows = matches.counted_rows[matches.class_slices[label]]
    truths = int(matches.truth_counts[label])
    is_tp = matches.is_tp[rows]
    nothing_found = Optimum(1.0, nan, nan, 1.0, nan)
    if not is_tp.any():
        return nothing_found
    confidence = matches.confidence[rows]
    ends = ends_of_runs(confidence)
    tp = np.cumsum(is_tp)[ends]
    fp = ends + 1 - tp
    distance = np.cumsum(np.where(is_tp, 1 - matches.outcomes.overlap[rows], 0.0))[ends]
    tau = matches.thresholds[matches.main_threshold]
    scaled = distance / (1 - tau) if tau < 1 else np.zeros_like(distance)
    error = (scaled + fp + truths - tp) / (fp + truths)
    best = int(np.argmin(error))
    if not tp[best]:  # no threshold is better than one above all confidences
        return nothing_found
    return Optimum(
        float(error[best]),
        float(distance[best] / tp[best]),
        float(fp[best] / (fp[best] + tp[best])),
        float(1 - tp[best] / truths),
        float(confidence[ends[best]]),
    )


class LRP(AnalysisPart):
    """Optimal LRP error of every class and its mean, with the confidence threshold of each class."""

    name = "lrp"

    def __init__(self, matches: AnalysisMatches) -> None:
        self.matches = matches
        self.optima = {int(k): find_optimum(matches, int(k)) for k in matches.present}

    @property
    def signature(self) -> Signature:
        """Every setting that can change the errors."""
        return part_signature("lrp", self.matches, tau=self.matches.iou, thresholds="every confidence")

    @cached_property
    def mean(self) -> Optimum:
        """Means over the classes with ground truth; components that a class lacks are excluded."""
        found = np.array([(o.olrp, o.loc, o.fp, o.fn) for o in self.optima.values()]).reshape(-1, 4)
        present = [column[~np.isnan(column)] for column in found.T]
        olrp, loc, fp, fn = (float(column.mean()) if len(column) else nan for column in present)
        return Optimum(olrp, loc, fp, fn, nan)

    @property
    def thresholds(self) -> dict[str, float]:
        """The confidence threshold of each class; classes without a true positive have none."""
        return {self.matches.names[k]: o.confidence for k, o in self.optima.items() if not isnan(o.confidence)}

    def table(self) -> Table:
        """Return one row per class, the largest error first."""
        order = sorted(self.optima, key=lambda k: -self.optima[k].olrp)
        columns = {head: [getattr(self.optima[k], key) for k in order] for head, key in HEADS.items()}
        mean = {head: getattr(self.mean, key) for head, key in HEADS.items() if key != "confidence"}
        return Table.of("class", [self.matches.names[k] for k in order], columns, mean=mean)

    def sentence(self) -> str:
        """Return the mean error and its components in words."""
        mean, words = self.mean, self.matches.words
        return (
            f"Optimal LRP error {show_cell(mean.olrp)}, each class at its own confidence threshold: mean "
            f"1 − {words.overlap} of true positives {show_cell(mean.loc)}, false positives {show_cell(mean.fp)} of "
            f"predictions, missed {show_cell(mean.fn)} of objects"
        )

    def summary(self) -> list[Part]:
        """Return the sentence."""
        return [self.sentence()]

    def contents(self) -> list[Part]:
        """Return the sentence, the table and the signature."""
        return [self.sentence(), *super().contents()]

    def draw(self, axes: Axes) -> None:
        """Draw the optimal LRP error of the classes with the largest one, and its components as markers."""
        names, optima = self.matches.names, self.optima
        order = sorted(optima, key=lambda k: -optima[k].olrp)[:PLOTTED_CLASSES]
        at = np.arange(len(order))
        axes.barh(at, [optima[k].olrp for k in order], 0.8, color="0.88", label="oLRP")
        labels = {"loc": f"1 − {self.matches.words.overlap}", "fp": "FP share", "fn": "FN share"}
        for i, (key, label) in enumerate(labels.items()):
            values = [getattr(optima[k], key) for k in order]
            axes.plot(values, at, ls="none", marker="osD"[i], ms=4, color=COLOURS[i], clip_on=False, label=label)
        label_rows(axes, [names[k] for k in order])
        axes.set(xlim=(0, 1.02), xlabel="error")
        self.set_title(axes, f"optimal LRP {self.mean.olrp:.3f}")
        axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))

    def to_dict(self) -> JsonObject:
        """Return the mean and every class."""
        return {
            "signature": str(self.signature),
            **{key: value for key, value in self.mean.to_dict().items() if key != "confidence"},
            "classes": {self.matches.names[k]: optimum.to_dict() for k, optimum in self.optima.items()},
        }


PART = PartRecord(
    name="lrp",
    about="Optimal LRP error: localization, precision and recall in one number.",
    build=lambda analysis: LRP(analysis.matches),
    plot=LRP.draw,
    json="""\
"lrp": {"signature", "oLRP", "loc", "fp", "fn", "classes": {NAME: {"oLRP", "loc", "fp", "fn", "confidence"}}}
`loc` is the mean 1 − IoU of true positives, `fp` FP / (TP + FP), `fn` FN / (TP + FN), all at `confidence`.""",
)
