"""Local changes of a region: a bite, a bump, a rough edge, one object of several missing or displaced.

They go beyond the comparative study. Each grows from nothing: curves are [place, size], and the first size is the
unaltered ground truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter
from verite.metrics import metric as names
from verite.model.polygons import RLEMasks
from verite.model.rasters import array_of, outlines_of, runs_of
from verite.studies.alterations import Mask, Outline, rasterise_warps, translation
from verite.studies.truths import Truth, box, disc

GROWTH = ("noticed", "monotony", "continuity", "evenness")


@dataclass(frozen=True)
class LocalChange:
    """A change that grows: several places, and sizes from nothing to the largest."""

    alteration: ClassVar[str]
    is_comparable: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = GROWTH

    @property
    def name(self) -> str:
        """The name with the parameters that differ from their defaults."""
        default = type(self)()
        given = {k: v for k, v in vars(self).items() if v != getattr(default, k)}
        return names.format_call(self.alteration, given)

    @property
    def truths(self) -> tuple[Truth, ...]:
        """Ground truths of its own; empty if it alters those that are given."""
        return ()

    @property
    def sizes(self) -> list[float]:
        """The sizes of the change, without 0."""
        raise NotImplementedError

    def places(self, truth: Truth) -> NDArray[np.int64]:
        """Return the places of the change, one row each."""
        raise NotImplementedError

    def change(self, truth: Truth, place: NDArray[np.int64], size: float) -> Mask:
        """Return the ground truth with a change of this size at this place."""
        raise NotImplementedError

    def shape(self, truth: Truth) -> tuple[int, ...]:
        """Return the shape of the curve: places and sizes, 0 included."""
        return len(self.places(truth)), len(self.sizes) + 1

    def origin(self, truth: Truth) -> tuple[int | slice, ...]:
        """Return the position of the unaltered ground truth in the curve: the first size."""
        return (slice(None), 0)

    def rasterise(self, truth: Truth) -> RLEMasks:
        """Return the altered regions as masks, in the order of the curve."""
        masks = [
            truth.mask if size == 0 else self.change(truth, place, size)
            for place in self.places(truth)
            for size in (0, *self.sizes)
        ]
        return runs_of(np.stack(masks))


def check_steps(sweep: Any) -> None:
    """Raise BadParameter unless the reach is a multiple of the step."""
    if min(sweep.reach, sweep.step) <= 0 or sweep.reach % sweep.step:
        found = f"reach {sweep.reach} and step {sweep.step}"
        raise BadParameter(f"{sweep.alteration}: expected a reach that is a multiple of the step, found {found}")


@lru_cache(maxsize=64)
def contour_places(truth: Truth, every: int) -> NDArray[np.int64]:
    """Return rows and columns of pixels along the contour, no two closer than `every`."""
    chosen: list[NDArray[np.int64]] = []
    for pixel in np.argwhere(array_of(outlines_of(runs_of(truth.mask[None])), 0)):
        if all(((pixel - other) ** 2).sum() >= every**2 for other in chosen):
            chosen.append(pixel)
    return np.array(chosen)


@dataclass(frozen=True)
class Disc(LocalChange):
    """A disc removed from the object, or added to it, at places along its contour."""

    reach: int = 8  # largest radius
    step: int = 2
    every: int = 8  # smallest distance of two places; 1 is every pixel of the contour

    def __post_init__(self) -> None:
        check_steps(self)
        if self.every <= 0:
            raise BadParameter(f"{self.alteration}: expected every above 0, found {self.every}")

    @property
    def sizes(self) -> list[float]:
        return [float(r) for r in range(self.step, self.reach + 1, self.step)]

    def places(self, truth: Truth) -> NDArray[np.int64]:
        return contour_places(truth, self.every)

    def disc(self, truth: Truth, place: NDArray[np.int64], radius: float) -> Mask:
        """Return the disc around a place.

        Parameters
        ----------
        truth
            Ground truth, which gives the size of the image.
        place
            Row and column of the centre.
        radius
            In pixels; 0 is one pixel.
        """
        y, x = np.ogrid[: truth.mask.shape[0], : truth.mask.shape[1]]
        found: Mask = (y - place[0]) ** 2 + (x - place[1]) ** 2 <= radius**2
        return found


@dataclass(frozen=True)
class Bite(Disc):
    """A disc removed from the object."""

    alteration: ClassVar[str] = "bite"

    def change(self, truth: Truth, place: NDArray[np.int64], size: float) -> Mask:
        return truth.mask & ~self.disc(truth, place, size)


@dataclass(frozen=True)
class Bump(Disc):
    """A disc added to the object."""

    alteration: ClassVar[str] = "bump"

    def change(self, truth: Truth, place: NDArray[np.int64], size: float) -> Mask:
        return truth.mask | self.disc(truth, place, size)


@dataclass(frozen=True)
class Noise(LocalChange):
    """A rough edge: a share of the pixels on either side of the contour is flipped; a place is a random draw."""

    alteration: ClassVar[str] = "noise"
    draws: int = 8
    reach: int = 50  # percentage of the rim's pixels
    step: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.draws, self.step) <= 0 or not 0 < self.reach <= 100 or self.reach % self.step or self.seed < 0:
            found = f"draws {self.draws}, reach {self.reach}, step {self.step} and seed {self.seed}"
            raise BadParameter(f"noise: expected draws above 0, steps up to a reach of 1 to 100, found {found}")

    @property
    def sizes(self) -> list[float]:
        return [p / 100 for p in range(self.step, self.reach + 1, self.step)]

    def places(self, truth: Truth) -> NDArray[np.int64]:
        return np.arange(self.draws)[:, None]

    def change(self, truth: Truth, place: NDArray[np.int64], size: float) -> Mask:
        # The same random numbers for every size: a pixel that is flipped stays flipped.
        chance = np.random.default_rng([self.seed, int(place[0])]).random(truth.mask.shape)
        return truth.mask ^ (rim(truth) & (chance < size))


@lru_cache(maxsize=64)
def rim(truth: Truth) -> Mask:
    """Return the pixels on either side of the contour."""
    both: Mask = np.zeros_like(truth.mask)
    for region in (truth.mask, ~truth.mask):
        both |= array_of(outlines_of(runs_of(region[None])), 0)
    border = np.ones_like(both)
    border[1:-1, 1:-1] = False
    return both & (truth.mask | ~border)


# Several objects in one image, as the masks of each.
FOUR = [(60, 60, 50, 50), (146, 60, 50, 50), (60, 146, 50, 50), (146, 146, 50, 50)]
MIXED = [(54, 66, 64, 40), (150, 54, 40, 64), (62, 150, 48, 48), (142, 146, 60, 52)]


@cache
def scenes() -> dict[str, tuple[Mask, ...]]:
    """Return two scenes as the masks of their objects: four equal squares, and four different objects."""
    different = tuple(box(*sides) for sides in MIXED[:3])
    return {"four squares": tuple(box(*sides) for sides in FOUR), "four objects": (*different, disc(172, 172, 28))}


@cache
def scene_truths() -> tuple[Truth, ...]:
    """Return the scenes as ground truths, the union of their objects."""
    return tuple(Truth(name, np.logical_or.reduce(parts)) for name, parts in scenes().items())


@dataclass(frozen=True)
class Missing(LocalChange):
    """Several objects that are missed one after the other; a place is the object that is missed first."""

    alteration: ClassVar[str] = "missing"

    @property
    def truths(self) -> tuple[Truth, ...]:
        return scene_truths()

    @property
    def sizes(self) -> list[float]:
        return [1.0, 2.0, 3.0]

    def places(self, truth: Truth) -> NDArray[np.int64]:
        return np.arange(len(scenes()[truth.name]))[:, None]

    def change(self, truth: Truth, place: NDArray[np.int64], size: float) -> Mask:
        parts = scenes()[truth.name]
        missed = {(int(place[0]) + k) % len(parts) for k in range(int(size))}
        found: Mask = np.logical_or.reduce([part for i, part in enumerate(parts) if i not in missed])
        return found


@dataclass(frozen=True)
class Stray(LocalChange):
    """Several objects, one of which is displaced; a place is the direction."""

    alteration: ClassVar[str] = "stray"
    reach: int = 16
    step: int = 2

    def __post_init__(self) -> None:
        check_steps(self)

    @property
    def truths(self) -> tuple[Truth, ...]:
        return scene_truths()

    @property
    def sizes(self) -> list[float]:
        return [float(r) for r in range(self.step, self.reach + 1, self.step)]

    def places(self, truth: Truth) -> NDArray[np.int64]:
        return np.array([(-1, 0), (0, 1), (1, 0), (0, -1)])

    def change(self, truth: Truth, place: NDArray[np.int64], size: float) -> Mask:
        *others, last = scenes()[truth.name]
        outline = Outline(last)
        moved = array_of(rasterise_warps(outline, translation(outline, size * place[0], size * place[1])), 0)
        found: Mask = np.logical_or.reduce([*others, moved])
        return found


LOCAL: dict[str, type[LocalChange]] = {kind.alteration: kind for kind in (Bite, Bump, Noise, Missing, Stray)}
# The future work of the comparative study: local changes, rough edges, several objects, two alterations at once.
BEYOND = ("bite", "bump", "noise", "missing", "stray", "translation+scale(step=4)", "scale+rotation(step=4)")
