"""Kinds of plots (`vt.plot`): precision-recall, F1, scores of classes, and the parts of an analysis as plots."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.analysis.analyse import Analyses, Analysis, analyse
from verite.analysis.comparison import DetectorPair
from verite.analysis.part import AnalysisPart, PartRecord
from verite.analysis.parts import all_parts, part_named
from verite.errors import BadParameter, did_you_mean, excerpt
from verite.evaluation.results import MatchedResults
from verite.model.comparison import Comparison
from verite.model.results import Results
from verite.plotting import COLOURS, MOST_OF_NAME, label_axes, shorten, shorten_apart
from verite.protocols.coco import CocoResults
from verite.protocols.curves import CurveResults
from verite.protocols.instances import InstanceResults
from verite.protocols.kitti import KittiResults
from verite.protocols.miss_rate import MissRateResults
from verite.protocols.oc_cost import CorrectionResults
from verite.protocols.track import TrackResults
from verite.protocols.wider import WiderResults
from verite.reporting.plots import (
    MOST_IN_LEGEND,
    align_title,
    line_style,
    new_figure,
    plot_curves,
    save_stamped,
    take_literally,
)
from verite.reporting.subset_plots import cost_rows, plot_costs, plot_miss_rates, plot_subsets, plot_thresholds
from verite.reporting.track_plots import count_tracks, plot_alphas, plot_switches, plot_tracks

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_BARS = 200  # of a bar chart


@dataclass(frozen=True)
class PlotKind:
    """A kind of plot: which results it applies to, and how it is drawn.

    Attributes
    ----------
    fits
        Whether it applies to given results.
    draw
        Draws results on axes.
    rows
        Number of bars or rows, for which the figure needs height.
    is_square
        Whether there are as many columns as rows.
    """

    fits: Callable[[Any], bool]
    draw: Callable[[Any, Axes], None]
    rows: Callable[[Any], int] = lambda results: 0
    is_square: bool = False


@dataclass(frozen=True)
class PartPlot:
    """The plot of one part: of the part itself, of an analysis, or of results that can be analysed."""

    part: PartRecord

    @property
    def is_square(self) -> bool:
        """Whether the plot has as many columns as rows."""
        return self.part.is_square

    def fits(self, shown: Any) -> bool:
        """Whether the part can be drawn of this."""
        if self.part.build is None:
            return isinstance(shown, DetectorPair)
        if isinstance(shown, AnalysisPart):
            return shown.name == self.part.name
        return isinstance(shown, Analysis) or (isinstance(shown, MatchedResults) and shown.has_objects)

    def find(self, shown: Any) -> Any:
        """Return the part that is drawn, analysing results first."""
        if isinstance(shown, AnalysisPart | DetectorPair):
            return shown
        return getattr(analyse(shown) if isinstance(shown, Results) else shown, self.part.name)

    def draw(self, shown: Any, axes: Axes) -> None:
        """Draw the part on axes."""
        self.part.plot(self.find(shown), axes)

    def rows(self, shown: Any) -> int:
        """Number of rows below each other, which make the figure taller."""
        return self.part.rows(self.find(shown))


def plot(
    results: Results | Comparison | Analysis | Analyses | AnalysisPart | DetectorPair,
    kind: str | None = None,
    ax: Any = None,
) -> Axes:
    """Plot results on matplotlib axes.

    Parameters
    ----------
    results
        Results of a protocol, a comparison, an analysis, one of its parts, or the comparison of two detectors.
    kind
        "pr" (precision against recall), "f1" (F1 against confidence), "classes" (the first score of each class),
        "compare" (the same of several detectors), a part of an analysis ("errors", "lrp", "froc", "confusion",
        "calibration", "slices", "worst", "suspicious"), or "systems" (error costs of several detectors). Of tracks:
        "hota" (HOTA and its parts by localization threshold), "switches" (over time) or "tracks" (a timeline). Of
        `vt.miss_rate`: "miss-rate" (against false positives per image). Of KITTI and WIDER FACE: "subsets" (precision
        against recall of each). Of `vt.instances`: "thresholds" (AP by IoU threshold), of `vt.oc_cost`: "costs".
        By default the first kind that applies to the results.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; `axes.figure.savefig("plot.png")` saves the figure with the signature of the results.

    Raises
    ------
    BadParameter
        If the kind does not apply to the results, or matplotlib is missing.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a.png"], ["cat"], [[5, 5, 30, 30]])
    >>> pred = vt.Annotations.of(["a.png"], ["cat"], [[6, 6, 30, 30]], confidence=[0.9])
    >>> axes = vt.plot(vt.coco(truth, pred, checks="off"), "classes")
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['cat']
    """
    if not isinstance(kind, (str, type(None))):
        raise BadParameter(f"kind: expected the name of a plot, found {excerpt(kind)}")
    kinds: dict[str, PlotKind | PartPlot] = {
        **KINDS,
        **{part.kind: PartPlot(part) for part in all_parts()},
        "systems": PlotKind(lambda shown: isinstance(shown, Analyses), lambda shown, axes: shown.draw(axes)),
    }
    fitting = [name for name, one in kinds.items() if one.fits(results)]
    chosen = kind or (fitting[0] if fitting else None)
    if chosen not in fitting:
        near = did_you_mean(str(kind), fitting)
        raise BadParameter(f"plot: expected {' or '.join(fitting) or 'results'}, found {kind!r}{near}")
    if ax is not None and not hasattr(ax, "get_xaxis"):
        raise BadParameter(f"ax: expected axes of matplotlib, found {excerpt(ax)}")
    axes: Axes = ax
    if ax is None:  # of a new figure, tall enough for its rows
        is_square = kinds[chosen].is_square
        height = max(4.8, 0.16 * kinds[chosen].rows(results) + (2.4 if is_square else 1.2))
        size = (max(6.4, height) if is_square else 6.4, height)
        # In a notebook, and wherever pyplot is imported already, pyplot makes the figure, so that it is shown.
        if "matplotlib.pyplot" in sys.modules or "ipykernel" in sys.modules:
            from matplotlib import pyplot

            axes = pyplot.figure(figsize=size, layout="constrained").add_subplot()
        else:
            axes = new_figure(size).add_subplot()
    kinds[chosen].draw(results, axes)
    first: Any = results.results[0] if isinstance(results, Comparison) else results
    axes.figure.set_label(str(first.signature))
    align_title(axes)
    take_literally(axes.figure)
    if ax is None:
        figure: Any = axes.figure
        figure.savefig = partial(save_stamped, figure, figure.savefig)
    return axes


def plot_f1(shown: Any, axes: Axes) -> None:
    """Plot F1 of each class against the confidence threshold."""
    label_axes(axes, "confidence", "F1")
    # The IoU threshold in words, and (confidence, F1) of each class with ground truth.
    if isinstance(shown, CurveResults):
        curves = [curve for curve in shown.curves[0].values() if curve.truths]
        at = shown.words.at(shown.settings.iou[0])
        lines = {curve.label: (curve.confidence, curve.f1) for curve in curves}
    else:
        operating = PartPlot(part_named("operating")).find(shown)
        names = operating.matches.names
        at = operating.matches.words.at(operating.matches.iou)
        lines = {names[k]: (one.confidence, one.f()) for k, one in operating.labels.items()}
    best = {name: float(np.max(values, initial=0.0)) for name, (_, values) in lines.items()}
    for i, name in enumerate(sorted(best, key=lambda n: -best[n])):
        label = f"{name} {best[name]:.2f}" if i < MOST_IN_LEGEND else None
        axes.plot(*lines[name], label=label, drawstyle="steps-post", **line_style(i))
    axes.set_title(f"{shorten(shown.name, MOST_OF_NAME)}: F1 at {at}")
    if best:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, title="best F1")


def plot_classes(results: Results, axes: Axes) -> None:
    """Plot the first score of each class, the best on top."""
    plot_bars(Comparison([results]), axes)
    axes.set_title(f"{shorten(results.name, MOST_OF_NAME)}: {next(iter(results.scores))} of each class")


def plot_bars(comparison: Comparison, axes: Axes) -> None:
    """Plot a group of bars per class, one bar per detector; classes by the score of the first detector."""
    table = comparison.table()
    detectors = len(comparison.names)
    rows = sorted(table.rows, key=lambda row: (np.isnan(row[1]), -np.nan_to_num(row[1])))
    hidden = max(0, len(rows) * detectors - MOST_BARS) // detectors
    rows = rows[hidden:]  # of very many classes, the worst
    height = 0.8 / detectors
    for i, name in enumerate(shorten_apart(comparison.names, MOST_OF_NAME)):
        at = np.arange(len(rows)) + (i - (detectors - 1) / 2) * height
        axes.barh(at, [row[1 + i] for row in rows], height, color=COLOURS[i % len(COLOURS)], label=name)
    axes.set_yticks(
        np.arange(len(rows)), shorten_apart([row[0] for row in rows], 32), fontsize=8 if len(rows) > 16 else None
    )
    axes.set(xlabel=comparison.headline, ylim=(len(rows) - 0.5, -0.5))
    axes.set_title(f"{comparison.headline} of each class" + (f", the worst {len(rows)}" if hidden else ""))
    axes.spines[["top", "right"]].set_visible(False)
    if detectors > 1:
        axes.legend(frameon=False, fontsize=8)


def plot_pr(results: Any, axes: Axes) -> None:
    """Plot precision against recall: of each class, or the mean at each IoU threshold."""
    from verite.reporting.coco_plots import plot_precision

    (plot_curves if isinstance(results, CurveResults) else plot_precision)(results, axes)


def count_bars(results: Results | Comparison) -> int:
    """Return the number of bars of a bar chart."""
    several = results.results if isinstance(results, Comparison) else (results,)
    return min(MOST_BARS, len(several) * len(several[0].class_names))


KINDS = {
    "hota": PlotKind(lambda results: isinstance(results, TrackResults), plot_alphas),
    "switches": PlotKind(lambda results: isinstance(results, TrackResults), plot_switches),
    "tracks": PlotKind(lambda results: isinstance(results, TrackResults), plot_tracks, count_tracks),
    "miss-rate": PlotKind(lambda results: isinstance(results, MissRateResults), plot_miss_rates),
    "subsets": PlotKind(lambda results: isinstance(results, (KittiResults, WiderResults)), plot_subsets),
    "thresholds": PlotKind(lambda results: isinstance(results, InstanceResults), plot_thresholds),
    "costs": PlotKind(
        lambda results: isinstance(results, CorrectionResults), plot_costs, lambda results: len(cost_rows(results))
    ),
    "pr": PlotKind(lambda results: isinstance(results, (CurveResults, CocoResults)), plot_pr),
    "f1": PlotKind(
        lambda shown: isinstance(shown, CurveResults) or PartPlot(part_named("operating")).fits(shown), plot_f1
    ),
    "classes": PlotKind(lambda results: isinstance(results, Results), plot_classes, count_bars),
    "compare": PlotKind(lambda results: isinstance(results, Comparison), plot_bars, count_bars),
}
