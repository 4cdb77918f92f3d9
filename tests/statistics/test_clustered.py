"""Clustered Wilson intervals, Student's t and the sign-flip test: against scipy, statsmodels, hand counts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from verite.statistics.intervals import (
    clustered_wilson,
    design_effect,
    difference_interval,
    student_quantile,
    student_tails,
    wilson,
)
from verite.statistics.mcnemar import mcnemar_exact, sign_flip_exact


@pytest.mark.parametrize("freedom", [1, 2, 5, 30, 400, 20_000])
@pytest.mark.parametrize("deviations", [-1.5, 0.2, 1.96, 4.5])
def test_quantiles_of_students_t_are_scipys(freedom: int, deviations: float) -> None:
    scipy = pytest.importorskip("scipy.stats", reason="scipy is in the group 'test'")
    expected = scipy.t.isf(scipy.norm.sf(deviations), freedom)
    assert student_quantile(deviations, freedom) == pytest.approx(expected, rel=1e-9)
    assert student_tails(abs(deviations), freedom) == pytest.approx(2 * scipy.t.sf(abs(deviations), freedom), rel=1e-10)


def test_wilsons_interval_is_statsmodels() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="statsmodels is in the group 'test'")
    assert wilson(7 / 20, 20) == pytest.approx(proportion.proportion_confint(7, 20, method="wilson"), abs=1e-12)


def test_one_object_per_image_is_wilsons_interval_with_students_t() -> None:
    scipy = pytest.importorskip("scipy.stats", reason="scipy is in the group 'test'")
    proportion = pytest.importorskip("statsmodels.stats.proportion", reason="statsmodels is in the group 'test'")
    hits = np.repeat([1, 0], [14, 26])
    tails = 2 * scipy.norm.sf(scipy.t.ppf(0.975, 39))
    effect = design_effect(hits, np.ones(40))
    assert effect == pytest.approx(40 / 39)  # the variance of a sample
    expected = proportion.proportion_confint(14 / effect, 40 / effect, alpha=tails, method="wilson")
    assert clustered_wilson(hits, np.ones(40)) == pytest.approx(expected, abs=1e-12)


def test_the_design_effect_by_hand() -> None:
    """Images of 1, 2 and 3 objects with 1, 1 and 0 hits: p = 1/3; without each image 1/5, 1/4 and 2/3."""
    hits, trials = np.array([1, 1, 0, 0]), np.array([1, 2, 3, 0])
    variance = ((2 / 15) ** 2 + (1 / 12) ** 2 + (1 / 3) ** 2) * 2 / 3
    assert design_effect(hits, trials) == pytest.approx(variance * 6 / (1 / 3 * 2 / 3))
    assert design_effect(np.array([0, 0]), np.array([4, 4])) == 1.0


def test_the_design_effect_is_the_jackknifes_of_statsmodels() -> None:
    """HC3 of a weighted regression on a constant: the same squares, without the factor (G - 1) / G."""
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is in the group 'test'")
    rng = np.random.default_rng(5)
    trials = rng.integers(1, 30, 40)
    hits = rng.binomial(trials, rng.beta(3, 1, 40))
    fit = api.WLS(hits / trials, np.ones(40), weights=trials).fit(cov_type="HC3")
    share = hits.sum() / trials.sum()
    expected = fit.cov_params().item() * 39 / 40 / (share * (1 - share) / trials.sum())
    assert fit.params.item() == pytest.approx(share)
    assert design_effect(hits, trials) == pytest.approx(expected, rel=1e-10)


def test_images_of_unequal_size_have_fewer_degrees_of_freedom() -> None:
    """10 images of 1 object and 2 of 10: (10 + 20)² / (10 + 200) = 4.29 images, so that t has 3 degrees of freedom."""
    scipy = pytest.importorskip("scipy.stats", reason="scipy is in the group 'test'")
    trials = np.repeat([1, 10], [10, 2])
    hits = np.repeat([1, 0, 7, 9], [6, 4, 1, 1])
    low, high = clustered_wilson(hits, trials)
    square, n = scipy.t.ppf(0.975, 3) ** 2, 30 / design_effect(hits, trials)
    assert (low + high) / 2 == pytest.approx((22 / 30 + square / (2 * n)) / (1 + square / n))


def test_intervals_without_variation_take_the_design_effect_of_all_objects() -> None:
    trials = np.full(10, 4)
    t = student_quantile(1.959963984540054, 9)
    assert clustered_wilson(np.zeros(10), trials, default_effect=4.0) == pytest.approx((0.0, t**2 / (10 + t**2)))
    assert clustered_wilson(trials, trials, default_effect=4.0)[1] == 1.0
    assert clustered_wilson(np.array([3, 0]), np.array([4, 0])) == (0.0, 1.0)  # a single image
    assert np.isnan(clustered_wilson(np.zeros(3), np.zeros(3))).all()


def test_without_variation_and_clustering_the_interval_is_wilsons() -> None:
    """20 images of one object, all detected: t of 19 degrees of freedom is 2.093024, the lower end 20 / (20 + t²)."""
    ones = np.ones(20)
    assert clustered_wilson(ones, ones) == pytest.approx((20 / (20 + 2.093024**2), 1.0), rel=1e-6)
    assert clustered_wilson(ones, ones, default_effect=0.5) == clustered_wilson(ones, ones)


def test_clustered_intervals_cover_where_independent_ones_do_not() -> None:
    """Recall of an image from Beta(1, 1), 6 objects each: design effect 1 + 5/3; 60 images, 400 samples."""
    rng = np.random.default_rng(4)
    covered = np.zeros(2)
    for _ in range(400):
        hits = rng.binomial(6, rng.random(60))
        for i, (low, high) in enumerate((clustered_wilson(hits, np.full(60, 6)), wilson(hits.sum() / 360, 360))):
            covered[i] += low <= 0.5 <= high
    assert covered[0] / 400 > 0.925
    assert covered[1] / 400 < 0.85


@pytest.mark.parametrize("seed", range(8))
def test_the_sign_flip_test_is_a_count_of_all_sign_patterns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lead = rng.integers(-4, 5, 11)
    sums = [abs(np.dot(signs, lead)) for signs in product((-1, 1), repeat=11)]
    assert sign_flip_exact(lead) == pytest.approx(np.mean(np.array(sums) >= abs(lead.sum())), rel=1e-12)


def test_single_objects_make_the_sign_flip_test_mcnemars() -> None:
    for first, second in ((0, 0), (7, 7), (1, 5), (120, 80), (3000, 2800), (400, 0)):
        assert sign_flip_exact([1] * first + [-1] * second) == pytest.approx(mcnemar_exact(first, second), rel=1e-9)


def test_the_interval_of_a_difference_widens_with_few_groups() -> None:
    scipy = pytest.importorskip("scipy.stats", reason="scipy is in the group 'test'")
    samples = np.random.default_rng(0).normal(0.3, 0.1, 200)
    low, high = difference_interval(0.25, samples, 0.9, groups=8)
    reach = scipy.t.ppf(0.95, 7) * samples.std(ddof=1) * (8 / 7) ** 0.5
    assert (low, high) == pytest.approx((0.25 - reach, 0.25 + reach), rel=1e-9)
    assert np.isnan(difference_interval(0.25, samples[:38], 0.9, groups=8)).all()
    assert difference_interval(0.25, samples, 0.9) == pytest.approx(np.quantile(samples, [0.05, 0.95]))
