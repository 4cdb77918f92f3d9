"""Do polygons and masks agree with their boxes and images? (V112, V406, V410, V418)

Polygons and masks are read when somebody asks for them, so these look when `inspect` does.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verite import _core
from verite.checks.findings import EXAMPLES, Finding
from verite.checks.sides import Side
from verite.checks.values import object_name, spell_box
from verite.model.regions import BOX, MASK, POLYGON, Regions

ALIKE = 0.75  # overlap of a box and the box around its outline from which they agree ...
SLACK = 2.0  # ... as they do where no edge is off by more pixels than this


def find_other_boxes(side: Side) -> Iterator[Finding]:
    """Boxes that are not around their outlines."""
    regions = side.annotations.regions
    if regions.has_only_boxes:
        return
    boxes = regions.boxes
    unboxed = Regions(boxes, polygons=regions.polygons, runs=regions.runs, boxed=regions.kinds == BOX)
    around = Regions.over(unboxed.native.bound()).boxes
    is_off = np.abs(around - boxes).max(axis=1) > SLACK
    rows = [row for row in np.flatnonzero(is_off).tolist() if overlap(boxes[row], around[row]) < ALIKE]
    if rows:
        yield Finding(
            "V112",
            "warning",
            f"{len(rows):,} of {len(side):,} objects have a box that is not around their polygon or mask",
            len(rows),
            tuple(
                f"{object_name(side, row)}: box {spell_box(boxes[row])}, outline {spell_box(around[row])}"
                for row in rows[:EXAMPLES]
            ),
            "which of the two is right? evaluations of boxes and of masks see different objects",
            side.name,
        )


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    return float(_core.box_iou(one[None], other[None])[0, 0])


def find_turned_masks(side: Side) -> Iterator[Finding]:
    """Masks whose height and width are those of their image the other way round."""
    annotations = side.annotations
    runs = annotations.regions.runs
    if runs is None or not annotations.images.sized:
        return
    wanted = np.stack([annotations.images.heights, annotations.images.widths], axis=1)[annotations.image]
    is_turned = (runs.sizes == wanted[:, ::-1]).all(axis=1) & (runs.sizes != wanted).any(axis=1)
    rows = np.flatnonzero(is_turned & (annotations.regions.kinds == MASK)).tolist()
    if rows:
        yield Finding(
            "V406",
            "warning",
            f"{len(rows):,} of {len(side):,} masks are as high as their image is wide, and as wide as it is high",
            len(rows),
            tuple(
                f"{object_name(side, row)}: {runs.sizes[row, 0]} x {runs.sizes[row, 1]}, its image {wanted[row, 0]} x "
                f"{wanted[row, 1]} (height x width)"
                for row in rows[:EXAMPLES]
            ),
            "write size as [height, width], and runs down the columns",
            side.name,
        )


def find_crowds_of_polygons(side: Side) -> Iterator[Finding]:
    """Crowds are masks; polygons of several rings may be meant for objects one by one."""
    crowd = side.annotations.flags.get("crowd")
    if crowd is None:
        return
    rows = np.flatnonzero(crowd & (side.annotations.regions.kinds == POLYGON)).tolist()
    if rows:
        yield Finding(
            "V418",
            "note",
            f"{len(rows):,} of {int(crowd.sum()):,} crowds are polygons, which COCO writes as run-length masks",
            len(rows),
            tuple(object_name(side, row) for row in rows[:EXAMPLES]),
            "is iscrowd meant? crowds neither reward nor punish",
            side.name,
        )


def find_void(side: Side) -> Iterator[Finding]:
    """Pixels that no segment has, where every pixel could have one."""
    annotations = side.annotations
    if annotations.source.format != "panoptic" or annotations.area is None:
        return
    used = np.unique(annotations.image)
    sizes = annotations.images.widths.astype(np.int64) * annotations.images.heights
    void = sizes[used] - np.bincount(annotations.image, annotations.area, len(sizes))[used].astype(np.int64)
    count, whole = int(void.sum()), int(sizes[used].sum())
    if count > 0:
        most = used[np.argsort(-void, kind="stable")][:EXAMPLES].tolist()
        counts = "they neither reward nor punish" if side.is_truth else "what lies under them is missed"
        yield Finding(
            "V410",
            "note",
            f"{count:,} of {whole:,} pixels are void, of no segment: {counts}",
            count,
            tuple(f"{annotations.images.name(i)}: {int(void[used == i][0]):,} of {int(sizes[i]):,}" for i in most),
            "nothing, if nobody decided what they are",
            side.name,
        )
