"""Several files are one side: globs, lists, folders of shards; the same as one file of everything."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.formats.samples import refused
from tests.oracles.coco_sets import random_mask_set, random_set
from verite.formats import shards
from verite.formats import shards as joining
from verite.formats.format import Options
from verite.formats.shards import choose_split, find_shards, is_many, join
from verite.model.comparison import Comparison


def write_shards(folder: Path, seed: int, make: Any = random_set) -> tuple[Any, Any]:
    """A data set in one pair of files, and in three."""
    truth, results = make(seed)
    truth["images"].sort(key=lambda image: image["id"])
    results.sort(key=lambda record: record["image_id"])  # as detectors list them: image by image
    for name in ("gt", "dt"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "pred.json").write_text(json.dumps(results))
    place = {image["id"]: i * 3 // len(truth["images"]) for i, image in enumerate(truth["images"])}
    for i in range(3):
        document = {
            **truth,
            "images": [image for image in truth["images"] if place[image["id"]] == i],
            "annotations": [a for a in truth["annotations"] if place[a["image_id"]] == i],
        }
        (folder / "gt" / f"{i}.json").write_text(json.dumps(document))
        (folder / "dt" / f"{i}.json").write_text(json.dumps([r for r in results if place[r["image_id"]] == i]))
    return truth, results


def every_shard_has_something(folder: Path) -> bool:
    return all(json.loads(path.read_text()) for path in (folder / "dt").iterdir())


@pytest.mark.parametrize("on", ["box", "mask"])
@pytest.mark.parametrize("way", ["glob", "list", "folder", "file"])
def test_shards_have_the_numbers_of_one_file(tmp_path: Path, way: str, on: Any) -> None:
    compared = 0
    for seed in range(12):
        write_shards(tmp_path, seed, random_set if on == "box" else random_mask_set)
        if not every_shard_has_something(tmp_path):
            continue
        sides: list[Any] = []
        for name in ("gt", "dt"):
            files = sorted((tmp_path / name).iterdir())
            (tmp_path / f"{name}.txt").write_text("# shards\n\n" + "\n".join(f"{name}/{file.name}" for file in files))
            sides.append(
                {"glob": f"{tmp_path}/{name}/*.json", "list": files, "folder": tmp_path / name,
                 "file": f"@{tmp_path}/{name}.txt"}[way]
            )  # fmt: skip
        whole = vt.coco(tmp_path / "truth.json", tmp_path / "pred.json", checks="off", on=on)
        found = vt.coco(*sides, checks="off", on=on)
        assert np.array_equal(found.precision, whole.precision, equal_nan=True)
        assert np.array_equal(found.recall, whole.recall, equal_nan=True)
        compared += 1
    assert compared > 3


def test_what_is_wrong_with_shards_is_named(tmp_path: Path) -> None:
    write_shards(tmp_path, 2)
    with pytest.raises(vt.ReadError, match=r"x\*.json: expected files that match, found none"):
        vt.read(f"{tmp_path}/x*.json")
    (tmp_path / "empty.txt").write_text("\n# nothing\n")
    with pytest.raises(vt.ReadError, match=r"empty.txt: expected a file a line, found none"):
        vt.read(f"@{tmp_path}/empty.txt")
    (tmp_path / "far.txt").write_text("gt/0.jsn\n")
    with pytest.raises(vt.ReadError, match=r"did you mean '0.json'"):
        vt.read(f"@{tmp_path}/far.txt")
    with pytest.raises(vt.DataError, match=r"expected images that no other file of .* has"):
        vt.read([tmp_path / "truth.json", tmp_path / "truth.json"])


def test_a_name_that_looks_like_a_pattern_is_a_name_if_it_is_there(tmp_path: Path) -> None:
    write_shards(tmp_path, 2)
    odd = tmp_path / "truth[1].json"
    (tmp_path / "truth.json").rename(odd)
    assert not is_many(odd)
    assert find_shards(odd) == [odd]
    assert len(vt.read(odd).images) == 7


def test_folder_of_packed_shards_is_one_side(tmp_path: Path) -> None:
    write_shards(tmp_path, 2)
    for name in ("gt", "dt"):
        for file in list((tmp_path / name).iterdir()):
            (tmp_path / name / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
            file.unlink()
    whole = vt.coco(tmp_path / "truth.json", tmp_path / "pred.json", checks="off")
    for sides in ((tmp_path / "gt", tmp_path / "dt"), (f"{tmp_path}/gt/*.gz", f"{tmp_path}/dt/*.gz")):
        assert np.array_equal(vt.coco(*sides, checks="off").precision, whole.precision, equal_nan=True)
    parts = vt.coco(tmp_path / "gt", tmp_path / "dt", checks="off", parts=2)
    assert np.array_equal(parts.precision, whole.precision, equal_nan=True)


def test_wrong_records_of_every_shard_are_listed(tmp_path: Path) -> None:
    truth = {"images": [{"id": 1}], "categories": [{"id": 1, "name": "boat"}], "annotations": []}
    for i in (1, 2, 3):
        wrong = {"id": i, "image_id": i, "category_id": 9, "bbox": [0, 0, 1, 1]}
        (tmp_path / f"{i}.json").write_text(json.dumps({**truth, "images": [{"id": i}], "annotations": [wrong]}))
    found = [finding for finding in vt.inspect(f"{tmp_path}/*.json").findings if finding.code == "V402"]
    assert [finding.count for finding in found] == [3]
    assert [place.partition(": annotations")[0] for place in found[0].examples] == [
        str(tmp_path / f"{i}.json") for i in (1, 2, 3)
    ]


TRUTH = {
    "images": [{"id": 1, "width": 100, "height": 100}, {"id": 2, "width": 100, "height": 100}],
    "categories": [{"id": 1, "name": "boat"}],
    "annotations": [
        {"id": i, "image_id": i, "category_id": 1, "bbox": [10, 10, 20, 20], "area": 400, "iscrowd": 0} for i in (1, 2)
    ],
}


def found_in(*images: int, x: float = 10) -> list[dict[str, Any]]:
    return [{"image_id": i, "category_id": 1, "bbox": [x, 10, 20, 20], "score": 0.9} for i in images]


@pytest.fixture
def detectors(tmp_path: Path) -> Path:
    """Two detectors on the same two images: one finds every boat, the other none."""
    (tmp_path / "truth.json").write_text(json.dumps(TRUTH))
    (tmp_path / "subs").mkdir()
    (tmp_path / "subs" / "hawk.json").write_text(json.dumps(found_in(1, 2)))
    (tmp_path / "subs" / "wren.json").write_text(json.dumps(found_in(1, 2, x=70)))
    return tmp_path


@pytest.mark.parametrize("way", ["subs", "subs/*.json"])
def test_files_of_several_detectors_are_no_shards(detectors: Path, way: str) -> None:
    with pytest.raises(vt.DataError) as error:
        vt.coco(detectors / "truth.json", f"{detectors}/{way}")
    assert all(word in str(error.value) for word in ("2 images", "hawk.json", "wren.json", "{name: file}", "@LIST.txt"))


@pytest.mark.parametrize("way", ["list", "annotations", "mapping", "records"])
def test_several_detectors_are_evaluated_side_by_side(detectors: Path, way: str) -> None:
    truth, files = vt.read(detectors / "truth.json"), sorted((detectors / "subs").iterdir())
    given: Any = {
        "list": files,
        "annotations": [vt.read(file, like=truth) for file in files],
        "mapping": {file.stem: str(file) for file in files},
        "records": {"hawk": found_in(1, 2), "wren": found_in(1, 2, x=70)},
    }[way]
    found: Any = vt.coco(detectors / "truth.json", given, checks="off")
    assert isinstance(found, Comparison)
    assert [(one.name, one.scores["AP"].value) for one in found.results] == [("hawk", 1.0), ("wren", 0.0)]
    assert list(vt.analyse(truth, given, checks="off").systems) == ["hawk", "wren"]


def test_a_list_of_files_is_one_detector_by_their_owners_word(detectors: Path) -> None:
    # Every image has a false positive beside its true positive: precision 1/2 behind recall 1 of equal confidences.
    (detectors / "all.txt").write_text("subs/hawk.json\nsubs/wren.json\n")
    assert len(vt.read(f"@{detectors}/all.txt", like=vt.read(detectors / "truth.json"))) == 4


def test_listed_files_without_a_common_image_are_one_detector(detectors: Path) -> None:
    for i in (1, 2):
        (detectors / f"{i}.json").write_text(json.dumps(found_in(i)))
    found = vt.coco(detectors / "truth.json", [detectors / "1.json", detectors / "2.json"])
    assert found.scores["AP"].value == 1.0


def test_leaderboard_lists_the_files_of_a_folder(detectors: Path) -> None:
    for way in ("subs", "subs/*.json"):
        board = vt.leaderboard(detectors / "truth.json", f"{detectors}/{way}", resample="none", checks="off")
        assert sorted(board.names) == ["hawk", "wren"]


def test_ground_truth_beside_predictions_is_no_side(detectors: Path) -> None:
    (detectors / "truth.json").rename(detectors / "subs" / "truth.json")
    with pytest.raises(vt.DataError, match=r"ground truth .*truth\.json.* beside predictions .*\.json"):
        vt.read(f"{detectors}/subs/*.json")


def test_shards_of_a_ground_truth_may_have_equal_base_names_in_other_folders(tmp_path: Path) -> None:
    for i, folder in enumerate(("train", "val"), start=1):
        image = {"id": i, "file_name": f"{folder}/1.jpg", "width": 100, "height": 100}
        document = {**TRUTH, "images": [image], "annotations": [TRUTH["annotations"][i - 1]]}
        (tmp_path / f"{i}.json").write_text(json.dumps(document))
    assert vt.read(f"{tmp_path}/*.json").images.names == ("train/1.jpg", "val/1.jpg")


def shard(images, area=None, ids=None, confidence=None):
    boxes = np.reshape([[0, 0, 1, 1]] * len(images), (-1, 4))
    made = vt.Annotations.of(images, ["cat"] * len(images), boxes, confidence=confidence)
    return replace(
        made, area=None if area is None else np.array(area, dtype=float), ids=None if ids is None else np.array(ids)
    )


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


def test_columns_of_several_files_are_there_where_all_have_them():
    one, two = shard(["a"], area=[5], ids=[1]), shard(["b", "c"])
    assert np.isnan(joining.column([one, two], "area")).tolist() == [False, True, True]
    assert joining.column([one, two], "ids") is None
    assert joining.column([two, two], "area") is joining.column([two, two], "ids") is None
    assert joining.column([shard([]), shard([])], "area") is None
    assert joining.column([one, shard([])], "ids").tolist() == [1]
    assert joining.column([one, shard(["b"], ids=[2])], "ids").tolist() == [1, 2]
    assert joining.column([one, shard(["b"], ids=[1])], "ids") is None  # as each file counts from 1


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


def split(parts, wanted=None):
    return choose_split(Path("in"), parts, Options(split=wanted), expected="a part")


def test_the_part_of_a_data_set_is_the_only_one_or_the_one_named():
    assert split({"train": 1}) == ("train", 1)
    assert split({"train": 1, "valid": 2}, "val") == ("valid", 2)
    assert split({"train": 1, "val": 2}, "validation") == ("val", 2)
    assert "expected one split of the dataset, found train, val; read it with verite.read(…, split='train')" in refused(
        split, {"train": 1, "val": 2}
    )
    assert "expected a part, found none" in refused(split, {})
    assert "found 'trian'; did you mean 'train'?" in refused(split, {"train": 1}, "trian")
    assert "expected none, as in has only one part" in refused(split, {"": 1}, "val")


def test_files_of_one_side_all_have_confidences_or_none():
    one, two = shard(["a"], confidence=[0.5]), shard(["b"])
    assert "expected confidences in every file or in none" in refused(join, [one, two.like(one)], "in")
    assert len(join([one, shard([]).like(one)], "in")) == 1


def test_an_image_of_a_truth_stands_in_one_file():
    one, two = shard(["a"]), shard(["a"])
    assert "found 'a'; is a file there twice?" in refused(join, [one, two.like(one)], "in")
    both = [shard(["a"], confidence=[0.5]), shard(["a"], confidence=[0.6])]
    assert join([both[0], both[1].like(both[0])], "in").confidence.tolist() == [0.5, 0.6]
