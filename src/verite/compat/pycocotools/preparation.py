"""From COCO objects and parameters to verite's columns, in pycocotools' order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.compat.pycocotools import mask as masks
from verite.model.annotations import Annotations
from verite.model.images import Images
from verite.model.labels import Labels
from verite.model.regions import Regions, Runs
from verite.protocols.coco_stages import Evaluation
from verite.settings import MOST_THRESHOLDS
from verite.threads import thread_count

if TYPE_CHECKING:
    from verite.compat.pycocotools.coco import COCO
    from verite.compat.pycocotools.cocoeval import Params

Record = dict[str, Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReferenceSettings:
    """What an evaluation asks of its settings, as `Params` have it: nothing is refused that pycocotools takes."""

    on: str
    iou: tuple[float, ...]
    areas: tuple[tuple[str, float, float], ...]
    max_dets: tuple[int, ...]
    class_agnostic: bool
    recalls: Any
    ignored: str = "crowd"
    is_exact: bool = True


@dataclass(frozen=True, eq=False)
class Prepared:
    """Truths and detections of the chosen images and classes, and their evaluation in parts of 64 thresholds."""

    truths: list[Record]
    detections: list[Record]
    parts: tuple[Evaluation, ...]
    images: list[Any]
    classes: list[Any]
    by_class: bool

    def match(self) -> None:
        for part in self.parts:
            _ = part.matches

    def accumulate(self, p: Params) -> tuple[Floats, Floats, Floats]:
        """precision[T, R, K, A, M], recall[T, K, A, M] and scores like precision; absent is -1."""
        found = [part.arrays.with_absent(-1.0) for part in self.parts]
        precision, recall, scores = zip(*((a.precision, a.recall, a.scores) for a in found), strict=True)
        return np.concatenate(precision), np.concatenate(recall), np.concatenate(scores)

    @cached_property
    def cells(self) -> tuple[dict[Any, list[Record]], dict[Any, list[Record]]]:
        """Records by image and class."""
        found: tuple[dict[Any, list[Record]], dict[Any, list[Record]]] = ({}, {})
        for cells, records in zip(found, (self.truths, self.detections), strict=True):
            for record in records:
                cells.setdefault((record["image_id"], record["category_id"]), []).append(record)
        return found

    def cell(self, image: Any, label: Any) -> tuple[list[Record], list[Record]]:
        """Truths and detections of one image and class, or of all classes."""
        labels = [label] if self.by_class else self.classes
        truths, detections = self.cells
        return (
            [record for one in labels for record in truths.get((image, one), [])],
            [record for one in labels for record in detections.get((image, one), [])],
        )


def prepare(truth: COCO, pred: COCO, p: Params) -> Prepared:
    images, labels = list(p.imgIds), list(p.catIds)
    truths, detections = (records_of(side, images, labels, by_class=bool(p.useCats)) for side in (truth, pred))
    tables = Images(None, np.arange(len(images))), Labels(None, np.arange(len(labels)))
    columns = (
        columns_of(truth, truths, images, labels, tables, p.iouType),
        columns_of(pred, detections, images, labels, tables, p.iouType, is_pred=True),
    )
    thresholds = [float(t) for t in p.iouThrs]
    chunks = [thresholds[i : i + MOST_THRESHOLDS] for i in range(0, len(thresholds), MOST_THRESHOLDS)]
    threads = thread_count()
    parts = tuple(Evaluation(settings_of(p, chunk), *columns, threads) for chunk in chunks)  # type: ignore[arg-type]
    return Prepared(truths, detections, parts, images, labels, bool(p.useCats))


def records_of(coco: COCO, images: list[Any], labels: list[Any], *, by_class: bool) -> list[Record]:
    """Annotations of these images and classes, found by id: the last of those that share one stands for all of them."""
    if not images:
        return []
    found = coco.loadAnns(coco.getAnnIds(imgIds=images, catIds=labels if by_class else ()))
    known, there = set(labels), set(images)
    return [record for record in found if record["category_id"] in known and record["image_id"] in there]


def settings_of(p: Params, thresholds: list[float]) -> ReferenceSettings:
    return ReferenceSettings(
        on="mask" if p.iouType == "segm" else "box",
        iou=tuple(thresholds),
        areas=tuple((str(i), float(low), float(high)) for i, (low, high) in enumerate(p.areaRng)),
        max_dets=tuple(int(most) for most in p.maxDets),
        class_agnostic=not p.useCats,
        recalls=np.asarray(p.recThrs, dtype=np.float64),
    )


def columns_of(
    coco: COCO,
    records: list[Record],
    images: list[Any],
    labels: list[Any],
    tables: tuple[Images, Labels],
    kind: str,
    *,
    is_pred: bool = False,
) -> Annotations:
    """Records as columns. Images and classes are numbered in the order of their ids."""
    image_at = {image: i for i, image in enumerate(images)}
    label_at = {label: i for i, label in enumerate(labels)}
    boxes = np.array([record.get("bbox", (0, 0, 0, 0)) for record in records], dtype=np.float64).reshape(-1, 4)
    regions = Regions(boxes, "xywh") if kind == "bbox" else Regions(boxes, "xywh", **outlines_of(coco, records))
    return Annotations(
        images=tables[0],
        labels=tables[1],
        image=np.array([image_at[record["image_id"]] for record in records], dtype=np.int32),
        label=np.array([label_at[record["category_id"]] for record in records], dtype=np.int32),
        regions=regions,
        confidence=np.array([record["score"] for record in records], dtype=np.float64) if is_pred else None,
        area=np.array([area_of(record) for record in records], dtype=np.float64),
        ids=np.array([record["id"] for record in records], dtype=np.int64),
        flags={"crowd": np.array([bool(record.get("iscrowd")) for record in records], dtype=np.bool_)},
    )


def area_of(record: Record) -> float:
    """As stated; else of the box."""
    if "area" in record:
        return float(record["area"])
    return float(record["bbox"][2] * record["bbox"][3])


def outlines_of(coco: COCO, records: list[Record]) -> dict[str, Any]:
    """Masks where records have them, polygons drawn for those that have polygons."""
    runs: list[Any] = []
    for record in records:
        outline = record["segmentation"]
        mask = outline if isinstance(outline, dict) else coco.annToRLE(record)
        runs.append((masks.counts_of(mask), masks.size_of(mask)))
    return {"runs": Runs.of(runs) if runs else None}
