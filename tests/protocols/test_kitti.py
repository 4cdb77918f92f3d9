"""KITTI's 2-D benchmark: equal to the development kit's rules, and what is read of label files."""

from __future__ import annotations

import gzip
import json
import pickle
from math import isnan
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.oracles.kitti import LIMITS, average_precision, crowded_scene, random_scene
from verite.cli import run
from verite.errors import BadParameter, DataError

CLASSES = ("Car", "Pedestrian", "Cyclist")
# AP at 40 recalls of `random_scene(seed, 120)`, from kitti-object-eval-python (a port of the development kit).
PUBLISHED = {
    (1, "Car"): (0.39564633020525297, 0.4073532939497381, 0.43534084829382047),
    (1, "Pedestrian"): (0.3322712100513459, 0.43370015247881977, 0.4364148702381437),
    (1, "Cyclist"): (0.11949302134646962, 0.26405555555555554, 0.29577466951692954),
    (2, "Car"): (0.36384396455093176, 0.45444135351437415, 0.49341324180092094),
    (2, "Pedestrian"): (0.27350439926915365, 0.3800887393934194, 0.37204554349296304),
    (2, "Cyclist"): (0.10168621700879765, 0.31350928641251224, 0.36590708634953056),
}


@pytest.mark.parametrize("seed", [1, 2])
def test_numbers_are_those_of_the_published_evaluator(seed: int) -> None:
    scene = random_scene(seed, 120)
    scores = vt.kitti(*scene.sides(), checks="off", **scene.columns()).class_scores()
    for k, name in enumerate(CLASSES):
        found = [scores[f"AP_{difficulty}"][k] for difficulty in ("easy", "moderate", "hard")]
        assert found == pytest.approx(PUBLISHED[seed, name], abs=1e-12)


@pytest.mark.parametrize("seed", range(10, 16))
def test_numbers_are_those_of_the_slow_rules(seed: int) -> None:
    scene = random_scene(seed)
    for recalls in ("40", "11"):
        results = vt.kitti(*scene.sides(), checks="off", recalls=recalls, **scene.columns())
        for name in CLASSES:
            for difficulty in LIMITS:
                expected = average_precision(scene, name, difficulty, int(recalls))
                got = results.curves[name][difficulty].average(recalls)  # type: ignore[index]
                assert got == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("seed", range(6))
def test_objects_that_share_predictions_of_equal_confidence_are_matched_by_the_slow_rules(seed: int) -> None:
    scene = crowded_scene(seed)
    results = vt.kitti(*scene.sides(), checks="off", **scene.columns())
    for difficulty in LIMITS:
        got = results.curves["Car"][difficulty].average("40")  # type: ignore[index]
        assert got == pytest.approx(average_precision(scene, "Car", difficulty, 40), abs=1e-12, nan_ok=True)


def many_cars(count: int = 50) -> tuple[vt.Annotations, vt.Annotations]:
    """Cars that are all found, one per image."""
    names, boxes = [f"{i:06d}" for i in range(count)], [[10.0, 10, 90, 70]] * count
    pred = vt.Annotations.of(names, ["Car"] * count, boxes, confidence=np.linspace(0.9, 0.1, count))
    return vt.Annotations.of(names, ["Car"] * count, boxes), pred


def test_forty_one_objects_are_needed_for_an_average_precision_of_one() -> None:
    assert vt.kitti(*many_cars())["AP_moderate"].value == 1
    assert vt.kitti(*many_cars(41))["AP_easy"].value == 1
    assert vt.kitti(*many_cars(21))["AP_easy"].value == 0.5  # precision is read at 21 of 41 recalls, as in the kit


def test_vans_are_ignored_for_cars_and_dont_care_for_all() -> None:
    truth, pred = many_cars()
    more = vt.Annotations.of(
        ["000000", "000001"], ["Van", "DontCare"], [[200, 10, 280, 70], [200, 10, 400, 170]],
        images=truth.images.names or (), labels=["Car"], ignore_region=[0, 1],
    )  # fmt: skip
    sides = (truth, more)
    both = vt.Annotations.of(
        [side.images.name(i) for side in sides for i in side.image.tolist()],
        [side.labels.name(k) for side in sides for k in side.label.tolist()],
        np.concatenate([side.regions.boxes for side in sides]),
        ignore_region=np.concatenate([side.flag("ignore_region") for side in sides]),
    )
    wrong = [[200.0, 10, 280, 70], [210.0, 20, 290, 80]]
    extra = vt.Annotations.of(
        [*(pred.images.name(i) for i in pred.image.tolist()), "000000", "000001"],
        ["Car"] * 52, [*pred.regions.boxes.tolist(), *wrong], confidence=[*np.linspace(0.9, 0.1, 50), 0.99, 0.98],
    )  # fmt: skip
    assert vt.kitti(both, extra)["AP_moderate"].value == 1
    assert vt.kitti(truth, extra)["AP_moderate"].value < 1
    assert vt.kitti(both, extra).class_names == ["Car"]


