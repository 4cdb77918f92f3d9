"""Operating points: precision, recall and F1 against the confidence threshold, the best threshold per class, and FROC.

Nothing is interpolated or smoothed: a threshold is a confidence that occurs, and predictions of equal confidence are
kept or dropped together. FROC is recall at 1/8 to 8 false positives per image; its mean is the competition performance
metric (CPM).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING, ClassVar, NotRequired, TypedDict

import numpy as np

from verite.analysis.matches import ends_of_runs
from verite.analysis.part import AnalysisPart, PartRecord, part_signature
from verite.model.tables import Table
from verite.plotting import COLOURS
from verite.settings import Number, Option, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from verite.analysis.matches import AnalysisMatches, Bools, Floats, Ints
    from verite.analysis.part import ImageBootstrap
    from verite.files import JsonObject
    from verite.model.tables import Part
    from verite.signature import Signature


class OperatingSettings(Settings):
    """Settings of the operating points."""

    TITLE: ClassVar[str] = "Analysis"
    beta: Option[float] = Number(1.0, "Weight of recall against precision in F-beta.", least=0.01, most=100)


FROC = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)  # false positives per image
SPLITS = 20  # random halvings of the images
ROOM, MORE = 1.5, 1000  # the part of the ranking that is searched first: this factor, and so many more


class OperatingPoint(TypedDict):
    """Everything at one confidence threshold; the keys are those of the JSON document. NaN where nothing is kept."""

    confidence: float
    precision: float
    recall: float
    f: float  # Fβ
    fp_per_image: float
    tp: int
    fp: int
    fn: int
    intervals: NotRequired[dict[str, list[float]]]  # 95 %, of a class: precision, recall and, with a bootstrap, f


class MacroPoint(TypedDict):
    """Means over the classes at one confidence threshold; false positives per image are those of all classes."""

    confidence: float
    precision: float
    recall: float
    f: float
    fp_per_image: float


@dataclass(frozen=True, eq=False)
class ConfidenceSweep:
    """True and false positives kept at each distinct confidence, from the highest one down."""

    confidence: Floats
    tp: Ints
    fp: Ints
    truths: int
    images: int

    @classmethod
    def of(cls, confidence: Floats, is_tp: Bools, truths: int, images: int) -> ConfidenceSweep:
        """Count the predictions of a ranking by decreasing confidence."""
        ends = ends_of_runs(confidence)
        tp = np.cumsum(is_tp, dtype=np.int64)[ends]
        return cls(confidence[ends], tp, ends + 1 - tp, truths, images)

    @property
    def precision(self) -> Floats:
        """TP / (TP + FP) at each confidence."""
        return np.asarray(self.tp / (self.tp + self.fp))

    @property
    def recall(self) -> Floats:
        """TP over ground truths at each confidence; NaN without ground truth."""
        return self.tp / self.truths if self.truths else np.full(len(self.tp), np.nan)

    @property
    def per_image(self) -> Floats:
        """False positives per image at each confidence."""
        return self.fp / max(self.images, 1)

    def f(self, beta: float = 1.0) -> Floats:
        """Fβ = (1 + β²) P R / (β² P + R) at each confidence, from the counts; NaN without ground truth."""
        if not self.truths:
            return np.full(len(self.tp), np.nan)
        square = beta**2
        return (1 + square) * self.tp / (square * self.truths + self.tp + self.fp)

    def best(self, values: Floats, allowed: Bools | None = None) -> int | None:
        """Position of the largest value, of equal ones that of the highest confidence; None where none is allowed."""
        chosen = np.where(np.isnan(values) | (False if allowed is None else ~allowed), -1.0, values)
        return int(np.argmax(chosen)) if len(chosen) and chosen.max() >= 0 else None

    def at(self, confidence: float) -> int | None:
        """Position of the last distinct confidence that a threshold keeps; None where it keeps no prediction."""
        kept = int(np.searchsorted(-self.confidence, -confidence, side="right"))
        return kept - 1 if kept else None

    def point(self, at: int | None, beta: float = 1.0) -> OperatingPoint:
        """Return everything at one position, as the JSON document has it; None: no prediction is kept."""
        if at is None:
            none = 0.0 if self.truths else nan
            return {"confidence": nan, "precision": nan, "recall": none, "f": none, "fp_per_image": 0.0,
                    "tp": 0, "fp": 0, "fn": self.truths}  # fmt: skip
        tp, fp = int(self.tp[at]), int(self.fp[at])
        return {
            "confidence": float(self.confidence[at]),
            "precision": tp / (tp + fp),
            "recall": float(self.recall[at]),
            "f": float(self.f(beta)[at]),
            "fp_per_image": float(self.per_image[at]),
            "tp": tp,
            "fp": fp,
            "fn": self.truths - tp,
        }


class Operating(AnalysisPart):
    """Precision, recall and Fβ at the best threshold: per class, of all predictions (micro), mean of classes (macro).

    Parameters
    ----------
    matches
        The matches of the evaluation.
    beta
        Weight of recall in Fβ.
    bootstrap
        Resamples of images for confidence intervals of Fβ and FROC; None: only precision and recall have intervals.
    seed
        Seed of the random halvings of the images.
    """

    name = "operating"

    def __init__(
        self, matches: AnalysisMatches, beta: float = 1.0, bootstrap: ImageBootstrap | None = None, seed: int = 0
    ) -> None:
        self.matches, self.beta, self.bootstrap, self.seed = matches, beta, bootstrap, seed

    @property
    def signature(self) -> Signature:
        """Every setting that can change the operating points."""
        bootstrap = {"draws": 0, "seed": self.seed} if self.bootstrap is None else self.bootstrap.settings
        return part_signature("operating", self.matches, beta=float(self.beta), splits=SPLITS, **bootstrap)

    @cached_property
    def ranking(self) -> Ints:
        """Counted predictions of all classes by decreasing confidence."""
        rows = self.matches.by_confidence
        return rows[self.matches.counted_pred[rows]]

    def sweep(self, rows: Ints, truths: int) -> ConfidenceSweep:
        """Count the predictions in these rows, by decreasing confidence."""
        matches = self.matches
        return ConfidenceSweep.of(matches.confidence[rows], matches.is_tp[rows], truths, len(matches.truth.images))

    @cached_property
    def micro(self) -> ConfidenceSweep:
        """The sweep of all classes together."""
        return self.sweep(self.ranking, int(self.matches.truth_counts.sum()))

    @cached_property
    def labels(self) -> dict[int, ConfidenceSweep]:
        """The sweep of each class with ground truth, by the position of the class."""
        matches = self.matches
        return {
            int(k): self.sweep(matches.counted_rows[matches.class_slices[k]], int(matches.truth_counts[k]))
            for k in matches.present
        }

    @cached_property
    def macro_f(self) -> Floats:
        """The mean Fβ of the classes with ground truth at each confidence of the micro sweep."""
        matches, rows = self.matches, self.matches.counted_rows
        change, of_preds = np.zeros(len(rows)), np.zeros(len(matches.pred))
        is_tp = matches.is_tp[rows]
        square = self.beta**2
        for k in matches.present:
            part = matches.class_slices[k]
            tp, kept = np.cumsum(is_tp[part]), np.arange(1, part.stop - part.start + 1)
            value = (1 + square) * tp / (square * matches.truth_counts[k] + kept)
            change[part] = np.diff(value, prepend=0.0)
        of_preds[rows] = change
        sums = np.cumsum(of_preds[self.ranking])[ends_of_runs(matches.confidence[self.ranking])]
        return sums / max(len(matches.present), 1)

    @cached_property
    def confidence(self) -> float:
        """The threshold of the best macro-Fβ; NaN without ground truth or predictions."""
        best = self.micro.best(np.round(self.macro_f, 12))  # sums of changes: equal values may differ in the last bit
        return float(self.micro.confidence[best]) if best is not None and self.micro.truths else nan

    def best_of(self, one: ConfidenceSweep) -> int | None:
        """Position of the best Fβ of a sweep."""
        return one.best(one.f(self.beta))

    @property
    def thresholds(self) -> dict[str, float]:
        """The threshold of the best Fβ of each class; classes without a true positive have none."""
        found = {self.matches.names[k]: one.point(self.best_of(one)) for k, one in self.labels.items()}
        return {name: point["confidence"] for name, point in found.items() if point["tp"]}

    def documents(self) -> dict[str, object]:
        """Return the thresholds, which every command takes as `--confidence thresholds.json`."""
        return {"thresholds.json": self.thresholds}

    def macro_at(self, confidence: float) -> MacroPoint:
        """Return means over the classes at one confidence; precision over those that keep a prediction."""
        points = [one.point(one.at(confidence), self.beta) for one in self.labels.values()]
        kept = self.micro.point(self.micro.at(confidence))
        return MacroPoint(
            confidence=confidence,
            precision=mean_present([point["precision"] for point in points]),
            recall=mean_present([point["recall"] for point in points]),
            f=mean_present([point["f"] for point in points]),
            fp_per_image=kept["fp_per_image"],
        )

    def at_precision(self, least: float, one: ConfidenceSweep | None = None) -> OperatingPoint:
        """Return the point of highest recall among those of at least this precision."""
        one = one or self.micro
        return one.point(one.best(one.recall, one.precision >= least), self.beta)

    def at_recall(self, least: float, one: ConfidenceSweep | None = None) -> OperatingPoint:
        """Return the point of highest precision among those of at least this recall."""
        one = one or self.micro
        return one.point(one.best(one.precision, one.recall >= least), self.beta)

    def at_false(self, most: float, one: ConfidenceSweep | None = None) -> OperatingPoint:
        """Return the point of highest recall among those with at most so many false positives per image."""
        one = one or self.micro
        return one.point(one.best(one.recall, one.per_image <= most), self.beta)

    def goals(self) -> dict[str, OperatingPoint]:
        """Return the best micro points that meet a usual requirement."""
        return {
            "precision >= 0.9": self.at_precision(0.9),
            "recall >= 0.9": self.at_recall(0.9),
            "<= 1 wrong per image": self.at_false(1.0),
        }

    @cached_property
    def froc(self) -> list[float]:
        """Recall at 1/8 … 8 false positives per image: the last value that does not exceed them."""
        if not self.micro.truths:
            return [nan] * len(FROC)
        at = np.searchsorted(self.micro.per_image, FROC, side="right") - 1
        return [float(self.micro.recall[i]) if i >= 0 else 0.0 for i in at]

    @property
    def lamr(self) -> float:
        """The log-average miss rate of all classes together, as :func:`verite.miss_rate` has it per class."""
        from verite.protocols.miss_rate import Curve, log_average

        if not self.micro.truths:
            return nan
        return log_average(Curve(self.micro.per_image, 1 - self.micro.recall, self.micro.truths).at())

    @property
    def cpm(self) -> float:
        """The mean of the FROC recalls (competition performance metric)."""
        return float(np.mean(self.froc))

    @cached_property
    def held_out(self) -> float:
        """Micro-Fβ on one half of the images at the threshold that is best on the other half.

        The mean over both directions of twenty random halvings: what to expect on images that did not choose the
        threshold.
        """
        matches = self.matches
        truths = np.bincount(matches.truth.image[matches.counted_truth], minlength=matches.image_count)
        random = np.random.Generator(np.random.PCG64(self.seed))
        start, whole = (self.find_candidates(rows) for rows in (self.ranking[: self.count_searched()], self.ranking))
        values = []
        for _ in range(SPLITS):
            is_first = np.zeros(matches.image_count, dtype=np.bool_)
            is_first[random.permutation(matches.image_count)[: matches.image_count // 2]] = True
            in_first = int(truths[is_first].sum())
            counts = in_first, int(truths.sum()) - in_first
            halves = self.sweep_halves(is_first, counts, *start)
            if not all(self.has_best(*pair) for pair in zip(halves, (is_first, ~is_first), strict=True)):
                halves = self.sweep_halves(is_first, counts, *whole)
            for chosen, evaluated in (halves, halves[::-1]):
                best = self.best_of(chosen)
                if best is not None and evaluated.truths:
                    values.append(float(evaluated.f(self.beta)[best]))
        return mean_present(values)

    def count_searched(self) -> int:
        """How many predictions, up to the end of a confidence, contain the best Fβ of all images for certain.

        Beyond them Fβ is too small even if all true positives were kept. There is some room, for subsets of images.
        """
        whole, square = self.micro, self.beta**2
        if not whole.truths or not len(whole.tp) or not whole.tp[-1]:
            return 0
        kept = whole.tp + whole.fp
        most = (1 + square) * whole.tp[-1] / float(whole.f(self.beta).max()) - square * whole.truths
        at = np.searchsorted(kept, ROOM * most + MORE)
        return int(kept[min(int(at), len(kept) - 1)])

    def find_candidates(self, rows: Ints) -> tuple[Ints, Ints]:
        """Predictions, and the last one of each confidence that adds a true positive.

        Fβ falls at all other confidences, so that the best Fβ of any images is at one of these.
        """
        ends = ends_of_runs(self.matches.confidence[rows])
        return rows, ends[np.diff(np.cumsum(self.matches.is_tp[rows])[ends], prepend=-1) > 0]

    def sweep_halves(
        self, is_first: Bools, truths: tuple[int, int], rows: Ints, ends: Ints
    ) -> tuple[ConfidenceSweep, ConfidenceSweep]:
        """Sweep the predictions of both halves of the images, at the confidences that end at `ends`."""
        matches = self.matches
        inside, is_tp = is_first[matches.pred.image[rows]], matches.is_tp[rows]
        tp, kept = (np.cumsum(flags, dtype=np.int64)[ends] for flags in (inside & is_tp, inside))
        tp_outside = np.cumsum(is_tp)[ends] - tp
        confidence = matches.confidence[rows[ends]]
        return (
            ConfidenceSweep(confidence, tp, kept - tp, truths[0], 1),
            ConfidenceSweep(confidence, tp_outside, ends + 1 - kept - tp_outside, truths[1], 1),
        )

    def has_best(self, half: ConfidenceSweep, images: Bools) -> bool:
        """Whether no threshold beyond the last one of a sweep can be better, even if everything there were a TP.

        Parameters
        ----------
        half
            Sweep over the confidence thresholds of one half of the images, which may have been cut off.
        images
            The images of that half.

        Returns
        -------
        bool
            Whether the best F-measure is among the thresholds swept.
        """
        if not len(half.tp):
            return False
        tp, square = int((self.matches.is_tp & images[self.matches.pred.image]).sum()), self.beta**2
        bound = (1 + square) * tp / max(square * half.truths + half.tp[-1] + half.fp[-1], 1e-300)
        return not half.truths or float(half.f(self.beta).max()) >= bound

    def intervals(self, confidence: float, label: int | None = None) -> dict[str, tuple[float, float]]:
        """Return 95 % confidence intervals of precision and recall at a fixed threshold, of all classes or of one.

        They are clustered Wilson intervals, with images or groups of images as units. With a bootstrap there is one of
        Fβ, too.
        """
        matches = self.matches
        rows, counted = self.ranking, np.flatnonzero(matches.counted_truth)
        if label is not None:
            rows = matches.counted_rows[matches.class_slices[label]]
            counted = counted[matches.truth_label[counted] == label]
        kept = rows[matches.confidence[rows] >= confidence]
        tp = kept[matches.is_tp[kept]]
        between = {
            "precision": matches.pred_share_interval(tp, kept),
            "recall": matches.truth_share_interval(matches.outcomes.truth[tp], counted),
        }
        if self.bootstrap is not None:
            images, square = matches.image_count, self.beta**2
            found, chosen = (np.bincount(matches.pred.image[one], minlength=images) for one in (tp, kept))
            truths = np.bincount(matches.truth.image[counted], minlength=images)
            ratio = self.bootstrap.ratio((1 + square) * found, square * truths + chosen)
            whole = ((1 + square) * found.sum() / total) if (total := square * truths.sum() + chosen.sum()) else nan
            between["f"] = self.bootstrap.interval(float(whole), ratio)
        return between

    @cached_property
    def froc_intervals(self) -> tuple[list[tuple[float, float]], tuple[float, float]] | None:
        """Bootstrap intervals of the FROC recalls and of their mean; None without a bootstrap."""
        if self.bootstrap is None or not self.micro.truths:
            return None
        matches, weights = self.matches, self.bootstrap.weights
        known = self.ranking[matches.pred.image[self.ranking] < weights.shape[1]]
        fp_so_far = np.cumsum(~matches.is_tp[known])
        truths = self.bootstrap.sum(
            np.bincount(matches.truth.image[matches.counted_truth], minlength=matches.image_count)
        )
        images = weights.sum(axis=1)
        recalls = np.full((len(weights), len(FROC)), np.nan)
        for i, weight in enumerate(weights):
            # Enough of the ranking, unless the resample has many images with few false positives.
            last = int(np.searchsorted(fp_so_far, 1.5 * FROC[-1] * images[i]))
            tp, fp = weighted_sweep(matches, known[:last], weight)
            if last < len(known) and fp[-1] <= FROC[-1] * images[i]:
                tp, fp = weighted_sweep(matches, known, weight)
            if truths[i]:
                at = np.searchsorted(fp / images[i], FROC, side="right")
                recalls[i] = np.append(0.0, tp)[at] / truths[i]
        each = [self.bootstrap.interval(value, column) for value, column in zip(self.froc, recalls.T, strict=True)]
        return each, self.bootstrap.interval(self.cpm, recalls.mean(axis=1))

    @property
    def heads(self) -> dict[str, str]:
        """Column heads of the table, and the keys of a point they show."""
        f = "F1" if self.beta == 1 else f"F{self.beta:g}"
        return {"at confidence": "confidence", f: "f", "precision": "precision", "recall": "recall",
                "FP per image": "fp_per_image", "TP": "tp", "FP": "fp", "FN": "fn"}  # fmt: skip

    def table(self) -> Table:
        """Return one row per class at its best threshold, the lowest F first, and the macro means at their best one."""
        points = {self.matches.names[k]: one.point(self.best_of(one), self.beta) for k, one in self.labels.items()}
        order = sorted(points, key=lambda name: points[name]["f"])
        rows: list[Mapping[str, object]] = [points[name] for name in order]
        columns = {head: [row[key] for row in rows] for head, key in self.heads.items()}
        mean: Mapping[str, object] = self.macro_at(self.confidence)
        return Table.of("class", order, columns, mean={h: mean[k] for h, k in self.heads.items() if k in mean})

    def froc_table(self) -> Table:
        """Return recall by false positives per image."""
        return Table.of("FP per image", [f"{k:g}" for k in FROC], {"recall": self.froc}, mean={"recall": self.cpm})

    def tables(self) -> dict[str, Table]:
        """Return the tables of classes and of FROC."""
        return {"operating": self.table(), "froc": self.froc_table()}

    def sentence(self) -> str:
        """Return the operating point of the best macro-Fβ in words."""
        if isnan(self.confidence):
            return "No operating point: there is no ground truth, or there are no predictions"
        mean, between = self.macro_at(self.confidence), self.intervals(self.confidence)
        kept = self.micro.point(self.micro.at(self.confidence), self.beta)
        f = next(head for head, key in self.heads.items() if key == "f")
        ends = {key: "" if isnan(low) else f" [{low:.2f}, {high:.2f}]" for key, (low, high) in between.items()}
        level = " (95 % CI)" if any(ends.values()) else ""
        return (
            f"Best macro-{f} {mean['f']:.3f} at confidence ≥ {self.confidence:.4g}: micro precision "
            f"{kept['precision']:.3f}{ends['precision']}, recall {kept['recall']:.3f}{ends['recall']}{level}, "
            f"{kept['fp_per_image']:.3g} false positives per image. Micro-{f} at a threshold chosen on half of the "
            f"images {self.held_out:.3f}, on all of them {np.nanmax(self.micro.f(self.beta)):.3f}. "
            f"Log-average miss rate (MR⁻²) of all classes together {self.lamr:.3f}"
        )

    def summary(self) -> list[Part]:
        """Return the sentence."""
        return [self.sentence()]

    def contents(self) -> list[Part]:
        """Return the sentence, the table and the signature."""
        return [self.sentence(), *super().contents()]

    def draw(self, axes: Axes) -> None:
        """Draw recall against false positives per image, with the seven points of FROC."""
        sweep = self.micro
        last = np.maximum(sweep.per_image[-1:], 2 * FROC[-1])  # beyond the last prediction recall stays as it is
        line = np.append(sweep.per_image, last), np.append(sweep.recall, sweep.recall[-1:])
        axes.step(*line, where="post", color=COLOURS[0], lw=1.5)
        axes.plot(FROC, self.froc, ls="none", marker="o", color=COLOURS[1], label=f"CPM {self.cpm:.3f}")
        axes.set_xscale("log", base=2)
        axes.set(
            xlim=(FROC[0] / 2, FROC[-1] * 2), ylim=(-0.02, 1.05), xlabel="false positives per image", ylabel="recall"
        )
        axes.set_xticks(FROC, [f"{k:g}" for k in FROC])
        axes.grid(color="0.9", lw=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        self.set_title(axes, "FROC")
        axes.legend(frameon=False, fontsize=8, loc="lower right")

    def to_dict(self) -> JsonObject:
        """Return micro, macro and class points, FROC, and intervals."""
        between = self.intervals(self.confidence) if not isnan(self.confidence) else {}
        froc: JsonObject = {"fp_per_image": list(FROC), "recall": self.froc, "CPM": self.cpm, "LAMR": self.lamr}
        if self.froc_intervals is not None:
            each, mean = self.froc_intervals
            froc |= {"recall_intervals": [list(values) for values in each], "CPM_interval": list(mean)}
        classes = {}
        for k, one in self.labels.items():
            point = classes[self.matches.names[k]] = one.point(self.best_of(one), self.beta)
            own = {} if isnan(point["confidence"]) else self.intervals(point["confidence"], k)
            point["intervals"] = {key: list(values) for key, values in own.items()}
        return {
            "signature": str(self.signature),
            "beta": self.beta,
            "confidence": self.confidence,
            "intervals": {key: list(values) for key, values in between.items()},
            "micro": self.micro.point(self.best_of(self.micro), self.beta),
            "macro": self.macro_at(self.confidence),
            "held_out": {"f": self.held_out, "splits": SPLITS, "seed": self.seed},
            "goals": self.goals(),
            "froc": froc,
            "classes": classes,
        }


def weighted_sweep(matches: AnalysisMatches, rows: Ints, weight: Floats) -> tuple[Floats, Floats]:
    """True and false positives at each distinct confidence, every image counted `weight` times.

    Parameters
    ----------
    matches
        Predictions with their outcome at one IoU threshold.
    rows
        Predictions by falling confidence.
    weight
        How often each image counts, as in a bootstrap resample.

    Returns
    -------
    tuple[Floats, Floats]
        Cumulative counts at the last prediction of each run of equal confidences: a threshold cannot separate ties.
    """
    ends = ends_of_runs(matches.confidence[rows])
    counted, is_tp = weight[matches.pred.image[rows]], matches.is_tp[rows]
    tp = np.cumsum(np.where(is_tp, counted, 0.0))[ends]
    return tp, np.cumsum(counted)[ends] - tp


def mean_present(values: list[float]) -> float:
    """The mean of the values that are numbers; NaN where none is."""
    present = [value for value in values if not isnan(value)]
    return sum(present) / len(present) if present else nan


PART = PartRecord(
    name="operating",
    about="Best confidence thresholds, precision, recall and F1 there, and FROC.",
    build=lambda analysis: Operating(
        analysis.matches, analysis.settings.beta, analysis.bootstrap, analysis.settings.seed
    ),
    plot=Operating.draw,
    plot_kind="froc",
    settings=OperatingSettings,
    json="""\
"operating": {"signature", "beta", "confidence", "intervals": {"precision": [low, high], "recall": [low, high]},
              "micro": POINT, "macro": {"confidence", "precision", "recall", "f", "fp_per_image"},
              "held_out": {"f", "splits", "seed"},
              "goals": {"precision >= 0.9": POINT, "recall >= 0.9": POINT, "<= 1 wrong per image": POINT},
              "froc": {"fp_per_image": […], "recall": […], "CPM", "LAMR"}, "classes": {NAME: POINT}}
A POINT is `{"confidence", "precision", "recall", "f", "fp_per_image", "tp", "fp", "fn"}`; those of classes have
`intervals`, too. Intervals of precision and recall are 95 % Wilson intervals that allow for objects of one image (or of
one group of images, `--resample`). With `--draws` there are also `f` among the `intervals`, and `recall_intervals` and
`CPM_interval` of `froc`.""",
)
