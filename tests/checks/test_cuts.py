"""Ties, thresholds and limits: what a file of predictions lost before, or loses when it is evaluated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import verite as vt
from tests.checks.boundary import boundary
from verite.checks import examine
from verite.checks import predictions as ties

RESULTS = Path(__file__).parents[3] / "shared/real/coco_val2017/results"


def preds(confidence, image=None, label=None, boxes=None):
    count = len(confidence)
    boxes = [[10 + i, 10, 60 + i, 60] for i in range(count)] if boxes is None else boxes
    return vt.Annotations.of(
        image or [f"{i}.jpg" for i in range(count)], label or ["cat"] * count, boxes, confidence=confidence
    )


def codes(*sides):
    return {f.code: f for f in vt.inspect(*sides).findings}


@boundary("cuts.MOST")
def test_the_hundred_and_first_prediction_of_a_class_in_an_image_counts_for_nothing():
    full = preds(np.linspace(0, 1, 101), ["a.jpg"] * 101)
    assert codes(full)["V307"].count == 1
    assert codes(full)["V307"].examples == ("a.jpg: 101 of cat",)
    assert "V307" not in codes(preds(np.linspace(0, 1, 100), ["a.jpg"] * 100))
    assert "V307" not in codes(preds(np.linspace(0, 1, 200), ["a.jpg"] * 200, ["cat", "dog"] * 100))


@boundary("cuts.LOWEST", "cuts.FEWEST")
def test_a_lowest_confidence_above_a_twentieth_is_a_threshold():
    # A default threshold of 0.05 leaves a lowest confidence just above it: 0.05004 and 0.0519 in two real files.
    assert "V308" not in codes(preds(np.linspace(0.0519, 0.9, 20)))
    assert "V308" not in codes(preds(np.linspace(0.055, 0.9, 20)))
    assert codes(preds(np.linspace(0.0551, 0.9, 20)))["V308"].severity == "note"
    assert "V308" not in codes(preds(np.linspace(0.0551, 0.9, 19)))
    assert "V308" not in codes(preds(np.linspace(5, 90, 30)))  # percents
    assert "V308" not in codes(preds(np.full(30, 0.7)))  # nothing was ordered


@boundary("AnomalyRules.cut_above", "AnomalyRules.edge", "AnomalyRules.fewest_at_edge")
def test_confidences_that_end_in_an_edge_were_cut_at_a_threshold():
    def severity(*confidences):
        return getattr(codes(preds(np.concatenate(confidences))).get("V308"), "severity", None)

    # Windows of a fifth of 0.3: ten predictions from 0.3 to 0.36, as many to 0.42, and others.
    others = np.linspace(0.5, 0.9, 20)
    assert severity(np.linspace(0.3, 0.359, 10), np.linspace(0.361, 0.419, 10), others) == "warning"
    assert severity(np.linspace(0.3, 0.359, 9), np.linspace(0.361, 0.419, 10), others) == "note"  # too few
    assert severity(np.linspace(0.3, 0.359, 10), np.linspace(0.361, 0.419, 20), others) == "warning"
    assert severity(np.linspace(0.3, 0.359, 10), np.linspace(0.361, 0.419, 21), others) == "note"  # thins out
    # The default threshold of 0.05 of many tools is no cut; from 0.1 on it is.
    assert severity(np.linspace(0.0999, 0.11, 20), others) == "note"
    assert severity(np.linspace(0.1, 0.11, 20), others) == "warning"


def test_a_cut_is_named_with_its_lowest_confidence_wherever_ap_is_printed():
    pred = preds(np.linspace(0.3, 0.99, 200))
    truth = vt.Annotations.of([f"{i}.jpg" for i in range(200)], ["cat"] * 200, pred.regions.boxes)
    for results in (vt.coco(truth, pred), vt.voc(truth, pred)):
        found = {finding.code: finding for finding in results.findings}["V308"]
        assert "0.3" in found.message
        assert "0.001 to 0.05" in found.fix
    assert not vt.coco(truth, preds(np.linspace(0.01, 0.99, 200))).findings


@pytest.mark.skipif(not RESULTS.is_dir(), reason=f"no real detectors in {RESULTS}")
@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.json.gz")), ids=lambda file: file.name.split(".")[0])
def test_the_files_of_real_detectors_were_cut_at_three_tenths(file):
    found = [f for f in examine(vt.read(file), is_truth=False) if f.code == "V308"]
    assert [f.severity for f in found] == ["warning"]
    assert " 0.3" in found[0].message


def tied(values):
    """Two objects; two predictions find them, two are elsewhere."""
    boxes = [[10, 10, 60, 60], [10, 10, 60, 60], [200, 10, 260, 60], [200, 10, 260, 60]]
    truth = vt.Annotations.of(["a", "b"], ["cat", "cat"], boxes[:2])
    return truth, preds(values, ["a", "b", "a", "b"], boxes=boxes)


def test_ties_come_with_the_interval_of_ap():
    # The right ones first: precision 1 throughout. The wrong ones first: two of four are right when all are found.
    found = codes(*tied([0.5] * 4))["V305"]
    assert (found.severity, found.count) == ("warning", 4)
    assert "AP50 lies between 0.5000 and 1.0000" in found.message
    assert found.examples == ("4 of class cat have 0.5",)


def test_ties_among_right_ones_change_nothing():
    assert "V305" not in codes(*tied([0.5, 0.5, 0.4, 0.3]))


def test_ties_are_found_beside_an_image_that_the_truth_lacks():
    truth, _ = tied([0.5] * 4)
    boxes = [[10, 10, 60, 60]] * 2 + [[200, 10, 260, 60]] * 2 + [[10, 10, 60, 60]]
    found = codes(truth, preds([0.5] * 5, ["a", "b", "a", "b", "elsewhere"], boxes=boxes))
    assert "AP50 lies between 0.5000 and 1.0000" in found["V305"].message
    assert found["V213"].severity == "error"


def test_a_check_whose_evaluation_is_refused_does_not_end_the_others(monkeypatch):
    def refuse(*sides, **settings):
        raise vt.DataError("truth: refused")

    monkeypatch.setattr(ties, "tie_range", refuse)
    found = codes(*tied([0.5] * 4))
    assert (found["V305"].severity, found["V305"].message) == ("note", "not checked: truth: refused")


def test_more_than_a_tenth_must_be_tied():
    count = 20
    boxes = [[10, 10, 60, 60]] * 10 + [[200, 10, 260, 60]] * 10
    names = [f"{i}.jpg" for i in range(10)]
    truth = vt.Annotations.of(names, ["cat"] * 10, boxes[:10])
    confidence = np.linspace(0.9, 0.1, count)
    confidence[9] = confidence[10]
    assert ties.count_ties(preds(confidence))[0] == 2
    assert "V305" not in codes(truth, preds(confidence, names * 2, boxes=boxes))  # two of twenty are a tenth
    confidence[8] = confidence[10]
    assert "V305" in codes(truth, preds(confidence, names * 2, boxes=boxes))


@pytest.mark.parametrize(("apart", "is_said"), [(0.499, True), (0.5, True), (0.501, False)])
def test_the_order_must_change_something(monkeypatch, apart, is_said):
    monkeypatch.setattr(ties, "APART", apart)
    assert ("V305" in codes(*tied([0.5] * 4))) == is_said


def test_a_cut_is_printed_with_every_ap():
    boxes = [[10 + i, 10, 60 + i, 60] for i in range(200)]
    truth = vt.Annotations.of([f"{i}.jpg" for i in range(200)], ["cat"] * 200, boxes)
    cut, whole = preds(np.linspace(0.3, 0.99, 200)), preds(np.linspace(0.01, 0.99, 200))
    printed = {
        "coco": vt.coco(truth, cut),
        "voc": vt.voc(truth, cut),
        "openimages": vt.openimages(truth, cut),
        "imagenet-det": vt.imagenet_det(truth, cut),
        "analyse": vt.analyse(truth, cut),
        "compare": vt.coco(truth, {"cut": cut, "whole": whole}),
        "leaderboard": vt.leaderboard(truth, {"cut": cut, "whole": whole}, draws=20),
    }
    lines = {key: [line for line in str(one).splitlines() if "V308" in line] for key, one in printed.items()}
    assert {key: len(said) for key, said in lines.items()} == dict.fromkeys(printed, 1)
    assert all(" 0.3," in said[0] for said in lines.values())
    for several in ("compare", "leaderboard"):
        assert "V308 cut:" in lines[several][0]
    assert "V308" not in str(vt.coco(truth, whole))
