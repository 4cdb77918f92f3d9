"""Operating points: by hand, against a loop over thresholds, and as floors of every verb."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.analysis.worlds import scene, sides
from tests.oracles.analysis import random_world
from verite.analysis.operating import ConfidenceSweep
from verite.cli import run
from verite.statistics.intervals import clustered_wilson

TRUTHS = [("a", [0, 0, 10, 10]), ("a", [20, 0, 10, 10]), ("a", [40, 0, 10, 10])]
# Right, wrong, right and right at one confidence, wrong.
PREDS = [
    ("a", 0.9, [0, 0, 10, 10]),
    ("a", 0.8, [80, 80, 10, 10]),
    ("a", 0.6, [20, 0, 10, 10]),
    ("a", 0.6, [40, 0, 10, 10]),
    ("a", 0.2, [60, 60, 10, 10]),
]


def test_the_best_threshold_by_hand() -> None:
    """F1 from .9 on: 2·1/(3+1) = .5; .8: 2/5; .6: 2·3/(3+4) = 6/7; .2: 6/8. Between the equal ones is no threshold."""
    found = vt.analyse(*scene(TRUTHS, PREDS), iou=0.5, checks="off").operating
    one = found.labels[0]
    assert one.confidence.tolist() == [0.9, 0.8, 0.6, 0.2]
    assert one.f().tolist() == pytest.approx([0.5, 0.4, 6 / 7, 6 / 8])
    point = found.to_dict()["classes"]["a"]
    assert point.pop("intervals") == {"precision": [0.0, 1.0], "recall": [0.0, 1.0]}  # one image says nothing
    assert point == pytest.approx(
        {
            "confidence": 0.6,
            "precision": 3 / 4,
            "recall": 1.0,
            "f": 6 / 7,
            "fp_per_image": 1.0,
            "tp": 3,
            "fp": 1,
            "fn": 0,
        }
    )
    assert found.confidence == 0.6
    assert found.thresholds == {"a": 0.6}


def test_promises_are_kept_by_the_best_threshold_that_keeps_them() -> None:
    found = vt.analyse(*scene(TRUTHS, PREDS), iou=0.5, checks="off").operating
    assert found.at_precision(0.9)["confidence"] == 0.9
    assert found.at_precision(0.7)["confidence"] == 0.6
    assert found.at_recall(0.5)["precision"] == 0.75
    assert found.at_false(0)["recall"] == pytest.approx(1 / 3)
    assert found.at_false(1)["confidence"] == 0.6


def test_froc_takes_the_last_recall_that_does_not_exceed_the_false_positives() -> None:
    """One image: up to 1/2 wrong per image only the first is kept, recall 1/3; with 1 and more all are found."""
    found = vt.analyse(*scene(TRUTHS, PREDS), iou=0.5, checks="off").operating
    assert found.froc == pytest.approx([1 / 3] * 3 + [1.0] * 4)
    assert found.cpm == pytest.approx((3 * (1 / 3) + 4) / 7)


def test_precision_without_predictions_and_recall_without_truths_are_absent() -> None:
    no_preds = ConfidenceSweep.of(np.zeros(0), np.zeros(0, bool), truths=1, images=1)
    point = no_preds.point(no_preds.at(0.1))
    assert isnan(point["precision"])
    assert point["recall"] == 0
    assert np.isnan(ConfidenceSweep.of(np.array([0.5]), np.zeros(1, bool), truths=0, images=1).recall).all()
    truth = vt.Annotations.of(["i"], ["a"], [[0, 0, 10, 10]], labels=["b"])
    pred = vt.Annotations.of(["i"], ["b"], [[0, 0, 10, 10]], confidence=[0.5])
    found = vt.analyse(truth, pred, checks="off").operating
    assert [found.matches.names[k] for k in found.labels] == ["a"]
    assert found.thresholds == {}


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_macro_f_is_the_mean_over_labels_at_every_threshold(beta: float, tmp_path: Path) -> None:
    found = vt.analyse(*sides(*random_world(9, ties=True), tmp_path), beta=beta).operating
    for value, c in zip(found.macro_f.tolist(), found.micro.confidence.tolist(), strict=True):
        slow = []
        for one in found.labels.values():
            told = one.point(one.at(c))
            square = beta**2
            slow.append((1 + square) * told["tp"] / ((1 + square) * told["tp"] + square * told["fn"] + told["fp"]))
        assert value == pytest.approx(np.mean(slow), abs=1e-12)
    best = max(found.macro_f)
    assert found.confidence == max(
        c for v, c in zip(found.macro_f, found.micro.confidence, strict=True) if v > best - 1e-9
    )


def test_true_positives_are_those_of_the_protocol(tmp_path: Path) -> None:
    results = vt.coco(*sides(*random_world(11), tmp_path))
    lowest = results.analyse().operating.micro
    finds = results.matches(0.5)
    assert lowest.tp[-1] == (finds.matched_pred >= 0).sum()
    assert lowest.tp[-1] + lowest.fp[-1] == finds.counted_pred.sum()


@pytest.mark.parametrize("label", [None, 1])
def test_intervals_are_clustered_by_image(label: int | None, tmp_path: Path) -> None:
    """Counts of each image one by one; the interval itself is tested with the statistics."""
    found = vt.analyse(*sides(*random_world(11), tmp_path)).operating
    matches, threshold = found.matches, found.confidence
    images = range(matches.image_count)
    right, kept, truths = np.zeros((3, len(images)), dtype=int)
    for row in range(len(matches.pred)):
        is_kept = matches.counted_pred[row] and matches.confidence[row] >= threshold
        if is_kept and (label is None or matches.pred_label[row] == label):
            kept[matches.pred.image[row]] += 1
            right[matches.pred.image[row]] += matches.is_tp[row]
    for row in range(len(matches.truth)):
        if matches.counted_truth[row] and (label is None or matches.truth_label[row] == label):
            truths[matches.truth.image[row]] += 1
    told = found.intervals(threshold, label)
    assert told["precision"] == pytest.approx(clustered_wilson(right, kept), abs=1e-12)
    assert told["recall"] == pytest.approx(clustered_wilson(right, truths), abs=1e-12)


def test_drawn_intervals_repeat_themselves_and_say_how_they_were_drawn(tmp_path: Path) -> None:
    pair = sides(*random_world(12), tmp_path)
    one, two = (vt.analyse(*pair, draws=200, seed=3, threads=n).operating for n in (1, 2))
    assert one.intervals(0.3) == two.intervals(0.3)
    assert "draws:200|seed:3" in str(one.signature)
    low, high = one.intervals(0.3)["recall"]
    assert low < one.micro.point(one.micro.at(0.3))["recall"] < high


def test_the_variance_of_a_drawn_mean_over_images_is_that_of_the_mean() -> None:
    """Images drawn twice count twice: s² / n within 5 %. As a set they would give 21 % less deviation."""
    from verite.leaderboards.bootstrap import resample_images

    images = vt.Images([f"{i}" for i in range(60)])
    values = np.random.default_rng(5).normal(size=60)
    drawn = resample_images(images, 8000, 1) @ values / 60
    assert drawn.var() == pytest.approx(values.var() / 60, rel=0.05)


def test_a_threshold_chosen_on_other_images_promises_less(tmp_path: Path) -> None:
    found = vt.analyse(*sides(*random_world(13, images=30), tmp_path)).operating
    assert 0 < found.held_out < np.nanmax(found.micro.f())


@pytest.mark.parametrize(
    "verb", [["coco"], ["voc"], ["imagenet-det"], ["localize", "-m", "iou"], ["interpret"], ["analyse"]]
)
def test_thresholds_are_floors_of_every_verb(
    verb: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truth, results = random_world(1)
    pair = [str(tmp_path / name) for name in ("truth.json", "pred.json")]
    sides(truth, results, tmp_path)
    assert run(["analyse", *pair, "-o", str(tmp_path / "out"), "--no-plot", "--quiet"]) == 0
    kept = tmp_path / "out" / "thresholds.json"
    assert set(json.loads(kept.read_text())) <= {"c1", "c2", "c3", "c4"}
    capsys.readouterr()
    assert run([verb[0], *pair, *verb[1:], "--quiet", "--confidence", str(kept), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found


def test_a_file_that_is_no_thresholds_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides(*random_world(1), tmp_path)
    pair = [str(tmp_path / name) for name in ("truth.json", "pred.json")]
    for text, complaint in (("[1]", "expected confidences by label"), ('{"a": "x"}', "expected a confidence for 'a'")):
        (tmp_path / "t.json").write_text(text)
        assert run(["coco", *pair, "--confidence", str(tmp_path / "t.json")]) in (1, 2)
        assert complaint in capsys.readouterr().err
    assert run(["coco", *pair, "--confidence", "nowhere.json"]) == 1
    assert "nowhere.json" in capsys.readouterr().err


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_promise_of_a_threshold_is_that_of_trying_all_of_them(
    seed: int, beta: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every confidence on one half of the images, counted one by one; also where too few predictions are looked at
    first, and the rest has to follow.
    """
    truth, results = random_world(seed, images=14, ties=seed % 2 == 0, extra=12)
    matches = vt.analyse(*sides(truth, results, tmp_path), beta=beta).operating.matches
    image, confidence = matches.pred.image, matches.confidence
    random = np.random.Generator(np.random.PCG64(0))
    values = []
    for _ in range(20):
        chosen = random.permutation(14)[:7].tolist()
        halves = [set(chosen), set(range(14)) - set(chosen)]
        for fitted, judged in (halves, halves[::-1]):

            def f(images: set[int], c: float) -> float:
                kept = [k for k in np.flatnonzero(matches.counted_pred) if image[k] in images and confidence[k] >= c]
                right = sum(bool(matches.is_tp[k]) for k in kept)
                asked = sum(int(i) in images for i in matches.truth.image[matches.counted_truth])
                return (1 + beta**2) * right / (beta**2 * asked + len(kept))

            tried = sorted(set(confidence[matches.counted_pred].tolist()), reverse=True)
            best = max(tried, key=lambda c: (round(f(fitted, c), 12), c))
            values.append(f(judged, best))
    for room, more in ((1.5, 1000), (1.5, 0), (0.2, 0)):
        monkeypatch.setattr("verite.analysis.operating.ROOM", room)
        monkeypatch.setattr("verite.analysis.operating.MORE", more)
        found = vt.analyse(*sides(truth, results, tmp_path), beta=beta).operating.held_out
        assert found == pytest.approx(np.mean(values), abs=1e-12)


