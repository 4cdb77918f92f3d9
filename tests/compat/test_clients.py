"""What training loops and scripts do with COCOeval, step by step, beside the original: the same text, the same bits."""

from __future__ import annotations

import copy
import json
import warnings
from typing import Any

import numpy as np
import pytest

from tests.compat.beside import OURS, compare, load, modules, same_bits
from tests.oracles.coco_sets import random_mask_set, random_set
from verite.errors import DataError

pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
pytestmark = pytest.mark.filterwarnings("ignore:COCOeval:verite.errors.DataWarning")
SEEDS = [seed for seed in range(14) if random_set(seed)[1]]


@pytest.fixture(autouse=True)
def _old_reference() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its decode() is behind numpy's times
        yield


def random_keypoint_set(seed: int) -> tuple[Any, Any]:
    """People: some without a keypoint that is seen, some in crowds, results near them and elsewhere, ties."""
    truth, results = random_set(seed)
    rng = np.random.default_rng([seed, 2])
    for record in truth["annotations"]:
        x, y, w, h = record["bbox"]
        points = np.stack([x + rng.random(17) * w, y + rng.random(17) * h, rng.choice([0, 1, 2], 17)], 1)
        if rng.random() < 0.2:
            points[:, 2] = 0
        record["keypoints"] = points.round(1).ravel().tolist()
        record["num_keypoints"] = int((points[:, 2] > 0).sum())
        record["area"] = max(record["area"], 1.0)
    people = truth["annotations"]
    for record in results:
        near = people[int(rng.integers(len(people)))] if people else None
        if near is not None:
            record |= {"image_id": near["image_id"], "category_id": near["category_id"]}
        base = np.array(near["keypoints"]).reshape(-1, 3) if near else rng.random((17, 3)) * 100
        base = base + rng.normal(0, rng.choice([0.0, 1.0, 5.0, 30.0]), base.shape)
        record["keypoints"] = base.round(2).ravel().tolist()
        del record["bbox"]
    return truth, results


SETS = {"bbox": random_set, "segm": random_mask_set, "keypoints": random_keypoint_set}
KINDS = pytest.mark.parametrize("kind", list(SETS))


def numbers(evaluation: Any) -> Any:
    found = {key: evaluation.eval[key] for key in ("precision", "recall", "scores", "counts")}
    return found | {"stats": evaluation.stats}


def finish(evaluation: Any) -> Any:
    evaluation.accumulate()
    evaluation.summarize()
    return numbers(evaluation)


def three_calls(m: Any, truth: Any, results: Any, kind: str, **settings: Any) -> Any:
    gt = load(m.coco, truth)
    evaluation = m.cocoeval.COCOeval(gt, gt.loadRes(json.loads(json.dumps(results))), kind)
    for name, value in settings.items():
        setattr(evaluation.params, name, copy.deepcopy(value))
    evaluation.evaluate()
    return finish(evaluation), evaluation


@KINDS
def test_three_calls_print_and_find_the_same(kind):
    for seed in SEEDS:
        (ours, mine), (theirs, others) = compare(three_calls, *SETS[kind](seed), kind)
        same_bits(ours, theirs)
        assert ours["precision"].flags.c_contiguous
        same_bits(mine.evalImgs, others.evalImgs)
        same_bits({str(k): np.asarray(v) for k, v in mine.ious.items()},
                  {str(k): np.asarray(v) for k, v in others.ious.items()})  # fmt: skip


@pytest.mark.parametrize(
    "settings",
    [{"useCats": 0}, {"maxDets": [1, 2, 3]}, {"maxDets": [2, 3, 100], "useCats": 0}, {"iouThrs": np.array([0.5, 1.0])}],
    ids=str,
)
def test_what_each_image_says_is_the_same_under_other_parameters(settings):
    for seed in SEEDS:
        (ours, mine), (theirs, others) = compare(three_calls, *random_set(seed), "bbox", **settings)
        same_bits(ours, theirs)
        same_bits(mine.evalImgs, others.evalImgs)


def detr(m: Any, truth: Any, results: Any, kind: str, *, use_cats: bool = True, steps: bool = True) -> Any:
    """Batches of images on two ranks, matched one by one, gathered, and put back in place."""
    gt = load(m.coco, truth)
    evaluation = m.cocoeval.COCOeval(gt, iouType=kind)
    evaluation.params.useCats = use_cats
    ids = sorted(gt.getImgIds())
    seen, gathered = [], []
    for batch in (ids[::2], ids[1::2], ids[:1]):  # an image may come twice, on the last rank
        if not batch:
            continue
        mine = [dict(record) for record in json.loads(json.dumps(results)) if record["image_id"] in batch]
        evaluation.cocoDt = m.coco.COCO.loadRes(gt, mine) if mine else m.coco.COCO()
        p = evaluation.params
        p.imgIds = list(batch)
        if steps:
            p.imgIds = list(np.unique(p.imgIds))
            if p.useCats:
                p.catIds = list(np.unique(p.catIds))
            p.maxDets = sorted(p.maxDets)
            evaluation._prepare()
            classes = p.catIds if p.useCats else [-1]
            overlap = evaluation.computeOks if kind == "keypoints" else evaluation.computeIoU
            evaluation.ious = {(i, c): overlap(i, c) for i in p.imgIds for c in classes}
            images = [
                evaluation.evaluateImg(i, c, area, p.maxDets[-1])
                for c in classes for area in p.areaRng for i in p.imgIds
            ]  # fmt: skip
        else:
            evaluation.evaluate()
            images = evaluation.evalImgs
        seen += list(p.imgIds)
        gathered.append(np.asarray(images, dtype=object).reshape(-1, len(p.areaRng), len(p.imgIds)))
    unique, at = np.unique(np.array(seen), return_index=True)
    evaluation.evalImgs = list(np.concatenate(gathered, 2)[..., at].flatten())
    evaluation.params.imgIds = list(unique)
    evaluation._paramsEval = copy.deepcopy(evaluation.params)
    return finish(evaluation), evaluation.evalImgs


