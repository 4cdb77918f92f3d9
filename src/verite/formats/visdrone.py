"""VisDrone detection: `left,top,width,height,score,category,truncation,occlusion` per line, one text file per image.

The lines of videos (VisDrone-VID and VisDrone-MOT, one text file per sequence) begin with `frame,track`; frames become
images, named `SEQUENCE/0000001` like their files, with track ids. In a ground truth the score is 1, or 0 where
VisDrone's evaluation ignores the object; category 0 marks ignored regions and 11 other objects, which it ignores as
well. In predictions the score is the confidence, and truncation and occlusion are -1.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import read_lines
from verite.formats.format import FRAMES, Format, Options, PathProbe, head_of, is_list
from verite.formats.rows import Rows
from verite.formats.shards import files_of_split
from verite.formats.text_lines import is_number, to_numbers
from verite.model.annotations import Annotations
from verite.progress import count_files

CLASSES = (
    "ignored regions",
    "pedestrian",
    "people",
    "bicycle",
    "car",
    "van",
    "truck",
    "tricycle",
    "awning-tricycle",
    "bus",
    "motor",
    "others",
)
IGNORED = (0, 11)  # categories that VisDrone's own evaluation ignores
WORDING = {
    8: "LEFT,TOP,WIDTH,HEIGHT,SCORE,CATEGORY,TRUNCATION,OCCLUSION",
    10: "FRAME,TRACK,LEFT,TOP,WIDTH,HEIGHT,SCORE,CATEGORY,TRUNCATION,OCCLUSION",
}  # by the number of words: images, videos
VIDEO = 10
MOST_FRAMES = 1_000_000
FILES, LINES = 50, 50  # the first of them decide the format, and whether it is a ground truth


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is VisDrone: all first lines have the eight numbers of images, or the ten of videos."""
    lines = first_lines(text_files(probe))
    for count, before in ((8, ""), (VIDEO, "a frame, a track, ")):
        if lines and all(is_line(words, count) for words in lines):
            listed = "a box, a score, a category from 0 to 11, truncation and occlusion"
            return f"lines of {before}{listed} with commas between them"
    return None


def text_files(probe: PathProbe) -> list[Path]:
    return [path for path in probe.with_suffix(".txt") if not probe.is_folder or not is_list(path)]


def first_lines(files: list[Path]) -> list[list[str]]:
    heads = (head_of(file).splitlines()[:LINES] for file in islice(files, FILES))
    return [words_of(line) for lines in heads for line in lines if line.strip()]


def words_of(line: str) -> list[str]:
    """The numbers of a line, some of which end in a comma."""
    return [word.strip() for word in line.strip().removesuffix(",").split(",")]


def is_line(words: list[str], count: int) -> bool:
    """So many numbers, of which the last three can be a category, a truncation and an occlusion."""
    return (
        len(words) == count
        and all(map(is_number, words))
        and words[-3] in map(str, range(len(CLASSES)))
        and words[-2] in ("-1", "0", "1")
        and words[-1] in ("-1", "0", "1", "2")
        and (count < VIDEO or (words[0].isdecimal() and words[1].removeprefix("-").isdecimal()))
    )


def has_confidences(lines: list[list[str]]) -> bool:
    """Whether these are predictions: scores other than 0 and 1, or neither truncation nor occlusion."""
    fitting = [words for words in lines if any(is_line(words, count) for count in WORDING)]
    is_blank = bool(fitting) and all(words[-2] == words[-1] == "-1" for words in fitting)
    return is_blank or any(float(words[-4]) not in (0, 1) for words in fitting)


