"""Section "Operating point": precision, recall and F1 by confidence threshold, FROC, and a slider for all counts.

The default threshold is the confidence with the highest F1 over all objects (micro average), chosen on the same images.
Charts show precision, recall and F1 against the threshold, precision against recall with lines of equal F1, and recall
against false positives per image (FROC, Bunch et al. 1978). Moving the slider updates every count of the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verite.model.styles import Markup, element, join_elements
from verite.reporting.report.charts import BOTTOM, HIGH, TOP, Axes, Line, absent_zone, line_chart, tick
from verite.reporting.report.document import Json
from verite.reporting.report.layout import (
    column,
    count_of,
    detector_name,
    finding,
    number,
    plain,
    scroll,
    table,
    td,
    th,
    whole,
)
from verite.reporting.report.section import DetectorSection

if TYPE_CHECKING:
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.document import Detector, ReportDocument

LISTED = tuple(range(5, 100, 10))  # thresholds in the table
HIGH_PRECISION = 0.9  # whose threshold is stated
PRECISIONS = (0.8, 0.9, 0.95)  # thresholds that can be chosen: the lowest confidence with at least this precision
RATIOS = (2, 5, 10)  # and the one that costs least where a missed object costs as much as so many false positives
ISO_F1 = (0.4, 0.6, 0.8)  # lines of equal F1
FROC = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # false positives per image at the ticks


@dataclass(frozen=True)
class OperatingData:
    """JSON of the analysis part; what is shown is in `Detector.steps` and `Detector.best`."""

    operating: Mapping[str, Json] | None = None


def render(document: ReportDocument, images: ReportImages, i: int, data: OperatingData) -> Markup:
    """Render counts and rates at the chosen confidence, three charts, and a table of thresholds."""
    one, total = document.detectors[i], document.truth.objects
    best, shown = one.best, plain(one.name)
    result = [detector_name(one.name), " detects no object at any confidence."]
    if best.true_positives:
        detects = f" detects {best.true_positives:,} of {total:,} objects, with "
        errors = count_of(best.false_positives, "false positive")
        result = [f"At confidence ≥ {number(best.confidence, 2)}, ", detector_name(one.name), f"{detects}{errors}."]
    rates = [one.steps.rates(k) for k in range(len(one.steps.confidences))]
    slide = element("div", slider(i, one, "in the charts"), *goals(i, one, rates), class_="slide js", hidden="")
    rates_panel = panel(
        "Precision, recall and F1 by confidence",
        f"All classes, at {document.words.at(one.iou)}.",
        rates_chart(i, one, rates),
        slide,
    )
    recall_panel = panel(
        "Precision against recall", "All objects together, at every confidence.", recall_chart(i, one, rates)
    )
    about = "Logarithmic scale."
    found = (data.operating or {}).get("froc")
    miss_rate = found.get("LAMR") if isinstance(found, Mapping) else None
    if isinstance(miss_rate, (int, float)):
        about += f" Log-average miss rate (MR⁻²) of all classes together: {number(miss_rate)}."
    froc_panel = panel("Recall against false positives per image (FROC)", about, froc_chart(one))
    listed = threshold_table(one, one.steps.nearest(best.confidence), rates)
    # How the default threshold is chosen, the threshold of a precision of 0.9, and where the file was cut.
    said = ["The confidence with the highest F1 over all objects, chosen on these images. "]
    steps = one.steps
    wanted = [k for k in range(len(steps.confidences)) if steps.rates(k)[0] >= HIGH_PRECISION]
    if wanted and wanted[0] and steps.true_positives[wanted[0]]:
        at, recall = number(steps.confidences[wanted[0]], 2), number(steps.rates(wanted[0])[1])
        said.append(f"Precision reaches {HIGH_PRECISION:g} at confidence ≥ {at} (recall {recall}). ")
    if one.cut_at is not None:
        said.append(
            f"The file has no prediction below confidence {number(one.cut_at, 2)}: average precision, recall and the "
            "best F1 depend on that threshold, and the grey zones are unknown."
        )
    return join_elements(
        finding(*result),
        element("p", *said, class_="sub"),
        figures(i, one),
        element("div", rates_panel, recall_panel, class_="two"),
        element("div", froc_panel, element("div", scroll(f"Table of confidences, {shown}", listed)), class_="two"),
    )


def panel(title: str, about: str, *content: Markup) -> Markup:
    """Render a chart below its title and what it shows."""
    return element("div", element("h3", title), element("p", about), *content)


def figures(i: int, one: Detector) -> Markup:
    """Render counts and rates at the chosen confidence, which follow the slider."""
    best, images = one.best, one.steps.images
    cells = (
        ("confidence", number(best.confidence, 2)),
        ("precision", number(best.precision)),
        ("recall", number(best.recall)),
        ("F1", number(best.f1)),
        ("true positives", whole(best.true_positives)),
        ("false positives", whole(best.false_positives)),
        ("missed (FN)", whole(best.missed)),
        ("false positives per image", number(best.false_positives / images if images else None, 2)),
    )
    drawn = [element("div", element("dd", value), element("dt", word)) for word, value in cells]
    return element("dl", *drawn, class_="read", data_read=i)


def slider(i: int, one: Detector, where: str) -> Markup:
    """Render a slider for the confidence threshold; all sliders of a detector move together."""
    at = one.steps
    moved = element(
        "input", type="range", min=0, max=len(at.confidences) - 1, step=1, value=at.nearest(one.best.confidence),
        class_="slider", data_system=i, aria_label=f"Confidence threshold of {plain(one.name)}, {where}",
    )  # fmt: skip
    choices = [
        element("button", word, type="button", class_="btn choice", data_system=i, value=k)
        for k, word in enumerate(one.choices)
        if word
    ]
    return join_elements(moved, *choices)


def goals(i: int, one: Detector, rates: Sequence[tuple[float, float, float]]) -> list[Markup]:
    """Render buttons that set the threshold by what is wanted: a precision, or what errors cost.

    Their values are steps counted from the end of the slider, as the script expects of a choice.
    """
    steps = one.steps
    kept = [k for k in range(len(rates)) if steps.true_positives[k]]
    if not kept:
        return []
    reached = {f"≥ {p:g}": next((k for k in kept if rates[k][0] >= p), None) for p in PRECISIONS}
    wrong, missed = steps.false_positives, [steps.objects - found for found in steps.true_positives]
    cheapest = {f"{n}": min(reversed(kept), key=lambda k, n=n: wrong[k] + n * missed[k]) for n in RATIOS}  # type: ignore[misc]
    parts = []
    for word, found, what in (
        ("Precision", reached, "lowest confidence with precision"),
        ("A missed object costs as many false positives", cheapest, "lowest total cost if a missed object costs"),
    ):
        buttons = [
            element(
                "button", label, type="button", class_="btn choice", data_system=i, value=k - len(rates),
                aria_label=f"{what} {label}{' false positives' if found is cheapest else ''}",
            )
            for label, k in found.items() if k is not None
        ]  # fmt: skip
        if buttons:
            parts.append(element("p", f"{word}: ", *buttons, class_="goal"))
    return parts


def rates_chart(i: int, one: Detector, rates: Sequence[tuple[float, float, float]]) -> Markup:
    """Plot precision, recall and F1 against the confidence threshold; the script moves the vertical line."""
    at = one.steps.confidences
    low, high = at[0], at[-1] if at[-1] > at[0] else at[0] + 1
    ticks = [low + share * (high - low) for share in (0, 0.25, 0.5, 0.75, 1)]
    axes = Axes("confidence threshold", "share", x_range=(low, high), x_ticks=ticks)
    x = axes.place(one.best.confidence, 0)[0]
    cut = element("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=TOP, y2=HIGH - BOTTOM, class_="cut", data_cut=str(i))
    looks = (("precision", "k", 0.6, False), ("recall", "g", 0.02, True), ("F1", "a", 0.3, False))
    is_cut = one.cut_at is not None and low < one.cut_at <= high
    zone = absent_zone(axes, low, one.cut_at) if is_cut and one.cut_at is not None else None
    # Below the lowest confidence of the file nothing is known: lines and their labels begin there.
    begin = next((k for k, step in enumerate(at) if step >= (one.cut_at or low)), 0) if is_cut else 0
    lines = [
        Line(word, list(zip(at, values, strict=True))[begin:], colour, at[begin] + share * (high - at[begin]), is_below)
        for (word, colour, share, is_below), values in zip(looks, zip(*rates, strict=True), strict=True)
    ]
    about = f"Precision, recall and F1 of {plain(one.name)} against confidence"
    return line_chart(axes, lines, about, cut, zone=zone, key=str(i))


def recall_chart(i: int, one: Detector, rates: Sequence[tuple[float, float, float]]) -> Markup:
    """Plot precision against recall, with lines of equal F1."""
    axes = Axes("recall", "precision")
    points = [(recall, precision) for precision, recall, _ in reversed(rates) if precision == precision]
    lines, marks, best = [], [], one.best
    if best.recall is not None and best.precision is not None and best.true_positives:
        x, y = axes.place(best.recall, best.precision)
        marks.append(element("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5, class_="dot", data_dot=i))
    for f1 in ISO_F1:
        first = f1 / (2 - f1)  # the recall at which precision is 1
        recalls = [first + (1 - first) * k / 40 for k in range(41)]
        lines.append(Line("", [(r, f1 * r / (2 * r - f1)) for r in recalls], "iso"))
        x, y = axes.place(first, 1)
        label = {"x": f"{x:.1f}", "y": f"{y - 5:.1f}", "class_": "f sm", "text_anchor": "middle"}
        marks.append(element("text", f"F1 {tick(f1)}", **label))
    zone = absent_zone(axes, points[-1][0], 1.0) if one.cut_at is not None and points else None
    about = f"Precision against recall of {plain(one.name)}"
    return line_chart(axes, [*lines, Line("", points, "a")], about, *marks, zone=zone)


def froc_chart(one: Detector) -> Markup:
    """Plot recall against false positives per image (FROC)."""
    steps = one.steps
    images, objects = max(steps.images, 1), max(steps.objects, 1)
    axes = Axes("false positives per image", "recall", x_range=(0.125, 8.0), x_ticks=FROC, is_log=True)
    highest: dict[float, float] = {}
    for right, wrong in zip(steps.true_positives, steps.false_positives, strict=True):
        if wrong / images <= 8:
            x = max(wrong / images, 0.125)
            highest[x] = max(right / objects, highest.get(x, 0.0))
    line = Line("", sorted(highest.items()), "a")
    zone = absent_zone(axes, max(highest), 8.0) if one.cut_at is not None and highest else None
    return line_chart(axes, [line], f"Recall of {plain(one.name)} against false positives per image", zone=zone)


def threshold_table(one: Detector, best: int, rates: Sequence[tuple[float, float, float]]) -> Markup:
    """Render rates and counts at selected thresholds; the one nearest to the best F1 is marked.

    Thresholds below the lowest confidence of the file are left out: they all keep every prediction.
    """
    rows, steps = [], one.steps
    listed = [k for k in LISTED if one.cut_at is None or steps.confidences[k] >= one.cut_at]
    nearest = min(listed, key=lambda k: abs(k - best), default=None)
    for k in listed:
        cells = [*map(number, rates[k]), whole(steps.true_positives[k]), whole(steps.false_positives[k])]
        marked = {"class_": "chosen"} if k == nearest else {}
        rows.append(element("tr", th(number(steps.confidences[k], 2)), *map(td, cells), **marked))
    heads = [column(word) for word in ("confidence ≥", "precision", "recall", "F1", "TP", "FP")]
    cut = "" if one.cut_at is None else f" No prediction in the file is below {number(one.cut_at, 2)}."
    return table(f"Selected confidences; the row nearest to the best F1 is marked.{cut}", heads, rows)


SECTION = DetectorSection(
    id="operating",
    title="Operating point",
    place=60,
    wanted=lambda document: (
        bool(document.truth.objects)
        and document.protocol != "f1"
        and any(len({*one.steps.true_positives}) > 1 or not one.best.true_positives for one in document.detectors)
    ),
    build=lambda inputs, detector: OperatingData(detector.parts.get("operating")),
    render=render,
)
