"""The benchmark of COCO runs from nothing: data of a hundredth of the size, every way of verite once, a table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[1] / "benchmarks" / "coco.py"
OURS = (
    "verite,verite (command line),verite --class-agnostic,verite --exact,verite --checks off,verite --on boundary,"
    "verite voc,verite lvis,verite drop-in,vt.coco in memory,drop-in in memory,CocoEvaluator.compute"
)


@pytest.mark.slow
def test_the_table_is_made_from_nothing_and_part_by_part(tmp_path: Path) -> None:
    say = ["--data", str(tmp_path), "--share", "0.01", "--repetitions", "1", "--threads", "1", "--tools", OURS]
    for cases in ("44k,masks", "lvis"):
        done = subprocess.run(
            [sys.executable, str(PROGRAM), *say, "--cases", cases], capture_output=True, text=True, check=True
        )
    assert [line for line in done.stdout.splitlines() if line.startswith("### ")] == [
        "### 5,000 images, 44,000 boxes",
        "### 5,000 images, 36,000 masks",
        "### 20,000 images, 1,203 classes, 6 million boxes",
    ]
    rows = [line for line in done.stdout.splitlines() if line.startswith(("| verite", "| vt.", "| drop", "| CocoE"))]
    assert len(rows) == 10 + 9 + 3
    assert not [row for row in rows if "– | –" in row]
    assert not [row for row in rows if "differ" in row]


def test_figures_of_the_statistics_are_printed_part_by_part(tmp_path: Path) -> None:
    program = PROGRAM.with_name("statistics.py")
    say = [sys.executable, str(program), "--worlds", "3", "--population", "500", "--real", str(tmp_path)]
    done = subprocess.run([*say, "--only", "S3,S5"], capture_output=True, text=True, check=True)
    assert "10 groups: family-wise error" in done.stdout
    assert "AP of 500 images covered" in done.stdout
    assert "skipped: no real data" in done.stdout
    wrong = subprocess.run([*say, "--only", "S99"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert "found S99" in wrong.stderr


def test_programs_beside_statistics_py_still_import_the_standard_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import statistics; print(statistics.NormalDist().cdf(0))"],
        capture_output=True, text=True, check=True, cwd=PROGRAM.parent,
    )  # fmt: skip
    assert done.stdout.strip() == "0.5"
