"""From which confidence on should predictions be used? Precision, recall and F at every threshold that matters.

Nothing is interpolated or smoothed: a threshold is a confidence that occurs, and predictions of equal confidence are
kept or dropped together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.matches import ends_of_runs
from verite.analysis.parts import AnalysisPart, interval, sign
from verite.model.tables import Table
from verite.statistics.intervals import wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.analysis.matches import AnalysisMatches, Floats, Ints
    from verite.analysis.parts import ImageBootstrap
    from verite.model.tables import Part
    from verite.signature import Signature


@dataclass(frozen=True, eq=False)
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


def draw_sweep(matches: AnalysisMatches, rows: Ints, weight: Floats) -> tuple[Floats, Floats]:
    """Right and wrong ones so far at each distinct confidence, images counting as often as they were drawn."""
    ends = ends_of_runs(matches.confidence[rows])
    counted, right = weight[matches.pred.image[rows]], matches.is_right[rows]
    found = np.cumsum(np.where(right, counted, 0.0))[ends]
    return found, np.cumsum(counted)[ends] - found


ROOM, MORE = 1.5, 1000  # of the predictions that are looked at first


def hold_out(
    matches: AnalysisMatches, whole: ConfidenceSweep, falling: Ints, beta: float, splits: int, seed: int
) -> list[float]:
    """Both ways of so many halvings. `falling`: predictions that count by falling confidence, `whole` their sweep."""
    truths = np.bincount(matches.truth.image[matches.is_asked], minlength=matches.image_count)
    random = np.random.Generator(np.random.PCG64(seed))
    short = list_hits(matches, falling[: count_enough(whole, beta)])
    every = list_hits(matches, falling)
    values = []
    for _ in range(splits):
        is_first = np.zeros(matches.image_count, dtype=np.bool_)
        is_first[random.permutation(matches.image_count)[: matches.image_count // 2]] = True
        asked = int(truths[is_first].sum())
        counts = asked, int(truths.sum()) - asked
        halves = halve(matches, is_first, counts, *short)
        if not all(
            is_best_before(matches, half, beta, own) for half, own in zip(halves, (is_first, ~is_first), strict=True)
        ):
            halves = halve(matches, is_first, counts, *every)
        for chosen, judged in (halves, halves[::-1]):
            best = chosen.best(chosen.f(beta))
            if best is not None and judged.truths:
                values.append(float(judged.f(beta)[best]))
    return values


def count_enough(whole: ConfidenceSweep, beta: float) -> int:
    """So many predictions, to the end of a confidence, surely hold the best F of all images, with room for that of
    some: beyond, F would be too small even if all that is right were kept.
    """
    if not whole.truths or not len(whole.right) or not whole.right[-1]:
        return 0
    square, kept = beta**2, whole.right + whole.wrong
    most = (1 + square) * whole.right[-1] / float(whole.f(beta).max()) - square * whole.truths
    at = np.searchsorted(kept, ROOM * most + MORE)
    return int(kept[min(int(at), len(kept) - 1)])


def list_hits(matches: AnalysisMatches, rows: Ints) -> tuple[Ints, Ints]:
    """Predictions, and the last of each confidence at which something right is added: F falls everywhere else, so that
    the best of any images is at one of these.
    """
    ends = ends_of_runs(matches.confidence[rows])
    return rows, ends[np.diff(np.cumsum(matches.is_right[rows])[ends], prepend=-1) > 0]


def halve(
    matches: AnalysisMatches, is_first: NDArray[np.bool_], truths: tuple[int, int], rows: Ints, ends: Ints
) -> list[ConfidenceSweep]:
    """What is kept of both halves of the images."""
    inside, right = is_first[matches.pred.image[rows]], matches.is_right[rows]
    found, kept = (np.cumsum(flags, dtype=np.int64)[ends] for flags in (inside & right, inside))
    others = np.cumsum(right)[ends] - found
    confidence = matches.confidence[rows[ends]]
    return [
        ConfidenceSweep(confidence, found, kept - found, truths[0], 1),
        ConfidenceSweep(confidence, others, ends + 1 - kept - others, truths[1], 1),
    ]


def is_best_before(matches: AnalysisMatches, half: ConfidenceSweep, beta: float, images: NDArray[np.bool_]) -> bool:
    """Can no threshold beyond the last one be better, whatever is right there?"""
    if not len(half.right):
        return False
    right, square = int((matches.is_right & images[matches.pred.image]).sum()), beta**2
    bound = (1 + square) * right / max(square * half.truths + half.right[-1] + half.wrong[-1], 1e-300)
    return not half.truths or float(half.f(beta).max()) >= bound


FROC = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)  # false positives per image

SPLITS = 20


class Operating(AnalysisPart):
    """Precision, recall and Fβ at the best threshold: of each label, of all together (micro), of their mean (macro)."""

    name = "operating"
    picture = "froc"

    def __init__(
        self, matches: AnalysisMatches, beta: float = 1.0, drawn: ImageBootstrap | None = None, seed: int = 0
    ) -> None:
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
