"""Figures like 12 to 14 of the study of 2010: segmentations of one ground truth with the values of four metrics.

The paper segments photographs by an active contour; they are not published. Here silhouettes are altered instead.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from verite.files import write_atomically
from verite.reporting.plots import render
from verite.reporting.study_plots import plot_results
from verite.studies.alterations import alter
from verite.studies.truths import disc, truths_of

Mask = NDArray[np.bool_]
# The metrics of figures 12 to 14 of the comparative study.
SHOWN = {
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
    saved = []
    for name, (truth, results) in examples().items():
        saved.append(folder / f"like-{name}.{format}")
        write_atomically(saved[-1], render(plot_results(truth, results, SHOWN), format))
    return saved
