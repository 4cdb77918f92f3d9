"""COCO's twelve numbers from files, whole processes from start to printed numbers, against the tools people use.

Every tool runs in a cold process of its own with one and with two threads. Repetitions are interleaved, a first one is
not counted, and the minimum and the median are printed with the least processor time and ratios of the minima. All
numbers are compared with pycocotools' where it was run, else with verite's. The same data are also asked other ways:
with classes together, by boundaries, with pycocotools' odd ways, by the drop-in, as Pascal VOC or LVIS, from memory.

What was measured is kept beside the data, case by case, so that the table may be made in parts: every run prints all
cases that are known by then. `--minutes` ends a case's repetitions after that time, but for the first.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from coco_data import ensure

CASES = {
    "44k": ("coco", "coco_gt.json", "coco_dt44k.json", "bbox", "5,000 images, 44,000 boxes"),
    "500k": ("coco", "coco_gt.json", "coco_dt500k.json", "bbox", "5,000 images, 500,000 boxes"),
    "masks": ("coco", "coco_gt.json", "coco_dtsegm36k.json", "segm", "5,000 images, 36,000 masks"),
    "poses": ("poses", "poses_gt.json", "poses_dt.json", "keypoints", "5,000 images, 100,000 poses"),
    "o365": ("o365", "o365_gt.json", "o365_dt.json", "bbox", "80,000 images, 1.2 million truths, 1.2 million boxes"),
    "lvis": ("lvis", "lvis_gt.json", "lvis_dt.json", "bbox", "20,000 images, 1,203 classes, 6 million boxes"),
}
ON = {"bbox": "box", "segm": "mask", "keypoints": "keypoints"}
VERNIER_KINDS = {"bbox": "Bbox", "segm": "Segm", "keypoints": "Keypoints"}
VERITE = """
import verite as vt
truth = vt.read({truth!r})
results = vt.{way}
print(results)
print([score.value for score in results.scores.values()])
"""
PLAIN = "coco(truth, vt.read({pred!r}, like=truth), on={on!r})"
# What is in memory already: seconds of the evaluation alone.
MEMORY_COCO = """
import time, numpy, verite as vt
truth = vt.read({truth!r})
pred = vt.read({pred!r}, like=truth)
started = time.perf_counter()
print(vt.coco(truth, pred, on={on!r}))
print("elapsed", time.perf_counter() - started)
"""
MEMORY_EVALUATOR = """
import time, numpy as np, verite as vt
truth = vt.read({truth!r})
pred = vt.read({pred!r}, like=truth)
def by_image(side):
    ends = np.cumsum(np.bincount(side.image, minlength=len(truth.images)))
    return np.split(np.argsort(side.image, kind="stable"), ends[:-1])
evaluator = vt.CocoEvaluator()
for t, p in zip(by_image(truth), by_image(pred), strict=True):
    evaluator.update(
        [{{"boxes": pred.regions.boxes[p], "scores": pred.confidence[p], "labels": pred.label[p]}}],
        [{{"boxes": truth.regions.boxes[t], "labels": truth.label[t], "area": truth.area[t],
           "iscrowd": truth.crowd[t]}}])
