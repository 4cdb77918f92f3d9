"""Dictionaries become columns in one pass: those that pycocotools' index finds, saying what it reads from them."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest

from tests.compat.beside import OURS, compare, load, modules, same_bits
from tests.compat.test_clients import SETS, three_calls
from tests.oracles.coco_sets import random_set
from verite import _core
from verite.compat import faster_coco_eval, lvis
from verite.compat.pycocotools import mask, steps
from verite.compat.pycocotools.coco import COCO
from verite.compat.pycocotools.cocoeval import COCOeval
from verite.compat.pycocotools.preparation import place_ids
from verite.errors import BadParameter, DataError

SEEDS = [seed for seed in range(40) if random_set(seed)[1]]


def hostile_index(seed: int) -> tuple[Any, Any]:
    """Annotations that share ids across images and classes, in any order, and numbers of several kinds."""
    rng = random.Random(seed)
    truth, _ = random_set(seed)
    for one in truth["annotations"]:
        if rng.random() < 0.3:
            one["id"] = rng.choice(truth["annotations"])["id"]
        if rng.random() < 0.2:
            del one["area"]
        if rng.random() < 0.2:
            items = list(one.items())
            rng.shuffle(items)
            one.clear()
            one.update(items)
    coco = load(modules(OURS).coco, truth)
    for one in coco.dataset["annotations"]:
        one["bbox"] = rng.choice([list, tuple, np.array])(one["bbox"])
        one["id"] = rng.choice([int, np.int64])(one["id"])
        one["score"] = rng.choice([float, np.float32])(rng.choice([0.25, 0.5]))
        one["iscrowd"] = rng.choice([0, 1, True, False, np.int64(1)])
        one[rng.choice(["note", 7])] = None  # a key that nobody knows
    p = modules(OURS).cocoeval.Params("bbox")
    p.imgIds = [i for i in coco.getImgIds() if rng.random() < 0.8]
    p.catIds = [c for c in coco.getCatIds() if rng.random() < 0.8]
    p.useCats = int(rng.random() < 0.7)
    return coco, p


def read_slowly(records: list[Any], images: dict[Any, int], labels: dict[Any, int]) -> list[Any]:
    """Columns of the records whose image and class are wanted, one after the other."""
    found: list[Any] = [[] for _ in range(8)]
    for row, one in enumerate(records):
        if one["image_id"] in images and one["category_id"] in labels:
            box = [float(side) for side in one["bbox"]]
            area = one.get("area", box[2] * box[3])
            said = row, images[one["image_id"]], labels[one["category_id"]], box, area, one["id"], one["iscrowd"]
            for column, value in zip(found, (*said, one["score"]), strict=True):
                column.append(value)
    return found


@pytest.mark.parametrize("seed", range(200))
def test_the_core_finds_what_the_index_finds(seed):
    coco, p = hostile_index(seed)
    images, labels = place_ids(p.imgIds), place_ids(p.catIds)
    expected = steps.find_records(coco, p) if p.imgIds and (p.catIds or not p.useCats) else []
    records, *columns = _core.read_records(coco.imgToAnns, coco.anns, images, labels, bool(p.useCats), True)
    assert [id(one) for one in records] == [id(one) for one in expected]
    for mine, other in zip(columns, read_slowly(expected, images, labels), strict=True):
        assert mine.tolist() == other


@pytest.mark.parametrize("kind", list(SETS))
@pytest.mark.filterwarnings("ignore:COCOeval:verite.errors.DataWarning")
def test_everything_at_once_finds_what_steps_find(kind):
    """A subclass that changes nothing is evaluated step by step: the slow twin."""
    m = modules(OURS)

    class Slow(m.cocoeval.COCOeval):
        def computeIoU(self, imgId: Any, catId: Any) -> Any:  # noqa: N802, N803
            return super().computeIoU(imgId, catId)

    slow = type(m)(coco=m.coco, mask=m.mask, cocoeval=type(m)(COCOeval=Slow))
    for seed in SEEDS[:10]:
        truth, results = SETS[kind](seed)
        (fast, mine), (slowly, others) = (three_calls(one, truth, results, kind) for one in (m, slow))
        assert mine._prepared is not None
        assert others._prepared is None
        same_bits(fast, slowly)


def find_otherwise(m: Any, truth: Any, results: Any, way: str) -> Any:
    """A client's class, or an object that was patched, that finds every other annotation."""

    class Half(m.coco.COCO):
        def getAnnIds(self, *given: Any, **named: Any) -> Any:  # noqa: N802
            return super().getAnnIds(*given, **named)[::2]

    gt = Half() if way == "class" else m.coco.COCO()
    if way == "object":
        whole = gt.getAnnIds
        gt.getAnnIds = lambda **named: whole(**named)[::2]
    gt.dataset = truth
    gt.createIndex()
    evaluation = m.cocoeval.COCOeval(gt, gt.loadRes([dict(one) for one in results]), "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    return evaluation.eval["precision"]


@pytest.mark.parametrize("way", ["class", "object"])
@pytest.mark.filterwarnings("ignore:COCOeval:verite.errors.DataWarning")
def test_a_clients_own_way_to_annotations_is_taken(way):
    pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
    for seed in SEEDS[:5]:
        same_bits(*compare(find_otherwise, *random_set(seed), way))


def test_what_is_wrong_is_told_of_the_first_image_wherever_records_lie_in_memory():
    for order in itertools.permutations(range(1, 5)):
        boxes = {image: {"id": image, "image_id": image, "category_id": 1, "bbox": [image]} for image in order}
        coco = load(modules(OURS).coco, {"images": [{"id": i} for i in order], "categories": [{"id": 1}]})
        coco.dataset["annotations"] = [boxes[image] for image in range(1, 5)]
        coco.createIndex()
        with pytest.raises(ValueError, match=r"\(id 1\): expected four numbers as bbox, found \[1\]"):
            _core.read_records(coco.imgToAnns, coco.anns, {1: 0, 2: 1, 3: 2, 4: 3}, {1: 0}, True, False)


def test_an_annotation_that_the_index_lacks_is_told():
    coco = load(modules(OURS).coco, {"images": [{"id": 1}], "categories": [{"id": 1}]})
    coco.imgToAnns[1].append({"id": 5, "image_id": 1, "category_id": 1})
    with pytest.raises(ValueError, match=r"\(id 5\): expected a record that the index has by its id"):
        _core.read_records(coco.imgToAnns, coco.anns, {1: 0}, {1: 0}, True, False)


@pytest.mark.parametrize("crowd", [np.zeros(3), np.zeros((2, 0)), np.array([0, 1])])
def test_a_crowd_flag_that_is_neither_true_nor_false_is_told(crowd):
    """numpy raises where an array of several values, or of none, is asked whether it is true."""
    record = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "iscrowd": crowd}
    with pytest.raises(ValueError, match=r"\(id 1\): expected 0 or 1 as iscrowd, found array"):
        _core.read_records({1: [record]}, {1: record}, {1: 0}, {1: 0}, True, False)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e308, 2.0**63])
