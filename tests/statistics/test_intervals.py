"""An interval from draws needs so many that some lie beyond both its ends."""

from __future__ import annotations

import numpy as np

from verite.statistics.intervals import FEWEST, percentile_interval


def test_fewest_draws_leave_a_fortieth_beyond_the_outermost_on_either_side():
    assert 2 / (FEWEST + 1) == 0.05


def test_too_few_draws_give_no_interval():
    drawn = np.arange(FEWEST - 1.0)
    assert np.isnan(percentile_interval(drawn, 0.95)).all()
    assert np.isnan(percentile_interval(np.append(drawn, np.nan), 0.95)).all()  # what is no number is no draw


def test_enough_draws_give_the_percentiles():
    # Of 0 … 38 the quantile q lies at 38 q.
    assert np.allclose(percentile_interval(np.arange(float(FEWEST)), 0.95), (0.95, 37.05), rtol=1e-12)
