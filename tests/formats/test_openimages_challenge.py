"""Open Images beyond boxes: challenge predictions, labels of images, the hierarchy and the names of classes."""

from __future__ import annotations

import base64
import json
import zlib

import pytest

import verite as vt
from verite.formats.openimages import read_descriptions, read_hierarchy
from verite.model.classes import ABSENT, PRESENT

BOXES = "ImageID,LabelName,XMin,XMax,YMin,YMax,IsGroupOf\na,/m/cat,0,0.5,0,0.5,0\nb,/m/dog,0,1,0,1,1\n"
TREE = {
    "LabelName": "/m/root",
    "Subcategory": [
        {"LabelName": "/m/animal", "Subcategory": [{"LabelName": "/m/cat", "Part": [{"LabelName": "/m/paw"}]},
                                                   {"LabelName": "/m/dog"}]},
        {"LabelName": "/m/pet", "Subcategory": [{"LabelName": "/m/cat"}]},
    ],
}  # fmt: skip


def word(runs: bytes) -> str:
    return base64.b64encode(zlib.compress(runs)).decode()


def written(folder, text, name="file.csv"):
    path = folder / name
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    return path


def test_prediction_strings_of_boxes(tmp_path):
    text = "ImageId,PredictionString\na,/m/cat 0.5 0 0.125 0.5 1 /m/dog 0.25 0 0 1 1\nb,\n"
    pred = vt.read(written(tmp_path, text))
    assert pred.source.format == "openimages-predictions"
    assert pred.images.names == ("a", "b")
    assert pred.labels.names == ("/m/cat", "/m/dog")
    assert pred.confidence.tolist() == [0.5, 0.25]
    assert pred.regions.boxes.tolist() == [[0, 0.125, 0.5, 1], [0, 0, 1, 1]]
    assert pred.unit == "rel"


def test_prediction_strings_of_masks(tmp_path):
    # 2 × 2 pixels, the right column: two of background, two of object, in COCO's text "22".
    text = f"ImageID,ImageWidth,ImageHeight,PredictionString\na,2,2,/m/cat 0.5 {word(b'22')}\n"
    pred = vt.read(written(tmp_path, text))
    assert pred.regions.runs.counts.tolist() == [2, 2]
    assert pred.regions.boxes.tolist() == [[1, 0, 2, 2]]
    assert pred.unit == "px"
    assert vt.write(pred, tmp_path / "again.csv", "openimages-predictions") == ("image size",)
    assert vt.read(tmp_path / "again.csv").digest == pred.digest


def test_written_boxes_are_the_same_again(tmp_path):
    text = "ImageID,PredictionString\na,/m/cat 0.5 0.1 0.125 0.5 1\nb,\n"
    pred = vt.read(written(tmp_path, text))
    assert vt.write(pred, tmp_path / "again.csv", "openimages-predictions") == ()
    assert vt.read(tmp_path / "again.csv").digest == pred.digest


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "a,/m/cat 0.5 0 0 1",
            r":2: expected 6 words per object, LABEL CONFIDENCE XMIN YMIN XMAX YMAX, found 5 words \(",
        ),
        ("a,/m/cat 0.5 0 0 1 1 /m/dog", ":2: expected 6 words per object, .*found 7 words"),
        ("a,/m/cat high 0 0 1 1", ":2: expected a number in LABEL CONFIDENCE .*found 'high'"),
        ("a,x\na,y", ":2: expected 6 words per object"),
        ("a,\na,", ":3: expected each image once, found a second 'a'"),
    ],
)
def test_broken_prediction_strings_are_one_line(tmp_path, line, message):
    path = written(tmp_path, f"ImageId,PredictionString\n{line}\n")
    with pytest.raises(vt.ReadError, match=message) as caught:
        vt.read(path, format="openimages-predictions")
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ("2,2,/m/cat 0.5", r":2: expected 3 words per object, LABEL CONFIDENCE MASK, found 2 words"),
        ("2,2,/m/cat 0.5 %%%", ":2: expected a mask: COCO's run-length text, compressed with zlib, in base 64, found"),
        ("2,2,/m/cat 0.5 " + base64.b64encode(b"no").decode(), ":2: expected a mask: .*incorrect header"),
        ("2,2,/m/cat 0.5 " + word(b"22")[:8], ":2: expected a mask"),
        ("2,2,/m/cat 0.5 " + word(b"23"), r":2: expected runs of 2 x 2 = 4 pixels \(V405\)"),
        ("2,two,/m/cat 0.5 " + word(b"22"), ":2: expected whole pixels in ImageHeight, found 'two'"),
        ("99999,2,/m/cat 0.5 " + word(b"22"), ":2: expected a width and height of at most 65535 pixels"),
        ("2,2,/m/cat 0.5 " + word(b"2" * (1 << 26) + b"22"), "which is cut off or far too long"),
    ],
)
def test_broken_masks_are_one_line(tmp_path, cells, message):
    path = written(tmp_path, f"ImageID,ImageWidth,ImageHeight,PredictionString\na,{cells}\n")
    with pytest.raises(vt.ReadError, match=message) as caught:
        vt.read(path, format="openimages-predictions")
    assert str(caught.value).isprintable()


