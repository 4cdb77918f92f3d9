"""How far does it go? Evaluations in parts: processor time and memory of shards, of merging, and of training loops.

`.venv/bin/python benchmarks/scale.py` takes 1 and 6 million boxes; `--millions 1 6 20 100` is the whole table. Shards
of a million boxes are made from a seed; from the fifth on files are used again with other image ids, so that a hundred
need no more room on the disk than four.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

VERITE = str(Path(sys.executable).parent / "verite")
IMAGES, PER_IMAGE, TRUTHS, CLASSES = 10_000, 100, 7, 80  # of a shard
FILES = 4


def write_shard(folder: Path, number: int) -> None:
    """A truth of 10,000 images and a million predictions, a tenth of them near a truth, confidences of four digits."""
    if (folder / f"dt-{number}.json").exists():
        return
    rng = np.random.default_rng(number)
    ids = np.arange(IMAGES) + number * IMAGES
    corner = rng.uniform(0, 500, (IMAGES, TRUTHS, 2))
    truths = np.concatenate([corner, rng.uniform(10, 140, corner.shape)], axis=2).round(2)
    labels = rng.integers(1, CLASSES + 1, (IMAGES, TRUTHS))
    annotations = [
        {"id": int(i * TRUTHS + j + 1), "image_id": int(ids[i]), "category_id": int(labels[i, j]), "iscrowd": 0,
         "bbox": truths[i, j].tolist(), "area": round(float(truths[i, j, 2] * truths[i, j, 3]), 2)}
        for i in range(IMAGES) for j in range(TRUTHS)
    ]  # fmt: skip
    images = [{"id": int(i), "file_name": f"{i}.jpg", "width": 640, "height": 640} for i in ids]
    categories = [{"id": c, "name": f"class {c}"} for c in range(1, CLASSES + 1)]
    document = {"images": images, "annotations": annotations, "categories": categories}
    (folder / f"gt-{number}.json").write_text(json.dumps(document))
    lines = []
    for i in range(IMAGES):
        near = rng.integers(0, TRUTHS, 10)
        boxes = np.concatenate([rng.uniform(0, 500, (PER_IMAGE - 10, 2)), rng.uniform(10, 140, (PER_IMAGE - 10, 2))], 1)
        boxes = np.concatenate([truths[i, near] + rng.normal(0, 4, (10, 4)), boxes]).round(2)
        boxes[:, 2:] = np.maximum(boxes[:, 2:], 1)
        own = np.concatenate([labels[i, near], rng.integers(1, CLASSES + 1, PER_IMAGE - 10)])
        scores = np.concatenate([rng.beta(5, 2, 10), rng.beta(1, 6, PER_IMAGE - 10)]).round(4)
        lines += [
            f'{{"image_id":{ids[i]},"category_id":{c},"bbox":[{x},{y},{w},{h}],"score":{s}}}'
            for c, (x, y, w, h), s in zip(own.tolist(), boxes.tolist(), scores.tolist(), strict=True)
        ]
    (folder / f"dt-{number}.json").write_text("[" + ",\n".join(lines) + "]")


def write_shards(folder: Path, count: int) -> None:
    """In a process of its own: what a process was before it became another one counts as its memory."""
    with ProcessPoolExecutor(1) as pool:
        list(pool.map(write_shard, [folder] * count, range(count)))


def run(*words: object) -> tuple[float, int]:
    """Processor seconds and peak MB of a command."""
    process = subprocess.Popen([VERITE, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(said.decode())
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def shard_words(folder: Path, number: int) -> list[object]:
    """The files of a shard, and the number added to their image ids."""
    again = number // FILES * FILES * IMAGES
    files = folder / f"gt-{number % FILES}.json", folder / f"dt-{number % FILES}.json"
    return [*files, "--truth-image-offset", again, "--pred-image-offset", again, "-j", 1, "-q"]


def make_part(job: tuple[Path, int]) -> tuple[float, int]:
    folder, number = job
    return run("partial", "coco", *shard_words(folder, number), "-o", folder / f"{number}.part")


def measure_parts(folder: Path, millions: int) -> None:
    """A row of the table: as many shards as millions."""
    write_shards(folder, min(millions, FILES))
    used = [make_part((folder, number)) for number in range(millions)]
    parts = [folder / f"{number}.part" for number in range(millions)]
    merging, peak = run("merge", *parts, "--quiet", "-j", 1)
    size = sum(part.stat().st_size for part in parts) / (millions * 1e6)
    mapping = sum(cpu for cpu, _ in used)
    print(
        f"| {millions} M | {mapping:.1f} s | {merging:.1f} s | {mapping + merging:.1f} s | "
        f"{max(mb for _, mb in used)} MB | {peak} MB | {size:.2f} |",
        flush=True,
    )
    for part in parts:
        part.unlink()


def measure_map(folder: Path) -> None:
    """What a part costs beside the numbers themselves, and two processes beside one; alternately, the best of five."""
    write_shards(folder, FILES)
    ways = {"verite coco": ("coco",), "verite partial coco": ("partial", "coco")}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(5):
        for name, verb in ways.items():
            more = ["-o", folder / "x.part"] if len(verb) > 1 else []
            found[name].append(run(*verb, *shard_words(folder, 0), *more)[0])
    one, two = (min(times) for times in found.values())
    print(f"map: {two:.2f} s against {one:.2f} s of the direct way, {two / one:.2f} × (at most 1.15)")
    walls = []
    for workers in (1, 2):
        with ProcessPoolExecutor(workers) as pool:
            start = time.perf_counter()
            list(pool.map(make_part, [(folder, number) for number in range(FILES)]))
            walls.append(time.perf_counter() - start)
    print(f"two processes: {walls[0] / walls[1]:.2f} × as fast as one (at least 1.7)")


def measure_evaluator(images: int) -> None:
    """Batches of 16 images: what an update costs at first and in the end."""
    import verite as vt

    rng = np.random.default_rng(0)
    pool = []
    for _ in range(512):
        corner = rng.uniform(0, 500, (7, 2))
        truth = np.hstack([corner, corner + rng.uniform(20, 120, (7, 2))])
        other = rng.uniform(0, 500, (2, 2))
        pred = np.vstack([truth + rng.normal(0, 4, truth.shape), np.hstack([other, other + 60])])
        labels = rng.integers(1, 81, 7)
        scores = rng.random(9, dtype=np.float32)
        pool.append(
            ({"boxes": pred.astype(np.float32), "scores": scores, "labels": np.append(labels, [1, 2])},
             {"boxes": truth, "labels": labels})
        )  # fmt: skip
    loop = vt.CocoEvaluator(labels={i: str(i) for i in range(1, 81)}, checks="off")
    marks, start, step = [], time.process_time(), 20_000
    for first in range(0, images, 16):
        batch = [pool[(first + 7 * k) % 512] for k in range(16)]
        loop.update([p for p, _ in batch], [{**t, "image_id": first + k} for k, (_, t) in enumerate(batch)])
        if (first + 16) // step > first // step:
            now = time.process_time()
            marks.append((now - start) / step * 16 * 1e3)
            start = now
    start = time.process_time()
    loop.compute()
    took = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    half = max(1, len(marks) // 2)
    late = sum(marks[half:] or marks) / len(marks[half:] or marks)
    print(
        f"CocoEvaluator, {images:,} images in batches of 16: {marks[0]:.2f} ms an update up to 20,000 images, "
        f"{late:.2f} ms over the last half ({late / marks[0]:.2f} ×, at most 1.2); compute {took:.2f} s, {peak} MB"
    )


def measure_masks() -> None:
    """An update with masks beside pycocotools' encode alone; alternately, the best of seven."""
    from pycocotools import mask

    import verite as vt

    rng = np.random.default_rng(0)
    rows, columns = np.mgrid[:480, :640]
    pixels = np.zeros((20, 480, 640), dtype=np.uint8)
    for own in pixels:
        y, x, r = rng.uniform(60, 420), rng.uniform(60, 580), rng.uniform(20, 90)
        own[(rows - y) ** 2 + (columns - x) ** 2 < r * r] = 1
    sides = {"masks": pixels, "labels": np.ones(20, int)}
    ours, theirs = [], []
    for _ in range(7):
        loop = vt.CocoEvaluator(on="mask", checks="off")
        start = time.process_time()
        for _ in range(8):
            loop.update({**sides, "scores": np.linspace(0, 1, 20)}, sides)
        ours.append(time.process_time() - start)
        start = time.process_time()
        for _ in range(16):
            mask.encode(np.asfortranarray(pixels.transpose(1, 2, 0)))
        theirs.append(time.process_time() - start)
    print(
        f"masks: update {min(ours) / 8 * 1e3:.1f} ms, pycocotools' encode of the same masks "
        f"{min(theirs) / 8 * 1e3:.1f} ms ({min(ours) / min(theirs):.2f} ×, at most 1)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None, help="where shards are kept; removed afterwards if none")
    parser.add_argument("--millions", type=int, nargs="*", default=[1, 6], help="boxes, in millions")
    parser.add_argument("--images", type=int, default=200_000, help="images of the training loop; 1000000 is the whole")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.data or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        print("| boxes | map | merge | together | memory of a map | of the merge | bytes per box |")
        print("|---|---|---|---|---|---|---|")
        for millions in asked.millions:
            measure_parts(folder, millions)
        measure_map(folder)
    measure_evaluator(asked.images)
    try:
        measure_masks()
    except ImportError:
        print("masks: pycocotools is not installed")


if __name__ == "__main__":
    main()
