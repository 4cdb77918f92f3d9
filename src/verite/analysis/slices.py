"""Performance by subset (slices): recall and AP by object size, aspect ratio, position, crowding, class or metadata.

Slices of objects follow COCO's area ranges: ground truths outside a slice are ignored. AP of a slice exists only where
a prediction has the property by itself, so that false positives outside the slice can be ignored, too. Beside it is AP
with normalised precision (Hoiem, Chodpathumwan, Dai, ECCV 2012), which does not depend on the number of ground truths.
Slices of images are compared with random sets of as many images, never with the rest: AP of few images is higher.

Recall of a slice has a clustered Wilson interval (objects of one image are not independent). Some slice of many is the
worst by chance; a sentence is printed only where the recall of a slice is below that of all objects significantly after
Holm's correction over all slices that are ranked, by a score test on the sums of images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan, sqrt
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

import numpy as np

from verite.analysis.part import LEVEL, AnalysisPart, PartRecord, describe_ignored, part_signature
from verite.analysis.properties import BUILT_IN, Property, find_property, read_metadata
from verite.model.tables import Table
from verite.plotting import COLOURS, label_rows
from verite.settings import FileOrContent, Names, Setting, Settings
from verite.statistics.intervals import percentile_interval, student_tails
from verite.statistics.multiple_comparisons import holm

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from verite.analysis.analyse import Analysis
    from verite.analysis.matches import AnalysisMatches, Bools, Floats, Ints
    from verite.analysis.part import ImageBootstrap
    from verite.model.tables import Part
    from verite.signature import Signature


class SliceSettings(Settings):
    """Settings of the slices."""

    TITLE: ClassVar[str] = "Analysis"
    slice: Setting[Sequence[str] | str | None, tuple[str, ...] | None] = Names(
        None,
        "Property to slice by: size, aspect, border, position, crowding, overlap, frequency, label-group, a field of "
        "the ground truth, or a column of --meta; with edges as aspect:0.5,2. May be repeated.",
        metavar="NAME[:EDGES]",
        default_text="all built-in ones, and all columns of --meta",
    )
    meta: Setting[Any, Any] = FileOrContent(
        None, "CSV file with metadata of images, by image name or id.", metavar="FILE.csv"
    )


ENOUGH_TRUTHS = 30  # ground truths of a slice that is ranked
RANDOM_SETS = 200  # without a bootstrap
SIGNIFICANT = 0.05  # familywise error rate of all slices that are called worse
SHOWN = 3
HEADS = {"images": "images", "truths": "truths", "preds": "preds", "recall": "recall", "from": "recall_low",
         "to": "recall_high", "p recall (Holm)": "recall_p_holm", "AP": "AP", "normalised AP": "normalised_AP",
         "difference": "difference", "p (Holm)": "p_holm"}  # fmt: skip


class SliceRow(TypedDict):
    """One bin of a property: counts, recall with its 95 % interval, and AP; the keys are those of the JSON document."""

    recall_p_holm: float  # corrected for all slices with `is_ranked`
    slice: str
    bin: str
    kind: str  # object, label or image
    images: int
    truths: int
    preds: int
    recall: float
    recall_low: float
    recall_high: float
    recall_p: float  # that recall is that of all objects
    normalised_AP: float
    is_ranked: bool
    AP: float
    difference: float  # of AP from the mean of random sets of as many images
    low: float
    high: float
    p: float
    p_holm: float


@dataclass(frozen=True)
class SliceAP:
    """AP of a slice; of a slice of images also its difference from random sets of as many images."""

    ap: float = nan
    difference: float = nan
    low: float = nan
    high: float = nan
    p: float = nan


class Slices(AnalysisPart):
    """Recall and AP of every bin of every property.

    Parameters
    ----------
    matches
        The matches of the evaluation.
    specs
        Properties to slice by, each with edges where it has other ones; none: all that are known.
    meta
        Metadata of the images: for each column one value per image.
    bootstrap
        Resamples of images, which set the number of random sets.
    seed
        Seed of the random sets of images.
    """

    name = "slices"

    def __init__(
        self,
        matches: AnalysisMatches,
        specs: Sequence[str] = (),
        meta: dict[str, list[str | None]] | None = None,
        bootstrap: ImageBootstrap | None = None,
        seed: int = 0,
    ) -> None:
        self.matches, self.bootstrap, self.seed = matches, bootstrap, seed
        self.sets = bootstrap.count if bootstrap else RANDOM_SETS
        self.specs = tuple(specs) or (*BUILT_IN, *(meta or ()))
        found = [find_property(matches, spec, meta) for spec in self.specs]
        self.properties = [one for one in found if isinstance(one, Property)]
        self.absent = [one for one in found if isinstance(one, str)]

    @property
    def signature(self) -> Signature:
        """Every setting that can change the slices."""
        more = {"draws": 0, "seed": self.seed} if self.bootstrap is None else self.bootstrap.settings
        return part_signature("slices", self.matches, slices=list(self.specs), fp="shared", sets=self.sets, **more)

    @cached_property
    def rows(self) -> list[SliceRow]:
        """One row per bin, with Holm's correction of the p-values over all of them."""
        found = [
            self.describe_bin(one, code, name, ap)
            for one in self.properties
            for code, (name, ap) in enumerate(zip(one.bins, self.find_ap(one), strict=True))
        ]
        for row, p in zip(found, holm([row["p"] for row in found]), strict=True):
            row["p_holm"] = p
        ranked = [row for row in found if row["is_ranked"]]
        for row, p in zip(ranked, holm([row["recall_p"] for row in ranked]), strict=True):
            row["recall_p_holm"] = p
        return found

    def describe_bin(self, one: Property, code: int, name: str, ap: SliceAP) -> SliceRow:
        """Return counts, recall with its interval, and AP with normalised precision of one bin."""
        matches = self.matches
        inside = (one.of_truths == code) & matches.counted_truth
        is_found = inside & (matches.outcomes.pred >= 0)
        truths, found = int(inside.sum()), int(is_found.sum())
        low, high = matches.truth_share_interval(is_found, inside)
        codes = np.full(len(matches.pred), code)  # of predictions; a property of ground truths alone leaves them all in
        if one.of_preds is not None:
            codes = one.of_preds
        elif one.of_images is not None:
            padded = np.append(one.of_images, np.full(matches.image_count - len(one.of_images), -1))
            codes = padded[matches.pred.image]
        elif one.of_labels is not None:
            codes = matches.per_pred(one.of_labels, -1)
        return SliceRow(
            recall_p_holm=nan,
            slice=one.name,
            bin=name,
            kind=one.kind,
            images=len(np.unique(matches.truth.image[inside])),
            truths=truths,
            preds=int((matches.counted_pred & (codes == code)).sum()),
            recall=found / truths if truths else nan,
            recall_low=low,
            recall_high=high,
            recall_p=self.test_recall(is_found, inside),
            normalised_AP=normalised_ap(matches, inside),
            is_ranked=truths >= ENOUGH_TRUTHS,
            AP=ap.ap,
            difference=ap.difference,
            low=ap.low,
            high=ap.high,
            p=ap.p,
            p_holm=nan,
        )

    def test_recall(self, is_found: Bools, inside: Bools) -> float:
        """Return the two-sided p-value that recall inside a slice is that of all objects.

        A score test: the difference is a sum over images of their residuals from the common recall, so that its
        variance is the sum of their squares, with as many degrees of freedom as the slice has images, less one.
        """
        matches = self.matches
        image, counted = matches.truth.image, matches.counted_truth
        found, trials, all_found, all_trials = (
            matches.count_units(image[each])
            for each in (is_found, inside, counted & (matches.outcomes.pred >= 0), counted)
        )
        units = int(np.count_nonzero(trials))
        if units < 2 or trials.sum() == all_trials.sum():
            return nan
        recall = all_found.sum() / all_trials.sum()
        parts = (found - recall * trials) / trials.sum() - (all_found - recall * all_trials) / all_trials.sum()
        variance = float((parts**2).sum()) * units / (units - 1)
        return student_tails(abs(float(parts.sum())) / sqrt(variance), units - 1) if variance else nan

    def find_ap(self, one: Property) -> list[SliceAP]:
        """Return AP of each bin, and its comparison with random sets where the property is one of images."""
        results = self.matches.results
        if one.of_labels is not None:
            values = dict(zip(results.class_names, next(iter(results.class_scores().values())), strict=True))
            of_label = np.array([values.get(name, nan) for name in self.matches.names])
            chosen = [of_label[(one.of_labels == code) & ~np.isnan(of_label)] for code in range(len(one.bins))]
            return [SliceAP(float(part.mean()) if len(part) else nan) for part in chosen]
        if one.of_images is not None:
            return [self.compare_images(one.of_images == code) for code in range(len(one.bins))]
        if one.of_preds is None:
            return [SliceAP()] * len(one.bins)
        return [SliceAP(ap) for ap in results.bin_means(one.of_truths, one.of_preds, len(one.bins), one.areas)]

    def compare_images(self, inside: Bools) -> SliceAP:
        """Return AP of some images, and its position among random sets of as many images."""
        results, count = self.matches.results, len(self.matches.truth.images)
        chosen = np.flatnonzero(np.asarray(inside)[:count])
        if not len(chosen):
            return SliceAP()
        random = np.random.Generator(np.random.PCG64(self.seed))
        weights = np.zeros((self.sets + 1, count))
        weights[0, chosen] = 1
        for row in weights[1:]:
            row[random.permutation(count)[: len(chosen)]] = 1
        values = results.draw_scores([next(iter(results.scores))], weights)[:, 0]
        own, others = float(values[0]), values[1:]
        others = others[~np.isnan(others)]
        if isnan(own) or not len(others):
            return SliceAP(own)
        middle = float(others.mean())
        low, high = percentile_interval(own - others, LEVEL)
        more = int((np.abs(others - middle) >= abs(own - middle) - 1e-12).sum())
        return SliceAP(own, own - middle, low, high, (more + 1) / (len(others) + 1))

    def worst(self, most: int = SHOWN) -> list[SliceRow]:
        """Return the slices whose recall is below that of all objects, significantly among all slices; lowest first."""
        total = int((self.matches.counted_truth & (self.matches.outcomes.pred >= 0)).sum())
        base = total / max(int(self.matches.truth_counts.sum()), 1)
        below = [one for one in self.rows if one["recall_p_holm"] < SIGNIFICANT and one["recall"] < base]
        return sorted(below, key=lambda one: one["recall"] - base)[:most]

    def sentences(self, most: int = SHOWN) -> list[str]:
        """Return the slices of lowest recall in words."""
        return [
            f"slice {one['slice']} {one['bin']}: recall {one['recall']:.3f} [{one['recall_low']:.3f}, "
            f"{one['recall_high']:.3f}], n = {one['truths']:,}, p = {one['recall_p_holm']:.2g} (Holm, "
            f"{sum(one['is_ranked'] for one in self.rows)} slices)"
            for one in self.worst(most)
        ]

    def table(self) -> Table:
        """Return one row per bin."""
        names = [f"{one['slice']}: {one['bin']}" for one in self.rows]
        rows: Sequence[Mapping[str, object]] = self.rows
        return Table.of("slice", names, {head: [row[key] for row in rows] for head, key in HEADS.items()})

    def summary(self) -> list[Part]:
        """Return the slices of lowest recall."""
        return [*self.sentences()]

    def contents(self) -> list[Part]:
        """Return the table, the slices of lowest recall, notes and the signature."""
        legend = (
            f"Slices with fewer than {ENOUGH_TRUTHS} ground truths are listed, not ranked. Compare slices with "
            "different numbers of ground truths by normalised AP"
        )
        notes = [one.note for one in self.properties if one.note]
        ending: list[Part] = [describe_ignored(self.matches), self.signature]
        return [self.table(), *self.sentences(), *notes, *self.absent, legend, *ending]

    def draw(self, axes: Axes) -> None:
        """Draw recall of each slice with its 95 % interval; slices with few ground truths are pale."""
        rows = [one for one in self.rows if one["truths"]]
        for i, one in enumerate(rows):
            gaps = [[max(one["recall"] - one["recall_low"], 0)], [max(one["recall_high"] - one["recall"], 0)]]
            alpha = 1.0 if one["is_ranked"] else 0.35
            axes.errorbar([one["recall"]], [i], xerr=gaps, fmt="o", ms=4, capsize=2, color=COLOURS[0], alpha=alpha)
        label_rows(axes, [f"{one['slice']}: {one['bin']}" for one in rows])
        axes.set(xlim=(-0.02, 1.02), xlabel="recall")
        axes.grid(color="0.9", lw=0.6, axis="x")
        self.set_title(axes, f"recall at {self.matches.words.at(self.matches.iou)}")

    def to_dict(self) -> list[SliceRow]:
        """Return one row per bin."""
        return self.rows


