"""Files that are evaluated without anybody looking at a record: no dictionary is made, and nothing differs."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.compat.beside import OURS, compare, modules, same_bits
from tests.compat.test_clients import random_keypoint_set
from tests.oracles.coco_sets import random_mask_set, random_set
from verite.errors import ReadError

pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
pytestmark = pytest.mark.filterwarnings("ignore:COCOeval:verite.errors.DataWarning")
QUIRKS = sorted((Path(__file__).parents[1] / "data" / "quirks").iterdir())
SETS = {"bbox": random_set, "segm": random_mask_set, "keypoints": random_keypoint_set}


@pytest.fixture(autouse=True)
def _old_reference() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its decode() is behind numpy's times
        yield


def evaluate(m: Any, truth: Path, pred: Path, kind: str, **settings: Any) -> Any:
    gt = m.coco.COCO(str(truth))
    evaluation = m.cocoeval.COCOeval(gt, gt.loadRes(str(pred)), kind)
    for name, value in settings.items():
        setattr(evaluation.params, name, copy.deepcopy(value))
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    found = {key: evaluation.eval[key] for key in ("precision", "recall", "scores", "counts")}
    return found | {"stats": evaluation.stats}, evaluation


def write(folder: Path, truth: Any, results: Any) -> tuple[Path, Path]:
    paths = folder / "truth.json", folder / "results.json"
    for path, document in zip(paths, (truth | {"info": {}}, results), strict=True):
        path.write_text(json.dumps(document))
    return paths


@pytest.mark.parametrize("kind", list(SETS))
def test_nothing_differs_and_nothing_is_made(kind, tmp_path):
    closed = 0
    for seed in range(14):
        truth, results = SETS[kind](seed)
        if not results:
            continue
        paths = write(tmp_path, truth, results)
        (ours, mine), (theirs, others) = compare(evaluate, *paths, kind)
        same_bits(ours, theirs)
        closed += mine.cocoGt.closed is not None and mine.cocoDt.closed is not None
        same_bits(mine.evalImgs, others.evalImgs)
        assert mine.cocoGt.closed is None
        mine.accumulate()
        same_bits(mine.eval["precision"], theirs["precision"])
    assert closed > 8


@pytest.mark.parametrize("settings", [{"useCats": 0}, {"maxDets": [1, 2, 3]}], ids=str)
def test_parameters_mean_the_same_for_files(settings, tmp_path):
    for seed in (1, 2, 5, 8):
        found = compare(evaluate, *write(tmp_path, *random_set(seed)), "bbox", **settings)
        same_bits(found[0][0], found[1][0])


@pytest.mark.parametrize("folder", QUIRKS, ids=lambda path: path.name)
def test_odd_files_are_as_odd(folder):
    paths = folder / "truth.json", folder / "results.json"
    if json.loads(paths[1].read_text()) == []:
        pytest.skip("pycocotools dies of an empty list")
    (ours, _), (theirs, _) = compare(evaluate, *paths, "bbox")
    same_bits(ours, theirs)


def test_a_record_that_was_edited_counts(tmp_path):
    def client(m: Any, truth: Path, pred: Path) -> Any:
        gt = m.coco.COCO(str(truth))
        dt = gt.loadRes(str(pred))
        for record in dt.dataset["annotations"][::2]:
            record["score"] = 0.0
        gt.anns[gt.getAnnIds()[0]]["iscrowd"] = 1
        evaluation = m.cocoeval.COCOeval(gt, dt, "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        return evaluation.eval["precision"]

    paths = write(tmp_path, *random_set(5))
    ours, theirs = compare(client, *paths)
    same_bits(ours, theirs)
    assert ours.tobytes() != evaluate(modules(OURS), *paths, "bbox")[0]["precision"].tobytes()


def test_some_images_or_classes_are_enough(tmp_path):
    truth, results = random_set(5)
    images, classes = [i["id"] for i in truth["images"]], [c["id"] for c in truth["categories"]]
    for settings in ({"imgIds": images[:3]}, {"catIds": classes[:1]}):
        found = compare(evaluate, *write(tmp_path, truth, results), "bbox", **settings)
        same_bits(found[0][0], found[1][0])


def test_a_file_that_is_gone_was_loaded(tmp_path):
    m = modules(OURS)
    truth, pred = write(tmp_path, *random_mask_set(5))
    gt = m.coco.COCO(str(truth))
    dt = gt.loadRes(str(pred))
    expected, _ = evaluate(m, truth, pred, "segm")
    for path in (truth, pred):
        path.unlink()
    evaluation = m.cocoeval.COCOeval(copy.deepcopy(gt), dt, "segm")
    evaluation.evaluate()
    evaluation.accumulate()
    same_bits(evaluation.eval["precision"], expected["precision"])
    assert len(gt.dataset["annotations"]) == len(gt.anns)


def test_a_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"a\.json: expected a file, found nothing") as caught:
        modules(OURS).coco.COCO(str(tmp_path / "a.json"))
    assert isinstance(caught.value, ValueError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_file_that_is_broken_says_so(tmp_path):
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(ValueError, match=r"a\.json: expected JSON"):
        modules(OURS).coco.COCO(str(tmp_path / "a.json"))
    (tmp_path / "a.json").write_text("[]")
    with pytest.raises(ValueError, match=r"a\.json: expected a JSON object, found list"):
        modules(OURS).coco.COCO(str(tmp_path / "a.json"))


def test_a_number_of_thousands_of_digits_is_named_when_records_are_asked_for(tmp_path: Path) -> None:
    document = {
        "images": [{"id": 1, "width": 9, "height": 9}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 4, 4], "area": 16, "note": "@"}],
    }
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(document).replace('"@"', "9" * 5000))
    coco = modules(OURS).coco.COCO(str(path))
    for _ in range(2):  # what was refused once is refused again, not called another mistake
        with pytest.raises(ReadError, match=r"truth\.json: expected JSON, found .*digits"):
            coco.loadAnns([1])
