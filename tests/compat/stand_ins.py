"""Modules that are not installed, for files that import them and do little with them."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any


class Kind(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything


class Anything(metaclass=Kind):
    """A base class, a decorator, a logger, a registry: whatever it is asked for."""

    def __init__(self, *given: Any, **named: Any) -> None:
        pass

    def __call__(self, *given: Any, **named: Any) -> Any:
        return given[0] if given else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds every module below some packages: a file where there is one, what is said of it, and anything else."""

    def __init__(self, packages: tuple[str, ...], files: Mapping[str, Path], said: Mapping[str, Mapping[str, Any]]):
        self.packages, self.files, self.said = packages, files, said

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name in self.files:
            inner = [str(self.files[name].parent)] if self.files[name].stem == "__init__" else None
            return importlib.util.spec_from_file_location(name, self.files[name], submodule_search_locations=inner)
        parent = self.said.get(name.rpartition(".")[0], {})
        if name.partition(".")[0] not in self.packages or parent.get("__strict__"):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> ModuleType:
        module = ModuleType(spec.name)
        said = self.said.get(spec.name, {})
        for name, value in said.items():
            if not name.startswith("__"):
                setattr(module, name, value)

        def offer(name: str) -> Any:
            if name.startswith("__") or said.get("__strict__"):
                raise AttributeError(name)
            inner = f"{spec.name}.{name}"
            return importlib.import_module(inner) if inner in (*self.said, *self.files) else Anything

        module.__getattr__ = offer  # type: ignore[method-assign]
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass

    def __enter__(self) -> StandIns:
        self.before = {name: module for name, module in sys.modules.items() if self.is_ours(name)}
        for name in self.before:
            del sys.modules[name]
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *error: object) -> None:
        sys.meta_path.remove(self)
        for name in [name for name in sys.modules if self.is_ours(name)]:
            del sys.modules[name]
        sys.modules.update(self.before)

    def is_ours(self, name: str) -> bool:
        return name.partition(".")[0] in {*self.packages, *(file.partition(".")[0] for file in self.files)}
