"""What does `verite f1` cost beside `verite coco`, and how do real detectors rank by it?

Without options: processor time of both commands on 5,000 images with 500,000 predictions made from a seed, and the
quotient (at most 1.5 is allowed). With `--real FOLDER`: a ground truth and the results of several detectors; for each
one AP, the confidence of its best F1 at IoU 0.5, and precision, recall and F1 at that confidence; then the bounds of
AP if the confidences of these decisions are dropped, and AP in an order of rising and of falling IoU, which shows how
far the bounds may be from what an order reaches.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
from coco_data import Scene, image_records, write_boxes, write_truth

import verite as vt
from verite.reporting.draw import Overlay


def make_files(folder: Path, images: int, boxes: int, seed: int = 0) -> tuple[Path, Path, Path]:
    """Write ground truth, predictions, and predictions without confidences."""
    scene = Scene(np.random.default_rng(seed), images, 80, 7.4, 3.0)
    ids = np.arange(1, 81)
    categories = [{"id": int(id), "name": f"class {id}"} for id in ids]
    truth, scored, bare = folder / "truth.json", folder / "scored.json", folder / "bare.json"
    write_truth(truth, scene, ids, image_records(scene), categories)
    write_boxes(scored, scene, ids, boxes, 0.92, "short")
    records = json.loads(scored.read_text())
    for record in records:
        del record["score"]
    bare.write_text(json.dumps(records, separators=(",", ":")))
    return truth, scored, bare


def processor_seconds(*words: str) -> float:
    """User and system time of one command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "verite", *words, "-q", "-j", "1"], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def time_commands(images: int, boxes: int, repetitions: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        truth, scored, bare = make_files(Path(folder), images, boxes)
        lines = {
            "coco": ("coco", str(truth), str(scored)),
            "f1": ("f1", str(truth), str(bare)),
            "f1 --match greedy": ("f1", str(truth), str(bare), "--match", "greedy"),
        }
        found: dict[str, list[float]] = {name: [] for name in lines}
        for _ in range(repetitions):
            for name, words in lines.items():
                found[name].append(processor_seconds(*words))
    base = median(found["coco"])
    print(f"{images:,} images, {boxes:,} predictions, one thread, median of {repetitions}")
    print("| command | processor | of coco |\n|---|---|---|")
    for name, seconds in found.items():
        print(f"| {name} | {median(seconds):.2f} s | {median(seconds) / base:.2f} |")


def rank_real(folder: Path) -> None:
    """Print AP and, at the confidence of the best F1, precision, recall and F1 of every detector."""
    truth = vt.read(folder / "truth.json.gz")
    rows, ranges = [], []
    for path in sorted((folder / "results").glob("*.json.gz")):
        if ".tensorrt" in path.name:
            continue
        pred = vt.read(path, like=truth)
        ap = vt.coco(truth, pred)
        best = Overlay(ap, 0.5).best_confidence
        found = vt.f1(truth, pred, confidence=best)
        values = [found[name].value for name in ("F1", "F1@0.50", "precision@0.50", "recall@0.50", "macro_F1")]
        rows.append((path.name.removesuffix(".json.gz"), ap["AP"].value, best, *values))
        ranges.append(order_range(truth, pred.where(pred.confidence >= best)))
    by_ap = [row[0] for row in sorted(rows, key=lambda row: -row[1])]
    print("| detector | F1 | rank by AP | AP | confidence | F1@0.50 | precision@0.50 | recall@0.50 | macro F1 |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, ap, best, f1, *rest in sorted(rows, key=lambda row: -row[3]):
        numbers = " | ".join(f"{value:.4f}" for value in rest)
        print(f"| {name} | {f1:.4f} | {by_ap.index(name) + 1} | {ap:.4f} | {best:.3f} | {numbers} |")
    print(
        "\n| detector | AP50, all orders | exact | AP, bounds | exact | AP in two orders |\n|---|---|---|---|---|---|"
    )
    for row, own in sorted(zip(rows, ranges, strict=True), key=lambda pair: -pair[0][3]):
        print(f"| {row[0]} | {' | '.join(own)} |")


def order_range(truth: vt.Annotations, pred: vt.Annotations) -> list[str]:
    """Return the bounds of AP50 and AP over all orders, whether they are exact, and AP by rising and falling IoU."""
    found = vt.f1(truth, replace(pred, confidence=None), iou=(0.5,), checks="off")
    mean = vt.f1(truth, replace(pred, confidence=None), checks="off")
    layout = mean.evaluation.layout
    offsets, _, iou = layout.candidates
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    highest, matched = np.zeros((2, len(pred)))
    rows = layout.preds[0]
    np.maximum.at(highest, rows[owner], iou)
    chosen = layout.is_matched(0)
    matched[rows[owner[chosen]]] = iou[chosen]
    orders = [vt.coco(truth, replace(pred, confidence=own), checks="off")["AP"].value for own in (-highest, matched)]
    cells = []
    for bounds in (found.mean_bounds, mean.mean_bounds):
        cells += [f"{bounds.low:.4f} to {bounds.high:.4f}", " and ".join("yes" if one else "no" for one in bounds[2:])]
    return [*cells, f"{orders[0]:.4f}, {orders[1]:.4f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=5_000)
    parser.add_argument("--boxes", type=int, default=500_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--real", type=Path)
    given = parser.parse_args()
    if given.real is not None:
        rank_real(given.real)
    else:
        time_commands(given.images, given.boxes, given.repetitions)


if __name__ == "__main__":
    main()
