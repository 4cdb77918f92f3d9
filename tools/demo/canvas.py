"""How are the pictures drawn? Flat shapes, filled at four times the size, each remembered by the thing it belongs to.

The filling is our own, in plain arithmetic, so that the truth does not change with the version of a drawing library.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

import numpy as np

SUB = 4  # samples per pixel and direction
MARGIN = 48  # pixels drawn around the picture, so that a thing cut by the edge knows how much of it is missing

Points = list[tuple[float, float]]


class Dice:
    """Random numbers that stay the same for ever: Python promises that of `Random.random` and of nothing above it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed).random

    def between(self, low: float, high: float) -> float:
        return low + (high - low) * self.random()

    def normal(self) -> float:
        """Nearly normal, mean 0 and deviation 1: the sum of twelve dice, without a logarithm or a cosine."""
        return sum(self.random() for _ in range(12)) - 6

    def happens(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, items):
        return items[int(self.random() * len(items))]


def rgb(colour: str) -> tuple[int, int, int]:
    """The three numbers of '#rrggbb'."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def mix(a: str, b: str, share: float) -> str:
    """A colour between two."""
    return "#" + "".join(f"{round(x + (y - x) * share):02x}" for x, y in zip(rgb(a), rgb(b), strict=True))


class Canvas:
    """A picture under way. `owner` says whose each sample is: 0 for scenery, else the number of a thing."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        shape = (height + 2 * MARGIN) * SUB, (width + 2 * MARGIN) * SUB
        self.colour = np.zeros((*shape, 3), dtype=np.uint8)
        self.owner = np.zeros(shape, dtype=np.int16)
        self.painted: dict[int, np.ndarray] = {}  # all samples of a thing, hidden ones included

    def fill(self, points: Points, colour: str, owner: int = 0, alpha: float = 1.0) -> None:
        """Fill a polygon (even-odd). What is transparent belongs to nobody and hides nothing."""
        corners = np.array([(round(x, 2), round(y, 2)) for x, y in points])
        corners = (corners + MARGIN) * SUB
        rows, columns = self.owner.shape
        top, bottom = (int(np.clip(v, 0, rows)) for v in (corners[:, 1].min(), corners[:, 1].max() + 1))
        left, right = (int(np.clip(v, 0, columns)) for v in (corners[:, 0].min(), corners[:, 0].max() + 1))
        if top >= bottom or left >= right:
            return
        turns = np.zeros((bottom - top, right - left + 1), dtype=np.int16)
        centres = np.arange(top, bottom) + 0.5
        for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            crossed = np.flatnonzero((centres >= min(y0, y1)) & (centres < max(y0, y1)))
            if len(crossed):
                x = x0 + (centres[crossed] - y0) * (x1 - x0) / (y1 - y0)
                np.add.at(turns, (crossed, np.clip(np.ceil(x - 0.5).astype(int) - left, 0, right - left)), 1)
        inside = np.cumsum(turns, axis=1, dtype=np.int16)[:, :-1] & 1 == 1
        area = (slice(top, bottom), slice(left, right))
        if alpha < 1:
            paint = round(alpha * 256)
            old = self.colour[area][inside].astype(np.int32)
            self.colour[area][inside] = (old * (256 - paint) + np.array(rgb(colour), dtype=np.int32) * paint) >> 8
        else:
            np.copyto(self.colour[area], np.array(rgb(colour), dtype=np.uint8), where=inside[..., None])
            np.copyto(self.owner[area], np.int16(owner), where=inside)
            if owner:
                whole = self.painted.setdefault(owner, np.zeros(self.owner.shape, dtype=bool))
                whole[area] |= inside

    def picture(self) -> np.ndarray:
        """The picture, [height, width, 3]: every pixel the mean of its samples."""
        inner = self.colour[MARGIN * SUB : -MARGIN * SUB, MARGIN * SUB : -MARGIN * SUB].astype(np.int32)
        sums = inner.reshape(self.height, SUB, self.width, SUB, 3).sum(axis=(1, 3))
        return ((sums + SUB * SUB // 2) // (SUB * SUB)).astype(np.uint8)

    def visible(self, owner: int) -> np.ndarray:
        """The pixels that show a thing: at least half of their samples are its own."""
        inner = self.owner[MARGIN * SUB : -MARGIN * SUB, MARGIN * SUB : -MARGIN * SUB] == owner
        return inner.reshape(self.height, SUB, self.width, SUB).sum(axis=(1, 3)) * 2 >= SUB * SUB

    def shares(self, owner: int) -> tuple[float, float]:
        """How much of a thing lies inside the picture, and how much of that is not hidden."""
        whole = self.painted[owner]
        inner = whole[MARGIN * SUB : -MARGIN * SUB, MARGIN * SUB : -MARGIN * SUB].sum()
        shown = (self.owner[MARGIN * SUB : -MARGIN * SUB, MARGIN * SUB : -MARGIN * SUB] == owner).sum()
        return float(inner / whole.sum()), float(shown / max(inner, 1))


@dataclass(frozen=True)
class Pen:
    """Draws one thing in its own coordinates: u to the right, v up from where it stands, `size` pixels to the unit."""

    canvas: Canvas
    x: float
    y: float
    size: float
    owner: int = 0
    flip: bool = False
    turn_deg: float = 0.0
    spin: tuple[float, float] = field(init=False)

    def __post_init__(self) -> None:
        angle = math.radians(self.turn_deg)
        object.__setattr__(self, "spin", (round(math.cos(angle), 6), round(math.sin(angle), 6)))

    def at(self, u: float, v: float) -> tuple[float, float]:
        """The place on the canvas."""
        cos, sin = self.spin
        u, v = u * cos - v * sin, u * sin + v * cos
        return self.x + (-u if self.flip else u) * self.size, self.y - v * self.size

    def poly(self, points: Points, colour: str, alpha: float = 1.0) -> None:
        self.canvas.fill([self.at(u, v) for u, v in points], colour, self.owner, alpha)

    def soft(self, points: Points, colour: str, alpha: float = 1.0) -> None:
        """A polygon with its corners cut round (Chaikin, three times)."""
        for _ in range(3):
            pairs = zip(points, [*points[1:], points[0]], strict=True)
            points = [
                (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share) for a, b in pairs for share in (0.25, 0.75)
            ]
        self.poly(points, colour, alpha)

    def box(self, u0: float, v0: float, u1: float, v1: float, colour: str, alpha: float = 1.0) -> None:
        self.poly([(u0, v0), (u1, v0), (u1, v1), (u0, v1)], colour, alpha)

    def disc(self, u: float, v: float, ru: float, rv: float, colour: str, alpha: float = 1.0) -> None:
        steps = [2 * math.pi * k / 32 for k in range(32)]
        self.poly([(u + ru * math.cos(t), v + rv * math.sin(t)) for t in steps], colour, alpha)

    def cap(self, u: float, v: float, ru: float, rv: float, colour: str) -> None:
        """The upper half of a disc."""
        steps = [math.pi * k / 16 for k in range(17)]
        self.poly([(u + ru * math.cos(t), v + rv * math.sin(t)) for t in steps], colour)

    def bar(self, u0: float, v0: float, u1: float, v1: float, width: float, colour: str, alpha: float = 1.0) -> None:
        """A thick line."""
        length = math.hypot(u1 - u0, v1 - v0)
        du, dv = (v0 - v1) / length * width / 2, (u1 - u0) / length * width / 2
        self.poly([(u0 + du, v0 + dv), (u1 + du, v1 + dv), (u1 - du, v1 - dv), (u0 - du, v0 - dv)], colour, alpha)
