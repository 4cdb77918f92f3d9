"""Class distances learned from images of each class by matching local descriptors (SIFT).

Hemery, Laurent, Emile, Rosenberger, Comparative study of local descriptors for measuring object taxonomy, ICIG 2009.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from itertools import combinations_with_replacement, product
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, DataError, ReadError, excerpt
from verite.files import find_path
from verite.formats.sizes import open_image
from verite.scene.class_distances import ClassDistances
from verite.settings import check_whole

Descriptors = NDArray[np.float32]  # [n, 128]: SIFT descriptors of the keypoints of an image
SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm", ".tif", ".tiff", ".webp")
FORMATS = ("JPEG", "PNG", "BMP", "PPM", "TIFF", "WEBP")
LARGEST_SIDE = 512  # larger images are reduced: the share of matched points depends little on size, the time does


def learn_distances(
    images: Mapping[str, Iterable[str | PathLike[str]]],
    *,
    pairs: int = 50,
    points: int = 400,
    ratio: float = 0.8,
    seed: int = 0,
) -> ClassDistances:
    """Learn class distances from images of each class.

    The similarity of two images is the share of their SIFT points that have a match in the other image (Lowe's ratio
    test), that of two classes the mean S over pairs of images. The distance is 1 - S(a, b) / √(S(a, a) · S(b, b)),
    clipped to 0 and 1.

    Parameters
    ----------
    images : mapping
        The image files of each class, e.g. ``{"cat": [paths…], "dog": [paths…]}``.
    pairs : int, default 50
        Largest number of pairs of images that are sampled for every two classes.
    points : int, default 400
        Number of SIFT points per image, the strongest first.
    ratio : float, default 0.8
        The nearest descriptor must be nearer than `ratio` times the second nearest.
    seed : int, default 0
        Seed of the sampled pairs.

    Returns
    -------
    ClassDistances

    Raises
    ------
    BadParameter
        If a setting is out of its range, or OpenCV is not installed (``pip install 'verite[vision]'``).
    DataError
        If there are fewer than two classes, or a class has fewer than two images with SIFT points.

    Examples
    --------
    >>> learn_distances({"cat": ["a.jpg", "b.jpg"], "dog": ["c.jpg", "d.jpg"]})     # doctest: +SKIP
    """
    for name, value in (("pairs", pairs), ("points", points)):
        check_whole(name, value, 1)
    if not isinstance(ratio, Real) or not 0 < ratio <= 1:
        raise BadParameter(f"ratio: expected a number above 0 and up to 1, found {excerpt(ratio)}")
    names = list(images)
    if len(names) < 2:
        raise DataError(f"images: expected at least two classes, found {len(names)}")
    descriptors: dict[str, list[Descriptors]] = {}
    for name, files in images.items():
        descriptors[name] = [found for file in files if len(found := sift(find_path(file), points)) >= 2]
        if len(descriptors[name]) < 2:
            raise DataError(
                f"images of {name!r}: expected at least two with some texture (two SIFT points or more), "
                f"found {len(descriptors[name])}"
            )
    rng = np.random.default_rng(seed)
    similarity = np.zeros((len(names), len(names)))
    for i, j in combinations_with_replacement(range(len(names)), 2):
        mine, theirs = descriptors[names[i]], descriptors[names[j]]
        chosen = sample_pairs(len(mine), len(theirs), i == j, pairs, rng)
        values = [share_of_matches(mine[a], theirs[b], ratio) for a, b in chosen]
        similarity[i, j] = similarity[j, i] = float(np.mean(values))
    return ClassDistances.of(names, distances_from(similarity), source=f"sift-{pairs}x{points}")


def sample_pairs(mine: int, theirs: int, is_same: bool, most: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Sample pairs of different images without replacement, or return all where they are few enough.

    Parameters
    ----------
    mine
        Number of images of the first class.
    theirs
        Number of images of the second class.
    is_same
        Both are the same images, so that each pair counts once, and no image is paired with itself.
    most
        Largest number of pairs to compare.
    rng
        Source of the sample.

    Returns
    -------
    list[tuple[int, int]]
        Positions of the images of each pair, in order.
    """
    every = [(a, b) for a, b in product(range(mine), range(theirs)) if not is_same or a < b]
    if len(every) <= most:
        return every
    return [every[k] for k in np.sort(rng.choice(len(every), most, replace=False))]


