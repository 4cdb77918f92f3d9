"""Which tests go through a line? Every test of a room runs once and is followed; the answer stays in build/mutants.

What a fixture of a whole module goes through counts for all its tests, what runs while tests are collected for none:
such lines are tried in a new process.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "verite"
KEPT = ROOT / "build" / "mutants"
Line = tuple[str, int]


class Follower:
    """A pytest plugin: the lines of a room that each test goes through, and its seconds."""

    def __init__(self, room: str) -> None:
        self.home = str(SOURCE / room) + os.sep
        self.room = f"verite.{room}"
        self.seen: set[Line] = set()
        self.lines: dict[str, set[Line]] = {}
        self.seconds: dict[str, float] = {}
        self.fixtures: dict[str, set[Line]] = defaultdict(set)
        self.failed = list[str]()

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        return self.trace_line if frame.f_code.co_filename.startswith(self.home) else None

    def trace_line(self, frame: Any, event: str, argument: Any) -> Any:
        self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace_line

    def follow(self) -> None:
        self.seen = set()
        threading.settrace(self.trace)
        sys.settrace(self.trace)

    def stop(self) -> set[Line]:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        return self.seen

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        forget(self.room)
        begins = time.process_time()
        self.follow()
        yield
        lines = self.stop()
        self.seconds[item.nodeid] = time.process_time() - begins
        self.lines[item.nodeid] = lines.union(*(self.fixtures[name] for name in item.fixturenames))  # type: ignore[attr-defined]

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[Any]:
        before, self.seen = self.seen, set()
        answer = yield
        if fixturedef.scope != "function":
            self.fixtures[fixturedef.argname] |= self.seen
        self.seen |= before
        return answer

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def forget(room: str) -> None:
    """What functions of a room remember: a test goes through them as if it were the first."""
    for name, module in list(sys.modules.items()):
        if name.startswith(room):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


class Reach:
    """By line the tests of a room that go through it, quickest first."""

    def __init__(self, room: str) -> None:
        self.seconds: dict[str, float] = {}
        self.through: dict[Line, set[str]] = defaultdict(set)
        self.users = users_of(SOURCE / room)

    def add(self, lines: dict[str, list[list[Any]]], seconds: dict[str, float]) -> None:
        self.seconds |= seconds
        for test, those in lines.items():
            for path, line in those:
                self.through[path, line].add(test)

    def tests(self, path: Path, lines: Iterable[int]) -> list[str]:
        return self.sort({test for line in lines for test in self.through.get((str(path), line), ())})

    def tests_of_module(self, path: Path) -> list[str]:
        """Of the module and of all that import it: what is run by an import may matter to each of them."""
        files = {str(user) for user in self.users[path]}
        return self.sort({test for (file, _), tests in self.through.items() if file in files for test in tests})

    def sort(self, tests: set[str]) -> list[str]:
        return sorted(tests, key=lambda test: (self.seconds[test], test))


def users_of(home: Path) -> dict[Path, set[Path]]:
    """By module of a room itself and those that import it, directly or not."""
    paths = {module_of(path): path for path in home.rglob("*.py")}
    users = {path: {path} for path in paths.values()}
    for path in paths.values():
        for name in imports_of(path) & set(paths):
            users[paths[name]].add(path)
    while True:
        wider = {path: set[Path]().union(*(users[user] for user in those)) for path, those in users.items()}
        if wider == users:
            return users
        users = wider


def imports_of(path: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    froms = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    names = {f"{node.module}.{alias.name}" for node in froms for alias in node.names}
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return names | plain | {str(node.module) for node in froms}


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def digest(room: str, test: Path) -> str:
    """Of what decides where a test goes: the room, the test, and what tests share."""
    shared = [path for path in (ROOT / "tests").rglob("*.py") if not path.name.startswith("test_")]
    paths = sorted({*(SOURCE / room).rglob("*.py"), *shared, test})
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def kept(room: str, test: Path) -> Path:
    return KEPT / room / f"{test.stem}.json"


def recall(room: str, test: Path) -> Any:
    """What is known of a file of tests, or None."""
    if not kept(room, test).exists():
        return None
    known = json.loads(kept(room, test).read_text())
    return known if known["digest"] == digest(room, test) else None


def keep(room: str, test: Path, follower: Follower) -> None:
    told = {name: sorted(lines) for name, lines in follower.lines.items()}
    known = {"digest": digest(room, test), "lines": told, "seconds": follower.seconds}
    kept(room, test).parent.mkdir(parents=True, exist_ok=True)
    kept(room, test).write_text(json.dumps(known))
