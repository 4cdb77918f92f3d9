"""The steps of COCOeval one by one, for clients that drive them: records, overlaps, matches."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.compat.pycocotools import mask as maskUtils  # noqa: N812
from verite.compat.pycocotools._mask import Rle
from verite.compat.pycocotools.coco import Record
from verite.errors import BadParameter, DataError
from verite.protocols.coco import HIGHEST

if TYPE_CHECKING:
    from verite.compat.pycocotools.coco import COCO
    from verite.compat.pycocotools.preparation import Params
    from verite.evaluation.evaluation import Evaluation, MatchLayout


Floats = NDArray[np.float64]

Ints = NDArray[np.int64]


class MatchedRecords(TypedDict):
    """Matches of one image and class: ids, and one row of matched ids and ignore flags per IoU threshold."""

    dtIds: list[Any]
    gtIds: list[Any]
    dtMatches: NDArray[np.float64]
    gtMatches: NDArray[np.float64]
    dtScores: list[Any]
    gtIgnore: NDArray[Any]
    dtIgnore: NDArray[np.bool_]


class ImageMatches(MatchedRecords):
    """An entry of `evalImgs`: the matches of one image, class and area range."""

    image_id: Any
    category_id: Any
    aRng: Any
    maxDet: int


def list_images(evaluation: Evaluation, p: Params) -> list[ImageMatches | None]:
    """Dictionaries of matches, [class][area range][image], flat; None where an image has nothing of a class."""
    truth, pred, layout = evaluation.truth, evaluation.pred, evaluation.layout
    assert truth.ids is not None
    assert pred.ids is not None
    assert pred.confidence is not None
    truth_ids, pred_ids = truth.ids[layout.truths[0]], pred.ids[layout.preds[0]]
    scores = pred.confidence[layout.preds[0]]
    classes = p.catIds if p.useCats else [-1]
    cells = list(find_cells(layout, len(classes)))
    found: list[ImageMatches | None] = [None] * (len(classes) * len(p.areaRng) * len(p.imgIds))
    for a, area in enumerate(p.areaRng):
        # [T, index of a prediction] the index of the ground-truth object that it matches, -1 for none.
        offsets, candidate_truth, _ = layout.candidates
        owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        matched_truth = np.full((len(p.iouThrs), len(offsets) - 1), -1, dtype=np.int64)
        for t in range(len(p.iouThrs)):
            pairs = np.flatnonzero(layout.is_matched(t, a))
            matched_truth[t, owners[pairs]] = candidate_truth[pairs]
        ignored = ((layout.ignored >> np.uint32(a)) & np.uint32(1)).astype(np.int64)
        outside = ((layout.outside >> np.uint32(a)) & np.uint32(1)).astype(np.bool_)
        for image, label, truths, preds in cells:
            here = matched_truth[:, preds]
            flags = ignored[truths] if truths.stop > truths.start else np.array([])
            found[(label * len(p.areaRng) + a) * len(p.imgIds) + image] = {
                "image_id": p.imgIds[image],
                "category_id": classes[label],
                "aRng": area,
                "maxDet": p.maxDets[-1],
                **describe_image(
                    pred_ids[preds].tolist(),
                    scores[preds].tolist(),
                    outside[preds],
                    truth_ids[truths].tolist(),
                    flags,
                    np.argsort(flags, kind="stable"),  # ignored truths last, as in pycocotools
                    np.where(here < 0, -1, here - truths.start),
                ),
            }
    return found


def find_cells(layout: MatchLayout, labels: int) -> Any:
    """Image and class of every cell with something in it, its indices of ground truth and of predictions."""
    keys = []
    for _, of_indices, images in (layout.truths, layout.preds):
        owners = np.repeat(np.arange(len(images) - 1, dtype=np.int64), np.diff(images))
        keys.append(owners * labels + of_indices)
    for key in np.union1d(*keys).tolist():
        indices = [slice(*np.searchsorted(side, [key, key + 1]).tolist()) for side in keys]
        yield key // labels, key % labels, indices[0], indices[1]


def accumulate_images(images: Any, p: Params, evaluated: Params) -> tuple[Floats, Floats, Floats]:
    """Precision, recall and scores from dictionaries of matches, by pycocotools' rules for what is among them."""
    known_classes = evaluated.catIds if evaluated.useCats else [-1]
    k_list = [n for n, k in enumerate(p.catIds) if k in set(known_classes)]
    a_list = [n for n, a in enumerate(map(tuple, p.areaRng)) if a in set(map(tuple, evaluated.areaRng))]
    m_list = [m for m in p.maxDets if m in set(evaluated.maxDets)]
    i_list = [n for n, i in enumerate(p.imgIds) if i in set(evaluated.imgIds)]
    shape = (len(p.iouThrs), len(p.recThrs), len(p.catIds), len(p.areaRng), len(p.maxDets))
    precision, scores = -np.ones(shape), -np.ones(shape)
    recall = -np.ones((shape[0], *shape[2:]))
    per_area = len(evaluated.imgIds)
    per_class = len(evaluated.areaRng) * per_area
    for k, k0 in enumerate(k_list):
        for a, a0 in enumerate(a_list):
            first = k0 * per_class + a0 * per_area
            if i_list and first + i_list[-1] >= len(images):
                raise BadParameter(
                    f"evalImgs: expected an entry per class, area range and image, found {len(images)}; "
                    "were params changed after evaluate()?"
                )
            kept = [one for one in (images[first + i] for i in i_list) if one is not None]
            positives = sum(int(np.count_nonzero(np.asarray(one["gtIgnore"]) == 0)) for one in kept)
            if positives == 0:
                continue
            for m, most in enumerate(m_list):
                q, s, r = accumulate_cell(kept, positives, most, p)
                if len(r) > shape[0]:
                    raise BadParameter(f"iouThrs: expected the {len(r)} of evaluate(), found {shape[0]}")
                levels = slice(len(r))
                precision[levels, :, k, a, m], scores[levels, :, k, a, m], recall[levels, k, a, m] = q, s, r
    return precision, recall, scores


