"""Outlines in the cells of a table: rings as lists of numbers, masks as COCO has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from verite.errors import ReadError, excerpt
from verite.formats.outlines import check_mask_size, check_ring, parse_runs
from verite.model.outlines import Polygons, Runs


class CellOutlines:
    """The rings and the mask of every row, as cells give them."""

    def __init__(self, count: int) -> None:
        self.rings: list[list[Any]] = [[] for _ in range(count)]
        self.masks: list[Any] = [None] * count

    def take(self, place: str, row: int, value: Any, size: Any) -> None:
        """A cell: nothing, rings or one ring, runs with their size, or run-length text whose size is beside it."""
        if is_absent(value):
            return
        if isinstance(value, Mapping):
            self.masks[row] = read_mask(place, value.get("counts"), value.get("size"))
        elif isinstance(value, (str, bytes)):
            self.masks[row] = read_mask(place, value, size)
        else:
            self.rings[row] = read_rings(place, value)

    def columns(self) -> tuple[Polygons | None, Runs | None]:
        has_masks = any(mask is not None for mask in self.masks)
        return Polygons.of(self.rings) if any(self.rings) else None, Runs.of(self.masks) if has_masks else None


def is_absent(value: Any) -> bool:
    return value is None or (len(value) == 0 if hasattr(value, "__len__") else value != value)


def read_mask(place: str, counts: Any, size: Any) -> Any:
    """Runs as text or numbers, and their size."""
    given = counts.decode("latin-1") if isinstance(counts, bytes) else counts
    try:
        runs = given if isinstance(given, str) else np.asarray(given, dtype=np.int64).tolist()
        height, width = (int(side) for side in size)
    except (TypeError, ValueError):
        raise ReadError(place, expected="counts and a size of a mask", found=excerpt(str(counts), 40)) from None
    check_mask_size(place, height, width)
    return parse_runs(place, runs, height, width), (height, width)


def read_rings(place: str, value: Any) -> list[Any]:
    """Lists of x, y, …; a single one may stand for itself."""
    try:
        lists = [value] if np.ndim(value[0]) == 0 else list(value)
        rings = [np.asarray(ring, dtype=np.float64).ravel().tolist() for ring in lists]
    except (TypeError, ValueError):
        raise ReadError(place, expected="lists of numbers as rings", found=excerpt(str(value), 40)) from None
    return [check_ring(place, ring) for ring in rings]
