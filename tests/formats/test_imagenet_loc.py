"""ImageNet localization: lists of images and classes that are ignored."""

from __future__ import annotations

import verite as vt
from tests.formats.samples import refused
from verite.formats.imagenet_loc import image_numbers, read_blacklist
from verite.model.images import Images

NAMES = ["val_00000007", "val_00000010.jpg", "other"]


def truth():
    return vt.Annotations.of(NAMES, ["cat", "dog", "cat"], [[0, 0, 1, 1]] * 3)


def listed(given, *, with_labels=False):
    found = read_blacklist(given, truth(), with_labels=with_labels)
    return list(zip(found.image.tolist(), found.label.tolist(), strict=True))


def test_images_that_do_not_count_are_named_or_numbered(tmp_path):
    assert listed(["other", "7", "10"]) == [(2, 0), (0, 0), (1, 0)]
    (tmp_path / "list.txt").write_text("other\n\n7\n")
    assert listed(tmp_path / "list.txt") == [(2, 0), (0, 0)]
    assert listed([]) == []


def test_classes_of_images_do_not_count_and_unknown_ones_anyway():
    assert listed([("7", "dog"), ("other", "cat"), ("7", "owl")], with_labels=True) == [(0, 1), (2, 0)]


def test_lines_that_name_no_image_are_refused(tmp_path):
    (tmp_path / "list.txt").write_text("other\n\nothre\n")
    said = refused(listed, tmp_path / "list.txt")
    assert "list.txt:3: expected an image of the ground truth, found 'othre'; did you mean 'other'?" in said
    assert "blacklist: expected an image of the ground truth, found '8'" in refused(listed, ["8"])
    assert "blacklist: expected IMAGE, found 'a b'" in refused(listed, [("a", "b")])
    assert "blacklist: expected IMAGE CLASS, found 'other'" in refused(listed, ["other"], with_labels=True)
    assert "expected a file or a list, found int" in refused(listed, 3)


def test_a_number_is_an_id_or_stands_at_the_end_of_one_name():
    assert image_numbers(Images(["a", "b"], [5, 9])) == {5: 0, 9: 1}
    assert image_numbers(Images(["a_7", "b_7", "c_8.jpg", "d"])) == {8: 2}
    assert image_numbers(Images(["a" + "1" * 19])) == {}
    assert image_numbers(Images(["a" + "1" * 18])) == {int("1" * 18): 0}
