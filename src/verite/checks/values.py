"""What is wrong with the values of one file, whatever the other file says?

The census has counted; here the first few rows of each fault are put into words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verite.checks.check import EXAMPLES, Finding, Severity, every_check
from verite.checks.sample import Side, Tally
from verite.model.annotations import Annotations


def find_annotators(side: Side) -> Iterator[Finding]:
    """Objects of several annotators in one ground truth, each object once per annotator."""
    found = side.annotations.source.annotators
    if found is None:
        return
    counts = [f"{name}: {count:,} objects" for name, count in found.counts]
    message = (
        f"{len(found.counts)} annotators ({found.key!r}) are pooled in one ground truth of {len(side.annotations):,} "
        f"objects: {found.images:,} images were annotated by several, so that an object may count once per annotator"
    )
    fix = f"write a file per annotator, with the objects of one {found.key} and the images it annotated, or merge them"
    yield Finding("V223", "warning", message, found.images, tuple(counts[:EXAMPLES]), fix, "truth")


def find_flaws(side: Side) -> Iterator[Finding]:
    """A finding for each kind of record that is not among the annotations."""
    severities = {check.code: check.severity for check in every_check()}
    remedies = {check.code: check.remedy for check in every_check()}
    for flaw in side.annotations.source.flaws:
        what = "record is" if flaw.count == 1 else "records are"
        message = f"{flaw.count:,} {what} left out: {flaw.what}"
        remedy = flaw.remedy or remedies[flaw.code]
        yield Finding(flaw.code, severities[flaw.code], message, flaw.count, flaw.places, remedy, side.name)


MASS = 0.05  # share of boxes from which a flaw is how the file was written, not a slip

RARE = 0.001  # share of objects below which an impossible area or an object that is there twice is a slip

FEW = 0.01  # share of predictions up to which boxes without a size are a detector's own business

# Formats that have no confidences, for tasks that need none.
UNRANKED = ("panoptic", "imagenet-loc", "mask-pictures", "voc-segmentation", "cityscapes")


def find_not_finite(side: Side) -> Iterator[Finding]:
    tally = side.tally("not_finite")
    message = f"{count_boxes(side, tally)} coordinates that are NaN or infinite, or too large to have an area"
    yield found_boxes(side, "V111", "error", message, tally, "remove these boxes, or find out why they were written")


def find_negative_sizes(side: Side) -> Iterator[Finding]:
    tally = side.tally("negative")
    is_mass = tally.count > 1 and tally.count >= MASS * len(side)
    is_corners = side.annotations.regions.kept == "xyxy"
    remedy = "write the smaller corner first: x1 <= x2, y1 <= y2"
    if is_corners and tally.count >= MASS * len(side):  # a few are slips of single boxes
        remedy += ", or are these widths and heights? then leave out boxes=xyxy"
    message = f"{count_boxes(side, tally)} a negative width or height"
    yield found_boxes(side, "V106", "error" if is_mass else "warning", message, tally, remedy)


def find_zero_sizes(side: Side) -> Iterator[Finding]:
    tally = side.tally("zero_size")
    message = f"{count_boxes(side, tally)} no width or no height, so that nothing can overlap them"
    yield found_boxes(
        side, "V110", mild(side, tally, FEW), message, tally, "remove them, or find out why they were written"
    )


def find_odd_areas(side: Side) -> Iterator[Finding]:
    """Stated areas that cannot be those of the objects: 0 or below, far below the box, or larger than it."""
    area = side.annotations.area
    if area is None:
        return
    columns = side.annotations.columns
    # A box around keypoints may be smaller than the object.
    large = side.tally("large_area") if columns.regions.has_all_boxes else Tally(0, ())
    for tally, least, what in (
        (side.tally("no_area"), 1, "of 0 or below"),
        (side.tally("small_area"), MASS * len(side), "of less than a hundredth of their box"),
        (large, 1, "larger than their box, which is impossible"),
    ):
        if not tally.count or tally.count < least:
            continue
        sizes = [columns.describe(row)[1] for row in tally.rows]
        if side.annotations.regions.kept == "xyxy":
            sizes = [[x1, y1, x2 - x1, y2 - y1] for x1, y1, x2, y2 in sizes]
        yield Finding(
            "V113",
            "note" if what.startswith("larger") and tally.count < RARE * len(side) else "warning",
            f"{tally.count:,} of {len(side):,} objects have a stated area {what}; it decides whether they are small",
            tally.count,
            tuple(
                f"{object_name(side, row)}: area {area[row]:g}, box {width:g} x {height:g}"
                for row, (_, _, width, height) in zip(tally.rows, sizes, strict=True)
            ),
            "write the region's area in square pixels, or leave it out",
            side.name,
        )


def find_repeated_ids(side: Side) -> Iterator[Finding]:
    tally = side.tally("repeated_ids")
    ids = side.annotations.ids
    assert ids is not None
    yield Finding(
        "V216",
        "error",
        f"{tally.count:,} of {len(side):,} objects have an id that an earlier one has, too",
        tally.count,
        tuple(f"id {ids[row]} again in {image_name(side.annotations, row)}" for row in tally.rows),
        "give every object its own id; were two files put together?",
        side.name,
    )


def find_repeated_objects(side: Side) -> Iterator[Finding]:
    if side.is_truth:
        tally = side.tally("twins")
        message = f"{count_boxes(side, tally, 'nearly coincide')} with another one of the same class"
        severity: Severity = "note" if tally.count < RARE * len(side) else "warning"
        yield found_boxes(side, "V306", severity, message, tally, "is the same object there twice? leave one out")
        return
    tally, sampled = side.tally("repeated"), side.count("sampled")
    if tally.count < MASS * sampled:
        return
    message = (
        f"{tally.count:,} of {sampled:,} predictions looked at are there twice, with the same box, class and confidence"
    )
    yield found_boxes(side, "V306", "warning", message, tally, "was the file put together from files that overlap?")


def find_missing_confidences(side: Side) -> Iterator[Finding]:
    if side.annotations.source.format in UNRANKED:
        return
    tally = side.tally("unscored")
    remedy = "write the detector's confidence with every box"
    said = next((note for note in side.annotations.source.notes if note.endswith("have score")), "")
    remedy += f": {said}" if said else " (is this a file of truths?)" if tally.count == len(side) else ""
    message = f"{tally.count:,} of {len(side):,} predictions have no confidence"
    yield found_boxes(side, "V301", "error", message, tally, remedy)


def find_strange_confidences(side: Side) -> Iterator[Finding]:
    tally = side.tally("confidence_not_finite")
    message = f"{tally.count:,} of {len(side):,} confidences are NaN or infinite"
    remedy = "a ranking needs numbers: remove these predictions, or find out why the detector wrote them"
    yield Finding("V302", "error", message, tally.count, confidence_examples(side, tally.rows), remedy)


def find_id_zero(side: Side) -> Iterator[Finding]:
    """Ours takes any id; the reference takes 0 for "not found"."""
    ids = side.annotations.ids
    rows = [] if ids is None else [row for row, id in enumerate(ids.tolist()) if id == 0]
    if rows:
        yield Finding(
            "V217",
            "note",
            "an object has the id 0, which pycocotools takes for no match: it counts it as missed, found or not",
            len(rows),
            tuple(object_name(side, row) for row in rows),
            "count ids from 1, if others are to get the same numbers",
            side.name,
        )


def find_no_areas(side: Side) -> Iterator[Finding]:
    """Where a COCO file has no areas, those of the boxes decide what is small."""
    if side.annotations.area is None and side.annotations.source.format == "coco" and len(side):
        message = "no object has a stated area: that of its box, or of its mask, decides whether it is small"
        remedy = "nothing, or write the region's area in square pixels"
        yield Finding("V417", "note", message, len(side), (), remedy, side.name)


def find_constant_confidences(side: Side) -> Iterator[Finding]:
    tally = side.tally("constant")
    message = f"all {tally.count:,} predictions have the same confidence, so that their order is that of the file"
    remedy = "write the detector's own confidences; AP is a number about their order"
    yield Finding("V304", "warning", message, tally.count, confidence_examples(side, tally.rows[:1]), remedy)


def find_large_confidences(side: Side) -> Iterator[Finding]:
    tally = side.tally("above_one")
    message = f"{tally.count:,} of {len(side):,} confidences are above 1"
    remedy = "percent or logits? only their order counts here"
    yield Finding("V303", "note", message, tally.count, confidence_examples(side, tally.rows), remedy)


def mild(side: Side, tally: Tally, share: float) -> Severity:
    """A truth is to have no such box; of a detector's boxes a share may be odd."""
    return "warning" if side.is_truth or tally.count > share * len(side) else "note"


