"""How long do evaluate, accumulate and summarize take under pycocotools' name, compared with COCO's plain numbers?

Both in one process, alternately, on the same files: two that were loaded and not looked at (files), and the same once
every record is a dictionary (records). The plain numbers are those of `vt.coco` from files. Minima are compared.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import verite as vt
from verite.compat.pycocotools.coco import COCO
from verite.compat.pycocotools.cocoeval import COCOeval

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--data", type=Path, required=True, help="a folder of benchmarks/coco_data.py")
parser.add_argument("--repetitions", type=int, default=7)
arguments = parser.parse_args()
TRUTH = arguments.data / "coco_gt.json"
SETS = {"44,000 boxes": ("coco_dt44k.json", "bbox", "box"), "36,000 masks": ("coco_dtsegm36k.json", "segm", "mask")}


def load(path: Path, *, looks: bool) -> tuple[COCO, COCO]:
    truth = COCO(str(TRUTH))
    pred = truth.loadRes(str(path))
    for side in (truth, pred):
        assert not looks or side.anns
    return truth, pred


def evaluate(sides: tuple[COCO, COCO], kind: str) -> float:
    evaluation = COCOeval(*sides, kind)
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    return float(evaluation.stats[0])


def measure(call: Callable[[], float]) -> tuple[float, float]:
    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        found = call()
    return time.perf_counter() - start, found


warnings.simplefilter("ignore")
for name, (file, kind, on) in SETS.items():
    path = arguments.data / file
    with contextlib.redirect_stdout(io.StringIO()):
        files, records = load(path, looks=False), load(path, looks=True)
    calls: dict[str, Callable[[], float]] = {
        "vt.coco": lambda path=path, on=on: vt.coco(TRUTH, path, on=on).scores["AP"].value,  # type: ignore[misc]
        "drop-in, files": lambda files=files, kind=kind: evaluate(files, kind),  # type: ignore[misc]
        "drop-in, records": lambda records=records, kind=kind: evaluate(records, kind),  # type: ignore[misc]
    }
    times: dict[str, list[float]] = {call: [] for call in calls}
    numbers = set()
    for _ in range(arguments.repetitions + 1):
        for call, function in calls.items():
            seconds, number = measure(function)
            times[call].append(seconds)
            numbers.add(number)
    assert len(numbers) == 1, numbers
    plain = min(times["vt.coco"][1:])
    for call, seconds in times.items():
        print(f"{name}: {call} {min(seconds[1:]):.3f} s, {min(seconds[1:]) / plain:.2f} of the plain numbers")
