"""Keypoints by COCO's rules: pycocotools' ten numbers to the last bit, sigmas, and what else a pose may be."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from math import exp
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.coco_reference import reference
from tests.oracles.coco_sets import random_pose_set
from tests.protocols.test_coco_reference import assert_same_bits, read
from verite.errors import BadParameter, DataError, ReadError
from verite.model.keypoints import SIGMAS, Keypoints
from verite.protocols.coco import CocoSettings

pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
SETS, BLOCK = 1250, 50  # at least 41 of a block are compared, so more than 1,000 in all
TEN = ["AP", "AP50", "AP75", "APm", "APl", "AR", "AR50", "AR75", "ARm", "ARl"]


def one_pose(truth: list[float], pred: list[float], **facts: Any) -> tuple[Any, Any]:
    """A truth of one object and results of one prediction."""
    labelled = sum(v > 0 for v in truth[2::3])
    box = {"bbox": [0, 0, 100, 100], "area": 10_000.0, "iscrowd": 0, "num_keypoints": labelled}
    return (
        {
            "images": [{"id": 1, "file_name": "1.jpg", "width": 200, "height": 200}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "keypoints": truth, **box, **facts}],
            "categories": [{"id": 1, "name": "person"}],
        },
        [{"image_id": 1, "category_id": 1, "keypoints": pred, "score": 0.9}],
    )


def overlap_of(truth: Any, results: Any, **settings: Any) -> float:
    found = vt.read(truth)
    settings = {"checks": "off", "iou": [1e-6], **settings}
    return float(
        vt.coco(found, vt.read(results, like=found), on="keypoints", **settings).evaluation.outcomes().overlap[0]
    )


@pytest.mark.parametrize("first", range(0, SETS, BLOCK))
def test_random_poses_have_the_reference_bits(tmp_path: Path, first: int, many: Callable[[int], int]) -> None:
    compared, last = 0, first + many(BLOCK)
    for seed in range(first, last):
        truth, results = random_pose_set(seed)
        if not results:
            continue  # the reference crashes on no results at all
        expected = reference(truth, results, "keypoints")
        try:
            for quirks in ("none", "pycocotools"):
                found = vt.coco(*read(tmp_path, truth, results), on="keypoints", quirks=quirks, checks="off")
                assert list(found.scores) == TEN
                assert_same_bits(found, expected)
        except AssertionError as error:
            raise AssertionError(f"set {seed}: {error}") from error
        compared += 1
    assert compared > 0.8 * (last - first)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_similarities_are_the_reference_s_but_for_the_last_bits_of_exp(tmp_path: Path, first: int) -> None:
    # numpy 1.26's exp is off by up to 1.4 units in the last place, the C library's by .5: terms differ by two, at most
    # 2⁻⁵¹ of each. So does their mean, which is then rounded.
    compared = 0
    for seed in range(first, first + 20):
        truth, results = random_pose_set(seed)
        if not results:
            continue
        expected = reference(truth, results, "keypoints")
        ours, theirs = paired_overlaps(tmp_path, truth, results, expected)
        assert (np.abs(ours - theirs) <= 3 * 2**-52 * theirs).all()
        compared += len(ours)
    assert compared > 500


def paired_overlaps(tmp_path: Path, truth: Any, results: Any, expected: Any) -> tuple[Any, Any]:
    """Of all pairs that have something in common, what we say and what the reference says."""
    found = vt.coco(*read(tmp_path, truth, results), on="keypoints", checks="off", iou=[1e-300])
    layout, gt, dt = found.evaluation.layout, found.truth, found.pred
    offsets, slots, overlaps = layout.candidates
    values = []
    for pred_slot, row in enumerate(layout.preds[0].tolist()):
        image, label = int(gt.images.ids[dt.image[row]]), int(gt.labels.ids[dt.label[row]])
        theirs = expected.ious[image, label]
        group = [g["id"] for g in expected._gts[image, label]]
        for pair in range(offsets[pred_slot], offsets[pred_slot + 1]):
            at = group.index(int(gt.ids[layout.truths[0][slots[pair]]]))
            values.append(theirs[layout.ranks[pred_slot], at])
    return overlaps, np.array(values)


def with_library_exp(monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy has an exp of its own where there is AVX-512; elsewhere, and from now on, it is the C library's."""
    import pycocotools.cocoeval as module

    library = SimpleNamespace(**vars(np))
    library.exp = lambda values: np.array([exp(value) for value in np.ravel(values)]).reshape(np.shape(values))
    monkeypatch.setattr(module, "np", library)


