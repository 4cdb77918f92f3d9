"""Files, options, frames and sizes at first sight: the small rules of readers, each at the point where it turns."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import verite as vt
from tests.formats.samples import refused
from verite.cli import run
from verite.formats.format import HEAD, Options, PathProbe, frame_of, head_of, is_list, tail_of
from verite.formats.registry import UNSUPPORTED, has_suffix
from verite.formats.rows import size_images
from verite.formats.sizes import check_order, check_size, fractions, image_files_in, in_pixels, size_of_image_file
from verite.model.images import Images
from verite.model.regions import Regions

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
    lines = PathProbe(tmp_path).lines
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
    assert [p.name for p in PathProbe(tmp_path).files] == ["a.txt", "c.txt"]


def test_files_may_stand_three_folders_deep(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.txt").touch()
    assert [p.name for p in PathProbe(tmp_path).files] == ["c.txt"]


@pytest.mark.parametrize(
    ("name", "is_so"),
    [("a.tfrecord", True), ("a.record-00001-of-00010", True), ("a.record-1", False), ("a.recording", False)],
)
def test_shards_are_known_by_their_suffix(tmp_path, name, is_so):
    (tmp_path / name).touch()
    assert has_suffix("tfrecord", "record")(PathProbe(tmp_path)) is is_so


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('{"shapes": [], "tracks": []}', "CVAT's own document of a task"),
        ('{"shapes": []}', None),
        ('{"annotations": [{"datasetId": ""}]}', "Dataloop JSON"),
        ('text with "annotations" and "datasetId"', None),
        ("GIF89a", "an image"),
    ],
)
def test_what_is_not_read_is_named(tmp_path, text, title):
    (tmp_path / "a").write_text(text)
    probe = PathProbe(tmp_path / "a")
    found = next((format for format in UNSUPPORTED if format.recognise(probe)), None)
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


def test_options_that_say_something_are_told_from_defaults(tmp_path):
    path = tmp_path / "truth.json"
    path.write_text('{"images": [{"id": 1}], "categories": [{"id": 1, "name": "cat"}], "annotations": []}')
    assert vt.read(path, label_offset=0, class_name="dog").source.notes == ()
    assert vt.read(path, names=["a"], label_offset=1).source.notes == ("names='…' is not used by COCO JSON",)
    assert vt.read(path, mask_threshold=0.5).source.notes == ("mask_threshold='…' is not used by COCO JSON",)


def test_a_folder_of_images_for_figures_is_not_called_unused(tmp_path, capsys):
    path = tmp_path / "truth.json"
    path.write_text(json.dumps({"images": [{"id": 1, "file_name": "a.png"}], "categories": [], "annotations": []}))
    assert run(["inspect", str(path), "--images", str(tmp_path)]) == 0
    assert "not used" not in "".join(capsys.readouterr())
    assert vt.read(path, images=tmp_path).source.notes == ("images='…' is not used by COCO JSON",)


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
    assert {stem: len(files) for stem, files in image_files_in(tmp_path).items()} == {"a": 2, "d": 1}
    assert list(image_files_in(tmp_path, is_deep=False)) == ["a"]
    assert "expected one image file named a, found 2" in refused(size_of_image_file, image_files_in(tmp_path)["a"])
    assert "found nothing" in refused(image_files_in, tmp_path / "absent")
    assert "found a file" in refused(image_files_in, tmp_path / "c.txt")


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
    assert "expected an image file named b, found none; is" in refused(sized, images=tmp_path)
