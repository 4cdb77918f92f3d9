"""Precision-recall plots of Pascal VOC and the like, and what all figures share: fonts, colours, metadata.

Figures are created without pyplot and need no display; the same figure gives the same bytes as PNG, SVG and PDF. Names
of classes and detectors are plain text, shortened where they do not fit.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import numpy as np

from verite import __version__
from verite.errors import BadParameter
from verite.files import write_atomically
from verite.plotting import COLOURS, MOST_OF_NAME, label_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from verite.evaluation.curves import Curve
    from verite.protocols.curves import CurveResults


DPI = 200  # of figures saved as PNG, and of images in the others

MISSING = "no plots: expected matplotlib, found none; pip install 'verite[plots]'"


def has_matplotlib() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def need_matplotlib() -> None:
    """Raise BadParameter with what to install if matplotlib is missing."""
    if not has_matplotlib():
        raise BadParameter(MISSING)


def new_figure(size: tuple[float, float], **more: Any) -> Figure:
    """Return an empty figure that needs no display.

    Parameters
    ----------
    size
        Width and height in inches.
    more
        Further arguments of matplotlib's Figure; by default its layout is constrained, so that labels fit.

    Raises
    ------
    BadParameter
        If matplotlib is missing.
    """
    need_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=size, **{"layout": "constrained"} | more)


DEFAULT_FONT = "DejaVu Sans"

# Fonts with Chinese, Japanese and Korean characters on Linux, Windows and macOS.
CJK_FONTS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Source Han Sans", "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei", "IPAGothic", "Microsoft YaHei", "SimHei", "Yu Gothic", "Malgun Gothic", "PingFang SC",
    "Hiragino Sans", "Apple SD Gothic Neo", "Arial Unicode MS",
)  # fmt: skip

FIRST_CJK = "\u1100"  # the first character of Hangul, before all of these scripts


def set_cjk_fonts(text: Text) -> None:
    """Let a text with Chinese, Japanese or Korean characters use an installed font that has them."""
    if any(letter >= FIRST_CJK for letter in text.get_text()):
        text.set_fontfamily([DEFAULT_FONT, *list_cjk_fonts()])


@cache
def list_cjk_fonts() -> tuple[str, ...]:
    """Return the installed fonts with Chinese, Japanese or Korean characters."""
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    return tuple(name for name in CJK_FONTS if name in known)


@contextmanager
def without_glyph_warnings() -> Iterator[None]:
    """Suppress warnings about characters that no font has: they are drawn as a frame."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


DASHES = ("-", "--", "-.", ":")

MOST_IN_LEGEND = 20


def save_curves(results: CurveResults, folder: Path, format: str = "png") -> list[Path]:
    """Save precision-recall plots at every IoU threshold: of each class with ground truth, and of all classes.

    Parameters
    ----------
    results
        Results with curves, such as those of `vt.voc`.
    folder
        An existing folder; files are called pr-CLASS.FORMAT, with the threshold if there are several.
    format
        png, svg or pdf.

    Returns
    -------
    list of pathlib.Path
        The files that were written.
    """
    saved = []
    for t, threshold in enumerate(results.settings.iou):
        suffix = f"-{threshold:.2f}" if len(results.settings.iou) > 1 else ""
        figures = {"all-classes": plot_all(results, t)}
        figures |= {name: plot_class(results, name, t) for name, curve in results.curves[t].items() if curve.truths}
        named = (f"pr-{name}{suffix}" for name in file_names(figures))
        saved += save_figures(dict(zip(named, figures.values(), strict=True)), folder, format, results.signature)
    return saved


