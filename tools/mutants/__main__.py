"""Would the tests notice a mistake? Changes one operator or number at a time and runs the tests that go through it.

    make mutants                     # a seeded sample of 300 in four packages, each against its own tests
    .venv/bin/python -m tools.mutants --count 50 --package checks --seed 7
    .venv/bin/python -m tools.mutants --file checks/boxes.py        # every place of one file

A survivor is printed with its place, the change and how many tests went through it; then a line for each package, and
one for all. Tests that noticed are run once more without any change, so that none fails for another reason. No file is
changed at any time.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from tools.mutants.children import Children
from tools.mutants.places import Place, places_of
from tools.mutants.reach import ROOT, SOURCE
from tools.mutants.trials import EXAMPLES, OPTIONS, Job, Room, load_others, tidy, try_import, try_twice

ROOMS = ("checks", "ranking", "scene", "formats")
TESTED = sorted(home.name for home in SOURCE.iterdir() if (ROOT / "tests" / home.name).is_dir())


def name_of(place: Place) -> str:
    return str(place.path.relative_to(SOURCE))


def places_in(room: str, files: Sequence[str] = ()) -> list[Place]:
    """All places of a package, or those of some of its files."""
    places = [place for path in sorted((SOURCE / room).rglob("*.py")) for place in places_of(path)]
    return [place for place in places if not files or {name_of(place), f"{name_of(place)}:{place.line}"} & set(files)]


def choose(room: str, given: argparse.Namespace) -> list[Place]:
    """A sample of the places of a package, the same for the same seed and sources."""
    places = places_in(room, given.file or ())
    count = len(places) if given.file else min(len(places), -(-given.count // len(given.room)))
    return sorted(random.Random(f"{given.seed}{room}").sample(places, count))


class Tally:
    """What became of each change, told as it comes."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.noticed_by: set[str] = set()

    def tell(self, place: Place, tests: int, status: int, test: str) -> None:
        kind = "survived" if status == 0 else "did not end" if status in (-27, -14, -24) else "noticed"
        self.counts[kind] += 1
        if kind == "survived":
            where = f"{place.path.relative_to(ROOT)}:{place.line}"
            print(f"{where}: {place.change}: not noticed by {tests} tests: {place.text}", flush=True)
        elif kind == "noticed" and "::" in test:
            self.noticed_by.add(test)

    def __str__(self) -> str:
        total = self.counts.total()
        found = total - self.counts["survived"]
        slow = f", {self.counts['did not end']} of them for they did not end" if self.counts["did not end"] else ""
        return f"{found} of {total} changes noticed{slow} ({100 * found / max(total, 1):.1f} %)"


class Functions(Room):
    """The room's process: tries what can be tried in it, and leaves a file of what needs a new process."""

    def __init__(self, name: str, places: list[Place], folder: Path, workers: int) -> None:
        super().__init__(name, folder, workers)
        self.places, self.tally = places, Tally()
        self.later = list[Job]()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            sys.exit(f"mutants: the tests of {self.name} cannot be collected")
        self.follow_all(session)
        jobs = list[Job]()
        for index, place in enumerate(self.places):
            tests = self.tests(place)
            if not tests:
                self.tally.tell(place, 0, 0, "")
            else:
                (self.later if self.is_imported(place) else jobs).append((index, tests))
        counts = {index: len(tests) for index, tests in jobs}

        def run(index: int, tests: list[str]) -> int:
            return self.try_function(session, self.places[index], tests, self.folder / f"{self.name}{index}")

        def tell(index: int, status: int) -> None:
            self.tally.tell(self.places[index], counts[index], status, tidy(self.folder / f"{self.name}{index}"))

        try_twice(jobs, self.reach.seconds, self.workers, run, tell)
        self.leave()
        return True

    def leave(self) -> None:
        told = [self.later, self.tally.counts, sorted(self.tally.noticed_by), self.reach.seconds, sorted(sys.modules)]
        (self.folder / self.name).write_text(json.dumps(told))


def try_room(room: str, given: argparse.Namespace, folder: Path) -> Tally:
    places = choose(room, given)
    plugin = Functions(room, places, folder, given.workers)
    failed = list[int]()
    with Children(1) as children:
        children.start(lambda: collect(room, plugin), failed.append)
    if any(failed):
        sys.exit(f"mutants: the tests of {room} cannot be followed (status {failed[0]})")
    later, counts, noticed_by, seconds, modules = json.loads((folder / room).read_text())
    tally = Tally()
    tally.counts, tally.noticed_by = Counter(counts), set(noticed_by)
    load_others(modules)
    try_later(places, later, seconds, tally, folder, given.workers)
    check(room, tally, seconds, folder)
    return tally


def collect(room: str, plugin: Any) -> int:
    return int(pytest.main([*OPTIONS, "--no-summary", f"tests/{room}", EXAMPLES], plugins=[plugin]))


def try_later(
    places: list[Place], later: list[Job], seconds: dict[str, float], tally: Tally, folder: Path, workers: int
) -> None:
    """What runs with an import."""
    counts = {index: len(tests) for index, tests in later}

    def run(index: int, tests: list[str]) -> int:
        return try_import(places[index], tests, seconds, folder / f"later{index}")

    def tell(index: int, status: int) -> None:
        tally.tell(places[index], counts[index], status, tidy(folder / f"later{index}"))

    try_twice(later, seconds, workers, run, tell)


def check(room: str, tally: Tally, seconds: dict[str, float], folder: Path) -> None:
    """The tests that noticed pass without a change, in the same order of speed."""
    tests = sorted(tally.noticed_by, key=lambda test: (seconds[test], test))
    answer, failed = folder / "check", list[int]()
    with Children(1) as children:
        children.start(lambda: try_import(None, tests, seconds, answer), failed.append)
    if any(failed):
        sys.exit(f"mutants: {tidy(answer)} fails without a change, so the count of {room} says nothing")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--package", "--room", dest="room", action="append", choices=TESTED,
                        help="Only this one; any package that has tests of its own.")  # fmt: skip
    parser.add_argument(
        "--file", action="append", help="All places of one file, or of a line of it, as checks/boxes.py:51."
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    given.room = given.room or [room for room in ROOMS if not given.file or any(f.startswith(room) for f in given.file)]
    os.chdir(ROOT)
    os.nice(10)
    hypothesis.settings.register_profile(
        "mutants",
        database=None,
        derandomize=True,
        deadline=None,
        phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
    )
    hypothesis.settings.load_profile("mutants")
    total = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for room in given.room:
            tally = try_room(room, given, Path(folder))
            print(f"{room}: {tally}", flush=True)
            total.counts += tally.counts
    print(total)


if __name__ == "__main__":
    main()
