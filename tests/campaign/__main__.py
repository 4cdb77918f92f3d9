"""Does anything kill it, hang it, or get past its own errors? `make fuzz` asks for as long as it is told.

Cases run in a process of their own with 4 GB of memory. A case that takes ten seconds of a processor, or says nothing
for two minutes, is a hang; a process that ends is a death. Both are counted, and the run goes on with the next case.
"""

from __future__ import annotations

import argparse
import os
import resource
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator

import tests.campaign.cases as hostile
from tests.campaign.cases import KINDS, run_case
from tests.campaign.interrupts import interrupt_commands
from tests.campaign.processes import fill_disks, kill_writers, race_readers, working_time
from tests.campaign.races import race_files
from tests.campaign.targets import HOME, home
from verite.cli.output import show_progress
from verite.progress import begin

# Whole commands under bad conditions, and how many of them at most.
COMMANDS = {
    "kills": (kill_writers, 500),
    "disks": (fill_disks, 100),
    "races": (race_readers, 200),
    "file races": (race_files, 20_000),
    "interrupts": (interrupt_commands, 300),
}
HANG = 10.0  # seconds of a processor; on a busy machine a case may take much longer by the clock
SILENCE = 120.0  # seconds by the clock: it waits for something that does not come
LOADING = 120.0  # more of both, before the first case: good files are made
MEMORY = 4 * 2**30
LOADED = "loaded"  # a worker's word for: the clock of this case begins here


def work(kind: str, seed: int, first: int, last: int) -> None:
    """The cases of one process; the number of each is said before it begins."""
    if "VERITE_CORE" not in os.environ:  # sanitizers lay claim to all addresses
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for targets in getattr(KINDS[kind], "args", ()):
        targets()  # is no part of the first case
    hostile.when_loaded = lambda: print(LOADED, flush=True)
    for number in range(first, last):
        print(number, flush=True)
        print(run_case(kind, seed, number), flush=True)


def lines_of(worker: subprocess.Popen[bytes]) -> Iterator[str | None]:
    """What a worker says, line by line; None when it has said nothing for too long. It ends when the worker does."""
    assert worker.stdout is not None
    descriptor, rest = worker.stdout.fileno(), b""
    start, worked, loading = time.monotonic(), 0.0, LOADING
    while True:
        if not select.select([descriptor], [], [], HANG / 4)[0]:
            is_hanging = working_time(worker.pid) > worked + HANG + loading
            if is_hanging or time.monotonic() > start + SILENCE + loading:
                yield None
                return
            continue
        data = os.read(descriptor, 65536)
        if not data:
            return
        start, worked, loading = time.monotonic(), working_time(worker.pid), 0.0
        *whole, rest = (rest + data).split(b"\n")
        yield from (line.decode() for line in whole)


def watch(kind: str, seed: int, first: int, last: int, until: float) -> tuple[int, Counter[str], list[str]]:
    """Run cases until they or the time are over: how many were begun, outcomes, and what was wrong."""
    with begin(kind, last - first, "cases") as advance:
        return watch_cases(kind, seed, first, last, until, advance)


def watch_cases(
    kind: str, seed: int, first: int, last: int, until: float, advance: Callable[[int], None]
) -> tuple[int, Counter[str], list[str]]:
    outcomes: Counter[str] = Counter()
    wrong: list[str] = []
    number = first
    while number < last and time.monotonic() < until:
        words = [sys.executable, "-m", "tests.campaign", "--work", kind, str(seed), str(number), str(last)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as worker:
            is_over = False
            for line in lines_of(worker):
                if line is None:
                    outcomes["hang"] += 1
                    wrong.append(f"{kind} {seed} {number}: hangs")
                    is_over = True
                elif line == LOADED:
                    continue
                elif line.isdecimal():
                    number = int(line)
                    continue
                else:
                    outcomes[line.split()[0]] += 1
                    wrong += [] if line.split()[0] in ("number", "refused") else [f"{kind} {seed} {number}: {line}"]
                number += 1
                advance(1)
                if is_over or time.monotonic() > until:
                    is_over = True
                    worker.kill()
                    break
        if not is_over and number < last:
            outcomes["death"] += 1
            wrong.append(f"{kind} {seed} {number}: ends with {worker.returncode}")
            number += 1
            advance(1)
    return number - first, outcomes, wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0, help="budget, shared by the kinds")
    parser.add_argument("--cases", type=int, default=60_000, help="at most so many of each kind")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case, to run in parts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="one of the kinds; may be repeated")
    parser.add_argument("--work", nargs=4, metavar=("KIND", "SEED", "FIRST", "LAST"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        kind, *numbers = given.work
        work(kind, *map(int, numbers))
        return 0
    os.environ["PYTHONHASHSEED"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        os.environ[HOME] = os.environ["TMPDIR"] = folder
        home()  # good files, made once for all processes
        return run_kinds(given)


def run_kinds(given: argparse.Namespace) -> int:
    """Run every kind for its share of the time, print a row for each, then what was wrong."""
    names = given.only or [*KINDS, *COMMANDS]
    share = 60 * given.minutes / len(names)
    found_wrong = []
    print(f"| kind | cases | refused | deaths | hangs | undocumented | other |\n|{'---|' * 7}")
    for name in names:
        until = time.monotonic() + share
        if name in COMMANDS:
            run, most = COMMANDS[name]
            cases, outcomes, wrong = run(given.seed, min(most, given.cases), until)
        else:
            cases, outcomes, wrong = watch(name, given.seed, given.first, given.cases, until)
        other = (
            ", ".join(
                f"{outcomes[word]} {word}"
                for word in ("silent", "lost", "memory", "partial", "late", "delayed")
                if outcomes[word]
            )
            or "–"
        )
        cells = (cases, outcomes["refused"], outcomes["death"], outcomes["hang"], outcomes["undocumented"], other)
        print(f"| {name} | {' | '.join(f'{c:,}' if isinstance(c, int) else c for c in cells)} |", flush=True)
        found_wrong += wrong if "pycocotools" not in name else []
    for line in found_wrong[:200]:
        print(line, file=sys.stderr)
    return 1 if found_wrong else 0


if __name__ == "__main__":
    with show_progress():
        status = main()
    sys.exit(status)
