"""Calibration of predicted ranking stability: reliability bins and Brier score over pairs of detectors.

A simulation predicts with which probability each pair keeps its order once annotation errors are corrected. Where the
ground truth was annotated again, the order on the corrected ground truth shows how often that came true.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verite.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
EDGES = (0.0, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)  # of the bins of predicted probabilities


@dataclass(frozen=True)
class CalibrationBin:
    """Pairs with a similar predicted probability of keeping their order, and how often they kept it."""

    low: float
    high: float
    pairs: int
    predicted: float  # mean predicted probability
    kept: float  # observed share of pairs that keep their order
    tied: float  # observed share of pairs that are tied on the corrected ground truth

    @classmethod
    def of(cls, low: float, high: float, predicted: Floats, lead: Floats) -> CalibrationBin:
        """Summarise pairs by their predicted probabilities and observed leads."""
        return cls(low, high, len(lead), float(predicted.mean()), float(np.mean(lead > 0)), float(np.mean(lead == 0)))


def bin_pairs(predicted: Floats, lead: Floats) -> tuple[tuple[CalibrationBin, ...], CalibrationBin, float]:
    """Return reliability bins, one bin of all pairs, and the Brier score (mean squared error of the prediction).

    Parameters
    ----------
    predicted
        For each pair the predicted probability that the leader stays ahead.
    lead
        For each pair the leader's score minus the other's on the corrected ground truth.

    Examples
    --------
    >>> bins, every, brier = bin_pairs(np.array([0.5, 1.0]), np.array([-0.1, 0.2]))
    >>> [one.pairs for one in bins], every.kept, brier
    ([1, 1], 0.5, 0.125)
    """
    which = np.clip(np.searchsorted(EDGES, predicted, side="right") - 1, 0, len(EDGES) - 2)
    bins = [
        CalibrationBin.of(EDGES[k], EDGES[k + 1], predicted[which == k], lead[which == k]) for k in np.unique(which)
    ]
    return tuple(bins), CalibrationBin.of(0.0, 1.0, predicted, lead), float(np.mean((predicted - (lead > 0)) ** 2))


def bin_columns(bins: Sequence[CalibrationBin], every: CalibrationBin) -> tuple[list[str], dict[str, list[str]]]:
    """Return row names and formatted columns of a table with one row per bin and a last row for all pairs."""
    rows = [*bins, every]
    shown = {
        "pairs": [f"{row.pairs:,}" for row in rows],
        "predicted": [f"{row.predicted:.4f}" for row in rows],
        "kept": [f"{row.kept:.4f}" for row in rows],
        "tie": [f"{row.tied:.4f}" for row in rows],
    }
    return [*(f"{row.low:g} … {row.high:g}" for row in bins), "all"], shown
