"""COCO's numbers of files that nobody has opened: one call of the core, to the same bits as stage by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

from verite import _core
from verite.model.unopened import unopened_pair
from verite.protocols.coco_settings import HIGHEST, RECALLS, CocoSettings

if TYPE_CHECKING:
    from verite.model.annotations import Annotations


class DirectEvaluation:
    """Means alone. Who wants to see what they are made of gets the stages."""

    def __init__(
        self, settings: CocoSettings, truth: Annotations, pred: Annotations, threads: int, numbers: _core.CocoNumbers
    ) -> None:
        self.settings, self.truth, self.pred, self.threads = settings, truth, pred, threads
        self.native = numbers

    def mean(self, kind: str, threshold: int | None, area: int, limit: int) -> float:
        return self.native.mean(kind == "precision", threshold, area, limit)

    def class_means(self, kind: str, threshold: int | None, area: int, limit: int) -> list[float]:
        return self.native.class_means(kind == "precision", threshold, area, limit)

    @property
    def counts(self) -> tuple[list[int], list[int]]:
        return self.native.truth_counts, self.native.pred_counts


def evaluate_directly(
    settings: CocoSettings, truth: Annotations, pred: Annotations, threads: int
) -> DirectEvaluation | None:
    """None where the files are open, or the stages must decide: odd settings, or anything unusual in the files."""
    pair = unopened_pair(truth, pred)
    if pair is None or settings.on == "boundary" or settings.class_agnostic or settings.is_exact:
        return None
    numbers = _core.coco_numbers(
        pair[0].file,
        pair[1].file,
        settings.on == "mask",
        [min(threshold, HIGHEST) for threshold in settings.iou],
        [limit for _, *limits in settings.areas for limit in limits],
        RECALLS,
        settings.max_dets,
        settings.ignored == "explicit",
        pair[0].limits,
        threads,
    )
    return None if numbers is None else DirectEvaluation(settings, truth, pred, threads, numbers)
