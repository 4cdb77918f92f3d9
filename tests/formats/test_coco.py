"""COCO JSON, whole documents and results."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

import verite as vt
from tests.formats.samples import refused, sample
from verite.formats.coco import facts_of, skeleton_of
from verite.model.keypoints import Skeleton
from verite.model.regions import BOX, MASK, POLYGON


@pytest.fixture
def harbour():
    return vt.read(sample("coco", "good", "instances.json"))


def write_json(path, document):
    path.write_text(json.dumps(document))
    return path


def document(**changes):
    return {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 50}],
        "categories": [{"id": 1, "name": "boat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}],
        **changes,
    }


def test_images_and_classes_keep_their_order_ids_and_sizes(harbour):
    assert harbour.images.names == ("pier.jpg", "buoy.png", "fog.jpg")
    assert harbour.images.ids.tolist() == [7, 9, 11]
    assert harbour.images.widths.tolist() == [640, 4, 640]
    assert harbour.images.heights.tolist() == [480, 3, 480]
    assert harbour.labels.names == ("boat", "gull", "crane")
    assert harbour.labels.ids.tolist() == [3, 1, 8]


def test_objects_are_columns(harbour):
    assert harbour.image.tolist() == [0, 0, 1, 1]
    assert harbour.label.tolist() == [0, 1, 0, 1]
    assert harbour.ids.tolist() == [100, 102, 101, 104]
    assert harbour.area.tolist() == [1200, 64, 3, 3]
    assert harbour.crowd.tolist() == [False, False, True, False]
    assert harbour.ignore.tolist() == [False, False, False, True]
    assert harbour.confidence is None
    assert harbour.unit == "px"


def test_boxes_are_left_top_width_height(harbour):
    assert harbour.regions.sizes[:3].tolist() == [[10.5, 20, 30, 40], [5, 6, 10, 12], [1, 0, 2, 2]]
    assert harbour.regions.boxes[0].tolist() == [10.5, 20, 40.5, 60]


def test_missing_box_is_the_box_around_the_mask(harbour):
    # Pixels (column 1, rows 0 and 1) and (column 2, row 1).
    assert harbour.regions.sizes[3].tolist() == [1, 0, 2, 2]


def test_missing_box_is_the_box_around_the_polygon(tmp_path):
    path = write_json(
        tmp_path / "a.json",
        document(
            annotations=[
                {"image_id": 1, "category_id": 1, "segmentation": [[5, 6, 15, 6, 15, 18], [1, 7, 2, 7, 2, 20]]}
            ]
        ),
    )
    assert vt.read(path).regions.boxes.tolist() == [[1, 6, 15, 20]]


def test_outlines_are_rings_or_runs(harbour):
    assert harbour.regions.kinds.tolist() == [BOX, POLYGON, MASK, MASK]
    first, second = harbour.regions.polygons[1]
    assert first.tolist() == [[5, 6], [15, 6], [15, 18]]
    assert second.tolist() == [[5, 10], [7, 10], [7, 12], [5, 12]]
    assert harbour.regions.runs[2].tolist() == [3, 2, 2, 1, 4]
    assert harbour.regions.runs[3].tolist() == [3, 2, 2, 1, 4]  # '322O2': the fourth run is 1 - 2 = -1, an O
    assert harbour.regions.runs.sizes[2:].tolist() == [[3, 4], [3, 4]]


def test_recognition_says_why(harbour):
    assert harbour.source.format == "coco"
    assert harbour.source.why == "a JSON object with images and annotations and categories"
    assert harbour.source.notes == ()


def test_text_ids_are_names_where_there_is_no_other():
    read = vt.read(sample("coco", "good", "text_ids.json"))
    assert read.images.names == ("pier-a", "photos/pier-b.jpg")
    assert read.images.ids is None
    assert read.image.tolist() == [1, 0]
    assert read.ids is None


def test_results_find_images_by_their_text_ids():
    truth = vt.read(sample("coco", "good", "text_ids.json"))
    pred = vt.read(sample("coco_results", "good", "text_ids.json"), like=truth)
    assert pred.images is truth.images
    assert pred.image.tolist() == [1]


def test_text_ids_win_over_file_names_that_differ(tmp_path):
    images = [{"id": "A-17", "file_name": "img0.jpg"}, {"id": "A-18", "file_name": "img1.jpg"}]
    annotations = [{"image_id": "A-18", "category_id": 1, "bbox": [1, 2, 3, 4]}]
    truth = vt.read(write_json(tmp_path / "a.json", document(images=images, annotations=annotations)))
    assert truth.images.names == ("A-17", "A-18")
    assert truth.source.notes == ("images named by their ids, which are texts; file names such as 'img0.jpg' left out",)


def test_numbers_alone_are_ids_without_names():
    read = vt.read(sample("coco", "good", "scored.json"))
    assert read.images.names is None
    assert read.images.ids.tolist() == [1, 2]
    assert read.labels.names is None
    assert read.labels.ids.tolist() == [5]


def test_nan_and_missing_scores_are_told_apart():
    read = vt.read(sample("coco", "good", "scored.json"))
    assert read.confidence[0] == 0.9
    assert np.isnan(read.confidence[1:]).all()
    assert read.flag("unscored").tolist() == [False, False, True]
    assert np.isnan(read.regions.sizes[1, 3])


def test_infinite_score_reaches_the_checks(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": Infinity}]')
    assert vt.read(path).confidence.tolist() == [np.inf]


def test_nan_does_not_hide_another_mistake(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"image_id": 1, "category_id": "x", "bbox": [1, 2, 3, 4], "score": NaN}]')
    with pytest.raises(vt.ReadError, match=r"a.json: results\[0\].category_id: expected a number, found a string"):
        vt.read(path)


def test_half_a_surrogate_pair_is_no_text(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document(categories=[{"id": 1, "name": "\ud800", "x": float("nan")}])))
    with pytest.raises(vt.ReadError, match=r"a.json: categories\[0\].name: expected text, found half a surrogate pair"):
        vt.read(path)


def test_classes_of_the_same_name_are_told_apart_and_noted(tmp_path):
    categories = [{"id": 1, "name": "boat"}, {"id": 2, "name": "boat"}, {"id": 3, "name": "gull"}]
    read = vt.read(write_json(tmp_path / "a.json", document(categories=categories)))
    assert read.labels.names == ("boat (id 1)", "boat (id 2)", "gull")
    assert read.source.notes == ("classes with the same name 'boat' are distinguished by id",)


def test_object_ids_that_are_texts_are_noted(tmp_path):
    annotations = [{"id": "x", "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}]
    read = vt.read(write_json(tmp_path / "a.json", document(annotations=annotations)))
    assert read.ids is None
    assert read.source.notes == ("object ids left out: 1 of 1 are texts or missing",)


def test_offsets_are_added_to_ids(tmp_path):
    path = write_json(tmp_path / "a.json", document())
    read = vt.read(path, label_offset=4, image_offset=-1)
    assert read.labels.ids.tolist() == [5]
    assert read.images.ids.tolist() == [0]


def test_user_says_what_the_numbers_are(tmp_path):
    path = write_json(tmp_path / "a.json", document())
    assert vt.read(path, boxes="xyxy").regions.boxes.tolist() == [[1, 2, 3, 4]]
    assert vt.read(path, coords="200x100").regions.boxes.tolist() == [[0.5, 1, 2, 3]]
    assert vt.read(path, coords="*10").regions.boxes.tolist() == [[10, 20, 40, 60]]


def test_byte_order_mark_is_left_out(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(document()).encode())
    assert len(vt.read(path)) == 1


def test_results_are_sorted_by_nothing_but_the_file():
    read = vt.read(sample("coco_results", "good", "results.json"))
    assert read.images.ids.tolist() == [7, 9]
    assert read.labels.ids.tolist() == [1, 3, 99]
    assert read.image.tolist() == [1, 0, 0]
    assert read.label.tolist() == [0, 1, 2]
    assert read.confidence.tolist() == [0.25, 0.75, 0.001]
    assert read.regions.sizes.tolist() == [[1, 0, 2, 2], [10.5, 20, 30, 40], [0, 0, 1, 1]]
    assert read.regions.runs[0].tolist() == [3, 2, 2, 1, 4]
    assert read.source.why == "a JSON array of records with image_id"


def test_results_take_over_the_truths_tables(harbour):
    pred = vt.read(sample("coco_results", "good", "results.json"), like=harbour)
    assert pred.images is harbour.images
    assert pred.image.tolist() == [1, 0, 0]
    assert pred.labels.names == ("boat", "gull", "crane", "99")
    assert pred.label.tolist() == [1, 0, 3]


def test_results_without_a_prediction_are_read():
    read = vt.read(sample("coco_results", "good", "empty.json"))
    assert len(read) == len(read.images) == len(read.labels) == 0


def test_results_without_any_score_have_no_confidence(tmp_path):
    path = write_json(tmp_path / "a.json", [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}])
    read = vt.read(path)
    assert read.confidence is None
    assert not read.flags


def test_identical_records_of_an_image_are_one_image_and_noted(tmp_path):
    image = {"id": 7, "file_name": "a.jpg", "width": 30, "height": 20}
    other = {"id": 8, "file_name": "b.jpg", "width": 30, "height": 20}
    cat = {"id": 1, "image_id": 8, "category_id": 1, "bbox": [1, 2, 3, 4]}
    classes = [{"id": 1, "name": "cat"}]
    images = [image, other, {**image, "license": 3}]
    path = write_json(tmp_path / "a.json", {"images": images, "annotations": [cat], "categories": classes})
    read = vt.read(path)
    assert (read.images.names, read.image.tolist()) == (("a.jpg", "b.jpg"), [1])
    assert read.source.notes == ("identical records of an image left out: 1 (V218)",)
    assert "V218" in str(vt.inspect(path))
    path = write_json(
        tmp_path / "b.json", {"images": [*images, {**image, "width": 31}], "annotations": [cat], "categories": classes}
    )
    with pytest.raises(vt.ReadError, match=r"7 in images\[0\] and images\[2\]; give each its own"):
        vt.read(path)


def test_written_document_is_the_same_again(harbour, tmp_path):
    assert vt.write(harbour, tmp_path / "a.json", "coco") == ()
    again = vt.read(tmp_path / "a.json")
    assert again.digest == harbour.digest
    assert again.ids.tolist() == harbour.ids.tolist()
    assert again.images.ids.tolist() == harbour.images.ids.tolist()
    assert again.labels.ids.tolist() == harbour.labels.ids.tolist()


def test_written_area_is_that_of_the_mask_the_polygon_or_the_box(tmp_path):
    square = [0, 0, 4, 0, 4, 4, 0, 4]
    annotations = [
        {"image_id": 1, "category_id": 1, "bbox": [0, 0, 5, 6]},
        {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "segmentation": [square, [5, 5, 9, 5, 9, 9]]},
        {"image_id": 1, "category_id": 1, "bbox": [0, 0, 9, 9], "segmentation": {"size": [3, 4], "counts": "322O2"}},
    ]
    vt.write(vt.read(write_json(tmp_path / "a.json", document(annotations=annotations))), tmp_path / "b.json", "coco")
    assert vt.read(tmp_path / "b.json").area.tolist() == [30, 16 + 8, 3]


def test_written_results_compress_their_masks(harbour, tmp_path):
    pred = vt.read(sample("coco_results", "good", "results.json"), like=harbour)
    lost = vt.write(pred, tmp_path / "a.json", "coco-results")
    assert lost == ("class name", "empty image", "image name", "image size", "unused class")
    records = json.loads((tmp_path / "a.json").read_text())
    assert records[0] == {
        "image_id": 9,
        "category_id": 1,
        "bbox": [1, 0, 2, 2],
        "score": 0.25,
        "segmentation": {"size": [3, 4], "counts": "322O2"},
    }
    assert [list(record) for record in records[1:]] == [["image_id", "category_id", "bbox", "score"]] * 2


def test_results_of_images_without_ids_are_written_with_their_names(tmp_path):
    truth = vt.read(sample("coco", "good", "text_ids.json"))
    pred = vt.read(sample("coco_results", "good", "text_ids.json"), like=truth)
    vt.write(pred, tmp_path / "a.json", "coco-results")
    assert vt.read(tmp_path / "a.json", like=truth).image.tolist() == pred.image.tolist()


def test_results_are_not_written_with_made_up_class_ids(tmp_path):
    pred = vt.Annotations.of(["a"], ["boat"], [[1, 2, 3, 4]], confidence=[0.5])
    with pytest.raises(
        vt.ReadError, match="expected classes with ids, found names only; take them from a ground truth with like=TRUTH"
    ):
        vt.write(pred, tmp_path / "a.json", "coco-results")
    assert not list(tmp_path.iterdir())


def test_truth_is_not_written_as_results(harbour, tmp_path):
    with pytest.raises(vt.ReadError, match="expected predictions, found objects without confidence"):
        vt.write(harbour, tmp_path / "a.json", "coco-results")


@pytest.mark.parametrize(
    ("box", "confidence", "what"), [([0, 0, np.nan, 1], 1, "boxes"), ([0, 0, 1, 1], np.nan, "confidences")]
)
def test_nan_is_not_written_into_json(tmp_path, box, confidence, what):
    pred = vt.Annotations.of(["a", "b"], ["boat", "boat"], [[0, 0, 1, 1], box], confidence=[1, confidence])
    with pytest.raises(vt.ReadError, match=f"expected {what} that JSON can hold, found NaN or infinity in object 1"):
        vt.write(pred, tmp_path / "a.json", "coco")


def test_missing_score_stays_missing(tmp_path):
    pred = vt.Annotations.of(["a", "b"], ["boat"] * 2, [[0, 0, 1, 1]] * 2, confidence=[1, np.nan], unscored=[0, 1])
    assert vt.write(pred, tmp_path / "a.json", "coco") == ()
    again = vt.read(tmp_path / "a.json")
    assert again.flag("unscored").tolist() == [False, True]
    assert "score" not in json.loads((tmp_path / "a.json").read_text())["annotations"][1]


def annotated_by(*who):
    """An image with an object of each of these annotators, and another with one of the first."""
    rows = [(1, one) for one in who] + [(2, who[0])]
    return {
        "images": [{"id": i, "file_name": f"{i}.jpg", "width": 99, "height": 99} for i in (1, 2)],
        "categories": [{"id": 1, "name": "nodule"}],
        "annotations": [
            {
                "id": n,
                "image_id": image,
                "category_id": 1,
                "bbox": [n, n, 9, 9],
                "area": 81,
                "iscrowd": 0,
                "rad_id": one,
            }
            for n, (image, one) in enumerate(rows, 1)
        ],
    }


def pooled(truth):
    return [finding for finding in vt.inspect(truth).findings if finding.code == "V223"]


def test_several_annotators_of_an_image_are_named(tmp_path):
    document = annotated_by("R8", "R9")
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(document))
    with gzip.open(tmp_path / "truth.json.gz", "wt") as file:
        file.write(path.read_text())
    columns = {
        "image": ["1", "1", "2"],
        "label": ["nodule"] * 3,
        "bbox": [one["bbox"] for one in document["annotations"]],
        "annotator": ["R8", "R9", "R8"],
    }
    table = tmp_path / "truth.csv"
    rows = zip(columns["image"], ("1,1,9,9", "2,2,9,9", "3,3,9,9"), columns["annotator"], strict=True)
    table.write_text("image,label,x,y,w,h,Annotator\n" + "".join(f"{a},nodule,{b},{c}\n" for a, b, c in rows))
    given = ((path, "rad_id"), (f"{path}.gz", "rad_id"), (document, "rad_id"), (columns, "annotator"))
    for truth, key in (*given, (table, "Annotator")):
        (found,) = pooled(truth)
        assert (found.severity, found.count, found.examples) == ("warning", 1, ("R8: 2 objects", "R9: 1 objects"))
        assert all(word in found.message for word in (key, "2 annotators", "3 objects"))
    results = vt.coco(path, [{"image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "score": 0.9}], checks="warn")
    assert "V223" in [finding.code for finding in results.findings]


def test_annotators_that_are_arrays_are_told_apart():
    columns = {"image": ["1", "1"], "label": ["nodule"] * 2, "bbox": [[1, 1, 9, 9], [2, 2, 9, 9]]}
    (found,) = pooled({**columns, "annotator": [np.zeros(3), np.ones(3)]})
    assert "2 annotators" in found.message


def test_annotators_of_different_images_are_no_matter(tmp_path):
    document = annotated_by("R8")
    document["annotations"][1]["rad_id"] = "R9"
    assert not pooled(document)


def test_keypoints_of_coco_wholebody_that_are_left_out_are_named(tmp_path):
    pose = {"keypoints": [9.0, 9.0, 2] * 17, "num_keypoints": 17}
    document = annotated_by("R8")
    for one in document["annotations"]:
        del one["rad_id"]
        one.update(pose)
    (tmp_path / "body.json").write_text(json.dumps(document))
    assert not vt.read(tmp_path / "body.json").source.notes
    for one in document["annotations"]:
        one["face_kpts"] = [9.0, 9.0, 2] * 68
    (tmp_path / "whole.json").write_text(json.dumps(document))
    truth = vt.read(tmp_path / "whole.json")
    assert truth.regions.keypoints.counts.tolist() == [17, 17]
    assert any("17 keypoints" in note and "face_kpts" in note for note in truth.source.notes)


@pytest.mark.parametrize("key", ["skeleton", "sigmas"])
@pytest.mark.parametrize("number", ["9" * 5000, "9" * 400], ids=["5000 digits", "400 digits"])
def test_a_pose_with_thousands_of_digits_is_refused_or_left_out(tmp_path, key, number):
    whole = document(categories=[{"id": 1, "name": "boat", "keypoints": ["bow", "stern"], key: "@"}])
    value = f"[[1, {number}]]" if key == "skeleton" else f"[1, {number}]"
    (tmp_path / "truth.json").write_text(json.dumps(whole).replace('"@"', value))
    if key == "skeleton" and len(number) == 400:  # an edge that leads nowhere
        assert vt.read(tmp_path / "truth.json").labels.names == ("boat",)
        return
    with pytest.raises(vt.errors.ReadError, match=rf"truth\.json: categories\[0\]\.{key}: expected"):
        vt.read(tmp_path / "truth.json")


def test_a_pose_nested_deeper_than_python_recurses_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("VERITE_LIMIT_JSON_DEPTH", "10000")
    whole = document(categories=[{"id": 1, "name": "boat", "keypoints": ["bow"], "skeleton": "@"}])
    (tmp_path / "truth.json").write_text(json.dumps(whole).replace('"@"', "[" * 5000 + "]" * 5000))
    with pytest.raises(vt.errors.ReadError, match=r"categories\[0\]\.skeleton: expected pairs"):
        vt.read(tmp_path / "truth.json")


def test_skeletons_are_counted_from_1_in_files():
    found = skeleton_of("p", '["nose", "tail"]', "[[1, 2], [2, 3], [0, 1]]", "[0.1, 0.2]")
    assert (found.names, found.edges, tuple(found.sigmas)) == (("nose", "tail"), ((0, 1),), (0.1, 0.2))
    assert facts_of(found) == {"keypoints": ["nose", "tail"], "skeleton": [[1, 2]], "sigmas": [0.1, 0.2]}
    assert facts_of(Skeleton(("nose",), (), ())) == {"keypoints": ["nose"]}
    assert skeleton_of("p", "", "", "").names == ()


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (('["a", 3]', "", ""), "p.keypoints: expected a list of names"),
        (('["a"]', "[[1, 2, 3]]", ""), "p.skeleton: expected pairs of keypoints, counted from 1"),
        (('["a"]', "[1]", ""), "p.skeleton: expected pairs"),
        (('["a"]', "{}", ""), "p.skeleton: expected pairs"),
        (('["a"]', "", '["x"]'), "p.sigmas: expected a list of numbers"),
        (('["a"]', "", "[0]"), "p.sigmas: expected numbers above 0, found 0"),
    ],
)
def test_skeletons_that_are_none_are_named(texts, said):
    assert said in refused(skeleton_of, "p", *texts)


def test_a_mask_of_another_size_than_its_image_is_not_written(tmp_path):
    given = vt.Annotations.of(["a", "b"], ["cat"] * 2, [[0, 0, 2, 2]] * 2, sizes={"a": (4, 3), "b": (6, 5)})
    runs = vt.RLEMasks.of([([0, 12], (3, 4)), ([0, 12], (3, 4))])
    made = replace(given, regions=vt.Regions(given.regions.boxes, "xyxy", runs=runs))
    said = refused(vt.write, made, tmp_path / "a.xml", "cvat")
    assert "expected a mask of its image's height and width, 5 x 6, found 3 x 4 in object 1" in said


def test_objects_without_ids_are_counted_from_1(tmp_path):
    vt.write(vt.Annotations.of(["a", "a"], ["x", "x"], [[0, 0, 1, 1]] * 2), tmp_path / "a.json", "coco")
    written = json.loads((tmp_path / "a.json").read_text())
    assert [record["id"] for record in written["annotations"]] == [1, 2]
    assert [record["id"] for record in written["images"] + written["categories"]] == [1, 1]


def coco_root(folder, *names):
    """COCO's root folder with a file of one box for each name; the ids of images count on."""
    (folder / "annotations").mkdir()
    (folder / "images").mkdir()
    for number, name in enumerate(names, start=1):
        image = {"id": number, "file_name": f"{number}.jpg", "width": 100, "height": 50}
        box = {"id": 1, "image_id": number, "category_id": 1, "bbox": [1, 2, 3, 4]}
        write_json(folder / "annotations" / name, document(images=[image], annotations=[box]))
        (folder / "images" / f"{number}.jpg").touch()
    return folder


