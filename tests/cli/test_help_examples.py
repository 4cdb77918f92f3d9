"""Every example that a command's help prints is run as it is printed, on files of the names that it has."""

from __future__ import annotations

import shlex
import shutil

import pytest

from tests.cli.examples import arrange, examples, make_world
from verite.cli import run


def parameter(example: str) -> object:
    verb = example.split()[1]
    is_long = verb in ("study", "demo") or "--all" in example or "--long" in example
    return pytest.param(example, id=example.removeprefix("verite "), marks=[pytest.mark.slow] if is_long else [])


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """A folder with every file that an example names."""
    home = tmp_path_factory.mktemp("examples")
    make_world(home)
    return home


@pytest.mark.thorough
@pytest.mark.parametrize("example", [parameter(example) for example in dict.fromkeys(examples())])
def test_every_example_runs(example, world, tmp_path, monkeypatch, capsys):
    home = tmp_path / "home"
    shutil.copytree(world, home)
    command, _, target = example.replace("~", str(home)).replace(">>", ">").partition(" > ")
    words = shlex.split(command)
    arrange(words, home)
    monkeypatch.chdir(home)
    monkeypatch.syspath_prepend(home)
    monkeypatch.setattr("click.launch", lambda address: 0)
    status = run(words[1:])
    said = capsys.readouterr()
    assert status in ((0, 3) if "--require" in words else (0,)), said.err
    assert not target or said.out
