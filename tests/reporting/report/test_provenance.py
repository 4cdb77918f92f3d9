"""Deviations from other tools that apply to a report are stated under names that the documentation has."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.reporting.report.pages import SYSTEMS, TRUTH, Text
from verite.reporting.report.sections.provenance import DEVIATIONS

DOCS = Path(__file__).parents[3] / "docs" / "explanation" / "deviations.md"


def deviations_of(truth, pred, home, **settings):
    made = vt.report(truth, pred, home / "a.html", pictures="none", checks="off", **settings)
    return {one["name"]: one["said"] for one in vt.read_report(made)["systems"][0]["deviations"]}


@pytest.mark.parametrize("name", [one.name for one in DEVIATIONS])
def test_every_deviation_is_in_the_documentation(name):
    assert f"\n| {name} |" in DOCS.read_text()


def test_valid_files_have_only_the_deviations_of_the_analysis(tmp_path):
    found = deviations_of(TRUTH, SYSTEMS["hawk"], tmp_path)
    assert set(found) == {
        "tide-adds-up",
        "lrp-equal-confidences",
        "confusion-same-label-first",
        "best-f1-exists",
    }
    assert "tide-adds-up : costs of error types" in Text((tmp_path / "a.html").read_text()).text.replace("  ", " ")


def test_classes_without_ground_truth_are_counted(tmp_path):
    box = [[0, 0, 10, 10]]
    truth = vt.Annotations.of(["a.png"], ["cat"], box, labels=["cat", "dog", "cow"])
    pred = vt.Annotations.of(
        ["a.png"] * 3, ["cat", "dog", "cow"], box * 3, labels=["cat", "dog", "cow"], confidence=[0.9, 0.8, 0.7]
    )
    assert deviations_of(truth, pred, tmp_path)["class-without-truths"].startswith(
        "2\u00a0classes without ground truth"
    )


def test_ids_that_pycocotools_mishandles_are_stated_unless_emulated(tmp_path):
    file = json.loads(TRUTH.read_text())
    for k in (0, 1):
        file["annotations"][k]["id"] = 0
    (tmp_path / "truth.json").write_text(json.dumps(file))
    names = {"truth-id-zero", "repeated-truth-ids"}
    assert names <= set(deviations_of(tmp_path / "truth.json", SYSTEMS["hawk"], tmp_path))
    assert not names & set(deviations_of(tmp_path / "truth.json", SYSTEMS["hawk"], tmp_path, quirks="pycocotools"))


def test_an_empty_list_of_predictions_is_stated(tmp_path):
    none = vt.Annotations.of([], [], np.zeros((0, 4)), confidence=np.zeros(0))
    assert "no-results" in deviations_of(TRUTH, none, tmp_path)
