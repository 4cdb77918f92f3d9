"""Plots of scene scores: matches and matrices of a scene, distributions of scores, class distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, excerpt
from verite.model.images import known_images, stem
from verite.model.rasters import array_of
from verite.model.regions import MASK, POLYGON
from verite.plotting import COLOURS
from verite.reporting.image_files import ImageFiles, load_image, load_pixels
from verite.reporting.plots import DASHES, file_names, new_figure, save_figures
from verite.studies.interpretation import CONFIDENCES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from verite.model.annotations import Annotations
    from verite.scene.class_distances import ClassDistances
    from verite.scene.over_time import FrameScores
    from verite.scene.scene_score import SceneScoreResults
    from verite.scene.trace import Trace
    from verite.studies.interpretation import InterpretationStudy, StudyCurves


UNMATCHED = "#B00020"  # missed and spurious objects

MOST_NAMES = 25  # objects whose classes are written on them

MOST_CELLS = 12  # rows or columns of a matrix with numbers in it

PALE = 0.6  # opacity of the image behind the objects

WORST = 3  # scenes that are plotted by default

STEPS = {
    "overlap": "IoU",
    "correspondence": "correspondence",
    "localization": "localization",
    "recognition": "recognition",
    "local": "local scores",
    "compensation": "compensation",
    "compensated": "scores with compensation",
}


def save_scene_scores(
    results: SceneScoreResults,
    folder: Path,
    format: str = "png",
    image: str | None = None,
    images: str | None = None,
) -> list[Path]:
    """Save the distribution of scores, and the chosen scene or the worst ones, over their images where available."""
    figures = {"scores": plot_scores(results)} if len(results.known) else {}
    chosen = [results.position(image)] if image is not None else results.worst_first[:WORST].tolist()
    traces = [results.trace(int(i)) for i in chosen]
    names = file_names(f"scene-{stem(trace.image)}" for trace in traces)
    image_files = ImageFiles(results.truth, images)
    shown = [load_pixels(image_files[int(i)] if i < len(results.truth.images) else None) for i in chosen]
    figures |= {
        name: plot_scene(trace, image_pixels) for name, trace, image_pixels in zip(names, traces, shown, strict=True)
    }
    return save_figures(figures, folder, format)


def plot_scores(results: SceneScoreResults) -> Figure:
    """Plot the distribution of the image scores, and the score of each class."""
    figure = new_figure((9.6, 4.2))
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    scores = results.image_scores
    left.hist(scores, bins=np.linspace(0, 1, 21).tolist(), color=COLOURS[5], edgecolor="white", lw=0.6)
    median = float(np.median(scores))
    for value, dash, word in ((results.score, "-", "mean"), (median, "--", "median")):
        left.axvline(value, color=COLOURS[1], ls=dash, lw=1.4, label=f"{word} {value:.3f}")
    left.set(xlim=(0, 1), xlabel="scene score of an image (0 is perfect)", ylabel="images")
    left.set_title(f"{results.name}: {len(scores):,} images", fontsize=10, parse_math=False)
    left.legend(frameon=False, fontsize=8)
    columns = results.class_columns()
    shown = [i for i, count in enumerate(columns["truths"]) if count]
    shown = sorted(shown, key=lambda i: -columns["score"][i])[:20][::-1]
    right.barh(range(len(shown)), [columns["score"][i] for i in shown], color=COLOURS[0])
    right.set_yticks(range(len(shown)), [results.class_names[i] for i in shown], parse_math=False)
    right.set(xlim=(0, 1), xlabel="mean local score, missed objects 1")
    right.set_title("classes, the worst first", fontsize=10)
    for axes in (left, right):
        axes.tick_params(labelsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def is_picture(given: Any) -> bool:
    """Pixels that can be shown: grey, or with three or four colours."""
    if not isinstance(given, np.ndarray) or given.dtype.kind not in "biuf" or not given.size:
        return False
    return given.ndim == 2 or (given.ndim == 3 and given.shape[2] in (3, 4))


def plot_scene(trace: Trace, picture: str | PathLike[str] | NDArray[Any] | None = None) -> Figure:
    """Plot ground truth and predictions of one image side by side, their matches, and the matrices of every step.

    Parameters
    ----------
    trace : Trace
        The trace of an image, from ``results.trace(image)``.
    picture : path or array, optional
        The image behind the objects: a file, or its pixels.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    BadParameter
        If the trace was made from matrices alone.

    Examples
    --------
    >>> results = vt.scene_score("truth.json", "pred.json")     # doctest: +SKIP
    >>> figure = vt.plot_scene(results.trace("street.jpg"))     # doctest: +SKIP
    """
    if trace.scene is None:
        raise BadParameter("plot_scene: expected the trace of an image, found matrices alone")
    if picture is not None and not isinstance(picture, (str, PathLike)) and not is_picture(picture):
        raise BadParameter(f"picture: expected a file or pixels [row, column] or [row, column, colour], found "
                           f"{excerpt(picture)}")  # fmt: skip
    width, height = extent(trace)
    ratio = min(1.6, max(0.45, height / width))
    tall = 0.24 * (min(max(len(trace.compensation), 1), MOST_CELLS) + 3)
    figure = new_figure((13.5, 6.4 * ratio + 2 * tall + 1.3))
    parts: Any = figure.subfigures(2, 1, height_ratios=(6.4 * ratio + 0.6, 2 * tall + 0.7))
    scenes, matrices = parts
    left, right = scenes.subplots(1, 2)
    colours = group_colours(trace)
    behind = np.asarray(load_image(Path(picture))) if isinstance(picture, (str, PathLike)) else picture
    for axes, side, alone, title, shade in (
        (left, 0, trace.missed, "ground truth", colours[0]),
        (right, 1, trace.spurious, "predictions", colours[1]),
    ):
        if behind is not None:
            axes.imshow(behind, extent=(0, width, height, 0), interpolation="lanczos", alpha=PALE)
        plot_side(axes, trace.scene[side], shade, alone)
        objects = (trace.truths, trace.preds)[side]
        axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal", xticks=[], yticks=[])
        apart = f", {len(alone)} {'missed' if side == 0 else 'spurious'}" if alone else ""
        axes.set_title(f"{title}: {len(objects)} objects{apart}", fontsize=10)
        mark(axes, trace.scene[side], objects, shade, alone)
    plot_matches(scenes, left, right, trace, colours[0])
    # Plot every matrix of the trace as a small table; numbers only where they are legible.
    axes = matrices.subplots(2, 4).ravel()
    values = {name: getattr(trace, name) for name in STEPS}
    for panel, (name, title) in zip(axes, STEPS.items(), strict=False):
        plot_matrix(panel, np.asarray(values[name], dtype=np.float64), name in ("correspondence", "compensation"))
        panel.set_title(title, fontsize=8)
        panel.set_xlabel("pred", fontsize=6, labelpad=1)
        panel.set_ylabel("truth", fontsize=6, labelpad=1)
    last = axes[len(STEPS)]
    last.axis("off")
    found = int(trace.correspondence.sum())
    added = max(len(trace.missed), len(trace.spurious))
    total = float(np.nansum(trace.local))
    lines = [
        f"{found} matches, {len(trace.missed)} missed, {len(trace.spurious)} spurious",
        f"({total:.3f} + {added}) / {found + added}" if found + added else "no objects on either side",
        f"= {trace.score:.3f}",
    ]
    last.text(0.5, 0.5, "\n".join(lines), ha="center", va="center", fontsize=10, linespacing=1.8)
    figure.suptitle(f"{trace.image}: score {trace.score:.3f} (0 is perfect, 1 is worst)", fontsize=12, parse_math=False)
    return figure


def extent(trace: Trace) -> tuple[float, float]:
    """Return width and height of the image, or of the bounding box of its objects where unknown."""
    assert trace.scene is not None
    truth, pred = trace.scene
    known = known_images(truth, pred)
    found = known.find(trace.image) if known.names is not None else known.index_of_id.get(int(trace.image))
    if found is not None and known.widths[found] > 0 and known.heights[found] > 0 and truth.unit == "px":
        return float(known.widths[found]), float(known.heights[found])
    boxes = np.concatenate([truth.regions.boxes, pred.regions.boxes, [[0, 0, 1e-6, 1e-6]]])
    return float(boxes[:, 2].max()) * 1.02, float(boxes[:, 3].max()) * 1.02


def group_colours(trace: Trace) -> tuple[list[str], list[str]]:
    """Return a colour per object: one for all that are connected by matches, red for unmatched ones."""
    rows, columns = trace.correspondence.shape
    group = np.arange(rows + columns)
    for _ in range(rows + columns):  # the smallest number of a group spreads to all of it
        before = group.copy()
        for row, column in np.argwhere(trace.correspondence):
            group[row] = group[rows + column] = min(group[row], group[rows + column])
        if (group == before).all():
            break
    palette = [c for c in COLOURS if c != COLOURS[6]]
    order = {g: palette[k % len(palette)] for k, g in enumerate(dict.fromkeys(group.tolist()))}
    alone = {*trace.missed, *(rows + column for column in trace.spurious)}
    named = [UNMATCHED if i in alone else order[int(g)] for i, g in enumerate(group)]
    return named[:rows], named[rows:]


def plot_side(axes: Axes, side: Annotations, colours: list[str], alone: tuple[int, ...]) -> None:
    """Plot the regions of one side; those without a match have a dashed edge."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Polygon, Rectangle

    regions = side.regions
    # Large ones first, so that small ones stay visible.
    sizes = (regions.boxes[:, 2] - regions.boxes[:, 0]) * (regions.boxes[:, 3] - regions.boxes[:, 1])
    for i in np.argsort(-sizes, kind="stable").tolist():
        edge = {"ec": colours[i], "lw": 1.6, "ls": "--" if i in alone else "-", "fc": to_rgba(colours[i], 0.3)}
        if regions.kinds[i] == POLYGON and regions.polygons is not None:
            for ring in regions.polygons[i]:
                axes.add_patch(Polygon(ring, closed=True, **edge))
        elif regions.kinds[i] == MASK and regions.runs is not None:
            mask = array_of(regions.runs, i)
            image = np.zeros((*mask.shape, 4))
            image[mask] = to_rgba(colours[i], 0.45)
            height, width = mask.shape
            axes.imshow(image, extent=(0, width, height, 0), interpolation="nearest")
            x, y = np.arange(-0.5, width + 1), np.arange(-0.5, height + 1)
            axes.contour(x, y, np.pad(mask, 1), [0.5], colors=[colours[i]], linewidths=1.2, linestyles=edge["ls"])
        else:
            x1, y1, x2, y2 = regions.boxes[i]
            axes.add_patch(Rectangle((x1, y1), x2 - x1, y2 - y1, **edge))


