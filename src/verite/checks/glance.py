"""A first glance: where predictions fit their truth well, as they mostly do, nobody need look for mistakes."""

from __future__ import annotations

from verite import _core
from verite.arrays import np
from verite.model.annotations import Annotations
from verite.model.unopened import unopened_pair


def looks_sound(truth: Annotations, pred: Annotations) -> bool:
    """Is there surely nothing to be found? False says only that somebody should look."""
    if (pair := unopened_pair(truth, pred)) and _core.coco_fits(pair[0].file, pair[1].file):
        return True
    if len(pred.images) != len(truth.images) or len(pred.labels) != len(truth.labels):
        return False  # images or classes that the truth does not know
    if pred.confidence is None or "unscored" in pred.flags or not truth.unit == pred.unit == "px":
        return False
    if truth.source.format == pred.source.format == "text":
        return False  # both may be wrong in the same way
    left_out = truth.flags.get("crowd", np.empty(0, dtype=np.bool_))
    return _core.looks_sound(glimpsed(truth), left_out, glimpsed(pred), pred.confidence, len(truth.images))


def glimpsed(side: Annotations) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """What the core looks at."""
    return side.image, side.label, side.regions.values, side.regions.kept == "xyxy"
