"""How often do healthy sets raise an alarm? `python -m tests.checks 300 SEED` asks 300 of each kind, and odd ones.

The sets of the tests are drawn from other seeds: constants that were chosen with them in sight are judged here.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np

from tests.checks.adversaries import ADVERSARIES
from tests.checks.mistakes import Files
from tests.checks.sets import KINDS, draw_set
from verite.checks import examine_all
from verite.cli.output import show_progress
from verite.progress import count_files


def main(count: int, seed: int) -> None:
    alarms: Counter[str] = Counter()
    sets = [(seed, i, k) for i in range(count) for k in range(len(KINDS))]
    wrong = 0
    for one in count_files("healthy sets", sets):
        truth, pred = Files.of(draw_set(np.random.default_rng(one), KINDS[one[2]]), "xywh").read()
        found = examine_all(truth, pred)
        wrong += bool(found)
        alarms.update(f"{f.code} on {f.side}" for f in found)
    print(f"{wrong} of {len(sets):,} healthy sets with an error or a warning: {dict(alarms)}")
    stops: Counter[str] = Counter()
    odd = [(seed + 1, i, k) for i in range(count) for k in range(len(ADVERSARIES))]
    for one in count_files("odd sets", odd):
        truth, pred = Files.of(list(ADVERSARIES.values())[one[2]](np.random.default_rng(one))).read()
        stops.update({f.code for f in examine_all(truth, pred) if f.severity == "error"})
    print(f"{stops.total()} errors in {len(odd):,} odd sets: {dict(stops)}")


if __name__ == "__main__":
    with show_progress():
        main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20_261_116)
