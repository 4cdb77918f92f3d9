"""What are the classes called that a file knows by number?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import read_text
from verite.formats.format import Options
from verite.limits import limit, remedy


def class_names(options: Options, *beside: Path) -> tuple[list[str] | None, str]:
    """Class names by number, and where they are from: from the user, else the first of these files that is there."""
    if options.names is not None and not isinstance(options.names, Path):
        names = list(options.names)
        check_names("names", names)
        return names, "the names given"
    path = options.names or next((p for p in beside if p.is_file()), None)
    return (names_in(path), str(path)) if path is not None else (None, "")


def names_in(path: Path) -> list[str]:
    """The class names of a file: one a line, or the `names` of a YAML file."""
    text = read_text(path)
    if path.suffix.lower() in (".yaml", ".yml"):
        from verite.formats.data_yaml import names_of_yaml

        names = names_of_yaml(text, path)
    else:
        names = [line.strip() for line in text.rstrip().split("\n")]
        if names == [""]:
            raise ReadError(path, expected="class names", found="an empty file")
        if "" in names:  # every later class would move up by one
            where = f"{path}:{names.index('') + 1}"
            raise ReadError(where, expected="a class name a line", found="an empty line", remedy="take it out")
    check_names(path, names)
    return names


def check_names(where: object, names: Sequence[str]) -> None:
    """Class names: each once, neither empty nor endless, not too many."""
    if len(names) > limit("classes"):
        raise too_many_classes(where, len(names))
    for name in names:
        check_name(where, name)
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ReadError(where, expected="each class name once", found=f"{excerpt(twice)} twice")


def too_many_classes(where: object, count: int) -> ReadError:
    most = f"at most {limit('classes')} classes"
    return ReadError(where, expected=most, found=str(count), remedy=remedy("classes"))


HALF_PAIR = re.compile("[\ud800-\udfff]")  # of surrogates: no letter, and nothing that can be written or drawn


def check_name(where: object, name: str) -> None:
    if HALF_PAIR.search(name):
        raise ReadError(where, expected="a class name of letters", found=f"half a surrogate pair in {excerpt(name)}")
    if not 0 < len(name) <= limit("class_name"):
        longest = f"a class name of 1 to {limit('class_name')} characters"
        found = f"{len(name)}, {name[:20]!r}…" if name else "an empty one"
        raise ReadError(where, expected=longest, found=found, remedy=remedy("class_name") if name else "")
