"""Draw ground-truth objects and predictions on images by outcome: TP, FP, missed (FN), ignored."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, did_you_mean, excerpt
from verite.evaluation.settings import ClassThresholds, above_threshold, count_left, hold_floor
from verite.files import fill_folder, make_folder, path_of, write_atomically
from verite.formats import Readable, read_pair
from verite.model.images import stem
from verite.model.outcomes import FATES, FOUND, LEFT_OUT, MISSED, NOT_ASKED, RIGHT, WRONG
from verite.model.rasters import array_of
from verite.model.regions import MASK, POLYGON
from verite.model.results import Results
from verite.plotting import shorten
from verite.progress import count_files
from verite.protocols import REGISTRY, protocol_named
from verite.reporting.pictures import Pictures, pixels
from verite.reporting.plots import file_names, need_matplotlib, new_figure, render, without_glyph_warnings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

    from verite.model.annotations import Annotations
    from verite.model.regions import Regions
    from verite.model.results import Results


Ring = NDArray[np.float64]  # [n, 2] x and y

MOST_RING_POINTS = 200  # of a mask's outline


def rings_of(regions: Regions, i: int, on: str = "box") -> list[Ring]:
    """The outline of region i: of its box, or of the best it has where masks are compared."""
    if on != "box" and regions.kinds[i] == POLYGON and regions.polygons is not None:
        return [np.asarray(ring) for ring in regions.polygons[i]]
    if on != "box" and regions.kinds[i] == MASK and regions.runs is not None:
        return trace_mask(array_of(regions.runs, i))
    x1, y1, x2, y2 = regions.boxes[i]
    return [np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]])]


def trace_mask(mask: NDArray[np.bool_]) -> list[Ring]:
    """The borders of a mask along the edges of its pixels, the largest ring first; long ones are thinned out.

    >>> trace_mask(np.array([[True, True], [False, False]]))[0].tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]
    """
    rings = [straighten(np.array(ring, dtype=np.float64)) for ring in chain(border_edges(mask))]
    return [thin(ring) for ring in sorted(rings, key=len, reverse=True)]


def border_edges(mask: NDArray[np.bool_]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """From each corner of a pixel at the border where the border goes on, the inside to its right."""
    padded = np.pad(mask, 1)
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    inside = padded[1:-1, 1:-1]
    # The neighbour outside, and the first and last corner of the edge between them.
    for outside, first, last in (
        (padded[:-2, 1:-1], (0, 0), (1, 0)),
        (padded[1:-1, 2:], (1, 0), (1, 1)),
        (padded[2:, 1:-1], (1, 1), (0, 1)),
        (padded[1:-1, :-2], (0, 1), (0, 0)),
    ):
        for y, x in np.argwhere(inside & ~outside).tolist():
            found.setdefault((x + first[0], y + first[1]), []).append((x + last[0], y + last[1]))
    return found


def chain(edges: dict[tuple[int, int], list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """Edges joined to rings."""
    rings = []
    while edges:
        start = min(edges)
        ring, at = [start], take(edges, start)
        while at != start:
            ring.append(at)
            at = take(edges, at)
        rings.append(ring)
    return rings


def take(edges: dict[tuple[int, int], list[tuple[int, int]]], at: tuple[int, int]) -> tuple[int, int]:
    """The end of an edge that begins here, which is then gone."""
    ends = edges[at]
    found = ends.pop()
    if not ends:
        del edges[at]
    return found


def straighten(ring: Ring) -> Ring:
    """Without the points that lie on a straight line between their neighbours."""
    before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    return np.asarray(ring[before[:, 0] * after[:, 1] != before[:, 1] * after[:, 0]])


def thin(ring: Ring, most: int = MOST_RING_POINTS) -> Ring:
    """At most so many points, spread evenly over the ring."""
    return ring if len(ring) <= most else ring[np.linspace(0, len(ring), most, endpoint=False).astype(int)]


# Of files that do not say how points are joined: COCO's seventeen points, CrowdPose's fourteen.
EDGES = {
    17: ((15, 13), (13, 11), (16, 14), (14, 12), (11, 12), (5, 11), (6, 12), (5, 6), (5, 7), (6, 8), (7, 9), (8, 10),
         (1, 2), (0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6)),
    14: ((12, 13), (13, 0), (13, 1), (0, 1), (0, 2), (2, 4), (1, 3), (3, 5), (0, 6), (1, 7), (6, 7), (6, 8), (8, 10),
         (7, 9), (9, 11)),
}  # fmt: skip

SMALL = 0.15  # of the width of a picture: how tall a pose must be for lines of full width


def pose_of(side: Annotations, row: int) -> tuple[Ring, list[Ring]]:
    """Joints [n, 2] of an object that are labelled, and the bones between them; of predictions without any, all."""
    keypoints = side.regions.keypoints
    if keypoints is None or not len(keypoints[row]):
        return np.empty((0, 2)), []
    points = keypoints[row]
    seen = points[:, 2] > 0 if (points[:, 2] > 0).any() else np.full(len(points), side.confidence is not None)
    skeletons = side.labels.skeletons
    stated = skeletons[side.label[row]].edges if skeletons is not None else ()
    edges = stated or EDGES.get(len(points), ())
    return points[seen, :2], [points[[a, b], :2] for a, b in edges if max(a, b) < len(points) and seen[a] and seen[b]]


def draw_pose(axes: Axes, joints: Ring, bones: list[Ring], pen: Pen, night: str) -> None:
    """On a dark edge that parts it from any photo. Bones are short, and so are dashes; small poses have fine lines."""
    from matplotlib.collections import LineCollection

    left, right = axes.get_xlim()
    share = float(np.ptp(joints, axis=0).max()) / abs(right - left)
    fine = min(max(share / SMALL, 0.4), 1.0)
    width, size = fine * (pen.width + 0.6), 14 * fine**2 * (pen.width + 0.6)
    dashes = "-" if pen.dashes is None else (0, (2.6, 1.1))
    for colour, wide, how in ((night, width + 1.8 * fine, "-"), (pen.colour, width, dashes)):
        lines = LineCollection(bones, colors=colour, linewidths=wide, linestyles=[how], capstyle="butt", zorder=2.5)
        lines.set_alpha(0.55 if colour == night else 1)
        axes.add_collection(lines)
    axes.scatter(joints[:, 0], joints[:, 1], s=size, c=pen.colour, edgecolors=night, linewidths=0.9 * fine, zorder=3)


MOST_POINTS = 10_000  # of an outline that are drawn; matplotlib refuses to draw some more

USUAL = 0.5  # the overlap at which objects are called found, where a protocol has several


@dataclass(frozen=True, eq=False)
class Mark:
    """One object on its photo."""

    side: str  # truth or pred
    row: int
    fate: str
    label: str
    confidence: float  # of a prediction
    rings: list[Ring]
    joints: Ring | None = None  # of a pose, where keypoints are compared
    bones: list[Ring] = field(default_factory=list)

    @property
    def lines(self) -> list[Ring]:
        """What is drawn of it: the bones of a pose as rings of two points, else its outline."""
        return self.bones or [ring[:: 1 + len(ring) // MOST_POINTS] for ring in self.rings]


class Overlay:
    """Which objects are found and which predictions are right, at one overlap and from one confidence on.

    What is less confident neither finds anything nor is wrong: a greedy matching of the surer ones is the same with
    and without it.
    """

    def __init__(self, results: Results, iou: float | None = None, confidence: Any = None) -> None:
        """`confidence` is a number, one for each label, or the `thresholds.json` of an analysis."""
        known = thresholds_of(results)
        self.results, self.truth, self.pred = results, results.truth, results.pred
        self.on = dict(results.signature).get("on", "box")
        if iou is None and len(known) > 1:
            iou = USUAL if USUAL in known else known[0]
        self.finds = results.matches(iou)
        self.iou = self.finds.iou
        given = self.pred.confidence
        self.sureness = np.ones(len(self.pred)) if given is None else given
        floor: float | ClassThresholds = self.best_confidence if confidence is None else hold_floor(confidence)
        if confidence is not None:
            count_left(self.pred, floor)  # a threshold that no prediction reaches is refused
        self.confidence = floor

    @cached_property
    def is_right(self) -> NDArray[np.bool_]:
        """Predictions that take an object that was asked for, whatever their confidence."""
        found = np.zeros(len(self.pred), dtype=np.bool_)
        found[self.finds.matched_pred[self.finds.matched_pred >= 0]] = True
        return found

    @cached_property
    def counts(self) -> NDArray[np.bool_]:
        """Predictions that count for or against."""
        is_counted = (
            np.ones(len(self.pred), dtype=np.bool_)
            if self.finds.counted_pred is None
            else self.finds.counted_pred.copy()
        )
        if self.finds.confidence_threshold is not None:
            is_counted &= self.sureness >= self.finds.confidence_threshold
        return is_counted | self.is_right

    @cached_property
    def best_confidence(self) -> float:
        """The confidence with the largest F1 over all objects; of several the highest. Nothing found: the lowest."""
        order = np.argsort(-self.sureness, kind="stable")
        order = order[self.counts[order]]
        if not len(order) or not self.is_right.any():
            return float(self.sureness.min(initial=0.0))
        right = np.cumsum(self.is_right[order])
        f1 = 2 * right / (np.arange(1, len(order) + 1) + int(self.finds.counted_truth.sum()))
        is_last = np.append(np.diff(self.sureness[order]) != 0, True)
        return float(self.sureness[order[int(np.argmax(np.where(is_last, f1, -1.0)))]])

    @cached_property
    def fates(self) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Of truths and of predictions, as `verite.model.outcomes` numbers them."""
        taken = self.finds.matched_pred
        is_sure = above_threshold(self.pred, self.confidence)
        is_found = (taken >= 0) & np.append(is_sure, False)[taken]
        truths = np.where(is_found, FOUND, np.where(self.finds.counted_truth, MISSED, NOT_ASKED))
        preds = np.where(self.is_right, RIGHT, np.where(self.counts, WRONG, LEFT_OUT))
        return truths.astype(np.int8), np.where(is_sure, preds, LEFT_OUT).astype(np.int8)

    @cached_property
    def by_image(self) -> dict[str, NDArray[np.int64]]:
        """For each image, how many truths are found and missed and how many predictions are wrong."""
        count = len(self.truth.images)
        truths, preds = self.fates
        return {
            "found": np.bincount(self.truth.image[truths == FOUND], minlength=count),
            "missed": np.bincount(self.truth.image[truths == MISSED], minlength=count),
            "wrong": np.bincount(self.pred.image[preds == WRONG], minlength=count)[:count],
        }

    @property
    def worst(self) -> list[int]:
        """Return the images with errors, by falling number of errors."""
        mistakes = self.by_image["missed"] + self.by_image["wrong"]
        order = np.argsort(-mistakes, kind="stable")
        return [int(i) for i in order if mistakes[i]]

    def position(self, name: str) -> int:
        """Where the image of this name is, or of this id where images have no names."""
        images = self.truth.images
        found = images.find(name)
        if found is None and name.removeprefix("-").isdecimal() and len(name) < 20:
            found = images.index_of_id.get(int(name))
        if found is None:
            near = did_you_mean(name, images.names or ())
            raise BadParameter(f"image: expected one of {len(images)}, found {name!r}{near}")
        return found

    def size(self, image: int) -> tuple[float, float]:
        """Width and height of an image, or of what is in it where they are not known."""
        images = self.truth.images
        width, height = float(images.widths[image]), float(images.heights[image])
        if width > 0 and height > 0:
            return width, height
        boxes = [side.regions.boxes[side.image == image] for side in (self.truth, self.pred)]
        corners = np.concatenate([*boxes, [[0, 0, 1, 1]]])
        corners = corners[np.isfinite(corners).all(axis=1)]
        return float(corners[:, 2].max()) * 1.02, float(corners[:, 3].max()) * 1.02

    def marks(self, image: int) -> list[Mark]:
        """The objects of an image, the large ones first, so that small ones stay to be seen."""
        found = []
        for name, side, fates in (("truth", self.truth, self.fates[0]), ("pred", self.pred, self.fates[1])):
            rows = np.flatnonzero((side.image == image) & (fates != LEFT_OUT))
            found += [self.mark(name, int(row)) for row in rows if np.isfinite(side.regions.boxes[row]).all()]
        return sorted(found, key=lambda mark: -spread(mark.rings))

    def mark(self, name: str, row: int) -> Mark:
        """One object."""
        side, fates = (self.truth, self.fates[0]) if name == "truth" else (self.pred, self.fates[1])
        sure = float("nan") if name == "truth" else float(self.sureness[row])
        label = side.labels.all_names[side.label[row]]
        rings = rings_of(side.regions, row, "box" if self.on == "keypoints" else self.on)
        joints, bones = pose_of(side, row) if self.on == "keypoints" else (None, [])
        return Mark(name, row, FATES[fates[row]], label, sure, rings, joints, bones)


