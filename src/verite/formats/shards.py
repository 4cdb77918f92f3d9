"""Which files are one side? A path, a quoted glob, a list of files; and how do several files become one side?"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite.errors import ReadError
from verite.files import PACKED, find_path, read_text
from verite.records import replace

if TYPE_CHECKING:
    from verite.formats.format import Options
    from verite.model.annotations import Annotations

LETTERS = "*?["
SHARDED = {".json", ".jsonl", ".ndjson", ".parquet"}  # files that may be one of many in a folder
WHOLE = {"coco", "coco-results", "lvis", "results-object", "json-lines", "parquet"}  # formats of many images a file


def find_shards(word: str | os.PathLike[str]) -> list[Path]:
    """The files that a word stands for: `gt/*.json` all that match, `@files.txt` those it lists, else the path itself.

    Matches come in the order of their names, those of a list in its own.
    """
    text = os.fspath(word)
    if is_list(text):
        return read_list(Path(text[1:]))
    if is_pattern(text):
        import glob

        found = sorted(glob.glob(text, recursive=True))
        if not found:
            raise ReadError(text, expected="files that match", found="none", remedy="is the pattern right?")
        return [Path(path) for path in found]
    return [find_path(text)]


def is_many(word: object) -> bool:
    """Does a word stand for several files, or is it a list of them?"""
    if isinstance(word, (str, os.PathLike)):
        text = os.fspath(word)
        return isinstance(text, str) and (is_list(text) or is_pattern(text))
    return isinstance(word, (list, tuple)) and bool(word) and all(isinstance(w, (str, os.PathLike)) for w in word)


def is_list(text: str) -> bool:
    return text.startswith("@") and not is_there(text)


def is_pattern(text: str) -> bool:
    return any(letter in text for letter in LETTERS) and not is_there(text)


def is_there(text: str) -> bool:
    """Is there something of this name? Not if nothing can have it."""
    try:
        return Path(text).exists()
    except (OSError, ValueError):  # too long, or with a null byte
        return False


def read_list(path: Path) -> list[Path]:
    """A file a line, seen from the list's own folder; empty lines and those that begin with # are left out."""
    lines = [line.strip() for line in read_text(find_path(path)).splitlines()]
    words = [line for line in lines if line and not line.startswith("#")]
    if not words:
        raise ReadError(path, expected="a file a line", found="none")
    return [find_path(path.parent / word) for word in words]


def find_folder_shards(folder: Path, format_of: Callable[[Path], str]) -> list[Path]:
    """The files of a folder, where there are several and the first is a whole document of many images; else none."""
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    suffixes = {suffix_inside(path) for path in files}
    if len(files) < 2 or len(suffixes) > 1 or not suffixes <= SHARDED or not all(path.is_file() for path in files):
        return []
    try:
        return files if format_of(files[0]) in WHOLE else []
    except ReadError:
        return []


def suffix_inside(path: Path) -> str:
    """What a file ends in, packed or not."""
    return Path(path.stem).suffix if path.suffix.lower() in PACKED else path.suffix


def read_shards(
    word: Any, options: Options, read_one: Callable[[Path, Options], Annotations], name: str = ""
) -> Annotations:
    """Several files as one side: the images of all of them, and the classes, which they share."""
    paths = find_shards(word) if isinstance(word, (str, os.PathLike)) else [p for w in word for p in find_shards(w)]
    first = read_one(paths[0], options)
    shards, last = [first], first
    for path in paths[1:]:
        last = read_one(path, replace(options, like=last) if options.like is not None else options)
        last = last.like(shards[-1])
        shards.append(last)
    if len(shards) == 1:
        return first
    from verite.formats.joining import join

    said = name or (word if isinstance(word, str) else f"{paths[0]} and {len(paths) - 1} more")
    return join(shards, str(said))
