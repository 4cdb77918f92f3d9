"""What was found on a photo, what was missed, what is wrong? Truth solid, predictions dashed, each with its fate."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite.errors import BadParameter
from verite.evaluation.floors import LabelFloors
from verite.files import fill_folder, make_folder, write_atomically
from verite.formats import Readable, read_pair
from verite.model.images import stem
from verite.model.results import Results
from verite.progress import count_files
from verite.protocols import HOMES, protocol_named
from verite.records import record
from verite.reporting.figures import need_matplotlib, new_figure
from verite.reporting.fonts import without_glyph_warnings
from verite.reporting.overlays import Mark, Overlay
from verite.reporting.pictures import Pictures, pixels
from verite.reporting.plots import file_names, render, shorten
from verite.reporting.skeletons import draw_pose

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation

WORST = 12  # images that are drawn unasked
FEW = 6  # of them beside other results
MOST_NAMES = 40  # objects of an image from which on only mistakes have names
LONG_SIDE = 9.0  # inches of a drawn photo
NIGHT = "#0b0d10"  # around every line, so that it is seen on any photo
BLANK = "#e9ecf1"


@record()
class Pen:
    """How an object of one fate is drawn; no two differ by their colour alone."""

    sign: str  # before its name
    colour: str
    width: float
    dashes: tuple[float, ...] | None = None
    hatch: str | None = None
    is_named: bool = True


PENS = {
    "found": Pen("", "#ffffff", 1.2, is_named=False),
    "missed": Pen("missed ", "#ffffff", 2.4, hatch="////"),
    "not asked for": Pen("not asked for: ", "#b0b8c5", 1.0, hatch="....", is_named=False),
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
    """Photos with truth and predictions drawn on them, into a folder: one image, or those with most mistakes.

    Truths are solid, predictions dashed; what is missed is hatched, what is wrong has a cross. `images` is the folder
    with the photos (where it is not given, folders beside the truth are tried); without a photo the objects are drawn
    on an empty ground. Predictions below `confidence` are left out, by default below that of the best F1. `settings`
    are those of the protocol: `on="keypoints"` draws skeletons, `on="rotated"` rotated boxes; with `iou` an object is
    found from that overlap on, else from 0.5 on.

    >>> vt.draw("truth.json", "detections.json", "drawn/", images="photos/", worst=20)      # doctest: +SKIP
    """
    need_matplotlib()  # before all the work
    if protocol not in HOMES:
        raise BadParameter(f"protocol: expected one of {', '.join(HOMES)}, found {protocol!r}")
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
    """The image that was asked for, or those with most mistakes."""
    if worst < 1:
        raise BadParameter(f"worst: expected at least 1, found {worst}")
    chosen = [overlay.position(image)] if image is not None else overlay.worst[:worst]
    names = file_names(stem(overlay.truth.images.name(i)) for i in chosen)
    saved = [make_folder(folder) / f"{name}.{format}" for name in names]
    for path, i in count_files("drawing", list(zip(saved, chosen, strict=True))):
        write_atomically(path, render(figure_of(overlay, pictures, i), format))
    return saved


def save_worst(results: Results, folder: Path, images: str | None = None, format: str = "png") -> list[Path]:
    """The photos with most mistakes beside other results; none where there are no photos, or no objects to draw."""
    if type(results).finds is Results.finds:
        return []
    pictures = Pictures(results.truth, images)
    return [] if pictures.folder is None else save_overlays(Overlay(results), pictures, folder, format, worst=FEW)


def draw_image(
    results: Results,
    image: str,
    images: str | PathLike[str] | None = None,
    *,
    iou: float | None = None,
    confidence: Any = None,
) -> Figure:
    """One photo of an evaluation with everything on it, as a figure of matplotlib.

    >>> vt.draw_image(vt.coco(truth, pred), "street.jpg", "photos/")      # doctest: +SKIP
    """
    overlay = Overlay(results, iou, confidence)
    return figure_of(overlay, Pictures(results.truth, images), overlay.position(image))


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
    said = f"{counts['found']} found, {counts['missed']} missed, {counts['wrong']} wrong"
    floor = overlay.confidence
    from_confidence = "that of its class" if isinstance(floor, LabelFloors) else f"{floor:.3g}"
    at = f"{overlay.results.words.at(overlay.iou)}, confidence from {from_confidence}"
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
KEYS = (("truth", "found", "#14181f"), ("missed", "missed", "#4a5260"), ("✓ right", "right", "#1a5fb4"),
        ("✗ wrong", "wrong", "#d97500"))  # fmt: skip
