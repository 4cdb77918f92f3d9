"""From which confidence on should predictions be used? Precision, recall and F at every threshold that matters.

Nothing is interpolated or smoothed: a threshold is a confidence that occurs, and predictions of equal confidence are
kept or dropped together.
"""

from __future__ import annotations

from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.held_out import hold_out
from verite.analysis.intervals import interval
from verite.analysis.matches import ends_of_runs
from verite.analysis.part import AnalysisPart, sign
from verite.analysis.sweeps import ConfidenceSweep, draw_sweep, sweep
from verite.model.tables import Table
from verite.statistics.intervals import wilson

if TYPE_CHECKING:
    from verite.analysis.intervals import ImageDraws
    from verite.analysis.matches import Floats, Ints, Matches
    from verite.model.display import Part
    from verite.signature import Signature

FROC = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)  # false positives per image
SPLITS = 20


class Operating(AnalysisPart):
    """Precision, recall and Fβ at the best threshold: of each label, of all together (micro), of their mean (macro)."""

    name = "operating"
    picture = "froc"

    def __init__(self, matches: Matches, beta: float = 1.0, drawn: ImageDraws | None = None, seed: int = 0) -> None:
        """With draws of images there are intervals over the choice of images."""
        self.matches, self.beta, self.drawn, self.seed = matches, beta, drawn, seed

    @property
    def signature(self) -> Signature:
        drawn = {"draws": 0, "seed": self.seed} if self.drawn is None else self.drawn.settings
        return sign("operating", self.matches, beta=float(self.beta), splits=SPLITS, **drawn)

    @cached_property
    def falling(self) -> Ints:
        """Predictions that count, of all labels together, by falling confidence."""
        rows = self.matches.falling
        return rows[self.matches.is_counted[rows]]

    @cached_property
    def micro(self) -> ConfidenceSweep:
        """Of all labels together."""
        matches, rows = self.matches, self.falling
        total = int(matches.truths.sum())
        return sweep(matches.confidence[rows], matches.is_right[rows], total, len(matches.truth.images))

    def of_label(self, label: int) -> ConfidenceSweep:
        matches = self.matches
        rows = matches.counted[matches.slices[label]]
        return sweep(
            matches.confidence[rows], matches.is_right[rows], int(matches.truths[label]), len(matches.truth.images)
        )

    @cached_property
    def labels(self) -> dict[int, ConfidenceSweep]:
        """Of each label that has truths."""
        return {int(k): self.of_label(int(k)) for k in self.matches.present}

    @cached_property
    def macro_f(self) -> Floats:
        """The mean of F over labels with truths, at each threshold of all together."""
        matches, rows = self.matches, self.matches.counted
        change, of_preds = np.zeros(len(rows)), np.zeros(len(matches.pred))
        right = matches.is_right[rows]
        square = self.beta**2
        for k in matches.present:
            part = matches.slices[k]
            found, all_so_far = np.cumsum(right[part]), np.arange(1, part.stop - part.start + 1)
            value = (1 + square) * found / (square * matches.truths[k] + all_so_far)
            change[part] = np.diff(value, prepend=0.0)
        of_preds[rows] = change
        return np.cumsum(of_preds[self.falling])[ends_of_runs(matches.confidence[self.falling])] / max(
            len(matches.present), 1
        )

    @cached_property
    def confidence(self) -> float:
        """The threshold of the best mean F over labels; not a number where there is nothing to find or to keep."""
        best = self.micro.best(np.round(self.macro_f, 12))  # sums of changes: equal ones may differ by a last bit
        return float(self.micro.confidence[best]) if best is not None and self.micro.truths else nan

    @property
    def thresholds(self) -> dict[str, float]:
        """For each label the confidence of its best F; labels without a right prediction are not there."""
        found = {self.matches.names[k]: one.tell(self.best_of(one)) for k, one in self.labels.items()}
        return {name: told["confidence"] for name, told in found.items() if told["tp"]}

    def best_of(self, one: ConfidenceSweep) -> int | None:
        return one.best(one.f(self.beta))

    def macro_at(self, confidence: float) -> dict[str, float]:
        """Means over labels with truths at one confidence; precision over those that keep a prediction."""
        told = [one.tell(one.at(confidence), self.beta) for one in self.labels.values()]
        means = {key: mean_present([t[key] for t in told]) for key in ("precision", "recall", "f")}
        kept = self.micro.tell(self.micro.at(confidence))
        return {"confidence": confidence, **means, "fp_per_image": kept["fp_per_image"]}

    def goals(self) -> dict[str, dict[str, Any]]:
        """Of all labels together: the best thresholds that keep a promise."""
        return {
            "precision >= 0.9": self.at_precision(0.9),
            "recall >= 0.9": self.at_recall(0.9),
            "<= 1 wrong per image": self.at_false(1.0),
        }

    def at_precision(self, least: float, one: ConfidenceSweep | None = None) -> dict[str, Any]:
        """The largest recall whose precision is at least so."""
        one = one or self.micro
        return one.tell(one.best(one.recall, one.precision >= least), self.beta)

    def at_recall(self, least: float, one: ConfidenceSweep | None = None) -> dict[str, Any]:
        """The largest precision whose recall is at least so."""
        one = one or self.micro
        return one.tell(one.best(one.precision, one.recall >= least), self.beta)

    def at_false(self, most: float, one: ConfidenceSweep | None = None) -> dict[str, Any]:
        """The largest recall with at most so many wrong predictions per image."""
        one = one or self.micro
        return one.tell(one.best(one.recall, one.per_image <= most), self.beta)

    @cached_property
    def froc(self) -> list[float]:
        """Recall at 1/8 … 8 wrong predictions per image: the last value that does not exceed them."""
        if not self.micro.truths:
            return [nan] * len(FROC)
        at = np.searchsorted(self.micro.per_image, FROC, side="right") - 1
        return [float(self.micro.recall[i]) if i >= 0 else 0.0 for i in at]

    @property
    def cpm(self) -> float:
        """The mean of these recalls (competition performance metric)."""
        return float(np.mean(self.froc))

    @cached_property
    def held_out(self) -> float:
        """F of all together at a threshold that was chosen on one half of the images, on the other half.

        The mean of both ways of twenty halvings: what the best F promises on images that did not choose it.
        """
        return mean_present(hold_out(self.matches, self.micro, self.falling, self.beta, SPLITS, self.seed))

    def intervals(self, confidence: float, label: int | None = None) -> dict[str, tuple[float, float]]:
        """Of precision and recall of all together or of one label at a fixed threshold, as if objects were independent;
        where images are drawn, over their choice, and of F, too.
        """
        matches = self.matches
        kept, asked = matches.is_counted & (matches.confidence >= confidence), matches.is_asked
        if label is not None:
            kept, asked = kept & (matches.pred_label == label), asked & (matches.truth_label == label)
        right = kept & matches.is_right
        if self.drawn is None:
            counts = {"precision": (right.sum(), kept.sum()), "recall": (right.sum(), asked.sum())}
            return {key: wilson(float(n / m), int(m)) if m else (nan, nan) for key, (n, m) in counts.items()}
        images = matches.image_count
        found, chosen = (np.bincount(matches.pred.image[one], minlength=images) for one in (right, kept))
        truths, square = np.bincount(matches.truth.image[asked], minlength=images), self.beta**2
        ratios = {"precision": (found, chosen), "recall": (found, truths),
                  "f": ((1 + square) * found, square * truths + chosen)}  # fmt: skip
        return {key: interval(self.drawn.ratio(*pair)) for key, pair in ratios.items()}

    @cached_property
    def froc_intervals(self) -> tuple[list[tuple[float, float]], tuple[float, float]] | None:
        """Of the recalls and of their mean over the choice of images; None where nothing is drawn."""
        if self.drawn is None or not self.micro.truths:
            return None
        matches, weights = self.matches, self.drawn.weights
        known = self.falling[matches.pred.image[self.falling] < weights.shape[1]]
        wrong = np.cumsum(~matches.is_right[known])
        truths = self.drawn.sum(np.bincount(matches.truth.image[matches.is_asked], minlength=matches.image_count))
        images = weights.sum(axis=1)
        recalls = np.full((len(weights), len(FROC)), np.nan)
        for i, weight in enumerate(weights):
            last = int(np.searchsorted(wrong, 1.5 * FROC[-1] * images[i]))  # enough, unless images with few are drawn
            line = draw_sweep(matches, known[:last], weight)
            if last < len(known) and line[1][-1] <= FROC[-1] * images[i]:
                line = draw_sweep(matches, known, weight)
            if truths[i]:
                at = np.searchsorted(line[1] / images[i], FROC, side="right")
                recalls[i] = np.append(0.0, line[0])[at] / truths[i]
        return [interval(column) for column in recalls.T], interval(recalls.mean(axis=1))

    def table(self) -> Table:
        """A row for each label at its best threshold, the worst first, and all of them at the best of their mean."""
        told = {self.matches.names[k]: one.tell(self.best_of(one), self.beta) for k, one in self.labels.items()}
        order = sorted(told, key=lambda name: told[name]["f"])
        columns = {head: [told[name][key] for name in order] for head, key in self.heads.items()}
        mean = self.macro_at(self.confidence)
        return Table.of("class", order, columns, mean={h: mean[k] for h, k in self.heads.items() if k in mean})

    @property
    def heads(self) -> dict[str, str]:
        f = "F1" if self.beta == 1 else f"F{self.beta:g}"
        return {"at confidence": "confidence", f: "f", "precision": "precision", "recall": "recall",
                "FP per image": "fp_per_image", "TP": "tp", "FP": "fp", "FN": "fn"}  # fmt: skip

    def froc_table(self) -> Table:
        return Table.of("FP per image", [f"{k:g}" for k in FROC], {"recall": self.froc}, mean={"recall": self.cpm})

    def tables(self) -> dict[str, Table]:
        return {"operating": self.table(), "froc": self.froc_table()}

    def sentence(self) -> str:
        """The operating point in words."""
        if isnan(self.confidence):
            return "no operating point: nothing is to be found, or nothing was predicted"
        mean, between = self.macro_at(self.confidence), self.intervals(self.confidence)
        kept = self.micro.tell(self.micro.at(self.confidence), self.beta)
        f = next(head for head, key in self.heads.items() if key == "f")
        how = "objects independent" if self.drawn is None else f"{self.drawn.count:,} draws of {self.drawn.unit}"
        ends = {key: "" if isnan(low) else f" [{low:.2f}, {high:.2f}]" for key, (low, high) in between.items()}
        drawn = f" (95 %, {how})" if any(ends.values()) else ""
        return (
            f"best mean {f} {mean['f']:.3f} from confidence {self.confidence:.4g} on: of all together "
            f"precision {kept['precision']:.3f}{ends['precision']}, recall {kept['recall']:.3f}{ends['recall']}"
            f"{drawn}, {kept['fp_per_image']:.3g} wrong per image; {f} of all at a threshold chosen on half of "
            f"the images {self.held_out:.3f}, on all of them {np.nanmax(self.micro.f(self.beta)):.3f}"
        )

    def contents(self) -> list[Part]:
        return [self.sentence(), *super().contents()]

    def to_dict(self) -> dict[str, Any]:
        best = self.micro.tell(self.best_of(self.micro), self.beta)
        between = self.intervals(self.confidence) if not isnan(self.confidence) else {}
        return {
            "signature": str(self.signature),
            "beta": self.beta,
            "confidence": self.confidence,
            "intervals": {key: list(values) for key, values in between.items()},
            "micro": best,
            "macro": self.macro_at(self.confidence),
            "held_out": {"f": self.held_out, "splits": SPLITS, "seed": self.seed},
            "goals": self.goals(),
            "froc": {"fp_per_image": list(FROC), "recall": self.froc, "CPM": self.cpm} | self.tell_froc_intervals(),
            "classes": {self.matches.names[k]: self.tell_label(k) for k in self.labels},
        }

    def tell_label(self, label: int) -> dict[str, Any]:
        """A label at its best threshold; where images are drawn, with intervals at that threshold."""
        one = self.labels[label]
        told = one.tell(self.best_of(one), self.beta)
        if self.drawn is None:
            return told
        between = {} if isnan(told["confidence"]) else self.intervals(told["confidence"], label)
        return told | {"intervals": {key: list(values) for key, values in between.items()}}

    def tell_froc_intervals(self) -> dict[str, Any]:
        if self.froc_intervals is None:
            return {}
        each, mean = self.froc_intervals
        return {"recall_intervals": [list(values) for values in each], "CPM_interval": list(mean)}


def mean_present(values: list[float]) -> float:
    present = [value for value in values if not isnan(value)]
    return sum(present) / len(present) if present else nan