started = time.perf_counter()
print(evaluator.compute())
print("elapsed", time.perf_counter() - started)
"""
MEMORY_DROP_IN = """
import time
from verite.compat.pycocotools.coco import COCO
from verite.compat.pycocotools.cocoeval import COCOeval
truth = COCO({truth!r})
pred = truth.loadRes({pred!r})
started = time.perf_counter()
evaluation = COCOeval(truth, pred, {kind!r})
evaluation.evaluate(); evaluation.accumulate(); evaluation.summarize()
print("elapsed", time.perf_counter() - started)
"""
COMMAND = """
import sys
from verite.cli import run
sys.stdout.flush()
run(["coco", {truth!r}, {pred!r}, "--on", {on!r}, "--quiet"])
"""
LIKE_PYCOCOTOOLS = """
{imports}
truth = COCO({truth!r})
evaluation = COCOeval(truth, truth.{load}({pred!r}), {kind!r})
evaluation.evaluate(); evaluation.accumulate(); evaluation.summarize()
print([float(value) for value in evaluation.stats])
"""
VERNIER = """
from pathlib import Path
from vernier.instance import Bbox, Keypoints, Segm, CocoDataset, Evaluator
truth = CocoDataset.from_json(Path({truth!r}).read_bytes())
evaluator = Evaluator(iou={vernier}(), parity_mode="strict")
summary = evaluator.evaluate(truth, Path({pred!r}).read_bytes(), num_threads={threads})
print("\\n".join(summary.pretty_lines()))
print([float(value) for value in summary.stats])
"""
TOOLS = {
    "verite": (VERITE, {"way": PLAIN}),
    "verite (command line)": (COMMAND, {}),
    "ultrafast-pycocotools": (
        LIKE_PYCOCOTOOLS,
        {"imports": "from ultrafast_pycocotools import COCO, COCOeval", "load": "loadRes"},
    ),
    "hotcoco": (LIKE_PYCOCOTOOLS, {"imports": "from hotcoco import COCO, COCOeval", "load": "load_res"}),
    "vernier": (VERNIER, {}),
    "faster-coco-eval": (
        LIKE_PYCOCOTOOLS,
        {"imports": "from faster_coco_eval import COCO, COCOeval_faster as COCOeval", "load": "loadRes"},
    ),
    "pycocotools": (
        LIKE_PYCOCOTOOLS,
        {"imports": "from pycocotools.coco import COCO\nfrom pycocotools.cocoeval import COCOeval", "load": "loadRes"},
    ),
}
# The same data asked another way, where, and what the time is compared with.
WAYS = {
    "verite --class-agnostic": (VERITE, {"way": PLAIN[:-1] + ", class_agnostic=True)"}, ("44k", "500k", "masks")),
    "verite --exact": (VERITE, {"way": PLAIN[:-1] + ', quirks="pycocotools")'}, ("44k", "500k", "masks")),
    "verite --checks off": (VERITE, {"way": PLAIN[:-1] + ', checks="off")'}, ("44k", "500k", "masks")),
    "verite --on boundary": (VERITE, {"way": 'coco(truth, vt.read({pred!r}, like=truth), on="boundary")'}, ("masks",)),
    "verite voc": (VERITE, {"way": "voc(truth, vt.read({pred!r}, like=truth))"}, ("44k", "500k")),
    "verite lvis": (VERITE, {"way": "lvis(truth, vt.read({pred!r}, like=truth))"}, ("lvis",)),
    "verite drop-in": (
        LIKE_PYCOCOTOOLS,
        {"imports": "from verite.compat.pycocotools.coco import COCO\n"
                    "from verite.compat.pycocotools.cocoeval import COCOeval", "load": "loadRes"},
        ("44k", "500k", "masks"),
    ),
    "vt.coco in memory": (MEMORY_COCO, {}, ("44k", "500k", "masks")),
    "drop-in in memory": (MEMORY_DROP_IN, {}, ("44k", "500k", "masks")),
    "CocoEvaluator.compute": (MEMORY_EVALUATOR, {}, ("44k", "500k")),
}  # fmt: skip
IN_MEMORY = ("vt.coco in memory", "drop-in in memory", "CocoEvaluator.compute")  # seconds of the evaluation alone
EQUAL = ("verite --checks off", "verite --exact", "verite drop-in")  # the same numbers as pycocotools
OURS = ("verite", "verite (command line)", *WAYS)
NO_THREADS = ("pycocotools",)
REPORT = "\nimport resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=__import__('sys').stderr)"
SLOW = 8.0  # seconds from which a tool is run once
# What does not fit into the memory below.
TOO_LARGE = {"o365": ("pycocotools", "faster-coco-eval"), "lvis": ("pycocotools", "faster-coco-eval", "vernier")}
MEMORY = 16 << 30


class Run(NamedTuple):
    seconds: float
    processor: float  # seconds of all threads: of a busy machine the more telling
    megabytes: float
    numbers: tuple[float, ...] | None
    error: str = ""


def measured(python: str, tool: str, case: str, data: Path, threads: int, timeout: float) -> Run:
    """One cold process."""
    _, truth, pred, kind, _ = CASES[case]
    text, words, *_ = (TOOLS | WAYS)[tool]
    given = {
        "truth": str(data / truth), "pred": str(data / pred), "kind": kind, "on": ON[kind],
        "vernier": VERNIER_KINDS[kind], "threads": threads,
    }  # fmt: skip
    program = text.format(**given, **{name: word.format(**given) for name, word in words.items()})
    names = ("RAYON", "OMP", "OPENBLAS")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment |= {f"{name}_NUM_THREADS": str(threads) for name in names} | {"VERITE_THREADS": str(threads)}
    started, before = time.perf_counter(), processor_seconds()
    try:
        done = subprocess.run(
            [python, "-c", program + REPORT], env=environment, capture_output=True, text=True, timeout=timeout,
            check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Run(math.inf, math.nan, math.nan, None, f"more than {timeout:.0f} s")
    wall, processor = time.perf_counter() - started, processor_seconds() - before
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return Run(math.inf, math.nan, math.nan, None, lines[-1][:80] if lines else f"status {done.returncode}")
    last = done.stdout.strip().splitlines()[-1]
    if last.startswith("elapsed"):
        wall = float(last.split()[1])
    if tool in WAYS and tool not in EQUAL:
        last = ""
    numbers = tuple(-1.0 if math.isnan(v) else v for v in eval(last, {"nan": math.nan})) if last[:1] == "[" else None
    return Run(wall, processor, int(done.stderr.split()[-1]) / 1024, numbers)


def processor_seconds() -> float:
    """Of all processes that were waited for."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def versions(python: str) -> str:
    names = [name for name in TOOLS if name not in OURS] + ["numpy"]
    text = f"from importlib.metadata import version\nfor name in {names!r}: print(name, version(name))"
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, check=False)
    listed = ", ".join(done.stdout.split("\n")[:-1]) or "versions unknown"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    machine = f"{platform.system()} {platform.machine()}, {cores} cores, Python {platform.python_version()}"
    return f"{machine}; verite {version('verite')}, {listed}"


