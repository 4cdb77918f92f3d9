"""torchmetrics' metric under verite's name, without torch and beside it; and torchmetrics unchanged on verite."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.compat.beside import THEIRS, load, modules
from tests.oracles.coco_sets import random_set
from verite.compat.torchmetrics import MeanAveragePrecision
from verite.errors import BadParameter, DataWarning

with_torchmetrics = pytest.mark.skipif(
    not all(find_spec(name) for name in ("torch", "torchvision", "torchmetrics")),
    reason="torch, torchvision and torchmetrics are not installed: make clients",
)
NAMES = ["map", "map_50", "map_75", "map_small", "map_medium", "map_large",
         "mar_1", "mar_10", "mar_100", "mar_small", "mar_medium", "mar_large"]  # fmt: skip


def batches(seed: int) -> tuple[list[Any], list[Any], Any, Any]:
    """The images of a random set as a training loop has them, and as files have them."""
    truth, results = random_set(seed)
    preds, target = [], []
    for image in sorted(image["id"] for image in truth["images"]):
        mine = [record for record in results if record["image_id"] == image]
        asked = [record for record in truth["annotations"] if record["image_id"] == image]
        sides = [
            {"boxes": np.array([r["bbox"] for r in side], dtype=np.float64).reshape(-1, 4),
             "labels": np.array([r["category_id"] for r in side], dtype=np.int64)}
            for side in (mine, asked)
        ]  # fmt: skip
        preds.append(sides[0] | {"scores": np.array([r["score"] for r in mine], dtype=np.float64)})
        flags = {"iscrowd": np.array([r["iscrowd"] for r in asked], dtype=np.int64)}
        target.append(sides[1] | flags | {"area": np.array([r["area"] for r in asked], dtype=np.float64)})
    # An area of 0 reads as none given in torchmetrics.
    for record in truth["annotations"]:
        record["area"] = record["area"] if record["area"] > 0 else record["bbox"][2] * record["bbox"][3]
    truth["annotations"].sort(key=lambda r: r["image_id"])
    return preds, target, truth, results


def reference(truth: Any, results: Any, thresholds: list[float], recalls: list[float], classes: Any = None) -> Any:
    m = modules(THEIRS)
    with contextlib.redirect_stdout(io.StringIO()):
        gt = load(m.coco, truth)
        evaluation = m.cocoeval.COCOeval(gt, gt.loadRes([dict(record) for record in results]), "bbox")
        evaluation.params.iouThrs, evaluation.params.recThrs = np.array(thresholds), np.array(recalls)
        if classes is not None:
            evaluation.params.catIds = classes
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats


def test_numbers_are_pycocotools_ones_without_torch() -> None:
    pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
    for seed in (1, 2, 5, 8, 9):
        preds, target, truth, results = batches(seed)
        metric = MeanAveragePrecision(box_format="xywh", class_metrics=True)
        for i in range(0, len(preds), 2):
            metric.update(preds[i : i + 2], target[i : i + 2])
        found = metric.compute()
        expected = reference(truth, results, metric.iou_thresholds, metric.rec_thresholds)
        assert [float(found[name]) for name in NAMES] == expected.astype(np.float32).tolist()
        used = sorted({r["category_id"] for r in [*truth["annotations"], *results]})
        assert np.atleast_1d(found["classes"]).tolist() == used
        alone = [reference(truth, results, metric.iou_thresholds, metric.rec_thresholds, [one]) for one in used]
        for name, place in (("map_per_class", 0), ("mar_100_per_class", 8)):
            assert np.atleast_1d(found[name]).tolist() == [float(np.float32(stats[place])) for stats in alone]


def test_parts_that_are_merged_are_the_whole() -> None:
    preds, target, *_ = batches(5)
    first, second, whole = (MeanAveragePrecision(box_format="xywh", extended_summary=True) for _ in range(3))
    first.update(preds[:3], target[:3])
    second.update(preds[3:], target[3:])
    whole.update(preds, target)
    first.merge(second)
    assert np.asarray(first.compute()["precision"]).tobytes() == np.asarray(whole.compute()["precision"]).tobytes()
    first.reset()
    assert float(first.compute()["map"]) == -1
    assert float(whole(preds[:1], target[:1])["map"]) != float(whole.compute()["map"])


def test_masks_are_compared_as_pixels() -> None:
    pixels = np.zeros((1, 20, 20), dtype=bool)
    pixels[0, 2:12, 3:13] = True
    half = pixels.copy()
    half[0, :7] = False  # half of it: overlap 0.5, and every threshold above fails
    metric = MeanAveragePrecision(iou_type="segm")
    one = np.array([1])
    metric.update([{"masks": half, "scores": np.array([0.9]), "labels": one}], [{"masks": pixels, "labels": one}])
    found = metric.compute()
    assert float(found["map_50"]) == 1
    assert float(found["map_75"]) == 0
    assert float(found["map"]) == np.float32(0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: MeanAveragePrecision(box_format="yxyx"),
            "box_format: expected one of xyxy, xywh, cxcywh, found 'yxyx'",
        ),
        (lambda: MeanAveragePrecision(iou_type="cube"), "iou_type: expected one of bbox, segm"),
        (lambda: MeanAveragePrecision(max_detection_thresholds=[0, 2]), "expected whole numbers from 1 on, found"),
        (lambda: MeanAveragePrecision().update([{}], [{}]), r"preds\[0\]: expected a dictionary with 'boxes'"),
        (lambda: MeanAveragePrecision().update([{}], []), "update: expected as many targets as predictions"),
        (
            lambda: MeanAveragePrecision().update(
                [{"boxes": np.zeros((2, 4)), "labels": [1, 1], "scores": [0.5]}], [{"boxes": [], "labels": []}]
            ),
            r"preds\[0\]\['scores'\]: expected 2 as there are labels, found 1",
        ),
        (
            lambda: MeanAveragePrecision().update(
                [{"boxes": np.zeros((4, 3)), "labels": [1, 1, 1], "scores": [0.5] * 3}], [{"boxes": [], "labels": []}]
            ),
            r"preds\[0\]\['boxes'\]: expected shape \(n, 4\), found \(4, 3\)",
        ),
        (
            lambda: MeanAveragePrecision(iou_type="segm").update(
                [{"masks": np.full((1, 4, 4), 0.3), "labels": [1], "scores": [0.5]}], [{"masks": [], "labels": []}]
            ),
            "masks: expected truth values, found probabilities or NaN; threshold them",
        ),
        (
            lambda: MeanAveragePrecision().update(
                [{"boxes": 0.5, "labels": [1], "scores": [0.5]}], [{"boxes": [[0, 0, 9, 9]], "labels": [1]}]
            ),
            r"preds\[0\]\['boxes'\]: expected shape \(n, 4\), found \(\)",
        ),
        *(
            (
                lambda label=label: MeanAveragePrecision().update(
                    [{"boxes": [[0, 0, 9, 9]], "labels": [label], "scores": [0.5]}],
                    [{"boxes": [[0, 0, 9, 9]], "labels": [1]}],
                ),
                rf"preds\[0\]\['labels'\]: expected integers.*{label}",
            )
            for label in (1.7, float("nan"))
        ),
    ],
    ids=["layout", "kind", "limits", "keys", "lengths", "scores", "boxes", "masks", "number", "fractions", "nan"],
)
def test_what_cannot_be_is_refused_at_once(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("change", [{"boxes": np.array([[0, 0, np.nan, 10]])}, {"scores": np.array([np.nan])}])
def test_what_is_not_a_number_is_said(change: dict[str, Any]) -> None:
    """A network that diverged: pycocotools gives its boxes an AP of 1."""
    truth = {"boxes": np.array([[0.0, 0, 10, 10]]), "labels": np.array([1])}
    (key,) = change
    with pytest.warns(DataWarning, match=rf"preds\[0\]\['{key}'\] has NaN or infinity"):
        MeanAveragePrecision().update([truth | {"scores": np.array([0.5])} | change], [truth])


def test_more_predictions_than_count_are_said() -> None:
    many = {"boxes": np.ones((4, 4)), "labels": np.ones(4, dtype=int), "scores": np.ones(4)}
    none = {"boxes": np.zeros((0, 4)), "labels": np.zeros(0, dtype=int)}
    metric = MeanAveragePrecision(max_detection_thresholds=[1, 2, 3])
    with pytest.warns(UserWarning, match="Encountered more than 3 detections"):
        metric.update([many], [none])
    metric.warn_on_many_detections = False
    metric.update([many], [none])


def run_beside(*words: str) -> str:
    command = [sys.executable, "-m", "tests.compat.torchmetrics_beside", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@with_torchmetrics
def test_ours_is_theirs_to_the_last_bit() -> None:
    assert run_beside("compare", "30") == "the same 30\n"


@with_torchmetrics
def test_processes_exchange_what_they_collected(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.compat.torchmetrics_beside", "synchronise"]
    started = [
        subprocess.Popen([*command, str(rank), str(tmp_path / "rendezvous")], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    assert [one.communicate(timeout=600)[0] for one in started] == ["synchronised 0\n", "synchronised 1\n"]


@with_torchmetrics
def test_torchmetrics_gives_identical_results_on_verite() -> None:
    answers = []
    for backend in ("pycocotools", "verite"):
        *lines, module = run_beside(backend).splitlines()
        assert ("verite" in module) == (backend == "verite"), module
        answers.append(lines)
    assert len(answers[0]) > 30
    assert answers[0] == answers[1]


def done_by_reference(batch: tuple[list[Any], list[Any], Any, Any], **settings: Any) -> Any:
    """pycocotools' evaluator after three calls, on the files of a batch."""
    *_, truth, results = batch
    theirs = modules(THEIRS)
    with contextlib.redirect_stdout(io.StringIO()):
        gt = load(theirs.coco, truth)
        done = theirs.cocoeval.COCOeval(gt, gt.loadRes(results), "bbox")
        for name, value in settings.items():
            setattr(done.params, name, value)
        done.evaluate()
        done.accumulate()
    return done


