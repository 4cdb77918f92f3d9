"""verite study, as people type it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from PIL import Image

from tests.cli.test_command_line import complaint, typed  # noqa: F401

FAST = ("--truth", "wide", "--truth", "small square", "-a", "translation(reach=4)")


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module with metrics of one's own in the folder at hand."""
    (tmp_path / "studied_metrics.py").write_text(
        "def stairs(truth, pred):\n    return int(8 * (truth & pred).sum() / (truth | pred).sum()) / 8\n"
        "def broken(truth, pred):\n    raise RuntimeError('no idea')\n"
    )
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("studied_metrics", None)


@pytest.mark.thorough
def test_own_metrics_stand_beside_known_ones_and_get_a_verdict(typed, own):  # noqa: F811
    status, out, _ = typed("study", "-m", "studied_metrics:stairs", "-m", "iou", "-m", "hausdorff", *FAST)
    assert status == 0
    for title in ("Distance properties", "Results for translation(reach=4)", "Synthesis"):
        assert title in out
    assert "stairs: " in out
    assert "It jumps: translation(reach=4), on 2 of 2 ground truths" in out
    assert "It resembles " in out


def test_the_document_has_the_documented_keys(typed):  # noqa: F811
    status, out, err = typed("study", "-m", "iou", *FAST, "--json")
    document = json.loads(out)
    assert (status, err) == (0, "")
    assert set(document["tables"]) == {"distance", "translation(reach=4)", "synthesis"}
    assert document["tables"]["translation(reach=4)"]["iou"]["scale"] == "+"


def test_a_published_study_is_reproduced(typed):  # noqa: F811
    status, out, _ = typed("study", "--reproduce", "gretsi", "--json")
    document = json.loads(out)
    assert status == 0
    assert document["agreement"]["T2"][1] == 78
    assert document["agreement"]["all"][0] >= 70


def test_one_table_in_any_style(typed):  # noqa: F811
    _, out, _ = typed("study", "-m", "iou", *FAST, "--table", "distance", "--style", "csv")
    assert out == "metric,on,symmetry,separation,triangle,score\niou,mask,1,1,1,3\n"
    _, out, _ = typed("study", "-m", "iou", *FAST, "--table", "distance", "--style", "latex")
    assert out.startswith("% Distance properties")
    _, out, _ = typed("study", "-m", "iou", *FAST, "--style", "markdown")
    assert "| iou | mask | ✓ | ✓ | ✓ | 3 |" in out


@pytest.mark.thorough
def test_everything_is_kept_in_a_folder(typed, tmp_path):  # noqa: F811
    home = tmp_path / "kept"
    status, _, err = typed(
        "study", "-m", "iou", "-m", "rms", *FAST, "-a", "bite(every=40)", "-o", home, "--sensitivity"
    )
    assert status == 0
    assert f"results in {home}" in err
    names = {path.name for path in home.iterdir()}
    assert {"study.json", "study.md", "study.tex", "distance.csv", "synthesis.csv", "sensitivity.csv"} <= names
    assert {"truths.png", "alterations.png", "synthesis.png", "places-bite-every-40.png"} <= names
    assert {"surfaces-translation-reach-4.png", "curves-translation-reach-4.png"} <= names


def test_sensitivity_is_in_the_document(typed, tmp_path):  # noqa: F811
    kept = tmp_path / "study.json"
    _, out, _ = typed("study", "-m", "iou", *FAST, "--sensitivity", "--json", "--save", kept)
    assert json.loads(out)["sensitivity"][0]["setting"] == "as it is"
    assert json.loads(kept.read_text()) == json.loads(out)
    _, out, _ = typed("study", "-m", "iou", *FAST, "--sensitivity", "--quiet")
    assert "Sensitivity: changes of the" in out


