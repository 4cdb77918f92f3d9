"""Lists of what does not count: images, or classes in images, a line each, as ImageNet's devkits have them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from verite.errors import BadParameter, ReadError, did_you_mean, excerpt
from verite.files import find_path, read_text
from verite.model.annotations import Annotations
from verite.model.images import Images
from verite.model.verdicts import EXCLUDED, Verdicts

NUMBER_AT_END = re.compile(r"(\d+)$")


def read_blacklist(
    given: str | PathLike[str] | Iterable[str | tuple[str, str]], truth: Annotations, *, with_labels: bool
) -> Verdicts:
    """Positions of excluded images, or of images and classes, in the truth. Images are named, or numbered.

    A number is an id of the truth's images, or the number at the end of a name: 7 is ILSVRC2012_val_00000007.
    """
    wanted = "IMAGE CLASS" if with_labels else "IMAGE"
    numbers = image_numbers(truth.images)
    classes = {name: i for i, name in enumerate(truth.labels.all_names)}
    rows = []
    for where, words in entries(given):
        if len(words) != (2 if with_labels else 1):
            raise ReadError(where, expected=wanted, found=excerpt(" ".join(words)))
        image = truth.images.find(words[0])
        if image is None and words[0].isdecimal():
            image = numbers.get(int(words[0]))
        if image is None:
            known = map(str, numbers) if words[0].isdecimal() else truth.images.names or ()
            near = did_you_mean(words[0], known).removeprefix("; ")
            raise ReadError(where, expected="an image of the truth", found=excerpt(words[0]), remedy=near)
        if with_labels and words[1] not in classes:
            continue  # a class without truths: nothing of it counts anyway
        rows.append((image, classes[words[1]] if with_labels else 0, EXCLUDED))
    return Verdicts.of(rows)


def entries(given: str | PathLike[str] | Iterable[str | tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    """Place and words of every line of a file, or of what was given in Python."""
    if isinstance(given, (str, PathLike)):
        path: Path = find_path(given)
        lines = enumerate(read_text(path).splitlines(), 1)
        return [(f"{path}:{number}", words) for number, line in lines if (words := line.split())]
    if not isinstance(given, Iterable):
        raise BadParameter(f"blacklist: expected a file or a list, found {type(given).__name__}")
    return [("blacklist", [entry] if isinstance(entry, str) else [str(word) for word in entry]) for entry in given]


def image_numbers(images: Images) -> dict[int, int]:
    """Which image a number means: its id, else the number at the end of its name where only one has it."""
    if images.ids is not None:
        return images.index_of_id
    found: dict[int, int] = {}
    twice = set()
    for i, name in enumerate(images.names or ()):
        match = NUMBER_AT_END.search(name.rpartition(".")[0] if "." in name else name)
        if match and len(match[1]) < 19:
            key = int(match[1])
            if found.setdefault(key, i) != i:
                twice.add(key)
    return {key: i for key, i in found.items() if key not in twice}
