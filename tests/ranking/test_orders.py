"""Three and more algorithms: places, the whole order and what pairs alone say about it."""

from __future__ import annotations

from fractions import Fraction
from math import inf, isnan, log, nan
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.oracles import worlds
from tests.ranking.test_exact import random_models, random_table
from verite.annotation_errors import Audit, Bernoulli, Exactly, PerItem, Shared
from verite.errors import BadParameter
from verite.ranking import exact as lattice
from verite.ranking.answers import (
    AnswerTable,
)
from verite.ranking.confidence import ScoreTable
from verite.ranking.curves import RATES, OrderCurves, find_crossing, log_lost
from verite.ranking.poisson_binomial import LossTieWin
from verite.ranking.problem import AnswerProblem
from verite.ranking.rank import certainty, merge_within_tolerance, rank


def named(answers):
    return {f"A{j}": column for j, column in enumerate(answers)}


def assert_standings(found, expected):
    for mine, theirs in ((found.wins, expected.ahead), (found.ties, expected.level), (found.ranks, expected.places)):
        assert mine.ravel().tolist() == pytest.approx([float(v) for row in theirs for v in row], rel=1e-12, abs=1e-15)
    if expected.whole is None:
        assert isnan(found.whole)
    else:
        assert found.whole == pytest.approx(float(expected.whole), rel=1e-12, abs=1e-300)


@pytest.mark.parametrize("algorithms", [3, 4, 5])
@pytest.mark.parametrize("seed", range(3))
def test_every_model_equals_the_enumeration_of_all_truths(algorithms, seed):
    truth, answers, rng = random_table(100 + seed, algorithms)
    recorded = [sum(a == t for a, t in zip(column, truth, strict=True)) for column in answers]
    for model, weight in random_models(rng, len(truth), truth):
        expected = worlds.orders(worlds.binary_worlds(truth, answers, weight), recorded)
        found = AnswerProblem(AnswerTable.of(truth, named(answers)), model).standings()
        assert_standings(found, expected)


@pytest.mark.parametrize("seed", range(6))
def test_three_algorithms_at_once_equal_the_walk_over_score_differences(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 150)
    answers = [np.where(rng.random(150) < 0.8, truth, 1 - truth) for _ in range(3)]
    rates = rng.choice([0.02, 0.1, 0.3], 150)
    problem = AnswerProblem(AnswerTable.of(truth, named(answers)), PerItem(rates))
    quick = problem.standings()
    differences, weights = lattice.score_difference_pmf(problem.outcomes, problem.model)
    scores = np.column_stack([differences, np.zeros(len(differences))])
    slow = lattice.rank_probabilities([scores], problem.outcomes.scores, weights=weights)
    assert quick.ranks == pytest.approx(slow.ranks, rel=1e-10, abs=1e-14)
    assert quick.whole == pytest.approx(slow.whole, rel=1e-12, nan_ok=True)


def test_pairs_bound_the_whole_order_and_give_the_expected_ranks():
    truth, answers, _ = random_table(7, 5)
    found = rank(AnswerTable.of(truth, named(answers)), Bernoulli(0.15))
    low, high = found.whole_bounds
    assert low <= found.whole <= high
    for j, name in enumerate(found.order):
        assert found.expected_rank[name] == pytest.approx(found.ranks[j] @ np.arange(1, 6), rel=1e-12)
    assert found.ranks.sum(axis=0) == pytest.approx(np.ones(5))
    assert found.ranks.sum(axis=1) == pytest.approx(np.ones(5))


def test_a_tie_on_the_record_has_no_order_to_keep():
    found = rank(AnswerTable.of([1, 1, 1, 1], {"a": [1, 0, 1, 1], "b": [0, 1, 1, 1]}), Bernoulli(0.1))
    pair = found.pairs[0]
    assert pair.tied
    assert isnan(pair.kept)
    assert isnan(pair.reversed)
    # By hand: the first of the two records wrong and not the second, or the reverse, or neither or both.
    assert pair.tie == pytest.approx(1 - 2 * 0.1 * 0.9)
    assert pair.first_ahead == pair.second_ahead == pytest.approx(0.09)
    assert isnan(found.whole)
    assert pair.largest_epsilon is None
    assert found.to_dict()["pairs"][0]["kept"] != found.to_dict()["pairs"][0]["kept"]


def test_tied_algorithms_leave_the_rest_of_the_order_to_keep():
    truth = [1] * 8
    answers = {"best": [1] * 7 + [0], "x": [0, 0, 0, 1, 1, 1, 1, 1], "y": [1, 1, 1, 0, 0, 0, 1, 1]}
    found = rank(AnswerTable.of(truth, answers), Bernoulli(0.1))
    weight = worlds.independent([0.1] * 8)
    expected = worlds.orders(worlds.binary_worlds(truth, list(answers.values()), weight), [7, 5, 5])
    assert found.whole == pytest.approx(float(expected.whole), rel=1e-12)
    assert found.whole_bounds[0] <= found.whole <= found.whole_bounds[1]
    assert "x = y" in str(found)


