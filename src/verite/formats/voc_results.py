"""Pascal VOC's results of the detection competitions: one text file per class, `comp4_det_test_CLASS.txt`.

A line is `image confidence left top right bottom`, corners as 1-based pixel indices, both included, as in VOC's XML.
Files of py-faster-rcnn have a code between the competition and `det`.
"""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import read_text
from verite.formats.format import Format, Options, PathProbe
from verite.formats.rows import Rows
from verite.formats.words import to_numbers
from verite.model.annotations import Annotations
from verite.progress import count_files

NAME = re.compile(r"(?P<results>comp\d(_.+)?_det_[^_]+)_(?P<label>.+)\.txt")
WORDS = 6


def recognise(look: PathProbe) -> str | None:
    files = look.with_suffix(".txt")
    return "text files named compN_det_SET_CLASS.txt" if files and all(map(name_of, files)) else None


def name_of(file: Path) -> re.Match[str] | None:
    return NAME.fullmatch(file.name)


def read(path: Path, options: Options) -> Annotations:
    files = {file: match for file in PathProbe(path).with_suffix(".txt") if (match := name_of(file))}
    if not files:
        raise ReadError(path, expected="files named compN_det_SET_CLASS.txt", found="none")
    sets = {f"{file.parent}/{match['results']}": file for file, match in reversed(files.items())}
    if len(sets) > 1:
        first, second, *_ = reversed(sets)
        raise ReadError(path, expected="the results of one detector, a file per class",
                        found=f"those of {len(sets)}: {first}_*.txt and {second}_*.txt",
                        remedy="keep each in a folder of its own, and name the folders")  # fmt: skip
    rows = Rows(path, options)
    for file, match in count_files("reading", list(files.items())):
        with rows.tolerance:
            add_class(rows, file, match["label"])
    return rows.annotations("voc-results", layout="xyxy")


def add_class(rows: Rows, file: Path, label: str) -> None:
    """The predictions of one class."""
    for number, line in enumerate(StringIO(read_text(file), newline=None), start=1):
        words = line.split()
        if not words:
            continue
        with rows.tolerance:
            where = f"{file}:{number}"
            if len(words) != WORDS:
                found = f"{len(words)} words ({excerpt(line.strip())})"
                raise ReadError(where, expected="an image, a confidence and 4 numbers", found=found)
            confidence, *corners = to_numbers(words[1:], where)
            rows.add(where, words[0], label, corners, confidence)


FORMAT = Format(
    name="voc-results",
    title="Pascal VOC results",
    about="one text file per class, `comp4_det_test_CLASS.txt`: `image confidence left top right bottom`",
    recognise=recognise,
    read=read,
    sides=("pred",),
)
