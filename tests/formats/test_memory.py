"""What is in memory already: dictionaries, tensors and other tools' objects, as good as files."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from tests.formats.in_memory import RESULTS, TRUTH, same
from tests.formats.samples import refused, sample
from verite import _core
from verite.formats.memory import are_detectors, describe_object, is_columns, is_results, mask_pixels, to_plain


@pytest.fixture
def truth():
    return vt.read(TRUTH)


def test_coco_dictionary_is_read_as_its_file(tmp_path, truth):
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(TRUTH))
    assert vt.read(path).digest == truth.digest
    for name in ("instances.json", "scored.json", "text_ids.json"):
        file = sample("coco", "good", name)
        assert vt.read(json.loads(file.read_text())).digest == vt.read(file).digest


def test_results_are_read_as_their_file(tmp_path, truth):
    path = tmp_path / "pred.json"
    path.write_text(json.dumps(RESULTS))
    same(vt.read(RESULTS, like=truth), truth)
    assert vt.read(RESULTS, like=truth).digest == vt.read(path, like=truth).digest
    assert len(vt.read([], like=truth)) == 0


def test_results_may_hold_numpy_numbers_and_runs_as_bytes(truth):
    runs = {"size": [2, 2], "counts": b"13"}
    odd = [{**RESULTS[0], "image_id": np.int64(7), "bbox": np.array(RESULTS[0]["bbox"]), "segmentation": runs}]
    read = vt.read(odd, like=truth)
    assert read.regions.boxes.tolist() == [[10, 10, 30, 30]]
    assert read.regions.runs[0].tolist() == [1, 3]


def test_text_of_what_is_in_memory_is_that_of_pythons_own_module():
    rng = np.random.default_rng(4)
    numbers = [*rng.integers(0, 2**64, 3000, dtype=np.uint64).view(np.float64).tolist(), *rng.random(500).tolist()]
    # Two places behind the point and more, at the ends of what is written quickly, and beside them.
    cents = [n / 100 for n in (1, 10, 99, 101, 12345678, 10**11 - 1, 10**11, 10**11 + 1)]
    numbers += [sign * x for c in cents for x in (c, math.nextafter(c, 0), math.nextafter(c, 1e12)) for sign in (1, -1)]
    numbers += (rng.integers(-(10**11), 10**11, 2000) / 100).tolist() + (rng.integers(0, 10**6, 500) / 1000).tolist()
    numbers += [0.0, -0.0, 5.0, 1e5, 1e16, 1e22, 1e300, 5e-324, math.inf, -math.inf, 2**63, -(2**70), True, None]
    texts = ["", "Straße", '"quoted" \\ \n\t\x00\x1f\x7f', "海", "🚤"]
    given = {"numbers": numbers, "texts": texts, **{text: {"deep": [[], {}, (1, (2,))]} for text in texts}}
    written = _core.encode_json(given, to_plain)
    assert repr(json.loads(written)) == repr(json.loads(json.dumps(given)))
    for wrong in ("\ud800", {1, 2}):
        with pytest.raises(vt.BadParameter, match="COCO results: expected what JSON can hold, found"):
            vt.read([{**RESULTS[0], "extra": wrong}])
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(vt.BadParameter, match="found something nested too deeply, or in itself"):
        vt.read([{**RESULTS[0], "extra": endless}])


def test_place_of_a_mistake_is_named_as_in_files():
    with pytest.raises(vt.ReadError, match=r"COCO results: results\[1\]: expected the key image_id"):
        vt.read([RESULTS[0], {"boxes": [], "labels": []}])
    with pytest.raises(vt.ReadError, match=r"COCO results: results\[1\].score: expected a number, found a string"):
        _ = vt.read([RESULTS[0], {**RESULTS[1], "score": "high"}]).regions
    with pytest.raises(vt.ReadError, match=r"COCO dictionary: annotations\[0\].category_id: expected an id out of cat"):
        vt.read({**TRUTH, "annotations": [{**TRUTH["annotations"][0], "category_id": 4}]})
    with pytest.raises(vt.BadParameter, match="COCO results: expected what JSON can hold, found object"):
        vt.read([{**RESULTS[0], "extra": object()}])


def test_pycocotools_objects(truth):
    reference = pytest.importorskip("pycocotools.coco")
    theirs = reference.COCO()
    theirs.dataset = json.loads(json.dumps(TRUTH))
    theirs.createIndex()
    assert vt.read(theirs).digest == truth.digest
    loaded = theirs.loadRes([dict(record) for record in RESULTS])
    assert vt.coco(theirs, loaded).scores["AP"].value == pytest.approx(1)


def test_dictionaries_without_image_ids_are_in_the_order_of_the_ground_truth():
    """As in an evaluation loop of Hugging Face: labels have image ids, post-processed predictions have none."""
    labels = [
        {"image_id": np.array([9]), "boxes": np.array([[10.0, 10, 40, 40]]), "labels": np.array([1])},
        {"image_id": np.array([2]), "boxes": np.array([[60.0, 60, 80, 80]]), "labels": np.array([1])},
    ]
    found = [{"boxes": one["boxes"], "labels": one["labels"], "scores": np.array([0.9])} for one in labels]
    results = vt.coco(labels, found)
    assert results["AP"].value == pytest.approx(1)
    assert any("no image_id" in note for note in results.pred.source.notes)
    with pytest.raises(vt.DataError, match="images that the ground truth does not have"):
        vt.coco(labels, found[:1])  # which image is it?


def test_torchvision_dictionaries(truth):
    def tensor(values):
        return SimpleNamespace(detach=lambda: SimpleNamespace(cpu=lambda: np.array(values)), tolist=None)

    images = [{"boxes": [[10, 10, 30, 30], [50, 5, 60, 15]], "labels": [3, 5], "scores": [0.9, 0.5]},
              {"boxes": np.empty((0, 4)), "labels": [], "scores": []}]  # fmt: skip
    numbered = [{**images[0], "image_id": 7}, {**images[1], "image_id": np.array([9])}]
    same(vt.read(numbered, like=truth), truth)
    tensors = [{key: tensor(values) for key, values in image.items()} for image in images]
    read = vt.read(tensors)
    assert read.images.ids.tolist() == [0, 1]
    assert read.regions.boxes.tolist() == [[10, 10, 30, 30], [50, 5, 60, 15]]
    named = vt.read([{**images[0], "labels": [0, 1]}], names=["boat", "gull"])
    assert named.labels.names == ("boat", "gull")
    masks = np.zeros((2, 1, 2, 3), dtype=np.float32)
    masks[0, 0, 0, 1] = 0.7
    drawn = vt.read([{**images[0], "masks": masks}])
    assert drawn.regions.runs[0].tolist() == [2, 1, 3]  # column by column: the third of six pixels
    with pytest.raises(vt.BadParameter, match="image 0: expected 2 labels as there are boxes, found 1"):
        vt.read([{**images[0], "labels": [3]}])
    with pytest.raises(vt.BadParameter, match="expected scores in every image or in none, found them in 1"):
        vt.read([images[0], {"boxes": [[0, 0, 1, 1]], "labels": [3]}])


def test_supervision_detections(truth):
    supervision = pytest.importorskip("supervision")
    found = supervision.Detections(
        xyxy=np.array([[10, 10, 30, 30], [50, 5, 60, 15]], dtype=np.float32),
        class_id=np.array([3, 5]),
        confidence=np.array([0.9, 0.5]),
    )
    same(vt.read({"pier.jpg": found, "fog.jpg": supervision.Detections.empty()}, like=truth), truth)
    assert vt.read(found).images.ids.tolist() == [0]


def test_same_checks_as_for_files():
    at = np.arange(100, 140.0)
    names = [f"{i}.jpg" for i in range(40)]
    truth = {"image": names, "label": ["boat"] * 40, "x1": at, "y1": at, "x2": at + 50, "y2": at + 30}
    corners = {"x": at, "y": at, "width": at + 50, "height": at + 30}  # said to be sizes
    pred = {"image": names, "label": ["boat"] * 40, **corners, "score": at / 200}
    with pytest.raises(vt.DataError, match="V101"):
        vt.coco(truth, pred)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (3, "int 3"),
        ({"a": 1}, "a dict with the keys 'a'"),
        ([1, 2], "a list of int 1"),
        (None, "NoneType"),
    ],
)
def test_wrong_type_is_told_what_is_taken(given, found):
    with pytest.raises(vt.BadParameter) as caught:
        vt.read(given)
    said = str(caught.value)
    assert said.startswith(
        "annotations: expected a path or annotations, a COCO dictionary, a list of COCO results, detectron2's "
        "instances_predictions, a pyc"
    )
    assert "torchvision" in said
    assert "supervision" in said
    assert "__arrow_c_stream__" in said
    assert said.endswith(f"found {found}")


def test_format_of_what_is_in_memory_is_not_asked_for():
    with pytest.raises(vt.BadParameter, match="format: expected none for an object in memory, found 'coco'"):
        vt.read(TRUTH, format="coco")


def test_everything_that_is_wrong_is_listed_as_in_files():
    wrong = [{**TRUTH["annotations"][0], "id": 8, "category_id": 4}, {**TRUTH["annotations"][0], "id": 9, "bbox": [1]}]
    found = vt.inspect({**TRUTH, "annotations": [*TRUTH["annotations"], *wrong]}).findings
    places = sorted(place for finding in found if finding.code == "V402" for place in finding.examples)
    assert [place.partition(": found")[0] for place in places] == [
        "COCO dictionary: annotations[2].category_id",
        "COCO dictionary: annotations[3].bbox",
    ]


def test_dictionary_of_lvis_keeps_what_was_looked_for():
    lists = {"neg_category_ids": [5], "not_exhaustive_category_ids": []}
    truth = {**TRUTH, "images": [{**image, **lists} for image in TRUTH["images"]]}
    truth["categories"] = [{**one, "frequency": "r"} for one in TRUTH["categories"]]
    read = vt.read(truth)
    assert read.source.format == "lvis"
    assert read.labels.groups == ("r", "r")
    assert len(read.verdicts) == 2


@pytest.mark.parametrize(
    ("given", "are"),
    [
        ({"a": RESULTS, "b": RESULTS}, True),
        ({"a": "a.json"}, True),
        ({}, True),
        (TRUTH, False),
        (RESULTS, False),
        ({"image": ["a"], "label": ["boat"], "bbox": [[0, 0, 1, 1]]}, False),
        ({"image": "a.json", "label": "b.json"}, True),
        ({"pier.jpg": np.zeros((2, 3))}, False),
    ],
    ids=str,
)
def test_several_systems_by_name_are_told_from_one_side(given, are):
    assert are_detectors(given) == are


def shifted(kind, tmp_path):
    """Sixty objects found exactly, their classes counted from one more than the truth's, in every form they come in."""
    rows = [(i, 1 + i % 3, [5.0 * k, 5.0, 20.0, 30.0], 0.9 - i / 100) for i in range(30) for k in (0, 9)]
    truth = {
        "images": [{"id": i, "width": 100, "height": 50} for i in range(30)],
        "categories": [{"id": id, "name": f"class {id}"} for id in (1, 2, 3)],
        "annotations": [
            {"id": n, "image_id": image, "category_id": label, "bbox": box, "area": 600, "iscrowd": 0}
            for n, (image, label, box, _) in enumerate(rows, 1)
        ],
    }
    results = [{"image_id": i, "category_id": label + 1, "bbox": box, "score": s} for i, label, box, s in rows]
    match kind:
        case "results":
            return truth, results
        case "lines":
            (tmp_path / "pred.jsonl").write_text("".join(json.dumps(record) + "\n" for record in results))
            return truth, tmp_path / "pred.jsonl"
        case "object":
            (tmp_path / "pred.json").write_text(json.dumps({"predictions": results}))
            return truth, tmp_path / "pred.json"
        case "columns":
            return truth, {key: [record[key] for record in results] for key in results[0]}
    per_image = [[record for record in results if record["image_id"] == i] for i in range(30)]
    corners = [np.array([[x, y, x + w, y + h] for x, y, w, h in (r["bbox"] for r in one)]) for one in per_image]
    labels = [np.array([record["category_id"] for record in one]) for one in per_image]
    scores = [np.array([record["score"] for record in one]) for one in per_image]
    parts = zip(corners, labels, scores, strict=True)
    if kind == "torchvision":
        return truth, [{"boxes": b, "labels": c, "scores": s} for b, c, s in parts]
    return truth, [SimpleNamespace(xyxy=b, class_id=c, confidence=s, mask=None) for b, c, s in parts]


