"""What is a volume? Whole numbers [plane, row, column], and how far apart their voxels lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter
from verite.model.spacing import Spacing
from verite.records import record


@record(eq=False)
class Volume:
    """A mask or labels in three dimensions, how far apart voxels lie along each axis of the array, and where."""

    values: NDArray[Any]
    spacing: Spacing | None = None
    affine: NDArray[np.float64] | None = None  # from voxels to millimetres, as NIfTI says; None where nobody does

    @classmethod
    def of(cls, given: Any, spacing: Any = None) -> Volume:
        """From an array of truth values or whole numbers; one number for the spacing serves all axes."""
        apart = None if spacing is None else Spacing.of(spacing)
        if isinstance(given, Volume):
            return given if apart is None else cls(given.values, apart, given.affine)
        values = np.asarray(given)
        if values.ndim != 3 or values.dtype.kind not in "biu" or not values.size:
            found = f"{values.dtype} {values.shape}"
            raise BadParameter(f"volume: expected truth values or whole numbers [plane, row, column], found {found}")
        return cls(values, apart)

    @property
    def steps(self) -> tuple[float, float, float]:
        """How far apart voxels lie along each axis, 1 where nobody says."""
        plane, row, column = (1.0, 1.0, 1.0) if self.spacing is None else self.spacing.along(3)
        return plane, row, column

    def is_beside(self, other: Volume) -> bool:
        """Do the voxels of both lie at the same places, as far as anybody said?"""
        if self.affine is None or other.affine is None:
            return True
        return np.allclose(self.affine, other.affine, rtol=1e-4, atol=1e-2)
