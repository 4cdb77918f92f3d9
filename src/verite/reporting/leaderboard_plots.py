"""Plots of a leaderboard: gaps in AP (forest plot), pairwise and rank probabilities, stability by error rate."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verite.plotting import COLOURS, shorten_apart
from verite.reporting.plots import save_figures
from verite.reporting.rank_plots import MAX_IN_LEGEND, line_styles, open_axes, plot_heat_map, write_note

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from verite.leaderboards.result import Board, Leaderboard
    from verite.leaderboards.score_tables import ScoreLeaderboard

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # times the assumed error rates
SIMULATIONS_PER_FACTOR = 200
SOURCES = {"errors": "annotation errors", "images": "bootstrap of images", "both": "annotation errors and bootstrap"}


def save_leaderboard(leaderboard: Leaderboard, folder: Path, format: str = "png") -> list[Path]:
    """Save every plot of a leaderboard in a folder, and return their paths."""
    figures: dict[str, Figure] = {}
    for metric, board in leaderboard.boards.items():
        if not board.samples:
            continue
        end = "" if metric == leaderboard.metric else f"-{metric.replace('@', '-')}"
        if board.images is not None:
            figures[f"gaps{end}"] = plot_gaps(leaderboard, board)
        figures |= {f"pairs{end}": plot_pairs(leaderboard, board), f"places{end}": plot_places(leaderboard, board)}
    if "errors" in leaderboard.board.samples:
        figures["kept"] = plot_kept(leaderboard)
    return save_figures(figures, folder, format, leaderboard.signature)


def save_scores(leaderboard: ScoreLeaderboard, folder: Path, format: str = "png") -> list[Path]:
    """Save every plot of a leaderboard of a table of scores in a folder, and return their paths."""
    plots = {"gaps": plot_gaps, "pairs": plot_pairs, "places": plot_places}
    figures = {name: plot(leaderboard, leaderboard.board) for name, plot in plots.items()}
    return save_figures(figures, folder, format, leaderboard.signature)


def plot_gaps(leaderboard: Leaderboard | ScoreLeaderboard, board: Board) -> Figure:
    """Plot each detector's lead over the next with its bootstrap confidence interval (forest plot)."""
    rows = [(i, gap) for i, gap in enumerate(board.gaps) if gap is not None]
    figure, axes = open_axes(6.8, 1.5 + 0.34 * max(len(rows), 1))
    for i, (value, low, high) in rows:
        colour = COLOURS[0] if low > 0 else COLOURS[1]
        if not isnan(low):
            axes.plot([low, high], [i, i], color=colour, lw=2.2, solid_capstyle="butt")
        axes.plot(value, i, marker="o" if low > 0 else "D", ms=6, color=colour, ls="none")
    axes.axvline(0, color="0.4", lw=1)
    shown = shorten_apart(board.names, 22)
    names = [f"{shown[i]} – {shown[i + 1]}" for i, _ in rows]
    axes.set_yticks([i for i, _ in rows], names)
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlabel=f"difference of {board.metric}")
    axes.set_title("Lead over the next detector", loc="left")
    about = f"{100 * board.level:g} % interval, paired bootstrap of images; diamonds: the interval contains 0"
    write_note(figure, f"{leaderboard.settings.draws:,} simulations · {about}")
    return figure


def plot_pairs(leaderboard: Leaderboard | ScoreLeaderboard, board: Board) -> Figure:
    """Plot how often the detector of the row ranks above that of the column, under both sources or the only one."""
    source = "both" if "both" in board.probabilities else next(iter(board.probabilities))
    size = len(board.names)
    shares = np.where(np.eye(size, dtype=bool), np.nan, board.probabilities[source].wins)
    names = shorten_apart(board.names, 22)
    figure, axes = plot_heat_map(shares, names, "PuOr", "share of simulations", extra_height=0.8)
    axes.set_xticks(range(size), names, rotation=90 if size > 4 else 0)
    axes.set_title(f"Row ranks above column, under {SOURCES[source]}", fontsize=10)
    write_note(figure, f"{leaderboard.settings.draws:,} simulations · {board.metric}")
    return figure


def plot_places(leaderboard: Leaderboard | ScoreLeaderboard, board: Board) -> Figure:
    """Plot how often each detector had each rank; frames are the confidence sets for ranks."""
    from matplotlib.patches import Rectangle

    source = "both" if "both" in board.probabilities else next(iter(board.probabilities))
    names = shorten_apart(board.names, 22)
    figure, axes = plot_heat_map(board.probabilities[source].ranks, names, "Blues", "share of simulations")
    for i, places in enumerate(board.places):
        if places is not None:
            low, high = places
            frame = Rectangle((low - 1.5, i - 0.5), high - low + 1, 1, fill=False, ec=COLOURS[1], lw=1.6, zorder=4)
            frame.set_clip_on(False)
            axes.add_patch(frame)
    axes.set(xlabel="rank")
    axes.set_title(f"Ranks under {SOURCES[source]}", fontsize=10)
    frames = " · frames: ranks that the bootstrap of images cannot exclude" if board.images is not None else ""
    write_note(figure, f"{leaderboard.settings.draws:,} simulations · {board.metric}{frames}")
    return figure


def plot_kept(leaderboard: Leaderboard) -> Figure:
    """Plot how often neighbours keep their order under annotation errors, against a multiple of the error rates."""
    board = leaderboard.board
    pairs = [i for i in range(len(board.names) - 1) if board.scores[i] > board.scores[i + 1]]
    frail = sorted(pairs, key=lambda i: float(board.probabilities["errors"].wins[i, i + 1]))[:MAX_IN_LEGEND]
    figure, axes = open_axes(7.6, 4.6)
    shown = shorten_apart(board.names, 22)
    shares = {factor: leaderboard.kept_at(factor, SIMULATIONS_PER_FACTOR) for factor in FACTORS}
    for i, (colour, dash) in zip([i for i in pairs if i in frail], line_styles(), strict=False):
        label = f"{shown[i]} > {shown[i + 1]}"
        axes.plot(
            FACTORS, [shares[f][i] for f in FACTORS], color=colour, ls=dash, marker="o", ms=4, lw=1.6, label=label
        )
    axes.set_xscale("log", base=2)
    axes.set_xticks(FACTORS, [f"{factor:g}×" for factor in FACTORS])
    axes.minorticks_off()
    axes.set(ylim=(-0.02, 1.02), xlabel="error rates, as a multiple of those assumed", ylabel="order kept")
    axes.axvline(1, color="0.6", lw=0.8, ls=":")
    axes.set_title("Ranking stability by error rate")
    if frail:
        title = "neighbours" if len(frail) == len(pairs) else f"the {len(frail)} least stable neighbours"
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=8, title=title)
    draws = min(SIMULATIONS_PER_FACTOR, leaderboard.settings.draws)
    write_note(figure, f"{draws} simulations each · {leaderboard.errors}")
    return figure
