"""Sequences, tables, tasks and angles: what their readers do at the edge of a rule."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

import verite as vt
from verite.errors import BadParameter, DataError, ReadError
from verite.formats import coco_rotated, mask_images, mot, table_files, volumes
from verite.formats import tables as column_names
from verite.formats.format import Options, PathProbe
from verite.formats.json_documents import explain_syntax
from verite.formats.label_images import join, split
from verite.formats.memory import mask_pixels
from verite.formats.openimages import read_descriptions
from verite.formats.tables import ColumnRows
from verite.formats.voc import read_segmentation


def refused(ask, *args, **given):
    with pytest.raises((ReadError, BadParameter, DataError)) as error:
        ask(*args, **given)
    return str(error.value)


# Sequences.


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("MOT17-02/gt/gt.txt", "MOT17-02"),
        ("MOT17-02/det/det.txt", "MOT17-02"),
        ("in/MOT17-02.txt", "MOT17-02"),
        ("a/walk/walk.txt", "walk"),
        ("a/gt/det.txt", "det"),
    ],
)
def test_sequences_have_the_name_of_their_folder(path, name):
    assert mot.sequence_name(Path(path)) == name


def sequence(folder, line, info=None, name="gt"):
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / f"{name}.txt").write_text(f"{line}\n")
    if info is not None:
        (folder / "seqinfo.ini").write_text("[Sequence]\n" + "".join(f"{key}={value}\n" for key, value in info.items()))
    return vt.read(folder / name / f"{name}.txt")


def test_frames_are_as_many_and_as_large_as_their_sequence_says(tmp_path):
    line = "2,1,10,20,30,40,1,1,1"
    bare = sequence(tmp_path / "a", line)
    assert (len(bare.images), bare.images.widths.tolist()) == (1, [0])
    told = sequence(tmp_path / "b", line, {"seqLength": 3, "imWidth": 640, "imHeight": 480})
    assert [told.images.name(i) for i in range(3)] == ["b/000001", "b/000002", "b/000003"]
    assert (told.images.widths.tolist(), told.images.heights.tolist()) == ([640] * 3, [480] * 3)
    unsized = sequence(tmp_path / "c", line, {"seqLength": 2})
    assert (unsized.images.widths.tolist(), unsized.images.heights.tolist()) == ([0, 0], [0, 0])
    assert told.regions.sizes.tolist() == [[10, 20, 30, 40]]


def test_classes_of_sequences_are_counted_from_1():
    assert mot.class_name("x", 1) == mot.CLASSES[0]
    assert mot.class_name("x", len(mot.CLASSES)) == mot.CLASSES[-1]
    for odd in (0, len(mot.CLASSES) + 1, 1.5, float("nan"), -1):
        assert f"expected a class from 1 to {len(mot.CLASSES)}, found {odd}" in refused(mot.class_name, "x", odd)


def test_a_truth_of_sequences_has_nine_numbers_and_a_class(tmp_path):
    def is_truth(*lines, name="x.txt"):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        return mot.is_truth(tmp_path / name)

    assert is_truth("1,1,10,20,30,40,1,1,0.5", "1,2,10,20,30,40,0,7,1")
    assert not is_truth("1,1,10,20,30,40,0.5,-1,-1,-1")
    good, other = "1,1,10,20,30,40,1,1,0.5", "1,-1,10,20,30,40,0.7,-1,-1,-1"
    assert is_truth(good, good, good)
    assert not is_truth(good, other, good)
    assert is_truth("", name="gt.txt")
    assert not is_truth("1,1,10,20,30,40,1,1,0.5", name="det.txt")


# Names and descriptions.


def test_descriptions_may_have_a_header(tmp_path):
    def read(text):
        (tmp_path / "a.csv").write_text(text)
        return read_descriptions(tmp_path / "a.csv")

    lines = "/m/1,Person\n\n/m/2,Tree\n"
    assert read(lines) == read(f"LabelName,DisplayName\n{lines}") == {"/m/1": "Person", "/m/2": "Tree"}
    assert read("/m/1,Bat\n/m/2,Bat\n") == {"/m/1": "Bat (/m/1)", "/m/2": "Bat (/m/2)"}
    assert read("/m/1,Person\nLabelName,DisplayName\n")["LabelName"] == "DisplayName"
    assert "a.csv:1: expected CODE,NAME, found '/m/1,a,b'" in refused(read, "/m/1,a,b\n")
    assert "a.csv:2: expected each class once, found a second '/m/1'" in refused(read, "/m/1,a\n/m/1,b\n")


def task_name(tmp_path, **data):
    result = {"type": "rectanglelabels", "original_width": 100, "original_height": 100}
    result["value"] = {"x": 1, "y": 0, "width": 10, "height": 10, "rectanglelabels": ["cat"]}
    (tmp_path / "a.json").write_text(json.dumps([{"data": data, "annotations": [{"result": [result]}]}]))
    return vt.read(tmp_path / "a.json").images.name(0)


def test_uploads_lose_the_eight_characters_before_their_names(tmp_path):
    assert task_name(tmp_path, image="/data/upload/1/abcdef12-cat.jpg") == "cat.jpg"
    assert task_name(tmp_path, image="/data/upload/1/cat.jpg").endswith("cat.jpg")
    assert task_name(tmp_path, image="in/abcdef12-cat.jpg").endswith("abcdef12-cat.jpg")
    assert task_name(tmp_path, text="hello", picture="x/dog.png").endswith("dog.png")


# Tables.


def test_tables_are_known_by_image_class_and_box(tmp_path):
    def known(*columns, name="a.csv"):
        (tmp_path / name).write_text(",".join(columns) + "\n")
        found = table_files.recognise(PathProbe(tmp_path / name))
        return None if found is None else "some" if "some of" in found else "all"

    box = ("x", "y", "width", "height")
    assert known("image", "label", *box) == "all"
    assert known("image", "label", "bbox") == "all"
    assert known("image", "label") == known("image", "x") == known("label", "x") == "some"
    assert known("image", "other") is known("x", "other") is None
    assert known("image", "label", "x", name="a.txt") is None


def test_widths_beside_corners_are_the_images():
    def named(**changes):
        columns = {"xmin": [1, 2], "ymin": [1, 2], "xmax": [9, 8], "ymax": [9, 8], "width": [9, 9], "height": [9, 9]}
        columns |= changes
        said = column_names.name_image_sizes(columns)
        return bool(said) and "image_width" in columns

    assert named()
    assert not named(xmax=[9, 10])
    assert not named(ymax=[9, 10])
    assert not named(width=[9, 6], height=[9, 6])  # the size of the second box
    assert named(width=[9, 10], height=[9, 12])
    assert not named(width=[9.5, 9.5])
    assert not named(image_width=[9, 9])
    assert not named(width=["x", "y"])
    assert not column_names.name_image_sizes({"x": [1], "y": [1], "width": [1], "height": [1]})
    assert not column_names.name_image_sizes({"xmin": [1], "ymin": [1], "xmax": [9], "ymax": [9], "width": [9]})


def test_cells_that_are_no_texts_are_shown():
    def said(value):
        columns = {"image": ["a", "b"], "label": np.array(["cat", value], object)}
        return refused(vt.read, columns | {side: [1.0, 1.0] for side in ("x", "y", "width", "height")})

    assert "row 2: expected a text in label, found '[7]'" in said([7])
    for nothing in (None, "", float("nan")):
        assert "expected a text in label, found none" in said(nothing)


def test_columns_are_of_one_length():
    boxes = {side: [1.0] for side in ("x", "y", "width", "height")}
    columns = {"image": ["a"], "label": ["cat"], **boxes}
    assert len(vt.read(columns)) == 1
    assert "expected columns of one length" in refused(ColumnRows, "t", columns | {"x": [1.0, 2.0]}, Options(), None)
    assert vt.read(columns | {"image_width": [20], "image_height": [10]}).images.widths.tolist() == [20]
    assert vt.read(columns | {"image_width": [20]}).images.widths.tolist() == [0]


# Angles, masks, volumes.


def test_angles_are_as_wide_as_their_unit_allows():
    def check(*angles, name="degrees", **given):
        coco_rotated.check_unit(Path("x"), np.array(angles), name, Options(**given))

    turn = coco_rotated.TURN
    check(2 * turn, -2 * turn, name="radians")
    assert "expected angles in radians (V430)" in refused(check, 2.1 * turn, name="radians")
    several = [0.1 * (i + 1) for i in range(coco_rotated.FEWEST)]
    assert "expected angles in degrees (V430)" in refused(check, *several)
    check(*several[1:])  # too few to say
    check(*several[1:], 0.0)
    check(*several, angle="degrees")
    check(*several, turn + 0.1)
    assert "V430" in refused(check, *several, turn)


def test_masks_of_frameworks_are_planes_with_or_without_a_channel():
    plane = np.array([[[0.5, 0.6]]])
    assert mask_pixels(plane, "x").tolist() == mask_pixels(plane[:, None], "x").tolist() == [[[False, True]]]
    assert mask_pixels(np.array([[[0, 2]]]), "x").tolist() == [[[False, True]]]
    for odd in (np.zeros((1, 2, 3, 3)), np.zeros((3, 3)), np.zeros((1, 1, 1, 3, 3))):
        assert "expected shape (n, height, width)" in refused(mask_pixels, odd, "x")
    assert "found NaN" in refused(mask_pixels, np.array([[[np.nan]]]), "x")


def test_arrays_are_masks_where_all_of_them_are_planes():
    plane, stack = np.zeros((2, 2)), np.zeros((2, 2, 2))
    assert mask_images.are_arrays(plane)
    assert mask_images.are_arrays(stack)
    assert mask_images.are_arrays([plane, plane])
    assert mask_images.are_arrays({"a": plane})
    for odd in ([plane, stack], {"a": plane, "b": stack}, [], {}, np.zeros(3), np.zeros((1, 1, 1, 1)), "x"):
        assert not mask_images.are_arrays(odd)


def test_masks_of_no_picture_are_none():
    none = join([])
    assert (len(none), none.sizes.shape) == (0, (0, 2))
    both = join([split(np.array([[5, 5]])), split(np.array([[1], [2]]))])
    assert both.sizes.tolist() == [[1, 2], [2, 1], [2, 1]]
    assert [both[i].tolist() for i in range(3)] == [[0, 2], [0, 1, 1], [1, 1]]


def test_voc_counts_its_classes_from_1(tmp_path):
    from PIL import Image

    for part in ("SegmentationObject", "SegmentationClass"):
        (tmp_path / part).mkdir()
        Image.fromarray(np.array([[0, 1]], np.uint8)).save(tmp_path / part / "a.png")
    read = read_segmentation(tmp_path)
    assert (read.labels.name(int(read.label[0])), read.labels.ids[read.label[0]]) == ("aeroplane", 1)


def test_spacings_of_volumes_are_rounded_to_six_digits(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    nibabel.save(nibabel.Nifti1Image(np.zeros((2, 2, 2), np.uint8), np.diag([0.7, 0.7, 3, 1])), tmp_path / "a.nii")
    assert volumes.read_volume(tmp_path / "a.nii").spacing.steps == (0.7, 0.7, 3.0)


def test_wrong_json_is_shown_around_the_place():
    data = b"[\n" + b"1" * 30 + b" x" + b"2" * 30
    with pytest.raises(msgspec.DecodeError) as error:
        msgspec.json.decode(data)
    said = str(explain_syntax(Path("a"), data, error.value))
    # Ten bytes before byte 33, and twenty from there on.
    assert f"a:2: expected JSON, found '{data[23:53].decode()}' around byte 33" in said
