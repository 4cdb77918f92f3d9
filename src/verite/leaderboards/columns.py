"""Which images belong together? A column of the truth's images, of a table, or values that are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import BadParameter, DataError, did_you_mean
from verite.formats.image_records import read_image_records

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations


WORDS = {"shared": "image, label"}  # what else may be said besides a column


def groups_of(truth: Annotations, given: Any, purpose: str) -> NDArray[Any]:
    """The group of each image: a key of the images of a COCO file, `FILE.csv:COLUMN` with a column `image`, or a
    sequence with a value for each image.
    """
    if not isinstance(given, str):
        values = np.asarray(given)
        if len(values) != len(truth.images):
            raise BadParameter(
                f"{purpose}: expected a group for each of {len(truth.images)} images, found {len(values)}"
            )
        return values
    path, _, column = given.rpartition(":")
    if path:
        return read_column(truth, path, column, purpose)
    records = read_image_records(truth.source)
    known = sorted({key for record in records.values() for key in record})
    if given not in known:
        listed = ", ".join(known) or "no columns"
        raise BadParameter(
            f"{purpose}: expected {WORDS.get(purpose, 'images')}, a column of the truth's images ({listed}) or "
            f"FILE.csv:COLUMN, found {given!r}{did_you_mean(given, known)}"
        )
    missing = [truth.images.name(i) for i in range(len(truth.images)) if given not in records.get(key_of(truth, i), {})]
    if missing:
        raise DataError(f"{purpose}: expected {given!r} for every image, found none for {missing[0]!r}")
    return np.array([str(records[key_of(truth, i)][given]) for i in range(len(truth.images))])


def key_of(truth: Annotations, image: int) -> int | str:
    return int(truth.images.ids[image]) if truth.images.ids is not None else truth.images.name(image)


def read_column(truth: Annotations, path: str, column: str, purpose: str) -> NDArray[Any]:
    """A column of a table that names images."""
    import csv

    from verite.files import find_path, read_text

    place = find_path(path)
    rows = list(csv.DictReader(read_text(place).splitlines()))
    head = list(rows[0]) if rows else []
    if "image" not in head or column not in head:
        found = ", ".join(head) or "nothing"
        raise DataError(f"{place}:1: expected the columns image and {column}, found {found}")
    values: dict[int, str] = {}
    for row in rows:
        image = truth.images.find(row["image"])
        if image is not None:
            values[image] = row[column]
    missing = [i for i in range(len(truth.images)) if i not in values]
    if missing:
        name = truth.images.name(missing[0])
        raise DataError(f"{place}: expected a row for every image ({purpose}), found none for {name!r}")
    return np.array([values[i] for i in range(len(truth.images))])
