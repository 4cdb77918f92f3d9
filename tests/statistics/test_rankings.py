"""Wins, ties and ranks over simulated scores: counted by hand."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from verite.statistics.rankings import rank_probabilities

# Of three algorithms: in order; the first two swapped; the first two tied; all tied.
ROWS = np.array([[3.0, 2.0, 1.0], [2.0, 3.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
RECORDED = np.array([3.0, 2.0, 1.0])


def test_equally_likely_rows_are_counted_whatever_their_blocks() -> None:
    found = rank_probabilities([ROWS], RECORDED)
    assert found.wins == pytest.approx(np.array([[0, 1, 3], [1, 0, 3], [0, 0, 0]]) / 4)
    assert found.ties == pytest.approx(np.array([[4, 2, 1], [2, 4, 1], [1, 1, 4]]) / 4)
    first = [(1 + 1 / 2 + 1 / 3) / 4, (1 + 1 / 2 + 1 / 3) / 4, 1 / 12]  # tied algorithms share their ranks
    assert found.ranks == pytest.approx(np.array([first, first, [1 / 12, 1 / 12, (3 + 1 / 3) / 4]]))
    assert found.whole == 1 / 4
    apart = rank_probabilities([ROWS[:1], ROWS[1:]], RECORDED)
    assert (apart.packed == found.packed).all()


def test_rows_with_probabilities_count_as_these() -> None:
    found = rank_probabilities([ROWS], RECORDED, weights=np.array([0.4, 0.3, 0.2, 0.1]))
    assert (found.wins[0, 1], found.wins[1, 0], found.ties[0, 1]) == pytest.approx((0.4, 0.3, 0.3))
    assert found.wins[0, 2] == pytest.approx(0.9)
    assert found.ranks[0] == pytest.approx([0.4 + 0.1 + 0.1 / 3, 0.3 + 0.1 + 0.1 / 3, 0.1 / 3])
    assert found.whole == pytest.approx(0.4)


def test_scores_that_differ_by_the_tolerance_are_tied() -> None:
    rows = np.array([[0.5, 0.25], [0.5, 0.125], [0.25, 0.5], [0.125, 0.5]])
    found = rank_probabilities([rows], np.array([1.0, 0.0]), tolerance=0.25)
    assert (found.wins[0, 1], found.wins[1, 0], found.ties[0, 1]) == (0.25, 0.25, 0.5)
    assert found.whole == 0.25


def test_without_an_order_there_is_none_to_keep() -> None:
    assert isnan(rank_probabilities([ROWS], np.ones(3)).whole)
    assert rank_probabilities([ROWS], np.array([1.0, 1.0, 0.0])).whole == 3 / 4  # the third stays behind both
