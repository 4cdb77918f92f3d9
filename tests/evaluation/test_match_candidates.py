"""Candidates that somebody measured are matched as a plain loop would, and ignored truths excuse."""

from __future__ import annotations

import numpy as np
import pytest

from verite import _core


def one_by_one(offsets, truth, overlap, order, ignored, threshold):
    free = np.ones(len(ignored), dtype=bool)
    out = np.full(len(offsets) - 1, -1)
    for pred in order:
        for is_second_round in (False, True):
            best, chosen = 0.0, -1
            for j in range(offsets[pred], offsets[pred + 1]):
                may_take = ignored[truth[j]] if is_second_round else free[truth[j]] and not ignored[truth[j]]
                if may_take and overlap[j] >= threshold and overlap[j] > best:
                    best, chosen = overlap[j], j
            if chosen >= 0:
                free[truth[chosen]] = False
                out[pred] = chosen
                break
    return out


@pytest.mark.parametrize("seed", range(60))
def test_everyone_takes_the_best_that_is_free(seed):
    rng = np.random.default_rng(seed)
    preds, truths = rng.integers(0, 40), rng.integers(1, 30)
    lists = [rng.choice(truths, size=rng.integers(0, truths + 1), replace=False) for _ in range(preds)]
    offsets = np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)
    truth = np.concatenate([*lists, np.empty(0, int)]).astype(np.int32)
    overlap = rng.integers(0, 6, size=len(truth)) / 5  # many ties, some of them 0
    order = rng.permutation(preds)[: rng.integers(preds // 2, preds + 1)]
    ignored = rng.random(truths) < (0.3 if seed % 2 else 0)
    for threshold in (5e-324, 0.4, 1.0):
        found = _core.match_candidates((offsets, truth, overlap), order, ignored, threshold)
        np.testing.assert_array_equal(found, one_by_one(offsets, truth, overlap, order, ignored, threshold))


def test_an_order_and_pairs_that_cannot_be_are_refused():
    one, none = np.array([0, 1], np.int64), np.zeros(1, bool)
    pairs = (one, np.zeros(1, np.int32), np.ones(1))
    for given, order in ((pairs, [1]), (pairs, [-1]), ((one, np.ones(1, np.int32), np.ones(1)), [0])):
        with pytest.raises(ValueError, match="expected"):
            _core.match_candidates(given, np.array(order, np.int64), none, 0.5)
    with pytest.raises(ValueError, match="expected"):
        _core.match_candidates((np.empty(0, np.int64), *pairs[1:]), np.zeros(0, np.int64), none, 0.5)
