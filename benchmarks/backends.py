"""Time of the drop-ins: their three calls beside `vt.coco` in memory, and an epoch through torchmetrics' own class.

``python -m benchmarks.backends [--images 2000]`` prints user CPU seconds, the best of three. torchmetrics is measured
where it is installed (``make clients``), with faster-coco-eval and with verite under its name, in one run.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import io
import resource
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import verite as vt
import verite.compat


def user_seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """The least user CPU time of a call, threads included."""
    found = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
    return min(found)


def make_set(images: int, classes: int = 80) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Ground truth and results of about COCO's density: 7 objects and 35 predictions per image."""
    rng = np.random.default_rng(0)
    annotations, results = [], []
    for image in range(1, images + 1):
        for _ in range(int(rng.poisson(7))):
            box = [*rng.uniform(0, 400, 2), *rng.uniform(8, 200, 2)]
            category = int(rng.integers(1, classes + 1))
            record = {"image_id": image, "category_id": category, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
            annotations.append({"id": len(annotations) + 1, **record})
            for _ in range(int(rng.poisson(5))):
                noisy = (np.array(box) + rng.normal(0, 6, 4)).clip(1)
                other = category if rng.random() < 0.8 else int(rng.integers(1, classes + 1))
                score = float(rng.random())
                results.append({"image_id": image, "category_id": other, "bbox": noisy.tolist(), "score": score})
    names = [{"id": i, "name": f"class {i}", "frequency": "f"} for i in range(1, classes + 1)]
    sizes = {"width": 640, "height": 640, "neg_category_ids": [], "not_exhaustive_category_ids": []}
    return {
        "images": [{"id": i, **sizes} for i in range(1, images + 1)],
        "categories": names,
        "annotations": annotations,
    }, results


def three_calls(images: int) -> None:
    """Print the time of evaluate, accumulate and summarize of each drop-in beside vt.coco of annotations in memory."""
    truth, results = make_set(images)
    sides = vt.read(truth)
    pred = vt.read(results, like=sides)
    own = user_seconds(lambda: vt.coco(sides, pred, checks="off").summary())
    print(f"{len(truth['annotations']):,} objects, {len(results):,} predictions; user CPU seconds")
    print(f"{'vt.coco of annotations':<34}{own:7.3f}")
    own = user_seconds(lambda: vt.coco(truth, results, checks="off").summary())
    print(f"{'vt.coco of the same dictionaries':<34}{own:7.3f}")
    for name in ("pycocotools", "faster_coco_eval"):
        triple = verite.compat.backend(name)
        with contextlib.redirect_stdout(io.StringIO()):
            gt = triple.coco()
            gt.dataset = copy.deepcopy(truth)
            gt.createIndex()
            dt = gt.loadRes(copy.deepcopy(results))

        def run(triple: Any = triple, gt: Any = gt, dt: Any = dt) -> None:
            done = triple.cocoeval(gt, dt, iouType="bbox")
            for call in (done.evaluate, done.accumulate, done.summarize):
                call()

        seconds = user_seconds(run)
        print(f"{f'{name}, three calls':<34}{seconds:7.3f}   {seconds / own:5.2f} × vt.coco of dictionaries")
    from verite.compat.lvis import LVIS, LVISEval, LVISResults

    ground = LVIS(copy.deepcopy(truth))
    found = LVISResults(ground, copy.deepcopy(results))
    seconds = user_seconds(lambda: LVISEval(ground, found, "bbox").run())
    lvis_truth = vt.read(truth)
    own = user_seconds(lambda: vt.lvis(lvis_truth, vt.read(results, like=lvis_truth), checks="off").summary())
    print(f"{'lvis, run()':<34}{seconds:7.3f}   {seconds / own:5.2f} × vt.lvis from the same records")


def epoch(images: int) -> None:
    """Print the time of an epoch through torchmetrics' own class, with faster-coco-eval and with verite."""
    from tests.compat.torchvision_operators import define_operators

    try:
        define_operators()
        import torch
        from torchmetrics.detection import MeanAveragePrecision
    except ImportError:
        print("torchmetrics is not installed: make clients")
        return
    truth, results = make_set(images)
    by_image: dict[str, dict[int, list[Any]]] = {"gt": {}, "dt": {}}
    for side, records in (("gt", truth["annotations"]), ("dt", results)):
        for record in records:
            by_image[side].setdefault(record["image_id"], []).append(record)

    def item(records: list[Any], *, is_pred: bool) -> dict[str, Any]:
        found = {
            "boxes": torch.tensor([one["bbox"] for one in records]).reshape(-1, 4),
            "labels": torch.tensor([one["category_id"] for one in records], dtype=torch.int64),
        }
        return found | ({"scores": torch.tensor([one["score"] for one in records])} if is_pred else {})

    ids = range(1, images + 1)
    preds = [item(by_image["dt"].get(i, []), is_pred=True) for i in ids]
    targets = [item(by_image["gt"].get(i, []), is_pred=False) for i in ids]

    def run() -> None:
        metric = MeanAveragePrecision(box_format="xywh", backend="faster_coco_eval")
        metric.warn_on_many_detections = False
        metric.update(preds, targets)
        metric.compute()

    theirs = user_seconds(run)
    with verite.compat.install_as_faster_coco_eval():
        ours = user_seconds(run)
    print(f"an epoch through torchmetrics: faster-coco-eval {theirs:.3f}, verite {ours:.3f}: {theirs / ours:.2f} ×")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=2000)
    asked = parser.parse_args()
    three_calls(asked.images)
    epoch(asked.images)
