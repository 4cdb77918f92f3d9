"""Annotations, evaluation and masks as in faster_coco_eval.core."""

from verite.compat.faster_coco_eval.core import coco as coco
from verite.compat.faster_coco_eval.core import faster_eval_api as faster_eval_api
from verite.compat.faster_coco_eval.core import mask as mask
from verite.compat.faster_coco_eval.core.coco import COCO as COCO
from verite.compat.faster_coco_eval.core.faster_eval_api import COCOeval_faster as COCOeval_faster

__all__ = ["COCO", "COCOeval_faster"]
