"""Requirements say what they ask for, and are met or not."""

from __future__ import annotations

from math import nan

import pytest

import verite as vt
from verite.analysis.gate import Requirement, Saved, SavedComparison, read_saved
from verite.evaluation.settings import validate_threshold
from verite.signature import Signature


def measured(ap=0.5, person=0.6, name="new"):
    scores, classes = {"AP": ap, "AP50": 0.8}, {"person": {"AP": person}, "a]b": {"AP": 0.1}}
    return Saved(name, Signature.of("coco", on="box"), "digest", scores, {"AP@0.50": 0.8}, classes)


@pytest.mark.parametrize(
    ("text", "is_met"),
    [
        ("AP>=0.5", True), ("AP > 0.5", False), ("AP<=0.5", True), ("AP<.5", False), ("AP>=5e-1", True),
        ("AP@0.50>=0.8", True), ("AP[person]>=0.6", True), ("AP[person]>=0.61", False), ("AP[a]b]>=0.2", False),
        ("AP>=base", False), ("AP>=base-0.01", False), ("AP>=base-0.02", True), ("AP >= base - 0.02", True),
        ("AP<=base+0", True), ("AP[person]>=base", True), ("AP>=-1", True),
    ],
)  # fmt: skip
def test_requirements_hold_or_not(text, is_met):
    # The base has AP 0.515 and AP[person] 0.6, the new one 0.5 and 0.6.
    verdict = Requirement.parse(text).judge(measured(), measured(0.515, name="base"))
    assert verdict.is_met is is_met
    assert verdict.line.startswith("met: " if is_met else "not met: ")


def test_line_says_what_was_missing():
    verdict = Requirement.parse("AP>=base-0.005").judge(measured(), measured(0.6))
    assert verdict.line == "not met: AP>=base-0.005: found AP 0.5000, expected >= 0.5950 (base 0.6000)"


@pytest.mark.parametrize("sign", [">=", "<=", ">", "<"])
def test_absent_score_meets_nothing(sign):
    assert not Requirement.parse(f"AP{sign}0.5").judge(measured(nan)).is_met
    assert not Requirement.parse(f"AP{sign}base").judge(measured(), measured(nan)).is_met


@pytest.mark.parametrize(
    "text", ["AP", "AP=0.5", "AP>=", ">=0.5", "AP>=base*2", "AP>=best", "AP>=0.5.1", "", "AP[x>=1"]
)
def test_nonsense_is_refused(text):
    with pytest.raises(vt.BadParameter, match="require: expected a line such as"):
        Requirement.parse(text)


def test_unknown_scores_and_classes_are_refused_with_a_suggestion():
    with pytest.raises(vt.BadParameter, match="expected one of AP, AP50, found 'AP5'; did you mean 'AP50'"):
        Requirement.parse("AP5>=0.5").judge(measured())
    with pytest.raises(vt.BadParameter, match="did you mean 'person'"):
        Requirement.parse("AP[persn]>=0.5").judge(measured())
    with pytest.raises(vt.BadParameter, match="name it with base="):
        Requirement.parse("AP>=base").judge(measured())


@pytest.mark.parametrize(
    ("interval", "is_met"),
    [((-0.2, -0.06), False), ((-0.2, -0.05), True), ((-0.2, 0.1), True), ((nan, nan), True), ((0.0, 0.1), True)],
)
def test_a_difference_fails_only_if_all_of_its_interval_misses(interval, is_met):
    requirement = Requirement.parse("AP>=base-0.05")
    assert requirement.judge(measured(0.4), measured(0.5), lambda score, label: interval).is_met is is_met


def test_of_errors_the_other_end_of_the_interval_counts():
    requirement = Requirement.parse("AP<=base")
    assert not requirement.judge(measured(0.6), measured(0.5), lambda score, label: (0.01, 0.2)).is_met
    assert requirement.judge(measured(0.6), measured(0.5), lambda score, label: (-0.01, 0.2)).is_met


@pytest.fixture
def pair():
    truth = vt.Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 9, 9], [20, 20, 29, 29]])
    return truth, vt.Annotations.of(["a"], ["cat"], [[0, 0, 9, 9]], confidence=[0.9])


@pytest.mark.parametrize("protocol", ["voc", "coco", "openimages", "imagenet_loc", "imagenet_det", "scene_score"])
def test_saved_results_have_the_scores_of_the_results(pair, protocol, tmp_path):
    results = getattr(vt, protocol)(*pair, checks="off")
    (tmp_path / "saved.json").write_text(results.to_json())
    saved = read_saved(tmp_path / "saved.json")
    for key, score in results.scores.items():
        assert saved.scores[key] == pytest.approx(score.value, nan_ok=True)
    assert saved.signature == results.signature
    assert not SavedComparison(saved, Saved.of(results)).fallen()


def test_several_thresholds_have_names_of_their_own(pair):
    saved = Saved.of(vt.voc(*pair, iou=[0.5, 0.75], checks="off"))
    assert saved.thresholds == {"mAP@0.50": 0.5, "mAP@0.75": 0.5}


def test_metrics_are_saved_as_their_means(pair):
    saved = Saved.of(vt.localize(*pair, "iou", checks="off"))
    assert saved.scores["iou"] == 1.0
    assert saved.classes["cat"]["iou"] == 1.0


def test_what_was_measured_differently_does_not_compare(pair):
    one, two = (Saved.of(vt.voc(*pair, iou=iou, checks="off")) for iou in (0.5, 0.75))
    with pytest.raises(vt.NotComparable, match=r"found different iou \(0.50 / 0.75\)"):
        SavedComparison(one, two)
    other = Saved.of(vt.voc(pair[0].take([0]), pair[1], checks="off"))
    with pytest.raises(vt.NotComparable, match="expected the same truth"):
        SavedComparison(one, other)


@pytest.mark.parametrize(
    "text", ["{}", "[]", "nonsense", '{"signature": 1}', '{"systems": {"a": {}, "b": {}}}', "1", ""]
)
def test_other_documents_are_refused_in_one_line(text, tmp_path):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(vt.ReadError, match=r"x\.json(:1)?: expected"):
        read_saved(tmp_path / "x.json")


DEEP = "[" * 100_000 + "]" * 100_000
SAVED = '{"name": "a", "signature": "coco", "truth": {"digest": "d"}, '


@pytest.mark.parametrize(
    "text",
    [DEEP, "", "5", "[]", "\ufeff{", '{"systems": 5}', SAVED.replace('"a"', "null") + '"AP": 0.5}',
     SAVED.replace('"d"', "7") + '"AP": 0.5}', SAVED + '"classes": []}', SAVED + '"metrics": {"a": {"mean": "x"}}}',
     SAVED + '"metrics": {"a": {"mean": 1' + "0" * 400 + "}}}", SAVED + '"AP": 1' + "0" * 5000 + "}",
     SAVED + '"thresholds": [{"iou": 1' + "0" * 400 + ', "AP": 0.5}]}'],
)  # fmt: skip
def test_a_file_that_no_run_saved_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(vt.ReadError, match=r"a\.json"):
        read_saved(tmp_path / "a.json")


@pytest.mark.parametrize("text", [DEEP, "[1]", '{"cat": 1' + "0" * 400 + "}", '{"cat": NaN}', '{"cat": []}', "\udcff"])
def test_odd_confidences_by_label_are_refused(tmp_path, text):
    (tmp_path / "a.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(vt.VeriteError, match=r"a\.json"):
        validate_threshold(tmp_path / "a.json")
