"""Percentile bootstrap intervals need enough resamples that some lie beyond both ends."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from verite.statistics.intervals import MIN_RESAMPLES, percentile_interval


def test_the_fewest_resamples_leave_2_5_percent_beyond_the_outermost_on_either_side():
    assert 2 / (MIN_RESAMPLES + 1) == 0.05


def test_too_few_resamples_give_no_interval():
    samples = np.arange(MIN_RESAMPLES - 1.0)
    assert np.isnan(percentile_interval(samples, 0.95)).all()
    assert np.isnan(percentile_interval(np.append(samples, np.nan), 0.95)).all()  # nan is no sample


def test_enough_resamples_give_the_percentiles():
    # Of 0 … 38 the quantile q lies at 38 q.
    assert np.allclose(percentile_interval(np.arange(float(MIN_RESAMPLES)), 0.95), (0.95, 37.05), rtol=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95.0])
def test_a_level_that_is_no_probability_is_refused(level):
    with pytest.raises(vt.BadParameter, match="level: expected a probability between 0 and 1"):
        percentile_interval(np.arange(100.0), level)
