"""Matplotlib helpers shared by all figures: colours, axes, titles and shortened names.

The functions take axes of matplotlib's object API and import nothing of it, so that any layer may declare a plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which readers of every kind of colour vision can distinguish; the first is the report's blue.
COLOURS = ("#2468bd", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

# One palette for the report and all figures. Error types have fixed colours, detectors have none of their own.


class Shades(NamedTuple):
    """A colour on light and on dark paper."""

    light: str
    dark: str


INK, QUIET_INK, PAPER = "#14181f", "#5f6775", "#ffffff"

SCORE_COLOUR = Shades("#2468bd", "#5a9ee8")

# Of TIDE's error types, in the order of bars.
ERROR_COLOURS = {
    "localization": Shades("#e39a1c", "#e3a545"),
    "missed": Shades("#a3abb8", "#6c7686"),
    "class": Shades("#c94f86", "#e583ae"),
    "background": Shades("#3aa58a", "#56c2a6"),
    "duplicate": Shades("#8b76d6", "#a996f2"),
    "both": Shades("#9c7b52", "#c3a177"),
}

MOST_OF_NAME = 24  # letters of a detector's name in a title


def shorten(name: str, most: int) -> str:
    """Shorten a name to `most` letters; both ends stay, since versions differ in theirs.

    >>> shorten("wheelbarrow-v2", 9)
    'whee…w-v2'
    """
    return name if len(name) <= most else name[: most // 2] + "…" + name[most // 2 + 1 - most :]


def shorten_apart(names: Sequence[str], most: int) -> list[str]:
    """Shorten names so that they still differ: those with equal ends are cut around the place where they differ.

    >>> shorten_apart(["a bolt of type 1 on the left", "a bolt of type 2 on the left", "nut"], 12)
    ['…ype 1 on t…', '…ype 2 on t…', 'nut']
    """
    found = {name: shorten(name, most) for name in names}
    waiting = [list(found)]
    while waiting:
        alike: dict[str, list[str]] = {}
        for name in waiting.pop():
            alike.setdefault(found[name], []).append(name)
        for same in alike.values():
            if len(same) == 1:
                continue
            columns = enumerate(zip(*same, strict=False))
            differs_at = next((i for i, letters in columns if len(set(letters)) > 1), min(map(len, same)))
            start = max(differs_at - most // 3, 1)
            for name in same:
                rest = name[start:]
                found[name] = "…" + (rest if len(rest) <= most - 1 else rest[: most - 2] + "…")
            if len({found[name] for name in same}) > 1:
                waiting.append(same)  # some may still be alike: they differ further on
    if len(set(found.values())) < len(found):
        return list(names)
    return [found[name] for name in names]


def label_axes(axes: Axes, x: str, y: str) -> None:
    """Set up axes of two shares from 0 to 1, such as precision against recall.

    Parameters
    ----------
    axes
        The axes to set up.
    x
        Label of the horizontal axis.
    y
        Label of the vertical axis.
    """
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.05), xlabel=x, ylabel=y)
    axes.grid(color="0.9", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def label_rows(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows of a horizontal bar chart, the first one on top.

    Parameters
    ----------
    axes
        Axes of a bar chart with one bar per name.
    names
        Names from top to bottom; more than 16 are set in small type, long ones shortened where they still differ.
    """
    axes.set_yticks(range(len(names)), shorten_apart(names, 30), fontsize=7 if len(names) > 16 else None)
    axes.set(ylim=(max(len(names), 1) - 0.5, -0.5))
    axes.spines[["top", "right"]].set_visible(False)
