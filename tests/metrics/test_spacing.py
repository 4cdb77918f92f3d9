"""Distances in the unit of a spacing: by hand, by scale, and against MedPy."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

import verite as vt
from verite.cli import run
from verite.metrics.cards import card
from verite.metrics.catalogue import every_metric
from verite.pairs import Pairs

DISTANCES = [m for m in every_metric() if m.record.distance]
POWERS = {"px": 1, "px²": 2}


def random_masks(seed, shape=(24, 30)):
    rng = np.random.default_rng(seed)
    masks = np.zeros((2, *shape), dtype=np.bool_)
    for mask in masks:
        y, x = rng.integers(0, 12, 2)
        mask[y : y + rng.integers(3, 12), x : x + rng.integers(3, 15)] = True
        mask ^= (rng.random(shape) < 0.05) & mask
    return masks


def test_hausdorff_worked_by_hand():
    truth, pred = np.zeros((2, 6, 8), dtype=np.bool_)
    truth[0, 0] = pred[3, 4] = True
    assert vt.metric("hausdorff")(truth, pred, spacing=(2, 0.5)) == pytest.approx(np.hypot(6, 2))
    assert vt.metric("centre_distance")(truth, pred, spacing=(2, 0.5)) == pytest.approx(np.hypot(6, 2))
    assert vt.metric("hausdorff")(truth, pred, spacing=0.7) == pytest.approx(0.7 * 5)


@pytest.mark.parametrize("chosen", [m for m in DISTANCES if m.unit in POWERS], ids=str)
def test_equal_spacing_multiplies_distances(chosen):
    for seed in range(5):
        truth, pred = random_masks(seed)
        plain = chosen(truth, pred)
        assert chosen(truth, pred, spacing=0.7) == pytest.approx(plain * 0.7 ** POWERS[chosen.unit], rel=1e-12)
        assert chosen(truth, pred, spacing=1) == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("name", ["normalised_surface_dice(tolerance={})", "odet_over(threshold={})",
                                  "odet_under(threshold={})", "odet_nd(threshold={})"])  # fmt: skip
def test_tolerances_and_thresholds_are_in_the_unit_of_the_spacing(name):
    for seed in range(5):
        truth, pred = random_masks(seed)
        expected = vt.metric(name.format(2))(truth, pred)
        assert vt.metric(name.format(2 * 0.7 + 1e-12))(truth, pred, spacing=0.7) == pytest.approx(expected, rel=1e-9)


def test_what_measures_no_distance_does_not_change():
    truth, pred = random_masks(3)
    for chosen in every_metric():
        if not chosen.record.distance and chosen.record.on != "box":
            assert chosen(truth, pred, spacing=(0.7, 3)) == pytest.approx(chosen(truth, pred), nan_ok=True), chosen


@pytest.mark.parametrize("spacing", [(0.7, 0.7), (2.5, 0.4)])
def test_distances_are_those_of_medpy(spacing):
    binary = pytest.importorskip("medpy.metric.binary", reason="MedPy is not installed")
    for seed in range(10):
        truth, pred = random_masks(seed)
        for name, theirs in (
            ("hausdorff", binary.hd), ("hausdorff(quantile=0.95, variant=pooled)", binary.hd95),
            ("average_surface_distance", binary.assd), ("mean_distance", binary.asd),
        ):  # fmt: skip
            expected = theirs(pred, truth, voxelspacing=spacing)
            assert vt.metric(name)(truth, pred, spacing=spacing) == pytest.approx(expected, rel=1e-9), name


def test_batches_and_parts_of_them_keep_the_spacing():
    sides = [[random_masks(seed)[i] for seed in range(4)] for i in (0, 1)]
    pairs = Pairs.of(*sides, spacing=(2, 0.5))
    expected = [vt.metric("hd95")(t, p, spacing=(2, 0.5)) for t, p in zip(*sides, strict=True)]
    assert vt.measure(pairs, [vt.metric("hd95")], chunk=2)["hausdorff(quantile=0.95)"].tolist() == expected
    swapped = vt.metric("mean_distance").values(pairs.swapped)
    assert swapped.tolist() == pytest.approx([vt.metric("mean_distance")(p, t, spacing=(2, 0.5))
                                              for t, p in zip(*sides, strict=True)])  # fmt: skip


def test_command_line_names_unit_and_signature(tmp_path, capsys):
    for name, mask in zip(("t", "p"), random_masks(1), strict=True):
        Image.fromarray(mask).save(tmp_path / f"{name}.png")
    sides = [str(tmp_path / "t.png"), str(tmp_path / "p.png")]
    words = ["localize", *sides, "-m", "hausdorff", "-m", "mean_squared_distance", "-m", "iou", "--json"]
    assert run([*words, "--spacing", "0.7,0.5"]) == 0
    document = json.loads(capsys.readouterr().out)
    units = {name: found["unit"] for name, found in document["metrics"].items()}
    assert units == {"hausdorff": "mm", "mean_squared_distance": "mm²", "iou": ""}
    assert "|spacing:0.7,0.5mm|" in document["signature"]
    assert run([*words, "--spacing", "3um"]) == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["hausdorff"]["unit"] == "um"
    assert run(words) == 0
    assert "spacing" not in json.loads(capsys.readouterr().out)["signature"]
    for wrong in ("0", "1,2,3,4", "wide", "-1,1"):
        assert run([*words, "--spacing", wrong]) == 2
        assert "spacing: expected ROWS,COLUMNS above 0" in capsys.readouterr().err


def test_scores_of_other_spacings_do_not_compare():
    truth, pred = random_masks(1)
    one, two = (vt.localize(truth, pred, "hausdorff", spacing=s) for s in (None, 0.7))
    with pytest.raises(vt.NotComparable, match="spacing"):
        vt.compare(one, two)


def test_cards_say_what_spacing_does():
    assert "with --spacing in its unit, and so is tolerance" in " ".join(card("nsd").remarks)
    assert not any("--spacing" in remark for remark in card("iou").remarks)
