"""`evalImgs`: who matched whom in each image, for those who look, and accumulation of what they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite import _core
from verite.compat.pycocotools.steps import describe_image
from verite.errors import BadParameter

if TYPE_CHECKING:
    from verite.compat.pycocotools.params import Params
    from verite.evaluation.evaluation import Evaluation, Stages

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def list_images(evaluation: Evaluation, p: Params) -> list[dict[str, Any] | None]:
    """Dictionaries of matches, [class][area range][image], flat; None where an image has nothing of a class."""
    truth, pred, stages = evaluation.truth, evaluation.pred, evaluation.stages
    assert truth.ids is not None
    assert pred.ids is not None
    assert pred.confidence is not None
    truth_ids, pred_ids = truth.ids[stages.truths[0]], pred.ids[stages.preds[0]]
    scores = pred.confidence[stages.preds[0]]
    classes = p.catIds if p.useCats else [-1]
    cells = list(find_cells(stages, len(classes)))
    found: list[dict[str, Any] | None] = [None] * (len(classes) * len(p.areaRng) * len(p.imgIds))
    for a, area in enumerate(p.areaRng):
        taken = find_taken(stages, a, len(p.iouThrs))
        ignored = ((stages.ignored >> np.uint32(a)) & np.uint32(1)).astype(np.int64)
        outside = ((stages.outside >> np.uint32(a)) & np.uint32(1)).astype(np.bool_)
        for image, label, truths, preds in cells:
            here = taken[:, preds]
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


def find_cells(stages: Stages, labels: int) -> Any:
    """Image and class of every cell with something in it, its slots of truths and of predictions."""
    keys = []
    for _, of_slots, images in (stages.truths, stages.preds):
        owners = np.repeat(np.arange(len(images) - 1, dtype=np.int64), np.diff(images))
        keys.append(owners * labels + of_slots)
    for key in np.union1d(*keys).tolist():
        slots = [slice(*np.searchsorted(side, [key, key + 1]).tolist()) for side in keys]
        yield key // labels, key % labels, slots[0], slots[1]


def find_taken(stages: Stages, area: int, thresholds: int) -> Ints:
    """[T, slot of a prediction] the slot of the truth it took, -1 for none."""
    offsets, truth, _ = stages.candidates
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    found = np.full((thresholds, len(offsets) - 1), -1, dtype=np.int64)
    for t in range(thresholds):
        pairs = np.flatnonzero(stages.is_matched(t, area))
        found[t, owners[pairs]] = truth[pairs]
    return found


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
