"""Draw ground-truth objects and predictions on images by outcome: TP, FP, missed (FN), ignored.

`Overlay` computes the outcome of every object of an evaluation at one IoU threshold and one confidence threshold; the
HTML report uses it, too. Figures show bounding boxes, polygons and masks as outlines, keypoints as skeletons.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, did_you_mean, excerpt
from verite.evaluation.points import MaxDistanceSetting, PixelSize
from verite.evaluation.settings import (
    SIMILARITIES,
    ClassThresholds,
    EvaluationSettings,
    ThresholdSetting,
    above_threshold,
    count_left,
    validate_threshold,
)
from verite.files import check_folder, fill_folder, make_folder, path_of, write_atomically
from verite.formats import Readable, read_pair
from verite.model.images import stem
from verite.model.outcomes import DETECTED, FALSE_POSITIVE, IGNORED_PRED, IGNORED_TRUTH, MISSED, OUTCOMES, TRUE_POSITIVE
from verite.model.rasters import array_of
from verite.model.regions import MASK, POLYGON
from verite.model.results import Results
from verite.plotting import shorten
from verite.progress import count_files
from verite.protocols import REGISTRY, protocol_named
from verite.protocols.keypoints import Sigmas
from verite.reporting.image_files import ImageFiles, load_pixels
from verite.reporting.plots import DPI, file_names, need_matplotlib, new_figure, render, without_glyph_warnings
from verite.settings import Choice, Count, Option, Setting, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from verite.evaluation.prepare import Checks
    from verite.model.annotations import Annotations
    from verite.model.regions import Regions
    from verite.model.results import Results


Ring = NDArray[np.float64]  # [n, 2] x and y

MOST_RING_POINTS = 200  # of the outline of a mask


def rings_of(regions: Regions, i: int, on: str = "box") -> list[Ring]:
    """Return the outline of region i: polygon or mask where masks are compared, else the bounding box."""
    if on != "box" and regions.kinds[i] == POLYGON and regions.polygons is not None:
        return [np.asarray(ring) for ring in regions.polygons[i]]
    if on != "box" and regions.kinds[i] == MASK and regions.runs is not None:
        return trace_mask(array_of(regions.runs, i))
    x1, y1, x2, y2 = regions.boxes[i]
    return [np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]])]


def trace_mask(mask: NDArray[np.bool_]) -> list[Ring]:
    """Return the borders of a mask along the edges of its pixels, the longest ring first, thinned out.

    >>> trace_mask(np.array([[True, True], [False, False]]))[0].tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]
    """
    padded, found = np.pad(mask, 1), defaultdict(list)
    inside = padded[1:-1, 1:-1]
    # Edges between a pixel and a neighbour outside: from corner to corner, with the inside to their right.
    for outside, first, last in (
        (padded[:-2, 1:-1], (0, 0), (1, 0)),
        (padded[1:-1, 2:], (1, 0), (1, 1)),
        (padded[2:, 1:-1], (1, 1), (0, 1)),
        (padded[1:-1, :-2], (0, 1), (0, 0)),
    ):
        for y, x in np.argwhere(inside & ~outside).tolist():
            found[x + first[0], y + first[1]].append((x + last[0], y + last[1]))
    rings = []
    while found:
        start = at = min(found)
        points: list[tuple[int, int]] = []
        while not points or at != start:
            points.append(at)
            ends = found[at]
            following = ends.pop()
            if not ends:
                del found[at]
            at = following
        ring = np.array(points, dtype=np.float64)
        before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
        rings.append(
            ring[before[:, 0] * after[:, 1] != before[:, 1] * after[:, 0]]
        )  # without points on a straight line
    return [thin(ring) for ring in sorted(rings, key=len, reverse=True)]


def thin(ring: Ring, most: int = MOST_RING_POINTS) -> Ring:
    """Return at most so many points, spread evenly over the ring."""
    return ring if len(ring) <= most else ring[np.linspace(0, len(ring), most, endpoint=False).astype(int)]


# Skeletons for files without one: COCO's 17 keypoints, CrowdPose's 14.
SKELETONS = {
    17: ((15, 13), (13, 11), (16, 14), (14, 12), (11, 12), (5, 11), (6, 12), (5, 6), (5, 7), (6, 8), (7, 9), (8, 10),
         (1, 2), (0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6)),
    14: ((12, 13), (13, 0), (13, 1), (0, 1), (0, 2), (2, 4), (1, 3), (3, 5), (0, 6), (1, 7), (6, 7), (6, 8), (8, 10),
         (7, 9), (9, 11)),
}  # fmt: skip

SMALL_POSE = 0.15  # share of the image below which a pose is drawn with finer lines


def pose_of(side: Annotations, row: int) -> tuple[Ring, list[Ring]]:
    """Return labelled keypoints [n, 2] of an object and the edges of its skeleton.

    Of a prediction without visibility flags all keypoints count as labelled.
    """
    keypoints = side.regions.keypoints
    if keypoints is None or not len(keypoints[row]):
        return np.empty((0, 2)), []
    points = keypoints[row]
    seen = points[:, 2] > 0 if (points[:, 2] > 0).any() else np.full(len(points), side.confidence is not None)
    skeletons = side.labels.skeletons
    stated = skeletons[side.label[row]].edges if skeletons is not None else ()
    edges = stated or SKELETONS.get(len(points), ())
    return points[seen, :2], [points[[a, b], :2] for a, b in edges if max(a, b) < len(points) and seen[a] and seen[b]]


def draw_pose(axes: Axes, joints: Ring, bones: list[Ring], pen: Pen, night: str) -> None:
    """Draw keypoints and skeleton on a dark edge that is visible on any image; small poses have finer lines."""
    from matplotlib.collections import LineCollection

    left, right = axes.get_xlim()
    share = float(np.ptp(joints, axis=0).max()) / abs(right - left)
    fine = min(max(share / SMALL_POSE, 0.4), 1.0)
    width, size = fine * (pen.width + 0.6), 14 * fine**2 * (pen.width + 0.6)
    dashes = "-" if pen.dashes is None else (0, (2.6, 1.1))
    for colour, wide, how in ((night, width + 1.8 * fine, "-"), (pen.colour, width, dashes)):
        lines = LineCollection(bones, colors=colour, linewidths=wide, linestyles=[how], capstyle="butt", zorder=2.5)
        lines.set_alpha(0.55 if colour == night else 1)
        axes.add_collection(lines)
    axes.scatter(joints[:, 0], joints[:, 1], s=size, c=pen.colour, edgecolors=night, linewidths=0.9 * fine, zorder=3)


MOST_POINTS = 10_000  # of an outline that is drawn; matplotlib fails beyond some more

DEFAULT_IOU = 0.5  # of protocols with several thresholds


@dataclass(frozen=True, eq=False)
class Mark:
    """A ground-truth object or a prediction to draw on its image.

    Attributes
    ----------
    side, row
        "truth" or "pred", and the row in its annotations.
    outcome
        As `verite.model.outcomes` names it: found, missed, right, wrong, ….
    label, confidence
        Name of the class, and confidence of a prediction; NaN for ground truth.
    rings
        Outline: rings of x and y.
    joints, bones
        Labelled keypoints and edges of the skeleton, where poses are compared.
    """

    side: str  # truth or pred
    row: int
    outcome: str
    label: str
    confidence: float  # of a prediction
    rings: list[Ring]
    joints: Ring | None = None  # of a pose, where keypoints are compared
    bones: list[Ring] = field(default_factory=list)

    @property
    def lines(self) -> list[Ring]:
        """What is drawn: the edges of a skeleton as rings of two points, else the outline."""
        return self.bones or [ring[:: 1 + len(ring) // MOST_POINTS] for ring in self.rings]

    @property
    def box_area(self) -> float:
        """Area of the box around the outline."""
        if not self.rings:
            return 0.0
        width, height = np.ptp(np.concatenate(self.rings), axis=0)
        return float(width * height)


class Overlay:
    """Outcomes of all objects at one IoU threshold and one confidence threshold: TP, FP, missed (FN), ignored.

    Predictions below the confidence threshold are not counted. Greedy matching by falling confidence is the same with
    and without them.

    Attributes
    ----------
    matches
        Which prediction matched which ground-truth object.
    confidences
        Confidence of each prediction; 1 where the file has none.
    confidence
        The confidence threshold, or one per class.
    """

    def __init__(self, results: Results, iou: float | None = None, confidence: Any = None) -> None:
        """`confidence` is a number, one per class, or the `thresholds.json` of an analysis; default: the best F1."""
        known = results.iou_thresholds
        self.results, self.truth, self.pred = results, results.truth, results.pred
        self.on = dict(results.signature).get("on", "box")
        if iou is None and len(known) > 1:
            iou = DEFAULT_IOU if DEFAULT_IOU in known else known[0]
        self.matches = results.matches(iou)
        self.iou = self.matches.iou
        given = None if results.protocol == "f1" else self.pred.confidence  # f1 matches without confidences
        self.confidences = np.ones(len(self.pred)) if given is None else given
        threshold: float | ClassThresholds = (
            self.best_confidence if confidence is None else validate_threshold(confidence)
        )
        if confidence is not None:
            count_left(self.pred, threshold)  # a threshold that no prediction reaches is an error
        elif results.protocol == "f1":
            threshold = -np.inf
        self.confidence = threshold

    @cached_property
    def is_true_positive(self) -> NDArray[np.bool_]:
        """[prediction]: whether it matches a counted object, whatever its confidence."""
        found = np.zeros(len(self.pred), dtype=np.bool_)
        found[self.matches.matched_pred[self.matches.matched_pred >= 0]] = True
        return found

    @cached_property
    def is_counted(self) -> NDArray[np.bool_]:
        """[prediction]: whether it is a true or a false positive, not ignored."""
        known = self.matches.counted_pred
        is_counted = np.ones(len(self.pred), dtype=np.bool_) if known is None else known.copy()
        if self.matches.confidence_threshold is not None:
            is_counted &= self.confidences >= self.matches.confidence_threshold
        return is_counted | self.is_true_positive

    @cached_property
    def best_confidence(self) -> float:
        """The confidence with the best F1 over all objects, the highest of equals; the lowest without a TP."""
        order = np.argsort(-self.confidences, kind="stable")
        order = order[self.is_counted[order]]
        if not len(order) or not self.is_true_positive.any():
            return float(self.confidences.min(initial=0.0))
        right = np.cumsum(self.is_true_positive[order])
        f1 = 2 * right / (np.arange(1, len(order) + 1) + int(self.matches.counted_truth.sum()))
        is_last = np.append(np.diff(self.confidences[order]) != 0, True)  # of equal confidences
        return float(self.confidences[order[int(np.argmax(np.where(is_last, f1, -1.0)))]])

    @cached_property
    def outcomes(self) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Outcomes of ground truth and predictions, as `verite.model.outcomes` numbers them."""
        matched = self.matches.matched_pred
        is_kept = above_threshold(self.pred, self.confidence)
        is_found = (matched >= 0) & np.append(is_kept, False)[matched]
        truths = np.where(is_found, DETECTED, np.where(self.matches.counted_truth, MISSED, IGNORED_TRUTH))
        preds = np.where(self.is_true_positive, TRUE_POSITIVE, np.where(self.is_counted, FALSE_POSITIVE, IGNORED_PRED))
        return truths.astype(np.int8), np.where(is_kept, preds, IGNORED_PRED).astype(np.int8)

    @cached_property
    def by_image(self) -> dict[str, NDArray[np.int64]]:
        """[image]: number of true positives ("found"), missed objects and false positives ("wrong")."""
        count = len(self.truth.images)
        truths, preds = self.outcomes
        return {
            "found": np.bincount(self.truth.image[truths == DETECTED], minlength=count),
            "missed": np.bincount(self.truth.image[truths == MISSED], minlength=count),
            "wrong": np.bincount(self.pred.image[preds == FALSE_POSITIVE], minlength=count)[:count],
        }

    @property
    def worst(self) -> list[int]:
        """Positions of the images with errors, by falling number of errors."""
        errors = self.by_image["missed"] + self.by_image["wrong"]
        return [int(i) for i in np.argsort(-errors, kind="stable") if errors[i]]

    def position(self, name: str) -> int:
        """Return the position of the image of this name, or of this id where images have no names."""
        images = self.truth.images
        found = images.find(name)
        if found is None and name.removeprefix("-").isdecimal() and len(name) < 20:
            found = images.index_of_id.get(int(name))
        if found is None:
            near = did_you_mean(name, images.names or ())
            raise BadParameter(f"image: expected one of {len(images):,} images, found {name!r}{near}")
        return found

    def size(self, image: int) -> tuple[float, float]:
        """Return width and height of an image; where unknown, of the region that its objects cover."""
        images = self.truth.images
        width, height = float(images.widths[image]), float(images.heights[image])
        if width > 0 and height > 0:
            return width, height
        boxes = [side.regions.boxes[side.image == image] for side in (self.truth, self.pred)]
        corners = np.concatenate([*boxes, [[0, 0, 1, 1]]])
        corners = corners[np.isfinite(corners).all(axis=1)]
        return float(corners[:, 2].max()) * 1.02, float(corners[:, 3].max()) * 1.02

    def marks(self, image: int) -> list[Mark]:
        """Return the objects of an image, the large ones first, so that small ones are drawn above them."""
        found = []
        for name, side, outcomes in (("truth", self.truth, self.outcomes[0]), ("pred", self.pred, self.outcomes[1])):
            rows = np.flatnonzero((side.image == image) & (outcomes != IGNORED_PRED))
            found += [self.mark(name, int(row)) for row in rows if np.isfinite(side.regions.boxes[row]).all()]
        return sorted(found, key=lambda mark: -mark.box_area)

    def mark(self, side: str, row: int) -> Mark:
        """Return one object of a side ("truth" or "pred") as it is drawn."""
        annotations, outcomes = (self.truth, self.outcomes[0]) if side == "truth" else (self.pred, self.outcomes[1])
        confidence = float("nan") if side == "truth" else float(self.confidences[row])
        label = annotations.labels.all_names[annotations.label[row]]
        rings = rings_of(annotations.regions, row, "box" if self.on == "keypoints" else self.on)
        joints, bones = pose_of(annotations, row) if self.on == "keypoints" else (None, [])
        return Mark(side, row, OUTCOMES[outcomes[row]], label, confidence, rings, joints, bones)


