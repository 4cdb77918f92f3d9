"""verite under the name of faster-coco-eval, beside the original: arrays, names, marks, curves, confusion."""

from __future__ import annotations

import copy
import inspect
import sys
from typing import Any

import numpy as np
import pytest

from tests.oracles.coco_sets import random_mask_set, random_pose_set, random_set
from verite.compat import faster_coco_eval as ours
from verite.compat import install_as_faster_coco_eval
from verite.errors import BadParameter

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # random sets are odd on purpose

theirs = pytest.importorskip("faster_coco_eval", reason="needs faster-coco-eval, the reference")

MAKERS = {"bbox": random_set, "segm": random_mask_set, "boundary": random_mask_set, "keypoints": random_pose_set}


def run(package: Any, truth: Any, results: Any, kind: str, params: dict[str, Any] | None = None, **named: Any) -> Any:
    """The evaluator after its three calls, and what it printed."""
    lines: list[str] = []
    named.setdefault("print_function", lambda *words: lines.append(" ".join(map(str, words))))
    gt = package.COCO(copy.deepcopy(truth))
    evaluator = package.COCOeval_faster(gt, gt.loadRes(copy.deepcopy(results)), kind, **named)
    for name, value in (params or {}).items():
        setattr(evaluator.params, name, value)
    evaluator.run()
    evaluator.lines = [line for line in lines if line.startswith(" Average")]
    return evaluator


def both(*data: Any, **named: Any) -> tuple[Any, Any]:
    mine, other = run(ours, *data, **copy.deepcopy(named)), run(theirs, *data, **copy.deepcopy(named))
    for key in ("precision", "recall", "scores"):
        np.testing.assert_array_equal(mine.eval[key], np.asarray(other.eval[key]))
    # The mean IoU is summed in the order of a hash table there.
    assert mine.stats_as_dict.get("mIoU") == pytest.approx(other.stats_as_dict.get("mIoU"), abs=1e-12)
    names = [name for name in other.stats_as_dict if name != "mIoU"]
    assert [name for name in mine.stats_as_dict if name != "mIoU"] == names
    assert [mine.stats_as_dict[name] for name in names] == [other.stats_as_dict[name] for name in names]
    assert mine.lines == other.lines
    return mine, other


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", range(6))
def test_arrays_and_names_of_numbers_are_equal_to_the_last_bit(kind: str, seed: int) -> None:
    truth, results = MAKERS[kind](seed)
    mine, other = both(truth, results, kind)
    assert mine.stats.tolist() == other.stats.tolist()


@pytest.mark.parametrize("seed", range(6))
def test_own_ranges_and_limits(seed: int) -> None:
    truth, results = random_set(seed)
    ranges = {"tiny": [0, 200], "rest": [200, 1e10]}
    mine, _ = both(truth, results, "bbox", ranges=ranges, params={"maxDets": [2, 5, 7, 9]})
    assert {"AP_tiny", "AR_rest", "AR_7", "AR_9"} <= set(mine.stats_as_dict)


@pytest.mark.parametrize("seed", range(6))
def test_marks_of_matches_mean_iou_and_area_under_the_curve(seed: int) -> None:
    truth, results = random_set(seed)
    mine, other = both(truth, results, "bbox", extra_calc=True)
    assert mine.eval["matched"] == pytest.approx(other.eval["matched"], abs=0)
    for side in ("cocoGt", "cocoDt"):
        marks = [
            {
                key: {name: one.get(name) for name in ("tp", "fp", "fn", "iou")}
                for key, one in getattr(e, side).anns.items()
            }
            for e in (mine, other)
        ]
        assert marks[0] == marks[1]


@pytest.mark.parametrize("seed", range(6))
def test_extended_metrics(seed: int) -> None:
    truth, results = random_set(seed)
    mine, other = both(truth, results, "bbox")
    assert mine.extended_metrics == other.extended_metrics


