"""verite under the name of pycocotools: what real clients do with it, beside the original."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.compat.beside import OURS, THEIRS, compare, load, modules
from tests.oracles.coco_sets import random_mask_set, random_set
from verite.compat.pycocotools import coco, cocoeval

# Random sets are odd on purpose, and the drop-in says so.
pytestmark = pytest.mark.filterwarnings("ignore:COCOeval:verite.errors.DataWarning")

original = pytest.importorskip("pycocotools", reason="the reference is not installed: pip install pycocotools")
SETS = range(40)
ROOT = Path(__file__).parents[2]


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
    if np.lib.NumpyVersion(np.__version__) >= "2.3.0":
        assert np.array_equal(ours.stats, theirs.stats)
    else:  # NumPy before 2.3 adds up 8,192 values at a time: the reference's means differ in their last bit
        np.testing.assert_allclose(ours.stats, theirs.stats, rtol=2**-51, atol=0)
    return ours, theirs


@pytest.mark.parametrize("kind", ["bbox", "segm"])
def test_evaluation_is_the_same_to_the_last_bit(kind: str, many: Callable[[int], int]) -> None:
    for seed in SETS[: many(len(SETS))]:
        truth, results = random_set(seed) if kind == "bbox" else random_mask_set(seed)
        if results:
            both(truth, results, kind)


@pytest.mark.parametrize("kind", ["caption", "bbox", "segmentation", "keypoints", "an array"])
def test_results_are_loaded_the_same(kind: str) -> None:
    def client(m: Any) -> Any:
        truth = {"images": [{"id": i, "height": 9, "width": 9} for i in (3, 1, 2)], "info": {"year": 2014},
                 "categories": [{"id": 7, "name": "cat"}], "annotations": []}  # fmt: skip
        gt = load(m.coco, truth)
        runs = m.mask.encode(np.asfortranarray(np.eye(9, dtype=np.uint8)))
        shape = {"caption": "a cat", "bbox": [1.5, 2, 3, 4], "segmentation": runs, "keypoints": [1, 2, 2, 5, 7, 1]}
        if kind == "an array":
            loaded = gt.loadRes(np.array([[1, 1.5, 2, 3, 4, 0.5, 7], [3, 0, 0, 1, 1, 0.25, 7]]))
        else:
            records = [{"image_id": i, "category_id": 7, "score": 0.5, kind: shape[kind]} for i in (1, 3, 1)]
            loaded = gt.loadRes(records)
        plain = json.loads(json.dumps(loaded.dataset, default=lambda v: v.tolist() if hasattr(v, "tolist") else str(v)))
        return plain, loaded.getImgIds(), loaded.getAnnIds(), loaded.getAnnIds(imgIds=1)

    ours, theirs = compare(client)
    assert ours == theirs


def test_results_that_are_none_are_an_index_error_as_there() -> None:
    """Evaluators catch it to say that nothing was detected."""
    truth = {"images": [{"id": 1}], "annotations": [], "categories": []}
    for m in (modules(OURS), modules(THEIRS)):
        gt = load(m.coco, truth)
        with pytest.raises(IndexError):
            gt.loadRes([])
    with pytest.raises(ValueError, match="results: expected at least one record"):
        load(coco, truth).loadRes([])


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([{"category_id": 1, "bbox": [0, 0, 1, 1], "score": 1}], r"results\[0\]: expected a record with 'image_id'"),
        ([{"image_id": 2, "category_id": 1, "bbox": [0, 0, 1, 1]}], "expected images of the ground truth, found 1"),
        ({"image_id": 1}, "results: expected an array of records"),
    ],
    ids=["no image", "another image", "no list"],
)
def test_results_that_do_not_fit_are_refused(records: Any, message: str) -> None:
    gt = load(coco, {"images": [{"id": 1}], "annotations": [], "categories": [{"id": 1}]})
    with pytest.raises(ValueError, match=message):
        gt.loadRes(records)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bbox": [0, 0, 1]}, r"results \(id 1\): expected four numbers as bbox, found \[0, 0, 1\]"),
        ({"bbox": [0, 0, 1, "x"]}, r"results \(id 1\): expected four numbers as bbox, found 'x'"),
        ({"score": None}, r"results \(id 1\): expected a number as score, found None"),
        ({"area": "large"}, r"results \(id 1\): expected a number as area, found 'large'"),
    ],
    ids=str,
)
def test_records_without_numbers_are_refused(change: Any, message: str) -> None:
    box = {"image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "score": 0.5}
    truth = {
        "images": [{"id": 1}],
        "categories": [{"id": 1}],
        "annotations": [{**box, "id": 1, "area": 25, "iscrowd": 0}],
    }
    gt = load(coco, truth)
    dt = gt.loadRes([box])
    dt.dataset["annotations"][0].update(change)
    with pytest.raises(ValueError, match=message):
        cocoeval.COCOeval(gt, dt, "bbox").evaluate()


@pytest.mark.parametrize("outline", [[[0, 0, 5, 5]], [], [[1, 2]], {"size": [9, 9], "counts": [100]}], ids=str)
def test_outlines_that_are_none_are_refused(outline: Any) -> None:
    ring = [[0, 0, 5, 0, 5, 5]]
    one = {"id": 1, "image_id": 1, "category_id": 1, "area": 25, "iscrowd": 0, "segmentation": outline}
    truth = {"images": [{"id": 1, "height": 9, "width": 9}], "categories": [{"id": 1}], "annotations": [one]}
    gt = load(coco, truth)
    dt = gt.loadRes([{"image_id": 1, "category_id": 1, "score": 1, "bbox": [0, 0, 5, 5], "segmentation": ring}])
    with pytest.raises(ValueError, match=r"annotations \(id 1\): expected"):
        cocoeval.COCOeval(gt, dt, "segm").evaluate()


def test_polygons_are_drawn_on_images_of_a_known_size() -> None:
    one = {"id": 1, "image_id": 1, "category_id": 1, "area": 25, "iscrowd": 0, "segmentation": [[0, 0, 5, 0, 5, 5]]}
    gt = load(coco, {"images": [{"id": 1}], "categories": [{"id": 1}], "annotations": [one]})
    dt = gt.loadRes([{"image_id": 1, "category_id": 1, "score": 1, "bbox": [0, 0, 5, 5]}])
    with pytest.raises(
        ValueError, match="images: expected a height and a width to draw polygons on, found none of image 1"
    ):
        cocoeval.COCOeval(gt, dt, "segm").evaluate()


INSTALL = """
import pycocotools.mask as before
import verite.compat
with verite.compat.install_as_pycocotools():
    from pycocotools import _mask, mask
    from pycocotools.coco import COCO, maskUtils
    from pycocotools.cocoeval import COCOeval, Params
    import pycocotools
    names = [thing.__module__ for thing in (COCO, COCOeval, Params, mask.iou, _mask.iou)]
    assert all(name.startswith("verite.compat.pycocotools") for name in names), names
    assert maskUtils is mask is pycocotools.mask
