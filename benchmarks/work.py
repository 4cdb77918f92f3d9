"""Work time of COCO's twelve numbers: reading both files and evaluating them, imports excluded, for all tools at once.

Each tool runs in a process of its own that imports it, evaluates once to warm up, and then several times; tools take
turns, round after round, and the least wall time and the least processor time of a tool are compared. The data are the
real COCO val2017 with the detectors found in `--real` (truth.json.gz and results/*.json.gz; skipped where absent),
generated sets of `coco_data.py`, and the first of these with ordinary flaws: areas as integers and text, ids as
floats, unknown keys, white space.

    python benchmarks/work.py --real ../shared/real/coco_val2017 --peers PYTHON --save benchmarks/work.json
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from coco import CASES, ON, TOO_LARGE, VERNIER_KINDS, versions
from coco_data import ensure

# By tool: imports, and the body of a function that reads, evaluates and returns the twelve numbers.
LIKE_PYCOCOTOOLS = """
    truth = COCO(TRUTH)
    evaluation = COCOeval(truth, truth.{load}(PRED), KIND)
    evaluation.evaluate(); evaluation.accumulate(); evaluation.summarize()
    return [float(value) for value in evaluation.stats]
"""
TOOLS = {
    "verite": (
        "import numpy, warnings, verite as vt, verite.protocols.coco\nwarnings.simplefilter('ignore')",
        "    truth = vt.read(TRUTH)\n"
        "    results = vt.coco(truth, vt.read(PRED, like=truth), on=ON)\n"
        "    return [float(score.value) for score in results.scores.values()]\n",
    ),
    "ultrafast-pycocotools": (
        "from ultrafast_pycocotools import COCO, COCOeval",
        LIKE_PYCOCOTOOLS.format(load="loadRes"),
    ),
    "hotcoco": ("from hotcoco import COCO, COCOeval", LIKE_PYCOCOTOOLS.format(load="load_res")),
    "vernier": (
        "from pathlib import Path\nfrom vernier.instance import Bbox, Keypoints, Segm, CocoDataset, Evaluator",
        "    truth = CocoDataset.from_json(Path(TRUTH).read_bytes())\n"
        "    evaluator = Evaluator(iou=globals()[VERNIER](), parity_mode='strict')\n"
        "    summary = evaluator.evaluate(truth, Path(PRED).read_bytes(), num_threads=THREADS)\n"
        "    return [float(value) for value in summary.stats]\n",
    ),
    "faster-coco-eval": (
        "from faster_coco_eval import COCO, COCOeval_faster as COCOeval",
        LIKE_PYCOCOTOOLS.format(load="loadRes"),
    ),
    "pycocotools": (
        "from pycocotools.coco import COCO\nfrom pycocotools.cocoeval import COCOeval",
        LIKE_PYCOCOTOOLS.format(load="loadRes"),
    ),
}
PROGRAM = """
import json, os, sys, time
TRUTH, PRED, KIND, ON, VERNIER = {truth!r}, {pred!r}, {kind!r}, {on!r}, {vernier!r}
THREADS, REPEAT = {threads}, {repeat}
standard_output = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
{imports}
def work():
{body}
def timed():
    wall, cpu = time.perf_counter(), time.process_time()
    numbers = work()
    return time.perf_counter() - wall, time.process_time() - cpu, numbers
def peak():  # kilobytes; getrusage would count the process that started this one
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
imported = peak()
runs = [timed()]
while len(runs) <= REPEAT and runs[0][0] < {slow}:
    runs.append(timed())
kept = runs[1:] or runs
found = {{"wall": min(r[0] for r in kept), "cpu": min(r[1] for r in kept), "memory": (peak() - imported) / 1024,
          "numbers": kept[-1][2]}}