def normalised_ap(matches: AnalysisMatches, inside: Bools) -> float:
    """AP with normalised precision at the main threshold, as if the slice had all ground truths of each class.

    The false positives of a class are shared by all slices; true positives outside the slice are ignored.
    """
    found = []
    counts: Ints = matches.count_classes(matches.truth_label[inside])
    rows, fp_before, parts = matches.true_positives
    mine = inside[matches.outcomes.truth[rows]]
    for label in np.flatnonzero(counts).tolist():
        fp = fp_before[parts[label]][mine[parts[label]]]
        recall = np.arange(1, len(fp) + 1) / counts[label]
        scaled = recall * matches.truth_counts[label]
        best: Floats = np.append(np.maximum.accumulate((scaled / (scaled + fp))[::-1])[::-1], 0.0)
        at = np.minimum(matches.tp_needed_per_recall(int(counts[label])) - 1, len(fp))
        found.append(float(best[at].mean()))
    return float(np.mean(found)) if found else nan


def build_slices(analysis: Analysis) -> Slices:
    """Compute the slices that the settings of an analysis ask for."""
    settings = analysis.settings
    meta = read_metadata(settings.meta, analysis.results.truth) if settings.meta else None
    return Slices(analysis.matches, settings.slice or (), meta, analysis.bootstrap, settings.seed)


PART = PartRecord(
    name="slices",
    about="Recall and AP by size, aspect, position, crowding, class or metadata.",
    build=build_slices,
    plot=Slices.draw,
    rows=lambda slices: len(slices.rows),
    settings=SliceSettings,
    json="""\
"slices": [{"slice", "bin", "kind": "object" | "label" | "image", "images", "truths", "preds", "recall", "recall_low",
            "recall_high", "recall_p", "recall_p_holm", "AP", "normalised_AP", "difference", "low", "high", "p",
            "p_holm", "is_ranked"}, …]
`recall_low` and `recall_high` are a 95 % interval with images as units. `recall_p` tests that recall is that of all
objects, `recall_p_holm` is corrected for all slices with `is_ranked`. `difference`, its interval and `p` compare AP of
a slice of images with that of random sets of as many images.""",
)
