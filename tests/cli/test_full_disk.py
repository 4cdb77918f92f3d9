"""On a full disk a command ends in one line and leaves no half of anything."""

from __future__ import annotations

import resource
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

DEMO = Path(str(files("verite") / "data" / "demo"))
HAWK = [str(DEMO / "truth.json"), str(DEMO / "hawk.json")]
# Each writes files beyond the bytes that a file may have here: the second demo in the midst of its tour.
COMMANDS = {
    "a file of results": (["voc", *HAWK, "--save", "out/results.json"], 500),
    "a folder of results": (["voc", *HAWK, "-o", "out/results", "--no-plot"], 1000),
    "a folder of several": (["voc", *HAWK, str(DEMO / "mole.json"), "-o", "out/results", "--no-plot"], 1000),
    "a converted folder": (["convert", HAWK[0], "out/voc", "--to", "voc"], 1000),
    "a converted file": (["convert", HAWK[0], "out/truth.json", "--to", "coco"], 5000),
    "the tour's data": (["demo", "out/tour"], 5000),
    "the tour's results": (["demo", "out/tour"], 120_000),
}


@pytest.mark.parametrize("what", COMMANDS)
def test_nothing_is_left_and_one_line_says_why(what, tmp_path):
    words, most = COMMANDS[what]
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "verite", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    *_, last = done.stderr.splitlines()
    assert (done.returncode, last.endswith("found file too large")) == (1, True), last
    assert last.startswith("verite: out/")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_full_standard_output_is_one_line(tmp_path):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "verite", "metrics"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.stderr == "verite: no space left on device\n"
    assert done.returncode == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_the_number_is_printed_though_standard_error_is_on_a_full_disk():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "verite", "voc", *HAWK, "--json"], stdout=subprocess.PIPE, stderr=full, check=False
        )
    assert done.returncode == 0
    assert '"mAP"' in done.stdout.decode()