import pycocotools.mask as after
assert after is before
assert not pycocotools.__file__.endswith("site-packages/pycocotools/__init__.py")
import pycocotools
assert pycocotools.mask is before
verite.compat.install_as_pycocotools()
import pycocotools.mask as for_good
assert for_good is mask
"""


def test_verite_stands_in_for_a_block_or_for_good() -> None:
    done = subprocess.run([sys.executable, "-c", INSTALL], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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


def test_thresholds_may_be_a_list() -> None:
    """pycocotools compares the list with 0.5 and finds nothing: AP50 is -1, or numpy raises an error."""
    truth, results = random_set(5)
    listed, _ = run(coco, cocoeval, truth, results, "bbox", iouThrs=[0.5, 0.75])
    array, _ = run(coco, cocoeval, truth, results, "bbox", iouThrs=np.array([0.5, 0.75]))
    assert listed.stats.tobytes() == array.stats.tobytes()
    assert listed.stats[1] >= 0
    try:
        from pycocotools import coco as their_coco
        from pycocotools import cocoeval as their_eval

        theirs, _ = run(their_coco, their_eval, truth, results, "bbox", iouThrs=[0.5, 0.75])
    except (TypeError, IndexError, ValueError):
        return
    assert theirs.stats[1] == -1


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


def test_what_looks_wrong_is_said_and_does_not_stop(tmp_path):
    box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 5], "area": 25, "iscrowd": 0}
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": [box]}
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    with contextlib.redirect_stdout(io.StringIO()):
        first = coco.COCO(tmp_path / "truth.json")
        found = first.loadRes([{"image_id": 1, "category_id": 1, "bbox": [float("nan"), 0, 5, 5], "score": 0.5}])
        with pytest.warns(UserWarning, match="COCOeval: V111 1 of 1 boxes has coordinates that are NaN or infinite"):
            cocoeval.COCOeval(first, found, "bbox").evaluate()


TYPED = """
import verite.compat
from verite.compat.pycocotools import _mask, mask
from verite.compat.pycocotools.coco import COCO, _isArrayLike, maskUtils
from verite.compat.pycocotools.cocoeval import COCOeval, Params

with verite.compat.install_as_pycocotools() as installed:
    names: list[str] = list(installed.before)
truth = COCO("truth.json")
evaluation = COCOeval(truth, truth.loadRes("pred.json"), "bbox")
params: Params = evaluation.params
found: bool = _isArrayLike(params.maxDets)
overlaps = [maskUtils.iou, mask.iou, _mask.iou]
evaluation.evaluate(truth)
"""


@pytest.mark.slow
def test_names_are_typed_where_clients_look_for_them(tmp_path):
    checker = pytest.importorskip("mypy.api", reason="mypy is not installed")
    client = tmp_path / "client.py"
    client.write_text(TYPED)
    told, _, _ = checker.run(["--strict", "--config-file", str(ROOT / "pyproject.toml"), str(client)])
    assert [line.partition(": ")[2] for line in told.splitlines() if "error" in line and "Found" not in line] == [
        'error: Too many arguments for "evaluate" of "COCOeval"  [call-arg]'
    ]
