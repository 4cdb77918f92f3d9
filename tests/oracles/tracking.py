"""HOTA, CLEAR MOT and Identity frame by frame with dense matrices and scipy's assignment: slow and obvious."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

EPS = np.finfo(float).eps


def track_metrics(
    truth: list[dict[int, Any]], pred: list[dict[int, Any]], similarity: list[Any], threshold: float = 0.5
) -> dict[str, float]:
    """Return the metrics of one sequence: for each frame the tracks of both sides and their similarity matrix."""
    truths = sorted({t for frame in truth for t in frame})
    preds = sorted({p for frame in pred for p in frame})
    rows = [[truths.index(t) for t in frame] for frame in truth]
    columns = [[preds.index(p) for p in frame] for frame in pred]
    lengths = np.zeros(len(truths)), np.zeros(len(preds))
    potential = np.zeros((len(truths), len(preds)))
    for r, c, s in zip(rows, columns, similarity, strict=True):
        lengths[0][r] += 1
        lengths[1][c] += 1
        if r and c:
            total = s.sum(0)[None, :] + s.sum(1)[:, None] - s
            potential[np.ix_(r, c)] += np.divide(s, total, out=np.zeros_like(s), where=total > EPS)
    alignment = potential / (lengths[0][:, None] + lengths[1][None, :] - potential)
    objects, found = lengths[0].sum(), lengths[1].sum()
    hota = []
    for alpha in np.arange(0.05, 0.99, 0.05):
        matches = np.zeros_like(potential)
        for r, c, s in zip(rows, columns, similarity, strict=True):
            if not (r and c):
                continue
            for i, j in zip(*linear_sum_assignment(-(alignment[np.ix_(r, c)] * s)), strict=True):
                matches[r[i], c[j]] += s[i, j] >= alpha - EPS
        tp = matches.sum()
        association = matches / np.maximum(1, lengths[0][:, None] + lengths[1][None, :] - matches)
        hota.append(np.sqrt(tp / (objects + found - tp) * (matches * association).sum() / max(1, tp)))
    clear = clear_mot(rows, columns, similarity, len(truths), threshold)
    agreeing = np.zeros_like(potential)
    for r, c, s in zip(rows, columns, similarity, strict=True):
        if r and c:
            agreeing[np.ix_(r, c)] += s >= threshold
    idtp = agreeing[linear_sum_assignment(-agreeing)].sum()
    return {"HOTA": float(np.mean(hota)), "IDF1": float(2 * idtp / (objects + found)), **clear}


def clear_mot(
    rows: list[list[int]], columns: list[list[int]], similarity: list[Any], tracks: int, threshold: float
) -> dict[str, float]:
    """Return MOTA, switches and fragmentations."""
    ever: dict[int, int] = {}
    last: dict[int, int] = {}
    tp = fp = switches = 0
    starts = np.zeros(tracks)
    for r, c, s in zip(rows, columns, similarity, strict=True):
        if not (r and c):
            fp += len(c)
            continue
        score = np.array([[1000.0 * (last.get(i) == j) for j in c] for i in r]) + s
        score[s < threshold - EPS] = 0
        pairs = [(i, j) for i, j in zip(*linear_sum_assignment(-score), strict=True) if score[i, j] > EPS]
        now = {r[i]: c[j] for i, j in pairs}
        switches += sum(ever.get(i, j) != j for i, j in now.items())
        for i in now:
            starts[i] += i not in last
        ever |= now
        last = now
        tp += len(now)
        fp += len(c) - len(now)
    objects = sum(map(len, rows))
    return {
        "MOTA": (tp - fp - switches) / objects,
        "IDSW": float(switches),
        "Frag": float(np.maximum(starts - 1, 0).sum()),
    }
