"""ExtraEval of faster-coco-eval: detections matched at one IoU threshold, with marks in the annotations."""

from __future__ import annotations

import copy
import logging
from collections import defaultdict
from typing import Any

import numpy as np

from verite.compat.faster_coco_eval.core.faster_eval_api import COCOeval_faster
from verite.errors import BadParameter

logger = logging.getLogger(__name__)


class ExtraEval:
    """Copies of both sides, evaluated at one IoU threshold; annotations are marked as tp, fp and fn.

    Parameters
    ----------
    cocoGt, cocoDt
        Ground truth and detections. They are evaluated at once if both are given.
    iouType
        What is compared.
    min_score
        Detections of lower confidence are left out.
    iou_tresh
        The IoU threshold; the spelling is faster-coco-eval's.
    recall_count
        Number of recalls, besides 0.
    useCats
        Whether only detections of the same class match.
    kpt_oks_sigmas
        OKS sigmas.
    """

    def __init__(
        self,
        cocoGt: Any = None,  # noqa: N803
        cocoDt: Any = None,  # noqa: N803
        iouType: str = "bbox",  # noqa: N803
        min_score: float = 0,
        iou_tresh: float = 0.0,
        recall_count: int = 100,
        useCats: bool = False,  # noqa: N803
        kpt_oks_sigmas: Any = None,
    ) -> None:
        if cocoGt is None:
            raise AssertionError("cocoGt is empty")
        self.iouType, self.min_score, self.iou_tresh, self.recall_count = iouType, min_score, iou_tresh, recall_count
        self.useCats = useCats or iouType == "keypoints"
        self.kpt_oks_sigmas = None if kpt_oks_sigmas is None or iouType != "keypoints" else np.array(kpt_oks_sigmas)
        self.cocoGt, self.cocoDt = copy.deepcopy(cocoGt), copy.deepcopy(cocoDt)
        self.eval: Any = None
        if self.cocoDt is not None:
            self.drop_cocodt_by_score(min_score=min_score)
            self.evaluate()

    def evaluate(self) -> None:
        """Match, mark and accumulate."""
        if self.cocoDt is None:
            raise AssertionError("cocoDt is empty")
        if not self.cocoGt.anns:
            logger.warning("no ground truth: every detection is a false positive")
        evaluator = COCOeval_faster(
            self.cocoGt, self.cocoDt, self.iouType, extra_calc=True, kpt_oks_sigmas=self.kpt_oks_sigmas
        )
        p = evaluator.params
        self.recThrs = np.linspace(0, 1, self.recall_count + 1)
        p.maxDets, p.recThrs, p.useCats = [max(1000, len(self.cocoDt.anns))], self.recThrs, int(self.useCats)
        p.areaRng = [[0, 10_000_000_000]]
        if self.iouType != "keypoints":
            p.iouThrs = [self.iou_tresh]
        self.cocoEval, self.params = evaluator, p
        evaluator.evaluate()
        evaluator.accumulate()
        self.eval = evaluator.eval

    def drop_cocodt_by_score(self, min_score: float) -> None:
        """Leave out detections of lower confidence."""
        if self.cocoDt is None:
            raise AssertionError("cocoDt is empty")
        if min_score > 0:
            kept = [one for one in self.cocoDt.dataset["annotations"] if one["score"] >= min_score]
            self.cocoDt.dataset["annotations"] = kept
            self.cocoDt.createIndex()

    @property
    def fp_image_ann_map(self) -> dict[Any, set[Any]]:
        """Ids of false positives of each image."""
        return group_marked(self.cocoDt, "fp")

    @property
    def fn_image_ann_map(self) -> dict[Any, set[Any]]:
        """Ids of missed annotations of each image."""
        return group_marked(self.cocoGt, "fn")


def group_marked(coco: Any, mark: str) -> dict[Any, set[Any]]:
    """Return ids of the annotations with a mark, by image."""
    found: dict[Any, set[Any]] = defaultdict(set)
    for key, record in coco.anns.items():
        if record.get(mark):
            found[record["image_id"]].add(key)
    return found


def no_plot(name: str, remedy: str) -> Any:
    """Return a method that names verite's plot of the same data."""

    def refuse(self: Any, *args: Any, **named: Any) -> Any:
        raise BadParameter(f"{name}: verite has the numbers of faster-coco-eval, not its plots; {remedy}")

    refuse.__name__ = name
    return refuse
