"""Find and load the image files of a dataset."""

from __future__ import annotations

from os import PathLike
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.errors import ReadError
from verite.formats.sizes import image_files_in, open_image
from verite.model.images import IMAGE_SUFFIXES, stem

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL import Image

    from verite.model.annotations import Annotations

BESIDE = (".", "images", "JPEGImages", "../images", "../JPEGImages")  # where photos are, seen from their annotations
TRIED = 50  # names that are looked for before a folder is left


class Pictures:
    """The photos of a data set: of a folder that was named, or beside the truth's file."""

    def __init__(self, truth: Annotations, folder: str | PathLike[str] | None = None) -> None:
        self.images = truth.images
        self.folder = find_folder(truth) if folder is None else Path(folder)
        self.by_stem = {} if self.folder is None else image_files_in(self.folder, is_deep=folder is not None)

    def __getitem__(self, image: int) -> Path | None:
        """The photo of the image in this position, if there is one."""
        if self.folder is None:
            return None
        name = self.images.name(image)
        exact = below(self.folder, name)
        if exact is not None and exact.suffix.lower() in IMAGE_SUFFIXES and exact.is_file():
            return exact
        found = self.by_stem.get(stem(name), [])
        return found[0] if len(found) == 1 else None


def find_folder(truth: Annotations) -> Path | None:
    """The first folder beside a truth's file that has one of its photos."""
    if not truth.source.path or not len(truth.images):
        return None
    path = Path(truth.source.path)
    home = path if path.is_dir() else path.parent
    names = [truth.images.name(i) for i in range(min(TRIED, len(truth.images)))]
    for folder in (home / part for part in BESIDE):
        if folder.is_dir() and any(is_photo(folder, name) for name in names):
            return folder
    return None


def is_photo(folder: Path, name: str) -> bool:
    """Whether a folder has a photo of this name, a suffix added where the name has none."""
    path = below(folder, name)
    if path is None:
        return False
    try:
        if path.suffix.lower() in IMAGE_SUFFIXES:
            return path.is_file()
        return any((path.parent / f"{path.name}{suffix}").is_file() for suffix in (".jpg", ".png"))
    except OSError:  # a name no file can have
        return False


def below(folder: Path, name: str) -> Path | None:
    """A path inside a folder; none where the name leads elsewhere, by whatever means.

    >>> below(Path("photos"), "a/b.jpg").as_posix(), below(Path("photos"), "../b.jpg"), below(Path("photos"), "/b.jpg")
    ('photos/a/b.jpg', None, None)
    """
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in name or "\0" in name or not parts.name:
        return None
    return folder / parts


def load(path: Path, size: tuple[int, int] | None = None) -> Image.Image:
    """A photo, turned as its EXIF data say unless only the unturned one has the annotated width and height."""
    from PIL import ImageOps

    with open_image(path) as image:
        turned = ImageOps.exif_transpose(image)
        chosen = image if size is not None and turned.size != size and image.size == size else turned
        return chosen.convert("RGB")


def pixels(path: Path | None, size: tuple[int, int] | None = None) -> NDArray[Any] | None:
    """A photo as numbers from 0 to 255; none where there is none, or where it cannot be read."""
    if path is None:
        return None
    try:
        return np.asarray(load(path, size))
    except ReadError:
        return None
