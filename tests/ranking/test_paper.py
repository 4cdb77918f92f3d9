"""Do the numbers of Lamiroy and Pierrot come out, where they are right, and the corrected ones where they are not?"""

from __future__ import annotations

from fractions import Fraction
from math import comb, sqrt

import pytest

from tests.ranking.paper import (
    TABLE_3,
    TABLE_3_PUBLISHED,
    TABLE_3_TRUTH,
    TABLE_4,
    TABLE_4_PUBLISHED,
    TABLE_4_TRUTH,
    kept_in_table_3,
    table_2,
)
from verite.annotation_errors import Asymmetric, Audit, Bernoulli, Exactly
from verite.ranking.answers import AnswerTable
from verite.ranking.confidence import ScoreTable
from verite.ranking.rank import rank


def test_table_2_has_the_published_shares_and_order():
    truth, answers = table_2()
    found = rank(AnswerTable.of(truth, answers), Bernoulli(0.1))
    assert found.scores == {"A2": 0.95, "A1": 0.85, "A3": 0.80}
    assert found.order == ("A2", "A1", "A3")


@pytest.mark.parametrize(
    ("epsilon", "whole", "bounds"),
    [
        (0.05, 0.70501116, (0.7032, 0.8391)),
        (0.1, 0.50132601, (0.4898, 0.7365)),
        (0.2, 0.27262976, (0.2145, 0.5888)),
    ],
)
def test_whole_order_of_table_2(epsilon, whole, bounds):
    truth, answers = table_2()
    found = rank(AnswerTable.of(truth, answers), Bernoulli(epsilon))
    assert found.whole == pytest.approx(whole, abs=5e-9)
    assert found.whole_bounds == pytest.approx(bounds, abs=5e-5)
    assert found.methods["whole_order"] == "exact"


@pytest.mark.parametrize(
    ("epsilon", "kept", "tie", "reversed_"),
    [(0.5, 0.3125, 0.375, 0.3125), (0.2, 0.5888, 0.3264, 0.0848), (0.1, 0.7533, 0.2214, 0.0253)],
)
def test_table_3_gives_kept_tie_and_reversed(epsilon, kept, tie, reversed_):
    pair = rank(AnswerTable.of(TABLE_3_TRUTH, TABLE_3), Bernoulli(epsilon)).pairs[0]
    assert (pair.first, pair.second) == ("A2", "A1")
    assert (pair.kept, pair.tie, pair.reversed) == pytest.approx((kept, tie, reversed_), rel=1e-13)
    assert pair.kept == pytest.approx(float(kept_in_table_3(Fraction(epsilon))), rel=1e-13)


@pytest.mark.parametrize(("epsilon", "published"), TABLE_3_PUBLISHED.items())
def test_published_simulation_of_table_3_lies_within_its_error(epsilon, published):
    kept = rank(AnswerTable.of(TABLE_3_TRUTH, TABLE_3), Bernoulli(epsilon)).pairs[0].kept
    assert abs(published - kept) < 1.96 * sqrt(kept * (1 - kept) / 100_000)


def test_no_errors_keep_every_order():
    found = rank(AnswerTable.of(TABLE_3_TRUTH, TABLE_3), Bernoulli(0))
    assert (found.pairs[0].kept, found.pairs[0].tie, found.pairs[0].reversed) == (1, 0, 0)
    assert found.whole == 1


def test_asymmetric_rates_on_table_3():
    pair = rank(AnswerTable.of(TABLE_3_TRUTH, TABLE_3), Asymmetric(zero=0.1, one=0.3)).pairs[0]
    expected = (6039 / 10000, 1691 / 5000, 579 / 10000)
    assert (pair.kept, pair.tie, pair.reversed) == pytest.approx(expected, rel=1e-12)


def test_exactly_two_errors_in_table_3():
    # Of the 45 choices of 2 out of 10 items by hand: 3 flip two of the leader's points, 18 one of them and nothing else
    # that is_relevant.
    pair = rank(AnswerTable.of(TABLE_3_TRUTH, TABLE_3), Exactly(2)).pairs[0]
    reversed_, tie = comb(3, 2) / 45, 3 * 6 / 45
    assert (pair.kept, pair.tie, pair.reversed) == pytest.approx((1 - reversed_ - tie, tie, reversed_), rel=1e-12)


