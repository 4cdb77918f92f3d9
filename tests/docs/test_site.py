"""The documentation builds without a warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


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
