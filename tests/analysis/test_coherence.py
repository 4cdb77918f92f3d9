"""Coherence without ground truth: contrasts of drawn squares by hand, stability under flips, rank correlation."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest
from PIL import Image

import verite as vt
from verite.analysis.coherence import coherence, contrast, flip_stability, spearman, zeboudj
from verite.cli import run
from verite.errors import DataError


def test_contrasts_of_a_square_by_hand():
    grey = np.zeros((40, 40))
    grey[10:30, 10:30] = 0.5
    assert contrast(grey, (10, 10, 30, 30)) == 1  # both sides uniform
    assert zeboudj(grey, (10, 10, 30, 30)) == 0.5  # uniform inside: the outer contrast
    assert contrast(grey, (12, 12, 20, 20)) == 0  # nothing differs inside the square
    stripes = np.zeros((40, 40))
    stripes[:, 10:30:2] = 0.25
    stripes[10:30, 10:30] += 0.5
    # Inside every pixel differs by 0.25 from a neighbour; outside: 0.5 above and below, 0.75 left, 0.5 right.
    outer = (0.5 + 0.5 + 0.75 + 0.5) / 4
    assert zeboudj(stripes, (10, 10, 30, 30)) == pytest.approx(1 - 0.25 / outer)


def test_mirrored_predictions_are_stable():
    pred = vt.Annotations.of(["a"], ["cat"], [[10, 0, 30, 20]])
    mirrored = vt.Annotations.of(["a"], ["cat"], [[70, 0, 90, 20]])
    assert flip_stability(pred, mirrored, 0, 100.0) == 1
    half = vt.Annotations.of(["a"], ["cat"], [[70, 0, 90, 10]])
    assert flip_stability(pred, half, 0, 100.0) == 0.5


def test_ranks_with_ties_correlate_by_hand():
    assert spearman(np.array([1.0, 2, 3, 4]), np.array([4.0, 3, 2, 1])) == -1
    # Ranks 1.5, 1.5, 3 against 1, 2, 3: covariance 1.5 over √(1.5 · 2).
    assert spearman(np.array([5.0, 5, 9]), np.array([1.0, 2, 3])) == pytest.approx(1.5 / np.sqrt(3))
    assert np.isnan(spearman(np.ones(3), np.arange(3.0)))


def test_coherence_is_printed_beside_how_well_it_orders(tmp_path, capsys):
    demo = files("verite") / "data" / "demo"
    sides = [str(demo / "images"), str(demo / "hawk.json"), "--truth", str(demo / "truth.json")]
    assert run(["coherence", *sides, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["criteria"]) == {"contrast", "zeboudj"}
    assert found["criteria"]["contrast"]["labelled"] == 36
    assert -1 <= found["criteria"]["contrast"]["rank_correlation"] <= 1
    assert run(["coherence", *sides, "--flipped", str(demo / "hawk.json")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Coherence is not correctness" in out
    assert "stability" in out
    (tmp_path / "empty").mkdir()
    assert run(["coherence", str(tmp_path / "empty"), *sides[1:]]) == 1
    assert run(["coherence", str(tmp_path / "none"), *sides[1:]]) == 1


def test_without_labelled_images_the_correlation_is_unknown(tmp_path):
    Image.fromarray(np.zeros((20, 20), dtype=np.uint8)).save(tmp_path / "a.png")
    pred = vt.Annotations.of(["a.png"], ["cat"], [[5, 5, 10, 10]])
    found = coherence(tmp_path, pred)
    assert np.isnan(found.correlations()["contrast"][0])
    assert "0 labelled images" in " ".join(str(part) for part in found.contents())
    with pytest.raises(DataError, match="expected the images of the predictions, found none"):
        coherence(tmp_path, vt.Annotations.of(["b.png"], ["cat"], [[5, 5, 10, 10]]))
