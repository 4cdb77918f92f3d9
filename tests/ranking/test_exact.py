"""Are two algorithms compared exactly, to the last digits that can be asked for?"""

from __future__ import annotations

from math import comb, exp, inf, log, log10

import mpmath
import numpy as np
import pytest
from scipy.stats import hypergeom, poisson_binom, skellam
from statsmodels.stats.contingency_tables import mcnemar

from tests.oracles import worlds
from verite.annotation_errors import Asymmetric, Audit, Bernoulli, Exactly, PerItem, Shared
from verite.ranking import exchangeable, poisson_binomial
from verite.ranking.answers import (
    AnswerTable,
)
from verite.ranking.exact import (
    LeadDrops,
    largest_epsilon,
    pairwise_loss_tie_win,
    rank_three_independent,
    rate_from_margin,
)
from verite.ranking.outcomes import Pairwise
from verite.ranking.poisson_binomial import LossTieWin, Steps, WideSteps, loss_tie_win
from verite.ranking.problem import AnswerProblem, errors_at
from verite.ranking.rank import rank, rank_two

SEEDS = range(12)


def pairwise_of(behind, ahead, items=None):
    """`ahead` items only the first gets right, `behind` only the second."""
    return Pairwise(
        items=items or ahead + behind,
        counts=np.array([ahead, behind]),
        stay=np.array([1, -1]),
        wrong=np.array([[1.0, 0, 0], [0, 0, 1.0]]),
        rates=np.array([0.1, 0.1]),
        groups=np.zeros(2, dtype=np.int64),
    )


def random_table(seed, algorithms=2):
    """A binary table of 6 to 12 items, its algorithms right more often than not."""
    rng = np.random.default_rng(seed)
    items = int(rng.integers(6, 10 if algorithms > 2 else 13))
    truth = rng.integers(0, 2, items)
    answers = [np.where(rng.random(items) < rng.uniform(0.5, 0.9), truth, 1 - truth) for _ in range(algorithms)]
    return truth.tolist(), [a.tolist() for a in answers], rng


