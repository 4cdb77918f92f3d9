"""What the whole study costs: 118,080 results drawn and measured both ways by 38 rows, judged, and compared.

Wall and processor time for one thread and two, against the 30 seconds it may take on two cores; and, in the same run,
what scipy and scikit-image take for the rows of a sample of the same results, one way round only, for a ratio.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from localize import scipy_row

from verite.model.rasters import array_of
from verite.reproductions.jei import reproduce_jei
from verite.studies.measuring import measure_all
from verite.studies.rows import jei_rows
from verite.studies.sweeps import JEI_SWEEPS
from verite.studies.truths import all_truths

LIMIT_SECONDS = 30


def timed(run: Callable[[], object]) -> tuple[float, float]:
    """Wall and processor seconds."""
    wall, processor = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - processor


def scipy_seconds(sample: int) -> float:
    """Processor seconds of one result's 38 rows with scipy and scikit-image, the mean of results of every kind."""
    truths = all_truths()
    rng = np.random.default_rng(1)
    pairs = []
    for i in range(sample):
        truth, sweep = truths[i % len(truths)], JEI_SWEEPS[i // len(truths) % len(JEI_SWEEPS)]
        runs = sweep.rasterise(truth)
        pairs.append((truth.mask, array_of(runs, int(rng.integers(len(runs))))))
    started = time.process_time()
    for truth_mask, pred_mask in pairs:
        scipy_row(truth_mask, pred_mask)
    return (time.process_time() - started) / sample


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sample", type=int, default=128, help="results for scipy")
    parser.add_argument("--save", type=Path, help="write the figures as JSON")
    given = parser.parse_args()
    parts: dict[str, Callable[[], object]] = {
        "values, 1 thread": lambda: measure_all(jei_rows(), all_truths(), JEI_SWEEPS, jobs=1),
        "everything, 1 thread": lambda: str(reproduce_jei(jobs=1)),
        "everything, 2 threads": lambda: str(reproduce_jei(jobs=2)),
    }
    best = {name: (float("inf"), float("inf")) for name in parts}
    theirs = float("inf")
    for _ in range(given.rounds):
        for name, run in parts.items():
            best[name] = tuple(min(pair) for pair in zip(best[name], timed(run), strict=True))
        theirs = min(theirs, scipy_seconds(given.sample))
    for name, (wall, processor) in best.items():
        print(f"{name:24} {wall:6.1f} s wall  {processor:6.1f} s processor")
    whole = 118_080 * theirs
    values = best["values, 1 thread"][1]
    print(
        f"scipy, the rows one way round: {1e3 * theirs:.2f} ms a result, {whole:.0f} s for all: {whole / values:.0f} ×"
    )
    wall, _ = best["everything, 2 threads"]
    verdict = "within" if wall <= LIMIT_SECONDS else "beyond"
    print(f"the whole study in two threads: {wall:.1f} s wall, {verdict} the {LIMIT_SECONDS} s it may take")
    if given.save:
        figures = {name: {"wall": w, "processor": p} for name, (w, p) in best.items()}
        given.save.write_text(json.dumps({**figures, "scipy_processor": whole}, indent=1) + "\n")


if __name__ == "__main__":
    main()
