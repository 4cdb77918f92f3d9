"""Open Images boxes: one CSV, a line an object, corners as fractions of the image.

`ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside` is a
truth; columns come in any order and only ImageID, LabelName and the corners must be there. A column `Score` or `Conf`
makes predictions. `Confidence` does so only where no `Is…` column stands beside it and some value is not 1: in a truth
it is 1 or empty and says nothing about an object. Decimal commas and semicolons as separators occur and are read.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from verite.errors import ReadError, did_you_mean, excerpt
from verite.files import read_text, write_atomically
from verite.formats.format import Format, Look, Options
from verite.formats.rows import Rows
from verite.formats.sizes import fractions
from verite.formats.words import to_number
from verite.model.annotations import Annotations

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
COLUMNS = (*REQUIRED, *FLAG_COLUMNS, *SCORES, "Confidence")
YES, NO = ("1", "1.0", "true"), ("0", "0.0", "false", "", "-1", "-1.0")  # -1: nobody looked
NO_CONFIDENCE = ("", "1", "1.0")


def recognise(look: Look) -> str | None:
    files = [look.path] if not look.is_folder else look.with_suffix(".csv")
    if len(files) != 1:
        return None
    header = Look(files[0]).head.partition("\n")[0]
    known = {name for name in columns_of(cells(header, separator_of(header))) if name in REQUIRED}
    return f"a CSV file with the columns {', '.join(REQUIRED)}" if known == set(REQUIRED) else None


def separator_of(header: str) -> str:
    return max(",;\t", key=header.count)


def cells(line: str, separator: str) -> list[str]:
    """The cells of a header line; none where it is no CSV."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        return []


def columns_of(header: list[str]) -> dict[str, int]:
    """Where the columns we know are, whatever the case of their names."""
    known = {name.casefold(): name for name in COLUMNS}
    found: dict[str, int] = {}
    for i, cell in enumerate(header):
        if (key := cell.strip().casefold()) in known:
            found.setdefault(known[key], i)
    return found


def read(path: Path, options: Options) -> Annotations:
    file = the_file(path)
    lines = lines_of(file)
    number, header = next(lines, (1, []))
    columns = columns_of(header)
    for name in REQUIRED:
        if name not in columns:
            found = excerpt(",".join(header)) if header else "an empty file"
            others = (cell.strip() for i, cell in enumerate(header) if i not in columns.values())
            remedy = did_you_mean(name, others).removeprefix("; ")
            raise ReadError(f"{file}:{number}", expected=f"a column {name}", found=found, remedy=remedy)
    again = next((c for i, c in enumerate(header) if i not in columns.values() and columns_of([c])), None)
    if again is not None:
        raise ReadError(f"{file}:{number}", expected="each column once", found=f"a second {excerpt(again)}")
    body = list(lines)
    rows = Rows(path, options)
    score, why = score_column(columns, body)
    if score is None and has_confidences(columns, body):
        rows.notes.append("Confidence left out: beside IsGroupOf and the like it is the annotators', not a detector's")
    for number, line in body:
        where = f"{file}:{number}"
        if len(line) != len(header):
            raise ReadError(where, expected=f"{len(header)} cells as in the header", found=f"{len(line)}")
        add_line(rows, where, {name: line[i] for name, i in columns.items()}, score)
    return rows.annotations("openimages", layout="xyxy", coords="rel", why=why)


def the_file(path: Path) -> Path:
    """The CSV file itself, or the only one in a folder."""
    files = Look(path).with_suffix(".csv") if path.is_dir() else [path]
    if len(files) != 1:
        raise ReadError(path, expected="one CSV file", found=str(len(files)), remedy="name the file")
    return files[0]


def lines_of(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines with their numbers, those that are empty left out."""
    text = read_text(file)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator_of(text.partition("\n")[0]), strict=True)
    try:
        for line in reader:
            if line:
                yield reader.line_num, line
    except csv.Error as error:
        raise ReadError(f"{file}:{reader.line_num}", expected="CSV", found=str(error)) from None


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
    rows.add(where, cells["ImageID"], cells["LabelName"], box, confidence, flags=flags)


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
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["ImageID", "LabelName", *([] if confidence is None else ["Score"]), *CORNERS, *flags])
    for row, box in enumerate(corners):
        image, label = int(annotations.image[row]), int(annotations.label[row])
        score = [] if confidence is None else [repr(float(confidence[row]))]
        names = [annotations.images.name(image), annotations.labels.name(label)]
        writer.writerow([*names, *score, *map(repr, box), *(int(values[row]) for values in flags.values())])
    write_atomically(path, text.getvalue())


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
FORMAT = Format("openimages", "Open Images CSV", recognise, read, write, HOLDS)
