"""CVAT's masks: runs row by row inside a box, the first of them background, to COCO's runs over the image and back.

Between the two a mask is a set of segments: stretches of foreground from `start` to before `end` in one line, which is
a row to CVAT and a column to COCO.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Segments = tuple[Ints, Ints, Ints]  # line, start, end

BLOCK = 2**22  # pixels laid out at a time: a few bytes of file may stand for all the pixels an image can have


def image_runs(
    counts: NDArray[np.uint32], box: tuple[int, int, int, int], height: int, width: int
) -> NDArray[np.uint32]:
    """COCO's runs over an image of a mask whose row-wise runs fill the box (left, top, width, height).

    >>> image_runs(np.array([0, 1, 1, 2], dtype=np.uint32), (1, 0, 2, 2), height=3, width=3)
    array([3, 2, 2, 1, 1], dtype=uint32)
    """
    left, top, box_width, box_height = box
    column, start, end = transpose(segments(counts, box_width), box_height, box_width)
    return runs((column + left, start + top, end + top), height, width)


def box_runs(counts: NDArray[np.uint32], height: int) -> tuple[NDArray[np.uint32], tuple[int, int, int, int]]:
    """CVAT's runs of a mask, and the box they fill: the smallest around it, one pixel for an empty mask."""
    column, start, end = segments(counts, height)
    if not len(column):
        return np.array([1], dtype=np.uint32), (0, 0, 1, 1)
    left, top = int(column.min()), int(start.min())
    box_width, box_height = int(column.max()) + 1 - left, int(end.max()) - top
    rows = transpose((column - left, start - top, end - top), box_width, box_height)
    return runs(rows, box_width, box_height), (left, top, box_width, box_height)


def segments(counts: NDArray[np.uint32], length: int) -> Segments:
    """The foreground of runs, cut where a line of this length ends."""
    edges = np.cumsum(counts, dtype=np.int64)
    start, end = edges[0::2][: len(edges) // 2], edges[1::2]
    start, end = start[start < end], end[start < end]
    first, last = start // length, (end - 1) // length
    count = last - first + 1
    owner = np.repeat(np.arange(len(start)), count)
    line = first[owner] + np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    begin = np.where(line == first[owner], (start % length)[owner], 0)
    until = np.where(line == last[owner], ((end - 1) % length)[owner] + 1, length)
    return line, begin, until


def transpose(mask: Segments, lines: int, length: int) -> Segments:
    """Segments of the rows of a mask from those of its columns, or the reverse."""
    line, start, end = mask
    parts: list[Segments] = []
    step = max(1, BLOCK // lines)
    for first in range(0, length, step):
        size = min(step, length - first)
        change = np.zeros((lines, size + 1), dtype=np.int8)
        np.add.at(change, (line, np.clip(start - first, 0, size)), 1)
        np.add.at(change, (line, np.clip(end - first, 0, size)), -1)
        pixels = np.cumsum(change, axis=1, dtype=np.int8)[:, :size].T
        edges = np.diff(pixels, axis=1, prepend=np.int8(0), append=np.int8(0))
        (across, begin), (_, until) = np.nonzero(edges == 1), np.nonzero(edges == -1)
        parts.append((across + first, begin, until))
    turned_line, turned_start, turned_end = (np.concatenate(column) for column in zip(*parts, strict=True))
    return turned_line, turned_start, turned_end


def runs(mask: Segments, length: int, lines: int) -> NDArray[np.uint32]:
    """Runs, line after line, of segments in that order."""
    line, start, end = mask
    first, last = line * length + start, line * length + end
    joined = np.flatnonzero(last[:-1] == first[1:])  # over the end of a line
    edges = np.stack([np.delete(first, joined + 1), np.delete(last, joined)], axis=1).ravel()
    total = length * lines
    if len(edges) and edges[-1] == total:
        edges = edges[:-1]
    return np.diff(edges, prepend=0, append=total).astype(np.uint32)
