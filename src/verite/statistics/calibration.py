"""Do orders survive as often as was predicted? Pairs by the probability that they were to be kept with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from verite.arrays import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
EDGES = (0.0, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)


@dataclass(frozen=True)
class Bin:
    """Pairs whose order was to be kept with about the same probability."""

    low: float
    high: float
    pairs: int
    predicted: float  # mean probability
    kept: float  # share that stands as it was
    tied: float  # share that is level now


def bin_pairs(predicted: Floats, lead: Floats) -> tuple[tuple[Bin, ...], Bin, float]:
    """Bins of pairs, all of them together, and the Brier score: the mean square of what was predicted minus what came.

    `lead`: by how much the one that was ahead is ahead now.

    >>> bins, every, brier = bin_pairs(np.array([0.5, 1.0]), np.array([-0.1, 0.2]))
    >>> [one.pairs for one in bins], every.kept, brier
    ([1, 1], 0.5, 0.125)
    """
    which = np.clip(np.searchsorted(EDGES, predicted, side="right") - 1, 0, len(EDGES) - 2)
    bins = [gather(EDGES[k], EDGES[k + 1], predicted[which == k], lead[which == k]) for k in np.unique(which)]
    return tuple(bins), gather(0.0, 1.0, predicted, lead), float(np.mean((predicted - (lead > 0)) ** 2))


def gather(low: float, high: float, predicted: Floats, lead: Floats) -> Bin:
    """Some pairs together."""
    return Bin(low, high, len(lead), float(predicted.mean()), float(np.mean(lead > 0)), float(np.mean(lead == 0)))


def bin_columns(bins: Sequence[Bin], every: Bin) -> tuple[list[str], dict[str, list[str]]]:
    """Names and columns of a table with a row for each bin, and one for all pairs."""
    rows = [*bins, every]
    shown = {
        "pairs": [f"{row.pairs:,}" for row in rows],
        "predicted": [f"{row.predicted:.4f}" for row in rows],
        "kept": [f"{row.kept:.4f}" for row in rows],
        "tie": [f"{row.tied:.4f}" for row in rows],
    }
    return [*(f"{row.low:g} … {row.high:g}" for row in bins), "all"], shown
