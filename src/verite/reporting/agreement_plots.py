"""Draw the images on which annotators disagree most, with the boxes of each annotator in its colour."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verite.files import make_folder, write_atomically
from verite.model.images import stem
from verite.plotting import shorten
from verite.progress import count_files
from verite.reporting.draw import BLANK, LONG_SIDE
from verite.reporting.image_files import ImageFiles, load_pixels
from verite.reporting.plots import DPI, file_names, new_figure, render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from verite.annotation_errors.agree import Agreement

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442", "#000000")  # Okabe and Ito
CAPTION = 0.62  # inches


def save_disagreement(
    agreement: Agreement, folder: Path, count: int, images: str | None = None, format: str = "png"
) -> list[Path]:
    """Save figures of the images with the most disagreement, and return their paths."""
    names = [row[0] for row in agreement.disagreement.rows[:count]]
    files = ImageFiles(agreement.annotators.sides[0], images)
    home = make_folder(folder / "disagreement") if names else folder
    saved = [home / f"{name}.{format}" for name in file_names(stem(name) for name in names)]
    for path, name in count_files("drawing", list(zip(saved, names, strict=True))):
        write_atomically(path, render(plot_disagreement(agreement, name, files), format))
    return saved


def plot_disagreement(agreement: Agreement, name: str, files: ImageFiles | None = None) -> Figure:
    """Plot one image with the boxes of all annotators, each in its colour.

    Objects that all annotators of the image have, with one class, are thin; the others are thick, and those that only
    one annotator has are dashed.
    """
    from matplotlib.patches import Rectangle

    annotators, objects, labels = agreement.annotators, agreement.objects, agreement.objects.label
    table = annotators.sides[0].images
    image = int(table.find(name) or 0)
    here = np.flatnonzero(objects.image == image)
    ends = [objects.corners(r, here[objects.has[here, r]])[:, 2:] for r in range(len(annotators.names))]
    reach = np.concatenate([*ends, np.ones((1, 2))]).max(axis=0)
    width, height = float(table.widths[image]) or reach[0] * 1.05, float(table.heights[image]) or reach[1] * 1.05
    scale = LONG_SIDE / max(width, height)
    wide, tall = max(width * scale, 3.0), max(height * scale, 2.0)
    figure = new_figure((wide, tall + CAPTION), facecolor="white", layout=None)
    axes = figure.add_axes((0, CAPTION / (tall + CAPTION), 1, tall / (tall + CAPTION)))
    axes.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[], facecolor=BLANK, aspect="equal")
    axes.spines[:].set_visible(False)
    shown = None if files is None else load_pixels(files[image], (int(width), int(height)), round(LONG_SIDE * DPI))
    if shown is not None:
        axes.imshow(shown, extent=(0, width, height, 0), interpolation="nearest")
    whose = np.flatnonzero(annotators.annotated[:, image])
    colours = dict(zip(whose.tolist(), cycle(COLOURS), strict=False))
    for row in here:
        members = np.flatnonzero(objects.has[row])
        is_agreed = len(members) == len(whose) and len(set(labels[row, members].tolist())) == 1
        for r in members.tolist():
            x1, y1, x2, y2 = objects.corners(r, [row])[0]
            line = "--" if len(members) == 1 else "-"
            width = 0.9 if is_agreed else 2.2
            axes.add_patch(Rectangle((x1, y1), x2 - x1, y2 - y1, ec=colours[r], lw=width, ls=line, fill=False))
            if not is_agreed:
                text = shorten(annotators.sides[r].labels.name(int(labels[row, r])), 24)
                axes.text(x1, y1, text, fontsize=7, color=colours[r], va="bottom", parse_math=False, clip_on=True)
    figure.text(0.01, 0.55 * CAPTION / (tall + CAPTION), shorten(name, 90), fontsize=9, parse_math=False)
    x = 0.01
    for r in whose[: len(COLOURS)].tolist():
        drawn = figure.text(x, 0.12 * CAPTION / (tall + CAPTION), shorten(annotators.names[r], 20), fontsize=9,
                            color=colours[r], weight="bold", parse_math=False)  # fmt: skip
        x += drawn.get_window_extent().width / figure.bbox.width + 0.02
    figure.text(x, 0.12 * CAPTION / (tall + CAPTION), "dashed: one annotator only; thin: all agree", fontsize=8)
    figure.set_label(str(agreement.signature))
    return figure