def test_label_files_have_truncation_and_occlusion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """50 cars; one is too truncated for easy, one too occluded for moderate."""
    for folder in ("truth", "pred"):
        (tmp_path / folder).mkdir()
    for i in range(50):
        truncated, occluded = (0.4 if i == 3 else 0.0), (2 if i == 4 else 0)
        rest = "10 10 90 70 -1 -1 -1 -1000 -1000 -1000 -10"
        (tmp_path / "truth" / f"{i:06d}.txt").write_text(f"Car {truncated} {occluded} -10 {rest}\n")
        (tmp_path / "pred" / f"{i:06d}.txt").write_text(f"Car -1 -1 -10 {rest} {1 - i / 100}\n")
    assert run(["kitti", str(tmp_path / "truth"), str(tmp_path / "pred"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["classes"]["Car"]["truths"] == {"moderate": 48, "easy": 48, "hard": 50}
    assert document["AP_hard"] == 1


@pytest.mark.parametrize("kind", ["plain", "escaped", "packed", "shards"])
def test_coco_annotations_have_truncation_and_occlusion(tmp_path: Path, kind: str) -> None:
    """As above: one of 50 cars is too truncated for easy and moderate, one too occluded; no key where it is 0."""
    images = [{"id": i, "file_name": f"{i:06d}.png", "width": 400, "height": 200} for i in range(50)]
    objects = [{"id": i, "image_id": i, "category_id": 1, "bbox": [10, 10, 80, 60]} for i in range(50)]
    objects = [{**one, "truncation": 0.0, "occluded": 0} for one in objects]
    objects[3]["truncation"], objects[4]["occluded"] = 0.4, 2
    categories = [{"id": 1, "name": "Car"}]
    place = tmp_path / "truth.json"
    text = json.dumps({"images": images, "annotations": objects, "categories": categories})
    if kind == "escaped":
        text = text.replace("truncation", "truncati\\u006fn").replace("occluded", "occl\\u0075ded")
    place.write_text(text)
    if kind == "packed":
        place = place.with_suffix(".json.gz")
        place.write_bytes(gzip.compress(text.encode()))
    if kind == "shards":  # only the second one has the keys
        place = tmp_path / "shards"
        place.mkdir()
        plain = [{key: one[key] for key in one if key not in ("truncation", "occluded")} for one in objects]
        for name, of_file in (("a", plain[5:]), ("b", objects[:5])):
            own = {"images": images, "annotations": of_file, "categories": categories}
            (place / f"{name}.json").write_text(json.dumps(own))
    truth = vt.read(place)
    _, pred = many_cars()
    found = vt.kitti(truth, vt.Annotations.of(
        [f"{i:06d}.png" for i in range(50)], ["Car"] * 50, pred.regions.boxes, confidence=pred.confidence
    ))  # fmt: skip
    counts = {key: curve.truths for key, curve in found.curves["Car"].items()}
    # Shards without a key have an unknown truncation: ignored, as one that is not stated.
    assert counts == (
        {"moderate": 3, "easy": 3, "hard": 5} if kind == "shards" else {"moderate": 48, "easy": 48, "hard": 50}
    )


def test_files_without_truncation_get_a_note() -> None:
    results = vt.kitti(*many_cars())
    assert any("truncation and occlusion" in note for note in results.file_notes)
    assert pickle.loads(pickle.dumps(results)).to_json() == results.to_json()


def test_wrong_columns_are_refused() -> None:
    truth, pred = many_cars()
    with pytest.raises(DataError, match="expected 50 numbers, one per object, found 3"):
        vt.kitti(truth, pred, truncation=[0, 0, 0])
    with pytest.raises(BadParameter, match="one number per ground-truth object"):
        vt.kitti(truth, pred, occlusion="many")
    with pytest.raises(BadParameter, match="did you mean 'Car'"):
        vt.kitti(truth, pred, labels=["Cars"])


def test_objects_that_all_are_ignored_have_no_score() -> None:
    truth, pred = many_cars()
    assert isnan(vt.kitti(truth, pred, occlusion=[3.0] * 50)["AP_hard"].value)
