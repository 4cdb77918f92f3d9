"""Does memory stay flat when every public function is called again and again? `python -m tests.campaign.soak 2000`."""

from __future__ import annotations

import gc
import json
import resource
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import verite as vt

BOX = [10.0, 10.0, 40.0, 40.0]
PAGE = resource.getpagesize()
WARM = 30  # calls until caches and arenas are filled


def resident() -> int:
    """Bytes of this process that are in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def list_calls(folder: Path) -> dict[str, Callable[[], Any]]:
    """Every public function on a ground truth of one object, which is found."""
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 100}],
        "categories": [{"id": 1, "name": "cat"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": BOX, "area": 1600, "iscrowd": 0}],
    }
    sides = folder / "truth.json", folder / "pred.json"
    sides[0].write_text(json.dumps(truth))
    sides[1].write_text(json.dumps([{"image_id": 1, "category_id": 1, "bbox": BOX, "score": 0.5}]))
    (folder / "table.csv").write_text("item,truth,a,b\n1,1,1,0\n2,1,1,1\n3,0,0,1\n")
    part, maps = vt.partial(*sides), np.array([[0, 1], [1, 1]])
    known = vt.read(sides[0])

    def train() -> None:
        evaluator = vt.CocoEvaluator()
        item = {"boxes": np.array([[0.0, 0, 9, 9]]), "labels": np.array([1])}
        evaluator.update([item | {"scores": np.array([0.5])}], [item])
        evaluator.compute()

    calls: dict[str, Callable[[], Any]] = {
        name: partial(getattr(vt, name), *sides)
        for name in ("coco", "voc", "openimages", "imagenet_det", "partial", "interpret", "analyse")
    }
    return calls | {
        "read": lambda: vt.read(sides[0]),
        "refused": lambda: refuse(lambda: vt.lvis(*sides)),
        "write": lambda: vt.write(known, folder / "written.json", "coco"),
        "localize": lambda: vt.localize(*sides, "iou"),
        "semantic": lambda: vt.semantic(maps, maps),
        "rank": lambda: vt.rank(folder / "table.csv", errors=vt.annotation_errors.Bernoulli(0.05)),
        "compute": lambda: str(part.compute()),
        "merge": lambda: vt.PartialResult.from_bytes(part.to_bytes()).merge(),
        "evaluator": train,
    }


def refuse(call: Callable[[], Any]) -> None:
    try:
        call()
    except vt.VeriteError:
        return
    raise AssertionError("expected an error")


def leftovers(call: Callable[[], Any]) -> set[str]:
    """Kinds of verite's objects that wait for Python's collector after a call: it does not see their native memory."""
    call()
    gc.collect()
    gc.disable()
    try:
        call()
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found = {type(one).__qualname__ for one in gc.garbage if type(one).__module__.startswith("verite")}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    return found


def growth(call: Callable[[], Any], times: int) -> float:
    """Bytes by which memory grows with each call, once caches are filled."""
    for _ in range(WARM):
        call()
    before = resident()
    for _ in range(times):
        call()
    return (resident() - before) / times


def main(times: int) -> None:
    """Every call so many times, and what it leaves behind."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for name, call in list_calls(Path(folder)).items():
            print(f"{name:14} {growth(call, times):10.0f} bytes a call", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
