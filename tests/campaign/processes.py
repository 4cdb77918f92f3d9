"""What becomes of whole commands that are killed, interrupted, short of disk, or read files that change under them?

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
from importlib.resources import files
from pathlib import Path
from typing import Any

from verite.progress import count_files

Ran = tuple[int, Counter[str], list[str]]
VERITE = [sys.executable, "-m", "verite"]
SOON = 0.3  # seconds from an interrupt to the end
PATIENCE = 10.0  # seconds after which it was not heard
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


def kill_writers(seed: int, count: int, until: float) -> Ran:
    """Commands killed at any moment leave a whole folder or none, and one that was there all new or as it was."""
    chance, outcomes, wrong, done = random.Random(seed), Counter[str](), list[str](), 0
    with tempfile.TemporaryDirectory() as home:
        (truth, pred), target = write_data(Path(home)), Path(home) / "out"
        convert = ["convert", str(truth), str(target), "--to", "voc"]
        evaluate = ["voc", str(truth), str(pred), "-o", str(target), "--no-plot"]
        with subprocess.Popen([*VERITE, *evaluate, "-q"], stdout=subprocess.DEVNULL) as first:
            first.wait()
        names = sorted(path.name for path in target.iterdir())
        for number in cases("kills", count, until):
            shutil.rmtree(target, ignore_errors=True)
            if is_again := number % 2 == 1:
                target.mkdir()
                for name in names:
                    (target / name).write_text("old")
            words = [*VERITE, *(evaluate if is_again else convert), "-q"]
            with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
                time.sleep(chance.uniform(0.1, 1.5))
                running.send_signal(signal.SIGKILL)
            if is_again:
                found, whole = sum((target / name).read_text() != "old" for name in names), len(names)
            else:
                found, whole = len(list(target.glob("*.xml"))) if target.exists() else 0, IMAGES
            outcomes["fine" if found in (0, whole) else "partial"] += 1
            wrong += [] if found in (0, whole) else [f"kill {number}: {found} of {whole} files"]
            done += 1
    return done, outcomes, wrong


def fill_disks(seed: int, count: int, until: float) -> Ran:
    """Commands that may write so many bytes to a file, and no more: all of it, or one line and nothing."""
    chance, outcomes, wrong, done = random.Random(seed), Counter[str](), list[str](), 0
    demo = Path(str(files("verite") / "data" / "demo"))
    hawk, mole = ([str(demo / "truth.json"), str(demo / f"{name}.json")] for name in ("hawk", "mole"))
    writers = [
        ["voc", *hawk, "-o", "out/x", "--no-plot"],
        ["coco", *hawk, mole[1], "-o", "out/x", "--no-plot"],
        ["convert", hawk[0], "out/x", "--to", "voc"],
        ["convert", hawk[0], "out/x.json", "--to", "coco"],
        ["inspect", *hawk, "--save", "out/x.json"],
    ]
    with tempfile.TemporaryDirectory() as home:
        out = Path(home) / "out"
        for number in cases("disks", count, until):
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir()
            words, most = chance.choice(writers), int(10 ** chance.uniform(1.5, 5.5))
            done += 1
            ran = subprocess.run(
                [*VERITE, *words, "-q"], cwd=home, capture_output=True, text=True, check=False, preexec_fn=limit(most)
            )
            is_nothing = not list(out.iterdir())
            is_told = ran.returncode == 1 and ran.stderr.startswith("verite: ") and ran.stderr.count("\n") == 1
            is_fine = (is_told and is_nothing) or (ran.returncode == 0 and not is_nothing)
            outcomes["refused" if is_told else "fine" if is_fine else "partial"] += 1
            wrong += [] if is_fine else [f"disk {number}: {words} with {most} bytes: {ran.stderr[-200:]}"]
    return done, outcomes, wrong


def limit(most: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


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
                time.sleep(chance.uniform(0.05, 0.6))
                disturb(truth, whole, chance)
                _, said = running.communicate(timeout=60)
            done += 1
            last = said.decode().strip().splitlines()[-1:] or [""]
            is_fine = running.returncode == 0 or (running.returncode == 1 and last[0].startswith("verite: "))
            word = "fine" if running.returncode == 0 else "refused" if is_fine else "death"
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


def wait_for(running: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Seconds to its end, and how many of them others had the processors that it waited for."""
    start, before, waited = time.monotonic(), waiting_time(running.pid), 0.0
    while running.poll() is None and time.monotonic() < start + PATIENCE:
        now = waiting_time(running.pid)
        waited = now - before if now >= before else waited  # nothing is known of what is over
        time.sleep(0.004)
    return time.monotonic() - start, waited


def waiting_time(process: int) -> float:
    """Seconds that a process was ready to run and did not, where the system counts them."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return -1.0


def interrupt_commands(seed: int, count: int, until: float) -> Ran:
    """How soon long work ends after Ctrl-C, in a line and with status 130: within .3 s, or late.

    What it takes is what it would take alone: waits for processors that others have do not count, and are told apart.
    """
    chance, outcomes, wrong, done = random.Random(seed), Counter[str](), list[str](), 0
    with tempfile.TemporaryDirectory() as home:
        truth, pred = write_data(Path(home), 6000)
        table = Path(home) / "table.csv"
        lines = [f"{i},1,{','.join(str(int(chance.random() < p)) for p in (0.9, 0.88, 0.8))}" for i in range(20_000)]
        table.write_text("\n".join(["item,truth,a,b,c", *lines]))
        commands = [
            ["rank", str(table), "--epsilon", "0.1", "--method", "montecarlo", "--draws", "30000000"],
            ["rank", str(table), "--audit", "5/50", "--method", "montecarlo", "--draws", "3000000"],
            ["localize", str(truth), str(pred), "--all"],
            ["study", "-m", "iou", "-m", "baddeley"],
            ["convert", str(truth), f"{home}/out", "--to", "voc"],
            ["leaderboard", str(truth), str(pred), str(pred), "--errors", "missing=0.05"],
            ["report", str(truth), str(pred), "-o", f"{home}/page.html"],
            ["analyse", str(truth), str(pred)],
            ["coco", str(truth), str(pred), "--on", "mask", "--threads", "1"],
            ["voc", str(truth), str(pred), "--threads", "1"],
        ]
        longest = {"coco": 0.6, "voc": 0.5, "analyse": 1.2}  # seconds that the short ones take
        for number in cases("interrupts", count, until):
            words = commands[number % len(commands)]
            shutil.rmtree(Path(home) / "out", ignore_errors=True)
            with subprocess.Popen([*VERITE, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
                time.sleep(chance.uniform(0.1, longest.get(words[0], 2.0)))
                running.send_signal(signal.SIGINT)
                took, waited = wait_for(running)
                if running.poll() is None:  # it was not heard
                    running.kill()
                _, said = running.communicate()
            done += 1
            outcomes["delayed"] += took > SOON
            took -= waited
            is_told = running.returncode == 0 or (
                running.returncode == 130 and said.decode().endswith("verite: interrupted\n")
            )
            outcomes["undocumented" if not is_told else "fine" if took <= SOON else "late"] += 1
            if not is_told or took > SOON:
                wrong.append(f"interrupt {number}: {words[0]}: {took:.2f} s, {running.returncode}")
    return done, outcomes, wrong
