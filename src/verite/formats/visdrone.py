"""VisDrone detection: one text file per image, `left,top,width,height,score,category,truncation,occlusion` per line.

In a ground truth the score is 1, or 0 where VisDrone's evaluation ignores the object; category 0 marks ignored regions
and 11 other objects, which it ignores as well. In predictions the score is the confidence, and truncation and occlusion
are -1.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import read_lines
from verite.formats.format import FRAMES, Format, Options, PathProbe, head_of, is_list
from verite.formats.rows import Rows
from verite.formats.shards import files_of_split
from verite.formats.words import is_number, to_numbers
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
WORDS = 8
WORDING = "LEFT,TOP,WIDTH,HEIGHT,SCORE,CATEGORY,TRUNCATION,OCCLUSION"
FILES, LINES = 50, 50  # the first of them decide the format, and whether it is a ground truth


def recognise(look: PathProbe) -> str | None:
    lines = first_lines(text_files(look))
    if lines and all(map(is_line, lines)):
        return "lines of a box, a score, a category from 0 to 11, truncation and occlusion with commas between them"
    return None


def text_files(look: PathProbe) -> list[Path]:
    return [path for path in look.with_suffix(".txt") if not look.is_folder or not is_list(path)]


def first_lines(files: list[Path]) -> list[list[str]]:
    heads = (head_of(file).splitlines()[:LINES] for file in islice(files, FILES))
    return [words_of(line) for lines in heads for line in lines if line.strip()]


def words_of(line: str) -> list[str]:
    """The numbers of a line, some of which end in a comma."""
    return [word.strip() for word in line.strip().removesuffix(",").split(",")]


def is_line(words: list[str]) -> bool:
    """Eight numbers, of which the last three can be a category, a truncation and an occlusion."""
    return (
        len(words) == WORDS
        and all(map(is_number, words))
        and words[5] in map(str, range(len(CLASSES)))
        and words[6] in ("-1", "0", "1")
        and words[7] in ("-1", "0", "1", "2")
    )


def has_confidences(lines: list[list[str]]) -> bool:
    """Are these predictions? Their scores lie between 0 and 1, or they know neither truncation nor occlusion."""
    fitting = [words for words in lines if is_line(words)]
    is_blank = bool(fitting) and all(words[6] == words[7] == "-1" for words in fitting)
    return is_blank or any(float(words[4]) not in (0, 1) for words in fitting)


def read(path: Path, options: Options) -> Annotations:
    files, split = files_of_split(path, text_files(PathProbe(path)), options)
    if not files:
        raise ReadError(path, expected="annotation files ending in .txt", found="none")
    is_pred = has_confidences(first_lines(files))
    rows = Rows(path, options, names=CLASSES)
    for file in count_files("reading", files):
        with rows.tolerance:
            rows.add_image(file, file.stem)
            for number, line in enumerate(read_lines(file), start=1):
                if line.strip():
                    with rows.tolerance:
                        add_line(rows, f"{file}:{number}", file.stem, line, is_pred=is_pred)
    if rows.flags["ignore"]:
        rows.notes.append(
            f"{len(rows.flags['ignore']):,} objects are ignored (score 0, ignored regions, others), each within its "
            "own class: predictions of other classes inside ignored regions still count"
        )
    kind = "predictions, the fifth number a confidence" if is_pred else "a ground truth, the fifth number 0 if ignored"
    return rows.annotations("visdrone", layout="xywh", why="; ".join(w for w in (split, kind) if w))


def add_line(rows: Rows, where: str, image: str, line: str, *, is_pred: bool) -> None:
    words = words_of(line)
    if len(words) != WORDS:
        expected = f"{WORDS} numbers with commas between them, {WORDING}"
        raise ReadError(where, expected=expected, found=f"{len(words)} ({excerpt(line.strip())})")
    *box, score, category, truncation, occlusion = to_numbers(words, where)
    if category not in range(len(CLASSES)):
        raise ReadError(where, expected=f"a category from 0 to {len(CLASSES) - 1}", found=excerpt(words[5]))
    label = CLASSES[int(category)]
    if is_pred:
        rows.add(where, image, label, box, score)
        return
    marks = {"ignore": score == 0 or category in IGNORED, "truncated": truncation > 0, "occluded": occlusion > 0}
    rows.add(where, image, label, box, flags=[mark for mark, is_set in marks.items() if is_set])


FORMAT = Format(
    name="visdrone",
    title="VisDrone",
    about="one text file per image, `left,top,width,height,score,category,truncation,occlusion` per line; what "
    "VisDrone ignores (score 0, categories 0 and 11) is ignored",
    recognise=recognise,
    read=read,
    suffixes=(),
    options=FRAMES | {"split"},
)