WORST = 12  # images that are drawn by default


class DrawSettings(EvaluationSettings):
    """Which images are drawn, and by which evaluation."""

    worst: Option[int] = Count(
        WORST, "Number of images to draw, those with the most errors first.", metavar="N", section="Options"
    )
    image: Option[str | None] = Text(None, "Draw only this image.", metavar="NAME", section="Options")
    confidence: Setting[Any, Any] = ThresholdSetting(
        None, "Confidence threshold, or a thresholds.json with one per class.", metavar="C|FILE",
        default_text="that of the best F1",
    )  # fmt: skip
    on: Option[str | None] = Choice(
        None, "What is compared and drawn, if the protocol has a choice.", tuple(SIMILARITIES)
    )
    sigmas: Setting[Any, Any] = Sigmas()
    max_distance: Setting[Any, Any] = MaxDistanceSetting()
    pixel_size: Setting[Any, Any] = PixelSize()
    protocol: Option[str] = Choice(
        "coco", f"Evaluation protocol: {', '.join(REGISTRY)}.", tuple(REGISTRY), metavar="NAME"
    )

    @property
    def of_protocol(self) -> dict[str, Any]:
        """The settings that the protocol is evaluated with, where they are given."""
        named = ("on", "sigmas", "max_distance", "pixel_size")
        return {name: value for name in named if (value := getattr(self, name)) is not None}


