"""Share card of a report: the result, cost bars and certainty as an image of 1200 × 630 pixels.

That is the size of previews in chats and on the web. The file is PNG, SVG or PDF by its name.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, cast

from verite.errors import BadParameter
from verite.files import write_atomically
from verite.plotting import ERROR_COLOURS, INK, PAPER, QUIET_INK, SCORE_COLOUR, shorten_apart
from verite.reporting.plots import need_matplotlib, new_figure, render, take_literally
from verite.reporting.report.header import summarise
from verite.reporting.report.layout import ends, number
from verite.reporting.report.sections.error_costs import ERROR_TYPES, known_costs, type_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from verite.reporting.report.document import ReportDocument

SIZE = (12.0, 6.3)  # inches at 100 dots each
DPI = 100
MOST_BARS = 4  # detectors
LONGEST_NAME = 46  # letters above a bar
FORMATS = ("png", "svg", "pdf")


def save_card(document: ReportDocument, path: Path) -> Path:
    """Write the share card of a report.

    Parameters
    ----------
    document
        The document of the report.
    path
        File to write; its suffix is the format: .png, .svg or .pdf.

    Raises
    ------
    BadParameter
        If the suffix is another one, or matplotlib is missing.
    """
    format = card_format(path)
    # Draw title, result, one bar of score and costs per detector, and where the numbers come from.
    figure = new_figure(SIZE, layout=None, facecolor=PAPER)
    title = document.title
    if any(one.code == "V308" for one in document.findings):
        title += " · predictions cut at a confidence threshold (V308)"
    figure.text(0.05, 0.925, title, fontsize=14, color=QUIET_INK, va="top")
    # HTML as plain text.
    lines = wrap(unescape(re.sub(r"<[^>]+>", "", summarise(document))).replace("\u00a0", " "), 52)[:4]
    figure.text(0.05, 0.865, "\n".join(lines), fontsize=25, fontweight="bold", color=INK, va="top", linespacing=1.15)
    axes = figure.add_axes((0.05, 0.1, 0.9, 0.74 - 0.067 * len(lines)))
    plot_costs(document, axes)
    ranking, truth = document.ranking, document.truth
    facts = [f"{truth.images:,} images", f"{truth.objects:,} objects", f"{truth.classes:,} classes", document.measured]
    if ranking is not None and ranking.draws:
        facts.append(f"{ranking.draws:,} bootstrap resamples")
    if len(document.detectors) > MOST_BARS:
        facts.insert(0, f"the best {MOST_BARS} of {len(document.detectors)} detectors")
    figure.text(0.05, 0.045, " · ".join(facts), fontsize=12, color=QUIET_INK)
    figure.text(0.95, 0.045, f"verite {document.version}", fontsize=12, color=QUIET_INK, ha="right")
    take_literally(figure)
    figure.set_label(document.detectors[0].signature)
    write_atomically(path, render(figure, format, dpi=DPI))
    return path


def card_format(path: Path) -> str:
    """Return the format of a card by its file name; raise BadParameter for another one, or without matplotlib."""
    need_matplotlib()
    format = path.suffix.lstrip(".").lower()
    if format not in FORMATS:
        raise BadParameter(f"card: expected a file name ending in .{', .'.join(FORMATS)}, found {path.name!r}")
    return format


def plot_costs(document: ReportDocument, axes: Axes) -> None:
    """Draw the bars of score and error costs, which sum to 1, the best detector on top."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    axes.axis("off")
    known = known_costs(document)[:MOST_BARS]
    names = shorten_apart([one.name for _, one, _ in known], LONGEST_NAME)
    axes.set(xlim=(0, 1), ylim=(len(known) - 0.4, -0.9))
    for k, ((_, one, costs), shown) in enumerate(zip(known, names, strict=True)):
        axes.text(0, k - 0.1, shown, fontsize=14, color=INK, va="bottom", fontweight="bold" if k == 0 else "normal")
        interval = ""
        row = document.ranking.of_detector(one.name) if document.ranking else None
        if row is not None and row.gap is not None and row.gap.low is not None and row.gap.high is not None:
            interval = f"   +{number(row.gap.value)} [{ends(row.gap.low, row.gap.high)}] to the next"
        text = f"{document.score} {number(costs.ap)}{interval}"
        axes.text(1, k - 0.1, text, fontsize=13, color=INK, ha="right", va="bottom")
        at = 0.0
        for kind, value in (("score", costs.ap), *((kind, costs.cost.get(kind) or 0.0) for kind in ERROR_TYPES)):
            colour = SCORE_COLOUR if kind == "score" else ERROR_COLOURS.get(kind, SCORE_COLOUR)
            axes.barh(k + 0.2, max(value, 0.0), 0.42, left=at, color=colour.light, lw=0.8, edgecolor=PAPER)
            at += max(value, 0.0)
    at = 0.0
    renderer = FigureCanvasAgg(cast("Figure", axes.figure)).get_renderer()  # type: ignore[no-untyped-call]
    wide = axes.get_window_extent().width
    for kind in ["score", *(kind for kind in ERROR_TYPES if kind in ERROR_COLOURS)] if known else []:
        colour, word = (SCORE_COLOUR, document.score) if kind == "score" else (ERROR_COLOURS[kind], type_name(kind))
        axes.plot(at + 0.005, -0.8, marker="s", ms=9, color=colour.light, clip_on=False)
        written = axes.text(at + 0.018, -0.8, word, fontsize=12, color=QUIET_INK, va="center")
        at += 0.05 + written.get_window_extent(renderer).width / wide
