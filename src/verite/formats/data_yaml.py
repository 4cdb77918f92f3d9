"""A YOLO data set by its `data.yaml`: which folders of pictures make up train, val and test, and the class names.

Labels are where Ultralytics looks for them: in `labels` for pictures in `images`, else beside the pictures. A picture
without labels is an image without objects.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import read_text
from verite.formats import yolo
from verite.formats.format import Format, Look, Options
from verite.formats.splits import choose_split
from verite.formats.yaml_names import KEY, QUOTED, name_of, names_of_yaml, without_comment
from verite.model.annotations import Annotations
from verite.model.images import IMAGE_SUFFIXES

SPLITS = ("train", "val", "valid", "test")
SUFFIXES = (".yaml", ".yml")
FILE = "data.yaml"
ENTRY = re.compile(r"""^(path|train|val|valid|test)\s*:(?:\s+(.*))?$""")


def recognise(look: Look) -> str | None:
    """The file itself, or a folder around it whose labels are not simply in `labels`."""
    if look.is_folder:
        file = look.path / FILE
        return recognise(Look(file)) if file.is_file() and not yolo.label_folders(look.path) else None
    if look.path.suffix.lower() not in SUFFIXES:
        return None
    lines = look.head.splitlines()
    if any(KEY.match(line.rstrip()) for line in lines) and any(ENTRY.match(line) for line in lines):
        return "a YAML file with names and folders of pictures"
    return None


def read(path: Path, options: Options) -> Annotations:
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
    return annotations.said_to_be(replace(annotations.source, format="data-yaml", why=f"the split {name}"))


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
    lines = [line.strip() for line in read_text(place).splitlines() if line.strip()]
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
    honours=yolo.FORMAT.honours | {"split"},
    suffixes=SUFFIXES,
    sides=("truth",),
)
