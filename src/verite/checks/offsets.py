"""Are boxes that fit off by one pixel, as when one side counts pixels from 1? (V107)"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from verite.checks.evidence import PRECISE, best_pairs, median_and_error
from verite.checks.explanations import boxes_under, find_overlapping
from verite.checks.findings import Finding
from verite.checks.sides import Pair

FEWEST = 30  # objects that are found precisely
SHARP = 0.25  # pixels: how near the medians must be to whole ones, and how well they must be known


def find_off_by_one(pair: Pair) -> Iterator[Finding]:
    """Left and top edges one pixel beside those of the truth in the median, right and lower ones with them or not."""
    plain, sample = pair.explanations[0], pair.sample
    if plain is None or sample is None or plain.reading.measure != "abs" or sample.truth.reading.measure != "abs":
        return
    which, by, overlap = find_overlapping(sample, plain)
    is_precise = overlap >= PRECISE
    one, other = best_pairs(which[is_precise], by[is_precise], overlap[is_precise])
    if len(one) < FEWEST:
        return
    truth, pred = boxes_under(sample, plain.side, plain.reading, plain.shift)
    errors = pred[other] - truth[one]
    middle, noise = median_and_error(errors)
    shift = np.round(middle)
    is_sharp = np.all(np.abs(middle - shift) <= SHARP) and np.all(noise <= SHARP)
    if not is_sharp or abs(shift[0]) != 1 or shift[1] != shift[0] or not set(shift[2:]) <= {0.0, shift[0]}:
        return
    edges = ", ".join(
        f"{name} {value:+g}" for name, value in zip(("left", "top", "right", "bottom"), shift, strict=True)
    )
    yield Finding(
        "V107",
        "note",
        f"the predictions' boxes lie one pixel beside the truth's, in the median of {len(one):,} objects: {edges}",
        len(one),
        (),
        "does one side count pixels from 1, as Pascal VOC does? subtract 1 where it was added",
    )