FEW = 6  # images that are drawn beside other results of a command

MOST_NAMES = 40  # objects of an image beyond which only errors are labelled

LONG_SIDE = 9.0  # inches of a drawn image

NIGHT = "#0b0d10"  # around every line, so that it is visible on any image

BLANK = "#e9ecf1"  # background without an image


@dataclass(frozen=True)
class Pen:
    """Line style of one outcome; no two outcomes differ by colour alone.

    Attributes
    ----------
    sign
        Text before the class.
    colour, width, dashes, hatch
        Style of the line and of the area inside.
    is_named
        Whether class and confidence are written beside the object.
    """

    sign: str  # before the class
    colour: str
    width: float
    dashes: tuple[float, ...] | None = None
    hatch: str | None = None
    is_named: bool = True


# By outcome, as `verite.model.outcomes` names them.
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
    on: str | None = None,
    iou: float | Sequence[float] | None = None,
    sigmas: Any = None,
    max_distance: float | str | None = None,
    pixel_size: float | None = None,
    checks: Checks = "stop",
    overwrite: bool = False,
    **settings: Any,
) -> list[Path]:
    """Draw ground truth and predictions on images and save the figures: one image, or those with the most errors.

    Ground truth is solid, predictions are dashed; missed objects are hatched, false positives have a cross.

    Parameters
    ----------
    truth, pred
        Ground truth and predictions: paths or objects that `vt.read` accepts.
    output
        Folder for the figures, new or empty unless `overwrite`.
    images
        Folder with the images; by default folders beside the ground truth are searched. Without an image file the
        objects are drawn on an empty background.
    image
        Name of the only image to draw.
    worst
        Number of images, those with the most errors first; 12 by default.
    protocol
        Evaluation protocol, "coco" by default.
    confidence
        Confidence threshold: a number, one per class, or a `thresholds.json`; by default that of the best F1.
    format
        Format of the figures: png, svg or pdf.
    on
        What is compared and drawn, if the protocol has a choice: "box", "mask", "keypoints" (skeletons), "rotated".
    iou
        IoU threshold of a match, or several, of which 0.5 is drawn; by default the protocol's.
    sigmas
        Sigmas of keypoints, as in :func:`verite.coco`.
    max_distance, pixel_size
        Maximum distance of a match of points and the size of a pixel, as in :func:`verite.coco`.
    checks
        What to do about errors that the checks find in the files: "stop", "warn" or "off".
    overwrite
        Replace figures of the same names in a folder that has files; others stay.
    **settings
        Settings that are the protocol's own, such as `labels` or `interpolation` of :func:`verite.voc`.

    Returns
    -------
    list of pathlib.Path
        The figures that were saved.

    Raises
    ------
    BadParameter
        If a setting is unknown or out of range, or matplotlib is missing.
    ReadError
        If a file cannot be read.

    Examples
    --------
    >>> import verite as vt
    >>> from tempfile import TemporaryDirectory
    >>> truth = vt.Annotations.of(["a.png"], ["cat"], [[5, 5, 30, 30]], sizes={"a.png": (40, 40)})
    >>> pred = vt.Annotations.of(["a.png"], ["cat"], [[20, 20, 39, 39]], confidence=[0.9])
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in vt.draw(truth, pred, f"{folder}/drawn", checks="off")]
    ['a.png']
    """
    need_matplotlib()  # before all the work
    check_folder(path_of(output, "output"), overwrite=overwrite)
    own = DrawSettings(
        worst=worst, image=image, confidence=confidence, on=on, sigmas=sigmas, max_distance=max_distance,
        pixel_size=pixel_size, protocol=protocol, checks=checks,
    )  # fmt: skip
    images = None if images is None else path_of(images, "images")
    settings |= own.of_protocol | ({} if iou is None else {"iou": iou})
    results = protocol_named(own.protocol)(*read_pair(truth, pred), checks=own.checks, **settings)
    overlay = Overlay(results, confidence=own.confidence)
    with fill_folder(output, overwrite=overwrite) as home:
        saved = save_overlays(overlay, ImageFiles(results.truth, images), home, format, own.image, own.worst)
    return [Path(output) / path.relative_to(home) for path in saved]