def thresholds_of(results: Results) -> tuple[float, ...]:
    """The overlaps at which results were made."""
    asked: Any = getattr(getattr(results, "settings", None), "iou", None)
    return tuple(asked) if isinstance(asked, (tuple, list)) else ()


def spread(rings: list[Ring]) -> float:
    """The area of the box around rings."""
    if not rings:
        return 0.0
    points = np.concatenate(rings)
    width, height = np.ptp(points, axis=0)
    return float(width * height)


WORST = 12  # images that are drawn unasked

FEW = 6  # of them beside other results

MOST_NAMES = 40  # objects of an image from which on only mistakes have names

LONG_SIDE = 9.0  # inches of a drawn photo

NIGHT = "#0b0d10"  # around every line, so that it is seen on any photo

BLANK = "#e9ecf1"


@dataclass(frozen=True)
class Pen:
    """Line style of one outcome; no two outcomes differ by colour alone."""

    sign: str  # before its name
    colour: str
    width: float
    dashes: tuple[float, ...] | None = None
    hatch: str | None = None
    is_named: bool = True


PENS = {
    "found": Pen("", "#ffffff", 1.2, is_named=False),
    "missed": Pen("missed ", "#ffffff", 2.4, hatch="////"),
    "not asked for": Pen("ignored: ", "#b0b8c5", 1.0, hatch="....", is_named=False),
    "right": Pen("✓ ", "#56b4e9", 1.6, (5, 3)),
    "wrong": Pen("✗ ", "#ff8a00", 2.2, (5, 3)),
}


