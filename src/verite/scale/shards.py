"""Which files are one side? A path, a quoted glob, a folder of shards, or a list of files."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from verite.errors import ReadError
from verite.files import find_path, read_text

LETTERS = "*?["


def find_shards(word: str | os.PathLike[str]) -> list[Path]:
    """The files that a word stands for: `gt/*.json` all that match, `@files.txt` those it lists, else the path itself.

    Matches come in the order of their names, those of a list in its own.
    """
    text = os.fspath(word)
    if text.startswith("@"):
        return read_list(Path(text[1:]))
    if any(letter in text for letter in LETTERS) and not Path(text).exists():
        found = sorted(glob.glob(text, recursive=True))
        if not found:
            raise ReadError(text, expected="files that match", found="none", remedy="is the pattern quoted and right?")
        return [Path(path) for path in found]
    return [find_path(text)]


def read_list(path: Path) -> list[Path]:
    """A file a line, seen from the list's own folder; empty lines and those that begin with # are left out."""
    lines = [line.strip() for line in read_text(find_path(path)).splitlines()]
    words = [line for line in lines if line and not line.startswith("#")]
    if not words:
        raise ReadError(path, expected="a file a line", found="none")
    return [find_path(path.parent / word) for word in words]


def is_many(word: object) -> bool:
    """Does a word stand for several files, or is it a list of them?"""
    if isinstance(word, (str, os.PathLike)):
        text = os.fspath(word)
        return isinstance(text, str) and (
            text.startswith("@") or (any(letter in text for letter in LETTERS) and not Path(text).exists())
        )
    return isinstance(word, Sequence) and bool(word) and all(isinstance(w, (str, os.PathLike)) for w in word)
