"""Number of threads: given, from VERITE_THREADS or OMP_NUM_THREADS, else one per available core."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from verite.errors import BadParameter

# Ours first, then the variable that people set for every numerical program.
VARIABLES = ("VERITE_THREADS", "OMP_NUM_THREADS")
MOST = 256  # kernels set memory aside for each; who asks for more gets these
ASKED: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def use_threads(asked: int | None) -> Iterator[None]:
    """What was asked for a whole piece of work holds for each of its steps: reading, checking and evaluating.

    >>> with use_threads(3):
    ...     thread_count()
    3
    """
    before = ASKED.set(ASKED.get() if asked is None else thread_count(asked))
    try:
        yield
    finally:
        ASKED.reset(before)


def thread_count(asked: int | None = None) -> int:
    """The number of threads: as asked here or for the whole, else by the environment, else one a core we may use.

    >>> thread_count(3), thread_count(10**12)
    (3, 256)
    """
    if asked is None:
        asked = ASKED.get()
    if asked is not None:
        if asked < 1:
            raise BadParameter(f"threads: expected at least 1, found {asked}")
        return min(asked, MOST)
    for variable in VARIABLES:
        text = os.environ.get(variable, "").split(",")[0].strip()
        if text.isdecimal() and len(text) < 10 and int(text) > 0:
            return min(int(text), MOST)
        if text and variable == VARIABLES[0]:
            raise BadParameter(f"{variable}: expected a whole number above 0, found {text!r}")
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available else os.cpu_count() or 1
