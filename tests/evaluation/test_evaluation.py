"""One evaluation asked many ways: on threads, per object, per image, and by rules that are refused."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.evaluation.sets import assert_same, evaluate, read
from tests.oracles.coco_sets import random_mask_set, random_set
from verite.errors import BadParameter, DataError
from verite.evaluation.evaluation import FALSE_POSITIVE, IGNORED, TRUE_POSITIVE, UNSEEN, Evaluation, Rules

pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")


@pytest.mark.parametrize("on", ["box", "mask", "boundary"])
def test_any_number_of_threads_gives_the_same_bytes(tmp_path: Path, on: Any) -> None:
    for seed in (5, 21, 40):
        sides = read(tmp_path, *(random_set(seed) if on == "box" else random_mask_set(seed)))
        weights = np.arange(len(sides[0].images)) % 3
        found = []
        for threads in (1, 2, 3, 7):
            kept = evaluate(*sides, on, threads)
            arrays = kept.arrays
            outcomes = kept.outcomes(2, 1)
            found.append(
                [a.tobytes() for a in (arrays.precision, arrays.recall, arrays.scores)]
                + [kept.weighted(weights).native.precision.tobytes(), outcomes.state.tobytes()]
                + [repr(kept.by_image())]
            )
        assert all(one == found[0] for one in found)


def test_outcomes_say_who_took_whom() -> None:
    truth = vt.Annotations.of(
        ["a", "a", "a"], ["cat"] * 3, [[0, 0, 10, 10], [20, 0, 30, 10], [40, 0, 60, 20]], crowd=[False, False, True]
    )
    pred = vt.Annotations.of(
        ["a"] * 5,
        ["cat"] * 4 + ["dog"],
        [[0, 0, 10, 10], [0, 0, 10, 9], [41, 1, 51, 11], [20, 0, 30, 4], [0, 0, 9, 9]],
        confidence=[0.9, 0.8, 0.7, 0.6, 0.5],
    )
    kept = evaluate(truth, pred.like(truth))
    found = kept.outcomes(0)
    assert found.state.tolist() == [
        TRUE_POSITIVE,
        FALSE_POSITIVE,
        IGNORED,
        FALSE_POSITIVE,
        UNSEEN,
    ]
    assert found.truth.tolist() == [0, -1, 2, -1, -1]
    assert found.overlap[[0, 2]].tolist() == [1.0, 1.0]
    assert np.isnan(found.overlap[[1, 3, 4]]).all()
    assert found.pred.tolist() == [0, -1, 2]
    assert found.is_asked.tolist() == [True, True, False]
    with pytest.raises(BadParameter, match="outcomes: expected one of the thresholds"):
        kept.outcomes(10)


def test_an_image_by_itself_is_an_evaluation_of_that_image(tmp_path: Path) -> None:
    for seed in (2, 8, 33):
        kept = evaluate(*read(tmp_path, *random_set(seed)))
        found = kept.by_image()
        for i, position in enumerate(found["image"]):
            own = Evaluation(
                kept.truth.where(kept.truth.image == position), kept.pred.where(kept.pred.image == position), kept.rules
            )
            values = [v for v in own.class_means("precision", None, 0, 2) if not np.isnan(v)]
            expected = np.mean(values) if values else np.nan
            assert found["precision"][i] == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_an_evaluation_is_pickled_as_what_it_is_made_of() -> None:
    truth = vt.Annotations.of(["a", "b"], ["cat", "dog"], [[0, 0, 10, 10], [20, 0, 30, 10]])
    pred = vt.Annotations.of(["a", "b"], ["cat", "dog"], [[0, 0, 10, 6], [20, 0, 30, 9]], confidence=[0.9, 0.8])
    kept = evaluate(truth, pred)
    for other in (pickle.loads(pickle.dumps(kept)), copy.deepcopy(kept)):
        assert_same(other, kept.native.precision, kept.native.recall)


def test_best_of_all_is_taken_or_none() -> None:
    """Pascal VOC's rule: who comes second for the truth it overlaps most does not take another."""
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [0, 2, 10, 12]])
    pred = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [0, 0, 10, 11]], confidence=[0.9, 0.8])
    states = {}
    for wants in ("best", "free"):
        kept = Evaluation(truth, pred, Rules((0.5,), "corner_box", wants=wants, equal="first"))
        states[wants] = kept.outcomes().state.tolist()
    assert states == {"best": [TRUE_POSITIVE, FALSE_POSITIVE], "free": [TRUE_POSITIVE, TRUE_POSITIVE]}


