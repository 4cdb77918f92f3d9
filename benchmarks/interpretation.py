"""What the interpretation score costs: the paper's 341,440 alterations, and a COCO-sized set beside COCO's own numbers.

Each measurement is a cold process, from start to printed number; repetitions are interleaved and the least of each is
compared. Processor time says what the work costs on a machine that others use, too.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

VERITE = Path(sys.executable).parent / "verite"


def run(words: list[str]) -> dict[str, float]:
    """Wall and processor seconds of one command."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([str(VERITE), *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "wall": time.perf_counter() - started,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with coco_gt.json and coco_dtsegm36k.json")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    given = parser.parse_args()
    commands = {"study interpretation (341,440 alterations)": (["study", "interpretation", "-q"], 2)}
    if given.data:
        sides = [str(given.data / "coco_gt.json"), str(given.data / "coco_dtsegm36k.json")]
        commands |= {
            "coco --on mask": (["coco", *sides, "--on", "mask", "-q"], given.repetitions),
            "interpret": (["interpret", *sides, "-q"], given.repetitions),
            "interpret --matching one-to-one": (
                ["interpret", *sides, "--matching", "one-to-one", "-q"],
                given.repetitions,
            ),
        }
    figures: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    for i in range(max(count for _, count in commands.values())):
        for name, (words, count) in commands.items():
            if i < count:
                figures[name].append(run(words))
    print(f"{'command':<46}{'wall, least':>12}{'median':>9}{'CPU, least':>12}{'× coco':>8}")
    base = min((f["cpu"] for f in figures.get("coco --on mask", [])), default=None)
    for name, found in figures.items():
        walls, cpus = (sorted(f[key] for f in found) for key in ("wall", "cpu"))
        ratio = f"{cpus[0] / base:8.2f}" if base and "study" not in name else ""
        print(f"{name:<46}{walls[0]:>10.2f} s{walls[len(walls) // 2]:>7.2f} s{cpus[0]:>10.2f} s{ratio}")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
