"""Does average precision depend on the order of predictions that are equally sure? (V305)"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from verite.checks.findings import EXAMPLES, Finding
from verite.checks.sides import Pair
from verite.model.annotations import Annotations
from verite.model.fates import RIGHT

TIED = 0.1  # share of predictions that share their class and confidence with others, from which the order is tried
APART = 0.005  # what the order must change


def find_ties(pair: Pair) -> Iterator[Finding]:
    """Many equal confidences: what AP50 would be with the right ones first, and with the wrong ones."""
    truth, pred = pair.truth, pair.pred
    if pred.confidence is None or not len(truth) or not np.isfinite(pred.confidence).all():
        return
    count, most = count_ties(pred)
    if count <= TIED * len(pred) or count == 0:
        return
    low, high = interval(truth, pred)
    if high - low < APART:
        return
    yield Finding(
        "V305",
        "warning",
        f"{count:,} of {len(pred):,} predictions share their confidence with others of their class: by their order "
        f"alone AP50 lies between {low:.4f} and {high:.4f}",
        count,
        tuple(f"{many:,} of {pred.labels.name(label)} have {value:g}" for many, label, value in most),
        "write confidences with all their digits",
    )


def count_ties(pred: Annotations) -> tuple[int, list[tuple[int, int, float]]]:
    """How many predictions are tied, and the largest ties: how many, of which class, with which confidence."""
    assert pred.confidence is not None
    keys = np.stack([pred.label.astype(np.float64), pred.confidence], axis=1)
    found, counts = np.unique(keys, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:EXAMPLES]
    most = [(int(counts[i]), int(found[i, 0]), float(found[i, 1])) for i in order if counts[i] > 1]
    return int(counts[counts > 1].sum()), most


def interval(truth: Annotations, pred: Annotations) -> tuple[float, float]:
    """AP50 with wrong predictions before right ones of the same confidence, and the other way round."""
    import verite

    fates = verite.coco(truth, pred, checks="off").objects(0.5).columns
    is_pred = fates["side"].values == 1
    is_right = np.zeros(len(pred), dtype=np.bool_)
    is_right[fates["row"].values[is_pred]] = fates["fate"].values[is_pred] == RIGHT

    def ap(is_first: NDArray[np.bool_]) -> float:
        assert pred.confidence is not None
        rank = np.empty(len(pred))
        rank[np.lexsort((is_first, pred.confidence))] = np.arange(len(pred))
        return float(verite.coco(truth, replace(pred, confidence=rank), checks="off")["AP50"].value)

    return ap(~is_right), ap(is_right)
