"""Importance of ground-truth objects: weights from a table, by class, by image or by the id of an annotation.

An object of weight 3 counts as three objects of weight 1: missing it costs three times as much.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isfinite
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.csv_files import lines_of
from verite.errors import BadParameter, ReadError, excerpt
from verite.files import find_path
from verite.model.annotations import Annotations

Floats = NDArray[np.float64]
KEYS = ("image", "class", "id")
EXPECTED = "the column weight and one or more of image, class and id"


def object_weights(given: str | PathLike[str] | Iterable[float], truth: Annotations) -> Floats:
    """Return the weight of each ground-truth object.

    Parameters
    ----------
    given : path or iterable of float
        A table with the column ``weight`` and one or more of ``image``, ``class`` and ``id`` (the id of an
        annotation), or one weight per object. A row applies to all objects that agree with its cells; empty cells
        agree with every object, later rows replace earlier ones, and objects without a row have weight 1.
    truth : Annotations
        The ground truth.

    Returns
    -------
    array of float, shape (n,)

    Raises
    ------
    ReadError
        If the table cannot be read, or a row applies to no object.
    BadParameter
        If there are not as many weights as objects, or one is negative.

    Examples
    --------
    >>> truth = Annotations.of(["a", "a"], ["cat", "dog"], [[0, 0, 4, 4], [5, 5, 9, 9]])
    >>> object_weights([1, 3], truth)
    array([1., 3.])
    """
    if not isinstance(given, (str, PathLike)):
        try:
            weights = np.array(list(given), dtype=np.float64)
        except (TypeError, ValueError):
            raise BadParameter(
                f"importance: expected a file or one weight per object, found {excerpt(given)}"
            ) from None
        if weights.shape != (len(truth),):
            raise BadParameter(f"importance: expected {len(truth)} weights, one per object, found {len(weights)}")
        if not (np.isfinite(weights) & (weights >= 0)).all():
            raise BadParameter("importance: expected weights from 0 up, found a negative or infinite one")
        return weights
    file = find_path(given)
    rows = [(number, [cell.strip() for cell in row]) for number, row in lines_of(file) if any(row)]
    head = rows[0][1] if rows else []
    keys = [name for name in head if name in KEYS]
    if "weight" not in head or not keys or len(head) != len(keys) + 1 or len(set(head)) < len(head):
        raise ReadError(file, expected=EXPECTED, found=excerpt(",".join(head)))
    if "id" in keys and truth.ids is None:
        raise ReadError(file, expected="image or class", found="id, but the ground truth has no ids of annotations")
    columns: dict[str, NDArray[Any]] = {
        "image": np.array([truth.images.name(int(i)) for i in truth.image], dtype=object),
        "class": np.array([truth.labels.name(int(i)) for i in truth.label], dtype=object),
        "id": np.array([str(i) for i in (truth.ids if truth.ids is not None else ())], dtype=object),
    }
    found = np.ones(len(truth))
    for number, row in rows[1:]:
        where = f"{file}:{number}"
        if len(row) != len(head):
            raise ReadError(where, expected=f"{len(head)} cells", found=str(len(row)))
        cell = dict(zip(head, row, strict=True))
        try:
            weight = float(cell["weight"])
        except ValueError:
            weight = inf
        if not isfinite(weight) or weight < 0:
            raise ReadError(where, expected="a weight from 0 up", found=excerpt(cell["weight"]))
        chosen = np.ones(len(truth), dtype=np.bool_)
        for key in keys:
            if cell[key]:
                chosen &= columns[key] == cell[key]
        if not chosen.any():
            raise ReadError(where, expected="an object of the ground truth", found=excerpt(",".join(row)))
        found[chosen] = weight
    return found
