"""Open Images challenge predictions: a CSV with a line per image, `ImageId,PredictionString`.

For boxes six words per object, `LABEL CONFIDENCE XMIN YMIN XMAX YMAX` in fractions of the image; for masks three,
`LABEL CONFIDENCE MASK`, with the columns `ImageWidth` and `ImageHeight`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import write_atomically
from verite.formats.csv_lines import header_columns, read_csv_table
from verite.formats.encoded_masks import decode_mask, encode_mask, parse_side
from verite.formats.format import Format, Look, Options
from verite.formats.imagenet_loc import LONGEST, check_words, objects_in, words_per_object
from verite.formats.outlines import bounds_of_runs
from verite.formats.rows import Rows
from verite.formats.sizes import fractions
from verite.formats.words import to_number
from verite.model.annotations import Annotations
from verite.model.regions import MASK
from verite.model.styles import csv_text

REQUIRED = ("ImageID", "PredictionString")
SIZES = ("ImageWidth", "ImageHeight")
BOX_WORDS, BOX_WORDING = 6, "LABEL CONFIDENCE XMIN YMIN XMAX YMAX"
MASK_WORDS, MASK_WORDING = 3, "LABEL CONFIDENCE MASK"


def recognise(look: Look) -> str | None:
    if len(header_columns(look, REQUIRED)) != len(REQUIRED):
        return None
    if len(header_columns(look, SIZES)) == len(SIZES):
        return "a CSV file with ImageID, sizes and PredictionString, a label, a confidence and a mask per object"
    if words_per_object(look) == BOX_WORDS:
        return "a CSV file with ImageID and PredictionString, a label and five numbers per object"
    return None


def read(path: Path, options: Options) -> Annotations:
    sheet = read_csv_table(path, REQUIRED, (*REQUIRED, *SIZES), longest=LONGEST)
    has_masks = all(name in sheet.columns for name in SIZES)
    rows = Rows(path, options)
    for where, line in sheet.records(rows.tolerance):
        with rows.tolerance:
            add_line(rows, where, line, has_masks=has_masks)
    if has_masks:
        return rows.annotations("openimages-predictions", layout="xywh")
    return rows.annotations("openimages-predictions", layout="xyxy", coords="rel")


def add_line(rows: Rows, where: str, line: Mapping[str, str], *, has_masks: bool) -> None:
    """The objects of one image."""
    image = line["ImageID"].strip()
    if has_masks:
        width, height = (parse_side(line[name], where, name) for name in SIZES)
        rows.add_image(where, image, width, height)
        add_masks(rows, where, image, line["PredictionString"], height, width)
    else:
        rows.add_image(where, image)
        for label, (confidence, *box) in objects_in(line["PredictionString"], BOX_WORDS, BOX_WORDING, where):
            rows.add(where, image, label, box, confidence)


def add_masks(rows: Rows, where: str, image: str, text: str, height: int, width: int) -> None:
    words = text.split()
    if len(words) % MASK_WORDS:
        found = f"{len(words)} words ({excerpt(' '.join(words[-MASK_WORDS:]))} at the end)"
        raise ReadError(where, expected=f"{MASK_WORDS} words per object, {MASK_WORDING}", found=found)
    for i in range(0, len(words), MASK_WORDS):
        label, confidence, mask = words[i : i + MASK_WORDS]
        runs = decode_mask(mask, height, width, where)
        score = to_number(confidence, where, f"a number in {MASK_WORDING}")
        rows.add(where, image, label, bounds_of_runs(runs, height), score, runs=(runs, (height, width)))


def write(annotations: Annotations, path: Path) -> None:
    if annotations.confidence is None and len(annotations):
        raise ReadError(path, expected="predictions", found="objects without confidence")
    check_words(path, annotations.labels.all_names)
    kinds = annotations.regions.kinds
    has_masks = bool(len(annotations)) and bool((kinds == MASK).all())
    if not has_masks and (kinds == MASK).any():
        found = f"{int((kinds == MASK).sum())} of {len(kinds)}"
        raise ReadError(path, expected="masks for all objects or for none", found=found, remedy="write them apart")
    texts: list[list[str]] = [[] for _ in range(len(annotations.images))]
    boxes = [] if has_masks else fractions(annotations, path).boxes.tolist()
    runs = annotations.regions.runs
    for row, image in enumerate(annotations.image.tolist()):
        assert annotations.confidence is not None
        texts[image] += [annotations.labels.name(int(annotations.label[row])), repr(float(annotations.confidence[row]))]
        if has_masks and runs is not None:
            texts[image].append(encode_mask(runs[row]))
        else:
            texts[image] += map(repr, boxes[row])
    rows: list[Sequence[object]] = [["ImageID", *(SIZES if has_masks else ()), "PredictionString"]]
    images = annotations.images
    for i, words in enumerate(texts):
        sizes = [int(images.widths[i]), int(images.heights[i])] if has_masks else []
        rows.append([images.name(i), *sizes, " ".join(words)])
    write_atomically(path, csv_text(rows))


HOLDS = frozenset(
    {
        "box apart from its polygon",
        "class name",
        "confidence",
        "empty image",
        "image folder or suffix",
        "image name",
        "mask",
    }
)
FORMAT = Format(
    name="openimages-predictions",
    title="Open Images challenge predictions",
    about="a CSV line per image with a `PredictionString` of boxes or masks",
    recognise=recognise,
    read=read,
    write=write,
    holds=HOLDS,
    needs=frozenset({"class names without blanks", "confidence", "image size", "masks for all objects or none"}),
    suffixes=(".csv",),
    sides=("pred",),
)
