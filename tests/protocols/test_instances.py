"""Instance segmentation without confidences: equal to published code, to a slow oracle, and by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.oracles import instances as oracle
from verite.cli import run
from verite.protocols.coco import THRESHOLDS
from verite.protocols.instances import Groups, sorted_ap

# AJI and AJI+ as means over images from HoVer-Net's `stats_utils.py`; counts and TP/(TP+FP+FN) at IoU 0.5 and 0.7 of
# the dataset and as means over images from StarDist's `matching_dataset`; all of `random_labels(seed)`.
PUBLISHED = {
    1: {"AJI": 0.5445975287051508, "AJI+": 0.5708115287816762,
        0.5: (28, 19, 14, 0.45901639344262296, 0.4468240093240093),
        0.7: (16, 31, 26, 0.2191780821917808, 0.22102434602434604)},
    2: {"AJI": 0.4660694083278281, "AJI+": 0.49693019811231637,
        0.5: (38, 35, 27, 0.38, 0.383451086237464),
        0.7: (17, 56, 48, 0.14049586776859505, 0.15080916293506594)},
    3: {"AJI": 0.4860561658115163, "AJI+": 0.5011664344807023,
        0.5: (19, 25, 22, 0.2878787878787879, 0.3449494949494949),
        0.7: (9, 35, 32, 0.11842105263157894, 0.12520812520812521)},
}  # fmt: skip
# SortedAP of single images (seed, position) from its authors' `evaluation.py`, where no pair without overlap is formed.
SORTED_AP = {
    (1, 1): 0.43980526339189274, (1, 3): 0.42775432643589273, (1, 5): 0.6360103875743729,
    (2, 0): 0.36959630569140833, (2, 2): 0.331575201587076, (3, 0): 0.44094043286541,
    (3, 2): 0.4352191624046205, (3, 4): 0.387277537277535,
}  # fmt: skip


def sides(images):
    """Truth and predictions as dictionaries of label images."""
    return [{f"{i:02}": pair[k] for i, pair in enumerate(images)} for k in (0, 1)]


@pytest.mark.parametrize("seed", PUBLISHED)
def test_numbers_are_those_of_published_code(seed):
    truth, pred = sides(oracle.random_labels(seed))
    results = vt.instances(truth, pred, iou=(0.5, 0.7))
    pooled = vt.instances(truth, pred, iou=(0.5, 0.7), pool="dataset")
    for name in ("AJI", "AJI+"):
        assert results[name].value == pytest.approx(PUBLISHED[seed][name], abs=1e-9)  # they add 1e-6 to unions
    for i, threshold in enumerate((0.5, 0.7)):
        tp, fp, fn, of_dataset, by_image = PUBLISHED[seed][threshold]
        row = json.loads(results.to_json())["thresholds"][i]
        assert (row["tp"], row["fp"], row["fn"]) == (tp, fp, fn)
        alone = [vt.instances(truth, pred, iou=threshold, pool=pool)["AP"].value for pool in ("dataset", "image")]
        assert alone == pytest.approx([of_dataset, by_image], abs=1e-12)
    assert pooled["AP"].value == pytest.approx(np.mean([PUBLISHED[seed][t][3] for t in (0.5, 0.7)]), abs=1e-12)


@pytest.mark.parametrize(("seed", "place"), SORTED_AP)
def test_sorted_ap_is_that_of_its_authors_code(seed, place):
    truth, pred = oracle.random_labels(seed)[place]
    assert vt.instances(truth, pred)["SortedAP"].value == pytest.approx(SORTED_AP[seed, place], abs=1e-11)


@pytest.mark.parametrize("seed", range(10, 18))
@pytest.mark.parametrize("pool", ["image", "dataset"])
def test_numbers_are_those_of_the_slow_oracle(seed, pool):
    images = oracle.random_labels(seed)
    results = vt.instances(*sides(images), pool=pool)
    areas = [oracle.overlaps(*pair) for pair in images]
    sums = {name: [oracle.aji(*pair, name == "AJI+") for pair in images] for name in ("AJI", "AJI+")}
    ious = [oracle.matched_ious(*pair) for pair in images]
    tp = np.array([[oracle.true_positives(*pair, t) for t in THRESHOLDS] for pair in images])
    counts = np.array([len(one) + len(two) for one, two, _ in areas])[:, None]
    if pool == "image":
        expected = {name: np.mean([a / b for a, b in own]) for name, own in sums.items()}
        alone = [oracle.sorted_ap(u, len(one), len(two)) for u, (one, two, _) in zip(ious, areas, strict=True)]
        expected |= {"AP": (tp / (counts - tp)).mean(), "SortedAP": np.mean(alone)}
    else:
        expected = {name: sum(a for a, _ in own) / sum(b for _, b in own) for name, own in sums.items()}
        totals = [sum(len(own[k]) for own in areas) for k in (0, 1)]
        expected |= {"AP": (tp.sum(0) / (counts.sum() - tp.sum(0))).mean()}
        expected |= {"SortedAP": oracle.sorted_ap([u for own in ious for u in own], *totals)}
    assert {name: results[name].value for name in expected} == pytest.approx(expected, abs=1e-12)


def test_one_prediction_over_two_cells_by_hand():
    # Cells of 4 × 4 and 4 × 2 pixels; one prediction covers both, 24 pixels, another 4 pixels elsewhere.
    truth, pred = np.zeros((2, 8, 8), dtype=int)
    truth[:4, :4], truth[:4, 4:6], pred[:4, :6], pred[6:, 6:] = 1, 2, 1, 2
    results = vt.instances(truth, pred, iou=0.5)
    # AJI: both cells take the large prediction: (16 + 8) / (24 + 24 + 4). AJI+: only the first: 16 / (24 + 8 + 4).
    assert results["AJI"].value == pytest.approx(24 / 52)
    assert results["AJI+"].value == pytest.approx(16 / 36)
    assert results["AP"].value == pytest.approx(1 / 3)  # IoU 2/3: one match, one missed cell, one false prediction
    # One match of IoU 2/3: AP is 1/3 up to there, then falls to 0 at 1.
    assert results["SortedAP"].value == pytest.approx(2 / 3 * 1 / 3 + 1 / 3 * 1 / 3 / 2)
    assert results.matches().matched_pred.tolist() == [0, -1]


def test_recall_by_size_by_hand():
    # Cells of 1, 4, 9 and 16 pixels, of which the two largest are found.
    truth, pred = np.zeros((2, 13, 13), dtype=int)
    for number, side in enumerate((1, 2, 3, 4), 1):
        place = slice(3 * number - 3, 3 * number - 3 + side), slice(0, side)
        truth[place] = number
        pred[place] = number if side > 2 else 0
    rows = vt.instances(truth, pred, sizes=2).size_rows
    assert [(row["smallest"], row["largest"], row["truths"], row["recall"]) for row in rows] == [
        (1, 4, 2, 0.0), (9, 16, 2, 1.0),
    ]  # fmt: skip
    assert [row["recall"] for row in vt.instances(truth, pred).size_rows] == [0, 0, 1, 1]


def test_flagged_objects_and_predictions_in_them_are_ignored():
    truth, pred = np.zeros((2, 8, 8), dtype=int)
    truth[:4, :4], truth[4:, 4:], pred[:4, :4], pred[4:, 5:] = 1, 2, 1, 2
    read = vt.read(truth)
    crowd = replace(read, flags={"crowd": np.array([False, True])})
    assert vt.instances(read, pred)["AJI"].value == pytest.approx((16 + 12) / 32)
    results = vt.instances(crowd, vt.read(pred, like=crowd))
    assert {score.value for score in results.scores.values()} == {1.0}


def test_boxes_are_refused():
    truth = vt.Annotations.of(["a"], ["cell"], [[0, 0, 9, 9]])
    with pytest.raises(vt.DataError, match="expected a mask for every segment, found 1 boxes"):
        vt.instances(truth, truth)


@pytest.mark.parametrize("suffix", ["npy", "tif"])
def test_volumes_are_compared_voxel_by_voxel(suffix, tmp_path, capsys):
    rng = np.random.default_rng(3)
    truth, pred = np.zeros((2, 5, 12, 12), dtype=np.uint8)
    for number in (1, 2, 3):
        z, y, x = rng.integers(0, [2, 8, 8])
        truth[z : z + 3, y : y + 4, x : x + 4] = number
        pred[z : z + 3, y : y + 4, x + 1 : x + 4] = 10 * number
    for name, volume in (("truth", truth), ("pred", pred)):
        for folder in (tmp_path, tmp_path / name):
            folder.mkdir(exist_ok=True)
            save(folder / f"{name if folder == tmp_path else 'case'}.{suffix}", volume)
    # An array of planes side by side has the same pixels.
    flat = [volume.reshape(60, 12) for volume in (truth, pred)]
    expected = [oracle.aji(*flat), oracle.average_precision(*flat, 0.5)]
    results = vt.instances(tmp_path / f"truth.{suffix}", tmp_path / f"pred.{suffix}")
    assert results["AJI"].value == pytest.approx(expected[0][0] / expected[0][1])
    assert results["AP@0.50"].value == pytest.approx(expected[1])
    for sides in ((f"truth.{suffix}", f"pred.{suffix}"), ("truth", "pred")):
        assert run(["instances", *(str(tmp_path / side) for side in sides), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["AJI"] == results["AJI"].value
    assert vt.instances(vt.Volume.of(truth), vt.Volume.of(pred))["AJI"].value == results["AJI"].value


def test_volumes_of_different_shapes_are_refused(tmp_path, capsys):
    np.save(tmp_path / "truth.npy", np.ones((2, 4, 4), dtype=np.uint8))
    np.save(tmp_path / "pred.npy", np.ones((2, 4, 5), dtype=np.uint8))
    assert run(["instances", str(tmp_path / "truth.npy"), str(tmp_path / "pred.npy")]) == 1
    error = capsys.readouterr().err
    assert "pred.npy" in error
    assert "2 × 4 × 4" in error
    assert "2 × 4 × 5" in error


def save(path: Path, volume: np.ndarray) -> None:
    if path.suffix == ".npy":
        np.save(path, volume)
        return
    from PIL import Image

    pages = [Image.fromarray(plane) for plane in volume]
    pages[0].save(path, save_all=True, append_images=pages[1:])


def test_sorted_ap_of_all_images_at_once_is_that_of_each_alone() -> None:
    rng = np.random.default_rng(5)
    pair_group = np.sort(rng.integers(0, 30, 80))
    pairs = np.bincount(pair_group, minlength=32)  # of the last two groups none
    truths, preds = pairs + rng.integers(0, 4, 32), pairs + rng.integers(1, 4, 32)
    iou = np.round(rng.random(80), 1)  # with ties, 0 and 1
    nothing = np.zeros((32, 2))
    groups = Groups(
        np.arange(32), np.zeros(32, np.int64), truths.astype(float), preds.astype(float), nothing, nothing, nothing,
        pair_group, iou,
    )  # fmt: skip
    expected = [sorted_ap(iou[pair_group == i], truths[i], preds[i]) for i in range(32)]
    assert groups.sorted_aps() == pytest.approx(expected, abs=1e-14)
    assert groups.sorted_aps()[30:].tolist() == [0, 0]


@pytest.mark.parametrize("pool", ["image", "dataset"])
def test_the_plot_has_the_counts_at_every_threshold(pool: str) -> None:
    truth, pred = np.zeros((2, 64, 64), dtype=int)
    truth[10:30, 10:30], truth[40:60, 40:60] = 1, 2
    pred[12:30, 10:30] = 1  # IoU 0.9 with the first object, the second is missed
    results = vt.instances(truth, pred, pool=pool, iou=[0.5, 0.9, 0.95], checks="off")
    (line,) = vt.plot(results).lines
    assert line.get_xdata().tolist() == [0.5, 0.9, 0.95]
    assert line.get_ydata().tolist() == [0.5, 0.5, 0.0]
