"""COCOeval_faster of faster-coco-eval: COCO's numbers for any area ranges and limits, LVIS style, keypoint sigmas.

Beyond pycocotools it has names for the numbers (`stats_as_dict`), precision and recall per class at the confidence of
highest macro F1 (`extended_metrics`), marks in the annotations (`math_matches`: tp, fp, fn) and two more means (mIoU,
mAUC). Matching and accumulation are verite's.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from verite.compat.faster_coco_eval.core.coco import COCO
from verite.compat.pycocotools import cocoeval as base
from verite.compat.pycocotools import preparation, steps
from verite.compat.pycocotools.preparation import copy_params, fits_core, has_own_ways, prepare_closed, prepare_sides
from verite.errors import BadParameter

logger = logging.getLogger(__name__)

ARRAYS = ("precision", "recall", "scores")

RANGES: dict[str, list[float]] = {"small": [0, 1024], "medium": [1024, 9216], "large": [9216, 1e10]}

DETECTIONS = ("segm", "bbox", "boundary")

KEYPOINTS = ("keypoints", "keypoints_crowd")

# Precision of a true positive without any false one: pycocotools adds an epsilon below, faster-coco-eval does not. With
# two detections and more the epsilon is rounded away.
ONE_OF_ONE = 1 / (1 + np.spacing(1))

BOX_SHARE = 0.53  # of the box, for the area of a person that has none


class Params(preparation.Params):
    """Evaluation parameters, under pycocotools' names and in snake case.

    Parameters
    ----------
    iouType
        ``segm``, ``bbox``, ``boundary``, ``keypoints`` or ``keypoints_crowd``.
    kpt_sigmas
        OKS sigmas; COCO's seventeen by default.
    ranges
        Names and bounds of area ranges besides ``all``.
    """

    def __init__(self, iouType: str = "segm", kpt_sigmas: Any = None, ranges: Any = None) -> None:  # noqa: N803
        if iouType not in (*DETECTIONS, *KEYPOINTS):
            raise TypeError(f"iouType: expected one of {', '.join((*DETECTIONS, *KEYPOINTS))}, found {iouType!r}")
        self.iouType = iouType
        if iouType in KEYPOINTS:
            self.setKpParams()
            if kpt_sigmas is not None:
                self.kpt_oks_sigmas = np.array(kpt_sigmas)
        else:
            self.setDetParams(ranges)
        self.imgCountLbl = ["r", "c", "f"]

    def setDetParams(self, ranges: Mapping[str, Sequence[float]] | None = None) -> None:  # noqa: N802
        """Boxes and masks."""
        super().setDetParams()
        ranges = RANGES if ranges is None else ranges
        self.areaRng = [[0, 1e10], *(list(bounds) for bounds in ranges.values())]
        self.areaRngLbl = ["all", *ranges]
        if ranges and (min(low for low, _ in ranges.values()) > 0 or max(high for _, high in ranges.values()) < 1e10):
            logger.warning("ranges: expected bounds from 0 to 1e10, found %s; objects outside count in none", ranges)

    @property
    def compute_rle(self) -> bool:
        """Whether masks are compared."""
        return self.iouType in ("segm", "boundary")

    @property
    def compute_boundary(self) -> bool:
        """Whether boundaries are compared."""
        return self.iouType == "boundary"

    @property
    def useSegm(self) -> int:  # noqa: N802
        """1 for masks; deprecated by pycocotools."""
        return int(self.iouType == "segm")

    @useSegm.setter
    def useSegm(self, value: int) -> None:  # noqa: N802
        logger.warning("useSegm is deprecated; set iouType")
        self.iouType = "segm" if value == 1 else "bbox"


def same_as(name: str) -> Any:
    """Return a property in snake case."""
    return property(lambda params: getattr(params, name), doc=f"The same as `{name}`.")


SNAKE_CASE = {
    "iou_type": "iouType",
    "img_ids": "imgIds",
    "cat_ids": "catIds",
    "iou_thrs": "iouThrs",
    "rec_thrs": "recThrs",
    "max_dets": "maxDets",
    "area_rng": "areaRng",
    "area_rng_lbl": "areaRngLbl",
    "use_cats": "useCats",
    "img_count_lbl": "imgCountLbl",
}
for alias, name in SNAKE_CASE.items():
    setattr(Params, alias, same_as(name))


class Accumulated(dict[str, Any]):
    """Precision, recall and scores; `matched` is computed on first access."""

    def __init__(self, values: Mapping[str, Any], find_matches: Callable[[], dict[str, float]]) -> None:
        super().__init__(values)
        self.find_matches = find_matches

    def __missing__(self, key: str) -> Any:
        if key != "matched":
            raise KeyError(key)
        self[key] = self.find_matches()
        return self[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self["matched"] if key == "matched" else super().get(key, default)

    def __reduce_ex__(self, protocol: object) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, ({**self, "matched": self["matched"]},)


class COCOeval_faster(base.COCOeval):  # noqa: N801 - the name is faster-coco-eval's
    """COCO's numbers for detections on a ground truth: ``evaluate()``, ``accumulate()``, ``summarize()``, or ``run()``.

    Parameters
    ----------
    cocoGt, cocoDt
        Ground truth and detections.
    iouType
        ``segm``, ``bbox``, ``boundary``, ``keypoints`` or ``keypoints_crowd`` (CrowdPose).
    ranges
        Names and bounds of area ranges besides ``all``.
    print_function
        Where the summary goes; to the log by default.
    extra_calc
        Whether annotations are marked as tp, fp or fn, and mIoU and mAUC are computed.
    kpt_oks_sigmas
        OKS sigmas; COCO's seventeen by default.
    use_area
        Whether OKS takes the area of annotations, or 53 % of that of their boxes.
    lvis_style
        Whether detections count only where their class is annotated or verified to be absent, with means over rare,
        common and frequent classes.
    separate_eval
        Whether matches are kept per image in `_evalImgs_cpp`, for merging over processes.
    boundary_dilation_ratio
        Width of boundaries as a share of the image diagonal: 0.02 is the one there is.
    boundary_cpu_count, rle_iou_max_workers
        Accepted for compatibility: the number of threads is verite's setting.
    """

    def __init__(
        self,
        cocoGt: Any = None,  # noqa: N803
        cocoDt: Any = None,  # noqa: N803
        iouType: str = "segm",  # noqa: N803
        ranges: Mapping[str, Sequence[float]] | None = None,
        print_function: Callable[..., Any] = logger.info,
        extra_calc: bool = False,
        kpt_oks_sigmas: Any = None,
        use_area: bool | None = True,
        lvis_style: bool = False,
        separate_eval: bool = False,
        boundary_dilation_ratio: float = 0.02,
        boundary_cpu_count: int = 4,
        rle_iou_max_workers: int = 8,
    ) -> None:
        if isinstance(rle_iou_max_workers, bool) or not isinstance(rle_iou_max_workers, int) or rle_iou_max_workers < 1:
            raise ValueError("rle_iou_max_workers must be a positive integer")
        if boundary_dilation_ratio != 0.02:
            raise BadParameter(f"boundary_dilation_ratio: expected 0.02, found {boundary_dilation_ratio}")
        super().__init__(iouType="bbox")
        self.cocoGt, self.cocoDt = cocoGt, cocoDt
        self.params: Params = Params(iouType, kpt_oks_sigmas, ranges)
        self._print_function = print_function
        self.extra_calc, self.matched = extra_calc, False
        self.lvis_style, self.separate_eval, self.use_area = lvis_style, separate_eval, use_area
        self.boundary_dilation_ratio, self.boundary_cpu_count = boundary_dilation_ratio, boundary_cpu_count
        self.rle_iou_max_workers = rle_iou_max_workers
        self.all_stats: Any = np.array([])
        if iouType == "keypoints" and lvis_style:
            logger.warning("lvis_style: not for keypoints; COCO's numbers follow")
            self.lvis_style = False
        if cocoGt is not None:
            self.params.imgIds = sorted(cocoGt.getImgIds())
            self.params.catIds = sorted(cocoGt.catToImgs if iouType == "keypoints" else cocoGt.getCatIds())
        for side in (cocoGt, cocoDt):
            if side is not None and self.print_function is print:
                side.print_function = print

    @property
    def print_function(self) -> Callable[..., Any]:
        """Where messages and the summary go."""
        return self._print_function

    @print_function.setter
    def print_function(self, value: Callable[..., Any]) -> None:
        self._print_function = value

    def evaluate(self) -> None:
        """Match detections with the ground truth."""
        start = time.time()
        p = self.params
        self.print_function(f"Evaluate annotation type *{p.iouType}*")
        p.imgIds = list(np.unique(p.imgIds))
        if p.useCats:
            p.catIds = list(np.unique(p.catIds))
        p.maxDets = sorted(p.maxDets)
        sides = self._sides()
        for name in base.MADE_LATER:
            vars(self).pop(name, None)
        self.eval = {}
        has_area = bool(self.use_area) or p.iouType not in KEYPOINTS
        if not has_area or base.has_own_steps(self) or any(map(has_own_ways, sides)) or not fits_core(p):
            self._evaluate_stepwise()
        elif self.lvis_style:
            # Positions of rare, common and frequent classes.
            truth = sides[0]
            found: list[list[int]] = [[] for _ in p.imgCountLbl]
            for i, label in enumerate(p.catIds):
                found[p.imgCountLbl.index(truth.cats[label]["frequency"])].append(i)
            self.freq_groups = found
            self._prepared = prepare_sides(*sides, p, federated=True)
        else:
            self._prepared = prepare_closed(*sides, p) or prepare_sides(*sides, p)
        self._paramsEval = copy_params(p)
        if self.separate_eval:
            self._evalImgs_cpp = self._images_with_ious()
        self.print_function("COCOeval_opt.evaluate() finished...")
        self.print_function(f"DONE (t={time.time() - start:0.2f}s).")

    def _evaluate_stepwise(self) -> None:
        if self.lvis_style:
            raise BadParameter("lvis_style: expected the classes and steps of faster-coco-eval, found others")
        for side in self._sides():
            for record in side.anns.values():
                if "area" not in record and "bbox" in record:  # as in the evaluation in one pass
                    record["area"] = record["bbox"][2] * record["bbox"][3]
        super()._evaluate_stepwise()

    def _overlaps(self, image: Any, label: Any, p: Any) -> Any:
        truths, detections = (steps.choose_cell(groups, image, label, p) for groups in (self._gts, self._dts))
        if not self.use_area and p.iouType in KEYPOINTS:
            truths = [{**one, "area": one["bbox"][2] * one["bbox"][3] * BOX_SHARE} for one in truths]
        return steps.overlap(truths, detections, p) if truths or detections else []

    def _images_with_ious(self) -> list[Any]:
        """`evalImgs`, each with the IoU of every match (`dtIous`), so that processes can exchange them."""
        found = self.evalImgs
        for one in found:
            if one is not None:
                key = one["image_id"], one["category_id"] if self._paramsEval.useCats else -1
                one["dtIous"] = match_ious(one, self.ious[key], self._truth_ids(*key))
        return list(found)

    def _truth_ids(self, image: Any, label: Any) -> list[Any]:
        return [one["id"] for one in steps.choose_cell(self._gts, image, label, self._paramsEval)]

    def accumulate(self, p: Any = None) -> None:
        """Precision, recall and scores of every threshold, recall, class, area range and number of detections."""
        start = time.time()
        self.print_function("Accumulating evaluation results...")
        if not self._paramsEval:
            raise BadParameter("accumulate: expected evaluated images, found none; run evaluate() first")
        evaluated: Any = self._paramsEval
        if self._prepared is not None and not self.separate_eval:
            arrays = self._prepared.evaluation.kept.arrays(-1.0)
            find_matches = self._find_matches
        else:
            images = self._evalImgs_cpp if self.separate_eval else self.evalImgs
            chosen = copy_params(evaluated)
            chosen.catIds = evaluated.catIds if evaluated.useCats else [-1]
            arrays = steps.accumulate_images(images, chosen, evaluated)
            find_matches = lambda: list_matches(images if self.separate_eval else self._images_with_ious())  # noqa: E731
        precision = arrays[0]
        precision[precision == ONE_OF_ONE] = 1.0
        classes = len(evaluated.catIds) if evaluated.useCats else 1
        axes = (evaluated.iouThrs, evaluated.recThrs, classes, evaluated.areaRng, evaluated.maxDets)
        facts = {
            "params": evaluated,
            "counts": [one if isinstance(one, int) else len(one) for one in axes],
            "date": datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S"),
            **dict(zip(ARRAYS, arrays, strict=True)),
        }
        self.eval = Accumulated(facts, find_matches)
        self.matched = False
        if self.extra_calc:
            self.math_matches()
            self.matched = True
        self.print_function("COCOeval_opt.accumulate() finished...")
        self.print_function(f"DONE (t={time.time() - start:0.2f}s).")

    def _find_matches(self) -> dict[str, float]:
        """The highest IoU of each pair (``"detection_annotation"``) matched at any threshold and in any area range."""
        evaluation = self._everything().evaluation
        layout = evaluation.layout
        offsets, truths, ious = layout.candidates
        is_matched = np.any([(bits != 0).any(axis=1) for bits in layout.matched], axis=0)
        pairs = np.flatnonzero(is_matched)
        owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[pairs]
        pred_ids, truth_ids = evaluation.pred.ids, evaluation.truth.ids
        assert pred_ids is not None
        assert truth_ids is not None
        keys = zip(
            pred_ids[layout.preds[0][owners]].tolist(), truth_ids[layout.truths[0][truths[pairs]]].tolist(), strict=True
        )
        return {f"{pred}_{truth}": iou for (pred, truth), iou in zip(keys, ious[pairs].tolist(), strict=True)}

    def _everything(self) -> Any:
        prepared = self._prepared
        assert prepared is not None
        if prepared.is_closed:
            p = self._paramsEval
            self._prepared = prepare_sides(prepared.truth.coco, prepared.pred.coco, p, federated=self.lvis_style)
        return self._prepared

    def math_matches(self) -> None:
        """Mark detections as `tp` (with `gt_id` and `iou`) or `fp`, and annotations with `dt_id` or as `fn`."""
        truth, pred = self._sides()
        matched = self.eval["matched"]
        for side in (truth, pred):
            for record in side.anns.values():
                for key in ("tp", "fp", "fn", "gt_id", "dt_id", "iou"):
                    record.pop(key, None)
        for key, iou in matched.items():
            pred_id, truth_id = map(int, key.split("_", 1))
            pred.anns[pred_id].update(tp=True, gt_id=truth_id, iou=iou)
            truth.anns[truth_id]["dt_id"] = pred_id
        for side, key, mark in ((pred, "gt_id", "fp"), (truth, "dt_id", "fn")):
            for record in side.anns.values():
                if record.get(key) is None:
                    record[mark] = True

    def compute_mIoU(self) -> float:  # noqa: N802
        """Return the mean IoU of matched pairs; 0 without any."""
        if not self.eval:
            raise RuntimeError("compute_mIoU: expected accumulated results, found none; run accumulate() first")
        matched = self.eval["matched"]
        return sum(matched.values()) / len(matched) if matched else 0.0

    def compute_mAUC(self) -> float:  # noqa: N802
        """Return the mean area under the precision-recall curves at the first threshold, over classes and areas."""
        if not self.eval:
            raise RuntimeError("compute_mAUC: expected accumulated results, found none; run accumulate() first")
        precision = self.eval["precision"]
        found = [
            self.calc_auc(self.params.recThrs, precision[0, :, k, a, :].ravel())
            for k in range(precision.shape[2])
            for a in range(precision.shape[3])
        ]
        present = [auc for auc in found if auc != -1]
        return sum(present) / len(present) if present else 0.0

    @staticmethod
    def calc_auc(recall_list: Any, precision_list: Any, method: str = "c++") -> Any:
        """Return the area under a curve whose precision is made falling; in extended precision unless told otherwise.

        Precisions may outnumber the recalls: those beyond lift the ones before.
        """
        kind = np.longdouble if method == "c++" else np.float64
        recall, precision = np.asarray(recall_list, dtype=kind), np.asarray(precision_list, dtype=kind)
        envelope = np.maximum.accumulate(precision[::-1])[::-1]
        widths = np.diff(recall)
        terms = (widths * envelope[1 : len(recall)])[widths != 0]
        if method != "c++":
            return np.sum(terms)
        total = kind(0)
        for term in terms:  # one after the other, as they are added there
            total += term
        return round(float(total), 15)

    def _summarize(
        self,
        ap: int = 1,
        iouThr: float | None = None,  # noqa: N803
        areaRng: str = "all",  # noqa: N803
        maxDets: int = 100,  # noqa: N803
        freq_group_idx: int | None = None,
        catIds: Any = None,  # noqa: N803
    ) -> float:
        """Return the mean of the defined values and print its line; -1 if there are none."""
        p = self.params
        group = f"catIds={'all':>3s}" if self.lvis_style else ""
        if catIds is not None:
            group = f"catIds=={catIds!s:>3s}"
        if self.lvis_style and freq_group_idx is not None:
            catIds, group = self.freq_groups[freq_group_idx], f"catIds={p.imgCountLbl[freq_group_idx]:>3s}"  # noqa: N806
        values = self.eval["precision" if ap == 1 else "recall"]
        if iouThr is not None:
            values = values[np.where(iouThr == np.asarray(p.iouThrs))[0]]
        values = values[..., p.areaRngLbl.index(areaRng), p.maxDets.index(maxDets)]
        if catIds is not None:
            values = values[..., catIds]
        present = values[values > -1]
        mean = float(np.mean(present)) if len(present) else -1.0
        title, kind = ("Average Precision", "(AP)") if ap == 1 else ("Average Recall", "(AR)")
        iou = f"{p.iouThrs[0]:0.2f}:{p.iouThrs[-1]:0.2f}" if iouThr is None else f"{iouThr:0.2f}"
        line = (
            f" {title:<18} {kind} @[ IoU={iou:<9} | area={areaRng:>6s} | maxDets={maxDets:>3d} {group}] = {mean:0.3f}"
        )
        self.print_function(line)
        return mean

    def summarize(self) -> None:
        """Print all numbers; `all_stats` keeps them, `stats` those that pycocotools has."""
        if not self.eval:
            raise Exception("Please run accumulate() first")
        p = self.params
        most = p.maxDets[-1]
        levels: list[dict[str, Any]] = [{}, {"iouThr": 0.5}, {"iouThr": 0.75}]
        if p.iouType in DETECTIONS:
            areas: list[dict[str, Any]] = [{"areaRng": label} for label in p.areaRngLbl[1:]]
            precision = [self._summarize(1, maxDets=most, **one) for one in (*levels, *areas)]
            groups = [self._summarize(1, maxDets=most, freq_group_idx=i) for i in range(3 * self.lvis_style)]
            recall = [self._summarize(0, maxDets=limit) for limit in p.maxDets]
            recall += (
                [0.0] * (3 - len(recall)) if self.lvis_style else []
            )  # three places in LVIS style, whatever is set
            recall += [self._summarize(0, maxDets=most, **one) for one in areas]
            at_levels = [self._summarize(0, maxDets=most, **one) for one in levels[1:]]
            self.all_stats = np.array(precision + recall + at_levels + groups)
            self.stats = self.all_stats[: len(precision) + len(recall)]
        else:
            areas = [] if p.iouType == "keypoints_crowd" else [{"areaRng": label} for label in ("medium", "large")]
            found = [self._summarize(ap, maxDets=most, **one) for ap in (1, 0) for one in (*levels, *areas)]
            if p.iouType == "keypoints_crowd":
                found += self._summarize_crowdedness()
            self.all_stats = np.array(found)
            self.stats = self.all_stats[:12]
        if self.matched:
            self.all_stats = np.append(self.all_stats, [self.compute_mIoU(), self.compute_mAUC()])

    def _summarize_crowdedness(self) -> list[float]:
        """AP of images with few, some and many overlapping persons, printed."""
        p = self.params
        iou = f"{p.iouThrs[0]:0.2f}:{p.iouThrs[-1]:0.2f}"
        found = self.get_type_result(first=0.2, second=0.8)
        for kind, value in zip(("easy", "medium", "hard"), found, strict=True):
            head = f" {'Average Precision':<18} (AP) @[ IoU={iou:<9} | type={kind:>6s}"
            self.print_function(f"{head} | maxDets={p.maxDets[-1]:>3d} ] = {value:0.3f}")
        return found

    def get_type_result(self, first: float = 0.01, second: float = 0.85) -> list[float]:
        """Return AP of the images of each crowd index: easy (below `first`), medium (below `second`) and hard."""
        found = []
        shown = self.print_function
        self.print_function = lambda *_: None
        for images in self.split(self.cocoGt.annotation_file, first, second):  # type: ignore[union-attr]
            self.params.imgIds = images
            self.evaluate()
            self.accumulate()
            found.append(round(float(np.mean(self.eval["precision"][:, :, :, 0, :])), 4))
        self.print_function = shown
        return found

    def split(self, gt_file: Any, first: float = 0.01, second: float = 0.85) -> tuple[list[Any], list[Any], list[Any]]:
        """Return ids of images by their `crowdIndex`: below `first`, below `second`, and others."""
        found: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        for image in COCO.load_json(gt_file)["images"]:
            found[(image["crowdIndex"] >= first) + (image["crowdIndex"] >= second)].append(image["id"])
        return found

    def run(self) -> None:
        """Evaluate, accumulate and summarize."""
        self.evaluate()
        self.accumulate()
        self.summarize()

    @property
    def stats_as_dict(self) -> dict[str, float]:
        """`all_stats` by name: ``AP_all``, ``AP_50``, ``AR_all``, … ; ``AR_300`` of a limit that was set."""
        p = self.params
        if p.iouType in DETECTIONS:
            limits = [f"AR_{most}" for most in p.maxDets]
            if self.lvis_style or p.maxDets == [1, 10, 100]:
                limits = ["AR_all", "AR_second", "AR_third", *limits[3:]]
            areas = [label for label in p.areaRngLbl if label != "all"]
            labels = ["AP_all", "AP_50", "AP_75", *(f"AP_{one}" for one in areas), *limits]
            labels += [*(f"AR_{one}" for one in areas), "AR_50", "AR_75", *(["APr", "APc", "APf"] * self.lvis_style)]
        else:
            levels = ["all", "50", "75"] + ["medium", "large"] * (p.iouType == "keypoints")
            labels = [f"{kind}_{one}" for kind in ("AP", "AR") for one in levels]
            labels += ["AP_easy", "AP_medium", "AP_hard"] * (p.iouType == "keypoints_crowd")
        if self.matched:
            labels += ["mIoU", f"mAUC_{int(p.iouThrs[0] * 100)}"]
        return dict(zip(labels, map(float, self.all_stats), strict=True))

    @property
    def extended_metrics(self) -> dict[str, Any]:
        """AP per class, with precision and recall at the confidence of highest macro F1, at an IoU of 0.5.

        Returns
        -------
        dict
            ``class_map``: a dictionary per class and one for ``all`` (class, map@50:95, map@50, precision, recall);
            ``map`` (at 0.5), ``precision`` and ``recall``.
        """
        p = self.params
        half = np.flatnonzero(np.isclose(p.iouThrs, 0.5))
        if not len(half):
            raise ValueError(
                f"extended_metrics: expected an IoU threshold of 0.50, found {list(map(float, p.iouThrs))}"
            )
        best = self._best_operating_point()
        shown = []
        for k, label in enumerate(p.catIds if p.useCats else ()):
            values = self.eval["precision"][:, :, k, 0, -1]
            at_half = values[half[0]]
            if label in best and (at_half > -1).any():
                precision, recall = best[label]
                shown.append({
                    "class": self.cocoGt.cats[label]["name"],  # type: ignore[union-attr]
                    "map@50:95": float(values[values > -1].mean()),
                    "map@50": float(at_half[at_half > -1].mean()),
                    "precision": precision,
                    "recall": recall,
                })  # fmt: skip
        means = [float(np.mean([pair[i] for pair in best.values()])) if best else 0.0 for i in (0, 1)]
        stats = self.stats_as_dict
        every = {"class": "all", "map@50:95": stats["AP_all"], "map@50": stats["AP_50"]}
        every |= {"precision": means[0], "recall": means[1]}
        return {"class_map": [*shown, every], "map": stats["AP_50"], "precision": means[0], "recall": means[1]}

    def _best_operating_point(self) -> dict[Any, tuple[float, float]]:
        """Precision and recall of each class with objects, at the lowest confidence of highest macro F1."""
        truth, pred = self._sides()
        hits = {int(key.split("_", 1)[0]) for key, iou in self.eval["matched"].items() if iou >= 0.5}
        positives: dict[Any, int] = defaultdict(int)
        for record in truth.anns.values():
            positives[record["category_id"]] += not record.get("iscrowd", 0)
        by_class: dict[Any, list[tuple[float, bool]]] = defaultdict(list)
        for key, record in pred.anns.items():
            by_class[record["category_id"]].append((float(record["score"]), key in hits))
        p = self.params
        classes = [one for one in (p.catIds if p.useCats else by_class) if positives.get(one)]
        levels = np.unique([score for items in by_class.values() for score, _ in items])
        if not classes or not len(levels):
            return {}
        precision, recall = np.zeros((2, len(classes), len(levels)))
        for i, label in enumerate(classes):
            items = sorted(by_class.get(label, ()), key=lambda one: -one[0])
            scores = np.array([score for score, _ in items])
            found = np.concatenate([[0], np.cumsum([hit for _, hit in items])])
            above = np.searchsorted(-scores, -levels, side="right")
            precision[i] = np.divide(found[above], above, out=np.zeros(len(levels)), where=above > 0)
            recall[i] = found[above] / positives[label]
        both = precision + recall
        f1 = np.divide(2.0 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
        best = int(np.argmax([np.mean(column) for column in f1.T]))
        return {one: (float(precision[i, best]), float(recall[i, best])) for i, one in enumerate(classes)}

    def __repr__(self) -> str:
        from verite.compat.faster_coco_eval import __author__, __version__

        return f"{type(self).__name__}() # __author__='{__author__}'; __version__='{__version__}';"

    def __str__(self) -> str:
        self.summarize()
        return repr(self)


class COCOeval(COCOeval_faster):
    """The same under pycocotools' name: it prints."""

    @property
    def print_function(self) -> Callable[..., Any]:
        """`print`, unless something else was assigned."""
        return getattr(self, "_compat_print_function", print)

    @print_function.setter
    def print_function(self, value: Callable[..., Any]) -> None:
        self._compat_print_function = value


def match_ious(image: Mapping[str, Any], ious: Any, truth_ids: list[Any]) -> Any:
    """Return [threshold, detection] the IoU of each match of an image; 0 for none."""
    matched = np.asarray(image["dtMatches"])
    found = np.zeros(matched.shape)
    place = {float(one): i for i, one in enumerate(truth_ids)}
    for level, row in zip(*np.nonzero(matched), strict=True):
        found[level, row] = ious[row][place[matched[level, row]]]
    return found


def list_matches(images: Sequence[Any]) -> dict[str, float]:
    """Return the highest IoU of each pair that is matched in one of these images."""
    found: dict[str, float] = {}
    for one in images:
        if one is None:
            continue
        matched = np.asarray(one["dtMatches"])
        for level, row in zip(*np.nonzero(matched), strict=True):
            key = f"{one['dtIds'][row]}_{int(matched[level, row])}"
            found[key] = max(found.get(key, 0.0), float(one["dtIous"][level, row]))
    return found