def draw(
    truth: Readable,
    pred: Readable,
    output: str | PathLike[str],
    *,
    images: str | PathLike[str] | None = None,
    image: str | None = None,
    worst: int = WORST,
    protocol: str = "coco",
    confidence: Any = None,
    format: str = "png",
    **settings: Any,
) -> list[Path]:
    """Draw ground truth and predictions on images and save the figures: one image, or those with the most errors.

    Ground truth is solid, predictions are dashed; missed objects are hatched, false positives have a cross.

    Parameters
    ----------
    truth, pred
        Ground truth and predictions: paths or objects that `vt.read` accepts.
    output
        Folder for the figures.
    images
        Folder with the images; by default folders beside the ground truth are searched. Without an image file the
        objects are drawn on an empty background.
    image
        Name of the only image to draw.
    worst
        Number of images, those with the most errors first.
    protocol
        Evaluation protocol.
    confidence
        Confidence threshold, by default that of the best F1.
    format
        Format of the figures: png, svg or pdf.
    **settings
        Settings of the protocol: `on="keypoints"` draws skeletons, `on="rotated"` rotated boxes; `iou` is the
        threshold of a match, by default 0.5.

    Returns
    -------
    list of pathlib.Path
        The figures that were saved.

    Examples
    --------
    >>> vt.draw("truth.json", "detections.json", "drawn/", images="photos/", worst=20)      # doctest: +SKIP
    """
    need_matplotlib()  # before all the work
    if not isinstance(protocol, str) or protocol not in REGISTRY:
        raise BadParameter(f"protocol: expected one of {', '.join(REGISTRY)}, found {protocol!r}")
    if not isinstance(image, (str, type(None))):
        raise BadParameter(f"image: expected the name of an image, found {excerpt(image)}")
    images = None if images is None else path_of(images, "images")
    results = protocol_named(protocol)(*read_pair(truth, pred), **settings)
    overlay = Overlay(results, confidence=confidence)
    with fill_folder(output) as home:
        saved = save_overlays(overlay, Pictures(results.truth, images), home, format, image, worst)
    return [Path(output) / path.relative_to(home) for path in saved]


