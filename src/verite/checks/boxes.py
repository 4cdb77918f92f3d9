"""Are the boxes read the way they were written? (V101-V105)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from verite import _core
from verite.checks.check import EXAMPLES, Finding, Fix, Severity, SideName
from verite.checks.evidence import Hypothesis, boxes_under
from verite.checks.misread_boxes import looks_like_fractions, looks_like_pixels
from verite.checks.readings import NAMES, Reading, are_like_corners, code_of, fix_of
from verite.checks.regions import nearest
from verite.checks.sample import EDGE, Pair, Sample, Side, are_read_by_default
from verite.checks.values import count_boxes, found_boxes, image_name, spell_box
from verite.errors import IS_COMMAND_LINE
from verite.model.annotations import Annotations
from verite.model.layouts import Floats
from verite.model.rotated_boxes import FIVE_NUMBERS, quads_of

if TYPE_CHECKING:
    from verite.checks.sample import Pair


FEWEST_LINES = 20  # before boxes are said to look like corners by themselves

FEW_LINES = 3  # of the ground truth, before boxes are said to fit both readings

FARTHER = 1.25  # times as far as corners reach, from which widths and heights leave a plausible image

ALONG = 0.5  # correlation of first and second points that corners exceed, where no image says where it ends


def find_misread_boxes(pair: Pair) -> Iterator[Finding]:
    """The reading that explains the overlaps, or what can be said without one."""
    truth, pred, sample, (plain, found) = pair.truth, pair.pred, pair.sample, pair.explanations
    if sample is None or plain is None:
        return
    own = {"truth": sample.truth.reading, "pred": sample.pred.reading}
    if found is not None and found.reading != own[found.side]:
        side = truth if found.side == "truth" else pred
        was = own[found.side]
        yield Finding(
            code_of(was, found.reading),
            "error",
            f"{whose(found.side)} boxes look like {found.reading.words} read as {was.words}: "
            f"{percent(plain)} of {plain.possible:,} sampled objects are found as read, {percent(found)} so",
            len(side),
            examples(truth, pred, sample, plain, found),
            fix_of(found.side, side.source.format, was, found.reading),
            found.side,
        )
        return
    yield from fractions(truth, pred, sample)
    yield from corners_on_both_sides(truth, pred)


def whose(side: SideName) -> str:
    return "the truth's" if side == "truth" else "the predictions'"


def percent(e: Hypothesis) -> str:
    return f"{100 * min(1.0, e.found / max(e.possible, 1)):.0f} %"


def examples(
    truth: Annotations, pred: Annotations, sample: Sample, plain: Hypothesis, found: Hypothesis
) -> tuple[str, ...]:
    """Truths that win most: the numbers of the side in question, with both overlaps."""
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
            f"{name}: {spell_box(numbers)} overlaps by {plain.overlaps[t]:.2f} as read, {found.overlaps[t]:.2f} so"
        )
    return tuple(lines)


def fractions(truth: Annotations, pred: Annotations, sample: Sample) -> Iterator[Finding]:
    """Coordinates of 0..1 taken for pixels, where overlaps do not say what the four numbers are."""
    groups = {"truth": sample.truth, "pred": sample.pred}
    are_all_within_1 = all(lie_within_1(group.numbers) for group in groups.values())
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
        advice = 'coords="rel" for ' + ("both sides" if is_both else f"the {sides[0]}")
        wants_size = "" if sample.truth.is_sized else " and image_size=(WIDTH, HEIGHT)"
        option = "boxes="
    yield Finding(
        "V103",
        "warning" if is_both else "error",
        ("the boxes of both sides" if is_both else f"{whose(sides[0])} boxes")
        + " look like fractions of the image read as pixels"
        + (": pixel rules and size classes are meaningless for them" if is_both else ""),
        sum(len(truth if side == "truth" else pred) for side in sides),
        tuple(spell_box(numbers) for numbers in groups[sides[0]].numbers[:EXAMPLES]),
        f"add {advice}{wants_size}, and say what the numbers are with {option}: {', '.join(NAMES)}",
    )


def lie_within_1(numbers: Floats) -> bool:
    """Are all numbers from 0 to 1, and not only 0 and 1? However few, these are no pixels."""
    return bool(np.all((numbers >= 0) & (numbers <= 1)) and np.any(numbers % 1 > 0))


def corners_on_both_sides(truth: Annotations, pred: Annotations) -> Iterator[Finding]:
    """Two sides, read by default as width and height, in which the second point always lies behind the first.

    If both sides are wrong in the same way, IoU cannot show it, and the number would be wrong without a word. Many
    lines whose second point moves with the first are corners, which is an error. Otherwise both readings fit, which is
    a warning, where boxes read as width and height leave the image that the corners fill.
    """
    sides = (truth, pred)
    if not are_read_by_default(*sides) or any(s.unit != "px" or s.regions.kept != "xywh" for s in sides):
        return
    is_sure = min(map(len, sides)) >= FEWEST_LINES and all(are_like_corners(s.regions.values, ALONG) for s in sides)
    if not is_sure and not fit_both_readings(truth, pred):
        return
    lines = len(truth) + len(pred)
    what = "lines" if truth.source.format == pred.source.format == "text" else "boxes"
    corners, widths = Reading("xyxy").words, Reading("xywh").words
    said = f"look like {corners} read as {widths}" if is_sure else f"fit two readings, {widths} (as read) and {corners}"
    if IS_COMMAND_LINE.get():
        fixes = [f"--truth-boxes {layout} --pred-boxes {layout}" for layout in ("xyxy", "xywh")]
    else:
        fixes = [f'boxes="{layout}" for both sides' for layout in ("xyxy", "xywh")]
    yield Finding(
        "V101",
        "error" if is_sure else "warning",
        f"the boxes of both sides {said}: the second point lies behind the first in all {lines:,} {what}",
        lines,
        tuple(spell_box(numbers) for numbers in truth.regions.values[:EXAMPLES]),
        f"add {fixes[0]}, or {fixes[1]} if they are widths and heights",
    )


def fit_both_readings(truth: Annotations, pred: Annotations) -> bool:
    """Could all boxes be corners, of an image of unknown size that they leave as left, top, width and height?"""
    if truth.images.sized or len(truth) < FEW_LINES or not len(pred):
        return False
    values = np.concatenate([truth.regions.values, pred.regions.values])
    first, second = values[:, :2], values[:, 2:]
    if not np.isfinite(values).all() or not np.all(second > first):
        return False
    return bool(np.any((first + second).max(axis=0) > FARTHER * second.max(axis=0)))


FEWEST_OUTSIDE = 5  # boxes before their layout is called proven wrong

BEYOND = 0.1  # share of the boxes that leave their images, from which there is something to explain

ALONG_IMAGE = 0.0  # correlation of first and second points, in parts of the image, that corners exceed

LOST = 0.1  # share of predictions that may lie wholly outside: detectors do not all clip, but they look at the image

TURNED_IMAGES = 3  # images whose boxes fit the image lying on its side, before sizes are called exchanged


def find_outside(side: Side) -> Iterator[Finding]:
    """Of a truth every box that leaves its image counts; of predictions those that have no part in it."""
    tally, beyond = side.tally("outside"), side.count("beyond")
    lost = f", {beyond:,} of them wholly" if beyond else ""
    message = f"{count_boxes(side, tally, 'leave')} the image by more than a tenth of its side{lost}"
    severity: Severity = "warning" if side.is_truth or beyond > LOST * len(side) else "note"
    remedy = "clip them to their images (verite inspect FILE --fix OUT), or are these other images, or of another size?"
    regions = side.annotations.regions
    if tally.count >= max(FEWEST_OUTSIDE, BEYOND * len(side)) and regions.kept == "xywh":
        values = np.asarray(regions.values)
        if np.all(values[:, 2:] > values[:, :2]):  # widths and heights of many boxes are not all so large
            remedy = (
                f"are these {Reading('xyxy').words}? the second point lies behind the first in all {len(side):,} "
                f"boxes; then add --{side.name}-boxes xyxy"
            )
    yield found_boxes(side, "V109", severity, message, tally, remedy)


def find_impossible_layout(side: Side) -> Iterator[Finding]:
    """Boxes that leave their images as read, and none of which does when they are read as corners: proof enough."""
    annotations, tally = side.annotations, side.tally("outside")
    regions = annotations.regions
    if len(side) < FEWEST_OUTSIDE or tally.count < BEYOND * len(side) or regions.kept != "xywh":
        return
    sizes = image_sizes(side)
    if not np.all(sizes > 0) or leave(regions.values, sizes).any():
        return
    if not are_like_corners(regions.values / np.tile(sizes, 2), ALONG_IMAGE):
        return
    whose = "the truth's" if side.is_truth else "the predictions'"
    takes_option = annotations.source.format not in ("voc", "openimages")
    yield Finding(
        "V114",
        "error",
        f"{whose} boxes cannot be {Reading('xywh').words}: {tally.count:,} of {len(side):,} leave their "
        f"image as read, none when read as {Reading('xyxy').words}",
        tally.count,
        tuple(spell_box(regions.values[row]) for row in tally.rows),
        Fix(side.name, (("boxes", "xyxy"),)) if takes_option else "write them as the format asks",
        side.name,
    )


def find_turned_images(side: Side) -> Iterator[Finding]:
    """Images that lie on their side: boxes leave them as they are, and fit if width and height change places."""
    images, sizes, boxes = side.annotations.image, image_sizes(side), side.annotations.regions.boxes
    leaves, fits = leave(boxes, sizes), ~leave(boxes, sizes[:, ::-1])
    wrong = np.unique(images[leaves & (sizes > 0).all(axis=1)])
    if len(wrong) < TURNED_IMAGES or not fits[np.isin(images, wrong)].all():
        return
    rows = np.flatnonzero(leaves)
    rows = rows[np.unique(images[rows], return_index=True)[1]]
    examples = [
        f"{image_name(side.annotations, row)}: {sizes[row, 0]:g} x {sizes[row, 1]:g}, box to "
        f"{boxes[row, 2]:g}, {boxes[row, 3]:g}"
        for row in rows.tolist()
    ]
    yield Finding(
        "V108",
        "warning",
        f"{len(wrong):,} images look as if they lay on their side: boxes leave them, and fit if width and height "
        "change places",
        len(wrong),
        tuple(examples[:EXAMPLES]),
        "was the orientation in their EXIF data applied on one side only?",
        side.name,
    )


def image_sizes(side: Side) -> Floats:
    """Width and height of each object's image."""
    images = side.annotations.images
    return np.stack([images.widths, images.heights], axis=1)[side.annotations.image].astype(np.float64)


