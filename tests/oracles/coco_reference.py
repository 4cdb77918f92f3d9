"""pycocotools itself: the reference for COCO's numbers."""

from __future__ import annotations

import contextlib
import io
import json
import warnings
from typing import Any


def reference(truth: Any, results: Any, kind: str, *, evaluation: Any = None, **settings: Any) -> Any:
    """pycocotools' evaluation of copies of these documents; `evaluation`: a class derived from its COCOeval."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    assert COCOeval.__module__ == "pycocotools.cocoeval", "verite stands in for the reference here"
    with contextlib.redirect_stdout(io.StringIO()):
        gt = COCO()
        gt.dataset = json.loads(json.dumps(truth))
        gt.createIndex()
        found = (evaluation or COCOeval)(gt, gt.loadRes(json.loads(json.dumps(results))), kind)
        for name, value in settings.items():
            setattr(found.params, name, value)
        found.evaluate()
        found.accumulate()
        if len(found.params.maxDets) == 3 or kind == "keypoints":
            found.summarize()
    return found


def boundary_reference(truth: Any, results: Any) -> Any:
    """The same with Boundary IoU, pixel by pixel: the IoU of two masks or of their boundaries, whichever is less.

    For a crowd the share of the predicted mask inside the crowd's mask counts alone (boundary-iou-api).
    """
    import numpy as np
    from pycocotools import cocoeval
    from pycocotools import mask as reference_masks

    from tests.oracles.localization import rim

    def pixels(record: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # its decode() is behind numpy's times
            mask = reference_masks.decode(record["segmentation"]).astype(bool)
        boundary = np.zeros_like(mask)
        rows, columns = np.nonzero(mask)
        if len(rows):
            around = slice(rows.min(), rows.max() + 1), slice(columns.min(), columns.max() + 1)
            boundary[around] = rim(mask[around], max(1, round(0.02 * float(np.hypot(*mask.shape)))))
        return mask, boundary

    class BoundaryEvaluation(cocoeval.COCOeval):  # type: ignore[misc]
        def computeIoU(self, image: int, label: int) -> Any:  # noqa: N802
            truths, preds = self._gts[image, label], self._dts[image, label]
            if not truths or not preds:
                return []
            order = np.argsort([-pred["score"] for pred in preds], kind="mergesort")[: self.params.maxDets[-1]]
            found = np.zeros((len(order), len(truths)))
            theirs = [pixels(one) for one in truths]
            for row, place in enumerate(order):
                mask, boundary = pixels(preds[place])
                for column, (other, its_boundary) in enumerate(theirs):
                    both = (mask & other).sum()
                    if truths[column]["iscrowd"]:
                        found[row, column] = both / mask.sum() if both else 0.0
                    elif both:
                        shared = (boundary & its_boundary).sum() / (boundary | its_boundary).sum()
                        found[row, column] = min(both / (mask | other).sum(), shared)
            return found

    return reference(truth, results, "segm", evaluation=BoundaryEvaluation)
