"""Plots of a leaderboard: gaps in AP (forest plot), pairwise probabilities, ranks, stability by error rate.

Sources of uncertainty are annotation errors, the bootstrap of images, and both together. Confidence intervals of gaps
come from the paired bootstrap.
"""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verite.files import write_atomically
from verite.reporting.plots import COLOURS, render, take_literally
from verite.reporting.rank_plots import MOST_IN_LEGEND, MOST_LABELLED, in_cell, open_axes, short, styles, write_note

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from verite.leaderboards.result import Board, Leaderboard

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # multiples of the assumed error rates
RATE_DRAWS = 200  # simulations per multiple
SOURCES = {"errors": "annotation errors", "images": "bootstrap of images", "both": "annotation errors and bootstrap"}


def save_leaderboard(leaderboard: Leaderboard, folder: Path, format: str = "png") -> list[Path]:
    """Save every plot of a leaderboard in a folder.

    Files are gaps (forest plot of the differences to the next detector), pairs (probability that one detector ranks
    before another) and places (probability of each rank) of every score, and kept (stability of the ranking by error
    rate) where annotation errors were simulated.

    Returns
    -------
    list of pathlib.Path
        The files that were written.
    """
    figures: dict[str, Figure] = {}
    for metric, board in leaderboard.boards.items():
        if not board.by_doubt:
            continue
        end = "" if metric == leaderboard.metric else f"-{metric.replace('@', '-')}"
        if board.images is not None:
            figures[f"gaps{end}"] = plot_gaps(leaderboard, board)
        figures |= {f"pairs{end}": plot_pairs(leaderboard, board), f"places{end}": plot_ranks(leaderboard, board)}
    if "errors" in leaderboard.board.by_doubt:
        figures["kept"] = plot_kept(leaderboard)
    saved = []
    for name, figure in figures.items():
        figure.set_label(str(leaderboard.signature))
        take_literally(figure)
        saved.append(folder / f"{name}.{format}")
        write_atomically(saved[-1], render(figure, format))
    return saved


def describe(leaderboard: Leaderboard, more: str) -> str:
    """Return the note below a plot: number of resamples, and more."""
    return f"{leaderboard.settings.draws:,} resamples · {more}"


def plot_gaps(leaderboard: Leaderboard, board: Board) -> Figure:
    """Plot the gap of each detector to the next, with its confidence interval (paired bootstrap of images).

    Detectors whose interval includes 0 are drawn as diamonds in another colour: they are not significantly different.
    """
    rows = [(i, gap) for i, gap in enumerate(board.gaps) if gap is not None]
    figure, axes = open_axes(6.8, 1.5 + 0.34 * max(len(rows), 1))
    for i, (value, low, high) in rows:
        colour = COLOURS[0] if low > 0 else COLOURS[1]
        if not isnan(low):
            axes.plot([low, high], [i, i], color=colour, lw=2.2, solid_capstyle="butt")
        axes.plot(value, i, marker="o" if low > 0 else "D", ms=6, color=colour, ls="none")
    axes.axvline(0, color="0.4", lw=1)
    names = [f"{short(board.names[i], 18)} – {short(board.names[i + 1], 18)}" for i, _ in rows]
    axes.set_yticks([i for i, _ in rows], names)
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlabel=f"difference of {board.metric}")
    axes.set_title("Gap to the next detector", loc="left")
    note = f"{100 * board.level:g} % confidence intervals (paired bootstrap); diamonds include 0"
    write_note(figure, describe(leaderboard, note))
    return figure


def plot_pairs(leaderboard: Leaderboard, board: Board) -> Figure:
    """Plot how often the detector of the row ranks before that of the column, under all sources of uncertainty."""
    from matplotlib import colormaps

    source = "both" if "both" in board.standings else next(iter(board.standings))
    size = len(board.names)
    shown = np.where(np.eye(size, dtype=bool), np.nan, board.standings[source].ahead)
    side = 1.6 + 0.55 * min(size, MOST_LABELLED)
    figure, axes = open_axes(side + 1.8, side + 0.8)
    shade = colormaps["PuOr"].with_extremes(bad="0.92")
    image = axes.imshow(np.ma.masked_invalid(shown), cmap=shade, vmin=0, vmax=1, aspect="equal")
    names = [short(name, 16) for name in board.names]
    axes.set_xticks(range(size), names, rotation=90 if size > 4 else 0)
    axes.set_yticks(range(size), names)
    write_cells(axes, shown)
    axes.set_title(f"P(row ranks before column): {SOURCES[source]}", fontsize=10)
    figure.colorbar(image, ax=axes, shrink=0.8, label="share of resamples")
    write_note(figure, describe(leaderboard, board.metric))
    return figure


