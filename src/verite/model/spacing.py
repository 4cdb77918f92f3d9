"""How far apart do neighbouring pixels lie, down and across, and in which unit?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isfinite
from typing import Any

from verite.errors import BadParameter, excerpt
from verite.records import record

WRITTEN = re.compile(r"\s*(?P<steps>[^a-zA-Zµμ]*(?:[eE][-+]?\d+[^a-zA-Zµμ]*)*?)\s*(?P<unit>[a-zA-Zµμ]*)\s*")
USUAL = "mm"


@record()
class Spacing:
    """The distance between the middles of neighbouring pixels along each axis: rows, then columns, as DICOM and numpy
    count; of volumes planes, rows and columns. One number serves all; none, if each volume has its own.

    >>> Spacing.of("0.7,0.5"), str(Spacing.of(2)), str(Spacing.of("3,3 um"))
    (Spacing(steps=(0.7, 0.5), unit='mm'), '2mm', '3,3um')
    """

    steps: tuple[float, ...]
    unit: str = USUAL

    @classmethod
    def of(cls, given: Any) -> Spacing:
        """From a number, several, or their text with or without a unit."""
        if isinstance(given, Spacing):
            return given
        unit, steps = USUAL, given
        if isinstance(given, str):
            found = WRITTEN.fullmatch(given)
            steps, unit = (found["steps"].split(","), found["unit"] or USUAL) if found else ([], USUAL)
        try:
            numbers = [float(step) for step in steps] if isinstance(steps, Iterable) else [float(steps)]
        except (TypeError, ValueError):
            numbers = []
        if len(numbers) not in (1, 2, 3) or not all(0 < n < 1e9 and isfinite(n) for n in numbers):
            expected = "ROWS,COLUMNS above 0, e.g. 0.7,0.7 (mm) or 3,3um"
            raise BadParameter(f"spacing: expected {expected}, found {excerpt(given)}")
        return cls(tuple(numbers), unit)

    def along(self, axes: int) -> tuple[float, ...]:
        """A number for each of so many axes."""
        if len(self.steps) not in (1, axes):
            raise BadParameter(f"spacing: expected a number for each of {axes} axes, found {len(self.steps)}")
        return self.steps if len(self.steps) == axes else self.steps * axes

    @property
    def plane(self) -> tuple[float, float]:
        """Down and across."""
        down, across = self.along(2)
        return down, across

    def __str__(self) -> str:
        return (",".join(f"{step:.12g}" for step in self.steps) or "each its own ") + self.unit
