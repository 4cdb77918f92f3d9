"""The pictures that were annotated: what they are called and how large they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias

from verite import _core
from verite.arrays import np
from verite.errors import BadParameter, excerpt

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from verite.model.annotations import Annotations


Ids: TypeAlias = "NDArray[np.int64]"

Positions: TypeAlias = "NDArray[np.int32]"  # -1: not in the table

# A direct look-up table is used as long as it is not much longer than what is looked up.
SPREAD = 16

SMALL = 1 << 20


def positions_in(table: Ids, ids: Ids) -> Positions:
    """The position of each id in a table of distinct ids; -1 where it is not there.

    >>> positions_in(np.array([7, 3]), np.array([3, 7, 5]))
    array([ 1,  0, -1], dtype=int32)
    """
    return _core.find_positions(ids, table)[0]


def is_dense(span: int, count: int) -> bool:
    return span < max(SMALL, SPREAD * count)


IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})

SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "val"),
    **dict.fromkeys(("test", "testing"), "test"),
    **{word: word for word in ("trainval", "minival", "test-dev", "testdev", "test-challenge")},
}  # folders that are one part of a dataset, and which


def stem(name: str) -> str:
    """A picture's name without folders and without the suffix of an image file.

    >>> stem("val/0042.jpg"), stem("0042"), stem("v1.2")
    ('0042', '0042', 'v1.2')
    """
    path = PurePosixPath(name.replace("\\", "/"))
    return path.stem if path.suffix.lower() in IMAGE_SUFFIXES else path.name


def path_parts(name: str) -> tuple[str, ...]:
    """The folders of an image's name and its stem.

    >>> path_parts("val/0042.jpg"), path_parts("C:\\\\photos\\\\0042")
    (('val', '0042'), ('C:', 'photos', '0042'))
    """
    *folders, _ = name.replace("\\", "/").split("/")
    return (*(folder for folder in folders if folder not in ("", ".")), stem(name))


def split_of(folder: str) -> str | None:
    """The part of a dataset that a folder is named after, if it is.

    >>> split_of("val2017"), split_of("VisDrone2019-DET-train"), split_of("test-dev"), split_of("images")
    ('val', 'train', 'test-dev', None)
    """
    name = folder.lower().rstrip("0123456789").rstrip("_-")
    return SPLITS.get(name) or SPLITS.get(re.split(r"[\s_-]", name)[-1])


class Images:
    """Names, file ids and sizes. A size of 0 × 0 is not known; names or ids may be missing, not both."""

    def __init__(
        self,
        names: Sequence[str] | None = None,
        ids: ArrayLike | None = None,
        *,
        widths: ArrayLike | None = None,
        heights: ArrayLike | None = None,
    ) -> None:
        from verite.model.ragged import freeze_whole

        if names is None and ids is None:
            raise BadParameter("images: expected names or ids, found neither")
        given = (("ids", ids, "int64"), ("widths", widths, "int32"), ("heights", heights, "int32"))
        columns = [None if v is None else freeze_whole(v, kind, f"images: {what}") for what, v, kind in given]
        odd = next((name for name in names or () if not isinstance(name, str)), "")
        if odd != "":
            raise BadParameter(f"images: expected names, found {excerpt(odd)}")
        try:
            self.table = _core.Images(names, *columns)
        except ValueError as error:
            raise BadParameter(str(error)) from None

    @classmethod
    def over(cls, table: _core.Images) -> Images:
        """Of a table that is in the core already."""
        made = object.__new__(cls)
        made.table = table
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Images.over, (self.table,)

    def __copy__(self) -> Images:
        return self

    def __deepcopy__(self, memo: object) -> Images:
        return self

    @property
    def has_names(self) -> bool:
        return self.table.has_names

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        return tuple(self.table.names()) if self.has_names else None

    @cached_property
    def ids(self) -> NDArray[np.int64] | None:
        return self.table.ids

    @cached_property
    def widths(self) -> NDArray[np.int32]:
        return self.table.widths

    @cached_property
    def heights(self) -> NDArray[np.int32]:
        return self.table.heights

    def __len__(self) -> int:
        return len(self.table)

    def name(self, i: int) -> str:
        """What to print for image i: its name, or its id where the file gives no name."""
        return self.table.name(i)

    @property
    def sized(self) -> bool:
        """Is the size of every image known?"""
        return self.table.sized

    @cached_property
    def index_of_name(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names or ())}

    @cached_property
    def index_of_stem(self) -> dict[str, int]:
        """Index by stem; a stem that occurs twice is left out, because it names no single image."""
        index: dict[str, int] = {}
        for i, name in enumerate(self.names or ()):
            key = stem(name)
            index[key] = i if key not in index else -1
        return {key: i for key, i in index.items() if i >= 0}

    @cached_property
    def index_of_id(self) -> dict[int, int]:
        return {int(id): i for i, id in enumerate(self.ids)} if self.ids is not None else {}

    def find(self, name: str) -> int | None:
        """The image of this name, folders and suffix aside if need be."""
        found = self.index_of_name.get(name)
        return found if found is not None else self.index_of_stem.get(stem(name))

    def __repr__(self) -> str:
        return f"Images({len(self)})"


def known_images(truth: Annotations, pred: Annotations) -> Images:
    """The images of both; predictions that are aligned may know more of them than the truth."""
    return pred.images if len(pred.images) > len(truth.images) else truth.images