@pytest.mark.parametrize("kind", ["results", "lines", "object", "columns", "torchvision", "supervision"])
def test_classes_that_are_off_by_one_are_found_in_every_kind(kind, tmp_path):
    truth, pred = shifted(kind, tmp_path)
    with pytest.raises(vt.DataError, match=r"V201 class ids look shifted by \+1: .* read it with label_offset=-1"):
        vt.coco(truth, pred)
    read = vt.read(truth)
    assert vt.coco(read, vt.read(pred, like=read, label_offset=-1))["AP"].value == pytest.approx(1)


def test_results_with_masks_alone_have_the_area_of_their_masks_in_every_form(tmp_path):
    """As pycocotools' loadRes gives them: a false alarm of 4 pixels in a box of 40 x 41 counts among the small ones."""
    corners, square = [0, 1, 39, 1, 1909, 1, 39, 1, 509], [2295, 3, 47, 3, 47, 3, 102]
    truth = {
        "images": [{"id": 1, "width": 50, "height": 50}],
        "categories": [{"id": 1, "name": "boat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [45, 45, 3, 3], "area": 9, "iscrowd": 0}],
    }
    results = [
        {"image_id": 1, "category_id": 1, "segmentation": {"size": [50, 50], "counts": counts}, "score": score}
        for counts, score in ((corners, 0.9), (square, 0.8))
    ]
    (tmp_path / "a.json").write_text(json.dumps(results))
    (tmp_path / "b.json").write_text(json.dumps({"predictions": results}))
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(record) + "\n" for record in results))
    for pred in (results, tmp_path / "a.json", tmp_path / "b.json", tmp_path / "c.jsonl"):
        assert vt.coco(truth, pred, checks="off")["APs"].value == 0.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"boxes": np.zeros((2, 3))}, r"image 0: expected boxes as numbers of shape \(n, 4\), found float64 \(2, 3\)"),
        ({"boxes": [["a"] * 4]}, r"image 0: expected boxes as numbers of shape \(n, 4\), found <U1 \(1, 4\)"),
        ({"boxes": None}, r"image 0: expected boxes as numbers of shape \(n, 4\), found object \(\)"),
        ({"labels": ["cat"]}, "image 0: labels: expected integers, found 'cat'"),
        ({"labels": [float("nan")]}, "image 0: labels: expected integers.*, found 'nan'"),
        ({"labels": [1.5]}, r"image 0: labels: expected integers.*, found '1\.5'"),
        ({"scores": [0.5, 0.6]}, "image 0: expected 1 scores as there are boxes, found 2"),
    ],
)
def test_what_a_framework_hands_over_is_checked(change, said):
    good = {"boxes": [[0, 0, 1, 1]], "labels": [1], "scores": [0.5]}
    assert len(vt.read([good])) == 1
    with pytest.raises(vt.BadParameter, match=said):
        vt.read([{**good, **change}])