def test_algorithms_that_always_agree_stay_tied():
    found = rank(AnswerTable.of([1, 0, 1], {"a": [1, 1, 0], "b": [1, 1, 0], "c": [1, 1, 0]}), Bernoulli(0.3))
    assert [pair.tie for pair in found.pairs] == [1, 1, 1]
    assert found.ranks == pytest.approx(np.full((3, 3), 1 / 3))


def big_table(algorithms=5, items=4000):
    rng = np.random.default_rng(11)
    truth = rng.integers(0, 2, items)
    share = np.linspace(0.8, 0.86, algorithms)
    return truth, {f"m{j}": np.where(rng.random(items) < share[j], truth, 1 - truth) for j in range(algorithms)}


def test_too_many_items_for_an_exact_whole_order_are_drawn_and_said_to_be():
    found = rank(AnswerTable.of(*big_table()), Bernoulli(0.02), draws=20_000)
    assert found.methods["pairs"] == "exact"
    assert found.methods["expected_rank"] == "exact"
    assert found.methods["whole_order"] == "Monte-Carlo, 20,000 draws, seed 0"
    assert found.whole_interval[0] <= found.whole <= found.whole_interval[1]
    assert "draws:20000|seed:0" in str(found.signature)
    for j, name in enumerate(found.order):
        assert found.expected_rank[name] == pytest.approx(found.ranks[j] @ np.arange(1, 6), abs=0.02)


def test_exact_is_refused_where_no_method_is_known():
    with pytest.raises(BadParameter, match=r"no exact method is known to rank 5 algorithms on 4,000 items"):
        rank(AnswerTable.of(*big_table()), Bernoulli(0.02), method="exact")


def test_exact_numbers_carry_no_seed_and_no_intervals():
    found = rank(AnswerTable.of([1, 1, 0], {"a": [1, 1, 0], "b": [1, 0, 0]}), Bernoulli(0.1))
    assert "seed" not in str(found.signature)
    assert found.whole_interval is None
    assert found.pairs[0].intervals is None


@pytest.mark.parametrize(
    "model", [Bernoulli(0.1), Exactly(3), Audit(2, 20), Shared(0.1, 0.4, [0, 0, 1, 1, 2, 2, 3, 3])]
)
def test_drawn_and_exact_agree_within_the_interval(model):
    truth = [1] * 8
    answers = {"a": [1, 1, 1, 1, 1, 1, 0, 1], "b": [1, 1, 0, 1, 1, 0, 1, 0], "c": [0, 1, 1, 0, 0, 1, 0, 1]}
    exact = rank(AnswerTable.of(truth, answers), model)
    drawn = rank(AnswerTable.of(truth, answers), model, method="montecarlo", draws=200_000, seed=4)
    assert drawn.methods["pairs"].startswith("Monte-Carlo")
    # Four standard errors: an accident once in sixteen thousand.
    for one, two in zip(drawn.pairs, exact.pairs, strict=True):
        low, high = one.intervals["kept"]
        assert abs(two.kept - one.kept) < 2 * (high - low)
    low, high = drawn.whole_interval
    assert abs(drawn.whole - exact.whole) < 2 * (high - low)
    assert drawn.ranks == pytest.approx(exact.ranks, abs=0.006)


def test_the_same_seed_gives_the_same_draws():
    numbers = [rank(AnswerTable.of(*big_table()), Bernoulli(0.02), draws=2000, seed=s).to_json() for s in (1, 1, 2)]
    assert numbers[0] == numbers[1]
    assert numbers[0] != numbers[2]


def test_the_largest_rate_of_a_whole_order_of_three_is_exact():
    truth, answers = big_table(3, 3000)
    found = rank(AnswerTable.of(truth, answers), Bernoulli(0.02))
    low, high = found.whole_epsilon
    assert low == high
    assert rank(AnswerTable.of(truth, answers), Bernoulli(low)).whole == pytest.approx(0.95, abs=1e-9)


def test_the_largest_rate_of_a_longer_order_is_bracketed_by_its_pairs():
    truth, answers, _ = random_table(4, 4)
    answers = named([truth, *answers[1:]])
    found = rank(AnswerTable.of(truth, answers), Bernoulli(0.1))
    low, high = found.whole_epsilon
    assert low <= high
    assert rank(AnswerTable.of(truth, answers), Bernoulli(low)).whole >= 0.95 - 1e-12
    assert rank(AnswerTable.of(truth, answers), Bernoulli(min(high + 1e-6, 0.5))).whole <= 0.95


def test_neighbours_that_cannot_be_told_apart_are_joined():
    found = rank(AnswerTable.of(*big_table()), Bernoulli(0.1), draws=1000)
    for run in found.not_told_apart():
        assert all(found.pair(a, b).kept < 0.95 for a in run for b in run if a != b)
    assert found.not_told_apart(0.5000001) == []
    assert found.not_told_apart(0.9999999999) != []


