"""One picture of any results: which kinds are there, and which fit?"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import BadParameter, did_you_mean
from verite.model.comparison import Comparison
from verite.model.results import Results
from verite.records import record
from verite.reporting.plots import COLOURS, MOST_IN_LEGEND, draw_curves, label_axes, line_style, take_literally

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from verite.protocols.coco import CocoResults
    from verite.protocols.curve_results import CurveResults


@record()
class Kind:
    """A kind of picture: what it is drawn of, and how."""

    fits: Callable[[Any], bool]
    draw: Callable[[Any, Axes], None]


def plot(results: Results | Comparison, kind: str | None = None, ax: Any = None) -> Axes:
    """A picture of results on matplotlib's axes, which are returned: by default the first kind that fits them.

    `pr`: precision against recall; `f1`: F1 against confidence; `classes`: the first score of each class;
    `compare`: the same of several systems.
    """
    fitting = [name for name, one in KINDS.items() if one.fits(results)]
    chosen = kind or (fitting[0] if fitting else None)
    if chosen not in fitting:
        near = did_you_mean(str(kind), fitting)
        raise BadParameter(f"plot: expected {' or '.join(fitting) or 'results'}, found {kind!r}{near}")
    axes = new_axes() if ax is None else ax
    KINDS[chosen].draw(results, axes)
    first = results.results[0] if isinstance(results, Comparison) else results
    axes.figure.set_label(str(first.signature))
    take_literally(axes.figure)
    return axes


def new_axes() -> Axes:
    """Axes of a new figure, which a notebook shows where it is set up to show figures."""
    if "matplotlib.pyplot" in sys.modules:
        from matplotlib import pyplot

        return pyplot.figure(figsize=(6.4, 4.8), layout="constrained").add_subplot()
    from matplotlib.figure import Figure

    return Figure(figsize=(6.4, 4.8), layout="constrained").add_subplot()


def draw_f1(results: CurveResults, axes: Axes) -> None:
    """F1 of each class if predictions below a confidence are left out."""
    label_axes(axes, "confidence", "F1")
    best = {name: curve.best_f1[0] for name, curve in results.curves[0].items() if curve.truths}
    for i, name in enumerate(sorted(best, key=lambda n: -best[n])):
        curve = results.curves[0][name]
        total = curve.precision + curve.recall
        values = np.divide(2 * curve.precision * curve.recall, total, out=np.zeros(len(total)), where=total > 0)
        shown = f"{name} {best[name]:.2f}" if i < MOST_IN_LEGEND else None
        axes.plot(curve.confidence, values, lw=1.5, label=shown, drawstyle="steps-post", **line_style(i))
    axes.set_title(f"{results.name}: F1 at IoU {results.settings.iou[0]:g}")
    if best:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, title="best F1")


def draw_precision(results: CocoResults, axes: Axes) -> None:
    """Precision against recall, the mean over classes, at each threshold and over all of them."""
    label_axes(axes, "recall", "precision")
    table = results.precision[:, :, :, 0, -1]
    present = ~np.isnan(table)
    count = present.sum(axis=2)
    mean = np.divide(np.where(present, table, 0).sum(axis=2), count, out=np.full(count.shape, np.nan), where=count > 0)
    recall = np.linspace(0, 1, mean.shape[1])
    for i, (threshold, values) in enumerate(zip(results.settings.iou, mean, strict=True)):
        axes.plot(recall, values, lw=1.2, label=f"IoU {threshold:g}", **line_style(i))
    axes.set_title(f"{results.name}: precision, mean over classes")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)


def draw_classes(results: Results, axes: Axes) -> None:
    """The first score of each class, the best on top."""
    draw_bars(Comparison([results]), axes)
    axes.set_title(f"{results.name}: {next(iter(results.scores))} of each class")


def draw_bars(comparison: Comparison, axes: Axes) -> None:
    """A group of bars for each class, one for each system; classes by the first system."""
    table = comparison.table()
    systems = len(comparison.names)
    rows = sorted(table.rows, key=lambda row: (np.isnan(row[1]), -np.nan_to_num(row[1])))
    height = 0.8 / systems
    for i, name in enumerate(comparison.names):
        at = np.arange(len(rows)) + (i - (systems - 1) / 2) * height
        axes.barh(at, [row[1 + i] for row in rows], height, color=COLOURS[i % len(COLOURS)], label=name)
    axes.set_yticks(np.arange(len(rows)), [row[0] for row in rows])
    axes.set(xlabel=comparison.headline, ylim=(len(rows) - 0.5, -0.5))
    axes.set_title(f"{comparison.headline} of each class")
    axes.spines[["top", "right"]].set_visible(False)
    if systems > 1:
        axes.legend(frameon=False, fontsize=8)


def has_curves(results: Any) -> bool:
    from verite.protocols.curve_results import CurveResults

    return isinstance(results, CurveResults)


def has_precision(results: Any) -> bool:
    from verite.protocols.coco import CocoResults

    return isinstance(results, CocoResults)


def draw_pr(results: Any, axes: Axes) -> None:
    (draw_curves if has_curves(results) else draw_precision)(results, axes)


KINDS = {
    "pr": Kind(lambda results: has_curves(results) or has_precision(results), draw_pr),
    "f1": Kind(has_curves, draw_f1),
    "classes": Kind(lambda results: isinstance(results, Results), draw_classes),
    "compare": Kind(lambda results: isinstance(results, Comparison), draw_bars),
}
