"""Output of the commands: progress bar, tables and JSON, notes and warnings on standard error, saved files."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Protocol

import click

from verite.cli.options import Given
from verite.errors import one_line
from verite.files import write_atomically
from verite.progress import Work, listen

if TYPE_CHECKING:
    from pathlib import Path

    from verite.checks import Finding
    from verite.model.annotations import Annotations
    from verite.model.tables import Table


PATIENCE = 0.5  # seconds before anything is shown

BETWEEN = 0.1  # seconds between two updates

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
    """A progress bar in one line, updated a few times per second; not with --quiet."""

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
            with suppress(OSError):
                sys.stderr.write(f"\r{draw_bar(work, now)[: columns - 1]}\033[K")
                sys.stderr.flush()

    def wipe(self) -> None:
        if self.is_shown:
            with suppress(OSError):
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


class Printable(Protocol):
    def to_json(self, *, indent: int = 0) -> str: ...
    def in_style(self, style: str) -> str: ...
    def to_text(self, width: int | None = None, *, legend: bool = False) -> str: ...
    def main_table(self) -> Table: ...


def emit(result: Printable, given: Given) -> None:
    """Save the JSON document if asked for, then print it or the tables.

    Parameters
    ----------
    result
        Anything that can be printed: results, a comparison, an analysis.
    given
        The output options: ``save``, ``as_json``, ``style``, ``legend``, ``csv_safe``, ``quiet``.
    """
    if given["save"]:
        write_atomically(given["save"], result.to_json(indent=1) + "\n")
        note(f"saved {given['save']}", quiet=given["quiet"] or given["as_json"])
    click.echo(result.to_json() if given["as_json"] else in_style(result, given).rstrip("\n"))


def in_style(result: Printable, given: Given) -> str:
    """Return the printed text in the style that was asked for."""
    if given["style"] == "csv":
        return csv_of(result.main_table(), given)
    if given["style"] != "text":
        return result.in_style(given["style"])
    lines = result.to_text(terminal_columns(), legend=bool(given.get("legend"))).split("\n")
    return "\n".join(map(one_line, lines))  # nothing in a name may move the cursor


def keep_table(path: Path, table: Table, given: Given) -> None:
    """Save a table as CSV."""
    write_atomically(path, csv_of(table, given))


def wants_plots(given: Given) -> bool:
    """Whether to draw into the output folder; where nothing can be drawn, what to install."""
    return bool(given["output"]) and not given["no_plot"] and can_draw()


def can_draw() -> bool:
    """Whether matplotlib is there; where it is not, what to install."""
    from verite.reporting.plots import MISSING, has_matplotlib

    context = click.get_current_context(silent=True)
    told = {} if context is None else context.meta  # once per command
    if not has_matplotlib() and not told.get(MISSING):
        note(MISSING, quiet=False)
        told[MISSING] = True
    return has_matplotlib()


def csv_of(table: Table, given: Given) -> str:
    """Return comma-separated values; warn of names that a spreadsheet would compute, or quote them if asked for."""
    from verite.model.styles import has_formulas

    if not given["csv_safe"] and has_formulas(table):
        note("warning: a name begins with =, +, - or @, which a spreadsheet computes; see --csv-safe", quiet=False)
    return table.to_csv(safe=given["csv_safe"])


def note(text: str, *, quiet: bool) -> None:
    """Print a note to standard error, unless quiet."""
    if not quiet:
        print_error(one_line(text))


def print_error(line: str) -> None:
    """A line on standard error, if that can be written to: a log on a full disk costs no number."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:  # what is left in the buffer must not raise again at exit
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def describe_reading(what: str, annotations: Annotations, *, quiet: bool = False) -> None:
    """Print what a file was recognised as, and why."""
    from verite.formats import format_named

    source = annotations.source
    counts = zip(annotations.counts, ("object", "class", "image"), strict=True)
    listed = ", ".join(count_of(count, word) for count, word in counts)
    note(f"{what}: {source.path}: {listed}", quiet=quiet)
    note(f"  read as {format_named(source.format).title}: {source.why}", quiet=quiet)
    for remark in source.notes:
        note(f"  {remark}", quiet=quiet)


def count_of(count: int, word: str) -> str:
    """A count and its noun.

    >>> count_of(1, "class"), count_of(1200, "class"), count_of(2, "image")
    ('1 class', '1,200 classes', '2 images')
    """
    ending = "" if count == 1 else "es" if word.endswith("s") else "s"
    return f"{count:,} {word}{ending}"


def warn(findings: Sequence[Finding], paths: Mapping[str, str], said: set[str]) -> None:
    """Print findings of the checks, also with --quiet: they change what a number means. Each is printed once."""
    for finding in findings:
        line = one_line(f"{finding.severity}: {paths[finding.side]}: {finding}")
        if line not in said:
            said.add(line)
            print_error(line)
