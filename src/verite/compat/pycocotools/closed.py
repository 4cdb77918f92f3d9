"""What does a file say, before anybody looks at its records? Its columns in the core, and its bytes for those who will.

Most programs load two files, evaluate and never look: then no dictionary is made.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from verite.errors import VeriteError
from verite.files import find_path, read_bytes
from verite.formats import read
from verite.model.annotations import Annotations
from verite.records import record

OPENED = ("dataset", "anns", "cats", "imgs", "imgToAnns", "catToImgs")


@record(eq=False)
class Closed:
    """A file in which everything has its place, and nobody has looked at."""

    columns: Annotations
    content: bytes
    truth: Any = None  # the COCO object that results were loaded on

    @property
    def image_ids(self) -> list[int]:
        return np.asarray(self.columns.images.ids).tolist()  # type: ignore[no-any-return]

    @property
    def class_ids(self) -> list[int]:
        return np.asarray(self.columns.labels.ids).tolist()  # type: ignore[no-any-return]


def close(path: Any, truth: Any = None) -> Closed | None:
    """None where the core's reader refuses what pycocotools takes, or an image or class is none of the truth's."""
    like = None if truth is None else truth.closed.columns
    try:
        columns = read(path, like=like, format="coco" if truth is None else "coco-results")
        content = read_bytes(find_path(path))
    except (VeriteError, OSError):
        return None
    if columns.images.ids is None or columns.labels.ids is None:
        return None
    if like is not None and (len(columns.images), len(columns.labels)) != (len(like.images), len(like.labels)):
        return None
    return Closed(columns, content, truth)


def open_for(name: str) -> Any:
    """An attribute of a COCO object that is there once its file is opened."""
    return cached_property(lambda coco: coco.open()[name])
