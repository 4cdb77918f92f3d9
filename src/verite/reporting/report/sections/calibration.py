"""Section "Calibration": confidence against precision by bin, expected calibration error (D-ECE), Brier score.

Predictions are binned by confidence; a calibrated detector has a precision equal to its mean confidence in every bin
(reliability diagram). D-ECE is the mean distance of both, weighted by the predictions of the bins (Küppers et al., CVPR
Workshops 2020); it is averaged over classes, bins are shown for all classes together. Intervals are Wilson's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import Axes, Line, absent_zone, line_chart, text
from verite.reporting.report.document import Json, Quoted
from verite.reporting.report.layout import (
    CI,
    column,
    detector_name,
    finding,
    is_known,
    number,
    plain,
    scroll,
    table,
    td,
    th,
    whole,
)
from verite.reporting.report.section import DetectorSection, ReportInputs

if TYPE_CHECKING:
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.detector import EvaluatedDetector
    from verite.reporting.report.document import Detector, ReportDocument

DOTS = "Dots: bins of confidence, grey where the 95\u00a0% confidence interval (bar) includes the mean confidence."


@dataclass(frozen=True)
class Bin:
    """Predictions of one bin of confidence.

    Attributes
    ----------
    low, high
        Ends of the bin.
    predictions
        Number of predictions in it.
    confidence, precision
        Mean confidence, and share of true positives.
    precision_low, precision_high
        95 % confidence interval of the precision (Wilson).
    """

    low: float
    high: float
    predictions: int
    confidence: float
    precision: float
    precision_low: float
    precision_high: float

    @property
    def is_calibrated(self) -> bool:
        """Whether the confidence interval of the precision includes the mean confidence."""
        return self.precision_low <= self.confidence <= self.precision_high


@dataclass(frozen=True, kw_only=True)
class Calibration(Quoted):
    """Calibration errors (means over classes) and the bins of all classes together."""

    ece: float | None
    mce: float | None
    brier: float | None
    absent: str  # why there are no bins
    bins: tuple[Bin, ...]

    @classmethod
    def of(cls, part: Mapping[str, Json]) -> Calibration:
        """Read the JSON of the analysis part `calibration`."""
        keys = ("low", "high", "preds", "confidence", "right", "right_low", "right_high")
        known = [one for one in part.get("bins") or () if one["preds"] and is_known(one["confidence"])]
        return cls(
            ece=part.get("ece"),
            mce=part.get("mce"),
            brier=part.get("brier"),
            absent=str(part.get("absent") or part.get("reason") or ""),
            bins=tuple(Bin(*(one[key] for key in keys)) for one in known),
            json=part,
        )


@dataclass(frozen=True)
class CalibrationData:
    """Data of the section for one detector."""

    calibration: Calibration | None = None


def build(inputs: ReportInputs, detector: EvaluatedDetector) -> CalibrationData:
    """Return the calibration of the analysis."""
    part = detector.parts.get("calibration")
    return CalibrationData(None if part is None else Calibration.of(part))


def render(document: ReportDocument, images: ReportImages, i: int, data: CalibrationData) -> Markup:
    """Render the reliability diagram and its bins."""
    one, found = document.detectors[i], data.calibration
    if found is None or not found.bins:
        reason = (found.absent if found else "") or "The predictions have no confidences between 0 and 1."
        return finding(element("bdi", f"{reason[:1].upper()}{reason[1:].rstrip('.')}."))
    most = max(found.bins, key=lambda bin: bin.predictions)
    right = f"{round(most.precision * most.predictions):,} true positives among {most.predictions:,} predictions."
    over = sum(bin.predictions for bin in found.bins if bin.precision_high < bin.confidence)
    under = sum(bin.predictions for bin in found.bins if bin.precision_low > bin.confidence)
    total = sum(bin.predictions for bin in found.bins)
    word = "neither clearly overconfident nor underconfident"
    if over > 0.3 * total and over >= under:
        word = "overconfident"
    elif under > 0.3 * total:
        word = "underconfident"
    about = f"It is {word}. D-ECE (mean over classes) {number(found.ece)}, largest {number(found.mce)}."
    # Render the bins: number of predictions, mean confidence, precision and its confidence interval.
    rows = [
        element(
            "tr",
            th(f"{number(bin.low, 1)}–{number(bin.high, 1)}"),
            td(whole(bin.predictions)),
            td(number(bin.confidence)),
            td(number(bin.precision)),
            td(f"{number(bin.precision_low, 2)} to {number(bin.precision_high, 2)}", kind="q"),
        )
        for bin in found.bins
    ]
    heads = [column(word) for word in ("bin", "n", "confidence", "precision", CI)]
    return join_elements(
        finding("At a mean confidence of ", number(most.confidence, 2), ", ", detector_name(one.name), f" has {right}"),
        element("p", about, class_="sub"),
        element(
            "div",
            element("div", element("h3", "Reliability diagram"), element("p", DOTS), diagram(one, found)),
            element(
                "div",
                scroll(
                    f"Table of bins, {plain(one.name)}",
                    table(f"All classes together; Brier score {number(found.brier)}.", heads, rows),
                ),
            ),
            class_="two",
        ),
    )


def diagram(one: Detector, found: Calibration) -> Markup:
    """Plot precision against confidence by bin."""
    axes = Axes("confidence", "precision")
    zone = None if one.cut_at is None else absent_zone(axes, 0.0, one.cut_at)
    marks = []
    for bin in found.bins:
        (x, low), (_, high) = (axes.place(bin.confidence, end) for end in (bin.precision_low, bin.precision_high))
        y = axes.place(bin.confidence, bin.precision)[1]
        colour = " g" if bin.is_calibrated else ""
        ends = {"x1": f"{x:.1f}", "x2": f"{x:.1f}", "y1": f"{low:.1f}", "y2": f"{high:.1f}"}
        marks.append(element("line", **ends, class_=f"iv{colour}"))
        title = f"{number(bin.confidence)}: precision {number(bin.precision)}, n = {bin.predictions:,}"
        radius = 5 if bin.predictions > 20 else 4
        marks.append(
            element("circle", element("title", title), cx=f"{x:.1f}", cy=f"{y:.1f}", r=radius, class_=f"dot{colour}")
        )
    x, y = axes.place(1.0, 1.0)  # above the end of the line, where no interval reaches
    marks.append(text(f"{x:.1f}", f"{y - 10:.1f}", "perfect calibration", kind="f sm", anchor="end"))
    diagonal = Line("", [(0.0, 0.0), (1.0, 1.0)], "iso")
    return line_chart(axes, [diagonal], f"Confidence of {plain(one.name)} against precision", *marks, zone=zone)


SECTION = DetectorSection(
    id="calibration",
    title="Calibration",
    place=80,
    wanted=lambda document: any(one.calibration for one in document.sections["calibration"]),
    build=build,
    render=render,
)
