"""Drop-in replacements for pycocotools and torchmetrics: code written for them runs on verite."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType, TracebackType

PARTS = ("_mask", "coco", "cocoeval", "mask")


class Installed:
    """The handle of an installed drop-in: permanent, or removed at the end of a ``with`` block."""

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
    """Make ``import pycocotools`` import verite's drop-in replacement.

    Classes, functions and numbers are those of pycocotools. Modules that imported pycocotools before keep the original.

    Returns
    -------
    Installed
        A context manager: used with ``with``, the original pycocotools is restored at the end of the block. Otherwise
        the replacement stays until the process ends.

    Examples
    --------
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
    """Remove all pycocotools modules from `sys.modules` and return them."""
    names = [name for name in sys.modules if name.partition(".")[0] == "pycocotools"]
    return {name: sys.modules.pop(name) for name in names}