def random_models(rng, items, truth):
    """One of each kind, and the weight of a set of wrong records that it means.

    Rates are multiples of 1/1024, which are exact and keep the fractions short.
    """
    rates = rng.choice([0.0, *rng.integers(0, 513, items) / 1024], items)
    zero, one = rng.integers(0, 513, 2) / 1024
    errors = int(rng.integers(1, items // 2 + 1))
    groups = rng.integers(0, 3, items).tolist()
    epsilon, correlation = float(rng.integers(10, 513) / 1024), float(rng.integers(50, 975) / 1024)
    return [
        (Bernoulli(epsilon), worlds.independent([epsilon] * items)),
        (Asymmetric(zero, one), worlds.independent([one if t else zero for t in truth])),
        (PerItem(rates), worlds.independent(rates.tolist())),
        (Exactly(errors), worlds.exactly(errors)),
        (Audit(2, 9), worlds.audit(2, 9)),
        (Shared(epsilon, correlation, groups), worlds.shared(epsilon, correlation, groups)),
        (Shared(epsilon, 1.0, groups), worlds.shared(epsilon, 1.0, groups)),
        (Shared(epsilon, 0.0, groups), worlds.independent([epsilon] * items)),
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", SEEDS)
def test_every_model_equals_the_enumeration_of_all_truths(seed):
    truth, answers, rng = random_table(seed)
    recorded = [sum(a == t for a, t in zip(column, truth, strict=True)) for column in answers]
    for model, weight in random_models(rng, len(truth), truth):
        expected = worlds.orders(worlds.binary_worlds(truth, answers, weight), recorded)
        problem = AnswerProblem(AnswerTable.of(truth, {"a": answers[0], "b": answers[1]}), model)
        found = problem.pair(0, 1)
        three = (exp(found.win), exp(found.tie), exp(found.loss))
        exact = [float(v) for v in (expected.ahead[0][1], expected.level[0][1], expected.ahead[1][0])]
        assert three == pytest.approx(exact, rel=1e-12, abs=0), str(model)


@pytest.mark.parametrize("seed", range(40))
def test_rates_of_their_own_equal_scipys_poisson_binomial(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 400))
    rates = rng.uniform(0, 0.5, size) ** rng.choice([1, 3])
    ahead = rng.random(size) < rng.uniform(0.4, 0.9)
    pmfs = np.column_stack([np.where(ahead, rates, 1 - rates), np.zeros(size), np.where(ahead, 1 - rates, rates)])
    found = loss_tie_win(Steps(pmfs, np.ones(size, dtype=np.int64)))
    # The second's wins: items it wins on the record and keeps, items it loses and gains.
    wins = poisson_binom(np.where(ahead, rates, 1 - rates))
    many = np.arange(size + 1)
    pmf = wins.pmf(many)
    for log_found, event in (
        (found.loss, 2 * many > size),
        (found.tie, 2 * many == size),
        (found.win, 2 * many < size),
    ):
        expected = float(pmf[event].sum())
        assert exp(log_found) == pytest.approx(expected, rel=1e-12, abs=1e-290)


def exact_sides(behind, ahead, epsilon):
    """P(second ahead) and P(tie) by mpmath with 60 digits."""
    with mpmath.workdps(60):
        e = mpmath.mpf(epsilon)
        lost = [mpmath.binomial(ahead, x) * e**x * (1 - e) ** (ahead - x) for x in range(ahead + 1)]
        gained = [mpmath.binomial(behind, y) * e**y * (1 - e) ** (behind - y) for y in range(behind + 1)]
        tail = [mpmath.mpf(0)]
        for value in reversed(lost):
            tail.append(tail[-1] + value)
        tail.reverse()  # tail[x] = P(at least x lost)
        gap = ahead - behind
        reversed_ = sum(gained[y] * tail[min(gap // 2 + y + 1, ahead + 1)] for y in range(behind + 1))
        ties = [gained[y] * lost[gap // 2 + y] for y in range(behind + 1) if gap // 2 + y <= ahead]
        return reversed_, sum(ties) if gap % 2 == 0 else mpmath.mpf(0)


@pytest.mark.parametrize(
    ("behind", "ahead", "epsilon"),
    [(300, 2500, 0.022), (10, 3000, 0.05), (1500, 5100, 0.03), (0, 331, 1e-6), (2500, 7500, 0.09)],
)
def test_probabilities_near_1e_minus_1000_have_all_their_digits(behind, ahead, epsilon):
    found = loss_tie_win(pairwise_of(behind, ahead).steps(epsilon))
    reversed_, tie = exact_sides(behind, ahead, epsilon)
    assert -1400 < log10(exp(1)) * found.loss < -600
    with mpmath.workdps(60):
        assert abs(mpmath.expm1(mpmath.mpf(found.loss) - mpmath.log(reversed_))) < 1e-10
        if tie:
            assert abs(mpmath.expm1(mpmath.mpf(found.tie) - mpmath.log(tie))) < 1e-10


@pytest.mark.parametrize(("behind", "ahead"), [(31, 55), (1, 3), (20, 21), (0, 7), (900, 1000), (4000, 6000)])
@pytest.mark.parametrize("epsilon", [0.01, 0.2, 0.5])
def test_small_tails_are_right_relative_to_themselves(behind, ahead, epsilon):
    found = loss_tie_win(pairwise_of(behind, ahead).steps(epsilon))
    reversed_, tie = exact_sides(behind, ahead, epsilon)
    with mpmath.workdps(60):
        off = abs(mpmath.expm1(mpmath.mpf(found.loss) - mpmath.log(reversed_)))
    assert off < (1e-12 if found.loss > -700 else 1e-10)
    assert exp(found.tie) == pytest.approx(float(tie), rel=1e-12)


def test_convolution_and_fft_agree(monkeypatch):
    rng = np.random.default_rng(5)
    for _ in range(20):
        pmfs = rng.dirichlet([0.4, 0.4, 0.4], 6)
        steps = Steps(pmfs, rng.integers(1, 40, 6))
        one_by_one = loss_tie_win(steps)
        monkeypatch.setattr(poisson_binomial, "DIRECT", 0)
        at_once = loss_tie_win(steps)
        monkeypatch.undo()
        for side in ("loss", "tie", "win"):
            assert getattr(at_once, side) == pytest.approx(getattr(one_by_one, side), rel=1e-11, abs=1e-11)


def test_a_side_that_only_an_unlikely_record_can_reach():
    # Two items, both the first's: second gets ahead only if both records are wrong.
    pmfs = np.array([[0.1, 0, 0.9], [1e-30, 0, 1 - 1e-30]])
    found = loss_tie_win(Steps(pmfs, np.array([1, 1])))
    assert found.loss == pytest.approx(log(0.1) + log(1e-30), rel=1e-14)
    assert exp(found.tie) == pytest.approx(0.1, rel=1e-14)


def test_records_that_cannot_be_wrong_leave_nothing_open():
    assert loss_tie_win(pairwise_of(2, 5).steps(0.0)).win == 0
    certain = np.array([[0.0, 0, 1], [0.3, 0, 0.7]])
    found = loss_tie_win(Steps(certain, np.array([3, 2])))
    assert (found.win, found.tie, found.loss) == (0, -np.inf, -np.inf)


def test_no_difference_at_all_is_a_tie():
    found = loss_tie_win(Steps(np.zeros((0, 3)), np.zeros(0, dtype=np.int64)))
    assert (found.loss, found.tie, found.win) == (-np.inf, 0, -np.inf)


@pytest.mark.parametrize(("first", "second"), [(12, 30), (5, 9), (40, 41), (0, 7)])
def test_at_one_half_the_tail_is_mcnemars_exact_test(first, second):
    """At a rate of one half the record says nothing: what is left is the coin toss of McNemar's test."""
    pmfs = np.array([[0.5, 0, 0.5]])
    total = first + second
    # P(at most min(first, second) of all go to one side), doubled.
    shift = total - 2 * min(first, second)
    wide = np.zeros(2 * shift + 1)
    wide[-1] = 1.0
    found = loss_tie_win(Steps(pmfs, np.array([total]), WideSteps.of([wide], [1])))
    p_value = min(1.0, 2 * (exp(found.loss) + exp(found.tie)))
    expected = mcnemar([[10, first], [second, 20]], exact=True).pvalue
    assert p_value == pytest.approx(expected, rel=1e-12)


def test_mcnemar_value_of_twelve_against_thirty():
    assert mcnemar([[0, 12], [30, 0]], exact=True).pvalue == pytest.approx(0.0079158973, abs=5e-11)


@pytest.mark.parametrize("total", [1, 2, 7, 10, 41, 600])
def test_at_one_half_only_the_number_of_differences_matters(total):
    for behind in {0, total // 3, total // 2}:
        found = loss_tie_win(pairwise_of(behind, total - behind).steps(0.5))
        tie = comb(total, total // 2) / 2**total if total % 2 == 0 else 0.0
        assert exp(found.tie) == pytest.approx(tie, rel=1e-12)
        assert exp(found.win) == pytest.approx((1 - tie) / 2, rel=1e-12)


def test_rare_errors_tend_to_the_difference_of_two_poisson_numbers():
    # b = 100 000 and a = 99 990 at a rate of 1e-4: X - Y > 5 with means 10 and 9.999.
    found = loss_tie_win(pairwise_of(99_990, 100_000).steps(1e-4))
    assert exp(found.loss) == pytest.approx(skellam(10, 9.999).sf(5), rel=1e-3)


@pytest.mark.parametrize("total", [5, 12, 33, 40])
def test_the_chance_to_keep_an_order_falls_with_the_rate(total):
    rates = np.linspace(0, 0.5, 51)
    for behind in range((total - 1) // 2 + 1):
        if 2 * behind == total:
            continue
        kept = [exp(loss_tie_win(pairwise_of(behind, total - behind).steps(e)).win) for e in rates]
        assert np.all(np.diff(kept) <= 1e-12)


@pytest.mark.parametrize(
    ("behind", "ahead", "items", "errors"), [(5, 9, 30, 4), (40, 60, 300, 30), (90, 110, 200, 60), (0, 3, 9, 4)]
)
def test_a_fixed_number_of_errors_equals_scipys_hypergeometric_sums(behind, ahead, items, errors):
    reversed_ = tie = 0.0
    among = hypergeom(items, ahead + behind, errors)
    for many in range(min(errors, ahead + behind) + 1):
        if among.pmf(many):
            lost = np.arange(many + 1)
            pmf = hypergeom(ahead + behind, ahead, many).pmf(lost)
            lead = ahead - behind - 2 * (lost - (many - lost))
            reversed_ += among.pmf(many) * pmf[lead < 0].sum()
            tie += among.pmf(many) * pmf[lead == 0].sum()
    found = pairwise_loss_tie_win(pairwise_of(behind, ahead, items), Exactly(errors))
    assert exp(found.loss) == pytest.approx(reversed_, rel=1e-9, abs=1e-15)
    assert exp(found.tie) == pytest.approx(tie, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(
    ("behind", "ahead", "items", "errors"),
    [
        (900, 1100, 10_000, 1000),
        (1200, 1201, 3000, 700),
        (900, 1100, 2000, 300),
        (700, 900, 1601, 301),
        (10, 2000, 2010, 1000),
    ],
)
def test_many_items_with_a_fixed_number_of_errors_agree_with_all_combinations(
    monkeypatch, behind, ahead, items, errors
):
    pairwise = pairwise_of(behind, ahead, items)
    combined = pairwise_loss_tie_win(pairwise, Exactly(errors))
    monkeypatch.setattr(exchangeable, "OUTER", 0)
    along_diagonals = pairwise_loss_tie_win(pairwise, Exactly(errors))
    for side in ("loss", "tie", "win"):
        assert getattr(along_diagonals, side) == pytest.approx(getattr(combined, side), rel=1e-11, abs=1e-11)


def test_errors_in_groups_are_refused_exactly_only_where_they_are_too_many():
    pairwise = pairwise_of(3000, 3000)
    assert pairwise_loss_tie_win(pairwise, Shared(0.1, 0.2, "source")) is None


@pytest.mark.parametrize("correlation", [0.01, 0.3, 0.9])
def test_shared_errors_make_an_order_less_sure(correlation):
    """200 items in 4 sources, the leader ahead in each: one bad source is enough to hurt."""
    truth = [1] * 200
    trailer = ([1] * 20 + [0] * 30) * 4
    leader = ([0] * 20 + [1] * 30) * 4
    groups = [i // 50 for i in range(200)]
    alone = rank(AnswerTable.of(truth, {"l": leader, "t": trailer}), Bernoulli(0.2)).pairs[0]
    together = rank(AnswerTable.of(truth, {"l": leader, "t": trailer}), Shared(0.2, correlation, groups)).pairs[0]
    assert together.reversed > alone.reversed


def test_forward_rates_are_turned_round_by_bayes():
    rng = np.random.default_rng(3)
    truth = rng.random(2_000_000) < 0.4
    record = np.where(truth, rng.random(len(truth)) >= 0.1, rng.random(len(truth)) < 0.03)
    model = Asymmetric.forward(false_ones=0.03, false_zeros=0.1, recorded_ones=float(record.mean()))
    assert model.one == pytest.approx(np.mean(~truth[record]), abs=1e-3)
    assert model.zero == pytest.approx(np.mean(truth[~record]), abs=1e-3)


def chances(below, level, above):
    return LossTieWin(*(log(p) if p else -inf for p in (below, level, above)))


def test_two_tied_algorithms_share_their_ranks():
    found = rank_two(chances(0.05, 0.2, 0.75), np.array([3, 2]), 0.0)
    assert found.ranks == pytest.approx(np.array([[0.85, 0.15], [0.15, 0.85]]))
    assert found.wins == pytest.approx(np.array([[0, 0.75], [0.05, 0]]))
    assert found.ties == pytest.approx(np.array([[1, 0.2], [0.2, 1]]))
    assert found.whole == pytest.approx(0.75)
    assert rank_two(chances(0.05, 0.2, 0.75), np.array([2, 3]), 0.0).whole == pytest.approx(0.05)
    assert np.isnan(rank_two(chances(0.05, 0.2, 0.75), np.array([3, 3]), 0.0).whole)


def test_three_independent_scores_share_ranks_where_they_tie():
    # The first is 1 for certain, the second 0 or 1 alike, the third 0: two orders of the same chance.
    one, half = np.ones(1), np.array([0.5, 0.5])
    pmfs = [(np.array([1.0]), one), (np.array([0.0, 1.0]), half), (np.array([0.0]), one)]
    found = rank_three_independent(pmfs, np.array([1, 1, 0]))
    assert found.ranks == pytest.approx(np.array([[0.75, 0.25, 0], [0.25, 0.5, 0.25], [0, 0.25, 0.75]]))
    assert found.wins == pytest.approx(np.array([[0, 0.5, 1], [0, 0, 0.5], [0, 0, 0]]))
    assert found.whole == pytest.approx(0.5)  # the third behind both
    assert rank_three_independent(pmfs, np.array([2, 1, 0])).whole == 0  # 1 > 0 > 0 and 1 = 1 > 0 keep no strict order
    assert rank_three_independent(pmfs, np.array([2, 0, 0])).whole == pytest.approx(0.5)
    assert np.isnan(rank_three_independent(pmfs, np.array([1, 1, 1])).whole)


def test_the_largest_rate_is_where_the_lost_probability_reaches_its_limit():
    assert largest_epsilon(log, 0.95) == pytest.approx(0.05, rel=1e-9)
    assert largest_epsilon(log, 0.6) == pytest.approx(0.4, rel=1e-9)
    assert largest_epsilon(lambda rate: log(rate / 20), 0.95) == 0.5  # 0.025 is lost at one half
    assert largest_epsilon(lambda rate: 2 * log(rate), 0.99) == pytest.approx(0.1, rel=1e-9)


def test_rates_by_their_distance_from_one_half():
    # (1 - 2 · 0.1) / √(4 · 0.1 · 0.9) = 0.8 / 0.6
    assert rate_from_margin(4 / 3) == pytest.approx(0.1)
    assert rate_from_margin(0) == 0.5


def test_numbers_of_wrong_records_follow_the_binomial_law():
    assert errors_at(2, 0.1) == pytest.approx([0.81, 0.18, 0.01])
    assert errors_at(2, 0).tolist() == [1, 0, 0]
    assert errors_at(0, 0.1).tolist() == [1]


def test_wrong_records_in_the_worst_places_lose_a_lead():
    drops = LeadDrops.of(np.array([1.0, 0, 2]), np.array([5, 9, 3]))
    assert (drops.sizes.tolist(), drops.counts.tolist()) == ([2, 1], [3, 5])
    assert drops.errors_to_lose(4) == (2, 3)
    assert drops.errors_to_lose(3) == (2, 2)
    assert drops.errors_to_lose(7) == (4, 5)  # three of two and one of one
    assert drops.errors_to_lose(11) == (8, None)
    assert drops.errors_to_lose(0) == (0, 1)
    small = LeadDrops.of(np.array([0.06]), np.array([5]))
    assert small.errors_to_lose(0.05, tolerance=0.1) == (0, 2)  # a lead within the tolerance is none
    assert small.errors_to_lose(0.2, tolerance=0.1) == (2, None)


def test_a_lead_within_the_tolerance_is_a_tie():
    drops = LeadDrops(np.array([1.0]), np.array([5]))
    assert drops.errors_to_lose(0.5, 0.5) == (0, 1)  # level already; past -0.5 after one
    assert drops.errors_to_lose(-0.5, 0.5) == (0, 1)
    assert drops.errors_to_lose(2.0) == (2, 3)
    assert drops.errors_to_lose(2.0, 0.5) == (2, 3)  # from 2 to 0.5 takes 1.5, so two; below -0.5 takes more than 2.5
    assert drops.errors_to_lose(9.0) == (None, None)