def accumulate_cell(images: list[Any], positives: int, most: int, p: Params) -> tuple[Floats, Floats, Floats]:
    """One class, area range and limit: precision [T, R], scores [T, R] and recall [T]."""
    score = np.concatenate([np.asarray(one["dtScores"][:most], dtype=np.float64) for one in images])
    matched = np.concatenate([np.asarray(one["dtMatches"])[:, :most] for one in images], axis=1) != 0
    ignored = np.concatenate([np.asarray(one["dtIgnore"])[:, :most] for one in images], axis=1) != 0
    recalls = np.asarray(p.recThrs, dtype=np.float64)
    found: tuple[Floats, Floats, Floats] = _core.accumulate_outcomes(
        score, matched & ~ignored, np.ascontiguousarray(ignored), positives, recalls
    )
    return found


Groups = defaultdict[Any, list[Record]]


def find_records(coco: COCO, p: Params) -> list[Record]:
    """Annotations of the chosen images and classes, found by id: the last of those that share one stands for all."""
    chosen = {"catIds": p.catIds} if p.useCats else {}
    return coco.loadAnns(coco.getAnnIds(imgIds=p.imgIds, **chosen))


def group(coco: COCO, records: list[Record], p: Params, *, is_truth: bool) -> Groups:
    """Records by image and class. Masks take the place of polygons, and truths say whether to `ignore` them."""
    groups: Groups = defaultdict(list)
    for record in records:
        if p.iouType in ("segm", "boundary"):
            record["segmentation"] = coco.annToRLE(record)
        if is_truth:
            record["ignore"] = record.get("iscrowd", 0)
        if is_truth and "keypoints" in p.iouType:
            record["ignore"] = record["num_keypoints"] == 0 or record["ignore"]
        groups[record["image_id"], record["category_id"]].append(record)
    return groups


def choose_cell(groups: Groups, image: Any, label: Any, p: Params) -> list[Record]:
    """Records of one image and class, or of all classes."""
    return groups[image, label] if p.useCats else [record for one in p.catIds for record in groups[image, one]]


def rank(detections: list[Record], most: int) -> list[Record]:
    """By falling score, as many as count."""
    try:
        scores = np.array([-d["score"] for d in detections], dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"results: expected a number as score of each record, found {error}") from None
    order = np.argsort(scores, kind="stable")
    return [detections[i] for i in order[:most]]


def overlap(truths: list[Record], detections: list[Record], p: Params) -> Any:
    """Of detections by falling score with truths; an empty list where there is nothing."""
    if "keypoints" in p.iouType:
        if not p.useCats:
            raise BadParameter("useCats: expected 1 for keypoints, found 0; pycocotools compares nothing then")
        return oks(truths, rank(detections, p.maxDets[-1]), np.asarray(p.kpt_oks_sigmas))
    if not truths and not detections:
        return []
    key = {"segm": "segmentation", "boundary": "segmentation", "bbox": "bbox"}.get(p.iouType)
    if key is None:
        raise BadParameter(f"iouType: expected segm, bbox, boundary or keypoints, found {p.iouType!r}")
    mine, others = ([record[key] for record in side] for side in (rank(detections, p.maxDets[-1]), truths))
    crowd = [int(g.get("iscrowd", 0)) for g in truths]
    found = maskUtils.iou(mine, others, crowd)
    if p.iouType != "boundary" or not mine or not others:
        return found
    rims = maskUtils.iou([find_boundary(one) for one in mine], [find_boundary(one) for one in others], crowd)
    return np.where(np.array(crowd, dtype=np.bool_), found, np.minimum(found, rims))


