"""Do confidences mean what they say? How often predictions of a confidence are right, and how far off that is.

Detection ECE, MCE: Naeini et al., AAAI 2015, with right as matched; LaECE: Oksuz et al., CVPR 2023; Brier 1950 with
Murphy's parts, 1973.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.matches import TOUCHING, ends_of_runs
from verite.analysis.operating import mean_present
from verite.analysis.parts import AnalysisPart, sign, tell_set_aside
from verite.evaluation.evaluation import RIGHT
from verite.model.tables import Table
from verite.statistics.intervals import wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.analysis.matches import AnalysisMatches, Bools, Floats, Ints
    from verite.model.tables import Part
    from verite.signature import Signature


@dataclass(frozen=True, eq=False)
class IsotonicFit:
    """A map that never falls: straight between its points, level beyond them."""

    at: Floats
    value: Floats

    def __call__(self, confidence: Floats) -> Floats:
        return np.interp(confidence, self.at, self.value) if len(self.at) else np.full(len(confidence), np.nan)


def fit_rising(confidence: Floats, is_right: NDArray[np.bool_]) -> IsotonicFit:
    """The rising map that is nearest to what happened, by squares. Fast for confidences that rise or fall already."""
    if len(confidence) and confidence[0] > confidence[-1]:
        confidence, is_right = confidence[::-1], is_right[::-1]
    if (confidence[1:] < confidence[:-1]).any():
        order = np.argsort(confidence, kind="stable")
        confidence, is_right = confidence[order], is_right[order]
    ends = np.flatnonzero(np.append(confidence[1:] != confidence[:-1], True)) if len(confidence) else np.arange(0)
    at, weight = confidence[ends], np.diff(ends, prepend=-1).astype(np.float64)
    mean = np.diff(np.cumsum(is_right)[ends], prepend=0) / weight
    first = np.arange(len(at))
    while len(mean) > 1:
        rises = np.concatenate([[True], mean[1:] > mean[:-1]])
        if rises.all():
            break
        starts = np.flatnonzero(rises)  # all of a falling run violate the order, and are pooled at once
        total = np.add.reduceat(weight, starts)
        mean, weight, first = np.add.reduceat(mean * weight, starts) / total, total, first[starts]
    last = np.append(first[1:], len(at)) - 1 if len(at) else first
    points = np.stack([first, last], axis=1).ravel()
    kept = np.append(np.diff(points) > 0, True) if len(at) else points > 0
    return IsotonicFit(at[points[kept]], np.repeat(mean, 2)[kept])


CLOSEST = 1e-12  # no confidence is nearer to 0 or 1

MOST = 100.0  # a temperature is between its inverse and this

ROUNDS = 50

LARGEST = 700.0  # log-odds whose exponential is a number


@dataclass(frozen=True, eq=False)
class TemperatureScaling:
    """A map that rises strictly, so that it changes no order and no average precision."""

    temperature: float

    def __call__(self, confidence: Floats) -> Floats:
        return squash(log_odds(confidence) / self.temperature)


def log_odds(confidence: Floats) -> Floats:
    kept = np.clip(confidence, CLOSEST, 1 - CLOSEST)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def squash(odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -LARGEST, LARGEST))))


def fit_temperature(confidence: Floats, is_right: NDArray[np.bool_]) -> TemperatureScaling:
    """The temperature of the smallest log loss: Newton's steps on its inverse, in which the loss is convex."""
    odds = log_odds(confidence)
    low, high, inverse = 1 / MOST, MOST, 1.0
    for _ in range(ROUNDS):
        given = squash(odds * inverse)
        slope = float(((given - is_right) * odds).sum())
        low, high = (inverse, high) if slope < 0 else (low, inverse)
        bend = float((given * (1 - given) * odds**2).sum())
        newer = inverse - slope / bend if bend > 0 else 0.0
        newer = newer if low < newer < high else (low + high) / 2
        step, inverse = abs(newer - inverse), newer
        if step <= 1e-7 * inverse:  # the error left is of the order of its square
            break
    return TemperatureScaling(1 / inverse)


BINS, LOCATED_BINS = 10, 25

TINY = 1e-15  # what log loss is cut at

FLOOR = 0.05

KEYS = ("ece", "mce", "ace", "brier", "log_loss")


