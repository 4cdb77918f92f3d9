"""From COCO objects and parameters to an evaluation of everything at once."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.checks import examine_all, warn_of
from verite.compat.pycocotools.coco import COCO, Record
from verite.compat.pycocotools.steps import keypoints_of
from verite.errors import BadParameter, DataError, excerpt
from verite.evaluation.evaluation import Evaluation, Rules
from verite.model.annotations import Annotations
from verite.model.classes import Labels
from verite.model.images import Images
from verite.model.keypoints import Keypoints
from verite.model.polygons import Polygons, RLEMasks
from verite.model.regions import Regions
from verite.protocols.coco import HIGHEST, MOST_AREAS
from verite.threads import thread_count

SIMILARITY = {
    "bbox": "box",
    "segm": "mask",
    "boundary": "boundary",
    "keypoints": "keypoints",
    "keypoints_crowd": "keypoints",
}

WITH_MASKS = ("segm", "boundary")

TENTHS = (0.26, 0.25, 0.25, 0.35, 0.35, 0.79, 0.79, 0.72, 0.72, 0.62, 0.62, 1.07, 1.07, 0.87, 0.87, 0.89, 0.89)


class Params:
    """Evaluation parameters, which clients change in place."""

    def __init__(self, iouType: str = "segm") -> None:  # noqa: N803
        if iouType not in ("segm", "bbox", "keypoints"):
            raise BadParameter(f"iouType: expected segm, bbox or keypoints, found {iouType!r}")
        if iouType == "keypoints":
            self.setKpParams()
        else:
            self.setDetParams()
        self.iouType = iouType
        self.useSegm: int | None = None  # deprecated by pycocotools

    def setDetParams(self) -> None:  # noqa: N802
        """Boxes and masks."""
        self.imgIds: list[Any] = []
        self.catIds: list[Any] = []
        self.iouThrs: Any = np.linspace(0.5, 0.95, 10)
        self.recThrs: Any = np.linspace(0.0, 1.0, 101)
        self.maxDets: list[int] = [1, 10, 100]
        self.areaRng: list[Any] = [[0, 1e10], [0, 1024], [1024, 9216], [9216, 1e10]]
        self.areaRngLbl = ["all", "small", "medium", "large"]
        self.useCats: int = 1

    def setKpParams(self) -> None:  # noqa: N802
        """Keypoints."""
        self.setDetParams()
        self.maxDets = [20]
        self.areaRng = [[0, 1e10], [1024, 9216], [9216, 1e10]]
        self.areaRngLbl = ["all", "medium", "large"]
        self.kpt_oks_sigmas: Any = np.array(TENTHS) / 10.0


def copy_params(p: Params) -> Params:
    """A deep copy; ids are many, and numbers and texts, which cannot change."""
    return copy.deepcopy(p, {id(ids): list(ids) for ids in (p.imgIds, p.catIds)})


def fits_core(p: Params) -> bool:
    """Whether the core can evaluate all images and classes at once."""
    return (
        p.iouType in SIMILARITY
        and (SIMILARITY[p.iouType] != "keypoints" or bool(p.useCats))
        and 0 < len(p.areaRng) <= MOST_AREAS
        and len(p.iouThrs) > 0
        and len(p.maxDets) > 0
        and p.maxDets[0] > 0
        and len(p.recThrs) > 0
        and all(low <= high for low, high in pairwise(p.recThrs))
    )


def rules_of(p: Params) -> Rules:
    """What they say to an evaluation: nothing is refused that pycocotools takes."""
    return Rules(
        thresholds=tuple(min(float(t), HIGHEST) for t in p.iouThrs),
        similarity=SIMILARITY[p.iouType],
        ranges=tuple((float(low), float(high)) for low, high in p.areaRng),
        limits=tuple(int(most) for most in p.maxDets),
        recalls=tuple(float(r) for r in p.recThrs),
        class_agnostic=not p.useCats,
        ignored=("crowd",),
        shared=("crowd",),
        repeats_quirks=True,
        sigmas=(tuple(map(float, p.kpt_oks_sigmas)),) * len(p.catIds) if SIMILARITY[p.iouType] == "keypoints" else (),
    )


def is_same(p: Params, evaluated: Params) -> bool:
    """Whether no parameter of the accumulation changed between evaluate() and accumulate()."""
    return (
        np.array_equal(p.iouThrs, evaluated.iouThrs)
        and np.array_equal(p.recThrs, evaluated.recThrs)
        and list(p.maxDets) == list(evaluated.maxDets)
        and [tuple(a) for a in p.areaRng] == [tuple(a) for a in evaluated.areaRng]
        and list(p.imgIds) == list(evaluated.imgIds)
        and (not p.useCats or list(p.catIds) == list(evaluated.catIds))
        and p.useCats == evaluated.useCats
    )


@dataclass(frozen=True, eq=False)
class RecordSide:
    """Where records come from, and those of the chosen images and classes."""

    coco: COCO
    records: list[Record]


@dataclass(frozen=True, eq=False)
class Prepared:
    """Truths, detections and their evaluation."""

    truth: RecordSide
    pred: RecordSide
    evaluation: Evaluation
    is_closed: bool = False  # no record of these files has been accessed yet


OWN_WAYS = ("annToRLE", "getAnnIds", "loadAnns")


def has_own_ways(coco: COCO) -> bool:
    """Whether a client's class, or a patch of the object, finds annotations or draws masks in another way."""
    methods = (getattr(getattr(coco, name, None), "__func__", None) for name in OWN_WAYS)
    return not all(getattr(method, "__module__", "").startswith("verite.compat.") for method in methods)


