"""pycocotools itself: the reference for COCO's numbers."""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any


def reference(truth: Any, results: Any, kind: str, **settings: Any) -> Any:
    """pycocotools' evaluation of copies of these documents."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    assert COCOeval.__module__ == "pycocotools.cocoeval", "verite stands in for the reference here"
    with contextlib.redirect_stdout(io.StringIO()):
        gt = COCO()
        gt.dataset = json.loads(json.dumps(truth))
        gt.createIndex()
        evaluation = COCOeval(gt, gt.loadRes(json.loads(json.dumps(results))), kind)
        for name, value in settings.items():
            setattr(evaluation.params, name, value)
        evaluation.evaluate()
        evaluation.accumulate()
        if len(evaluation.params.maxDets) == 3 or kind == "keypoints":
            evaluation.summarize()
    return evaluation
