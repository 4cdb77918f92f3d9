"""Polygons and run-length masks (RLE) as files give them: validated, with their bounding boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verite import _core
from verite.arrays import np
from verite.errors import ReadError
from verite.limits import limit, remedy
from verite.model.layouts import Floats

if TYPE_CHECKING:
    from numpy.typing import NDArray


NO_BOX = (0.0, 0.0, 0.0, 0.0)


def check_ring(place: str, ring: Sequence[float]) -> Sequence[float]:
    """A ring as flat coordinates x, y, x, y …, if it is one."""
    if len(ring) < 6 or len(ring) % 2:
        expected = "an even number of coordinates, at least 6 (V408)"
        raise ReadError(place, expected=expected, found=str(len(ring)))
    if len(ring) > 2 * limit("polygon_points"):
        most = f"at most {limit('polygon_points')} points"
        raise ReadError(place, expected=most, found=str(len(ring) // 2), remedy=remedy("polygon_points"))
    largest = limit("coordinate")
    if not all(abs(v) <= largest for v in ring):
        odd = next(v for v in ring if not abs(v) <= largest)
        hint = remedy("coordinate") if np.isfinite(odd) else ""
        raise ReadError(place, expected=f"coordinates up to {largest}", found=str(odd), remedy=hint)
    return ring


def check_mask_size(place: str, height: int, width: int) -> None:
    """Refuse masks of negative size, or above the limits for the side and the pixels of an image.

    Parameters
    ----------
    place
        The mask, for messages.
    height
        Rows that a file states: without a limit, a few bytes could ask for all memory.
    width
        Columns that a file states.
    """
    side, pixels = limit("image_side"), limit("image_pixels")
    if not (0 <= height <= side and 0 <= width <= side and height * width <= pixels):
        most = f"a size of at most {side} a side and {pixels:,} pixels"
        raise ReadError(place, expected=most, found=f"{height} x {width}", remedy=remedy("image_side"))


def parse_runs(place: str, counts: str | Sequence[int], height: int, width: int) -> NDArray[np.uint32]:
    """Runs of a mask, from COCO's compressed text or from numbers, that add up to its pixels."""
    pixels = height * width
    try:
        if isinstance(counts, str):
            runs = _core.decode_runs(counts.encode(), height, width)
        elif any(c < 0 for c in counts):
            raise ValueError("a negative run")
        elif (total := sum(counts)) != pixels:
            raise ValueError(f"runs that add up to {total}")
        else:
            runs = np.array(counts, dtype=np.uint32)
        if len(runs) > pixels + 1:
            raise ValueError(f"{len(runs)} runs")
        return runs
    except ValueError as error:
        expected = f"runs of {height} x {width} = {pixels} pixels (V405)"
        raise ReadError(place, expected=expected, found=str(error)) from None


def bounds_of_rings(rings: Sequence[Sequence[float] | Floats]) -> list[float]:
    """Corners of the box around flat or [n, 2] rings.

    >>> bounds_of_rings([[1, 2, 5, 2, 3, 8]])
    [1.0, 2.0, 5.0, 8.0]
    """
    points = np.concatenate([np.asarray(ring, dtype=np.float64).reshape(-1, 2) for ring in rings])
    return [*points.min(axis=0).tolist(), *points.max(axis=0).tolist()]


def bounds_of_runs(counts: NDArray[np.uint32], height: int) -> list[float]:
    """Left, top, width and height of the pixels of a mask; zeros for an empty one."""
    ends = np.cumsum(counts, dtype=np.int64)
    first, last = ends[0::2][: len(ends) // 2], ends[1::2] - 1
    first, last = first[first <= last], last[first <= last]
    if not len(first):
        return list(NO_BOX)
    columns = first // height, last // height
    spans = columns[0] != columns[1]  # a run over a column's end touches the bottom and the next top
    top = 0 if spans.any() else int((first % height).min())
    bottom = height - 1 if spans.any() else int((last % height).max())
    left, right = int(columns[0].min()), int(columns[1].max())
    return [float(left), float(top), float(right - left + 1), float(bottom - top + 1)]


def ring_area(ring: Floats) -> float:
    """The area inside an [n, 2] ring (shoelace formula).

    >>> ring_area(np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]]))
    6.0
    """
    x, y = ring[:, 0], ring[:, 1]
    return abs(float(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))) / 2
