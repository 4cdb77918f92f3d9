"""Drop-in replacement for torchmetrics' MeanAveragePrecision: the same arguments, keys and numbers, and more of them.

Beyond torchmetrics it takes keypoints, boundaries of masks and rotated boxes, any area ranges, any number of limits of
predictions, and computes LRP, a confusion matrix and values per class and size (`extra`).

It is a `torchmetrics.Metric` if torchmetrics is installed, so that Lightning logs, moves and synchronises it. Neither
torchmetrics nor torch is required: without them it has the same methods, and values are NumPy arrays.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.compat.pycocotools import _mask
from verite.compat.pycocotools._mask import Rle
from verite.compat.pycocotools.coco import COCO, Record
from verite.compat.pycocotools.cocoeval import COCOeval
from verite.errors import BadParameter, DataWarning, excerpt
from verite.evaluation.settings import On
from verite.formats.memory import whole_numbers
from verite.model.regions import ANGLES

Array = NDArray[Any]
Item = Mapping[str, Any]
Computed = dict[str, Any]  # torchmetrics' keys; arrays and, after `compute`, tensors
FORMATS = ("xyxy", "xywh", "cxcywh")
SHAPES = {"bbox": "boxes", "segm": "masks", "boundary": "masks", "keypoints": "keypoints", "rotated": "boxes"}
ON: dict[str, On] = {
    "bbox": "box",
    "segm": "mask",
    "boundary": "boundary",
    "keypoints": "keypoints",
    "rotated": "rotated",
}
EXTRA = ("lrp", "confusion", "sizes")
# Of all images one behind the other: a row an object, a byte a letter of a mask, and how many of them an image has.
STATES = tuple(
    f"{side}_{name}"
    for side, more in (("detection", ("scores",)), ("groundtruth", ("crowds", "area")))
    for name in ("counts", "box", "labels", *more, "mask_sizes", "mask_lengths", "mask_letters", "keypoints")
)


AREAS = {"small": (0.0, 1024.0), "medium": (1024.0, 9216.0), "large": (9216.0, 1e10)}

NO_NUMBERS = "what follows means nothing: to pycocotools, and so here, a box of NaN overlaps everything"


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Arrays of an evaluation in pycocotools' shapes, -1 for what is absent, and what they are made of on request."""

    thresholds: Array
    precision: Array  # [threshold, recall, class, area range, limit]
    recall: Array  # [threshold, class, area range, limit]
    scores: Array
    ious: Callable[[], dict[Any, Any]]
    sides: Callable[[], tuple[Any, Any]]

    def mean(
        self,
        kind: str,
        *,
        iou: float | None = None,
        area: int = 0,
        limits: Sequence[int | None] = (-1,),
        label: int | None = None,
    ) -> float:
        """Return the mean at a threshold, in an area range, at a limit and of a class; -1 where nothing is."""
        values = getattr(self, kind)
        if iou is not None:
            values = values[np.flatnonzero(self.thresholds == iou)]
        values = values[..., area, [limit for limit in limits if limit is not None]]
        if label is not None:
            values = values[..., label, :]
        present = values[values > -1]
        return float(present.mean()) if len(present) else -1.0


class Collector:
    """The base class if torchmetrics is not installed: the methods of `torchmetrics.Metric` that loops call."""

    def __init__(self, **kwargs: Any) -> None:
        if kwargs:
            raise BadParameter(
                f"MeanAveragePrecision: expected no {sorted(kwargs)[0]!r} without torchmetrics installed"
            )

    def add_state(self, name: str, default: list[Any], dist_reduce_fx: str | None = None) -> None:
        setattr(self, name, list(default))

    def reset(self) -> None:
        """Remove all collected batches."""
        for name in STATES:
            setattr(self, name, [])

    def merge_state(self, incoming_state: Any) -> None:
        """Merge nothing further: all data are in the states."""

    def forward(self, preds: Any, target: Any) -> Any:
        """Add a batch, and return the metric of this batch alone."""
        alone = object.__new__(type(self))
        alone.__dict__ = dict(self.__dict__)
        Collector.reset(alone)
        for metric in (self, alone):
            metric.update(preds, target)  # type: ignore[attr-defined]
        return alone.compute()  # type: ignore[attr-defined]

    __call__ = forward


if TYPE_CHECKING:
    Base = Collector
