"""The COCOeval class of pycocotools: evaluate, accumulate, summarize.

Matching and accumulation are verite's. What few clients look at (`evalImgs`, `ious`, `_gts`, `_dts`) is made when it is
looked at; `evalImgs` that were looked at, edited or put in place are what is accumulated. A class that brings a step of
its own (`_prepare`, `computeIoU`, `computeOks`, `evaluateImg`) is evaluated step by step.
"""

from __future__ import annotations

import datetime
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from verite.compat.pycocotools import mask, steps
from verite.compat.pycocotools.preparation import Params as Params
from verite.compat.pycocotools.preparation import (
    Prepared,
    copy_params,
    fits_core,
    has_own_ways,
    is_same,
    prepare_closed,
    prepare_sides,
)
from verite.compat.pycocotools.steps import ImageMatches, accumulate_images, list_images
from verite.errors import BadParameter

if TYPE_CHECKING:
    from verite.compat.pycocotools.coco import COCO, Record


ARRAYS = ("precision", "recall", "scores")


def mean_at(found: Mapping[str, Any], kind: str, levels: Any, areas: Sequence[int], limits: Sequence[int]) -> float:
    """Return the mean of the present values at these thresholds (None: all), areas and limits; -1 if there is none."""
    values = found[kind] if levels is None else found[kind][levels]
    values = values[..., areas, limits]
    present = values[values > -1]
    return float(present.mean()) if len(present) else -1.0


maskUtils = mask  # noqa: N816 - clients look for it under this name

MADE_LATER = ("evalImgs", "ious", "_gts", "_dts")


