"""Every number of pycocotools, to the last bit, on random data sets full of the cases in which evaluators differ."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.evaluation.sets import read
from tests.oracles.coco_reference import boundary_reference, reference
from tests.oracles.coco_sets import random_mask_set, random_set

pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
SETS, BLOCK = 1250, 50  # at least 41 of a block are compared, so more than 1,000 in all
KEYS = ("precision", "recall", "scores")


def assert_same_bits(found: vt.CocoResults, expected: Any) -> None:
    arrays = found.arrays.with_absent(-1.0)
    for key in KEYS:
        ours, theirs = getattr(arrays, key), expected.eval[key]
        assert ours.shape == theirs.shape
        assert ours.tobytes() == np.ascontiguousarray(theirs).tobytes(), key
    twelve = np.nan_to_num([score.value for score in found.scores.values()], nan=-1.0)
    assert twelve.tobytes() == np.asarray(expected.stats).tobytes()


@pytest.mark.parametrize("first", range(0, SETS, BLOCK))
@pytest.mark.parametrize("on", ["box", "mask"])
def test_random_sets_have_the_reference_bits(tmp_path: Path, on: Any, first: int, many: Callable[[int], int]) -> None:
    compared, last = 0, first + many(BLOCK)
    for seed in range(first, last):
        truth, results = random_set(seed) if on == "box" else random_mask_set(seed)
        if not results:
            continue  # the reference crashes on no results at all
        expected = reference(truth, results, "bbox" if on == "box" else "segm")
        try:
            for quirks in ("none", "pycocotools"):
                found = vt.coco(*read(tmp_path, truth, results), on=on, quirks=quirks, checks="off")
                assert_same_bits(found, expected)
        except AssertionError as error:
            raise AssertionError(f"set {seed}: {error}") from error
        compared += 1
    assert compared > 0.8 * (last - first)


@pytest.mark.slow
def test_boundaries_of_random_sets_with_crowds_have_the_bits_of_the_slow_oracle(tmp_path: Path) -> None:
    compared = 0
    for seed in range(12):
        truth, results = random_mask_set(seed)
        if not results or not any(record["iscrowd"] for record in truth["annotations"]):
            continue
        if not all("segmentation" in record for record in results):
            continue  # pycocotools compares boxes as masks of four corners
        found = vt.coco(*read(tmp_path, truth, results), on="boundary", checks="off")
        assert_same_bits(found, boundary_reference(truth, results))
        compared += 1
    assert compared > 3


def test_boundaries_have_the_numbers_of_faster_coco_eval(tmp_path: Path) -> None:
    peer = pytest.importorskip("faster_coco_eval", reason="needs faster-coco-eval: pip install faster-coco-eval")
    for seed in range(30):
        truth, results = random_mask_set(seed)
        if not results or not all(isinstance(record.get("segmentation"), dict) for record in results):
            continue
        gt = peer.COCO(json.loads(json.dumps(truth)))
        expected = peer.COCOeval_faster(gt, gt.loadRes(json.loads(json.dumps(results))), "boundary")
        expected.evaluate()
        expected.accumulate()
        found = vt.coco(*read(tmp_path, truth, results), on="boundary", checks="off").arrays.with_absent(-1.0)
        assert np.allclose(found.precision, expected.eval["precision"], rtol=0, atol=1e-12), f"set {seed}"


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_results_with_masks_alone_have_the_areas_of_masks_where_boxes_are_compared(tmp_path: Path, first: int) -> None:
    compared = 0
    for seed in range(first, first + 20):
        truth, results = random_mask_set(seed)
        results = [{key: value for key, value in record.items() if key != "bbox"} for record in results]
        if not results or not all(isinstance(record.get("segmentation"), dict) for record in results):
            continue  # the reference takes no results and no polygons without boxes
        expected = reference(truth, results, "bbox")
        for quirks in ("none", "pycocotools"):
            found = vt.coco(*read(tmp_path, truth, results), quirks=quirks, checks="off")
            assert_same_bits(found, expected)
            assert "predictions have masks and no boxes" in found.notes[0]
        compared += 1
    assert compared >= 5
