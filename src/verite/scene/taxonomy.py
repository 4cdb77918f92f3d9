"""Taxonomy of classes: a tree read from JSON or indented text, and the path lengths between its classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import ReadError, excerpt
from verite.files import find_path, read_text
from verite.formats.json_documents import check_depth

if TYPE_CHECKING:
    from verite.files import JsonObject


@dataclass(frozen=True)
class Taxonomy:
    """A tree of classes: names without children are the classes, the others are groups.

    Parameters
    ----------
    parents : mapping
        The parent of every name, None for those at the top.
    where : str, default "taxonomy"
        The file to name in errors.

    Raises
    ------
    ReadError
        If there is no name, or a cycle.

    Examples
    --------
    >>> names, steps = Taxonomy({"cat": "animal", "dog": "animal", "car": "thing"}).path_lengths()
    >>> names, steps.tolist()
    (('cat', 'dog', 'car'), [[0.0, 2.0, 4.0], [2.0, 0.0, 4.0], [4.0, 4.0, 0.0]])
    """

    parents: Mapping[str, str | None]
    where: str = "taxonomy"

    def __post_init__(self) -> None:
        if not self.parents:
            raise ReadError(self.where, expected="names of classes", found="none")
        for name in self.parents:
            seen, at = {name}, self.parents.get(name)
            while at is not None:
                if at in seen:
                    raise ReadError(self.where, expected="a tree", found=f"a cycle: {excerpt(at)} is its own ancestor")
                seen.add(at)
                at = self.parents.get(at)

    @property
    def groups(self) -> set[str]:
        """Names that are the parent of others."""
        return {parent for parent in self.parents.values() if parent is not None}

    @property
    def classes(self) -> tuple[str, ...]:
        """Names without children."""
        return tuple(name for name in self.parents if name not in self.groups)

    def ancestors(self, name: str) -> list[str]:
        """Return a name, its parent, and so on to the top."""
        found = [name]
        while (parent := self.parents.get(found[-1])) is not None:
            found.append(parent)
        return found

    def path_lengths(self) -> tuple[tuple[str, ...], NDArray[np.float64]]:
        """Return the classes, and the number of steps from each to each through their closest common ancestor.

        Trees without a common ancestor meet one step above their tops.
        """
        lines = {name: self.ancestors(name)[::-1] for name in self.classes}  # from the top
        steps = np.zeros((len(lines), len(lines)))
        for i, a in enumerate(lines.values()):
            for j, b in enumerate(lines.values()):
                # No class is the ancestor of another: where nothing differs it is the same class.
                shared = next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(a))
                steps[i, j] = len(a) + len(b) - 2 * shared
        return tuple(lines), steps


def read_taxonomy(path: str | PathLike[str]) -> Taxonomy:
    """Read a taxonomy: JSON (nested objects and lists, or a parent for each name) or text indented by depth."""
    file = find_path(path)
    text = read_text(file)
    if not text.strip():
        raise ReadError(file, expected="a taxonomy", found="an empty file")
    if text.lstrip()[0] in "{[":
        return parse_json(text, file)
    # One name per line, indented more than its parent; # starts a comment.
    parents: dict[str, str | None] = {}
    above: list[tuple[int, str]] = []  # depth and name of the line's ancestors
    for number, line in enumerate(StringIO(text, newline=None), 1):
        bare = line.split("#", 1)[0].rstrip()
        if not bare:
            continue
        start = bare[: len(bare) - len(bare.lstrip())]
        if " " in start and "\t" in start:
            raise ReadError(f"{file}:{number}", expected="spaces or tabs before the name", found="both")
        while above and above[-1][0] >= len(start):
            left = above.pop()[0]
            if (above[-1][0] if above else 0) < len(start) < left:
                raise ReadError(
                    f"{file}:{number}", expected="a depth that a line above has", found=f"{len(start)} characters"
                )
        name = bare.strip()
        add(name, above[-1][1] if above else None, parents, f"{file}:{number}")
        above.append((len(start), name))
    return Taxonomy(parents, str(file))


def parse_json(text: str, path: Path) -> Taxonomy:
    """Parse nested objects with lists of names at their ends, or one object with the parent of each name."""
    import json

    def unique(pairs: list[tuple[str, Any]]) -> JsonObject:
        twice = next((name for name, count in Counter(name for name, _ in pairs).items() if count > 1), None)
        if twice is not None:
            raise ReadError(path, expected="each name once", found=f"{excerpt(twice)} twice")
        return dict(pairs)

    check_depth(path, text.encode())
    try:
        document = json.loads(text, object_pairs_hook=unique)
    except json.JSONDecodeError as error:
        raise ReadError(f"{path}:{error.lineno}", expected="JSON", found=error.msg) from None
    except (RecursionError, ValueError) as error:
        if isinstance(error, ReadError):
            raise
        found = "a number of thousands of digits" if isinstance(error, ValueError) else "objects nested too deeply"
        raise ReadError(path, expected="a tree of classes", found=found) from None
    if isinstance(document, dict) and document and all(isinstance(v, str) or v is None for v in document.values()):
        return Taxonomy(document, str(path))
    parents: dict[str, str | None] = {}
    walk(document, None, parents, path)
    return Taxonomy(parents, str(path))


def walk(node: Any, parent: str | None, parents: dict[str, str | None], path: Path) -> None:
    """Add every name below a node of nested JSON."""
    if isinstance(node, dict):
        for name, inner in node.items():
            add(name, parent, parents, path)
            walk(inner, name, parents, path)
    elif isinstance(node, list):
        for inner in node:
            walk(inner, parent, parents, path)
    elif isinstance(node, str):
        add(node, parent, parents, path)
    elif node is not None:
        raise ReadError(path, expected="names, lists and objects", found=excerpt(node))


def add(name: str, parent: str | None, parents: dict[str, str | None], where: object) -> None:
    """Add a name with its parent; ReadError if it is there already or its own ancestor."""
    if name not in parents:
        parents[name] = parent
        return
    at = parent
    while at is not None and at != name:
        at = parents.get(at)
    found = f"{excerpt(name)} twice" if at is None else f"a cycle: {excerpt(name)} is its own ancestor"
    raise ReadError(where, expected="each name once", found=found)