def found_boxes(side: Side, code: str, severity: Severity, message: str, tally: Tally, remedy: str) -> Finding:
    """A finding whose examples are boxes."""
    return Finding(code, severity, message, tally.count, box_examples(side, tally.rows), remedy, side.name)


def count_boxes(side: Side, tally: Tally, verb: str = "have") -> str:
    """How many of how many boxes do what follows."""
    one = {"have": "has", "leave": "leaves", "nearly coincide": "nearly coincides"}
    return f"{tally.count:,} of {len(side):,} boxes {one[verb] if tally.count == 1 else verb}"


def box_examples(side: Side, rows: Sequence[int]) -> tuple[str, ...]:
    """Boxes with their images and ids, in numbers as the file has them."""
    label = "x1 y1 x2 y2" if side.annotations.regions.kept == "xyxy" else "x y w h"
    boxes = (side.annotations.columns.describe(row)[1] for row in rows)
    return tuple(f"{object_name(side, row)}: {label} = {spell_box(box)}" for row, box in zip(rows, boxes, strict=True))


def confidence_examples(side: Side, rows: Sequence[int]) -> tuple[str, ...]:
    annotations = side.annotations
    return tuple(f"{image_name(annotations, row)}: {annotations.columns.describe(row)[2]:g}" for row in rows)


def object_name(side: Side, row: int) -> str:
    """The image, and the object's id if it has one."""
    _, _, _, id = side.annotations.columns.describe(row)
    return image_name(side.annotations, row) + (f", id {id}" if id is not None and side.is_truth else "")


def image_name(annotations: Annotations, row: int) -> str:
    return annotations.images.name(annotations.columns.describe(row)[0])


def spell_box(numbers: Sequence[float]) -> str:
    return " ".join(f"{v:.6g}" for v in numbers)
