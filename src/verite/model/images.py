"""The pictures that were annotated: what they are called and how large they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from verite.arrays import np
from verite.errors import BadParameter
from verite.model.regions import frozen
from verite.model.texts import Texts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})


def stem(name: str) -> str:
    """A picture's name without folders and without the suffix of an image file.

    >>> stem("val/0042.jpg"), stem("0042"), stem("v1.2")
    ('0042', '0042', 'v1.2')
    """
    path = PurePosixPath(name.replace("\\", "/"))
    return path.stem if path.suffix.lower() in IMAGE_SUFFIXES else path.name


class Images:
    """Names, file ids and sizes. A size of 0 × 0 is not known; names or ids may be missing, not both."""

    def __init__(
        self,
        names: Sequence[str] | Texts | None = None,
        ids: ArrayLike | None = None,
        *,
        widths: ArrayLike | None = None,
        heights: ArrayLike | None = None,
    ) -> None:
        # Many names that may never be asked for stay as the file has them.
        self.texts = names if names is None or isinstance(names, Texts) else tuple(names)
        self.ids: NDArray[np.int64] | None = frozen(ids, np.int64) if ids is not None else None
        if not self.has_names and self.ids is None:
            raise BadParameter("images: expected names or ids, found neither")
        count = len(self)
        self.widths: NDArray[np.int32] = frozen(widths if widths is not None else np.zeros(count), np.int32)
        self.heights: NDArray[np.int32] = frozen(heights if heights is not None else np.zeros(count), np.int32)
        for what, column in (("ids", self.ids), ("widths", self.widths), ("heights", self.heights)):
            if column is not None and len(column) != count:
                raise BadParameter(f"images: expected {count} {what}, found {len(column)}")

    @property
    def has_names(self) -> bool:
        return self.texts is not None

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        return tuple(self.texts) if self.texts is not None else None

    def __len__(self) -> int:
        if self.texts is not None:
            return len(self.texts)
        assert self.ids is not None
        return len(self.ids)

    def name(self, i: int) -> str:
        """What to print for image i: its name, or its id where the file gives no name."""
        if self.texts is not None:
            return self.texts[i]
        assert self.ids is not None
        return str(self.ids[i])

    @property
    def sized(self) -> bool:
        """Is every picture's size known?"""
        return bool(np.all(self.widths > 0) and np.all(self.heights > 0))

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