@pytest.mark.parametrize("kind", ["bbox", "segm"])
@pytest.mark.parametrize("seed", range(4))
def test_lvis_style(kind: str, seed: int) -> None:
    truth, results = MAKERS[kind](seed)
    rng = np.random.default_rng(seed)
    ids = [one["id"] for one in truth["categories"]]
    for one in truth["categories"]:
        one["frequency"] = "rcf"[rng.integers(3)]
    for image in truth["images"]:
        image["neg_category_ids"] = [c for c in ids if rng.random() < 0.4]
        image["not_exhaustive_category_ids"] = [c for c in ids if rng.random() < 0.3]
    both(truth, results, kind, lvis_style=True, params={"maxDets": [300]})


@pytest.mark.parametrize("seed", range(4))
def test_matches_kept_per_image(seed: int) -> None:
    truth, results = random_set(seed)
    mine, other = both(truth, results, "bbox", separate_eval=True)
    assert len(mine._evalImgs_cpp) == len(other._evalImgs_cpp)
    assert mine.eval["matched"] == other.eval["matched"]


@pytest.mark.parametrize("seed", range(4))
def test_keypoints_with_own_sigmas_and_without_areas(seed: int) -> None:
    truth, results = random_pose_set(seed)
    count = len(results[0]["keypoints"]) // 3
    both(truth, results, "keypoints", kpt_oks_sigmas=[0.05] * count, use_area=False)


@pytest.mark.parametrize("seed", range(4))
def test_curves_and_confusion(seed: int) -> None:
    from faster_coco_eval.extra import Curves, PreviewResults

    from verite.compat.faster_coco_eval import extra

    truth, results = random_set(seed)
    for one in truth["annotations"]:
        one["iscrowd"] = 0  # of several detections on a crowd the original marks one by the order of a hash table
    sides = []
    for package in (ours, theirs):
        gt = package.COCO(copy.deepcopy(truth))
        sides.append((gt, gt.loadRes(copy.deepcopy(results))))
    for use_cats in (False, True):
        named: dict[str, Any] = {"iou_tresh": 0.5, "useCats": use_cats}
        mine, other = extra.Curves(*sides[0], **named), Curves(*sides[1], **named)
        for ours_curve, their_curve in zip(mine.build_curve("class"), other.build_curve("class"), strict=True):
            np.testing.assert_array_equal(ours_curve["precision_list"], their_curve["precision_list"])
            np.testing.assert_array_equal(ours_curve["scores"], their_curve["scores"])
            assert ours_curve["auc"] == their_curve["auc"]
        assert mine.fn_image_ann_map == other.fn_image_ann_map
        matrices = [
            c(*side, **named).compute_confusion_matrix()
            for c, side in zip((extra.PreviewResults, PreviewResults), sides, strict=True)
        ]
        np.testing.assert_array_equal(*matrices)


def test_an_empty_result_evaluates_to_zero() -> None:
    truth, _ = random_set(3)
    mine, _ = both(truth, [], "bbox")
    assert mine.stats_as_dict["AP_all"] in (0.0, -1.0)


def test_without_area_the_box_counts_in_one_pass_and_step_by_step() -> None:
    class Stepwise(ours.COCOeval_faster):
        def computeIoU(self, imgId: Any, catId: Any) -> Any:  # noqa: N802, N803
            return super().computeIoU(imgId, catId)

    record = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 100, 100]}  # large
    truth = {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [{**record, "id": 1, "iscrowd": 0}]}
    for kind in (ours.COCOeval_faster, Stepwise):
        gt = ours.COCO(copy.deepcopy(truth))
        evaluator = kind(gt, gt.loadRes([{**record, "score": 0.9}]), "bbox")
        evaluator.run()
        assert evaluator.stats_as_dict["AP_large"] == pytest.approx(1)
        assert evaluator.stats_as_dict["AP_small"] == -1


