"""Rotated boxes against hotcoco's: processor time for each pair of a truth and a prediction of an image, on one thread.

The same files, with `obb` in radians as hotcoco has it, are read by both; what is timed is the evaluation (similarities
and who takes whom), and the whole process beside it. `near` has every pair of an image overlap, so that polygons are
clipped; in `spread` most pairs are apart, as ships in a harbour are. Programs run alternately, each in a process of its
own; the minimum is compared, and AP must be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

IMAGES, EACH = 200, 60
SCENES = {"near": 25.0, "spread": 900.0}  # pixels over which the centres of an image are spread
VERITE = """
import time, verite as vt
truth = vt.read({truth!r})
pred = vt.read({pred!r}, like=truth)
vt.coco(truth, pred, on="box", threads=1, checks="off")  # what is imported and read when first asked for
started = time.process_time()
results = vt.coco(truth, pred, on="rotated", threads=1, checks="off")
print(time.process_time() - started, results["AP"].value)
"""
HOTCOCO = """
import contextlib, io, time
from hotcoco import COCO, COCOeval
with contextlib.redirect_stdout(io.StringIO()):
    truth = COCO({truth!r})
    evaluation = COCOeval(truth, truth.load_res({pred!r}), "obb")
started = time.process_time()
evaluation.evaluate(); evaluation.accumulate()
spent = time.process_time() - started
evaluation.summarize()
print(spent, float(evaluation.stats[0]))
"""


def make_scene(folder: Path, name: str, spread: float) -> dict[str, str]:
    """Boxes of 20 to 80 pixels at all angles, and predictions a little off."""
    rng = np.random.default_rng(0)
    images = [{"id": i, "width": 1000, "height": 1000, "file_name": f"{i}.jpg"} for i in range(1, IMAGES + 1)]
    truths, preds = [], []
    for image in images:
        low, size = (1000 - spread) / 2, (EACH, 2)
        boxes = np.hstack(
            [low + spread * rng.random(size), 20 + 60 * rng.random(size), rng.uniform(-1.5, 1.5, (EACH, 1))]
        )
        for side, five in ((truths, boxes), (preds, boxes + rng.normal(0, [3, 3, 3, 3, 0.05], boxes.shape))):
            for x, y, width, height, angle in five.tolist():
                upright = [x - width / 2, y - height / 2, width, height]
                common = {"image_id": image["id"], "category_id": 1, "obb": [x, y, width, height, angle]}
                more = {"id": len(side) + 1, "iscrowd": 0} if side is truths else {"score": float(rng.random())}
                side.append(common | {"bbox": upright, "area": width * height} | more)
    paths = {"truth": str(folder / f"{name}-truth.json"), "pred": str(folder / f"{name}-pred.json")}
    document = {"images": images, "annotations": truths, "categories": [{"id": 1, "name": "ship"}]}
    Path(paths["truth"]).write_text(json.dumps(document))
    Path(paths["pred"]).write_text(json.dumps(preds))
    return paths


def measure(python: str, program: str, paths: dict[str, str]) -> tuple[float, float, float]:
    """Processor seconds of the evaluation, seconds of the whole process, and AP."""
    one = {f"{name}_NUM_THREADS": "1" for name in ("RAYON", "OMP", "OPENBLAS")} | {"VERITE_THREADS": "1"}
    started = time.perf_counter()
    done = subprocess.run(
        [python, "-c", program.format(**paths)], env=os.environ | one, capture_output=True, text=True, check=True
    )
    wall = time.perf_counter() - started
    spent, ap = map(float, done.stdout.split()[-2:])
    return spent, wall, ap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default=sys.executable, help="interpreter that has hotcoco")
    parser.add_argument("--repetitions", type=int, default=5)
    given = parser.parse_args()
    programs = {"verite": (sys.executable, VERITE), "hotcoco": (given.peers, HOTCOCO)}
    pairs = IMAGES * EACH * EACH
    print(f"| scene | tool | evaluation | each of {pairs:,} pairs | whole process | AP |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, spread in SCENES.items():
            paths = make_scene(Path(folder), name, spread)
            runs: dict[str, list[tuple[float, float, float]]] = {tool: [] for tool in programs}
            for _ in range(given.repetitions):
                for tool, (python, program) in programs.items():
                    runs[tool].append(measure(python, program, paths))
            for tool, done in runs.items():
                spent, wall = min(one[0] for one in done), min(one[1] for one in done)
                each = f"{1e9 * spent / pairs:.0f} ns"
                print(f"| {name} | {tool} | {spent:.3f} s | {each} | {wall:.3f} s | {done[0][2]:.4f} |")


if __name__ == "__main__":
    main()