@pytest.mark.thorough
def test_similarities_are_the_reference_s_bits_where_numpy_s_exp_is_the_library_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_library_exp(monkeypatch)
    compared = 0
    for seed in range(100):
        truth, results = random_pose_set(seed)
        if not results:
            continue
        expected = reference(truth, results, "keypoints")
        ours, theirs = paired_overlaps(tmp_path, truth, results, expected)
        assert (ours == theirs).all()
        compared += len(ours)
    assert compared > 2500


def test_other_sigmas_give_the_reference_s_numbers(tmp_path: Path, many: Callable[[int], int]) -> None:
    for seed in range(many(40)):
        count = 14 if seed % 2 else 5
        sigmas = SIGMAS["crowdpose"] if count == 14 else (0.05, 0.1, 0.02, 0.07, 0.1)
        truth, results = random_pose_set(seed, count)
        if not results:
            continue
        expected = reference(truth, results, "keypoints", kpt_oks_sigmas=np.array(sigmas))
        given = None if count == 14 else sigmas
        assert_same_bits(vt.coco(*read(tmp_path, truth, results), on="keypoints", sigmas=given, checks="off"), expected)


def test_crowdpose_has_areas_of_0_53_of_the_box(tmp_path: Path, many: Callable[[int], int]) -> None:
    # crowdpose-api is pycocotools with 0.53 · height · width for the area of a ground-truth object, whatever is stated.
    for seed in range(many(20)):
        truth, results = random_pose_set(seed, 14)
        if not results:
            continue
        official, silent = json.loads(json.dumps(truth)), json.loads(json.dumps(truth))
        for one, other in zip(official["annotations"], silent["annotations"], strict=True):
            one["area"] = one["bbox"][3] * one["bbox"][2] * 0.53
            del other["area"]
        expected = reference(official, results, "keypoints", kpt_oks_sigmas=np.array(SIGMAS["crowdpose"]))
        recognised = vt.coco(*read(tmp_path, silent, results), on="keypoints", checks="off")
        assert_same_bits(recognised, expected)
        asked = vt.coco(*read(tmp_path, truth, results), on="keypoints", sigmas="crowdpose", checks="off")
        assert_same_bits(asked, expected)
        assert "area_from:pose" in str(asked.signature)


def test_a_crowdpose_point_off_by_one_spread_counts_exp_of_minus_a_half() -> None:
    # Box 100 × 100, area 5300: dx = 2 · 0.079 · √5300 = 11.50 of the first point (σ 0.079), thirteen others exact.
    points = [value for i in range(14) for value in (10.0 * i, 50.0, 2)]
    moved = [points[0] + 2 * 0.079 * 5300**0.5, *points[1:]]
    truth, results = one_pose(points, moved)
    assert overlap_of(truth, results, sigmas="crowdpose") == pytest.approx((exp(-0.5) + 13) / 14, abs=1e-15)
    # The file's area, 10,000, where it is asked for.
    by_file = overlap_of(truth, results, sigmas="crowdpose", area_from="file")
    assert by_file == pytest.approx((exp(-0.5 * 0.53) + 13) / 14, abs=1e-15)


def test_a_point_off_by_twice_sigma_times_the_root_of_the_area_counts_exp_of_minus_a_half() -> None:
    # dx = 2 · 0.05 · √10000 = 10: e = 10² / (2 · 0.05)² / 10000 / 2 = 1/2; the second point is exact, the third is not
    # labelled.
    truth, results = one_pose([10, 10, 2, 50, 50, 1, 0, 0, 0], [20, 10, 1, 50, 50, 1, 99, 99, 1])
    assert overlap_of(truth, results, sigmas=[0.05, 0.1, 0.1]) == pytest.approx((exp(-0.5) + 1) / 2, abs=1e-15)


