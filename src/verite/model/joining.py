"""Regions of several sides as one column."""

from __future__ import annotations

from collections.abc import Sequence

from verite.arrays import np
from verite.model.keypoints import Keypoints
from verite.model.outlines import Polygons, Runs
from verite.model.ragged import offsets_of
from verite.model.regions import Regions


def join_regions(parts: Sequence[Regions]) -> Regions:
    """One region after the other, each with the polygon, mask and pose it has.

    >>> len(join_regions([Regions([[0, 0, 1, 1]]), Regions([[2, 2, 3, 3], [4, 4, 5, 5]])]))
    3
    """
    boxes = np.concatenate([part.sizes for part in parts])
    polygons = runs = None
    if any(part.polygons is not None for part in parts):
        found = [part.polygons or no_polygons(len(part)) for part in parts]
        rings = offsets_of(np.concatenate([np.diff(one.rings) for one in found]))
        objects = offsets_of(np.concatenate([np.diff(one.objects) for one in found]))
        polygons = Polygons(np.concatenate([one.points for one in found]), rings, objects)
    if any(part.runs is not None for part in parts):
        masks = [part.runs or no_runs(len(part)) for part in parts]
        objects = offsets_of(np.concatenate([np.diff(one.objects) for one in masks]))
        sizes = np.concatenate([one.sizes for one in masks])
        runs = Runs(np.concatenate([one.counts for one in masks]), objects, sizes)
    keypoints = None
    if any(part.keypoints is not None for part in parts):
        poses = [part.keypoints or Keypoints.of([None] * len(part)) for part in parts]
        points = np.concatenate([one.points for one in poses])
        keypoints = Keypoints(points, offsets_of(np.concatenate([one.counts for one in poses])))
    boxed = [np.ones(len(part), dtype=np.bool_) if part.boxed is None else part.boxed for part in parts]
    return Regions(boxes, "xywh", polygons=polygons, runs=runs, boxed=np.concatenate(boxed), keypoints=keypoints)


def no_polygons(count: int) -> Polygons:
    return Polygons(np.zeros((0, 2)), np.zeros(1, np.int64), np.zeros(count + 1, np.int64))


def no_runs(count: int) -> Runs:
    return Runs(np.zeros(0, np.uint32), np.zeros(count + 1, np.int64), np.zeros((count, 2), np.int32))
