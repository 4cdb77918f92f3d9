"""Time of `verite track` on MOTChallenge sequences, beside motrics and TrackEval.

``python -m benchmarks.track FOLDER [--motrics PYTHON] [--trackeval PYTHON]`` with FOLDER/SEQUENCE/gt.txt, tracker.txt
and seqinfo.ini prints CPU seconds (user and system) of all sequences, files read and MOT17's rules applied, the best of
three, without imports; and of one sequence repeated 1, 2 and 4 times, which should rise linearly. PYTHON is the
interpreter of an environment with motrics, or with TrackEval and numpy < 1.24, which it needs.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import verite as vt

TIMING = """
import resource, sys
from pathlib import Path

def seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
"""
MOTRICS = (
    TIMING
    + """
import motrics
found = []
for _ in range(3):
    start = seconds()
    for folder in sorted(Path(sys.argv[1]).glob("*/gt.txt")):
        truth = motrics.load_motchallenge_gt(folder)
        pred = motrics.load_motchallenge(folder.parent / "tracker.txt")
        a, b, c, d = motrics.preprocess_motchallenge(truth, pred)
        motrics.evaluate(motrics.Frames(ids=a, boxes=b), motrics.Frames(ids=c, boxes=d))
    found.append(seconds() - start)
print(min(found))
"""
)
TRACKEVAL = (
    TIMING
    + """
import contextlib, io
import trackeval
names = {path.parent.parent.name: None for path in sorted(Path(sys.argv[1]).glob("gt/*/gt/gt.txt"))}
dataset = {
    "GT_FOLDER": sys.argv[1] + "/gt", "TRACKERS_FOLDER": sys.argv[1] + "/trackers", "SKIP_SPLIT_FOL": True,
    "SEQ_INFO": names, "BENCHMARK": "MOT17", "PRINT_CONFIG": False, "OUTPUT_FOLDER": sys.argv[1] + "/out",
    "TRACKERS_TO_EVAL": ["own"],
}
quiet = {"PRINT_CONFIG": False, "PRINT_RESULTS": False, "TIME_PROGRESS": False, "PLOT_CURVES": False,
         "OUTPUT_SUMMARY": False, "OUTPUT_DETAILED": False, "OUTPUT_EMPTY_CLASSES": False}
found = []
for _ in range(2):
    start = seconds()
    with contextlib.redirect_stdout(io.StringIO()):
        metrics = [trackeval.metrics.HOTA(), trackeval.metrics.CLEAR({"PRINT_CONFIG": False}),
                   trackeval.metrics.Identity({"PRINT_CONFIG": False})]
        trackeval.Evaluator(quiet).evaluate([trackeval.datasets.MotChallenge2DBox(dataset)], metrics)
    found.append(seconds() - start)
print(min(found))
"""
)


def cpu_seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """The least CPU time of a call, threads included."""
    found = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_SELF)
        call()
        after = resource.getrusage(resource.RUSAGE_SELF)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def with_verite(folders: list[Path]) -> None:
    for folder in folders:
        vt.track(folder / "gt.txt", folder / "tracker.txt", checks="off")


def ask(python: str, script: str, folder: Path) -> float:
    """Run a script in another environment, and return the seconds that it prints."""
    done = subprocess.run([python, "-c", script, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip().splitlines()[-1])
    return float(done.stdout.split()[-1])


def lay_out(folders: list[Path], home: Path) -> Path:
    """Copy sequences as TrackEval wants them: gt/SEQUENCE/gt/gt.txt and trackers/own/data/SEQUENCE.txt."""
    (home / "trackers" / "own" / "data").mkdir(parents=True)
    for folder in folders:
        (home / "gt" / folder.name / "gt").mkdir(parents=True)
        shutil.copy(folder / "gt.txt", home / "gt" / folder.name / "gt" / "gt.txt")
        shutil.copy(folder / "seqinfo.ini", home / "gt" / folder.name / "seqinfo.ini")
        shutil.copy(folder / "tracker.txt", home / "trackers" / "own" / "data" / f"{folder.name}.txt")
    return home


def repeat(folder: Path, times: int, home: Path) -> tuple[Path, Path]:
    """A sequence shown several times, one after the other."""
    found = []
    for name in ("gt.txt", "tracker.txt"):
        rows = np.loadtxt(folder / name, delimiter=",")
        last, tracks = rows[:, 0].max(), rows[:, 1].max() + 1
        copies = []
        for i in range(times):
            copied = rows.copy()
            copied[:, 0] += i * last
            copied[:, 1] += i * tracks
            copies.append(copied)
        found.append(home / f"{name.removesuffix('.txt')}-{times}.txt")
        np.savetxt(found[-1], np.concatenate(copies), delimiter=",", fmt="%g")
    return found[0], found[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--motrics", metavar="PYTHON")
    parser.add_argument("--trackeval", metavar="PYTHON")
    given = parser.parse_args()
    folders = sorted(path.parent for path in given.folder.glob("*/tracker.txt"))
    with_verite(folders[:1])
    own = cpu_seconds(lambda: with_verite(folders))
    print(f"{len(folders)} sequences, CPU seconds, load {os.getloadavg()[0]:.1f}\nverite track  {own:7.2f}")
    with tempfile.TemporaryDirectory() as place:
        if given.motrics:
            other = ask(given.motrics, MOTRICS, given.folder)
            print(f"motrics       {other:7.2f}  {other / own:.1f} ×")
        if given.trackeval:
            other = ask(given.trackeval, TRACKEVAL, lay_out(folders, Path(place) / "trackeval"))
            print(f"TrackEval     {other:7.2f}  {other / own:.1f} ×")
        for times in (1, 2, 4):
            sides = repeat(folders[0], times, Path(place))
            seconds = cpu_seconds(lambda sides=sides: vt.track(*sides, checks="off"))
            print(f"{folders[0].name} shown {times} ×: {seconds:.2f}")
