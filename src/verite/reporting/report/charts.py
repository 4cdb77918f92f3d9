"""SVG charts of the report: stacked bars, confidence intervals, and line charts, without JavaScript.

Bars and intervals have no view box: x is in per cent, and text does not shrink with the page. Line charts have a view
box of 440 by 300. Every number of a chart is also in a table or a sentence beside it, and every chart has a text
alternative for screen readers. Colours are classes of report.css, so that charts follow the light and the dark scheme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log2

from verite.model.styles import Markup, element
from verite.reporting.report.layout import number, plain

WIDE, HIGH = 440, 300
LEFT, RIGHT, TOP, BOTTOM = 36, 14, 26, 44  # margins of a line chart
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
MOST_LABEL = 24  # letters of the label of a line
LETTER = 0.0087  # width of a character of a label, as a share of the widest bar


def text(x: object, y: object, words: str, *more: Markup, kind: str = "", anchor: str = "start") -> Markup:
    """Return an SVG text; `kind` is its class."""
    attributes: dict[str, str | int] = {"x": str(x), "y": str(y)}
    if kind:
        attributes["class_"] = kind
    if anchor != "start":
        attributes["text_anchor"] = anchor
    return element("text", words, *more, **attributes)


# Bars


@dataclass(frozen=True)
class Piece:
    """A piece of a stacked bar: its label, its share of the bar, the class of its colour, and the key of its type."""

    label: str
    value: float
    kind: str
    type: str = ""

    @property
    def share(self) -> float:
        """The value, 0 where it is negative or not finite."""
        return max(self.value, 0.0) if isfinite(self.value) else 0.0


def stacked_bar(pieces: Sequence[Piece], about: str, detector: int = 0) -> Markup:
    """Draw a bar of pieces that sum to 1, each labelled above it or, where there is no room, at the end below it.

    A click on a piece opens the objects of its type of the detector in this position.
    """
    at, last, parts, small, hidden = 0.0, 0.0, [], [], []
    next_on_phone = 0.0  # where the next label may begin on a screen half as wide
    for piece in pieces:
        value = piece.share
        width = max(value - 0.0018, 0.0005) if value > 0 else 0.0
        shown = f"{piece.label} {number(value)}"
        if width:
            parts.append(bar(at, width, piece.kind, shown, data_count=f"{detector}.{piece.type}"))
        # A label moves away from the one before, as far as its piece goes.
        left, long = max(at, last), len(shown) * LETTER
        if value >= 0.02 and left + long <= min(at + max(value, 0.11), 1):
            strong = element("tspan", number(value), class_="k")
            wide = 2.2 * long
            fits = left >= next_on_phone and left + wide <= 1
            kind = "a" if piece.kind == "c-ap" else "" if fits else "narrow"
            parts.append(text(f"{100 * left:.2f}%", 12, f"{piece.label} ", strong, kind=kind))
            last = left + long + 0.01
            next_on_phone = left + wide + 0.02 if fits else next_on_phone
            hidden += [] if kind != "narrow" else [shown]
        elif value >= 0.0005:
            small.append(shown)
        at += value
    if small:
        parts.append(text("100%", 58, " · ".join(small), kind="f sm narrow", anchor="end"))
    if hidden:  # on a phone those that are labelled elsewhere
        parts.append(text("100%", 58, " · ".join(hidden), kind="f sm phone", anchor="end"))
    label = ", ".join(f"{piece.label} {number(piece.value)}" for piece in pieces)
    return element("svg", *parts, class_="bar", height=62, role="img", aria_label=f"{about}: {label}")


def thin_bar(pieces: Sequence[Piece], about: str) -> Markup:
    """Draw a small stacked bar for a row of a table."""
    at, parts = 0.0, []
    for piece in pieces:
        if piece.share > 0.0004:
            left, wide = f"{100 * at:.1f}%", f"{100 * max(piece.share - 0.004, 0.002):.1f}%"
            parts.append(element("rect", class_=piece.kind, x=left, width=wide))
        at += piece.share
    label = ", ".join(f"{piece.label} {number(piece.value)}" for piece in pieces)
    return element("svg", *parts, class_="bar thin", role="img", aria_label=f"{plain(about)}: {label}")


def bar(at: float, width: float, kind: str, title: str, **attributes: str) -> Markup:
    """Draw a piece of a bar from `at` on, both as shares of the whole width, with a tooltip."""
    placed = {"x": f"{100 * at:.2f}%", "y": "20", "width": f"{100 * width:.2f}%", "height": "24"}
    return element("rect", element("title", title), **attributes, class_=kind, **placed)


def share_bar(parts: Sequence[tuple[str, int, str]], total: int) -> Markup:
    """Draw a bar of (label, count, class of its colour)."""
    at, drawn = 0.0, []
    for label, count, kind in parts:
        width = count / total if total else 0.0
        if width:
            drawn.append(bar(at, max(width - 0.004, 0.002), kind, f"{label} {count:,}"))
        at += width
    said = ", ".join(f"{label} {count:,}" for label, count, _ in parts)
    return element("svg", *drawn, class_="bar", height=48, role="img", aria_label=said)


def interval(value: float, low: float, high: float, span: tuple[float, float], kind: str) -> Markup:
    """Draw a value and its 95 % confidence interval.

    Parameters
    ----------
    value, low, high
        The value and the ends of its interval; without an interval both are NaN.
    span
        Ends of the axis, which several rows of a table share; a vertical line marks 0.
    kind
        Class of the colour: "" accent, "g" grey (not significant), "w" orange (worse).
    """

    def place(at: float) -> str:
        share = (min(max(at, span[0]), span[1]) - span[0]) / (span[1] - span[0])
        return f"{100 * (0.02 + 0.96 * share):.2f}%"

    parts = []
    if span[0] <= 0 <= span[1]:
        parts.append(element("line", x1=place(0), x2=place(0), y1=2, y2=24, class_="zero"))
    if isfinite(low) and isfinite(high):
        parts.append(element("line", x1=place(low), x2=place(high), y1=13, y2=13, class_=f"iv {kind}".strip()))
    if isfinite(value):
        parts.append(element("circle", cx=place(value), cy=13, r=5, class_=f"dot {kind}".strip()))
    return element("svg", *parts, class_="bar", height=26, aria_hidden="true")


def dumbbell(first: float | None, second: float | None, kind: str) -> Markup:
    """Draw two scores from 0 to 1 and the line between them; the first one is filled.

    `kind` is the class of the colour, as of `interval`.
    """
    known = [value for value in (first, second) if value is not None and isfinite(value)]
    if len(known) < 2:
        return Markup()
    x1, x2 = (f"{2 + 96 * value:.1f}%" for value in known)
    return element(
        "svg",
        element("line", x1=x1, x2=x2, y1=13, y2=13, class_=f"iv {kind}".strip()),
        element("circle", cx=x2, cy=13, r=4, class_=f"ring {kind}".strip()),
        element("circle", cx=x1, cy=13, r=5, class_=f"dot {kind}".strip()),
        class_="bar",
        height=26,
        aria_hidden="true",
    )


# Lines


@dataclass(frozen=True)
class Line:
    """A line of a chart: points in the units of the axes, its label, and its colour: a accent, k ink, g grey."""

    label: str
    points: Sequence[tuple[float, float]]
    kind: str = "a"
    label_at: float = 1.0  # x of the label
    is_below: bool = False
    name: str = ""  # shown by the pointer where no label is drawn


@dataclass(frozen=True)
class Axes:
    """Names, ticks and ranges of the axes of a line chart.

    Attributes
    ----------
    x, y
        Names of the axes; the first word of `x` is shown by the pointer.
    x_ticks, y_ticks
        Values at which the axes are labelled.
    x_range, y_range
        Ranges in the units of the data.
    is_log
        Whether x is logarithmic to the base of 2.
    """

    x: str
    y: str
    x_ticks: Sequence[float] = TICKS
    y_ticks: Sequence[float] = TICKS
    x_range: tuple[float, float] = (0.0, 1.0)
    y_range: tuple[float, float] = (0.0, 1.0)
    is_log: bool = False  # x in steps of doubling

    @property
    def scale(self) -> list[float]:
        """For the script: x at the left edge and per unit, the same of y, and 1 if x is a power of two."""
        (left, top), (right, base) = self.place(self.x_range[0], self.y_range[1]), self.place(self.x_range[1], 0.0)
        low, high = (log2(end) for end in self.x_range) if self.is_log else self.x_range
        across, along = (high - low) / (right - left), (self.y_range[0] - self.y_range[1]) / (base - top)
        return [low - left * across, across, self.y_range[1] - top * along, along, *([1.0] if self.is_log else [])]

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return the position of a point in the view box; points outside are moved to the edge."""
        low, high = self.x_range
        share = (log2(x) - log2(low)) / (log2(high) - log2(low)) if self.is_log else (x - low) / (high - low)
        up = (y - self.y_range[0]) / (self.y_range[1] - self.y_range[0])
        across, along = WIDE - LEFT - RIGHT, HIGH - TOP - BOTTOM
        return LEFT + min(max(share, 0.0), 1.0) * across, TOP + (1 - min(max(up, 0.0), 1.0)) * along


