"""Find and load the image files of a dataset.

Names of images come from annotation files and are not trusted: a name that leads out of the folder finds nothing.
"""

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

BESIDE = (".", "images", "JPEGImages", "../images", "../JPEGImages")  # folders searched, seen from the ground truth
TRIED = 50  # names that are tried in each of these folders


class ImageFiles:
    """Image files of a dataset by position: in a given folder and below it, or beside the ground-truth file.

    Attributes
    ----------
    folder
        The folder with the images; None where none was found.
    by_stem
        Files by their names without suffix.
    """

    def __init__(self, truth: Annotations, folder: str | PathLike[str] | None = None) -> None:
        self.images = truth.images
        self.folder = find_folder(truth) if folder is None else Path(folder)
        self.by_stem = {} if self.folder is None else image_files_in(self.folder, is_deep=folder is not None)

    def __getitem__(self, image: int) -> Path | None:
        """Return the file of an image: of its name, else the only one with its stem; None if there is none."""
        if self.folder is None:
            return None
        name = self.images.name(image)
        exact = inside(self.folder, name)
        if exact is not None and exact.suffix.lower() in IMAGE_SUFFIXES and exact.is_file():
            return exact
        found = self.by_stem.get(stem(name), [])
        return found[0] if len(found) == 1 else None


def find_folder(truth: Annotations) -> Path | None:
    """Return the first folder beside the ground-truth file that has one of its images."""
    if not truth.source.path or not len(truth.images):
        return None
    path = Path(truth.source.path)
    home = path if path.is_dir() else path.parent
    names = [truth.images.name(i) for i in range(min(TRIED, len(truth.images)))]
    for folder in (home / part for part in BESIDE):
        if folder.is_dir() and any(has_image(folder, name) for name in names):
            return folder
    return None


def has_image(folder: Path, name: str) -> bool:
    """Return whether a folder has an image of this name; .jpg and .png are tried for a name without suffix."""
    path = inside(folder, name)
    if path is None:
        return False
    try:
        if path.suffix.lower() in IMAGE_SUFFIXES:
            return path.is_file()
        return any((path.parent / f"{path.name}{suffix}").is_file() for suffix in (".jpg", ".png"))
    except OSError:  # a name no file can have
        return False


def inside(folder: Path, name: str) -> Path | None:
    """Return a path inside a folder; None for a name that leads out of it.

    >>> inside(Path("img"), "a/b.jpg").as_posix(), inside(Path("img"), "../b.jpg"), inside(Path("img"), "/b.jpg")
    ('img/a/b.jpg', None, None)
    """
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in name or "\0" in name or not parts.name:
        return None
    return folder / parts


def load_image(path: Path, size: tuple[int, int] | None = None) -> Image.Image:
    """Load an image as RGB, rotated by its EXIF orientation unless only the unrotated one has the annotated size."""
    from PIL import ImageOps

    with open_image(path) as image:
        rotated = ImageOps.exif_transpose(image)
        chosen = image if size is not None and rotated.size != size and image.size == size else rotated
        return chosen.convert("RGB")


def load_pixels(
    path: Path | None, size: tuple[int, int] | None = None, long_side: int | None = None
) -> NDArray[Any] | None:
    """Return an image as [height, width, 3] numbers from 0 to 255; None if there is none or it cannot be read.

    With `long_side` the longer side gets so many pixels: Pillow resamples in a tenth of matplotlib's time.
    """
    from PIL import Image

    if path is None:
        return None
    try:
        image = load_image(path, size)
    except ReadError:
        return None
    scale = 1.0 if long_side is None else long_side / max(image.size)
    sides = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    return np.asarray(image.resize(sides, Image.Resampling.LANCZOS))
