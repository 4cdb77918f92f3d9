"""Batch by batch is the same as all at once, whatever the arrays are made of."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.coco_sets import random_set


def batches(seed: int) -> tuple[Any, Any, list[tuple[Any, Any]]]:
    """A data set, and the same image by image: predictions and targets in the layout x, y, width, height."""
    truth, results = random_set(seed)
    items = []
    for image in sorted(record["id"] for record in truth["images"]):
        mine = [a for a in truth["annotations"] if a["image_id"] == image]
        found = [r for r in results if r["image_id"] == image]
        items.append(
            (
                {
                    "boxes": np.array([r["bbox"] for r in found]).reshape(-1, 4),
                    "scores": np.array([r["score"] for r in found]),
                    "labels": np.array([r["category_id"] for r in found], dtype=int),
                },
                {
                    "boxes": np.array([a["bbox"] for a in mine]).reshape(-1, 4),
                    "labels": np.array([a["category_id"] for a in mine], dtype=int),
                    "area": np.array([a["area"] for a in mine]),
                    "iscrowd": np.array([a["iscrowd"] for a in mine]),
                    "image_id": image,
                },
            )
        )
    return truth, results, items


def evaluator(truth: Any) -> vt.CocoEvaluator:
    names = {c["id"]: c["name"] for c in truth["categories"]}
    return vt.CocoEvaluator(layout="xywh", labels=names, checks="off")  # random sets are odd on purpose


def whole(folder: Path, truth: Any, results: Any) -> vt.CocoResults:
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "pred.json").write_text(json.dumps(results))
    found = vt.read(folder / "truth.json")
    return vt.coco(found, vt.read(folder / "pred.json", like=found), checks="off")


def values(results: vt.CocoResults) -> list[float]:
    return [score.value for score in results.scores.values()]


@pytest.mark.parametrize("seed", [2, 5, 8, 13])
def test_batches_give_the_bits_of_the_whole(tmp_path: Path, seed: int) -> None:
    truth, results, items = batches(seed)
    loop = evaluator(truth)
    for pred, target in items:
        loop.update([pred], [target])
    expected = whole(tmp_path, truth, results)
    assert np.array_equal(values(loop.compute()), values(expected), equal_nan=True)
    assert loop.compute().precision.shape == expected.precision.shape


def test_several_processes_put_together_give_the_same(tmp_path: Path) -> None:
    truth, results, items = batches(5)
    parts = [evaluator(truth) for _ in range(3)]
    for i, (pred, target) in enumerate(items):
        parts[i % 3].update(pred, target)
    parts = [pickle.loads(pickle.dumps(part)) for part in parts]
    for part in parts[1:]:
        parts[0].merge(part)
    assert np.array_equal(values(parts[0].compute()), values(whole(tmp_path, truth, results)), equal_nan=True)


def test_torch_tensors_are_taken_as_they_are(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    truth, results, items = batches(5)
    loop = evaluator(truth)
    for pred, target in items:
        loop.update(*({k: torch.as_tensor(v) for k, v in side.items()} for side in (pred, target)))
    assert np.array_equal(values(loop.compute()), values(whole(tmp_path, truth, results)), equal_nan=True)
    half = vt.CocoEvaluator()
    box = torch.tensor([[0, 0, 8, 8]], dtype=torch.bfloat16, requires_grad=True)
    half.update({"boxes": box, "scores": torch.ones(1), "labels": torch.ones(1)}, {"boxes": box, "labels": [1]})
    assert half.compute().scores["AP"].value == pytest.approx(1)


def test_masks_are_pixels() -> None:
    pixels = np.zeros((2, 20, 30), dtype=bool)
    pixels[0, 2:12, 3:13] = True
    pixels[1, 15:20, 20:30] = True
    loop = vt.CocoEvaluator(on="mask")
    loop.update(
        {"masks": pixels[:1], "scores": [0.9], "labels": [1]}, {"masks": pixels, "labels": [1, 1], "image_id": 4}
    )
    results = loop.compute()
    assert results.scores["AP"].value == pytest.approx(51 / 101, rel=1e-14)
    assert results.scores["AR100"].value == 0.5


@pytest.mark.parametrize("shape", [(1, 20, 30), (1, 1, 20, 30)])
def test_probabilities_are_inside_above_a_half_as_wherever_dictionaries_are_taken(shape: tuple[int, ...]) -> None:
    """Mask R-CNN of torchvision gives them as [n, 1, height, width]; outside they are small, and not 0."""
    pixels = np.zeros((1, 20, 30), dtype=bool)
    pixels[0, 2:12, 3:13] = True
    soft = np.where(pixels, 0.9, 0.1).astype(np.float32).reshape(shape)
    pred, target = {"masks": soft, "scores": [0.9], "labels": [1]}, {"masks": pixels, "labels": [1]}
    loop = vt.CocoEvaluator(on="mask")
    loop.update(pred, target)
    assert loop.compute().scores["AP"].value == pytest.approx(1)
    boxes = {"boxes": [[3, 2, 13, 12]]}
    assert vt.coco([target | boxes], [pred | boxes], on="mask", checks="off").scores["AP"].value == pytest.approx(1)


def test_reset_forgets() -> None:
    box = {"boxes": [[0, 0, 9, 9]], "labels": [1]}
    loop = vt.CocoEvaluator()
    loop.update({**box, "scores": [1.0]}, box)
    loop.reset()
    assert len(loop) == 0
    assert np.isnan(loop.compute().scores["AP"].value)


GOOD = {"boxes": [[0, 0, 9, 9]], "scores": [0.5], "labels": [1]}
TARGET = {"boxes": [[0, 0, 9, 9]], "labels": [1]}


@pytest.mark.parametrize(
    ("pred", "target", "message"),
    [
        ([GOOD], [], "update: expected as many targets as predictions, found 0 and 1"),
        ({"boxes": [], "labels": []}, TARGET, "expected a key 'scores', found none"),
        ({**GOOD, "scores": [0.5, 0.6]}, TARGET, r"scores: expected 1 values as there are labels, found 2"),
        (
            {**GOOD, "score": [1]},
            TARGET,
            r"expected keys out of boxes, masks, keypoints, labels, scores, image_id, found 'score'",
        ),
        ({**GOOD, "scores": ["a"]}, TARGET, "scores: expected numbers, found"),
        (GOOD, {"labels": [1]}, "expected boxes, masks or keypoints, found none"),
        (
            GOOD,
            {"masks": np.zeros((5, 5)), "labels": [1]},
            r"expected shape \(n, height, width\), found \(5, 5\)",
        ),
        (
            {"masks": np.full((1, 5, 5), np.nan), "labels": [1], "scores": [0.5]},
            {"masks": np.zeros((1, 5, 5)), "labels": [1]},
            r"predictions\[0\].masks: expected truth values or probabilities, found NaN",
        ),
        (
            {"boxes": np.zeros((4, 3)), "labels": [1] * 3, "scores": [0.5] * 3},
            TARGET,
            r"predictions\[0\].boxes: expected shape \(n, 4\), found \(4, 3\)",
        ),
        ({**GOOD, "labels": [1.7]}, TARGET, r"predictions\[0\].labels: expected integers.*1\.7"),
        (GOOD, {**TARGET, "labels": [float("nan")]}, r"targets\[0\].labels: expected integers.*nan"),
        (GOOD, {**TARGET, "labels": [float("inf")]}, r"targets\[0\].labels: expected integers.*inf"),
        (GOOD, {**TARGET, "labels": np.array([2**63], np.uint64)}, r"targets\[0\].labels: .*9223372036854775808"),
        (GOOD, {**TARGET, "iscrowd": [float("nan")]}, r"targets\[0\].iscrowd: expected 0 or 1.*nan"),
        (GOOD, {**TARGET, "size": [float("nan"), 5]}, r"targets\[0\].size: expected integers.*nan"),
        (GOOD, {**TARGET, "image_id": 2**63}, r"targets\[0\].image_id: .*9223372036854775808"),
        (GOOD, {**TARGET, "image_id": 2**70}, r"targets\[0\].image_id: .*1180591620717411303424"),
        ({**GOOD, "image_id": 1.5}, TARGET, r"predictions\[0\].image_id: expected integers.*1\.5"),
        (GOOD, {**TARGET, "image_id": [1, 2]}, r"targets\[0\].image_id: expected one number, found 2"),
    ],
)
def test_a_bad_batch_is_named_and_leaves_no_trace(pred: Any, target: Any, message: str) -> None:
    loop = vt.CocoEvaluator()
    loop.update(GOOD, TARGET)
    with pytest.raises(vt.VeriteError, match=message):
        loop.update(pred, target)
    assert len(loop) == 1


@pytest.mark.parametrize("wrap", [np.array, lambda id: np.array([id]), lambda id: np.array([[id]]), lambda id: [id]])
def test_an_image_id_may_be_an_array_of_one_number(wrap: Any) -> None:
    loop = vt.CocoEvaluator(keep=True)
    loop.update(GOOD, {**TARGET, "image_id": wrap(2**63 - 1)})
    assert loop.compute().scores["AP"].value == pytest.approx(1)
    assert loop.both_sides()[0].images.ids.tolist() == [2**63 - 1]


def test_an_image_id_may_be_a_tensor_of_one_number() -> None:
    torch = pytest.importorskip("torch")
    loop = vt.CocoEvaluator()
    loop.update(GOOD, {**TARGET, "image_id": torch.tensor([7])})
    with pytest.raises(vt.DataError, match="found 7 again"):
        loop.update(GOOD, {**TARGET, "image_id": torch.tensor(7)})


def test_an_image_comes_once() -> None:
    loop = vt.CocoEvaluator()
    loop.update(GOOD, {**TARGET, "image_id": 3})
    with pytest.raises(vt.DataError, match="expected each image once, found 3 again"):
        loop.update(GOOD, {**TARGET, "image_id": 3})


def test_evaluators_that_measure_differently_do_not_merge() -> None:
    with pytest.raises(vt.BadParameter, match="merge: expected an evaluator with the same settings"):
        vt.CocoEvaluator().merge(vt.CocoEvaluator(iou=0.5))


def test_predictions_that_are_not_finite_are_wrong_and_said_to_be_so():
    evaluator = vt.CocoEvaluator()
    nan = float("nan")
    evaluator.update(
        [{"boxes": [[nan] * 4], "scores": [0.9], "labels": [1]}], [{"boxes": [[0, 0, 10, 10]], "labels": [1]}]
    )
    with pytest.warns(vt.DataWarning, match="CocoEvaluator: V111 1 of 1 boxes has coordinates that are NaN"):
        results = evaluator.compute()
    assert results.scores["AP"].value == 0
    assert [finding.code for finding in results.findings] == ["V111"]
    assert evaluator.compute().scores["AP"].value == 0  # said once
    stops = vt.CocoEvaluator(checks="stop")
    stops.update([{"boxes": [[nan] * 4], "scores": [0.9], "labels": [1]}], [{"boxes": [[0, 0, 10, 10]], "labels": [1]}])
    with pytest.raises(vt.DataError, match="V111"):
        stops.compute()


def test_the_first_images_are_looked_at_before_the_last_are_there():
    evaluator = vt.CocoEvaluator()
    box = [10.0, 10.0, 50.0, 50.0]
    batch = [{"boxes": [box, box], "scores": [0.5, 0.5], "labels": [1, 1]}] * 8
    for _ in range(7):
        evaluator.update(batch, [{"boxes": [box], "labels": [1]}] * 8)
    with pytest.warns(vt.DataWarning, match=r"V306 64 of 128 .*\(1 more\)"):
        evaluator.update(batch, [{"boxes": [box], "labels": [1]}] * 8)
    assert {finding.code for finding in evaluator.compute().findings} == {"V304", "V306"}


@pytest.mark.parametrize("boxes", [0.5, np.zeros((1, 1, 4)), [[0, 0, 9]]], ids=["a number", "three axes", "three"])
def test_boxes_of_another_shape_are_refused(boxes: Any) -> None:
    pred = {"boxes": boxes, "scores": [0.9], "labels": [1]}
    with pytest.raises(vt.BadParameter, match=r"predictions\[0\]\.boxes: expected shape \(n, 4\)"):
        vt.CocoEvaluator().update([pred], [{"boxes": [[0, 0, 9, 9]], "labels": [1]}])


@pytest.mark.parametrize("key", ["preds", "targets"])
def test_a_batch_that_is_a_number_is_refused(key: str) -> None:
    with pytest.raises(vt.BadParameter, match=f"{key}: expected a dictionary per image, found int"):
        vt.CocoEvaluator().update(**{"preds": [], "targets": [], key: 1})


def test_wrong_settings_are_refused_when_they_are_given():
    with pytest.raises(vt.BadParameter, match="iou"):
        vt.CocoEvaluator(iou=7)
    with pytest.raises(vt.BadParameter, match="found 'max_det'; did you mean 'max_dets'"):
        vt.CocoEvaluator(max_det=3)
    for labels in ([1, 2], {1: None}, "cat"):  # each letter would be a class
        with pytest.raises(vt.BadParameter, match="labels: expected names"):
            vt.CocoEvaluator(labels=labels)


def test_a_box_that_is_not_finite_late_in_the_epoch_is_said_and_wrong():
    evaluator = vt.CocoEvaluator(checks="warn")
    box, score = [10.0, 10.0, 50.0, 50.0], iter(np.linspace(0.02, 0.9, 400))

    def add(pred: list[float]) -> None:
        preds = [{"boxes": [pred], "scores": [next(score)], "labels": [1]}]
        evaluator.update(preds, [{"boxes": [box], "labels": [1]}])

    for _ in range(64):
        add(box)
    add([10.0, 10.0, float("nan"), 50.0])
    with pytest.warns(vt.DataWarning, match="V111 1 of 1 boxes"):
        results = evaluator.compute()
    assert results.scores["AR1"].value == pytest.approx(64 / 65, rel=1e-14)


def test_what_became_of_boxes_is_kept_and_boxes_only_if_asked_for():
    box = {"boxes": [[0, 0, 9, 9]], "labels": [1]}
    short, long = vt.CocoEvaluator(checks="off"), vt.CocoEvaluator(checks="off", keep=True)
    for loop in (short, long):
        for _ in range(70):
            loop.update({**box, "scores": [0.5]}, box)
    assert len(short.waiting) == 6
    assert len(long.waiting) == 70
    with pytest.raises(vt.DataError, match=r"boxes and masks are not there any more.*CocoEvaluator\(keep=True\)"):
        short.compute().objects(0.5)
    with pytest.raises(vt.BadParameter, match=r"analyse: boxes and masks are not there.*CocoEvaluator\(keep=True\)"):
        short.compute().analyse()
    assert (long.compute().matches(0.5).matched_pred >= 0).sum() == 70
    assert sorted(short.compute().tables()) == ["classes", "thresholds"]
    documents = [json.loads(loop.compute().to_json()) for loop in (short, long)]
    assert documents[0]["classes"] == documents[1]["classes"]


@pytest.mark.parametrize("duplicates", ["error", "first"])
def test_an_image_that_comes_again_is_refused_or_left_out(duplicates: Any) -> None:
    better = {"boxes": [[0, 0, 9, 9]], "scores": [0.5], "labels": [1]}
    worse = {**better, "boxes": [[50, 50, 59, 59]]}
    one, two = (vt.CocoEvaluator(duplicates=duplicates, checks="off") for _ in range(2))
    one.update(better, {**TARGET, "image_id": 3})
    two.update([better, worse], [{**TARGET, "image_id": 4}, {**TARGET, "image_id": 3}])
    if duplicates == "error":
        with pytest.raises(vt.DataError, match="found 3 again; do several processes see the same image"):
            one.merge(two)
        with pytest.raises(vt.DataError, match="expected every image once, found image 3 in two of them"):
            one.gather(lambda own: [own, two.to_bytes()]).compute()
        return
    one.update(worse, {**TARGET, "image_id": 3})
    everything = one.gather(lambda own: [own, two.to_bytes()])
    one.merge(two)
    assert len(one) == 2
    assert [r.scores["AP"].value for r in (one.compute(), everything.compute())] == [pytest.approx(1)] * 2


def test_images_without_ids_are_numbered_on_when_evaluators_meet(tmp_path: Path) -> None:
    truth, results, items = batches(5)
    expected = values(whole(tmp_path, truth, results))
    for way in ("merge", "gather"):
        parts = [evaluator(truth) for _ in range(2)]
        for i, (pred, target) in enumerate(items):
            parts[i * 2 // len(items)].update(pred, {k: v for k, v in target.items() if k != "image_id"})
        if way == "merge":
            parts[0].merge(parts[1])
            found = parts[0]
        else:
            found = parts[0].gather(lambda own, parts=parts: [own, parts[1].to_bytes()])
        assert len(found) == len(items)
        assert np.array_equal(values(found.compute()), expected, equal_nan=True)
    named = evaluator(truth)
    named.update(*items[0])
    with pytest.raises(vt.BadParameter, match="image_id: expected one for every image or for none"):
        named.merge(parts[0])


def test_evaluators_copy_and_pickle_at_any_moment(tmp_path: Path) -> None:
    truth, results, items = batches(8)
    loop = evaluator(truth)
    for i, (pred, target) in enumerate(items):
        loop.update(pred, target)
        loop = copy.deepcopy(loop) if i % 2 else pickle.loads(pickle.dumps(loop))
        loop.compute()
    assert np.array_equal(values(loop.compute()), values(whole(tmp_path, truth, results)), equal_nan=True)
    again = pickle.loads(pickle.dumps(loop.compute()))
    assert np.array_equal(values(again), values(loop.compute()), equal_nan=True)


def test_classes_that_nobody_named_are_those_that_occur_in_any_image() -> None:
    loop = vt.CocoEvaluator(checks="off")
    for label in (7, 3, 7, 5):
        loop.update({**GOOD, "labels": [label]}, {**TARGET, "labels": [label]})
        loop.compute()
    assert loop.compute().class_names == ["3", "5", "7"]
    assert loop.compute().class_table().rows[2][-2:] == (2, 2)


def test_many_small_parts_become_few(tmp_path: Path) -> None:
    loop = vt.CocoEvaluator(checks="off")
    for _ in range(300):
        loop.update(GOOD, TARGET)
        loop.compute()  # asks for what is there now, so that every image is a part of its own
    assert len(loop.parts) < 3 * 16
    assert loop.compute().scores["AR1"].value == 1


def test_ignored_targets_that_count_are_named_once():
    found = {"boxes": [[0, 0, 10, 10]], "scores": [0.9], "labels": [1]}
    target = {"boxes": [[0, 0, 10, 10], [50, 50, 90, 90]], "labels": [1, 1], "ignore": [0, 1]}
    evaluator = vt.CocoEvaluator()
    with pytest.warns(vt.DataWarning, match='ignored="explicit"'):
        evaluator.update(found, target)
    evaluator.update(found, target)  # warnings are errors here
    explicit = vt.CocoEvaluator(ignored="explicit")
    explicit.update(found, target)
    assert explicit.compute()["AP"].value == pytest.approx(1)


def test_call_signatures_of_evaluators_list_the_settings_of_their_protocols():
    coco, semantic = (inspect.signature(one).parameters for one in (vt.CocoEvaluator, vt.SemanticEvaluator))
    assert {"layout", "labels", "keep", "duplicates", "on", "iou", "max_dets", "threads"} <= set(coco)
    assert (coco["checks"].default, coco["iou"].default) == (
        "warn",
        inspect.signature(vt.coco).parameters["iou"].default,
    )
    assert {"labels", "ignore"} <= set(semantic)
    assert "settings" not in {*coco, *semantic}


def test_results_are_computed_in_the_background_while_the_next_epoch_begins():
    box = {"boxes": [[0, 0, 10, 10]], "labels": [1]}
    evaluator = vt.CocoEvaluator(labels={1: "cat"}, checks="off")
    evaluator.update([box | {"scores": [0.9]}], [box])
    future = evaluator.compute_async(name="epoch 1")
    evaluator.reset()
    evaluator.update([{"boxes": [[50, 50, 60, 60]], "labels": [1], "scores": [0.9]}], [box])
    first, second = future.result(timeout=60), evaluator.compute_async().result(timeout=60)
    assert (first["AP"], second["AP"]) == (pytest.approx(1), 0)
    assert first.name == "epoch 1"


def test_training_goes_on_while_results_are_computed():
    """A thread that holds the global lock for longer than the switch interval keeps it, except in native code."""

    def count_turns(count):
        rng = np.random.default_rng(0)
        low = rng.uniform(0, 5000, (count, 2))
        boxes, labels = np.concatenate([low, low + 40], axis=1), np.ones(count, np.int64)
        evaluator = vt.CocoEvaluator(labels={1: "cat"}, checks="off", keep=True, max_dets=[count])
        pred = {"boxes": boxes + 1, "labels": labels, "scores": rng.random(count)}
        evaluator.update([pred], [{"boxes": boxes, "labels": labels}])
        future, turns = evaluator.compute_async(), 0
        while not future.done():
            time.sleep(0)
            turns += 1
        return turns

    count_turns(2)  # what is imported once
    before = sys.getswitchinterval()
    sys.setswitchinterval(100)
    try:
        # On a busy machine a thread that waits for a processor gives turns, too: hence so many boxes.
        tries = [(count_turns(2), count_turns(60_000)) for _ in range(3)]
    finally:
        sys.setswitchinterval(before)
    assert any(many > 100 + 2 * few for few, many in tries), tries


def test_what_is_wrong_is_raised_by_the_future():
    box = {"boxes": [[0, 0, 10, 10]], "labels": [1]}
    evaluator = vt.CocoEvaluator(checks="stop")
    evaluator.update([{"boxes": [[0, 0, np.nan, 10]], "labels": [1], "scores": [0.9]}], [box])
    with pytest.raises(vt.DataError):
        evaluator.compute_async().result(timeout=60)


def detr_target(boxes, **more):
    """A target of an image of 200 × 100 pixels that was resized to 400 × 200."""
    return {
        "boxes": np.array(boxes, np.float32),
        "orig_size": np.array([100, 200]),
        "size": np.array([200, 400]),
        **more,
    }


@pytest.mark.parametrize("key", ["class_labels", "labels"])
@pytest.mark.parametrize("layout", ["xyxy", "xywh", "cxcywh"])
def test_targets_of_detr_are_in_fractions_of_the_original_image(key, layout):
    evaluator = vt.CocoEvaluator(layout=layout, keep=True)
    # Centre (100, 50), size 80 × 40 in the original image; the area of the resized one is four times as large.
    target = detr_target([[0.5, 0.5, 0.4, 0.4]], area=np.array([4 * 3200.0]), iscrowd=np.array([0]), **{key: [3]})
    box = {"xyxy": [60.0, 30, 140, 70], "xywh": [60.0, 30, 80, 40], "cxcywh": [100.0, 50, 80, 40]}[layout]
    evaluator.update([{"boxes": [box], "scores": [0.9], "labels": [3]}], [target])
    results = evaluator.compute()
    assert results["AP"] == pytest.approx(1.0)
    assert results.truth.regions.boxes == pytest.approx(np.array([[60, 30, 140, 70]]), abs=1e-4)
    assert results.truth.area == pytest.approx([3200.0])
    assert (results.truth.images.widths[0], results.truth.images.heights[0]) == (200, 100)


def test_targets_in_pixels_beside_an_original_size_stay_in_pixels():
    with pytest.raises(vt.errors.BadParameter, match="orig_size"):  # a key that pixels do not need
        vt.CocoEvaluator().update(
            [{"boxes": [[0, 0, 9, 9]], "scores": [0.9], "labels": [1]}],
            [{"boxes": [[0, 0, 9, 9]], "labels": [1], "orig_size": [10, 10]}],
        )


@pytest.mark.parametrize(
    ("change", "what"), [({"orig_size": [100]}, "height and width"), ({"boxes": [[0.1, 0.2]]}, "shape")]
)
def test_wrong_targets_of_detr_are_named(change, what):
    target = detr_target([[0.5, 0.5, 0.4, 0.4]], class_labels=[1]) | change
    with pytest.raises(vt.errors.BadParameter, match=what):
        vt.CocoEvaluator().update([{"boxes": [[0, 0, 9, 9]], "scores": [0.9], "labels": [1]}], [target])
