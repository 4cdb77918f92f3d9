"""Calibration of confidences: ECE, MCE, ACE, Brier score, log loss, LaECE, D-ECE, and a reliability table.

A confidence is calibrated if predictions of confidence c are true positives in a share c of cases. Detection ECE and
MCE follow Naeini et al., AAAI 2015, with "correct" meaning matched; LaECE is by Oksuz et al., CVPR 2023; D-ECE, with
bins over position and size as well, by Küppers et al., CVPR workshops 2020; the Brier
score (1950) has Murphy's decomposition (1973). Isotonic regression and temperature scaling, fitted on half of the
images, show how much of the error a map of confidences removes on the other half.

ECE is biased upwards: a perfectly calibrated detector with 100 predictions of a class has an ECE of 0.08. So beside it
stands what a calibrated detector with as many predictions of the same confidences would have, and the excess over it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import exp, isnan, lgamma, log, log1p, nan
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypedDict

import numpy as np

from verite.analysis.matches import TOUCHING, ends_of_runs
from verite.analysis.operating import mean_present
from verite.analysis.part import AnalysisPart, PartRecord, describe_ignored, part_signature
from verite.evaluation.evaluation import TRUE_POSITIVE
from verite.model.tables import Table
from verite.plotting import COLOURS, label_axes
from verite.settings import Choice, Option, Settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from verite.analysis.matches import AnalysisMatches, Bools, Floats, Ints
    from verite.files import JsonObject
    from verite.model.tables import Part
    from verite.signature import Signature


class CalibrationSettings(Settings):
    """Settings of the calibration."""

    TITLE: ClassVar[str] = "Analysis"
    bins: Option[Literal["equal", "quantile"]] = Choice(
        "equal", "Bins of the calibration: of equal width, or of equally many predictions.", ("equal", "quantile")
    )


BINS, LOCATED_BINS = 10, 25
KEYS = ("ece", "ece_if_calibrated", "mce", "ace", "brier", "log_loss")
LOCATED = ("laece", "laece0", "laace0")
# D-ECE: columns of the boxes (relative centre and size) beside the confidence, and bins along each axis.
D_ECE: dict[str, tuple[tuple[int, ...], int]] = {
    "d_ece_position": ((0, 1), 8),
    "d_ece_size": ((2, 3), 8),
    "d_ece": ((0, 1, 2, 3), 5),
}
FEWEST_IN_BIN = 8  # predictions; bins of D-ECE with fewer are left out of the sum
SMALLEST = 1e-15  # probability at which log loss is cut off
CUT_OFF = 0.05  # from this lowest confidence on, a detector probably dropped predictions
CLOSEST = 1e-12  # for log-odds, confidences are kept so far from 0 and 1
MAX_TEMPERATURE = 100.0  # and its inverse is the smallest one
NEWTON_STEPS = 50
LARGEST_EXPONENT = 700.0  # whose exponential is finite


@dataclass(frozen=True, eq=False)
class IsotonicFit:
    """A non-decreasing map of confidences: linear between its points, constant beyond them."""

    at: Floats
    value: Floats

    def __call__(self, confidence: Floats) -> Floats:
        return np.interp(confidence, self.at, self.value) if len(self.at) else np.full(len(confidence), np.nan)


def fit_isotonic(confidence: Floats, is_tp: NDArray[np.bool_]) -> IsotonicFit:
    """Fit isotonic regression of correctness on confidence by pooling adjacent violators.

    Fast for confidences that are sorted in either direction.
    """
    if len(confidence) and confidence[0] > confidence[-1]:
        confidence, is_tp = confidence[::-1], is_tp[::-1]
    if (confidence[1:] < confidence[:-1]).any():
        order = np.argsort(confidence, kind="stable")
        confidence, is_tp = confidence[order], is_tp[order]
    ends = ends_of_runs(confidence)
    at, weight = confidence[ends], np.diff(ends, prepend=-1).astype(np.float64)
    mean = np.diff(np.cumsum(is_tp)[ends], prepend=0) / weight
    first = np.arange(len(at))
    while len(mean) > 1:
        rises = np.concatenate([[True], mean[1:] > mean[:-1]])
        if rises.all():
            break
        starts = np.flatnonzero(rises)  # a whole run of violators is pooled at once
        total = np.add.reduceat(weight, starts)
        mean, weight, first = np.add.reduceat(mean * weight, starts) / total, total, first[starts]
    last = np.append(first[1:], len(at)) - 1 if len(at) else first
    points = np.stack([first, last], axis=1).ravel()
    kept = np.append(np.diff(points) > 0, True) if len(at) else points > 0
    return IsotonicFit(at[points[kept]], np.repeat(mean, 2)[kept])


@dataclass(frozen=True, eq=False)
class TemperatureScaling:
    """A strictly increasing map of confidences: log-odds divided by a temperature. It changes no ranking and no AP."""

    temperature: float

    def __call__(self, confidence: Floats) -> Floats:
        return logistic(log_odds(confidence) / self.temperature)


def log_odds(confidence: Floats) -> Floats:
    """log(p / (1 − p)), with p kept away from 0 and 1."""
    kept = np.clip(confidence, CLOSEST, 1 - CLOSEST)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def logistic(odds: Floats) -> Floats:
    """The inverse of `log_odds`."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -LARGEST_EXPONENT, LARGEST_EXPONENT))))


