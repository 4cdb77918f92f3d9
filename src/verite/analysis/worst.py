"""Where to look first? What every single wrong prediction, missed truth and image costs, in points of AP.

For AP without interpolation, (1/N) Σ j / rank of the j-th right prediction, the gain of mending one error is a sum over
the right predictions behind it, exactly; suffix sums give all of them in one pass. Each is divided by the number of
labels, which makes it a share of the mean. Single costs do not add up: mending one error changes what others cost.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.errors import CLASS, DUPLICATE, LOCALIZATION, NONE, TYPES, ErrorTypes
from verite.analysis.parts import AnalysisPart, sign, tell_set_aside
from verite.model.tables import Table

if TYPE_CHECKING:
    from verite.analysis.matches import AnalysisMatches, Bools, Floats, Ints
    from verite.model.tables import Part
    from verite.signature import Signature

SHOWN = 5  # of each kind on a screen
MOST = 100  # of each kind in the JSON
WORDS = "single costs do not add up: mending one error changes what others cost"


class Worst(AnalysisPart):
    """Predictions, truths and images by what mending them alone would gain."""

    name = "worst"

    def __init__(self, matches: AnalysisMatches, types: ErrorTypes) -> None:
        self.matches, self.types = matches, types
        self.of_preds, self.of_truths = find_single_costs(matches, types)

    @property
    def signature(self) -> Signature:
        return sign("worst", self.matches, background=self.matches.background, cost="non-interpolated")

    @cached_property
    def of_images(self) -> Floats:
        """The sum over the errors of each image."""
        count = self.matches.image_count
        found = np.bincount(self.matches.pred.image, self.of_preds, minlength=count)
        return np.asarray(found + np.bincount(self.matches.truth.image, self.of_truths, minlength=count))

    def preds(self, most: int | None = None) -> Ints:
        """Rows of wrong predictions, the costliest first; of equal ones the most confident."""
        rows = np.flatnonzero(self.types.kind != NONE)
        if most is not None and most < len(rows):
            cost = self.of_preds[rows]
            rows = rows[cost >= np.partition(cost, -most)[-most]]
        return rows[np.lexsort((self.matches.place[rows], -self.of_preds[rows]))][:most]

    def truths(self, most: int | None = None) -> Ints:
        """Rows of missed truths, the costliest first."""
        rows = np.flatnonzero(self.types.is_missed)
        return rows[np.argsort(-self.of_truths[rows], kind="stable")][:most]

    def images(self, most: int | None = None) -> Ints:
        """Positions of images with errors, the costliest first."""
        rows = np.flatnonzero(self.error_counts)
        return rows[np.argsort(-self.of_images[rows], kind="stable")][:most]

    @cached_property
    def error_counts(self) -> Ints:
        """Of each image: wrong predictions and missed truths."""
        matches, count = self.matches, len(self.of_images)
        wrong = np.bincount(matches.pred.image[self.types.kind != NONE], minlength=count)
        return wrong + np.bincount(matches.truth.image[self.types.is_missed], minlength=count)

    def table(self) -> Table:
        return self.image_table()

    def image_table(self, most: int | None = None) -> Table:
        chosen = self.images(most)
        columns = {"cost": self.of_images[chosen].tolist(), "errors": self.error_counts[chosen].tolist()}
        return Table.of("image", [self.matches.image_name(i) for i in chosen.tolist()], columns)

    def pred_table(self, most: int | None = None) -> Table:
        """A row for each wrong prediction."""
        return self.objects_table([self.tell_pred(row) for row in self.preds(most).tolist()], PRED_KEYS)

    def truth_table(self, most: int | None = None) -> Table:
        return self.objects_table([self.tell_truth(row) for row in self.truths(most).tolist()], TRUTH_KEYS)

    def objects_table(self, told: list[dict[str, Any]], keys: tuple[str, ...]) -> Table:
        return Table.of("image", [one["image"] for one in told], {key: [one[key] for one in told] for key in keys})

    def tables(self) -> dict[str, Table]:
        return {
            "worst-images": self.image_table(),
            "worst-preds": self.pred_table(),
            "worst-truths": self.truth_table(),
        }

    def contents(self) -> list[Part]:
        shown: list[Part] = [self.image_table(SHOWN), self.pred_table(SHOWN), self.truth_table(SHOWN), WORDS]
        return [*shown, tell_set_aside(self.matches), self.signature]

    def tell_pred(self, row: int) -> dict[str, Any]:
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

    def tell_truth(self, row: int) -> dict[str, Any]:
        matches = self.matches
        return {
            "row": row,
            "image": self.matches.image_name(int(matches.truth.image[row])),
            "label": matches.names[matches.truth_label[row]],
            "error": TYPES[-1],
            "box": matches.truth.regions.boxes[row].tolist(),
            "cost": float(self.of_truths[row]),
        }

    def to_dict(self) -> dict[str, Any]:
        table = self.image_table(MOST)
        return {
            "signature": str(self.signature),
            "images": [dict(zip(table.head, row, strict=True)) for row in table.rows],
            "preds": [self.tell_pred(row) for row in self.preds(MOST).tolist()],
            "truths": [self.tell_truth(row) for row in self.truths(MOST).tolist()],
        }


PRED_KEYS = ("label", "error", "confidence", "iou", "truth_label", "row", "cost")
TRUTH_KEYS = ("label", "row", "cost")


class RankedLabel:
    """The predictions of one label by falling confidence, and what one change of it gains in AP."""

    def __init__(self, is_right: Bools, truths: int) -> None:
        self.is_right, self.truths = is_right, truths
        rank = np.arange(1, len(is_right) + 1)
        self.right = np.cumsum(is_right)  # so far, at each rank
        self.ap = float((self.right / rank)[is_right].sum() / truths)
        earlier = np.where(is_right & (rank > 1), self.right / (rank * np.maximum(rank - 1, 1)), 0.0)
        self.if_earlier = sum_behind(earlier)  # one rank earlier
        self.if_counted = sum_behind(np.where(is_right, 1 / rank, 0.0))  # one right more before it
        self.if_both = sum_behind(np.where(is_right, (rank - self.right) / (rank * (rank + 1)), 0.0))

    def remove(self, at: Ints) -> Floats:
        """Gained by taking a wrong prediction away; `at` are positions from 0."""
        return self.if_earlier[at + 1] / self.truths

    def mend(self, at: Ints) -> Floats:
        """Gained by making a wrong prediction right."""
        return ((self.right[at] + 1) / (at + 1) + self.if_counted[at + 1]) / self.truths

    def insert(self, at: Ints) -> Floats:
        """Gained by a right prediction more, before the one that is at this position."""
        before = np.concatenate([[0], self.right])[at]
        return ((before + 1) / (at + 1) + self.if_both[at]) / self.truths

    def forget(self) -> float:
        """Gained if one truth less were to be found."""
        if self.truths > 1:
            return self.ap / (self.truths - 1)
        return 0.0 if len(self.is_right) else 1.0


def sum_behind(values: Floats) -> Floats:
    """At each position the sum from there on, and 0 behind the last one."""
    return np.concatenate([np.cumsum(values[::-1])[::-1], [0.0]])


def find_single_costs(matches: AnalysisMatches, types: ErrorTypes) -> tuple[Floats, Floats]:
    """Of every prediction and of every truth; 0 for those that are no errors."""
    of_preds, forgotten = np.zeros(len(matches.pred)), np.zeros(len(matches.names))
    moved = np.flatnonzero(types.is_mended & (types.kind == CLASS))
    share = 1 / max(len(matches.present), 1)
    for label in matches.present.tolist():
        rows = matches.counted[matches.slices[label]]
        line = RankedLabel(types.is_right[rows], int(matches.truths[label]))
        at = np.flatnonzero(~types.is_right[rows])
        wrong = rows[at]
        is_mended = types.is_mended[wrong] & (types.kind[wrong] == LOCALIZATION)
        of_preds[wrong] += np.where(is_mended, line.mend(at), line.remove(at))
        guests = moved[matches.truth_label[types.target[moved]] == label]
        of_preds[guests] += line.insert(np.searchsorted(matches.place[rows], matches.place[guests]))
        forgotten[label] = line.forget()
    of_truths = np.where(types.is_missed, forgotten[matches.truth_label], 0.0)
    return of_preds * share, of_truths * share
