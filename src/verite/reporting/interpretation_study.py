"""The validation of the interpretation score in pictures: figures 10 to 15 of the paper on the scenes at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite.files import write_atomically
from verite.reporting.figures import new_figure
from verite.reporting.plots import COLOURS, DASHES, render
from verite.studies.interpretation import CONFIDENCES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from verite.studies.interpretation import InterpretationStudy, StudyCurves


def save_study(study: InterpretationStudy, folder: Path, format: str = "png") -> list[Path]:
    """Every figure, named by its number in the paper."""
    figures = draw_study(study)
    saved = [folder / f"{name}.{format}" for name in figures]
    for path, figure in zip(saved, figures.values(), strict=True):
        write_atomically(path, render(figure, format))
    return saved


def draw_study(study: InterpretationStudy) -> dict[str, Figure]:
    c = study.curves
    return {
        "figure-10-localization": draw_localization(c),
        "figure-11-recognition": draw_recognition(c),
        "figure-12-detection": draw_detection(c),
        "figure-13-matching": draw_matching(c),
        "figure-14-confidence": draw_confidence(c),
        "figure-15-class-distance": draw_classes(c),
    }


def draw_localization(c: StudyCurves) -> Figure:
    """Score against power, a curve for each number of objects, a panel for each alteration."""
    figure, panels = four(c.localization, highest(c.localization))
    for axes, (kind, curves) in zip(panels, c.localization.items(), strict=True):
        for i, (count, values) in enumerate(curves.items()):
            line(axes, range(len(values) + 1), [0.0, *values], i, f"{count}")
        set_axes(axes, kind, "power of the alteration", "score")
    panels[0].legend(title="objects in the image", fontsize=7, title_fontsize=7, ncols=2, frameon=False)
    return figure


def draw_recognition(c: StudyCurves) -> Figure:
    """Score against the number of wrong classes."""
    figure, (axes,) = canvas(1)
    for i, (count, values) in enumerate(c.recognition.items()):
        line(axes, range(len(values)), values, i, f"{count}", marker="o")
    set_axes(axes, "wrong classes", "objects with a wrong class", "score")
    axes.legend(title="objects in the image", fontsize=7, title_fontsize=7, ncols=2, frameon=False)
    return figure


def draw_detection(c: StudyCurves) -> Figure:
    """Score against the number of removed (to the left) and added objects (to the right)."""
    figure, (axes,) = canvas(1)
    for i, count in enumerate(c.removed):
        removed, added = c.removed[count], c.added[count]
        places = [*range(-(len(removed) - 1), 0), *range(len(added))]
        line(axes, places, [*removed[:0:-1], *added], i, f"{count}", marker="o")
    axes.axvline(0, color="0.8", lw=0.8, zorder=0)
    set_axes(axes, "missed and spurious objects", "objects removed (−) or added (+)", "score")
    axes.legend(title="objects in the image", fontsize=7, title_fontsize=7, ncols=2, frameon=False, loc="lower right")
    return figure


def draw_matching(c: StudyCurves) -> Figure:
    """Score against power on images of one object, a curve for each way of matching."""
    figure, panels = four(c.matching, highest(c.matching))
    for axes, (kind, curves) in zip(panels, c.matching.items(), strict=True):
        for i, (name, values) in enumerate(curves.items()):  # where curves coincide, all of them can be seen
            line(axes, range(len(values) + 1), [0.0, *values], i, name, width=4.0 - 0.7 * i)
        set_axes(axes, kind, "power of the alteration", "score")
    panels[0].legend(fontsize=7, frameon=False)
    return figure


def draw_confidence(c: StudyCurves) -> Figure:
    """The factor of the class distance against the confidence."""
    figure, (axes,) = canvas(1)
    axes.plot(CONFIDENCES, c.right, color=COLOURS[2], lw=1.8, label="right class")
    axes.plot(CONFIDENCES, c.wrong, color=COLOURS[1], lw=1.8, ls="--", label="wrong class")
    set_axes(axes, "what a class distance is multiplied by", "confidence", "factor")
    axes.legend(frameon=False, fontsize=8)
    return figure


def draw_classes(c: StudyCurves) -> Figure:
    """Recognition score of a wrong class, from the nearest to the farthest, with and without distances."""
    figure, (left, right) = canvas(2)
    names = c.example["classes"]
    for axes, curves in ((left, c.example), (right, c.mean)):
        places = range(len(curves["with"]))
        axes.step(places, curves["without"], where="mid", color=COLOURS[1], ls="--", lw=1.5, label="without distances")
        axes.step(places, curves["with"], where="mid", color=COLOURS[0], lw=1.8, label="with distances")
    left.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
    set_axes(left, f"true class {c.example['class'][0]}", "class told", "recognition score")
    set_axes(
        right, f"mean over {len(names)} classes", "class told, from the nearest to the farthest", "recognition score"
    )
    right.set_xticks(range(0, len(names), 2))
    right.legend(frameon=False, fontsize=8)
    return figure


def canvas(columns: int) -> tuple[Figure, Sequence[Axes]]:
    figure = new_figure((5.6 * columns + 0.4, 4.4))
    found: Sequence[Axes] = figure.subplots(1, columns, squeeze=False)[0]
    return figure, found


def four(panels: Mapping[str, Any], top: float) -> tuple[Figure, Sequence[Axes]]:
    """A panel for each alteration, all to the same scale."""
    figure = new_figure((10.4, 7.6))
    found: Any = figure.subplots((len(panels) + 1) // 2, 2, squeeze=False).ravel()
    for axes in found:
        axes.set(ylim=(0, 1.05 * top or 1.0), xticks=range(0, 21, 5))
    return figure, found


def highest(panels: Mapping[str, Mapping[Any, Sequence[float]]]) -> float:
    return max(max(values) for curves in panels.values() for values in curves.values())


def line(
    axes: Axes, x: Sequence[int], y: Sequence[float], i: int, label: str, *, marker: str = "", width: float = 1.4
) -> None:
    colour, dash = COLOURS[i % len(COLOURS)], DASHES[i // len(COLOURS) % len(DASHES)]
    axes.plot(x, y, color=colour, ls=dash, lw=width, marker=marker, ms=3, label=label)


def set_axes(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x, fontsize=8)
    axes.set_ylabel(y, fontsize=8)
    axes.tick_params(labelsize=7)
    axes.grid(color="0.93", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