def fit_temperature(confidence: Floats, is_tp: NDArray[np.bool_]) -> TemperatureScaling:
    """Fit the temperature of smallest log loss by Newton's method on its inverse, in which the loss is convex."""
    odds = log_odds(confidence)
    low, high, inverse = 1 / MAX_TEMPERATURE, MAX_TEMPERATURE, 1.0
    for _ in range(NEWTON_STEPS):
        given = logistic(odds * inverse)
        slope = float(((given - is_tp) * odds).sum())
        low, high = (inverse, high) if slope < 0 else (low, inverse)
        curvature = float((given * (1 - given) * odds**2).sum())
        newer = inverse - slope / curvature if curvature > 0 else 0.0
        newer = newer if low < newer < high else (low + high) / 2
        step, inverse = abs(newer - inverse), newer
        if step <= 1e-7 * inverse:  # the remaining error is of the order of its square
            break
    return TemperatureScaling(1 / inverse)


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of confidences that contain predictions: edges, counts, mean confidence, and share of true positives."""

    low: Floats
    high: Floats
    count: Ints
    confidence: Floats
    accuracy: Floats
    variance: Floats  # of the number of true positives if confidences are their probabilities

    @classmethod
    def of(cls, confidence: Floats, correct: NDArray[Any], edges: Floats) -> Bins:
        """Fill the bins [low, high), the last one closed."""
        correct = correct.astype(np.float64)
        at = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, len(edges) - 2)
        count = np.bincount(at, minlength=len(edges) - 1)
        kept = np.flatnonzero(count)
        values = confidence, correct, confidence * (1 - confidence)
        sums = [np.bincount(at, one, minlength=len(edges) - 1)[kept].astype(np.float64) for one in values]
        return cls(edges[kept], edges[kept + 1], count[kept], sums[0] / count[kept], sums[1] / count[kept], sums[2])

    @property
    def gaps(self) -> Floats:
        """The distance between mean confidence and share of true positives."""
        return np.abs(self.accuracy - self.confidence)

    def expected_error(self) -> float:
        """The mean gap over predictions (ECE)."""
        return float((self.gaps * self.count).sum() / self.count.sum())

    def error_if_calibrated(self) -> float:
        """The ECE that a calibrated detector with the same confidences has in the mean.

        The number of true positives in a bin is then a sum of independent events, whose mean absolute deviation is
        that of a binomial distribution (de Moivre's formula), scaled to the variance of unequal probabilities.
        """
        deviation = [
            binomial_deviation(count, share) for count, share in zip(self.count.tolist(), self.confidence, strict=True)
        ]
        equal = self.count * self.confidence * (1 - self.confidence)
        scale = np.sqrt(np.divide(self.variance, equal, out=np.ones(len(equal)), where=equal > 0))
        return float((np.array(deviation) * scale).sum() / self.count.sum())


def binomial_deviation(count: int, share: float) -> float:
    """Return E |X − np| of a binomial distribution, by de Moivre's formula 2 (m + 1) P(X = m + 1) (1 − p), m = ⌊np⌋.

    >>> binomial_deviation(1, 0.5), round(binomial_deviation(2, 0.5), 12), binomial_deviation(10, 0.0)
    (0.5, 0.5, 0.0)
    """
    if not 0 < share < 1:
        return 0.0
    least = int(count * share)
    if least >= count:
        return 0.0
    choices = lgamma(count + 1) - lgamma(least + 2) - lgamma(count - least)
    return 2 * (least + 1) * exp(choices + (least + 1) * log(share) + (count - least) * log1p(-share))


def equal_edges(count: int) -> Floats:
    """Edges of bins of equal width, each the double nearest to its decimal.

    `numpy.linspace` has 0.30000000000000004, above a confidence of 0.3.
    """
    return np.arange(count + 1) / count


def quantile_edges(confidence: Floats) -> Floats:
    """Edges of bins of equally many predictions, as far as equal confidences allow."""
    edges = np.unique(np.quantile(confidence, np.linspace(0, 1, BINS + 1)))
    return edges if len(edges) > 1 else np.repeat(edges, 2)


def detection_ece(values: Floats, correct: NDArray[Any], bins: int, fewest: int = FEWEST_IN_BIN) -> tuple[float, float]:
    """Return D-ECE, and the share of the predictions in bins that count.

    Parameters
    ----------
    values
        Confidence and features of each prediction from 0 to 1, [prediction, 1 + feature].
    correct
        Whether each is a true positive.
    bins
        Number of bins of equal width along each axis.
    fewest
        Predictions of a bin below which its gap is taken for 0, as in netcal.

    >>> detection_ece(np.array([[0.75, 0.1], [0.75, 0.9]]), np.array([True, False]), 2, fewest=1)
    (0.5, 1.0)
    """
    edges = np.linspace(0, 1, bins + 1)
    at = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, bins - 1)
    _, place, count = np.unique(at @ bins ** np.arange(at.shape[1]), return_inverse=True, return_counts=True)
    gap = np.abs(np.bincount(place, values[:, 0] - correct.astype(np.float64)))
    kept = count >= fewest
    return float(gap[kept].sum() / len(values)), float(count[kept].sum() / len(values))


class ReliabilityBin(TypedDict):
    """A bin of confidences: their mean, and the share of true positives with its 95 % interval; keys as in JSON."""

    low: float
    high: float
    preds: int
    confidence: float
    right: float
    right_low: float
    right_high: float


class Calibration(AnalysisPart):
    """Calibration errors of each class, their mean, and those of all predictions pooled; and a reliability table.

    Parameters
    ----------
    matches
        The matches of the evaluation.
    bins
        "equal" (width) or "quantile" (number of predictions).
    seed
        Seed of the random half of the images on which maps of confidences are fitted.
    """

    name = "calibration"

    def __init__(self, matches: AnalysisMatches, bins: str = "equal", seed: int = 0) -> None:
        self.matches, self.bins, self.seed = matches, bins, seed

    @property
    def signature(self) -> Signature:
        """Every setting that can change the errors."""
        bins = f"{BINS} {self.bins}"
        return part_signature("calibration", self.matches, bins=bins, located_bins=LOCATED_BINS, seed=self.seed)

    @cached_property
    def absent(self) -> str | None:
        """Why there is no calibration: no predictions, or confidences that are no probabilities."""
        if not len(self.matches.counted_rows):
            return "no prediction counts"
        if self.matches.pred.confidence is None:
            return "predictions have no confidences"
        outside = np.flatnonzero((self.matches.confidence < 0) | (self.matches.confidence > 1))
        if len(outside):
            row = int(outside[0])
            more = f" and in {len(outside) - 1:,} more" if len(outside) > 1 else ""
            value = self.matches.confidence[row]
            return f"expected confidences from 0 to 1, found {value:g} in prediction {row}{more}"
        return None

    @cached_property
    def pooled(self) -> dict[str, float]:
        """The errors of all predictions together, with Murphy's decomposition of the Brier score."""
        rows = self.matches.counted_rows
        return {} if self.absent else self.measure(rows) | self.decompose_brier(rows) | self.by_place(rows)

    def by_place(self, rows: Ints) -> dict[str, float]:
        """Return D-ECE over position, size and both, and the share of predictions in bins that count.

        Boxes are relative to their image and cut at its border; nan if the size of an image is not known.
        """
        pred = self.matches.pred
        sizes = np.stack([pred.images.widths, pred.images.heights], axis=1)[pred.image[rows]].astype(np.float64)
        keys = [name for key in D_ECE for name in (key, f"{key}_preds")]
        if not (sizes > 0).all():
            return dict.fromkeys(keys, nan)
        corners = pred.regions.boxes[rows].reshape(-1, 2, 2)
        if pred.unit != "rel":
            corners = corners / sizes[:, None]
        corners = np.clip(corners, 0, 1)
        boxes = np.concatenate([corners.mean(axis=1), corners[:, 1] - corners[:, 0]], axis=1)
        confidence, is_tp = self.matches.confidence[rows], self.matches.is_tp[rows]
        found: list[float] = []
        for columns, bins in D_ECE.values():
            found += detection_ece(np.column_stack([confidence, boxes[:, columns]]), is_tp, bins)
        return dict(zip(keys, found, strict=True))

    @cached_property
    def labels(self) -> dict[str, dict[str, float]]:
        """The errors of each class with predictions, by name."""
        if self.absent:
            return {}
        # For LaECE₀ a prediction is correct if it touches a free ground truth of its class.
        touching = self.matches.evaluation.outcomes_at(TOUCHING)
        found: dict[str, dict[str, float]] = {}
        for k, part in enumerate(self.matches.class_slices):
            rows = self.matches.counted_rows[part]
            if len(rows):
                errors = self.localization_errors(rows, self.matches.outcomes.overlap, self.matches.is_tp)
                errors0 = self.localization_errors(rows, touching.overlap, touching.state == TRUE_POSITIVE)
                found[self.matches.names[k]] = {
                    "preds": len(rows),
                    **self.measure(rows),
                    "laece": errors[0],
                    "laece0": errors0[0],
                    "laace0": errors0[1],
                }
        return found

    @cached_property
    def mean(self) -> dict[str, float]:
        """Means over the classes with predictions."""
        keys = (*KEYS, *LOCATED)
        return {key: mean_present([one[key] for one in self.labels.values()]) for key in keys} if self.labels else {}

    def fill(self, rows: Ints, *, quantile: bool) -> Bins:
        """Fill bins with predictions.

        Parameters
        ----------
        rows
            Predictions that count at this IoU threshold: true and false positives, not the ignored ones.
        quantile
            Bins of equally many predictions instead of equal width.

        Returns
        -------
        Bins
            Mean confidence and precision of each bin, the points of a reliability diagram.
        """
        confidence = self.matches.confidence[rows]
        edges = quantile_edges(confidence) if quantile else equal_edges(BINS)
        return Bins.of(confidence, self.matches.is_tp[rows], edges)

    def measure(self, rows: Ints) -> dict[str, float]:
        """Return ECE, MCE, ACE, Brier score and log loss of predictions."""
        confidence, correct = self.matches.confidence[rows], self.matches.is_tp[rows].astype(np.float64)
        bins = self.fill(rows, quantile=self.bins == "quantile")
        even = self.fill(rows, quantile=True)
        bounded = np.clip(confidence, SMALLEST, 1 - SMALLEST)
        return {
            "ece": bins.expected_error(),
            "ece_if_calibrated": bins.error_if_calibrated(),
            "mce": float(bins.gaps.max()),
            "ace": float(even.gaps.mean()),
            "brier": float(((confidence - correct) ** 2).mean()),
            "log_loss": float(-np.where(correct > 0, np.log(bounded), np.log(1 - bounded)).mean()),
        }

    def decompose_brier(self, rows: Ints) -> dict[str, float]:
        """Return Murphy's components: reliability − resolution + uncertainty is exactly the Brier score."""
        ranking = self.matches.by_confidence
        is_chosen = np.zeros(len(ranking), dtype=np.bool_)
        is_chosen[rows] = True
        rows = ranking[is_chosen[ranking]]
        confidence, is_tp = self.matches.confidence[rows], self.matches.is_tp[rows]
        ends = ends_of_runs(confidence)
        values, count = confidence[ends], np.diff(ends, prepend=-1)
        share = np.diff(np.cumsum(is_tp)[ends], prepend=0) / count
        base = float(is_tp.mean())
        return {
            "reliability": float((count * (values - share) ** 2).sum() / len(rows)),
            "resolution": float((count * (share - base) ** 2).sum() / len(rows)),
            "uncertainty": base * (1 - base),
        }

    def localization_errors(self, rows: Ints, overlap: Floats, is_tp: Bools) -> tuple[float, float]:
        """Return LaECE and LaACE: the distance of confidence to IoU, in bins and one by one; false positives have 0.

        Parameters
        ----------
        rows
            Predictions that count.
        overlap
            IoU of each prediction with its match, NaN without one.
        is_tp
            Which predictions are true positives.

        Returns
        -------
        tuple[float, float]
            LaECE and LaACE, both 0 where the confidence equals the IoU.
        """
        confidence = self.matches.confidence[rows]
        reached = np.where(is_tp[rows], np.nan_to_num(overlap[rows]), 0.0)
        edges = equal_edges(LOCATED_BINS)
        at = np.maximum(np.searchsorted(edges, confidence) - 1, 0)  # (low, high], the first one closed
        gaps = np.bincount(at, confidence - reached)
        return float(np.abs(gaps).sum() / len(rows)), float(np.abs(confidence - reached).mean())

    @cached_property
    def reliability(self) -> list[ReliabilityBin]:
        """One row per bin of all predictions: confidence, and share of true positives with its 95 % interval."""
        if self.absent:
            return []
        matches = self.matches
        rows = matches.counted_rows
        bins = self.fill(rows, quantile=self.bins == "quantile")
        at = np.searchsorted(bins.low, matches.confidence[rows], side="right") - 1
        found = []
        columns = (bins.low, bins.high, bins.count, bins.confidence, bins.accuracy)
        for k, (low, high, count, confidence, share) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        ):
            inside = rows[at == k]
            between = matches.pred_share_interval(inside[matches.is_tp[inside]], inside)
            found.append(ReliabilityBin(low=low, high=high, preds=int(count), confidence=confidence, right=share,
                                        right_low=between[0], right_high=between[1]))  # fmt: skip
        return found

    @cached_property
    def remedy(self) -> dict[str, float]:
        """ECE on one half of the images, as it is, and after a map of each class that was fitted on the other half.

        `after` is isotonic regression, `temperature` temperature scaling; all are means over classes.
        """
        matches, rows = self.matches, self.matches.counted_rows
        random = np.random.Generator(np.random.PCG64(self.seed))
        is_first = np.zeros(matches.image_count, dtype=np.bool_)
        is_first[random.permutation(matches.image_count)[: matches.image_count // 2]] = True
        found: dict[str, list[float]] = {"before": [], "after": [], "temperature": []}
        for part in matches.class_slices:
            own = rows[part]
            fitted = is_first[matches.pred.image[own]]
            if fitted.any() and not fitted.all():
                confidence, is_tp = matches.confidence[own], matches.is_tp[own]
                maps = {"before": None, "after": fit_isotonic, "temperature": fit_temperature}
                for key, fit in maps.items():
                    mapped = confidence[~fitted]
                    if fit is not None:
                        mapped = fit(confidence[fitted], is_tp[fitted])(mapped)
                    found[key].append(Bins.of(mapped, is_tp[~fitted], equal_edges(BINS)).expected_error())
        return {key: mean_present(values) for key, values in found.items()}

    @cached_property
    def temperatures(self) -> dict[str, float]:
        """The temperature of each class, fitted on all images; above 1 where it is overconfident."""
        if self.absent:
            return {}
        matches = self.matches
        listed = {matches.names[k]: matches.counted_rows[part] for k, part in enumerate(matches.class_slices)}
        return {
            name: fit_temperature(matches.confidence[rows], matches.is_tp[rows]).temperature
            for name, rows in listed.items()
            if len(rows)
        }

    def sentence(self) -> str:
        """Return the calibration error and the worst bin in words."""
        if self.absent:
            return f"No calibration: {self.absent}"
        worst = max(self.reliability, key=lambda one: abs(one["confidence"] - one["right"]) * one["preds"])
        text = (
            f"ECE {self.mean['ece']:.3f} (class mean), {self.mean['ece_if_calibrated']:.3f} if calibrated with as many "
            f"predictions: excess {self.mean['ece'] - self.mean['ece_if_calibrated']:+.3f}; worst bin: mean confidence "
            f"{worst['confidence']:.2f}, precision {worst['right']:.2f} [{worst['right_low']:.2f}, "
            f"{worst['right_high']:.2f}], n = {worst['preds']:,}"
        )
        least = float(self.matches.confidence[self.matches.counted_rows].min())
        if least >= CUT_OFF:
            text += f"; the lowest confidence is {least:.2g}: predictions dropped below it cannot be judged"
        return text

    def table(self) -> Table:
        """Return the reliability table, one row per bin."""
        names = [f"{one['low']:.2f}–{one['high']:.2f}" for one in self.reliability]
        keys = {"preds": "preds", "confidence": "confidence", "right": "right", "from": "right_low", "to": "right_high"}
        rows: list[Mapping[str, Any]] = [*self.reliability]
        return Table.of("bin", names, {head: [row[key] for row in rows] for head, key in keys.items()})

    def class_table(self) -> Table:
        """Return one row per class."""
        keys = {"ECE": "ece", "if calibrated": "ece_if_calibrated", "MCE": "mce", "ACE": "ace", "LaECE": "laece",
                "LaECE₀": "laece0", "LaACE₀": "laace0", "Brier": "brier", "log loss": "log_loss",
                "preds": "preds"}  # fmt: skip
        columns = {head: [one[key] for one in self.labels.values()] for head, key in keys.items()}
        return Table.of("class", list(self.labels), columns, mean={h: self.mean.get(k, nan) for h, k in keys.items()})

    def tables(self) -> dict[str, Table]:
        """Return the tables of bins and of classes."""
        return {"calibration": self.table(), "calibration-classes": self.class_table()}

    def summary(self) -> list[Part]:
        """Return the sentence."""
        return [self.sentence()]

    def contents(self) -> list[Part]:
        """Return the sentence, both tables, what maps of confidences gain, and the signature."""
        ending: list[Part] = [describe_ignored(self.matches), self.signature]
        if self.absent:
            return [self.sentence(), *ending]
        remedy = self.remedy
        gained = (
            f"On half of the images ECE is {remedy['before']:.3f}; maps fitted on the other half, one per class, "
            f"change it to {remedy['after']:.3f} (isotonic regression) and {remedy['temperature']:.3f} (temperature "
            "scaling)"
        )
        shown: list[Part] = [self.sentence(), self.table(), self.class_table()]
        if not isnan(self.pooled["d_ece"]):
            position, size, both = (
                f"{self.pooled[key]:.3f} ({self.pooled[f'{key}_preds']:.0%} of the predictions)" for key in D_ECE
            )
            shown.append(
                f"D-ECE of all predictions by position {position}, by size {size}, by both {both} in bins of at least "
                f"{FEWEST_IN_BIN} predictions"
            )
        return [*shown, *([] if isnan(remedy["after"]) else [gained]), *ending]

    def draw(self, axes: Axes) -> None:
        """Draw the reliability diagram: share of true positives against confidence, with 95 % intervals."""
        label_axes(axes, "confidence", "precision")
        axes.plot([0, 1], [0, 1], color="0.6", lw=1, ls="--", label="calibrated")
        bins = self.reliability
        at, share = ([one[key] for one in bins] for key in ("confidence", "right"))
        gaps = [[one["right"] - one["right_low"] for one in bins], [one["right_high"] - one["right"] for one in bins]]
        axes.errorbar(
            at, share, np.maximum(gaps, 0), color=COLOURS[0], marker="o", ms=4, lw=1.5, capsize=2, label="all classes"
        )
        error = self.pooled.get("ece", float("nan"))
        self.set_title(axes, self.absent or f"ECE {error:.3f}")
        axes.legend(frameon=False, fontsize=8, loc="upper left")

    def to_dict(self) -> JsonObject:
        """Return means, pooled errors, bins, remedies and classes; or why there are none."""
        if self.absent:
            return {"signature": str(self.signature), "absent": self.absent}
        return {
            "signature": str(self.signature),
            **self.mean,
            "pooled": self.pooled,
            "bins": self.reliability,
            "remedy": self.remedy,
            "temperatures": self.temperatures,
            "classes": self.labels,
            "absent": None,
        }


PART = PartRecord(
    name="calibration",
    about="Calibration of confidences: ECE, Brier score, LaECE, D-ECE, reliability table.",
    build=lambda analysis: Calibration(analysis.matches, analysis.settings.bins, analysis.settings.seed),
    plot=Calibration.draw,
    settings=CalibrationSettings,
    json="""\
"calibration": {"signature", "ece", "ece_if_calibrated", "mce", "ace", "brier", "log_loss", "laece", "laece0", "laace0",
                "pooled": {"ece", "ece_if_calibrated", "mce", "ace", "brier", "log_loss", "reliability", "resolution",
                           "uncertainty", "d_ece_position", "d_ece_position_preds", "d_ece_size",
                           "d_ece_size_preds", "d_ece", "d_ece_preds"},
                "bins": [{"low", "high", "preds", "confidence", "right", "right_low", "right_high"}, …],
                "remedy": {"before", "after", "temperature"}, "temperatures": {NAME: …},
                "classes": {NAME: {"preds", the same}}, "absent": null | why}
The errors are means over classes, those of `pooled` of all predictions. `ece_if_calibrated` is the ECE that a
calibrated detector with the same confidences has in the mean; what exceeds it is the evidence of miscalibration.
D-ECE has bins over the confidence and the position, the size, or both; `…_preds` is the share of the predictions in
bins of at least 8, to which the sum is restricted. Bins have a 95 % Wilson interval of `right` that allows for
predictions of one image. `remedy` is the ECE on half of the images before and after isotonic regression (`after`) and
temperature scaling, fitted on the other half.""",
)