@KINDS
@pytest.mark.parametrize("steps", [True, False], ids=["step by step", "evaluate"])
def test_images_gathered_from_ranks_are_accumulated(kind, steps):
    for seed in SEEDS:
        same_bits(*compare(detr, *SETS[kind](seed), kind, steps=steps))


def test_images_gathered_without_classes_are_accumulated():
    for seed in SEEDS[:5]:
        same_bits(*compare(detr, *random_set(seed), "bbox", use_cats=False))


def detectron2(m: Any, truth: Any, results: Any, kind: str) -> Any:
    """A subclass that matches by itself: what it takes from `_prepare`, `computeIoU`, `_gts` and `_dts`."""

    class Fast(m.cocoeval.COCOeval):
        def evaluate(self) -> None:
            p = self.params
            self._prepare()
            self.ious = {(i, c): self.computeIoU(i, c) for i in p.imgIds for c in p.catIds}
            self.seen = [
                (int(one["id"]), one["score"] if side is self._dts else one.get("score", 0.0), float(one["area"]),
                 bool(one.get("iscrowd", 0)), bool(one.get("ignore", 0)))
                for side in (self._gts, self._dts) for i in p.imgIds for c in p.catIds for one in side[i, c]
            ]  # fmt: skip

    gt = load(m.coco, truth)
    fast = Fast(gt, gt.loadRes(json.loads(json.dumps(results))), kind)
    fast.evaluate()
    return fast.seen, {str(key): np.asarray(value) for key, value in fast.ious.items()}


@pytest.mark.parametrize("kind", ["bbox", "segm"])
def test_a_subclass_finds_what_it_matches_by_itself(kind):
    for seed in SEEDS:
        same_bits(*compare(detectron2, *SETS[kind](seed), kind))


def own_steps(m: Any, truth: Any, results: Any, step: str) -> Any:
    """A subclass with another overlap, another preparation or another view of an image."""

    class Halved(m.cocoeval.COCOeval):
        def computeIoU(self, imgId: Any, catId: Any) -> Any:  # noqa: N802, N803
            found = super().computeIoU(imgId, catId)
            return found if len(found) == 0 else found * 0.8

    class Spared(m.cocoeval.COCOeval):
        def _prepare(self) -> None:
            super()._prepare()
            for truths in self._gts.values():
                for one in truths[::2]:
                    one["ignore"] = 1

    class Few(m.cocoeval.COCOeval):
        def evaluateImg(self, imgId: Any, catId: Any, aRng: Any, maxDet: int) -> Any:  # noqa: N802, N803
            return super().evaluateImg(imgId, catId, aRng, min(maxDet, 2))

    gt = load(m.coco, truth)
    dt = gt.loadRes(json.loads(json.dumps(results)))
    evaluation = {"overlap": Halved, "preparation": Spared, "image": Few}.get(step, m.cocoeval.COCOeval)(gt, dt, "bbox")
    if step == "patched":
        whole = evaluation.computeIoU
        evaluation.computeIoU = lambda i, c: [] if i % 2 else whole(i, c)
    evaluation.evaluate()
    return finish(evaluation), evaluation.evalImgs


@pytest.mark.parametrize("step", ["overlap", "preparation", "image", "patched"])
def test_a_step_of_a_clients_own_is_taken(step):
    for seed in SEEDS:
        same_bits(*compare(own_steps, *random_set(seed), step))


def test_a_step_of_a_clients_own_changes_the_numbers():
    """Else the test above could not fail."""
    plain, _ = three_calls(modules(OURS), *random_set(5), "bbox")
    halved, _ = own_steps(modules(OURS), *random_set(5), "overlap")
    assert plain["stats"][0] > halved["stats"][0]


def edit(m: Any, truth: Any, results: Any, between: str) -> Any:
    """What error analyses do: every false detection of an image is forgiven, then everything is accumulated again."""
    _, evaluation = three_calls(m, truth, results, "bbox")
    if between == "images":
        for one in evaluation.evalImgs:
            if one is not None:
                one["dtIgnore"] = np.logical_or(one["dtIgnore"], one["dtMatches"] == 0)
    elif between == "recalls":
        evaluation.params.recThrs = np.linspace(0, 1, 11)
    elif between == "classes":
        evaluation.params.catIds = evaluation.params.catIds[:1]
    elif between == "limits":
        evaluation.params.maxDets = [1, 100, 100]
    else:
        evaluation.params.areaRng = evaluation.params.areaRng[:2]
    evaluation.accumulate()
    return {key: evaluation.eval[key] for key in ("precision", "recall", "scores", "counts")}


