"""Plots of COCO results: precision-recall curves, AP by class, AP by object size.

Precision is read at 101 recalls, as COCO does. Of very many classes the worst are plotted.
"""

from __future__ import annotations

from math import ceil, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.plotting import COLOURS, MOST_OF_NAME, shorten, shorten_apart
from verite.reporting.plots import new_figure, save_figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from verite.protocols.coco import CocoResults

ACCENT, SECOND, QUIET = COLOURS[0], COLOURS[1], "0.72"
MOST_PANELS = 24  # classes with a curve of their own, the worst
MOST_BARS = 100  # classes with a bar, the worst
ACROSS = 6  # panels in a row


def save_coco(results: CocoResults, folder: Path, format: str = "png") -> list[Path]:
    """Save precision-recall curves of all classes and of each, and AP by class and by object size.

    Files are pr (mean over classes at each IoU threshold), pr-classes (a small curve per class), classes (bars of AP)
    and sizes (AP and AR by area range); a plot without data is not written.

    Returns
    -------
    list of pathlib.Path
        The files that were written.
    """
    plots = {"pr": plot_thresholds, "pr-classes": plot_panels, "classes": plot_classes, "sizes": plot_sizes}
    return save_figures({name: plot(results) for name, plot in plots.items()}, folder, format, results.signature)


def mean_curves(results: CocoResults) -> NDArray[np.float64]:
    """Return the mean precision over classes at each IoU threshold and recall.

    Classes without ground truth are not in the mean; where there is none, it is NaN.

    Returns
    -------
    numpy.ndarray
        [threshold, recall], at 101 recalls by default.
    """
    table = results.curve_table
    is_there = ~np.isnan(table)
    count = is_there.sum(axis=2)
    total = np.where(is_there, table, 0).sum(axis=2)
    return np.asarray(np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0))


def plot_thresholds(results: CocoResults) -> Figure:
    """Plot mean precision over classes against recall at every IoU threshold."""
    figure = new_figure((7.2, 4.8))
    axes = figure.add_subplot()
    plot_precision(results, axes)
    return figure


def plot_precision(results: CocoResults, axes: Axes) -> None:
    """Plot mean precision over classes against recall, one line per IoU threshold from dark to light."""
    from matplotlib import colormaps

    curves = mean_curves(results)
    recall = np.linspace(0, 1, curves.shape[1])
    shades = colormaps["viridis"](np.linspace(0.05, 0.85, len(curves)))
    frame(axes)
    for threshold, curve, shade in zip(results.settings.iou, curves, shades, strict=True):
        axes.plot(recall, curve, lw=1.6, color=shade, label=f"{threshold:g}")
    axes.set(xlabel="recall", ylabel="precision")
    axes.set_title(
        f"{shorten(results.name, MOST_OF_NAME)}: precision, mean over classes, at each {results.words.overlap}",
        fontsize=10,
        loc="left",
    )
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, title=results.words.overlap)


def plot_panels(results: CocoResults) -> Figure | None:
    """Plot a small precision-recall curve per class at the first IoU threshold, the worst class first.

    The mean over classes is in grey behind each curve. None without a class that has ground truth.
    """
    every = worst_first(results)
    order = every[:MOST_PANELS]
    if not order:
        return None
    rows = ceil(len(order) / ACROSS)
    columns = min(ACROSS, len(order))
    figure = new_figure((1.75 * columns + 0.6, 1.75 * rows + 0.75))
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
    table, mean = results.curve_table[0], mean_curves(results)[0]
    recall, ap = np.linspace(0, 1, len(mean)), results.class_scores()[next(iter(results.scores))]
    names = shorten_apart([results.class_names[k] for k in order], 16)
    for axes, name, k in zip(panels, names, order, strict=False):
        frame(axes)
        axes.plot(recall, mean, color=QUIET, lw=1)
        axes.fill_between(recall, table[:, k], color=ACCENT, alpha=0.12, lw=0)
        axes.plot(recall, table[:, k], color=ACCENT, lw=1.5)
        axes.set_title(f"{name}  {ap[k]:.3f}", fontsize=8, loc="left")
        axes.set(xticks=[0, 1], yticks=[0, 1])
        axes.tick_params(labelsize=7, length=0)
    for axes in panels[len(order) :]:
        axes.axis("off")
    more = f"; the worst {len(order)} of {len(every)} classes" if len(every) > MOST_PANELS else ""
    at = results.words.at(results.settings.iou[0])
    figure.suptitle(
        f"{shorten(results.name, MOST_OF_NAME)}: precision against recall at {at}, and AP{more}",
        fontsize=9,
        x=0.01,
        ha="left",
    )
    return figure


