"""Calibration: by hand, and equal to hotcoco's, scikit-learn's and statsmodels' numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.analysis.worlds import QUIRKS, analyse_case, scene, sides, write_pair
from tests.oracles.analysis import random_world
from verite.analysis.calibration import (
    Bins,
    TemperatureScaling,
    detection_ece,
    equal_edges,
    fit_isotonic,
    fit_temperature,
)
from verite.statistics.intervals import clustered_wilson


def test_two_predictions_by_hand() -> None:
    """Right at .9 with IoU 0.8, wrong at .7: gaps .1 and .7, each of half of the predictions."""
    truths = [("a", [0, 0, 10, 10])]
    found = vt.analyse(*scene(truths, [("a", 0.9, [0, 0, 10, 8]), ("a", 0.7, [50, 50, 10, 10])]), iou=0.5).calibration
    assert found.mean["ece"] == pytest.approx(0.4)
    assert found.mean["mce"] == pytest.approx(0.7)
    assert found.mean["brier"] == pytest.approx((0.01 + 0.49) / 2)
    assert found.mean["log_loss"] == pytest.approx(-(np.log(0.9) + np.log(0.3)) / 2)
    assert found.mean["laece"] == pytest.approx((0.1 + 0.7) / 2)
    assert found.mean["laace0"] == pytest.approx((0.1 + 0.7) / 2)


def test_a_perfectly_calibrated_label_is_in_the_mean() -> None:
    truths = [("a", [0, 0, 10, 10]), ("b", [50, 50, 10, 10])]
    found = vt.analyse(*scene(truths, [("a", 1.0, [0, 0, 10, 10]), ("b", 0.6, [50, 50, 10, 10])])).calibration
    assert found.labels["a"]["laece"] == 0
    assert found.mean["laece"] == pytest.approx(0.2)


def test_confidences_of_whole_tenths_lie_in_the_bins_that_begin_there() -> None:
    """One right prediction at each tenth: [0.3, 0.4) has that of 0.3, and the last bin that of 1.0 as well."""
    boxes = [[20 * k, 0, 10, 10] for k in range(11)]
    preds = [("a", k / 10, box) for k, box in enumerate(boxes)]
    found = vt.analyse(*scene([("a", box) for box in boxes], preds), iou=0.5).calibration
    assert [one["preds"] for one in found.reliability] == [1] * 9 + [2]
    assert [one["low"] for one in found.reliability] == [k / 10 for k in range(10)]


@pytest.mark.parametrize("seed", range(5))
def test_errors_equal_hotcocos(seed: int, tmp_path: Path) -> None:
    hotcoco = pytest.importorskip("hotcoco", reason="hotcoco is in the group 'peers'")
    paths = write_pair(tmp_path, *random_world(seed))
    known = vt.read(paths[0])
    found = vt.analyse(known, vt.read(paths[1], like=known)).calibration
    matches = found.matches
    rows = matches.counted_rows
    ece, mce = hotcoco.metrics.calibration_error(matches.confidence[rows], matches.is_tp[rows], 10)
    assert (found.pooled["ece"], found.pooled["mce"]) == pytest.approx((ece, mce), abs=1e-12)
    truth = hotcoco.COCO(paths[0])
    theirs = hotcoco.COCOeval(truth, truth.load_res(paths[1]), "bbox")
    theirs.evaluate()
    told = theirs.calibration(n_bins=10, iou_threshold=0.5)
    assert found.pooled["ece"] == pytest.approx(told["ece"], abs=1e-12)
    expected = {name: value for name, value in told["per_category"].items() if name in found.labels}
    assert {name: one["ece"] for name, one in found.labels.items()} == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_scores_equal_scikit_learns(seed: int, tmp_path: Path) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is in the group 'peers'")
    found = vt.analyse(*sides(*random_world(seed), tmp_path)).calibration
    rows = found.matches.counted_rows
    given, right = found.matches.confidence[rows], found.matches.is_tp[rows]
    assert found.pooled["brier"] == pytest.approx(metrics.brier_score_loss(right, given), abs=1e-12)
    assert found.pooled["log_loss"] == pytest.approx(metrics.log_loss(right, given), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_murphys_parts_add_up_to_the_brier_score(seed: int, tmp_path: Path) -> None:
    pooled = vt.analyse(*sides(*random_world(seed, ties=seed % 2 == 0), tmp_path)).calibration.pooled
    parts = pooled["reliability"] - pooled["resolution"] + pooled["uncertainty"]
    assert parts == pytest.approx(pooled["brier"], abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_isotonic_regression_equals_scikit_learns(seed: int) -> None:
    isotonic = pytest.importorskip("sklearn.isotonic", reason="scikit-learn is in the group 'peers'")
    random = np.random.default_rng(seed)
    given = np.round(random.random(300), 2 if seed % 2 else 9)
    right = random.random(300) < given**2
    model = isotonic.IsotonicRegression(out_of_bounds="clip").fit(given, right.astype(float))
    asked = random.random(50) * 1.2 - 0.1
    assert fit_isotonic(given, right)(asked) == pytest.approx(model.predict(asked), abs=1e-12)


def test_bins_of_equally_many_predictions(tmp_path: Path) -> None:
    found = vt.analyse(*sides(*random_world(2), tmp_path), bins="quantile").calibration
    counts = [one["preds"] for one in found.reliability]
    assert len(counts) == 10
    assert max(counts) - min(counts) <= 1
    assert found.pooled["ece"] == pytest.approx(found.pooled["ace"], abs=0.01)


def test_intervals_of_bins_are_clustered_by_image(tmp_path: Path) -> None:
    found = vt.analyse(*sides(*random_world(2), tmp_path)).calibration
    matches = found.matches
    for one in found.reliability:
        right, preds = np.zeros((2, matches.image_count), dtype=int)
        for row in matches.counted_rows:
            value = matches.confidence[row]
            if one["low"] <= value < one["high"] or value == one["high"] == 1:
                preds[matches.pred.image[row]] += 1
                right[matches.pred.image[row]] += matches.is_tp[row]
        assert preds.sum() == one["preds"]
        expected = clustered_wilson(right, preds, default_effect=matches.design_effects[1])
        assert (one["right_low"], one["right_high"]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("count", "expected"), [(50, 0.119), (100, 0.084), (300, 0.049), (1000, 0.027)])
def test_a_calibrated_detector_has_an_ece_above_zero(count: int, expected: float) -> None:
    """Confidences from Beta(1, 3), ten bins; the expected values are means of 300 simulations by other code."""
    random = np.random.default_rng(count)
    found = []
    for _ in range(40):
        confidence = random.beta(1, 3, count)
        found.append(Bins.of(confidence, np.zeros(count), equal_edges(10)).error_if_calibrated())
    assert np.mean(found) == pytest.approx(expected, abs=0.003)


def test_the_ece_of_a_calibrated_detector_is_the_mean_over_simulations() -> None:
    random = np.random.default_rng(0)
    for count in (3, 20, 400):
        confidence = random.random(count) ** 3
        drawn = [
            Bins.of(confidence, random.random(count) < confidence, equal_edges(10)).expected_error()
            for _ in range(4000)
        ]
        told = Bins.of(confidence, np.zeros(count), equal_edges(10)).error_if_calibrated()
        assert told == pytest.approx(np.mean(drawn), rel=0.03)


def test_confidences_that_are_no_probabilities_leave_this_part_out_and_no_other() -> None:
    pair = scene([("a", [0, 0, 10, 10])], [("a", 0.9, [0, 0, 10, 10]), ("a", 1.5, [50, 50, 10, 10])])
    found = vt.analyse(*pair, checks="off")
    assert found.calibration.to_dict()["absent"] == ("expected confidences from 0 to 1, found 1.5 in prediction 1")
    assert "No calibration: expected confidences from 0 to 1" in str(found)
    assert found.to_dict()["errors"]["counts"]["background"] == 1


def test_a_strictly_rising_map_of_confidences_changes_no_bit_of_ap(tmp_path: Path) -> None:
    from dataclasses import replace

    known, pred = sides(*random_world(3), tmp_path)
    mapped = replace(pred, confidence=pred.confidence**3 * 0.5)
    assert vt.coco(known, mapped)["AP"].value == vt.coco(known, pred)["AP"].value


def test_a_detector_that_drops_low_confidences_is_reported() -> None:
    pair = scene([("a", [0, 0, 10, 10])], [("a", 0.9, [0, 0, 10, 10]), ("a", 0.3, [50, 50, 10, 10])])
    assert "lowest confidence is 0.3" in vt.analyse(*pair).calibration.sentence()


def test_isotonic_regression_fixes_a_monotone_miscalibration() -> None:
    """Confidences that are the cubes of what they should be, on many images."""
    random = np.random.default_rng(0)
    names = [f"i{k}" for k in range(2000)]
    share = random.random(2000)
    boxes = [[0, 0, 10, 10]] * 2000
    truth = vt.Annotations.of(names, ["a"] * 2000, boxes)
    hit = random.random(2000) < share
    found = vt.Annotations.of(
        names, ["a"] * 2000, [[0, 0, 10, 10] if h else [50, 50, 60, 60] for h in hit], confidence=share**3
    )
    remedy = vt.analyse(truth, found, checks="off").calibration.remedy
    assert remedy["before"] > 0.15
    assert remedy["after"] < 0.5 * remedy["before"]


@pytest.mark.parametrize("seed", range(6))
def test_the_temperature_has_the_smallest_log_loss(seed: int) -> None:
    """Against scipy's minimum of the same loss."""
    optimize = pytest.importorskip("scipy.optimize", reason="scipy is in the group 'test'")
    random = np.random.default_rng(seed)
    share = random.uniform(0.02, 0.98, 400)
    right = random.random(400) < share
    odds = np.log(share / (1 - share)) * random.choice([0.3, 2.0, 5.0])
    given = 1 / (1 + np.exp(-odds))

    def loss(temperature: float) -> float:
        return float(np.where(right, np.logaddexp(0, -odds / temperature), np.logaddexp(0, odds / temperature)).sum())

    expected = optimize.minimize_scalar(loss, bounds=(0.01, 100), method="bounded", options={"xatol": 1e-10}).x
    assert fit_temperature(given, right).temperature == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("right", [True, False])
