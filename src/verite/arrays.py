"""numpy, imported when something of it is first used: a program that needs none of it should not wait for it.

>>> np.arange(3).tolist()
[0, 1, 2]
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["np"]


class Later:
    """Stands for a module: what was asked for once is kept, and then found as quickly as in the module itself."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> object:
        # Whoever looks at everything in a namespace asks for such names, and wants nothing of the module.
        if name.startswith("__"):
            raise AttributeError(f"{self!r} has no attribute {name!r}", name=name, obj=self)
        value: object = getattr(import_module(self._module), name)
        setattr(self, name, value)
        return value

    def __repr__(self) -> str:
        return f"<{self._module}, imported when it is used>"


if not TYPE_CHECKING:
    np = Later("numpy")
