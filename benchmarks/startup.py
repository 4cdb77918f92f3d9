"""What does it cost to say hello? CPU time of `import verite` beyond numpy, wall time of `verite --help`."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

REPETITIONS = 15


def measured(program: list[str]) -> tuple[float, float]:
    """CPU and wall seconds of a process."""
    before, started = os.times(), time.perf_counter()
    subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
    after, ended = os.times(), time.perf_counter()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, ended - started


def main() -> None:
    python = sys.executable
    programs = {
        "python": [python, "-c", "pass"],
        "import numpy": [python, "-c", "import numpy"],
        "import verite": [python, "-c", "import verite"],
        "vt.read, vt.voc": [python, "-c", "import verite as vt; vt.read; vt.voc"],
        "verite --help": [str(Path(python).parent / "verite"), "--help"],
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    for _ in range(REPETITIONS):
        for name, program in programs.items():
            times[name].append(measured(program))
    print(
        f"{'':<18}{'cpu min':>9}{'cpu med':>9}{'wall min':>9}{'wall med':>9}   ms, {REPETITIONS} runs each, interleaved"
    )
    for name, pairs in times.items():
        columns = [column for kind in zip(*pairs, strict=True) for column in (min(kind), statistics.median(kind))]
        print(f"{name:<18}" + "".join(f"{1000 * value:>9.0f}" for value in columns))


if __name__ == "__main__":
    main()