def prepare_closed(truth: COCO, pred: COCO, p: Params) -> Prepared | None:
    """All images and classes of two files of which no record has been accessed; None otherwise."""
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


def prepare_sides(
    truth: COCO, pred: COCO, p: Params, rules: Rules | None = None, *, federated: bool = False
) -> Prepared:
    """Read the records of both sides and match them.

    Parameters
    ----------
    truth, pred
        Objects with `imgToAnns`, `anns` and `imgs`, as COCO has them.
    p
        What was set.
    rules
        Rules of the evaluation; those of COCO by default.
    federated
        Whether predictions count only in images where their class is annotated or verified to be absent, as in LVIS.
    """
    rules = rules or rules_of(p)
    heights, widths = image_sizes(truth, p)
    images = Images(None, np.arange(len(p.imgIds)), widths=widths, heights=heights)
    labels = Labels(None, np.arange(len(p.catIds)))
    truths, asked = read_side(truth, images, labels, p, is_pred=False, with_ignore="ignore" in rules.ignored)
    preds, found = read_side(pred, images, labels, p, is_pred=True)
    warn_of(examine_all(asked, found), "COCOeval")
    cells: dict[str, NDArray[np.int64]] = {}
    if federated:
        # Cells (image × classes + class) verified to be without objects, and those annotated incompletely, as in LVIS.
        image_places, classes = place_ids(p.imgIds), place_ids(p.catIds)
        keys = (("verified", "neg_category_ids"), ("ignore_if_unmatched", "not_exhaustive_category_ids"))
        for name, key in keys:
            listed = [
                place * len(classes) + classes[label]
                for image, place in image_places.items()
                for label in truth.imgs[image].get(key, ())
                if label in classes
            ]
            cells[name] = np.unique(np.array(listed, dtype=np.int64))
    return Prepared(truths, preds, Evaluation(asked, found, rules, thread_count(), **cells))


def image_sizes(coco: COCO, p: Params) -> Any:
    """Heights and widths of the chosen images, where polygons may have to be drawn; 0 where unknown."""
    if p.iouType not in WITH_MASKS:
        return None, None
    records = [coco.imgs.get(image, {}) for image in place_ids(p.imgIds)]
    return ([image_side(record, side) for record in records] for side in ("height", "width"))


def image_side(record: Record, side: str) -> int:
    """The height or width of an image, which is stored in 32 bits."""
    given = record.get(side, 0)
    try:
        pixels = int(given)
    except (TypeError, ValueError, OverflowError):
        pixels = -(2**63)
    if not -(2**31) <= pixels < 2**31:
        found = f"{excerpt(given)} for image {excerpt(record.get('id'))}"
        raise DataError(f"images: expected a {side} in pixels below 2^31, found {found}")
    return pixels


def place_ids(ids: list[Any]) -> dict[Any, int]:
    """The place of each id. Those of numpy's are Python's here, which are found ten times as fast."""
    return {one: i for i, one in enumerate(np.asarray(ids).tolist())}


def read_side(
    coco: COCO, images: Images, labels: Labels, p: Params, *, is_pred: bool, with_ignore: bool = False
) -> tuple[RecordSide, Annotations]:
    """Records of one side and their columns. Images and classes are numbered in the order of their ids."""
    name = "results" if is_pred else "annotations"
    places = place_ids(p.imgIds), place_ids(p.catIds)
    try:
        columns = _core.read_records(coco.imgToAnns, coco.anns, *places, bool(p.useCats), is_pred)
        records, rows, image, label, boxes, area, ids, crowd, confidence = columns
        polygons, runs = read_outlines(records, rows) if p.iouType in WITH_MASKS else (None, None)
    except ValueError as error:
        raise DataError(f"{name} {error}") from None
    chosen = [records[row] for row in rows.tolist()] if SIMILARITY[p.iouType] == "keypoints" else []
    if chosen:
        count = len(p.kpt_oks_sigmas)
        keypoints = Keypoints(keypoints_of(chosen, count).reshape(-1, 3), np.arange(len(chosen) + 1) * count)
    else:
        keypoints = None
    try:
        labelled = np.array([one.get("num_keypoints", -1) for one in chosen], dtype=np.int32) if chosen else None
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{name}: expected a whole number as num_keypoints of each record, found {error}") from None
    flags = {"crowd": crowd.view(np.bool_)}
    if with_ignore:
        flags["ignore"] = np.array([bool(records[row].get("ignore")) for row in rows.tolist()], dtype=np.bool_)
    regions = Regions(boxes, "xywh", polygons=polygons, runs=runs, keypoints=keypoints)
    if regions.polygons is not None:  # polygons are drawn on images, which must have sides then
        drawn = image[np.diff(regions.polygons.objects) > 0]
        flat = drawn[(images.heights[drawn] <= 0) | (images.widths[drawn] <= 0)]
        if len(flat):
            unsized = p.imgIds[int(flat[0])]
            raise DataError(f"images: expected a height and a width to draw polygons on, found none of image {unsized}")
    return RecordSide(coco, records), Annotations(
        images=images,
        labels=labels,
        image=image,
        label=label,
        regions=regions,
        confidence=confidence,
        area=area,
        ids=ids,
        flags=flags,
        labelled=labelled,
    )


def read_outlines(records: list[Record], rows: Any) -> tuple[Polygons, RLEMasks]:
    """Polygons and masks of these records."""
    polygons, runs = _core.read_outlines(records, rows, thread_count())
    return Polygons(*polygons), RLEMasks(*runs)
