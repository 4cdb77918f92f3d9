"""Curves of pedestrian, driving and face benchmarks: miss rate against FPPI, precision against recall by subset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verite.files import write_atomically
from verite.plotting import MOST_OF_NAME, label_axes, shorten
from verite.protocols.kitti import POINTS, KittiResults
from verite.protocols.miss_rate import FPPI, MissRateResults, log_average
from verite.protocols.wider import WiderResults
from verite.reporting.plots import MOST_IN_LEGEND, line_style, new_figure, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LOWEST = 1e-3  # false positives per image at the left end of the axis
TICKS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.64, 0.8, 1.0)  # miss rates, as in plots of the Caltech benchmark


def save_subsets(results: MissRateResults | KittiResults | WiderResults, folder: Path, format: str = "png") -> Path:
    """Save the curves as miss-rate.FORMAT or pr.FORMAT in an existing folder; return the file."""
    figure = new_figure((7.2, 4.8))
    if isinstance(results, MissRateResults):
        name = "miss-rate"
        plot_miss_rates(results, figure.add_subplot())
    else:
        name = "pr"
        plot_subsets(results, figure.add_subplot())
    figure.set_label(str(results.signature))
    path = folder / f"{name}.{format}"
    write_atomically(path, render(figure, format))
    return path


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


def subset_lines(results: KittiResults | WiderResults) -> dict[str, tuple[Floats, Floats, float]]:
    """Return recall, precision and AP of each class and subset with objects."""
    found: dict[str, tuple[Floats, Floats, float]] = {}
    if isinstance(results, KittiResults):
        recall = np.arange(POINTS) / (POINTS - 1)
        for name, by_difficulty in results.curves.items():
            for difficulty, one in by_difficulty.items():
                if one.truths:
                    precision = np.array(one.precision)
                    found[f"{name} {difficulty}"] = (recall, precision, one.average(results.settings.recalls))
        return found
    for subset, by_class in results.curves.items():
        for name, curve in by_class.items():
            if curve.truths:
                found[f"{name} {subset}"] = (curve.recall, curve.precision, curve.ap)
    return found


def plot_subsets(results: KittiResults | WiderResults, axes: Axes) -> None:
    """Plot precision against recall of each class and subset, the highest AP first."""
    label_axes(axes, "recall", "precision")
    lines = subset_lines(results)
    for i, name in enumerate(sorted(lines, key=lambda name: -lines[name][2])):
        recall, precision, ap = lines[name]
        label = f"{shorten(name, MOST_OF_NAME)} {ap:.3f}" if i < MOST_IN_LEGEND else None
        axes.plot(recall, precision, label=label, **line_style(i))
    axes.set(xlim=(0, 1.005), ylim=(0, 1.02))
    axes.set_title(f"{shorten(results.name, MOST_OF_NAME)}: precision against recall")
    if lines:
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, title="AP")
