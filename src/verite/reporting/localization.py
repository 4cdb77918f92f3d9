"""Plots of localization metrics: histograms of values, and one matched pair with contours and distances."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verite.errors import BadParameter
from verite.files import write_atomically
from verite.metrics.catalogue import metric
from verite.model.polygons import RLEMasks
from verite.model.rasters import PolygonRule, array_of, outlines_of
from verite.pairs import Pairs
from verite.plotting import COLOURS
from verite.reporting.image_files import ImageFiles, load_pixels
from verite.reporting.plots import file_names, need_matplotlib, new_figure, render

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from verite.metrics.localize import LocalizationResults
    from verite.metrics.metric import Metric

TRUTH, PRED, BOTH, FAR = COLOURS[0], COLOURS[1], COLOURS[2], COLOURS[6]
COLUMNS = 4
MOST_LINES = 80  # distances plotted from either contour
PALE = 0.7  # opacity of the image behind the objects
MARGIN = 3  # pixels around the objects


def save_localization(
    results: LocalizationResults, folder: Path, format: str = "png", images: str | None = None
) -> list[Path]:
    """Save the distributions, and the worst pair of each metric (of many metrics the first few)."""
    image_files = ImageFiles(results.truth, images)
    saved = [folder / f"distributions.{format}"]
    write_atomically(saved[0], render(plot_distributions(results), format))
    chosen = results.metrics[:COLUMNS]
    for m, name in zip(chosen, file_names(str(m) for m in chosen), strict=True):
        worst = worst_pair(results, m)
        if worst is not None:
            saved.append(folder / f"worst-{name}.{format}")
            write_atomically(saved[-1], render(plot_object(results, worst, [m.name], image_files), format))
    return saved


def worst_pair(results: LocalizationResults, chosen: Metric) -> int | None:
    """Return the matched object farthest from the metric's best, if its image's size is known."""
    count = len(results.matched.truth)
    if not count or chosen.best is None or not results.pairs.take(np.arange(count)).is_sized:
        return None
    return int(np.argmax(np.nan_to_num(np.abs(results.values[chosen.name][:count] - chosen.best), posinf=np.inf)))


def plot_distributions(results: LocalizationResults) -> Figure:
    """Plot a histogram of each metric over the objects, with mean, median and the better direction.

    Parameters
    ----------
    results : LocalizationResults
        The results of :func:`verite.localize`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 4, 4]])
    >>> pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, 4, 3]], confidence=[0.9])
    >>> figure = vt.plot_distributions(vt.localize(truth, pred, "iou", checks="off"))
    """
    count = len(results.metrics)
    columns = min(COLUMNS, count)
    rows = ceil(count / columns)
    figure = new_figure((3.4 * columns, 2.5 * rows + 0.5))
    for i, m in enumerate(results.metrics):
        axes = figure.add_subplot(rows, columns, i + 1)
        plot_histogram(axes, results.values[m.name], m, m.unit_with(results.settings.spacing))
    title = fill(f"{results.name}: {results.treatment}", int(17 * 3.4 * columns / 1.2))
    figure.suptitle(title, fontsize=9, x=0.01, ha="left")
    return figure


def plot_histogram(axes: Axes, values: NDArray[np.float64], chosen: Metric, measured_in: str) -> None:
    """Plot the histogram of one metric."""
    finite = values[np.isfinite(values)]
    unit = f" [{measured_in}]" if measured_in else ""
    axes.set_title(chosen.name, fontsize=8)
    axes.set_xlabel(f"{chosen.better} is better{unit}", fontsize=7)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)
    if not len(finite):
        axes.text(0.5, 0.5, "no values", ha="center", va="center", transform=axes.transAxes, fontsize=8, color="0.5")
        axes.set(xticks=[], yticks=[])
        return
    axes.set_ylabel("objects", fontsize=7)
    axes.locator_params(axis="x", nbins=5)  # small values have long numbers
    axes.hist(finite, bins=min(30, max(5, int(np.sqrt(len(finite))))), color=COLOURS[5], edgecolor="white", lw=0.4)
    axes.axvline(finite.mean(), color=TRUTH, lw=1.4, label=f"mean {finite.mean():.3g}")
    axes.axvline(float(np.median(finite)), color=PRED, lw=1.4, ls="--", label=f"median {np.median(finite):.3g}")
    axes.legend(fontsize=6, frameon=False)


def plot_object(
    results: LocalizationResults,
    i: int,
    metrics: Sequence[str | Metric] | None = None,
    image_files: ImageFiles | None = None,
) -> Figure:
    """Plot object i of the results as it was compared, over its image if there is one."""
    if not 0 <= i < len(results.pairs):
        raise BadParameter(f"object: expected a number from 0 to {len(results.pairs) - 1}, found {i}")
    row = results.object_rows()[i]
    chosen = metrics if metrics is not None else results.metrics[:COLUMNS]
    values = {metric(m).name: results.values[metric(m).name][i] for m in chosen}
    found = results.truth.images.find(row["image"])
    image = None if image_files is None or found is None else load_pixels(image_files[found])
    plane = results.captions[i] if results.captions else ""
    return figure_of(results.pairs.take(np.array([i])), values, f"{row['image']}, {row['class']}{plane}", image)


def plot_pair(
    truth: Any,
    pred: Any,
    *metrics: str | Metric,
    size: ArrayLike | None = None,
    layout: str = "xyxy",
    polygons: PolygonRule = "coco",
    title: str = "",
) -> Figure:
    """Plot two regions: pixels, contours, intersection, and the distances between the contours.

    Parameters
    ----------
    truth, pred : region
        Regions as :func:`verite.metric` takes them.
    *metrics : str or Metric
        Metrics whose values are shown.
    size : (width, height), optional
        Size of the image in pixels, where neither region is a mask.
    layout : str, default "xyxy"
        Layout of boxes.
    polygons : str, default "coco"
        Rule by which polygons become pixels.
    title : str, default ""
        Title of the figure.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> figure = plot_pair([2, 3, 6, 7], [4, 3, 8, 7], "iou", "hausdorff", size=(10, 10))
    """
    pairs = Pairs.of([truth], [pred], size=size, layout=layout, polygons=polygons)
    values = {metric(m).name: metric(m).values(pairs)[0] for m in metrics}
    return figure_of(pairs, values, title)


def figure_of(pairs: Pairs, values: dict[str, float], title: str, image: NDArray[Any] | None = None) -> Figure:
    """Plot one pair, cropped to its objects, with values below the title and the image behind it."""
    need_matplotlib()
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    regions, contours = zip(*(pixels_of(side) for side in pairs.sides()), strict=True)
    x1, y1, x2, y2 = window(regions[0] | regions[1])
    figure = new_figure((6.4, 6.4 * min(1.6, max(0.5, (y2 - y1) / (x2 - x1))) + 1.2))
    axes = figure.add_subplot()
    part = (slice(y1, y2), slice(x1, x2))
    if image is not None and image.shape[:2] == regions[0].shape:
        axes.imshow(image[part], extent=(x1, x2, y2, y1), interpolation="nearest", alpha=PALE)
    tints = colour_regions(regions[0][part], regions[1][part], ground=0.0 if image is not None else 1.0)
    axes.imshow(tints, extent=(x1, x2, y2, y1), interpolation="nearest")
    handles: list[Any] = [
        Patch(color=TRUTH, alpha=0.45, label="ground truth only"),
        Patch(color=PRED, alpha=0.45, label="prediction only"),
        Patch(color=BOTH, alpha=0.45, label="both"),
    ]
    for contour, colour, marker, name in zip(
        contours, (TRUTH, PRED), "s.", ("ground truth", "prediction"), strict=True
    ):
        y, x = np.nonzero(contour)
        small = max(1.0, min(6.0, 220 / max(x2 - x1, y2 - y1)))
        axes.plot(x + 0.5, y + 0.5, ls="none", marker=marker, ms=small, mfc="none", mec=colour, mew=0.8)
        handles.append(Line2D([], [], ls="none", marker=marker, mfc="none", mec=colour, label=f"contour of the {name}"))
    longest = plot_distances(axes, pairs, *contours)
    if longest:
        handles.append(Line2D([], [], color=FAR, lw=2, label=f"largest distance, {longest:.3g} px"))
    axes.set(xlim=(x1, x2), ylim=(y2, y1), aspect="equal", xlabel="x [px]", ylabel="y [px]")
    lines = [title, "   ".join(f"{name} {value:.4g}" for name, value in values.items())]
    axes.set_title("\n".join(line for line in lines if line), fontsize=9)
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=7, frameon=False)
    return figure


def pixels_of(side: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the region and the contour of a side with one pair."""
    counts, objects, sizes, rows = side.counts, side.objects, side.sizes, side.rows
    outline, outline_objects = side.outline_counts, side.outline_objects
    masks = RLEMasks(counts, objects, sizes).take(rows)
    given = RLEMasks(outline, outline_objects, sizes).take(rows) if outline is not None else None
    contour = given if given is not None and len(given.counts) else outlines_of(masks)
    return array_of(masks, 0), array_of(contour, 0)


