"""The classes of the lvis package: LVIS, LVISResults and LVISEval, with its thirteen numbers.

`evaluate`, `accumulate` and `summarize` (or `run`) have the numbers of lvis 0.5 to the last bit. Matching and
accumulation are verite's; `eval_imgs` and `ious` are made when they are looked at, and are what is accumulated then.
"""

from __future__ import annotations

import copy
import datetime
import logging
import os
from collections import OrderedDict, defaultdict
from functools import cached_property
from typing import Any

import numpy as np

from verite.compat.pycocotools import _mask, mask, steps
from verite.compat.pycocotools.coco import COCO, NoResults, Record, complete, read_json, values_of
from verite.compat.pycocotools.preparation import Params as CocoParams
from verite.compat.pycocotools.preparation import Prepared, prepare_sides
from verite.errors import BadParameter, DataError
from verite.evaluation.evaluation import Rules
from verite.protocols.coco import HIGHEST

__all__ = ["LVIS", "LVISEval", "LVISResults"]


# Keys of one image of COCOeval, and lvis' names for them.
NAMES = {
    "dtIds": "dt_ids",
    "gtIds": "gt_ids",
    "dtMatches": "dt_matches",
    "gtMatches": "gt_matches",
    "dtScores": "dt_scores",
    "gtIgnore": "gt_ignore",
    "dtIgnore": "dt_ignore",
}


class LVIS:
    """Annotations of an LVIS file, or of a dictionary in its layout."""

    def __init__(self, annotation_path: Any) -> None:
        self.logger = logging.getLogger("lvis")
        self.dataset = self._load_json(annotation_path)
        if not isinstance(self.dataset, dict):
            raise AssertionError(f"Annotation file format {type(self.dataset)} not supported.")
        self._create_index()

    def _load_json(self, path: Any) -> Any:
        return read_json(path) if isinstance(path, (str, os.PathLike)) else path

    def _create_index(self) -> None:
        """Find everything by id."""
        coco = COCO()
        coco.dataset = self.dataset
        coco.index()
        self.anns, self.cats, self.imgs = coco.anns, coco.cats, coco.imgs
        self.img_ann_map, self.cat_img_map = coco.imgToAnns, coco.catToImgs

    @property
    def imgToAnns(self) -> Any:  # noqa: N802 - as COCO calls it
        """The same as `img_ann_map`."""
        return self.img_ann_map

    def get_ann_ids(self, img_ids: Any = None, cat_ids: Any = None, area_rng: Any = None) -> list[Any]:
        """Ids of the annotations in these images, of these classes, between these areas (above 0 if either is set)."""
        if img_ids is None:
            found = self.dataset["annotations"]
        else:
            found = [one for image in img_ids for one in self.img_ann_map.get(image, ())]
        if cat_ids is None and area_rng is None:
            return [one["id"] for one in found]
        low, high = (0, float("inf")) if area_rng is None else area_rng
        classes = set(self.cats if cat_ids is None else cat_ids)
        return [one["id"] for one in found if one["category_id"] in classes and low < one["area"] < high]

    def get_cat_ids(self) -> list[Any]:
        """Ids of all classes."""
        return list(self.cats)

    def get_img_ids(self) -> list[Any]:
        """Ids of all images."""
        return list(self.imgs)

    def load_anns(self, ids: Any = None) -> list[Record]:
        """Annotations with these ids, or all."""
        return list(self.anns.values()) if ids is None else [self.anns[one] for one in ids]

    def load_cats(self, ids: Any) -> list[Record]:
        """Classes with these ids, or all."""
        return list(self.cats.values()) if ids is None else [self.cats[one] for one in ids]

    def load_imgs(self, ids: Any) -> list[Record]:
        """Images with these ids, or all."""
        return list(self.imgs.values()) if ids is None else [self.imgs[one] for one in ids]

    def download(self, save_dir: Any, img_ids: Any = None) -> None:
        """Not offered: verite never opens a connection."""
        raise BadParameter("download: verite opens no connections; fetch the images with another tool")

    def ann_to_rle(self, ann: Record) -> Record:
        """The mask of an annotation, drawn from polygons where there is none."""
        image, outline = self.imgs[ann["image_id"]], ann["segmentation"]
        if isinstance(outline, list):
            return mask.merge(mask.frPyObjects(outline, image["height"], image["width"]))
        if _mask.has_plain_runs(outline):
            return mask.frPyObjects(outline, image["height"], image["width"])  # type: ignore[no-any-return]
        return outline  # type: ignore[no-any-return]

    def ann_to_mask(self, ann: Record) -> Any:
        """The pixels of an annotation."""
        return mask.decode(self.ann_to_rle(ann))


