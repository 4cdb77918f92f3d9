"""What does one image with 100,000 boxes of one class cost, of which each meets a few others?

Processor time of one thread and the peak of memory, after each verb; `voc` may take a second, `localize` and
`interpret` two.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np

import verite as vt

SIDE = 20_000


def make_sides(count: int, seed: int = 0) -> tuple[vt.Annotations, vt.Annotations]:
    """Boxes anywhere in a large picture, and the same a pixel or so beside."""
    rng = np.random.default_rng(seed)
    sides = np.exp(rng.normal(2.5, 0.8, (count, 2)))
    start = rng.random((count, 2)) * (SIDE - sides)
    boxes = np.concatenate([start, start + sides], axis=1)
    found = boxes + rng.normal(0, 1, boxes.shape)
    found[:, 2:] = np.maximum(found[:, 2:], found[:, :2] + 1)
    images, labels, sizes = ["a"] * count, ["cat"] * count, {"a": (SIDE, SIDE)}
    truth = vt.Annotations.of(images, labels, boxes, sizes=sizes)
    return truth, vt.Annotations.of(images, labels, found, confidence=rng.random(count), sizes=sizes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boxes", type=int, default=100_000)
    truth, pred = make_sides(parser.parse_args().boxes)
    verbs: dict[str, Callable[[], object]] = {
        "voc": lambda: vt.voc(truth, pred, threads=1),
        "coco": lambda: vt.coco(truth, pred, threads=1),
        "localize": lambda: vt.localize(truth, pred, "iou"),
        "interpret": lambda: vt.scene_score(truth, pred),
        "interpret, one to one": lambda: vt.scene_score(truth, pred, matching="one-to-one"),
    }
    print("| verb | processor | peak of memory |\n|---|---|---|")
    for name, verb in verbs.items():
        before = time.process_time()
        verb()
        spent, peak = time.process_time() - before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"| {name} | {spent:.2f} s | {peak:.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
