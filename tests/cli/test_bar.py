"""A person at a terminal sees how far long work is; a pipe, a file and those who asked for quiet see nothing."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from verite import progress
from verite.cli import output as bar

PROGRAM = """
import sys, click
from verite.cli import output as bar
from verite.progress import begin
bar.PATIENCE = bar.BETWEEN = 0.0

@click.command()
@click.option("--quiet", is_flag=True)
def work(quiet):
    with begin("counting", 4, "things") as advance:
        for _ in range(4):
            advance(1)
    print("done", file=sys.stderr)

with bar.show_progress():
    work(standalone_mode=False)
"""


def seen_on_a_terminal(*words):
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *words], stderr=theirs) as running:
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
    return text.decode()


def test_a_terminal_shows_a_bar_that_goes_away():
    seen = seen_on_a_terminal()
    assert "counting [############------------] 50 %, 2 of 4 things, " in seen
    assert "/s, 1 s left" in seen
    assert seen.endswith("\r\033[Kdone\r\n")


def test_quiet_shows_none():
    assert seen_on_a_terminal("--quiet") == "done\r\n"


def test_a_pipe_shows_none():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stderr == "done\n"


def test_short_work_shows_none(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with bar.show_progress(), progress.begin("work", 2, "things") as advance:
        advance(1)
    assert capsys.readouterr().err == ""


def test_the_line_is_wiped_before_an_error_is_told(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(bar, "PATIENCE", 0.0)

    def read():
        with bar.show_progress():
            return [1 // number for number in progress.count_files("reading", [2, 1, 0])]

    with pytest.raises(ZeroDivisionError):
        read()
    assert capsys.readouterr().err.endswith("\r\033[K")


WAITING = """
import time, click
from verite import progress
from verite.cli import output as bar
from verite.progress import begin, wait_for
bar.PATIENCE = bar.BETWEEN = 0.0
progress.TICK = 0.02

@click.command()
@click.option("--quiet", is_flag=True)
def work(quiet):
    with wait_for("reading truth.json (1.2 GB)"):
        time.sleep(0.3)
        with begin("counting", 4, "things") as advance:
            advance(1)
            time.sleep(0.3)

with bar.show_progress():
    work(standalone_mode=False)
"""


def test_one_long_call_shows_what_is_waited_for_and_gives_way_to_counted_work(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "PROGRAM", WAITING)
    seen = seen_on_a_terminal()
    before, _, after = seen.partition("counting [")
    assert "reading truth.json (1.2 GB), 1 s" in before
    assert "reading truth.json" not in after
    assert seen.endswith("\r\033[K")
    assert seen_on_a_terminal("--quiet") == ""
