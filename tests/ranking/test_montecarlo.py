"""Do drawn truths follow the pmf they are drawn from?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chisquare
from statsmodels.stats.proportion import proportion_confint

from tests.oracles import draws as oracle
from verite import _core
from verite.annotation_errors import Asymmetric, Audit, Bernoulli, Exactly, PerItem, Shared
from verite.annotation_errors import model as error_model
from verite.ranking.answers import AnswerTable
from verite.ranking.montecarlo import ErrorEffects, Sampler, sample_by_annotation, sample_by_type, sample_score_changes
from verite.ranking.outcomes import outcomes_of
from verite.statistics.intervals import wilson


@pytest.mark.parametrize(("share", "draws"), [(0.0, 100), (1.0, 100), (0.3, 1000), (0.001, 100_000), (0.5, 7)])
def test_wilsons_interval_equals_statsmodels(share, draws):
    expected = proportion_confint(share * draws, draws, method="wilson")
    assert wilson(share, draws) == pytest.approx(expected, abs=1e-12)


def test_nothing_seen_in_n_draws_leaves_up_to_four_over_n_open():
    assert wilson(0.0, 100_000)[1] == pytest.approx(3.84 / 100_000, rel=1e-3)
    low, high = wilson(0.5, 100_000)
    assert (high - low) / 2 < 0.0031


@pytest.mark.parametrize(("size", "rate"), [(30, 0.1), (400, 0.05), (5000, 0.3)])
def test_a_sampler_follows_its_law(size, rate):
    many = np.arange(size + 1)
    sampler = Sampler.of(many.astype(float), binom(size, rate).pmf(many))
    drawn = sampler.sample(200_000, np.random.default_rng(0))
    common = binom(size, rate).pmf(many) * len(drawn) > 20
    counts = np.bincount(drawn, minlength=size + 1)
    observed = [*counts[common], counts[~common].sum()]
    pmf = binom(size, rate).pmf(many)
    expected = [*pmf[common], pmf[~common].sum()]
    assert chisquare(observed, np.array(expected) / sum(expected) * len(drawn)).pvalue > 1e-4


def small_table(labels=2):
    rng = np.random.default_rng(8)
    truth = rng.integers(0, labels, 60)
    answers = {f"m{j}": np.where(rng.random(60) < 0.7, truth, rng.integers(0, labels, 60)) for j in range(4)}
    return AnswerTable.of(truth, answers, kind="labels" if labels > 2 else None)


def assert_same_distribution(mine, theirs):
    """Means and covariances of two sets of draws agree within their errors."""
    error = np.sqrt(mine.var(axis=0) / len(mine) + theirs.var(axis=0) / len(theirs))
    assert np.all(np.abs(mine.mean(axis=0) - theirs.mean(axis=0)) < 5 * error + 1e-12)
    assert np.cov(mine.T) == pytest.approx(np.cov(theirs.T), rel=0.08, abs=0.12)


@pytest.mark.parametrize("model", [Bernoulli(0.2), Asymmetric(0.05, 0.4), PerItem(np.linspace(0, 0.5, 60))])
def test_both_ways_of_drawing_follow_the_item_by_item_law(model):
    table = small_table()
    outcomes = outcomes_of(table, model)
    right = np.stack([column == table.truth for column in table.answers], axis=1)
    if isinstance(model, Bernoulli):
        rates = np.full(60, 0.2)
    elif isinstance(model, Asymmetric):
        rates = np.where(table.truth == 1, 0.4, 0.05)
    else:
        rates = model.rates
    expected = oracle.item_by_item(right, rates, 60_000, np.random.default_rng(1)) - outcomes.scores
    # Items on which all agree move all scores alike and are left out: compare differences.
    expected = expected[:, 1:] - expected[:, :1]
    effects = ErrorEffects.of(outcomes)
    for blocks in (
        sample_by_type(effects, 60_000, np.random.default_rng(2)),
        sample_by_annotation(effects, model, 60_000, np.random.default_rng(3)),
    ):
        way = whole(blocks)
        assert_same_distribution(way[:, 1:] - way[:, :1], expected)


@pytest.mark.parametrize(
    "model",
    [
        Audit(3, 20),
        Exactly(9),
        Shared(0.2, 0.5, [i // 6 for i in range(60)]),
        Shared(0.2, 1.0, [i // 6 for i in range(60)]),
    ],
)
def test_dependent_errors_follow_their_law(model):
    """Against rates, or wrong records, drawn by numpy for every item."""
    table = small_table()
    outcomes = outcomes_of(table, model)
    right = np.stack([column == table.truth for column in table.answers], axis=1)
    rng = np.random.default_rng(5)
    many = 60_000
    if isinstance(model, Audit):
        wrong = rng.random((many, 60)) < rng.beta(3.5, 17.5, (many, 1))
    elif isinstance(model, Exactly):
        wrong = np.argsort(rng.random((many, 60)), axis=1) < 9
    else:
        rates = rng.beta(0.2, 0.8, (many, 10)) if model.correlation < 1 else rng.random((many, 10)) < 0.2
        wrong = rng.random((many, 60)) < np.repeat(rates, 6, axis=1)
    expected = np.stack([(right[:, j][None, :] ^ wrong).sum(axis=1) for j in range(4)], axis=1) - outcomes.scores
    drawn = whole(sample_score_changes(ErrorEffects.of(outcomes), model, many, np.random.default_rng(6)))
    assert_same_distribution(drawn[:, 1:] - drawn[:, :1], expected[:, 1:] - expected[:, :1])


def whole(blocks):
    return np.concatenate(list(blocks))


def kernel_inputs(seed):
    rng = np.random.default_rng(seed)
    kinds, ways, scores, items = 5, 3, 4, 40
    cumulative = np.cumsum(rng.dirichlet(np.ones(ways), kinds), axis=1)
    cumulative /= cumulative[:, -1:]
    return rng, {
        "kind": rng.integers(0, kinds, items).astype(np.int32),
        "ways": cumulative,
        "change": rng.normal(size=(kinds, ways, scores)),
    }


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rate", [0.0, 0.02, 0.3, 1.0])
def test_independent_errors_equal_the_kernels_twin_to_the_last_bit(seed, rate):
    rng, common = kernel_inputs(seed)
    share = rng.random(40) if seed % 2 else np.zeros(0)
    given = {**common, "rate": rate, "share": share, "draws": 30, "seed": 2**63 + seed, "first_draw": 17}
    assert np.array_equal(_core.independent_changes(**given), oracle.independent_changes(**given))


@pytest.mark.parametrize("seed", range(4))
def test_chosen_errors_equal_the_kernels_twin_to_the_last_bit(seed):
    rng, common = kernel_inputs(seed)
    groups = np.array([0, 7, 7, 25, 40])
    wrong = np.stack([rng.integers(0, size + 1, 30) for size in np.diff(groups)], axis=1).astype(np.int32)
    given = {**common, "groups": groups, "wrong": wrong, "seed": seed, "first_draw": 3}
    assert np.array_equal(_core.chosen_changes(**given), oracle.chosen_changes(**given))


def test_draws_do_not_depend_on_how_many_are_made_at_a_time():
    rng, common = kernel_inputs(1)
    given = {**common, "rate": 0.2, "share": np.zeros(0), "seed": 5}
    whole = _core.independent_changes(**given, draws=20, first_draw=0)
    parts = [_core.independent_changes(**given, draws=10, first_draw=b) for b in (0, 10)]
    assert np.array_equal(whole, np.concatenate(parts))
    wrong = rng.integers(0, 41, (20, 1)).astype(np.int32)
    chosen = {**common, "groups": np.array([0, 40]), "seed": 5}
    whole = _core.chosen_changes(**chosen, wrong=wrong, first_draw=0)
    parts = [_core.chosen_changes(**chosen, wrong=wrong[b : b + 10], first_draw=b) for b in (0, 10)]
    assert np.array_equal(whole, np.concatenate(parts))


def test_draws_do_not_depend_on_threads(monkeypatch):
    moves = ErrorEffects.of(outcomes_of(small_table(labels=4), Bernoulli(0.2)))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("VERITE_THREADS", threads)
        found.append(whole(sample_by_annotation(moves, Bernoulli(0.2), 500, np.random.default_rng(9))))
    assert np.array_equal(*found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": np.full(40, 9, dtype=np.int32)}, "kind: expected numbers below 5"),
        ({"groups": np.array([0, 50])}, "groups: expected rising offsets from 0 to 40"),
        ({"groups": np.array([0, 30, 20, 40])}, "groups: expected rising offsets from 0 to 40"),
        ({"wrong": np.zeros((3, 2), dtype=np.int32)}, "wrong: expected one column per group, found 2"),
        ({"wrong": np.full((1, 1), 41, dtype=np.int32)}, "wrong: expected at most the number of items in the group"),
        ({"wrong": np.full((1, 1), -1, dtype=np.int32)}, "wrong: expected at most the number of items in the group"),
        ({"ways": np.ones((4, 3))}, "ways and change: expected the same kinds and ways"),
    ],
)
def test_the_kernel_refuses_arrays_that_do_not_fit(change, message):
    _, common = kernel_inputs(0)
    given = {**common, "groups": np.array([0, 40]), "wrong": np.zeros((3, 1), dtype=np.int32), "seed": 0}
    with pytest.raises(ValueError, match=message):
        _core.chosen_changes(**(given | change), first_draw=0)


def test_the_kernel_refuses_shares_that_do_not_fit():
    _, common = kernel_inputs(0)
    with pytest.raises(ValueError, match="share: expected one number per item, or none"):
        _core.independent_changes(**common, rate=0.1, share=np.zeros(3), draws=1, seed=0, first_draw=0)


def test_many_small_groups_are_drawn_like_few(monkeypatch):
    """Errors of single items in groups of their own are independent, whatever the correlation."""
    table = small_table()
    model = Shared(0.2, 0.7, list(range(60)))
    moves = ErrorEffects.of(outcomes_of(table, model))
    drawn = whole(sample_by_annotation(moves, model, 40_000, np.random.default_rng(1)))
    plain = whole(sample_by_type(ErrorEffects.of(outcomes_of(table, Bernoulli(0.2))), 40_000, np.random.default_rng(2)))
    assert_same_distribution(drawn[:, 1:] - drawn[:, :1], plain[:, 1:] - plain[:, :1])
    monkeypatch.setattr(error_model, "BLOCK", 100)
    again = whole(sample_by_annotation(moves, model, 2000, np.random.default_rng(1)))
    assert_same_distribution(again[:, 1:] - again[:, :1], plain[:, 1:] - plain[:, :1])


def test_identical_algorithms_draw_nothing():
    table = AnswerTable.of([1, 0], {"a": [1, 1], "b": [1, 1]})
    changes = sample_score_changes(
        ErrorEffects.of(outcomes_of(table, Bernoulli(0.1))), Bernoulli(0.1), 10, np.random.default_rng(0)
    )
    assert whole(changes).tolist() == [[0, 0]] * 10
