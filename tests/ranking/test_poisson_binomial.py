"""The Poisson-binomial distribution: against convolution step by step, and small cases by hand."""

from __future__ import annotations

from math import comb, exp, inf, log

import numpy as np
import pytest

from tests.ranking.test_exact import pairwise_of
from verite.ranking import exact as lattice
from verite.ranking import exchangeable, poisson_binomial, ratios
from verite.ranking.exact import worst_case_drops
from verite.ranking.outcomes import Pairwise, count_rows
from verite.ranking.poisson_binomial import NONE, LossTieWin, Steps, WideSteps, loss_tie_win


def steps_of(*rows, wide=NONE):
    """Rows of how often, and P(-1), P(0), P(+1)."""
    return Steps(
        np.array([row[1:] for row in rows], dtype=float).reshape(-1, 3), np.array([r[0] for r in rows], int), wide
    )


def pmf_by_definition(steps):
    """The same by convolving everything, from the lowest sum on that has a place."""
    low, pmf = 0, np.ones(1)
    for row, count in zip(steps.pmfs, steps.counts, strict=True):
        for _ in range(count):
            pmf, low = np.convolve(pmf, row), low - 1
    for values, chances, count in steps.wide.each:
        wide_pmf = np.zeros(int(values[-1] - values[0]) + 1)
        wide_pmf[(values - values[0]).astype(int)] = chances
        for _ in range(count):
            pmf, low = np.convolve(pmf, wide_pmf), low + int(values[0])
    return {low + i: p for i, p in enumerate(pmf) if p > 0}