def test_truth_with_masks(tmp_path):
    header = "ImageID,LabelName,ImageWidth,ImageHeight,XMin,XMax,YMin,YMax,IsGroupOf,Mask"
    text = f"{header}\na,/m/cat,2,2,0.5,1,0,1,0,{word(b'22')}\na,/m/cat,2,2,0,1,0,1,0,\n"
    truth = vt.read(written(tmp_path, text))
    assert truth.unit == "px"
    assert truth.regions.boxes.tolist() == [[1, 0, 2, 2], [0, 0, 2, 2]]
    assert truth.regions.kinds.tolist() == [2, 0]
    pred = vt.read(
        written(
            tmp_path, f"ImageID,ImageWidth,ImageHeight,PredictionString\na,2,2,/m/cat 0.5 {word(b'22')}\n", "p.csv"
        ),
        like=truth,
    )
    assert vt.openimages(truth, pred, on="mask").scores["mAP"].value == 1


def test_masks_of_another_size_are_refused(tmp_path):
    header = "ImageID,LabelName,ImageWidth,ImageHeight,XMin,XMax,YMin,YMax,IsGroupOf,Mask"
    truth = vt.read(written(tmp_path, f"{header}\na,/m/cat,2,2,0.5,1,0,1,0,{word(b'22')}\n"))
    text = f"ImageID,ImageWidth,ImageHeight,PredictionString\na,3,3,/m/cat 0.5 {word(b'36')}\n"
    pred = vt.read(written(tmp_path, text, "p.csv"), like=truth)
    message = "image 'a': expected a mask of 2 × 2 pixels as the image, found 3 × 3; 1 of 1 differ"
    with pytest.raises(vt.DataError, match=message):
        vt.openimages(truth, pred, on="mask", checks="off")


def test_truth_without_masks_is_no_truth_for_masks(tmp_path):
    truth = vt.read(written(tmp_path, BOXES), image_size=(4, 4))
    with pytest.raises(vt.DataError, match='expected masks, found boxes alone; compare them with on="box"'):
        vt.openimages(truth, truth, on="mask", checks="off")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ImageID,LabelName,XMin,XMax,YMin,YMax,Mask\n", ":1: expected columns ImageWidth and ImageHeight beside Mask"),
        (
            "ImageID,LabelName,XMin,XMax,YMin,YMax,ImageWidth,ImageHeight\na,c,0,1,0,1,2,2\na,c,0,1,0,1,3,2\n",
            ":3: expected 2 x 2 pixels as elsewhere in 'a', found 3 x 2",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_one_line(tmp_path, text, message):
    with pytest.raises(vt.ReadError, match=message):
        vt.read(written(tmp_path, text))


def test_labels_of_images(tmp_path):
    text = "ImageID,Source,LabelName,Confidence\na,verification,/m/cat,1\na,verification,/m/dog,0\nc,x,/m/cat,1\n"
    labels = vt.read(written(tmp_path, text))
    assert labels.source.format == "openimages-labels"
    assert len(labels) == 0
    assert labels.verdicts.image.tolist() == [0, 0, 1]
    assert labels.verdicts.label.tolist() == [0, 1, 0]
    assert labels.verdicts.kind.tolist() == [PRESENT, ABSENT, PRESENT]
    assert vt.write(labels, tmp_path / "again.csv", "openimages-labels") == ()
    assert vt.read(tmp_path / "again.csv").digest == labels.digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ImageID,LabelName\na,/m/cat\n", ":1: expected a column Confidence, found 'ImageID,LabelName'"),
        ("ImageID,LabelName,Confidence\na,/m/cat,0.7\n", ":2: expected 1 or 0 in Confidence: .*found '0.7'"),
        ("ImageID,LabelName,Confidence\n,/m/cat,1\n", ":2: expected the name of an image, found an empty one"),
        ("ImageID,LabelName,Confidence\na,,1\n", ":2: expected a class name"),
        ("ImageID,LabelName,Confidence\na,1\n", ":2: expected 3 cells as in the header, found 2"),
    ],
)
def test_broken_labels_are_one_line(tmp_path, text, message):
    with pytest.raises(vt.ReadError, match=message):
        vt.read(written(tmp_path, text), format="openimages-labels")


