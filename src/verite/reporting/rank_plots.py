"""Plots of `verite rank`: ranking stability by error rate, rank probabilities, leaderboard with ties."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verite.errors import ReadError, excerpt
from verite.plotting import COLOURS, shorten_apart
from verite.reporting.plots import DASHES, new_figure, save_figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from verite.ranking.result import Ranking

MAX_IN_LEGEND = 15
MAX_PAIRS = 50  # pairs up to which all are plotted; of more, neighbours only
MAX_LABELLED = 20  # algorithms up to which every cell of a heat map has its value


@dataclass(frozen=True)
class Published:
    """A published probability that a pair keeps its order, to be marked in a plot."""

    first: str
    second: str
    epsilon: float
    kept: float


def read_published(path: str | Path, algorithms: Sequence[str]) -> list[Published]:
    """Read published probabilities of these algorithms: a table with the header first,second,epsilon,kept."""
    from verite.csv_files import read_csv

    header = ("first", "second", "epsilon", "kept")
    table = read_csv(path, f"the header {','.join(header)}", header, exact=True)
    points = []
    for number, row in table.rows:
        where = table.where(number)
        try:
            first, second, epsilon, kept = row
            point = Published(first, second, float(epsilon), float(kept))
        except ValueError:
            found = excerpt(",".join(row))
            raise ReadError(where, expected="two names and two numbers", found=found) from None
        unknown = next((name for name in (first, second) if name not in algorithms), None)
        if unknown is not None or first == second:
            found = excerpt(first if unknown is None else unknown) + (" twice" if unknown is None else "")
            raise ReadError(where, expected=f"two of {', '.join(algorithms)}", found=found)
        if not (0 <= point.epsilon <= 0.5 and 0 <= point.kept <= 1):
            found = excerpt(f"{epsilon},{kept}")
            raise ReadError(where, expected="a rate from 0 to 0.5 and a probability", found=found)
        points.append(point)
    return points


def save_ranking(
    ranking: Ranking, folder: Path, format: str = "png", published: Iterable[Published] = ()
) -> list[Path]:
    """Save every plot of a ranking in a folder, and return their paths."""
    figures = {
        "kept": plot_kept(ranking, published),
        "ranks": plot_ranks(ranking),
        "leaderboard": plot_leaderboard(ranking),
    }
    return save_figures(figures, folder, format)


def plot_kept(ranking: Ranking, published: Iterable[Published] = ()) -> Figure:
    """Plot the probability that each pair keeps its order against the error rate; published values are marked."""
    figure, axes = open_axes(6.8 if len(ranking.pairs) <= MAX_IN_LEGEND else 7.6, 4.8)
    axes.set(
        xlim=(0, 0.5),
        ylim=(0, 1.02),
        xlabel="error rate ε of the annotations",
        ylabel="probability that the order is kept",
    )
    pairs = [pair for pair in ranking.pairs if not pair.tied]
    neighbours = [pair for pair in ranking.neighbours if not pair.tied]
    # Neighbours in the ranking come first. With too many pairs for a legend, only they are named; of too many
    # neighbours, the least stable ones.
    others = [pair for pair in pairs if pair not in neighbours]
    pairs = [*neighbours, *(others if len(pairs) <= MAX_PAIRS else [])]
    named = pairs if len(pairs) <= MAX_IN_LEGEND else neighbours
    if len(named) > MAX_IN_LEGEND:
        frail = sorted(named, key=lambda pair: pair.largest_epsilon or 0.0)[:MAX_IN_LEGEND]
        named = [pair for pair in named if pair in frail]
    styled = {id(pair): style for pair, style in zip(named, line_styles(), strict=False)}
    # More rates where the curves are steep.
    rates = np.concatenate([np.linspace(0, 0.05, 26), np.linspace(0.06, 0.5, 45)])
    for pair in pairs:
        kept = ranking.kept_at(pair.first, pair.second, rates.tolist())
        if np.isnan(kept).all():
            continue
        known = id(pair) in styled
        colour, dash = styled.get(id(pair), ("0.75", "-"))
        label = " > ".join(shorten_apart([pair.first, pair.second], 18)) if known else None
        axes.plot(rates, kept, color=colour, ls=dash, lw=1.8 if known else 0.8, label=label, zorder=3 if known else 2)
    points = list(published)
    if points:
        at = [point.epsilon for point in points], [point.kept for point in points]
        axes.plot(
            *at, ls="none", marker="o", ms=7, mfc="none", mec=COLOURS[1], mew=1.6, label="published", zorder=4,
            clip_on=False,
        )  # fmt: skip
    axes.axhline(ranking.level, color="0.5", lw=0.8, ls=":")
    axes.annotate(
        f"{ranking.level:g}", (0.5, ranking.level), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8
    )
    independent = "groups" not in ranking.model
    axes.set_title("Ranking stability by error rate" if pairs else "No two algorithms differ in their recorded scores")
    if pairs and not axes.get_legend_handles_labels()[1]:
        axes.text(0.25, 0.5, "too many items to simulate a curve", ha="center", color="0.4")
    elif pairs:
        what = "pairs" if len(pairs) > len(neighbours) or len(pairs) == len(ranking.pairs) else "neighbours"
        hidden = f" (grey: {len(pairs) - len(named)} more)" if len(named) < len(pairs) else ""
        axes.legend(loc="center left", bbox_to_anchor=(1.06, 0.5), frameon=False, fontsize=8, title=f"{what}{hidden}")
    how = ranking.methods["largest_epsilon"]
    how = "" if how.startswith("exact") else f" · {how}"
    write_note(figure, f"{ranking.items:,} items · {'independent errors' if independent else ranking.model}{how}")
    return figure


def line_styles() -> list[tuple[str, str]]:
    """Return distinguishable pairs of a colour and a dash pattern."""
    return [(colour, dash) for dash in DASHES for colour in COLOURS]


def plot_ranks(ranking: Ranking) -> Figure:
    """Plot the probability of every rank for every algorithm as a heat map; grey where it is not known."""
    names = shorten_apart(ranking.order, 24)
    figure, axes = plot_heat_map(ranking.ranks, names, "Blues", "probability", unknown="?")
    axes.set(xlabel="rank", title="Rank probabilities")
    write_note(figure, f"{ranking.model} · {ranking.methods['ranks']}")
    return figure


def plot_heat_map(
    shares: NDArray[np.float64], names: Sequence[str], colours: str, label: str, *, unknown: str = "",
    extra_height: float = 0.4,
) -> tuple[Figure, Axes]:  # fmt: skip
    """Plot a square matrix of probabilities; rows have names, columns the ranks 1 … n, cells their value.

    Up to `MAX_LABELLED` rows every cell has its value; `unknown` is written where it is nan.
    """
    from matplotlib import colormaps

    size = len(names)
    side = 1.6 + 0.55 * min(size, MAX_LABELLED)
    figure, axes = open_axes(side + 1.8, side + extra_height)
    shade = colormaps[colours].with_extremes(bad="0.92")
    image = axes.imshow(np.ma.masked_invalid(shares), cmap=shade, vmin=0, vmax=1, aspect="equal")
    axes.set_xticks(range(size), [str(rank + 1) for rank in range(size)])
    axes.set_yticks(range(size), names)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    for (i, j), value in np.ndenumerate(shares) if size <= MAX_LABELLED else ():
        text = unknown if isnan(value) else format_cell(float(value))
        red, green, blue, _ = shade(0.5 if isnan(value) else value)
        is_dark = not isnan(value) and 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
        axes.text(j, i, text, ha="center", va="center", fontsize=8, color="white" if is_dark else "0.15")
    figure.colorbar(image, ax=axes, shrink=0.8, label=label)
    return figure, axes


def format_cell(value: float) -> str:
    """Format a probability in at most four characters."""
    if value < 0.005:
        return "0" if value == 0 else "<.01"
    return "1" if value > 0.995 else f"{value:.2f}"[1:]


def plot_leaderboard(ranking: Ranking) -> Figure:
    """Plot the ranking with recorded scores; bars join statistically tied algorithms."""
    size = len(ranking.order)
    figure, axes = open_axes(6.8, 1.6 + 0.32 * size)
    positions = np.arange(1, size + 1)
    values = [ranking.scores[name] for name in ranking.order]
    axes.plot(values, positions, ls="none", marker="o", ms=7, color=COLOURS[0])
    axes.set(ylim=(size + 0.6, 0.4), xlabel=ranking.score.replace(":", ",", 1))
    # Algorithms with equal recorded scores have the same rank.
    numbers: list[int] = []
    for position, name in zip(positions.tolist(), ranking.order, strict=True):
        is_tied = position > 1 and ranking.pair(ranking.order[position - 2], name).tied
        numbers.append(numbers[-1] if is_tied else position)
    shown = shorten_apart(ranking.order, 24)
    axes.set_yticks(positions, [f"{name}  {k:\u2007>2}" for name, k in zip(shown, numbers, strict=True)])
    low, high = min(values), max(values)
    span = (high - low) or max(abs(high), 1.0) * 0.1
    axes.set_xlim(low - 0.08 * span, high + 0.08 * span)
    if ranking.score.startswith(("log-loss", "KL")):
        axes.invert_xaxis()  # the best on the right
    runs = ranking.not_told_apart()
    for k, run in enumerate(stack_runs(runs, ranking.order)):
        for begin, end in run:
            axes.plot([1.03 + 0.03 * k] * 2, [begin + 0.75, end + 1.25], color=COLOURS[1], lw=5, solid_capstyle="butt",
                      transform=axes.get_yaxis_transform(), clip_on=False)  # fmt: skip
    said = "bars join tied algorithms: order not kept" if runs else "every order is kept"
    axes.set_title("Leaderboard", loc="left")
    axes.set_title(f"{said} {ranking.certainty}", loc="right", fontsize=8, color="0.4")
    write_note(figure, f"{ranking.items:,} items · {ranking.model}")
    return figure


def stack_runs(runs: list[tuple[str, ...]], order: tuple[str, ...]) -> list[list[tuple[int, int]]]:
    """Return groups of neighbours as positions, spread over as few columns as keep bars from touching."""
    columns: list[list[tuple[int, int]]] = []
    for run in runs:
        begin, end = order.index(run[0]), order.index(run[-1])
        free = next((column for column in columns if column[-1][1] < begin), None)
        if free is None:
            columns.append(free := [])
        free.append((begin, end))
    return columns


def open_axes(width: float, height: float) -> tuple[Figure, Axes]:
    """Return a figure with empty axes of this size in inches."""
    figure = new_figure((width, height))
    axes = figure.add_subplot()
    axes.grid(color="0.9", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def write_note(figure: Figure, text: str) -> None:
    """Write a small note below the plot, on the right."""
    room = 0.2 / figure.get_size_inches()[1]
    figure.get_layout_engine().set(rect=(0, room, 1, 1 - room))  # type: ignore[union-attr,call-arg]
    figure.text(0.99, 0.01, text, ha="right", va="bottom", fontsize=7, color="0.4")