def test_an_id_beyond_64_bits_is_told(number):
    record = {"id": number, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1]}
    with pytest.raises(ValueError, match="expected a whole number as id, found"):
        _core.read_records({1: [record]}, {number: record}, {1: 0}, {1: 0}, True, False)


def test_ids_are_found_as_dictionaries_find_them():
    """Whole numbers, others equal to them, texts, and what is beyond 64 bits."""
    ids = [3, 2**70, -1, "one", 7.0, 2**63 - 1]
    truth = {"images": [{"id": 1}], "categories": [{"id": one} for one in ids]}
    coco = load(modules(OURS).coco, truth)
    asked = [3.0, 2**70, -1, "one", 7, True, np.int64(2**63 - 1), None]
    coco.dataset["annotations"] = [
        {"id": i, "image_id": True, "category_id": one, "bbox": [0, 0, 1, 1]} for i, one in enumerate(asked)
    ]
    coco.createIndex()
    for wanted in (ids, [3, -1, 2**63 - 1], [3.0, 7.0]):
        places = {one: i for i, one in enumerate(wanted)}
        columns = _core.read_records(coco.imgToAnns, coco.anns, {1: 0}, places, True, False)
        assert columns[3].tolist() == [places[one] for one in asked if one in places]


@pytest.mark.parametrize("kind", ["bbox", "segm"])
def test_a_value_whose_code_takes_all_others_away_ends_in_an_error(kind):
    """What others say is read ahead; it is looked at again once anything but plain values was met."""

    class Thief:
        def __float__(self) -> float:
            for one in coco.dataset["annotations"]:
                one.clear()
            return 1.0

    boxes = [{"id": i, "image_id": 1, "category_id": 1, "bbox": [i / 7, 1.5, 2.5, i / 3]} for i in range(1, 40)]
    coco = load(modules(OURS).coco, {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": boxes})
    for one in coco.dataset["annotations"]:
        one["segmentation"] = [[0.0, 0.0, 1.0, one["id"] / 3, 5.0, 5.0]]
        one["bbox"][2] = one["segmentation"][0][3] = Thief()  # each: by address any may be among the last, read ahead
    read: Any = {
        "bbox": lambda: _core.read_records(coco.imgToAnns, coco.anns, {1: 0}, {1: 0}, False, False),
        "segm": lambda: _core.read_outlines(coco.dataset["annotations"], np.arange(39), 1),
    }
    with pytest.raises(ValueError, match="expected"):
        read[kind]()


@pytest.mark.parametrize("dataset", [None, [], 0.5, {"images": [], "annotations": np.zeros(3)}], ids=str)
def test_a_dataset_that_is_no_dictionary_of_records_is_refused(dataset):
    gt = COCO()
    gt.dataset = dataset
    with pytest.raises(
        DataError, match=r"dataset: expected a dictionary|annotations\[0\]: expected a record with 'id'"
    ):
        gt.createIndex()


@pytest.mark.parametrize("height", [2**31, 2**63, 10**400, float("inf"), None], ids=lambda value: str(value)[:20])
def test_a_height_that_does_not_fit_is_refused(height):
    gt = COCO()
    box = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9]}
    gt.dataset = {
        "images": [{"id": 1, "width": 9, "height": height}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 1, **box, "area": 81, "iscrowd": 0, "segmentation": [[0, 0, 9, 0, 9, 9]]}],
    }
    gt.createIndex()
    evaluation = COCOeval(gt, gt.loadRes([{**box, "score": 0.9}]), "segm")
    with pytest.raises(DataError, match=r"images: expected a height in pixels.*for image 1"):
        evaluation.evaluate()


