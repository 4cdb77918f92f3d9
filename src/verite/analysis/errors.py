"""Error types of object detection (TIDE) and what each costs in AP: the six costs add up to 1 − AP.

Every false positive and every missed object has one of six types, defined as by Bolya et al. (TIDE, ECCV 2020).
TIDE reports what fixing one type alone gains; these gains do not add up. The `cost` of a type is its Shapley value
instead: its mean gain over all orders in which the types can be fixed. With all types fixed AP is 1, so the costs
add up to 1 − AP.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial, isnan, nan
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from verite import _core
from verite.analysis.part import AnalysisPart, PartRecord, describe_ignored, part_signature
from verite.evaluation.evaluation import TRUE_POSITIVE
from verite.model.tables import Bar, Table
from verite.plotting import COLOURS, ERROR_COLOURS
from verite.settings import Number, Option, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from verite.analysis.analyse import Analysis
    from verite.analysis.matches import AnalysisMatches, Bools, Floats, Ints, Rows
    from verite.analysis.part import ImageBootstrap
    from verite.files import JsonObject
    from verite.model.tables import Part
    from verite.signature import Signature


class ErrorSettings(Settings):
    """Settings of the error types."""

    TITLE: ClassVar[str] = "Analysis"
    background: Option[float] = Number(0.1, "Maximum IoU of a background error (TIDE's t_b).", least=0, most=1)


TYPES = ("class", "localization", "both", "duplicate", "background", "missed")
CLASS: int
LOCALIZATION: int
BACKGROUND: int
CLASS, LOCALIZATION, BOTH, DUPLICATE, BACKGROUND, MISSED = range(6)
NO_ERROR = -1  # the type of true positives and ignored predictions
SETS = 2 ** len(TYPES)  # sets of types, one bit each
LEGEND = "`alone`: AP gained by fixing this type only; `cost`: its share of 1 − AP, averaged over all orders of fixing."
SHOWN_CLASSES = 10  # on the screen of all parts


@dataclass(frozen=True, eq=False)
class ErrorTypes:
    """The error type of every prediction, and the missed objects, at one IoU threshold.

    `rank`, `is_tp`, `kind`, `target` and `is_fixed` have one value per prediction, `is_matched` and `is_missed` one per
    ground truth.
    """

    iou: float
    rank: Ints  # position by decreasing confidence
    by_class: Ints  # rows of predictions class by class, by decreasing confidence within a class
    is_tp: Bools
    kind: NDArray[np.int8]  # position of the error type in TYPES, or NO_ERROR
    target: Rows  # of class and localization errors the ground truth they would match if fixed; else -1
    is_fixed: Bools  # becomes a true positive if its error is fixed: the highest-confidence one of each free target
    is_matched: Bools
    is_missed: Bools  # not matched, and the target of no error

    def counts(self) -> dict[str, int]:
        """How many errors of each type there are."""
        found = np.bincount(self.kind[self.kind >= 0], minlength=len(TYPES))
        found[MISSED] = self.is_missed.sum()
        return dict(zip(TYPES, found.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Costs:
    """AP and costs of every class at one IoU threshold, [class] or [class, type]; NaN for classes without ground truth.

    `false_positives` and `false_negatives` are TIDE's special errors: AP gained if all true positives ranked first, and
    if only the matched ground-truth objects existed.
    """

    base: Floats  # AP as it is
    cost: Floats  # Shapley value of each type
    alone: Floats  # AP gained if only this type is fixed
    false_positives: Floats
    false_negatives: Floats


def error_types(matches: AnalysisMatches, threshold: int) -> ErrorTypes:
    """Classify every false positive at one IoU threshold: the first type that holds, in the order of TIDE's code.

    1. localization: the highest IoU with a ground truth of its class is between the background and the IoU threshold,
       both included;
    2. class: the IoU with a ground truth of another class reaches the IoU threshold;
    3. duplicate: the IoU with an already matched ground truth of its class reaches the IoU threshold;
    4. background: no IoU exceeds the background threshold;
    5. both: everything else.
    """
    found = matches.outcomes if threshold == matches.main_threshold else matches.evaluation.outcomes(threshold)
    is_matched = found.is_asked & (found.pred >= 0)
    same, other = matches.nearest_same, matches.nearest_other
    rank, by_class = matches.order_at(threshold)
    pair_pred, pair_truth, pair_iou = matches.same_class_pairs
    kind, target, is_fixed, is_missed = _core.find_error_types(
        state=found.state,
        same=same.overlap,
        other=other.overlap,
        same_truth=same.truth,
        other_truth=other.truth,
        places=rank,
        pair_pred=pair_pred,
        pair_truth=pair_truth,
        pair_iou=pair_iou,
        is_matched=is_matched.view(np.uint8),
        counted_truth=np.ascontiguousarray(found.is_asked).view(np.uint8),
        iou=matches.thresholds[threshold],
        background=matches.background,
    )
    return ErrorTypes(
        iou=matches.thresholds[threshold],
        rank=rank,
        by_class=by_class,
        is_tp=found.state == TRUE_POSITIVE,
        kind=kind,
        target=target,
        is_fixed=is_fixed.view(np.bool_),
        is_matched=is_matched,
        is_missed=is_missed.view(np.bool_),
    )


def ap_of_fixed_sets(matches: AnalysisMatches, types: ErrorTypes) -> tuple[Floats, Floats]:
    """AP of each class with every set of types fixed, [class, set], and with the two special fixes, [class, 2]."""
    truths = matches.truth_counts
    left = truths - matches.count_classes(matches.truth_label[types.is_missed])
    found = matches.count_classes(matches.pred_label[types.is_tp])
    none = np.empty(0, dtype=np.int64)
    needed: list[Ints] = [
        matches.tp_needed_per_recall(int(count)) if count and truths[k] else none
        for k, counts in enumerate(zip(truths, left, found, strict=True))
        for count in counts
    ]
    return _core.fix_errors(
        rows=types.by_class,
        offsets=np.searchsorted(matches.pred_label[types.by_class], np.arange(len(matches.names) + 1)),
        places=types.rank,
        state=np.where(types.is_tp, 1, 0).astype(np.int8),
        kind=types.kind,
        target=types.target,
        truth_label=np.ascontiguousarray(matches.truth_label),
        is_fixed=types.is_fixed.view(np.uint8),
        truths=truths,
        not_missed=left,
        needed=np.concatenate([none, *needed]),
        needed_offsets=np.cumsum([0, *map(len, needed)]),
        slack=matches.results.SLACK,
        threads=matches.evaluation.threads,
    )


def shapley_values(values: Floats) -> Floats:
    """Shapley value of each type, [class, type], from the AP of all sets of fixed types, [class, set]."""
    count, sets = len(TYPES), np.arange(SETS)
    shares = []
    for one in range(count):
        without = sets[sets >> one & 1 == 0]
        sizes = [int(bits).bit_count() for bits in without]
        weights = [factorial(size) * factorial(count - size - 1) / factorial(count) for size in sizes]
        # A type without errors changes no AP, so that these differences make its cost exactly 0.
        gains = values[:, without | 1 << one]
        gains -= values[:, without]
        shares.append(gains @ np.array(weights))
    return np.stack(shares, axis=1)


def f1_of_fixed_sets(matches: AnalysisMatches, types: ErrorTypes) -> Floats:
    """F1 with every set of types fixed, [class, set], nan without ground truth; the last row has all classes together.

    Two columns follow: F1 without any false positive, and with only the matched ground truths.

    A fixed classification or localization error is a true positive if its target is free; of several on one target
    one is. Other errors are removed, and so are missed ground truths.
    """
    sets = np.arange(SETS)
    right = matches.count_classes(matches.pred_label[types.is_tp])
    wrong = np.stack([matches.count_classes(matches.pred_label[types.kind == k]) for k in range(MISSED)], axis=1)
    missed = matches.count_classes(matches.truth_label[types.is_missed])
    # Bit 1 of a set is the type class, bit 2 localization: 3 are objects that a fix of either would detect.
    fixable = (types.target >= 0) & ~types.is_matched[types.target]
    by = np.zeros(len(types.is_matched), dtype=np.int64)  # for each ground truth the types of its fixable errors
    np.bitwise_or.at(by, types.target[fixable], 1 << types.kind[fixable].astype(np.int64))
    gained = np.stack([matches.count_classes(matches.truth_label[by == bits]) for bits in (1, 2, 3)], axis=1)
    tp = right[:, None] + gained @ np.stack([(sets & bits) > 0 for bits in (1, 2, 3)])
    fp = wrong @ np.stack([sets >> k & 1 == 0 for k in range(MISSED)])
    truths = matches.truth_counts[:, None] - missed[:, None] * (sets >> MISSED & 1)

    tp = np.concatenate([tp, right[:, None], right[:, None]], axis=1)
    fp = np.concatenate([fp, 0 * right[:, None], wrong.sum(axis=1, keepdims=True)], axis=1)
    truths = np.concatenate([truths, matches.truth_counts[:, None], right[:, None]], axis=1)
    tp, fp, truths = (np.append(one, one.sum(axis=0, keepdims=True), axis=0) for one in (tp, fp, truths))
    total = truths + tp + fp
    values: Floats = np.divide(2.0 * tp, total, out=np.ones(tp.shape), where=total > 0)
    values[np.append(matches.truth_counts, 1) == 0] = np.nan
    return values


class Errors(AnalysisPart):
    """Six error types: what each costs (the costs add up to 1 − AP) and gains alone, in total and per class.

    With several IoU thresholds costs are means over them, as the protocol's AP is; errors are counted at the main one.
    """

    name = "errors"
    score = "AP"  # what errors cost

    def __init__(self, matches: AnalysisMatches, bootstrap: ImageBootstrap | None = None) -> None:
        self.matches, self.bootstrap = matches, bootstrap
        found = []
        for threshold in range(len(matches.thresholds)):
            types = error_types(matches, threshold)
            if threshold == matches.main_threshold:
                self.types: ErrorTypes = types
            values, special = ap_of_fixed_sets(matches, types)
            base = values[:, 0].copy()  # a view would keep all sets in memory
            alone = values[:, [1 << i for i in range(len(TYPES))]] - base[:, None]
            found.append(Costs(base, shapley_values(values), alone, special[:, 0] - base, special[:, 1] - base))
            del values, special  # before the next ones are computed
        self.label_base: Floats = np.mean([one.base for one in found], axis=0)
        self.label_cost: Floats = np.mean([one.cost for one in found], axis=0)  # [class, type]
        self.label_alone: Floats = np.mean([one.alone for one in found], axis=0)
        special_gains = [np.stack([one.false_positives, one.false_negatives], axis=1) for one in found]
        self.label_special: Floats = np.mean(special_gains, axis=0)

    @property
    def base(self) -> float:
        """The protocol's own AP, bit for bit."""
        values = [score.value for score in self.matches.results.scores.values()]
        return values[0] if self.has_one_headline else float(np.mean(values[: len(self.matches.thresholds)]))

    @property
    def has_one_headline(self) -> bool:
        """Whether the first score is the mean over all IoU thresholds; Pascal VOC prints one score for each."""
        results = self.matches.results
        first = next(iter(results.scores.values()))
        return dict(first.signature)["iou"] == dict(results.signature)["iou"]

    @cached_property
    def deviation(self) -> JsonObject | None:
        """Standard deviation of AP over bootstrap resamples; None without resamples.

        `bias`, the mean of the resamples minus AP, is deprecated: it is a quarter of what it looks like.
        """
        if self.bootstrap is None:
            return None
        results = self.matches.results
        scores = list(results.scores)[: 1 if self.has_one_headline else len(self.matches.thresholds)]
        means = results.draw_scores(scores, self.bootstrap.weights).mean(axis=1)
        means = means[~np.isnan(means)]
        found = {"sd": nan, "bias": nan}
        if len(means) > 1:
            found = {"sd": float(means.std(ddof=1)), "bias": float(means.mean()) - self.base}
        return found | self.bootstrap.describe()

    def describe_deviation(self) -> str:
        """Return the deviation in words; "" without resamples."""
        if self.deviation is None or self.bootstrap is None or isnan(self.deviation["sd"]):
            return ""
        resamples = f"{self.bootstrap.count:,} bootstrap resamples of {self.bootstrap.unit}"
        return f"   (sd {self.deviation['sd']:.4f} over {resamples})"

    @cached_property
    def label_ap(self) -> dict[str, float]:
        """The protocol's own AP of each class, by name."""
        results = self.matches.results
        scores = results.class_scores()
        keys = list(scores)[:1] if self.has_one_headline else list(scores)
        values = np.mean([scores[key] for key in keys], axis=0).tolist()
        return dict(zip(results.class_names, values, strict=True))

    def mean(self, values: Floats) -> list[float]:
        """Average values [class, …] over the classes with ground truth."""
        present = self.matches.present
        return np.asarray(values[present].mean(axis=0)).tolist() if len(present) else [nan] * values.shape[1]

    @cached_property
    def cost(self) -> dict[str, float]:
        """Cost of each error type in AP; the six add up to 1 − AP."""
        return dict(zip(TYPES, self.mean(self.label_cost), strict=True))

    @cached_property
    def alone(self) -> dict[str, float]:
        """AP gained by fixing one type only (TIDE's ΔAP)."""
        return dict(zip(TYPES, self.mean(self.label_alone), strict=True))

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many errors of each type there are at the main IoU threshold."""
        return self.types.counts()

    @cached_property
    def label_counts(self) -> Ints:
        """Errors of the predictions of each class and its missed ground truths, [class, type]."""
        matches, types = self.matches, self.types
        found = [matches.count_classes(matches.pred_label[types.kind == one]) for one in range(len(TYPES) - 1)]
        return np.stack([*found, matches.count_classes(matches.truth_label[types.is_missed])], axis=1)

    @property
    def signature(self) -> Signature:
        """Every setting that can change the costs."""
        more = {"background": self.matches.background, "fix": "tide", "share": "shapley"}
        more |= {} if self.bootstrap is None else self.bootstrap.settings
        return part_signature("errors", self.matches, one_threshold=False, **more)

    def table(self) -> Table:
        """Return one row per error type."""
        columns: dict[str, list[Any]] = {
            "cost": list(self.cost.values()),
            "alone": list(self.alone.values()),
            f"errors at {self.matches.iou:g}": list(self.counts.values()),
        }
        return Table.of("error", TYPES, columns, mean={"cost": sum(self.cost.values())})

    def bar_table(self) -> Table:
        """Return the table with bars, as long as the share of 1 − AP."""
        table, missing = self.table(), sum(self.cost.values())
        bars = [Bar(cost / missing if missing else nan) for cost in self.cost.values()]
        rows = tuple((name, bar, *rest) for (name, *rest), bar in zip(table.rows, bars, strict=True))
        assert table.mean is not None
        return Table((table.head[0], "", *table.head[1:]), rows, (table.mean[0], "", *table.mean[1:]))

    def class_table(self, most: int | None = None) -> Table:
        """Return one row per class with ground truth, the lowest AP first: its AP and the cost of each error type."""
        names = self.matches.names
        order = sorted(self.matches.present.tolist(), key=lambda k: self.label_ap[names[k]])[:most]
        columns: dict[str, list[Any]] = {self.score: [self.label_ap[names[k]] for k in order]}
        columns |= {one: self.label_cost[order, i].tolist() for i, one in enumerate(TYPES)}
        columns["truths"] = self.matches.truth_counts[order].tolist()
        mean = {self.score: self.base, **self.cost, "truths": int(self.matches.truth_counts.sum())}
        return Table.of("class", [names[k] for k in order], columns, mean=mean)

    def tables(self) -> dict[str, Table]:
        """Return the tables of types and of classes."""
        return {"errors": self.table(), "error-classes": self.class_table()}

    def breakdown(self) -> list[Part]:
        """Return the costs with bars and a legend."""
        count, first = len(self.matches.thresholds), self.matches.words.at(self.matches.iou)
        means = (
            f"Costs are means over {count} IoU thresholds; errors are counted at {first}. A prediction that is a true "
            f"positive there can still cost {self.score} at higher thresholds."
        )
        return [self.bar_table(), LEGEND.replace("AP", self.score), *([means] if count > 1 else [])]

    def summary(self) -> list[Part]:
        """Return the costs and the classes of lowest AP."""
        return [*self.breakdown(), self.class_table(SHOWN_CLASSES)]

    def contents(self) -> list[Part]:
        """Return costs, all classes and the signature."""
        return [*self.breakdown(), self.class_table(), describe_ignored(self.matches), self.signature]

    def draw(self, axes: Axes) -> None:
        """Draw two bars per error type: its cost, and the gain of fixing it alone."""
        types = list(self.cost)
        at = np.arange(len(types))
        colours = [ERROR_COLOURS[kind].light if kind in ERROR_COLOURS else COLOURS[0] for kind in types]
        cost, alone = list(self.cost.values()), list(self.alone.values())
        axes.barh(at - 0.2, cost, 0.38, color=colours, label=f"cost (adds up to 1 − {self.score})")
        axes.barh(at + 0.2, alone, 0.36, color="none", edgecolor=colours, lw=1.5, label="fixed alone (TIDE)")
        for i, value in enumerate(cost):
            axes.text(value, i - 0.2, f" {value:.3f}", va="center", fontsize=8)
        axes.margins(x=0.12)
        axes.set_yticks(at, types)
        axes.set(xlabel=self.score, ylim=(len(types) - 0.5, -0.5))
        self.set_title(axes, f"{self.score} {self.base:.3f}, lost {1 - self.base:.3f}")
        axes.spines[["top", "right"]].set_visible(False)
        legend = axes.legend(frameon=False, fontsize=8, loc="best")
        for filled, handle in zip((True, False), legend.get_patches(), strict=True):  # each type has its own colour
            handle.set(facecolor="0.45" if filled else "none", edgecolor="0.45")

    def to_dict(self) -> JsonObject:
        """Return costs, gains and counts, in total and per class."""
        special = self.mean(self.label_special)
        counts, names = self.label_counts, self.matches.names
        classes: dict[str, JsonObject] = {}
        for k in np.flatnonzero(self.matches.truth_counts.astype(np.bool_) | counts.any(axis=1)).tolist():
            truths = int(self.matches.truth_counts[k])
            classes[names[k]] = {
                self.score: self.label_ap[names[k]] if truths else None,
                "truths": truths,
                "cost": dict(zip(TYPES, self.label_cost[k].tolist(), strict=True)) if truths else None,
                "alone": dict(zip(TYPES, self.label_alone[k].tolist(), strict=True)) if truths else None,
                "counts": dict(zip(TYPES, counts[k].tolist(), strict=True)),
            }
        return {
            "signature": str(self.signature),
            self.score: self.base,
            "deviation": self.deviation,
            "cost": self.cost,
            "alone": self.alone,
            "counts": self.counts,
            "iou": self.matches.iou,
            "fp": special[0],
            "fn": special[1],
            "classes": classes,
        }


class F1Errors(Errors):
    """Six error types and what each costs in F1, of predictions without confidences: the costs add up to 1 − F1.

    Micro F1 by default; with the protocol's ``average="macro"`` costs are means over the classes. The costs of a class
    are in its own F1.
    """

    score = "F1"

    def __init__(self, matches: AnalysisMatches, bootstrap: ImageBootstrap | None = None) -> None:
        self.matches, self.bootstrap = matches, bootstrap
        found = []
        for threshold in range(len(matches.thresholds)):
            types = error_types(matches, threshold)
            if threshold == matches.main_threshold:
                self.types = types
            found.append(f1_of_fixed_sets(matches, types))
        values: Floats = np.mean(found, axis=0)
        base = values[:, 0]
        alone = values[:, [1 << i for i in range(len(TYPES))]] - base[:, None]
        special = values[:, SETS:] - base[:, None]
        cost = shapley_values(values)
        self.label_base, self.label_cost, self.label_alone, self.label_special = (
            one[:-1] for one in (base, cost, alone, special)
        )
        # Values of all classes together, for `mean`, by the array [class, type] that it is given.
        self.together: dict[int, list[float]] = {
            id(of): one[-1].tolist()
            for of, one in ((self.label_cost, cost), (self.label_alone, alone), (self.label_special, special))
        }

    @property
    def headline(self) -> str:
        """The name of the score: F1, or macro_F1."""
        return "F1" if self.is_micro else "macro_F1"

    @property
    def is_micro(self) -> bool:
        """Whether the objects of all classes count together."""
        return bool(self.matches.results.settings.average == "micro")

    @property
    def base(self) -> float:
        """The protocol's own F1, bit for bit."""
        return self.matches.results.scores[self.headline].value

    @cached_property
    def label_ap(self) -> dict[str, float]:
        """The protocol's own F1 of each class, by name."""
        results = self.matches.results
        return dict(zip(results.class_names, results.class_scores()["F1"], strict=True))

    def mean(self, values: Floats) -> list[float]:
        """Return values of all classes together; with macro averages, means over the classes with ground truth."""
        return self.together[id(values)] if self.is_micro else super().mean(values)


