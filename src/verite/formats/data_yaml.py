"""A YOLO dataset by its `data.yaml`: the image folders of train, val and test, and the class names.

The file is parsed by PyYAML, imported when a YAML file is read; all scalars stay text, so that a class `no` or `12` has
that name. Labels are where Ultralytics looks for them: in `labels` for images in `images`, else beside the images. An
image without a label file has no objects.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite.errors import BadParameter, ReadError, excerpt
from verite.files import read_lines, read_text
from verite.formats import yolo
from verite.formats.format import Format, Options, PathProbe
from verite.formats.shards import choose_split, image_key
from verite.model.annotations import Annotations
from verite.model.images import IMAGE_SUFFIXES

if TYPE_CHECKING:
    from yaml import Node

SPLITS = ("train", "val", "valid", "test")
SUFFIXES = (".yaml", ".yml")
FILE = "data.yaml"
DEEPEST = 50  # levels of lists and maps: libyaml's composer recurses, and a file must not end the process


def load_yaml(path: Path, text: str) -> dict[str, Node]:
    """Parse the first document of a YAML file, which must be a map.

    Parameters
    ----------
    path : Path
        The file, for messages.
    text : str
        Its contents.

    Returns
    -------
    dict of str to yaml.Node
        The node of each key; nodes have the line where they begin (`start_mark`).

    Raises
    ------
    ReadError
        If the text is no YAML, is nested deeply, or has a key twice.
    BadParameter
        If PyYAML is missing.
    """
    try:
        import yaml
    except ImportError:
        raise BadParameter(f"{path}: expected PyYAML to read it, found none; pip install pyyaml") from None
    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.events.CollectionStartEvent)
            depth -= isinstance(event, yaml.events.CollectionEndEvent)
            if depth > DEEPEST:
                raise ReadError(path, expected=f"at most {DEEPEST} levels of lists and maps", found="more")
        root = next(yaml.compose_all(text, Loader=loader), None)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        last = text.rstrip().count("\n") + 1
        where = f"{path}:{min(mark.line + 1, last)}" if mark is not None else str(path)
        problem = excerpt(getattr(error, "problem", None) or str(error))
        remedy = "was it cut off? (V403)" if mark is not None and mark.line + 1 >= last else ""
        raise ReadError(where, expected="YAML", found=problem, remedy=remedy) from None
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise ReadError(path, expected="a map with the keys names, train, val …", found=f"a {root.id}")
    found: dict[str, Node] = {}
    first: dict[str, int] = {}
    for key, value in root.value if root is not None else ():
        line = key.start_mark.line + 1
        if str(key.value) in found:
            lines = f"{first[key.value]} and {line}"
            raise ReadError(path, expected=f"one key {key.value!r}", found=f"2, in lines {lines}")
        found[str(key.value)], first[str(key.value)] = value, line
    return found


def texts_of(node: Any, where: str, expected: str) -> list[str]:
    """Return the texts of a node, which is one text or a list of texts; an empty or null one has none.

    Parameters
    ----------
    node
        A node of the YAML document.
    where
        File and line, for messages.
    expected
        What the key holds, for messages.

    Returns
    -------
    list[str]
        The texts; nested lists and mappings are refused.
    """
    if node.id == "scalar":
        return [node.value] if node.value not in ("", "null", "~") else []
    odd = node if node.id == "mapping" else next((item for item in node.value if item.id != "scalar"), None)
    if odd is not None:
        raise ReadError(where, expected=expected, found=f"a {odd.id}")
    return [item.value for item in node.value]


def names_of_yaml(text: str, path: Path) -> list[str]:
    """Return the class names in the order of their numbers: a list, or a map of the numbers 0, 1, 2 …, each once.

    >>> names_of_yaml("nc: 2\\nnames: [cat, 'guide dog']  # pets", Path("data.yaml"))
    ['cat', 'guide dog']
    """
    node = load_yaml(path, text).get("names")
    if node is None:
        raise ReadError(path, expected="one key 'names'", found="none")
    where = f"{path}:{node.start_mark.line + 1}"
    if node.value in ("", "null", "~", []):
        raise ReadError(where, expected="class names", found="none")
    if not isinstance(node.value, list):
        raise ReadError(where, expected="a list or map of class names", found=excerpt(node.value))
    items = node.value if node.id == "mapping" else [(None, item) for item in node.value]
    names: dict[str, str] = {}
    for i, (key, item) in enumerate(items):
        place = f"{path}:{item.start_mark.line + 1}"
        number = str(i) if key is None else str(key.value)
        if not isinstance(item.value, str):
            raise ReadError(place, expected="a class name", found=f"a {item.id}")
        if not number.isdecimal() or int(number) >= len(items) or str(int(number)) in names:
            expected = f"class numbers 0 to {len(items) - 1}, each once"
            raise ReadError(place, expected=expected, found=excerpt(number))
        names[str(int(number))] = item.value.removesuffix("\n")
    return [names[str(i)] for i in range(len(items))]


def keypoint_shape(path: Path) -> tuple[int, int] | None:
    """Return `kpt_shape` of a YAML file: how many keypoints, and how many numbers each (2 or 3); None without it."""
    text = read_text(path)
    if "kpt_shape" not in text:
        return None
    node = load_yaml(path, text).get("kpt_shape")
    words = [] if node is None else texts_of(node, f"{path}:{node.start_mark.line + 1}", "two numbers")
    if len(words) == 1:  # a tuple as Python writes it is one text to YAML
        words = re.findall(r"\w+", words[0])
    if len(words) != 2 or not (words[0].isdecimal() and len(words[0]) <= 4 and words[1] in ("2", "3")):
        return None
    return int(words[0]), int(words[1])


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is such a dataset: the file itself, or a folder around it whose labels are not in `labels`."""
    if probe.is_folder:
        file = probe.path / FILE
        return recognise(PathProbe(file)) if file.is_file() and not yolo.label_folders(probe.path) else None
    if probe.path.suffix.lower() not in SUFFIXES:
        return None
    keys = {match[1].strip("'\"") for match in re.finditer(r"^(\S+)\s*:(?=\s|$)", probe.head, re.MULTILINE)}
    is_dataset = "names" in keys and keys.intersection((*SPLITS, "path"))
    return "a YAML file with names and image folders" if is_dataset else None


