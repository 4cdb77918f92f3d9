"""Checks of polygons, masks, mask images and keypoints (V112, V406, V407, V410-V413, V418, V420-V424).

Polygons and masks are decoded lazily, so checks of all of them run in `inspect` only; V407 looks at a sample of the
predictions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from verite import _core
from verite.checks.check import EXAMPLES, Finding
from verite.checks.evidence import (
    FEWEST,
    MATCHED_IOU,
    MORE,
    best_overlaps,
    exceeds_other_images,
    is_dominant,
    turns,
)
from verite.checks.readings import Reading
from verite.checks.sample import EDGE, FEWEST_SHAPES, MANY, Pair, SampledObjects, Side
from verite.checks.values import object_name, spell_box
from verite.errors import excerpt
from verite.model.keypoints import Keypoints
from verite.model.layouts import Floats
from verite.model.regions import BOX, MASK, POLYGON, Regions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

ALIKE = 0.75  # IoU of a box and the bounding box of its polygon or mask from which they agree ...

SLACK = 2.0  # ... as they do if no edge differs by more pixels than this


def find_other_boxes(side: Side) -> Iterator[Finding]:
    """Find boxes that do not enclose their polygon or mask (V112)."""
    regions = side.annotations.regions
    if regions.has_only_boxes:
        return
    boxes = regions.boxes
    unboxed = Regions(boxes, polygons=regions.polygons, runs=regions.runs, boxed=regions.kinds == BOX)
    around = Regions.over(unboxed.native.bound()).boxes
    rows = np.flatnonzero(~agree(boxes, around)).tolist()
    if rows:
        if side.is_truth and (found := find_order(side)):  # of predictions V407 reports it
            yield from describe_order(side, *found)
            return
        yield Finding(
            "V112",
            "warning" if side.is_truth else "note",  # a network predicts boxes and masks by two heads
            f"{len(rows):,} of {len(side):,} objects have a box that does not enclose their polygon or mask",
            len(rows),
            tuple(
                f"{object_name(side, row)}: box {spell_box(boxes[row])}, bounding box {spell_box(around[row])}"
                for row in rows[:EXAMPLES]
            ),
            "correct the wrong one of the two: box AP and mask AP evaluate different objects",
            side.name,
        )


def agree(boxes: Floats, around: Floats) -> NDArray[np.bool_]:
    """Mark boxes that agree with the bounding boxes of their shapes: by IoU, or edge by edge within two pixels.

    Parameters
    ----------
    boxes
        Boxes as a file states them, as corners.
    around
        Bounding boxes of the polygon or mask of each object.
    """
    is_near = np.abs(around - boxes).max(axis=1) <= SLACK
    overlap = [
        _core.box_iou(boxes[[row]], around[[row]])[0, 0] if not near else 1.0 for row, near in enumerate(is_near)
    ]
    return np.asarray(is_near | (np.array(overlap) >= ALIKE))


COMPARED = 256  # objects whose shapes are compared with their boxes

AS_READ, OTHERWISE = 0.3, 0.9  # shares of objects that agree with their boxes as read, and read otherwise

# Orders and units of shapes that are tried: what it is, and what to do.
ORDERS = {
    "y first": ("polygon points look like y before x", "write the points of polygons as x, y"),
    "fractions": (
        "polygon points look like fractions of the image",
        "multiply the points of polygons by width and height of their images",
    ),
    "fractions, y first": (
        "polygon points look like fractions of the image with y before x",
        "write the points of polygons as x, y in pixels",
    ),
    "rows": (
        "RLE counts look written row by row, where COCO's run column by column",
        "encode masks in Fortran order: pycocotools.mask.encode(numpy.asfortranarray(mask))",
    ),
}


def find_order(side: Side) -> tuple[str, int, int, int] | None:
    """Return the order of shapes in which they agree with the boxes of their file, where they do not as read.

    Returns
    -------
    tuple or None
        The name in `ORDERS`, then numbers of objects: compared, agreeing as read, agreeing in this order.
    """
    annotations = side.annotations
    shaped = np.flatnonzero(annotations.regions.kinds != BOX)
    if len(shaped) < FEWEST_SHAPES:
        return None
    rows = shaped[np.unique(np.linspace(0, len(shaped) - 1, min(COMPARED, len(shaped))).astype(np.int64))]
    boxes = np.asarray(annotations.regions.boxes)[rows]
    around = shape_bounds(annotations, rows)
    as_read = int(agree(boxes, around).sum())
    if as_read > AS_READ * len(rows):
        return None
    # The bounding boxes under the other orders and units that fit the kind of the shapes.
    others: dict[str, Floats] = {}
    kinds, runs, images = annotations.regions.kinds[rows], annotations.regions.runs, annotations.images
    if runs is not None and (kinds == MASK).all():
        others["rows"] = np.array([row_by_row(runs[row], *runs.sizes[row].tolist()) for row in rows.tolist()])
    elif (kinds == POLYGON).all():
        others["y first"] = swapped = around[:, [1, 0, 3, 2]]
        sizes = np.stack([images.widths, images.heights], axis=1)[annotations.image[rows]].astype(np.float64)
        if (sizes > 0).all() and annotations.unit == "px":
            others["fractions"] = around * np.tile(sizes, 2)
            others["fractions, y first"] = swapped * np.tile(sizes, 2)
    counts = {name: int(agree(boxes, other).sum()) for name, other in others.items()}
    best = max(counts, key=lambda name: counts[name], default=None)
    if best is None or counts[best] < OTHERWISE * len(rows):
        return None
    return best, len(rows), as_read, counts[best]


def shape_bounds(annotations: Annotations, rows: NDArray[np.int64]) -> Floats:
    """Return the bounding boxes of the polygons and masks of these objects as read, as corners.

    Parameters
    ----------
    annotations
        Ground truth or predictions.
    rows
        Objects that have a polygon or mask.

    Returns
    -------
    Floats
        Corners, [object, 4].
    """
    regions = annotations.where(np.isin(np.arange(len(annotations)), rows)).regions
    unboxed = Regions(regions.boxes, polygons=regions.polygons, runs=regions.runs, boxed=regions.kinds == BOX)
    return np.asarray(Regions.over(unboxed.native.bound()).boxes)


def row_by_row(counts: NDArray[np.uint32], height: int, width: int) -> list[float]:
    """Return the bounding box of a mask whose runs go along rows, as corners.

    >>> row_by_row(np.array([5, 2, 2, 2, 5], dtype=np.uint32), 4, 4)  # two pixels in each of two rows
    [1.0, 1.0, 3.0, 3.0]
    """
    ends = np.cumsum(counts, dtype=np.int64)
    first, last = (ends - counts)[1::2], ends[1::2] - 1
    first, last = first[last >= first], last[last >= first]
    if not len(first) or not width:
        return [0.0, 0.0, 0.0, 0.0]
    is_long = last // width > first // width  # over the end of a row: from the left edge to the right one
    left, right = np.where(is_long, 0, first % width).min(), np.where(is_long, width - 1, last % width).max()
    return [float(left), float(first.min() // width), float(right + 1), float(last.max() // width + 1)]


def find_other_orders(subject: Side | Pair) -> Iterator[Finding]:
    """Find predicted polygons and masks in another order or unit: by the boxes of their file, or the ground truth's."""
    if isinstance(subject, Pair):
        yield from find_masks_by_rows(subject)
    elif found := find_order(subject):
        yield from describe_order(subject, *found)