def test_the_temperature_of_what_is_always_right_or_wrong_ends_somewhere(right: bool) -> None:
    found = fit_temperature(np.array([0.6, 0.9]), np.array([right, right]))
    assert 0.01 <= found.temperature < 0.05 if right else found.temperature == pytest.approx(100)


def test_a_temperature_changes_no_bit_of_ap(tmp_path: Path) -> None:
    from dataclasses import replace

    known, pred = sides(*random_world(3, ties=True), tmp_path)
    found = vt.analyse(known, pred).calibration.temperatures
    names = known.labels.all_names
    assert set(found) == set(names)
    mapped = np.array(pred.confidence)
    for k, name in enumerate(names):
        own = pred.label == k
        mapped[own] = TemperatureScaling(found[name])(mapped[own])
    results = vt.coco(known, replace(pred, confidence=mapped))
    assert {key: score.value for key, score in results.scores.items()} == pytest.approx(
        {key: score.value for key, score in vt.coco(known, pred).scores.items()}, abs=0, nan_ok=True
    )


def test_temperature_scaling_fixes_overconfidence() -> None:
    """Log-odds that are three times what they should be, on many images."""
    random = np.random.default_rng(1)
    names, share = [f"i{k}" for k in range(2000)], random.uniform(0.02, 0.98, 2000)
    sure = 1 / (1 + (1 / share - 1) ** 3)
    hit = random.random(2000) < share
    truth = vt.Annotations.of(names, ["a"] * 2000, [[0, 0, 10, 10]] * 2000)
    boxes = [[0, 0, 10, 10] if h else [50, 50, 60, 60] for h in hit]
    found = vt.analyse(truth, vt.Annotations.of(names, ["a"] * 2000, boxes, confidence=sure), checks="off").calibration
    assert found.temperatures["a"] == pytest.approx(3, rel=0.15)
    assert found.remedy["temperature"] < 0.4 * found.remedy["before"]
    assert "(temperature scaling)" in str(found)


