"""The catalogue of checks: every check has a function, a page, and runs at every entry point."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from verite.checks import Check, Finding
from verite.checks.check import add_check, every_check, reference

SOURCE = Path(vt.__file__).parent


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "checks.md"


CHECKS = {check.code: check for check in every_check()}


def test_codes_are_declared_once():
    assert len(CHECKS) == len(list(every_check()))


def test_every_code_that_is_printed_is_declared():
    said = {code for path in SOURCE.rglob("*.py") for code in re.findall(r"\bV[1-5]\d\d\b", path.read_text())}
    assert said == set(CHECKS)


def test_the_reference_page_has_the_table_of_the_records():
    assert reference() in PAGE.read_text()


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_every_check_has_a_function(check):
    assert check.severity in ("error", "warning", "note")
    if check.look:
        assert callable(check.function())
    else:  # a reader says it, or the comparison of volumes, which are no annotations
        places = [*(SOURCE / "formats").glob("*.py"), SOURCE / "errors.py", SOURCE / "files.py"]
        places.append(SOURCE / "metrics" / "volumes.py")
        readers = "".join(path.read_text() for path in places)
        assert check.code in readers
        assert check.subjects == ("file",)


def birds(side):
    """Nobody annotates owls."""
    labels = side.annotations.labels
    rows = [i for i, label in enumerate(side.annotations.label) if labels.name(int(label)) == "owl"]
    if rows:
        yield Finding("V900", "warning", f"{len(rows)} owls", len(rows), ("an owl",), "look again", side.name)


TOY = Check("V900", "warning", "owls", "look again", ("truth",), birds)


def sides():
    boxes = [[10, 10, 50, 50], [20, 60, 80, 90]]
    truth = vt.Annotations.of(["a", "b"], ["owl", "cat"], boxes)
    return truth, vt.Annotations.of(["a", "b"], ["owl", "cat"], boxes, confidence=[0.8, 0.9])


def test_a_new_check_is_one_record_and_one_function():
    truth, pred = sides()
    with add_check(TOY):
        inspection = vt.inspect(truth, pred)
        results = vt.coco(truth, pred)
        assert "| V900 | warning | owls | look again | ground truth |" in reference()
    assert "warning: V900 1 owls; look again\n    an owl" in str(inspection)
    assert inspection.to_dict()["files"][0]["findings"][0]["code"] == "V900"
    assert [finding["code"] for finding in results.to_dict()["findings"]] == ["V900"]
    assert "V900" not in str(vt.inspect(truth, pred))


def test_a_check_that_the_counts_rule_out_does_not_run():
    truth, pred = sides()
    with add_check(replace(TOY, cleared_by=("not_finite",))):
        assert vt.coco(truth, pred).findings == ()


def test_a_check_that_no_count_clears_runs_where_predictions_fit():
    truth, pred = sides()
    with add_check(TOY):
        assert vt.coco(truth, pred).scores["AP"].value == pytest.approx(1.0)
        assert [f.code for f in vt.coco(truth, pred).findings] == ["V900"]


def test_an_error_in_a_ground_truth_stops_every_evaluation_with_its_path():
    truth, pred = sides()
    boxes = truth.regions.values.copy()
    boxes[0, 2] = np.nan
    broken = replace(truth, regions=type(truth.regions)(boxes, "xyxy"))
    for evaluate in (vt.coco, vt.voc, vt.openimages, vt.scene_score, lambda t, p: vt.localize(t, p, "iou")):
        with pytest.raises(vt.DataError, match=r"^truth: V111 1 of 2 boxes has coordinates that are NaN or infinite"):
            evaluate(broken, pred)
    assert [f.code for f in vt.voc(broken, pred, checks="warn").findings] == ["V111"]


def test_swapped_sides_are_said_to_be_so_and_nothing_else_is():
    truth, pred = sides()
    with pytest.raises(vt.DataError, match=r"V221 .*swapped.*give the ground truth first"):
        vt.coco(pred, truth)
    assert [f.code for f in vt.inspect(pred, truth).findings if f.severity == "error"] == ["V221"]


def test_what_is_not_finite_finds_nothing_and_is_found_by_nothing_where_one_goes_on():
    truth, pred = sides()
    boxes = pred.regions.values.copy()
    boxes[:, 0] = np.nan
    nowhere = replace(pred, regions=type(pred.regions)(boxes, "xyxy"))
    assert vt.coco(truth, nowhere, checks="warn").scores["AP"].value == 0
    assert vt.voc(truth, nowhere, checks="warn").scores["mAP"].value == 0
    unsure = replace(pred, confidence=np.array([np.nan, 0.5]))
    found = vt.coco(truth, unsure, checks="warn")  # one of two classes has its object found
    assert found.scores["AP"].value == pytest.approx(0.5)
    assert [f.code for f in found.findings] == ["V302"]


@pytest.mark.parametrize("side", [1e154, 1e160, 1e300])
@pytest.mark.parametrize("name", ["voc", "coco", "openimages", "imagenet_det", "localize", "partial", "analyse"])
def test_boxes_whose_areas_overflow_are_an_error_everywhere(side, name):
    """Their IoU with themselves is inf / inf: half of an AP was lost without a word where the image has no size."""
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, side, side], [10, 10, 30, 30]])
    pred = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, side, side], [10, 10, 30, 30]], confidence=[0.9, 0.8])
    metrics = ["iou"] if name == "localize" else []
    with pytest.raises(vt.DataError, match=r"V111 1 of 2 boxes has coordinates .* too large to have an area"):
        getattr(vt, name)(truth, pred, *metrics)


def test_of_boxes_whose_areas_overflow_the_others_are_evaluated():
    truth = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 1e160, 1e160], [10, 10, 30, 30]])
    pred = vt.Annotations.of(
        ["a", "a"], ["cat", "cat"], [[0, 0, 1e160, 1e160], [10, 10, 30, 30]], confidence=[0.9, 0.8]
    )
    found = vt.voc(truth, pred, checks="warn")
    assert found.findings[0].code == "V111"
    assert found["mAP"].value == pytest.approx(0.25)  # the first prediction is wrong, the second finds 1 of 2


@pytest.mark.parametrize("odd", [np.nan, np.inf, 1e160])
@pytest.mark.parametrize("pixel", ["plus1", "continuous"])
def test_boxes_that_are_no_boxes_do_not_find_each_other(odd, pixel):
    """By VOC's rules a box without a size has a pixel: those of both sides must not be put at one place."""
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, odd, odd]])
    pred = vt.Annotations.of(["a"], ["cat"], [[0, 0, odd, odd]], confidence=[0.9])
    assert vt.voc(truth, pred, checks="warn", pixel=pixel)["mAP"].value == 0
