"""Does a test fail when one place is changed? Tests run until one does, each change in a process of its own.

A room's tests and the examples in its docstrings are collected once; a process forked from there gets the changed
function's code and runs those that go through the changed statement. What runs when modules are imported or tests are
collected, as a constant does, is changed in a new process that imports everything again.
"""

from __future__ import annotations

import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pytest
from tools.mutants.children import Children, be_quiet, limit
from tools.mutants.places import Place, mutate
from tools.mutants.reach import Follower, Line, Reach, keep, module_of, recall

OPTIONS = ["-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not slow", "--no-header", "--tb=no", "--capture=sys"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # Hypothesis is there before pytest
EXAMPLES = "tests/test_doctests.py"
NOTHING, FAILED = 0, 1
QUICK = 3.0  # seconds of tests that come before all others


class Reports:
    """A pytest plugin that knows which tests failed."""

    def __init__(self) -> None:
        self.failed = list[str]()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def run_until_failure(items: list[Any], seconds: dict[str, float], reports: Reports, answer: Path) -> int:
    """The name of the test that failed goes into a file."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        answer.write_text(item.nodeid)  # where the process itself ends, this test is the reason
        with limit(seconds[item.nodeid]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if reports.failed:
            return FAILED
    return NOTHING


def work_apart(folder: Path) -> None:
    """A quiet process with temporary files of its own."""
    be_quiet()
    folder.mkdir(exist_ok=True)
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(folder)


class Room:
    """A pytest plugin: collects the tests of a room, follows them where that is news, tries changes of functions."""

    def __init__(self, name: str, folder: Path, workers: int) -> None:
        self.name, self.folder, self.workers = name, folder, workers
        self.reach, self.reports, self.follower = Reach(name), Reports(), Follower(name)
        self.collected: set[Line] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self, session: pytest.Session) -> Iterator[Any]:
        self.follower.follow()
        answer = yield
        self.collected = self.follower.stop()
        return answer

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Of the examples those of the room."""
        own = f"[verite.{self.name}"
        items[:] = [item for item in items if not item.nodeid.startswith(EXAMPLES) or own in item.nodeid]

    def follow_all(self, session: pytest.Session) -> None:
        """What is known of each file of tests; what is not known yet is found out, a process for each file."""
        files = sorted({item.path for item in session.items})
        with Children(self.workers) as children:
            for file in files:
                if recall(self.name, file) is None:
                    children.start(lambda file=file: self.follow_file(session, file), self.check_followed)
        for file in files:
            known = recall(self.name, file)
            self.reach.add(known["lines"], known["seconds"])

    def follow_file(self, session: pytest.Session, file: Path) -> int:
        work_apart(self.folder / file.stem)
        session.config.pluginmanager.register(self.follower)
        items = [item for item in session.items if item.path == file]
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        (self.folder / "failed").write_text("\n".join(self.follower.failed))
        if not self.follower.failed:
            keep(self.name, file, self.follower)
        return len(self.follower.failed)

    def check_followed(self, status: int) -> None:
        if status:
            failed = (self.folder / "failed").read_text()
            sys.exit(f"mutants: tests of {self.name} fail without a change: {failed or status}")

    def is_imported(self, place: Place) -> bool:
        return place.is_imported or any((str(place.path), line) in self.collected for line in place.lines)

    def tests(self, place: Place) -> list[str]:
        module = self.reach.tests_of_module(place.path) if self.is_imported(place) else []
        return module or self.reach.tests(place.path, place.lines)

    def try_function(self, session: pytest.Session, place: Place, tests: list[str], answer: Path) -> int:
        work_apart(answer.with_suffix(".tmp"))
        change_functions(place)
        items = {item.nodeid: item for item in session.items}
        session.config.pluginmanager.register(self.reports)
        return run_until_failure([items[test] for test in tests], self.reach.seconds, self.reports, answer)


Job = tuple[int, list[str]]  # which change, and the tests that go through it, quickest first


def try_twice(
    jobs: list[Job],
    seconds: dict[str, float],
    workers: int,
    run: Callable[[int, list[str]], int],
    tell: Callable[[int, int], None],
) -> None:
    """Every change against its quick tests, then those that nobody noticed against the others."""
    slow = list[Job]()

    def settle(index: int, rest: list[str], status: int) -> None:
        if status == NOTHING and rest:
            slow.append((index, rest))
        else:
            tell(index, status)

    with Children(workers) as children:
        for index, tests in jobs:
            quick, rest = part(tests, seconds)
            children.start(partial(run, index, quick), partial(settle, index, rest))
    print(f"{len(slow)} of {len(jobs)} changes go on to slower tests", file=sys.stderr, flush=True)
    with Children(workers) as children:
        for index, rest in sorted(slow, key=lambda job: sum(seconds[test] for test in job[1])):
            children.start(partial(run, index, rest), partial(tell, index))


def part(tests: list[str], seconds: dict[str, float]) -> tuple[list[str], list[str]]:
    """The tests that take a few seconds together, and those after them."""
    spent = np.cumsum([seconds[test] for test in tests])
    many = max(1, int(np.searchsorted(spent, QUICK)))
    return tests[:many], tests[many:]


def change_functions(place: Place) -> None:
    """Gives the changed code to every function made of it, wherever it is kept."""
    importlib.import_module(module_of(place.path))
    codes = dict(codes_of(mutate(place.path, place.index)))
    functions = [item for item in gc.get_objects() if isinstance(item, FunctionType)]
    for function in functions:
        if function.__code__.co_filename == str(place.path):
            function.__code__ = codes.get(key_of(function.__code__), function.__code__)


def codes_of(code: CodeType) -> Iterator[tuple[Any, CodeType]]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield key_of(inner), inner
            yield from codes_of(inner)


def key_of(code: CodeType) -> tuple[str, int]:
    return getattr(code, "co_qualname", code.co_name), code.co_firstlineno


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module with one place changed."""

    index = -1

    def get_code(self, fullname: str) -> CodeType:
        return mutate(Path(self.get_filename(fullname)), self.index)


class Finder(importlib.abc.MetaPathFinder):
    """Finds one module before everybody else does."""

    def __init__(self, path: Path, index: int) -> None:
        self.module, self.path, self.index = module_of(path), path, index

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.module:
            return None
        loader = Loader(name, str(self.path))
        loader.index = self.index
        inside = [str(self.path.parent)] if self.path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(name, self.path, loader=loader, submodule_search_locations=inside)


class Chosen:
    """A pytest plugin that runs some tests in the order asked for, and ends the process."""

    def __init__(self, tests: list[str], seconds: dict[str, float], answer: Path) -> None:
        self.tests, self.seconds, self.answer = tests, seconds, answer
        self.reports = Reports()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        if session.testsfailed:  # collecting them failed
            os._exit(FAILED)
        items = {item.nodeid: item for item in session.items}
        session.config.pluginmanager.register(self.reports)
        chosen = [items[test] for test in self.tests if test in items]
        os._exit(run_until_failure(chosen, self.seconds, self.reports, self.answer))


def try_import(place: Place | None, tests: list[str], seconds: dict[str, float], answer: Path) -> int:
    """The same in a process that has imported nothing of ours yet; None changes nothing."""
    work_apart(answer.with_suffix(".tmp"))
    answer.write_text("importing and collecting")
    if place:
        sys.meta_path.insert(0, Finder(place.path, place.index))
    files = sorted({test.partition("::")[0] for test in tests})
    return int(pytest.main([*OPTIONS, *files], plugins=[Chosen(tests, seconds, answer)])) or FAILED


def tidy(answer: Path) -> str:
    """What a process answered; its temporary files go."""
    shutil.rmtree(answer.with_suffix(".tmp"), ignore_errors=True)
    return answer.read_text() if answer.exists() else ""


def load_others(names: Iterable[str]) -> None:
    """Packages of others, so that a new process need not: of ours nothing may be loaded."""
    for name in names:
        if name.partition(".")[0] not in ("verite", "tests", "conftest", "__main__", "__mp_main__", "pycocotools"):
            try:
                importlib.import_module(name)
            except BaseException:
                continue
