"""verite under the name of pycocotools: what real clients do with it, beside the original."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.oracles.coco_sets import random_mask_set, random_set
from verite.compat.pycocotools import coco, cocoeval, mask

# Random sets are odd on purpose, and the drop-in says so.
pytestmark = pytest.mark.filterwarnings("ignore:COCOeval:verite.errors.DataWarning")

original = pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
SETS = range(40)


@pytest.fixture(autouse=True)
def _old_reference() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # its decode() is behind numpy's times
        yield


def run(module: Any, evaluation: Any, truth: Any, results: Any, kind: str, **settings: Any) -> tuple[Any, str]:
    """A client's three calls, and what was printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        gt = module.COCO()
        gt.dataset = json.loads(json.dumps(truth))
        gt.createIndex()
        client = evaluation.COCOeval(gt, gt.loadRes(json.loads(json.dumps(results))), kind)
        for name, value in settings.items():
            setattr(client.params, name, value)
        client.evaluate()
        client.accumulate()
        client.summarize()
    return client, printed.getvalue()


def both(truth: Any, results: Any, kind: str, **settings: Any) -> tuple[Any, Any]:
    from pycocotools import coco as their_coco
    from pycocotools import cocoeval as their_eval

    (ours, our_text), (theirs, their_text) = (
        run(coco, cocoeval, truth, results, kind, **settings),
        run(their_coco, their_eval, truth, results, kind, **settings),
    )
    numbers = [[line for line in text.splitlines() if "@[" in line] for text in (our_text, their_text)]
    assert numbers[0] == numbers[1]
    for key in ("precision", "recall", "scores"):
        assert ours.eval[key].tobytes() == np.ascontiguousarray(theirs.eval[key]).tobytes(), key
    assert list(ours.eval["counts"]) == list(theirs.eval["counts"])
    assert np.array_equal(ours.stats, theirs.stats)
    return ours, theirs


@pytest.mark.parametrize("kind", ["bbox", "segm"])
def test_evaluation_is_the_same_to_the_last_bit(kind: str) -> None:
    for seed in SETS:
        truth, results = random_set(seed) if kind == "bbox" else random_mask_set(seed)
        if results:
            both(truth, results, kind)


@pytest.mark.parametrize(
    "settings",
    [
        {"useCats": 0},
        {"maxDets": [1, 5, 20]},
        {"maxDets": [100, 10, 1]},
        {"iouThrs": np.array([0.3, 0.5, 0.75])},
        {"iouThrs": np.linspace(0.01, 0.99, 70)},
        {"recThrs": np.linspace(0, 1, 11)},
        {"areaRng": [[0, 1e10], [100, 2000], [0, 0], [5, 1e3]]},
    ],
    ids=str,
)
def test_parameters_mean_the_same(settings: dict[str, Any]) -> None:
    for seed in (1, 2, 5, 8):
        both(*random_set(seed), "bbox", **settings)


def test_images_and_classes_can_be_chosen() -> None:
    truth, results = random_set(5)
    images, classes = [i["id"] for i in truth["images"]], [c["id"] for c in truth["categories"]]
    both(truth, results, "bbox", imgIds=images[:3], catIds=classes[:1])


def test_what_happened_in_each_image_is_the_same() -> None:
    for seed in range(12):
        truth, results = random_set(seed)
        if not results:
            continue
        ours, theirs = both(truth, results, "bbox")
        assert len(ours.evalImgs) == len(theirs.evalImgs)
        for mine, other in zip(ours.evalImgs, theirs.evalImgs, strict=True):
            assert (mine is None) == (other is None)
            if mine is None:
                continue
            assert set(mine) == set(other)
            for key, value in other.items():
                assert np.array_equal(np.asarray(mine[key]), np.asarray(value)), key
        assert set(ours.ious) == set(theirs.ious)
        for cell, value in theirs.ious.items():
            assert np.array_equal(np.asarray(ours.ious[cell]), np.asarray(value)), cell


def test_a_client_may_put_its_own_images_in_place() -> None:
    """As training on several machines does: evalImgs are gathered, then accumulated."""
    truth, results = random_set(5)
    ours, theirs = both(truth, results, "bbox")
    gathered, _ = run(coco, cocoeval, truth, results, "bbox")
    gathered.evalImgs = list(theirs.evalImgs)
    with contextlib.redirect_stdout(io.StringIO()):
        gathered.accumulate()
    for key in ("precision", "recall", "scores"):
        assert gathered.eval[key].tobytes() == np.ascontiguousarray(theirs.eval[key]).tobytes()
    assert ours.eval["precision"].shape == gathered.eval["precision"].shape


def random_masks(rng: np.random.Generator, count: int) -> Any:
    height, width = rng.integers(1, 40, 2)
    return np.asfortranarray((rng.random((height, width, count)) < rng.random()).astype(np.uint8))