def present_mean(values: Any) -> float:
    return float(values[values > -1].mean()) if (values > -1).any() else -1.0


@pytest.mark.parametrize("seed", range(4))
def test_any_limits_and_area_ranges(seed: int) -> None:
    pytest.importorskip("pycocotools")
    batch = batches(seed)
    areas = {"tiny": (0, 300), "rest": (300, 1e10)}
    metric = MeanAveragePrecision(
        box_format="xywh", max_detection_thresholds=[2, 7], areas=areas, extra="sizes",
        iou_thresholds=np.linspace(0.5, 0.95, 10).tolist(), rec_thresholds=np.linspace(0, 1, 101).tolist(),
    )  # fmt: skip
    metric.warn_on_many_detections = False
    metric.update(*batch[:2])
    found = metric.compute()
    done = done_by_reference(batch, maxDets=[2, 7], areaRng=[[0, 1e10], *map(list, areas.values())])
    precision, recall = done.eval["precision"], done.eval["recall"]
    used = [done.params.catIds.index(one) for one in found["classes"].reshape(-1).tolist()]
    assert float(found["map"]) == np.float32(present_mean(precision[..., 0, 1]))
    assert float(found["mar_2"]) == np.float32(present_mean(recall[..., 0, 0]))
    for a, name in enumerate(areas, 1):
        assert float(found[f"map_{name}"]) == np.float32(present_mean(precision[..., a, 1]))
        by_class = [np.float32(present_mean(precision[:, :, k, a, 1])) for k in used]
        assert found[f"map_{name}_per_class"].reshape(-1).tolist() == by_class


