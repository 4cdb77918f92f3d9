"""Curves and confusion of detections, as in faster_coco_eval.extra: numbers only, plots are in ``verite report``."""

from verite.compat.faster_coco_eval.extra.curves import Curves as Curves
from verite.compat.faster_coco_eval.extra.display import PreviewResults as PreviewResults

__all__ = ["Curves", "PreviewResults"]
