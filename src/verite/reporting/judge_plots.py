"""Plots of `verite judge fit`: agreement of metrics with people, judges, preferences and strengths of results."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from verite.judge.fit import JudgeFit, Share
from verite.judge.other_studies import ChoiceStudy
from verite.plotting import COLOURS, QUIET_INK, label_rows, shorten_apart
from verite.reporting.plots import new_figure, save_figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_METRICS = 40


def save_judgements(found: JudgeFit | ChoiceStudy, folder: Path, format: str = "png") -> list[Path]:
    """Save every plot of a study in a folder, and return their paths."""
    if isinstance(found, ChoiceStudy):
        return save_figures({"alterations": plot_choices(found)}, folder, format)
    plots = {"metrics": plot_agreement, "judges": plot_judges}
    if found.contrasts or found.strengths:
        plots["preferences"] = plot_preferences
    return save_figures({name: plot(found) for name, plot in plots.items()}, folder, format)


def draw_shares(axes: Axes, shares: Mapping[str, Share], colour: str = COLOURS[0]) -> None:
    """Draw shares as points with their 95 % confidence intervals, one row each, the first on top."""
    rows = list(shares.values())
    for i, one in enumerate(rows):
        if isfinite(one.agreement):
            axes.plot([one.low, one.high], [i, i], color=colour, lw=1.6, solid_capstyle="butt")
            axes.plot(one.agreement, i, "o", color=colour, ms=5)
    label_rows(axes, list(shares))
    axes.grid(axis="x", color="0.9", lw=0.6)
    axes.set_axisbelow(True)


def plot_agreement(found: JudgeFit) -> Figure:
    """Plot the share of votes that each metric predicts, with intervals, chance and the human ceiling."""
    order = sorted(found.metrics, key=lambda name: -found.metrics[name].agreement)[:MOST_METRICS]
    shown = {name: found.metrics[name] for name in order}
    if found.metric is not None:
        fitted = Share(found.metric.held_out, found.metric.low, found.metric.high, found.metric.held_out_votes)
        shown = {"fitted (held out)": fitted} | shown
    figure = new_figure((7.2, 1.4 + 0.21 * len(shown)))
    axes = figure.subplots()
    if isfinite(found.ceiling.agreement):
        axes.axvspan(found.ceiling.low, found.ceiling.high, color=COLOURS[2], alpha=0.15, lw=0)
        label = f"human ceiling {found.ceiling.agreement:.2f}"
        axes.axvline(found.ceiling.agreement, color=COLOURS[2], lw=1.4, label=label)
    axes.axvline(found.chance, color=QUIET_INK, lw=1, ls="--", label=f"chance {found.chance:.2f}")
    draw_shares(axes, shown)
    low = min([found.chance - 0.05, *(one.low for one in shown.values() if isfinite(one.low))])
    axes.set(xlim=(max(0.0, low - 0.02), 1.01), xlabel="share of votes predicted, 95 % confidence interval")
    kept = sum(not judge.excluded for judge in found.judges.values())
    axes.set_title(f"Which metric agrees with {kept} judges?", fontsize=10)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
    return figure


def plot_judges(found: JudgeFit) -> Figure:
    """Plot every judge: repeats alike, agreement with the others, catch trials failed, votes for the left side."""
    names = list(found.judges)
    columns = {
        "repeats answered alike": ("self_agreement", None),
        "as most others": ("agreement", None),
        "catch trials failed": ("catch_failed", 0.3),
        "votes for the left": ("side_bias", 0.5),
    }
    figure = new_figure((9.6, 1.3 + 0.24 * len(names)))
    for axes, (title, (key, line)) in zip(figure.subplots(1, 4, sharey=True), columns.items(), strict=True):
        for i, judge in enumerate(found.judges.values()):
            value = getattr(judge, key)
            if isfinite(value):
                axes.barh(i, value, color=COLOURS[1] if judge.excluded else COLOURS[0], height=0.66)
        if line is not None:
            axes.axvline(line, color=QUIET_INK, lw=1, ls="--")
        axes.set_title(title, fontsize=9)
        label_rows(axes, shorten_apart(names, 20))
        axes.set(xlim=(0, 1), xticks=[0, 0.5, 1])
    figure.supxlabel("share; excluded judges in orange", fontsize=9)
    return figure


def plot_preferences(found: JudgeFit) -> Figure:
    """Plot named preferences as shares, and the strengths of the results."""
    tall = max(len(found.contrasts), len(found.strengths))
    figure = new_figure((10.4, 1.3 + 0.3 * tall))
    left, right = figure.subplots(1, 2)
    left.axvline(0.5, color=QUIET_INK, lw=1, ls="--")
    draw_shares(left, found.contrasts)
    left.set(xlim=(0, 1), xlabel="share of comparisons, 95 % confidence interval")
    left.set_title("What people prefer (0.5: no preference)", fontsize=10)
    right.axvline(0, color=QUIET_INK, lw=1, ls="--")
    order = sorted(found.strengths, key=lambda name: -found.strengths[name].agreement)
    draw_shares(right, {name: found.strengths[name] for name in order}, COLOURS[1])
    right.set(xlabel="log strength (Bradley–Terry), 95 % interval")
    right.set_title("Strength of the results", fontsize=10)
    return figure


def plot_choices(found: ChoiceStudy) -> Figure:
    """Plot how often each kind of box was chosen, and the box with the highest IoU against chance and the ceiling."""
    figure = new_figure((8.4, 1.9 + 0.3 * (len(found.kinds) + 2)))
    upper, lower = figure.subplots(2, 1, height_ratios=(2, max(2, len(found.kinds))), sharex=True)
    chance = f"chance {found.chance:.2f}"
    upper.axvline(found.chance, color=QUIET_INK, lw=1, ls="--", label=chance)
    draw_shares(upper, {"box with the highest IoU": found.iou, "choice of most others": found.ceiling}, COLOURS[2])
    upper.legend(frameon=False, fontsize=8, loc="upper right")
    upper.set_title(f"{found.choices:,} choices of {found.judges} people", fontsize=10)
    order = sorted(found.kinds, key=lambda kind: -found.kinds[kind].agreement)
    draw_shares(lower, {kind: found.kinds[kind] for kind in order})
    offered = max(len(found.kinds), 1)
    lower.axvline(1 / offered, color=QUIET_INK, lw=1, ls="--")
    lower.set(xlim=(0, 1), xlabel="share of choices, 95 % confidence interval (dashed: chance)")
    return figure