def save_overlays(
    overlay: Overlay,
    files: ImageFiles,
    folder: Path,
    format: str = "png",
    image: str | None = None,
    worst: int = WORST,
) -> list[Path]:
    """Save figures of the chosen image, or of those with the most errors."""
    chosen = [overlay.position(image)] if image is not None else overlay.worst[:worst]
    names = file_names(stem(overlay.truth.images.name(i)) for i in chosen)
    saved = [make_folder(folder) / f"{name}.{format}" for name in names]
    for path, i in count_files("drawing", list(zip(saved, chosen, strict=True))):
        write_atomically(path, render(figure_of(overlay, files, i), format))
    return saved


def save_worst(results: Results, folder: Path, images: str | None = None, format: str = "png") -> list[Path]:
    """Save the images with the most errors; none without image files or objects to draw."""
    if type(results).matches is Results.matches:
        return []
    files = ImageFiles(results.truth, images)
    return [] if files.folder is None else save_overlays(Overlay(results), files, folder, format, worst=FEW)


def plot_image(
    results: Results,
    image: str,
    images: str | PathLike[str] | None = None,
    *,
    iou: float | None = None,
    confidence: Any = None,
) -> Figure:
    """Plot one image of an evaluation with its objects, as a matplotlib figure.

    Parameters
    ----------
    results
        Results of a protocol that matches objects, such as `vt.coco`.
    image
        Name of the image, or its id where images have no names.
    images
        Folder with the images; by default folders beside the ground truth are searched.
    iou
        IoU threshold of a match, one of those of the results; by default 0.5 or the first.
    confidence
        Confidence threshold: a number, one per class, or a `thresholds.json`; by default that of the best F1.

    Returns
    -------
    matplotlib.figure.Figure
        The image with outlines, classes and a caption.

    Raises
    ------
    BadParameter
        If there is no such image, or matplotlib is missing.

    Examples
    --------
    >>> import verite as vt
    >>> truth = vt.Annotations.of(["a.png"], ["cat"], [[5, 5, 30, 30]], sizes={"a.png": (40, 40)})
    >>> pred = vt.Annotations.of(["a.png"], ["cat"], [[6, 6, 30, 30]], confidence=[0.9])
    >>> figure = vt.plot_image(vt.coco(truth, pred, checks="off"), "a.png")
    >>> [text.get_text() for text in figure.texts][:2]
    ['a.png', '1 TP, 0 FP, 0 missed (FN)']
    """
    if iou is not None and (isinstance(iou, bool) or not isinstance(iou, (int, float)) or not 0 <= iou <= 1):
        raise BadParameter(f"iou: expected a number from 0 to 1, found {excerpt(iou)}")
    overlay = Overlay(results, iou, confidence)
    folder = None if images is None else path_of(images, "images")
    return figure_of(overlay, ImageFiles(results.truth, folder), overlay.position(image))


