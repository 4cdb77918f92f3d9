"""Hierarchical shrinkage against numerical integration of the written model."""

from __future__ import annotations

import numpy as np
import pytest

from verite.statistics.shrinkage import shrunken_scores


def test_the_posterior_mean_is_that_of_numerical_integration() -> None:
    """Independent noise of variance s²: given μ and τ the mean is μ + τ² / (τ² + s²) (y − μ); both integrated flat."""
    scores, deviation = np.array([0.52, 0.50, 0.47, 0.46]), 0.02
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 1, (4000, 4))
    noise -= noise.mean(axis=0)
    noise = noise @ np.linalg.inv(np.linalg.cholesky(np.cov(noise.T))).T * deviation  # exactly this covariance
    mu, tau = np.meshgrid(np.linspace(0.2, 0.8, 1201), np.linspace(1e-5, 10 * scores.std(ddof=1), 1500), indexing="ij")
    variance = tau**2 + deviation**2
    logs = sum(-0.5 * np.log(variance) - 0.5 * (y - mu) ** 2 / variance for y in scores)
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    means = [(weight * (mu + tau**2 / variance * (y - mu))).sum() for y in scores]
    found = shrunken_scores(scores, noise, draws=40_000)
    assert found.mean(axis=0) == pytest.approx(means, abs=0.0012)


def test_scores_far_apart_are_hardly_moved() -> None:
    noise = np.random.default_rng(2).normal(0, 0.001, (500, 3))
    found = shrunken_scores([0.8, 0.5, 0.2], noise)
    assert found.mean(axis=0) == pytest.approx([0.8, 0.5, 0.2], abs=0.001)


def test_copies_of_a_detector_have_equal_scores_in_every_draw() -> None:
    noise = np.random.default_rng(3).normal(0, 0.02, (500, 2))
    found = shrunken_scores([0.5, 0.5, 0.4], noise[:, [0, 0, 1]])
    assert np.abs(found[:, 0] - found[:, 1]).max() < 1e-12
