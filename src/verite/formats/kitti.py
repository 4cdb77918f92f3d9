"""KITTI labels: one text file per image, `type truncated occluded alpha x1 y1 x2 y2` and seven numbers in 3-D.

Predictions end with their score. `DontCare` regions are ignored. Truncation and occlusion are kept as flags; 3-D
sizes, positions and angles are dropped.
"""

from __future__ import annotations

from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import folder_atomically, read_lines
from verite.formats.format import (
    FRAMES,
    Format,
    Options,
    PathProbe,
    check_words,
    file_stems,
    flags_by_row,
    is_list,
    write_lines,
)
from verite.formats.rows import Rows
from verite.formats.shards import files_of_split
from verite.formats.sizes import need_pixels
from verite.formats.text_lines import is_number, to_numbers
from verite.model.annotations import Annotations
from verite.progress import count_files

WORDS = 15  # of a truth; predictions have a score more
WORDING = "TYPE TRUNCATED OCCLUDED ALPHA X1 Y1 X2 Y2 and 7 numbers, 8 with a score"
NOWHERE = "-1 -1 -1 -1000 -1000 -1000 -10"  # KITTI's own words for what is not known in 3-D
IGNORED = "DontCare"


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is KITTI: most lines are a type and the numbers of a KITTI object."""
    lines = probe.lines if probe.with_suffix(".txt") else []
    fitting = [
        words
        for words in lines
        if len(words) in (WORDS, WORDS + 1) and not is_number(words[0]) and all(map(is_number, words[1:]))
    ]
    if not fitting or 2 * len(fitting) <= len(lines):
        return None
    return f"text files with a type and {len(fitting[0]) - 1} numbers per line"


def read(path: Path, options: Options) -> Annotations:
    """Read one text file per image."""
    probe = PathProbe(path)
    files = [file for file in probe.with_suffix(".txt") if not probe.is_folder or not is_list(file)]
    files, why = files_of_split(path, files, options)
    if not files:
        raise ReadError(path, expected="annotation files ending in .txt", found="none")
    rows = Rows(path, options)
    for file in count_files("reading", files):
        with rows.errors:
            add_file(rows, file)
    if rows.boxes:
        rows.notes.append("sizes, places and angles in 3-D left out")
    if rows.flags["ignore"]:
        rows.notes.append(f"{IGNORED} regions are ignored for predictions of any class")
    return rows.annotations("kitti", layout="xyxy", why=why)


def add_file(rows: Rows, file: Path) -> None:
    """The lines of one image."""
    rows.add_image(file, file.stem)
    for number, line in enumerate(read_lines(file), start=1):
        if line.strip():
            with rows.errors:
                add_line(rows, f"{file}:{number}", file.stem, line.split())


def add_line(rows: Rows, where: str, image: str, words: list[str]) -> None:
    """Add one object."""
    if len(words) not in (WORDS, WORDS + 1):
        found = f"{len(words)} words ({excerpt(' '.join(words))})"
        raise ReadError(where, expected=WORDING, found=found, remedy="types may contain no blanks")
    truncated, occluded, _, *numbers = to_numbers(words[1:], where)
    # 3: nobody could tell how far it is hidden.
    flags = {
        "truncated": truncated > 0,
        "occluded": 0 < occluded < 3,
        "ignore": words[0] == IGNORED,
        "ignore_region": words[0] == IGNORED,
    }
    confidence = numbers[11] if len(words) > WORDS else None
    rows.add(where, image, words[0], numbers[:4], confidence, flags=[flag for flag, is_set in flags.items() if is_set])


def read_difficulties(annotations: Annotations) -> tuple[list[float], list[float]]:
    """Return the truncated share and the level of occlusion (0 to 3) of each object, from the files they were read of.

    Raises
    ------
    ReadError
        If a file has changed since, or cannot be read line by line again.
    """
    place = Path(annotations.source.path)
    files = {file.stem: file for file in ([place] if place.is_file() else sorted(place.rglob("*.txt")))}
    rows_of: dict[int, list[int]] = {}
    for row, image in enumerate(annotations.image.tolist()):
        rows_of.setdefault(image, []).append(row)
    truncation, occlusion = [0.0] * len(annotations), [0.0] * len(annotations)
    for image, rows in rows_of.items():
        name = Path(annotations.images.name(image)).stem
        lines = [line.split() for line in read_lines(files[name]) if line.strip()] if name in files else []
        if len(lines) != len(rows):
            where = str(files.get(name, place))
            expected = f"{len(rows)} lines with truncation and occlusion of the objects of {name!r}"
            raise ReadError(where, expected=expected, found=str(len(lines)), remedy="give the folder of label files")
        for row, words in zip(rows, lines, strict=True):
            truncation[row], occlusion[row] = to_numbers(words[1:3], str(files[name]))
    return truncation, occlusion


def write(annotations: Annotations, path: Path) -> None:
    """Write one text file per image; the 3-D fields get KITTI's values for unknown."""
    need_pixels(annotations, path)
    names = annotations.labels.all_names
    check_words(path, names)
    lines: list[list[str]] = [[] for _ in range(len(annotations.images))]
    flags = flags_by_row(annotations)
    for row, box in enumerate(annotations.regions.boxes.tolist()):
        truncated, occluded = ("truncated" in flags[row], "occluded" in flags[row])
        words = [
            names[annotations.label[row]],
            str(int(truncated)),
            str(int(occluded)),
            "-10",
            *map(repr, box),
            NOWHERE,
        ]
        if annotations.confidence is not None:
            words.append(repr(float(annotations.confidence[row])))
        lines[annotations.image[row]].append(" ".join(words) + "\n")
    stems = file_stems(annotations.images, path)
    with folder_atomically(path) as folder:
        write_lines(folder, stems, lines)


PRESERVES = frozenset(
    {
        "box apart from its mask",
        "box apart from its polygon",
        "class name",
        "confidence",
        "empty image",
        "image name",
        "occluded",
        "truncated",
    }
)
FORMAT = Format(
    name="kitti",
    title="KITTI labels",
    about="one text file per image: a type, a 2-D box and 3-D numbers, which are left out; `DontCare` is ignored",
    recognise=recognise,
    read=read,
    write=write,
    preserves=PRESERVES,
    requires=frozenset({"class names without blanks"}),
    options=FRAMES | {"split"},
)
