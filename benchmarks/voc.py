"""Average precision at IoU 0.5 from 500,000 COCO result boxes, end to end, against tools that compute it.

The others evaluate at the single threshold 0.5, all areas, 100 detections an image: the least they can do.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

VERITE = """
import verite as vt
truth = vt.read({truth!r})
pred = vt.read({pred!r}, like=truth)
print(vt.voc(truth, pred).scores["mAP"].value)
"""
COCO_LIKE = """
import contextlib, io, numpy as np
{imports}
with contextlib.redirect_stdout(io.StringIO()):
    truth = COCO({truth!r})
    e = COCOeval(truth, truth.{load}({pred!r}), "bbox")
    e.params.{thresholds} = np.array([0.5]){listed}
    e.params.{areas} = [[0, 1e10]]
    e.params.{area_names} = ["all"]
    e.params.{most} = [100]
    e.evaluate(); e.accumulate()
p = np.asarray(e.eval["precision"])
print(p[p > -1].mean())
"""
CAMEL = {"load": "loadRes", "thresholds": "iouThrs", "areas": "areaRng", "area_names": "areaRngLbl", "most": "maxDets"}
SNAKE = {
    "load": "load_res",
    "thresholds": "iou_thrs",
    "areas": "area_rng",
    "area_names": "area_rng_lbl",
    "most": "max_dets",
}
PEERS = {
    "pycocotools": ("from pycocotools.coco import COCO\nfrom pycocotools.cocoeval import COCOeval", CAMEL, ""),
    "faster-coco-eval": ("from faster_coco_eval import COCO, COCOeval_faster as COCOeval", CAMEL, ""),
    "hotcoco": ("from hotcoco import COCO, COCOeval", SNAKE, ".tolist()"),
    "ultrafast-pycocotools": ("from ultrafast_pycocotools import COCO, COCOeval", CAMEL, ""),
}
SLOW = 5.0  # seconds from which a tool is run once


def program(tool: str, truth: Path, pred: Path) -> str:
    if tool == "verite":
        return VERITE.format(truth=str(truth), pred=str(pred))
    imports, names, listed = PEERS[tool]
    return COCO_LIKE.format(imports=imports, truth=str(truth), pred=str(pred), listed=listed, **names)


def measured(python: str, text: str, threads: int) -> tuple[float, float, str]:
    """Wall seconds, peak megabytes and the printed value of a cold process."""
    environment = os.environ | {f"{name}_NUM_THREADS": str(threads) for name in ("RAYON", "OMP", "OPENBLAS")}
    report = "\nimport resource, sys; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    started = time.perf_counter()
    done = subprocess.run([python, "-c", text + report], env=environment, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - started
    if done.returncode:
        return float("nan"), float("nan"), done.stderr.strip().splitlines()[-1][:80]
    return wall, int(done.stderr.split()[-1]) / 1024, done.stdout.split()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with coco_gt.json and coco_dt500k.json")
    parser.add_argument("--peers", default=sys.executable, help="interpreter that has the other tools")
    parser.add_argument("--tools", default=",".join(["verite", *PEERS]))
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    given = parser.parse_args()
    truth, pred = given.data / "coco_gt.json", given.data / "coco_dt500k.json"
    runs: dict[str, list[tuple[float, float, str]]] = {tool: [] for tool in given.tools.split(",")}
    for _ in range(given.repetitions):
        for tool, done in runs.items():
            if done and not done[0][0] < SLOW:
                continue
            python = sys.executable if tool == "verite" else given.peers
            done.append(measured(python, program(tool, truth, pred), given.threads))
    ours = min(run[0] for run in runs["verite"])
    print(f"{'tool':<24}{'wall min':>10}{'median':>10}{'MB':>8}{'× verite':>10}   AP at IoU 0.5")
    for tool, done in runs.items():
        walls = [run[0] for run in done]
        row = f"{min(walls):>9.3f}s{statistics.median(walls):>9.3f}s{done[-1][1]:>8.0f}{min(walls) / ours:>10.2f}"
        print(f"{tool:<24}{row}   {done[-1][2]}")
    if given.json:
        given.json.write_text(json.dumps(runs, indent=1) + "\n")


if __name__ == "__main__":
    main()