def test_image_comes_once_and_a_detector_may_find_nothing():
    good = {"image_id": 7, "boxes": [[0, 0, 1, 1]], "labels": [1], "scores": [0.5]}
    with pytest.raises(vt.BadParameter, match=r"image_id: expected integers.*9223372036854775808"):
        vt.read([{**good, "image_id": 2**63}])
    with pytest.raises(vt.BadParameter, match="expected each image once, found a second image_id 7"):
        vt.read([good, good])
    nothing = vt.read(
        [{"boxes": np.empty((0, 4)), "labels": [], "scores": []}, {"boxes": [], "labels": [], "scores": []}]
    )
    assert len(nothing) == 0
    assert nothing.confidence.tolist() == []
    assert nothing.images.ids.tolist() == [0, 1]


@pytest.mark.parametrize("images", [None, "x", {}, [1], [None]], ids=repr)
def test_dictionary_whose_images_are_none_is_refused(images):
    with pytest.raises(vt.VeriteError, match=r"COCO dictionary.*expected"):
        vt.read({"images": images, "annotations": [], "categories": []})


def test_keypoints_of_frameworks_may_lack_in_some_images():
    box, points = np.array([[0.0, 0, 9, 9]]), np.array([[[1.0, 2, 2]]])
    one = {"boxes": box, "labels": np.array([1]), "keypoints": points}
    read = vt.read([one, {"boxes": box, "labels": np.array([1])}])
    assert read.regions.keypoints.counts.tolist() == [1, 0]
    assert not vt.read([{"boxes": box, "labels": np.array([1])}]).regions.has_keypoints
    odd = one | {"keypoints": np.concatenate([points, points])}
    assert "expected keypoints of 1 objects as there are boxes, found 2" in refused(vt.read, [odd])


