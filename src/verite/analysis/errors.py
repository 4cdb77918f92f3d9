"""Which errors keep AP from being 1, and what does each type cost?"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import factorial, isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verite import _core
from verite.analysis.parts import AnalysisPart, sign, tell_set_aside
from verite.evaluation.evaluation import RIGHT
from verite.model.tables import Bar, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.analysis.matches import AnalysisMatches, Bools, Floats, Ints, Rows
    from verite.analysis.parts import ImageBootstrap
    from verite.model.tables import Part
    from verite.signature import Signature


TYPES = ("class", "localization", "both", "duplicate", "background", "missed")

CLASS, LOCALIZATION, BOTH, DUPLICATE, BACKGROUND, MISSED = range(6)

NONE = -1  # a prediction without an error: right, or set aside


@dataclass(frozen=True, eq=False)
class ErrorTypes:
    """At one threshold: the error of every prediction, the truth it was after, and the truths that are missed."""

    iou: float
    place: Ints  # of predictions, by falling confidence
    by_label: Ints  # predictions label by label, within a label by falling confidence
    is_right: Bools  # predictions
    kind: NDArray[np.int8]  # of predictions: the position of their error in TYPES, or NONE
    target: Rows  # of class and localization errors: the truth they would be right on; -1 for others
    is_mended: Bools  # predictions that become right if their error is fixed: the best of each target that is free
    is_taken: Bools  # truths
    is_missed: Bools  # truths that nobody took, and nobody is after

    def counts(self) -> dict[str, int]:
        found = np.bincount(self.kind[self.kind >= 0], minlength=len(TYPES))
        found[MISSED] = self.is_missed.sum()
        return dict(zip(TYPES, found.tolist(), strict=True))


def find_types(matches: AnalysisMatches, threshold: int) -> ErrorTypes:
    """The first type that holds, in this order.

    No truth overlapped by more than the background's threshold: background. Otherwise, in the order of the paper's
    code: the largest overlap with a truth of the own label lies between the two thresholds, both included:
    localization; a truth of another label is overlapped enough: class; a taken one of the own label is: duplicate; no
    overlap exceeds the background's threshold: background; else both.
    """
    found = matches.outcomes if threshold == matches.single else matches.evaluation.outcomes(threshold)
    is_taken = found.is_asked & (found.pred >= 0)
    same, other = matches.nearest_same, matches.nearest_other
    place, by_label = matches.order_at(threshold)
    pair_pred, pair_truth, pair_iou = matches.same_pairs
    kind, target, is_mended, is_missed = _core.find_error_types(
        state=found.state,
        same=same.overlap,
        other=other.overlap,
        same_truth=same.truth,
        other_truth=other.truth,
        places=place,
        pair_pred=pair_pred,
        pair_truth=pair_truth,
        pair_iou=pair_iou,
        is_matched=is_taken.view(np.uint8),
        counted_truth=np.ascontiguousarray(found.is_asked).view(np.uint8),
        iou=matches.thresholds[threshold],
        background=matches.background,
    )
    flags = (found.state == RIGHT, is_mended.view(np.bool_), is_missed.view(np.bool_))
    return ErrorTypes(
        matches.thresholds[threshold], place, by_label, flags[0], kind, target, flags[1], is_taken, flags[2]
    )


SETS = 2 ** len(TYPES)  # of types, one bit each


@dataclass(frozen=True, eq=False)
class Costs:
    """Of every label, not a number where it has no truths; [label, type]."""

    base: Floats  # AP of each label
    cost: Floats
    alone: Floats
    false_positives: Floats  # gained if right predictions came first of all
    false_negatives: Floats  # gained if nothing were to be found but what is found


def find_costs(matches: AnalysisMatches, types: ErrorTypes) -> Costs:
    """At one threshold."""
    values, special = value_sets(matches, types)
    base = values[:, 0]
    alone = values[:, [1 << i for i in range(len(TYPES))]] - base[:, None]
    return Costs(base, share(values), alone, special[:, 0] - base, special[:, 1] - base)


def value_sets(matches: AnalysisMatches, types: ErrorTypes) -> tuple[Floats, Floats]:
    """AP of each label with every set of types fixed, [label, set], and with two special fixes, [label, 2]."""
    truths = matches.truths
    left = truths - matches.count(matches.truth_label[types.is_missed])
    found = matches.count(matches.pred_label[types.is_right])
    none = np.empty(0, dtype=np.int64)
    lists: list[Ints] = [
        matches.tp_needed_per_recall(int(count)) if count and truths[k] else none
        for k, counts in enumerate(zip(truths, left, found, strict=True))
        for count in counts
    ]
    return _core.fix_errors(
        rows=types.by_label,
        offsets=np.searchsorted(matches.pred_label[types.by_label], np.arange(len(matches.names) + 1)),
        places=types.place,
        state=np.where(types.is_right, 1, 0).astype(np.int8),
        kind=types.kind,
        target=types.target,
        truth_label=np.ascontiguousarray(matches.truth_label),
        is_fixed=types.is_mended.view(np.uint8),
        truths=truths,
        not_missed=left,
        needed=np.concatenate([none, *lists]),
        needed_offsets=np.cumsum([0, *map(len, lists)]),
        slack=matches.results.SLACK,
        threads=matches.evaluation.threads,
    )


def share(values: Floats) -> Floats:
    """Shapley values, [label, type], of the values of sets."""
    count, sets = len(TYPES), np.arange(SETS)
    shares = []
    for one in range(count):
        without = sets[sets >> one & 1 == 0]
        sizes = [int(bits).bit_count() for bits in without]
        weights = [factorial(size) * factorial(count - size - 1) / factorial(count) for size in sizes]
        # A type without errors changes no value, so that differences make its cost 0 to the last bit.
        shares.append((values[:, without | 1 << one] - values[:, without]) @ np.array(weights))
    return np.stack(shares, axis=1)


WORDS = "`alone`: AP gained if only this were fixed; `cost`: its share of what is missing, over every order of fixing."


class Errors(AnalysisPart):
    """Six types of errors, what each costs (adding up to 1 − AP) and gains alone, of all labels and of each.

    With several thresholds costs are means over them, as the protocol's AP is; counts are at one of them.
    """

    name = "errors"

    def __init__(self, matches: AnalysisMatches, drawn: ImageBootstrap | None = None) -> None:
        self.matches, self.drawn = matches, drawn
        found = []
        for threshold in range(len(matches.thresholds)):
            types = find_types(matches, threshold)
            if threshold == matches.single:
                self.types: ErrorTypes = types
            found.append(find_costs(matches, types))
        self.label_base: Floats = np.mean([one.base for one in found], axis=0)
        self.label_cost: Floats = np.mean([one.cost for one in found], axis=0)  # [label, type]
        self.label_alone: Floats = np.mean([one.alone for one in found], axis=0)
        special = [np.stack([one.false_positives, one.false_negatives], axis=1) for one in found]
        self.label_special: Floats = np.mean(special, axis=0)

    @property
    def base(self) -> float:
        """The protocol's own AP, bit for bit."""
        values = [score.value for score in self.matches.results.scores.values()]
        return values[0] if self.has_one_headline else float(np.mean(values[: len(self.matches.thresholds)]))

    @property
    def has_one_headline(self) -> bool:
        """Is the first score the mean over all thresholds? Pascal VOC prints one for each."""
        results = self.matches.results
        first = next(iter(results.scores.values()))
        return dict(first.signature)["iou"] == dict(results.signature)["iou"]

    @cached_property
    def deviation(self) -> dict[str, Any] | None:
        """The standard deviation of AP over draws of images, and by how much their mean lies above it (bias)."""
        if self.drawn is None:
            return None
        results = self.matches.results
        scores = list(results.scores)[: 1 if self.has_one_headline else len(self.matches.thresholds)]
        means = results.draw_scores(scores, self.drawn.weights).mean(axis=1)
        means = means[~np.isnan(means)]
        many = len(means) > 1
        found = {
            "sd": float(means.std(ddof=1)) if many else nan,
            "bias": float(means.mean()) - self.base if many else nan,
        }
        return found | self.drawn.tell()

    def tell_drawn(self) -> str:
        """The same in words; nothing where nothing was drawn."""
        if self.deviation is None or self.drawn is None:
            return ""
        told = self.deviation
        if isnan(told["sd"]):
            return ""
        return (
            f"   (sd {told['sd']:.4f}, bias {told['bias']:+.4f} over {self.drawn.count:,} draws of {self.drawn.unit})"
        )

    @cached_property
    def label_ap(self) -> dict[str, float]:
        """The protocol's own AP of each label."""
        results = self.matches.results
        scores = results.class_scores()
        keys = list(scores)[:1] if self.has_one_headline else list(scores)
        values = np.mean([scores[key] for key in keys], axis=0).tolist()
        return dict(zip(results.class_names, values, strict=True))

    def mean(self, values: Floats) -> list[float]:
        """Of [label, …] over the labels that have truths."""
        present = self.matches.present
        return np.asarray(values[present].mean(axis=0)).tolist() if len(present) else [nan] * values.shape[1]

    @cached_property
    def cost(self) -> dict[str, float]:
        return dict(zip(TYPES, self.mean(self.label_cost), strict=True))

    @cached_property
    def alone(self) -> dict[str, float]:
        return dict(zip(TYPES, self.mean(self.label_alone), strict=True))

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many errors of each type there are at the single threshold."""
        return self.types.counts()

    @property
    def signature(self) -> Signature:
        more = {"background": self.matches.background, "fix": "tide", "share": "shapley"}
        more |= {} if self.drawn is None else self.drawn.settings
        return sign("errors", self.matches, at_single=False, **more)

    def table(self) -> Table:
        """A row for each type."""
        columns: dict[str, list[Any]] = {
            "cost": list(self.cost.values()),
            "alone": list(self.alone.values()),
            self.count_head: list(self.counts.values()),
        }
        total = {"cost": sum(self.cost.values())}
        return Table.of("error", TYPES, columns, mean=total)

    @property
    def count_head(self) -> str:
        return f"errors at {self.matches.iou:g}"

    def bar_table(self) -> Table:
        """The same with bars; their length is the share of what is missing."""
        table, missing = self.table(), sum(self.cost.values())
        bars = [Bar(cost / missing if missing else nan) for cost in self.cost.values()]
        rows = tuple((name, bar, *rest) for (name, *rest), bar in zip(table.rows, bars, strict=True))
        assert table.mean is not None
        return Table((table.head[0], "", *table.head[1:]), rows, (table.mean[0], "", *table.mean[1:]))

    def class_table(self, most: int | None = None) -> Table:
        """A row for each label with truths, the worst first: its AP and what each type costs it."""
        names = self.matches.names
        order = sorted(self.matches.present.tolist(), key=lambda k: self.label_ap[names[k]])[:most]
        columns: dict[str, list[Any]] = {"AP": [self.label_ap[names[k]] for k in order]}
        columns |= {one: self.label_cost[order, i].tolist() for i, one in enumerate(TYPES)}
        columns["truths"] = self.matches.truths[order].tolist()
        mean = {"AP": self.base, **self.cost, "truths": int(self.matches.truths.sum())}
        return Table.of("class", [names[k] for k in order], columns, mean=mean)

    def tables(self) -> dict[str, Table]:
        return {"errors": self.table(), "error-classes": self.class_table()}

    def contents(self) -> list[Part]:
        return [*self.breakdown(), self.class_table(), tell_set_aside(self.matches), self.signature]

    def breakdown(self) -> list[Part]:
        """What each type costs, drawn, and how to read it."""
        count, first = len(self.matches.thresholds), self.matches.words.at(self.matches.iou)
        means = f"costs are means over {count} thresholds, errors are counted at {first} alone: what is close enough "
        means += "there may still cost at the higher ones"
        return [self.bar_table(), WORDS, *([means] if count > 1 else [])]

    def to_dict(self) -> dict[str, Any]:
        special = self.mean(self.label_special)
        labels = self.matches.names
        counts = self.label_counts
        classes = {
            labels[k]: {
                "AP": self.label_ap[labels[k]],
                "truths": int(self.matches.truths[k]),
                "cost": dict(zip(TYPES, self.label_cost[k].tolist(), strict=True)),
                "alone": dict(zip(TYPES, self.label_alone[k].tolist(), strict=True)),
                "counts": dict(zip(TYPES, counts[k].tolist(), strict=True)),
            }
            for k in range(len(labels))
            if self.matches.truths[k] or counts[k].any()
        }
        for facts in classes.values():
            if not facts["truths"]:
                facts |= {"AP": None, "cost": None, "alone": None}
        return {
            "signature": str(self.signature),
            "AP": self.base,
            "deviation": self.deviation,
            "cost": self.cost,
            "alone": self.alone,
            "counts": self.counts,
            "iou": self.matches.iou,
            "fp": special[0],
            "fn": special[1],
            "classes": classes,
        }

    @cached_property
    def label_counts(self) -> Any:
        """[label, type]: errors of the predictions of each label, and its missed truths."""
        matches, types = self.matches, self.types
        found = [matches.count(matches.pred_label[types.kind == one]) for one in range(len(TYPES) - 1)]
        return np.stack([*found, matches.count(matches.truth_label[types.is_missed])], axis=1)
