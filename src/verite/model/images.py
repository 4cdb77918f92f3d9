"""The images of a dataset: their names, ids and sizes."""

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
    from verite.model.sequences import Sequences


Ids: TypeAlias = "NDArray[np.int64]"

Positions: TypeAlias = "NDArray[np.int32]"  # -1: not in the table


def positions_in(table: Ids, ids: Ids) -> Positions:
    """Return the position of each id in a table of distinct ids; -1 where it is not there.

    Parameters
    ----------
    table
        Distinct ids, in any order.
    ids
        The ids to look up; they may repeat.

    Examples
    --------
    >>> positions_in(np.array([7, 3]), np.array([3, 7, 5]))
    array([ 1,  0, -1], dtype=int32)
    """
    return _core.find_positions(ids, table)[0]


IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})

SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "val"),
    **dict.fromkeys(("test", "testing"), "test"),
    **{word: word for word in ("trainval", "minival", "test-dev", "testdev", "test-challenge")},
}  # folders that are one part of a dataset, and which


def stem(name: str) -> str:
    """Return an image's name without folders and without the suffix of an image file.

    >>> stem("val/0042.jpg"), stem("0042"), stem("v1.2")
    ('0042', '0042', 'v1.2')
    """
    path = PurePosixPath(name.replace("\\", "/"))
    return path.stem if path.suffix.lower() in IMAGE_SUFFIXES else path.name


def path_parts(name: str) -> tuple[str, ...]:
    """Return the folders of an image's name and its stem.

    >>> path_parts("val/0042.jpg"), path_parts("C:\\\\photos\\\\0042")
    (('val', '0042'), ('C:', 'photos', '0042'))
    """
    *folders, _ = name.replace("\\", "/").split("/")
    return (*(folder for folder in folders if folder not in ("", ".")), stem(name))


def split_of(folder: str) -> str | None:
    """Return the split of a dataset (train, val, test …) after which a folder is named, if any.

    >>> split_of("val2017"), split_of("VisDrone2019-DET-train"), split_of("test-dev"), split_of("images")
    ('val', 'train', 'test-dev', None)
    """
    name = folder.lower().rstrip("0123456789").rstrip("_-")
    return SPLITS.get(name) or SPLITS.get(re.split(r"[\s_-]", name)[-1])


class Images:
    """The images of a dataset: names, ids and sizes; of videos, the sequence and frame number of each.

    Parameters
    ----------
    names : sequence of str, optional
        File names. Either names or ids must be given.
    ids : array-like of int, optional
        Ids, such as COCO's.
    widths, heights : array-like of int, optional
        Sizes in pixels; 0 where a size is not known.
    sequences : Sequences, optional
        Sequence and frame number of each image, where a file states them. Default: read off the names when needed.

    Raises
    ------
    BadParameter
        If neither names nor ids are given, a name or id occurs twice, or the lengths differ.

    Examples
    --------
    >>> images = Images(["a.jpg", "b.jpg"], widths=[640, 320], heights=[480, 240])
    >>> len(images), images.find("val/b.png"), images.sized
    (2, 1, True)
    """

    def __init__(
        self,
        names: Sequence[str] | None = None,
        ids: ArrayLike | None = None,
        *,
        widths: ArrayLike | None = None,
        heights: ArrayLike | None = None,
        sequences: Sequences | None = None,
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
        if sequences is not None and len(sequences.frame) != len(self.table):
            raise BadParameter(
                f"sequences: expected one frame per image ({len(self.table)}), found {len(sequences.frame)}"
            )
        self.sequences = sequences

    @classmethod
    def over(cls, table: _core.Images, sequences: Sequences | None = None) -> Images:
        """Return images over a table that is in the core already."""
        made = object.__new__(cls)
        made.table, made.sequences = table, sequences
        return made

    def with_sequences(self, sequences: Sequences) -> Images:
        """Return the same images as frames of videos."""
        return Images.over(self.table, sequences)

    def __reduce__(self) -> tuple[Any, ...]:
        return Images.over, (self.table, self.sequences)

    def __copy__(self) -> Images:
        return self

    def __deepcopy__(self, memo: object) -> Images:
        return self

    @property
    def has_names(self) -> bool:
        """Whether images have names, rather than ids alone."""
        return self.table.has_names

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """File names; None if there are only ids."""
        return tuple(self.table.names()) if self.has_names else None

    @cached_property
    def ids(self) -> NDArray[np.int64] | None:
        """Ids; None if there are only names."""
        return self.table.ids

    @cached_property
    def widths(self) -> NDArray[np.int32]:
        """Widths in pixels; 0 where not known."""
        return self.table.widths

    @cached_property
    def heights(self) -> NDArray[np.int32]:
        """Heights in pixels; 0 where not known."""
        return self.table.heights

    def __len__(self) -> int:
        return len(self.table)

    def name(self, i: int) -> str:
        """Return the name of image i, or its id if there are no names."""
        return self.table.name(i)

    @property
    def sized(self) -> bool:
        """Whether the size of every image is known."""
        return self.table.sized

    @cached_property
    def index_of_name(self) -> dict[str, int]:
        """Position of each name."""
        return {name: i for i, name in enumerate(self.names or ())}

    @cached_property
    def index_of_stem(self) -> dict[str, int]:
        """Position of each stem; a stem that occurs twice is left out, because it names no single image."""
        index: dict[str, int] = {}
        for i, name in enumerate(self.names or ()):
            key = stem(name)
            index[key] = i if key not in index else -1
        return {key: i for key, i in index.items() if i >= 0}

    @cached_property
    def index_of_id(self) -> dict[int, int]:
        """Position of each id."""
        return {int(id): i for i, id in enumerate(self.ids)} if self.ids is not None else {}

    def find(self, name: str) -> int | None:
        """Return the position of an image by its name, or by its stem if that is unique; None if there is none."""
        found = self.index_of_name.get(name)
        return found if found is not None else self.index_of_stem.get(stem(name))

    def __repr__(self) -> str:
        return f"Images({len(self)})"


def known_images(truth: Annotations, pred: Annotations) -> Images:
    """Return the images of both sides; aligned predictions may have more of them than the ground truth."""
    return pred.images if len(pred.images) > len(truth.images) else truth.images
