"""Checks of bounding boxes: misread box formats, boxes outside their images, and angles of rotated boxes.

V101 to V105 compare predictions with the ground truth under other box formats (see `misread_boxes`); V101 and V103 also
look at the numbers alone. V108, V109 and V114 compare one side with its image sizes; V431 mirrors rotated boxes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verite import _core
from verite.checks.check import EXAMPLES, Finding, Fix, Severity, SideName
from verite.checks.evidence import MATCHED_IOU, Hypothesis, boxes_under
from verite.checks.misread_boxes import looks_like_fractions, looks_like_pixels
from verite.checks.readings import NAMES, SCALED, Reading, are_like_corners, code_of, fix_of
from verite.checks.regions import COMPARED, agree, nearest, shape_bounds
from verite.checks.sample import EDGE, Pair, Sample, Side, are_read_by_default
from verite.checks.values import count_boxes, found_boxes, image_name, spell_box
from verite.errors import IS_COMMAND_LINE, fix_file
from verite.model.annotations import FIVE_NUMBERS, Annotations
from verite.model.layouts import Floats
from verite.model.ragged import Ints
from verite.model.regions import BOX, MASK, quads_of

SIDE_WORDS: dict[SideName, str] = {"truth": "ground truth", "pred": "predictions"}

FEWEST_LINES = 20  # boxes per side before both sides are said to be corners

FEW_LINES = 3  # different ground-truth boxes, and predictions, before both box formats are said to fit ...

MOST_LINES = 200  # ... of the first so many

CLEARLY_ALONG = 0.8  # rank correlation that shows corners whatever their size

NARROW = 0.15  # share of boxes whose second point exceeds the first by less than a quarter, if they are corners

FARTHER = 1.25  # boxes read as x, y, w, h that reach this many times as far as corners leave the image

AWAY, FEW_AWAY = 2.0, 0.05  # of corners, the second point is below twice the first in at least this share of boxes

ALONG = 0.5  # rank correlation of first and second point that corners exceed, where image sizes are unknown


def find_misread_boxes(pair: Pair) -> Iterator[Finding]:
    """Find the box format under which far more objects match (V101-V105), or what the numbers alone show."""
    truth, pred, sample, (plain, found) = pair.truth, pair.pred, pair.sample, pair.explanations
    if sample is None or plain is None:
        return
    own = {"truth": sample.truth.reading, "pred": sample.pred.reading}
    if found is not None and found.reading != own[found.side]:
        side = truth if found.side == "truth" else pred
        was = own[found.side]
        shape = shape_of(side, (sample.truth if found.side == "truth" else sample.preds[found.shift]).rows)
        fix = fix_of_shapes(shape, was, found.reading) if shape else None
        yield Finding(
            code_of(was, found.reading),
            "error",
            f"{whose(found.side)} {f'boxes around {shape}' if shape else 'boxes'} look like {found.reading.words} read "
            f"as {was.words}: "
            f"{percent(plain)} of {plain.possible:,} sampled objects match as read, {percent(found)} if read so",
            len(side),
            examples(truth, pred, sample, plain, found),
            fix or fix_of(found.side, side.source.format, was, found.reading),
            found.side,
        )
        return
    yield from fractions(truth, pred, sample)
    yield from corners_on_both_sides(truth, pred)


def shape_of(side: Annotations, rows: Ints) -> str:
    """Return "polygons" or "masks" where the boxes of these objects are those around them; "" where files have boxes.

    `boxes=` of `verite.read` changes neither, so that it would be no fix.
    """
    kinds = side.regions.kinds[rows]
    if not len(rows) or (kinds == BOX).any():
        return ""
    few = np.unique(rows)[:COMPARED]
    if not agree(np.asarray(side.regions.boxes)[few], shape_bounds(side, few)).all():
        return ""  # boxes of the file's own, which may well be wrong by themselves
    return "masks" if (kinds == MASK).any() else "polygons"


def fix_of_shapes(shape: str, was: Reading, found: Reading) -> str | None:
    """Return advice for polygons and masks that no option corrects; None where an option of `verite.read` does."""
    if shape == "masks" and found.measure in SCALED:
        return "resize masks to the size of their images before encoding them"
    if shape == "masks":
        return "write masks of the size of their images (height x width), column by column"
    if found.layout == was.layout and found.measure in ("rel", "abs", "factor", "frame"):
        return None  # coords= scales polygons as well
    if found.layout in ("yxhw", "yxyx"):
        return "write the points of polygons as x, y" + (" in pixels" if found.measure != was.measure else "")
    return "write the points of polygons in pixels of their image"


def whose(side: SideName) -> str:
    """Name the side whose boxes a message is about."""
    return "the ground truth's" if side == "truth" else "the predictions'"


def percent(e: Hypothesis) -> str:
    """Format the share of objects that match under a hypothesis, of those that could."""
    return f"{100 * min(1.0, e.found / max(e.possible, 1)):.0f} %"


def examples(
    truth: Annotations, pred: Annotations, sample: Sample, plain: Hypothesis, found: Hypothesis
) -> tuple[str, ...]:
    """Describe the objects that gain most IoU: the four numbers as written, with the IoU before and after."""
    gains = found.overlaps - plain.overlaps
    most = np.argsort(-gains, kind="stable")[:EXAMPLES]
    truth_boxes, pred_boxes = boxes_under(sample, found.side, found.reading, found.shift)
    group = sample.preds[found.shift]
    lines = []
    for t in most[gains[most] > 0]:
        image = sample.truth.image[t]
        mine = slice(group.cells[image], group.cells[image + 1])
        best = int(np.argmax(_core.box_iou(truth_boxes[t : t + 1], pred_boxes[mine])[0])) + int(group.cells[image])
        numbers = group.numbers[best] if found.side == "pred" else sample.truth.numbers[t]
        name = truth.images.name(int(truth.image[sample.truth.rows[t]]))
        lines.append(
            f"{name}: {spell_box(numbers)} has IoU {plain.overlaps[t]:.2f} as read, {found.overlaps[t]:.2f} if read so"
        )
    return tuple(lines)


def fractions(truth: Annotations, pred: Annotations, sample: Sample) -> Iterator[Finding]:
    """Find normalised coordinates read as pixels (V103), where the IoU does not show the box format.

    All numbers within 0 to 1 on both sides are no pixels, however few there are, unless they are only 0 and 1.
    """
    groups = {"truth": sample.truth, "pred": sample.pred}
    are_all_within_1 = all(
        np.all((g.numbers >= 0) & (g.numbers <= 1)) and np.any(g.numbers % 1 > 0) for g in groups.values()
    )
    small = {
        side: group.reading.measure == "abs" and (are_all_within_1 or looks_like_fractions(group.numbers))
        for side, group in groups.items()
    }
    if not any(small.values()) or truth.unit == "rel":
        return
    sides: list[SideName] = [side for side in ("pred", "truth") if small[side]]
    if len(sides) == 1 and not looks_like_pixels(groups["truth" if sides == ["pred"] else "pred"].numbers):
        return
    is_both = len(sides) == 2
    if IS_COMMAND_LINE.get():
        advice = " ".join(f"--{side}-coords rel" for side in sides)
        wants_size = "" if sample.truth.is_sized else " and --image-size WIDTH,HEIGHT"
        option = f"--{sides[0]}-boxes"
    else:
        advice = 'coords="rel" for ' + ("both sides" if is_both else f"the {SIDE_WORDS[sides[0]]}")
        wants_size = "" if sample.truth.is_sized else " and image_size=(WIDTH, HEIGHT)"
        option = "boxes="
    yield Finding(
        "V103",
        "warning" if is_both else "error",
        ("the boxes of both sides" if is_both else f"{whose(sides[0])} boxes")
        + " look like fractions of the image read as pixels"
        + (": area ranges and the pixel convention are meaningless for them" if is_both else ""),
        sum(len(truth if side == "truth" else pred) for side in sides),
        tuple(spell_box(numbers) for numbers in groups[sides[0]].numbers[:EXAMPLES]),
        f"add {advice}{wants_size}, and name the box format with {option}: {', '.join(NAMES)}",
    )


def corners_on_both_sides(truth: Annotations, pred: Annotations) -> Iterator[Finding]:
    """Find corners (x1, y1, x2, y2) on both sides that are read by default as left, top, width, height (V101).

    If both sides are misread in the same way, IoU cannot show it and AP is wrong without a warning. The second point
    then exceeds the first in every box. If it also correlates with the first, over many boxes, either clearly or with
    little distance in a good part of them, these are corners: an error. Otherwise both formats fit: a warning, if the
    points correlate or if boxes read as width and height reach much farther than corners.
    """
    sides = (truth, pred)
    if not are_read_by_default(*sides) or any(s.unit != "px" or s.regions.kept != "xywh" for s in sides):
        return
    are_alike = min(map(len, sides)) >= FEWEST_LINES and all(are_like_corners(s.regions.values, ALONG) for s in sides)
    is_certain = are_alike and all(
        share_of_narrow(s.regions.values) >= NARROW or are_like_corners(s.regions.values, CLEARLY_ALONG) for s in sides
    )
    are_near = all(share_of_narrow(s.regions.values, AWAY) >= FEW_AWAY for s in sides)
    fill_images = min(map(len, sides)) >= FEWEST_LINES and not are_alike and not are_near
    if not (are_alike and are_near) and (fill_images or not fit_both_readings(truth, pred)):
        return
    lines = len(truth) + len(pred)
    what = "lines" if truth.source.format == pred.source.format == "text" else "boxes"
    corners, widths = Reading("xyxy").words, Reading("xywh").words
    suspicion = (
        f"look like {corners} read as {widths}" if is_certain else f"fit two formats, {widths} (as read) and {corners}"
    )
    if IS_COMMAND_LINE.get():
        fixes = [f"--truth-boxes {layout} --pred-boxes {layout}" for layout in ("xyxy", "xywh")]
    else:
        fixes = [f'boxes="{layout}" for both sides' for layout in ("xyxy", "xywh")]
    yield Finding(
        "V101",
        "error" if is_certain else "warning",
        f"the boxes of both sides {suspicion}: the second point exceeds the first in all {lines:,} {what}",
        lines,
        tuple(spell_box(numbers) for numbers in truth.regions.values[:EXAMPLES]),
        f"add {fixes[0]}, or {fixes[1]} if they are widths and heights",
    )


def share_of_narrow(values: Floats, farther: float = FARTHER) -> float:
    """Return the share of boxes whose second point exceeds the first by less than a quarter, in x or in y.

    Such corners are of objects far from the origin, as are found in most images. Widths and heights of large objects
    in the middle of images of many sizes exceed their left and top as well, and correlate with them, but not so. Of
    objects that fill images of many sizes, no second point is below twice the first.
    """
    first, second = values[:, :2], values[:, 2:]
    return float(((second > first) & (second < farther * first)).any(axis=1).mean())


def fit_both_readings(truth: Annotations, pred: Annotations) -> bool:
    """Whether all boxes of both sides may be corners, and reach much farther when read as left, top, width, height.

    Where image sizes are known, boxes outside the image show the format (V114) instead.
    """
    if truth.images.sized or min(len(truth), len(pred)) < FEW_LINES:
        return False
    values = np.concatenate([truth.regions.values, pred.regions.values])
    first, second = values[:, :2], values[:, 2:]
    if not np.isfinite(values).all() or not np.all(second > first):
        return False
    if count_different(truth.regions.values[:MOST_LINES], truth.image[:MOST_LINES].astype(np.int64)) < FEW_LINES:
        return False
    return bool(np.any((first + second).max(axis=0) > FARTHER * second.max(axis=0)))


def count_different(corners: Floats, image: Ints) -> int:
    """Count objects that are not the same one in another frame: of boxes with IoU ≥ 0.5 in other images, the first.

    A box that has such an IoU with one of the image before is the same object too, however far it has moved since.
    """
    overlaps = _core.box_iou(np.ascontiguousarray(corners), np.ascontiguousarray(corners)) >= MATCHED_IOU
    is_same = overlaps & (image[:, None] != image[None, :])
    is_moved = (overlaps & (image[:, None] == image[None, :] + 1)).any(axis=1)
    kept: list[int] = []
    for i in range(len(corners)):
        if not is_moved[i] and not is_same[i, kept].any():
            kept.append(i)
    return len(kept)


FEWEST_OUTSIDE = 5  # boxes before their format is called wrong

BEYOND = 0.1  # share of boxes outside their images from which the format is in question

ALONG_IMAGE = 0.0  # rank correlation of first and second point, relative to the image, that corners exceed

RARE = 0.001  # share of objects below which a finding is a note

AMODAL = ("mot",)  # formats whose boxes go on beyond the image by design

STILL_OUTSIDE = 0.2  # share of the boxes outside their image that may still be, if they are corners

# Predictions that may lie entirely outside, and their share: not all detectors clip their boxes.
FEW_LOST, LOST = 2, 0.1

MOSTLY_LOST = 0.5  # share of the predictions leaving their image that lie entirely outside, where images are wrong

TURNED_IMAGES = 3  # images whose boxes fit only the rotated image, before the orientation is in question


def find_outside(side: Side) -> Iterator[Finding]:
    """Find boxes that leave their image by more than 10 % of its side (V109).

    A warning for any ground-truth box. For predictions only if more than two and more than 10 % lie entirely outside,
    and most of those that leave the image do: boxes that a detector did not clip leave it in part. Else a note.

    That the boxes are corners is said only if nearly all stay inside then, and no polygon or mask shows their extent.
    To clip them is not advised if they are many.
    """
    tally, beyond = side.tally("outside"), side.count("beyond")
    are_lost = beyond > max(FEW_LOST, LOST * len(side)) and beyond > MOSTLY_LOST * tally.count
    lost = f", {beyond:,} of them entirely" if beyond else ""
    message = f"{count_boxes(side, tally, 'leave')} the image by more than 10 % of its side{lost}"
    severity: Severity = "warning" if side.is_truth or are_lost else "note"
    are_many = tally.count >= max(FEWEST_OUTSIDE, BEYOND * len(side))
    remedy = f"clip them to their images ({fix_file()}), or check the image names and sizes"
    if are_many:
        remedy = "check the image names and sizes, and the box format; so many boxes should not be clipped"
    regions = side.annotations.regions
    if side.annotations.source.format in AMODAL or tally.count < RARE * len(side):
        severity = "note"
    if side.annotations.source.format in AMODAL:
        remedy = "no action needed: boxes of this format include what lies outside of the image"
    if are_many and regions.kept == "xywh" and regions.has_only_boxes:
        values, images = np.asarray(regions.values), side.annotations.images
        sizes = np.stack([images.widths, images.heights], axis=1)[side.annotations.image]
        still = int(((sizes > 0).all(axis=1) & (values[:, 2:] > (1 + BEYOND) * sizes).any(axis=1)).sum())
        if np.all(values[:, 2:] > values[:, :2]) and still <= STILL_OUTSIDE * tally.count:
            corners = Fix(side.name, (("boxes", "xyxy"),))
            remedy = (
                f"are these {Reading('xyxy').words}? the second point exceeds the first in all {len(side):,} boxes; "
                f"if so, add {corners.as_options() if IS_COMMAND_LINE.get() else corners.as_python()}"
            )
    yield found_boxes(side, "V109", severity, message, tally, remedy)


def find_impossible_layout(side: Side) -> Iterator[Finding]:
    """Find boxes that leave their images as left, top, width, height, but not as corners (V114).

    The second point must also correlate with the first, as widths and heights would not.
    """
    annotations, tally = side.annotations, side.tally("outside")
    regions = annotations.regions
    if len(side) < FEWEST_OUTSIDE or tally.count < BEYOND * len(side) or regions.kept != "xywh":
        return
    sizes = image_sizes(side)
    if not np.all(sizes > 0) or leave(regions.values, sizes).any():
        return
    if not are_like_corners(regions.values / np.tile(sizes, 2), ALONG_IMAGE):
        return
    takes_option = annotations.source.format not in ("voc", "openimages")
    yield Finding(
        "V114",
        "error",
        f"{whose(side.name)} boxes cannot be {Reading('xywh').words}: {tally.count:,} of {len(side):,} leave their "
        f"image as read, none when read as {Reading('xyxy').words}",
        tally.count,
        tuple(spell_box(regions.values[row]) for row in tally.rows),
        Fix(side.name, (("boxes", "xyxy"),)) if takes_option else "write them as the format requires",
        side.name,
    )


def find_turned_images(side: Side) -> Iterator[Finding]:
    """Find images rotated by 90°: boxes leave them as they are, and fit if width and height are swapped (V108).

    Predictions must do so in several places: an unclipped prediction of one object leaves many frames of a video alike.
    """
    images, sizes, boxes = side.annotations.image, image_sizes(side), side.annotations.regions.boxes
    leaves, fits = leave(boxes, sizes), ~leave(boxes, sizes[:, ::-1])
    wrong = np.unique(images[leaves & (sizes > 0).all(axis=1)])
    if len(wrong) < TURNED_IMAGES or not fits[np.isin(images, wrong)].all():
        return
    rows = np.flatnonzero(leaves)
    rows = rows[np.unique(images[rows], return_index=True)[1]]
    if (
        not side.is_truth
        and count_different(boxes[rows[:MOST_LINES]], images[rows[:MOST_LINES]].astype(np.int64)) < TURNED_IMAGES
    ):
        return
    examples = [
        f"{image_name(side.annotations, row)}: {sizes[row, 0]:g} x {sizes[row, 1]:g}, box to "
        f"{boxes[row, 2]:g}, {boxes[row, 3]:g}"
        for row in rows.tolist()
    ]
    yield Finding(
        "V108",
        "warning",
        f"{len(wrong):,} images look rotated by 90°: boxes fit only if width and height are swapped",
        len(wrong),
        tuple(examples[:EXAMPLES]),
        "was the EXIF orientation applied on one side only?",
        side.name,
    )


def image_sizes(side: Side) -> Floats:
    """Return width and height of each object's image, [object, 2]."""
    images = side.annotations.images
    return np.stack([images.widths, images.heights], axis=1)[side.annotations.image].astype(np.float64)


