"""Where do wrong labels move to? A matrix: P(true label | recorded label, and the record is wrong)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import DataError, ReadError, excerpt
from verite.files import find_path
from verite.ranking.sheets import read_numbers, read_sheet


def resolve_confusion(confusion: Any, labels: Sequence[str]) -> NDArray[np.float64] | None:
    """A confusion matrix, mapping of mappings or file in the order of the labels."""
    if confusion is None:
        return None
    if isinstance(confusion, (str, PathLike)):
        return read_confusion(Path(confusion), labels)
    if isinstance(confusion, Mapping):
        confusion = [[confusion.get(i, {}).get(j, 0.0) for j in labels] for i in labels]
    return check_confusion(confusion, labels)


def read_confusion(path: str | Path, labels: Sequence[str]) -> NDArray[np.float64]:
    """A confusion matrix: header `recorded,LABEL…`, a row for each recorded label; see `check_confusion`."""
    sheet = read_sheet(find_path(path))
    if sheet.head[:1] != ("recorded",):
        raise ReadError(f"{sheet.path}:1", expected="a header recorded,LABEL…", found=excerpt(",".join(sheet.head)))
    rows = {str(name): row for row, name in enumerate(sheet.columns[0])}
    for name in labels:
        if name not in rows or name not in sheet.head[1:]:
            raise ReadError(sheet.path, expected=f"a row and a column for label {name!r}", found="none")
    matrix = np.stack([read_numbers(sheet, name) for name in labels], axis=1)
    return check_confusion(matrix[[rows[name] for name in labels]], labels)


def check_confusion(matrix: Any, labels: Sequence[str]) -> NDArray[np.float64]:
    """P(true label | recorded label, and the record is wrong): zero on the diagonal, rows that add up to one."""
    values = np.asarray(matrix, dtype=np.float64)
    if values.shape != (len(labels), len(labels)):
        raise DataError(f"confusion: expected {len(labels)} rows and columns, one a label, found {values.shape}")
    for i, name in enumerate(labels):
        if not np.all(values[i] >= 0) or values[i, i] != 0:
            raise DataError(f"confusion: expected shares from 0 on, and 0 for {name!r} itself, in the row of {name!r}")
        if abs(values[i].sum() - 1) > 1e-6:
            raise DataError(f"confusion: expected the row of {name!r} to add up to 1, found {values[i].sum():g}")
    scaled: NDArray[np.float64] = values / values.sum(axis=1, keepdims=True)
    return scaled
