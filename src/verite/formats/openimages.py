"""Open Images boxes: one CSV, a line per object, corners as fractions of the image.

`ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside` is a
truth; columns come in any order, only ImageID, LabelName and the corners must be there. `ImageWidth,ImageHeight,Mask`
add the size of the image and an encoded mask. A column `Score` or `Conf` makes predictions. `Confidence` does so only
where no `Is…` column stands beside it and some value is not 1: in a truth it is 1 or empty and says nothing about an
object. Decimal commas and semicolons as separators occur and are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from verite.errors import ReadError, excerpt
from verite.files import write_atomically
from verite.formats.csv_lines import SHORT, header_columns, read_csv_table
from verite.formats.encoded_masks import decode_mask, parse_side
from verite.formats.format import Format, Look, Options
from verite.formats.rows import Rows
from verite.formats.sizes import check_size, fractions
from verite.formats.words import to_number
from verite.model.annotations import Annotations
from verite.model.styles import csv_text

CORNERS = ("XMin", "YMin", "XMax", "YMax")
REQUIRED = ("ImageID", "LabelName", *CORNERS)
FLAG_COLUMNS = {
    "IsOccluded": "occluded",
    "IsTruncated": "truncated",
    "IsGroupOf": "group_of",
    "IsDepiction": "depiction",
    "IsInside": "inside",
}
SCORES = ("Score", "Conf")
MASKED = ("ImageWidth", "ImageHeight", "Mask")  # the size of the image, and an encoded mask where there is one
COLUMNS = (*REQUIRED, *FLAG_COLUMNS, *SCORES, "Confidence", *MASKED)
YES, NO = ("1", "1.0", "true"), ("0", "0.0", "false", "", "-1", "-1.0")  # -1: nobody looked
LONGEST = 1 << 24  # characters of a mask
NO_CONFIDENCE = ("", "1", "1.0")


def recognise(look: Look) -> str | None:
    known = header_columns(look, REQUIRED)
    return f"a CSV file with the columns {', '.join(REQUIRED)}" if len(known) == len(REQUIRED) else None


def read(path: Path, options: Options) -> Annotations:
    longest = LONGEST if header_columns(Look(path), MASKED) else SHORT
    sheet = read_csv_table(path, REQUIRED, COLUMNS, longest=longest)
    if "Mask" in sheet.columns and not all(name in sheet.columns for name in MASKED):
        place = f"{sheet.file}:1"
        raise ReadError(place, expected="columns ImageWidth and ImageHeight beside Mask", found="one alone")
    rows = Rows(path, options)
    score, why = score_column(sheet.columns, sheet.lines)
    if score is None and has_confidences(sheet.columns, sheet.lines):
        rows.notes.append("Confidence left out: beside IsGroupOf and the like it is the annotators', not a detector's")
    for where, line in sheet.records(rows.tolerance):
        with rows.tolerance:
            add_line(rows, where, line, score)
    return rows.annotations("openimages", layout="xyxy", coords="rel", why=why)


def score_column(columns: dict[str, int], body: list[tuple[int, list[str]]]) -> tuple[str | None, str]:
    """Which column holds the confidences of predictions, if any, and why."""
    found = next((name for name in SCORES if name in columns), None)
    if found is not None:
        return found, f"predictions, because there is a column {found}"
    beside = next((name for name in FLAG_COLUMNS if name in columns), None)
    if beside is not None:
        return None, f"a truth, because there is a column {beside} and none named Score"
    if has_confidences(columns, body):
        return "Confidence", "predictions, because not every Confidence is 1 or empty"
    return None, "a truth, because there is no column Score, nor a Confidence other than 1"


def has_confidences(columns: dict[str, int], body: list[tuple[int, list[str]]]) -> bool:
    """Is there a Confidence that says something?"""
    at = columns.get("Confidence")
    return at is not None and any(line[at].strip() not in NO_CONFIDENCE for _, line in body if at < len(line))


def add_line(rows: Rows, where: str, cells: dict[str, str], score: str | None) -> None:
    box = [decimal(cells[name], where, name) for name in CORNERS]
    confidence = decimal(cells[score], where, score) if score and cells[score].strip() else None
    flags = [flag for column, flag in FLAG_COLUMNS.items() if column in cells and is_yes(cells[column], where, column)]
    runs = None
    if all(name in cells for name in MASKED[:2]):
        width, height = (parse_side(cells[name], where, name) for name in MASKED[:2])
        check_size(where, width, height)
        known = rows.images.get(cells["ImageID"], (width, height))
        if known != (width, height):
            expected = f"{known[0]} x {known[1]} pixels as elsewhere in {excerpt(cells['ImageID'])}"
            raise ReadError(where, expected=expected, found=f"{width} x {height}")
        rows.remember_image(where, cells["ImageID"], (width, height))
        if cells.get("Mask", "").strip():
            runs = (decode_mask(cells["Mask"].strip(), height, width, where), (height, width))
    rows.add(where, cells["ImageID"], cells["LabelName"], box, confidence, runs=runs, flags=flags)


def decimal(cell: str, where: str, column: str) -> float:
    """A number, its decimal point perhaps a comma."""
    is_comma = cell.count(",") == 1 and "." not in cell
    return to_number(cell.replace(",", ".") if is_comma else cell, where, f"a number in {column}")


def is_yes(cell: str, where: str, column: str) -> bool:
    word = cell.strip().lower()
    if word not in YES and word not in NO:
        raise ReadError(where, expected=f"1, 0 or -1 in {column}", found=excerpt(cell))
    return word in YES


def write(annotations: Annotations, path: Path) -> None:
    corners = fractions(annotations, path).boxes.tolist()
    flags = {column: annotations.flag(flag) for column, flag in FLAG_COLUMNS.items()}
    confidence = annotations.confidence
    if confidence is not None:  # predictions carry flags only where they have some
        flags = {column: values for column, values in flags.items() if values.any()}
    rows: list[Sequence[object]] = [
        ["ImageID", "LabelName", *([] if confidence is None else ["Score"]), *CORNERS, *flags]
    ]
    for row, box in enumerate(corners):
        image, label = int(annotations.image[row]), int(annotations.label[row])
        score = [] if confidence is None else [repr(float(confidence[row]))]
        names = [annotations.images.name(image), annotations.labels.name(label)]
        rows.append([*names, *score, *map(repr, box), *(int(values[row]) for values in flags.values())])
    write_atomically(path, csv_text(rows))


HOLDS = frozenset(
    {
        "box apart from its mask",
        "box apart from its polygon",
        "class name",
        "confidence",
        "image folder or suffix",
        "image name",
        *FLAG_COLUMNS.values(),
    }
)
FORMAT = Format(
    name="openimages",
    title="Open Images CSV",
    about="boxes as CSV in fractions; decimal commas are understood; IsGroupOf and the other flags",
    recognise=recognise,
    read=read,
    write=write,
    holds=HOLDS,
    needs=frozenset({"image size"}),
    suffixes=(".csv",),
)
