"""Checks of one file alone: boxes, areas, ids, duplicates and confidences with impossible or unlikely values.

The compiled core counts anomalies in one pass (`Side.anomalies`); here each count becomes a finding with examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verite.checks.check import EXAMPLES, Finding, Severity, every_check
from verite.checks.sample import Side, Tally
from verite.errors import spell_option
from verite.model.annotations import Annotations


def find_annotators(side: Side) -> Iterator[Finding]:
    """Find a ground truth that pools several annotators of the same images (V223)."""
    found = side.annotations.source.annotators
    if found is None:
        return
    counts = [f"{name}: {count:,} objects" for name, count in found.counts]
    message = (
        f"{len(found.counts)} annotators ({found.key!r}) are pooled in one ground truth of {len(side.annotations):,} "
        f"objects: {found.images:,} images have several annotators, so an object may count once per annotator"
    )
    name = found.counts[0][0]
    fix = f"evaluate against one annotator: {spell_option('annotator', f'{found.key}={name}')}"
    yield Finding("V223", "warning", message, found.images, tuple(counts[:EXAMPLES]), fix, "truth")


def find_skipped_records(side: Side) -> Iterator[Finding]:
    """Report each kind of record that the reader skipped while collecting errors (V402 and codes of the readers)."""
    severities = {check.code: check.severity for check in every_check()}
    remedies = {check.code: check.remedy for check in every_check()}
    for flaw in side.annotations.source.flaws:
        message = f"{flaw.count:,} {'record' if flaw.count == 1 else 'records'} skipped: {flaw.what}"
        remedy = flaw.remedy or remedies[flaw.code]
        yield Finding(flaw.code, severities[flaw.code], message, flaw.count, flaw.places, remedy, side.name)


MASS = 0.05  # share of boxes from which an anomaly is systematic

RARE = 0.001  # share of objects below which impossible areas and duplicates are isolated errors

FEW = 0.01  # share of predictions with zero size that detectors write normally

# Formats without confidences, for tasks that need none.
UNRANKED = ("panoptic", "imagenet-loc", "mask-pictures", "voc-segmentation", "cityscapes")


def find_not_finite(side: Side) -> Iterator[Finding]:
    """Find NaN, infinite or overflowing coordinates (V111)."""
    tally = side.tally("not_finite")
    message = f"{count_boxes(side, tally)} coordinates that are NaN or infinite, or too large to have an area"
    yield found_boxes(side, "V111", "error", message, tally, "remove these boxes, or correct the export")


def find_negative_sizes(side: Side) -> Iterator[Finding]:
    """Find negative widths and heights (V106): an error from 5 % of the boxes, else a warning."""
    tally = side.tally("negative")
    is_mass = tally.count > 1 and tally.count >= MASS * len(side)
    is_corners = side.annotations.regions.kept == "xyxy"
    remedy = "write the smaller corner first: x1 <= x2, y1 <= y2"
    if is_corners and tally.count >= MASS * len(side):
        remedy += ", or are these widths and heights? then remove boxes=xyxy"
    message = f"{count_boxes(side, tally)} a negative width or height"
    yield found_boxes(side, "V106", "error" if is_mass else "warning", message, tally, remedy)


def find_zero_sizes(side: Side) -> Iterator[Finding]:
    """Find boxes with zero width or height (V110): a note for up to 1 % of the predictions, else a warning."""
    tally = side.tally("zero_size")
    message = f"{count_boxes(side, tally)} zero width or height and cannot be matched"
    is_rare = tally.count < RARE * len(side)
    severity: Severity = "warning" if (side.is_truth and not is_rare) or tally.count > FEW * len(side) else "note"
    yield found_boxes(
        side,
        "V110",
        severity,
        message,
        tally,
        f"remove them, or correct the export; points: {spell_option('on', 'point')}",
    )


def find_odd_areas(side: Side) -> Iterator[Finding]:
    """Find stated areas that are not positive, far below the area of the box, or larger than it (V113)."""
    area = side.annotations.area
    if area is None:
        return
    columns = side.annotations.columns
    # Boxes around keypoints may be smaller than the object.
    large = side.tally("large_area") if columns.regions.has_all_boxes else Tally(0, ())
    for tally, least, what in (
        (side.tally("no_area"), 1, "of zero or below"),
        (side.tally("small_area"), MASS * len(side), "of less than 1 % of their box"),
        (large, 1, "larger than their box"),
    ):
        if not tally.count or tally.count < least:
            continue
        sizes = [columns.describe(row)[1] for row in tally.rows]
        if side.annotations.regions.kept == "xyxy":
            sizes = [[x1, y1, x2 - x1, y2 - y1] for x1, y1, x2, y2 in sizes]
        yield Finding(
            "V113",
            "note" if what.startswith("larger") and tally.count < RARE * len(side) else "warning",
            f"{tally.count:,} of {len(side):,} objects have a stated area {what}; it decides their area range",
            tally.count,
            tuple(
                f"{object_name(side, row)}: area {area[row]:g}, box {width:g} x {height:g}"
                for row, (_, _, width, height) in zip(tally.rows, sizes, strict=True)
            ),
            "write the area of the polygon or mask in square pixels, or remove it",
            side.name,
        )


def find_repeated_ids(side: Side) -> Iterator[Finding]:
    """Find object ids that occur twice (V216)."""
    tally = side.tally("repeated_ids")
    ids = side.annotations.ids
    assert ids is not None
    yield Finding(
        "V216",
        "error",
        f"{tally.count:,} of {len(side):,} objects have the id of an earlier object",
        tally.count,
        tuple(f"id {ids[row]} again in {image_name(side.annotations, row)}" for row in tally.rows),
        "give every object its own id; were two files concatenated?",
        side.name,
    )


def find_repeated_objects(side: Side) -> Iterator[Finding]:
    """Find duplicates (V306): ground-truth boxes that nearly coincide, and exact duplicates among predictions."""
    if side.is_truth:
        tally = side.tally("twins")
        message = f"{count_boxes(side, tally, 'nearly coincide')} with another one of the same class"
        severity: Severity = "note" if tally.count < RARE * len(side) else "warning"
        yield found_boxes(
            side, "V306", severity, message, tally, "if an object is annotated twice, remove one annotation"
        )
        return
    tally, sampled = side.tally("repeated"), side.count("sampled")
    if tally.count < MASS * sampled:
        return
    message = (
        f"{tally.count:,} of {sampled:,} sampled predictions are exact duplicates (same box, class and confidence)"
    )
    yield found_boxes(side, "V306", "warning", message, tally, "was the file concatenated from overlapping files?")


F1_COMMAND = "verite f1 (vt.f1)"  # precision, recall and F1, which need no confidences


def find_missing_confidences(side: Side) -> Iterator[Finding]:
    """Find predictions without a confidence (V301)."""
    if side.annotations.source.format in UNRANKED:
        return
    tally = side.tally("unscored")
    remedy = "write the detector's confidence with every box"
    note = next((note for note in side.annotations.source.notes if note.endswith("have score")), "")
    remedy += f": {note}" if note else " (is this a ground-truth file?)" if tally.count == len(side) else ""
    if tally.count == len(side):
        remedy = f"{F1_COMMAND} evaluates predictions without confidences; for AP, {remedy}"
    message = f"{tally.count:,} of {len(side):,} predictions have no confidence"
    yield found_boxes(side, "V301", "error", message, tally, remedy)


def find_not_finite_confidences(side: Side) -> Iterator[Finding]:
    """Find NaN and infinite confidences (V302)."""
    tally = side.tally("confidence_not_finite")
    message = f"{tally.count:,} of {len(side):,} confidences are NaN or infinite"
    remedy = "remove these predictions, or correct the export: the ranking needs finite numbers"
    yield Finding("V302", "error", message, tally.count, confidence_examples(side, tally.rows), remedy)


def find_id_zero(side: Side) -> Iterator[Finding]:
    """Note an object with id 0, which verite accepts and pycocotools treats as unmatched (V217)."""
    ids = side.annotations.ids
    rows = [] if ids is None else [row for row, id in enumerate(ids.tolist()) if id == 0]
    if rows:
        yield Finding(
            "V217",
            "note",
            "an object has id 0, which pycocotools treats as unmatched: a false negative even if it is matched",
            len(rows),
            tuple(object_name(side, row) for row in rows),
            "start ids at 1 to get the same numbers from pycocotools",
            side.name,
        )


def find_no_areas(side: Side) -> Iterator[Finding]:
    """Note a COCO file without `area` (V417)."""
    if side.annotations.area is None and side.annotations.source.format in ("coco", "coco-folder") and len(side):
        message = "no object has a stated area: the area of its box or mask decides its area range"
        remedy = "no action needed, or write the area of the polygon or mask in square pixels"
        yield Finding("V417", "note", message, len(side), (), remedy, side.name)


def find_constant_confidences(side: Side) -> Iterator[Finding]:
    """Find predictions that all have the same confidence (V304)."""
    tally = side.tally("constant")
    message = f"all {tally.count:,} predictions have the same confidence, so their ranking is the order of the file"
    remedy = "write the detector's own confidences; AP measures the ranking"
    yield Finding("V304", "warning", message, tally.count, confidence_examples(side, tally.rows[:1]), remedy)


def find_large_confidences(side: Side) -> Iterator[Finding]:
    """Note confidences above 1 (V303)."""
    tally = side.tally("above_one")
    message = f"{tally.count:,} of {len(side):,} confidences are above 1"
    remedy = "percent or logits? only their order matters for AP"
    yield Finding("V303", "note", message, tally.count, confidence_examples(side, tally.rows), remedy)


def found_boxes(side: Side, code: str, severity: Severity, message: str, tally: Tally, remedy: str) -> Finding:
    """Make a finding whose examples are boxes, in the numbers and the format of the file.

    Parameters
    ----------
    side
        The side that was checked.
    code
        Code of the check.
    severity
        `error`, `warning` or `note`.
    message
        What is wrong.
    tally
        Number of objects with the anomaly, and the rows of the first few.
    remedy
        What to do.
    """
    label = "x1 y1 x2 y2" if side.annotations.regions.kept == "xyxy" else "x y w h"
    examples = tuple(
        f"{object_name(side, row)}: {label} = {spell_box(side.annotations.columns.describe(row)[1])}"
        for row in tally.rows
    )
    return Finding(code, severity, message, tally.count, examples, remedy, side.name)


def count_boxes(side: Side, tally: Tally, verb: str = "have") -> str:
    """Begin a message: "3 of 10 boxes have", with the verb in the right number."""
    one = {"have": "has", "leave": "leaves", "nearly coincide": "nearly coincides"}
    return f"{tally.count:,} of {len(side):,} boxes {one[verb] if tally.count == 1 else verb}"


def confidence_examples(side: Side, rows: Sequence[int]) -> tuple[str, ...]:
    """Describe predictions by image and confidence."""
    annotations = side.annotations
    return tuple(f"{image_name(annotations, row)}: {annotations.columns.describe(row)[2]:g}" for row in rows)


def object_name(side: Side, row: int) -> str:
    """Name an object by its image, and by its id if it is ground truth with ids."""
    id = side.annotations.columns.describe(row)[3]
    return image_name(side.annotations, row) + (f", id {id}" if id is not None and side.is_truth else "")


def image_name(annotations: Annotations, row: int) -> str:
    """Return the name of an object's image."""
    return annotations.images.name(annotations.columns.describe(row)[0])


def spell_box(numbers: Sequence[float]) -> str:
    """Format the four numbers of a box."""
    return " ".join(f"{v:.6g}" for v in numbers)
