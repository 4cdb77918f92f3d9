"""The native assignment against scipy's, and against all assignments where sums are equal."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from verite import _core
from verite.scene.score import match_one_to_one


def assigned(first, second):
    rows, columns = (a.astype(np.int64) for a in np.nonzero(first))
    chosen = _core.assign(rows, columns, first[rows, columns], second[rows, columns], *first.shape)
    return rows[chosen], columns[chosen]


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1), st.sampled_from([3, 2**40]))
def test_the_sum_is_scipys(rows, columns, seed, most):
    rng = np.random.default_rng(seed)
    gain = rng.integers(0, most, (rows, columns)) * (rng.random((rows, columns)) < 0.7)
    i, j = assigned(gain, np.zeros_like(gain))
    assert len(set(i)) == len(i) == len(set(j))
    assert gain[i, j].sum() == gain[linear_sum_assignment(gain, maximize=True)].sum()


@settings(deadline=None)
@given(st.integers(1, 4), st.integers(4, 5), st.integers(0, 2**32 - 1))
def test_of_equal_sums_the_second_gain_decides(rows, columns, seed):
    rng = np.random.default_rng(seed)
    gain, second = rng.integers(0, 3, (2, rows, columns))
    second[gain == 0] = 0  # no couple
    best = max(
        (sum(gain[i, j] for i, j in enumerate(p)), sum(second[i, j] for i, j in enumerate(p)))
        for p in permutations(range(columns), rows)
    )
    i, j = assigned(gain, second)
    assert (gain[i, j].sum(), second[i, j].sum()) == best


def test_nothing_to_assign():
    none = np.empty(0, np.int64)
    assert match_one_to_one(none, none, np.empty(0), np.empty(0), 0, 0).tolist() == []


def test_numbers_out_of_range_are_refused():
    one, two = np.array([0]), np.array([2])
    with pytest.raises(ValueError, match="columns: expected numbers from 0 to below 1, found 2"):
        _core.assign(one, two, one, one, 1, 1)
    with pytest.raises(ValueError, match="first: expected numbers from 0"):
        _core.assign(one, one, one - 1, one, 1, 1)
    with pytest.raises(ValueError, match="second: expected one per pair"):
        _core.assign(one, one, one, np.array([0, 0]), 1, 1)


def test_of_equal_ious_the_preferred_pairs_are_matched():
    truth, pred = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    for preference, chosen in (([0, 1, 1, 0], [1, 2]), ([1, 0, 0, 1], [0, 3])):
        found = match_one_to_one(truth, pred, np.full(4, 0.5), np.array(preference, float), 2, 2)
        assert np.flatnonzero(found).tolist() == chosen
