"""What is said about the package is true, and said once."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import verite

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_version_is_written_in_one_place():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert "version" not in PROJECT["project"]
    assert PROJECT["tool"]["scikit-build"]["metadata"]["version"]["input"] == "src/verite/__init__.py"
    text = (ROOT / "src" / "verite" / "__init__.py").read_text()
    assert re.findall(r'^__version__ = "(.*)"$', text, re.MULTILINE) == [verite.__version__]


def test_citation_and_changes_know_the_version():
    assert f"\nversion: {verite.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0].split()[0] in (verite.__version__, "Unreleased")
    assert any(heading.split()[0] == verite.__version__ for heading in headings)


def test_notices_of_what_is_linked_in_are_shipped():
    patterns = PROJECT["project"]["license-files"]
    shipped = {path.name for pattern in patterns for path in ROOT.glob(pattern)}
    assert shipped == {"LICENSE", "nanobind.txt", "robin-map.txt"}
    assert "Wenzel Jakob" in (ROOT / "licenses" / "nanobind.txt").read_text()
    assert "Thibaut Goetghebuer-Planchon" in (ROOT / "licenses" / "robin-map.txt").read_text()


def test_drawing_is_an_extra():
    assert not [one for one in PROJECT["project"]["dependencies"] if one.startswith("matplotlib")]
    assert PROJECT["project"]["optional-dependencies"]["plots"][0].startswith("matplotlib")


def test_every_dependency_has_a_lower_bound():
    extras = PROJECT["project"]["optional-dependencies"].values()
    for one in [*PROJECT["project"]["dependencies"], *(d for extra in extras for d in extra)]:
        assert re.fullmatch(r"[a-z][a-z0-9-]*>=[0-9.]+", one), one
