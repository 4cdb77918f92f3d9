"""The classes and functions of faster-coco-eval: COCO, COCOeval_faster, mask, and below `extra` curves and confusion.

Numbers, keys and printed text are those of faster-coco-eval 1.8; plots are not offered (see ``verite report``).
"""

from verite.compat.faster_coco_eval.core import COCO as COCO
from verite.compat.faster_coco_eval.core import COCOeval_faster as COCOeval_faster
from verite.compat.faster_coco_eval.core import coco as coco
from verite.compat.faster_coco_eval.core import faster_eval_api as cocoeval
from verite.compat.faster_coco_eval.core import mask as mask

__all__ = ["COCO", "COCOeval_faster", "__author__", "__version__", "coco", "cocoeval", "init_as_pycocotools", "mask"]

__author__ = "The verite developers"
__version__ = "1.8.0"  # of the interface


def init_as_pycocotools() -> None:
    """Make ``import pycocotools`` import these modules until the process ends."""
    import sys

    from verite.compat import remove_package

    remove_package("pycocotools")
    sys.modules["pycocotools"] = sys.modules.get("faster_coco_eval", sys.modules[__name__])
    for name, module in (("coco", coco), ("cocoeval", cocoeval), ("mask", mask)):
        sys.modules[f"pycocotools.{name}"] = module
