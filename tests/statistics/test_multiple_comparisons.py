"""Confidence sets for ranks against a slow reference implementation of the paper's definition."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from verite.statistics.multiple_comparisons import compare_all_pairs


def rank_sets_by_definition(scores, samples, level):
    """Rank sets as in the paper: hypotheses H(j, k), "j is not ahead of k", tested stepwise, one pair at a time."""
    size = len(scores)
    pairs = [(j, k) for j in range(size) for k in range(size) if j != k]
    deviation = {(j, k): np.std(samples[:, j] - samples[:, k]) for j, k in pairs}
    left, rejected = [pair for pair in pairs if deviation[pair] > 1e-12], set()
    while left:
        largest = []
        for row in range(len(samples)):
            studentised = []
            for j, k in left:
                centre = np.mean(samples[:, j] - samples[:, k])
                studentised.append((samples[row, j] - samples[row, k] - centre) / deviation[j, k])
            largest.append(max(studentised))
        critical = np.quantile(largest, level)
        new = {(j, k) for j, k in left if (scores[j] - scores[k]) / deviation[j, k] > critical}
        if not new:
            break
        rejected |= new
        left = [pair for pair in left if pair not in new]
    behind = [sum((k, j) in rejected for k in range(size)) for j in range(size)]
    before = [sum((j, k) in rejected for k in range(size)) for j in range(size)]
    return [[1 + b, size - a] for b, a in zip(behind, before, strict=True)]


@pytest.mark.parametrize("seed", range(12))
def test_rank_sets_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.normal(0, 1, 5))[::-1]
    samples = scores + rng.normal(0, 0.3, (80, 5)) + rng.normal(0, 1, (80, 1))
    found = compare_all_pairs(scores, samples, 0.9).rank_sets.tolist()
    assert found == rank_sets_by_definition(scores, samples, 0.9)


def test_with_few_units_the_critical_value_is_students():
    """Two detectors, 10 units, normal differences: ahead from t(9) · sd · √(10 / 9) = 2.262 · 1.054 sd on."""
    noise = np.array([NormalDist().inv_cdf((k + 0.5) / 20_000) for k in range(20_000)])
    samples = np.stack([0.01 * noise, np.zeros_like(noise)], axis=1)
    limit = 2.262157 * 0.01 * np.sqrt(10 / 9)
    for factor, is_ahead in ((0.995, False), (1.005, True)):
        assert compare_all_pairs([factor * limit, 0.0], samples, 0.95, units=10).ahead[0, 1] == is_ahead
    for factor, is_ahead in ((0.995, False), (1.005, True)):  # two-sided 5 % of a normal distribution
        assert compare_all_pairs([factor * 0.0196, 0.0], samples, 0.95).ahead[0, 1] == is_ahead


def test_several_detectors_cost_one_degree_of_freedom_more():
    """Two of three detectors are copies, so that all differences are the same: t(8) = 2.306."""
    noise = np.array([NormalDist().inv_cdf((k + 0.5) / 20_000) for k in range(20_000)])
    samples = np.stack([0.01 * noise, np.zeros_like(noise), np.zeros_like(noise)], axis=1)
    limit = 2.306004 * 0.01 * np.sqrt(10 / 9)
    for factor, is_ahead in ((0.995, False), (1.005, True)):
        found = compare_all_pairs([factor * limit, 0.0, 0.0], samples, 0.95, units=10)
        assert found.ahead[0].tolist() == [False, is_ahead, is_ahead]


def test_two_copies_of_a_detector_are_always_tied():
    noise = np.random.default_rng(0).normal(0, 0.01, (200, 2))
    samples = np.array([0.9, 0.9, 0.1]) + noise[:, [0, 0, 1]]
    found = compare_all_pairs([0.9, 0.9, 0.1], samples)
    assert found.rank_sets.tolist() == [[1, 2], [1, 2], [3, 3]]
    assert found.tied_groups([0, 1, 2]) == [[0, 1]]


def test_rank_sets_cover_all_true_ranks_at_once_as_often_as_the_level_asks():
    """Ten detectors, four of them tied: the sets hold all true ranks together in at least 95 % of the worlds."""
    rng = np.random.default_rng(5)
    true = np.array([3, 2, 2, 2, 2, 1, 0.5, 0.4, 0.3, -1])
    low = np.array([1 + (true > t).sum() for t in true])
    high = np.array([(true >= t).sum() for t in true])
    right = 0
    for _ in range(400):
        seen = true + rng.normal(0, 0.2, 10)
        found = compare_all_pairs(seen, seen + rng.normal(0, 0.2, (300, 10))).rank_sets
        right += bool(((found[:, 0] <= low) & (high <= found[:, 1])).all())
    assert right / 400 > 0.95 - 2 * (0.95 * 0.05 / 400) ** 0.5


def test_fewer_than_two_samples_leave_all_tied():
    assert compare_all_pairs([1.0, 0.0], [[1.0, 0.0]]).rank_sets.tolist() == [[1, 2], [1, 2]]
    assert compare_all_pairs([1.0, 0.0], np.full((9, 2), np.nan)).rank_sets.tolist() == [[1, 2], [1, 2]]
