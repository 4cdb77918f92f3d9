"""The odd ways of pycocotools, for those who must repeat its numbers: see the page on deviations for each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from verite.model.annotations import Annotations


def as_indexed(side: Annotations) -> Annotations:
    """Objects as the reference finds them: by id. Of several with the same id only the last is found, once for each.

    They come image by image in the order of image ids, so that the copies stand where the originals stood.
    """
    if are_results(side) or side.ids is None or len(np.unique(side.ids)) == len(side):
        return side
    ranks = (
        side.image if side.images.ids is None else np.argsort(np.argsort(side.images.ids, kind="stable"))[side.image]
    )
    order = np.argsort(ranks, kind="stable")
    # Sorted by id, then by place in the file: the last of each group is the one that is found.
    sorted_rows = np.argsort(side.ids, kind="stable")
    sorted_ids = side.ids[sorted_rows]
    last = np.searchsorted(sorted_ids, side.ids[order], side="right") - 1
    return side.take(sorted_rows[last])


def counts_as_unmatched(truth: Annotations) -> NDArray[np.bool_]:
    """Truths with the id 0: the reference writes down the id of a match and reads 0 as none."""
    return truth.ids == 0 if truth.ids is not None else np.zeros(len(truth), dtype=np.bool_)


def leaves_free(pred: Annotations) -> NDArray[np.bool_]:
    """Predictions with an id of 0 or less: the truth they take looks free to the next one."""
    if are_results(pred) or pred.ids is None:
        return np.zeros(len(pred), dtype=np.bool_)
    return pred.ids <= 0


def are_results(side: Annotations) -> bool:
    """Results get new ids and areas when the reference loads them; a whole document keeps its own."""
    return side.source.format == "coco-results"


def states_areas(pred: Annotations) -> bool:
    return pred.area is not None and not are_results(pred) and not bool(np.isnan(pred.area).any())
