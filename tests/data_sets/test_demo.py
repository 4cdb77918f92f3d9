"""The demo data: is what the files say true of each other, and of the pictures?"""

import json
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from pycocotools import mask as coco_mask

import verite as vt
from tests.data_sets import plain_voc

# pycocotools 2.0 does not know numpy 2's `copy` keyword yet.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

DEMO = Path(str(files("verite") / "data" / "demo"))
DETECTORS = ("hawk", "magpie", "mole")
EMPTY = "beach-4126.png"

DOCUMENT = json.loads((DEMO / "truth.json").read_text())
SIZES = {image["id"]: (image["height"], image["width"]) for image in DOCUMENT["images"]}
LABELS = {category["id"]: category["name"] for category in DOCUMENT["categories"]}
RESULTS = {name: json.loads((DEMO / f"{name}.json").read_text()) for name in DETECTORS}


def oracle_mask(record):
    """The pixels of a record as pycocotools sees them."""
    shape = SIZES[record["image_id"]]
    found = record["segmentation"]
    if isinstance(found, list):
        found = coco_mask.merge(coco_mask.frPyObjects(found, *shape))
    elif isinstance(found["counts"], list):
        assert sum(found["counts"]) == shape[0] * shape[1]
        found = coco_mask.frPyObjects(found, *shape)
    assert tuple(found["size"]) == shape
    return coco_mask.decode(found).astype(bool)