else:
    try:
        from torchmetrics import Metric as Base
    except (ImportError, RuntimeError):  # not installed, or with a torchvision that was built for another torch
        Base = Collector


class MeanAveragePrecision(Base):
    """COCO's mean average precision and recall for boxes or masks, batch by batch, as in torchmetrics.

    `update` takes predictions (dictionaries of `boxes` or `masks`, `scores` and `labels`, one per image) and targets
    (`boxes` or `masks` and `labels`, optionally `iscrowd` and `area`). Arguments, keys and values are those of
    `torchmetrics.detection.MeanAveragePrecision`; absent values are -1, as there.

    Parameters
    ----------
    box_format : {"xyxy", "xywh", "cxcywh"}, default "xyxy"
        The layout of boxes.
    iou_type : {"bbox", "segm", "boundary", "keypoints", "rotated"} or tuple of them, default "bbox"
        Evaluate boxes, masks, boundaries of masks, `keypoints` [n, point, (x, y, visibility)] by OKS, or `boxes` [n, 5]
        of centre, width, height and angle.
    iou_thresholds : list of float, optional
        IoU thresholds; 0.5 to 0.95 in steps of 0.05 by default.
    rec_thresholds : list of float, optional
        Recall thresholds; 0 to 1 in steps of 0.01 by default.
    max_detection_thresholds : list of int, optional
        Predictions per image and class, as many limits as you like; 1, 10 and 100 by default (20 for keypoints).
    class_metrics : bool, default False
        Also compute mAP and mAR per class.
    extended_summary : bool, default False
        Also return IoU, precision, recall and scores.
    average : {"macro", "micro"}, default "macro"
        The mean over classes, or all classes as one.
    backend : str
        ``"pycocotools"`` repeats that `map` is -1 if 100 is not among the limits; with any other name it is the value
        at the highest limit.
    areas : mapping of str to (float, float), optional
        Names and bounds of area ranges; small, medium and large by default.
    sigmas : sequence of float, optional
        OKS sigmas of the keypoints; COCO's seventeen by default.
    angle : {"degrees", "radians", "degrees-ccw", "radians-ccw"}, default "degrees"
        Unit and direction of the angles of rotated boxes; clockwise on the screen unless -ccw.
    extra : sequence of {"lrp", "confusion", "sizes"}, optional
        Further keys: ``lrp``, ``lrp_loc``, ``lrp_fp`` and ``lrp_fn`` (optimal LRP at an IoU of 0.5) with
        ``lrp_per_class``; ``confusion`` (rows are targets, columns predictions, the last ones background and missed)
        with ``confusion_confidence``, its threshold; ``map_small_per_class`` and so on for every area range.
    **kwargs
        Arguments of `torchmetrics.Metric`, if it is installed.

    Raises
    ------
    BadParameter
        If an argument is none of its choices.

    Examples
    --------
    >>> metric = MeanAveragePrecision()
    >>> box = {"boxes": np.array([[0.0, 0, 10, 10]]), "labels": np.array([3])}
    >>> metric.update([box | {"scores": np.array([0.9])}], [box])
    >>> result = metric.compute()
    >>> float(result["map"]), float(result["map_50"]), float(result["mar_100"]), int(result["classes"])
    (1.0, 1.0, 1.0, 3)
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False
    plot_lower_bound = 0.0
    plot_upper_bound = 1.0
    warn_on_many_detections = True

    def __init__(
        self,
        box_format: str = "xyxy",
        iou_type: str | tuple[str, ...] = "bbox",
        iou_thresholds: list[float] | None = None,
        rec_thresholds: list[float] | None = None,
        max_detection_thresholds: list[int] | None = None,
        class_metrics: bool = False,
        extended_summary: bool = False,
        average: str = "macro",
        backend: str = "verite",
        *,
        areas: Mapping[str, Sequence[float]] | None = None,
        sigmas: Sequence[float] | None = None,
        angle: str = "degrees",
        extra: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.iou_type = (iou_type,) if isinstance(iou_type, str) else tuple(iou_type)
        self.box_format, self.average = box_format, average
        for name, value, known in (
            ("box_format", (box_format,), FORMATS),
            ("iou_type", self.iou_type, tuple(SHAPES)),
            ("average", (average,), ("macro", "micro")),
            ("angle", (angle,), tuple(ANGLES)),
            ("extra", (extra,) if isinstance(extra, str) else tuple(extra), EXTRA),
        ):
            if not set(value) <= set(known):
                raise BadParameter(f"{name}: expected one of {', '.join(known)}, found {value[0]!r}")
        if len(self.iou_type) > 1 and set(self.iou_type) & {"rotated", "keypoints"}:
            raise BadParameter(f"iou_type: expected keypoints or rotated boxes alone, found {self.iou_type}")
        usual = (20,) if self.iou_type == ("keypoints",) else (1, 10, 100)
        limits = sorted(usual if max_detection_thresholds is None else max_detection_thresholds)
        if not limits or limits[0] < 1 or any(limit != int(limit) for limit in limits):
            raise BadParameter(f"max_detection_thresholds: expected whole numbers from 1 on, found {limits}")
        given = AREAS if areas is None else areas
        if areas is None and self.iou_type == ("keypoints",):
            given = {name: AREAS[name] for name in ("medium", "large")}  # COCO's, which has no small poses
        self.areas = {str(name): (float(low), float(high)) for name, (low, high) in given.items()}
        self.sigmas = None if sigmas is None else [float(one) for one in sigmas]
        self.angle, self.backend = angle, backend
        self.extra = (extra,) if isinstance(extra, str) else tuple(extra)
        self.iou_thresholds = list(iou_thresholds or space_singly(0.5, 0.95, 10))
        self.rec_thresholds = list(rec_thresholds or space_singly(0.0, 1.0, 101))
        self.max_detection_thresholds = limits
        self.class_metrics, self.extended_summary = class_metrics, extended_summary
        for name in STATES:
            self.add_state(name, default=[], dist_reduce_fx="cat")

    def update(self, preds: Sequence[Item], target: Sequence[Item]) -> None:
        """Add the images of a batch."""
        if not all(isinstance(side, Sequence) for side in (preds, target)) or len(preds) != len(target):
            raise BadParameter("update: expected as many targets as predictions, one dictionary an image")
        wanted = list(dict.fromkeys(SHAPES[kind] for kind in self.iou_type))
        found = [self.read(item, (*wanted, "labels", "scores"), f"preds[{i}]") for i, item in enumerate(preds)]
        asked = [self.read(item, (*wanted, "labels"), f"target[{i}]") for i, item in enumerate(target)]
        most = self.max_detection_thresholds[-1]
        if self.warn_on_many_detections and any(len(item["labels"]) > most for item in found):
            warnings.warn(
                f"Encountered more than {most} detections in a single image: those with the lowest scores are ignored. "
                "See max_detection_thresholds; warn_on_many_detections = False turns this off.",
                UserWarning,
                stacklevel=2,
            )
        for side, items in (("detection", found), ("groundtruth", asked)):
            for name in (name for name in STATES if name.startswith(side)):
                rows = [item[name.removeprefix(f"{side}_")] for item in items]
                if rows:
                    getattr(self, name).append(self.hold(np.concatenate(rows)))

    def read(self, item: Item, keys: tuple[str, ...], where: str) -> dict[str, Array]:
        """Return the contents of a dictionary as arrays with one row per object."""
        for key in keys:
            if not isinstance(item, Mapping) or key not in item:
                raise BadParameter(f"{where}: expected a dictionary with {key!r}, found {excerpt(item)}")
        given = {key: to_numpy(value) for key, value in item.items() if key in {*keys, "boxes", "iscrowd", "area"}}
        for key, values in given.items():
            if values.dtype.kind not in "biuf":
                raise BadParameter(f"{where}[{key!r}]: expected an array of numbers, found {excerpt(item[key])}")
        count = len(given["labels"].reshape(-1))
        found = {"counts": np.array([count]), "labels": whole_numbers(given["labels"], f"{where}['labels']")}
        sides = 5 if self.iou_type == ("rotated",) else 4
        # Boxes [n, 4], or [n, 5] of rotated ones; of no object any shape.
        boxes = given.get("boxes", np.zeros((count, sides)))
        if boxes.size and (boxes.ndim not in (1, 2) or boxes.shape[-1] != sides):
            raise BadParameter(f"{where}['boxes']: expected shape (n, {sides}), found {boxes.shape}")
        boxes = boxes.reshape(-1, sides)
        found["box"] = boxes if sides == 5 else to_xywh(boxes, self.box_format)
        points = given.get("keypoints", np.zeros((count, 0))).astype(np.float64)
        found["keypoints"] = points.reshape(count, -1) if count else np.zeros((0, 3 * self.points))
        if "keypoints" in keys and found["keypoints"].shape[1] != 3 * self.points:
            shape = f"shape ({count}, {self.points}, 3)"
            raise BadParameter(f"{where}['keypoints']: expected {shape}, found {points.shape}; see sigmas")
        found["scores"] = given.get("scores", np.zeros(count)).reshape(-1)
        found["crowds"] = given.get("iscrowd", np.zeros(count, np.int64)).reshape(-1)
        found["area"] = given.get("area", np.zeros(count)).reshape(-1).astype(np.float64)
        masks = encode(given["masks"]) if "masks" in keys else []
        found["mask_sizes"] = np.array([mask["size"] for mask in masks], dtype=np.int64).reshape(-1, 2)
        found["mask_lengths"] = np.array([len(mask["counts"]) for mask in masks], dtype=np.int64)
        found["mask_letters"] = np.frombuffer(b"".join(mask["counts"] for mask in masks), dtype=np.uint8)
        shown = [("labels", "labels"), ("scores", "scores"), ("area", "area"), ("crowds", "iscrowd")]
        shown += [(name, key) for name, key in (("box", "boxes"), ("mask_sizes", "masks")) if key in keys]
        for name, key in shown:
            if len(found[name]) != count:
                raise BadParameter(f"{where}[{key!r}]: expected {count} as there are labels, found {len(found[name])}")
            if not np.isfinite(found[name]).all():
                warnings.warn(f"{where}[{key!r}] has NaN or infinity; {NO_NUMBERS}", DataWarning, stacklevel=3)
        return found

    @property
    def points(self) -> int:
        """Number of keypoints of an object."""
        return 0 if "keypoints" not in self.iou_type else 17 if self.sigmas is None else len(self.sigmas)

    def hold(self, values: Array) -> Any:
        """An array as a state keeps it: a tensor beside the metric, so that processes can exchange it."""
        if Base is Collector:
            return values
        import torch

        return torch.tensor(values, device=self.device)  # type: ignore[attr-defined]

    def merge_state(self, incoming_state: Any) -> None:
        """Append everything that another metric has collected."""
        other = incoming_state if isinstance(incoming_state, dict) else vars(incoming_state)
        both = {name: [*getattr(self, name), *other[name]] for name in STATES}
        super().merge_state(incoming_state)
        for name, state in both.items():
            setattr(self, name, state)

    merge = merge_state

    def compute(self) -> Computed:
        """The numbers of all images so far."""
        labels = [self.joined(f"{side}_labels") for side in ("detection", "groundtruth")]
        classes = np.unique(np.concatenate(labels).astype(np.int64)).tolist()
        found: Computed = {}
        for kind in self.iou_type:
            prefix = f"{kind}_" if len(self.iou_type) > 1 else ""
            with contextlib.redirect_stdout(io.StringIO()):
                found |= {f"{prefix}{key}": value for key, value in self.compute_kind(kind, classes).items()}
        return {key: to_tensor(value) for key, value in found.items()} | {
            "classes": to_tensor(np.array(classes, dtype=np.int32))
        }

    def compute_kind(self, kind: str, classes: list[int]) -> Computed:
        """The numbers of one kind of region."""
        limits, most = self.max_detection_thresholds, self.max_detection_thresholds[-1]
        found: Computed = {}
        if not all(self.counts(side) for side in ("groundtruth", "detection")):
            names = ["map", "map_50", "map_75", *(f"map_{name}" for name in self.areas)]
            names += [*(f"mar_{limit}" for limit in limits), *(f"mar_{name}" for name in self.areas)]
            return dict.fromkeys(names, np.float32(-1))
        done = self.evaluate(kind, classes, is_micro=self.average == "micro")
        first = [self.place_of_map()]
        found["map"] = done.mean("precision", limits=first)
        found |= {f"map_{round(100 * iou)}": done.mean("precision", iou=iou) for iou in (0.5, 0.75)}
        found |= {f"map_{name}": done.mean("precision", area=a) for a, name in enumerate(self.areas, 1)}
        found |= {f"mar_{limit}": done.mean("recall", limits=[m]) for m, limit in enumerate(limits)}
        found |= {f"mar_{name}": done.mean("recall", area=a) for a, name in enumerate(self.areas, 1)}
        found = {key: np.float32(value) for key, value in found.items()}
        if self.extended_summary:
            found["ious"] = {
                cell: to_tensor(np.asarray(v, np.float32)) if len(v) else v for cell, v in done.ious().items()
            }
            found |= {"precision": done.precision, "recall": done.recall, "scores": done.scores}
        by_class = np.full((2, 1), -1.0)
        apart = done
        if self.average == "micro" and (self.class_metrics or "sizes" in self.extra):
            apart = self.evaluate(kind, classes, is_micro=False)
        every = range(len(classes))
        if self.class_metrics:
            by_class = np.array([
                [apart.mean("precision", limits=first, label=k) for k in every],
                [apart.mean("recall", label=k) for k in every],
            ]).reshape(2, -1)  # fmt: skip
        found["map_per_class"], found[f"mar_{most}_per_class"] = by_class.astype(np.float32)
        for a, name in enumerate(self.areas, 1) if "sizes" in self.extra else ():
            for key, array in (("map", "precision"), ("mar", "recall")):
                values = [apart.mean(array, area=a, label=k) for k in every]
                found[f"{key}_{name}_per_class"] = np.array(values, dtype=np.float32)
        return found | self.analyse(kind, done)

    def place_of_map(self) -> int | None:
        """Which limit `map` is of: the highest; as pycocotools has it, that of 100 or none."""
        limits = list(self.max_detection_thresholds)
        usual = 20 if self.iou_type == ("keypoints",) else 100
        if self.backend == "pycocotools":
            return limits.index(usual) if usual in limits else None
        return len(limits) - 1

    def analyse(self, kind: str, done: Evaluated) -> Computed:
        """Compute LRP and the confusion matrix, if requested."""
        parts = [name for name in ("lrp", "confusion") if name in self.extra]
        if not parts:
            return {}
        from verite.analysis.analyse import analyse

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = self.results_of(kind, *done.sides())
            analysis: Any = analyse(results, only=parts)
        found: Computed = {}
        if "lrp" in parts:
            mean, count = analysis.lrp.mean, len(analysis.lrp.matches.names)
            found |= {"lrp": mean.olrp, "lrp_loc": mean.loc, "lrp_fp": mean.fp, "lrp_fn": mean.fn}
            found = {key: np.float32(value) for key, value in found.items()}
            optima = analysis.lrp.optima
            values = [optima[k].olrp if k in optima else np.nan for k in range(count)]
            found["lrp_per_class"] = np.array(values, dtype=np.float32)
        if "confusion" in parts:
            found["confusion"] = analysis.confusion.matrix
            found["confusion_confidence"] = np.float32(analysis.confusion.to_dict()["confidence"])
        return found

    def results_of(self, kind: str, truth: Any, pred: Any) -> Any:
        """verite's own results of the same objects and settings."""
        from verite.protocols.coco import coco

        return coco(
            truth,
            pred,
            on=ON[kind],
            iou=self.iou_thresholds,
            areas={"all": (0.0, 1e10), **self.areas},
            max_dets=self.max_detection_thresholds,
            class_agnostic=self.average == "micro",
            sigmas=self.sigmas if kind == "keypoints" else None,
            checks="off",
        )

    def counts(self, side: str) -> int:
        """The number of images of one side that have a chance to count."""
        counts = self.joined(f"{side}_counts").astype(np.int64)
        return int((counts > 0).sum() if self.iou_type == ("segm",) else len(counts))

    def evaluate(self, kind: str, classes: list[int], *, is_micro: bool) -> Evaluated:
        """COCO's evaluation of everything collected."""
        if kind == "rotated":
            return self.evaluate_rotated(classes, is_micro=is_micro)
        sides = []
        for side in ("groundtruth", "detection"):
            coco = COCO()
            images, records = self.list_records(side, kind, is_micro=is_micro)
            coco.dataset = {"images": images, "annotations": records}
            coco.dataset["categories"] = [{"id": one} for one in ([0] if is_micro else classes)]
            coco.createIndex()
            sides.append(coco)
        done = COCOeval(sides[0], sides[1], "segm" if kind == "boundary" else kind)
        p = done.params
        p.iouType = kind
        p.iouThrs = np.array(self.iou_thresholds, dtype=np.float64)
        p.recThrs = np.array(self.rec_thresholds, dtype=np.float64)
        p.maxDets = self.max_detection_thresholds
        p.areaRng = [[0.0, 1e10], *(list(bounds) for bounds in self.areas.values())]
        p.areaRngLbl = ["all", *self.areas]
        if kind == "keypoints" and self.sigmas is not None:
            p.kpt_oks_sigmas = np.array(self.sigmas)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an untrained network predicts what it likes
            done.evaluate()
        done.accumulate()
        precision, recall, scores = (done.eval[key] for key in ("precision", "recall", "scores"))

        def both_sides() -> tuple[Any, Any]:
            evaluation = done._everything().evaluation
            return evaluation.truth, evaluation.pred

        return Evaluated(np.asarray(p.iouThrs), precision, recall, scores, lambda: done.ious, both_sides)

    def evaluate_rotated(self, classes: list[int], *, is_micro: bool) -> Evaluated:
        """The same for rotated boxes, which pycocotools does not know."""
        from verite.evaluation.evaluation import Evaluation
        from verite.protocols.coco import rules_of
        from verite.threads import thread_count

        truth, pred = (self.rotated_side(side, classes) for side in ("groundtruth", "detection"))
        settings = self.results_of("rotated", truth, pred).settings
        recalls = tuple(float(one) for one in self.rec_thresholds)
        rules = replace(rules_of(settings), recalls=recalls, class_agnostic=is_micro)
        arrays = Evaluation(truth, pred, rules, thread_count()).kept.arrays(-1.0)
        return Evaluated(np.asarray(self.iou_thresholds), *arrays, dict, lambda: (truth, pred))

    def joined(self, name: str) -> Array:
        """A state of all batches as one array."""
        # What was collected piece by piece, or put together by a synchronisation already.
        state = getattr(self, name)
        if isinstance(state, list):
            state = np.concatenate([to_numpy(piece) for piece in state]) if state else np.empty(0)
        return to_numpy(state)

    def rotated_side(self, side: str, classes: list[int]) -> Any:
        """Rotated boxes of one side as annotations: polygons of four corners."""
        from verite.model.annotations import Annotations
        from verite.model.classes import Labels
        from verite.model.images import Images
        from verite.model.polygons import Polygons
        from verite.model.regions import Regions, corners_of

        kept = {name: self.joined(f"{side}_{name}") for name in ("counts", "box", "labels")}
        counts = kept["counts"].astype(np.int64)
        corners = corners_of(kept["box"].reshape(-1, 5).astype(np.float64), self.angle)
        total = len(corners)
        bounds = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1) if total else np.zeros((0, 4))
        polygons = Polygons(corners.reshape(-1, 2), np.arange(total + 1) * 4, np.arange(total + 1))
        is_truth = side == "groundtruth"
        area = self.joined("groundtruth_area").astype(np.float64) if is_truth else None
        crowd = self.joined("groundtruth_crowds").astype(np.bool_) if is_truth else np.zeros(total, np.bool_)
        scores = None if is_truth else self.joined("detection_scores").astype(np.float64)
        return Annotations(
            images=Images(None, np.arange(len(counts))),
            labels=Labels([str(one) for one in classes], np.array(classes, dtype=np.int64)),
            image=np.repeat(np.arange(len(counts)), counts).astype(np.int32),
            label=np.searchsorted(classes, kept["labels"].astype(np.int64)).astype(np.int32),
            regions=Regions(bounds, "xyxy", polygons=polygons),
            confidence=scores,
            area=None if area is None else np.where(area > 0, area, np.nan),
            flags={"crowd": crowd},
        )

    def list_records(self, side: str, kind: str, *, is_micro: bool) -> tuple[list[Any], list[Any]]:
        """Images and annotations of one side, as COCO's files have them."""
        columns = {name: self.joined(name) for name in STATES if name.startswith(side)}
        kept = {name.removeprefix(f"{side}_"): values for name, values in columns.items()}
        counts = kept["counts"].astype(np.int64)
        boxes = kept["box"].reshape(-1, 4).tolist()
        labels = (kept["labels"] * (not is_micro)).astype(np.int64).tolist()
        where = np.repeat(np.arange(len(counts)), counts).tolist()
        records: list[Record] = [
            {"id": i + 1, "image_id": image, "category_id": label, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
            for i, (image, label, box) in enumerate(zip(where, labels, boxes, strict=True))
        ]
        is_truth = side == "groundtruth"
        if kind == "keypoints":
            points = kept["keypoints"].reshape(-1, 3 * self.points)
            for record, pose, row in zip(records, points.tolist(), points.reshape(-1, self.points, 3), strict=True):
                record["keypoints"], record["num_keypoints"] = pose, int((row[:, 2] > 0).sum())
                if not any(record["bbox"]):  # as pycocotools gives results a box
                    low, side_lengths = row[:, :2].min(axis=0), np.ptp(row[:, :2], axis=0)
                    record["bbox"] = [*low.tolist(), *side_lengths.tolist()]
                    record["area"] = float(side_lengths.prod())
        if {"segm", "boundary"} & set(self.iou_type):
            letters, ends = kept["mask_letters"].astype(np.uint8).tobytes(), np.cumsum(kept["mask_lengths"]).tolist()
            sizes = kept["mask_sizes"].reshape(-1, 2).astype(np.int64).tolist()
            masks = [
                {"size": size, "counts": letters[int(first) : int(last)]}
                for size, first, last in zip(sizes, [0, *ends], ends, strict=False)
            ]
            # Of both kinds at once, targets have the area of their masks, predictions that of what is compared.
            areas = _mask.area(masks) if is_truth or kind != "bbox" else [record["area"] for record in records]
            for record, mask, area in zip(records, masks, areas, strict=True):
                record["segmentation"], record["area"] = mask, float(area)
        if is_truth:
            given = zip(records, kept["area"].tolist(), kept["crowds"].astype(np.int64).tolist(), strict=True)
            for record, area, crowd in given:
                record["area"], record["iscrowd"] = area if area > 0 else record["area"], crowd
        else:
            for record, score in zip(records, kept["scores"].tolist(), strict=True):
                record["score"] = score
        # Of masks alone, torchmetrics leaves images out that have none.
        is_left_out = (counts == 0) & (self.iou_type == ("segm",))
        return [{"id": i} for i in np.flatnonzero(~is_left_out).tolist()], records

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw one result or several, as metrics of torchmetrics do."""
        if Base is Collector:
            raise BadParameter("plot: expected torchmetrics to be installed; see verite.report for plots without it")
        return self._plot(val, ax)  # type: ignore[attr-defined]


def space_singly(first: float, last: float, count: int) -> list[float]:
    """Evenly spaced in single precision, from both ends towards the middle, each rounded once: as torch has them."""
    low, high = np.float32(first), np.float32(last)
    step = np.float64(np.float32((high - low) / np.float32(count - 1)))
    steps = np.arange(count, dtype=np.float64)
    found = np.where(steps < count // 2, np.float64(low) + step * steps, np.float64(high) - step * steps[::-1])
    return [float(value) for value in found.astype(np.float32)]


def encode(masks: Array) -> list[Rle]:
    """Masks [n, row, column]: whatever is not 0 is object."""
    if masks.ndim != 3:
        if masks.size == 0:
            return []
        raise BadParameter(f"masks: expected shape (n, height, width), found {masks.shape}")
    if masks.dtype.kind == "f" and not np.isin(masks, (0, 1)).all():
        raise BadParameter("masks: expected truth values, found probabilities or NaN; threshold them, e.g. masks > 0.5")
    return _mask.encode(np.asfortranarray((masks != 0).transpose(1, 2, 0)).view(np.uint8))


def to_xywh(boxes: Array, layout: str) -> Array:
    """Left, top, width and height, computed in the precision boxes come in."""
    if layout == "cxcywh":
        middles, sides = boxes[:, :2], boxes[:, 2:]
        half = boxes.dtype.type(0.5) if boxes.dtype.kind == "f" else 0.5
        boxes = np.concatenate([middles - half * sides, middles + half * sides], axis=1)
    if layout != "xywh":
        boxes = np.concatenate([boxes[:, :2], boxes[:, 2:] - boxes[:, :2]], axis=1)
    return boxes


def to_numpy(values: Any) -> Array:
    """An array of numpy's, of a tensor wherever it is."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if "bfloat16" in str(values.dtype) else values
    return np.asarray(values)


def to_tensor(values: Any) -> Any:
    """As torch's where there is torch; a single value without dimensions."""
    if isinstance(values, dict):
        return values
    array = np.asarray(values)
    if array.size == 1:
        array = array.reshape(())
    try:
        import torch
    except ImportError:
        return array
    return torch.tensor(array)
