"""`--json`: one shape for one and several detectors, errors as documents; `--strict`; lists with commas."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

import verite as vt
from verite.cli import run
from verite.cli.options import ListOf

DEMO = Path(str(files("verite") / "data" / "demo"))
TRUTH, HAWK, MOLE = (str(DEMO / f"{name}.json") for name in ("truth", "hawk", "mole"))


def printed(capsys, *words):
    status = run([*words, "--json"])
    out = capsys.readouterr().out
    return status, json.loads(out)


@pytest.mark.parametrize(
    "words",
    [
        ["coco", TRUTH, HAWK],
        ["coco", TRUTH, HAWK, MOLE],
        ["voc", TRUTH, HAWK],
        ["f1", TRUTH, HAWK, "--confidence", "0.5"],
        ["analyse", TRUTH, HAWK, "--only", "errors"],
        ["localize", TRUTH, HAWK, "-m", "iou"],
        ["inspect", TRUTH, HAWK],
        ["metrics", "dice"],
        ["class-distance", "voc"],
        ["rank", str(DEMO.parent / "ranking" / "table2.csv"), "--epsilon", "0.1"],
    ],
    ids=lambda words: " ".join(words[:1]),
)
def test_every_document_has_the_schema_number_first(capsys, words):
    status, document = printed(capsys, *words)
    assert status == 0
    assert next(iter(document.items())) == ("schema", 2)


@pytest.mark.parametrize("words", [["coco"], ["voc"], ["analyse", "--only", "errors"], ["localize", "-m", "iou"]])
def test_one_detector_has_the_shape_of_several_and_its_own_keys_besides(capsys, words):
    verb, *options = words
    _, one = printed(capsys, verb, TRUTH, HAWK, *options)
    _, two = printed(capsys, verb, TRUTH, HAWK, MOLE, *options)
    assert set(one["systems"]) == {"hawk"}
    assert set(two["systems"]) == {"hawk", "mole"}
    assert one["systems"]["hawk"] == two["systems"]["hawk"]
    assert {key: value for key, value in one.items() if key not in ("schema", "systems")} == one["systems"]["hawk"]


def test_saved_documents_are_the_printed_ones(capsys, tmp_path):
    _, document = printed(capsys, "coco", TRUTH, HAWK, "--save", str(tmp_path / "a.json"))
    assert json.loads((tmp_path / "a.json").read_text()) == document


def test_thresholds_of_an_analysis_are_confidences_by_class_and_nothing_else(tmp_path):
    assert run(["analyse", TRUTH, HAWK, "--only", "operating", "-q", "--no-plot", "-o", str(tmp_path / "a")]) == 0
    thresholds = json.loads((tmp_path / "a" / "thresholds.json").read_text())
    assert set(thresholds) <= {category["name"] for category in json.loads(Path(TRUTH).read_text())["categories"]}


def test_errors_of_files_are_documents_too(capsys):
    status, document = printed(capsys, "coco", TRUTH, "absent.json")
    error = document["error"]
    assert (status, document["schema"], error["status"], error["type"]) == (1, 2, 1, "ReadError")
    assert error["where"] == "absent.json"
    assert error["message"].startswith("absent.json: expected a file or folder, found nothing")


def test_errors_of_checks_list_their_findings(capsys):
    status, document = printed(capsys, "coco", TRUTH, HAWK, "--pred-boxes", "xyxy")
    assert (status, document["error"]["type"]) == (1, "DataError")
    (finding,) = document["error"]["findings"]
    assert (finding["code"], finding["options"]) == ("V101", "--pred-boxes xywh")


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["coco", TRUTH, HAWK, "--colour"], "UsageError"),
        (["coco", TRUTH], "UsageError"),
        (["coco", TRUTH, HAWK, "--iou", "2"], "BadParameter"),
        (["localize", TRUTH, HAWK, "-m", "ious"], "UnknownMetric"),
    ],
)
def test_errors_of_the_command_are_documents_with_status_two(capsys, words, kind):
    status, document = printed(capsys, *words)
    assert (status, document["error"]["status"], document["error"]["type"]) == (2, 2, kind)


def test_without_json_an_error_prints_nothing_on_standard_output(capsys):
    assert run(["coco", TRUTH, "absent.json"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert [line.partition(":")[0] for line in said.err.splitlines()] == ["truth", "  read as COCO JSON", "verite"]


def test_a_requirement_that_is_not_met_leaves_one_document(capsys):
    status, document = printed(capsys, "coco", TRUTH, HAWK, "--require", "AP>=0.9")
    assert (status, "error" in document) == (3, False)


def test_an_unreadable_base_is_told_before_anything_is_printed(capsys):
    status, document = printed(capsys, "coco", TRUTH, HAWK, "--base", "absent.json")
    assert (status, document["error"]["type"]) == (1, "ReadError")


@pytest.fixture
def cut(tmp_path):
    """Predictions cut at a confidence of 0.5, which is a warning (V308)."""
    records = [r for r in json.loads(Path(HAWK).read_text()) if r["score"] >= 0.5]
    path = tmp_path / "cut.json"
    path.write_text(json.dumps([{**r, "score": max(r["score"], 0.5)} for r in records]))
    return str(path)


@pytest.mark.parametrize(
    "words",
    [["coco"], ["voc"], ["analyse"], ["report", "-o", "r.html"], ["draw", "-o", "d"]],
    ids=lambda words: words[0],
)
def test_strict_makes_a_warning_an_error(capsys, cut, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    verb, *options = words
    codes = {f.code for f in vt.coco(TRUTH, cut).findings}
    assert codes == {"V308"}
    assert run([verb, TRUTH, cut, *options, "--strict"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    last = said.err.splitlines()[-1]
    assert "V308" in last
    assert "--strict makes warnings errors" in last


def test_strict_without_warnings_changes_nothing(capsys):
    assert run(["coco", TRUTH, HAWK, "-q"]) == 0
    plain = capsys.readouterr().out
    assert run(["coco", TRUTH, HAWK, "-q", "--strict"]) == 0
    assert capsys.readouterr().out == plain


def test_inspect_with_strict_leaves_with_status_one_at_a_warning(capsys, cut):
    assert run(["inspect", TRUTH, cut]) == 0
    assert run(["inspect", TRUTH, cut, "--strict"]) == 1
    assert "warning: V308" in capsys.readouterr().out


def test_strict_contradicts_checks_that_are_off(capsys):
    assert run(["coco", TRUTH, HAWK, "--strict", "--checks", "off"]) == 2
    assert "expected --strict or --checks off, found both" in capsys.readouterr().err


def test_stopped_data_leave_a_job_summary(capsys, tmp_path, monkeypatch):
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run(["coco", TRUTH, HAWK, "--pred-boxes", "xyxy", "--summary"]) == 1
    assert "::error title=data::" in capsys.readouterr().err
    text = summary.read_text()
    assert text.startswith("### verite: not evaluated")
    assert "V101" in text
    assert "--pred-boxes xywh" in text
    assert run(["coco", TRUTH, "absent.json", "--summary"]) == 1
    assert "absent.json" in summary.read_text()


def test_lists_with_commas_are_repeated_options(capsys):
    for one, several in (
        (["--class", "boat,dog"], ["--class", "boat", "--class", "dog"]),
        (["-t", "0.5,0.75"], ["-t", "0.5", "-t", "0.75"]),
        (["-n", "1,10,100"], ["-n", "1", "-n", "10", "-n", "100"]),
        (["--area", "all:0:1e10,tiny:0:256"], ["--area", "all:0:1e10", "--area", "tiny:0:256"]),
    ):
        documents = [printed(capsys, "coco", TRUTH, HAWK, *words)[1] for words in (one, several)]
        assert documents[0] == documents[1]
    _, ten = printed(capsys, "coco", TRUTH, HAWK, "-t", "0.5:0.95")
    assert ten["AP"] == vt.coco(TRUTH, HAWK)["AP"].value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cat,dog", ("cat", "dog")),
        ("tench, Tinca tinca", ("tench, Tinca tinca",)),
        ('"a,b",c', ("a,b", "c")),
        ("iou,hausdorff(quantile=0.95,spacing=2),dice", ("iou", "hausdorff(quantile=0.95,spacing=2)", "dice")),
        ("cat", ("cat",)),
        (",", (",",)),
    ],
)
def test_commas_before_blanks_in_parentheses_and_quotes_stay(text, words):
    import click

    assert ListOf(click.STRING).convert(text, None, None) == words