def test_without_a_labelled_point_predictions_within_twice_the_box_fit() -> None:
    # The box of 100 × 100 doubled reaches from -100 to 200: the second point is 10 outside, e = 1/2 as above.
    truth, results = one_pose([0, 0, 0, 0, 0, 0], [150, -50, 1, 210, 0, 1], num_keypoints=2)
    assert overlap_of(truth, results, sigmas=[0.05, 0.05]) == pytest.approx((1 + exp(-0.5)) / 2, abs=1e-15)


def test_a_truth_without_a_labelled_point_neither_rewards_nor_punishes() -> None:
    truth, results = one_pose([0.0] * 51, [1.0] * 51)
    found = vt.coco(vt.read(truth), vt.read(results, like=vt.read(truth)), on="keypoints", checks="off")
    assert found.evaluation.counts == ([0], [1])
    assert np.isnan(found.scores["AP"].value)


def test_sigmas_come_from_the_option_the_truth_or_a_known_skeleton(tmp_path: Path) -> None:
    truth, results = one_pose([10, 10, 2], [20, 10, 1])
    with pytest.raises(DataError, match=r"class 'person': expected sigmas, or 17 keypoints .* give sigmas=FILE"):
        overlap_of(truth, results)
    file = tmp_path / "sigmas.txt"
    file.write_text("[0.05]\n")
    assert overlap_of(truth, results, sigmas=file) == pytest.approx(exp(-0.5))
    truth["categories"][0] |= {"keypoints": ["nose"], "sigmas": [0.05]}
    assert overlap_of(truth, results) == pytest.approx(exp(-0.5))
    found = vt.coco(vt.read(truth), vt.read(results, like=vt.read(truth)), on="keypoints", checks="off")
    assert "|sigmas:0.05|" in str(found.signature)
    for odd, message in (([], "number above 0"), ([0.1, -1], "number above 0"), ("cocco", "did you mean 'coco'")):
        with pytest.raises(BadParameter, match=message):
            overlap_of(truth, results, sigmas=odd)
    with pytest.raises(DataError, match=r"expected 17 keypoints, as there are sigmas, found 1 in image '1.jpg'"):
        overlap_of(truth, results, sigmas="coco")


def test_classes_may_have_skeletons_of_their_own() -> None:
    truth, results = one_pose([10, 10, 2], [20, 10, 1])
    second, more = one_pose([10, 10, 2, 50, 50, 2], [10, 10, 2, 60, 50, 2])
    truth["categories"] = [
        {"id": 1, "name": "cat", "keypoints": ["nose"], "sigmas": [0.05]},
        {"id": 2, "name": "dog", "keypoints": ["nose", "tail"], "sigmas": [0.1, 0.05]},
    ]
    truth["annotations"] += [second["annotations"][0] | {"id": 2, "category_id": 2}]
    results += [more[0] | {"category_id": 2}]
    found = vt.coco(vt.read(truth), vt.read(results, like=vt.read(truth)), on="keypoints", checks="off", iou=[1e-6])
    assert found.evaluation.outcomes().overlap == pytest.approx([exp(-0.5), (1 + exp(-0.5)) / 2])
    assert "|sigmas:truth|" in str(found.signature)


def test_poses_of_different_skeletons_have_nothing_in_common_where_classes_are_one() -> None:
    truth, results = one_pose([10, 10, 2], [10, 10, 1])
    second, more = one_pose([10, 10, 2, 50, 50, 2], [10, 10, 2, 50, 50, 2])
    truth["categories"] = [
        {"id": 1, "name": "cat", "keypoints": ["nose"], "sigmas": [0.05]},
        {"id": 2, "name": "dog", "keypoints": ["nose", "tail"], "sigmas": [0.1, 0.05]},
    ]
    truth["annotations"] += [second["annotations"][0] | {"id": 2, "category_id": 2}]
    results = [more[0] | {"category_id": 2}, *results]
    sides = vt.read(truth), vt.read(results, like=vt.read(truth))
    found = vt.coco(*sides, on="keypoints", checks="off", iou=[1e-6], class_agnostic=True)
    assert found.evaluation.layout.candidates[2].tolist() == [1.0, 1.0]  # of four pairs those of one skeleton
    assert found.evaluation.outcomes().truth.tolist() == [1, 0]


