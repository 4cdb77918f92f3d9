"""A confidence threshold: how many predictions it leaves is printed, and one that leaves none is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import verite as vt
from verite.cli import run
from verite.ranking.detectors import DetectionTable

BOXES = [[0, 0, 10, 10], [20, 20, 30, 30], [40, 40, 50, 50]]


def sides(**columns: Any) -> tuple[vt.Annotations, vt.Annotations]:
    truth = vt.Annotations.of(["a"] * 3, ["cat", "cat", "dog"], BOXES)
    return truth, vt.Annotations.of(["a"] * 3, ["cat", "cat", "dog"], BOXES, confidence=[0.9, 0.6, 0.3], **columns)


@pytest.mark.parametrize("evaluate", [vt.coco, vt.voc, vt.openimages, vt.imagenet_det, vt.scene_score])
def test_a_threshold_that_no_prediction_reaches_is_an_error_at_every_protocol(evaluate: Any) -> None:
    with pytest.raises(vt.DataError, match=r"3 predictions reach, found 50; .* 0\.9 \(confidence=0\.5 leaves 2\)"):
        evaluate(*sides(), confidence=50)
    with pytest.raises(vt.DataError, match=r"found 1\.5; the highest confidence is 0\.9$"):
        evaluate(*sides(), confidence=1.5)
    assert "confidence threshold 0.5: 2 of 3 predictions are left" in evaluate(*sides(), confidence=0.5).notes


def test_the_same_of_metrics_of_localization_analyses_rankings_and_drawings() -> None:
    truth, pred = sides()
    for call in (
        lambda: vt.localize(truth, pred, "iou", confidence=50),
        lambda: vt.analyse(truth, pred, confidence=50).confusion,
        lambda: DetectionTable.of(truth, {"a": pred, "b": pred}, confidence=0.95),
    ):
        with pytest.raises(vt.DataError, match=r"the highest confidence is 0\.9"):
            call()


def test_only_the_chosen_classes_are_counted() -> None:
    with pytest.raises(vt.DataError, match=r"1 predictions reach, found 0\.5; the highest confidence is 0\.3"):
        vt.coco(*sides(), confidence=0.5, labels=["dog"])


def test_whoever_turns_checks_down_gets_the_number_and_the_line() -> None:
    results = vt.coco(*sides(), confidence=50, checks="warn")
    assert results["AP"].value == 0
    assert "confidence threshold 50: 0 of 3 predictions are left" in results.notes


def test_an_evaluator_warns_and_goes_on() -> None:
    loop = vt.CocoEvaluator(confidence=50)
    box = {"boxes": [[0, 0, 9, 9]], "labels": [1]}
    loop.update({**box, "scores": [0.5]}, box)
    with pytest.warns(vt.DataWarning, match="confidence threshold 50: 0 predictions are left"):
        assert loop.compute()["AP"].value == 0


def test_merged_parts_tell_how_many_are_left() -> None:
    truth, pred = sides()
    assert "confidence threshold 0.5: 2 predictions are left" in vt.partial(truth, pred, confidence=0.5).compute().notes


def test_the_command_line_names_its_option(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    truth, pred = sides()
    vt.write(truth, tmp_path / "truth.csv", "table")
    vt.write(pred, tmp_path / "pred.csv", "table")
    assert run(["coco", str(tmp_path / "truth.csv"), str(tmp_path / "pred.csv"), "--confidence", "50"]) == 1
    assert "--confidence 0.5 leaves 2" in capsys.readouterr().err


def test_a_threshold_per_class_is_counted_per_class() -> None:
    notes = vt.coco(*sides(), confidence={"cat": 0.7}).notes
    assert "confidence threshold of its class: 2 of 3 predictions are left" in notes
    assert np.isfinite(vt.coco(*sides(), confidence={"cat": 0.7})["AP"].value)
