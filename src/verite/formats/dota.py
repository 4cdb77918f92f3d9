"""DOTA text: rotated boxes (oriented bounding boxes) by their four corners.

Ground truth has one file per image, `x1 y1 x2 y2 x3 y3 x4 y4 class difficulty`, after lines `imagesource:…` and
`gsd:…`. Results (task 1) have one file per class, `Task1_CLASS.txt`, with lines `image confidence x1 y1 x2 y2 x3 y3 x4
y4`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from verite.errors import ReadError, count_words, excerpt
from verite.files import folder_atomically, read_lines
from verite.formats.format import Format, Options, PathProbe, check_words, file_stems, is_list, write_lines
from verite.formats.polygons import bounds_of_rings, check_ring
from verite.formats.rows import Rows
from verite.formats.shards import files_of_split
from verite.formats.sizes import need_pixels
from verite.formats.text_lines import is_number, to_number, to_numbers
from verite.model.annotations import Annotations
from verite.model.regions import quads_of
from verite.progress import count_files

RESULTS = "Task1_"
HEADS = ("imagesource:", "gsd:")


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is DOTA ground truth or results."""
    files = text_files(probe)
    if not files:
        return None
    if all(file.name.startswith(RESULTS) for file in files):
        return f"text files named {RESULTS}CLASS.txt"
    lines = [words for words in probe.lines if not words[0].startswith(HEADS)]
    if lines and all(is_truth(words) for words in lines):
        return "text files with eight numbers, a class and a difficulty per line"
    return "text files that begin with imagesource: or gsd:" if probe.head.startswith(HEADS) else None


def is_truth(words: list[str]) -> bool:
    return len(words) in (9, 10) and all(map(is_number, words[:8])) and not is_number(words[8])


def text_files(probe: PathProbe) -> list[Path]:
    return [path for path in probe.with_suffix(".txt") if not probe.is_folder or not is_list(path)]


def read(path: Path, options: Options) -> Annotations:
    """Read ground truth by image, or results by class."""
    files, why = files_of_split(path, text_files(PathProbe(path)), options)
    if not files:
        raise ReadError(path, expected="annotation files ending in .txt", found="none")
    rows = Rows(path, options)
    is_results = files[0].name.startswith(RESULTS)
    for file in count_files("reading", files):
        if file.name.startswith(RESULTS) != is_results:
            raise ReadError(file, expected=f"{'' if is_results else 'no '}{RESULTS}CLASS.txt as {files[0].name}",
                            found=file.name, remedy="keep truth apart from predictions")  # fmt: skip
        with rows.errors:
            add_results(rows, file) if is_results else add_truth(rows, file)
    return rows.annotations("dota", layout="xyxy", why=why)


def add_truth(rows: Rows, file: Path) -> None:
    """The lines of one image."""
    rows.add_image(file, file.stem)
    for number, line in enumerate(read_lines(file), start=1):
        words = line.split()
        if not words or line.startswith(HEADS):
            continue
        with rows.errors:
            where = f"{file}:{number}"
            if len(words) not in (9, 10):
                found = count_words(words)
                raise ReadError(where, expected="8 numbers, a class and a difficulty", found=found,
                                remedy="class names may contain no blanks")  # fmt: skip
            difficulty = to_number(words[9], where, "a difficulty of 0, 1 or 2") if len(words) == 10 else 0.0
            flags = ["difficult"] if difficulty else []
            add_quad(rows, where, file.stem, words[8], to_numbers(words[:8], where), flags=flags)


def add_results(rows: Rows, file: Path) -> None:
    """The predictions of one class."""
    label = file.stem.removeprefix(RESULTS)
    for number, line in enumerate(read_lines(file), start=1):
        words = line.split()
        if not words:
            continue
        with rows.errors:
            where = f"{file}:{number}"
            if len(words) != 10:
                remedy = "task 2 has upright boxes and is not read" if len(words) == 6 else ""
                found = count_words(words)
                raise ReadError(where, expected="an image, a confidence and 8 numbers", found=found, remedy=remedy)
            confidence, *corners = to_numbers(words[1:], where)
            add_quad(rows, where, words[0], label, corners, confidence)


def add_quad(
    rows: Rows, where: str, image: str, label: str, corners: list[float], confidence: float | None = None, *,
    flags: list[str] | None = None,
) -> None:  # fmt: skip
    ring = check_ring(where, corners)
    rows.add(where, image, label, bounds_of_rings([ring]), confidence, polygon=[ring], flags=flags or [])


def write(annotations: Annotations, path: Path) -> None:
    """labelTxt as DOTA has it, or a file of results per class."""
    need_pixels(annotations, path)
    names = annotations.labels.all_names
    check_words(path, names)
    quads = quads_of(annotations.regions)
    if quads is None:
        found = "polygons of more or fewer corners, or masks"
        raise ReadError(path, expected="four corners for every object", found=found, remedy="choose another format")
    corners = [" ".join(map(repr, quad)) for quad in quads.reshape(-1, 8).tolist()]
    stems = file_stems(annotations.images, path)
    if annotations.confidence is not None:
        check_words(path, stems, "image names")
    elif results := next((stem for stem in stems if stem.startswith(RESULTS)), None):
        raise ReadError(path, expected=f"image names that do not begin with {RESULTS}, as files of results do",
                        found=excerpt(results), remedy="rename it")  # fmt: skip
    with folder_atomically(path) as folder:
        if annotations.confidence is None:
            lines: list[list[str]] = [[] for _ in stems]
            for row, image in enumerate(annotations.image.tolist()):
                hard = int(annotations.difficult[row])
                lines[image].append(f"{corners[row]} {names[annotations.label[row]]} {hard}\n")
            write_lines(folder, stems, lines)
            return
        for label, name in enumerate(names):
            rows = np.flatnonzero(annotations.label == label).tolist()
            text = [f"{stems[annotations.image[r]]} {float(annotations.confidence[r])!r} {corners[r]}\n" for r in rows]
            (folder / f"{RESULTS}{name}.txt").write_text("".join(text), encoding="utf-8")


PRESERVES = frozenset(
    {"box apart from its mask", "class name", "confidence", "difficult", "empty image", "image name", "polygon"}
)
FORMAT = Format(
    name="dota",
    title="DOTA text",
    about="rotated boxes by four corners: one file per image with class and difficulty; results as `Task1_CLASS.txt`",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    requires=frozenset({"class names without blanks", "four corners"}),
    options=frozenset({"image_size", "images", "split"}),
)
