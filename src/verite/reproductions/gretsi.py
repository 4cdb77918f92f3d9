"""Reproduction of the study of 2009 (GRETSI): boxes, three alterations, and stars assigned by a rule on curves.

The paper assigns stars by inspecting curves of its fifth ground truth. The rule here is the same for every metric and
uses the same curves, as shares of their largest value:

one star    the metric ignores the alteration, or its first noticeable step gets most of the penalty
two stars   translation and scale: half the alteration gets most of the penalty on a line, or one direction is hardly
            penalised compared with its opposite; rotation: the penalty falls again on the way to 90°;
            all: half the alteration gets little of the penalty
three stars otherwise
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from verite.metrics.catalogue import metric
from verite.reproductions.comparison import Reproduction, TableComparison, read_table
from verite.reproductions.conventions import Cells, Flip
from verite.reproductions.statements import Limits, Statement, gretsi_statements
from verite.signature import Signature
from verite.studies.alterations import Outline, Warps, rasterise_warps, scale, translation
from verite.studies.judging import PropertyTable, code
from verite.studies.measuring import Progress, values_of
from verite.studies.rows import Row
from verite.studies.truths import boxes

Floats = NDArray[np.float64]
# Hemery, Laurent, Rosenberger, Étude comparative de métriques d'évaluation d'algorithmes de localisation, GRETSI 2009,
# table 1: 26 rows. ND has no formula there.
GRETSI_2009 = {
    "ErrLoc": "err_loc",
    "ErrSur": "err_over",
    "ErrSous": "err_under",
    "RMS": "rms",
    "Lq": "lq",
    "DBh": "bhattacharyya",
    "DKu": "kullback",
    "DJe": "jensen",
    "ND": "odet_nd",
    "ODI": "odet_over",
    "UDI": "odet_under",
    "Hausdorff": "hausdorff",
    "Pratt": "figure_of_merit",
    "Hamming": "hamming",
    "Yasnoff1": "yasnoff1",
    "Yasnoff2": "yasnoff2",
    "Martin1": "gce",
    "Martin2": "lce",
    "Vinet": "vinet",
    "Hafiane": "hafiane1",
    "Pascal": "pascal",
    "Hen1": "hen1",
    "Hen2": "hen2",
    "RobLoc": "robin_loc",
    "RobCor": "robin_cor",
    "RobCom": "robin_com",
}
REACH = 16
STEPS = np.arange(-REACH, REACH + 1).astype(np.float64)
ANGLES = np.arange(-10, 91, 5).astype(np.float64)
# Down and right: vertical, horizontal, both at once.
DIRECTIONS = ((1, 0), (0, 1), (1, 1))
JUDGED = "tall"  # the fifth ground truth, 64 × 96
ALTERATIONS = ("translation", "scale", "rotation")


@dataclass(frozen=True)
class StarRules:
    """The tolerances of the rule, as shares of a curve's largest value.

    Parameters
    ----------
    cold : float
        Share of the metric's largest amplitude below which it ignores an alteration (one star).
    at_once : float
        Share of the penalty that the first noticeable step may not reach (one star).
    early, late : float
        Largest and smallest share of the penalty at half the alteration (two stars beyond).
    one_sided : float
        Smallest ratio of the penalties of opposite directions (two stars below).
    falls : float
        Largest fall of a rotation's penalty below its running maximum (two stars above).
    """

    cold: float = 0.05
    at_once: float = 0.7
    early: float = 0.7
    one_sided: float = 2 / 3
    falls: float = 0.2
    late: float = 0.4


def lines_of(outline: Outline) -> dict[str, list[Warps]]:
    """Return the lines of results through the ground truth, by alteration, one warp per result.

    In this study a height h becomes h + x, not h + 2x. A rotated box is replaced by its bounding box.
    """
    half_width, half_height = outline.half
    sine, cosine = np.abs(np.sin(np.deg2rad(ANGLES))), np.abs(np.cos(np.deg2rad(ANGLES)))
    wide, high = half_width * cosine + half_height * sine, half_width * sine + half_height * cosine
    return {
        "translation": [translation(outline, STEPS * down, STEPS * right) for down, right in DIRECTIONS],
        "scale": [scale(outline, STEPS * down / 2, STEPS * right / 2) for down, right in DIRECTIONS],
        "rotation": [scale(outline, high - half_height, wide - half_width)],
    }


def stars(lines: Sequence[Floats], origin: int, largest: float, turning: bool, rules: StarRules) -> int:
    """Return the stars of one metric for one alteration, by the rule of this module.

    Parameters
    ----------
    lines : Sequence of array
        Penalties along each line of results, 0 for the unaltered box.
    origin : int
        Position of the unaltered box on every line.
    largest : float
        The metric's largest penalty under any alteration.
    turning : bool
        Whether the alteration is a rotation.
    rules : StarRules
        The tolerances.

    Returns
    -------
    int
        1, 2 or 3.
    """
    if max(np.abs(line).max() for line in lines) < rules.cold * largest or largest <= 0:
        return 1
    # Both halves of a line, from the ground truth outwards.
    noticed = [
        (line, [half for half in (line[origin:], line[origin::-1]) if len(half) > 1])
        for line in lines
        if np.abs(line).max() > 0
    ]
    for line, halves in noticed:  # the first noticeable step gets most of the penalty
        most = np.abs(line).max()
        firsts = [np.abs(half[np.abs(half) > 1e-9 * most][:1]) for half in halves]
        if any(len(first) > 0 and first[0] >= rules.at_once * most for first in firsts):
            return 1
    penalised = [half for _, halves in noticed for half in halves if np.abs(half).max() > 0]
    halfway = [float(half[(len(half) - 1) // 2] / np.abs(half).max()) for half in penalised]
    if min(halfway) < rules.late:
        return 2
    if turning:
        drops = [max(float((np.maximum.accumulate(half) - half).max()) for half in halves) / float(np.abs(line).max())
                 for line, halves in noticed]  # below the running maximum  # fmt: skip
        return 2 if max(drops) > rules.falls else 3
    sides = [[float(np.abs(half).max()) for half in halves] for _, halves in noticed]
    is_one_sided = any(min(pair) < rules.one_sided * max(pair) for pair in sides)
    return 2 if is_one_sided or max(halfway) > rules.early else 3


class Stars:
    """The 1,696 results of 2009, measured by its 26 metrics.

    Parameters
    ----------
    rows : Sequence of Row
        The metrics with the paper's labels.
    values : Mapping
        Values [row, line, result] by ground truth and alteration.
    rules : StarRules
        The tolerances by which stars are assigned.
    """

    def __init__(self, rows: Sequence[Row], values: Mapping[tuple[str, str], Floats], rules: StarRules) -> None:
        self.rows, self.values, self.rules = rows, values, rules
        self.include_curves = False  # whether its document has every curve

    def curves(self) -> dict[str, dict[str, dict[str, list[list[float]]]]]:
        """Return every value by ground truth, alteration and metric, one line per direction."""
        found: dict[str, dict[str, dict[str, list[list[float]]]]] = {}
        for (truth, alteration), values in self.values.items():
            by_metric = {row.label: values[i].tolist() for i, row in enumerate(self.rows)}
            found.setdefault(truth, {})[alteration] = by_metric
        return found

    @property
    def signature(self) -> Signature:
        """Metrics, ground truths and tolerances."""
        names = [row.metric.name for row in self.rows]
        truths = [truth.name for truth in boxes()]
        return Signature.of("stars", metrics=names, truths=truths, judged=JUDGED, **asdict(self.rules), rev=1)

    @property
    def results(self) -> int:
        """Number of altered boxes, without the unaltered one of each line."""
        lines = sum(values.shape[1] * (values.shape[2] - 1) for values in self.values.values())
        return int(lines)

    @cached_property
    def table(self) -> PropertyTable:
        """The stars of every metric."""
        cells = []
        for i in range(len(self.rows)):
            curves = {name: look_at(name, self.values[JUDGED, name][i]) for name in ALTERATIONS}
            curves = {name: lines - lines[0, origin_of(name)] for name, lines in curves.items()}
            largest = max(float(np.abs(lines).max()) for lines in curves.values())
            cells.append({
                name: stars(list(lines), origin_of(name), largest, name == "rotation", self.rules)
                for name, lines in curves.items()
            })  # fmt: skip
        labels, kinds = tuple(row.label for row in self.rows), tuple(row.on for row in self.rows)
        return PropertyTable("stars", ALTERATIONS, labels, kinds, tuple(cells), "stars")


def look_at(name: str, lines: Floats) -> Floats:
    """Return the points of curves that count: of a scale change every second step, at which all sides moved alike."""
    return lines[:, ::2] if name == "scale" else lines


def origin_of(name: str) -> int:
    """Return the position of the ground truth among the points that count."""
    marks = {"rotation": ANGLES, "scale": STEPS[::2]}.get(name, STEPS)
    return int(np.flatnonzero(marks == 0)[0])


class GretsiReproduction(Reproduction):
    """Table 2 of the study of 2009."""

    def __init__(self, outcome: Stars, flips: Sequence[Flip]) -> None:
        super().__init__("gretsi", [TableComparison("T2", outcome.table, read_table("gretsi-table2"))], outcome, flips)

    def find_statements(self, limits: Limits) -> list[Statement]:
        """Return the statements of section 3 of the paper."""
        curves = {}
        for name in ALTERATIONS:
            values, origin = self.outcome.values[JUDGED, name], {"rotation": 2}.get(name, REACH)
            curves[name] = {row.label: values[i] - values[i][:, [origin]] for i, row in enumerate(self.outcome.rows)}
        return gretsi_statements(curves, limits)

    def remarks(self) -> list[str]:
        """Return the rule in words."""
        agreed, cells = self.agreement["all"]
        own = sum(one.metric == "ND" for one in self.differences)
        rule = ", ".join(f"{name} {value:.2g}" for name, value in asdict(self.outcome.rules).items())
        return [
            f"{self.outcome.results:,} results. The paper gives stars by eye. The rule here, chosen on this table, "
            "uses the curves of its fifth truth: one star if the metric hardly responds or its first step gets most "
            "of the penalty; two if half the alteration gets very much or very little of it, one direction is hardly "
            f"penalised, or a rotation's penalty falls again; three otherwise ({rule}).",
            f"ND has no formula in the paper; ours is a choice. Without its row {agreed - (3 - own)} of {cells - 3} "
            "cells come out.",
        ]

    def to_dict(self) -> dict[str, object]:
        """Return the JSON document."""
        found = super().to_dict()
        curves = {"curves": self.outcome.curves()} if self.outcome.include_curves else {}
        return found | {"results": self.outcome.results, "tables": {"stars": self.outcome.table.to_dict()}} | curves


# Conventions that may have been others: which measure Martin's rows are, and every tolerance of the rule.
READINGS = {
    "Martin's measures take I1\\2 per object, with the printed minimum": {
        "Martin1": "gce(variant='per-object')", "Martin2": "lce(variant='per-object')"},
    "Martin's measures take the larger error": {"Martin1": "gce(variant='as-run')", "Martin2": "lce(variant='as-run')"},
    "RobCom takes the length of the contour for the area of the box": {"RobCom": "robin_com(variant='as-run')"},
}  # fmt: skip
OTHERS: dict[str, tuple[float, ...]] = {
    "cold": (0.01, 0.1, 0.2),
    "at_once": (0.6, 0.8),
    "early": (0.6, 0.65, 0.75, 0.8),
    "one_sided": (0.5, 0.6, 0.75),
    "falls": (0.05, 0.1, 0.15, 0.3),
    "late": (0.3, 0.5),
}


def reproduce_gretsi(*, progress: Progress | None = None, rules: StarRules | None = None) -> GretsiReproduction:
    """Reproduce the stars of the 26 metrics of 2009, with every convention flipped once.

    Parameters
    ----------
    progress : callable, optional
        Called with the number of results that were measured.
    rules : StarRules, optional
        The tolerances of the rule.

    Returns
    -------
    GretsiReproduction
    """
    settled = rules or StarRules()
    names = {name for reading in (GRETSI_2009, *READINGS.values()) for name in reading.values()}
    rows = [Row(name, metric(name), is_penalty=True) for name in sorted(names)]
    values: dict[str, dict[tuple[str, str], Floats]] = {row.label: {} for row in rows}
    for truth in boxes():
        for alteration, lines in lines_of(truth.outline).items():
            results = rasterise_warps(truth.outline, np.concatenate(lines))
            forward = values_of(rows, truth.mask[None], results, both_ways=False)[0].reshape(len(rows), len(lines), -1)
            for row, measured in zip(rows, forward, strict=True):
                values[row.label][truth.name, alteration] = measured
            if progress is not None:
                progress(forward[0].size - len(lines))
    base = stars_of(values, GRETSI_2009, settled)
    flips = [(name, stars_of(values, GRETSI_2009 | reading, settled)) for name, reading in READINGS.items()]
    for tolerance, others in OTHERS.items():
        for value in others:
            changed = Stars(base.rows, base.values, replace(settled, **{tolerance: value}))
            flips.append((f"the tolerance {tolerance} were {value:g}", changed))
    published = {
        ("T2", label, c): cell for label, row in read_table("gretsi-table2").items() for c, cell in row.items()
    }
    before = cells_of(base)
    return GretsiReproduction(base, [Flip.of(name, before, cells_of(other), published) for name, other in flips])


def stars_of(
    values: Mapping[str, Mapping[tuple[str, str], Floats]], reading: Mapping[str, str], rules: StarRules
) -> Stars:
    """Return the stars of one reading of the rows, from the values of every metric by name.

    Parameters
    ----------
    values
        Penalties by metric, and by kind of truth and alteration.
    reading
        Metric of the catalogue by label of the paper's row.
    rules
        Tolerances of the rule that gives stars.
    """
    rows = [Row(label, metric(name), is_penalty=True) for label, name in reading.items()]
    keys = next(iter(values.values()))
    return Stars(rows, {key: np.stack([values[name][key] for name in reading.values()]) for key in keys}, rules)


def cells_of(outcome: Stars) -> Cells:
    """Return the stars by table, metric and alteration."""
    table = outcome.table
    return {("T2", label, c): code(row[c]) for label, row in zip(table.labels, table.cells, strict=True) for c in row}