def distances_from(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 - similarity, normalised by the similarity of each class with itself; without any it is 1.

    >>> distances_from(np.array([[0.4, 0.1], [0.1, 0.1]]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    own = np.sqrt(np.outer(np.diag(similarity), np.diag(similarity)))
    shares = np.divide(similarity, own, out=np.zeros_like(similarity), where=own > 0)
    out: NDArray[np.float64] = np.clip(1 - shares, 0.0, 1.0)
    np.fill_diagonal(out, 0.0)
    return out


def sift(path: Path, points: int) -> Descriptors:
    """Return the SIFT descriptors of the strongest points of an image."""
    try:
        cv2: Any = import_module("cv2")
    except ImportError:
        raise BadParameter(
            "class distances from images: expected OpenCV, found none; pip install 'verite[vision]'"
        ) from None
    _, descriptors = cv2.SIFT_create(nfeatures=points).detectAndCompute(read_grey(path), None)
    return np.empty((0, 128), np.float32) if descriptors is None else np.asarray(descriptors[:points], np.float32)


def read_grey(path: Path) -> NDArray[np.uint8]:
    """Read an image as grey levels, reduced to `LARGEST_SIDE`; Pillow refuses decompression bombs."""
    with open_image(path, FORMATS) as image:
        small = image.convert("L")
        small.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
        return np.asarray(small, dtype=np.uint8)


def share_of_matches(mine: Descriptors, theirs: Descriptors, ratio: float) -> float:
    """Return the share of the points of both images that have a match in the other.

    Parameters
    ----------
    mine
        Local descriptors of one image (SIFT), [point, 128].
    theirs
        Those of the other image.
    ratio
        Lowe's ratio: how much nearer the nearest neighbour must be than the second one.

    Returns
    -------
    float
        From 0 to 1; a high share means that both images show similar objects.
    """
    squared = (mine**2).sum(axis=1)[:, None] + (theirs**2).sum(axis=1)[None, :] - 2 * mine @ theirs.T
    distances = np.maximum(squared, 0.0)
    matched = sum(int(distinct(side, ratio).sum()) for side in (distances, distances.T))
    return matched / (len(mine) + len(theirs))


def distinct(squared: NDArray[np.float32], ratio: float) -> NDArray[np.bool_]:
    """Flag the rows whose nearest column passes Lowe's ratio test; distances are squared.

    Parameters
    ----------
    squared
        Squared distances from each point (row) to all points of the other image.
    ratio
        Lowe's ratio, such as 0.8; it is squared here too.

    Returns
    -------
    NDArray[np.bool_]
        A flag per row.
    """
    nearest = np.partition(squared, 1, axis=1)[:, :2]
    found: NDArray[np.bool_] = nearest[:, 0] < ratio**2 * nearest[:, 1]
    return found


def images_by_class(folders: Sequence[str | PathLike[str]]) -> dict[str, list[Path]]:
    """Return image files by class: a folder of images is a class, a folder of such folders is several."""
    found: dict[str, list[Path]] = {}
    for given in folders:
        folder = find_path(given)
        if not folder.is_dir():
            raise ReadError(folder, expected="a folder with images of one class", found="a file")
        inner = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
        classes = [folder] if image_files(folder) or not inner else inner
        for one in classes:
            name = one.resolve().name
            if name in found:
                raise ReadError(one, expected="a folder for each class", found=f"a second one called {name!r}")
            found[name] = image_files(one)
            if not found[name]:
                raise ReadError(one, expected=f"images ({', '.join(SUFFIXES[:3])}, …)", found="none")
    return found


def image_files(folder: Path) -> list[Path]:
    """Return the image files of a folder, sorted."""
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES and p.is_file())
