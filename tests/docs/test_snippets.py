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
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from verite.cli import run as run_verb
from verite.cli.demo import FOLDERS

ROOT = Path(__file__).parent.parent.parent
GENERATED = (
    "reference/analysis.md",
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
SLOW = ("docs/explanation/reproductions.md", "docs/howto/study.md")  # whole studies


def parameter(page: Path) -> Any:
    name = str(page.relative_to(ROOT))
    return pytest.param(page, id=name, marks=[pytest.mark.slow] if name in SLOW else [])


def leave_drawn_images(folder: Path) -> None:
    """Leave a folder of results as `verite demo` does, whose name the examples cannot use again."""
    (folder / "drawn").mkdir()
    (folder / "drawn" / "park-2052.png").touch()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the data of the demo, as the pages assume it."""
    bundled = files("verite") / "data"
    for source, name in FOLDERS.items():
        shutil.copytree(str(bundled / source), tmp_path / name)
    leave_drawn_images(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.syspath_prepend(tmp_path)  # metrics of one's own are modules of the folder at hand
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if Path(getattr(sys.modules[name], "__file__", None) or ROOT).is_relative_to(tmp_path):
            del sys.modules[name]


def run(command: str) -> str:
    """What a terminal would show, trailing blanks aside. A pipe into `head` is understood, no other."""
    command, _, most = command.partition(" | head -")
    words = shlex.split(command)
    assert words[0] == "verite", command
    assert "|" not in words, command
    screen = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        run_verb(words[1:])
    shown = screen.buffer.getvalue().decode()
    assert "(see verite " not in shown, f"{command}: no such command or option"
    lines = [line.rstrip() for line in shown.strip("\n").splitlines()]
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
@pytest.mark.parametrize("page", [parameter(page) for page in PAGES])
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