def describe_order(side: Side, name: str, compared: int, as_read: int, otherwise: int) -> Iterator[Finding]:
    """Make the finding about the order or unit of shapes, with the evidence of the boxes."""
    what, remedy = ORDERS[name]
    yield Finding(
        "V407",
        "warning",  # the boxes are right, and so is an evaluation of boxes
        f"{what}: {as_read:,} of {compared:,} sampled objects lie in their box as read, {otherwise:,} if read so",
        len(side),
        (),
        remedy,
        side.name,
    )


LEAST_MATCHED = 0.5  # share of the objects that must match if RLE counts are read row by row


def find_masks_by_rows(pair: Pair) -> Iterator[Finding]:
    """Find predicted RLE masks without boxes that are written row by row, by the boxes of the ground truth (V407)."""
    sample, (plain, found), runs = pair.sample, pair.explanations, pair.pred.regions.runs
    if sample is None or plain is None or runs is None or not len(sample.pred):
        return
    if (pair.pred.regions.kinds[sample.pred.rows] != MASK).any():
        return
    corners = np.array([row_by_row(runs[row], *runs.sizes[row].tolist()) for row in sample.pred.rows.tolist()])
    other = replace(sample.pred, numbers=corners, reading=Reading("xyxy"))

    def overlaps_of(group: SampledObjects) -> Floats:
        return best_overlaps(sample.truth.corners(), sample.truth.image, group.corners(), group.image)

    overlaps = overlaps_of(other)
    matched = int((overlaps >= MATCHED_IOU).sum())
    if matched < LEAST_MATCHED * plain.possible or not is_dominant(overlaps, plain.overlaps, MORE, FEWEST):
        return
    if found is not None and found.overlaps.sum() >= overlaps.sum():
        return
    if not exceeds_other_images(overlaps, [overlaps_of(other.turn(turn)) for turn in turns(sample.truth.images)]):
        return
    what, remedy = ORDERS["rows"]
    yield Finding(
        "V407",
        "error",
        f"{what}: {plain.found:,} of {plain.possible:,} sampled objects match as read, {matched:,} if read so",
        len(pair.pred),
        (),
        remedy,
    )