def test_boxes_around_masks_are_taken_where_dictionaries_have_none():
    plane = np.zeros((2, 6, 8), np.uint8)
    plane[0, 1:4, 2:7] = 255
    plane[1, 5, 0] = 1
    read = vt.read([{"masks": plane, "labels": [1, 2]}, {"masks": np.zeros((0, 6, 8)), "labels": []}])
    np.testing.assert_array_equal(read.regions.boxes, [[2, 1, 7, 4], [0, 5, 1, 6]])
    assert (read.image.tolist(), len(read.images)) == ([0, 0], 2)


def test_masks_of_frameworks_are_planes_with_or_without_a_channel():
    plane = np.array([[[0.5, 0.6]]])
    assert mask_pixels(plane, "x").tolist() == mask_pixels(plane[:, None], "x").tolist() == [[[False, True]]]
    assert mask_pixels(np.array([[[0, 2]]]), "x").tolist() == [[[False, True]]]
    for odd in (np.zeros((1, 2, 3, 3)), np.zeros((3, 3)), np.zeros((1, 1, 1, 3, 3))):
        assert "expected shape (n, height, width)" in refused(mask_pixels, odd, "x")
    assert "found NaN" in refused(mask_pixels, np.array([[[np.nan]]]), "x")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "an empty dict"),
        ({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}, "a dict with the keys 'a, b, c, d, e'"),
        ([], "an empty list"),
        ([1], "a list of int 1"),
        ("x", "str"),
        (3, "int 3"),
    ],
)
def test_what_somebody_handed_over_is_described(given, said):
    assert describe_object(given) == said


