"""The Params class of pycocotools: what can be set, and what it says to an evaluation."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np

from verite.errors import BadParameter
from verite.evaluation.evaluation import Rules
from verite.protocols.coco_settings import HIGHEST, MOST_AREAS

SIMILARITY = {"bbox": "box", "segm": "mask", "keypoints": "keypoints"}
TENTHS = (0.26, 0.25, 0.25, 0.35, 0.35, 0.79, 0.79, 0.72, 0.72, 0.62, 0.62, 1.07, 1.07, 0.87, 0.87, 0.89, 0.89)


class Params:
    """What can be set. Changed in place by clients."""

    def __init__(self, iouType: str = "segm") -> None:  # noqa: N803
        if iouType not in ("segm", "bbox", "keypoints"):
            raise BadParameter(f"iouType: expected segm, bbox or keypoints, found {iouType!r}")
        if iouType == "keypoints":
            self.setKpParams()
        else:
            self.setDetParams()
        self.iouType = iouType
        self.useSegm: int | None = None  # deprecated by pycocotools

    def setDetParams(self) -> None:  # noqa: N802
        """Boxes and masks."""
        self.imgIds: list[Any] = []
        self.catIds: list[Any] = []
        self.iouThrs: Any = np.linspace(0.5, 0.95, 10)
        self.recThrs: Any = np.linspace(0.0, 1.0, 101)
        self.maxDets: list[int] = [1, 10, 100]
        self.areaRng: list[Any] = [[0, 1e10], [0, 1024], [1024, 9216], [9216, 1e10]]
        self.areaRngLbl = ["all", "small", "medium", "large"]
        self.useCats: int = 1

    def setKpParams(self) -> None:  # noqa: N802
        """Keypoints."""
        self.setDetParams()
        self.maxDets = [20]
        self.areaRng = [[0, 1e10], [1024, 9216], [9216, 1e10]]
        self.areaRngLbl = ["all", "medium", "large"]
        self.kpt_oks_sigmas: Any = np.array(TENTHS) / 10.0


def copy_params(p: Params) -> Params:
    """A deep copy; ids are numbers and texts, which nobody changes, and many."""
    return copy.deepcopy(p, {id(ids): list(ids) for ids in (p.imgIds, p.catIds)})


def fits_core(p: Params) -> bool:
    """Can all be evaluated at once?"""
    return (
        p.iouType in SIMILARITY
        and (p.iouType != "keypoints" or bool(p.useCats))
        and 0 < len(p.areaRng) <= MOST_AREAS
        and len(p.iouThrs) > 0
        and len(p.maxDets) > 0
        and p.maxDets[0] > 0
        and len(p.recThrs) > 0
        and all(low <= high for low, high in pairwise(p.recThrs))
    )


def rules_of(p: Params) -> Rules:
    """What they say to an evaluation: nothing is refused that pycocotools takes."""
    return Rules(
        thresholds=tuple(min(float(t), HIGHEST) for t in p.iouThrs),
        similarity=SIMILARITY[p.iouType],
        ranges=tuple((float(low), float(high)) for low, high in p.areaRng),
        limits=tuple(int(most) for most in p.maxDets),
        recalls=tuple(float(r) for r in p.recThrs),
        is_together=not p.useCats,
        ignored=("crowd",),
        shared=("crowd",),
        repeats_quirks=True,
        sigmas=(tuple(map(float, p.kpt_oks_sigmas)),) * len(p.catIds) if p.iouType == "keypoints" else (),
    )


def is_same(p: Params, evaluated: Params) -> bool:
    """Was nothing changed between evaluate() and accumulate() that decides what is accumulated?"""
    return (
        np.array_equal(p.iouThrs, evaluated.iouThrs)
        and np.array_equal(p.recThrs, evaluated.recThrs)
        and list(p.maxDets) == list(evaluated.maxDets)
        and [tuple(a) for a in p.areaRng] == [tuple(a) for a in evaluated.areaRng]
        and list(p.imgIds) == list(evaluated.imgIds)
        and (not p.useCats or list(p.catIds) == list(evaluated.catIds))
        and p.useCats == evaluated.useCats
    )
