"""Words of lines, names, columns and rows: the small rules of readers, each at the point where it turns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import verite as vt
from verite.errors import BadParameter, DataError, ReadError, list_faults
from verite.formats.class_names import check_name, check_names, names_in
from verite.formats.csv_lines import find_columns, header_columns, separator_of
from verite.formats.format import Options, PathProbe, file_stems
from verite.formats.rows import Rows, name_numbers
from verite.formats.words import (
    confidence_place,
    is_confidence_last,
    is_relative,
    leaves_image,
    relative_lines,
    to_number,
    to_numbers,
)
from verite.model.images import Images


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


def test_a_line_may_name_its_class_where_names_are_looked_for():
    assert is_relative(["boat", "0.5", "0.5", "0.2", "0.2"], is_named=True)
    assert not is_relative(["boat", "0.5", "0.5", "0.2", "20"], is_named=True)


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
    assert confidence_place([["boat", "0.5", "0.5", "0.5", "0.5", "0.5"]]) is None
    assert confidence_place([["boat", "0.5", "0.5", "0.5", "0.5", "0.5"]], is_named=True)[0] == "before"


def test_numbers_with_underscores_or_commas_are_none():
    assert refused(to_number, "1_000", "a:1") == "a:1: expected a number, found '1_000'"
    assert refused(to_number, "1,5", "a:1") == "a:1: expected a number, found '1,5'; write a decimal point"
    assert refused(to_number, "x", "a:1") == "a:1: expected a number, found 'x'"
    assert "found '1_0'" in refused(to_numbers, ["1", "1_0"], "a:1")
    assert to_numbers(["1", "-2.5e1"], "a:1") == [1, -25]


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
    assert "half a surrogate pair" in refused(check_name, "a", "a\ud800")


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
    assert header_columns(PathProbe(tmp_path), ["ImageID", "XMin"]) == {"ImageID": 0, "XMin": 1}
    (tmp_path / "b.csv").write_text("ImageID;XMin\n")
    assert header_columns(PathProbe(tmp_path), ["ImageID", "XMin"]) == {}


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


def test_half_a_surrogate_pair_in_a_column_of_images_or_classes_is_named_with_its_row():
    """It can be neither written nor drawn."""
    table = {"image": ["a", "b"], "label": ["cat", "cat"], "x": [1, 1], "y": [1, 1], "width": [5, 5], "height": [5, 5]}
    for key in ("image", "label"):
        assert "half a surrogate pair" in refused(vt.read, {**table, key: ["a", "\ud800"]})
    assert len(vt.read(table)) == 2
