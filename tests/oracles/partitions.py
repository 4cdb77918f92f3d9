"""Slow definitions of metrics on partitions: two images of labels, or two boolean ones of object and background."""

from __future__ import annotations

from math import log2

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.bool_]


def refinement(a: NDArray, b: NDArray) -> NDArray[np.float64]:
    """For every pixel the share of its region in one image outside its region in the other."""
    out = np.zeros(a.shape)
    for i in np.unique(a):
        for j in np.unique(b):
            mine, theirs = a == i, b == j
            out[mine & theirs] = (mine & ~theirs).sum() / mine.sum()
    return out


def gce(t: NDArray, p: NDArray) -> float:
    return min(refinement(t, p).sum(), refinement(p, t).sum()) / t.size


def lce(t: NDArray, p: NDArray) -> float:
    return float(np.minimum(refinement(t, p), refinement(p, t)).mean())


def regions(a: NDArray) -> list[NDArray[np.bool_]]:
    """Objects in the order in which a reader meets them, the background last."""
    labels = sorted(dict.fromkeys(a.ravel().tolist()), key=lambda v: v == 0)
    return [a == label for label in labels]


def hamming_distance(a: NDArray, b: NDArray) -> int:
    return sum(int(r.sum()) - max(int((q & r).sum()) for q in regions(a)) for r in regions(b))


def hamming(t: NDArray, p: NDArray) -> float:
    return (hamming_distance(t, p) + hamming_distance(p, t)) / (2 * t.size)


def jaccard(a: Image, b: Image) -> float:
    return (a & b).sum() / (a | b).sum()


def partner(r: Image, others: list[Image], has_background: bool) -> Image:
    """Who shares most pixels; of equals an object rather than the background, then the one that overlaps more."""
    last = len(others) - 1

    def rank(i: int) -> tuple[int, bool, float]:
        return int((r & others[i]).sum()), not (has_background and i == last), jaccard(r, others[i])

    return others[max(range(len(others)), key=rank)]


def objects(a: NDArray) -> int:
    return len(set(np.unique(a).tolist()) - {0})


def eta(t: NDArray, p: NDArray) -> float:
    nt, np_ = objects(t), objects(p)
    if np_ >= nt:
        return nt / np_ if np_ else 1.0
    return 1 / log2(1 + nt / np_) if np_ else 0.0


def hafiane1(t: NDArray, p: NDArray) -> float:
    mine, theirs = regions(t), regions(p)
    values = [jaccard(r, partner(r, theirs, bool((p == 0).any()))) for r in mine]
    return 1 - eta(t, p) * sum(values) / len(values)


def hafiane2(t: NDArray, p: NDArray) -> float:
    mine, theirs = regions(t), regions(p)
    m = sum(r.sum() / t.size * jaccard(r, partner(r, mine, bool((t == 0).any()))) for r in theirs)
    return 1 - (m + 0.2 * eta(t, p)) / 1.2


def vinet(t: NDArray, p: NDArray) -> float:
    couples = [(int((a & b).sum()), jaccard(a, b), i, j)
               for i, a in enumerate(regions(t)) for j, b in enumerate(regions(p))]  # fmt: skip
    rows: set[int] = set()
    columns: set[int] = set()
    shared = 0
    for pixels, _, i, j in sorted(couples, key=lambda c: (-c[0], -c[1])):
        if i not in rows and j not in columns:
            rows.add(i)
            columns.add(j)
            shared += pixels
    return float(t.size - shared)
