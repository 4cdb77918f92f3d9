"""Precision-recall plots and shared matplotlib helpers, without a display: PNG, SVG, PDF."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import verite
from verite.errors import BadParameter
from verite.files import write_atomically
from verite.plotting import COLOURS, MOST_OF_NAME, label_axes, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    from verite.evaluation.curves import Curve
    from verite.protocols.curves import CurveResults


MISSING = "no plots: expected matplotlib, found none; pip install 'verite[plots]'"


def has_matplotlib() -> bool:
    return find_spec("matplotlib") is not None


def need_matplotlib() -> None:
    """Before the first import of it, so that who lacks it reads one line."""
    if not has_matplotlib():
        raise BadParameter(MISSING)


def new_figure(size: tuple[float, float], **more: Any) -> Figure:
    """An empty figure of so many inches; unless told otherwise it makes room for what is written around axes."""
    need_matplotlib()
    from matplotlib.figure import Figure

    return Figure(figsize=size, **{"layout": "constrained"} | more)


USUAL = "DejaVu Sans"

# As Linux, Windows and macOS call theirs.
WIDE = ("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans JP", "Noto Sans SC", "Source Han Sans", "WenQuanYi Zen Hei",
        "WenQuanYi Micro Hei", "IPAGothic", "Microsoft YaHei", "SimHei", "Yu Gothic", "Malgun Gothic", "PingFang SC",
        "Hiragino Sans", "Apple SD Gothic Neo", "Arial Unicode MS")  # fmt: skip

FIRST_WIDE = "\u1100"  # the first letter of Hangul, before all of these scripts


def find_letters(text: Text) -> None:
    """Let a text of wide letters take them from a font that is installed and has them, if any is."""
    if any(letter >= FIRST_WIDE for letter in text.get_text()):
        text.set_fontfamily([USUAL, *list_wide_fonts()])


@cache
def list_wide_fonts() -> tuple[str, ...]:
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    return tuple(name for name in WIDE if name in known)


@contextmanager
def without_glyph_warnings() -> Iterator[None]:
    """A letter that no font has is drawn as a frame, which says it better than a warning for each of them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        yield


DASHES = ("-", "--", "-.", ":")

MOST_IN_LEGEND = 20


def save_curves(results: CurveResults, folder: Path, format: str = "png") -> list[Path]:
    """One plot for each class that has truths, and one with all of them; at every threshold."""
    saved = []
    for t, threshold in enumerate(results.settings.iou):
        suffix = f"-{threshold:.2f}" if len(results.settings.iou) > 1 else ""
        figures = {"all-classes": plot_all(results, t)}
        figures |= {name: plot_class(results, name, t) for name, curve in results.curves[t].items() if curve.truths}
        for name, figure in zip(file_names(figures), figures.values(), strict=True):
            figure.set_label(str(results.signature))
            saved.append(folder / f"pr-{name}{suffix}.{format}")
            write_atomically(saved[-1], render(figure, format))
    return saved


def plot_class(results: CurveResults, label: str, threshold: int = 0) -> Figure:
    """Precision against recall of one class: every point, the curve that is measured, and the area below it."""
    curve = results.curves[threshold][label]
    figure, axes = canvas()
    recall, precision = stairs(curve)
    axes.plot(
        [0, *curve.recall], [first(curve), *curve.precision], color=COLOURS[5], lw=1, marker=".", ms=4, label="raw"
    )
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
    note = f"{results.name} · {curve.truths} truths · {curve.tp} TP · {curve.fp} FP"
    figure.text(0.99, 0.01, note, ha="right", va="bottom", fontsize=7, color="0.4")
    return figure


def plot_all(results: CurveResults, threshold: int = 0) -> Figure:
    """The interpolated curves of all classes together, the best first in the legend."""
    figure, axes = canvas()
    draw_curves(results, axes, threshold)
    return figure


def draw_curves(results: CurveResults, axes: Axes, threshold: int = 0) -> None:
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


def line_style(i: int) -> dict[str, Any]:
    """Colours first, then dashes; those beyond the legend stay in the background."""
    if i >= MOST_IN_LEGEND:
        return {"color": "0.85", "lw": 0.7, "zorder": 1}
    return {"color": COLOURS[i % len(COLOURS)], "ls": DASHES[i // len(COLOURS) % len(DASHES)], "lw": 1.5}


def canvas() -> tuple[Figure, Axes]:
    """An empty plot of precision against recall."""
    figure = new_figure((6.4, 4.8))
    axes = figure.add_subplot()
    label_axes(axes, "recall", "precision")
    return figure, axes


def first(curve: Curve) -> float:
    """Where the raw curve starts: at the precision of its first point."""
    return float(curve.precision[0]) if len(curve.precision) else 0.0


def stairs(curve: Curve) -> tuple[Any, Any]:
    """The interpolated curve as the steps whose area is the average precision."""
    steps = np.flatnonzero(curve.is_true)
    recall = np.concatenate([[0.0], np.repeat(curve.recall[steps], 2)])
    precision = np.concatenate([np.repeat(curve.envelope[steps], 2), [0.0]])
    return recall, precision


def render(figure: Figure, format: str) -> bytes:
    """The bytes of a picture; the same figure gives the same bytes."""
    from matplotlib import rc_context

    take_literally(figure)
    out = io.BytesIO()
    with rc_context({"svg.hashsalt": "verite", "svg.fonttype": "none"}), without_glyph_warnings():
        figure.savefig(out, format=format, dpi=120, metadata=stamp(figure)[format])
    return out.getvalue()


def stamp(figure: Figure) -> dict[str, dict[str, str | None]]:
    """What a picture of each format says of itself: what was measured, and by whom."""
    about = str(figure.get_label()) or None
    return {
        "png": {"Software": f"verite {verite.__version__}", "Description": about},
        "svg": {"Date": None, "Description": about},
        "pdf": {"CreationDate": None, "Subject": about},
    }


def save_stamped(figure: Figure, save: Any, path: Any, *given: Any, **more: Any) -> None:
    """What `savefig` does, with our stamp where nobody gives another."""
    suffix = Path(path).suffix.lstrip(".") if isinstance(path, (str, Path)) else ""
    metadata = stamp(figure).get(str(more.get("format") or suffix or "png").lower())
    with without_glyph_warnings():
        save(path, *given, **({"metadata": metadata} if metadata else {}) | more)


def take_literally(figure: Any) -> None:
    """Names are text, also where matplotlib would take them for formulas; numbers at ticks are its own business."""
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
            find_letters(text)


def file_names(labels: Iterable[str]) -> list[str]:
    """Names that are safe for files and differ from each other, also where case does not count.

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
