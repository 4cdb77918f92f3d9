"""COCO's files: numbers, findings and digests need no numpy, and do not depend on who has asked for arrays before.

That they are the reference's is shown in test_coco_reference.py.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.coco_sets import random_mask_set, random_set

Documents = tuple[dict[str, Any], list[dict[str, Any]]]
SETTINGS: list[dict[str, Any]] = [
    {},
    {"iou": [0.5, 0.31, 1.0]},
    {"iou": np.linspace(0.05, 0.95, 19)},  # more than sixteen
    {"iou": 0.6, "max_dets": 3},
    {"max_dets": [2, 50, 200], "ignored": "explicit"},
    {"areas": {"whole": (0, 1e9), "tiny": (0, 100), "none": (1e8, 1e9)}},
]


def write(folder: Path, truth: Any, results: Any) -> tuple[Path, Path]:
    paths = folder / "truth.json", folder / "results.json"
    for path, document in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(document))
    return paths


def read(paths: tuple[Path, Path], *, in_memory: bool = False) -> tuple[vt.Annotations, vt.Annotations]:
    truth = vt.read(paths[0])
    pred = vt.read(paths[1], like=truth)
    if in_memory:
        for side in (truth, pred):
            assert len(side.image) == len(side.regions.boxes) == len(side.label)
    return truth, pred


def altered(seed: int, documents: Documents) -> Documents:
    """The same with what files may leave out or have in addition."""
    truth, results = documents
    rng = np.random.default_rng([seed, 7])
    for image in truth["images"]:
        if seed % 3 == 1 and rng.random() < 0.5:
            del image["file_name"]
        if seed % 5 == 4:
            image["license"] = {"id": [1, {"x": "ü"}]}
    for record in truth["annotations"]:
        if seed % 8 == 1 and rng.random() < 0.4:
            del record["area"]
        if seed % 7 == 3:
            record.pop("iscrowd")
        if seed % 7 == 5:
            del record["id"]
    if seed % 8 == 3:
        truth["annotations"] = [{k: v for k, v in r.items() if k != "area"} for r in truth["annotations"]]
    if seed % 3 == 2:
        truth["images"].sort(key=lambda image: image["id"])
        truth["categories"].sort(key=lambda category: category["id"])
    for number, record in enumerate(results):
        if seed % 5 == 1:
            record["id"] = number
    return truth, results


def facts(results: vt.CocoResults) -> Any:
    return (
        str(results),
        results.to_json(),
        {key: repr(score.value) for key, score in results.scores.items()},
        repr(results.class_scores()),
        results.findings,
        results.truth.box_digest,
        results.pred.box_digest,
    )


@pytest.mark.parametrize("on", ["box", "mask"])
@pytest.mark.parametrize("first", range(0, 240, 40))
def test_asking_for_arrays_changes_nothing(tmp_path: Path, on: Any, first: int) -> None:
    if on == "mask":
        pytest.importorskip("pycocotools", reason="random masks are made by pycocotools: pip install pycocotools")
    for seed in range(first, first + 40):
        paths = write(tmp_path, *altered(seed, random_set(seed) if on == "box" else random_mask_set(seed)))
        settings = {"on": on, "checks": ("warn", "off")[seed % 2], **SETTINGS[seed % len(SETTINGS)]}
        found = vt.coco(*read(paths), **settings)
        expected = vt.coco(*read(paths, in_memory=True), **settings)
        assert facts(found) == facts(expected), seed
        assert (found.truth.digest, found.pred.digest) == (expected.truth.digest, expected.pred.digest), seed


def sample(tmp_path: Path, **changes: Any) -> tuple[Path, Path]:
    """Forty objects in four images, found well, in files with nothing unusual."""
    images = [{"id": i, "file_name": f"{i}.jpg", "width": 200, "height": 100} for i in (7, 3, 11, 5)]
    categories = [{"id": 2, "name": "cat"}, {"id": 1, "name": "dog"}]
    annotations, results = [], []
    for i in range(40):
        place = {"image_id": (7, 3, 11, 5)[i % 4], "category_id": 1 + i % 2}
        box = [4.0 * i, 10.0, 10.0 + i % 7, 12.5]
        x, y, w, h = box
        ring = [x, y, x + w, y, x + w, y + h, x, y + h]
        annotations.append({"id": i + 1, **place, "bbox": box, "area": w * h, "iscrowd": 0, "segmentation": [ring]})
        results.append({**place, "bbox": [x, y, w, h - 1 - i % 3], "score": 0.9 - 0.022 * i, "segmentation": [ring]})
    truth = {"images": images, "categories": categories, "annotations": annotations} | changes
    return write(tmp_path, truth, results)


@pytest.mark.parametrize(("on", "checks"), [("box", "stop"), ("mask", "off")])
def test_numpy_is_not_needed(tmp_path: Path, on: str, checks: str) -> None:
    """Predicted polygons and masks are checked with NumPy (V407), so masks need it unless checks are off."""
    truth, results = map(str, sample(tmp_path))
    program = (
        f"import sys, verite as vt; t = vt.read({truth!r}); p = vt.read({results!r}, like=t)\n"
        f"r = vt.coco(t, p, on={on!r}, checks={checks!r}); print(r); print(r.to_json())\n"
        "print('numpy' in sys.modules)\n"
        "print(len(r.precision), 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["False", "10 True"]


@pytest.mark.parametrize("on", ["box", "mask"])
def test_any_number_of_threads_gives_the_same_bytes(tmp_path: Path, on: Any) -> None:
    paths = sample(tmp_path)
    documents = set()
    for threads in (1, 2, 3, 7, 1000):
        found = vt.coco(*read(paths), on=on, threads=threads)
        documents.add((str(found), found.to_json()))
    assert len(documents) == 1


def test_stages_are_there_for_who_asks(tmp_path: Path) -> None:
    results = vt.coco(*read(sample(tmp_path)))
    values = results.arrays.precision[:, :, :, 0, -1]
    assert results.scores["AP"].value == values.ravel().mean()
    assert results.matches(0.5).counted_truth.sum() == 40
    assert len(results.image_table().rows) == 4


def test_what_is_not_there_is_absent(tmp_path: Path) -> None:
    results = vt.coco(*read(sample(tmp_path)), iou=[0.6], areas={"all": (0, 1e10), "none": (1e9, 1e10)})
    assert np.isnan([results.scores[key].value for key in ("AP50", "AP75", "APnone", "ARnone")]).all()
    assert np.isnan(results.class_scores()["AP50"]).all()


def test_predictions_share_the_tables_of_their_truth(tmp_path: Path) -> None:
    truth, pred = read(sample(tmp_path))
    with ThreadPoolExecutor(8) as pool:
        tables = list(pool.map(lambda side: side.images, [pred, truth] * 20))
    assert all(table is tables[0] for table in tables)
    assert pred.images is truth.images
    assert pred.labels is truth.labels
    assert pred.like(truth) is pred


def test_looking_and_evaluating_at_the_same_time(tmp_path: Path) -> None:
    paths = sample(tmp_path)
    expected = vt.coco(*read(paths, in_memory=True), on="mask").to_json()
    for _ in range(30):
        truth, pred = read(paths)
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(lambda t=truth, p=pred: vt.coco(t, p, on="mask").to_json()) for _ in range(3)]
            asked.append(pool.submit(lambda t=truth: t.digest))
            opened = pool.submit(lambda t=truth: t.image.sum())
            assert {job.result() for job in asked[:3]} == {expected}
            assert opened.result() == 60


@pytest.mark.parametrize(
    "change",
    [
        {"images": []},
        {"categories": [{"id": 1, "name": "cat"}, {"id": 1, "name": "dog"}]},
        {"categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": ""}]},
        {"categories": [{"id": 1, "name": "cat"}]},
        {"categories": [{"id": 1, "name": "cat"}, {"id": 2}]},
        {"images": [{"id": i, "width": 5} for i in (3, 5, 7, 11)]},
        {"images": [{"id": i, "width": -5, "height": 5} for i in (3, 5, 7, 11)]},
        {"images": [{"id": i, "width": 70_000, "height": 5} for i in (3, 5, 7, 11)]},
        {"images": [{"id": i, "width": 60_000, "height": 60_000} for i in (3, 5, 7, 11)]},
        {"images": [{"id": i} for i in (3, 5, 7, 7)]},
        {"images": [{"id": str(i)} for i in (3, 5, 7, 11)]},
        {"annotations": [{"image_id": 3, "category_id": 1}]},
    ],
    ids=str,
)
def test_what_is_wrong_is_said_when_it_is_read(tmp_path: Path, change: Any) -> None:
    with pytest.raises(vt.ReadError, match="expected"):
        vt.read(sample(tmp_path, **change)[0])


def test_classes_of_the_same_name_are_told_apart_at_once(tmp_path: Path) -> None:
    truth = vt.read(sample(tmp_path, categories=[{"id": 2, "name": "cat"}, {"id": 1, "name": "cat"}])[0])
    assert truth.labels.names == ("cat (id 2)", "cat (id 1)")


def test_a_large_file_that_was_changed_before_its_masks_were_read(tmp_path: Path) -> None:
    paths = sample(tmp_path)
    paths[1].write_text(paths[1].read_text() + " " * (1 << 20))
    truth, pred = read(paths)
    paths[1].write_text(paths[1].read_text() + " ")
    assert vt.coco(truth, pred).scores["AP50"].value == 1
    with pytest.raises(vt.ReadError, match="expected the file as it was when first read"):
        vt.coco(truth, pred, on="mask")


def test_a_wrong_ring_is_named_with_its_place(tmp_path: Path) -> None:
    paths = sample(tmp_path)
    results = json.loads(paths[1].read_text())
    results[5]["segmentation"] = [[1.0, 2.0, 3.0, 4.0]]
    paths[1].write_text(json.dumps(results))
    with pytest.raises(vt.ReadError, match=r"results\[5\]\.segmentation: expected a ring of 3 points"):
        vt.coco(*read(paths), on="mask")


def test_a_confidence_that_is_no_number(tmp_path: Path) -> None:
    paths = sample(tmp_path)
    results = json.loads(paths[1].read_text())
    results[5]["score"] = float("nan")
    paths[1].write_text(json.dumps(results))
    with pytest.raises(vt.DataError, match="expected a confidence for every prediction"):
        vt.coco(*read(paths), checks="off")


def test_nothing_is_kept_that_nobody_has(tmp_path: Path) -> None:
    truth, pred = read(sample(tmp_path))
    gc.disable()  # what goes, goes at once
    try:
        gone = [weakref.ref(side) for side in (truth, pred, truth.regions)]
        del truth, pred
        assert [side() for side in gone] == [None, None, None]
    finally:
        gc.enable()


def test_attributes_that_are_nowhere(tmp_path: Path) -> None:
    truth, _ = read(sample(tmp_path))
    assert not hasattr(truth, "nonsense")
    with pytest.raises(AttributeError, match="'Annotations' object has no attribute 'nonsense'"):
        truth.nonsense  # type: ignore[attr-defined]  # noqa: B018
    assert repr(truth).startswith("Annotations: 40 objects of 2 classes in 4 images")


def test_images_with_one_side_that_is_nothing(tmp_path: Path) -> None:
    for side in ("width", "height"):
        paths = sample(tmp_path, images=[{"id": i, side: 0} for i in (3, 5, 7, 11)])
        with pytest.raises(vt.DataError, match="expected the size of every image to draw masks"):
            vt.coco(*read(paths), on="mask", checks="off")


def test_masks_that_were_read_need_no_file(tmp_path: Path) -> None:
    paths = sample(tmp_path)
    truth, pred = read(paths)
    results = vt.coco(truth, pred, on="mask")
    expected = results.to_json()
    paths[1].write_text("[]")
    assert vt.coco(truth, pred, on="mask").to_json() == expected
    assert repr(pred).startswith("Annotations: 40 predictions")
    assert results.to_json() == expected
    assert results.precision.shape[0] == 10
    assert vt.coco(truth, pred, on="mask").to_json() == expected


def test_who_is_interrupted_while_numpy_is_imported_can_try_again(tmp_path: Path) -> None:
    program = f"""
