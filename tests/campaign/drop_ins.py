"""Every module below `verite.compat`, used as its clients do, with data of which one value is spoiled."""

from __future__ import annotations

import copy
import io
import pkgutil
import random
import shutil
import tempfile
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import verite as vt
from tests.campaign.memory import BOXES, DEMO, worse_value
from verite import compat
from verite.compat import faster_coco_eval as faster
from verite.compat import lvis
from verite.compat.faster_coco_eval.core import mask as faster_mask
from verite.compat.faster_coco_eval.extra import Curves, PreviewResults
from verite.compat.pycocotools import _mask, mask
from verite.compat.pycocotools.coco import COCO
from verite.compat.pycocotools.cocoeval import COCOeval
from verite.compat.torchmetrics import MeanAveragePrecision
from verite.compat.ultralytics import read_validation

# What drop-ins raise beside our own errors: what the originals raise where a key, type or value is wrong or nested.
AS_PYTHON = (ValueError, TypeError, KeyError, AssertionError, RecursionError)
POINTS = [[float(10 + i), float(10 + i), i % 3] for i in range(17)]
POSE = {"keypoints": [value for point in POINTS for value in point], "num_keypoints": 11}
# Two objects with all that COCO, LVIS and CrowdPose know of them, and results that find both.
TRUTH: dict[str, Any] = {
    "info": {"description": "two objects"},
    "images": [
        {"id": 7, "file_name": "pier.jpg", "width": 100, "height": 50, "neg_category_ids": [5],
         "not_exhaustive_category_ids": [3], "crowdIndex": 0.1},
        {"id": 9, "file_name": "fog.jpg", "width": 20, "height": 10, "neg_category_ids": [],
         "not_exhaustive_category_ids": [], "crowdIndex": 0.9},
    ],
    "categories": [
        {"id": 3, "name": "boat", "frequency": "r", "keypoints": [f"p{i}" for i in range(17)], "skeleton": [[1, 2]]},
        {"id": 5, "name": "gull", "frequency": "f", "keypoints": [f"p{i}" for i in range(17)], "skeleton": [[1, 2]]},
    ],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 20], "area": 400, "iscrowd": 0,
         "segmentation": [[10, 10, 30, 10, 30, 30, 10, 30]], **POSE},
        {"id": 2, "image_id": 7, "category_id": 5, "bbox": [50, 5, 10, 10], "area": 100, "iscrowd": 0,
         "segmentation": {"size": [50, 100], "counts": [2505, 10, 40, 10, 2435]}, **POSE},
    ],
}  # fmt: skip
RESULTS: list[dict[str, Any]] = [
    {"image_id": 7, "category_id": 3, "bbox": [10, 10, 20, 20], "score": 0.9, "keypoints": POSE["keypoints"],
     "segmentation": mask.frPyObjects([[10, 10, 30, 10, 30, 30, 10, 30]], 50, 100)[0]},
    {"image_id": 7, "category_id": 5, "bbox": [50, 5, 10, 10], "score": 0.5, "keypoints": POSE["keypoints"],
     "segmentation": mask.frPyObjects({"size": [50, 100], "counts": [2505, 10, 40, 10, 2435]}, 50, 100)},
]  # fmt: skip


def use_pycocotools(chance: random.Random, truth: Any, results: Any) -> None:
    known = COCO()
    known.dataset = truth
    known.createIndex()
    done = COCOeval(known, known.loadRes(results), chance.choice(["bbox", "segm", "keypoints"]))
    done.evaluate()
    if chance.random() < 0.3:
        assert [done.evalImgs, done.ious]
    done.accumulate()
    done.summarize()