class COCOeval:
    """COCO's numbers of detections: ``evaluate()``, ``accumulate()``, ``summarize()``, in this order."""

    def __init__(self, cocoGt: COCO | None = None, cocoDt: COCO | None = None, iouType: str = "segm") -> None:  # noqa: N803
        if not iouType:
            print("iouType not specified. use default iouType segm")
        self.cocoGt, self.cocoDt = cocoGt, cocoDt
        self.params = Params(iouType or "segm")
        self.eval: Record = {}
        self.stats: Any = []
        self.ious = {}
        self._paramsEval: Any = {}
        self._prepared: Prepared | None = None  # everything evaluated at once; None: step by step
        self._gts, self._dts = defaultdict(list), defaultdict(list)
        self.evalImgs = defaultdict(list)
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
        sides = self._sides()
        if has_own_steps(self) or any(map(has_own_ways, sides)) or not fits_core(p):
            self._evaluate_stepwise()
        else:
            self._prepared = prepare_closed(*sides, p) or prepare_sides(*sides, p)
            self.eval = {}
            for name in MADE_LATER:
                vars(self).pop(name, None)
        self._paramsEval = copy_params(p)
        print(f"DONE (t={time.time() - start:0.2f}s).")

    def _evaluate_stepwise(self) -> None:
        p = self.params
        self._prepare()
        classes = p.catIds if p.useCats else [-1]
        overlaps = self.computeOks if p.iouType == "keypoints" else self.computeIoU
        self.ious = {(i, c): overlaps(i, c) for i in p.imgIds for c in classes}
        self.evalImgs = [
            self.evaluateImg(i, c, area, p.maxDets[-1]) for c in classes for area in p.areaRng for i in p.imgIds
        ]

    def _sides(self) -> tuple[COCO, COCO]:
        if self.cocoGt is None or self.cocoDt is None:
            raise BadParameter("COCOeval: expected ground truth and detections, found one; set cocoGt and cocoDt")
        return self.cocoGt, self.cocoDt

    def _prepare(self) -> None:
        """Truths and detections of the chosen images and classes, by image and class, in `_gts` and `_dts`."""
        truth, pred = self._sides()
        self._gts = steps.group(truth, steps.find_records(truth, self.params), self.params, is_truth=True)
        self._dts = steps.group(pred, steps.find_records(pred, self.params), self.params, is_truth=False)
        self.evalImgs = defaultdict(list)
        self.eval = {}
        self._prepared = None

    @cached_property
    def _gts(self) -> defaultdict[Any, list[Any]]:
        """Truths by image and class."""
        truth = self._everything().truth
        return steps.group(truth.coco, truth.records, self._paramsEval, is_truth=True)

    @cached_property
    def _dts(self) -> defaultdict[Any, list[Any]]:
        """Detections by image and class."""
        pred = self._everything().pred
        return steps.group(pred.coco, pred.records, self._paramsEval, is_truth=False)

    @cached_property
    def ious(self) -> dict[Any, Any]:
        """For each image and class the overlaps of detections (by falling score) with truths."""
        p = self._paramsEval
        return {(i, c): self._overlaps(i, c, p) for i in p.imgIds for c in (p.catIds if p.useCats else [-1])}

    @cached_property
    def evalImgs(self) -> Any:  # noqa: N802
        """For each class, area range and image a dictionary of who matched whom, or None where there is nothing."""
        return list_images(self._everything().evaluation, self._paramsEval)

    def _everything(self) -> Prepared:
        prepared = self._prepared
        assert prepared is not None
        if prepared.is_closed:
            self._prepared = prepared = prepare_sides(prepared.truth.coco, prepared.pred.coco, self._paramsEval)
        return prepared

    def _overlaps(self, image: Any, label: Any, p: Params) -> Any:
        truths, detections = (steps.choose_cell(groups, image, label, p) for groups in (self._gts, self._dts))
        return steps.overlap(truths, detections, p)

    def computeIoU(self, imgId: Any, catId: Any) -> Any:  # noqa: N802, N803
        """Overlaps of the detections of one image and class with its truths; an empty list where there is nothing."""
        return self._overlaps(imgId, catId, self.params)

    def computeOks(self, imgId: Any, catId: Any) -> Any:  # noqa: N802, N803
        """The same for keypoints."""
        return self._overlaps(imgId, catId, self.params)

    def evaluateImg(self, imgId: Any, catId: Any, aRng: Any, maxDet: int) -> ImageMatches | None:  # noqa: N802, N803
        """Who matched whom in one image, class and area range: an entry of `evalImgs`."""
        truths, detections = (steps.choose_cell(groups, imgId, catId, self.params) for groups in (self._gts, self._dts))
        if not truths and not detections:
            return None
        found = steps.match(truths, detections, self.ious[imgId, catId], self.params, aRng, maxDet)
        return {"image_id": imgId, "category_id": catId, "aRng": aRng, "maxDet": maxDet, **found}

    def accumulate(self, p: Params | None = None) -> None:
        """Precision, recall and scores of every threshold, recall, class, area range and number of detections."""
        start = time.time()
        print("Accumulating evaluation results...")
        was_looked_at = "evalImgs" in vars(self)
        if not self._paramsEval or not self._has_images(was_looked_at):
            print("Please run evaluate() first")
        if not self._paramsEval:
            raise BadParameter("accumulate: expected evaluated images, found none; run evaluate() first")
        p = p or self.params
        p.catIds = p.catIds if p.useCats == 1 else [-1]
        counts = [len(values) for values in (p.iouThrs, p.recThrs, p.catIds, p.areaRng, p.maxDets)]
        date = datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        facts = {"params": p, "counts": counts, "date": date}
        if self._prepared is not None and not was_looked_at and is_same(p, self._paramsEval):
            arrays = self._prepared.evaluation.kept.arrays(-1.0)
        else:
            arrays = accumulate_images(self.evalImgs, p, self._paramsEval)
        self.eval = facts | dict(zip(ARRAYS, arrays, strict=True))
        print(f"DONE (t={time.time() - start:0.2f}s).")

    def _has_images(self, was_looked_at: bool) -> bool:
        """Whether there is anything to accumulate; a rank or a filter may leave none, and all numbers are -1."""
        if was_looked_at:
            return len(self.evalImgs) > 0
        asked: Any = self._paramsEval
        return len(asked.imgIds) > 0 and len(asked.areaRng) > 0

    def summarize(self) -> None:
        """Print the twelve numbers (ten of keypoints) and keep them in `stats`; what is absent is -1."""
        if not self.eval:
            raise BadParameter("summarize: expected accumulated results, found none; run accumulate() first")
        if self.params.iouType == "keypoints":
            levels: list[dict[str, Any]] = [{}, {"iouThr": 0.5}, {"iouThr": 0.75}]
            levels += [{"areaRng": area} for area in ("medium", "large")]
            asked = [{"ap": ap, "maxDets": 20, **one} for ap in (1, 0) for one in levels]
        else:
            if len(self.params.maxDets) < 3:
                raise BadParameter(f"summarize: expected three numbers in maxDets, found {self.params.maxDets}")
            low, middle, high = self.params.maxDets[:3]
            areas = [{"areaRng": area, "maxDets": high} for area in ("small", "medium", "large")]
            # The first line always reads 100 detections; the others read the limits by their place.
            asked = [{"ap": 1}, *({"ap": 1, "iouThr": iou, "maxDets": high} for iou in (0.5, 0.75))]
            asked += [{"ap": 1, **area} for area in areas]
            asked += [{"ap": 0, "maxDets": most} for most in (low, middle, high)]
            asked += [{"ap": 0, **area} for area in areas]
        self.stats = np.array([self._summarize(**one) for one in asked])

    def _summarize(self, ap: int = 1, iouThr: float | None = None, areaRng: str = "all", maxDets: int = 100) -> float:  # noqa: N803
        p = self.params
        areas = [i for i, name in enumerate(p.areaRngLbl) if name == areaRng]
        limits = [i for i, most in enumerate(p.maxDets) if most == maxDets]
        levels = None if iouThr is None else np.where(iouThr == np.asarray(p.iouThrs))[0]
        mean = mean_at(self.eval, "precision" if ap == 1 else "recall", levels, areas, limits)
        title, kind = ("Average Precision", "(AP)") if ap == 1 else ("Average Recall", "(AR)")
        iou = f"{p.iouThrs[0]:0.2f}:{p.iouThrs[-1]:0.2f}" if iouThr is None else f"{iouThr:0.2f}"
        print(f" {title:<18} {kind} @[ IoU={iou:<9} | area={areaRng:>6s} | maxDets={maxDets:>3d} ] = {mean:0.3f}")
        return mean

    def __str__(self) -> str:
        """Summarize, as pycocotools means to; there it dies."""
        if self.eval:
            self.summarize()
        return f"COCOeval of *{self.params.iouType}*"


STEPS = {name: vars(COCOeval)[name] for name in ("_prepare", "computeIoU", "computeOks", "evaluateImg")}

OVERLAP = maskUtils.iou


def has_own_steps(client: COCOeval) -> bool:
    """Whether a subclass, or a patch of the class, the object or the overlap, has a step of its own."""
    own = (getattr(getattr(client, name), "__func__", None) is not step for name, step in STEPS.items())
    return any(own) or maskUtils.iou is not OVERLAP
