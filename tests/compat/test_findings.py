"""The seven findings of RF-DETR's maintainers on another drop-in (hotcoco #5), asked of this one.

Four of them gave a wrong number in silence there. Both drop-ins of ours are asked these seven, and the six
spellings that a fuzzer found there afterwards (later_1 to later_6).
"""

from __future__ import annotations

import contextlib
import copy
import io
from typing import Any

import numpy as np
import pytest

import verite.compat
from verite.errors import DataError

TRIPLES = {name: verite.compat.backend(name) for name in ("pycocotools", "faster_coco_eval")}

pytestmark = pytest.mark.parametrize("name", TRIPLES)


def square(size: int, side: int) -> Any:
    pixels = np.zeros((size, size), dtype=np.uint8, order="F")
    pixels[2 : 2 + side, 2 : 2 + side] = 1
    return pixels


def load(name: str, document: dict[str, Any]) -> Any:
    """Annotations of a dictionary that is assigned, as torchmetrics assigns it."""
    coco = TRIPLES[name].coco()
    coco.dataset = copy.deepcopy(document)
    with contextlib.redirect_stdout(io.StringIO()):
        coco.createIndex()
    return coco


def evaluate(name: str, truth: Any, pred: Any, kind: str, **params: Any) -> Any:
    done = TRIPLES[name].cocoeval(truth, pred, iouType=kind)  # 6: iouType is a keyword
    for key, value in params.items():
        setattr(done.params, key, value)
    with contextlib.redirect_stdout(io.StringIO()):
        for call in (done.evaluate, done.accumulate, done.summarize):
            call()
    return done


def document(segmentation: Any = None, score: float | None = None, **more: Any) -> dict[str, Any]:
    record = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [2, 2, 10, 10], "area": 100, "iscrowd": 0, **more}
    if segmentation is not None:
        record["segmentation"] = segmentation
    if score is not None:
        record["score"] = score
    # 7: neither a size of the image nor a name of the class
    return {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [record]}


def test_1_counts_of_a_mask_are_bytes_or_text(name: str) -> None:
    rle = TRIPLES[name].mask_utils.encode(square(20, 10))
    as_text, as_bytes = ({**rle, "counts": form(rle["counts"])} for form in (to_text, to_bytes))
    for given in (as_text, as_bytes):
        assert int(TRIPLES[name].mask_utils.area(given)) == 100
        done = evaluate(name, load(name, document(as_bytes)), load(name, document(given, 0.9)), "segm")
        assert done.stats[0] == pytest.approx(1)


def to_text(counts: Any) -> str:
    return counts.decode() if isinstance(counts, bytes) else counts


def to_bytes(counts: Any) -> bytes:
    return counts if isinstance(counts, bytes) else counts.encode()


def test_2_edits_of_params_in_place_count(name: str) -> None:
    done = TRIPLES[name].cocoeval(load(name, document()), load(name, document(score=0.9, bbox=[2, 2, 10, 6])), "bbox")
    done.params.iouThrs[:] = 0.55  # the IoU is 0.6
    done.params.maxDets.append(300)
    done.params.areaRng[0][1] = 1e9
    with contextlib.redirect_stdout(io.StringIO()):
        for call in (done.evaluate, done.accumulate):
            call()
    assert done.eval["precision"].shape[-1] == 4
    assert done.eval["precision"][:, :, 0, 0, -1] == pytest.approx(1)


def test_2_edits_of_params_in_place_stay_in_their_evaluator(name: str) -> None:
    first = TRIPLES[name].cocoeval(iouType="bbox").params
    before = copy.deepcopy(vars(first))
    for value in vars(first).values():
        if isinstance(value, list):
            for bounds in value:
                if isinstance(bounds, list):
                    bounds[1] = 7
            value.append(7)
        elif isinstance(value, np.ndarray):
            value[:] = 7
    for key, value in vars(TRIPLES[name].cocoeval(iouType="bbox").params).items():
        assert np.array_equal(value, before[key]), key


def test_3_an_assigned_dataset_is_indexed(name: str) -> None:
    coco = load(name, document())
    assert (list(coco.imgs), list(coco.anns), coco.getCatIds()) == ([1], [1], [1])
    assert evaluate(name, coco, load(name, document(score=0.9)), "bbox").stats[0] == pytest.approx(1)


