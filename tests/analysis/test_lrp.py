"""Optimal LRP by hand, and against a loop over every threshold."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path

import pytest

import verite as vt
from tests.analysis.worlds import analyse_case, scene, sides
from tests.oracles.analysis import Breakdown, box_iou, random_world


def test_one_right_one_wrong_and_one_missed_by_hand() -> None:
    """Right with IoU 0.8 at .9, wrong at .5; two truths. From .9 on: (0.2 / 0.5 + 0 + 1) / 2 = 0.7, from .5 on:
    (0.4 + 1 + 1) / 3 = 0.8. At the best: loc 0.2, no wrong one, half of the truths not found.
    """
    truths = [("a", [0, 0, 10, 10]), ("a", [50, 50, 10, 10])]
    found = vt.analyse(*scene(truths, [("a", 0.9, [0, 0, 10, 8]), ("a", 0.5, [80, 80, 10, 10])]), iou=0.5).lrp
    assert found.to_dict()["classes"]["a"] == pytest.approx(
        {"oLRP": 0.7, "loc": 0.2, "fp": 0.0, "fn": 0.5, "confidence": 0.9}
    )
    assert found.thresholds == {"a": 0.9}


def test_a_class_without_matches_has_the_largest_error_and_no_threshold() -> None:
    found = vt.analyse(*scene([("a", [0, 0, 10, 10])], [("a", 0.9, [50, 50, 10, 10])]), iou=0.5).lrp
    told = found.to_dict()
    assert (told["oLRP"], told["fn"]) == (1.0, 1.0)
    assert isnan(told["loc"])
    assert isnan(told["classes"]["a"]["confidence"])
    assert found.thresholds == {}


def slow_optimum(truth, results, label):
    """Every distinct confidence by itself, from the protocol's matches as the slow breakdown finds them."""
    slow = Breakdown(truth, results)
    rows = [(s, kind == "right", k) for own, s, k, kind, *_ in slow.found if own == label]
    overlap = {k: best_overlap(truth, results[k]) for _, right, k in rows if right}
    truths, best = slow.asked[label], (1.0, nan, nan, 1.0, nan)
    for s in sorted({row[0] for row in rows}, reverse=True):
        kept = [(right, k) for score, right, k in rows if score >= s]
        found = [overlap[k] for right, k in kept if right]
        wrong = len(kept) - len(found)
        error = (sum((1 - v) / 0.5 for v in found) + wrong + truths - len(found)) / (wrong + truths)
        if found and error < best[0]:
            loc = sum(1 - v for v in found) / len(found)
            best = (error, loc, wrong / len(kept), 1 - len(found) / truths, s)
    return best


def best_overlap(truth, d):
    """Of a right prediction: in these worlds no truth of its label was overlapped more by it and taken before."""
    own = [a for a in truth["annotations"] if a["image_id"] == d["image_id"] and not a["iscrowd"]]
    return max(box_iou(d["bbox"], a["bbox"]) for a in own if a["category_id"] == d["category_id"])


@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_is_the_best_of_all_thresholds_that_exist(seed: int, tmp_path: Path) -> None:
    truth, results = random_world(seed, classes=6, ties=seed % 2 == 0)
    found = vt.analyse(*sides(truth, results, tmp_path), iou=0.5).lrp.to_dict()["classes"]
    for label in Breakdown(truth, results).labels:
        expected = dict(
            zip(("oLRP", "loc", "fp", "fn", "confidence"), slow_optimum(truth, results, label), strict=True)
        )
        assert found[f"c{label}"] == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_no_threshold_parts_equal_confidences() -> None:
    """One right, one wrong, both at .9, one truth: kept together (0 + 1 + 0) / 2. LRP-Error's code says 0."""
    assert analyse_case("lrp-equal-confidences").lrp.to_dict()["oLRP"] == pytest.approx(0.5)
