"""What is said about formats in the reference: a page made of their records, so that it cannot drift from them."""

from __future__ import annotations

from verite.formats import all_formats
from verite.formats.format import Format
from verite.formats.unread import UNREAD
from verite.limits import DEFAULTS, environment_name

INTRODUCTION = """\
# Formats

Recognition looks at the first bytes of the files, asks the formats in the order of this table, and says what it decided
and why; `--format`, `--truth-format` and `--pred-format` (`format=` in Python) overrule it.
"""
LIMITS = """\
## Limits
No file is trusted. Each limit appears in its error and can be raised through the environment. XML with a DOCTYPE is
refused.
"""
PACKED = """\
Packed files are read like what is in them: `.gz`, `.zst` (with the extra `[zstd]`) and `.zip`, also of a whole
folder, as tools export it. `-` is standard input. Recognised, but not read, and named as such: {unread}.
"""
OPTIONS = """\
## What a format holds, and what it listens to
What `verite convert` writes and reads again is the same but for the facts that a format cannot hold, which it names.
Options that a format has no use for are named as well.
"""


def page() -> str:
    """The reference of the formats as Markdown."""
    formats = all_formats()
    packed = PACKED.format(unread=", ".join(format.title for format in UNREAD))
    return "\n".join([INTRODUCTION, overview(formats), "", packed, OPTIONS, details(formats), "", LIMITS, limits(), ""])


def overview(formats: list[Format]) -> str:
    """A line per format: what it is, whether it is read and written, and for which side."""
    rows = [
        [f"`{f.name}`", f.title, " and ".join(SIDES[side] for side in f.sides), "yes" if f.write else "no", f.about]
        for f in formats
    ]
    return markdown(["name", "format", "read as", "written", "what it is"], rows)


SIDES = {"truth": "truth", "pred": "predictions"}


def details(formats: list[Format]) -> str:
    """A line per format: the facts it holds, what it cannot be written without, the options it honours."""
    rows = [
        [f"`{f.name}`", list_names(f.preserves) if f.write else "not written", list_names(f.requires), ", ".join(
            f"`{name}`" for name in sorted(f.options))]
        for f in formats
    ]  # fmt: skip
    return markdown(["name", "holds", "needs", "options"], rows)


def limits() -> str:
    rows = [[name.replace("_", " "), f"{value:,}", f"`{environment_name(name)}`"] for name, value in DEFAULTS.items()]
    return markdown(["limit", "value", "raised by"], rows)


def list_names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
