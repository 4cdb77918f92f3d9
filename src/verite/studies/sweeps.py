"""Sweeps: the parameters that an alteration runs through, as a grid around the unaltered ground truth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, did_you_mean
from verite.metrics import metric as names
from verite.model.polygons import RLEMasks
from verite.studies.alterations import ALTERATIONS, Outline, Warps, compose, rasterise_warps
from verite.studies.local import BEYOND, LOCAL, LocalChange, check_steps
from verite.studies.truths import Truth

Floats = NDArray[np.float64]
PLANE = ("axial", "monotony", "continuity", "scale", "shape")
REACH = {"rotation": 90}
MOST_STEPS = 180  # more is taken for a mistake


class Sweep(Protocol):
    """A set of altered regions of a ground truth: how many there are, how they are made, the properties they decide."""

    @property
    def name(self) -> str:
        """The name with its parameters, e.g. "translation(reach=12)"."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The properties that it decides."""
        ...

    @property
    def truths(self) -> tuple[Truth, ...]:
        """Ground truths of its own; empty if it alters those that are given."""
        ...

    @property
    def is_comparable(self) -> bool:
        """Whether curves of different ground truths can be compared point by point."""
        ...

    def shape(self, truth: Truth) -> tuple[int, ...]:
        """The shape of the curve of one ground truth."""
        ...

    def origin(self, truth: Truth) -> tuple[int | slice, ...]:
        """Return the position of the unaltered ground truth in the curve."""
        ...

    def rasterise(self, truth: Truth) -> RLEMasks:
        """Return the altered regions as masks, in the order of the curve."""
        ...