def read(path: Path, options: Options) -> Annotations:
    """Read images or video frames with their objects."""
    files, split = files_of_split(path, text_files(PathProbe(path)), options)
    if not files:
        raise ReadError(path, expected="annotation files ending in .txt", found="none")
    lines = first_lines(files)
    is_pred, count = has_confidences(lines), VIDEO if lines and len(lines[0]) == VIDEO else min(WORDING)
    rows = Rows(path, options, names=CLASSES)
    if count == VIDEO:
        check_sequences(path, files)
    for file in count_files("reading", files):
        with rows.errors:
            if count < VIDEO:
                rows.add_image(file, file.stem)
            last = 0
            for number, line in enumerate(read_lines(file), start=1):
                if line.strip():
                    with rows.errors:
                        frame = add_line(rows, f"{file}:{number}", file.stem, line, count, is_pred=is_pred)
                        last = max(last, frame)
            for frame in range(1, last + 1) if not is_pred else ():
                rows.remember_image(file, frame_name(file.stem, frame))
    if count == VIDEO:
        rows.notes.append("one image per frame; verite track evaluates the tracks")
    if rows.flags["ignore"]:
        rows.notes.append(
            f"{len(rows.flags['ignore']):,} objects are ignored (score 0, ignored regions, others); "
            f"{len(rows.flags['ignore_region']):,} ignored regions for predictions of any class"
        )
    kind = "predictions, the score a confidence" if is_pred else "a ground truth, the score 0 if ignored"
    return rows.annotations("visdrone", layout="xywh", why="; ".join(w for w in (split, kind) if w))


def check_sequences(path: Path, files: list[Path]) -> None:
    """A sequence has one file: those of several detectors, or of ground truth and predictions, are not one side."""
    first: dict[str, Path] = {}
    for file in files:
        if (other := first.setdefault(file.stem, file)) != file:
            remedy = f"name one of the folders instead of {path}: {other.parent} or {file.parent}"
            raise ReadError(file, expected="each sequence once", found=f"a second {excerpt(file.stem)}", remedy=remedy)
    kinds = {has_confidences(lines): file for file in reversed(files) if (lines := first_lines([file]))}
    if len(kinds) > 1:
        raise ReadError(
            path,
            expected="ground truth or predictions, one file per sequence",
            found=f"ground truth ({kinds[False].name}) beside predictions ({kinds[True].name})",
            remedy="keep them in folders of their own, and name these",
        )


def frame_name(sequence: str, frame: int) -> str:
    return f"{sequence}/{frame:07d}"


def add_line(rows: Rows, where: str, name: str, line: str, count: int, *, is_pred: bool) -> int:
    """The object of one line; `name` is that of its image or of its sequence. Returns its frame, 0 in an image."""
    words = words_of(line)
    if len(words) != count:
        expected = f"{count} numbers with commas between them, {WORDING[count]}"
        raise ReadError(where, expected=expected, found=f"{len(words)} ({excerpt(line.strip())})")
    *place, left, top, width, height, score, category, truncation, occlusion = to_numbers(words, where)
    if category not in range(len(CLASSES)):
        raise ReadError(where, expected=f"a category from 0 to {len(CLASSES) - 1}", found=excerpt(words[-3]))
    frame, track = 0, None
    if place:
        if not (abs(place[1]) < 2**63 and place[1] == int(place[1])):
            raise ReadError(where, expected="the id of a track, a whole number", found=excerpt(words[1]))
        track = int(place[1])
        if not 1 <= place[0] <= MOST_FRAMES or place[0] != int(place[0]):
            raise ReadError(where, expected="the number of a frame, from 1", found=excerpt(words[0]))
        frame = int(place[0])
        name = frame_name(name, frame)
    box, label = [left, top, width, height], CLASSES[int(category)]
    if is_pred:
        rows.add(where, name, label, box, score, track=track)
        return frame
    marks = {
        "ignore": score == 0 or category in IGNORED,
        "ignore_region": category == 0,
        "truncated": truncation > 0,
        "occluded": occlusion > 0,
    }
    rows.add(where, name, label, box, track=track, flags=[mark for mark, is_set in marks.items() if is_set])
    return frame


FORMAT = Format(
    name="visdrone",
    title="VisDrone",
    about="one text file per image, `left,top,width,height,score,category,truncation,occlusion` per line, or per "
    "sequence with `frame,track,` before them; what VisDrone ignores (score 0, categories 0 and 11) is ignored",
    recognise=recognise,
    read=read,
    suffixes=(),
    options=FRAMES | {"split"},
)
