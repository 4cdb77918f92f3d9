"""How long do evaluate, accumulate and summarize take under pycocotools' name, compared with COCO's plain numbers?

All in one process, alternately, on the same data: the three calls on two files that were loaded and not looked at
(files) and on dictionaries, as evaluators hand them over (dictionaries); beside them `vt.coco` on the same files and on
the same dictionaries, reading included. Minima are compared with those of `vt.coco` on files: of time, and of CPU time,
which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
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


def measure(call: Callable[[], float]) -> tuple[float, float, float]:
    start, before = time.perf_counter(), time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        found = call()
    return time.perf_counter() - start, time.process_time() - before, found


warnings.simplefilter("ignore")
for name, (file, kind, on) in SETS.items():
    path = arguments.data / file
    with contextlib.redirect_stdout(io.StringIO()):
        files, records = load(path, looks=False), load(path, looks=True)
    documents = [json.loads(one.read_bytes()) for one in (TRUTH, path)]
    calls: dict[str, Callable[[], float]] = {
        "vt.coco, files": lambda path=path, on=on: vt.coco(TRUTH, path, on=on).scores["AP"].value,  # type: ignore[misc]
        "drop-in, files": lambda files=files, kind=kind: evaluate(files, kind),  # type: ignore[misc]
        "vt.coco, dictionaries": lambda documents=documents, on=on: vt.coco(*documents, on=on).scores["AP"].value,  # type: ignore[misc]
        "drop-in, dictionaries": lambda records=records, kind=kind: evaluate(records, kind),  # type: ignore[misc]
    }
    times: dict[str, list[tuple[float, float]]] = {call: [] for call in calls}
    numbers = set()
    for _ in range(arguments.repetitions + 1):
        for call, function in calls.items():
            seconds, cpu, number = measure(function)
            times[call].append((seconds, cpu))
            numbers.add(number)
    assert len(numbers) == 1, numbers
    least = {call: [min(column) for column in zip(*rows[1:], strict=True)] for call, rows in times.items()}
    plain = least["vt.coco, files"]
    for call, (seconds, cpu) in least.items():
        ratios = f"{seconds / plain[0]:.2f} of the time and {cpu / plain[1]:.2f} of the CPU time of vt.coco on files"
        print(f"{name}: {call} {seconds:.3f} s, {ratios}")
