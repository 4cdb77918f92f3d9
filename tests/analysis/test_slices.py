"""Slices: equal to COCO's sizes and to evaluations of some images, and what chance gives."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.analysis.worlds import sides, write_pair
from tests.oracles.analysis import random_world
from verite.analysis.slices import normalised_ap
from verite.cli import run
from verite.statistics.multiple_comparisons import holm


def rows_of(found: Any, name: str) -> dict[str, dict[str, Any]]:
    return {one["bin"]: one for one in found.slices.rows if one["slice"] == name}


@pytest.mark.parametrize("seed", range(4))
def test_sizes_are_cocos_own_numbers_bit_for_bit(seed: int, tmp_path: Path) -> None:
    truth, results = random_world(seed)
    for record in truth["annotations"][::3]:
        record["area"] = 1024.0  # on the border of two ranges, in both
    scores = vt.coco(*sides(truth, results, tmp_path))
    found = rows_of(scores.analyse(slice="size"), "size")
    for name, key in (("small", "APs"), ("medium", "APm"), ("large", "APl")):
        expected = scores[key].value
        assert found[name]["AP"] == expected or (isnan(expected) and isnan(found[name]["AP"]))


def test_a_property_of_boxes_is_evaluated_as_ranges_of_areas_are(tmp_path: Path) -> None:
    """Aspects that follow from areas: the same objects are inside, so that the numbers are the same."""
    truth, results = random_world(3, crowds=False)
    for record in [*truth["annotations"], *results]:
        x, y, w, h = record["bbox"]
        side = max(w, h)
        record["bbox"] = [x, y, side, 80.0]
        record["area"] = side * 80.0
    pair = sides(truth, results, tmp_path)
    by_area = vt.coco(*pair, areas={"all": (0, 1e10), "narrow": (0, 8000.0), "wide": (8000.0, 1e10)})
    found = rows_of(vt.coco(*pair).analyse(slice="aspect:1.25"), "aspect")
    assert found["< 1.25"]["AP"] == by_area["APnarrow"].value
    assert found[">= 1.25"]["AP"] == by_area["APwide"].value


@pytest.mark.parametrize("name", ["size", "aspect", "position", "border", "crowding", "overlap", "frequency"])
def test_bins_of_a_property_share_out_the_truths_and_what_is_found(name: str, tmp_path: Path) -> None:
    results = vt.coco(*sides(*random_world(5), tmp_path))
    finds = results.matches(0.5)
    rows = rows_of(results.analyse(slice=name), name).values()
    assert sum(one["truths"] for one in rows) == finds.counted_truth.sum()
    found = sum(round(one["recall"] * one["truths"]) for one in rows if one["truths"])
    assert found == (finds.matched_pred >= 0).sum()


def test_a_slice_of_everything_has_the_protocols_own_ap(tmp_path: Path) -> None:
    results = vt.coco(*sides(*random_world(6), tmp_path), iou=0.5)
    matches = results.analyse().matches
    assert normalised_ap(matches, matches.counted_truth) == pytest.approx(results["AP"].value, abs=1e-12)


def test_normalised_precision_by_hand() -> None:
    """Two of four truths are in the slice, one is found after one wrong prediction: R 1/2, N 4, so P = 2 / 3. Read at
    recalls up to 1/2: 51 of 101.
    """
    truth = vt.Annotations.of(["i"] * 4, ["a"] * 4, [[0, 0, 9, 9], [20, 0, 29, 9], [40, 0, 49, 9], [60, 0, 69, 9]])
    pred = vt.Annotations.of(["i"] * 2, ["a"] * 2, [[0, 50, 9, 59], [0, 0, 9, 9]], confidence=[0.9, 0.8])
    matches = vt.coco(truth, pred, checks="off").analyse().matches
    assert normalised_ap(matches, np.array([True, True, False, False])) == pytest.approx(2 / 3 * 51 / 101)


def test_an_image_slice_is_the_evaluation_of_its_images(tmp_path: Path) -> None:
    truth, results = random_world(7, images=20)
    for image in truth["images"]:
        image["weather"] = "rain" if image["id"] % 3 == 0 else "sun"
    known, pred = sides(truth, results, tmp_path)
    found = rows_of(vt.analyse(known, pred, slice="weather"), "weather")
    wet = {image["id"] for image in truth["images"] if image["weather"] == "rain"}
    (tmp_path / "some").mkdir()
    some = {
        **truth,
        "images": [image for image in truth["images"] if image["id"] in wet],
        "annotations": [a for a in truth["annotations"] if a["image_id"] in wet],
    }
    alone = vt.coco(*sides(some, [d for d in results if d["image_id"] in wet], tmp_path / "some"))
    assert found["rain"]["AP"] == pytest.approx(alone["AP"].value, abs=1e-12)
    assert found["rain"]["kind"] == "image"
    assert 0 < found["rain"]["p"] <= found["rain"]["p_holm"] <= 1
    assert found["rain"]["low"] <= found["rain"]["difference"] <= found["rain"]["high"]


def test_slices_by_chance_are_seldom_different(tmp_path: Path) -> None:
    truth, results = random_world(8, images=40)
    random = np.random.default_rng(1)
    for k in range(12):
        chosen = random.random(40) < 0.5
        for image, own in zip(truth["images"], chosen, strict=True):
            image[f"chance{k}"] = "a" if own else "b"
    names = [f"chance{k}" for k in range(12)]
    found = vt.analyse(*sides(truth, results, tmp_path), slice=names).slices
    assert sum(one["p"] < 0.05 for one in found.rows) <= 5  # of 24
    assert not any(one["p_holm"] < 0.05 for one in found.rows)


def test_holms_correction_by_hand() -> None:
    *tested, untested = holm([0.01, 0.04, 0.03, float("nan")])
    assert tested == pytest.approx([0.03, 0.06, 0.06])
    assert isnan(untested)


def test_fields_and_columns_of_a_table_are_slices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    truth, results = random_world(9)
    for a in truth["annotations"]:
        a["blur"] = a["id"] % 7
    pair = write_pair(tmp_path, truth, results)
    meta = tmp_path / "meta.csv"
    meta.write_text(
        "image,light\n" + "".join(f"{i['file_name']},{'day' if i['id'] % 2 else 'night'}\n" for i in truth["images"])
    )
    words = ["analyse", *pair, "--only", "slices", "--meta", str(meta), "--slice", "blur", "--slice", "light", "--json"]
    assert run(words) == 0
    rows = json.loads(capsys.readouterr().out)["slices"]
    assert {one["slice"] for one in rows} == {"blur", "light"}
    assert {one["bin"] for one in rows if one["slice"] == "light"} == {"day", "night"}
    assert len([one for one in rows if one["slice"] == "blur"]) == 5


def test_unknown_images_and_properties_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = write_pair(tmp_path, *random_world(9))
    meta = tmp_path / "meta.csv"
    meta.write_text("image,light\nelsewhere.jpg,day\n")
    assert run(["analyse", *pair, "--only", "slices", "--meta", str(meta)]) == 1
    assert "meta.csv:2: V213 expected an image of the ground truth, found 'elsewhere.jpg'" in capsys.readouterr().err
    assert run(["analyse", *pair, "--only", "slices", "--slice", "sise"]) == 2
    assert "did you mean 'size'?" in capsys.readouterr().err
    assert run(["analyse", *pair, "--only", "slices", "--slice", "aspect:2,1"]) == 2


def test_without_sizes_of_images_borders_are_absent_with_their_reason() -> None:
    truth = vt.Annotations.of(["i"], ["a"], [[0, 0, 10, 10]])
    pred = vt.Annotations.of(["i"], ["a"], [[0, 0, 10, 10]], confidence=[0.9])
    assert "border: the sizes of images are not known" in str(vt.analyse(truth, pred).slices)


def test_sizes_by_quantiles_have_equally_many_truths(tmp_path: Path) -> None:
    results = vt.coco(*sides(*random_world(5, images=40, crowds=False), tmp_path))
    rows = rows_of(results.analyse(slice="size:quantiles"), "size").values()
    counts = [one["truths"] for one in rows]
    assert len(counts) == 5
    assert max(counts) - min(counts) <= 1
    assert sum(counts) == results.matches(0.5).counted_truth.sum()
    assert all(0 <= one["AP"] <= 1 for one in rows)


def test_aspects_by_quantiles_are_those_of_each_label() -> None:
    """Of ten people and ten cars two are in each fifth, though every person is narrower than every car."""
    sizes = [(10 + k, 100) for k in range(10)] + [(100 + 10 * k, 50) for k in range(10)]
    names = [f"i{k}" for k in range(20)]
    boxes = [[0.0, 0.0, w, h] for w, h in sizes]
    truth = vt.Annotations.of(names, ["person"] * 10 + ["car"] * 10, boxes)
    pred = vt.Annotations.of(names, ["person"] * 10 + ["car"] * 10, boxes, confidence=[0.9] * 20)
    found = vt.analyse(truth, pred, slice="aspect:quantiles")
    rows = rows_of(found, "aspect")
    assert [one["truths"] for one in rows.values()] == [4] * 5
    assert [one["AP"] for one in rows.values()] == [1.0] * 5
    (one,) = found.slices.properties
    assert one.of_truths[:10].tolist() == one.of_truths[10:].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert "narrowest fifth of each class" in str(found.slices)


def test_quantiles_of_anything_else_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = write_pair(tmp_path, *random_world(9))
    assert run(["analyse", *pair, "--only", "slices", "--slice", "crowding:quantiles"]) == 2
    assert "slice: expected quantiles of size or aspect, found 'crowding:quantiles'" in capsys.readouterr().err


def test_images_that_a_table_does_not_have_are_counted(tmp_path: Path) -> None:
    known, pred = sides(*random_world(9), tmp_path)
    (tmp_path / "meta.csv").write_text("image,light\n1.jpg,day\n2.jpg,night\n")
    found = vt.analyse(known, pred, meta=str(tmp_path / "meta.csv"), slice="light").slices
    assert "light: no value for 13 images" in str(found)


@pytest.mark.parametrize("seed", range(3))
def test_image_slices_equal_hotcocos(seed: int, tmp_path: Path) -> None:
    hotcoco = pytest.importorskip("hotcoco", reason="hotcoco is in the group 'peers'")
    truth, results = random_world(seed, images=20)
    for image in truth["images"]:
        image["weather"] = "rain" if image["id"] % 3 == 0 else "sun"
    paths = write_pair(tmp_path, truth, results)
    theirs = hotcoco.COCO(paths[0])
    evaluation = hotcoco.COCOeval(theirs, theirs.load_res(paths[1]), "bbox")
    evaluation.evaluate()
    parts = {w: [i["id"] for i in truth["images"] if i["weather"] == w] for w in ("rain", "sun")}
    told = evaluation.slice_by(parts)
    known = vt.read(paths[0])
    found = rows_of(vt.analyse(known, vt.read(paths[1], like=known), slice="weather"), "weather")
    for name in parts:
        assert found[name]["AP"] == pytest.approx(told[name]["AP"], abs=1e-12)


def test_a_prediction_of_a_class_that_the_ground_truth_lacks_is_in_no_slice(tmp_path: Path) -> None:
    """80 classes and one `category_id: 0`, a common mistake: it is counted nowhere, and nothing ends in an error."""
    box = [10.0, 10.0, 40.0, 40.0]
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": k, "name": f"class {k}", "supercategory": f"group {k % 2}"} for k in range(1, 81)],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 80, "bbox": box, "area": 1600, "iscrowd": 0}],
    }
    pred = [{"image_id": 1, "category_id": k, "bbox": box, "score": 0.5} for k in (80, 0, 0)]
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    (tmp_path / "pred.json").write_text(json.dumps(pred))
    files = str(tmp_path / "truth.json"), str(tmp_path / "pred.json")
    found = vt.analyse(vt.coco(*files), slice=["label-group", "frequency"])
    assert {name: row["preds"] for name, row in rows_of(found, "label-group").items()} == {"group 1": 0, "group 0": 1}
    assert rows_of(found, "frequency")["<= 10 images"]["preds"] == 1
    assert run(["analyse", *files, "-o", str(tmp_path / "out")]) == 0
    assert run(["analyse", *files, "--confidence", str(tmp_path / "out" / "thresholds.json")]) == 0
    assert run(["report", *files, "-o", str(tmp_path / "report.html")]) == 0


def test_results_in_place_of_a_ground_truth_have_no_supercategories(tmp_path: Path) -> None:
    pred = [{"image_id": 1, "category_id": 1, "bbox": [0.0, 0.0, 10.0, 10.0], "score": 0.5}]
    (tmp_path / "pred.json").write_text(json.dumps(pred))
    found = vt.analyse(vt.coco(tmp_path / "pred.json", tmp_path / "pred.json"), slice=["label-group"])
    assert "no supercategories" in str(found.slices)
