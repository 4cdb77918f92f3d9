"""What does `verite convert` of very many files cost, and does it keep everything in order?

python benchmarks/convert.py [FILES]: label files of YOLO to COCO, to KITTI and to VOC, and both of those back to COCO.
Image i has i % 4 objects, so that every fourth has none; images, classes and boxes are compared one by one at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

NAMES = ("boat", "gull", "car", "person", "dog")
SIZE = (1000, 500)
Row = tuple[str, str, list[float]]


def expected(count: int) -> Iterator[Row]:
    """Image, class and box of every object."""
    for i in range(count):
        for k in range(i % 4):
            yield f"{i:06d}", NAMES[(i + k) % len(NAMES)], [i % 900 + k, 10 + k, 20 + k, 30]


def write_labels(folder: Path, count: int) -> None:
    lines: dict[str, list[str]] = {f"{i:06d}": [] for i in range(count)}
    for image, name, (x, y, w, h) in expected(count):
        box = (x + w / 2) / SIZE[0], (y + h / 2) / SIZE[1], w / SIZE[0], h / SIZE[1]
        lines[image].append(" ".join([str(NAMES.index(name)), *map(repr, box)]) + "\n")
    (folder / "labels").mkdir(parents=True)
    for image, own in lines.items():
        (folder / "labels" / f"{image}.txt").write_text("".join(own))
    (folder / "data.yaml").write_text(f"names: [{', '.join(NAMES)}]\n")


def convert(source: Path, target: Path, to: str) -> None:
    """One conversion in a process of its own, and what it took."""
    words = [str(Path(sys.executable).parent / "verite"), "convert", str(source), str(target), "--to", to, "--quiet"]
    words += ["--image-size", f"{SIZE[0]},{SIZE[1]}"] if source.is_dir() else []
    started = time.perf_counter()
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall, cpu = time.perf_counter() - started, used.ru_utime + used.ru_stime
    if status:
        sys.exit(f"{source.name} to {to}: status {status}")
    print(
        f"{source.name:>10} -> {to:<6} {cpu:6.1f} s of CPU, {wall:6.1f} s, {used.ru_maxrss / 1024:5.0f} MB", flush=True
    )


def check(path: Path, count: int) -> None:
    """Are all images and objects there, in order?"""
    document = json.loads(path.read_text())
    images = {image["id"]: Path(image["file_name"]).stem for image in document["images"]}
    names = {category["id"]: category["name"] for category in document["categories"]}
    assert list(images.values()) == [f"{i:06d}" for i in range(count)], f"{path.name}: images"
    found = [(images[a["image_id"]], names[a["category_id"]], a["bbox"]) for a in document["annotations"]]
    wanted = list(expected(count))
    assert len(found) == len(wanted), f"{path.name}: {len(found)} objects, not {len(wanted)}"
    for one, other in zip(found, wanted, strict=True):
        far = max(abs(a - b) for a, b in zip(one[2], other[2], strict=True))
        assert (one[:2], far < 1e-6) == (other[:2], True), f"{path.name}: {one}, not {other}"
    print(f"{path.name}: {count:,} images and {len(found):,} objects, the same and in the same order")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        write_labels(home / "yolo", count)
        convert(home / "yolo", home / "coco.json", "coco")
        check(home / "coco.json", count)
        for format in ("kitti", "voc"):
            convert(home / "coco.json", home / format, format)
            convert(home / format, home / f"{format}.json", "coco")
            check(home / f"{format}.json", count)


if __name__ == "__main__":
    main()
