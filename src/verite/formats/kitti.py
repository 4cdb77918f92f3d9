"""KITTI labels: one text file per image, `type truncated occluded alpha x1 y1 x2 y2` and seven numbers in 3-D.

KITTI tracking: one text file per sequence, whose lines begin with `frame track`, both from 0. Predictions end with
their score. `DontCare` regions are ignored. Truncation and occlusion are kept as flags; 3-D sizes,
positions and angles are dropped.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from verite.errors import ReadError, count_words, excerpt
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
from verite.model.sequences import Sequences
from verite.progress import count_files

WORDS = 15  # of a ground-truth line; predictions have a score more
WORDING = "TYPE TRUNCATED OCCLUDED ALPHA X1 Y1 X2 Y2 and 7 numbers, 8 with a score"
NOWHERE = "-1 -1 -1 -1000 -1000 -1000 -10"  # KITTI's own words for what is not known in 3-D
IGNORED = "DontCare"
LABELS = Path("training") / "label_2"  # in the dataset's root folder, beside images and calibrations


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is KITTI: most lines are a type and the numbers of a KITTI object."""
    if probe.is_folder and (probe.path / LABELS).is_dir():
        return f"KITTI's root folder with {LABELS.as_posix()}/"
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
    """Read one text file per image; of the dataset's root folder those of `training/label_2`."""
    place = path / LABELS if (path / LABELS).is_dir() else path
    probe = PathProbe(place)
    files = [file for file in probe.with_suffix(".txt") if not probe.is_folder or not is_list(file)]
    files, why = files_of_split(place, files, options)
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
    """The lines of one image.

    Parameters
    ----------
    rows
        Collects images and objects.
    file
        One text file per image. A line at fault is recorded, and the next one read.
    """
    rows.add_image(file, file.stem)
    for number, line in enumerate(read_lines(file), start=1):
        if line.strip():
            with rows.errors:
                add_line(rows, f"{file}:{number}", file.stem, line.split())


def add_line(rows: Rows, where: str, image: str, words: list[str], track: int | None = None) -> None:
    """Add one object."""
    if len(words) not in (WORDS, WORDS + 1):
        found = count_words(words)
        raise ReadError(where, expected=WORDING, found=found, remedy="types may contain no blanks")
    truncated, occluded, _, *numbers = to_numbers(words[1:], where)
    # 3: how far it is hidden is not known.
    flags = {
        "truncated": truncated > 0,
        "occluded": 0 < occluded < 3,
        "ignore": words[0] == IGNORED,
        "ignore_region": words[0] == IGNORED,
    }
    confidence = numbers[11] if len(words) > WORDS else None
    marks = [flag for flag, is_set in flags.items() if is_set]
    rows.add(where, image, words[0], numbers[:4], confidence, track=track, flags=marks)


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
    check_words(path, annotations.labels.all_names)
    lines: list[list[str]] = [[] for _ in range(len(annotations.images))]
    for row, line in enumerate(object_lines(annotations)):
        lines[annotations.image[row]].append(line)
    stems = file_stems(annotations.images, path)
    with folder_atomically(path) as folder:
        write_lines(folder, stems, lines)


def object_lines(annotations: Annotations) -> list[str]:
    """Return the line of each object, from its type on."""
    names, flags, lines = annotations.labels.all_names, flags_by_row(annotations), []
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
        lines.append(" ".join(words) + "\n")
    return lines


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


FRAMES_AT_MOST = 1_000_000


def recognise_tracking(probe: PathProbe) -> str | None:
    """Return why a path is KITTI tracking: most lines are a frame, a track id and the words of a KITTI object."""
    lines = probe.lines if probe.with_suffix(".txt") else []
    fitting = [
        words
        for words in lines
        if len(words) in (WORDS + 2, WORDS + 3)
        and words[0].isdecimal()
        and words[1].removeprefix("-").isdecimal()
        and not is_number(words[2])
        and all(map(is_number, words[3:]))
    ]
    if not fitting or 2 * len(fitting) <= len(lines):
        return None
    return f"text files with a frame, a track, a type and {len(fitting[0]) - 3} numbers per line"


def read_tracking(path: Path, options: Options) -> Annotations:
    """Read one text file per sequence; its frames are images named SEQUENCE/000000."""
    probe = PathProbe(path)
    files = [file for file in probe.with_suffix(".txt") if not probe.is_folder or not is_list(file)]
    if not files:
        raise ReadError(path, expected="annotation files ending in .txt", found="none")
    rows = Rows(path, options)
    places: dict[str, tuple[int, int]] = {}  # sequence and frame of each image
    for at, file in enumerate(count_files("reading", files)):
        for number, line in enumerate(read_lines(file), start=1):
            where, words = f"{file}:{number}", line.split()
            if not words:
                continue
            with rows.errors:
                if len(words) not in (WORDS + 2, WORDS + 3):
                    found, remedy = count_words(words), "types may contain no blanks"
                    raise ReadError(where, expected=f"FRAME TRACK {WORDING}", found=found, remedy=remedy)
                frame, track = to_numbers(words[:2], where)
                if not 0 <= frame <= FRAMES_AT_MOST or frame != int(frame):
                    raise ReadError(where, expected="the number of a frame, from 0", found=excerpt(words[0]))
                if track != track or abs(track) >= 2**63 or track != int(track):
                    raise ReadError(where, expected="the id of a track, a whole number", found=excerpt(words[1]))
                image = f"{file.stem}/{int(frame):06d}"
                add_line(rows, where, image, words[2:], int(track))
                places[image] = (at, int(frame))
    if rows.boxes:
        rows.notes.append("sizes, places and angles in 3-D left out; verite track evaluates the tracks")
    if rows.flags["ignore"]:
        rows.notes.append(f"{IGNORED} regions are ignored for predictions of any class")
    annotations = rows.annotations("kitti-tracking", layout="xyxy")
    keys = np.array([places[name] for name in rows.images], dtype=np.int64).reshape(-1, 2)
    sequences = Sequences(tuple(file.stem for file in files), keys[:, 0].copy(), keys[:, 1].copy())
    return annotations.changed(images=annotations.images.with_sequences(sequences))


def write_tracking(annotations: Annotations, path: Path) -> None:
    """Write one text file per sequence; the 3-D fields get KITTI's values for unknown."""
    need_pixels(annotations, path)
    check_words(path, annotations.labels.all_names)
    if annotations.track is None:
        raise ReadError(path, expected="objects with track ids", found="none", remedy="choose another format")
    sequences = Sequences.of(annotations.images, path)
    lines: list[list[tuple[int, str]]] = [[] for _ in sequences.names]
    for row, line in enumerate(object_lines(annotations)):
        image = int(annotations.image[row])
        frame = int(sequences.frame[image])
        lines[int(sequences.sequence[image])].append((frame, f"{frame} {int(annotations.track[row])} {line}"))
    texts = [[line for _, line in sorted(of, key=lambda one: one[0])] for of in lines]
    with folder_atomically(path) as folder:
        write_lines(folder, [name.replace("/", "-") or "sequence" for name in sequences.names], texts)


TRACKING = Format(
    name="kitti-tracking",
    title="KITTI tracking",
    about="one text file per sequence: a frame, a track, then the words of `kitti`; frames become images",
    recognise=recognise_tracking,
    read=read_tracking,
    write=write_tracking,
    preserves=frozenset({"class name", "confidence", "image folder or suffix", "occluded", "track id", "truncated"}),
    requires=frozenset({"class names without blanks", "tracks"}),
)
