"""The whole analysis of COCO's validation size against `verite coco`, and three parts against hotcoco, end to end.

Goals: everything without resampling within twice `verite coco` and two seconds, in 300 MB; errors, confusion and
calibration at one threshold faster than hotcoco's evaluation, TIDE, confusion and calibration in one process. Programs
run alternately, each in a process of its own; the least time of each counts.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

MAIN = "from verite.cli import main; main([{words}])"
HOTCOCO = """
from hotcoco import COCO, COCOeval
truth = COCO({truth!r})
evaluation = COCOeval(truth, truth.load_res({pred!r}), "bbox")
evaluation.evaluate()
evaluation.accumulate()
evaluation.tide_errors()
evaluation.confusion_matrix()
evaluation.calibration()
"""


def measure(python: str, program: str) -> tuple[float, float]:
    """Seconds and megabytes of one program."""
    start = time.perf_counter()
    process = subprocess.Popen([python, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"analysis: expected a program that ends well, found status {status}:\n{program}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def programs(truth: str, pred: str) -> dict[str, str]:
    def words(*given: str) -> str:
        return MAIN.format(words=", ".join(map(repr, given)))

    few = ("--only", "errors,confusion,calibration", "-t", "0.5", "--checks", "off")
    return {
        "verite coco": words("coco", truth, pred, "--json"),
        "verite analyse": words("analyse", truth, pred, "--json"),
        "verite analyse, three parts at 0.5": words("analyse", truth, pred, "--json", *few),
        "hotcoco, the same": HOTCOCO.format(truth=truth, pred=pred),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with coco_gt.json and coco_dt500k.json")
    parser.add_argument("--peer", help="a python that has hotcoco; without it, ours is tried")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    asked = programs(str(given.data / "coco_gt.json"), str(given.data / "coco_dt500k.json"))
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in asked}
    for _ in range(given.rounds):
        for name, program in asked.items():
            python = given.peer if given.peer and name.startswith("hotcoco") else sys.executable
            found[name].append(measure(python, program))
    best = {name: (min(t for t, _ in runs), max(m for _, m in runs)) for name, runs in found.items()}
    for name, (seconds, megabytes) in best.items():
        print(f"{name:36} {seconds:7.2f} s {megabytes:7.0f} MB")
    goal = 2 * best["verite coco"][0] + 2
    print(f"goal of the whole analysis: {goal:.2f} s, 300 MB; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
