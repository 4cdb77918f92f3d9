"""Figure of several segmentations of one ground truth with their metric values, as in metric studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verite.errors import BadParameter, DataError
from verite.files import write_atomically
from verite.metrics.catalogue import metric
from verite.model.shapes import binary
from verite.plotting import COLOURS
from verite.reporting.plots import new_figure, render
from verite.studies.alterations import alter
from verite.studies.truths import disc, truths_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Mask = NDArray[np.bool_]
MARGIN = 10  # pixels around the objects
# The metrics of figures 12 to 14 of the comparative study.
SHOWN = {
    "BAH": "bhattacharyya(background=2, contour=1, variant='as-run')",
    "FOM": "figure_of_merit",
    "PAS": "pascal",
    "MARgce": "gce",
}


def draw_results(truth: ArrayLike, results: Mapping[str, ArrayLike], metrics: Mapping[str, str]) -> Figure:
    """The truth's outline over each result, and below it what each metric says; the best value of a row is bold."""
    mine = binary(np.asarray(truth), "truth")
    theirs = {name: binary(np.asarray(mask), name) for name, mask in results.items()}
    if not theirs:
        raise BadParameter("results: expected at least one mask, found none")
    for name, mask in theirs.items():
        if mask.shape != mine.shape:
            raise DataError(f"{name}: expected the truth's size, {mine.shape}, found {mask.shape}")
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
            is_best = badness(metrics[label], found)[k] == min(badness(metrics[label], found))
            below.text(0.5, height, f"{found[k]:.4g}", ha="center", va="center", fontsize=9,
                       weight="bold" if is_best else "normal", transform=below.transAxes)  # fmt: skip
            if k == 0:
                below.text(-0.02, height, label, ha="right", va="center", fontsize=9, transform=below.transAxes)
    figure.suptitle("Truth dashed, results filled; the better value of each metric bold", fontsize=10)
    return figure


def badness(name: str, values: Sequence[float]) -> list[float]:
    """How far each value is from the metric's best; of a metric without one, the value itself."""
    best = metric(name).best
    return [value if best is None else abs(value - best) for value in values]


def examples() -> dict[str, tuple[Mask, dict[str, Mask]]]:
    """Figures 12 to 14 on silhouettes: a contour that closes in, one that goes too far, one that loses a part."""
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
    """The three illustrations."""
    saved = []
    for name, (truth, results) in examples().items():
        saved.append(folder / f"{name}.{format}")
        write_atomically(saved[-1], render(draw_results(truth, results, SHOWN), format))
    return saved