PIECES = WideSteps.of([np.array([0.2, 0, 0, 0.5, 0.3]), np.array([0.1, 0.9, 0])], [3, 2])
EVEN = WideSteps.of([np.array([0.4, 0, 0.1, 0, 0.5])], [4])
CASES = {
    "mixed": steps_of((7, 0.2, 0.5, 0.3), (1, 0.6, 0.1, 0.3), (4, 0, 0.25, 0.75), (2, 0.5, 0.5, 0)),
    "parity": steps_of((6, 0.3, 0, 0.7), (1, 0.9, 0, 0.1), (3, 0.5, 0, 0.5)),
    "pieces": steps_of((3, 0.2, 0.5, 0.3), wide=PIECES),
    "parity of pieces": steps_of((5, 0.3, 0, 0.7), wide=EVEN),
    "one of each": steps_of(*((1, 0.1 + 0.05 * i, 0.2, 0.7 - 0.05 * i) for i in range(9))),
    "many": steps_of((3000, 0.01, 0.98, 0.01), (500, 0.02, 0.97, 0.01)),
    "many of one parity": steps_of((900, 0.03, 0, 0.97)),
    "many pieces": steps_of((400, 0.01, 0.98, 0.01), wide=WideSteps.of([np.array([0.01, 0, 0.98, 0, 0.01])], [300])),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("way", ["convolve", "transform"])
def test_laws_of_sums_equal_convolution(name, way):
    steps = CASES[name]
    if way == "convolve":
        values, pmf = poisson_binomial.pmf_by_convolution(steps)
    else:
        values, pmf = poisson_binomial.pmf_by_fft(steps, steps.bounds())
    found = dict(zip(values.astype(int).tolist(), pmf.tolist(), strict=True))
    wanted = pmf_by_definition(steps)
    for value in set(found) | set(wanted):
        assert found.get(value, 0.0) == pytest.approx(wanted.get(value, 0.0), abs=2e-15, rel=1e-11)
    low, high = steps.bounds()
    assert way == "convolve" or low <= min(found) <= max(found) <= high


def test_far_sums_are_left_out_of_a_wide_law():
    steps = CASES["many"]
    values, _ = poisson_binomial.pmf_by_fft(steps, steps.bounds())
    # Mean -5, variance 75 or so: Bernstein's half is 50 * 2 / 3 + sqrt(33.3² + 2 * 50 * 75) = 126.
    mean, variance = -5.0, 3000 * 0.02 + 500 * (0.03 - 0.01**2)
    half = 100 / 3 + np.sqrt((100 / 3) ** 2 + 100 * variance)
    assert values[0] == np.floor(mean - half)
    assert values[-1] == np.ceil(mean + half)


@pytest.mark.parametrize("name", ["mixed", "parity", "pieces", "parity of pieces", "one of each"])
def test_tails_and_levels_equal_the_law(name):
    steps = CASES[name]
    bounds = steps.bounds()
    wanted = pmf_by_definition(steps)
    assert bounds == (min(wanted), max(wanted))
    stride = steps.stride()
    assert stride == (2 if name.startswith("parity") else 1)
    for side in (1, -1):
        for start in range(bounds[0] - 2 * stride, bounds[1] + 3 * stride, 1):
            if stride == 2 and (start - bounds[0]) % 2:
                continue
            mass = sum(p for value, p in wanted.items() if side * (value - start) >= 0)
            found = poisson_binomial.log_tail(steps, start, side, bounds)
            assert exp(found) == pytest.approx(mass, rel=1e-10)
            assert (found == -inf) == (mass == 0)
    assert exp(poisson_binomial.log_tie(steps, bounds)) == pytest.approx(wanted.get(0, 0.0), rel=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_three_sides_equal_the_law(name):
    wanted = pmf_by_definition(CASES[name])
    for steps, way in ((CASES[name], 1), (CASES[name].negated(), -1)):
        found = poisson_binomial.loss_tie_win(steps)
        for side, sign in ((found.loss, -1), (found.tie, 0), (found.win, 1)):
            mass = sum(p for value, p in wanted.items() if np.sign(value) == sign * way)
            assert exp(side) == pytest.approx(mass, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("name", ["mixed", "parity", "pieces"])
def test_the_farthest_sums_are_products(name):
    steps, wanted = CASES[name], pmf_by_definition(CASES[name])
    assert exp(poisson_binomial.log_extreme(steps, 1)) == pytest.approx(wanted[max(wanted)])
    assert exp(poisson_binomial.log_extreme(steps, -1)) == pytest.approx(wanted[min(wanted)])
    # All digits where it is nearly certain: log(1 - 1e-18) a thousand times.
    sure = steps_of((1000, 0, 1e-18, 1.0))
    assert poisson_binomial.log_extreme(sure, 1) == pytest.approx(-1e-15, rel=1e-9)


def test_sums_that_cannot_be_otherwise():
    still = steps_of((3, 0, 1, 0))
    assert poisson_binomial.loss_tie_win(still) == LossTieWin(-inf, 0.0, -inf)
    assert poisson_binomial.loss_tie_win(steps_of((3, 0, 0, 1))) == LossTieWin(-inf, -inf, 0.0)
    assert poisson_binomial.loss_tie_win(steps_of((3, 1, 0, 0))) == LossTieWin(0.0, -inf, -inf)
    up = poisson_binomial.loss_tie_win(steps_of((2, 0, 0.5, 0.5)))
    assert (up.loss, exp(up.tie), exp(up.win)) == (-inf, pytest.approx(0.25), pytest.approx(0.75))


def test_equal_rows_are_counted_together():
    rows = np.array([[0.5, 0.0], [1.0, 2.0], [0.5, -0.0]])
    merged, counts = poisson_binomial.merge_rows(rows, np.array([1, 5, 2]))
    assert sorted(zip(merged.tolist(), counts.tolist(), strict=True)) == [([0.5, 0.0], 3), ([1.0, 2.0], 5)]
    same, counts = poisson_binomial.merge_rows(rows[:2], np.array([1, 5]))
    assert (same.tolist(), counts.tolist()) == (rows[:2].tolist(), [1, 5])
    found = poisson_binomial.merge_steps(steps_of((0, 0.1, 0.2, 0.7), (2, 0.5, 0, 0.5), (1, 0.5, 0, 0.5)))
    assert (found.pmfs.tolist(), found.counts.tolist()) == ([[0.5, 0, 0.5]], [3])


def test_more_than_twenty_thousand_rows_are_left_as_they_are(monkeypatch):
    monkeypatch.setattr(poisson_binomial, "MERGED", 2)
    rows = np.array([[0.5, 0.5]] * 3)
    assert len(poisson_binomial.merge_rows(rows[:2], np.array([1, 1]))[0]) == 1
    assert len(poisson_binomial.merge_rows(rows, np.array([1, 1, 1]))[0]) == 3


def test_larger_steps_by_hand():
    assert PIECES.values.tolist() == [-2, 1, 2, -1, 0]
    assert PIECES.pmfs.tolist() == [0.2, 0.5, 0.3, 0.1, 0.9]
    assert (PIECES.lowest.tolist(), PIECES.highest.tolist(), PIECES.sizes.tolist()) == ([-2, -1], [2, 0], [3, 2])
    # Means 0.7 and -0.1; variances 0.2 * 2.7² + 0.5 * 0.3² + 0.3 * 1.3² = 2.01 and 0.1 * 0.9² + 0.9 * 0.1² = 0.09.
    assert PIECES.moments() == (pytest.approx(3 * 0.7 - 2 * 0.1), pytest.approx(3 * 2.01 + 2 * 0.09))
    mirrored = PIECES.negated()
    assert (mirrored.values.tolist(), mirrored.pmfs.tolist()) == ([-2, -1, 2, 0, 1], [0.3, 0.5, 0.2, 0.9, 0.1])


@pytest.mark.parametrize("tilt", [0.3, -0.7, 1.5, -2.0])
def test_tilted_steps_by_hand(tilt):
    wide, scale = PIECES.tilt(tilt)
    first = np.array([0.2, 0.5, 0.3]) * np.exp(tilt * np.array([-2, 1, 2]))
    second = np.array([0.1, 0.9]) * np.exp(tilt * np.array([-1, 0]))
    assert wide.pmfs == pytest.approx(np.concatenate([first / first.sum(), second / second.sum()]))
    assert scale == pytest.approx(3 * log(first.sum()) + 2 * log(second.sum()))
    steps = steps_of((4, 0.2, 0.5, 0.3), wide=PIECES)
    row = np.array([0.2, 0.5, 0.3]) * np.exp(tilt * np.array([-1, 0, 1]))
    assert steps.cumulant(tilt) == pytest.approx(scale + 4 * log(row.sum()))
    assert steps.tilt(tilt).pmfs[0] == pytest.approx(row / row.sum())
    # Mean 0.1 a step and variance 0.5 - 0.01.
    assert steps_of((4, 0.2, 0.5, 0.3)).moments() == (pytest.approx(0.4), pytest.approx(4 * 0.49))


def test_a_tilt_moves_the_mean_to_where_it_is_wanted():
    for name in ("mixed", "parity", "pieces"):
        steps = CASES[name]
        low, high = steps.bounds()
        for target in range(low + 1, high):
            mean, variance = steps.tilt(poisson_binomial.solve_tilt(steps, target)).moments()
            assert abs(mean - target) <= 1e-3 * np.sqrt(variance) + 1e-9


# Errors of which the number is known.


def brute(behind, ahead, rate):
    """By hand: each wrong record moves the lead of `ahead` by two."""
    out = {}
    for x in range(ahead + 1):
        for y in range(behind + 1):
            key = (ahead - behind - 2 * (x - y), x + y)
            ways = binomial_log_pmf(ahead, x, rate) * binomial_log_pmf(behind, y, rate)
            out[key] = out.get(key, 0.0) + ways
    return out


def binomial_log_pmf(n, k, p):
    return comb(n, k) * p**k * (1 - p) ** (n - k)


def test_leads_and_wrong_records_together(monkeypatch):
    lead, wrong, logs = exchangeable.joint_pmf(pairwise_of(2, 4), 0.3)
    found = {}
    for key, p in zip(zip(lead.tolist(), wrong.tolist(), strict=True), np.exp(logs).tolist(), strict=True):
        found[key] = found.get(key, 0.0) + p
    assert found == pytest.approx(brute(2, 4, 0.3))
    monkeypatch.setattr(exchangeable, "OUTER", 15)
    assert exchangeable.joint_pmf(pairwise_of(2, 4), 0.3) is not None  # 3 x 5 combinations
    monkeypatch.setattr(exchangeable, "OUTER", 14)
    assert exchangeable.joint_pmf(pairwise_of(2, 4), 0.3) is None


def test_logarithms_of_sums():
    assert exchangeable.log_sum(np.log([0.2, 0.3])) == pytest.approx(log(0.5))
    assert exchangeable.log_sum(np.array([-2000.0, -2000.0])) == pytest.approx(-2000 + log(2))
    assert exchangeable.log_sum(np.array([])) == exchangeable.log_sum(np.array([-inf])) == -inf


def test_rates_and_spreads_of_a_number_of_errors():
    with np.errstate(divide="ignore"):
        pmf = np.log(np.array([0.25, 0.5, 0.25]))
        assert exchangeable.mean_rate(pmf) == pytest.approx(0.5)
        assert exchangeable.is_narrow(pmf, 0.5)  # as of two independent errors
        assert not exchangeable.is_narrow(np.log(np.array([0.3, 0.4, 0.3])), 0.5)
        assert exchangeable.is_narrow(np.log(np.array([0.0, 1.0, 0.0])), 0.5)
        assert exchangeable.is_as_a_whole(np.log(np.array([0.4, 0.0, 0.0, 0.6])))
        assert not exchangeable.is_as_a_whole(np.log(np.array([0.4, 0.1, 0.0, 0.5])))
        assert exchangeable.mean_rate(np.log(np.array([1.0, 0.0]))) == pytest.approx(1e-12)


@pytest.mark.parametrize(("ahead", "behind"), [(40, 30), (40, 31), (25, 25), (60, 2)])
def test_many_items_are_summed_along_diagonals(ahead, behind):
    size, rate = ahead + behind, 0.2
    pmf = np.array([log(binomial_log_pmf(size, k, rate)) for k in range(size + 1)])
    found = exchangeable.large_reversal(ahead, behind, rate, pmf)
    wanted = brute(behind, ahead, rate)
    for side, sign in ((found.loss, -1), (found.tie, 0), (found.win, 1)):
        mass = sum(p for (lead, _), p in wanted.items() if np.sign(lead) == sign)
        assert exp(side) == pytest.approx(mass, rel=1e-9, abs=1e-15)


# Rows, ratios and walks.


@pytest.mark.parametrize("sizes", [(2, 2), (2, 2, 2), (3, 3), (40_000, 3), (2**31, 2**31, 7)])
def test_rows_are_counted_whatever_room_they_need(sizes):
    rng = np.random.default_rng(1)
    rows = np.array([[rng.choice([0, size - 1]) for size in sizes] for _ in range(30)])
    rows[0] = np.array(sizes) - 1
    distinct, counts = count_rows(list(rows.T))
    wanted, many = np.unique(rows, axis=0, return_counts=True)
    assert (np.stack(distinct, axis=1).tolist(), counts.tolist()) == (wanted.tolist(), many.tolist())


@pytest.mark.parametrize("rates", [[0.1, 0.3], [0.0, 1.0, 0.4], [0.05 * i for i in range(1, 9)]])
def test_how_many_objects_are_real(rates):
    counts = np.arange(1, len(rates) + 1)
    low, pmf = ratios.real_objects_pmf(counts, np.array(rates))
    wanted = np.ones(1)
    for count, rate in zip(counts, rates, strict=True):
        for _ in range(count):
            wanted = np.convolve(wanted, [rate, 1 - rate])
    places = np.flatnonzero(wanted)
    assert low == places[0]
    assert pmf == pytest.approx(wanted[places[0] : places[-1] + 1])


def test_ends_that_weigh_nothing_are_cut():
    low, pmf = ratios.cut(3, np.array([0, 0.5, 0.5, 0.0]), 0.0)
    assert (low, pmf.tolist()) == (4, [0.5, 0.5])
    low, pmf = ratios.cut(0, np.array([1e-21, 1.0, 1e-19, 1e-21]))
    assert (low, pmf.tolist()) == (1, [1.0, 1e-19])


@pytest.mark.parametrize("slope", [-2, -1, 0, 1, 3])
def test_lines_cross_zero_where_they_do(slope):
    pmf, low = np.array([0.1, 0.2, 0.3, 0.4]), 2
    for fixed in range(-16, 17):
        values = fixed + slope * (low + np.arange(4))
        wanted = [float(pmf[values < 0].sum()), float(pmf[values == 0].sum()), float(pmf[values > 0].sum())]
        found = ratios.add_up(np.ones((1, 1)), np.array([[fixed]]), np.array([[slope]]), (low, pmf))
        assert list(found) == pytest.approx(wanted)


def test_ratios_are_compared_by_going_through_all():
    pmfs = [
        (1, np.array([0.3, 0.7])),
        (0, np.array([0.5, 0.2, 0.3])),
        (2, np.array([0.6, 0.4])),
        (1, np.array([0.9, 0.1])),
    ]
    for by, compare in (("precision", ratios.compare_precision), ("f1", ratios.compare_f1)):
        wanted = [0.0, 0.0, 0.0]
        for a, b, c, d in np.ndindex(2, 3, 2, 2):
            x1, x2, both, none = 1 + a, b, 2 + c, 1 + d
            real = x1 + x2 + both + none
            whole = (9, 8) if by == "precision" else (9 + real, 8 + real)
            lead = (both + x1) * whole[1] - (both + x2) * whole[0]
            wanted[int(np.sign(lead)) + 1] += pmfs[0][1][a] * pmfs[1][1][b] * pmfs[2][1][c] * pmfs[3][1][d]
        assert list(compare(pmfs, 9, 8)) == pytest.approx(wanted)


def test_a_walk_goes_wherever_its_steps_lead():
    units = [
        lattice.LatticeStep(np.array([[0, 0], [2, -2]]), np.array([0.25, 0.75]), 2),
        lattice.LatticeStep(np.array([[-2, 0], [0, 4]]), np.array([0.4, 0.6])),
    ]
    places, pmf = lattice.random_walk_pmf(units)
    found = {tuple(place): p for place, p in zip(places.tolist(), pmf.tolist(), strict=True)}
    first = {(0, 0): 0.0625, (2, -2): 0.375, (4, -4): 0.5625}
    wanted = {}
    for (x, y), p in first.items():
        for (dx, dy), q in (((-2, 0), 0.4), ((0, 4), 0.6)):
            wanted[x + dx, y + dy] = wanted.get((x + dx, y + dy), 0) + p * q
    assert found == pytest.approx(wanted)


def test_steps_of_a_few_rates_are_binomials():
    steps = steps_of((3, 0.4, 0, 0.6), (2, 0, 0, 1), (1, 1, 0, 0))
    values, pmf = lattice.convolve_binomials(steps)
    wanted = pmf_by_definition(steps)
    assert dict(zip(values.astype(int).tolist(), pmf.tolist(), strict=True)) == pytest.approx(wanted)
    seven = steps_of(*((1, 1 - 0.1 * i, 0, 0.1 * i) for i in range(1, 8)))
    assert lattice.convolve_binomials(seven) is None
    assert lattice.convolve_binomials(Steps(seven.pmfs[:6], seven.counts[:6])) is not None


def test_three_outcomes_of_a_few_items_are_followed_one_by_one(monkeypatch):
    # Three items that the first alone has right; a wrong record makes it -1, 0 or +1 by 0.5, 0.3 and 0.2.
    def pairwise(count):
        return Pairwise.of(count, np.array([count]), np.array([1]), np.array([[0.5, 0.3, 0.2]]))

    lead, wrong, logs = exchangeable.joint_pmf(pairwise(2), 0.25)
    found = dict(zip(zip(lead.tolist(), wrong.tolist(), strict=True), np.exp(logs).tolist(), strict=True))
    one = {-1: 0.5, 0: 0.3, 1: 0.2}
    wanted = {(2, 0): 0.75**2}
    for move, p in one.items():
        wanted[1 + move, 1] = 2 * 0.75 * 0.25 * p
        for other, q in one.items():
            wanted[move + other, 2] = wanted.get((move + other, 2), 0.0) + 0.25**2 * p * q
    assert found == pytest.approx(wanted)
    monkeypatch.setattr(exchangeable, "SMALL", 3)
    assert exchangeable.joint_pmf(pairwise(3), 0.25) is not None
    assert exchangeable.joint_pmf(pairwise(4), 0.25) is None


def test_the_worst_a_wrong_record_can_do():
    wrong = np.array([[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.0]])
    pairwise = Pairwise(
        9, np.array([1, 2, 3, 4]), np.array([1, 1, 0, 0]), wrong, np.array([0.1, 0.1, 0.1, 0.0]), np.zeros(4, int)
    )

    def drops(zero_is_right):
        found = worst_case_drops(pairwise, zero_is_right)
        return list(zip(found.sizes.tolist(), found.counts.tolist(), strict=True))

    # From 1 to -1, from 1 to 0; the third can only gain, and the fourth falls by 1 unless it is known to be right.
    assert drops(zero_is_right=True) == [(2, 1), (1, 2)]
    assert drops(zero_is_right=False) == [(2, 1), (1, 2), (1, 4)]


def test_two_fair_steps_tie_half_the_time():
    fair = Steps(np.array([[0.5, 0, 0.5]]), np.array([2]))
    found = loss_tie_win(fair)
    assert [exp(found.loss), exp(found.tie), exp(found.win)] == pytest.approx([0.25, 0.5, 0.25])
    assert fair.stride() == 2
    assert fair.bounds() == (-2, 2)
    assert fair.moments() == (0, 2)


def test_steps_that_may_stay_where_they_are_have_no_parity():
    lazy = Steps(np.array([[0.25, 0.5, 0.25], [0, 0, 1]]), np.array([2, 3]))
    assert lazy.stride() == 1
    assert lazy.bounds() == (1, 5)
    assert lazy.moments() == pytest.approx((3, 1))


def test_wide_steps_list_their_values():
    wide = WideSteps.of([np.array([0.25, 0, 0.5, 0, 0.25])], [3])
    assert wide.values.tolist() == [-2, 0, 2]
    assert (wide.lowest.tolist(), wide.highest.tolist(), wide.sizes.tolist()) == ([-2], [2], [3])
    assert wide.moments() == (0, 6)  # three times 4/2
    steps = Steps(np.array([[0.5, 0, 0.5]]), np.array([1]), wide)
    assert (steps.bounds(), steps.stride()) == ((-7, 7), 2)
    odd = WideSteps.of([np.array([0.25, 0.5, 0.25])], [1])
    assert Steps(np.array([[0.5, 0, 0.5]]), np.array([1]), odd).stride() == 1


def test_rates_keep_away_from_0_and_1():
    with np.errstate(divide="ignore"):
        assert exchangeable.mean_rate(np.log(np.array([1.0, 0.0]))) == 1e-12
        assert exchangeable.mean_rate(np.log(np.array([0.0, 1.0]))) == 1 - 1e-12


def test_wide_steps_have_wide_windows():
    steps = CASES["many pieces"]
    values, _ = poisson_binomial.pmf_by_fft(steps, steps.bounds())
    # Steps of 4 and a variance of 400 · 0.02 + 300 · 0.08: 50 · 4 / 3 + sqrt((50 · 4 / 3)² + 100 · 32).
    half = 200 / 3 + np.sqrt((200 / 3) ** 2 + 100 * 32)
    assert (values[0], values[-1]) == (np.floor(-half), np.ceil(half))


def test_an_event_at_the_mean_needs_no_tilt():
    steps = poisson_binomial.Steps(np.array([[0.5, 0.0, 0.5]]), np.array([400]))
    # Of 400 fair steps: above 0 or at 0 are 1/2 and half of C(400, 200) / 2^400.
    level = np.exp(poisson_binomial.log_tie(steps, steps.bounds()))
    assert np.exp(poisson_binomial.log_tail(steps, 0, 1, steps.bounds())) == pytest.approx((1 + level) / 2, rel=1e-12)
    assert np.exp(poisson_binomial.log_tail(steps, 0, -1, steps.bounds())) == pytest.approx((1 + level) / 2, rel=1e-12)
    assert poisson_binomial.loss_tie_win(steps).win == pytest.approx(log((1 - level) / 2), rel=1e-12)
