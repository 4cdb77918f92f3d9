"""Section "Comparison": AP by IoU threshold, objects detected by either of the best two, differences of scores.

Shown for several detectors. Whether two detectors detect different objects is tested by McNemar's exact test on the
objects that only one of them detects, each at the confidence of its best F1; it assumes independent objects.
Differences of scores between neighbours in the ranking have 95 % confidence intervals from the paired bootstrap of the
leaderboard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from verite.model.styles import Markup, element, join_elements
from verite.model.tables import Table
from verite.reporting.report.charts import Axes, Line, interval, line_chart, share_bar
from verite.reporting.report.layout import (
    ABSENT,
    CI,
    TALL,
    column,
    count_of,
    finding,
    is_known,
    name,
    number,
    plain,
    plain_table,
    probability,
    scroll,
    sentence,
    signed,
    table,
    td,
    th,
)
from verite.reporting.report.section import ReportInputs, Section
from verite.reporting.report.sections.confusion import matrix_cell
from verite.reporting.report.sections.error_costs import type_name
from verite.statistics.mcnemar import mcnemar_exact

if TYPE_CHECKING:
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.document import ReportDocument

COLOURS = ("a", "k")  # of lines: the first in the accent, the second in ink, others grey
MOST_LINES = 6
MOST_NAMED = 3  # lines that are named in the chart
COMPARED_SCORES = 6


@dataclass(frozen=True)
class Detections:
    """How many objects both, one or neither of the best two detectors detect, each at its best F1.

    `p` is the p value of McNemar's exact test.
    """

    iou: float
    both: int
    first_only: int
    second_only: int
    neither: int
    p: float


@dataclass(frozen=True)
class Outcomes:
    """Objects by their outcome under the best two detectors, at any confidence: [first, second]."""

    names: list[str]
    matrix: list[list[int]]


@dataclass(frozen=True)
class Difference:
    """95 % confidence interval of a difference (paired bootstrap over images), and P(order kept)."""

    low: float | None
    high: float | None
    kept: float | None


@dataclass(frozen=True)
class Compared:
    """Comparison of the best two detectors, and differences of neighbours in the ranking by "position.score"."""

    KEYS: ClassVar[Mapping[str, str | None]] = {"detections": "finds", "outcomes": "fates", "differences": "gaps"}

    detections: Detections
    outcomes: Outcomes | None
    differences: Mapping[str, Difference]


@dataclass(frozen=True)
class Single:
    """A single detector has no differences."""

    gaps: Mapping[str, Difference]


@dataclass(frozen=True)
class ComparisonData:
    """Data of the section."""

    sides: Compared | Single


def build(inputs: ReportInputs) -> ComparisonData:
    """Compare the outcomes of every object, and take the differences of scores from the leaderboard."""
    if len(inputs.detectors) < 2:
        return ComparisonData(Single({}))
    first, second = inputs.detectors[:2]
    one, two = (detector.overlay.outcomes[0] == 0 for detector in (first, second))
    counted = first.overlay.matches.counted_truth
    both, first_only, second_only = (int((some & counted).sum()) for some in (one & two, one & ~two, two & ~one))
    neither = int(counted.sum()) - both - first_only - second_only
    p = mcnemar_exact(first_only, second_only)
    detections = Detections(first.overlay.iou, both, first_only, second_only, neither, p)
    outcomes = None
    if first.analysis is not None and second.analysis is not None:
        from verite.analysis.comparison import OUTCOMES, DetectorPair

        pair = DetectorPair(first.analysis, second.analysis, (first.name, second.name))
        outcomes = Outcomes(list(OUTCOMES), pair.migration.tolist())
    return ComparisonData(Compared(detections, outcomes, differences_of(inputs)))


def differences_of(inputs: ReportInputs) -> dict[str, Difference]:
    """Return the bootstrap intervals of the differences of neighbours for every resampled score.

    Neighbours by the first score may rank the other way round by another one: the interval is then turned, too.
    """
    ranking, found = inputs.ranking, {}
    boards = {} if ranking is None else ranking.json.get("metrics") or {ranking.metric: ranking.json}
    for metric, board in boards.items():
        order = [row["name"] for row in board["detectors"]]
        pairs = {(pair["first"], pair["second"]): pair for pair in board["pairs"]}
        for i, (mine, other) in enumerate(pairwise(inputs.detectors)):
            names = mine.name, other.name
            is_turned = names[::-1] in pairwise(order)  # by this score the other one is ahead
            if is_turned or names in pairwise(order):
                ahead, behind = names[::-1] if is_turned else names
                gap, pair = board["detectors"][order.index(ahead)]["gap"], pairs.get((ahead, behind)) or {}
                kept = next((pair[key]["kept"] for key in ("both", "images", "errors") if pair.get(key)), None)
                low, high = gap["low"], gap["high"]
                if is_turned:
                    low, high = (None if end is None else -end for end in (high, low))
                found[f"{i}.{metric}"] = Difference(low, high, kept)
    return found


def render(document: ReportDocument, images: ReportImages, data: ComparisonData) -> Markup:
    """Render chart, detections, outcomes and tables."""
    compared = data.sides
    assert isinstance(compared, Compared)
    blocks = [threshold_chart(document), render_outcomes(document, compared)]
    return join_elements(
        finding(summarise(document, compared.detections)),
        element("div", *(element("div", block) for block in blocks if block is not None), class_="two"),
        threshold_table(document),
        difference_table(document, compared.differences),
    )


def summarise(document: ReportDocument, counts: Detections) -> Markup:
    """Return who is ahead, and who detects more objects."""
    first, second = document.detectors[:2]
    gap = first.headline - second.headline
    lead = sentence(name(first.name), f" is ahead by {number(gap)}\u00a0{document.score}")
    if not gap >= 0.0005:
        lead = sentence(name(first.name), " and ", name(second.name), f" are tied in {document.score}")
    more = counts.second_only - counts.first_only
    if more > 0:
        return sentence(lead, ", but ", name(second.name), f" detects {count_of(more, 'more object')}.")
    if more < 0:
        return sentence(lead, f" and detects {count_of(-more, 'more object')}.")
    return sentence(lead, "; both detect the same number of objects.")


def threshold_chart(document: ReportDocument) -> Markup | None:
    """Plot the score against the IoU threshold, one line per detector; None for fewer than three thresholds."""
    shown = document.detectors[:MOST_LINES]
    ious = [one.iou for one in shown[0].thresholds]
    if len(ious) < 3:
        return None
    score, overlap = document.score, document.words.overlap
    axes = Axes(f"{overlap} threshold", score, x_range=(ious[0], ious[-1]), x_ticks=ious[::2])
    lines = []
    for i, one in enumerate(shown):
        points = [(at.iou, at.ap if is_known(at.ap) else float("nan")) for at in one.thresholds]
        at = ious[0] + (0.02 + 0.22 * (i % 3)) * (ious[-1] - ious[0])
        # Names of many lines would overlap: the grey ones are named by the pointer and in the table.
        label = one.name if i < len(COLOURS) or len(shown) <= MOST_NAMED else ""
        lines.append(Line(label, points, COLOURS[i] if i < len(COLOURS) else "g", at, name=one.name))
    best = f" for the best {len(shown)} detectors" if len(document.detectors) > len(shown) else ""
    others = "; grey: the others" if len(shown) > MOST_NAMED else ""
    return join_elements(
        element("h3", f"{score} by {overlap} threshold"),
        element("p", f"The score at each threshold{best}{others}."),
        line_chart(axes, lines[::-1], f"{score} against {overlap}"),
    )


def threshold_table(document: ReportDocument) -> Markup:
    """Render the score of each detector at each IoU threshold."""
    ious = [one.iou for one in document.detectors[0].thresholds]
    if len(ious) < 2:
        return Markup()
    rows = tuple((one.name, *(at.ap for at in one.thresholds)) for one in document.detectors)
    data = Table((document.words.overlap, *(f"{iou:g}" for iou in ious)), rows)
    return scroll("Table of thresholds", plain_table(data, "The score at each threshold.", ["l"]))


def render_outcomes(document: ReportDocument, data: Compared) -> Markup:
    """Render which of the best two detectors detect an object, and the outcome of every object under both.

    The bar counts objects at the confidence of each detector's best F1, with McNemar's exact test; the matrix has the
    outcome of every object at any confidence: detected, or the error type that it is attributed to.
    """
    first, second = (one.name for one in document.detectors[:2])
    one = data.detections
    shares = [
        ("both", one.both, "c-two"),
        (f"{plain(first, 16)} only", one.first_only, "c-ap"),
        (f"{plain(second, 16)} only", one.second_only, "c-b"),
        ("neither", one.neither, "c-none"),
    ]
    total = sum(count for _, count, _ in shares)
    rows = [
        element("tr", th(element("span", class_=f"sw {kind}"), label), td(f"{count:,}"))
        for label, count, kind in shares
    ]
    at = f"{total:,} objects at {document.words.at(one.iou)}, each detector at the confidence of its best F1."
    p = "p < 0.001" if one.p < 0.001 else f"p = {one.p:.3f}"
    word = "Statistically significant" if one.p < 0.05 else "Not statistically significant"
    parts = [
        element("h3", "Objects detected by each detector"),
        element("p", at),
        share_bar(shares, total),
        table("Objects by the detectors that detect them.", [], rows, is_captioned=False, class_="slim"),
        element("p", f"{word} (exact McNemar test, {p}; assumes independent objects).", class_="note"),
    ]
    if data.outcomes is not None:
        names, matrix = data.outcomes.names, data.outcomes.matrix
        shown = {"right": "detected (TP)", "missed": "missed (FN)"}
        kept = [k for k in range(len(names)) if any(matrix[k]) or any(row[k] for row in matrix)]
        words = {k: shown.get(names[k], type_name(names[k])) for k in kept}
        total = sum(map(sum, matrix))
        rows = [element("tr", th(words[a]), *(matrix_cell(matrix[a][b], total, a == b, 0) for b in kept)) for a in kept]
        heads = [element("td"), *(column(name(words[k])) for k in kept)]
        caption = "Objects by outcome under two detectors."
        parts += [
            element("h3", "Outcome of every object under both detectors"),
            element("p", "Rows: ", name(first), ". Columns: ", name(second), ". At any confidence."),
            scroll("Table of outcomes", table(caption, heads, rows, is_captioned=False, class_="mx outcomes")),
        ]
    return join_elements(*parts)


def difference_table(document: ReportDocument, differences: Mapping[str, Difference]) -> Markup:
    """Render differences of neighbours in the ranking for every score.

    Each has a bar with its 95 % confidence interval (paired bootstrap over images) and the probability that the order
    is kept; an interval that includes 0 is grey. Without a leaderboard there are differences alone.
    """
    scores = document.detectors[0].scores
    keys = [key for key in list(scores)[:COMPARED_SCORES] if is_known(scores[key])]
    if not keys:
        return Markup()
    absent, rows, reach = Difference(None, None, None), [], 0.02
    for i, (mine, other) in enumerate(pairwise(document.detectors)):
        for key in keys:
            value = (mine.scores[key] or 0) - (other.scores[key] or 0)
            one = differences.get(f"{i}.{key}", absent)
            rows.append((mine.name, other.name, key, value, one))
            reach = max(reach, abs(value), abs(one.low or value), abs(one.high or value))
    span = (-1.05 * reach, 1.05 * reach)
    has_interval = any(is_known(one.low) for *_, one in rows)
    body = []
    for k, (a, b, key, value, one) in enumerate(rows):
        who = [name(a), " − ", name(b)]
        low, high = one.low, one.high
        ends, colour = (float("nan"), float("nan")), "w" if value < 0 else ""
        if is_known(low) and is_known(high):
            ends, colour = (low, high), "g" if low <= 0 <= high else colour
        cells = [
            th(sentence(*who) if k % len(keys) == 0 else element("span", *who, class_="hide")),
            td(key, kind="l"),
            td(signed(value)),
            td(interval(value, *ends, span, colour), kind="wide"),
        ]
        if has_interval:
            between = f"{signed(low)} to {signed(high)}" if is_known(low) else ABSENT
            cells += [td(between, kind="q"), td(probability(one.kept), kind="q")]
        body.append(element("tr", *cells))
    heads = [column("detectors", "l"), column("score", "l"), column("difference"), column("line: no difference", "l")]
    heads += [column(CI), column("P(order kept)")] if has_interval else []
    by = " in the ranking, with 95\u00a0% confidence intervals (paired bootstrap over images)" if has_interval else ""
    drawn = table(f"Differences of neighbours{by}.", heads, body, class_="gaps")
    return scroll("Table of differences", drawn, kind="tall" if len(rows) > TALL else "")


SECTION = Section(
    id="sides",
    title="Comparison",
    place=20,
    wanted=lambda document: len(document.detectors) > 1 and bool(document.truth.objects),
    build=build,
    render=render,
)
