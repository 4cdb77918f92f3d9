"""The first COCO file of a process is read while numpy is imported, which takes longer and leaves a core idle.

The native reader needs nothing of Python. Where numpy is there already, nothing is left to wait for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from verite import _core
from verite.limits import limit
from verite.loading import importing
from verite.threads import thread_count

# Bytes. Smaller files take no time; larger ones take longer than the import, and then all cores should read.
SMALLEST, LARGEST = 2**20, 2**26
BEGUN: dict[Path, _core.CocoAhead] = {}


@contextmanager
def reading_ahead(path: Path) -> Iterator[None]:
    """Start to read what may be a COCO file, if that is worth it; at the end, forget it if nobody came for it."""
    if "numpy" not in sys.modules and thread_count() > 1 and may_be_coco(path):
        with suppress(OSError):  # no thread to be had, and what else is wrong will be said where the file is needed
            BEGUN[path] = _core.CocoAhead(path, thread_count() - 1, limit("json_depth"))
    try:
        yield
    finally:
        BEGUN.pop(path, None)


def may_be_coco(path: Path) -> bool:
    try:
        if not path.is_file() or not SMALLEST <= path.stat().st_size <= LARGEST:
            return False
        with path.open("rb") as file:
            return file.read(64).lstrip()[:1] in (b"{", b"[")
    except OSError:
        return False


def finished(path: Path) -> _core.CocoFile | None:
    """The file, if it was begun."""
    begun = BEGUN.pop(path, None)
    if begun is None:
        return None
    with importing():
        import_module("numpy")  # now rather than when the first array is made: the file is still being read
    return begun.finish()
