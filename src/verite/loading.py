"""Modules are imported when they are needed. Imports make many objects and no garbage, so nobody looks for it then."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing() -> Iterator[None]:
    """Imports in this block are not interrupted by collections of garbage, which take a tenth of numpy's import."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
