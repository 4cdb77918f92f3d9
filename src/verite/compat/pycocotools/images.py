"""`evalImgs`: who matched whom in each image, for those who look, and accumulation for those who bring their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from verite import _core

if TYPE_CHECKING:
    from verite.compat.pycocotools.cocoeval import Params
    from verite.compat.pycocotools.preparation import Prepared

Floats = NDArray[np.float64]


class ImageResults:
    """Dictionaries of matches from verite's columns, one for each class, area range and image with something in it."""

    def __init__(self, prepared: Prepared, p: Params) -> None:
        self.p, self.evaluation, self.stages = p, prepared.evaluation, prepared.evaluation.stages

    def to_list(self) -> list[dict[str, Any] | None]:
        """[class][area range][image], flat, in pycocotools' order."""
        classes = self.p.catIds if self.p.useCats else [-1]
        images = self.p.imgIds
        found: list[dict[str, Any] | None] = [None] * (len(classes) * len(self.p.areaRng) * len(images))
        for image in range(len(images)):
            for label, truths, preds in self.cells(image):
                for a, area in enumerate(self.p.areaRng):
                    at = (label * len(self.p.areaRng) + a) * len(images) + image
                    found[at] = self.cell(images[image], classes[label], a, area, truths, preds)
        return found

    def cells(self, image: int) -> list[tuple[int, slice, slice]]:
        """The cells of an image with something in them: class, slots of truths, slots of predictions."""
        sides = []
        for _, of_slots, images in (self.stages.truths, self.stages.preds):
            first, last = int(images[image]), int(images[image + 1])
            labels, starts = np.unique(of_slots[first:last], return_index=True)
            ends = [*starts.tolist()[1:], last - first][: len(starts)]
            sides.append(
                {int(k): slice(first + int(s), first + int(e)) for k, s, e in zip(labels, starts, ends, strict=True)}
            )
        nothing = slice(0, 0)
        return [(k, sides[0].get(k, nothing), sides[1].get(k, nothing)) for k in sorted(sides[0] | sides[1])]

    def cell(self, image: Any, label: Any, a: int, area: Any, truths: slice, preds: slice) -> dict[str, Any]:
        truth, pred, e = self.evaluation.truth, self.evaluation.pred, self.stages
        ignored = (e.ignored[truths] >> np.uint32(a)) & np.uint32(1)
        order = np.argsort(ignored, kind="stable")  # ignored truths last, as in pycocotools
        assert truth.ids is not None
        assert pred.ids is not None
        assert pred.confidence is not None
        pred_rows = e.preds[0][preds]
        truth_ids, pred_ids = truth.ids[e.truths[0][truths]], pred.ids[pred_rows]
        count, found = len(truth_ids), len(pred_ids)
        taken = self.find_taken(a, truths, preds)
        hit = taken >= 0
        dt_matches = np.where(hit, np.append(truth_ids, 0)[taken], 0).astype(np.float64)
        gt_matches = np.zeros((len(taken), count))
        for t, d in zip(*np.nonzero(hit), strict=True):
            gt_matches[t, taken[t, d]] = pred_ids[d]
        outside = ((e.outside[preds] >> np.uint32(a)) & np.uint32(1)).astype(np.bool_)
        dt_ignore = np.where(hit, np.append(ignored, 0)[taken] > 0, False) | ((dt_matches == 0) & outside)
        return {
            "image_id": image,
            "category_id": label,
            "aRng": area,
            "maxDet": self.p.maxDets[-1],
            "dtIds": pred_ids.tolist(),
            "gtIds": truth_ids[order].tolist(),
            "dtMatches": dt_matches.reshape(len(taken), found),
            "gtMatches": gt_matches[:, order],
            "dtScores": pred.confidence[pred_rows].tolist(),
            "gtIgnore": ignored[order].astype(np.int64),
            "dtIgnore": dt_ignore,
        }

    def find_taken(self, a: int, truths: slice, preds: slice) -> NDArray[np.int64]:
        """[T, D] which truth of the cell each prediction took, -1 for none."""
        thresholds = len(self.p.iouThrs)
        offsets, truth, _ = self.stages.candidates
        out = np.full((thresholds, preds.stop - preds.start), -1, dtype=np.int64)
        for d in range(preds.start, preds.stop):
            for c in range(int(offsets[d]), int(offsets[d + 1])):
                for t in range(thresholds):
                    if int(self.stages.matched[t // 16][c, a]) >> t % 16 & 1:
                        out[t, d - preds.start] = int(truth[c]) - truths.start
        return out


def accumulate_images(images: Any, p: Params, evaluated: Params) -> tuple[Floats, Floats, Floats]:
    """Precision, recall and scores from dictionaries of matches, by pycocotools' rules for what is among them."""
    classes = p.catIds if p.useCats else [-1]
    known_classes = evaluated.catIds if evaluated.useCats else [-1]
    k_list = [n for n, k in enumerate(classes) if k in set(known_classes)]
    a_list = [n for n, a in enumerate(map(tuple, p.areaRng)) if a in set(map(tuple, evaluated.areaRng))]
    m_list = [m for m in p.maxDets if m in set(evaluated.maxDets)]
    i_list = [n for n, i in enumerate(p.imgIds) if i in set(evaluated.imgIds)]
    shape = (len(p.iouThrs), len(p.recThrs), len(classes), len(p.areaRng), len(p.maxDets))
    precision, scores = -np.ones(shape), -np.ones(shape)
    recall = -np.ones((shape[0], *shape[2:]))
    per_class, per_area = len(evaluated.areaRng) * len(evaluated.imgIds), len(evaluated.imgIds)
    for k, k0 in enumerate(k_list):
        for a, a0 in enumerate(a_list):
            found = [images[k0 * per_class + a0 * per_area + i] for i in i_list]
            kept = [one for one in found if one is not None]
            if not kept:
                continue
            positives = sum(int(np.count_nonzero(np.asarray(one["gtIgnore"]) == 0)) for one in kept)
            if positives == 0:
                continue
            for m, most in enumerate(m_list):
                q, s, r = accumulate_cell(kept, positives, most, p)
                precision[:, :, k, a, m], scores[:, :, k, a, m], recall[:, k, a, m] = q, s, r
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
