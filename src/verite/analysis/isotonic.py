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
    """The rising map that is nearest to what happened, by squares."""
    at, place = np.unique(confidence, return_inverse=True)
    weight = np.bincount(place, minlength=len(at)).astype(np.float64)
    mean = np.bincount(place, is_right, minlength=len(at)) / weight if len(at) else weight
    first = np.arange(len(at))
    while len(mean) > 1:
        rises = np.concatenate([[True], mean[1:] > mean[:-1]])
        if rises.all():
            break
        starts = np.flatnonzero(rises)  # all of a falling run violate the order, and are pooled at once
        total = np.add.reduceat(weight, starts)
        mean, weight, first = np.add.reduceat(mean * weight, starts) / total, total, first[starts]
    last = np.append(first[1:], len(at)) - 1
    ends = np.unique(np.stack([first, last], axis=1), axis=None) if len(at) else first
    block = np.searchsorted(first, ends, side="right") - 1
    return Rising(at[ends], mean[block])