def figure_of(overlay: Overlay, files: ImageFiles, image: int) -> Figure:
    """Return a figure of an image, or of an empty background, with its objects and a caption."""
    width, height = overlay.size(image)
    scale = LONG_SIDE / max(width, height)
    wide, tall = max(width * scale, 3.0), max(height * scale, 2.0)
    strip = 0.62  # inches of the caption
    figure = new_figure((wide, tall + strip), facecolor="white", layout=None)
    axes = figure.add_axes((0, strip / (tall + strip), 1, tall / (tall + strip)))
    axes.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[], facecolor=BLANK, aspect="equal")
    axes.spines[:].set_visible(False)
    shown = load_pixels(files[image], (int(width), int(height)), round(LONG_SIDE * DPI))
    if shown is not None:
        # With an alpha channel of its own, matplotlib resamples in float32, without it in float64: twice the memory.
        shown = np.dstack([shown, np.full(shown.shape[:2], 255, np.uint8)])
        axes.imshow(shown, extent=(0, width, height, 0), interpolation="nearest")
    marks = overlay.marks(image)
    for mark in marks:
        draw_mark(axes, mark)
    for mark in marks:
        pen = PENS[mark.outcome]
        if pen.is_named and mark.rings and (len(marks) <= MOST_NAMES or mark.outcome != "right"):
            write_label(axes, mark, pen, (width, height))
    write_caption(figure, overlay, image, strip / (tall + strip))
    figure.set_label(str(overlay.results.signature))
    return figure