def plot_class(results: CurveResults, label: str, threshold: int = 0) -> Figure:
    """Plot precision against recall of one class.

    Every point is drawn as it was measured ("raw"), then what AP is computed from: the interpolated curve with the area
    below it, or its 11 points (Pascal VOC 2007).

    Parameters
    ----------
    results, label
        Results with curves, and the name of the class.
    threshold
        Position of the IoU threshold in the settings.
    """
    curve = results.curves[threshold][label]
    figure, axes = canvas()
    recall, precision = stairs(curve)
    first = float(curve.precision[0]) if len(curve.precision) else 0.0
    raw = [0, *curve.recall], [first, *curve.precision]
    axes.plot(*raw, color=COLOURS[5], lw=1, marker=".", ms=4, label="raw")
    if results.settings.interpolation == "all":
        axes.plot(recall, precision, color=COLOURS[1], lw=1.8, label="interpolated, all points")
        axes.fill_between(recall, precision, color=COLOURS[1], alpha=0.10, lw=0)
    else:
        levels = np.arange(11) / 10
        at = np.searchsorted(10 * curve.true_positives, np.arange(11) * curve.truths)
        values = np.append(curve.envelope, 0.0)[at]
        axes.plot(levels, values, color=COLOURS[1], ls="none", marker="o", ms=6, label="interpolated, 11 points")
    reached = results.words.at(results.settings.iou[threshold])
    axes.set_title(f"{shorten(label, 32)}: AP = {100 * results.ap(label, threshold):.2f} % at {reached}")
    axes.legend(loc="best", frameon=False)
    note = f"{results.name} · {curve.truths} GT · {curve.tp} TP · {curve.fp} FP"
    figure.text(0.99, 0.01, note, ha="right", va="bottom", fontsize=7, color="0.4")
    return figure


def plot_all(results: CurveResults, threshold: int = 0) -> Figure:
    """Plot the interpolated curves of all classes, the best first in the legend."""
    figure, axes = canvas()
    plot_curves(results, axes, threshold)
    return figure


def plot_curves(results: CurveResults, axes: Axes, threshold: int = 0) -> None:
    """Plot the interpolated precision-recall curve of each class on given axes, at one IoU threshold."""
    label_axes(axes, "recall", "precision")
    aps = {name: results.ap(name, threshold) for name, curve in results.curves[threshold].items() if curve.truths}
    for i, name in enumerate(sorted(aps, key=lambda n: -aps[n])):
        shown = f"{name} {100 * aps[name]:.1f} %" if i < MOST_IN_LEGEND else None
        axes.plot(*stairs(results.curves[threshold][name]), label=shown, **line_style(i))
    score = list(results.scores.values())[threshold]
    at, name = results.words.at(results.settings.iou[threshold]), shorten(results.name, MOST_OF_NAME)
    axes.set_title(f"{name}: mAP = {100 * score.value:.2f} % at {at}")
    if aps:
        hidden = f" (best {MOST_IN_LEGEND} of {len(aps)})" if len(aps) > MOST_IN_LEGEND else ""
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, title=f"AP{hidden}")


class LineStyle(TypedDict):
    """How matplotlib draws a line."""

    color: str
    ls: NotRequired[str | tuple[int, tuple[float, ...]]]
    lw: float
    zorder: NotRequired[float]