def test_confidences_that_are_no_probabilities_are_told() -> None:
    found = analyse_case("calibration-of-any-number").calibration
    assert found.absent == "expected confidences from 0 to 1, found 1.5 in prediction 1"


def test_hotcocos_function_takes_them_in_silence() -> None:
    """1.5 is in the last bin with .9: |1/2 − 1.2|."""
    metrics = pytest.importorskip("hotcoco", reason="hotcoco is in the group 'peers'").metrics
    assert metrics.calibration_error(np.array([0.9, 1.5]), np.array([True, False]), 10)[0] == pytest.approx(0.7)


def test_a_calibrated_label_is_in_the_mean() -> None:
    """0 and 0.4; without the first, as the code of LaECE has it, 0.4."""
    assert analyse_case("laece-of-a-calibrated-label").calibration.mean["laece"] == pytest.approx(0.2)


def test_a_prediction_that_touches_nothing_uses_up_no_object() -> None:
    """0.9 that touches nothing and 0.8 at IoU 1, in bins of their own: (0.9 + 0.2) / 2."""
    assert analyse_case("laece0-of-nothing-touched").calibration.mean["laece0"] == pytest.approx(0.55)


def test_at_an_iou_of_0_pycocotools_matching_gives_the_object_to_the_first_prediction() -> None:
    """The code of LaECE₀ matches as pycocotools does, at a threshold of 0: (0.9 + 0.8) / 2 = 0.85."""
    pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
    from tests.oracles.coco_reference import reference

    home = QUIRKS / "laece0-of-nothing-touched"
    sides = [json.loads((home / f"{side}.json").read_text()) for side in ("truth", "results")]
    found = reference(*sides, "bbox", iouThrs=np.array([0.0])).evalImgs[0]
    assert (found["dtScores"], found["dtMatches"].tolist()) == ([0.9, 0.8], [[1.0, 0.0]])