def read(path: Path, options: Options) -> Annotations:
    """Read the labels of one split of the dataset."""
    path = path / FILE if path.is_dir() else path
    text = read_text(path)
    nodes = load_yaml(path, text)
    entries = {
        key: folders
        for key in ("path", *SPLITS)
        if key in nodes
        and (folders := texts_of(nodes[key], f"{path}:{nodes[key].start_mark.line + 1}", "a folder or a list of them"))
    }
    root = place_of(path.parent, entries.pop("path", ["."])[0])
    name, folders = choose_split(
        path,
        entries,
        options,
        expected=f"one of the keys {', '.join(SPLITS)}",
        images_of=lambda folders: {
            image_key(picture.name)
            for folder in folders
            if place_of(root, folder).exists()
            for picture in pictures_of(path, root, folder)
        },
    )
    is_chosen = options.split is None and len(entries) > 1
    pictures = [picture for folder in folders for picture in pictures_of(path, root, folder)]
    if not pictures:
        raise ReadError(path, expected=f"images in {', '.join(folders)}", found="none")
    names = options.names if options.names is not None else names_of_yaml(text, path)
    labels = {picture: label_file(picture) for picture in pictures}
    if not any(file.is_file() for file in labels.values()):
        first = labels[pictures[0]]
        raise ReadError(path, expected=f"labels such as {first}", found="none for any image")
    why = f"the split {name}" + (", which has the predicted images" if is_chosen else "")
    annotations = yolo.read_files(path, replace(options, names=names, split=None), labels)
    return annotations.with_source(replace(annotations.source, format="data-yaml", why=why))


def place_of(base: Path, word: str) -> Path:
    """Return a folder beside the file; as Ultralytics does, `../train/images` is also looked for as `train/images`.

    Parameters
    ----------
    base
        Folder of data.yaml, or its `path`.
    word
        The folder as data.yaml writes it.
    """
    place = base / word
    if not place.exists() and word.startswith("../"):
        return base / word[3:]
    return place


def pictures_of(path: Path, root: Path, word: str) -> list[Path]:
    """Return the images of a folder and those below it, or those that a list names."""
    place = place_of(root, word)
    if place.is_dir():
        found = (p for p in place.rglob("*") if p.suffix.lower() in IMAGE_SUFFIXES and not p.name.startswith("."))
        return sorted(found)
    if not place.is_file():
        raise ReadError(path, expected=f"a folder {place}", found="nothing", remedy="is 'path' right?")
    lines = [line.strip() for line in read_lines(place) if line.strip()]
    return [place.parent / line if line.startswith("./") else root / line for line in lines]


def label_file(picture: Path) -> Path:
    """Return `labels/val/a.txt` for `images/val/a.jpg`; the last `images` of the path is replaced."""
    parts = list(picture.parts)
    at = [i for i, part in enumerate(parts[:-1]) if part == "images"]
    if at:
        parts[at[-1]] = "labels"
    return Path(*parts).with_suffix(".txt")


FORMAT = Format(
    name="data-yaml",
    title="YOLO dataset",
    about="`data.yaml` with the folders of its splits and class names; `split` selects one",
    recognise=recognise,
    read=read,
    options=yolo.FORMAT.options | {"split"},
    suffixes=SUFFIXES,
    sides=("truth",),
)