def line_style(i: int) -> LineStyle:
    """Return colour and dashes of line i; lines beyond the legend are grey."""
    if i >= MOST_IN_LEGEND:
        return {"color": "0.85", "lw": 0.7, "zorder": 1}
    return {"color": COLOURS[i % len(COLOURS)], "ls": DASHES[i // len(COLOURS) % len(DASHES)], "lw": 1.5}


def canvas() -> tuple[Figure, Axes]:
    """Return a new figure with axes of precision against recall."""
    figure = new_figure((6.4, 4.8))
    axes = figure.add_subplot()
    label_axes(axes, "recall", "precision")
    return figure, axes


def stairs(curve: Curve) -> tuple[Any, Any]:
    """Return recall and precision of the interpolated curve as steps, whose area is the average precision.

    Interpolated precision at a recall is the highest precision at that or a higher recall.
    """
    steps = np.flatnonzero(curve.is_true)
    recall = np.concatenate([[0.0], np.repeat(curve.recall[steps], 2)])
    precision = np.concatenate([np.repeat(curve.envelope[steps], 2), [0.0]])
    return recall, precision


def render(figure: Figure, format: str, dpi: int = DPI) -> bytes:
    """Return a figure as bytes; the same figure gives the same bytes.

    Dates are left out of the metadata, ids of SVG elements come from a fixed salt, and texts of SVG stay texts.

    Parameters
    ----------
    figure
        The figure; its label is the signature that the metadata state.
    format
        png, svg or pdf.
    dpi
        Dots per inch of PNG.
    """
    from matplotlib import rc_context

    take_literally(figure)
    for axes in figure.axes:
        align_title(axes)
    out = io.BytesIO()
    if format == "png":
        # Write a figure as PNG with the pixels of `savefig`, in half its time. `savefig` draws everything twice, at
        # first without pixels, to find the layout. The drawing itself finds the layout before it draws anything, so
        # that one pass is enough.
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.image import imsave

        canvas: Any = FigureCanvasAgg(figure)
        metadata: Any = stamp(figure)["png"]
        shown = figure.dpi
        try:
            figure.dpi = dpi
            with without_glyph_warnings():
                canvas.draw()
            imsave(out, canvas.buffer_rgba(), format="png", origin="upper", dpi=dpi, metadata=metadata)
        finally:
            figure.dpi = shown
        return out.getvalue()
    with rc_context({"svg.hashsalt": "verite", "svg.fonttype": "none"}), without_glyph_warnings():
        figure.savefig(out, format=format, dpi=dpi, metadata=stamp(figure)[format])
    return out.getvalue()


def save_figures(
    figures: Mapping[str, Figure | None], folder: Path, format: str = "png", signature: object = ""
) -> list[Path]:
    """Save figures in an existing folder.

    Parameters
    ----------
    figures
        Figures by the names of their files, without suffix; None is left out.
    folder, format
        Where they are saved, as png, svg or pdf.
    signature
        Signature of the results, part of the metadata of each file.

    Returns
    -------
    list of pathlib.Path
        The files that were written.
    """
    saved = []
    for name, figure in figures.items():
        if figure is not None:
            figure.set_label(str(signature))
            saved.append(folder / f"{name}.{format}")
            write_atomically(saved[-1], render(figure, format))
    return saved


def stamp(figure: Figure) -> dict[str, dict[str, str | None]]:
    """Return the metadata of each format: the signature of the results, and the version of verite."""
    about = str(figure.get_label()) or None
    return {
        "png": {"Software": f"verite {__version__}", "Description": about},
        "svg": {"Date": None, "Description": about},
        "pdf": {"CreationDate": None, "Subject": about},
    }


def save_stamped(figure: Figure, save: Any, path: Any, *given: Any, **more: Any) -> None:
    """Save a figure as `savefig` does, with our metadata unless others are given."""
    suffix = Path(path).suffix.lstrip(".") if isinstance(path, (str, Path)) else ""
    metadata = stamp(figure).get(str(more.get("format") or suffix or "png").lower())
    with without_glyph_warnings():
        save(path, *given, **({"metadata": metadata} if metadata else {}) | more)


def align_title(axes: Axes) -> None:
    """Let the title of axes begin at their left edge, as in the report."""
    axes.title.set_horizontalalignment("left")
    axes.title.set_x(0.0)


def take_literally(figure: Any) -> None:
    """Draw names as plain text where matplotlib would parse formulas, with fonts that have their characters.

    Tick labels that matplotlib formats itself stay as they are: exponents are formulas.
    """
    from matplotlib.text import Text
    from matplotlib.ticker import FixedFormatter, FuncFormatter

    counted = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        if not isinstance(axis.get_major_formatter(), (FixedFormatter, FuncFormatter))
        for label in [*axis.get_ticklabels(), *axis.get_ticklabels(minor=True)]
    }
    for text in figure.findobj(Text):
        if isinstance(text, Text) and id(text) not in counted:
            text.set_parse_math(False)
            set_cjk_fonts(text)


def file_names(labels: Iterable[str]) -> list[str]:
    """Return names that are safe for files and distinct, also on file systems that ignore case.

    >>> file_names(["cat", "a/b", "a b", "Cat"])
    ['cat', 'a-b', 'a-b-2', 'Cat-2']
    """
    seen: dict[str, int] = {}
    names = []
    for label in labels:
        name = re.sub(r"[^\w.-]+", "-", label).strip(".-")[:80] or "class"
        seen[name.lower()] = seen.get(name.lower(), 0) + 1
        names.append(name if seen[name.lower()] == 1 else f"{name}-{seen[name.lower()]}")
    return names