def test_masks_are_the_same() -> None:
    from pycocotools import mask as reference

    rng = np.random.default_rng(3)
    for _ in range(200):
        pixels = random_masks(rng, 4)
        ours, theirs = mask.encode(pixels), reference.encode(pixels)
        assert ours == theirs
        assert mask.encode(pixels[:, :, 0]) == theirs[0]
        assert np.array_equal(mask.decode(theirs), pixels)
        assert np.array_equal(mask.decode(theirs[0]), pixels[:, :, 0])
        for function in ("area", "toBbox"):
            got, expected = getattr(mask, function)(theirs), getattr(reference, function)(theirs)
            assert got.dtype == expected.dtype
            assert np.array_equal(got, expected)
        for intersect in (0, 1):
            assert mask.merge(theirs, intersect) == reference.merge(theirs, intersect)
        crowd = rng.integers(0, 2, 4).tolist()
        assert mask.iou(theirs, theirs, crowd).tobytes() == reference.iou(theirs, theirs, crowd).tobytes()


def test_shapes_are_drawn_the_same() -> None:
    from pycocotools import mask as reference

    rng = np.random.default_rng(4)
    for _ in range(300):
        height, width = (int(side) for side in rng.integers(5, 60, 2))
        rings = [(rng.random(2 * int(rng.integers(3, 12))) * 80 - 10).round(2).tolist() for _ in range(3)]
        assert mask.frPyObjects(rings, height, width) == reference.frPyObjects(rings, height, width)
        boxes = rng.random((3, 4)) * 40
        assert mask.frPyObjects(boxes, height, width) == reference.frPyObjects(boxes, height, width)
        counts = np.diff(np.sort(rng.integers(0, height * width, 6)), prepend=0, append=height * width).tolist()
        runs = {"size": [height, width], "counts": counts}
        assert mask.frPyObjects(runs, height, width) == reference.frPyObjects(runs, height, width)


def test_boxes_overlap_the_same() -> None:
    from pycocotools import mask as reference

    rng = np.random.default_rng(5)
    for _ in range(200):
        dt, gt = rng.random((5, 4)) * 50, rng.random((4, 4)) * 50
        crowd = rng.integers(0, 2, 4).tolist()
        assert mask.iou(dt, gt, crowd).tobytes() == reference.iou(dt, gt, crowd).tobytes()


@pytest.mark.parametrize(
    "broken",
    [
        {"size": [10, 10], "counts": b"\xff\xff"},
        {"size": [10, 10], "counts": b"000000000000000"},
        {"size": [10, 10], "counts": [5, 5]},
        {"size": [10, 10], "counts": [-1, 101]},
        {"size": [-1, 10], "counts": b""},
        {"size": [2**20, 2**20], "counts": b"1"},
    ],
    ids=str,
)
def test_broken_masks_are_refused(broken: Any) -> None:
    for function in (mask.decode, mask.area, mask.toBbox):
        with pytest.raises(ValueError, match="mask: expected"):
            function(broken)


def test_annotations_are_found_the_same() -> None:
    from pycocotools.coco import COCO

    truth, results = random_mask_set(6)
    found = []
    for module in (coco.COCO, COCO):
        with contextlib.redirect_stdout(io.StringIO()):
            api = module()
            api.dataset = json.loads(json.dumps(truth))
            api.createIndex()
            loaded = api.loadRes(json.loads(json.dumps(results)))
        images, classes = api.getImgIds(), api.getCatIds()
        anns = api.loadAnns(api.getAnnIds(imgIds=images[:2], catIds=classes[:1], areaRng=[10, 5000], iscrowd=0))
        pixels = [api.annToMask(ann) for ann in api.loadAnns(api.getAnnIds())[:5]]
        found.append(
            (images, classes, api.getCatIds(catNms=["class 1"]), sorted(api.getImgIds(catIds=classes[0])),
             api.loadImgs(images[0]), api.loadCats(classes), anns, [p.tolist() for p in pixels],
             [(a["id"], a["area"], np.asarray(a["bbox"]).tolist()) for a in loaded.dataset["annotations"]])
        )  # fmt: skip
    assert found[0] == found[1]


# What the evaluation demo that comes with pycocotools does, line by line.
DEMO = """
import verite.compat
verite.compat.install_as_pycocotools()
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
import numpy as np
import sys

annType = ['segm','bbox','keypoints']
annType = annType[int(sys.argv[3])]      #specify type here
print('Running demo for *%s* results.'%(annType))
cocoGt=COCO(sys.argv[1])
cocoDt=cocoGt.loadRes(sys.argv[2])
imgIds=sorted(cocoGt.getImgIds())
imgIds=imgIds[0:100]
imgId = imgIds[np.random.randint(len(imgIds))]
cocoEval = COCOeval(cocoGt,cocoDt,annType)
cocoEval.params.imgIds  = imgIds
cocoEval.evaluate()
cocoEval.accumulate()
cocoEval.summarize()
assert COCO.__module__.startswith("verite"), COCO
"""