@dataclass(frozen=True)
class Grid:
    """A grid of an alteration's parameters from -reach to reach: x and y, or an angle.

    >>> Grid("translation").results, Grid("rotation", 90).results, Grid("scale", reach=4, step=2).name
    (2400, 180, 'scale(reach=4, step=2)')
    """

    alteration: str
    reach: int = 24
    step: int = 1
    left_open: tuple[str, ...] = ()  # properties that so few results cannot decide

    is_comparable: ClassVar[bool] = True
    truths: ClassVar[tuple[Truth, ...]] = ()

    def __post_init__(self) -> None:
        check_steps(self)
        if self.reach // self.step > MOST_STEPS:
            found = f"{self.reach // self.step}"
            raise BadParameter(f"{self.alteration}: expected at most {MOST_STEPS} steps either way, found {found}")

    @property
    def default_reach(self) -> int:
        """The reach in the comparative study: 90° for rotations, else 24 pixels."""
        return REACH.get(self.alteration, 24)

    @property
    def name(self) -> str:
        """The name with the parameters that differ from their defaults."""
        defaults = {"reach": self.default_reach, "step": 1}
        return names.format_call(self.alteration, {k: v for k in defaults if (v := getattr(self, k)) != defaults[k]})

    @property
    def columns(self) -> tuple[str, ...]:
        """The properties it decides; without axial symmetry for scale changes, which have no opposite."""
        asked = PLANE[1:] if "scale" in self.alteration else PLANE
        return tuple(name for name in asked if name not in self.left_open)

    @cached_property
    def marks(self) -> Floats:
        """The values of one parameter."""
        return np.arange(-self.reach, self.reach + 1, self.step).astype(np.float64)

    @property
    def is_line(self) -> bool:
        """Whether it has a single parameter."""
        return self.alteration == "rotation"

    @property
    def size(self) -> tuple[int, ...]:
        """The shape of a curve."""
        return (len(self.marks),) if self.is_line else (len(self.marks),) * 2

    @property
    def results(self) -> int:
        """Number of altered regions per ground truth, without the unaltered one."""
        return int(np.prod(self.size)) - 1

    @cached_property
    def parameters(self) -> tuple[Floats, Floats]:
        """The parameters x and y of every result, the origin in the middle."""
        if self.is_line:
            return self.marks, np.zeros(len(self.marks))
        x, y = np.meshgrid(self.marks, self.marks, indexing="ij")
        return x.ravel(), y.ravel()

    def shape(self, truth: Truth) -> tuple[int, ...]:
        return self.size

    def origin(self, truth: Truth) -> tuple[int | slice, ...]:
        return tuple(n // 2 for n in self.size)

    def warps(self, outline: Outline) -> Warps:
        """Return the warp of every result."""
        x, y = self.parameters
        first, _, second = self.alteration.partition("+")
        if not second:
            return ALTERATIONS[first](outline, x, y)
        return compose(outline, {first: x, second: y})

    def rasterise(self, truth: Truth) -> RLEMasks:
        return rasterise_warps(truth.outline, self.warps(truth.outline))


# Two alterations at once: x is the parameter of the first along both axes, y of the second.
COMBINED = tuple("+".join(pair) for pair in combinations(ALTERATIONS, 2))
JEI_SWEEPS: tuple[Grid, ...] = tuple(Grid(name, REACH.get(name, 24)) for name in ALTERATIONS)


def sweeps_of(given: Any = "jei") -> tuple[Sweep, ...]:
    """Return sweeps by name: "translation(reach=12)", "bite", "translation+scale"; the sets "jei" and "beyond".

    >>> [sweep.name for sweep in sweeps_of(["translation(reach=12)", "rotation"])]
    ['translation(reach=12)', 'rotation']
    """
    found: list[Sweep] = []
    if not isinstance(given, (str, Grid, LocalChange, Iterable)):
        raise BadParameter(f"alterations: expected names, found {type(given).__name__}")
    for thing in [given] if isinstance(given, (str, Grid, LocalChange)) else given:
        found += parse_sweeps(thing) if isinstance(thing, str) else [thing]
    if not found:
        raise BadParameter("alterations: expected at least one, found none")
    twice = {s.name for s in found if [t.name for t in found].count(s.name) > 1}
    if twice:
        raise BadParameter(f"alterations: expected each once, found {sorted(twice)[0]} twice")
    return tuple(found)


QUICK_STEPS = {True: 18, False: 8}  # steps in either direction in a quick study: of an angle, of two parameters


def coarsen(sweeps: Iterable[Sweep]) -> tuple[Sweep, ...]:
    """Return the same sweeps with fewer and larger steps, too large to detect a jump.

    >>> [sweep.name for sweep in coarsen(JEI_SWEEPS)]
    ['translation(step=3)', 'scale(step=3)', 'rotation(step=5)', 'perspective(step=3)']
    """
    found: list[Sweep] = []
    for sweep in sweeps:
        if isinstance(sweep, Grid):
            fewest = QUICK_STEPS[sweep.is_line]
            steps = [n for n in range(fewest, sweep.reach // sweep.step + 1) if sweep.reach % n == 0]
            step = sweep.reach // steps[0] if steps else sweep.step
            sweep = replace(sweep, step=step, left_open=("continuity",)) if step > sweep.step else sweep
        found.append(sweep)
    return tuple(found)


def parse_sweeps(text: str) -> list[Sweep]:
    """Parse the name of a sweep with its parameters, or of a set of sweeps."""
    if text == "jei":
        return list(JEI_SWEEPS)
    if text == "beyond":
        return [sweep for name in BEYOND for sweep in parse_sweeps(name)]
    name, inside, rest = text.strip().partition("(")
    given: dict[str, Any] = dict(names.parse_call("alteration" + inside + rest)[1])
    known = [*ALTERATIONS, *COMBINED, *LOCAL]
    if name not in known:
        words = ", ".join(["jei", "beyond", *known])
        raise BadParameter(f"alterations: expected one of {words}, found {name!r}{did_you_mean(name, known)}")
    kind: Any = LOCAL.get(name, Grid)
    takes = [field.name for field in fields(kind) if field.name not in ("alteration", "left_open")]
    for key, value in given.items():
        if key not in takes:
            raise BadParameter(f"{name}: expected {' or '.join(takes)}, found {key!r}{did_you_mean(key, takes)}")
        if isinstance(value, bool) or not isinstance(value, int):
            raise BadParameter(f"{name}: expected a whole number for {key}, found {value!r}")
    if kind is Grid:
        return [kind(name, **{"reach": REACH.get(name, 24), **given})]
    return [kind(**given)]
