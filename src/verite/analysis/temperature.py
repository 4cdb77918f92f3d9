"""By how much are confidences too sure? One number that all their log-odds are divided by, fitted to what happened.

Guo, Pleiss, Sun, Weinberger, On Calibration of Modern Neural Networks, ICML 2017.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from verite.records import record

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TINY = 1e-12  # no confidence is nearer to 0 or 1
MOST = 100.0  # a temperature is between its inverse and this
ROUNDS = 50
LARGEST = 700.0  # log-odds whose exponential is a number


@record(eq=False)
class Tempered:
    """A map that rises strictly, so that it changes no order and no average precision."""

    temperature: float

    def __call__(self, confidence: Floats) -> Floats:
        return squash(log_odds(confidence) / self.temperature)


def log_odds(confidence: Floats) -> Floats:
    kept = np.clip(confidence, TINY, 1 - TINY)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def squash(odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -LARGEST, LARGEST))))


def fit_temperature(confidence: Floats, is_right: NDArray[np.bool_]) -> Tempered:
    """The temperature of the smallest log loss: Newton's steps on its inverse, in which the loss is convex."""
    odds = log_odds(confidence)
    low, high, inverse = 1 / MOST, MOST, 1.0
    for _ in range(ROUNDS):
        given = squash(odds * inverse)
        slope = float(((given - is_right) * odds).sum())
        low, high = (inverse, high) if slope < 0 else (low, inverse)
        bend = float((given * (1 - given) * odds**2).sum())
        newer = inverse - slope / bend if bend > 0 else 0.0
        newer = newer if low < newer < high else (low + high) / 2
        step, inverse = abs(newer - inverse), newer
        if step <= 1e-7 * inverse:  # the error left is of the order of its square
            break
    return Tempered(1 / inverse)