def test_labels_bring_images_without_boxes(tmp_path):
    truth = vt.read(written(tmp_path, BOXES, "boxes.csv"))
    labels = written(tmp_path, "ImageID,LabelName,Confidence\nc,/m/cat,0\n", "labels.csv")
    text = "ImageId,PredictionString\na,/m/cat 0.5 0 0 0.5 0.5\nc,/m/cat 0.9 0 0 1 1 /m/dog 0.9 0 0 1 1\n"
    pred = vt.read(written(tmp_path, text, "pred.csv"))
    curves = vt.openimages(truth, pred, image_labels=labels).curves[0]
    assert curves["/m/cat"].is_true.tolist() == [False, True]
    assert curves["/m/dog"].fp == 0


def test_hierarchy_is_read_with_every_place_of_a_class(tmp_path):
    tree = read_hierarchy(written(tmp_path, TREE, "tree.json"))
    assert sorted(tree.above["/m/cat"]) == ["/m/animal", "/m/pet"]
    assert sorted(tree.below["/m/animal"]) == ["/m/cat", "/m/dog"]
    assert "/m/root" not in tree.above
    assert "/m/paw" not in tree.above


def nested(*names):
    node = {"LabelName": names[-1]}
    for name in reversed(names[:-1]):
        node = {"LabelName": name, "Subcategory": [node]}
    return node


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (
            nested("r", "a", "b", "a"),
            r"Subcategory\[0\].Subcategory\[0\].Subcategory\[0\]: expected a tree, found 'a' below",
        ),
        (nested("r", "a", "r"), "expected a tree, found 'r' below itself"),
        (
            {"LabelName": "r", "Subcategory": [nested("a", "b"), nested("b", "a")]},
            "expected a tree, found '[ab]' both above and below '[ab]'",
        ),
        (
            {"LabelName": "r", "Subcategory": [{"Name": "a"}]},
            r"Subcategory\[0\]: expected a key 'LabelName', found none",
        ),
        ({"LabelName": "r", "Subcategory": {}}, "Subcategory: expected an array, found an object"),
        ({"LabelName": "r", "Subcategory": [{"LabelName": ""}]}, "expected a class name"),
        (nested(*map(str, range(40))), "expected at most 64 levels of nesting, found more"),
        ("{", "expected a whole JSON document, found the end of the file"),
    ],
)
def test_broken_hierarchy_is_one_line(tmp_path, tree, message):
    with pytest.raises(vt.ReadError, match=message) as caught:
        read_hierarchy(written(tmp_path, tree, "tree.json"))
    assert str(caught.value).isprintable()


def test_names_of_classes_are_printed(tmp_path):
    names = written(tmp_path, "/m/cat,Cat\n/m/dog,Dog\n/m/wolf,Dog\n", "names.csv")
    assert read_descriptions(names) == {"/m/cat": "Cat", "/m/dog": "Dog (/m/dog)", "/m/wolf": "Dog (/m/wolf)"}
    truth = vt.read(written(tmp_path, BOXES, "boxes.csv"))
    pred = vt.read(written(tmp_path, "ImageId,PredictionString\na,/m/cat 0.5 0 0 0.5 0.5\n", "pred.csv"))
    results = vt.openimages(truth, pred, descriptions=names)
    assert results.ap("Cat") == 1
    assert vt.openimages(truth, pred, descriptions=names, labels=["Cat"]).class_names == ["Cat"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/m/cat\n", ":1: expected CODE,NAME, found '/m/cat'"),
        ("/m/cat,Cat\n/m/cat,Katze\n", ":2: expected each class once, found a second '/m/cat'"),
        ("/m/cat,\n", ":1: expected a class name"),
    ],
)
def test_broken_names_are_one_line(tmp_path, text, message):
    with pytest.raises(vt.ReadError, match=message):
        read_descriptions(written(tmp_path, text))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "ImageId,PredictionString\na,n01 1 2 3\n",
            ":2: expected 5 words per object, CLASS X1 Y1 X2 Y2, found 4 words",
        ),
        ("ImageId,PredictionString\na,1 2 3\n", ":2: expected 5 words per object"),
        ("ImageID,PredictionString\na,/m/cat 0.5 0 0 1 1 7\n", ":2: expected 6 words per object, LABEL CONFIDENCE"),
        ("ImageId,PredictionString\nb,\na,/m/cat 0.5 0 0 1 1\nc,/m/cat 0.5\n", ":4: expected 6 words per object"),
    ],
)
def test_whose_prediction_strings_they_are_is_seen_in_broken_ones_too(tmp_path, content, message):
    with pytest.raises(vt.ReadError, match=message):
        vt.read(written(tmp_path, content))
