"""Stand-ins for other packages, so that code written for them runs on verite."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType, TracebackType

PARTS = ("_mask", "coco", "cocoeval", "mask")


class Installed:
    """pycocotools under verite's name: for good, or with ``with`` until the block ends."""

    def __init__(self, before: dict[str, ModuleType]) -> None:
        self.before = before

    def __enter__(self) -> Installed:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        remove_pycocotools()
        sys.modules.update(self.before)


def install_as_pycocotools() -> Installed:
    """From here on ``import pycocotools`` finds verite: the same classes, functions and numbers, much faster.

    Modules that imported pycocotools before keep the original. As a context manager it holds for a block alone.

    >>> with install_as_pycocotools():
    ...     from pycocotools import mask
    >>> int(mask.area({"size": [2, 2], "counts": b"13"}))
    3
    """
    before = remove_pycocotools()
    base = import_module("verite.compat.pycocotools")
    sys.modules["pycocotools"] = base
    for part in PARTS:
        sys.modules[f"pycocotools.{part}"] = import_module(f"verite.compat.pycocotools.{part}")
    return Installed(before)


def remove_pycocotools() -> dict[str, ModuleType]:
    """Forget every module of that name; they are returned."""
    names = [name for name in sys.modules if name.partition(".")[0] == "pycocotools"]
    return {name: sys.modules.pop(name) for name in names}
