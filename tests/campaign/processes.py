"""What becomes of whole commands that are killed, short of disk, or read files that change under them?

Each function runs cases until they or the time are over: how many there were, outcomes, and what was wrong.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from verite.progress import count_files

Ran = tuple[int, Counter[str], list[str]]
VERITE = [sys.executable, "-m", "verite"]
IMAGES = 2000


def cases(name: str, count: int, until: float) -> Iterator[int]:
    """The numbers of cases, as long as there is time."""
    for number in count_files(name, range(count)):
        if time.monotonic() > until:
            return
        yield number


def write_data(home: Path, images: int = IMAGES) -> tuple[Path, Path]:
    """A truth and predictions of some size."""
    chance = random.Random(1)
    pictures = [{"id": i, "file_name": f"{i}.jpg", "width": 640, "height": 480} for i in range(images)]
    truths: list[dict[str, Any]] = []
    preds: list[dict[str, Any]] = []
    for i in range(images):
        for _ in range(6):
            x, y, w, h = chance.uniform(0, 500), chance.uniform(0, 380), chance.uniform(9, 120), chance.uniform(9, 90)
            about = {"image_id": i, "category_id": 1 + len(truths) % 20}
            ring = [x, y, x + w, y, x + w, y + h, x, y + h]
            truths.append({"id": len(truths) + 1, **about, "bbox": [x, y, w, h], "area": w * h, "segmentation": [ring]})
            preds.append({**about, "bbox": [x + chance.gauss(0, 5), y, w, h], "score": chance.random()})
    classes = [{"id": c, "name": f"class {c}"} for c in range(1, 21)]
    truth, pred = home / "truth.json", home / "pred.json"
    truth.write_text(json.dumps({"images": pictures, "categories": classes, "annotations": truths}))
    pred.write_text(json.dumps(preds))
    return truth, pred


def work_for(running: subprocess.Popen[bytes], seconds: float) -> None:
    """Let it work for so long, by its own clock: where others have the processors, loading takes longer than here."""
    while running.poll() is None and working_time(running.pid) < seconds:
        time.sleep(0.004)


def working_time(process: int) -> float:
    """Seconds of processors that a process has had."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):  # it is over
        return float("inf")


