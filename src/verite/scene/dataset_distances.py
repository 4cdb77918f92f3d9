"""Class distances from data: colour histograms of a dataset, supercategories, feature vectors, a confusion matrix.

None of these needs an extra package. Distances run from 0 to 1, as :class:`ClassDistances` has them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from verite.csv_files import lines_of
from verite.errors import DataError, ReadError, excerpt, spell_option
from verite.files import find_path, read_text
from verite.formats.json_documents import decode
from verite.formats.sizes import image_files_in, open_image
from verite.formats.volumes import read_array
from verite.model.annotations import Annotations
from verite.model.images import stem
from verite.scene.class_distances import ClassDistances
from verite.scene.taxonomy import Taxonomy

Floats = NDArray[np.float64]
BINS = 4  # per colour channel: 64 in all
MOST_CROPS = 100  # objects per class whose pixels are counted, the first of the file


def from_dataset(truth: Annotations, images: str | PathLike[str]) -> ClassDistances:
    """Make class distances from the pixels of annotated objects.

    Every object is cropped by its box. The colour histogram of a class (4 × 4 × 4 bins) is the mean over its objects,
    and the distance of two classes is the Hellinger distance of their histograms.

    Parameters
    ----------
    truth : Annotations
        Ground truth with boxes, polygons or masks.
    images : path
        Folder with the images.

    Returns
    -------
    ClassDistances

    Raises
    ------
    DataError
        If a class has no object whose image was found.
    """
    files = image_files_in(find_path(images), is_deep=True)
    sums: dict[str, Floats] = {}
    counts: Counter[str] = Counter()
    ignored = truth.ignored
    for image in np.unique(truth.image).tolist():
        found = files.get(stem(truth.images.name(image)), [])
        if not found:
            continue
        with open_image(found[0]) as opened:
            pixels = np.asarray(opened.convert("RGB"))
        height, width = pixels.shape[:2]
        for row in np.flatnonzero((truth.image == image) & ~ignored).tolist():
            name = truth.labels.name(int(truth.label[row]))
            scale = np.array([width, height, width, height]) if truth.unit == "rel" else 1.0
            x1, y1, x2, y2 = np.rint(truth.regions.boxes[row] * scale).astype(np.int64)
            crop = pixels[max(0, y1) : max(0, y2), max(0, x1) : max(0, x2)]
            if crop.size and counts[name] < MOST_CROPS:
                sums[name] = sums.get(name, np.zeros(BINS**3)) + colour_histogram(crop)
                counts[name] += 1
    names = [name for i, name in enumerate(truth.labels.all_names) if ((truth.label == i) & ~ignored).any()]
    absent = [name for name in names if not counts[name]]
    if absent:
        raise DataError(f"{images}: expected an image of every class, found none for {excerpt(absent[0])}")
    return from_histograms({name: sums[name] for name in names}, source=f"colours-{BINS**3}")


def colour_histogram(pixels: NDArray[np.uint8]) -> Floats:
    """Return the shares of the colours of an image, in 4 × 4 × 4 bins.

    >>> colour_histogram(np.zeros((2, 2, 3), dtype=np.uint8))[:2]
    array([1., 0.])
    """
    codes = (pixels.reshape(-1, 3) // (256 // BINS)).astype(np.int64) @ np.array([BINS**2, BINS, 1])
    found: Floats = np.bincount(codes, minlength=BINS**3) / len(codes)
    return found


def from_histograms(histograms: Mapping[str, ArrayLike], *, source: str = "histograms") -> ClassDistances:
    """Make class distances from a histogram per class, such as colours or a bag of visual words.

    The distance is Hellinger's: √(1 - Σ √(p q)) of the normalised histograms.

    Parameters
    ----------
    histograms : mapping
        Counts or shares of each class, all of the same length.
    source : str, default "histograms"
        Where they come from, part of the signature.

    Returns
    -------
    ClassDistances

    Examples
    --------
    >>> from_histograms({"cat": [1, 0], "dog": [1, 0], "car": [0, 5]})["cat", "car"]
    1.0
    """
    names = list(histograms)
    counts = np.array([np.asarray(histograms[name], dtype=np.float64) for name in names])
    if counts.ndim != 2 or (counts < 0).any() or not (counts.sum(axis=1) > 0).all():
        raise DataError("histograms: expected counts of equal length, none negative and not all 0")
    roots = np.sqrt(counts / counts.sum(axis=1, keepdims=True))
    matrix = np.sqrt(np.clip(1 - roots @ roots.T, 0.0, 1.0))
    np.fill_diagonal(matrix, 0.0)
    return ClassDistances.of(names, (matrix + matrix.T) / 2, source=source)


def from_features(classes: Sequence[str], features: ArrayLike, *, source: str = "features") -> ClassDistances:
    """Make class distances from feature vectors of objects: those of the class means, divided by the largest.

    Parameters
    ----------
    classes : sequence of str
        The class of each vector.
    features : array [object, feature]
        The vectors, such as embeddings of a network.
    source : str, default "features"
        Where they come from, part of the signature.

    Returns
    -------
    ClassDistances

    Examples
    --------
    >>> d = from_features(["cat", "cat", "dog", "car"], [[0, 0], [0, 2], [0, 2], [4, 1]])
    >>> d["cat", "dog"], d["cat", "car"]
    (0.2425..., 0.9701...)
    """
    vectors = np.asarray(features, dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(classes) or not np.isfinite(vectors).all():
        raise DataError(
            f"features: expected one finite vector per class name, found {vectors.shape} for {len(classes)}"
        )
    names = sorted(set(classes))
    of_class = np.array([names.index(name) for name in classes])
    means = np.stack([vectors[of_class == i].mean(axis=0) for i in range(len(names))])
    matrix = np.linalg.norm(means[:, None] - means[None], axis=2)
    return ClassDistances.of(names, matrix / max(float(matrix.max()), 1e-300), source=source)


def read_features(path: str | PathLike[str]) -> ClassDistances:
    """Read feature vectors: a CSV with the class first, or a .npy array with classes in a .txt of the same name.

    Raises
    ------
    ReadError
        If a row has another number of values, or the names are missing.
    """
    file = find_path(path)
    if file.suffix.lower() == ".npy":
        names_file = file.with_suffix(".txt")
        if not names_file.is_file():
            raise ReadError(file, expected=f"the class of each row in {names_file.name}", found="no such file")
        classes = [line.strip() for line in read_text(names_file).split("\n") if line.strip()]
        vectors = read_array(file)
        if vectors.ndim != 2 or len(vectors) != len(classes):
            raise ReadError(file, expected=f"{len(classes)} rows, one per class name", found=str(vectors.shape))
        return from_features(classes, vectors, source=f"features-{file.stem}")
    rows = [(number, row) for number, row in lines_of(file) if any(row)]
    if rows and not is_numeric(rows[0][1][1:]):
        rows = rows[1:]  # a header
    values: list[list[float]] = []
    classes = []
    for number, (name, *cells) in rows:
        if not is_numeric(cells) or (values and len(cells) != len(values[0])):
            raise ReadError(f"{file}:{number}", expected="a class and as many numbers as before", found=excerpt(cells))
        classes.append(name.strip())
        values.append([float(cell) for cell in cells])
    if not values:
        raise ReadError(file, expected="rows of a class and its features", found="none")
    return from_features(classes, values, source=f"features-{file.stem}")


def is_numeric(cells: Sequence[str]) -> bool:
    """Return whether there are cells and all of them are numbers."""
    try:
        return len([float(cell) for cell in cells]) > 0
    except ValueError:
        return False


def from_confusion(names: Sequence[str], counts: ArrayLike, *, source: str = "confusion") -> ClassDistances:
    """Make class distances from a confusion matrix: classes that are confused half of the time have distance 0.

    The distance is 1 - (share of a predicted as b + share of b predicted as a), at least 0.

    Parameters
    ----------
    names : sequence of str
        The classes.
    counts : array [class, class]
        Objects by true class (rows) and predicted class (columns).
    source : str, default "confusion"
        Where they come from, part of the signature.

    Returns
    -------
    ClassDistances

    Examples
    --------
    >>> from_confusion(["cat", "dog", "car"], [[8, 2, 0], [1, 9, 0], [0, 0, 5]])["cat", "dog"]
    0.7
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.shape != (len(names), len(names)) or (table < 0).any() or not np.isfinite(table).all():
        raise DataError(f"confusion: expected counts of {len(names)} × {len(names)} classes, found {table.shape}")
    totals = table.sum(axis=1, keepdims=True)
    shares = np.divide(table, totals, out=np.zeros_like(table), where=totals > 0)
    matrix = np.round(np.clip(1 - shares - shares.T, 0.0, 1.0), 12)
    np.fill_diagonal(matrix, 0.0)
    return ClassDistances.of(names, matrix, source=source)


