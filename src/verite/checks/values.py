"""What is wrong with one file's values, whatever the other file says? (V106, V111, V301, V302)"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from verite.checks.findings import EXAMPLES, Finding
from verite.model.annotations import Annotations
from verite.model.layouts import Floats

MASS = 0.05  # share of boxes from which a flaw is how the file was written, not a slip
UNRANKED = ("panoptic", "imagenet-loc")  # formats that have no confidences, for tasks that need none
ROUNDING = 1e-6  # a width this far below zero is rounding


def value_findings(annotations: Annotations, *, is_truth: bool) -> Iterator[Finding]:
    """Boxes and confidences that cannot be."""
    values = annotations.regions.values
    low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)  # not a number if any value is not
    if not np.isfinite(low + high):
        yield from not_finite(annotations)
    if annotations.regions.kept == "xyxy" or not low >= 0:
        yield from negative_sizes(annotations)
    if not is_truth:
        yield from missing_confidences(annotations)
        yield from strange_confidences(annotations)


def not_finite(annotations: Annotations) -> Iterator[Finding]:
    rows = np.flatnonzero(~np.isfinite(annotations.regions.values).all(axis=1))
    yield Finding(
        "V111",
        "error",
        f"{boxes(len(rows), annotations)} coordinates that are NaN or infinite",
        len(rows),
        box_examples(annotations, rows),
        "remove these boxes, or find out why they were written",
    )


def negative_sizes(annotations: Annotations) -> Iterator[Finding]:
    values = annotations.regions.values
    first, second = (values[:, i + 2] for i in (0, 1))
    if annotations.regions.kept == "xyxy":
        first, second = first - values[:, 0], second - values[:, 1]
    rows = np.flatnonzero((first < -ROUNDING) | (second < -ROUNDING))
    if not len(rows):
        return
    is_mass = len(rows) > 1 and len(rows) >= MASS * len(annotations)
    yield Finding(
        "V106",
        "error" if is_mass else "warning",
        f"{boxes(len(rows), annotations)} a negative width or height",
        len(rows),
        box_examples(annotations, rows),
        "write the smaller corner first: x1 <= x2, y1 <= y2"
        + (
            ", or are these widths and heights? then leave out boxes=xyxy" if annotations.regions.kept == "xyxy" else ""
        ),
    )


def missing_confidences(annotations: Annotations) -> Iterator[Finding]:
    if annotations.source.format in UNRANKED:
        return
    unscored = annotations.flags.get("unscored")
    if annotations.confidence is None:
        rows = np.arange(len(annotations))
    else:
        rows = np.flatnonzero(unscored) if unscored is not None else np.arange(0)
    if len(rows):
        yield Finding(
            "V301",
            "error",
            f"{len(rows):,} of {len(annotations):,} predictions have no confidence",
            len(rows),
            box_examples(annotations, rows),
            "write the detector's confidence with every box"
            + (" (is this a file of truths?)" if len(rows) == len(annotations) else ""),
        )


def strange_confidences(annotations: Annotations) -> Iterator[Finding]:
    confidence = annotations.confidence
    if confidence is None or np.isfinite(confidence.sum()):
        return
    rows = np.flatnonzero(~np.isfinite(confidence) & ~annotations.flag("unscored"))
    if len(rows):
        yield Finding(
            "V302",
            "error",
            f"{len(rows):,} of {len(annotations):,} confidences are NaN or infinite",
            len(rows),
            tuple(f"{image_name(annotations, row)}: {confidence[row]}" for row in rows[:EXAMPLES]),
            "a ranking needs numbers: remove these predictions, or find out why the detector wrote them",
        )


def boxes(count: int, annotations: Annotations) -> str:
    """How many of how many boxes have what follows."""
    return f"{count:,} of {len(annotations):,} boxes {'has' if count == 1 else 'have'}"


def box_examples(annotations: Annotations, rows: NDArray[np.integer]) -> tuple[str, ...]:
    """The first few boxes with their images, in numbers as the file has them."""
    rows = rows[:EXAMPLES]
    values = annotations.regions.values[rows]
    label = "x1 y1 x2 y2" if annotations.regions.kept == "xyxy" else "x y w h"
    return tuple(f"{image_name(annotations, r)}: {label} = {spell(v)}" for r, v in zip(rows, values, strict=True))


def image_name(annotations: Annotations, row: int) -> str:
    return annotations.images.name(int(annotations.image[row]))


def spell(numbers: Floats) -> str:
    return " ".join(f"{v:.6g}" for v in numbers)