def test_installed_under_the_name_of_the_package_and_removed_again() -> None:
    before = sys.modules["faster_coco_eval"]
    with install_as_faster_coco_eval():
        import faster_coco_eval
        from faster_coco_eval.core import mask
        from faster_coco_eval.core.cocoeval import Params
        from faster_coco_eval.extra import Curves

        assert faster_coco_eval.COCOeval_faster is ours.COCOeval_faster
        assert mask.segmToRle([[0, 0, 2, 0, 2, 2, 0, 2]], 4, 4)["size"] == [4, 4]
        assert Params("bbox").area_rng_lbl == ["all", "small", "medium", "large"]
        with pytest.raises(BadParameter, match="plot"):
            Curves.plot_pre_rec(None)
    assert sys.modules["faster_coco_eval"] is before


def test_boundaries_are_those_of_the_original() -> None:
    from faster_coco_eval.core import mask as their_mask

    from verite.compat.faster_coco_eval.core import mask

    rng = np.random.default_rng(1)
    for size in ((5, 7), (40, 30), (64, 200)):
        pixels = np.zeros(size, dtype=np.uint8, order="F")
        for _ in range(4):
            y, x = rng.integers(size[0]), rng.integers(size[1])
            pixels[y : y + size[0] // 2, x : x + size[1] // 2] = 1
        rle = mask.encode(pixels)
        found, expected = mask.decode(mask.rleToBoundary(rle)), their_mask.decode(their_mask.rleToBoundary(rle))
        np.testing.assert_array_equal(found, expected)


def test_an_unknown_way_to_compare_is_refused() -> None:
    with pytest.raises(TypeError, match="iouType"):
        ours.COCOeval_faster(iouType="cube")


@pytest.mark.parametrize("name", ["COCO", "COCOeval_faster"])
def test_methods_take_the_arguments_of_the_original_by_name(name: str) -> None:
    for key in dir(getattr(theirs, name)):
        original = inspect.getattr_static(getattr(theirs, name), key)
        if key.startswith("_") or not inspect.isroutine(getattr(original, "__func__", original)):
            continue
        expected = list(inspect.signature(getattr(getattr(theirs, name), key)).parameters)
        assert list(inspect.signature(getattr(getattr(ours, name), key)).parameters)[: len(expected)] == expected, key


def test_ids_are_found_by_names_in_snake_case() -> None:
    """Two images; the first has a dog of 30 pixels and a crowd of cats of 900, the second a cat of 100."""
    dog, cats, cat = (
        {
            "id": i,
            "image_id": image,
            "category_id": label,
            "bbox": [0, 0, 1, area],
            "area": area,
            "iscrowd": int(i == 2),
        }
        for i, image, label, area in ((1, 1, 8, 30), (2, 1, 7, 900), (3, 2, 7, 100))
    )
    document = {
        "images": [{"id": 1}, {"id": 2}],
        "categories": [{"id": 7, "name": "cat", "supercategory": "animal"}, {"id": 8, "name": "dog"}],
        "annotations": [dog, cats, cat],
    }
    document["categories"][1]["supercategory"] = "pet"  # type: ignore[index]
    for package in (ours, theirs):
        coco = package.COCO(copy.deepcopy(document))
        assert coco.get_ann_ids(img_ids=[1], area_rng=[10, 100], iscrowd=False) == [1]
        assert coco.get_ann_ids(cat_ids=[7]) == [2, 3]
        assert coco.get_cat_ids(cat_names=["dog"]) == coco.get_cat_ids(sup_names=["pet"]) == [8]
        assert coco.get_img_ids(img_ids=[1, 2], cat_ids=[7, 8]) == [1]
        assert coco.load_anns(ids=3) == [cat]
        assert [one["id"] for one in coco.load_imgs(ids=[2, 1])] == [2, 1]
        assert coco.load_cats(ids=8)[0]["name"] == "dog"
        for load in (coco.load_anns, coco.load_cats, coco.load_imgs):
            with pytest.raises(TypeError):
                load()
