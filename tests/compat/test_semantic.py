"""Semantic segmentation beside torchmetrics, live, where it is installed."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

import verite as vt
from tests.compat.torchvision_operators import define_operators

pytestmark = pytest.mark.skipif(
    not all(find_spec(name) for name in ("torch", "torchmetrics")),
    reason="torch and torchmetrics are not installed: make clients",
)
CLASSES = 6


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ignore", [255, 0])
def test_numbers_are_those_of_torchmetrics(seed: int, ignore: int) -> None:
    import torch

    define_operators()
    from torchmetrics.classification import (
        MulticlassAccuracy,
        MulticlassConfusionMatrix,
        MulticlassF1Score,
        MulticlassJaccardIndex,
    )

    rng = np.random.default_rng(seed)
    # Every class has ground truth: torchmetrics' mean accuracy counts one without it as 0 (deviations.md).
    truth = np.concatenate([np.arange(CLASSES), rng.integers(0, CLASSES, 194)]).reshape(2, 10, 10)
    pred = np.where(rng.random(truth.shape) < 0.7, truth, rng.integers(0, CLASSES, truth.shape))
    truth[rng.random(truth.shape) < 0.1] = 255
    truth.ravel()[:CLASSES] = np.arange(CLASSES)
    if ignore == 0:
        truth[truth == 255] = 0
    about = {"num_classes": CLASSES, "ignore_index": ignore}
    theirs = {
        "mIoU": MulticlassJaccardIndex(average="macro", **about),
        "fwIoU": MulticlassJaccardIndex(average="weighted", **about),
        "aAcc": MulticlassAccuracy(average="micro", **about),
    }
    if ignore == 255:  # an ignored class within range lowers torchmetrics' macro means of accuracy and F1
        theirs["mAcc"] = MulticlassAccuracy(average="macro", **about)
        theirs["Dice"] = MulticlassF1Score(average="macro", **about)
    evaluator = vt.SemanticEvaluator(labels=CLASSES, ignore=ignore)
    matrix = MulticlassConfusionMatrix(**about)
    for one, two in zip(pred, truth, strict=True):
        for metric in (*theirs.values(), matrix):
            metric.update(torch.tensor(one), torch.tensor(two))
        evaluator.update(torch.tensor(one), torch.tensor(two))
    results = evaluator.compute()
    for name, metric in theirs.items():
        assert results.scores[name].value == pytest.approx(float(metric.compute()), abs=1e-6), name  # theirs is float32
    kept = [k for k in range(CLASSES) if k != ignore]
    assert results.confusion[:, :-1].tolist() == matrix.compute().numpy()[np.ix_(kept, kept)].tolist()
