"""From COCO objects and parameters to verite's columns, in pycocotools' order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite.checks import examine_all, warn_of
from verite.compat.pycocotools import mask as masks
from verite.evaluation.evaluation import Evaluation, Rules
from verite.model.annotations import Annotations
from verite.model.images import Images
from verite.model.labels import Labels
from verite.model.outlines import Runs
from verite.model.regions import Regions
from verite.protocols.coco_settings import HIGHEST
from verite.threads import thread_count

if TYPE_CHECKING:
    from verite.compat.pycocotools.coco import COCO
    from verite.compat.pycocotools.cocoeval import Params

Record = dict[str, Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Truths and detections of the chosen images and classes, and their evaluation."""

    truths: list[Record]
    detections: list[Record]
    evaluation: Evaluation
    images: list[Any]
    classes: list[Any]
    by_class: bool

    def accumulate(self) -> tuple[Floats, Floats, Floats]:
        """precision[T, R, K, A, M], recall[T, K, A, M] and scores like precision; absent is -1."""
        precision, recall, scores = self.evaluation.kept.arrays(-1.0)
        return precision, recall, scores

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
    warn_of(examine_all(*columns), "COCOeval")
    return Prepared(
        truths, detections, Evaluation(*columns, rules_of(p), thread_count()), images, labels, bool(p.useCats)
    )


def records_of(coco: COCO, images: list[Any], labels: list[Any], *, by_class: bool) -> list[Record]:
    """Annotations of these images and classes, found by id: the last of those that share one stands for all of them."""
    if not images:
        return []
    found = coco.loadAnns(coco.getAnnIds(imgIds=images, catIds=labels if by_class else ()))
    known, there = set(labels), set(images)
    return [record for record in found if record["category_id"] in known and record["image_id"] in there]


def rules_of(p: Params) -> Rules:
    """What `Params` say to an evaluation: nothing is refused that pycocotools takes."""
    return Rules(
        thresholds=tuple(min(float(t), HIGHEST) for t in p.iouThrs),
        similarity="mask" if p.iouType == "segm" else "box",
        ranges=tuple((float(low), float(high)) for low, high in p.areaRng),
        limits=tuple(int(most) for most in p.maxDets),
        recalls=tuple(float(r) for r in p.recThrs),
        is_together=not p.useCats,
        ignored=("crowd",),
        shared=("crowd",),
        repeats_quirks=True,
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
    regions = Regions(boxes, "xywh") if kind == "bbox" else Regions(boxes, "xywh", **read_outlines(coco, records))
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


def read_outlines(coco: COCO, records: list[Record]) -> dict[str, Any]:
    """Masks where records have them, polygons drawn for those that have polygons."""
    runs: list[Any] = []
    for record in records:
        outline = record["segmentation"]
        mask = outline if isinstance(outline, dict) else coco.annToRLE(record)
        runs.append((masks.counts_of(mask), masks.size_of(mask)))
    return {"runs": Runs.of(runs) if runs else None}
