"""The small rules of readers, each at the point where it turns: words, names, sizes, frames, files at first sight."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest
from PIL import Image

import verite as vt
from verite.errors import BadParameter, DataError, ReadError
from verite.faults import list_faults
from verite.formats import coco_sieve, wider, yolo_pose
from verite.formats.arrow_stream import check as check_stream
from verite.formats.building import name_numbers, size_images
from verite.formats.class_names import check_name, check_names, names_in
from verite.formats.csv_lines import find_columns, header_columns, separator_of
from verite.formats.data_yaml import block_values, label_file, place_of
from verite.formats.document import check_depth, check_finite, explain_syntax, odd_value, translate
from verite.formats.facts import facts_of
from verite.formats.format import HEAD, Look, Options, file_stems, frame_of, head_of, is_list, tail_of
from verite.formats.joining import join
from verite.formats.label_studio_brush import encode_brush
from verite.formats.mask_writing import save
from verite.formats.memory import are_systems, describe_object, is_columns, is_results, to_plain
from verite.formats.openimages import decimal, is_yes
from verite.formats.picture_names import name_by_folder, name_by_number, name_pictures, name_plainly
from verite.formats.rows import Rows
from verite.formats.sizes import check_order, check_size, fractions, in_pixels, picture_size, pictures_in
from verite.formats.splits import choose_split
from verite.formats.unread import has_suffix, name_unread
from verite.formats.words import (
    confidence_place,
    is_confidence_last,
    is_relative,
    leaves_image,
    relative_lines,
    to_number,
    to_numbers,
)
from verite.formats.yolo_keypoints import shape_of_lines, shape_of_truth, split_keypoints
from verite.model.images import Images
from verite.model.keypoints import Keypoints
from verite.model.regions import Regions


def refused(ask, *args, **given):
    with pytest.raises((ReadError, BadParameter, DataError)) as error:
        ask(*args, **given)
    return str(error.value)


# Words of a line.


@pytest.mark.parametrize(
    ("line", "is_so"),
    [
        ("0 0.5 0.5 0.2 0.2", True),
        ("0 0.5 0.5 0.2", False),  # four words
        ("boat 0.5 0.5 0.2 0.2", False),
        ("0 -0.01 0.5 1.01 0.2", True),  # a hundredth beyond the edge is rounding
        ("0 -0.0105 0.5 0.2 0.2", False),
        ("0 0.5 0.5 1.0105 0.2", False),
        ("0 0.5 0.5 x 0.2", False),
    ],
)
def test_a_line_of_a_class_number_and_fractions_is_relative(line, is_so):
    assert is_relative(line.split()) is is_so


def test_more_than_half_of_the_lines_must_be_relative():
    fraction, pixels = ["0", "0.5", "0.5", "0.2", "0.2"], ["0", "5", "5", "20", "20"]
    assert relative_lines([fraction, fraction, pixels]) == [[0.5, 0.5, 0.2, 0.2]] * 2
    assert relative_lines([fraction, pixels]) == []


@pytest.mark.parametrize(
    ("box", "leaves"),
    [
        ((0.5, 0.5, 1, 1), False),
        ((0.5, 0.5, 1.01, 1.01), False),  # half a hundredth on each side
        ((0.5, 0.5, 1.03, 1), True),
        ((0.5, 0.5, 1, 1.03), True),
        ((0.1, 0.5, 0.23, 0.2), True),  # to -0.015
        ((0.9, 0.5, 0.23, 0.2), True),
        ((0.5, 0.1, 0.2, 0.23), True),
        ((0.5, 0.9, 0.2, 0.23), True),
        ((0.1, 0.1, 0.2, 0.2), False),
    ],
)
def test_a_box_by_its_centre_leaves_the_image_with_any_side(box, leaves):
    assert leaves_image(box) is leaves


@pytest.mark.parametrize(
    ("lines", "is_last"),
    [
        (["boat 10 2 3 4 0.5"], True),
        (["boat 10 2 3 4 0", "boat 10 2 3 4 1"], True),
        (["boat 10 2 3 4 1.5"], False),
        (["boat 10 2 3 4 -0.5"], False),
        (["boat 1 2 3 4 0.5"], False),  # 1 may be a confidence
        (["boat 10 2 3 4 0.5", "boat 0.5 2 3 4 0.5"], False),  # half of them
        (["boat 10 2 3 4 0.5", "boat 12 2 3 4 0.5", "boat 0.5 2 3 4 0.5"], True),
        (["boat 10 2 3 4"], False),
        (["boat x 2 3 4 0.5"], False),
        ([], False),
    ],
)
def test_a_confidence_stands_last_where_most_lines_begin_with_more_than_one(lines, is_last):
    assert is_confidence_last([line.split() for line in lines]) is is_last


def test_the_place_of_a_confidence_is_asked_where_most_lines_have_one():
    five, six = ["0", "0.5", "0.5", "0.2", "0.2"], ["0", "0.9", "0.5", "0.5", "0.2", "0.2"]
    assert confidence_place([five, six]) is None
    assert confidence_place([five]) is None
    assert confidence_place([five, six, six]) is not None


def test_the_place_of_a_confidence_is_where_fewer_boxes_leave_the_image():
    # As class, confidence, box the box is 0.5 0.5 0.2 0.2; as class, box, confidence it is 0.9 0.5 0.5 0.2, to 1.15.
    place, why = confidence_place([["0", "0.9", "0.5", "0.5", "0.2", "0.2"]])
    assert (place, why) == (
        "before",
        "confidence before the box, because of 1 boxes 1 leave the image if the confidence comes last, "
        "0 if it comes first",
    )
    assert confidence_place([["0", "0.5", "0.5", "0.2", "0.2", "0.9"]])[0] == "after"
    assert confidence_place([["0", "0.5", "0.5", "0.5", "0.5", "0.5"]])[0] == "after"  # neither leaves it


def test_numbers_with_underscores_or_commas_are_none():
    assert refused(to_number, "1_000", "a:1") == "a:1: expected a number, found '1_000'"
    assert refused(to_number, "1,5", "a:1") == "a:1: expected a number, found '1,5'; write a decimal point"
    assert refused(to_number, "x", "a:1") == "a:1: expected a number, found 'x'"
    assert "found '1_0'" in refused(to_numbers, ["1", "1_0"], "a:1")
    assert to_numbers(["1", "-2.5e1"], "a:1") == [1, -25]


# Files at first sight.


@pytest.mark.parametrize(
    ("name", "text", "is_so"),
    [
        ("train", "pictures/a.jpg\n", True),
        ("train", "boat 1 2 3 4\n", False),
        ("train", "\nboat 1 2 3 4\n", False),
        ("train", "boat 1 2 3\n", True),  # four words are no object
        ("train", "boat 1 2 3 x\n", True),
        ("train", "", True),
        ("pier", "pictures/a.jpg\n", False),
    ],
)
def test_lists_beside_annotations_are_known_by_name_and_by_their_first_line(tmp_path, name, text, is_so):
    (tmp_path / f"{name}.txt").write_text(text)
    assert is_list(tmp_path / f"{name}.txt") is is_so


def test_fifty_lines_of_fifty_files_are_looked_at(tmp_path):
    for i in range(51):
        (tmp_path / f"{i:02d}.txt").write_text(f"{i}\n" * (51 if i == 0 else 1))
    lines = Look(tmp_path).lines
    assert len(lines) == 50 + 49
    assert lines[-1] == ["49"]


def test_the_head_and_the_tail_of_a_file_are_64_kilobytes(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"x" + b"y" * HEAD + b"z")
    assert HEAD == 64 * 1024
    assert head_of(path) == "x" + "y" * (HEAD - 1)
    assert tail_of(path) == "y" * (HEAD - 1) + "z"
    assert tail_of(path, 3) == "yyz"
    assert head_of(tmp_path / "absent") == tail_of(tmp_path / "absent") == ""


def test_hidden_files_and_folders_are_not_looked_at(tmp_path):
    for name in ("a.txt", ".b.txt", "sub/c.txt", "sub/.d.txt", ".hidden/e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [p.name for p in Look(tmp_path).files] == ["a.txt", "c.txt"]


def test_files_may_stand_three_folders_deep(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.txt").touch()
    assert [p.name for p in Look(tmp_path).files] == ["c.txt"]


@pytest.mark.parametrize(
    ("name", "is_so"),
    [("a.tfrecord", True), ("a.record-00001-of-00010", True), ("a.record-1", False), ("a.recording", False)],
)
def test_shards_are_known_by_their_suffix(tmp_path, name, is_so):
    (tmp_path / name).touch()
    assert has_suffix("tfrecord", "record")(Look(tmp_path)) is is_so


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('{"asset": {}, "regions": []}', "a VoTT asset"),
        ('{"asset": {}}', None),
        ('[{"labels": [{"box2d": {}}]}]', "BDD100K JSON"),
        ('text with "labels" and "box2d"', None),
        ("GIF89a", "a picture"),
    ],
)
def test_what_is_not_read_is_named(tmp_path, text, title):
    (tmp_path / "a").write_text(text)
    found = name_unread(Look(tmp_path / "a"))
    assert (found.title if found else None) == title


# Options and frames.


@pytest.mark.parametrize(
    "coords", ["*0", "*-1", "*1e9", "*1000000000", "640", "axb", "640x480x3", "-1x5", "1e9x5", "5x1e9", "5x-1"]
)
def test_frames_that_are_none_are_refused(coords):
    assert f"coords: expected abs, rel, WIDTHxHEIGHT or *FACTOR, found '{coords}'" in refused(frame_of, coords)


def test_frames_are_fractions_or_factors():
    half, wide, rel = frame_of("*0.5"), frame_of("640x480"), frame_of("rel")
    assert (half.factor, half.is_relative) == (0.5, False)
    assert (wide.width, wide.height, wide.is_relative) == (640, 480, True)
    assert (rel.width, rel.height) == (1, 1)
    assert not frame_of(None).is_relative
    assert frame_of("*999999999").factor == frame_of("999999999x1").width == 999_999_999
    assert frame_of("abs").factor == 1


def test_thresholds_and_sizes_have_bounds():
    assert Options(mask_threshold=1).mask_threshold == 1
    assert Options(image_size=(1, 1)).image_size == (1, 1)
    for wrong in (0, 1.05, -0.5):
        assert "a share above 0 and up to 1" in refused(Options, mask_threshold=wrong)
    for wrong in ((0, 5), (5, 0)):
        assert "WIDTH,HEIGHT above 0" in refused(Options, image_size=wrong)


def test_options_that_say_something_are_told_from_defaults():
    assert Options().given == ()
    assert Options(label_offset=1, names=["a"]).given == ("names", "label_offset")
    assert Options(mask_threshold=0.5, side="pred").given == ("mask_threshold",)


def test_options_are_spelt_for_whoever_asks():
    assert Options().spell("split", "val") == "split='val'"
    assert Options(side="truth").spell("boxes", "xyxy") == "--truth-boxes xyxy"
    assert Options(side="truth").spell("image_size", "5,5") == "--image-size 5,5"
    assert Options(side="").spell("boxes", "xyxy") == "--boxes xyxy"


# Sizes.


@pytest.mark.parametrize(
    ("width", "height", "said"),
    [
        (0, 0, ""),
        (10, 10, ""),
        (12, 8, ""),
        (13, 1, "of at most 12 pixels, found 13 x 1"),
        (1, 13, "of at most 12 pixels, found 1 x 13"),
        (12, 9, "at most 100 pixels, found 12 x 9"),
        (-1, 5, "a width and height from 0, found -1 x 5"),
        (5, -1, "a width and height from 0, found 5 x -1"),
        (0, 5, "both width and height or neither, found 0 x 5"),
        (5, 0, "both width and height or neither, found 5 x 0"),
    ],
)
def test_sizes_of_pictures_have_limits(monkeypatch, width, height, said):
    monkeypatch.setenv("VERITE_LIMIT_IMAGE_SIDE", "12")
    monkeypatch.setenv("VERITE_LIMIT_IMAGE_PIXELS", "100")
    if said:
        assert said in refused(check_size, "a", width, height)
    else:
        check_size("a", width, height)


def test_regions_become_fractions_of_their_images():
    side = vt.Annotations.of(["a", "b"], ["x", "x"], [[10, 10, 20, 30]] * 2, sizes={"a": (100, 50), "b": (40, 60)})
    assert fractions(side, Path("out")).boxes.tolist() == [[0.1, 0.2, 0.2, 0.6], [0.25, 10 / 60, 0.5, 0.5]]
    unsized = vt.Annotations.of(["a", "b"], ["x", "x"], [[10, 10, 20, 30]] * 2, sizes={"a": (100, 50)})
    assert "expected the size of every image, found none for 'b'" in refused(fractions, unsized, Path("out"))


def test_boxes_the_wrong_way_round_are_not_written_as_corners():
    side = vt.Annotations.of(["a", "a"], ["x", "x"], [[1, 1, 5, 5], [1, 5, 5, 1]])
    assert "found object 1 of negative size" in refused(check_order, side, Path("out"))
    check_order(vt.Annotations.of(["a"], ["x"], [[1, 1, 1, 5]]), Path("out"))  # of no width is no way round


def test_numbers_become_pixels_by_factor_or_frame():
    regions, image = Regions(np.array([[10.0, 20, 30, 40]]), "xyxy"), np.zeros(1, np.int32)
    sized, unsized = Images(["a"], widths=[200], heights=[100]), Images(["a"])

    def placed(coords, images):
        found, unit = in_pixels(regions, coords, images, image)
        return found.boxes[0].tolist(), unit

    assert placed("abs", unsized) == ([10, 20, 30, 40], "px")
    assert placed("*0.5", unsized) == ([5, 10, 15, 20], "px")
    assert placed("100x50", sized) == ([20, 40, 60, 80], "px")
    assert placed("100x50", unsized) == ([0.1, 0.4, 0.3, 0.8], "rel")


def test_pictures_are_found_by_stem_and_hidden_ones_are_not(tmp_path):
    (tmp_path / "deep").mkdir()
    for name in ("a.png", ".b.png", "c.txt", "deep/d.JPG", "deep/a.jpg"):
        (tmp_path / name).touch()
    assert {stem: len(files) for stem, files in pictures_in(tmp_path).items()} == {"a": 2, "d": 1}
    assert list(pictures_in(tmp_path, is_deep=False)) == ["a"]
    assert "expected one picture named a, found 2" in refused(picture_size, pictures_in(tmp_path)["a"])
    assert "found nothing" in refused(pictures_in, tmp_path / "absent")
    assert "found a file" in refused(pictures_in, tmp_path / "c.txt")


def test_unknown_sizes_come_from_the_user_the_pictures_or_the_truth(tmp_path):
    Image.new("L", (7, 5)).save(tmp_path / "b.png")
    images = Images(["a", "b"], widths=[3, 0], heights=[4, 0])

    def sized(beside=None, **options):
        found = size_images(images, Options(**options), "in", beside or {})
        return list(zip(found.widths.tolist(), found.heights.tolist(), strict=True))

    assert sized() == [(3, 4), (0, 0)]
    assert sized(image_size=(9, 8)) == [(3, 4), (9, 8)]
    assert sized(images=tmp_path) == [(3, 4), (7, 5)]
    assert sized(beside={"b": [tmp_path / "b.png"]}) == [(3, 4), (7, 5)]
    like = vt.Annotations.of(["b"], ["x"], [[0, 0, 1, 1]], sizes={"b": (6, 2)})
    assert sized(like=like) == [(3, 4), (6, 2)]
    (tmp_path / "b.png").unlink()
    assert "expected a picture named b, found none; is" in refused(sized, images=tmp_path)


# Names.


def test_class_names_have_a_length_and_a_number(monkeypatch):
    monkeypatch.setenv("VERITE_LIMIT_CLASS_NAME", "3")
    monkeypatch.setenv("VERITE_LIMIT_CLASSES", "2")
    check_name("a", "cat")
    check_names("a", ["cat", "dog"])
    assert "a class name of 1 to 3 characters, found 4, 'goat'" in refused(check_name, "a", "goat")
    assert "found an empty one" in refused(check_name, "a", "")
    assert "expected at most 2 classes, found 3" in refused(check_names, "a", ["a", "b", "c"])
    assert "expected each class name once, found 'cat' twice" in refused(check_names, "a", ["cat", "cat"])


def test_an_empty_line_in_a_list_of_names_is_named(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("cat\n\ndog\n\n")
    assert "names.txt:2: expected a class name a line, found an empty line" in refused(names_in, path)
    path.write_text("cat\ndog\n\n")
    assert names_in(path) == ["cat", "dog"]
    path.write_text("\n")
    assert "expected class names, found an empty file" in refused(names_in, path)


def test_class_numbers_need_a_name_each():
    told = {}

    def refuse(expected, odd):
        told.update(odd)

    label, labels = name_numbers(np.array([0, 1]), Options(names=["a", "b"]), refuse)
    assert (label.tolist(), labels.names, told) == ([0, 1], ("a", "b"), {})
    name_numbers(np.array([-1, 0, 2]), Options(names=["a", "b"]), refuse)
    assert told == {0: "-1", 2: "2"}
    label, labels = name_numbers(np.array([7, 5, 7]), Options(label_offset=1), refuse)
    assert (label.tolist(), list(labels.ids)) == ([1, 0, 1], [6, 8])


def test_images_need_names_of_files_of_their_own():
    assert file_stems(Images(["x/a.jpg", "b.png"]), Path("out")) == ["a", "b"]
    assert "found 'a.jpg' and 'a.png' of the same stem" in refused(file_stems, Images(["a.jpg", "a.png"]), Path("out"))
    assert "image names that can name a file, found '.a'" in refused(file_stems, Images([".a"]), Path("out"))


# Columns of CSV.


def test_columns_are_found_in_any_case_and_the_first_of_two_counts():
    assert find_columns([" ImageID", "xmin", "imageid"], ["ImageID", "XMin", "YMin"]) == {"ImageID": 0, "XMin": 1}


@pytest.mark.parametrize(("line", "found"), [("a,b,c;d", ","), ("a;b;c,d", ";"), ("a\tb", "\t"), ("a", ",")])
def test_the_separator_is_what_a_header_has_most_of(line, found):
    assert separator_of(line) == found


def test_of_a_folder_the_only_table_is_looked_at(tmp_path):
    (tmp_path / "a.csv").write_text("ImageID;XMin\n")
    assert header_columns(Look(tmp_path), ["ImageID", "XMin"]) == {"ImageID": 0, "XMin": 1}
    (tmp_path / "b.csv").write_text("ImageID;XMin\n")
    assert header_columns(Look(tmp_path), ["ImageID", "XMin"]) == {}


# Rows.


def test_remarks_are_counted_and_told_with_the_first_place():
    rows = Rows(Path("in"), Options())
    rows.notes.append("a word")
    rows.remark("things left out", "a:1")
    rows.remark("things left out", "a:7", 2)
    rows.remark("others", "", 1)
    rows.remark("nothing", "a:9", 0)
    assert rows.all_notes == ("a word", "1 others", "3 things left out (first: a:1)")


def test_an_image_has_a_name_and_comes_once():
    rows = Rows(Path("in"), Options())
    rows.add_image("a:1", "x", 4, 5)
    assert "expected each image once, found a second 'x'" in refused(rows.add_image, "a:2", "x")
    rows.remember_image("a:3", "x")  # objects speak of it again
    assert rows.images == {"x": (4, 5)}
    assert "the name of an image, found an empty one" in refused(rows.remember_image, "a:4", "")
    assert "an image name in UTF-8" in refused(rows.remember_image, "a:5", "\ud800")


def test_all_objects_have_a_confidence_or_none():
    def rows(*confidences):
        found = Rows(Path("in"), Options())
        for i, confidence in enumerate(confidences):
            found.add(f"a:{i}", "x", "cat", (0, 0, 1, 1), confidence)
        return found

    assert rows(0.5, 0.6).annotations("text", layout="xywh").confidence.tolist() == [0.5, 0.6]
    assert rows(None, None).annotations("text", layout="xywh").confidence is None
    assert "a:1: expected a confidence as in a:0, found none" in refused(rows(0.5, None).check_confidences)
    assert "a:1: expected no confidence as in a:0, found one" in refused(rows(None, 0.5).check_confidences)


def test_where_faults_are_listed_objects_unlike_the_first_are_left_out():
    with list_faults():
        rows = Rows(Path("in"), Options())
        for i, (confidence, flags) in enumerate([(0.5, ()), (None, ("crowd",)), (0.7, ("difficult",))]):
            rows.add(f"a:{i}", "x", "cat", (i, 0, 1, 1), confidence, flags=flags)
        found = rows.annotations("text", layout="xywh")
    assert found.confidence.tolist() == [0.5, 0.7]
    assert found.flag("difficult").tolist() == [False, True]
    assert not found.flag("crowd").any()


# Which part, which picture.


def split(parts, wanted=None):
    return choose_split(Path("in"), parts, Options(split=wanted), expected="a part")


def test_the_part_of_a_data_set_is_the_only_one_or_the_one_named():
    assert split({"train": 1}) == ("train", 1)
    assert split({"train": 1, "valid": 2}, "val") == ("valid", 2)
    assert split({"train": 1, "val": 2}, "validation") == ("val", 2)
    assert "expected one part of the data set, found train, val; add split='train'" in refused(
        split, {"train": 1, "val": 2}
    )
    assert "expected a part, found none" in refused(split, {})
    assert "found 'trian'; did you mean 'train'?" in refused(split, {"train": 1}, "trian")
    assert "expected none, as in has only one part" in refused(split, {"": 1}, "val")


def named(*names, folder=Path("in")):
    return [folder / name for name in names]


def images_of(rule):
    return [picture.image for picture in rule.pictures]


def test_an_ending_that_all_masks_have_is_no_part_of_the_name():
    assert images_of(name_plainly(named("a_mask.png", "b_mask.png"))) == ["a", "b"]
    assert images_of(name_plainly(named("a_mask.png", "b.png"))) == ["a_mask", "b"]
    assert images_of(name_plainly(named("x/a_mask.png", "y/a_mask.png"))) == ["a_mask", "a_mask"]


def test_numbered_masks_are_objects_of_several_images():
    two = named("a_1.png", "a_2.png", "b_1.png")
    assert images_of(name_by_number(two, least=2)) == ["a", "a", "b"]
    assert not name_by_number(two, least=2).is_sure
    assert name_by_number(named("a_1.png", "a_2.png"), least=2) is None  # perhaps a series of images
    assert images_of(name_by_number(named("a_1.png", "a_2.png"), least=1)) == ["a", "a"]
    assert images_of(name_by_number(named("a_obj1.png", "a_obj2.png"), least=2)) == ["a", "a"]
    assert name_by_number(named("a_obj1.png", "a_obj2.png"), least=2).is_sure
    assert name_by_number(named("a_1.png", "b_1.png"), least=1) is None  # one each
    assert name_by_number(named("a_1.png", "a.png"), least=1) is None


def test_masks_in_a_folder_for_each_image_are_its_objects():
    def by_folder(*names):
        rule = name_by_folder(Path("in"), named(*names))
        return rule and (images_of(rule), rule.is_sure)

    assert by_folder("a/1.png", "a/2.png", "b/1.png") == (["a", "a", "b"], False)
    assert by_folder("a/masks/1.png", "a/masks/2.png") == (["a", "a"], True)
    assert by_folder("a/1.png", "a/2.png") is None
    assert by_folder("a/1.png", "b/1.png") is None
    assert by_folder("a/1.png", "2.png") is None


def test_the_names_of_the_truth_decide_how_masks_are_named(tmp_path):
    files = named("a_1.png", "a_2.png", folder=tmp_path)
    assert images_of(name_pictures(tmp_path, files, Images(["a"]))) == ["a", "a"]
    assert images_of(name_pictures(tmp_path, files, Images(["a_1", "a_2"]))) == ["a_1", "a_2"]
    assert images_of(name_pictures(tmp_path, files, None)) == ["a_1", "a_2"]
    one = tmp_path / "z.png"
    assert images_of(name_pictures(one, [one], Images(["a"]))) == ["a"]
    assert images_of(name_pictures(one, [one], Images(["a", "b"]))) == ["z"]


# data.yaml.


def test_labels_stand_beside_the_last_folder_of_images():
    assert label_file(Path("images/images/val/a.jpg")) == Path("images/labels/val/a.txt")
    assert label_file(Path("val/a.jpg")) == Path("val/a.txt")
    assert label_file(Path("val/images")) == Path("val/images.txt")


def test_folders_above_are_also_looked_for_beside(tmp_path):
    (tmp_path / "train").mkdir()
    assert place_of(tmp_path, "../train") == tmp_path / "train"
    assert place_of(tmp_path, "train") == tmp_path / "train"
    assert place_of(tmp_path / "train", "../train") == tmp_path / "train" / "../train"


def test_lists_in_a_block_end_where_something_else_begins():
    assert block_values(["  - a # first", "", "  - b", "nc: 3", "  - c"]) == ["a", "b"]


# What is in memory.


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
    assert are_systems({"a": 1, "b": 2})
    assert are_systems({"image": [1], "b": [1]})
    assert not are_systems({"image": [1], "label": [1]})
    assert are_systems({"image": [1], "label": [1, 2]})  # of different lengths: no table
    assert not are_systems({"images": [], "annotations": []})
    assert not are_systems([1])


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


# Several files as one.


def shard(images, confidence=None, **more):
    labels, boxes = ["cat"] * len(images), [[0, 0, 1, 1]] * len(images)
    return vt.Annotations.of(images, labels, np.reshape(boxes, (-1, 4)), confidence=confidence, **more)


def test_files_of_one_side_all_have_confidences_or_none():
    one, two = shard(["a"], [0.5]), shard(["b"])
    assert "expected confidences in every file or in none" in refused(join, [one, two.like(one)], "in")
    assert len(join([one, shard([]).like(one)], "in")) == 1


def test_an_image_of_a_truth_stands_in_one_file():
    one, two = shard(["a"]), shard(["a"])
    assert "found 'a'; is a file there twice?" in refused(join, [one, two.like(one)], "in")
    both = [shard(["a"], [0.5]), shard(["a"], [0.6])]
    assert join([both[0], both[1].like(both[0])], "in").confidence.tolist() == [0.5, 0.6]


# Facts.


def test_facts_are_those_that_a_format_may_be_unable_to_hold():
    plain = vt.Annotations.of(["a"], ["cat"], [[0, 0, 1, 1]])
    assert facts_of(plain) == set()
    more = vt.Annotations.of(
        ["d/a.jpg"], ["cat"], [[0, 0, 1, 1]], confidence=[0.5], sizes={"d/a.jpg": (4, 5), "b": (4, 5)},
        labels=["cat", "dog"],
    )  # fmt: skip
    assert facts_of(more) == {"confidence", "empty image", "image folder or suffix", "image size", "unused class"}


# Wrong records of COCO files, all of them.


def records(*boxes):
    images, categories = [{"id": 1, "width": 9, "height": 9}], [{"id": 1, "name": "cat"}]
    found = [{"id": i, "image_id": 1, "category_id": 1, "bbox": box} for i, box in enumerate(boxes, 1)]
    return {"images": images, "categories": categories, "annotations": found}


GOOD, BAD = [0, 0, 1, 1], [0, 0, "x", 1]


def flaws(tmp_path, *boxes):
    (tmp_path / "truth.json").write_text(json.dumps(records(*boxes)))
    with list_faults():
        found = vt.read(tmp_path / "truth.json")
    return len(found), [place.partition(": ")[2] for flaw in found.source.flaws for place in flaw.places]


@pytest.mark.parametrize("block", [1, 2, 3, 100])
def test_wrong_records_are_found_whatever_is_read_together(tmp_path, monkeypatch, block):
    monkeypatch.setattr(coco_sieve, "BLOCK", block)
    count, places = flaws(tmp_path, GOOD, BAD, GOOD, GOOD, BAD)
    assert count == 3
    assert [place.partition(".")[0] for place in places] == ["annotations[1]", "annotations[4]"]


def test_after_many_wrong_records_the_others_are_not_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(coco_sieve, "MOST", 2)
    count, places = flaws(tmp_path, BAD, GOOD, BAD, GOOD, BAD)
    assert count == 1
    assert "annotations[3]" in places


def test_objects_of_unknown_images_are_left_out_one_by_one(tmp_path):
    document = records(GOOD, GOOD, GOOD)
    document["annotations"][1]["image_id"] = 7
    (tmp_path / "truth.json").write_text(json.dumps(document))
    with list_faults():
        found = vt.read(tmp_path / "truth.json")
    assert found.ids.tolist() == [1, 3]
    assert len(found.source.flaws) == 1


# JSON that is none.


def test_wrong_json_is_named_by_its_line(tmp_path):
    path = tmp_path / "a.json"
    for data, line in ((b'{"a": 1,\n "b": x}', 2), (b"x", 1)):
        with pytest.raises(msgspec.DecodeError) as error:
            msgspec.json.decode(data)
        assert str(explain_syntax(path, data, error.value)).startswith(f"{path}:{line}: expected JSON")


def test_json_may_be_nested_so_deeply_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setenv("VERITE_LIMIT_JSON_DEPTH", "3")
    check_depth(tmp_path, b"[[[1]]]")
    check_depth(tmp_path, b'[[1], [2], [3], [4], {"a": [5]}]')
    check_depth(tmp_path, b'["[[[[[["]')  # in a text
    assert "at most 3 levels of nesting, found more" in refused(check_depth, tmp_path, b"[[[[1]]]]")
    assert "found more" in refused(check_depth, tmp_path, b'[{"a": [{"b": 1}]}]')


def test_values_that_json_has_not_are_found_by_their_place():
    nan = float("nan")
    assert odd_value({"a": [1, {"b": nan}]}, "", frozenset()) == (".a[1].b", "a number", "nan")
    assert odd_value({"a": [1, {"b": nan}]}, "", frozenset({"b"})) is None
    assert odd_value({"a": "\ud800"}, "", frozenset()) == (".a", "text", "half a surrogate pair")
    assert odd_value({"\ud800": 1}, "", frozenset())[0] == ": key"
    assert odd_value({"é": "é", "a": [1.5, "x"]}, "", frozenset()) is None


def test_numbers_that_json_has_not_are_not_written(tmp_path):
    check_finite(tmp_path, "boxes", np.zeros((3, 4)))
    values = np.zeros((3, 4))
    values[1, 2] = np.nan
    assert "expected boxes that JSON can hold, found NaN or infinity in object 1" in refused(
        check_finite, tmp_path, "boxes", values
    )


# Arrow.


def test_decimals_of_a_part_of_a_table_are_read():
    pa = pytest.importorskip("pyarrow")
    numbers = [Decimal("1.5"), Decimal("-2.25"), Decimal("30.75"), Decimal("0.5")]
    columns = {name: pa.array(numbers, pa.decimal128(9, 2)) for name in ("x", "y", "width", "height")}
    whole = pa.table({"image": ["a", "b", "c", "d"], "label": ["cat"] * 4, **columns})
    assert vt.read(whole).regions.sizes[:, 0].tolist() == [1.5, -2.25, 30.75, 0.5]
    assert vt.read(whole.slice(1, 2)).regions.sizes[:, 3].tolist() == [-2.25, 30.75]


def test_bits_and_nulls_of_a_part_of_a_table_begin_within_a_byte():
    pa = pytest.importorskip("pyarrow")
    crowd = [i % 3 == 0 for i in range(30)]
    confidence = [None if i % 5 == 0 else i / 100 for i in range(30)]
    columns = {name: [1.0] * 30 for name in ("x", "y", "width", "height")}
    names = [f"{i:02d}" for i in range(30)]
    whole = pa.table({"image": names, "label": ["cat"] * 30, "crowd": crowd, "confidence": confidence, **columns})
    for start, length in ((0, 30), (9, 12), (17, 3)):
        found = vt.read(whole.slice(start, length))
        assert found.crowd.tolist() == crowd[start : start + length]
        assert np.isnan(found.confidence).tolist() == [i % 5 == 0 for i in range(start, start + length)]


def test_a_stream_that_breaks_off_says_why():
    check_stream(SimpleNamespace(), 0, 0)
    silent, loud = (SimpleNamespace(get_last_error=lambda _, said=said: said) for said in (None, b"no disk"))
    assert "expected a stream that can be read, found 'an error'" in refused(check_stream, silent, 0, 5)
    assert "found 'no disk'" in refused(check_stream, loud, 0, 5)


# What is particular about some formats.


def test_dota_results_are_a_file_for_each_class(tmp_path):
    square = vt.Polygons.of([[[1, 2, 5, 2, 5, 8, 1, 8]]] * 2)
    pred = vt.Annotations.of(
        ["p1", "p2"], ["ship", "plane"], [[1, 2, 5, 8]] * 2, confidence=[0.75, 0.5], labels=["plane", "ship"]
    )
    vt.write(replace(pred, regions=vt.Regions([[1, 2, 5, 8]] * 2, polygons=square)), tmp_path / "out", "dota")
    found = {path.name: path.read_text() for path in (tmp_path / "out").iterdir()}
    corners = "1.0 2.0 5.0 2.0 5.0 8.0 1.0 8.0"
    assert found == {"Task1_plane.txt": f"p2 0.5 {corners}\n", "Task1_ship.txt": f"p1 0.75 {corners}\n"}


def brush_task(**more):
    # Columns of a mask of 2 x 3: only the middle one.
    value = {"format": "rle", "rle": encode_brush(np.array([2, 2, 2], np.uint32), 2, 3), "brushlabels": ["cat"]}
    result = {"type": "brushlabels", "value": value, **more}
    return [{"data": {"image": "a.jpg", "width": 3, "height": 2}, "annotations": [{"result": [result]}]}]


@pytest.mark.parametrize("more", [{}, {"original_width": 3, "original_height": 2}])
def test_strokes_have_a_size_of_their_own_or_that_of_their_image(tmp_path, more):
    (tmp_path / "a.json").write_text(json.dumps(brush_task(**more)))
    found = vt.read(tmp_path / "a.json")
    assert found.regions.runs.sizes.tolist() == [[2, 3]]
    assert found.regions.boxes.tolist() == [[1, 0, 2, 2]]


def test_of_several_annotations_of_a_task_the_first_counts_and_the_others_are_counted(tmp_path):
    def drawn(x, **more):
        value = {"x": x, "y": 0, "width": 10, "height": 10, "rectanglelabels": ["cat"]}
        shape = {"type": "rectanglelabels", "original_width": 100, "original_height": 100, "value": value}
        return {"result": [shape], **more}

    several = [drawn(1, was_cancelled=True), drawn(2), drawn(3), drawn(4)]
    tasks = [{"data": {"image": f"{i}.jpg"}, "annotations": said} for i, said in enumerate((several, [drawn(5)], []))]
    (tmp_path / "a.json").write_text(json.dumps(tasks))
    found = vt.read(tmp_path / "a.json")
    assert found.regions.boxes[:, 0].tolist() == [2, 5]
    (note,) = found.source.notes
    assert note.startswith("2 annotations of the same task left out (first: ")
    assert note.endswith("a.json: [0])")


def test_label_images_have_as_few_bits_as_their_values_need(tmp_path):
    for value, depth in ((255, "uint8"), (256, "uint16"), (65_535, "uint16")):
        save(np.full((2, 3), value, np.uint32), tmp_path / "a.png")
        with Image.open(tmp_path / "a.png") as image:
            found = np.asarray(image)
        assert (found.max(), found.astype(depth).max()) == (value, value)
        assert (image.mode == "L") == (depth == "uint8")
    assert "expected values up to 65535, found 65536" in refused(
        save, np.full((2, 3), 65_536, np.uint32), tmp_path / "a.png"
    )


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("a.jpg\n0\n", True),
        ("a.jpg\n1\n", False),  # the face is missing
        ("a.jpg\n1\n1 2 3 4 0.5\n", True),
        ("a.jpg\n1\n1 2 3 4 0 0 0 0 0 0\n", True),
        ("a.jpg\n1\n1 2 3 4\n", False),
        ("a.jpg\n1\n1 2 3 4 x\n", False),
        ("7\n1\n1 2 3 4 0.5\n", False),  # no name
        ("a b.jpg\n1\n1 2 3 4 0.5\n", False),
        ("a.jpg\nx\n1 2 3 4 0.5\n", False),
        ("a.jpg\n", False),
    ],
)
def test_faces_are_known_by_name_number_and_numbers(tmp_path, text, is_so):
    (tmp_path / "a.txt").write_text(text)
    assert (wider.recognise(Look(tmp_path / "a.txt")) is not None) is is_so


def test_images_without_faces_may_have_a_line_of_zeros(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a.jpg\n0\n0 0 0 0 0 0 0 0 0 0\nb.jpg\n0\nc.jpg\n1\n1 2 3 4 0 0 0 1 1 0\n")
    found = vt.read(path, format="wider")
    assert found.images.names == ("a.jpg", "b.jpg", "c.jpg")
    assert found.regions.sizes.tolist() == [[1, 2, 3, 4]]
    assert (found.flag("ignore").tolist(), found.flag("occluded").tolist()) == ([True], [True])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a.jpg\n", "a.txt:2: expected the number of faces, found the end of the file"),
        ("a.jpg\nx\n", "a.txt:2: expected the number of faces, found 'x'"),
        ("a.jpg\n1234567890\n", "a.txt:2: expected the number of faces, found '1234567890'"),
        ("a.jpg\n123456789\n", "expected 123456789 faces of a.jpg, found the end of the file"),
        ("a.jpg\n2\n1 2 3 4 0.5\n", "expected 2 faces of a.jpg, found the end of the file"),
        ("a.jpg\n1\n1 2 3 4\n", "a.txt:3: expected 10 numbers per face, 5 of a prediction, found 4"),
    ],
)
def test_faces_that_are_none_are_named(tmp_path, text, said):
    (tmp_path / "a.txt").write_text(text)
    assert said in refused(vt.read, tmp_path / "a.txt", format="wider")


def shape(*lines):
    return shape_of_lines([line.split() for line in lines])


def test_keypoints_are_betrayed_by_visibilities():
    box = "0 0.5 0.5 0.2 0.2"
    assert shape(f"{box} 0.1 0.2 2") == (1, 3)
    assert shape(f"{box} 0.1 0.2 2 0.3 0.4 0", f"{box} 0.1 0.2 1 0.3 0.4 0") == (2, 3)
    assert shape(f"{box} 0.1 0.2 1") is None  # nobody is seen: it may be a polygon
    assert shape(f"{box} 0.1 0.2 2 0.3 0.4 0.5") is None
    assert shape(f"{box} 0.1 0.2") is None
    assert shape(box) is None
    assert shape(f"{box} 0.1 0.2 2", box) is None
    assert shape(f"{box} 0.1 x 2") is None


def test_predictions_have_as_many_keypoints_as_the_truth():
    regions = vt.Regions([[0, 0, 1, 1]], keypoints=Keypoints.of([[1, 2, 2, 3, 4, 2]]))
    truth = replace(vt.Annotations.of(["a"], ["x"], [[0, 0, 1, 1]]), regions=regions)

    def found(many):
        return shape_of_truth([["0"] * (5 + many)], Options(like=truth))

    assert [found(many) for many in (6, 7, 4, 5)] == [(2, 3), (2, 3), (2, 2), (2, 2)]
    assert [found(many) for many in (3, 8, 0)] == [None] * 3
    assert shape_of_truth([], Options(like=truth)) is None
    assert shape_of_truth([["0"] * 11], Options()) is None


def test_points_below_zero_are_unknown_where_nothing_says_so():
    assert split_keypoints("a", [0.1, 0.2, -1, 0.3, 0, 0], (3, 2)) == ([0.1, 0.2, 2, -1, 0.3, 0, 0, 0, 2], None)
    assert split_keypoints("a", [0.1, 0.2, 1, 0.75], (1, 3)) == ([0.1, 0.2, 1], 0.75)
    assert "found 10 words" in refused(split_keypoints, "a", [0.1] * 5, (1, 3))
    assert "found 7 words" in refused(split_keypoints, "a", [0.1] * 2, (1, 3))


@pytest.mark.parametrize(("cell", "value"), [("0,5", 0.5), ("0.5", 0.5), ("1", 1)])
def test_a_decimal_point_may_be_a_comma(cell, value):
    assert decimal(cell, "a:1", "XMin") == value


@pytest.mark.parametrize("cell", ["1,000.5", "1,2,3", "x"])
def test_thousands_are_no_decimals(cell):
    assert "a:1: expected a number in XMin, found" in refused(decimal, cell, "a:1", "XMin")


@pytest.mark.parametrize(("cell", "is_so"), [("1", True), ("0", False), ("-1", False), (" 1 ", True)])
def test_flags_are_1_0_or_unknown(cell, is_so):
    assert is_yes(cell, "a:1", "IsGroupOf") is is_so
    assert "expected 1, 0 or -1 in IsGroupOf, found '2'" in refused(is_yes, "2", "a:1", "IsGroupOf")


def test_objects_without_ids_are_counted_from_1(tmp_path):
    vt.write(vt.Annotations.of(["a", "a"], ["x", "x"], [[0, 0, 1, 1]] * 2), tmp_path / "a.json", "coco")
    written = json.loads((tmp_path / "a.json").read_text())
    assert [record["id"] for record in written["annotations"]] == [1, 2]
    assert [record["id"] for record in written["images"] + written["categories"]] == [1, 1]


def test_poses_begin_with_a_box_within_the_image(tmp_path):
    def recognised(line):
        (tmp_path / "a.txt").write_text(line)
        return yolo_pose.recognise(Look(tmp_path / "a.txt")) is not None

    assert recognised("0 0.5 0.5 0.2 0.2 0.1 0.2 2\n")
    for odd in ("0 5 0.5 0.2 0.2", "0 0.5 5 0.2 0.2", "0 0.5 0.5 5 0.2", "0 0.5 0.5 0.2 5", "0 -1 0.5 0.2 0.2"):
        assert not recognised(f"{odd} 0.1 0.2 2\n")


def test_a_file_in_which_somebody_drew_is_a_truth_whatever_models_proposed(tmp_path):
    value = {"x": 1, "y": 0, "width": 10, "height": 10, "rectanglelabels": ["cat"]}
    shape = {"type": "rectanglelabels", "original_width": 100, "original_height": 100, "value": value, "score": 0.5}
    tasks = [
        {"data": {"image": "a.jpg"}, "annotations": [{"result": [shape]}]},
        {"data": {"image": "b.jpg"}, "predictions": [{"result": [shape]}]},
    ]
    (tmp_path / "a.json").write_text(json.dumps(tasks))
    found = vt.read(tmp_path / "a.json")
    assert (found.confidence, found.image.tolist()) == (None, [0])
    (tmp_path / "a.json").write_text(json.dumps(tasks[1:]))
    assert vt.read(tmp_path / "a.json").confidence.tolist() == [0.5]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Number out of range", ("a number", "one too large to hold")),
        ("Expected `array` of length 4, got 3", ("4 values", "3")),
        ("Expected `float | null`, got `str`", ("a number", "text")),
        ("Object missing required field `id`", ("a key 'id'", "none")),
        ("Something else", ("a value that fits", "'Something else'")),
    ],
)
def test_complaints_of_the_parser_are_put_into_our_words(message, told):
    assert translate(message) == told


def test_arrays_are_images_of_the_truth_in_its_order_where_there_are_as_many():
    truth = vt.Annotations.of(["x", "y"], ["cat"] * 2, [[0, 0, 2, 2]] * 2, sizes={"x": (2, 2), "y": (2, 2)})
    assert vt.read([np.ones((2, 2), bool)] * 2, like=truth).image.tolist() == [0, 1]
    assert vt.read([np.ones((2, 2), bool)] * 2).images.names == ("0", "1")
