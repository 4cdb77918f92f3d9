"""The names in data.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

import verite as vt
from verite.formats.data_yaml import keypoint_shape, label_file, names_of_yaml, place_of

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
        "names: # below\n  0: boat\n  1: guide dog\n---\n0: other",
    ],
)
def test_names_in_every_common_spelling(text):
    assert names_of_yaml(text, PLACE) == ["boat", "guide dog"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("names: ['it''s', \"a \\\"b\\\" \\u00e9 \\\\\", c#, 'd # e']", ["it's", 'a "b" é \\', "c#", "d # e"]),
        ("names:\n  0: it's [a], {b}\n  1: yes\n  2: 12\n  3: no\n", ["it's [a], {b}", "yes", "12", "no"]),
        ('names: ["a\\\\", b] # c', ["a\\", "b"]),
        ("names: ['a, b', 'c: d']", ["a, b", "c: d"]),
        ("names:\n  0: &anchor a\n  1: |\n    b\n", ["a", "b"]),
        ("download: |\n  names = [1]\n  print(names)\nnames: [a]", ["a"]),
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
        ("names: [a, b", "data.yaml:1: expected YAML, found"),
        ("nc: 1\nnames: ['a' b]", "data.yaml:2: expected YAML, found"),
        ("\tnames: [a]", "data.yaml:1: expected YAML, found"),
        ("  names: [a]\nnames: [b]", "data.yaml:2: expected YAML, found"),
        ("names: []", "data.yaml:1: expected class names, found none"),
        ("names:\nnc: 1", "expected class names, found none"),
        ("names: [a, [b]]", "data.yaml:1: expected a class name, found a sequence"),
        ("names:\n  - a\n  - - c\n", "data.yaml:3: expected a class name, found a sequence"),
        ("names: {0: a, 2: b}", "data.yaml:1: expected class numbers 0 to 1, each once, found '2'"),
        ("names: {0: a, 0: b}", "data.yaml:1: expected class numbers 0 to 1, each once, found '0'"),
        ("names: {0: a, b}", "data.yaml:1: expected class numbers 0 to 1, each once, found 'b'"),
        ("names:\n  x: a\n", "data.yaml:2: expected class numbers 0 to 0, each once, found 'x'"),
        ("names:\n  0: 'a\n", "expected YAML, found"),
        ('names: ["\\q"]', "data.yaml:1: expected YAML, found"),
        ("- names: [a]", "data.yaml: expected a map with the keys names, train, val …, found a sequence"),
        ("[" * 100_000, "data.yaml: expected at most 50 levels of lists and maps, found more"),
        ("a: &a [b, *a]\nnames: *a", "data.yaml:1: expected a class name, found a sequence"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(text, message):
    with pytest.raises(vt.ReadError) as caught:
        names_of_yaml(text, PLACE)
    assert message in str(caught.value)


def test_many_names_take_no_time():
    names = [f"class {i}" for i in range(50_000)]
    assert names_of_yaml("names: [" + ", ".join(names) + "]", PLACE) == names


@pytest.mark.parametrize("shape", ["[17, 3]", "\n  - 17\n  - 3", "[17,3] # x, y, seen"])
def test_keypoint_shape_in_every_spelling(tmp_path, shape):
    path = tmp_path / "data.yaml"
    path.write_text(f"names: [a]\nkpt_shape: {shape}\n")
    assert keypoint_shape(path) == (17, 3)


@pytest.mark.parametrize("line", ["nc: 1", "kpt_shape: 17", "kpt_shape: [17, 4]", "kpt_shape: [a, 3]", "x: kpt_shape"])
def test_other_texts_are_no_keypoint_shape(tmp_path, line):
    path = tmp_path / "data.yaml"
    path.write_text(f"names: [a]\n{line}\n")
    assert keypoint_shape(path) is None


def test_labels_stand_beside_the_last_folder_of_images():
    assert label_file(Path("images/images/val/a.jpg")) == Path("images/labels/val/a.txt")
    assert label_file(Path("val/a.jpg")) == Path("val/a.txt")
    assert label_file(Path("val/images")) == Path("val/images.txt")


def test_folders_above_are_also_looked_for_beside(tmp_path):
    (tmp_path / "train").mkdir()
    assert place_of(tmp_path, "../train") == tmp_path / "train"
    assert place_of(tmp_path, "train") == tmp_path / "train"
    assert place_of(tmp_path / "train", "../train") == tmp_path / "train" / "../train"
