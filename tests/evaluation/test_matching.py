"""One-to-one matching in rounds ends where asking one by one would."""

from __future__ import annotations

import numpy as np
import pytest

from verite.evaluation.matching import Candidates, match_free


def one_by_one(candidates, order, truths, threshold):
    free = np.ones(truths, dtype=bool)
    out = np.full(len(candidates), -1)
    for pred in order:
        best, chosen = 0.0, -1
        for j in range(candidates.offsets[pred], candidates.offsets[pred + 1]):
            overlap, truth = candidates.overlap[j], candidates.truth[j]
            if free[truth] and overlap >= threshold and overlap > best:
                best, chosen = overlap, truth
        if chosen >= 0:
            free[chosen] = False
            out[pred] = chosen
    return out


@pytest.mark.parametrize("seed", range(60))
def test_rounds_give_what_asking_one_by_one_gives(seed):
    rng = np.random.default_rng(seed)
    preds, truths = rng.integers(0, 40), rng.integers(1, 30)
    lists = [rng.choice(truths, size=rng.integers(0, truths + 1), replace=False) for _ in range(preds)]
    offsets = np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)
    truth = np.concatenate([*lists, np.empty(0, int)]).astype(np.int32)
    overlap = rng.integers(0, 6, size=len(truth)) / 5  # many ties, some of them 0
    candidates = Candidates(offsets, truth, overlap)
    order = rng.permutation(preds)
    for threshold in (0.0, 0.4, 1.0):
        expected = one_by_one(candidates, order, truths, threshold)
        np.testing.assert_array_equal(match_free(candidates, order, truths, threshold), expected)
