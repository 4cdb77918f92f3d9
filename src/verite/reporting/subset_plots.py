"""Plots of protocols without precision-recall curves of their own: miss rates, subsets, instances, OC-cost.

Miss rate against FPPI (pedestrians), precision against recall by subset (KITTI, WIDER FACE), AP of microscopy against
the IoU threshold, and the parts of OC-cost.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verite.plotting import COLOURS, MOST_OF_NAME, label_axes, shorten, shorten_apart
from verite.protocols.instances import InstanceResults
from verite.protocols.kitti import POINTS, KittiResults
from verite.protocols.miss_rate import FPPI, MissRateResults, log_average
from verite.protocols.oc_cost import PARTS, CorrectionResults
from verite.protocols.wider import WiderResults
from verite.reporting.plots import MOST_IN_LEGEND, line_style, new_figure, save_figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LOWEST = 1e-3  # false positives per image at the left end of the axis
MOST_COSTS = 60  # classes of which the costs are drawn
TICKS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.64, 0.8, 1.0)  # miss rates, as in plots of the Caltech benchmark


def save_subsets(
    results: MissRateResults | KittiResults | WiderResults | InstanceResults | CorrectionResults,
    folder: Path,
    format: str = "png",
) -> Path:
    """Save the plot as miss-rate, pr, thresholds or costs.FORMAT in an existing folder; return the file."""
    figure = new_figure((7.2, 4.8))
    if isinstance(results, MissRateResults):
        name = "miss-rate"
        plot_miss_rates(results, figure.add_subplot())
    elif isinstance(results, InstanceResults):
        name = "thresholds"
        plot_thresholds(results, figure.add_subplot())
    elif isinstance(results, CorrectionResults):
        name = "costs"
        figure = new_figure((7.2, max(3.0, 1.2 + 0.22 * len(cost_rows(results)))))
        plot_costs(results, figure.add_subplot())
    else:
        name = "pr"
        plot_subsets(results, figure.add_subplot())
    return save_figures({name: figure}, folder, format, results.signature)[0]


def plot_miss_rates(results: MissRateResults, axes: Axes) -> None:
    """Plot the miss rate of each class against false positives per image, both logarithmic; the lowest MR⁻² first.

    Dots are the nine FPPI of which MR⁻² is the geometric mean.
    """
    label_axes(axes, "false positives per image (FPPI)", "miss rate")
    known = {name: curve for name, curve in results.curves.items() if curve.truths}
    values = {name: log_average(curve.at()) for name, curve in known.items()}
    lowest = min((float(curve.miss_rate[curve.miss_rate > 0].min(initial=1)) for curve in known.values()), default=1.0)
    bottom = min(0.04, 0.9 * lowest)
    last = max((float(curve.fppi.max(initial=0)) for curve in known.values()), default=0.0)
    right = max(10.0, 1.2 * last)
    for i, name in enumerate(sorted(known, key=lambda name: values[name])):
        curve, style = known[name], line_style(i)
        # The curve starts at a miss rate of 1; after the last prediction it stays as it is.
        x = np.concatenate([[LOWEST / 10], curve.fppi, [right]])
        y = np.concatenate([[1.0], curve.miss_rate, curve.miss_rate[-1:] if len(curve.miss_rate) else [1.0]])
        label = f"{shorten(name, MOST_OF_NAME)} {values[name]:.3f}" if i < MOST_IN_LEGEND else None
        axes.step(np.maximum(x, LOWEST / 10), np.maximum(y, bottom), where="post", label=label, **style)
        if i < MOST_IN_LEGEND:
            axes.plot(
                FPPI, np.maximum(curve.at(), bottom), ls="none", marker="o", ms=3, color=style["color"], clip_on=False
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set(xlim=(LOWEST, right), ylim=(bottom, 1.05))
    axes.set_yticks(TICKS, [f"{tick:g}" for tick in TICKS])
    axes.minorticks_off()
    axes.set_title(f"{shorten(results.name, MOST_OF_NAME)}: miss rate, subset {results.settings.subset}")
    if known:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, title="MR⁻²")


def plot_subsets(results: KittiResults | WiderResults, axes: Axes) -> None:
    """Plot precision against recall of each class and subset, the highest AP first."""
    label_axes(axes, "recall", "precision")
    # Recall, precision and AP of each class and subset with objects.
    lines: dict[str, tuple[Floats, Floats, float]] = {}
    if isinstance(results, KittiResults):
        grid = np.arange(POINTS) / (POINTS - 1)
        for name, by_difficulty in results.curves.items():
            for difficulty, one in by_difficulty.items():
                if one.truths:
                    average = one.average(results.settings.recalls)
                    lines[f"{name} {difficulty}"] = (grid, np.array(one.precision), average)
    else:
        for subset, by_class in results.curves.items():
            for name, curve in by_class.items():
                if curve.truths:
                    lines[f"{name} {subset}"] = (curve.recall, curve.precision, curve.ap)
    for i, name in enumerate(sorted(lines, key=lambda name: -lines[name][2])):
        recall, precision, ap = lines[name]
        label = f"{shorten(name, MOST_OF_NAME)} {ap:.3f}" if i < MOST_IN_LEGEND else None
        axes.plot(recall, precision, label=label, **line_style(i))
    axes.set(xlim=(0, 1.005), ylim=(0, 1.02))
    axes.set_title(f"{shorten(results.name, MOST_OF_NAME)}: precision against recall")
    if lines:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, title="AP")


def plot_thresholds(results: InstanceResults, axes: Axes) -> None:
    """Plot TP / (TP + FP + FN) of each class against the IoU threshold, the highest mean first."""
    label_axes(axes, "IoU threshold", "TP / (TP + FP + FN)")
    lines = {name: results.ap_by_threshold(name) for name in results.class_names}
    lines = {name: values for name, values in lines.items() if not np.isnan(values).any()}
    for i, name in enumerate(sorted(lines, key=lambda name: -lines[name].mean())):
        label = f"{shorten(name, MOST_OF_NAME)} {lines[name].mean():.3f}" if i < MOST_IN_LEGEND else None
        axes.plot(results.settings.iou, lines[name], label=label, marker="o", ms=3, clip_on=False, **line_style(i))
    axes.set(xlim=(min(results.settings.iou) - 0.02, max(results.settings.iou) + 0.02), ylim=(0, 1.02))
    axes.set_title(f"{shorten(results.name, MOST_OF_NAME)}: AP of microscopy by IoU threshold")
    if lines:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, title="AP")


def cost_rows(results: CorrectionResults) -> list[tuple[str, list[float]]]:
    """Return the parts of OC-cost of the dataset, then those of the classes, the highest cost first."""
    by_class = zip(results.class_names, results.class_costs().tolist(), strict=True)
    known = [(name, own) for name, own in by_class if not np.isnan(own).any()]
    return [("all", results.parts.tolist()), *sorted(known, key=lambda row: -sum(row[1]))[:MOST_COSTS]]


def plot_costs(results: CorrectionResults, axes: Axes) -> None:
    """Plot the parts of OC-cost of the dataset and of each class as stacked bars, the highest cost first."""
    rows = cost_rows(results)
    values = np.nan_to_num([own for _, own in rows])
    left = np.zeros(len(rows))
    for i, part in enumerate(PARTS):
        axes.barh(np.arange(len(rows)), values[:, i], 0.8, left=left, color=COLOURS[i], label=part)
        left += values[:, i]
    label_axes(axes, "OC-cost (lower is better)", "")
    names = shorten_apart([name for name, _ in rows], 32)
    axes.set_yticks(np.arange(len(rows)), names, fontsize=8 if len(rows) > 16 else None)
    axes.set(xlim=(0, 1.05 * left.max() or 1), ylim=(len(rows) - 0.5, -0.5))
    axes.set_title(f"{shorten(results.name, MOST_OF_NAME)}: parts of OC-cost")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
