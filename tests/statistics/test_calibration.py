"""Reliability bins of predicted probabilities: by hand."""

from __future__ import annotations

import numpy as np
import pytest

from verite.statistics.calibration import CalibrationBin, bin_columns, bin_pairs


def test_pairs_are_binned_by_their_predicted_probability() -> None:
    """Brier score: ((.55 − 1)² + .65² + .65² + 0) / 4."""
    bins, every, brier = bin_pairs(np.array([0.55, 0.65, 0.65, 1.0]), np.array([0.1, -0.1, 0.0, 0.2]))
    assert bins == (
        CalibrationBin(0.0, 0.6, 1, 0.55, 1.0, 0.0),
        CalibrationBin(0.6, 0.7, 2, 0.65, 0.0, 0.5),
        CalibrationBin(0.99, 1.0, 1, 1.0, 1.0, 0.0),
    )
    assert (every.low, every.high, every.pairs, every.kept, every.tied) == (0.0, 1.0, 4, 0.5, 0.25)
    assert every.predicted == pytest.approx(0.7125)
    assert brier == pytest.approx(0.261875)
    names, columns = bin_columns(bins, every)
    assert names == ["0 … 0.6", "0.6 … 0.7", "0.99 … 1", "all"]
    assert columns["kept"] == ["1.0000", "0.0000", "1.0000", "0.5000"]


def test_a_bin_holds_its_lower_end() -> None:
    bins, _, _ = bin_pairs(np.array([0.6, 0.7, 0.95]), np.ones(3))
    assert [(one.low, one.high) for one in bins] == [(0.6, 0.7), (0.7, 0.8), (0.95, 0.99)]
