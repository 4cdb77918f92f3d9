"""Every constant of the checks has a boundary, found by reading the sources, and tests that stand on both its sides."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

import verite
from tests.checks.boundary import CASES

CHECKS = Path(verite.__file__).parent / "checks"
CORE = Path(__file__).parents[2] / "cpp" / "columns"
for path in sorted(Path(__file__).parent.glob("test_*.py")):
    if path.stem != "test_constants":
        importlib.import_module(f"tests.checks.{path.stem}")

# How much is looked at, shown or compared: more of it costs time and changes no verdict by itself.
AMOUNTS = {
    "classes.SHOWN",
    "classes.UNKNOWN",
    "evidence.NORMAL",
    "evidence.RANDOM_BOXES",
    "evidence.TURNS",
    "findings.COMPARED",
    "findings.EXAMPLES",
    "inspection.QUANTILES",
    "inspection.SHOWN_LABELS",
    "poses.SAMPLED",
    "sample.IMAGES",
    "sample.PER_IMAGE",
    "scaling.CELLS",
    "scaling.NETWORK",
    "scaling.PAIRS",
    "scaling.USUAL",
}
CORE_AMOUNTS = {"CensusRules.neighbours", "CensusRules.sampled", "FitRules.images", "FitRules.per_image"}


def is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def constants():
    """Every name in capitals that a module of the checks gives to numbers."""
    found = set()
    for path in CHECKS.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and any(is_number(part) for part in ast.walk(node.value)):
                names = {part.id for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)}
                found |= {f"{path.stem}.{name}" for name in names if name.isupper()}
    return found - {"readings.READINGS", "readings.SCALED"}  # made of words


def core_constants():
    """Every number of the core's rules."""
    found = set()
    for file in ("census.hpp", "quick_fit.hpp"):
        name, body = re.search(r"struct (\w+Rules) \{(.*?)\n\};", (CORE / file).read_text(), re.S).groups()
        found |= {f"{name}.{field}" for field in re.findall(r"(\w+) = [\d.e-]+", body)}
    return found


def test_every_constant_has_a_case_at_its_boundary():
    assert constants() | core_constants() == set(CASES) | AMOUNTS | CORE_AMOUNTS
    assert not set(CASES) & (AMOUNTS | CORE_AMOUNTS)


@pytest.mark.parametrize("path", sorted(CHECKS.glob("*.py")), ids=lambda path: path.stem)
def test_numbers_that_decide_have_names(path):
    """No fraction in a function, and nothing compared with a number beyond two: they would have no boundary."""
    free = (0, 1, 2, 0.0, 0.5, 1.0, 100)
    for function in ast.walk(ast.parse(path.read_text())):
        if not isinstance(function, ast.FunctionDef):
            continue
        compared = [part for node in ast.walk(function) if isinstance(node, ast.Compare) for part in node.comparators]
        numbers = [node for node in ast.walk(function) if is_number(node) and isinstance(node.value, float)]
        odd = [node for node in (*numbers, *compared) if is_number(node) and node.value not in free]
        assert not odd, [f"{path.name}:{node.lineno} {node.value}" for node in odd]


def changed(value, way):
    """A value that is a little larger or smaller, whatever it is made of."""
    if isinstance(value, dict):
        return {key: changed(part, way) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(changed(part, way) for part in value)
    if isinstance(value, int):
        return max(value + way, 1)
    return value if isinstance(value, str) else value * 1.1**way or 0.1 * way


def users(module, name):
    """The modules in which the name stands for this constant."""
    yield module
    for path in CHECKS.glob("*.py"):
        imports = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ImportFrom)]
        own = (node for node in imports if node.module == f"verite.checks.{module}")
        if any(name == alias.name for node in own for alias in node.names):
            yield path.stem


def run(test, tmp_path):
    test(**({"tmp_path": tmp_path} if "tmp_path" in inspect.signature(test).parameters else {}))


@pytest.mark.parametrize("way", [1, -1], ids=["larger", "smaller"])
@pytest.mark.parametrize("name", sorted(name for name in CASES if name.partition(".")[0].islower()))
def test_a_case_notices_when_its_constant_changes(name, way, monkeypatch, tmp_path):
    module, _, constant = name.partition(".")
    value = getattr(importlib.import_module(f"verite.checks.{module}"), constant)
    for user in users(module, constant):
        monkeypatch.setattr(f"verite.checks.{user}.{constant}", changed(value, way))
    for test in CASES[name]:
        try:
            run(test, tmp_path)
        except Exception:
            return
    pytest.fail(f"{name} may be {changed(value, way)} instead of {value}, and nobody notices")
