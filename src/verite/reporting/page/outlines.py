"""More than boxes: the outlines of masks, rotated boxes and poses of some images, packed as short steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.reporting.rings import thin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.reporting.overlays import Overlay
    from verite.reporting.rings import Ring

MOST_OBJECTS = 2000  # that are traced beside those of the images named on the page: a second
Lines = dict[int, "list[Ring]"]  # of a row


def choose_images(named: Sequence[int], objects: NDArray[Any]) -> list[int]:
    """Images whose objects have their outlines: those named on the page, then as many others as are soon traced.

    >>> choose_images([2], np.array([900, 1000, 5000, 101, 100]))
    [0, 1, 2, 4]
    """
    others = np.setdiff1d(np.arange(len(objects)), named)
    found, spent = list(named), 0
    for image, many in zip(others.tolist(), objects[others].tolist(), strict=True):
        if spent + many <= MOST_OBJECTS:
            spent += many
            found.append(image)
    return sorted(found)


def find_outlines(overlay: Overlay, name: str, rows: NDArray[Any], images: Sequence[int]) -> Lines:
    """Of the objects in some images."""
    side = overlay.truth if name == "truth" else overlay.pred
    chosen = rows[np.isin(side.image[rows], images)] if len(images) else rows[:0]
    known = chosen[np.isfinite(side.regions.boxes[chosen]).all(axis=1)]
    return {row: [thin(line) for line in overlay.mark(name, row).lines] for row in known.tolist()}


def pack_outlines(lines: Lines, rows: NDArray[Any], scale: float) -> dict[str, NDArray[Any]]:
    """How many lines each row has, how many points each line, and from point to point."""
    if not lines:
        return {}
    mine = [lines.get(row, []) for row in rows.tolist()]
    every = [np.rint(np.asarray(line) / scale) for one in mine for line in one]
    ways = np.concatenate([np.zeros((0, 2)), *(np.diff(line, axis=0, prepend=np.zeros((1, 2))) for line in every)])
    wide = np.int16 if np.abs(ways).max(initial=0) < 2**15 else np.int32
    return {
        "lines": np.array([len(one) for one in mine], dtype=np.uint16),
        "points": np.array([len(line) for line in every], dtype=np.uint16),
        "across": ways[:, 0].astype(wide),
        "down": ways[:, 1].astype(wide),
    }
