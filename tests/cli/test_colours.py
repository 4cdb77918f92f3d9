"""Colours when a person looks: bold for the best, dim for what is secondary, red and green for differences alone."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from verite.cli import output
from verite.cli import run as run_command
from verite.model.comparison import mark_best
from verite.model.tables import BOLD, DIM, GREEN, IS_COLOURED, PLAIN, RED, Best, Change, Rise, Table

DEMO = Path(str(files("verite") / "data" / "demo"))
SIDES = [str(DEMO / f"{name}.json") for name in ("truth", "mole", "hawk")]


@pytest.fixture
def is_coloured():
    token = IS_COLOURED.set(True)
    yield
    IS_COLOURED.reset(token)


def test_differences_are_green_or_red_by_what_is_better(is_coloured):
    table = Table(("score", "difference"), (("AP", Change(0.1)), ("error", Rise(0.1)), ("same", Change(0.00001))))
    _, _, better, worse, same = table.to_text().split("\n")
    assert (GREEN in better, RED in worse) == (True, True)
    assert same == "same       0.0000"


def test_colours_do_not_change_the_alignment(is_coloured):
    table = Table(("class", "a", "b"), (("cat", Best(0.5), 0.25), ("a long name", 0.25, Best(0.5))))
    shown = table.to_text()
    token = IS_COLOURED.set(False)
    plain = table.to_text()
    IS_COLOURED.reset(token)
    for code in (BOLD, DIM, PLAIN):
        shown = shown.replace(code, "")
    assert shown == plain


def test_the_best_of_errors_is_the_lowest_and_of_equals_there_is_none():
    assert [type(v) for v in mark_best([0.3, 0.2], is_error=True)] == [float, Best]
    assert [type(v) for v in mark_best([0.2, 0.2])] == [float, float]
    assert mark_best([0.3, 0.2]) == [0.3, 0.2]


@pytest.mark.parametrize(
    ("variables", "is_terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_who_sees_colours(monkeypatch, variables, is_terminal, expected):
    class Stream:
        def isatty(self):
            return is_terminal

    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert output.is_coloured(Stream()) is expected


def test_a_pipe_gets_plain_text(capsys):
    assert run_command(["coco", *SIDES]) == 0
    said = capsys.readouterr()
    assert "\033" not in said.out + said.err


def test_a_terminal_gets_colours_and_no_other_sequences(tmp_path):
    ours, theirs = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-c", "from verite.cli import main; main()", "coco", *SIDES, "-q"]
    with subprocess.Popen(command, stdout=theirs, env={**variables, "TERM": "xterm"}) as running:
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            text += piece
    os.close(ours)
    assert running.returncode == 0
    shown = text.decode()
    (line,) = [line for line in shown.splitlines() if line.startswith("AP75")]
    assert line == f"AP75   0.0518  {BOLD}0.6301{PLAIN}  {GREEN}    0.5783{PLAIN}"
    for code in (BOLD, DIM, GREEN, RED, PLAIN):
        shown = shown.replace(code, "")
    assert "\033" not in shown


def test_errors_and_warnings_begin_in_colour(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    output.print_error("verite: nope.json: expected a file")
    output.print_error("warning: pred.json: V308 verite: a name")
    assert capsys.readouterr().err.splitlines() == [
        f"{RED}verite:{PLAIN} nope.json: expected a file",
        "\033[33mwarning:\033[0m pred.json: V308 verite: a name",
    ]


def test_sequences_in_names_stay_visible_text(capsys, monkeypatch, tmp_path):
    import json

    truth = json.loads((DEMO / "truth.json").read_text())
    truth["categories"][0]["name"] = "\033[2Jbird"
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert run_command(["coco", str(tmp_path / "truth.json"), *SIDES[1:]]) == 0
    out = capsys.readouterr().out
    assert "\033[2J" not in out
    assert "\\x1b[2Jbird" in out