def use_faster(chance: random.Random, truth: Any, results: Any) -> None:
    known = faster.COCO(truth, use_deepcopy=chance.random() < 0.3)
    found = known.loadRes(results, min_score=chance.choice([0.0, 0.3]))
    kind = chance.choice(["bbox", "segm", "boundary", "keypoints", "keypoints_crowd"])
    flags = {name: chance.random() < 0.3 for name in ("extra_calc", "lvis_style", "separate_eval", "use_area")}
    done = faster.COCOeval_faster(known, found, kind, **flags)
    done.run()
    assert done.stats_as_dict
    assert kind.startswith("keypoints") or done.extended_metrics


def use_extra(chance: random.Random, truth: Any, results: Any) -> None:
    known = faster.COCO(truth)
    settings: dict[str, Any] = {
        "iouType": chance.choice(["bbox", "segm", "keypoints"]),
        "min_score": chance.choice([0, 0.3]),
        "iou_tresh": 0.5,
        "useCats": chance.random() < 0.5,
    }
    found = known.loadRes(results)
    curves = Curves(known, found, **settings)
    curves.build_curve("class")
    curves.build_ced_curve()
    shown = PreviewResults(known, found, **settings)
    shown.compute_confusion_matrix()
    dict(shown.fp_image_ann_map)
    dict(shown.fn_image_ann_map)


def use_lvis(chance: random.Random, truth: Any, results: Any) -> None:
    known = lvis.LVIS(truth)
    found = lvis.LVISResults(known, results, max_dets=chance.choice([300, 1, -1]))
    done = lvis.LVISEval(known, found, chance.choice(["bbox", "segm"]))
    done.evaluate()
    if chance.random() < 0.3:
        assert [done.eval_imgs, done.ious]
    done.accumulate()
    done.summarize()
    done.print_results()
    found.get_top_results(7, 0.6)


def make_masks() -> dict[str, Any]:
    """An outline, runs, masks and boxes, as functions of masks take them."""
    first, second = TRUTH["annotations"]
    boxes = [first["bbox"], second["bbox"]]
    return copy.deepcopy({
        "polygons": first["segmentation"],
        "runs": second["segmentation"],
        "masks": [one["segmentation"] for one in RESULTS],
        "boxes": boxes,
    })  # fmt: skip


def use_masks(chance: random.Random, polygons: Any, runs: Any, masks: Any, boxes: Any) -> None:
    module = chance.choice([mask, _mask])
    drawn = [*module.frPyObjects(polygons, 50, 100), module.frPyObjects(runs, 50, 100)]
    module.iou(masks, drawn, [0, 1])
    module.iou(boxes, np.array([[10.0, 10, 20, 20]]), [0])
    module.frPyObjects(boxes, 50, 100)
    module.merge(masks, chance.randrange(2))
    module.area(masks)
    module.toBbox(masks)
    pixels = module.decode(masks)
    module.encode(np.asfortranarray(pixels))


def use_masks_of_faster(chance: random.Random, polygons: Any, runs: Any, masks: Any, boxes: Any) -> None:
    records = [{"image_id": 7, "segmentation": one} for one in (polygons, runs)]
    faster_mask.calculateRleForAllAnnotations(records, {7: (50, 100)}, True, chance.random() < 0.5, 0.02, 1)
    faster_mask.area([one["rle"] for one in records])
    faster_mask.rleToBoundary(faster_mask.segmToRle(chance.choice([polygons, runs]), 100, 50))
    faster_mask.iou(boxes, boxes, [0, 0])
    faster_mask.merge(masks)


def make_batch() -> dict[str, Any]:
    """Two objects in an image, as metrics of torchmetrics are given them."""
    item = {"boxes": np.array(BOXES), "labels": np.array([1, 2]), "masks": np.ones((2, 4, 5), bool),
            "keypoints": np.ones((2, 17, 3))}  # fmt: skip
    truth = {**item, "iscrowd": np.zeros(2, int), "area": np.array([400.0, 100.0])}
    return {"preds": [{**item, "scores": np.array([0.9, 0.5])}], "target": [truth]}