@pytest.mark.parametrize(
    ("key", "odd"), [("iscrowd", np.zeros((2, 0))), ("iscrowd", np.array([0, 1])), ("id", float("nan")), ("id", 1e300)]
)
def test_a_flag_or_id_that_is_neither_true_nor_a_number_is_refused(key, odd):
    record = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 4], "area": 16, "iscrowd": 0, key: odd}
    known = COCO()
    known.dataset = {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [record]}
    known.createIndex()
    found = known.loadRes([{"image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 4], "score": 0.5}])
    with pytest.raises(DataError, match=rf"expected .* as {key}, found"):
        COCOeval(known, found, "bbox").evaluate()


BOX = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 4]}


def tiny_truth(**more):
    record = {"id": 1, **BOX, "area": 16, "iscrowd": 0, "keypoints": [1, 1, 2] * 17, "num_keypoints": 17, **more}
    return {"images": [{"id": 1, "width": 9, "height": 9}], "categories": [{"id": 1}], "annotations": [record]}


@pytest.mark.parametrize("odd", [7, "a", [1], None, np.zeros(3)], ids=str)
def test_results_that_are_no_records_are_named_in_every_drop_in(odd):
    known, lvis_known = faster_coco_eval.COCO(tiny_truth()), lvis.LVIS(tiny_truth())
    for read in (
        lambda records: known.loadRes(records),
        lambda records: known.loadRes(records, min_score=0.3),
        lambda records: lvis.LVISResults(lvis_known, records),
        lambda records: lvis.LVISResults(lvis_known, records, max_dets=-1),
    ):
        with pytest.raises(DataError, match=r"results\[1\]: expected a record with 'image_id', found"):
            read([{**BOX, "score": 0.5}, odd])


def test_no_results_of_lvis_are_an_error_of_both_kinds():
    with pytest.raises(IndexError, match="found an empty list") as caught:
        lvis.LVISResults(lvis.LVIS(tiny_truth()), [])
    assert isinstance(caught.value, DataError)


@pytest.mark.parametrize("odd", [float("inf"), None, "a"], ids=str)
def test_an_image_id_that_is_no_whole_number_is_refused_by_faster_coco_eval(odd):
    with pytest.raises(DataError, match=r"annotations\[0\]: expected a whole number as image_id, found"):
        faster_coco_eval.COCO(tiny_truth(image_id=odd))


@pytest.mark.parametrize("odd", [2**63, 10**400, None, "a"], ids=lambda value: str(value)[:20])
def test_a_number_of_keypoints_that_is_none_is_refused(odd):
    known = COCO()
    known.dataset = tiny_truth(num_keypoints=odd)
    known.createIndex()
    found = known.loadRes([{**BOX, "score": 0.5, "keypoints": [1, 1, 2] * 17}])
    with pytest.raises(DataError, match="annotations: expected a whole number as num_keypoints"):
        COCOeval(known, found, "keypoints").evaluate()


@pytest.mark.parametrize("odd", [10**400, None, "a"], ids=lambda value: str(value)[:20])
def test_a_score_that_is_no_number_is_refused_step_by_step(odd):
    """Of CrowdPose's keypoints with the area of boxes, which are compared one image after the other."""
    known = faster_coco_eval.COCO(tiny_truth())
    found = known.loadRes([{**BOX, "score": odd, "keypoints": [1, 1, 2] * 17}])
    with pytest.raises(DataError, match="results: expected a number as score of each record"):
        faster_coco_eval.COCOeval_faster(known, found, "keypoints_crowd", use_area=False).evaluate()


@pytest.mark.parametrize("odd", [np.zeros(3), {"size": [9, 9]}, 7, "a"], ids=str)
def test_an_outline_that_is_none_is_refused_in_every_drop_in(odd):
    known = COCO()
    known.dataset = tiny_truth(segmentation=odd)
    known.createIndex()
    lvis_known = lvis.LVIS(tiny_truth(segmentation=odd))
    for draw in (
        lambda: known.annToRLE(known.anns[1]),
        lambda: lvis_known.ann_to_rle(lvis_known.anns[1]),
        lambda: faster_coco_eval.mask.segmToRle(odd, 9, 9),
    ):
        with pytest.raises(BadParameter, match="segmentation: expected polygons, or a mask of size and counts"):
            draw()


def test_numbers_beyond_those_of_floating_point_are_refused_by_masks():
    huge = 10**400
    for call in (
        lambda: mask.frPyObjects([[1, 1, 5, 1, 5, huge]], 9, 9),
        lambda: mask.frPyObjects([[1, 1, 5, huge]], 9, 9),
        lambda: mask.iou([[1, 1, 5, huge]], [[1, 1, 5, 5]], [0]),
    ):
        with pytest.raises(BadParameter, match="mask: expected coordinates below 1e308"):
            call()
    with pytest.raises(BadParameter, match="mask: expected a size and counts"):
        mask.area([np.zeros(3)])