def middle(side: Annotations, i: int) -> tuple[float, float]:
    x1, y1, x2, y2 = side.regions.boxes[i]
    return float(x1 + x2) / 2, float(y1 + y2) / 2


def mark(axes: Axes, side: Annotations, objects: Any, colours: list[str], alone: tuple[int, ...]) -> None:
    """Write numbers and classes on the objects."""
    for i, one in enumerate(objects):
        weight = "bold" if i in alone else "normal"
        box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": colours[i], "alpha": 0.85, "lw": 0.8}
        text = f"{i + 1} {one.label}" if len(objects) <= MOST_NAMES else f"{i + 1}"
        axes.text(*middle(side, i), text, fontsize=7, ha="center", va="center", weight=weight, bbox=box, clip_on=True,
                  parse_math=False)  # fmt: skip


def plot_matches(figure: Any, left: Axes, right: Axes, trace: Trace, colours: list[str]) -> None:
    """Draw a line from each ground-truth object to each prediction it is matched with."""
    from matplotlib.patches import ConnectionPatch

    assert trace.scene is not None
    truth, pred = trace.scene
    for row, column in np.argwhere(trace.correspondence).tolist():
        mine, theirs = truth.regions.boxes[row], pred.regions.boxes[column]
        start = float(mine[0] + 0.75 * (mine[2] - mine[0])), float(mine[1] + 0.25 * (mine[3] - mine[1]))
        end = float(theirs[0] + 0.25 * (theirs[2] - theirs[0])), float(theirs[1] + 0.25 * (theirs[3] - theirs[1]))
        line = ConnectionPatch(
            start, end, "data", "data", axesA=left, axesB=right, color=colours[row], lw=1.3, alpha=0.85, zorder=5,
            connectionstyle="arc3,rad=-0.06", arrowstyle="-|>", mutation_scale=8, shrinkB=0,
        )  # fmt: skip
        line.set_in_layout(False)
        figure.add_artist(line)