def bounds(mask):
    """Left, top, right and bottom of the pixels, as continuous coordinates."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return columns[0], rows[0], columns[-1] + 1, rows[-1] + 1


def corners(box):
    x, y, width, height = box
    return x, y, x + width, y + height


@pytest.fixture(scope="module")
def truth():
    return vt.read(DEMO / "truth.json")


@pytest.fixture(scope="module")
def voc():
    return vt.read(DEMO / "truth-voc")


def test_truth_has_the_pictures_and_the_labels(truth):
    assert len(truth.images) == 36
    assert set(truth.labels.names) == {"bird", "boat", "car", "dog", "house", "kite", "person", "tree"}
    assert len(truth) == len(DOCUMENT["annotations"])
    assert truth.crowd.sum() == 5
    assert min(truth.images.ids) > 0
    assert len(set(truth.ids.tolist())) == len(truth)
    assert {p.name for p in (DEMO / "images").iterdir()} == set(truth.images.names)


def test_every_picture_has_its_size_and_one_to_ten_objects_but_one(truth):
    per_image = Counter(truth.image.tolist())
    for i, name in enumerate(truth.images.names):
        with Image.open(DEMO / "images" / name) as picture:
            assert picture.size == (truth.images.widths[i], truth.images.heights[i])
        assert per_image[i] == 0 if name == EMPTY else 1 <= per_image[i] <= 10


def test_all_of_it_is_small():
    assert sum(p.stat().st_size for p in DEMO.rglob("*") if p.is_file()) < 1_000_000


def test_objects_come_in_every_size_and_as_polygons_and_masks(truth):
    small, large = truth.area < 32**2, truth.area > 96**2
    assert small.sum() > 50
    assert large.sum() >= 5
    assert (~small & ~large).sum() > 50
    kinds = Counter(type(a["segmentation"]).__name__ for a in DOCUMENT["annotations"])
    assert kinds["list"] > 5 * kinds["dict"] > 50
    spellings = Counter(
        (a["iscrowd"], type(a["segmentation"]["counts"]).__name__)
        for a in DOCUMENT["annotations"]
        if isinstance(a["segmentation"], dict)
    )
    assert set(spellings) == {(1, "list"), (0, "str")}


def test_masks_of_the_truth_agree_with_area_and_box():
    for record in DOCUMENT["annotations"]:
        mask = oracle_mask(record)
        assert abs(int(mask.sum()) - record["area"]) <= 1, record["id"]
        np.testing.assert_allclose(bounds(mask), corners(record["bbox"]), atol=1, err_msg=str(record["id"]))


def test_masks_show_what_can_be_seen_so_no_two_of_a_picture_share_much():
    for image in SIZES:
        masks = [oracle_mask(a) for a in DOCUMENT["annotations"] if a["image_id"] == image]
        twice = np.sum(masks, axis=0) > 1 if masks else np.zeros(1)
        assert twice.sum() <= 0.02 * sum(m.sum() for m in masks)  # outlines are drawn with few points


def test_voc_folder_says_the_same_boxes_as_pixel_indices_from_one(truth, voc):
    like = voc.like(truth)
    assert np.array_equal(like.image[np.argsort(like.image, kind="stable")], np.sort(truth.image))
    order = np.argsort(like.image, kind="stable")
    assert np.array_equal(truth.image, like.image[order])
    assert [voc.labels.name(i) for i in voc.label[order]] == [truth.labels.name(i) for i in truth.label]
    assert np.array_equal(like.regions.boxes[order], truth.regions.boxes + np.array([1, 1, 0, 0]))
    assert np.array_equal(voc.images.widths, [truth.images.widths[truth.images.find(n)] for n in voc.images.names])


def test_voc_folder_flags_crowds_and_a_few_others(truth, voc):
    order = np.argsort(voc.like(truth).image, kind="stable")
    difficult = voc.difficult[order]
    assert np.all(difficult[truth.crowd])
    assert 10 <= difficult.sum() <= 30
    assert difficult.sum() < voc.flag("occluded").sum() < len(voc) / 2
    assert 5 <= voc.flag("truncated").sum() < len(voc) / 4


def test_every_box_lies_in_its_picture(truth):
    for annotations in (truth, *(vt.read(DEMO / f"{name}.json", like=truth) for name in DETECTORS)):
        boxes = annotations.regions.boxes
        assert np.all(boxes[:, :2] >= 0)
        assert np.all(boxes[:, 0] < boxes[:, 2])
        assert np.all(boxes[:, 1] < boxes[:, 3])
        assert np.all(boxes[:, 2] <= truth.images.widths[annotations.image] + 1e-9)
        assert np.all(boxes[:, 3] <= truth.images.heights[annotations.image] + 1e-9)


@pytest.mark.parametrize("name", DETECTORS)
def test_predictions_speak_of_the_truth_s_pictures_and_labels(truth, name):
    pred = vt.read(DEMO / f"{name}.json", like=truth)
    assert len(pred) == len(RESULTS[name])
    assert pred.images is truth.images
    assert pred.labels is truth.labels
    assert np.all((pred.confidence > 0) & (pred.confidence < 1))
    assert np.array_equal(pred.confidence, np.round(pred.confidence, 3))
    assert len(np.unique(pred.confidence)) < len(pred)  # ties


@pytest.mark.parametrize("name", DETECTORS)
def test_masks_of_predictions_lie_in_their_boxes(name):
    for record in RESULTS[name]:
        mask = oracle_mask(record)
        assert mask.any()
        np.testing.assert_allclose(bounds(mask), corners(record["bbox"]), atol=2)
        x1, y1, x2, y2 = bounds(mask)
        left, top, right, bottom = corners(record["bbox"])
        assert left - 0.51 <= x1
        assert top - 0.51 <= y1
        assert x2 <= right + 0.51
        assert y2 <= bottom + 0.51


@pytest.mark.parametrize("name", ["truth", *DETECTORS])
def test_verite_decodes_masks_as_pycocotools_does(truth, name):
    read = truth if name == "truth" else vt.read(DEMO / f"{name}.json", like=truth)
    records = DOCUMENT["annotations"] if name == "truth" else RESULTS[name]
    for i, record in enumerate(records):
        if isinstance(record["segmentation"], list):
            continue
        runs = read.regions.runs[i]
        assert runs.sum() == read.regions.runs.sizes[i].prod()
        flat = np.repeat(np.arange(len(runs)) % 2 == 1, runs)
        assert np.array_equal(flat.reshape(SIZES[record["image_id"]], order="F"), oracle_mask(record))


def test_magpie_sees_things_in_the_empty_picture():
    image = next(i["id"] for i in DOCUMENT["images"] if i["file_name"] == EMPTY)
    assert any(record["image_id"] == image for record in RESULTS["magpie"])


def mean_ap(name, threshold):
    """VOC's mAP by the slow rules on the VOC truth's flags; both sides with the numbers of the COCO files."""
    difficult = {
        (path.stem, k): item.findtext("difficult") == "1"
        for path in (DEMO / "truth-voc").iterdir()
        for k, item in enumerate(ElementTree.parse(path).iter("object"))
    }
    stems = {image["id"]: Path(image["file_name"]).stem for image in DOCUMENT["images"]}
    seen, truths = Counter(), {label: [] for label in LABELS}
    for a in DOCUMENT["annotations"]:
        image = a["image_id"]
        truths[a["category_id"]].append((image, corners(a["bbox"]), difficult[stems[image], seen[image]]))
        seen[image] += 1
    total = Fraction(0)
    for label in LABELS:
        preds = [
            (r["image_id"], r["score"], corners([Fraction(str(v)) for v in r["bbox"]]))
            for r in RESULTS[name]
            if r["category_id"] == label
        ]
        total += plain_voc.average_precision(plain_voc.curve(truths[label], preds, threshold))
    return float(total / len(LABELS))


def test_which_detector_is_best_depends_on_the_threshold():
    loose = {name: mean_ap(name, Fraction(1, 2)) for name in DETECTORS}
    strict = {name: mean_ap(name, Fraction(3, 4)) for name in DETECTORS}
    assert loose["magpie"] > loose["hawk"] + 0.05 > loose["mole"] + 0.2
    assert strict["hawk"] > strict["magpie"] + 0.1 > strict["mole"] + 0.3


@pytest.mark.slow
def test_the_tool_draws_the_same_data_again(tmp_path):
    tool = Path(__file__).parents[2] / "tools" / "draw_demo.py"
    subprocess.run([sys.executable, str(tool), str(tmp_path)], check=True)
    drawn = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    assert drawn == sorted(p.relative_to(DEMO) for p in DEMO.rglob("*") if p.is_file())
    for name in drawn:
        if name.suffix == ".png":  # the palette may differ a little with the version of Pillow
            pictures = (np.asarray(Image.open(folder / name).convert("RGB"), dtype=int) for folder in (tmp_path, DEMO))
            assert np.abs(next(pictures) - next(pictures)).mean() < 2
        else:
            assert (tmp_path / name).read_bytes() == (DEMO / name).read_bytes(), name