@pytest.mark.parametrize(("place", "kind", "make"), [(0, "segm", random_mask_set), (1, "bbox", random_set)])
def test_the_evaluation_demo_of_pycocotools_runs(tmp_path: Path, place: int, kind: str, make: Any) -> None:
    from pycocotools import coco as their_coco
    from pycocotools import cocoeval as their_eval

    truth, results = make(5)
    for name, document in (("truth", truth), ("results", results)):
        (tmp_path / name).write_text(json.dumps(document))
    words = [sys.executable, "-c", DEMO, str(tmp_path / "truth"), str(tmp_path / "results"), str(place)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"Running demo for *{kind}* results." in done.stdout
    _, expected = run(their_coco, their_eval, truth, results, kind)
    printed = [line for line in done.stdout.splitlines() if "@[" in line]
    assert len(printed) == 12
    assert printed == [line for line in expected.splitlines() if "@[" in line]


TORCHMETRICS = """
import sys, warnings
warnings.simplefilter("ignore")
if sys.argv[1] == "verite":
    import verite.compat
    verite.compat.install_as_pycocotools()
import numpy as np, torch
# A torchvision that was built for another torch lacks its native operators. Nobody calls them here.
operators = torch.library.Library("torchvision", "FRAGMENT")
for _ in range(9):
    try:
        import torchvision
    except RuntimeError as error:
        missing = str(error).partition("torchvision::")[2].split()[0]
        operators.define(missing + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        for name in [name for name in sys.modules if name.startswith("torchvision")]:
            del sys.modules[name]
from torchmetrics.detection import MeanAveragePrecision
rng = np.random.default_rng(1)
for kind in ("bbox", "segm"):
    metric = MeanAveragePrecision(iou_type=kind, class_metrics=True, extended_summary=True, backend="pycocotools")
    for _ in range(12):
        preds, target = [], []
        for _ in range(2):
            n, m = rng.integers(0, 6, 2)
            corners = torch.tensor(rng.random((n, 2)) * 40), torch.tensor(rng.random((m, 2)) * 40)
            boxes = [torch.cat([c, c + 4 + 30 * torch.tensor(rng.random(c.shape))], 1).float() for c in corners]
            boxes[1][: min(n, m)] = boxes[0][: min(n, m)] + torch.tensor(rng.normal(0, 1, (min(n, m), 4))).float()
            masks = [torch.zeros((len(b), 80, 80), dtype=torch.bool) for b in boxes]
            for pixels, side in zip(masks, boxes):
                for one, (a, b, c, d) in zip(pixels, side.int().tolist()):
                    one[b:d, a:c] = True
            shape = [{"boxes": b} if kind == "bbox" else {"masks": p} for b, p in zip(boxes, masks)]
            scores = torch.tensor(rng.choice([0.2, 0.5, 0.5, 0.9], n)).float()
            preds.append({**shape[0], "scores": scores, "labels": torch.tensor(rng.integers(0, 3, n))})
            target.append({**shape[1], "labels": torch.tensor(rng.integers(0, 3, m)),
                           "iscrowd": torch.tensor((rng.random(m) < 0.2).astype(int))})
        metric.update(preds, target)
    result = metric.compute()
    for key in sorted(result):
        value = result[key]
        if isinstance(value, dict):
            value = {str(k): np.asarray(v).tobytes().hex() for k, v in value.items()}
        else:
            value = np.asarray(value).tobytes().hex()
        print(kind, key, value)
print(sys.modules["pycocotools.cocoeval"].COCOeval.__module__)
"""


def test_torchmetrics_gives_identical_results_on_verite() -> None:
    if not all(find_spec(name) for name in ("torch", "torchvision", "torchmetrics")):
        pytest.skip("torch, torchvision and torchmetrics are not installed: make clients")
    answers = []
    for backend in ("pycocotools", "verite"):
        words = [sys.executable, "-c", TORCHMETRICS, backend]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        *lines, module = done.stdout.splitlines()
        assert ("verite" in module) == (backend == "verite"), module
        answers.append(lines)
    assert len(answers[0]) > 30
    assert answers[0] == answers[1]


def test_what_looks_wrong_is_said_and_does_not_stop(tmp_path):
    box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "area": 25, "iscrowd": 0}
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [box]}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    with contextlib.redirect_stdout(io.StringIO()):
        first = coco.COCO(tmp_path / "truth.json")
        found = first.loadRes([{"image_id": 1, "category_id": 1, "bbox": [float("nan"), 0, 5, 5], "score": 0.5}])
        with pytest.warns(UserWarning, match="COCOeval: V111 1 of 1 boxes has coordinates that are NaN or infinite"):
            cocoeval.COCOeval(first, found, "bbox").evaluate()


@pytest.mark.parametrize(
    "call",
    [
        lambda: mask.area({"size": [10, 10], "counts": [2**63 - 1, 2**63 - 1, 102]}),  # 100 modulo 2^64
        lambda: mask.area({"size": [float("inf"), 10], "counts": b"abc"}),
        lambda: mask.frPyObjects([[0, 0, 5, 0, 5, 5]], 2**31, 1),
        lambda: mask.frPyObjects(np.array([[0.0, 0, 5, 5]]), -1, 1),
    ],
    ids=["runs that wrap around", "an infinite side", "a side of 2^31", "a negative side"],
)
def test_impossible_masks_are_refused(call):
    with pytest.raises(ValueError, match="mask: expected"):
        call()
