"""A YOLO dataset by its `data.yaml`: the image folders of train, val and test, and the class names.

Labels are where Ultralytics looks for them: in `labels` for images in `images`, else beside the images. An image
without a label file has no objects.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import read_lines, read_text
from verite.formats import yolo
from verite.formats.format import Format, Options, PathProbe
from verite.formats.shards import choose_split
from verite.model.annotations import Annotations
from verite.model.images import IMAGE_SUFFIXES

Item = tuple[int | None, str]  # a class number, where there is one, and its name

KEY = re.compile(r"""(?:names|'names'|"names")\s*:(?:\s+(.*))?$""")

NUMBER = re.compile(r"""\s*(?:(\d{1,9})|'(\d{1,9})'|"(\d{1,9})")\s*:\s+""")

QUOTED = re.compile(r"""\s*(?:"([^"\\]*(?:\\.[^"\\]*)*)"|'([^']*(?:''[^']*)*)')\s*""")

PLAIN_IN_BRACKETS = re.compile(r"""\s*[^\s"'#,\[\]{}&*!|>%@`][^,\[\]{}]*""")

NO_PLAIN_START = tuple("\"'#,[]{}&*!|>%@`")

SPACE = re.compile(r"\s*")


def names_of_yaml(text: str, path: Path) -> list[str]:
    """The class names in the order of their numbers.

    >>> names_of_yaml("nc: 2\\nnames: [cat, 'guide dog']  # pets", Path("data.yaml"))
    ['cat', 'guide dog']
    """
    lines = text.split("\n")
    starts = [(i, match) for i, line in enumerate(lines) if (match := KEY.match(line.rstrip()))]
    if len(starts) != 1:
        found = "none" if not starts else f"{len(starts)}, in lines {starts[0][0] + 1} and {starts[1][0] + 1}"
        raise ReadError(path, expected="one key 'names'", found=found)
    at, match = starts[0]
    rest = without_comment(match[1] or "")
    where = f"{path}:{at + 1}"
    if rest[:1] in ("[", "{"):
        return in_order(items_in_brackets(rest, lines[at + 1 :], where), where)
    if rest:
        raise ReadError(where, expected="a list or map of class names", found=excerpt(rest))
    return in_order(items_in_block(lines, at + 1, path), where)


def without_comment(line: str) -> str:
    """A line without the comment at its end; a # inside quotes or a word is no comment.

    >>> without_comment("'a # b' # c"), without_comment("C#")
    ("'a # b'", 'C#')
    """
    if "#" not in line:
        return line.rstrip()
    quote, is_escaped = "", False
    for i, c in enumerate(line):
        if quote:
            quote = "" if c == quote and not is_escaped else quote
            is_escaped = c == "\\" and quote == '"' and not is_escaped
        elif c in "'\"" and (i == 0 or line[i - 1] in " ,[{"):
            quote = c
        elif c == "#" and (i == 0 or line[i - 1] in " \t"):
            return line[:i].rstrip()
    return line.rstrip()


def items_in_brackets(first: str, following: list[str], where: str) -> list[Item]:
    """`[a, b]` or `{0: a, 1: b}`, which may go on over several lines."""
    is_map = first[0] == "{"
    closing = "}" if is_map else "]"
    parts = [first]
    for line in following:
        if parts[-1].endswith(closing):
            break
        parts += [part] if (part := without_comment(line).strip()) else []
    text = " ".join(parts)
    if not text.endswith(closing):
        cut = "the end of the file"
        raise ReadError(where, expected=f"names up to a {closing!r}", found=cut, remedy="was it cut off? (V403)")
    text = text[1:-1].rstrip()
    items: list[Item] = []
    at = 0
    while at < len(text):
        number, at = number_at(text, at) if is_map else (None, at)
        found = QUOTED.match(text, at) or PLAIN_IN_BRACKETS.match(text, at)
        end = found.end() if found else at
        if found is None or text[end : end + 1] not in ("", ","):
            raise ReadError(where, expected="names with commas between them", found=excerpt(text[at : at + 60]))
        items.append((number, name_of(found, where)))
        at = end + 1
        at = space.end() if (space := SPACE.match(text, at)) else at
    return items


def items_in_block(lines: list[str], at: int, path: Path) -> list[Item]:
    """One name a line, `- cat` or `0: cat`, down to the next key."""
    items: list[Item] = []
    for i in range(at, len(lines)):
        text = without_comment(lines[i])
        if not text.strip():
            continue
        if text[0] not in " -" or text.startswith("---"):
            break
        where = f"{path}:{i + 1}"
        text = text.strip()
        number, start = (None, 2) if text.startswith("- ") else number_at(text, 0)
        if not start:
            raise ReadError(where, expected="'- NAME' or 'NUMBER: NAME'", found=excerpt(text))
        text = text[start:].strip()
        found = QUOTED.fullmatch(text)
        if found is None and (not text or text.startswith(NO_PLAIN_START) or ": " in text or text.endswith(":")):
            raise ReadError(where, expected="a class name", found=excerpt(text))
        items.append((number, name_of(found, where) if found else text))
    return items


def number_at(text: str, at: int) -> tuple[int | None, int]:
    """The class number before a colon, and where the name begins.

    >>> number_at("12: dining table", 0)
    (12, 4)
    """
    match = NUMBER.match(text, at)
    return (int(next(g for g in match.groups() if g)), match.end()) if match else (None, at)


def name_of(found: re.Match[str], where: str) -> str:
    """A name without its quotes."""
    if found.re is not QUOTED:
        return found[0].strip()
    double, single = found.groups()
    if double is None:
        return str(single.replace("''", "'"))
    try:
        name = str(json.loads(f'"{double}"'))
        name.encode()
    except ValueError:
        raise ReadError(where, expected="a class name", found=excerpt(found[0].strip())) from None
    return name


def in_order(items: list[Item], where: str) -> list[str]:
    """Names by number: the numbers of a map must be 0, 1, 2 … in some order."""
    if not items:
        raise ReadError(where, expected="class names", found="none")
    if all(number is None for number, _ in items):
        return [name for _, name in items]
    numbers = [-1 if number is None else number for number, _ in items]
    for expected, number in enumerate(sorted(numbers)):
        if number != expected:
            found = f"{number}" if number >= 0 else "a name without one"
            raise ReadError(where, expected=f"class numbers 0 to {len(items) - 1}, each once", found=found)
    names = [""] * len(items)
    for number, (_, name) in zip(numbers, items, strict=True):
        names[number] = name
    return names


SPLITS = ("train", "val", "valid", "test")

SUFFIXES = (".yaml", ".yml")

FILE = "data.yaml"

ENTRY = re.compile(r"""^(path|train|val|valid|test)\s*:(?:\s+(.*))?$""")


def recognise(probe: PathProbe) -> str | None:
    """The file itself, or a folder around it whose labels are not simply in `labels`."""
    if probe.is_folder:
        file = probe.path / FILE
        return recognise(PathProbe(file)) if file.is_file() and not yolo.label_folders(probe.path) else None
    if probe.path.suffix.lower() not in SUFFIXES:
        return None
    lines = probe.head.splitlines()
    if any(KEY.match(line.rstrip()) for line in lines) and any(ENTRY.match(line) for line in lines):
        return "a YAML file with names and folders of pictures"
    return None


def read(path: Path, options: Options) -> Annotations:
    """Read the labels of one split of the dataset."""
    path = path / FILE if path.is_dir() else path
    text = read_text(path)
    entries = entries_of(text, path)
    root = place_of(path.parent, entries.pop("path", ["."])[0])
    name, folders = choose_split(path, entries, options, expected=f"one of the keys {', '.join(SPLITS)}")
    pictures = [picture for folder in folders for picture in pictures_of(path, root, folder)]
    if not pictures:
        raise ReadError(path, expected=f"pictures in {', '.join(folders)}", found="none")
    names = options.names if options.names is not None else names_of_yaml(text, path)
    labels = {picture: label_file(picture) for picture in pictures}
    if not any(file.is_file() for file in labels.values()):
        first = labels[pictures[0]]
        raise ReadError(path, expected=f"labels such as {first}", found="none for any picture")
    annotations = yolo.read_files(path, replace(options, names=names, split=None), labels)
    return annotations.with_source(replace(annotations.source, format="data-yaml", why=f"the split {name}"))


def entries_of(text: str, path: Path) -> dict[str, list[str]]:
    """The root and the folders of each split: a text, or a list of texts."""
    found: dict[str, list[str]] = {}
    lines = text.split("\n")
    for i, line in enumerate(lines):
        match = ENTRY.match(line.rstrip())
        if not match:
            continue
        where, rest = f"{path}:{i + 1}", without_comment(match[2] or "").strip()
        if rest.startswith("["):
            values = [part for part in rest.strip("[]").split(",") if part.strip()]
        elif rest:
            values = [rest]
        else:
            values = list(block_values(lines[i + 1 :]))
        if match[1] in found:
            raise ReadError(where, expected="each key once", found=f"a second {match[1]!r}")
        plain = [plain_text(value.strip(), where) for value in values]
        if plain and plain != ["null"]:
            found[match[1]] = plain
    return found


def block_values(lines: list[str]) -> list[str]:
    values = []
    for line in lines:
        text = without_comment(line).strip()
        if not text:
            continue
        if not text.startswith("- "):
            break
        values.append(text[2:])
    return values


def plain_text(word: str, where: str) -> str:
    found = QUOTED.fullmatch(word)
    if found is None and (not word or word[0] in "\"'[]{}&*!|>%@`"):
        raise ReadError(where, expected="a folder", found=excerpt(word))
    return name_of(found, where) if found else word


def place_of(base: Path, word: str) -> Path:
    """A folder beside the file; as Ultralytics does, `../train/images` is also looked for as `train/images`."""
    place = base / word
    if not place.exists() and word.startswith("../"):
        return base / word[3:]
    return place


def pictures_of(path: Path, root: Path, word: str) -> list[Path]:
    """The pictures of a folder and those below it, or those that a list names."""
    place = place_of(root, word)
    if place.is_dir():
        found = (p for p in place.rglob("*") if p.suffix.lower() in IMAGE_SUFFIXES and not p.name.startswith("."))
        return sorted(found)
    if not place.is_file():
        raise ReadError(path, expected=f"a folder {place}", found="nothing", remedy="is 'path' right?")
    lines = [line.strip() for line in read_lines(place) if line.strip()]
    return [place.parent / line if line.startswith("./") else root / line for line in lines]


def label_file(picture: Path) -> Path:
    """`labels/val/a.txt` for `images/val/a.jpg`, the last `images` of the path being meant."""
    parts = list(picture.parts)
    at = [i for i, part in enumerate(parts[:-1]) if part == "images"]
    if at:
        parts[at[-1]] = "labels"
    return Path(*parts).with_suffix(".txt")


FORMAT = Format(
    name="data-yaml",
    title="YOLO data set",
    about="`data.yaml` with the folders of its splits and class names; `split` says which one",
    recognise=recognise,
    read=read,
    options=yolo.FORMAT.options | {"split"},
    suffixes=SUFFIXES,
    sides=("truth",),
)
