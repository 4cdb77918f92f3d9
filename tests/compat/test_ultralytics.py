"""The callback that writes a report after an Ultralytics validation, with a validator of its attributes."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import verite as vt
from verite.compat.ultralytics import read_validation, report_after_validation
from verite.errors import BadParameter, DataWarning, VeriteError

DEMO = Path(str(files("verite") / "data" / "demo"))


@pytest.fixture
def validator(tmp_path: Path) -> Any:
    truth = vt.read(DEMO / "truth.json")
    vt.write(truth, tmp_path / "data", "yolo")
    shutil.copytree(DEMO / "images", tmp_path / "data" / "images")
    hawk = vt.read(DEMO / "hawk.json", like=truth)
    assert hawk.confidence is not None
    records = [
        {
            "image_id": Path(truth.images.name(image)).stem,
            "category_id": label + 1,
            "bbox": box,
            "score": score,
        }
        for image, label, box, score in zip(
            hawk.image.tolist(), hawk.label.tolist(), hawk.regions.sizes.tolist(), hawk.confidence.tolist(), strict=True
        )
    ]
    return SimpleNamespace(
        data={"yaml_file": str(tmp_path / "data" / "data.yaml")},
        args=SimpleNamespace(split="val"),
        class_map=list(range(1, len(truth.labels) + 1)),
        jdict=json.loads(json.dumps(records)),
        save_dir=tmp_path / "run",
    )


def test_the_same_numbers_as_from_files(validator: Any) -> None:
    """YOLO labels do not mark crowds: they count there."""
    expected = vt.coco(DEMO / "truth.json", DEMO / "hawk.json", checks="off", ignored="count")
    found = vt.coco(*read_validation(validator), checks="off")
    assert found["AP50"] == pytest.approx(expected["AP50"].value, abs=1e-6)


def test_a_report_is_in_the_folder_of_the_run(validator: Any) -> None:
    validator.save_dir.mkdir()
    report_after_validation(checks="off")(validator)
    assert "<html" in (validator.save_dir / "report.html").read_text("utf-8")


def test_without_predictions_it_says_what_to_do(validator: Any) -> None:
    validator.jdict = []
    with pytest.warns(DataWarning, match="save_json=True"):
        report_after_validation()(validator)
    validator.data = {}
    with pytest.raises(BadParameter, match="yaml_file"):
        read_validation(validator)


@pytest.mark.parametrize(
    ("name", "odd", "wanted"),
    [
        ("data", ["a"], "yaml_file"),
        ("data", {"yaml_file": 7}, "yaml_file"),
        ("args", SimpleNamespace(split=[[1]]), "args.split"),
        ("class_map", None, "lists as class_map and jdict"),
        ("jdict", 7, "lists as class_map and jdict"),
        ("jdict", [7], r"jdict\[0\]: expected a record with a category_id of class_map, found 7"),
        ("jdict", [{"category_id": 99}], r"jdict\[0\]: .* found 99"),
        ("jdict", [{"category_id": [1]}], r"jdict\[0\]: .* found \[1\]"),
    ],
)
def test_what_is_no_validator_is_refused(validator: Any, name: str, odd: Any, wanted: str) -> None:
    setattr(validator, name, odd)
    with pytest.raises(VeriteError, match=wanted):
        read_validation(validator)
    delattr(validator, name)
    if name != "args":  # without it, the split is val
        with pytest.raises(BadParameter, match="is it a validator of detections"):
            read_validation(validator)