def save_overlays(
    overlay: Overlay,
    pictures: Pictures,
    folder: Path,
    format: str = "png",
    image: str | None = None,
    worst: int = WORST,
) -> list[Path]:
    """Save figures of the chosen image, or of those with the most errors."""
    if isinstance(worst, bool) or not isinstance(worst, int) or worst < 1:
        raise BadParameter(f"worst: expected a whole number from 1 up, found {excerpt(worst)}")
    chosen = [overlay.position(image)] if image is not None else overlay.worst[:worst]
    names = file_names(stem(overlay.truth.images.name(i)) for i in chosen)
    saved = [make_folder(folder) / f"{name}.{format}" for name in names]
    for path, i in count_files("drawing", list(zip(saved, chosen, strict=True))):
        write_atomically(path, render(figure_of(overlay, pictures, i), format))
    return saved


def save_worst(results: Results, folder: Path, images: str | None = None, format: str = "png") -> list[Path]:
    """Save the images with the most errors; none without image files or objects to draw."""
    if type(results).matches is Results.matches:
        return []
    pictures = Pictures(results.truth, images)
    return [] if pictures.folder is None else save_overlays(Overlay(results), pictures, folder, format, worst=FEW)


def plot_image(
    results: Results,
    image: str,
    images: str | PathLike[str] | None = None,
    *,
    iou: float | None = None,
    confidence: Any = None,
) -> Figure:
    """Plot one image of an evaluation with its objects, as a matplotlib figure.

    Examples
    --------
    >>> vt.plot_image(vt.coco(truth, pred), "street.jpg", "photos/")      # doctest: +SKIP
    """
    overlay = Overlay(results, iou, confidence)
    folder = None if images is None else path_of(images, "images")
    return figure_of(overlay, Pictures(results.truth, folder), overlay.position(image))


