"""Section "All detectors": the score of every detector at each IoU threshold, and by size of the objects.

Scores by size are those of the protocol (COCO's APs, APm, APl: area below 32², up to 96², and above, in pixels).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from verite.model.styles import Markup, element, join_elements
from verite.plotting import shorten_apart
from verite.reporting.report.charts import Axes, Line, line_chart
from verite.reporting.report.layout import (
    column,
    detector_name,
    finding,
    is_known,
    number,
    scroll,
    sentence,
    table,
    td,
    th,
)
from verite.reporting.report.section import Section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.document import ReportDocument

COLOURS = ("a", "k")  # of lines: the first in the accent, the second in ink, others grey
SIZES = {"APs": "small", "APm": "medium", "APl": "large"}


def render(document: ReportDocument, images: ReportImages, data: None) -> Markup:
    """Render the score by IoU threshold as chart and table, and the score by size of the objects."""
    detectors, score, overlap = document.detectors, document.score, document.words.overlap
    ious = [one.iou for one in detectors[0].thresholds]
    best = [max(range(len(detectors)), key=lambda i: known(detectors[i].thresholds[k].ap)) for k in range(len(ious))]
    leaders = sorted(set(best), key=lambda i: -best.count(i))
    result = sentence(detector_name(detectors[leaders[0]].name), f" leads at every {overlap} threshold.")
    if len(leaders) > 1:
        first, second = (detector_name(detectors[i].name) for i in leaders[:2])
        where = f" leads at {best.count(leaders[0])} of {len(ious)} {overlap} thresholds, "
        result = sentence(first, where, second, f" at {best.count(leaders[1])}.")
    about = f"{score} at each {overlap} threshold; the best of a column is bold."
    parts = [finding(result), element("p", about, class_="sub")]
    # The chart of two detectors is in the section that compares them.
    chart = threshold_chart(document, ious) if len(ious) > 2 and len(detectors) > 2 else Markup()
    by_size = size_table(document)
    parts.append(element("div", chart, by_size, class_="two") if chart and by_size else join_elements(chart, by_size))
    heads, rows = [f"{iou:g}" for iou in ious], [[at.ap for at in one.thresholds] for one in detectors]
    caption = f"{score} by {overlap} threshold."
    if not chart:
        parts.append(element("h3", f"{score} by {overlap} threshold"))
    parts.append(scroll("Table of thresholds", best_table(document, caption, heads, rows)))
    return join_elements(*parts)


def size_table(document: ReportDocument) -> Markup:
    """Render the score by size of the objects; nothing where the protocol has none."""
    detectors, score = document.detectors, document.score
    sizes = [key for key in SIZES if any(is_known(one.scores.get(key)) for one in detectors)]
    if not sizes:
        return Markup()
    heads = [f"{SIZES[key]} ({key})" for key in sizes]
    values = [[one.scores.get(key) for key in sizes] for one in detectors]
    return element(
        "div",
        element("h3", f"{score} by size of the objects"),
        element("p", "Areas below 32², up to 96², above."),
        scroll("Table of sizes", best_table(document, f"{score} by size.", heads, values)),
    )


def known(value: float | None) -> float:
    """Return a score, -1 where it is absent."""
    return value if is_known(value) else -1.0


def threshold_chart(document: ReportDocument, ious: Sequence[float]) -> Markup:
    """Plot the score of every detector against the IoU threshold; the first two are named, others by the pointer."""
    axes = Axes(
        f"{document.words.overlap} threshold", document.score, x_range=(ious[0], ious[-1]), x_ticks=list(ious)[::2]
    )
    lines = []
    names = shorten_apart([one.name for one in document.detectors], 22)
    for i, (one, shown) in enumerate(zip(document.detectors, names, strict=True)):
        points = [(at.iou, at.ap if is_known(at.ap) else float("nan")) for at in one.thresholds]
        is_named = i < len(COLOURS) or len(names) == len(COLOURS) + 1
        at = ious[0] + (0.6, 0.02, 0.3)[i % 3] * (ious[-1] - ious[0])
        colour = COLOURS[i] if i < len(COLOURS) else "g"
        lines.append(Line(shown if is_named else "", points, colour, at, name=shown, is_below=i == 1))
    drawn = line_chart(axes, lines[::-1], f"{document.score} of all detectors against {document.words.overlap}")
    title = f"{document.score} by {document.words.overlap} threshold"
    about = element("p", "The first two are named; point at a line for the others." if len(names) > 3 else "")
    return element("div", element("h3", title), about, drawn)


def best_table(
    document: ReportDocument, caption: str, heads: Sequence[str], values: Sequence[Sequence[float | None]]
) -> Markup:
    """Render scores, one row per detector; the best one of each column is bold."""
    tops = [max(known(row[k]) for row in values) for k in range(len(heads))]
    rows = []
    for i, (one, row) in enumerate(zip(document.detectors, values, strict=True)):
        cells = [td(number(v), kind="top" if is_known(v) and v == tops[k] else "") for k, v in enumerate(row)]
        rows.append(element("tr", th(detector_name(one.name)), *cells, data_detector=i))
    return table(caption, [column("detector", "l"), *(column(word) for word in heads)], rows, is_captioned=False)


SECTION = Section(
    id="detectors",
    title="All detectors",
    place=25,
    wanted=lambda document: (
        len(document.detectors) > 1 and bool(document.truth.objects) and len(document.detectors[0].thresholds) > 1
    ),
    build=lambda inputs: None,
    render=render,
)