def test_files_without_keypoints_are_sent_elsewhere() -> None:
    truth, results = one_pose([10, 10, 2], [20, 10, 1])
    del truth["annotations"][0]["keypoints"]
    with pytest.raises(DataError, match=r'expected keypoints, found none; evaluate boxes with on="box"'):
        overlap_of(truth, results, sigmas=[0.05])
    truth, results = one_pose([10, 10, 2], [20, 10, 1])
    results[0] |= {"bbox": [0, 0, 1, 1]}
    del results[0]["keypoints"]
    with pytest.raises(DataError, match="expected keypoints, found none"):
        overlap_of(truth, results, sigmas=[0.05])


def test_keypoints_that_are_no_threes_are_refused_with_their_place(tmp_path: Path) -> None:
    truth, _ = one_pose([10, 10, 2, 5], [20, 10, 1])
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(truth))
    with pytest.raises(ReadError, match=r"annotations\[0\].keypoints: expected x, y and visibility .* 4 numbers"):
        vt.read(path)


def test_numbers_of_every_spelling_are_read_as_python_reads_them(tmp_path: Path) -> None:
    # Numbers of up to eight characters before a comma are read another way than longer ones and the last of a list.
    rng = np.random.default_rng(0)
    spellings = ["0", "7", "12345678", "123456789", "0.0", "0.1", "0.123456", "0.1234567", "1234.567", "123456.7",
                 "-0", "-1.5", "-1234.56", "1e3", "2.5E-1", "1.7976931348623157e308", "100.0", "0.30000000000000004",
                 "NaN", "-Infinity"]  # fmt: skip
    spellings += [f"{value:.{places}f}" for places in range(8) for value in 10.0 ** rng.uniform(-3, 6, 100)]
    for separator in (",", ", ", " ,\n "):
        records = []
        for _ in range(200):
            numbers = separator.join(rng.choice(spellings, 3 * int(rng.integers(1, 20))).tolist())
            records.append(f'{{"image_id": 1,"category_id": 1,"keypoints": [{numbers}],"bbox": [0,0,1,1],"score": 1}}')
        text = f"[{','.join(records)}]"
        (tmp_path / "found.json").write_text(text)
        keypoints = vt.read(tmp_path / "found.json").regions.keypoints
        assert keypoints is not None
        for row, record in enumerate(json.loads(text)):
            np.testing.assert_array_equal(keypoints[row].ravel(), record["keypoints"])


@pytest.mark.parametrize("odd", ["01", "1.", ".5", "1..5", "1.2.3", "-", "1-2", "+1", "1 2", "0x1", "1,", "é"])
def test_what_is_no_number_among_keypoints_is_refused(tmp_path: Path, odd: str) -> None:
    text = f'[{{"image_id": 1,"category_id": 1,"keypoints": [1,{odd},2,3,4,5],"bbox": [0,0,1,1],"score": 1}}]'
    (tmp_path / "found.json").write_text(text)
    with pytest.raises(ReadError):
        vt.read(tmp_path / "found.json")


def test_a_file_with_keypoints_survives_writing_reading_and_pickling(tmp_path: Path) -> None:
    truth, results = random_pose_set(3)
    truth["categories"][0] |= {
        "keypoints": [f"p{i}" for i in range(17)],
        "skeleton": [[1, 2], [2, 3]],
        "sigmas": [0.1] * 17,
    }
    first = vt.read(truth)
    vt.write(first, tmp_path / "again.json", "coco")
    second = vt.read(tmp_path / "again.json")
    assert first.digest == second.digest == pickle.loads(pickle.dumps(first)).digest
    written = json.loads((tmp_path / "again.json").read_text())
    assert written["annotations"][0]["num_keypoints"] == truth["annotations"][0]["num_keypoints"]
    assert written["categories"][0]["skeleton"] == [[1, 2], [2, 3]]
    assert first.where(first.label == 0).regions.keypoints is not None
    predicted = vt.read(results, like=first)
    vt.write(predicted, tmp_path / "results.json", "coco-results")
    assert vt.read(tmp_path / "results.json", like=first).regions.keypoints is not None