def table(case: str, runs: dict[tuple[str, int], list[Run]]) -> list[str]:
    """Markdown rows; ratios are to verite with the same number of threads."""
    best = {key: min(run.seconds for run in done) for key, done in runs.items()}
    numbers = {key: done[-1].numbers for key, done in runs.items()}
    reference = next((numbers[k] for k in reversed(runs) if k[0] == "pycocotools" and numbers[k]), None)
    reference = reference or next((n for n in numbers.values() if n), None)
    lines = [
        f"\n### {CASES[case][4]}\n",
        "| tool | threads | minimum | median | processor | memory | × verite | numbers |",
    ]
    lines.append("|---|---|---|---|---|---|---|---|")
    for (tool, threads), done in runs.items():
        ours = best.get((IN_MEMORY[0] if tool in IN_MEMORY else "verite", threads), math.nan)
        if math.isinf(best[tool, threads]):
            lines.append(f"| {tool} | {threads} | – | – | – | – | – | {done[-1].error} |")
            continue
        mine = numbers[tool, threads]
        same = "" if mine is None or reference is None else "equal" if mine == reference else (
            f"differ by {max(abs(a - b) for a, b in zip(mine, reference, strict=True)):.1e}")  # fmt: skip
        median = statistics.median(run.seconds for run in done)
        memory = statistics.median(run.megabytes for run in done)
        least, ratio = min(run.processor for run in done), best[tool, threads] / ours
        lines.append(
            f"| {tool} | {threads} | {best[tool, threads]:.3f} s | {median:.3f} s | {least:.3f} s | {memory:.0f} MB | "
            f"{ratio:.2f} | {same} |"
        )
    return lines


