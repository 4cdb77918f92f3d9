"""The COCOeval class of pycocotools: evaluate, accumulate, summarize.

Matching and accumulation are verite's. What few clients look at (`evalImgs`, `ious`) is made when it is looked at;
a client that puts its own `evalImgs` in place, as distributed training loops do, has those accumulated.
"""

from __future__ import annotations

import copy
import datetime
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.compat.pycocotools import mask as masks
from verite.compat.pycocotools.images import ImageResults, accumulate_images
from verite.compat.pycocotools.preparation import Prepared, prepare
from verite.errors import BadParameter

if TYPE_CHECKING:
    from verite.compat.pycocotools.coco import COCO

Floats = NDArray[np.float64]


class Params:
    """What can be set. Changed in place by clients."""

    def __init__(self, iouType: str = "segm") -> None:  # noqa: N803
        if iouType not in ("segm", "bbox"):
            raise BadParameter(f"iouType: expected segm or bbox, found {iouType!r}; keypoints are not evaluated here")
        self.iouType = iouType
        self.useSegm: int | None = None
        self.setDetParams()

    def setDetParams(self) -> None:  # noqa: N802
        self.imgIds: list[Any] = []
        self.catIds: list[Any] = []
        self.iouThrs: Any = np.linspace(0.5, 0.95, 10)
        self.recThrs: Any = np.linspace(0.0, 1.0, 101)
        self.maxDets: list[int] = [1, 10, 100]
        self.areaRng: list[Any] = [[0, 1e10], [0, 1024], [1024, 9216], [9216, 1e10]]
        self.areaRngLbl = ["all", "small", "medium", "large"]
        self.useCats: int = 1


