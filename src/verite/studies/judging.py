"""Which properties does each metric have? From values to cells, under tolerances that all have names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter
from verite.studies import properties
from verite.studies.measuring import Measured, Values, turns_of
from verite.studies.rows import Row
from verite.studies.sweeps import Grid, Sweep
from verite.studies.truths import SCALE_PAIR, SHAPE_PAIR, Truth

Floats = NDArray[np.float64]
Held = NDArray[np.bool_]  # [row, truth]
Cell = bool | str
DISTANCE = ("symmetry", "separation", "triangle")


@dataclass(frozen=True)
class Tolerances:
    """Every tolerance of the study, by the property that uses it."""

    symmetry: float = 1e-9  # relative
    zero: float = 1e-12  # what still counts as 0
    triangle: float = 0.025  # share of couples that may violate the inequality
    triangle_as_separation: bool = False  # credit the triangle inequality to whoever separates
    indifferent: float = 0.05  # share of the largest amplitude below which an alteration leaves a metric cold
    axial: float = 0.01  # share of the amplitude
    monotony: float = 0.0  # share of steps that may not rise
    turning: float = 0.2  # the same where pixels are noisy: rotations, local changes
    until: int = 45  # degrees to which a rotation must be penalised more and more
    gap: float = 1 / 8  # share of the amplitude
    factor: float = 4.0  # times the steps beside it
    tie: float = 1e-5  # share of the amplitude
    shape: float = 1e-9  # relative
    evenness: float = 0.1  # how far places may differ, relative to their mean
    quorum: float = 0.5  # share of truths on which a property must hold

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not value >= 0:
                raise BadParameter(f"{name}: expected 0 or more, found {value}")
        for name in ("triangle", "monotony", "turning", "quorum"):
            if getattr(self, name) > 1:
                raise BadParameter(f"{name}: expected a share from 0 to 1, found {getattr(self, name)}")


class Evidence:
    """All values of a study as penalties, and what was found out about them so far."""

    def __init__(
        self,
        rows: Sequence[Row],
        truths: Sequence[Truth],
        sweeps: Sequence[Sweep],
        measured: Measured,
        triangle: Floats,
    ) -> None:
        self.rows, self.truths, self.sweeps, self.measured = rows, truths, sweeps, measured
        self.triangle = triangle  # share of couples that violate the inequality, one a row
        self.turns = turns_of(rows, measured)
        self.known: dict[object, Held] = {}
        self.everyone, self.columns = truths, np.arange(len(truths))
        self.curves = {key: self.relative(values) for key, values in measured.items()}
        flat = {key: curves.reshape(len(rows), -1) for key, curves in self.curves.items()}
        self.amplitudes = {key: curves.max(axis=1) - curves.min(axis=1) for key, curves in flat.items()}

    def among(self, chosen: Sequence[Truth]) -> Evidence:
        """The same evidence judged by some of the truths; what is known of them is not found out again."""
        part = copy(self)
        part.truths = chosen
        part.columns = np.array([list(self.everyone).index(truth) for truth in chosen])
        return part

    def turn(self, values: Floats) -> Floats:
        return np.stack([turn(values[i]) for i, turn in enumerate(self.turns)])

    def relative(self, values: Values) -> Floats:
        """Penalties less what identical regions get."""
        penalties = self.turn(values.forward)
        itself = self.turn(values.itself[:, None])[:, 0]
        return penalties - itself.reshape(-1, *[1] * (penalties.ndim - 1))

    def truths_under(self, sweep: Sweep) -> Sequence[Truth]:
        """The truths a sweep alters."""
        return sweep.truths or self.truths

    def hold(self, sweep: Sweep, name: str, check: Callable[[Floats], bool], *limits: float) -> Held:
        """On which truths a property of curves holds; asked again with the same limits it is known."""
        key = (sweep.name, name, limits)
        if key not in self.known:
            truths = sweep.truths or self.everyone
            found = [[check(curve) for curve in self.curves[truth.name, sweep.name]] for truth in truths]
            self.known[key] = np.array(found, dtype=np.bool_).T
        return self.known[key] if sweep.truths else self.known[key][:, self.columns]

    def distance(self, name: str, tolerance: float) -> Held:
        """On which truths symmetry or separation hold under all sweeps."""
        key = (name, tolerance)
        if key not in self.known:
            kept = [[self.keeps(name, t, i, tolerance) for t in self.everyone] for i in range(len(self.rows))]
            self.known[key] = np.array(kept, dtype=np.bool_)
        return self.known[key][:, self.columns]

    def keeps(self, name: str, truth: Truth, i: int, tolerance: float) -> bool:
        turn = self.turns[i]
        for sweep in self.sweeps:
            if sweep.truths:
                continue
            values = self.measured[truth.name, sweep.name]
            forward = turn(values.forward[i])
            if name == "symmetry":
                if not properties.is_symmetric(forward, turn(values.backward[i]), tolerance=tolerance):
                    return False
            elif not properties.separates(
                float(turn(values.itself[i : i + 1])[0]), forward, values.is_same, zero=tolerance
            ):
                return False
        return True

    def largest(self) -> Floats:
        """Each row's largest amplitude over the boxes and the plain alterations."""
        spans = [self.amplitudes[t.name, s.name] for s in self.plain() for t in self.probes(s)]
        most: Floats = np.max(spans, axis=0)
        return most

    def indifferent(self, sweep: Sweep, tolerances: Tolerances) -> list[bool]:
        """Which rows an alteration leaves cold. A local change may move a metric as little as it likes, if it does."""
        share = tolerances.indifferent if sweep.is_comparable else 1e-9
        amplitudes = np.stack([self.amplitudes[truth.name, sweep.name] for truth in self.probes(sweep)])
        largest = self.largest()
        return [
            properties.is_indifferent(amplitudes[:, i], float(largest[i]), share=share) for i in range(len(self.rows))
        ]

    def plain(self) -> list[Sweep]:
        single: list[Sweep] = [s for s in self.sweeps if isinstance(s, Grid) and "+" not in s.alteration]
        return single or list(self.sweeps)

    def probes(self, sweep: Sweep) -> list[Truth]:
        """The boxes among the truths, on which it is seen whether a metric cares; all where there is no box."""
        truths = self.truths_under(sweep)
        return [t for t in truths if t.kind == "box"] or list(truths)


