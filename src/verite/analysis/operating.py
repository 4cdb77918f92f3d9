"""From which confidence on should predictions be used? Precision, recall and F at every threshold that matters.

Nothing is interpolated or smoothed: a threshold is a confidence that occurs, and predictions of equal confidence are
kept or dropped together.
"""

from __future__ import annotations

from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.matches import ends_of_runs
from verite.analysis.part import AnalysisPart, sign
from verite.model.tables import Table
from verite.records import record
from verite.statistics.intervals import percentile_interval, wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.analysis.matches import Floats, Ints, Matches
    from verite.signature import Signature

FROC = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)  # false positives per image
SPLITS = 20
LEVEL = 0.95


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


class Operating(AnalysisPart):
    """Precision, recall and Fβ at the best threshold: of each label, of all together (micro), of their mean (macro)."""

    name = "operating"
    picture = "froc"

    def __init__(self, matches: Matches, beta: float = 1.0, weights: Floats | None = None, seed: int = 0) -> None:
        """With weights of images, [draw, image], precision and recall have intervals over the choice of images."""
        self.matches, self.beta, self.weights, self.seed = matches, beta, weights, seed

    @property
    def signature(self) -> Signature:
        draws = 0 if self.weights is None else len(self.weights)
        return sign("operating", self.matches, beta=float(self.beta), splits=SPLITS, draws=draws, seed=self.seed)

    @cached_property
    def falling(self) -> Ints:
        """Predictions that count, of all labels together, by falling confidence."""
        rows = self.matches.counted
        return rows[np.argsort(self.matches.place[rows])]

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
        change = np.zeros(len(rows))
        right = matches.is_right[rows]
        square = self.beta**2
        for k in matches.present:
            part = matches.slices[k]
            found, all_so_far = np.cumsum(right[part]), np.arange(1, part.stop - part.start + 1)
            value = (1 + square) * found / (square * matches.truths[k] + all_so_far)
            change[part] = np.diff(value, prepend=0.0)
        order = np.argsort(matches.place[rows])
        return np.cumsum(change[order])[ends_of_runs(matches.confidence[self.falling])] / max(len(matches.present), 1)

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
        matches, rows = self.matches, self.falling
        right, image = matches.is_right[rows], matches.pred.image[rows]
        truths = np.bincount(matches.truth.image[matches.is_asked], minlength=matches.image_count)
        ends = ends_of_runs(matches.confidence[rows])
        found_so_far, kept_so_far = np.cumsum(right)[ends], ends + 1
        random = np.random.Generator(np.random.PCG64(self.seed))
        values = []
        for _ in range(SPLITS):
            is_first = np.zeros(matches.image_count, dtype=np.bool_)
            is_first[random.permutation(matches.image_count)[: matches.image_count // 2]] = True
            inside = is_first[image]
            found, kept = (np.cumsum(flags, dtype=np.int64)[ends] for flags in (inside & right, inside))
            asked = int(truths[is_first].sum())
            first = ConfidenceSweep(matches.confidence[rows[ends]], found, kept - found, asked, 1)
            other = found_so_far - found
            second = ConfidenceSweep(first.confidence, other, kept_so_far - kept - other, int(truths.sum()) - asked, 1)
            for chosen, judged in ((first, second), (second, first)):
                best = self.best_of(chosen)
                if best is not None and judged.truths:
                    values.append(float(judged.f(self.beta)[best]))
        return mean_present(values)

    def intervals(self, confidence: float) -> dict[str, tuple[float, float]]:
        """Of precision and recall of all together at a fixed threshold: over the choice of images where weights are
        given, else as if objects were independent.
        """
        matches = self.matches
        kept = matches.is_counted & (matches.confidence >= confidence)
        right = kept & matches.is_right
        total = int(matches.truths.sum())
        if self.weights is None:
            counts = {"precision": (right.sum(), kept.sum()), "recall": (right.sum(), total)}
            return {key: wilson(float(n / m), int(m)) if m else (nan, nan) for key, (n, m) in counts.items()}
        images = matches.image_count
        sums = [np.bincount(matches.pred.image[one], minlength=images) for one in (right, kept)]
        sums.append(np.bincount(matches.truth.image[matches.is_asked], minlength=images))
        weights = np.pad(self.weights, ((0, 0), (0, images - self.weights.shape[1])))
        found, all_kept, asked = (weights @ one for one in sums)
        with np.errstate(invalid="ignore"):
            drawn = {"precision": found / all_kept, "recall": found / asked}
        return {key: percentile_interval(values, LEVEL) for key, values in drawn.items()}

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
        how = "objects independent" if self.weights is None else f"{len(self.weights):,} draws of images"
        low, high = ([f"{v:.2f}" for v in between[key]] for key in ("precision", "recall"))
        return (
            f"best mean {f} {mean['f']:.3f} from confidence {self.confidence:.4g} on: of all together "
            f"precision {kept['precision']:.3f} [{', '.join(low)}], recall {kept['recall']:.3f} [{', '.join(high)}] "
            f"(95 %, {how}), {kept['fp_per_image']:.3g} wrong per image; {f} of all at a threshold chosen on half of "
            f"the images {self.held_out:.3f}, on all of them {np.nanmax(self.micro.f(self.beta)):.3f}"
        )

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
            "froc": {"fp_per_image": list(FROC), "recall": self.froc, "CPM": self.cpm},
            "classes": {
                self.matches.names[k]: one.tell(self.best_of(one), self.beta) for k, one in self.labels.items()
            },
        }


def mean_present(values: list[float]) -> float:
    present = [value for value in values if not isnan(value)]
    return sum(present) / len(present) if present else nan
