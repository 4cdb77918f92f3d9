"""How soon does Ctrl-C end long work? Every verb that may take long is started and interrupted at any moment."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from PIL import Image

from tests.campaign.processes import VERITE, Ran, cases, work_for, write_data

SOON = 0.3  # seconds from an interrupt to the end
PATIENCE = 10.0  # seconds after which it was not heard


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


def write_inputs(home: Path) -> None:
    """Data for each verb, of a size that takes it seconds."""
    truth, pred = write_data(home, 6000)
    chance, numbers = random.Random(1), np.random.default_rng(1)
    lines = [f"{i},1,{','.join(str(int(chance.random() < p)) for p in (0.9, 0.88, 0.8))}" for i in range(20_000)]
    (home / "table.csv").write_text("\n".join(["item,truth,a,b,c", *lines]))
    for name in ("conf=0.1.json", "conf=0.5.json"):
        shutil.copy(pred, home / name)
    known = json.loads(truth.read_text())
    (home / "other.json").write_text(json.dumps(known | {"annotations": known["annotations"][::2]}))
    audited = known["images"][:500]
    ids = {image["id"] for image in audited}
    own = [one for one in known["annotations"] if one["image_id"] in ids]
    (home / "gold.json").write_text(json.dumps(known | {"images": audited, "annotations": own}))
    cases = [f"{i},{i % 60},{chance.random():.4f},{chance.random():.4f}" for i in range(3000)]
    (home / "scores.csv").write_text("\n".join(["case,patient,one,two", *cases]))
    boxes = [f"{frame},{i},{40 * i % 1000},{frame % 400},30,60,1,1,1" for frame in range(1, 3001) for i in range(1, 21)]
    (home / "gt.txt").write_text("\n".join(boxes))
    (home / "tracks.txt").write_text("\n".join(line[:-6] + ",0.9,-1,-1,-1" for line in boxes))
    for folder in ("videos", "tracker"):  # six sequences of 200 frames
        (home / folder).mkdir()
        for name in "abcdef":
            kept = [line for line in boxes if int(line.split(",", 1)[0]) <= 200]
            ending = ",1,1,1" if folder == "videos" else ",0.9,-1,-1,-1"
            (home / folder / f"{name}.txt").write_text("\n".join(line[:-6] + ending for line in kept))
    suite = 'metric = "AP"\ndetectors = ["pred"]\n'
    for name in ("one", "two", "three"):
        suite += f'\n[datasets.{name}]\ntruth = "truth.json"\npred = "{{detector}}.json"\n'
    (home / "suite.toml").write_text(suite)
    links = [f"https://example.org/{kind}/1_cat0_IoU0.{iou}.png" for kind, iou in (("large", 7), ("small", 5))]
    head = "WorkerId,Input.imageLink1,Input.imageLink2,Answer.detection1.1,Answer.detection2.2"
    votes = [f"{i % 40},{','.join(links)},{'true,false' if i % 3 else 'false,true'}" for i in range(4000)]
    (home / "votes.csv").write_text("\n".join([head, *votes]))
    subprocess.run([*VERITE, "partial", "coco", str(truth), str(pred), "-o", str(home / "a.part"), "-q"], check=True)
    for side in ("labels", "found"):
        (home / side).mkdir()
        for i in range(100):
            tiles = numbers.integers(0, 20, (16, 16)).astype(np.uint8)
            Image.fromarray(tiles.repeat(64, axis=0).repeat(64, axis=1)).save(home / side / f"{i}.png")
    steps = np.ogrid[:320, :320, :320]
    for side in ("one", "two"):
        middle = numbers.uniform(120, 200, 3)
        np.save(home / f"{side}.npy", sum((s - m) ** 2 for s, m in zip(steps, middle, strict=True)) < 100**2)
    steps = np.ogrid[:160, :160, :160]
    for side in ("truths", "preds"):
        (home / side).mkdir()
        for i in range(8):
            distance = sum((s - m) ** 2 for s, m in zip(steps, numbers.uniform(60, 100, 3), strict=True))
            np.save(home / side / f"{i}.npy", (distance < 50**2).astype(np.uint8) + (distance < 20**2))


# Each command with the seconds of work during which it is interrupted; short ones have taken no longer alone.
COMMANDS: tuple[tuple[float, str], ...] = (
    (2.0, "rank table.csv --epsilon 0.1 --method montecarlo --draws 30000000"),
    (2.0, "rank table.csv --audit 5/50 --method montecarlo --draws 3000000"),
    (2.0, "localize truth.json pred.json --all"),
    (2.0, "localize one.npy two.npy --all"),
    (2.0, "localize truths preds --all"),
    (2.0, "study -m iou -m baddeley"),
    (2.0, "convert truth.json out --to voc"),
    (2.0, "leaderboard truth.json pred.json pred.json --errors missing=0.05"),
    (2.0, "leaderboard truth.json pred.json pred.json --gold gold.json"),
    (2.0, "leaderboard scores.csv --draws 200000"),
    (2.0, "leaderboard videos tracker tracker -m HOTA --resample sequence --errors missing=0.05,swapped=0.05"),
    (0.8, "agree truth.json other.json"),
    (1.5, "sweep truth.json conf=0.1.json conf=0.5.json"),
    (1.5, "judge make --from-study -o judged"),
    (1.0, "judge fit votes.csv"),
    (1.4, "track gt.txt tracks.txt"),
    (0.3, "f1 truth.json pred.json"),
    (0.3, "miss-rate truth.json pred.json"),
    (1.2, "report truth.json pred.json -o page.html"),
    (1.0, "analyse truth.json pred.json"),
    (2.0, "explain truth.json pred.json --number 0.1234"),
    (2.0, "semantic labels found"),
    (0.6, "interpret truth.json pred.json"),
    (1.5, "draw truth.json pred.json -o drawn"),
    (1.5, "demo tour"),
    (0.5, "inspect truth.json pred.json"),
    (2.0, "coco truth.json pred.json pred.json --resample images"),
    (0.6, "coco truth.json pred.json --on mask --threads 1"),
    (0.5, "voc truth.json pred.json --threads 1"),
    (0.3, "imagenet-det truth.json pred.json"),
    (0.3, "imagenet-loc truth.json pred.json"),
    (0.3, "openimages truth.json pred.json"),
    (0.3, "kitti truth.json pred.json"),
    (0.3, "wider truth.json pred.json"),
    (0.5, "oc-cost truth.json pred.json"),
    (2.0, "instances labels found"),
    (0.8, "suite suite.toml"),
    (1.0, "coherence labels pred.json"),
    (0.8, "class-distance truth.json --images labels"),
    (1.5, "compare truth.json pred.json conf=0.1.json --sure 0.95 --require AP>=base"),
    (0.3, "bundle truth.json -o out"),
    (0.3, "partial coco truth.json pred.json -o b.part"),
    (0.3, "merge a.part"),
)


# Commands that are over before they can be interrupted, or whose work is that of another one.
SHORT = {"formats", "metrics", "completion", "lvis", "panoptic"}


def interrupt_commands(seed: int, count: int, until: float) -> Ran:
    """How soon long work ends after Ctrl-C, in a line and with status 130: within .3 s, or late.

    What it takes is what it would take alone: waits for processors that others have do not count, and are told apart.
    """
    chance, outcomes, wrong, done = random.Random(seed), Counter[str](), list[str](), 0
    # What a shell starts in the background ignores interrupts, and so would all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as home:
        write_inputs(Path(home))
        for number in cases("interrupts", count, until):
            most, line = COMMANDS[number % len(COMMANDS)]
            for name in ("out", "drawn", "tour", "judged"):
                shutil.rmtree(Path(home) / name, ignore_errors=True)
            words = [*VERITE, *line.split()]
            with subprocess.Popen(words, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:
                work_for(running, chance.uniform(0.1, most))
                running.send_signal(signal.SIGINT)
                took, waited = wait_for(running)
                if is_deaf := running.poll() is None:
                    running.kill()
                _, said = running.communicate()
            done += 1
            outcomes["delayed"] += took > SOON
            took -= waited
            is_told = running.returncode == 0 or (
                running.returncode == 130 and said.decode().endswith("verite: interrupted\n")
            )
            word = "hang" if is_deaf else "undocumented" if not is_told else "number" if took <= SOON else "late"
            outcomes[word] += 1
            if word != "number":
                wrong.append(f"interrupt {number}: {word}: {line}: {took:.2f} s, {running.returncode}, {said[-300:]!r}")
    return done, outcomes, wrong