def draw_mark(axes: Axes, mark: Mark) -> None:
    """Draw the outline of an object, or its skeleton, with a dark edge that is visible on any image."""
    from matplotlib.patches import Polygon
    from matplotlib.patheffects import Normal, withStroke

    pen = PENS[mark.outcome]
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


def write_label(axes: Axes, mark: Mark, pen: Pen, size: tuple[float, float]) -> None:
    """Write class and confidence: of predictions above the upper left corner, of ground truth below the lower left.

    `size` is that of the image; a label that would leave it to the left or right is moved back.
    """
    points = np.concatenate(mark.rings)
    left, side = min(max(float(points[:, 0].min()), 0.0), size[0]), "left"
    is_truth = mark.side == "truth"
    if mark.joints is not None and len(mark.joints):  # a pose has no corner: beside its head or its feet
        end = mark.joints[mark.joints[:, 1].argmax() if is_truth else mark.joints[:, 1].argmin()]
        left, side = min(max(float(end[0]), 0.05 * size[0]), 0.95 * size[0]), "center"
    at = min(float(points[:, 1].max()), size[1]) if is_truth else max(float(points[:, 1].min()), 0.0)
    at = min(max(at, -size[1]), 2 * size[1])  # text far outside is invisible, and matplotlib fails to place it
    is_inside = at > size[1] * 0.95 if is_truth else at < size[1] * 0.05  # there is no room beyond the object
    confidence = f" {mark.confidence:.2f}" if mark.confidence == mark.confidence else ""
    written = axes.annotate(
        f"{pen.sign}{shorten(mark.label, 24)}{confidence}", (left, at), xytext=(1, -3 if is_truth != is_inside else 3),
        textcoords="offset points", ha=side, va="top" if is_truth != is_inside else "bottom", fontsize=8,
        color=NIGHT, annotation_clip=False, clip_on=True, parse_math=False,
        bbox={"boxstyle": "square,pad=0.18", "fc": pen.colour, "ec": "none", "alpha": 0.92},
    )  # fmt: skip
    figure: Any = axes.figure
    with without_glyph_warnings():
        label, frame, dpi = written.get_window_extent(), axes.bbox, figure.dpi
    pad = 0.2 * float(written.get_fontsize()) * dpi / 72
    beyond = max(frame.x0 - label.x0 + pad, 0) or min(frame.x1 - label.x1 - pad, 0)
    x, y = written.get_position()
    written.set_position((float(x) + beyond * 72 / dpi, float(y)))


