"""Plots of a leaderboard: gaps in AP (forest plot), pairwise probabilities, ranks, stability by error rate."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verite.files import write_atomically
from verite.plotting import COLOURS
from verite.reporting.plots import render, take_literally
from verite.reporting.rank_plots import MOST_IN_LEGEND, MOST_LABELLED, in_cell, open_axes, short, styles, write_note

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from verite.leaderboards.result import Board, Leaderboard

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # times the rates that were assumed
RATE_DRAWS = 200
SAID = {"errors": "errors of the truth", "images": "other images", "both": "errors and other images"}


def save_leaderboard(leaderboard: Leaderboard, folder: Path, format: str = "png") -> list[Path]:
    """Every plot of a leaderboard, in a folder."""
    figures: dict[str, Figure] = {}
    for metric, board in leaderboard.boards.items():
        if not board.by_doubt:
            continue
        end = "" if metric == leaderboard.metric else f"-{metric.replace('@', '-')}"
        if board.images is not None:
            figures[f"gaps{end}"] = plot_gaps(leaderboard, board)
        figures |= {f"pairs{end}": plot_pairs(leaderboard, board), f"places{end}": plot_places(leaderboard, board)}
    if "errors" in leaderboard.board.by_doubt:
        figures["kept"] = plot_kept(leaderboard)
    saved = []
    for name, figure in figures.items():
        figure.set_label(str(leaderboard.signature))
        take_literally(figure)
        saved.append(folder / f"{name}.{format}")
        write_atomically(saved[-1], render(figure, format))
    return saved


def about(leaderboard: Leaderboard, doubts: str) -> str:
    return f"{leaderboard.settings.draws:,} draws · {doubts}"


def plot_gaps(leaderboard: Leaderboard, board: Board) -> Figure:
    """Each detector's lead over the next, with its interval over the choice of images."""
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
    axes.set_title("Lead over the next", loc="left")
    write_note(figure, about(leaderboard, f"{100 * board.level:g} % over the same drawn images; diamonds reach 0"))
    return figure


def plot_pairs(leaderboard: Leaderboard, board: Board) -> Figure:
    """How often the detector of the row was before that of the column, under both doubts or the only one."""
    from matplotlib import colormaps

    doubt = "both" if "both" in board.standings else next(iter(board.standings))
    size = len(board.names)
    shown = np.where(np.eye(size, dtype=bool), np.nan, board.standings[doubt].ahead)
    side = 1.6 + 0.55 * min(size, MOST_LABELLED)
    figure, axes = open_axes(side + 1.8, side + 0.8)
    shade = colormaps["PuOr"].with_extremes(bad="0.92")
    image = axes.imshow(np.ma.masked_invalid(shown), cmap=shade, vmin=0, vmax=1, aspect="equal")
    names = [short(name, 16) for name in board.names]
    axes.set_xticks(range(size), names, rotation=90 if size > 4 else 0)
    axes.set_yticks(range(size), names)
    write_cells(axes, shown)
    axes.set_title(f"Row before column, under {SAID[doubt]}", fontsize=10)
    figure.colorbar(image, ax=axes, shrink=0.8, label="share of draws")
    write_note(figure, about(leaderboard, board.metric))
    return figure


def plot_places(leaderboard: Leaderboard, board: Board) -> Figure:
    """How often each detector came in each place: frequencies of draws; frames are places that cannot be excluded."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    doubt = "both" if "both" in board.standings else next(iter(board.standings))
    size = len(board.names)
    shown = board.standings[doubt].places
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
    axes.set(xlabel="place")
    axes.set_title(f"Places under {SAID[doubt]}", fontsize=10)
    figure.colorbar(image, ax=axes, shrink=0.8, label="share of draws")
    framed = " · frames: places that cannot be excluded on other images" if board.images is not None else ""
    write_note(figure, about(leaderboard, f"{board.metric}{framed}"))
    return figure


def write_cells(axes: object, shown: object) -> None:
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
    """How often neighbours keep their order under errors, against how many errors there are."""
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
    axes.set(ylim=(-0.02, 1.02), xlabel="rates of errors, as a multiple of those assumed", ylabel="order kept")
    axes.axvline(1, color="0.6", lw=0.8, ls=":")
    axes.set_title("Which orders survive how many errors?")
    if frail:
        title = "neighbours" if len(frail) == len(pairs) else f"the {len(frail)} frailest neighbours"
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=8, title=title)
    draws = min(RATE_DRAWS, leaderboard.settings.draws)
    write_note(figure, f"{draws} draws each · {leaderboard.errors}")
    return figure
