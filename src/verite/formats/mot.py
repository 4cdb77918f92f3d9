"""MOT Challenge: one text file per sequence, lines of `frame,id,left,top,width,height,confidence,…`.

In ground truth (`gt.txt`) the seventh number says whether a box counts, the eighth is its class; in predictions the
seventh is the confidence. Images are frames, named `SEQUENCE/000001`; `seqinfo.ini` gives their number and size. The
second number is the id of the track.
"""

from __future__ import annotations

import re
from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import read_lines, read_text
from verite.formats.format import Format, Options, PathProbe, head_of
from verite.formats.rows import Rows
from verite.formats.text_lines import to_numbers
from verite.model.annotations import Annotations

LINE = re.compile(r"\s*\d+\s*,\s*-?\d+(\.0*)?\s*(,\s*-?[\d.]+(e[-+]?\d+)?\s*){5,8}")
CLASSES = (
    "pedestrian",
    "person on vehicle",
    "car",
    "bicycle",
    "motorbike",
    "non-motorized vehicle",
    "static person",
    "distractor",
    "occluder",
    "occluder on the ground",
    "occluder full",
    "reflection",
)
DISTRACTORS = ("person on vehicle", "static person", "distractor", "reflection")  # predictions on them are ignored
LEAST, MOST = 7, 10
FRAMES_AT_MOST = 1_000_000
LOOKED_AT = 200  # lines that tell truths from predictions


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is a MOT sequence, or a folder of them."""
    files = sequence_files(probe.path)
    lines = head_of(files[0]).splitlines()[:20] if files else []
    if lines and all(LINE.fullmatch(line) for line in lines[:-1] or lines):
        return "lines of a frame, a track, a box and a confidence with commas between them"
    return None


def sequence_files(path: Path) -> list[Path]:
    """The file itself, the truths below a folder, or the text files in it, one per sequence."""
    if not path.is_dir():
        return [path] if path.suffix.lower() == ".txt" else []
    truths = sorted([*path.glob("gt/gt.txt"), *path.glob("*/gt/gt.txt")])
    return truths or sorted(p for p in path.glob("*.txt") if p.is_file())


def read(path: Path, options: Options) -> Annotations:
    """Read the sequences of a file or folder."""
    files = sequence_files(path)
    if not files:
        raise ReadError(path, expected="gt/gt.txt or text files, one per sequence", found="none")
    rows = Rows(path, options)
    kinds = {is_truth(file): file for file in reversed(files)}
    if len(kinds) > 1:
        raise ReadError(path, expected="ground truth or results, a file per sequence",
                        found=f"ground truth ({kinds[True].name}) beside results ({kinds[False].name})",
                        remedy=f"name the file itself: {kinds[True]} or {kinds[False]}")  # fmt: skip
    has_truth = True in kinds
    for file in files:
        read_sequence(rows, file, is_truth=has_truth)
    if rows.flags["ignore"]:
        rows.notes.append(
            f"{len(rows.flags['ignore']):,} objects are ignored (flag 0), {len(rows.flags['ignore_region']):,} of them "
            "for predictions of any class: distractors, static persons, persons on vehicles and reflections"
        )
    kind = (
        "a truth, because of its name or its classes" if has_truth else "predictions, the seventh number a confidence"
    )
    return rows.annotations("mot", layout="xywh", why=kind)


def sequence_name(file: Path) -> str:
    """MOT17-02 for MOT17-02/gt/gt.txt, MOT17-02/det/det.txt and MOT17-02.txt."""
    return file.parent.parent.name if file.parent.name == file.stem and file.stem in ("gt", "det") else file.stem


def is_truth(file: Path) -> bool:
    """By its name, else by nine numbers of which the seventh is 0 or 1 and the eighth a class."""
    if file.stem in ("gt", "det"):
        return file.stem == "gt"
    # So few that none of them is cut off where the beginning ends.
    lines = [line.split(",") for line in head_of(file).splitlines()[:LOOKED_AT] if line.strip()]
    return bool(lines) and all(
        len(words) == 9 and words[6].strip() in ("0", "1") and words[7].strip() in map(str, range(1, len(CLASSES) + 1))
        for words in lines
    )


def read_sequence(rows: Rows, file: Path, *, is_truth: bool) -> None:
    """Add the frames of one sequence and its objects."""
    name = sequence_name(file)
    size = add_frames(rows, file, name)
    for number, line in enumerate(read_lines(file), start=1):
        if line.strip():
            with rows.errors:
                add_line(rows, f"{file}:{number}", name, line, size, is_truth=is_truth)


def add_line(rows: Rows, where: str, name: str, line: str, size: tuple[int, int], *, is_truth: bool) -> None:
    words = line.split(",")
    if not LEAST <= len(words) <= MOST:
        expected = f"{LEAST} to {MOST} numbers with commas between them, FRAME,ID,LEFT,TOP,WIDTH,HEIGHT,CONFIDENCE"
        raise ReadError(where, expected=expected, found=f"{len(words)} ({excerpt(line.strip())})")
    frame, track, *numbers = to_numbers([word.strip() for word in words], where)
    if frame != frame or not 1 <= frame <= FRAMES_AT_MOST or frame != int(frame):
        raise ReadError(where, expected="the number of a frame, from 1", found=excerpt(words[0]))
    if not (abs(track) < 2**63 and track == int(track)):
        raise ReadError(where, expected="the id of a track, a whole number", found=excerpt(words[1]))
    image = f"{name}/{int(frame):06d}"
    rows.remember_image(where, image, size)
    if is_truth:
        label = class_name(where, numbers[5]) if len(numbers) == 7 else CLASSES[0]
        flags = [] if numbers[4] else ["ignore", *(["ignore_region"] if label in DISTRACTORS else [])]
        rows.add(where, image, label, numbers[:4], track=int(track), flags=flags)
    else:
        rows.add(where, image, CLASSES[0], numbers[:4], numbers[4], track=int(track))


def class_name(where: str, number: float) -> str:
    if number != number or not 1 <= number <= len(CLASSES) or number != int(number):
        raise ReadError(where, expected=f"a class from 1 to {len(CLASSES)}", found=str(number))
    return CLASSES[int(number) - 1]


def add_frames(rows: Rows, file: Path, name: str) -> tuple[int, int]:
    """All frames of a sequence whose seqinfo.ini says how many there are; returns the size of its images."""
    place = file.parent.parent / "seqinfo.ini"
    if file.parent.name not in ("gt", "det") or not place.is_file():
        return 0, 0
    said = dict(re.findall(r"^(\w+)\s*=\s*(\d{1,9})\s*$", read_text(place), re.MULTILINE))
    size = int(said.get("imWidth", 0)), int(said.get("imHeight", 0))
    count = int(said.get("seqLength", 0))
    if count > FRAMES_AT_MOST:
        raise ReadError(place, expected=f"at most {FRAMES_AT_MOST:,} frames", found=f"{count:,}")
    for frame in range(1, count + 1):
        rows.add_image(place, f"{name}/{frame:06d}", *size)
    return size


FORMAT = Format(
    name="mot",
    title="MOT challenge",
    about="a text file per sequence, `frame,id,left,top,width,height,confidence,…` per line; frames become images",
    recognise=recognise,
    read=read,
    suffixes=(".txt",),
)
