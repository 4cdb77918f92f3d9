"""The documentation builds without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import verite as vt

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_documentation_builds_without_warnings(tmp_path):
    pytest.importorskip("furo", reason="needs the dependency group 'docs'")
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(ROOT / "docs"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reference" / "command-line.html").exists()
    assert "hausdorff" in (tmp_path / "reference" / "metrics.html").read_text()


def test_every_public_name_is_in_the_reference_once():
    page = (ROOT / "docs" / "reference" / "python.md").read_text()
    named = re.findall(r"^\.\. auto\w+:: verite\.(\w+)$", page, re.MULTILINE)
    modules = {"errors", "__version__", "annotation_errors"}
    assert sorted(name for name in named if name not in modules) == sorted(set(vt.__all__) - modules)


@pytest.mark.skipif(
    version("click") < "8.2", reason="help texts are laid out by click; the pages are those of 8.2 and later"
)
def test_generated_pages_of_the_reference_are_current():
    """`python tools/reference_pages.py` renews them.

    They are compared in a process of its own, in which no test has registered an error model, format or protocol.
    """
    command = [sys.executable, str(ROOT / "tools" / "reference_pages.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_picture_is_drawn_by_the_script_and_shown():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import pictures
    finally:
        sys.path.pop(0)
    kept = {path.stem for path in (ROOT / "docs" / "images").iterdir()}
    assert {*pictures.DRAWN, *pictures.MADE} == kept
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = set(re.findall(r"images/([\w-]+)\.png\)", "\n".join(page.read_text() for page in pages)))
    assert shown == kept


def test_pages_state_how_many_localization_metrics_there_are():
    """In a process of its own, in which no test has registered a metric."""
    code = "from verite.metrics import catalogue as c; print(sum(r.on != 'detector' for r in c.records().values()))"
    count = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    pages = "\n".join((ROOT / name).read_text() for name in ("README.md", "CHANGELOG.md", "docs/index.md"))
    stated = re.findall(r"(\d+) localization metrics", pages)
    assert len(stated) >= 2
    assert set(stated) == {count}


def test_pages_state_how_many_formats_there_are():
    from verite.formats.registry import REGISTRY

    stated = [re.search(r"(\d+) \[?formats", (ROOT / name).read_text()) for name in ("README.md", "CHANGELOG.md")]
    assert [found[1] if found else None for found in stated] == [str(len(REGISTRY))] * 2
