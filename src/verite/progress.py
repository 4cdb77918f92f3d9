"""Progress of long work: the work counts its steps, a listener (the progress bar) is optional and costs nothing else.

Whatever may take longer than a moment counts what it does, in one of three ways::

    with begin("drawing truths", draws, "truths") as advance:
        for block in blocks:
            ...
            advance(len(block))             # from any thread

    for file in count_files("reading", files):
        ...

    with wait_for("reading truth.json"):    # one long call, whose end is not known
        ...

The command line listens on a terminal and shows a bar with rate and time left (`verite.cli.output`); commands need not
mention it. Of work inside of other work the inner is shown, if it takes long enough to be shown at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Event, Lock, Thread
from typing import TypeVar

T = TypeVar("T")
Listener = Callable[["Work"], None]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


TICK = 0.2  # seconds between two calls of the listener while a single call runs


class Work:
    """Counted work, as a listener sees it.

    Attributes
    ----------
    what, unit : str
        What is done, as a verb ("reading"), and what is counted ("files").
    done : int
        Number of steps that are done.
    total : int or None
        Number of all steps; None where it is not known.
    is_over : bool
        Whether the work has ended, also by an error.
    start : float
        When it began, by `time.monotonic`.
    """

    def __init__(self, what: str, total: int | None, unit: str) -> None:
        self.what, self.total, self.unit = what, total, unit
        self.done, self.is_over, self.start = 0, False, time.monotonic()


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Within this block the listener is called when counted work begins, with every step, and when it is over.

    >>> with listen(lambda work: print(work.what, work.done, work.total, work.is_over)):
    ...     _ = list(count_files("reading", ["a.txt", "b.txt"]))
    reading 0 2 False
    reading 1 2 False
    reading 2 2 False
    reading 2 2 True
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def begin(what: str, total: int, unit: str) -> Iterator[Callable[[int], None]]:
    """Work of so many units; what is given is called with how many more of them are done."""
    tell = _LISTENER.get()
    if tell is None:
        yield lambda count: None
        return
    work, lock = Work(what, total, unit), Lock()

    def advance(count: int) -> None:
        with lock:
            work.done += count
            tell(work)

    try:
        tell(work)
        yield advance
    finally:
        work.is_over = True
        tell(work)


def count_files(what: str, files: Sequence[T]) -> Iterator[T]:
    """The same files in the same order."""
    if _LISTENER.get() is None:
        yield from files
        return
    with begin(what, len(files), "files") as advance:
        for file in files:
            yield file
            advance(1)


@contextmanager
def wait_for(what: str) -> Iterator[None]:
    """Within this block one long call runs: the listener is called a few times per second, from another thread.

    The call must release the interpreter now and then, as the compiled core does and Python code does by itself.
    """
    tell = _LISTENER.get()
    if tell is None:
        yield
        return
    work, is_over = Work(what, None, ""), Event()

    def tick() -> None:
        while not is_over.wait(TICK):
            tell(work)

    thread = Thread(target=tick, daemon=True)
    tell(work)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
        work.is_over = True
        tell(work)
