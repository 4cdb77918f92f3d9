"""What a person sees, what a program reads, what is kept."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import click

from verite.errors import one_line
from verite.files import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from verite.checks import Finding
    from verite.model.annotations import Annotations
    from verite.model.tables import Table

Given = dict[str, Any]


class Printable(Protocol):
    def to_json(self, *, indent: int = 0) -> str: ...
    def in_style(self, style: str) -> str: ...
    def main_table(self) -> Table: ...


def emit(result: Printable, given: Given) -> None:
    """Keep the JSON document if asked, then print it or the tables, as the output options say."""
    if given["save"]:
        write_atomically(given["save"], result.to_json(indent=1) + "\n")
        note(f"saved {given['save']}", quiet=given["quiet"] or given["as_json"])
    click.echo(result.to_json() if given["as_json"] else in_style(result, given).rstrip("\n"))


def in_style(result: Printable, given: Given) -> str:
    """What is printed, in the style that was asked for."""
    if given["style"] == "csv":
        return csv_of(result.main_table(), given)
    return result.in_style(given["style"])


def keep_table(path: Path, table: Table, given: Given) -> None:
    """A table as a file of comma-separated values."""
    write_atomically(path, csv_of(table, given))


def wants_plots(given: Given) -> bool:
    """Whether to draw into the output folder; where nothing can be drawn, what to install."""
    return bool(given["output"]) and not given["no_plot"] and can_draw()


def can_draw() -> bool:
    """Whether matplotlib is there; where it is not, what to install."""
    from verite.reporting.figures import MISSING, has_matplotlib

    if not has_matplotlib():
        note(MISSING, quiet=False)
    return has_matplotlib()


def csv_of(table: Table, given: Given) -> str:
    """Comma-separated values; names that a spreadsheet would compute are told of, or made inert if asked for."""
    from verite.model.styles import has_formulas

    if not given["csv_safe"] and has_formulas(table):
        note("warning: a name begins with =, +, - or @, which a spreadsheet computes; see --csv-safe", quiet=False)
    return table.to_csv(safe=given["csv_safe"])


def note(text: str, *, quiet: bool) -> None:
    """A remark for a person, out of the way of programs."""
    if not quiet:
        print(one_line(text), file=sys.stderr)


def describe_reading(what: str, annotations: Annotations, *, quiet: bool) -> None:
    """What a file was taken for, and why."""
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
    """Warnings are shown even to those who want quiet: they change what a number means. Each is said once."""
    for finding in findings:
        line = one_line(f"{finding.severity}: {paths[finding.side]}: {finding}")
        if line not in said:
            said.add(line)
            print(line, file=sys.stderr)
