"""Which part, which picture, which kind: the small rules of readers, each at the point where it turns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import verite as vt
from verite.errors import BadParameter, DataError, ReadError
from verite.formats.data_yaml import block_values, label_file, place_of
from verite.formats.format import Options, facts_of
from verite.formats.label_images import name_by_folder, name_by_number, name_images, name_plainly
from verite.formats.memory import are_detectors, describe_object, is_columns, is_results, to_plain
from verite.formats.shards import choose_split, join
from verite.model.images import Images


def refused(ask, *args, **given):
    with pytest.raises((ReadError, BadParameter, DataError)) as error:
        ask(*args, **given)
    return str(error.value)


# Which part, which picture.


def split(parts, wanted=None):
    return choose_split(Path("in"), parts, Options(split=wanted), expected="a part")


def test_the_part_of_a_data_set_is_the_only_one_or_the_one_named():
    assert split({"train": 1}) == ("train", 1)
    assert split({"train": 1, "valid": 2}, "val") == ("valid", 2)
    assert split({"train": 1, "val": 2}, "validation") == ("val", 2)
    assert "expected one part of the data set, found train, val; read it with verite.read(…, split='train')" in refused(
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
    assert images_of(name_images(tmp_path, files, Images(["a"]))) == ["a", "a"]
    assert images_of(name_images(tmp_path, files, Images(["a_1", "a_2"]))) == ["a_1", "a_2"]
    assert images_of(name_images(tmp_path, files, None)) == ["a_1", "a_2"]
    one = tmp_path / "z.png"
    assert images_of(name_images(one, [one], Images(["a"]))) == ["a"]
    assert images_of(name_images(one, [one], Images(["a", "b"]))) == ["z"]


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