def use_torchmetrics(chance: random.Random, preds: Any, target: Any) -> None:
    kind = chance.choice(["bbox", "segm", ("bbox", "segm"), "keypoints", "boundary"])
    settings = {name: chance.random() < 0.3 for name in ("class_metrics", "extended_summary")}
    metric = MeanAveragePrecision(iou_type=kind, average=chance.choice(["macro", "micro"]), **settings)
    metric.update(preds, target)
    metric.compute()


@cache
def yolo_dataset() -> tempfile.TemporaryDirectory[str]:
    """The demo as YOLO has it; the folder is there until the process ends."""
    folder = tempfile.TemporaryDirectory()
    vt.write(vt.read(DEMO / "truth.json"), Path(folder.name) / "data", "yolo")
    shutil.copytree(DEMO / "images", Path(folder.name) / "data" / "images")
    return folder


def make_validator() -> dict[str, Any]:
    """A validator of Ultralytics, with two predictions."""
    rows = [{"image_id": "harbour-1018", "category_id": i + 1, "bbox": [10.0, 10, 20, 20], "score": 0.5}
            for i in range(2)]  # fmt: skip
    place = Path(yolo_dataset().name) / "data" / "data.yaml"
    return {
        "validator": SimpleNamespace(
            data={"yaml_file": str(place)}, args=SimpleNamespace(split="val"), class_map=list(range(1, 9)), jdict=rows
        )
    }


def use_ultralytics(chance: random.Random, validator: Any) -> None:
    vt.coco(*read_validation(validator), checks="warn")


def make_pair() -> dict[str, Any]:
    """Ground truth and results, which clients may change in place."""
    return copy.deepcopy({"truth": TRUTH, "results": RESULTS})


# What every module of `verite.compat` is given, and what a client does with it.
Example = tuple[Callable[[], dict[str, Any]], Callable[..., None]]
EXAMPLES: dict[str, Example] = {
    "pycocotools.coco": (make_pair, use_pycocotools),
    "pycocotools.cocoeval": (make_pair, use_pycocotools),
    "pycocotools.mask": (make_masks, use_masks),
    "pycocotools._mask": (make_masks, use_masks),
    "faster_coco_eval.core.coco": (make_pair, use_faster),
    "faster_coco_eval.core.faster_eval_api": (make_pair, use_faster),
    "faster_coco_eval.core.mask": (make_masks, use_masks_of_faster),
    "faster_coco_eval.extra.curves": (make_pair, use_extra),
    "faster_coco_eval.extra.display": (make_pair, use_extra),
    "faster_coco_eval.extra.extra": (make_pair, use_extra),
    "lvis": (make_pair, use_lvis),
    "torchmetrics": (make_batch, use_torchmetrics),
    "ultralytics": (make_validator, use_ultralytics),
}
OURS = {"ultralytics"}  # stands in for nothing: its errors are verite's
# Parts of others, which have no name in the packages that they stand in for.
PARTS = {"pycocotools.preparation", "pycocotools.steps"}


def modules() -> set[str]:
    """Return the names of all modules below `verite.compat` that are no package."""
    found = pkgutil.walk_packages(compat.__path__, "verite.compat.")
    return {one.name.removeprefix("verite.compat.") for one in found if not one.ispkg} - PARTS


def spoil_the_drop_in(chance: random.Random) -> str:
    """One of the modules, given data of which one value is spoiled."""
    name = chance.choice(sorted(EXAMPLES))
    make, use = EXAMPLES[name]
    given = make()
    key = chance.choice(sorted(given))
    given[key] = worse_value(given[key], chance)
    with redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            use(chance, **given)
        except vt.VeriteError:
            return "refused"
        except AS_PYTHON as error:
            if name not in OURS:
                return "refused"
            return f"undocumented {type(error).__name__}: {error}: {name}({key})"
        except Exception as error:
            return f"undocumented {type(error).__name__}: {error}: {name}({key})"
    return "number"