import sys, verite as vt
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            sys.meta_path.remove(self)
            raise KeyboardInterrupt
truth = vt.read({str(sample(tmp_path)[0])!r})
sys.meta_path.insert(0, Interrupted())
try:
    truth.image
except KeyboardInterrupt:
    print("interrupted")
print(len(truth.image), len(truth.images.names))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["interrupted", "40 4"]


def test_limits_may_be_raised_beyond_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IMAGE_SIDE", "IMAGE_PIXELS", "POLYGON_POINTS", "COORDINATE"):
        monkeypatch.setenv(f"VERITE_LIMIT_{name}", str(10**30))
    assert vt.coco(*read(sample(tmp_path)), on="mask").scores["AP50"].value == 1


def test_counts_and_names_of_fields_are_known_at_once(tmp_path: Path) -> None:
    truth, pred = read(sample(tmp_path))
    assert (truth.counts, pred.counts) == ((40, 2, 4), (40, 2, 4))
    assert {"image", "label", "regions", "confidence", "take"} <= set(dir(truth))


def test_commands_need_no_numpy_either(tmp_path: Path) -> None:
    truth, results = map(str, sample(tmp_path))
    program = f"import sys, verite.cli as c; c.run(['coco', {truth!r}, {results!r}]); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("ask", [vt.read, vt.inspect])
def test_too_many_classes_are_refused_before_they_are_looked_at_one_by_one(ask, tmp_path, monkeypatch):
    classes = [{"id": i, "name": f"c{i}"} for i in range(4)]
    (tmp_path / "a.json").write_text(json.dumps({"images": [], "categories": classes, "annotations": []}))
    monkeypatch.setenv("VERITE_LIMIT_CLASSES", "3")
    monkeypatch.setattr("verite.formats.coco_errors.RecordFilter", None)
    with pytest.raises(vt.ReadError, match=r"a\.json: categories: expected at most 3 classes, found 4; .*_CLASSES"):
        ask(tmp_path / "a.json")
    monkeypatch.setenv("VERITE_LIMIT_CLASSES", "4")
    assert len(vt.read(tmp_path / "a.json").labels) == 4
