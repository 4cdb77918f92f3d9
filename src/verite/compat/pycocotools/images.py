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
NO_FLAGS = np.zeros(0, dtype=np.bool_)


class ImageResults:
    """Dictionaries of matches from verite's columns, one for each class, area range and image with something in it."""

    def __init__(self, prepared: Prepared, p: Params) -> None:
        self.prepared, self.p = prepared, p
        self.first = prepared.parts[0]

    def listed(self) -> list[dict[str, Any] | None]:
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
        for cells in (self.first.truth_cells, self.first.ordered.cells):
            first, last = int(cells.images[image]), int(cells.images[image + 1])
            labels, starts = np.unique(cells.labels[first:last], return_index=True)
            ends = [*starts.tolist()[1:], last - first][: len(starts)]
            sides.append(
                {int(k): slice(first + int(s), first + int(e)) for k, s, e in zip(labels, starts, ends, strict=True)}
            )
        nothing = slice(0, 0)
        return [(k, sides[0].get(k, nothing), sides[1].get(k, nothing)) for k in sorted(sides[0] | sides[1])]

    def cell(self, image: Any, label: Any, a: int, area: Any, truths: slice, preds: slice) -> dict[str, Any]:
        e = self.first
        ignored = (e.ignored[truths] >> np.uint32(a)) & np.uint32(1)
        order = np.argsort(ignored, kind="stable")  # ignored truths last, as in pycocotools
        truth_ids = e.truth.ids[e.truth_cells.rows[truths]]  # type: ignore[index]
        pred_ids = e.pred.ids[e.ordered.cells.rows[preds]]  # type: ignore[index]
        count, found = len(truth_ids), len(pred_ids)
        taken = np.concatenate([self.taken(part, a, truths, preds) for part in self.prepared.parts])  # [T, D]
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
            "dtScores": e.confidence[e.ordered.cells.rows[preds]].tolist(),
            "gtIgnore": ignored[order].astype(np.int64),
            "dtIgnore": dt_ignore,
        }

    def taken(self, part: Any, a: int, truths: slice, preds: slice) -> NDArray[np.int64]:
        """[T, D] which truth of the cell each prediction took, -1 for none."""
        thresholds = len(part.thresholds)
        out = np.full((thresholds, preds.stop - preds.start), -1, dtype=np.int64)
        offsets = part.candidates.offsets
        for d in range(preds.start, preds.stop):
            for c in range(int(offsets[d]), int(offsets[d + 1])):
                bits = int(part.matches.bits[c, a])
                for t in range(thresholds):
                    if bits >> t & 1:
                        out[t, d - preds.start] = int(part.candidates.truth[c]) - truths.start
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
    count = len(score)
    # Each detection has two candidates: a truth that rewards, and one that is ignored.
    offsets = np.arange(0, 2 * count + 1, 2, dtype=np.int64)
    truth = np.tile(np.array([0, 1], dtype=np.int32), count)
    candidates = offsets, truth, np.ones(2 * count)
    order = np.argsort(-score, kind="stable").astype(np.int32)
    parts = []
    for first in range(0, len(matched), 64):
        rows = slice(first, min(first + 64, len(matched)))
        weights = np.uint64(1) << np.arange(rows.stop - rows.start, dtype=np.uint64)
        hits = ((matched[rows] & ~ignored[rows]) * weights[:, None]).sum(axis=0, dtype=np.uint64)
        spared = (ignored[rows] * weights[:, None]).sum(axis=0, dtype=np.uint64)
        bits = np.stack([hits, spared], axis=1).reshape(-1, 1)
        parts.append(
            _core.accumulate(
                order,
                np.array([0, count], dtype=np.int64),
                np.zeros(count, dtype=np.int32),
                np.zeros(count, dtype=np.uint32),
                candidates,
                bits,
                np.array([0, 1], dtype=np.uint32),
                NO_FLAGS,
                np.array([[positives]], dtype=np.int64),
                len(weights),
                np.asarray(p.recThrs, dtype=np.float64),
                1,
                np.array([1], dtype=np.int64),
                score if count else np.zeros(0),
            )
        )
    precision = np.concatenate([q[0, :, :, 0] for q, _, _ in parts])
    at = np.concatenate([s[0, :, :, 0] for _, s, _ in parts]) if count else np.zeros_like(precision)
    return precision, at, np.concatenate([r[0, 0, :, 0] for _, _, r in parts])