@pytest.mark.parametrize("labels", [None, 3])
def test_the_rate_up_to_which_a_whole_order_holds_is_where_enumeration_says(labels):
    """Four algorithms on seven items: one random_walk_pmf gives the whole order at every rate."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, labels or 2, 7).tolist()
    answers = [[t if rng.random() < p else (t + 1) % (labels or 2) for t in truth] for p in (1.0, 0.8, 0.6, 0.2)]
    table = {f"m{j}": column for j, column in enumerate(answers)}
    found = rank(AnswerTable.of(truth, table, kind="labels" if labels else None), Bernoulli(0.1))
    low, high = found.whole_epsilon
    assert low == high
    assert found.methods["largest_epsilon"] == "exact"
    recorded = [sum(a == t for a, t in zip(column, truth, strict=True)) for column in answers]

    def whole(epsilon):
        weight = worlds.independent([epsilon] * len(truth))
        if labels is None:
            return worlds.orders(worlds.binary_worlds(truth, answers, weight), recorded).whole
        gain = lambda j, i, real: Fraction(int(answers[j][i] == real))  # noqa: E731
        return worlds.orders(worlds.label_worlds(truth, labels, gain, len(answers), weight), recorded).whole

    assert float(whole(low)) == pytest.approx(0.95, rel=1e-9)


def test_an_audit_of_algorithms_that_are_all_level_has_no_whole_order():
    found = rank(AnswerTable.of([1, 0], {"a": [1, 1], "b": [0, 0], "c": [1, 1]}), Audit(0, 1))
    assert all(pair.tied for pair in found.pairs)
    assert np.isnan(found.whole)
    # One item each for a and b alone: wrong together or not at all, they stay level; E[2 e (1 - e)] = 1/4 is the rest,
    # e being Beta(1/2, 3/2) with E[e] = 1/4 and E[e^2] = 1/8.
    assert found.pair("a", "b").tie == pytest.approx(3 / 4)


def chances(below, level, above):
    return LossTieWin(*(log(p) if p else -inf for p in (below, level, above)))


def table(values, **more):
    return ScoreTable.of(["x"] * len(values), {"a": values, "b": values}, labels=("x", "y"), **more)


@pytest.mark.parametrize(
    ("to_tie", "to_reverse", "said"),
    [
        (None, None, "kept"),
        (6, 7, "kept"),
        (5, 6, "not overtaken"),
        (5, None, "not overtaken"),
        (5, 5, "open"),
        (0, 1, "open"),
    ],
)
def test_five_wrong_records_leave_of_an_order_what_they_cannot_reach(to_tie, to_reverse, said):
    assert certainty(to_tie, to_reverse, 5) == said


def test_ranks_are_certain_where_all_pairs_are():
    # Of ten items a has all, b nine, c none: one wrong record may make a and b level, and nothing else.
    table = AnswerTable.of([1] * 10, {"a": [1] * 10, "b": [1] * 9 + [0], "c": [0] * 10})
    found = vt.rank(table, vt.annotation_errors.AtMost(1))
    assert np.array_equal(found.ranks, [[nan, nan, 0], [nan, nan, 0], [0, 0, 1]], equal_nan=True)
    assert np.array_equal(vt.rank(table, vt.annotation_errors.AtMost(0)).ranks, np.eye(3))


def test_the_whole_order_is_certain_or_not_known_in_the_worst_case():
    table = AnswerTable.of([1] * 10, {"a": [1] * 10, "b": [1] * 5 + [0] * 5, "c": [0] * 10})
    assert vt.rank(table, vt.annotation_errors.AtMost(2)).whole_bounds == (1, 1)
    assert np.isnan(vt.rank(table, vt.annotation_errors.AtMost(3)).whole_bounds).all()


def test_scores_within_the_tolerance_are_made_equal_to_the_highest():
    scores = np.array([0.5, 1.0, 1.0 - 5e-10])
    assert merge_within_tolerance(scores, 1e-9).tolist() == [0.5, 1, 1]
    assert merge_within_tolerance(scores, 0.0).tolist() == scores.tolist()


def test_a_falling_curve_is_crossed_between_two_rates():
    after = [0.0] * (len(RATES) - 2)
    assert find_crossing([1, 0.9, *after], 0.95) == pytest.approx(0.001)  # half way to 0.002
    assert find_crossing([1, 0.95, *after], 0.95) == pytest.approx(0.002)
    assert find_crossing([0.9, 0.8, *after], 0.95) == 0
    assert find_crossing([1.0] * len(RATES), 0.95) == 0.5
    assert find_crossing([nan] * len(RATES), 0.95) is None


def test_the_order_is_lost_at_most_as_often_as_its_steps_together():
    assert log_lost([chances(0.1, 0.2, 0.7)]) == pytest.approx(log(0.3))
    assert log_lost([chances(0.1, 0.2, 0.7), chances(0.3, 0, 0.7)]) == pytest.approx(log(0.6))
    assert log_lost([chances(0.5, 0.2, 0.3)] * 2) == 0


@pytest.mark.parametrize(
    ("items", "draws", "many"), [(1000, 100_000, 10_373), (1000, 500, 500), (5186, 9999, 2000), (5187, 9999, 0)]
)
def test_rates_are_drawn_as_often_as_thirty_million_wrong_records_allow(items, draws, many):
    # The rates add up to 2.892: so many wrong records an item in one draw at each.
    assert OrderCurves(SimpleNamespace(items=items), draws, 0).many == many
