"""Confusion matrix of a detector: which classes are misclassified as which, with background and missed objects.

Of the predictions above a confidence threshold, those that the protocol counts as true positives stay on the diagonal
with the ground truth they matched. The remaining ones, by decreasing confidence, are matched to the remaining ground
truth of another class with the highest IoU, if it reaches the protocol's IoU threshold. So no true positive is called
confused because it also overlaps an object of another class. Matching is that of the core, as in every protocol.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict

import numpy as np

from verite import _core
from verite.analysis.part import AnalysisPart, PartRecord, describe_ignored, part_signature
from verite.errors import DataError
from verite.evaluation.settings import ClassThresholds, ThresholdSetting, count_left
from verite.limits import limit, remedy
from verite.model.tables import Table
from verite.plotting import shorten_apart
from verite.settings import Choice, Option, Settings
from verite.statistics.mcnemar import sign_flip_exact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from verite.analysis.analyse import Analysis
    from verite.analysis.matches import AnalysisMatches, Bools, Ints
    from verite.files import JsonObject
    from verite.model.tables import Part
    from verite.signature import Signature

BEST_F1, LRP = "best-f1", "lrp"  # confidence thresholds that are found by the analysis
MATCHING = ("same-first", "label-free")
MISSED, NOTHING = "missed", "nothing there"  # the last column and the last row
SHOWN = 10  # confusions in words, of this part alone
SHOWN_IN_SUMMARY = 3
SMALLEST_FIGURES = 4.5  # points of the counts in a plot; a larger matrix is a heat map without counts
MOST_IN_JSON = 100
PLOTTED_CLASSES = 100


class ConfusionThreshold(ThresholdSetting):
    """A confidence threshold, one per class, or the name of a way to find one."""

    def validate(self, value: Any) -> Any:
        return value if isinstance(value, str) and value in (BEST_F1, LRP) else super().validate(value)


class ConfusionSettings(Settings):
    """Settings of the confusion matrix."""

    TITLE: ClassVar[str] = "Analysis"
    confidence: ConfusionThreshold = ConfusionThreshold(
        BEST_F1,
        "Confidence threshold of the confusion matrix: a number, best-f1, lrp, or a thresholds.json.",
        metavar="C|best-f1|lrp|FILE",
    )
    matching: Option[Literal["same-first", "label-free"]] = Choice(
        "same-first",
        "Matching of the confusion matrix: same class first, or regardless of class.",
        MATCHING,
        long="match",
    )


class ConfusionMatcher:
    """Matches predictions to ground truths of any class, for confusion matrices at any confidence threshold.

    Parameters
    ----------
    matches
        The matches of the evaluation.
    matching
        "same-first": true positives of the protocol keep their ground truth, and only what is left is matched across
        classes; of ground truths with equal IoU the first. "label-free": all predictions are matched regardless of
        class; of equal IoUs the last (as hotcoco does).
    """

    def __init__(self, matches: AnalysisMatches, matching: str = "same-first") -> None:
        self.matches, self.keeps_tp = matches, matching == "same-first"
        pairs, iou = matches.pairs, matches.thresholds[matches.main_threshold]
        is_open = matches.counted_pred & ~matches.is_tp if self.keeps_tp else matches.counted_pred
        is_allowed = (pairs.overlap >= iou) & is_open[pairs.pred]
        chosen = np.flatnonzero(is_allowed & ~pairs.same_class if self.keeps_tp else is_allowed)
        pred, truth = pairs.pred[chosen], pairs.truth[chosen]
        chosen = chosen[np.lexsort((truth if self.keeps_tp else -truth, pred))]
        self.pred, self.truth, self.overlap = pairs.pred[chosen], pairs.truth[chosen], pairs.overlap[chosen]
        candidates = np.unique(self.pred)
        self.ranking: Ints = candidates[np.argsort(matches.rank[candidates])].astype(np.int64)

    def match(self, is_kept: Bools) -> Ints:
        """Return the row of the ground truth that each kept prediction is matched to; -1 for none.

        `is_kept` marks counted predictions, those above a confidence threshold.
        """
        matches = self.matches
        partner = np.full(len(matches.pred), -1, dtype=np.int64)
        is_free = matches.counted_truth.copy()
        if self.keeps_tp:
            partner = np.where(is_kept & matches.is_tp, matches.outcomes.truth, partner).astype(np.int64)
            is_free[partner[partner >= 0]] = False
        chosen = is_kept[self.pred] & is_free[self.truth]
        truth = self.truth[chosen]
        offsets = np.searchsorted(self.pred[chosen], np.arange(len(matches.pred) + 1)).astype(np.int64)
        ignored = np.zeros(len(matches.truth), dtype=np.bool_)
        threshold = matches.thresholds[matches.main_threshold]
        candidates = offsets, truth, self.overlap[chosen]
        pair = _core.match_candidates(candidates, self.ranking[is_kept[self.ranking]], ignored, threshold)
        matched = np.flatnonzero(pair >= 0)
        partner[matched] = truth[pair[matched]]
        return partner

    def count(self, is_kept: Bools) -> dict[tuple[int, int], int]:
        """Return how often each pair of classes (ground truth, prediction) is matched, the diagonal included."""
        matches, partner = self.matches, self.match(is_kept)
        rows = np.flatnonzero(partner >= 0)
        labels = np.stack([matches.truth_label[partner[rows]], matches.pred_label[rows]])
        found, counts = np.unique(labels, axis=1, return_counts=True)
        return {(int(ours), int(theirs)): int(n) for (ours, theirs), n in zip(found.T, counts, strict=True)}


def confusion_by_threshold(
    matches: AnalysisMatches, last_step: NDArray[Any], matching: str = "same-first"
) -> Iterator[tuple[int, int, int, int]]:
    """Yield how the confusion matrix changes while a confidence threshold goes down in steps.

    Parameters
    ----------
    matches
        The matches of the evaluation.
    last_step
        For each prediction the last step, the highest threshold, at which it is kept; -1 for never.
    matching
        As of `ConfusionMatcher`.

    Yields
    ------
    step, class of the ground truth, class of the prediction, change of the count
        The matrix at a step is the sum of the changes at this and at all later steps. Missed objects and false
        positives on background are what is left of the ground truths and predictions of each class.
    """
    matcher = ConfusionMatcher(matches, matching)
    kept = matches.counted_pred & (last_step >= 0)
    before: dict[tuple[int, int], int] = {}
    for step in np.unique(last_step[kept])[::-1].tolist():
        now = matcher.count(kept & (last_step >= step))
        for labels in sorted(now.keys() | before.keys()):
            change = now.get(labels, 0) - before.get(labels, 0)
            if change:
                yield step, *labels, change
        before = now


class ConfusedPair(TypedDict):
    """Ground truths of one class that are matched to predictions of another; the keys are those of JSON."""

    truth: str
    pred: str
    count: int
    truths: int  # ground truths of the class
    share: float  # count / truths, with its 95 % interval
    low: float
    high: float
    back: int  # confusions the other way round
    p: float  # that both directions are equally frequent


class Confusion(AnalysisPart):
    """Ground truths by row, predictions by column; the last column counts missed objects, the last row background.

    Parameters
    ----------
    matches
        The matches of the evaluation.
    confidence
        Confidence threshold of the predictions, or one per class.
    matching
        As of `ConfusionMatcher`.
    is_given
        Whether the threshold was given, not found: how many predictions it leaves is then reported.
    """

    name = "confusion"

    def __init__(
        self,
        matches: AnalysisMatches,
        confidence: float | ClassThresholds,
        matching: str = "same-first",
        *,
        is_given: bool = False,
    ) -> None:
        self.matches, self.confidence, self.matching, self.is_given = matches, confidence, matching, is_given
        self.is_kept: Bools = matches.counted_pred & matches.above(confidence)
        self.partner = ConfusionMatcher(matches, matching).match(self.is_kept)

    @property
    def signature(self) -> Signature:
        """Every setting that can change the matrix."""
        return part_signature("confusion", self.matches, at=self.confidence, matching=self.matching)

    @cached_property
    def chosen(self) -> Ints:
        """Classes with ground truths or kept predictions, as positions."""
        matches = self.matches
        return np.flatnonzero(matches.truth_counts + matches.count_classes(matches.pred_label[self.is_kept]))

    @property
    def labels(self) -> list[str]:
        """Names of the classes in the matrix."""
        return [self.matches.names[k] for k in self.chosen]

    @cached_property
    def cells(self) -> tuple[Ints, Ints, Ints]:
        """Cells of the matrix that are not 0, by row and column: positions of row and column, and the count.

        Memory is in proportion to the objects, whatever the number of classes.
        """
        return self.count_cells(self.chosen)

    @property
    def has_matrix(self) -> bool:
        """Whether the matrix has no more cells than the limit `confusion_cells` allows."""
        return len(self.chosen) ** 2 <= limit("confusion_cells")

    @cached_property
    def matrix(self) -> Ints:
        """Counts [ground truth, prediction] of the classes in `labels`, then background and missed."""
        return self.count_among(self.chosen)

    @cached_property
    def counts(self) -> Ints:
        """The same of all classes."""
        return self.count_among(np.arange(len(self.matches.names)))

    def count_among(self, labels: Ints) -> Ints:
        """Count [ground truth, prediction] of these classes; one more row for background, one more column for missed.

        Raises
        ------
        DataError
            If the table would have more cells than the limit `confusion_cells` allows.
        """
        count = len(labels)
        if count**2 > limit("confusion_cells"):
            raise DataError(
                f"confusion: expected at most {limit('confusion_cells'):,} pairs of classes in a table, found "
                f"{count**2:,} of {count:,} classes; {remedy('confusion_cells')}"
            )
        rows, columns, counts = self.count_cells(labels)
        table = np.zeros((count + 1, count + 1), dtype=np.int64)
        table[rows, columns] = counts
        return table

    def count_cells(self, labels: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the cells of these classes that are not 0, by row and column: rows, columns, counts."""
        matches, count = self.matches, len(labels)
        position = np.full(len(matches.names), count)  # ignored objects of other classes are background
        position[labels] = np.arange(count)
        rows = np.flatnonzero(self.is_kept)
        of = self.partner[rows]
        truth_position = np.append(position[matches.truth_label], count)[of]  # -1, the appended one, is background
        is_missed = matches.counted_truth.copy()
        is_missed[of[of >= 0]] = False
        missed = position[matches.truth_label[is_missed]]
        key = np.concatenate(
            [truth_position * (count + 1) + position[matches.pred_label[rows]], missed * (count + 1) + count]
        )
        found, counts = np.unique(key, return_counts=True)
        return found // (count + 1), found % (count + 1), counts

    def by_truth(self) -> NDArray[np.float64]:
        """Return shares of each row, how objects of a class are predicted; the diagonal is recall."""
        return divide(self.matrix, self.matrix.sum(axis=1, keepdims=True))

    def by_pred(self) -> NDArray[np.float64]:
        """Return shares of each column, what predictions of a class are; the diagonal is precision."""
        return divide(self.matrix, self.matrix.sum(axis=0, keepdims=True))

    def table(self) -> Table:
        """Return the matrix."""
        columns = {name: self.matrix[:, i].tolist() for i, name in enumerate([*self.labels, MISSED])}
        return Table.of("truth \\ pred", [*self.labels, NOTHING], columns)

    def pairs(self, most: int | None = None) -> list[ConfusedPair]:
        """Return confused pairs of classes, the most frequent first.

        Each has its share of the ground truths with its 95 % interval (clustered Wilson, images as units), how often
        the classes are confused the other way round (`back`), and the p-value that both directions are equally
        frequent, by an exact sign-flip test over images.
        """
        matches, count = self.matches, len(self.chosen)
        rows, columns, counts = self.cells
        totals = np.bincount(rows, weights=counts, minlength=count + 1).astype(np.int64)
        is_confused = (rows != columns) & (rows < count) & (columns < count)
        rows, columns, counts = rows[is_confused], columns[is_confused], counts[is_confused]
        cells = dict(zip(zip(rows.tolist(), columns.tolist(), strict=True), counts.tolist(), strict=True))
        order = np.argsort(-counts, kind="stable")[:most]
        found = []
        for i, j in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
            count, back = cells[i, j], cells.get((j, i), 0)
            ours, theirs = self.chosen[i], self.chosen[j]
            trials = matches.counted_truth & (matches.truth_label == ours)
            there, here = (self.confused_truths(*pair) for pair in ((ours, theirs), (theirs, ours)))
            low, high = matches.truth_share_interval(there, trials)
            units = (matches.count_units(matches.truth.image[rows]) for rows in (there, here))
            p_value = sign_flip_exact(np.subtract(*units))
            found.append(
                ConfusedPair(truth=self.labels[i], pred=self.labels[j], count=count, truths=int(totals[i]),
                             share=count / int(totals[i]), low=low, high=high, back=back, p=p_value)
            )  # fmt: skip
        return found

    def confused_truths(self, label: int, predicted: int) -> Bools:
        """Which ground truths of a class are matched to a prediction of another class.

        Parameters
        ----------
        label
            Class of the ground truth.
        predicted
            Class of the prediction that covers it.

        Returns
        -------
        Bools
            A flag per ground-truth object.
        """
        found = np.zeros(len(self.matches.truth), dtype=np.bool_)
        rows = self.partner[self.is_kept & (self.partner >= 0) & (self.matches.pred_label == predicted)]
        found[rows[self.matches.truth_label[rows] == label]] = True
        return found

    def sentences(self, most: int = SHOWN) -> list[str]:
        """Return the most frequent confusions in words."""
        return [
            f"{one['truth']} misclassified as {one['pred']}: {one['count']:,} of {one['truths']:,} "
            f"({100 * one['share']:.1f} %, 95 % CI {100 * one['low']:.1f}–{100 * one['high']:.1f}); "
            f"{one['pred']} as {one['truth']}: {one['back']:,} (p = {one['p']:.2g})"
            for one in self.pairs(most)
        ]

    def describe_threshold(self) -> str:
        """Return the confidence threshold in words."""
        if isinstance(self.confidence, ClassThresholds):
            return "confidence ≥ the threshold of the class"
        return "any confidence" if self.confidence == -inf else f"confidence ≥ {self.confidence:.4g}"

    def describe_left(self) -> list[str]:
        """Return how many predictions a given threshold leaves, as a sentence; nothing for one that was found."""
        return [count_left(self.matches.results.pred, self.confidence)] if self.is_given else []

    def summary(self) -> list[Part]:
        """Return the most frequent confusions."""
        return [*self.sentences(SHOWN_IN_SUMMARY), *self.describe_left()]

    def contents(self) -> list[Part]:
        """Return the matrix, the most frequent confusions, and the signature."""
        head = f"Predictions with {self.describe_threshold()}, at {self.matches.words.at(self.matches.iou)}"
        ending: list[Part] = [describe_ignored(self.matches), self.signature]
        table: list[Part] = [self.table()] if self.has_matrix else [
            f"the matrix of {len(self.chosen):,} classes is left out; {remedy('confusion_cells')}"
        ]  # fmt: skip
        return [head, *table, *self.sentences(), *self.describe_left(), *ending]

    def plotted_classes(self) -> Ints:
        """Positions in the matrix that are drawn: all or the most confused classes, and the last row and column."""
        count = len(self.chosen)
        rows, columns, counts = self.cells
        is_confused = (rows != columns) & (rows < count) & (columns < count)
        both = np.concatenate([rows[is_confused], columns[is_confused]])
        wrong = np.bincount(both, weights=np.tile(counts[is_confused], 2), minlength=count)
        chosen = np.sort(np.argsort(-wrong, kind="stable")[:PLOTTED_CLASSES])
        return np.append(chosen, count)

    def draw(self, axes: Axes) -> None:
        """Draw the matrix, ground truth by row and prediction by column, shaded by the share of the row."""
        from matplotlib import colormaps

        chosen = self.plotted_classes()
        rows, columns, counts = self.cells
        totals = np.bincount(rows, weights=counts, minlength=len(self.chosen) + 1)[chosen]
        place = np.full(len(self.chosen) + 1, -1)
        place[chosen] = np.arange(len(chosen))
        is_shown = (place[rows] >= 0) & (place[columns] >= 0)
        matrix = np.zeros((len(chosen), len(chosen)), dtype=np.int64)
        matrix[place[rows[is_shown]], place[columns[is_shown]]] = counts[is_shown]
        shares = np.nan_to_num(divide(matrix, totals[:, None]))
        # Correct cells blue, all others orange, as in the report: missed objects must not look like detected ones.
        correct = np.eye(len(chosen), dtype=np.bool_)
        correct[-1, -1] = False
        blues, oranges = (colormaps[name](np.sqrt(shares), bytes=True) for name in ("Blues", "Oranges"))
        # Colours, not shares: two masked arrays of shares took a third of the time of the whole figure.
        axes.imshow(np.where(correct[:, :, None], blues, oranges), aspect="equal")
        labels = [self.labels[k] for k in chosen[:-1]]
        letters = 8 if len(chosen) <= 50 else 6
        for set_ticks, last, turn in ((axes.set_xticks, MISSED, 90), (axes.set_yticks, "background", 0)):
            set_ticks(np.arange(len(chosen)), [*shorten_apart(labels, 20), last], rotation=turn, fontsize=letters)
        size = min(11, 90 / len(matrix))
        shown = zip(*np.nonzero(matrix), strict=True) if size >= SMALLEST_FIGURES else ()  # a heat map of many classes
        for i, j in shown:
            colour = "white" if shares[i, j] > 0.4 else "black"
            axes.text(j, i, f"{matrix[i, j]:,}", ha="center", va="center", fontsize=size, color=colour)
        axes.set(xlabel="predicted", ylabel="ground truth")
        few = "" if len(labels) == len(self.labels) else f", most confused {len(labels)} of {len(self.labels):,}"
        at = self.matches.words.at(self.matches.iou)
        self.set_title(axes, f"confusion{few}\nat {at}, {self.describe_threshold()}")

    def to_dict(self) -> JsonObject:
        """Return the matrix and the confused pairs."""
        threshold = self.confidence
        return {
            "signature": str(self.signature),
            "labels": self.labels,
            "matrix": self.matrix.tolist() if self.has_matrix else None,
            "confidence": threshold.to_dict() if isinstance(threshold, ClassThresholds) else threshold,
            "iou": self.matches.iou,
            "matching": self.matching,
            "pairs": self.pairs(MOST_IN_JSON),
        }