def find_turned_masks(side: Side) -> Iterator[Finding]:
    """Find masks of another size than their image, or with height and width swapped (V406)."""
    annotations = side.annotations
    runs = annotations.regions.runs
    if runs is None or not annotations.images.sized:
        return
    wanted = np.stack([annotations.images.heights, annotations.images.widths], axis=1)[annotations.image]
    is_other = (runs.sizes != wanted).any(axis=1) & (annotations.regions.kinds == MASK)
    is_turned = is_other & (runs.sizes == wanted[:, ::-1]).all(axis=1)
    rows, others = np.flatnonzero(is_turned).tolist(), np.flatnonzero(is_other & ~is_turned).tolist()
    if others:
        height, width = runs.sizes[others[0]].tolist()
        yield Finding(
            "V406",
            "warning",
            f"{len(others):,} of {len(side):,} masks have another size than their image, e.g. {width} x {height} in an "
            f"image of {wanted[others[0], 1]} x {wanted[others[0], 0]}",
            len(others),
            tuple(object_name(side, row) for row in others[:EXAMPLES]),
            "resize masks to the size of their image before encoding them",
            side.name,
        )
    if rows:
        yield Finding(
            "V406",
            "warning",
            f"{len(rows):,} of {len(side):,} masks have height and width swapped relative to their image",
            len(rows),
            tuple(
                f"{object_name(side, row)}: {runs.sizes[row, 0]} x {runs.sizes[row, 1]}, its image {wanted[row, 0]} x "
                f"{wanted[row, 1]} (height x width)"
                for row in rows[:EXAMPLES]
            ),
            "write size as [height, width], and RLE counts column by column",
            side.name,
        )


def find_crowds_of_polygons(side: Side) -> Iterator[Finding]:
    """Note crowd annotations that are polygons; COCO writes crowds as RLE masks (V418)."""
    crowd = side.annotations.flags.get("crowd")
    if crowd is None:
        return
    rows = np.flatnonzero(crowd & (side.annotations.regions.kinds == POLYGON)).tolist()
    if rows:
        yield Finding(
            "V418",
            "note",
            f"{len(rows):,} of {int(crowd.sum()):,} crowd annotations are polygons, which COCO writes as RLE masks",
            len(rows),
            tuple(object_name(side, row) for row in rows[:EXAMPLES]),
            "check that iscrowd is intended: crowds are ignored in the evaluation",
            side.name,
        )


def find_void(side: Side) -> Iterator[Finding]:
    """Note pixels of a panoptic image that belong to no segment (V410)."""
    annotations = side.annotations
    if annotations.source.format != "panoptic" or annotations.area is None:
        return
    used = np.unique(annotations.image)
    sizes = annotations.images.widths.astype(np.int64) * annotations.images.heights
    void = sizes[used] - np.bincount(annotations.image, annotations.area, len(sizes))[used].astype(np.int64)
    count, whole = int(void.sum()), int(sizes[used].sum())
    if count > 0:
        most = used[np.argsort(-void, kind="stable")][:EXAMPLES].tolist()
        counts = "they are ignored" if side.is_truth else "objects there are false negatives"
        yield Finding(
            "V410",
            "note",
            f"{count:,} of {whole:,} pixels are void (in no segment): {counts}",
            count,
            tuple(f"{annotations.images.name(i)}: {int(void[used == i][0]):,} of {int(sizes[i]):,}" for i in most),
            "no action needed if they are unlabelled on purpose",
            side.name,
        )


BACKGROUND, VOID = 0, 255  # values of mask images that are no class

LOW_IOU, HIGH_IOU = 0.1, 0.5  # an inverted mask: IoU of the object with its foreground and its background

MASKED = 64  # images compared pixel by pixel


