"""Hooks: what higher packages add to results goes through one table, and nothing else reaches upward."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import verite as vt
from tests.test_architecture import FILES, SOURCE, layer, package
from verite.hooks import HOOKS, hook

FROM_THE_TOP = {"_core", "__version__"}  # of the package itself, what is there before any other module


def hooks_called_by(path: Path) -> set[str]:
    """Names in calls of `hook("name")`."""
    calls = [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)]
    return {
        str(argument.value)
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "hook"
        for argument in call.args
        if isinstance(argument, ast.Constant)
    }


USERS = {path: names for path in FILES if (names := hooks_called_by(path))}


@pytest.mark.parametrize("name", HOOKS)
def test_every_hook_is_the_public_function_of_that_name(name: str) -> None:
    assert hook(name) is getattr(vt, name)


def test_every_hook_is_called_from_below_and_every_call_is_in_the_table() -> None:
    assert set().union(*USERS.values()) == set(HOOKS)
    for path, names in USERS.items():
        mine = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for name in names:
            assert layer(package(HOOKS[name].partition(":")[0])) >= layer(mine), f"{path}: {name} is below: import it"


def test_no_module_below_the_command_line_imports_the_package_itself() -> None:
    """Neither `import verite` nor `from verite import coco`, at the top of a module or inside a function."""
    reaching = []
    for path in FILES:
        mine = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if mine in ("__init__", "__main__", "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names if alias.name == "verite"}
            elif isinstance(node, ast.ImportFrom) and node.module == "verite":
                names = {alias.name for alias in node.names} - FROM_THE_TOP
            else:
                continue
            reaching += [f"{path.relative_to(SOURCE)}:{node.lineno}: {name}" for name in names]
    assert not reaching


def test_an_unknown_hook_is_a_mistake_of_ours() -> None:
    with pytest.raises(KeyError):
        hook("nothing")
