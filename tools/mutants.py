"""Would the tests notice a mistake? Changes one operator or number at a time and runs the tests that go through it.

    make mutants                     # a seeded sample of 300 in four rooms, each against its room's tests
    .venv/bin/python tools/mutants.py --count 50 --room checks --seed 7

First every test of a room runs once, and what it goes through is kept; then each mutant runs in a process of its own
against those tests of its room that go through the changed line, the quickest first, until one fails. A line that is
run when its module is imported, as a constant is, counts for all tests that go through its module. Mutants that change
nothing are listed in `EQUIVALENT` by the line they stand in, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
ROOMS = ("checks", "ranking", "interpretation", "formats")
LIMIT = 120  # seconds, after which a mutant counts as found: it does not come to an end
# The beginning of a line (without its indentation) → why no change of it can be seen.
EQUIVALENT: dict[str, str] = {}

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
WORDS = {"min": "max", "max": "min", "any": "all", "all": "any"}


class Mutator(ast.NodeTransformer):
    """Counts the places that could be changed, and changes the one that is asked for."""

    def __init__(self, wanted: int = -1) -> None:
        self.wanted, self.depth = wanted, 0
        self.places = list[tuple[int, str, bool]]()  # line, change, and whether it is run with the module's import

    def is_wanted(self, node: Any, what: str) -> bool:
        self.places.append((node.lineno, what, self.depth == 0))
        return len(self.places) - 1 == self.wanted

    def swap(self, node: Any, operator: ast.AST) -> ast.AST:
        other = SWAPS.get(type(operator))
        if other and self.is_wanted(node, f"{type(operator).__name__} → {other.__name__}"):
            return other()
        return operator

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        node.ops = [self.swap(node, operator) for operator in node.ops]  # type: ignore[misc]
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        node.op = self.swap(node, node.op)  # type: ignore[assignment]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        node.op = self.swap(node, node.op)  # type: ignore[assignment]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, (ast.Not, ast.Invert)) and self.is_wanted(node, f"no {type(node.op).__name__}"):
            return node.operand
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, bool):
            if self.is_wanted(node, f"{node.value} → {not node.value}"):
                return ast.copy_location(ast.Constant(not node.value), node)
        elif isinstance(node.value, (int, float)):
            other = node.value + 1 if isinstance(node.value, int) else node.value * 1.1 + (node.value == 0)
            if self.is_wanted(node, f"{node.value} → {other:g}"):
                return ast.copy_location(ast.Constant(other), node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in WORDS and self.is_wanted(node, f"{node.id} → {WORDS[node.id]}"):
            return ast.copy_location(ast.Name(WORDS[node.id], node.ctx), node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        # What is there for the type checker alone is never run.
        return node if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        # What decorators are told, as that records are frozen, is for those who write programs.
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        # Types of parameters and answers are no program.
        self.depth += 1
        node.body = [self.visit(statement) for statement in node.body]
        self.depth -= 1
        node.args.defaults = [self.visit(value) for value in node.args.defaults]
        node.args.kw_defaults = [value and self.visit(value) for value in node.args.kw_defaults]
        return node


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles a module with one place changed."""

    wanted = -1

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = Mutator(self.wanted).visit(ast.parse(Path(path).read_text()))
        return compile(ast.fix_missing_locations(tree), path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    """Finds one module before everybody else does."""

    def __init__(self, module: str, path: Path, wanted: int) -> None:
        self.module, self.path, self.wanted = module, path, wanted

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.module:
            return None
        loader = Loader(name, str(self.path))
        loader.wanted = self.wanted
        return importlib.util.spec_from_file_location(
            name, self.path, loader=loader,
            submodule_search_locations=[str(self.path.parent)] if self.path.name == "__init__.py" else None,
        )  # fmt: skip


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Following:
    """Which lines of a room each test goes through, and how long it takes."""

    def __init__(self, room: str) -> None:
        self.home = str(SOURCE / "verite" / room) + os.sep
        self.lines: dict[str, set[tuple[str, int]]] = {}
        self.seconds: dict[str, float] = {}
        self.seen: set[tuple[str, int]] = set()

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        return self.trace_line if frame.f_code.co_filename.startswith(self.home) else None

    def trace_line(self, frame: Any, event: str, argument: Any) -> Any:
        self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace_line

    def pytest_runtest_setup(self, item: Any) -> None:
        self.seen = set()
        sys.settrace(self.trace)

    def pytest_runtest_teardown(self, item: Any) -> None:
        sys.settrace(None)
        self.lines[item.nodeid] = self.seen

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


def in_child(work: Any, limit: float) -> tuple[int, str]:
    """The status of work() in a process of its own, and what it wrote into the pipe; -1 where it took too long."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.setsid()
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        status, answer = work()
        with os.fdopen(write, "w") as out:
            out.write(answer)
        os._exit(status)
    os.close(write)
    ends = time.monotonic() + limit
    told = b""
    os.set_blocking(read, False)
    while True:
        with contextlib.suppress(BlockingIOError):
            told += os.read(read, 1 << 20)
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > ends:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)
            return -1, ""
        time.sleep(0.02)
    while piece := os.read(read, 1 << 20):
        told += piece
    os.close(read)
    return os.waitstatus_to_exitcode(status), told.decode()


ARGUMENTS = ["-q", "-n", "0", "-x", "-p", "no:cacheprovider", "-m", "not slow", "--no-header", "--tb=no"]


def follow(room: str) -> tuple[dict[tuple[str, int], list[str]], dict[str, float]]:
    """By line the tests of a room that go through it, and every test's seconds."""

    def work() -> tuple[int, str]:
        import pytest

        plugin = Following(room)
        options = [option for option in ARGUMENTS if option != "-x"]
        status = pytest.main([*options, str(ROOT / "tests" / room)], plugins=[plugin])
        told = {test: sorted(lines) for test, lines in plugin.lines.items()}
        return int(status), json.dumps([told, plugin.seconds])

    status, answer = in_child(work, 3600)
    if status:
        sys.exit(f"mutants: the tests of {room} do not pass without a change (pytest's status {status})")
    told, seconds = json.loads(answer)
    through = defaultdict(list)
    for test, lines in told.items():
        for path, line in lines:
            through[path, line].append(test)
    return through, seconds


def try_mutant(path: Path, wanted: int, tests: list[str]) -> bool:
    """Is it found?"""

    def work() -> tuple[int, str]:
        import pytest

        sys.meta_path.insert(0, Finder(module_of(path), path, wanted))
        return int(pytest.main([*ARGUMENTS, *tests])), ""

    return in_child(work, LIMIT)[0] != 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", action="append", choices=ROOMS)
    parser.add_argument("--most-tests", type=int, default=60, help="Of those that go through a line, the quickest.")
    given = parser.parse_args()
    os.chdir(ROOT)
    import numpy  # noqa: F401 - what every child needs is loaded once
    import pytest  # noqa: F401

    rooms = given.room or list(ROOMS)
    found = total = 0
    for room in rooms:
        through, seconds = follow(room)
        sites = []
        for path in sorted((SOURCE / "verite" / room).rglob("*.py")):
            mutator = Mutator()
            mutator.visit(ast.parse(path.read_text()))
            sites += [(path, i, *place) for i, place in enumerate(mutator.places)]
        chosen = random.Random(f"{given.seed}{room}").sample(sites, min(len(sites), -(-given.count // len(rooms))))
        killed = 0
        counted = 0
        for path, i, line, what, is_imported in sorted(chosen):
            text = path.read_text().splitlines()[line - 1].strip()
            if any(text.startswith(start) for start in EQUIVALENT):
                continue
            going = {
                test
                for (where, at), those in through.items()
                if where == str(path) and (is_imported or at == line)
                for test in those
            }
            tests = sorted(going, key=lambda test: seconds[test])[: given.most_tests]
            is_found = bool(tests) and try_mutant(path, i, tests)
            counted += 1
            killed += is_found
            if not is_found:
                print(f"{path.relative_to(ROOT)}:{line}: {what}: not found by {len(tests)} tests: {text}", flush=True)
        print(f"{room}: {killed} of {counted} mutants found ({len(sites)} places)", flush=True)
        found, total = found + killed, total + counted
    print(f"{found} of {total} mutants found: {100 * found / max(total, 1):.1f} %")


if __name__ == "__main__":
    main()
