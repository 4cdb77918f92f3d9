"""Figures of the 2009 GRETSI study: localization metrics under translation, scaling and rotation of a box."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from verite.files import write_atomically
from verite.plotting import COLOURS
from verite.reporting.plots import line_style, new_figure, render
from verite.reproductions.gretsi import ALTERATIONS, ANGLES, DIRECTIONS, JUDGED, STEPS, look_at, origin_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from verite.reproductions.gretsi import Stars

# Figure, alteration and direction, title, horizontal axis; all of the fifth truth.
FIGURES = {
    "figure-3-translation": ("translation", (1, 0), "Vertical translation", "pixels down"),
    "figure-5-scale": ("scale", (1, 0), "Vertical scale change", "pixels higher"),
    "figure-6-rotation": ("rotation", None, "Rotation", "angle [°]"),
}
KINDS = {"contour": "contours", "mask": "regions", "box": "boxes"}
WORDS = {(1, 0): "vertical", (0, 1): "horizontal", (1, 1): "diagonal"}


def save_stars(stars: Stars, folder: Path, format: str = "png") -> list[Path]:
    """Save figures 3 to 6, by their numbers in the paper."""
    figures = {name: plot_metrics(stars, *about) for name, about in FIGURES.items()}
    figures["figure-4-L1"] = plot_directions(stars, "Lq")
    saved = []
    for name, figure in sorted(figures.items()):
        figure.set_label(str(stars.signature))
        saved.append(folder / f"{name}.{format}")
        write_atomically(saved[-1], render(figure, format))
    return saved


def plot_metrics(
    stars: Stars, alteration: str, direction: tuple[int, int] | None, title: str, horizontal: str
) -> Figure:
    """Plot every metric against the alteration, as a share of its largest value; one panel per representation."""
    line = DIRECTIONS.index(direction) if direction else 0
    marks = look_at(alteration, STEPS[None])[0] if direction else ANGLES
    figure = new_figure((13.5, 4.6))
    panels = figure.subplots(1, len(KINDS), sharey=True)
    for axes, (kind, noun) in zip(panels, KINDS.items(), strict=True):
        rows = [i for i, row in enumerate(stars.rows) if row.on == kind]
        for k, i in enumerate(rows):
            axes.plot(marks, relative_curve(stars, i, alteration, line), label=stars.rows[i].label, **line_style(k))
        axes.axvline(0, color="0.85", lw=0.8, zorder=0)
        axes.set(title=f"metrics of {noun}", xlabel=horizontal)
        axes.grid(color="0.93", lw=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(fontsize=7, ncols=2, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    panels[0].set_ylabel("penalty, share of its largest")
    figure.suptitle(f"{title} of the box of 64 × 96 pixels", fontsize=11)
    return figure


def relative_curve(stars: Stars, i: int, alteration: str, line: int) -> NDArray[np.float64]:
    """Return one metric's curve, 0 for the unaltered box, as a share of its largest value.

    Where the metric ignores the alteration, it is a share of the largest value under any alteration.

    Parameters
    ----------
    stars : Stars
        The measured study.
    i : int
        Position of the metric among its rows.
    alteration : str
        "translation", "scale" or "rotation".
    line : int
        Position of the line among `DIRECTIONS`.

    Returns
    -------
    array of float
    """
    curves = {name: look_at(name, stars.values[JUDGED, name][i]) for name in ALTERATIONS}
    penalties = {name: lines - lines[0, origin_of(name)] for name, lines in curves.items()}
    shown = penalties[alteration][line]
    overall = max(float(np.abs(lines).max()) for lines in penalties.values())
    largest = float(np.abs(shown).max())
    found: NDArray[np.float64] = shown / (overall if largest < stars.rules.cold * overall else largest)
    return found


def plot_directions(stars: Stars, label: str) -> Figure:
    """Plot one metric under translation in each direction."""
    i = [row.label for row in stars.rows].index(label)
    figure = new_figure((6.4, 4.4))
    axes = figure.add_subplot()
    for k, direction in enumerate(DIRECTIONS):
        values = stars.values[JUDGED, "translation"][i][k]
        axes.plot(STEPS, values, color=COLOURS[k], lw=1.8, ls=("-", "--", ":")[k], label=WORDS[direction])
    axes.set(xlabel="pixels", ylabel="L1 distance", title="L1 under translation of the box of 64 × 96 pixels")
    axes.grid(color="0.93", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure
