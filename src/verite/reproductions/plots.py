"""Figures of the two studies of localization metrics, of 2009 (GRETSI) and 2010 (JEI).

Of 2009: metrics under translation, scaling and rotation of a box. Of 2010: segmentations of one ground truth with the
values of four metrics, like figures 12 to 14. The paper segments photographs by an active contour; they are not
published. Here silhouettes are altered instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from verite.plotting import COLOURS
from verite.reporting.plots import line_style, new_figure, save_figures
from verite.reporting.study_plots import plot_results
from verite.reproductions.gretsi import ALTERATIONS, ANGLES, DIRECTIONS, JUDGED, STEPS, look_at, origin_of
from verite.studies.alterations import alter
from verite.studies.truths import disc, truths_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from verite.reproductions.gretsi import Stars

Mask = NDArray[np.bool_]
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
    return save_figures(dict(sorted(figures.items())), folder, format, stars.signature)


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


# The metrics of figures 12 to 14 of the comparative study.
ILLUSTRATED = {
    "BAH": "bhattacharyya(background=2, contour=1, variant='as-run')",
    "FOM": "figure_of_merit",
    "PAS": "pascal",
    "MARgce": "gce",
}


def examples() -> dict[str, tuple[Mask, dict[str, Mask]]]:
    """Return the examples: a contour that approaches, one that is too small, one that loses a part."""
    plane, dog, man = (truths_of(name)[0].mask for name in ("plane", "dog", "man"))
    return {
        "figure-12": (plane, {f"{n} px too large": alter(plane, "scale", n, n) for n in (16, 8, 2)}),
        "figure-13": (
            dog,
            {
                "10 px too large": alter(dog, "scale", 10, 10),
                "too small": alter(dog, "scale", -6, -6),
                "too small and shifted": alter(alter(dog, "scale", -10, -10), "translation", 4, 8),
            },
        ),
        "figure-14": (
            man,
            {
                "8 px too large": alter(man, "scale", 8, 8),
                "2 px too large": alter(man, "scale", 2, 2),
                "a part is lost": man & ~disc(124, 68, 22),
            },
        ),
    }


def save_illustrations(folder: Path, format: str = "png") -> list[Path]:
    """Save the three figures, named like-figure-12 to -14: the paper's own images are not published.

    Parameters
    ----------
    folder
        Where to write the files.
    format
        File name suffix that matplotlib knows: png, svg or pdf.

    Returns
    -------
    list[Path]
        Their paths.
    """
    figures = {f"like-{name}": plot_results(*shown, ILLUSTRATED) for name, shown in examples().items()}
    return save_figures(figures, folder, format)
