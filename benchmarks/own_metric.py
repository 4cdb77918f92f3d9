"""What a study of one's own metric costs: a Python function of two masks that takes 50 µs, over all 118,080 results.

Wall and processor seconds of `verite study -m own_metric:overlap`, processes included, against the 60 s of wall time it
may take on two cores.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LIMIT_SECONDS = 60
MICROSECONDS = 50


def overlap(truth: NDArray[np.bool_], pred: NDArray[np.bool_]) -> float:
    """Intersection over union, and then waiting."""
    end = time.perf_counter() + 1e-6 * MICROSECONDS
    found = np.count_nonzero(truth & pred) / np.count_nonzero(truth | pred)
    while time.perf_counter() < end:
        pass
    return float(found)


def main() -> None:
    here = Path(__file__).parent
    for given in ([], ["--quick"]):
        program = [sys.executable, "-c", "from verite.cli import main; main()"]
        command = [*program, "study", "-m", "own_metric:overlap", "--jobs", "2", "--json", *given]
        started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=here, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True, capture_output=True)
        wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        verdict = "within" if wall <= LIMIT_SECONDS else "beyond"
        print(
            f"{' '.join(given) or 'whole':8} {wall:6.1f} s wall {processor:6.1f} s processor, "
            f"{verdict} the {LIMIT_SECONDS} s it may take"
        )


if __name__ == "__main__":
    main()