def plot_ranks(leaderboard: Leaderboard, board: Board) -> Figure:
    """Plot how often each detector has each rank; frames are ranks that cannot be excluded."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    source = "both" if "both" in board.standings else next(iter(board.standings))
    size = len(board.names)
    shown = board.standings[source].places
    side = 1.6 + 0.55 * min(size, MOST_LABELLED)
    figure, axes = open_axes(side + 1.8, side + 0.4)
    image = axes.imshow(shown, cmap=colormaps["Blues"], vmin=0, vmax=1, aspect="equal")
    axes.set_xticks(range(size), [str(place + 1) for place in range(size)])
    axes.set_yticks(range(size), [short(name, 18) for name in board.names])
    write_cells(axes, shown)
    for i, places in enumerate(board.places):
        if places is not None:
            low, high = places
            frame = Rectangle((low - 1.5, i - 0.5), high - low + 1, 1, fill=False, ec=COLOURS[1], lw=1.6, zorder=4)
            frame.set_clip_on(False)
            axes.add_patch(frame)
    axes.set(xlabel="rank")
    axes.set_title(f"P(rank): {SOURCES[source]}", fontsize=10)
    figure.colorbar(image, ax=axes, shrink=0.8, label="share of resamples")
    framed = " · frames: ranks that cannot be excluded (bootstrap)" if board.images is not None else ""
    write_note(figure, describe(leaderboard, f"{board.metric}{framed}"))
    return figure


def write_cells(axes: object, shown: object) -> None:
    """Write the values of a matrix into its cells, unless there are too many."""
    values = np.asarray(shown)
    axes.grid(visible=False)  # type: ignore[attr-defined]
    axes.spines[:].set_visible(False)  # type: ignore[attr-defined]
    axes.tick_params(length=0)  # type: ignore[attr-defined]
    if len(values) > MOST_LABELLED:
        return
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if not isnan(value):
                dark = value > 0.75 or (value < 0.12 and np.isnan(values).any())
                text = {"ha": "center", "va": "center", "fontsize": 8, "color": "white" if dark else "0.25"}
                axes.text(j, i, in_cell(float(value)), **text)  # type: ignore[attr-defined]


def plot_kept(leaderboard: Leaderboard) -> Figure:
    """Plot how often neighbours keep their order under annotation errors, against the error rate.

    The assumed rates are multiplied by 1/4 to 4 and simulated again; the least stable neighbours are plotted.
    """
    board = leaderboard.board
    pairs = [i for i in range(len(board.names) - 1) if board.scores[i] > board.scores[i + 1]]
    frail = sorted(pairs, key=lambda i: float(board.standings["errors"].ahead[i, i + 1]))[:MOST_IN_LEGEND]
    figure, axes = open_axes(7.6, 4.6)
    shares = {factor: leaderboard.kept_at(factor, RATE_DRAWS) for factor in FACTORS}
    for i, (colour, dash) in zip([i for i in pairs if i in frail], styles(), strict=False):
        label = f"{short(board.names[i], 16)} > {short(board.names[i + 1], 16)}"
        axes.plot(
            FACTORS, [shares[f][i] for f in FACTORS], color=colour, ls=dash, marker="o", ms=4, lw=1.6, label=label
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(FACTORS, [f"{factor:g}×" for factor in FACTORS])
    axes.minorticks_off()
    axes.set(ylim=(-0.02, 1.02), xlabel="annotation error rates, multiples of those assumed", ylabel="P(order kept)")
    axes.axvline(1, color="0.6", lw=0.8, ls=":")
    axes.set_title("Stability of the ranking by annotation error rate")
    if frail:
        title = "neighbours" if len(frail) == len(pairs) else f"the {len(frail)} least stable neighbours"
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=8, title=title)
    draws = min(RATE_DRAWS, leaderboard.settings.draws)
    write_note(figure, f"{draws} simulations each · {leaderboard.errors}")
    return figure
