"""What does each protocol cost beside `verite coco` on the same boxes?

Without options: generated cars, pedestrians and cyclists (5,000 images, 100,000 predictions). With `--real FOLDER`: a
COCO ground truth (`truth.json.gz`) and one result file. Printed are processor seconds for reading both files and
evaluating, checks off, one thread, imports excluded, the least of several rounds, and the quotient to coco's; 1.5 is
the goal. OC-cost is assigned over all pairs of an image and has none.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from coco_data import Scene, image_records, write_boxes, write_truth

import verite as vt

NAMES = ("Car", "Pedestrian", "Cyclist")
PROTOCOLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "coco": (vt.coco, {"threads": 1}),
    "voc": (vt.voc, {"threads": 1}),
    "f1": (vt.f1, {"threads": 1}),
    "miss-rate": (vt.miss_rate, {"threads": 1}),
    "wider": (vt.wider, {"threads": 1}),
    "kitti": (vt.kitti, {"threads": 1}),
    "oc-cost": (vt.oc_cost, {"confidence": 0.3}),
}


def make_files(folder: Path, images: int, boxes: int) -> tuple[Path, Path]:
    """Write ground truth and predictions of three classes."""
    scene = Scene(np.random.default_rng(0), images, len(NAMES), 7.4, 3.0)
    ids = np.arange(1, len(NAMES) + 1)
    truth, pred = folder / "truth.json", folder / "pred.json"
    categories = [{"id": int(id), "name": name} for id, name in zip(ids, NAMES, strict=True)]
    write_truth(truth, scene, ids, image_records(scene), categories)
    write_boxes(pred, scene, ids, boxes, 0.92, "short")
    return truth, pred


def seconds(name: str, truth: Path, pred: Path) -> float:
    """Processor seconds of one reading and evaluation."""
    evaluate, settings = PROTOCOLS[name]
    before = time.process_time()
    known = vt.read(truth)
    evaluate(known, vt.read(pred, like=known), checks="off", **settings)
    return time.process_time() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--boxes", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--real", type=Path, help="folder with truth.json.gz and results/")
    parser.add_argument("--results", default="yolo-v3.json.gz", help="file in results/ of --real")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.real:
            truth, pred = given.real / "truth.json.gz", given.real / "results" / given.results
        else:
            truth, pred = make_files(Path(folder), given.images, given.boxes)
        found: dict[str, list[float]] = {name: [] for name in PROTOCOLS}
        for _ in range(given.rounds):  # in turn, so that load on the machine meets all
            for name, values in found.items():
                values.append(seconds(name, truth, pred))
    base = min(found["coco"])
    print("| protocol | CPU seconds | × coco |\n|---|---|---|")
    for name, values in found.items():
        print(f"| {name} | {min(values):.3f} | {min(values) / base:.2f} |")


if __name__ == "__main__":
    main()
