"""Gold images: a better ground truth of a random subset corrects the leads of a leaderboard."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from verite.cli import run
from verite.leaderboards.gold import differential_test, draw_gold_images, shrink

IMAGES = [f"i{i:03d}" for i in range(60)]


def boxes_of(rng: np.random.Generator, count: int) -> np.ndarray:
    low = rng.uniform(0, 400, (count, 2))
    return np.concatenate([low, low + rng.uniform(30, 80, (count, 2))], axis=1)


@pytest.fixture(scope="module")
def world() -> dict[str, vt.Annotations]:
    """The true objects of 60 images, a ground truth that lacks a fifth of them, and two detectors.

    `habit` has learned what the annotators leave out; `fair` finds every object equally well.
    """
    rng = np.random.default_rng(4)
    image = np.repeat(np.arange(60), 5)
    names = [IMAGES[i] for i in image]
    label = [("cat", "dog")[i] for i in rng.integers(0, 2, len(image))]
    boxes = boxes_of(rng, len(image))
    left_out = rng.random(len(image)) < 0.2
    sizes = dict.fromkeys(IMAGES, (500, 500))

    def side(rows: np.ndarray, confidence: np.ndarray | None = None) -> vt.Annotations:
        own = [names[i] for i in rows]
        found = boxes[rows] + (0 if confidence is None else rng.normal(0, 2, (len(rows), 4)))
        kinds = [label[i] for i in rows]
        return vt.Annotations.of(own, kinds, found, confidence=confidence, sizes=sizes, labels=["cat", "dog"])

    rows = np.arange(len(image))
    fair = rows[rng.random(len(rows)) < 0.85]
    habit = rows[~left_out & (rng.random(len(rows)) < 0.9)]
    return {
        "true": side(rows),
        "truth": side(rows[~left_out]),
        "fair": side(fair, rng.uniform(0.3, 1, len(fair))),
        "habit": side(habit, rng.uniform(0.3, 1, len(habit))),
    }


def subset(side: vt.Annotations, images: list[str]) -> vt.Annotations:
    """The objects of some images, which alone are listed."""
    names = np.array([side.images.name(int(i)) for i in side.image])
    rows = np.flatnonzero(np.isin(names, images))
    label = [side.labels.name(int(i)) for i in side.label[rows]]
    sizes = dict.fromkeys(images, (500, 500))
    return vt.Annotations.of(names[rows].tolist(), label, side.regions.boxes[rows], sizes=sizes, labels=["cat", "dog"])


def detectors(world: dict[str, vt.Annotations]) -> dict[str, vt.Annotations]:
    return {name: world[name] for name in ("fair", "habit")}


def test_gold_of_all_images_gives_the_leads_of_the_better_ground_truth(world: dict[str, vt.Annotations]) -> None:
    board = vt.leaderboard(world["truth"], detectors(world), gold=world["true"], draws=40, checks="off")
    assert board.gold is not None
    (pair,) = board.gold.pairs
    true = {name: vt.coco(world["true"], world[name], checks="off").scores["AP"].value for name in ("fair", "habit")}
    assert pair.corrected == pytest.approx(true[pair.first] - true[pair.second], abs=1e-12)
    assert pair.high - pair.low == pytest.approx(0, abs=1e-12)
    assert pair.population_low is not None
    assert pair.population_low < pair.low  # other images remain uncertain


def test_the_share_of_detectable_missing_objects_comes_from_gold_images(world: dict[str, vt.Annotations]) -> None:
    """Counted one by one: boxes of `fair` lie within a few pixels of an object, and other objects are far away."""
    chosen = draw_gold_images(world["truth"], 40, seed=3)
    gold = subset(world["true"], chosen)
    recorded = {tuple(box) for box in world["truth"].regions.boxes.tolist()}
    missing = [i for i, box in enumerate(gold.regions.boxes.tolist()) if tuple(box) not in recorded]
    found = 0
    for i in missing:
        name = gold.images.name(int(gold.image[i]))
        for pred in detectors(world).values():
            same = pred.image == pred.images.find(name)
            if (np.abs(pred.regions.boxes[same] - gold.regions.boxes[i]).max(axis=1) < 10).any():
                found += 1
                break
    errors = vt.annotation_errors.Detection(missing=0.2)
    board = vt.leaderboard(world["truth"], detectors(world), errors=errors, gold=gold, draws=20, checks="off")
    assert board.gold is not None
    assert board.gold.detectable == (found, len(missing))
    assert board.errors.lit == pytest.approx((found + 0.5) / (len(missing) + 1))
    assert not board.by_detectable
    shown = " ".join(board.to_text().split())
    assert f"of {len(missing)} missing objects in the gold images some detector has {found}:" in shown
    given = vt.annotation_errors.Detection(missing=0.2, lit=0.4)
    board = vt.leaderboard(world["truth"], detectors(world), errors=given, gold=gold, draws=20, checks="off")
    assert board.errors.lit == 0.4


def test_thirty_gold_images_show_that_errors_favour_a_detector(world: dict[str, vt.Annotations]) -> None:
    board = vt.leaderboard(world["truth"], detectors(world), resample="none", draws=40, checks="off")
    assert board.names[0] == "habit"  # on the given ground truth
    chosen = draw_gold_images(world["truth"], 30, seed=2)
    gold = subset(world["true"], chosen)
    found = vt.leaderboard(world["truth"], detectors(world), gold=gold, draws=100, checks="off")
    assert found.gold is not None
    (pair,) = found.gold.pairs
    assert (pair.first, pair.second) == ("habit", "fair")
    assert pair.high < 0 < pair.lead
    assert found.gold.p_differential < 0.01
    assert found.gold.p_first[1] > 0.9
    text = str(found)
    assert "warning: on the gold images fair is ahead of habit" in text
    assert "drawn at random" in text
    true = {name: vt.coco(world["true"], world[name], checks="off").scores["AP"].value for name in ("fair", "habit")}
    assert pair.low <= true["habit"] - true["fair"] <= pair.high
    document = found.to_dict()
    assert set(document["gold"]) == {"images", "p_differential", "pairs"}
    assert {"first", "second", "corrected", "low", "high"} <= set(document["gold"]["pairs"][0])
    assert sum(one["p_first_gold"] for one in document["detectors"]) == pytest.approx(1)
    assert len(found.tables()["gold"].rows) == 30


def test_the_same_ground_truth_again_corrects_nothing(world: dict[str, vt.Annotations]) -> None:
    gold = subset(world["truth"], IMAGES[:30])
    found = vt.leaderboard(world["truth"], detectors(world), gold=gold, draws=40, checks="off")
    assert found.gold is not None
    assert [pair.corrected - pair.lead for pair in found.gold.pairs] == [0]
    assert found.gold.p_differential == 1


def test_the_mean_of_the_images_influence_is_the_correction(world: dict[str, vt.Annotations]) -> None:
    gold = subset(world["true"], IMAGES[:40])
    found = vt.leaderboard(world["truth"], detectors(world), gold=gold, draws=40, checks="off")
    assert found.gold is not None
    (pair,) = found.gold.pairs
    mean = found.gold.influence.mean(axis=0)
    assert mean[0] - mean[1] == pytest.approx(pair.corrected - pair.lead)


def test_shrinkage_of_two_detectors_is_that_of_a_normal_prior() -> None:
    """Difference 0.04 with variance 0.0004 under a prior of variance 0.0016: 0.8 of it, variance 0.00032."""
    mean, spread = shrink(np.array([0.04, 0.0]), np.diag([0.0002, 0.0002]), 0.0016)
    assert mean[0] - mean[1] == pytest.approx(0.8 * 0.04)
    assert spread[0, 0] + spread[1, 1] - 2 * spread[0, 1] == pytest.approx(0.0004 * 0.8)


def test_sign_flips_of_symmetric_differences_are_not_significant() -> None:
    values = np.linspace(-1, 1, 41)
    assert differential_test(np.column_stack([values, np.zeros(41)])) > 0.9
    assert differential_test(np.column_stack([values + 1, np.zeros(41)])) == pytest.approx(1 / 2000)
    assert differential_test(np.zeros((30, 3))) == 1


def test_drawn_images_are_a_sample_without_replacement(world: dict[str, vt.Annotations]) -> None:
    one, two = (draw_gold_images(world["truth"], 25, seed) for seed in (1, 2))
    assert len(set(one)) == 25
    assert set(one) <= set(IMAGES)
    assert one != two
    assert draw_gold_images(world["truth"], 30, 1)[:25] == one
    for count in (19, 61):
        with pytest.raises(vt.BadParameter, match="draw_gold: expected a number from 20"):
            draw_gold_images(world["truth"], count)


def test_bad_gold_images_are_answered_with_one_sentence(world: dict[str, vt.Annotations]) -> None:
    other = vt.Annotations.of(["z", *IMAGES[:30]], ["cat"] * 31, [[0, 0, 9, 9]] * 31)
    with pytest.raises(vt.DataError, match="expected images of the ground truth, found 'z'"):
        vt.leaderboard(world["truth"], detectors(world), gold=other, draws=40, checks="off")
    few = subset(world["true"], IMAGES[:19])
    with pytest.raises(vt.DataError, match="expected at least 20 gold images, found 19"):
        vt.leaderboard(world["truth"], detectors(world), gold=few, draws=40, checks="off")


def test_the_command_draws_images_and_corrects_leads(
    world: dict[str, vt.Annotations],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    vt.write(world["truth"], "truth.json", "coco")
    assert run(["leaderboard", "truth.json", "--draw-gold", "30", "--seed", "1", "-o", "drawn", "-q"]) == 0
    lines = (tmp_path / "drawn" / "gold-images.csv").read_text().splitlines()
    assert lines[0] == "image"
    assert lines[1:] == draw_gold_images(world["truth"], 30, 1)
    vt.write(subset(world["true"], lines[1:]), "gold.json", "coco")
    for name, pred in detectors(world).items():
        vt.write(pred, f"{name}.json", "coco")
    words = "leaderboard truth.json fair.json habit.json --gold gold.json --draws 50 --checks off --json"
    capsys.readouterr()
    assert run([*words.split(), "-o", "out", "--no-plot"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["gold"]["images"] == 30
    assert (tmp_path / "out" / "gold.csv").read_text().startswith("image,habit,fair\n")