def test_a_limit_other_than_100_gives_minus_1_only_as_pycocotools_does() -> None:
    box = {"boxes": np.array([[0.0, 0, 10, 10]]), "labels": np.array([3])}
    for backend, expected in (("verite", 1.0), ("pycocotools", -1.0)):
        metric = MeanAveragePrecision(max_detection_thresholds=[1, 10, 300], backend=backend)
        metric.update([box | {"scores": np.array([0.9])}], [box])
        assert float(metric.compute()["map"]) == expected


def test_both_kinds_are_micro_averages() -> None:
    """Two classes taken for each other: micro 1, macro 0. torchmetrics forgets to be micro for the second kind."""
    masks = np.zeros((2, 20, 40), dtype=bool)
    masks[0, :10, :10] = masks[1, :10, 20:30] = True
    shape = {"boxes": np.array([[0.0, 0, 10, 10], [20, 0, 30, 10]]), "masks": masks}
    preds = [shape | {"scores": np.array([0.9, 0.8]), "labels": np.array([1, 2])}]
    target = [shape | {"labels": np.array([2, 1])}]
    for average, expected in (("micro", 1), ("macro", 0)):
        metric = MeanAveragePrecision(iou_type=("bbox", "segm"), average=average, class_metrics=True)
        metric.update(preds, target)
        found = metric.compute()
        assert float(found["bbox_map"]) == expected
        assert float(found["segm_map"]) == expected