def place_world(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Confidence, centre and size of 4,000 predictions, and whether each is right: more often in the middle."""
    rng = np.random.default_rng([2020, seed])
    values = np.column_stack([rng.beta(2, 2, 4000), rng.random((4000, 2)), rng.beta(1, 4, (4000, 2))])
    right = rng.random(4000) < values[:, 0] * (1 - np.abs(values[:, 1] - 0.5))
    return values, right


# D-ECE of `place_world(seed)` from netcal's ECE(bins, detection=True, sample_threshold=8): confidence and centre with
# 8 bins, confidence and size with 8 bins, all with 5 bins.
NETCAL = {
    1: (0.125567825106284, 0.1233065683484464, 0.07313847767745807),
    2: (0.12640348828040673, 0.1202225294816022, 0.06955287502737895),
    3: (0.12616687740471755, 0.11920620863658113, 0.07505793699191018),
}


@pytest.mark.parametrize("seed", NETCAL)
def test_d_ece_is_netcals(seed: int) -> None:
    values, right = place_world(seed)
    found = [
        detection_ece(values[:, columns], right, bins)[0]
        for columns, bins in (([0, 1, 2], 8), ([0, 3, 4], 8), ([0, 1, 2, 3, 4], 5))
    ]
    assert found == pytest.approx(NETCAL[seed], abs=1e-12)


def test_d_ece_by_place_by_hand() -> None:
    # Eight right predictions of confidence 0.5 on the left and eight wrong ones on the right of the images: the means
    # agree (ECE 0), each side is off by 0.5. All boxes have one size.
    names = [f"{i}" for i in range(8)]
    left, right = [[0, 40, 20, 60]] * 8, [[80, 40, 100, 60]] * 8
    sizes = dict.fromkeys(names, (100, 100))
    truth = vt.Annotations.of(names, ["a"] * 8, left, sizes=sizes)
    pred = vt.Annotations.of(names * 2, ["a"] * 16, left + right, confidence=[0.5] * 16, sizes=sizes)
    pooled = vt.analyse(truth, pred, iou=0.5).calibration.pooled
    assert pooled["ece"] == pytest.approx(0)
    keys = ("d_ece_position", "d_ece_size", "d_ece", "d_ece_position_preds")
    assert [pooled[key] for key in keys] == pytest.approx([0.5, 0, 0.5, 1])
    # Seven on each side are too few.
    few = pred.where(np.array([True] * 7 + [False] + [True] * 7 + [False]))
    pooled = vt.analyse(truth, few, iou=0.5).calibration.pooled
    assert [pooled[key] for key in keys] == pytest.approx([0, 0, 0, 0])


def test_d_ece_is_absent_without_sizes_of_images() -> None:
    truth = vt.Annotations.of(["x"], ["a"], [[0, 0, 10, 10]])
    pred = vt.Annotations.of(["x"], ["a"], [[0, 0, 10, 10]], confidence=[0.9])
    found = vt.analyse(truth, pred, iou=0.5).calibration
    assert np.isnan(found.pooled["d_ece"])
    assert "D-ECE" not in str(found)