class Calibration(AnalysisPart):
    """Errors of confidences, of each label, their mean, and of all together; and a table of reliability."""

    name = "calibration"

    def __init__(self, matches: AnalysisMatches, bins: str = "equal", seed: int = 0) -> None:
        self.matches, self.bins, self.seed = matches, bins, seed

    @property
    def signature(self) -> Signature:
        return sign("calibration", self.matches, bins=f"{BINS} {self.bins}", located_bins=LOCATED_BINS, seed=self.seed)

    @cached_property
    def absent(self) -> str | None:
        """Why there is nothing to say: confidences that are no probabilities."""
        if not len(self.matches.counted):
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
        """Of all labels together."""
        rows = self.matches.counted
        return {} if self.absent else self.measure(rows) | self.split_brier(rows)

    @cached_property
    def labels(self) -> dict[str, dict[str, float]]:
        """Of each label with predictions."""
        if self.absent:
            return {}
        found = {}
        for k, part in enumerate(self.matches.slices):
            rows = self.matches.counted[part]
            if len(rows):
                located = self.locate(rows, self.matches.outcomes.overlap, self.matches.is_right)
                found[self.matches.names[k]] = {"preds": len(rows)} | self.measure(rows) | located | self.nearby[k]
        return found

    @cached_property
    def mean(self) -> dict[str, float]:
        """Over labels with predictions."""
        keys = (*KEYS, *LOCATED)
        return {key: mean_present([one[key] for one in self.labels.values()]) for key in keys} if self.labels else {}

    def measure(self, rows: Ints) -> dict[str, float]:
        confidence, right = self.matches.confidence[rows], self.matches.is_right[rows].astype(np.float64)
        bins = fill_bins(confidence, right, self.edges(confidence))
        gaps = np.abs(bins.accuracy - bins.confidence)
        even = fill_bins(confidence, right, quantile_edges(confidence))
        sure = np.clip(confidence, TINY, 1 - TINY)
        return {
            "ece": float((gaps * bins.count).sum() / len(rows)),
            "mce": float(gaps.max()),
            "ace": float(np.abs(even.accuracy - even.confidence).mean()),
            "brier": float(((confidence - right) ** 2).mean()),
            "log_loss": float(-np.where(right > 0, np.log(sure), np.log(1 - sure)).mean()),
        }

    def edges(self, confidence: Floats) -> Floats:
        return quantile_edges(confidence) if self.bins == "quantile" else equal_edges(BINS)

    def split_brier(self, rows: Ints) -> dict[str, float]:
        """Murphy's parts: reliability − resolution + uncertainty is exactly the Brier score, by distinct values."""
        falling = self.matches.falling
        is_asked = np.zeros(len(falling), dtype=np.bool_)
        is_asked[rows] = True
        rows = falling[is_asked[falling]]
        confidence, right = self.matches.confidence[rows], self.matches.is_right[rows]
        ends = ends_of_runs(confidence)
        values, count = confidence[ends], np.diff(ends, prepend=-1)
        share = np.diff(np.cumsum(right)[ends], prepend=0) / count
        base = float(right.mean())
        return {
            "reliability": float((count * (values - share) ** 2).sum() / len(rows)),
            "resolution": float((count * (share - base) ** 2).sum() / len(rows)),
            "uncertainty": base * (1 - base),
        }

    def locate(self, rows: Ints, overlap: Floats, is_right: Bools, ending: str = "") -> dict[str, float]:
        """LaECE: is the confidence the overlap that is to be expected? Wrong predictions overlap by 0."""
        confidence = self.matches.confidence[rows]
        met = np.where(is_right[rows], np.nan_to_num(overlap[rows]), 0.0)
        edges = equal_edges(LOCATED_BINS)
        place = np.maximum(np.searchsorted(edges, confidence) - 1, 0)  # (low, high], the first closed
        gaps = np.bincount(place, confidence - met)
        found = {f"laece{ending}": float(np.abs(gaps).sum() / len(rows))}
        return found | ({f"laace{ending}": float(np.abs(confidence - met).mean())} if ending else {})

    @cached_property
    def nearby(self) -> dict[int, dict[str, float]]:
        """LaECE₀ and LaACE₀: a prediction is right if it touches a truth of its label that no better one took."""
        found = self.matches.evaluation.outcomes_at(TOUCHING)
        listed = [self.matches.counted[part] for part in self.matches.slices]
        is_right = found.state == RIGHT
        return {k: self.locate(rows, found.overlap, is_right, "0") for k, rows in enumerate(listed) if len(rows)}

    @cached_property
    def reliability(self) -> list[dict[str, Any]]:
        """Of all labels together, a row for each bin that has predictions."""
        if self.absent:
            return []
        rows = self.matches.counted
        confidence = self.matches.confidence[rows]
        bins = fill_bins(confidence, self.matches.is_right[rows].astype(np.float64), self.edges(confidence))
        found = []
        for low, high, count, says, right in zip(*bins.columns, strict=True):
            between = wilson(right, int(count))
            found.append({"low": low, "high": high, "preds": int(count), "confidence": says, "right": right,
                          "right_low": between[0], "right_high": between[1]})  # fmt: skip
        return found

    @cached_property
    def remedy(self) -> dict[str, float]:
        """ECE on one half of the images: as confidences are, after a rising map of each label was fitted on the other
        half, and after a temperature of each label was.
        """
        matches, rows = self.matches, self.matches.counted
        random = np.random.Generator(np.random.PCG64(self.seed))
        is_first = np.zeros(matches.image_count, dtype=np.bool_)
        is_first[random.permutation(matches.image_count)[: matches.image_count // 2]] = True
        found: dict[str, list[float]] = {"before": [], "after": [], "temperature": []}
        for part in matches.slices:
            own = rows[part]
            fitted = is_first[matches.pred.image[own]]
            if fitted.any() and not fitted.all():
                given, right = matches.confidence[own], matches.is_right[own]
                asked, told = given[~fitted], right[~fitted]
                found["before"].append(expected_error(asked, told))
                for key, fit in (("after", fit_rising), ("temperature", fit_temperature)):
                    found[key].append(expected_error(fit(given[fitted], right[fitted])(asked), told))
        return {key: mean_present(values) for key, values in found.items()}

    @cached_property
    def temperatures(self) -> dict[str, float]:
        """Of each label, fitted on all images: above 1 where it is too sure."""
        if self.absent:
            return {}
        matches = self.matches
        listed = {matches.names[k]: matches.counted[part] for k, part in enumerate(matches.slices)}
        return {
            name: fit_temperature(matches.confidence[rows], matches.is_right[rows]).temperature
            for name, rows in listed.items()
            if len(rows)
        }

    def sentence(self) -> str:
        """The verdict in words."""
        if self.absent:
            return f"no calibration: {self.absent}"
        worst = max(self.reliability, key=lambda one: abs(one["confidence"] - one["right"]) * one["preds"])
        told = (
            f"calibration error {self.mean['ece']:.3f} (mean over classes): says {worst['confidence']:.2f}, right in "
            f"{worst['right']:.2f} [{worst['right_low']:.2f}, {worst['right_high']:.2f}] of {worst['preds']:,}"
        )
        least = float(self.matches.confidence[self.matches.counted].min())
        cut = f"; no confidence is below {least:.2g}: what was cut off cannot be judged" if least >= FLOOR else ""
        return told + cut

    def table(self) -> Table:
        """Reliability, bin by bin."""
        names = [f"{one['low']:.2f}–{one['high']:.2f}" for one in self.reliability]
        keys = {"preds": "preds", "confidence": "confidence", "right": "right", "from": "right_low", "to": "right_high"}
        return Table.of("bin", names, {h: [one[key] for one in self.reliability] for h, key in keys.items()})

    def class_table(self) -> Table:
        keys = {"ECE": "ece", "MCE": "mce", "ACE": "ace", "LaECE": "laece", "LaECE₀": "laece0", "LaACE₀": "laace0",
                "Brier": "brier", "log loss": "log_loss", "preds": "preds"}  # fmt: skip
        columns = {head: [one[key] for one in self.labels.values()] for head, key in keys.items()}
        return Table.of("class", list(self.labels), columns, mean={h: self.mean.get(k, nan) for h, k in keys.items()})

    def tables(self) -> dict[str, Table]:
        return {"calibration": self.table(), "calibration-classes": self.class_table()}

    def contents(self) -> list[Part]:
        if self.absent:
            return [self.sentence(), tell_set_aside(self.matches), self.signature]
        remedy = self.remedy
        mended = (
            f"a rising map per class, fitted on half of the images, changes the error on the other half from "
            f"{remedy['before']:.3f} to {remedy['after']:.3f}, a temperature per class to {remedy['temperature']:.3f}"
        )
        shown: list[Part] = [self.sentence(), self.table(), self.class_table()]
        shown += [] if isnan(remedy["after"]) else [mended]
        return [*shown, tell_set_aside(self.matches), self.signature]

    def to_dict(self) -> dict[str, Any]:
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


LOCATED = ("laece", "laece0", "laace0")


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins that have predictions."""

    low: Floats
    high: Floats
    count: Ints
    confidence: Floats  # the mean
    accuracy: Floats

    @property
    def columns(self) -> Sequence[list[Any]]:
        return [c.tolist() for c in (self.low, self.high, self.count, self.confidence, self.accuracy)]


def fill_bins(confidence: Floats, right: Floats, edges: Floats) -> Bins:
    """Bins [low, high), the last closed."""
    place = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, len(edges) - 2)
    count = np.bincount(place, minlength=len(edges) - 1)
    kept = np.flatnonzero(count)
    sums = [np.bincount(place, values, minlength=len(edges) - 1)[kept] / count[kept] for values in (confidence, right)]
    return Bins(edges[kept], edges[kept + 1], count[kept], *sums)


def equal_edges(count: int) -> Floats:
    """Edges of equally wide bins, each the double next to its decimal: numpy's linspace has 0.30000000000000004, so
    that a confidence of 0.3 would lie below it.
    """
    return np.arange(count + 1) / count


def quantile_edges(confidence: Floats) -> Floats:
    """Edges of bins of equally many predictions, as far as equal confidences allow."""
    edges = np.unique(np.quantile(confidence, np.linspace(0, 1, BINS + 1)))
    return edges if len(edges) > 1 else np.repeat(edges, 2)


def expected_error(confidence: Floats, right: NDArray[Any]) -> float:
    bins = fill_bins(confidence, right.astype(np.float64), equal_edges(BINS))
    return float((np.abs(bins.accuracy - bins.confidence) * bins.count).sum() / len(confidence))