def test_optimal_lrp_by_hand() -> None:
    """One match with an IoU of 0.8, one false positive below it, one missed: (0.2 / 0.5 + 0 + 1) / 2 at the best."""
    truth = {"boxes": np.array([[0.0, 0, 10, 10], [50, 50, 60, 60]]), "labels": np.array([1, 1])}
    pred = {"boxes": np.array([[0.0, 0, 10, 8], [80, 80, 90, 90]]), "labels": np.array([1, 1])}
    metric = MeanAveragePrecision(extra=("lrp", "confusion"))
    metric.update([pred | {"scores": np.array([0.9, 0.3])}], [truth])
    found = metric.compute()
    assert float(found["lrp"]) == pytest.approx((0.2 / 0.5 + 1) / 2)
    assert [float(found[f"lrp_{name}"]) for name in ("loc", "fp", "fn")] == pytest.approx([0.2, 0, 0.5])
    assert found["confusion"].tolist() == [[1, 1], [0, 0]]
    assert float(found["confusion_confidence"]) == pytest.approx(0.9)


def test_keypoints_by_hand() -> None:
    """All points off by d: OKS = exp(-d² / (2 · area · (2 · sigma)²)), here just below 0.8 and so right up to 0.75."""
    truth = np.tile([10.0, 10, 2], (1, 2, 1))
    area, sigma = 5000.0, 0.1
    shift = np.sqrt(-2 * area * (2 * sigma) ** 2 * np.log(0.79))
    metric = MeanAveragePrecision(iou_type="keypoints", sigmas=[sigma, sigma])
    pred = truth + np.array([shift, 0, 0])
    metric.update(
        [{"keypoints": pred, "labels": [1], "scores": [0.9]}],
        [{"keypoints": truth, "labels": [1], "area": [area]}],
    )
    found = metric.compute()
    assert [float(found[key]) for key in ("map", "map_50", "map_75", "mar_20")] == pytest.approx([0.6, 1, 1, 0.6])
    assert float(found["map_large"]) == -1
    with pytest.raises(ValueError, match=r"keypoints'\]: expected shape \(1, 2, 3\)"):
        metric.update(
            [{"keypoints": np.zeros((1, 3, 3)), "labels": [1], "scores": [0.9]}], [{"keypoints": truth, "labels": [1]}]
        )


def test_rotated_boxes_by_hand() -> None:
    """A bar of 20 × 10 turned by 90 degrees shares 10 × 10 with itself upright: IoU 100 / 300."""
    truth = {"boxes": np.array([[50.0, 50, 20, 10, 0]]), "labels": [1]}
    for angle, unit in ((90.0, "degrees"), (np.pi / 2, "radians")):
        metric = MeanAveragePrecision(iou_type="rotated", angle=unit, iou_thresholds=[0.3, 0.5])
        turned = {"boxes": np.array([[50.0, 50, 20, 10, angle]]), "labels": [1], "scores": [0.9]}
        metric.update([turned], [truth])
        found = metric.compute()
        assert (float(found["map"]), float(found["map_50"]), float(found["mar_100"])) == (0.5, 0.0, 0.5)
        assert float(found["map_small"]) == 0.5


def test_boundaries_by_hand() -> None:
    """In 100 × 100 pixels boundaries are 3 wide: of squares of 40 and, inside, of 38 pixels."""
    masks = np.zeros((2, 1, 100, 100), dtype=np.bool_)
    masks[0, :, 30:70, 30:70], masks[1, :, 31:69, 31:69] = True, True
    rims = [40**2 - 34**2, 38**2 - 32**2]
    shared = 38**2 - 34**2  # the outer 2 of the inner rim lie in the outer one
    iou = shared / (sum(rims) - shared)
    for threshold, expected in ((iou - 1e-9, 1.0), (iou + 1e-9, 0.0)):
        metric = MeanAveragePrecision(iou_type="boundary", iou_thresholds=[threshold], extended_summary=True)
        metric.update([{"masks": masks[1], "labels": [1], "scores": [0.9]}], [{"masks": masks[0], "labels": [1]}])
        found = metric.compute()
        assert float(found["map"]) == expected
        assert np.asarray(found["ious"][0, 1]).ravel() == pytest.approx(iou, rel=1e-6)


@pytest.mark.parametrize("key", ["boxes", "labels", "area", "iscrowd"])
def test_arrays_that_are_not_of_numbers_are_refused(key: str) -> None:
    good = {
        "boxes": np.array([[0.0, 0, 9, 9]]),
        "labels": np.array([1]),
        "area": np.ones(1),
        "iscrowd": np.zeros(1, int),
    }
    pred = {"boxes": good["boxes"], "labels": good["labels"], "scores": np.array([0.5])}
    with pytest.raises(BadParameter, match=rf"target\[0\]\['{key}'\]: expected an array of numbers, found"):
        MeanAveragePrecision().update([pred], [{**good, key: np.array([10**400], dtype=object)}])
