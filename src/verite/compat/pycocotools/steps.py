"""The steps of COCOeval one by one, for clients that drive them: records, overlaps, who matched whom."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.compat.pycocotools import mask as maskUtils  # noqa: N812
from verite.errors import BadParameter, DataError
from verite.protocols.coco_settings import HIGHEST

if TYPE_CHECKING:
    from verite.compat.pycocotools.coco import COCO
    from verite.compat.pycocotools.params import Params

Record = dict[str, Any]
Groups = defaultdict[Any, list[Record]]
Floats = NDArray[np.float64]


def find_records(coco: COCO, p: Params) -> list[Record]:
    """Annotations of the chosen images and classes, found by id: the last of those that share one stands for all."""
    chosen = {"catIds": p.catIds} if p.useCats else {}
    return coco.loadAnns(coco.getAnnIds(imgIds=p.imgIds, **chosen))


def group(coco: COCO, records: list[Record], p: Params, *, is_truth: bool) -> Groups:
    """Records by image and class. Masks take the place of polygons, and truths say whether to `ignore` them."""
    groups: Groups = defaultdict(list)
    for record in records:
        if p.iouType == "segm":
            record["segmentation"] = coco.annToRLE(record)
        if is_truth:
            record["ignore"] = record.get("iscrowd", 0)
        if is_truth and p.iouType == "keypoints":
            record["ignore"] = record["num_keypoints"] == 0 or record["ignore"]
        groups[record["image_id"], record["category_id"]].append(record)
    return groups


def choose_cell(groups: Groups, image: Any, label: Any, p: Params) -> list[Record]:
    """Records of one image and class, or of all classes."""
    return groups[image, label] if p.useCats else [record for one in p.catIds for record in groups[image, one]]


def rank(detections: list[Record], most: int) -> list[Record]:
    """By falling score, as many as count."""
    order = np.argsort([-d["score"] for d in detections], kind="stable")
    return [detections[i] for i in order[:most]]


def overlap(truths: list[Record], detections: list[Record], p: Params) -> Any:
    """Of detections by falling score with truths; an empty list where there is nothing."""
    if p.iouType == "keypoints":
        if not p.useCats:
            raise BadParameter("useCats: expected 1 for keypoints, found 0; pycocotools compares nothing then")
        return oks(truths, rank(detections, p.maxDets[-1]), np.asarray(p.kpt_oks_sigmas))
    if not truths and not detections:
        return []
    key = {"segm": "segmentation", "bbox": "bbox"}.get(p.iouType)
    if key is None:
        raise BadParameter(f"iouType: expected segm, bbox or keypoints, found {p.iouType!r}")
    mine, others = ([record[key] for record in side] for side in (rank(detections, p.maxDets[-1]), truths))
    return maskUtils.iou(mine, others, [int(g.get("iscrowd", 0)) for g in truths])


def oks(truths: list[Record], detections: list[Record], sigmas: Floats) -> Any:
    """Object keypoint similarity: the mean of exp(-distance² / (2 area (2 sigma)²)) over the keypoints of a truth.

    Of a truth without any, distances are those from its box, made twice as large on every side.
    """
    if not truths or not detections:
        return []
    points = keypoints_of(detections, len(sigmas))
    found = np.zeros((len(detections), len(truths)))
    for g, (truth, labelled) in enumerate(zip(truths, keypoints_of(truths, len(sigmas)), strict=True)):
        seen = labelled[:, 2] > 0
        if seen.any():
            apart = points[..., :2] - labelled[:, :2]
        else:
            low, side = np.array(truth["bbox"][:2]), np.array(truth["bbox"][2:])
            apart = np.maximum(0, low - side - points[..., :2]) + np.maximum(0, points[..., :2] - (low + side * 2))
        error = (apart[..., 0] ** 2 + apart[..., 1] ** 2) / (sigmas * 2) ** 2 / (truth["area"] + np.spacing(1)) / 2
        counted = np.ascontiguousarray(error[:, seen] if seen.any() else error)
        found[:, g] = np.sum(np.exp(-counted), axis=1) / counted.shape[1]
    return found


def keypoints_of(records: list[Record], count: int) -> Floats:
    """[record, keypoint, (x, y, seen)]."""
    try:
        return np.array([record["keypoints"] for record in records], dtype=np.float64).reshape(-1, count, 3)
    except (KeyError, ValueError, TypeError):
        raise DataError(
            f"keypoints: expected {count} of three numbers in each record; see params.kpt_oks_sigmas"
        ) from None


def match(
    truths: list[Record], detections: list[Record], overlaps: Any, p: Params, area: Any, most: int
) -> dict[str, Any]:
    """Who takes whom at each threshold, from overlaps of all truths with detections by falling score."""
    low, high = area
    for truth in truths:
        truth["_ignore"] = int(bool(truth["ignore"] or truth["area"] < low or truth["area"] > high))
    ignored = np.array([truth["_ignore"] for truth in truths])
    order = np.argsort(ignored, kind="stable")  # ignored truths last, as in pycocotools
    ranked = rank(detections, most)
    taken = np.full((len(p.iouThrs), len(ranked)), -1, dtype=np.int32)
    if len(overlaps):
        table = np.asarray(overlaps, dtype=np.float64)
        if table.shape[0] < len(ranked) or table.shape[1] != len(truths):
            raise BadParameter(f"ious: expected overlaps of {len(ranked)} with {len(truths)}, found {table.shape}")
        taken = _core.match_overlaps(
            np.ascontiguousarray(table[: len(ranked)]),
            ignored != 0,
            np.array([bool(truth.get("iscrowd")) for truth in truths]),
            np.array([d["id"] <= 0 for d in ranked], dtype=np.bool_),  # an id of 0 reads as no match in pycocotools
            np.minimum(np.asarray(p.iouThrs, dtype=np.float64), HIGHEST),
        )
    outside = np.array([d["area"] < low or d["area"] > high for d in ranked], dtype=np.bool_)
    ids = [[record["id"] for record in side] for side in (ranked, truths)]
    return describe_image(ids[0], [d["score"] for d in ranked], outside, ids[1], ignored, order, taken)


def describe_image(
    pred_ids: list[Any],
    scores: list[Any],
    outside: NDArray[np.bool_],
    truth_ids: list[Any],
    ignored: NDArray[Any],
    order: NDArray[np.intp],
    taken: NDArray[np.integer],
) -> dict[str, Any]:
    """What pycocotools says of one image: `taken` is [threshold, detection], `order` that of the truths."""
    hit = taken >= 0
    dt_matches = np.where(hit, np.array([*truth_ids, 0], dtype=np.float64)[taken], 0.0)
    gt_matches = np.zeros((len(taken), len(truth_ids)))
    levels, rows = np.nonzero(hit)
    gt_matches[levels, taken[levels, rows]] = np.array(pred_ids, dtype=np.float64)[rows]
    dt_ignore = (hit & (np.append(ignored, 0)[taken] != 0)) | ((dt_matches == 0) & outside)
    return {
        "dtIds": pred_ids,
        "gtIds": [truth_ids[i] for i in order],
        "dtMatches": dt_matches,
        "gtMatches": gt_matches.take(order, axis=1),
        "dtScores": scores,
        "gtIgnore": ignored[order],
        "dtIgnore": dt_ignore,
    }
