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
            promote_objects()
            gc.enable()


def promote_objects() -> None:
    """All that lives now belongs to the oldest generation: modules stay, so the next collection need not look at them.

    Nothing of the kind where somebody has frozen objects, which would thaw.
    """
    if gc.get_freeze_count() == 0:
        gc.freeze()
        gc.unfreeze()
