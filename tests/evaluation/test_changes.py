"""A changed truth: the same as if it were written out and evaluated anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.evaluation.sets import assert_same, draw_changes, evaluate, read, write_out
from tests.oracles.coco_sets import random_mask_set, random_set
from verite.errors import BadParameter
from verite.evaluation.evaluation import Evaluation, Rules
from verite.protocols.coco import RECALLS, CocoSettings, rules_of

pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")


@pytest.mark.parametrize("first", range(0, 120, 20))
@pytest.mark.parametrize("on", ["box", "mask"])
def test_a_changed_truth_is_evaluated_as_if_it_were_written_out(tmp_path: Path, on: Any, first: int) -> None:
    compared = 0
    for seed in range(first, first + 20):
        sides = read(tmp_path, *(random_set(seed) if on == "box" else random_mask_set(seed)))
        if not len(sides[0]):
            continue
        kept = evaluate(*sides, on)
        removed, added = draw_changes(kept.truth, seed)
        anew = evaluate(write_out(kept.truth, removed, added), kept.pred, on)
        before = kept.native.precision.tobytes()
        assert_same(kept.changed(removed, added), anew.native.precision, anew.native.recall)
        weights = np.random.default_rng(seed).integers(0, 3, len(kept.truth.images))
        weighted = anew.weighted(weights)
        found = kept.changed(removed, added, weights)
        assert_same(found, weighted.native.precision, weighted.native.recall)
        assert kept.kept.numbers().precision.tobytes() == before
        compared += 1
    assert compared >= 12


OTHER_RULES = (
    rules_of(CocoSettings(class_agnostic=True)),
    rules_of(CocoSettings(ignored="explicit", max_dets=(1, 3))),
    Rules(
        (0.3, 0.5),
        "corner_box",
        pixel=1.0,
        wants="best",
        equal="first",
        ties="row",
        recalls=RECALLS,
        allow_unknown_classes=True,
    ),
    Rules((0.5,), "corner_box", equal="first", ties="row", recalls=RECALLS, is_strict=True),
)


@pytest.mark.parametrize("rules", OTHER_RULES)
def test_a_truth_can_be_changed_by_any_rules(tmp_path: Path, rules: Rules) -> None:
    for seed in range(20):
        sides = read(tmp_path, *random_set(seed))
        if not len(sides[0]):
            continue
        kept = Evaluation(*sides, rules)
        removed, added = draw_changes(kept.truth, seed)
        anew = Evaluation(write_out(kept.truth, removed, added), kept.pred, rules)
        assert_same(kept.changed(removed, added), anew.native.precision, anew.native.recall)


def test_changes_are_of_the_truth_s_own_rows_and_classes() -> None:
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]])
    kept = evaluate(truth, truth)
    with pytest.raises(BadParameter, match="changes: expected rows of the ground truth, found 1"):
        kept.changed([1])
    with pytest.raises(BadParameter, match="changes: expected classes of the ground truth"):
        kept.changed([0], vt.Annotations.of(["a"], ["dog"], [[0, 0, 9, 9]]))
    with pytest.raises(BadParameter, match="expected images of the ground truth"):
        kept.changed([0], vt.Annotations.of(["b"], ["cat"], [[0, 0, 9, 9]]))


def test_more_than_sixteen_thresholds_are_changed_and_weighted_too(tmp_path: Path) -> None:
    truth, pred = read(tmp_path, *random_set(7))
    rules = Rules(tuple(np.linspace(0.2, 0.9, 37).tolist()), recalls=RECALLS, ignored=("crowd",), shared=("crowd",))
    kept = Evaluation(truth, pred, rules)
    removed, added = draw_changes(truth, 7)
    anew = Evaluation(write_out(truth, removed, added), pred, rules)
    assert_same(kept.changed(removed, added), anew.native.precision, anew.native.recall)
    for i, threshold in enumerate(rules.thresholds):
        alone = Evaluation(truth, pred, Rules((threshold,), recalls=RECALLS, ignored=("crowd",), shared=("crowd",)))
        assert np.array_equal(kept.native.precision[:, i], alone.native.precision[:, 0], equal_nan=True)
