"""Scores of drawn images are those of a data set in which images are copied, by every protocol."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import verite as vt
from tests.protocols.scenes import enlarge
from verite.evaluation.bootstrap import draw_ratio
from verite.leaderboards.bootstrap import paired_interval
from verite.model.classes import ImageLevelLabels
from verite.model.rasters import runs_of
from verite.model.regions import Regions
from verite.protocols import REGISTRY, protocol_named
from verite.scale.partial import IN_ONE_PIECE

SIDE, IMAGES = 32, 9
LABELS = ["cat", "dog", "tree"]


def as_lvis(truth: vt.Annotations) -> vt.Annotations:
    """Nobody looked for what is not there, and one class of each frequency."""
    return replace(truth, verdicts=ImageLevelLabels.of([]), labels=vt.Labels(LABELS, groups=["r", "c", "f"]))


MORE = {"imagenet-loc": {"guesses": (1, 3)}, "openimages": {"group_of_weight": 0.5, "iou": (0.5, 0.75)}}
# Tracks run over frames: whole sequences are drawn, in tests/protocols/test_track.py.
OF_IMAGES = [verb for verb in REGISTRY if verb != "track"]
EVERY = {verb: partial(protocol_named(verb), checks="off", **MORE.get(verb, {})) for verb in OF_IMAGES} | {
    "lvis": lambda truth, pred: vt.lvis(as_lvis(truth), pred, checks="off"),
    "kitti": lambda truth, pred: vt.kitti(enlarge(truth, 6), enlarge(pred, 6), checks="off"),  # ignores 25 pixels
    "instances, pooled": partial(vt.instances, pool="dataset", checks="off"),
    "localize": lambda truth, pred: vt.localize(truth, pred, "iou", "hausdorff", unmatched="score", checks="off"),
    "interpret": partial(vt.scene_score, checks="off"),
}


def random_sides(rng: np.random.Generator) -> tuple[vt.Annotations, vt.Annotations]:
    """Masks on a grid of four by four cells, so that no two of a side overlap; some are groups, some are false."""
    sides = []
    for is_pred in (False, True):
        taken = [(i, *divmod(int(c), 4)) for i in range(IMAGES) for c in rng.choice(6, rng.integers(1, 5), False)]
        boxes = np.array([[x * 8, y * 8, x * 8 + rng.integers(5, 8), y * 8 + rng.integers(5, 8)] for _, x, y in taken])
        more = {"confidence": rng.permutation(len(taken)) / 100 + 0.01} if is_pred else {}
        flags = {} if is_pred else {"group_of": rng.random(len(taken)) < 0.2}
        masks = np.zeros((len(taken), SIDE, SIDE), dtype=np.bool_)
        for mask, (x1, y1, x2, y2) in zip(masks, boxes, strict=True):
            mask[y1:y2, x1:x2] = True
        side = vt.Annotations.of(
            [f"image {i}" for i, _, _ in taken], [LABELS[rng.integers(3)] for _ in taken], boxes,
            sizes={f"image {i}": (SIDE, SIDE) for i in range(IMAGES)}, labels=LABELS, **more, **flags,
        )  # fmt: skip
        sides.append(replace(side, regions=Regions(boxes, runs=runs_of(masks))))
    return sides[0], sides[1]


def copy_images(side: vt.Annotations, weights: np.ndarray) -> vt.Annotations:
    """Each image so many times, copies one after the other."""
    names = [f"{i:02} copy {k}" for i, weight in enumerate(weights) for k in range(weight)]
    rows = [(row, k) for i, n in enumerate(weights) for k in range(n) for row in np.flatnonzero(side.image == i)]
    place = {name: i for i, name in enumerate(names)}
    image = np.array([place[f"{side.image[row]:02} copy {k}"] for row, k in rows], dtype=np.int32)
    images = vt.Images(names, widths=[SIDE] * len(names), heights=[SIDE] * len(names))
    return replace(side.take([row for row, _ in rows]), images=images, image=image)


@pytest.mark.parametrize("protocol", EVERY)
def test_a_draw_is_the_evaluation_of_copied_images(protocol):
    rng = np.random.default_rng(7)
    evaluate, compared = EVERY[protocol], 0
    for _ in range(8):
        truth, pred = random_sides(rng)
        results = evaluate(truth, pred)
        weights = rng.multinomial(IMAGES, [1 / IMAGES] * IMAGES, size=3)
        scores = list(results.scores)
        drawn = results.draw_scores(scores, weights.astype(float))
        for k, weight in enumerate(weights):
            copied = evaluate(copy_images(truth, weight), copy_images(pred, weight))
            expected = [copied[score].value for score in scores]
            assert drawn[k] == pytest.approx(expected, abs=1e-12, nan_ok=True)
            for i, label in enumerate(copied.class_names):
                own = results.draw_scores(scores, weight[None].astype(float), label)[0]
                expected = [copied.class_scores()[score][i] for score in scores]
                assert own == pytest.approx(expected, abs=1e-12, nan_ok=True)
                compared += int(np.isfinite(expected).sum())
    assert compared > 20


@pytest.mark.parametrize("protocol", [verb for verb in OF_IMAGES if verb not in IN_ONE_PIECE])
def test_parts_are_drawn_as_the_whole(protocol):
    rng = np.random.default_rng(8)
    truth, pred = random_sides(rng)
    whole = EVERY[protocol](truth, pred)
    if protocol == "kitti":
        truth, pred = enlarge(truth, 6), enlarge(pred, 6)
    merged = vt.partial(
        as_lvis(truth) if protocol == "lvis" else truth, pred, protocol, checks="off", **MORE.get(protocol, {})
    ).compute()
    weights = rng.multinomial(IMAGES, [1 / IMAGES] * IMAGES, size=40).astype(float)
    scores = list(whole.scores)
    for label in (None, "dog"):
        drawn = merged.draw_scores(scores, weights, label)  # images have the order of their names in both
        assert drawn == pytest.approx(whole.draw_scores(scores, weights, label), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("protocol", EVERY)
def test_a_system_is_not_worse_than_itself(protocol):
    truth, pred = random_sides(np.random.default_rng(9))
    results = EVERY[protocol](truth, pred)
    score = next(score for score, found in results.scores.items() if np.isfinite(found.value))
    assert paired_interval(results, results, score, draws=50) == (0.0, 0.0)


def test_images_that_only_predictions_have_are_in_every_draw():
    truth = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9]] * 2)
    pred = vt.Annotations.of(["z", "a"], ["cat"] * 2, [[0, 0, 9, 9]] * 2, confidence=[0.9, 0.8])
    results = vt.voc(truth, pred, checks="off")
    assert results.draw_scores(["mAP"], np.array([[2.0, 0.0], [1.0, 1.0]]))[:, 0].tolist() == [2 / 3, 0.25]


def test_a_ratio_of_nothing_is_absent_and_what_is_endless_counts_where_it_is():
    weights = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    drawn = draw_ratio(weights, np.array([0, 1]), np.array([2.0, np.inf]), np.ones(2))
    assert drawn.tolist()[:2] == [2.0, np.inf]
    assert np.isnan(drawn[2])
