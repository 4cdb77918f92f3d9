"""What do readers and writers do at the edge of their rules? The smallest file on either side of each."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import verite as vt
from verite.errors import BadParameter, DataError, ReadError, list_faults
from verite.formats import dota, kitti, shards, text, yolo
from verite.formats import shards as joining
from verite.formats.arrow_stream import bits, buffer, nulls, read_bools, read_texts, with_nulls
from verite.formats.data_yaml import in_order
from verite.formats.format import Options, PathProbe
from verite.formats.panoptic import size_in_truth
from verite.formats.polygons import check_mask_size, check_ring
from verite.formats.rows import name_class_numbers
from verite.formats.tables import distinct, is_numeric, is_whole_float
from verite.model.keypoints import Keypoints


def refused(ask, *args, **given):
    with pytest.raises((ReadError, BadParameter, DataError)) as error:
        ask(*args, **given)
    return str(error.value)


def lines(tmp_path, *given, name="a.txt"):
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / name).write_text("".join(f"{line}\n" for line in given))
    return PathProbe(tmp_path / name)


# Lines of text.

FACE = "Car 0 0 -10 1 2 30 40 -1 -1 -1 -1000 -1000 -1000 -10"


def test_kitti_is_known_by_more_than_half_of_its_lines(tmp_path):
    assert kitti.recognise(lines(tmp_path, FACE, FACE, "x y")) == "text files with a type and 14 numbers per line"
    assert kitti.recognise(lines(tmp_path, f"{FACE} 0.5")) == "text files with a type and 15 numbers per line"
    assert kitti.recognise(lines(tmp_path, FACE, "x y")) is None
    assert kitti.recognise(lines(tmp_path, f"{FACE} 0.5 1")) is None
    assert kitti.recognise(lines(tmp_path, FACE.replace("Car", "1"))) is None
    assert kitti.recognise(lines(tmp_path, FACE.replace("40", "forty"))) is None


def test_kitti_knows_what_is_cut_hidden_or_nobodys_care(tmp_path):
    def flags(truncated, occluded, kind="Car"):
        lines(tmp_path, FACE.replace("Car 0 0", f"{kind} {truncated} {occluded}"))
        read = vt.read(tmp_path / "a.txt", format="kitti")
        return {name for name in ("truncated", "occluded", "ignore") if read.flag(name).any()}

    assert flags(0, 0) == flags(-1, -1) == set()
    assert flags(0.1, 0) == {"truncated"}
    assert flags(0, 1) == flags(0, 2) == {"occluded"}
    assert flags(0, 3) == set()  # nobody could tell
    assert flags(-1, -1, "DontCare") == {"ignore"}


def test_dota_results_are_files_of_one_name_each(tmp_path):
    truth = "1 1 5 1 5 5 1 5 ship 0"
    lines(tmp_path, "P1 0.5 1 1 5 1 5 5 1 5", name="Task1_ship.txt")
    assert dota.recognise(PathProbe(tmp_path)) == "text files named Task1_CLASS.txt"
    lines(tmp_path, truth, name="P1.txt")
    assert dota.recognise(PathProbe(tmp_path)) != "text files named Task1_CLASS.txt"
    assert "keep truth apart from predictions" in refused(vt.read, tmp_path, format="dota")
    other = tmp_path / "other"
    assert dota.recognise(lines(other, truth)) == "text files with eight numbers, a class and a difficulty per line"
    assert dota.recognise(lines(other, truth, "x")) is None
    assert dota.recognise(lines(other, "imagesource:Google", "x")) == "text files that begin with imagesource: or gsd:"
    assert not dota.is_truth(["1", "1", "5", "1", "5", "5", "1", "5"])
    assert dota.is_truth(["1", "1", "5", "1", "5", "5", "1", "5", "ship"])
    assert not dota.is_truth(["1", "1", "5", "1", "5", "5", "1", "5", "ship", "0", "0"])
    assert not dota.is_truth(["1", "1", "5", "1", "5", "5", "1", "5", "7", "0"])


def test_text_folders_have_a_class_and_four_numbers_in_most_lines(tmp_path):
    four, five = "cat 10 20 30 40", "cat 0.5 10 20 30 40"
    why = "text files with a class and 4 numbers per line"
    assert text.recognise(lines(tmp_path, four)) == why
    assert text.recognise(lines(tmp_path, five)) == f"{why}, confidence before them"
    assert text.recognise(lines(tmp_path, four, four, "x")) == why
    assert text.recognise(lines(tmp_path, four, "x")) is None
    assert text.recognise(lines(tmp_path, "cat 10 20 30 x")) is None
    assert text.recognise(lines(tmp_path, "cat 10 20 30")) is None
    assert text.recognise(lines(tmp_path, "cat 10 20 30 40 50 60")) is None


def test_class_numbers_of_text_folders_have_nine_digits_at_most(tmp_path):
    lines(tmp_path, f"{'1' * 10} 0 0 9 9", "1 0 0 9 9", "x 0 0 9 9")
    read = vt.read(tmp_path / "a.txt", format="text", names=["cat", "dog"])
    assert [read.labels.name(i) for i in read.label] == ["1" * 10, "dog", "x"]
    lines(tmp_path, f"{'1' * 9} 0 0 9 9")
    said = refused(vt.read, tmp_path / "a.txt", format="text", names=["cat", "dog"])
    assert "expected a class number from 0 to 1, as there are names, found 111111111" in said
    lines(tmp_path, "0 0 0 9 9")
    assert "found -1" in refused(vt.read, tmp_path / "a.txt", format="text", names=["cat"], label_offset=-1)


def test_poses_are_told_by_their_number(tmp_path):
    told = "text files with a class number, a box and 2 keypoints per line"
    assert yolo.recognise_yolo_pose(lines(tmp_path, "0 0.5 0.5 0.2 0.2 0.1 0.2 2 0.3 0.4 1")) == told
    assert yolo.recognise_yolo_pose(lines(tmp_path, "0 1.01 0.5 0.2 0.2 0.1 0.2 2 0.3 0.4 1")) == told
    assert yolo.recognise_yolo_pose(lines(tmp_path, "0 1.02 0.5 0.2 0.2 0.1 0.2 2 0.3 0.4 1")) is None
    assert (
        yolo.recognise_yolo_pose(lines(tmp_path, "0 0.5 0.5 0.2 0.2 7 0.2 2 0.3 0.4 1")) == told
    )  # points may be outside


def test_objects_without_a_pose_are_written_with_points_of_zeros(tmp_path):
    given = vt.Annotations.of(["a"] * 2, ["cat"] * 2, [[0, 0, 10, 10]] * 2, sizes={"a": (20, 20)})
    points = Keypoints.of([[[5, 10, 2], [20, 0, 1]], None])
    vt.write(
        replace(given, regions=vt.Regions([[0, 0, 10, 10]] * 2, "xyxy", keypoints=points)), tmp_path / "o", "yolo-pose"
    )
    first, second = (tmp_path / "o" / "labels" / "a.txt").read_text().splitlines()
    assert first == "0 0.25 0.25 0.5 0.5 0.25 0.5 2.0 1.0 0.0 1.0"
    assert second == "0 0.25 0.25 0.5 0.5 " + " ".join(["0.0"] * 6)


def test_names_are_written_as_they_are():
    assert yolo.yaml_of(("café", 'a "b"')).splitlines()[-2:] == ['  0: "café"', '  1: "a \\"b\\""']


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


def test_class_numbers_are_those_of_names():
    def numbers(*given, **options):
        said = {}
        label, labels = name_class_numbers(
            np.array(given), Options(**options), lambda expected, odd: said.update({expected: odd})
        )
        return label.tolist(), labels.numbers, {key: odd for key, odd in said.items() if odd}

    assert numbers(7, 3, 7) == ([1, 0, 1], (3, 7), {})
    assert numbers(0, 1, names=["a", "b"])[0] == [0, 1]
    told = "class numbers from 0 to 1, as there are names (V206)"
    assert numbers(0, 2, -1, names=["a", "b"])[2] == {told: {1: "2", 2: "-1"}}
    assert numbers(1, 2, names=["a", "b"], label_offset=-1)[0] == [0, 1]


def test_what_nobody_recognises_is_told_what_it_may_be(tmp_path):
    (tmp_path / "a.txt").write_text("one two\n")
    assert "; or name its format with format='NAME'" in refused(vt.read, tmp_path / "a.txt")
    (tmp_path / "folder").mkdir()
    for name in "ab":
        (tmp_path / "folder" / f"{name}.txt").write_text("one two\n")
    said = refused(vt.read, tmp_path / "folder")
    assert "found files ending in .txt, with lines such as 'one two'" in said
    assert "YOLO has lines of class cx cy w h" in said
    assert "or name its format" not in said
    (tmp_path / "folder" / "b.txt").unlink()
    assert "name the file itself: " in refused(vt.read, tmp_path / "folder")


# Several files.


def shard(images, area=None, ids=None, confidence=None):
    boxes = np.reshape([[0, 0, 1, 1]] * len(images), (-1, 4))
    made = vt.Annotations.of(images, ["cat"] * len(images), boxes, confidence=confidence)
    return replace(
        made, area=None if area is None else np.array(area, dtype=float), ids=None if ids is None else np.array(ids)
    )


def test_columns_of_several_files_are_there_where_all_have_them():
    one, two = shard(["a"], area=[5], ids=[1]), shard(["b", "c"])
    assert np.isnan(joining.column([one, two], "area")).tolist() == [False, True, True]
    assert joining.column([one, two], "ids") is None
    assert joining.column([two, two], "area") is joining.column([two, two], "ids") is None
    assert joining.column([shard([]), shard([])], "area") is None
    assert joining.column([one, shard([])], "ids").tolist() == [1]
    assert joining.column([one, shard(["b"], ids=[2])], "ids").tolist() == [1, 2]
    assert joining.column([one, shard(["b"], ids=[1])], "ids") is None  # as each file counts from 1


def coco(folder, name, image):
    document = {
        "images": [{"id": image, "file_name": f"{image}.jpg"}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": image, "image_id": image, "category_id": 1, "bbox": [0, 0, 1, 1]}],
    }
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document))
    return path


def test_a_list_of_files_is_named_by_the_first_and_how_many_more(tmp_path):
    paths = [coco(tmp_path, f"{i}.json", i) for i in (1, 2, 3)]
    assert vt.read(paths).source.path == f"{paths[0]} and 2 more"
    pattern = str(tmp_path / "*.json")
    assert vt.read(pattern).source.path == pattern


def test_two_stars_reach_into_folders(tmp_path):
    first, second = coco(tmp_path, "a.json", 1), coco(tmp_path / "in", "b.json", 2)
    assert shards.find_shards(str(tmp_path / "**" / "*.json")) == [first, second]
    assert shards.find_shards(str(tmp_path / "*.json")) == [first]
    assert "expected files that match, found none" in refused(shards.find_shards, str(tmp_path / "?.xml"))


def test_patterns_are_names_that_nothing_has(tmp_path):
    (tmp_path / "a[1].json").write_text("")
    assert not shards.is_pattern(str(tmp_path / "a[1].json"))
    assert shards.is_pattern(str(tmp_path / "b[1].json"))
    assert not shards.is_pattern(str(tmp_path / "b.json"))
    assert shards.is_many([Path("a"), "b"])
    assert not shards.is_many([])
    assert not shards.is_many(["a", 1])


def test_a_folder_is_one_side_where_its_files_are_of_one_kind(tmp_path):
    def found(*names, format="coco"):
        for old in tmp_path.iterdir():
            old.rmdir() if old.is_dir() else old.unlink()
        for name in names:
            (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).write_text("")
        return len(shards.find_folder_shards(tmp_path, lambda path: format))

    assert found("a.json", "b.json") == found("a.json", "b.json.gz", ".hidden") == 2
    assert found("a.json") == found("a.json", "b.jsonl") == found("a.xml", "b.xml") == found("a.json", "b.json/") == 0
    assert found("a.json", "b.json", format="labelme") == 0


# COCO's records.


def test_outlines_that_are_none_are_listed_with_the_others(tmp_path):
    def record(i, **more):
        return {"id": i, "image_id": 1, "category_id": 1, "bbox": [0, 0, 2, 2], "area": 4, **more}

    odd = [
        record(1, segmentation=[[0, 0, 1, 1]]),
        record(2, segmentation={"size": [4, 4], "counts": [99]}),
        record(3, segmentation=[[0, 0, 2, 0, 2, 2]]),
        record(4, segmentation={"size": [4, 4], "counts": [4, 4, 8]}),
    ]
    images = [{"id": 1, "width": -4, "height": 4, "file_name": "a.jpg"}]
    document = {"images": images, "categories": [{"id": 1, "name": "cat"}], "annotations": odd}
    (tmp_path / "a.json").write_text(json.dumps(document))
    with list_faults():
        read = vt.read(tmp_path / "a.json")
    places = sorted(place.partition(": ")[2] for flaw in read.source.flaws for place in flaw.places)
    assert [re.match(r"\w+\[\d\]", place)[0] for place in places] == ["annotations[0]", "annotations[1]", "images[0]"]
    assert len(read) == 2
    assert read.images.widths.tolist() == [0]


def test_sections_that_are_no_lists_are_no_coco_file(tmp_path):
    document = {"images": [{"id": 1}], "categories": 5, "annotations": []}
    (tmp_path / "a.json").write_text(json.dumps(document))
    with list_faults():
        assert "expected an array of categories, found a number" in refused(vt.read, tmp_path / "a.json")


def test_a_mask_of_another_size_than_its_image_is_not_written(tmp_path):
    given = vt.Annotations.of(["a", "b"], ["cat"] * 2, [[0, 0, 2, 2]] * 2, sizes={"a": (4, 3), "b": (6, 5)})
    runs = vt.RLEMasks.of([([0, 12], (3, 4)), ([0, 12], (3, 4))])
    made = replace(given, regions=vt.Regions(given.regions.boxes, "xyxy", runs=runs))
    said = refused(vt.write, made, tmp_path / "a.xml", "cvat")
    assert "expected a mask of its image's height and width, 5 x 6, found 3 x 4 in object 1" in said


def test_keypoints_of_frameworks_may_lack_in_some_images():
    box, points = np.array([[0.0, 0, 9, 9]]), np.array([[[1.0, 2, 2]]])
    one = {"boxes": box, "labels": np.array([1]), "keypoints": points}
    read = vt.read([one, {"boxes": box, "labels": np.array([1])}])
    assert read.regions.keypoints.counts.tolist() == [1, 0]
    assert not vt.read([{"boxes": box, "labels": np.array([1])}]).regions.has_keypoints
    odd = one | {"keypoints": np.concatenate([points, points])}
    assert "expected keypoints of 1 objects as there are boxes, found 2" in refused(vt.read, [odd])


# Rings and masks.


def test_rings_have_three_points_and_no_more_than_may_be(monkeypatch):
    ring = [0.0, 0, 1, 0, 1, 1]
    assert check_ring("x", ring) == ring
    for odd in (ring[:4], ring[:5], [*ring, 1]):
        assert f"at least 6 (V408), found {len(odd)}" in refused(check_ring, "x", odd)
    monkeypatch.setattr("verite.formats.polygons.limit", {"polygon_points": 3, "coordinate": 9}.get)
    assert check_ring("x", [0.0, 0, 9, 0, -9, 1])
    assert "expected at most 3 points, found 4" in refused(check_ring, "x", [*ring, 0, 1])
    assert "expected coordinates up to 9, found 9.5" in refused(check_ring, "x", [0.0, 0, 9.5, 0, 1, 1])
    assert "found nan" in refused(check_ring, "x", [0.0, 0, float("nan"), 0, 1, 1])


def test_masks_are_as_large_as_images_may_be(monkeypatch):
    monkeypatch.setattr("verite.formats.polygons.limit", {"image_side": 10, "image_pixels": 50}.get)
    for good in ((5, 10), (10, 5), (0, 0)):
        check_mask_size("x", *good)
    for odd in ((11, 1), (1, 11), (-1, 5), (5, -1), (6, 9)):
        assert f"found {odd[0]} x {odd[1]}" in refused(check_mask_size, "x", *odd)


# Tables.


def stretch(*buffers, null_count=-1):
    return SimpleNamespace(buffers=list(buffers), null_count=null_count)


def place(data):
    import ctypes

    held = ctypes.create_string_buffer(bytes(data), len(data))
    return held, ctypes.addressof(held)


def test_bits_are_as_many_as_asked_for_wherever_they_begin():
    held, address = place([0b10101010] * 9)
    for start, length in ((0, 72), (1, 71), (8, 64), (9, 5), (71, 1), (3, 0)):
        assert bits(address, start, length).tolist() == [(start + i) % 2 == 1 for i in range(length)]
    assert len(held) == 9


def test_absent_buffers_are_zeros_and_empty_texts_need_none():
    assert buffer(stretch(None, None), 1, "i4", 0, 3).tolist() == [0, 0, 0]
    held, address = place(np.array([0, 0, 0], np.int32).tobytes())
    assert read_texts(SimpleNamespace(format=b"u"), stretch(None, address, None), 0, 2) == ["", ""]
    assert read_bools(None, stretch(None, None), 0, 0).tolist() == []
    assert nulls(stretch(None), 0, 3) is nulls(stretch(address, null_count=0), 0, 3) is None
    assert nulls(stretch(address), 0, 3).tolist() == [True] * 3
    assert len(held) == 12


def test_numbers_of_more_than_53_bits_stay_whole_beside_nothing():
    absent = np.array([False, True])
    assert with_nulls(np.array([2**53, 1]), absent)[0] == 2**53
    assert np.isnan(with_nulls(np.array([2**53, 1]), absent)[1])
    assert with_nulls(np.array([2**53 + 1, 1]), absent) == [2**53 + 1, None]
    assert with_nulls(np.array([-(2**53) - 1, 1]), absent) == [-(2**53) - 1, None]


def test_cells_are_numbers_or_not():
    for yes in ("1.5", 1, 1.5, None, np.int8(1), np.float32(1), np.True_):
        assert is_numeric(yes)
    for no in ("x", [1], b"1"):
        assert not is_numeric(no)
    assert is_whole_float(2.0)
    assert is_whole_float(float("nan"))
    assert not is_whole_float(2.5)
    assert not is_whole_float(2)


def test_keys_are_told_apart_by_id_or_by_name():
    names = np.array(["b", "a", "b"], dtype=object)
    position, numbers, known = distinct(np.array([9, 2, 9]), names)
    assert (position.tolist(), numbers.tolist(), known) == ([1, 0, 1], [2, 9], ["a", "b"])
    position, numbers, known = distinct(None, names)
    assert (position.tolist(), numbers, known) == ([0, 1, 0], None, ["b", "a"])


def test_an_id_has_one_name_and_a_name_one_id():
    def table(ids, names):
        boxes = dict.fromkeys(("x", "y", "width", "height"), [1.0] * len(ids))
        return vt.read({"image": ["a"] * len(ids), "category_id": ids, "category_name": names, **boxes})

    assert table([1, 2, 1], ["cat", "dog", "cat"]).label.tolist() == [0, 1, 0]
    assert "expected 'cat', as this class id has, found 'dog'" in refused(table, [1, 1], ["cat", "dog"])
    assert "expected one id per class name, found several of 'cat'" in refused(table, [1, 2], ["cat", "cat"])


def test_sizes_of_panoptic_images_are_the_truths():
    images = vt.Annotations.of(["a", "b"], ["cat"] * 2, [[0, 0, 1, 1]] * 2, sizes={"a": (4, 3), "b": (6, 5)}).images
    truth = SimpleNamespace(images=images)
    assert size_in_truth(images, 1, Options()) == (0, 0)
    assert size_in_truth(images, 1, Options(like=truth)) == (6, 5)
