"""What does a person see of long work? A bar on standard error with rate and time left, which goes away at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from verite.progress import Work, listen

PATIENCE = 0.5  # seconds before anything is shown
BETWEEN = 0.1  # seconds from one picture to the next
LENGTH = 24  # of the bar, in letters


@contextmanager
def show_progress() -> Iterator[None]:
    """Within this block counted work is shown, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    bar = ProgressBar()
    try:
        with listen(bar):
            yield
    finally:
        bar.wipe()  # an error may leave work before it could say that it is over


class ProgressBar:
    """One line, drawn anew a few times a second. Those who asked for quiet see nothing of it."""

    def __init__(self) -> None:
        self.is_wanted, self.is_shown, self.last = True, False, 0.0

    def __call__(self, work: Work) -> None:
        now = time.monotonic()
        if work.is_over:
            self.wipe()
        elif not work.done:
            context = click.get_current_context(silent=True)
            self.is_wanted = not (context and context.params.get("quiet"))
        elif self.is_wanted and now - work.start >= PATIENCE and now - self.last >= BETWEEN:
            self.last, self.is_shown = now, True
            columns = terminal_columns()
            sys.stderr.write(f"\r{draw_bar(work, now)[: columns - 1]}\033[K")
            sys.stderr.flush()

    def wipe(self) -> None:
        if self.is_shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
        self.is_shown = False


def terminal_columns() -> int:
    from shutil import get_terminal_size  # loads every kind of compression

    return get_terminal_size().columns


def draw_bar(work: Work, now: float) -> str:
    """The line.

    >>> work = Work("reading", 3000, "files")
    >>> work.done, work.start = 1000, 0.0
    >>> draw_bar(work, 2.0)
    'reading [########----------------] 33 %, 1,000 of 3,000 files, 500/s, 4 s left'
    """
    share = min(work.done / max(work.total, 1), 1.0)
    filled = int(share * LENGTH)
    rate = work.done / max(now - work.start, 1e-9)
    left = max(work.total - work.done, 0) / rate
    speed = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
    return (
        f"{work.what} [{'#' * filled}{'-' * (LENGTH - filled)}] {100 * share:.0f} %, "
        f"{work.done:,} of {work.total:,} {work.unit}, {speed}/s, {spell_time(left)} left"
    )


def spell_time(seconds: float) -> str:
    """A length of time in the unit that fits it.

    >>> spell_time(0.4), spell_time(75), spell_time(4020)
    ('1 s', '1 min 15 s', '1 h 7 min')
    """
    whole = max(round(seconds), 1)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
