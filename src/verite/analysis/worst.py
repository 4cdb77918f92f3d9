"""Cost in AP of every single false positive, missed object and image: which ones to look at first.

For AP without interpolation, (1/N) Σ j / rank of the j-th true positive, the gain of fixing one error is a sum over the
true positives ranked after it, exactly; suffix sums give all gains in one pass. Each gain is divided by the number of
classes, which makes it a share of the mean. Gains of single errors do not add up, because fixing one error changes the
cost of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from verite.analysis.errors import CLASS, DUPLICATE, LOCALIZATION, NO_ERROR, TYPES, ErrorTypes
from verite.analysis.part import AnalysisPart, PartRecord, describe_ignored, part_signature
from verite.model.tables import Table
from verite.plotting import COLOURS, label_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from verite.analysis.matches import AnalysisMatches, Bools, Floats, Ints
    from verite.files import JsonObject
    from verite.model.tables import Part
    from verite.signature import Signature

SHOWN = 5  # rows of each table on the screen
MOST_IN_JSON = 100  # rows of each list
PLOTTED_IMAGES = 20
LEGEND = "Costs of single errors do not add up, because fixing one error changes the cost of the others."
PRED_COLUMNS = ("label", "error", "confidence", "iou", "truth_label", "row", "cost")
TRUTH_COLUMNS = ("label", "row", "cost")


class CostlyFalsePositive(TypedDict):
    """A false positive; the keys are those of the JSON document."""

    row: int
    image: str
    label: str
    error: str  # its error type
    confidence: float
    iou: float
    truth: int | None  # row of the ground truth that the error is about
    truth_label: str | None
    box: list[float]
    cost: float  # in AP


class CostlyMiss(TypedDict):
    """A missed ground truth; the keys are those of the JSON document."""

    row: int
    image: str
    label: str
    error: str
    box: list[float]
    cost: float


class Worst(AnalysisPart):
    """False positives, missed ground truths and images by the AP gained by fixing them alone."""

    name = "worst"

    def __init__(self, matches: AnalysisMatches, types: ErrorTypes) -> None:
        self.matches, self.types = matches, types
        of_preds, of_dropping = np.zeros(len(matches.pred)), np.zeros(len(matches.names))
        moved = np.flatnonzero(types.is_fixed & (types.kind == CLASS))
        share = 1 / max(len(matches.present), 1)
        for label in matches.present.tolist():
            rows = matches.counted_rows[matches.class_slices[label]]
            ranking = ClassRanking(types.is_tp[rows], int(matches.truth_counts[label]))
            at = np.flatnonzero(~types.is_tp[rows])
            wrong = rows[at]
            becomes_tp = types.is_fixed[wrong] & (types.kind[wrong] == LOCALIZATION)
            of_preds[wrong] += np.where(becomes_tp, ranking.gain_of_fixing(at), ranking.gain_of_removing(at))
            arriving = moved[matches.truth_label[types.target[moved]] == label]
            at = np.searchsorted(matches.rank[rows], matches.rank[arriving])
            of_preds[arriving] += ranking.gain_of_inserting(at)
            of_dropping[label] = ranking.gain_of_dropping_truth()
        self.of_preds: Floats = of_preds * share
        self.of_truths: Floats = np.where(types.is_missed, of_dropping[matches.truth_label], 0.0) * share

    @property
    def signature(self) -> Signature:
        """Every setting that can change the costs."""
        return part_signature("worst", self.matches, background=self.matches.background, cost="non-interpolated")

    @cached_property
    def of_images(self) -> Floats:
        """The summed costs of the errors of each image."""
        count = self.matches.image_count
        found = np.bincount(self.matches.pred.image, self.of_preds, minlength=count)
        return np.asarray(found + np.bincount(self.matches.truth.image, self.of_truths, minlength=count))

    @cached_property
    def error_counts(self) -> Ints:
        """How many false positives and missed ground truths each image has."""
        matches, count = self.matches, len(self.of_images)
        wrong = np.bincount(matches.pred.image[self.types.kind != NO_ERROR], minlength=count)
        return wrong + np.bincount(matches.truth.image[self.types.is_missed], minlength=count)

    def preds(self, most: int | None = None) -> Ints:
        """Rows of false positives, the highest cost first; of equal ones the highest confidence."""
        rows = np.flatnonzero(self.types.kind != NO_ERROR)
        if most is not None and most < len(rows):
            cost = self.of_preds[rows]
            rows = rows[cost >= np.partition(cost, -most)[-most]]
        return rows[np.lexsort((self.matches.rank[rows], -self.of_preds[rows]))][:most]

    def truths(self, most: int | None = None) -> Ints:
        """Rows of missed ground truths, the highest cost first."""
        rows = np.flatnonzero(self.types.is_missed)
        return rows[np.argsort(-self.of_truths[rows], kind="stable")][:most]

    def images(self, most: int | None = None) -> Ints:
        """Positions of images with errors, the highest cost first."""
        rows = np.flatnonzero(self.error_counts)
        return rows[np.argsort(-self.of_images[rows], kind="stable")][:most]

    def pred_dict(self, row: int) -> CostlyFalsePositive:
        """Return one false positive as plain values."""
        matches, kind, target = self.matches, int(self.types.kind[row]), int(self.types.target[row])
        same, other = float(matches.nearest_same.overlap[row]), float(matches.nearest_other.overlap[row])
        return {
            "row": row,
            "image": self.matches.image_name(int(matches.pred.image[row])),
            "label": matches.names[matches.pred_label[row]],
            "error": TYPES[kind],
            "confidence": float(matches.confidence[row]),
            "iou": {LOCALIZATION: same, DUPLICATE: same, CLASS: other}.get(kind, max(same, other)),
            "truth": target if target >= 0 else None,
            "truth_label": matches.names[matches.truth_label[target]] if target >= 0 else None,
            "box": matches.pred.regions.boxes[row].tolist(),
            "cost": float(self.of_preds[row]),
        }

    def truth_dict(self, row: int) -> CostlyMiss:
        """Return one missed ground truth as plain values."""
        matches = self.matches
        return {
            "row": row,
            "image": self.matches.image_name(int(matches.truth.image[row])),
            "label": matches.names[matches.truth_label[row]],
            "error": TYPES[-1],
            "box": matches.truth.regions.boxes[row].tolist(),
            "cost": float(self.of_truths[row]),
        }

    def table(self, most: int | None = None) -> Table:
        """Return one row per image with errors."""
        chosen = self.images(most)
        columns = {"cost": self.of_images[chosen].tolist(), "errors": self.error_counts[chosen].tolist()}
        return Table.of("image", [self.matches.image_name(i) for i in chosen.tolist()], columns)

    def object_tables(self, most: int | None = None) -> tuple[Table, Table]:
        """Return one row per false positive, and one row per missed ground truth."""
        preds: list[Mapping[str, Any]] = [self.pred_dict(row) for row in self.preds(most).tolist()]
        truths: list[Mapping[str, Any]] = [self.truth_dict(row) for row in self.truths(most).tolist()]
        found = [
            Table.of("image", [one["image"] for one in rows], {key: [one[key] for one in rows] for key in keys})
            for rows, keys in ((preds, PRED_COLUMNS), (truths, TRUTH_COLUMNS))
        ]
        return found[0], found[1]

    def tables(self) -> dict[str, Table]:
        """Return the tables of images, false positives and missed ground truths."""
        preds, truths = self.object_tables()
        return {"worst-images": self.table(), "worst-preds": preds, "worst-truths": truths}

    def summary(self) -> list[Part]:
        """Return the images of highest cost."""
        return [self.table(SHOWN), LEGEND]

    def contents(self) -> list[Part]:
        """Return the first rows of all tables and the signature."""
        shown: list[Part] = [self.table(SHOWN), *self.object_tables(SHOWN), LEGEND]
        return [*shown, describe_ignored(self.matches), self.signature]

    def draw(self, axes: Axes) -> None:
        """Draw one bar per image, those of highest cost."""
        chosen = self.images(PLOTTED_IMAGES)
        axes.barh(np.arange(len(chosen)), self.of_images[chosen], 0.8, color=COLOURS[0])
        for i, image in enumerate(chosen.tolist()):
            count = int(self.error_counts[image])
            axes.text(self.of_images[image], i, f" {count} error{'s' if count > 1 else ''}", va="center", fontsize=7)
        label_rows(axes, [self.matches.image_name(i) for i in chosen.tolist()])
        axes.margins(x=0.15)
        axes.locator_params(axis="x", nbins=5)  # small costs have long numbers
        axes.set(xlabel="AP gained by fixing the errors of the image one by one")
        self.set_title(axes, "images of highest cost")

    def to_dict(self) -> JsonObject:
        """Return the first hundred images, false positives and missed ground truths."""
        table = self.table(MOST_IN_JSON)
        return {
            "signature": str(self.signature),
            "images": [dict(zip(table.head, row, strict=True)) for row in table.rows],
            "preds": [self.pred_dict(row) for row in self.preds(MOST_IN_JSON).tolist()],
            "truths": [self.truth_dict(row) for row in self.truths(MOST_IN_JSON).tolist()],
        }


class ClassRanking:
    """The ranking of one class, and the AP gained by single changes of it; positions are counted from 0.

    Parameters
    ----------
    is_tp
        Which predictions are true positives, by decreasing confidence.
    truths
        Number of ground truths of the class.
    """

    def __init__(self, is_tp: Bools, truths: int) -> None:
        self.is_tp, self.truths = is_tp, truths
        rank = np.arange(1, len(is_tp) + 1)
        self.tp_so_far = np.cumsum(is_tp)
        self.ap = float((self.tp_so_far / rank)[is_tp].sum() / truths)
        # Summed gains of the true positives from each position on, if they ranked one earlier, if one more true
        # positive were before them, and if both happened.
        earlier = np.where(is_tp & (rank > 1), self.tp_so_far / (rank * np.maximum(rank - 1, 1)), 0.0)
        self.if_earlier = suffix_sums(earlier)
        self.if_one_more = suffix_sums(np.where(is_tp, 1 / rank, 0.0))
        self.if_inserted = suffix_sums(np.where(is_tp, (rank - self.tp_so_far) / (rank * (rank + 1)), 0.0))

    def gain_of_removing(self, at: Ints) -> Floats:
        """AP gained by removing the false positive at each position."""
        return self.if_earlier[at + 1] / self.truths

    def gain_of_fixing(self, at: Ints) -> Floats:
        """AP gained by turning the false positive at each position into a true positive."""
        return ((self.tp_so_far[at] + 1) / (at + 1) + self.if_one_more[at + 1]) / self.truths

    def gain_of_inserting(self, at: Ints) -> Floats:
        """AP gained by inserting a true positive before each position."""
        before = np.concatenate([[0], self.tp_so_far])[at]
        return ((before + 1) / (at + 1) + self.if_inserted[at]) / self.truths

    def gain_of_dropping_truth(self) -> float:
        """AP gained if one missed ground truth did not exist; with none left, AP is 1 unless there are predictions."""
        if self.truths > 1:
            return self.ap / (self.truths - 1)
        return 0.0 if len(self.is_tp) else 1.0


def suffix_sums(values: Floats) -> Floats:
    """The sum from each position to the end, and 0 after the last one."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])


PART = PartRecord(
    name="worst",
    about="Cost in AP of every false positive, missed object and image.",
    build=lambda analysis: Worst(analysis.matches, analysis.errors.types),
    plot=Worst.draw,
    json="""\
"worst": {"signature",
          "images": [{"image", "cost", "errors"}, …],
          "preds": [{"row", "image", "label", "error": TYPE, "confidence", "iou", "truth", "truth_label", "box",
                     "cost"}, …],
          "truths": [{"row", "image", "label", "error": "missed", "box", "cost"}, …]}
The lists have the first hundred; `-o` writes all. `row` and `truth` are positions in the files, from 0; boxes are
`x1, y1, x2, y2`.""",
)