@pytest.mark.parametrize("name", ["instances_val2017.json", "val.json", "person_keypoints_val2017.json"])
def test_the_root_folder_of_one_split_is_read(tmp_path, name):
    found = vt.read(coco_root(tmp_path, name))
    assert (found.source.format, found.regions.boxes.tolist()) == ("coco-folder", [[1, 2, 4, 6]])


def test_the_root_folder_of_several_splits_asks_for_one(tmp_path):
    names = ("instances_train2017.json", "instances_val2017.json", "person_keypoints_val2017.json")
    folder = coco_root(tmp_path, *names)
    write_json(folder / "annotations" / "captions_val2017.json", {"images": [], "annotations": [{"caption": "a boat"}]})
    message = refused(vt.read, folder)
    assert "train2017, val2017" in message
    assert "split=" in message
    for split in ("val2017", "val"):
        assert vt.read(folder, split=split).images.names == ("2.jpg",)


def test_the_root_folder_of_lvis_keeps_what_lvis_says(tmp_path):
    folder = coco_root(tmp_path, "lvis_v1_val.json")
    image = {"id": 1, "file_name": "1.jpg", "width": 9, "height": 9}
    judged = {"neg_category_ids": [1], "not_exhaustive_category_ids": []}
    classes = [{"id": 1, "name": "boat", "frequency": "f"}]
    box = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "area": 12}
    lvis = document(images=[image | judged], categories=classes, annotations=[box])
    write_json(folder / "annotations" / "lvis_v1_val.json", lvis)
    assert vt.lvis(folder, [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}])[
        "AP"
    ] == pytest.approx(1)


