"""What else is known about images? Columns of a CSV file whose first column is an image's name or id."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from verite.errors import DataError, ReadError, did_you_mean, excerpt
from verite.files import read_text

if TYPE_CHECKING:
    from verite.model.annotations import Annotations


def read_metadata(path: str | Path, truth: Annotations) -> dict[str, list[str | None]]:
    """For each column its value of every image of the truth; None for images that the file does not have."""
    lines = list(csv.reader(StringIO(read_text(Path(path)))))
    if len(lines) < 2 or len(lines[0]) < 2:
        raise ReadError(path, expected="a head, a column of images and others", found=f"{len(lines)} lines")
    head, *rows = lines
    images = truth.images
    columns: dict[str, list[str | None]] = {name: [None] * len(images) for name in head[1:]}
    seen: dict[int, int] = {}
    for number, row in enumerate(rows, 2):
        if not row:
            continue
        if len(row) != len(head):
            raise ReadError(f"{path}:{number}", expected=f"{len(head)} columns as the head", found=str(len(row)))
        at = images.find(row[0])
        if at is None and row[0].lstrip("-").isdecimal():
            at = images.index_of_id.get(int(row[0]))
        if at is None:
            known = list(images.names or ()) or [str(i) for i in images.index_of_id]
            near = did_you_mean(row[0], known[:10_000])
            raise DataError(
                f"{path}:{number}: V213 expected an image of the truth, found {excerpt(row[0])}{near}; remove the "
                "line, or give names or ids as the truth has them"
            )
        if at in seen:
            raise DataError(f"{path}:{number}: expected each image once, found {excerpt(row[0])} as in line {seen[at]}")
        seen[at] = number
        for name, value in zip(head[1:], row[1:], strict=True):
            columns[name][at] = value or None
    return columns
