"""Many changed truths at once: the same as one after the other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.evaluation.sets import draw_changes, evaluate, read, write_out
from tests.oracles.coco_sets import random_mask_set, random_set
from verite.errors import BadParameter
from verite.evaluation.evaluation import Changes, Simulations
from verite.model.regions import Regions

pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")


PARTS = (
    *(("precision", threshold, area, 2) for threshold in (None, 0, 5) for area in range(4)),
    *(("recall", None, area, limit) for area in (0, 2) for limit in range(3)),
)


def draw_many(truth: vt.Annotations, seed: int, draws: int) -> Changes:
    """Other truths, of which each has some of a dozen objects, with any labels."""
    rng = np.random.default_rng(seed)
    objects = truth.take(rng.integers(0, len(truth), 12))
    lists = []
    for _ in range(draws):
        removed = np.flatnonzero(rng.random(len(truth)) < 0.4)
        added = np.flatnonzero(rng.random(12) < 0.5)
        lists.append((removed, added, rng.integers(0, len(truth.labels), len(added))))
    return Changes.of(objects, *zip(*lists, strict=True))


def one_of(changes: Changes, i: int) -> tuple[Any, vt.Annotations]:
    assert changes.objects is not None
    removed, added, labels, _ = changes.draw(i)
    return removed, replace(changes.objects.take(added), label=labels)


@pytest.mark.thorough
@pytest.mark.parametrize("on", ["box", "mask"])
def test_means_of_many_draws_are_those_of_one_draw_after_the_other(tmp_path: Path, on: Any) -> None:
    compared = 0
    for seed in range(40):
        sides = read(tmp_path, *(random_set(seed) if on == "box" else random_mask_set(seed)))
        if not len(sides[0]):
            continue
        kept = evaluate(*sides, on)
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 4, (5, len(kept.truth.images)))
        changes = draw_many(kept.truth, seed, 5)
        first = draw_many(kept.truth, seed, 2)
        for asked in ((weights, None), (None, changes), (weights, changes)):
            found = kept.bootstrap_means(PARTS, *asked)
            for i in range(5):
                own = asked[0][i] if asked[0] is not None else None
                removed, added = one_of(changes, i) if asked[1] is not None else ((), None)
                numbers = kept.changed(removed, added, own)
                expected = [numbers.mean(*part) for part in PARTS]
                assert np.allclose(found[i], expected, rtol=0, atol=1e-15, equal_nan=True)
            assert kept.bootstrap_means(PARTS, *asked, threads=3).tobytes() == found.tobytes()
            fewer = (None if asked[0] is None else weights[:2], None if asked[1] is None else first)
            assert kept.bootstrap_means(PARTS, *fewer).tobytes() == found[:2].tobytes()
        doubts = kept.simulate_means(
            PARTS, Simulations(weights, changes, is_shared=True), ((True, False), (False, True), (True, True))
        )
        for k, asked in enumerate(((weights, None), (None, changes), (weights, changes))):
            assert doubts[:, k].tobytes() == kept.bootstrap_means(PARTS, *asked).tobytes()
        compared += 1
    assert compared >= 25


def test_draws_ask_for_what_there_is(tmp_path: Path) -> None:
    kept = evaluate(*read(tmp_path, *random_set(12)))
    weights = np.ones((2, len(kept.truth.images)))
    for part, message in (
        (("precision", None, 0, 0), "precision at the largest maxDets"),
        (("recall", 10, 0, 0), "thresholds, area ranges and maxDets"),
        (("recall", None, 4, 0), "thresholds, area ranges and maxDets"),
    ):
        with pytest.raises(BadParameter, match=message):
            kept.bootstrap_means([part], weights)
    with pytest.raises(BadParameter, match="as many changed ground truths"):
        kept.bootstrap_means(PARTS, weights, Changes.of(removed=[()]))
    for changes, message in (
        (Changes.of(removed=[[10**6]]), "rows of the ground truth, found 1000000"),
        (Changes.of(again=[[-1]]), "rows of the ground truth, found -1"),
        (Changes.of(kept.truth, added=[[10**6]], labels=[[0]]), "objects that may be added, found 1000000"),
        (Changes.of(kept.truth, added=[[0]], labels=[[99]]), "classes of the ground truth"),
    ):
        with pytest.raises(BadParameter, match=message):
            kept.bootstrap_means(PARTS, None, changes)


def test_a_twin_that_nobody_finds_is_an_object_far_away(tmp_path: Path) -> None:
    compared = 0
    for seed in range(30):
        sides = read(tmp_path, *random_set(seed))
        if not len(sides[0]):
            continue
        kept = evaluate(*sides)
        rng = np.random.default_rng(seed)
        rows = np.flatnonzero(~kept.truth.crowd & (rng.random(len(kept.truth)) < 0.5))
        far = np.tile([-1e6, -1e6, 1.0, 1.0], (len(rows), 1))
        twins = replace(kept.truth.take(rows), regions=Regions(far, "xywh"))
        weights = rng.integers(0, 3, (1, len(kept.truth.images)))
        for given in (None, weights):
            numbers = kept.changed((), twins, None if given is None else given[0])
            found = kept.bootstrap_means(PARTS, given, Changes.of(again=[rows]))[0]
            assert np.allclose(found, [numbers.mean(*part) for part in PARTS], rtol=0, atol=1e-15, equal_nan=True)
        compared += 1
    assert compared >= 20


def test_draws_may_ask_for_some_classes(tmp_path: Path) -> None:
    kept = evaluate(*read(tmp_path, *random_set(12)))
    classes = [i % 2 == 0 for i in range(len(kept.truth.labels))]
    weights = np.random.default_rng(0).integers(0, 3, (3, len(kept.truth.images)))
    for part in PARTS:
        found = kept.bootstrap_means([(*part, classes)], weights)[:, 0]
        expected = [kept.weighted(row).mean(*part, classes) for row in weights]
        assert np.allclose(found, expected, rtol=0, atol=1e-15, equal_nan=True)
    with pytest.raises(BadParameter, match="a flag for each class"):
        kept.bootstrap_means([(*PARTS[0], [True])], weights)


@pytest.mark.parametrize("weight", [0.5, 1 / 3, 300.0])
def test_draws_take_weights_that_are_no_small_whole_numbers(tmp_path: Path, weight: float) -> None:
    for seed in (3, 12, 17):
        kept = evaluate(*read(tmp_path, *random_set(seed)))
        rng = np.random.default_rng(seed)
        weights = weight * rng.integers(0, 3, (2, len(kept.truth.images)))
        changes = draw_many(kept.truth, seed, 2)
        found = kept.bootstrap_means(PARTS, weights, changes)
        for i in range(2):
            numbers = kept.changed(*one_of(changes, i), weights[i])
            assert np.allclose(found[i], [numbers.mean(*part) for part in PARTS], rtol=0, atol=1e-15, equal_nan=True)


def test_a_sum_over_all_recalls_asks_for_whole_weights(tmp_path: Path) -> None:
    results = vt.voc(*read(tmp_path, *random_set(12)), checks="off")
    with pytest.raises(BadParameter, match="whole numbers up to 255"):
        results.evaluation.bootstrap_means([results.mean_query("mAP")], np.full((1, len(results.truth.images)), 0.5))


@pytest.mark.thorough
@pytest.mark.parametrize("interpolation", ["all", "11"])
def test_draws_of_pascal_voc_s_precision_are_its_own_numbers(tmp_path: Path, interpolation: Any) -> None:
    compared = 0
    for seed in range(40):
        sides = read(tmp_path, *random_set(seed))
        if not len(sides[0]):
            continue
        results = vt.voc(*sides, interpolation=interpolation, checks="off")
        kept, changes = results.evaluation, draw_many(results.truth, seed, 3)
        found = kept.bootstrap_means([results.mean_query("mAP")], None, changes)[:, 0]
        for i in range(3):
            other = write_out(kept.truth, *one_of(changes, i))
            expected = vt.voc(other, kept.pred, interpolation=interpolation, checks="off")["mAP"].value
            assert found[i] == pytest.approx(expected, abs=1e-15, nan_ok=True)
        ones = np.ones((1, len(kept.truth.images)))
        plain = kept.bootstrap_means([results.mean_query("mAP")], ones)[0, 0]
        assert plain == pytest.approx(results["mAP"].value, abs=1e-15, nan_ok=True)
        compared += 1
    assert compared >= 25


def test_draws_may_be_asked_for_on_threads(tmp_path: Path) -> None:
    kept = evaluate(*read(tmp_path, *random_set(12)))
    draws = [draw_changes(kept.truth, seed) for seed in range(24)]
    expected = [kept.changed(*draw).native.precision.tobytes() for draw in draws]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda draw: kept.changed(*draw).native.precision.tobytes(), draws))
    assert found == expected


def test_removals_side_by_side_equal_each_by_itself_to_the_bit(tmp_path: Path) -> None:
    # Side by side, average precision is read off the recall levels; by itself, a class is walked through.
    compared = set()
    for seed in range(60):
        kept = evaluate(*read(tmp_path, *random_set(seed)))
        removed = [[row] for row in range(len(kept.truth))] * 3
        if not removed:
            continue
        together = kept.bootstrap_means(PARTS, None, Changes.of(removed=removed))
        alone = [kept.bootstrap_means(PARTS, None, Changes.of(removed=[rows]))[0] for rows in removed]
        assert together.tobytes() == np.stack(alone).tobytes()
        compared |= set(together[:, 0].tolist())
    assert len(compared) > 300
