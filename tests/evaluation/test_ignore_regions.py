"""Predictions in ignore regions, of any class: against numbers by hand and a slow oracle, from every format."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import verite as vt
from tests.oracles.ignore_regions import average_precision, outcomes
from verite.cli import run
from verite.model.rasters import runs_of


def street() -> tuple[vt.Annotations, vt.Annotations]:
    """A car and a region; predictions on the car, inside, half inside, four tenths inside, and of another class."""
    truth = vt.Annotations.of(
        ["a"] * 2, ["car", "ignore"], [[0, 0, 10, 10], [50, 0, 150, 50]],
        crowd=[False, True], ignore_region=[False, True], labels=["car", "person", "ignore"],
    )  # fmt: skip
    pred = vt.Annotations.of(
        ["a"] * 5, ["car"] * 4 + ["person"],
        [[0, 0, 10, 10], [60, 10, 70, 20], [45, 0, 55, 10], [44, 0, 54, 10], [100, 10, 120, 20]],
        confidence=[0.5, 0.9, 0.8, 0.7, 0.6], labels=["car", "person", "ignore"],
    )  # fmt: skip
    return truth, pred


@pytest.mark.parametrize("protocol", [vt.coco, vt.voc, vt.imagenet_det])
def test_predictions_of_any_class_in_a_region_are_ignored_by_every_protocol(protocol: Any) -> None:
    for share, expected in ((None, 1 / 2), (0.0, 1 / 4), (0.3, 1.0), (0.6, 1 / 3)):
        found = protocol(*street(), iou=0.5, checks="off", **({} if share is None else {"ignore_regions": share}))
        assert next(iter(found.scores.values())).value == pytest.approx(expected)


def test_f1_ignores_them_too_and_the_signature_tells_another_share() -> None:
    tally = vt.f1(*street(), iou=0.5, checks="off").tallies[0]
    assert (tally.tp, tally.fp, tally.fn) == (1, 1, 0)
    counted = vt.f1(*street(), iou=0.5, ignore_regions=0, checks="off")
    assert (counted.tallies[0].tp, counted.tallies[0].fp) == (1, 4)
    assert "ignore_regions:0.00" in str(counted.signature)


def with_masks(side: vt.Annotations) -> vt.Annotations:
    """The same boxes as masks of a picture."""
    masks = np.zeros((len(side), 60, 160), dtype=np.bool_)
    for mask, (x1, y1, x2, y2) in zip(masks, side.regions.boxes.astype(int), strict=True):
        mask[y1:y2, x1:x2] = True
    images = vt.Images(side.images.names, side.images.ids, widths=[160], heights=[60])
    return replace(side, images=images, regions=vt.Regions(side.regions.boxes, runs=runs_of(masks)))


def counts(results: Any, column: str) -> list[int]:
    """A column of the table of classes."""
    table = results.class_table()
    return [row[table.head.index(column)] for row in table.rows]


def test_protocols_of_faces_cells_and_scenes_ignore_them_too() -> None:
    """The car is found; one of the four others, four tenths of which lie in the region, is a false positive."""
    truth, pred = street()
    assert vt.wider(truth, pred, checks="off")["AP"].value == pytest.approx(1 / 2)
    assert counts(vt.localize(truth, pred, "iou", checks="off"), "spurious") == [1, 0, 0]
    assert counts(vt.localize(truth, pred, "iou", ignored="count", checks="off"), "spurious") == [3, 1, 0]
    assert counts(vt.scene_score(truth, pred, checks="off"), "spurious") == [1]
    instances = vt.instances(with_masks(truth), with_masks(pred), checks="off")
    assert (counts(instances, "truths"), counts(instances, "preds")) == ([1], [2])


def test_regions_are_said_to_be_counted_only_where_they_are() -> None:
    truth, pred = street()
    truth = replace(truth, flags={"ignore": truth.flags["crowd"], "ignore_region": truth.flags["ignore_region"]})
    assert not any("were counted" in note for note in vt.imagenet_det(truth, pred, checks="off").notes)
    assert any("were counted" in note for note in vt.openimages(truth, pred, checks="off").notes)


def test_the_analysis_says_why_they_are_ignored() -> None:
    matches = vt.coco(*street(), iou=0.5, checks="off").analyse().matches
    assert matches.ignored_counts["ignore_region"] == 3


def random_boxes(rng: np.random.Generator, count: int, side: float) -> Any:
    corners = rng.integers(0, 40, (count, 2)).astype(float)
    return np.concatenate([corners, corners + rng.integers(2, int(side), (count, 2))], axis=1)


def test_average_precision_is_that_of_the_oracle_on_random_sets() -> None:
    rng = np.random.default_rng(4)
    ignored = 0
    for _ in range(80):
        truths, regions, preds = (random_boxes(rng, int(rng.integers(1, 7)), side) for side in (14, 24, 14))
        boxes = np.concatenate([truths, regions])
        is_region = np.arange(len(boxes)) >= len(truths)
        truth = vt.Annotations.of(
            ["a"] * len(boxes), ["ignore" if one else "car" for one in is_region], boxes.tolist(),
            ignore_region=is_region, labels=["car", "ignore"],
        )  # fmt: skip
        confidence = np.linspace(0.9, 0.1, len(preds)).tolist()
        pred = vt.Annotations.of(["a"] * len(preds), ["car"] * len(preds), preds.tolist(), confidence=confidence)
        letters = outcomes(truths.tolist(), regions.tolist(), preds.tolist(), 0.5, 0.5)
        expected = average_precision(letters, len(truths))
        found = vt.coco(truth, pred, iou=0.5, checks="off").class_scores()["AP"][0]
        assert found == pytest.approx(expected, abs=1e-12)
        ignored += letters.count("I")
    assert ignored > 30


def test_partial_results_and_bootstrap_know_regions() -> None:
    truth, pred = street()
    whole = vt.coco(truth, pred, checks="off")
    merged = vt.partial(truth, pred, checks="off").compute()
    assert merged["AP"].value == whole["AP"].value == pytest.approx(0.5)
    assert whole.draw_scores(["AP"], np.ones((1, 1)))[0, 0] == whole["AP"].value


def test_kitti_visdrone_and_mot_mark_their_regions(tmp_path: Path) -> None:
    kitti = tmp_path / "label_2"
    kitti.mkdir()
    rest = "-1 -1 -1 -1000 -1000 -1000 -10"
    (kitti / "000000.txt").write_text(
        f"Car 0 0 -10 0 0 10 10 {rest}\nDontCare -1 -1 -10 50 0 150 50 {rest}\nCar 0 0 -10 20 0 30 10 {rest}\n"
    )
    assert vt.read(kitti).flag("ignore_region").tolist() == [False, True, False]
    visdrone = tmp_path / "annotations"
    visdrone.mkdir()
    (visdrone / "0000001.txt").write_text("0,0,10,10,1,4,0,0\n50,0,100,50,0,0,0,0\n20,0,10,10,0,11,0,0\n")
    found = vt.read(visdrone)
    assert found.flag("ignore_region").tolist() == [False, True, False]
    assert found.flag("ignore").tolist() == [False, True, True]
    mot = tmp_path / "MOT17-99" / "gt"
    mot.mkdir(parents=True)
    (mot / "gt.txt").write_text("1,1,0,0,10,10,1,1,1\n1,2,50,0,100,50,0,8,1\n1,3,20,0,10,10,0,3,1\n")
    assert vt.read(tmp_path / "MOT17-99").flag("ignore_region").tolist() == [False, True, False]


def test_bdd100k_ignores_its_distractors(tmp_path: Path) -> None:
    def frame(*categories: str) -> list[dict[str, Any]]:
        box = {"x1": 0, "y1": 0, "x2": 9, "y2": 9}
        return [{"name": "a.jpg", "labels": [{"category": name, "box2d": box} for name in categories]}]

    path = tmp_path / "truth.json"
    path.write_text(json.dumps(frame("car", "other vehicle", "trailer")))
    assert vt.read(path).flag("ignore_region").tolist() == [False, True, True]
    path.write_text(json.dumps(frame("car", "trailer", "boat")))  # trailers of another dataset are objects
    assert not vt.read(path).flag("ignore_region").any()
    results = tmp_path / "pred.json"
    labels = [{**label, "score": 0.5} for label in frame("car", "trailer")[0]["labels"]]
    results.write_text(json.dumps([{"name": "a.jpg", "labels": labels}]))
    assert not vt.read(results).flag("ignore_region").any()


def test_crowdhuman_ignores_masks_and_ignored_persons() -> None:
    folder = Path(__file__).parents[1] / "data" / "formats" / "crowdhuman" / "good"
    truth = vt.read(folder / "annotation_val.odgt")
    assert truth.flag("ignore_region").tolist() == [False, False, True, True]
    results = vt.coco(truth, folder / "detections.odgt")
    # An IoU of 158 · 498 / (160 · 500 + 163 · 503 − 158 · 498) = 0.9445 with one of two persons.
    assert results["AP"].value == pytest.approx(9 / 10 * 51 / 101)
    assert len(results.pred) == 2


def test_crowds_of_a_class_called_ignore_are_regions_in_coco_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def record(id: int, label: int, box: list[int], crowd: int) -> dict[str, Any]:
        area = box[2] * box[3]
        return {"id": id, "image_id": 1, "category_id": label, "bbox": box, "area": area, "iscrowd": crowd}

    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 200, "height": 100}],
        "categories": [{"id": 1, "name": "car"}, {"id": 2, "name": "Ignore"}],
        "annotations": [record(1, 1, [0, 0, 10, 10], 0), record(2, 2, [50, 0, 100, 50], 1)],
    }
    pred = [
        {"image_id": 1, "category_id": 1, "bbox": box, "score": score}
        for box, score in (([0, 0, 10, 10], 0.5), ([60, 10, 10, 10], 0.9))
    ]
    for name, document in (("truth", truth), ("pred", pred)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    sides = [str(tmp_path / name) for name in ("truth.json", "pred.json")]
    assert run(["coco", *sides, "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["AP"] == pytest.approx(1.0)
    assert run(["coco", *sides, "--json", "-q", "--exact"]) == 0  # as pycocotools: the prediction is a false positive
    assert json.loads(capsys.readouterr().out)["AP"] == pytest.approx(0.5)
