"""Submissions of Kaggle's detection competitions: a row per image, its boxes in one cell (`PredictionString`).

Each box is `confidence x y width height` (RSNA pneumonia, global wheat), `class confidence x1 y1 x2 y2` (VinBigData),
or, in ground truth, `x y width height`. An empty cell is an image without boxes. VinBigData writes "no finding" as a
box of one pixel, `14 1 0 0 1 1`, which is an image without objects.
"""

from __future__ import annotations

from itertools import chain, islice
from pathlib import Path

from verite.csv_files import header_of, lines_of, separator_of
from verite.errors import ReadError, excerpt
from verite.formats.format import FRAMES, Format, Options, PathProbe, class_names
from verite.formats.rows import Rows
from verite.formats.tables import ONE_CLASS
from verite.formats.text_lines import is_number, to_numbers
from verite.model.annotations import Annotations

STRINGS = ("predictionstring", "prediction_string", "predictions", "prediction", "boxes", "bboxes", "labels")
WORDINGS = {4: "X Y WIDTH HEIGHT", 5: "CONFIDENCE X Y WIDTH HEIGHT", 6: "CLASS CONFIDENCE X1 Y1 X2 Y2"}
LONGEST = 1 << 24  # characters of one image's predictions
NO_FINDING = [0.0, 0.0, 1.0, 1.0]
TOLD = 200  # rows that decide how many words a box has


def recognise(probe: PathProbe) -> str | None:
    """Return why a path is a submission: a CSV file of two columns, the second of prediction strings."""
    if probe.is_folder or probe.path.suffix.lower() not in (".csv", ".tsv"):
        return None
    header = header_of(probe.head)
    head = [cell.strip().strip('"').casefold() for cell in header.split(separator_of(header))]
    strings = [i for i, cell in enumerate(head) if cell in STRINGS]
    if len(head) < 2 or len(strings) != 1 or (len(head) > 2 and head[strings[0]] != STRINGS[0]):
        return None
    try:
        size, has_numbers = words_per_box(probe.path, *columns_of(probe.path))
    except ReadError:
        return None
    if "imageid" in head and size == 6 and not has_numbers:
        return None  # the classes of Open Images' challenge
    return f"a CSV file with a row per image and {size} numbers per box in {excerpt(head[strings[0]])}"


def columns_of(path: Path) -> tuple[int, int]:
    """Return the positions of the image and of the strings among the columns."""
    _, head = next(lines_of(path, LONGEST), (1, []))
    names = [cell.strip().casefold() for cell in head]
    string = next((i for i, name in enumerate(names) if name in STRINGS), 1)
    return (0 if string else 1), string


def words_per_box(path: Path, image: int, string: int) -> tuple[int, bool]:
    """Return how many words of a box fit all of the first rows (4, 5 or 6), and whether all words are numbers.

    Five and six fit where one of them is a confidence, from 0 to 1; four are ground truth.
    """
    lines = (line for _, line in islice(lines_of(path, LONGEST), 1, TOLD) if len(line) > max(image, string))
    texts = [words for line in lines if (words := line[string].split())]
    has_numbers = all(map(is_number, chain.from_iterable(texts)))
    for size, at in ((6, 1), (5, 0)):
        if texts and all(len(words) % size == 0 for words in texts):
            confidences = [word for words in texts for word in words[at::size]]
            if all(is_number(word) and 0 <= float(word) <= 1 for word in confidences):
                return size, has_numbers
    if texts and has_numbers and all(len(words) % 4 == 0 for words in texts):
        return 4, has_numbers
    found = excerpt(" ".join(texts[0])) if texts else "empty cells only"
    raise ReadError(path, expected=" or ".join(f"{n} words per box, {w}" for n, w in WORDINGS.items()), found=found)


def read(path: Path, options: Options) -> Annotations:
    """Read the boxes of all images; without a class in the cells, all are of one class."""
    image, string = columns_of(path)
    size, _ = words_per_box(path, image, string)
    lines = lines_of(path, LONGEST)
    next(lines, None)
    placed = [(f"{path}:{number}", line) for number, line in lines]
    words = [line[string].split() if len(line) > string else [] for _, line in placed]
    is_numbered = size == 6 and all(word.isdecimal() for cell in words for word in cell[0::6])
    names, _ = class_names(options) if is_numbered else (None, "")
    rows = Rows(path, options, names=names, is_numbered=is_numbered)
    like = options.like
    only = options.class_name or (like.labels.name(0) if like is not None and len(like.labels) == 1 else ONE_CLASS)
    for (where, line), cell in zip(placed, words, strict=True):
        with rows.errors:
            if len(line) <= max(image, string) or len(cell) % size:
                expected = f"an image and {size} words per box, {WORDINGS[size]}"
                raise ReadError(where, expected=expected, found=excerpt(",".join(line)))
            name = line[image].strip()
            rows.add_image(where, name)
            for at in range(0, len(cell), size):
                box = cell[at : at + size]
                numbers = to_numbers(box[-4:], where)
                confidence = to_numbers(box[-5:-4], where)[0] if size > 4 else None
                if size == 6 and numbers == NO_FINDING:
                    rows.remark("boxes of one pixel in the corner taken as 'no finding'", where)
                    continue
                label: str | int = only
                if size == 6:
                    label = int(box[0]) + options.label_offset if is_numbered else box[0]
                    if isinstance(label, int) and (label < 0 or (names is not None and label >= len(names))):
                        expected = f"a class from 0 to {len(names) - 1} (V206)" if names else "a class from 0 (V206)"
                        raise ReadError(where, expected=expected, found=str(label))
                rows.add(where, name, label, numbers, confidence)
    if size < 6:
        rows.notes.append(f"no classes: all boxes are {excerpt(only)}")
    return rows.annotations("kaggle", layout="xyxy" if size == 6 else "xywh", why=WORDINGS[size].lower())


FORMAT = Format(
    name="kaggle",
    title="Kaggle submission",
    about="a CSV row per image with a `PredictionString` of 4, 5 or 6 words per box",
    recognise=recognise,
    read=read,
    options=FRAMES | {"class_name", "label_offset", "names"},
    suffixes=(".csv", ".tsv"),
)
