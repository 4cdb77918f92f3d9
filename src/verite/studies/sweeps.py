"""Which parameters does an alteration run through? Grids of results around the unaltered truth."""

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
from verite.studies.alterations import ALTERATIONS, Outline, Warps, compose, draw
from verite.studies.local import BEYOND, LOCAL, check_steps
from verite.studies.truths import Truth

Floats = NDArray[np.float64]
PLANE = ("axial", "monotony", "continuity", "scale", "shape")
REACH = {"rotation": 90}
MOST_STEPS = 180  # beyond which nobody means it


class Sweep(Protocol):
    """Results of one kind: how many there are of a truth, how they are drawn, which properties they tell of."""

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def truths(self) -> tuple[Truth, ...]:
        """Truths of its own; none: it alters those that are given."""
        ...

    @property
    def is_comparable(self) -> bool:
        """May curves of different truths be compared point by point?"""
        ...

    def shape(self, truth: Truth) -> tuple[int, ...]: ...

    def origin(self, truth: Truth) -> tuple[int | slice, ...]:
        """Where in the curve the unaltered truth is."""
        ...

    def draw(self, truth: Truth) -> RLEMasks: ...


@dataclass(frozen=True)
class Grid:
    """An alteration with its parameters from -reach to reach: x and y, or an angle.

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
    def usual_reach(self) -> int:
        return REACH.get(self.alteration, 24)

    @property
    def name(self) -> str:
        usual = {"reach": self.usual_reach, "step": 1}
        return names.format_call(self.alteration, {k: v for k in usual if (v := getattr(self, k)) != usual[k]})

    @property
    def columns(self) -> tuple[str, ...]:
        """Enlarging and shrinking are no opposites, so nothing is asked of the symmetry of a scale change."""
        asked = PLANE[1:] if "scale" in self.alteration else PLANE
        return tuple(name for name in asked if name not in self.left_open)

    @cached_property
    def marks(self) -> Floats:
        return np.arange(-self.reach, self.reach + 1, self.step).astype(np.float64)

    @property
    def is_line(self) -> bool:
        """Has it one parameter alone?"""
        return self.alteration == "rotation"

    @property
    def size(self) -> tuple[int, ...]:
        return (len(self.marks),) if self.is_line else (len(self.marks),) * 2

    @property
    def results(self) -> int:
        """How many altered regions it makes of a truth, the truth itself left out."""
        return int(np.prod(self.size)) - 1

    @cached_property
    def parameters(self) -> tuple[Floats, Floats]:
        """x and y of every result, the origin in the middle."""
        if self.is_line:
            return self.marks, np.zeros(len(self.marks))
        x, y = np.meshgrid(self.marks, self.marks, indexing="ij")
        return x.ravel(), y.ravel()

    def shape(self, truth: Truth) -> tuple[int, ...]:
        return self.size

    def origin(self, truth: Truth) -> tuple[int | slice, ...]:
        return tuple(n // 2 for n in self.size)

    def warps(self, outline: Outline) -> Warps:
        x, y = self.parameters
        first, _, second = self.alteration.partition("+")
        if not second:
            return ALTERATIONS[first](outline, x, y)
        return compose(outline, {first: x, second: y})

    def draw(self, truth: Truth) -> RLEMasks:
        return draw(truth.outline, self.warps(truth.outline))


# Two at once: x drives the first along both axes, y the second.
COMBINED = tuple("+".join(pair) for pair in combinations(ALTERATIONS, 2))
JEI_SWEEPS: tuple[Grid, ...] = tuple(Grid(name, REACH.get(name, 24)) for name in ALTERATIONS)


def sweeps_of(given: Any = "jei") -> tuple[Sweep, ...]:
    """Sweeps as people name them: "translation(reach=12)", "bite", "translation+scale"; sets "jei" and "beyond".

    >>> [sweep.name for sweep in sweeps_of(["translation(reach=12)", "rotation"])]
    ['translation(reach=12)', 'rotation']
    """
    found: list[Sweep] = []
    for thing in [given] if isinstance(given, str) or hasattr(given, "draw") else list(check_names(given)):
        found += parse_sweeps(thing) if isinstance(thing, str) else [thing]
    if not found:
        raise BadParameter("alterations: expected at least one, found none")
    twice = {s.name for s in found if [t.name for t in found].count(s.name) > 1}
    if twice:
        raise BadParameter(f"alterations: expected each once, found {sorted(twice)[0]} twice")
    return tuple(found)


QUICK_STEPS = {True: 18, False: 8}  # steps either way that a quick study takes: of an angle, of two parameters


def hasten(sweeps: Iterable[Sweep]) -> tuple[Sweep, ...]:
    """The same sweeps in fewer and larger steps, too large to see a jump.

    >>> [sweep.name for sweep in hasten(JEI_SWEEPS)]
    ['translation(step=3)', 'scale(step=3)', 'rotation(step=5)', 'perspective(step=3)']
    """
    return tuple(enlarge_step(sweep) if isinstance(sweep, Grid) else sweep for sweep in sweeps)


def enlarge_step(grid: Grid) -> Grid:
    least = QUICK_STEPS[grid.is_line]
    steps = [n for n in range(least, grid.reach // grid.step + 1) if grid.reach % n == 0]
    step = grid.reach // steps[0] if steps else grid.step
    return replace(grid, step=step, left_open=("continuity",)) if step > grid.step else grid


def check_names(given: Any) -> Iterable[Any]:
    if not isinstance(given, Iterable):
        raise BadParameter(f"alterations: expected names, found {type(given).__name__}")
    return given


def parse_sweeps(text: str) -> list[Sweep]:
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
        return [Grid(name, **{"reach": REACH.get(name, 24), **given})]
    return [kind(**given)]
