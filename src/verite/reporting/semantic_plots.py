"""Plots of semantic segmentation: pixel confusion matrix, and maps of wrong pixels.

Ignored pixels are in neither.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import BadParameter
from verite.files import make_folder, write_atomically
from verite.model.images import stem
from verite.model.rasters import array_of
from verite.plotting import MOST_OF_NAME, shorten, shorten_apart
from verite.protocols.panoptic import segment_masks
from verite.protocols.semantic import NOTHING, SemanticResults, find_ignored
from verite.reporting.image_files import ImageFiles, load_pixels
from verite.reporting.plots import file_names, need_matplotlib, new_figure, render, save_figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

WORST = 6  # images that are drawn by default
MOST_CELLS = 20  # classes whose counts are written into their cells
MOST_NAMES = 12  # classes of an image in the legend
CORRECT, WRONG, IGNORED, NONE = "#e8ecf0", "#d55e00", "#9aa3ad", "#000000"


def save_semantic(results: SemanticResults, folder: Path, format: str = "png", images: str | None = None) -> list[Path]:
    """Save the confusion matrix, and maps of the images with the smallest share of correct pixels."""
    side = min(4.0 + 0.32 * len(results.class_names), 24)
    figure = new_figure((side + 0.5, side))
    plot_matrix(results, figure.add_subplot())
    saved = save_figures({"confusion": figure}, folder, format, results.signature)
    worst = results.worst_images()[:WORST]
    names = file_names(stem(results.truth.images.name(i)) for i in worst)
    place = make_folder(folder / "differences") if worst else folder
    for i, name in zip(worst, names, strict=True):
        saved.append(place / f"{name}.{format}")
        write_atomically(saved[-1], render(plot_differences(results, results.truth.images.name(i), images), format))
    return saved


def plot_matrix(results: SemanticResults, axes: Axes) -> None:
    """Plot the confusion matrix of pixels on given axes.

    Rows are ground truth, columns predictions, the last one pixels without a class. Shades are the root of the share of
    the row; of few classes the share is written in per cent.
    """
    matrix = results.confusion
    with np.errstate(invalid="ignore"):
        shares = np.nan_to_num(matrix / matrix.sum(axis=1, keepdims=True))
    axes.imshow(np.sqrt(shares), cmap="Blues", vmin=0, vmax=1, aspect="equal")
    rows, columns = results.class_names, [*results.class_names, NOTHING]
    size = 8 if len(rows) <= MOST_CELLS else 5
    axes.set_xticks(np.arange(len(columns)), shorten_apart(columns, 20), rotation=90, fontsize=size)
    axes.set_yticks(np.arange(len(rows)), shorten_apart(rows, 20), fontsize=size)
    if len(rows) <= MOST_CELLS:
        for i, j in zip(*np.nonzero(matrix), strict=True):
            colour = "white" if shares[i, j] > 0.4 else "black"
            axes.text(j, i, f"{100 * shares[i, j]:.3g}", ha="center", va="center", fontsize=7, color=colour)
    axes.set(xlabel="predicted", ylabel="ground truth")
    axes.set_title(f"{shorten(results.name, MOST_OF_NAME)}: confusion matrix of pixels, % of the ground truth")


def plot_differences(results: SemanticResults, image: str, images: str | PathLike[str] | None = None) -> Figure:
    """Plot the classes of an image in ground truth and prediction, and which of its pixels are wrong.

    Parameters
    ----------
    results, image
        Results of `vt.semantic`, and the name of an image.
    images
        Folder with the images, which are drawn below the classes; None: classes alone.

    Raises
    ------
    BadParameter
        If there is no such image.
    """
    need_matplotlib()
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    at = results.truth.images.find(image)
    if at is None or results.images is None:
        raise BadParameter(f"image: expected one of {len(results.truth.images):,} images, found {image!r}")
    is_ignored = find_ignored(results.pred.labels, results.settings)
    truth, pred = class_map(results.truth, at), class_map(results.pred, at)
    pred = np.full_like(truth, -1) if not pred.size else pred
    truth = np.where((truth >= 0) & is_ignored[truth], -1, truth)
    pixels = load_pixels(
        ImageFiles(results.truth, images)[at] if images is not None else None, (truth.shape[1], truth.shape[0])
    )
    used = [k for k in results.rows if (truth == k).any() or (pred == k).any()]
    colours = class_colours(len(results.pred.labels))
    is_flat = truth.shape[1] > 1.4 * truth.shape[0]
    height, width = truth.shape
    flat, tall = 3 * 6.5 * height / width + 1.2, 3.5 * height / width + 1.2  # inches of three images
    figure = new_figure((7.0, min(max(flat, 3.0), 20.0)) if is_flat else (11.0, min(max(tall, 2.5), 14.0)))
    panels = figure.subplots(*((3, 1) if is_flat else (1, 3)))
    for axes, title, values in zip(panels, ("ground truth", "prediction"), (truth, pred), strict=False):
        if pixels is not None:
            axes.imshow(pixels, extent=(-0.5, truth.shape[1] - 0.5, truth.shape[0] - 0.5, -0.5))
        axes.imshow(paint(values, colours), alpha=1.0 if pixels is None else 0.55, interpolation="nearest")
        axes.set_title(title, fontsize=9)
    outcome = np.where(truth < 0, 2, np.where(truth == pred, 0, 1))
    panels[2].imshow(outcome, cmap=ListedColormap([CORRECT, WRONG, IGNORED]), vmin=0, vmax=2, interpolation="nearest")
    share = float((outcome == 1).sum() / max((outcome != 2).sum(), 1))
    panels[2].set_title(f"wrong (orange): {100 * share:.1f} %; grey: ignored", fontsize=9)
    for axes in panels:
        axes.set_axis_off()
    names = shorten_apart([results.pred.labels.name(k) for k in used[:MOST_NAMES]], 20)
    patches = [Patch(color=colours[k], label=name) for k, name in zip(used, names, strict=False)]
    patches += [Patch(color=NONE, label="none")]
    figure.legend(handles=patches, loc="outside lower center", ncols=6, fontsize=7, frameon=False)
    figure.suptitle(f"{shorten(results.name, MOST_OF_NAME)}: {shorten(image, 60)}", fontsize=10)
    figure.set_label(str(results.signature))
    return figure


def class_map(side: Annotations, at: int) -> NDArray[np.int64]:
    """Return the class of each pixel of an image, by position; -1 where there is none."""
    rows = np.flatnonzero(side.image == at)
    masks = segment_masks(side.take(rows), 1, "an image")
    if not len(rows):
        return np.full((int(side.images.heights[at]), int(side.images.widths[at])), -1, dtype=np.int64)
    found = np.full(tuple(masks.sizes[0]), -1, dtype=np.int64)
    for i, row in enumerate(rows.tolist()):
        found[array_of(masks, i)] = side.label[row]
    return found


def class_colours(count: int) -> NDArray[np.float64]:
    """Return distinct colours [class, 3]: hues by the golden ratio, in three shades."""
    from matplotlib.colors import hsv_to_rgb

    at = np.arange(count)
    hue, value, saturation = at * 0.618034 % 1, np.array([0.95, 0.7, 0.5])[at % 3], np.array([0.65, 0.85])[at % 2]
    return np.asarray(hsv_to_rgb(np.stack([hue, saturation, value], axis=-1)))


def paint(values: NDArray[np.int64], colours: NDArray[np.float64]) -> NDArray[Any]:
    """Return the colours of a map of classes, black for none."""
    table = np.concatenate([colours, np.zeros((1, 3))])
    return table[values]