def build(analysis: Analysis) -> Errors:
    """Return the error costs: in F1 for the protocol f1, else in AP."""
    costs = F1Errors if analysis.results.protocol == "f1" else Errors
    return costs(analysis.matches, analysis.bootstrap)


PART = PartRecord(
    name="errors",
    about="Six error types whose costs add up to 1 − AP (1 − F1 with `--protocol f1`).",
    build=build,
    plot=Errors.draw,
    settings=ErrorSettings,
    json="""\
"errors": {"signature", "AP", "deviation": null | {"sd", "bias", "draws", "seed", "resample"},
           "cost": {TYPE: …}, "alone": {TYPE: …}, "counts": {TYPE: n}, "iou", "fp", "fn",
           "classes": {NAME: {"AP", "truths", "cost", "alone", "counts"}}}
A TYPE is `class`, `localization`, `both`, `duplicate`, `background` or `missed`. The six costs add up to 1 − `AP`. `fp`
is the AP gained if all true positives ranked before all false positives, `fn` the AP gained if only matched ground
truths existed. `counts` are at the IoU threshold `iou`. A class without ground truth has counts, and `null` for the
rest. With `--protocol f1` the keys `AP` are `F1`, and `fp` is the F1 gained without false positives. `deviation` needs
`--draws`; its `bias` is deprecated, see `verite coco --interval-images all`.""",
)
