"""Write the generated pages of the reference into docs/reference: committed, so that the repository shows them.

`python tools/reference_pages.py` writes them again (as `make docs` does); with `--check` it prints the differences and
exits with 1 where a page is old, which a test asks.
"""

from __future__ import annotations

import inspect
import sys
from difflib import unified_diff
from pathlib import Path
from typing import Any

import click

import verite
from verite.analysis.parts import analysis_page
from verite.cli import COMMANDS
from verite.cli import verite as command
from verite.formats.registry import reference_page as formats_page
from verite.metrics.cards import catalogue
from verite.protocols.protocol import protocols_page

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
WIDTH = 80  # of help texts, whatever the terminal


def command_line_page() -> str:
    """Return the help of every command."""

    def help_of(found: click.Command, name: str, parent: click.Context | None) -> tuple[click.Context, str]:
        settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
        context = click.Context(found, info_name=name, parent=parent, **settings)
        return context, found.get_help(context)

    context, text = help_of(command, "verite", None)
    parts = ["# Command line", "", "```text", text, "```", ""]
    for name in COMMANDS:
        verb = command.get_command(context, name)
        assert verb is not None
        inner, text = help_of(verb, name, context)
        parts += [f"## verite {name}", "", "```text", text, "```", ""]
        for target in verb.list_commands(inner) if isinstance(verb, click.Group) else ():
            found = verb.get_command(inner, target)
            assert found is not None
            parts += [f"### verite {name} {target}", "", "```text", help_of(found, target, inner)[1], "```", ""]
    return "\n".join(parts)


def signature_of(name: str, thing: Any) -> str:
    """Return `verite.name(…)` with a parameter per line where it is long."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return f"verite.{name}"
    kinds, marks = [one.kind for one in signature.parameters.values()], []
    for i, one in enumerate(signature.parameters.values()):
        if one.kind is one.KEYWORD_ONLY and one.VAR_POSITIONAL not in kinds and kinds.index(one.KEYWORD_ONLY) == i:
            marks.append("*")
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        typed = "" if one.annotation is one.empty else f": {inspect.formatannotation(one.annotation).strip(chr(39))}"
        default = getattr(one.default, "__name__", None) or repr(one.default)
        given = "" if one.default is one.empty else f" = {default}" if typed else f"={default}"
        marks.append(f"{star}{one.name}{typed}{given}")
    shown = f"verite.{name}({', '.join(marks)})"
    return shown if len(shown) <= 100 else "\n".join([f"verite.{name}(", *(f"    {mark}," for mark in marks), ")"])


def api_page() -> str:
    """Return signature and docstring of every public name as text, for readers of the repository."""
    parts = [
        "# Python, as text",
        "",
        "Every public name of `verite` with its docstring, for readers of the repository.",
        "",
    ]
    for name in sorted(verite.__all__, key=str.lower):
        thing = getattr(verite, name)
        if name.startswith("__") or inspect.ismodule(thing):
            continue
        shown = [signature_of(name, thing), "", inspect.getdoc(thing) or ""] if callable(thing) else [repr(thing)]
        parts += [f"## {name}", "", "```text", *shown, "```", ""]
    return "\n".join(parts)


def pages() -> dict[str, str]:
    """Return the generated pages by the names of their files."""
    return {
        "analysis.md": analysis_page(),
        "api.md": api_page(),
        "command-line.md": command_line_page(),
        "formats.md": formats_page(),
        "metrics.md": catalogue().to_markdown(),
        "protocols.md": protocols_page(),
    }


def outdated() -> list[str]:
    """Return the differences of the committed pages from what they should be, a line each."""
    return [
        line
        for name, text in pages().items()
        for line in unified_diff(
            (FOLDER / name).read_text("utf-8").splitlines() if (FOLDER / name).exists() else [],
            text.splitlines(),
            name,
            "now",
            lineterm="",
            n=0,
        )
    ]


def write_pages() -> None:
    """Write the pages that changed."""
    for name, text in pages().items():
        page = FOLDER / name
        if not page.exists() or page.read_text("utf-8") != text:
            page.write_text(text, "utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        lines = outdated()
        print(*lines, sep="\n", end="\n" if lines else "")
        sys.exit(bool(lines))
    write_pages()
