"""What a person sees, what a program reads, what is kept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

import click

from verite.errors import one_line
from verite.files import write_atomically

if TYPE_CHECKING:
    from verite.model.annotations import Annotations


class Printable(Protocol):
    def to_json(self, *, indent: int = 0) -> str: ...


def emit(result: Printable, *, as_json: bool, save: str | None, quiet: bool) -> None:
    """Keep the JSON document if asked, then print it or the table."""
    if save:
        write_atomically(save, result.to_json(indent=1) + "\n")
        if not as_json:
            note(f"saved {save}", quiet=quiet)
    click.echo(result.to_json() if as_json else str(result))


def note(text: str, *, quiet: bool) -> None:
    """A remark for a person, out of the way of programs."""
    if not quiet:
        print(one_line(text), file=sys.stderr)


def describe(what: str, annotations: Annotations, *, quiet: bool) -> None:
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


def warn(findings: Any, path: str, *, quiet: bool) -> None:
    """Warnings are shown even to those who want quiet: they change what a number means."""
    for finding in findings:
        print(one_line(f"{finding.severity}: {path}: {finding}"), file=sys.stderr)