def plot_classes(results: CocoResults) -> Figure | None:
    """Plot AP of each class as a bar, the best on top, with marks of AP50 and AP75.

    The distance from AP to AP50 is what more precise boxes could gain. None without a class that has ground truth.
    """
    every = worst_first(results)
    order = every[:MOST_BARS]
    if not order:
        return None
    figure = new_figure((7.2, 0.19 * len(order) + 1.3))
    axes = figure.add_subplot()
    scores, places = results.class_scores(), np.arange(len(order))
    headline = next(iter(results.scores))
    axes.barh(places, [scores[headline][k] for k in order], 0.72, color=ACCENT, label=headline)
    for key, colour in (("AP50", SECOND), ("AP75", "#14181f")):
        values = np.array([scores.get(key, [np.nan] * len(results.class_names))[k] for k in order])
        if not np.isnan(values).all():
            axes.plot(values, places, ls="none", marker="|", ms=9, mew=1.6, color=colour, label=key, clip_on=False)
    axes.set_yticks(places, shorten_apart([results.class_names[k] for k in order], 32), fontsize=7.5)
    axes.set(xlim=(0, 1), ylim=(-0.6, len(order) - 0.4))
    axes.grid(axis="x", color="0.9", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    more = f", the worst {len(order)} of {len(every)}" if len(every) > MOST_BARS else ""
    axes.set_title(f"{shorten(results.name, MOST_OF_NAME)}: {headline} of each class{more}", fontsize=10, loc="left")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, frameon=False, fontsize=8)
    return figure


def plot_sizes(results: CocoResults) -> Figure | None:
    """Plot AP and AR by object size."""
    last, names = len(results.settings.max_dets) - 1, results.settings.area_names
    if len(names) < 2:
        return None
    figure = new_figure((7.2, 0.55 * len(names) + 1.4))
    axes = figure.add_subplot()
    places = np.arange(len(names))[::-1]
    for kind, shift, colour, label in (("precision", 0.19, ACCENT, "AP"), ("recall", -0.19, "#9ec5e8", "AR")):
        values = [results.mean(kind, None, area, last) for area in range(len(names))]
        axes.barh(places + shift, np.nan_to_num(values), 0.36, color=colour, label=label)
        for place, value in zip(places, values, strict=True):
            text = "none" if isnan(value) else f"{value:.3f}"
            axes.text(0.008 + (0 if isnan(value) else value), place + shift, text, va="center", fontsize=8)
    axes.set_yticks(places, [shorten(name, 24) for name in names], fontsize=9)
    axes.set(xlim=(0, 1.08))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_title(f"{shorten(results.name, MOST_OF_NAME)}: AP and AR by object size", fontsize=10, loc="left")
    axes.legend(loc="lower right", frameon=False, fontsize=8)
    return figure


def worst_first(results: CocoResults) -> list[int]:
    """Return the positions of classes with ground truth, by rising AP."""
    ap = results.class_scores()[next(iter(results.scores))]
    return sorted((k for k, value in enumerate(ap) if not isnan(value)), key=lambda k: ap[k])


def frame(axes: Any) -> None:
    """Style axes that both go from 0 to 1."""
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.grid(axis="y", color="0.92", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
