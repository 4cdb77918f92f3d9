"""How often is a prediction of this confidence right? A rising map from confidences to shares, fitted to what happened.

Pool adjacent violators: Ayer et al., An Empirical Distribution Function for Sampling with Incomplete Information, 1955.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@record(eq=False)
class Rising:
    """A map that never falls: straight between its points, level beyond them."""

    at: Floats
    value: Floats

    def __call__(self, confidence: Floats) -> Floats:
        return np.interp(confidence, self.at, self.value) if len(self.at) else np.full(len(confidence), np.nan)


def fit_rising(confidence: Floats, is_right: NDArray[np.bool_]) -> Rising:
    """The rising map that is nearest to what happened, by squares. Fast for confidences that rise or fall already."""
    if len(confidence) and confidence[0] > confidence[-1]:
        confidence, is_right = confidence[::-1], is_right[::-1]
    if (confidence[1:] < confidence[:-1]).any():
        order = np.argsort(confidence, kind="stable")
        confidence, is_right = confidence[order], is_right[order]
    ends = np.flatnonzero(np.append(confidence[1:] != confidence[:-1], True)) if len(confidence) else np.arange(0)
    at, weight = confidence[ends], np.diff(ends, prepend=-1).astype(np.float64)
    mean = np.diff(np.cumsum(is_right)[ends], prepend=0) / weight
    first = np.arange(len(at))
    while len(mean) > 1:
        rises = np.concatenate([[True], mean[1:] > mean[:-1]])
        if rises.all():
            break
        starts = np.flatnonzero(rises)  # all of a falling run violate the order, and are pooled at once
        total = np.add.reduceat(weight, starts)
        mean, weight, first = np.add.reduceat(mean * weight, starts) / total, total, first[starts]
    last = np.append(first[1:], len(at)) - 1 if len(at) else first
    points = np.stack([first, last], axis=1).ravel()
    kept = np.append(np.diff(points) > 0, True) if len(at) else points > 0
    return Rising(at[points[kept]], np.repeat(mean, 2)[kept])
