"""McNemar's exact test against scipy's binomial test."""

from __future__ import annotations

import pytest

from verite.statistics.mcnemar import mcnemar_exact


@pytest.mark.parametrize(
    ("first", "second"), [(0, 0), (1, 0), (1, 5), (10, 4), (4, 10), (7, 7), (120, 80), (3000, 2800), (40_000, 39_000)]
)
def test_mcnemar_is_the_two_sided_binomial_test_at_one_half(first: int, second: int) -> None:
    scipy = pytest.importorskip("scipy.stats", reason="scipy is in the group 'test'")
    expected = scipy.binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar_exact(first, second) == pytest.approx(expected, rel=1e-9)