os.write(standard_output, json.dumps(found).encode())
"""
SLOW = 5.0  # seconds from which a tool is timed once
ONE_THREAD = ("pycocotools", "faster-coco-eval")


@dataclass
class Row:
    """One pair of files, and the best of each tool by its number of threads."""

    name: str
    truth: Path
    pred: Path
    kind: str
    left_out: tuple[str, ...] = ()
    best: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)

    def measure(self, tool: str, threads: int, python: str, repeat: int, timeout: float) -> None:
        """Run one process of a tool and keep the least times so far."""
        imports, body = TOOLS[tool]
        program = PROGRAM.format(
            truth=str(self.truth), pred=str(self.pred), kind=self.kind, on=ON[self.kind], threads=threads,
            vernier=VERNIER_KINDS[self.kind], repeat=repeat, imports=imports, body=body, slow=SLOW,
        )  # fmt: skip
        limits = {f"{name}_NUM_THREADS": str(threads) for name in ("RAYON", "OMP", "OPENBLAS")}
        environment = os.environ | limits | {"VERITE_THREADS": str(threads)}
        try:
            done = subprocess.run(
                [python, "-c", program], env=environment, capture_output=True, text=True, timeout=timeout, check=False
            )
            found = json.loads(done.stdout) if done.returncode == 0 else {}
            error = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        except subprocess.TimeoutExpired:
            found, error = {}, f"more than {timeout:.0f} s"
        if not found:
            self.best.setdefault(
                (tool, threads), {"wall": math.inf, "cpu": math.inf, "memory": math.nan, "error": error}
            )
            return
        before = self.best.get((tool, threads), {"wall": math.inf, "cpu": math.inf})
        self.best[tool, threads] = found | {key: min(found[key], before[key]) for key in ("wall", "cpu")}

    def lines(self, threads: int) -> list[str]:
        """Return the row as Markdown: processor and wall seconds of each tool, and ratios of wall time to verite."""
        ours = self.best[("verite", threads)]
        cells = [f"{ours['cpu']:.4f} / {ours['wall']:.4f}"]
        ratios = {}
        for tool in list(TOOLS)[1:]:
            one = self.best.get((tool, threads if tool not in ONE_THREAD else 1))
            if one is None or math.isinf(one["wall"]):
                cells.append("–")
                continue
            ratios[tool] = one["wall"] / ours["wall"]
            note = "" if is_equal(one["numbers"], ours["numbers"]) else ", other numbers"
            by_cpu = f"{one['cpu'] / ours['cpu']:.1f} × CPU"
            cells.append(f"{one['wall']:.3f} ({ratios[tool]:.1f} ×, {by_cpu}, {one['memory']:.0f} MB{note})")
        least = min(ratios, key=ratios.__getitem__, default=None)
        cells.append("–" if least is None else f"{ratios[least]:.1f} × {least}")
        cells.append(f"{ours['memory']:.0f} MB")
        return [f"| {self.name} | {threads} | " + " | ".join(cells) + " |"]


def is_equal(mine: list[float], theirs: list[float]) -> bool:
    """Whether all numbers agree to the last bits; absent ones are -1 or NaN."""
    pairs = zip(mine, theirs, strict=True)
    return all(abs((-1 if a != a else a) - (-1 if b != b else b)) < 1e-9 for a, b in pairs)


def real_rows(folder: Path, scratch: Path) -> list[Row]:
    """Unpack the real ground truth and every detector's results."""
    if not (folder / "truth.json.gz").exists():
        print(f"{folder}: no real data; rows left out", file=sys.stderr)
        return []

    def unpack(path: Path) -> Path:
        found = scratch / path.name.removesuffix(".gz")
        found.write_bytes(gzip.decompress(path.read_bytes()))
        return found

    truth = unpack(folder / "truth.json.gz")
    packed = (path for path in sorted((folder / "results").glob("*.json.gz")) if ".tensorrt" not in path.name)
    return [Row(f"val2017, {path.name.removesuffix('.json.gz')}", truth, unpack(path), "bbox") for path in packed]


def flawed_row(row: Row, scratch: Path) -> Row:
    """Write the same objects as other programs do: spaces, floats for whole numbers, keys that no tool reads."""
    truth, results = json.loads(row.truth.read_text()), json.loads(row.pred.read_text())
    for number, one in enumerate(truth["annotations"]):
        one |= {"area": float(int(one["area"])) if number % 3 else int(one["area"]), "attributes": {"occluded": False}}
    for one in results:
        one |= {"image_id": float(one["image_id"]), "file_name": "x.jpg", "category_name": ""}
    paths = scratch / "flawed-truth.json", scratch / "flawed-results.json"
    for path, document in zip(paths, (truth, results), strict=True):
        path.write_text(json.dumps(document, indent=1))
    return Row(f"{row.name}, written otherwise", *paths, "bbox")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--real", type=Path, default=Path("../shared/real/coco_val2017"))
    parser.add_argument("--data", type=Path, default=Path("bench-data"), help="folder of generated data")
    parser.add_argument("--cases", default=",".join(CASES), help="generated sets, with commas between them")
    parser.add_argument("--peers", default=sys.executable, help="interpreter that has the other tools")
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=5, help="evaluations of a process")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--save", type=Path, help="write the times as JSON, too")
    given = parser.parse_args()
    threads = [int(each) for each in given.threads.split(",")]
    tools = [tool for tool in TOOLS if tool in given.tools.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        rows = real_rows(given.real, Path(folder))
        rows += [flawed_row(row, Path(folder)) for row in rows[:1]]
        for case in filter(None, given.cases.split(",")):
            kind_of_data, truth, pred, kind, about = CASES[case]
            ensure(given.data, kind_of_data)
            left_out = TOO_LARGE.get(case, ())
            rows.append(Row(f"generated: {about}", given.data / truth, given.data / pred, kind, left_out))
        rows = [row for row in rows if given.only in row.name]
        for round_number in range(given.rounds):
            for row in rows:
                for tool in (tool for tool in tools if tool not in row.left_out):
                    for count in threads if tool not in ONE_THREAD else threads[:1]:
                        slow = row.best.get((tool, count), {}).get("wall", 0) > SLOW
                        if round_number == 0 or not slow:
                            python = sys.executable if tool == "verite" else given.peers
                            row.measure(tool, count, python, given.repeat, given.timeout)
        print(versions(given.peers), "\n")
        about = "wall seconds (× verite by wall and by processor time, memory)"
        print(f"verite {version('verite')}: processor / wall seconds; others: {about}\n")
        print("| data | threads | verite | " + " | ".join(list(TOOLS)[1:]) + " | fastest other tool | memory |")
        print("|---" * (len(TOOLS) + 4) + "|")
        for count in threads:
            for row in rows:
                print("\n".join(row.lines(count)))
    if given.save:
        found = [
            {
                "data": row.name,
                "tool": tool,
                "threads": count,
                "cpu": round(best["cpu"], 5),
                "wall": round(best["wall"], 5),
            }
            for row in rows
            for (tool, count), best in row.best.items()
            if math.isfinite(best["wall"])
        ]
        given.save.write_text(json.dumps({"versions": versions(given.peers), "times": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
