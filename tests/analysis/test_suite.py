"""Suites of datasets: scores per dataset, macro means, requirements and what is wrong in a TOML file."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import pytest

import verite as vt
from verite.cli import run
from verite.errors import BadParameter, ReadError

ROWS = "image,label,x1,y1,x2,y2"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """One object in the first dataset, found by both; two in the second, of which `two` finds none and `one` one."""
    (tmp_path / "first.csv").write_text(f"{ROWS}\na,cat,0,0,10,10\n")
    (tmp_path / "second.csv").write_text(f"{ROWS}\na,cat,0,0,10,10\nb,cat,20,20,30,30\n")
    (tmp_path / "first-one.csv").write_text(f"{ROWS},score\na,cat,0,0,10,10,0.9\n")
    (tmp_path / "first-two.csv").write_text(f"{ROWS},score\na,cat,0,0,10,10,0.9\n")
    (tmp_path / "second-one.csv").write_text(f"{ROWS},score\na,cat,0,0,10,10,0.9\n")
    (tmp_path / "second-two.csv").write_text(f"{ROWS},score\na,cat,50,50,60,60,0.9\nb,cat,0,0,9,9,0.5\n")
    (tmp_path / "suite.toml").write_text("""
protocol = "voc"
detectors = ["one", "two"]
[datasets.first]
truth = "first.csv"
pred = "first-{detector}.csv"
[datasets.second]
truth = "second.csv"
pred = { one = "second-one.csv", two = "second-two.csv" }
settings = { iou = 0.3 }
""")
    return tmp_path


def test_datasets_have_equal_weight(home: Path) -> None:
    """mAP of one: 1 and 0.5; of two: 1 and 0."""
    found = vt.suite(home / "suite.toml")
    assert {name: own["mAP"] for name, own in found.means.items()} == {"one": 0.75, "two": 0.5}
    assert [found.value(dataset, "one") for dataset in ("first", "second")] == [1.0, 0.5]
    assert dict(found.results["second"]["one"].signature)["iou"] == "0.30"
    assert pickle.loads(pickle.dumps(found)).to_json() == found.to_json()
    assert "macro mean" in str(found)


def test_json_has_means_and_datasets(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["suite", str(home / "suite.toml"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["metric"] == "mAP"
    assert document["detectors"]["two"]["mean"] == {"mAP": 0.5}
    assert document["detectors"]["two"]["datasets"]["second"]["scores"] == {"mAP": 0.0}


@pytest.mark.parametrize(
    ("line", "status"),
    [("mAP>=0.5", 0), ("mAP>=0.6", 3), ("mAP[second]>=base-0.4", 3), ("mAP[first]>=base", 0), ("mAP[third]>=0", 1)],
)
def test_requirements_hold_for_means_and_datasets(home: Path, line: str, status: int) -> None:
    assert run(["suite", str(home / "suite.toml"), "--require", line]) in ({1, 2} if status == 1 else {status})


def test_results_and_reports_are_written(home: Path) -> None:
    assert run(["suite", str(home / "suite.toml"), "-o", str(home / "out"), "--reports", "-q"]) == 0
    assert {path.name for path in (home / "out").iterdir()} == {"suite.json", "suite.csv", "first.html", "second.html"}
    assert run(["suite", str(home / "suite.toml"), "--reports"]) == 2


def test_reports_of_protocols_without_matches_are_refused_at_once(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = home / "suite.toml"
    path.write_text(path.read_text().replace('protocol = "voc"', 'protocol = "oc-cost"').replace("{ iou = 0.3 }", "{}"))
    assert run(["suite", str(path), "-o", str(home / "out")]) == 0
    assert run(["suite", str(path), "-o", str(home / "more"), "--reports"]) == 2
    assert "found oc-cost (first)" in capsys.readouterr().err
    assert not (home / "more").exists()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("truth =", "trth =", "did you mean 'truth'"),
        ('protocol = "voc"', 'protocol = "vok"', "did you mean 'voc'"),
        ('protocol = "voc"', "protocol", "a suite in TOML"),
        ("detectors =", "detector =", "did you mean 'detectors'"),
        ('detectors = ["one", "two"]', "", "detectors = "),
        ("two = ", "three = ", "the detectors one, two in every dataset"),
        ("{ one = ", "{ one = 3, four = ", "pred"),
        ('"first.csv"', '"nowhere.csv"', "nowhere.csv"),
    ],
)
def test_what_is_wrong_is_said(home: Path, old: str, new: str, words: str) -> None:
    path = home / "suite.toml"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ReadError, match=words):
        vt.suite(path)


def test_an_unknown_score_or_setting_is_refused(home: Path) -> None:
    path = home / "suite.toml"
    text = path.read_text()
    path.write_text('metric = "mAX"\n' + text)
    with pytest.raises(BadParameter, match="did you mean 'mAP'"):
        vt.suite(path)
    path.write_text(text.replace("iou = 0.3", "io = 0.3"))
    with pytest.raises(BadParameter, match="iou"):
        vt.suite(path)


def test_a_suite_without_datasets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "suite.toml").write_text("[datasets]\n")
    with pytest.raises(ReadError, match=r"datasets\.NAME"):
        vt.suite(tmp_path / "suite.toml")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("settings = 5", "a table for settings, found 5"),
        ("metric = 5", "a text for metric, found 5"),
        ("name = []", "a text for name"),
        ("x = " + "[" * 5000, "nested too deeply"),
        ("x = " + "9" * 5000, "a suite in TOML"),
        ("settings = { truth = 1 }", "'truth', which the suite sets"),
        ("settings = { name = 'x' }", "'name', which the suite sets"),
    ],
)
def test_values_of_another_type_are_named(home: Path, line: str, words: str) -> None:
    path = home / "suite.toml"
    path.write_text(f"{line}\n{path.read_text()}")
    with pytest.raises(ReadError, match=words):
        vt.suite(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [('"voc"', "[]"), ('["one", "two"]', "5"), ('["one", "two"]', '["one", [2]]'), ("{ iou = 0.3 }", "[1]")],
)
def test_values_of_another_type_in_the_place_of_good_ones_are_refused(home: Path, old: str, new: str) -> None:
    path = home / "suite.toml"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(ReadError, match=r"expected .*, found"):
        vt.suite(path)


def test_findings_of_the_checks_are_printed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ninety predictions between 0.3 and 0.75 were cut at a threshold, which lowers AP."""
    rows = [f"a,cat,0,{i},10,{i + 10},{0.3 + i / 200}" for i in range(90)]
    (home / "first-one.csv").write_text("\n".join([f"{ROWS},score", *rows]) + "\n")
    assert run(["suite", str(home / "suite.toml")]) == 0
    said = capsys.readouterr()
    assert "V308" in said.err
    assert "first-one.csv" in said.err
    assert "first: V308 one: no prediction has a confidence below 0.3" in said.out


def test_a_suite_is_read_as_every_other_file(home: Path, tmp_path: Path) -> None:
    """A mark of byte order is none of its characters, and a pipe, which might never end, is refused at once."""
    path = home / "suite.toml"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert "second" in str(vt.suite(path))
    os.mkfifo(tmp_path / "pipe.toml")
    with pytest.raises(ReadError, match="expected a file, found a pipe"):
        vt.suite(tmp_path / "pipe.toml")
