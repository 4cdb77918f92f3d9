"""Time of `verite track` on MOTChallenge sequences.

``python -m benchmarks.track FOLDER`` with FOLDER/SEQUENCE/gt.txt and tracker.txt prints user CPU seconds of all
sequences, files read, the best of three; and of one sequence repeated 1, 2 and 4 times, which should rise linearly.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import verite as vt


def user_seconds(call: Callable[[], Any], repeats: int = 3) -> float:
    """The least user CPU time of a call, threads included."""
    found = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        call()
        found.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
    return min(found)


def with_verite(folders: list[Path]) -> None:
    for folder in folders:
        vt.track(folder / "gt.txt", folder / "tracker.txt", checks="off")


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
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folders = sorted(path.parent for path in parser.parse_args().folder.rglob("tracker.txt"))
    own = user_seconds(lambda: with_verite(folders))
    print(f"{len(folders)} sequences, user CPU seconds\nverite track  {own:7.2f}")
    with tempfile.TemporaryDirectory() as place:
        for times in (1, 2, 4):
            sides = repeat(folders[0], times, Path(place))
            seconds = user_seconds(lambda sides=sides: vt.track(*sides, checks="off"))
            print(f"{folders[0].name} shown {times} ×: {seconds:.2f}")
