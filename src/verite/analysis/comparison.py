"""Comparison of two detectors on the same ground truth: classes, objects and errors in which they differ.

Besides the difference in AP there is an exact sign-flip test over images, McNemar's exact test over objects (which
takes objects of one image as independent and rejects too often), and the influence of single annotations: by how much
each annotation, if it is wrong, moves the lead of one detector. A wrong annotation is taken as no object at all, as in
`vt.rank`: the score is that of the ground truth without it, exactly.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import cached_property
from math import ceil, isnan, nan
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from verite.analysis.errors import TYPES
from verite.analysis.matches import UNLIMITED
from verite.analysis.part import (
    Document,
    PartRecord,
    describe_ignored,
    part_signature,
)
from verite.analysis.suspicious import CHECKED, Suspicion
from verite.evaluation.evaluation import EVERY_AREA, Changes, Evaluation
from verite.evaluation.settings import ClassThresholds
from verite.hooks import hook
from verite.leaderboards.influence import min_flip_size, removal_influence
from verite.model.tables import Table
from verite.plotting import COLOURS, MOST_OF_NAME, label_rows, shorten_apart
from verite.statistics.mcnemar import mcnemar_exact, sign_flip_exact
from verite.statistics.multiple_comparisons import TIE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from verite.analysis.analyse import Analysis
    from verite.analysis.matches import AnalysisMatches, Bools, Floats, Ints
    from verite.files import JsonObject
    from verite.leaderboards.audit import AuditRow
    from verite.model.annotations import Annotations
    from verite.model.tables import Part
    from verite.signature import Signature

OUTCOMES = ("right", *TYPES)  # of a ground truth: matched, or the error type that costs it
MATCHED, MISSED = 0, len(TYPES)
SHOWN = 5  # classes on the screen
SAME_PLACE = 0.5  # IoU of two predictions of the same missing object
MOST_AUDITED = 1000  # suspicions whose influence on the lead is computed


class ClassDifference(TypedDict):
    """AP of a class for both detectors, with a bootstrap also a 95 % interval; the keys are those of JSON."""

    label: str
    first: float
    second: float
    difference: float
    low: float
    high: float


class DetectorPair(Document):
    """Two detectors on the same ground truth. All differences are the second minus the first.

    Parameters
    ----------
    one, two
        The analyses of both detectors.
    names
        The names of both.
    """

    name = "comparison"

    def __init__(self, one: Analysis, two: Analysis, names: tuple[str, str]) -> None:
        self.one, self.two, self.names = one, two, names
        self.matches, self.bootstrap, self.seed = one.matches, one.bootstrap, one.settings.seed

    @cached_property
    def found(self) -> tuple[Bools, Bools]:
        """For each ground truth, whether each detector matches it above its own confidence threshold."""
        one, two = (matched_truths(detector) for detector in (self.one, self.two))
        return one, two

    @cached_property
    def objects(self) -> dict[str, int]:
        """How many objects both, only one, and neither of the detectors match."""
        one, two, counted = *self.found, self.matches.counted_truth
        return {
            "both": int((one & two).sum()),
            "only_first": int((one & ~two).sum()),
            "only_second": int((two & ~one).sum()),
            "neither": int((counted & ~one & ~two).sum()),
        }

    @property
    def p_objects(self) -> float:
        """p-value of McNemar's exact test, which takes objects of one image as independent."""
        return mcnemar_exact(self.objects["only_first"], self.objects["only_second"])

    @cached_property
    def p_images(self) -> float:
        """p-value of the exact sign-flip test with images, or groups of them, as units."""
        one, two = self.found
        image = self.matches.truth.image
        return sign_flip_exact(
            self.matches.count_units(image[one & ~two]) - self.matches.count_units(image[two & ~one])
        )

    @cached_property
    def decisive(self) -> dict[str, int | None]:
        """How many wrong annotations, in the worst case, tie the numbers of matched objects, reverse their order, and
        reverse the order by AP.

        The last one is an upper bound, evaluated exactly; None where the scores are equal, no number of annotations
        suffices, or annotations cannot be removed from the evaluation.
        """
        lead = abs(self.objects["only_first"] - self.objects["only_second"])
        reversing = None
        score = next(iter(self.one.results.scores))
        gap = self.one.results.scores[score].value - self.two.results.scores[score].value
        influences = self.one.influence, self.two.influence
        if abs(gap) > TIE and not np.isnan(influences).any():
            rows = np.flatnonzero(self.matches.counted_truth)
            change = (influences[0] - influences[1])[rows]
            results = [self.one.results, self.two.results]
            if gap < 0:
                results, change = results[::-1], -change
            reversing = min_flip_size(results, score, rows, change, abs(gap))
        return {"errors_to_tie": ceil(lead / 2), "errors_to_reverse": lead // 2 + 1, "errors_to_turn_AP": reversing}

    @cached_property
    def swing(self) -> Floats:
        """For each ground truth, by how much the difference in AP changes if the annotation is wrong."""
        return self.two.influence - self.one.influence

    @cached_property
    def suspicion(self) -> Floats:
        """For each ground truth, the larger of the suspicions that either detector casts on it."""
        return np.maximum(*(detector.suspicious.truth_suspicion for detector in (self.one, self.two)))

    @cached_property
    def lead_interval(self) -> tuple[float, float]:
        """95 % bootstrap interval of the difference in AP, on the same resampled images; NaN without a bootstrap."""
        if self.bootstrap is None:
            return nan, nan
        score, weights = next(iter(self.one.results.scores)), self.bootstrap.weights
        one, two = (detector.results.draw_scores([score], weights)[:, 0] for detector in (self.one, self.two))
        lead = self.two.results.scores[score].value - self.one.results.scores[score].value
        return self.bootstrap.interval(lead, two - one)

    @cached_property
    def difference(self) -> dict[str, float]:
        """By how much more each error type costs the second; they add up to AP of the first minus AP of the second."""
        one, two = self.one.errors.cost, self.two.errors.cost
        return {key: two[key] - one[key] for key in one}

    @cached_property
    def migration(self) -> Ints:
        """How many ground truths have which outcome, [outcome under the first, under the second], at any confidence."""
        counted, outcomes = self.matches.counted_truth, []
        for detector in (self.one, self.two):
            types = detector.errors.types
            found = np.full(len(types.is_matched), MISSED)
            fixed = np.flatnonzero(types.is_fixed)
            found[types.target[fixed]] = types.kind[fixed] + 1
            found[types.is_matched] = MATCHED
            outcomes.append(found[counted])
        counts = np.zeros((len(OUTCOMES), len(OUTCOMES)), dtype=np.int64)
        np.add.at(counts, (outcomes[0], outcomes[1]), 1)
        return counts

    @cached_property
    def only_wrong(self) -> tuple[int, int]:
        """False positives of each detector that no prediction of the other of the same class overlaps enough."""
        return count_unshared(self.one, self.two), count_unshared(self.two, self.one)

    @cached_property
    def labels(self) -> list[ClassDifference]:
        """AP of each class and its difference, with a 95 % bootstrap interval where images are resampled."""
        one, two = self.one.errors.label_ap, self.two.errors.label_ap
        present = [self.matches.names[k] for k in self.matches.present]
        between = [(nan, nan)] * len(present)
        if self.bootstrap is not None and present:
            score, weights = next(iter(self.one.results.scores)), self.bootstrap.weights
            first, second = (d.results.draw_class_scores(score, weights, present) for d in (self.one, self.two))
            between = [
                self.bootstrap.interval(two[name] - one[name], column)
                for name, column in zip(present, np.asarray(second - first).T, strict=True)
            ]
        return [
            ClassDifference(label=name, first=one[name], second=two[name], difference=two[name] - one[name],
                            low=low, high=high)
            for name, (low, high) in zip(present, between, strict=True)
        ]  # fmt: skip

    def flips(self) -> Table:
        """Return the objects that only one detector matches, those to check first on top: sorted by the suspicion that
        the annotation is wrong times the change of the difference in AP if it is.
        """
        one, two = self.found
        rows = np.flatnonzero(one ^ two)
        known = np.where(np.isnan(self.swing), 1.0, np.abs(self.swing))[rows]
        suspicion = self.suspicion
        rows = rows[np.lexsort((-suspicion[rows], -suspicion[rows] * known))]
        truth, names = self.matches.truth, self.matches.names
        boxes = truth.regions.boxes[rows]
        columns: dict[str, list[Any]] = {
            "label": [names[k] for k in self.matches.truth_label[rows]],
            "found by": [self.names[0] if one[row] else self.names[1] for row in rows],
            **{side: boxes[:, k].tolist() for k, side in enumerate(("x1", "y1", "x2", "y2"))},
        }
        for name, detector in zip(self.names, (self.one, self.two), strict=True):
            matches = detector.matches
            # Of the matched prediction, at any confidence; -1, the appended NaN, where there is none.
            columns[f"confidence of {name}"] = np.append(matches.confidence, nan)[matches.outcomes.pred[rows]].tolist()
        columns |= {"suspicion": suspicion[rows].tolist(), "swing of AP": self.swing[rows].tolist()}
        columns["row"] = rows.tolist()
        return Table.of("image", [self.matches.image_name(int(i)) for i in truth.image[rows]], columns)

    def sentences(self) -> list[str]:
        """Return the comparison in words."""
        counts, (first, second) = self.objects, self.names
        lead = self.two.errors.base - self.one.errors.base
        least = self.decisive
        turned = least["errors_to_turn_AP"]
        by_ap = "" if turned is None else f", {turned:,} reverse the order by AP"
        low, high = self.lead_interval
        between = "" if isnan(low) else f" [{low:+.4f}, {high:+.4f}]"
        return [
            f"{second} − {first}: AP {lead:+.4f}{between}; objects matched by both {counts['both']:,}, only by {first} "
            f"{counts['only_first']:,}, only by {second} {counts['only_second']:,}, by neither {counts['neither']:,}: "
            f"p = {self.p_images:.2g} (sign-flip test, units are {self.matches.unit}; McNemar's, as if objects were "
            f"independent: {self.p_objects:.2g})",
            f"In the worst case {least['errors_to_tie']:,} wrong annotations tie the numbers of matched objects and "
            f"{least['errors_to_reverse']:,} reverse their order{by_ap}. False positives that the other detector does "
            f"not share: {first} {self.only_wrong[0]:,}, {second} {self.only_wrong[1]:,}",
        ]

    def cost_table(self) -> Table:
        """Return the cost of each error type for both detectors."""
        one, two = self.one.errors.cost, self.two.errors.cost
        columns = {self.names[0]: list(one.values()), self.names[1]: list(two.values())}
        columns["difference"] = list(self.difference.values())
        return Table.of("cost", TYPES, columns, mean={key: sum(values) for key, values in columns.items()})

    def label_table(self, most: int | None = None) -> Table:
        """Return AP of each class for both detectors, the largest difference first."""
        rows = sorted(self.labels, key=lambda one: -abs(one["difference"]))[:most]
        keys = {self.names[0]: "first", self.names[1]: "second", "difference": "difference"}
        keys |= {} if self.bootstrap is None else {"from": "low", "to": "high"}
        found: list[Mapping[str, object]] = [*rows]
        return Table.of(
            "class", [row["label"] for row in rows], {h: [one[k] for one in found] for h, k in keys.items()}
        )

    def migration_table(self) -> Table:
        """Return how many ground truths have which outcome under both detectors."""
        columns = {f"{name} ({self.names[1]})": self.migration[:, i].tolist() for i, name in enumerate(OUTCOMES)}
        return Table.of(f"truths under {self.names[0]}", OUTCOMES, columns)

    def main_table(self) -> Table:
        """Return the costs."""
        return self.cost_table()

    def tables(self) -> dict[str, Table]:
        """Return all tables by the names of their CSV files."""
        return {"costs": self.cost_table(), "labels": self.label_table(), "migration": self.migration_table(),
                "flips": self.flips()}  # fmt: skip

    def contents(self) -> list[Part]:
        """Return the sentences, costs, the classes that differ most, and the signature."""
        detectors = zip(self.names, (self.one, self.two), strict=True)
        ignored = [f"{name}: {describe_ignored(one.matches)}" for name, one in detectors]
        return [*self.sentences(), self.cost_table(), self.label_table(SHOWN), *ignored, self.signature]

    @property
    def signature(self) -> Signature:
        """Every setting that can change the comparison."""
        bootstrap = {"draws": 0} if self.bootstrap is None else self.bootstrap.settings
        thresholds = {str(one) if isinstance(one, ClassThresholds) else one
                      for one in (self.one.confidence, self.two.confidence)}  # fmt: skip
        at = thresholds.pop() if len(thresholds) == 1 else "each its own"
        more: dict[str, Any] = {"seed": self.seed, **bootstrap}
        return part_signature("comparison", self.matches, at=at, test="sign flips", **more)

    def plot(self, ax: Any = None) -> Axes:
        """Draw the costs of both detectors on matplotlib's axes, or on new ones; return the axes."""
        axes: Axes = hook("plot")(self, self.name, ax)
        return axes

    def draw(self, axes: Axes) -> None:
        """Draw the costs of the error types of two detectors."""
        at = np.arange(len(self.difference))
        names = shorten_apart(self.names, MOST_OF_NAME)
        for i, (name, detector) in enumerate(zip(names, (self.one, self.two), strict=True)):
            label = f"{name}, AP {detector.errors.base:.3f}"
            axes.barh(at + 0.4 * i - 0.2, list(detector.errors.cost.values()), 0.38, color=COLOURS[i], label=label)
        label_rows(axes, list(self.difference))
        axes.set(xlabel="cost in AP (adds up to 1 − AP)")
        axes.set_title(" and ".join(names))
        axes.legend(frameon=False, fontsize=8, loc="best")

    def to_dict(self) -> JsonObject:
        """Return all differences as plain values."""
        return {
            "signature": str(self.signature),
            "first": self.names[0],
            "second": self.names[1],
            "AP": {"first": self.one.errors.base, "second": self.two.errors.base,
                   "difference": self.two.errors.base - self.one.errors.base,
                   "low": self.lead_interval[0], "high": self.lead_interval[1]},
            "cost_difference": self.difference,
            "objects": self.objects,
            "p_objects": self.p_objects,
            "p_images": self.p_images,
            "flips_of_signs": None,  # deprecated: the test is exact
            "seed": self.seed,
            "draws": 0 if self.bootstrap is None else self.bootstrap.count,
            **self.decisive,
            "wrong_alone": {"first": self.only_wrong[0], "second": self.only_wrong[1]},
            "fates": list(OUTCOMES),
            "migration": self.migration.tolist(),
            "labels": self.labels,
        }  # fmt: skip


def join_tables(pairs: Sequence[DetectorPair]) -> dict[str, Table]:
    """Join the tables of all pairs by the names of their CSV files; rows begin with the names of both detectors."""
    heads: dict[str, tuple[str, ...]] = {}
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for pair in pairs:
        anonymous = copy(pair)  # with everything that is computed already
        anonymous.names = ("first", "second")
        for name, table in anonymous.tables().items():
            heads[name] = ("first system", "second system", *table.head)
            rows.setdefault(name, []).extend((*pair.names, *row) for row in table.all_rows)
    return {name: Table(head, tuple(rows[name])) for name, head in heads.items()}


def matched_truths(detector: Analysis) -> Bools:
    """Ground truths that are matched by a prediction above the detector's own confidence threshold."""
    matches = detector.matches
    kept = matches.is_tp & matches.above(detector.confidence)
    found = np.zeros(len(matches.truth), dtype=np.bool_)
    found[matches.outcomes.truth[kept]] = True
    return found


def count_unshared(one: Analysis, two: Analysis) -> int:
    """Count the kept false positives of one detector that no kept prediction of the other overlaps enough."""
    others = two.matches.pred.where(two.confusion.is_kept)
    wrong = one.matches.pred.where(one.confusion.is_kept & ~one.matches.is_tp)
    if not len(wrong):
        return 0
    matches = one.matches
    rules = replace(
        matches.rules, thresholds=(matches.thresholds[matches.main_threshold],), ranges=(EVERY_AREA,),
        limits=(UNLIMITED,), recalls=(), image_limit=0, ignored=(), shared=(),
    )  # fmt: skip
    offsets = Evaluation(others, wrong, rules, matches.evaluation.threads).layout.candidates[0]
    return int((np.diff(offsets) == 0).sum())


def influence_of_truths(matches: AnalysisMatches) -> Floats:
    """By how much the first score changes without each ground truth.

    0 for ignored ones; NaN where ground truths cannot be removed from the evaluation (Open Images).
    """
    found = np.zeros(len(matches.truth))
    if not matches.can_change_truth:
        return np.full(len(matches.truth), np.nan)
    rows = np.flatnonzero(matches.counted_truth)
    if len(rows):
        found[rows] = np.nan_to_num(removal_influence(matches.results, next(iter(matches.results.scores)), rows))
    return found


def influence_of_adding(matches: AnalysisMatches, objects: Annotations) -> Floats:
    """By how much the first score changes if the ground truth had each of these objects; NaN where it cannot."""
    if not matches.can_change_truth:
        return np.full(len(objects), np.nan)
    if not len(objects):
        return np.zeros(0)
    results: Any = matches.results
    changes = Changes.of(objects.like(matches.truth), added=[[i] for i in range(len(objects))])
    score = next(iter(results.scores))
    changed = results.evaluation.bootstrap_means([results.mean_query(score)], None, changes)[:, 0]
    return np.asarray(np.nan_to_num(changed - results.scores[score].value))


def merge_suspicions(detectors: Sequence[Analysis]) -> list[tuple[Analysis, Suspicion]]:
    """Merge the suspicions of several detectors, the highest first.

    Of one annotation or place the largest suspicion counts: detectors that agree are not independent evidence.
    """
    listed = [(detector, one) for detector in detectors for one in detector.suspicious.listed]
    listed.sort(key=lambda pair: -pair[1].suspicion)
    seen: set[int] = set()
    places: dict[tuple[int, int], list[Any]] = {}
    found = []
    for detector, one in listed:
        if one.truth is not None:
            if one.truth in seen:
                continue
            seen.add(one.truth)
        else:
            matches, row = detector.matches, one.pred
            box = matches.pred.regions.boxes[row]
            others = places.setdefault((int(matches.pred.image[row]), int(matches.pred_label[row])), [])
            if any(box_iou(box, other) >= SAME_PLACE for other in others):
                continue
            others.append(box)
        found.append((detector, one))
    return found


def box_iou(one: Any, other: Any) -> float:
    """IoU of two boxes x1, y1, x2, y2.

    Parameters
    ----------
    one
        x1, y1, x2, y2 of a box.
    other
        Those of the other box.

    Returns
    -------
    float
        Intersection over union; 0 for two empty boxes.
    """
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    both = float(np.prod(np.maximum(sides, 0)))
    return both / max(float(np.prod(one[2:] - one[:2]) + np.prod(other[2:] - other[:2])) - both, 1e-300)


def audit_comparison(detectors: Sequence[Analysis], pairs: Sequence[DetectorPair], most: int) -> list[AuditRow]:
    """List annotations to check where several detectors are compared.

    They are sorted by suspicion times the largest change of a difference in AP if the annotation is wrong; by suspicion
    alone where the change is not known.
    """
    listed = [(detector, one) for detector, one in merge_suspicions(detectors)[:MOST_AUDITED] if one.kind in CHECKED]
    of_missing: dict[int, float] = {}  # by position in the list: the largest change if the object were added
    for seeing in detectors:
        at = [i for i, (detector, one) in enumerate(listed) if detector is seeing and one.truth is None]
        objects = seeing.matches.pred.take(np.array([listed[i][1].pred for i in at], dtype=np.int64))
        gains = {id(evaluated): influence_of_adding(evaluated.matches, objects) for evaluated in detectors}
        changes = [np.abs(gains[id(pair.two)] - gains[id(pair.one)]) for pair in pairs]
        of_missing |= dict(zip(at, np.max(changes, axis=0).tolist(), strict=True))
    found = []
    for i, (detector, one) in enumerate(listed):
        swing = of_missing[i] if one.truth is None else max(abs(float(pair.swing[one.truth])) for pair in pairs)
        row = replace(detector.suspicious.audit_row(one), influence=swing)
        found.append((-one.suspicion * (1.0 if np.isnan(swing) else swing), -one.suspicion, row))
    found.sort(key=lambda entry: entry[:2])
    return [row for *_, row in found[:most]]


PART = PartRecord(
    name="comparison",
    about="Every two detectors: classes, objects and errors in which they differ.",
    build=None,
    plot=DetectorPair.draw,
    json="""\
"comparison": null | [{"signature", "first": NAME, "second": NAME,
    "AP": {"first", "second", "difference", "low", "high"}, "cost_difference": {TYPE: …},
    "objects": {"both", "only_first", "only_second", "neither"}, "p_objects", "p_images", "flips_of_signs", "seed",
    "draws", "errors_to_tie", "errors_to_reverse", "errors_to_turn_AP", "wrong_alone": {"first", "second"},
    "fates": ["right", TYPE, …], "migration": [[n, …], …],
    "labels": [{"label", "first", "second", "difference", "low", "high"}, …]}, …]
One entry for every two detectors; `null` for a single one. Differences are the second minus the first. `p_images` is of
the exact sign-flip test with images as units (or groups of them, `--resample`), `p_objects` of McNemar's test, which
takes objects of one image as independent and rejects too often. `flips_of_signs` is deprecated and `null`.""",
)