def figure_of(overlay: Overlay, pictures: Pictures, image: int) -> Figure:
    """A photo, or an empty ground of its size, the objects on it, and below it what they are."""
    width, height = overlay.size(image)
    scale = LONG_SIDE / max(width, height)
    wide, tall = max(width * scale, 3.0), max(height * scale, 2.0)
    strip = 0.62
    figure = new_figure((wide, tall + strip), facecolor="white", layout=None)
    axes = figure.add_axes((0, strip / (tall + strip), 1, tall / (tall + strip)))
    axes.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[], facecolor=BLANK, aspect="equal")
    axes.spines[:].set_visible(False)
    shown = pixels(pictures[image], (int(width), int(height)))
    if shown is not None:
        axes.imshow(shown, extent=(0, width, height, 0), interpolation="lanczos")
    marks = overlay.marks(image)
    for mark in marks:
        draw_mark(axes, mark)
    for mark in marks:
        pen = PENS[mark.fate]
        if pen.is_named and (len(marks) <= MOST_NAMES or mark.fate != "right"):
            write_name(axes, mark, pen, (width, height))
    caption_photo(figure, overlay, image, strip / (tall + strip))
    figure.set_label(str(overlay.results.signature))
    return figure


def draw_mark(axes: Axes, mark: Mark) -> None:
    """The outline of an object, with a dark edge that parts it from any photo."""
    from matplotlib.patches import Polygon
    from matplotlib.patheffects import Normal, withStroke

    pen = PENS[mark.fate]
    has_pose = mark.joints is not None and len(mark.joints) > 0
    if mark.joints is not None and has_pose:
        draw_pose(axes, mark.joints, mark.bones, pen, NIGHT)
    dashes: Any = "-" if pen.dashes is None else (0, pen.dashes)
    for ring in mark.rings:
        if not has_pose:  # else its box would only be in the way
            line = Polygon(ring, closed=True, fill=False, ec=pen.colour, lw=pen.width, ls=dashes, joinstyle="miter")
            line.set_path_effects([withStroke(linewidth=pen.width + 1.6, foreground=NIGHT, alpha=0.5), Normal()])
            axes.add_patch(line)
        if pen.hatch:
            inside = Polygon(ring, closed=True, fill=False, ec=(1, 1, 1, 0.45), lw=0, hatch=pen.hatch)
            axes.add_patch(inside)