def test_largest_rate_that_table_3_stands():
    assert rank(AnswerTable.of(TABLE_3_TRUTH, TABLE_3), Bernoulli(0.1)).pairs[0].largest_epsilon == pytest.approx(
        0.01725, abs=5e-6
    )


def forty_against_sixty():
    """40 items only the trailer gets right, 60 only the leader."""
    return [1] * 100, {"trailer": [1] * 40 + [0] * 60, "leader": [0] * 40 + [1] * 60}


def test_largest_rate_of_forty_against_sixty():
    assert rank(AnswerTable.of(*forty_against_sixty()), Bernoulli(0.1)).pairs[0].largest_epsilon == pytest.approx(
        0.16716, abs=5e-6
    )


def test_an_audit_is_less_sure_than_its_plain_rate():
    audited = rank(AnswerTable.of(*forty_against_sixty()), Audit(5, 50)).pairs[0]
    plain = rank(AnswerTable.of(*forty_against_sixty()), Bernoulli(0.1)).pairs[0]
    assert audited.reversed == pytest.approx(0.0097, abs=5e-5)
    assert plain.reversed == pytest.approx(0.0029, abs=5e-5)


@pytest.mark.parametrize(
    ("epsilon", "kept", "tie", "reversed_"),
    [
        (0.5, 0.667117, 0.006387, 0.326496),
        (0.4, 0.734122, 0.003756, 0.262122),
        (0.2, 0.868007, 0.000565, 0.131428),
    ],
)
def test_table_4_by_log_loss(epsilon, kept, tie, reversed_):
    found = rank(ScoreTable.of(TABLE_4_TRUTH, TABLE_4, sums="keep"), Bernoulli(epsilon))
    pair = found.pairs[0]
    assert (pair.first, pair.second) == ("A2", "A1")
    assert (pair.kept, pair.tie, pair.reversed) == pytest.approx((kept, tie, reversed_), abs=5e-7)
    assert found.methods["pairs"] == "exact"


@pytest.mark.parametrize(("epsilon", "published"), TABLE_4_PUBLISHED.items())
def test_published_simulation_of_table_4_lies_within_its_error(epsilon, published):
    kept = rank(ScoreTable.of(TABLE_4_TRUTH, TABLE_4, sums="keep"), Bernoulli(epsilon)).pairs[0].kept
    assert abs(published - kept) < 1.96 * sqrt(kept * (1 - kept) / 100_000)


@pytest.mark.parametrize(("epsilon", "kept"), [(0.5, 0.6521), (0.4, 0.7455), (0.2, 0.9004)])
def test_table_4_in_the_printed_direction(epsilon, kept):
    found = rank(ScoreTable.of(TABLE_4_TRUTH, TABLE_4, sums="keep", loss="kl_printed"), Bernoulli(epsilon))
    assert found.pairs[0].kept == pytest.approx(kept, abs=5e-5)


@pytest.mark.parametrize(
    ("zero", "kept"),
    [
        (0.1, (0.757, 0.842, 0.960)),
        (0.01, (0.709, 0.784, 0.911)),
        (1e-3, (0.672, 0.739, 0.871)),
        (1e-4, (0.667, 0.734, 0.868)),
        (1e-30, (0.667, 0.734, 0.868)),
    ],
)
def test_what_replaces_zeros_decides_how_fatal_they_are(zero, kept):
    found = [rank(ScoreTable.of(TABLE_4_TRUTH, TABLE_4, sums="keep", zero=zero), Bernoulli(e)) for e in (0.5, 0.4, 0.2)]
    assert [f.pairs[0].kept for f in found] == pytest.approx(list(kept), abs=6e-4)


def test_without_tolerance_rounding_breaks_real_ties():
    # Exactly 0.667117; sums of rounded logarithms call some ties a lead.
    exact, broken = (
        rank(ScoreTable.of(TABLE_4_TRUTH, TABLE_4, sums="keep", zero=1e-6, tolerance=tolerance), Bernoulli(0.5))
        for tolerance in (1e-9, 0)
    )
    assert exact.pairs[0].tie == pytest.approx(0.006387, abs=5e-7)
    assert broken.pairs[0].tie < 0.006
