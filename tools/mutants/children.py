"""How do many pieces of work run at once, each in a process of its own? Forked, and ended where they hang."""

from __future__ import annotations

import os
import resource
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MEMORY = 8 << 30  # a change may ask for all there is
CPU = 10.0, 10.0  # seconds for a test, and times what it takes without a change
WALL = 120.0, 100.0  # the same for one that waits, on a machine that is busy


class Children:
    """At most so many processes at once; each has a status, handed to whoever started it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.running: dict[int, Callable[[int], None]] = {}

    def start(self, work: Callable[[], int], done: Callable[[int], None]) -> None:
        while len(self.running) >= self.most:
            self.wait()
        child = os.fork()
        if child == 0:
            run_and_exit(work)
        self.running[child] = done

    def wait(self) -> None:
        child, status = os.wait()
        if child in self.running:
            self.running.pop(child)(os.waitstatus_to_exitcode(status))

    def __enter__(self) -> Children:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            for child in self.running:
                os.kill(child, signal.SIGKILL)
        while self.running:
            self.wait()


def run_and_exit(work: Callable[[], int]) -> None:
    """Never comes back: what is above on the stack is the parent's."""
    status = 70
    try:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        status = work()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def be_quiet() -> None:
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Ends the process where something takes far longer than the seconds it took before."""
    signal.setitimer(signal.ITIMER_PROF, CPU[0] + CPU[1] * seconds)
    signal.setitimer(signal.ITIMER_REAL, WALL[0] + WALL[1] * seconds)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