def divide(counts: Ints, totals: Ints) -> NDArray[np.float64]:
    """Divide counts by totals; NaN where the total is 0.

    Parameters
    ----------
    counts
        Cells of a confusion matrix.
    totals
        The sum of the row or column of each cell.

    Returns
    -------
    NDArray[np.float64]
        Shares from 0 to 1.
    """
    shares = np.full(counts.shape, np.nan)
    np.divide(counts, totals, out=shares, where=totals > 0)
    return shares


def build_confusion(analysis: Analysis) -> Confusion:
    """Compute the confusion matrix of an analysis at the threshold of its settings."""
    settings = analysis.settings
    is_given = settings.confidence not in (None, LRP, BEST_F1)
    return Confusion(analysis.matches, analysis.confidence, settings.matching, is_given=is_given)


PART = PartRecord(
    name="confusion",
    about="Confusion matrix, with background and missed objects.",
    build=build_confusion,
    plot=Confusion.draw,
    rows=lambda confusion: len(confusion.plotted_classes()),
    is_square=True,
    settings=ConfusionSettings,
    json="""\
"confusion": {"signature", "labels": [NAME, …], "matrix": [[n, …], …], "confidence", "iou", "matching",
              "pairs": [{"truth", "pred", "count", "truths", "share", "low", "high", "back", "p"}, …]}
Rows of the matrix are ground truths, columns predictions; the last row is background, the last column missed objects.
The matrix is null for more than 5,000 classes (`VERITE_LIMIT_CONFUSION_CELLS`).
`confidence` is a number, or one for each class. `low` and `high` are a 95 % interval of `share`, and `p` tests that
both directions are equally frequent; both have images as units (or groups of them, `--resample`).""",
)