class LVISResults(LVIS):
    """Results on the images of a ground truth.

    Parameters
    ----------
    lvis_gt
        The ground truth, or its path.
    results
        A path or a list of records; records of a list are completed in place (id, area).
    max_dets
        The number of results per image that count, over all classes; below 0 all.
    """

    def __init__(self, lvis_gt: Any, results: Any, max_dets: int = 300) -> None:
        self.logger = logging.getLogger("lvis")
        if not isinstance(lvis_gt, (LVIS, str, os.PathLike)):
            raise TypeError(f"Unsupported type {lvis_gt} of lvis_gt.")
        truth = lvis_gt.dataset if isinstance(lvis_gt, LVIS) else self._load_json(lvis_gt)
        records = self._load_json(results)
        if not isinstance(records, list):
            raise AssertionError("results is not a list.")
        if not records:
            raise NoResults("results: expected at least one record, found an empty list; nothing was detected")
        values_of(records, "image_id", "results")
        if max_dets >= 0:
            records = self.limit_dets_per_image(records, max_dets)
        kind = next((key for key in ("bbox", "segmentation") if key in records[0]), "")
        crowds = [one.get("iscrowd") for one in records]
        complete(records, kind)
        for one, crowd in zip(records, crowds, strict=True):
            if crowd is None:  # COCO's results have it, LVIS' have not
                one.pop("iscrowd", None)
        self.dataset = {key: copy.deepcopy(value) for key, value in truth.items() if key != "annotations"}
        self.dataset["annotations"] = records
        self._create_index()
        if not {one["image_id"] for one in records} <= set(self.imgs):
            raise AssertionError("Results do not correspond to current LVIS set.")

    def limit_dets_per_image(self, anns: list[Record], max_dets: int) -> list[Record]:
        """Return the records of highest confidence of each image, images in the order in which they occur."""
        by_image: dict[Any, list[Record]] = defaultdict(list)
        for one in anns:
            by_image[one["image_id"]].append(one)
        for image, records in by_image.items():
            if len(records) > max_dets:
                by_image[image] = sorted(records, key=lambda one: one["score"], reverse=True)[:max_dets]
        return [one for records in by_image.values() for one in records]

    def get_top_results(self, img_id: Any, score_thrs: float) -> list[Record]:
        """Return the results on an image above a confidence."""
        return [one for one in self.load_anns(self.get_ann_ids(img_ids=[img_id])) if one["score"] > score_thrs]


class Params:
    """Evaluation parameters, under lvis' names."""

    def __init__(self, iou_type: str) -> None:
        base = CocoParams(iou_type)
        self.img_ids: list[Any] = []
        self.cat_ids: list[Any] = []
        self.iou_thrs, self.rec_thrs = base.iouThrs, base.recThrs
        self.max_dets = 300
        self.area_rng, self.area_rng_lbl = base.areaRng, base.areaRngLbl
        self.use_cats = 1
        self.img_count_lbl = ["r", "c", "f"]
        self.iou_type = iou_type

    def as_coco(self) -> CocoParams:
        """Return the same in pycocotools' names; all detections count."""
        p = CocoParams(self.iou_type)
        p.imgIds, p.catIds = list(self.img_ids), list(self.cat_ids)
        p.iouThrs, p.recThrs, p.areaRng, p.areaRngLbl = self.iou_thrs, self.rec_thrs, self.area_rng, self.area_rng_lbl
        p.maxDets = [2**31 - 1]
        return p


