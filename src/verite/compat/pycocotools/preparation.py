"""From COCO objects and parameters to an evaluation of everything at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from verite import _core
from verite.checks import examine_all, warn_of
from verite.compat.pycocotools.coco import COCO
from verite.compat.pycocotools.params import rules_of
from verite.compat.pycocotools.steps import Record, keypoints_of
from verite.errors import DataError
from verite.evaluation.evaluation import Evaluation
from verite.model.annotations import Annotations
from verite.model.images import Images
from verite.model.keypoints import Keypoints
from verite.model.labels import Labels
from verite.model.outlines import Polygons, Runs
from verite.model.regions import Regions
from verite.records import record
from verite.threads import thread_count

if TYPE_CHECKING:
    from verite.compat.pycocotools.params import Params


@record(eq=False)
class RecordSide:
    """Where records come from, and those of the chosen images and classes."""

    coco: COCO
    records: list[Record]


@record(eq=False)
class Prepared:
    """Truths, detections and their evaluation."""

    truth: RecordSide
    pred: RecordSide
    evaluation: Evaluation
    is_closed: bool = False  # nobody has looked at a record of these files yet


OWN_WAYS = ("annToRLE", "getAnnIds", "loadAnns")


def has_own_ways(coco: COCO) -> bool:
    """Does a client's class, or somebody who patched the object, find annotations or draw masks in another way?"""
    methods = ((getattr(coco, name, None), getattr(COCO, name)) for name in OWN_WAYS)
    return any(getattr(method, "__func__", None) is not ours for method, ours in methods)


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
    return Prepared(RecordSide(truth, []), RecordSide(pred, []), evaluation, is_closed=True)


def prepare_sides(truth: COCO, pred: COCO, p: Params) -> Prepared:
    heights, widths = image_sizes(truth, p)
    images = Images(None, np.arange(len(p.imgIds)), widths=widths, heights=heights)
    labels = Labels(None, np.arange(len(p.catIds)))
    truths, asked = read_side(truth, images, labels, p, is_pred=False)
    preds, found = read_side(pred, images, labels, p, is_pred=True)
    warn_of(examine_all(asked, found), "COCOeval")
    return Prepared(truths, preds, Evaluation(asked, found, rules_of(p), thread_count()))


def image_sizes(coco: COCO, p: Params) -> Any:
    """Heights and widths of the chosen images, where polygons may have to be drawn; 0 where nobody says."""
    if p.iouType != "segm":
        return None, None
    records = [coco.imgs.get(image, {}) for image in place_ids(p.imgIds)]
    return ([int(record.get(side, 0)) for record in records] for side in ("height", "width"))


def place_ids(ids: list[Any]) -> dict[Any, int]:
    """The place of each id. Those of numpy's are Python's here, which are found ten times as fast."""
    return {one: i for i, one in enumerate(np.asarray(ids).tolist())}


def read_side(
    coco: COCO, images: Images, labels: Labels, p: Params, *, is_pred: bool
) -> tuple[RecordSide, Annotations]:
    """Records of one side and their columns. Images and classes are numbered in the order of their ids."""
    name = "results" if is_pred else "annotations"
    places = place_ids(p.imgIds), place_ids(p.catIds)
    try:
        columns = _core.read_records(coco.imgToAnns, coco.anns, *places, bool(p.useCats), is_pred)
        records, rows, image, label, boxes, area, ids, crowd, confidence = columns
        shapes = read_outlines(records, rows) if p.iouType == "segm" else {}
    except ValueError as error:
        raise DataError(f"{name} {error}") from None
    chosen = [records[row] for row in rows.tolist()] if p.iouType == "keypoints" else []
    if chosen:
        shapes["keypoints"] = read_keypoints(chosen, len(p.kpt_oks_sigmas))
    regions = Regions(boxes, "xywh", **shapes)
    if regions.polygons is not None:
        check_image_sizes(regions.polygons, image, images, p)
    return RecordSide(coco, records), Annotations(
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
    polygons, runs = _core.read_outlines(records, rows, thread_count())
    return {"polygons": Polygons(*polygons), "runs": Runs(*runs)}


def read_keypoints(records: list[Record], count: int) -> Keypoints:
    """As many points of each record as there are sigmas."""
    return Keypoints(keypoints_of(records, count).reshape(-1, 3), np.arange(len(records) + 1) * count)


def check_image_sizes(polygons: Polygons, image: Any, images: Images, p: Params) -> None:
    """Polygons are drawn on images, which must have sides then."""
    drawn = image[np.diff(polygons.objects) > 0]
    flat = drawn[(images.heights[drawn] <= 0) | (images.widths[drawn] <= 0)]
    if len(flat):
        raise DataError(
            f"images: expected a height and a width to draw polygons on, found none of image {p.imgIds[int(flat[0])]}"
        )