def read_square(path: str | PathLike[str]) -> tuple[list[str], Floats]:
    """Read a square table of numbers with class names in the header and the first column; more columns are left out."""
    file = find_path(path)
    rows = [(number, row) for number, row in lines_of(file) if any(row)]
    if len(rows) < 2:
        raise ReadError(file, expected="a header with class names and a row for each class", found="no such rows")
    head = [name.strip() for name in rows[0][1][1:]]
    found: dict[str, list[float]] = {}
    for number, (name, *cells) in rows[1:]:
        if len(cells) != len(head) or not is_numeric(cells):
            raise ReadError(f"{file}:{number}", expected=f"{len(head)} numbers", found=excerpt(cells))
        found[name.strip()] = [float(cell) for cell in cells]
    names = [name for name in head if name in found]
    if len(names) < 2:
        raise ReadError(file, expected="classes of the header in the first column", found=excerpt(list(found)))
    at = [head.index(name) for name in names]
    return names, np.array([[found[name][i] for i in at] for name in names])


def from_similarity(names: Sequence[str], matrix: ArrayLike, *, source: str = "similarity") -> ClassDistances:
    """Make class distances from similarities: 1 - S, with 1 for a class and itself.

    Parameters
    ----------
    names
        Classes, in the order of rows and columns.
    matrix
        Similarities from 0 to 1, such as cosines of class embeddings.
    source
        What signatures call these distances.

    Examples
    --------
    >>> from_similarity(["cat", "dog"], [[1, 0.75], [0.75, 1]])["cat", "dog"]
    0.25
    """
    return ClassDistances.of(names, 1 - np.asarray(matrix, dtype=np.float64), source=source)


