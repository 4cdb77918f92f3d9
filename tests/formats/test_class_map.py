"""Maps of class names: all other names, ids of predictions, LVIS's names for COCO's classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import verite as vt
from verite.cli import run
from verite.errors import ReadError
from verite.formats.class_map import ClassMap

REAL = Path(__file__).parents[3] / "shared" / "real" / "coco_val2017"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_star_maps_all_names_that_are_neither_mapped_nor_a_class(tmp_path: Path) -> None:
    table = ClassMap.of(write(tmp_path / "map.csv", "from,to\nkitten,cat\n*,\n"))
    assert [table.find(name) for name in ("kitten", "Kitten", "cat", "Cat", "acorn")] == ["cat", "cat", None, None, ""]


def test_ids_name_predictions_without_names(tmp_path: Path) -> None:
    """The ground truth calls class 7 what the predictions number 1; its class 1 is ignored."""
    table = write(tmp_path / "map.csv", "from,to,id\nfelis_catus,cat,1\n*,,\n")
    truth: dict[str, Any] = {
        "images": [{"id": 5, "file_name": "a.jpg", "width": 99, "height": 99}],
        "categories": [{"id": 1, "name": "acorn"}, {"id": 7, "name": "felis_catus"}],
        "annotations": [
            {"id": 1, "image_id": 5, "category_id": 7, "bbox": [0, 0, 9, 9], "area": 81, "iscrowd": 0},
            {"id": 2, "image_id": 5, "category_id": 1, "bbox": [50, 50, 9, 9], "area": 81, "iscrowd": 0},
        ],
    }
    pred = [{"image_id": 5, "category_id": 1, "bbox": [0, 0, 9, 9], "score": 0.9}]
    sides = vt.read(truth, map=table)
    results = vt.coco(sides, vt.read(pred, like=sides, map=table))
    assert results["AP"].value == pytest.approx(1)
    assert results.class_names == ["cat"]


def test_a_wrong_id_is_refused(tmp_path: Path) -> None:
    table = write(tmp_path / "map.csv", "from,to,id\nkitten,cat,one\n")
    with pytest.raises(ReadError, match=r"map\.csv:2: expected the id of a class"):
        ClassMap.of(table)


def test_the_map_of_lvis_has_the_classes_of_coco() -> None:
    table = ClassMap.of("lvis-coco")
    assert len({to for _, to in table.rows if to}) == len(table.ids) == 80
    assert table.find("television_set") == "tv"
    assert table.find("acorn") == ""
    assert dict(table.ids)[90] == "toothbrush"


def test_the_map_of_open_images_has_the_classes_of_coco() -> None:
    lvis, table = ClassMap.of("lvis-coco"), ClassMap.of("openimages-coco")
    assert dict(table.ids) == dict(lvis.ids)  # COCO's 80 classes and their ids
    # Names and ids of Open Images' list of boxable classes.
    for name, id, to in (("Woman", "/m/03bt1vf", "person"), ("Flying disc", "/m/02wmf", "frisbee"),
                         ("Cattle", "/m/01xq0k1", "cow"), ("Computer mouse", "/m/020lf", "mouse"),
                         ("Mouse", "/m/04rmv", ""), ("Tree", "/m/07j7r", "")):  # fmt: skip
        assert table.find(name) == table.find(id) == to


def test_coco_predictions_are_compared_with_open_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # A woman and a mouse (the animal), which COCO lacks; the detector finds a person, id 1, and a computer mouse, 74.
    truth = write(
        tmp_path / "boxes.csv",
        "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside\n"
        "a,xclick,/m/03bt1vf,1,0.1,0.3,0.1,0.5,0,0,0,0,0\na,xclick,/m/04rmv,1,0.6,0.8,0.6,0.8,0,0,0,0,0\n",
    )
    boxes = {1: [10, 10, 20, 40], 74: [60, 60, 20, 20]}
    rows = [{"image_id": "a", "category_id": id, "bbox": box, "score": 0.9} for id, box in boxes.items()]
    pred = write(tmp_path / "pred.json", json.dumps(rows))
    words = ["coco", str(truth), str(pred), "--map", "openimages-coco", "--image-size", "100,100", "--json", "--checks"]
    assert run([*words, "off"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["classes"]["person"]["AP"] == pytest.approx(1)
    assert found["AP"] == pytest.approx(1)


@pytest.mark.skipif(not REAL.exists(), reason="needs COCO val2017 and LVIS's 100 images of it in ../shared/real")
@pytest.mark.thorough
def test_lvis_reverses_the_order_of_two_detectors(capsys: pytest.CaptureFixture[str]) -> None:
    """On 100 images NAS leads by COCO's annotation, and trails by LVIS's; both computed before, by other means."""
    preds = [str(REAL / "results" / f"{name}.json.gz") for name in ("rcnn-nas-lowproposals", "ssd-resnet50-fpn")]
    lvis = str(REAL / "lvis_val100" / "data" / "lvis_val_100.json")
    found = []
    for line in (
        ["coco", str(REAL / "truth.json.gz"), *preds, "--only-images", lvis],
        ["lvis", lvis, *preds, "--map", "lvis-coco", "--unknown-images", "drop"],
    ):
        assert run([*line, "--json"]) == 0
        systems = json.loads(capsys.readouterr().out)["systems"]
        listed = systems.values() if isinstance(systems, dict) else systems
        found.append([round(one["AP"], 4) for one in listed])
    assert found == [[0.5017, 0.4363], [0.4394, 0.4725]]


def test_images_of_another_file_must_be_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "image,label,x1,y1,x2,y2"
    truth = write(tmp_path / "truth.csv", f"{rows}\na,cat,0,0,9,9\nb,cat,0,0,9,9\n")
    pred = write(tmp_path / "pred.csv", f"{rows},score\na,cat,0,0,9,9,0.9\nb,cat,50,50,60,60,0.9\n")
    one = write(tmp_path / "one.csv", f"{rows}\na,dog,5,5,9,9\n")
    assert run(["coco", str(truth), str(pred), "--only-images", str(one), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["AP"] == pytest.approx(1)
    other = write(tmp_path / "other.csv", f"{rows}\nz,dog,5,5,9,9\n")
    assert run(["coco", str(truth), str(pred), "--only-images", str(other)]) == 1
    assert "found none of them" in capsys.readouterr().err
