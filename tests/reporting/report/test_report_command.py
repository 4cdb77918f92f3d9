"""Command `verite report`: it writes the report that Python writes, verifies one, and reports errors in one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import verite as vt
from tests.reporting.report.pages import SYSTEMS, TRUTH, Text
from verite.cli import run
from verite.reporting.report.layout import embed_packed


def typed(capsys, *words):
    status = run(["report", *map(str, words)])
    out, err = capsys.readouterr()
    return status, out, err


@pytest.mark.thorough
def test_the_command_writes_the_report_that_python_writes(capsys, tmp_path):
    status, out, _ = typed(capsys, TRUTH, *SYSTEMS.values(), "-o", tmp_path / "a.html", "-q", "--pictures", "none")
    assert (status, out) == (0, f"{tmp_path / 'a.html'}\n")
    made = vt.report(TRUTH, SYSTEMS, tmp_path / "b.html", pictures="none")
    assert (tmp_path / "a.html").read_bytes() == made.read_bytes()


def test_check_reports_equality_or_the_first_difference(capsys, tmp_path):
    page = tmp_path / "a.html"
    files = [TRUTH, SYSTEMS["hawk"]]
    assert typed(capsys, *files, "-o", page, "-q", "--title", "x")[0] == 0
    assert typed(capsys, *files, "--check", page, "-q")[:2] == (0, f"{page}: equal, every number recomputed\n")
    text = page.read_text()
    document = vt.read_report(page)
    value = document["systems"][0]["scores"]["AP75"]
    document["systems"][0]["scores"]["AP75"] += 0.001
    changed = embed_packed("verite", json.dumps(document))
    page.write_text(re.sub(r'<script type="application/octet-stream" id="verite">.*?</script>', changed, text))
    status, _, err = typed(capsys, *files, "--check", page, "-q")
    assert status == 1
    assert "systems[0].scores.AP75: expected" in err
    page.write_text(text.replace(f"<dd>{value:.3f}</dd>", "<dd>0.999</dd>"))
    status, _, err = typed(capsys, *files, "--check", page, "-q")
    assert status == 1
    assert "HTML differs" in err
    assert typed(capsys, TRUTH, SYSTEMS["mole"], "--check", page, "-q")[0] == 1


def test_findings_of_the_checks_come_before_any_number(capsys, tmp_path):
    records = json.loads(SYSTEMS["hawk"].read_text())
    for one in records:
        x, y, width, height = one["bbox"]
        one["bbox"] = [x, y, x + width, y + height]
    (tmp_path / "wrong.json").write_text(json.dumps(records))
    status, _, _ = typed(capsys, TRUTH, tmp_path / "wrong.json", "-o", tmp_path / "a.html", "-q", "--checks", "warn")
    assert status == 0
    text = Text((tmp_path / "a.html").read_text()).text
    assert text.index("--pred-boxes") < text.index("AP50")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ([], 2, "expected -o REPORT or --check REPORT"),
        (["-o", "x.html", "--budget", "much"], 2, "expected bytes such as 4MB"),
        (["-o", "nowhere/x.html"], 1, "expected a file that can be written"),
        (["--check", TRUTH], 1, "expected a report written by verite report"),
        (["-o", "x.html", "--protocol", "voc", "--on", "mask"], 2, "on: expected box or rotated, found 'mask'"),
    ],
)
def test_errors_are_one_line(capsys, tmp_path, monkeypatch, words, status, said):
    monkeypatch.chdir(tmp_path)
    found, _, err = typed(capsys, TRUTH, SYSTEMS["hawk"], "-q", *words)
    assert found == status
    assert said in err
    assert err.count("\n") == 1


def test_detectors_on_ground_truth_without_objects_have_no_ranking(capsys, tmp_path):
    empty = json.loads(Path(TRUTH).read_text()) | {"annotations": []}
    (tmp_path / "truth.json").write_text(json.dumps(empty))
    words = [str(tmp_path / "truth.json"), SYSTEMS["hawk"], SYSTEMS["mole"], "-o", str(tmp_path / "page.html"), "-q"]
    status, _, err = typed(capsys, *words)
    assert (status, err) == (0, "")
    assert "Is the ranking reliable?" not in (tmp_path / "page.html").read_text()
