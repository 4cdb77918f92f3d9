"""The names in data.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

import verite as vt
from tests.formats.samples import refused
from verite.formats.data_yaml import block_values, in_order, label_file, names_of_yaml, place_of

PLACE = Path("data.yaml")


@pytest.mark.parametrize(
    "text",
    [
        "names: [boat, guide dog]",
        "names: ['boat', \"guide dog\"]   # two",
        "names: [ boat ,guide dog, ]",
        "names: [boat,\n  # none\n\n  guide dog\n]\nnc: 2",
        "names: {0: boat, 1: guide dog}",
        "names: {1: guide dog, '0': boat}",
        "names:\n- boat\n- guide dog\n",
        "names:\n  - boat\n  - 'guide dog'\nnc: 2\n",
        "train: x\nnames:\n  0: boat\n  1: guide dog  # helps\n\n# end\nval: y\n",
        "names:\r\n  1: guide dog\r\n  0: boat\r\n",
        "'names': [boat, guide dog]",
        "  names: [indented, no]\nnames: [boat, guide dog]",
        "names: # below\n  0: boat\n  1: guide dog\n---\n0: other",
    ],
)
def test_names_in_every_common_spelling(text):
    assert names_of_yaml(text, PLACE) == ["boat", "guide dog"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("names: ['it''s', \"a \\\"b\\\" \\u00e9 \\\\\", c#, 'd # e']", ["it's", 'a "b" é \\', "c#", "d # e"]),
        ("names:\n  0: it's [a], {b}\n  1: yes\n  2: 12\n", ["it's [a], {b}", "yes", "12"]),
        ('names: ["a\\\\", b] # c', ["a\\", "b"]),
        ("names: ['a, b', 'c: d']", ["a, b", "c: d"]),
        ("names:\n  - a-b\n  - - c\n", ["a-b", "- c"]),
    ],
)
def test_quotes_comments_and_odd_characters(text, names):
    assert names_of_yaml(text, PLACE) == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "data.yaml: expected one key 'names', found none"),
        ("names: [a]\nnames: [b]", "data.yaml: expected one key 'names', found 2, in lines 1 and 2"),
        ("names: boat", "data.yaml:1: expected a list or map of class names, found 'boat'"),
        ("names: [a, b", "data.yaml:1: expected names up to a ']', found the end of the file; was it cut off? (V403)"),
        ("names: []", "data.yaml:1: expected class names, found none"),
        ("names:\nnc: 1", "data.yaml:1: expected class names, found none"),
        ("names: [a, [b]]", "data.yaml:1: expected names with commas between them, found '[b]'"),
        ("names: ['a' b]", "data.yaml:1: expected names with commas between them, found \"'a' b\""),
        ("names: {0: a, 2: b}", "data.yaml:1: expected class numbers 0 to 1, each once, found 2"),
        ("names: {0: a, 0: b}", "data.yaml:1: expected class numbers 0 to 1, each once, found 0"),
        ("names: {0: a, b}", "data.yaml:1: expected class numbers 0 to 1, each once, found a name without one"),
        ("names:\n  x: a\n", "data.yaml:2: expected '- NAME' or 'NUMBER: NAME', found 'x: a'"),
        ("names:\n  0: &anchor a\n", "data.yaml:2: expected a class name, found '&anchor a'"),
        ("names:\n  0: |\n    a\n", "data.yaml:2: expected a class name, found '|'"),
        ("names:\n  0: 'a\n", 'data.yaml:2: expected a class name, found "\'a"'),
        ('names: ["\\q"]', "data.yaml:1: expected a class name, found '\"\\\\q\"'"),
        ('names: ["\\ud800"]', "data.yaml:1: expected a class name, found '\"\\\\ud800\"'"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(text, message):
    with pytest.raises(vt.ReadError) as caught:
        names_of_yaml(text, PLACE)
    assert str(caught.value) == message


def test_many_names_take_no_time():
    names = [f"class {i}" for i in range(50_000)]
    assert names_of_yaml("names: [" + ", ".join(names) + "]", PLACE) == names


def test_class_numbers_are_0_1_2_each_once():
    assert in_order([(1, "b"), (0, "a")], "x") == ["a", "b"]
    assert in_order([(None, "b"), (None, "a")], "x") == ["b", "a"]
    for items, found in (
        ([(0, "a"), (2, "b")], "2"),
        ([(0, "a"), (0, "b")], "0"),
        ([(0, "a"), (None, "b")], "a name without one"),
    ):
        assert f"expected class numbers 0 to 1, each once, found {found}" in refused(in_order, items, "x")
    assert "expected class names, found none" in refused(in_order, [], "x")


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
