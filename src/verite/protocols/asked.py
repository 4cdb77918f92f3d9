"""The classes that a model was asked for in each image: it is evaluated on those alone (`--asked`).

A model that is prompted with some classes per image ("find every cat and dog") says nothing about the others: its
predictions and the ground truth of other classes are left out in that image.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, DataError, did_you_mean, excerpt
from verite.files import read_bytes
from verite.settings import Setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations

Rows = tuple[tuple[str, str], ...]


class AskedSetting(Setting[Any, Any]):
    """A table image,class, a column of the images, or rows (image, class); signatures show a digest."""

    kind = "path"

    def validate(self, value: Any) -> Any:
        if isinstance(value, (str, PathLike)):
            return str(value)
        if isinstance(value, Mapping):
            value = [(image, name) for image, names in value.items() for name in names]
        if not isinstance(value, Iterable):
            raise self.refuse("a file, a column or rows (image, class)", excerpt(value))
        rows = [tuple(row) if isinstance(row, Sequence) and not isinstance(row, str) else () for row in value]
        if not all(len(row) == 2 for row in rows):
            raise self.refuse("rows (image, class)", excerpt(value))
        return tuple((str(image), str(name)) for image, name in rows)

    def format(self, value: Any) -> object:
        if value is None:
            return None
        if isinstance(value, tuple):
            data = repr(sorted(value)).encode()
        else:
            path = Path(value)
            data = read_bytes(path) if path.is_file() else value.encode()
        return f"{_core.digest(data):016x}"[:8]


@dataclass(frozen=True, eq=False)
class AskedClasses:
    """Which classes count in which images."""

    table: NDArray[np.bool_]  # [image, class]: positions of the predictions' tables, which extend the ground truth's
    sentence: str

    @classmethod
    def read(cls, given: str | Rows, truth: Annotations, pred: Annotations) -> AskedClasses:
        """Return the classes of each image from a file, a column of the ground truth's images, or rows.

        Raises
        ------
        DataError
            If an image or a class is unknown on both sides.
        BadParameter
            If there is neither such a file nor such a column.
        """
        images, labels = pred.images, pred.labels
        if len(truth.images) > len(images):
            images = truth.images
        table = np.zeros((len(images), len(labels)), dtype=np.bool_)
        where = given if isinstance(given, str) else "asked"
        places = {name: k for k, name in enumerate(labels.all_names)}
        unknown: dict[str, int] = {}
        for image, name in rows_of(given, truth):
            at = images.find(image)
            at = images.index_of_id.get(int(image)) if at is None and image.isdecimal() and len(image) < 19 else at
            if at is None:
                raise DataError(f"{where}: expected images of the ground truth, found {excerpt(image)}")
            if name in places:
                table[at, places[name]] = True
            else:
                unknown[name] = unknown.get(name, 0) + 1
        if unknown and not table.any():
            near = did_you_mean(next(iter(unknown)), places)
            raise DataError(f"{where}: expected classes of either side, found {excerpt(next(iter(unknown)))}{near}")
        silent = int((~table.any(axis=1)).sum())
        sentence = f"evaluated on {int(table.sum()):,} pairs of image and class that were asked for"
        sentence += f"; {silent:,} of {len(images):,} images are left out: nothing was asked there" if silent else ""
        if unknown:
            count = sum(unknown.values())
            listed = ", ".join(map(excerpt, list(unknown)[:3])) + (", …" if len(unknown) > 3 else "")
            sentence += f"; {count:,} questions about classes that neither side has: {listed}"
        return cls(table, sentence)

    def is_asked(self, side: Annotations) -> NDArray[np.bool_]:
        """Return which objects of a side are of a class that was asked for in their image."""
        return np.asarray(self.table[side.image, side.label])

    def images_of(self, k: int | None) -> int:
        """Return in how many images a class was asked for; with None, in how many anything was."""
        return int(self.table.any(axis=1).sum() if k is None else self.table[:, k].sum())


def rows_of(given: str | Rows, truth: Annotations) -> Iterable[tuple[str, str]]:
    """Return the rows (image, class) of a file or of a column of the ground truth's images."""
    if not isinstance(given, str):
        return given
    if Path(given).is_file():
        from verite.csv_files import read_csv

        table = read_csv(given, "the columns image and class", ("image", "class"))
        return [(row["image"], row["class"]) for _, row in table.records()]
    from verite.formats.coco import read_image_records

    records = read_image_records(truth.source)
    known = sorted({key for record in records.values() for key in record})
    if given not in known:
        raise BadParameter(
            f"asked: expected a file image,class or a column of the ground truth's images "
            f"({', '.join(known) or 'no columns'}), found {given!r}{did_you_mean(given, known)}"
        )
    ids = truth.images.ids
    keys = [truth.images.name(i) if ids is None else int(ids[i]) for i in range(len(truth.images))]
    found = []
    for i, key in enumerate(keys):
        value = records.get(key, {}).get(given)
        names = value if isinstance(value, list) else [] if value is None else str(value).split(";")
        found += [(truth.images.name(i), str(name).strip()) for name in names if str(name).strip()]
    return found
