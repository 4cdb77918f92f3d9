"""ImageNet localization CSV: a line per image, `ImageId,PredictionString`, five words per object.

`LOC_val_solution.csv` and predictions look the same: `n01978287 240 170 260 240 n02123045 …` is a class and the pixel
indices of two corners, again and again. Guesses come best first.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from verite.errors import ReadError, excerpt
from verite.files import write_atomically
from verite.formats.csv_lines import header_columns, read_csv_table
from verite.formats.format import Format, Look, Options
from verite.formats.rows import Rows
from verite.formats.sizes import need_pixels
from verite.formats.words import is_number, to_numbers
from verite.model.annotations import Annotations
from verite.model.styles import csv_text

COLUMNS = ("ImageId", "PredictionString")
WORDS = 5
LONGEST = 1 << 24  # characters of one image's predictions


def recognise(look: Look) -> str | None:
    if len(header_columns(look, COLUMNS)) == len(COLUMNS) and words_per_object(look) == WORDS:
        return "a CSV file with ImageId and PredictionString, a class and four numbers per object"
    return None


def words_per_object(look: Look) -> int:
    """How many words a prediction string has for an object: five in ImageNet's, six in Open Images'.

    The first image that has any decides; where its words fit neither, ImageNet's way to spell `ImageId` does.
    """
    header, *lines = Look(look.files[0]).head.splitlines()
    texts = (line.partition(",")[2].replace('"', " ").split() for line in lines)
    words = next((words for words in texts if words), [])
    for count in (WORDS, WORDS + 1):
        if (
            words
            and len(words) % count == 0
            and all(is_number(word) == (i % count > 0) for i, word in enumerate(words))
        ):
            return count
    return WORDS if "ImageId" in header else WORDS + 1


def read(path: Path, options: Options) -> Annotations:
    rows = Rows(path, options)
    for where, line in read_csv_table(path, COLUMNS, COLUMNS, longest=LONGEST).records(rows.tolerance):
        image = line["ImageId"].strip()
        with rows.tolerance:
            rows.add_image(where, image)
            for label, numbers in objects_in(line["PredictionString"], WORDS, "CLASS X1 Y1 X2 Y2", where):
                rows.add(where, image, label, numbers)
    return rows.annotations("imagenet-loc", layout="xyxy")


def objects_in(text: str, count: int, wanted: str, where: str) -> list[tuple[str, list[float]]]:
    """Class and numbers of each object of a prediction string of so many words per object."""
    words = text.split()
    if len(words) % count:
        found = f"{len(words)} words ({excerpt(' '.join(words[-count:]))} at the end)"
        raise ReadError(where, expected=f"{count} words per object, {wanted}", found=found)
    parts = [words[i : i + count] for i in range(0, len(words), count)]
    return [(label, to_numbers(rest, where, f"a number in {wanted}")) for label, *rest in parts]


def write(annotations: Annotations, path: Path) -> None:
    """Objects of an image by falling confidence, in their order where they have none."""
    need_pixels(annotations, path)
    check_words(path, annotations.labels.all_names)
    confidence = annotations.confidence
    order: Sequence[int] = range(len(annotations))
    if confidence is not None:
        order = np.argsort(-confidence, kind="stable").tolist()
    words: list[list[str]] = [[] for _ in range(len(annotations.images))]
    boxes = annotations.regions.boxes.tolist()
    for row in order:
        label = annotations.labels.name(int(annotations.label[row]))
        words[annotations.image[row]] += [label, *(number(v) for v in boxes[row])]
    rows: list[Sequence[object]] = [COLUMNS]
    rows += ([annotations.images.name(i), " ".join(listed)] for i, listed in enumerate(words))
    write_atomically(path, csv_text(rows))


def check_words(path: Path, names: Sequence[str]) -> None:
    for name in names:
        if name.split() != [name]:
            found = excerpt(name)
            raise ReadError(path, expected="class names without blanks", found=found, remedy="rename it")


def number(value: float) -> str:
    """Whole numbers as people write them, others exactly."""
    return str(int(value)) if value == int(value) else repr(value)


HOLDS = frozenset(
    {
        "box apart from its mask",
        "box apart from its polygon",
        "class name",
        "empty image",
        "image folder or suffix",
        "image name",
    }
)
FORMAT = Format(
    name="imagenet-loc",
    title="ImageNet localization CSV",
    about="solutions and predictions: a CSV line per image, five words per object, the best first",
    recognise=recognise,
    read=read,
    write=write,
    holds=HOLDS,
    needs=frozenset({"class names without blanks", "no confidence"}),
    suffixes=(".csv",),
)
