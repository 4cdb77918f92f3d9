"""What was cut off before the file was written, and what will be when it is evaluated? (V307, V308)"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verite.checks.findings import EXAMPLES, Finding
from verite.checks.sides import Side

MOST = 100  # predictions of a class in an image that COCO counts
LOWEST = 0.05  # confidence above which the least confident prediction is, where others were left out
FEWEST = 20  # predictions from which the lowest of them says something


def find_too_many(side: Side) -> Iterator[Finding]:
    annotations = side.annotations
    cells = annotations.image.astype(np.int64) * max(len(annotations.labels), 1) + annotations.label
    found, counts = np.unique(cells, return_counts=True)
    full = counts > MOST
    if not full.any():
        return
    left_out = int((counts[full] - MOST).sum())
    labels = len(annotations.labels)
    places = sorted(zip(counts[full].tolist(), found[full].tolist(), strict=True), reverse=True)[:EXAMPLES]
    yield Finding(
        "V307",
        "note",
        f"{left_out:,} of {len(side):,} predictions are beyond the {MOST} most confident of their class and image, "
        "after which COCO stops counting",
        left_out,
        tuple(
            f"{annotations.images.name(cell // labels)}: {count:,} of {annotations.labels.name(cell % labels)}"
            for count, cell in places
        ),
        "nothing, or --max-dets for more",
    )


def find_threshold(side: Side) -> Iterator[Finding]:
    confidence = side.annotations.confidence
    if confidence is None or len(side) < FEWEST:
        return
    finite = confidence[np.isfinite(confidence)]
    low = float(finite.min()) if len(finite) else 0.0
    if not LOWEST < low <= 1 or finite.max() > 1 or low == finite.max():
        return
    yield Finding(
        "V308",
        "note",
        f"no prediction is less confident than {low:.4g}, as if a threshold had left others out",
        len(side),
        (),
        "average precision counts unsure predictions, too: write them all, down to 0.001 or so",
    )