def test_tolerances_and_masks_can_be_given(typed, tmp_path):  # noqa: F811
    mask = np.zeros((80, 80), np.uint8)
    mask[20:60, 20:60] = 255
    Image.fromarray(mask).save(tmp_path / "mine.png")
    status, out, _ = typed(
        "study", "-m", "iou", "--truth", tmp_path / "mine.png", "-a", "rotation(reach=10)", "--tolerance", "axial=0.5"
    )
    assert status == 0
    assert "truths:mine|" in out
    assert "axial:0.50" in out


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["-m", "iuo"], 2, "found 'iuo'"),
        (["iou"], 2, "Write -m before it"),
        (["-m", "iou", "--truth", "nothing"], 2, "expected all, boxes, silhouettes"),
        (["-m", "iou", "--truth", "nothing.png"], 1, "expected a file or folder, found nothing"),
        (["-m", "iou", "-a", "tanslation"], 2, "did you mean 'translation'"),
        (["-m", "iou", "--tolerance", "axial"], 2, "expected NAME=VALUE"),
        (["-m", "iou", "--tolerance", "axal=1", *FAST], 2, "did you mean 'axial'"),
        (["-m", "iou", "--table", "nothing", *FAST], 2, "expected one of distance"),
        (["-m", "iou", "--jobs", "0"], 2, "expected a whole number from 1 up"),
        (["--reproduce", "jei", "-m", "iou"], 2, "expected no -m"),
        (["--reproduce", "gretsi", "--sensitivity"], 2, "found gretsi"),
        (["-m", "no_such_module:metric"], 2, "ModuleNotFoundError"),
    ],
)
def test_mistakes_are_told_in_one_line(typed, words, status, said):  # noqa: F811
    found, out, err = typed("study", *words)
    assert (found, out) == (status, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.thorough
def test_functions_of_ones_own_give_the_same_bytes_in_any_number_of_processes(own):
    program = [sys.executable, "-c", "from verite.cli import main; main()"]
    command = [*program, "study", "-m", "studied_metrics:stairs", "-m", "iou", *FAST, "--json", "--jobs"]
    one, two = (subprocess.run([*command, jobs], capture_output=True, check=True) for jobs in "12")
    assert one.stdout == two.stdout
    assert not one.stderr
    assert not two.stderr


@pytest.mark.thorough
def test_a_quick_study_says_what_it_leaves_open(typed, own):  # noqa: F811
    _, out, _ = typed("study", "-m", "studied_metrics:stairs", "--truth", "wide", "-a", "translation", "--quick")
    assert "288 results of 1 truth, 1 metric; the highest score is 7." in out  # 17² - 1
    assert "continuity" not in out.split("Synthesis")[0]
    assert "Continuity needs every step and is left open." in out
    assert "jump" not in out
    _, out, _ = typed("study", "-m", "iou", "--truth", "wide", "-a", "translation", "--quick", "--json")
    assert json.loads(out)["left_open"] == ["continuity"]


def test_a_metric_that_fails_is_told_in_one_line(typed, own):  # noqa: F811
    status, _, err = typed("study", "-m", "studied_metrics:broken", *FAST)
    assert status == 1
    assert re.match(r"verite: \S*studied_metrics\.py:\d+: studied_metrics:broken: expected a value for each pair", err)
    assert err.endswith("found RuntimeError: no idea\n")
    assert err.count("\n") == 1


# One alteration of one truth: enough pairs of five milliseconds to be interrupted in.
ONE = ("-a", "translation", "--truth", "boxes")


@pytest.mark.thorough
def test_an_interrupt_is_told_in_one_line(own):
    (own / "slow_metrics.py").write_text(
        "import pathlib, time\n"
        "def slow(truth, pred):\n    pathlib.Path('begun').touch()\n    time.sleep(0.005)\n    return 0.0\n"
    )
    words = [sys.executable, "-m", "verite", "study", "-m", "slow_metrics:slow", "--jobs", "2", *ONE]
    started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if (own / "begun").exists():
            break
        time.sleep(0.1)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert (started.returncode, out, err) == (130, "", "verite: interrupted\n")