def find_odd_masks(pair: Pair) -> Iterator[Finding]:
    """Find mask images that are missing (V413) or inverted (V412), and label values not shared by the sides (V411)."""
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


def unite(stretches: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the union of half-open intervals of pixels, [interval, 2], sorted.

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
    """Return the class values in use except background and void; void is a class if there is no other."""
    numbers = side.labels.numbers or ()
    used = sorted({int(numbers[label]) for label in np.unique(side.label).tolist()} - {BACKGROUND})
    return [value for value in used if value != VOID] or used


def has_inverted(pair: Pair, image: int) -> bool:
    """Whether the predicted mask of an image is inverted; masks of different sizes are not compared.

    Parameters
    ----------
    pair
        Both sides, one mask per image.
    image
        Position of the image.
    """
    sizes, sides = [], []  # start and end of the runs of foreground pixels, column by column
    for side in (pair.truth, pair.pred):
        sizes.append((int(side.images.heights[image]), int(side.images.widths[image])))
        rows = np.flatnonzero(side.image == image)
        if side.labels.numbers is not None:
            values = np.array(side.labels.numbers)[side.label[rows]]
            rows = rows[np.isin(values, class_values(side))]
        runs = side.regions.runs
        assert runs is not None
        ends = [np.cumsum(runs[row], dtype=np.int64) for row in rows.tolist()]
        bounds = [own[: len(own) // 2 * 2].reshape(-1, 2) for own in ends]
        sides.append(unite(np.concatenate([np.empty((0, 2), np.int64), *bounds])))
    truth, pred, either = (int((s[:, 1] - s[:, 0]).sum()) for s in (*sides, unite(np.concatenate(sides))))
    return sizes[0] == sizes[1] and is_inverted(truth, pred, truth + pred - either, sizes[0][0] * sizes[0][1])


def is_inverted(truth: int, pred: int, shared: int, pixels: int) -> bool:
    """Whether the background of the prediction matches the object and its foreground does not.

    Arguments are pixel counts: ground truth, prediction, their intersection, and the image.
    """
    if not truth or not pred:
        return False
    outside = truth - shared
    return shared / (truth + pred - shared) < LOW_IOU and outside / (pixels - pred + shared) > HIGH_IOU


def describe_inverted(inverted: Sequence[str], compared: int, what: str) -> Iterator[Finding]:
    """Report masks that are inverted in most of the images or volumes compared (V412).

    Parameters
    ----------
    inverted
        Names of the images or volumes whose predicted masks look inverted.
    compared
        How many were looked at.
    what
        `images` or `volumes`.
    """
    if inverted and 2 * len(inverted) > compared:
        share = f"{len(inverted):,} of {compared:,} {what}"
        message = f"predictions look inverted: in {share} their background matches the object"
        yield Finding("V412", "warning", message, len(inverted), tuple(inverted), "write objects as 1 on 0")


def name_missing_files(missing: Sequence[str], count: int, what: str) -> Iterator[Finding]:
    """Report images or volumes without a prediction file, unless that is all of them (V413).

    Parameters
    ----------
    missing
        Names without a prediction file.
    count
        How many images or volumes the ground truth has.
    what
        `images` or `volumes`.
    """
    if missing and len(missing) < count:
        message = f"{len(missing):,} of {count:,} {what} have no prediction file and count as empty predictions, e.g. "
        remedy = f"was the model run on all {what}? use the same file names on both sides"
        yield Finding("V413", "warning", message + excerpt(missing[0]), len(missing), tuple(missing), remedy)


def name_disjoint_values(truth: Sequence[int], pred: Sequence[int]) -> Iterator[Finding]:
    """Report that the two sides share no label value (V411).

    Parameters
    ----------
    truth
        Label values in the ground truth.
    pred
        Label values in the predictions, such as 255 where the ground truth has 1.
    """
    if truth and pred and not set(truth) & set(pred):
        listed = [", ".join(map(str, values[:6])) for values in (truth, pred)]
        message = f"the sides share no label value: ground truth has {listed[0]}, predictions have {listed[1]}"
        yield Finding("V411", "warning", message, len(pred), (), "write the same values on both sides")


FEWEST_POSES = 5  # poses before left and right are called swapped

SAMPLED = 500  # ground-truth objects compared


def find_odd_poses(side: Side) -> Iterator[Finding]:
    """Find keypoints that are not finite (V424), too many or too few (V420), unlabelled (V422) or outside (V421)."""
    keypoints = side.annotations.regions.keypoints
    if keypoints is None:
        return
    whose = "objects" if side.is_truth else "predictions"
    counts, label = keypoints.counts, side.annotations.label
    others: list[int] = []  # with another number of keypoints than most of their class
    usual = set()
    for i in np.unique(label[counts > 0]).tolist():
        own = np.flatnonzero((label == i) & (counts > 0))
        most = int(np.bincount(counts[own]).argmax())
        usual.add(most)
        others += own[counts[own] != most].tolist()
    if others:
        expected = ", ".join(map(str, sorted(usual)))
        message = (
            f"{len(others):,} of {len(side):,} {whose} do not have {expected} keypoints, as the others of their class "
            "do"
        )
        remedy = "write all keypoints, with visibility 0 where unknown"
        yield finding_of(side, "V420", "error", message, sorted(others), remedy)
    odd = np.unique(keypoints.owners[~np.isfinite(keypoints.points).all(axis=1)]).tolist()
    if odd:
        message = f"{len(odd):,} of {len(side):,} {whose} have NaN or infinite keypoints"
        yield finding_of(side, "V424", "error", message, odd, "remove them, or correct the export")
        return
    has_points = keypoints.counts > 0
    if side.is_truth and not (keypoints.labelled > 0).any():
        message = (
            f"none of {int(has_points.sum()):,} ground-truth objects has a labelled keypoint, so none is evaluated"
        )
        remedy = "write the visibility (0, 1 or 2) as third number of each keypoint"
        yield finding_of(side, "V422", "error", message, np.flatnonzero(has_points).tolist(), remedy)
    rows = np.unique(keypoints.owners[outside(side, keypoints)]).tolist()
    if rows and (side.is_truth or len(rows) > MANY * len(side)):  # not all detectors clip
        message = (
            f"{len(rows):,} of {len(side):,} {whose} have keypoints that leave the image by more than 10 % of its side"
        )
        remedy = "write keypoints in pixels of this image, x before y"
        yield finding_of(side, "V421", "warning", message, rows, remedy)


def finding_of(side: Side, code: str, severity: str, message: str, rows: list[int], remedy: str) -> Finding:
    """Make a finding whose examples are objects."""
    examples = tuple(object_name(side, row) for row in rows[:EXAMPLES])
    return Finding(code, severity, message, len(rows), examples, remedy, side.name)  # type: ignore[arg-type]


def outside(side: Side, keypoints: Keypoints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mark keypoints that leave their image by more than 10 % of a side; of the ground truth only labelled ones."""
    annotations, owners = side.annotations, keypoints.owners
    images = annotations.images
    sizes = np.stack([images.widths, images.heights], axis=1)[annotations.image][owners].astype(np.float64)
    if annotations.unit == "rel":
        sizes = np.ones_like(sizes)
    xy = keypoints.points[:, :2]
    leaves = ((xy < -EDGE * sizes) | (xy > (1 + EDGE) * sizes)).any(axis=1) & (sizes > 0).all(axis=1)
    return np.asarray(leaves & (keypoints.points[:, 2] > 0)) if side.is_truth else np.asarray(leaves)


def find_mirrored(pair: Pair) -> Iterator[Finding]:
    """Find predictions whose keypoints fit far better with left and right swapped (V423)."""
    compared, better = pair.mirrored
    if better >= FEWEST_POSES and 3 * better > 2 * compared:
        message = f"left and right keypoints look swapped in {better:,} of {compared:,} informative poses"
        yield Finding("V423", "error", message, better, (), "write keypoints in the ground truth's order")


def nearest(pair: Pair) -> Iterator[tuple[int, int]]:
    """Yield ground-truth objects with the prediction of the same image and class of highest IoU, if it is ≥ 0.5."""
    truth, pred = pair.truth, pair.pred
    by_image: dict[tuple[int, int], list[int]] = {}
    for j, key in enumerate(zip(pred.image.tolist(), pred.label.tolist(), strict=True)):
        by_image.setdefault(key, []).append(j)
    for i in range(0, len(truth), 1 + len(truth) // SAMPLED):
        rows = by_image.get((int(truth.image[i]), int(truth.label[i])), [])
        if not rows:
            continue
        overlaps = _core.box_iou(truth.regions.boxes[[i]], np.ascontiguousarray(pred.regions.boxes[rows]))[0]
        if overlaps.max() >= MATCHED_IOU:
            yield i, rows[int(overlaps.argmax())]
