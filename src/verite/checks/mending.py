"""What can be put right without asking? Exact repetitions, boxes beyond their images, blanks around names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from verite.model.annotations import Annotations
from verite.model.labels import Labels
from verite.model.regions import BOX, Regions


def mend(annotations: Annotations) -> tuple[Annotations, list[str]]:
    """The annotations put right, and what was done, one line for each kind of change.

    >>> twice = Annotations.of(["a", "a"], ["cat", "cat"], [[-9, 0, 9, 9], [-9, 0, 9, 9]], sizes={"a": (20, 20)})
    >>> mended, done = mend(twice)
    >>> mended.regions.boxes.tolist(), done[0]
    ([[0.0, 0.0, 9.0, 9.0]], 'removed 1 of 2 objects, exact repetitions of another one')
    """
    done: list[str] = []
    for change in (drop_repetitions, clip_boxes, trim_names):
        annotations, said = change(annotations)
        done += said
    return annotations, done


def drop_repetitions(old: Annotations) -> tuple[Annotations, list[str]]:
    """Of objects that agree in everything but their id, the first."""
    optional = [column for column in (old.confidence, old.area, *old.flags.values()) if column is not None]
    columns = np.column_stack([old.image, old.label, *old.regions.values.T, *optional])
    _, group, counts = np.unique(columns, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    seen: set[tuple[int, bytes]] = set()
    kept = np.ones(len(old), dtype=np.bool_)
    for row in np.flatnonzero(counts[group] > 1).tolist():
        key = (int(group[row]), outline_of(old.regions, row))
        kept[row] = key not in seen
        seen.add(key)
    if kept.all():
        return old, []
    count = int((~kept).sum())
    return old.where(kept), [f"removed {count:,} of {len(old):,} objects, exact repetitions of another one"]


def outline_of(regions: Regions, row: int) -> bytes:
    """All that a polygon or a mask is made of."""
    polygons, runs = regions.outlines
    rings = [ring.tobytes() for ring in polygons[row]] if polygons is not None else []
    return b"|".join([*rings, runs[row].tobytes() if runs is not None else b""])


def clip_boxes(old: Annotations) -> tuple[Annotations, list[str]]:
    """Boxes cut at the edges of their images, where these are known and the object is a box."""
    sizes = np.stack([old.images.widths, old.images.heights], axis=1)[old.image].astype(np.float64)
    boxes = old.regions.boxes
    limits = np.tile(sizes if old.unit == "px" else np.ones_like(sizes), 2)
    is_known = (limits > 0).all(axis=1) & np.isfinite(boxes).all(axis=1) & (old.regions.kinds == BOX)
    clipped = np.clip(boxes, 0, limits)
    is_moved = is_known & (clipped != boxes).any(axis=1)
    if not is_moved.any():
        return old, []
    new = np.where(is_moved[:, None], clipped, boxes)
    regions = old.regions.with_boxes(new, "xyxy")
    area = old.area
    if area is not None:  # as stated, unless it was that of the box
        before, after = (np.prod(b[:, 2:] - b[:, :2], axis=1) for b in (boxes, new))
        area = np.where(is_moved & np.isclose(area, before), after, area)
    flat = int((is_moved & (clipped[:, 2:] <= clipped[:, :2]).any(axis=1)).sum())
    left = f"; {flat:,} of them lie outside altogether and have no size now" if flat else ""
    said = f"clipped {int(is_moved.sum()):,} of {len(old):,} boxes to their images{left}"
    return replace(old, regions=regions, area=area), [said]


def trim_names(old: Annotations) -> tuple[Annotations, list[str]]:
    """Class names without blanks around them, unless two classes would become one."""
    names = old.labels.names
    if names is None:
        return old, []
    trimmed = [name.strip() for name in names]
    if list(names) == trimmed:
        return old, []
    if len(set(trimmed)) < len(trimmed):
        return old, ["left names with blanks as they are: two classes would become one"]
    count = sum(a != b for a, b in zip(names, trimmed, strict=True))
    ids = None if old.labels.ids is None else old.labels.ids.tolist()
    labels = Labels(trimmed, ids, groups=old.labels.groups, skeletons=old.labels.skeletons)
    return replace(old, labels=labels), [f"trimmed {count:,} of {len(names):,} class names"]
