"""Annotations on matplotlib's current axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.compat.pycocotools import mask as masks
from verite.errors import DataError
from verite.reporting.figures import need_matplotlib

if TYPE_CHECKING:
    from verite.compat.pycocotools.coco import COCO

CROWD = np.array([2.0, 166.0, 101.0]) / 255


def show(coco: COCO, anns: Sequence[dict[str, Any]], *, draw_bbox: bool) -> None:
    """Outlines filled with a colour each; captions are printed."""
    if not anns:
        return
    if "caption" in anns[0]:
        for ann in anns:
            print(ann["caption"])
        return
    if "segmentation" not in anns[0] and "keypoints" not in anns[0]:
        raise DataError("showAnns: expected annotations with a segmentation or keypoints, found neither")
    need_matplotlib()
    import matplotlib.pyplot as plt
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Polygon

    axes = plt.gca()
    axes.set_autoscale_on(False)
    patches, colours = [], []
    rng = np.random.default_rng(0)
    for ann in anns:
        colour = (rng.random(3) * 0.6 + 0.4).tolist()
        outline = ann.get("segmentation", [])
        rings = [np.array(ring).reshape(-1, 2) for ring in outline] if isinstance(outline, list) else []
        if isinstance(outline, dict):
            pixels = masks.decode(coco.annToRLE(ann))
            shade = np.ones((*pixels.shape, 3)) * (CROWD if ann.get("iscrowd") else colour)
            axes.imshow(np.dstack((shade, pixels * 0.5)))
        if draw_bbox:
            x, y, w, h = ann["bbox"]
            rings.append(np.array([[x, y], [x, y + h], [x + w, y + h], [x + w, y]]))
        patches += [Polygon(ring) for ring in rings]
        colours += [colour] * len(rings)
        if isinstance(ann.get("keypoints"), list):
            draw_keypoints(axes, coco, ann, colour)
    axes.add_collection(PatchCollection(patches, facecolor=colours, linewidths=0, alpha=0.4))
    axes.add_collection(PatchCollection(patches, facecolor="none", edgecolors=colours, linewidths=2))


def draw_keypoints(axes: Any, coco: COCO, ann: dict[str, Any], colour: list[float]) -> None:
    x, y, seen = np.array(ann["keypoints"]).reshape(-1, 3).T
    for bone in np.array(coco.cats[ann["category_id"]]["skeleton"]) - 1:
        if np.all(seen[bone] > 0):
            axes.plot(x[bone], y[bone], linewidth=3, color=colour)
    for level, edge in ((0, "k"), (1, colour)):
        kept = seen > level
        axes.plot(x[kept], y[kept], "o", markersize=8, markerfacecolor=colour, markeredgecolor=edge, markeredgewidth=2)