def test_repeated_image_ids_are_named_in_the_order_of_records_however_far_apart_they_are(tmp_path):
    ids = [2**62, -(2**62), 5, 2**40, 5, -(2**62)]
    images = [{"id": id, "file_name": f"{i}.jpg", "width": 100, "height": 50} for i, id in enumerate(ids)]
    text = refused(vt.read, write_json(tmp_path / "t.json", document(images=images, annotations=[])))
    assert "5 in images[2] and images[4]" in text


def test_the_order_of_image_ids_decides_between_equal_confidences(tmp_path):
    """One image has a true positive and one a false positive of the same confidence: AP is 1 or 1/2."""
    for far in (1, 2**20, 2**58):
        values = []
        for first, second in ((-3 * far, 4 * far), (4 * far, -3 * far)):
            images = [{"id": id, "file_name": f"{id}.jpg", "width": 99, "height": 99} for id in (first, 0, second)]
            truth = document(
                images=images,
                annotations=[{"id": 1, "image_id": first, "category_id": 1, "bbox": [0, 0, 50, 50], "area": 2500}],
            )
            found = [{"image_id": id, "category_id": 1, "bbox": [0, 0, 50, 50], "score": 0.5} for id in (second, first)]
            paths = write_json(tmp_path / "t.json", truth), write_json(tmp_path / "p.json", found)
            values.append(round(vt.coco(*paths, checks="off")["AP50"].value, 6))
        assert values == [1.0, 0.5], far