def leave(boxes: Floats, sizes: Floats) -> np.ndarray:
    """Which boxes, as corners, leave their images."""
    return np.asarray(((boxes[:, :2] < -EDGE * sizes) | (boxes[:, 2:] > (1 + EDGE) * sizes)).any(axis=1))


FEWEST_PAIRS = 5  # pairs before an angle is called mirrored

TURNED_IOU = 0.05  # of an overlap: boxes that are nearly upright or square look the same in the mirror

MOSTLY = 0.8  # share of the pairs that overlap more

BETTER = 0.1  # by how much the mean overlap must grow


def find_mirrored_angles(pair: Pair) -> Iterator[Finding]:
    """Predictions that overlap the truth far better when they turn the other way."""
    truth, pred = quads_of(pair.truth.regions), quads_of(pair.pred.regions)
    if truth is None or pred is None:
        return
    matches = np.array(list(nearest(pair)), dtype=np.int64).reshape(-1, 2)
    first, second = truth[matches[:, 0]], pred[matches[:, 1]]
    other = second.copy()
    other[..., 1] = 2 * second.mean(axis=1)[:, None, 1] - second[..., 1]
    flat = [np.ascontiguousarray(quads.reshape(-1, 8)) for quads in (first, second, other)]
    plain, turned = _core.quad_iou(flat[0], flat[1]), _core.quad_iou(flat[0], flat[2])
    differ = np.abs(plain - turned) > TURNED_IOU
    if differ.sum() < FEWEST_PAIRS or turned[differ].mean() < plain[differ].mean() + BETTER:
        return
    better = int((turned > plain)[differ].sum())
    if better < MOSTLY * differ.sum():
        return
    yield Finding(
        "V431",
        "error",
        f"angles turn the other way: mean overlap {turned[differ].mean():.2f} instead of {plain[differ].mean():.2f} in "
        f"{int(differ.sum()):,} pairs if predictions turn against the way they are read",
        better,
        (),
        f"add {spell_other_way(pair)}",
    )


def spell_other_way(pair: Pair) -> str:
    """The option that reads predictions the other way, or the truth where only it has angles."""
    for option, side in (("--pred-angle", pair.pred), ("--truth-angle", pair.truth)):
        for note in side.source.notes:
            if note.startswith(FIVE_NUMBERS):
                unit = "radians" if "radians" in note else "degrees"
                return f"{option} {unit if 'counterclockwise' in note else f'{unit}-ccw'}"
    return "--pred-angle degrees-ccw"
