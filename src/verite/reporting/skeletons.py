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

SMALL = 0.15  # of the width of a picture: how tall a pose must be for lines of full width


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
    """On a dark edge that parts it from any photo. Bones are short, and so are dashes; small poses have fine lines."""
    from matplotlib.collections import LineCollection

    left, right = axes.get_xlim()
    share = float(np.ptp(joints, axis=0).max()) / abs(right - left)
    fine = min(max(share / SMALL, 0.4), 1.0)
    width, size = fine * (pen.width + 0.6), 14 * fine**2 * (pen.width + 0.6)
    dashes = "-" if pen.dashes is None else (0, (2.6, 1.1))
    for colour, wide, how in ((night, width + 1.8 * fine, "-"), (pen.colour, width, dashes)):
        lines = LineCollection(bones, colors=colour, linewidths=wide, linestyles=[how], capstyle="butt", zorder=2.5)
        lines.set_alpha(0.55 if colour == night else 1)
        axes.add_collection(lines)
    axes.scatter(joints[:, 0], joints[:, 1], s=size, c=pen.colour, edgecolors=night, linewidths=0.9 * fine, zorder=3)