def plot_matrix(axes: Axes, values: NDArray[np.float64], is_whole: bool) -> None:
    rows, columns = values.shape
    axes.tick_params(length=0, labelsize=6)
    if not rows or not columns:
        axes.set(xticks=[], yticks=[])
        axes.text(0.5, 0.5, f"{rows} × {columns}", ha="center", va="center", fontsize=8, transform=axes.transAxes)
        return
    shown = np.where(values == 0, np.nan, values) if is_whole else values
    axes.imshow(np.nan_to_num(shown), cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
    axes.set_xticks(np.arange(-0.5, columns), minor=True)
    axes.set_yticks(np.arange(-0.5, rows), minor=True)
    axes.grid(which="minor", color="white", lw=1)
    axes.tick_params(which="minor", length=0)
    axes.set(xticks=[], yticks=[])
    if max(rows, columns) <= MOST_CELLS:
        axes.set_xticks(range(columns), [str(j + 1) for j in range(columns)])
        axes.set_yticks(range(rows), [str(i + 1) for i in range(rows)])
        for i, j in np.argwhere(~np.isnan(shown)).tolist():
            text = str(int(shown[i, j])) if is_whole else f"{shown[i, j]:.3f}".removesuffix(".000")
            axes.text(j, i, text, ha="center", va="center", fontsize=6.5)


def plot_distances(distances: ClassDistances) -> Figure:
    """Plot a matrix of class distances as a heat map, with its numbers where they are legible.

    Parameters
    ----------
    distances : ClassDistances
        The distances, with class names.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    BadParameter
        If the distances are the default, without class names.

    Examples
    --------
    >>> import verite as vt
    >>> figure = vt.plot_distances(vt.class_distances("voc"))
    """
    names = distances.names
    if names is None:
        raise BadParameter("plot_distances: expected a matrix with class names, found the default one")
    count = len(names)
    side = min(16.0, 2.4 + 0.36 * count)
    figure = new_figure((side + 0.6, side))
    axes = figure.add_subplot()
    image = axes.imshow(distances.square, cmap="viridis", vmin=0, vmax=1)
    small = 8 if count <= 40 else 4
    axes.set_xticks(range(count), names, rotation=90, fontsize=small, parse_math=False)
    axes.set_yticks(range(count), names, fontsize=small, parse_math=False)
    axes.set(xlabel="predicted class", ylabel="true class")
    if count <= 24:
        for i, j in np.ndindex(count, count):
            value = float(distances.square[i, j])
            text = f"{value:.2f}".lstrip("0") if value % 1 else f"{value:.0f}"
            axes.text(j, i, text, ha="center", va="center", fontsize=5.5, color="white" if value < 0.6 else "black")
    axes.set_title(f"class distances: {distances.source}", fontsize=10, parse_math=False)
    figure.colorbar(image, ax=axes, shrink=0.8)
    return figure


def save_study(study: InterpretationStudy, folder: Path, format: str = "png") -> list[Path]:
    """Save every figure, named by its number in the paper."""
    plots = {
        "figure-10-localization": plot_localization,
        "figure-11-recognition": plot_recognition,
        "figure-12-detection": plot_detection,
        "figure-13-matching": plot_matching,
        "figure-14-confidence": plot_confidence,
        "figure-15-class-distance": plot_classes,
    }
    return save_figures({name: plot(study.curves) for name, plot in plots.items()}, folder, format)


def plot_localization(c: StudyCurves) -> Figure:
    """Score against power, a curve for each number of objects, a panel for each alteration."""
    figure, panels = four(c.localization, highest(c.localization))
    for axes, (kind, curves) in zip(panels, c.localization.items(), strict=True):
        for i, (count, values) in enumerate(curves.items()):
            line(axes, range(len(values) + 1), [0.0, *values], i, f"{count}")
        set_axes(axes, kind, "power of the alteration", "score")
    panels[0].legend(title="objects in the image", fontsize=7, title_fontsize=7, ncols=2, frameon=False)
    return figure


def plot_recognition(c: StudyCurves) -> Figure:
    """Score against the number of wrong classes."""
    figure, (axes,) = canvas(1)
    for i, (count, values) in enumerate(c.recognition.items()):
        line(axes, range(len(values)), values, i, f"{count}", marker="o")
    set_axes(axes, "wrong classes", "objects with a wrong class", "score")
    axes.legend(title="objects in the image", fontsize=7, title_fontsize=7, ncols=2, frameon=False)
    return figure


def plot_detection(c: StudyCurves) -> Figure:
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


def plot_matching(c: StudyCurves) -> Figure:
    """Score against power on images of one object, a curve for each way of matching."""
    figure, panels = four(c.matching, highest(c.matching))
    for axes, (kind, curves) in zip(panels, c.matching.items(), strict=True):
        for i, (name, values) in enumerate(curves.items()):  # where curves coincide, all of them can be seen
            line(axes, range(len(values) + 1), [0.0, *values], i, name, width=4.0 - 0.7 * i)
        set_axes(axes, kind, "power of the alteration", "score")
    panels[0].legend(fontsize=7, frameon=False)
    return figure


def plot_confidence(c: StudyCurves) -> Figure:
    """The factor of the class distance against the confidence."""
    figure, (axes,) = canvas(1)
    axes.plot(CONFIDENCES, c.right, color=COLOURS[2], lw=1.8, label="right class")
    axes.plot(CONFIDENCES, c.wrong, color=COLOURS[1], lw=1.8, ls="--", label="wrong class")
    set_axes(axes, "what a class distance is multiplied by", "confidence", "factor")
    axes.legend(frameon=False, fontsize=8)
    return figure


def plot_classes(c: StudyCurves) -> Figure:
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


MOST_SEQUENCES = 24  # panels of the figure of scores over time


def save_frame_scores(scores: FrameScores, folder: Path, format: str = "png") -> Path:
    """Save the scene scores over time: one panel per sequence, with levels and change points."""
    shown = scores.sequences[:MOST_SEQUENCES]
    figure = new_figure((8.0, 0.6 + 1.9 * max(len(shown), 1)))
    panels = figure.subplots(max(len(shown), 1), 1, squeeze=False)[:, 0]
    for axes, one in zip(panels, shown, strict=False):
        axes.plot(one.frames, one.scores, color=COLOURS[0], lw=0.8, alpha=0.7)
        for first, last, mean in one.levels:
            axes.plot([first, last], [mean, mean], color=COLOURS[1], lw=2)
        for at in one.changes:
            axes.axvline(at, color="black", lw=0.8, ls="--")
        axes.set(ylim=(0, 1), ylabel="scene score")
        axes.grid(alpha=0.25)
        axes.set_title(f"{one.name}: mean {one.scores.mean():.3f}, {len(one.changes)} change points", fontsize=9)
    panels[-1].set_xlabel("frame (0 is a perfect score; dashed: change points)")
    return save_figures({"over-time": figure}, folder, format, scores.signature)[0]
