"""How does a region become lines? Boxes, polygons and masks as closed rings of points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from verite.model.rasters import array_of
from verite.model.regions import MASK, POLYGON

if TYPE_CHECKING:
    from verite.model.regions import Regions

Ring = NDArray[np.float64]  # [n, 2] x and y
MOST_POINTS = 200  # of a mask's outline


def rings_of(regions: Regions, i: int, on: str = "box") -> list[Ring]:
    """The outline of region i: of its box, or of the best it has where masks are compared."""
    if on != "box" and regions.kinds[i] == POLYGON and regions.polygons is not None:
        return [np.asarray(ring) for ring in regions.polygons[i]]
    if on != "box" and regions.kinds[i] == MASK and regions.runs is not None:
        return trace_mask(array_of(regions.runs, i))
    x1, y1, x2, y2 = regions.boxes[i]
    return [np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]])]


def trace_mask(mask: NDArray[np.bool_]) -> list[Ring]:
    """The borders of a mask along the edges of its pixels, the largest ring first; long ones are thinned out.

    >>> trace_mask(np.array([[True, True], [False, False]]))[0].tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]
    """
    rings = [straighten(np.array(ring, dtype=np.float64)) for ring in chain(border_edges(mask))]
    return [thin(ring) for ring in sorted(rings, key=len, reverse=True)]


def border_edges(mask: NDArray[np.bool_]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """From each corner of a pixel at the border where the border goes on, the inside to its right."""
    padded = np.pad(mask, 1)
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    inside = padded[1:-1, 1:-1]
    # The neighbour outside, and the first and last corner of the edge between them.
    for outside, first, last in (
        (padded[:-2, 1:-1], (0, 0), (1, 0)),
        (padded[1:-1, 2:], (1, 0), (1, 1)),
        (padded[2:, 1:-1], (1, 1), (0, 1)),
        (padded[1:-1, :-2], (0, 1), (0, 0)),
    ):
        for y, x in np.argwhere(inside & ~outside).tolist():
            found.setdefault((x + first[0], y + first[1]), []).append((x + last[0], y + last[1]))
    return found


def chain(edges: dict[tuple[int, int], list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """Edges joined to rings."""
    rings = []
    while edges:
        start = min(edges)
        ring, at = [start], take(edges, start)
        while at != start:
            ring.append(at)
            at = take(edges, at)
        rings.append(ring)
    return rings


def take(edges: dict[tuple[int, int], list[tuple[int, int]]], at: tuple[int, int]) -> tuple[int, int]:
    """The end of an edge that begins here, which is then gone."""
    ends = edges[at]
    found = ends.pop()
    if not ends:
        del edges[at]
    return found


def straighten(ring: Ring) -> Ring:
    """Without the points that lie on a straight line between their neighbours."""
    before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    return np.asarray(ring[before[:, 0] * after[:, 1] != before[:, 1] * after[:, 0]])


def thin(ring: Ring, most: int = MOST_POINTS) -> Ring:
    """At most so many points, spread evenly over the ring."""
    return ring if len(ring) <= most else ring[np.linspace(0, len(ring), most, endpoint=False).astype(int)]
