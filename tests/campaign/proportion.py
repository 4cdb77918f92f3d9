"""How much memory do small files take? `python -m tests.campaign.proportion` measures commands on hard cases.

A file below 1 MB may take 200 MB and a hundred times its size, or is refused by a limit that has a name.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

FREE = 200 * 2**20  # bytes that anything may take


@dataclass(frozen=True)
class Measured:
    """The peak of a command's memory, what the files have that it read, and what it said."""

    command: str
    peak: int
    size: int
    status: int
    said: str

    @property
    def is_in_proportion(self) -> bool:
        return self.peak <= FREE + 100 * self.size

    @property
    def is_fine(self) -> bool:
        return self.is_in_proportion and (self.status == 0 or "VERITE_LIMIT_" in self.said)


# A process begins with the peak of the one that started it: commands are started by one that is small.
START = """
import os, subprocess, sys
running = subprocess.Popen([sys.executable, "-m", "verite", *sys.argv[1:]], stdout=subprocess.DEVNULL)
_, status, used = os.wait4(running.pid, 0)
print(used.ru_maxrss * 1024, os.waitstatus_to_exitcode(status))
"""


def run_measured(words: list[str], size: int) -> Measured:
    """Run `verite` with these words and measure its peak."""
    ran = subprocess.run([sys.executable, "-c", START, *words], capture_output=True, text=True, check=True)
    peak, status = map(int, ran.stdout.split())
    shown = " ".join(Path(word).name if "/" in word else word for word in words)
    return Measured(shown, peak, size, status, ran.stderr)


def save_both(folder: Path, name: str, truth: NDArray[Any], pred: NDArray[Any] | None = None) -> tuple[list[str], int]:
    """A folder of one picture for each side, and their bytes."""
    places, size = [], 0
    for side, pixels in (("truth", truth), ("pred", truth if pred is None else pred)):
        place = folder / f"{name}-{side}"
        place.mkdir()
        Image.fromarray(pixels).save(place / "a.png")
        places.append(str(place))
        size += (place / "a.png").stat().st_size
    return places, size


def many_values(folder: Path, side: int) -> tuple[list[str], int]:
    """16-bit pictures in which every pixel is a class of its own."""
    values = np.arange(side * side, dtype=np.uint16).reshape(side, side)
    shuffled = np.random.default_rng(1).permutation(values.ravel()).reshape(side, side)
    return save_both(folder, f"values{side}", values, shuffled)


def stripes(folder: Path, side: int, kind: type, *, is_across: bool) -> tuple[list[str], int]:
    """Pictures in which every other row or column is an object."""
    pixels = np.zeros((side, side), kind)
    pixels[(slice(None, None, 2), slice(None)) if is_across else (slice(None), slice(None, None, 2))] = 1
    return save_both(folder, f"stripes{side}{kind.__name__}{is_across}", pixels)


def square(folder: Path) -> tuple[list[str], int]:
    pixels = np.zeros((8150, 8150), np.uint8)
    pixels[1000:7000, 1000:7000] = 1
    return save_both(folder, "square", pixels)


def classes(folder: Path, count: int) -> tuple[list[str], int]:
    """COCO files that list so many classes and have one object."""
    box = [10, 10, 40, 40]
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": i, "name": f"c{i}"} for i in range(1, count + 1)],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": box, "area": 1600, "iscrowd": 0}],
    }
    places = [folder / f"truth{count}.json", folder / "pred.json"]
    places[0].write_text(json.dumps(truth))
    places[1].write_text(json.dumps([{"image_id": 1, "category_id": 1, "bbox": box, "score": 0.5}]))
    return [str(place) for place in places], sum(place.stat().st_size for place in places)


Make = Callable[[Path], tuple[list[str], int]]
CASES: dict[str, tuple[str, Make]] = {
    "10,000 values": ("semantic", lambda folder: many_values(folder, 100)),
    "65,536 values": ("semantic", lambda folder: many_values(folder, 256)),
    "stripes of 13,000 x 13,000": (
        "localize -m iou",
        lambda folder: stripes(folder, 13_000, np.uint16, is_across=True),
    ),
    "stripes across": ("localize -m iou", lambda folder: stripes(folder, 8000, np.uint8, is_across=True)),
    "stripes down": ("localize -m iou", lambda folder: stripes(folder, 8000, np.uint8, is_across=False)),
    "stripes, all values": ("semantic", lambda folder: stripes(folder, 8000, np.uint8, is_across=False)),
    "a square of 8,150 x 8,150": ("localize -m iou", square),
    "1,203 classes": ("report -o page.html", lambda folder: classes(folder, 1203)),
    "9,999 classes": ("coco", lambda folder: classes(folder, 9999)),
    "9,999 classes, inspected": ("inspect", lambda folder: classes(folder, 9999)),
    "99,999 classes": ("coco", lambda folder: classes(folder, 99_999)),
    "99,999 classes, analysed": ("analyse", lambda folder: classes(folder, 99_999)),
    "99,999 classes, reported": ("report -o page.html", lambda folder: classes(folder, 99_999)),
}


def measure(name: str, folder: Path) -> Measured:
    """Make the files of a case and run its command."""
    line, make = CASES[name]
    command, *options = line.split()
    places, size = make(folder)
    return run_measured([command, *places, *(str(folder / o) if "." in o else o for o in options)], size)


def main() -> int:
    is_fine = True
    for name in CASES:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(name, Path(folder))
        is_fine = is_fine and found.is_fine
        word = "refused" if found.status else "number"
        print(
            f"{found.peak >> 20:6,} MB of {(FREE + 100 * found.size) >> 20:6,}  {word:8} {found.command}: {name}",
            flush=True,
        )
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main())
