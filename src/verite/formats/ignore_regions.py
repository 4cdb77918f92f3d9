"""Ignore regions: parts of an image in which nothing was annotated, for no class.

KITTI's `DontCare`, VisDrone's ignored regions and crowds of a class that is called ignore (CityPersons and CrowdHuman
as COCO JSON) are such regions. A prediction of any class that matches no object and lies in one, by at least half of
its own area, is ignored instead of counting as a false positive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from verite.arrays import np
from verite.formats.class_map import normalise

if TYPE_CHECKING:
    from verite.model.annotations import Annotations

NAMES = frozenset(
    ("dontcare", "don't care", "dont care", "ignore", "ignored", "ignore region", "ignored region", "ignore regions",
     "ignored regions", "void")
)  # fmt: skip


def mark_ignore_regions(annotations: Annotations) -> Annotations:
    """Flag crowds and ignored objects of a class that is called ignore, DontCare or the like as ignore regions.

    >>> from verite import Annotations
    >>> truth = Annotations.of(["a", "a"], ["car", "ignore"], [[0, 0, 9, 9], [20, 0, 90, 50]], crowd=[False, True])
    >>> mark_ignore_regions(truth).flag("ignore_region").tolist()
    [False, True]
    """
    labels = annotations.labels
    if labels.names is None or not any(normalise(name) in NAMES for name in labels.names):
        return annotations
    is_region = np.array([normalise(name) in NAMES for name in labels.names], dtype=np.bool_)[annotations.label]
    is_region &= annotations.flag("crowd") | annotations.flag("ignore")
    if not is_region.any():
        return annotations
    return replace(annotations, flags={**annotations.flags, "ignore_region": is_region})
