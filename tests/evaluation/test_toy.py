"""A new similarity is one C++ file and one line in the registry: verbs, help, signatures and JSON have it at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Centres of pred 1 and truth 1 are the same, those of pred 2 and truth 2 one pixel apart: 1/2, right at 0.5 alone.
PROGRAM = """
import tests.campaign, json, sys
import numpy as np, verite as vt
from verite.cli import main
from verite.evaluation.evaluation import Evaluation, Rules
truth = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[0, 0, 10, 10], [50, 50, 60, 60]])
pred = vt.Annotations.of(["a", "b"], ["cat", "cat"], [[4, 4, 6, 6], [51, 50, 61, 60]], confidence=[0.9, 0.8])
results = vt.coco(truth, pred, on="centre", iou=[0.5, 0.6], checks="off")
at_half, at_more = (results.mean("recall", t, 0, 2) for t in (0, 1))
assert (at_half, at_more) == (1.0, 0.5), (at_half, at_more)
assert "|on:centre|" in str(results.signature), results.signature
assert "|on:centre|" in json.loads(results.to_json())["signature"]
kept = Evaluation(truth, pred, Rules((0.5, 0.6), "centre"))
assert kept.outcomes(0).overlap.tolist() == [1.0, 0.5]
assert kept.weighted([1, 3]).mean("recall", 1, 0, 0) == 0.25
assert kept.changed(removed=[0]).mean("recall", 0, 0, 0) == 1.0
assert vt.leaderboard(truth, {"one": pred, "two": pred}, on="centre", draws=10, checks="off").board
sys.argv = ["verite", "coco", "--help"]
main()
"""


def build(folder: Path) -> Path:
    """The core with the toy: one file more, one line more."""
    shutil.copytree(ROOT / "cpp", folder / "cpp")
    shutil.copy(ROOT / "CMakeLists.txt", folder)
    shutil.copy(Path(__file__).with_name("toy.cpp"), folder / "cpp" / "similarity" / "centre.cpp")
    registry = folder / "cpp" / "similarity" / "registry.hpp"
    text = registry.read_text()
    assert text.count("    line(rotated) ") == 1
    registry.write_text(text.replace("    line(rotated) ", "    line(centre) \\\n    line(rotated) "))
    import nanobind

    say = [
        "-DVERITE_UNITY=ON",
        "-DCMAKE_BUILD_TYPE=None",
        "-DCMAKE_CXX_FLAGS=-O0",
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    say += ["-DSKBUILD_SABI_COMPONENT=Development.SABIModule", f"-Dnanobind_DIR={nanobind.cmake_dir()}"]
    for command in (["-S", str(folder), "-B", str(folder / "build"), *say], ["--build", str(folder / "build")]):
        subprocess.run(["cmake", *command, *(["--parallel", "2"] if "--build" in command else [])], check=True)
    return next((folder / "build").glob("_core*.so"))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake to build the core with")
def test_a_new_similarity_is_one_file_and_one_line(tmp_path: Path) -> None:
    pytest.importorskip("nanobind")
    core = build(tmp_path)
    environment = os.environ | {"VERITE_CORE": str(core), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "centre" in done.stdout
    assert "centres of boxes" in done.stdout
