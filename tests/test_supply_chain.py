"""What runs in workflows is named by commit or version, so that nobody exchanges it under the same name."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WORKFLOWS = [ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_named_by_commit_with_their_version_beside(path: Path) -> None:
    used = re.findall(r"uses: *(.+)", path.read_text())
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)] == []


def test_tools_that_build_are_named_by_version() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    installed = [word for line in re.findall(r"pip install (.+)", text) for word in line.split()]
    assert {word.split("==")[0] for word in installed} == {"cibuildwheel", "build", "twine"}
    assert [word for word in [*built, *installed] if not re.fullmatch(r"[\w-]+==[\d.]+", word)] == []


def test_two_builds_of_a_commit_have_the_same_dates() -> None:
    text = (ROOT / ".github" / "workflows" / "wheels.yml").read_text()
    assert text.count("SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)") == 2  # wheels, and the source distribution
    linux = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]["linux"]
    assert "SOURCE_DATE_EPOCH" in linux["environment-pass"]