def test_arrays_dictionaries_tables_and_the_training_loop_agree_with_files(tmp_path: Path) -> None:
    truth, results = random_pose_set(11)
    expected = [s.value for s in vt.coco(*read(tmp_path, truth, results), on="keypoints", checks="off").scores.values()]
    labels = {c["id"]: c["name"] for c in truth["categories"]}
    loop = vt.CocoEvaluator(labels=labels, layout="xywh", on="keypoints", checks="off")
    for image in truth["images"]:
        mine = [a for a in truth["annotations"] if a["image_id"] == image["id"]]
        theirs = [r for r in results if r["image_id"] == image["id"]]
        pose = {"keypoints": np.array([r["keypoints"] for r in theirs]).reshape(-1, 17, 3)}
        target = {
            "boxes": [a["bbox"] for a in mine],
            "keypoints": np.array([a["keypoints"] for a in mine]).reshape(-1, 17, 3),
            "labels": [a["category_id"] for a in mine],
            "area": [a["area"] for a in mine],
            "iscrowd": [a["iscrowd"] for a in mine],
            "image_id": image["id"],
        }
        scores = {"scores": [r["score"] for r in theirs], "labels": [r["category_id"] for r in theirs]}
        loop.update([pose | scores], [target])
    # num_keypoints is not said here: sets in which it is wrong differ.
    for record in truth["annotations"]:
        record["num_keypoints"] = sum(v > 0 for v in record["keypoints"][2::3])
    expected = [s.value for s in vt.coco(*read(tmp_path, truth, results), on="keypoints", checks="off").scores.values()]
    assert np.array_equal([s.value for s in loop.compute().scores.values()], expected, equal_nan=True)


def test_weights_changes_and_parts_work_for_keypoints_as_for_boxes(tmp_path: Path) -> None:
    truth, results = random_pose_set(21)
    sides = read(tmp_path, truth, results)
    kept = vt.coco(*sides, on="keypoints", checks="off").evaluation
    assert kept.weighted(np.ones(len(truth["images"]))).mean("precision", None, 0, 0) == kept.mean(
        "precision", None, 0, 0
    )
    gone = [0, 2]
    rest = [row for row in range(len(sides[0])) if row not in gone]
    without = vt.coco(sides[0].take(rest), sides[1], on="keypoints", checks="off", sigmas="coco").evaluation
    assert kept.changed(gone).mean("precision", None, 0, 0) == without.mean("precision", None, 0, 0)
    back = without.changed(added=sides[0].take(gone))
    assert back.mean("recall", None, 0, 0) == kept.mean("recall", None, 0, 0)
    assert kept.part().numbers().mean("precision", None, 0, 0) == kept.mean("precision", None, 0, 0)


def test_poses_stand_in_tables_of_other_programs() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    truth, results = random_pose_set(3)
    first = vt.read(truth)
    pred = vt.read(results, like=first)
    points = [record["keypoints"] for record in results]
    assert [list(row) for row in pred.to_pandas()["keypoints"]] == points
    assert pred.to_arrow()["keypoints"].to_pylist() == points
    for table in (pred.to_pandas(), pred.to_arrow()):
        again = vt.read(table, like=first).regions.keypoints
        assert again is not None
        assert again.points.ravel().tolist() == [value for row in points for value in row]


def test_points_without_a_visibility_are_visible() -> None:
    assert Keypoints.of([[[1, 2], [3, 4]], None]).points.tolist() == [[1, 2, 2], [3, 4, 2]]
    assert Keypoints.of([[[1, 2], [3, 4]], None]).labelled.tolist() == [2, 0]


def test_what_other_tools_call_keypoints_has_the_defaults_of_keypoints():
    # COCO's keypoints: 20 predictions of an image, no small areas; Ultralytics calls the task "pose".
    assert CocoSettings(on="pose") == CocoSettings(on="keypoints")
    assert CocoSettings(on="pose").max_dets == (20,)
    assert [name for name, *_ in CocoSettings(on="pose").areas] == ["all", "medium", "large"]