def find_boundary(rle: Rle, share: float = 0.02) -> Rle:
    """The pixels of a mask within `share` of the image diagonal of its boundary, at least one pixel."""
    pixels = maskUtils.decode(rle)
    height, width = pixels.shape
    steps = max(1, round(share * float(np.hypot(height, width))))
    # A square of side 2 · steps + 1 fits into the mask where it holds as many pixels as it has.
    side = 2 * steps + 1
    sums = np.zeros((height + side, width + side), dtype=np.int64)
    sums[1 + steps : 1 + steps + height, 1 + steps : 1 + steps + width] = pixels
    sums = sums.cumsum(0).cumsum(1)
    inside = sums[side:, side:] - sums[:-side, side:] - sums[side:, :-side] + sums[:-side, :-side]
    return maskUtils.encode(np.asfortranarray(pixels & (inside < side * side)))  # type: ignore[no-any-return]


def oks(truths: list[Record], detections: list[Record], sigmas: Floats) -> Any:
    """Object keypoint similarity: the mean of exp(-distance² / (2 area (2 sigma)²)) over an object's keypoints.

    Without keypoints, distances are those from its box, made twice as large on every side.
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
    except (KeyError, ValueError, TypeError, OverflowError):
        raise DataError(
            f"keypoints: expected {count} of three numbers in each record; see params.kpt_oks_sigmas"
        ) from None


def match(
    truths: list[Record], detections: list[Record], overlaps: Any, p: Params, area: Any, most: int
) -> MatchedRecords:
    """Match at each threshold, given the overlaps of all ground-truth objects with detections by falling score."""
    low, high = area
    for truth in truths:
        truth["_ignore"] = int(bool(truth["ignore"] or truth["area"] < low or truth["area"] > high))
    ignored = np.array([truth["_ignore"] for truth in truths])
    order = np.argsort(ignored, kind="stable")  # ignored truths last, as in pycocotools
    ranked = rank(detections, most)
    matched_truth = np.full((len(p.iouThrs), len(ranked)), -1, dtype=np.int32)
    if len(overlaps):
        table = np.asarray(overlaps, dtype=np.float64)
        if table.shape[0] < len(ranked) or table.shape[1] != len(truths):
            raise BadParameter(f"ious: expected overlaps of {len(ranked)} with {len(truths)}, found {table.shape}")
        matched_truth = _core.match_iou_matrix(
            np.ascontiguousarray(table[: len(ranked)]),
            ignored != 0,
            np.array([bool(truth.get("iscrowd")) for truth in truths]),
            np.array([d["id"] <= 0 for d in ranked], dtype=np.bool_),  # an id of 0 reads as no match in pycocotools
            np.minimum(np.asarray(p.iouThrs, dtype=np.float64), HIGHEST),
        )
    outside = np.array([d["area"] < low or d["area"] > high for d in ranked], dtype=np.bool_)
    ids = [[record["id"] for record in side] for side in (ranked, truths)]
    return describe_image(ids[0], [d["score"] for d in ranked], outside, ids[1], ignored, order, matched_truth)


def describe_image(
    pred_ids: list[Any],
    scores: list[Any],
    outside: NDArray[np.bool_],
    truth_ids: list[Any],
    ignored: NDArray[Any],
    order: NDArray[np.intp],
    matched_truth: NDArray[np.integer],
) -> MatchedRecords:
    """What pycocotools reports of one image: `matched_truth` is [threshold, detection], `order` that of the truths."""
    hit = matched_truth >= 0
    dt_matches = np.where(hit, np.array([*truth_ids, 0], dtype=np.float64)[matched_truth], 0.0)
    gt_matches = np.zeros((len(matched_truth), len(truth_ids)))
    levels, rows = np.nonzero(hit)
    gt_matches[levels, matched_truth[levels, rows]] = np.array(pred_ids, dtype=np.float64)[rows]
    dt_ignore = (hit & (np.append(ignored, 0)[matched_truth] != 0)) | ((dt_matches == 0) & outside)
    return {
        "dtIds": pred_ids,
        "gtIds": [truth_ids[i] for i in order],
        "dtMatches": dt_matches,
        "gtMatches": gt_matches.take(order, axis=1),
        "dtScores": scores,
        "gtIgnore": ignored[order],
        "dtIgnore": dt_ignore,
    }
