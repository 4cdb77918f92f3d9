"""Plots of tracks: HOTA over thresholds, identity switches over time, a timeline of tracks, leaderboards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from verite.plotting import COLOURS, MOST_OF_NAME, label_axes, shorten
from verite.reporting.plots import MOST_IN_LEGEND, file_names, line_style, new_figure, save_figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from verite.evaluation.tracking import TrackTimeline
    from verite.leaderboards.track_leaderboard import TrackLeaderboard
    from verite.protocols.track import TrackResults

ALPHAS = np.arange(1, 20) * 0.05
SHOWN = ("HOTA", "DetA", "AssA", "LocA")
MOST_TRACKS = 60  # rows of a timeline, the longest tracks
MISSED, SWITCH = "#d0d5db", "#000000"


def save_tracks(results: TrackResults, folder: Path, format: str = "png") -> list[Path]:
    """Save all plots of tracks: hota, switches, and one timeline per sequence and class."""
    figures = {}
    for name, plot in (("hota", plot_alphas), ("switches", plot_switches)):
        figures[name] = new_figure((6.4, 4.8))
        plot(results, figures[name].add_subplot())
    found = results.timelines()
    names = file_names(" ".join(key) if len(results.classes) > 1 else key[0] for key in found)
    for (key, timeline), name in zip(found.items(), names, strict=True):
        rows = min(MOST_TRACKS, int(timeline.track.max(initial=0)) + 1)
        figures[f"tracks-{name}"] = new_figure((9.6, max(3.2, 0.16 * rows + 1.4)))
        plot_timeline(key, timeline, figures[f"tracks-{name}"].add_subplot())
    return save_figures(figures, folder, format, results.signature)


def plot_alphas(results: TrackResults, axes: Axes) -> None:
    """Plot HOTA, DetA, AssA and LocA at the 19 localization thresholds; the legend has their means."""
    label_axes(axes, "localization threshold (alpha)", "score")
    for i, name in enumerate(SHOWN):
        curve = results.curves[name]
        style = line_style(i)
        style["lw"] = 2.6 if name == "HOTA" else style["lw"]
        axes.plot(ALPHAS, curve, label=f"{name} {curve.mean():.3f}", **style)
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.set_title(f"{shorten(results.name, MOST_OF_NAME)}: HOTA and its parts")
    axes.legend(loc="lower left")


def plot_switches(results: TrackResults, axes: Axes) -> None:
    """Plot the number of identity switches up to each frame, one line per sequence."""
    label_axes(axes, "frame", "identity switches so far")
    totals: dict[str, NDArray[np.int64]] = {}
    for (sequence, _), timeline in results.timelines().items():
        counts = np.bincount(timeline.frame[timeline.is_switch], minlength=timeline.frames)
        totals[sequence] = totals.get(sequence, 0) + counts
    for i, (sequence, counts) in enumerate(totals.items()):
        label = f"{shorten(sequence, 30)} ({int(counts.sum())})" if i < MOST_IN_LEGEND else None
        axes.plot(
            np.arange(1, len(counts) + 1), np.cumsum(counts), label=label, drawstyle="steps-post", **line_style(i)
        )
    most = max((int(counts.sum()) for counts in totals.values()), default=0)
    axes.set(xlim=(0, max((len(counts) for counts in totals.values()), default=1) + 1), ylim=(0, max(1, 1.05 * most)))
    axes.set_title(f"{shorten(results.name, MOST_OF_NAME)}: identity switches over time")
    if totals:
        axes.legend(loc="upper left")


def count_tracks(results: TrackResults) -> int:
    """Return the rows of the timeline that `plot_tracks` draws."""
    key = longest_sequence(results)
    return 0 if key is None else min(MOST_TRACKS, int(results.metrics["truth_tracks"]))


def longest_sequence(results: TrackResults) -> tuple[str, str] | None:
    """Return sequence and class with the most identity switches, else with the most objects; None if there is none."""
    counts = results.sequence_counts
    return max(counts, key=lambda key: (counts[key].clear.switches, counts[key].size.truths), default=None)


def plot_tracks(results: TrackResults, axes: Axes) -> None:
    """Plot the timeline of the sequence with the most identity switches."""
    key = longest_sequence(results)
    if key is not None:
        plot_timeline(key, results.timelines()[key], axes)


def plot_timeline(key: tuple[str, str], timeline: TrackTimeline, axes: Axes) -> None:
    """Plot one row per ground-truth track: colours are predicted tracks, grey is missed, black bars are switches.

    The longest tracks are shown, in the order of their first frames. Colours repeat; a change of colour within a row is
    a switch.
    """
    label_axes(axes, "frame", "ground-truth track")
    lengths = np.bincount(timeline.track) if len(timeline.track) else np.zeros(0, dtype=np.int64)
    longest = np.sort(np.argsort(-lengths, kind="stable")[:MOST_TRACKS])
    first = [int(timeline.frame[timeline.track == t].min()) for t in longest]
    order = longest[np.argsort(first, kind="stable")]
    for row, track in enumerate(order.tolist()):
        mine = np.flatnonzero(timeline.track == track)
        mine = mine[np.argsort(timeline.frame[mine], kind="stable")]
        frame, found = timeline.frame[mine], timeline.found[mine]
        starts = np.flatnonzero(np.r_[True, (found[1:] != found[:-1]) | (frame[1:] != frame[:-1] + 1)])
        for start, end in zip(starts, np.r_[starts[1:], len(mine)], strict=True):
            is_missed = found[start] < 0
            colour = MISSED if is_missed else COLOURS[int(found[start]) % (len(COLOURS) - 1)]
            span = (float(frame[start]) + 0.5, float(frame[end - 1] - frame[start] + 1))
            axes.broken_barh([span], (row - (0.2 if is_missed else 0.4), 0.4 if is_missed else 0.8), facecolors=colour)
        for at in frame[timeline.is_switch[mine]]:
            axes.plot([at + 0.5] * 2, [row - 0.5, row + 0.5], color=SWITCH, lw=1.2)
    axes.set(xlim=(0, timeline.frames + 1), ylim=(len(order) - 0.4, -0.6), yticks=[])
    axes.grid(visible=False, axis="y")
    more = f", {len(order)} longest of {len(lengths)}" if len(lengths) > len(order) else f", {len(order)} tracks"
    switches = int(timeline.is_switch.sum())
    axes.set_title(
        f"{shorten(key[0], 30)}: colour = predicted track, grey = missed, bar = switch ({switches}){more}", fontsize=9
    )


def save_track_board(board: TrackLeaderboard, folder: Path, format: str = "png") -> list[Path]:
    """Save one plot per score: the simulated scores of every tracker, by source of uncertainty."""
    figures = {}
    words = {"images": board.unit, "errors": "annotations", "both": "both"}
    for metric, one in board.boards.items():
        figure = new_figure((6.8, max(2.4, 0.55 * len(one.names) + 1.4)))
        axes, sign = figure.add_subplot(), board.sign(metric)
        label_axes(axes, metric, "")
        for k, (source, samples) in enumerate(one.samples.items()):
            low, high = (np.nanquantile(sign * samples, q, axis=0) for q in (0.025, 0.975))
            rows = np.arange(len(one.names)) + 0.18 * (k - (len(one.samples) - 1) / 2)
            axes.hlines(rows, low, high, color=COLOURS[k], lw=3, label=f"95 % of simulations: {words[source]}")
        axes.plot(sign * one.scores, np.arange(len(one.names)), "o", color="black", ms=5, label="score", ls="none")
        axes.set_yticks(np.arange(len(one.names)), [shorten(name, MOST_OF_NAME) for name in one.names])
        axes.set_xlim(auto=True)
        axes.autoscale(axis="x")
        axes.set_ylim(len(one.names) - 0.5, -0.5)
        axes.set_title(f"{metric} of {len(one.names)} trackers")
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)
        figures[f"leaderboard-{metric}"] = figure
    return save_figures(figures, folder, format, board.signature)
