"""LVIS's thirteen numbers for boxes from its files, end to end, against the package `lvis`.

The package looks at every class in every image, whether there is anything or not: at 20,000 images and 1,203 classes it
fills more memory than most machines have. `--images N` takes the first N images of both files for both tools.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VERITE = """
import json, verite as vt
truth = vt.read({truth!r}, format="lvis")
pred = vt.read({pred!r}, like=truth)
print(json.dumps({{key: score.value for key, score in vt.lvis(truth, pred).scores.items()}}))
"""
# Written for an older numpy, and its pictures need a package that the numbers do not.
PACKAGE = """
import json, logging, sys, types
import numpy as np
np.float = float
sys.modules.setdefault("cv2", types.ModuleType("cv2"))
logging.disable(logging.CRITICAL)
from lvis import LVISEval
evaluation = LVISEval({truth!r}, {pred!r}, "bbox")
evaluation.run()
names = {{"AR@300": "AR300", "ARs@300": "ARs", "ARm@300": "ARm", "ARl@300": "ARl"}}
print(json.dumps({{names.get(key, key): float(value) for key, value in evaluation.get_results().items()}}))
"""
PIECE = 1 << 24


def first_images(source: Path, target: Path, count: int) -> None:
    """Both files with the first images of the truth alone. Records of results are flat, so a text may be cut there."""
    truth = json.loads((source / "lvis_gt.json").read_text())
    truth["images"] = truth["images"][:count]
    ids = {image["id"] for image in truth["images"]}
    truth["annotations"] = [a for a in truth["annotations"] if a["image_id"] in ids]
    (target / "lvis_gt.json").write_text(json.dumps(truth))
    sep = b"["
    with (source / "lvis_dt.json").open("rb") as file, (target / "lvis_dt.json").open("wb") as out:
        rest = b""
        while piece := file.read(PIECE):
            *records, rest = (rest + piece).split(b"}")
            for record in records:
                text = record.lstrip(b"[, \n") + b"}"
                if json.loads(text)["image_id"] in ids:
                    out.write(sep + text)
                    sep = b","
        out.write(b"]")


def measured(python: str, text: str, threads: int, most_bytes: int) -> tuple[float, float, dict[str, float] | str]:
    """Wall seconds, peak megabytes and the numbers of a cold process, or its last words."""
    environment = os.environ | {"VERITE_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    report = "\nimport resource, sys; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"

    def limit() -> None:
        if most_bytes:
            resource.setrlimit(resource.RLIMIT_AS, (most_bytes, most_bytes))

    started = time.perf_counter()
    done = subprocess.run(
        [python, "-c", text + report], env=environment, capture_output=True, text=True, check=False, preexec_fn=limit
    )
    wall = time.perf_counter() - started
    if done.returncode:
        return wall, float("nan"), (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1][:80]
    return wall, int(done.stderr.split()[-1]) / 1024, json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with lvis_gt.json and lvis_dt.json")
    parser.add_argument("--peers", default=sys.executable, help="interpreter that has the package lvis")
    parser.add_argument("--images", type=int, help="only so many images")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=3, help="of verite; the package is run once")
    parser.add_argument("--most-gigabytes", type=float, default=0, help="address space that the package may have")
    parser.add_argument("--without-package", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.data) as folder:
        home = given.data
        if given.images:
            home = Path(folder)
            first_images(given.data, home, given.images)
        paths = {"truth": str(home / "lvis_gt.json"), "pred": str(home / "lvis_dt.json")}
        ours = [measured(sys.executable, VERITE.format(**paths), given.threads, 0) for _ in range(given.repetitions)]
        best = min(ours, key=lambda run: run[0])
        print(f"verite   {best[0]:>8.1f} s {max(run[1] for run in ours):>8.0f} MB", flush=True)
        if given.without_package:
            return
        most = int(given.most_gigabytes * 2**30)
        theirs = measured(given.peers, PACKAGE.format(**paths), given.threads, most)
        print(f"lvis     {theirs[0]:>8.1f} s {theirs[1]:>8.0f} MB")
        if isinstance(theirs[2], str) or isinstance(best[2], str):
            print(f"no numbers: verite {best[2]}, lvis {theirs[2]}")
            return
        differences = [abs(value - best[2][key]) for key, value in theirs[2].items() if value != -1]
        print(f"× verite {theirs[0] / best[0]:>8.1f}   memory {theirs[1] / max(run[1] for run in ours):.1f}")
        print(f"largest difference of {len(differences)} numbers: {max(differences):.1e}")


if __name__ == "__main__":
    main()
