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