def write_caption(figure: Figure, overlay: Overlay, image: int, strip: float) -> None:
    """Write name, counts, thresholds and legend below the image; `strip` is the caption's share of the height."""
    from matplotlib.patches import Rectangle

    counts = {name: int(values[image]) for name, values in overlay.by_image.items()}
    counted = f"{counts['found']} TP, {counts['wrong']} FP, {counts['missed']} missed (FN)"
    threshold = overlay.confidence
    least = "that of its class" if isinstance(threshold, ClassThresholds) else f"{threshold:.3g}"
    at = f"{overlay.results.words.at(overlay.iou)}, confidence ≥ {least}"
    name = overlay.truth.images.name(image)
    name = name if len(name) <= 48 else "…" + name[-47:]
    figure.text(0.012, strip * 0.68, name, fontsize=9, weight="bold", va="center", color="#14181f")
    figure.text(0.988, strip * 0.68, counted, fontsize=9, va="center", ha="right", color="#14181f")
    figure.text(0.988, strip * 0.28, at, fontsize=7.5, va="center", ha="right", color="#646c7a")
    wide = figure.get_figwidth()
    x = 0.012 * wide
    for text, outcome, colour in LEGEND:
        pen = PENS[outcome]
        dashes: Any = "-" if pen.dashes is None else (0, (3, 2))
        box = Rectangle(
            (x / wide, strip * 0.16), 0.26 / wide, strip * 0.24, transform=figure.transFigure, fill=False, ec=colour,
            lw=min(pen.width, 1.8), ls=dashes, hatch=pen.hatch,
        )  # fmt: skip
        figure.add_artist(box)
        figure.text((x + 0.34) / wide, strip * 0.28, text, fontsize=7.5, va="center", color="#4a5260")
        x += 0.52 + 0.075 * len(text)


# Text, outcome, and a colour that is visible on white.
LEGEND = (("ground truth", "found", "#14181f"), ("missed", "missed", "#4a5260"), ("✓ TP", "right", "#1a5fb4"),
          ("✗ FP", "wrong", "#d97500"))  # fmt: skip
