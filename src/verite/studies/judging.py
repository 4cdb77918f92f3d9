"""Decide which properties each metric has: from measured values to the cells of property tables, with tolerances.

A property of a metric (symmetry, monotony, continuity, …) holds if it holds on enough ground truths under an
alteration. Every tolerance of that decision has a name in :class:`Tolerances`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter
from verite.model.tables import Display, Part, Table
from verite.studies import properties
from verite.studies.measuring import Measured, Values, penalty_rules_of
from verite.studies.rows import Row
from verite.studies.sweeps import Grid, Sweep
from verite.studies.truths import SCALE_PAIR, SHAPE_PAIR, Truth

if TYPE_CHECKING:
    from verite.files import JsonObject

Floats = NDArray[np.float64]
Held = NDArray[np.bool_]  # [row, truth]
Cell = bool | str
DISTANCE = ("symmetry", "separation", "triangle")


@dataclass(frozen=True)
class Tolerances:
    """The tolerances by which :func:`verite.study` decides whether a metric has a property.

    Parameters
    ----------
    symmetry : float, default 1e-9
        Relative difference of M(truth, pred) and M(pred, truth) that still counts as none.
    zero : float, default 1e-12
        Largest penalty that counts as 0 (separation).
    triangle : float, default 0.025
        Share of pairs of altered regions that may violate the triangle inequality.
    triangle_as_separation : bool, default False
        Credit the triangle inequality to every metric that separates.
    indifferent : float, default 0.05
        Share of a metric's largest amplitude below which it ignores an alteration.
    axial : float, default 0.01
        Difference of opposite alterations, as a share of the amplitude.
    monotony : float, default 0.0
        Share of steps that may fail to rise.
    turning : float, default 0.2
        The same where pixels are noisy: rotations and local changes.
    until : int, default 45
        Degrees up to which the penalty of a rotation must rise.
    gap : float, default 1/8
        Share of the amplitude from which a step is a jump.
    factor : float, default 4.0
        Multiple of the neighbouring steps from which a step is a jump.
    tie : float, default 1e-5
        Difference of two sizes of object that counts as none, as a share of the amplitude.
    shape : float, default 1e-9
        Relative difference of two shapes of object that counts as none.
    evenness : float, default 0.1
        Difference between positions on the contour, relative to their mean.
    quorum : float, default 0.5
        Share of ground truths on which a property must hold.

    Raises
    ------
    BadParameter
        If a tolerance is negative, or a share above 1.

    Examples
    --------
    >>> Tolerances(axial=0.02).axial
    0.02
    """

    symmetry: float = 1e-9
    zero: float = 1e-12
    triangle: float = 0.025
    triangle_as_separation: bool = False
    indifferent: float = 0.05
    axial: float = 0.01
    monotony: float = 0.0
    turning: float = 0.2
    until: int = 45
    gap: float = 1 / 8
    factor: float = 4.0
    tie: float = 1e-5
    shape: float = 1e-9
    evenness: float = 0.1
    quorum: float = 0.5

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value >= 0:
                raise BadParameter(f"{name}: expected 0 or more, found {value}")
        for name in ("triangle", "monotony", "turning", "quorum"):
            if getattr(self, name) > 1:
                raise BadParameter(f"{name}: expected a share from 0 to 1, found {getattr(self, name)}")


class Evidence:
    """The measured values of a study as penalties, with a cache of the properties that were decided already.

    Parameters
    ----------
    rows, truths, sweeps : Sequence
        Metrics, ground truths and alterations of the study.
    measured : Mapping of Values
        The values, by ground truth and sweep.
    triangle : array of float
        Share of pairs of translations that violate the triangle inequality, one per row.
    """

    def __init__(
        self,
        rows: Sequence[Row],
        truths: Sequence[Truth],
        sweeps: Sequence[Sweep],
        measured: Measured,
        triangle: Floats,
    ) -> None:
        self.rows, self.truths, self.sweeps, self.measured = rows, truths, sweeps, measured
        self.triangle = triangle
        self.penalty_rules = penalty_rules_of(rows, measured)
        self.cache: dict[object, Held] = {}
        self.all_truths, self.columns = truths, np.arange(len(truths))
        self.curves = {key: self.relative(values) for key, values in measured.items()}
        flat = {key: curves.reshape(len(rows), -1) for key, curves in self.curves.items()}
        self.amplitudes = {key: curves.max(axis=1) - curves.min(axis=1) for key, curves in flat.items()}

    def with_truths(self, chosen: Sequence[Truth]) -> Evidence:
        """Return the same evidence restricted to some of the ground truths, sharing the cache."""
        part = copy(self)
        part.truths = chosen
        part.columns = np.array([list(self.all_truths).index(truth) for truth in chosen])
        return part

    def penalise(self, values: Floats) -> Floats:
        """Convert the values of every row to penalties."""
        return np.stack([rule(values[i]) for i, rule in enumerate(self.penalty_rules)])

    def relative(self, values: Values) -> Floats:
        """Return penalties minus that of identical regions, [row, …]."""
        penalties = self.penalise(values.forward)
        itself = self.penalise(values.itself[:, None])[:, 0]
        return penalties - itself.reshape(-1, *[1] * (penalties.ndim - 1))

    def truths_under(self, sweep: Sweep) -> Sequence[Truth]:
        """Return the ground truths that a sweep alters."""
        return sweep.truths or self.truths

    def hold(self, sweep: Sweep, name: str, check: Callable[[Floats], bool], *limits: float) -> Held:
        """Return on which ground truths a property of curves holds, [row, truth]; cached by its limits.

        Parameters
        ----------
        sweep
            The alteration.
        name
            Name of the property.
        check
            Decides on one curve.
        limits
            Tolerances that the check uses; they are part of the cache key.

        Returns
        -------
        Held
            A flag per metric and ground truth.
        """
        key = (sweep.name, name, limits)
        if key not in self.cache:
            truths = sweep.truths or self.all_truths
            found = [[check(curve) for curve in self.curves[truth.name, sweep.name]] for truth in truths]
            self.cache[key] = np.array(found, dtype=np.bool_).T
        return self.cache[key] if sweep.truths else self.cache[key][:, self.columns]

    def distance(self, name: str, tolerance: float) -> Held:
        """Return on which ground truths symmetry or separation hold under all sweeps, [row, truth].

        Parameters
        ----------
        name
            `symmetry` or `separation`, the axioms of a distance.
        tolerance
            Largest deviation that is rounding.

        Returns
        -------
        Held
            Flags for the metrics of all rows.
        """
        key = (name, tolerance)
        if key not in self.cache:
            kept = [[self.holds_for(name, t, i, tolerance) for t in self.all_truths] for i in range(len(self.rows))]
            self.cache[key] = np.array(kept, dtype=np.bool_)
        return self.cache[key][:, self.columns]

    def holds_for(self, name: str, truth: Truth, i: int, tolerance: float) -> bool:
        """Decide symmetry or separation of row i on one ground truth."""
        penalise = self.penalty_rules[i]
        for sweep in self.sweeps:
            if sweep.truths:
                continue
            values = self.measured[truth.name, sweep.name]
            forward = penalise(values.forward[i])
            if name == "symmetry":
                if not properties.is_symmetric(forward, penalise(values.backward[i]), tolerance=tolerance):
                    return False
            elif not properties.separates(
                float(penalise(values.itself[i : i + 1])[0]), forward, values.is_same, zero=tolerance
            ):
                return False
        return True

    def largest_amplitudes(self) -> Floats:
        """Return each row's largest amplitude over the boxes and the single alterations."""
        spans = [self.amplitudes[t.name, s.name] for s in self.single_alterations() for t in self.reference_truths(s)]
        most: Floats = np.max(spans, axis=0)
        return most

    def indifferent(self, sweep: Sweep, tolerances: Tolerances) -> list[bool]:
        """Return which rows ignore an alteration; for a local change any response counts as one.

        Parameters
        ----------
        sweep
            The alteration.
        tolerances
            With the share of the largest amplitude below which a response does not count.

        Returns
        -------
        list[bool]
            A flag per row.
        """
        share = tolerances.indifferent if sweep.is_comparable else 1e-9
        amplitudes = np.stack([self.amplitudes[truth.name, sweep.name] for truth in self.reference_truths(sweep)])
        largest = self.largest_amplitudes()
        return [
            properties.is_indifferent(amplitudes[:, i], float(largest[i]), share=share) for i in range(len(self.rows))
        ]

    def single_alterations(self) -> list[Sweep]:
        """Return the sweeps of one alteration; all where there is none."""
        single: list[Sweep] = [s for s in self.sweeps if isinstance(s, Grid) and "+" not in s.alteration]
        return single or list(self.sweeps)

    def reference_truths(self, sweep: Sweep) -> list[Truth]:
        """Return the ground truths by which indifference is decided: the boxes, or all where there is no box."""
        truths = self.truths_under(sweep)
        return [t for t in truths if t.kind == "box"] or list(truths)

    def judge_distance(self, tolerances: Tolerances) -> list[dict[str, Cell]]:
        """Decide symmetry, separation and triangle inequality of each row; one exception is enough to fail.

        The triangle inequality holds if few enough pairs violate it and the metric separates.
        """
        symmetric = [bool(kept.all()) for kept in self.distance("symmetry", tolerances.symmetry)]
        separated = [bool(kept.all()) for kept in self.distance("separation", tolerances.zero)]
        cells: list[dict[str, Cell]] = []
        for i, violated in enumerate(self.triangle):
            obeys = separated[i] and (tolerances.triangle_as_separation or bool(violated <= tolerances.triangle))
            cells.append({"symmetry": symmetric[i], "separation": separated[i], "triangle": obeys})
        return cells

    def share_held(self, sweep: Sweep, name: str, tolerances: Tolerances) -> Floats:
        """Return for each row the share of ground truths on which a property of curves holds."""
        chosen = properties.PROPERTIES[name, not isinstance(sweep, Grid)]
        limits = {parameter: getattr(tolerances, field) for parameter, field in chosen.tolerances.items()}
        if "until" in limits and isinstance(sweep, Grid):
            limits["until"] = max(1, tolerances.until // sweep.step)
        held = self.hold(sweep, name, partial(chosen.holds, **limits), *limits.values())
        shares: Floats = held.mean(axis=1)
        return shares

    def judge_sweep(self, sweep: Sweep, tolerances: Tolerances) -> list[dict[str, Cell]]:
        """Decide the properties of each row under one alteration; a row that ignores it has none."""
        indifferent = self.indifferent(sweep, tolerances)
        shares = {
            name: self.share_held(sweep, name, tolerances) for name in sweep.columns if name not in ("scale", "shape")
        }
        cells = []
        for i, is_indifferent in enumerate(indifferent):
            found: dict[str, Cell] = {
                name: bool(share[i] >= tolerances.quorum) and not is_indifferent for name, share in shares.items()
            }
            if "scale" in sweep.columns:
                small, large = (self.curves[name, sweep.name][i] for name in SCALE_PAIR)
                found["scale"] = "" if is_indifferent else properties.scale_dependency(small, large, tie=tolerances.tie)
            if "shape" in sweep.columns:
                wide, tall = (self.curves[name, sweep.name][i] for name in SHAPE_PAIR)
                is_same = properties.is_symmetric(wide, tall, tolerance=tolerances.shape)
                found["shape"] = not is_indifferent and not is_same
            cells.append(found)
        return cells


def points(cells: dict[str, Cell]) -> int:
    """Return a row's score: one point per property; a scale dependency of both signs gives none.

    >>> points({"symmetry": True, "monotony": False, "scale": "+", "shape": "+/-"})
    2
    """
    return sum(cell is True or cell in ("+", "-") for cell in cells.values())


TICK = "✓"
COUNTED = ("synthesis", "stars")  # tables of numbers rather than of properties
TITLES = {"distance": "Distance properties", "synthesis": "Synthesis", "stars": "Stars"}


def mark(cell: Cell | int) -> str:
    """Format a cell for people.

    >>> [mark(cell) for cell in (True, False, "+", "+/-", "", 3)]
    ['✓', '', '✓+', '✓+/-', '', '3']
    """
    if isinstance(cell, bool):
        return TICK if cell else ""
    if isinstance(cell, int):
        return str(cell)
    return TICK + cell if cell else ""


def code(cell: Cell | int) -> str:
    """Format a cell for files: 1 and 0, or the sign.

    >>> [code(cell) for cell in (True, False, "+", "", 3)]
    ['1', '0', '+', '0', '3']
    """
    return str(int(cell)) if isinstance(cell, (bool, int)) else cell or "0"


@dataclass(frozen=True, repr=False)
class PropertyTable(Display):
    """A table of properties: a row of cells for each metric, and its score.

    Parameters
    ----------
    name : str
        "distance", the name of an alteration, "synthesis" or "stars".
    columns, labels : tuple of str
        Properties, and the metrics' labels.
    kinds : tuple of str
        What each metric compares: box, contour or mask.
    cells : tuple of Mapping
        The cells of each metric, by property.
    score : str
        Head of the last column, the sum of the row.
    """

    name: str
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    kinds: tuple[str, ...]
    cells: tuple[Mapping[str, Cell | int], ...]
    score: str = "score"

    @classmethod
    def of(
        cls, name: str, labels: Sequence[str], kinds: Sequence[str], cells: Sequence[Mapping[str, Cell]]
    ) -> PropertyTable:
        """Make a table from the cells of each row, by property."""
        columns = tuple(cells[0]) if cells else ()
        return cls(name, columns, tuple(labels), tuple(kinds), tuple(cells))

    @property
    def title(self) -> str:
        """The title of the table."""
        return TITLES.get(self.name, f"Results for {self.name}")

    @property
    def scores(self) -> list[int]:
        """The score of each metric."""
        if self.name in COUNTED:
            return [sum(int(cell) for cell in row.values()) for row in self.cells]
        return [points(dict(row)) for row in self.cells]  # type: ignore[arg-type]

    @property
    def head(self) -> tuple[str, ...]:
        """The column heads."""
        return ("metric", "on", *self.columns, self.score)

    def table(self) -> Table:
        """Return the table with ticks."""
        rows = zip(self.labels, self.kinds, self.cells, self.scores, strict=True)
        marked = [(label, kind, *(mark(row[c]) for c in self.columns), score) for label, kind, row, score in rows]
        return Table(self.head, tuple(marked), title=self.title)

    def main_table(self) -> Table:
        """Return the table with 1 and 0, or the sign."""
        rows = zip(self.labels, self.kinds, self.cells, self.scores, strict=True)
        coded = [(label, kind, *(code(row[c]) for c in self.columns), score) for label, kind, row, score in rows]
        return Table(self.head, tuple(coded), title=self.title)

    def contents(self) -> list[Part]:
        return [self.table()]

    def __str__(self) -> str:
        return f"{self.title}\n\n{replace(self.table(), title='')}"

    def to_dict(self) -> JsonObject:
        """Return cells and score by metric, the JSON document."""
        return {
            label: {**row, self.score: score}
            for label, row, score in zip(self.labels, self.cells, self.scores, strict=True)
        }
