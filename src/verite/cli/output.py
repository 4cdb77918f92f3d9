"""Output of the commands: progress bar, tables and JSON, notes and warnings on standard error, saved files."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TextIO

import click

from verite.cli.options import Given
from verite.errors import one_line
from verite.files import write_atomically
from verite.model.tables import BOLD, DIM, GREEN, IS_COLOURED, PLAIN, RED, YELLOW, coloured
from verite.progress import Work, listen

if TYPE_CHECKING:
    from pathlib import Path

    from verite.checks import Finding
    from verite.model.annotations import Annotations
    from verite.model.tables import Table


# Whether the command has printed its document or tables: an error afterwards is no second document.
HAS_PRINTED: ContextVar[bool] = ContextVar("has_printed", default=False)

PATIENCE = 0.5  # seconds before anything is shown

BETWEEN = 0.1  # seconds between two updates

LENGTH = 24  # of the bar, in letters

READ_AS = "verite.read_as"  # key of the context: how the last file was read


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
    """A progress bar in one line, updated a few times per second; not with --quiet.

    It is called with counted work (`verite.progress.begin`), also from other threads, and with single calls whose end
    is not known (`wait_for`), which are shown while no counted work goes on inside of them.
    """

    def __init__(self) -> None:
        self.is_wanted, self.is_shown, self.last = True, False, 0.0
        self.counted: Work | None = None
        self.waited_for: Work | None = None
        self.lock = Lock()

    def __call__(self, work: Work) -> None:
        with self.lock:
            if work.is_over:
                self.wipe()
                self.counted = None
            elif work is not self.waited_for and not work.done:  # it begins, in the thread of the command
                context = click.get_current_context(silent=True)
                self.is_wanted = not (context and context.params.get("quiet"))
                if work.total is None:
                    self.waited_for = work
                else:
                    self.counted = work
            elif work.total is not None or self.counted is None:
                self.show(work)

    def show(self, work: Work) -> None:
        """Write the line, unless the work is young or the last update was a moment ago."""
        from shutil import get_terminal_size

        now = time.monotonic()
        if self.is_wanted and now - work.start >= PATIENCE and now - self.last >= BETWEEN:
            self.last, self.is_shown = now, True
            with suppress(OSError):
                sys.stderr.write(f"\r{draw_bar(work, now)[: get_terminal_size().columns - 1]}\033[K")
                sys.stderr.flush()

    def wipe(self) -> None:
        """Remove the line."""
        if self.is_shown:
            with suppress(OSError):
                sys.stderr.write("\r\033[K")
                sys.stderr.flush()
        self.is_shown = False


def draw_bar(work: Work, now: float) -> str:
    """The line.

    >>> work = Work("reading", 3000, "files")
    >>> work.done, work.start = 1000, 0.0
    >>> draw_bar(work, 2.0)
    'reading [########----------------] 33 %, 1,000 of 3,000 files, 500/s, 4 s left'
    >>> draw_bar(Work("reading truth.json (1.2 GB)", None, ""), time.monotonic() + 3)
    'reading truth.json (1.2 GB), 3 s'
    """
    if work.total is None:
        return one_line(f"{work.what}, {spell_time(now - work.start)}")
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
    text = result.to_json() if given["as_json"] else in_style(result, given).rstrip("\n")
    click.echo(text, color=is_coloured(sys.stdout))
    HAS_PRINTED.set(True)


def in_style(result: Printable, given: Given) -> str:
    """Return the printed text in the style that was asked for."""
    if given["style"] == "csv":
        return csv_of(result.main_table(), given)
    if given["style"] != "text":
        return result.in_style(given["style"])
    from shutil import get_terminal_size  # loads every kind of compression

    with colour(sys.stdout):
        text = result.to_text(get_terminal_size().columns, legend=bool(given.get("legend")))
    # Nothing in a name may move the cursor; of the sequences for terminals only our own colours stay.
    pieces = COLOURS.split(text) if is_coloured(sys.stdout) else [text]
    shown = ["\n".join(map(one_line, piece.split("\n"))) if i % 2 == 0 else piece for i, piece in enumerate(pieces)]
    return "".join(shown)


COLOURS = re.compile("(" + "|".join(map(re.escape, (BOLD, DIM, RED, GREEN, PLAIN))) + ")")


def is_coloured(stream: TextIO) -> bool:
    """Whether text for this stream has colours: a person looks at it, and NO_COLOR is not set (no-color.org).

    FORCE_COLOR asks for colours in logs, too; NO_COLOR wins.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def colour(stream: TextIO) -> Iterator[None]:
    """Within this block tables and sentences are coloured, if text for this stream is."""
    token = IS_COLOURED.set(is_coloured(stream))
    try:
        yield
    finally:
        IS_COLOURED.reset(token)


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
    """Return comma-separated values; warn of names that a spreadsheet would compute, or quote them if asked for.

    Parameters
    ----------
    table
        The table.
    given
        The options of the command, of which `--csv-safe` counts.
    """
    from verite.model.styles import has_formulas

    if not given["csv_safe"] and has_formulas(table):
        note("warning: a name begins with =, +, - or @, which a spreadsheet computes; see --csv-safe", quiet=False)
    return table.to_csv(safe=given["csv_safe"])


