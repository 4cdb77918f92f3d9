"""PreviewResults of faster-coco-eval: the confusion matrix of matched detections."""

from __future__ import annotations

import logging

import numpy as np
from numpy.typing import NDArray

from verite.compat.faster_coco_eval.extra.extra import ExtraEval, no_plot

logger = logging.getLogger(__name__)


class PreviewResults(ExtraEval):
    """Which classes are confused."""

    def compute_confusion_matrix(self) -> NDArray[np.float32]:
        """Return [class, class of the matched detection]; the last two columns are false positives and missed objects.

        Matching must ignore classes (``useCats=False``) for confusions to be seen.
        """
        if self.eval is None:
            raise AssertionError("Run first self.evaluate()")
        if self.useCats:
            logger.warning("useCats: expected False for confusions between classes, found True")
        place = {category: i for i, category in enumerate(self.cocoGt.cats)}
        found = np.zeros((len(place), len(place) + 2), dtype=np.float32)
        for record in self.cocoGt.anns.values():
            own = place.get(record["category_id"])
            matched = record.get("dt_id")
            other = None if matched is None else place.get(self.cocoDt.anns[matched]["category_id"])
            if own is not None and (matched is None or other is not None):
                found[own, -1 if other is None else other] += 1
        for record in self.cocoDt.anns.values():
            own = place.get(record["category_id"])
            if own is not None and record.get("gt_id") is None:
                found[own, -2] += 1
        return found

    display_image = no_plot("display_image", "verite draw shows true and false positives")
    display_tp_fp_fn = no_plot("display_tp_fp_fn", "verite draw shows true and false positives")
    display_matrix = no_plot("display_matrix", "verite report shows the confusion matrix")
