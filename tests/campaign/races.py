"""Files that shrink, are emptied or written anew while they are read: `python -m tests.campaign --only "file races"`.

Each race reads in a process of its own, which a memory map of the file would end (SIGBUS). The files are of every
format that is written, packed in every way, and volumes and mask images of every kind, large enough to be caught.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import md5
from pathlib import Path

import numpy as np
from PIL import Image

import verite as vt
from tests.campaign.processes import Ran, cases
from tests.campaign.targets import PACKERS, files_below, pack_zip, save_volume
from tests.cli.examples import DEMO
from verite.formats import all_formats
from verite.formats.archives import UNPACKERS
from verite.formats.volumes import SUFFIXES
from verite.model.images import IMAGE_SUFFIXES

SAME, REFUSED, FOREIGN, OTHER = range(4)  # what a reader's process says by its exit status
WORDS = {SAME: "number", REFUSED: "refused", FOREIGN: "undocumented"}
# Files whose end is not marked: rows that are cut off are rows that nobody knows of.
OPEN_ENDED = (".csv", ".tsv", ".txt", ".jsonl")


def digest_of_annotations(path: Path) -> str:
    return vt.read(path).digest


def digest_of_volume(path: Path) -> str:
    volume = vt.read_volume(path)
    return md5(np.ascontiguousarray(volume.values).tobytes()).hexdigest()


Read = Callable[[], str]


def write_files(home: Path) -> Iterator[tuple[str, Path, Read]]:
    """Write a good file or folder of each kind, with what is read of it."""
    demo = vt.read(DEMO / "truth.json")
    rng = np.random.default_rng(1)
    corners = rng.uniform(0, 400, (6000, 2))
    boxes = vt.Annotations.of(
        [f"{i % 300:06}" for i in range(6000)],
        [f"class{i % 7}" for i in range(6000)],
        np.hstack([corners, corners + rng.uniform(5, 100, (6000, 2))]),
        sizes={f"{i:06}": (600, 600) for i in range(300)},
    )
    for format in all_formats():
        if format.write is None:
            continue
        place = home / f"{format.name}{next(iter(format.suffixes), '')}"
        for side in (boxes, demo):
            given = side if "truth" in format.sides else replace(side, confidence=np.linspace(0, 1, len(side)))
            try:
                vt.write(given, place, format.name)
                digest_of_annotations(place)
            except vt.VeriteError:
                continue
            yield format.name, place, partial(digest_of_annotations, place)
            break
    for name in ("coco.json", "table.csv"):
        for suffix in sorted(UNPACKERS):
            PACKERS.get(suffix, pack_zip)(home / name, home / f"{name}{suffix}")
            yield f"{name}{suffix}", home / f"{name}{suffix}", partial(digest_of_annotations, home / f"{name}{suffix}")
    values = np.zeros((24, 128, 128), np.uint8)
    values[4:20, 10:100, 20:110] = 1
    for suffix in SUFFIXES:
        place = home / f"volume{suffix}"
        save_volume(values, place)
        yield f"volume {suffix}", place, partial(digest_of_volume, place)
    for suffix in sorted(IMAGE_SUFFIXES):
        place = home / f"masks{suffix}"
        place.mkdir()
        for number in range(4):
            Image.fromarray(np.roll(values[10], number, 0).repeat(4, 0).repeat(4, 1)).save(place / f"{number}{suffix}")
        try:
            digest_of_annotations(place)
        except vt.VeriteError:
            continue
        yield f"mask images {suffix}", place, partial(digest_of_annotations, place)


def read_apart(read: Read, good: str) -> int:
    """Start a process that reads, and return its number; its exit status is what came of it."""
    process = os.fork()
    if process:
        return process
    status = FOREIGN
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        status = SAME if read() == good else OTHER
    except vt.VeriteError:
        status = REFUSED
    finally:
        os._exit(status)


def disturb(path: Path, data: bytes, chance: random.Random) -> None:
    """Somebody else cuts the file off, in place or by writing it anew, empties it or fills it with zeros."""
    match chance.randrange(4):
        case 0:
            os.truncate(path, chance.randrange(len(data)))
        case 1:
            os.truncate(path, 0)
        case 2:
            path.write_bytes(data[: chance.randrange(len(data))])
        case _:
            path.write_bytes(bytes(len(data)))


def race_files(seed: int, count: int, until: float) -> Ran:
    """So many races, of one kind of file after the other: the number of the whole file, or an error of ours."""
    chance, outcomes, wrong, done = random.Random(seed), Counter[str](), list[str](), 0
    with tempfile.TemporaryDirectory() as home:
        kinds = []
        for name, place, read in write_files(Path(home)):
            start = time.monotonic()
            good = read()
            kinds.append((name, place, read, good, time.monotonic() - start))
        for number in cases("file races", count, until):
            name, place, read, good, longest = kinds[number % len(kinds)]
            path = chance.choice(files_below(place))
            data = path.read_bytes()
            process = read_apart(read, good)
            time.sleep(chance.uniform(0, 1.5 * longest))
            disturb(path, data, chance)
            status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
            path.write_bytes(data)
            done += 1
            is_open_ended = place.is_dir() or path.suffix in OPEN_ENDED
            word = (
                "number"
                if status == OTHER and is_open_ended
                else WORDS.get(status, "silent" if status > 0 else "death")
            )
            outcomes[word] += 1
            if word not in ("number", "refused"):
                wrong.append(f"file race {number}: {word} ({status}): {name}: {path.name}")
        outcomes["kinds"] = len(kinds)
    return done, outcomes, wrong