def test_systems_are_told_from_one_side():
    assert are_detectors({"a": 1, "b": 2})
    assert are_detectors({"image": [1], "b": [1]})
    assert not are_detectors({"image": [1], "label": [1]})
    assert are_detectors({"image": [1], "label": [1, 2]})  # of different lengths: no table
    assert not are_detectors({"images": [], "annotations": []})
    assert not are_detectors([1])


def test_columns_have_names_and_one_length():
    assert is_columns({"a": [1], "b": (2,)})
    assert not is_columns({"a": [1], "b": [1, 2]})
    assert not is_columns({"a": [1], "b": "x"})
    assert not is_columns({"a": [1], 2: [1]})
    assert not is_columns({})


def test_results_are_records_with_image_and_category():
    assert is_results([])
    assert not is_results(())
    assert is_results([{"image_id": 1, "category_id": 2}])
    assert not is_results([{"image_id": 1}])
    assert not is_results([1])


def test_numbers_of_arrays_become_plain():
    assert to_plain(np.float32(0.5)) == 0.5
    assert to_plain(b"a\xff") == "a\xff"
    with pytest.raises(TypeError, match="object"):
        to_plain(object())


def test_dictionaries_by_image_name_are_one_detector():
    truth = {"a.jpg": {"boxes": np.array([[0, 0, 4, 4.0]]), "labels": [1]}, "b.jpg": {"boxes": [], "labels": []}}
    pred = {"a.jpg": {"boxes": [[0, 0, 4, 4.0]], "labels": [1], "scores": [0.5]}}
    read = vt.read(truth)
    assert (read.images.names, read.regions.boxes.tolist()) == (("a.jpg", "b.jpg"), [[0, 0, 4, 4]])
    assert float(vt.coco(truth, pred)["AP"]) == pytest.approx(1)


