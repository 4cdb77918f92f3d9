"""Class names by number, file names of images, and the facts of annotations."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import verite as vt
from tests.formats.samples import refused
from verite.formats.format import Options, check_name, check_names, class_names, facts_of, file_stems
from verite.formats.rows import name_class_numbers
from verite.model.images import Images


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
    options = Options(names=path)
    assert "names.txt:2: expected a class name a line, found an empty line" in refused(class_names, options)
    path.write_text("cat\ndog\n\n")
    assert class_names(options) == (["cat", "dog"], str(path))
    path.write_text("\n")
    assert "expected class names, found an empty file" in refused(class_names, options)


def test_class_numbers_need_a_name_each():
    told = {}

    def refuse(expected, odd):
        told.update(odd)

    label, labels = name_class_numbers(np.array([0, 1]), Options(names=["a", "b"]), refuse)
    assert (label.tolist(), labels.names, told) == ([0, 1], ("a", "b"), {})
    name_class_numbers(np.array([-1, 0, 2]), Options(names=["a", "b"]), refuse)
    assert told == {0: "-1", 2: "2"}
    label, labels = name_class_numbers(np.array([7, 5, 7]), Options(label_offset=1), refuse)
    assert (label.tolist(), list(labels.ids)) == ([1, 0, 1], [6, 8])


def test_images_need_names_of_files_of_their_own():
    assert file_stems(Images(["x/a.jpg", "b.png"]), Path("out")) == ["a", "b"]
    assert "found 'a.jpg' and 'a.png' of the same stem" in refused(file_stems, Images(["a.jpg", "a.png"]), Path("out"))
    assert "image names that can name a file, found '.a'" in refused(file_stems, Images([".a"]), Path("out"))


def test_facts_are_those_that_a_format_may_be_unable_to_hold():
    plain = vt.Annotations.of(["a"], ["cat"], [[0, 0, 1, 1]])
    assert facts_of(plain) == set()
    more = vt.Annotations.of(
        ["d/a.jpg"], ["cat"], [[0, 0, 1, 1]], confidence=[0.5], sizes={"d/a.jpg": (4, 5), "b": (4, 5)},
        labels=["cat", "dog"],
    )  # fmt: skip
    assert facts_of(more) == {"confidence", "empty image", "image folder or suffix", "image size", "unused class"}