def test_truths_may_ask_for_more_than_the_threshold() -> None:
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 10], [20, 0, 30, 10]])
    pred = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 10, 6], [20, 0, 30, 6]], confidence=[0.9, 0.8])
    kept = Evaluation(truth, pred, Rules((0.5,), "corner_box"), min_iou=np.array([0.5, 0.7]))
    assert kept.outcomes().state.tolist() == [TRUE_POSITIVE, FALSE_POSITIVE]


def test_rules_that_are_none_are_refused() -> None:
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]])
    for rules, message in (
        (Rules(()), "a threshold"),
        (
            Rules((0.5,), "circle"),
            "expected one of box, mask, boundary, keypoints, rotated, point, corner_box, found circle",
        ),
        (Rules((0.5,), limits=(10, 1)), "rising numbers"),
        (Rules((0.5,), recalls=(1.0, 0.0)), "recalls that rise"),
    ):
        with pytest.raises(DataError, match=message):
            Evaluation(truth, truth, rules)


def one_of_many_classes(count: int) -> tuple[vt.Annotations, vt.Annotations]:
    """An object that is found, in a list of very many classes."""
    classes = [{"id": i, "name": f"c{i}"} for i in range(count)]
    box = {"image_id": 1, "category_id": 1, "bbox": [10, 10, 40, 40]}
    truth = {
        "images": [{"id": 1}],
        "categories": classes,
        "annotations": [{"id": 1, "area": 1600, "iscrowd": 0, **box}],
    }
    return vt.read(truth), vt.read([{"score": 0.5, **box}], like=vt.read(truth))


@pytest.mark.parametrize(("protocol", "key"), [(vt.coco, "AP"), (vt.voc, "mAP")])
def test_classes_without_objects_have_no_curves(protocol: Any, key: str) -> None:
    """Curves of 10,000 classes by COCO's rules would have 4 areas × 10 thresholds × 101 recalls each: 323 MB."""
    sides = one_of_many_classes(10_000)
    results = protocol(*sides)
    assert results[key].value == pytest.approx(1)
    assert vt.analyse(*sides).results["AP"].value == pytest.approx(1)
    if key == "AP":
        assert results.evaluation.kept.curve_points == 2 * 10 * 101  # all areas, and medium: 40 × 40 pixels


def test_arrays_of_very_many_classes_for_few_objects_are_refused_by_name() -> None:
    """pycocotools' shapes have room for all 4,209 classes; 17,000,000 points are allowed, and 1,010 per object."""
    assert vt.coco(*one_of_many_classes(4208)).precision.shape == (10, 101, 4208, 4, 3)
    results = vt.coco(*one_of_many_classes(4209))
    with pytest.raises(
        DataError, match=r"17,002,020 points .* for 2 objects, found 17,004,360 of 4,209 classes; .*CURVE_P"
    ):
        _ = results.precision


def test_curves_are_allowed_for_where_objects_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """The curves of one object, in two area ranges, have 2,020 points; each object allows for 1,010."""
    truth, pred = one_of_many_classes(80)
    monkeypatch.setenv("VERITE_LIMIT_CURVE_POINTS", "0")
    assert vt.coco(truth, pred, checks="off")["AP50"].value == pytest.approx(1)
    none = pred.take(np.zeros(0, dtype=np.int64))
    with pytest.raises(DataError, match="VERITE_LIMIT_CURVE_POINTS"):
        vt.coco(truth, none, checks="off")
    monkeypatch.setenv("VERITE_LIMIT_CURVE_POINTS", "1010")
    assert vt.coco(truth, none, checks="off")["AP50"].value == 0


def test_bins_are_the_same_together_and_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    truth, pred = read(tmp_path, *random_set(5))
    results = vt.coco(truth, pred, checks="off")
    bins = np.arange(len(truth)) % 7, np.arange(len(pred)) % 7
    together = results.bin_means(*bins, 7)
    classes = len(truth.labels)
    monkeypatch.setattr("verite.evaluation.evaluation.POINTS_PER_OBJECT", 0)
    monkeypatch.setenv("VERITE_LIMIT_CURVE_POINTS", str(2 * classes * 1010))
    assert np.array_equal(results.bin_means(*bins, 7), together, equal_nan=True)
    assert np.isfinite(together).any()
