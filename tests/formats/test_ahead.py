"""The first file of a process is read while numpy is imported: the same annotations, the same complaints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from verite.formats import ahead

COUNT = 12_000  # more than a megabyte of annotations


COMPLAINT = """
import verite as vt
try:
    vt.read({path!r})
except vt.ReadError as error:
    print(error)
print(ahead.BEGUN)
"""


def document() -> dict[str, list[dict[str, object]]]:
    box = {"category_id": 1, "bbox": [1.5, 2.25, 30.0, 40.0], "area": 1200.0, "iscrowd": 0, "image_id": 7}
    return {
        "images": [{"id": 7, "width": 640, "height": 480, "file_name": "a.jpg"}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": i + 1, **box} for i in range(COUNT)],
    }


def run(program: str, threads: int) -> subprocess.CompletedProcess[str]:
    """In a process of its own, where numpy is not imported yet. Tells whether reading was begun early."""
    watch = """
import verite.formats.ahead as ahead
native = ahead._core
class Watched:
    def CocoAhead(self, *given):
        print("AHEAD")
        return native.CocoAhead(*given)
    def __getattr__(self, name):
        return getattr(native, name)
ahead._core = Watched()
"""
    return subprocess.run(
        [sys.executable, "-c", watch + program],
        capture_output=True,
        text=True,
        env={"VERITE_THREADS": str(threads), "PATH": ""},
        check=False,
    )


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_file_is_the_same_whoever_reads_it(tmp_path: Path, threads: int) -> None:
    path = tmp_path / "truth.json"
    path.write_text(json.dumps(document()))
    assert path.stat().st_size > ahead.SMALLEST
    program = f"import verite as vt; t = vt.read({str(path)!r}); print(t, t.digest, t.source.why, ahead.BEGUN)"
    done = run(program, threads)
    assert done.returncode == 0, done.stderr
    is_begun = done.stdout.startswith("AHEAD\n")
    assert is_begun == (threads > 1)
    again = run(f"import numpy\n{program}", threads)
    assert not again.stdout.startswith("AHEAD")
    assert done.stdout.removeprefix("AHEAD\n") == again.stdout
    assert f"{COUNT} objects of 1 labels in 1 images" in again.stdout
    assert again.stdout.strip().endswith("{}")


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (lambda text: text[:-1], "a whole JSON document"),
        (lambda text: text.replace('"bbox": [1.5,', '"bbox": [x,', 1), "annotations[0]"),
        (lambda text: text.replace('"image_id": 7', '"image_id": 8', 1), "annotations[0].image_id"),
    ],
)
def test_complaints_are_the_same(tmp_path: Path, spoil, found: str) -> None:
    path = tmp_path / "truth.json"
    path.write_text(spoil(json.dumps(document())))
    early, late = run(COMPLAINT.format(path=str(path)), 2), run("import numpy\n" + COMPLAINT.format(path=str(path)), 2)
    assert early.stdout.removeprefix("AHEAD\n") == late.stdout != early.stdout
    assert found in early.stdout
    assert early.stdout.endswith("\n{}\n")


def test_what_turns_out_to_be_no_coco_file_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "notes.json"
    path.write_text(json.dumps({"notes": ["x" * 100] * 20_000}))
    done = run(COMPLAINT.format(path=str(path)), 2)
    assert done.stdout.startswith("AHEAD\n")
    assert "expected annotations in a format known to verite" in done.stdout
    assert done.stdout.endswith("\n{}\n")