def leave(boxes: Floats, sizes: Floats) -> np.ndarray:
    """Mark boxes, as corners, that leave their images by more than 10 % of a side."""
    return np.asarray(((boxes[:, :2] < -EDGE * sizes) | (boxes[:, 2:] > (1 + EDGE) * sizes)).any(axis=1))


FEWEST_PAIRS = 5  # pairs of boxes before angles are called reversed

TURNED_IOU = 0.05  # change of IoU below which a pair says nothing, as of upright or square boxes

MOSTLY = 0.8  # share of the pairs whose IoU must grow

BETTER = 0.1  # by how much the mean IoU must grow


def find_mirrored_angles(pair: Pair) -> Iterator[Finding]:
    """Find rotated boxes whose IoU with the ground truth is far higher with another angle or exchanged sides.

    The opposite angle (V431), width and height exchanged (V118), and both are tried; the best is named, and its remedy
    printed, only if it beats the others clearly.
    """
    truth, pred = quads_of(pair.truth.regions), quads_of(pair.pred.regions)
    if truth is None or pred is None:
        return
    matches = np.array(list(nearest(pair)), dtype=np.int64).reshape(-1, 2)
    first, second = truth[matches[:, 0]], pred[matches[:, 1]]
    centre = second.mean(axis=1, keepdims=True)
    offset = second - centre
    exchanged = np.asarray(centre + np.stack([-offset[..., 1], offset[..., 0]], axis=-1))  # rotated by 90°
    tried = {"as read": second, "opposite": mirrored(second), "exchanged": exchanged, "both": mirrored(exchanged)}
    flat = np.ascontiguousarray(first.reshape(-1, 8))
    overlaps = {name: _core.quad_iou(flat, np.ascontiguousarray(q.reshape(-1, 8))) for name, q in tried.items()}
    plain = overlaps.pop("as read")
    best = max(overlaps, key=lambda name: float(overlaps[name].sum()))
    turned = overlaps[best]
    differ = np.abs(plain - turned) > TURNED_IOU
    if differ.sum() < FEWEST_PAIRS or turned[differ].mean() < plain[differ].mean() + BETTER:
        return
    better = int((turned > plain)[differ].sum())
    if better < MOSTLY * differ.sum():
        return
    rivals = [float(overlap[differ].mean()) for name, overlap in overlaps.items() if name != best]
    is_clear = float(turned[differ].mean()) >= max(rivals) + TURNED_IOU
    evidence = f"mean IoU {plain[differ].mean():.2f} as read, {turned[differ].mean():.2f}"
    count = f"({int(differ.sum()):,} pairs)"
    remedy: Fix | str
    if best == "opposite":
        code, message = "V431", f"angles have the opposite direction: {evidence} with predictions rotated the other way"
        remedy = opposite_angle(pair)
    else:
        also = " and the angle reversed" if best == "both" else ""
        code, message = "V118", f"rotated boxes have width and height exchanged: {evidence} with them exchanged{also}"
        remedy = f"write width before height, as the angle is that of the width{also and '; reverse the angle'}"
    if not is_clear:
        remedy = "compare how both files define width, height and angle: several readings fit about as well"
    yield Finding(code, "error", f"{message} {count}", better, (), remedy)


def mirrored(quads: Floats) -> Floats:
    """Return rotated boxes with the opposite angle: reflected at the horizontal through their centres."""
    other = quads.copy()
    other[..., 1] = 2 * quads.mean(axis=1)[:, None, 1] - quads[..., 1]
    return other


def opposite_angle(pair: Pair) -> Fix:
    """Return the argument that reverses the predictions' angles, or the ground truth's where only it has angles."""
    sides: tuple[tuple[SideName, Annotations], ...] = (("pred", pair.pred), ("truth", pair.truth))
    for name, side in sides:
        for note in side.source.notes:
            if note.startswith(FIVE_NUMBERS):
                unit = "radians" if "radians" in note else "degrees"
                return Fix(name, (("angle", unit if "counterclockwise" in note else f"{unit}-ccw"),))
    return Fix("pred", (("angle", "degrees-ccw"),))