def window(objects: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """Return the bounding box of the objects with a margin, x1, y1, x2, y2."""
    height, width = objects.shape
    ys, xs = np.nonzero(objects)
    if not len(xs):
        return 0, 0, width, height
    return (
        max(0, int(xs.min()) - MARGIN),
        max(0, int(ys.min()) - MARGIN),
        min(width, int(xs.max()) + 1 + MARGIN),
        min(height, int(ys.max()) + 1 + MARGIN),
    )


def colour_regions(truth: NDArray[np.bool_], pred: NDArray[np.bool_], ground: float = 1.0) -> NDArray[np.float64]:
    """Return an image with one colour per side and one for the intersection, on white or transparent."""
    from matplotlib.colors import to_rgba

    image = np.ones((*truth.shape, 4))
    image[:, :, 3] = ground
    for where, colour in ((truth & ~pred, TRUTH), (pred & ~truth, PRED), (truth & pred, BOTH)):
        image[where] = to_rgba(colour, 0.35)
    return image


def plot_distances(axes: Axes, pairs: Pairs, truth: NDArray[np.bool_], pred: NDArray[np.bool_]) -> float:
    """Plot lines from pixels of either contour to the nearest of the other; return the length of the longest."""
    a, b = (middles(contour) for contour in (truth, pred))
    if not len(a) or not len(b):
        return 0.0
    longest, line = 0.0, (a[0], a[0])
    for start, target, distances, colour in (
        (a, b, pairs.to_pred.distances, TRUTH),
        (b, a, pairs.to_truth.distances, PRED),
    ):
        for point in start[np.linspace(0, len(start) - 1, min(len(start), MOST_LINES)).astype(int)]:
            axes.plot(*zip(point, nearest(point, target), strict=True), color=colour, lw=0.6, alpha=0.7)
        if distances.max() > longest:
            longest, farthest = float(distances.max()), start[int(distances.argmax())]
            line = (farthest, nearest(farthest, target))
    axes.plot(*zip(*line, strict=True), color=FAR, lw=2, solid_capstyle="round")
    return longest


def middles(contour: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return x and y of the pixel centres, column by column as the distances are listed."""
    return np.argwhere(contour.T).astype(np.float64) + 0.5


def nearest(point: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest of the target points."""
    found: NDArray[np.float64] = target[int(((target - point) ** 2).sum(axis=1).argmin())]
    return found
