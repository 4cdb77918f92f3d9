"""Are keypoints where and what they should be? (V420 to V424)"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verite.checks.evidence import FOUND
from verite.checks.findings import EXAMPLES, Finding
from verite.checks.sides import EDGE, MANY, Pair, Side
from verite.checks.values import object_name
from verite.model.keypoints import Keypoints

FEWEST = 5  # poses before their order is called mirrored
SAMPLED = 500  # truths that are looked at


def find_odd_poses(side: Side) -> Iterator[Finding]:
    """Points that are no numbers, of the wrong number, outside of their images, or all without a label."""
    keypoints = side.annotations.regions.keypoints
    if keypoints is None:
        return
    whose = "truths" if side.is_truth else "predictions"
    yield from find_wrong_number(side, keypoints, whose)
    odd = np.unique(keypoints.owners[~np.isfinite(keypoints.points).all(axis=1)]).tolist()
    if odd:
        message = f"{len(odd):,} of {len(side):,} {whose} have keypoints that are NaN or infinite"
        yield finding_of(side, "V424", "error", message, odd, "remove them, or find out why they were written")
        return
    has_points = keypoints.counts > 0
    if side.is_truth and not (keypoints.labelled > 0).any():
        message = f"none of {int(has_points.sum()):,} truths has a labelled keypoint, so that nothing is asked for"
        remedy = "is the third number of each point its visibility (0, 1 or 2)?"
        yield finding_of(side, "V422", "error", message, np.flatnonzero(has_points).tolist(), remedy)
    rows = np.unique(keypoints.owners[outside(side, keypoints)]).tolist()
    if rows and (
        side.is_truth or len(rows) > MANY * len(side)
    ):  # detectors do not all clip, but they look at the image
        message = f"{len(rows):,} of {len(side):,} {whose} have keypoints that leave the image by more than a tenth"
        remedy = "are these in the pixels of this image, and x before y?"
        yield finding_of(side, "V421", "warning", message, rows, remedy)


def finding_of(side: Side, code: str, severity: str, message: str, rows: list[int], remedy: str) -> Finding:
    examples = tuple(object_name(side, row) for row in rows[:EXAMPLES])
    return Finding(code, severity, message, len(rows), examples, remedy, side.name)  # type: ignore[arg-type]


def find_wrong_number(side: Side, keypoints: Keypoints, whose: str) -> Iterator[Finding]:
    """Objects of one class with different numbers of points."""
    counts, label = keypoints.counts, side.annotations.label
    rows: list[int] = []
    usual = []
    for i in np.unique(label[counts > 0]).tolist():
        own = np.flatnonzero((label == i) & (counts > 0))
        most = int(np.bincount(counts[own]).argmax())
        usual.append(most)
        rows += own[counts[own] != most].tolist()
    if rows:
        expected = ", ".join(map(str, sorted(set(usual))))
        message = f"{len(rows):,} of {len(side):,} {whose} have another number of keypoints than {expected}"
        yield finding_of(
            side, "V420", "error", message, sorted(rows), "write all points, with visibility 0 where unknown"
        )


def outside(side: Side, keypoints: Keypoints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Points that leave their image, of those that are labelled; of predictions all."""
    annotations, owners = side.annotations, keypoints.owners
    images = annotations.images
    sizes = np.stack([images.widths, images.heights], axis=1)[annotations.image][owners].astype(np.float64)
    if annotations.unit == "rel":
        sizes = np.ones_like(sizes)
    xy = keypoints.points[:, :2]
    leaves = ((xy < -EDGE * sizes) | (xy > (1 + EDGE) * sizes)).any(axis=1) & (sizes > 0).all(axis=1)
    return np.asarray(leaves & (keypoints.points[:, 2] > 0)) if side.is_truth else np.asarray(leaves)


def find_mirrored(pair: Pair) -> Iterator[Finding]:
    """Predictions whose left and right points fit far better when they change places."""
    compared, better = pair.mirrored
    if better >= FEWEST and 3 * better > 2 * compared:
        message = f"in {better:,} of {compared:,} poses that tell, left and right fit when they change places"
        yield Finding("V423", "error", f"keypoints are mirrored: {message}", better, (), "write the truth's order")


def nearest(pair: Pair) -> Iterator[tuple[int, int]]:
    """Truths with the prediction of their image and class whose box they overlap most, if by half."""
    from verite import _core

    truth, pred = pair.truth, pair.pred
    by_image: dict[tuple[int, int], list[int]] = {}
    for j, key in enumerate(zip(pred.image.tolist(), pred.label.tolist(), strict=True)):
        by_image.setdefault(key, []).append(j)
    for i in range(0, len(truth), 1 + len(truth) // SAMPLED):
        rows = by_image.get((int(truth.image[i]), int(truth.label[i])), [])
        if not rows:
            continue
        overlaps = _core.box_iou(truth.regions.boxes[[i]], np.ascontiguousarray(pred.regions.boxes[rows]))[0]
        if overlaps.max() >= FOUND:
            yield i, rows[int(overlaps.argmax())]
