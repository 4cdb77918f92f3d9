"""How far is it with a folder of many files? Whoever wants to know listens; nobody else pays for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Listener = Callable[[str, int, int], None]  # what is done, how many are done, and of how many
STEP = 500
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Within this block the listener is told about every few hundred files.

    >>> with listen(lambda *said: print(*said)):
    ...     _ = list(count_files("reading", range(1200)))
    reading 500 1200
    reading 1000 1200
    reading 1200 1200
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def count_files(what: str, files: Sequence[T]) -> Iterator[T]:
    """The same files in the same order."""
    listener = _LISTENER.get()
    if listener is None:
        yield from files
        return
    for done, file in enumerate(files, start=1):
        yield file
        if done % STEP == 0 or done == len(files):
            listener(what, done, len(files))
