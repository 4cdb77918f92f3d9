"""Plots of a metric study: ground truths, alterations, surfaces, curves, and a summary heat map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verite.errors import BadParameter, DataError, did_you_mean
from verite.metrics.catalogue import metric
from verite.model.rasters import array_of
from verite.model.shapes import binary
from verite.plotting import COLOURS
from verite.reporting.plots import DASHES, LineStyle, file_names, new_figure, save_figures
from verite.reporting.rank_plots import open_axes, write_note
from verite.studies.local import Disc
from verite.studies.properties import outward
from verite.studies.sweeps import Grid
from verite.studies.truths import SCALE_PAIR

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from verite.studies.study import Study
    from verite.studies.sweeps import Sweep
    from verite.studies.truths import Truth

Floats = NDArray[np.float64]
MOST = 6  # metrics shown together where none are named
# What the figures of the comparative study show, by alteration: the metrics, and the truth.
SHOWN = {
    "surfaces": ("FOM", "HAU", "PAS", "HAF1"),
    "translation": ("RMS", "FOM", "PAS", "DMoC", "HAM", "HAF1"),
    "scale": ("RMS", "FOM", "PAS", "ROBcom", "MARgce", "HAF1"),
    "rotation": ("ROBcom", "BAH", "RMS", "HAU", "PAS", "MARgce"),
    "perspective": ("RMS", "FOM", "PAS", "HAU", "DMoy", "MARgce"),
    "behaviour": ("PAS", "HAF1", "KUL"),
    "scales": ("DMoy", "HAF1", "FOM"),
}
TRUTH_SHOWN = {"rotation": "wide"}
MARGIN = 10  # pixels around the objects


def save_study(study: Study, folder: Path, format: str = "png") -> list[Path]:
    """Save every figure of a study to a folder."""
    figures = {"truths": plot_truths(study), "alterations": plot_alterations(study), "synthesis": plot_synthesis(study)}
    grids = [sweep for sweep in study.sweeps if isinstance(sweep, Grid)]
    planes = [sweep for sweep in grids if not sweep.is_line]
    figures |= {f"curves-{grid.name}": plot_curves(study, grid.name) for grid in grids}
    if planes:
        plots = {"surfaces": plot_surfaces, "behaviour": plot_behaviour, "scales": plot_scales}
        figures |= {f"{name}-{planes[0].name}": plot(study, planes[0].name) for name, plot in plots.items()}
    for sweep in study.sweeps:
        if isinstance(sweep, Disc):
            figures[f"places-{sweep.name}"] = plot_places(study, sweep.name)
        elif not isinstance(sweep, Grid):
            figures[f"curves-{sweep.name}"] = plot_growth(study, sweep.name)
    return save_figures(dict(zip(file_names(figures), figures.values(), strict=True)), folder, format)


def find_sweep(study: Study, name: str) -> Sweep:
    """Return the sweep of this name; BadParameter if the study has none."""
    known = {sweep.name: sweep for sweep in study.sweeps}
    if name not in known:
        raise BadParameter(f"plot: expected one of {', '.join(known)}, found {name!r}{did_you_mean(name, known)}")
    return known[name]


def choose_truth(study: Study, what: str, sweep: Sweep) -> Truth:
    """Return the ground truth that the paper shows, where the study has it, else the first."""
    truths = study.evidence.truths_under(sweep)
    return next((truth for truth in truths if truth.name == TRUTH_SHOWN.get(what)), truths[0])


def choose_rows(study: Study, what: str, asked: Sequence[str] | None = None) -> list[int]:
    """Return the rows to show: the chosen metrics, those of the paper, or the first few."""
    labels = [row.label for row in study.rows]
    for label in asked or ():
        if label not in labels:
            raise BadParameter(f"plot: expected a metric of the study, found {label!r}{did_you_mean(label, labels)}")
    wanted = list(asked or [label for label in SHOWN.get(what, SHOWN["translation"]) if label in labels])
    return [labels.index(label) for label in wanted or labels[:MOST]]


def curves_of(study: Study, truth: str, sweep: str) -> Floats:
    return study.evidence.curves[truth, sweep]


def panels(count: int, columns: int, width: float, height: float) -> tuple[Figure, list[tuple[int, int, int]]]:
    """Make a figure for so many panels."""
    across = max(1, min(columns, count))
    down = max(1, ceil(count / across))
    figure = new_figure((width * across, height * down + 0.4))
    return figure, [(down, across, i + 1) for i in range(count)]


def plot_truths(study: Study) -> Figure:
    """Plot the ground truths, each with its name."""
    scenes = {truth.name: truth for sweep in study.sweeps for truth in sweep.truths}
    truths = [*study.truths, *scenes.values()]
    figure, places = panels(len(truths), 8, 1.5, 1.65)
    for truth, place in zip(truths, places, strict=True):
        axes = figure.add_subplot(*place)
        axes.imshow(truth.mask, cmap="Greys", vmin=0, vmax=1.25, interpolation="nearest")
        axes.set_title(truth.name, fontsize=8)
        bare(axes)
    figure.suptitle("Truths", fontsize=10)
    return figure


def bare(axes: Axes) -> None:
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_color("0.8")


def plot_alterations(study: Study, truth: str | None = None) -> Figure:
    """Plot examples of every alteration: the altered region filled, the ground truth as a dashed line."""
    examples: list[tuple[str, NDArray[np.bool_], NDArray[np.bool_]]] = []
    for sweep in study.sweeps:
        chosen = next(
            (t for t in study.evidence.truths_under(sweep) if t.name == truth), study.evidence.truths_under(sweep)[0]
        )
        runs = sweep.rasterise(chosen)
        for label, i in example_places(sweep, chosen):
            examples.append((f"{sweep.name}\n{label}", chosen.mask, array_of(runs, i)))
    figure, places = panels(len(examples), 4, 1.9, 2.1)
    for (title, before, after), place in zip(examples, places, strict=True):
        axes = figure.add_subplot(*place)
        axes.imshow(after, cmap="Blues", vmin=0, vmax=1.8, interpolation="nearest")
        axes.contour(before, levels=[0.5], colors=[COLOURS[1]], linestyles="--", linewidths=1.0)
        rows, columns = (np.flatnonzero((before | after).any(axis=k)) for k in (1, 0))
        axes.set(xlim=(columns[0] - 12, columns[-1] + 12), ylim=(rows[-1] + 12, rows[0] - 12), aspect="equal")
        axes.set_title(title, fontsize=8)
        bare(axes)
    figure.suptitle("Alterations: ground truth dashed, results filled", fontsize=10)
    return figure


def example_places(sweep: Sweep, truth: Truth) -> list[tuple[str, int]]:
    """Return examples of a sweep's results, with the parameters of each."""
    if not isinstance(sweep, Grid):
        places, sizes = sweep.shape(truth)
        picked = [(places // 3, sizes // 2), (2 * places // 3, sizes - 1)]
        return [(f"{'weak' if k == 0 else 'strong'}", p * sizes + s) for k, (p, s) in enumerate(picked)]
    n, middle = len(sweep.marks), len(sweep.marks) // 2
    if sweep.is_line:
        return [(f"{sweep.marks[k]:g}°", k) for k in (middle + n // 12, middle + n // 4)]
    far, near = middle + n // 3, middle - n // 4
    return [(f"({sweep.marks[x]:g}, {sweep.marks[y]:g})", x * n + y) for x, y in ((far, middle), (near, far))]


def plot_surfaces(study: Study, sweep: str, metrics: Sequence[str] | None = None) -> Figure:
    """Plot penalties over both parameters of an alteration, as surfaces."""
    plan = find_sweep(study, sweep)
    if not isinstance(plan, Grid) or plan.is_line:
        raise BadParameter(f"surfaces: expected an alteration of two parameters, found {sweep}")
    truth = choose_truth(study, "surfaces", plan)
    rows = choose_rows(study, "surfaces", metrics)
    figure, places = panels(len(rows), 2, 4.2, 3.4)
    x, y = np.meshgrid(plan.marks, plan.marks, indexing="ij")
    for i, place in zip(rows, places, strict=True):
        axes: Any = figure.add_subplot(*place, projection="3d")
        values = curves_of(study, truth.name, sweep)[i]
        axes.plot_surface(x, y, values, cmap="viridis", rcount=49, ccount=49, lw=0, antialiased=True)
        axes.set_title(study.rows[i].label, fontsize=9)
        axes.set_xlabel("x", fontsize=7)
        axes.set_ylabel("y", fontsize=7)
        axes.tick_params(labelsize=6)
    figure.suptitle(f"Penalties under {sweep}, truth: {truth.name}", fontsize=10)
    return figure


def plot_curves(study: Study, sweep: str, metrics: Sequence[str] | None = None, truth: str | None = None) -> Figure:
    """Plot penalties along the diagonal of an alteration, or over its angle, as shares of each metric's largest."""
    plan = find_sweep(study, sweep)
    assert isinstance(plan, Grid)
    shown = next((t for t in study.truths if t.name == truth), choose_truth(study, plan.alteration, plan))
    figure, axes = open_axes(6.8, 4.4)
    rows = choose_rows(study, plan.alteration, metrics)
    for k, i in enumerate(rows):
        values = curves_of(study, shown.name, sweep)[i]
        line = values if values.ndim == 1 else np.diagonal(values)
        largest = float(np.abs(line).max()) or 1.0
        axes.plot(plan.marks, line / largest, label=study.rows[i].label, **style(k))
    axes.axvline(0, color="0.8", lw=0.8)
    unit = "angle [°]" if plan.is_line else "x = y [px]"
    axes.set(xlabel=unit, ylabel="penalty, share of its largest", title=f"{sweep}, truth: {shown.name}")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
    return figure


def style(k: int) -> LineStyle:
    return {"color": COLOURS[k % len(COLOURS)], "ls": DASHES[k % len(DASHES)], "lw": 1.6}


def plot_behaviour(study: Study, sweep: str, metrics: Sequence[str] | None = None) -> Figure:
    """Plot monotony and continuity: penalties along x, one panel per metric, with jumps marked."""
    plan = find_sweep(study, sweep)
    assert isinstance(plan, Grid)
    rows = choose_rows(study, "behaviour", metrics)[:4]
    figure, places = panels(len(rows), 3, 3.2, 2.6)
    middle = len(plan.marks) // 2

    def gaps_far_out(truth: Truth) -> int:
        curves = curves_of(study, truth.name, sweep)
        found = [at for i in rows for at in gap_places(curves[i][:, middle], curves[i], study)]
        return sum(at not in (middle - 1, middle) for at in found)

    # The truth that shows most.
    truth = max(reversed(study.truths), key=gaps_far_out)
    for i, place in zip(rows, places, strict=True):
        axes = figure.add_subplot(*place)
        curve = curves_of(study, truth.name, sweep)[i]
        line = curve[:, middle]
        axes.plot(plan.marks, line, color=COLOURS[0], lw=1.5, marker=".", ms=3)
        for at in gap_places(line, curve, study):
            axes.axvspan(plan.marks[at], plan.marks[at + 1], color=COLOURS[6], alpha=0.35, lw=0)
        axes.set_title(study.rows[i].label, fontsize=9)
        axes.set_xlabel("x [px]", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(color="0.9", lw=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{sweep} along x, truth: {truth.name}; gaps shaded", fontsize=10)
    return figure


def gap_places(line: Floats, curve: Floats, study: Study) -> list[int]:
    """Return the positions along a line through the origin at which jumps begin."""
    from verite.studies.properties import amplitude, jumps

    threshold, middle = study.tolerances.gap * amplitude(curve), len(line) // 2
    right, left = (np.flatnonzero(jumps(part, threshold, study.tolerances.factor)) for part in outward(line))
    return [*(middle + right).tolist(), *(middle - 1 - left).tolist()]


def plot_scales(study: Study, sweep: str, metrics: Sequence[str] | None = None) -> Figure:
    """Plot scale dependency: penalties along x at the largest y, of a small and a large object."""
    plan = find_sweep(study, sweep)
    assert isinstance(plan, Grid)
    rows = choose_rows(study, "scales", metrics)[:4]
    figure, places = panels(len(rows), 3, 3.2, 2.6)
    for i, place in zip(rows, places, strict=True):
        axes = figure.add_subplot(*place)
        for name, dash, colour in zip(SCALE_PAIR, ("-", "--"), COLOURS, strict=False):
            axes.plot(plan.marks, curves_of(study, name, sweep)[i][:, -1], color=colour, ls=dash, lw=1.6, label=name)
        sign = study.tables[sweep].cells[i]["scale"]
        axes.set_title(f"{study.rows[i].label}  {sign or 'independent'}", fontsize=9)
        axes.set_xlabel(f"x [px], y = {plan.reach}", fontsize=8)
        axes.tick_params(labelsize=7)
        axes.grid(color="0.9", lw=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        if i == rows[0]:
            axes.legend(fontsize=7, frameon=False)
    figure.suptitle(f"Scale dependency under {sweep}", fontsize=10)
    return figure


def plot_growth(study: Study, sweep: str, metrics: Sequence[str] | None = None) -> Figure:
    """Plot penalties of a local change over its size: mean and range over all places."""
    plan = find_sweep(study, sweep)
    truth = choose_truth(study, "growth", plan)
    rows = choose_rows(study, "translation", metrics)
    figure, axes = open_axes(6.8, 4.4)
    for k, i in enumerate(rows):
        values = curves_of(study, truth.name, sweep)[i]
        scaled = values / (float(np.abs(values).max()) or 1.0)
        sizes = np.arange(values.shape[1])
        axes.plot(sizes, scaled.mean(axis=0), label=study.rows[i].label, **style(k))
        axes.fill_between(sizes, scaled.min(axis=0), scaled.max(axis=0), color=COLOURS[k % len(COLOURS)], alpha=0.1)
    axes.set(xlabel="size, in steps", ylabel="penalty, share of its largest", title=f"{sweep}, truth: {truth.name}")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
    return figure


def plot_places(study: Study, sweep: str, metrics: Sequence[str] | None = None) -> Figure:
    """Plot the penalty of a local change along the contour, at its largest size."""
    plan = find_sweep(study, sweep)
    assert isinstance(plan, Disc)
    truth = study.evidence.truths_under(plan)[-1]
    rows = choose_rows(study, "translation", metrics)
    figure, panel = panels(len(rows), 3, 3.0, 2.6)
    spots = plan.places(truth)
    left, top, right, bottom = truth.outline.box
    for i, place in zip(rows, panel, strict=True):
        axes = figure.add_subplot(*place)
        values = curves_of(study, truth.name, sweep)[i][:, -1]
        axes.imshow(truth.mask, cmap="Greys", vmin=0, vmax=8, interpolation="nearest")
        dots = axes.scatter(spots[:, 1], spots[:, 0], c=values, cmap="viridis", s=14, vmin=min(0.0, values.min()))
        bar = figure.colorbar(dots, ax=axes, shrink=0.8)
        bar.ax.tick_params(labelsize=6)
        axes.set(xlim=(left - 8, right + 8), ylim=(bottom + 8, top - 8))
        axes.set_title(study.rows[i].label, fontsize=9)
        bare(axes)
    figure.suptitle(f"Penalty of a {plan.alteration} of radius {plan.reach} at each place", fontsize=10)
    return figure


def plot_synthesis(study: Study) -> Figure:
    """Plot the scores of every metric as a heat map: the share of the points of each table."""
    from matplotlib import colormaps

    sheet = study.tables["synthesis"]
    most = {name: len(study.tables[name].columns) for name in sheet.columns}
    order = sorted(range(len(sheet.labels)), key=lambda i: (-sheet.scores[i], i))
    columns = [*sheet.columns, "final"]
    points = np.array([[*(int(sheet.cells[i][c]) for c in sheet.columns), sheet.scores[i]] for i in order])
    shares = points / np.array([*most.values(), study.out_of])
    figure, axes = open_axes(1.6 + 0.95 * len(columns), 1.3 + 0.24 * len(order))
    axes.imshow(shares, cmap=colormaps["Blues"], vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(columns)), [c.replace("(", "\n(").replace("+", "+\n") for c in columns], fontsize=8)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(order)), [sheet.labels[i] for i in order], fontsize=8)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    for (row, column), share in np.ndenumerate(shares):
        colour = "white" if share > 0.5 else "0.2"
        weight = "bold" if column == len(columns) - 1 else "normal"
        axes.text(
            column, row, str(points[row, column]), ha="center", va="center", fontsize=8, color=colour, weight=weight
        )
    axes.axvline(len(columns) - 1.5, color="white", lw=3)
    write_note(
        figure, f"{study.results:,} results · points out of {', '.join(map(str, [*most.values(), study.out_of]))}"
    )
    return figure


def plot_results(truth: ArrayLike, results: Mapping[str, ArrayLike], metrics: Mapping[str, str]) -> Figure:
    """Plot the ground truth's outline over each result, with the value of each metric below; the best is bold."""
    mine = binary(np.asarray(truth), "truth")
    theirs = {name: binary(np.asarray(mask), name) for name, mask in results.items()}
    if not theirs:
        raise BadParameter("results: expected at least one mask, found none")
    for name, mask in theirs.items():
        if mask.shape != mine.shape:
            raise DataError(f"{name}: expected the size of the ground truth, {mine.shape}, found {mask.shape}")
    rows, columns = (np.flatnonzero(np.logical_or.reduce([mine, *theirs.values()]).any(axis=k)) for k in (1, 0))
    figure = new_figure((2.6 * len(theirs) + 1.2, 2.9 + 0.28 * len(metrics)))
    panels = figure.subplots(2, len(theirs), squeeze=False, height_ratios=(2.6, 0.28 * len(metrics) + 0.1))
    values = {label: [metric(name)(mine, mask) for mask in theirs.values()] for label, name in metrics.items()}
    for k, (name, mask) in enumerate(theirs.items()):
        axes, below = panels[0, k], panels[1, k]
        axes.imshow(mask, cmap="Blues", vmin=0, vmax=1.8, interpolation="nearest")
        axes.contour(mine, levels=[0.5], colors=[COLOURS[1]], linestyles="--", linewidths=1.2)
        axes.set(xlim=(columns[0] - MARGIN, columns[-1] + MARGIN), ylim=(rows[-1] + MARGIN, rows[0] - MARGIN))
        axes.set(xticks=[], yticks=[], title=name, aspect="equal")
        axes.spines[:].set_color("0.8")
        below.axis("off")
        for line, (label, found) in enumerate(values.items()):
            height = 1 - (line + 0.5) / len(values)
            is_best = distance_from_best(metrics[label], found)[k] == min(distance_from_best(metrics[label], found))
            below.text(0.5, height, f"{found[k]:.4g}", ha="center", va="center", fontsize=9,
                       weight="bold" if is_best else "normal", transform=below.transAxes)  # fmt: skip
            if k == 0:
                below.text(-0.02, height, label, ha="right", va="center", fontsize=9, transform=below.transAxes)
    figure.suptitle("Ground truth dashed, results filled; the best value of each metric in bold", fontsize=10)
    return figure


def distance_from_best(name: str, values: Sequence[float]) -> list[float]:
    """Return the distance of each value from the metric's best; the value itself where none is declared."""
    best = metric(name).best
    return [value if best is None else abs(value - best) for value in values]