def from_supercategories(path: str | PathLike[str]) -> ClassDistances:
    """Make class distances from the supercategories of a COCO file: path lengths in a taxonomy of two levels.

    Raises
    ------
    ReadError
        If there are no supercategories.
    """
    file = find_path(path)
    try:
        document = decode(file, Any)
        categories = [(str(c["name"]), str(c.get("supercategory") or "")) for c in document["categories"]]
    except (KeyError, TypeError):
        categories = []
    if not any(above for _, above in categories):
        remedy = f"give {spell_option('images')} for distances from colours, or a taxonomy"
        raise ReadError(file, expected="a COCO file with supercategories", found="none", remedy=remedy)
    parents: dict[str, str | None] = {f"({above})": None for _, above in categories if above}
    parents |= {name: f"({above})" if above else None for name, above in categories}
    return ClassDistances.from_taxonomy(Taxonomy(parents), source=f"supercategories-{file.stem}")


def edit_distance(first: Taxonomy, second: Taxonomy) -> int:
    """Return the graph edit distance of two taxonomies: nodes to add, to remove, and to move to another parent.

    Nodes are named, so that the shortest sequence of edits is known without search.

    Examples
    --------
    >>> a = Taxonomy({"animal": None, "cat": "animal", "dog": "animal"})
    >>> edit_distance(a, Taxonomy({"animal": None, "pet": "animal", "cat": "pet", "dog": "animal"}))
    2
    """
    mine, theirs = first.parents, second.parents
    shared = mine.keys() & theirs.keys()
    return len(mine.keys() ^ theirs.keys()) + sum(mine[name] != theirs[name] for name in shared)
