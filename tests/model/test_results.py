"""Results print, save and compare; what does not compare says why."""

from __future__ import annotations

import csv
import io
import json
import math
import pickle

import numpy as np
import pytest

import verite as vt
from verite.model.tables import Table


@pytest.fixture
def truth():
    return vt.Annotations.of(["a", "a", "b"], ["cat", "dog", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29], [0, 0, 9, 9]])


@pytest.fixture
def pred():
    return vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [50, 0, 59, 9]], confidence=[0.9, 0.8])


def test_results_print_as_a_table(truth, pred):
    text = str(vt.voc(truth, pred, name="mine"))
    assert text.splitlines()[0] == "mine   mAP 0.2500"
    assert "cat    0.5000       2   1   1" in text
    assert (
        text.splitlines()[-1]
        == "settings: voc_ap|on:box|iou:0.50|interpolation:all|pixel:plus1|ties:stable|ignored:skip|quirks:none|rev:1"
    )


def test_a_score_is_a_float_with_a_short_repr(truth, pred):
    score = vt.voc(truth, pred)["mAP"]
    assert repr(score) == "Score('mAP', 0.25)"
    assert score == 0.25
    assert 0.2 < score < 0.3
    assert (f"{score:.3f}", round(score, 1), score + 1) == ("0.250", 0.2, 1.25)
    assert np.array([score]).dtype == np.float64
    assert json.dumps({"mAP": score}) == '{"mAP": 0.25}'
    assert str(score) == f"mAP = 0.2500  [{score.signature}]"
    again = pickle.loads(pickle.dumps(score))
    assert (again, again.name, again.signature) == (score, "mAP", score.signature)


def test_json_has_the_documented_keys(truth, pred):
    document = json.loads(vt.voc(truth, pred).to_json())
    assert {"protocol", "signature", "mAP", "classes", "version", "truth", "pred", "findings"} <= set(document)
    assert document["protocol"] == "voc"
    assert document["mAP"] == 0.25
    cat = document["classes"]["cat"]
    assert {k: cat[k] for k in ("AP", "truths", "tp", "fp")} == {"AP": 0.5, "truths": 2, "tp": 1, "fp": 1}
    assert document["truth"]["digest"] == truth.digest


def test_csv_has_a_row_per_class_and_full_precision(truth, pred):
    rows = list(csv.reader(io.StringIO(vt.voc(truth, pred).to_csv())))
    assert rows[0] == ["class", "AP", "truths", "TP", "FP", "best F1", "at confidence"]
    assert rows[1][:5] == ["cat", "0.5", "2", "1", "1"]
    assert rows[2][0] == "dog"
    assert rows[3][:3] == ["all", "0.25", "3"]


def test_score_carries_signature_version_and_digests(truth, pred):
    score = vt.voc(truth, pred).scores["mAP"]
    assert float(score) == 0.25
    assert (score.version, score.truth_digest) == (vt.__version__, truth.digest)
    assert score.signature.name == "voc_ap"
    assert len(score.pred_digest) == 16


def test_two_runs_compare_side_by_side(truth, pred):
    better = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9]] * 2, confidence=[0.9, 0.8])
    comparison = vt.compare(vt.voc(truth, pred, name="old"), vt.voc(truth, better, name="new"))
    assert comparison.table().head == ("class", "old", "new", "difference")
    assert comparison.table().rows[0] == ("cat", 0.5, 1.0, 0.5)
    assert comparison.table().mean == ("all", 0.25, 0.5, 0.25)
    assert set(json.loads(comparison.to_json())["systems"]) == {"old", "new"}


def test_many_systems_are_rows_with_places(truth, pred):
    worse = pred.take([1])
    results = [vt.voc(truth, pred if i % 2 else worse, name=f"system {i}") for i in range(30)]
    comparison = vt.compare(*results)
    table = comparison.standing_table()
    assert table.head == ("system", "place", "mAP")
    # Half of them find one cat of two and no dog, the others nothing: 15 share the first place, 15 the sixteenth.
    assert [row[1:] for row in table.rows] == [("1=", 0.25)] * 15 + [("16=", 0.0)] * 15
    assert [row[0] for row in table.rows[:2]] == ["system 1", "system 3"]
    assert max(map(len, str(comparison).splitlines()[:-1])) < 80


def test_fewer_errors_are_better():
    truth = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]])
    right = vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])
    wrong = vt.Annotations.of(["a"], ["dog"], [[0, 0, 9, 9]], confidence=[0.9], labels=["cat", "dog"])
    results = [vt.imagenet_loc(truth, p, name=n, checks="off") for p, n in ((wrong, "wrong"), (right, "right"))]
    assert [row[:2] for row in vt.compare(*results).standing_table().rows] == [("right", "1"), ("wrong", "2")]


def test_comparison_as_csv_has_the_overall_row(truth, pred):
    rows = list(
        csv.reader(io.StringIO(vt.compare(vt.voc(truth, pred, name="a"), vt.voc(truth, pred, name="b")).to_csv()))
    )
    assert rows[-1] == ["all", "0.25", "0.25", "0.0"]


def test_a_score_is_found_by_its_name(truth, pred):
    results = vt.voc(truth, pred)
    assert float(results["mAP"]) == 0.25
    assert list(results) == ["mAP"]
    with pytest.raises(vt.UnknownMetric, match="expected one of mAP, found 'map'; did you mean 'mAP'"):
        results["map"]


def test_different_settings_do_not_compare(truth, pred):
    with pytest.raises(vt.NotComparable, match=r"iou \(0.50 / 0.75\), pixel \(plus1 / continuous\)"):
        vt.compare(vt.voc(truth, pred), vt.voc(truth, pred, iou=0.75, pixel="continuous"))


def test_different_truths_do_not_compare(truth, pred):
    other = truth.take([0, 1])
    with pytest.raises(vt.NotComparable, match="expected the same truth"):
        vt.compare(vt.voc(truth, pred), vt.voc(other, pred, checks="off"))


def test_equal_truths_read_twice_compare(truth, pred):
    again = vt.Annotations.of(["a", "a", "b"], ["cat", "dog", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29], [0, 0, 9, 9]])
    assert len(vt.compare(vt.voc(truth, pred), vt.voc(again, pred)).results) == 2


def test_systems_of_the_same_name_are_told_apart(truth, pred):
    assert vt.compare(*[vt.voc(truth, pred, name="x")] * 3).names == ["x", "x (2)", "x (3)"]


def test_absent_values_are_dashes_for_people_and_empty_for_programs():
    table = Table.of("class", ["cat"], {"AP": [math.nan]})
    assert str(table).splitlines()[-1] == "cat     –"
    assert table.to_csv().splitlines()[-1] == "cat,"


def test_comparing_nothing_is_refused():
    with pytest.raises(vt.BadParameter, match="at least one"):
        vt.compare()


def test_a_notebook_shows_the_worst_classes_first():
    boxes = [[0, 0, 10, 10], [20, 20, 30, 30], [40, 40, 50, 50]]
    truth = vt.Annotations.of(["a"] * 3, ["cat", "dog", "cow"], boxes)
    pred = vt.Annotations.of(["a"], ["cat"], boxes[:1], confidence=[0.9])
    shown = vt.voc(truth, pred, checks="off")._repr_html_()
    assert shown.index("dog") < shown.index("cat")
    assert shown.index("cow") < shown.index("cat")
