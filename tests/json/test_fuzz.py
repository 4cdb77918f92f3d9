"""Hostile bytes for the native reader: the fuzz target builds, and a short run finds nothing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.json.corpus import write

ROOT = Path(__file__).parents[2]


@pytest.mark.slow  # compiles with sanitizers
@pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("c++") is None, reason="no make or no C++ compiler here"
)
def test_changed_documents_end_in_columns_or_in_a_complaint(tmp_path: Path) -> None:
    built = subprocess.run(["make", "build/fuzz/fuzz_json"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    corpus = write(tmp_path, 40)
    words = [str(ROOT / "build/fuzz/fuzz_json"), "3000", "1", *map(str, corpus)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "3000 mutations, nothing found" in done.stdout
