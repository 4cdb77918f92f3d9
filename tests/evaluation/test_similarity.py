"""Pairs that overlap enough: what every similarity finds, in groups of any size."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

import verite as vt
from tests.oracles.boxes import all_pairs
from verite.evaluation.evaluation import Evaluation, Rules
from verite.evaluation.settings import SIMILARITIES, On

# Below, at and above the size from which boxes are looked at through a window.
SIZES = (1, 63, 64, 65, 700)


def scene(count: int, seed: int) -> Any:
    """Boxes of many sizes, some the same, some very thin, some far away, some around everything."""
    rng = np.random.default_rng(seed)
    sides = np.exp(rng.normal(2.5, 1.3, (count, 2)))
    start = rng.random((count, 2)) * 300 - 50
    boxes = np.concatenate([start, start + sides], axis=1)
    boxes[rng.random(count) < 0.1] = boxes[0]
    boxes[rng.random(count) < 0.05, 2:] -= 0.999 * sides.max()  # inside out
    boxes[rng.random(count) < 0.02] = [-1e4, -1e4, 1e4, 1e4]
    return np.where(rng.random((count, 1)) < 0.5, np.round(boxes), boxes)


def find(truth: Any, pred: Any, rules: Rules) -> list[tuple[int, int, float]]:
    """(prediction, truth, overlap) of every pair, predictions and truths in their order."""
    sides = (vt.Annotations.of(["a"] * len(b), ["cat"] * len(b), b) for b in (truth, pred))
    layout = Evaluation(*sides, rules).layout
    offsets, truths, overlaps = layout.candidates
    owner = layout.preds[0][np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))]
    return sorted(zip(owner.tolist(), layout.truths[0][truths].tolist(), overlaps.tolist(), strict=True))


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize(("similarity", "pixel"), [("box", 0.0), ("corner_box", 0.0), ("corner_box", 1.0)])
def test_large_groups_of_boxes_have_the_pairs_of_small_ones(similarity: str, pixel: float, count: int) -> None:
    for seed, floor in ((0, 0.5), (1, 0.05)):
        truth, pred = scene(count, seed), scene(40, seed + 10)
        found = find(truth, pred, Rules((floor,), similarity, pixel=pixel))
        assert found == all_pairs(truth, pred, floor, pixel=pixel, is_corner=similarity == "corner_box")


def test_an_edge_that_is_not_finite_hides_nothing_in_a_large_group() -> None:
    truth, pred = scene(200, 3), scene(30, 4)
    truth[17, 2] = np.inf
    truth[90, 1] = np.nan
    expected = all_pairs(truth, pred, 0.3, pixel=0.0, is_corner=True)
    assert find(truth, pred, Rules((0.3,), "corner_box")) == expected


def test_truths_of_a_large_group_come_in_their_order() -> None:
    """Of equal overlaps the later truth wins, however many there are."""
    truth = np.tile([[0.0, 0, 10, 10]], (200, 1))
    sides = [vt.Annotations.of(["a"] * n, ["cat"] * n, truth[:n]) for n in (200, 2)]
    rules = Rules((0.5,), "box", ignored=("crowd",), shared=("crowd",))
    assert Evaluation(*sides, rules).outcomes().truth.tolist() == [199, 198]
    first = Rules((0.5,), "corner_box", equal="first")
    assert Evaluation(*sides, first).outcomes().truth.tolist() == [0, 1]


def test_type_checkers_know_every_similarity_of_the_core() -> None:
    assert get_args(On) == tuple(SIMILARITIES)


def test_an_evaluation_refuses_more_pairs_than_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen pairs a prediction are always fine: 20 on the same 20 are 400, of which 20 * 16 + 79 are allowed."""
    box = np.tile([[0.0, 0, 10, 10]], (20, 1))
    sides = [vt.Annotations.of(["a"] * 20, ["cat"] * 20, box) for _ in range(2)]
    monkeypatch.setenv("VERITE_LIMIT_OVERLAPS", "80")
    assert Evaluation(*sides, Rules((0.5,)), 2).outcomes().state.sum() == 20
    monkeypatch.setenv("VERITE_LIMIT_OVERLAPS", "79")
    with pytest.raises(vt.DataError, match="expected at most 399 pairs of objects that overlap, found more; raise"):
        Evaluation(*sides, Rules((0.5,)), 2)
