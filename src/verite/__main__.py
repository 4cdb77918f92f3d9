"""The way in from a shell: `verite` and `python -m verite`. An interrupt while modules load ends in a line, too."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as type checkers read it; whatever is imported here delays the answer to an interrupt
if TYPE_CHECKING:
    from types import FrameType


def main() -> None:
    """Load the command line and run it."""
    try:
        import signal

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored on purpose
            signal.signal(signal.SIGINT, interrupt)
        import gc

        from verite.cli import main as run

        try:
            run()
        except SystemExit as end:
            if not end.code:
                gc.freeze()  # the process ends, and without an error there is no garbage worth collecting twice more
            raise
    except KeyboardInterrupt:
        leave()


def interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, except amid an import: there Python may swallow it and keep a lock for ever."""
    inner = frame
    while inner:
        if inner.f_code.co_filename.startswith("<frozen importlib"):
            leave()
        inner = inner.f_back
    raise KeyboardInterrupt


def leave() -> None:
    """End here and now: what was begun has tidied up, or was being loaded and has nothing to."""
    print("verite: interrupted", file=sys.stderr, flush=True)
    for child in getattr(sys.modules.get("multiprocessing"), "active_children", list)():
        child.terminate()
    os._exit(130)


if __name__ == "__main__":
    main()
