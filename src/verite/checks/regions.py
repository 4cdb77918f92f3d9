"""Do polygons and masks agree with their boxes, images and each other? (V112, V406, V410 to V413, V418)

Polygons and masks are read when somebody asks for them, so these look when `inspect` does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from verite import _core
from verite.checks.check import EXAMPLES, Finding
from verite.checks.evidence import FOUND
from verite.checks.sample import EDGE, MANY, Pair, Side
from verite.checks.values import object_name, spell_box
from verite.errors import excerpt
from verite.model.keypoints import Keypoints
from verite.model.regions import BOX, MASK, POLYGON, Regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

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


BACKGROUND, VOID = 0, 255  # values of label images that are no class

LOW_IOU, HIGH_IOU = 0.1, 0.5  # of the object with a prediction's foreground and background, where it is inverted

MASKED = 64  # images that are compared pixel by pixel


def find_odd_masks(pair: Pair) -> Iterator[Finding]:
    """Mask images that are missing, inverted, or whose label values are classes that the two sides do not share."""
    yield from name_missing_files(pair.pred.source.missing, len(pair.truth.images), "images")
    sides = (pair.truth, pair.pred)
    if any(side.regions.runs is None for side in sides):
        return
    both = np.intersect1d(pair.truth.image, pair.pred.image)
    looked_at = both[np.unique(np.linspace(0, len(both) - 1, min(MASKED, len(both))).astype(np.int64))]
    inverted = [image for image in looked_at.tolist() if has_inverted(pair, image)]
    yield from describe_inverted([pair.truth.images.name(image) for image in inverted], len(looked_at), "images")
    if all(side.labels.numbers is not None for side in sides):
        yield from name_disjoint_values(*map(class_values, sides))


def foreground(side: Annotations, image: int) -> NDArray[np.int64]:
    """Where the pixels of an image, column by column, that any object or class has begin and end, [stretch, 2]."""
    rows = np.flatnonzero(side.image == image)
    if side.labels.numbers is not None:
        kept = class_values(side)
        values = np.array(side.labels.numbers)[side.label[rows]]
        rows = rows[np.isin(values, kept)]
    runs = side.regions.runs
    assert runs is not None
    bounds = [np.cumsum(runs[row], dtype=np.int64)[: len(runs[row]) // 2 * 2].reshape(-1, 2) for row in rows.tolist()]
    return unite(np.concatenate([np.empty((0, 2), np.int64), *bounds]))


def unite(stretches: NDArray[np.int64]) -> NDArray[np.int64]:
    """Stretches of pixels without those that lie in others, by rising pixel.

    >>> unite(np.array([[6, 8], [0, 3], [1, 2], [2, 5], [4, 4]])).tolist()
    [[0, 5], [6, 8]]
    """
    stretches = stretches[stretches[:, 0] < stretches[:, 1]]
    stretches = stretches[np.argsort(stretches[:, 0], kind="stable")]
    reached = np.maximum.accumulate(stretches[:, 1]) if len(stretches) else stretches[:, 1]
    is_first = np.append(True, stretches[1:, 0] > reached[:-1])[: len(stretches)]
    is_last = np.append(is_first[1:], True)[: len(stretches)]
    return np.stack([stretches[is_first, 0], reached[is_last]], axis=1)


def class_values(side: Annotations) -> list[int]:
    """The values of classes that pixels have, but background and void; void is a class where there is no other."""
    numbers = side.labels.numbers or ()
    used = sorted({int(numbers[label]) for label in np.unique(side.label).tolist()} - {BACKGROUND})
    return [value for value in used if value != VOID] or used


def has_inverted(pair: Pair, image: int) -> bool:
    """Is the prediction of an image inverted? Images of two sizes are not compared."""
    images = [side.images for side in (pair.truth, pair.pred)]
    sizes = [(int(one.heights[image]), int(one.widths[image])) for one in images]
    sides = [foreground(side, image) for side in (pair.truth, pair.pred)]
    truth, pred, either = (int((s[:, 1] - s[:, 0]).sum()) for s in (*sides, unite(np.concatenate(sides))))
    return sizes[0] == sizes[1] and is_inverted(truth, pred, truth + pred - either, sizes[0][0] * sizes[0][1])


def is_inverted(truth: int, pred: int, shared: int, pixels: int) -> bool:
    """Does the background of the prediction, and not its foreground, fit the object? Pixels of each, and of all."""
    if not truth or not pred:
        return False
    outside = truth - shared
    return shared / (truth + pred - shared) < LOW_IOU and outside / (pixels - pred + shared) > HIGH_IOU


def describe_inverted(inverted: Sequence[str], compared: int, what: str) -> Iterator[Finding]:
    """Masks that are inverted in most of the cases or images that were compared."""
    if inverted and 2 * len(inverted) > compared:
        share = f"{len(inverted):,} of {compared:,} {what}"
        message = f"predictions look inverted: in {share} their background fits the object"
        yield Finding("V412", "warning", message, len(inverted), tuple(inverted), "write objects as 1 on 0")


def name_missing_files(missing: Sequence[str], count: int, what: str) -> Iterator[Finding]:
    """Images or cases without a file of predictions, unless that is all of them."""
    if missing and len(missing) < count:
        message = f"{len(missing):,} of {count:,} {what} have no prediction file and count as predicted empty, e.g. "
        remedy = f"was the model run on all {what}? name files alike on both sides"
        yield Finding("V413", "warning", message + excerpt(missing[0]), len(missing), tuple(missing), remedy)


def name_disjoint_values(truth: Sequence[int], pred: Sequence[int]) -> Iterator[Finding]:
    """Label values, none of which both sides have."""
    if truth and pred and not set(truth) & set(pred):
        listed = [", ".join(map(str, values[:6])) for values in (truth, pred)]
        message = f"the sides share no label value: ground truth has {listed[0]}, predictions have {listed[1]}"
        yield Finding("V411", "warning", message, len(pred), (), "write the same values on both sides")


FEWEST_POSES = 5  # poses before their order is called mirrored

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
    if better >= FEWEST_POSES and 3 * better > 2 * compared:
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