def test_labels_of_hugging_face_are_fractions_of_the_original_image():
    label = {"image_id": np.array([7]), "class_labels": np.array([2]), "boxes": np.array([[0.5, 0.25, 0.5, 0.5]])}
    read = vt.read([{**label, "orig_size": np.array([100, 200]), "area": np.array([9.0]), "size": np.array([50, 100])}])
    # Centre (100, 25) and size 100 x 50 of an image 200 wide and 100 high.
    assert read.regions.boxes.tolist() == [[50, 0, 150, 50]]
    assert (read.images.ids.tolist(), read.labels.ids.tolist(), read.area) == ([7], [2], None)
    assert "orig_size" in refused(vt.read, [label])


def nested(levels, *, is_dict=False):
    value = 1.0
    for _ in range(levels):
        value = {"a": value} if is_dict else [value]
    return value


@pytest.mark.parametrize("is_dict", [False, True])
def test_cells_that_are_nested_without_end_are_refused_and_end_no_process(is_dict):
    """pyarrow follows the levels of a cell until the stack is full, and the process ends with a segmentation fault."""
    pandas = pytest.importorskip("pandas")
    columns = {"image": ["a", "b"], "label": ["cat", "cat"], "bbox": [[0, 0, 9, 9], nested(100_000, is_dict=is_dict)]}
    said = refused(vt.read, pandas.DataFrame(columns))
    assert "at most 64 levels in the column 'bbox'" in said
    assert "VERITE_LIMIT_JSON_DEPTH" in said
    shared = [1.0]
    for _ in range(100):  # 2 to the power of 100 paths, all through 100 lists
        shared = [shared, shared]
    columns["bbox"][1] = shared
    assert "at most 64 levels" in refused(vt.read, pandas.DataFrame(columns))


@pytest.mark.parametrize("is_dict", [False, True])
def test_values_that_are_nested_without_end_are_refused_in_every_form(is_dict):
    deep = nested(20_000, is_dict=is_dict)
    results = [{"image_id": 1, "category_id": 1, "bbox": deep, "score": 0.5}]
    columns = {"image": ["a"], "label": ["cat"], "bbox": [deep], "score": [0.5]}
    tensors = [{"boxes": deep, "labels": np.array([1]), "scores": np.array([0.5])}]
    for given in (results, columns, tensors, deep):
        assert refused(vt.read, given)
    item = {"boxes": np.zeros((1, 4)), "labels": np.array([1])}
    said = refused(vt.CocoEvaluator().update, [item | {"scores": deep}], [item])
    assert said.startswith("predictions[0].scores: expected ")


@pytest.mark.parametrize("boxes", [[[1, 2], [3]], [{}], "ab", [[1, 2, 3, 4], None]])
def test_what_numpy_makes_no_array_of_is_refused_with_the_form_that_it_was_taken_for(boxes):
    said = refused(vt.read, [{"boxes": boxes, "labels": [1, 2]}])
    assert "torchvision dictionaries" in said or "expected boxes as numbers" in said


def test_every_object_that_is_read_from_memory_is_spoiled_in_the_campaign():
    from tests.campaign.memory import OBJECTS
    from verite.formats.memory import IN_MEMORY_FORMATS

    named = {kind.title: [own for own in OBJECTS if kind.title.startswith(own)] for kind in IN_MEMORY_FORMATS}
    assert [title for title, own in named.items() if len(own) != 1] == ["annotations"]


def test_a_column_that_is_no_list_is_named():
    columns = {"image": ["a"], "label": {"cat": 1}, "xmin": [0.0], "ymin": [0.0], "xmax": [9.0], "ymax": [9.0]}
    assert refused(vt.read, columns) == "columns: expected a list or an array in 'label', found dict"


def test_arrays_are_evaluated_with_numpy_alone():
    code = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("click", "msgspec", "PIL", "yaml", "pyarrow", "pandas", "matplotlib", "scipy"):
            raise ImportError(name)
sys.meta_path.insert(0, Missing())
import numpy as np
import verite as vt
truth = [{"boxes": np.array([[0, 0, 4, 4.0]]), "labels": np.array([1])}]
print(float(vt.coco(truth, [{**truth[0], "scores": np.array([0.5])}])["AP50"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == pytest.approx(1)
