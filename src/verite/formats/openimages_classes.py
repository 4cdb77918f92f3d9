"""What Open Images says about classes: their names as people say them, and which are kinds of which others."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from os import PathLike

import msgspec

from verite.errors import DataError, ReadError, excerpt
from verite.files import find_path, read_text
from verite.formats.class_names import check_name
from verite.formats.document import decode
from verite.model.hierarchy import Hierarchy

ONE_PARENT = "give every class one parent (V416)"


class Node(msgspec.Struct):
    LabelName: str
    Subcategory: list[Node] = []


def read_hierarchy(path: str | PathLike[str]) -> Hierarchy:
    """The official JSON: nested `LabelName` and `Subcategory`; `Part` says nothing of kinds. The root is left out."""
    file = find_path(path)
    root = decode(file, Node)

    def paths(node: Node, above: tuple[str, ...], place: str) -> Iterator[tuple[str, ...]]:
        for i, child in enumerate(node.Subcategory):
            where = f"{place}.Subcategory[{i}]"
            check_name(f"{file}: {where}.LabelName".replace(": .", ": "), child.LabelName)
            if child.LabelName in above or child.LabelName == root.LabelName:
                found = f"{excerpt(child.LabelName)} below itself, a circle"
                raise ReadError(
                    f"{file}: {where}".replace(": .", ": "), expected="a tree", found=found, remedy=ONE_PARENT
                )
            mine = (*above, child.LabelName)
            yield mine
            yield from paths(child, mine, where)

    try:
        return Hierarchy.of_paths(paths(root, (), ""))
    except DataError as error:
        if isinstance(error, ReadError):
            raise
        raise ReadError(file, expected="a tree", found=str(error).partition("found ")[2], remedy=ONE_PARENT) from None


def read_descriptions(path: str | PathLike[str]) -> dict[str, str]:
    """`/m/01g317,Person` a line, with or without a header; classes of the same name are told apart by their codes."""
    file = find_path(path)
    found: dict[str, str] = {}
    try:
        lines = list(enumerate(csv.reader(read_text(file).splitlines(), strict=True), 1))
    except csv.Error as error:
        raise ReadError(file, expected="CSV", found=str(error)) from None
    for number, line in lines:
        where = f"{file}:{number}"
        if not line or (number == 1 and [cell.strip().casefold() for cell in line] == ["labelname", "displayname"]):
            continue
        if len(line) != 2:
            raise ReadError(where, expected="CODE,NAME", found=excerpt(",".join(line)))
        code, name = (cell.strip() for cell in line)
        check_name(where, code)
        check_name(where, name)
        if code in found:
            raise ReadError(where, expected="each class once", found=f"a second {excerpt(code)}")
        found[code] = name
    counts = Counter(found.values())
    return {code: f"{name} ({code})" if counts[name] > 1 else name for code, name in found.items()}
