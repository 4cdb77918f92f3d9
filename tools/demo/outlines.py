"""Where exactly is a thing? From the pixels that show it to a box, and to a polygon or a run-length mask."""

from __future__ import annotations

import numpy as np
from pycocotools import mask as coco_mask

Ring = list[tuple[int, int]]


def bounds(mask: np.ndarray) -> tuple[int, int, int, int]:
    """Left, top, width and height of the pixels of a mask."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1] - columns[0] + 1), int(rows[-1] - rows[0] + 1)


def runs(mask: np.ndarray) -> list[int]:
    """COCO's uncompressed counts: column by column, the first run is background."""
    flat = np.concatenate([[False], mask.ravel(order="F"), [False]])
    edges = np.flatnonzero(flat[1:] != flat[:-1])
    counts = np.diff([0, *edges, mask.size])
    return [int(c) for c in (counts if counts[-1] or len(counts) == 1 else counts[:-1])]


def compressed(mask: np.ndarray) -> str:
    """COCO's compressed counts."""
    return coco_mask.encode(np.asfortranarray(mask, dtype=np.uint8))["counts"].decode()


def rings(mask: np.ndarray) -> list[Ring]:
    """The outlines along pixel edges: clockwise around what is shown, counter-clockwise around holes."""
    padded = np.pad(mask, 1)
    onward: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for dy, dx, start, end in (
        (-1, 0, (0, 0), (1, 0)),
        (0, 1, (1, 0), (1, 1)),
        (1, 0, (1, 1), (0, 1)),
        (0, -1, (0, 1), (0, 0)),
    ):
        edge = mask & ~padded[1 + dy : 1 + dy + mask.shape[0], 1 + dx : 1 + dx + mask.shape[1]]
        for y, x in np.argwhere(edge).tolist():
            onward.setdefault((x + start[0], y + start[1]), []).append((x + end[0], y + end[1]))
    found = []
    while onward:
        first = min(onward)
        ring, last, here = [first], None, first
        while True:
            ways = onward[here]
            # Where two corners touch, turn right: the pieces stay apart.
            way = ways[0] if last is None else min(ways, key=lambda w: turn(last, here, w))
            ways.remove(way)
            if not ways:
                del onward[here]
            last, here = here, way
            if here == first:
                break
            ring.append(here)
        found.append(ring)
    return found


def turn(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> int:
    """Negative for a turn to the right (y points down)."""
    return -((b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]))


def signed_area(ring: Ring) -> float:
    """Positive around what is shown."""
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(ring, [*ring[1:], ring[0]], strict=True)) / 2


def simplified(ring: Ring, tolerance_px: float) -> Ring:
    """Fewer points (Douglas and Peucker), with the outermost ones kept so that the box stays."""
    ends = [max(range(len(ring)), key=lambda i: reach * ring[i][axis]) for axis in (0, 1) for reach in (-1, 1)]
    kept = set(ends)
    order = sorted(kept)
    spans = [(a, b if b > a else b + len(ring)) for a, b in zip(order, [*order[1:], order[0]], strict=True)]
    while spans:
        a, b = spans.pop()
        away = [(distance(ring[i % len(ring)], ring[a % len(ring)], ring[b % len(ring)]), i) for i in range(a + 1, b)]
        if away and max(away)[0] > tolerance_px:
            i = max(away)[1]
            kept.add(i % len(ring))
            spans += [(a, i), (i, b)]
    return [ring[i] for i in sorted(kept)]


def distance(p: tuple[int, int], a: tuple[int, int], b: tuple[int, int]) -> float:
    """From a point to a segment."""
    dx, dy = b[0] - a[0], b[1] - a[1]
    length = dx * dx + dy * dy
    t = max(0.0, min(1.0, ((p[0] - a[0]) * dx + (p[1] - a[1]) * dy) / length)) if length else 0.0
    ex, ey = p[0] - a[0] - t * dx, p[1] - a[1] - t * dy
    return (ex * ex + ey * ey) ** 0.5


def without_specks(mask: np.ndarray, least: int = 3) -> np.ndarray:
    """The mask without pieces of fewer pixels, unless there is nothing else."""
    pieces = components(mask)
    large = [piece for piece in pieces if piece.sum() >= least] or pieces
    return np.logical_or.reduce(large)


def components(mask: np.ndarray) -> list[np.ndarray]:
    """The pieces of a mask whose pixels share edges, from left to right."""
    left, found = mask.copy(), []
    while left.any():
        piece = np.zeros_like(left)
        x, y = min((x, y) for y, x in np.argwhere(left).tolist())
        front = [(y, x)]
        left[y, x] = False
        while front:
            y, x = front.pop()
            piece[y, x] = True
            for ny, nx in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if 0 <= ny < left.shape[0] and 0 <= nx < left.shape[1] and left[ny, nx]:
                    left[ny, nx] = False
                    front.append((ny, nx))
        found.append(piece)
    return found


def polygon(mask: np.ndarray) -> list[list[int]] | None:
    """The outline as COCO polygons; None where a polygon cannot tell (holes) or would tell badly."""
    outlines = rings(mask)
    if any(signed_area(ring) < 0 for ring in outlines) or len(outlines) > 4:
        return None
    tolerance_px = 0.75 if mask.sum() > 400 else 0.5
    found = [[v for point in simplified(ring, tolerance_px) for v in point] for ring in outlines]
    if min(len(ring) for ring in found) < 6:
        return None
    drawn = rasterise(found, mask.shape)
    return found if (drawn & mask).sum() / (drawn | mask).sum() > 0.93 else None


def rasterise(polygons: list[list[int]], shape: tuple[int, int]) -> np.ndarray:
    """The pixels of polygons as COCO's own library fills them."""
    pieces = coco_mask.frPyObjects(polygons, *shape)
    return coco_mask.decode(coco_mask.merge(pieces)).astype(bool)