def test_thresholds_are_floors_of_ranks_and_drawings_too(tmp_path: Path) -> None:
    """Object by object what `vt.voc` finds with the same floors, and no other predictions are drawn as wrong."""
    from verite.reporting.draw import Overlay

    known, pred = sides(*random_world(1), tmp_path)
    floors = {"c1": 0.7, "c2": 0.4, "c3": 0.1}
    (tmp_path / "thresholds.json").write_text(json.dumps(floors))
    cut = vt.voc(known, pred, confidence=floors).matches()
    finds = vt.DetectionTable.of(
        known, {"a": pred, "b": pred.take(np.arange(5))}, confidence=str(tmp_path / "thresholds.json")
    )
    assert finds.answers[0].tolist() == (cut.matched_pred[cut.counted_truth] >= 0).astype(int).tolist()
    assert finds.claims is not None
    assert finds.claims[0] == cut.counted_pred.sum()
    overlay = Overlay(vt.voc(known, pred), confidence=floors)
    shown = np.array([{"c1": 0.7, "c2": 0.4, "c3": 0.1}.get(n, 0.0) for n in known.labels.all_names])[pred.label]
    assert not (np.isin(overlay.outcomes[1], [3, 4]) & (pred.confidence < shown)).any()
    paths = [str(tmp_path / name) for name in ("truth.json", "pred.json", "pred.json")]
    assert run(["rank", *paths, "--epsilon", "0.05", "--confidence", str(tmp_path / "thresholds.json"), "--json"]) == 0
    drawn = ["draw", *paths[:2], "--confidence", str(tmp_path / "thresholds.json"), "-o", str(tmp_path / "drawn")]
    assert run([*drawn, "--worst", "1", "--quiet"]) == 0
