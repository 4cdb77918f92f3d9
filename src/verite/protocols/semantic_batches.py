"""Semantic segmentation for a training loop: label maps batch by batch, and from several processes put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite.errors import BadParameter, DataError
from verite.model.annotations import Annotations, Source
from verite.model.images import Images
from verite.model.labels import Labels
from verite.model.regions import Regions
from verite.protocols.confusion_counts import PixelCounts, count_pixels
from verite.protocols.semantic import SemanticResults, SemanticSettings


class SemanticEvaluator:
    """Counts pixels of label maps as they come, and has the numbers of all of them at any time.

    Maps are arrays of class numbers from 0, [row, column] or [image, row, column], numpy's, torch's, or anything that
    numpy takes. `labels` names the classes, or says how many there are. What is kept are the counts alone, so that
    memory does not grow. Settings are those of :func:`verite.semantic`.

    >>> evaluator = SemanticEvaluator(labels=["sky", "sea"])
    >>> evaluator.update([[0, 1, 1]], [[0, 0, 1]])
    >>> round(evaluator.compute().scores["mIoU"].value, 4)
    0.5
    """

    def __init__(self, *, labels: Sequence[str] | Mapping[int, str] | int, **settings: Any) -> None:
        if isinstance(labels, int):
            if labels < 1:
                raise BadParameter(f"labels: expected a number of classes from 1 up, found {labels}")
            self.labels = Labels(None, range(labels))
        else:
            names = dict(labels) if isinstance(labels, Mapping) else dict(enumerate(labels))
            self.labels = Labels(list(names.values()), list(names))
        self.settings = SemanticSettings(**settings)
        self.reset()

    def reset(self) -> None:
        """Forget everything that was counted."""
        self.counts, self.images = PixelCounts.none(len(self.labels)), 0

    def __len__(self) -> int:
        """How many images there are."""
        return self.images

    def update(self, preds: Any, targets: Any) -> None:
        """Add the maps of a batch."""
        mine, theirs = as_maps(targets, "targets"), as_maps(preds, "preds")
        if mine.shape != theirs.shape:
            raise BadParameter(f"update: expected preds of the targets' shape {mine.shape}, found {theirs.shape}")
        classes = len(self.labels)
        left_out = mine == self.settings.ignore
        one, two = self.positions(mine, left_out), self.positions(theirs, None)
        found = count_pixels(np.where(left_out, -1, one).ravel(), two.ravel(), classes)
        self.counts, self.images = self.counts + found, self.images + (len(mine) if mine.ndim == 3 else 1)

    def positions(self, values: NDArray[Any], left_out: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """Which class each pixel has, -1 for none; the truth may have no class that was not named."""
        ids = np.array(self.labels.numbers, dtype=np.int64)
        order = np.argsort(ids)
        at = order[np.minimum(np.searchsorted(ids, values, sorter=order), len(ids) - 1)]
        is_known = ids[at] == values
        if left_out is not None and not (is_known | left_out).all():
            odd = values[~(is_known | left_out)].flat[0]
            raise DataError(
                f"targets: expected one of {len(ids)} classes or {self.settings.ignore}, which is ignored, found {odd}"
            )
        return np.where(is_known, at, -1)

    def merge(self, other: SemanticEvaluator) -> None:
        """Add everything another evaluator has counted, for example in another process."""
        mine, theirs = ((e.labels.names, e.labels.numbers, e.settings) for e in (self, other))
        if mine != theirs:
            raise BadParameter("merge: expected an evaluator with the same settings and labels")
        self.counts, self.images = self.counts + other.counts, self.images + other.images

    def compute(self, *, name: str | None = None) -> SemanticResults:
        """The numbers of all maps so far; more may be added afterwards."""
        nobody = Annotations(
            images=Images([]),
            labels=self.labels,
            image=np.empty(0, np.int32),
            label=np.empty(0, np.int32),
            regions=Regions(np.empty((0, 4))),
            source=Source(path=name or "", format="part"),
        )
        settings = self.settings.change(name=name or self.settings.name or "evaluator")
        return SemanticResults(settings, self.counts, nobody, nobody)


def as_maps(given: Any, what: str) -> NDArray[Any]:
    """An array of whole numbers of two or three dimensions."""
    given = given.detach().cpu() if hasattr(given, "detach") else given
    try:
        array = np.asarray(given)
    except ValueError:
        raise BadParameter(f"{what}: expected maps of one size, found several; update image by image") from None
    if array.dtype.kind not in "biu":
        raise BadParameter(f"{what}: expected whole numbers, found {array.dtype}; take argmax of scores first")
    if array.ndim not in (2, 3):
        raise BadParameter(f"{what}: expected [row, column] or [image, row, column], found {array.ndim} dimensions")
    return array