def note(text: str, *, quiet: bool) -> None:
    """Print a note to standard error, dim in a terminal, unless quiet."""
    if not quiet:
        with colour(sys.stderr):
            print_error(coloured(fit_width(one_line(text)), DIM))


def fit_width(line: str) -> str:
    """Wrap a line of standard error between words to the width of a terminal; elsewhere it stays one line."""
    if not sys.stderr.isatty():
        return line
    from shutil import get_terminal_size
    from textwrap import wrap

    indent = f"{line[: len(line) - len(line.lstrip())]}  "
    width = max(get_terminal_size().columns, 40)
    lines = wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)


def print_error(line: str) -> None:
    """A line on standard error, if that can be written to: a log on a full disk costs no number.

    In a terminal the first word of an error is red, that of a warning yellow.
    """
    for word, tone in (("verite:", RED), ("warning:", YELLOW)):
        if line.startswith(word):
            with colour(sys.stderr):
                line = coloured(word, tone) + line[len(word) :]
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:  # what is left in the buffer must not raise again at exit
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def describe_reading(what: str, annotations: Annotations, *, quiet: bool = False) -> None:
    """Print what a file was recognised as, and why; nothing if quiet.

    Why is printed once for files that are read alike one after the other.
    """
    if quiet:
        return
    from verite.formats import format_named

    source = annotations.source
    one = "prediction" if what == "pred" else "object"
    counts = zip(annotations.counts, (one, "class", "image"), strict=True)
    listed = ", ".join(count_of(count, word) for count, word in counts)
    note(f"{what}: {source.path}: {listed}", quiet=quiet)
    why = f"  read as {format_named(source.format).title}: {source.why}"
    context = click.get_current_context(silent=True)
    if context is None or context.meta.get(READ_AS) != (what, why):
        note(why, quiet=quiet)
    if context is not None:
        context.meta[READ_AS] = what, why
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
    """Print findings of the checks, also with --quiet: they change what a number means. Each is printed once.

    Parameters
    ----------
    findings
        What the checks found on one pair of files.
    paths
        The file of each side, ``truth`` and ``pred``.
    said
        Lines that were printed before, which this adds to.

    Raises
    ------
    DataError
        If there is a warning or an error, and the command has the option `--strict`.
    """
    context = click.get_current_context(silent=True)
    if context is not None and context.params.get("strict"):
        from verite.checks import stop_on_errors

        stop_on_errors(findings, paths, is_strict=True)
    for finding in findings:
        line = one_line(f"{finding.severity}: {paths[finding.side]}: {finding}")
        if line not in said:
            said.add(line)
            # What several files have in common is fixed the same way.
            alike = re.sub(r"[\d.]+", "", f"{finding.severity}{finding}")
            short = f"{finding.severity}: {paths[finding.side]}: {finding.code} {finding.message}"
            print_error(fit_width(one_line(short) if alike in said and finding.fix else line))
            said.add(alike)
