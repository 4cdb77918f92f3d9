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
    """The distance between the middles of neighbouring pixels: rows first, then columns, as DICOM and numpy count.

    >>> Spacing.of("0.7,0.5"), Spacing.of(2), str(Spacing.of("3,3 um"))
    (Spacing(down=0.7, across=0.5, unit='mm'), Spacing(down=2.0, across=2.0, unit='mm'), '3,3um')
    """

    down: float
    across: float
    unit: str = USUAL

    @classmethod
    def of(cls, given: Any) -> Spacing:
        """From a number for both, two numbers, or their text with or without a unit."""
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
        if len(numbers) not in (1, 2) or not all(0 < n < 1e9 and isfinite(n) for n in numbers):
            expected = "ROWS,COLUMNS above 0, e.g. 0.7,0.7 (mm) or 3,3um"
            raise BadParameter(f"spacing: expected {expected}, found {excerpt(given)}")
        return cls(numbers[0], numbers[-1], unit)

    @property
    def steps(self) -> tuple[float, float]:
        return self.down, self.across

    def __str__(self) -> str:
        return f"{self.down:.12g},{self.across:.12g}{self.unit}"