class COCOeval:
    """COCO's numbers for detections on a truth: ``evaluate()``, ``accumulate()``, ``summarize()``, in this order."""

    def __init__(self, cocoGt: COCO | None = None, cocoDt: COCO | None = None, iouType: str = "segm") -> None:  # noqa: N803
        if not iouType:
            print("iouType not specified. use default iouType segm")
        self.cocoGt, self.cocoDt = cocoGt, cocoDt
        self.params = Params(iouType or "segm")
        self.eval: dict[str, Any] = {}
        self.stats: Any = []
        self._paramsEval: Any = {}
        self._prepared: Prepared | None = None
        self._images: Any = {}  # a client's own evalImgs, or ours once looked at
        self._is_ours = False
        self._ious: dict[Any, Any] | None = None
        if cocoGt is not None:
            self.params.imgIds = sorted(cocoGt.getImgIds())
            self.params.catIds = sorted(cocoGt.getCatIds())

    def evaluate(self) -> None:
        """Match detections to truths, image by image and class by class."""
        start = time.time()
        print("Running per image evaluation...")
        p = self.params
        if p.useSegm is not None:
            p.iouType = "segm" if p.useSegm == 1 else "bbox"
            print(f"useSegm (deprecated) is not None. Running {p.iouType} evaluation")
        print(f"Evaluate annotation type *{p.iouType}*")
        p.imgIds = list(np.unique(p.imgIds))
        if p.useCats:
            p.catIds = list(np.unique(p.catIds))
        p.maxDets = sorted(p.maxDets)
        assert self.cocoGt is not None
        assert self.cocoDt is not None
        self._prepared = prepare(self.cocoGt, self.cocoDt, p)
        self._images, self._is_ours, self._ious = None, True, None
        self.eval = {}
        self._paramsEval = copy.deepcopy(p)
        print(f"DONE (t={time.time() - start:0.2f}s).")

    @property
    def evalImgs(self) -> Any:  # noqa: N802
        """For each class, area range and image a dictionary of who matched whom, or None where there is nothing."""
        if self._images is None:
            assert self._prepared is not None
            self._images = ImageResults(self._prepared, self._paramsEval).to_list()
        return self._images

    @evalImgs.setter
    def evalImgs(self, images: Any) -> None:  # noqa: N802
        self._images, self._is_ours = images, False

    @property
    def ious(self) -> dict[Any, Any]:
        """For each image and class the overlaps of detections (by falling score) with truths."""
        if self._ious is None:
            if self._prepared is None:
                return {}
            p = self._paramsEval
            classes = p.catIds if p.useCats else [-1]
            self._ious = {(i, c): self.computeIoU(i, c) for i in p.imgIds for c in classes}
        return self._ious

    @ious.setter
    def ious(self, ious: dict[Any, Any]) -> None:
        self._ious = ious

    def computeIoU(self, imgId: Any, catId: Any) -> Any:  # noqa: N802, N803
        """Overlaps of the detections of one image and class with its truths; an empty list where there is nothing."""
        assert self._prepared is not None
        truths, detections = self._prepared.cell(imgId, catId)
        if not truths and not detections:
            return []
        order = np.argsort([-d["score"] for d in detections], kind="stable")[: self.params.maxDets[-1]]
        key = "segmentation" if self.params.iouType == "segm" else "bbox"
        mine, others = [detections[i] for i in order], truths
        crowd = [int(g.get("iscrowd", 0)) for g in others]
        if key == "bbox":
            return masks.iou([list(d[key]) for d in mine], [list(g[key]) for g in others], crowd)
        assert self.cocoGt is not None
        assert self.cocoDt is not None
        return masks.iou([self.cocoDt.annToRLE(d) for d in mine], [self.cocoGt.annToRLE(g) for g in others], crowd)

    def accumulate(self, p: Params | None = None) -> None:
        """Precision, recall and scores of every threshold, recall, class, area range and number of detections."""
        start = time.time()
        print("Accumulating evaluation results...")
        if self._prepared is None and not self._images:
            print("Please run evaluate() first")
            return
        is_own = p is None or p is self.params
        p = p or self.params
        p.catIds = p.catIds if p.useCats == 1 else [-1]
        if self._is_ours and is_own and self._prepared is not None and not differs(p, self._paramsEval):
            precision, recall, scores = self._prepared.accumulate()
        else:
            precision, recall, scores = accumulate_images(self.evalImgs, p, self._paramsEval)
        self.eval = {
            "params": p,
            "counts": list(precision.shape),
            "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S"),
            "precision": precision,
            "recall": recall,
            "scores": scores,
        }
        print(f"DONE (t={time.time() - start:0.2f}s).")

    def summarize(self) -> None:
        """Print the twelve numbers and keep them in `stats`; what is absent is -1, as in pycocotools."""
        if not self.eval:
            raise BadParameter("summarize: run accumulate() first")
        # The first line always reads 100 detections; the others read the limits by their place.
        low, middle, high = self.params.maxDets[:3]
        asked: list[tuple[int, float | None, str, int]] = [
            (1, None, "all", 100),
            (1, 0.5, "all", high),
            (1, 0.75, "all", high),
            *((1, None, area, high) for area in ("small", "medium", "large")),
            *((0, None, "all", most) for most in (low, middle, high)),
            *((0, None, area, high) for area in ("small", "medium", "large")),
        ]
        self.stats = np.array([self._summarize(*one) for one in asked])

    def _summarize(self, ap: int = 1, iouThr: float | None = None, areaRng: str = "all", maxDets: int = 100) -> float:  # noqa: N803
        p = self.params
        areas = [i for i, name in enumerate(p.areaRngLbl) if name == areaRng]
        limits = [i for i, most in enumerate(p.maxDets) if most == maxDets]
        values = self.eval["precision" if ap == 1 else "recall"]
        if iouThr is not None:
            values = values[np.where(iouThr == np.asarray(p.iouThrs))[0]]
        values = values[..., areas, limits]
        present = values[values > -1]
        mean = float(np.mean(present)) if len(present) else -1.0
        title, kind = ("Average Precision", "(AP)") if ap == 1 else ("Average Recall", "(AR)")
        iou = f"{p.iouThrs[0]:0.2f}:{p.iouThrs[-1]:0.2f}" if iouThr is None else f"{iouThr:0.2f}"
        print(f" {title:<18} {kind} @[ IoU={iou:<9} | area={areaRng:>6s} | maxDets={maxDets:>3d} ] = {mean:0.3f}")
        return mean

    def __str__(self) -> str:
        return f"COCOeval of *{self.params.iouType}*: {list(self.stats)}"


def differs(p: Params, evaluated: Params) -> bool:
    """Was something changed between evaluate() and accumulate() that decides what is accumulated?"""
    same = (
        np.array_equal(p.iouThrs, evaluated.iouThrs)
        and list(p.maxDets) == list(evaluated.maxDets)
        and [tuple(a) for a in p.areaRng] == [tuple(a) for a in evaluated.areaRng]
        and list(p.imgIds) == list(evaluated.imgIds)
        and (not p.useCats or list(p.catIds) == list(evaluated.catIds))
        and p.useCats == evaluated.useCats
    )
    return not same