def tick(value: float) -> str:
    """Return a number at an axis.

    >>> tick(0.25), tick(1.0), tick(8), tick(1050)
    ('0.25', '1', '8', '1,050')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def frame(axes: Axes) -> list[Markup]:
    """Draw grid, base line, ticks and names of the axes."""
    parts = []
    (left, base), (right, _) = axes.place(axes.x_range[0], axes.y_range[0]), axes.place(axes.x_range[1], 0)
    for value in axes.y_ticks:
        y = axes.place(axes.x_range[0], value)[1]
        kind = "axis" if value == axes.y_range[0] else "grid"
        parts.append(element("line", x1=f"{left:.1f}", x2=f"{right:.1f}", y1=f"{y:.1f}", y2=f"{y:.1f}", class_=kind))
        parts.append(text(f"{left - 6:.1f}", f"{y + 4:.1f}", tick(value), kind="f", anchor="end"))
    for value in axes.x_ticks:
        x = axes.place(value, axes.y_range[0])[0]
        shown = f"1/{1 / value:.0f}" if axes.is_log and value < 1 else tick(value)
        parts.append(text(f"{x:.1f}", f"{base + 17:.1f}", shown, kind="f", anchor="middle"))
    parts.append(text(0, 12, axes.y, kind="f"))
    parts.append(text(f"{right:.1f}", HIGH - 6, axes.x, kind="f", anchor="end"))
    return parts


def absent_zone(axes: Axes, low: float, high: float) -> tuple[Markup, Markup] | None:
    """Return the shade of the part of a chart whose predictions are not in the file, and its label; None if tiny.

    They were cut at a confidence threshold.
    """
    (left, top), (right, base) = axes.place(low, axes.y_range[1]), axes.place(high, axes.y_range[0])
    if right - left < 1:
        return None
    middle, height = (left + right) / 2, (top + base) / 2
    words = text(f"{middle:.1f}", f"{height:.1f}", "not in the file", kind="f sm", anchor="middle")
    if right - left < 80:
        turned = {"transform": f"rotate(-90 {middle:.1f} {height:.1f})", "class_": "f sm", "text_anchor": "middle"}
        words = element("text", "not in the file", x=f"{middle:.1f}", y=f"{height:.1f}", **turned)
    area = {"x": f"{left:.1f}", "y": f"{top:.1f}", "width": f"{right - left:.1f}", "height": f"{base - top:.1f}"}
    return element("rect", **area, class_="absent"), words if right - left > 14 else Markup()


def line_chart(
    axes: Axes,
    drawn: Sequence[Line],
    about: str,
    *more: Markup,
    zone: tuple[Markup, Markup] | None = None,
    key: str = "",
) -> Markup:
    """Draw a line chart; lines are labelled where they run, not in a legend.

    Parameters
    ----------
    axes, drawn
        Axes, and lines from back to front.
    about
        Text alternative for screen readers.
    more
        Further SVG elements, such as marks.
    zone
        Shaded part of the chart (`absent_zone`): its area lies behind the lines, its label before them.
    key
        Position of the detector whose slider the chart follows.
    """
    parts = frame(axes) + ([zone[0]] if zone else [])
    for line in drawn:
        placed = [axes.place(x, y) for x, y in line.points if isfinite(x) and isfinite(y)]
        if placed:
            shape = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in placed)
            named = {} if line.kind == "iso" else {"data_name": plain(line.label or line.name or axes.y, MOST_LABEL)}
            parts.append(element("path", d=shape, class_=f"ln {line.kind}", **named))
    parts += [zone[1]] if zone else []
    taken: list[tuple[float, float, float]] = []
    for line in drawn:
        if line.label and line.points:
            parts.append(label(axes, line, taken))
    return element(
        "svg",
        element("title", about),
        *parts,
        *more,
        class_="chart",
        viewBox=f"0 0 {WIDE} {HIGH}",
        role="img",
        aria_label=about,
        data_axes=" ".join(f"{value:g}" for value in axes.scale),
        data_x=axes.x.partition(" ")[0],
        **({"data_chart": key} if key else {}),
    )


def label(axes: Axes, line: Line, taken: list[tuple[float, float, float]]) -> Markup:
    """Label a line near it, below the labels in `taken` (left, y, width) that it would overlap."""
    known = [point for point in line.points if isfinite(point[0]) and isfinite(point[1])]
    if not known:
        return Markup()
    x, y = min(known, key=lambda point: abs(point[0] - line.label_at))
    wide = 7.0 * min(len(line.label), MOST_LABEL)
    left = min(axes.place(x, y)[0] + 4, WIDE - RIGHT - wide)
    # The line must not run through its own label.
    over = [top for spot, top in (axes.place(*point) for point in known) if left - 4 <= spot <= left + wide]
    over.append(axes.place(x, y)[1])
    at = (left, max(over) + 16 if line.is_below else min(over) - 7)
    while any(x < left + wide + 4 and left < x + w + 4 and abs(at[1] - y) < 13 for x, y, w in taken):
        at = (left, at[1] + 13)
    taken.append((*at, wide))
    kind = {"a": "a", "k": "k"}.get(line.kind.split()[0], "")
    return text(f"{at[0]:.1f}", f"{at[1]:.1f}", plain(line.label, MOST_LABEL), kind=kind)


def small_curve(
    points: Sequence[Sequence[float]], mean: Sequence[Sequence[float]], about: str, *, is_cut: bool = False
) -> Markup:
    """Draw precision against recall of one class, with the mean over classes in grey behind it.

    Where predictions were cut (`is_cut`), recalls beyond the last one reached are shaded: they are not in the file.
    """

    def shape(listed: Sequence[Sequence[float]]) -> str:
        return "M" + "L".join(f"{1 + 98 * x:.1f} {2 + 60 * (1 - y):.1f}" for x, y in listed) if listed else ""

    parts = [element("path", d="M1 2V62H99", class_="axis nofill")]
    last = max((x for x, y in points if y > 0), default=0.0)
    if is_cut and last < 1:
        parts.append(
            element("rect", x=f"{1 + 98 * last:.1f}", y=2, width=f"{98 * (1 - last):.1f}", height=60, class_="absent")
        )
    if points:
        parts.append(element("path", d=f"{shape(points)}V62H1Z", class_="area"))
    if mean:
        parts.append(element("path", d=shape(mean), class_="ln g thin"))
    if points:
        parts.append(element("path", d=shape(points), class_="ln a thin"))
    return element("svg", *parts, viewBox="0 0 100 64", role="img", aria_label=about)
