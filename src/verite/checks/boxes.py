"""Are the boxes read the way they were written? (V101-V105)"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verite import _core
from verite.checks.explanations import Hypothesis, boxes_under
from verite.checks.findings import EXAMPLES, Finding, Fix, SideName
from verite.checks.hypotheses import looks_like_fractions, looks_like_pixels
from verite.checks.readings import NAMES, Reading, are_like_corners, code_of, fix_of
from verite.checks.sample import Sample
from verite.checks.sides import Pair
from verite.checks.values import spell_box
from verite.model.annotations import Annotations

FEWEST_LINES = 20  # before boxes are said to look like corners by themselves
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
    small = {side: g.reading.measure == "abs" and looks_like_fractions(g.numbers) for side, g in groups.items()}
    if not any(small.values()) or truth.unit == "rel":
        return
    sides: list[SideName] = [side for side in ("pred", "truth") if small[side]]
    if len(sides) == 1 and not looks_like_pixels(groups["truth" if sides == ["pred"] else "pred"].numbers):
        return
    is_both = len(sides) == 2
    advice = " ".join(f"--{side}-coords rel" for side in sides)
    wants_size = "" if sample.truth.is_sized else " and --image-size WIDTH,HEIGHT"
    yield Finding(
        "V103",
        "warning" if is_both else "error",
        ("the boxes of both sides" if is_both else f"{whose(sides[0])} boxes")
        + " look like fractions of the image read as pixels"
        + (": pixel rules and size classes are meaningless for them" if is_both else ""),
        sum(len(truth if side == "truth" else pred) for side in sides),
        tuple(spell_box(numbers) for numbers in groups[sides[0]].numbers[:EXAMPLES]),
        f"add {advice}{wants_size}, and say what the numbers are with --{sides[0]}-boxes: {', '.join(NAMES)}",
    )


def corners_on_both_sides(truth: Annotations, pred: Annotations) -> Iterator[Finding]:
    """Two text folders, read by default as width and height, in which the second point always lies behind the first.

    If both sides are wrong in the same way, overlaps cannot show it, and the number would be wrong without a word.
    """
    sides = (truth, pred)
    if not all(s.source.format == "text" and "the default" in s.source.why and s.unit == "px" for s in sides):
        return
    if min(len(truth), len(pred)) < FEWEST_LINES or not all(are_like_corners(s.regions.values, ALONG) for s in sides):
        return
    fixes = [Fix(side, (("boxes", "xyxy"),)).as_options() for side in ("truth", "pred")]
    yield Finding(
        "V101",
        "error",
        f"the boxes of both sides look like {Reading('xyxy').words} read as {Reading('xywh').words}: "
        f"the second point lies behind the first in all {len(truth) + len(pred):,} lines",
        len(truth) + len(pred),
        tuple(spell_box(numbers) for numbers in truth.regions.values[:EXAMPLES]),
        f"add {' '.join(fixes)}, or --truth-boxes xywh --pred-boxes xywh if they are widths and heights",
    )
