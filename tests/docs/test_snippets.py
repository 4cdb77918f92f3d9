"""Every snippet of the README and the documentation runs, and every shown output is what really comes out.

`VERITE_UPDATE_DOCS=1 pytest tests/docs` writes the outputs anew; read the change before it is committed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from verite.cli.demo import FOLDERS

ROOT = Path(__file__).parent.parent.parent
GENERATED = (
    "reference/command-line.md",
    "reference/formats.md",
    "reference/metrics.md",
    "reference/protocols.md",
)
PAGES = [
    ROOT / "README.md",
    *sorted(p for p in (ROOT / "docs").rglob("*.md") if str(p.relative_to(ROOT / "docs")) not in GENERATED),
]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the data of the demo, as the pages assume it."""
    bundled = files("verite") / "data"
    for source, name in FOLDERS.items():
        shutil.copytree(str(bundled / source), tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> str:
    """What a terminal would show, trailing blanks aside. A pipe into `head` is understood, no other."""
    command, _, most = command.partition(" | head -")
    words = shlex.split(command)
    assert words[0] == "verite", command
    assert "|" not in words, command
    program = [sys.executable, "-c", "from verite.cli import main; main()", *words[1:]]
    done = subprocess.run(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert "(see verite " not in done.stdout, f"{command}: no such command or option"
    lines = [line.rstrip() for line in done.stdout.strip("\n").splitlines()]
    return "\n".join(lines[: int(most) if most else None])


def session(text: str) -> str:
    """A console block with its outputs as they come out now."""
    commands = [line for line in text.splitlines() if line.startswith("$ ")]
    parts = []
    for line in commands:
        shown = run(line[2:])
        parts.append(line + ("\n" + shown if shown else ""))
    return "\n".join(parts) + "\n"


def test_there_are_pages():
    assert len(PAGES) > 8


@pytest.mark.usefixtures("leaves_no_trace")
@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_snippets_run_and_show_what_comes_out(page, place):
    names: dict[str, object] = {}
    text = page.read_text()
    new = text
    for kind, body in BLOCK.findall(text):
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(body, str(page), "exec"), names)
        else:
            shown = session(body)
            if os.environ.get("VERITE_UPDATE_DOCS"):
                new = new.replace(f"```console\n{body}```", f"```console\n{shown}```")
            else:
                assert body == shown
    if new != text:
        page.write_text(new)
