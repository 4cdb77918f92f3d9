"""Which conventions give a number that another tool printed? Worked by hand on two cats."""

from __future__ import annotations

import json
from math import nan
from typing import Any

import pytest

import verite as vt
from verite.analysis.explain import PrintedNumber, conventions
from verite.cli import run
from verite.errors import BadParameter
from verite.protocols import HOMES, protocol_named

# One of two is found: precision 1 up to a recall of 1/2. All points: 1/2. Eleven points: 6/11. COCO: 51/101.
TRUTH = vt.Annotations.of(["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [20, 20, 29, 29]], sizes={"a": (60, 60)})
PRED = vt.Annotations.of(
    ["a", "a"], ["cat", "cat"], [[0, 0, 9, 9], [40, 40, 49, 49]], confidence=[0.5, 0.9], sizes={"a": (60, 60)}
)
ALONE = PRED.take([0])


def test_eleven_points_are_recognised() -> None:
    found = vt.explain(TRUTH, ALONE, "0.5455", protocols=["voc"])
    assert [(a.verb, a.changes) for a in found.reached] == [("voc", (("interpolation", "11"),))]
    assert found.attempts[0].scores["mAP"] == pytest.approx(6 / 11)
    assert found.verdict() == "0.5455: to the printed digits by voc: interpolation 11"


def test_the_default_needs_no_change() -> None:
    found = vt.explain(TRUTH, ALONE, 0.505)
    assert found.attempts[0].words == "as it is"
    assert found.attempts[0].verb == "coco"


def test_two_conventions_are_tried_where_one_is_not_enough() -> None:
    """The surer prediction is false, so that precision is 1/2 where it was 1; no floor drops it alone."""
    expected = 6 / 11 / 2
    found = vt.explain(TRUTH, PRED, f"{expected:.4f}", protocols=["voc"])
    assert found.reached[0].changes == (("interpolation", "11"),)
    other = vt.explain(TRUTH, PRED, "0.5455", protocols=["voc"])
    assert not other.reached
    assert any(len(attempt.changes) == 2 for attempt in other.attempts)
    assert "nothing that was tried gives it" in other.verdict()


def test_several_numbers_narrow_it_down() -> None:
    assert vt.explain(TRUTH, ALONE, "AP=0.505", "AP50=0.505", protocols=["coco"]).reached
    assert not vt.explain(TRUTH, ALONE, "AP=0.505", "AP50=0.9", protocols=["coco"]).reached


@pytest.mark.parametrize(
    ("text", "value", "tolerance"), [("0.5", 0.5, 0.05), ("52.3", 0.523, 0.0005), ("AP50=0.721", 0.721, 0.0005)]
)
def test_a_printed_number_says_how_exact_it_is(text: str, value: float, tolerance: float) -> None:
    number = PrintedNumber.of(text)
    assert (number.value, number.tolerance) == (value, pytest.approx(tolerance))


@pytest.mark.parametrize("text", ["half", "-0.1", "120", "AP50="])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="number: expected"):
        PrintedNumber.of(text)


@pytest.mark.parametrize("verb", HOMES)
def test_every_protocol_has_conventions_from_its_settings(verb: str) -> None:
    declared = protocol_named(verb).settings.declared
    assert all(declared[name].is_signed for name, _ in conventions(protocol_named(verb)))


def test_each_command_prints_its_numbers(tmp_path: Any, capsys: Any) -> None:
    vt.write(TRUTH, tmp_path / "truth.json", "coco")
    vt.write(PRED.like(vt.read(tmp_path / "truth.json")), tmp_path / "pred.json", "coco-results")
    words = ["explain", str(tmp_path / "truth.json"), str(tmp_path / "pred.json"), "--number", "AP=0.333", "--json"]
    assert run(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"numbers", "reached", "attempts", "chain", "findings"} == set(document)
    distances = [attempt["distance"] for attempt in document["attempts"]]
    assert distances == sorted(distances)
    for attempt in document["attempts"][:5]:
        assert run([*attempt["command"].split()[1:], "--json", "--checks", "off"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed["signature"] == attempt["signature"]
        assert {key: printed[key] for key in attempt["scores"]} == attempt["scores"]


def test_an_unknown_protocol_is_named() -> None:
    with pytest.raises(BadParameter, match=r"protocols: expected voc, coco, .* found 'cocoa'"):
        vt.explain(TRUTH, PRED, 0.5, protocols=["cocoa"])


def test_a_score_that_nobody_has_is_named() -> None:
    with pytest.raises(BadParameter, match=r"number: expected scores that are there, such as mAP, found AP99=0\.5"):
        vt.explain(TRUTH, PRED, "AP99=0.5", protocols=["voc"])


def test_data_that_look_wrong_are_told_before_anything_is_explained():
    truth = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [0, 0, 9, 9]])
    pred = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 9, 9], [0, 0, 9, 9]], confidence=[nan, nan])
    with pytest.raises(vt.DataError, match="V302"):
        vt.explain(truth, pred, 0.5)
    warned = vt.explain(truth, pred, 0.5, protocols=["voc"], checks="warn")
    assert "V302" in {finding.code for finding in warned.findings}
    assert "V302" in {finding["code"] for finding in warned.to_dict()["findings"]}
