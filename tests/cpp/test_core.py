"""Unit tests of the native core in C++: compiles core_test.cpp with the few kernels it needs, and runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KERNELS = (
    "columns/cells",
    "columns/columns",
    "columns/sums",
    "evaluation/accumulate",
    "evaluation/assignment",
    "evaluation/matching",
    "evaluation/one_to_one",
    "evaluation/outcomes",
    "evaluation/precision_recall",
    "evaluation/rules",
    "evaluation/true_positive_ranks",
)


def find_compiler() -> str | None:
    """The compiler that $CXX names, or else the first of the usual ones."""
    candidates = [os.environ.get("CXX", ""), "c++", "g++", "clang++"]
    return next((found for name in candidates if name and (found := shutil.which(name))), None)


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler: set CXX or install g++")
def test_matching_accumulation_and_the_lock_rule_agree_with_numbers_by_hand(tmp_path: Path) -> None:
    compiler = find_compiler()
    assert compiler is not None
    sources = [str(Path(__file__).with_name("core_test.cpp")), *(str(ROOT / "cpp" / f"{name}.cpp") for name in KERNELS)]
    program = tmp_path / "core_test"
    flags = ["-std=c++20", "-O0", "-ffp-contract=off", "-Wall", "-Wextra", "-pthread", "-Icpp"]
    built = subprocess.run(
        [compiler, *flags, *sources, "-o", str(program)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("0 checks failed\n")
