"""How alike do two classes look? Distances learned from pictures of each class by matching local descriptors (SIFT).

Hemery, Laurent, Emile, Rosenberger, Comparative study of local descriptors for measuring object taxonomy, ICIG 2009.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations_with_replacement, product
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, DataError, ReadError, excerpt
from verite.files import find_path
from verite.formats.sizes import picture
from verite.scene.class_distances import ClassDistances
from verite.settings import check_whole

Points = NDArray[np.float32]  # [n, 128]: what each point of a picture looks like
PICTURES = (".jpg", ".jpeg", ".png", ".bmp", ".ppm", ".pgm", ".tif", ".tiff", ".webp")
FORMATS = ("JPEG", "PNG", "BMP", "PPM", "TIFF", "WEBP")
LARGEST_SIDE = 512  # pictures are made smaller: the share of points that match depends little on size, the time does


def learn_distances(
    pictures: Mapping[str, Iterable[str | PathLike[str]]],
    *,
    pairs: int = 50,
    points: int = 400,
    ratio: float = 0.8,
    seed: int = 0,
) -> ClassDistances:
    """Distances of classes from pictures of each: {"cat": [files…], "dog": [files…]}.

    Up to `pairs` pairs of pictures are drawn for every two classes. The strongest `points` SIFT points of one picture
    are matched with those of the other where the nearest descriptor is nearer than `ratio` times the second (Lowe's
    test); the similarity of two pictures is the share of all their points that found a match, that of two classes the
    mean over the pairs, S. The distance is 1 - S(a, b) / √(S(a, a) · S(b, b)), cut at 0 and 1.
    """
    check_counts(pairs=pairs, points=points)
    if not isinstance(ratio, Real) or not 0 < ratio <= 1:
        raise BadParameter(f"ratio: expected a number above 0 and up to 1, found {excerpt(ratio)}")
    names = list(pictures)
    if len(names) < 2:
        raise DataError(f"pictures: expected at least two classes, found {len(names)}")
    clouds = {name: clouds_of(name, files, points) for name, files in pictures.items()}
    rng = np.random.default_rng(seed)
    similarity = np.zeros((len(names), len(names)))
    for i, j in combinations_with_replacement(range(len(names)), 2):
        mine, theirs = clouds[names[i]], clouds[names[j]]
        drawn = drawn_pairs(len(mine), len(theirs), i == j, pairs, rng)
        values = [shared_points(mine[a], theirs[b], ratio) for a, b in drawn]
        similarity[i, j] = similarity[j, i] = float(np.mean(values))
    return ClassDistances.of(names, distances_of(similarity), source=f"sift-{pairs}x{points}")


def distances_of(similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - similarity, as a share of what the classes have with themselves; nothing in common is 1.

    >>> distances_of(np.array([[0.4, 0.1], [0.1, 0.1]]))
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    own = np.sqrt(np.outer(np.diag(similarity), np.diag(similarity)))
    shares = np.divide(similarity, own, out=np.zeros_like(similarity), where=own > 0)
    out: NDArray[np.float64] = np.clip(1 - shares, 0.0, 1.0)
    np.fill_diagonal(out, 0.0)
    return out


def check_counts(**counts: int) -> None:
    for name, value in counts.items():
        check_whole(name, value, 1)


def drawn_pairs(mine: int, theirs: int, is_same: bool, most: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Different pictures, every pair at most once."""
    every = [(a, b) for a, b in product(range(mine), range(theirs)) if not is_same or a < b]
    if len(every) <= most:
        return every
    return [every[k] for k in np.sort(rng.choice(len(every), most, replace=False))]


def clouds_of(name: str, files: Iterable[str | PathLike[str]], points: int) -> list[Points]:
    """The points of every picture of a class that has enough of them to be compared."""
    found = [cloud for file in files if len(cloud := cloud_of(find_path(file), points)) >= 2]
    if len(found) < 2:
        raise DataError(
            f"pictures of {name!r}: expected at least two with some texture (two SIFT points or more), "
            f"found {len(found)}"
        )
    return found


def cloud_of(path: Path, points: int) -> Points:
    """The descriptors of the strongest points of a picture."""
    cv2 = vision()
    _, descriptors = cv2.SIFT_create(nfeatures=points).detectAndCompute(grey(path), None)
    return np.empty((0, 128), np.float32) if descriptors is None else np.asarray(descriptors[:points], np.float32)


def vision() -> Any:
    """OpenCV, if it is there."""
    try:
        import cv2
    except ImportError:
        raise BadParameter(
            "class distances from pictures: expected OpenCV, found none; pip install 'verite[vision]'"
        ) from None
    return cv2


def grey(path: Path) -> NDArray[np.uint8]:
    """A picture without its colours, read by Pillow, which refuses decompression bombs."""
    with picture(path, FORMATS) as image:
        small = image.convert("L")
        small.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
        return np.asarray(small, dtype=np.uint8)


def shared_points(mine: Points, theirs: Points, ratio: float) -> float:
    """The share of the points of both pictures that have a match in the other."""
    squared = (mine**2).sum(axis=1)[:, None] + (theirs**2).sum(axis=1)[None, :] - 2 * mine @ theirs.T
    distances = np.maximum(squared, 0.0)
    matched = sum(int(distinct(side, ratio).sum()) for side in (distances, distances.T))
    return matched / (len(mine) + len(theirs))


def distinct(squared: NDArray[np.float32], ratio: float) -> NDArray[np.bool_]:
    """Which rows have a nearest column that is clearly nearer than the second (all distances squared)."""
    nearest = np.partition(squared, 1, axis=1)[:, :2]
    found: NDArray[np.bool_] = nearest[:, 0] < ratio**2 * nearest[:, 1]
    return found


def pictures_of(folders: Sequence[str | PathLike[str]]) -> dict[str, list[Path]]:
    """Pictures by class: a folder of pictures is a class, a folder of such folders is several."""
    found: dict[str, list[Path]] = {}
    for given in folders:
        folder = find_path(given)
        if not folder.is_dir():
            raise ReadError(folder, expected="a folder with pictures of one class", found="a file")
        inner = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
        classes = [folder] if own_pictures(folder) or not inner else inner
        for one in classes:
            name = one.resolve().name
            if name in found:
                raise ReadError(one, expected="a folder for each class", found=f"a second one called {name!r}")
            found[name] = own_pictures(one)
            if not found[name]:
                raise ReadError(one, expected=f"pictures ({', '.join(PICTURES[:3])}, …)", found="none")
    return found


def own_pictures(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in PICTURES and p.is_file())