@pytest.mark.thorough
@pytest.mark.parametrize("between", ["images", "recalls", "classes", "limits", "areas"])
def test_what_is_edited_before_accumulate_counts(between):
    for seed in SEEDS:
        same_bits(*compare(edit, *random_set(seed), between))


def test_an_edit_of_images_moves_the_number():
    truth, results = random_set(5)
    before, _ = three_calls(modules(OURS), truth, results, "bbox")
    after = edit(modules(OURS), truth, results, "images")
    assert after["precision"].mean() > before["precision"].mean()


def test_an_evaluation_that_was_kept_pickles_and_copies():
    import pickle

    found, evaluation = three_calls(modules(OURS), *random_set(5), "bbox")
    for other in (copy.deepcopy(evaluation), pickle.loads(pickle.dumps(evaluation))):
        same_bits(other.evalImgs, evaluation.evalImgs)
        other.accumulate()
        same_bits(other.eval["precision"], found["precision"])


def test_keypoints_ask_for_as_many_as_there_are_sigmas():
    truth, results = random_keypoint_set(5)
    m = modules(OURS)
    gt = load(m.coco, truth)
    evaluation = m.cocoeval.COCOeval(gt, gt.loadRes(results), "keypoints")
    evaluation.params.kpt_oks_sigmas = np.full(14, 0.05)
    with pytest.raises(ValueError, match="keypoints: expected 14 of three numbers"):
        evaluation.evaluate()


def test_keypoints_without_classes_are_refused():
    """pycocotools looks for class -1, finds nobody and prints 0."""
    m = modules(OURS)
    truth, results = random_keypoint_set(5)
    gt = load(m.coco, truth)
    evaluation = m.cocoeval.COCOeval(gt, gt.loadRes(results), "keypoints")
    evaluation.params.useCats = 0
    with pytest.raises(ValueError, match="useCats: expected 1 for keypoints"):
        evaluation.evaluate()


def of_no_image(m, truth, results, *, look):
    """As a rank that got no image, or a filter that left none."""
    gt = load(m.coco, truth)
    evaluation = m.cocoeval.COCOeval(gt, gt.loadRes(results), "bbox")
    evaluation.params.imgIds = []
    evaluation.evaluate()
    if look:
        assert len(evaluation.evalImgs) == 0
    evaluation.accumulate()
    evaluation.summarize()
    return evaluation.stats, evaluation.eval["precision"], evaluation.eval["recall"]


@pytest.mark.parametrize("look", [False, True])
def test_no_image_has_the_text_and_numbers_of_the_original(look):
    same_bits(*compare(of_no_image, *random_set(5), look=look))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.accumulate(), "accumulate: expected evaluated images, found none"),
        (lambda e: e.summarize(), "summarize: expected accumulated results, found none"),
        (lambda e: e.evaluate(), "COCOeval: expected ground truth and detections"),
    ],
    ids=["accumulate", "summarize", "evaluate"],
)
def test_calls_out_of_order_say_what_to_do(call, message):
    with pytest.raises(ValueError, match=message):
        call(modules(OURS).cocoeval.COCOeval())


BOX = {"image_id": 1, "category_id": 1, "score": 0.5, "bbox": [1, 1, 9, 9]}
MASK = {"image_id": 1, "category_id": 1, "score": 0.5, "segmentation": {"size": [2, 2], "counts": b"13"}}
POSE = {"image_id": 1, "category_id": 1, "score": 0.5, "keypoints": [1, 2, 2] * 17}


@pytest.mark.parametrize(
    ("first", "change", "sentence"),
    [
        (BOX, {"bbox": [1, 1, 9]}, r"expected four numbers as bbox, found '\[1, 1, 9\]'"),
        (BOX, {"bbox": None}, "expected four numbers as bbox, found 'None'"),
        (BOX, {"bbox": list("abcd")}, r"expected four numbers as bbox, found \"\['a', 'b', 'c', 'd'\]\""),
        (MASK, {"segmentation": None}, "mask: expected a size and counts, found 'None'"),
        (MASK, {"segmentation": {"size": [2, 2], "counts": b"~"}}, "mask: expected runs of 2 x 2 pixels"),
        (POSE, {"keypoints": []}, r"expected x, y and visibility of each point as keypoints, found '\[\]'"),
        (POSE, {"keypoints": 3}, "expected x, y and visibility of each point as keypoints, found '3'"),
    ],
)
def test_results_that_cannot_be_are_told_with_their_place(first, change, sentence):
    coco = load(modules(OURS).coco, {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": []})
    for place, records in ((0, [first | change]), (1, [dict(first), first | change])):
        with pytest.raises(DataError, match=rf"^results\[{place}\]: {sentence}"):
            coco.loadRes(records)
