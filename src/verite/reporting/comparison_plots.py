"""Plots that compare detectors or settings: curves of all, AP with intervals, class × detector, parameter sweeps."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verite.leaderboards.bootstrap import bootstrap_scores
from verite.plotting import COLOURS, SCORE_COLOUR, shorten, shorten_apart
from verite.reporting.coco_plots import frame, mean_curves
from verite.reporting.plots import line_style, new_figure, save_figures
from verite.statistics.intervals import difference_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from verite.analysis.parameter_sweep import ParameterSweep
    from verite.protocols.coco import CocoResults

RESAMPLES = 200  # of the images
MOST_CLASSES = 100  # rows of the map of classes and detectors, those that differ most
NAMED = 38  # letters of a name


def save_comparison(results: Sequence[CocoResults], folder: Path, format: str = "png") -> list[Path]:
    """Save plots that compare detectors, the best first.

    Files are compare-pr (mean precision over classes against recall), compare-ap (AP, and its difference to the best
    with a 95 % confidence interval of the paired bootstrap over images) and compare-classes (AP by class and detector).

    Returns
    -------
    list of pathlib.Path
        The files that were written.
    """
    key = next(iter(results[0].scores))
    ranked = sorted(results, key=lambda one: -np.nan_to_num(one.scores[key].value, nan=-1.0))
    figures = {
        "compare-pr": plot_curves_of_all(ranked),
        "compare-ap": plot_scores(ranked, key),
        "compare-classes": plot_class_map(ranked, key),
    }
    return save_figures(figures, folder, format, ranked[0].signature)


def plot_curves_of_all(results: Sequence[CocoResults]) -> Figure:
    """Plot mean precision over classes against recall at the first IoU threshold, one line per detector."""
    figure = new_figure((8.4, 4.8))
    axes = figure.add_subplot()
    frame(axes)
    for i, (one, name) in enumerate(zip(results, shorten_apart([one.name for one in results], NAMED), strict=True)):
        curve = mean_curves(one)[0]
        axes.plot(np.linspace(0, 1, len(curve)), curve, label=f"{name}  {np.nanmean(curve):.3f}", **line_style(i))
    axes.set(xlabel="recall", ylabel="precision")
    at = results[0].words.at(results[0].settings.iou[0])
    title = f"Precision against recall at {at}, mean over classes"
    if any(finding.code == "V308" for one in results for finding in one.findings):
        title += "\nFiles were cut at a confidence threshold (V308): their curves end too early."
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, title="area below")
    return figure


def plot_scores(results: Sequence[CocoResults], key: str) -> Figure | None:
    """Plot the score of each detector, and its difference to the best one with a 95 % confidence interval.

    The interval is that of the difference on the same resampled images: intervals of single scores do not show whether
    two detectors differ. None without a score.
    """
    values = [one.scores[key].value for one in results]
    if isnan(values[0]):
        return None
    samples = bootstrap_scores(results, [key], draws=RESAMPLES)[:, :, 0]
    figure = new_figure((9.8, 0.36 * len(results) + 1.6))
    left, right = figure.subplots(1, 2, sharey=True)
    places = np.arange(len(results))
    left.barh(places, np.nan_to_num(values), 0.66, color=SCORE_COLOUR.light)
    for k, value in enumerate(values):
        left.text(np.nan_to_num(value) + 0.01, k, f"{value:.3f}", va="center", fontsize=8)
        gap = value - values[0]
        low, high = difference_interval(gap, samples[:, k] - samples[:, 0], 0.95)
        is_clear = k > 0 and high < 0
        colour = COLOURS[1] if is_clear else "0.45"
        if k:
            right.plot([low, high], [k, k], color=colour, lw=2.2, solid_capstyle="butt")
        right.plot(gap, k, marker="o" if is_clear or not k else "D", ms=6, color=colour)
    left.set_yticks(places, shorten_apart([one.name for one in results], NAMED), fontsize=9)
    left.set(xlim=(0, min(1.0, max(np.nan_to_num(values)) * 1.25 + 0.02)), ylim=(len(results) - 0.4, -0.6), xlabel=key)
    left.set_title(key, fontsize=10, loc="left")
    right.axvline(0, color="0.4", lw=1)
    right.set(xlabel=f"difference of {key}")
    right.set_title("Difference to the best,\n95 % interval of the paired bootstrap", fontsize=10, loc="left")
    for axes in (left, right):
        axes.grid(axis="x", color="0.9", lw=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    return figure


def plot_class_map(results: Sequence[CocoResults], key: str) -> Figure | None:
    """Plot the score of each class and detector as a heat map, the classes by falling score of the best detector."""
    table = np.array([one.class_scores()[key] for one in results], dtype=np.float64).T
    known = np.flatnonzero(~np.isnan(table).all(axis=1))
    if not len(known):
        return None
    spread = np.nanmax(table[known], axis=1) - np.nanmin(table[known], axis=1)
    chosen = known[np.argsort(-spread, kind="stable")[:MOST_CLASSES]]
    chosen = chosen[np.argsort(-np.nan_to_num(table[chosen, 0], nan=-1), kind="stable")]
    names = shorten_apart([one.name for one in results], NAMED)
    figure = new_figure((2.6 + 0.52 * len(results), 0.17 * len(chosen) + 2.4))
    axes = figure.add_subplot()
    image = axes.imshow(np.ma.masked_invalid(table[chosen]), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    axes.set_yticks(range(len(chosen)), shorten_apart([results[0].class_names[k] for k in chosen], 24), fontsize=7)
    axes.set_xticks(range(len(results)), names, rotation=90, fontsize=8)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for (i, j), value in np.ndenumerate(table[chosen]):
        if not isnan(value):
            shown = "1" if value > 0.995 else f"{value:.2f}"[1:]
            axes.text(j, i, shown, ha="center", va="center", fontsize=6.5, color="black" if value > 0.5 else "white")
    figure.colorbar(image, ax=axes, shrink=0.4, label=key)
    more = f", the {len(chosen)} that differ most" if len(chosen) < len(known) else ""
    figure.suptitle(f"{key} by class and detector{more}", fontsize=10, x=0.01, ha="left")
    return figure


def plot_sweep(sweep: ParameterSweep) -> Figure:
    """Plot a score against a parameter with its bootstrap band, the best setting, and the held-out score.

    Parameters
    ----------
    sweep : ParameterSweep
        From `verite.analysis.parameter_sweep.sweep_runs`.

    Returns
    -------
    matplotlib.figure.Figure
        Numbers are placed by their value, words at equal distances.
    """
    numeric = all(isinstance(value, float) for value in sweep.settings)
    places = [float(value) for value in sweep.settings] if numeric else list(range(len(sweep.settings)))
    figure = new_figure((7.2, 4.4))
    upper, lower = figure.subplots(2, 1, height_ratios=(4, 1), sharex=True)
    upper.fill_between(places, sweep.low, sweep.high, color=COLOURS[0], alpha=0.2, lw=0, label="95 % interval")
    upper.plot(places, sweep.values, "o-", color=COLOURS[0], lw=1.6, ms=5, label=sweep.score)
    best = places[sweep.best]
    upper.plot(
        best, sweep.values[sweep.best], "o", mfc="none", mec=COLOURS[1], mew=2, ms=11, label="best on all images"
    )
    upper.axhline(
        sweep.held_out, color=COLOURS[2], lw=1.4, ls="--", label=f"chosen and scored on halves {sweep.held_out:.3f}"
    )
    upper.set(ylabel=f"{sweep.score}{' (lower is better)' if sweep.is_error else ''}")
    upper.legend(frameon=False, fontsize=8)
    gaps = np.diff(places)
    width = 0.6 * float(gaps.min()) if len(gaps) else 0.6
    lower.bar(places, sweep.chosen, width=width, color=COLOURS[0])
    lower.set(ylim=(0, 1), ylabel="best on\nhalves", xlabel=shorten(sweep.parameter, 60))
    labels = [f"{value:g}" if isinstance(value, float) else shorten(value, 20) for value in sweep.settings]
    lower.set_xticks(places, labels, rotation=45 if max(map(len, labels)) * len(labels) > 60 else 0)
    for axes in (upper, lower):
        axes.grid(axis="y", color="0.9", lw=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    return figure
