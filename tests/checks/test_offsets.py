"""Boxes that fit but for one pixel: what counting from 1 looks like, and what it does not."""

from __future__ import annotations

import numpy as np
import pytest

import verite as vt
from tests.checks.boundary import boundary


def codes(shift, count=30, noise=0.1, seed=4):
    rng = np.random.default_rng(seed)
    at = rng.uniform(10, 400, (count, 2))
    boxes = np.concatenate([at, at + rng.uniform(60, 200, (count, 2))], axis=1)
    names = [f"{i}.jpg" for i in range(count)]
    truth = vt.Annotations.of(names, ["cat"] * count, boxes)
    moved = boxes + shift + rng.normal(0, noise, boxes.shape)
    pred = vt.Annotations.of(names, ["cat"] * count, moved, confidence=np.linspace(0.01, 0.9, count))
    return {f.code: f for f in vt.inspect(truth, pred).findings}


@pytest.mark.parametrize("shift", [[-1, -1, 0, 0], [-1, -1, -1, -1], [1, 1, 1, 1], [1, 1, 0, 0]])
def test_one_pixel_beside_is_noted(shift):
    found = codes(shift)["V107"]
    assert found.severity == "note"
    assert f"left {shift[0]:+d}, top {shift[1]:+d}, right {shift[2]:+d}" in found.message


@pytest.mark.parametrize("shift", [[0, 0, 0, 0], [-1, 0, 0, 0], [-1, -1, 1, 1], [-2, -2, 0, 0], [-0.6, -0.6, 0, 0]])
def test_other_errors_are_a_detectors(shift):
    assert "V107" not in codes(shift)


@boundary("offsets.FEWEST", "offsets.SHARP")
def test_it_takes_thirty_objects_and_a_sharp_median():
    assert "V107" in codes([-1, -1, 0, 0], count=30)
    assert "V107" not in codes([-1, -1, 0, 0], count=29)
    assert "V107" in codes([-1.23, -1.23, 0, 0], noise=0.01)
    assert "V107" not in codes([-1.27, -1.27, 0, 0], noise=0.01)
    assert "V107" not in codes([-1, -1, 0, 0], noise=3.0)
