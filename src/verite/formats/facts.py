"""Which kinds of facts are in annotations? What a format cannot hold is told, never lost in silence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from verite.formats.outlines import bounds_of_runs
from verite.model.annotations import Annotations
from verite.model.images import Images, stem
from verite.model.labels import Labels
from verite.model.outlines import Polygons
from verite.model.regions import MASK, POLYGON, Regions


def facts_of(annotations: Annotations) -> set[str]:
    """The kinds of facts in annotations that a format may be unable to hold."""
    labels = annotations.labels
    is_unused = len(np.unique(annotations.label)) < len(labels)
    present = {
        "area": annotations.area is not None,
        "class group": labels.groups is not None,
        "confidence": annotations.confidence is not None,
        "classes of whole images": annotations.verdicts is not None and len(annotations.verdicts) > 0,
        "empty image": len(np.unique(annotations.image)) < len(annotations.images),
        "keypoints": annotations.regions.has_keypoints,
        "object id": annotations.ids is not None,
        "skeleton": labels.skeletons is not None,
        "unused class": is_unused and labels.names is not None,
        "unused class id": is_unused and labels.names is None,
        **facts_of_images(annotations.images),
        **facts_of_labels(labels),
        **facts_of_regions(annotations.regions, 1e-9 if annotations.unit == "rel" else 1e-6),
    }
    return {fact for fact, there in present.items() if there} | set(annotations.flags)


def flags_by_row(annotations: Annotations) -> list[list[str]]:
    """The names of the flags that each object carries."""
    found: list[list[str]] = [[] for _ in range(len(annotations))]
    for name, column in annotations.flags.items():
        for row in np.flatnonzero(column).tolist():
            found[row].append(name)
    return found


def facts_of_images(images: Images) -> dict[str, bool]:
    """Ids, names and sizes; a name without an id is what objects speak of, and always held."""
    return {
        "image folder or suffix": any(name != stem(name) for name in images.names or ()),
        "image id": images.ids is not None,
        "image name": images.ids is not None and images.names is not None,
        "image size": bool((images.widths > 0).any()),
    }


def facts_of_labels(labels: Labels) -> dict[str, bool]:
    """Ids and names of classes; ids that only count from 0 are an order."""
    has_both = labels.ids is not None and labels.names is not None
    is_count = labels.ids is not None and np.array_equal(labels.ids, np.arange(len(labels)))
    return {
        "class id": has_both and not is_count,
        "class order": has_both and is_count,
        "class name": has_both,
        "class id without a name": labels.names is None,
    }


def facts_of_regions(regions: Regions, tolerance: float) -> dict[str, bool]:
    """Outlines, and boxes that are more than the box around them."""
    rings = np.diff(regions.polygons.objects) if regions.polygons is not None else np.zeros(len(regions))
    is_polygon, is_mask = regions.kinds == POLYGON, regions.kinds == MASK
    return {
        "box apart from its mask": has_boxes_apart(regions, np.flatnonzero(is_mask), tolerance),
        "box apart from its polygon": has_boxes_apart(regions, np.flatnonzero(is_polygon), tolerance),
        "mask": bool(is_mask.any()),
        "polygon": bool((is_polygon & (rings == 1)).any()),
        "polygon beside a mask": bool((is_mask & (rings > 0)).any()),
        "polygon of several rings": bool((is_polygon & (rings > 1)).any()),
    }


def has_boxes_apart(regions: Regions, rows: NDArray[np.int64], tolerance: float) -> bool:
    """Is there, among these objects of one kind, a box that is not simply the box around the outline?"""
    if not len(rows):
        return False
    if regions.kinds[rows[0]] == POLYGON and regions.polygons is not None:
        boxes, around = regions.boxes[rows], bounds_of_polygons(regions.polygons, rows)
    else:
        assert regions.runs is not None
        heights = regions.runs.sizes[:, 0]
        bounds = [bounds_of_runs(regions.runs[row], int(heights[row])) for row in rows.tolist()]
        boxes, around = regions.sizes[rows], np.array(bounds)
    return not np.allclose(boxes, around, rtol=0, atol=tolerance)


def bounds_of_polygons(polygons: Polygons, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Corners of the boxes around the polygons of these objects, each of which has one."""
    chosen = polygons.take(rows)
    starts = chosen.rings[chosen.objects[:-1]]
    low, high = (f.reduceat(chosen.points, starts, axis=0) for f in (np.minimum, np.maximum))
    return np.concatenate([low, high], axis=1)