def chosen_tools(text: str) -> list[str]:
    """Names of tools with commas between them."""
    return [tool for tool in [*TOOLS, *WAYS] if tool in text.split(",")]


class Figures:
    """What was measured, case by case, in a file; a case that is measured anew replaces the old."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cases: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def put(self, case: str, machine: str, seconds: float, runs: dict[tuple[str, int], list[Run]]) -> None:
        rows = [[tool, threads, done] for (tool, threads), done in runs.items()]
        self.cases[case] = {"machine": machine, "seconds": seconds, "runs": rows}
        self.path.write_text(json.dumps(self.cases, indent=1) + "\n")

    def tables(self) -> list[str]:
        """All cases as the page of benchmarks has them."""
        lines: list[str] = []
        for case in (name for name in CASES if name in self.cases):
            known = self.cases[case]
            if known["machine"] not in lines:
                lines.append(known["machine"])
            runs = {(tool, threads): [as_run(run) for run in done] for tool, threads, done in known["runs"]}
            lines += [*table(case, runs), f"\nMeasured in {known['seconds'] / 60:.1f} minutes."]
        return lines


def as_run(values: list[Any]) -> Run:
    seconds, processor, megabytes, numbers, error = values
    return Run(seconds, processor, megabytes, None if numbers is None else tuple(numbers), error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("bench-data"), help="folder of the data, made if need be")
    parser.add_argument("--peers", default=sys.executable, help="interpreter that has the other tools")
    parser.add_argument("--cases", default=",".join(CASES), help=f"with commas between them: {', '.join(CASES)}")
    parser.add_argument("--tools", default=",".join([*TOOLS, *WAYS]), help="with commas between them")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--minutes", type=float, default=math.inf, help="for the repetitions of a case")
    parser.add_argument("--share", type=float, default=1, help="of the images: 0.01 is a try that takes a minute")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--figures", type=Path, help="where they are kept: figures.json beside the data")
    given = parser.parse_args()
    figures = Figures(given.figures or given.data / "figures.json")
    machine = versions(given.peers)
    for case in filter(None, given.cases.split(",")):
        ensure(given.data, CASES[case][0], share=given.share)
        started = time.perf_counter()
        runs = run_case(case, given)
        figures.put(case, machine, time.perf_counter() - started, runs)
        print(f"{case}: {figures.cases[case]['seconds']:.0f} s", file=sys.stderr, flush=True)
    print("\n".join(figures.tables()))


def run_case(case: str, given: argparse.Namespace) -> dict[tuple[str, int], list[Run]]:
    """Every tool in turn, round after round; the first round is not counted."""
    runs: dict[tuple[str, int], list[Run]] = {
        (tool, threads): []
        for threads in map(int, given.threads.split(","))
        for tool in chosen_tools(given.tools)
        if (threads == 1 or tool not in NO_THREADS)
        and tool not in TOO_LARGE.get(case, ())
        and (tool not in WAYS or case in WAYS[tool][2])
    }
    _, *files, _, _ = CASES[case]
    for name in files:  # into the system's memory
        (given.data / name).read_bytes()
    started = time.perf_counter()
    for repetition in range(given.repetitions + 1):
        if repetition > 1 and time.perf_counter() - started > 60 * given.minutes:
            break
        for (tool, threads), done in runs.items():
            if done and not done[0].seconds < SLOW:
                continue
            python = sys.executable if tool in OURS else given.peers
            run = measured(python, tool, case, given.data, threads, given.timeout)
            if repetition > 0 or not run.seconds < SLOW:
                done.append(run)
    return runs


if __name__ == "__main__":
    main()