def test_4_own_keys_stay_and_areas_can_be_switched(name: str) -> None:
    """torchmetrics keeps two areas per record and switches between them for boxes and masks."""
    truth, pred = document(), document(score=0.9)
    pred["annotations"][0] |= {"bbox": [60, 60, 10, 10], "area_bbox": 100.0, "area_segm": 5000.0}
    sides = load(name, truth), load(name, pred)
    found = {}
    for kind in ("bbox", "segm"):
        for record in sides[1].dataset["annotations"]:
            record["area"] = record[f"area_{kind}"]
        done = evaluate(name, *sides, "bbox")
        small = done.params.areaRngLbl.index("small")
        found[kind] = done.eval["scores"].shape, done.eval["precision"][0, :, 0, small, -1].tolist()
        images = [one for one in done.evalImgs if one is not None and list(one["aRng"]) == [0, 1024]]
        found[kind] = bool(images[0]["dtIgnore"][0, 0])
    assert found == {"bbox": False, "segm": True}  # unmatched and medium: ignored among the small


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.uint8])
def test_5_masks_of_booleans_and_slices(name: str, kind: Any) -> None:
    tools = TRIPLES[name].mask_utils
    pixels = np.repeat(square(20, 10), 2, axis=0).astype(kind)[::2]
    assert int(tools.area(tools.encode(pixels))) == 100
    assert np.array_equal(tools.decode(tools.encode(pixels)), pixels)


def test_6_the_kind_is_a_keyword(name: str) -> None:
    assert TRIPLES[name].cocoeval(iouType="bbox").params.iouType == "bbox"


def test_7_images_without_size_and_classes_without_name(name: str) -> None:
    truth = document([[2, 2, 12, 2, 12, 12, 2, 12]])
    assert evaluate(name, load(name, truth), load(name, document(score=0.9)), "bbox").stats[0] == pytest.approx(1)
    with pytest.raises(DataError, match="height and a width"):  # polygons cannot be drawn without
        evaluate(name, load(name, truth), load(name, document([[2, 2, 9, 2, 9, 9]], 0.9)), "segm")


POSE = np.stack([np.arange(17) * 3.0, np.arange(17) * 2.0, np.full(17, 2)], axis=1)


def test_later_1_poses_without_a_count_of_points_are_counted(name: str) -> None:
    truth = document(keypoints=POSE.ravel().tolist())  # without num_keypoints
    done = evaluate(
        name, load(name, truth), load(name, document(score=0.9, keypoints=POSE.ravel().tolist())), "keypoints"
    )
    assert done.stats[0] == pytest.approx(1)


def test_later_2_ids_and_sizes_are_whole_numbers_written_as_fractions(name: str) -> None:
    """As pandas writes them: 1.0."""
    truth, pred = document(), document(score=0.9)
    for side in (truth, pred):
        side["images"] = [{"id": 1.0, "width": 200.0, "height": 200.0}]
        side["categories"][0]["id"] = 1.0
        side["annotations"][0] |= {"id": 1.0, "image_id": 1.0, "category_id": 1.0, "iscrowd": 0.0}
    assert evaluate(name, load(name, truth), load(name, pred), "bbox").stats[0] == pytest.approx(1)


def test_later_3_classes_may_be_ignored(name: str) -> None:
    truth, pred = document(), document(score=0.9, category_id=2)
    for side in (truth, pred):
        side["categories"] = [{"id": 1}, {"id": 2}]
    found = [evaluate(name, load(name, truth), load(name, pred), "bbox", useCats=value).stats[0] for value in (1, 0)]
    assert found == pytest.approx([0, 1])


def test_later_4_points_in_rows_of_three(name: str) -> None:
    rows = document(score=0.9, keypoints=POSE.tolist())
    truth = document(keypoints=POSE.ravel().tolist(), num_keypoints=17)
    assert evaluate(name, load(name, truth), load(name, rows), "keypoints").stats[0] == pytest.approx(1)


def test_later_5_groups_of_open_images_change_nothing(name: str) -> None:
    done = evaluate(name, load(name, document(is_group_of=1)), load(name, document(score=0.9)), "bbox")
    assert done.stats[0] == pytest.approx(1)


def test_later_6_without_a_limit_of_100_the_first_number_is_the_originals(name: str) -> None:
    """pycocotools looks for 100 and prints -1; faster-coco-eval takes the highest limit."""
    sides = load(name, document()), load(name, document(score=0.9))
    done = evaluate(name, *sides, "bbox", maxDets=[1, 10, 50])
    assert done.stats[0] == pytest.approx(-1 if name == "pycocotools" else 1)