class LVISEval:
    """LVIS' thirteen numbers: ``run()``, or ``evaluate()``, ``accumulate()`` and ``summarize()``.

    Parameters
    ----------
    lvis_gt
        The ground truth, or its path.
    lvis_dt
        Results, their path or a list of records.
    iou_type
        ``segm`` or ``bbox``.
    """

    def __init__(self, lvis_gt: Any, lvis_dt: Any, iou_type: str = "segm") -> None:
        self.logger = logging.getLogger("lvis")
        if iou_type not in ("bbox", "segm"):
            raise ValueError(f"iou_type: {iou_type} is not supported.")
        if not isinstance(lvis_gt, (LVIS, str)):
            raise TypeError(f"Unsupported type {lvis_gt} of lvis_gt.")
        if not isinstance(lvis_dt, (LVISResults, str, list)):
            raise TypeError(f"Unsupported type {lvis_dt} of lvis_dt.")
        self.lvis_gt = lvis_gt if isinstance(lvis_gt, LVIS) else LVIS(lvis_gt)
        self.lvis_dt = lvis_dt if isinstance(lvis_dt, LVISResults) else LVISResults(self.lvis_gt, lvis_dt)
        self.params = Params(iou_type)
        self.params.img_ids = sorted(self.lvis_gt.get_img_ids())
        self.params.cat_ids = sorted(self.lvis_gt.get_cat_ids())
        self.eval: Record = {}
        self.results: OrderedDict[str, float] = OrderedDict()
        self.freq_groups: list[list[int]] = []
        self._evaluated: CocoParams | None = None
        self._prepared: Prepared | None = None

    def evaluate(self) -> None:
        """Match results with the ground truth."""
        if not self.params.use_cats:
            raise BadParameter("use_cats: expected 1, found 0; lvis compares nothing then")
        self.params.img_ids = list(np.unique(self.params.img_ids))
        p = self.params.as_coco()
        for name in ("eval_imgs", "ious", "_gts", "_dts"):
            vars(self).pop(name, None)
        self.freq_groups = self._prepare_freq_group()
        missing = next((one for one in self.params.img_ids if "neg_category_ids" not in self.lvis_gt.imgs[one]), None)
        if missing is not None:
            raise DataError(f"images: expected neg_category_ids, as LVIS has them, found none of image {missing}")
        self._evaluated, self._prepared, self.eval = p, None, {}
        if len(p.imgIds) and len(p.catIds):
            rules = Rules(
                thresholds=tuple(min(float(one), HIGHEST) for one in p.iouThrs),
                similarity="box" if p.iouType == "bbox" else "mask",
                ranges=tuple((float(low), float(high)) for low, high in p.areaRng),
                recalls=tuple(map(float, p.recThrs)),
                ignored=("ignore",),
                repeats_quirks=True,
                drops_flat=True,
            )
            self._prepared = prepare_sides(self.lvis_gt, self.lvis_dt, p, rules, federated=True)  # type: ignore[arg-type]

    def _prepare_freq_group(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.params.img_count_lbl]
        for i, one in enumerate(self.lvis_gt.load_cats(self.params.cat_ids)):
            found[self.params.img_count_lbl.index(one["frequency"])].append(i)
        return found

    @cached_property
    def img_nel(self) -> dict[Any, list[Any]]:
        """Classes of each image that are not annotated exhaustively."""
        images = self.lvis_gt.load_imgs(self.params.img_ids)
        return {one["id"]: one["not_exhaustive_category_ids"] for one in images}

    @cached_property
    def _gts(self) -> dict[Any, list[Record]]:
        """Annotations by image and class."""
        return self._group(self.lvis_gt)

    @cached_property
    def _dts(self) -> dict[Any, list[Record]]:
        """Results by image and class, of those that count."""
        found = self._group(self.lvis_dt)
        absent = {one["id"]: one["neg_category_ids"] for one in self.lvis_gt.load_imgs(self.params.img_ids)}
        dropped = [key for key in found if key not in self._gts and key[1] not in absent[key[0]]]
        for key in dropped:
            del found[key]
        return found

    def _group(self, side: LVIS) -> dict[Any, list[Record]]:
        found: dict[Any, list[Record]] = defaultdict(list)
        for one in side.load_anns(side.get_ann_ids(img_ids=self.params.img_ids, cat_ids=self.params.cat_ids or None)):
            if self.params.iou_type == "segm":
                one["segmentation"] = side.ann_to_rle(one)
            if side is self.lvis_gt:
                one.setdefault("ignore", 0)
            found[one["image_id"], one["category_id"]].append(one)
        return found

    def _get_gt_dt(self, img_id: Any, cat_id: Any) -> tuple[list[Record], list[Record]]:
        return self._gts.get((img_id, cat_id), []), self._dts.get((img_id, cat_id), [])

    @cached_property
    def ious(self) -> dict[Any, Any]:
        """For each image and class the IoU of results (by falling confidence) with annotations."""
        p = self.params
        return {(image, one): self.compute_iou(image, one) for image in p.img_ids for one in p.cat_ids}

    def compute_iou(self, img_id: Any, cat_id: Any) -> Any:
        """Return the IoU of the results of an image and class with its annotations; empty if there is nothing."""
        truths, results = self._get_gt_dt(img_id, cat_id)
        if not truths and not results:
            return []
        key = "segmentation" if self.params.iou_type == "segm" else "bbox"
        ranked = steps.rank(results, len(results))
        return mask.iou([one[key] for one in ranked], [one[key] for one in truths], [0] * len(truths))

    @cached_property
    def eval_imgs(self) -> list[Record | None]:
        """For each class, area range and image a dictionary of matches, or None where there is nothing."""
        return [
            self.evaluate_img(image, label, area)
            for label in self.params.cat_ids
            for area in self.params.area_rng
            for image in self.params.img_ids
        ]

    def evaluate_img(self, img_id: Any, cat_id: Any, area_rng: Any) -> Record | None:
        """Return the matches of one image, class and area range: an entry of `eval_imgs`."""
        truths, results = self._get_gt_dt(img_id, cat_id)
        if not truths and not results:
            return None
        own = [{**one, "iscrowd": 0} for one in truths]
        p = self._evaluated or self.params.as_coco()
        found = steps.match(own, results, self.ious[img_id, cat_id], p, area_rng, len(results))
        ranked = steps.rank(results, len(results))
        is_ignored = np.array([one["category_id"] in self.img_nel[img_id] for one in ranked], dtype=np.bool_)
        found["dtIgnore"] = found["dtIgnore"] | ((found["dtMatches"] == 0) & is_ignored)
        return {
            "image_id": img_id,
            "category_id": cat_id,
            "area_rng": area_rng,
            **{NAMES[key]: value for key, value in found.items()},
        }

    def accumulate(self) -> None:
        """Precision and recall of every threshold, recall, class and area range."""
        if self._evaluated is None:
            raise BadParameter("accumulate: expected evaluated images, found none; run evaluate() first")
        p = self._evaluated
        if self._prepared is not None and "eval_imgs" not in vars(self):
            precision, recall, _ = self._prepared.evaluation.kept.arrays(-1.0)
        else:
            back = {theirs: ours for ours, theirs in NAMES.items()}
            images = [one and {back.get(key, key): value for key, value in one.items()} for one in self.eval_imgs]
            precision, recall, _ = steps.accumulate_images(images, p, p)
        self.eval = {
            "params": self.params,
            "counts": [precision.shape[0], precision.shape[1], precision.shape[2], precision.shape[3]],
            "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S"),
            "precision": precision[..., 0],
            "recall": recall[..., 0],
        }

    def _summarize(
        self, summary_type: str, iou_thr: float | None = None, area_rng: str = "all", freq_group_idx: int | None = None
    ) -> float:
        """Return the mean of the defined values; -1 if there are none."""
        p = self.params
        values = self.eval["precision" if summary_type == "ap" else "recall"]
        if iou_thr is not None:
            values = values[np.where(iou_thr == np.asarray(p.iou_thrs))[0]]
        values = values[..., [i for i, label in enumerate(p.area_rng_lbl) if label == area_rng]]
        if summary_type == "ap" and freq_group_idx is not None:
            values = values[:, :, self.freq_groups[freq_group_idx]]
        present = values[values > -1]
        return float(np.mean(present)) if len(present) else -1

    def summarize(self) -> None:
        """Fill `results` with the thirteen numbers."""
        if not self.eval:
            raise RuntimeError("Please run accumulate() first.")
        areas = ("small", "medium", "large")
        found = {"AP": self._summarize("ap")}
        found |= {f"AP{round(100 * iou)}": self._summarize("ap", iou_thr=iou) for iou in (0.5, 0.75)}
        found |= {f"AP{area[0]}": self._summarize("ap", area_rng=area) for area in areas}
        found |= {f"AP{one}": self._summarize("ap", freq_group_idx=i) for i, one in enumerate("rcf")}
        found[f"AR@{self.params.max_dets}"] = self._summarize("ar")
        found |= {f"AR{area[0]}@{self.params.max_dets}": self._summarize("ar", area_rng=area) for area in areas}
        self.results.update(found)

    def run(self) -> None:
        """Evaluate, accumulate and summarize."""
        self.evaluate()
        self.accumulate()
        self.summarize()

    def print_results(self) -> None:
        """Print the numbers."""
        p = self.params
        for key, value in self.results.items():
            title, kind = ("Average Precision", "(AP)") if "AP" in key else ("Average Recall", "(AR)")
            suffix = key[2:3]
            iou = f"{p.iou_thrs[0]:0.2f}:{p.iou_thrs[-1]:0.2f}"
            iou = f"{float(key[2:]) / 100:0.2f}" if suffix.isdigit() else iou
            area = suffix if suffix and suffix in "sml" else "all"
            group = suffix if suffix and suffix in "rcf" else "all"
            head = f" {title:<18} {kind} @[ IoU={iou:<9} | area={area:>6s} | maxDets={p.max_dets:>3d}"
            print(f"{head} catIds={group:>3s}] = {value:0.3f}")

    def get_results(self) -> OrderedDict[str, float]:
        """Return the numbers by name."""
        if not self.results:
            self.logger.warning("results is empty. Call run().")
        return self.results
