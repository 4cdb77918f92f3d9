"""How does a pose become lines? Joints as points, bones between those that are labelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verite.reporting.rings import Ring

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from verite.model.annotations import Annotations
    from verite.reporting.draw import Pen

# Of files that do not say how points are joined: COCO's seventeen points, CrowdPose's fourteen.
EDGES = {
    17: ((15, 13), (13, 11), (16, 14), (14, 12), (11, 12), (5, 11), (6, 12), (5, 6), (5, 7), (6, 8), (7, 9), (8, 10),
         (1, 2), (0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6)),
    14: ((12, 13), (13, 0), (13, 1), (0, 1), (0, 2), (2, 4), (1, 3), (3, 5), (0, 6), (1, 7), (6, 7), (6, 8), (8, 10),
         (7, 9), (9, 11)),
}  # fmt: skip


def pose_of(side: Annotations, row: int) -> tuple[Ring, list[Ring]]:
    """Joints [n, 2] of an object that are labelled, and the bones between them; of predictions without any, all."""
    keypoints = side.regions.keypoints
    if keypoints is None or not len(keypoints[row]):
        return np.empty((0, 2)), []
    points = keypoints[row]
    seen = points[:, 2] > 0 if (points[:, 2] > 0).any() else np.full(len(points), side.confidence is not None)
    skeletons = side.labels.skeletons
    stated = skeletons[side.label[row]].edges if skeletons is not None else ()
    edges = stated or EDGES.get(len(points), ())
    return points[seen, :2], [points[[a, b], :2] for a, b in edges if max(a, b) < len(points) and seen[a] and seen[b]]


def draw_pose(axes: Axes, joints: Ring, bones: list[Ring], pen: Pen, night: str) -> None:
    """On a dark edge that parts it from any photo."""
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import Normal, withStroke

    edge = [withStroke(linewidth=pen.width + 1.6, foreground=night, alpha=0.5), Normal()]
    dashes = "-" if pen.dashes is None else (0, pen.dashes)
    lines = LineCollection(bones, colors=pen.colour, linewidths=pen.width, linestyles=[dashes])
    lines.set_path_effects(edge)
    axes.add_collection(lines)
    axes.scatter(joints[:, 0], joints[:, 1], s=9 * pen.width, c=pen.colour, edgecolors=night, linewidths=0.6, zorder=3)