def write_name(axes: Axes, mark: Mark, pen: Pen, size: tuple[float, float]) -> None:
    """What an object is: predictions above their upper left corner, truths below their lower left one."""
    if not mark.rings:
        return
    left, side = min(max(float(min(ring[:, 0].min() for ring in mark.rings)), 0.0), size[0]), "left"
    top, bottom = (float(pick(ring[:, 1] for ring in mark.rings)) for pick in (lowest, highest))
    is_truth = mark.side == "truth"
    if mark.joints is not None and len(mark.joints):  # a pose has no corner: beside its head or its feet
        end = mark.joints[mark.joints[:, 1].argmax() if is_truth else mark.joints[:, 1].argmin()]
        left, side = min(max(float(end[0]), 0.05 * size[0]), 0.95 * size[0]), "center"
    at = min(bottom, size[1]) if is_truth else max(top, 0.0)
    at = min(max(at, -size[1]), 2 * size[1])  # far outside is not seen, and too far for matplotlib's fonts
    is_inside = at > size[1] * 0.95 if is_truth else at < size[1] * 0.05  # there is no room beyond the object
    sure = f" {mark.confidence:.2f}" if mark.confidence == mark.confidence else ""
    name = shorten(mark.label, 24)
    written = axes.annotate(
        f"{pen.sign}{name}{sure}", (left, at), xytext=(1, -3 if is_truth != is_inside else 3),
        textcoords="offset points", ha=side, va="top" if is_truth != is_inside else "bottom", fontsize=8,
        color=NIGHT, annotation_clip=False, clip_on=True, parse_math=False,
        bbox={"boxstyle": "square,pad=0.18", "fc": pen.colour, "ec": "none", "alpha": 0.92},
    )  # fmt: skip
    keep_inside(axes, written)


def keep_inside(axes: Axes, written: Annotation) -> None:
    """A name that would leave its picture on the left or right is moved back."""
    figure: Any = axes.figure
    with without_glyph_warnings():
        name, frame, dpi = written.get_window_extent(), axes.bbox, figure.dpi
    pad = 0.2 * float(written.get_fontsize()) * dpi / 72
    beyond = max(frame.x0 - name.x0 + pad, 0) or min(frame.x1 - name.x1 - pad, 0)
    x, y = written.get_position()
    written.set_position((float(x) + beyond * 72 / dpi, float(y)))


def lowest(values: Any) -> float:
    return min(float(part.min()) for part in values)


def highest(values: Any) -> float:
    return max(float(part.max()) for part in values)


def caption_photo(figure: Figure, overlay: Overlay, image: int, strip: float) -> None:
    """Below the photo: its name, what is on it, and what the lines mean."""
    from matplotlib.patches import Rectangle

    counts = {name: int(values[image]) for name, values in overlay.by_image.items()}
    said = f"{counts['found']} TP, {counts['wrong']} FP, {counts['missed']} missed (FN)"
    floor = overlay.confidence
    from_confidence = "that of its class" if isinstance(floor, ClassThresholds) else f"{floor:.3g}"
    at = f"{overlay.results.words.at(overlay.iou)}, confidence ≥ {from_confidence}"
    name = overlay.truth.images.name(image)
    name = name if len(name) <= 48 else "…" + name[-47:]
    figure.text(0.012, strip * 0.68, name, fontsize=9, weight="bold", va="center", color="#14181f")
    figure.text(0.988, strip * 0.68, said, fontsize=9, va="center", ha="right", color="#14181f")
    figure.text(0.988, strip * 0.28, at, fontsize=7.5, va="center", ha="right", color="#646c7a")
    wide = figure.get_figwidth()
    x = 0.012 * wide
    for text, fate, colour in KEYS:
        pen = PENS[fate]
        dashes: Any = "-" if pen.dashes is None else (0, (3, 2))
        box = Rectangle(
            (x / wide, strip * 0.16), 0.26 / wide, strip * 0.24, transform=figure.transFigure, fill=False, ec=colour,
            lw=min(pen.width, 1.8), ls=dashes, hatch=pen.hatch,
        )  # fmt: skip
        figure.add_artist(box)
        figure.text((x + 0.34) / wide, strip * 0.28, text, fontsize=7.5, va="center", color="#4a5260")
        x += 0.52 + 0.075 * len(text)


# What the lines mean, in colours that are seen on white.
KEYS = (("ground truth", "found", "#14181f"), ("missed", "missed", "#4a5260"), ("✓ TP", "right", "#1a5fb4"),
        ("✗ FP", "wrong", "#d97500"))  # fmt: skip
