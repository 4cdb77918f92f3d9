"""Section "Tracks": HOTA over localization thresholds, identity switches over time, a timeline, and the sequences.

Only in reports of the tracking protocol. The timeline shows the sequence with the most identity switches, one row per
ground-truth track: its matched parts, its missed parts, and its switches (CLEAR MOT at the protocol's IoU threshold).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from verite.model.styles import Markup, element, join_elements
from verite.protocols.track import TrackResults
from verite.reporting.report.charts import Axes, Line, line_chart
from verite.reporting.report.layout import (
    column,
    count_of,
    detector_name,
    finding,
    number,
    plain,
    scroll,
    table,
    td,
    th,
    whole,
)
from verite.reporting.report.section import DetectorSection, ReportInputs

if TYPE_CHECKING:
    from verite.reporting.report.crops import ReportImages
    from verite.reporting.report.detector import EvaluatedDetector
    from verite.reporting.report.document import ReportDocument

MOST_ROWS = 40  # tracks of a timeline, the longest
SHOWN = ("HOTA", "DetA", "AssA", "MOTA", "IDF1", "IDSW", "Frag", "MT", "ML")
ROW, WIDE = 9, 440  # height of a row and width of the timeline


@dataclass(frozen=True)
class TrackRow:
    """One track of a timeline: (start, end, is matched) of its parts in frames, and the frames of its switches."""

    spans: tuple[tuple[int, int, bool], ...]
    switches: tuple[int, ...]


@dataclass(frozen=True)
class TracksData:
    """Data of the section for one detector.

    Attributes
    ----------
    alphas
        HOTA, DetA and AssA at the 19 thresholds, by name.
    sequences
        Metrics of each sequence, by name.
    switches
        (frame, switches so far) of each sequence, at the frames of switches.
    shown, frames, tracks
        The sequence of the timeline, its number of frames, and its number of tracks.
    timeline
        The longest tracks.
    """

    alphas: dict[str, list[float]]
    sequences: dict[str, dict[str, float]]
    switches: dict[str, list[tuple[int, int]]]
    shown: str = ""
    frames: int = 0
    tracks: int = 0
    timeline: tuple[TrackRow, ...] = ()


def build(inputs: ReportInputs, detector: EvaluatedDetector) -> TracksData | None:
    """Return curves, switches and the timeline of a tracker; None for other protocols."""
    results = detector.results
    if not isinstance(results, TrackResults):
        return None
    found = results.timelines()
    switches: dict[str, list[tuple[int, int]]] = {}
    for (sequence, _), one in found.items():
        at = np.sort(one.frame[one.is_switch]) + 1
        switches[sequence] = [(0, 0), *((int(f), i + 1) for i, f in enumerate(at)), (one.frames, len(at))]
    counts = results.sequence_counts
    key = max(counts, key=lambda one: (counts[one].clear.switches, counts[one].size.truths), default=None)
    rows, frames, tracks = [], 0, 0
    if key is not None:
        one = found[key]
        lengths = np.bincount(one.track) if len(one.track) else np.zeros(0, dtype=np.int64)
        frames, tracks = one.frames, len(lengths)
        longest = np.argsort(-lengths, kind="stable")[:MOST_ROWS].tolist()
        for track in sorted(longest, key=lambda t: int(one.frame[one.track == t].min())):
            mine = np.flatnonzero(one.track == track)
            mine = mine[np.argsort(one.frame[mine], kind="stable")]
            at, is_found = one.frame[mine], one.found[mine] >= 0
            starts = np.flatnonzero(np.r_[True, (is_found[1:] != is_found[:-1]) | (at[1:] != at[:-1] + 1)])
            ends = np.r_[starts[1:], len(mine)] - 1
            spans = tuple((int(at[a]), int(at[b]) + 1, bool(is_found[a])) for a, b in zip(starts, ends, strict=True))
            rows.append(TrackRow(spans, tuple(at[one.is_switch[mine]].tolist())))
    return TracksData(
        {name: [round(float(v), 4) for v in results.curves[name]] for name in ("HOTA", "DetA", "AssA")},
        {name: {score: values[score] for score in SHOWN} for name, values in results.metrics_by(0).items()},
        switches,
        "" if key is None else key[0],
        frames,
        tracks,
        tuple(rows),
    )


def render(document: ReportDocument, images: ReportImages, i: int, data: TracksData | None) -> Markup:
    """Render the charts and the table of sequences."""
    one = document.detectors[i]
    if data is None:
        return Markup()
    total = int(sum(values["IDSW"] for values in data.sequences.values()))
    deta, assa = (float(np.mean(data.alphas[name])) for name in ("DetA", "AssA"))
    weaker = "association" if assa < deta else "detection"
    first = [
        detector_name(one.name), f" switches identities {count_of(total, 'time')}; {weaker} is its weaker side (DetA ",
        number(deta), ", AssA ", number(assa), ").",
    ]  # fmt: skip
    alphas = [0.05 * (k + 1) for k in range(19)]
    lines = [
        Line(name, list(zip(alphas, data.alphas[name], strict=True)), kind, at, is_below)
        for name, kind, at, is_below in (
            ("DetA", "g", 0.05, deta < assa),
            ("AssA", "k", 0.05, deta >= assa),
            ("HOTA", "a", 0.95, False),
        )
    ]
    about = f"HOTA, DetA and AssA of {plain(one.name)} by localization threshold"
    most = max((steps[-1][1] for steps in data.switches.values() if steps), default=0)
    last = max((steps[-1][0] for steps in data.switches.values() if steps), default=1)
    axes = Axes(
        "frame", "identity switches so far", [0, last // 2, last], sorted({0, max(most, 1) // 2, max(most, 1)}),
        (0.0, float(max(last, 1))), (0.0, float(max(most, 1))),
    )  # fmt: skip
    stairs = [
        Line(plain(name, 20), staircase(steps), "a" if name == data.shown else "g", last * 0.98)
        for name, steps in data.switches.items()
    ]
    return join_elements(
        finding(*first),
        element(
            "div",
            element(
                "div", element("h3", "HOTA by localization threshold"), line_chart(Axes("alpha", "score"), lines, about)
            ),
            element(
                "div",
                element("h3", "Identity switches over time"),
                line_chart(axes, stairs, f"Identity switches of {plain(one.name)} over time"),
            ),
            class_="two",
        ),
        element("h3", "Timeline of tracks in ", element("bdi", plain(data.shown))),
        element(
            "p",
            f"One row per ground-truth track, the {len(data.timeline)} longest of {data.tracks:,}: filled where it is "
            "matched, thin where it is missed, a bar where its identity switches.",
        ),
        timeline(data, f"Timeline of tracks of {plain(one.name)} in {plain(data.shown)}"),
        scroll(f"Table of sequences, {plain(one.name)}", sequence_table(data)),
    )


def staircase(steps: list[tuple[int, int]]) -> list[tuple[float, float]]:
    """Return the corners of a step function."""
    points: list[tuple[float, float]] = []
    for frame, count in steps:
        if points:
            points.append((float(frame), points[-1][1]))
        points.append((float(frame), float(count)))
    return points


def timeline(data: TracksData, about: str) -> Markup:
    """Draw the timeline as SVG; x is in frames."""
    parts = []
    scale = (WIDE - 4) / max(data.frames, 1)
    for row, track in enumerate(data.timeline):
        top = row * ROW
        for start, end, is_found in track.spans:
            high, low = (ROW - 3, top + 1) if is_found else (1, top + ROW / 2 - 0.5)
            kind = "tl-found" if is_found else "tl-missed"
            parts.append(
                element(
                    "rect",
                    x=f"{2 + start * scale:.1f}",
                    y=f"{low:.1f}",
                    width=f"{max((end - start) * scale, 0.5):.1f}",
                    height=str(high),
                    class_=kind,
                )
            )
        for at in track.switches:
            x = f"{2 + at * scale:.1f}"
            parts.append(element("line", x1=x, x2=x, y1=str(top), y2=str(top + ROW - 1), class_="tl-switch"))
    height = max(len(data.timeline), 1) * ROW + 2
    return element(
        "svg", element("title", about), *parts, class_="chart", viewBox=f"0 0 {WIDE} {height}", role="img",
        aria_label=about,
    )  # fmt: skip


def sequence_table(data: TracksData) -> Markup:
    """Render the metrics of each sequence."""
    rows = [
        element(
            "tr",
            th(element("bdi", plain(name))),
            *(td(whole(values[key]) if key in ("IDSW", "Frag", "MT", "ML") else number(values[key])) for key in SHOWN),
        )
        for name, values in data.sequences.items()
    ]
    return table("Each sequence by itself.", [column(word) for word in ("sequence", *SHOWN)], rows)


SECTION = DetectorSection(
    id="tracks",
    title="Tracks",
    place=25,
    wanted=lambda document: any(one is not None for one in document.sections["tracks"]),
    build=build,
    render=render,
)