def judge_distance(evidence: Evidence, tolerances: Tolerances) -> list[dict[str, Cell]]:
    """Symmetry, separation and triangle inequality of each row; one exception is enough."""
    symmetric = [bool(kept.all()) for kept in evidence.distance("symmetry", tolerances.symmetry)]
    separated = [bool(kept.all()) for kept in evidence.distance("separation", tolerances.zero)]
    cells: list[dict[str, Cell]] = []
    for i, violated in enumerate(evidence.triangle):
        obeys = properties.obeys_triangle(float(violated), separated[i], share=tolerances.triangle)
        if tolerances.triangle_as_separation:
            obeys = separated[i]
        cells.append({"symmetry": symmetric[i], "separation": separated[i], "triangle": obeys})
    return cells


def judge_sweep(evidence: Evidence, sweep: Sweep, tolerances: Tolerances) -> list[dict[str, Cell]]:
    """The properties of each row under one alteration."""
    indifferent = evidence.indifferent(sweep, tolerances)
    shares = {
        name: shares_held(evidence, sweep, name, tolerances) for name in sweep.columns if name not in ("scale", "shape")
    }
    cells = []
    for i in range(len(evidence.rows)):
        cold = indifferent[i]
        found: dict[str, Cell] = {
            name: bool(share[i] >= tolerances.quorum) and not cold for name, share in shares.items()
        }
        if "scale" in sweep.columns:
            small, large = (evidence.curves[name, sweep.name][i] for name in SCALE_PAIR)
            found["scale"] = "" if cold else properties.scale_dependency(small, large, tie=tolerances.tie)
        if "shape" in sweep.columns:
            wide, tall = (evidence.curves[name, sweep.name][i] for name in SHAPE_PAIR)
            found["shape"] = not cold and properties.depends_on_shape(wide, tall, tolerance=tolerances.shape)
        cells.append(found)
    return cells


def shares_held(evidence: Evidence, sweep: Sweep, name: str, tolerances: Tolerances) -> Floats:
    """For each row the share of truths on which a property holds."""
    is_plane = isinstance(sweep, Grid)
    until = max(1, tolerances.until // sweep.step) if isinstance(sweep, Grid) else tolerances.until
    checks: dict[str, tuple[Callable[..., bool], dict[str, float]]] = {
        "axial": (properties.is_axially_symmetric, {"tolerance": tolerances.axial}),
        "monotony": (properties.is_strictly_monotonous,
                     {"allowed": tolerances.monotony, "allowed_turning": tolerances.turning, "until": until})
        if is_plane else (properties.grows, {"allowed": tolerances.turning}),
        "continuity": (properties.is_uniformly_continuous if is_plane else properties.grows_continuously,
                       {"amplitude_share": tolerances.gap, "factor": tolerances.factor}),
        "noticed": (properties.is_noticed, {"zero": tolerances.zero}),
        "evenness": (properties.is_even, {"tolerance": tolerances.evenness}),
    }  # fmt: skip
    check, limits = checks[name]
    held = evidence.hold(sweep, name, partial(check, **limits), *limits.values())
    shares: Floats = held.mean(axis=1)
    return shares


def points(cells: dict[str, Cell]) -> int:
    """A row's score: one for each property; a scale dependency of both signs is none."""
    return sum(cell is True or cell in ("+", "-") for cell in cells.values())