def measure_work(words: list[str]) -> float:
    """Seconds of processors that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def kill_writers(seed: int, count: int, until: float) -> Ran:
    """Commands killed at any moment leave a whole folder or none, and an empty one all files or none."""
    chance, outcomes, wrong, done = random.Random(seed), Counter[str](), list[str](), 0
    with tempfile.TemporaryDirectory() as home:
        (truth, pred), target = write_data(Path(home)), Path(home) / "out"
        convert = [*VERITE, "convert", str(truth), str(target), "--to", "voc", "-q"]
        evaluate = [*VERITE, "voc", str(truth), str(pred), "-o", str(target), "--no-plot", "-q"]
        longest = [measure_work(convert)]
        shutil.rmtree(target)
        longest.append(measure_work(evaluate))
        names = sorted(path.name for path in target.iterdir())
        for number in cases("kills", count, until):
            shutil.rmtree(target, ignore_errors=True)
            if is_again := number % 2 == 1:
                target.mkdir()
            words = evaluate if is_again else convert
            with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
                work_for(running, chance.uniform(0.1, longest[is_again]))
                running.send_signal(signal.SIGKILL)
            if is_again:
                found, whole = sum((target / name).exists() for name in names), len(names)
            else:
                found, whole = len(list(target.glob("*.xml"))) if target.exists() else 0, IMAGES
            outcomes["number" if found in (0, whole) else "partial"] += 1
            wrong += [] if found in (0, whole) else [f"kill {number}: {found} of {whole} files"]
            done += 1
    return done, outcomes, wrong


def fill_disks(seed: int, count: int, until: float) -> Ran:
    """Commands on a disk that has room for so many bytes, and no more: all of it, or one line and nothing."""
    chance, outcomes, wrong, done = random.Random(seed), Counter[str](), list[str](), 0
    demo = Path(str(files("verite") / "data" / "demo"))
    hawk, mole = ([str(demo / "truth.json"), str(demo / f"{name}.json")] for name in ("hawk", "mole"))
    writers = [
        ["voc", *hawk, "-o", "out/x", "--no-plot"],
        ["coco", *hawk, mole[1], "-o", "out/x", "--no-plot"],
        ["convert", hawk[0], "out/x", "--to", "voc"],
        ["convert", hawk[0], "out/x.json", "--to", "coco"],
        ["inspect", *hawk, "--save", "out/x.json"],
        ["localize", *hawk, "-m", "iou", "-o", "out/x", "--no-plot"],
        ["analyse", *hawk, "-o", "out/x", "--no-plot"],
        ["report", *hawk, "-o", "out/x.html"],
        ["draw", *hawk, "-o", "out/x", "--worst", "3"],
        ["partial", "coco", *hawk, "-o", "out/x.part"],
        ["demo", "out/x"],
    ]
    with tempfile.TemporaryDirectory() as home:
        out = Path(home) / "out"
        for number in cases("disks", count, until):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            words, most = chance.choice(writers), int(10 ** chance.uniform(2.5, 6))
            done += 1
            with small_disk(out, most) as before:
                ran = subprocess.run(
                    [*VERITE, *words, "-q"],
                    cwd=home, capture_output=True, text=True, check=False, preexec_fn=before,
                )  # fmt: skip
                is_nothing = not list(out.iterdir())
            is_told = ran.returncode == 1 and ran.stderr.startswith("verite: ") and ran.stderr.count("\n") == 1
            is_fine = (is_told and is_nothing) or (ran.returncode == 0 and not is_nothing)
            outcomes["refused" if is_told else "number" if is_fine else "partial"] += 1
            wrong += [] if is_fine else [f"disk {number}: {words} with {most} bytes: {ran.stderr[-200:]}"]
    return done, outcomes, wrong


@contextmanager
def small_disk(folder: Path, most: int) -> Iterator[Callable[[], None] | None]:
    """A disk of so many bytes in this place, if we may make one; else what keeps a process from larger files."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={most}", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        return
    try:
        yield None
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def race_readers(seed: int, count: int, until: float) -> Ran:
    """Files that shrink, grow or are replaced while they are read: numbers, or one line."""
    chance, outcomes, wrong, done = random.Random(seed), Counter[str](), list[str](), 0
    with tempfile.TemporaryDirectory() as home:
        truth, pred = write_data(Path(home), 6000)
        whole = truth.read_bytes()
        for number in cases("races", count, until):
            truth.write_bytes(whole)
            words = [*VERITE, "coco", str(truth), str(pred), "--on", chance.choice(["box", "mask"]), "--checks", "off"]
            with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
                work_for(running, chance.uniform(0.02, 0.3))
                disturb(truth, whole, chance)
                _, said = running.communicate(timeout=60)
            done += 1
            last = said.decode().strip().splitlines()[-1:] or [""]
            is_fine = running.returncode == 0 or (running.returncode == 1 and last[0].startswith("verite: "))
            word = "number" if running.returncode == 0 else "refused" if is_fine else "death"
            outcomes[word] += 1
            wrong += [] if is_fine else [f"race {number}: {running.returncode} {last[0][-200:]}"]
    return done, outcomes, wrong


def disturb(path: Path, whole: bytes, chance: random.Random) -> None:
    """Somebody else writes the file."""
    match chance.randrange(4):
        case 0:
            os.truncate(path, chance.randrange(len(whole)))
        case 1:
            os.truncate(path, 0)
        case 2:
            path.write_bytes(whole[: chance.randrange(len(whole))])
        case _:
            with path.open("ab") as file:
                file.write(whole[: chance.randrange(100_000)])
