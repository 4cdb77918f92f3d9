"""Readers and writers that one protocol asks for: lists of what does not count, volumes, poses, panoptic files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import verite as vt
from tests.panoptic_files import write_side
from verite.errors import BadParameter, ReadError
from verite.formats.coco import facts_of, skeleton_of
from verite.formats.imagenet_loc import image_numbers, read_blacklist
from verite.formats.volumes import are_volumes, check_voxels, is_volume, read_volume, whole_numbers
from verite.model.images import Images
from verite.model.keypoints import Keypoints, Skeleton
from verite.model.regions import Regions


def refused(ask, *args, **given):
    with pytest.raises((ReadError, BadParameter)) as error:
        ask(*args, **given)
    return str(error.value)


# Lists of what does not count.

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
    assert "list.txt:3: expected an image of the truth, found 'othre'; did you mean 'other'?" in said
    assert "blacklist: expected an image of the truth, found '8'" in refused(listed, ["8"])
    assert "blacklist: expected IMAGE, found 'a b'" in refused(listed, [("a", "b")])
    assert "blacklist: expected IMAGE CLASS, found 'other'" in refused(listed, ["other"], with_labels=True)
    assert "expected a file or a list, found int" in refused(listed, 3)


def test_a_number_is_an_id_or_stands_at_the_end_of_one_name():
    assert image_numbers(Images(["a", "b"], [5, 9])) == {5: 0, 9: 1}
    assert image_numbers(Images(["a_7", "b_7", "c_8.jpg", "d"])) == {8: 2}
    assert image_numbers(Images(["a" + "1" * 19])) == {}
    assert image_numbers(Images(["a" + "1" * 18])) == {int("1" * 18): 0}


# Volumes.


def pages(path, *planes):
    first, *others = (Image.fromarray(np.array(plane, np.uint8)) for plane in planes)
    first.save(path, save_all=True, append_images=others)
    return path


def test_volumes_are_known_by_name_and_tiffs_by_their_pages(tmp_path):
    assert is_volume("a.NII.gz")
    assert is_volume("a.npy")
    assert not is_volume("a.png")
    assert not is_volume(tmp_path / "absent.tif")
    assert is_volume(pages(tmp_path / "two.tif", [[1]], [[2]]))
    assert not is_volume(pages(tmp_path / "one.tif", [[1]]))
    (tmp_path / "broken.tif").write_text("none")
    assert not is_volume(tmp_path / "broken.tif")
    assert are_volumes("a.npy", "b.nii")
    assert not are_volumes("a.npy", "b.png")
    assert not are_volumes("a.npy", 3)


def test_volumes_are_read_from_arrays_and_pages(tmp_path):
    values = np.arange(8).reshape(2, 2, 2)
    np.save(tmp_path / "a.npy", values)
    found = read_volume(tmp_path / "a.npy", spacing="1,2,3")
    assert found.values.tolist() == values.tolist()
    assert str(found.spacing).startswith("1,2,3")
    stack = read_volume(pages(tmp_path / "a.tif", [[1, 2]], [[3, 4]]))
    assert stack.values.tolist() == [[[1, 2]], [[3, 4]]]


def test_what_is_no_volume_is_named(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 2)))
    assert "expected three dimensions, found 2" in refused(read_volume, tmp_path / "a.npy")
    (tmp_path / "b.npy").write_text("none")
    assert "expected an array as numpy saves it, found" in refused(read_volume, tmp_path / "b.npy")
    other = pages(tmp_path / "a.tif", [[1, 2]], [[3, 4, 5]])
    assert "expected pages of one size, in grey, found others" in refused(read_volume, other)


def test_nifti_has_a_spacing_of_its_own(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    values = np.arange(8, dtype=np.int16).reshape(2, 2, 2)
    nibabel.save(nibabel.Nifti1Image(values, np.diag([0.5, 0.5, 3, 1])), tmp_path / "a.nii")
    found = read_volume(tmp_path / "a.nii")
    assert found.values.tolist() == values.tolist()
    assert str(found.spacing).startswith("0.5,0.5,3")
    (tmp_path / "b.nii").write_text("none")
    assert "b.nii: expected a NIfTI volume, found" in refused(read_volume, tmp_path / "b.nii")


def test_volumes_have_so_many_voxels_at_most(tmp_path, monkeypatch):
    monkeypatch.setenv("VERITE_LIMIT_IMAGE_PIXELS", "8")
    file = tmp_path / "a.npy"
    file.write_bytes(b"")
    check_voxels(file, (2, 2, 2))
    assert "at most 8 voxels, found 3 x 3 x 1" in refused(check_voxels, file, (3, 3, 1))


def test_soft_masks_need_a_threshold():
    def found(values, threshold=None):
        return whole_numbers(Path("a"), np.array(values), threshold).tolist()

    assert found([0.0, 2.0]) == [0, 2]
    assert found([0.25, 0.5], 0.5) == [False, True]
    assert found(np.array([0, 100, 200], np.uint8), 0.5) == [False, True, True]  # of the largest value
    for odd in ([0.5], [np.nan], [np.inf], ["x"]):
        assert "expected whole numbers, found others; give --mask-threshold" in refused(found, odd)


# Poses.


def posed(*points, confidence=None):
    side = vt.Annotations.of(
        ["a"] * len(points), ["hand"] * len(points), [[32, 32, 96, 96]] * len(points), confidence=confidence,
        sizes={"a": (256, 128)},
    )  # fmt: skip
    regions = Regions(side.regions.boxes, keypoints=Keypoints.of(list(points)))
    return replace(side, regions=regions)


def test_poses_are_written_behind_their_boxes(tmp_path):
    # Of 256 x 128: centre 64, 64 and size 64, 64.
    vt.write(posed([64, 64, 2, 128, 32, 1], None, confidence=[0.75, 0.5]), tmp_path / "out", "yolo-pose")
    box = "0 0.25 0.5 0.25 0.5"
    assert (tmp_path / "out" / "labels" / "a.txt").read_text().splitlines() == [
        f"{box} 0.25 0.5 2.0 0.5 0.25 1.0 0.75",
        f"{box} 0.0 0.0 0.0 0.0 0.0 0.0 0.5",
    ]
    text = (tmp_path / "out" / "data.yaml").read_text()
    assert text.startswith("kpt_shape: [2, 3]\n")
    assert text.endswith('names:\n  0: "hand"\n')


def test_poses_of_different_lengths_are_not_written(tmp_path):
    uneven = posed([50, 50, 2], [50, 50, 2, 60, 60, 2])
    assert "as many keypoints in every object, found [1, 2] in different objects" in refused(
        vt.write, uneven, tmp_path / "out", "yolo-pose"
    )


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


# Panoptic files.

PIXELS = [[7, 7, 300], [7, 0, 300]]


def test_panoptic_files_are_written_with_their_segments(tmp_path):
    segments = {7: (1, False), 300: (2, True)}
    side = vt.read(write_side(tmp_path, "truth", {4: (PIXELS, segments)}))
    vt.write(side, tmp_path / "again.json", "panoptic")
    document = json.loads((tmp_path / "again.json").read_text())
    assert document["images"] == [{"id": 4, "file_name": "4.jpg", "width": 3, "height": 2}]
    (record,) = document["annotations"]
    assert (record["image_id"], record["file_name"]) == (4, "4.png")
    assert record["segments_info"] == [
        {"id": 1, "category_id": 1, "area": 3, "bbox": [0, 0, 2, 2], "iscrowd": 0},
        {"id": 2, "category_id": 2, "area": 2, "bbox": [2, 0, 1, 2], "iscrowd": 1},
    ]
    assert [(c["id"], c["name"], c["isthing"]) for c in document["categories"]][:2] == [(1, "sky", 0), (2, "cat", 1)]
    with Image.open(tmp_path / "again" / "4.png") as image:
        assert np.asarray(image)[..., 0].tolist() == [[1, 1, 2], [1, 0, 2]]


def test_only_masks_are_written_as_segments(tmp_path):
    assert "expected a mask for every object, found boxes or polygons" in refused(
        vt.write, vt.Annotations.of(["a"], ["x"], [[0, 0, 1, 1]]), tmp_path / "a.json", "panoptic"
    )


def test_every_image_of_a_panoptic_truth_needs_a_prediction(tmp_path):
    both = {4: (PIXELS, {7: (1, False), 300: (2, False)}), 5: (PIXELS, {7: (1, False), 300: (2, False)})}
    side = vt.read(write_side(tmp_path, "truth", both))
    pred = write_side(tmp_path, "pred", {4: (PIXELS, {7: (1, False), 300: (2, False)})}, is_truth=False)
    assert (
        "expected an annotation for every image of the truth, found none for 1 of 2, the first is image 5"
        in refused(vt.read, pred, like=side)
    )
    whole = vt.read(write_side(tmp_path, "whole", both, is_truth=False), like=side)
    assert (len(whole), whole.images.widths.tolist()) == (4, [3, 3])
