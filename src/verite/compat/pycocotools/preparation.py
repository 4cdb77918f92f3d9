"""From COCO objects and parameters to an evaluation of everything at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from verite import _core
from verite.checks import examine_all, warn_of
from verite.compat.pycocotools.coco import COCO, to_plain
from verite.compat.pycocotools.params import rules_of
from verite.compat.pycocotools.steps import Record, find_records, keypoints_of
from verite.errors import DataError
from verite.evaluation.evaluation import Evaluation
from verite.model.annotations import Annotations
from verite.model.images import Images
from verite.model.keypoints import Keypoints
from verite.model.labels import Labels
from verite.model.outlines import Polygons, Runs
from verite.model.regions import Regions
from verite.threads import thread_count

if TYPE_CHECKING:
    from verite.compat.pycocotools.params import Params


@dataclass(frozen=True, eq=False)
class Side:
    """Where records come from, and those of the chosen images and classes."""

    coco: COCO
    records: list[Record]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Truths, detections and their evaluation."""

    truth: Side
    pred: Side
    evaluation: Evaluation
    is_closed: bool = False  # nobody has looked at a record of these files yet


def draws_itself(coco: COCO) -> bool:
    """Does a client's class have its own way from an annotation to a mask?"""
    return getattr(type(coco), "annToRLE", None) is not COCO.annToRLE


def prepare_closed(truth: COCO, pred: COCO, p: Params) -> Prepared | None:
    """Of two files whose records nobody has looked at, all images and classes of them; None where it is otherwise."""
    asked, found = (getattr(coco, "closed", None) for coco in (truth, pred))
    if asked is None or found is None or found.truth is not truth:
        return None
    if list(p.imgIds) != sorted(asked.image_ids) or sorted(p.catIds) != sorted(asked.class_ids):
        return None
    warn_of(examine_all(asked.columns, found.columns), "COCOeval")
    try:
        evaluation = Evaluation(asked.columns, found.columns, rules_of(p), thread_count())
    except DataError:
        return None  # told of the records then
    return Prepared(Side(truth, []), Side(pred, []), evaluation, is_closed=True)


def prepare(truth: COCO, pred: COCO, p: Params) -> Prepared:
    truths, preds = (Side(coco, find_records(coco, p)) for coco in (truth, pred))
    heights, widths = image_sizes(truth, p)
    images = Images(None, np.arange(len(p.imgIds)), widths=widths, heights=heights)
    labels = Labels(None, np.arange(len(p.catIds)))
    asked = columns_of(truths, images, labels, p, is_pred=False)
    found = columns_of(preds, images, labels, p, is_pred=True)
    warn_of(examine_all(asked, found), "COCOeval")
    return Prepared(truths, preds, Evaluation(asked, found, rules_of(p), thread_count()))


def image_sizes(coco: COCO, p: Params) -> Any:
    """Heights and widths of the chosen images, where polygons may have to be drawn; 0 where nobody says."""
    if p.iouType != "segm":
        return None, None
    records = [coco.imgs.get(image, {}) for image in p.imgIds]
    return ([int(record.get(side, 0)) for record in records] for side in ("height", "width"))


def columns_of(side: Side, images: Images, labels: Labels, p: Params, *, is_pred: bool) -> Annotations:
    """Records as columns. Images and classes are numbered in the order of their ids."""
    name = "results" if is_pred else "annotations"
    image_at, label_at = ({to_plain(one): i for i, one in enumerate(ids)} for ids in (p.imgIds, p.catIds))
    try:
        columns = _core.read_records(side.records, image_at, label_at, is_pred)
        rows, image, label, boxes, area, ids, crowd, confidence = columns
        shapes = read_outlines(side.records, rows) if p.iouType == "segm" else {}
    except ValueError as error:
        raise DataError(f"{name}{error}") from None
    chosen = [side.records[row] for row in rows.tolist()] if p.iouType == "keypoints" else []
    if chosen:
        shapes["keypoints"] = read_keypoints(chosen, len(p.kpt_oks_sigmas))
    regions = Regions(boxes, "xywh", **shapes)
    if regions.polygons is not None:
        check_sizes(regions.polygons, image, images, p)
    return Annotations(
        images=images,
        labels=labels,
        image=image,
        label=label,
        regions=regions,
        confidence=confidence,
        area=area,
        ids=ids,
        flags={"crowd": crowd.view(np.bool_)},
        labelled=np.array([one.get("num_keypoints", -1) for one in chosen], dtype=np.int32) if chosen else None,
    )


def read_outlines(records: list[Record], rows: Any) -> dict[str, Any]:
    """Polygons and masks of these records."""
    polygons, runs = _core.read_outlines(records, rows)
    return {"polygons": Polygons(*polygons), "runs": Runs(*runs)}


def read_keypoints(records: list[Record], count: int) -> Keypoints:
    """As many points of each record as there are sigmas."""
    return Keypoints(keypoints_of(records, count).reshape(-1, 3), np.arange(len(records) + 1) * count)


def check_sizes(polygons: Polygons, image: Any, images: Images, p: Params) -> None:
    """Polygons are drawn on images, which must have sides then."""
    drawn = image[np.diff(polygons.objects) > 0]
    flat = drawn[(images.heights[drawn] <= 0) | (images.widths[drawn] <= 0)]
    if len(flat):
        raise DataError(
            f"images: expected a height and a width to draw polygons on, found none of image {p.imgIds[int(flat[0])]}"
        )
