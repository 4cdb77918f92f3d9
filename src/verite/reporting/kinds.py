"""`vt.plot`: the kinds of plots, and which of them apply to given results."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.parts import part_named
from verite.errors import BadParameter, did_you_mean, excerpt
from verite.model.comparison import Comparison
from verite.model.results import Results
from verite.plotting import COLOURS, MOST_OF_NAME, label_axes, shorten, shorten_apart
from verite.reporting.analysis_plots import PartPlot, analysis_kinds
from verite.reporting.plots import MOST_IN_LEGEND, draw_curves, line_style, new_figure, save_stamped, take_literally

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from verite.analysis.analyse import Analyses, Analysis
    from verite.analysis.comparison import DetectorPair
    from verite.analysis.part import AnalysisPart
    from verite.reporting.analysis_plots import DetectorsPlot


MOST_BARS = 200  # one below the other


@dataclass(frozen=True)
class PlotKind:
    """A kind of picture: what it is drawn of, and how."""

    fits: Callable[[Any], bool]
    draw: Callable[[Any, Axes], None]
    rows: Callable[[Any], int] = lambda results: 0  # bars one below the other, which need room
    is_square: bool = False  # as many columns as rows


def plot(
    results: Results | Comparison | Analysis | Analyses | AnalysisPart | DetectorPair,
    kind: str | None = None,
    ax: Any = None,
) -> Axes:
    """A picture of results on matplotlib's axes, which are returned: by default the first kind that fits them.

    `pr`: precision against recall; `f1`: F1 against confidence; `classes`: the first score of each class;
    `compare`: the same of several systems; `errors` and the other parts of an analysis by their names; `systems`: what
    errors cost each of several.
    """
    kinds: dict[str, PlotKind | PartPlot | DetectorsPlot] = {**KINDS, **analysis_kinds()}
    fitting = [name for name, one in kinds.items() if one.fits(results)]
    chosen = kind or (fitting[0] if fitting else None)
    if chosen not in fitting:
        near = did_you_mean(str(kind), fitting)
        raise BadParameter(f"plot: expected {' or '.join(fitting) or 'results'}, found {kind!r}{near}")
    if ax is not None and not hasattr(ax, "get_xaxis"):
        raise BadParameter(f"ax: expected axes of matplotlib, found {excerpt(ax)}")
    axes = new_axes(kinds[chosen].rows(results), is_square=kinds[chosen].is_square) if ax is None else ax
    kinds[chosen].draw(results, axes)
    first: Any = results.results[0] if isinstance(results, Comparison) else results
    axes.figure.set_label(str(first.signature))
    take_literally(axes.figure)
    if ax is None:
        figure: Any = axes.figure
        figure.savefig = partial(save_stamped, figure, figure.savefig)
    return axes


def new_axes(rows: int = 0, *, is_square: bool = False) -> Axes:
    """Axes of a new figure, tall enough for its rows, which a notebook shows where it is set up to show figures."""
    height = max(4.8, 0.16 * rows + (2.4 if is_square else 1.2))
    size = (max(6.4, height) if is_square else 6.4, height)
    if "matplotlib.pyplot" in sys.modules:
        from matplotlib import pyplot

        return pyplot.figure(figsize=size, layout="constrained").add_subplot()
    return new_figure(size).add_subplot()


def f1_lines(shown: Any) -> tuple[str, dict[str, tuple[Any, Any]]]:
    """The threshold in words, and for each class with truths its confidences and the F1 from each of them on."""
    if has_curves(shown):
        curves = [curve for curve in shown.curves[0].values() if curve.truths]
        at = shown.words.at(shown.settings.iou[0])
        return at, {curve.label: (curve.confidence, curve.f1) for curve in curves}
    operating = PartPlot(part_named("operating")).find(shown)
    names = operating.matches.names
    at = operating.matches.words.at(operating.matches.iou)
    return at, {names[k]: (one.confidence, one.f()) for k, one in operating.labels.items()}


def draw_f1(shown: Any, axes: Axes) -> None:
    """F1 of each class if predictions below a confidence are left out."""
    label_axes(axes, "confidence", "F1")
    at, lines = f1_lines(shown)
    best = {name: float(np.max(values, initial=0.0)) for name, (_, values) in lines.items()}
    for i, name in enumerate(sorted(best, key=lambda n: -best[n])):
        label = f"{name} {best[name]:.2f}" if i < MOST_IN_LEGEND else None
        axes.plot(*lines[name], label=label, drawstyle="steps-post", **line_style(i))
    axes.set_title(f"{shorten(shown.name, MOST_OF_NAME)}: F1 at {at}")
    if best:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, title="best F1")


def draw_classes(results: Results, axes: Axes) -> None:
    """The first score of each class, the best on top."""
    draw_bars(Comparison([results]), axes)
    axes.set_title(f"{shorten(results.name, MOST_OF_NAME)}: {next(iter(results.scores))} of each class")


def draw_bars(comparison: Comparison, axes: Axes) -> None:
    """A group of bars for each class, one for each system; classes by the first system."""
    table = comparison.table()
    systems = len(comparison.names)
    rows = sorted(table.rows, key=lambda row: (np.isnan(row[1]), -np.nan_to_num(row[1])))
    hidden = max(0, len(rows) * systems - MOST_BARS) // systems
    rows = rows[hidden:]  # of very many, the worst
    height = 0.8 / systems
    for i, name in enumerate(shorten_apart(comparison.names, MOST_OF_NAME)):
        at = np.arange(len(rows)) + (i - (systems - 1) / 2) * height
        axes.barh(at, [row[1 + i] for row in rows], height, color=COLOURS[i % len(COLOURS)], label=name)
    small: dict[str, Any] = {"fontsize": 8} if len(rows) > 16 else {}
    axes.set_yticks(np.arange(len(rows)), shorten_apart([row[0] for row in rows], 32), **small)
    axes.set(xlabel=comparison.headline, ylim=(len(rows) - 0.5, -0.5))
    axes.set_title(f"{comparison.headline} of each class" + (f", the worst {len(rows)}" if hidden else ""))
    axes.spines[["top", "right"]].set_visible(False)
    if systems > 1:
        axes.legend(frameon=False, fontsize=8)


def has_curves(results: Any) -> bool:
    from verite.protocols.curves import CurveResults

    return isinstance(results, CurveResults)


def has_precision(results: Any) -> bool:
    from verite.protocols.coco import CocoResults

    return isinstance(results, CocoResults)


def draw_pr(results: Any, axes: Axes) -> None:
    from verite.reporting.coco_plots import draw_precision

    (draw_curves if has_curves(results) else draw_precision)(results, axes)


def count_bars(results: Results | Comparison) -> int:
    """How many bars there are below each other."""
    several = results.results if isinstance(results, Comparison) else (results,)
    return min(MOST_BARS, len(several) * len(several[0].class_names))


KINDS = {
    "pr": PlotKind(lambda results: has_curves(results) or has_precision(results), draw_pr),
    "f1": PlotKind(lambda shown: has_curves(shown) or PartPlot(part_named("operating")).fits(shown), draw_f1),
    "classes": PlotKind(lambda results: isinstance(results, Results), draw_classes, count_bars),
    "compare": PlotKind(lambda results: isinstance(results, Comparison), draw_bars, count_bars),
}
