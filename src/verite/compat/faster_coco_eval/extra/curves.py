"""Curves of faster-coco-eval: precision over recall per class, and cumulative errors of keypoints."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from verite.compat.faster_coco_eval.core.faster_eval_api import COCOeval_faster
from verite.compat.faster_coco_eval.extra.extra import ExtraEval, no_plot

logger = logging.getLogger(__name__)

Curve = dict[str, Any]


class Curves(ExtraEval):
    """Precision-recall curves and cumulative error distributions of an evaluation."""

    def build_curve(self, label: str) -> list[Curve]:
        """Return a dictionary per class: recall_list, precision_list, scores, auc, name, label and category_id.

        Parameters
        ----------
        label
            What classes are called in the names of curves.
        """
        if self.eval is None:
            raise AssertionError("Run first self.evaluate()")
        recalls = np.asarray(self.recThrs).ravel()
        classes = list(self.params.catIds) if self.useCats else [0]
        curves = []
        for k, category in enumerate(classes):
            precision, scores = (self.eval[key][:, :, k].ravel()[: len(recalls)] for key in ("precision", "scores"))
            present = precision > -1
            if not present.any():
                logger.warning("class %s: no ground truth, and so no curve", category)
                continue
            auc = round(COCOeval_faster.calc_auc(recalls[present], precision[present]), 4)
            name = f"[{label}={category}] " if len(classes) > 1 else ""
            curves.append({
                "recall_list": recalls[present],
                "precision_list": precision[present],
                "name": f"{name}auc: {auc:.3f}",
                "label": name,
                "scores": scores[present],
                "auc": auc,
                "category_id": category,
            })  # fmt: skip
        return curves

    def build_ced_curve(self, mae_count: int = 1000) -> list[Curve]:
        """Return the cumulative distribution of keypoint errors (mean absolute difference) per class.

        Only annotations that a client marked as `matched` count, as in faster-coco-eval.
        """
        if self.eval is None:
            raise AssertionError("Run first self.evaluate()")
        curves = []
        for category, about in self.cocoGt.cats.items():
            errors: list[Any] = []
            for record in self.cocoGt.loadAnns(self.cocoGt.getAnnIds(catIds=[category])):
                if record.get("keypoints") and record.get("matched"):
                    points = [
                        np.array(one["keypoints"], dtype=np.float64).reshape(-1, 3)[:, :2]
                        for one in (record, self.cocoDt.anns[record["dt_id"]])
                    ]
                    errors.append(np.abs(points[0] - points[1]).mean(axis=1))
            if not errors:
                continue
            if self.iouType != "keypoints":
                raise ValueError(f"build_ced_curve: expected keypoints, found {self.iouType}")
            table = np.array(errors)[:, : len(about["keypoints"])]
            means = table.mean(axis=1)
            by_name = {
                name: {"all_mae": table[:, i].tolist(), **cumulate(table[:, i], mae_count)}
                for i, name in enumerate(about["keypoints"])
            }
            by_name["MEAN"] = cumulate(means, mae_count)
            curves.append({"all_mae": means.tolist(), "mae": by_name, "category": about})
        return curves

    plot_pre_rec = no_plot("plot_pre_rec", "vt.coco(…).plot() draws precision over recall")
    plot_f1_confidence = no_plot("plot_f1_confidence", "vt.analyse(…) has F1 over confidence")
    plot_ced_metric = no_plot("plot_ced_metric", "build_ced_curve() returns its points")


def cumulate(errors: Any, count: int) -> Curve:
    """Return how many errors lie below each of `count` values up to median + third quartile, and all at the highest."""
    limit = min(np.median(errors) + np.percentile(errors, 75), errors.max())
    x = np.linspace(errors.min(), limit, count) if errors.min() < limit else np.array([])
    below = np.searchsorted(np.sort(errors), x, side="left")
    return {"x": [0, *x.tolist(), float(errors.max())], "y": [0, *below.tolist(), len(errors)]}
