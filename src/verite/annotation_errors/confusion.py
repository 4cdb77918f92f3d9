"""Confusion matrices of wrong annotations: which class an object has if its annotated class is wrong.

Row r holds P(true class | annotated class r, and the annotation is wrong). The file is a table `recorded,CLASS…` with
one row per annotated class, for `--confusion` of `verite rank` and `verite leaderboard` alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import DataError, ReadError, did_you_mean, excerpt

Floats = NDArray[np.float64]


def parse_confusion(
    path: Path,
    head: Sequence[str],
    rows: Iterable[tuple[str, Sequence[str]]],
    classes: Sequence[str],
    *,
    is_complete: bool,
) -> Floats:
    """Return the numbers of a table `recorded,CLASS…` as a matrix in the order of `classes`.

    Parameters
    ----------
    path, head, rows
        The file, its header, and for every row its place in the file (for messages) and its cells.
    classes
        The classes of the ground truth.
    is_complete
        Whether every class needs a row and a column; others are then skipped. If not, missing rows and columns are 0,
        and classes that the ground truth does not have are refused.
    """
    if list(head[:1]) != ["recorded"]:
        raise ReadError(f"{path}:1", expected="the header recorded,CLASS,CLASS…", found=excerpt(",".join(head)))
    index = {name: i for i, name in enumerate(classes)}
    matrix = np.zeros((len(classes), len(classes)))
    seen = set()
    for where, row in rows:
        unknown = next((name for name in (row[0], *head[1:]) if name not in index), None)
        if unknown is not None and not is_complete:
            found = excerpt(unknown) + did_you_mean(unknown, classes)
            raise ReadError(where, expected=f"one of {len(classes)} classes", found=found)
        if row[0] not in index:
            continue
        seen.add(row[0])
        for name, cell in zip(head[1:], row[1:], strict=True):
            try:
                value = float(cell or (cell if is_complete else 0))
            except ValueError:
                value = -1.0
            if not 0 <= value < inf and name in index:
                found = excerpt(",".join(row))
                raise ReadError(where, expected="a number from 0 up for every class", found=found)
            if name in index:
                matrix[index[row[0]], index[name]] = value
    absent = next((name for name in classes if name not in seen or name not in head[1:]), None)
    if absent is not None and is_complete:
        raise ReadError(path, expected=f"a row and a column for label {absent!r}", found="none")
    return matrix


def check_confusion(matrix: Any, classes: Sequence[str]) -> Floats:
    """Return a confusion matrix with rows that add up to 1; refuse one with a diagonal or other sums.

    Sums may be off by 1e-6, the rounding of printed numbers.
    """
    values = np.asarray(matrix, dtype=np.float64)
    if values.shape != (len(classes), len(classes)):
        raise DataError(f"confusion: expected {len(classes)} rows and columns, one per label, found {values.shape}")
    for i, name in enumerate(classes):
        if not np.all(values[i] >= 0) or values[i, i] != 0:
            raise DataError(f"confusion: expected shares from 0 up, and 0 for {name!r} itself, in the row of {name!r}")
        if abs(values[i].sum() - 1) > 1e-6:
            raise DataError(f"confusion: expected the row of {name!r} to add up to 1, found {values[i].sum():g}")
    scaled: Floats = values / values.sum(axis=1, keepdims=True)
    return scaled
