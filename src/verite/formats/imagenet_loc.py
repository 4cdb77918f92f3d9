"""ImageNet localization CSV: one line per image, `ImageId,PredictionString`, five words per object.

`LOC_val_solution.csv` and predictions look alike: `n01978287 240 170 260 240 n02123045 …` is a class and the pixel
indices of two corners, repeated. Predictions are listed best first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from verite.arrays import np
from verite.errors import BadParameter, ReadError, did_you_mean, excerpt
from verite.files import find_path, read_lines, write_atomically
from verite.formats.format import Format, Options, PathProbe, check_ends, check_words
from verite.formats.rows import Rows
from verite.formats.sizes import need_pixels
from verite.formats.table_files import header_columns, read_csv_table
from verite.formats.text_lines import is_number, to_numbers
from verite.model.annotations import Annotations
from verite.model.classes import EXCLUDED, ImageLevelLabels
from verite.model.images import Images
from verite.model.styles import csv_text

NUMBER_AT_END = re.compile(r"(\d+)$")


def read_blacklist(
    given: str | PathLike[str] | Iterable[str | tuple[str, str]], truth: Annotations, *, with_labels: bool
) -> ImageLevelLabels:
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
        if image is None and words[0].isdecimal() and len(words[0]) < 20:
            image = numbers.get(int(words[0]))
        if image is None:
            known = map(str, numbers) if words[0].isdecimal() else truth.images.names or ()
            near = did_you_mean(words[0], known).removeprefix("; ")
            raise ReadError(where, expected="an image of the ground truth", found=excerpt(words[0]), remedy=near)
        if with_labels and words[1] not in classes:
            continue  # a class without ground truth: nothing of it counts
        rows.append((image, classes[words[1]] if with_labels else 0, EXCLUDED))
    return ImageLevelLabels.of(rows)


def entries(given: str | PathLike[str] | Iterable[str | tuple[str, str]]) -> Iterable[tuple[str, list[str]]]:
    """Yield place and words of every line of a file, or of every entry given in Python."""
    if isinstance(given, (str, PathLike)):
        path: Path = find_path(given)
        lines = enumerate(read_lines(path), 1)
        return [(f"{path}:{number}", words) for number, line in lines if (words := line.split())]
    if not isinstance(given, Iterable):
        raise BadParameter(f"blacklist: expected a file or a list, found {type(given).__name__}")
    found = []
    for entry in given:
        if not isinstance(entry, (str, tuple, list)):
            raise BadParameter(f"blacklist: expected names, or pairs of an image and a class, found {excerpt(entry)}")
        found.append(("blacklist", [entry] if isinstance(entry, str) else [str(word) for word in entry]))
    return found


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


COLUMNS = ("ImageId", "PredictionString")

WORDS = 5

LONGEST = 1 << 24  # characters of one image's predictions


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is ImageNet localization: its two columns, and five words per object."""
    if len(header_columns(probe, COLUMNS)) == len(COLUMNS) and words_per_object(probe) == WORDS:
        return "a CSV file with ImageId and PredictionString, a class and four numbers per object"
    return None


def words_per_object(probe: PathProbe) -> int:
    """How many words a prediction string has for an object: five in ImageNet's, six in Open Images'.

    The first image that has any decides; where its words fit neither, ImageNet's way to spell `ImageId` does.
    """
    header, *lines = PathProbe(probe.files[0]).head.splitlines()
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
    """Read the objects of every image."""
    rows = Rows(path, options)
    for where, line in read_csv_table(path, COLUMNS, COLUMNS, longest=LONGEST).records(rows.errors):
        image = line["ImageId"].strip()
        with rows.errors:
            rows.add_image(where, image)
            for label, numbers in objects_in(line["PredictionString"], WORDS, "CLASS X1 Y1 X2 Y2", where):
                rows.add(where, image, label, numbers)
    return rows.annotations("imagenet-loc", layout="xyxy")


def objects_in(text: str, count: int, wanted: str, where: str) -> list[tuple[str, list[float]]]:
    """Class and numbers of each object of a prediction string of so many words per object.

    Parameters
    ----------
    text
        The cell, such as `n01440764 10 20 100 120`.
    count
        Words per object.
    wanted
        Names of the words, for messages.
    where
        File and line, for messages.

    Returns
    -------
    list[tuple[str, list[float]]]
        One pair per object.
    """
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
    check_ends(path, annotations.images.names or (), "image names")
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


def number(value: float) -> str:
    """Whole numbers as people write them, others exactly."""
    return str(int(value)) if value == int(value) else repr(value)


PRESERVES = frozenset(
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
    preserves=PRESERVES,
    requires=frozenset({"class names without blanks", "no confidence"}),
    suffixes=(".csv",),
)
